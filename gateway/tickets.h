/*
 * gateway/tickets.h - the keys of session tickets, with which a TLS client resumes a session.
 *
 * Does:     encrypts and authenticates the tickets of one TLS context; renews the keys by time.
 * Owns:     the keys; freed with the context.
 * May use:  base/, OpenSSL.
 * Knows no: certificates, connections.
 * Threads:  any; a mutex is held while a key is copied.
 * Blocks:   no.
 * Fails by: ERR_NO_MEMORY; ERR_IO without random bytes.
 * Limits:   LIM_TICKET_KEY_S.
 * Promises: 1. A key encrypts tickets for LIM_TICKET_KEY_S, decrypts them for as long again, and is
 *              then overwritten.
 *           2. Keys are in memory only, and of one context: no other context, and no server that
 *              starts later, accepts its tickets.
 */
#ifndef GATEWAY_TICKETS_H
#define GATEWAY_TICKETS_H

#include <openssl/ssl.h>

#include "base/err.h"

/* Has the context issue and accept tickets. */
enum err gw_tickets_attach(SSL_CTX *ctx, struct errbuf *eb) MUST_CHECK;
/* Overwrites the keys of the context whose time has come at now_ns of the monotonic clock. */
void gw_tickets_rotate(SSL_CTX *ctx, uint64_t now_ns);

#endif

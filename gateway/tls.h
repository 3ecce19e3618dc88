/*
 * gateway/tls.h - the TLS context: certificate, protocols, ALPN; reloadable.
 *
 * Does:     loads a certificate chain and key, hardens the context, selects h2 or http/1.1.
 * Owns:     SSL_CTX objects; an old one lives while connections use it (OpenSSL ref-counts).
 * May use:  base/, gateway/tickets.h.
 * Knows no: h2o, requests.
 * Threads:  current from any loop; reload and rotate from main.
 * Blocks:   load and reload read files.
 * Fails by: ERR_INVALID (the detail says which file and what is wrong with it), ERR_IO.
 * Limits:   TLS 1.2 and 1.3 only; LIM_TICKET_KEY_S.
 * Promises: 1. A failed reload leaves the running certificate in place.
 *           2. A reload ends the tickets of sessions: the next handshake of a client is a full one.
 */
#ifndef GATEWAY_TLS_H
#define GATEWAY_TLS_H

#include <openssl/ssl.h>

#include "base/err.h"

struct gw_tls;

enum err gw_tls_open(const char *cert_path, const char *key_path, struct gw_tls **out,
                     struct errbuf *eb) MUST_CHECK;
enum err gw_tls_reload(struct gw_tls *tls, struct errbuf *eb) MUST_CHECK;
void gw_tls_close(struct gw_tls *tls);
/* Returns a referenced context: SSL_CTX_free after SSL_new. */
SSL_CTX *gw_tls_current(struct gw_tls *tls);
/* Overwrites keys of session tickets whose time has come at now_ns of the monotonic clock. */
void gw_tls_rotate(struct gw_tls *tls, uint64_t now_ns);

#endif

/*
 * gateway/tls.h - the TLS context: certificate, protocols, ALPN; reloadable.
 *
 * Does:     load a certificate chain and key, harden the context, choose h2 or http/1.1.
 * Owns:     SSL_CTX objects; an old one lives while connections use it (OpenSSL ref-counts).
 * May use:  base/.
 * Knows no: h2o, requests.
 * Threads:  current from any loop; reload from main.
 * Blocks:   load and reload read files.
 * Fails by: ERR_INVALID (the detail says which file and what is wrong with it), ERR_IO.
 * Limits:   TLS 1.2 and 1.3 only.
 * Promises: 1. A failed reload leaves the running certificate in place.
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
/* A referenced context: SSL_CTX_free after SSL_new. */
SSL_CTX *gw_tls_current(struct gw_tls *tls);

#endif

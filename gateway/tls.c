/*
 * The context is rebuilt for every load; the running one is swapped under a short mutex and lives
 * on in the connections that use it. Nothing of a failed load is kept.
 *
 * Sessions are resumed by tickets (tickets.h), never from a cache. A ticket does not identify a
 * caller: each request carries its key. Resuming keeps the key exchange, and there is no early
 * data.
 */
#include "gateway/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdio.h>

#include "base/alloc.h"
#include "gateway/tickets.h"

#include "base/banned.h"

#define CIPHERS_TLS12                                                                              \
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"                                   \
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"                                   \
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
#define CIPHERS_TLS13 "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

#define TICKETS 1 /* after a handshake: a client may use one ticket for several connections */

struct gw_tls {
    pthread_mutex_t mutex; /* guards current */
    SSL_CTX *current;
    char *cert_path;
    char *key_path;
};

/* Returns the last reason that OpenSSL recorded, for people. */
static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    return text != NULL ? text : "unknown reason";
}

/* Selects h2 before http/1.1; a client that offers neither is refused (RFC 7301, and no
 * cross-protocol attacks). */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned int in_len, void *unused)
{
    static const unsigned char ours[] = "\x02h2\x08http/1.1";
    unsigned char *chosen;
    (void)ssl;
    (void)unused;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof ours - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static enum err harden(SSL_CTX *ctx, struct errbuf *eb)
{
    static const unsigned char context_id[] = "bigtent";
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_num_tickets(ctx, TICKETS) != 1 || SSL_CTX_set_max_early_data(ctx, 0) != 1 ||
        SSL_CTX_set_session_id_context(ctx, context_id, sizeof context_id - 1) != 1 ||
        SSL_CTX_set_cipher_list(ctx, CIPHERS_TLS12) != 1 ||
        SSL_CTX_set_ciphersuites(ctx, CIPHERS_TLS13) != 1 ||
        SSL_CTX_set1_groups_list(ctx, "X25519:P-256:P-384") != 1)
        return base_fail(eb, ERR_UNSUPPORTED, "TLS library lacks a needed feature: %s", reason());
    return gw_tickets_attach(ctx, eb);
}

static enum err check_readable(const char *path, struct errbuf *eb)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return base_fail(eb, ERR_IO, "cannot read %s: %m", path);
    (void)fclose(file); /* opened for reading only */
    return ERR_OK;
}

static enum err check_dates(SSL_CTX *ctx, const char *path, struct errbuf *eb)
{
    const X509 *cert = SSL_CTX_get0_certificate(ctx);
    if (cert == NULL)
        return base_fail(eb, ERR_INVALID, "%s has no certificate", path);
    if (X509_cmp_current_time(X509_get0_notBefore(cert)) >= 0)
        return base_fail(eb, ERR_INVALID, "the certificate in %s is not valid yet", path);
    if (X509_cmp_current_time(X509_get0_notAfter(cert)) <= 0)
        return base_fail(eb, ERR_INVALID, "the certificate in %s has expired", path);
    return ERR_OK;
}

static enum err load(SSL_CTX *ctx, const char *cert_path, const char *key_path, struct errbuf *eb)
{
    enum err e = check_readable(cert_path, eb);
    if (e == ERR_OK)
        e = check_readable(key_path, eb);
    if (e == ERR_OK)
        e = harden(ctx, eb);
    if (e != ERR_OK)
        return e;
    if (SSL_CTX_use_certificate_chain_file(ctx, cert_path) != 1)
        return base_fail(eb, ERR_INVALID, "%s is not a usable PEM certificate chain: %s", cert_path,
                         reason());
    /* A key that does not match is reported by check_private_key, not when it is used: load order
     * matters. */
    if (SSL_CTX_use_PrivateKey_file(ctx, key_path, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ctx) != 1) {
        unsigned long code = ERR_peek_last_error();
        if (ERR_GET_LIB(code) == ERR_LIB_X509)
            return base_fail(eb, ERR_INVALID,
                             "the key in %s does not belong to the certificate in %s", key_path,
                             cert_path);
        return base_fail(eb, ERR_INVALID, "%s is not a usable PEM private key: %s", key_path,
                         reason());
    }
    return check_dates(ctx, cert_path, eb);
}

static enum err build(const char *cert_path, const char *key_path, SSL_CTX **out, struct errbuf *eb)
{
    ERR_clear_error();
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    if (ctx == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "no memory for a TLS context");
    enum err e = load(ctx, cert_path, key_path, eb);
    ERR_clear_error();
    if (e != ERR_OK) {
        SSL_CTX_free(ctx);
        return e;
    }
    *out = ctx;
    return ERR_OK;
}

enum err gw_tls_open(const char *cert_path, const char *key_path, struct gw_tls **out,
                     struct errbuf *eb)
{
    SSL_CTX *ctx;
    enum err e = build(cert_path, key_path, &ctx, eb);
    if (e != ERR_OK)
        return e;
    struct gw_tls *tls = base_new(sizeof *tls);
    int rc = pthread_mutex_init(&tls->mutex, NULL);
    INVARIANT(rc == 0);
    tls->current = ctx;
    tls->cert_path = base_new_text(cert_path, strlen(cert_path));
    tls->key_path = base_new_text(key_path, strlen(key_path));
    *out = tls;
    return ERR_OK;
}

enum err gw_tls_reload(struct gw_tls *tls, struct errbuf *eb)
{
    SSL_CTX *ctx;
    enum err e = build(tls->cert_path, tls->key_path, &ctx, eb);
    if (e != ERR_OK)
        return e;
    pthread_mutex_lock(&tls->mutex);
    SSL_CTX *old = tls->current;
    tls->current = ctx;
    pthread_mutex_unlock(&tls->mutex);
    SSL_CTX_free(old);
    return ERR_OK;
}

void gw_tls_close(struct gw_tls *tls)
{
    if (tls == NULL)
        return;
    SSL_CTX_free(tls->current);
    pthread_mutex_destroy(&tls->mutex);
    base_free(tls->cert_path);
    base_free(tls->key_path);
    base_free(tls);
}

SSL_CTX *gw_tls_current(struct gw_tls *tls)
{
    pthread_mutex_lock(&tls->mutex);
    SSL_CTX *ctx = tls->current;
    SSL_CTX_up_ref(ctx);
    pthread_mutex_unlock(&tls->mutex);
    return ctx;
}

void gw_tls_rotate(struct gw_tls *tls, uint64_t now_ns)
{
    SSL_CTX *ctx = gw_tls_current(tls);
    gw_tickets_rotate(ctx, now_ns);
    SSL_CTX_free(ctx);
}

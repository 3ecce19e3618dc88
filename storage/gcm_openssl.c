/*
 * storage/gcm_openssl.c - AES-256-GCM by OpenSSL, on every machine.
 *
 * 1. OpenSSL expands keys into its contexts: a sealer keeps one context for its last key and
 *    direction. Keys are identified by a number that is never reused; an address may be.
 */
#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>

#include "storage/gcm_way.h"

#include "base/banned.h"

struct ready_key {
    uint64_t id;
    uint8_t bytes[STO_GCM_KEY];
};

static pthread_once_t fetched = PTHREAD_ONCE_INIT;
static EVP_CIPHER *algorithm;

static void fetch(void)
{
    algorithm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    INVARIANT(algorithm != NULL);
}

void sto_sealer_fini(struct sto_sealer *s)
{
    EVP_CIPHER_CTX_free(s->context); /* wipes; accepts NULL */
    sto_sealer_init(s);
}

static void make_ready(const struct sto_gcm_way *way, const uint8_t key[STO_GCM_KEY],
                       void *out_ready)
{
    static _Atomic uint64_t last_id;
    struct ready_key *ready = out_ready;
    (void)way;
    (void)pthread_once(&fetched, fetch); /* cannot fail: the control is valid */
    ready->id = atomic_fetch_add(&last_id, 1) + 1;
    memcpy(ready->bytes, key, STO_GCM_KEY);
}

/* Returns the context, set up with key, nonce and bound bytes; NULL if memory is exhausted. */
static EVP_CIPHER_CTX *begin(struct sto_sealer *s, const struct ready_key *key,
                             const struct sto_gcm_message *m, bool seals)
{
    int n = 0;
    bool same = s->key_id == key->id && s->seals == seals;
    if (s->context == NULL) {
        s->context = EVP_CIPHER_CTX_new();
        if (s->context == NULL)
            return NULL;
    }
    s->key_id = 0;
    if (EVP_CipherInit_ex(s->context, same ? NULL : algorithm, NULL, same ? NULL : key->bytes,
                          m->nonce, seals) != 1)
        return NULL;
    s->key_id = key->id;
    s->seals = seals;
    bool bound = m->bound.len == 0 ||
                 EVP_CipherUpdate(s->context, NULL, &n, m->bound.ptr, (int)m->bound.len) == 1;
    return bound ? s->context : NULL;
}

static enum err seal(const struct sto_gcm_way *way, struct sto_sealer *s, const void *ready,
                     const struct sto_gcm_message *plain, uint8_t *out_text,
                     uint8_t out_tag[STO_GCM_TAG])
{
    uint8_t none[STO_GCM_TAG]; /* a stream cipher outputs nothing at the end */
    int n = 0, rest = 0;
    struct slice text = plain->text;
    EVP_CIPHER_CTX *ctx = begin(s, ready, plain, true);
    (void)way;
    bool done =
        ctx != NULL &&
        (text.len == 0 || EVP_CipherUpdate(ctx, out_text, &n, text.ptr, (int)text.len) == 1) &&
        EVP_CipherFinal_ex(ctx, none, &rest) == 1 &&
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, STO_GCM_TAG, out_tag) == 1;
    return done ? ERR_OK : ERR_NO_MEMORY;
}

static enum err open_sealed(const struct sto_gcm_way *way, struct sto_sealer *s, const void *ready,
                            const struct sto_gcm_message *sealed, const uint8_t tag[STO_GCM_TAG],
                            uint8_t *out_text)
{
    uint8_t expected[STO_GCM_TAG], none[STO_GCM_TAG];
    int n = 0, rest = 0;
    struct slice text = sealed->text;
    EVP_CIPHER_CTX *ctx = begin(s, ready, sealed, false);
    (void)way;
    memcpy(expected, tag, sizeof expected);
    if (ctx == NULL ||
        (text.len > 0 && EVP_CipherUpdate(ctx, out_text, &n, text.ptr, (int)text.len) != 1) ||
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, STO_GCM_TAG, expected) != 1)
        return ERR_NO_MEMORY;
    return EVP_CipherFinal_ex(ctx, none, &rest) == 1 ? ERR_OK : ERR_CORRUPT;
}

const struct sto_gcm_way sto_gcm_openssl = {
    .name = "openssl",
    .ready_bytes = sizeof(struct ready_key),
    .make_ready = make_ready,
    .seal = seal,
    .open = open_sealed,
};

/*
 * storage/cipher.c - AES-256-GCM by OpenSSL.
 *
 * 1. A nonce is the run (4 bytes), which is counted durably before the first value of it is sealed,
 *    and a counter (8) that begins anywhere. Two runs that nevertheless have the same number,
 *    because a keystore was put back from a copy, begin at different places of 2^64.
 * 2. Keys are published by their count: a version that is seen is whole.
 */
#include "storage/cipher.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"

#include "base/banned.h"

#define NONCE 12

struct sto_cipher {
    _Atomic uint32_t count;
    uint32_t boot;
    _Atomic uint64_t counter;
    uint8_t keys[STO_CIPHER_VERSIONS][STO_CIPHER_KEY];
};

_Static_assert(STO_SEALED_HEAD == 4 + NONCE, "version and nonce");

static void put_be(uint8_t *out, uint64_t number, size_t bytes)
{
    for (size_t i = bytes; i-- > 0; number >>= 8)
        out[i] = (uint8_t)number;
}

static uint32_t get_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* --- keys ------------------------------------------------------------------------------------- */

struct sto_cipher *sto_cipher_new(uint32_t boot)
{
    struct sto_cipher *cipher = base_new(sizeof *cipher);
    uint64_t counter = 0;
    INVARIANT(RAND_bytes((uint8_t *)&counter, sizeof counter) == 1);
    cipher->boot = boot;
    atomic_init(&cipher->counter, counter);
    return cipher;
}

void sto_cipher_wipe(struct sto_cipher *cipher)
{
    atomic_store(&cipher->count, 0);
    OPENSSL_cleanse(cipher->keys, sizeof cipher->keys);
}

void sto_cipher_free(struct sto_cipher *cipher)
{
    if (cipher == NULL)
        return;
    sto_cipher_wipe(cipher);
    base_free(cipher);
}

enum err sto_cipher_add(struct sto_cipher *cipher, const uint8_t key[STO_CIPHER_KEY])
{
    uint32_t count = atomic_load(&cipher->count);
    if (count == STO_CIPHER_VERSIONS)
        return ERR_TOO_BIG;
    memcpy(cipher->keys[count], key, STO_CIPHER_KEY);
    atomic_store_explicit(&cipher->count, count + 1, memory_order_release);
    return ERR_OK;
}

uint32_t sto_cipher_versions(const struct sto_cipher *cipher)
{
    return atomic_load_explicit(&cipher->count, memory_order_acquire);
}

/* --- contexts --------------------------------------------------------------------------------- */

void sto_sealer_fini(struct sto_sealer *s)
{
    EVP_CIPHER_CTX_free(s->context); /* wipes; accepts NULL */
    sto_sealer_init(s);
}

static pthread_once_t fetched = PTHREAD_ONCE_INIT;
static EVP_CIPHER *algorithm;

static void fetch(void)
{
    algorithm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    INVARIANT(algorithm != NULL);
}

/* The context with key and nonce set; NULL when memory is out. */
static EVP_CIPHER_CTX *context(struct sto_sealer *s, const uint8_t *key, const uint8_t *nonce,
                               bool seals)
{
    bool same = s->key == key && s->seals == seals;
    if (s->context == NULL) {
        (void)pthread_once(&fetched, fetch); /* cannot fail: the control is valid */
        s->context = EVP_CIPHER_CTX_new();
        if (s->context == NULL)
            return NULL;
    }
    s->key = NULL;
    if (EVP_CipherInit_ex(s->context, same ? NULL : algorithm, NULL, same ? NULL : key, nonce,
                          seals) != 1)
        return NULL;
    s->key = key;
    s->seals = seals;
    return s->context;
}

static bool bind(EVP_CIPHER_CTX *ctx, const struct sto_seal_place *place)
{
    int n = 0;
    return EVP_CipherUpdate(ctx, NULL, &n, place->head.ptr, (int)place->head.len) == 1 &&
           EVP_CipherUpdate(ctx, NULL, &n, place->key.ptr, (int)place->key.len) == 1;
}

/* --- values ----------------------------------------------------------------------------------- */

/* text and tag into out, which has room. */
static bool seal_text(EVP_CIPHER_CTX *ctx, struct slice value, uint8_t *out)
{
    int n = 0, rest = 0;
    return (value.len == 0 || EVP_CipherUpdate(ctx, out, &n, value.ptr, (int)value.len) == 1) &&
           EVP_CipherFinal_ex(ctx, out + n, &rest) == 1 &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, STO_SEALED_TAG, out + value.len) == 1;
}

enum err sto_seal(struct sto_sealer *s, struct sto_cipher *cipher,
                  const struct sto_seal_place *place, struct slice value, struct buf *out)
{
    uint32_t version = sto_cipher_versions(cipher);
    if (version == 0)
        return ERR_UNAVAILABLE;
    base_buf_truncate(out, 0);
    if (base_buf_reserve(out, place->head.len + value.len + STO_SEALED_EXTRA) != ERR_OK)
        return ERR_NO_MEMORY;
    memcpy(out->ptr, place->head.ptr, place->head.len);
    uint8_t *at = out->ptr + place->head.len;
    put_be(at, version, 4);
    put_be(at + 4, cipher->boot, 4);
    put_be(at + 8, atomic_fetch_add_explicit(&cipher->counter, 1, memory_order_relaxed), 8);
    EVP_CIPHER_CTX *ctx = context(s, cipher->keys[version - 1], at + 4, true);
    if (ctx == NULL || !bind(ctx, place) || !seal_text(ctx, value, at + STO_SEALED_HEAD))
        return ERR_NO_MEMORY;
    out->len = place->head.len + value.len + STO_SEALED_EXTRA;
    return ERR_OK;
}

/* ERR_CORRUPT: the tag is not that of text, key and place. */
static enum err unseal_text(EVP_CIPHER_CTX *ctx, struct slice text, struct buf *out)
{
    uint8_t tag[STO_SEALED_TAG];
    int n = 0, rest = 0;
    memcpy(tag, text.ptr + text.len, sizeof tag);
    if ((text.len > 0 && EVP_CipherUpdate(ctx, out->ptr, &n, text.ptr, (int)text.len) != 1) ||
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, sizeof tag, tag) != 1)
        return ERR_NO_MEMORY;
    if (EVP_CipherFinal_ex(ctx, out->ptr + n, &rest) != 1)
        return ERR_CORRUPT;
    out->len = text.len;
    return ERR_OK;
}

enum err sto_unseal(struct sto_sealer *s, struct sto_cipher *cipher,
                    const struct sto_seal_place *place, struct slice sealed, struct buf *out)
{
    base_buf_truncate(out, 0);
    if (sealed.len < STO_SEALED_EXTRA)
        return ERR_CORRUPT;
    uint32_t version = get_be32(sealed.ptr);
    if (version == 0 || version > STO_CIPHER_VERSIONS)
        return ERR_CORRUPT;
    if (cipher == NULL || version > sto_cipher_versions(cipher))
        return ERR_UNAVAILABLE;
    struct slice text = base_slice(sealed.ptr + STO_SEALED_HEAD, sealed.len - STO_SEALED_EXTRA);
    EVP_CIPHER_CTX *ctx = context(s, cipher->keys[version - 1], sealed.ptr + 4, false);
    if (ctx == NULL || !bind(ctx, place) || base_buf_reserve(out, text.len + 1) != ERR_OK)
        return ERR_NO_MEMORY;
    return unseal_text(ctx, text, out);
}

const char *sto_unseal_text(enum err rc)
{
    return rc == ERR_UNAVAILABLE ? "the tenant's encryption key is not there; an operator has to "
                                   "put its keystore back"
           : rc == ERR_NO_MEMORY ? "no memory to decrypt a value"
                                 : "a stored value is damaged, or not where it was written";
}

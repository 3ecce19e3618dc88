/*
 * storage/cipher.c - versions of keys, nonces, and the layout of an encrypted value.
 *
 * 1. A nonce is the number of the run (4 bytes), which is counted durably before the run encrypts
 *    its first value, and a counter (8 bytes) with a random start. Two runs may still have the same
 *    number if a keystore was restored from a copy; they then start at different places of 2^64.
 * 2. Keys are published by their count: a version that a reader sees is complete.
 */
#include "storage/cipher.h"

#include <openssl/rand.h>
#include <stdatomic.h>

#include "base/alloc.h"

#include "base/banned.h"

struct sto_cipher {
    const struct sto_gcm_way *way;
    _Atomic uint32_t count;
    uint32_t boot;
    _Atomic uint64_t counter;
    struct sto_gcm_key *keys[STO_CIPHER_VERSIONS]; /* NULL, or made, or made and wiped */
};

_Static_assert(STO_SEALED_HEAD == 4 + STO_GCM_NONCE, "version and nonce");

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
    return sto_cipher_new_by(sto_gcm_best(), boot);
}

struct sto_cipher *sto_cipher_new_by(const struct sto_gcm_way *way, uint32_t boot)
{
    struct sto_cipher *cipher = base_new(sizeof *cipher);
    uint64_t counter = 0;
    INVARIANT(RAND_bytes((uint8_t *)&counter, sizeof counter) == 1);
    cipher->way = way;
    cipher->boot = boot;
    atomic_init(&cipher->counter, counter);
    return cipher;
}

void sto_cipher_wipe(struct sto_cipher *cipher)
{
    atomic_store(&cipher->count, 0);
    for (size_t i = 0; i < STO_CIPHER_VERSIONS; i++)
        sto_gcm_key_wipe(cipher->keys[i]);
}

void sto_cipher_free(struct sto_cipher *cipher)
{
    if (cipher == NULL)
        return;
    for (size_t i = 0; i < STO_CIPHER_VERSIONS; i++)
        sto_gcm_key_free(cipher->keys[i]);
    base_free(cipher);
}

enum err sto_cipher_add(struct sto_cipher *cipher, const uint8_t key[STO_CIPHER_KEY])
{
    uint32_t count = atomic_load(&cipher->count);
    if (count == STO_CIPHER_VERSIONS)
        return ERR_TOO_BIG;
    sto_gcm_key_free(cipher->keys[count]); /* free a wiped key */
    cipher->keys[count] = sto_gcm_key_new(cipher->way, key);
    atomic_store_explicit(&cipher->count, count + 1, memory_order_release);
    return ERR_OK;
}

uint32_t sto_cipher_versions(const struct sto_cipher *cipher)
{
    return atomic_load_explicit(&cipher->count, memory_order_acquire);
}

/* --- values ----------------------------------------------------------------------------------- */

/* Concatenates the bytes that the value is bound to at `at`, which is unused and has room. */
static struct slice bind_at(uint8_t *at, const struct sto_seal_place *place)
{
    memcpy(at, place->head.ptr, place->head.len);
    if (place->key.len > 0)
        memcpy(at + place->head.len, place->key.ptr, place->key.len);
    return base_slice(at, place->head.len + place->key.len);
}

enum err sto_seal(struct sto_sealer *s, struct sto_cipher *cipher,
                  const struct sto_seal_place *place, struct slice value, struct buf *out)
{
    uint32_t version = sto_cipher_versions(cipher);
    size_t len = place->head.len + value.len + STO_SEALED_EXTRA;
    if (version == 0)
        return ERR_UNAVAILABLE;
    base_buf_truncate(out, 0);
    if (base_buf_reserve(out, len + place->head.len + place->key.len) != ERR_OK)
        return ERR_NO_MEMORY;
    memcpy(out->ptr, place->head.ptr, place->head.len);
    uint8_t *at = out->ptr + place->head.len;
    put_be(at, version, 4);
    put_be(at + 4, cipher->boot, 4);
    put_be(at + 8, atomic_fetch_add_explicit(&cipher->counter, 1, memory_order_relaxed), 8);
    struct sto_gcm_message plain = {at + 4, bind_at(out->ptr + len, place), value};
    uint8_t *text = at + STO_SEALED_HEAD;
    enum err rc = sto_gcm_seal(s, cipher->keys[version - 1], &plain, text, text + value.len);
    if (rc == ERR_OK)
        out->len = len;
    return rc;
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
    if (base_buf_reserve(out, text.len + place->head.len + place->key.len) != ERR_OK)
        return ERR_NO_MEMORY;
    struct sto_gcm_message message = {sealed.ptr + 4, bind_at(out->ptr + text.len, place), text};
    enum err rc =
        sto_gcm_open(s, cipher->keys[version - 1], &message, text.ptr + text.len, out->ptr);
    if (rc == ERR_OK)
        out->len = text.len;
    return rc;
}

const char *sto_unseal_text(enum err rc)
{
    return rc == ERR_UNAVAILABLE ? "the tenant's encryption key is not there; an operator has to "
                                   "put its keystore back"
           : rc == ERR_NO_MEMORY ? "no memory to decrypt a value"
                                 : "a stored value is damaged, or not where it was written";
}

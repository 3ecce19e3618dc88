/*
 * storage/cipher.h - values of one tenant that nobody reads without its key.
 *
 * Does:     hold a tenant's data keys by version; seal and unseal values with AES-256-GCM, bound to
 *           the stored key they stand under.
 * Owns:     copies of the keys, until they are wiped; a sealer's context.
 * May use:  base/, storage/.
 * Knows no: where keys come from (tenancy/keystore.h), RocksDB.
 * Threads:  keys are added and wiped by one thread and used by any; a sealer is one thread's at a
 *           time.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT (what is unsealed was not sealed under this key and place), ERR_UNAVAILABLE
 *           (there is no key of that version), ERR_NO_MEMORY.
 * Limits:   STO_CIPHER_VERSIONS keys of a tenant.
 * Promises: 1. What was sealed is unsealed under the same stored key only: moved to another row,
 *              column, version or tenant it is ERR_CORRUPT. 2. No nonce is used twice with a key:
 *              see cipher.c. 3. After a wipe no key is left in memory, and nothing is sealed or
 *              unsealed any more.
 *
 *   sealed: key version (4, BE) nonce (12) ciphertext, as long as the value, tag (16)
 */
#ifndef STORAGE_CIPHER_H
#define STORAGE_CIPHER_H

#include "base/buf.h"
#include "storage/gcm.h"

#define STO_CIPHER_KEY      STO_GCM_KEY
#define STO_CIPHER_VERSIONS 64
#define STO_SEALED_HEAD     16
#define STO_SEALED_TAG      STO_GCM_TAG
#define STO_SEALED_EXTRA    (STO_SEALED_HEAD + STO_SEALED_TAG)

struct sto_cipher;

/* boot: of this run; no other run of a server with these keys ever has it. */
struct sto_cipher *sto_cipher_new(uint32_t boot);
/* By one way of storage/gcm.h; the bytes are the same by all. */
struct sto_cipher *sto_cipher_new_by(const struct sto_gcm_way *way, uint32_t boot);
/* Wipes first; accepts NULL. */
void sto_cipher_free(struct sto_cipher *cipher);
/* Versions begin with 1, without gaps; the last one added seals from now on. ERR_TOO_BIG. */
enum err sto_cipher_add(struct sto_cipher *cipher, const uint8_t key[STO_CIPHER_KEY]) MUST_CHECK;
uint32_t sto_cipher_versions(const struct sto_cipher *cipher);
/* Nobody may be using it: the gate of its tenant says GONE, and its reads and batches are over. */
void sto_cipher_wipe(struct sto_cipher *cipher);

/* What a value is bound to: its stored key, and the bytes in front of what is sealed. */
struct sto_seal_place {
    struct slice head;
    struct slice key;
};

/* place->head and the sealed value into out, which they replace. Neither call needs more of out
 * than the result and what it is bound to. */
enum err sto_seal(struct sto_sealer *s, struct sto_cipher *cipher,
                  const struct sto_seal_place *place, struct slice value,
                  struct buf *out) MUST_CHECK;
/* sealed: what stands behind place->head. The value into out, which it replaces; empty after a
 * failure. cipher NULL: ERR_UNAVAILABLE. */
enum err sto_unseal(struct sto_sealer *s, struct sto_cipher *cipher,
                    const struct sto_seal_place *place, struct slice sealed,
                    struct buf *out) MUST_CHECK;
/* What to say of a failure of sto_unseal. */
const char *sto_unseal_text(enum err rc);

#endif

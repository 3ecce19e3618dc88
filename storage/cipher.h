/*
 * storage/cipher.h - encryption of one tenant's values.
 *
 * Does:     holds a tenant's data keys by version; encrypts and decrypts values with AES-256-GCM,
 *           bound to their stored key.
 * Owns:     copies of the keys, until they are wiped; a sealer's context.
 * May use:  base/, storage/.
 * Knows no: where keys come from (tenancy/keystore.h), RocksDB.
 * Threads:  keys are added and wiped by one thread and used by any; a sealer is used by one thread
 *           at a time.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT (the value was not encrypted with this key at this place), ERR_UNAVAILABLE
 *           (no key of that version is held), ERR_NO_MEMORY.
 * Limits:   STO_CIPHER_VERSIONS keys of a tenant.
 * Promises: 1. An encrypted value is decrypted under the same stored key only: moved to another
 *              row, column, version or tenant it is ERR_CORRUPT.
 *           2. No nonce is used twice with a key: see cipher.c.
 *           3. After a wipe no key is left in memory, and nothing is encrypted or decrypted any
 *              more.
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

/* Creates a cipher. boot: number of this run; no other run of a server with these keys has it. */
struct sto_cipher *sto_cipher_new(uint32_t boot);
/* Creates a cipher with a chosen implementation of storage/gcm.h; all return the same bytes. */
struct sto_cipher *sto_cipher_new_by(const struct sto_gcm_way *way, uint32_t boot);
/* Wipes and frees; accepts NULL. */
void sto_cipher_free(struct sto_cipher *cipher);
/* Adds the next version. Versions start at 1, without gaps; the newest one encrypts all later
 * values. ERR_TOO_BIG. */
enum err sto_cipher_add(struct sto_cipher *cipher, const uint8_t key[STO_CIPHER_KEY]) MUST_CHECK;
uint32_t sto_cipher_versions(const struct sto_cipher *cipher);
/* Wipes all keys. No thread may be using the cipher: its tenant's gate is GONE, and its reads and
 * batches are over. */
void sto_cipher_wipe(struct sto_cipher *cipher);

/* Bytes that a value is bound to: its stored key, and the bytes stored before the ciphertext. */
struct sto_seal_place {
    struct slice head;
    struct slice key;
};

/* Replaces the contents of out with place->head and the encrypted value. Neither call needs more
 * room in out than the result and the bound bytes. */
enum err sto_seal(struct sto_sealer *s, struct sto_cipher *cipher,
                  const struct sto_seal_place *place, struct slice value,
                  struct buf *out) MUST_CHECK;
/* Decrypts `sealed`, the bytes after place->head, and replaces the contents of out with the value;
 * out is empty after a failure. cipher NULL: ERR_UNAVAILABLE. */
enum err sto_unseal(struct sto_sealer *s, struct sto_cipher *cipher,
                    const struct sto_seal_place *place, struct slice sealed,
                    struct buf *out) MUST_CHECK;
/* Returns the error text for a failure of sto_unseal. */
const char *sto_unseal_text(enum err rc);

#endif

/*
 * storage/gcm.h - AES-256-GCM of whole messages, by the fastest implementation on this machine.
 *
 * Does:     prepares a key once; encrypts and decrypts a message with it in one call.
 * Owns:     prepared keys, until they are freed; a sealer's context.
 * May use:  base/.
 * Knows no: the contents of messages, which nonces were used: storage/cipher.h does.
 * Threads:  a prepared key is used by any; a sealer is used by one thread at a time.
 * Blocks:   no; sto_gcm_best takes some milliseconds the first time.
 * Fails by: ERR_CORRUPT (not encrypted with this key, nonce and bound bytes), ERR_NO_MEMORY.
 * Limits:   STO_GCM_TEXT_MAX bytes of text, and of bound bytes.
 * Promises: 1. Every implementation returns the same bytes. 2. A message that fails to decrypt is
 *              not revealed: out_text is then zeros.
 *           3. Tags are compared in constant time, and tables are not indexed by secrets. 4. No
 *              byte outside the caller's slices is read or written.
 */
#ifndef STORAGE_GCM_H
#define STORAGE_GCM_H

#include "base/err.h"
#include "base/slice.h"

#define STO_GCM_KEY      32
#define STO_GCM_NONCE    12
#define STO_GCM_TAG      16
#define STO_GCM_TEXT_MAX (1u << 30)

/* One of the implementations; their common interface is in gcm_way.h. */
struct sto_gcm_way;

/* Returns the i-th implementation that this machine can run and that returns the same bytes as
 * OpenSSL; the fastest first, OpenSSL last, then NULL. Each call tests them. */
const struct sto_gcm_way *sto_gcm_way(size_t i);
/* Returns the fastest implementation, chosen once. */
const struct sto_gcm_way *sto_gcm_best(void);
/* Returns its name, one word, for logs. */
const char *sto_gcm_way_name(const struct sto_gcm_way *way);

struct sto_gcm_key;

struct sto_gcm_key *sto_gcm_key_new(const struct sto_gcm_way *way, const uint8_t key[STO_GCM_KEY]);
/* Wipes a key. No thread may be using it, or use it again; accepts NULL. */
void sto_gcm_key_wipe(struct sto_gcm_key *key);
/* Wipes and frees; accepts NULL. */
void sto_gcm_key_free(struct sto_gcm_key *key);

/* A thread's state between two messages, so that the same key need not be set up again. */
struct sto_sealer {
    void *context;   /* NULL until the first use */
    uint64_t key_id; /* 0: none */
    bool seals;
};

static inline void sto_sealer_init(struct sto_sealer *s)
{
    *s = (struct sto_sealer){NULL, 0, false};
}
void sto_sealer_fini(struct sto_sealer *s);

struct sto_gcm_message {
    const uint8_t *nonce; /* STO_GCM_NONCE bytes; a key must not encrypt twice with the same
                           * nonce */
    struct slice bound;   /* authenticated by the tag, not part of the text */
    struct slice text;
};

/* Encrypt and decrypt. out_text: as long as the text; must not overlap it. */
enum err sto_gcm_seal(struct sto_sealer *s, const struct sto_gcm_key *key,
                      const struct sto_gcm_message *plain, uint8_t *out_text,
                      uint8_t out_tag[STO_GCM_TAG]) MUST_CHECK;
enum err sto_gcm_open(struct sto_sealer *s, const struct sto_gcm_key *key,
                      const struct sto_gcm_message *sealed, const uint8_t tag[STO_GCM_TAG],
                      uint8_t *out_text) MUST_CHECK;

#endif

/*
 * storage/gcm.h - AES-256-GCM of whole messages, by the fastest code that this machine has.
 *
 * Does:     make a key ready once; seal and open a message with it in one call.
 * Owns:     keys that are ready, until they are freed; a sealer's context.
 * May use:  base/.
 * Knows no: what a message is, which nonces were used: storage/cipher.h does.
 * Threads:  a key that was made is used by any; a sealer is one thread's at a time.
 * Blocks:   no; sto_gcm_best takes some milliseconds the first time.
 * Fails by: ERR_CORRUPT (not sealed with this key, nonce and bound bytes), ERR_NO_MEMORY.
 * Limits:   STO_GCM_TEXT_MAX bytes of text, and of what is bound.
 * Promises: 1. Every way gives the same bytes. 2. What does not open is not shown: out_text is
 *           zeros then. 3. Tags are compared in constant time, and tables are not indexed by
 *           secrets. 4. No byte outside of the slices given is read or written.
 */
#ifndef STORAGE_GCM_H
#define STORAGE_GCM_H

#include "base/err.h"
#include "base/slice.h"

#define STO_GCM_KEY      32
#define STO_GCM_NONCE    12
#define STO_GCM_TAG      16
#define STO_GCM_TEXT_MAX (1u << 30)

/* One of the implementations; what they need of each other is in gcm_way.h. */
struct sto_gcm_way;

/* Those that this machine can run, and that come to the same bytes as OpenSSL; the fastest first,
 * OpenSSL last, NULL behind it. They are tried at each call. */
const struct sto_gcm_way *sto_gcm_way(size_t i);
/* The fastest, chosen once. */
const struct sto_gcm_way *sto_gcm_best(void);
/* One word, for logs. */
const char *sto_gcm_way_name(const struct sto_gcm_way *way);

struct sto_gcm_key;

struct sto_gcm_key *sto_gcm_key_new(const struct sto_gcm_way *way, const uint8_t key[STO_GCM_KEY]);
/* Nobody may be using it, nor use it again; accepts NULL. */
void sto_gcm_key_wipe(struct sto_gcm_key *key);
/* Wipes first; accepts NULL. */
void sto_gcm_key_free(struct sto_gcm_key *key);

/* What a thread keeps between two messages, so that the same key need not be set up again. */
struct sto_sealer {
    void *context;   /* NULL until it is used */
    uint64_t key_id; /* 0: none */
    bool seals;
};

static inline void sto_sealer_init(struct sto_sealer *s)
{
    *s = (struct sto_sealer){NULL, 0, false};
}
void sto_sealer_fini(struct sto_sealer *s);

struct sto_gcm_message {
    const uint8_t *nonce; /* STO_GCM_NONCE bytes; never twice with a key to seal */
    struct slice bound;   /* not in the text, but in the tag */
    struct slice text;
};

/* out_text: as long as the text, apart from it. */
enum err sto_gcm_seal(struct sto_sealer *s, const struct sto_gcm_key *key,
                      const struct sto_gcm_message *plain, uint8_t *out_text,
                      uint8_t out_tag[STO_GCM_TAG]) MUST_CHECK;
enum err sto_gcm_open(struct sto_sealer *s, const struct sto_gcm_key *key,
                      const struct sto_gcm_message *sealed, const uint8_t tag[STO_GCM_TAG],
                      uint8_t *out_text) MUST_CHECK;

#endif

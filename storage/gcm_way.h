/*
 * storage/gcm_way.h - inside of gcm.h: the interface of each implementation.
 *
 * Does:     defines an implementation; names the two families of them.
 * Owns:     nothing.
 * May use:  base/, storage/gcm.h.
 * Knows no: where keys are stored; gcm.c allocates their memory and wipes it.
 * Threads:  any, once an implementation was returned.
 * Blocks:   no.
 * Fails by: as gcm.h says.
 * Limits:   those of gcm.h are checked in gcm.c.
 * Promises: 1. A prepared key is never written to again.
 */
#ifndef STORAGE_GCM_WAY_H
#define STORAGE_GCM_WAY_H

#include "storage/gcm.h"

#define STO_GCM_ALIGNMENT 64 /* of prepared keys */

struct sto_gcm_way {
    const char *name;
    size_t ready_bytes; /* of a prepared key */
    const void *code;   /* belongs to the implementation */
    void (*make_ready)(const struct sto_gcm_way *way, const uint8_t key[STO_GCM_KEY],
                       void *out_ready);
    enum err (*seal)(const struct sto_gcm_way *way, struct sto_sealer *s, const void *ready,
                     const struct sto_gcm_message *plain, uint8_t *out_text,
                     uint8_t out_tag[STO_GCM_TAG]);
    /* After ERR_CORRUPT, out_text may hold anything. */
    enum err (*open)(const struct sto_gcm_way *way, struct sto_sealer *s, const void *ready,
                     const struct sto_gcm_message *sealed, const uint8_t tag[STO_GCM_TAG],
                     uint8_t *out_text);
};

extern const struct sto_gcm_way sto_gcm_openssl;

/* Intel's Multi-Buffer Crypto Library, for x86-64 only: returns the code for the i-th of its
 * instruction sets, the newest first. NULL: this processor lacks the set, or the library failed its
 * own test. */
#define STO_GCM_IPSEC_MB_WAYS 4
const struct sto_gcm_way *sto_gcm_ipsec_mb(size_t i);

#endif

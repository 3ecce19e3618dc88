/*
 * storage/gcm_way.h - inside of gcm.h: what each implementation brings.
 *
 * Does:     say what a way is; name the two families of them.
 * Owns:     nothing.
 * May use:  base/, storage/gcm.h.
 * Knows no: where keys lie; gcm.c gives the memory and wipes it.
 * Threads:  any, once a way was handed out.
 * Blocks:   no.
 * Fails by: as gcm.h says.
 * Limits:   those of gcm.h are checked in gcm.c.
 * Promises: 1. A ready key is not written to after it was made.
 */
#ifndef STORAGE_GCM_WAY_H
#define STORAGE_GCM_WAY_H

#include "storage/gcm.h"

#define STO_GCM_ALIGNMENT 64 /* of ready keys */

struct sto_gcm_way {
    const char *name;
    size_t ready_bytes; /* of a key that is ready */
    const void *code;   /* the way's own */
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

/* Intel's Multi-Buffer Crypto Library, which is of x86-64 alone: the i-th of the instruction sets
 * that it has code for, the newest first. NULL: this processor has it not, or the library failed
 * its own test. */
#define STO_GCM_IPSEC_MB_WAYS 4
const struct sto_gcm_way *sto_gcm_ipsec_mb(size_t i);

#endif

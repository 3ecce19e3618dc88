/*
 * storage/canary.h - markers among a tenant's keys that prove that a search of the files works.
 *
 * Does:     defines a canary's bytes and the stored keys of canaries.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: the code that plants canaries, and the code that searches for them.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   STO_CANARIES for each tenant.
 * Promises: 1. A canary's key is in its tenant's range and in no table's: a table's ID begins with
 *              a letter, a digit or '_', all above STO_CANARY_MARK.
 */
#ifndef STORAGE_CANARY_H
#define STORAGE_CANARY_H

#include "storage/range.h"

#define STO_CANARY_BYTES 32
#define STO_CANARY_HEAD  "\x9c\x02~BTc\x1f\xe5" /* the first 8 bytes of every canary */
#define STO_CANARIES     4
#define STO_CANARY_MARK  1 /* after "tenant#" */

/* SHA-256 of a canary: the only trace of it stored elsewhere. */
struct sto_canary {
    uint8_t hash[32];
};

/* Writes "tenant#" 01 number; returns its length. */
static inline size_t sto_canary_key(const struct sto_range *tenant, uint8_t number,
                                    uint8_t out[STO_RANGE_KEY_MAX + 2])
{
    memcpy(out, tenant->begin, tenant->begin_len);
    out[tenant->begin_len] = STO_CANARY_MARK;
    out[tenant->begin_len + 1] = number;
    return tenant->begin_len + 2;
}

static inline bool sto_key_is_canary(const struct sto_range *tenant, struct slice key)
{
    return key.len > tenant->begin_len && key.ptr[tenant->begin_len] == STO_CANARY_MARK &&
           base_slice_starts_with(key, sto_range_begin(tenant));
}

#endif

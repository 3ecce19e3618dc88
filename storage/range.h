/*
 * storage/range.h - the one maker of physical ranges.
 *
 * Does:     make the ranges that may be handed to delete_range, delete_file_in_range and
 *           compact_range: all keys of one tenant, all its documents under one letter.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: RocksDB.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail; a range that is reversed or leaves the tenant aborts (on RocksDB 7.8.3 a
 *           reversed range stops every later write of every tenant).
 * Limits:   LIM_TENANT_ID.
 * Promises: 1. begin < end. 2. Every key in [begin, end) is the tenant's, and every key of the
 *              tenant is in it. 3. last_inside is behind every stored key of the tenant and before
 *              `end`: the limit for calls whose end is inclusive.
 */
#ifndef STORAGE_RANGE_H
#define STORAGE_RANGE_H

#include "storage/scope.h"

#define STO_RANGE_KEY_MAX (LIM_TENANT_ID + 8)

struct sto_range {
    size_t begin_len;
    size_t end_len;
    size_t last_inside_len;
    uint8_t begin[STO_RANGE_KEY_MAX];
    uint8_t end[STO_RANGE_KEY_MAX];
    uint8_t last_inside[STO_RANGE_KEY_MAX];
};

/* [tenant#, tenant$), last_inside = tenant# FF. */
struct sto_range sto_range_of_tenant(const struct sto_tenant_scope *scope);
/* Documents "<letter>/<tenant>/...": [u/tenant/, u/tenant0), last_inside = u/tenant/ FF. */
struct sto_range sto_range_of_docs(const struct sto_tenant_scope *scope, char letter);

static inline struct slice sto_range_begin(const struct sto_range *r)
{
    return base_slice(r->begin, r->begin_len);
}

static inline struct slice sto_range_end(const struct sto_range *r)
{
    return base_slice(r->end, r->end_len);
}

#endif

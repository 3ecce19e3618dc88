/*
 * storage/rocksdb/change_care.h - changes that nobody may read any more go.
 *
 * Does:     walk over all tables that have changes and remove what their schemas do not keep.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: who reads; tables that are being deleted (change_drop.h).
 * Threads:  any that may block, one at a time.
 * Blocks:   on the disk.
 * Fails by: ERR_CORRUPT, ERR_IO, ERR_UNAVAILABLE, ERR_OUTCOME_UNKNOWN.
 * Limits:   LIM_CHANGES_PER_SWEEP a call.
 * Promises: 1. What is removed was older than its table retains, or of a stream that was switched
 *              off, or of a table that is gone. 2. All that is so goes in the end, also after a
 *              crash: nothing is remembered but what is stored. 3. A walk passes each key once, and
 *              no delete that it wrote itself. 4. Nothing of a tenant is written after its purge.
 *           5. What is removed is taken off what the tenant stores (change_count.h).
 */
#ifndef STORAGE_ROCKSDB_CHANGE_CARE_H
#define STORAGE_ROCKSDB_CHANGE_CARE_H

#include "storage/change.h"

struct rdb_engine;

/* Where a walk is; starts zeroed. */
struct rdb_change_sweep {
    size_t at_len; /* 0: at its beginning */
    uint8_t at[STO_CHANGE_KEY_MAX];
};
/* One commit. *out_more: the walk goes on. */
enum err sto_rdb_changes_sweep(struct rdb_engine *e, struct rdb_change_sweep *sweep, int64_t now_us,
                               bool *out_more) MUST_CHECK;

#endif

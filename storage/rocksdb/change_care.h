/*
 * storage/rocksdb/change_care.h - removes changes past their retention.
 *
 * Does:     walks over all tables that have changes and removes those that their schemas do not
 *           keep.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: the readers; tables that are being deleted (change_drop.h).
 * Threads:  any that may block, one at a time.
 * Blocks:   on the disk.
 * Fails by: ERR_CORRUPT, ERR_IO, ERR_UNAVAILABLE, ERR_OUTCOME_UNKNOWN.
 * Limits:   LIM_CHANGES_PER_SWEEP a call.
 * Promises: 1. A removed change was older than its table retains, or of a stream that was switched
 *              off, or of a removed table.
 *           2. Every such change is removed eventually, also after a crash: no state is needed but
 *              the stored data.
 *           3. A walk passes each key once, and none of its own deletes.
 *           4. Nothing of a tenant is written after its purge.
 *           5. Removed bytes are subtracted from the tenant's stored changes (change_count.h).
 */
#ifndef STORAGE_ROCKSDB_CHANGE_CARE_H
#define STORAGE_ROCKSDB_CHANGE_CARE_H

#include "storage/change.h"

struct rdb_engine;

/* The position of a walk; starts zeroed. */
struct rdb_change_sweep {
    size_t at_len; /* 0: at the start */
    uint8_t at[STO_CHANGE_KEY_MAX];
};
/* Makes one commit. *out_more: the walk continues. */
enum err sto_rdb_changes_sweep(struct rdb_engine *e, struct rdb_change_sweep *sweep, int64_t now_us,
                               bool *out_more) MUST_CHECK;

#endif

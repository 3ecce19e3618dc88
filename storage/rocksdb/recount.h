/*
 * storage/rocksdb/recount.h - counts the stored cells and compares the sum with the recorded
 * counters.
 *
 * Does:     counts the cells of a tenant over a snapshot, checks every row header on the way.
 * Owns:     the operation's state and snapshot.
 * May use:  base/, storage/.
 * Knows no: how a difference is handled.
 * Threads:  submit from any; the snapshot is taken on the tenant's committer, counted on a reader.
 * Blocks:   readers only.
 * Fails by: ERR_CORRUPT (header or stored counters disagree), ERR_IO, ERR_UNAVAILABLE, ERR_GONE,
 *           ERR_TIMEOUT.
 * Limits:   LIM_SLICE_STEPS_SHARED keys at a time; it reads everything without filling the cache.
 * Promises: 1. counted and recorded are of the same moment.
 *           2. A deletion waits for snapshot and iterator no longer than LIM_ROW_SNAPSHOT_WAITED_MS
 *              and a slice each. A count that had to restart more than LIM_RECOUNT_BEGINS times
 *              fails.
 */
#ifndef STORAGE_ROCKSDB_RECOUNT_H
#define STORAGE_ROCKSDB_RECOUNT_H

#include "storage/engine.h"

void sto_rdb_recount(struct sto_engine *engine, struct sto_recount_op *op);

#endif

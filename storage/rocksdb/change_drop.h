/*
 * storage/rocksdb/change_drop.h - removes the changes of a table that is being removed, after its
 * rows.
 *
 * Does:     deletes the first changes as points in bounded commits, and the rest, if there are
 *           many, as one range; writes a reclaim record of the table (reclaim_note.h).
 * Owns:     nothing after the operation has returned.
 * May use:  base/, storage/.
 * Knows no: why a table is removed; how its space is reclaimed (reclaim.h).
 * Threads:  starts and runs on the tenant's committer.
 * Blocks:   no more than a commit.
 * Fails by: as sto_drop_rows.
 * Limits:   LIM_CHANGES_PER_SWEEP a commit; options.drop_range_cells as points.
 * Promises: 1. A removal writes at most one range tombstone.
 *           2. Between two commits other operations are served.
 *           3. After a crash the remaining changes are found by the same operation.
 */
#ifndef STORAGE_ROCKSDB_CHANGE_DROP_H
#define STORAGE_ROCKSDB_CHANGE_DROP_H

#include "storage/engine.h"

struct rdb_engine;

/* op->table_ends is set and the rows are gone. Returns op to its caller at the end. */
void sto_rdb_change_drop(struct rdb_engine *e, struct sto_drop_op *op);

#endif

/*
 * storage/rocksdb/drop.h - removes many rows, exactly counted, in bounded commits.
 *
 * Does:     removes the cells of a range of rows, all or one family's: by point deletes and, where
 *           many whole rows are removed, by counted ranges. Other files count only (drop_count.h),
 *           or remove cells that no read shows any more (sweep.h).
 * Owns:     the operation's cursor.
 * May use:  base/, storage/.
 * Knows no: why rows are dropped; how their space is reclaimed (reclaim.h).
 * Threads:  submit from any; runs on the tenant's committer and on readers.
 * Blocks:   no more than a slice or a commit.
 * Fails by: ERR_SUSPENDED, ERR_GONE, ERR_NOT_FOUND, ERR_CANCELLED, ERR_UNAVAILABLE, ERR_CORRUPT,
 *           ERR_IO, ERR_INVALID, ERR_OUTCOME_UNKNOWN.
 * Limits:   LIM_DROP_SLICE_CELLS, LIM_DROP_RANGE_CELLS, LIM_DROP_STRETCH_CELLS.
 * Promises: 1. After every commit headers and counters are exact, also in the middle of a row.
 *           2. Between two slices other operations are served; their writes are counted, and lost
 *              only if the drop deletes them as well.
 */
#ifndef STORAGE_ROCKSDB_DROP_H
#define STORAGE_ROCKSDB_DROP_H

#include "storage/engine.h"

struct rdb_engine;

/* Between slices, any thread: returns an error if the engine closes or failed, the gate was closed,
 * the table was deleted, the sweep's rules are not the newest, or the caller cancelled the drop. */
enum err sto_rdb_drop_goes_on(struct rdb_engine *e, struct sto_drop_op *op) MUST_CHECK;

/* Returns the finished operation to its caller; its engine_state was freed. */
void sto_rdb_drop_answer(struct sto_drop_op *op, enum err rc);

void sto_rdb_drop_rows(struct sto_engine *engine, struct sto_drop_op *op);

#endif

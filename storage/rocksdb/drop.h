/*
 * storage/rocksdb/drop.h - removing many rows, exactly counted, in bounded commits.
 *
 * Does:     remove the cells of a range of rows, all or one family's: by point deletes, and, where
 *           many whole rows go, by counted ranges. Counting alone, and what no read shows any more,
 *           are others' (drop_count.h, sweep.h).
 * Owns:     the operation's cursor.
 * May use:  base/, storage/.
 * Knows no: why rows are dropped; how their bytes leave the files (reclaim.h).
 * Threads:  submit from any; runs on the tenant's committer and on readers.
 * Blocks:   no more than a slice or a commit.
 * Fails by: ERR_SUSPENDED, ERR_GONE, ERR_NOT_FOUND, ERR_CANCELLED, ERR_UNAVAILABLE, ERR_CORRUPT,
 *           ERR_IO, ERR_INVALID, ERR_OUTCOME_UNKNOWN.
 * Limits:   LIM_DROP_SLICE_CELLS, LIM_DROP_RANGE_CELLS, LIM_DROP_STRETCH_CELLS.
 * Promises: 1. After every commit headers and counters are exact, also in the middle of a row.
 *           2. Between two slices everybody else's operations have their turn; what they write
 *              meanwhile is counted, and lost only if the drop deletes it as well.
 */
#ifndef STORAGE_ROCKSDB_DROP_H
#define STORAGE_ROCKSDB_DROP_H

#include "storage/engine.h"

struct rdb_engine;

/* Between slices, any thread: the engine closes or failed, the gate was closed, the table was
 * deleted, the sweep's rules are not the newest, or its maker wants it to end. */
enum err sto_rdb_drop_goes_on(struct rdb_engine *e, struct sto_drop_op *op) MUST_CHECK;

/* The operation has ended; its engine_state was freed. */
void sto_rdb_drop_answer(struct sto_drop_op *op, enum err rc);

void sto_rdb_drop_rows(struct sto_engine *engine, struct sto_drop_op *op);

#endif

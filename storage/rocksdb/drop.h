/*
 * storage/rocksdb/drop.h - removing many rows, exactly counted, in bounded commits.
 *
 * Does:     point-delete the cells of a range of rows, all, one family's, or those that no read
 *           shows any more, LIM_DROP_SLICE_CELLS at a time.
 * Owns:     the operation's cursor.
 * May use:  base/, storage/.
 * Knows no: why rows are dropped.
 * Threads:  submit from any; runs on the tenant's committer.
 * Blocks:   no more than a commit.
 * Fails by: ERR_SUSPENDED, ERR_GONE, ERR_UNAVAILABLE, ERR_CORRUPT, ERR_IO, ERR_INVALID,
 *           ERR_OUTCOME_UNKNOWN.
 * Limits:   LIM_DROP_SLICE_CELLS.
 * Promises: 1. After every slice headers and counters are exact, also in the middle of a row.
 *           2. Between two slices everybody else's operations have their turn.
 */
#ifndef STORAGE_ROCKSDB_DROP_H
#define STORAGE_ROCKSDB_DROP_H

#include "storage/engine.h"

struct rdb_engine;

/* Between slices: ERR_UNAVAILABLE, or ERR_CANCELLED when the maker wants it to end. */
enum err sto_rdb_drop_goes_on(struct rdb_engine *e, struct sto_drop_op *op) MUST_CHECK;

void sto_rdb_drop_rows(struct sto_engine *engine, struct sto_drop_op *op);

#endif

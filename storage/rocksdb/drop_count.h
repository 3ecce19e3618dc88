/*
 * storage/rocksdb/drop_count.h - what a drop would remove, without removing it.
 *
 * Does:     add up the row headers of a range, a slice at a time; say where the next one begins.
 * Owns:     nothing between slices.
 * May use:  base/, storage/.
 * Knows no: what is done with the number.
 * Threads:  submit from any; it runs on readers.
 * Blocks:   readers only.
 * Fails by: as sto_drop_rows, with ERR_TIMEOUT and ERR_CANCELLED also in the middle of a slice;
 *           ERR_INVALID when only some cells would go (family, expired_only).
 * Limits:   LIM_SLICE_ROWS, those of slice_clock.h.
 * Promises: 1. Rows that nobody writes meanwhile are counted exactly.
 *           2. What a slice read is in steps and bytes_seen, whatever it ended with.
 */
#ifndef STORAGE_ROCKSDB_DROP_COUNT_H
#define STORAGE_ROCKSDB_DROP_COUNT_H

#include "storage/engine.h"

struct rdb_engine;

void sto_rdb_drop_count(struct rdb_engine *e, struct sto_drop_op *op);

#endif

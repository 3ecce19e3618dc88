/*
 * storage/rocksdb/drop_count.h - counts the rows that a drop would remove, without removing them.
 *
 * Does:     adds up the row headers of a range, a slice at a time; returns where the next one
 *           starts.
 * Owns:     nothing between slices.
 * May use:  base/, storage/.
 * Knows no: the use of the number.
 * Threads:  submit from any; it runs on readers.
 * Blocks:   readers only.
 * Fails by: as sto_drop_rows, with ERR_TIMEOUT and ERR_CANCELLED also in the middle of a slice;
 *           ERR_INVALID if only some cells would be removed (family, expired_only).
 * Limits:   LIM_SLICE_ROWS, those of slice_clock.h.
 * Promises: 1. Rows that are not written at the same time are counted exactly.
 *           2. The amounts that a slice read are in steps and bytes_seen, whatever its result.
 */
#ifndef STORAGE_ROCKSDB_DROP_COUNT_H
#define STORAGE_ROCKSDB_DROP_COUNT_H

#include "storage/engine.h"

struct rdb_engine;

void sto_rdb_drop_count(struct rdb_engine *e, struct sto_drop_op *op);

#endif

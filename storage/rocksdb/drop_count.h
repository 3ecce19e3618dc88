/*
 * storage/rocksdb/drop_count.h - what a drop would remove, without removing it.
 *
 * Does:     add up the row headers of a range.
 * Owns:     nothing after the operation was answered.
 * May use:  base/, storage/.
 * Knows no: what is done with the number.
 * Threads:  submit from any; it runs on readers.
 * Blocks:   readers only.
 * Fails by: as sto_drop_rows; ERR_INVALID when only some cells would go (family, expired_only).
 * Limits:   LIM_SLICE_ROWS rows, then it goes to the end of the readers' queue.
 * Promises: 1. Rows that nobody writes meanwhile are counted exactly.
 */
#ifndef STORAGE_ROCKSDB_DROP_COUNT_H
#define STORAGE_ROCKSDB_DROP_COUNT_H

#include "storage/engine.h"

struct rdb_engine;

void sto_rdb_drop_count(struct rdb_engine *e, struct sto_drop_op *op);

#endif

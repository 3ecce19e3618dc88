/*
 * storage/rocksdb/sample.h - keys that divide a table into parts of about the same size, and its
 * initial splits.
 *
 * Does:     finds row keys of a table and the number of its bytes before each.
 * Owns:     nothing between two calls.
 * May use:  base/, storage/.
 * Knows no: who divides work by them.
 * Threads:  submit from any; it runs on readers, slice by slice.
 * Blocks:   readers only.
 * Fails by: ERR_OVERLOADED, ERR_IO, ERR_CORRUPT, ERR_UNAVAILABLE, ERR_NO_MEMORY, ERR_CANCELLED,
 *           ERR_TIMEOUT, ERR_SUSPENDED, ERR_GONE, ERR_NOT_FOUND.
 * Limits:   FOUND_MAX samples beside LIM_SPLITS, WALK_ROWS_MAX rows visited, and as many more as
 *           the table had at the start.
 * Promises: 1. Offsets count the table's own bytes only, and the last one is the table's size.
 *           2. Every split is a sample; each costs no more than reading the sizes of files.
 */
#ifndef STORAGE_ROCKSDB_SAMPLE_H
#define STORAGE_ROCKSDB_SAMPLE_H

#include "storage/engine.h"

void sto_rdb_sample_row_keys(struct sto_engine *engine, struct sto_sample_op *op);

#endif

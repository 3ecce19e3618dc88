/*
 * storage/rocksdb/drop_table.h - all rows of a table that ends, counted, then deleted as one range.
 *
 * Does:     count all of the table, compare the sum with its counters, and let it go as one range
 *           (counted_range.h).
 * Owns:     nothing after the operation was answered.
 * May use:  base/, storage/.
 * Knows no: why a table ends; how its bytes leave the files (reclaim.h).
 * Threads:  submit from any; it runs on readers, begins and ends on the tenant's committer.
 * Blocks:   no more than a slice and a commit.
 * Fails by: as sto_drop_rows; ERR_CORRUPT when rows, headers and counters do not agree.
 * Limits:   none.
 * Promises: 1. A table whose rows, headers and counters do not agree is left as it is.
 */
#ifndef STORAGE_ROCKSDB_DROP_TABLE_H
#define STORAGE_ROCKSDB_DROP_TABLE_H

#include "storage/engine.h"

struct rdb_engine;

/* op->table_ends is set, and what it asks for was checked. */
void sto_rdb_drop_table(struct rdb_engine *e, struct sto_drop_op *op);

#endif

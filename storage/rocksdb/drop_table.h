/*
 * storage/rocksdb/drop_table.h - all rows of a table that ends, counted, then deleted as one range.
 *
 * Does:     read every row against its header on readers, compare the sum with the table's
 *           counters, and write one range tombstone and counters of 0 in one batch.
 * Owns:     nothing after the operation was answered.
 * May use:  base/, storage/.
 * Knows no: why a table ends; how its bytes leave the files (reclaim.h).
 * Threads:  submit from any; it runs on readers, begins and ends on the tenant's committer.
 * Blocks:   no more than a slice and a commit.
 * Fails by: as sto_drop_rows; ERR_CORRUPT when rows, headers and counters do not agree.
 * Limits:   SLICE_KEYS keys, then it goes to the end of the readers' queue.
 * Promises: 1. A crash leaves all of the rows and their counters, or none of both. 2. Between two
 *              slices everybody else's operations have their turn.
 */
#ifndef STORAGE_ROCKSDB_DROP_TABLE_H
#define STORAGE_ROCKSDB_DROP_TABLE_H

#include "storage/engine.h"

struct rdb_engine;

/* op->table_ends is set, and what it asks for was checked. */
void sto_rdb_drop_table(struct rdb_engine *e, struct sto_drop_op *op);
/* The engine is closing: wait until those under way were answered. */
void sto_rdb_drop_table_drain(struct rdb_engine *e);

#endif

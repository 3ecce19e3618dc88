/*
 * storage/rocksdb/drop_table.h - counts all rows of a removed table, then deletes them as one
 * range.
 *
 * Does:     counts all of the table, compares the sum with its counters, and deletes it as one
 *           range (counted_range.h).
 * Owns:     nothing after the operation has returned.
 * May use:  base/, storage/.
 * Knows no: why a table is removed; how its space is reclaimed (reclaim.h).
 * Threads:  submit from any; it runs on readers, starts and ends on the tenant's committer.
 * Blocks:   no more than a slice and a commit.
 * Fails by: as sto_drop_rows; ERR_CORRUPT if rows, headers and counters do not agree.
 * Limits:   none.
 * Promises: 1. A table whose rows, headers and counters do not agree is left as it is.
 */
#ifndef STORAGE_ROCKSDB_DROP_TABLE_H
#define STORAGE_ROCKSDB_DROP_TABLE_H

#include "storage/engine.h"

struct rdb_engine;

/* op->table_ends is set, and the operation's fields were checked. */
void sto_rdb_drop_table(struct rdb_engine *e, struct sto_drop_op *op);

#endif

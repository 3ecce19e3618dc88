/*
 * storage/rocksdb/cut.h - keys at which compactions start a new table file.
 *
 * Does:     makes every compaction that starts while keys are set close its output file before each
 *           of them, so that the rows between two keys have table files of their own.
 * Owns:     a copy of the keys.
 * May use:  base/, RocksDB.
 * Knows no: whose rows they are, why they get files of their own (purge.c).
 * Threads:  set from one at a time; compactions read from any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. A compaction that started with the keys set writes no file with entries on both
 *              sides of one of them. Range tombstones do not count as entries: RocksDB 7.8.3 does
 *              not call the partitioner for them.
 *           2. Without keys, compactions cost nothing more.
 */
#ifndef STORAGE_ROCKSDB_CUT_H
#define STORAGE_ROCKSDB_CUT_H

#include <rocksdb/c.h>

#include "base/slice.h"

struct rdb_cuts;

struct rdb_cuts *sto_rdb_cuts_new(void);
/* Call after the database was closed. NULL is accepted. */
void sto_rdb_cuts_free(struct rdb_cuts *cuts);
void sto_rdb_cuts_install(struct rdb_cuts *cuts, rocksdb_options_t *options);

/* Replaces the keys, which need no order; count 0: there are none. */
void sto_rdb_cuts_set(struct rdb_cuts *cuts, const struct slice *keys, size_t count);

#endif

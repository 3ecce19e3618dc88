/*
 * storage/rocksdb/tenant_collector.h - makes every table file that RocksDB writes list its tenants.
 *
 * Does:     adds a collector to a column family's options that writes catalogue.h's list into each
 *           new file; creates the list of a file that has none; gets the list of a file that
 *           RocksDB has open and that can no longer be read from RocksDB.
 * Owns:     one collector for each file that is being written.
 * May use:  base/, storage/, RocksDB.
 * Knows no: the use of the list.
 * Threads:  RocksDB's flushes and compactions; one for each file.
 * Blocks:   no.
 * Fails by: does not fail: a file without a list is searched fully.
 * Limits:   RDB_CATALOGUE_TENANTS IDs in memory for each file in progress.
 * Promises: 1. Entries of every kind count: values, deletions, both bounds of range tombstones.
 */
#ifndef STORAGE_ROCKSDB_TENANT_COLLECTOR_H
#define STORAGE_ROCKSDB_TENANT_COLLECTOR_H

#include <rocksdb/c.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

void sto_rdb_tenant_collector_add(rocksdb_options_t *options);

/* The same for a file that has no list, for code that reads the file: add each entry, then create
 * the list, in the form of the property; out is created here. range_end: of a range tombstone, else
 * empty. */
struct rdb_tenant_count;
struct rdb_tenant_count *sto_rdb_tenant_count_new(void);
void sto_rdb_tenant_count_free(struct rdb_tenant_count *c);
void sto_rdb_tenant_count_entry(struct rdb_tenant_count *c, struct slice key,
                                struct slice range_end);
enum err sto_rdb_tenant_count_list(const struct rdb_tenant_count *c, struct buf *out) MUST_CHECK;

/* Appends the list of the table file with this number and these bounds to out, as RocksDB read it
 * when it opened the file. False: RocksDB does not have it either. */
bool sto_rdb_tenant_list_of_open(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                                 struct slice low, struct slice high, uint64_t number,
                                 struct buf *out);

/* Test tool: the lists of all files that this process writes after the call. */
enum rdb_catalogue_test {
    RDB_CATALOGUE_TRUE,
    RDB_CATALOGUE_NONE,  /* no list, as in files of earlier versions */
    RDB_CATALOGUE_EMPTY, /* a valid list without tenants */
    RDB_CATALOGUE_ENDS,  /* a valid list of only the first and the last tenant */
    RDB_CATALOGUE_BROKEN /* a list that does not match its check value */
};
void sto_rdb_test_catalogue(enum rdb_catalogue_test what);

#endif

/*
 * storage/rocksdb/tenant_collector.h - every table file that RocksDB writes lists its tenants.
 *
 * Does:     adds to a column family's options what writes catalogue.h's list into each new file;
 *           makes the list of a file that has none; asks RocksDB for the list of a file that it
 *           has open and nobody can read any more.
 * Owns:     one collector for each file that is being written.
 * May use:  base/, storage/, RocksDB.
 * Knows no: what the list is used for.
 * Threads:  RocksDB's flushes and compactions; one for each file.
 * Blocks:   no.
 * Fails by: does not fail: a file without a list is searched fully.
 * Limits:   RDB_CATALOGUE_TENANTS IDs in memory for each file that is being written.
 * Promises: 1. Entries of every kind count: values, deletions, both bounds of range tombstones.
 */
#ifndef STORAGE_ROCKSDB_TENANT_COLLECTOR_H
#define STORAGE_ROCKSDB_TENANT_COLLECTOR_H

#include <rocksdb/c.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

void sto_rdb_tenant_collector_add(rocksdb_options_t *options);

/* The same of a file that has no list, by whoever reads it: each entry, then the list, in the form
 * of the property; out is made here. range_end: of a tombstone, else empty. */
struct rdb_tenant_count;
struct rdb_tenant_count *sto_rdb_tenant_count_new(void);
void sto_rdb_tenant_count_free(struct rdb_tenant_count *c);
void sto_rdb_tenant_count_entry(struct rdb_tenant_count *c, struct slice key,
                                struct slice range_end);
enum err sto_rdb_tenant_count_list(const struct rdb_tenant_count *c, struct buf *out) MUST_CHECK;

/* Of the table file that has this number, and these bounds: appends its list to out as RocksDB read
 * it when it opened the file. False: RocksDB does not have it either. */
bool sto_rdb_tenant_list_of_open(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                                 struct slice low, struct slice high, uint64_t number,
                                 struct buf *out);

/* Test tool: what files that are written from now on, by anybody in this process, say. */
enum rdb_catalogue_test {
    RDB_CATALOGUE_TRUE,
    RDB_CATALOGUE_NONE,  /* as files of earlier versions */
    RDB_CATALOGUE_EMPTY, /* a valid list that leaves everybody out */
    RDB_CATALOGUE_ENDS,  /* a valid list that leaves out all but the first and the last tenant */
    RDB_CATALOGUE_BROKEN /* a list that does not match its check value */
};
void sto_rdb_test_catalogue(enum rdb_catalogue_test what);

#endif

/*
 * storage/rocksdb/metadata_parts.h - chooses whether new table files have their filter and index in
 * parts.
 *
 * Does:     has new files written with one filter and one index, or with both in parts. A whole
 *           filter has an entry for each key beside those for prefixes; a partitioned one follows
 *           the options.
 * Owns:     the choice.
 * May use:  RocksDB.
 * Knows no: the sizes of database and cache.
 * Threads:  set from any; flushes and compactions read the choice from any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Files of both forms are read side by side.
 */
#ifndef STORAGE_ROCKSDB_METADATA_PARTS_H
#define STORAGE_ROCKSDB_METADATA_PARTS_H

#include <rocksdb/c.h>
#include <stdbool.h>

struct rdb_metadata_parts;

/* At first, new files have parts. */
struct rdb_metadata_parts *sto_rdb_metadata_parts_new(void);
/* Call after the database was closed. NULL is accepted. */
void sto_rdb_metadata_parts_free(struct rdb_metadata_parts *parts);
/* Adds it to options whose block-based table factory has parts. */
void sto_rdb_metadata_parts_install(struct rdb_metadata_parts *parts, rocksdb_options_t *options);

void sto_rdb_metadata_parts_set(struct rdb_metadata_parts *parts, bool in_parts);

#endif

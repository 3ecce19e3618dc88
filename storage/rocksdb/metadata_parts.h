/*
 * storage/rocksdb/metadata_parts.h - whether new table files have their filter and index in parts.
 *
 * Does:     has new files written with one filter and one index, or with both in parts. A whole
 *           filter has an entry for each key beside those for prefixes; one in parts has what the
 *           options say.
 * Owns:     the choice.
 * May use:  RocksDB.
 * Knows no: how large database and cache are.
 * Threads:  set from any; flushes and compactions ask from any.
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

/* New files are in parts, at first. */
struct rdb_metadata_parts *sto_rdb_metadata_parts_new(void);
/* After the database was closed. NULL is accepted. */
void sto_rdb_metadata_parts_free(struct rdb_metadata_parts *parts);
/* Into options whose block-based table factory has parts. */
void sto_rdb_metadata_parts_install(struct rdb_metadata_parts *parts, rocksdb_options_t *options);

void sto_rdb_metadata_parts_set(struct rdb_metadata_parts *parts, bool in_parts);

#endif

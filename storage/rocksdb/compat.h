/*
 * storage/rocksdb/compat.h - where versions of RocksDB differ (7.8 of Debian 12, 9.10 of 13).
 *
 * Does:     calls what has another signature in each of them; names options that only some know.
 * Owns:     nothing.
 * May use:  RocksDB.
 * Knows no: what it is called for.
 * Threads:  any.
 * Blocks:   as what it calls.
 * Fails by: RocksDB's error text, which the caller frees with rocksdb_free.
 * Limits:   none.
 * Promises: 1. Callers need not know the version of RocksDB. What a class of RocksDB demands of
 *              ours in one version only is in that class (metadata_parts.cc).
 */
#ifndef STORAGE_ROCKSDB_COMPAT_H
#define STORAGE_ROCKSDB_COMPAT_H

#include <rocksdb/c.h>
#include <stdbool.h>

/* Ends one rocksdb_disable_file_deletions; files that nobody holds go when it was the last. */
void sto_rdb_enable_file_deletions(rocksdb_t *db, char **error);

/* To be appended to others in RocksDB's text form, from the ";" on: a compaction that leaves a
 * damaged block out (damage_io.h) processes less than its files hold, and is no error. */
const char *sto_rdb_version_options(void);

/* Whether an iterator that meets range tombstones may leave rows out where a block could not be
 * read, and report no error (until 8.5.2, pull requests 11782 and 11786). */
bool sto_rdb_tombstones_hide_errors(void);

#endif

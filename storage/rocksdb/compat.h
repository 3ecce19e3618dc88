/*
 * storage/rocksdb/compat.h - differences between versions of RocksDB (7.8 of Debian 12, 9.10 of
 * 13).
 *
 * Does:     calls functions whose signature differs between them; names options that only some
 *           know.
 * Owns:     nothing.
 * May use:  RocksDB.
 * Knows no: why it is called.
 * Threads:  any.
 * Blocks:   as the function that it calls.
 * Fails by: RocksDB's error text, which the caller frees with rocksdb_free.
 * Limits:   none.
 * Promises: 1. Callers need not know the version of RocksDB. Members that a class of RocksDB
 *              requires in one version only are in our class (metadata_parts.cc).
 */
#ifndef STORAGE_ROCKSDB_COMPAT_H
#define STORAGE_ROCKSDB_COMPAT_H

#include <rocksdb/c.h>
#include <stdbool.h>

/* Ends one rocksdb_disable_file_deletions; after the last one, files that are not in use are
 * deleted. */
void sto_rdb_enable_file_deletions(rocksdb_t *db, char **error);

/* Returns options in RocksDB's text form, starting with ";", to append to others: a compaction that
 * leaves a damaged block out (damage_io.h) processes fewer entries than its files hold, and this is
 * no error. */
const char *sto_rdb_version_options(void);

/* Returns whether an iterator that meets range tombstones may omit rows if a block cannot be read,
 * and report no error (until 8.5.2, pull requests 11782 and 11786). */
bool sto_rdb_tombstones_hide_errors(void);

#endif

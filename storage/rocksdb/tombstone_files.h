/*
 * storage/rocksdb/tombstone_files.h - the numbers of table files with range tombstones.
 *
 * Does:     keeps the numbers of table files with range tombstones, from the moment at which
 *           RocksDB writes such a file until it unlinks it.
 * Owns:     the numbers.
 * May use:  base/, storage/, RocksDB.
 * Knows no: which files are live, whose the tombstones are.
 * Threads:  any.
 * Blocks:   load, on the properties of every file of a family.
 * Fails by: load: ERR_CORRUPT, ERR_IO: a file's properties cannot be read.
 * Limits:   none.
 * Promises: 1. After load, every live file with a range tombstone is among the numbers.
 */
#ifndef STORAGE_ROCKSDB_TOMBSTONE_FILES_H
#define STORAGE_ROCKSDB_TOMBSTONE_FILES_H

#include <rocksdb/c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct rdb_tombstone_files;

struct rdb_tombstone_files *sto_rdb_tombstone_files_new(void);
/* Call after the database was closed. NULL is accepted. */
void sto_rdb_tombstone_files_free(struct rdb_tombstone_files *files);
/* Adds it to the options of the database, before the database is opened. */
void sto_rdb_tombstone_files_install(struct rdb_tombstone_files *files, rocksdb_options_t *options);

/* Adds the files of a family that an earlier run wrote. */
enum err sto_rdb_tombstone_files_load(struct rdb_tombstone_files *files, rocksdb_t *db,
                                      rocksdb_column_family_handle_t *family,
                                      struct errbuf *eb) MUST_CHECK;
bool sto_rdb_tombstone_files_has(struct rdb_tombstone_files *files, uint64_t number);
bool sto_rdb_tombstone_files_is_empty(struct rdb_tombstone_files *files);

#endif

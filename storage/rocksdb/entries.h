/*
 * storage/rocksdb/entries.h - finds whether any entry is stored between two keys.
 *
 * Does:     finds any version of any key in a range, deletions of single keys among them.
 * Owns:     nothing.
 * May use:  base/, RocksDB.
 * Knows no: whose range it is.
 * Threads:  any that may block.
 * Blocks:   on the disk, for one seek in each level.
 * Fails by: ERR_CORRUPT, ERR_IO: an entry may be stored there; or the unreadable file is after the
 *           range, because a seek reads in the next file.
 * Limits:   none.
 * Promises: 1. Entries that a range tombstone covers, and range tombstones, are not searched:
 *              tombstones.h handles both.
 *           2. False is returned only if every block that a seek needs could be read.
 */
#ifndef STORAGE_ROCKSDB_ENTRIES_H
#define STORAGE_ROCKSDB_ENTRIES_H

#include <rocksdb/c.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"

/* Returns whether there is an entry in the range; both ends belong to it. */
enum err sto_rdb_entries_any(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                             struct slice first, struct slice last, bool *out) MUST_CHECK;

#endif

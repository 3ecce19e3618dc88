/*
 * storage/rocksdb/file_lock.h - the lock that RocksDB holds on an open database, held temporarily.
 *
 * Does:     takes the lock of a database directory as RocksDB does, and releases it.
 * Owns:     the lock, while it is held.
 * May use:  base/, RocksDB.
 * Knows no: why the database may not be opened.
 * Threads:  any.
 * Blocks:   on the disk, never for the lock.
 * Fails by: ERR_LOCKED, ERR_IO.
 * Limits:   none.
 * Promises: 1. While it is held no RocksDB opens the database for writing, in any process.
 */
#ifndef STORAGE_ROCKSDB_FILE_LOCK_H
#define STORAGE_ROCKSDB_FILE_LOCK_H

#include "base/err.h"

struct rdb_file_lock;

enum err sto_rdb_file_lock(const char *db_path, struct rdb_file_lock **out,
                           struct errbuf *eb) MUST_CHECK;
void sto_rdb_file_unlock(struct rdb_file_lock *lock);

#endif

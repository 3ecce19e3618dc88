/*
 * storage/rocksdb/file_lock.h - the lock that RocksDB holds on an open database, for a while.
 *
 * Does:     takes the lock of a database directory as RocksDB does, and releases it.
 * Owns:     the lock, between both.
 * May use:  base/, RocksDB.
 * Knows no: why nobody else may open the database.
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

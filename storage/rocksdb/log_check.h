/*
 * storage/rocksdb/log_check.h - checks that the logs hold all acknowledged writes.
 *
 * Does:     before RocksDB opens, reads all logs that it would read; distinguishes an end that a
 *           crash tore from lost writes; cuts a torn end off.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: RocksDB, the effect of a batch.
 * Threads:  one, before the database is open.
 * Blocks:   on the disk: all logs are read once.
 * Fails by: ERR_CORRUPT (acknowledged writes are lost), ERR_LOCKED, ERR_IO, ERR_UNSUPPORTED.
 * Limits:   memory: one block of a log, and the longest record of the MANIFEST.
 * Promises: 1. Nothing is changed when it fails.
 *           2. Every tear is reported to on_tear before it is cut off.
 *           3. A change that the witness names is never cut off.
 */
#ifndef STORAGE_ROCKSDB_LOG_CHECK_H
#define STORAGE_ROCKSDB_LOG_CHECK_H

#include "storage/rocksdb/rocksdb_engine.h"
#include "storage/rocksdb/witness.h"

/* db_path: of a database that may not exist yet. cut: false changes nothing. */
enum err sto_rdb_logs_check(const char *db_path, const struct rdb_witness *witness,
                            const struct sto_rocksdb_tears *on_tear, bool cut,
                            struct errbuf *eb) MUST_CHECK;

#endif

/*
 * storage/rocksdb/threads.h - RocksDB's threads, by what they do.
 *
 * Does:     put each of them into its class of work (base/share.h).
 * Owns:     nothing.
 * May use:  base/, RocksDB.
 * Knows no: what the shares are.
 * Threads:  RocksDB's.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. A flush or compaction begins with the share of its class.
 */
#ifndef STORAGE_ROCKSDB_THREADS_H
#define STORAGE_ROCKSDB_THREADS_H

#include <rocksdb/c.h>

/* For the options of a database. */
void sto_rdb_threads_install(rocksdb_options_t *options);

#endif

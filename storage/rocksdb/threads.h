/*
 * storage/rocksdb/threads.h - assigns RocksDB's threads to classes of work.
 *
 * Does:     puts each of them into its class of work (base/share.h).
 * Owns:     nothing.
 * May use:  base/, RocksDB.
 * Knows no: the sizes of the shares.
 * Threads:  RocksDB's.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. A flush or compaction starts with the share of its class.
 */
#ifndef STORAGE_ROCKSDB_THREADS_H
#define STORAGE_ROCKSDB_THREADS_H

#include <rocksdb/c.h>

/* For the options of a database. */
void sto_rdb_threads_install(rocksdb_options_t *options);

#endif

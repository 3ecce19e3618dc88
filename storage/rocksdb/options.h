/*
 * storage/rocksdb/options.h - what the engine takes of the machine when nobody says.
 *
 * Does:     fills in defaults: memory for the block cache, open table files, threads.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: command lines.
 * Threads:  any.
 * Blocks:   on a few small files of /proc and /sys.
 * Fails by: does not fail: what cannot be asked counts as not limited.
 * Limits:   RDB_CACHE_LEAST, RDB_OPEN_FILES_LEAST.
 * Promises: 1. The default cache is a quarter of the memory that this process may use.
 */
#ifndef STORAGE_ROCKSDB_OPTIONS_H
#define STORAGE_ROCKSDB_OPTIONS_H

#include "storage/rocksdb/rocksdb_engine.h"

#define RDB_CACHE_LEAST      (64 * MIB)
#define RDB_OPEN_FILES_LEAST 64

/* What is 0 becomes the default, what is above its maximum the maximum. */
void sto_rdb_options_complete(struct sto_rocksdb_options *o);

/* Bytes that this process may use: of the machine, of its control groups, of its own limits. */
uint64_t sto_rdb_memory_bytes(void);
/* The bound in a control group's file, such as "1073741824" or "max"; UINT64_MAX: none. */
uint64_t sto_rdb_memory_bound(struct slice text);

#endif

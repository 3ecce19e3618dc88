/*
 * storage/rocksdb/options.h - the engine's default use of the machine.
 *
 * Does:     reads the machine's resources; fills in defaults for them: memory for the block cache
 *           and its shards, open table files, threads.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: command lines.
 * Threads:  any.
 * Blocks:   on a few small files of /proc and /sys.
 * Fails by: does not fail: a resource that cannot be read counts as unlimited.
 * Limits:   RDB_CACHE_LEAST, RDB_CACHE_SHARD_LEAST, RDB_OPEN_FILES_LEAST, RDB_READERS_MAX,
 *           RDB_COMMITTERS_MAX.
 * Promises: 1. The default cache is a quarter of the memory that this process may use.
 *           2. No shard of a cache is smaller than RDB_CACHE_SHARD_LEAST, unless the cache is.
 *           3. Defaults follow from a struct rdb_machine alone.
 */
#ifndef STORAGE_ROCKSDB_OPTIONS_H
#define STORAGE_ROCKSDB_OPTIONS_H

#include "storage/rocksdb/rocksdb_engine.h"

#define RDB_CACHE_LEAST       (64 * MIB)
#define RDB_CACHE_SHARD_LEAST (64 * MIB)
#define RDB_OPEN_FILES_LEAST  64
#define RDB_COMMITTERS_MAX    64
#define RDB_READERS_MAX       256

struct rdb_machine {
    int processors;
    uint64_t memory_bytes; /* available to this process */
    uint64_t descriptors;  /* file descriptors of this process; UINT64_MAX: no limit */
};

void sto_rdb_machine_get(struct rdb_machine *out);

/* Fills in all defaults for this machine, except dir and open_files. */
void sto_rdb_options_of(const struct rdb_machine *machine, struct sto_rocksdb_options *o);
/* Replaces 0 by the default, and values above a maximum by the maximum. */
void sto_rdb_options_complete(struct sto_rocksdb_options *o, const struct rdb_machine *machine);
/* Returns the binary logarithm of the number of shards of a cache of that size. */
int sto_rdb_cache_shard_bits(size_t cache_bytes);

#endif

/*
 * storage/rocksdb/options.h - what the engine takes of the machine when nobody says.
 *
 * Does:     asks the machine what it has; fills in defaults for it: memory for the block cache and
 *           its shards, open table files, threads.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: command lines.
 * Threads:  any.
 * Blocks:   on a few small files of /proc and /sys.
 * Fails by: does not fail: what cannot be asked counts as not limited.
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
    uint64_t memory_bytes; /* that this process may use */
    uint64_t descriptors;  /* that it may have open; UINT64_MAX: no limit */
};

void sto_rdb_machine_get(struct rdb_machine *out);

/* All defaults for this machine, except dir and open_files. */
void sto_rdb_options_of(const struct rdb_machine *machine, struct sto_rocksdb_options *o);
/* What is 0 becomes the default, what is above its maximum the maximum. */
void sto_rdb_options_complete(struct sto_rocksdb_options *o, const struct rdb_machine *machine);
/* Of a cache of that size: it has 2 to the power of that many shards. */
int sto_rdb_cache_shard_bits(size_t cache_bytes);

#endif

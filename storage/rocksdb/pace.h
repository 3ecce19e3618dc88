/*
 * storage/rocksdb/pace.h - how fast files are rewritten to give space back.
 *
 * Does:     have compactions that this room asks for (ranges.h) rest between two MiB, as long as
 *           somebody else is served; leave RocksDB's own alone.
 * Owns:     the rest; nothing of the rows that pass.
 * May use:  base/, storage/.
 * Knows no: what is rewritten, and why.
 * Threads:  RocksDB's background threads; rested_ns from any.
 * Blocks:   the compaction, never anybody else: it rests less when writers would wait for it.
 * Fails by: does not fail.
 * Limits:   options.reclaim_bytes_per_s, of keys and values; RDB_PACE_BYTES between two looks.
 * Promises: 1. While reads or writes come, a compaction takes bytes / reclaim_bytes_per_s at least,
 *              unless writers would wait for it (pressure.h).
 *           2. Nobody is served: it does not rest. The engine closes: it rests no more.
 *           3. What passes is not changed.
 */
#ifndef STORAGE_ROCKSDB_PACE_H
#define STORAGE_ROCKSDB_PACE_H

#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/limits.h"

#define RDB_PACE_BYTES   MIB
#define RDB_PACE_BUSY_MS 250 /* behind the last sign of somebody */

struct rdb_engine;

struct rdb_pace {
    struct rdb_engine *engine;
    _Atomic uint64_t rested_ns; /* all together, since the start */
};

/* For the options of a column family, which own it. The engine outlives them. */
rocksdb_compactionfilterfactory_t *sto_rdb_pace_factory(struct rdb_pace *p);

#endif

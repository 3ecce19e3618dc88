/*
 * storage/rocksdb/pace.h - limits how fast files are rewritten to reclaim space.
 *
 * Does:     makes compactions that this directory starts (ranges.h) rest after every MiB, after the
 *           first GiB, as long as requests are served; does not slow RocksDB's own compactions.
 * Owns:     the pauses; none of the rows.
 * May use:  base/, storage/.
 * Knows no: which rows are rewritten, and why.
 * Threads:  RocksDB's background threads; rested_ns from any.
 * Blocks:   the compaction and no other thread: it rests less when writers would wait for it.
 * Fails by: does not fail.
 * Limits:   options.reclaim_bytes_per_s, of keys and values; burst_bytes; RDB_PACE_BYTES.
 * Promises: 1. While reads or writes come, compactions process at most reclaim_bytes_per_s *
 *              seconds + burst_bytes, unless writers would wait for them (pressure.h).
 *           2. While no request is served, it does not rest. While the engine closes, it does not
 *              rest either.
 *           3. Processed keys and values are not changed.
 */
#ifndef STORAGE_ROCKSDB_PACE_H
#define STORAGE_ROCKSDB_PACE_H

#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

#define RDB_PACE_BYTES MIB
/* Short rewritings run without rest, because reads near range tombstones cost more. */
#define RDB_PACE_BURST   GIB
#define RDB_PACE_BUSY_MS 250 /* a request counts as served for this long */

struct rdb_engine;

struct rdb_pace {
    struct rdb_engine *engine;
    uint64_t burst_bytes;       /* RDB_PACE_BURST; smaller in tests */
    _Atomic uint64_t due_ns;    /* when the bytes processed so far are due at that speed */
    _Atomic uint64_t rested_ns; /* total since the start */
    _Atomic bool test_is_busy;  /* for tests: requests count as served */
};

void sto_rdb_pace_init(struct rdb_pace *p, struct rdb_engine *e);

/* For the options of a column family, which own it. The engine outlives them. */
rocksdb_compactionfilterfactory_t *sto_rdb_pace_factory(struct rdb_pace *p);

#endif

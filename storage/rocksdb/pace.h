/*
 * storage/rocksdb/pace.h - how fast files are rewritten to give space back.
 *
 * Does:     have compactions that this room asks for (ranges.h) rest between two MiB, behind the
 *           first GiB, as long as somebody else is served; leave RocksDB's own alone.
 * Owns:     the rest; nothing of the rows that pass.
 * May use:  base/, storage/.
 * Knows no: what is rewritten, and why.
 * Threads:  RocksDB's background threads; rested_ns from any.
 * Blocks:   the compaction, never anybody else: it rests less when writers would wait for it.
 * Fails by: does not fail.
 * Limits:   options.reclaim_bytes_per_s, of keys and values; burst_bytes; RDB_PACE_BYTES.
 * Promises: 1. While reads or writes come, at most reclaim_bytes_per_s * seconds + burst_bytes
 *              pass, unless writers would wait for it (pressure.h).
 *           2. Nobody is served: it does not rest. The engine closes: it rests no more.
 *           3. What passes is not changed.
 */
#ifndef STORAGE_ROCKSDB_PACE_H
#define STORAGE_ROCKSDB_PACE_H

#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

#define RDB_PACE_BYTES MIB
/* What is over in a moment is best over soon: reads beside range tombstones cost more. */
#define RDB_PACE_BURST   GIB
#define RDB_PACE_BUSY_MS 250 /* behind the last sign of somebody */

struct rdb_engine;

struct rdb_pace {
    struct rdb_engine *engine;
    uint64_t burst_bytes;       /* RDB_PACE_BURST; tests have it smaller */
    _Atomic uint64_t due_ns;    /* when what passed should have passed, at that speed */
    _Atomic uint64_t rested_ns; /* all together, since the start */
    _Atomic bool test_is_busy;  /* for tests: somebody is served, whatever the signs say */
};

void sto_rdb_pace_init(struct rdb_pace *p, struct rdb_engine *e);

/* For the options of a column family, which own it. The engine outlives them. */
rocksdb_compactionfilterfactory_t *sto_rdb_pace_factory(struct rdb_pace *p);

#endif

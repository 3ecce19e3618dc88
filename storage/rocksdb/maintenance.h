/*
 * storage/rocksdb/maintenance.h - the thread that monitors the engine.
 *
 * Does:     four times a second checks how near RocksDB is to delaying writes (pressure.h) and how
 *           much disk space is free, and writes the witness if a write was acknowledged; once a
 *           second reclaims space of deletes when it is low, checks whether RocksDB's background
 *           work failed or its writes are stalled, removes expired idempotency tokens and changes.
 * Owns:     its thread.
 * May use:  base/, storage/.
 * Knows no: operations.
 * Threads:  start and stop from one.
 * Blocks:   stop joins.
 * Fails by: latching the engine.
 * Limits:   RDB_STALL_SECONDS, RDB_WITNESS_SECONDS, RDB_RECLAIM_SECONDS, RDB_SWEEPS_PER_SECOND,
 *           RDB_CHANGES_SWEEP_MS.
 * Promises: 1. The witness lags by about RDB_PRESSURE_LOOK_MS, longer only while a round waits for
 *              the disk; on a full disk by at most RDB_WITNESS_SECONDS, and without a free
 *              descriptor by RDB_DESCRIPTOR_SECONDS.
 */
#ifndef STORAGE_ROCKSDB_MAINTENANCE_H
#define STORAGE_ROCKSDB_MAINTENANCE_H

#include <pthread.h>

#include "storage/rocksdb/change_care.h"
#include "storage/rocksdb/token.h"

/* RocksDB 7.8.3 can stop writes and never schedule the compaction that would resume them. */
#define RDB_STALL_SECONDS 120
/* With the disk low: seconds between flushes of deletes, so that their space is reclaimed. */
#define RDB_RECLAIM_SECONDS 3
/* Commits of LIM_TOKENS_PER_SWEEP: more tokens than a second can create, so they do not pile up. */
#define RDB_SWEEPS_PER_SECOND 16
/* Time per second for removing changes; checks of disk and pressure wait during that time. */
#define RDB_CHANGES_SWEEP_MS 200
/* Pause between two walks over all changes, as a multiple of the last walk's duration, and its
 * maximum. A walk steps over deletes that no compaction has removed yet. */
#define RDB_CHANGES_REST_FACTOR 50
#define RDB_CHANGES_REST_S      60
/* On a full disk: longest lag of the witness before writes are no longer acknowledged. */
#define RDB_WITNESS_SECONDS 5

struct rdb_maintenance {
    struct rdb_engine *engine;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started;
    bool stopping; /* under lock */
    uint64_t next_look_ns;
    uint64_t witnessed; /* its thread; after stop, close */
    /* no space, or descriptor, for the witness since then; 0: it is written */
    uint64_t unwitnessed_since_ns;
    unsigned stalled_seconds;
    unsigned low_seconds;
    uint64_t reclaimed; /* acknowledged sequence number at the last reclaim */
    struct rdb_token_sweep tokens;
    struct rdb_change_sweep changes;
    uint64_t changes_walk_ns; /* duration of the walk in progress, so far */
    uint64_t changes_next_ns; /* when the next one starts */
};

enum err sto_rdb_maintenance_start(struct rdb_maintenance *m, struct rdb_engine *e) MUST_CHECK;
void sto_rdb_maintenance_stop(struct rdb_maintenance *m);
/* Writes the witness if it lags; called after stop, or by the thread itself. */
void sto_rdb_maintenance_witness(struct rdb_maintenance *m);
/* Returns whether a flush or compaction failed for another reason than a damaged block, and
 * latches. */
bool sto_rdb_background_failed(struct rdb_engine *e);

#endif

/*
 * storage/rocksdb/maintenance.h - the thread that looks after the engine.
 *
 * Does:     look four times a second how near RocksDB is to delaying writes (pressure.h) and how
 *           much of the disk is free, and write the witness when something was acknowledged; once
 *           a second get space back for deletes when it is low, ask RocksDB whether its background
 *           work failed or its writes stand still, remove expired tokens of idempotency and
 *           changes.
 * Owns:     its thread.
 * May use:  base/, storage/.
 * Knows no: operations.
 * Threads:  start and stop from one.
 * Blocks:   stop joins.
 * Fails by: latching the engine.
 * Limits:   RDB_STALL_SECONDS, RDB_WITNESS_SECONDS, RDB_RECLAIM_SECONDS, RDB_SWEEPS_PER_SECOND,
 *           RDB_CHANGES_SWEEP_MS.
 * Promises: 1. The witness is about RDB_PRESSURE_LOOK_MS behind, longer only while a round waits
 *              for the disk; on a full disk RDB_WITNESS_SECONDS at most, and without a free
 *              descriptor RDB_DESCRIPTOR_SECONDS.
 */
#ifndef STORAGE_ROCKSDB_MAINTENANCE_H
#define STORAGE_ROCKSDB_MAINTENANCE_H

#include <pthread.h>

#include "storage/rocksdb/change_care.h"
#include "storage/rocksdb/token.h"

/* RocksDB 7.8.3 can stop writes and never schedule the compaction that would free them. */
#define RDB_STALL_SECONDS 120
/* With the disk low: how often deletes are flushed, so that their space comes back. */
#define RDB_RECLAIM_SECONDS 3
/* Commits of LIM_TOKENS_PER_SWEEP: more than can be made in a second, so they do not pile up. */
#define RDB_SWEEPS_PER_SECOND 16
/* Changes are removed for so long in a second: the disk and the pressure wait meanwhile. */
#define RDB_CHANGES_SWEEP_MS 200
/* Between two walks over all changes: so many times as long as the last one took, at most a minute.
 * A walk steps over deletes that no compaction has removed yet. */
#define RDB_CHANGES_REST_FACTOR 50
#define RDB_CHANGES_REST_S      60
/* On a full disk: for so long the witness may be behind, before nothing is acknowledged any more.
 */
#define RDB_WITNESS_SECONDS 5

struct rdb_maintenance {
    struct rdb_engine *engine;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started;
    bool stopping; /* under lock */
    uint64_t next_look_ns;
    uint64_t witnessed;            /* its thread, then close */
    uint64_t unwitnessed_since_ns; /* no space, or descriptor, for the witness; 0: it is written */
    unsigned stalled_seconds;
    unsigned low_seconds;
    uint64_t reclaimed; /* acknowledged sequence number at the last reclaim */
    struct rdb_token_sweep tokens;
    struct rdb_change_sweep changes;
    uint64_t changes_walk_ns; /* what the walk in progress took so far */
    uint64_t changes_next_ns; /* when the next one starts */
};

enum err sto_rdb_maintenance_start(struct rdb_maintenance *m, struct rdb_engine *e) MUST_CHECK;
void sto_rdb_maintenance_stop(struct rdb_maintenance *m);
/* Write the witness if it is behind; after stop, or from the thread itself. */
void sto_rdb_maintenance_witness(struct rdb_maintenance *m);
/* A flush or compaction failed, of another reason than a damaged block: latches. */
bool sto_rdb_background_failed(struct rdb_engine *e);

#endif

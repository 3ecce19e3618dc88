/*
 * storage/rocksdb/reclaim.h - what rows that went as ranges leave in the files goes without waiting
 * for other writes.
 *
 * Does:     flush, rewrite the files around the rows of each note and take the note away; look
 *           whether range tombstones are left, as long as there may be some.
 * Owns:     its thread.
 * May use:  base/, storage/.
 * Knows no: why rows were dropped, or whether there are any in their place again.
 * Threads:  wake and is_idle from any; start and stop from one.
 * Blocks:   stop joins, after the compaction under way was told to end.
 * Fails by: latching the engine. Snapshots and reads that stay open: later again.
 * Limits:   RDB_RECLAIM_TABLES notes a round, which share a flush; RDB_RECLAIM_RETRY_S.
 * Promises: 1. A note that a crash left is found at the next open.
 *           2. A note goes after its rows' bytes left the disk.
 *           3. Whatever stands in the range anew stays: a rewriting removes nothing that a read
 *              would give.
 */
#ifndef STORAGE_ROCKSDB_RECLAIM_H
#define STORAGE_ROCKSDB_RECLAIM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"

#define RDB_RECLAIM_TABLES  64
#define RDB_RECLAIM_RETRY_S 10

struct rdb_engine;

struct rdb_reclaim {
    struct rdb_engine *engine;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started;
    bool stopping;        /* under lock */
    bool wanted;          /* under lock: there may be a note that was not looked at */
    _Atomic bool is_idle; /* it looked: no note, no range tombstone */
};

enum err sto_rdb_reclaim_start(struct rdb_reclaim *r, struct rdb_engine *e) MUST_CHECK;
void sto_rdb_reclaim_stop(struct rdb_reclaim *r);
/* Behind the batch of a note, and behind a purge. */
void sto_rdb_reclaim_wake(struct rdb_reclaim *r);

#endif

/*
 * storage/rocksdb/reclaim.h - what removed tables leave in the files goes without waiting for other
 * writes.
 *
 * Does:     note, in the batch of a table's range tombstone, that the table's bytes are still
 *           there; flush, rewrite the files around each noted table and take the note away.
 * Owns:     its thread, the notes "r/<tenant>/<table>" beside the documents.
 * May use:  base/, storage/.
 * Knows no: why a table was removed, or whether there is one of that name again.
 * Threads:  note on committers; wake and is_idle from any; start and stop from one.
 * Blocks:   stop joins, after the compaction under way was told to end.
 * Fails by: latching the engine. Snapshots and reads that stay open: later again.
 * Limits:   RDB_RECLAIM_TABLES notes a round, which share a flush; RDB_RECLAIM_RETRY_S.
 * Promises: 1. A note that a crash left is found at the next open.
 *           2. A note goes after its table's bytes left the disk, and only if no newer one has
 *              taken its place.
 *           3. Whatever stands in the range anew stays: a rewriting removes nothing that a read
 *              would give.
 */
#ifndef STORAGE_ROCKSDB_RECLAIM_H
#define STORAGE_ROCKSDB_RECLAIM_H

#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "storage/scope.h"

#define RDB_RECLAIM_LETTER  'r'
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
    _Atomic bool is_idle; /* it looked, and there was none */
};

enum err sto_rdb_reclaim_start(struct rdb_reclaim *r, struct rdb_engine *e) MUST_CHECK;
void sto_rdb_reclaim_stop(struct rdb_reclaim *r);
/* Under docs_lock until the batch is written. */
void sto_rdb_reclaim_note(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                          const struct sto_table_scope *scope);
/* Behind the batch. */
void sto_rdb_reclaim_wake(struct rdb_reclaim *r);

#endif

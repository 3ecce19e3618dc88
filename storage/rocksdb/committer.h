/*
 * storage/rocksdb/committer.h - the thread through which all writes of a tenant go, in order.
 *
 * Does:     take what is queued, build one batch, write it with one fsync, answer everybody in it;
 *           run drops, snapshots and purge steps between batches.
 * Owns:     its thread, mailbox and batch.
 * May use:  base/, storage/.
 * Knows no: what a mutation means (apply.h).
 * Threads:  submit and call from any; the rest is its own.
 * Blocks:   sto_rdb_committer_call waits for the committer.
 * Fails by: ERR_OVERLOADED when the queue is full, ERR_UNAVAILABLE when failed or closing.
 * Limits:   LIM_COMMIT_QUEUE_OPS, LIM_COMMIT_QUEUE_BYTES, LIM_BATCH_OPS, LIM_BATCH_BYTES,
 *           LIM_BATCH_MADE_BYTES.
 * Promises: 1. Operations of one tenant take effect in the order of submission.
 *           2. An operation is answered after the fsync of the batch it was in.
 *           3. Server timestamps never go back while the process runs.
 */
#ifndef STORAGE_ROCKSDB_COMMITTER_H
#define STORAGE_ROCKSDB_COMMITTER_H

#include <pthread.h>

#include "storage/engine.h"
#include "storage/rocksdb/batch.h"

struct rdb_committer {
    struct rdb_engine *engine;
    struct base_mailbox mailbox;
    pthread_t thread;
    bool started;

    /* any thread */
    _Atomic uint64_t queued_ops;
    _Atomic uint64_t queued_bytes;
    _Atomic int64_t open_us; /* the clock when the batch under way began, or lower; 0: there is
                              * none, and what begins later reads the clock later */

    /* its own thread */
    bool stopping;
    struct base_msg stop_msg;
    int64_t last_us;
    size_t op_count;
    uint64_t op_bytes;
    struct sto_mutate_op *ops[LIM_BATCH_OPS];
    struct rdb_batch batch;
};

struct rdb_committer *sto_rdb_committer_start(struct rdb_engine *e, int index);
/* Runs what is queued, then ends; accepts NULL. */
void sto_rdb_committer_stop(struct rdb_committer *c);

/* Its clock, on its own thread: whole milliseconds, as Bigtable's servers give; never behind what
 * it gave before. */
int64_t sto_rdb_committer_us(struct rdb_committer *c);

void sto_rdb_committer_submit(struct rdb_committer *c, struct sto_mutate_op *op);
/* Not bounded: for the engine's own messages, whose number the engine bounds. */
void sto_rdb_committer_post(struct rdb_committer *c, struct base_msg *msg);
/* Run fn on the committer's thread, between batches, and wait for it. */
void sto_rdb_committer_call(struct rdb_committer *c, void (*fn)(struct rdb_committer *c, void *ctx),
                            void *ctx);

#endif

/*
 * storage/rocksdb/committer.h - the thread through which all writes of a tenant go, in order.
 *
 * Does:     take what is queued in fair order, build one batch, write it with one fsync, answer
 *           everybody in it; run drops, snapshots and purge steps between batches.
 * Owns:     its thread, mailbox and batch.
 * May use:  base/, storage/.
 * Knows no: what a mutation means (apply.h).
 * Threads:  submit and call from any; the rest is its own.
 * Blocks:   sto_rdb_committer_call waits for the committer.
 * Fails by: ERR_OVERLOADED when the queue is full, ERR_UNAVAILABLE when failed or closing.
 * Limits:   LIM_BATCH_OPS, LIM_BATCH_BYTES, LIM_BATCH_MADE_BYTES, LIM_BATCH_SHARED_US,
 *           LIM_BATCH_LOOK_US, those of admit.h.
 * Promises: 1. Operations of one tenant and priority take effect in the order of submission.
 *           2. An operation is answered after the fsync of the batch it was in.
 *           3. Server timestamps never go back while the process runs.
 *           4. While an operation's blocks are read on a reader (prefetch.h), what its tenant
 *              submitted after it in the same priority waits, and no other tenant does.
 *           5. A batch in which several tenants are is built for as long as an fsync takes, between
 *              LIM_BATCH_SHARED_US and LIM_BATCH_SHARED_MAX_US: whoever comes is in the one under
 *              way or the next.
 *           6. No operation is applied here for longer than LIM_APPLY_STEPS steps: a dear one is
 *              worked out on a reader (plan.h), in the order of promise 1. Its tenant's share pays
 *              for the time that each operation takes here.
 */
#ifndef STORAGE_ROCKSDB_COMMITTER_H
#define STORAGE_ROCKSDB_COMMITTER_H

#include <pthread.h>

#include "storage/engine.h"
#include "storage/rocksdb/batch.h"
#include "storage/rocksdb/prefetch.h"

/* Only its committer writes, everybody may read. */
struct rdb_buckets {
    _Atomic uint64_t count[STO_BUCKETS];
    _Atomic uint64_t sum;
};

struct rdb_committer {
    struct rdb_engine *engine;
    struct base_mailbox mailbox;
    pthread_t thread;
    bool started;

    /* any thread */
    _Atomic uint64_t queued_ops;
    _Atomic uint64_t queued_bytes;
    _Atomic int64_t open_us;  /* the clock when the batch under way began, or lower; 0: there is
                               * none, and what begins later reads the clock later */
    _Atomic uint64_t refused; /* by the bound of the queue */
    _Atomic uint64_t shed;    /* to keep RocksDB from stalling */
    _Atomic uint64_t rested;  /* because its tenant kept others waiting before; its own thread's */

    /* written by its own thread */
    _Atomic uint64_t ns_per_op;   /* lately; 0: not known */
    _Atomic uint64_t held_ns_max; /* by one operation, an fsync apart, since the start */
    _Atomic uint64_t window;      /* of LIM_SHED_WINDOW_MS; see admit.h */
    _Atomic uint64_t window_fair_use;
    _Atomic uint64_t window_writers;
    struct rdb_buckets batch_ops;
    struct rdb_buckets sync_us;

    /* its own thread */
    bool stopping;
    struct base_msg stop_msg;
    int64_t last_us;
    struct sto_fair_queue queue;
    struct rdb_prefetch_watch prefetch_watch;
    uint64_t looked_ns; /* into the mailbox */
    const struct sto_account *last_writer;
    uint64_t turned_ns; /* when that was another one last */
    uint64_t window_end_ns;
    uint64_t window_used; /* by all */
    uint64_t window_weight;
    uint64_t window_lines;
    size_t op_count;
    uint64_t op_bytes;
    uint64_t batch_began_ns;
    const struct sto_account *batch_account; /* of its first operation */
    bool batch_is_shared;
    struct sto_account *planned; /* whose operation, worked out before, is this batch; or NULL */
    uint64_t sync_ns;            /* lately */
    struct sto_mutate_op *ops[LIM_BATCH_OPS];
    struct rdb_batch batch;
};

/* The engine's own work for a tenant: a message that is run between batches when the tenant's turn
 * comes. In the structure of whoever it belongs to. */
struct rdb_task {
    struct base_msg msg;
    struct sto_account *account;
    enum sto_priority priority;
    void (*run)(struct rdb_committer *c, struct rdb_task *task);
    struct rdb_committer *committer;
    unsigned markers_left;
    struct rdb_task_marker {
        struct base_msg msg;
        struct rdb_task *task;
    } markers[STO_PRIORITY_BACKGROUND];
};

struct rdb_committer *sto_rdb_committer_start(struct rdb_engine *e, int index);
/* Runs what is queued, then ends; accepts NULL. */
void sto_rdb_committer_stop(struct rdb_committer *c);

/* Its clock, on its own thread: whole milliseconds, as Bigtable's servers give; never behind what
 * it gave before. */
int64_t sto_rdb_committer_us(struct rdb_committer *c);

void sto_rdb_committer_submit(struct rdb_committer *c, struct sto_mutate_op *op);
/* Run msg as soon as it arrives, ahead of everything that waits. */
void sto_rdb_committer_post(struct rdb_committer *c, struct base_msg *msg);
/* Not bounded: for the engine's own work, whose amount the engine bounds. behind: not before
 * everything that its tenant submitted until now. */
void sto_rdb_committer_task(struct rdb_committer *c, struct rdb_task *task, bool behind);
/* On its thread: what a task turned out to cost. */
void sto_rdb_committer_charge(struct rdb_committer *c, struct sto_account *account,
                              uint64_t operations);
/* Run fn on the committer's thread, between batches, behind what the tenant submitted until now,
 * and wait for it. account NULL: ahead of everything that waits; one batch at most comes first. */
void sto_rdb_committer_call(struct rdb_committer *c, struct sto_account *account,
                            enum sto_priority priority,
                            void (*fn)(struct rdb_committer *c, void *ctx), void *ctx);

#endif

/*
 * storage/rocksdb/committer.h - the thread through which all writes of a tenant go, in order.
 *
 * Does:     takes queued operations in fair order, builds one batch, writes it with one fsync,
 *           returns every operation of the batch; runs drops, snapshots and purge steps between
 *           batches.
 * Owns:     its thread, mailbox and batch.
 * May use:  base/, storage/.
 * Knows no: what a mutation means (apply.h).
 * Threads:  submit and call from any; the rest is its own.
 * Blocks:   sto_rdb_committer_call waits for the committer.
 * Fails by: ERR_OVERLOADED when the queue is full, ERR_UNAVAILABLE when failed or closing.
 * Limits:   LIM_BATCH_OPS, LIM_BATCH_BYTES, LIM_BATCH_MADE_BYTES, LIM_BATCH_SHARED_US,
 *           LIM_BATCH_LOOK_US, those of admit.h.
 * Promises: 1. Operations of one tenant and priority take effect in the order of submission.
 *           2. An operation returns after the fsync of its batch.
 *           3. Server timestamps never go back while the process runs.
 *           4. While a reader loads an operation's blocks (prefetch.h), later operations of its
 *              tenant in the same priority wait, and no other tenant does.
 *           5. A batch with operations of several tenants is built for as long as an fsync takes,
 *              between LIM_BATCH_SHARED_US and LIM_BATCH_SHARED_MAX_US: a new operation is in the
 *              batch in progress or in the next one.
 *           6. No operation is applied here for longer than LIM_APPLY_STEPS steps: a reader
 *              computes an expensive one (plan.h), in the order of promise 1. The tenant's share is
 *              charged for the time that each of its operations takes here.
 */
#ifndef STORAGE_ROCKSDB_COMMITTER_H
#define STORAGE_ROCKSDB_COMMITTER_H

#include <pthread.h>

#include "storage/engine.h"
#include "storage/rocksdb/batch.h"
#include "storage/rocksdb/prefetch.h"

/* Only its committer writes; any thread may read. */
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
    /* the clock when the batch in progress started, or lower; 0: there is none */
    _Atomic int64_t open_us;
    _Atomic uint64_t refused; /* because the queue was full */
    _Atomic uint64_t shed;    /* to keep RocksDB from stalling */
    /* because the tenant kept others waiting before; written by its own thread */
    _Atomic uint64_t rested;

    /* written by its own thread */
    _Atomic uint64_t ns_per_op; /* recent average; 0: not known */
    /* longest time of one operation since the start, without fsyncs */
    _Atomic uint64_t held_ns_max;
    _Atomic uint64_t window; /* of LIM_SHED_WINDOW_MS; see admit.h */
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
    uint64_t looked_ns; /* last check of the mailbox */
    const struct sto_account *last_writer;
    uint64_t turned_ns; /* when the writer last changed */
    uint64_t window_end_ns;
    uint64_t window_used; /* by all tenants */
    uint64_t window_weight;
    uint64_t window_lines;
    size_t op_count;
    uint64_t op_bytes;
    uint64_t batch_began_ns;
    const struct sto_account *batch_account; /* of its first operation */
    bool batch_is_shared;
    struct sto_account *planned; /* the account whose planned operation is this batch; NULL: none */
    uint64_t sync_ns;            /* recent average */
    struct sto_mutate_op *ops[LIM_BATCH_OPS];
    struct rdb_batch batch;
};

/* The engine's own work for a tenant: a message that runs between batches when the fair queue
 * serves the tenant. Part of its owner's structure. */
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
/* Runs the queued operations, then ends the thread; accepts NULL. */
void sto_rdb_committer_stop(struct rdb_committer *c);

/* Returns its clock, on its own thread: whole milliseconds, as Bigtable's servers return; never
 * less than the previous result. */
int64_t sto_rdb_committer_us(struct rdb_committer *c);

void sto_rdb_committer_submit(struct rdb_committer *c, struct sto_mutate_op *op);
/* Runs msg as soon as it arrives, before everything that waits. */
void sto_rdb_committer_post(struct rdb_committer *c, struct base_msg *msg);
/* Queues a task without a bound: for the engine's own work, whose amount the engine bounds. behind:
 * the task runs after everything that its tenant has submitted before. */
void sto_rdb_committer_task(struct rdb_committer *c, struct rdb_task *task, bool behind);
/* On its thread: charges the actual cost of a task. */
void sto_rdb_committer_charge(struct rdb_committer *c, struct sto_account *account,
                              uint64_t operations);
/* Runs fn on the committer's thread, between batches, after everything that the tenant has
 * submitted before, and waits for it. account NULL: before everything that waits, after at most one
 * batch. */
void sto_rdb_committer_call(struct rdb_committer *c, struct sto_account *account,
                            enum sto_priority priority,
                            void (*fn)(struct rdb_committer *c, void *ctx), void *ctx);

#endif

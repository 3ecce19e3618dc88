/*
 * storage/rocksdb/pool.h - the reader threads: work that may wait for the disk.
 *
 * Does:     run messages on a few threads, in fair order; keep what is short from waiting behind
 *           what is long.
 * Owns:     its threads and queues.
 * May use:  base/, storage/.
 * Knows no: what the messages do.
 * Threads:  push and charge from any; start and stop from one.
 * Blocks:   push and charge take a short mutex; stop joins after the queues ran empty.
 * Fails by: push returns false when the queue is full, or the tenant's part of it.
 * Limits:   LIM_READ_QUEUE_OPS for each queue.
 * Promises: 1. What push accepted has run when stop returns.
 *           2. The first thread of several runs points only: one is never far from being free.
 *           3. At most scans_max threads run scans at once, and all of them may run points. Scans
 *              that cannot be cut into slices step aside instead: aside_max more at most.
 *           4. At most long_max of those run at once, so that each can step aside when another scan
 *              waits; further ones wait without a thread, in the order of their turns.
 *           5. A tenant has no more queued than is still free.
 */
#ifndef STORAGE_ROCKSDB_POOL_H
#define STORAGE_ROCKSDB_POOL_H

#include <pthread.h>

#include "storage/account.h"

/* One row or as much; or whatever may take a whole slice. */
enum rdb_pool_queue { RDB_POINTS, RDB_SCANS, RDB_POOL_QUEUES };

struct rdb_pool {
    pthread_mutex_t lock;
    pthread_cond_t filled[RDB_POOL_QUEUES]; /* points: the first thread; scans: the others, who
                                             * wait for both */
    struct sto_fair_queue queues[RDB_POOL_QUEUES];
    int scans_max;               /* one for each processor, but not the first thread of several */
    int scans_running;           /* at once, under the lock */
    int aside_max;               /* one thread at least is left for points and scans */
    int aside;                   /* the same; run beside the scans */
    int long_max;                /* scans that cannot be cut into slices, at once */
    int long_running;            /* the same, aside or not */
    struct base_msg *long_first; /* those that wait for one of them to end */
    struct base_msg *long_last;
    unsigned points_run; /* by threads that take both, while scans wait */
    bool stopping;
    unsigned idle[RDB_POOL_QUEUES]; /* threads that wait and were not signalled */
    int threads_wanted;
    int threads_begun;
    int thread_count;
    pthread_t *threads;

    /* written under the lock, read by any */
    _Atomic uint64_t waiting[RDB_POOL_QUEUES];
    _Atomic uint64_t refused;
    _Atomic uint64_t ns_per_op[RDB_POOL_QUEUES]; /* of one thread, lately */
};

/* Who wants it, and how it is to be treated. */
struct rdb_pool_job {
    struct sto_account *account;
    enum rdb_pool_queue queue;
    enum sto_priority priority;
    bool must; /* accept although the queue is full (the engine's own, bounded elsewhere) */
};

enum err sto_rdb_pool_start(struct rdb_pool *p, int threads, int processors) MUST_CHECK;
void sto_rdb_pool_stop(struct rdb_pool *p);
/* False: *out_retry_ns (may be NULL) says when to come again. */
bool sto_rdb_pool_push(struct rdb_pool *p, const struct rdb_pool_job *job, struct base_msg *msg,
                       uint64_t *out_retry_ns) MUST_CHECK;
/* What a message turned out to cost beyond one operation; by whoever runs it, before it is
 * answered. */
void sto_rdb_pool_charge(struct rdb_pool *p, struct sto_account *account, enum rdb_pool_queue queue,
                         uint64_t operations);
/* By a scan that cannot be cut into slices, before it starts. False: long_max of them run, and the
 * message waits until long_end returns it. */
bool sto_rdb_pool_long_start(struct rdb_pool *p, struct base_msg *msg) MUST_CHECK;
/* By the same at its end. The next message, which has started and is to be run now; NULL: none. */
struct base_msg *sto_rdb_pool_long_end(struct rdb_pool *p) MUST_CHECK;
/* By the same, about each millisecond: if another scan waits, that runs beside it from now on.
 * True: so it is, until step_back, at the end of the message. */
bool sto_rdb_pool_step_aside(struct rdb_pool *p) MUST_CHECK;
void sto_rdb_pool_step_back(struct rdb_pool *p);
/* Whether somebody waits for a thread: then slices end early. */
static inline bool sto_rdb_pool_is_busy(const struct rdb_pool *p)
{
    return atomic_load_explicit(&p->waiting[RDB_SCANS], memory_order_relaxed) > 0 ||
           atomic_load_explicit(&p->waiting[RDB_POINTS], memory_order_relaxed) > 0;
}

#endif

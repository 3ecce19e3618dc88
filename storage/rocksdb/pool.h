/*
 * storage/rocksdb/pool.h - the reader threads: work that may wait for the disk.
 *
 * Does:     runs messages on a few threads, in fair order; keeps long work from delaying
 *           short work.
 * Owns:     its threads and queues.
 * May use:  base/, storage/.
 * Knows no: what the messages do.
 * Threads:  push and charge from any; start and stop from one.
 * Blocks:   push and charge take a short mutex; stop joins after the queues ran empty.
 * Fails by: push returns false when the queue is full, or the tenant's part of it.
 * Limits:   LIM_READ_QUEUE_OPS for each queue.
 * Promises: 1. Every message that push accepted has run when stop returns.
 *           2. With several threads, the first one runs points only: one thread is always about to
 *              become free.
 *           3. At most scans_max threads run scans at once, and all of them may run points. A scan
 *              that cannot be cut into slices steps aside instead: aside_max more at most.
 *           4. At most long_max such scans run at once, so that each can step aside when another
 *              scan waits; further ones wait without a thread, in the order of their service.
 *           5. A tenant never has more messages queued than the queue has free places.
 */
#ifndef STORAGE_ROCKSDB_POOL_H
#define STORAGE_ROCKSDB_POOL_H

#include <pthread.h>

#include "storage/account.h"

/* RDB_POINTS: one row or similar work; RDB_SCANS: work that may take a whole slice. */
enum rdb_pool_queue { RDB_POINTS, RDB_SCANS, RDB_POOL_QUEUES };

struct rdb_pool {
    pthread_mutex_t lock;
    /* points: the first thread; scans: the other threads, which wait for both */
    pthread_cond_t filled[RDB_POOL_QUEUES];
    struct sto_fair_queue queues[RDB_POOL_QUEUES];
    /* limit of concurrent scans: one per processor, without the first thread if there are
     * several */
    int scans_max;
    int scans_running; /* now; under the lock */
    /* limit of scans that stepped aside; leaves at least one thread for points and scans */
    int aside_max;
    int aside;                   /* scans running beside scans_running; under the lock */
    int long_max;                /* limit of concurrent scans that cannot be cut into slices */
    int long_running;            /* of these, running now, aside or not; under the lock */
    struct base_msg *long_first; /* queue of those that wait for one to end */
    struct base_msg *long_last;
    unsigned points_run; /* points run by threads that take both, while scans wait */
    bool stopping;
    unsigned idle[RDB_POOL_QUEUES]; /* waiting threads that were not signalled */
    int threads_wanted;
    int threads_begun;
    int thread_count;
    pthread_t *threads;

    /* written under the lock, read by any thread */
    _Atomic uint64_t waiting[RDB_POOL_QUEUES];
    _Atomic uint64_t refused;
    _Atomic uint64_t ns_per_op[RDB_POOL_QUEUES]; /* of one thread, recent average */
};

/* The owner and kind of a message. */
struct rdb_pool_job {
    struct sto_account *account;
    enum rdb_pool_queue queue;
    enum sto_priority priority;
    bool must; /* accept even if the queue is full (the engine's own work, bounded elsewhere) */
};

enum err sto_rdb_pool_start(struct rdb_pool *p, int threads, int processors) MUST_CHECK;
void sto_rdb_pool_stop(struct rdb_pool *p);
/* Queues a message. False: *out_retry_ns (may be NULL) is the time until a retry can succeed. */
bool sto_rdb_pool_push(struct rdb_pool *p, const struct rdb_pool_job *job, struct base_msg *msg,
                       uint64_t *out_retry_ns) MUST_CHECK;
/* Charges the cost of a message beyond one operation. Called by the code that runs the message,
 * before it returns the operation. */
void sto_rdb_pool_charge(struct rdb_pool *p, struct sto_account *account, enum rdb_pool_queue queue,
                         uint64_t operations);
/* Called by a scan that cannot be cut into slices, before it starts. False: long_max of them run,
 * and the message waits until long_end returns it. */
bool sto_rdb_pool_long_start(struct rdb_pool *p, struct base_msg *msg) MUST_CHECK;
/* Called at the end of such a scan. Returns the next such message, which counts as started and must
 * be run now; NULL: none. */
struct base_msg *sto_rdb_pool_long_end(struct rdb_pool *p) MUST_CHECK;
/* Called by such a scan about once a millisecond. If another scan waits, that one may run beside it
 * from that moment. True: the scan has stepped aside, until step_back, at the end of the
 * message. */
bool sto_rdb_pool_step_aside(struct rdb_pool *p) MUST_CHECK;
void sto_rdb_pool_step_back(struct rdb_pool *p);
/* Returns whether a message waits for a thread: then slices end early. */
static inline bool sto_rdb_pool_is_busy(const struct rdb_pool *p)
{
    return atomic_load_explicit(&p->waiting[RDB_SCANS], memory_order_relaxed) > 0 ||
           atomic_load_explicit(&p->waiting[RDB_POINTS], memory_order_relaxed) > 0;
}

#endif

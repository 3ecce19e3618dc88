/*
 * storage/rocksdb/pool.c - two fair queues under a mutex; readers are few and their work is long.
 *
 *   thread       takes
 *   first        points (when it is alone: both)
 *   the others   points, but a scan after every POINTS_RUN of them, unless scans_max of them run
 *                scans; they run at lower priority, so that loops and committers are not delayed
 *                by scans
 *
 * Points wait for the disk, so more threads than processors run them: a disk is fastest with many
 * requests in flight. Scans need processors.
 *
 * A plan (plan.h) is a scan that cannot be interrupted and resumed. When others wait for its place
 * among scans_max, the plan gives up its place and continues beside them: they share the
 * processors, as threads of one priority do. No more plans run than can step aside, or a few
 * tenants' plans would hold all places of scans until they end. With too few threads for that, one
 * runs.
 *
 * 1. waiting[] counts the messages in the queues.
 * 2. A thread ends only when stopping and no message that it may take is left.
 *
 * A scan that may not run yet is left to the threads that run scans: each takes another one, or
 * wakes a waiting thread, when it is done.
 */
#include "storage/rocksdb/pool.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/share.h"
#include "base/watchdog.h"
#include "base/worker.h"
#include "storage/rocksdb/admit.h"

#include "base/banned.h"

#define POINTS_RUN 3

static struct sto_fair_line *line_of(struct sto_account *account, enum rdb_pool_queue queue)
{
    return queue == RDB_POINTS ? &account->points : &account->scans;
}

/* Returns the queue to serve next; RDB_POOL_QUEUES: nothing to do. */
static enum rdb_pool_queue queue_next(struct rdb_pool *p, bool scans_too)
{
    bool points = p->queues[RDB_POINTS].waiting > 0;
    bool scans = scans_too && p->queues[RDB_SCANS].waiting > 0 && p->scans_running < p->scans_max;
    if (points && (!scans || p->points_run < POINTS_RUN)) {
        p->points_run = scans ? p->points_run + 1 : 0;
        return RDB_POINTS;
    }
    p->points_run = 0;
    return scans ? RDB_SCANS : RDB_POOL_QUEUES;
}

/* Returns the condition to signal for one thread that may take the message; NULL: all threads check
 * the queues again before they wait. */
static pthread_cond_t *to_wake(struct rdb_pool *p, enum rdb_pool_queue queue)
{
    if (queue == RDB_POINTS && p->idle[RDB_POINTS] == 0)
        queue = RDB_SCANS;
    if (p->idle[queue] == 0)
        return NULL;
    p->idle[queue]--;
    return &p->filled[queue];
}

/* Waits for the next message. *queue: in, the queue of the thread's last message; out, that of the
 * result. */
static struct base_msg *pop(struct rdb_pool *p, bool scans_too, enum rdb_pool_queue *queue)
{
    struct base_msg *msg = NULL;
    enum rdb_pool_queue own = scans_too ? RDB_SCANS : RDB_POINTS;
    pthread_mutex_lock(&p->lock);
    bool ended_scan = *queue == RDB_SCANS;
    p->scans_running -= ended_scan;
    while ((*queue = queue_next(p, scans_too)) == RDB_POOL_QUEUES && !p->stopping) {
        p->idle[own]++;
        pthread_cond_wait(&p->filled[own], &p->lock);
    }
    if (*queue != RDB_POOL_QUEUES) {
        struct sto_fair_line *line = NULL;
        p->scans_running += *queue == RDB_SCANS;
        msg = sto_fair_take(&p->queues[*queue], base_monotonic_ns(), &line);
        sto_rdb_count_own(&p->waiting[*queue], UINT64_MAX); /* one less */
        sto_rdb_count_own(&line->queued, UINT64_MAX);
    }
    /* A point was served first: another thread takes the scan that was waiting for this one to
     * end. */
    bool passes_on = ended_scan && *queue != RDB_SCANS && p->queues[RDB_SCANS].waiting > 0;
    pthread_cond_t *idle = passes_on ? to_wake(p, RDB_SCANS) : NULL;
    pthread_mutex_unlock(&p->lock);
    if (idle != NULL)
        pthread_cond_signal(idle);
    return msg;
}

static void measure(struct rdb_pool *p, enum rdb_pool_queue queue, uint64_t began_ns)
{
    uint64_t newest = base_monotonic_ns() - began_ns;
    uint64_t before = atomic_load_explicit(&p->ns_per_op[queue], memory_order_relaxed);
    atomic_store_explicit(&p->ns_per_op[queue], before - before / 8 + newest / 8,
                          memory_order_relaxed); /* a hint: threads overwrite each other */
}

static void *thread_main(void *arg)
{
    struct rdb_pool *p = arg;
    enum rdb_pool_queue queue = RDB_POINTS;
    pthread_mutex_lock(&p->lock);
    bool scans_too = p->threads_begun++ > 0 || p->threads_wanted == 1;
    pthread_mutex_unlock(&p->lock);
    base_watchdog_join("reader");
    if (scans_too && p->threads_wanted > 1)
        base_class_join(BASE_SCAN);
    else
        base_class_join(BASE_SERVE); /* a point read waits for it */
    for (struct base_msg *msg; (msg = pop(p, scans_too, &queue)) != NULL;) {
        uint64_t began_ns = base_monotonic_ns();
        base_watchdog_round(queue == RDB_POINTS ? "point read" : "slice of a scan");
        msg->run(msg);
        measure(p, queue, began_ns);
    }
    return NULL;
}

static void retry_after(const struct rdb_pool *p, enum rdb_pool_queue queue, uint64_t *out_retry_ns)
{
    uint64_t threads = (uint64_t)(queue == RDB_SCANS ? p->scans_max : p->threads_wanted);
    uint64_t ns = atomic_load_explicit(&p->ns_per_op[queue], memory_order_relaxed);
    if (out_retry_ns != NULL)
        *out_retry_ns = sto_rdb_retry_ns(p->queues[queue].waiting, ns / threads);
}

bool sto_rdb_pool_push(struct rdb_pool *p, const struct rdb_pool_job *job, struct base_msg *msg,
                       uint64_t *out_retry_ns)
{
    struct sto_fair_line *line = line_of(job->account, job->queue);
    pthread_mutex_lock(&p->lock);
    struct sto_fair_queue *q = &p->queues[job->queue];
    uint64_t own = atomic_load_explicit(&line->queued, memory_order_relaxed);
    bool taken =
        job->must || (q->waiting < LIM_READ_QUEUE_OPS && own < LIM_READ_QUEUE_OPS - q->waiting);
    pthread_cond_t *idle = NULL;
    if (taken) {
        sto_fair_put(q, line, job->priority, msg, base_monotonic_ns());
        sto_rdb_count_own(&p->waiting[job->queue], 1);
        sto_rdb_count_own(&line->queued, 1);
        if (job->queue == RDB_POINTS || p->scans_running < p->scans_max)
            idle = to_wake(p, job->queue);
    } else {
        sto_rdb_count_own(&p->refused, 1);
        retry_after(p, job->queue, out_retry_ns);
    }
    pthread_mutex_unlock(&p->lock);
    if (idle != NULL) /* without the lock, which the woken thread takes first */
        pthread_cond_signal(idle);
    return taken;
}

void sto_rdb_pool_charge(struct rdb_pool *p, struct sto_account *account, enum rdb_pool_queue queue,
                         uint64_t operations)
{
    if (operations == 0)
        return;
    pthread_mutex_lock(&p->lock);
    sto_fair_charge(&p->queues[queue], line_of(account, queue), operations, base_monotonic_ns());
    pthread_mutex_unlock(&p->lock);
}

bool sto_rdb_pool_long_start(struct rdb_pool *p, struct base_msg *msg)
{
    pthread_mutex_lock(&p->lock);
    bool starts = p->long_running < p->long_max;
    if (starts) {
        p->long_running++;
    } else {
        msg->next = NULL;
        if (p->long_first == NULL)
            p->long_first = msg;
        else
            p->long_last->next = msg;
        p->long_last = msg;
    }
    pthread_mutex_unlock(&p->lock);
    return starts;
}

struct base_msg *sto_rdb_pool_long_end(struct rdb_pool *p)
{
    pthread_mutex_lock(&p->lock);
    struct base_msg *next = p->long_first;
    if (next == NULL)
        p->long_running--;
    else
        p->long_first = next->next;
    pthread_mutex_unlock(&p->lock);
    return next;
}

bool sto_rdb_pool_step_aside(struct rdb_pool *p)
{
    if (atomic_load_explicit(&p->waiting[RDB_SCANS], memory_order_relaxed) == 0)
        return false;
    pthread_mutex_lock(&p->lock);
    bool steps = p->aside < p->aside_max;
    if (steps) {
        p->aside++;
        p->scans_running--;
    }
    pthread_cond_t *idle = steps && p->queues[RDB_SCANS].waiting > 0 ? to_wake(p, RDB_SCANS) : NULL;
    pthread_mutex_unlock(&p->lock);
    if (idle != NULL)
        pthread_cond_signal(idle);
    return steps;
}

void sto_rdb_pool_step_back(struct rdb_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->aside--;
    p->scans_running++; /* may exceed the limit by one until the message has ended */
    pthread_mutex_unlock(&p->lock);
}

enum err sto_rdb_pool_start(struct rdb_pool *p, int threads, int processors)
{
    int others = threads > 1 ? threads - 1 : 1;
    *p = (struct rdb_pool){.lock = PTHREAD_MUTEX_INITIALIZER,
                           .threads_wanted = threads,
                           .scans_max = processors < others ? processors : others};
    p->aside_max = others > p->scans_max ? others - p->scans_max - 1 : 0;
    p->long_max = p->aside_max > 0 ? p->aside_max : 1;
    for (enum rdb_pool_queue q = 0; q < RDB_POOL_QUEUES; q++) {
        (void)pthread_cond_init(&p->filled[q], NULL); /* default attributes: cannot fail */
        sto_fair_queue_init(&p->queues[q]);
    }
    p->threads = base_new_array((size_t)threads, sizeof(p->threads[0]));
    for (int i = 0; i < threads; i++) {
        char name[24]; /* short enough: base_thread_start checks it */
        (void)snprintf(name, sizeof(name), "read-%d", i);
        enum err rc = base_thread_start(&p->threads[i], name, thread_main, p);
        if (rc != ERR_OK) {
            sto_rdb_pool_stop(p);
            return rc;
        }
        p->thread_count++;
    }
    return ERR_OK;
}

void sto_rdb_pool_stop(struct rdb_pool *p)
{
    if (p->threads == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    for (enum rdb_pool_queue q = 0; q < RDB_POOL_QUEUES; q++)
        pthread_cond_broadcast(&p->filled[q]);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->thread_count; i++)
        INVARIANT(pthread_join(p->threads[i], NULL) == 0);
    base_free(p->threads);
    p->threads = NULL;
    for (enum rdb_pool_queue q = 0; q < RDB_POOL_QUEUES; q++) {
        pthread_cond_destroy(&p->filled[q]);
        sto_fair_queue_fini(&p->queues[q]);
    }
    pthread_mutex_destroy(&p->lock);
}

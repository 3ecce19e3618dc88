/*
 * storage/rocksdb/pool.h - the reader threads: work that may wait for the disk.
 *
 * Does:     run messages on a few threads, oldest first.
 * Owns:     its threads and queue.
 * May use:  base/.
 * Knows no: what the messages do.
 * Threads:  push from any; start and stop from one.
 * Blocks:   push takes a short mutex; stop joins after the queue ran empty.
 * Fails by: push returns false when the queue is full.
 * Limits:   LIM_READ_QUEUE_OPS.
 * Promises: 1. What push accepted has run when stop returns.
 */
#ifndef STORAGE_ROCKSDB_POOL_H
#define STORAGE_ROCKSDB_POOL_H

#include <pthread.h>

#include "base/mailbox.h"

struct rdb_pool {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct base_msg *first;
    struct base_msg *last;
    size_t queued;
    bool stopping;
    int thread_count;
    pthread_t *threads;
};

enum err sto_rdb_pool_start(struct rdb_pool *p, int threads) MUST_CHECK;
void sto_rdb_pool_stop(struct rdb_pool *p);
/* must: accept although the queue is full (the engine's own, bounded elsewhere). */
bool sto_rdb_pool_push(struct rdb_pool *p, struct base_msg *msg, bool must) MUST_CHECK;

#endif

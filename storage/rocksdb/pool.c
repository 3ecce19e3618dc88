/*
 * storage/rocksdb/pool.c - a list under a mutex; readers are few and their work is long.
 *
 * 1. first is NULL exactly when queued is 0. 2. A thread ends only when stopping and empty.
 */
#include "storage/rocksdb/pool.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/worker.h"

#include "base/banned.h"

static struct base_msg *pop(struct rdb_pool *p)
{
    pthread_mutex_lock(&p->lock);
    while (p->first == NULL && !p->stopping)
        pthread_cond_wait(&p->filled, &p->lock);
    struct base_msg *msg = p->first;
    if (msg != NULL) {
        p->first = msg->next;
        p->queued--;
    }
    pthread_mutex_unlock(&p->lock);
    return msg;
}

static void *thread_main(void *arg)
{
    struct rdb_pool *p = arg;
    for (struct base_msg *msg; (msg = pop(p)) != NULL;)
        msg->run(msg);
    return NULL;
}

bool sto_rdb_pool_push(struct rdb_pool *p, struct base_msg *msg, bool must)
{
    msg->next = NULL;
    pthread_mutex_lock(&p->lock);
    bool taken = must || p->queued < LIM_READ_QUEUE_OPS;
    if (taken) {
        if (p->first == NULL)
            p->first = msg;
        else
            p->last->next = msg;
        p->last = msg;
        p->queued++;
        pthread_cond_signal(&p->filled);
    }
    pthread_mutex_unlock(&p->lock);
    return taken;
}

enum err sto_rdb_pool_start(struct rdb_pool *p, int threads)
{
    *p = (struct rdb_pool){.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};
    p->threads = base_new_array((size_t)threads, sizeof(p->threads[0]));
    for (int i = 0; i < threads; i++) {
        char name[24]; /* base_thread_start checks that it is short */
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
    pthread_cond_broadcast(&p->filled);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->thread_count; i++)
        INVARIANT(pthread_join(p->threads[i], NULL) == 0);
    base_free(p->threads);
    p->threads = NULL;
    pthread_cond_destroy(&p->filled);
    pthread_mutex_destroy(&p->lock);
}

/*
 * storage/rocksdb/committer_call.c - runs a function on the committer's thread and waits for it;
 * charges the cost of tasks.
 */
#include <stddef.h>

#include "base/clock.h"
#include "storage/rocksdb/committer.h"

#include "base/banned.h"

void sto_rdb_committer_charge(struct rdb_committer *c, struct sto_account *account,
                              uint64_t operations)
{
    sto_fair_charge(&c->queue, &account->writes, operations, base_monotonic_ns());
}

struct call {
    struct rdb_task task; /* first */
    void (*fn)(struct rdb_committer *c, void *ctx);
    void *ctx;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool finished;
};

static void run_call(struct rdb_committer *c, struct rdb_task *task)
{
    struct call *call = (struct call *)task;
    call->fn(c, call->ctx);
    pthread_mutex_lock(&call->lock);
    call->finished = true;
    pthread_cond_signal(&call->changed);
    pthread_mutex_unlock(&call->lock);
}

static void run_call_now(struct base_msg *msg)
{
    struct rdb_task *task = (struct rdb_task *)((char *)msg - offsetof(struct rdb_task, msg));
    run_call(task->committer, task);
}

void sto_rdb_committer_call(struct rdb_committer *c, struct sto_account *account,
                            enum sto_priority priority,
                            void (*fn)(struct rdb_committer *c, void *ctx), void *ctx)
{
    struct call call = {.task = {.account = account, .priority = priority, .run = run_call},
                        .fn = fn,
                        .ctx = ctx,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER};
    call.task.committer = c;
    call.task.msg.run = run_call_now;
    if (account == NULL)
        sto_rdb_committer_post(c, &call.task.msg);
    else
        sto_rdb_committer_task(c, &call.task, true);
    pthread_mutex_lock(&call.lock);
    while (!call.finished)
        pthread_cond_wait(&call.changed, &call.lock);
    pthread_mutex_unlock(&call.lock);
    pthread_cond_destroy(&call.changed);
    pthread_mutex_destroy(&call.lock);
}

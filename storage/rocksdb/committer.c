/*
 * storage/rocksdb/committer.c - group commit.
 *
 * 1. A mutation is recognised by its run pointer (run_mutate); every other message ends the batch
 *    under way and runs alone.
 * 2. An operation leaves the queue's count when its batch begins to hold it.
 * 3. What arrives while a batch is written is the next batch: the slower the disk, the larger the
 *    batches.
 * 4. ops[] keeps the order of submission; answers go out in it, after the write.
 */
#include "storage/rocksdb/committer.h"

#include <stddef.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/worker.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

static struct sto_mutate_op *op_of(struct base_msg *msg)
{
    return (struct sto_mutate_op *)((char *)msg - offsetof(struct sto_mutate_op, msg));
}

/* --- answering ------------------------------------------------------------------------------ */

static void run_done(struct base_msg *msg)
{
    struct sto_mutate_op *op = op_of(msg);
    op->done(op);
}

static void answer(struct sto_mutate_op *op)
{
    op->msg.run = run_done;
    base_mailbox_push(op->reply_to, &op->msg);
}

/* Answers on their way to one mailbox, newest first. */
struct answers {
    struct base_mailbox *to;
    struct base_msg *newest;
    struct base_msg *oldest;
};

/* The operations of a batch go back together: one wake-up for each thread that waits, not one for
 * each operation. More threads than MAILBOXES get theirs in several rounds. */
static void answer_all(struct sto_mutate_op *const *ops, size_t count)
{
    enum { MAILBOXES = 16 };
    struct answers answers[MAILBOXES];
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct base_msg *msg = &ops[i]->msg;
        size_t k = 0;
        while (k < used && answers[k].to != ops[i]->reply_to)
            k++;
        if (k == MAILBOXES) {
            k = i % MAILBOXES;
            base_mailbox_push_all(answers[k].to, answers[k].newest, answers[k].oldest);
            answers[k].to = NULL;
        }
        msg->run = run_done;
        if (k == used || answers[k].to == NULL) {
            used += k == used;
            answers[k] = (struct answers){ops[i]->reply_to, msg, msg};
        } else {
            msg->next = answers[k].newest;
            answers[k].newest = msg;
        }
    }
    for (size_t k = 0; k < used; k++)
        base_mailbox_push_all(answers[k].to, answers[k].newest, answers[k].oldest);
}

static uint64_t mutations_bytes(const struct sto_mutation *mutations, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += sizeof(mutations[0]) + mutations[i].qualifier.len + mutations[i].value.len;
    return bytes;
}

static uint64_t op_bytes(const struct sto_mutate_op *op)
{
    uint64_t bytes =
        sizeof(*op) + op->row_key.len + mutations_bytes(op->mutations, op->mutation_count);
    if (op->check != NULL)
        bytes += mutations_bytes(op->check->otherwise, op->check->otherwise_count);
    return bytes;
}

/* --- one batch ------------------------------------------------------------------------------ */

int64_t sto_rdb_committer_us(struct rdb_committer *c)
{
    int64_t now = base_wall_us() / 1000 * 1000;
    if (now > c->last_us)
        c->last_us = now;
    return c->last_us;
}

/* Told before the clock is read: who sees no batch knows that the next one is later than now. */
static void batch_opens(struct rdb_committer *c)
{
    atomic_store(&c->open_us, 1);
    atomic_store(&c->open_us, sto_rdb_committer_us(c));
}

static void batch_closes(struct rdb_committer *c)
{
    atomic_store(&c->open_us, 0);
}

static void refuse_unwritten(struct sto_mutate_op *op, enum err rc)
{
    op->result = rc;
    if (rc == ERR_OUTCOME_UNKNOWN)
        (void)base_fail(&op->detail, rc,
                        "the write failed while it was made durable; it may or may not be there");
    else
        (void)base_fail(&op->detail, rc, "the storage engine has stopped after a failure");
}

static void commit(struct rdb_committer *c)
{
    if (c->op_count == 0)
        return;
    enum err rc = sto_rdb_batch_write(&c->batch);
    for (size_t i = 0; i < c->op_count; i++) {
        if (rc != ERR_OK && c->ops[i]->result == ERR_OK)
            refuse_unwritten(c->ops[i], rc);
    }
    batch_closes(c);
    answer_all(c->ops, c->op_count);
    c->op_count = 0;
    c->op_bytes = 0;
}

/* Marks mutations in the queue; never called, the committer looks at the pointer. */
static void run_mutate(struct base_msg *msg)
{
    (void)msg;
    INVARIANT(false);
}

static void take_op(struct rdb_committer *c, struct sto_mutate_op *op)
{
    uint64_t bytes = op_bytes(op);
    atomic_fetch_sub_explicit(&c->queued_ops, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&c->queued_bytes, bytes, memory_order_relaxed);
    if (c->op_count == 0)
        batch_opens(c);
    c->ops[c->op_count++] = op;
    c->op_bytes += bytes;
    enum err rc = sto_rdb_sound(c->engine, &op->detail); /* closing finishes what is queued */
    if (rc == ERR_OK)
        rc = sto_rdb_apply(&c->batch, op, sto_rdb_committer_us(c));
    op->result = rc;
    if (c->op_count == LIM_BATCH_OPS || c->op_bytes >= LIM_BATCH_BYTES ||
        sto_rdb_batch_bytes(&c->batch) >= LIM_BATCH_MADE_BYTES)
        commit(c);
}

static void run_all(struct rdb_committer *c, struct base_msg *msg)
{
    while (msg != NULL) {
        struct base_msg *next = msg->next;
        if (msg->run == run_mutate) {
            take_op(c, op_of(msg));
        } else {
            commit(c);
            batch_opens(c); /* a drop's slice is one */
            msg->run(msg);
            batch_closes(c);
        }
        msg = next;
    }
    commit(c);
}

/* --- thread --------------------------------------------------------------------------------- */

static void run_stop(struct base_msg *msg)
{
    struct rdb_committer *c =
        (struct rdb_committer *)((char *)msg - offsetof(struct rdb_committer, stop_msg));
    c->stopping = true;
}

static void *thread_main(void *arg)
{
    struct rdb_committer *c = arg;
    sto_rdb_uncounted();
    while (!c->stopping) {
        base_mailbox_wait(&c->mailbox, -1);
        run_all(c, base_mailbox_take(&c->mailbox));
    }
    /* What was sent to itself meanwhile; drops see that the engine is closing and end. */
    for (struct base_msg *msg; (msg = base_mailbox_take(&c->mailbox)) != NULL;)
        run_all(c, msg);
    return NULL;
}

struct rdb_committer *sto_rdb_committer_start(struct rdb_engine *e, int index)
{
    struct rdb_committer *c = base_new(sizeof(*c));
    c->engine = e;
    c->stop_msg.run = run_stop;
    if (base_mailbox_init(&c->mailbox) != ERR_OK) {
        base_free(c);
        return NULL;
    }
    sto_rdb_batch_init(&c->batch, e);
    char name[24]; /* base_thread_start checks that it is short */
    (void)snprintf(name, sizeof(name), "commit-%d", index);
    if (base_thread_start(&c->thread, name, thread_main, c) != ERR_OK) {
        sto_rdb_batch_fini(&c->batch);
        base_mailbox_fini(&c->mailbox);
        base_free(c);
        return NULL;
    }
    return c;
}

void sto_rdb_committer_stop(struct rdb_committer *c)
{
    if (c == NULL)
        return;
    base_mailbox_push(&c->mailbox, &c->stop_msg);
    INVARIANT(pthread_join(c->thread, NULL) == 0);
    sto_rdb_batch_fini(&c->batch);
    base_mailbox_fini(&c->mailbox);
    base_free(c);
}

/* --- from other threads ----------------------------------------------------------------------- */

static enum err admit(struct rdb_committer *c, struct sto_mutate_op *op, uint64_t bytes)
{
    enum err rc = sto_rdb_usable(c->engine, &op->detail);
    if (rc == ERR_OK)
        rc = sto_rdb_gate_check(op->scope.tenant.account, true, &op->detail);
    if (rc != ERR_OK)
        return rc;
    uint64_t ops = atomic_fetch_add_explicit(&c->queued_ops, 1, memory_order_relaxed);
    uint64_t queued = atomic_fetch_add_explicit(&c->queued_bytes, bytes, memory_order_relaxed);
    if (ops < LIM_COMMIT_QUEUE_OPS && queued < LIM_COMMIT_QUEUE_BYTES)
        return ERR_OK;
    atomic_fetch_sub_explicit(&c->queued_ops, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&c->queued_bytes, bytes, memory_order_relaxed);
    return base_fail(&op->detail, ERR_OVERLOADED, "the commit queue is full; retry");
}

void sto_rdb_committer_submit(struct rdb_committer *c, struct sto_mutate_op *op)
{
    op->detail.text[0] = '\0';
    op->result = admit(c, op, op_bytes(op));
    if (op->result != ERR_OK) {
        answer(op);
        return;
    }
    op->msg.run = run_mutate;
    base_mailbox_push(&c->mailbox, &op->msg);
}

void sto_rdb_committer_post(struct rdb_committer *c, struct base_msg *msg)
{
    base_mailbox_push(&c->mailbox, msg);
}

struct call {
    struct base_msg msg;
    struct rdb_committer *committer;
    void (*fn)(struct rdb_committer *c, void *ctx);
    void *ctx;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool finished;
};

static void run_call(struct base_msg *msg)
{
    struct call *call = (struct call *)((char *)msg - offsetof(struct call, msg));
    call->fn(call->committer, call->ctx);
    pthread_mutex_lock(&call->lock);
    call->finished = true;
    pthread_cond_signal(&call->changed);
    pthread_mutex_unlock(&call->lock);
}

void sto_rdb_committer_call(struct rdb_committer *c, void (*fn)(struct rdb_committer *c, void *ctx),
                            void *ctx)
{
    struct call call = {.msg.run = run_call,
                        .committer = c,
                        .fn = fn,
                        .ctx = ctx,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER};
    base_mailbox_push(&c->mailbox, &call.msg);
    pthread_mutex_lock(&call.lock);
    while (!call.finished)
        pthread_cond_wait(&call.changed, &call.lock);
    pthread_mutex_unlock(&call.lock);
    pthread_cond_destroy(&call.changed);
    pthread_mutex_destroy(&call.lock);
}

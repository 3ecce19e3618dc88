/*
 * storage/rocksdb/committer.c - group commit.
 *
 * What comes into the mailbox goes into the fair queue, and from there, one by one, into the batch.
 *
 * 1. Messages are recognised by their run pointers: run_mutate is an operation, run_arrive a task
 *    that is to be queued, run_marker a task's place behind what was there; any other message ends
 *    the batch under way and runs alone, from the mailbox at once, from the queue in its turn.
 * 2. An operation leaves the queue's count when its batch begins to hold it.
 * 3. What arrives while a batch is written is the next batch: the slower the disk, the larger the
 *    batches. While one is built the mailbox is looked into now and then, so that whoever comes
 *    need not wait for all of it.
 * 4. ops[] keeps the order in which operations take effect; answers go out in it, after the write.
 */
#include "storage/rocksdb/committer.h"

#include <stddef.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/worker.h"
#include "storage/rocksdb/admit.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define NS_PER_US 1000ULL

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

static void count_in(struct rdb_buckets *b, uint64_t value)
{
    size_t i = value <= 1 ? 0 : 64 - (size_t)__builtin_clzll(value - 1); /* 2^i is not below it */
    if (i >= STO_BUCKETS)
        i = STO_BUCKETS - 1;
    sto_rdb_count_own(&b->count[i], 1);
    sto_rdb_count_own(&b->sum, value);
}

/* An eighth of the way to the newest. */
static uint64_t lately(uint64_t before, uint64_t newest)
{
    return before == 0 ? newest : before - before / 8 + newest / 8;
}

static void measure(struct rdb_committer *c, uint64_t written_ns, uint64_t now_ns)
{
    uint64_t per_op = (now_ns - c->batch_began_ns) / c->op_count;
    uint64_t before = atomic_load_explicit(&c->ns_per_op, memory_order_relaxed);
    c->sync_ns = lately(c->sync_ns, now_ns - written_ns);
    atomic_store_explicit(&c->ns_per_op, lately(before, per_op), memory_order_relaxed);
    count_in(&c->batch_ops, c->op_count);
    count_in(&c->sync_us, (now_ns - written_ns) / NS_PER_US);
}

static void commit(struct rdb_committer *c)
{
    if (c->op_count == 0)
        return;
    uint64_t written_ns = base_monotonic_ns();
    enum err rc = sto_rdb_batch_write(&c->batch);
    measure(c, written_ns, base_monotonic_ns());
    for (size_t i = 0; i < c->op_count; i++) {
        if (rc != ERR_OK && c->ops[i]->result == ERR_OK)
            refuse_unwritten(c->ops[i], rc);
    }
    batch_closes(c);
    answer_all(c->ops, c->op_count);
    c->op_count = 0;
    c->op_bytes = 0;
    c->looked_ns = 0;
}

/* Whether the batch has enough; of several tenants, what takes as long to build as to write. */
static bool is_enough(const struct rdb_committer *c, uint64_t now_ns)
{
    if (c->op_count == LIM_BATCH_OPS || c->op_bytes >= LIM_BATCH_BYTES ||
        sto_rdb_batch_bytes(&c->batch) >= LIM_BATCH_MADE_BYTES)
        return true;
    uint64_t enough_ns = c->sync_ns;
    if (enough_ns < LIM_BATCH_SHARED_US * NS_PER_US)
        enough_ns = LIM_BATCH_SHARED_US * NS_PER_US;
    if (enough_ns > LIM_BATCH_SHARED_MAX_US * NS_PER_US)
        enough_ns = LIM_BATCH_SHARED_MAX_US * NS_PER_US;
    return c->batch_is_shared && now_ns - c->batch_began_ns >= enough_ns;
}

static void batch_begin(struct rdb_committer *c, const struct sto_account *account, uint64_t now_ns)
{
    batch_opens(c);
    c->batch_began_ns = now_ns;
    c->batch_account = account;
    c->batch_is_shared = false;
}

static void take_op(struct rdb_committer *c, struct sto_mutate_op *op, uint64_t now_ns)
{
    struct sto_account *account = op->scope.tenant.account;
    uint64_t bytes = sto_rdb_admit_leave(c, op, now_ns);
    if (c->op_count == 0)
        batch_begin(c, account, now_ns);
    c->batch_is_shared = c->batch_is_shared || account != c->batch_account;
    c->ops[c->op_count++] = op;
    c->op_bytes += bytes;
    enum err rc = sto_rdb_sound(c->engine, &op->detail); /* closing finishes what is queued */
    if (rc == ERR_OK)
        rc = sto_rdb_apply(&c->batch, op, sto_rdb_committer_us(c));
    op->result = rc;
    if (is_enough(c, now_ns))
        commit(c);
}

/* --- what comes, and whose turn it is --------------------------------------------------------- */

/* Marks mutations in mailbox and queue; never called, the committer looks at the pointer. */
static void run_mutate(struct base_msg *msg)
{
    (void)msg;
    INVARIANT(false);
}

static void put_task(struct rdb_committer *c, struct rdb_task *task, uint64_t now_ns);

static void run_task(struct base_msg *msg)
{
    struct rdb_task *task = (struct rdb_task *)((char *)msg - offsetof(struct rdb_task, msg));
    task->run(task->committer, task);
}

static void run_marker(struct base_msg *msg)
{
    struct rdb_task *task =
        ((struct rdb_task_marker *)((char *)msg - offsetof(struct rdb_task_marker, msg)))->task;
    if (--task->markers_left == 0)
        put_task(task->committer, task, base_monotonic_ns());
}

static void put_task(struct rdb_committer *c, struct rdb_task *task, uint64_t now_ns)
{
    task->msg.run = run_task;
    sto_fair_put(&c->queue, &task->account->writes, task->priority, &task->msg, now_ns);
}

/* A task is queued now, or when a marker behind everything its tenant has there comes up. */
static void run_arrive(struct base_msg *msg)
{
    struct rdb_task *task = (struct rdb_task *)((char *)msg - offsetof(struct rdb_task, msg));
    struct sto_fair_line *line = &task->account->writes;
    uint64_t now_ns = task->committer->looked_ns; /* what comes next asks the queue with this */
    if (task->markers_left == 0 || line->waiting == 0) {
        put_task(task->committer, task, now_ns);
        return;
    }
    for (enum sto_priority p = 0; p < STO_PRIORITY_BACKGROUND; p++) {
        task->markers[p] = (struct rdb_task_marker){.msg.run = run_marker, .task = task};
        sto_fair_put(&task->committer->queue, line, p, &task->markers[p].msg, now_ns);
    }
}

static void run_alone(struct rdb_committer *c, struct base_msg *msg)
{
    commit(c);
    batch_opens(c); /* a drop's slice is one */
    msg->run(msg);
    batch_closes(c);
}

/* From the mailbox into the queue; false when nothing came. */
static bool look(struct rdb_committer *c, uint64_t now_ns)
{
    c->looked_ns = now_ns;
    struct base_msg *msg = base_mailbox_take(&c->mailbox);
    bool came = msg != NULL;
    while (msg != NULL) {
        struct base_msg *next = msg->next;
        if (msg->run == run_mutate) {
            struct sto_mutate_op *op = op_of(msg);
            sto_fair_put(&c->queue, &op->scope.tenant.account->writes, op->priority, msg, now_ns);
        } else if (msg->run == run_arrive) {
            msg->run(msg);
        } else {
            run_alone(c, msg);
        }
        msg = next;
    }
    return came;
}

static void run_all(struct rdb_committer *c)
{
    for (;;) {
        struct sto_fair_line *line = NULL;
        uint64_t now_ns = base_monotonic_ns();
        if (now_ns - c->looked_ns >= LIM_BATCH_LOOK_US * NS_PER_US)
            (void)look(c, now_ns); /* the queue says what there is */
        struct base_msg *msg = sto_fair_take(&c->queue, now_ns, &line);
        if (msg == NULL)
            break;
        if (msg->run == run_mutate)
            take_op(c, op_of(msg), now_ns);
        else if (msg->run == run_marker)
            msg->run(msg);
        else
            run_alone(c, msg);
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
    base_thread_ahead_of_others();
    sto_rdb_uncounted();
    while (!c->stopping) {
        base_mailbox_wait(&c->mailbox, -1);
        c->looked_ns = 0;
        run_all(c);
    }
    /* What was sent to itself meanwhile; drops see that the engine is closing and end. */
    while (look(c, base_monotonic_ns()))
        run_all(c);
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
    sto_fair_queue_init(&c->queue);
    char name[24]; /* base_thread_start checks that it is short */
    (void)snprintf(name, sizeof(name), "commit-%d", index);
    if (base_thread_start(&c->thread, name, thread_main, c) != ERR_OK) {
        sto_rdb_batch_fini(&c->batch);
        sto_fair_queue_fini(&c->queue);
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
    sto_fair_queue_fini(&c->queue);
    base_mailbox_fini(&c->mailbox);
    base_free(c);
}

/* --- from other threads ----------------------------------------------------------------------- */

void sto_rdb_committer_submit(struct rdb_committer *c, struct sto_mutate_op *op)
{
    op->detail.text[0] = '\0';
    op->result = sto_rdb_admit(c, op);
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

void sto_rdb_committer_task(struct rdb_committer *c, struct rdb_task *task, bool behind)
{
    task->committer = c;
    task->markers_left = behind ? STO_PRIORITY_BACKGROUND : 0;
    task->msg.run = run_arrive;
    base_mailbox_push(&c->mailbox, &task->msg);
}

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

void sto_rdb_committer_call(struct rdb_committer *c, struct sto_account *account,
                            enum sto_priority priority,
                            void (*fn)(struct rdb_committer *c, void *ctx), void *ctx)
{
    struct call call = {.task = {.account = account, .priority = priority, .run = run_call},
                        .fn = fn,
                        .ctx = ctx,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER};
    sto_rdb_committer_task(c, &call.task, true);
    pthread_mutex_lock(&call.lock);
    while (!call.finished)
        pthread_cond_wait(&call.changed, &call.lock);
    pthread_mutex_unlock(&call.lock);
    pthread_cond_destroy(&call.changed);
    pthread_mutex_destroy(&call.lock);
}

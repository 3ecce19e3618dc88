/*
 * storage/rocksdb/committer.c - group commit.
 *
 * Messages move from the mailbox into the fair queue, and from there, one by one, into the batch.
 *
 * 1. Messages are recognized by their run pointers: run_mutate is an operation, run_arrive a task
 *    to be queued, run_marker a task's place after earlier messages; any other message ends the
 *    batch in progress and runs alone, from the mailbox at once, from the queue when it is served.
 * 2. Messages that arrive while a batch is written form the next batch. A committer that builds one
 *    yields and checks the mailbox periodically: no message, to any thread, waits for all of it.
 * 3. If an operation would wait for the disk, a reader first loads its blocks while it waits, and
 *    counts, in held.c: run_prefetching marks it there, run_prefetched a returned read.
 * 4. An expensive operation (apply.h) is computed on a reader (plan.h) and returns as a batch of
 *    its own; later operations of its tenant in the same priority wait in the fair queue.
 * 5. ops[] keeps the order in which operations take effect; they return in it, after the write.
 */
#include "storage/rocksdb/committer.h"

#include <stddef.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/share.h"
#include "base/watchdog.h"
#include "base/worker.h"
#include "storage/rocksdb/admit.h"
#include "storage/rocksdb/answers.h"
#include "storage/rocksdb/held.h"
#include "storage/rocksdb/plan.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define NS_PER_US 1000ULL

static struct sto_mutate_op *op_of(struct base_msg *msg)
{
    return (struct sto_mutate_op *)((char *)msg - offsetof(struct sto_mutate_op, msg));
}

/* --- one batch ------------------------------------------------------------------------------ */

int64_t sto_rdb_committer_us(struct rdb_committer *c)
{
    int64_t now = base_wall_us() / 1000 * 1000;
    if (now > c->last_us)
        c->last_us = now;
    return c->last_us;
}

/* Published before the clock is read: a reader that sees no batch knows the next one is later. */
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
    const char *why = rc == ERR_OUTCOME_UNKNOWN
                          ? "the write failed while it was made durable; it may or may not be there"
                          : "the storage engine has stopped after a failure";
    op->result = base_fail(&op->detail, rc, "%s", why);
}

static void count_in(struct rdb_buckets *b, uint64_t value)
{
    size_t i = value <= 1 ? 0 : 64 - (size_t)__builtin_clzll(value - 1); /* 2^i >= value */
    if (i >= STO_BUCKETS)
        i = STO_BUCKETS - 1;
    sto_rdb_count_own(&b->count[i], 1);
    sto_rdb_count_own(&b->sum, value);
}

/* Exponentially weighted moving average, alpha = 1/8. */
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

static void held_count(struct rdb_committer *c, uint64_t ns)
{
    if (ns > atomic_load_explicit(&c->held_ns_max, memory_order_relaxed))
        atomic_store_explicit(&c->held_ns_max, ns, memory_order_relaxed);
}

/* Charges a tenant for a slow operation. Call before the operation returns. */
static void held_charge(struct rdb_committer *c, struct sto_account *account, uint64_t began_ns,
                        uint64_t now_ns)
{
    if (now_ns <= began_ns)
        return;
    held_count(c, now_ns - began_ns);
    sto_fair_charge(&c->queue, &account->writes, (now_ns - began_ns) / RDB_NS_PER_OP, now_ns);
}

static void commit(struct rdb_committer *c)
{
    if (c->op_count == 0)
        return;
    uint64_t written_ns = base_monotonic_ns();
    enum err rc = sto_rdb_batch_write(&c->batch);
    uint64_t now_ns = base_monotonic_ns();
    if (c->planned != NULL) {
        held_charge(c, c->planned, c->batch_began_ns + c->sync_ns,
                    now_ns); /* without the usual fsync */
        c->planned = NULL;
    }
    measure(c, written_ns, now_ns);
    for (size_t i = 0; i < c->op_count; i++)
        if (rc != ERR_OK && c->ops[i]->result == ERR_OK)
            refuse_unwritten(c->ops[i], rc);
    batch_closes(c);
    sto_rdb_answer_all(c->ops, c->op_count);
    c->op_count = 0;
    c->op_bytes = 0;
    c->looked_ns = 0;
    sto_rdb_prefetch_pauses(&c->prefetch_watch); /* writing sleeps */
}

/* Returns whether the batch is full or, with several tenants, took as long to build as to write. */
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

/* --- operations ------------------------------------------------------------------------------- */

/* Marks a plan that has returned; never called. */
static void run_planned(struct base_msg *msg)
{
    (void)msg;
    INVARIANT(false);
}

/* Hands an operation that is in no batch to a reader; false: it stays here. */
static bool plan_begins(struct rdb_committer *c, struct sto_mutate_op *op, unsigned tries)
{
    struct sto_key_bounds row;
    sto_key_bounds_of_row(&op->scope, op->row_key, &row);
    if (c->op_count == 0) {
        sto_rdb_batch_clear(&c->batch); /* the batch only read */
        batch_closes(c);
    } else if (sto_rdb_overlay_has(&c->batch.overlay, base_slice(row.lower, row.lower_len))) {
        commit(c);
    }
    return sto_rdb_plan_start(c, op, tries, run_planned);
}

static void batch_add(struct rdb_committer *c, struct sto_mutate_op *op, uint64_t now_ns)
{
    const struct sto_account *account = op->scope.tenant.account;
    if (c->op_count == 0)
        batch_begin(c, account, now_ns);
    c->batch_is_shared = c->batch_is_shared || account != c->batch_account;
    c->ops[c->op_count++] = op;
}

/* Applies the operation. tries: previous plans of it that were stale. */
static void op_apply(struct rdb_committer *c, struct sto_mutate_op *op, unsigned tries,
                     uint64_t now_ns)
{
    struct rdb_effort effort = {
        .steps_max = atomic_load_explicit(&c->engine->apply_steps, memory_order_relaxed)};
    batch_add(c, op, now_ns);
    enum err rc = sto_rdb_sound(c->engine, &op->detail); /* closing finishes the queue */
    if (rc == ERR_OK)
        rc = sto_rdb_apply(&c->batch, op, sto_rdb_committer_us(c), &effort);
    if (effort.is_dear || effort.steps > RDB_STEPS_PER_OP)
        held_charge(c, op->scope.tenant.account, now_ns, base_monotonic_ns());
    if (effort.is_dear && (rc = sto_rdb_admit_dear(c, op, now_ns)) == ERR_OK) {
        c->op_count--;
        if (plan_begins(c, op, tries))
            return;
        batch_add(c, op, now_ns);
        effort.steps_max = UINT64_MAX;
        rc = sto_rdb_apply(&c->batch, op, sto_rdb_committer_us(c), &effort);
    }
    op->result = rc;
}

static void take_op(struct rdb_committer *c, struct sto_mutate_op *op, uint64_t now_ns)
{
    uint64_t bytes = sto_rdb_admit_leave(c, op, now_ns);
    op_apply(c, op, 0, now_ns);
    if (c->op_count == 0)
        return;
    c->op_bytes += bytes;
    if (is_enough(c, now_ns))
        commit(c);
}

static void plan_returns(struct rdb_committer *c, struct base_msg *msg)
{
    struct rdb_plan *p = (struct rdb_plan *)msg;
    struct sto_mutate_op *op = p->op;
    unsigned tries = p->tries + 1;
    commit(c);
    uint64_t now_ns = base_monotonic_ns(), cpu_ns = base_thread_cpu_ns();
    bool is_stale = sto_rdb_plan_finish(p, now_ns);
    batch_add(c, op, now_ns);
    enum err rc = sto_rdb_sound(c->engine, &op->detail);
    if (rc == ERR_OK && !is_stale)
        rc = sto_rdb_plan_put(p, &is_stale);
    if (rc == ERR_OK && is_stale) {
        c->op_count = 0;
        sto_rdb_plan_free(p);
        op_apply(c, op, tries, now_ns);
        return;
    }
    op->result = rc;
    struct sto_account *account = op->scope.tenant.account;
    c->planned = account;
    commit(c); /* returns op, which is no longer ours */
    sto_rdb_admit_held(c, account, base_thread_cpu_ns() - cpu_ns, now_ns);
    sto_rdb_plan_free(p);
}

/* --- arriving messages, and the next one to run --------------------------------------------- */

/* Marks mutations in mailbox and queue; never called, the committer checks the pointer. */
static void run_mutate(struct base_msg *msg)
{
    (void)msg;
    INVARIANT(false);
}

/* Marks an operation in held.c whose blocks are being read; never called. */
static void run_prefetching(struct base_msg *msg)
{
    (void)msg;
    INVARIANT(false);
}

/* Marks a read that has returned; never called. */
static void run_prefetched(struct base_msg *msg)
{
    (void)msg;
    INVARIANT(false);
}

/* Adds msg to the fair queue, but not before earlier messages of the tenant that wait. */
static void enqueue(struct rdb_committer *c, struct sto_account *account,
                    enum sto_priority priority, struct base_msg *msg, uint64_t now_ns)
{
    if (!sto_rdb_held_append(account, priority, msg))
        sto_fair_put(&c->queue, &account->writes, priority, msg, now_ns);
}

static void op_arrives(struct rdb_committer *c, struct sto_mutate_op *op, uint64_t now_ns)
{
    struct sto_account *account = op->scope.tenant.account;
    if (sto_rdb_prefetch_is_wanted(c, op) && sto_rdb_held_open(account)) {
        if (sto_rdb_prefetch_start(c, op, run_prefetched)) {
            op->msg.run = run_prefetching;
            sto_rdb_held_wait(account, op->priority, &op->msg);
            return;
        }
        sto_rdb_held_close(account);
    }
    enqueue(c, account, op->priority, &op->msg, now_ns);
}

static void held_release(void *ctx, struct sto_account *account, enum sto_priority priority,
                         struct base_msg *msg)
{
    struct rdb_committer *c = ctx;
    sto_fair_put(&c->queue, &account->writes, priority, msg, c->looked_ns);
}

static void prefetch_returns(struct rdb_committer *c, struct base_msg *msg)
{
    struct rdb_prefetch *p = (struct rdb_prefetch *)msg;
    p->op->msg.run = run_mutate;
    sto_rdb_held_advance(p->op->scope.tenant.account, p->op->priority, run_prefetching,
                         held_release, c);
    sto_rdb_prefetch_finish(p);
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

/* Queues a task now, or when a marker after all earlier messages of its tenant is served. */
static void run_arrive(struct base_msg *msg)
{
    struct rdb_task *task = (struct rdb_task *)((char *)msg - offsetof(struct rdb_task, msg));
    struct sto_fair_line *line = &task->account->writes;
    uint64_t now_ns = task->committer->looked_ns; /* the queue's time of this round */
    if (task->markers_left == 0 || (sto_fair_is_idle(line) && !task->account->writes_held)) {
        put_task(task->committer, task, now_ns);
        return;
    }
    for (enum sto_priority p = 0; p < STO_PRIORITY_BACKGROUND; p++) {
        task->markers[p] = (struct rdb_task_marker){.msg.run = run_marker, .task = task};
        enqueue(task->committer, task->account, p, &task->markers[p].msg, now_ns);
    }
}

static void run_alone(struct rdb_committer *c, struct base_msg *msg)
{
    commit(c);
    batch_opens(c); /* a drop's slice is a batch */
    msg->run(msg);
    batch_closes(c);
}

/* Moves messages from the mailbox into the queue; false: there were none. */
static bool look(struct rdb_committer *c)
{
    if (c->op_count > 0)
        base_yield();
    uint64_t now_ns = c->looked_ns = base_monotonic_ns();
    struct base_msg *msg = base_mailbox_take(&c->mailbox);
    bool came = msg != NULL;
    for (struct base_msg *next; msg != NULL; msg = next) {
        next = msg->next;
        if (msg->run == run_mutate) {
            op_arrives(c, op_of(msg), now_ns);
        } else if (msg->run == run_prefetched) {
            prefetch_returns(c, msg);
        } else if (msg->run == run_planned) {
            plan_returns(c, msg);
        } else if (msg->run == run_arrive) {
            msg->run(msg);
        } else {
            run_alone(c, msg);
        }
    }
    sto_rdb_prefetch_pauses(&c->prefetch_watch); /* checking may sleep */
    return came;
}

static void run_all(struct rdb_committer *c)
{
    for (;;) {
        struct sto_fair_line *line = NULL;
        uint64_t now_ns = base_monotonic_ns();
        if (c->prefetch_watch.applied_ns != 0)
            held_count(c, now_ns - c->prefetch_watch.applied_ns);
        sto_rdb_prefetch_applied(&c->prefetch_watch, now_ns);
        bool looks = now_ns - c->looked_ns >= LIM_BATCH_LOOK_US * NS_PER_US;
        if (looks) {
            (void)look(c); /* the result is in the queue */
            now_ns = base_monotonic_ns();
        }
        struct base_msg *msg = sto_fair_take(&c->queue, now_ns, &line);
        if (msg == NULL)
            break;
        base_watchdog_round("write");
        if (msg->run == run_mutate) {
            if (!looks) /* else the time of that check would be measured */
                sto_rdb_prefetch_applies(&c->prefetch_watch, now_ns);
            take_op(c, op_of(msg), now_ns);
        } else if (msg->run == run_marker) {
            msg->run(msg);
        } else {
            run_alone(c, msg);
        }
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
    base_class_join(BASE_COMMIT);
    base_watchdog_join("committer");
    base_alloc_keep_freed(); /* RocksDB's memtables are allocated here */
    sto_rdb_uncounted();
    for (; !c->stopping; run_all(c)) {
        base_mailbox_wait(&c->mailbox, -1);
        c->looked_ns = 0;
    }
    /* Runs messages sent to itself; drops see that the engine is closing and end. */
    while (look(c))
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
    sto_rdb_batch_init(&c->batch, e, &e->long_rows[index]);
    sto_fair_queue_init(&c->queue);
    char name[24]; /* short enough: base_thread_start checks it */
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
        sto_rdb_answer(op);
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

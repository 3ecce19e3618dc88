/*
 * storage/rocksdb/plan.c - sends an operation to a reader and back, and checks that its row did not
 * change.
 *
 *   committer   apply.c finds that the operation is expensive: holds, a watch of the row
 *   reader      apply.c again, in a batch of its own, up to RocksDB's batch
 *   committer   no write to the row: header, counters, token and change beside it, one write
 *               a write to the row: everything again
 *
 * 1. Only the tenant's committer writes the row, and the watch sees every batch of it: a row that
 *    was not written is the row that the reader saw, at any time.
 * 2. Other writers of the row are earlier operations of the tenant in another priority, and the
 *    engine's own work for it. After LIM_PLAN_TRIES all of that is held back too.
 * 3. The committer's cache of sizes does not know the plan's writes: it evicts the row.
 */
#include "storage/rocksdb/plan.h"

#include "base/alloc.h"
#include "base/watchdog.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/reclaim_note.h"
#include "storage/rocksdb/shuttle.h"

#include "base/banned.h"

static bool is_held(const struct rdb_plan *p, enum sto_priority priority)
{
    return priority == p->op->priority || p->tries >= LIM_PLAN_TRIES;
}

/* --- to the reader --------------------------------------------------------------------------- */

/* Computes the operation and sends it back. */
static void work_out(struct rdb_plan *p)
{
    struct rdb_engine *e = p->committer->engine;
    struct sto_account *account = p->op->scope.tenant.account;
    base_watchdog_round("write on a reader");
    sto_rdb_test_point(e, STO_DIE_PLANNING);
    atomic_fetch_add(&account->reads_open, 1); /* before the gate is checked: see slice.c */
    p->result = sto_rdb_apply_apart(&p->row, &p->batch, p->op, p->server_us);
    atomic_fetch_sub(&account->reads_open, 1);
    sto_rdb_pool_charge(&e->pool, account, RDB_SCANS, p->row.steps / RDB_STEPS_PER_OP);
    sto_rdb_test_point(e, STO_DIE_PLANNED);
    if (p->row.is_aside)
        sto_rdb_pool_step_back(&e->pool);
    p->msg.run = p->returned;
    base_mailbox_push(&p->committer->mailbox, &p->msg);
}

/* Runs the plan, and the plans that waited for it to end. */
static void run_on_reader(struct base_msg *msg)
{
    struct rdb_pool *pool = &((struct rdb_plan *)msg)->committer->engine->pool;
    if (!sto_rdb_pool_long_start(pool, msg))
        return;
    for (; msg != NULL; msg = sto_rdb_pool_long_end(pool))
        work_out((struct rdb_plan *)msg);
}

bool sto_rdb_plan_start(struct rdb_committer *c, struct sto_mutate_op *op, unsigned tries,
                        void (*returned)(struct base_msg *msg))
{
    struct rdb_engine *e = c->engine;
    struct sto_account *account = op->scope.tenant.account;
    sto_rdb_shuttle_enter(e); /* before checking whether the engine is closing */
    struct rdb_plan *p = atomic_load(&e->closing) ? NULL : base_try_alloc(sizeof(*p));
    if (p == NULL) {
        sto_rdb_shuttle_leave(e);
        return false;
    }
    p->msg.run = run_on_reader; /* large: not zeroed */
    p->returned = returned;
    p->committer = c;
    p->op = op;
    p->tries = tries;
    p->server_us = sto_rdb_committer_us(c);
    p->is_locked = false;
    sto_key_bounds_of_row(&op->scope, op->row_key, &p->bounds);
    p->span = (struct sto_span){base_slice(p->bounds.lower, p->bounds.lower_len),
                                base_slice(p->bounds.upper, p->bounds.upper_len)};
    sto_rdb_batch_init(&p->batch, e, &e->long_rows[0]);
    p->batch.is_apart = true;
    sto_rdb_batch_charge(&p->batch, account->memory);
    for (enum sto_priority i = 0; i < STO_PRIORITY_COUNT; i++)
        if (is_held(p, i))
            sto_fair_hold(&c->queue, &account->writes, i);
    sto_rdb_watch_begin(&c->batch.watches, &p->watch, p->span);
    atomic_fetch_add_explicit(&e->plans, 1, memory_order_relaxed);
    const struct rdb_pool_job job = {
        .account = account, .queue = RDB_SCANS, .priority = op->priority, .must = true};
    bool taken = sto_rdb_pool_push(&e->pool, &job, &p->msg, NULL);
    INVARIANT(taken); /* `must` messages are accepted */
    return true;
}

/* --- and back -------------------------------------------------------------------------------- */

bool sto_rdb_plan_finish(struct rdb_plan *p, uint64_t now_ns)
{
    struct rdb_committer *c = p->committer;
    sto_rdb_watch_end(&c->batch.watches, &p->watch);
    for (enum sto_priority i = 0; i < STO_PRIORITY_COUNT; i++)
        if (is_held(p, i))
            sto_fair_release(&c->queue, &p->op->scope.tenant.account->writes, i, now_ns);
    return sto_rdb_watch_saw(&p->watch, p->span.end);
}

/* Adds the reclaim record of ranges, and announces them to readers. */
static enum err ranges_put(struct rdb_plan *p, struct rdb_batch *b)
{
    struct rdb_engine *e = b->engine;
    struct sto_mutate_op *op = p->op;
    pthread_mutex_lock(&e->docs_lock);
    p->is_locked = true; /* until the batch is written */
    enum err rc = sto_rdb_note_write(e, b->writes, &op->scope, &p->bounds, RDB_NOTE_NOW);
    if (rc != ERR_OK)
        return base_fail(&op->detail, rc, "the space of the deleted cells cannot be noted");
    sto_rdb_range_written(e, RDB_CF_CELLS, op->scope.tenant.account);
    return ERR_OK;
}

enum err sto_rdb_plan_put(struct rdb_plan *p, bool *out_stale)
{
    struct rdb_batch *b = &p->committer->batch;
    *out_stale = false;
    enum err rc = p->result;
    if (rc == ERR_OK)
        rc = sto_rdb_apply_planned(b, &p->row, p->op, out_stale);
    if (rc == ERR_OK && !*out_stale && p->batch.range_count > 0)
        rc = ranges_put(p, b);
    if (rc != ERR_OK || *out_stale) {
        sto_rdb_batch_clear(b);
        return rc;
    }
    sto_rdb_recent_forget_all(&b->recent, p->span.begin);
    sto_rdb_watches_see_span(b->watches, p->span);
    b->range = &p->span;
    return ERR_OK;
}

void sto_rdb_plan_free(struct rdb_plan *p)
{
    struct rdb_engine *e = p->committer->engine;
    if (p->is_locked) {
        pthread_mutex_unlock(&e->docs_lock);
        sto_rdb_reclaim_wake(&e->reclaim);
    }
    sto_rdb_row_fini(&p->row);
    sto_rdb_batch_fini(&p->batch);
    base_free(p);
    sto_rdb_shuttle_leave(e);
}

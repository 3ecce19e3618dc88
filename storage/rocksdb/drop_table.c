/*
 * storage/rocksdb/drop_table.c - committer, readers, committer.
 *
 *   begin   on the committer, after all writes of the tenant: later ones see that the table is
 *           removed and are refused, so the rows do not change
 *   count   on readers, at background priority (counted_range.c)
 *   write   on the committer, if the sum equals the table's counters
 *
 * 1. Nothing is written before everything was counted. An interrupted removal counts again.
 * 2. Rows that cannot be counted, because a block of them is damaged or lost, are removed with the
 *    others: the tenant's usage is reduced by the table's counters.
 * 3. Nothing is recorded in the change stream: that of a removed table has no readers any more. Its
 *    changes are removed last (change_drop.c).
 */
#include "storage/rocksdb/drop_table.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/alloc.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/change_drop.h"
#include "storage/rocksdb/counted_range.h"
#include "storage/rocksdb/drop.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/shuttle.h"

#include "base/banned.h"

struct table_drop {
    struct rdb_task task; /* first; sent to the committer */
    struct sto_drop_op *op;
    struct rdb_engine *engine;
    struct rdb_counted_range rows;
};

static void answer(struct sto_drop_op *op, enum err rc)
{
    struct table_drop *d = op->engine_state;
    struct rdb_engine *e = d->engine;
    base_free(d);
    if (rc == ERR_OK)
        sto_rdb_change_drop(e, op);
    else
        sto_rdb_drop_answer(op, rc);
    sto_rdb_shuttle_leave(e);
}

static enum err counters_check(const struct table_drop *d, struct errbuf *eb)
{
    struct sto_usage recorded = sto_counters_read(&d->op->scope.schema->table->counters);
    const struct sto_usage *counted = &d->rows.sum.usage;
    if (recorded.bytes == counted->bytes && recorded.rows == counted->rows &&
        recorded.cells == counted->cells)
        return ERR_OK;
    return base_fail(eb, ERR_CORRUPT,
                     "the table counts %" PRIu64 " rows, %" PRIu64 " cells and %" PRIu64
                     " bytes, but %" PRIu64 ", %" PRIu64 " and %" PRIu64 " are there",
                     recorded.rows, recorded.cells, recorded.bytes, counted->rows, counted->cells,
                     counted->bytes);
}

/* A removed table is deleted completely: a damaged one counts as its counters say. */
static void count_as_recorded(struct table_drop *d)
{
    struct rdb_counted_range *n = &d->rows;
    n->sum.usage = sto_counters_read(&d->op->scope.schema->table->counters);
    memcpy(n->end, n->upper, n->upper_len);
    n->end_len = n->upper_len;
    n->result = ERR_OK;
    d->op->detail.text[0] = '\0';
}

static void run_write(struct rdb_committer *c, struct rdb_task *task)
{
    struct table_drop *d = (struct table_drop *)task;
    struct sto_drop_op *op = d->op;
    if (d->rows.result == ERR_CORRUPT && d->rows.is_unreadable)
        count_as_recorded(d);
    enum err rc = d->rows.result;
    if (rc == ERR_OK)
        rc = sto_rdb_usable(d->engine, &op->detail);
    if (rc == ERR_OK)
        rc = counters_check(d, &op->detail);
    if (rc == ERR_OK && d->rows.sum.usage.cells > 0)
        rc = sto_rdb_counted_write(c, &d->rows, NULL);
    if (rc == ERR_OK)
        sto_rdb_reclaim_wake(&d->engine->reclaim);
    answer(op, rc);
}

static void run_begin(struct rdb_committer *c, struct rdb_task *task)
{
    struct table_drop *d = (struct table_drop *)task;
    (void)c; /* its thread matters: earlier operations are written */
    enum err rc = sto_rdb_deadline_check(d->op->deadline_ns, &d->op->detail);
    if (rc != ERR_OK) {
        answer(d->op, rc);
        return;
    }
    struct sto_range range = sto_range_of_table(&d->op->scope);
    task->run = run_write;
    sto_rdb_counted_begin(&d->rows, sto_range_begin(&range), sto_range_end(&range));
}

void sto_rdb_drop_table(struct rdb_engine *e, struct sto_drop_op *op)
{
    struct table_drop *d = base_new(sizeof(*d));
    sto_rdb_shuttle_enter(e);
    op->engine_state = d;
    d->engine = e;
    d->op = op;
    d->task = (struct rdb_task){
        .account = op->scope.tenant.account, .priority = STO_PRIORITY_BACKGROUND, .run = run_begin};
    d->rows.engine = e;
    d->rows.op = op;
    d->rows.then = &d->task;
    d->rows.cells_max = UINT64_MAX;
    sto_rdb_committer_task(sto_rdb_committer_of(e, op->scope.tenant.account), &d->task, true);
}

/*
 * storage/rocksdb/drop.c - a message that sends itself again until its range is empty.
 *
 *   slice     on the committer: point deletes of some rows, one commit (drop_slice.c)
 *   stretch   rows counted on readers, then deleted as one range (counted_range.c)
 *
 * 1. A drop starts with slices. After drop_range_cells cells it continues with stretches: a small
 *    drop costs a few points, and the size need not be known before.
 * 2. While a stretch is counted others continue to write. A watch, set on the committer before the
 *    first read and checked there by the task that writes, shows whether all readers saw one state.
 *    If they did not, the next drop_range_cells cells are deleted as points, and the next stretch
 *    is half as long, down to drop_range_cells cells; each one that succeeds makes the next twice
 *    as long.
 * 3. A stretch of fewer than drop_range_cells cells is deleted as points too: there is never more
 *    than one range tombstone for that many cells.
 * 4. Only drops of whole rows use stretches, and not those that have to record each row in a change
 *    stream. Each task that writes checks whether there is one.
 * 5. Each commit of a drop of whole rows contains a reclaim record for all of the drop: for later,
 *    after the first stretch for now (reclaim.c). The space of points beside the ranges is
 *    reclaimed with them, when the drop ends.
 */
#include "storage/rocksdb/drop.h"

#include <stddef.h>

#include "base/alloc.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/change_drop.h"
#include "storage/rocksdb/counted_range.h"
#include "storage/rocksdb/drop_count.h"
#include "storage/rocksdb/drop_slice.h"
#include "storage/rocksdb/drop_table.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/shuttle.h"
#include "storage/rocksdb/sweep.h"

#include "base/banned.h"

/* Rows that may be deleted as one range. */
struct stretch {
    struct rdb_counted_range rows;
    struct rdb_watch watch;
};

struct drop {
    struct rdb_task task; /* first */
    struct rdb_drop_slice slice;
    struct sto_key_bounds bounds;
    bool begun;

    uint64_t points_left;    /* cells to delete before a stretch is tried */
    uint64_t stretch_cells;  /* cells of the next stretch */
    bool has_range;          /* a range was written */
    bool has_points;         /* a slice was written */
    struct stretch *stretch; /* NULL: none was tried; else the engine counts it (shuttle.h) */
};

static void run_done(struct base_msg *msg)
{
    struct sto_drop_op *op =
        (struct sto_drop_op *)((char *)msg - offsetof(struct sto_drop_op, msg));
    op->done(op);
}

void sto_rdb_drop_answer(struct sto_drop_op *op, enum err rc)
{
    op->engine_state = NULL;
    op->result = rc;
    op->msg.run = run_done;
    base_mailbox_push(op->reply_to, &op->msg);
}

/* Returns whether rows of a removed table are left although no more were found: an iterator ended
 * early, at a damaged block, while range tombstones may exist (docs/decisions/0038). */
static bool has_rows_left(const struct sto_drop_op *op)
{
    return op->table_ends && atomic_load(&op->scope.schema->table->counters.rows) != 0;
}

static void answer(struct drop *d, enum err rc)
{
    struct rdb_engine *e = d->slice.engine;
    struct sto_drop_op *op = d->slice.op;
    bool is_known = d->stretch != NULL; /* else the engine may be closed after the return */
    if (d->has_range)
        sto_rdb_reclaim_wake(&e->reclaim);
    else if (d->has_points && op->family == 0)
        sto_rdb_reclaim_expect(&e->reclaim);
    sto_rdb_drop_slice_fini(&d->slice);
    base_free(d->stretch);
    base_free(d);
    if (rc == ERR_OK && has_rows_left(op))
        rc = ERR_CORRUPT;
    if (rc == ERR_OK && op->table_ends)
        sto_rdb_change_drop(e, op);
    else if (rc == ERR_CORRUPT && op->table_ends)
        sto_rdb_drop_table(e, op); /* not all rows can be read: deletes them as a range */
    else
        sto_rdb_drop_answer(op, rc);
    if (is_known)
        sto_rdb_shuttle_leave(e);
}

/* --- whether it continues -------------------------------------------------------------------- */

/* Checks the table. A slice that passes this is over before the rows of a removed table are
 * counted, and a sweep's before any write under newer rules. No drop removes rows of a recreated
 * table. */
static enum err table_check(struct sto_drop_op *op)
{
    const struct sto_schema *schema = op->scope.schema;
    if (atomic_load(&schema->table->forgotten))
        return base_fail(&op->detail, ERR_NOT_FOUND, "the table was deleted");
    if (op->expired_only && atomic_load(&schema->table->published) != schema->version)
        return base_fail(&op->detail, ERR_CONFLICT, "the table's schema has changed");
    return ERR_OK;
}

enum err sto_rdb_drop_goes_on(struct rdb_engine *e, struct sto_drop_op *op)
{
    if (op->stop != NULL && atomic_load(op->stop))
        return base_fail(&op->detail, ERR_CANCELLED, "the drop was told to end");
    enum err rc = sto_rdb_usable(e, &op->detail);
    if (rc == ERR_OK && !op->ignore_gate)
        rc = sto_rdb_gate_check(op->scope.tenant.account, true, &op->detail);
    if (rc == ERR_OK && !op->ignore_gate)
        rc = table_check(op);
    return rc;
}

/* --- slices ----------------------------------------------------------------------------------- */

/* Rule 4. */
static bool may_go_as_ranges(const struct sto_drop_op *op)
{
    return op->family == 0 && !op->ignore_gate &&
           atomic_load_explicit(&op->scope.schema->table->changes.since_us, memory_order_acquire) ==
               0;
}

/* Rule 5. */
static enum err slice_write(struct drop *d, struct rdb_batch *batch)
{
    bool is_noted = d->slice.op->family == 0 && d->slice.cells > 0;
    d->has_points = d->has_points || d->slice.cells > 0;
    return sto_rdb_drop_slice_write(&d->slice, batch, is_noted ? &d->bounds : NULL,
                                    d->has_range ? RDB_NOTE_NOW : RDB_NOTE_LATER);
}

static enum err slice_run(struct drop *d, struct rdb_batch *batch)
{
    struct rdb_engine *e = d->slice.engine;
    struct sto_drop_op *op = d->slice.op;
    d->slice.cells_wanted = may_go_as_ranges(op) ? d->points_left : UINT64_MAX;
    d->slice.cells_max = LIM_DROP_SLICE_CELLS;
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(base_slice(d->bounds.lower, d->bounds.lower_len),
                             base_slice(d->bounds.upper, d->bounds.upper_len));
    rocksdb_iterator_t *it = sto_rdb_rows_iterator(e, options, &op->scope.tenant);
    enum err rc =
        sto_rdb_lost_check(e, RDB_CF_CELLS, base_slice(d->bounds.lower, d->bounds.lower_len),
                           base_slice(d->bounds.upper, d->bounds.upper_len));
    if (rc == ERR_OK)
        rc = sto_rdb_drop_slice_collect(&d->slice, batch, it);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    op->steps += d->slice.steps;
    d->points_left -= d->slice.cells < d->points_left ? d->slice.cells : d->points_left;
    if (rc == ERR_OK)
        return slice_write(d, batch);
    sto_rdb_batch_clear(batch);
    return rc;
}

/* --- stretches -------------------------------------------------------------------------------- */

static void run_slice(struct rdb_committer *c, struct rdb_task *task);

/* Returns the cells to delete as points before a stretch is tried again; at least one step. */
static uint64_t points_between(const struct drop *d)
{
    uint64_t cells = d->slice.engine->options.drop_range_cells;
    return cells == 0 ? 1 : cells;
}

static void stretch_failed(struct drop *d)
{
    d->points_left = points_between(d);
    d->stretch_cells /= 2;
    if (d->stretch_cells < d->points_left)
        d->stretch_cells = d->points_left;
}

static enum err stretch_write(struct drop *d, struct rdb_committer *c)
{
    struct rdb_counted_range *n = &d->stretch->rows;
    enum err rc = sto_rdb_counted_write(c, n, &d->bounds);
    if (rc != ERR_OK)
        return rc;
    d->has_range = true;
    d->slice.finished = n->is_all;
    memcpy(d->slice.position, n->end, n->end_len);
    d->slice.position_len = n->end_len;
    if (d->stretch_cells <= d->slice.engine->options.drop_stretch_cells / 2)
        d->stretch_cells *= 2;
    return ERR_OK;
}

/* Returns whether others wrote to the counted rows, as far as the count came: then the sum, or an
 * error found in a row that changed between two slices, is meaningless. */
static bool stretch_is_stale(const struct stretch *s)
{
    const struct rdb_counted_range *n = &s->rows;
    if (n->result == ERR_CORRUPT)
        return sto_rdb_watch_saw(&s->watch, base_slice(n->upper, n->upper_len));
    return n->result == ERR_OK && sto_rdb_watch_saw(&s->watch, base_slice(n->end, n->end_len));
}

static void run_stretch_end(struct rdb_committer *c, struct rdb_task *task)
{
    struct drop *d = (struct drop *)task;
    struct sto_drop_op *op = d->slice.op;
    struct rdb_counted_range *n = &d->stretch->rows;
    sto_rdb_watch_end(&c->batch.watches, &d->stretch->watch);
    bool is_stale = stretch_is_stale(d->stretch);
    enum err rc = n->result;
    if (rc == ERR_OK || is_stale) {
        op->detail.text[0] = '\0';
        rc = sto_rdb_drop_goes_on(d->slice.engine, op);
    }
    if (rc == ERR_OK) {
        uint64_t least = d->slice.engine->options.drop_range_cells;
        if (is_stale)
            stretch_failed(d);
        else if (n->sum.usage.cells == 0)
            d->slice.finished = true;
        else if (n->sum.usage.cells < least || !may_go_as_ranges(op))
            d->points_left = points_between(d);
        else
            rc = stretch_write(d, c);
    }
    if (rc != ERR_OK || d->slice.finished) {
        answer(d, rc);
        return;
    }
    task->run = run_slice;
    sto_rdb_committer_task(c, task, false);
}

/* Starts a stretch. The engine counts the operation before the check whether it is closing: either
 * the check fails, or the close waits. */
static enum err stretch_begin(struct drop *d, struct rdb_committer *c)
{
    struct sto_drop_op *op = d->slice.op;
    if (d->stretch == NULL) {
        d->stretch = base_new(sizeof(*d->stretch));
        sto_rdb_shuttle_enter(d->slice.engine);
    }
    enum err rc = sto_rdb_drop_goes_on(d->slice.engine, op);
    if (rc != ERR_OK)
        return rc;
    struct slice begin = base_slice(d->slice.position, d->slice.position_len);
    struct slice upper = base_slice(d->bounds.upper, d->bounds.upper_len);
    struct sto_range table = sto_range_of_table(&op->scope);
    sto_rdb_watch_begin(&c->batch.watches, &d->stretch->watch,
                        sto_span_of_rows(&table, begin, upper));
    d->task.run = run_stretch_end;
    d->stretch->rows.engine = d->slice.engine;
    d->stretch->rows.op = op;
    d->stretch->rows.then = &d->task;
    d->stretch->rows.cells_max = d->stretch_cells;
    sto_rdb_counted_begin(&d->stretch->rows, begin, upper);
    return ERR_OK;
}

/* --- running ---------------------------------------------------------------------------------- */

static void run_slice(struct rdb_committer *c, struct rdb_task *task)
{
    struct drop *d = (struct drop *)task;
    struct sto_drop_op *op = d->slice.op;
    enum err rc = d->begun ? ERR_OK : sto_rdb_deadline_check(op->deadline_ns, &op->detail);
    d->begun = true;
    if (rc == ERR_OK && d->points_left == 0 && d->slice.at_row_front && may_go_as_ranges(op)) {
        rc = stretch_begin(d, c);
        if (rc != ERR_OK)
            answer(d, rc);
        return;
    }
    if (rc == ERR_OK)
        rc = sto_rdb_drop_goes_on(d->slice.engine, op);
    if (rc == ERR_OK)
        rc = slice_run(d, &c->batch);
    if (task->priority != STO_PRIORITY_BACKGROUND)
        sto_rdb_committer_charge(c, task->account,
                                 d->slice.cells + d->slice.steps / RDB_STEPS_PER_OP);
    if (rc != ERR_OK || d->slice.finished)
        answer(d, rc);
    else
        sto_rdb_committer_task(c, task, false);
}

static void points_begin(struct rdb_engine *e, struct sto_drop_op *op)
{
    struct drop *d = base_new(sizeof(*d));
    op->engine_state = d;
    sto_rdb_drop_slice_init(&d->slice, e, op);
    d->slice.at_row_front = true;
    if (!sto_key_bounds_of_rows(&op->scope, &op->range, &d->bounds)) {
        answer(d, ERR_OK);
        return;
    }
    memcpy(d->slice.position, d->bounds.lower, d->bounds.lower_len);
    d->slice.position_len = d->bounds.lower_len;
    d->points_left = e->options.drop_range_cells;
    d->stretch_cells = e->options.drop_stretch_cells;
    d->task = (struct rdb_task){
        .account = op->scope.tenant.account,
        .priority = op->ignore_gate ? STO_PRIORITY_BACKGROUND : op->priority,
        .run = run_slice,
    };
    sto_rdb_committer_task(d->slice.committer, &d->task, true);
}

void sto_rdb_drop_rows(struct sto_engine *engine, struct sto_drop_op *op)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    op->detail.text[0] = '\0';
    op->removed = (struct sto_usage){0};
    op->steps = 0;
    op->bytes_seen = 0;
    op->expires_us = STO_GC_NEVER;
    op->engine_state = NULL;
    INVARIANT(op->steps_max == 0 || (op->expired_only && op->resume != NULL));
    enum err rc = sto_rdb_usable(e, &op->detail);
    if (rc == ERR_OK && (op->range.start.len > LIM_ROW_KEY || op->range.end.len > LIM_ROW_KEY))
        rc = base_fail(&op->detail, ERR_INVALID, "the rows to drop cannot exist");
    if (rc != ERR_OK) {
        sto_rdb_drop_answer(op, rc);
        return;
    }
    if (op->dry_run) {
        sto_rdb_drop_count(e, op);
        return;
    }
    if (op->expired_only) {
        sto_rdb_sweep(e, op);
        return;
    }
    if (op->table_ends) {
        INVARIANT(op->ignore_gate && op->family == 0 && op->range.start.len == 0 &&
                  op->range.end.len == 0 && atomic_load(&op->scope.schema->table->forgotten));
        if (atomic_load(&op->scope.schema->table->counters.cells) > e->options.drop_range_cells) {
            sto_rdb_drop_table(e, op);
            return;
        }
    }
    points_begin(e, op);
}

/*
 * storage/rocksdb/drop_table.c - committer, readers, committer.
 *
 *   begin   on the committer, behind all writes of the tenant: whatever comes later sees that the
 *           table is forgotten and is refused, so the rows stand still
 *   count   on readers, at background priority, slice by slice
 *   write   on the committer: tombstone, counters, a note for reclaim.c
 *
 * 1. Nothing is written before all was counted. A removal that was broken off counts again.
 * 2. The committer's memory of sizes holds rows that the tombstone covers: it is cleared with it.
 * 3. No change stream is told: that of a table that ends has no readers any more.
 */
#include "storage/rocksdb/drop_table.h"

#include <inttypes.h>
#include <stddef.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/drop.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/row_sum.h"

#include "base/banned.h"

#define SLICE_KEYS LIM_SLICE_STEPS_SHARED

struct table_drop {
    struct rdb_task task; /* first: to the committer */
    struct sto_drop_op *op;
    struct rdb_engine *engine;
    struct sto_range range;
    struct rdb_row_sum sum;
    size_t position_len; /* of the last key that was counted; 0: none */
    uint8_t position[STO_KEY_MAX + 1];
};

static struct sto_drop_op *op_of(struct base_msg *msg)
{
    return (struct sto_drop_op *)((char *)msg - offsetof(struct sto_drop_op, msg));
}

static void run_done(struct base_msg *msg)
{
    struct sto_drop_op *op = op_of(msg);
    op->done(op);
}

static void answer(struct sto_drop_op *op, enum err rc)
{
    struct table_drop *d = op->engine_state;
    struct rdb_engine *e = d->engine;
    base_free(d);
    op->engine_state = NULL;
    op->result = rc;
    op->msg.run = run_done;
    base_mailbox_push(op->reply_to, &op->msg);
    atomic_fetch_sub(&e->table_drops, 1);
}

/* --- counting ----------------------------------------------------------------------------------
 */

static enum err slice_count(struct table_drop *d, rocksdb_iterator_t *it, bool *out_end)
{
    struct sto_drop_op *op = d->op;
    enum err rc = ERR_OK;
    for (int i = 0; rc == ERR_OK && i < SLICE_KEYS && rocksdb_iter_valid(it); i++) {
        struct slice key, value;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        if (key.len > STO_KEY_MAX)
            return base_fail(&op->detail, ERR_CORRUPT, "a stored key is damaged");
        rc = sto_rdb_row_sum_add(&d->sum, key, value, &op->detail);
        memcpy(d->position, key.ptr, key.len);
        d->position_len = key.len;
        op->steps++;
        rocksdb_iter_next(it);
    }
    *out_end = rocksdb_iter_valid(it) == 0;
    return rc;
}

/* The slice behind position. */
static enum err slice_run(struct table_drop *d, bool *out_end)
{
    struct rdb_engine *e = d->engine;
    struct slice begin = sto_range_begin(&d->range);
    uint8_t lower[STO_KEY_MAX + 1]; /* the iterator's own: position moves on */
    if (d->position_len > 0) {
        memcpy(lower, d->position, d->position_len);
        lower[d->position_len] = 0; /* no stored key begins another: the first one behind it */
        begin = base_slice(lower, d->position_len + 1);
    }
    rocksdb_readoptions_t *options = sto_rdb_scan_options(begin, sto_range_end(&d->range));
    rocksdb_readoptions_set_fill_cache(options, 0); /* everything, once */
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.cells);
    rocksdb_iter_seek_to_first(it);
    enum err rc = slice_count(d, it, out_end);
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    if (error != NULL)
        rc = base_fail(&d->op->detail, sto_rdb_fail(e, "read", error), "the rows cannot be read");
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    if (rc == ERR_OK && *out_end)
        rc = sto_rdb_row_sum_close(&d->sum, &d->op->detail);
    return rc;
}

static void count_on(struct table_drop *d);

static void run_write(struct rdb_committer *c, struct rdb_task *task);

static void run_on_reader(struct base_msg *msg)
{
    struct sto_drop_op *op = op_of(msg);
    struct table_drop *d = op->engine_state;
    struct rdb_engine *e = d->engine;
    struct sto_account *account = op->scope.tenant.account;
    bool end = false;
    atomic_fetch_add(&account->reads_open, 1);
    enum err rc = sto_rdb_drop_goes_on(e, op);
    if (rc == ERR_OK)
        rc = slice_run(d, &end);
    atomic_fetch_sub(&account->reads_open, 1);
    if (rc != ERR_OK) {
        answer(op, rc);
    } else if (!end) {
        count_on(d);
    } else {
        sto_rdb_test_point(e, STO_DIE_COUNTED);
        d->task.run = run_write;
        sto_rdb_committer_task(sto_rdb_committer_of(e, account), &d->task, false);
    }
}

/* A slice goes to the end of the readers' queue. */
static void count_on(struct table_drop *d)
{
    const struct rdb_pool_job job = {.account = d->op->scope.tenant.account,
                                     .queue = RDB_SCANS,
                                     .priority = STO_PRIORITY_BACKGROUND,
                                     .must = true};
    d->op->msg.run = run_on_reader;
    bool taken = sto_rdb_pool_push(&d->engine->pool, &job, &d->op->msg, NULL);
    INVARIANT(taken); /* what must be taken is */
}

/* --- writing -----------------------------------------------------------------------------------
 */

static enum err counters_check(const struct table_drop *d, struct errbuf *eb)
{
    struct sto_usage recorded = sto_counters_read(&d->op->scope.schema->table->counters);
    const struct sto_usage *counted = &d->sum.usage;
    if (recorded.bytes == counted->bytes && recorded.rows == counted->rows &&
        recorded.cells == counted->cells)
        return ERR_OK;
    return base_fail(eb, ERR_CORRUPT,
                     "the table counts %" PRIu64 " rows, %" PRIu64 " cells and %" PRIu64
                     " bytes, but %" PRIu64 ", %" PRIu64 " and %" PRIu64 " are there",
                     recorded.rows, recorded.cells, recorded.bytes, counted->rows, counted->cells,
                     counted->bytes);
}

static enum err table_write(struct rdb_committer *c, struct table_drop *d)
{
    struct rdb_engine *e = d->engine;
    struct rdb_batch *batch = &c->batch;
    struct sto_drop_op *op = d->op;
    const struct sto_usage *usage = &d->sum.usage;
    struct sto_delta delta = {.bytes = -(int64_t)usage->bytes,
                              .rows = -(int64_t)usage->rows,
                              .cells = -(int64_t)usage->cells};
    struct rdb_tally *tally = sto_rdb_batch_tally(batch, &op->scope);
    INVARIANT(tally != NULL); /* the only one of this batch */
    enum err rc = sto_rdb_batch_count(batch, tally, &delta);
    if (rc != ERR_OK) {
        sto_rdb_batch_clear(batch);
        return base_fail(&op->detail, rc, "the tenant counts less than its table");
    }
    sto_rdb_range_delete(e, batch->writes, RDB_CF_CELLS, &d->range);
    pthread_mutex_lock(&e->docs_lock);
    sto_rdb_reclaim_note(e, batch->writes, &op->scope);
    rc = sto_rdb_batch_write(batch);
    pthread_mutex_unlock(&e->docs_lock);
    sto_rdb_recent_clear(&batch->recent);
    return rc == ERR_OK ? rc : base_fail(&op->detail, rc, "a commit of the drop failed");
}

static void run_write(struct rdb_committer *c, struct rdb_task *task)
{
    struct table_drop *d = (struct table_drop *)task;
    struct sto_drop_op *op = d->op;
    enum err rc = sto_rdb_usable(d->engine, &op->detail);
    if (rc == ERR_OK)
        rc = counters_check(d, &op->detail);
    if (rc == ERR_OK && d->sum.usage.cells > 0)
        rc = table_write(c, d);
    if (rc == ERR_OK) {
        sto_rdb_test_point(d->engine, STO_DIE_WRITTEN);
        op->removed = d->sum.usage;
        sto_rdb_reclaim_wake(&d->engine->reclaim);
    }
    answer(op, rc);
}

/* --- beginning ---------------------------------------------------------------------------------
 */

static void run_begin(struct rdb_committer *c, struct rdb_task *task)
{
    struct table_drop *d = (struct table_drop *)task;
    (void)c; /* its thread is what matters: what was submitted before is written */
    enum err rc = sto_rdb_deadline_check(d->op->deadline_ns, &d->op->detail);
    if (rc != ERR_OK)
        answer(d->op, rc);
    else
        count_on(d);
}

void sto_rdb_drop_table(struct rdb_engine *e, struct sto_drop_op *op)
{
    struct table_drop *d = base_new(sizeof(*d));
    atomic_fetch_add(&e->table_drops, 1);
    op->engine_state = d;
    d->engine = e;
    d->op = op;
    d->range = sto_range_of_table(&op->scope);
    d->task = (struct rdb_task){
        .account = op->scope.tenant.account, .priority = STO_PRIORITY_BACKGROUND, .run = run_begin};
    sto_rdb_committer_task(sto_rdb_committer_of(e, op->scope.tenant.account), &d->task, true);
}

void sto_rdb_drop_table_drain(struct rdb_engine *e)
{
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    while (atomic_load(&e->table_drops) > 0) /* each ends with its slice */
        (void)nanosleep(&pause, NULL);       /* woken early: looks early */
}

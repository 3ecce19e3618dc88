/*
 * storage/rocksdb/change_drop.c - a task that sends itself again until the table has no changes.
 *
 *   commit       what a crash right after it leaves             what the repeat does
 *   points       the later changes, a reclaim record            deletes the rest
 *   range        no changes, a reclaim record that is due now   finds none
 *
 * 1. No changes are added: the table is marked `forgotten`, so the committer refuses its writes.
 *    Its name is free only after sto_table_forget, so a table recreated under the name has records
 *    with newer sequence numbers, which the tombstone does not cover.
 * 2. A commit continues at the last change the previous one deleted. Starting at the table's first
 *    key each time would walk over all deletes so far.
 * 3. Bytes deleted by a commit are subtracted from the tenant's stored changes, in the same batch,
 *    unless others deleted changes since its keys were read (change_count.h): then the commit is
 *    repeated.
 * 4. A tenant with a removal in progress is not purged (tenancy/removal.c): no reclaim record is
 *    written after its purge.
 */
#include "storage/rocksdb/change_drop.h"

#include <string.h>

#include "base/alloc.h"
#include "storage/change.h"
#include "storage/range.h"
#include "storage/rocksdb/change_count.h"
#include "storage/rocksdb/drop.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/reclaim_note.h"
#include "storage/rocksdb/shuttle.h"

#include "base/banned.h"

struct change_drop {
    struct rdb_task task; /* first; sent to the committer */
    struct sto_drop_op *op;
    struct rdb_engine *engine;
    struct sto_range table;
    uint64_t points_left; /* changes that may be deleted as points */
    uint64_t removals;    /* of the commit: rdb_change_counts.removals before it read */
    uint64_t count;       /* of the commit: changes as points */
    uint64_t bytes;       /* of the commit */
    bool has_points;
    bool has_range;
    size_t from_len;
    uint8_t from[STO_CHANGE_KEY_MAX]; /* the table has no change before it */
};

static void answer(struct change_drop *d, enum err rc)
{
    struct rdb_engine *e = d->engine;
    struct sto_drop_op *op = d->op;
    if (d->has_range)
        sto_rdb_reclaim_wake(&e->reclaim);
    else if (d->has_points)
        sto_rdb_reclaim_expect(&e->reclaim);
    base_free(d);
    sto_rdb_drop_answer(op, rc);
    sto_rdb_shuttle_leave(e);
}

/* --- one commit ------------------------------------------------------------------------------- */

/* Deletes changes, starting at the iterator's position. */
static void points_stage(struct change_drop *d, rocksdb_iterator_t *it, rocksdb_writebatch_t *batch)
{
    uint64_t limit =
        d->points_left < LIM_CHANGES_PER_SWEEP ? d->points_left : LIM_CHANGES_PER_SWEEP;
    for (; d->count < limit && rocksdb_iter_valid(it); d->count++) {
        size_t len = 0, value_len = 0;
        const char *key = rocksdb_iter_key(it, &len);
        (void)rocksdb_iter_value(it, &value_len);
        d->bytes += len + value_len;
        rocksdb_writebatch_delete_cf(batch, d->engine->db.changes, key, len);
        if (len <= sizeof d->from) {
            memcpy(d->from, key, len);
            d->from_len = len;
        }
        rocksdb_iter_next(it);
    }
}

/* Fills batch; out_more: changes are left after it. Without points and range there is no change. */
static enum err commit_stage(struct change_drop *d, rocksdb_writebatch_t *batch, bool *out_more)
{
    struct rdb_engine *e = d->engine;
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(base_slice(d->from, d->from_len), sto_range_end(&d->table));
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.changes);
    rocksdb_iter_seek_to_first(it);
    d->has_range = rocksdb_iter_valid(it) && d->points_left == 0;
    if (!d->has_range)
        points_stage(d, it, batch);
    *out_more = !d->has_range && rocksdb_iter_valid(it);
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    return error == NULL ? ERR_OK : sto_rdb_read_failed(e, error);
}

/* Subtracts the removed bytes from the count, and adds the range. */
static enum err counts_stage(struct change_drop *d, rocksdb_writebatch_t *batch)
{
    struct rdb_engine *e = d->engine;
    uint64_t removed = 0;
    enum err rc = sto_rdb_changes_removed(e, sto_range_begin(&d->table), &removed);
    if (rc != ERR_OK)
        return rc;
    if (d->has_range) { /* no change is added: rule 1 */
        d->bytes = atomic_load(&d->op->scope.schema->table->changes.bytes) - removed;
        sto_rdb_range_delete(e, batch, RDB_CF_CHANGES, sto_span_of(&d->table), NULL);
    }
    sto_rdb_changes_removed_put(e, batch, sto_range_begin(&d->table), removed + d->bytes);
    return ERR_OK;
}

/* Writes the commit with a reclaim record of the whole table. */
static enum err commit_write(struct change_drop *d, rocksdb_writebatch_t *batch, bool *out_is_stale)
{
    struct rdb_engine *e = d->engine;
    enum rdb_note_when when = d->has_range ? RDB_NOTE_NOW : RDB_NOTE_LATER;
    enum err rc = ERR_OK;
    pthread_mutex_lock(&e->docs_lock);
    *out_is_stale = !d->has_range && atomic_load(&e->change_counts.removals) != d->removals;
    if (!*out_is_stale) {
        rc = counts_stage(d, batch);
        if (rc == ERR_OK)
            rc = sto_rdb_note_write(e, batch, &d->op->scope, NULL, when);
        if (rc == ERR_OK)
            rc = sto_rdb_write(e, batch);
        (void)atomic_fetch_add(&e->change_counts.removals, 1);
        if (rc == ERR_OK)
            sto_rdb_changes_give_back(e, sto_scope_tenant_id(&d->op->scope.tenant), d->bytes);
    }
    pthread_mutex_unlock(&e->docs_lock);
    if (rc == ERR_OK && !*out_is_stale)
        sto_rdb_test_point(e, d->has_range ? STO_DIE_WRITTEN : STO_DIE_CHANGES);
    return rc;
}

static enum err commit(struct change_drop *d, bool *out_more)
{
    const size_t from_len = d->from_len;
    uint8_t from[sizeof d->from];
    bool is_stale = false;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    memcpy(from, d->from, from_len);
    d->removals = atomic_load(&d->engine->change_counts.removals);
    d->count = d->bytes = 0;
    enum err rc = commit_stage(d, batch, out_more);
    if (rc == ERR_OK && (d->has_range || d->count > 0))
        rc = commit_write(d, batch, &is_stale);
    rocksdb_writebatch_destroy(batch);
    if (is_stale) {
        memcpy(d->from, from, from_len);
        d->from_len = from_len;
        *out_more = true;
    } else {
        d->has_points = d->has_points || d->count > 0;
        d->points_left -= d->count;
        d->op->steps += d->count;
    }
    return rc == ERR_OK ? rc
                        : base_fail(&d->op->detail, rc, "the table's changes cannot be removed");
}

/* --- running ---------------------------------------------------------------------------------- */

static void run_commit(struct rdb_committer *c, struct rdb_task *task)
{
    struct change_drop *d = (struct change_drop *)task;
    bool more = false;
    enum err rc = sto_rdb_drop_goes_on(d->engine, d->op);
    if (rc == ERR_OK)
        rc = commit(d, &more);
    if (rc == ERR_OK && more)
        sto_rdb_committer_task(c, task, false);
    else
        answer(d, rc);
}

void sto_rdb_change_drop(struct rdb_engine *e, struct sto_drop_op *op)
{
    struct change_drop *d = base_new(sizeof *d);
    INVARIANT(op->table_ends && atomic_load(&op->scope.schema->table->forgotten));
    sto_rdb_shuttle_enter(e);
    op->engine_state = d;
    d->op = op;
    d->engine = e;
    d->table = sto_range_of_table(&op->scope);
    d->points_left = e->options.drop_range_cells;
    memcpy(d->from, d->table.begin, d->table.begin_len);
    d->from_len = d->table.begin_len;
    d->task = (struct rdb_task){.account = op->scope.tenant.account,
                                .priority = STO_PRIORITY_BACKGROUND,
                                .run = run_commit};
    sto_rdb_committer_task(sto_rdb_committer_of(e, op->scope.tenant.account), &d->task, false);
}

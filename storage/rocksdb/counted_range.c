/*
 * storage/rocksdb/counted_range.c - readers, then the committer.
 *
 * 1. Each slice has an iterator of its own: the owner checks that all of them saw one state.
 * 2. The committer's cache of sizes holds rows that the tombstone covers: it is cleared with it.
 * 3. Other counts of rows of the same range see this deletion as they see any write.
 */
#include "storage/rocksdb/counted_range.h"

#include <stddef.h>

#include "storage/rocksdb/drop.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/reclaim_note.h"
#include "storage/rocksdb/watch.h"

#include "base/banned.h"

#define SLICE_KEYS LIM_SLICE_STEPS_SHARED

/* --- counting ----------------------------------------------------------------------------------
 */

static void end_at(struct rdb_counted_range *n, struct slice end)
{
    memcpy(n->end, end.ptr, end.len);
    n->end_len = end.len;
}

/* Returns whether key starts a row after the limit. */
static bool is_enough(struct rdb_counted_range *n, struct slice key)
{
    struct sto_key parts;
    if (n->sum.usage.cells < n->cells_max || sto_key_decode(key, &parts) != ERR_OK ||
        parts.family != 0)
        return false;
    end_at(n, parts.row_prefix);
    return true;
}

static enum err slice_count(struct rdb_counted_range *n, rocksdb_iterator_t *it, bool *out_end)
{
    enum err rc = ERR_OK;
    for (int i = 0; rc == ERR_OK && i < SLICE_KEYS && rocksdb_iter_valid(it); i++) {
        struct slice key, value;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        if (key.len > STO_KEY_MAX)
            return base_fail(&n->op->detail, ERR_CORRUPT, "a stored key is damaged");
        if (is_enough(n, key)) {
            *out_end = true;
            return ERR_OK;
        }
        rc = sto_rdb_row_sum_add(&n->sum, key, value, &n->op->detail);
        memcpy(n->position, key.ptr, key.len);
        n->position_len = key.len;
        n->op->steps++;
        rocksdb_iter_next(it);
    }
    n->is_all = rocksdb_iter_valid(it) == 0;
    *out_end = n->is_all;
    if (n->is_all)
        end_at(n, base_slice(n->upper, n->upper_len));
    return rc;
}

/* Counts the slice after position. */
static enum err slice_run(struct rdb_counted_range *n, bool *out_end)
{
    struct rdb_engine *e = n->engine;
    struct slice begin = base_slice(n->begin, n->begin_len);
    uint8_t lower[STO_KEY_MAX + 1]; /* the iterator's own: position moves on */
    if (n->position_len > 0) {
        memcpy(lower, n->position, n->position_len);
        /* no stored key is a prefix of another: this is the first key after it */
        lower[n->position_len] = 0;
        begin = base_slice(lower, n->position_len + 1);
    }
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(begin, base_slice(n->upper, n->upper_len));
    rocksdb_readoptions_set_fill_cache(options, 0); /* everything is read once */
    rocksdb_iterator_t *it = sto_rdb_rows_iterator(e, options, &n->op->scope.tenant);
    enum err rc = sto_rdb_lost_check(e, RDB_CF_CELLS, begin, base_slice(n->upper, n->upper_len));
    if (rc == ERR_OK) {
        rocksdb_iter_seek_to_first(it);
        rc = slice_count(n, it, out_end);
    } else {
        n->is_unreadable = true;
        (void)base_fail(&n->op->detail, rc, "the rows cannot be read");
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    if (error != NULL) {
        n->is_unreadable = true;
        rc = base_fail(&n->op->detail, sto_rdb_read_failed(e, error), "the rows cannot be read");
    }
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    if (rc == ERR_OK && *out_end)
        rc = sto_rdb_row_sum_close(&n->sum, &n->op->detail);
    return rc;
}

static void count_on(struct rdb_counted_range *n);

static void run_on_reader(struct base_msg *msg)
{
    struct rdb_counted_range *n =
        (struct rdb_counted_range *)((char *)msg - offsetof(struct rdb_counted_range, msg));
    struct rdb_engine *e = n->engine;
    struct sto_account *account = n->then->account;
    uint64_t steps = n->op->steps;
    bool end = false;
    atomic_fetch_add(&account->reads_open, 1);
    n->result = sto_rdb_drop_goes_on(e, n->op);
    if (n->result == ERR_OK)
        n->result = slice_run(n, &end);
    atomic_fetch_sub(&account->reads_open, 1);
    if (n->then->priority != STO_PRIORITY_BACKGROUND)
        sto_rdb_pool_charge(&e->pool, account, RDB_SCANS,
                            (n->op->steps - steps) / RDB_STEPS_PER_OP);
    if (n->result == ERR_OK && !end) {
        count_on(n);
        return;
    }
    if (n->result == ERR_OK)
        sto_rdb_test_point(e, STO_DIE_COUNTED);
    sto_rdb_committer_task(sto_rdb_committer_of(e, account), n->then, false);
}

/* Continues at the end of the readers' queue. */
static void count_on(struct rdb_counted_range *n)
{
    const struct rdb_pool_job job = {.account = n->then->account,
                                     .queue = RDB_SCANS,
                                     .priority = n->then->priority,
                                     .must = true}; /* the operation was accepted before */
    n->msg.run = run_on_reader;
    bool taken = sto_rdb_pool_push(&n->engine->pool, &job, &n->msg, NULL);
    INVARIANT(taken); /* `must` messages are accepted */
}

void sto_rdb_counted_begin(struct rdb_counted_range *n, struct slice begin, struct slice upper)
{
    n->table = sto_range_of_table(&n->op->scope);
    memset(&n->sum, 0, sizeof n->sum);
    memcpy(n->begin, begin.ptr, begin.len);
    n->begin_len = begin.len;
    memcpy(n->upper, upper.ptr, upper.len);
    n->upper_len = upper.len;
    n->position_len = 0;
    n->is_all = false;
    n->is_unreadable = false;
    count_on(n);
}

struct sto_span sto_rdb_counted_span(const struct rdb_counted_range *n)
{
    return sto_span_of_rows(&n->table, base_slice(n->begin, n->begin_len),
                            base_slice(n->end, n->end_len));
}

/* --- writing -----------------------------------------------------------------------------------
 */

enum err sto_rdb_counted_write(struct rdb_committer *c, struct rdb_counted_range *n,
                               const struct sto_key_bounds *noted)
{
    struct rdb_engine *e = c->engine;
    struct rdb_batch *batch = &c->batch;
    struct sto_drop_op *op = n->op;
    struct sto_span span = sto_rdb_counted_span(n);
    const struct sto_usage *usage = &n->sum.usage;
    struct sto_delta delta = {.bytes = -(int64_t)usage->bytes,
                              .rows = -(int64_t)usage->rows,
                              .cells = -(int64_t)usage->cells};
    struct rdb_tally *tally = sto_rdb_batch_tally(batch, &op->scope);
    INVARIANT(tally != NULL); /* the only one of this batch */
    enum err rc = sto_rdb_batch_count(batch, tally, &delta);
    if (rc != ERR_OK) {
        sto_rdb_batch_clear(batch);
        return base_fail(&op->detail, rc, "the counters say less than the rows that are there");
    }
    pthread_mutex_lock(&e->docs_lock);
    rc = sto_rdb_note_write(e, batch->writes, &op->scope, noted, RDB_NOTE_NOW);
    if (rc == ERR_OK) {
        sto_rdb_range_delete(e, batch->writes, RDB_CF_CELLS, span, op->scope.tenant.account);
        sto_rdb_watches_see_span(batch->watches, span);
        batch->range = &span;
        rc = sto_rdb_batch_write(batch);
    } else {
        sto_rdb_batch_clear(batch);
    }
    pthread_mutex_unlock(&e->docs_lock);
    sto_rdb_recent_clear(&batch->recent);
    if (rc != ERR_OK)
        return base_fail(&op->detail, rc, "a commit of the drop failed");
    sto_rdb_test_point(e, STO_DIE_WRITTEN);
    op->removed.bytes += usage->bytes;
    op->removed.rows += usage->rows;
    op->removed.cells += usage->cells;
    return ERR_OK;
}

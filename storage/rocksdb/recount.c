/*
 * storage/rocksdb/recount.c - takes a snapshot between two commits, then counts slice by slice.
 *
 * 1. The snapshot is taken on the tenant's committer while no batch is in progress, together with
 *    the counters in memory: both are of that moment.
 * 2. It counts LIM_SLICE_STEPS_SHARED keys, then goes to the end of the readers' queue, so that
 *    reads are served.
 * 3. Rows come first, then the changes of streams. Other threads remove changes as well, under the
 *    lock of documents (change_count.h): the snapshot is taken under it.
 * 4. Every row's cells and bytes must add up to its header, and the stored counters of all tables
 *    to those in memory; the caller compares counted with recorded.
 * 5. A deletion waits for every older snapshot, and for the files that an iterator holds. So a
 *    recount that is waited for and as old as a row's snapshot may be (long_row.h) releases both,
 *    and restarts after the deletion.
 */
#include "storage/rocksdb/recount.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "storage/canary.h"
#include "storage/range.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/row_sum.h"
#include "storage/rocksdb/shuttle.h"

#include "base/banned.h"

#define NS_PER_MS 1000000ULL

struct state {
    struct rdb_task task; /* first; sent to the committer */
    struct sto_recount_op *op;
    struct rdb_engine *engine;
    const rocksdb_snapshot_t *snapshot;
    uint64_t snapshot_ns; /* when it was taken, monotonic */
    struct sto_range range;
    rocksdb_readoptions_t *options; /* both NULL until the first slice */
    rocksdb_iterator_t *it;
    int family; /* RDB_CF_CELLS, then RDB_CF_CHANGES */
    struct rdb_row_sum sum;
};

static struct sto_recount_op *op_of(struct base_msg *msg)
{
    return (struct sto_recount_op *)((char *)msg - offsetof(struct sto_recount_op, msg));
}

static void run_done(struct base_msg *msg)
{
    struct sto_recount_op *op = op_of(msg);
    op->done(op);
}

/* Releases everything that deletions wait for. */
static void let_go(struct state *s)
{
    if (s->it != NULL) {
        rocksdb_iter_destroy(s->it);
        rocksdb_readoptions_destroy(s->options);
        atomic_fetch_sub(&s->op->scope.account->reads_open, 1);
    }
    if (s->snapshot != NULL)
        rocksdb_release_snapshot(s->engine->db.handle, s->snapshot);
    s->it = NULL;
    s->options = NULL;
    s->snapshot = NULL;
}

static void answer(struct sto_recount_op *op, enum err rc)
{
    struct state *s = op->engine_state;
    struct rdb_engine *e = s->engine;
    let_go(s);
    base_free(s);
    op->engine_state = NULL;
    op->result = rc;
    op->msg.run = run_done;
    base_mailbox_push(op->reply_to, &op->msg);
    sto_rdb_shuttle_leave(e);
}

/* --- cells ---------------------------------------------------------------------------------- */

/* Steps over a lost range that starts at the key. Returns whether there is one. */
static bool lost_skip(struct sto_recount_op *op, struct slice key)
{
    uint8_t end[STO_KEY_MAX + 1];
    size_t len;
    struct state *s = op->engine_state;
    if (!op->skip_lost || !sto_rdb_lost_end(s->engine, s->family, key, end, sizeof end, &len))
        return false;
    rocksdb_iter_seek(s->it, (const char *)end, len);
    return true;
}

static enum err key_visit(struct sto_recount_op *op, struct slice key, struct slice value)
{
    struct state *s = op->engine_state;
    if (s->family == RDB_CF_CHANGES) {
        op->counted_changes += key.len + value.len;
        return ERR_OK;
    }
    if (sto_key_is_canary(&s->range, key))
        return ERR_OK; /* belongs to no row */
    return sto_rdb_row_sum_add(&s->sum, key, value, &op->detail);
}

static enum err iterator_error(struct sto_recount_op *op, rocksdb_iterator_t *it)
{
    struct state *s = op->engine_state;
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    return error == NULL ? ERR_OK
                         : base_fail(&op->detail, sto_rdb_read_failed(s->engine, error),
                                     "what is stored cannot be read");
}

static rocksdb_iterator_t *iterate(struct state *s, const struct sto_range *range,
                                   rocksdb_column_family_handle_t *family,
                                   rocksdb_readoptions_t **out_options)
{
    *out_options = sto_rdb_scan_options(sto_range_begin(range), sto_range_end(range));
    rocksdb_readoptions_set_snapshot(*out_options, s->snapshot);
    rocksdb_readoptions_set_fill_cache(*out_options, 0);
    if (family == s->engine->db.meta) /* meta has no range tombstone */
        rocksdb_readoptions_set_ignore_range_deletions(*out_options, 1);
    rocksdb_iterator_t *it =
        family == s->engine->db.cells
            ? sto_rdb_rows_iterator(s->engine, *out_options, &s->op->scope)
            : rocksdb_create_iterator_cf(s->engine->db.handle, *out_options, family);
    rocksdb_iter_seek_to_first(it);
    return it;
}

/* Starts with the keys of s->family. */
static enum err family_open(struct sto_recount_op *op)
{
    struct state *s = op->engine_state;
    struct rdb_engine *e = s->engine;
    s->it = iterate(s, &s->range, e->db.cf[s->family], &s->options);
    if (op->skip_lost)
        return ERR_OK;
    enum err rc =
        sto_rdb_lost_check(e, s->family, sto_range_begin(&s->range), sto_range_end(&s->range));
    return rc == ERR_OK ? rc : base_fail(&op->detail, rc, "what is stored cannot be read");
}

/* Ends s->family after its last key; *out_end: there is no other family. */
static enum err family_close(struct sto_recount_op *op, bool *out_end)
{
    struct state *s = op->engine_state;
    enum err rc = iterator_error(op, s->it);
    *out_end = s->family == RDB_CF_CHANGES;
    if (rc != ERR_OK || *out_end)
        return rc;
    rc = sto_rdb_row_sum_close(&s->sum, &op->detail);
    rocksdb_iter_destroy(s->it);
    rocksdb_readoptions_destroy(s->options);
    s->family = RDB_CF_CHANGES;
    enum err opened = family_open(op);
    return rc == ERR_OK ? opened : rc;
}

/* Counts one slice; *out_end true when there is nothing more to count. */
static enum err count_keys(struct sto_recount_op *op, bool *out_end)
{
    struct state *s = op->engine_state;
    *out_end = false;
    if (!op->ignore_gate && (atomic_load(&op->scope.account->gate) & STO_GATE_GONE) != 0)
        return base_fail(&op->detail, ERR_GONE, "the tenant is being deleted");
    enum err rc = sto_rdb_usable(s->engine, &op->detail);
    for (int i = 0; rc == ERR_OK && i < LIM_SLICE_STEPS_SHARED; i++) {
        if (!rocksdb_iter_valid(s->it))
            return family_close(op, out_end);
        struct slice key, value;
        key.ptr = (const uint8_t *)rocksdb_iter_key(s->it, &key.len);
        if (lost_skip(op, key))
            continue;
        value.ptr = (const uint8_t *)rocksdb_iter_value(s->it, &value.len);
        rc = key_visit(op, key, value);
        rocksdb_iter_next(s->it);
    }
    return rc;
}

/* --- counters ------------------------------------------------------------------------------- */

/* recorded: bytes ever recorded, by the tables' counters. */
static enum err check_stored_changes(struct sto_recount_op *op, uint64_t recorded)
{
    struct state *s = op->engine_state;
    struct sto_range range = sto_range_of_docs(&op->scope, STO_DOC_CHANGES_REMOVED);
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *it = iterate(s, &range, s->engine->db.meta, &options);
    enum err rc = ERR_OK;
    for (; rc == ERR_OK && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        struct slice value;
        uint64_t removed = 0;
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        rc = sto_rdb_changes_removed_decode(value, &removed);
        recorded -= removed;
    }
    if (rc == ERR_OK)
        rc = iterator_error(op, it);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    if (rc == ERR_OK && recorded != op->recorded_changes)
        rc = base_fail(&op->detail, ERR_CORRUPT,
                       "the stored counters add up to %" PRIu64
                       " bytes of changes, those in use to %" PRIu64,
                       recorded, op->recorded_changes);
    return rc;
}

static enum err check_stored_counters(struct sto_recount_op *op)
{
    struct state *s = op->engine_state;
    struct sto_range range = sto_range_of_docs(&op->scope, STO_DOC_COUNTERS);
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *it = iterate(s, &range, s->engine->db.meta, &options);
    struct sto_usage sum = {0};
    uint64_t changes = 0;
    enum err rc = ERR_OK;
    for (; rc == ERR_OK && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        struct slice value;
        struct sto_stored_counters one;
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        rc = sto_counters_decode(value, &one);
        if (rc != ERR_OK)
            break;
        sum.bytes += one.usage.bytes;
        sum.rows += one.usage.rows;
        sum.cells += one.usage.cells;
        changes += one.change_bytes;
    }
    if (rc == ERR_OK)
        rc = iterator_error(op, it);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    if (rc == ERR_OK && (sum.bytes != op->recorded.bytes || sum.rows != op->recorded.rows ||
                         sum.cells != op->recorded.cells))
        rc = base_fail(&op->detail, ERR_CORRUPT,
                       "the stored counters add up to %" PRIu64 " bytes, those in use to %" PRIu64,
                       sum.bytes, op->recorded.bytes);
    return rc == ERR_OK ? check_stored_changes(op, changes) : rc;
}

/* --- the two threads -------------------------------------------------------------------------- */

static void begin(struct state *s)
{
    s->op->begun++;
    sto_rdb_committer_task(sto_rdb_committer_of(s->engine, s->op->scope.account), &s->task, true);
}

/* Continues on a reader. A full queue refuses no recount, because operators send few. */
static void go_on(struct state *s)
{
    const struct rdb_pool_job job = {.account = s->op->scope.account,
                                     .queue = RDB_SCANS,
                                     .priority = STO_PRIORITY_BACKGROUND,
                                     .must = true};
    bool is_taken = sto_rdb_pool_push(&s->engine->pool, &job, &s->op->msg, NULL);
    INVARIANT(is_taken);
}

static bool gives_way(const struct state *s)
{
    struct rdb_engine *e = s->engine;
    return atomic_load(&e->old_state_waited) != 0 &&
           base_monotonic_ns() - s->snapshot_ns >= e->options.row_snapshot_waited_ms * NS_PER_MS;
}

static void begin_anew(struct state *s)
{
    struct sto_recount_op *op = s->op;
    let_go(s);
    if (op->begun == LIM_RECOUNT_BEGINS) {
        answer(op, base_fail(&op->detail, ERR_TIMEOUT,
                             "counting gave way to deletions %d times, each time before it was "
                             "done; ask again when fewer tenants leave",
                             LIM_RECOUNT_BEGINS));
        return;
    }
    s->sum = (struct rdb_row_sum){0};
    op->counted_changes = 0;
    begin(s);
}

static void run_on_reader(struct base_msg *msg)
{
    struct sto_recount_op *op = op_of(msg);
    struct state *s = op->engine_state;
    enum err rc = ERR_OK;
    if (s->it != NULL) {
        sto_rdb_test_point(s->engine, STO_DIE_LOOKING);
        if (gives_way(s)) {
            begin_anew(s);
            return;
        }
    } else {
        atomic_fetch_add(&op->scope.account->reads_open, 1);
        s->range = sto_range_of_tenant(&op->scope);
        s->family = RDB_CF_CELLS;
        rc = family_open(op);
    }
    bool end = false;
    if (rc == ERR_OK)
        rc = count_keys(op, &end);
    if (rc == ERR_OK && !end) {
        go_on(s);
        return;
    }
    op->counted = s->sum.usage;
    if (rc == ERR_OK)
        rc = check_stored_counters(op);
    answer(op, rc);
}

static void run_on_committer(struct rdb_committer *c, struct rdb_task *task)
{
    struct state *s = (struct state *)task;
    struct sto_recount_op *op = s->op;
    (void)c; /* its thread matters: no write is in progress */
    enum err rc = sto_rdb_usable(s->engine, &op->detail);
    if (rc != ERR_OK) {
        answer(op, rc);
        return;
    }
    pthread_mutex_lock(&s->engine->docs_lock);
    s->snapshot = rocksdb_create_snapshot(s->engine->db.handle);
    s->snapshot_ns = base_monotonic_ns();
    op->recorded = sto_counters_read(&op->scope.account->total);
    op->recorded_changes = sto_account_change_bytes(op->scope.account);
    pthread_mutex_unlock(&s->engine->docs_lock);
    op->msg.run = run_on_reader;
    go_on(s);
}

void sto_rdb_recount(struct sto_engine *engine, struct sto_recount_op *op)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    struct state *s = base_new(sizeof(*s));
    op->detail.text[0] = '\0';
    op->counted = (struct sto_usage){0};
    op->recorded = (struct sto_usage){0};
    op->counted_changes = 0;
    op->recorded_changes = 0;
    op->begun = 0;
    op->engine_state = s;
    s->engine = e;
    s->op = op;
    s->task = (struct rdb_task){
        .account = op->scope.account, .priority = STO_PRIORITY_BACKGROUND, .run = run_on_committer};
    sto_rdb_shuttle_enter(e);
    enum err rc = sto_rdb_usable(e, &op->detail);
    if (rc == ERR_OK)
        begin(s);
    else
        answer(op, rc);
}

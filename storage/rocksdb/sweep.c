/*
 * storage/rocksdb/sweep.c - searches on a reader, removes on the committer, continues.
 *
 *   look      a slice of the range; columns with garbage are listed, with the last such cell
 *   remove    cells of the list, a slice of it (drop_slice.c)
 *
 * 1. Most visited cells stay, and a cell that was replaced is often followed by the deletes of
 *    previous ones: no writer waits for that.
 * 2. Found cells may have changed: the committer judges a column again, from its newest cell. Cells
 *    that became garbage in between are found by the next sweep, because the change was an
 *    addition.
 * 3. A table without garbage never reaches the committer.
 * 4. Where other work leaves no pause, background work is rarely served (LIM_BACKGROUND_WAIT_MS):
 *    then one batch does more. In another priority it is the tenant's own work, and charged to the
 *    tenant.
 */
#include "storage/rocksdb/sweep.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/drop.h"
#include "storage/rocksdb/drop_slice.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/shuttle.h"

#include "base/banned.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_US 1000ULL

/* An entry of the list, before the key of the last cell. */
struct found_column {
    uint32_t column_len; /* length within the key */
    uint32_t key_len;
};

struct sweep {
    struct rdb_task removal; /* first; sent to the committer */
    struct base_msg look;    /* sent to a reader */
    struct rdb_engine *engine;
    struct sto_drop_op *op;

    /* searching */
    struct rdb_expiry expiry;
    struct sto_key_bounds bounds;
    bool is_over;        /* the range, or the operation's limit, was reached */
    size_t position_len; /* where the search continues */
    uint8_t position[STO_KEY_MAX];

    /* the list */
    struct buf found;   /* found_column and key, one after the other */
    size_t found_cells; /* lower bound */
    size_t last_at;     /* offset of the newest entry */

    /* removing */
    uint64_t sent_ns;
    size_t done; /* bytes of `found` that were processed */
    bool is_in_column;
    uint64_t cells_of_turn;
    struct rdb_drop_slice slice;
};

static void answer(struct sweep *s, enum err rc)
{
    struct rdb_engine *e = s->engine;
    struct sto_drop_op *op = s->op;
    if (s->slice.expiry.first_us < s->expiry.first_us)
        s->expiry.first_us = s->slice.expiry.first_us;
    op->expires_us = s->expiry.first_us;
    sto_rdb_drop_slice_fini(&s->slice);
    base_buf_fini(&s->found);
    base_free(s);
    sto_rdb_drop_answer(op, rc);
    sto_rdb_shuttle_leave(e);
}

/* --- the list --------------------------------------------------------------------------------- */

static struct found_column found_at(const struct sweep *s, size_t at)
{
    struct found_column c;
    memcpy(&c, s->found.ptr + at, sizeof c);
    return c;
}

static struct slice found_key(const struct sweep *s, size_t at)
{
    return base_slice(s->found.ptr + at + sizeof(struct found_column), found_at(s, at).key_len);
}

/* Lists a cell. Cells of a column come one after the other, and their keys have the same length. */
static void note(struct sweep *s, const struct sto_key *cell, struct slice key)
{
    struct found_column c = {(uint32_t)cell->column_prefix.len, (uint32_t)key.len};
    s->found_cells++;
    if (s->found.len > 0 && base_slice_starts_with(found_key(s, s->last_at), cell->column_prefix)) {
        memcpy(s->found.ptr + s->last_at + sizeof c, key.ptr, key.len);
        return;
    }
    s->last_at = s->found.len;
    INVARIANT(base_buf_append(&s->found, base_slice(&c, sizeof c)) == ERR_OK &&
              base_buf_append(&s->found, key) == ERR_OK); /* is_full leaves space for one */
}

static bool is_full(const struct sweep *s)
{
    return s->found_cells >= LIM_SWEEP_FOUND_CELLS || s->found.len >= LIM_SWEEP_FOUND_BYTES;
}

/* --- searching ------------------------------------------------------------------------------- */

/* Called before a row: returns whether the operation's limit is reached, and where the next one
 * starts. */
static bool ends_early(struct sweep *s, const struct sto_key *header)
{
    struct sto_drop_op *op = s->op;
    uint8_t scratch[LIM_ROW_KEY];
    if (op->steps_max == 0 || op->steps < op->steps_max)
        return false;
    INVARIANT(base_buf_append(op->resume, sto_key_unescape(header->row_escaped, scratch)) ==
              ERR_OK); /* it has space for any row key */
    return true;
}

static enum err look_at(struct sweep *s, struct slice key)
{
    struct sto_key parts;
    if (key.len > STO_KEY_MAX || sto_key_decode(key, &parts) != ERR_OK)
        return base_fail(&s->op->detail, ERR_CORRUPT, "a stored key is damaged");
    if (parts.family == 0)
        s->is_over = ends_early(s, &parts);
    else if (sto_rdb_is_expired(&s->expiry, &parts))
        note(s, &parts, key);
    return ERR_OK;
}

static enum err look_through(struct sweep *s, rocksdb_iterator_t *it)
{
    enum err rc = ERR_OK;
    rocksdb_iter_seek(it, (const char *)s->position, s->position_len);
    for (int i = 0; rocksdb_iter_valid(it) && i < LIM_SLICE_STEPS_SHARED; i++) {
        struct slice key;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        rc = look_at(s, key);
        if (rc != ERR_OK || s->is_over)
            return rc;
        s->op->steps++;
        rocksdb_iter_next(it);
        if (is_full(s))
            break;
    }
    if (rocksdb_iter_valid(it)) {
        struct slice key;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        if (key.len > STO_KEY_MAX)
            return base_fail(&s->op->detail, ERR_CORRUPT, "a stored key is damaged");
        memcpy(s->position, key.ptr, key.len);
        s->position_len = key.len;
        return ERR_OK;
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    if (error != NULL)
        return base_fail(&s->op->detail, sto_rdb_read_failed(s->engine, error),
                         "the rows cannot be read");
    s->is_over = true;
    return ERR_OK;
}

static enum err look_slice(struct sweep *s)
{
    struct rdb_engine *e = s->engine;
    uint64_t began_ns = base_thread_cpu_ns();
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(base_slice(s->bounds.lower, s->bounds.lower_len),
                             base_slice(s->bounds.upper, s->bounds.upper_len));
    rocksdb_readoptions_set_fill_cache(options, 0); /* everything is read once */
    rocksdb_iterator_t *it = sto_rdb_rows_iterator(e, options, &s->op->scope.tenant);
    enum err rc =
        sto_rdb_lost_check(e, RDB_CF_CELLS, base_slice(s->bounds.lower, s->bounds.lower_len),
                           base_slice(s->bounds.upper, s->bounds.upper_len));
    if (rc == ERR_OK)
        rc = look_through(s, it);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    s->op->look_ns += base_thread_cpu_ns() - began_ns;
    return rc;
}

static void look_on(struct sweep *s);
static void remove_on(struct sweep *s);

static void run_look(struct base_msg *msg)
{
    struct sweep *s = (struct sweep *)((char *)msg - offsetof(struct sweep, look));
    struct sto_account *account = s->op->scope.tenant.account;
    atomic_fetch_add(&account->reads_open, 1);
    enum err rc = sto_rdb_drop_goes_on(s->engine, s->op);
    uint64_t steps = s->op->steps;
    if (rc == ERR_OK)
        rc = look_slice(s);
    atomic_fetch_sub(&account->reads_open, 1);
    if (s->op->priority != STO_PRIORITY_BACKGROUND)
        sto_rdb_pool_charge(&s->engine->pool, account, RDB_SCANS,
                            (s->op->steps - steps) / RDB_STEPS_PER_OP);
    bool removes = is_full(s) || (s->is_over && s->found.len > 0);
    if (rc != ERR_OK || (s->is_over && !removes))
        answer(s, rc);
    else if (removes)
        remove_on(s);
    else
        look_on(s);
}

/* Continues at the end of the readers' queue. */
static void look_on(struct sweep *s)
{
    const struct rdb_pool_job job = {.account = s->op->scope.tenant.account,
                                     .queue = RDB_SCANS,
                                     .priority = s->op->priority,
                                     .must = true}; /* bounded by the caller */
    s->look.run = run_look;
    bool taken = sto_rdb_pool_push(&s->engine->pool, &job, &s->look, NULL);
    INVARIANT(taken); /* `must` messages are accepted */
}

/* --- removing --------------------------------------------------------------------------------- */

/* Limits of one commit. */
struct turn {
    uint64_t cells;
    uint64_t until_ns; /* after this it ends with the column */
};

/* Collects columns of the list, until the commit is full. */
static enum err collect(struct sweep *s, struct rdb_batch *batch, rocksdb_iterator_t *it,
                        struct turn turn)
{
    struct rdb_drop_slice *d = &s->slice;
    enum err rc = ERR_OK;
    while (rc == ERR_OK && s->done < s->found.len && turn.cells > 0) {
        d->last = found_key(s, s->done);
        if (!s->is_in_column) {
            d->position_len = found_at(s, s->done).column_len;
            memcpy(d->position, d->last.ptr, d->position_len);
        }
        d->cells_wanted = UINT64_MAX;
        d->cells_max = turn.cells;
        rc = sto_rdb_drop_slice_collect(d, batch, it);
        s->is_in_column = !d->finished;
        if (d->finished)
            s->done += sizeof(struct found_column) + d->last.len;
        turn.cells -= d->cells < turn.cells ? d->cells : turn.cells;
        s->cells_of_turn += d->cells;
        if (!d->finished || base_monotonic_ns() >= turn.until_ns)
            break;
    }
    return rc;
}

static enum err remove_slice(struct sweep *s, struct rdb_batch *batch, struct turn turn)
{
    struct rdb_engine *e = s->engine;
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(base_slice(s->bounds.lower, s->bounds.lower_len),
                             base_slice(s->bounds.upper, s->bounds.upper_len));
    rocksdb_iterator_t *it = sto_rdb_rows_iterator(e, options, &s->op->scope.tenant);
    enum err rc = collect(s, batch, it, turn);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    if (rc == ERR_OK)
        return sto_rdb_drop_slice_write(&s->slice, batch, NULL, RDB_NOTE_LATER);
    sto_rdb_batch_clear(batch);
    return rc;
}

static void removal_send(struct sweep *s)
{
    s->sent_ns = base_monotonic_ns();
    sto_rdb_committer_task(sto_rdb_committer_of(s->engine, s->op->scope.tenant.account),
                           &s->removal, false);
}

/* Returns the limits of rule 4. */
static struct turn turn_of(const struct sweep *s)
{
    uint64_t now_ns = base_monotonic_ns();
    if (now_ns - s->sent_ns >= LIM_BACKGROUND_WAIT_MS * NS_PER_MS)
        return (struct turn){LIM_SWEEP_FOUND_CELLS, now_ns + LIM_BATCH_SHARED_MAX_US * NS_PER_US};
    return (struct turn){LIM_SWEEP_SLICE_CELLS, now_ns + LIM_SWEEP_SLICE_US * NS_PER_US};
}

static void run_removal(struct rdb_committer *c, struct rdb_task *task)
{
    struct sweep *s = (struct sweep *)task;
    enum err rc = sto_rdb_drop_goes_on(s->engine, s->op);
    s->cells_of_turn = 0;
    if (rc == ERR_OK)
        rc = remove_slice(s, &c->batch, turn_of(s));
    if (task->priority != STO_PRIORITY_BACKGROUND)
        sto_rdb_committer_charge(c, task->account, s->cells_of_turn);
    if (rc != ERR_OK || (s->is_over && s->done == s->found.len)) {
        answer(s, rc);
    } else if (s->done < s->found.len) {
        removal_send(s);
    } else {
        base_buf_truncate(&s->found, 0);
        s->found_cells = 0;
        look_on(s);
    }
}

static void remove_on(struct sweep *s)
{
    s->done = 0;
    s->is_in_column = false;
    removal_send(s);
}

/* --- start ----------------------------------------------------------------------------------- */

void sto_rdb_sweep(struct rdb_engine *e, struct sto_drop_op *op)
{
    struct sweep *s = base_new(sizeof(*s));
    sto_rdb_shuttle_enter(e);
    op->engine_state = s;
    op->look_ns = 0;
    s->engine = e;
    s->op = op;
    s->removal = (struct rdb_task){
        .account = op->scope.tenant.account, .priority = op->priority, .run = run_removal};
    base_buf_init(&s->found, LIM_SWEEP_FOUND_BYTES + sizeof(struct found_column) + STO_KEY_MAX);
    sto_rdb_expiry_init(&s->expiry, op->scope.schema);
    sto_rdb_drop_slice_init(&s->slice, e, op);
    enum err rc = sto_rdb_usable(e, &op->detail);
    if (rc != ERR_OK || !sto_key_bounds_of_rows(&op->scope, &op->range, &s->bounds)) {
        answer(s, rc);
        return;
    }
    memcpy(s->position, s->bounds.lower, s->bounds.lower_len);
    s->position_len = s->bounds.lower_len;
    look_on(s);
}

/*
 * storage/rocksdb/apply_check.c - evaluates whether a filter emits anything of a row.
 *
 * 1. The row is walked as often as the filter requires (storage/visit.h), until it emits a cell.
 * 2. The walk is bounded: on a committer by the time that others can wait for, on a reader by
 *    LIM_CHECK_STEPS. A filter with regular expressions always runs on readers, because its time is
 *    not known.
 * 3. On a committer the walk jumps over many removed keys, and is repeated without jumps if those
 *    may have missed a cell.
 */
#include "storage/rocksdb/apply_row.h"
#include "storage/rocksdb/rdb.h"

#include "storage/visit.h"

#include "base/banned.h"

#define BYTES_OF_A_STEP KIB
#define NS_OF_A_LOOK    250000 /* time of a cell's matches between two checks */

struct any_sink {
    struct sto_row_sink sink; /* first */
    bool any;
};

static void any_cell(struct sto_row_sink *sink, const struct sto_cell *cell)
{
    (void)cell;
    ((struct any_sink *)sink)->any = true;
}

static void any_row(struct sto_row_sink *sink, struct slice row_key)
{
    (void)sink;
    (void)row_key;
}

static void any_end(struct sto_row_sink *sink)
{
    (void)sink;
}

static bool any_is_full(struct sto_row_sink *sink)
{
    return ((struct any_sink *)sink)->any;
}

/* One walk over the row. */
struct walk {
    struct rdb_row *row;
    struct sto_visit *visit;
    uint64_t steps;     /* cells visited, and large values */
    uint64_t cost;      /* of a cell, in the row's steps; 0: one, and the filter's estimate */
    uint64_t filter_ns; /* estimated time that does not add up to a step yet */
    bool may_jump;
    bool has_jumped;
    size_t column_len; /* of the column under the cursor, a prefix of column; 0: none */
    uint8_t column[STO_KEY_COLUMN_MAX];
    uint8_t qualifier[LIM_QUALIFIER * 2];
};

static enum err seek(struct walk *w, size_t len)
{
    struct slice key = base_slice(w->row->key, len);
    if (!w->may_jump)
        return sto_rdb_row_seek(w->row, key);
    sto_rdb_row_cursor_bound(&w->row->cursor, COLUMN_REMOVED_MAX);
    return sto_rdb_row_cursor_seek(&w->row->cursor, key);
}

static enum err seek_behind_column(struct walk *w)
{
    memcpy(w->row->key, w->column, w->column_len);
    sto_key_after(w->row->key, w->column_len);
    /* Only bytes after the row's prefix changed: a column's terminator is there. */
    return seek(w, w->column_len);
}

static enum err seek_version(struct walk *w)
{
    memcpy(w->row->key, w->column, w->column_len);
    return seek(w, sto_key_version(w->row->key, w->column_len, w->visit->seek_us));
}

/* Moves from the cell under the cursor to where the visit continues. */
static enum err go_on(struct walk *w, enum sto_visit_next next)
{
    struct rdb_row *r = w->row;
    switch (next) {
    case STO_VISIT_NEXT:
        return w->may_jump
                   ? sto_rdb_row_jump(r, base_slice(w->column, w->column_len), &w->has_jumped)
                   : sto_rdb_row_next(r);
    case STO_VISIT_SKIP_COLUMN:
        return seek_behind_column(w);
    case STO_VISIT_SEEK_COLUMN:
        return seek(
            w, sto_key_column(r->key, r->row_len, w->visit->seek_family, w->visit->seek_qualifier));
    case STO_VISIT_SEEK_VERSION:
        return seek_version(w);
    case STO_VISIT_SKIP_ROW:
        break;
    }
    r->cursor.at_end = true;
    return ERR_OK;
}

/* Moves to where a pass starts. */
static enum err start(struct walk *w, enum sto_visit_next next)
{
    w->column_len = 0;
    if (next != STO_VISIT_NEXT)
        return go_on(w, next);
    return seek(w, sto_key_family(w->row->key, w->row->row_len, 1)); /* after the header */
}

/* Returns the filter's work since the last call, in the row's steps. */
static uint64_t filter_steps(struct walk *w)
{
    uint64_t ns = sto_filter_work(w->visit->run);
    w->row->work_ns += ns;
    w->filter_ns += ns;
    uint64_t steps = w->filter_ns / RDB_NS_OF_A_STEP;
    w->filter_ns %= RDB_NS_OF_A_STEP;
    return steps;
}

/* Counts a cell shown to the filter, with value_len bytes of its value. */
static enum err cell_step(struct walk *w, size_t value_len)
{
    uint64_t steps = w->cost == 0 ? 1 + filter_steps(w) : w->cost;
    return sto_rdb_row_step(w->row, steps + value_len / BYTES_OF_A_STEP);
}

/* Has the filter match the expensive parts of the cell, with checks in between. */
static enum err cell_prepare(struct walk *w, int64_t timestamp_us, struct slice value)
{
    enum err rc = ERR_OK;
    while (rc == ERR_OK && w->cost == 0 &&
           !sto_visit_prepare(w->visit, timestamp_us, value, NS_OF_A_LOOK))
        rc = sto_rdb_row_step(w->row, filter_steps(w));
    return rc == ERR_OK ? sto_visit_error(w->visit, &w->row->op->detail) : rc;
}

/* Shows the cell under the cursor to the filter. */
static enum err visit_cell(struct walk *w, enum sto_visit_next *out_next)
{
    const struct rdb_row_cursor *c = &w->row->cursor;
    struct sto_key parts;
    if (sto_key_decode(c->key, &parts) != ERR_OK || parts.family == 0)
        return ERR_CORRUPT;
    if (!base_slice_equal(parts.column_prefix, base_slice(w->column, w->column_len))) {
        memcpy(w->column, parts.column_prefix.ptr, parts.column_prefix.len);
        w->column_len = parts.column_prefix.len;
        size_t at = w->row->row_len + 2;
        struct slice escaped = base_slice(w->column + at, parts.qualifier_escaped.len);
        *out_next =
            sto_visit_column(w->visit, parts.family, sto_key_unescape(escaped, w->qualifier));
        if (*out_next != STO_VISIT_NEXT)
            return cell_step(w, 0);
    }
    w->steps += c->value.len / BYTES_OF_A_STEP; /* the filter may read it */
    w->row->bytes_seen += c->key.len - w->row->row_len + c->value.len;
    enum err rc = cell_prepare(w, parts.timestamp_us, c->value);
    if (rc != ERR_OK)
        return rc;
    *out_next = sto_visit_version(w->visit, parts.timestamp_us, c->value);
    return cell_step(w, c->value.len);
}

static enum err look_too_long(const struct walk *w)
{
    return base_fail(&w->row->op->detail, ERR_TOO_BIG,
                     "the predicate would look at more than %d cells (or KiB of values) of the "
                     "row; narrow it to a family or a column",
                     LIM_CHECK_STEPS);
}

/* Runs one pass; ends early when the sink receives a cell. */
static enum err pass(struct walk *w, const struct any_sink *sink, enum sto_visit_next next)
{
    enum err rc = start(w, next);
    while (rc == ERR_OK && !w->row->cursor.at_end) {
        rc = ++w->steps > LIM_CHECK_STEPS ? look_too_long(w) : visit_cell(w, &next);
        if (rc != ERR_OK || sink->any)
            return sink->any ? ERR_OK : rc;
        rc = go_on(w, next);
    }
    return rc;
}

static enum err walk_row(struct walk *w, struct any_sink *sink, bool may_jump)
{
    struct sto_visit *v = w->visit;
    w->steps = 0;
    w->may_jump = may_jump;
    w->has_jumped = false;
    sink->any = false;
    enum err rc = pass(w, sink, sto_visit_row_begin(v, w->row->op->row_key));
    while (rc == ERR_OK && !sink->any && sto_visit_row_end(v))
        rc = pass(w, sink, sto_visit_row_again(v));
    return rc;
}

/* Walks the row on a committer. */
static enum err walk_row_with_jumps(struct walk *w, struct any_sink *sink)
{
    bool miss_none = false;
    enum err rc = walk_row(w, sink, true);
    if (rc == ERR_OK && !w->has_jumped)
        return ERR_OK;
    if (rc == ERR_OK)
        rc = sto_rdb_row_jumps_miss_none(w->row, &miss_none);
    if (rc == ERR_OK ? miss_none : rc != ERR_CANCELLED || w->row->is_dear)
        return rc;
    return walk_row(w, sink, false);
}

enum err sto_rdb_row_matches(struct rdb_row *r, const struct sto_check *check, bool *out,
                             struct errbuf *eb)
{
    *out = false;
    if (r->now.cells == 0)
        return ERR_OK;
    struct any_sink sink = {.sink = {.row_begin = any_row,
                                     .cell = any_cell,
                                     .row_end = any_end,
                                     .row_undo = any_end,
                                     .is_full = any_is_full}};
    struct sto_read_spec spec = {
        .row_key = r->op->row_key, .view = check->view, .filter = check->predicate};
    uint64_t cost = check->predicate == NULL ? 1 : sto_filter_steps(check->predicate);
    if (cost == UINT32_MAX && r->steps_max != UINT64_MAX)
        return sto_rdb_row_step(r, r->steps_max + 1); /* a reader computes it */
    struct sto_visit visit;
    enum err rc = sto_visit_open(&visit, r->op->scope.schema, &spec, &sink.sink, eb);
    if (rc != ERR_OK)
        return rc;
    visit.now_us = r->server_us;
    struct walk walk; /* large: not zeroed */
    walk.row = r;
    walk.visit = &visit;
    walk.cost = cost == UINT32_MAX ? 0 : cost;
    walk.filter_ns = 0;
    rc = r->removed_max != 0 ? walk_row_with_jumps(&walk, &sink) : walk_row(&walk, &sink, false);
    if (rc == ERR_OK)
        rc = sto_visit_error(&visit, eb);
    sto_visit_close(&visit);
    *out = sink.any;
    return rc;
}

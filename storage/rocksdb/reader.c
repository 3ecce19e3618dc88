/*
 * storage/rocksdb/reader.c - one iterator, one row at a time, seeks only where steps would be many.
 *
 *   where a slice ends                       what the next one begins with
 *   between rows (sink full, limits)         bounds.lower = behind the last row given
 *   inside a small row, others before it     row undone, bounds.lower = that row
 *   inside the first row, on the caller      row undone, a reader takes over in the same slice
 *   inside the first or a large row, on a    the iterator itself, kept in the cursor
 *   reader
 *
 * 1. A row is entered at its header only, or, for a single row, where the columns asked for begin;
 *    anything else at the front of a row is damage.
 * 2. row[] is a copy of the row prefix, column[] of the column prefix under the iterator: what the
 *    iterator shows is compared with them, never with its own older memory.
 * 3. The sink hears of a row at its first visible cell; begun says that it did.
 * 4. reads_open counts cursors that have an iterator; the gate is looked at after counting, so a
 *    purge that closed the gate and then sees 0 knows that nobody reads.
 */
#include "storage/rocksdb/reader.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "storage/keycodec.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/rdb.h"
#include "storage/value.h"

#include "base/banned.h"

#define STEPS_BEFORE_SEEK 6
#define CACHE_TIER_ONLY   1
#define ROW_AGAIN_BYTES   (64 * KIB) /* a row up to this is rather read again than kept open */
#define ROW_BYTES_UNKNOWN UINT64_MAX

enum outcome {
    SLICE_FULL,       /* more to come, position is in bounds.lower */
    SLICE_HELD,       /* more to come, the iterator stands inside a row */
    SLICE_END,        /* nothing more */
    SLICE_INCOMPLETE, /* memory did not have it, or it takes too long here: to a reader */
    SLICE_ERROR,
};

struct sto_read_cursor {
    struct rdb_engine *engine;
    struct sto_read_op *op;
    bool on_reader;
    rocksdb_iterator_t *iterator; /* NULL between slices unless a row is open */
    rocksdb_readoptions_t *options;
    size_t table_len;

    /* the row under the iterator; row_len 0: none */
    size_t row_len;
    bool begun;
    bool full;
    bool finished;      /* a single row has nothing more that was asked for */
    uint64_t row_bytes; /* from its header */

    /* the column under the iterator; column_len 0: none */
    size_t column_len;
    const struct sto_family *family; /* NULL: not in the schema */
    struct slice qualifier;
    uint32_t versions_left;
    int64_t oldest_us;

    /* this slice */
    uint64_t steps;
    uint64_t rows;
    int64_t now_us;

    struct sto_key_bounds bounds;
    uint8_t row[STO_KEY_ROW_MAX];
    uint8_t column[STO_KEY_COLUMN_MAX];
    uint8_t target[STO_KEY_COLUMN_MAX];
    uint8_t row_key_scratch[2 * LIM_ROW_KEY];
    uint8_t qualifier_scratch[2 * LIM_QUALIFIER];
};

/* --- moving --------------------------------------------------------------------------------- */

static struct slice key_now(const struct sto_read_cursor *c)
{
    struct slice key;
    key.ptr = (const uint8_t *)rocksdb_iter_key(c->iterator, &key.len);
    return key;
}

static void step(struct sto_read_cursor *c)
{
    c->steps++;
    rocksdb_iter_next(c->iterator);
}

/* To the first key at or behind target: a few steps if that reaches it, else a seek. */
static void skip_to(struct sto_read_cursor *c, struct slice target)
{
    for (int i = 0; i < STEPS_BEFORE_SEEK; i++) {
        step(c);
        if (!rocksdb_iter_valid(c->iterator) || base_slice_compare(key_now(c), target) >= 0)
            return;
    }
    c->steps++;
    rocksdb_iter_seek(c->iterator, (const char *)target.ptr, target.len);
}

static void skip_column(struct sto_read_cursor *c)
{
    memcpy(c->target, c->column, c->column_len);
    sto_key_after(c->target, c->column_len);
    skip_to(c, base_slice(c->target, c->column_len));
}

static void skip_row(struct sto_read_cursor *c)
{
    c->finished = c->op->spec.single_row;
    if (c->finished)
        return;
    memcpy(c->target, c->row, c->row_len);
    sto_key_after(c->target, c->row_len);
    skip_to(c, base_slice(c->target, c->row_len));
}

static void skip_to_family(struct sto_read_cursor *c, uint16_t family)
{
    memcpy(c->target, c->row, c->row_len);
    skip_to(c, base_slice(c->target, sto_key_family(c->target, c->row_len, family)));
}

/* Where the columns asked for begin in the current row, written to c->target. */
static struct slice first_wanted(struct sto_read_cursor *c)
{
    const struct sto_read_spec *spec = &c->op->spec;
    memcpy(c->target, c->row, c->row_len);
    if (spec->one_column)
        return base_slice(c->target,
                          sto_key_column(c->target, c->row_len, spec->family, spec->qualifier));
    return base_slice(c->target,
                      sto_key_family(c->target, c->row_len, spec->family != 0 ? spec->family : 1));
}

/* --- iterator ------------------------------------------------------------------------------- */

static void iterator_open(struct sto_read_cursor *c, bool from_memory)
{
    struct slice lower = base_slice(c->bounds.lower, c->bounds.lower_len);
    struct slice upper = base_slice(c->bounds.upper, c->bounds.upper_len);
    c->options = sto_rdb_scan_options(lower, upper);
    if (c->op->spec.single_row) {
        rocksdb_readoptions_set_total_order_seek(c->options, 0);
        rocksdb_readoptions_set_prefix_same_as_start(c->options, 1);
    }
    if (from_memory)
        rocksdb_readoptions_set_read_tier(c->options, CACHE_TIER_ONLY);
    c->iterator = rocksdb_create_iterator_cf(c->engine->db.handle, c->options, c->engine->db.cells);
    c->row_len = 0;
    c->column_len = 0;
    c->begun = false;
    c->finished = false;
    if (c->op->spec.single_row) {
        memcpy(c->row, lower.ptr, lower.len);
        c->row_len = lower.len;
        c->row_bytes = ROW_BYTES_UNKNOWN;
        lower = first_wanted(c);
    }
    c->steps++;
    rocksdb_iter_seek(c->iterator, (const char *)lower.ptr, lower.len);
}

static void iterator_close(struct sto_read_cursor *c)
{
    if (c->iterator == NULL)
        return;
    rocksdb_iter_destroy(c->iterator);
    rocksdb_readoptions_destroy(c->options);
    c->iterator = NULL;
    atomic_fetch_sub(&c->op->scope.tenant.account->reads_open, 1);
}

static enum outcome fail(struct sto_read_cursor *c, enum err rc, const char *what)
{
    c->op->result = base_fail(&c->op->detail, rc, "%s", what);
    return SLICE_ERROR;
}

/* --- rows ----------------------------------------------------------------------------------- */

/* The current row gives nothing more to this slice and comes again in the next. */
static void row_put_back(struct sto_read_cursor *c)
{
    if (c->begun)
        c->op->sink->row_undo(c->op->sink);
    c->begun = false;
    if (c->row_len > 0) {
        memcpy(c->bounds.lower, c->row, c->row_len);
        c->bounds.lower_len = c->row_len;
    }
}

/* True when the row limit is reached. */
static bool row_finish(struct sto_read_cursor *c)
{
    struct sto_read_op *op = c->op;
    memcpy(c->bounds.lower, c->row, c->row_len);
    c->bounds.lower_len = c->row_len;
    sto_key_after(c->bounds.lower, c->row_len);
    c->row_len = 0;
    c->column_len = 0;
    c->rows++;
    if (!c->begun)
        return false;
    c->begun = false;
    op->sink->row_end(op->sink);
    op->rows_given++;
    c->full = c->full || op->sink->is_full(op->sink);
    return op->spec.row_limit != 0 && op->rows_given >= op->spec.row_limit;
}

/* The iterator stands on the first key of a row. */
static enum outcome row_enter(struct sto_read_cursor *c, struct slice key)
{
    struct slice table = base_slice(c->bounds.upper, c->table_len - 1);
    size_t row_len = base_slice_starts_with(key, table) && key.ptr[c->table_len - 1] == '#'
                         ? sto_key_find_end(key, c->table_len)
                         : 0;
    struct slice value;
    value.ptr = (const uint8_t *)rocksdb_iter_value(c->iterator, &value.len);
    struct sto_row_head head;
    if (row_len == 0 || row_len > STO_KEY_ROW_MAX || key.len != row_len + 2 ||
        key.ptr[row_len] != 0 || key.ptr[row_len + 1] != 0 ||
        sto_row_head_decode(value, &head) != ERR_OK)
        return fail(c, ERR_CORRUPT, "a stored row is damaged");
    memcpy(c->row, key.ptr, row_len);
    c->row_len = row_len;
    c->row_bytes = head.bytes;
    c->column_len = 0;
    if (c->op->spec.family != 0)
        skip_to(c, first_wanted(c));
    else
        step(c);
    return SLICE_FULL;
}

/* --- cells ---------------------------------------------------------------------------------- */

/* A new column is under the iterator: what of it is visible. False when its key is damaged. */
static bool column_enter(struct sto_read_cursor *c, struct slice key)
{
    size_t column_len = sto_key_find_end(key, c->row_len + 2);
    if (column_len == 0 || key.len != column_len + 8 || column_len > STO_KEY_COLUMN_MAX)
        return false;
    memcpy(c->column, key.ptr, column_len);
    c->column_len = column_len;
    const struct sto_read_spec *spec = &c->op->spec;
    uint16_t number = (uint16_t)(key.ptr[c->row_len] << 8 | key.ptr[c->row_len + 1]);
    if (number == 0)
        return false;
    c->family = sto_schema_family_by_number(c->op->scope.schema, number);
    if (c->family == NULL)
        return true;
    const struct sto_gc *gc = &c->family->gc;
    uint32_t versions = gc->max_versions;
    if (spec->versions != 0 && (versions == 0 || spec->versions < versions))
        versions = spec->versions;
    c->versions_left = versions == 0 ? UINT32_MAX : versions;
    c->oldest_us = gc->max_age_us == 0 || gc->max_age_us > (uint64_t)c->now_us
                       ? 0
                       : c->now_us - (int64_t)gc->max_age_us;
    c->qualifier =
        sto_key_unescape(base_slice(c->column + c->row_len + 2, column_len - 2 - (c->row_len + 2)),
                         c->qualifier_scratch);
    return true;
}

/* Whether the column under the iterator is one that was asked for; moves on when not. */
static bool column_is_wanted(struct sto_read_cursor *c)
{
    const struct sto_read_spec *spec = &c->op->spec;
    if (spec->family == 0) {
        if (c->family != NULL)
            return true;
        uint16_t number = (uint16_t)(c->column[c->row_len] << 8 | c->column[c->row_len + 1]);
        if (number == UINT16_MAX)
            skip_row(c);
        else
            skip_to_family(c, (uint16_t)(number + 1));
        return false;
    }
    if (c->family != NULL && c->family->number == spec->family &&
        (!spec->one_column || base_slice_equal(c->qualifier, spec->qualifier)))
        return true;
    skip_row(c); /* the row was entered where they begin: this is behind them */
    return false;
}

static enum outcome give_cell(struct sto_read_cursor *c, int64_t timestamp_us)
{
    struct sto_read_op *op = c->op;
    struct slice stored;
    stored.ptr = (const uint8_t *)rocksdb_iter_value(c->iterator, &stored.len);
    struct sto_stored_cell cell;
    if (sto_cell_decode(stored, &cell) != ERR_OK)
        return fail(c, ERR_CORRUPT, "a stored cell is damaged");
    if (!c->begun) {
        struct slice escaped = base_slice(c->row + c->table_len, c->row_len - 2 - c->table_len);
        op->sink->row_begin(op->sink, sto_key_unescape(escaped, c->row_key_scratch));
        c->begun = true;
    }
    struct sto_cell given = {.family = c->family,
                             .qualifier = c->qualifier,
                             .timestamp_us = timestamp_us,
                             .value = cell.bytes};
    op->sink->cell(op->sink, &given);
    c->full = op->sink->is_full(op->sink);
    return SLICE_FULL;
}

/* The iterator stands on a cell of the current row. */
static enum outcome cell_visit(struct sto_read_cursor *c, struct slice key)
{
    c->op->cells_seen++;
    bool same_column =
        c->column_len != 0 && key.len == c->column_len + 8 &&
        memcmp(key.ptr + c->row_len, c->column + c->row_len, c->column_len - c->row_len) == 0;
    if (!same_column && !column_enter(c, key))
        return fail(c, ERR_CORRUPT, "a stored cell is damaged");
    if (!same_column && !column_is_wanted(c))
        return SLICE_FULL;
    uint64_t timestamp = ~sto_get_be64(key.ptr + c->column_len);
    if (timestamp > INT64_MAX)
        return fail(c, ERR_CORRUPT, "a stored cell is damaged");
    if (c->versions_left == 0 || (int64_t)timestamp < c->oldest_us) {
        skip_column(c);
        return SLICE_FULL;
    }
    enum outcome rc = give_cell(c, (int64_t)timestamp);
    if (rc != SLICE_FULL)
        return rc;
    if (c->versions_left != UINT32_MAX)
        c->versions_left--;
    step(c);
    return SLICE_FULL;
}

/* --- slices --------------------------------------------------------------------------------- */

/* The slice has to end here, inside a row. */
static enum outcome slice_break(struct sto_read_cursor *c)
{
    if (c->rows > 0 && (!c->on_reader || c->row_bytes <= ROW_AGAIN_BYTES)) {
        row_put_back(c);
        return SLICE_FULL;
    }
    return c->on_reader ? SLICE_HELD : SLICE_INCOMPLETE;
}

static bool slice_is_over(const struct sto_read_cursor *c)
{
    uint64_t steps_max = c->on_reader ? LIM_SLICE_STEPS : RDB_INLINE_STEPS;
    return c->full || c->steps >= steps_max;
}

static enum outcome slice_rows(struct sto_read_cursor *c)
{
    while (!c->finished && rocksdb_iter_valid(c->iterator)) {
        struct slice key = key_now(c);
        bool same_row =
            c->row_len != 0 && key.len > c->row_len && memcmp(key.ptr, c->row, c->row_len) == 0;
        if (!same_row && c->row_len != 0) {
            if (row_finish(c))
                return SLICE_END;
            if (slice_is_over(c) || c->rows >= LIM_SLICE_ROWS)
                return SLICE_FULL;
        }
        if (same_row && slice_is_over(c))
            return slice_break(c);
        enum outcome rc = same_row ? cell_visit(c, key) : row_enter(c, key);
        if (rc != SLICE_FULL)
            return rc;
    }
    char *error = NULL;
    rocksdb_iter_get_error(c->iterator, &error);
    if (error != NULL && !c->on_reader && sto_rdb_error_is_incomplete(error)) {
        rocksdb_free(error);
        return SLICE_INCOMPLETE;
    }
    if (error != NULL)
        return fail(c, sto_rdb_fail(c->engine, "read", error), "the rows cannot be read");
    if (c->row_len != 0)
        (void)row_finish(c); /* the last one in any case */
    return SLICE_END;
}

static enum outcome slice_run(struct sto_read_cursor *c)
{
    struct sto_account *account = c->op->scope.tenant.account;
    bool resumes = c->iterator != NULL;
    if (!resumes)
        atomic_fetch_add(&account->reads_open, 1);
    c->steps = 0;
    c->rows = 0;
    c->full = false;
    c->now_us = base_wall_us();
    enum outcome rc = SLICE_ERROR;
    c->op->result = sto_rdb_gate_check(account, false, &c->op->detail);
    if (c->op->result == ERR_OK)
        c->op->result = sto_rdb_usable(c->engine, &c->op->detail);
    if (c->op->result == ERR_OK) {
        if (!resumes)
            iterator_open(c, !c->on_reader);
        rc = slice_rows(c);
    }
    if (rc == SLICE_INCOMPLETE)
        row_put_back(c);
    if (rc != SLICE_HELD) {
        if (c->iterator != NULL)
            iterator_close(c);
        else
            atomic_fetch_sub(&account->reads_open, 1);
    }
    return rc;
}

/* --- operations ------------------------------------------------------------------------------ */

static void run_done(struct base_msg *msg)
{
    struct sto_read_op *op =
        (struct sto_read_op *)((char *)msg - offsetof(struct sto_read_op, msg));
    op->done(op);
}

static void conclude(struct sto_read_op *op, enum outcome rc)
{
    op->state = rc == SLICE_END     ? STO_READ_END
                : rc == SLICE_ERROR ? STO_READ_FAILED
                                    : STO_READ_MORE;
}

static void run_on_reader(struct base_msg *msg)
{
    struct sto_read_op *op =
        (struct sto_read_op *)((char *)msg - offsetof(struct sto_read_op, msg));
    op->cursor->on_reader = true;
    conclude(op, slice_run(op->cursor));
    op->msg.run = run_done;
    base_mailbox_push(op->reply_to, &op->msg);
}

static bool answer_failure(struct sto_read_op *op, bool at_once)
{
    op->state = STO_READ_FAILED;
    if (at_once)
        return true;
    op->msg.run = run_done;
    base_mailbox_push(op->reply_to, &op->msg);
    return false;
}

static void cursor_init(struct sto_read_cursor *c, struct rdb_engine *e, struct sto_read_op *op)
{
    c->engine = e;
    c->op = op;
    c->on_reader = false;
    c->iterator = NULL;
    c->options = NULL;
    c->row_len = 0;
    c->column_len = 0;
    c->begun = false;
    uint8_t table[STO_KEY_TABLE_MAX];
    c->table_len = sto_key_table(&op->scope, table);
}

/* Bounds of the whole operation. False: it is empty, or wrong (op->result says so). */
static bool cursor_bounds(struct sto_read_cursor *c)
{
    struct sto_read_op *op = c->op;
    const struct sto_read_spec *spec = &op->spec;
    op->result = ERR_OK;
    if (spec->range.start.len > LIM_ROW_KEY || spec->range.end.len > LIM_ROW_KEY ||
        spec->qualifier.len > LIM_QUALIFIER || (spec->single_row && spec->range.start.len == 0) ||
        (spec->one_column && spec->family == 0)) {
        op->result = base_fail(&op->detail, ERR_INVALID, "the rows asked for cannot exist");
        return false;
    }
    if (!spec->single_row)
        return sto_key_bounds_of_rows(&op->scope, &spec->range, &c->bounds);
    sto_key_bounds_of_row(&op->scope, spec->range.start, &c->bounds);
    return true;
}

/* A cursor on the heap, which lives until sto_read_finish. */
static bool cursor_keep(struct sto_read_op *op, const struct sto_read_cursor *from)
{
    op->cursor = base_try_alloc(sizeof(*op->cursor));
    if (op->cursor == NULL) {
        op->result = base_fail(&op->detail, ERR_NO_MEMORY, "no memory for the scan");
        return false;
    }
    cursor_init(op->cursor, from->engine, op);
    op->cursor->bounds.lower_len = from->bounds.lower_len;
    op->cursor->bounds.upper_len = from->bounds.upper_len;
    memcpy(op->cursor->bounds.lower, from->bounds.lower, from->bounds.lower_len);
    memcpy(op->cursor->bounds.upper, from->bounds.upper, from->bounds.upper_len);
    return true;
}

static bool to_reader(struct rdb_engine *e, struct sto_read_op *op, bool at_once)
{
    op->msg.run = run_on_reader;
    if (sto_rdb_pool_push(&e->pool, &op->msg, false))
        return false;
    op->result = base_fail(&op->detail, ERR_OVERLOADED, "the read queue is full; retry");
    return answer_failure(op, at_once);
}

bool sto_rdb_read_rows(struct sto_engine *engine, struct sto_read_op *op, bool try_inline)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    op->detail.text[0] = '\0';
    if (op->cursor != NULL && (op->cursor->iterator != NULL || !try_inline))
        return to_reader(e, op, try_inline);

    struct sto_read_cursor local; /* large: only what is used is ever touched */
    struct sto_read_cursor *c = op->cursor;
    if (c == NULL) {
        c = &local;
        cursor_init(c, e, op);
        op->result = sto_rdb_usable(e, &op->detail);
        if (op->result != ERR_OK)
            return answer_failure(op, try_inline);
        if (!cursor_bounds(c)) {
            if (op->result != ERR_OK)
                return answer_failure(op, try_inline);
            op->state = STO_READ_END;
            if (try_inline)
                return true;
            op->msg.run = run_done;
            base_mailbox_push(op->reply_to, &op->msg);
            return false;
        }
    }
    enum outcome rc = SLICE_INCOMPLETE;
    if (try_inline) {
        c->on_reader = false;
        rc = slice_run(c);
    }
    if ((rc == SLICE_INCOMPLETE || rc == SLICE_FULL) && op->cursor == NULL && !cursor_keep(op, c))
        return answer_failure(op, try_inline);
    if (rc == SLICE_INCOMPLETE)
        return to_reader(e, op, try_inline);
    conclude(op, rc);
    return true;
}

void sto_rdb_read_finish(struct sto_engine *engine, struct sto_read_op *op)
{
    (void)engine;
    if (op->cursor == NULL)
        return;
    iterator_close(op->cursor);
    base_free(op->cursor);
    op->cursor = NULL;
}

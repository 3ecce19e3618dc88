/*
 * storage/rocksdb/slice.c - one iterator, one row at a time, seeks only where steps would be many.
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
#include "storage/rocksdb/slice.h"

#include "base/clock.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/rdb.h"
#include "storage/value.h"

#include "base/banned.h"

#define STEPS_BEFORE_SEEK 6
#define CACHE_TIER_ONLY   1
#define ROW_AGAIN_BYTES   (64 * KIB) /* a row up to this is rather read again than kept open */
#define ROW_BYTES_UNKNOWN UINT64_MAX

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

void sto_rdb_slice_release(struct sto_read_cursor *c)
{
    if (c->iterator == NULL)
        return;
    rocksdb_iter_destroy(c->iterator);
    rocksdb_readoptions_destroy(c->options);
    c->iterator = NULL;
    atomic_fetch_sub(&c->op->scope.tenant.account->reads_open, 1);
}

static enum rdb_slice_end fail(struct sto_read_cursor *c, enum err rc, const char *what)
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
static enum rdb_slice_end row_enter(struct sto_read_cursor *c, struct slice key)
{
    struct slice table = base_slice(c->bounds.upper, c->table_len - 1);
    size_t row_len = base_slice_starts_with(key, table) && key.ptr[c->table_len - 1] == '#'
                         ? sto_key_find_end(key, c->table_len)
                         : 0;
    struct slice value;
    value.ptr = (const uint8_t *)rocksdb_iter_value(c->iterator, &value.len);
    struct sto_row_head head;
    if (row_len == 0 || row_len - c->table_len > sizeof(c->row_key_scratch) ||
        key.len != row_len + 2 || key.ptr[row_len] != 0 || key.ptr[row_len + 1] != 0 ||
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
    if (column_len == 0 || key.len != column_len + 8 ||
        column_len - c->row_len - 4 > sizeof(c->qualifier_scratch))
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
    c->oldest_us = sto_gc_oldest_us(gc, c->now_us);
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

static enum rdb_slice_end give_cell(struct sto_read_cursor *c, int64_t timestamp_us)
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
static enum rdb_slice_end cell_visit(struct sto_read_cursor *c, struct slice key)
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
    enum rdb_slice_end rc = give_cell(c, (int64_t)timestamp);
    if (rc != SLICE_FULL)
        return rc;
    if (c->versions_left != UINT32_MAX)
        c->versions_left--;
    step(c);
    return SLICE_FULL;
}

/* --- slices --------------------------------------------------------------------------------- */

/* The slice has to end here, inside a row. */
static enum rdb_slice_end slice_break(struct sto_read_cursor *c)
{
    if (c->rows > 0 && (!c->on_reader || c->row_bytes <= ROW_AGAIN_BYTES)) {
        row_put_back(c);
        return SLICE_FULL;
    }
    return c->on_reader ? SLICE_HELD : SLICE_INCOMPLETE;
}

static bool slice_is_over(const struct sto_read_cursor *c)
{
    uint64_t steps_max = c->on_reader ? LIM_SLICE_STEPS : LIM_INLINE_STEPS;
    return c->full || c->steps >= steps_max;
}

static enum rdb_slice_end slice_rows(struct sto_read_cursor *c)
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
        enum rdb_slice_end rc = same_row ? cell_visit(c, key) : row_enter(c, key);
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

enum rdb_slice_end sto_rdb_slice_run(struct sto_read_cursor *c)
{
    struct sto_account *account = c->op->scope.tenant.account;
    bool resumes = c->iterator != NULL;
    if (!resumes)
        atomic_fetch_add(&account->reads_open, 1);
    c->steps = 0;
    c->rows = 0;
    c->full = false;
    c->now_us = base_wall_us();
    enum rdb_slice_end rc = SLICE_ERROR;
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
            sto_rdb_slice_release(c);
        else
            atomic_fetch_sub(&account->reads_open, 1);
    }
    return rc;
}

void sto_rdb_cursor_init(struct sto_read_cursor *c, struct rdb_engine *e, struct sto_read_op *op)
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

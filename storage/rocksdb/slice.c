/*
 * storage/rocksdb/slice.c - visits row after row, and decides where a slice ends.
 *
 *   where a slice ends                       what the next one starts with
 *   between rows (sink full, limits)         position after the last row emitted
 *   inside a small row, others before it     row undone, position at that row
 *   inside the first row, on the caller      row undone, a reader continues the same slice
 *   inside the first or a large row, on a    the key under the iterator; after that the row is
 *   reader                                   watched (long_row.h)
 *
 * 1. A row is entered at its header or, if it is the only one of its range and only some columns
 *    are requested, where these columns start; anything else at the start of a row is damage.
 * 2. row[] is a copy of the row prefix, column[] of the column prefix under the iterator: new keys
 *    of the iterator are compared with these copies, never with its own older memory.
 * 3. A reversed read finds the previous row with one seek backwards, then walks it forwards.
 * 4. reads_open counts running slices; the gate is checked after counting, so a purge that closed
 *    the gate and then sees 0 knows that there is no read.
 * 5. A row that turned out to need another slice, and may have been written to since the iterator
 *    was created, is restarted, watched: its earlier state is not known.
 * 6. A row is over when the iterator has visited as many cells as its header counts, in each pass.
 *    After a jump (is_blind) a lower count shows that a cell was missed: the row is restarted.
 */
#include "storage/rocksdb/slice.h"

#include "base/clock.h"
#include "storage/rocksdb/compat.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/slice_look.h"
#include "storage/rocksdb/slice_move.h"
#include "storage/rocksdb/slice_range.h"
#include "storage/value.h"

#include "base/banned.h"

#define ROW_AGAIN_BYTES   (64 * KIB) /* rows up to this size are reread rather than kept open */
#define ROW_BYTES_UNKNOWN UINT64_MAX
#define BYTES_OF_A_STEP   KIB
#define ROW_CHANGED                                                                                \
    "the row was written to while it was being read, and what it was is kept for 10 s only; read " \
    "it again, faster, or fewer of its cells at a time"
_Static_assert(LIM_ROW_SNAPSHOT_MS == 10000, "the text says so");

/* --- rows ----------------------------------------------------------------------------------- */

/* Undoes the output of the current row; the next slice starts with it. */
static void row_put_back(struct sto_read_cursor *c)
{
    if (c->row_len == 0)
        return;
    if (c->visit.begun)
        c->op->sink->row_undo(c->op->sink);
    c->visit.begun = false;
    c->op->rows_seen -= c->row_seen;
    c->op->bytes_seen = c->bytes_before;
    c->op->cells_seen = c->cells_before;
    if (!c->is_point) {
        memcpy(c->position, c->row, c->row_len);
        c->position_len = c->row_len;
        if (c->op->spec.reversed)
            sto_key_after(c->position, c->position_len);
    }
    c->row_len = 0;
}

/* Rereads the row from its start in the same slice, with a new iterator. */
static enum rdb_slice_end row_again(struct sto_read_cursor *c)
{
    row_put_back(c);
    sto_rdb_range_close(c, false);
    c->full = false;
    return SLICE_AGAIN;
}

static enum rdb_slice_end row_restart(struct sto_read_cursor *c)
{
    c->steps = 0;
    c->clock.steps_next = 0;
    return row_again(c);
}

/* Tries the next kind of moves: on the row from its start or, if parts of it were already returned,
 * from the target on. */
static enum rdb_slice_end row_retry(struct sto_read_cursor *c)
{
    bool was_blind = c->is_blind && c->moves == RDB_MOVES_BLIND;
    c->moves = was_blind ? RDB_MOVES_EXACT : RDB_MOVES_UNBOUNDED;
    if (was_blind)
        return row_again(c);
    if (!c->on_reader)
        return SLICE_INCOMPLETE;
    bool goes_on = c->row_len != 0 && sto_rdb_long_row_is_open(&c->long_row);
    return goes_on ? SLICE_AGAIN : row_restart(c);
}

/* Returns why the iterator has no key; SLICE_FULL: it reached its end. */
static enum rdb_slice_end iterator_status(struct sto_read_cursor *c)
{
    char *error = NULL;
    rocksdb_iter_get_error(c->iterator, &error);
    if (error == NULL)
        return SLICE_FULL;
    bool is_stuck = sto_rdb_error_is_of_skips(error);
    if (!is_stuck && (c->on_reader || !sto_rdb_error_is_incomplete(error)))
        return sto_rdb_read_end(c, sto_rdb_read_failed(c->engine, error),
                                "the rows cannot be read");
    rocksdb_free(error);
    return is_stuck ? row_retry(c) : SLICE_INCOMPLETE;
}

static void note_passed(struct buf *last_passed, struct slice row_key)
{
    base_buf_truncate(last_passed, 0);
    (void)base_buf_append(last_passed, row_key); /* latches; the caller checks */
}

/* Ends the watch: later rows are read in their newest state. */
static void row_unwatch(struct sto_read_cursor *c)
{
    if (!sto_rdb_long_row_is_open(&c->long_row))
        return;
    sto_rdb_range_close(c, false);
    sto_rdb_long_row_close(&c->long_row);
}

/* Returns true when the row limit is reached. */
static bool row_finish(struct sto_read_cursor *c)
{
    struct sto_read_op *op = c->op;
    c->rows++;
    c->moves = RDB_MOVES_BLIND;
    if (op->last_passed != NULL && (op->spec.view == NULL || c->row_seen))
        note_passed(op->last_passed, c->visit.row_key);
    if (c->is_point) {
        sto_rdb_range_close(c, true);
    } else {
        memcpy(c->position, c->row, c->row_len);
        c->position_len = c->row_len;
        if (!op->spec.reversed)
            sto_key_after(c->position, c->position_len);
        c->must_move = op->spec.reversed || c->row_is_over;
        row_unwatch(c);
    }
    c->row_len = 0;
    if (!c->visit.begun)
        return false;
    op->rows_given++;
    op->cells_given += c->visit.cells_given;
    c->full = c->full || op->sink->is_full(op->sink);
    return op->spec.row_limit != 0 && op->rows_given >= op->spec.row_limit;
}

/* Returns the length of the row prefix at the start of key; 0: it is not a key of this table. */
static size_t row_prefix_of(const struct sto_read_cursor *c, struct slice key)
{
    struct slice table = base_slice(c->bounds.lower, c->table_len);
    size_t row_len = base_slice_starts_with(key, table) ? sto_key_find_end(key, c->table_len) : 0;
    size_t ends = c->table_len + 2; /* bytes beside the escaped row key */
    return row_len != 0 && row_len - ends <= sizeof(c->row_key_scratch) ? row_len : 0;
}

static void note_row_seen(struct sto_read_cursor *c)
{
    if (c->row_seen)
        return;
    c->row_seen = true;
    c->op->rows_seen++;
    c->op->bytes_seen += c->row_len - c->table_len;
}

/* Enters the row whose first key is under the iterator. */
static enum rdb_slice_end row_enter(struct sto_read_cursor *c)
{
    struct slice key = sto_rdb_key_now(c);
    struct slice value;
    value.ptr = (const uint8_t *)rocksdb_iter_value(c->iterator, &value.len);
    struct sto_row_head head;
    size_t row_len = row_prefix_of(c, key);
    if (row_len == 0 || key.len != row_len + 2 || key.ptr[row_len] != 0 ||
        key.ptr[row_len + 1] != 0 || sto_row_head_decode(value, &head) != ERR_OK)
        return sto_rdb_read_end(c, ERR_CORRUPT, "a stored row is damaged");
    memcpy(c->row, key.ptr, row_len);
    c->row_len = row_len;
    c->row_bytes = head.bytes;
    c->row_cells = head.cells > 0 ? head.cells : ROW_CELLS_UNKNOWN;
    c->cells_left = c->row_cells;
    c->is_blind = false;
    c->row_is_over = false;
    c->row_seen = false;
    c->bytes_before = c->op->bytes_seen;
    c->cells_before = c->op->cells_seen;
    if (c->op->spec.view == NULL) /* else at its first cell inside */
        note_row_seen(c);
    c->column_len = 0;
    c->visit.now_us = base_wall_us();
    struct slice escaped = base_slice(c->row + c->table_len, row_len - 2 - c->table_len);
    sto_rdb_move(c, sto_visit_row_begin(&c->visit, sto_key_unescape(escaped, c->row_key_scratch)));
    return SLICE_FULL;
}

/* Enters the row that contains the key under the iterator, at its first key. */
static enum rdb_slice_end row_enter_backwards(struct sto_read_cursor *c)
{
    struct slice key = sto_rdb_key_now(c);
    size_t row_len = row_prefix_of(c, key);
    if (row_len == 0)
        return sto_rdb_read_end(c, ERR_CORRUPT, "a stored row is damaged");
    memcpy(c->target, key.ptr, row_len);
    sto_rdb_seek(c, base_slice(c->target, row_len));
    if (rocksdb_iter_valid(c->iterator))
        return row_enter(c);
    enum rdb_slice_end rc = iterator_status(c);
    return rc == SLICE_FULL ? sto_rdb_read_end(c, ERR_CORRUPT, "a stored row is damaged") : rc;
}

/* Enters the only row of its range where its requested columns start. */
static void row_enter_point(struct sto_read_cursor *c)
{
    memcpy(c->row, c->bounds.lower, c->bounds.lower_len);
    c->row_len = c->bounds.lower_len;
    c->row_bytes = ROW_BYTES_UNKNOWN;
    c->row_cells = ROW_CELLS_UNKNOWN;
    c->row_seen = false;
    c->bytes_before = c->op->bytes_seen;
    c->cells_before = c->op->cells_seen;
    c->visit.now_us = base_wall_us();
    sto_rdb_move_from_start(c, sto_visit_row_begin(&c->visit, sto_rdb_range_point(c)));
}

static enum rdb_slice_end lost(struct sto_read_cursor *c)
{
    sto_rdb_damage_count(c->engine);
    return sto_rdb_read_end(c, ERR_CORRUPT, "the rows cannot be read");
}

/* Opens an iterator for the next range. SLICE_END: there is no further range; SLICE_INCOMPLETE:
 * reads from memory alone are not reliable near range tombstones (tombstones.h). Where there are no
 * range tombstones the iterator ignores them: in some releases it reports an unreadable block
 * reliably only then. */
static enum rdb_slice_end range_begin(struct sto_read_cursor *c)
{
    const struct rdb_tombstones *t = &c->engine->tombstones;
    uint64_t mark = sto_rdb_tombstones_mark(t, &c->op->scope.tenant);
    if (!c->on_reader && mark == 0 && sto_rdb_tombstones_hide_errors())
        return SLICE_INCOMPLETE;
    if (!sto_rdb_range_open(c, mark != 0))
        return SLICE_END;
    if (mark == 0 || sto_rdb_tombstones_still(t, mark))
        return SLICE_FULL;
    if (!c->on_reader)
        return SLICE_INCOMPLETE;
    sto_rdb_range_close(c, false);
    return sto_rdb_range_open(c, false) ? SLICE_FULL : SLICE_END;
}

/* Opens the iterator of the next slice inside a row, at the key where the last one ended. */
static enum rdb_slice_end row_resume(struct sto_read_cursor *c)
{
    const struct rdb_tombstones *t = &c->engine->tombstones;
    uint64_t mark = sto_rdb_tombstones_mark(t, &c->op->scope.tenant);
    bool is_there = sto_rdb_range_reopen(c, mark != 0);
    if (is_there && mark != 0 && !sto_rdb_tombstones_still(t, mark))
        is_there = sto_rdb_range_reopen(c, false);
    if (!is_there)
        return sto_rdb_read_end(c, ERR_UNAVAILABLE, ROW_CHANGED);
    enum err rc = sto_rdb_lost_check_key(c->engine, RDB_CF_CELLS, base_slice(c->row, c->row_len));
    if (rc != ERR_OK)
        return sto_rdb_read_end(c, rc, "the rows cannot be read");
    sto_rdb_seek(c, base_slice(c->target, c->target_len));
    return SLICE_FULL;
}

static bool goes_back(const struct sto_read_cursor *c)
{
    return c->op->spec.reversed && !c->is_point;
}

/* Enters the next row. SLICE_END: there is none. */
static enum rdb_slice_end row_find(struct sto_read_cursor *c)
{
    for (;;) {
        struct slice position = base_slice(c->position, c->position_len);
        if (c->iterator != NULL && c->must_move && goes_back(c)) {
            sto_rdb_seek_back(c, position);
        } else if (c->iterator != NULL && c->must_move) {
            sto_rdb_skip_to(c, c->cells_left == 0 ? RDB_SKIP_END_OF_ROW : RDB_SKIP_ROW, position);
        } else if (c->iterator == NULL) {
            enum rdb_slice_end rc = range_begin(c);
            if (rc != SLICE_FULL)
                return rc;
            if (c->iterator == NULL)
                return lost(c);
            if (c->is_point && c->visit.narrowed) {
                row_enter_point(c);
                return SLICE_FULL;
            }
            if (goes_back(c))
                sto_rdb_seek_back(c, base_slice(c->bounds.upper, c->bounds.upper_len));
            else
                sto_rdb_seek(c, base_slice(c->bounds.lower, c->bounds.lower_len));
        }
        c->must_move = false;
        if (rocksdb_iter_valid(c->iterator))
            return goes_back(c) ? row_enter_backwards(c) : row_enter(c);
        enum rdb_slice_end rc = iterator_status(c);
        if (rc != SLICE_FULL)
            return rc;
        if (c->ends_in_loss)
            return lost(c);
        sto_rdb_range_close(c, true);
    }
}

/* --- cells ---------------------------------------------------------------------------------- */

/* Enters the column under the iterator. False: its key is damaged. */
static bool column_enter(struct sto_read_cursor *c, struct slice key, enum sto_visit_next *out_next)
{
    size_t column_len = sto_key_find_end(key, c->row_len + 2);
    uint16_t family = (uint16_t)(key.ptr[c->row_len] << 8 | key.ptr[c->row_len + 1]);
    if (column_len == 0 || key.len != column_len + 8 || family == 0 ||
        column_len - c->row_len - 4 > sizeof(c->qualifier_scratch))
        return false;
    memcpy(c->column, key.ptr, column_len);
    c->column_len = column_len;
    struct slice escaped =
        base_slice(c->column + c->row_len + 2, column_len - 2 - (c->row_len + 2));
    *out_next =
        sto_visit_column(&c->visit, family, sto_key_unescape(escaped, c->qualifier_scratch));
    return true;
}

static bool same_column(const struct sto_read_cursor *c, struct slice key)
{
    return c->column_len != 0 && key.len == c->column_len + 8 &&
           memcmp(key.ptr + c->row_len, c->column + c->row_len, c->column_len - c->row_len) == 0;
}

/* Counts a visited cell. Through a view, only cells of columns that were entered exist. */
static void note_seen(struct sto_read_cursor *c, enum sto_visit_next entered, struct slice key)
{
    if (c->op->spec.view != NULL && entered != STO_VISIT_NEXT)
        return;
    size_t value_len;
    (void)rocksdb_iter_value(c->iterator, &value_len);
    c->op->cells_seen++;
    c->op->bytes_seen += key.len - c->row_len + value_len;
    note_row_seen(c);
}

/* Visits the cell of the current row under the iterator. */
static enum rdb_slice_end cell_visit(struct sto_read_cursor *c, struct slice key)
{
    struct sto_read_op *op = c->op;
    enum sto_visit_next next = STO_VISIT_NEXT;
    if (key.len < c->row_len + 2 || (!same_column(c, key) && !column_enter(c, key, &next)))
        return sto_rdb_read_end(c, ERR_CORRUPT, "a stored cell is damaged");
    enum sto_visit_next entered = next;
    if (next == STO_VISIT_NEXT) {
        struct slice stored;
        struct sto_stored_cell cell;
        stored.ptr = (const uint8_t *)rocksdb_iter_value(c->iterator, &stored.len);
        if (sto_rdb_cell_is_large(c, stored.len))
            return sto_rdb_cell_hand_over(c);
        uint64_t timestamp = ~sto_get_be64(key.ptr + c->column_len);
        c->timestamp_us = (int64_t)timestamp;
        if (timestamp > INT64_MAX || sto_cell_decode(stored, &cell) != ERR_OK)
            return sto_rdb_read_end(c, ERR_CORRUPT, "a stored cell is damaged");
        enum err rc =
            sto_cell_unseal(&cell, key, &c->sealer, op->scope.tenant.account->cipher, &c->plain);
        if (rc != ERR_OK)
            return sto_rdb_read_end(c, rc, sto_unseal_text(rc));
        if (!sto_rdb_cell_prepare(c, (int64_t)timestamp, cell.bytes))
            return SLICE_FULL; /* it is visited again */
        next = sto_visit_version(&c->visit, (int64_t)timestamp, cell.bytes);
        c->steps += cell.bytes.len / BYTES_OF_A_STEP; /* a filter may have read it */
        c->full = c->visit.begun && op->sink->is_full(op->sink);
    }
    note_seen(c, entered, key);
    if (--c->cells_left == 0)
        c->row_is_over = true;
    else
        sto_rdb_move(c, next);
    return SLICE_FULL;
}

/* --- slices --------------------------------------------------------------------------------- */

static bool is_watched(const struct sto_read_cursor *c)
{
    return sto_rdb_long_row_is_open(&c->long_row) &&
           base_slice_equal(sto_rdb_long_row_key(&c->long_row), base_slice(c->row, c->row_len));
}

/* Lets the next slice continue at the key under the iterator; rule 5. */
static enum rdb_slice_end row_leave(struct sto_read_cursor *c)
{
    if (c->is_blind) /* a missed cell can be found only before parts of the row are returned */
        return row_retry(c);
    struct rdb_long_rows *rows = sto_rdb_long_rows_of(c->engine, c->op->scope.tenant.account);
    struct slice key = sto_rdb_key_now(c);
    memcpy(c->target, key.ptr, key.len);
    c->target_len = key.len;
    if (sto_rdb_long_row_is_open(&c->long_row) ||
        sto_rdb_long_row_open(&c->long_row, rows, base_slice(c->row, c->row_len), c->mark))
        return SLICE_INSIDE;
    return row_restart(c);
}

/* Ends the slice here, inside a row. */
static enum rdb_slice_end slice_break(struct sto_read_cursor *c)
{
    if (c->rows > 0 && (!c->on_reader || c->row_bytes <= ROW_AGAIN_BYTES)) {
        row_put_back(c);
        return SLICE_FULL;
    }
    return c->on_reader ? row_leave(c) : SLICE_INCOMPLETE;
}

/* Returns whether the iterator is still in the row; rc: an error that makes this unknown. */
static bool in_row(struct sto_read_cursor *c, enum rdb_slice_end *rc)
{
    *rc = SLICE_FULL;
    if (c->row_is_over)
        return false;
    if (!rocksdb_iter_valid(c->iterator)) {
        *rc = iterator_status(c);
        return false;
    }
    struct slice key = sto_rdb_key_now(c);
    return key.len > c->row_len && memcmp(key.ptr, c->row, c->row_len) == 0;
}

/* Walks through the row under the iterator, until it is over (*out_over) or the slice is. */
static enum rdb_slice_end row_walk(struct sto_read_cursor *c, bool *out_over)
{
    enum rdb_slice_end rc = SLICE_FULL;
    *out_over = false;
    while (rc == SLICE_FULL && !*out_over) {
        rc = sto_rdb_look(c);
        if (rc != SLICE_FULL)
            return rc;
        if (in_row(c, &rc)) {
            if (sto_rdb_slice_is_over(c))
                return slice_break(c);
            rc = cell_visit(c, sto_rdb_key_now(c));
        } else if (rc == SLICE_FULL) {
            if (c->is_blind && c->cells_left > 0)
                return row_retry(c);
            *out_over = !sto_visit_row_end(&c->visit);
            if (!*out_over)
                sto_rdb_move_from_start(c, sto_visit_row_again(&c->visit));
        }
    }
    return rc;
}

static enum rdb_slice_end slice_rows(struct sto_read_cursor *c)
{
    for (;;) {
        bool over = false;
        enum rdb_slice_end rc = c->row_len != 0 ? row_resume(c) : row_find(c);
        if (rc == SLICE_FULL && sto_rdb_long_row_is_open(&c->long_row) && !is_watched(c)) {
            row_put_back(c); /* the row that was to be restarted is gone */
            row_unwatch(c);
            continue;
        }
        if (rc == SLICE_FULL)
            rc = row_walk(c, &over);
        if (rc == SLICE_AGAIN)
            continue;
        if (rc != SLICE_FULL || !over)
            return rc;
        if (row_finish(c))
            return SLICE_END;
        rc = sto_rdb_look(c);
        if (rc != SLICE_FULL)
            return rc;
        if (sto_rdb_slice_is_over(c) || c->rows >= LIM_SLICE_ROWS)
            return SLICE_FULL;
    }
}

enum rdb_slice_end sto_rdb_slice_run(struct sto_read_cursor *c)
{
    struct sto_account *account = c->op->scope.tenant.account;
    atomic_fetch_add(&account->reads_open, 1);
    c->steps = 0;
    c->rows = 0;
    c->full = false;
    sto_rdb_cache_sample_begin(); /* loops run this, too */
    enum rdb_slice_end rc = sto_rdb_look_begin(c);
    if (rc == SLICE_FULL)
        rc = slice_rows(c);
    sto_rdb_cache_sample_end(&c->engine->cache_sample, sto_rdb_range_kind(c));
    if (rc == SLICE_INCOMPLETE)
        row_put_back(c);
    sto_rdb_range_close(c, false);
    atomic_fetch_sub(&account->reads_open, 1);
    return rc;
}

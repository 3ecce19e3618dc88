/*
 * storage/rocksdb/slice_move.c - an iterator's moves: seeks only where many steps would be needed.
 *
 * Rows of a table are alike: where steps did not reach a target, the next skips of that kind seek,
 * and after another failure twice as many do.
 *
 * A step passes at most REMOVED_KEYS_MAX removed keys. Then the iterator is not valid, and a seek
 * replaces the step (docs/decisions/0060).
 */
#include "storage/rocksdb/slice_move.h"

#include "storage/rocksdb/db.h"

#include "base/banned.h"

#define STEPS_BEFORE_SEEK 6
/* Number of skips of a kind that only seek after steps did not reach the target. */
#define SEEKS_BEFORE_STEP     16
#define SEEKS_BEFORE_STEP_MAX 256

void sto_rdb_skips_init(struct sto_read_cursor *c)
{
    for (int i = 0; i < RDB_SKIP_COUNT; i++)
        c->skips[i] = (struct rdb_skip_memory){.seeks_next = SEEKS_BEFORE_STEP};
}

static void step(struct sto_read_cursor *c)
{
    sto_rdb_steps_add(c, 1);
    rocksdb_iter_next(c->iterator);
}

/* Returns whether the last move passed too many removed keys, and did not reach its end. */
static bool is_stuck(struct sto_read_cursor *c)
{
    if (rocksdb_iter_valid(c->iterator) || !sto_rdb_iterator_is_stuck(c->iterator))
        return false;
    sto_rdb_steps_add(c, REMOVED_KEYS_MAX / REMOVED_KEYS_A_STEP);
    return true;
}

void sto_rdb_seek(struct sto_read_cursor *c, struct slice target)
{
    c->steps++;
    c->op->seeks++;
    rocksdb_iter_seek(c->iterator, (const char *)target.ptr, target.len);
    if (rocksdb_iter_valid(c->iterator))
        return;
    memmove(c->target, target.ptr, target.len);
    c->target_len = target.len;
}

void sto_rdb_seek_back(struct sto_read_cursor *c, struct slice target)
{
    c->steps++;
    c->op->seeks++;
    rocksdb_iter_seek_for_prev(c->iterator, (const char *)target.ptr, target.len);
}

static void prefer_seeks(struct rdb_skip_memory *memory)
{
    memory->seeks_first = memory->seeks_next;
    if (memory->seeks_next < SEEKS_BEFORE_STEP_MAX)
        memory->seeks_next *= 2;
}

void sto_rdb_skip_to(struct sto_read_cursor *c, enum rdb_skip kind, struct slice target)
{
    struct rdb_skip_memory *memory = &c->skips[kind];
    int steps = memory->seeks_first > 0 ? 0 : STEPS_BEFORE_SEEK;
    for (int i = 0; i < steps && rocksdb_iter_valid(c->iterator); i++) {
        step(c);
        if (is_stuck(c))
            break;
        if (!rocksdb_iter_valid(c->iterator) ||
            base_slice_compare(sto_rdb_key_now(c), target) >= 0) {
            memory->seeks_next = SEEKS_BEFORE_STEP;
            return;
        }
    }
    if (steps == 0)
        memory->seeks_first--;
    else
        prefer_seeks(memory);
    sto_rdb_seek(c, target);
}

/* Returns in c->target the start of the first column at or after the one that the visit
 * requested. */
static struct slice column_target(struct sto_read_cursor *c)
{
    const struct sto_visit *v = &c->visit;
    memcpy(c->target, c->row, c->row_len);
    return base_slice(
        c->target, v->seek_qualifier.len == 0
                       ? sto_key_family(c->target, c->row_len, v->seek_family)
                       : sto_key_column(c->target, c->row_len, v->seek_family, v->seek_qualifier));
}

static void seek_next_column(struct sto_read_cursor *c)
{
    memcpy(c->target, c->column, c->column_len);
    sto_key_after(c->target, c->column_len);
    sto_rdb_seek(c, base_slice(c->target, c->column_len));
}

/* Moves to the next stored cell, past too many removed keys: seeks the next column. If that jumps
 * over a cell, the row will end with fewer cells than its header counts. Where the count does not
 * help, seeks the next version: the removed keys may be older values of the same cell. */
static void move_past_removed(struct sto_read_cursor *c)
{
    size_t len = c->column_len;
    if (len == 0) {
        memcpy(c->target, c->row, c->row_len);
        c->target_len = sto_key_family(c->target, c->row_len, 1);
        return;
    }
    c->is_blind = c->moves == RDB_MOVES_BLIND && c->row_cells != ROW_CELLS_UNKNOWN &&
                  !sto_rdb_long_row_is_open(&c->long_row);
    if (c->is_blind || c->timestamp_us == 0) {
        seek_next_column(c);
        return;
    }
    memcpy(c->target, c->column, len);
    len = sto_key_version(c->target, len, c->timestamp_us - 1);
    sto_rdb_seek(c, base_slice(c->target, len));
}

/* Returns whether all later cells of the column are garbage. */
static bool is_last_of_column(const struct sto_read_cursor *c)
{
    return c->column_len != 0 && sto_gc_keeps_one(&c->visit.family->gc);
}

/* Moves to the next stored cell that may be shown. */
static void move_to_next(struct sto_read_cursor *c)
{
    struct rdb_skip_memory *memory = &c->skips[RDB_SKIP_GARBAGE];
    if (memory->seeks_first > 0 && is_last_of_column(c)) {
        memory->seeks_first--;
        seek_next_column(c);
        return;
    }
    step(c);
    if (!is_stuck(c)) {
        memory->seeks_next = SEEKS_BEFORE_STEP;
    } else if (is_last_of_column(c)) {
        prefer_seeks(memory);
        seek_next_column(c);
    } else {
        move_past_removed(c);
    }
}

void sto_rdb_move(struct sto_read_cursor *c, enum sto_visit_next next)
{
    switch (next) {
    case STO_VISIT_NEXT:
        move_to_next(c);
        break;
    case STO_VISIT_SKIP_COLUMN:
        memcpy(c->target, c->column, c->column_len);
        sto_key_after(c->target, c->column_len);
        sto_rdb_skip_to(c, RDB_SKIP_COLUMN, base_slice(c->target, c->column_len));
        break;
    case STO_VISIT_SEEK_COLUMN:
        sto_rdb_skip_to(c, RDB_SKIP_TO_COLUMN, column_target(c));
        break;
    case STO_VISIT_SEEK_VERSION:
        memcpy(c->target, c->column, c->column_len);
        sto_rdb_skip_to(
            c, RDB_SKIP_TO_VERSION,
            base_slice(c->target, sto_key_version(c->target, c->column_len, c->visit.seek_us)));
        break;
    case STO_VISIT_SKIP_ROW:
        c->row_is_over = true;
        break;
    }
}

void sto_rdb_move_from_start(struct sto_read_cursor *c, enum sto_visit_next next)
{
    c->column_len = 0;
    c->cells_left = c->row_cells;
    c->is_blind = false;
    c->row_is_over = next == STO_VISIT_SKIP_ROW;
    if (next == STO_VISIT_NEXT) {
        c->visit.seek_family = 1;
        c->visit.seek_qualifier = SLICE_EMPTY;
    }
    if (!c->row_is_over)
        sto_rdb_seek(c, column_target(c));
}

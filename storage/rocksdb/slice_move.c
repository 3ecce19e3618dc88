/*
 * storage/rocksdb/slice_move.c - an iterator's moves: seeks only where steps would be many.
 *
 * Rows of a table are alike: where steps did not reach a target, they are not tried again for a
 * while, and the next time for twice as long.
 */
#include "storage/rocksdb/slice_move.h"

#include "base/banned.h"

#define STEPS_BEFORE_SEEK 6
/* After steps did not reach it, so many skips of that kind only seek. */
#define SEEKS_BEFORE_STEP     16
#define SEEKS_BEFORE_STEP_MAX 256

void sto_rdb_skips_init(struct sto_read_cursor *c)
{
    for (int i = 0; i < RDB_SKIP_COUNT; i++)
        c->skips[i] = (struct rdb_skip_memory){.seeks_next = SEEKS_BEFORE_STEP};
}

static void step(struct sto_read_cursor *c)
{
    c->steps++;
    c->op->steps++;
    rocksdb_iter_next(c->iterator);
}

void sto_rdb_seek(struct sto_read_cursor *c, struct slice target)
{
    c->steps++;
    c->op->seeks++;
    rocksdb_iter_seek(c->iterator, (const char *)target.ptr, target.len);
}

void sto_rdb_seek_back(struct sto_read_cursor *c, struct slice target)
{
    c->steps++;
    c->op->seeks++;
    rocksdb_iter_seek_for_prev(c->iterator, (const char *)target.ptr, target.len);
}

void sto_rdb_skip_to(struct sto_read_cursor *c, enum rdb_skip kind, struct slice target)
{
    struct rdb_skip_memory *memory = &c->skips[kind];
    int steps = memory->seeks_first > 0 ? 0 : STEPS_BEFORE_SEEK;
    for (int i = 0; i < steps && rocksdb_iter_valid(c->iterator); i++) {
        step(c);
        if (!rocksdb_iter_valid(c->iterator) ||
            base_slice_compare(sto_rdb_key_now(c), target) >= 0) {
            memory->seeks_next = SEEKS_BEFORE_STEP;
            return;
        }
    }
    if (steps == 0) {
        memory->seeks_first--;
    } else {
        memory->seeks_first = memory->seeks_next;
        if (memory->seeks_next < SEEKS_BEFORE_STEP_MAX)
            memory->seeks_next *= 2;
    }
    sto_rdb_seek(c, target);
}

/* Where the first column at or behind the one the visit asked for begins, in c->target. */
static struct slice column_target(struct sto_read_cursor *c)
{
    const struct sto_visit *v = &c->visit;
    memcpy(c->target, c->row, c->row_len);
    return base_slice(
        c->target, v->seek_qualifier.len == 0
                       ? sto_key_family(c->target, c->row_len, v->seek_family)
                       : sto_key_column(c->target, c->row_len, v->seek_family, v->seek_qualifier));
}

void sto_rdb_move(struct sto_read_cursor *c, enum sto_visit_next next)
{
    switch (next) {
    case STO_VISIT_NEXT:
        step(c);
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
    c->row_is_over = next == STO_VISIT_SKIP_ROW;
    if (next == STO_VISIT_NEXT) {
        c->visit.seek_family = 1;
        c->visit.seek_qualifier = SLICE_EMPTY;
    }
    if (!c->row_is_over)
        sto_rdb_seek(c, column_target(c));
}

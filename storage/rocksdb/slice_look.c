/*
 * storage/rocksdb/slice_look.c - decides whether a read continues, and whether its slice does.
 *
 *   where        the slice ends after                      reads the clock
 *   a loop       LIM_INLINE_STEPS                          never
 *   a reader     LIM_SLICE_STEPS; when others wait,        every RDB_CLOCK_STEPS
 *                LIM_SLICE_STEPS_SHARED, or
 *                LIM_SLICE_SHARED_US of processor time,
 *                but not before RDB_CLOCK_STEPS, so that
 *                it makes progress;
 *                when the watchdog reports it, always
 *
 * A step is one of the iterator, 1 KiB of a value, or RDB_NS_OF_A_STEP of the filter's work. The
 * last is estimated (storage/pattern.h), so that it is the same for the same read.
 */
#include "storage/rocksdb/slice_look.h"

#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define NS_OF_A_LOOK 250000 /* time of a cell's matches between two checks */

enum rdb_slice_end sto_rdb_read_end(struct sto_read_cursor *c, enum err rc, const char *why)
{
    c->op->result = base_fail(&c->op->detail, rc, "%s", why);
    return SLICE_ERROR;
}

static bool is_cancelled(const struct sto_read_cursor *c)
{
    return atomic_load_explicit(&c->op->cancelled, memory_order_relaxed);
}

static bool is_late(const struct sto_read_cursor *c)
{
    return c->on_reader && sto_rdb_slice_clock_is_late(&c->clock, c->op->deadline_ns);
}

static void clock_look(struct sto_read_cursor *c)
{
    if (c->on_reader)
        sto_rdb_slice_clock_advance(&c->clock, c->steps);
}

static void work_count(struct sto_read_cursor *c)
{
    uint64_t ns = sto_filter_work(c->visit.run);
    c->op->work_ns += ns;
    c->work_ns += ns;
    c->steps += c->work_ns / RDB_NS_OF_A_STEP;
    c->work_ns %= RDB_NS_OF_A_STEP;
}

/* Refuses to read a table that is being deleted: its rows may be half removed or, later, those of a
 * recreated table. */
static enum err may_begin(struct sto_read_cursor *c)
{
    struct sto_read_op *op = c->op;
    enum err rc = sto_rdb_gate_check(op->scope.tenant.account, false, &op->detail);
    if (rc == ERR_OK && atomic_load(&op->scope.schema->table->forgotten))
        rc = base_fail(&op->detail, ERR_NOT_FOUND, "the table was deleted");
    return rc == ERR_OK ? sto_rdb_usable(c->engine, &op->detail) : rc;
}

enum rdb_slice_end sto_rdb_look_begin(struct sto_read_cursor *c)
{
    c->op->result = may_begin(c);
    if (c->op->result != ERR_OK)
        return SLICE_ERROR;
    c->matched = 0;
    if (c->on_reader)
        sto_rdb_slice_clock_start(&c->clock);
    return sto_rdb_look(c);
}

enum rdb_slice_end sto_rdb_look(struct sto_read_cursor *c)
{
    if (c->visit.run != NULL) {
        work_count(c);
        enum err rc = sto_visit_error(&c->visit, &c->op->detail);
        if (rc != ERR_OK) {
            c->op->result = rc;
            return SLICE_ERROR;
        }
    }
    clock_look(c);
    if (is_cancelled(c))
        return sto_rdb_read_end(c, ERR_CANCELLED, "the read was cancelled");
    if (is_late(c))
        return sto_rdb_read_end(c, ERR_TIMEOUT, "the deadline passed before everything was read");
    return SLICE_FULL;
}

bool sto_rdb_slice_is_over(struct sto_read_cursor *c)
{
    if (c->full)
        return true;
    return c->on_reader ? sto_rdb_slice_clock_is_over(&c->clock, &c->engine->pool, c->steps)
                        : c->steps >= LIM_INLINE_STEPS;
}

bool sto_rdb_cell_prepare(struct sto_read_cursor *c, int64_t timestamp_us, struct slice value)
{
    while (!sto_visit_prepare(&c->visit, timestamp_us, value, NS_OF_A_LOOK)) {
        work_count(c);
        clock_look(c);
        if (is_cancelled(c) || is_late(c) || sto_rdb_slice_is_over(c))
            return false;
    }
    return true;
}

bool sto_rdb_cell_is_large(struct sto_read_cursor *c, size_t value_bytes)
{
    const struct sto_visit *v = &c->visit;
    bool is_large = value_bytes > LIM_INLINE_BYTES / v->copies;
    if (c->on_reader)
        return is_large && c->among_points && v->regexes > 0;
    c->matched += (value_bytes + v->qualifier.len) * v->instructions;
    return is_large || c->matched > LIM_INLINE_MATCHED;
}

enum rdb_slice_end sto_rdb_cell_hand_over(struct sto_read_cursor *c)
{
    c->is_long = c->visit.regexes > 0;
    c->full = true;
    return c->on_reader ? SLICE_FULL : SLICE_INCOMPLETE;
}

/*
 * storage/rocksdb/reader.c - selects the thread of the next slice, and returns its result.
 *
 *   try_inline               slice returns         what happens
 *   yes                      FULL or END           returned at once
 *   yes                      INCOMPLETE            a reader continues the same slice
 *   no, or inside a row,     -                     a reader runs it
 *   or patterns too large
 *   for its key
 *
 * 1. The cursor is on the stack as long as the first slice may be the last one (point reads from
 *    memory never allocate), and on the heap after that.
 */
#include "storage/rocksdb/reader.h"

#include <stddef.h>

#include "base/alloc.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/slice.h"

#include "base/banned.h"

static void run_done(struct base_msg *msg)
{
    struct sto_read_op *op =
        (struct sto_read_op *)((char *)msg - offsetof(struct sto_read_op, msg));
    op->done(op);
}

static void conclude(struct sto_read_op *op, enum rdb_slice_end rc)
{
    op->state = rc == SLICE_END     ? STO_READ_END
                : rc == SLICE_ERROR ? STO_READ_FAILED
                                    : STO_READ_MORE;
}

/* Returns the queue of the read. A row that turned out to be large is read like a scan. */
static enum rdb_pool_queue queue_of(const struct sto_read_op *op)
{
    bool is_short = op->spec.row_key.len != 0 && !op->cursor->is_long &&
                    op->steps < LIM_INLINE_STEPS && op->work_ns < LIM_INLINE_WORK_NS;
    return is_short ? RDB_POINTS : RDB_SCANS;
}

static void run_on_reader(struct base_msg *msg)
{
    struct sto_read_op *op =
        (struct sto_read_op *)((char *)msg - offsetof(struct sto_read_op, msg));
    struct rdb_pool *pool = &op->cursor->engine->pool;
    enum rdb_pool_queue queue = queue_of(op);
    op->cursor->on_reader = true;
    op->cursor->among_points = queue == RDB_POINTS;
    conclude(op, sto_rdb_slice_run(op->cursor));
    sto_rdb_pool_charge(pool, op->scope.tenant.account, queue,
                        op->cursor->steps / RDB_STEPS_PER_OP);
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

/* Checks keys that would overrun memory; everything else was checked before (storage/row_set.h). */
static enum err spec_check(struct sto_read_op *op)
{
    const struct sto_read_spec *spec = &op->spec;
    bool fits = spec->row_key.len <= LIM_ROW_KEY;
    for (size_t i = 0; fits && spec->row_key.len == 0 && i < spec->rows.count; i++)
        fits = spec->rows.ranges[i].start.len <= LIM_ROW_KEY &&
               spec->rows.ranges[i].end.len <= LIM_ROW_KEY;
    if (fits && spec->narrowed)
        fits = spec->projection.qualifiers.start.len <= LIM_QUALIFIER;
    return fits ? ERR_OK : base_fail(&op->detail, ERR_INVALID, "the rows asked for cannot exist");
}

/* Returns whether a loop may enter the row: its key may be matched before any time check. */
static bool is_light(const struct sto_read_spec *spec)
{
    return spec->filter == NULL ||
           sto_filter_instructions(spec->filter) * spec->row_key.len <= LIM_INLINE_MATCHED;
}

/* Moves the cursor to the heap, where it lives until sto_read_finish. */
static bool cursor_keep(struct sto_read_op *op, struct sto_read_cursor *from)
{
    struct sto_read_cursor *kept = base_try_alloc(sizeof(*kept));
    op->result = kept == NULL ? base_fail(&op->detail, ERR_NO_MEMORY, "no memory for the scan")
                              : sto_rdb_cursor_move(kept, from);
    if (op->result != ERR_OK) {
        base_free(kept);
        return false;
    }
    op->cursor = kept;
    return true;
}

static bool to_reader(struct rdb_engine *e, struct sto_read_op *op, bool at_once)
{
    const struct rdb_pool_job job = {
        .account = op->scope.tenant.account, .queue = queue_of(op), .priority = op->priority};
    op->msg.run = run_on_reader;
    if (sto_rdb_pool_push(&e->pool, &job, &op->msg, &op->retry_ns))
        return false;
    op->result = base_fail(&op->detail, ERR_OVERLOADED, RDB_READS_FULL);
    return answer_failure(op, at_once);
}

/* Sends a read that was tried here, and is not in memory, to a reader. */
static bool hand_over(struct rdb_engine *e, struct sto_read_op *op)
{
    atomic_fetch_add_explicit(&e->reads_handed_over, 1, memory_order_relaxed);
    return to_reader(e, op, true);
}

/* Starts the first slice, which may also be the last. */
static bool begin(struct rdb_engine *e, struct sto_read_op *op, bool try_inline)
{
    struct sto_read_cursor local; /* large: only fields that are used are set */
    op->result = sto_rdb_usable(e, &op->detail);
    if (op->result == ERR_OK)
        op->result = spec_check(op);
    if (op->result == ERR_OK)
        op->result = sto_rdb_cursor_init(&local, e, op);
    if (op->result != ERR_OK)
        return answer_failure(op, try_inline);
    bool tries = try_inline && is_light(&op->spec);
    enum rdb_slice_end rc = tries ? sto_rdb_slice_run(&local) : SLICE_INCOMPLETE;
    bool goes_on = rc == SLICE_INCOMPLETE || rc == SLICE_FULL;
    bool kept = !goes_on || cursor_keep(op, &local);
    sto_rdb_cursor_fini(&local);
    if (!kept)
        return answer_failure(op, try_inline);
    if (rc == SLICE_INCOMPLETE)
        return tries ? hand_over(e, op) : to_reader(e, op, try_inline);
    conclude(op, rc);
    return true;
}

bool sto_rdb_read_rows(struct sto_engine *engine, struct sto_read_op *op, bool try_inline)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    op->detail.text[0] = '\0';
    if (op->cursor == NULL)
        return begin(e, op, try_inline);
    if (op->cursor->row_len != 0 || !try_inline || !is_light(&op->spec))
        return to_reader(e, op, try_inline);
    op->cursor->on_reader = false;
    enum rdb_slice_end rc = sto_rdb_slice_run(op->cursor);
    if (rc == SLICE_INCOMPLETE)
        return hand_over(e, op);
    conclude(op, rc);
    return true;
}

void sto_rdb_read_finish(struct sto_engine *engine, struct sto_read_op *op)
{
    (void)engine;
    if (op->cursor == NULL)
        return;
    sto_rdb_cursor_fini(op->cursor);
    base_free(op->cursor);
    op->cursor = NULL;
}

/*
 * storage/rocksdb/reader.c - who runs the next slice, and where its answer goes.
 *
 *   asked with try_inline    slice says            what happens
 *   yes                      FULL or END           answered at once
 *   yes                      INCOMPLETE            a reader takes over, same slice
 *   no, or a row is held     -                     a reader runs it
 *
 * 1. The cursor is on the stack as long as the first slice may be the last one (point reads from
 *    memory never allocate), and on the heap from then on.
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

static void run_on_reader(struct base_msg *msg)
{
    struct sto_read_op *op =
        (struct sto_read_op *)((char *)msg - offsetof(struct sto_read_op, msg));
    op->cursor->on_reader = true;
    conclude(op, sto_rdb_slice_run(op->cursor));
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
    sto_rdb_cursor_init(op->cursor, from->engine, op);
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
        sto_rdb_cursor_init(c, e, op);
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
    enum rdb_slice_end rc = SLICE_INCOMPLETE;
    if (try_inline) {
        c->on_reader = false;
        rc = sto_rdb_slice_run(c);
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
    sto_rdb_slice_release(op->cursor);
    base_free(op->cursor);
    op->cursor = NULL;
}

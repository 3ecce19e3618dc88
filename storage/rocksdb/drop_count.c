/*
 * storage/rocksdb/drop_count.c - from header to header; each has the cells and bytes of its row.
 *
 * A slice is one submission: between two of them the caller charges the tenant for the keys read,
 * and decides whether and when to continue.
 */
#include "storage/rocksdb/drop_count.h"

#include <stddef.h>

#include "storage/keycodec.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/drop.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/slice_clock.h"
#include "storage/value.h"

#include "base/banned.h"

/* One slice. */
struct count {
    struct sto_drop_op *op;
    rocksdb_iterator_t *it;
    struct rdb_slice_clock clock;
    struct sto_key_bounds bounds; /* of the iterator */
};

/* Adds the row under the iterator, and moves to the next one. */
static enum err row_count(struct count *c)
{
    struct sto_drop_op *op = c->op;
    struct slice key, value;
    struct sto_row_head head;
    uint8_t next[STO_KEY_ROW_MAX];
    key.ptr = (const uint8_t *)rocksdb_iter_key(c->it, &key.len);
    value.ptr = (const uint8_t *)rocksdb_iter_value(c->it, &value.len);
    op->steps++;
    op->bytes_seen += key.len + value.len;
    size_t row_len = sto_key_row_prefix_len(key);
    if (row_len == 0 || row_len > STO_KEY_ROW_MAX || sto_row_head_decode(value, &head) != ERR_OK)
        return base_fail(&op->detail, ERR_CORRUPT, "a stored row is damaged");
    op->removed.rows++;
    op->removed.cells += head.cells;
    op->removed.bytes += head.bytes;
    memcpy(next, key.ptr, row_len);
    sto_key_after(next, row_len);
    rocksdb_iter_seek(c->it, (const char *)next, row_len);
    return ERR_OK;
}

/* Checks between two rows. */
static enum err row_check(struct rdb_engine *e, struct count *c)
{
    struct sto_drop_op *op = c->op;
    sto_rdb_slice_clock_advance(&c->clock, op->steps);
    sto_rdb_test_point(e, STO_DIE_LOOKING);
    if (sto_is_unwanted(op->stop))
        return base_fail(&op->detail, ERR_CANCELLED, "the dry run was cancelled");
    if (sto_rdb_slice_clock_is_late(&c->clock, op->deadline_ns))
        return base_fail(&op->detail, ERR_TIMEOUT,
                         "the deadline passed before all rows were counted");
    return ERR_OK;
}

/* Ends the slice before the row under the iterator, where the next one starts. */
static enum err slice_leave(struct count *c)
{
    struct slice key;
    struct sto_key parts;
    uint8_t scratch[LIM_ROW_KEY];
    key.ptr = (const uint8_t *)rocksdb_iter_key(c->it, &key.len);
    if (sto_key_decode(key, &parts) != ERR_OK)
        return base_fail(&c->op->detail, ERR_CORRUPT, "a stored row is damaged");
    INVARIANT(base_buf_append(c->op->resume, sto_key_unescape(parts.row_escaped, scratch)) ==
              ERR_OK); /* it has space for any row key */
    return ERR_OK;
}

static enum err rows_count(struct rdb_engine *e, struct count *c)
{
    struct sto_drop_op *op = c->op;
    enum err rc = ERR_OK;
    rocksdb_iter_seek_to_first(c->it);
    while (rc == ERR_OK && rocksdb_iter_valid(c->it)) {
        if (op->steps >= LIM_SLICE_ROWS ||
            sto_rdb_slice_clock_is_over(&c->clock, &e->pool, op->steps))
            return slice_leave(c);
        rc = row_check(e, c);
        if (rc == ERR_OK)
            rc = row_count(c);
    }
    char *error = NULL;
    rocksdb_iter_get_error(c->it, &error);
    if (error != NULL)
        rc = base_fail(&op->detail, sto_rdb_read_failed(e, error), "the rows cannot be read");
    return rc;
}

static enum err slice_run(struct rdb_engine *e, struct sto_drop_op *op)
{
    struct count c = {.op = op};
    if (!sto_key_bounds_of_rows(&op->scope, &op->range, &c.bounds))
        return ERR_OK;
    struct slice begin = base_slice(c.bounds.lower, c.bounds.lower_len);
    struct slice end = base_slice(c.bounds.upper, c.bounds.upper_len);
    rocksdb_readoptions_t *options = sto_rdb_scan_options(begin, end);
    c.it = sto_rdb_rows_iterator(e, options, &op->scope.tenant);
    sto_rdb_slice_clock_start(&c.clock);
    enum err rc = sto_rdb_lost_check(e, RDB_CF_CELLS, begin, end);
    if (rc == ERR_OK)
        rc = rows_count(e, &c);
    else
        (void)base_fail(&op->detail, rc, "the rows cannot be read");
    rocksdb_iter_destroy(c.it);
    rocksdb_readoptions_destroy(options);
    return rc;
}

static void run_on_reader(struct base_msg *msg)
{
    struct sto_drop_op *op =
        (struct sto_drop_op *)((char *)msg - offsetof(struct sto_drop_op, msg));
    struct rdb_engine *e = op->engine_state;
    struct sto_account *account = op->scope.tenant.account;
    atomic_fetch_add(&account->reads_open, 1);
    enum err rc = sto_rdb_gate_check(account, false, &op->detail);
    if (rc == ERR_OK)
        rc = sto_rdb_drop_goes_on(e, op);
    if (rc == ERR_OK)
        rc = sto_rdb_deadline_check(op->deadline_ns, &op->detail);
    if (rc == ERR_OK)
        rc = slice_run(e, op);
    atomic_fetch_sub(&account->reads_open, 1);
    sto_rdb_pool_charge(&e->pool, account, RDB_SCANS, op->steps / RDB_STEPS_PER_OP);
    sto_rdb_drop_answer(op, rc);
}

void sto_rdb_drop_count(struct rdb_engine *e, struct sto_drop_op *op)
{
    INVARIANT(op->resume != NULL);
    if (op->family != 0 || op->expired_only) {
        sto_rdb_drop_answer(op, base_fail(&op->detail, ERR_INVALID, "only whole rows are counted"));
        return;
    }
    const struct rdb_pool_job job = {
        .account = op->scope.tenant.account, .queue = RDB_SCANS, .priority = op->priority};
    op->engine_state = e;
    op->msg.run = run_on_reader;
    if (!sto_rdb_pool_push(&e->pool, &job, &op->msg, &op->retry_ns))
        sto_rdb_drop_answer(op, base_fail(&op->detail, ERR_OVERLOADED, RDB_READS_FULL));
}

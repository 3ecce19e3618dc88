/*
 * storage/rocksdb/drop_count.c - from header to header; each knows the cells and bytes of its row.
 */
#include "storage/rocksdb/drop_count.h"

#include <stddef.h>

#include "base/alloc.h"
#include "storage/keycodec.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/drop.h"
#include "storage/rocksdb/rdb.h"
#include "storage/value.h"

#include "base/banned.h"

struct count {
    struct rdb_engine *engine;
    struct sto_key_bounds bounds; /* of what is left */
};

static void answer(struct sto_drop_op *op, enum err rc)
{
    base_free(op->engine_state);
    sto_rdb_drop_answer(op, rc);
}

/* One row; the next one begins at bounds.lower. */
static enum err row_count(struct sto_drop_op *op, rocksdb_iterator_t *it)
{
    struct sto_key_bounds *left = &((struct count *)op->engine_state)->bounds;
    struct slice key, value;
    struct sto_row_head head;
    key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
    value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
    size_t row_len = sto_key_row_prefix_len(key);
    if (row_len == 0 || row_len > STO_KEY_ROW_MAX || sto_row_head_decode(value, &head) != ERR_OK)
        return base_fail(&op->detail, ERR_CORRUPT, "a stored row is damaged");
    op->removed.rows++;
    op->removed.cells += head.cells;
    op->removed.bytes += head.bytes;
    memcpy(left->lower, key.ptr, row_len);
    left->lower_len = row_len;
    sto_key_after(left->lower, row_len);
    return ERR_OK;
}

static enum err slice_count(struct sto_drop_op *op, bool *out_end)
{
    struct rdb_engine *e = ((struct count *)op->engine_state)->engine;
    struct sto_key_bounds *left = &((struct count *)op->engine_state)->bounds;
    uint8_t lower[STO_KEY_ROW_MAX]; /* the iterator's own: that of `left` moves on */
    struct slice begin = base_slice(lower, left->lower_len);
    struct slice end = base_slice(left->upper, left->upper_len);
    memcpy(lower, left->lower, left->lower_len);
    *out_end = base_slice_compare(begin, end) >= 0;
    if (*out_end)
        return ERR_OK;
    rocksdb_readoptions_t *options = sto_rdb_scan_options(begin, end);
    rocksdb_iterator_t *it = sto_rdb_rows_iterator(e, options, &op->scope.tenant);
    enum err rc = sto_rdb_lost_check(e, RDB_CF_CELLS, begin, end);
    if (rc != ERR_OK)
        (void)base_fail(&op->detail, rc, "the rows cannot be read");
    rocksdb_iter_seek_to_first(it);
    for (int i = 0; rc == ERR_OK && i < LIM_SLICE_ROWS && rocksdb_iter_valid(it); i++) {
        rc = row_count(op, it);
        rocksdb_iter_seek(it, (const char *)left->lower, left->lower_len);
    }
    *out_end = !rocksdb_iter_valid(it);
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    if (error != NULL)
        rc = base_fail(&op->detail, sto_rdb_read_failed(e, error), "the rows cannot be read");
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    return rc;
}

/* A full queue refuses no count, as none refuses the drop itself: it waits its turn. */
static void count_go_on(struct sto_drop_op *op)
{
    struct rdb_engine *e = ((struct count *)op->engine_state)->engine;
    const struct rdb_pool_job job = {.account = op->scope.tenant.account,
                                     .queue = RDB_SCANS,
                                     .priority = op->priority,
                                     .must = true};
    bool is_taken = sto_rdb_pool_push(&e->pool, &job, &op->msg, NULL);
    INVARIANT(is_taken);
}

static void run_on_reader(struct base_msg *msg)
{
    struct sto_drop_op *op =
        (struct sto_drop_op *)((char *)msg - offsetof(struct sto_drop_op, msg));
    struct rdb_engine *e = ((struct count *)op->engine_state)->engine;
    struct sto_account *account = op->scope.tenant.account;
    bool end = false;
    atomic_fetch_add(&account->reads_open, 1);
    enum err rc = sto_rdb_gate_check(account, false, &op->detail);
    if (rc == ERR_OK)
        rc = sto_rdb_usable(e, &op->detail);
    if (rc == ERR_OK)
        rc = slice_count(op, &end);
    atomic_fetch_sub(&account->reads_open, 1);
    if (rc == ERR_OK && !end)
        count_go_on(op);
    else
        answer(op, rc);
}

void sto_rdb_drop_count(struct rdb_engine *e, struct sto_drop_op *op)
{
    struct count *c = base_new(sizeof(*c));
    c->engine = e;
    op->engine_state = c;
    if (op->family != 0 || op->expired_only) {
        answer(op, base_fail(&op->detail, ERR_INVALID, "only whole rows are counted"));
        return;
    }
    if (!sto_key_bounds_of_rows(&op->scope, &op->range, &c->bounds)) {
        answer(op, ERR_OK);
        return;
    }
    op->msg.run = run_on_reader;
    count_go_on(op);
}

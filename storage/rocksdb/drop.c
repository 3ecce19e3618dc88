/*
 * storage/rocksdb/drop.c - a message that sends itself again until its range is empty.
 *
 * 1. A slice is one commit: point deletes of at most LIM_DROP_SLICE_CELLS cells, the headers of the
 *    rows they belonged to, the counters. It starts with an empty batch and leaves one.
 * 2. position is the stored key where the next slice begins, in the middle of a row if need be.
 *    The row's header is read again there: others may have changed the row in between.
 * 3. A row that was entered is closed (header written or deleted) before the slice commits.
 * 4. When only expired cells are dropped, versions are counted from the newest of a column, in one
 *    slice: a slice that ends inside a column begins again at the column's front. It ends there
 * only after it deleted something, so it always gets on.
 */
#include "storage/rocksdb/drop.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/change_log.h"
#include "storage/rocksdb/drop_count.h"
#include "storage/rocksdb/drop_table.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

/* Cells of other families are stepped over when one family is dropped: bound them too. */
#define STEPS_PER_SLICE (4 * LIM_DROP_SLICE_CELLS)

struct drop {
    struct rdb_task task; /* first */
    struct sto_drop_op *op;
    struct rdb_engine *engine;
    struct rdb_committer *committer;
    bool begun;
    bool finished;
    size_t cells; /* deleted in this slice */
    size_t steps;

    /* the row being emptied; row_len 0: none */
    size_t row_len;
    bool changed;
    size_t row_key_len; /* logical */
    struct sto_row_head before;
    struct sto_row_head now;
    bool from_header; /* the slice saw it from its first key */
    struct rdb_change_log changes;

    /* the column being looked through when only expired cells go; column_len 0: none */
    size_t column_len;
    const struct sto_family *family; /* NULL: not in the schema */
    uint64_t newer;                  /* stored cells of the column passed */
    int64_t now_us;

    size_t position_len;
    struct sto_key_bounds bounds;
    uint8_t position[STO_KEY_MAX];
    uint8_t row[STO_KEY_HEADER_MAX];
    uint8_t column[STO_KEY_COLUMN_MAX];
};

static void run_done(struct base_msg *msg)
{
    struct sto_drop_op *op =
        (struct sto_drop_op *)((char *)msg - offsetof(struct sto_drop_op, msg));
    op->done(op);
}

static void answer(struct sto_drop_op *op, enum err rc)
{
    struct drop *d = op->engine_state;
    op->result = rc;
    if (d != NULL)
        sto_rdb_change_log_fini(&d->changes);
    base_free(d);
    op->engine_state = NULL;
    op->msg.run = run_done;
    base_mailbox_push(op->reply_to, &op->msg);
}

/* --- rows ----------------------------------------------------------------------------------- */

/* What went, for the table's change stream; a table that is being deleted has none any more. */
static enum err row_tell(struct rdb_batch *batch, struct sto_drop_op *op, struct rdb_tally *tally,
                         size_t row_len, bool to_its_end)
{
    struct drop *d = op->engine_state;
    struct sto_key parts;
    uint8_t scratch[LIM_ROW_KEY];
    if (!d->changes.on || atomic_load(&tally->table->forgotten))
        return ERR_OK;
    if (d->from_header && to_its_end && op->family == 0 && !op->expired_only)
        sto_rdb_change_log_whole_row(&d->changes);
    size_t n = sto_key_header(d->row, row_len);
    if (sto_key_decode(base_slice(d->row, n), &parts) != ERR_OK)
        return ERR_CORRUPT;
    return sto_rdb_change_log_put(&d->changes, batch, tally, &op->scope,
                                  op->expired_only ? STO_CHANGE_GARBAGE : STO_CHANGE_USER,
                                  sto_key_unescape(parts.row_escaped, scratch),
                                  sto_rdb_committer_us(d->committer));
}

/* to_its_end: the iterator has passed the row. */
static enum err row_close(struct rdb_batch *batch, struct sto_drop_op *op, bool to_its_end)
{
    struct drop *d = op->engine_state;
    size_t row_len = d->row_len;
    d->row_len = 0;
    if (row_len == 0 || !d->changed)
        return ERR_OK;
    if ((d->now.cells == 0) != (d->now.bytes == 0))
        return ERR_CORRUPT;
    struct rdb_tally *tally = sto_rdb_batch_tally(batch, &op->scope);
    INVARIANT(tally != NULL); /* the only one of this batch */
    struct sto_delta delta = {.bytes = -(int64_t)(d->before.bytes - d->now.bytes),
                              .cells = -(int64_t)(d->before.cells - d->now.cells),
                              .rows = d->now.cells == 0 ? -1 : 0};
    size_t n = sto_key_header(d->row, row_len);
    enum err rc = sto_rdb_batch_replace_head(batch, base_slice(d->row, n), &d->now);
    if (rc == ERR_OK)
        rc = sto_rdb_batch_count(batch, tally, &delta);
    return rc == ERR_OK ? row_tell(batch, op, tally, row_len, to_its_end) : rc;
}

/* key is the first one of a row, its header, or, at the front of a slice, one in the middle of it.
 * The batch holds nothing of the row: the header under the iterator is the newest. */
static enum err row_open(struct rdb_batch *batch, struct sto_drop_op *op, struct slice key,
                         struct slice value)
{
    struct drop *d = op->engine_state;
    size_t row_len = sto_key_row_prefix_len(key);
    if (row_len == 0 || row_len > STO_KEY_ROW_MAX)
        return ERR_CORRUPT;
    memcpy(d->row, key.ptr, row_len);
    struct sto_key parts;
    struct slice header = base_slice(d->row, sto_key_header(d->row, row_len));
    struct rdb_head_view head = {.in_db = true};
    if (sto_key_decode(header, &parts) != ERR_OK)
        return ERR_CORRUPT;
    d->from_header = base_slice_equal(key, header);
    enum err rc = d->from_header ? sto_row_head_decode(value, &head.head)
                                 : sto_rdb_batch_head(batch, header, &head);
    if (rc != ERR_OK)
        return rc;
    if (!head.in_db)
        return ERR_CORRUPT; /* cells without a header */
    d->row_len = row_len;
    d->row_key_len = sto_key_unescaped_len(parts.row_escaped);
    d->before = head.head;
    d->now = d->before;
    d->changed = false;
    sto_rdb_change_log_begin(&d->changes, op->scope.schema->table);
    return ERR_OK;
}

/* Whether no read of the scope's schema shows this cell. Numbers of families are never used again:
 * one below next_number that is missing was removed for good. */
static bool is_expired(struct sto_drop_op *op, const struct sto_key *key)
{
    struct drop *d = op->engine_state;
    const struct sto_schema *schema = op->scope.schema;
    if (d->column_len == 0 ||
        !base_slice_equal(key->column_prefix, base_slice(d->column, d->column_len))) {
        memcpy(d->column, key->column_prefix.ptr, key->column_prefix.len);
        d->column_len = key->column_prefix.len;
        d->family = sto_schema_family_by_number(schema, key->family);
        d->newer = 0;
    }
    if (d->family == NULL)
        return key->family < schema->next_number;
    uint64_t newer = d->newer++;
    if (sto_gc_collects(&d->family->gc, newer, key->timestamp_us, d->now_us))
        return true;
    int64_t at = sto_gc_collects_at(&d->family->gc, newer, key->timestamp_us);
    if (at < op->expires_us)
        op->expires_us = at;
    return false;
}

static enum err cell_delete(struct rdb_batch *batch, struct sto_drop_op *op, struct slice key,
                            struct slice value)
{
    struct drop *d = op->engine_state;
    struct sto_key parts;
    struct sto_stored_cell cell;
    if (sto_key_decode(key, &parts) != ERR_OK)
        return ERR_CORRUPT;
    if (parts.family == 0 || (op->family != 0 && parts.family != op->family) ||
        (op->expired_only && !is_expired(op, &parts)))
        return sto_rdb_change_log_cell(&d->changes, NULL, SLICE_EMPTY, 0); /* it is left */
    if (sto_cell_decode(value, &cell) != ERR_OK)
        return ERR_CORRUPT;
    uint64_t bytes = sto_cell_bytes(d->row_key_len, cell.family_name_len,
                                    sto_key_unescaped_len(parts.qualifier_escaped), cell.bytes.len);
    if (d->now.cells == 0 || d->now.bytes < bytes)
        return ERR_CORRUPT;
    d->now.cells--;
    d->now.bytes -= bytes;
    d->changed = true;
    d->cells++;
    enum err rc = sto_rdb_batch_delete_cell(batch, key, true);
    if (rc != ERR_OK)
        return rc;
    /* What goes of a family that was dropped is nothing that a reader of changes knows of. */
    return sto_rdb_change_log_cell(&d->changes,
                                   sto_schema_family_by_number(op->scope.schema, parts.family),
                                   parts.qualifier_escaped, parts.timestamp_us);
}

/* --- slices --------------------------------------------------------------------------------- */

/* Whether the operation looked at enough and may end in front of key: at the front of a row. */
static bool is_enough(const struct sto_drop_op *op, struct slice key)
{
    struct sto_key parts;
    return op->steps_max != 0 && op->steps >= op->steps_max &&
           sto_key_decode(key, &parts) == ERR_OK && parts.family == 0;
}

/* True when the slice ends in front of key; position says where the next one begins. */
static bool slice_ends(struct sto_drop_op *op, struct slice key)
{
    struct drop *d = op->engine_state;
    if (!is_enough(op, key) && d->cells < LIM_DROP_SLICE_CELLS && d->steps < STEPS_PER_SLICE) {
        d->steps++;
        op->steps++;
        return false;
    }
    bool in_column =
        d->column_len != 0 && base_slice_starts_with(key, base_slice(d->column, d->column_len));
    if (in_column && d->cells == 0)
        return false;
    struct slice next = in_column ? base_slice(d->column, d->column_len) : key;
    memcpy(d->position, next.ptr, next.len);
    d->position_len = next.len;
    return true;
}

static enum err slice_collect(struct rdb_batch *batch, struct sto_drop_op *op,
                              rocksdb_iterator_t *it)
{
    struct drop *d = op->engine_state;
    enum err rc = ERR_OK;
    d->row_len = 0;
    d->column_len = 0;
    d->cells = 0;
    d->steps = 0;
    d->now_us = base_wall_us();
    rocksdb_iter_seek(it, (const char *)d->position, d->position_len);
    for (; rc == ERR_OK && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        struct slice key, value;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        if (key.len > STO_KEY_MAX)
            return ERR_CORRUPT;
        bool same_row =
            d->row_len != 0 && base_slice_starts_with(key, base_slice(d->row, d->row_len));
        if (slice_ends(op, key))
            return row_close(batch, op, !same_row);
        if (!same_row) {
            rc = row_close(batch, op, true);
            if (rc == ERR_OK)
                rc = row_open(batch, op, key, value);
        }
        if (rc == ERR_OK)
            rc = cell_delete(batch, op, key, value);
    }
    if (rc != ERR_OK)
        return rc;
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    if (error != NULL)
        return sto_rdb_fail(d->engine, "read", error);
    d->finished = true;
    return row_close(batch, op, true);
}

/* A slice that passes this is over before the rows of a table that ends are counted, and a sweep's
 * before any write that was made under newer rules. Nobody drops rows of a table made anew. */
static enum err table_check(struct sto_drop_op *op)
{
    const struct sto_schema *schema = op->scope.schema;
    if (op->ignore_gate)
        return ERR_OK;
    if (atomic_load(&schema->table->forgotten))
        return base_fail(&op->detail, ERR_NOT_FOUND, "the table was deleted");
    if (op->expired_only && atomic_load(&schema->table->published) != schema->version)
        return base_fail(&op->detail, ERR_CONFLICT, "the table's schema has changed");
    return ERR_OK;
}

enum err sto_rdb_drop_goes_on(struct rdb_engine *e, struct sto_drop_op *op)
{
    if (op->stop != NULL && atomic_load(op->stop))
        return base_fail(&op->detail, ERR_CANCELLED, "the drop was told to end");
    return sto_rdb_usable(e, &op->detail);
}

static enum err slice_run(struct rdb_batch *batch, struct sto_drop_op *op)
{
    struct drop *d = op->engine_state;
    enum err rc = sto_rdb_drop_goes_on(d->engine, op);
    if (rc == ERR_OK && !op->ignore_gate)
        rc = sto_rdb_gate_check(op->scope.tenant.account, true, &op->detail);
    if (rc == ERR_OK)
        rc = table_check(op);
    if (rc != ERR_OK)
        return rc;
    struct sto_usage before = sto_counters_read(&op->scope.schema->table->counters);
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(base_slice(d->bounds.lower, d->bounds.lower_len),
                             base_slice(d->bounds.upper, d->bounds.upper_len));
    rocksdb_readoptions_set_fill_cache(options, !op->expired_only); /* a sweep reads everything */
    rocksdb_iterator_t *it =
        rocksdb_create_iterator_cf(d->engine->db.handle, options, d->engine->db.cells);
    rc = slice_collect(batch, op, it);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    if (rc != ERR_OK) {
        sto_rdb_batch_clear(batch);
        return base_fail(&op->detail, rc, "the rows cannot be dropped: reading them failed");
    }
    rc = sto_rdb_batch_write(batch);
    if (rc != ERR_OK)
        return base_fail(&op->detail, rc, "a commit of the drop failed");
    struct sto_usage after = sto_counters_read(&op->scope.schema->table->counters);
    op->removed.bytes += before.bytes - after.bytes;
    op->removed.rows += before.rows - after.rows;
    op->removed.cells += before.cells - after.cells;
    return ERR_OK;
}

/* True when the operation ends here, because it looked at enough; resume is set. */
static bool ends_early(struct sto_drop_op *op)
{
    const struct drop *d = op->engine_state;
    struct slice position = base_slice(d->position, d->position_len);
    struct sto_key key;
    uint8_t scratch[2 * LIM_ROW_KEY];
    return is_enough(op, position) && sto_key_decode(position, &key) == ERR_OK &&
           base_buf_append(op->resume, sto_key_unescape(key.row_escaped, scratch)) == ERR_OK;
}

static void run_slice(struct rdb_committer *c, struct rdb_task *task)
{
    struct drop *d = (struct drop *)task;
    struct sto_drop_op *op = d->op;
    enum err rc = d->begun ? ERR_OK : sto_rdb_deadline_check(op->deadline_ns, &op->detail);
    d->begun = true;
    if (rc == ERR_OK)
        rc = slice_run(&c->batch, op);
    if (task->priority != STO_PRIORITY_BACKGROUND)
        sto_rdb_committer_charge(c, task->account, d->cells + d->steps / RDB_STEPS_PER_OP);
    if (rc != ERR_OK || d->finished || ends_early(op))
        answer(op, rc);
    else
        sto_rdb_committer_task(c, task, false);
}

void sto_rdb_drop_rows(struct sto_engine *engine, struct sto_drop_op *op)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    op->detail.text[0] = '\0';
    op->removed = (struct sto_usage){0};
    op->steps = 0;
    op->expires_us = STO_GC_NEVER;
    op->engine_state = NULL;
    INVARIANT(op->steps_max == 0 || op->resume != NULL);
    enum err rc = sto_rdb_usable(e, &op->detail);
    if (rc == ERR_OK && (op->range.start.len > LIM_ROW_KEY || op->range.end.len > LIM_ROW_KEY))
        rc = base_fail(&op->detail, ERR_INVALID, "the rows to drop cannot exist");
    if (rc != ERR_OK) {
        answer(op, rc);
        return;
    }
    if (op->dry_run) {
        sto_rdb_drop_count(e, op);
        return;
    }
    if (op->table_ends) {
        INVARIANT(op->ignore_gate && op->family == 0 && op->range.start.len == 0 &&
                  op->range.end.len == 0 && atomic_load(&op->scope.schema->table->forgotten));
        if (atomic_load(&op->scope.schema->table->counters.cells) > e->options.drop_range_cells) {
            sto_rdb_drop_table(e, op);
            return;
        }
    }
    struct drop *d = base_new(sizeof(*d));
    op->engine_state = d;
    d->engine = e;
    sto_rdb_change_log_init(&d->changes);
    d->committer = sto_rdb_committer_of(e, op->scope.tenant.account);
    if (!sto_key_bounds_of_rows(&op->scope, &op->range, &d->bounds)) {
        answer(op, ERR_OK);
        return;
    }
    memcpy(d->position, d->bounds.lower, d->bounds.lower_len);
    d->position_len = d->bounds.lower_len;
    d->op = op;
    d->task = (struct rdb_task){
        .account = op->scope.tenant.account,
        .priority = op->expired_only || op->ignore_gate ? STO_PRIORITY_BACKGROUND : op->priority,
        .run = run_slice,
    };
    sto_rdb_committer_task(d->committer, &d->task, true);
}

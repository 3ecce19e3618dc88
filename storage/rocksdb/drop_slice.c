/*
 * storage/rocksdb/drop_slice.c - point deletes of the cells that an iterator passes.
 *
 * 1. A slice is part of one commit: point deletes of a bounded number of cells, the headers of
 *    their rows, the counters.
 * 2. position is the stored key where the next slice starts, in the middle of a row if necessary.
 *    The row's header is read again there: others may have changed the row in between.
 * 3. A row that was entered is closed (header written or deleted) before the slice ends.
 * 4. When only expired cells are dropped, versions are counted from the newest of a column, in one
 *    slice: a slice that ends inside a column restarts at the start of the column. It ends there
 *    only after it deleted at least one cell, so it always makes progress.
 */
#include "storage/rocksdb/drop_slice.h"

#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

/* Cells of other families are stepped over when one family is dropped: they are bounded too. */
#define STEPS_PER_SLICE (4 * LIM_DROP_SLICE_CELLS)

/* --- rows ----------------------------------------------------------------------------------- */

/* Records the deleted cells for the table's change stream; a removed table no longer has one. */
static enum err row_tell(struct rdb_drop_slice *d, struct rdb_batch *batch, struct rdb_tally *tally,
                         size_t row_len, bool to_its_end)
{
    struct sto_drop_op *op = d->op;
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

/* Closes the row. to_its_end: the iterator has passed the row. */
static enum err row_close(struct rdb_drop_slice *d, struct rdb_batch *batch, bool to_its_end)
{
    struct sto_drop_op *op = d->op;
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
    return rc == ERR_OK ? row_tell(d, batch, tally, row_len, to_its_end) : rc;
}

/* Opens a row. key is its first key, the header, or, at the start of a slice, one in the middle of
 * it. The batch holds nothing of the row: the header under the iterator is the newest. */
static enum err row_open(struct rdb_drop_slice *d, struct rdb_batch *batch, struct slice key,
                         struct slice value)
{
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
    sto_rdb_change_log_begin(&d->changes, d->op->scope.schema->table);
    return ERR_OK;
}

static enum err cell_delete(struct rdb_drop_slice *d, struct rdb_batch *batch, struct slice key,
                            struct slice value)
{
    struct sto_drop_op *op = d->op;
    struct sto_key parts;
    struct sto_stored_cell cell;
    if (sto_key_decode(key, &parts) != ERR_OK)
        return ERR_CORRUPT;
    if (parts.family == 0 || (op->family != 0 && parts.family != op->family) ||
        (op->expired_only && !sto_rdb_is_expired(&d->expiry, &parts)))
        return sto_rdb_change_log_cell(&d->changes, NULL, SLICE_EMPTY, 0); /* it is kept */
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
    /* Cells of a dropped family are unknown to readers of changes. */
    return sto_rdb_change_log_cell(&d->changes,
                                   sto_schema_family_by_number(op->scope.schema, parts.family),
                                   parts.qualifier_escaped, parts.timestamp_us);
}

/* --- slices --------------------------------------------------------------------------------- */

static bool is_row_front(struct slice key)
{
    struct sto_key parts;
    return sto_key_decode(key, &parts) == ERR_OK && parts.family == 0;
}

/* Returns true when the slice ends before key; position is where the next one starts. */
static bool slice_ends(struct rdb_drop_slice *d, struct slice key)
{
    bool goes_otherwise = d->cells >= d->cells_wanted && is_row_front(key);
    if (!goes_otherwise && d->cells < d->cells_max && d->steps < STEPS_PER_SLICE) {
        d->steps++;
        return false;
    }
    struct slice column = sto_rdb_expiry_column(&d->expiry);
    bool in_column = column.len != 0 && base_slice_starts_with(key, column);
    if (in_column && d->cells == 0)
        return false;
    struct slice next = in_column ? column : key;
    memcpy(d->position, next.ptr, next.len);
    d->position_len = next.len;
    d->at_row_front = !in_column && is_row_front(key);
    return true;
}

/* Collects from the iterator's position. */
static enum err collect(struct rdb_drop_slice *d, struct rdb_batch *batch, rocksdb_iterator_t *it)
{
    enum err rc = ERR_OK;
    for (; rc == ERR_OK && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        struct slice key, value;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        if (key.len > STO_KEY_MAX)
            return ERR_CORRUPT;
        int to_last = d->last.len == 0 ? -1 : base_slice_compare(key, d->last);
        if (to_last > 0)
            break;
        bool same_row =
            d->row_len != 0 && base_slice_starts_with(key, base_slice(d->row, d->row_len));
        if (slice_ends(d, key))
            return row_close(d, batch, !same_row);
        if (!same_row) {
            rc = row_close(d, batch, true);
            if (rc == ERR_OK)
                rc = row_open(d, batch, key, value);
        }
        if (rc == ERR_OK)
            rc = cell_delete(d, batch, key, value);
        if (to_last == 0) /* thousands of deletes may follow it */
            break;
    }
    if (rc != ERR_OK)
        return rc;
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    if (error != NULL)
        return sto_rdb_read_failed(d->engine, error);
    d->finished = true;
    return row_close(d, batch, d->last.len == 0);
}

enum err sto_rdb_drop_slice_collect(struct rdb_drop_slice *d, struct rdb_batch *batch,
                                    rocksdb_iterator_t *it)
{
    d->row_len = 0;
    d->cells = 0;
    d->steps = 0;
    d->finished = false;
    sto_rdb_expiry_begin(&d->expiry);
    rocksdb_iter_seek(it, (const char *)d->position, d->position_len);
    enum err rc = collect(d, batch, it);
    if (rc == ERR_OK)
        return ERR_OK;
    return base_fail(&d->op->detail, rc, "the rows cannot be dropped: reading them failed");
}

static enum err write_noted(struct rdb_drop_slice *d, struct rdb_batch *batch,
                            const struct sto_key_bounds *noted, enum rdb_note_when when)
{
    struct rdb_engine *e = d->engine;
    pthread_mutex_lock(&e->docs_lock);
    enum err rc = sto_rdb_note_write(e, batch->writes, &d->op->scope, noted, when);
    if (rc == ERR_OK)
        rc = sto_rdb_batch_write(batch);
    else
        sto_rdb_batch_clear(batch);
    pthread_mutex_unlock(&e->docs_lock);
    return rc;
}

enum err sto_rdb_drop_slice_write(struct rdb_drop_slice *d, struct rdb_batch *batch,
                                  const struct sto_key_bounds *noted, enum rdb_note_when when)
{
    struct sto_drop_op *op = d->op;
    const struct sto_counters *counters = &op->scope.schema->table->counters;
    struct sto_usage before = sto_counters_read(counters);
    enum err rc = noted == NULL ? sto_rdb_batch_write(batch) : write_noted(d, batch, noted, when);
    if (rc != ERR_OK)
        return base_fail(&op->detail, rc, "a commit of the drop failed");
    struct sto_usage after = sto_counters_read(counters);
    op->removed.bytes += before.bytes - after.bytes;
    op->removed.rows += before.rows - after.rows;
    op->removed.cells += before.cells - after.cells;
    return ERR_OK;
}

/* --- creation -------------------------------------------------------------------------------- */

void sto_rdb_drop_slice_init(struct rdb_drop_slice *d, struct rdb_engine *e, struct sto_drop_op *op)
{
    d->op = op;
    d->engine = e;
    d->committer = sto_rdb_committer_of(e, op->scope.tenant.account);
    sto_rdb_change_log_init(&d->changes);
    sto_rdb_expiry_init(&d->expiry, op->scope.schema);
}

void sto_rdb_drop_slice_fini(struct rdb_drop_slice *d)
{
    sto_rdb_change_log_fini(&d->changes);
}

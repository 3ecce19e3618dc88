/*
 * storage/rocksdb/drop_slice.c - point deletes of the cells that an iterator passes.
 *
 * 1. A slice is one commit: point deletes of at most LIM_DROP_SLICE_CELLS cells, the headers of the
 *    rows they belonged to, the counters. It starts with an empty batch.
 * 2. position is the stored key where the next slice begins, in the middle of a row if need be.
 *    The row's header is read again there: others may have changed the row in between.
 * 3. A row that was entered is closed (header written or deleted) before the slice ends.
 * 4. When only expired cells are dropped, versions are counted from the newest of a column, in one
 *    slice: a slice that ends inside a column begins again at the column's front. It ends there
 *    only after it deleted something, so it always gets on.
 */
#include "storage/rocksdb/drop_slice.h"

#include "base/clock.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

/* Cells of other families are stepped over when one family is dropped: bound them too. */
#define STEPS_PER_SLICE (4 * LIM_DROP_SLICE_CELLS)

/* --- rows ----------------------------------------------------------------------------------- */

/* What went, for the table's change stream; a table that is being deleted has none any more. */
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

/* to_its_end: the iterator has passed the row. */
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

/* key is the first one of a row, its header, or, at the front of a slice, one in the middle of it.
 * The batch holds nothing of the row: the header under the iterator is the newest. */
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

/* Whether no read of the scope's schema shows this cell. Numbers of families are never used again:
 * one below next_number that is missing was removed for good. */
static bool is_expired(struct rdb_drop_slice *d, const struct sto_key *key)
{
    struct sto_drop_op *op = d->op;
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

static enum err cell_delete(struct rdb_drop_slice *d, struct rdb_batch *batch, struct slice key,
                            struct slice value)
{
    struct sto_drop_op *op = d->op;
    struct sto_key parts;
    struct sto_stored_cell cell;
    if (sto_key_decode(key, &parts) != ERR_OK)
        return ERR_CORRUPT;
    if (parts.family == 0 || (op->family != 0 && parts.family != op->family) ||
        (op->expired_only && !is_expired(d, &parts)))
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

static bool is_row_front(struct slice key)
{
    struct sto_key parts;
    return sto_key_decode(key, &parts) == ERR_OK && parts.family == 0;
}

/* Whether the operation looked at enough and may end in front of key: at the front of a row. */
static bool is_enough(const struct rdb_drop_slice *d, struct slice key)
{
    const struct sto_drop_op *op = d->op;
    return op->steps_max != 0 && op->steps >= op->steps_max && is_row_front(key);
}

/* True when the slice ends in front of key; position says where the next one begins. */
static bool slice_ends(struct rdb_drop_slice *d, struct slice key)
{
    struct sto_drop_op *op = d->op;
    bool goes_otherwise = d->cells >= d->cells_wanted && is_row_front(key);
    if (!goes_otherwise && !is_enough(d, key) && d->cells < LIM_DROP_SLICE_CELLS &&
        d->steps < STEPS_PER_SLICE) {
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
    d->at_row_front = !in_column && is_row_front(key);
    return true;
}

static enum err collect(struct rdb_drop_slice *d, struct rdb_batch *batch, rocksdb_iterator_t *it)
{
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
        if (slice_ends(d, key))
            return row_close(d, batch, !same_row);
        if (!same_row) {
            rc = row_close(d, batch, true);
            if (rc == ERR_OK)
                rc = row_open(d, batch, key, value);
        }
        if (rc == ERR_OK)
            rc = cell_delete(d, batch, key, value);
    }
    if (rc != ERR_OK)
        return rc;
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    if (error != NULL)
        return sto_rdb_fail(d->engine, "read", error);
    d->finished = true;
    return row_close(d, batch, true);
}

enum err sto_rdb_drop_slice_collect(struct rdb_drop_slice *d, struct rdb_batch *batch)
{
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(base_slice(d->bounds.lower, d->bounds.lower_len),
                             base_slice(d->bounds.upper, d->bounds.upper_len));
    rocksdb_readoptions_set_fill_cache(options,
                                       !d->op->expired_only); /* a sweep reads everything */
    rocksdb_iterator_t *it =
        rocksdb_create_iterator_cf(d->engine->db.handle, options, d->engine->db.cells);
    enum err rc = collect(d, batch, it);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    return rc;
}

bool sto_rdb_drop_slice_is_enough(const struct rdb_drop_slice *d)
{
    return is_enough(d, base_slice(d->position, d->position_len));
}

/*
 * storage/rocksdb/row_cursor.c - two orders of keys, merged.
 *
 * 1. An entry of the overlay that is live hides the database's value of the same key; one that is
 *    not live has no information.
 * 2. The iterator moves when the cursor does, not before: many removed keys may follow.
 * 3. pending is at or after the cell under the cursor. Entries added before it are those of cells
 *    that were passed, or of new ones that the walk need not see.
 */
#include "storage/rocksdb/row_cursor.h"

#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

void sto_rdb_row_cursor_open(struct rdb_row_cursor *c, struct rdb_batch *b, struct slice row,
                             bool in_db, uint64_t removed_max)
{
    c->batch = b;
    c->row = row;
    c->in_db = in_db;
    c->removed_max = removed_max;
    c->begun = false;
    c->options = NULL;
    c->iterator = NULL;
    c->at_end = true;
    base_buf_init(&c->plain, LIM_CELL_BYTES_HARD + MIB);
}

void sto_rdb_row_cursor_close(struct rdb_row_cursor *c)
{
    if (c->iterator != NULL)
        rocksdb_iter_destroy(c->iterator);
    if (c->options != NULL)
        rocksdb_readoptions_destroy(c->options);
    base_buf_fini(&c->plain);
    c->iterator = NULL;
    c->options = NULL;
    c->begun = false;
}

void sto_rdb_row_cursor_bound(struct rdb_row_cursor *c, uint64_t removed_max)
{
    if (c->removed_max == removed_max)
        return;
    sto_rdb_row_cursor_close(c);
    sto_rdb_row_cursor_open(c, c->batch, c->row, c->in_db, removed_max);
}

static enum err begin(struct rdb_row_cursor *c)
{
    if (c->begun || !c->in_db)
        return ERR_OK;
    memcpy(c->upper, c->row.ptr, c->row.len);
    sto_key_after(c->upper, c->row.len);
    c->options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_prefix_same_as_start(c->options, 1);
    rocksdb_readoptions_set_iterate_lower_bound(c->options, (const char *)c->row.ptr, c->row.len);
    rocksdb_readoptions_set_iterate_upper_bound(c->options, (const char *)c->upper, c->row.len);
    rocksdb_readoptions_set_max_skippable_internal_keys(c->options, c->removed_max);
    c->iterator = sto_rdb_rows_iterator(c->batch->engine, c->options, NULL);
    c->begun = true;
    return sto_rdb_lost_check_key(c->batch->engine, RDB_CF_CELLS, c->row);
}

/* Moves to the next key that no range of the batch hides. */
static bool stored_key(const struct rdb_row_cursor *c, struct slice *out)
{
    while (c->iterator != NULL && rocksdb_iter_valid(c->iterator)) {
        out->ptr = (const uint8_t *)rocksdb_iter_key(c->iterator, &out->len);
        const struct sto_span *range = sto_rdb_batch_range_of(c->batch, *out);
        if (range == NULL)
            return true;
        rocksdb_iter_seek(c->iterator, (const char *)range->end.ptr, range->end.len);
    }
    return false;
}

static enum err stand_on_stored(struct rdb_row_cursor *c, struct slice key)
{
    struct slice stored;
    struct sto_stored_cell cell;
    stored.ptr = (const uint8_t *)rocksdb_iter_value(c->iterator, &stored.len);
    enum err rc = sto_cell_decode(stored, &cell);
    if (rc == ERR_OK)
        rc = sto_cell_unseal(&cell, key, &c->batch->sealer, c->batch->cipher, &c->plain);
    if (rc != ERR_OK)
        return rc;
    c->at_end = false;
    c->on_pending = false;
    c->cell_in_db = true;
    c->family_name_len = cell.family_name_len;
    c->key = key;
    c->value = cell.bytes;
    return ERR_OK;
}

static void stand_on_pending(struct rdb_row_cursor *c)
{
    const struct rdb_change *now = &c->pending->now;
    c->at_end = false;
    c->on_pending = true;
    c->cell_in_db = now->in_db;
    c->family_name_len = now->family_name_len;
    c->key = c->pending->key;
    c->value = now->value;
}

static void skip_silent(struct rdb_row_cursor *c)
{
    while (c->pending != NULL && !c->pending->now.live)
        c->pending = c->pending->next[0];
    if (c->pending != NULL && !base_slice_starts_with(c->pending->key, c->row))
        c->pending = NULL;
}

/* Returns why the iterator has no further key of the row. */
static enum err stored_end(struct rdb_row_cursor *c)
{
    char *error = NULL;
    if (c->iterator != NULL)
        rocksdb_iter_get_error(c->iterator, &error);
    if (error == NULL)
        return ERR_OK;
    if (!sto_rdb_error_is_of_skips(error))
        return sto_rdb_read_failed(c->batch->engine, error);
    rocksdb_free(error);
    return ERR_CANCELLED;
}

/* Chooses the next cell. Both sides are at or after the cursor's new position. */
static enum err settle(struct rdb_row_cursor *c)
{
    for (;;) {
        struct slice key;
        skip_silent(c);
        bool stored = stored_key(c, &key);
        enum err rc = stored ? ERR_OK : stored_end(c);
        if (rc != ERR_OK)
            return rc;
        if (!stored && c->pending == NULL) {
            c->at_end = true;
            return ERR_OK;
        }
        int order = !stored              ? 1
                    : c->pending == NULL ? -1
                                         : base_slice_compare(key, c->pending->key);
        if (order < 0)
            return stand_on_stored(c, key);
        if (c->pending->now.present && !c->pending->now.is_head) {
            stand_on_pending(c);
            c->hides_stored = order == 0;
            return ERR_OK;
        }
        if (order == 0)
            rocksdb_iter_next(c->iterator);
        c->pending = c->pending->next[0];
    }
}

enum err sto_rdb_row_cursor_seek(struct rdb_row_cursor *c, struct slice key)
{
    enum err rc = begin(c);
    if (rc != ERR_OK)
        return rc;
    c->pending = sto_rdb_overlay_seek(&c->batch->overlay, key);
    if (c->iterator != NULL)
        rocksdb_iter_seek(c->iterator, (const char *)key.ptr, key.len);
    return settle(c);
}

enum err sto_rdb_row_cursor_next(struct rdb_row_cursor *c)
{
    if (!c->on_pending || c->hides_stored)
        rocksdb_iter_next(c->iterator);
    if (c->on_pending)
        c->pending = c->pending->next[0];
    return settle(c);
}

enum err sto_rdb_row_cursor_view(const struct rdb_row_cursor *c, struct rdb_cell_view *out)
{
    *out = (struct rdb_cell_view){.entry = sto_rdb_overlay_touch(&c->batch->overlay, c->key),
                                  .present = true,
                                  .in_db = c->cell_in_db,
                                  .family_name_len = c->family_name_len,
                                  .value_len = c->value.len};
    base_buf_init(&out->plain, 0); /* stays empty */
    return out->entry == NULL ? ERR_NO_MEMORY : ERR_OK;
}

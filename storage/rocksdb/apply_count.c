/*
 * storage/rocksdb/apply_count.c - counts the cells of a row that was changed often, without a walk
 * through its removed keys.
 *
 * Where many removed keys follow a cell, the next column is read instead. That may jump over cells,
 * but the row's header has their number: if jumps find as many, there are no others
 * (docs/decisions/0060).
 */
#include "storage/rocksdb/apply_row.h"

#include "base/banned.h"

enum err sto_rdb_row_jump(struct rdb_row *r, struct slice column, bool *jumped)
{
    memcpy(r->key, column.ptr, column.len);
    enum err rc = sto_rdb_row_cursor_next(&r->cursor);
    if (rc != ERR_CANCELLED)
        return rc;
    *jumped = true;
    sto_key_after(r->key, column.len);
    return sto_rdb_row_cursor_seek(&r->cursor, base_slice(r->key, column.len));
}

enum err sto_rdb_row_count(struct rdb_row *r, struct slice begin, struct slice end, uint64_t *count)
{
    struct rdb_row_cursor *c = &r->cursor;
    bool jumped = false;
    sto_rdb_row_cursor_bound(c, COLUMN_REMOVED_MAX);
    enum err rc = sto_rdb_row_cursor_seek(c, begin);
    while (rc == ERR_OK && !c->at_end && *count <= ROW_COUNTED_MAX &&
           (end.len == 0 || base_slice_compare(c->key, end) < 0)) {
        struct sto_key parts;
        if (sto_key_decode(c->key, &parts) != ERR_OK)
            return ERR_CORRUPT;
        (*count)++;
        rc = sto_rdb_row_step(r, 1);
        if (rc != ERR_OK)
            return rc;
        rc = sto_rdb_row_jump(r, parts.column_prefix, &jumped);
    }
    return rc == ERR_CANCELLED ? ERR_OK : rc;
}

enum err sto_rdb_row_jumps_miss_none(struct rdb_row *r, bool *out)
{
    uint64_t count = 0;
    *out = false;
    if (r->now.cells > ROW_COUNTED_MAX)
        return ERR_OK;
    uint8_t first[STO_KEY_ROW_MAX + 2];
    memcpy(first, r->key, r->row_len);
    size_t len = sto_key_family(first, r->row_len, 1);
    enum err rc = sto_rdb_row_count(r, base_slice(first, len), SLICE_EMPTY, &count);
    *out = rc == ERR_OK && count == r->now.cells;
    return rc;
}

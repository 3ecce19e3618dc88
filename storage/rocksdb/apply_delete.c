/*
 * storage/rocksdb/apply_delete.c - deletes of the cells that are there.
 *
 * Each of them is counted, and a row without cells is not looked through any further: what follows
 * may be as many removed keys as the row was written to. A batch apart has them deleted one by one
 * up to LIM_DELETE_POINTS; what one mutation deletes of the database beyond that goes as a range.
 */
#include "storage/rocksdb/apply_row.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define COLUMN_REMOVED_MAX 64 /* passed in one move, where the next column may be tried instead */

/* A walk over the cells that a mutation deletes. */
struct walk {
    const struct sto_mutation *m;
    bool may_range;    /* cells may go as a range */
    size_t points_end; /* of r->deleted: from there on they do */
    uint16_t told;     /* the last family; they come in the order of their numbers */
    bool may_jump;     /* the whole row goes: how many cells that are is known */
    bool has_jumped;   /* over keys that may have been cells */
};

/* The cell under the cursor, and whose it was. ranged: a range of the batch will have it, too. */
static enum err delete_one(struct rdb_row *r, bool ranged, struct sto_key *out_parts)
{
    const struct rdb_row_cursor *c = &r->cursor;
    if (sto_key_decode(c->key, out_parts) != ERR_OK || out_parts->family == 0)
        return ERR_CORRUPT;
    uint64_t bytes =
        sto_cell_bytes(r->op->row_key.len, c->family_name_len,
                       sto_key_unescaped_len(out_parts->qualifier_escaped), c->value.len);
    if (r->now.cells == 0 || r->now.bytes < bytes)
        return ERR_CORRUPT;
    if (++r->deleted > LIM_DELETE_CELLS)
        return ERR_TOO_BIG;
    r->now.cells--;
    r->now.bytes -= bytes;
    r->bytes_seen += c->key.len - r->row_len + c->value.len;
    enum err rc = sto_rdb_row_step(r, 1);
    if (rc != ERR_OK || (ranged && !c->on_pending))
        return rc;
    return sto_rdb_batch_delete_cell(r->batch, c->key, c->cell_in_db);
}

/* Bounds of what m deletes: lower in r->key, upper in r->upper. */
static void bounds_of(struct rdb_row *r, const struct sto_mutation *m, struct slice *lower,
                      struct slice *upper)
{
    size_t n = r->row_len;
    if (m->kind == STO_DELETE_FROM_COLUMN) {
        n = sto_key_column(r->key, r->row_len, m->family, m->qualifier);
        memcpy(r->upper, r->key, n);
        size_t low = m->end_us > 0 ? sto_key_version(r->key, n, m->end_us - 1) : n;
        if (m->start_us > 0)
            n = sto_key_version(r->upper, n, m->start_us - 1);
        else
            sto_key_after(r->upper, n);
        *lower = base_slice(r->key, low);
    } else if (m->kind == STO_DELETE_FROM_FAMILY) {
        (void)sto_key_family(r->key, r->row_len, m->family); /* two bytes behind the row */
        memcpy(r->upper, r->key, r->row_len);
        if (m->family == UINT16_MAX)
            sto_key_after(r->upper, n = r->row_len);
        else
            n = sto_key_family(r->upper, r->row_len, (uint16_t)(m->family + 1));
        *lower = base_slice(r->key, r->row_len + 2);
    } else {
        size_t low = sto_key_family(r->key, r->row_len, 1); /* behind the header */
        memcpy(r->upper, r->key, n);
        sto_key_after(r->upper, n);
        *lower = base_slice(r->key, low);
    }
    *upper = base_slice(r->upper, n);
}

/* For the table's change stream: m was done in a family, where it removed something or did not. On
 * a low disk only what makes room may write about itself. A family that is not in the schema is no
 * one's to hear of. */
static enum err tell(struct rdb_row *r, const struct sto_mutation *m, uint16_t number, bool removed)
{
    const struct sto_family *family = sto_schema_family_by_number(r->op->scope.schema, number);
    if (!r->changes.on || family == NULL ||
        (!removed && sto_rdb_headroom_is_low(&r->batch->engine->headroom)))
        return ERR_OK;
    struct sto_change_mutation change = {.kind = STO_DELETE_FROM_FAMILY,
                                         .family = base_slice(family->name, family->name_len)};
    if (m->kind == STO_DELETE_FROM_COLUMN) {
        change.kind = STO_DELETE_FROM_COLUMN;
        change.qualifier = m->qualifier;
        change.start_us = m->start_us;
        change.end_us = m->end_us;
    }
    return sto_rdb_change_log_add(&r->changes, &change, removed);
}

/* Moves to the next cell after one of that column. */
static enum err walk_on(struct rdb_row *r, struct walk *w, struct slice column)
{
    if (!w->may_jump)
        return sto_rdb_row_next(r);
    memcpy(r->key, column.ptr, column.len);
    enum err rc = sto_rdb_row_cursor_next(&r->cursor);
    if (rc != ERR_CANCELLED)
        return rc;
    w->has_jumped = true;
    sto_key_after(r->key, column.len);
    return sto_rdb_row_cursor_seek(&r->cursor, base_slice(r->key, column.len));
}

static enum err walk(struct rdb_row *r, struct walk *w)
{
    struct slice lower, upper;
    struct sto_key parts;
    bounds_of(r, w->m, &lower, &upper);
    if (base_slice_compare(lower, upper) >= 0 || r->now.cells == 0)
        return ERR_OK;
    enum err rc =
        w->may_jump ? sto_rdb_row_cursor_seek(&r->cursor, lower) : sto_rdb_row_seek(r, lower);
    while (rc == ERR_OK && !r->cursor.at_end && base_slice_compare(r->cursor.key, upper) < 0) {
        rc = delete_one(r, w->may_range && r->deleted >= w->points_end, &parts);
        if (rc == ERR_OK && parts.family != w->told)
            rc = tell(r, w->m, w->told = parts.family, true);
        if (rc == ERR_OK && r->now.cells == 0)
            break;
        if (rc == ERR_OK)
            rc = walk_on(r, w, parts.column_prefix);
    }
    if (rc == ERR_OK && w->may_range && r->deleted > w->points_end &&
        !sto_rdb_batch_delete_range(r->batch, (struct sto_span){lower, upper}))
        rc = ERR_NO_MEMORY;
    return rc;
}

/* Opens the row's cursor again, with another bound. */
static void cursor_bound(struct rdb_row *r, uint64_t removed_max)
{
    sto_rdb_row_cursor_close(&r->cursor);
    sto_rdb_row_cursor_open(&r->cursor, r->batch, base_slice(r->key, r->row_len), r->before.in_db,
                            removed_max);
}

/* Deletes the whole row, on a committer. A second walk finds what the first one jumped over or did
 * not reach; a family may be reported to the change stream twice then. */
static enum err walk_by_columns(struct rdb_row *r, struct walk *w)
{
    uint64_t removed_max = r->cursor.removed_max;
    cursor_bound(r, COLUMN_REMOVED_MAX);
    w->may_jump = true;
    enum err rc = walk(r, w);
    w->may_jump = false;
    cursor_bound(r, removed_max);
    if (rc != ERR_OK && (rc != ERR_CANCELLED || r->is_dear))
        return rc;
    return w->has_jumped || rc == ERR_CANCELLED ? walk(r, w) : ERR_OK;
}

enum err sto_rdb_row_delete(struct rdb_row *r, const struct sto_mutation *m)
{
    bool is_row = m->kind == STO_DELETE_FROM_ROW;
    if (m->kind == STO_DELETE_FROM_COLUMN && m->qualifier.len > LIM_QUALIFIER)
        return ERR_TOO_BIG;
    if (!is_row && m->family == 0)
        return ERR_NOT_FOUND;
    if (is_row && r->now.cells > r->steps_max - r->steps)
        return sto_rdb_row_step(r, r->now.cells); /* all of them, and too many */
    struct walk w = {.m = m,
                     .may_range = r->batch->is_apart && r->batch->range_count < LIM_DELETE_RANGES,
                     .points_end = r->deleted + LIM_DELETE_POINTS};
    bool is_bounded = r->cursor.removed_max != 0;
    enum err rc = is_row && is_bounded ? walk_by_columns(r, &w) : walk(r, &w);
    r->is_emptied = r->is_emptied || (rc == ERR_OK && is_row);
    return rc == ERR_OK && w.told == 0 && !is_row ? tell(r, m, m->family, false) : rc;
}

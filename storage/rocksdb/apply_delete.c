/*
 * storage/rocksdb/apply_delete.c - deletes of existing cells.
 *
 * Each deleted cell is counted, and the walk stops when the row has no cells left: as many removed
 * keys may follow as the row had writes. For the same reason a committer that meets many removed
 * keys in a part of a row counts the cells of the other parts: if those are all that the row has
 * left, this part has none. A batch apart deletes cells one by one up to LIM_DELETE_POINTS; stored
 * cells that one mutation deletes beyond that are deleted as a range.
 */
#include "storage/rocksdb/apply_row.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

/* A walk over the cells that a mutation deletes. */
struct walk {
    const struct sto_mutation *m;
    bool may_range;    /* cells may be deleted as a range */
    size_t points_end; /* of r->deleted: later cells are deleted as a range */
    uint16_t told;     /* the last family reported; they come in the order of their numbers */
    bool is_short; /* ERR_CANCELLED means too many removed keys, which does not make r expensive */
    bool may_jump; /* the whole row is deleted: the number of its cells is known */
    bool has_jumped; /* over keys that may have been cells */
};

/* Deletes the cell under the cursor, and returns its key's parts. ranged: a range of the batch will
 * contain it, too. */
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
    r->bytes_deleted += c->key.len - r->row_len + c->value.len;
    enum err rc = sto_rdb_row_step(r, 1);
    if (rc != ERR_OK || (ranged && !c->on_pending))
        return rc;
    return sto_rdb_batch_delete_cell(r->batch, c->key, c->cell_in_db);
}

/* Computes the bounds of the keys that m deletes: lower in r->key, upper in r->upper. */
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
        (void)sto_key_family(r->key, r->row_len, m->family); /* two bytes after the row prefix */
        memcpy(r->upper, r->key, r->row_len);
        if (m->family == UINT16_MAX)
            sto_key_after(r->upper, n = r->row_len);
        else
            n = sto_key_family(r->upper, r->row_len, (uint16_t)(m->family + 1));
        *lower = base_slice(r->key, r->row_len + 2);
    } else {
        size_t low = sto_key_family(r->key, r->row_len, 1); /* after the header */
        memcpy(r->upper, r->key, n);
        sto_key_after(r->upper, n);
        *lower = base_slice(r->key, low);
    }
    *upper = base_slice(r->upper, n);
}

/* Records for the table's change stream that m was applied to a family, and whether it removed
 * anything. On a low disk only deletes that free space are recorded. A family that is not in the
 * schema is not reported. */
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
    if (!w->is_short)
        return sto_rdb_row_next(r);
    return w->may_jump ? sto_rdb_row_jump(r, column, &w->has_jumped)
                       : sto_rdb_row_cursor_next(&r->cursor);
}

/* Returns in *out whether all remaining cells of the row are outside the range that m deletes. */
static enum err all_are_outside(struct rdb_row *r, const struct sto_mutation *m, bool *out)
{
    uint64_t count = 0;
    struct slice lower, upper;
    *out = false;
    if (r->now.cells > ROW_COUNTED_MAX)
        return ERR_OK;
    bounds_of(r, m, &lower, &upper);
    uint8_t end[STO_KEY_MAX];
    memcpy(end, lower.ptr, lower.len); /* counting writes into r->key */
    enum err rc = sto_rdb_row_count(r, upper, SLICE_EMPTY, &count);
    if (rc == ERR_OK && count < r->now.cells) {
        uint8_t front[STO_KEY_ROW_MAX + 2];
        memcpy(front, r->key, r->row_len);
        size_t n = sto_key_family(front, r->row_len, 1);
        rc = sto_rdb_row_count(r, base_slice(front, n), base_slice(end, lower.len), &count);
    }
    *out = rc == ERR_OK && count == r->now.cells;
    return rc;
}

static enum err walk(struct rdb_row *r, struct walk *w)
{
    struct slice lower, upper;
    struct sto_key parts;
    bounds_of(r, w->m, &lower, &upper);
    if (base_slice_compare(lower, upper) >= 0 || r->now.cells == 0)
        return ERR_OK;
    if (w->is_short)
        sto_rdb_row_cursor_bound(&r->cursor, COLUMN_REMOVED_MAX);
    enum err rc =
        w->is_short ? sto_rdb_row_cursor_seek(&r->cursor, lower) : sto_rdb_row_seek(r, lower);
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

/* Deletes the whole row, on a committer. A second walk finds cells that the first one jumped over
 * or did not reach; a family may be reported to the change stream twice then. */
static enum err walk_by_columns(struct rdb_row *r, struct walk *w)
{
    w->is_short = w->may_jump = true;
    enum err rc = walk(r, w);
    w->is_short = w->may_jump = false;
    if (rc != ERR_OK && (rc != ERR_CANCELLED || r->is_dear))
        return rc;
    return w->has_jumped || rc == ERR_CANCELLED ? walk(r, w) : ERR_OK;
}

/* Deletes a part of a row, on a committer. */
static enum err walk_by_count(struct rdb_row *r, struct walk *w)
{
    bool is_done = false;
    w->is_short = true;
    enum err rc = walk(r, w);
    w->is_short = false;
    if (rc != ERR_CANCELLED || r->is_dear)
        return rc;
    rc = all_are_outside(r, w->m, &is_done);
    return rc != ERR_OK || is_done ? rc : walk(r, w);
}

enum err sto_rdb_row_delete(struct rdb_row *r, const struct sto_mutation *m)
{
    bool is_row = m->kind == STO_DELETE_FROM_ROW;
    if (m->kind == STO_DELETE_FROM_COLUMN && m->qualifier.len > LIM_QUALIFIER)
        return ERR_TOO_BIG;
    if (!is_row && m->family == 0)
        return ERR_NOT_FOUND;
    if (is_row && r->now.cells > r->steps_max - r->steps)
        return sto_rdb_row_step(r, r->now.cells); /* all of them, which is too many */
    struct walk w = {.m = m,
                     .may_range = r->batch->is_apart && r->batch->range_count < LIM_DELETE_RANGES,
                     .points_end = r->deleted + LIM_DELETE_POINTS};
    bool is_bounded = r->removed_max != 0;
    enum err rc = !is_bounded ? walk(r, &w)
                  : is_row    ? walk_by_columns(r, &w)
                              : walk_by_count(r, &w);
    r->is_emptied = r->is_emptied || (rc == ERR_OK && is_row);
    return rc == ERR_OK && w.told == 0 && !is_row ? tell(r, m, m->family, false) : rc;
}

/*
 * storage/rocksdb/apply_delete.c - deletes of the cells that are there.
 *
 * Each of them is counted. A batch apart has them deleted one by one up to LIM_DELETE_POINTS; what
 * one mutation deletes of the database beyond that goes as a range.
 */
#include "storage/rocksdb/apply_row.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

/* The cell under the cursor, and whose it was. ranged: a range of the batch will have it, too. */
static enum err delete_one(struct rdb_row *r, bool ranged, uint16_t *out_family)
{
    const struct rdb_row_cursor *c = &r->cursor;
    struct sto_key parts;
    if (sto_key_decode(c->key, &parts) != ERR_OK || parts.family == 0)
        return ERR_CORRUPT;
    uint64_t bytes = sto_cell_bytes(r->op->row_key.len, c->family_name_len,
                                    sto_key_unescaped_len(parts.qualifier_escaped), c->value.len);
    if (r->now.cells == 0 || r->now.bytes < bytes)
        return ERR_CORRUPT;
    if (++r->deleted > LIM_DELETE_CELLS)
        return ERR_TOO_BIG;
    r->now.cells--;
    r->now.bytes -= bytes;
    r->bytes_seen += c->key.len - r->row_len + c->value.len;
    *out_family = parts.family;
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

/* A whole row is told by the families that were removed. */
static enum err tell_nothing(struct rdb_row *r, const struct sto_mutation *m)
{
    return m->kind == STO_DELETE_FROM_ROW ? ERR_OK : tell(r, m, m->family, false);
}

enum err sto_rdb_row_delete(struct rdb_row *r, const struct sto_mutation *m)
{
    if (m->kind == STO_DELETE_FROM_COLUMN && m->qualifier.len > LIM_QUALIFIER)
        return ERR_TOO_BIG;
    if (m->kind != STO_DELETE_FROM_ROW && m->family == 0)
        return ERR_NOT_FOUND;
    struct slice lower, upper;
    bounds_of(r, m, &lower, &upper);
    if (base_slice_compare(lower, upper) >= 0 || r->now.cells == 0)
        return tell_nothing(r, m);
    if (m->kind == STO_DELETE_FROM_ROW && r->now.cells > r->steps_max - r->steps)
        return sto_rdb_row_step(r, r->now.cells); /* all of them, and too many */
    enum err rc = sto_rdb_row_cursor_seek(&r->cursor, lower);
    uint16_t told = 0, family = 0; /* families come in the order of their numbers */
    size_t points_end = r->deleted + LIM_DELETE_POINTS;
    bool may_range = r->batch->is_apart && r->batch->range_count < LIM_DELETE_RANGES;
    while (rc == ERR_OK && !r->cursor.at_end && base_slice_compare(r->cursor.key, upper) < 0) {
        rc = delete_one(r, may_range && r->deleted >= points_end, &family);
        if (rc == ERR_OK && family != told)
            rc = tell(r, m, told = family, true);
        if (rc == ERR_OK)
            rc = sto_rdb_row_cursor_next(&r->cursor);
    }
    if (rc == ERR_OK && may_range && r->deleted > points_end &&
        !sto_rdb_batch_delete_range(r->batch, (struct sto_span){lower, upper}))
        rc = ERR_NO_MEMORY;
    r->is_emptied = r->is_emptied || (rc == ERR_OK && m->kind == STO_DELETE_FROM_ROW);
    return rc == ERR_OK && told == 0 ? tell_nothing(r, m) : rc;
}

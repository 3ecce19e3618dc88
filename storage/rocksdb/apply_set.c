/*
 * storage/rocksdb/apply_set.c - cells at an exact timestamp: replaced, or added to.
 */
#include "storage/rocksdb/apply_row.h"

#include "base/banned.h"

enum err sto_rdb_row_count_cell(struct rdb_row *r, const struct rdb_cell_view *view,
                                const struct sto_family *family, size_t qualifier_len,
                                size_t new_len)
{
    size_t row_key_len = r->op->row_key.len;
    uint64_t old = 0;
    uint64_t new = sto_cell_bytes(row_key_len, family->name_len, qualifier_len, new_len);
    if (view->present)
        old = sto_cell_bytes(row_key_len, view->family_name_len, qualifier_len, view->value_len);
    if (!r->has_head && old == new)
        return ERR_OK;
    enum err rc = sto_rdb_row_head(r);
    if (rc != ERR_OK)
        return rc;
    if (r->now.bytes < old)
        return ERR_CORRUPT;
    r->now.bytes = r->now.bytes - old + new;
    r->now.cells += !view->present;
    return ERR_OK;
}

static int64_t timestamp_of(const struct rdb_row *r, const struct sto_mutation *m)
{
    return m->timestamp_us == STO_TIMESTAMP_SERVER ? r->server_us : m->timestamp_us;
}

/* The family of m and, in r->key, the key of its cell. */
static enum err address(struct rdb_row *r, const struct sto_mutation *m,
                        const struct sto_family **out_family, struct slice *out_key)
{
    *out_family = sto_schema_family_by_number(r->op->scope.schema, m->family);
    if (*out_family == NULL)
        return ERR_NOT_FOUND;
    if (m->qualifier.len > LIM_QUALIFIER || m->value.len > LIM_CELL_BYTES_HARD)
        return ERR_TOO_BIG;
    size_t n = sto_key_column(r->key, r->row_len, m->family, m->qualifier);
    *out_key = base_slice(r->key, sto_key_version(r->key, n, timestamp_of(r, m)));
    return ERR_OK;
}

enum err sto_rdb_row_tell_cell(struct rdb_row *r, enum sto_mutation_kind kind,
                               const struct sto_family *family, struct slice qualifier,
                               int64_t timestamp_us, struct slice value)
{
    if (!r->changes.on)
        return ERR_OK;
    struct sto_change_mutation m = {.kind = kind,
                                    .family = base_slice(family->name, family->name_len),
                                    .qualifier = qualifier,
                                    .timestamp_us = timestamp_us,
                                    .value = value};
    return sto_rdb_change_log_add(&r->changes, &m, true);
}

/* What m does, when it is done. */
static enum err tell(struct rdb_row *r, const struct sto_mutation *m,
                     const struct sto_family *family)
{
    return sto_rdb_row_tell_cell(r, m->kind, family, m->qualifier, timestamp_of(r, m), m->value);
}

enum err sto_rdb_row_set(struct rdb_row *r, const struct sto_mutation *m)
{
    const struct sto_family *family;
    struct slice key;
    enum err rc = address(r, m, &family, &key);
    if (rc == ERR_OK && family->aggregate != STO_AGGREGATE_NONE)
        rc = ERR_INVALID;
    if (rc != ERR_OK)
        return rc;
    struct rdb_cell_view view;
    rc = sto_rdb_batch_cell_size(r->batch, key, sto_rdb_row_may_have_more(r), &view);
    if (rc == ERR_OK)
        rc = sto_rdb_row_count_cell(r, &view, family, m->qualifier.len, m->value.len);
    if (rc == ERR_OK)
        rc = sto_rdb_batch_put_cell(r->batch, &view, family->name_len, m->value);
    if (rc == ERR_OK)
        rc = tell(r, m, family);
    sto_rdb_cell_view_release(&view);
    return rc;
}

static enum err state_make(struct rdb_row *r, const struct sto_mutation *m,
                           const struct sto_family *family, const struct rdb_cell_view *view,
                           struct errbuf *eb)
{
    struct slice old = view->present ? view->value : SLICE_EMPTY;
    base_buf_truncate(&r->state, 0);
    enum err rc = m->kind == STO_ADD_TO_CELL
                      ? sto_aggregate_add(family->aggregate, old, m->value, &r->state, eb)
                      : sto_aggregate_merge(family->aggregate, old, m->value, &r->state, eb);
    if (rc != ERR_OK)
        return rc;
    return sto_account_limit_check(r->op->scope.tenant.account, STO_LIMIT_CELL, r->state.len, eb);
}

enum err sto_rdb_row_aggregate(struct rdb_row *r, const struct sto_mutation *m, struct errbuf *eb)
{
    const struct sto_family *family;
    struct slice key;
    enum err rc = address(r, m, &family, &key);
    if (rc != ERR_OK)
        return rc;
    struct rdb_cell_view view;
    rc = sto_rdb_batch_cell(r->batch, key, sto_rdb_row_may_have_more(r), &view);
    if (rc == ERR_OK)
        rc = state_make(r, m, family, &view, eb);
    if (rc == ERR_OK)
        rc = sto_rdb_row_count_cell(r, &view, family, m->qualifier.len, r->state.len);
    if (rc == ERR_OK)
        rc = sto_rdb_batch_put_made(r->batch, &view, family->name_len, base_buf_slice(&r->state),
                                    SLICE_EMPTY);
    if (rc == ERR_OK)
        rc = tell(r, m, family);
    sto_rdb_cell_view_release(&view);
    return rc;
}

/*
 * storage/rocksdb/apply_set.c - cells at an exact timestamp: replaced, or added to.
 *
 * In a family of one version, a new version deletes the previous one in the same commit
 * (docs/decisions/0061, 0064). If the batch does not know of one, one seek finds it, and the stored
 * cell at the same key if there is one. A table with a change stream leaves replaced versions to
 * the sweeper, which reports them.
 */
#include "storage/rocksdb/apply_row.h"

#include "base/banned.h"

/* Returns whether a new cell deletes the previous version. */
static bool replaces(const struct rdb_row *r, const struct sto_family *family)
{
    return !r->changes.on && sto_gc_keeps_one(&family->gc);
}

/* Finds the stored cell that is replaced, or else the previous version. A version that comes after
 * many removed keys is left to the sweeper; a replaced cell has none before it. */
static enum err put_seek(struct rdb_row *r, struct rdb_put *put)
{
    struct slice key = put->view.entry->key;
    enum err rc = sto_rdb_row_head(r);
    if (rc != ERR_OK || r->now.cells == 0 || !sto_rdb_row_may_have_more(r))
        return rc;
    sto_rdb_row_cursor_bound(&r->cursor, COLUMN_REMOVED_MAX);
    rc = sto_rdb_row_cursor_seek(&r->cursor, key);
    if (rc == ERR_CANCELLED)
        return ERR_OK;
    if (rc != ERR_OK || r->cursor.at_end ||
        !base_slice_starts_with(r->cursor.key, base_slice(key.ptr, key.len - STO_KEY_VERSION)))
        return rc;
    if (!base_slice_equal(r->cursor.key, key))
        return sto_rdb_row_cursor_view(&r->cursor, &put->older);
    sto_rdb_cell_view_release(&put->view);
    return sto_rdb_row_cursor_view(&r->cursor, &put->view);
}

/* Finds the older version. is_known: r->upper is its key. */
static enum err put_older(struct rdb_row *r, struct rdb_put *put, bool is_known)
{
    struct slice key = put->view.entry->key;
    if (put->view.present || !replaces(r, put->family))
        return ERR_OK;
    if (!is_known)
        return put_seek(r, put);
    return sto_rdb_batch_cell_size(r->batch, base_slice(r->upper, key.len),
                                   sto_rdb_row_may_have_more(r), &put->older);
}

static bool older_is_known(struct rdb_row *r, const struct sto_family *family, struct slice key)
{
    return replaces(r, family) &&
           sto_rdb_batch_older(r->batch, key, sto_rdb_row_may_have_more(r), r->upper);
}

enum err sto_rdb_row_put_older_here(struct rdb_row *r, struct rdb_put *put)
{
    if (put->view.present || !replaces(r, put->family))
        return ERR_OK;
    INVARIANT(base_slice_compare(put->view.entry->key, r->cursor.key) < 0);
    return sto_rdb_row_cursor_view(&r->cursor, &put->older);
}

/* Returns the bytes of the cell in a view. */
static uint64_t bytes_of(const struct rdb_row *r, const struct rdb_put *put,
                         const struct rdb_cell_view *view)
{
    if (!view->present)
        return 0;
    return sto_cell_bytes(r->op->row_key.len, view->family_name_len, put->qualifier_len,
                          view->value_len);
}

enum err sto_rdb_row_put_count(struct rdb_row *r, struct rdb_put *put)
{
    size_t old_cells = (size_t)put->view.present + (size_t)put->older.present;
    uint64_t old = bytes_of(r, put, &put->view) + bytes_of(r, put, &put->older);
    uint64_t new = sto_cell_bytes(r->op->row_key.len, put->family->name_len, put->qualifier_len,
                                  put->value_len);
    enum err rc = ERR_OK;
    if (r->has_head || old_cells != 1 || old != new) {
        rc = sto_rdb_row_head(r);
        if (rc == ERR_OK && (r->now.bytes < old || r->now.cells < old_cells))
            rc = ERR_CORRUPT;
        r->now.bytes = r->now.bytes - old + new;
        r->now.cells = r->now.cells - old_cells + 1;
    }
    if (rc != ERR_OK || !put->older.present)
        return rc;
    return sto_rdb_batch_delete_cell(r->batch, put->older.entry->key, put->older.in_db);
}

void sto_rdb_row_put_release(struct rdb_put *put)
{
    sto_rdb_cell_view_release(&put->view);
    sto_rdb_cell_view_release(&put->older);
}

static int64_t timestamp_of(const struct rdb_row *r, const struct sto_mutation *m)
{
    return m->timestamp_us == STO_TIMESTAMP_SERVER ? r->server_us : m->timestamp_us;
}

/* Returns the family of m and, in r->key, the key of its cell. */
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

/* Records m, after it was applied, for the change stream. */
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
    struct rdb_put put = {
        .family = family, .qualifier_len = m->qualifier.len, .value_len = m->value.len};
    bool is_known = older_is_known(r, family, key);
    /* A cell that the seek will find is not read here. */
    bool is_sought =
        replaces(r, family) && !is_known && r->has_head && !sto_rdb_batch_remembers(r->batch, key);
    rc = sto_rdb_batch_cell_size(r->batch, key, !is_sought && sto_rdb_row_may_have_more(r),
                                 &put.view);
    if (rc == ERR_OK)
        rc = put_older(r, &put, is_known);
    if (m->timestamp_us != STO_TIMESTAMP_SERVER)
        r->batch->expects_known = put.view.present || is_known;
    if (rc == ERR_OK)
        rc = sto_rdb_row_put_count(r, &put);
    if (rc == ERR_OK)
        rc = sto_rdb_batch_put_cell(r->batch, &put.view, family->name_len, m->value);
    if (rc == ERR_OK)
        rc = tell(r, m, family);
    sto_rdb_row_put_release(&put);
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
    struct rdb_put put = {.family = family, .qualifier_len = m->qualifier.len};
    bool is_known = older_is_known(r, family, key);
    rc = sto_rdb_batch_cell(r->batch, key, sto_rdb_row_may_have_more(r), &put.view);
    if (rc == ERR_OK)
        rc = state_make(r, m, family, &put.view, eb);
    put.value_len = r->state.len;
    if (rc == ERR_OK)
        rc = put_older(r, &put, is_known);
    if (rc == ERR_OK)
        rc = sto_rdb_row_put_count(r, &put);
    if (rc == ERR_OK)
        rc = sto_rdb_batch_put_made(r->batch, &put.view, family->name_len,
                                    base_buf_slice(&r->state), SLICE_EMPTY);
    if (rc == ERR_OK)
        rc = tell(r, m, family);
    sto_rdb_row_put_release(&put);
    return rc;
}

/*
 * storage/rocksdb/apply.c - look, change, count; take all of it back when a limit says no.
 *
 * 1. A row has a header exactly when it has a cell: no header in the database means that no cell of
 *    the row is there either, so a new row costs one Get that the filters answer.
 * 2. Deletes are point deletes of cells that exist, found by an iterator over the row merged with
 *    the overlay. One iterator serves all deletes of an operation.
 * 3. The header's byte and cell counts are those of the row after the operation; the difference to
 *    before is what the counters change by.
 */
#include "storage/rocksdb/apply.h"

#include <inttypes.h>

#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

struct row {
    struct rdb_batch *batch;
    const struct sto_mutate_op *op;
    int64_t server_us;
    bool in_db; /* the database holds cells of this row */
    struct sto_row_head before;
    struct sto_row_head now;
    size_t row_len;
    size_t deleted;
    rocksdb_readoptions_t *scan_options; /* both NULL until the first delete */
    rocksdb_iterator_t *scan;
    uint8_t *key;   /* scratch that begins with the row prefix */
    uint8_t *upper; /* scratch for the end of a delete */
    struct sto_key_bounds *bounds;
};

enum err sto_rdb_gate_check(const struct sto_account *account, bool writes, struct errbuf *eb)
{
    uint32_t gate = atomic_load(&account->gate);
    if ((gate & STO_GATE_GONE) != 0)
        return base_fail(eb, ERR_GONE, "the tenant is being deleted");
    if ((gate & (writes ? STO_GATE_NO_WRITES : STO_GATE_NO_READS)) != 0)
        return base_fail(eb, ERR_SUSPENDED, "the tenant is suspended: %s are refused",
                         writes ? "writes" : "reads");
    return ERR_OK;
}

/* --- set ------------------------------------------------------------------------------------ */

static enum err set_cell(struct row *r, const struct sto_mutation *m)
{
    const struct sto_family *family = sto_schema_family_by_number(r->op->scope.schema, m->family);
    if (family == NULL)
        return ERR_NOT_FOUND;
    if (m->qualifier.len > LIM_QUALIFIER || m->value.len > LIM_CELL_BYTES_HARD)
        return ERR_TOO_BIG;
    int64_t timestamp = m->timestamp_us == STO_TIMESTAMP_SERVER ? r->server_us : m->timestamp_us;
    size_t n = sto_key_column(r->key, r->row_len, m->family, m->qualifier);
    n = sto_key_version(r->key, n, timestamp);
    struct rdb_cell_view view;
    enum err rc = sto_rdb_batch_cell(r->batch, base_slice(r->key, n), r->in_db, &view);
    if (rc != ERR_OK)
        return rc;
    size_t row_key_len = r->op->row_key.len;
    if (view.present) {
        uint64_t old =
            sto_cell_bytes(row_key_len, view.family_name_len, m->qualifier.len, view.value_len);
        if (r->now.bytes < old)
            return ERR_CORRUPT;
        r->now.bytes -= old;
    } else {
        r->now.cells++;
    }
    r->now.bytes += sto_cell_bytes(row_key_len, family->name_len, m->qualifier.len, m->value.len);
    return sto_rdb_batch_put_cell(r->batch, &view, family->name_len, m->value);
}

/* --- delete --------------------------------------------------------------------------------- */

static enum err delete_one(struct row *r, struct slice key, uint8_t family_name_len,
                           size_t value_len, bool in_db)
{
    struct sto_key parts;
    if (sto_key_decode(key, &parts) != ERR_OK || parts.family == 0)
        return ERR_CORRUPT;
    uint64_t bytes = sto_cell_bytes(r->op->row_key.len, family_name_len,
                                    sto_key_unescaped_len(parts.qualifier_escaped), value_len);
    if (r->now.cells == 0 || r->now.bytes < bytes)
        return ERR_CORRUPT;
    if (++r->deleted > LIM_DELETE_CELLS)
        return ERR_TOO_BIG;
    r->now.cells--;
    r->now.bytes -= bytes;
    return sto_rdb_batch_delete_cell(r->batch, key, in_db);
}

static void scan_open(struct row *r)
{
    if (r->scan != NULL)
        return;
    memcpy(r->bounds->lower, r->key, r->row_len);
    memcpy(r->bounds->upper, r->key, r->row_len);
    sto_key_after(r->bounds->upper, r->row_len);
    r->scan_options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_prefix_same_as_start(r->scan_options, 1);
    rocksdb_readoptions_set_iterate_lower_bound(r->scan_options, (const char *)r->bounds->lower,
                                                r->row_len);
    rocksdb_readoptions_set_iterate_upper_bound(r->scan_options, (const char *)r->bounds->upper,
                                                r->row_len);
    r->scan = rocksdb_create_iterator_cf(r->batch->engine->db.handle, r->scan_options,
                                         r->batch->engine->db.cells);
}

static void scan_close(struct row *r)
{
    if (r->scan == NULL)
        return;
    rocksdb_iter_destroy(r->scan);
    rocksdb_readoptions_destroy(r->scan_options);
    r->scan = NULL;
}

/* Cells of the database in [lower, upper) that the overlay does not know. */
static enum err delete_stored(struct row *r, struct slice lower, struct slice upper)
{
    scan_open(r);
    rocksdb_iter_seek(r->scan, (const char *)lower.ptr, lower.len);
    for (; rocksdb_iter_valid(r->scan); rocksdb_iter_next(r->scan)) {
        struct slice key, value;
        key.ptr = (const uint8_t *)rocksdb_iter_key(r->scan, &key.len);
        if (base_slice_compare(key, upper) >= 0)
            break;
        struct rdb_entry *entry = sto_rdb_overlay_seek(&r->batch->overlay, key);
        if (entry != NULL && entry->now.live && base_slice_equal(entry->key, key))
            continue;
        value.ptr = (const uint8_t *)rocksdb_iter_value(r->scan, &value.len);
        struct sto_stored_cell cell;
        enum err rc = sto_cell_decode(value, &cell);
        if (rc == ERR_OK)
            rc = delete_one(r, key, cell.family_name_len, cell.bytes.len, true);
        if (rc != ERR_OK)
            return rc;
    }
    char *error = NULL;
    rocksdb_iter_get_error(r->scan, &error);
    return error == NULL ? ERR_OK : sto_rdb_fail(r->batch->engine, "read", error);
}

/* Cells of the overlay in [lower, upper) that are there. */
static enum err delete_pending(struct row *r, struct slice lower, struct slice upper)
{
    struct rdb_entry *entry = sto_rdb_overlay_seek(&r->batch->overlay, lower);
    for (; entry != NULL && base_slice_compare(entry->key, upper) < 0; entry = entry->next[0]) {
        const struct rdb_change *now = &entry->now;
        if (!now->live || !now->present || now->is_head)
            continue;
        enum err rc = delete_one(r, entry->key, now->family_name_len, now->value.len, now->in_db);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

/* Bounds of what m deletes: lower in r->key, upper in r->upper. */
static void delete_bounds(struct row *r, const struct sto_mutation *m, struct slice *lower,
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
        n = sto_key_family(r->key, r->row_len, m->family);
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

static enum err delete_cells(struct row *r, const struct sto_mutation *m)
{
    if (m->kind == STO_DELETE_FROM_COLUMN && m->qualifier.len > LIM_QUALIFIER)
        return ERR_TOO_BIG;
    if (m->kind != STO_DELETE_FROM_ROW && m->family == 0)
        return ERR_NOT_FOUND;
    struct slice lower, upper;
    delete_bounds(r, m, &lower, &upper);
    if (base_slice_compare(lower, upper) >= 0 || r->now.cells == 0)
        return ERR_OK;
    enum err rc = delete_pending(r, lower, upper);
    if (rc == ERR_OK && r->in_db)
        rc = delete_stored(r, lower, upper);
    return rc;
}

/* --- the whole operation --------------------------------------------------------------------- */

static enum err mutations_run(struct row *r, struct errbuf *eb)
{
    for (size_t i = 0; i < r->op->mutation_count; i++) {
        const struct sto_mutation *m = &r->op->mutations[i];
        enum err rc = m->kind == STO_SET_CELL ? set_cell(r, m) : delete_cells(r, m);
        if (rc == ERR_OK)
            continue;
        if (rc == ERR_CORRUPT)
            return base_fail(eb, rc, "stored bytes of the row are damaged");
        if (rc == ERR_TOO_BIG && r->deleted > LIM_DELETE_CELLS)
            return base_fail(eb, rc,
                             "one operation deletes at most %d cells; delete by column or drop the "
                             "row by prefix",
                             LIM_DELETE_CELLS);
        return base_fail(eb, rc, "mutation %zu of the row cannot be done: %s", i + 1,
                         base_err_name(rc));
    }
    return ERR_OK;
}

static enum err quota_check(const struct sto_account *account, const struct sto_usage *used,
                            const struct sto_delta *delta, struct errbuf *eb)
{
    uint64_t bytes_max = atomic_load_explicit(&account->bytes_max, memory_order_relaxed);
    uint64_t rows_max = atomic_load_explicit(&account->rows_max, memory_order_relaxed);
    if (delta->bytes > 0 &&
        (used->bytes > bytes_max || (uint64_t)delta->bytes > bytes_max - used->bytes))
        return base_fail(eb, ERR_QUOTA,
                         "stored bytes quota: %" PRIu64 " used, %" PRId64
                         " would be added, limit %" PRIu64 "; deletes still pass",
                         used->bytes, delta->bytes, bytes_max);
    if (delta->rows > 0 && (used->rows > rows_max || (uint64_t)delta->rows > rows_max - used->rows))
        return base_fail(eb, ERR_QUOTA,
                         "stored rows quota: %" PRIu64 " used, %" PRId64
                         " would be added, limit %" PRIu64 "; deletes still pass",
                         used->rows, delta->rows, rows_max);
    return ERR_OK;
}

/* Everything that can still refuse the operation after its changes are known, then the header. */
static enum err row_close(struct row *r, struct errbuf *eb)
{
    struct sto_delta delta = {
        .bytes = (int64_t)r->now.bytes - (int64_t)r->before.bytes,
        .cells = (int64_t)r->now.cells - (int64_t)r->before.cells,
        .rows = (int64_t)(r->now.cells > 0) - (int64_t)(r->before.cells > 0),
    };
    if ((r->now.cells == 0) != (r->now.bytes == 0))
        return base_fail(eb, ERR_CORRUPT, "the row's header does not match its cells");
    if (delta.bytes > 0 && r->now.bytes > LIM_ROW_BYTES)
        return base_fail(eb, ERR_TOO_BIG, "the row would hold %" PRIu64 " bytes; the limit is %lu",
                         r->now.bytes, LIM_ROW_BYTES);
    struct rdb_tally *tally = sto_rdb_batch_tally(r->batch, &r->op->scope);
    if (tally == NULL)
        return base_fail(eb, ERR_OVERLOADED, "too many tables in one commit; retry");
    enum err rc = quota_check(r->op->scope.tenant.account, sto_rdb_batch_account(r->batch, tally),
                              &delta, eb);
    if (rc != ERR_OK)
        return rc;
    if (r->now.cells == r->before.cells && r->now.bytes == r->before.bytes)
        return ERR_OK;
    size_t n = sto_key_header(r->key, r->row_len);
    rc = sto_rdb_batch_put_head(r->batch, base_slice(r->key, n), r->in_db, &r->now);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "no memory for the commit");
    rc = sto_rdb_batch_count(r->batch, tally, &delta);
    return rc == ERR_OK ? rc : base_fail(eb, rc, "the counters do not match what is stored");
}

static enum err row_open(struct row *r, struct sto_mutate_op *op)
{
    const struct sto_account *account = op->scope.tenant.account;
    enum err rc = sto_rdb_gate_check(account, true, &op->detail);
    if (rc != ERR_OK)
        return rc;
    if (atomic_load_explicit(&op->scope.schema->table->forgotten, memory_order_relaxed))
        return base_fail(&op->detail, ERR_NOT_FOUND, "the table was deleted");
    if (sto_rdb_headroom_is_low(&r->batch->engine->headroom) &&
        !sto_mutations_only_delete(op->mutations, op->mutation_count))
        return base_fail(&op->detail, ERR_STORAGE_FULL,
                         "the disk is at its headroom; deletes still pass");
    rc = sto_row_key_check(op->row_key, &op->detail);
    if (rc != ERR_OK)
        return rc;
    r->row_len = sto_key_row(&op->scope, op->row_key, r->key);
    size_t n = sto_key_header(r->key, r->row_len);
    rc = sto_rdb_batch_head(r->batch, base_slice(r->key, n), &r->before, &r->in_db);
    if (rc != ERR_OK)
        return base_fail(&op->detail, rc, "the row's header cannot be read");
    r->now = r->before;
    op->row_existed = r->before.cells > 0;
    if (op->must_exist && !op->row_existed)
        return base_fail(&op->detail, ERR_NOT_FOUND, "the row does not exist");
    return ERR_OK;
}

enum err sto_rdb_apply(struct rdb_batch *b, struct sto_mutate_op *op, int64_t server_us)
{
    uint8_t key[STO_KEY_MAX];
    uint8_t upper[STO_KEY_MAX];
    struct sto_key_bounds bounds;
    struct row r = {.batch = b,
                    .op = op,
                    .server_us = server_us,
                    .key = key,
                    .upper = upper,
                    .bounds = &bounds};
    struct rdb_undo *mark = sto_rdb_overlay_mark(&b->overlay);
    op->commit_us = server_us;
    op->row_existed = false;
    op->detail.text[0] = '\0';
    enum err rc = row_open(&r, op);
    if (rc == ERR_OK)
        rc = mutations_run(&r, &op->detail);
    if (rc == ERR_OK)
        rc = row_close(&r, &op->detail);
    if (rc != ERR_OK)
        sto_rdb_overlay_undo(&b->overlay, mark);
    scan_close(&r);
    op->result = rc;
    return rc;
}

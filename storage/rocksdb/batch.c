/*
 * storage/rocksdb/batch.c - overlay above database; batch_write.c writes the result.
 *
 * 1. Only this committer writes the rows of its tenants, so the result of a Get stays true until
 *    the batch is written.
 * 2. An entry of the overlay that is not live has no information; the database is read then.
 */
#include "storage/rocksdb/batch.h"

#include "base/memory.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define PLAIN_BYTES_MAX (LIM_CELL_BYTES_HARD + MIB)

void sto_rdb_batch_init(struct rdb_batch *b, struct rdb_engine *e, struct rdb_long_rows *long_rows)
{
    b->engine = e;
    b->long_rows = long_rows;
    sto_rdb_overlay_init(&b->overlay);
    sto_rdb_overlay_init(&b->tokens);
    sto_rdb_recent_init(&b->recent);
    b->watches = NULL;
    b->range = NULL;
    b->writes = rocksdb_writebatch_create();
    b->cipher = NULL;
    sto_sealer_init(&b->sealer);
    base_buf_init(&b->sealed, RDB_SEALED_MAX);
    base_buf_init(&b->change_part, LIM_CELL_BYTES_HARD + MIB);
    b->change_bytes = 0;
    b->expects_known = false;
    b->is_apart = false;
    b->counted = 0;
    b->range_count = 0;
    b->tally_count = 0;
    b->account_count = 0;
}

void sto_rdb_batch_fini(struct rdb_batch *b)
{
    INVARIANT(b->watches == NULL); /* the reader of a watched range ends before its committer */
    base_memory_give(b->overlay.arena.share, b->counted);
    sto_rdb_overlay_fini(&b->overlay);
    sto_rdb_overlay_fini(&b->tokens);
    sto_rdb_recent_fini(&b->recent);
    rocksdb_writebatch_destroy(b->writes);
    sto_sealer_fini(&b->sealer);
    base_buf_fini(&b->sealed);
    base_buf_fini(&b->change_part);
}

void sto_rdb_batch_charge(struct rdb_batch *b, struct base_memory_share *share)
{
    INVARIANT(b->is_apart);
    base_arena_charge(&b->overlay.arena, share);
}

/* --- reading -------------------------------------------------------------------------------- */

const struct sto_span *sto_rdb_batch_range_of(const struct rdb_batch *b, struct slice key)
{
    for (size_t i = 0; i < b->range_count; i++)
        if (base_slice_compare(b->ranges[i].begin, key) <= 0 &&
            base_slice_compare(key, b->ranges[i].end) < 0)
            return &b->ranges[i];
    return NULL;
}

/* Reads a cell or header. NULL with ERR_OK: not stored. The caller destroys the result. */
static enum err get(struct rdb_batch *b, struct slice key, rocksdb_pinnableslice_t **out,
                    struct slice *out_value)
{
    char *error = NULL;
    *out = NULL;
    if (sto_rdb_batch_range_of(b, key) != NULL)
        return ERR_OK;
    *out = rocksdb_get_pinned_cf(b->engine->db.handle, b->engine->db.point, b->engine->db.cells,
                                 (const char *)key.ptr, key.len, &error);
    if (error != NULL)
        return sto_rdb_read_failed(b->engine, error);
    enum err rc = sto_rdb_lost_check_key(b->engine, RDB_CF_CELLS, key);
    if (rc != ERR_OK) {
        if (*out != NULL)
            rocksdb_pinnableslice_destroy(*out);
        *out = NULL;
        return rc;
    }
    if (*out != NULL)
        out_value->ptr = (const uint8_t *)rocksdb_pinnableslice_value(*out, &out_value->len);
    return ERR_OK;
}

enum err sto_rdb_batch_head(struct rdb_batch *b, struct slice header_key, struct rdb_head_view *out)
{
    *out = (struct rdb_head_view){.entry = sto_rdb_overlay_touch(&b->overlay, header_key)};
    if (out->entry == NULL)
        return ERR_NO_MEMORY;
    const struct rdb_change *now = &out->entry->now;
    if (now->live) {
        if (now->present)
            out->head = now->head;
        out->in_db = now->in_db;
        return ERR_OK;
    }
    enum err rc = sto_rdb_lost_check_key(b->engine, RDB_CF_CELLS, header_key);
    if (rc != ERR_OK) /* recent does not know of the loss */
        return rc;
    struct rdb_size size;
    if (sto_rdb_recent_find(&b->recent, header_key, &size)) {
        out->head = size.head;
        out->in_db = true;
        return ERR_OK;
    }
    rocksdb_pinnableslice_t *pinned = NULL;
    struct slice value = SLICE_EMPTY;
    rc = get(b, header_key, &pinned, &value);
    if (rc != ERR_OK)
        return rc;
    out->in_db = pinned != NULL;
    if (pinned == NULL)
        return ERR_OK;
    rc = sto_row_head_decode(value, &out->head);
    rocksdb_pinnableslice_destroy(pinned);
    return rc;
}

/* Returns whether recent knows the cell. */
static bool cell_recent(const struct rdb_batch *b, struct slice key, struct rdb_size *out)
{
    size_t n = key.len - STO_KEY_VERSION;
    return sto_rdb_recent_find(&b->recent, base_slice(key.ptr, n), out) &&
           out->version == sto_get_be64(key.ptr + n);
}

bool sto_rdb_batch_remembers(const struct rdb_batch *b, struct slice key)
{
    struct rdb_size size;
    return cell_recent(b, key, &size);
}

/* Returns true if the batch knows the cell, or it cannot be stored. */
static bool cell_is_seen(const struct rdb_change *now, bool row_in_db, struct rdb_cell_view *out)
{
    if (!now->live)
        return !row_in_db;
    out->present = now->present;
    out->in_db = now->in_db;
    out->family_name_len = now->family_name_len;
    out->value = now->value;
    out->value_len = now->value.len;
    return true;
}

static enum err cell_get(struct rdb_batch *b, struct slice key, bool wants_value,
                         struct rdb_cell_view *out)
{
    struct slice value = SLICE_EMPTY;
    enum err rc = get(b, key, &out->pinned, &value);
    if (rc != ERR_OK || out->pinned == NULL)
        return rc;
    struct sto_stored_cell cell;
    rc = sto_cell_decode(value, &cell);
    if (rc == ERR_OK && wants_value)
        rc = sto_cell_unseal(&cell, key, &b->sealer, b->cipher, &out->plain);
    if (rc == ERR_OK) {
        out->present = true;
        out->in_db = true;
        out->family_name_len = cell.family_name_len;
        out->value = wants_value ? cell.bytes : SLICE_EMPTY;
        out->value_len = cell.bytes.len;
    }
    return rc;
}

enum err sto_rdb_batch_cell(struct rdb_batch *b, struct slice key, bool row_in_db,
                            struct rdb_cell_view *out)
{
    *out = (struct rdb_cell_view){.entry = sto_rdb_overlay_touch(&b->overlay, key)};
    base_buf_init(&out->plain, PLAIN_BYTES_MAX);
    if (out->entry == NULL)
        return ERR_NO_MEMORY;
    return cell_is_seen(&out->entry->now, row_in_db, out) ? ERR_OK : cell_get(b, key, true, out);
}

enum err sto_rdb_batch_cell_size(struct rdb_batch *b, struct slice key, bool row_in_db,
                                 struct rdb_cell_view *out)
{
    *out = (struct rdb_cell_view){.entry = sto_rdb_overlay_touch(&b->overlay, key)};
    base_buf_init(&out->plain, PLAIN_BYTES_MAX);
    if (out->entry == NULL)
        return ERR_NO_MEMORY;
    if (cell_is_seen(&out->entry->now, row_in_db, out))
        return ERR_OK;
    struct rdb_size size;
    if (!cell_recent(b, key, &size))
        return cell_get(b, key, false, out);
    enum err rc = sto_rdb_lost_check_key(b->engine, RDB_CF_CELLS, key);
    if (rc != ERR_OK) /* recent does not know of the loss */
        return rc;
    out->present = true;
    out->in_db = true;
    out->family_name_len = size.family_name_len;
    out->value_len = size.value_len;
    return ERR_OK;
}

bool sto_rdb_batch_older(struct rdb_batch *b, struct slice key, bool row_in_db, uint8_t *out_key)
{
    size_t n = key.len - STO_KEY_VERSION;
    struct slice column = base_slice(key.ptr, n);
    const struct rdb_entry *e = sto_rdb_overlay_seek(&b->overlay, key);
    for (; e != NULL && base_slice_starts_with(e->key, column); e = e->next[0])
        if (e->now.live && e->now.present && !base_slice_equal(e->key, key)) {
            memcpy(out_key, e->key.ptr, e->key.len);
            return true;
        }
    struct rdb_size size;
    if (!row_in_db || !sto_rdb_recent_find(&b->recent, column, &size) ||
        size.version <= sto_get_be64(key.ptr + n))
        return false;
    memcpy(out_key, column.ptr, n);
    sto_put_be64(out_key + n, size.version);
    return true;
}

void sto_rdb_cell_view_release(struct rdb_cell_view *view)
{
    if (view->pinned != NULL)
        rocksdb_pinnableslice_destroy(view->pinned);
    base_buf_fini(&view->plain);
    view->pinned = NULL;
    view->value = SLICE_EMPTY;
}

/* --- changing ------------------------------------------------------------------------------- */

enum err sto_rdb_batch_put_cell(struct rdb_batch *b, const struct rdb_cell_view *view,
                                uint8_t family_name_len, struct slice value)
{
    struct rdb_change change = {.live = true,
                                .present = true,
                                .in_db = view->in_db,
                                .family_name_len = family_name_len,
                                .cipher = b->cipher,
                                .value = value};
    return sto_rdb_overlay_change(&b->overlay, view->entry, &change) ? ERR_OK : ERR_NO_MEMORY;
}

enum err sto_rdb_batch_put_made(struct rdb_batch *b, const struct rdb_cell_view *view,
                                uint8_t family_name_len, struct slice head, struct slice tail)
{
    struct rdb_change change = {.live = true,
                                .present = true,
                                .in_db = view->in_db,
                                .family_name_len = family_name_len,
                                .cipher = b->cipher};
    if (!sto_rdb_overlay_own(&b->overlay, view->entry, head.len + tail.len, &change))
        return ERR_NO_MEMORY;
    if (head.len > 0 && head.ptr != change.own)
        memcpy(change.own, head.ptr, head.len);
    if (tail.len > 0)
        memcpy(change.own + head.len, tail.ptr, tail.len);
    return sto_rdb_overlay_change(&b->overlay, view->entry, &change) ? ERR_OK : ERR_NO_MEMORY;
}

enum err sto_rdb_batch_delete_cell(struct rdb_batch *b, struct slice key, bool in_db)
{
    struct rdb_entry *entry = sto_rdb_overlay_touch(&b->overlay, key);
    if (entry == NULL)
        return ERR_NO_MEMORY;
    struct rdb_change change = {.live = true, .in_db = in_db};
    return sto_rdb_overlay_change(&b->overlay, entry, &change) ? ERR_OK : ERR_NO_MEMORY;
}

bool sto_rdb_batch_delete_range(struct rdb_batch *b, struct sto_span span)
{
    INVARIANT(b->is_apart);
    struct sto_span kept = {base_arena_copy(&b->overlay.arena, span.begin),
                            base_arena_copy(&b->overlay.arena, span.end)};
    if (b->range_count == LIM_DELETE_RANGES || kept.begin.ptr == NULL || kept.end.ptr == NULL)
        return false;
    b->ranges[b->range_count++] = kept;
    return true;
}

enum err sto_rdb_batch_put_head(struct rdb_batch *b, const struct rdb_head_view *view,
                                const struct sto_row_head *head)
{
    struct rdb_change change = {.live = true,
                                .is_head = true,
                                .in_db = view->in_db,
                                .present = head->cells > 0,
                                .head = *head};
    return sto_rdb_overlay_change(&b->overlay, view->entry, &change) ? ERR_OK : ERR_NO_MEMORY;
}

enum err sto_rdb_batch_replace_head(struct rdb_batch *b, struct slice header_key,
                                    const struct sto_row_head *head)
{
    struct rdb_head_view view = {.entry = sto_rdb_overlay_touch(&b->overlay, header_key),
                                 .in_db = true};
    return view.entry == NULL ? ERR_NO_MEMORY : sto_rdb_batch_put_head(b, &view, head);
}

/* --- counting ------------------------------------------------------------------------------- */

static size_t account_index(struct rdb_batch *b, struct sto_account *account)
{
    for (size_t i = 0; i < b->account_count; i++)
        if (b->accounts[i].account == account)
            return i;
    b->accounts[b->account_count] =
        (struct rdb_account_tally){.account = account, .usage = sto_counters_read(&account->total)};
    return b->account_count++;
}

struct rdb_tally *sto_rdb_batch_tally(struct rdb_batch *b, const struct sto_table_scope *scope)
{
    struct sto_table *table = scope->schema->table;
    for (size_t i = b->tally_count; i > 0; i--)
        if (b->tallies[i - 1].table == table)
            return &b->tallies[i - 1];
    if (b->tally_count == LIM_BATCH_OPS)
        return NULL;
    struct rdb_tally *t = &b->tallies[b->tally_count++];
    *t = (struct rdb_tally){.table = table,
                            .tenant = scope->tenant,
                            .usage = sto_counters_read(&table->counters),
                            .last_change_us = atomic_load(&table->changes.last_us),
                            .account_index = account_index(b, scope->tenant.account)};
    return t;
}

const struct sto_usage *sto_rdb_batch_account(const struct rdb_batch *b,
                                              const struct rdb_tally *tally)
{
    return &b->accounts[tally->account_index].usage;
}

static bool usage_can_take(const struct sto_usage *u, const struct sto_delta *d)
{
    return (d->bytes >= 0 || u->bytes >= (uint64_t)-d->bytes) &&
           (d->rows >= 0 || u->rows >= (uint64_t)-d->rows) &&
           (d->cells >= 0 || u->cells >= (uint64_t)-d->cells);
}

static void usage_add(struct sto_usage *u, const struct sto_delta *d)
{
    u->bytes += (uint64_t)d->bytes;
    u->rows += (uint64_t)d->rows;
    u->cells += (uint64_t)d->cells;
}

enum err sto_rdb_batch_count(struct rdb_batch *b, struct rdb_tally *tally,
                             const struct sto_delta *delta)
{
    struct sto_usage *account = &b->accounts[tally->account_index].usage;
    if (!usage_can_take(&tally->usage, delta) || !usage_can_take(account, delta))
        return ERR_CORRUPT;
    if (delta->bytes == 0 && delta->rows == 0 && delta->cells == 0)
        return ERR_OK;
    usage_add(&tally->usage, delta);
    usage_add(account, delta);
    tally->changed = true;
    return ERR_OK;
}

void sto_rdb_batch_count_changes(struct rdb_batch *b, struct rdb_tally *tally, uint64_t bytes)
{
    struct rdb_account_tally *account = &b->accounts[tally->account_index];
    account->changes = sto_rdb_change_sum(b->engine, &tally->tenant);
    account->change_bytes += bytes;
    tally->change_bytes += bytes;
}

void sto_rdb_batch_uncount_changes(struct rdb_batch *b, struct rdb_tally *tally, uint64_t bytes)
{
    b->accounts[tally->account_index].change_bytes -= bytes;
    tally->change_bytes -= bytes;
}

uint64_t sto_rdb_batch_changes(const struct rdb_batch *b, const struct rdb_tally *tally)
{
    const struct rdb_account_tally *account = &b->accounts[tally->account_index];
    return sto_account_change_bytes(account->account) + account->change_bytes;
}

void sto_rdb_batch_note_added(struct rdb_tally *tally, uint64_t cells)
{
    tally->added += cells;
    tally->changed = true;
}

size_t sto_rdb_counter_key(const struct sto_tenant_scope *tenant, const struct sto_table *table,
                           uint8_t out[RDB_COUNTER_KEY_MAX])
{
    struct slice id = sto_scope_tenant_id(tenant);
    size_t n = 0;
    out[n++] = STO_DOC_COUNTERS;
    out[n++] = '/';
    memcpy(out + n, id.ptr, id.len);
    n += id.len;
    out[n++] = '/';
    memcpy(out + n, table->id, table->id_len);
    return n + table->id_len;
}

void sto_rdb_batch_save(struct rdb_batch *b)
{
    rocksdb_writebatch_set_save_point(b->writes);
}

void sto_rdb_batch_keep(struct rdb_batch *b)
{
    char *error = NULL;
    rocksdb_writebatch_pop_save_point(b->writes, &error);
    INVARIANT(error == NULL); /* there is one */
}

void sto_rdb_batch_take_back(struct rdb_batch *b)
{
    char *error = NULL;
    rocksdb_writebatch_rollback_to_save_point(b->writes, &error);
    INVARIANT(error == NULL);
}

size_t sto_rdb_batch_bytes(const struct rdb_batch *b)
{
    return b->overlay.arena.used + b->tokens.arena.used + b->change_bytes;
}

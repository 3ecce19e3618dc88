/*
 * storage/rocksdb/batch.c - overlay above database, then one write.
 *
 * 1. Only this committer writes the rows of its tenants, so what a Get returned stays true until
 *    the batch is written.
 * 2. An entry of the overlay that is not live says nothing; the database is asked then.
 * 3. A deleted entry that the database never held is not written.
 * 4. What is written is noted in recent on the way; when the write fails, recent is cleared.
 */
#include "storage/rocksdb/batch.h"

#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

/* Smaller values are copied behind their two leading bytes; larger ones are written gathered. */
#define COPY_BYTES_MAX 4096

void sto_rdb_batch_init(struct rdb_batch *b, struct rdb_engine *e)
{
    b->engine = e;
    sto_rdb_overlay_init(&b->overlay);
    sto_rdb_overlay_init(&b->tokens);
    sto_rdb_recent_init(&b->recent);
    b->writes = rocksdb_writebatch_create();
    base_buf_init(&b->change_part, LIM_CELL_BYTES_HARD + MIB);
    b->change_bytes = 0;
    b->expects_rows = false;
    b->tally_count = 0;
    b->account_count = 0;
}

void sto_rdb_batch_fini(struct rdb_batch *b)
{
    sto_rdb_overlay_fini(&b->overlay);
    sto_rdb_overlay_fini(&b->tokens);
    sto_rdb_recent_fini(&b->recent);
    rocksdb_writebatch_destroy(b->writes);
    base_buf_fini(&b->change_part);
}

static void overlays_clear(struct rdb_batch *b)
{
    sto_rdb_overlay_fini(&b->overlay);
    sto_rdb_overlay_init(&b->overlay);
    sto_rdb_overlay_fini(&b->tokens);
    sto_rdb_overlay_init(&b->tokens);
}

/* RocksDB's batch keeps its memory when it is cleared: one that became large is not kept. */
static void writes_clear(struct rdb_batch *b)
{
    size_t bytes = 0;
    (void)rocksdb_writebatch_data(b->writes, &bytes);
    if (bytes <= LIM_BATCH_BYTES) {
        rocksdb_writebatch_clear(b->writes);
        return;
    }
    rocksdb_writebatch_destroy(b->writes);
    b->writes = rocksdb_writebatch_create();
}

void sto_rdb_batch_clear(struct rdb_batch *b)
{
    overlays_clear(b);
    writes_clear(b);
    b->change_bytes = 0;
    if (b->change_part.capacity > 4 * LIM_CHANGE_PART) {
        base_buf_fini(&b->change_part);
        base_buf_init(&b->change_part, LIM_CELL_BYTES_HARD + MIB);
    }
    b->tally_count = 0;
    b->account_count = 0;
}

/* --- looking -------------------------------------------------------------------------------- */

/* NULL with ERR_OK: not there. The caller destroys the result. */
static enum err get(struct rdb_batch *b, struct slice key, rocksdb_pinnableslice_t **out,
                    struct slice *out_value)
{
    char *error = NULL;
    *out = rocksdb_get_pinned_cf(b->engine->db.handle, b->engine->db.point, b->engine->db.cells,
                                 (const char *)key.ptr, key.len, &error);
    if (error != NULL)
        return sto_rdb_fail(b->engine, "read", error);
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
    struct rdb_size size;
    if (sto_rdb_recent_find(&b->recent, header_key, &size)) {
        out->head = size.head;
        out->in_db = true;
        return ERR_OK;
    }
    rocksdb_pinnableslice_t *pinned = NULL;
    struct slice value = SLICE_EMPTY;
    enum err rc = get(b, header_key, &pinned, &value);
    if (rc != ERR_OK)
        return rc;
    out->in_db = pinned != NULL;
    if (pinned == NULL)
        return ERR_OK;
    rc = sto_row_head_decode(value, &out->head);
    rocksdb_pinnableslice_destroy(pinned);
    return rc;
}

/* True when the batch knows of the cell, or nobody has to ask. */
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

static enum err cell_get(struct rdb_batch *b, struct slice key, struct rdb_cell_view *out)
{
    struct slice value = SLICE_EMPTY;
    enum err rc = get(b, key, &out->pinned, &value);
    if (rc != ERR_OK || out->pinned == NULL)
        return rc;
    struct sto_stored_cell cell;
    rc = sto_cell_decode(value, &cell);
    if (rc == ERR_OK) {
        out->present = true;
        out->in_db = true;
        out->family_name_len = cell.family_name_len;
        out->value = cell.bytes;
        out->value_len = cell.bytes.len;
    }
    return rc;
}

enum err sto_rdb_batch_cell(struct rdb_batch *b, struct slice key, bool row_in_db,
                            struct rdb_cell_view *out)
{
    *out = (struct rdb_cell_view){.entry = sto_rdb_overlay_touch(&b->overlay, key)};
    if (out->entry == NULL)
        return ERR_NO_MEMORY;
    return cell_is_seen(&out->entry->now, row_in_db, out) ? ERR_OK : cell_get(b, key, out);
}

enum err sto_rdb_batch_cell_size(struct rdb_batch *b, struct slice key, bool row_in_db,
                                 struct rdb_cell_view *out)
{
    *out = (struct rdb_cell_view){.entry = sto_rdb_overlay_touch(&b->overlay, key)};
    if (out->entry == NULL)
        return ERR_NO_MEMORY;
    if (cell_is_seen(&out->entry->now, row_in_db, out))
        return ERR_OK;
    struct rdb_size size;
    if (!sto_rdb_recent_find(&b->recent, key, &size))
        return cell_get(b, key, out);
    out->present = true;
    out->in_db = true;
    out->family_name_len = size.family_name_len;
    out->value_len = size.value_len;
    return ERR_OK;
}

void sto_rdb_cell_view_release(struct rdb_cell_view *view)
{
    if (view->pinned != NULL)
        rocksdb_pinnableslice_destroy(view->pinned);
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
                                .value = value};
    return sto_rdb_overlay_change(&b->overlay, view->entry, &change) ? ERR_OK : ERR_NO_MEMORY;
}

enum err sto_rdb_batch_put_made(struct rdb_batch *b, const struct rdb_cell_view *view,
                                uint8_t family_name_len, struct slice head, struct slice tail)
{
    struct rdb_change change = {
        .live = true, .present = true, .in_db = view->in_db, .family_name_len = family_name_len};
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

void sto_rdb_batch_note_added(struct rdb_tally *tally)
{
    tally->added = true;
    tally->changed = true;
}

static void publish(struct sto_counters *to, const struct sto_usage *usage)
{
    atomic_store_explicit(&to->bytes, usage->bytes, memory_order_relaxed);
    atomic_store_explicit(&to->rows, usage->rows, memory_order_relaxed);
    atomic_store_explicit(&to->cells, usage->cells, memory_order_relaxed);
}

/* --- writing -------------------------------------------------------------------------------- */

size_t sto_rdb_counter_key(const struct sto_tenant_scope *tenant, const struct sto_table *table,
                           uint8_t out[RDB_COUNTER_KEY_MAX])
{
    struct slice id = sto_scope_tenant_id(tenant);
    size_t n = 0;
    out[n++] = 'u';
    out[n++] = '/';
    memcpy(out + n, id.ptr, id.len);
    n += id.len;
    out[n++] = '/';
    memcpy(out + n, table->id, table->id_len);
    return n + table->id_len;
}

static void write_cell(struct rdb_batch *b, const struct rdb_entry *entry)
{
    rocksdb_column_family_handle_t *cells = b->engine->db.cells;
    const char *key = (const char *)entry->key.ptr;
    char small[STO_CELL_PREFIX + COPY_BYTES_MAX];
    struct slice value = entry->now.value;
    small[0] = STO_CELL_PLAIN;
    small[1] = (char)entry->now.family_name_len;
    if (value.len <= COPY_BYTES_MAX) {
        if (value.len > 0)
            memcpy(small + STO_CELL_PREFIX, value.ptr, value.len);
        rocksdb_writebatch_put_cf(b->writes, cells, key, entry->key.len, small,
                                  STO_CELL_PREFIX + value.len);
        return;
    }
    const char *parts[2] = {small, (const char *)value.ptr};
    size_t lengths[2] = {STO_CELL_PREFIX, value.len};
    rocksdb_writebatch_putv_cf(b->writes, cells, 1, &key, &entry->key.len, 2, parts, lengths);
}

/* What the database holds under the entry's key when the batch is written. */
static void note_entry(struct rdb_batch *b, const struct rdb_entry *entry)
{
    const struct rdb_change *now = &entry->now;
    if (!now->present) {
        sto_rdb_recent_forget(&b->recent, entry->key);
        return;
    }
    struct rdb_size size = {.head = now->head,
                            .value_len = (uint32_t)now->value.len,
                            .family_name_len = now->family_name_len};
    sto_rdb_recent_put(&b->recent, entry->key, &size);
}

static void write_entry(struct rdb_batch *b, const struct rdb_entry *entry)
{
    const struct rdb_change *now = &entry->now;
    if (!now->live)
        return;
    note_entry(b, entry);
    if (!now->present && !now->in_db)
        return;
    if (!now->present) {
        rocksdb_writebatch_delete_cf(b->writes, b->engine->db.cells, (const char *)entry->key.ptr,
                                     entry->key.len);
    } else if (now->is_head) {
        uint8_t head[STO_ROW_HEAD_MAX];
        size_t n = sto_row_head_encode(&now->head, head);
        rocksdb_writebatch_put_cf(b->writes, b->engine->db.cells, (const char *)entry->key.ptr,
                                  entry->key.len, (const char *)head, n);
    } else {
        write_cell(b, entry);
    }
}

static void write_tally(struct rdb_batch *b, const struct rdb_tally *tally)
{
    uint8_t key[RDB_COUNTER_KEY_MAX];
    uint8_t value[STO_COUNTERS_BYTES];
    size_t key_len = sto_rdb_counter_key(&tally->tenant, tally->table, key);
    struct sto_stored_counters counters = {
        .usage = tally->usage,
        .additions = atomic_load_explicit(&tally->table->additions, memory_order_relaxed) +
                     (tally->added ? 1 : 0),
        .last_change_us = tally->last_change_us,
    };
    sto_counters_encode(&counters, value);
    rocksdb_writebatch_put_cf(b->writes, b->engine->db.meta, (const char *)key, key_len,
                              (const char *)value, sizeof(value));
}

static void table_publish(struct rdb_tally *tally)
{
    publish(&tally->table->counters, &tally->usage);
    if (tally->added)
        atomic_fetch_add_explicit(&tally->table->additions, 1, memory_order_relaxed);
    atomic_store(&tally->table->changes.last_us, tally->last_change_us);
}

static void write_token(struct rdb_batch *b, const struct rdb_entry *entry)
{
    if (entry->now.live)
        rocksdb_writebatch_put_cf(b->writes, b->engine->db.meta, (const char *)entry->key.ptr,
                                  entry->key.len, (const char *)entry->now.value.ptr,
                                  entry->now.value.len);
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

enum err sto_rdb_batch_write(struct rdb_batch *b)
{
    for (const struct rdb_entry *e = b->overlay.first[0]; e != NULL; e = e->next[0])
        write_entry(b, e);
    for (const struct rdb_entry *e = b->tokens.first[0]; e != NULL; e = e->next[0])
        write_token(b, e);
    for (size_t i = 0; i < b->tally_count; i++)
        if (b->tallies[i].changed)
            write_tally(b, &b->tallies[i]);
    overlays_clear(b); /* copied; a giant needs the memory now */
    enum err rc = ERR_OK;
    if (rocksdb_writebatch_count(b->writes) > 0)
        rc = sto_rdb_write(b->engine, b->writes);
    if (rc == ERR_OK) {
        for (size_t i = 0; i < b->tally_count; i++)
            table_publish(&b->tallies[i]);
        for (size_t i = 0; i < b->account_count; i++)
            publish(&b->accounts[i].account->total, &b->accounts[i].usage);
    } else {
        sto_rdb_recent_clear(&b->recent);
    }
    sto_rdb_batch_clear(b);
    return rc;
}

/*
 * storage/rocksdb/change_count.c - two numbers that only rise, each with one writer at a time.
 *
 *   u/<tenant>/<table>   recorded, ever: the tenant's committer, which has no lock to wait for
 *   c/<tenant>/<table>   01, removed, ever (8): the code that deletes changes, under docs_lock
 *
 * 1. Code that deletes changes reads keys before it has docs_lock. It reads `removals` first, and
 *    discards its batch if they have risen since: no change is subtracted twice.
 * 2. The sums belong to the engine: accounts may be freed while the engine's threads still run.
 */
#include "storage/rocksdb/change_count.h"

#include "base/alloc.h"
#include "storage/rocksdb/batch.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define REMOVED_FORMAT 0x01
#define REMOVED_BYTES  9
#define REMOVED_KEY    (2 + STO_KEY_TABLE_MAX)

/* --- sums ------------------------------------------------------------------------------------ */

void sto_rdb_change_counts_init(struct rdb_change_counts *c)
{
    (void)pthread_mutex_init(&c->lock, NULL); /* default attributes: cannot fail */
    c->epoch = base_epoch_new();
    c->tenants = base_hashmap_new(c->epoch);
}

static bool sum_free(void *ctx, struct slice key, void *value)
{
    (void)ctx;
    (void)key;
    base_free(value);
    return true;
}

void sto_rdb_change_counts_fini(struct rdb_change_counts *c)
{
    base_hashmap_walk(c->tenants, sum_free, NULL);
    base_hashmap_free(c->tenants);
    base_epoch_free(c->epoch);
    (void)pthread_mutex_destroy(&c->lock); /* no thread holds it */
}

struct sto_change_sum *sto_rdb_change_sum(struct rdb_engine *e,
                                          const struct sto_tenant_scope *tenant)
{
    struct rdb_change_counts *c = &e->change_counts;
    struct sto_change_sum *sum =
        atomic_load_explicit(&tenant->account->changes, memory_order_acquire);
    if (sum != NULL)
        return sum;
    pthread_mutex_lock(&c->lock);
    sum = base_hashmap_find(c->tenants, sto_scope_tenant_id(tenant));
    if (sum == NULL) {
        sum = base_new(sizeof *sum);
        INVARIANT(base_hashmap_insert(c->tenants, sto_scope_tenant_id(tenant), sum) == ERR_OK);
    }
    pthread_mutex_unlock(&c->lock);
    atomic_store_explicit(&tenant->account->changes, sum, memory_order_release);
    return sum;
}

void sto_rdb_changes_give_back(struct rdb_engine *e, struct slice tenant_id, uint64_t bytes)
{
    struct rdb_change_counts *c = &e->change_counts;
    pthread_mutex_lock(&c->lock);
    struct sto_change_sum *sum = base_hashmap_find(c->tenants, tenant_id);
    if (sum != NULL)
        atomic_fetch_sub_explicit(&sum->bytes, bytes, memory_order_relaxed);
    pthread_mutex_unlock(&c->lock);
}

/* --- removed bytes --------------------------------------------------------------------------- */

static size_t removed_key(struct slice prefix, uint8_t out[REMOVED_KEY])
{
    INVARIANT(prefix.len > 2 && prefix.len <= STO_KEY_TABLE_MAX);
    out[0] = STO_DOC_CHANGES_REMOVED;
    out[1] = '/';
    memcpy(out + 2, prefix.ptr, prefix.len - 1);
    *(uint8_t *)memchr(out + 2, '#', prefix.len - 1) = '/';
    return 2 + prefix.len - 1;
}

enum err sto_rdb_changes_removed_decode(struct slice stored, uint64_t *out)
{
    if (stored.len != REMOVED_BYTES || stored.ptr[0] != REMOVED_FORMAT)
        return ERR_CORRUPT;
    *out = sto_get_be64(stored.ptr + 1);
    return ERR_OK;
}

enum err sto_rdb_changes_removed(struct rdb_engine *e, struct slice prefix, uint64_t *out)
{
    uint8_t key[REMOVED_KEY];
    char *error = NULL;
    rocksdb_pinnableslice_t *pinned = rocksdb_get_pinned_cf(
        e->db.handle, e->db.point, e->db.meta, (const char *)key, removed_key(prefix, key), &error);
    if (error != NULL)
        return sto_rdb_read_failed(e, error);
    *out = 0;
    if (pinned == NULL)
        return ERR_OK;
    struct slice value;
    value.ptr = (const uint8_t *)rocksdb_pinnableslice_value(pinned, &value.len);
    enum err rc = sto_rdb_changes_removed_decode(value, out);
    rocksdb_pinnableslice_destroy(pinned);
    return rc;
}

void sto_rdb_changes_removed_put(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                                 struct slice prefix, uint64_t bytes)
{
    uint8_t key[REMOVED_KEY], value[REMOVED_BYTES] = {REMOVED_FORMAT};
    sto_put_be64(value + 1, bytes);
    rocksdb_writebatch_put_cf(batch, e->db.meta, (const char *)key, removed_key(prefix, key),
                              (const char *)value, sizeof value);
}

void sto_rdb_changes_removed_delete(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                                    struct slice prefix)
{
    uint8_t key[REMOVED_KEY];
    rocksdb_writebatch_delete_cf(batch, e->db.meta, (const char *)key, removed_key(prefix, key));
}

/* --- loading --------------------------------------------------------------------------------- */

static enum err changes_measure(struct rdb_engine *e, const struct sto_range *table, uint64_t *out)
{
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(sto_range_begin(table), sto_range_end(table));
    rocksdb_readoptions_set_fill_cache(options, 0);
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.changes);
    *out = 0;
    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        size_t key = 0, value = 0;
        (void)rocksdb_iter_key(it, &key);
        (void)rocksdb_iter_value(it, &value);
        *out += key + value;
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    return error == NULL ? ERR_OK : sto_rdb_read_failed(e, error);
}

static enum err counters_write(struct rdb_engine *e, const struct sto_table_scope *scope,
                               const struct sto_stored_counters *counters)
{
    uint8_t key[RDB_COUNTER_KEY_MAX], value[STO_COUNTERS_BYTES];
    size_t key_len = sto_rdb_counter_key(&scope->tenant, scope->schema->table, key);
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    sto_counters_encode(counters, value);
    rocksdb_writebatch_put_cf(batch, e->db.meta, (const char *)key, key_len, (const char *)value,
                              sizeof value);
    enum err rc = sto_rdb_write(e, batch);
    rocksdb_writebatch_destroy(batch);
    return rc;
}

enum err sto_rdb_changes_load(struct rdb_engine *e, const struct sto_table_scope *scope,
                              struct sto_stored_counters *stored)
{
    if (stored->change_bytes == 0)
        return ERR_OK;
    struct sto_range table = sto_range_of_table(scope);
    uint64_t removed = 0, left = 0;
    enum err rc = sto_rdb_changes_removed(e, sto_range_begin(&table), &removed);
    if (rc == ERR_OK && stored->change_bytes == STO_CHANGES_NOT_COUNTED) {
        rc = changes_measure(e, &table, &left);
        stored->change_bytes = left + removed;
        if (rc == ERR_OK)
            rc = counters_write(e, scope, stored);
    } else if (rc == ERR_OK && stored->change_bytes < removed) {
        rc = ERR_CORRUPT;
    } else {
        left = stored->change_bytes - removed;
    }
    if (rc == ERR_OK && left > 0)
        atomic_fetch_add(&sto_rdb_change_sum(e, &scope->tenant)->bytes, left);
    return rc;
}

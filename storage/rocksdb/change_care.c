/*
 * storage/rocksdb/change_care.c - a walk from table to table.
 *
 * 1. A table's schema document defines what the table keeps, so switching a stream off or deleting
 *    a table removes nothing itself. A table keeps nothing if its document does not exist, or is
 *    marked as being deleted.
 * 2. The iterator is created before the document is read, and a stream starts after everything that
 *    was recorded before: the iterator does not contain changes of a stream that is switched on
 *    later.
 * 3. Old changes are the first ones of a table: the walk leaves the table at the first one that
 *    stays.
 * 4. A commit ends at a change that still exists, and the next one starts at it. Starting at the
 *    table's first key would step over all deletes so far, each time.
 * 5. A tenant may be purged, or a table's changes removed, between the creation of the iterator and
 *    the write. Both happen under the lock of documents and are counted (change_count.h): if the
 *    count has changed, the commit is discarded, and the keys are read again.
 */
#include "storage/rocksdb/change_care.h"

#include "storage/rocksdb/change_count.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define US_PER_S  1000000
#define DOC_BYTES 8 /* length of a document's version */
/* Readers use a slightly earlier clock than the sweep does, and clocks are corrected. */
#define GRACE_US (60LL * US_PER_S)

/* --- what a table keeps ---------------------------------------------------------------------- */

/* Returns the length of "<tenant>#<table>#" at the start of a key; 0: the key is not one of a
 * change. */
static size_t table_prefix_len(struct slice key, size_t *out_tenant_len)
{
    const uint8_t *hash = memchr(key.ptr, '#', key.len);
    if (hash == NULL)
        return 0;
    size_t tenant = (size_t)(hash - key.ptr);
    const uint8_t *end = memchr(hash + 1, '#', key.len - tenant - 1);
    if (end == NULL || tenant > LIM_TENANT_ID)
        return 0;
    size_t n = (size_t)(end - key.ptr) + 1;
    *out_tenant_len = tenant;
    return n <= STO_KEY_TABLE_MAX && key.len == n + 12 ? n : 0;
}

/* Returns the first position that stays. */
static enum err keeps_from(struct rdb_engine *e, struct slice prefix, size_t tenant_len,
                           int64_t now_us, int64_t *out)
{
    uint8_t key[2 + STO_KEY_TABLE_MAX] = {STO_DOC_SCHEMA, '/'};
    size_t n = prefix.len - 1;
    memcpy(key + 2, prefix.ptr, n);
    key[2 + tenant_len] = '/';
    char *error = NULL;
    rocksdb_pinnableslice_t *pinned = rocksdb_get_pinned_cf(e->db.handle, e->db.point, e->db.meta,
                                                            (const char *)key, 2 + n, &error);
    if (error != NULL)
        return sto_rdb_read_failed(e, error);
    *out = INT64_MAX;
    if (pinned == NULL)
        return ERR_OK;
    struct slice doc;
    doc.ptr = (const uint8_t *)rocksdb_pinnableslice_value(pinned, &doc.len);
    struct sto_schema *schema = NULL;
    struct slice table_id = base_slice(prefix.ptr + tenant_len + 1, n - tenant_len - 1);
    enum err rc = doc.len < DOC_BYTES
                      ? ERR_CORRUPT
                      : sto_schema_decode(table_id, base_slice_skip(doc, DOC_BYTES), NULL, &schema);
    rocksdb_pinnableslice_destroy(pinned);
    if (rc != ERR_OK)
        return ERR_CORRUPT;
    if (schema->change_retention_s != 0 && !schema->deleting) {
        int64_t oldest = now_us - (int64_t)schema->change_retention_s * US_PER_S - GRACE_US;
        *out = oldest > schema->change_since_us ? oldest : schema->change_since_us;
    }
    sto_schema_unref(schema);
    return ERR_OK;
}

/* --- removing -------------------------------------------------------------------------------- */

struct tenant_bytes {
    size_t id_len;
    uint64_t bytes;
    uint8_t id[LIM_TENANT_ID];
};

struct removal {
    struct rdb_engine *engine;
    uint64_t removals; /* of others, counted before the iterator was created */
    rocksdb_iterator_t *it;
    rocksdb_writebatch_t *writes;
    struct buf tenants; /* of struct tenant_bytes: bytes subtracted for each tenant */
};

static struct slice key_now(const struct removal *r)
{
    struct slice key;
    key.ptr = (const uint8_t *)rocksdb_iter_key(r->it, &key.len);
    return key;
}

/* Adds removed bytes to the commit, and to the list for the tenants' sums afterwards. */
static enum err bytes_collect(struct removal *r, struct slice prefix, size_t tenant_len,
                              uint64_t bytes)
{
    struct tenant_bytes t = {.id_len = tenant_len, .bytes = bytes};
    uint64_t removed = 0;
    if (bytes == 0)
        return ERR_OK;
    enum err rc = sto_rdb_changes_removed(r->engine, prefix, &removed);
    if (rc != ERR_OK)
        return rc;
    sto_rdb_changes_removed_put(r->engine, r->writes, prefix, removed + bytes);
    memcpy(t.id, prefix.ptr, tenant_len);
    return base_buf_append(&r->tenants, base_slice(&t, sizeof t));
}

static uint64_t bytes_now(const struct removal *r)
{
    size_t key = 0, value = 0;
    (void)rocksdb_iter_key(r->it, &key);
    (void)rocksdb_iter_value(r->it, &value);
    return key + value;
}

/* Deletes a table's changes before `from`, then moves to the next table. */
static enum err table_collect(struct removal *r, struct slice prefix, int64_t from, int *steps,
                              uint64_t *out_bytes)
{
    for (; *steps < LIM_CHANGES_PER_SWEEP && rocksdb_iter_valid(r->it); (*steps)++) {
        struct slice key = key_now(r);
        if (!base_slice_starts_with(key, prefix))
            return ERR_OK;
        if (key.len != prefix.len + 12)
            return ERR_CORRUPT;
        if (sto_get_be64(key.ptr + prefix.len) >= (uint64_t)from) {
            uint8_t behind[STO_KEY_TABLE_MAX];
            memcpy(behind, prefix.ptr, prefix.len);
            behind[prefix.len - 1] = '#' + 1;
            rocksdb_iter_seek(r->it, (const char *)behind, prefix.len);
            return ERR_OK;
        }
        *out_bytes += bytes_now(r);
        rocksdb_writebatch_delete_cf(r->writes, r->engine->db.changes, (const char *)key.ptr,
                                     key.len);
        rocksdb_iter_next(r->it);
    }
    return ERR_OK;
}

/* Collects changes of all tables. Sets the key of the next change, or at_len 0 at the end of the
 * walk. */
static enum err tables_collect(struct removal *r, struct rdb_change_sweep *s, int64_t now_us)
{
    int steps = 0;
    s->at_len = 0;
    while (rocksdb_iter_valid(r->it)) {
        size_t tenant_len = 0;
        struct slice key = key_now(r);
        size_t n = table_prefix_len(key, &tenant_len);
        if (n == 0)
            return ERR_CORRUPT;
        memcpy(s->at, key.ptr, key.len);
        if (steps++ >= LIM_CHANGES_PER_SWEEP) {
            s->at_len = key.len;
            return ERR_OK;
        }
        struct slice prefix = base_slice(s->at, n);
        int64_t from = 0;
        uint64_t bytes = 0;
        enum err rc = keeps_from(r->engine, prefix, tenant_len, now_us, &from);
        if (rc == ERR_OK)
            rc = table_collect(r, prefix, from, &steps, &bytes);
        enum err counted = bytes_collect(r, prefix, tenant_len, bytes);
        rc = rc == ERR_OK ? counted : rc;
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

static struct removal removal_open(struct rdb_engine *e, const rocksdb_readoptions_t *options)
{
    struct removal r = {.engine = e, .removals = atomic_load(&e->change_counts.removals)};
    base_buf_init(&r.tenants, LIM_CHANGES_PER_SWEEP * sizeof(struct tenant_bytes));
    r.it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.changes);
    r.writes = rocksdb_writebatch_create();
    return r;
}

/* Subtracts the bytes, under docs_lock: a recount needs to see both or neither. */
static void bytes_give_back(struct removal *r)
{
    const struct tenant_bytes *t = (const struct tenant_bytes *)(const void *)r->tenants.ptr;
    size_t count = r->tenants.len / sizeof *t;
    (void)atomic_fetch_add(&r->engine->change_counts.removals, 1);
    for (size_t i = 0; i < count; i++)
        sto_rdb_changes_give_back(r->engine, base_slice(t[i].id, t[i].id_len), t[i].bytes);
}

/* Rule 5. */
static enum err removal_write(struct removal *r, bool *out_is_stale)
{
    struct rdb_engine *e = r->engine;
    enum err rc = ERR_OK;
    sto_rdb_test_point(e, STO_DIE_SWEEPING);
    pthread_mutex_lock(&e->docs_lock);
    *out_is_stale = atomic_load(&e->change_counts.removals) != r->removals;
    if (!*out_is_stale)
        rc = sto_rdb_write(e, r->writes);
    if (!*out_is_stale && rc == ERR_OK)
        bytes_give_back(r);
    pthread_mutex_unlock(&e->docs_lock);
    return rc;
}

/* Writes the collected changes. */
static enum err removal_close(struct removal *r, bool *out_is_stale)
{
    char *error = NULL;
    enum err rc = ERR_OK;
    *out_is_stale = false;
    rocksdb_iter_get_error(r->it, &error);
    if (error != NULL)
        rc = sto_rdb_read_failed(r->engine, error);
    rocksdb_iter_destroy(r->it);
    if (rc == ERR_OK && rocksdb_writebatch_count(r->writes) > 0)
        rc = removal_write(r, out_is_stale);
    rocksdb_writebatch_destroy(r->writes);
    base_buf_fini(&r->tenants);
    return rc;
}

enum err sto_rdb_changes_sweep(struct rdb_engine *e, struct rdb_change_sweep *sweep, int64_t now_us,
                               bool *out_more)
{
    static const uint8_t begin[] = {0}, end[] = {0xff}; /* around all tenants */
    const struct rdb_change_sweep before = *sweep;
    struct slice lower =
        before.at_len > 0 ? base_slice(before.at, before.at_len) : base_slice(begin, sizeof(begin));
    bool is_stale = false;
    *out_more = false;
    rocksdb_readoptions_t *options = sto_rdb_scan_options(lower, base_slice(end, sizeof(end)));
    struct removal r = removal_open(e, options);
    rocksdb_iter_seek_to_first(r.it);
    enum err collected = tables_collect(&r, sweep, now_us);
    enum err rc = removal_close(&r, &is_stale);
    rocksdb_readoptions_destroy(options);
    if (is_stale)
        *sweep = before;
    *out_more = sweep->at_len > 0;
    return rc == ERR_OK ? collected : rc;
}

/*
 * storage/rocksdb/change_care.c - a walk from table to table.
 *
 * 1. What a table keeps stands in its schema's document; who switches a stream off or deletes a
 *    table has nothing to remove. A document that is not there, or says that the table is being
 *    deleted, keeps nothing.
 * 2. The iterator is made before the document is read, and a stream begins behind everything that
 *    was recorded before: changes of a stream that is switched on meanwhile are not under it.
 * 3. Old changes are the first ones of a table: it is left at the first one that stays.
 */
#include "storage/rocksdb/change_care.h"

#include "storage/change.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define US_PER_S  1000000
#define DOC_BYTES 8 /* a document's version */
/* Readers look at the clock a little earlier than the care does, and clocks are corrected. */
#define GRACE_US (60LL * US_PER_S)

/* --- what a table keeps ------------------------------------------------------------------------
 */

/* "<tenant>#<table>#" at the front of a key; 0: the key is not one of a change. */
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

/* The first position that stays. */
static enum err keeps_from(struct rdb_engine *e, struct slice prefix, size_t tenant_len,
                           int64_t now_us, int64_t *out)
{
    uint8_t key[2 + STO_KEY_TABLE_MAX] = {'s', '/'};
    size_t n = prefix.len - 1;
    memcpy(key + 2, prefix.ptr, n);
    key[2 + tenant_len] = '/';
    char *error = NULL;
    rocksdb_pinnableslice_t *pinned = rocksdb_get_pinned_cf(e->db.handle, e->db.point, e->db.meta,
                                                            (const char *)key, 2 + n, &error);
    if (error != NULL)
        return sto_rdb_fail(e, "read", error);
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

/* --- removing ----------------------------------------------------------------------------------
 */

struct removal {
    struct rdb_engine *engine;
    rocksdb_iterator_t *it;
    rocksdb_writebatch_t *writes;
};

static struct slice key_now(const struct removal *r)
{
    struct slice key;
    key.ptr = (const uint8_t *)rocksdb_iter_key(r->it, &key.len);
    return key;
}

/* Of one table: what lies before `from`, and then the next table. */
static enum err table_collect(struct removal *r, struct slice prefix, int64_t from, int *steps)
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
        rocksdb_writebatch_delete_cf(r->writes, r->engine->db.changes, (const char *)key.ptr,
                                     key.len);
        rocksdb_iter_next(r->it);
    }
    return ERR_OK;
}

/* Leaves at_len 0 at the end of the walk. */
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
        memcpy(s->at, key.ptr, n);
        if (steps++ >= LIM_CHANGES_PER_SWEEP) {
            s->at_len = n;
            return ERR_OK;
        }
        int64_t from = 0;
        enum err rc = keeps_from(r->engine, base_slice(s->at, n), tenant_len, now_us, &from);
        if (rc == ERR_OK)
            rc = table_collect(r, base_slice(s->at, n), from, &steps);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

static struct removal removal_open(struct rdb_engine *e, const rocksdb_readoptions_t *options)
{
    struct removal r = {.engine = e};
    r.it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.changes);
    r.writes = rocksdb_writebatch_create();
    return r;
}

/* Write what was collected. */
static enum err removal_close(struct removal *r)
{
    char *error = NULL;
    enum err rc = ERR_OK;
    rocksdb_iter_get_error(r->it, &error);
    if (error != NULL)
        rc = sto_rdb_fail(r->engine, "read", error);
    rocksdb_iter_destroy(r->it);
    if (rc == ERR_OK && rocksdb_writebatch_count(r->writes) > 0)
        rc = sto_rdb_write(r->engine, r->writes);
    rocksdb_writebatch_destroy(r->writes);
    return rc;
}

enum err sto_rdb_changes_sweep(struct rdb_engine *e, struct rdb_change_sweep *sweep, int64_t now_us,
                               bool *out_more)
{
    static const uint8_t begin[] = {0}, end[] = {0xff}; /* around all tenants */
    uint8_t lower[STO_KEY_TABLE_MAX];
    size_t lower_len = sweep->at_len > 0 ? sweep->at_len : sizeof(begin);
    memcpy(lower, sweep->at_len > 0 ? sweep->at : begin, lower_len);
    *out_more = false;
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(base_slice(lower, lower_len), base_slice(end, sizeof(end)));
    struct removal r = removal_open(e, options);
    rocksdb_iter_seek_to_first(r.it);
    enum err collected = tables_collect(&r, sweep, now_us);
    enum err rc = removal_close(&r);
    rocksdb_readoptions_destroy(options);
    *out_more = sweep->at_len > 0;
    return rc == ERR_OK ? collected : rc;
}

enum err sto_rdb_changes_remove(struct rdb_engine *e, const struct sto_table_scope *scope,
                                bool *out_more)
{
    uint8_t lower[STO_KEY_TABLE_MAX], upper[STO_KEY_TABLE_MAX];
    size_t n = sto_key_table(scope, lower);
    memcpy(upper, lower, n);
    upper[n - 1] = '#' + 1;
    int steps = 0;
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(base_slice(lower, n), base_slice(upper, n));
    struct removal r = removal_open(e, options);
    rocksdb_iter_seek_to_first(r.it);
    enum err collected = table_collect(&r, base_slice(lower, n), INT64_MAX, &steps);
    *out_more = rocksdb_iter_valid(r.it) != 0;
    enum err rc = removal_close(&r);
    rocksdb_readoptions_destroy(options);
    return rc == ERR_OK ? collected : rc;
}

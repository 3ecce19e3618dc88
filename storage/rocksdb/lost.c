/*
 * storage/rocksdb/lost.c - records q/tenant/..., and the same ranges in memory.
 *
 *   record   key "q/" tenant "/" table "/" family (1) file (8) offset (8); value 1, family (1),
 *            length of begin (4), begin, end
 *   order    record on disk, range in memory, and only then a compaction may leave the block out
 *
 * 1. A block may have held keys of any table between its first and last key: each table that has
 *    counters, as every table with rows has, gets a range of its own. So tables created later are
 *    never affected, and records are removed with their table or tenant. All counters are scanned:
 *    a second for a million tables, once for each lost block.
 * 2. Row keys are rounded outwards to whole rows: half of a row may be in the next block.
 * 3. Nearly always there is no range; a check then costs one load of a counter.
 */
#include "storage/rocksdb/lost.h"

#include "base/alloc.h"
#include "storage/keycodec.h"
#include "storage/rocksdb/checkpoint.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define FORMAT      1
#define HEAD_BYTES  6
#define PLACE_BYTES 17 /* family, file, offset */
#define KEY_MAX     (2 + LIM_TENANT_ID + 1 + LIM_TABLE_ID + 1 + PLACE_BYTES)
#define BOUND_MAX   (STO_KEY_MAX + 1)

void sto_rdb_lost_init(struct rdb_lost *l)
{
    (void)pthread_mutex_init(&l->writing, NULL); /* default attributes: cannot fail */
    (void)pthread_mutex_init(&l->lock, NULL);
}

static void list_free(struct rdb_lost_range *of, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        base_free(of[i].keys);
    base_free(of);
}

void sto_rdb_lost_fini(struct rdb_lost *l)
{
    list_free(l->of, atomic_load(&l->count));
    (void)pthread_mutex_destroy(&l->writing); /* no thread holds them */
    (void)pthread_mutex_destroy(&l->lock);
}

/* --- the list --------------------------------------------------------------------------------- */

static struct slice begin_of(const struct rdb_lost_range *r)
{
    return base_slice(r->keys, r->begin_len);
}

static struct slice end_of(const struct rdb_lost_range *r)
{
    return base_slice(r->keys + r->begin_len, r->end_len);
}

static struct rdb_lost_range range_make(int family, struct sto_span span)
{
    struct rdb_lost_range r = {
        .family = family, .begin_len = span.begin.len, .end_len = span.end.len};
    r.keys = base_new(span.begin.len + span.end.len + 1);
    memcpy(r.keys, span.begin.ptr, span.begin.len);
    memcpy(r.keys + span.begin.len, span.end.ptr, span.end.len);
    return r;
}

/* Grows by one, because lost blocks are few. */
static void list_append(struct rdb_lost_range **of, uint64_t count, int family,
                        struct sto_span span)
{
    struct rdb_lost_range *longer = base_new_array((size_t)count + 1, sizeof longer[0]);
    if (count > 0)
        memcpy(longer, *of, (size_t)count * sizeof longer[0]);
    base_free(*of);
    longer[count] = range_make(family, span);
    *of = longer;
}

static bool overlaps(const struct rdb_lost_range *r, int family, struct slice begin,
                     struct slice end)
{
    return r->family == family && base_slice_compare(begin_of(r), end) < 0 &&
           base_slice_compare(begin, end_of(r)) < 0;
}

enum err sto_rdb_lost_check(struct rdb_engine *e, int family, struct slice begin, struct slice end)
{
    struct rdb_lost *l = &e->lost;
    if (atomic_load(&l->count) == 0)
        return ERR_OK;
    bool is_lost = false;
    pthread_mutex_lock(&l->lock);
    for (uint64_t i = 0; !is_lost && i < atomic_load(&l->count); i++)
        is_lost = overlaps(&l->of[i], family, begin, end);
    pthread_mutex_unlock(&l->lock);
    if (!is_lost)
        return ERR_OK;
    sto_rdb_damage_count(e);
    return ERR_CORRUPT;
}

enum err sto_rdb_lost_check_key(struct rdb_engine *e, int family, struct slice key)
{
    uint8_t after[BOUND_MAX];
    if (atomic_load(&e->lost.count) == 0)
        return ERR_OK;
    INVARIANT(key.len < sizeof after);
    memcpy(after, key.ptr, key.len);
    after[key.len] = 0;
    return sto_rdb_lost_check(e, family, key, base_slice(after, key.len + 1));
}

bool sto_rdb_lost_first(struct rdb_engine *e, int family, struct sto_span span, bool backwards,
                        uint8_t *out, size_t out_max, size_t *out_len)
{
    struct rdb_lost *l = &e->lost;
    if (atomic_load(&l->count) == 0)
        return false;
    const struct rdb_lost_range *found = NULL;
    pthread_mutex_lock(&l->lock);
    for (uint64_t i = 0; i < atomic_load(&l->count); i++) {
        const struct rdb_lost_range *r = &l->of[i];
        if (!overlaps(r, family, span.begin, span.end))
            continue;
        if (found == NULL || (backwards ? base_slice_compare(end_of(r), end_of(found)) > 0
                                        : base_slice_compare(begin_of(r), begin_of(found)) < 0))
            found = r;
    }
    if (found != NULL) {
        struct slice bound = backwards ? end_of(found) : begin_of(found);
        if (bound.len > out_max) /* longer than any of our keys: nothing is read */
            bound = backwards ? span.end : span.begin;
        memcpy(out, bound.ptr, bound.len);
        *out_len = bound.len;
    }
    pthread_mutex_unlock(&l->lock);
    return found != NULL;
}

bool sto_rdb_lost_end(struct rdb_engine *e, int family, struct slice key, uint8_t *out,
                      size_t out_max, size_t *out_len)
{
    struct rdb_lost *l = &e->lost;
    if (atomic_load(&l->count) == 0)
        return false;
    struct slice end = SLICE_EMPTY;
    pthread_mutex_lock(&l->lock);
    for (uint64_t i = 0; i < atomic_load(&l->count); i++) {
        const struct rdb_lost_range *r = &l->of[i];
        if (r->family == family && base_slice_compare(begin_of(r), key) <= 0 &&
            base_slice_compare(key, end_of(r)) < 0 && base_slice_compare(end, end_of(r)) < 0)
            end = end_of(r);
    }
    INVARIANT(end.len <= out_max); /* BOUND_MAX */
    if (end.len > 0)
        memcpy(out, end.ptr, end.len);
    *out_len = end.len;
    pthread_mutex_unlock(&l->lock);
    return end.len > 0;
}

/* --- records ---------------------------------------------------------------------------------- */

static uint32_t get_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

enum err sto_rdb_lost_decode(struct slice value, int *out_family, struct sto_span *out)
{
    if (value.len < HEAD_BYTES || value.ptr[0] != FORMAT || value.ptr[1] >= RDB_CF_COUNT)
        return ERR_CORRUPT;
    struct slice keys = base_slice_skip(value, HEAD_BYTES);
    uint32_t begin_len = get_be32(value.ptr + 2);
    if (begin_len > BOUND_MAX || begin_len > keys.len || keys.len - begin_len > BOUND_MAX)
        return ERR_CORRUPT;
    *out_family = value.ptr[1];
    *out = (struct sto_span){base_slice(keys.ptr, begin_len), base_slice_skip(keys, begin_len)};
    return base_slice_compare(out->begin, out->end) < 0 ? ERR_OK : ERR_CORRUPT;
}

static rocksdb_iterator_t *letter_open(struct rdb_engine *e, enum sto_doc_kind kind,
                                       rocksdb_readoptions_t **out_options)
{
    *out_options = sto_rdb_scan_options(sto_doc_prefix(kind), sto_doc_prefix_end(kind));
    rocksdb_readoptions_set_ignore_range_deletions(*out_options, 1); /* meta has none */
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, *out_options, e->db.meta);
    rocksdb_iter_seek_to_first(it);
    return it;
}

static enum err letter_close(struct rdb_engine *e, rocksdb_iterator_t *it,
                             rocksdb_readoptions_t *options)
{
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    return error == NULL ? ERR_OK : sto_rdb_read_failed(e, error);
}

/* Loads the list. With `writing` held. */
static enum err list_load(struct rdb_engine *e)
{
    struct rdb_lost *l = &e->lost;
    struct rdb_lost_range *of = NULL;
    uint64_t count = 0;
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *it = letter_open(e, STO_DOC_LOST, &options);
    enum err rc = ERR_OK;
    for (; rc == ERR_OK && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        struct slice value;
        struct sto_span span;
        int family;
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        rc = sto_rdb_lost_decode(value, &family, &span);
        if (rc == ERR_OK)
            list_append(&of, count++, family, span);
    }
    enum err closed = letter_close(e, it, options);
    rc = rc == ERR_OK ? closed : rc;
    pthread_mutex_lock(&l->lock);
    if (rc == ERR_OK) {
        list_free(l->of, atomic_load(&l->count));
        l->of = of;
        atomic_store(&l->count, count);
        atomic_fetch_add(&l->changes, 1);
    } else {
        list_free(of, count);
    }
    pthread_mutex_unlock(&l->lock);
    return rc;
}

/* Returns in *out whether the table of a record has counters. */
static enum err table_is_there(struct rdb_engine *e, struct slice record_key, bool *out)
{
    uint8_t key[KEY_MAX];
    char *error = NULL;
    if (record_key.len < PLACE_BYTES + 3 || record_key.len > sizeof key)
        return ERR_CORRUPT;
    size_t len = record_key.len - PLACE_BYTES - 1;
    memcpy(key, record_key.ptr, len);
    key[0] = STO_DOC_COUNTERS;
    rocksdb_pinnableslice_t *pinned = rocksdb_get_pinned_cf(e->db.handle, e->db.point, e->db.meta,
                                                            (const char *)key, len, &error);
    if (error != NULL)
        return sto_rdb_read_failed(e, error);
    *out = pinned != NULL;
    if (pinned != NULL)
        rocksdb_pinnableslice_destroy(pinned);
    return ERR_OK;
}

/* Removes records of a table that was forgotten, if the process ended before it removed them. */
static enum err stale_remove(struct rdb_engine *e)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *it = letter_open(e, STO_DOC_LOST, &options);
    enum err rc = ERR_OK;
    for (; rc == ERR_OK && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        struct slice key;
        bool is_there = true;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        rc = table_is_there(e, key, &is_there);
        if (rc == ERR_OK && !is_there)
            rocksdb_writebatch_delete_cf(batch, e->db.meta, (const char *)key.ptr, key.len);
    }
    enum err closed = letter_close(e, it, options);
    rc = rc == ERR_OK ? closed : rc;
    if (rc == ERR_OK && rocksdb_writebatch_count(batch) > 0)
        rc = sto_rdb_write(e, batch);
    rocksdb_writebatch_destroy(batch);
    return rc;
}

enum err sto_rdb_lost_load(struct rdb_engine *e)
{
    pthread_mutex_lock(&e->lost.writing);
    enum err rc = stale_remove(e);
    if (rc == ERR_OK)
        rc = list_load(e);
    pthread_mutex_unlock(&e->lost.writing);
    return rc;
}

/* --- adding ----------------------------------------------------------------------------------- */

/* The records that one block leads to: a batch. */
struct adding {
    struct rdb_engine *engine;
    const struct rdb_lost_block *block;
    struct sto_span span; /* of the block, rounded */
    rocksdb_writebatch_t *batch;
};

static void put_be32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* Adds a record. name: "tenant/table". */
static void record_put(const struct adding *a, struct slice name, struct sto_span span)
{
    const struct rdb_lost_block *b = a->block;
    uint8_t key[KEY_MAX];
    uint8_t value[HEAD_BYTES + 2 * BOUND_MAX];
    size_t n = 0;
    key[n++] = STO_DOC_LOST;
    key[n++] = '/';
    memcpy(key + n, name.ptr, name.len);
    n += name.len;
    key[n++] = '/';
    key[n++] = (uint8_t)b->family;
    sto_put_be64(key + n, b->file);
    sto_put_be64(key + n + 8, b->offset);
    n += 16;
    value[0] = FORMAT;
    value[1] = (uint8_t)b->family;
    put_be32(value + 2, (uint32_t)span.begin.len);
    memcpy(value + HEAD_BYTES, span.begin.ptr, span.begin.len);
    memcpy(value + HEAD_BYTES + span.begin.len, span.end.ptr, span.end.len);
    rocksdb_writebatch_put_cf(a->batch, a->engine->db.meta, (const char *)key, n,
                              (const char *)value, HEAD_BYTES + span.begin.len + span.end.len);
}

/* Adds the part of the block's range in the table's. name: of a counter's key, after its letter. */
static enum err table_add(struct adding *a, struct slice name)
{
    struct sto_range table;
    const uint8_t *slash = name.len == 0 ? NULL : memchr(name.ptr, '/', name.len);
    if (sto_range_of_table_named(name, &table, NULL) != ERR_OK || slash == NULL)
        return ERR_CORRUPT;
    struct slice tenant = base_slice(name.ptr, (size_t)(slash - name.ptr));
    struct sto_span span = sto_span_of(&table);
    if (base_slice_compare(a->span.begin, span.begin) > 0)
        span.begin = a->span.begin;
    if (base_slice_compare(a->span.end, span.end) < 0)
        span.end = a->span.end;
    if (base_slice_compare(span.begin, span.end) < 0 &&
        !sto_rdb_purge_is_running(a->engine, tenant))
        record_put(a, name, span);
    return ERR_OK;
}

/* Adds records for the tables that have counters; rule 1. */
static enum err tables_add(struct adding *a)
{
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *it = letter_open(a->engine, STO_DOC_COUNTERS, &options);
    enum err rc = ERR_OK;
    for (; rc == ERR_OK && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        struct slice key;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        rc = table_add(a, base_slice_skip(key, 2));
    }
    enum err closed = letter_close(a->engine, it, options);
    return rc == ERR_OK ? closed : rc;
}

/* Rule 2. Keys that are not of a row are separators that RocksDB shortened: they are between
 * rows. */
static void round_outwards(const struct rdb_lost_block *b, uint8_t begin[BOUND_MAX],
                           uint8_t end[BOUND_MAX], struct sto_span *out)
{
    size_t from_len = b->from.len < STO_KEY_MAX ? b->from.len : STO_KEY_MAX;
    size_t to_len = b->to.len < STO_KEY_MAX ? b->to.len : STO_KEY_MAX;
    bool is_rows = b->family == RDB_CF_CELLS;
    size_t from_row = is_rows ? sto_key_row_prefix_len(b->from) : 0;
    size_t to_row = is_rows ? sto_key_row_prefix_len(b->to) : 0;
    memcpy(begin, b->from.ptr, from_len);
    memcpy(end, b->to.ptr, to_len);
    out->begin = base_slice(begin, from_row > 0 ? from_row : from_len);
    if (to_row > 0)
        sto_key_after(end, to_row);
    else
        end[to_len++] = 0;
    out->end = base_slice(end, to_row > 0 ? to_row : to_len);
}

enum err sto_rdb_lost_add(struct rdb_engine *e, const struct rdb_lost_block *block)
{
    uint8_t begin[BOUND_MAX];
    uint8_t end[BOUND_MAX];
    struct adding a = {.engine = e, .block = block, .batch = rocksdb_writebatch_create()};
    round_outwards(block, begin, end, &a.span);
    pthread_mutex_lock(&e->lost.writing);
    enum err rc = tables_add(&a);
    if (rc == ERR_OK && rocksdb_writebatch_count(a.batch) > 0)
        rc = sto_rdb_write(e, a.batch);
    if (rc == ERR_OK)
        rc = list_load(e);
    pthread_mutex_unlock(&e->lost.writing);
    rocksdb_writebatch_destroy(a.batch);
    return rc;
}

/* --- deleting -------------------------------------------------------------------------------- */

static bool is_within(struct slice value, struct sto_span within)
{
    struct sto_span span;
    int family;
    return sto_rdb_lost_decode(value, &family, &span) == ERR_OK &&
           base_slice_compare(span.begin, within.begin) >= 0 &&
           base_slice_compare(span.end, within.end) <= 0;
}

enum err sto_rdb_lost_forget(struct rdb_engine *e, const struct sto_tenant_scope *scope,
                             struct sto_span within)
{
    struct sto_range range = sto_range_of_docs(scope, STO_DOC_LOST);
    pthread_mutex_lock(&e->lost.writing); /* an add may have seen counters that no longer exist */
    if (atomic_load(&e->lost.count) == 0) {
        pthread_mutex_unlock(&e->lost.writing);
        return ERR_OK;
    }
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(sto_range_begin(&range), sto_range_end(&range));
    rocksdb_readoptions_set_ignore_range_deletions(options, 1); /* meta has none */
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.meta);
    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        struct slice key, value;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        if (is_within(value, within))
            rocksdb_writebatch_delete_cf(batch, e->db.meta, (const char *)key.ptr, key.len);
    }
    enum err rc = letter_close(e, it, options);
    if (rc == ERR_OK && rocksdb_writebatch_count(batch) > 0)
        rc = sto_rdb_write(e, batch);
    rocksdb_writebatch_destroy(batch);
    if (rc == ERR_OK)
        rc = list_load(e);
    pthread_mutex_unlock(&e->lost.writing);
    return rc;
}

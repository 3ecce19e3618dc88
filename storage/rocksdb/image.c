/*
 * storage/rocksdb/image.c - opens an image read-only, with its own options: no cache, total order.
 *
 * 1. The checksum of every block that is read is compared: the image may be a copy of a copy.
 * 2. Bounds come from storage/keycodec.h, and RocksDB returns no key outside of them.
 */
#include "storage/rocksdb/image.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "storage/keycodec.h"
#include "storage/rocksdb/docs.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/table_file.h"

#include "base/banned.h"

#define STOP_EVERY_KEYS  8192
#define IMAGE_OPEN_FILES 128
#define IMAGE_READAHEAD  (2 * MIB)
#define LOG_LEVEL_WARN   2

static const char *const FAMILIES[STO_IMAGE_FAMILIES] = {"default", "cells", "meta", "changes"};

const char *sto_image_family_name(size_t family)
{
    INVARIANT(family < STO_IMAGE_FAMILIES);
    return FAMILIES[family];
}

/* --- open and close --------------------------------------------------------------------------- */

struct sto_image {
    rocksdb_options_t *options;
    rocksdb_t *handle;
    size_t family_count; /* a database of an earlier format has fewer */
    rocksdb_column_family_handle_t *cf[STO_IMAGE_FAMILIES];
};

static enum err image_failed(const char *doing, char *error, struct errbuf *eb)
{
    enum err rc = sto_rdb_error_class(error);
    (void)base_fail(eb, rc, "the image cannot be %s: %s", doing, error);
    rocksdb_free(error);
    return rc;
}

/* Counts our leading families that exist. */
static enum err count_families(struct sto_image *image, const char *dir, struct errbuf *eb)
{
    char *error = NULL;
    size_t count = 0;
    char **names = rocksdb_list_column_families(image->options, dir, &count, &error);
    if (error != NULL)
        return image_failed("opened", error, eb);
    for (bool is_there = true; is_there && image->family_count < STO_IMAGE_FAMILIES;) {
        is_there = false;
        for (size_t i = 0; i < count; i++)
            is_there = is_there || strcmp(names[i], FAMILIES[image->family_count]) == 0;
        image->family_count += is_there;
    }
    rocksdb_list_column_families_destroy(names, count);
    return image->family_count > RDB_CF_META
               ? ERR_OK
               : base_fail(eb, ERR_CORRUPT, "%s is no database of ours", dir);
}

static enum err image_open(struct sto_image *image, const char *dir, struct errbuf *eb)
{
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_no_block_cache(t, 1);
    rocksdb_options_set_block_based_table_factory(o, t);
    rocksdb_block_based_options_destroy(t);
    rocksdb_options_set_paranoid_checks(o, 1);
    rocksdb_options_set_max_open_files(o, IMAGE_OPEN_FILES);
    rocksdb_options_set_info_log_level(o, LOG_LEVEL_WARN);
    rocksdb_options_set_wal_recovery_mode(o, rocksdb_tolerate_corrupted_tail_records_recovery);
    const rocksdb_options_t *all[STO_IMAGE_FAMILIES] = {o, o, o, o};
    char *error = NULL;
    image->options = o;
    enum err rc = count_families(image, dir, eb);
    if (rc != ERR_OK)
        return rc;
    image->handle = rocksdb_open_for_read_only_column_families(o, dir, (int)image->family_count,
                                                               FAMILIES, all, image->cf, 0, &error);
    return error == NULL ? ERR_OK : image_failed("opened", error, eb);
}

/* Accepts a half-opened one. */
static void image_close(struct sto_image *image)
{
    for (size_t i = 0; image->handle != NULL && i < image->family_count; i++)
        rocksdb_column_family_handle_destroy(image->cf[i]);
    if (image->handle != NULL)
        rocksdb_close(image->handle);
    rocksdb_options_destroy(image->options);
}

enum err sto_image_open(const char *dir, struct sto_image **out, struct errbuf *eb)
{
    struct sto_image *image = base_new(sizeof *image);
    enum err rc = image_open(image, dir, eb);
    if (rc == ERR_OK)
        *out = image;
    else
        sto_image_close(image);
    return rc;
}

void sto_image_close(struct sto_image *image)
{
    if (image == NULL)
        return;
    image_close(image);
    base_free(image);
}

static void read_through(rocksdb_readoptions_t *options)
{
    rocksdb_readoptions_set_readahead_size(options, IMAGE_READAHEAD);
    rocksdb_readoptions_set_verify_checksums(options, 1);
}

/* --- counting --------------------------------------------------------------------------------- */

struct counting {
    bool (*stop)(void *ctx);
    void *ctx;
    struct slice doc_prefix; /* empty: not requested in this family */
    uint64_t keys;
    uint64_t documents;
};

static enum err count_all(struct counting *c, rocksdb_iterator_t *it)
{
    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        c->keys++;
        if (c->stop != NULL && c->keys % STOP_EVERY_KEYS == 0 && c->stop(c->ctx))
            return ERR_CANCELLED;
        if (c->doc_prefix.len == 0)
            continue;
        struct slice key;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        c->documents += base_slice_starts_with(key, c->doc_prefix);
    }
    return ERR_OK;
}

static enum err count_family(struct sto_image *image, size_t family, struct counting *c,
                             struct errbuf *eb)
{
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_total_order_seek(options, 1);
    read_through(options);
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(image->handle, options, image->cf[family]);
    enum err rc = count_all(c, it);
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    if (error != NULL)
        return image_failed("read", error, eb);
    return rc == ERR_OK ? rc : base_fail(eb, rc, "stopped while keys were counted");
}

enum err sto_rocksdb_image_count(const char *dir, struct slice doc_prefix, bool (*stop)(void *ctx),
                                 void *ctx, struct sto_image_counts *out, struct errbuf *eb)
{
    struct sto_image image = {0};
    struct sto_image_counts counts = {.documents = 0};
    sto_rdb_uncounted();
    enum err rc = image_open(&image, dir, eb);
    for (size_t i = 0; rc == ERR_OK && i < image.family_count; i++) {
        struct counting c = {.stop = stop, .ctx = ctx};
        if (i == RDB_CF_META)
            c.doc_prefix = doc_prefix;
        rc = count_family(&image, i, &c, eb);
        counts.keys[i] = c.keys;
        counts.documents += c.documents;
    }
    image_close(&image);
    if (rc == ERR_OK)
        *out = counts;
    return rc;
}

/* --- files ------------------------------------------------------------------------------------ */

struct table_counting {
    const struct sto_table_count *how;
    uint64_t entries;
};

static enum err count_pass(void *ctx, uint64_t bytes)
{
    const struct table_counting *c = ctx;
    if (c->how->stop != NULL && c->how->stop(c->how->ctx))
        return ERR_CANCELLED;
    if (c->how->bytes != NULL)
        atomic_fetch_add(c->how->bytes, bytes);
    return ERR_OK;
}

static enum err count_bad(void *ctx, const struct rdb_bad_block *block)
{
    (void)ctx;
    (void)block; /* the caller names the file */
    return ERR_CORRUPT;
}

static enum err count_entry(void *ctx, enum rdb_entry_kind kind, struct slice key,
                            struct slice value)
{
    struct table_counting *c = ctx;
    (void)kind; /* data and range tombstones */
    (void)key;
    (void)value;
    c->entries++;
    return ERR_OK;
}

enum err sto_rocksdb_table_count(const char *path, const struct sto_table_count *how, uint64_t *out,
                                 struct errbuf *eb)
{
    struct table_counting c = {.how = how};
    const struct rdb_table_scrub scrub = {
        .pass = count_pass, .bad = count_bad, .entry = count_entry, .ctx = &c};
    uint64_t says = 0;
    enum err rc = sto_rdb_table_scrub(path, &scrub);
    if (rc == ERR_CANCELLED)
        return base_fail(eb, rc, "stopped while entries were counted");
    if (rc == ERR_OK)
        rc = sto_rdb_table_entries(path, &says);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "a table file is damaged: %s", base_err_name(rc));
    if (says != c.entries)
        return base_fail(eb, ERR_CORRUPT,
                         "a table file holds %" PRIu64 " entries and says %" PRIu64, c.entries,
                         says);
    *out = c.entries;
    return ERR_OK;
}

enum err sto_image_visit_tables(struct sto_image *image, sto_image_table_visit *visit, void *ctx)
{
    struct rdb_live_walk walk;
    struct rdb_live_file f;
    enum err rc = ERR_OK;
    sto_rdb_live_walk_open(&walk, image->handle, NULL);
    while (rc == ERR_OK && sto_rdb_live_walk_next(&walk, &f))
        for (size_t k = 0; rc == ERR_OK && k < STO_IMAGE_FAMILIES; k++)
            if (strcmp(f.family, FAMILIES[k]) == 0)
                rc = visit(ctx, f.name, k);
    sto_rdb_live_walk_close(&walk);
    return rc;
}

/* An image is never written to, so its memtables hold only the replayed logs. */
enum err sto_image_count_logged(struct sto_image *image, size_t family, uint64_t *out,
                                struct errbuf *eb)
{
    *out = 0;
    if (family >= image->family_count)
        return ERR_OK; /* a database of an earlier format */
    if (rocksdb_property_int_cf(image->handle, image->cf[family],
                                "rocksdb.num-entries-active-mem-table", out) == 0)
        return ERR_OK;
    return base_fail(eb, ERR_IO, "RocksDB does not say what is in its logs");
}

/* --- visiting --------------------------------------------------------------------------------- */

static enum err visit_range(struct sto_image *image, size_t family, rocksdb_readoptions_t *options,
                            sto_stored_visit *visit, void *ctx, struct errbuf *eb)
{
    enum err rc = ERR_OK;
    sto_rdb_uncounted();
    read_through(options);
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(image->handle, options, image->cf[family]);
    for (rocksdb_iter_seek_to_first(it); rc == ERR_OK && rocksdb_iter_valid(it);
         rocksdb_iter_next(it)) {
        struct slice key, value;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        rc = visit(ctx, key, value);
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    if (error != NULL && rc != ERR_OK)
        rocksdb_free(error); /* the visit's failure came first */
    else if (error != NULL)
        rc = image_failed("read", error, eb);
    return rc;
}

static enum err stop_at_lost(void *ctx, struct slice key, struct slice value)
{
    const struct sto_span *rows = ctx;
    struct sto_span span;
    int family;
    (void)key; /* it has the place of the block */
    enum err rc = sto_rdb_lost_decode(value, &family, &span);
    if (rc == ERR_OK && family == RDB_CF_CELLS && base_slice_compare(span.begin, rows->end) < 0 &&
        base_slice_compare(rows->begin, span.end) < 0)
        rc = ERR_CORRUPT;
    return rc;
}

/* Checks the records of lost rows: rows that were lost with a damaged block leave no other
 * trace. */
static enum err lost_check(struct sto_image *image, struct slice tenant_id, struct sto_span rows,
                           struct errbuf *eb)
{
    uint8_t begin[LIM_TENANT_ID + 3] = {STO_DOC_LOST, '/'};
    uint8_t end[sizeof begin];
    size_t len = 2 + tenant_id.len;
    INVARIANT(tenant_id.len <= LIM_TENANT_ID);
    memcpy(begin + 2, tenant_id.ptr, tenant_id.len);
    memcpy(end, begin, len);
    begin[len] = '/';
    end[len] = '/' + 1;
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(base_slice(begin, len + 1), base_slice(end, len + 1));
    enum err rc = visit_range(image, RDB_CF_META, options, stop_at_lost, &rows, eb);
    rocksdb_readoptions_destroy(options);
    return rc == ERR_OK ? rc : base_fail(eb, rc, "rows of the table are damaged");
}

enum err sto_image_visit_span(struct sto_image *image, struct slice tenant_id, struct sto_span rows,
                              sto_stored_visit *visit, void *ctx, struct errbuf *eb)
{
    enum err rc = lost_check(image, tenant_id, rows, eb);
    if (rc != ERR_OK)
        return rc;
    rocksdb_readoptions_t *options = sto_rdb_scan_options(rows.begin, rows.end);
    rc = visit_range(image, RDB_CF_CELLS, options, visit, ctx, eb);
    rocksdb_readoptions_destroy(options);
    return rc;
}

enum err sto_image_visit_rows(struct sto_image *image, const struct sto_table_scope *scope,
                              sto_stored_visit *visit, void *ctx, struct errbuf *eb)
{
    static const struct sto_row_range all;
    struct sto_key_bounds bounds;
    bool has_keys = sto_key_bounds_of_rows(scope, &all, &bounds);
    INVARIANT(has_keys); /* a whole table is a range */
    struct sto_span rows = {base_slice(bounds.lower, bounds.lower_len),
                            base_slice(bounds.upper, bounds.upper_len)};
    return sto_image_visit_span(image, sto_scope_tenant_id(&scope->tenant), rows, visit, ctx, eb);
}

struct doc_visit {
    sto_stored_visit *visit;
    void *ctx;
    struct errbuf *eb;
};

static enum err visit_doc(void *ctx, struct slice key, struct slice value)
{
    const struct doc_visit *d = ctx;
    uint64_t version;
    struct slice body;
    if (sto_rdb_doc_parse(value, &version, &body) != ERR_OK)
        return base_fail(d->eb, ERR_CORRUPT, "a stored document is damaged");
    return d->visit(d->ctx, key, body);
}

enum err sto_image_visit_docs(struct sto_image *image, struct slice key_prefix,
                              sto_stored_visit *visit, void *ctx, struct errbuf *eb)
{
    struct doc_visit d = {.visit = visit, .ctx = ctx, .eb = eb};
    uint8_t end[STO_DOC_KEY_MAX];
    INVARIANT(key_prefix.len > 0 && key_prefix.len <= sizeof end);
    memcpy(end, key_prefix.ptr, key_prefix.len);
    end[key_prefix.len - 1]++; /* a slash, or another letter: never FF */
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(key_prefix, base_slice(end, key_prefix.len));
    enum err rc = visit_range(image, RDB_CF_META, options, visit_doc, &d, eb);
    rocksdb_readoptions_destroy(options);
    return rc;
}

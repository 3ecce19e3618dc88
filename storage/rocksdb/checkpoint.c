/*
 * storage/rocksdb/checkpoint.c - RocksDB's checkpoint, kept away from purges, and counted.
 *
 *   image_lock   held while an image is made; a step of a purge takes it to say whose it is
 *   purging      that tenant, from the beginning of its first step to the end of its last one, or
 *                to one that fails: the next try begins with the first step again
 *
 * 1. The checkpoint flushes first: the log it copies holds only what came meanwhile, and every
 *    write in it was synced before it was acknowledged.
 * 2. What acknowledged means is read before the flush, never behind it.
 * 3. The C API does not tell RocksDB's release; every database says it in its OPTIONS.
 * 4. Counting opens with options of its own: read-only, no cache, whole order. It never writes but
 *    RocksDB's own LOG.
 */
#define _GNU_SOURCE
#include "storage/rocksdb/checkpoint.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define STOP_EVERY_KEYS  8192
#define IMAGE_OPEN_FILES 128
#define IMAGE_READAHEAD  (2 * MIB)

#define LOG_LEVEL_WARN 2
#define OPTIONS_BYTES  (512 * KIB)

static const char *const FAMILIES[STO_IMAGE_FAMILIES] = {"default", "cells", "meta", "changes"};

const char *sto_image_family_name(size_t family)
{
    INVARIANT(family < STO_IMAGE_FAMILIES);
    return FAMILIES[family];
}

/* --- apart from purges ------------------------------------------------------------------------ */

void sto_rdb_purge_step_begin(struct rdb_engine *e, const struct sto_tenant_scope *scope)
{
    struct slice id = sto_scope_tenant_id(scope);
    pthread_mutex_lock(&e->image_lock);
    memcpy(e->purging, id.ptr, id.len);
    e->purging[id.len] = '\0';
    pthread_mutex_unlock(&e->image_lock);
}

void sto_rdb_purge_step_end(struct rdb_engine *e, bool is_last, enum err result)
{
    if (!is_last && result == ERR_OK)
        return;
    pthread_mutex_lock(&e->image_lock);
    e->purging[0] = '\0';
    pthread_mutex_unlock(&e->image_lock);
}

/* --- making ----------------------------------------------------------------------------------- */

static enum err checkpoint(struct rdb_engine *e, const char *dir, struct errbuf *eb)
{
    char *error = NULL;
    rocksdb_checkpoint_t *object = rocksdb_checkpoint_object_create(e->db.handle, &error);
    if (error == NULL)
        rocksdb_checkpoint_create(object, dir, 0, &error);
    if (object != NULL)
        rocksdb_checkpoint_object_destroy(object);
    if (error == NULL)
        return ERR_OK;
    /* Nothing was written to the database: it goes on, unless its own flush failed. */
    (void)base_fail(eb, ERR_IO, "the database's image cannot be made: %s", error);
    rocksdb_free(error);
    return ERR_IO;
}

enum err sto_rocksdb_checkpoint(struct sto_engine *engine, const char *dir, uint64_t *out_sequence,
                                struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    pthread_mutex_lock(&e->image_lock);
    enum err rc = sto_rdb_usable(e, eb);
    if (rc == ERR_OK && access(dir, F_OK) == 0)
        rc = base_fail(eb, ERR_EXISTS, "%s is there already", dir);
    if (rc == ERR_OK && e->purging[0] != '\0')
        rc = base_fail(eb, ERR_CONFLICT, "the tenant %s is being purged; try again behind it",
                       e->purging);
    uint64_t sequence = atomic_load(&e->acked_sequence);
    if (rc == ERR_OK && sto_rdb_flush(e) != ERR_OK)
        rc = base_fail(eb, ERR_UNAVAILABLE, "the flush before the database's image failed");
    if (rc == ERR_OK)
        rc = checkpoint(e, dir, eb);
    pthread_mutex_unlock(&e->image_lock);
    if (rc == ERR_OK)
        *out_sequence = sequence;
    return rc;
}

enum err sto_rocksdb_checkpoint_remove(const char *dir, struct errbuf *eb)
{
    char unfinished[BASE_PATH_BYTES]; /* RocksDB's name for one that it still makes */
    int len = snprintf(unfinished, sizeof(unfinished), "%s.tmp", dir);
    if (len < 0 || (size_t)len >= sizeof(unfinished))
        return base_fail(eb, ERR_TOO_BIG, "the path of the image is too long");
    enum err rc = base_dir_remove(unfinished, eb);
    return rc == ERR_OK ? base_dir_remove(dir, eb) : rc;
}

/* --- by which release ------------------------------------------------------------------------- */

static bool release_find(struct slice text, char out[STO_IMAGE_RELEASE])
{
    static const char NAME[] = "rocksdb_version=";
    const uint8_t *at = text.len == 0 ? NULL : memmem(text.ptr, text.len, NAME, sizeof(NAME) - 1);
    if (at == NULL)
        return false;
    struct slice rest = base_slice_skip(text, (size_t)(at - text.ptr) + sizeof(NAME) - 1);
    size_t len = 0;
    while (len < rest.len && len < STO_IMAGE_RELEASE - 1 && rest.ptr[len] > ' ')
        len++;
    memcpy(out, rest.ptr, len);
    out[len] = '\0';
    return len > 0;
}

enum err sto_rocksdb_image_release(const char *dir_path, char out[STO_IMAGE_RELEASE],
                                   struct errbuf *eb)
{
    DIR *dir = opendir(dir_path);
    if (dir == NULL)
        return base_fail(eb, ERR_IO, "cannot look into %s", dir_path);
    bool is_found = false;
    enum err rc = ERR_OK;
    for (const struct dirent *d; rc == ERR_OK && !is_found && (d = readdir(dir)) != NULL;) {
        char path[BASE_PATH_BYTES];
        struct buf text = {0};
        if (strncmp(d->d_name, "OPTIONS-", 8) != 0)
            continue;
        rc = base_path_join(path, dir_path, d->d_name, eb);
        if (rc == ERR_OK)
            rc = base_file_read(path, OPTIONS_BYTES, &text, eb);
        is_found = rc == ERR_OK && release_find(base_buf_slice(&text), out);
        base_buf_fini(&text);
    }
    (void)closedir(dir); /* only read from */
    if (rc == ERR_OK && !is_found)
        rc = base_fail(eb, ERR_CORRUPT, "%s does not say which RocksDB made it", dir_path);
    return rc;
}

/* --- counting --------------------------------------------------------------------------------- */

struct image {
    rocksdb_options_t *options;
    rocksdb_t *handle;
    rocksdb_column_family_handle_t *cf[STO_IMAGE_FAMILIES];
};

static enum err image_failed(const char *doing, char *error, struct errbuf *eb)
{
    enum err rc = sto_rdb_error_class(error);
    (void)base_fail(eb, rc, "the image cannot be %s: %s", doing, error);
    rocksdb_free(error);
    return rc;
}

static enum err image_open(struct image *image, const char *dir, struct errbuf *eb)
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
    image->handle = rocksdb_open_for_read_only_column_families(o, dir, STO_IMAGE_FAMILIES, FAMILIES,
                                                               all, image->cf, 0, &error);
    return error == NULL ? ERR_OK : image_failed("opened", error, eb);
}

/* Accepts a half-opened one. */
static void image_close(struct image *image)
{
    for (size_t i = 0; image->handle != NULL && i < STO_IMAGE_FAMILIES; i++)
        rocksdb_column_family_handle_destroy(image->cf[i]);
    if (image->handle != NULL)
        rocksdb_close(image->handle);
    rocksdb_options_destroy(image->options);
}

struct counting {
    bool (*stop)(void *ctx);
    void *ctx;
    struct slice doc_prefix; /* empty: not asked for in this family */
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

static enum err count_family(struct image *image, size_t family, struct counting *c,
                             struct errbuf *eb)
{
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_total_order_seek(options, 1);
    rocksdb_readoptions_set_readahead_size(options, IMAGE_READAHEAD);
    rocksdb_readoptions_set_verify_checksums(options, 1);
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
    struct image image = {0};
    struct sto_image_counts counts = {.documents = 0};
    sto_rdb_uncounted();
    enum err rc = image_open(&image, dir, eb);
    for (size_t i = 0; rc == ERR_OK && i < STO_IMAGE_FAMILIES; i++) {
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

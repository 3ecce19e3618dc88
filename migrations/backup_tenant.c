/*
 * migrations/backup_tenant.c - copies one tenant's data from an image, in parts.
 *
 *   schemas        the document of each table, by its stored key
 *   views          of a whole tenant: the same of authorized views, when there are any
 *   tNNNNN-MMMMMM  stored keys and values of the N-th table's rows, the M-th part
 *
 * The boundaries of parts depend on their contents (storage/rocksdb/part_file.h). A part whose keys
 * and values the previous backup already has is that backup's file: unchanged data is stored once.
 *
 * 1. The source is an image and not the database: a snapshot kept for minutes would retain data
 *    that other tenants' purges delete.
 * 2. Values stay as they are stored: encrypted ones are noise without the tenant's key.
 * 3. The image is gone before the backup is listed: from then on it holds one tenant only.
 */
#define _GNU_SOURCE
#include "migrations/backup_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "migrations/backup_tables.h"
#include "storage/rocksdb/part_file.h"
#include "tenancy/doc_key.h"

#include "base/banned.h"

#define TEMP_NAME  "part"
#define STOP_EVERY 4096

static struct sto_part_sizes part_sizes = {
    .min_bytes = 4 * MIB, .mean_bytes = 8 * MIB, .max_bytes = 64 * MIB};

void mig_backup_test_part_bytes(uint64_t min, uint64_t mean)
{
    part_sizes =
        (struct sto_part_sizes){.min_bytes = min, .mean_bytes = mean, .max_bytes = 8 * mean};
}

struct taking {
    struct mig_backups *b;
    const struct mig_backup_wanted *wanted;
    struct mig_backup *backup;
    struct mig_backup before; /* the newest backup of the same scope */
    struct mig_backup_watch *watch;
    struct mig_copier copier;
    struct errbuf *eb;
    struct mig_tables tables;
    char temp[BASE_PATH_BYTES];
    struct sto_part_writer *writer; /* NULL: no part is open */
    char name[MIG_BACKUP_PATH];     /* of the open one */
    size_t table;
    size_t part;
    uint64_t keys;
};

/* --- a part ----------------------------------------------------------------------------------- */

/* A part may exceed max_bytes slightly, by one cell; but it is compressed. */
static enum err check_space(const struct taking *t)
{
    uint64_t free_bytes = 0;
    uint64_t needed = t->b->keep_free_bytes + part_sizes.max_bytes;
    enum err rc = mig_files_free_bytes(t->b->dir, &free_bytes, t->eb);
    if (rc != ERR_OK || free_bytes >= needed)
        return rc;
    return base_fail(t->eb, ERR_STORAGE_FULL,
                     "the next part of the backup needs %" PRIu64 " bytes; %" PRIu64
                     " are free, of which %" PRIu64 " have to stay so",
                     part_sizes.max_bytes, free_bytes, t->b->keep_free_bytes);
}

static enum err part_open(struct taking *t)
{
    enum err rc = check_space(t);
    (void)unlink(t->temp); /* of the previous part */
    return rc == ERR_OK ? sto_part_create(t->temp, &part_sizes, &t->writer, t->eb) : rc;
}

/* Finds a file with the same keys and values that still exists. */
static const struct mig_backup_file *find_known(const struct taking *t, const char *sha256)
{
    for (size_t i = 0; i < t->before.file_count; i++) {
        const struct mig_backup_file *file = &t->before.files[i];
        if (strcmp(file->part, sha256) == 0 && mig_files_has(t->b->dir, &file->content))
            return file;
    }
    return NULL;
}

static enum err part_close(struct taking *t)
{
    struct sto_part part;
    struct mig_backup_file *file = NULL;
    bool is_new = false;
    enum err rc = sto_part_finish(t->writer, &part, t->eb);
    t->writer = NULL;
    if (rc == ERR_OK)
        rc = mig_backup_add_file(t->backup, t->name, &file, t->eb);
    if (rc != ERR_OK)
        return rc;
    memcpy(file->part, part.sha256, sizeof file->part);
    file->keys = part.keys;
    const struct mig_backup_file *known = find_known(t, part.sha256);
    if (known != NULL)
        file->content = known->content;
    else
        rc = mig_files_take(&t->copier, t->b->dir, t->temp, &file->content, &is_new, t->eb);
    if (rc != ERR_OK)
        return rc;
    t->backup->bytes += file->content.size;
    t->backup->new_bytes += is_new ? file->content.size : 0;
    t->part++;
    mig_backup_point(MIG_POINT_FILE_COPIED);
    return ERR_OK;
}

static enum err add(struct taking *t, struct slice key, struct slice value)
{
    enum err rc = t->writer == NULL ? part_open(t) : ERR_OK;
    return rc == ERR_OK ? sto_part_add(t->writer, key, value, t->eb) : rc;
}

/* --- schemas, rows ---------------------------------------------------------------------------- */

static enum err take_schema(void *ctx, struct slice key, struct slice body)
{
    struct taking *t = ctx;
    bool is_taken = false;
    enum err rc = mig_tables_take(&t->tables, key, body, &is_taken, t->eb);
    return rc == ERR_OK && is_taken ? add(t, key, body) : rc;
}

static enum err take_schemas(struct taking *t, struct sto_image *image)
{
    struct ten_doc_key prefix = ten_doc_key_schema(t->tables.tenant, SLICE_EMPTY);
    (void)snprintf(t->name, sizeof t->name, MIG_SCHEMAS_NAME); /* fits */
    enum err rc = sto_image_visit_docs(image, ten_doc_key_slice(&prefix), take_schema, t, t->eb);
    if (rc == ERR_OK && t->tables.count == 0)
        rc = base_fail(t->eb, ERR_NOT_FOUND,
                       t->tables.only.len > 0 ? "the tenant has no such table"
                                              : "the tenant has no tables");
    return rc == ERR_OK ? part_close(t) : rc;
}

/* Views of tables that are being removed are left out like the tables. */
static enum err take_view(void *ctx, struct slice key, struct slice body)
{
    struct taking *t = ctx;
    struct slice tenant, table, view;
    size_t at;
    enum err rc = ten_doc_key_view_parts(key, &tenant, &table, &view);
    if (rc != ERR_OK)
        return base_fail(t->eb, rc, "the key of an authorized view is damaged");
    return mig_tables_find(&t->tables, table, &at) ? add(t, key, body) : ERR_OK;
}

static enum err take_views(struct taking *t, struct sto_image *image)
{
    struct ten_doc_key prefix = ten_doc_key_view(t->tables.tenant, SLICE_EMPTY, SLICE_EMPTY);
    if (t->tables.only.len > 0)
        return ERR_OK; /* it may be restored under another table name */
    (void)snprintf(t->name, sizeof t->name, MIG_VIEWS_NAME); /* fits */
    enum err rc = sto_image_visit_docs(image, ten_doc_key_slice(&prefix), take_view, t, t->eb);
    return rc == ERR_OK && t->writer != NULL ? part_close(t) : rc;
}

static enum err take_row(void *ctx, struct slice key, struct slice value)
{
    struct taking *t = ctx;
    struct mig_backup_watch *watch = t->watch;
    if (++t->keys % STOP_EVERY == 0 && watch->stop != NULL && watch->stop(watch->ctx))
        return base_fail(t->eb, ERR_CANCELLED, "stopped while rows were copied");
    enum err rc = add(t, key, value);
    if (rc == ERR_OK && sto_part_is_full(t->writer)) {
        rc = part_close(t);
        (void)snprintf(t->name, sizeof t->name, MIG_PART_NAME, t->table, t->part); /* fits */
    }
    atomic_fetch_add(&watch->done_bytes, key.len + value.len);
    return rc;
}

static enum err take_table(struct taking *t, struct sto_image *image, size_t at)
{
    struct sto_table_scope scope = sto_table_scope_make(t->wanted->tenant, t->tables.schemas[at]);
    t->table = at;
    t->part = 0;
    (void)snprintf(t->name, sizeof t->name, MIG_PART_NAME, at, t->part); /* fits */
    enum err rc = sto_image_visit_rows(image, &scope, take_row, t, t->eb);
    sto_table_scope_release(&scope);
    return rc == ERR_OK && t->writer != NULL ? part_close(t) : rc;
}

static enum err take_image(struct taking *t)
{
    struct sto_image *image = NULL;
    enum err rc = sto_image_open(t->b->checkpoint, &image, t->eb);
    if (rc == ERR_OK)
        rc = take_schemas(t, image);
    if (rc == ERR_OK)
        rc = take_views(t, image);
    for (size_t i = 0; rc == ERR_OK && i < t->tables.count; i++)
        rc = take_table(t, image, i);
    sto_part_abandon(t->writer);
    t->writer = NULL;
    sto_image_close(image);
    enum err removed = sto_rocksdb_checkpoint_remove(t->b->checkpoint, rc == ERR_OK ? t->eb : NULL);
    return rc == ERR_OK ? removed : rc;
}

/* --- all of it -------------------------------------------------------------------------------- */

static void read_newest(struct taking *t)
{
    struct mig_backup_entry *entries = base_new_array(LIM_BACKUPS_SCOPED, sizeof entries[0]);
    const struct mig_backup_scope *scope = &t->backup->scope;
    size_t count =
        mig_backups_list_of(t->b, base_slice_text(scope->tenant), entries, LIM_BACKUPS_SCOPED);
    while (count > 0 && t->before.files == NULL) {
        const struct mig_backup *backup = &entries[--count].backup;
        if (strcmp(backup->scope.table, scope->table) == 0 &&
            mig_backup_read(t->b->lists, base_slice_text(backup->id), &t->before, NULL) != ERR_OK)
            t->before.files = NULL; /* damaged: tries the previous one */
    }
    base_free(entries);
}

static enum err prepare(struct taking *t)
{
    struct mig_backups *b = t->b;
    enum err rc = base_dir_remove(b->scratch, t->eb);
    if (rc == ERR_OK)
        rc = base_dir_make(b->scratch, 0700, t->eb);
    if (rc == ERR_OK)
        rc = base_path_join(t->temp, b->scratch, TEMP_NAME, t->eb);
    if (rc == ERR_OK)
        rc = mig_copier_init(&t->copier, NULL, t->eb);
    t->copier.stop = t->watch->stop;
    t->copier.ctx = t->watch->ctx;
    t->copier.bytes_per_s = LIM_BACKUP_BYTES_PER_S;
    return rc;
}

enum err mig_backup_take_tenant(struct mig_backups *b, const struct mig_backup_wanted *wanted,
                                struct mig_backup *backup, struct mig_backup_watch *watch,
                                struct errbuf *eb)
{
    struct taking t = {.b = b, .wanted = wanted, .backup = backup, .watch = watch, .eb = eb};
    t.tables.tenant = base_slice_text(backup->scope.tenant);
    t.tables.only = base_slice_text(backup->scope.table);
    enum err rc = prepare(&t);
    if (rc == ERR_OK) {
        read_newest(&t);
        rc = take_image(&t);
    }
    if (rc == ERR_OK)
        mig_backup_point(MIG_POINT_ALL_COPIED);
    backup->counts.documents = t.tables.count;
    backup->counts.keys[STO_IMAGE_CELLS] = t.keys;
    if (rc == ERR_OK)
        rc = mig_backup_count_parts(b->dir, backup, watch, eb);
    backup->made_us = base_wall_us();
    mig_copier_fini(&t.copier);
    mig_tables_fini(&t.tables);
    mig_backup_fini(&t.before);
    enum err removed = base_dir_remove(b->scratch, rc == ERR_OK ? eb : NULL);
    return rc == ERR_OK ? removed : rc;
}

/* --- counting --------------------------------------------------------------------------------- */

/* The kind of data being counted. */
enum counted { COUNT_SCHEMAS, COUNT_VIEWS, COUNT_ROWS };

struct counting {
    const struct mig_backup *backup;
    struct mig_backup_watch *watch;
    struct errbuf *eb;
    struct buf last; /* key */
    uint64_t keys;   /* of this file */
    enum counted what;
};

static bool is_of_tenant(const struct counting *c, struct slice key)
{
    struct slice tenant = base_slice_text(c->backup->scope.tenant);
    struct slice room = c->what == COUNT_SCHEMAS ? sto_doc_prefix(STO_DOC_SCHEMA)
                        : c->what == COUNT_VIEWS ? sto_doc_prefix(STO_DOC_VIEW)
                                                 : SLICE_EMPTY;
    if (!base_slice_starts_with(key, room))
        return false;
    struct slice rest = base_slice_skip(key, room.len);
    return base_slice_starts_with(rest, tenant) && rest.len > tenant.len &&
           rest.ptr[tenant.len] == (c->what == COUNT_ROWS ? '#' : '/');
}

static enum err count_key(void *ctx, struct slice key, struct slice value)
{
    struct counting *c = ctx;
    (void)value; /* its hash was compared */
    bool is_time = ++c->keys % STOP_EVERY == 0;
    if (is_time && c->watch->stop != NULL && c->watch->stop(c->watch->ctx))
        return base_fail(c->eb, ERR_CANCELLED, "stopped while keys were counted");
    if (!is_of_tenant(c, key) || base_slice_compare(base_buf_slice(&c->last), key) >= 0)
        return base_fail(c->eb, ERR_CORRUPT, "the backup's keys are in no order");
    base_buf_truncate(&c->last, 0);
    return base_buf_append(&c->last, key);
}

static enum err count_file(struct counting *c, const char *dir, const struct mig_backup_file *file)
{
    char path[BASE_PATH_BYTES];
    c->keys = 0;
    enum counted before = c->what;
    c->what = strcmp(file->path, MIG_SCHEMAS_NAME) == 0 ? COUNT_SCHEMAS
              : strcmp(file->path, MIG_VIEWS_NAME) == 0 ? COUNT_VIEWS
                                                        : COUNT_ROWS;
    if (c->what != before)
        base_buf_truncate(&c->last, 0); /* it has an order of its own */
    enum err rc = mig_files_path(dir, file->content.sha256, path, c->eb);
    if (rc == ERR_OK)
        rc = sto_part_visit(path, count_key, c, c->eb);
    if (rc == ERR_OK && c->keys != file->keys)
        rc = base_fail(c->eb, ERR_CORRUPT, "%s holds %" PRIu64 " keys instead of %" PRIu64,
                       file->path, c->keys, file->keys);
    return rc;
}

enum err mig_backup_count_parts(const char *dir, const struct mig_backup *backup,
                                struct mig_backup_watch *watch, struct errbuf *eb)
{
    struct counting c = {.backup = backup, .watch = watch, .eb = eb};
    uint64_t rows = 0, tables = 0;
    enum err rc = ERR_OK;
    base_buf_init(&c.last, LIM_STORED_KEY);
    for (size_t i = 0; rc == ERR_OK && i < backup->file_count; i++) {
        rc = count_file(&c, dir, &backup->files[i]);
        rows += c.what == COUNT_ROWS ? c.keys : 0;
        tables += c.what == COUNT_SCHEMAS ? c.keys : 0;
    }
    base_buf_fini(&c.last);
    if (rc == ERR_OK &&
        (rows != backup->counts.keys[STO_IMAGE_CELLS] || tables != backup->counts.documents))
        rc =
            base_fail(eb, ERR_CORRUPT,
                      "the backup holds %" PRIu64 " keys in %" PRIu64 " tables instead of %" PRIu64
                      " in %" PRIu64,
                      rows, tables, backup->counts.keys[STO_IMAGE_CELLS], backup->counts.documents);
    return rc;
}

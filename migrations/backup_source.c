/*
 * migrations/backup_source.c - a backup of the whole server is laid out as a database and opened; a
 * tenant's is read part by part.
 */
#include "migrations/backup_source.h"

#include <stdio.h>

#include "base/alloc.h"
#include "migrations/backup_internal.h"
#include "storage/keycodec.h"
#include "storage/rocksdb/part_file.h"
#include "tenancy/doc_key.h"

#include "base/banned.h"

struct mig_source {
    struct mig_backups *b;
    const struct sto_tenant_scope *tenant;
    struct mig_backup_watch *watch;
    struct mig_backup backup;
    struct mig_tables tables;
    struct sto_image *image; /* NULL: parts */
    struct errbuf *eb;       /* of the visit in progress */
    struct slice prefix;     /* prefix of every key of the visit */
    sto_stored_visit *visit;
    void *ctx;
};

/* --- a part ----------------------------------------------------------------------------------- */

/* The file matches its hash, but the list may name a wrong file: checks that keys belong to the
 * table. */
static enum err give(void *ctx, struct slice key, struct slice value)
{
    struct mig_source *s = ctx;
    if (!base_slice_starts_with(key, s->prefix))
        return base_fail(s->eb, ERR_CORRUPT, "a part of the backup holds keys of another table");
    return s->visit(s->ctx, key, value);
}

static enum err visit_part(struct mig_source *s, const struct mig_backup_file *file)
{
    char path[BASE_PATH_BYTES];
    struct mig_copier copier;
    enum err rc = mig_copier_init(&copier, NULL, s->eb);
    copier.stop = s->watch->stop;
    copier.ctx = s->watch->ctx;
    if (rc == ERR_OK)
        rc = mig_files_check(&copier, s->b->dir, &file->content, s->eb);
    mig_copier_fini(&copier);
    if (rc == ERR_OK)
        rc = mig_files_path(s->b->dir, file->content.sha256, path, s->eb);
    return rc == ERR_OK ? sto_part_visit(path, give, s, s->eb) : rc;
}

/* Visits the files whose names start with `name`, in order. */
static enum err visit_parts(struct mig_source *s, const char *name)
{
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < s->backup.file_count; i++)
        if (strncmp(s->backup.files[i].path, name, strlen(name)) == 0)
            rc = visit_part(s, &s->backup.files[i]);
    return rc;
}

/* --- opening ---------------------------------------------------------------------------------- */

static enum err take_schema(void *ctx, struct slice key, struct slice body)
{
    struct mig_source *s = ctx;
    bool is_taken = false; /* false for a table that was being deleted */
    return mig_tables_take(&s->tables, key, body, &is_taken, s->eb);
}

static enum err open_image(struct mig_source *s, struct slice prefix)
{
    enum err rc = mig_backup_lay_out(s->b->dir, s->b->scratch, &s->backup, s->eb);
    if (rc == ERR_OK)
        rc = sto_image_open(s->b->scratch, &s->image, s->eb);
    return rc == ERR_OK ? sto_image_visit_docs(s->image, prefix, take_schema, s, s->eb) : rc;
}

static enum err open_parts(struct mig_source *s, struct slice prefix)
{
    if (!base_slice_is(s->tables.tenant, s->backup.scope.tenant))
        return base_fail(s->eb, ERR_NOT_FOUND, "the backup does not hold this tenant");
    s->visit = take_schema;
    s->ctx = s;
    s->prefix = prefix;
    return visit_parts(s, MIG_SCHEMAS_NAME);
}

enum err mig_source_open(struct mig_backups *b, struct slice id,
                         const struct sto_tenant_scope *tenant, struct mig_backup_watch *watch,
                         struct mig_source **out, struct errbuf *eb)
{
    struct mig_source *s = base_new(sizeof *s);
    *s = (struct mig_source){.b = b, .tenant = tenant, .watch = watch, .eb = eb};
    s->tables.tenant = sto_scope_tenant_id(tenant);
    struct ten_doc_key prefix = ten_doc_key_schema(s->tables.tenant, SLICE_EMPTY);
    enum err rc = mig_backup_read(b->lists, id, &s->backup, eb);
    if (rc == ERR_OK) {
        mig_backups_set_reading(b, s->backup.id);
        rc = mig_backup_is_scoped(&s->backup) ? open_parts(s, ten_doc_key_slice(&prefix))
                                              : open_image(s, ten_doc_key_slice(&prefix));
    }
    if (rc == ERR_OK && s->tables.count == 0)
        rc = base_fail(eb, ERR_NOT_FOUND, "the backup holds no table of this tenant");
    if (rc == ERR_OK)
        *out = s;
    else
        mig_source_close(s);
    return rc;
}

void mig_source_close(struct mig_source *s)
{
    if (s == NULL)
        return;
    sto_image_close(s->image);
    mig_tables_fini(&s->tables);
    mig_backup_fini(&s->backup);
    mig_backups_set_reading(s->b, "");
    enum err rc = base_dir_remove(s->b->scratch, NULL);
    (void)rc; /* if it failed, the next work removes it first */
    base_free(s);
}

/* --- reading ---------------------------------------------------------------------------------- */

const struct mig_tables *mig_source_tables(const struct mig_source *s)
{
    return &s->tables;
}

enum err mig_source_visit_views(struct mig_source *s, sto_stored_visit *visit, void *ctx,
                                struct errbuf *eb)
{
    struct ten_doc_key prefix = ten_doc_key_view(s->tables.tenant, SLICE_EMPTY, SLICE_EMPTY);
    if (s->image != NULL)
        return sto_image_visit_docs(s->image, ten_doc_key_slice(&prefix), visit, ctx, eb);
    s->eb = eb;
    s->prefix = ten_doc_key_slice(&prefix);
    s->visit = visit;
    s->ctx = ctx;
    return visit_parts(s, MIG_VIEWS_NAME);
}

enum err mig_source_visit(struct mig_source *s, size_t at, sto_stored_visit *visit, void *ctx,
                          struct errbuf *eb)
{
    uint8_t prefix[STO_KEY_TABLE_MAX];
    char name[MIG_BACKUP_PATH];
    INVARIANT(at < s->tables.count);
    struct sto_table_scope scope = sto_table_scope_make(s->tenant, s->tables.schemas[at]);
    size_t len = sto_key_table(&scope, prefix);
    enum err rc;
    if (s->image != NULL) {
        rc = sto_image_visit_rows(s->image, &scope, visit, ctx, eb);
    } else {
        s->eb = eb;
        s->prefix = base_slice(prefix, len);
        s->visit = visit;
        s->ctx = ctx;
        (void)snprintf(name, sizeof name, MIG_TABLE_PREFIX, at); /* fits */
        rc = visit_parts(s, name);
    }
    sto_table_scope_release(&scope);
    return rc;
}

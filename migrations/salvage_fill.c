/*
 * migrations/salvage_fill.c - fills lost ranges, from the newest backup to the oldest.
 *
 *   backup   its database is linked beside the copy, and opened; of a tenant's backup, its parts
 *   table    compared in the copy and in the backup: the same families must have the same numbers
 *   check    the rows of the range are read to the end
 *   fill     they are read again, into the copy
 *
 * 1. Nothing is removed from the copy before all rows of the range were read from the backup.
 * 2. Cells are copied as they are stored, encrypted ones under the same keys: so no master key is
 *    needed. Cells of families that were dropped since are left out.
 * 3. A range that is lost in the backup too is left to an older backup.
 * 4. Ranges that overlap are filled together, from one backup.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "migrations/backup_internal.h"
#include "migrations/backup_tables.h"
#include "migrations/datadir.h"
#include "migrations/salvage_internal.h"
#include "storage/rocksdb/part_file.h"
#include "storage/value.h"
#include "tenancy/doc_key.h"

#include "base/banned.h"

#define SCHEMA_BYTES MIB

struct filling {
    struct sto_salvage *salvage;
    const char *backups;
    const char *scratch;
    struct mig_salvaged *salvaged;
    struct errbuf *eb;

    struct mig_backup backup; /* the one being tried */
    struct sto_image *image;  /* NULL: it is of a tenant, in parts */
    struct mig_tables tables; /* of the current tenant */
};

/* --- tables ----------------------------------------------------------------------------------- */

static enum err take_schema(void *ctx, struct slice key, struct slice body)
{
    struct filling *f = ctx;
    bool is_taken = false; /* false for a table that was being deleted */
    return mig_tables_take(&f->tables, key, body, &is_taken, NULL);
}

static enum err part_visit(struct filling *f, const struct mig_backup_file *file,
                           sto_stored_visit *visit, void *ctx, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct mig_copier copier;
    enum err rc = mig_copier_init(&copier, NULL, eb);
    if (rc == ERR_OK)
        rc = mig_files_check(&copier, f->backups, &file->content, eb);
    mig_copier_fini(&copier);
    if (rc == ERR_OK)
        rc = mig_files_path(f->backups, file->content.sha256, path, eb);
    return rc == ERR_OK ? sto_part_visit(path, visit, ctx, eb) : rc;
}

/* Visits the files whose names start with `name`, in order. */
static enum err parts_visit(struct filling *f, const char *name, sto_stored_visit *visit, void *ctx,
                            struct errbuf *eb)
{
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < f->backup.file_count; i++)
        if (strncmp(f->backup.files[i].path, name, strlen(name)) == 0)
            rc = part_visit(f, &f->backup.files[i], visit, ctx, eb);
    return rc;
}

/* Loads the tenant's tables from the backup. tenant: must outlive f->tables. */
static enum err tables_load(struct filling *f, struct slice tenant, struct errbuf *eb)
{
    if (base_slice_equal(f->tables.tenant, tenant))
        return ERR_OK;
    mig_tables_fini(&f->tables);
    f->tables.tenant = tenant;
    struct ten_doc_key prefix = ten_doc_key_schema(tenant, SLICE_EMPTY);
    enum err rc = f->image != NULL ? sto_image_visit_docs(f->image, ten_doc_key_slice(&prefix),
                                                          take_schema, f, eb)
                                   : parts_visit(f, MIG_SCHEMAS_NAME, take_schema, f, eb);
    if (rc != ERR_OK)
        f->tables.tenant = SLICE_EMPTY;
    return rc;
}

/* Returns whether both schemas are of one table. Numbers of families are never used again in a
 * table: if they mean other families, or the backup's schema is newer, the table was removed and
 * recreated. */
static bool is_same_table(const struct sto_schema *now, const struct sto_schema *then)
{
    if (now->deleting || then->revision > now->revision)
        return false;
    for (size_t i = 0; i < now->family_count; i++) {
        const struct sto_family *a = &now->families[i];
        const struct sto_family *b = sto_schema_family_by_number(then, a->number);
        if (b == NULL ? a->number < then->next_number
                      : strcmp(a->name, b->name) != 0 || a->aggregate != b->aggregate)
            return false;
    }
    return true;
}

/* Loads the schema from the copy. */
static enum err schema_load(struct filling *f, const struct mig_missing *m, struct sto_schema **out)
{
    struct buf body;
    uint64_t version;
    struct ten_doc_key key =
        ten_doc_key_schema(base_slice_text(m->tenant), base_slice_text(m->table));
    base_buf_init(&body, SCHEMA_BYTES);
    enum err rc = sto_doc_get(f->salvage->engine, ten_doc_key_slice(&key), &version, &body, f->eb);
    if (rc == ERR_OK)
        rc = sto_schema_decode(base_slice_text(m->table), base_buf_slice(&body), NULL, out);
    base_buf_fini(&body);
    return rc;
}

/* --- one range -------------------------------------------------------------------------------- */

struct range_visit {
    struct sto_span span;
    const struct sto_schema *now;
    const struct sto_schema *then;
    bool is_behind; /* the range has ended */
    sto_stored_visit *visit;
    void *ctx;
};

/* Filters by the range, because parts hold more than it. */
static enum err range_take(void *ctx, struct slice key, struct slice value)
{
    struct range_visit *r = ctx;
    struct sto_key parts;
    if (base_slice_compare(key, r->span.begin) < 0)
        return ERR_OK;
    r->is_behind = base_slice_compare(key, r->span.end) >= 0;
    if (r->is_behind)
        return ERR_CANCELLED; /* stops the visit: no more keys are needed */
    if (sto_key_decode(key, &parts) != ERR_OK)
        return ERR_CORRUPT;
    if (parts.family != 0 && (sto_schema_family_by_number(r->now, parts.family) == NULL ||
                              sto_schema_family_by_number(r->then, parts.family) == NULL))
        return ERR_OK;
    return r->visit(r->ctx, key, value);
}

static enum err range_visit(struct filling *f, const struct mig_missing *m, size_t table,
                            struct range_visit *r, struct errbuf *eb)
{
    char name[MIG_BACKUP_PATH];
    if (f->image != NULL)
        return sto_image_visit_span(f->image, base_slice_text(m->tenant), r->span, range_take, r,
                                    eb);
    (void)snprintf(name, sizeof name, MIG_TABLE_PREFIX, table); /* fits */
    enum err rc = parts_visit(f, name, range_take, r, eb);
    if (!r->is_behind)
        return rc;
    eb->text[0] = '\0';
    return ERR_OK;
}

static enum err see_cell(void *ctx, struct slice key, struct slice value)
{
    struct sto_stored_cell cell;
    struct sto_key parts;
    (void)ctx; /* it only has to decode */
    if (sto_key_decode(key, &parts) != ERR_OK)
        return ERR_CORRUPT;
    return parts.family == 0 ? ERR_OK : sto_cell_decode(value, &cell);
}

static bool overlaps(const struct mig_missing *m, const char *tenant, const char *table,
                     struct sto_span span)
{
    return m->is_rows && m->backup[0] == '\0' && strcmp(m->tenant, tenant) == 0 &&
           strcmp(m->table, table) == 0 && base_slice_compare(m->span.begin, span.end) < 0 &&
           base_slice_compare(span.begin, m->span.end) < 0;
}

/* Applies rule 4: returns the range extended by all ranges that overlap it. */
static struct sto_span span_of_all(const struct filling *f, const struct mig_missing *m)
{
    struct sto_span span = m->span;
    for (bool has_grown = true; has_grown;) {
        has_grown = false;
        for (size_t i = 0; i < f->salvaged->count; i++) {
            const struct mig_missing *other = &f->salvaged->missing[i];
            if (!overlaps(other, m->tenant, m->table, span))
                continue;
            if (base_slice_compare(other->span.begin, span.begin) < 0) {
                span.begin = other->span.begin;
                has_grown = true;
            }
            if (base_slice_compare(other->span.end, span.end) > 0) {
                span.end = other->span.end;
                has_grown = true;
            }
        }
    }
    return span;
}

static void restored_note(struct filling *f, struct mig_missing *first, struct sto_span span,
                          uint64_t rows)
{
    for (size_t i = 0; i < f->salvaged->count; i++) {
        struct mig_missing *m = &f->salvaged->missing[i];
        if (!overlaps(m, first->tenant, first->table, span))
            continue;
        memcpy(m->backup, f->backup.id, sizeof m->backup);
        m->backup_us = f->backup.created_us;
        m->rows = rows;
        m->why.text[0] = '\0';
        f->salvaged->restored++;
    }
}

/* Errors of the copy (ERR_IO and so on) stop everything; errors of the backup go to m->why. */
static enum err range_fill(struct filling *f, struct mig_missing *m, size_t table,
                           const struct sto_schema *now)
{
    struct sto_salvage_fill *fill;
    uint64_t rows = 0;
    struct range_visit r = {
        .span = span_of_all(f, m), .now = now, .then = f->tables.schemas[table], .visit = see_cell};
    if (range_visit(f, m, table, &r, &m->why) != ERR_OK)
        return ERR_OK; /* rule 1 */
    enum err rc = sto_salvage_fill_begin(f->salvage, r.span, &fill, f->eb);
    if (rc != ERR_OK)
        return rc;
    for (size_t i = 0; i < f->salvaged->count; i++)
        if (overlaps(&f->salvaged->missing[i], m->tenant, m->table, r.span))
            sto_salvage_fill_covers(fill, f->salvaged->missing[i].record);
    r.visit = sto_salvage_fill_take;
    r.ctx = fill;
    rc = range_visit(f, m, table, &r, f->eb);
    rc = sto_salvage_fill_end(fill, rc, &rows, f->eb);
    if (rc == ERR_OK)
        restored_note(f, m, r.span, rows);
    return rc;
}

static enum err range_try(struct filling *f, struct mig_missing *m)
{
    struct sto_schema *now = NULL;
    size_t at = 0;
    struct slice table = base_slice_text(m->table);
    enum err rc = schema_load(f, m, &now);
    if (rc == ERR_NOT_FOUND) { /* counters without a schema: the table is being removed */
        f->eb->text[0] = '\0';
        (void)base_fail(&m->why, rc, "the table is being removed");
        return ERR_OK;
    }
    if (rc != ERR_OK)
        return rc;
    if (tables_load(f, base_slice_text(m->tenant), &m->why) != ERR_OK) /* another backup may work */
        (void)base_fail(&m->why, ERR_CORRUPT, "the tables of backup %s cannot be read",
                        f->backup.id);
    else if (!mig_tables_find(&f->tables, table, &at))
        (void)base_fail(&m->why, ERR_NOT_FOUND, "backup %s does not have the table", f->backup.id);
    else if (!is_same_table(now, f->tables.schemas[at]))
        (void)base_fail(&m->why, ERR_CONFLICT,
                        "the table of backup %s was removed and made again since", f->backup.id);
    else
        rc = range_fill(f, m, at, now);
    sto_schema_unref(now);
    return rc;
}

/* --- one backup ------------------------------------------------------------------------------- */

static bool is_wanted(const struct filling *f, const struct mig_missing *m)
{
    const struct mig_backup_scope *scope = &f->backup.scope;
    return m->is_rows && m->backup[0] == '\0' &&
           (scope->tenant[0] == '\0' || strcmp(scope->tenant, m->tenant) == 0) &&
           (scope->table[0] == '\0' || strcmp(scope->table, m->table) == 0);
}

static void all_fail(struct filling *f, const struct errbuf *why)
{
    for (size_t i = 0; i < f->salvaged->count; i++)
        if (is_wanted(f, &f->salvaged->missing[i]))
            f->salvaged->missing[i].why = *why;
}

/* Opens the backup's database after linking its files. False: it cannot be opened; the reason is
 * reported. */
static bool backup_open(struct filling *f)
{
    struct errbuf why = {{0}};
    enum err rc = ERR_OK;
    if (f->backup.data_format != MIG_FORMAT_VERSION)
        rc = base_fail(&why, ERR_UNSUPPORTED, "backup %s is of an older format", f->backup.id);
    else if (!mig_backup_is_scoped(&f->backup)) {
        rc = mig_backup_lay_out(f->backups, f->scratch, &f->backup, &why);
        if (rc == ERR_OK)
            rc = sto_image_open(f->scratch, &f->image, &why);
    }
    if (rc != ERR_OK)
        all_fail(f, &why);
    return rc == ERR_OK;
}

static enum err backup_try(struct filling *f)
{
    bool is_any = false;
    enum err rc = ERR_OK;
    for (size_t i = 0; i < f->salvaged->count; i++)
        is_any = is_any || is_wanted(f, &f->salvaged->missing[i]);
    if (!is_any)
        return ERR_OK;
    if (backup_open(f))
        for (size_t i = 0; rc == ERR_OK && i < f->salvaged->count; i++)
            if (is_wanted(f, &f->salvaged->missing[i]))
                rc = range_try(f, &f->salvaged->missing[i]);
    sto_image_close(f->image);
    f->image = NULL;
    mig_tables_fini(&f->tables);
    f->tables = (struct mig_tables){.schemas = NULL};
    enum err removed = base_dir_remove(f->scratch, rc == ERR_OK ? f->eb : NULL);
    return rc == ERR_OK ? removed : rc;
}

/* --- all backups ------------------------------------------------------------------------------ */

struct candidate {
    char id[MIG_BACKUP_ID + 1];
};

static int newest_first(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;
    return strcmp(b->id, a->id);
}

static enum err candidates_list(const char *lists, struct candidate *out, size_t *out_count,
                                struct errbuf *eb)
{
    DIR *dir = opendir(lists);
    *out_count = 0;
    if (dir == NULL)
        return base_fail(eb, ERR_NOT_FOUND, "there are no backups in %s", lists);
    for (const struct dirent *d; *out_count < MIG_BACKUPS_MAX && (d = readdir(dir)) != NULL;) {
        struct slice id = mig_backup_id_of(d->d_name);
        if (id.len > 0)
            memcpy(out[(*out_count)++].id, id.ptr, id.len);
    }
    (void)closedir(dir); /* only read from */
    if (*out_count > 0)
        qsort(out, *out_count, sizeof out[0], newest_first); /* IDs start with the time */
    return ERR_OK;
}

enum err mig_salvage_fill(struct sto_salvage *salvage, const char *backups, const char *scratch,
                          struct mig_salvaged *s, struct errbuf *eb)
{
    struct filling f = {
        .salvage = salvage, .backups = backups, .scratch = scratch, .salvaged = s, .eb = eb};
    char lists[BASE_PATH_BYTES];
    size_t count = 0;
    struct candidate *of = base_new_array(MIG_BACKUPS_MAX, sizeof of[0]);
    enum err rc = base_path_join(lists, backups, MIG_LISTS_NAME, eb);
    if (rc == ERR_OK)
        rc = candidates_list(lists, of, &count, eb);
    for (size_t i = 0; rc == ERR_OK && i < count; i++) {
        struct errbuf why = {{0}};
        if (mig_backup_read(lists, base_slice_text(of[i].id), &f.backup, &why) == ERR_OK) {
            rc = backup_try(&f);
            mig_backup_fini(&f.backup);
        } else {
            all_fail(&f, &why);
        }
        f.backup = (struct mig_backup){.files = NULL};
    }
    base_free(of);
    return rc;
}

/*
 * migrations/salvage.c - in this order: both directories are locked; then small files, the
 * database, lost ranges from backups, counters, the report, FORMAT.
 *
 *   copied   everything not listed below: keys, certificates, the keystore, the ledger of erasures,
 *            with which the next start removes erased tenants
 *   made     LOCK, FORMAT, witness, ballast
 *   left     db/ (storage/rocksdb/salvage.h), backups/, which stay where they are, and checkpoint/
 */
#define _GNU_SOURCE
#include "migrations/salvage.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "migrations/backup_internal.h"
#include "migrations/datadir.h"
#include "migrations/salvage_internal.h"
#include "storage/rocksdb/file_copy.h"

#include "base/banned.h"

#define REPORT_ENDING "-salvage.json"
#define SCRATCH_NAME  "salvage"
#define OWNER_NAME    "OWNER"
#define DEPTH_MAX     4 /* of directories: the keystore is one */

static const char *const NOT_COPIED[] = {"LOCK", "FORMAT",  "witness",   "ballast",
                                         "db",   "backups", "checkpoint"};

/* --- small files ------------------------------------------------------------------------------ */

static bool is_left_out(const char *name)
{
    for (size_t i = 0; i < sizeof NOT_COPIED / sizeof NOT_COPIED[0]; i++)
        if (strcmp(name, NOT_COPIED[i]) == 0)
            return true;
    return false;
}

static enum err fail_errno(struct errbuf *eb, const char *what, const char *path)
{
    int error = errno;
    return base_fail(eb, base_file_error(error), "cannot %s %s: %s", what, path,
                     strerrordesc_np(error));
}

static enum err entry_copy(const char *from, const char *to, unsigned depth, struct errbuf *eb);

static enum err entries_copy(const char *from, const char *to, unsigned depth, struct errbuf *eb)
{
    DIR *dir = opendir(from);
    enum err rc = dir == NULL ? fail_errno(eb, "look into", from) : ERR_OK;
    for (const struct dirent *d; rc == ERR_OK && (d = readdir(dir)) != NULL;) {
        char source[BASE_PATH_BYTES], target[BASE_PATH_BYTES];
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
            (depth == 0 && is_left_out(d->d_name)))
            continue;
        rc = base_path_join(source, from, d->d_name, eb);
        if (rc == ERR_OK)
            rc = base_path_join(target, to, d->d_name, eb);
        if (rc == ERR_OK)
            rc = entry_copy(source, target, depth, eb);
    }
    if (dir != NULL)
        (void)closedir(dir); /* only read from */
    return rc == ERR_OK ? base_dir_sync(to, eb) : rc;
}

static enum err entry_copy(const char *from, const char *to, unsigned depth, struct errbuf *eb)
{
    struct stat st;
    uint64_t bytes;
    if (stat(from, &st) != 0)
        return fail_errno(eb, "measure", from);
    if (S_ISREG(st.st_mode))
        return sto_file_copy(from, to, st.st_mode & 0777, false, &bytes, eb);
    if (!S_ISDIR(st.st_mode) || depth == DEPTH_MAX)
        return base_fail(eb, ERR_INVALID, "%s is neither a file nor a directory of files", from);
    enum err rc = base_dir_make(to, st.st_mode & 0777, eb);
    return rc == ERR_OK ? entries_copy(from, to, depth + 1, eb) : rc;
}

/* --- missing ranges --------------------------------------------------------------------------- */

static struct slice bytes_keep(struct slice from)
{
    uint8_t *bytes = base_new(from.len + 1);
    if (from.len > 0)
        memcpy(bytes, from.ptr, from.len);
    return base_slice(bytes, from.len);
}

static enum err missing_add(void *ctx, const struct sto_salvage_lost *lost)
{
    struct mig_salvaged *s = ctx;
    if (s->count == s->capacity) {
        size_t capacity = s->capacity == 0 ? 16 : 2 * s->capacity;
        struct mig_missing *missing = base_new_array(capacity, sizeof missing[0]);
        if (s->count > 0)
            memcpy(missing, s->missing, s->count * sizeof missing[0]);
        base_free(s->missing);
        s->missing = missing;
        s->capacity = capacity;
    }
    struct mig_missing *m = &s->missing[s->count];
    if (lost->tenant.len >= sizeof m->tenant || lost->table.len >= sizeof m->table)
        return ERR_CORRUPT;
    *m = (struct mig_missing){.is_rows = lost->is_rows,
                              .kind = lost->piece != NULL ? lost->piece->kind : STO_SALVAGE_EARLIER,
                              .file = lost->file,
                              .offset = lost->offset,
                              .bytes = lost->piece != NULL ? lost->piece->bytes : 0,
                              .span = {bytes_keep(lost->span.begin), bytes_keep(lost->span.end)},
                              .record = bytes_keep(lost->record)};
    memcpy(m->tenant, lost->tenant.ptr, lost->tenant.len);
    memcpy(m->table, lost->table.ptr, lost->table.len);
    s->count++;
    return ERR_OK;
}

static enum err missing_list(struct sto_salvage *salvage, struct mig_salvaged *s, struct errbuf *eb)
{
    s->files = salvage->files;
    s->bytes = salvage->bytes;
    s->is_log_cut = salvage->is_log_cut;
    s->log = salvage->log;
    s->log_offset = salvage->log_offset;
    s->log_bytes = salvage->log_bytes;
    s->sequence = salvage->sequence;
    s->witnessed = salvage->witnessed;
    enum err rc = sto_salvage_visit_lost(salvage, missing_add, s, eb);
    if (rc == ERR_CORRUPT && eb->text[0] == '\0')
        rc = base_fail(eb, rc, "a record of lost rows is damaged");
    return rc;
}

static void slice_free(struct slice s)
{
    base_free((void *)(uintptr_t)s.ptr);
}

void mig_salvaged_fini(struct mig_salvaged *s)
{
    for (size_t i = 0; i < s->count; i++) {
        slice_free(s->missing[i].span.begin);
        slice_free(s->missing[i].span.end);
        slice_free(s->missing[i].record);
    }
    base_free(s->missing);
    *s = (struct mig_salvaged){.missing = NULL};
}

/* Recounts each table once: they are in order. */
static enum err tables_recount(struct sto_salvage *salvage, const struct mig_salvaged *s,
                               struct errbuf *eb)
{
    char last[LIM_TENANT_ID + LIM_TABLE_ID + 2] = "";
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < s->count; i++) {
        char name[sizeof last];
        struct sto_usage before, now;
        (void)snprintf(name, sizeof name, "%s/%s", s->missing[i].tenant,
                       s->missing[i].table); /* fits */
        if (strcmp(name, last) == 0)
            continue;
        memcpy(last, name, sizeof last);
        rc = sto_salvage_recount(salvage, base_slice_text(name), &before, &now, eb);
    }
    return rc;
}

/* --- the whole salvage ------------------------------------------------------------------------ */

/* The backups must be this server's: tenants of two servers may have the same name. */
static enum err owner_check(const struct mig_salvage_options *o, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct buf found = {0};
    enum err rc = base_path_join(path, o->backups, OWNER_NAME, eb);
    if (rc == ERR_OK)
        rc = base_file_read(path, MIG_OWNER, &found, eb);
    if (rc == ERR_NOT_FOUND)
        rc = base_fail(eb, rc, "there are no backups in %s", o->backups);
    if (rc == ERR_OK && !base_slice_is(base_buf_slice(&found), o->owner))
        rc = base_fail(eb, ERR_EXISTS, "the backups in %s are those of another data directory",
                       o->backups);
    base_buf_fini(&found);
    return rc;
}

static enum err space_check(const struct mig_salvage_options *o, struct errbuf *eb)
{
    uint64_t needed = 0, free_bytes = 0;
    enum err rc = sto_salvage_measure(o->data, &needed, eb);
    if (rc == ERR_OK)
        rc = mig_files_free_bytes(o->to, &free_bytes, eb);
    if (rc != ERR_OK || free_bytes >= needed)
        return rc;
    return base_fail(eb, ERR_STORAGE_FULL, "the copy needs %" PRIu64 " bytes; %" PRIu64 " are free",
                     needed, free_bytes);
}

/* Refuses a new directory inside the damaged one, where nothing may be written. */
static enum err place_check(const struct mig_salvage_options *o, struct errbuf *eb)
{
    char parent[BASE_PATH_BYTES], data[PATH_MAX], full[PATH_MAX];
    enum err rc = base_path_join(parent, "", o->to, eb);
    size_t len = strlen(parent);
    if (rc != ERR_OK)
        return rc;
    while (len > 1 && parent[len - 1] == '/')
        len--;
    while (len > 0 && parent[len - 1] != '/')
        len--;
    (void)snprintf(parent + len, sizeof parent - len, "."); /* fits: a name was there */
    if (realpath(o->data, data) == NULL)
        return fail_errno(eb, "find", o->data);
    if (realpath(parent, full) == NULL)
        return fail_errno(eb, "find", parent);
    size_t data_len = strlen(data);
    if (strncmp(full, data, data_len) == 0 && (full[data_len] == '/' || full[data_len] == '\0'))
        return base_fail(eb, ERR_INVALID, "%s is inside the damaged directory", o->to);
    return ERR_OK;
}

/* The report is outside the new directory: it names keys, and no purge of the server checks it. */
static enum err report_place(const struct mig_salvage_options *o, char out[BASE_PATH_BYTES],
                             struct errbuf *eb)
{
    size_t len = strlen(o->to);
    while (len > 1 && o->to[len - 1] == '/')
        len--;
    int n = o->report != NULL
                ? snprintf(out, BASE_PATH_BYTES, "%s", o->report)
                : snprintf(out, BASE_PATH_BYTES, "%.*s" REPORT_ENDING, (int)len, o->to);
    if (n < 0 || n >= BASE_PATH_BYTES)
        return base_fail(eb, ERR_TOO_BIG, "the path of the report is longer than %d bytes",
                         BASE_PATH_BYTES - 1);
    if (access(out, F_OK) == 0)
        return base_fail(eb, ERR_EXISTS, "%s is there already", out);
    return ERR_OK;
}

static enum err database_take(const struct mig_salvage_options *o, struct mig_salvaged *s,
                              struct errbuf *eb)
{
    struct sto_rocksdb_options options;
    struct sto_salvage salvage;
    char scratch[BASE_PATH_BYTES];
    sto_rocksdb_options_default(&options);
    enum err rc = base_path_join(scratch, o->to, SCRATCH_NAME, eb);
    if (rc == ERR_OK)
        rc = sto_salvage_open(o->data, o->to, &options, &salvage, eb);
    if (rc != ERR_OK)
        return rc;
    rc = missing_list(&salvage, s, eb);
    if (rc == ERR_OK && o->backups != NULL && s->count > 0)
        rc = mig_salvage_fill(&salvage, o->backups, scratch, s, eb);
    if (rc == ERR_OK)
        rc = tables_recount(&salvage, s, eb);
    sto_salvage_close(&salvage);
    return rc;
}

static enum err directory_fill(const struct mig_salvage_options *o, struct mig_datadir *to,
                               struct mig_salvaged *s, struct errbuf *eb)
{
    enum err rc = space_check(o, eb);
    if (rc == ERR_OK)
        rc = entries_copy(o->data, o->to, 0, eb);
    if (rc == ERR_OK)
        rc = database_take(o, s, eb);
    if (rc == ERR_OK)
        rc = mig_salvage_report(o, s, eb);
    return rc == ERR_OK ? mig_datadir_seal_as(to, MIG_FORMAT_VERSION, eb) : rc;
}

enum err mig_salvage(const struct mig_salvage_options *options, struct mig_salvaged *out,
                     struct errbuf *eb)
{
    struct mig_salvaged s = {.missing = NULL};
    struct mig_datadir from, to;
    enum err rc = mig_datadir_open(options->data, &from, eb);
    if (rc != ERR_OK)
        return rc;
    rc = place_check(options, eb);
    if (rc == ERR_OK)
        rc = report_place(options, s.report, eb);
    if (rc == ERR_OK && options->backups != NULL)
        rc = owner_check(options, eb);
    if (rc == ERR_OK)
        rc = mig_datadir_create(options->to, &to, eb);
    if (rc == ERR_OK) {
        rc = directory_fill(options, &to, &s, eb);
        mig_datadir_close(&to);
    }
    mig_datadir_close(&from);
    if (rc == ERR_OK)
        *out = s;
    else
        mig_salvaged_fini(&s);
    return rc;
}

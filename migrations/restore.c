/*
 * migrations/restore.c - in this order: the ledger is read, the backup's list is read, the
 * directory is created; files, ledger, witness "adopting", FORMAT are written.
 *
 * 1. Every error that can be found before the directory is touched is found before.
 * 2. Each file is on disk before the next one; directories before FORMAT.
 */
#include "migrations/restore.h"

#include <dirent.h>
#include <inttypes.h>
#include <unistd.h>

#include "migrations/backup_internal.h"
#include "migrations/datadir.h"
#include "storage/rocksdb/rocksdb_engine.h"
#include "tenancy/erasure_ledger.h"

#include "base/banned.h"

#define LEDGER_BYTES_MAX (1024UL * MIB)

/* --- checks before anything is touched -------------------------------------------------------- */

static enum err see_line(void *ctx, const struct ten_erasure *erasure, struct slice line)
{
    (void)ctx;
    (void)erasure;
    (void)line; /* it only has to be well-formed */
    return ERR_OK;
}

static enum err find_ledger(const struct mig_restore_options *o, char out[BASE_PATH_BYTES],
                            struct errbuf *eb)
{
    enum err rc = o->erasures != NULL ? base_path_join(out, "", o->erasures, eb)
                                      : base_path_join(out, o->backups, TEN_LEDGER_FILE, eb);
    if (rc == ERR_OK && access(out, F_OK) != 0)
        rc = base_fail(eb, ERR_NOT_FOUND,
                       "there is no ledger of erasures at %s; without it tenants that were deleted "
                       "would return",
                       out);
    return rc == ERR_OK ? ten_erasure_ledger_read(out, see_line, NULL, eb) : rc;
}

/* Also true for a damaged backup: to restore an earlier one, the operator must name it. */
static bool is_of_everything(const char *lists, struct slice id)
{
    struct mig_backup backup = {.files = NULL};
    enum err rc = mig_backup_read(lists, id, &backup, NULL);
    bool is_scoped = rc == ERR_OK && mig_backup_is_scoped(&backup);
    mig_backup_fini(&backup);
    return !is_scoped;
}

/* Finds the newest backup of the whole server whose name is that of a list. */
static enum err find_newest(const char *lists, char out_id[MIG_BACKUP_ID + 1], struct errbuf *eb)
{
    DIR *dir = opendir(lists);
    out_id[0] = '\0';
    if (dir == NULL)
        return base_fail(eb, ERR_NOT_FOUND, "there are no backups in %s", lists);
    for (const struct dirent *d; (d = readdir(dir)) != NULL;) {
        struct slice id = mig_backup_id_of(d->d_name);
        if (id.len > 0 && base_slice_compare(id, base_slice_text(out_id)) > 0 &&
            is_of_everything(lists, id)) {
            memcpy(out_id, id.ptr, id.len);
            out_id[id.len] = '\0';
        }
    }
    (void)closedir(dir); /* only read from */
    return out_id[0] != '\0' ? ERR_OK
                             : base_fail(eb, ERR_NOT_FOUND, "there are no backups in %s", lists);
}

static enum err read_backup(const struct mig_restore_options *o, struct mig_backup *out,
                            struct errbuf *eb)
{
    char lists[BASE_PATH_BYTES], newest[MIG_BACKUP_ID + 1];
    enum err rc = base_path_join(lists, o->backups, MIG_LISTS_NAME, eb);
    if (rc == ERR_OK && o->backup == NULL)
        rc = find_newest(lists, newest, eb);
    if (rc == ERR_OK)
        rc = mig_backup_read(lists, base_slice_text(o->backup == NULL ? newest : o->backup), out,
                             eb);
    if (rc == ERR_OK && mig_backup_is_scoped(out)) {
        rc = base_fail(eb, ERR_UNSUPPORTED,
                       "the backup %s is of one tenant: restore it into a running server, with "
                       "bigtent backup restore",
                       out->id);
        mig_backup_fini(out);
    }
    if (rc == ERR_OK && out->data_format > MIG_FORMAT_VERSION) {
        rc = base_fail(eb, ERR_UNSUPPORTED,
                       "the backup is of data format %" PRIu32 "; this program reads up to %d",
                       out->data_format, MIG_FORMAT_VERSION);
        mig_backup_fini(out);
    }
    return rc;
}

static enum err check_space(const char *data, const struct mig_backup *backup, struct errbuf *eb)
{
    uint64_t free_bytes = 0;
    enum err rc = mig_files_free_bytes(data, &free_bytes, eb);
    if (rc != ERR_OK || free_bytes >= backup->bytes)
        return rc;
    return base_fail(eb, ERR_STORAGE_FULL,
                     "the backup needs %" PRIu64 " bytes; %" PRIu64 " are free", backup->bytes,
                     free_bytes);
}

/* --- copying ---------------------------------------------------------------------------------- */

static enum err give_files(const struct mig_restore_options *o, const struct mig_backup *backup,
                           struct errbuf *eb)
{
    char db[BASE_PATH_BYTES];
    struct mig_copier copier;
    enum err rc = base_path_join(db, o->data, "db", eb);
    if (rc == ERR_OK)
        rc = base_dir_make(db, 0700, eb);
    if (rc != ERR_OK)
        return rc;
    rc = mig_copier_init(&copier, NULL, eb);
    for (size_t i = 0; rc == ERR_OK && i < backup->file_count; i++) {
        const struct mig_backup_file *file = &backup->files[i];
        char to[BASE_PATH_BYTES];
        rc = base_path_join(to, o->data, file->path, eb);
        if (rc == ERR_OK)
            rc = mig_files_give(&copier, o->backups, &file->content, to, file->mode, eb);
    }
    mig_copier_fini(&copier);
    return rc == ERR_OK ? base_dir_sync(db, eb) : rc;
}

static enum err give_ledger(const char *data, const char *ledger, struct errbuf *eb)
{
    char to[BASE_PATH_BYTES];
    struct buf text = {0};
    enum err rc = base_path_join(to, data, TEN_LEDGER_FILE, eb);
    if (rc == ERR_OK)
        rc = base_file_read(ledger, LEDGER_BYTES_MAX, &text, eb);
    if (rc == ERR_OK)
        rc = base_file_create(to, base_buf_slice(&text), 0600, eb);
    base_buf_fini(&text);
    return rc;
}

static enum err fill(const struct mig_restore_options *o, const struct mig_backup *backup,
                     const char *ledger, struct errbuf *eb)
{
    struct mig_datadir datadir;
    enum err rc = mig_datadir_create(o->data, &datadir, eb);
    if (rc != ERR_OK)
        return rc;
    rc = check_space(o->data, backup, eb);
    if (rc == ERR_OK)
        rc = give_files(o, backup, eb);
    if (rc == ERR_OK)
        rc = give_ledger(o->data, ledger, eb);
    if (rc == ERR_OK)
        rc = sto_rocksdb_adopt(o->data, eb);
    if (rc == ERR_OK)
        rc = mig_datadir_seal_as(&datadir, backup->data_format, eb);
    mig_datadir_close(&datadir);
    return rc;
}

enum err mig_restore(const struct mig_restore_options *options, struct mig_backup *out,
                     struct errbuf *eb)
{
    char ledger[BASE_PATH_BYTES];
    struct mig_backup backup = {.files = NULL};
    enum err rc = find_ledger(options, ledger, eb);
    if (rc == ERR_OK)
        rc = read_backup(options, &backup, eb);
    if (rc != ERR_OK)
        return rc;
    rc = fill(options, &backup, ledger, eb);
    mig_backup_fini(&backup);
    if (rc == ERR_OK)
        *out = backup;
    return rc;
}

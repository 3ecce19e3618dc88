/*
 * migrations/backup_verify.c - reads everything of a backup again.
 *
 * First every file is compared with its hash: that names damaged files. Then the whole is opened as
 * a database and every key is read: that shows that the files fit together. The number of entries
 * of the table files that the database names, and of its logs, is compared; for a backup from
 * before these were counted, the number of keys. Of a tenant's backup the parts are read in order,
 * which shows the same.
 */
#include "migrations/backup_internal.h"

#include <inttypes.h>

#include "base/banned.h"

static enum err check_files(struct mig_backups *b, const struct mig_backup *backup,
                            struct mig_backup_watch *watch, struct errbuf *eb)
{
    struct mig_copier copier;
    enum err rc = mig_copier_init(&copier, &watch->done_bytes, eb);
    copier.stop = watch->stop;
    copier.ctx = watch->ctx;
    copier.bytes_per_s = LIM_BACKUP_BYTES_PER_S;
    for (size_t i = 0; rc == ERR_OK && i < backup->file_count; i++) {
        struct errbuf detail = {{0}};
        rc = mig_files_check(&copier, b->dir, &backup->files[i].content, &detail);
        if (rc == ERR_NOT_FOUND || rc == ERR_CORRUPT)
            rc = base_fail(eb, ERR_CORRUPT, "%s: %s", backup->files[i].path, detail.text);
        else if (rc != ERR_OK)
            rc = base_fail(eb, rc, "%s", detail.text);
    }
    mig_copier_fini(&copier);
    return rc;
}

static enum err check_counts(const struct sto_image_counts *is,
                             const struct sto_image_counts *should, const char *what,
                             struct errbuf *eb)
{
    for (size_t i = 0; i < STO_IMAGE_FAMILIES; i++)
        if (is->keys[i] != should->keys[i])
            return base_fail(eb, ERR_CORRUPT,
                             "the backup holds %" PRIu64 " %s of %s instead of %" PRIu64,
                             is->keys[i], what, sto_image_family_name(i), should->keys[i]);
    if (is->documents != should->documents)
        return base_fail(eb, ERR_CORRUPT,
                         "the backup holds %" PRIu64 " tenants instead of %" PRIu64, is->documents,
                         should->documents);
    return ERR_OK;
}

static enum err check_database(struct mig_backups *b, struct mig_backup *backup,
                               struct mig_backup_watch *watch, struct errbuf *eb)
{
    struct sto_image_counts counts;
    enum err rc = mig_backup_count(b->dir, b->scratch, backup, watch, &counts, eb);
    if (rc != ERR_OK || !backup->is_by_entries)
        return rc == ERR_OK ? check_counts(&counts, &backup->counts, "keys", eb) : rc;
    rc = mig_backup_count_entries(b->dir, b->scratch, backup, true, watch, &counts, eb);
    return rc == ERR_OK ? check_counts(&counts, &backup->counts, "entries", eb) : rc;
}

enum err mig_backups_verify(struct mig_backups *b, struct slice id, struct mig_backup_watch *watch,
                            struct errbuf *eb)
{
    struct mig_backup backup = {.files = NULL};
    enum err rc = mig_backup_read(b->lists, id, &backup, eb);
    if (rc != ERR_OK)
        return rc;
    mig_backups_set_reading(b, backup.id);
    atomic_store(&watch->all_bytes, backup.bytes);
    rc = check_files(b, &backup, watch, eb);
    if (rc == ERR_OK)
        rc = mig_backup_is_scoped(&backup) ? mig_backup_count_parts(b->dir, &backup, watch, eb)
                                           : check_database(b, &backup, watch, eb);
    mig_backups_set_reading(b, "");
    mig_backup_fini(&backup);
    return rc;
}

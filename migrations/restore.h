/*
 * migrations/restore.h - a new data directory from a backup.
 *
 * Does:     copy a backup's files into an empty directory, each checked while it is copied; bring
 *           the ledger of erasures along, so that who left since does not return.
 * Owns:     nothing afterwards.
 * May use:  base/, storage/, tenancy/, migrations/.
 * Knows no: servers. The backups may be a running one's.
 * Threads:  one.
 * Blocks:   yes.
 * Fails by: ERR_EXISTS (the directory is not empty), ERR_NOT_FOUND (backup, ledger), ERR_CORRUPT,
 *           ERR_UNSUPPORTED, ERR_STORAGE_FULL, ERR_IO.
 * Limits:   none.
 * Promises: 1. FORMAT is written last: what was restored in part is served by nobody.
 *           2. Without a ledger nothing is restored: it alone knows who must not return.
 */
#ifndef MIGRATIONS_RESTORE_H
#define MIGRATIONS_RESTORE_H

#include "migrations/backup_manifest.h"

struct mig_restore_options {
    const char *data;     /* empty or not there */
    const char *backups;  /* the directory of backups */
    const char *backup;   /* an ID; NULL: the newest */
    const char *erasures; /* a ledger; NULL: the one beside the backups */
};

/* out: what was restored, without files. */
enum err mig_restore(const struct mig_restore_options *options, struct mig_backup *out,
                     struct errbuf *eb) MUST_CHECK;

#endif

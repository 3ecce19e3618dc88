/*
 * migrations/restore.h - creates a data directory from a backup.
 *
 * Does:     copies a backup's files into an empty directory, checking each during the copy; copies
 *           the ledger of erasures, so that tenants erased since the backup do not return.
 * Owns:     nothing after the call.
 * May use:  base/, storage/, tenancy/, migrations/.
 * Knows no: servers. The backups may be a running one's.
 * Threads:  one.
 * Blocks:   yes.
 * Fails by: ERR_EXISTS (the directory is not empty), ERR_NOT_FOUND (backup, ledger), ERR_CORRUPT,
 *           ERR_UNSUPPORTED, ERR_STORAGE_FULL, ERR_IO.
 * Limits:   none.
 * Promises: 1. FORMAT is written last: a partly restored directory is never served.
 *           2. Nothing is restored without a ledger: only the ledger knows which tenants must not
 *              return.
 */
#ifndef MIGRATIONS_RESTORE_H
#define MIGRATIONS_RESTORE_H

#include "migrations/backup_manifest.h"

struct mig_restore_options {
    const char *data;     /* empty or missing */
    const char *backups;  /* the directory of backups */
    const char *backup;   /* an ID; NULL: the newest */
    const char *erasures; /* a ledger; NULL: the one beside the backups */
};

/* out: the restored backup, without files. */
enum err mig_restore(const struct mig_restore_options *options, struct mig_backup *out,
                     struct errbuf *eb) MUST_CHECK;

#endif

/*
 * migrations/backup_verified.h - the result of the last verification of a backup, stored beside its
 * list.
 *
 * Does:     stores, reads and removes a backup's result; removes results of deleted backups.
 * Owns:     DIR/verified.
 * May use:  base/.
 * Knows no: how a backup is verified.
 * Threads:  any, one at a time for one backup.
 * Blocks:   on the disk.
 * Fails by: ERR_IO, ERR_CORRUPT.
 * Limits:   none of its own.
 * Promises: 1. After a restart a stored result exists, or the previous one does.
 *           2. A missing or unreadable result never counts as a good one.
 */
#ifndef MIGRATIONS_BACKUP_VERIFIED_H
#define MIGRATIONS_BACKUP_VERIFIED_H

#include "base/err.h"
#include "base/slice.h"

#define MIG_VERIFIED_NAME "verified" /* the directory */

struct mig_verified {
    int64_t finished_us; /* 0: never verified */
    enum err result;
    char error[ERRBUF_BYTES]; /* the damage found */
};

enum err mig_verified_store(const char *dir, const char *id, const struct mig_verified *verified,
                            struct errbuf *eb) MUST_CHECK;
/* All zero when there is none, or when it cannot be parsed: the backup counts as never verified. */
enum err mig_verified_read(const char *dir, const char *id, struct mig_verified *out,
                           struct errbuf *eb) MUST_CHECK;
/* Removes it, if it exists. */
enum err mig_verified_remove(const char *dir, const char *id, struct errbuf *eb) MUST_CHECK;
/* Removes all results for which is_there(ctx, id) is false. */
enum err mig_verified_sweep(const char *dir, bool (*is_there)(void *ctx, struct slice id),
                            void *ctx, struct errbuf *eb) MUST_CHECK;

#endif

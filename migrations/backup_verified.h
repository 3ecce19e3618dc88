/*
 * migrations/backup_verified.h - what the last verification of a backup found, beside its list.
 *
 * Does:     store, read and remove a note for a backup; remove those of backups that are gone.
 * Owns:     DIR/verified.
 * May use:  base/.
 * Knows no: how a backup is verified.
 * Threads:  any, one at a time for one backup.
 * Blocks:   on the disk.
 * Fails by: ERR_IO, ERR_CORRUPT.
 * Limits:   none of its own.
 * Promises: 1. A note that was written is there after a restart, or the one before it is.
 *           2. No note is never a good one: what cannot be read tells nothing.
 */
#ifndef MIGRATIONS_BACKUP_VERIFIED_H
#define MIGRATIONS_BACKUP_VERIFIED_H

#include "base/err.h"
#include "base/slice.h"

#define MIG_VERIFIED_NAME "verified" /* the directory */

struct mig_verified {
    int64_t finished_us; /* 0: never verified */
    enum err result;
    char error[ERRBUF_BYTES]; /* what is wrong with it */
};

enum err mig_verified_store(const char *dir, const char *id, const struct mig_verified *verified,
                            struct errbuf *eb) MUST_CHECK;
/* All zero when there is none, or when it cannot be understood: it is asked for again then. */
enum err mig_verified_read(const char *dir, const char *id, struct mig_verified *out,
                           struct errbuf *eb) MUST_CHECK;
/* Whether there was one or not. */
enum err mig_verified_remove(const char *dir, const char *id, struct errbuf *eb) MUST_CHECK;
/* Of all for which is_there(ctx, id) is false. */
enum err mig_verified_sweep(const char *dir, bool (*is_there)(void *ctx, struct slice id),
                            void *ctx, struct errbuf *eb) MUST_CHECK;

#endif

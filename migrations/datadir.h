/*
 * migrations/datadir.h - the data directory: whether it is ours, its format, its lock.
 *
 * Does:     creates a new directory, opens an existing one after checking its FORMAT file, locks
 *           it.
 * Owns:     the lock, while open.
 * May use:  base/.
 * Knows no: RocksDB, certificates.
 * Threads:  one.
 * Blocks:   yes.
 * Fails by: ERR_NOT_FOUND (no directory), ERR_INVALID (not ours), ERR_UNSUPPORTED (from a later
 *           version), ERR_CONFLICT (must be upgraded first), ERR_LOCKED, ERR_EXISTS, ERR_TOO_BIG
 *           (path), ERR_IO. Each case has a text of its own: the table in datadir.c.
 * Limits:   paths of BASE_PATH_BYTES.
 * Promises: 1. Nothing in a directory is touched before its FORMAT was found to be ours.
 *           2. A directory is complete or it is not ours: FORMAT is written last.
 *           3. While it is open it has mode 0700.
 * Holds:    FORMAT ("bigtent data 2\n"), formats (migrations/format_history.h), LOCK, pepper,
 *           ca.pem, ca.key, server.pem, server.key, operator.key, certificate.key,
 *           certificate.pub, erasures.ndjson, db/, witness, ballast, backups/
 *           (migrations/backup.h), keystore/ (tenancy/keystore.h, with a master key).
 */
#ifndef MIGRATIONS_DATADIR_H
#define MIGRATIONS_DATADIR_H

#include <sys/types.h>

#include "base/err.h"
#include "base/file.h"

#define MIG_FORMAT_VERSION 2

struct mig_datadir {
    char path[BASE_PATH_BYTES];
    int lock_fd;
    uint32_t format;
    mode_t mode_before; /* of the directory before it was opened; now only its owner has access */
};

/* Creates the directory (or uses an empty one) and locks it; it is not ours until
 * mig_datadir_seal. */
enum err mig_datadir_create(const char *path, struct mig_datadir *out,
                            struct errbuf *eb) MUST_CHECK;
/* Writes FORMAT, which makes it a Bigtent directory. */
enum err mig_datadir_seal(struct mig_datadir *d, struct errbuf *eb) MUST_CHECK;
/* Does the same for the format of a restored backup. */
enum err mig_datadir_seal_as(struct mig_datadir *d, uint32_t format, struct errbuf *eb) MUST_CHECK;
enum err mig_datadir_open(const char *path, struct mig_datadir *out, struct errbuf *eb) MUST_CHECK;
/* Does the same for a directory of any format up to ours, to upgrade it. */
enum err mig_datadir_open_any(const char *path, struct mig_datadir *out,
                              struct errbuf *eb) MUST_CHECK;
/* Sets a later format, durably; never an earlier one. */
enum err mig_datadir_raise(struct mig_datadir *d, uint32_t format, struct errbuf *eb) MUST_CHECK;
void mig_datadir_close(struct mig_datadir *d);

#endif

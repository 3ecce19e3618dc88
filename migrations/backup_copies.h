/*
 * migrations/backup_copies.h - backups, as certificates of erasures name them.
 *
 * Does:     visit every copy of the database that is on the disk in any part: backups, the one that
 *           is being made, deleted ones whose files are not swept yet.
 * Owns:     nothing.
 * May use:  base/, tenancy/, migrations/.
 * Knows no: certificates.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: what visit returns.
 * Limits:   LIM_BACKUPS.
 * Promises: 1. A copy is told of from before its first byte is written until its last one is gone.
 */
#ifndef MIGRATIONS_BACKUP_COPIES_H
#define MIGRATIONS_BACKUP_COPIES_H

#include "migrations/backup.h"
#include "tenancy/certificate.h"

/* ctx: struct mig_backups. */
enum err mig_backup_copies_visit(void *ctx, ten_copy_visit *visit, void *visit_ctx,
                                 struct errbuf *eb) MUST_CHECK;

#endif

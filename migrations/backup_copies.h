/*
 * migrations/backup_copies.h - backups as listed in certificates of erasures.
 *
 * Does:     visits every copy of the database of which any part is on the disk: backups, the one
 *           being made, deleted ones whose files are not swept yet.
 * Owns:     nothing.
 * May use:  base/, tenancy/, migrations/.
 * Knows no: certificates.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: the errors of visit.
 * Limits:   LIM_BACKUPS.
 * Promises: 1. A copy is visited from before its first byte is written until its last byte is gone.
 */
#ifndef MIGRATIONS_BACKUP_COPIES_H
#define MIGRATIONS_BACKUP_COPIES_H

#include "migrations/backup.h"
#include "tenancy/certificate.h"

/* ctx: struct mig_backups. */
enum err mig_backup_copies_visit(void *ctx, ten_copy_visit *visit, void *visit_ctx,
                                 struct errbuf *eb) MUST_CHECK;

#endif

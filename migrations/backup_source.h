/*
 * migrations/backup_source.h - a backup, read table by table, of one tenant.
 *
 * Does:     open a backup of everything or of the tenant; say which tables the tenant has in it;
 *           visit the stored keys and values of one.
 * Owns:     the scratch directory beside the backups, until it is closed.
 * May use:  base/, storage/, tenancy/, migrations/.
 * Knows no: where rows go.
 * Threads:  the one that makes backups.
 * Blocks:   yes.
 * Fails by: ERR_NOT_FOUND (no such backup, or it does not hold this tenant), ERR_CORRUPT,
 *           ERR_CANCELLED (watch), what visit returns.
 * Limits:   LIM_TABLES.
 * Promises: 1. The backup's files are read, never changed, and not deleted while it is open.
 *           2. Every byte that is given was compared with a checksum. 3. What is given is the
 *              tenant's of the scope.
 */
#ifndef MIGRATIONS_BACKUP_SOURCE_H
#define MIGRATIONS_BACKUP_SOURCE_H

#include "migrations/backup.h"
#include "migrations/backup_tables.h"

struct mig_source;

/* Borrows b, tenant and watch. */
enum err mig_source_open(struct mig_backups *b, struct slice id,
                         const struct sto_tenant_scope *tenant, struct mig_backup_watch *watch,
                         struct mig_source **out, struct errbuf *eb) MUST_CHECK;
/* Accepts NULL. */
void mig_source_close(struct mig_source *s);

const struct mig_tables *mig_source_tables(const struct mig_source *s);
/* Documents of authorized views of all its tables, by key; of a backup of one table none. */
enum err mig_source_visit_views(struct mig_source *s, sto_stored_visit *visit, void *ctx,
                                struct errbuf *eb) MUST_CHECK;
/* Rows of its table number `at`: headers and cells, in order, as they are stored. */
enum err mig_source_visit(struct mig_source *s, size_t at, sto_stored_visit *visit, void *ctx,
                          struct errbuf *eb) MUST_CHECK;

#endif

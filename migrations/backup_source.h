/*
 * migrations/backup_source.h - reads one tenant's tables from a backup.
 *
 * Does:     opens a backup of the whole server or of the tenant; lists the tables that the tenant
 *           has in it; visits the stored keys and values of a table.
 * Owns:     the scratch directory beside the backups, until it is closed.
 * May use:  base/, storage/, tenancy/, migrations/.
 * Knows no: where rows are written.
 * Threads:  the thread that makes backups.
 * Blocks:   yes.
 * Fails by: ERR_NOT_FOUND (no such backup, or it does not hold this tenant), ERR_CORRUPT,
 *           ERR_CANCELLED (watch), the errors of visit.
 * Limits:   LIM_TABLES.
 * Promises: 1. The backup's files are read, never changed, and not deleted while it is open.
 *           2. Every visited byte was compared with a checksum. 3. All visited data belongs to the
 *              scope's tenant.
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
/* Visits the documents of authorized views of all its tables, by key; in a backup of one table
 * there are none. */
enum err mig_source_visit_views(struct mig_source *s, sto_stored_visit *visit, void *ctx,
                                struct errbuf *eb) MUST_CHECK;
/* Visits the rows of its table number `at`: headers and cells, in order, as stored. */
enum err mig_source_visit(struct mig_source *s, size_t at, sto_stored_visit *visit, void *ctx,
                          struct errbuf *eb) MUST_CHECK;

#endif

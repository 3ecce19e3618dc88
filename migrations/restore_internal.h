/*
 * migrations/restore_internal.h - code that the restores of a table and of a tenant share.
 *
 * Does:     creates and fills hidden tables; publishes all of them together with the operation's
 *           end, or abandons them.
 * Owns:     the tables it created, and the source, until mig_restore_end.
 * May use:  base/, storage/, tenancy/, migrations/.
 * Knows no: who requested it.
 * Threads:  the service's.
 * Blocks:   yes.
 * Fails by: as tenancy/table_restore.h, migrations/table_fill.h and migrations/backup_source.h.
 * Limits:   LIM_TABLES.
 * Promises: 1. Either all tables are visible once the operation is DONE, or none is.
 */
#ifndef MIGRATIONS_RESTORE_INTERNAL_H
#define MIGRATIONS_RESTORE_INTERNAL_H

#include "migrations/backup_source.h"
#include "migrations/service_internal.h"
#include "tenancy/table_restore.h"

struct mig_restoring {
    struct mig_service *service;
    struct ten_tenant *tenant;
    struct sto_tenant_scope scope;
    struct mig_operation *op;
    struct mig_source *source; /* NULL: closed */
    struct errbuf *eb;

    struct ten_table_restore **tables; /* by table ID; hidden */
    size_t count;
    struct ten_table_wish wish; /* of the next table */
    enum err result;            /* of the last step on the control thread */
};

/* Creates the table and writes its rows. at: its number in the source; wish: all but `like`. */
enum err mig_restore_table(struct mig_restoring *r, size_t at,
                           const struct ten_table_wish *wish) MUST_CHECK;
/* Publishes the tables if rc, the result so far, is ERR_OK; otherwise abandons them. */
enum err mig_restore_end(struct mig_restoring *r, enum err rc) MUST_CHECK;

/* operation_switch.c: replaces all existing tables with those of the backup. */
enum err mig_restore_tenant(struct mig_restoring *r) MUST_CHECK;

#endif

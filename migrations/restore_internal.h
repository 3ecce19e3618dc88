/*
 * migrations/restore_internal.h - what the restores of a table and of a tenant share.
 *
 * Does:     begin and fill tables that nobody sees; publish all of them together with the
 *           operation's end, or abandon them.
 * Owns:     the tables that were begun, and the source, until mig_restore_end.
 * May use:  base/, storage/, tenancy/, migrations/.
 * Knows no: who asked.
 * Threads:  the service's.
 * Blocks:   yes.
 * Fails by: as tenancy/table_restore.h, migrations/table_fill.h and migrations/backup_source.h.
 * Limits:   LIM_TABLES.
 * Promises: 1. The tables are seen when the operation is DONE, all of them, or none is.
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

    struct ten_table_restore **tables; /* by table ID; seen by nobody yet */
    size_t count;
    struct ten_table_wish wish; /* of the next one */
    enum err result;            /* of what ran on the control thread */
};

/* Begin it and write its rows. at: its number in the source; wish: all but `like`. */
enum err mig_restore_table(struct mig_restoring *r, size_t at,
                           const struct ten_table_wish *wish) MUST_CHECK;
/* rc: how it went so far; ERR_OK: publish. What was begun has an end then. */
enum err mig_restore_end(struct mig_restoring *r, enum err rc) MUST_CHECK;

/* operation_switch.c: all tables of the backup in place of those that are there. */
enum err mig_restore_tenant(struct mig_restoring *r) MUST_CHECK;

#endif

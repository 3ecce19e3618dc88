/*
 * migrations/tenant_backup.h - backups of one tenant, as its owner manages them.
 *
 * Does:     starts to make, copy and restore backups of a tenant, by name; lists, describes and
 *           deletes them, and changes their expiry; reports the operations that do the work.
 * Owns:     nothing; the service does (migrations/backup_service.h).
 * May use:  base/, storage/, tenancy/, migrations/.
 * Knows no: HTTP, gRPC, rules on times and names beyond those stated here.
 * Threads:  the control thread, inside an action, unless it says any.
 * Blocks:   on the disk, shortly: the service's thread does the work, one operation at a time, in
 *           rounds of tenants and operators. A pending or running one can be looked up at any time.
 * Fails by: ERR_NOT_FOUND (backup, table, operation), ERR_EXISTS (name, new table), ERR_INVALID
 *           (names), ERR_CONFLICT (the backup is still being made, or is damaged), ERR_TOO_BIG (too
 *           many backups), ERR_OVERLOADED (too many operations wait), ERR_GONE, ERR_SUSPENDED.
 * Limits:   LIM_BACKUP_NAME, LIM_BACKUPS_OF_TENANT, LIM_OPERATIONS_OF_TENANT, _OF_TENANTS,
 *           _OF_OPERATORS, _KEPT.
 * Promises: 1. Nothing here shows or changes other tenants' backups and operations, or reveals them
 *              by its results.
 *           2. An operation is durable when its ID is returned. After a restart it has its final
 *              state, or continues; a restore of a table that ran then is FAILED with
 *              ERR_CANCELLED.
 *           3. A table is visible once it is restored completely, or never; of a tenant's tables,
 *              all or none (migrations/operation_switch.c).
 *           4. Backups of a tenant that is purged are deleted.
 *           5. Operations run in rounds: one of each tenant that has any, and one of operators. A
 *              tenant's next operation is at most one round after its last.
 */
#ifndef MIGRATIONS_TENANT_BACKUP_H
#define MIGRATIONS_TENANT_BACKUP_H

#include "migrations/backup_service.h"
#include "migrations/operation.h"

/* [_a-zA-Z0-9][-_.a-zA-Z0-9]{0,49} */
enum err mig_backup_name_check(struct slice name, struct errbuf *eb) MUST_CHECK;

/* --- state: any thread that may wait ---------------------------------------------------------- */

/* A named backup of one table. */
struct mig_tenant_backup {
    struct mig_backup_scope scope;
    char id[MIG_BACKUP_ID + 1];
    bool is_ready;       /* false: its operation waits or runs */
    int64_t started_us;  /* is_ready: it holds all writes acknowledged before then */
    int64_t finished_us; /* 0: not ready */
    int64_t expires_us;  /* 0: never */
    uint64_t bytes;      /* of its files */
};

/* Finds a backup by name; ERR_NOT_FOUND. */
enum err mig_tenant_backup_get(struct mig_service *s, struct slice tenant, struct slice name,
                               struct mig_tenant_backup *out, struct errbuf *eb) MUST_CHECK;
/* Lists backups sorted by name, at most LIM_BACKUPS_OF_TENANT + LIM_OPERATIONS_OF_TENANT; limit:
 * space in out. */
size_t mig_tenant_backup_list(struct mig_service *s, struct slice tenant,
                              struct mig_tenant_backup *out, size_t limit);

/* --- requesting ------------------------------------------------------------------------------- */

struct mig_tenant_backup_wanted {
    struct slice name;  /* may be empty for the JSON API, which finds it by its ID */
    struct slice table; /* empty: all tables; such a backup has no name */
    struct slice note;
    int64_t expires_us; /* 0: never */
    bool by_operator;   /* requested by an operator: it uses the operators' places and rounds */
};

enum err mig_tenant_backup_create(struct mig_service *s, struct ten_tenant *t,
                                  const struct mig_tenant_backup_wanted *wanted,
                                  char out_operation[MIG_BACKUP_ID + 1],
                                  struct errbuf *eb) MUST_CHECK;
enum err mig_tenant_backup_copy(struct mig_service *s, struct ten_tenant *t, struct slice from_name,
                                struct slice name, int64_t expires_us,
                                char out_operation[MIG_BACKUP_ID + 1],
                                struct errbuf *eb) MUST_CHECK;
/* ERR_EXISTS: the table exists, is being deleted, or is being restored. */
enum err mig_tenant_backup_restore(struct mig_service *s, struct ten_tenant *t, struct slice name,
                                   struct slice new_table, char out_operation[MIG_BACKUP_ID + 1],
                                   struct errbuf *eb) MUST_CHECK;
/* Restores by a backup's ID, from one of the whole server or of this tenant, with or without a
 * name; this and the next two are for operators. */
enum err mig_tenant_restore_table(struct mig_service *s, struct ten_tenant *t, struct slice id,
                                  struct slice table, struct slice new_table,
                                  char out_operation[MIG_BACKUP_ID + 1],
                                  struct errbuf *eb) MUST_CHECK;
/* Returns the error that the next function would fail with. */
enum err mig_tenant_restore_check(struct mig_service *s, const struct ten_tenant *t,
                                  struct slice id, struct errbuf *eb) MUST_CHECK;
/* Replaces all of the tenant's present tables with all its tables in the backup. */
enum err mig_tenant_restore_all(struct mig_service *s, struct ten_tenant *t, struct slice id,
                                char out_operation[MIG_BACKUP_ID + 1],
                                struct errbuf *eb) MUST_CHECK;
enum err mig_tenant_backup_set_expiry(struct mig_service *s, struct ten_tenant *t,
                                      struct slice name, int64_t expires_us,
                                      struct errbuf *eb) MUST_CHECK;
/* Removes it from the list at once; the thread removes its files later. ERR_CONFLICT: it is being
 * made, copied, restored or verified. */
enum err mig_tenant_backup_delete(struct mig_service *s, struct ten_tenant *t, struct slice name,
                                  struct errbuf *eb) MUST_CHECK;

/* --- operations ------------------------------------------------------------------------------- */

/* Any thread that may wait for the disk. Includes its progress. */
enum err mig_operation_get(struct mig_service *s, struct slice tenant, struct slice id,
                           struct mig_operation *out, struct errbuf *eb) MUST_CHECK;
/* Any thread that may wait for the disk. Lists newest first; limit: space in out,
 * LIM_OPERATIONS_KEPT is enough. */
size_t mig_operation_list(struct mig_service *s, struct slice tenant, struct mig_operation *out,
                          size_t limit);
/* Totals over all tenants. Any thread. */
struct mig_operation_figures {
    uint64_t counts[MIG_OP_KINDS]
                   [MIG_OP_STATES]; /* of ended operations: since the service was opened */
    uint64_t running_ns;            /* since the running one started; 0: none */
};
void mig_operation_figures(struct mig_service *s, struct mig_operation_figures *out);
/* Makes it end soon if it has not ended: CANCELLED, or DONE if it finished first. */
enum err mig_operation_cancel(struct mig_service *s, struct ten_tenant *t, struct slice id,
                              struct errbuf *eb) MUST_CHECK;
/* Deletes the record of an ended operation; ERR_CONFLICT when it has not ended. */
enum err mig_operation_forget(struct mig_service *s, struct ten_tenant *t, struct slice id,
                              struct errbuf *eb) MUST_CHECK;

#endif

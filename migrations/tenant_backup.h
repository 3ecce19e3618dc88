/*
 * migrations/tenant_backup.h - backups of one tenant: what its owner sees, asks for and gets back.
 *
 * Does:     begin to make, copy and restore backups of a tenant, by name; list, describe, delete
 *           them and change when they expire; follow the operations that do it.
 * Owns:     nothing; the service does (migrations/backup_service.h).
 * May use:  base/, storage/, tenancy/, migrations/.
 * Knows no: HTTP, gRPC, what times and names of whom are allowed beyond what is said here.
 * Threads:  the control thread, inside an action, unless it says any.
 * Blocks:   on the disk, shortly: the work is done by the service's thread, one operation at a
 *           time, of tenants and operators in turn. A pending or running one can be looked up at
 *           any time.
 * Fails by: ERR_NOT_FOUND (backup, table, operation), ERR_EXISTS (name, new table), ERR_INVALID
 *           (names), ERR_CONFLICT (the backup is still being made, or is damaged), ERR_TOO_BIG (too
 *           many backups), ERR_OVERLOADED (too many operations wait), ERR_GONE, ERR_SUSPENDED.
 * Limits:   LIM_BACKUP_NAME, LIM_BACKUPS_OF_TENANT, LIM_OPERATIONS_OF_TENANT, _OF_TENANTS,
 *           _OF_OPERATORS, _KEPT.
 * Promises: 1. Nothing here shows, changes, or by its answers tells of another tenant's backups and
 *              operations.
 *           2. An operation is durable when its ID is given. After a restart it is what it became,
 *              or goes on; a restore of a table that ran then is FAILED with ERR_CANCELLED.
 *           3. A table is seen when all of it was restored, or never; of a tenant's tables, all or
 *              none (migrations/operation_switch.c).
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

/* --- what there is: any thread that may wait
 * ---------------------------------------------------------------- */

/* One with a name, of one table. */
struct mig_tenant_backup {
    struct mig_backup_scope scope;
    char id[MIG_BACKUP_ID + 1];
    bool is_ready;       /* false: its operation waits or runs */
    int64_t started_us;  /* is_ready: it holds what was acknowledged then */
    int64_t finished_us; /* 0: not ready */
    int64_t expires_us;  /* 0: never */
    uint64_t bytes;      /* of its files */
};

/* By name; ERR_NOT_FOUND. */
enum err mig_tenant_backup_get(struct mig_service *s, struct slice tenant, struct slice name,
                               struct mig_tenant_backup *out, struct errbuf *eb) MUST_CHECK;
/* Sorted by name, at most LIM_BACKUPS_OF_TENANT + LIM_OPERATIONS_OF_TENANT; limit: room in out. */
size_t mig_tenant_backup_list(struct mig_service *s, struct slice tenant,
                              struct mig_tenant_backup *out, size_t limit);

/* --- asking ----------------------------------------------------------------------------------- */

struct mig_tenant_backup_wanted {
    struct slice name;  /* may be empty when JSON asks: it is found by its ID then */
    struct slice table; /* empty: all tables; such a backup is not among those by name */
    struct slice note;
    int64_t expires_us; /* 0: never */
    bool by_operator;   /* an operator requests it: it takes a place and a turn of theirs */
};

enum err mig_tenant_backup_create(struct mig_service *s, struct ten_tenant *t,
                                  const struct mig_tenant_backup_wanted *wanted,
                                  char out_operation[MIG_BACKUP_ID + 1],
                                  struct errbuf *eb) MUST_CHECK;
enum err mig_tenant_backup_copy(struct mig_service *s, struct ten_tenant *t, struct slice from_name,
                                struct slice name, int64_t expires_us,
                                char out_operation[MIG_BACKUP_ID + 1],
                                struct errbuf *eb) MUST_CHECK;
/* ERR_EXISTS: the table is there, is being deleted, or is being restored. */
enum err mig_tenant_backup_restore(struct mig_service *s, struct ten_tenant *t, struct slice name,
                                   struct slice new_table, char out_operation[MIG_BACKUP_ID + 1],
                                   struct errbuf *eb) MUST_CHECK;
/* By a backup's ID, of everything or of this tenant, whether it has a name or not; this and the
 * next two are operators'. */
enum err mig_tenant_restore_table(struct mig_service *s, struct ten_tenant *t, struct slice id,
                                  struct slice table, struct slice new_table,
                                  char out_operation[MIG_BACKUP_ID + 1],
                                  struct errbuf *eb) MUST_CHECK;
/* Whether the next function would be refused. */
enum err mig_tenant_restore_check(struct mig_service *s, const struct ten_tenant *t,
                                  struct slice id, struct errbuf *eb) MUST_CHECK;
/* Every table that the backup has of the tenant, in place of every table that it has now. */
enum err mig_tenant_restore_all(struct mig_service *s, struct ten_tenant *t, struct slice id,
                                char out_operation[MIG_BACKUP_ID + 1],
                                struct errbuf *eb) MUST_CHECK;
enum err mig_tenant_backup_set_expiry(struct mig_service *s, struct ten_tenant *t,
                                      struct slice name, int64_t expires_us,
                                      struct errbuf *eb) MUST_CHECK;
/* Off the list at once; its files go when the thread has time. ERR_CONFLICT: it is being made,
 * copied, restored or verified. */
enum err mig_tenant_backup_delete(struct mig_service *s, struct ten_tenant *t, struct slice name,
                                  struct errbuf *eb) MUST_CHECK;

/* --- operations ------------------------------------------------------------------------------- */

/* Any thread that may wait for the disk. With its progress. */
enum err mig_operation_get(struct mig_service *s, struct slice tenant, struct slice id,
                           struct mig_operation *out, struct errbuf *eb) MUST_CHECK;
/* Any thread that may wait for the disk. Newest first; limit: room in out, LIM_OPERATIONS_KEPT is
 * enough. */
size_t mig_operation_list(struct mig_service *s, struct slice tenant, struct mig_operation *out,
                          size_t limit);
/* Of all tenants together. Any thread. */
struct mig_operation_figures {
    uint64_t counts[MIG_OP_KINDS]
                   [MIG_OP_STATES]; /* those that ended: since the service was opened */
    uint64_t running_ns;            /* since the one under way began; 0: none */
};
void mig_operation_figures(struct mig_service *s, struct mig_operation_figures *out);
/* It ends soon, if it has not ended: CANCELLED, or DONE when it was faster. */
enum err mig_operation_cancel(struct mig_service *s, struct ten_tenant *t, struct slice id,
                              struct errbuf *eb) MUST_CHECK;
/* Forget one that ended; ERR_CONFLICT when it has not. */
enum err mig_operation_forget(struct mig_service *s, struct ten_tenant *t, struct slice id,
                              struct errbuf *eb) MUST_CHECK;

#endif

/*
 * migrations/backup_service.h - backups while the server runs: on request, or on schedule.
 *
 * Does:     makes and verifies backups on a thread of its own, one at a time, at low priority for
 *           disk and processors; makes one per period; deletes expired ones; records all of it in
 *           the audit trail.
 * Owns:     its thread.
 * May use:  base/, tenancy/, migrations/.
 * Knows no: HTTP.
 * Threads:  ask, ask_verify and remove on the control thread, inside an action of the audit trail
 *           (or on any thread without one); the others on any.
 * Blocks:   close waits until the work in progress stops; remove blocks on the disk.
 * Fails by: ERR_CONFLICT (other work is in progress), ERR_NOT_FOUND, as backup.h.
 * Limits:   one work at a time; no work is queued.
 * Promises: 1. Work that failed, or that close stopped, adds nothing to the list.
 *           2. A scheduled backup that failed is retried after MIG_RETRY_S. Tests speed up the
 *              service's time by the factor BIGTENT_TEST_BACKUP_HURRY: the schedule, its scans for
 *              backups of offboarded tenants, the delays of operations.
 */
#ifndef MIGRATIONS_BACKUP_SERVICE_H
#define MIGRATIONS_BACKUP_SERVICE_H

#include "migrations/backup.h"
#include "migrations/operation.h"
#include "tenancy/registry.h"

#define MIG_RETRY_S 600

enum mig_work_kind { MIG_WORK_CREATE, MIG_WORK_VERIFY, MIG_WORK_KINDS };
enum mig_work_state { MIG_WORK_NONE, MIG_WORK_RUNNING, MIG_WORK_DONE, MIG_WORK_FAILED };

/* The last work of its kind, or the one in progress. */
struct mig_work {
    enum mig_work_kind kind;
    enum mig_work_state state;
    char id[MIG_BACKUP_ID + 1];
    char note[LIM_BACKUP_NOTE + 1];
    int64_t started_us;
    int64_t finished_us; /* 0: not finished */
    int64_t expires_us;  /* of the backup; 0: never */
    uint64_t done_bytes;
    uint64_t all_bytes; /* 0: unknown */
    enum err result;
    char error[ERRBUF_BYTES];
};

struct mig_service_options {
    struct mig_backups *backups; /* must outlive the service */
    struct ten_registry *registry;
    uint64_t every_s;                              /* 0: only on request */
    uint64_t keep_s;                               /* by default; 0: for ever */
    void (*told)(const struct mig_work *work);     /* called when work ends; may be NULL */
    void (*ended)(const struct mig_operation *op); /* at an operation's end; error untruncated */
    /* Called when a backup is gone from the disk, or could not be made; may be NULL. */
    void (*gone)(struct ten_registry *registry);
};

struct mig_service_figures {
    uint64_t backups;
    uint64_t bytes; /* of the newest backup that can be restored */
    int64_t newest_us;
    uint64_t made; /* since the service was opened */
    uint64_t failed;
    uint64_t verify_failed;
};

struct mig_service;

enum err mig_service_open(const struct mig_service_options *options, struct mig_service **out,
                          struct errbuf *eb) MUST_CHECK;
void mig_service_close(struct mig_service *s);

struct mig_backups *mig_service_backups(struct mig_service *s);
void mig_service_work(struct mig_service *s, enum mig_work_kind kind, struct mig_work *out);
void mig_service_figures(struct mig_service *s, struct mig_service_figures *out);

/* Returns when a backup requested now expires. keep_s: UINT64_MAX: as in the options; 0: never. */
enum err mig_service_expiry(const struct mig_service *s, uint64_t keep_s, int64_t *out_us,
                            struct errbuf *eb) MUST_CHECK;
/* Starts to make a backup. keep_s: UINT64_MAX: as in the options; 0: for ever. */
enum err mig_service_ask(struct mig_service *s, struct slice note, uint64_t keep_s,
                         char out_id[MIG_BACKUP_ID + 1], struct errbuf *eb) MUST_CHECK;
/* ERR_CONFLICT, here and below: it is being made, or that failed. */
enum err mig_service_ask_verify(struct mig_service *s, struct slice id,
                                struct errbuf *eb) MUST_CHECK;
/* Removes a backup from the list at once; the thread removes its files later. */
enum err mig_service_remove(struct mig_service *s, struct slice id, struct errbuf *eb) MUST_CHECK;

#endif

/*
 * migrations/backup_service.h - backups beside a running server: asked for, or by the clock.
 *
 * Does:     make and verify backups on a thread of its own, one at a time, behind everybody else's
 *           use of disk and processors; make one every so often; delete those that expired; record
 *           all of it in the audit trail.
 * Owns:     its thread.
 * May use:  base/, tenancy/, migrations/.
 * Knows no: HTTP.
 * Threads:  ask, ask_verify and remove from the control thread, inside an action of the audit trail
 *           (or from any that is in none); the others from any.
 * Blocks:   close waits for the work under way to stop; remove on the disk.
 * Fails by: ERR_CONFLICT (another one is under way), ERR_NOT_FOUND, as backup.h.
 * Limits:   one work at a time; none waits.
 * Promises: 1. Work that failed, or that was stopped by close, leaves nothing on the list.
 *           2. A scheduled backup that failed is tried again after MIG_RETRY_S. Tests have the
 *              service's time pass so many times faster by BIGTENT_TEST_BACKUP_HURRY: the schedule,
 *              its scans for backups of tenants that left, the delays of operations.
 */
#ifndef MIGRATIONS_BACKUP_SERVICE_H
#define MIGRATIONS_BACKUP_SERVICE_H

#include "migrations/backup.h"
#include "migrations/operation.h"
#include "tenancy/registry.h"

#define MIG_RETRY_S 600

enum mig_work_kind { MIG_WORK_CREATE, MIG_WORK_VERIFY, MIG_WORK_KINDS };
enum mig_work_state { MIG_WORK_NONE, MIG_WORK_RUNNING, MIG_WORK_DONE, MIG_WORK_FAILED };

/* The last of its kind, or the one under way. */
struct mig_work {
    enum mig_work_kind kind;
    enum mig_work_state state;
    char id[MIG_BACKUP_ID + 1];
    char note[LIM_BACKUP_NOTE + 1];
    int64_t started_us;
    int64_t finished_us; /* 0: not yet */
    int64_t expires_us;  /* of the backup; 0: never */
    uint64_t done_bytes;
    uint64_t all_bytes; /* 0: not known yet */
    enum err result;
    char error[ERRBUF_BYTES];
};

struct mig_service_options {
    struct mig_backups *backups; /* outlive the service */
    struct ten_registry *registry;
    uint64_t every_s;                              /* 0: only when asked */
    uint64_t keep_s;                               /* those that nobody gave an end; 0: for ever */
    void (*told)(const struct mig_work *work);     /* its end; NULL: nobody */
    void (*ended)(const struct mig_operation *op); /* of an operation, with all of its error */
    /* Some backup is gone from the disk, or was not made; NULL: nobody. */
    void (*gone)(struct ten_registry *registry);
};

struct mig_service_figures {
    uint64_t backups;
    uint64_t bytes; /* of the newest that can be restored */
    int64_t newest_us;
    uint64_t made; /* since it was opened */
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

/* When a backup that is asked for now expires. keep_s: UINT64_MAX: as options say; 0: never. */
enum err mig_service_expiry(const struct mig_service *s, uint64_t keep_s, int64_t *out_us,
                            struct errbuf *eb) MUST_CHECK;
/* Begin to make one. keep_s: UINT64_MAX: as options say; 0: for ever. */
enum err mig_service_ask(struct mig_service *s, struct slice note, uint64_t keep_s,
                         char out_id[MIG_BACKUP_ID + 1], struct errbuf *eb) MUST_CHECK;
/* ERR_CONFLICT, here and below: it is being made, or that failed. */
enum err mig_service_ask_verify(struct mig_service *s, struct slice id,
                                struct errbuf *eb) MUST_CHECK;
/* Off the list at once; its files go when the thread has time. */
enum err mig_service_remove(struct mig_service *s, struct slice id, struct errbuf *eb) MUST_CHECK;

#endif

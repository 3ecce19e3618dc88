/*
 * migrations/service_internal.h - the service's own structure, for the files that make it.
 *
 * Does:     lay out the service; queue, begin and end operations of tenants.
 * Owns:     see backup_service.h.
 * May use:  base/, tenancy/, migrations/.
 * Knows no: who asks.
 * Threads:  fields say which.
 * Blocks:   as said.
 * Fails by: as said per function.
 * Limits:   LIM_OPERATIONS_WAITING.
 * Promises: none of its own.
 */
#ifndef MIGRATIONS_SERVICE_INTERNAL_H
#define MIGRATIONS_SERVICE_INTERNAL_H

#include <pthread.h>

#include "migrations/backup_internal.h"
#include "migrations/tenant_backup.h"
#include "tenancy/doc_key.h"

/* In the order requested, but for the running one: it is the first when is_running. */
struct mig_queue {
    struct mig_operation *items; /* room for LIM_OPERATIONS_WAITING */
    size_t count;
    uint64_t round;           /* of the operation that started last */
    uint64_t operators_round; /* the first that has no operation of an operator yet */
    bool is_running;
    bool is_cancelled;      /* the one under way is to end */
    uint64_t running_since; /* monotonic, ns */
    uint64_t ended[MIG_OP_KINDS][MIG_OP_STATES];
};

struct mig_service {
    struct mig_backups *backups;
    struct ten_registry *registry;
    uint64_t every_s;
    uint64_t keep_s;
    void (*told)(const struct mig_work *work);
    void (*ended)(const struct mig_operation *op);
    void (*gone)(struct ten_registry *registry);
    pthread_t thread;
    struct mig_backup_watch watch; /* of the work, or the operation, under way */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under lock */
    bool stopping;
    bool sweeping;
    struct mig_work works[MIG_WORK_KINDS];
    struct mig_work *wanted; /* one of them; NULL: none */
    struct mig_queue queue;
    uint64_t made;
    uint64_t failed;
    uint64_t verify_failed;

    /* its thread's */
    uint64_t due_ns;      /* 0: no schedule */
    uint64_t late_ns;     /* from then on the newest is older than the schedule says */
    uint64_t lag_look_ns; /* when the share of backups is seen to again */
    uint64_t look_ns;     /* when backups of tenants that left are looked for */
};

/* --- operations.c, operation_queue.c ------------------------------------------------------------
 */

/* Before the thread runs: what was waiting, or under way, when the server stopped. */
enum err mig_operations_load(struct mig_service *s, struct errbuf *eb) MUST_CHECK;
/* Control thread: store it, keep the tenant's list short, and append it to the queue. */
enum err mig_operation_ask(struct mig_service *s, const struct mig_operation *op,
                           struct errbuf *eb) MUST_CHECK;
/* Service's thread: do the one that is next; false: there is none. */
bool mig_operation_run_next(struct mig_service *s);
/* Control thread. forget: the key of another one that goes; NULL: none does. */
enum err mig_operation_store(struct mig_service *s, const struct mig_operation *op,
                             const struct ten_doc_key *forget, struct errbuf *eb) MUST_CHECK;
/* It ended so; why: what is wrong, in all words. */
void mig_operation_put_end(struct mig_operation *op, enum err rc, const char *why);
/* For figures: it ended in the state it has now. */
void mig_queue_count_end(struct mig_service *s, const struct mig_operation *op);
/* Under the lock. Index, or count. */
size_t mig_queue_find(const struct mig_queue *q, struct slice tenant, struct slice id);
void mig_queue_remove(struct mig_queue *q, size_t at);
/* Under the lock, with room left: behind its tenant's others, or the operators'. */
void mig_queue_append(struct mig_queue *q, const struct mig_operation *op);
/* The one under way has ended. On the control thread, in the message that stores its end: whoever
 * sees that it is done may delete its backup. Once is enough, twice is fine. */
void mig_queue_leave(struct mig_service *s);
/* Service's thread: the next whose time has come is running from now on; false: none is. */
bool mig_queue_take(struct mig_service *s, struct mig_operation *out);
/* Under the lock. */
bool mig_queue_is_ready(const struct mig_service *s);
/* Control thread. The one under way waits again, behind the others, for some seconds. */
void mig_queue_put_off(struct mig_service *s, const struct mig_operation *op);
/* Control thread: from here on nobody cancels the one under way; false: somebody has. */
bool mig_queue_begin_switch(struct mig_service *s);
bool mig_service_is_stopping(struct mig_service *s);
/* The document's change; body is written to. */
enum err mig_operation_change(const struct mig_operation *op, struct ten_doc_key *key,
                              struct buf *body, struct sto_doc_change *out) MUST_CHECK;

/* --- operation_restore.c -----------------------------------------------------------------------
 */

/* Service's thread. op: DONE when it succeeds, as it was stored by the batch that publishes. */
enum err mig_operation_restore(struct mig_service *s, struct ten_tenant *t,
                               struct mig_operation *op, struct errbuf *eb) MUST_CHECK;

/* --- backup_schedule.c -------------------------------------------------------------------------
 */

/* Before the thread runs: the first one is due when the newest is as old as the schedule says. */
void mig_schedule_first(struct mig_service *s);
/* Service's thread: one was made, whoever asked for it. */
void mig_schedule_made(struct mig_service *s);
/* Service's thread: one was asked for, or failed. */
void mig_schedule_next(struct mig_service *s, bool is_good);
/* Service's thread, now and then, also while one is made: the share of backups is as it should. */
void mig_schedule_lag(struct mig_service *s);
/* Service's thread: ask for one that is due. */
void mig_schedule_look(struct mig_service *s);

/* Test tool: how many times faster the service's time passes (BIGTENT_TEST_BACKUP_HURRY), or 1. */
uint64_t mig_service_hurry(void);

/* --- backup_service.c --------------------------------------------------------------------------
 */

/* An ID above all backups there are, whatever the clock does. */
void mig_service_make_id(struct mig_service *s, int64_t now_us, char out[MIG_BACKUP_ID + 1]);
/* A backup that may be restored for the tenant: of everything, or its own. ERR_NOT_FOUND. */
enum err mig_service_usable_for(struct mig_service *s, const struct ten_tenant *t, struct slice id,
                                struct mig_backup_entry *out, struct errbuf *eb) MUST_CHECK;

#endif

/*
 * migrations/service_internal.h - the service's structure, for the files that implement it.
 *
 * Does:     lays out the service; queues, starts and finishes operations of tenants.
 * Owns:     see backup_service.h.
 * May use:  base/, tenancy/, migrations/.
 * Knows no: its callers.
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

/* In the order requested, except the running operation: it is the first when is_running. */
struct mig_queue {
    struct mig_operation *items; /* space for LIM_OPERATIONS_WAITING */
    size_t count;
    uint64_t round;           /* of the operation that started last */
    uint64_t operators_round; /* the first round without an operation of operators */
    bool is_running;
    bool is_cancelled;      /* the running one should stop */
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
    struct mig_backup_watch watch; /* of the work or operation in progress */

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

    /* the service thread's */
    uint64_t due_ns;      /* 0: no schedule */
    uint64_t late_ns;     /* from then on the newest backup is older than the schedule requires */
    uint64_t lag_look_ns; /* next update of the backups' lag */
    uint64_t look_ns;     /* next scan for backups of offboarded tenants */
};

/* --- operations.c, operation_queue.c ------------------------------------------------------------
 */

/* Loads, before the thread starts, the operations that waited or ran when the server stopped. */
enum err mig_operations_load(struct mig_service *s, struct errbuf *eb) MUST_CHECK;
/* Control thread: stores it, removes the tenant's old operations, and appends it to the queue. */
enum err mig_operation_ask(struct mig_service *s, const struct mig_operation *op,
                           struct errbuf *eb) MUST_CHECK;
/* Service's thread: runs the next operation; false: there is none. */
bool mig_operation_run_next(struct mig_service *s);
/* Control thread: stores it. forget: the key of another document to delete; NULL: none. */
enum err mig_operation_store(struct mig_service *s, const struct mig_operation *op,
                             const struct ten_doc_key *forget, struct errbuf *eb) MUST_CHECK;
/* Sets its final state from rc; why: the full error text. */
void mig_operation_put_end(struct mig_operation *op, enum err rc, const char *why);
/* Counts, for figures, that it ended in its present state. */
void mig_queue_count_end(struct mig_service *s, const struct mig_operation *op);
/* Called with the lock held. Returns the index, or count. */
size_t mig_queue_find(const struct mig_queue *q, struct slice tenant, struct slice id);
void mig_queue_remove(struct mig_queue *q, size_t at);
/* Called with the lock held and space left: appends it after its tenant's others, or the
 * operators'. */
void mig_queue_append(struct mig_queue *q, const struct mig_operation *op);
/* Removes the running operation, which has ended. Called on the control thread, in the message that
 * stores its end, because a client that sees it done may delete its backup. A repeated call does
 * nothing. */
void mig_queue_leave(struct mig_service *s);
/* Service's thread: marks the next operation that is due as running; false: none is due. */
bool mig_queue_take(struct mig_service *s, struct mig_operation *out);
/* Called with the lock held. */
bool mig_queue_is_ready(const struct mig_service *s);
/* Control thread: makes the running operation wait again, after the others, for some seconds. */
void mig_queue_put_off(struct mig_service *s, const struct mig_operation *op);
/* Control thread: makes the running operation uncancellable; false: it was cancelled already. */
bool mig_queue_begin_switch(struct mig_service *s);
bool mig_service_is_stopping(struct mig_service *s);
/* Prepares the document's change; writes to body. */
enum err mig_operation_change(const struct mig_operation *op, struct ten_doc_key *key,
                              struct buf *body, struct sto_doc_change *out) MUST_CHECK;

/* --- operation_restore.c -----------------------------------------------------------------------
 */

/* Service's thread. op: DONE when it succeeds, as the publishing batch stored it. */
enum err mig_operation_restore(struct mig_service *s, struct ten_tenant *t,
                               struct mig_operation *op, struct errbuf *eb) MUST_CHECK;

/* --- backup_schedule.c -------------------------------------------------------------------------
 */

/* Before the thread starts: makes the first backup due when the newest is as old as the schedule
 * allows. */
void mig_schedule_first(struct mig_service *s);
/* Service's thread: a backup was made, on request or on schedule. */
void mig_schedule_made(struct mig_service *s);
/* Service's thread: a scheduled backup was requested, or failed. */
void mig_schedule_next(struct mig_service *s, bool is_good);
/* Service's thread, regularly, also during a backup: updates the lag, which decides the backups'
 * share. */
void mig_schedule_lag(struct mig_service *s);
/* Service's thread: requests a backup that is due. */
void mig_schedule_look(struct mig_service *s);

/* Test tool: returns how many times faster the service's time passes (BIGTENT_TEST_BACKUP_HURRY),
 * or 1. */
uint64_t mig_service_hurry(void);

/* --- backup_service.c --------------------------------------------------------------------------
 */

/* Makes an ID above all existing backups, whatever the clock does. */
void mig_service_make_id(struct mig_service *s, int64_t now_us, char out[MIG_BACKUP_ID + 1]);
/* Finds a backup that may be restored for the tenant: of the whole server, or its own.
 * ERR_NOT_FOUND. */
enum err mig_service_usable_for(struct mig_service *s, const struct ten_tenant *t, struct slice id,
                                struct mig_backup_entry *out, struct errbuf *eb) MUST_CHECK;

#endif

/*
 * tenancy/audit_internal.h - declarations that the files of the audit trail share.
 *
 * Does:     keeps a copy of an action until it is recorded; writes records together with changes;
 *           finds a tenant's last record.
 * Owns:     see audit.h.
 * May use:  base/, storage/, tenancy/.
 * Knows no: who calls.
 * Threads:  any that may block, unless it says otherwise.
 * Blocks:   on the disk.
 * Fails by: engine errors, ERR_CORRUPT.
 * Limits:   the sizes of struct ten_note.
 * Promises: 1. Records are numbered in the order of their batches: one lock is held from the
 *              assignment of a number until its record is durable.
 */
#ifndef TENANCY_AUDIT_INTERNAL_H
#define TENANCY_AUDIT_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "tenancy/audit.h"

/* A copy of an action, in which all texts are fit for a record. */
struct ten_note {
    char key[32];
    char kind[16];
    char address[64];
    char action[48];
    char tenant[LIM_TENANT_ID + 1];
    char target[LIM_AUDIT_TEXT + 1];
    char detail[LIM_AUDIT_TEXT + 1];
    char outcome[32];
};

void ten_note_take(struct ten_note *note, const struct ten_action *action);
/* Copies a text, cut to `room` bytes; replaces characters that no record may hold with '?'. */
void ten_note_text(char *to, size_t room, struct slice from);

/* --- queued refusals (audit_refusals.c) ------------------------------------------------------- */

#define TEN_AUDIT_BUCKETS 64

struct ten_refusal;

/* The refusals of the keys that hash to this bucket, in one second. */
struct ten_refusal_bucket {
    uint64_t second;
    unsigned count;
};

struct ten_refusals {
    pthread_mutex_t lock;
    struct base_msg msg; /* queued on the control thread while is_posted */
    bool is_posted;
    struct ten_refusal *first;
    struct ten_refusal **end;
    size_t count;
    uint64_t skipped;
    uint64_t skipped_second; /* when a count of skipped refusals was last recorded */
    struct ten_refusal_bucket buckets[TEN_AUDIT_BUCKETS];
    struct ten_registry *registry;
};

void ten_refusals_init(struct ten_refusals *q, struct ten_registry *r);
void ten_refusals_fini(struct ten_refusals *q);
/* Returns whether another refusal of this key may be recorded now; if not, counts it. */
bool ten_refusals_admit(struct ten_refusals *q, const struct ten_note *note);
/* Control thread: records all waiting refusals, and the number of skipped ones. */
void ten_refusals_flush(struct ten_refusals *q);

/* --- the trail (audit.c) -----------------------------------------------------------------------
 */

struct ten_audit {
    pthread_mutex_t lock; /* serializes batches with records; guards head and time */
    struct base_audit_head head;
    char time[BASE_TIME_TEXT];
    uint64_t expire_ms; /* control thread: since the last scan for old records */
    struct ten_refusals refusals;
};

#define TEN_AUDIT_LOOK_MS 3600000 /* between two scans for old records, if the last found none */

/* Another way to commit documents than sto_docs_commit. */
typedef enum err ten_docs_write(void *ctx, const struct sto_doc_change *changes, size_t count,
                                struct errbuf *eb);

/* Does what ten_tenant_commit does, but writes with `write`. */
enum err ten_tenant_commit_by(struct ten_registry *r, struct ten_tenant *t, enum ten_state state,
                              const struct ten_details *wanted, ten_docs_write *write, void *ctx,
                              struct errbuf *eb) MUST_CHECK;
enum err ten_docs_commit_by(struct ten_registry *r, const struct sto_doc_change *changes,
                            size_t count, ten_docs_write *write, void *ctx,
                            struct errbuf *eb) MUST_CHECK;
/* Writes records of these notes, in one batch. */
enum err ten_audit_write(struct ten_registry *r, const struct ten_note *notes, size_t count,
                         struct errbuf *eb) MUST_CHECK;

/* Returns whether subjects of records about the tenant are stored separately. False once its purge,
 * which deletes them, has started. Any joined thread. */
bool ten_audit_keeps_subjects(struct ten_registry *r, struct slice tenant);

/* Blocking, before the workers start. */
enum err ten_audit_open(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
/* Accepts a trail that was never opened. */
void ten_audit_close(struct ten_registry *r);

/* --- reading (audit_read.c) --------------------------------------------------------------------
 */

/* Returns the trail's last record; zero when there is none. */
enum err ten_audit_last(struct ten_registry *r, struct base_audit_head *out,
                        char out_time[BASE_TIME_TEXT], struct errbuf *eb) MUST_CHECK;

#endif

/*
 * tenancy/audit_internal.h - what the files of the audit trail share.
 *
 * Does:     keep a copy of an action until it is recorded; write records beside changes; find a
 *           tenant's last record.
 * Owns:     see audit.h.
 * May use:  base/, storage/, tenancy/.
 * Knows no: who calls.
 * Threads:  any that may block, unless it says otherwise.
 * Blocks:   on the disk.
 * Fails by: engine errors, ERR_CORRUPT.
 * Limits:   the sizes of struct ten_note.
 * Promises: 1. Records are numbered in the order of their batches: one lock is held from taking a
 *              number until it is durable.
 */
#ifndef TENANCY_AUDIT_INTERNAL_H
#define TENANCY_AUDIT_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "tenancy/audit.h"

/* An action, copied; all texts are fit for a record. */
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
/* Cut to what fits; what no record may hold becomes '?'. */
void ten_note_text(char *to, size_t room, struct slice from);

/* --- refusals on their way (audit_refusals.c) --------------------------------------------------
 */

#define TEN_AUDIT_BUCKETS 64

struct ten_refusal;

/* Of a second and of the keys that fall into it. */
struct ten_refusal_bucket {
    uint64_t second;
    unsigned count;
};

struct ten_refusals {
    pthread_mutex_t lock;
    struct base_msg msg; /* on its way to the control thread while is_posted */
    bool is_posted;
    struct ten_refusal *first;
    struct ten_refusal **end;
    size_t count;
    uint64_t skipped;
    uint64_t skipped_second; /* when a count of them was recorded last */
    struct ten_refusal_bucket buckets[TEN_AUDIT_BUCKETS];
    struct ten_registry *registry;
};

void ten_refusals_init(struct ten_refusals *q, struct ten_registry *r);
void ten_refusals_fini(struct ten_refusals *q);
/* Whether one more of this key's may be recorded now; else it was counted. */
bool ten_refusals_admit(struct ten_refusals *q, const struct ten_note *note);
/* Control thread: record all that wait, and how many were left out. */
void ten_refusals_flush(struct ten_refusals *q);

/* --- the trail (audit.c) -----------------------------------------------------------------------
 */

struct ten_audit {
    pthread_mutex_t lock; /* one batch with records at a time; head and time */
    struct base_audit_head head;
    char time[BASE_TIME_TEXT];
    uint64_t expire_ms; /* control thread: since old records were looked for */
    struct ten_refusals refusals;
};

#define TEN_AUDIT_LOOK_MS 3600000 /* between two looks for old records, when nothing was due */

/* Another way to commit documents than sto_docs_commit. */
typedef enum err ten_docs_write(void *ctx, const struct sto_doc_change *changes, size_t count,
                                struct errbuf *eb);

/* Write the changes, with the record of the thread's action if it is not written yet. */
/* ten_tenant_commit with another way of writing. */
enum err ten_tenant_commit_by(struct ten_registry *r, struct ten_tenant *t, enum ten_state state,
                              const struct ten_details *wanted, ten_docs_write *write, void *ctx,
                              struct errbuf *eb) MUST_CHECK;
enum err ten_docs_commit_by(struct ten_registry *r, const struct sto_doc_change *changes,
                            size_t count, ten_docs_write *write, void *ctx,
                            struct errbuf *eb) MUST_CHECK;
/* Records of these notes, in one batch. */
enum err ten_audit_write(struct ten_registry *r, const struct ten_note *notes, size_t count,
                         struct errbuf *eb) MUST_CHECK;

/* Whether what records about the tenant name is kept apart: not once its purge has begun, which
 * deletes it. Any joined thread. */
bool ten_audit_keeps_subjects(struct ten_registry *r, struct slice tenant);

/* Blocking, before the workers run. */
enum err ten_audit_open(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
/* Fine when it was never opened. */
void ten_audit_close(struct ten_registry *r);

/* --- reading (audit_read.c) --------------------------------------------------------------------
 */

/* The last record, of all; zero when there is none. */
enum err ten_audit_last(struct ten_registry *r, struct base_audit_head *out,
                        char out_time[BASE_TIME_TEXT], struct errbuf *eb) MUST_CHECK;

#endif

/*
 * tenancy/audit_refusals.c - queues refusals decided on a loop for the trail, and bounds how many
 *                            of any thread are recorded.
 *
 * Refusals of loops are recorded in one batch for all that wait, so that a stream of them costs few
 * fsyncs. Refusals of any thread are recorded only up to a number per second and key, so that no
 * client fills the disk with forbidden requests. The count of the skipped ones is recorded at most
 * once a second, and at the end.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hashmap.h"
#include "tenancy/audit_internal.h"
#include "tenancy/internal.h"

#include "base/banned.h"

#define NS_PER_S  1000000000ULL
#define BATCH_MAX 64

struct ten_refusal {
    struct ten_refusal *next;
    struct ten_note note;
};

/* --- queueing --------------------------------------------------------------------------------- */

static bool bucket_take(struct ten_refusals *q, const struct ten_note *note, uint64_t second)
{
    uint64_t hash = base_hash(base_slice_text(note->key));
    struct ten_refusal_bucket *b = &q->buckets[hash % TEN_AUDIT_BUCKETS];
    if (b->second != second)
        *b = (struct ten_refusal_bucket){.second = second};
    if (b->count == TEN_AUDIT_REFUSED_PER_S)
        return false;
    b->count++;
    return true;
}

/* Called with the lock held. Returns true when the control thread must be woken to record the
 * count. */
static bool skip(struct ten_refusals *q, uint64_t second)
{
    q->skipped++;
    bool must_post = !q->is_posted && second != q->skipped_second;
    q->is_posted = q->is_posted || must_post;
    return must_post;
}

/* Called with the lock held. Returns true when the control thread must be woken. Takes a refusal
 * that it keeps. */
static bool put(struct ten_refusals *q, struct ten_refusal **refusal)
{
    uint64_t second = base_monotonic_ns() / NS_PER_S;
    bool is_kept = q->count < LIM_AUDIT_WAITING && bucket_take(q, &(*refusal)->note, second);
    if (!is_kept)
        return skip(q, second);
    *q->end = *refusal;
    q->end = &(*refusal)->next;
    q->count++;
    *refusal = NULL;
    bool must_post = !q->is_posted;
    q->is_posted = true;
    return must_post;
}

bool ten_refusals_admit(struct ten_refusals *q, const struct ten_note *note)
{
    uint64_t second = base_monotonic_ns() / NS_PER_S;
    pthread_mutex_lock(&q->lock);
    bool is_admitted = bucket_take(q, note, second);
    bool must_post = !is_admitted && skip(q, second);
    pthread_mutex_unlock(&q->lock);
    if (must_post)
        ten_control_post(q->registry, &q->msg);
    return is_admitted;
}

void ten_audit_refused(struct ten_registry *r, const struct ten_action *action, const char *outcome)
{
    struct ten_refusals *q = &r->audit->refusals;
    struct ten_refusal *refusal = base_new(sizeof *refusal);
    ten_note_take(&refusal->note, action);
    ten_note_text(refusal->note.outcome, sizeof refusal->note.outcome, base_slice_text(outcome));
    pthread_mutex_lock(&q->lock);
    bool must_post = put(q, &refusal);
    pthread_mutex_unlock(&q->lock);
    base_free(refusal);
    if (must_post)
        ten_control_post(r, &q->msg);
}

/* --- recording -------------------------------------------------------------------------------- */

static struct ten_refusal *take_all(struct ten_refusals *q, uint64_t *out_skipped)
{
    pthread_mutex_lock(&q->lock);
    struct ten_refusal *first = q->first;
    q->first = NULL;
    q->end = &q->first;
    q->count = 0;
    q->is_posted = false;
    *out_skipped = q->skipped;
    q->skipped = 0;
    if (*out_skipped > 0)
        q->skipped_second = base_monotonic_ns() / NS_PER_S;
    pthread_mutex_unlock(&q->lock);
    return first;
}

/* Counts notes that cannot be written as skipped: the next batch records the count, if the engine
 * still works. */
static void write_notes(struct ten_refusals *q, const struct ten_note *notes, size_t count)
{
    if (count == 0 || ten_audit_write(q->registry, notes, count, NULL) == ERR_OK)
        return;
    pthread_mutex_lock(&q->lock);
    q->skipped += count;
    pthread_mutex_unlock(&q->lock);
}

static void note_skipped(struct ten_refusals *q, uint64_t skipped)
{
    struct ten_action action = {.actor = TEN_ACTOR_SERVER, .name = "audit.skip"};
    struct ten_note note;
    char detail[48];
    if (skipped == 0)
        return;
    (void)snprintf(detail, sizeof detail, "refusals=%llu", (unsigned long long)skipped);
    action.detail = detail;
    ten_note_take(&note, &action);
    write_notes(q, &note, 1);
}

void ten_refusals_flush(struct ten_refusals *q)
{
    uint64_t skipped = 0;
    struct ten_refusal *next = take_all(q, &skipped);
    struct ten_note *notes = base_new_array(BATCH_MAX, sizeof notes[0]);
    size_t count = 0;
    while (next != NULL) {
        struct ten_refusal *refusal = next;
        next = refusal->next;
        notes[count++] = refusal->note;
        base_free(refusal);
        if (count == BATCH_MAX || next == NULL) {
            write_notes(q, notes, count);
            count = 0;
        }
    }
    base_free(notes);
    note_skipped(q, skipped);
}

static void run_flush(struct base_msg *msg)
{
    struct ten_refusals *q =
        (struct ten_refusals *)((char *)msg - offsetof(struct ten_refusals, msg));
    ten_refusals_flush(q);
}

/* --- life ------------------------------------------------------------------------------------- */

void ten_refusals_init(struct ten_refusals *q, struct ten_registry *r)
{
    int error = pthread_mutex_init(&q->lock, NULL);
    INVARIANT(error == 0);
    q->registry = r;
    q->end = &q->first;
    q->msg.run = run_flush;
}

void ten_refusals_fini(struct ten_refusals *q)
{
    while (q->first != NULL) {
        struct ten_refusal *refusal = q->first;
        q->first = refusal->next;
        base_free(refusal);
    }
    (void)pthread_mutex_destroy(&q->lock); /* no thread holds it any more */
}

/*
 * tenancy/offboard.c - an offboarding is requested, undone, or its purge started.
 *
 * Each change is one batch of tenant and job:
 *
 *   requested, with grace   DELETE_REQUESTED, job WAITING; tables stay, behind the closed gate
 *   requested, without      PURGING, job RUNNING
 *   undelete                the previous state, job CANCELLED
 *   the grace is over       PURGING, job RUNNING (grace.c says when)
 *   requested in PURGING    nothing changes: success if the purge does all that is requested,
 *   or when PURGED          with the same job in both
 *
 * In PURGING the table list is empty and the purge is posted to the job worker (purge.c), unless a
 * table removal of the tenant is still running: then that removal posts it when it finishes.
 *
 * 1. A tenant in DELETE_REQUESTED or PURGING has a job, and its details name that job.
 * 2. Job IDs sort in the order of their start, whatever the wall clock does.
 */
#include "tenancy/offboard.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "tenancy/doc_key.h"
#include "tenancy/hold.h"
#include "tenancy/internal.h"
#include "tenancy/job_doc.h"
#include "tenancy/lifecycle.h"

#include "base/banned.h"

#define US_PER_S 1000000ULL

/* --- a tenant and its job, in one batch ------------------------------------------------------- */

static enum err departure_commit(struct ten_registry *r, struct ten_tenant *t, enum ten_state state,
                                 const struct ten_details *wanted, const struct ten_job *job,
                                 uint64_t expect, struct errbuf *eb)
{
    struct buf body;
    base_buf_init(&body, TEN_JOB_DOC_MAX);
    enum err rc = ten_job_encode(job, &body);
    if (rc != ERR_OK) {
        base_buf_fini(&body);
        return base_fail(eb, rc, "the job's document cannot be written: %s", base_err_name(rc));
    }
    struct ten_doc_key key = ten_doc_key_job(base_slice_text(job->id));
    struct sto_doc_change change = {
        .key = ten_doc_key_slice(&key),
        .body = base_buf_slice(&body),
        .expect = expect,
    };
    rc = ten_tenant_commit(r, t, state, wanted, &change, 1, eb);
    base_buf_fini(&body);
    return rc;
}

/* Reads the job of a tenant that is being offboarded. */
static enum err job_of(struct ten_registry *r, const struct ten_tenant *t, uint64_t *out_version,
                       struct ten_job *out, struct errbuf *eb)
{
    return ten_job_read(r, base_slice_text(ten_tenant_details(t)->job), out_version, out, eb);
}

/* --- starting the purge ----------------------------------------------------------------------- */

/* Irreversible from here. expect: the version of the job's document. */
static enum err purge_begin(struct ten_registry *r, struct ten_tenant *t, struct ten_job *job,
                            uint64_t expect, struct errbuf *eb)
{
    job->state = TEN_JOB_RUNNING;
    struct ten_details wanted = *ten_tenant_details(t);
    wanted.state_since_us = base_wall_us();
    wanted.delete_at_us = 0;
    wanted.was_suspended = false;
    wanted.job = job->id;
    enum err rc = departure_commit(r, t, TEN_PURGING, &wanted, job, expect, eb);
    if (rc != ERR_OK)
        return rc;
    ten_grace_remove(r, t);
    ten_tables_publish(r, t, ten_tables_new(0));
    ten_removal_discard(r, t);
    if (!ten_removal_is_running(r, t))
        ten_purge_post(r, t);
    return ERR_OK;
}

enum err ten_offboard_grace_is_over(struct ten_registry *r, struct ten_tenant *t, struct errbuf *eb)
{
    INVARIANT(ten_tenant_state(t) == TEN_DELETE_REQUESTED && ten_tenant_details(t)->hold == NULL);
    struct ten_job job;
    uint64_t version;
    const struct ten_action action = {.actor = TEN_ACTOR_SERVER,
                                      .name = "purge.start",
                                      .tenant = ten_tenant_id(t),
                                      .target = base_slice_text(ten_tenant_details(t)->job),
                                      .detail = "the grace period is over"};
    ten_audit_begin(r, &action);
    enum err rc = job_of(r, t, &version, &job, eb);
    if (rc == ERR_OK)
        rc = purge_begin(r, t, &job, version, eb);
    return ten_audit_end(r, rc, eb);
}

/* --- starting --------------------------------------------------------------------------------- */

/* Handles a request that is repeated after the purge has started: succeeds with the job of the
 * purge if that does all that is requested, so the response is the same before and after the purge
 * is done. For a tenant that a restore found in the ledger only the job's ID is known. */
static enum err purge_ask_again(struct ten_registry *r, struct ten_tenant *t,
                                const struct ten_offboard_wanted *w, char out_job[TEN_JOB_ID + 1],
                                struct errbuf *eb)
{
    const char *id = ten_tenant_details(t)->job;
    bool is_done = ten_tenant_state(t) != TEN_PURGING;
    const char *state = ten_state_name(ten_tenant_state(t));
    struct ten_job job = {.state = TEN_JOB_DONE};
    uint64_t version;
    enum err rc = job_of(r, t, &version, &job, eb);
    if (rc != ERR_OK && !(is_done && rc == ERR_NOT_FOUND))
        return rc;
    bool had_grace =
        w->grace_us == 0 || job.requested_us + (int64_t)w->grace_us <= job.delete_at_us;
    if (!had_grace)
        return base_fail(eb, ERR_CONFLICT,
                         "the tenant is %s, without the grace period of %llu s that is requested; "
                         "its job is %s",
                         state, (unsigned long long)w->grace_us / US_PER_S, id);
    if (w->deep && !job.deep)
        return base_fail(
            eb, ERR_CONFLICT,
            "the tenant is %s, and its purge began without a deep search, which cannot "
            "be requested any more; its job is %s",
            state, id);
    ten_audit_set_target(base_slice_text(id));
    if (is_done)
        ten_audit_set_unchanged();
    else if (job.state == TEN_JOB_FAILED && !ten_removal_is_running(r, t))
        ten_purge_post(r, t); /* a repeated request is a retry */
    memcpy(out_job, id, strnlen(id, TEN_JOB_ID) + 1);
    return ERR_OK;
}

/* text has space for it and the NUL. */
static void text_take(char *text, struct slice from)
{
    if (from.len > 0)
        memcpy(text, from.ptr, from.len);
    text[from.len] = '\0';
}

static void job_init(struct ten_registry *r, const struct ten_tenant *t,
                     const struct ten_offboard_wanted *w, struct ten_job *out)
{
    *out = (struct ten_job){.state = TEN_JOB_WAITING, .requested_us = base_wall_us()};
    uint64_t now_ms = (uint64_t)out->requested_us / 1000;
    r->last_job_ms = now_ms > r->last_job_ms ? now_ms : r->last_job_ms + 1;
    ten_job_id_make(r->last_job_ms, out->id);
    out->delete_at_us = out->requested_us + (int64_t)w->grace_us;
    memcpy(out->tenant, t->id, t->id_len);
    text_take(out->requested_by, w->requested_by);
    text_take(out->reason, w->reason);
    out->deep = w->deep;
    out->usage_before = sto_counters_read(&t->account.total); /* exact after the fence */
}

static void set_record(const struct ten_job *job, const struct ten_offboard_wanted *w)
{
    ten_audit_set_target(base_slice_text(job->id));
    ten_audit_set_detail("grace_s=%llu", (unsigned long long)w->grace_us / US_PER_S);
}

/* Sets the tenant to DELETE_REQUESTED; the job waits. */
static enum err grace_begin(struct ten_registry *r, struct ten_tenant *t, const struct ten_job *job,
                            uint64_t expect, struct errbuf *eb)
{
    struct ten_details wanted = *ten_tenant_details(t);
    if (ten_tenant_state(t) != TEN_DELETE_REQUESTED) {
        wanted.state_since_us = job->requested_us;
        wanted.was_suspended = ten_tenant_state(t) == TEN_SUSPENDED;
    }
    wanted.delete_at_us = job->delete_at_us;
    wanted.job = job->id;
    enum err rc = departure_commit(r, t, TEN_DELETE_REQUESTED, &wanted, job, expect, eb);
    if (rc != ERR_OK)
        return rc;
    ten_grace_remove(r, t);
    if (wanted.hold == NULL)
        ten_grace_add(r, t);
    return ERR_OK;
}

/* Handles a repeated request in the grace period: it may shorten it. */
static enum err ask_again(struct ten_registry *r, struct ten_tenant *t,
                          const struct ten_offboard_wanted *w, char out_job[TEN_JOB_ID + 1],
                          struct errbuf *eb)
{
    struct ten_job job;
    uint64_t version;
    enum err rc = job_of(r, t, &version, &job, eb);
    if (rc != ERR_OK)
        return rc;
    set_record(&job, w);
    int64_t wanted_us = base_wall_us() + (int64_t)w->grace_us;
    bool is_deeper = w->deep && !job.deep;
    job.deep = job.deep || w->deep;
    if (w->grace_us == 0 || wanted_us < job.delete_at_us || is_deeper) {
        job.delete_at_us = wanted_us < job.delete_at_us ? wanted_us : job.delete_at_us;
        if (w->reason.len > 0)
            text_take(job.reason, w->reason);
        rc = w->grace_us == 0 ? purge_begin(r, t, &job, version, eb)
                              : grace_begin(r, t, &job, version, eb);
    }
    if (rc == ERR_OK)
        memcpy(out_job, job.id, sizeof job.id);
    return rc;
}

static enum err wanted_check(const struct ten_tenant *t, const struct ten_offboard_wanted *w,
                             struct errbuf *eb)
{
    enum err rc = base_text_check(w->requested_by, sizeof((struct ten_job *)0)->requested_by - 1,
                                  "the requester", eb);
    if (rc == ERR_OK)
        rc = base_text_check(w->reason, LIM_REASON, "the reason", eb);
    if (rc == ERR_OK && w->grace_us > LIM_GRACE_US)
        rc = base_fail(eb, ERR_INVALID, "the grace period is %llu s; it may be 0 to %llu s",
                       (unsigned long long)w->grace_us / US_PER_S, LIM_GRACE_US / US_PER_S);
    enum ten_state state = ten_tenant_state(t);
    if (rc != ERR_OK || ten_state_is_final(state))
        return rc;
    rc = ten_transition_check(state, w->grace_us > 0 ? TEN_DELETE_REQUESTED : TEN_PURGING, eb);
    return rc == ERR_OK && w->grace_us == 0 ? ten_hold_check(t, eb) : rc;
}

enum err ten_offboard_start(struct ten_registry *r, struct ten_tenant *t,
                            const struct ten_offboard_wanted *w, char out_job[TEN_JOB_ID + 1],
                            struct errbuf *eb)
{
    ten_control_check(r);
    struct ten_job job;
    enum err rc = wanted_check(t, w, eb);
    if (rc != ERR_OK)
        return rc;
    if (ten_state_is_final(ten_tenant_state(t)))
        return purge_ask_again(r, t, w, out_job, eb);
    if (ten_tenant_state(t) == TEN_DELETE_REQUESTED)
        return ask_again(r, t, w, out_job, eb);
    job_init(r, t, w, &job);
    set_record(&job, w);
    rc = w->grace_us == 0 ? purge_begin(r, t, &job, STO_DOC_ABSENT, eb)
                          : grace_begin(r, t, &job, STO_DOC_ABSENT, eb);
    if (rc == ERR_OK)
        memcpy(out_job, job.id, sizeof job.id);
    return rc;
}

/* --- undelete --------------------------------------------------------------------------------- */

enum err ten_offboard_undelete(struct ten_registry *r, struct ten_tenant *t, struct errbuf *eb)
{
    ten_control_check(r);
    enum ten_state state = ten_tenant_state(t);
    if (ten_state_is_final(state))
        return base_fail(eb, ERR_CONFLICT, "the tenant is %s; it is too late to undelete it",
                         ten_state_name(state));
    if (state != TEN_DELETE_REQUESTED)
        return ERR_OK;
    struct ten_job job;
    uint64_t version;
    enum err rc = job_of(r, t, &version, &job, eb);
    if (rc != ERR_OK)
        return rc;
    ten_audit_set_target(base_slice_text(job.id));
    job.state = TEN_JOB_CANCELLED;
    job.finished_us = base_wall_us();
    struct ten_details wanted = *ten_tenant_details(t);
    state = wanted.was_suspended ? TEN_SUSPENDED : TEN_ACTIVE;
    wanted.was_suspended = false;
    wanted.delete_at_us = 0;
    wanted.job = "";
    wanted.state_since_us = job.finished_us;
    rc = departure_commit(r, t, state, &wanted, &job, version, eb);
    if (rc == ERR_OK)
        ten_grace_remove(r, t);
    return rc;
}

/* --- resuming after a restart ----------------------------------------------------------------- */

static enum err visit_job_key(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct ten_registry *r = ctx;
    uint64_t wall_ms;
    (void)version; /* only the key counts */
    (void)body;
    if (ten_job_id_parse(base_slice_skip(key, 2), &wall_ms) != ERR_OK)
        return ERR_CORRUPT;
    if (wall_ms > r->last_job_ms)
        r->last_job_ms = wall_ms;
    return ERR_OK;
}

/* Checks that the tenant's job exists, in a state that fits. */
static enum err job_check(struct ten_registry *r, const struct ten_tenant *t, struct errbuf *eb)
{
    struct ten_job job;
    uint64_t version;
    enum err rc = job_of(r, t, &version, &job, eb);
    if (rc == ERR_NOT_FOUND)
        return base_fail(eb, ERR_CORRUPT, "a tenant that is being deleted has no job");
    if (rc != ERR_OK)
        return rc;
    bool is_waiting = job.state == TEN_JOB_WAITING;
    if (is_waiting != (ten_tenant_state(t) == TEN_DELETE_REQUESTED))
        return base_fail(eb, ERR_CORRUPT, "a tenant's state and its job's contradict each other");
    return ERR_OK;
}

enum err ten_offboard_load(struct ten_registry *r, struct errbuf *eb)
{
    enum err rc = sto_docs_scan(r->engine, sto_doc_prefix(STO_DOC_JOB), visit_job_key, r, eb);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "the jobs' documents cannot be read: %s", base_err_name(rc));
    for (size_t i = 0; rc == ERR_OK && i < r->tenant_count; i++) {
        enum ten_state state = ten_tenant_state(r->sorted[i]);
        if (state == TEN_PURGING || state == TEN_DELETE_REQUESTED)
            rc = job_check(r, r->sorted[i], eb);
    }
    if (rc == ERR_OK)
        ten_grace_load(r);
    return rc;
}

static int compare_jobs(const void *a, const void *b)
{
    const struct ten_tenant *const *left = a;
    const struct ten_tenant *const *right = b;
    return strcmp(ten_tenant_details(*left)->job, ten_tenant_details(*right)->job);
}

void ten_offboard_resume_all(struct ten_registry *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->tenant_count; i++)
        count += ten_tenant_state(r->sorted[i]) == TEN_PURGING;
    if (count == 0)
        return;
    struct ten_tenant **purging = base_new_array(count, sizeof purging[0]);
    size_t at = 0;
    for (size_t i = 0; i < r->tenant_count; i++)
        if (ten_tenant_state(r->sorted[i]) == TEN_PURGING)
            purging[at++] = r->sorted[i];
    qsort(purging, count, sizeof purging[0], compare_jobs);
    for (size_t i = 0; i < count; i++)
        ten_purge_post(r, purging[i]);
    base_free(purging);
}

/*
 * tenancy/offboard.c - starting to offboard a tenant, and looking at the jobs.
 *
 * The start is one batch: tenant PURGING with the job's ID, job RUNNING. After it the gate says
 * GONE, the table list is empty, and the job worker is told (purge.c), unless a table removal of
 * the tenant is still running: then that removal tells it when it settles.
 *
 * 1. A tenant in PURGING has a job, and it is the one its details name.
 * 2. Job IDs sort in the order of their start, whatever the wall clock does.
 */
#include "tenancy/offboard.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"
#include "tenancy/job_doc.h"
#include "tenancy/lifecycle.h"

#include "base/banned.h"

/* --- reading jobs ----------------------------------------------------------------------------- */

enum err ten_job_read(struct ten_registry *r, struct slice id, uint64_t *out_version,
                      struct ten_job *out, struct errbuf *eb)
{
    uint64_t wall_ms;
    if (ten_job_id_parse(id, &wall_ms) != ERR_OK)
        return base_fail(eb, ERR_NOT_FOUND, "there is no such job");
    struct ten_doc_key key = ten_doc_key_job(id);
    struct buf body;
    base_buf_init(&body, TEN_JOB_DOC_MAX);
    enum err rc = sto_doc_get(r->engine, ten_doc_key_slice(&key), out_version, &body, eb);
    if (rc == ERR_NOT_FOUND)
        rc = base_fail(eb, ERR_NOT_FOUND, "there is no such job");
    else if (rc == ERR_OK && ten_job_decode(id, base_buf_slice(&body), out) != ERR_OK)
        rc = base_fail(eb, ERR_CORRUPT, "the job's document is damaged");
    base_buf_fini(&body);
    return rc;
}

enum err ten_job_get(struct ten_registry *r, struct slice id, struct ten_job *out,
                     struct errbuf *eb)
{
    ten_control_check(r);
    uint64_t version;
    return ten_job_read(r, id, &version, out, eb);
}

/* The last `limit` jobs of an ascending scan, in a ring. */
struct job_scan {
    struct ten_job *out;
    size_t limit;
    size_t seen;
};

static enum err visit_job(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct job_scan *s = ctx;
    (void)version; /* only read */
    return ten_job_decode(base_slice_skip(key, 2), body, &s->out[s->seen++ % s->limit]);
}

static void reverse(struct ten_job *jobs, size_t from, size_t to)
{
    while (from + 1 < to) {
        struct ten_job swap = jobs[from];
        jobs[from++] = jobs[--to];
        jobs[to] = swap;
    }
}

enum err ten_job_list(struct ten_registry *r, struct ten_job *out, size_t limit, size_t *out_count,
                      struct errbuf *eb)
{
    ten_control_check(r);
    struct job_scan s = {.out = out, .limit = limit};
    enum err rc =
        limit == 0 ? ERR_OK : sto_docs_scan(r->engine, SLICE_LIT("j/"), visit_job, &s, eb);
    if (rc != ERR_OK)
        return rc;
    size_t count = s.seen < limit ? s.seen : limit;
    /* The ring's oldest is at split; two parts reversed each make it newest first. */
    size_t split = s.seen > limit ? s.seen % limit : 0;
    reverse(out, 0, split);
    reverse(out, split, count);
    *out_count = count;
    return ERR_OK;
}

/* --- starting --------------------------------------------------------------------------------- */

static enum err already_purging(struct ten_registry *r, struct ten_tenant *t,
                                char out_job[TEN_JOB_ID + 1], struct errbuf *eb)
{
    const char *id = ten_tenant_details(t)->job;
    struct ten_job job;
    uint64_t version;
    enum err rc = ten_job_read(r, base_slice_text(id), &version, &job, eb);
    if (rc != ERR_OK)
        return rc;
    if (job.state == TEN_JOB_FAILED && !ten_removal_is_running(r, t))
        ten_purge_post(r, t); /* asking again is trying again */
    memcpy(out_job, job.id, sizeof job.id);
    return ERR_OK;
}

static void job_init(struct ten_registry *r, const struct ten_tenant *t, struct slice requested_by,
                     struct ten_job *out)
{
    *out = (struct ten_job){.state = TEN_JOB_RUNNING, .requested_us = base_wall_us()};
    uint64_t now_ms = (uint64_t)out->requested_us / 1000;
    r->last_job_ms = now_ms > r->last_job_ms ? now_ms : r->last_job_ms + 1;
    ten_job_id_make(r->last_job_ms, out->id);
    memcpy(out->tenant, t->id, t->id_len);
    if (requested_by.len > 0)
        memcpy(out->requested_by, requested_by.ptr, requested_by.len);
    out->usage_before = sto_counters_read(&t->account.total); /* exact after the fence */
}

static enum err start_commit(struct ten_registry *r, struct ten_tenant *t,
                             const struct ten_job *job, struct errbuf *eb)
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
        .expect = STO_DOC_ABSENT,
    };
    struct ten_details wanted = *ten_tenant_details(t);
    wanted.state_since_us = job->requested_us;
    wanted.job = job->id;
    rc = ten_tenant_commit(r, t, TEN_PURGING, &wanted, &change, 1, eb);
    base_buf_fini(&body);
    return rc;
}

enum err ten_offboard_start(struct ten_registry *r, struct ten_tenant *t, struct slice requested_by,
                            char out_job[TEN_JOB_ID + 1], struct errbuf *eb)
{
    ten_control_check(r);
    struct ten_job job;
    enum err rc = base_text_check(requested_by, sizeof job.requested_by - 1, "the requester", eb);
    if (rc == ERR_OK)
        rc = ten_transition_check(ten_tenant_state(t), TEN_PURGING, eb);
    if (rc != ERR_OK)
        return rc;
    if (ten_tenant_state(t) == TEN_PURGING)
        return already_purging(r, t, out_job, eb);
    job_init(r, t, requested_by, &job);
    ten_audit_set_target(base_slice_text(job.id));
    rc = start_commit(r, t, &job, eb);
    if (rc != ERR_OK)
        return rc;
    memcpy(out_job, job.id, sizeof job.id);
    ten_tables_publish(r, t, ten_tables_new(0));
    ten_removal_discard(r, t);
    if (!ten_removal_is_running(r, t))
        ten_purge_post(r, t);
    return ERR_OK;
}

/* --- going on after a restart ----------------------------------------------------------------- */

enum err ten_offboard_load(struct ten_registry *r, struct errbuf *eb)
{
    for (size_t i = 0; i < r->tenant_count; i++) {
        struct ten_tenant *t = r->sorted[i];
        struct slice id = base_slice_text(ten_tenant_details(t)->job);
        uint64_t wall_ms = 0;
        if (id.len > 0 && ten_job_id_parse(id, &wall_ms) != ERR_OK)
            return base_fail(eb, ERR_CORRUPT, "a tenant names a job that cannot exist");
        if (wall_ms > r->last_job_ms)
            r->last_job_ms = wall_ms;
        if (ten_tenant_state(t) != TEN_PURGING)
            continue;
        struct ten_job job;
        uint64_t version;
        enum err rc = ten_job_read(r, id, &version, &job, eb);
        if (rc == ERR_NOT_FOUND)
            return base_fail(eb, ERR_CORRUPT, "a tenant that is being purged has no job");
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
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

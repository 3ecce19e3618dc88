/*
 * gateway/api/admin_jobs.c - offboarding jobs: their progress, and the findings of the audit.
 */
#include "base/alloc.h"
#include "gateway/api/describe.h"
#include "gateway/api/handlers.h"
#include "gateway/api/portions.h"
#include "tenancy/certificate_store.h"
#include "tenancy/offboard.h"

#include "base/banned.h"

#define JOBS_SHOWN_MAX LIM_PAGE_ROWS_DEFAULT
#define PORTION_JOBS   32 /* of 2 KiB each */

static void put_audit(struct gw_json *j, const char *name, const struct sto_audit *audit)
{
    gw_json_name(j, name);
    gw_json_open(j, '{');
    gw_json_name_u64(j, "physical_keys", audit->physical_keys);
    gw_json_name_u64(j, "live_files_inside", audit->live_files_inside);
    gw_json_name_u64(j, "live_files_spanning", audit->live_files_spanning);
    gw_json_name_u64(j, "counters", audit->counters);
    gw_json_name_u64(j, "sequence", audit->sequence);
    gw_json_name_u64(j, "snapshots", audit->snapshots);
    gw_json_name_u64(j, "old_versions", audit->old_versions);
    gw_json_name_u64(j, "obsolete_bytes", audit->obsolete_bytes);
    gw_json_close(j, '}');
}

static void put_search(struct gw_json *j, const char *name, const struct sto_search *search)
{
    gw_json_name(j, name);
    gw_json_open(j, '{');
    gw_json_name_u64(j, "files", search->files);
    gw_json_name_u64(j, "bytes", search->bytes);
    gw_json_name_u64(j, "listed_files", search->listed_files);
    gw_json_name_u64(j, "listed_bytes", search->listed_bytes);
    gw_json_name(j, "deep");
    gw_json_bool(j, search->deep);
    gw_json_name_u64(j, "scrubbed_files", search->scrubbed_files);
    gw_json_name_time(j, "scrubbed_oldest", search->scrubbed_oldest_us);
    gw_json_name_u64(j, "keys", search->keys);
    gw_json_name_u64(j, "canaries", search->canaries);
    gw_json_name_u64(j, "notes", search->notes);
    gw_json_name_u64(j, "outside", search->outside);
    gw_json_name_u64(j, "obsolete", search->obsolete);
    gw_json_close(j, '}');
}

static void put_steps(struct gw_json *j, const struct ten_job *job)
{
    gw_json_name(j, "steps");
    gw_json_open(j, '[');
    for (uint32_t i = 0; i < TEN_JOB_STEPS; i++) {
        gw_json_open(j, '{');
        gw_json_name_text(j, "name", ten_job_step_name(i));
        gw_json_name(j, "done");
        gw_json_bool(j, i < job->steps_done);
        gw_json_name_time(j, "finished", job->step_done_us[i]);
        gw_json_close(j, '}');
    }
    gw_json_close(j, ']');
}

static const char *unit_name(enum sto_progress_unit unit)
{
    switch (unit) {
    case STO_PROGRESS_KEYS:
        return "keys";
    case STO_PROGRESS_BYTES:
        return "bytes";
    case STO_PROGRESS_NONE:
        break;
    }
    return "";
}

static void put_progress_members(struct gw_json *j, const struct ten_job_progress *p)
{
    gw_json_open(j, '{');
    gw_json_name_text(j, "step", ten_job_step_name(p->step));
    gw_json_name_u64(j, "elapsed_ms", p->elapsed_ms);
    gw_json_name_text(j, "unit", unit_name(p->unit));
    gw_json_name_u64(j, "done", p->done);
    gw_json_name_u64(j, "total", p->all);
    gw_json_name_u64(j, "per_second", p->per_second);
    gw_json_name(j, "seconds_left");
    if (p->has_estimate)
        gw_json_u64(j, p->seconds_left);
    else
        gw_json_null(j);
    gw_json_name_u64(j, "jobs", p->together);
    gw_json_close(j, '}');
}

static void put_progress(struct gw_json *j, struct ten_registry *registry,
                         const struct ten_job *job)
{
    struct ten_job_progress p;
    bool is_ended = job->finished_us != 0; /* other jobs of its group may continue */
    gw_json_name(j, "progress");
    if (!is_ended && ten_job_progress_get(registry, job->id, &p))
        put_progress_members(j, &p);
    else
        gw_json_null(j);
}

/* Writes the queue: null unless the job waits for the purges that run now. */
static void put_queue(struct gw_json *j, struct ten_registry *registry, const struct ten_job *job)
{
    struct ten_job_place p;
    gw_json_name(j, "queue");
    if (!ten_job_place_get(registry, job->id, &p)) {
        gw_json_null(j);
        return;
    }
    gw_json_open(j, '{');
    gw_json_name_u64(j, "place", p.place);
    gw_json_name_u64(j, "waiting", p.waiting);
    gw_json_name(j, "seconds_left");
    if (p.has_estimate)
        gw_json_u64(j, p.seconds_left);
    else
        gw_json_null(j);
    gw_json_close(j, '}');
}

/* Writes the backups: null for a cancelled job, whose tenant still has all its data. */
static void put_backups(struct gw_json *j, const struct ten_job *job,
                        const struct ten_copies *copies)
{
    if (job->state != TEN_JOB_CANCELLED) {
        gw_describe_copies(j, copies);
        return;
    }
    gw_json_name(j, "backups");
    gw_json_null(j);
}

/* Writes the members of a job, without closing it. */
static void put_job_members(struct gw_json *j, struct ten_registry *registry,
                            const struct ten_job *job)
{
    gw_json_name_text(j, "id", job->id);
    gw_json_name_text(j, "tenant", job->tenant);
    gw_json_name_text(j, "state", ten_job_state_name(job->state));
    put_steps(j, job);
    put_progress(j, registry, job);
    gw_json_name_time(j, "requested", job->requested_us);
    gw_json_name_text(j, "requested_by", job->requested_by);
    gw_json_name_text(j, "reason", job->reason);
    gw_json_name_time(j, "delete_at", job->delete_at_us);
    gw_json_name_time(j, "finished", job->finished_us);
    gw_json_name(j, "usage_before");
    gw_describe_usage(j, &job->usage_before);
    put_audit(j, "audit_before", &job->audit_before);
    if (job->state == TEN_JOB_DONE || job->state == TEN_JOB_FAILED) {
        put_audit(j, "audit", &job->audit_after);
    } else {
        gw_json_name(j, "audit");
        gw_json_null(j);
    }
    put_search(j, "search_before", &job->search_before);
    put_search(j, "search", &job->search_after);
    gw_json_name_time(j, "key_destroyed", job->key_destroyed_us);
    gw_json_name_u64(j, "key_versions", job->key_versions);
    gw_json_name_text(j, "error", job->error);
}

/* --- the list ----------------------------------------------------------------------------------
 */

struct job_list {
    struct gw_portions portions;
    struct gw_json json;
    char last[TEN_JOB_ID + 1]; /* the job before the next; "": none */
    size_t given;              /* written in this portion */
    size_t left;
};

static enum err put_job(void *ctx, const struct ten_job *job)
{
    struct gw_call *call = ctx;
    struct job_list *l = call->state;
    gw_json_open(&l->json, '{');
    put_job_members(&l->json, call->api->registry, job);
    gw_json_close(&l->json, '}');
    memcpy(l->last, job->id, sizeof l->last);
    l->given++;
    return call->out.error;
}

/* Lists jobs; on the helper. */
static enum err list_work(struct gw_call *call, struct errbuf *eb)
{
    struct job_list *l = call->state;
    size_t wanted = l->left < PORTION_JOBS ? l->left : PORTION_JOBS;
    l->given = 0;
    enum err e =
        ten_job_list(call->api->registry, base_slice_text(l->last), wanted, put_job, call, eb);
    l->left -= l->given;
    l->portions.is_last = l->given < wanted || l->left == 0;
    if (l->portions.is_last) {
        gw_json_close(&l->json, ']');
        gw_json_close(&l->json, '}');
    }
    return e;
}

void gw_job_list(struct gw_call *call)
{
    struct job_list *l = gw_call_new_state(call, sizeof *l, NULL);
    l->portions = (struct gw_portions){.work = list_work, .content_type = "application/json"};
    l->left = JOBS_SHOWN_MAX;
    l->json = gw_json_start(&call->out);
    gw_json_open(&l->json, '{');
    gw_json_name(&l->json, "jobs");
    gw_json_open(&l->json, '[');
    gw_portions_start(call);
}

/* --- one job -----------------------------------------------------------------------------------
 */

static enum err get_work(struct gw_call *call, struct errbuf *eb)
{
    struct ten_job *job = base_new(sizeof *job);
    struct ten_copies copies;
    enum err e = ten_job_get(call->api->registry, gw_rest_param(call, 0), job, eb);
    if (e == ERR_OK)
        e = ten_certificates_copies(ten_registry_certificates(call->api->registry),
                                    base_slice_text(job->tenant), &copies, eb);
    if (e == ERR_OK) {
        struct gw_json j = gw_json_start(&call->out);
        gw_json_open(&j, '{');
        put_job_members(&j, call->api->registry, job);
        /* only for a single job: both scan all others */
        put_queue(&j, call->api->registry, job);
        put_backups(&j, job, &copies);
        gw_json_close(&j, '}');
    }
    base_free(job);
    return e;
}

void gw_job_get(struct gw_call *call)
{
    gw_rest_on_control(call, 200, get_work);
}

/*
 * tenancy/purge.c - the steps of an offboarding job, on the job worker.
 *
 *   step          what is durable when it is done
 *   fence         usage, physical audit and search of the files as they were before anything was
 *                 deleted; then the data keys are destroyed
 *   delete_files  -
 *   delete_range  range tombstone, counters 0, schemas, sweeps and views gone, job:
 *                 one batch
 *   flush         -
 *   compact       -
 *   audit         what the engine's index says is there: nothing
 *   files         what the bytes of all files say is there: nothing
 *   certificate   a line in the ledger, if it is not there yet; then job DONE and tenant PURGED,
 * one batch, on the control thread
 *
 * After each step the job's document says so; a purge that is interrupted anywhere repeats at most
 * the step it was in. A step that timed out (a read that is still open holds files) is tried again
 * a few times. An audit or a search that finds something, or a step that fails, makes the job
 * FAILED; the tenant stays in PURGING, and the next start (or the next request to offboard) begins
 * again with the first step, keeping what was recorded before the first deletion.
 *
 * 1. Only the job worker writes the job's document while a purge runs, until it hands the purge to
 *    the control thread for the last batch.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "storage/range.h"
#include "tenancy/canary.h"
#include "tenancy/certificate_store.h"
#include "tenancy/doc_list.h"
#include "tenancy/internal.h"
#include "tenancy/job_doc.h"
#include "tenancy/scope.h"

#include "base/banned.h"

#define EXIT_AS_KILLED 137
#define STEP_TRIES     5

struct purge {
    struct base_msg msg;
    struct ten_registry *registry;
    struct ten_tenant *tenant;
    struct ten_job job;
    uint64_t version; /* of the job's document */
    size_t canary_count;
};

/* --- test tool -------------------------------------------------------------------------------- */

static atomic_int die_after = -1;
static atomic_bool die_is_set;

void ten_offboard_test_die_after(int step)
{
    atomic_store(&die_after, step);
    atomic_store(&die_is_set, true);
}

static int die_step(void)
{
    if (atomic_load(&die_is_set))
        return atomic_load(&die_after);
    const char *text = getenv("BIGTENT_TEST_DIE_AFTER_STEP");
    uint64_t step;
    if (text == NULL || base_parse_u64(base_slice_text(text), &step) != ERR_OK ||
        step > TEN_JOB_STEPS)
        return -1;
    return (int)step;
}

static void step_is_durable(uint32_t step)
{
    if (die_step() == (int)step)
        _exit(EXIT_AS_KILLED);
}

/* --- the audit trail -------------------------------------------------------------------------- */

static void begin_action(const struct purge *p, const char *name)
{
    const struct ten_action action = {.actor = TEN_ACTOR_SERVER,
                                      .name = name,
                                      .tenant = ten_tenant_id(p->tenant),
                                      .target = base_slice_text(p->job.id)};
    ten_audit_begin(p->registry, &action);
}

/* --- the job's document ----------------------------------------------------------------------- */

static enum err encode(const struct purge *p, struct buf *body, struct errbuf *eb)
{
    enum err rc = ten_job_encode(&p->job, body);
    return rc == ERR_OK ? ERR_OK : base_fail(eb, rc, "the job's document cannot be written");
}

static enum err store(struct purge *p, struct errbuf *eb)
{
    struct buf body;
    base_buf_init(&body, TEN_JOB_DOC_MAX);
    enum err rc = encode(p, &body, eb);
    if (rc == ERR_OK) {
        struct ten_doc_key key = ten_doc_key_job(base_slice_text(p->job.id));
        struct sto_doc_change change = {
            .key = ten_doc_key_slice(&key),
            .body = base_buf_slice(&body),
            .expect = p->version,
        };
        rc = ten_docs_commit(p->registry, &change, 1, eb);
    }
    base_buf_fini(&body);
    if (rc == ERR_OK)
        p->version++;
    return rc;
}

/* Ends the action purge.finish. */
static void fail(struct purge *p, uint32_t step, enum err rc, const struct errbuf *detail)
{
    struct errbuf text = {0};
    (void)base_fail(&text, rc, "step %s: %s (%s)", ten_job_step_name(step), detail->text,
                    base_err_name(rc)); /* rc is known */
    size_t len = strnlen(text.text, sizeof p->job.error - 1);
    memset(p->job.error, 0, sizeof p->job.error);
    memcpy(p->job.error, text.text, len);
    p->job.state = TEN_JOB_FAILED;
    p->job.finished_us = base_wall_us();
    p->job.steps_done = step;
    if (step != STO_PURGE_FENCE) /* whose time says that what was before is recorded */
        p->job.step_done_us[step] = 0;
    ten_audit_set_detail("step %s", ten_job_step_name(step));
    ten_audit_set_outcome(rc);
    rc = ten_audit_end(p->registry, store(p, NULL), NULL);
    (void)rc; /* when this fails too the job stays RUNNING and is resumed at a start */
}

/* --- DELETE_RANGE: the documents that go in the same batch ------------------------------------ */

/* The job's document, already counting this step as done, and every schema's, sweep's and
 * view's. */
static enum err delete_range(struct purge *p, const struct sto_tenant_scope *scope,
                             struct errbuf *eb)
{
    struct sto_engine *engine = p->registry->engine;
    struct ten_doc_list d = {0};
    struct sto_doc_change *changes = NULL;
    struct buf body;
    base_buf_init(&body, TEN_JOB_DOC_MAX);
    struct slice id = ten_tenant_id(p->tenant);
    const struct ten_doc_key prefixes[] = {ten_doc_key_schema(id, SLICE_EMPTY),
                                           ten_doc_key_sweep(id, SLICE_EMPTY),
                                           ten_doc_key_view(id, SLICE_EMPTY, SLICE_EMPTY)};
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < sizeof prefixes / sizeof prefixes[0]; i++)
        rc = ten_doc_list_scan(&d, engine, &prefixes[i], eb);
    if (rc == ERR_OK)
        rc = encode(p, &body, eb);
    if (rc == ERR_OK) {
        struct ten_doc_key key = ten_doc_key_job(base_slice_text(p->job.id));
        changes = base_new_array(d.count + 1, sizeof changes[0]);
        changes[0] = (struct sto_doc_change){
            .key = ten_doc_key_slice(&key),
            .body = base_buf_slice(&body),
            .expect = p->version,
        };
        ten_doc_list_delete(&d, changes + 1);
        rc = sto_purge_run(engine, scope, STO_PURGE_DELETE_RANGE, changes, d.count + 1, eb);
    }
    if (rc == ERR_OK)
        p->version++;
    base_free(changes);
    ten_doc_list_fini(&d);
    base_buf_fini(&body);
    return rc;
}

/* --- proof ------------------------------------------------------------------------------------ */

static enum err audit(struct purge *p, struct errbuf *eb)
{
    struct sto_tenant_scope scope = ten_scope_tenant(p->tenant);
    struct sto_audit *a = &p->job.audit_after;
    bool is_closed = ten_access_check(p->tenant, TEN_READ, NULL) == ERR_GONE;
    p->job.visible_after = is_closed ? 0 : sto_counters_read(&p->tenant->account.total).rows;
    enum err rc = sto_audit_range(p->registry->engine, &scope, a, eb);
    if (rc != ERR_OK)
        return rc;
    if (a->physical_keys == 0 && a->live_files_inside == 0 && a->counters == 0 && is_closed)
        return ERR_OK;
    return base_fail(eb, ERR_CORRUPT, "found %llu keys, %llu files and %llu documents left",
                     (unsigned long long)a->physical_keys, (unsigned long long)a->live_files_inside,
                     (unsigned long long)a->counters);
}

static enum err search(struct purge *p, bool only_its_own, struct sto_search *out,
                       struct errbuf *eb)
{
    struct sto_tenant_scope scope = ten_scope_tenant(p->tenant);
    struct sto_canary canaries[STO_CANARIES];
    if (p->canary_count > 0) {
        enum err rc = ten_canaries_read(p->registry, p->tenant, p->canary_count, canaries, eb);
        if (rc != ERR_OK)
            return rc;
    }
    struct sto_search_spec spec = {.canaries = canaries,
                                   .canary_count = p->canary_count,
                                   .only_its_own = only_its_own,
                                   .stop = &p->registry->stopping};
    return sto_search_files(p->registry->engine, &scope, &spec, out, eb);
}

/* ERR_TIMEOUT: what is left is about to be removed by the engine. */
static enum err search_after(struct purge *p, struct errbuf *eb)
{
    struct sto_search *s = &p->job.search_after;
    enum err rc = search(p, false, s, eb);
    if (rc != ERR_OK)
        return rc;
    if (s->keys == 0 && s->canaries == 0 && s->notes == 0 && s->obsolete == 0)
        return ERR_OK;
    rc = s->keys == 0 && s->canaries == 0 && s->notes == 0 ? ERR_TIMEOUT : ERR_CORRUPT;
    return base_fail(eb, rc, "found %llu keys, %llu canaries, %llu notes and %llu old files",
                     (unsigned long long)s->keys, (unsigned long long)s->canaries,
                     (unsigned long long)s->notes, (unsigned long long)s->obsolete);
}

static enum err certify(struct purge *p, struct errbuf *eb)
{
    struct sto_tenant_scope scope = ten_scope_tenant(p->tenant);
    struct sto_range range = sto_range_of_tenant(&scope);
    bool has_copies = false; /* whoever wants to know looks at the certificate */
    return ten_certificates_issue(p->registry->certificates, &p->job, sto_range_begin(&range),
                                  sto_range_end(&range), &has_copies, eb);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void mark_done(struct purge *p, uint32_t step)
{
    p->job.step_done_us[step] = base_wall_us();
    p->job.steps_done = step + 1;
}

/* Behind the fence, whatever was tried before: the first time counts. */
static enum err destroy_key(struct purge *p, struct errbuf *eb)
{
    uint32_t versions = 0;
    enum err rc = ten_cipher_destroy(p->registry, p->tenant, &versions, eb);
    if (rc == ERR_OK && p->tenant->account.cipher != NULL && p->job.key_destroyed_us == 0) {
        p->job.key_destroyed_us = base_wall_us();
        p->job.key_versions = versions;
    }
    return rc;
}

/* What was there, before the first deletion: in tables, where keys can be told from values. */
static enum err look_before(struct purge *p, struct errbuf *eb)
{
    struct sto_tenant_scope scope = ten_scope_tenant(p->tenant);
    p->job.canaries = p->canary_count;
    p->job.usage_before = sto_counters_read(&p->tenant->account.total);
    enum err rc = sto_purge_run(p->registry->engine, &scope, STO_PURGE_FLUSH, NULL, 0, eb);
    if (rc == ERR_OK)
        rc = sto_audit_range(p->registry->engine, &scope, &p->job.audit_before, eb);
    return rc == ERR_OK ? search(p, true, &p->job.search_before, eb) : rc;
}

static enum err run_step(struct purge *p, uint32_t step, struct errbuf *eb)
{
    struct sto_engine *engine = p->registry->engine;
    struct sto_tenant_scope scope = ten_scope_tenant(p->tenant);
    bool is_first_time = p->job.step_done_us[step] == 0;
    enum err rc;
    if (step == STO_PURGE_DELETE_RANGE) {
        mark_done(p, step);
        return delete_range(p, &scope, eb);
    }
    if (step == TEN_STEP_AUDIT)
        rc = audit(p, eb);
    else if (step == TEN_STEP_FILES)
        rc = search_after(p, eb);
    else
        rc = sto_purge_run(engine, &scope, (enum sto_purge_step)step, NULL, 0, eb);
    if (rc == ERR_OK && step == STO_PURGE_FENCE && is_first_time)
        rc = look_before(p, eb);
    if (rc == ERR_OK && step == STO_PURGE_FENCE)
        rc = destroy_key(p, eb);
    if (rc != ERR_OK)
        return rc;
    mark_done(p, step);
    return store(p, eb);
}

/* ERR_CANCELLED: the registry closes; the purge is resumed at the next start. */
static enum err run_step_patiently(struct purge *p, uint32_t step, struct errbuf *eb)
{
    enum err rc = ERR_TIMEOUT;
    for (int tries = 0; rc == ERR_TIMEOUT && tries < STEP_TRIES; tries++) {
        if (atomic_load(&p->registry->stopping))
            return ERR_CANCELLED;
        rc = run_step(p, step, eb);
    }
    return rc;
}

/* --- the last batch, on the control thread ---------------------------------------------------- */

static enum err finish_commit(struct purge *p, struct errbuf *eb)
{
    struct ten_details wanted = *ten_tenant_details(p->tenant);
    wanted.display_name = "";
    wanted.reason = "";
    wanted.plan = NULL; /* it may be deleted now */
    wanted.state_since_us = p->job.finished_us;
    struct buf body;
    base_buf_init(&body, TEN_JOB_DOC_MAX);
    enum err rc = encode(p, &body, eb);
    if (rc == ERR_OK) {
        struct ten_doc_key key = ten_doc_key_job(base_slice_text(p->job.id));
        struct sto_doc_change change = {
            .key = ten_doc_key_slice(&key),
            .body = base_buf_slice(&body),
            .expect = p->version,
        };
        rc = ten_tenant_commit(p->registry, p->tenant, TEN_PURGED, &wanted, &change, 1, eb);
    }
    base_buf_fini(&body);
    return rc;
}

static void run_finish(struct base_msg *msg)
{
    struct purge *p = (struct purge *)((char *)msg - offsetof(struct purge, msg));
    ten_control_check(p->registry);
    struct errbuf eb = {0};
    begin_action(p, "purge.finish");
    enum err rc = finish_commit(p, &eb);
    if (rc != ERR_OK) {
        fail(p, TEN_STEP_CERTIFICATE, rc, &eb);
    } else {
        rc = ten_audit_end(p->registry, ERR_OK, &eb);
        INVARIANT(rc == ERR_OK); /* the commit carried the record */
        step_is_durable(TEN_STEP_CERTIFICATE);
    }
    base_free(p);
}

/* --- a whole purge, on the job worker --------------------------------------------------------- */

/* Another try of a job that failed; one that is running goes on where it was. */
static enum err set_running(struct purge *p)
{
    if (p->job.state == TEN_JOB_RUNNING)
        return ERR_OK;
    p->job.state = TEN_JOB_RUNNING;
    p->job.steps_done = 0;
    p->job.finished_us = 0;
    for (uint32_t step = STO_PURGE_FENCE + 1; step < TEN_JOB_STEPS; step++)
        p->job.step_done_us[step] = 0;
    memset(p->job.error, 0, sizeof p->job.error);
    return store(p, NULL);
}

/* ERR_OK: run it; anything else: leave it alone. */
static enum err prepare(struct purge *p)
{
    struct slice id = base_slice_text(p->job.id);
    struct ten_job stored;
    enum err rc = ten_job_read(p->registry, id, &p->version, &stored, NULL);
    if (rc != ERR_OK)
        return rc;
    p->job = stored;
    if (p->job.state == TEN_JOB_DONE)
        return ERR_EXISTS;
    begin_action(p, "purge.start");
    ten_audit_set_detail(
        "from step %s",
        ten_job_step_name(p->job.state == TEN_JOB_RUNNING ? p->job.steps_done : STO_PURGE_FENCE));
    rc = set_running(p);
    return ten_audit_end(p->registry, rc, NULL);
}

static void run_purge(struct base_msg *msg)
{
    struct purge *p = (struct purge *)((char *)msg - offsetof(struct purge, msg));
    struct ten_registry *r = p->registry;
    struct errbuf eb = {0};
    enum err rc = atomic_load(&r->stopping) ? ERR_UNAVAILABLE : prepare(p);
    if (rc != ERR_OK) {
        base_free(p); /* done already, or the engine failed: the next start looks again */
        return;
    }
    uint32_t step = p->job.steps_done;
    for (; step < TEN_STEP_CERTIFICATE; step++) {
        rc = run_step_patiently(p, step, &eb);
        if (rc != ERR_OK)
            break;
        step_is_durable(step);
    }
    if (rc == ERR_CANCELLED) {
        base_free(p);
        return;
    }
    if (rc == ERR_OK)
        rc = certify(p, &eb);
    if (rc != ERR_OK) {
        begin_action(p, "purge.finish");
        fail(p, step, rc, &eb);
        base_free(p);
        return;
    }
    step_is_durable(TEN_JOB_STEPS);
    mark_done(p, TEN_STEP_CERTIFICATE);
    p->job.state = TEN_JOB_DONE;
    p->job.finished_us = base_wall_us();
    p->msg.run = run_finish;
    ten_control_post(r, &p->msg);
}

void ten_purge_post(struct ten_registry *r, struct ten_tenant *t)
{
    struct purge *p = base_new(sizeof *p);
    p->registry = r;
    p->tenant = t;
    const struct ten_details *details = ten_tenant_details(t);
    const char *id = details->job;
    p->canary_count = details->canary_count;
    memcpy(p->job.id, id, strnlen(id, TEN_JOB_ID));
    p->msg.run = run_purge;
    base_worker_post(&r->jobs, &p->msg);
}

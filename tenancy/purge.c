/*
 * tenancy/purge.c - the steps of an offboarding job, on the job worker; purge_queue.c orders them.
 *
 *   step          durable when it is done                                      run for
 *   fence         usage, physical audit and search of the files as they were   each; flush and
 *                 before anything was deleted; then the data keys are          search together
 *                 destroyed
 *   delete_files  -                                                            each
 *   delete_range  names in documents that stay are removed; then counters 0,   each
 *                 schemas, sweeps and views removed, job: one batch
 *   flush         -                                                            together
 *   compact       -                                                            together
 *   audit         the engine's index has nothing                               each
 *   files         the bytes of all files have nothing                          together
 *   certificate   a line in the ledger, if there is none; job DONE and tenant  each
 *                 PURGED in one batch
 *
 * After each step the job's document says so; an interrupted purge repeats at most the step it was
 * in. A step that timed out (an open read holds files) is retried a few times. If an audit or a
 * search finds data, the purge returns to compact, a few times. After that, and when a step fails,
 * the job is FAILED and the tenant stays PURGING. Retries are automatic (purge_retry.c), at a start
 * and with each request, from the first step, with the amounts recorded before the first deletion.
 *
 * 1. Only the job worker writes the job's document while a purge runs, until it passes the purge to
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
#include "tenancy/job_doc.h"
#include "tenancy/purge.h"
#include "tenancy/scope.h"

#include "base/banned.h"

#define EXIT_AS_KILLED 137

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
        step > TEN_DIE_BEHIND_KEYS)
        return -1;
    return (int)step;
}

static void step_is_durable(uint32_t step)
{
    if (die_step() == (int)step)
        _exit(EXIT_AS_KILLED);
}

/* --- the audit trail -------------------------------------------------------------------------- */

static void begin_action(const struct ten_purge *p, const char *name)
{
    const struct ten_action action = {.actor = TEN_ACTOR_SERVER,
                                      .name = name,
                                      .tenant = ten_tenant_id(p->tenant),
                                      .target = base_slice_text(p->job.id)};
    ten_audit_begin(p->registry, &action);
}

/* --- the job's document ----------------------------------------------------------------------- */

static enum err encode(const struct ten_purge *p, struct buf *body, struct errbuf *eb)
{
    enum err rc = ten_job_encode(&p->job, body);
    return rc == ERR_OK ? ERR_OK : base_fail(eb, rc, "the job's document cannot be written");
}

static enum err store(struct ten_purge *p, struct errbuf *eb)
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

/* Ends the action purge.finish with a failure. */
static void fail(struct ten_purge *p, uint32_t step, enum err rc, const struct errbuf *detail)
{
    struct errbuf text = {0};
    (void)base_fail(&text, rc, "step %s: %s (%s); it is tried again by itself",
                    ten_job_step_name(step), detail->text, base_err_name(rc)); /* rc is known */
    size_t len = strnlen(text.text, sizeof p->job.error - 1);
    memset(p->job.error, 0, sizeof p->job.error);
    memcpy(p->job.error, text.text, len);
    p->job.state = TEN_JOB_FAILED;
    p->job.finished_us = base_wall_us();
    p->job.steps_done = step;
    if (step != STO_PURGE_FENCE) /* whose time says that the amounts before are recorded */
        p->job.step_done_us[step] = 0;
    ten_audit_set_detail("step %s", ten_job_step_name(step));
    ten_audit_set_outcome(rc);
    rc = ten_audit_end(p->registry, store(p, NULL), NULL);
    (void)rc; /* if this fails too the job stays RUNNING and is resumed at a start */
}

/* --- DELETE_RANGE: names, then the documents deleted in the same batch ------------------------ */

struct forgetting {
    struct ten_purge *purge;
    struct errbuf *eb;
    enum err result;
};

/* Clears the names in the tenant's own document. */
static void names_clear(struct ten_details *details)
{
    details->display_name = "";
    details->reason = "";
    details->instance = "";
    if (details->plan != NULL)
        ten_quota_give_departed(&details->quota, &ten_plan_terms(details->plan)->quota);
    details->plan = NULL; /* the plan may be deleted from here on */
}

/* Runs on the control thread, which writes these documents. */
static void names_forget(void *ctx)
{
    struct forgetting *f = ctx;
    struct ten_tenant *t = f->purge->tenant;
    struct ten_registry *r = f->purge->registry;
    struct ten_details wanted = *ten_tenant_details(t);
    f->result = r->keys.strip == NULL ? ERR_OK : r->keys.strip(r->keys.ctx, t, f->eb);
    if (f->result != ERR_OK || (wanted.display_name[0] == '\0' && wanted.reason[0] == '\0' &&
                                wanted.instance[0] == '\0' && wanted.plan == NULL))
        return;
    names_clear(&wanted);
    f->result = ten_tenant_commit(r, t, TEN_PURGING, &wanted, NULL, 0, f->eb);
    f->purge->audit_days = ten_tenant_audit_days(t);
}

/* Runs before flush and compaction, so that these remove the names from logs and old versions in
 * table files as well. */
static enum err forget_names(struct ten_purge *p, struct errbuf *eb)
{
    struct forgetting f = {.purge = p, .eb = eb};
    ten_control_run(p->registry, names_forget, &f);
    return f.result;
}

/* Deletes the audit records' subjects, maybe many; then, in one batch, the tenant's documents of
 * each erased kind, and writes the job's document, which counts this step as done. */
static enum err delete_range(struct ten_purge *p, const struct sto_tenant_scope *scope,
                             struct errbuf *eb)
{
    struct sto_engine *engine = p->registry->engine;
    struct ten_doc_list d = {0};
    struct sto_doc_change *changes = NULL;
    struct buf body;
    base_buf_init(&body, TEN_JOB_DOC_MAX);
    const struct sto_doc_place *place;
    enum err rc = ten_audit_forget_subjects(p->registry, ten_tenant_id(p->tenant), eb);
    for (size_t i = 0; rc == ERR_OK && (place = sto_doc_place_at(i)) != NULL; i++) {
        if (place->writer != STO_PLACE_ROOMS || place->fate != STO_PLACE_ERASED)
            continue;
        struct ten_doc_key prefix = ten_doc_key_erased(place->kind, ten_tenant_id(p->tenant));
        rc = ten_doc_list_scan(&d, engine, &prefix, eb);
    }
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

static enum err audit(struct ten_purge *p, struct errbuf *eb)
{
    struct sto_tenant_scope scope = ten_scope_tenant(p->tenant);
    struct sto_audit *a = &p->job.audit_after;
    bool is_closed = ten_access_check(p->tenant, TEN_READ, NULL) == ERR_GONE;
    p->job.visible_after = is_closed ? 0 : sto_counters_read(&p->tenant->account.total).rows;
    enum err rc = sto_audit_range(p->registry->engine, &scope, a, eb);
    if (rc != ERR_OK)
        return rc;
    uint64_t snapshots = sto_audit_snapshots_of(a, p->job.deleted_at);
    if (snapshots > 0)
        return base_fail(eb, ERR_TIMEOUT, "%llu snapshots may see what was there",
                         (unsigned long long)snapshots);
    if (a->physical_keys == 0 && a->live_files_inside == 0 && a->counters == 0 && is_closed)
        return ERR_OK;
    return base_fail(eb, ERR_TIMEOUT, "found %llu keys, %llu files and %llu documents left",
                     (unsigned long long)a->physical_keys, (unsigned long long)a->live_files_inside,
                     (unsigned long long)a->counters);
}

enum err ten_purge_canaries(const struct ten_purge *p, struct sto_canary out[STO_CANARIES],
                            struct errbuf *eb)
{
    return p->canary_count == 0
               ? ERR_OK
               : ten_canaries_read(p->registry, p->tenant, p->canary_count, out, eb);
}

static enum err certify(struct ten_purge *p, struct errbuf *eb)
{
    struct sto_tenant_scope scope = ten_scope_tenant(p->tenant);
    struct sto_range range = sto_range_of_tenant(&scope);
    struct ten_holds holds = {.count = 0};
    bool has_copies = false; /* not needed: the certificate says it */
    enum err rc = ten_holds_read(p->registry, ten_tenant_id(p->tenant), &holds, eb);
    if (rc != ERR_OK)
        return rc;
    p->job.holds = holds.of;
    p->job.hold_count = holds.count;
    rc = ten_certificates_issue(p->registry->certificates, &p->job, p->audit_days,
                                sto_range_begin(&range), sto_range_end(&range), &has_copies, eb);
    p->job.holds = NULL;
    p->job.hold_count = 0;
    return rc;
}

/* --- steps ------------------------------------------------------------------------------------ */

static void mark_done(struct ten_purge *p, uint32_t step)
{
    p->job.step_done_us[step] = base_wall_us();
    p->job.steps_done = step + 1;
}

/* Runs after the fence, also in a retry; the time of the first run is kept. The number of keys is
 * stored before they are destroyed: after a kill there would be nothing left to count. */
static enum err destroy_key(struct ten_purge *p, struct errbuf *eb)
{
    const struct sto_cipher *cipher = p->tenant->account.cipher;
    uint32_t versions = cipher == NULL ? 0 : sto_cipher_versions(cipher);
    enum err rc = ERR_OK;
    if (versions > 0) {
        p->job.key_versions = versions;
        rc = store(p, eb);
    }
    if (rc == ERR_OK)
        rc = ten_cipher_destroy(p->registry, p->tenant, eb);
    if (rc == ERR_OK && cipher != NULL) {
        step_is_durable(TEN_DIE_BEHIND_KEYS);
        if (p->job.key_destroyed_us == 0)
            p->job.key_destroyed_us = base_wall_us();
    }
    return rc;
}

bool ten_purge_is_first(const struct ten_purge *p)
{
    return p->job.step_done_us[STO_PURGE_FENCE] == 0;
}

static enum err count_before(struct ten_purge *p, struct errbuf *eb)
{
    struct sto_tenant_scope scope = ten_scope_tenant(p->tenant);
    p->job.canaries = p->canary_count;
    p->job.usage_before = sto_counters_read(&p->tenant->account.total);
    struct ten_copies copies;
    enum err rc = sto_audit_range(p->registry->engine, &scope, &p->job.audit_before, eb);
    if (rc == ERR_OK)
        rc = ten_certificates_copies(p->registry->certificates, ten_tenant_id(p->tenant), &copies,
                                     eb);
    if (rc == ERR_OK)
        p->job.copies_before = copies.count;
    return rc;
}

static enum err step_finish(struct ten_purge *p, struct errbuf *eb)
{
    if (p->step == STO_PURGE_FLUSH) { /* after the deletion, whenever that was */
        struct sto_health health;
        sto_health_get(p->registry->engine, &health);
        p->job.deleted_at = health.sequence;
    }
    mark_done(p, p->step);
    return store(p, eb);
}

static enum err part_run(struct ten_purge *p, enum ten_purge_part part, struct errbuf *eb)
{
    struct sto_engine *engine = p->registry->engine;
    struct sto_tenant_scope scope = ten_scope_tenant(p->tenant);
    enum err rc = ERR_OK;
    switch (part) {
    case TEN_PART_FENCE:
        return sto_purge_run(engine, &scope, STO_PURGE_FENCE, NULL, 0, eb);
    case TEN_PART_COUNT:
        return count_before(p, eb);
    case TEN_PART_KEYS:
        rc = destroy_key(p, eb);
        break;
    case TEN_PART_DELETE_FILES:
        rc = sto_purge_run(engine, &scope, STO_PURGE_DELETE_FILES, NULL, 0, eb);
        break;
    case TEN_PART_DELETE_RANGE:
        rc = forget_names(p, eb);
        if (rc != ERR_OK)
            return rc;
        mark_done(p, STO_PURGE_DELETE_RANGE);
        return delete_range(p, &scope, eb);
    case TEN_PART_AUDIT:
        rc = audit(p, eb);
        break;
    case TEN_PART_FINISH:
        break;
    }
    return rc == ERR_OK ? step_finish(p, eb) : rc;
}

/* ERR_CANCELLED: the registry closes, and the purge is resumed at the next start. A failed audit is
 * not retried as it is: the data that it found must be removed first. */
void ten_purge_run_part(struct ten_purge *p, enum ten_purge_part part)
{
    int tries = part == TEN_PART_AUDIT ? 1 : TEN_PURGE_TRIES;
    enum err rc = ERR_TIMEOUT;
    for (int i = 0; rc == ERR_TIMEOUT && i < tries; i++)
        rc = atomic_load(&p->registry->stopping) ? ERR_CANCELLED : part_run(p, part, &p->detail);
    p->result = rc;
    if (rc != ERR_OK || part == TEN_PART_FENCE || part == TEN_PART_COUNT)
        return;
    step_is_durable(p->step);
    p->step++;
}

/* ERR_TIMEOUT: some data remains. */
void ten_purge_take_search(struct ten_purge *p, const struct sto_search *found)
{
    bool is_clean = found->keys == 0 && found->canaries == 0 && found->notes == 0;
    p->job.search_after = *found;
    if (!is_clean || found->obsolete > 0) {
        p->result =
            base_fail(&p->detail, ERR_TIMEOUT,
                      "found %llu keys, %llu canaries, %llu notes and %llu old files",
                      (unsigned long long)found->keys, (unsigned long long)found->canaries,
                      (unsigned long long)found->notes, (unsigned long long)found->obsolete);
        return;
    }
    ten_purge_run_part(p, TEN_PART_FINISH);
}

/* --- finishing, on the control thread --------------------------------------------------------- */

/* Ends the action purge.finish; p is consumed. */
static void fail_and_leave(struct ten_purge *p, uint32_t step, enum err rc,
                           const struct errbuf *detail)
{
    fail(p, step, rc, detail);
    ten_purge_leave(p, false);
}

static enum err finish_commit(struct ten_purge *p, struct errbuf *eb)
{
    struct ten_details wanted = *ten_tenant_details(p->tenant);
    names_clear(&wanted); /* for a purge that an older version took past that step */
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
    struct ten_purge *p = (struct ten_purge *)((char *)msg - offsetof(struct ten_purge, msg));
    ten_control_check(p->registry);
    struct errbuf eb = {0};
    begin_action(p, "purge.finish");
    enum err rc = finish_commit(p, &eb);
    if (rc != ERR_OK) {
        fail_and_leave(p, TEN_STEP_CERTIFICATE, rc, &eb);
        return;
    }
    rc = ten_audit_end(p->registry, ERR_OK, &eb);
    INVARIANT(rc == ERR_OK); /* the commit carried the record */
    step_is_durable(TEN_STEP_CERTIFICATE);
    ten_purge_ended(p->registry, p->tenant);
    base_free(p);
}

/* --- a whole purge, on the job worker --------------------------------------------------------- */

/* Prepares another try of a job that failed; a running job continues where it was. */
static enum err set_running(struct ten_purge *p)
{
    if (p->job.state == TEN_JOB_RUNNING)
        return ERR_OK;
    p->job.state = TEN_JOB_RUNNING;
    p->job.steps_done = 0;
    p->job.finished_us = 0;
    for (uint32_t step = STO_PURGE_FENCE + 1; step < TEN_JOB_STEPS; step++)
        p->job.step_done_us[step] = 0;
    memset(p->job.error, 0, sizeof p->job.error);
    return store(p, &p->detail);
}

enum err ten_purge_prepare(struct ten_purge *p)
{
    struct slice id = base_slice_text(p->job.id);
    struct ten_job stored;
    enum err rc = ten_job_read(p->registry, id, &p->version, &stored, &p->detail);
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
    p->step = p->job.steps_done;
    return ten_audit_end(p->registry, rc, NULL);
}

void ten_purge_end(struct ten_purge *p)
{
    if (p->result == ERR_CANCELLED) {
        ten_purge_leave(p, true); /* the registry closes */
        return;
    }
    if (p->result == ERR_OK)
        p->result = certify(p, &p->detail);
    if (p->result != ERR_OK) {
        begin_action(p, "purge.finish");
        fail_and_leave(p, p->step, p->result, &p->detail);
        return;
    }
    step_is_durable(TEN_JOB_STEPS);
    mark_done(p, TEN_STEP_CERTIFICATE);
    p->job.state = TEN_JOB_DONE;
    p->job.finished_us = base_wall_us();
    p->msg.run = run_finish;
    ten_control_post(p->registry, &p->msg);
}

struct ten_purge *ten_purge_new(struct ten_registry *r, struct ten_tenant *t)
{
    const struct ten_details *details = ten_tenant_details(t);
    struct ten_purge *p = base_new(sizeof *p);
    *p = (struct ten_purge){.registry = r, .tenant = t, .asked_ns = base_monotonic_ns()};
    p->canary_count = details->canary_count;
    p->audit_days = ten_tenant_audit_days(t);
    memcpy(p->job.id, details->job, strnlen(details->job, TEN_JOB_ID));
    return p;
}

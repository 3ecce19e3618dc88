/*
 * tenancy/purge.c - the steps of an offboarding job, on the job worker.
 *
 *   step          what is durable when it is done
 *   fence         usage, physical audit and search of the files as they were before anything was
 *                 deleted; then the data keys are destroyed
 *   delete_files  -
 *   delete_range  range tombstone, counters 0, schemas, sweeps and views gone, job: one batch
 *   flush         -
 *   compact       -
 *   audit         what the engine's index says is there: nothing
 *   files         what the bytes of all files say is there: nothing; with others (purge_queue.c)
 *   certificate   a line in the ledger, if there is none; job DONE and tenant PURGED in one batch
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

/* Ends the action purge.finish. */
static void fail(struct ten_purge *p, uint32_t step, enum err rc, const struct errbuf *detail)
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

/* The job's document, already counting this step as done, and every schema's, sweep's, view's and
 * operation's. */
static enum err delete_range(struct ten_purge *p, const struct sto_tenant_scope *scope,
                             struct errbuf *eb)
{
    struct sto_engine *engine = p->registry->engine;
    struct ten_doc_list d = {0};
    struct sto_doc_change *changes = NULL;
    struct buf body;
    base_buf_init(&body, TEN_JOB_DOC_MAX);
    struct slice id = ten_tenant_id(p->tenant);
    const struct ten_doc_key prefixes[] = {
        ten_doc_key_schema(id, SLICE_EMPTY), ten_doc_key_sweep(id, SLICE_EMPTY),
        ten_doc_key_view(id, SLICE_EMPTY, SLICE_EMPTY), ten_doc_key_operation(id, SLICE_EMPTY)};
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
    return base_fail(eb, ERR_CORRUPT, "found %llu keys, %llu files and %llu documents left",
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

/* Of tables that may hold something of it. */
static enum err search_before(struct ten_purge *p, struct errbuf *eb)
{
    struct sto_tenant_scope scope = ten_scope_tenant(p->tenant);
    struct sto_canary canaries[STO_CANARIES];
    enum err rc = ten_purge_canaries(p, canaries, eb);
    if (rc != ERR_OK)
        return rc;
    struct sto_search_spec spec = {.only_its_own = true, .stop = &p->registry->stopping};
    struct sto_search_target target = {
        .scope = &scope, .canaries = canaries, .canary_count = p->canary_count};
    rc = sto_search_files(p->registry->engine, &target, 1, &spec, eb);
    if (rc == ERR_OK)
        p->job.search_before = target.found;
    return rc;
}

struct holds {
    size_t count;
    struct ten_hold_event of[TEN_HOLD_EVENTS];
};

static void copy_text(char *to, size_t size, struct slice from)
{
    size_t len = from.len < size ? from.len : size - 1;
    if (len > 0)
        memcpy(to, from.ptr, len);
    to[len] = '\0';
}

static enum err take_hold(void *ctx, const struct base_audit_record *record)
{
    struct holds *holds = ctx;
    bool is_release = base_slice_is(record->action, "tenant.release");
    if ((!is_release && !base_slice_is(record->action, "tenant.hold")) ||
        !base_slice_is(record->outcome, "done"))
        return ERR_OK;
    if (holds->count == TEN_HOLD_EVENTS)
        memmove(holds->of, holds->of + 1, --holds->count * sizeof holds->of[0]);
    struct ten_hold_event *event = &holds->of[holds->count++];
    event->is_release = is_release;
    event->record = record->tenant_number;
    copy_text(event->time, sizeof event->time, record->time);
    copy_text(event->by, sizeof event->by, record->key);
    return ERR_OK;
}

static enum err certify(struct ten_purge *p, struct errbuf *eb)
{
    struct sto_tenant_scope scope = ten_scope_tenant(p->tenant);
    struct sto_range range = sto_range_of_tenant(&scope);
    struct holds holds = {0};
    bool has_copies = false; /* whoever wants to know looks at the certificate */
    enum err rc =
        ten_audit_read(p->registry, ten_tenant_id(p->tenant), 0, SIZE_MAX, take_hold, &holds, eb);
    if (rc != ERR_OK)
        return rc;
    p->job.holds = holds.of;
    p->job.hold_count = holds.count;
    rc = ten_certificates_issue(p->registry->certificates, &p->job, sto_range_begin(&range),
                                sto_range_end(&range), &has_copies, eb);
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

/* Behind the fence, whatever was tried before: the first time counts. How many there are is stored
 * before they go: a kill behind their end leaves nothing to count. */
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

/* What was there, before the first deletion: in tables, where keys can be told from values. */
static enum err look_before(struct ten_purge *p, struct errbuf *eb)
{
    struct sto_tenant_scope scope = ten_scope_tenant(p->tenant);
    p->job.canaries = p->canary_count;
    p->job.usage_before = sto_counters_read(&p->tenant->account.total);
    enum err rc = sto_purge_run(p->registry->engine, &scope, STO_PURGE_FLUSH, NULL, 0, eb);
    if (rc == ERR_OK)
        rc = sto_audit_range(p->registry->engine, &scope, &p->job.audit_before, eb);
    if (rc == ERR_OK)
        rc = ten_certificates_count_copies(p->registry->certificates, ten_tenant_id(p->tenant),
                                           &p->job.copies_before, eb);
    return rc == ERR_OK ? search_before(p, eb) : rc;
}

static enum err run_step(struct ten_purge *p, uint32_t step, struct errbuf *eb)
{
    struct sto_engine *engine = p->registry->engine;
    struct sto_tenant_scope scope = ten_scope_tenant(p->tenant);
    bool is_first_time = p->job.step_done_us[step] == 0;
    enum err rc;
    if (step == STO_PURGE_DELETE_RANGE) {
        mark_done(p, step);
        return delete_range(p, &scope, eb);
    }
    if (step == STO_PURGE_FLUSH) { /* behind the deletion, whenever that was */
        struct sto_health health;
        sto_health_get(engine, &health);
        p->job.deleted_at = health.sequence;
    }
    if (step == TEN_STEP_AUDIT)
        rc = audit(p, eb);
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

/* The registry closes: ERR_CANCELLED, the purge is resumed at the next start. */
static enum err run_step_patiently(struct ten_purge *p, struct errbuf *eb)
{
    enum err rc = ERR_TIMEOUT;
    for (int tries = 0; rc == ERR_TIMEOUT && tries < TEN_PURGE_TRIES; tries++) {
        if (atomic_load(&p->registry->stopping))
            return ERR_CANCELLED;
        rc = run_step(p, p->step, eb);
    }
    return rc;
}

enum err ten_purge_run_to(struct ten_purge *p, uint32_t end)
{
    for (; p->result == ERR_OK && p->step < end; p->step++) {
        ten_purge_tell(p->registry, &p, 1, p->step);
        p->result = run_step_patiently(p, &p->detail);
        if (p->result != ERR_OK)
            break;
        step_is_durable(p->step);
    }
    return p->result;
}

/* ERR_TIMEOUT: what is left is about to be removed by the engine. */
enum err ten_purge_take_search(struct ten_purge *p, const struct sto_search *found,
                               struct errbuf *eb)
{
    bool is_clean = found->keys == 0 && found->canaries == 0 && found->notes == 0;
    p->job.search_after = *found;
    if (!is_clean || found->obsolete > 0)
        return base_fail(eb, is_clean ? ERR_TIMEOUT : ERR_CORRUPT,
                         "found %llu keys, %llu canaries, %llu notes and %llu old files",
                         (unsigned long long)found->keys, (unsigned long long)found->canaries,
                         (unsigned long long)found->notes, (unsigned long long)found->obsolete);
    mark_done(p, TEN_STEP_FILES);
    enum err rc = store(p, eb);
    if (rc == ERR_OK) {
        step_is_durable(TEN_STEP_FILES);
        p->step = TEN_STEP_CERTIFICATE;
    }
    return rc;
}

/* --- at the end, on the control thread -------------------------------------------------------- */

/* Ends the action purge.finish; p is given away. */
static void fail_and_leave(struct ten_purge *p, uint32_t step, enum err rc,
                           const struct errbuf *detail)
{
    fail(p, step, rc, detail);
    ten_purge_leave(p, rc == ERR_CORRUPT);
}

static enum err finish_commit(struct ten_purge *p, struct errbuf *eb)
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

/* Another try of a job that failed; one that is running goes on where it was. */
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
    return store(p, NULL);
}

enum err ten_purge_prepare(struct ten_purge *p)
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
    struct ten_purge *p = base_new(sizeof *p);
    p->registry = r;
    p->tenant = t;
    const struct ten_details *details = ten_tenant_details(t);
    const char *id = details->job;
    p->canary_count = details->canary_count;
    memcpy(p->job.id, id, strnlen(id, TEN_JOB_ID));
    return p;
}

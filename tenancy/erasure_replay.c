/*
 * tenancy/erasure_replay.c - changes documents before the registry reads them.
 *
 *   stored state          becomes
 *   none                  PURGED: a tombstone that names the job of the ledger
 *   purging and later     unchanged: its purge continues, or is done
 *   any other             PURGING, with a new job that the registry resumes
 *
 * 1. The audit trail gets a registry of this file's own, without tenants and threads.
 */
#include "tenancy/erasure_replay.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "tenancy/audit_internal.h"
#include "tenancy/doc_key.h"
#include "tenancy/erasure_ledger.h"
#include "tenancy/internal.h"
#include "tenancy/job_doc.h"
#include "tenancy/plan.h"
#include "tenancy/plan_doc.h"
#include "tenancy/tenant_doc.h"

#include "base/banned.h"

#define REQUESTED_BY "restore"

struct replay {
    struct ten_registry registry;
    const struct ten_erasure *erasure;
    uint64_t job_ms; /* of the last job created */
    size_t changed;
    struct errbuf *eb;
};

/* Returns whether the purge does the rest, or did. Checks the states themselves: a closed gate
 * alone may open again. */
static bool is_leaving(enum ten_state state)
{
    return state == TEN_PURGING || state == TEN_PURGED || state == TEN_EXPIRED;
}

/* Writes one batch, with its record. also: NULL: the tenant's document alone. */
static enum err commit(struct replay *p, enum ten_state state, const struct ten_details *details,
                       const char *action, const struct sto_doc_change *also)
{
    const struct ten_action what = {.actor = TEN_ACTOR_SERVER,
                                    .name = action,
                                    .tenant = base_slice_text(p->erasure->tenant),
                                    .target = base_slice_text(details->job),
                                    .detail = "gone by the ledger of erasures"};
    struct ten_doc_key key = ten_doc_key_tenant(what.tenant);
    struct buf body;
    base_buf_init(&body, TEN_TENANT_DOC_MAX);
    enum err rc = ten_tenant_encode(state, details, &body);
    if (rc != ERR_OK) {
        base_buf_fini(&body);
        return base_fail(p->eb, rc, "the tenant's document cannot be written");
    }
    struct sto_doc_change changes[2] = {{.key = ten_doc_key_slice(&key),
                                         .body = base_buf_slice(&body),
                                         .expect = details->doc_version}};
    if (also != NULL)
        changes[1] = *also;
    ten_audit_begin(&p->registry, &what);
    rc = ten_docs_commit(&p->registry, changes, also == NULL ? 1 : 2, p->eb);
    rc = ten_audit_end(&p->registry, rc, p->eb);
    base_buf_fini(&body);
    p->changed += rc == ERR_OK;
    return rc;
}

static enum err make_tombstone(struct replay *p)
{
    struct ten_details details = {.created_us = p->erasure->purged_us,
                                  .state_since_us = p->erasure->purged_us,
                                  .job = p->erasure->job};
    ten_quota_default(&details.quota);
    return commit(p, TEN_PURGED, &details, "tenant.tombstone", NULL);
}

/* How long records are kept, which its plan may set, still applies after the tenant is erased. */
static enum err plan_keep(struct replay *p, const char *plan_id, struct ten_quota *own)
{
    struct ten_doc_key key = ten_doc_key_plan(base_slice_text(plan_id));
    struct ten_plan_terms terms;
    struct buf body;
    uint64_t version;
    if (plan_id[0] == '\0')
        return ERR_OK;
    base_buf_init(&body, STO_DOC_BODY_MAX);
    enum err rc = sto_doc_get(p->registry.engine, ten_doc_key_slice(&key), &version, &body, p->eb);
    if (rc == ERR_OK)
        rc = ten_plan_decode(base_buf_slice(&body), &terms);
    if (rc == ERR_OK)
        ten_quota_give_departed(own, &terms.quota);
    base_buf_fini(&body);
    return rc == ERR_OK ? rc : base_fail(p->eb, rc, "the plan of a tenant cannot be read");
}

static enum err begin_purge(struct replay *p, const struct ten_tenant_doc *doc, uint64_t version)
{
    struct ten_job job = {
        .state = TEN_JOB_RUNNING, .requested_by = REQUESTED_BY, .requested_us = base_wall_us()};
    uint64_t now_ms = (uint64_t)job.requested_us / 1000;
    p->job_ms = now_ms > p->job_ms ? now_ms : p->job_ms + 1;
    ten_job_id_make(p->job_ms, job.id);
    memcpy(job.tenant, p->erasure->tenant, sizeof job.tenant);
    struct ten_details details = doc->details;
    details.doc_version = version;
    details.state_since_us = job.requested_us;
    details.job = job.id;
    details.plan = NULL; /* the tenant is being erased; its other limits do not matter */
    enum err rc = plan_keep(p, doc->plan, &details.quota);
    if (rc != ERR_OK)
        return rc;
    struct ten_doc_key key = ten_doc_key_job(base_slice_text(job.id));
    struct buf body;
    base_buf_init(&body, TEN_JOB_DOC_MAX);
    rc = ten_job_encode(&job, &body);
    if (rc == ERR_OK) {
        const struct sto_doc_change change = {.key = ten_doc_key_slice(&key),
                                              .body = base_buf_slice(&body),
                                              .expect = STO_DOC_ABSENT};
        rc = commit(p, TEN_PURGING, &details, "tenant.offboard", &change);
    } else {
        rc = base_fail(p->eb, rc, "the job's document cannot be written");
    }
    base_buf_fini(&body);
    return rc;
}

static enum err visit(void *ctx, const struct ten_erasure *erasure, struct slice line)
{
    struct replay *p = ctx;
    struct slice id = base_slice_text(erasure->tenant);
    (void)line; /* its contents were parsed */
    if (sto_tenant_id_check(id, NULL) != ERR_OK)
        return base_fail(p->eb, ERR_CORRUPT, "the ledger of erasures names no tenant");
    struct ten_doc_key key = ten_doc_key_tenant(id);
    struct ten_tenant_doc doc;
    uint64_t version = 0;
    struct buf body;
    base_buf_init(&body, TEN_TENANT_DOC_MAX);
    p->erasure = erasure;
    enum err rc = sto_doc_get(p->registry.engine, ten_doc_key_slice(&key), &version, &body, p->eb);
    if (rc == ERR_NOT_FOUND)
        rc = make_tombstone(p);
    else if (rc == ERR_OK && ten_tenant_decode(base_buf_slice(&body), &doc) != ERR_OK)
        rc = base_fail(p->eb, ERR_CORRUPT, "the document of a tenant that left is damaged");
    else if (rc == ERR_OK && !is_leaving(doc.state))
        rc = begin_purge(p, &doc, version);
    base_buf_fini(&body);
    return rc;
}

enum err ten_erasure_replay(struct sto_engine *engine, struct base_epoch *epoch,
                            const char *ledger_path, size_t *out_changed, struct errbuf *eb)
{
    struct replay *p = base_new(sizeof *p);
    struct errbuf detail = {{0}};
    p->eb = &detail;
    p->registry.magic = TEN_REGISTRY_MAGIC;
    p->registry.engine = engine;
    p->registry.epoch = epoch;
    p->registry.by_id = base_hashmap_new(epoch);
    enum err rc = ten_audit_open(&p->registry, &detail);
    if (rc == ERR_OK)
        rc = ten_erasure_ledger_read(ledger_path, visit, p, &detail);
    *out_changed = p->changed;
    ten_audit_close(&p->registry);
    base_hashmap_free(p->registry.by_id);
    base_free(p);
    return rc == ERR_OK
               ? rc
               : base_fail(eb, rc, "who left cannot be told (%s): %s", ledger_path, detail.text);
}

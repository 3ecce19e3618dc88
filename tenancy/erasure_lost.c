/*
 * tenancy/erasure_lost.c - the lines that the ledger must have, and their contents when rewritten.
 *
 *   state    line        must exist when
 *   PURGED   the first   the tenant's job issued a certificate, or the database has no such job:
 *   EXPIRED              then the tenant is known from a ledger (erasure_replay.c)
 *   EXPIRED  the second  always: it is written before the state
 *
 * 1. A rewritten line has the facts of its job, which is kept for ever, and its time as "reissued".
 *    For a tenant without a job it states only the tenant, the job's ID and the time.
 * 2. Rewritten lines are in the order of the tenants' IDs, chained to the rest of the ledger.
 */
#include "tenancy/erasure_lost.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "tenancy/certificate_store.h"
#include "tenancy/internal.h"
#include "tenancy/purge.h"
#include "tenancy/scope.h"

#include "base/banned.h"

struct known {
    char tenant[LIM_TENANT_ID + 1];
    bool is_expired; /* the second line */
};

struct comparison {
    struct ten_registry *registry;
    bool reissue;
    struct known *known; /* sorted */
    size_t known_count;
    struct ten_job job; /* of the tenant being checked */
    size_t lost;
    struct errbuf *eb;
};

static int compare_known(const void *a, const void *b)
{
    const struct known *left = a;
    const struct known *right = b;
    int order = strcmp(left->tenant, right->tenant);
    return order != 0 ? order : (int)left->is_expired - (int)right->is_expired;
}

static void ledger_list(struct comparison *c)
{
    struct ten_certificates *certificates = c->registry->certificates;
    struct ten_erasure erasure;
    size_t place = 0;
    while (ten_certificates_next(certificates, &place, &erasure))
        continue;
    c->known = base_new_array(place + 1, sizeof c->known[0]);
    for (size_t i = 0; i < place;) {
        if (!ten_certificates_next(certificates, &i, &erasure))
            break;
        struct known *one = &c->known[c->known_count++];
        memcpy(one->tenant, erasure.tenant, sizeof one->tenant);
        one->is_expired = erasure.is_expired;
    }
    qsort(c->known, c->known_count, sizeof c->known[0], compare_known);
}

static bool has_line(const struct comparison *c, const struct ten_tenant *t, bool is_expired)
{
    struct known wanted = {.is_expired = is_expired};
    memcpy(wanted.tenant, t->id, sizeof wanted.tenant);
    return bsearch(&wanted, c->known, c->known_count, sizeof wanted, compare_known) != NULL;
}

/* out_has_job: c->job has its facts. */
static enum err first_is_due(struct comparison *c, const struct ten_tenant *t, bool *out,
                             bool *out_has_job)
{
    uint64_t version = 0; /* the job is only read */
    struct errbuf detail = {{0}};
    struct slice id = base_slice_text(ten_tenant_details(t)->job);
    enum err rc = ten_job_read(c->registry, id, &version, &c->job, &detail);
    *out_has_job = rc == ERR_OK;
    *out = rc == ERR_NOT_FOUND ? id.len > 0 : c->job.steps_done > TEN_STEP_CERTIFICATE;
    return rc == ERR_OK || rc == ERR_NOT_FOUND ? ERR_OK : base_fail(c->eb, rc, "%s", detail.text);
}

/* --- rewriting -------------------------------------------------------------------------------- */

static enum err first_write(struct comparison *c, struct ten_tenant *t, bool has_job)
{
    struct sto_tenant_scope scope = ten_scope_tenant(t);
    struct sto_range range = sto_range_of_tenant(&scope);
    const struct ten_details *details = ten_tenant_details(t);
    struct ten_certificates_lost lost = {.range_begin = sto_range_begin(&range),
                                         .range_end = sto_range_end(&range),
                                         .audit_days = ten_tenant_audit_days(t),
                                         .purged_us = details->created_us}; /* a tombstone */
    struct ten_holds holds = {.count = 0};
    enum err rc = ERR_OK;
    if (has_job) {
        rc = ten_holds_read(c->registry, ten_tenant_id(t), &holds, c->eb);
        c->job.holds = holds.of;
        c->job.hold_count = holds.count;
        lost.job = &c->job;
        lost.purged_us = c->job.finished_us;
    }
    memcpy(lost.tenant, t->id, sizeof lost.tenant);
    (void)snprintf(lost.job_id, sizeof lost.job_id, "%s", details->job); /* of that length */
    return rc == ERR_OK ? ten_certificates_reissue(c->registry->certificates, &lost, c->eb) : rc;
}

static enum err tenant_compare(struct comparison *c, struct ten_tenant *t)
{
    enum ten_state state = ten_tenant_state(t);
    bool has_job = false;
    bool is_due = false;
    enum err rc = ERR_OK;
    if (state != TEN_PURGED && state != TEN_EXPIRED)
        return ERR_OK;
    bool has_first = has_line(c, t, false);
    if (!has_first)
        rc = first_is_due(c, t, &is_due, &has_job);
    bool lacks_second = state == TEN_EXPIRED && !has_line(c, t, true);
    c->lost += is_due || lacks_second;
    if (rc == ERR_OK && c->reissue && is_due)
        rc = first_write(c, t, has_job);
    if (rc == ERR_OK && c->reissue && lacks_second)
        rc = ten_certificates_reissue_expired(c->registry->certificates, ten_tenant_id(t),
                                              ten_tenant_details(t)->state_since_us, c->eb);
    return rc;
}

static enum err all_compare(struct comparison *c)
{
    struct ten_registry *r = c->registry;
    enum err rc = ERR_OK;
    c->lost = 0;
    for (size_t i = 0; rc == ERR_OK && i < r->tenant_count; i++)
        rc = tenant_compare(c, r->sorted[i]);
    return rc;
}

static enum err all_reissue(struct comparison *c)
{
    const struct ten_action action = {.actor = TEN_ACTOR_SERVER, .name = "erasures.reissue"};
    c->reissue = true;
    ten_audit_begin(c->registry, &action);
    ten_audit_set_detail("tenants=%zu", c->lost);
    return ten_audit_end(c->registry, all_compare(c), c->eb);
}

enum err ten_erasures_compare(struct ten_registry *r, bool reissue, size_t *out_reissued,
                              struct errbuf *eb)
{
    struct comparison *c = base_new(sizeof *c);
    c->registry = r;
    c->eb = eb;
    ledger_list(c);
    enum err rc = all_compare(c);
    if (rc == ERR_OK && c->lost > 0 && !reissue)
        rc = base_fail(
            eb, ERR_CORRUPT,
            "the ledger of erasures lacks %zu tenants that the database knows as purged; "
            "restored with it, a backup would bring them back. Put a whole copy at %s, or "
            "start with --accept-lost-erasure-ledger to write the lines again",
            c->lost, ten_certificates_path(r->certificates));
    if (rc == ERR_OK && c->lost > 0)
        rc = all_reissue(c);
    if (rc == ERR_OK)
        *out_reissued = c->lost;
    base_free(c->known);
    base_free(c);
    return rc;
}

/*
 * tenancy/plan.c - a sorted array of plans, and the effect of a change on a plan's tenants.
 *
 * A tenant's details point to its plan, the plan to its terms. A change writes one document,
 * replaces the terms, and sets ceilings, limits and rates of every tenant of the plan again from
 * the two: a walk over memory, a quarter of a microsecond for each tenant, so that a plan of
 * 100,000 tenants holds the control thread for some hundredths of a second.
 *
 * 1. The array is sorted by ID and changed by the control thread only.
 * 2. plan->tenants counts the tenants whose published details name the plan; tenant.c counts.
 * 3. A deleted plan is retired, not freed: a reader may still hold details that named it.
 */
#include "tenancy/plan.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "tenancy/audit.h"
#include "tenancy/audit_detail.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"
#include "tenancy/plan_doc.h"

#include "base/banned.h"

/* --- the sorted array ------------------------------------------------------------------------- */

/* Returns the index of the plan, or where it belongs. */
static bool search(const struct ten_registry *r, struct slice id, size_t *out_at)
{
    size_t low = 0;
    size_t high = r->plan_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = base_slice_compare(ten_plan_id(r->plans[middle]), id);
        if (order == 0) {
            *out_at = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *out_at = low;
    return false;
}

static void insert(struct ten_registry *r, struct ten_plan *plan, size_t at)
{
    INVARIANT(r->plan_count < LIM_PLANS);
    if (r->plans == NULL)
        r->plans = base_new_array(LIM_PLANS, sizeof r->plans[0]);
    memmove(r->plans + at + 1, r->plans + at, (r->plan_count - at) * sizeof r->plans[0]);
    r->plans[at] = plan;
    r->plan_count++;
}

static struct ten_plan *plan_new(struct slice id, struct ten_plan_terms *terms_take)
{
    struct ten_plan *plan = base_new(sizeof *plan);
    plan->id_len = (uint8_t)id.len;
    memcpy(plan->id, id.ptr, id.len);
    atomic_init(&plan->terms, terms_take);
    return plan;
}

static void plan_free(void *object)
{
    struct ten_plan *plan = object;
    if (plan == NULL)
        return;
    base_free(atomic_load(&plan->terms));
    base_free(plan);
}

void ten_plans_free_all(struct ten_registry *r)
{
    for (size_t i = 0; i < r->plan_count; i++)
        plan_free(r->plans[i]);
    base_free(r->plans);
}

struct ten_plan *ten_plan_of(const struct ten_registry *r, struct slice id)
{
    size_t at;
    return search(r, id, &at) ? r->plans[at] : NULL;
}

struct ten_plan *ten_plan_find(struct ten_registry *r, struct slice id)
{
    ten_control_check(r);
    return ten_plan_of(r, id);
}

size_t ten_plan_list(struct ten_registry *r, struct ten_plan **out, size_t limit)
{
    ten_control_check(r);
    size_t count = r->plan_count < limit ? r->plan_count : limit;
    for (size_t i = 0; i < count; i++)
        out[i] = r->plans[i];
    return count;
}

/* --- loading ---------------------------------------------------------------------------------- */

enum err ten_plan_id_check(struct slice id, struct errbuf *eb)
{
    struct errbuf inner;
    if (sto_tenant_id_check(id, &inner) == ERR_OK)
        return ERR_OK;
    return base_fail(eb, ERR_INVALID, "a plan's ID is made like a tenant's: %s", inner.text);
}

static enum err visit(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct ten_registry *r = ctx;
    struct slice id = base_slice_skip(key, 2);
    struct ten_plan_terms terms;
    size_t at;
    if (r->plan_count == LIM_PLANS || ten_plan_id_check(id, NULL) != ERR_OK || search(r, id, &at))
        return ERR_CORRUPT;
    enum err rc = ten_plan_decode(body, &terms);
    if (rc != ERR_OK)
        return rc;
    struct ten_plan_terms *own = base_new(sizeof *own);
    *own = terms;
    own->doc_version = version;
    insert(r, plan_new(id, own), at);
    return ERR_OK;
}

enum err ten_plans_load(struct ten_registry *r, struct errbuf *eb)
{
    return sto_docs_scan(r->engine, sto_doc_prefix(STO_DOC_PLAN), visit, r, eb);
}

/* --- changing --------------------------------------------------------------------------------- */

/* Checks the quota alone, then together with the fields that each tenant of the plan sets
 * itself. */
static enum err contradictions_check(const struct ten_registry *r, const struct ten_plan *plan,
                                     const struct ten_quota *quota, struct errbuf *eb)
{
    struct ten_quota nothing, held;
    ten_quota_default(&nothing);
    enum err rc = ten_quota_resolve(quota, &nothing, &held, eb);
    size_t left = plan == NULL ? 0 : plan->tenants;
    for (size_t i = 0; rc == ERR_OK && left > 0 && i < r->tenant_count; i++) {
        const struct ten_details *d = ten_tenant_details(r->sorted[i]);
        struct errbuf inner;
        if (d->plan != plan)
            continue;
        left--;
        if (d->quota.given != 0 && ten_quota_resolve(quota, &d->quota, &held, &inner) != ERR_OK)
            rc = base_fail(eb, ERR_INVALID, "with what tenant \"%s\" has of its own: %s",
                           r->sorted[i]->id, inner.text);
    }
    return rc;
}

static enum err commit(struct ten_registry *r, struct slice id, const struct ten_plan_terms *terms,
                       struct errbuf *eb)
{
    struct buf body;
    base_buf_init(&body, TEN_PLAN_DOC_MAX);
    enum err rc = ten_plan_encode(terms, &body);
    if (rc == ERR_OK) {
        struct ten_doc_key key = ten_doc_key_plan(id);
        struct sto_doc_change change = {
            .key = ten_doc_key_slice(&key),
            .body = base_buf_slice(&body),
            .expect = terms->doc_version, /* 0 is STO_DOC_ABSENT: a new one */
        };
        rc = ten_docs_commit(r, &change, 1, eb);
    } else {
        rc = base_fail(eb, rc, "the plan's document cannot be written: %s", base_err_name(rc));
    }
    base_buf_fini(&body);
    return rc;
}

/* Applies the new terms to all tenants of the plan. */
static void publish(struct ten_registry *r, struct ten_plan *plan,
                    struct ten_plan_terms *terms_take)
{
    struct ten_plan_terms *old =
        atomic_exchange_explicit(&plan->terms, terms_take, memory_order_acq_rel);
    base_epoch_retire(r->epoch, old, base_free);
    size_t left = plan->tenants;
    for (size_t i = 0; left > 0 && i < r->tenant_count; i++) {
        if (ten_tenant_details(r->sorted[i])->plan != plan)
            continue;
        left--;
        ten_tenant_apply(r->sorted[i]);
    }
    INVARIANT(left == 0);
}

enum err ten_plan_put(struct ten_registry *r, struct slice id, struct slice display_name,
                      const struct ten_quota *quota, struct ten_plan **out, struct errbuf *eb)
{
    size_t at;
    enum err rc = ten_plan_id_check(id, eb);
    struct ten_plan *plan = ten_plan_find(r, id);
    if (rc == ERR_OK)
        rc = base_text_check(display_name, LIM_DISPLAY_NAME, "the display name", eb);
    if (rc == ERR_OK)
        rc = ten_quota_check(quota, eb);
    if (rc == ERR_OK)
        rc = contradictions_check(r, plan, quota, eb);
    if (rc == ERR_OK) {
        ten_audit_set_target(id);
        ten_audit_set_quota(quota);
    }
    if (rc == ERR_OK && plan == NULL && r->plan_count == LIM_PLANS)
        rc = base_fail(eb, ERR_TOO_BIG, "there are %d plans, and there can be no more", LIM_PLANS);
    if (rc != ERR_OK)
        return rc;
    if (plan != NULL && ten_quota_equal(quota, &ten_plan_terms(plan)->quota) &&
        base_slice_is(display_name, ten_plan_terms(plan)->display_name)) {
        ten_audit_set_unchanged();
        *out = plan;
        return ERR_OK;
    }
    struct ten_plan_terms *terms = base_new(sizeof *terms);
    terms->quota = *quota;
    if (display_name.len > 0)
        memcpy(terms->display_name, display_name.ptr, display_name.len);
    terms->changed_us = base_wall_us();
    terms->created_us = plan == NULL ? terms->changed_us : ten_plan_terms(plan)->created_us;
    terms->doc_version = plan == NULL ? STO_DOC_ABSENT : ten_plan_terms(plan)->doc_version;
    rc = commit(r, id, terms, eb);
    if (rc != ERR_OK) {
        base_free(terms);
        return rc;
    }
    terms->doc_version++;
    if (plan == NULL) {
        plan = plan_new(id, terms);
        bool is_there = search(r, id, &at);
        INVARIANT(!is_there);
        insert(r, plan, at);
    } else {
        publish(r, plan, terms);
    }
    *out = plan;
    return ERR_OK;
}

enum err ten_plan_put_standard(struct ten_registry *r, struct errbuf *eb)
{
    struct ten_plan *plan;
    struct ten_quota quota;
    ten_quota_default(&quota);
    ten_quota_give_first(&quota);
    return ten_plan_put(r, SLICE_LIT(TEN_PLAN_STANDARD),
                        SLICE_LIT("of tenants that are made without a plan"), &quota, &plan, eb);
}

enum err ten_plan_delete(struct ten_registry *r, struct slice id, struct errbuf *eb)
{
    ten_control_check(r);
    size_t at;
    if (!search(r, id, &at))
        return base_fail(eb, ERR_NOT_FOUND, "there is no such plan");
    struct ten_plan *plan = r->plans[at];
    if (plan->tenants > 0)
        return base_fail(eb, ERR_CONFLICT, "%zu %s this plan; give them another first",
                         plan->tenants, plan->tenants == 1 ? "tenant has" : "tenants have");
    struct ten_doc_key key = ten_doc_key_plan(id);
    struct sto_doc_change change = {.key = ten_doc_key_slice(&key),
                                    .body = SLICE_EMPTY,
                                    .expect = ten_plan_terms(plan)->doc_version};
    ten_audit_set_target(id);
    enum err rc = ten_docs_commit(r, &change, 1, eb);
    if (rc != ERR_OK)
        return rc;
    r->plan_count--;
    memmove(r->plans + at, r->plans + at + 1, (r->plan_count - at) * sizeof r->plans[0]);
    base_epoch_retire(r->epoch, plan, plan_free);
    return ERR_OK;
}

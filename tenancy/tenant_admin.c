/*
 * tenancy/tenant_admin.c - creating tenants and changing their plans, quotas and states.
 *
 * Every change is one document written by ten_tenant_commit (tenant.c), which also makes it
 * visible. A tenant that is being offboarded is changed by its purge only.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "tenancy/audit.h"
#include "tenancy/audit_detail.h"
#include "tenancy/canary.h"
#include "tenancy/internal.h"
#include "tenancy/lifecycle.h"

#include "base/banned.h"

static enum err check_new(struct ten_registry *r, struct slice id, struct errbuf *eb)
{
    ten_control_check(r);
    enum err rc = sto_tenant_id_check(id, eb);
    if (rc == ERR_OK)
        ten_audit_set_tenant(id);
    if (rc == ERR_OK && base_tenant_id_is_reserved(id))
        rc = base_fail(eb, ERR_INVALID, "the ID \"%.*s\" is reserved", SLICE_ARGS(id));
    if (rc == ERR_OK && ten_tenant_find(r, id) != NULL)
        rc = base_fail(eb, ERR_EXISTS,
                       "a tenant of this ID exists or existed; IDs are never used again");
    return rc;
}

/* Copies the wanted properties into d; the display name into text, which must outlive d. */
static enum err take_wanted(const struct ten_registry *r, const struct ten_tenant_wanted *wanted,
                            char text[LIM_DISPLAY_NAME + 1], struct ten_details *d,
                            struct errbuf *eb)
{
    enum err rc = base_text_check(wanted->display_name, LIM_DISPLAY_NAME, "the display name", eb);
    if (rc == ERR_OK && wanted->quota != NULL)
        rc = ten_quota_check(wanted->quota, eb);
    if (rc != ERR_OK)
        return rc;
    if (wanted->display_name.ptr != NULL) {
        memcpy(text, wanted->display_name.ptr, wanted->display_name.len);
        text[wanted->display_name.len] = '\0';
        d->display_name = text;
    }
    if (wanted->plan.ptr != NULL) {
        d->plan = wanted->plan.len == 0 ? NULL : ten_plan_of(r, wanted->plan);
        if (d->plan == NULL && wanted->plan.len > 0)
            return base_fail(eb, ERR_NOT_FOUND, "there is no such plan");
    }
    if (wanted->quota != NULL)
        d->quota = *wanted->quota;
    ten_audit_set_wanted(wanted);
    struct ten_quota held;
    return ten_quota_resolve(d->plan == NULL ? NULL : &ten_plan_terms(d->plan)->quota, &d->quota,
                             &held, eb);
}

/* --- creating --------------------------------------------------------------------------------- */

static enum err create(struct ten_registry *r, struct slice id, struct ten_details *details,
                       struct ten_tenant **out, struct errbuf *eb)
{
    struct sto_cipher *cipher = NULL;
    enum err rc = details->is_encrypted ? ten_cipher_create(r, id, &cipher, eb) : ERR_OK;
    if (rc != ERR_OK)
        return rc;
    details->created_us = base_wall_us();
    details->state_since_us = details->created_us;
    struct ten_tenant *t = ten_tenant_new(id, TEN_ACTIVE, details);
    t->account.cipher = cipher;
    rc = ten_canaries_commit(r, t, details, eb);
    if (rc != ERR_OK) {
        ten_tenant_free(t);
        return rc == ERR_CONFLICT ? base_fail(eb, ERR_EXISTS, "a tenant of this ID is stored") : rc;
    }
    rc = ten_registry_add(r, t);
    INVARIANT(rc == ERR_OK);
    *out = t;
    return ERR_OK;
}

enum err ten_tenant_create(struct ten_registry *r, struct slice id,
                           const struct ten_tenant_wanted *wanted, struct ten_tenant **out,
                           struct errbuf *eb)
{
    char text[LIM_DISPLAY_NAME + 1];
    struct ten_details details = {.doc_version = 0,
                                  .is_encrypted = wanted->encrypted,
                                  .plan = ten_plan_of(r, SLICE_LIT(TEN_PLAN_STANDARD))};
    ten_quota_default(&details.quota);
    enum err rc = check_new(r, id, eb);
    if (rc == ERR_OK)
        rc = take_wanted(r, wanted, text, &details, eb);
    return rc == ERR_OK ? create(r, id, &details, out, eb) : rc;
}

enum err ten_tenant_create_keyless(struct ten_registry *r, struct slice id, struct slice instance,
                                   struct slice display_name, struct ten_tenant **out,
                                   struct errbuf *eb)
{
    char text[LIM_INSTANCE_ID + 1], display_text[LIM_DISPLAY_NAME + 1];
    const struct ten_tenant_wanted wanted = {.display_name = display_name};
    struct ten_details details = {
        .is_keyless = true, .instance = text, .plan = ten_plan_of(r, SLICE_LIT(TEN_PLAN_STANDARD))};
    ten_quota_default(&details.quota);
    ten_quota_give_keyless(&details.quota);
    enum err rc = base_text_check(instance, LIM_INSTANCE_ID, "the instance", eb);
    if (rc == ERR_OK && instance.len == 0)
        rc = base_fail(eb, ERR_INVALID, "the instance is empty");
    if (rc == ERR_OK)
        rc = check_new(r, id, eb);
    if (rc == ERR_OK)
        rc = take_wanted(r, &wanted, display_text, &details, eb);
    if (rc != ERR_OK)
        return rc;
    memcpy(text, instance.ptr, instance.len);
    text[instance.len] = '\0';
    return create(r, id, &details, out, eb);
}

/* --- changing --------------------------------------------------------------------------------- */

enum err ten_tenant_change(struct ten_registry *r, struct ten_tenant *t,
                           const struct ten_tenant_wanted *wanted, struct errbuf *eb)
{
    ten_control_check(r);
    char text[LIM_DISPLAY_NAME + 1];
    enum ten_state state = ten_tenant_state(t);
    enum err rc = ten_state_change_check(state, eb);
    if (rc != ERR_OK)
        return rc;
    const struct ten_details *old = ten_tenant_details(t);
    struct ten_details details = *old;
    rc = take_wanted(r, wanted, text, &details, eb);
    if (rc != ERR_OK)
        return rc;
    if (details.plan == old->plan && ten_quota_equal(&details.quota, &old->quota) &&
        strcmp(details.display_name, old->display_name) == 0) {
        ten_audit_set_unchanged();
        return ERR_OK;
    }
    return ten_tenant_commit(r, t, state, &details, NULL, 0, eb);
}

enum err ten_tenant_suspend(struct ten_registry *r, struct ten_tenant *t, uint32_t closed,
                            struct slice reason, struct errbuf *eb)
{
    ten_control_check(r);
    INVARIANT(closed != 0 && (closed & ~(STO_GATE_NO_READS | STO_GATE_NO_WRITES)) == 0);
    char text[LIM_REASON + 1];
    enum ten_state state = ten_tenant_state(t);
    enum err rc = base_text_check(reason, LIM_REASON, "the reason", eb);
    if (rc == ERR_OK)
        rc = ten_state_change_check(state, eb);
    if (rc != ERR_OK)
        return rc;
    struct ten_details wanted = *ten_tenant_details(t);
    if (state == TEN_SUSPENDED && wanted.closed == closed && base_slice_is(reason, wanted.reason)) {
        ten_audit_set_unchanged();
        return ERR_OK;
    }
    if (reason.len > 0)
        memcpy(text, reason.ptr, reason.len);
    text[reason.len] = '\0';
    wanted.reason = text;
    ten_audit_set_detail("closed=%s%s", (closed & STO_GATE_NO_READS) != 0 ? "reads " : "",
                         (closed & STO_GATE_NO_WRITES) != 0 ? "writes" : "");
    wanted.closed = (uint8_t)closed;
    if (state != TEN_SUSPENDED)
        wanted.state_since_us = base_wall_us();
    return ten_tenant_commit(r, t, TEN_SUSPENDED, &wanted, NULL, 0, eb);
}

enum err ten_tenant_resume(struct ten_registry *r, struct ten_tenant *t, struct errbuf *eb)
{
    ten_control_check(r);
    enum ten_state state = ten_tenant_state(t);
    enum err rc = ten_state_change_check(state, eb);
    if (rc == ERR_OK && state == TEN_ACTIVE)
        ten_audit_set_unchanged();
    if (rc != ERR_OK || state == TEN_ACTIVE)
        return rc;
    struct ten_details wanted = *ten_tenant_details(t);
    wanted.reason = "";
    wanted.state_since_us = base_wall_us();
    return ten_tenant_commit(r, t, TEN_ACTIVE, &wanted, NULL, 0, eb);
}

/*
 * tenancy/hold.c - a flag with its reason and author, kept in the tenant's document.
 */
#include "tenancy/hold.h"

#include "base/clock.h"
#include "base/text.h"
#include "tenancy/internal.h"
#include "tenancy/lifecycle.h"
#include "tenancy/tenant_doc.h"

#include "base/banned.h"

enum err ten_hold_check(const struct ten_tenant *t, struct errbuf *eb)
{
    const struct ten_hold *hold = ten_tenant_details(t)->hold;
    if (hold == NULL)
        return ERR_OK;
    return base_fail(eb, ERR_HELD,
                     "the tenant is under legal hold, set by %s%s: ask there and release it first",
                     hold->by[0] != '\0' ? "key " : "the server's operator", hold->by);
}

static enum err state_check(const struct ten_tenant *t, struct errbuf *eb)
{
    enum ten_state state = ten_tenant_state(t);
    if (!ten_state_is_final(state))
        return ERR_OK;
    return base_fail(eb, ERR_CONFLICT, "the tenant is %s; it is too late for a hold",
                     ten_state_name(state));
}

/* Stores the hold; NULL: removes it. */
static enum err commit(struct ten_registry *r, struct ten_tenant *t, const struct ten_hold *hold,
                       struct errbuf *eb)
{
    struct ten_details wanted = *ten_tenant_details(t);
    wanted.hold = hold;
    return ten_tenant_commit(r, t, ten_tenant_state(t), &wanted, NULL, 0, eb);
}

enum err ten_hold_set(struct ten_registry *r, struct ten_tenant *t, struct slice by,
                      struct slice reason, struct errbuf *eb)
{
    ten_control_check(r);
    struct ten_tenant_doc text; /* has space for both, up to the stored limits */
    enum err rc = base_text_check(by, sizeof text.hold_by - 1, "the holder", eb);
    if (rc == ERR_OK)
        rc = base_text_check(reason, LIM_REASON, "the reason", eb);
    if (rc == ERR_OK && reason.len == 0)
        rc = base_fail(eb, ERR_INVALID, "a hold needs a reason");
    if (rc == ERR_OK)
        rc = state_check(t, eb);
    if (rc != ERR_OK)
        return rc;
    const struct ten_hold *old = ten_tenant_details(t)->hold;
    if (old != NULL && base_slice_is(by, old->by) && base_slice_is(reason, old->reason)) {
        ten_audit_set_unchanged();
        return ERR_OK;
    }
    struct ten_hold hold = {.since_us = old != NULL ? old->since_us : base_wall_us(),
                            .by = text.hold_by,
                            .reason = text.hold_reason};
    memset(text.hold_by, 0, sizeof text.hold_by);
    memset(text.hold_reason, 0, sizeof text.hold_reason);
    if (by.len > 0)
        memcpy(text.hold_by, by.ptr, by.len);
    memcpy(text.hold_reason, reason.ptr, reason.len);
    rc = commit(r, t, &hold, eb);
    if (rc == ERR_OK)
        ten_grace_remove(r, t);
    return rc;
}

enum err ten_hold_release(struct ten_registry *r, struct ten_tenant *t, struct errbuf *eb)
{
    ten_control_check(r);
    enum err rc = state_check(t, eb);
    if (rc == ERR_OK && ten_tenant_details(t)->hold == NULL)
        rc = base_fail(eb, ERR_CONFLICT,
                       "the tenant is not under legal hold, so there is none to release: check the "
                       "tenant's ID");
    if (rc != ERR_OK)
        return rc;
    rc = commit(r, t, NULL, eb);
    if (rc == ERR_OK && ten_tenant_state(t) == TEN_DELETE_REQUESTED)
        ten_grace_add(r, t);
    return rc;
}

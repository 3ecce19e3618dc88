/*
 * tenancy/tenant_admin.c - creating tenants and changing what they may do.
 *
 * Every change is one document written by ten_tenant_commit (tenant.c), which also makes it
 * visible. A tenant that is leaving is changed by its purge alone.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "tenancy/internal.h"
#include "tenancy/lifecycle.h"

#include "base/banned.h"

/* Takes details. */
static enum err create(struct ten_registry *r, struct slice id, struct ten_details *details,
                       struct ten_tenant **out, struct errbuf *eb)
{
    details->created_us = base_wall_us();
    details->state_since_us = details->created_us;
    ten_quota_default(&details->quota);
    struct ten_details wanted = *details;
    struct ten_tenant *t = ten_tenant_new(id, TEN_ACTIVE, details);
    enum err rc = ten_tenant_commit(r, t, TEN_ACTIVE, &wanted, NULL, 0, eb);
    if (rc != ERR_OK) {
        ten_tenant_free(t);
        return rc == ERR_CONFLICT ? base_fail(eb, ERR_EXISTS, "a tenant of this ID is stored") : rc;
    }
    rc = ten_registry_add(r, t);
    INVARIANT(rc == ERR_OK);
    *out = t;
    return ERR_OK;
}

static enum err check_new(struct ten_registry *r, struct slice id, struct errbuf *eb)
{
    ten_control_check(r);
    enum err rc = sto_tenant_id_check(id, eb);
    if (rc == ERR_OK && ten_tenant_find(r, id) != NULL)
        rc = base_fail(eb, ERR_EXISTS,
                       "a tenant of this ID exists or existed; IDs are never used again");
    return rc;
}

enum err ten_tenant_create(struct ten_registry *r, struct slice id, struct slice display_name,
                           struct ten_tenant **out, struct errbuf *eb)
{
    enum err rc = base_text_check(display_name, LIM_DISPLAY_NAME, "the display name", eb);
    if (rc == ERR_OK)
        rc = check_new(r, id, eb);
    if (rc != ERR_OK)
        return rc;
    struct ten_details *details = base_new(sizeof *details);
    memcpy(details->display_name, display_name.len > 0 ? (const char *)display_name.ptr : "",
           display_name.len);
    return create(r, id, details, out, eb);
}

enum err ten_tenant_create_keyless(struct ten_registry *r, struct slice id, struct slice instance,
                                   struct ten_tenant **out, struct errbuf *eb)
{
    enum err rc = base_text_check(instance, LIM_INSTANCE_ID, "the instance", eb);
    if (rc == ERR_OK && instance.len == 0)
        rc = base_fail(eb, ERR_INVALID, "the instance is empty");
    if (rc == ERR_OK)
        rc = check_new(r, id, eb);
    if (rc != ERR_OK)
        return rc;
    struct ten_details *details = base_new(sizeof *details);
    details->is_keyless = true;
    memcpy(details->instance, instance.ptr, instance.len);
    return create(r, id, details, out, eb);
}

enum err ten_tenant_suspend(struct ten_registry *r, struct ten_tenant *t, struct slice reason,
                            struct errbuf *eb)
{
    ten_control_check(r);
    enum ten_state state = ten_tenant_state(t);
    enum err rc = base_text_check(reason, LIM_REASON, "the reason", eb);
    if (rc == ERR_OK)
        rc = ten_transition_check(state, TEN_SUSPENDED, eb);
    if (rc != ERR_OK)
        return rc;
    struct ten_details wanted = *ten_tenant_details(t);
    if (state == TEN_SUSPENDED && base_slice_is(reason, wanted.reason))
        return ERR_OK;
    memset(wanted.reason, 0, sizeof wanted.reason);
    if (reason.len > 0)
        memcpy(wanted.reason, reason.ptr, reason.len);
    if (state != TEN_SUSPENDED)
        wanted.state_since_us = base_wall_us();
    return ten_tenant_commit(r, t, TEN_SUSPENDED, &wanted, NULL, 0, eb);
}

enum err ten_tenant_resume(struct ten_registry *r, struct ten_tenant *t, struct errbuf *eb)
{
    ten_control_check(r);
    enum ten_state state = ten_tenant_state(t);
    enum err rc = ten_transition_check(state, TEN_ACTIVE, eb);
    if (rc != ERR_OK || state == TEN_ACTIVE)
        return rc;
    struct ten_details wanted = *ten_tenant_details(t);
    memset(wanted.reason, 0, sizeof wanted.reason);
    wanted.state_since_us = base_wall_us();
    return ten_tenant_commit(r, t, TEN_ACTIVE, &wanted, NULL, 0, eb);
}

enum err ten_tenant_set_quota(struct ten_registry *r, struct ten_tenant *t,
                              const struct ten_quota *quota, struct errbuf *eb)
{
    ten_control_check(r);
    enum ten_state state = ten_tenant_state(t);
    if (state != TEN_ACTIVE && state != TEN_SUSPENDED)
        return base_fail(eb, ERR_CONFLICT, "the tenant is %s; its quota cannot be changed",
                         ten_state_name(state));
    struct ten_details wanted = *ten_tenant_details(t);
    wanted.quota = *quota;
    enum err rc = ten_quota_settle(&wanted.quota, eb);
    if (rc != ERR_OK)
        return rc;
    return ten_tenant_commit(r, t, state, &wanted, NULL, 0, eb);
}

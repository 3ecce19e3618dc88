/*
 * gateway/action.c - the audit trail's view of a call.
 *
 * Until the caller may act for the tenant that it names, a refusal is recorded in the trail of the
 * tenant that the caller's key belongs to, so that no tenant finds other tenants' callers in its
 * trail.
 */
#include "gateway/action.h"

#include "gateway/call.h"
#include "tenancy/audit.h"

#include "base/banned.h"

static const char *kind_of(const struct gw_call *call)
{
    return call->who.key_id[0] == '\0' ? "development" : auth_kind_name(call->who.kind);
}

void gw_action_note_address(struct gw_call *call)
{
    struct gw_action *a = &call->action;
    if (a->has_address || call->ex == NULL)
        return;
    gw_exchange_peer(call->ex, a->address);
    a->has_address = true;
}

/* Appends an ID; an API key in the place of an ID is not recorded. */
void gw_action_target(struct gw_action *a, struct slice id)
{
    struct auth_key_parts parts;
    size_t used = strlen(a->target);
    bool is_secret = auth_key_parse(id, &parts) == ERR_OK;
    if (is_secret)
        id = SLICE_LIT("(an API key)");
    if (used > 0 && used + 1 < sizeof a->target)
        a->target[used++] = '/';
    size_t len = id.len < sizeof a->target - 1 - used ? id.len : sizeof a->target - 1 - used;
    if (len > 0)
        memcpy(a->target + used, id.ptr, len);
    a->target[used + len] = '\0';
}

struct ten_action gw_action_get(struct gw_call *call, const char *name)
{
    struct ten_action action = {
        .name = name,
        .actor = {.key_id = call->who.key_id,
                  .key_kind = kind_of(call),
                  .address = call->action.address},
    };
    gw_action_note_address(call);
    call->action.target[0] = '\0';
    call->protocol->name_action(call, &action.tenant);
    if (call->tenant != NULL)
        action.tenant = ten_tenant_id(call->tenant);
    action.target = base_slice_text(call->action.target);
    return action;
}

struct ten_action gw_action_take(struct gw_call *call)
{
    call->action.is_taken = true;
    return gw_action_get(call, call->action.name);
}

void gw_action_forget(struct gw_call *call)
{
    call->action.name = NULL;
}

static const char *outcome_of(int problem)
{
    return problem < ERR_COUNT ? base_err_name((enum err)problem) : gw_problem_get(problem)->code;
}

void gw_action_refused(struct gw_call *call, int problem)
{
    struct gw_action *a = &call->action;
    bool is_known = call->who.key_id[0] != '\0' || (call->ex != NULL && call->ex->is_plain);
    if (a->name == NULL || a->is_taken || a->is_elsewhere || !is_known)
        return;
    a->is_taken = true;
    struct ten_action action = gw_action_get(call, a->name);
    struct slice named = action.tenant;
    const struct ten_tenant *home = call->who.home;
    bool is_elsewhere = call->tenant == NULL && call->who.kind != AUTH_OPERATOR;
    if (is_elsewhere && home == NULL) /* of an unknown tenant: nothing would erase it */
        action.target = SLICE_EMPTY;
    if (is_elsewhere)
        action.tenant = home == NULL ? SLICE_EMPTY : ten_tenant_id(home);
    else if (named.len > 0 && ten_tenant_find(call->api->registry, named) == NULL)
        action.tenant = SLICE_EMPTY;
    if (action.target.len == 0 && !base_slice_equal(named, action.tenant)) {
        gw_action_target(a, named);
        action.target = base_slice_text(a->target);
    }
    ten_audit_refused(call->api->registry, &action, outcome_of(problem));
}

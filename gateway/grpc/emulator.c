/*
 * gateway/grpc/emulator.c - tenants of the plaintext listener, which takes the emulator's place.
 */
#include "gateway/grpc/emulator.h"

#include "base/banned.h"

#define NOT_HERE                                                                                   \
    "this project cannot be used without a key; those made at this listener can, each by its "     \
    "first use"

static bool is_here(const struct ten_tenant *tenant)
{
    return ten_tenant_details(tenant)->is_keyless;
}

static void act_for(struct gw_call *call, struct ten_tenant *tenant)
{
    call->tenant = tenant;
    call->who.kind = AUTH_TENANT;
    call->who.scopes = AUTH_SCOPES_TENANT;
}

/* Control thread. Another request may have been first. */
static enum err make(struct gw_call *call, struct errbuf *eb)
{
    const struct gw_resource *resource = &gw_rpc(call)->resource;
    struct ten_registry *registry = call->api->registry;
    struct ten_tenant *tenant = ten_tenant_find(registry, resource->project);
    enum err e = ERR_OK;
    if (tenant == NULL)
        e = ten_tenant_create_keyless(registry, resource->project,
                                      resource->instance.len == 0 ||
                                              base_slice_is(resource->instance, "-")
                                          ? base_slice_text(TEN_INSTANCE_DEFAULT)
                                          : resource->instance,
                                      &tenant, eb);
    else if (!is_here(tenant))
        e = base_fail(eb, ERR_FORBIDDEN, NOT_HERE);
    if (e == ERR_OK)
        act_for(call, tenant);
    return e;
}

static void made(struct gw_call *call)
{
    struct gw_rpc *rpc = gw_rpc(call);
    if (call->task.result != ERR_OK)
        gw_call_problem(call, (int)call->task.result, call->task.detail.text);
    else if (!gw_rpc_is_over(call))
        rpc->then(rpc);
}

bool gw_emulator_act_for(struct gw_rpc *rpc, void (*then)(struct gw_rpc *rpc))
{
    struct gw_call *call = &rpc->call;
    struct ten_tenant *tenant = ten_tenant_find(call->api->registry, rpc->resource.project);
    if (tenant == NULL) {
        rpc->then = then;
        gw_task_as(call, "tenant.create", make, made);
        return false;
    }
    if (!is_here(tenant)) {
        gw_call_problem(call, ERR_FORBIDDEN, NOT_HERE);
        return false;
    }
    act_for(call, tenant);
    return true;
}

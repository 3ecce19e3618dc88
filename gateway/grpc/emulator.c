/*
 * gateway/grpc/emulator.c - tenants of the plaintext listener, which takes the emulator's place.
 *
 * Each instance of a project is a tenant. The instance of a project that is named first has the
 * project's name as its ID, if that is a tenant ID (emulator_id.h), so that an existing tenant with
 * the project's name stays the same. All others have an ID computed from both names. A purge erases
 * the name of the tenant's instance: a purged tenant with the project's name as its ID no longer
 * belongs to any instance.
 */
#include "gateway/grpc/emulator.h"

#include <google/protobuf/empty.pb-c.h>
#include <stdio.h>

#include "base/text.h"
#include "gateway/grpc/emulator_id.h"
#include "tenancy/audit.h"
#include "tenancy/tenant_list.h"

#include "base/banned.h"

#define NOT_HERE                                                                                   \
    "this project cannot be used without a key; those made at this listener can, each by its "     \
    "first use"

/* The tenant of an instance, or the ID under which to create it. */
struct place {
    char id[LIM_TENANT_ID + 1];
    struct slice instance;
    bool is_made_id;           /* false: it is the project's name */
    struct ten_tenant *tenant; /* NULL: there is none yet */
};

static enum err check_here(const struct ten_tenant *tenant, struct errbuf *eb)
{
    if (tenant == NULL || ten_tenant_details(tenant)->is_keyless)
        return ERR_OK;
    return base_fail(eb, ERR_FORBIDDEN, NOT_HERE);
}

static bool is_instance_of(const struct ten_tenant *first, struct slice instance)
{
    bool is_erased = ten_tenant_details(first)->instance[0] == '\0';
    return !is_erased && base_slice_equal(ten_tenant_instance(first), instance);
}

static enum err place_find(struct ten_registry *registry, const struct gw_resource *of,
                           struct place *out, struct errbuf *eb)
{
    bool is_id = gw_emulator_is_tenant_id(of->project);
    struct ten_tenant *first = is_id ? ten_tenant_find(registry, of->project) : NULL;
    enum err e = check_here(first, eb);
    if (e != ERR_OK)
        return e;
    *out = (struct place){.instance = of->instance};
    if (of->instance.len == 0 || base_slice_is(of->instance, "-"))
        out->instance =
            first != NULL ? ten_tenant_instance(first) : base_slice_text(TEN_INSTANCE_DEFAULT);
    if (is_id && (first == NULL || is_instance_of(first, out->instance))) {
        memcpy(out->id, of->project.ptr, of->project.len);
        out->tenant = first;
        return ERR_OK;
    }
    gw_emulator_id_make(of->project, out->instance, out->id);
    out->is_made_id = true;
    out->tenant = ten_tenant_find(registry, base_slice_text(out->id));
    return check_here(out->tenant, eb);
}

static void act_for(struct gw_call *call, struct ten_tenant *tenant)
{
    call->tenant = tenant;
    call->who.kind = AUTH_TENANT;
    call->who.scopes = AUTH_SCOPES_TENANT;
}

/* --- all instances of a project ----------------------------------------------------------------
 */

#define PAGE_TENANTS 64

bool gw_emulator_names_all(const struct gw_rpc *rpc)
{
    return rpc->resource.instance.len == 0 || base_slice_is(rpc->resource.instance, "-");
}

static bool is_left(const struct ten_tenant *tenant)
{
    return ten_access_check(tenant, TEN_READ, NULL) != ERR_GONE;
}

/* Returns whether the tenant belongs to the project. The project's digest in the ID is short, so
 * the digest of the instance is compared. */
static bool is_of_project(const struct ten_tenant *tenant, struct slice project)
{
    char id[LIM_TENANT_ID + 1];
    gw_emulator_id_make(project, ten_tenant_instance(tenant), id);
    return base_slice_is(ten_tenant_id(tenant), id) && ten_tenant_details(tenant)->is_keyless;
}

enum err gw_emulator_tenants(struct gw_call *call, struct ten_tenant ***out, size_t *out_count,
                             struct errbuf *eb)
{
    struct ten_registry *registry = call->api->registry;
    struct slice project = gw_rpc(call)->resource.project;
    struct ten_listed page[PAGE_TENANTS];
    char id[LIM_TENANT_ID + 1];
    size_t count = 0, found = PAGE_TENANTS;
    struct ten_tenant *first =
        gw_emulator_is_tenant_id(project) ? ten_tenant_find(registry, project) : NULL;
    struct ten_tenant **list =
        base_arena_alloc(&call->arena, (LIM_INSTANCES + 1) * sizeof(struct ten_tenant *));
    enum err e = check_here(first, eb);
    if (e == ERR_OK && list == NULL)
        e = base_fail(eb, ERR_NO_MEMORY, "out of memory for the instances of the project");
    if (e != ERR_OK)
        return e;
    gw_emulator_id_make(project, SLICE_EMPTY, id);
    struct ten_list_wanted wanted = {.prefix = gw_emulator_id_prefix(id), .order = TEN_BY_ID};
    if (first != NULL && is_left(first))
        list[count++] = first;
    while (found == PAGE_TENANTS && count <= LIM_INSTANCES) {
        found = ten_tenant_list_page(registry, &wanted, page, PAGE_TENANTS);
        for (size_t i = 0; i < found && count <= LIM_INSTANCES; i++)
            if (is_left(page[i].tenant) && is_of_project(page[i].tenant, project))
                list[count++] = page[i].tenant;
        if (found > 0) {
            wanted.has_after = true;
            wanted.after_id = ten_tenant_id(page[found - 1].tenant);
        }
    }
    *out = list;
    *out_count = count;
    return ERR_OK;
}

/* --- creating or finding -----------------------------------------------------------------------
 */

static enum err check_room(struct gw_call *call, struct errbuf *eb)
{
    struct ten_tenant **tenants;
    size_t count = 0;
    enum err e = gw_emulator_tenants(call, &tenants, &count, eb);
    if (e == ERR_OK && count >= LIM_INSTANCES)
        return base_fail(eb, ERR_QUOTA,
                         "the project has %d instances, with those that were deleted, which is the "
                         "limit; an operator can offboard some",
                         LIM_INSTANCES);
    return e;
}

/* Creates the tenant. If its ID is computed, its display name tells operators which project and
 * instance it belongs to. */
static enum err create(struct gw_call *call, const struct place *place, struct ten_tenant **out,
                       struct errbuf *eb)
{
    const struct gw_resource *of = &gw_rpc(call)->resource;
    char name[LIM_DISPLAY_NAME + 1];
    enum err e = base_text_check(of->project, LIM_PROJECT, "the project", eb);
    if (e == ERR_OK)
        e = base_text_check(place->instance, LIM_INSTANCE_ID, "the instance", eb);
    if (e == ERR_OK)
        e = check_room(call, eb);
    if (e != ERR_OK)
        return e;
    int len = snprintf(name, sizeof name, "projects/%.*s/instances/%.*s", SLICE_ARGS(of->project),
                       SLICE_ARGS(place->instance));
    INVARIANT(len > 0 && (size_t)len < sizeof name);
    return ten_tenant_create_keyless(
        call->api->registry, base_slice_text(place->id), place->instance,
        place->is_made_id ? base_slice_text(name) : SLICE_EMPTY, out, eb);
}

/* Creates the tenant, unless another request was faster; on the control thread. */
static enum err make(struct gw_call *call, struct errbuf *eb)
{
    struct gw_rpc *rpc = gw_rpc(call);
    struct place place;
    struct ten_tenant *tenant = NULL;
    enum err e = place_find(call->api->registry, &rpc->resource, &place, eb);
    if (e != ERR_OK)
        return e;
    tenant = place.tenant;
    if (tenant != NULL)
        ten_audit_set_unchanged();
    else
        e = create(call, &place, &tenant, eb);
    if (e == ERR_OK)
        act_for(call, tenant);
    return e;
}

static void made(struct gw_call *call)
{
    struct gw_rpc *rpc = gw_rpc(call);
    if (call->task.result != ERR_OK)
        gw_call_problem(call, (int)call->task.result, call->task.detail.text);
    else if (gw_rpc_goes_on(call))
        rpc->then(rpc);
}

/* Selects the first tenant that can be read, or else any; on the control thread. */
static enum err find_any(struct gw_call *call, struct errbuf *eb)
{
    struct ten_tenant **tenants;
    size_t count = 0, at = 0;
    enum err e = gw_emulator_tenants(call, &tenants, &count, eb);
    if (e != ERR_OK || count == 0)
        return e;
    while (at + 1 < count && ten_access_check(tenants[at], TEN_READ, NULL) != ERR_OK)
        at++;
    act_for(call, tenants[at]);
    return ERR_OK;
}

static void any_found(struct gw_call *call)
{
    Google__Protobuf__Empty nothing = GOOGLE__PROTOBUF__EMPTY__INIT;
    if (call->task.result == ERR_OK && call->tenant == NULL)
        gw_rpc_reply(call, &nothing.base);
    else
        made(call);
}

bool gw_emulator_act_for(struct gw_rpc *rpc, void (*then)(struct gw_rpc *rpc))
{
    struct gw_call *call = &rpc->call;
    struct place place;
    struct errbuf eb;
    eb.text[0] = '\0';
    rpc->resource.is_exact = true;
    rpc->then = then;
    if (rpc->method->finds && gw_emulator_names_all(rpc)) {
        if (rpc->method->audit != NULL)
            gw_call_problem(call, ERR_INVALID, "the name of an instance is needed, not \"-\"");
        else
            gw_task_on_control(call, find_any, any_found);
        return false;
    }
    enum err e = place_find(call->api->registry, &rpc->resource, &place, &eb);
    if (e == ERR_OK && place.tenant == NULL && rpc->method->finds)
        e = base_fail(&eb, ERR_NOT_FOUND, "there is no such instance; CreateInstance makes it");
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return false;
    }
    if (place.tenant == NULL) {
        memcpy(rpc->tenant_id, place.id, sizeof place.id);
        gw_task_as(call, "tenant.create", make, made);
        return false;
    }
    act_for(call, place.tenant);
    return true;
}

/*
 * gateway/grpc/view_admin.c - BigtableTableAdmin: create, list, describe, change, delete authorized
 * views.
 */
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "base/clock.h"
#include "gateway/grpc/handlers.h"
#include "gateway/grpc/list_page.h"
#include "gateway/grpc/operation.h"
#include "gateway/grpc/time_proto.h"
#include "gateway/grpc/view_proto.h"
#include "tenancy/views.h"

#include "base/banned.h"

/* The change of a task, and its result for the response. */
struct change {
    struct sto_view_spec spec;
    struct ten_view_change update;
    Bta__AuthorizedView *view;
    int64_t began_us;
};

static bool refused(struct gw_call *call, enum err code, const struct errbuf *eb)
{
    if (code != ERR_OK)
        gw_call_problem(call, (int)code, eb->text);
    return code != ERR_OK;
}

static struct change *change_new(struct gw_call *call)
{
    struct change *c = gw_call_new_state(call, sizeof *c, NULL);
    c->began_us = base_wall_us();
    return c;
}

/* Describes the view as it is now, and releases its ref; on the control thread. */
static enum err describe(struct gw_call *call, struct sto_view *view_take, struct errbuf *eb)
{
    struct change *c = call->state;
    enum err e =
        gw_view_to_proto(view_take, &gw_rpc(call)->resource,
                         BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__FULL, &call->arena, &c->view, eb);
    sto_view_unref(view_take);
    return e;
}

/* --- create ------------------------------------------------------------------------------------
 */

/* Creates the view; on the control thread. */
static enum err create(struct gw_call *call, struct errbuf *eb)
{
    const struct change *c = call->state;
    const struct gw_resource *of = &gw_rpc(call)->resource;
    struct sto_view *view = NULL;
    enum err e = ten_view_create(call->api->registry, call->tenant, of->table, of->leaf, &c->spec,
                                 &view, eb);
    return e == ERR_OK ? describe(call, view, eb) : e;
}

static void reply_create(struct gw_call *call)
{
    const struct change *c = call->state;
    Bta__CreateAuthorizedViewMetadata metadata = BTA__CREATE_AUTHORIZED_VIEW_METADATA__INIT;
    Google__Protobuf__Timestamp began, ended;
    gw_time_to_proto(c->began_us, &began);
    gw_time_to_proto(base_wall_us(), &ended);
    /* protobuf-c only reads what it packs. */
    metadata.original_request =
        (Bta__CreateAuthorizedViewRequest *)(uintptr_t)gw_rpc(call)->request;
    metadata.request_time = &began;
    metadata.finish_time = &ended;
    gw_operation_reply(call, "create-view", &metadata.base, &c->view->base);
}

void gw_admin_create_view(struct gw_call *call)
{
    struct gw_rpc *rpc = gw_rpc(call);
    const Bta__CreateAuthorizedViewRequest *request = (const void *)rpc->request;
    struct change *c = change_new(call);
    struct errbuf eb;
    eb.text[0] = '\0';
    rpc->resource.kind = GW_RESOURCE_VIEW;
    rpc->resource.leaf = base_slice_text(request->authorized_view_id);
    enum err e = sto_view_id_check(rpc->resource.leaf, &eb);
    if (e == ERR_OK)
        e = gw_view_from_proto(request->authorized_view, &call->arena, &c->spec, &eb);
    if (!refused(call, e, &eb))
        gw_rpc_on_control(call, create, reply_create);
}

/* --- describe ----------------------------------------------------------------------------------
 */

/* Describes a view. A request without a specific form gets the whole view: the Go and Java clients
 * send such requests and expect the subset, although the request's description says BASIC. */
void gw_admin_get_view(struct gw_call *call)
{
    struct gw_rpc *rpc = gw_rpc(call);
    const Bta__GetAuthorizedViewRequest *request = (const void *)rpc->request;
    Bta__AuthorizedView__ResponseView wanted =
        request->view == BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__RESPONSE_VIEW_UNSPECIFIED
            ? BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__FULL
            : request->view;
    Bta__AuthorizedView *view = NULL;
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = gw_view_to_proto(rpc->view, &rpc->resource, wanted, &call->arena, &view, &eb);
    if (!refused(call, e, &eb))
        gw_rpc_reply(call, &view->base);
}

/* --- list --------------------------------------------------------------------------------------
 */

static enum err fill_page(struct gw_call *call, const Bta__ListAuthorizedViewsRequest *request,
                          Bta__ListAuthorizedViewsResponse *reply, struct errbuf *eb)
{
    const struct gw_resource *of = &gw_rpc(call)->resource;
    const struct sto_view_list *list = ten_views_of(call->scope.schema);
    const struct gw_page_context context = {
        .parts = {SLICE_LIT("ListAuthorizedViews"), ten_tenant_id(call->tenant), of->table},
        .count = 3};
    Bta__AuthorizedView__ResponseView wanted =
        request->view == BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__RESPONSE_VIEW_UNSPECIFIED
            ? BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__NAME_ONLY
            : request->view;
    size_t count = list == NULL ? 0 : list->count;
    size_t most = request->page_size > 0 ? (size_t)request->page_size : count;
    size_t at = 0, before = call->arena.used;
    struct slice last;
    enum err e = gw_list_page_open(call, &context, request->page_token, &last, eb);
    if (e == ERR_OK && last.len > 0 && sto_view_list_search(list, last, &at))
        at++;
    reply->authorized_views =
        base_arena_alloc(&call->arena, (count + 1) * sizeof(*reply->authorized_views));
    if (e == ERR_OK && reply->authorized_views == NULL)
        e = base_fail(eb, ERR_NO_MEMORY, "out of memory for the list");
    for (; e == ERR_OK && at < count && reply->n_authorized_views < most &&
           call->arena.used - before < GW_LIST_PAGE_BYTES;
         at++)
        e = gw_view_to_proto(list->views[at], of, wanted, &call->arena,
                             &reply->authorized_views[reply->n_authorized_views++], eb);
    if (e == ERR_OK && at < count)
        e = gw_list_page_end(call, &context, sto_view_id(list->views[at - 1]),
                             &reply->next_page_token, eb);
    return e;
}

void gw_admin_list_views(struct gw_call *call)
{
    const Bta__ListAuthorizedViewsRequest *request = (const void *)gw_rpc(call)->request;
    Bta__ListAuthorizedViewsResponse reply = BTA__LIST_AUTHORIZED_VIEWS_RESPONSE__INIT;
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = request->page_size < 0
                     ? base_fail(&eb, ERR_INVALID, "page_size is %d", request->page_size)
                     : fill_page(call, request, &reply, &eb);
    if (refused(call, e, &eb))
        return;
    gw_call_handled(call, protobuf_c_message_get_packed_size(&reply.base));
    gw_rpc_reply(call, &reply.base);
}

/* --- change ------------------------------------------------------------------------------------
 */

/* Changes the view; on the control thread. */
static enum err update(struct gw_call *call, struct errbuf *eb)
{
    const struct change *c = call->state;
    const struct gw_resource *of = &gw_rpc(call)->resource;
    struct sto_view *view = NULL;
    enum err e = ten_view_update(call->api->registry, call->tenant, of->table, of->leaf, &c->update,
                                 &view, eb);
    return e == ERR_OK ? describe(call, view, eb) : e;
}

static void reply_update(struct gw_call *call)
{
    const struct change *c = call->state;
    Bta__UpdateAuthorizedViewMetadata metadata = BTA__UPDATE_AUTHORIZED_VIEW_METADATA__INIT;
    Google__Protobuf__Timestamp began, ended;
    gw_time_to_proto(c->began_us, &began);
    gw_time_to_proto(base_wall_us(), &ended);
    metadata.original_request =
        (Bta__UpdateAuthorizedViewRequest *)(uintptr_t)gw_rpc(call)->request; /* as above */
    metadata.request_time = &began;
    metadata.finish_time = &ended;
    gw_operation_reply(call, "update-view", &metadata.base, &c->view->base);
}

struct wanted {
    bool subset;
    bool protected;
};

/* Reads the mask. Without a mask, every field that is set in the message counts. */
static enum err read_mask(const Bta__UpdateAuthorizedViewRequest *request, struct wanted *out,
                          struct errbuf *eb)
{
    const Google__Protobuf__FieldMask *mask = request->update_mask;
    const Bta__AuthorizedView *view = request->authorized_view;
    *out = (struct wanted){0};
    if (mask == NULL || mask->n_paths == 0) {
        out->subset =
            view->authorized_view_case == BTA__AUTHORIZED_VIEW__AUTHORIZED_VIEW_SUBSET_VIEW;
        out->protected = view->deletion_protection != 0;
        return ERR_OK;
    }
    for (size_t i = 0; i < mask->n_paths; i++) {
        const char *path = mask->paths[i];
        bool is_all = strcmp(path, "*") == 0;
        bool is_subset = strcmp(path, "subset_view") == 0;
        bool is_protected = strcmp(path, "deletion_protection") == 0;
        if (!is_all && !is_subset && !is_protected)
            return base_fail(
                eb, ERR_INVALID,
                "update_mask may name subset_view, deletion_protection or *, not \"%s\"", path);
        out->subset |= is_all || is_subset;
        out->protected |= is_all || is_protected;
    }
    return ERR_OK;
}

void gw_admin_update_view(struct gw_call *call)
{
    const Bta__UpdateAuthorizedViewRequest *request = (const void *)gw_rpc(call)->request;
    struct change *c = change_new(call);
    struct wanted wanted;
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = read_mask(request, &wanted, &eb);
    if (e == ERR_OK && wanted.subset)
        e = gw_view_from_proto(request->authorized_view, &call->arena, &c->spec, &eb);
    if (wanted.subset)
        c->update.spec = &c->spec;
    c->update.etag = base_slice_text(request->authorized_view->etag);
    c->update.has_protected = wanted.protected;
    c->update.protected = request->authorized_view->deletion_protection != 0;
    if (!refused(call, e, &eb))
        gw_rpc_on_control(call, update, reply_update);
}

/* --- delete ------------------------------------------------------------------------------------
 */

/* Deletes the view; on the control thread. */
static enum err remove_view(struct gw_call *call, struct errbuf *eb)
{
    const struct gw_rpc *rpc = gw_rpc(call);
    const Bta__DeleteAuthorizedViewRequest *request = (const void *)rpc->request;
    return ten_view_delete(call->api->registry, call->tenant, rpc->resource.table,
                           rpc->resource.leaf, base_slice_text(request->etag), eb);
}

static void reply_delete(struct gw_call *call)
{
    Google__Protobuf__Empty nothing = GOOGLE__PROTOBUF__EMPTY__INIT;
    gw_rpc_reply(call, &nothing.base);
}

void gw_admin_delete_view(struct gw_call *call)
{
    gw_rpc_on_control(call, remove_view, reply_delete);
}

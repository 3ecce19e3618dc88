/*
 * gateway/grpc/operations.c - google.longrunning.Operations: finished work, and work in progress.
 *
 * Nothing is stored about work that is finished when it is answered: the ID names its subject,
 * "update-table:devices", "create-view:devices:public" or "create-instance", and a request for the
 * operation returns that object as it is now. Work on backups has an ID from migrations/, is stored
 * there, and is described by gateway/grpc/backup_operation.c.
 */
#include "gateway/grpc/operation.h"

#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <google/longrunning/operations.pb-c.h>

#include "gateway/grpc/backup_operation.h"
#include "gateway/grpc/handlers.h"
#include "gateway/grpc/instance_state.h"
#include "gateway/grpc/list_page.h"
#include "gateway/grpc/table_proto.h"
#include "gateway/grpc/view_proto.h"
#include "tenancy/views.h"

#include "base/banned.h"

#define TYPE_URL  "type.googleapis.com/"
#define SEPARATOR ':'

static const char no_operation[] = "there is no such operation";
static const char no_memory[] = "out of memory for the operation";

/* --- answering ---------------------------------------------------------------------------------
 */

Google__Protobuf__Any *gw_operation_wrap(struct arena *arena, const ProtobufCMessage *message)
{
    size_t bytes = protobuf_c_message_get_packed_size(message);
    size_t name_len = strlen(message->descriptor->name);
    Google__Protobuf__Any *any = gw_proto_new(arena, &google__protobuf__any__descriptor);
    uint8_t *packed = base_arena_alloc(arena, bytes + 1);
    char *url = base_arena_alloc(arena, sizeof TYPE_URL + name_len);
    if (any == NULL || packed == NULL || url == NULL)
        return NULL;
    memcpy(stpcpy(url, TYPE_URL), message->descriptor->name, name_len + 1);
    any->type_url = url;
    any->value.data = packed;
    any->value.len = protobuf_c_message_pack(message, packed);
    return any;
}

static char *make_name(struct gw_call *call, struct slice id)
{
    struct gw_resource name = gw_rpc(call)->resource;
    name.kind = GW_RESOURCE_OPERATION;
    name.leaf = id;
    return gw_resource_name(&call->arena, &name);
}

static void reply(struct gw_call *call, struct slice id, const ProtobufCMessage *metadata,
                  const ProtobufCMessage *response)
{
    Lro__Operation operation = LRO__OPERATION__INIT;
    operation.name = make_name(call, id);
    operation.done = true;
    operation.result_case = LRO__OPERATION__RESULT_RESPONSE;
    operation.response = gw_operation_wrap(&call->arena, response);
    if (metadata != NULL)
        operation.metadata = gw_operation_wrap(&call->arena, metadata);
    bool is_made = operation.name != NULL && operation.response != NULL &&
                   (metadata == NULL || operation.metadata != NULL);
    if (is_made)
        gw_rpc_reply(call, &operation.base);
    else
        gw_call_problem(call, ERR_NO_MEMORY, no_memory);
}

void gw_operation_reply(struct gw_call *call, const char *kind, const ProtobufCMessage *metadata,
                        const ProtobufCMessage *response)
{
    const struct gw_resource *about = &gw_rpc(call)->resource;
    struct buf id;
    base_buf_init(&id, LIM_ROW_KEY);
    struct slice first = about->kind == GW_RESOURCE_CLUSTER       ? about->cluster
                         : about->kind == GW_RESOURCE_APP_PROFILE ? about->leaf
                                                                  : about->table;
    (void)base_buf_append_text(&id, kind); /* latches, like the next two */
    if (about->kind != GW_RESOURCE_INSTANCE)
        (void)base_buf_printf(&id, "%c%.*s", SEPARATOR, SLICE_ARGS(first));
    if (about->kind == GW_RESOURCE_VIEW)
        (void)base_buf_printf(&id, "%c%.*s", SEPARATOR, SLICE_ARGS(about->leaf));
    struct slice kept = base_arena_copy(&call->arena, base_buf_slice(&id));
    bool is_made = id.error == ERR_OK && kept.ptr != NULL;
    base_buf_fini(&id);
    if (is_made)
        reply(call, kept, metadata, response);
    else
        gw_call_problem(call, ERR_NO_MEMORY, no_memory);
}

/* --- later requests for an operation -----------------------------------------------------------
 */

/* The subject of an ID. */
struct subject {
    enum gw_resource_kind kind; /* NONE: no operation of this server has such an ID */
    struct slice id;            /* of the table, cluster or profile */
    struct slice view;
};

static const struct {
    const char *name;
    enum gw_resource_kind about;
} KINDS[] = {
    {"update-table", GW_RESOURCE_TABLE},       {"create-view", GW_RESOURCE_VIEW},
    {"update-view", GW_RESOURCE_VIEW},         {"create-instance", GW_RESOURCE_INSTANCE},
    {"update-instance", GW_RESOURCE_INSTANCE}, {"create-cluster", GW_RESOURCE_CLUSTER},
    {"update-cluster", GW_RESOURCE_CLUSTER},   {"update-app-profile", GW_RESOURCE_APP_PROFILE},
};
#define KIND_COUNT (sizeof KINDS / sizeof KINDS[0])

/* Returns the part before the next separator, and skips the separator; everything when there is
 * none. */
static struct slice take_part(struct slice *rest)
{
    const uint8_t *end = rest->len == 0 ? NULL : memchr(rest->ptr, SEPARATOR, rest->len);
    struct slice part = *rest;
    if (end == NULL) {
        *rest = SLICE_EMPTY;
        return part;
    }
    part.len = (size_t)(end - rest->ptr);
    *rest = base_slice_skip(*rest, part.len + 1);
    return part;
}

static struct subject subject_of(struct slice id)
{
    struct subject none = {.kind = GW_RESOURCE_NONE}, s = none;
    struct slice kind = take_part(&id);
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (base_slice_is(kind, KINDS[i].name))
            s.kind = KINDS[i].about;
    bool has_id = s.kind != GW_RESOURCE_INSTANCE, has_view = s.kind == GW_RESOURCE_VIEW;
    if (has_id)
        s.id = take_part(&id);
    if (has_view)
        s.view = take_part(&id);
    bool is_one = has_id == (s.id.len > 0) && has_view == (s.view.len > 0) && id.len == 0;
    return is_one ? s : none;
}

/* Returns whether the subject is an instance, or a part of one. */
static bool is_of_instance(const struct subject *s)
{
    return s->kind == GW_RESOURCE_INSTANCE || s->kind == GW_RESOURCE_CLUSTER ||
           s->kind == GW_RESOURCE_APP_PROFILE;
}

static enum err describe_view(struct gw_call *call, const struct subject *s,
                              const ProtobufCMessage **out, struct errbuf *eb)
{
    struct gw_resource of = gw_rpc(call)->resource;
    struct sto_view *view = NULL;
    Bta__AuthorizedView *message = NULL;
    of.table = s->id;
    enum err e = ten_view_find(call->scope.schema, s->view, &view, eb);
    if (e != ERR_OK)
        return e;
    e = gw_view_to_proto(view, &of, BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__FULL, &call->arena,
                         &message, eb);
    sto_view_unref(view);
    if (e == ERR_OK)
        *out = &message->base;
    return e;
}

static enum err describe_table(struct gw_call *call, const ProtobufCMessage **out,
                               struct errbuf *eb)
{
    Bta__Table *table = NULL;
    enum err e = gw_table_to_proto(call->scope.schema, &gw_rpc(call)->resource,
                                   BTA__TABLE__VIEW__SCHEMA_VIEW, &call->arena, &table, eb);
    if (e == ERR_OK)
        *out = &table->base;
    return e;
}

/* Reads the part; on the control thread. */
static enum err get_part(struct gw_call *call, struct errbuf *eb)
{
    struct subject s = subject_of(gw_rpc(call)->resource.leaf);
    enum err e = gw_instance_part(call, s.kind, s.id, eb);
    return e == ERR_NOT_FOUND ? base_fail(eb, e, no_operation) : e;
}

static void reply_part(struct gw_call *call)
{
    reply(call, gw_rpc(call)->resource.leaf, NULL, call->state);
}

static void get_done(struct gw_call *call)
{
    struct slice id = gw_rpc(call)->resource.leaf;
    struct subject s = subject_of(id);
    const ProtobufCMessage *response = NULL;
    struct errbuf eb;
    eb.text[0] = '\0';
    if (is_of_instance(&s) && ten_tenant_details(call->tenant)->is_keyless) {
        gw_rpc_on_control(call, get_part, reply_part);
        return;
    }
    bool is_of_table = s.kind == GW_RESOURCE_TABLE || s.kind == GW_RESOURCE_VIEW;
    enum err e = is_of_table ? gw_call_enter_table(call, s.id, &eb) : ERR_NOT_FOUND;
    if (e == ERR_OK)
        e = s.kind == GW_RESOURCE_VIEW ? describe_view(call, &s, &response, &eb)
                                       : describe_table(call, &response, &eb);
    if (e == ERR_NOT_FOUND)
        gw_call_problem(call, ERR_NOT_FOUND, no_operation);
    else if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        reply(call, id, NULL, response);
}

/* --- work on backups ----------------------------------------------------------------------------
 */

static void reply_operation(struct gw_call *call)
{
    const Lro__Operation *operation = call->state;
    gw_rpc_reply(call, &operation->base);
}

/* Reads the operation; on the control thread. */
static enum err get_work(struct gw_call *call, struct errbuf *eb)
{
    return gw_backup_operation_get(call, gw_rpc(call)->resource.leaf, eb);
}

static bool is_work(const struct gw_call *call)
{
    return mig_backup_id_is_valid(gw_rpc(call)->resource.leaf);
}

void gw_operation_get(struct gw_call *call)
{
    if (is_work(call))
        gw_rpc_on_control(call, get_work, reply_operation);
    else
        get_done(call);
}

static void reply_nothing(struct gw_call *call)
{
    Google__Protobuf__Empty nothing = GOOGLE__PROTOBUF__EMPTY__INIT;
    gw_rpc_reply(call, &nothing.base);
}

/* Cancels the operation; on the control thread. */
static enum err cancel_work(struct gw_call *call, struct errbuf *eb)
{
    return mig_operation_cancel(call->api->backups, call->tenant, gw_rpc(call)->resource.leaf, eb);
}

static enum err forget_work(struct gw_call *call, struct errbuf *eb)
{
    return mig_operation_forget(call->api->backups, call->tenant, gw_rpc(call)->resource.leaf, eb);
}

/* Cancels or deletes an operation. Of finished work nothing is stored, so there is nothing to
 * cancel or delete. */
static void change(struct gw_call *call, enum err (*work)(struct gw_call *, struct errbuf *))
{
    if (is_work(call)) {
        gw_rpc_on_control(call, work, reply_nothing);
        return;
    }
    gw_action_forget(call);
    if (subject_of(gw_rpc(call)->resource.leaf).kind == GW_RESOURCE_NONE)
        gw_call_problem(call, ERR_NOT_FOUND, no_operation);
    else
        reply_nothing(call);
}

void gw_operation_cancel(struct gw_call *call)
{
    change(call, cancel_work);
}

void gw_operation_forget(struct gw_call *call)
{
    change(call, forget_work);
}

/* --- the list -----------------------------------------------------------------------------------
 */

/* Lists operations, newest first, because IDs grow with time; on the control thread. */
static enum err list_work(struct gw_call *call, struct errbuf *eb)
{
    const Lro__ListOperationsRequest *request = (const void *)gw_rpc(call)->request;
    Lro__ListOperationsResponse *reply = call->state;
    struct slice tenant = ten_tenant_id(call->tenant), last;
    const struct gw_page_context context = {.parts = {SLICE_LIT("ListOperations"), tenant},
                                            .count = 2};
    size_t most = request->page_size > 0 ? (size_t)request->page_size : LIM_OPERATIONS_KEPT;
    struct mig_operation *all = base_arena_alloc(&call->arena, LIM_OPERATIONS_KEPT * sizeof *all);
    reply->operations =
        base_arena_alloc(&call->arena, LIM_OPERATIONS_KEPT * sizeof(*reply->operations));
    if (all == NULL || reply->operations == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for the list");
    enum err e = gw_list_page_open(call, &context, request->page_token, &last, eb);
    size_t count = mig_operation_list(call->api->backups, tenant, all, LIM_OPERATIONS_KEPT);
    size_t at = 0;
    while (last.len > 0 && at < count && base_slice_compare(base_slice_text(all[at].id), last) >= 0)
        at++;
    for (; e == ERR_OK && at < count && reply->n_operations < most; at++)
        e = gw_backup_operation_to_proto(call, &all[at], &reply->operations[reply->n_operations++],
                                         eb);
    if (e == ERR_OK && at < count)
        e = gw_list_page_end(call, &context, base_slice_text(all[at - 1].id),
                             &reply->next_page_token, eb);
    return e;
}

static void reply_list(struct gw_call *call)
{
    const Lro__ListOperationsResponse *reply = call->state;
    gw_rpc_reply(call, &reply->base);
}

void gw_operation_list(struct gw_call *call)
{
    const Lro__ListOperationsRequest *request = (const void *)gw_rpc(call)->request;
    Lro__ListOperationsResponse *reply = gw_call_new_state(call, sizeof *reply, NULL);
    lro__list_operations_response__init(reply);
    if (request->filter[0] != '\0')
        gw_call_problem(call, ERR_UNSUPPORTED, "filter: operations are listed all");
    else if (request->page_size < 0)
        gw_call_refuse(call, ERR_INVALID, "page_size is %d", request->page_size);
    else
        gw_rpc_on_control(call, list_work, reply_list);
}

/*
 * gateway/grpc/operations.c - google.longrunning.Operations: what was done, and done it is.
 *
 * Nothing is kept of an operation: its ID says what it was about, "update-table:devices" or
 * "create-view:devices:public", and asking for it again answers with that thing as it is now.
 */
#include "gateway/grpc/operation.h"

#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <google/longrunning/operations.pb-c.h>
#include <google/protobuf/any.pb-c.h>

#include "gateway/grpc/handlers.h"
#include "gateway/grpc/table_proto.h"
#include "gateway/grpc/view_proto.h"
#include "tenancy/views.h"

#include "base/banned.h"

#define TYPE_URL  "type.googleapis.com/"
#define SEPARATOR ':'
#define US_PER_S  1000000

static const char no_memory[] = "out of memory for the operation";

/* --- answering ---------------------------------------------------------------------------------
 */

static Google__Protobuf__Any *wrap(struct arena *arena, const ProtobufCMessage *message)
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
    operation.response = wrap(&call->arena, response);
    if (metadata != NULL)
        operation.metadata = wrap(&call->arena, metadata);
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
    (void)base_buf_printf(&id, "%s%c%.*s", kind, SEPARATOR, SLICE_ARGS(about->table)); /* latches */
    if (about->kind == GW_RESOURCE_VIEW)
        (void)base_buf_printf(&id, "%c%.*s", SEPARATOR, SLICE_ARGS(about->leaf)); /* latches */
    struct slice kept = base_arena_copy(&call->arena, base_buf_slice(&id));
    bool is_made = id.error == ERR_OK && kept.ptr != NULL;
    base_buf_fini(&id);
    if (is_made)
        reply(call, kept, metadata, response);
    else
        gw_call_problem(call, ERR_NO_MEMORY, no_memory);
}

/* --- asking again ------------------------------------------------------------------------------
 */

/* What an ID is about; table.ptr NULL: no operation of this server has such a one. */
struct subject {
    struct slice table;
    struct slice view; /* ptr NULL: the table itself */
};

/* What lies before the next separator, which is skipped; all when there is none. */
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
    struct subject none = {SLICE_EMPTY, SLICE_EMPTY};
    struct slice kind = take_part(&id);
    bool is_view = base_slice_is(kind, "create-view") || base_slice_is(kind, "update-view");
    struct subject s = {.table = take_part(&id)};
    if (is_view)
        s.view = take_part(&id);
    bool is_one = (is_view || base_slice_is(kind, "update-table")) && s.table.len > 0 &&
                  is_view == (s.view.len > 0) && id.len == 0;
    return is_one ? s : none;
}

static enum err describe_view(struct gw_call *call, const struct subject *s,
                              const ProtobufCMessage **out, struct errbuf *eb)
{
    struct gw_resource of = gw_rpc(call)->resource;
    struct sto_view *view = NULL;
    Bta__AuthorizedView *message = NULL;
    of.table = s->table;
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

void gw_operation_get(struct gw_call *call)
{
    struct slice id = gw_rpc(call)->resource.leaf;
    struct subject s = subject_of(id);
    const ProtobufCMessage *response = NULL;
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = s.table.ptr == NULL ? ERR_NOT_FOUND : gw_call_enter_table(call, s.table, &eb);
    if (e == ERR_OK)
        e = s.view.ptr != NULL ? describe_view(call, &s, &response, &eb)
                               : describe_table(call, &response, &eb);
    if (e == ERR_NOT_FOUND)
        gw_call_problem(call, ERR_NOT_FOUND, "there is no such operation");
    else if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        reply(call, id, NULL, response);
}

/* Nothing is under way. */
void gw_operation_list(struct gw_call *call)
{
    Lro__ListOperationsResponse none = LRO__LIST_OPERATIONS_RESPONSE__INIT;
    gw_rpc_reply(call, &none.base);
}

/* It has ended: there is nothing left to forget or to stop. */
void gw_operation_forget(struct gw_call *call)
{
    Google__Protobuf__Empty nothing = GOOGLE__PROTOBUF__EMPTY__INIT;
    if (subject_of(gw_rpc(call)->resource.leaf).table.ptr == NULL)
        gw_call_problem(call, ERR_NOT_FOUND, "there is no such operation");
    else
        gw_rpc_reply(call, &nothing.base);
}

/*
 * gateway/grpc/table_admin.c - BigtableTableAdmin: create, list, describe, change, delete tables.
 */
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "base/clock.h"
#include "gateway/grpc/handlers.h"
#include "gateway/grpc/list_page.h"
#include "gateway/grpc/operation.h"
#include "gateway/grpc/table_proto.h"
#include "gateway/grpc/time_proto.h"

#include "base/banned.h"

#define PAGE_TABLES LIM_TABLES

/* The result of a task, for the response. */
struct change {
    struct slice table_id;
    struct ten_table_wanted wanted;
    Bta__Table *table;
    int64_t began_us;
};

/* Describes the table as it is now; on the control thread. */
static enum err describe(struct gw_call *call, struct change *c, struct errbuf *eb)
{
    enum err e = gw_call_enter_table(call, c->table_id, eb);
    if (e == ERR_OK)
        e = gw_table_to_proto(call->scope.schema, &gw_rpc(call)->resource,
                              BTA__TABLE__VIEW__SCHEMA_VIEW, &call->arena, &c->table, eb);
    return e;
}

static void reply_table(struct gw_call *call)
{
    const struct change *c = call->state;
    gw_rpc_reply(call, &c->table->base);
}

static bool refused(struct gw_call *call, enum err code, const struct errbuf *eb)
{
    if (code != ERR_OK)
        gw_call_problem(call, (int)code, eb->text);
    return code != ERR_OK;
}

/* --- create ------------------------------------------------------------------------------------
 */

/* Creates the table; on the control thread. */
static enum err create(struct gw_call *call, struct errbuf *eb)
{
    struct change *c = call->state;
    bool created = false;
    enum err e =
        ten_table_put(call->api->registry, call->tenant, c->table_id, &c->wanted, &created, eb);
    if (e == ERR_PRECONDITION)
        return base_fail(eb, ERR_EXISTS, "the table \"%.*s\" exists", SLICE_ARGS(c->table_id));
    return e == ERR_OK ? describe(call, c, eb) : e;
}

/* Reads the splits. Their keys stay in the request; tenancy checks them. */
static enum err read_splits(struct gw_call *call, const Bta__CreateTableRequest *request,
                            struct ten_table_wanted *out, struct errbuf *eb)
{
    size_t count = request->n_initial_splits;
    struct slice *splits = base_arena_alloc(&call->arena, (count + 1) * sizeof *splits);
    if (splits == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu splits", count);
    for (size_t i = 0; i < count; i++)
        splits[i] = gw_proto_bytes(request->initial_splits[i]->key);
    out->splits = splits;
    out->split_count = count;
    return ERR_OK;
}

void gw_admin_create_table(struct gw_call *call)
{
    const Bta__CreateTableRequest *request = (const void *)gw_rpc(call)->request;
    struct change *c = gw_call_new_state(call, sizeof *c, NULL);
    struct errbuf eb;
    eb.text[0] = '\0';
    c->table_id = base_slice_text(request->table_id);
    enum err e = sto_table_id_check(c->table_id, &eb);
    if (e == ERR_OK)
        gw_rpc(call)->resource.table = c->table_id; /* the parent's name has no table */
    if (e == ERR_OK)
        e = gw_table_from_proto(request->table, &call->arena, &c->wanted, &eb);
    if (e == ERR_OK)
        e = read_splits(call, request, &c->wanted, &eb);
    c->wanted.expect.absent = true;
    if (!refused(call, e, &eb))
        gw_rpc_on_control(call, create, reply_table);
}

/* --- describe ----------------------------------------------------------------------------------
 */

void gw_admin_get_table(struct gw_call *call)
{
    const Bta__GetTableRequest *request = (const void *)gw_rpc(call)->request;
    Bta__Table__View view = request->view == BTA__TABLE__VIEW__VIEW_UNSPECIFIED
                                ? BTA__TABLE__VIEW__SCHEMA_VIEW
                                : request->view;
    Bta__Table *table = NULL;
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = gw_table_to_proto(call->scope.schema, &gw_rpc(call)->resource, view, &call->arena,
                                   &table, &eb);
    if (!refused(call, e, &eb))
        gw_rpc_reply(call, &table->base);
}

/* --- list --------------------------------------------------------------------------------------
 */

static struct gw_page_context list_context(const struct gw_call *call)
{
    return (struct gw_page_context){.parts = {SLICE_LIT("ListTables"), ten_tenant_id(call->tenant)},
                                    .count = 2};
}

/* Returns the index of the first table of the page. */
static enum err find_start(struct gw_call *call, const char *token, const struct ten_tables *tables,
                           size_t *out, struct errbuf *eb)
{
    struct gw_page_context context = list_context(call);
    struct slice last;
    enum err e = gw_list_page_open(call, &context, token, &last, eb);
    *out = e == ERR_OK ? ten_tables_behind(tables, last) : 0;
    return e;
}

static enum err fill_page(struct gw_call *call, const Bta__ListTablesRequest *request,
                          Bta__ListTablesResponse *reply, struct errbuf *eb)
{
    const struct ten_tables *tables = ten_tenant_tables(call->tenant);
    size_t most = request->page_size > 0 && request->page_size < PAGE_TABLES
                      ? (size_t)request->page_size
                      : PAGE_TABLES;
    Bta__Table__View view = request->view == BTA__TABLE__VIEW__VIEW_UNSPECIFIED
                                ? BTA__TABLE__VIEW__NAME_ONLY
                                : request->view;
    size_t at = 0, before = call->arena.used;
    enum err e = find_start(call, request->page_token, tables, &at, eb);
    reply->tables = base_arena_alloc(&call->arena, (most + 1) * sizeof(*reply->tables));
    if (e == ERR_OK && reply->tables == NULL)
        e = base_fail(eb, ERR_NO_MEMORY, "out of memory for the list");
    for (; e == ERR_OK && at < tables->count && reply->n_tables < most &&
           call->arena.used - before < GW_LIST_PAGE_BYTES;
         at++)
        if (!tables->schemas[at]->deleting)
            e = gw_table_to_proto(tables->schemas[at], &gw_rpc(call)->resource, view, &call->arena,
                                  &reply->tables[reply->n_tables++], eb);
    if (e == ERR_OK && at < tables->count && at > 0) {
        struct gw_page_context context = list_context(call);
        e = gw_list_page_end(call, &context, sto_schema_table_id(tables->schemas[at - 1]),
                             &reply->next_page_token, eb);
    }
    return e;
}

void gw_admin_list_tables(struct gw_call *call)
{
    const Bta__ListTablesRequest *request = (const void *)gw_rpc(call)->request;
    Bta__ListTablesResponse reply = BTA__LIST_TABLES_RESPONSE__INIT;
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

/* Changes the table; on the control thread. */
static enum err update(struct gw_call *call, struct errbuf *eb)
{
    struct change *c = call->state;
    bool created = false;
    enum err e = gw_call_enter_table(call, c->table_id, eb);
    if (e != ERR_OK)
        return e;
    const struct sto_schema *now = call->scope.schema;
    struct sto_family_spec *families =
        base_arena_alloc(&call->arena, (now->family_count + 1) * sizeof *families);
    if (families == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for the families");
    for (size_t i = 0; i < now->family_count; i++)
        families[i] = sto_family_spec_of(&now->families[i]);
    c->wanted.families = families;
    c->wanted.family_count = now->family_count;
    c->wanted.expect.present = true;
    e = ten_table_put(call->api->registry, call->tenant, c->table_id, &c->wanted, &created, eb);
    return e == ERR_OK ? describe(call, c, eb) : e;
}

static void reply_update(struct gw_call *call)
{
    const struct change *c = call->state;
    Google__Protobuf__Timestamp began, ended;
    Bta__UpdateTableMetadata metadata = BTA__UPDATE_TABLE_METADATA__INIT;
    gw_time_to_proto(c->began_us, &began);
    gw_time_to_proto(base_wall_us(), &ended);
    metadata.name = c->table->name;
    metadata.start_time = &began;
    metadata.end_time = &ended;
    gw_operation_reply(call, "update-table", &metadata.base, &c->table->base);
}

static enum err read_path(const char *path, const Bta__Table *table, struct ten_table_wanted *out,
                          struct errbuf *eb)
{
    if (strcmp(path, "deletion_protection") == 0) {
        out->has_protected = true;
        out->protected = table->deletion_protection;
        return ERR_OK;
    }
    bool is_period = strcmp(path, "change_stream_config.retention_period") == 0;
    if (is_period || strcmp(path, "change_stream_config") == 0) {
        const Bta__ChangeStreamConfig *config = table->change_stream_config;
        if (is_period && config != NULL && config->retention_period == NULL)
            config = NULL; /* clearing the period removes the stream */
        out->has_change_retention = true;
        return gw_change_retention_from_proto(config, &out->change_retention_s, eb);
    }
    return base_fail(eb, ERR_UNSUPPORTED, "update_mask: \"%s\" cannot be changed here", path);
}

static enum err read_mask(const Bta__UpdateTableRequest *request, struct ten_table_wanted *out,
                          struct errbuf *eb)
{
    const Google__Protobuf__FieldMask *mask = request->update_mask;
    if (mask == NULL || mask->n_paths == 0)
        return base_fail(eb, ERR_INVALID, "update_mask must name what is to be changed");
    for (size_t i = 0; i < mask->n_paths; i++) {
        const char *path = mask->paths[i];
        if (strcmp(path, "*") == 0)
            return base_fail(eb, ERR_INVALID, "update_mask must name fields, not \"*\"");
        enum err e = read_path(path, request->table, out, eb);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

void gw_admin_update_table(struct gw_call *call)
{
    struct gw_rpc *rpc = gw_rpc(call);
    const Bta__UpdateTableRequest *request = (const void *)rpc->request;
    struct change *c = gw_call_new_state(call, sizeof *c, NULL);
    struct errbuf eb;
    eb.text[0] = '\0';
    c->table_id = rpc->resource.table;
    c->began_us = base_wall_us();
    enum err e = read_mask(request, &c->wanted, &eb);
    if (!refused(call, e, &eb))
        gw_rpc_on_control(call, update, reply_update);
}

/* --- delete ------------------------------------------------------------------------------------
 */

static void delete_done(struct ten_table_delete_op *op)
{
    struct gw_call *call = op->user;
    Google__Protobuf__Empty nothing = GOOGLE__PROTOBUF__EMPTY__INIT;
    if (op->result != ERR_OK)
        gw_call_problem(call, (int)op->result, op->detail.text);
    else
        gw_rpc_reply(call, &nothing.base);
    gw_call_drop(call);
}

void gw_admin_delete_table(struct gw_call *call)
{
    struct ten_table_delete_op *op = gw_call_new_state(call, sizeof *op, NULL);
    struct slice id = gw_rpc(call)->resource.table;
    struct errbuf eb;
    eb.text[0] = '\0';
    if (refused(call, sto_table_id_check(id, &eb), &eb))
        return;
    op->reply_to = call->thread->mailbox;
    op->done = delete_done;
    op->user = call;
    op->tenant = call->tenant;
    op->action = gw_action_take(call);
    memcpy(op->table_id, id.ptr, id.len);
    gw_call_hold(call);
    ten_table_delete(call->api->registry, op);
}

/*
 * gateway/grpc/instance_work.c - BigtableInstanceAdmin at the emulator's listener: creates, changes
 * and deletes instances.
 *
 * The tenant exists when a handler runs (emulator.c). An instance that exists by its first use may
 * be created: it keeps its tables. An instance is deleted table by table, and its settings last: if
 * a step fails, the instance still exists, and can be deleted again. Its tenant remains, empty.
 */
#include <google/protobuf/empty.pb-c.h>

#include "base/clock.h"
#include "gateway/grpc/field_mask.h"
#include "gateway/grpc/handlers.h"
#include "gateway/grpc/instance_parts.h"
#include "gateway/grpc/operation.h"
#include "gateway/grpc/time_proto.h"
#include "migrations/tenant_backup.h"

#include "base/banned.h"

static const char *const CHANGEABLE[] = {"display_name", "type", "labels", "edition", NULL};

/* The result of a task, for the response. */
struct change {
    struct gw_instance in;
    int64_t began_us;
    Bta__Instance *described;
};

static struct change *change_new(struct gw_call *call)
{
    struct change *c = gw_call_new_state(call, sizeof *c, NULL);
    c->began_us = base_wall_us();
    return c;
}

/* Fills in fields that a client may leave out, and stores the instance; on the control thread. */
static enum err finish(struct gw_call *call, struct change *c, struct errbuf *eb)
{
    static char nothing[] = "";
    Bta__Instance *instance = c->in.instance;
    instance->name = nothing;
    instance->state = BTA__INSTANCE__STATE__READY;
    instance->n_tags = 0; /* accepted, and never returned */
    if (instance->type == BTA__INSTANCE__TYPE__TYPE_UNSPECIFIED)
        instance->type = BTA__INSTANCE__TYPE__PRODUCTION;
    if (instance->display_name[0] == '\0')
        instance->display_name = base_arena_text(&call->arena, ten_tenant_instance(call->tenant));
    if (instance->display_name == NULL)
        return gw_instance_no_memory(eb);
    enum err e = gw_instance_write(call, &c->in, eb);
    if (e == ERR_OK && (c->described = gw_instance_describe(call, &c->in)) == NULL)
        e = gw_instance_no_memory(eb);
    return e;
}

/* --- create ------------------------------------------------------------------------------------
 */

enum err gw_admin_check_instance(const ProtobufCMessage *message, struct errbuf *eb)
{
    const Bta__CreateInstanceRequest *request = (const void *)message;
    enum err e = gw_instance_id_check("instance_id", request->instance_id, eb);
    if (e == ERR_OK && request->n_clusters == 0)
        e = base_fail(eb, ERR_INVALID, "clusters: an instance has one at least");
    for (size_t i = 0; e == ERR_OK && i < request->n_clusters; i++)
        e = gw_instance_id_check("clusters: an ID", request->clusters[i]->key, eb);
    return e;
}

static enum err add_clusters(struct gw_call *call, const Bta__CreateInstanceRequest *request,
                             struct gw_instance *in, struct errbuf *eb)
{
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < request->n_clusters; i++)
        e = gw_cluster_add(call, in, request->clusters[i]->key, request->clusters[i]->value, eb);
    return e == ERR_OK ? gw_profile_add_default(call, in, eb) : e;
}

/* Creates the instance; on the control thread. */
static enum err create(struct gw_call *call, struct errbuf *eb)
{
    const Bta__CreateInstanceRequest *request = (const void *)gw_rpc(call)->request;
    struct change *c = call->state;
    Google__Protobuf__Timestamp *now =
        gw_proto_new(&call->arena, &google__protobuf__timestamp__descriptor);
    Bta__Instance *made = gw_proto_new(&call->arena, &bta__instance__descriptor);
    enum err e = gw_instance_read(call, call->tenant, &c->in, eb);
    if (e == ERR_OK && c->in.is_stored)
        e = base_fail(eb, ERR_EXISTS, "the instance \"%s\" exists", request->instance_id);
    if (e == ERR_OK && (now == NULL || made == NULL))
        e = gw_instance_no_memory(eb);
    if (e != ERR_OK)
        return e;
    c->in = (struct gw_instance){
        .tenant = call->tenant, .instance = made, .is_stored = true, .version = c->in.version};
    if (request->instance != NULL)
        e = gw_mask_apply_all(CHANGEABLE, &made->base, &request->instance->base, &call->arena, eb);
    gw_time_to_proto(c->began_us, now);
    made->create_time = now;
    if (e == ERR_OK)
        e = add_clusters(call, request, &c->in, eb);
    return e == ERR_OK ? finish(call, c, eb) : e;
}

static void reply_create(struct gw_call *call)
{
    const struct change *c = call->state;
    Bta__CreateInstanceMetadata metadata = BTA__CREATE_INSTANCE_METADATA__INIT;
    Google__Protobuf__Timestamp began, ended;
    gw_time_to_proto(c->began_us, &began);
    gw_time_to_proto(base_wall_us(), &ended);
    /* protobuf-c only reads what it packs. */
    metadata.original_request = (Bta__CreateInstanceRequest *)(uintptr_t)gw_rpc(call)->request;
    metadata.request_time = &began;
    metadata.finish_time = &ended;
    gw_operation_reply(call, "create-instance", &metadata.base, &c->described->base);
}

void gw_admin_create_instance(struct gw_call *call)
{
    (void)change_new(call);
    gw_rpc_on_control(call, create, reply_create);
}

/* --- change ------------------------------------------------------------------------------------
 */

/* Replaces the instance's settings; on the control thread. */
static enum err update(struct gw_call *call, struct errbuf *eb)
{
    struct change *c = call->state;
    enum err e = gw_instance_get(call, &c->in, eb);
    if (e == ERR_OK)
        e = gw_mask_apply_all(CHANGEABLE, &c->in.instance->base, gw_rpc(call)->request,
                              &call->arena, eb);
    return e == ERR_OK ? finish(call, c, eb) : e;
}

static void reply_update(struct gw_call *call)
{
    const struct change *c = call->state;
    gw_rpc_reply(call, &c->described->base);
}

void gw_admin_update_instance(struct gw_call *call)
{
    (void)change_new(call);
    gw_rpc_on_control(call, update, reply_update);
}

/* Changes the fields that the mask names; on the control thread. */
static enum err patch(struct gw_call *call, struct errbuf *eb)
{
    const Bta__PartialUpdateInstanceRequest *request = (const void *)gw_rpc(call)->request;
    struct change *c = call->state;
    enum err e = gw_instance_get(call, &c->in, eb);
    if (e == ERR_OK)
        e = gw_mask_apply(request->update_mask, CHANGEABLE, &c->in.instance->base,
                          &request->instance->base, &call->arena, eb);
    return e == ERR_OK ? finish(call, c, eb) : e;
}

static void reply_patch(struct gw_call *call)
{
    const struct change *c = call->state;
    Bta__UpdateInstanceMetadata metadata = BTA__UPDATE_INSTANCE_METADATA__INIT;
    Google__Protobuf__Timestamp began, ended;
    gw_time_to_proto(c->began_us, &began);
    gw_time_to_proto(base_wall_us(), &ended);
    metadata.original_request =
        (Bta__PartialUpdateInstanceRequest *)(uintptr_t)gw_rpc(call)->request; /* as above */
    metadata.request_time = &began;
    metadata.finish_time = &ended;
    gw_operation_reply(call, "update-instance", &metadata.base, &c->described->base);
}

void gw_admin_patch_instance(struct gw_call *call)
{
    (void)change_new(call);
    gw_rpc_on_control(call, patch, reply_patch);
}

/* --- delete ------------------------------------------------------------------------------------
 */

struct deletion {
    struct ten_table_delete_op op; /* for one table after the other */
    size_t tables;                 /* deleted */
};

static void delete_next(struct gw_call *call);

/* Checks whether anything forbids the deletion, before any part of the instance is gone; on the
 * control thread. */
static enum err check_deletable(struct gw_call *call, struct errbuf *eb)
{
    const struct ten_tables *tables = ten_tenant_tables(call->tenant);
    struct mig_tenant_backup one;
    struct gw_instance *in = base_arena_alloc(&call->arena, sizeof *in);
    enum err e = in == NULL ? gw_instance_no_memory(eb) : gw_instance_get(call, in, eb);
    if (e == ERR_OK &&
        mig_tenant_backup_list(call->api->backups, ten_tenant_id(call->tenant), &one, 1) > 0)
        e = base_fail(eb, ERR_CONFLICT,
                      "the instance has the backup \"%s\", and maybe more: delete them first",
                      one.scope.name);
    for (size_t i = 0; e == ERR_OK && i < tables->count; i++)
        if (tables->schemas[i]->protected)
            e = base_fail(
                eb, ERR_CONFLICT,
                "deletion protection is on for the table \"%.*s\": the instance cannot be "
                "deleted",
                SLICE_ARGS(sto_schema_table_id(tables->schemas[i])));
    return e;
}

/* Deletes the settings; on the control thread. */
static enum err forget(struct gw_call *call, struct errbuf *eb)
{
    struct gw_instance *in = base_arena_alloc(&call->arena, sizeof *in);
    enum err e =
        in == NULL ? gw_instance_no_memory(eb) : gw_instance_read(call, call->tenant, in, eb);
    if (e != ERR_OK)
        return e;
    *in = (struct gw_instance){.tenant = call->tenant, .version = in->version};
    return gw_instance_write(call, in, eb);
}

static void reply_nothing(struct gw_call *call)
{
    Google__Protobuf__Empty nothing = GOOGLE__PROTOBUF__EMPTY__INIT;
    gw_rpc_reply(call, &nothing.base);
}

static void table_gone(struct ten_table_delete_op *op)
{
    struct gw_call *call = op->user;
    if (op->result == ERR_OK || op->result == ERR_NOT_FOUND) /* or another request was faster */
        delete_next(call);
    else
        gw_call_problem(call, (int)op->result, op->detail.text);
    gw_call_drop(call);
}

/* Deletes the next table that exists now: a table created in the meantime is deleted too, if it is
 * in time. */
static void delete_next(struct gw_call *call)
{
    struct deletion *d = call->state;
    const struct ten_tables *tables = ten_tenant_tables(call->tenant);
    size_t at = 0;
    while (at < tables->count && tables->schemas[at]->deleting)
        at++;
    gw_rpc(call)->resource.table = SLICE_EMPTY;
    if (at == tables->count || d->tables == 2 * LIM_TABLES) {
        gw_rpc_on_control(call, forget, reply_nothing);
        return;
    }
    struct slice id = sto_schema_table_id(tables->schemas[at]);
    memset(&d->op, 0, sizeof d->op);
    d->tables++;
    d->op.reply_to = call->thread->mailbox;
    d->op.done = table_gone;
    d->op.user = call;
    d->op.tenant = call->tenant;
    memcpy(d->op.table_id, id.ptr, id.len);
    gw_rpc(call)->resource.table = base_slice_text(d->op.table_id);
    d->op.action = gw_action_get(call, "table.delete");
    gw_call_hold(call);
    ten_table_delete(call->api->registry, &d->op);
}

static void may_delete(struct gw_call *call)
{
    if (call->task.result != ERR_OK)
        gw_call_problem(call, (int)call->task.result, call->task.detail.text);
    else
        delete_next(call);
}

void gw_admin_delete_instance(struct gw_call *call)
{
    (void)gw_call_new_state(call, sizeof(struct deletion), NULL);
    gw_task_as(call, NULL, check_deletable, may_delete);
}

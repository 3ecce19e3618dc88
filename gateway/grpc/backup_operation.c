/*
 * gateway/grpc/backup_operation.c - work on backups as google.longrunning.Operation.
 *
 * A backup or table that an operation created or read is described as it is now, if it still
 * exists; otherwise as far as the operation recorded it. Work that Bigtable has no method for, on
 * all tables of a tenant, has no metadata and an empty response.
 */
#include "gateway/grpc/backup_operation.h"

#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <google/protobuf/empty.pb-c.h>

#include "gateway/grpc/backup_proto.h"
#include "gateway/grpc/operation.h"
#include "gateway/grpc/table_proto.h"
#include "gateway/grpc/time_proto.h"

#include "base/banned.h"

#define PERCENT 100

static enum err no_memory(struct errbuf *eb)
{
    return base_fail(eb, ERR_NO_MEMORY, "out of memory for the operation");
}

struct gw_resource gw_backup_instance(const struct gw_call *call)
{
    const struct gw_resource *named = &gw_rpc(call)->resource;
    return (struct gw_resource){.kind = GW_RESOURCE_INSTANCE,
                                .project = named->project,
                                .instance = ten_tenant_instance(call->tenant),
                                .is_exact = named->is_exact};
}

/* --- subject ------------------------------------------------------------------------------------
 */

static bool is_of_table(const struct mig_operation *op)
{
    return op->scope.table[0] != '\0' &&
           (op->kind == MIG_OP_RESTORE_TABLE || op->scope.name[0] != '\0');
}

/* Finds the backup with that name, if its ID is that ID. */
static bool find(struct gw_call *call, const char *name, const char *id,
                 struct mig_tenant_backup *out)
{
    struct errbuf eb;
    return mig_tenant_backup_get(call->api->backups, ten_tenant_id(call->tenant),
                                 base_slice_text(name), out, &eb) == ERR_OK &&
           strcmp(out->id, id) == 0;
}

/* Returns the backup that BACKUP or COPY created. */
static struct mig_tenant_backup made_by(struct gw_call *call, const struct mig_operation *op)
{
    struct mig_tenant_backup backup;
    if (find(call, op->scope.name, op->id, &backup))
        return backup;
    return (struct mig_tenant_backup){.scope = op->scope,
                                      .is_ready = op->state == MIG_OP_DONE,
                                      .started_us = op->started_us,
                                      .finished_us = op->finished_us,
                                      .expires_us = op->expires_us};
}

/* Returns the backup that COPY or RESTORE read. */
static struct mig_tenant_backup read_by(struct gw_call *call, const struct mig_operation *op)
{
    struct mig_tenant_backup backup;
    const char *name = op->kind == MIG_OP_COPY ? op->scope.source : op->scope.name;
    if (find(call, name, op->backup, &backup))
        return backup;
    backup = (struct mig_tenant_backup){.scope = op->scope};
    if (op->kind == MIG_OP_COPY) {
        memcpy(backup.scope.name, op->scope.source, sizeof backup.scope.name);
        backup.scope.source[0] = '\0';
    }
    return backup;
}

/* --- metadata -----------------------------------------------------------------------------------
 */

struct times {
    Google__Protobuf__Timestamp began;
    Google__Protobuf__Timestamp ended;
    Bta__OperationProgress progress;
};

static int32_t percent_of(const struct mig_operation *op)
{
    if (op->state == MIG_OP_DONE)
        return PERCENT;
    if (op->all_bytes == 0 || op->done_bytes >= op->all_bytes)
        return op->all_bytes == 0 ? 0 : PERCENT - 1;
    return (int32_t)((double)op->done_bytes / (double)op->all_bytes * PERCENT);
}

static void tell_times(const struct mig_operation *op, struct times *out)
{
    int64_t began = op->started_us != 0 ? op->started_us : op->requested_us;
    gw_time_to_proto(began, &out->began);
    gw_time_to_proto(op->finished_us, &out->ended);
    bta__operation_progress__init(&out->progress);
    out->progress.progress_percent = percent_of(op);
    out->progress.start_time = &out->began;
    if (op->finished_us != 0)
        out->progress.end_time = &out->ended;
}

static enum err describe_create(struct gw_call *call, const struct mig_operation *op,
                                Lro__Operation *out, struct errbuf *eb)
{
    const struct gw_resource own = gw_backup_instance(call);
    const struct mig_tenant_backup made = made_by(call, op);
    Bta__CreateBackupMetadata metadata = BTA__CREATE_BACKUP_METADATA__INIT;
    Bta__Backup *backup = NULL;
    struct times times;
    enum err e = gw_backup_to_proto(&made, &own, &call->arena, &backup, eb);
    if (e != ERR_OK)
        return e;
    tell_times(op, &times);
    metadata.name = backup->name;
    metadata.source_table = backup->source_table;
    metadata.start_time = times.progress.start_time;
    metadata.end_time = times.progress.end_time;
    out->metadata = gw_operation_wrap(&call->arena, &metadata.base);
    if (op->state == MIG_OP_DONE)
        out->response = gw_operation_wrap(&call->arena, &backup->base);
    return ERR_OK;
}

static enum err describe_copy(struct gw_call *call, const struct mig_operation *op,
                              Lro__Operation *out, struct errbuf *eb)
{
    const struct gw_resource own = gw_backup_instance(call);
    const struct mig_tenant_backup made = made_by(call, op), source = read_by(call, op);
    Bta__CopyBackupMetadata metadata = BTA__COPY_BACKUP_METADATA__INIT;
    Bta__Backup *backup = NULL;
    struct times times;
    enum err e = gw_backup_to_proto(&made, &own, &call->arena, &backup, eb);
    if (e == ERR_OK)
        e = gw_backup_info_to_proto(&source, &own, &call->arena, &metadata.source_backup_info, eb);
    if (e != ERR_OK)
        return e;
    tell_times(op, &times);
    metadata.name = backup->name;
    metadata.progress = &times.progress;
    out->metadata = gw_operation_wrap(&call->arena, &metadata.base);
    if (op->state == MIG_OP_DONE)
        out->response = gw_operation_wrap(&call->arena, &backup->base);
    return ERR_OK;
}

/* Describes the new table as it is now; only by its name if it was deleted since, or does not exist
 * yet. */
static enum err describe_table(struct gw_call *call, const struct mig_operation *op,
                               Bta__BackupInfo *source, Bta__Table **out, struct errbuf *eb)
{
    struct gw_resource name = gw_backup_instance(call);
    name.kind = GW_RESOURCE_TABLE;
    name.table = base_slice_text(op->target);
    Bta__RestoreInfo *from = gw_proto_new(&call->arena, &bta__restore_info__descriptor);
    Bta__Table *table = gw_proto_new(&call->arena, &bta__table__descriptor);
    if (from == NULL || table == NULL ||
        (table->name = gw_resource_name(&call->arena, &name)) == NULL)
        return no_memory(eb);
    enum err e =
        op->state == MIG_OP_DONE ? gw_call_enter_table(call, name.table, eb) : ERR_NOT_FOUND;
    if (e == ERR_OK)
        e = gw_table_to_proto(call->scope.schema, &name, BTA__TABLE__VIEW__SCHEMA_VIEW,
                              &call->arena, &table, eb);
    else if (e == ERR_NOT_FOUND)
        e = ERR_OK;
    from->source_type = BTA__RESTORE_SOURCE_TYPE__BACKUP;
    from->source_info_case = BTA__RESTORE_INFO__SOURCE_INFO_BACKUP_INFO;
    from->backup_info = source;
    table->restore_info = from;
    *out = table;
    return e;
}

static enum err describe_restore(struct gw_call *call, const struct mig_operation *op,
                                 Lro__Operation *out, struct errbuf *eb)
{
    const struct gw_resource own = gw_backup_instance(call);
    const struct mig_tenant_backup source = read_by(call, op);
    Bta__RestoreTableMetadata metadata = BTA__RESTORE_TABLE_METADATA__INIT;
    Bta__Table *table = NULL;
    struct times times;
    enum err e = gw_backup_info_to_proto(&source, &own, &call->arena, &metadata.backup_info, eb);
    if (e == ERR_OK)
        e = describe_table(call, op, metadata.backup_info, &table, eb);
    if (e != ERR_OK)
        return e;
    tell_times(op, &times);
    metadata.name = table->name;
    metadata.source_type = BTA__RESTORE_SOURCE_TYPE__BACKUP;
    metadata.source_info_case = BTA__RESTORE_TABLE_METADATA__SOURCE_INFO_BACKUP_INFO;
    metadata.progress = &times.progress;
    out->metadata = gw_operation_wrap(&call->arena, &metadata.base);
    if (op->state == MIG_OP_DONE)
        out->response = gw_operation_wrap(&call->arena, &table->base);
    return ERR_OK;
}

/* --- the operation ------------------------------------------------------------------------------
 */

/* Returns the result. An operation that FAILED because the server stopped is not what clients call
 * cancelled. */
static enum err result_of(const struct mig_operation *op)
{
    return op->state == MIG_OP_FAILED && op->result == ERR_CANCELLED ? ERR_UNAVAILABLE : op->result;
}

/* Returns whether the error's text is about files and disks of the server. */
static bool is_servers(enum err result)
{
    return result == ERR_IO || result == ERR_CORRUPT || result == ERR_STORAGE_FULL ||
           result == ERR_OUTCOME_UNKNOWN || result == ERR_NO_MEMORY;
}

static enum err put_failure(struct gw_call *call, const struct mig_operation *op,
                            Lro__Operation *out, struct errbuf *eb)
{
    const char *told = is_servers(op->result) ? gw_problem_get((int)op->result)->title : op->error;
    Rpc__Status *status = gw_proto_new(&call->arena, &rpc__status__descriptor);
    char *text = base_arena_text(&call->arena, base_slice_text(told));
    if (status == NULL || text == NULL)
        return no_memory(eb);
    status->code = (int32_t)gw_status_code_of((int)result_of(op));
    status->message = text;
    out->result_case = LRO__OPERATION__RESULT_ERROR;
    out->error = status;
    return ERR_OK;
}

static enum err describe(struct gw_call *call, const struct mig_operation *op, Lro__Operation *out,
                         struct errbuf *eb)
{
    const Google__Protobuf__Empty nothing = GOOGLE__PROTOBUF__EMPTY__INIT;
    if (is_of_table(op) && op->kind == MIG_OP_BACKUP)
        return describe_create(call, op, out, eb);
    if (is_of_table(op) && op->kind == MIG_OP_COPY)
        return describe_copy(call, op, out, eb);
    if (is_of_table(op) && op->kind == MIG_OP_RESTORE_TABLE)
        return describe_restore(call, op, out, eb);
    if (op->state == MIG_OP_DONE)
        out->response = gw_operation_wrap(&call->arena, &nothing.base);
    return ERR_OK;
}

enum err gw_backup_operation_to_proto(struct gw_call *call, const struct mig_operation *op,
                                      Lro__Operation **out, struct errbuf *eb)
{
    struct gw_resource name = gw_backup_instance(call);
    name.kind = GW_RESOURCE_OPERATION;
    name.leaf = base_slice_text(op->id);
    Lro__Operation *o = gw_proto_new(&call->arena, &lro__operation__descriptor);
    if (o == NULL || (o->name = gw_resource_name(&call->arena, &name)) == NULL)
        return no_memory(eb);
    enum err e = describe(call, op, o, eb);
    if (e != ERR_OK)
        return e;
    if (is_of_table(op) && o->metadata == NULL)
        return no_memory(eb);
    if (op->state == MIG_OP_DONE && o->response == NULL)
        return no_memory(eb);
    if (op->state == MIG_OP_DONE)
        o->result_case = LRO__OPERATION__RESULT_RESPONSE;
    else if (op->state == MIG_OP_FAILED || op->state == MIG_OP_CANCELLED)
        e = put_failure(call, op, o, eb);
    o->done = o->result_case != LRO__OPERATION__RESULT__NOT_SET;
    *out = o;
    return e;
}

enum err gw_backup_operation_get(struct gw_call *call, struct slice id, struct errbuf *eb)
{
    struct mig_operation op;
    Lro__Operation *operation = NULL;
    enum err e = mig_operation_get(call->api->backups, ten_tenant_id(call->tenant), id, &op, eb);
    if (e == ERR_OK)
        e = gw_backup_operation_to_proto(call, &op, &operation, eb);
    call->state = operation;
    return e;
}

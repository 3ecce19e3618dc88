/*
 * gateway/grpc/backup_work.c - BigtableTableAdmin: methods that start work on backups: create,
 * copy, restore.
 *
 * migrations' thread does the work, one piece at a time; the response is its operation, waiting or
 * in progress.
 */
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "base/clock.h"
#include "gateway/grpc/backup_operation.h"
#include "gateway/grpc/backup_proto.h"
#include "gateway/grpc/handlers.h"

#include "base/banned.h"

struct work {
    struct slice from; /* the table, or the backup */
    struct slice to;   /* the backup, or the table */
    int64_t expires_us;
};

static bool refused(struct gw_call *call, enum err code, const struct errbuf *eb)
{
    if (code != ERR_OK)
        gw_call_problem(call, (int)code, eb->text);
    return code != ERR_OK;
}

static void reply_operation(struct gw_call *call)
{
    const Lro__Operation *operation = call->state;
    gw_rpc_reply(call, &operation->base);
}

/* Makes the started operation the call's state, or returns why there is none; on the control
 * thread. Reaching a limit is not an error of the message. */
static enum err begun(struct gw_call *call, enum err result, const char *id, struct errbuf *eb)
{
    if (result == ERR_TOO_BIG)
        return ERR_QUOTA;
    return result == ERR_OK ? gw_backup_operation_get(call, base_slice_text(id), eb) : result;
}

/* Allocates the state. Sets the request's leaf to the object being created, for the audit trail. */
static struct work *begin(struct gw_call *call, const char *made)
{
    struct work *w = gw_call_new_state(call, sizeof *w, NULL);
    w->to = base_slice_text(made);
    gw_rpc(call)->resource.leaf = w->to;
    return w;
}

/* --- create -------------------------------------------------------------------------------------
 */

static enum err create(struct gw_call *call, struct errbuf *eb)
{
    const struct work *w = call->state;
    const struct mig_tenant_backup_wanted wanted = {
        .name = w->to, .table = w->from, .expires_us = w->expires_us};
    char id[MIG_BACKUP_ID + 1];
    enum err e = mig_tenant_backup_create(call->api->backups, call->tenant, &wanted, id, eb);
    return begun(call, e, id, eb);
}

static enum err check_kind(const Bta__Backup *backup, struct errbuf *eb)
{
    if (backup->backup_type == BTA__BACKUP__BACKUP_TYPE__HOT)
        return base_fail(eb, ERR_UNSUPPORTED, "backup_type: backups are STANDARD here");
    if (backup->hot_to_standard_time != NULL)
        return base_fail(eb, ERR_UNSUPPORTED, "hot_to_standard_time: backups are STANDARD here");
    return ERR_OK;
}

void gw_admin_create_backup(struct gw_call *call)
{
    const Bta__CreateBackupRequest *request = (const void *)gw_rpc(call)->request;
    const Bta__Backup *backup = request->backup;
    const struct gw_resource own = gw_backup_instance(call);
    struct work *w = begin(call, request->backup_id);
    int64_t now_us = base_wall_us();
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = gw_backup_cluster_check(gw_rpc(call)->resource.cluster, &eb);
    if (e == ERR_OK)
        e = mig_backup_name_check(w->to, &eb);
    if (e == ERR_OK && backup == NULL)
        e = base_fail(&eb, ERR_INVALID, "backup is missing");
    if (e == ERR_OK)
        e = check_kind(backup, &eb);
    if (e == ERR_OK)
        e = gw_backup_name_of(backup->source_table, GW_RESOURCE_TABLE, "source_table", &own,
                              &w->from, &eb);
    if (e == ERR_OK)
        e = gw_backup_expiry_from_proto(backup->expire_time, now_us, now_us, &w->expires_us, &eb);
    if (!refused(call, e, &eb))
        gw_rpc_on_control(call, create, reply_operation);
}

/* --- copy ---------------------------------------------------------------------------------------
 */

static enum err copy(struct gw_call *call, struct errbuf *eb)
{
    const struct work *w = call->state;
    struct mig_service *service = call->api->backups;
    struct mig_tenant_backup source;
    char id[MIG_BACKUP_ID + 1];
    enum err e = mig_tenant_backup_get(service, ten_tenant_id(call->tenant), w->from, &source, eb);
    if (e == ERR_OK && source.scope.source[0] != '\0')
        e = base_fail(eb, ERR_CONFLICT, "\"%.*s\" is a copy; copy the backup it is a copy of",
                      SLICE_ARGS(w->from));
    if (e == ERR_OK)
        e = mig_tenant_backup_copy(service, call->tenant, w->from, w->to, w->expires_us, id, eb);
    return begun(call, e, id, eb);
}

void gw_admin_copy_backup(struct gw_call *call)
{
    const Bta__CopyBackupRequest *request = (const void *)gw_rpc(call)->request;
    const struct gw_resource own = gw_backup_instance(call);
    struct work *w = begin(call, request->backup_id);
    int64_t now_us = base_wall_us();
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = gw_backup_cluster_check(gw_rpc(call)->resource.cluster, &eb);
    if (e == ERR_OK)
        e = mig_backup_name_check(w->to, &eb);
    if (e == ERR_OK)
        e = gw_backup_name_of(request->source_backup, GW_RESOURCE_BACKUP, "source_backup", &own,
                              &w->from, &eb);
    if (e == ERR_OK)
        e = gw_backup_expiry_from_proto(request->expire_time, now_us, now_us, &w->expires_us, &eb);
    if (!refused(call, e, &eb))
        gw_rpc_on_control(call, copy, reply_operation);
}

/* --- restore ------------------------------------------------------------------------------------
 */

static enum err restore(struct gw_call *call, struct errbuf *eb)
{
    const struct work *w = call->state;
    char id[MIG_BACKUP_ID + 1];
    enum err e =
        mig_tenant_backup_restore(call->api->backups, call->tenant, w->from, w->to, id, eb);
    return begun(call, e, id, eb);
}

void gw_admin_restore_table(struct gw_call *call)
{
    const Bta__RestoreTableRequest *request = (const void *)gw_rpc(call)->request;
    const struct gw_resource own = gw_backup_instance(call);
    struct work *w = begin(call, request->table_id);
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = sto_table_id_check(w->to, &eb);
    if (e == ERR_OK && request->source_case != BTA__RESTORE_TABLE_REQUEST__SOURCE_BACKUP)
        e = base_fail(&eb, ERR_INVALID, "backup is missing");
    if (e == ERR_OK)
        e = gw_backup_name_of(request->backup, GW_RESOURCE_BACKUP, "backup", &own, &w->from, &eb);
    if (!refused(call, e, &eb))
        gw_rpc_on_control(call, restore, reply_operation);
}

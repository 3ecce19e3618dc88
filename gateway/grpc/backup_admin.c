/*
 * gateway/grpc/backup_admin.c - BigtableTableAdmin: describe, list, change, delete backups.
 */
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "base/clock.h"
#include "gateway/grpc/backup_filter.h"
#include "gateway/grpc/backup_operation.h"
#include "gateway/grpc/backup_order.h"
#include "gateway/grpc/backup_proto.h"
#include "gateway/grpc/handlers.h"
#include "gateway/grpc/list_page.h"

#include "base/banned.h"

#define LIST_MAX (LIM_BACKUPS_OF_TENANT + LIM_OPERATIONS_OF_TENANT)

static bool refused(struct gw_call *call, enum err code, const struct errbuf *eb)
{
    if (code != ERR_OK)
        gw_call_problem(call, (int)code, eb->text);
    return code != ERR_OK;
}

/* --- describe -----------------------------------------------------------------------------------
 */

static void reply_backup(struct gw_call *call)
{
    const Bta__Backup *backup = call->state;
    gw_rpc_reply(call, &backup->base);
}

/* Makes the backup the call's state; on the control thread. */
static enum err describe(struct gw_call *call, struct errbuf *eb)
{
    const struct gw_resource own = gw_backup_instance(call);
    struct mig_tenant_backup found;
    Bta__Backup *backup = NULL;
    enum err e = mig_tenant_backup_get(call->api->backups, ten_tenant_id(call->tenant),
                                       gw_rpc(call)->resource.leaf, &found, eb);
    if (e == ERR_OK)
        e = gw_backup_to_proto(&found, &own, &call->arena, &backup, eb);
    call->state = backup;
    return e;
}

void gw_admin_get_backup(struct gw_call *call)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    if (!refused(call, gw_backup_cluster_check(gw_rpc(call)->resource.cluster, &eb), &eb))
        gw_rpc_on_control(call, describe, reply_backup);
}

/* --- list ---------------------------------------------------------------------------------------
 */

struct list {
    struct gw_backup_filter filter;
    struct gw_backup_order order;
    Bta__ListBackupsResponse reply;
};

static struct gw_page_context list_context(const struct gw_call *call,
                                           const Bta__ListBackupsRequest *request)
{
    return (struct gw_page_context){.parts = {SLICE_LIT("ListBackups"), ten_tenant_id(call->tenant),
                                              base_slice_text(request->filter),
                                              base_slice_text(request->order_by)},
                                    .count = 4};
}

/* Collects the backups that match the filter, in order. */
static enum err collect(struct gw_call *call, struct list *l, struct errbuf *eb)
{
    const struct gw_resource own = gw_backup_instance(call);
    struct mig_tenant_backup *all = base_arena_alloc(&call->arena, LIST_MAX * sizeof *all);
    Bta__Backup **sorted = base_arena_alloc(&call->arena, LIST_MAX * sizeof(*sorted));
    if (all == NULL || sorted == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for the list");
    size_t count = mig_tenant_backup_list(call->api->backups, ten_tenant_id(call->tenant), all,
                                          LIST_MAX),
           kept = 0;
    for (size_t i = 0; i < count; i++) {
        Bta__Backup *backup = NULL;
        enum err e = gw_backup_to_proto(&all[i], &own, &call->arena, &backup, eb);
        if (e != ERR_OK)
            return e;
        if (!gw_backup_filter_means(&l->filter, backup))
            continue;
        size_t at = kept++;
        for (; at > 0 && gw_backup_order_compare(&l->order, sorted[at - 1], backup) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = backup;
    }
    l->reply.backups = sorted;
    l->reply.n_backups = kept;
    return ERR_OK;
}

/* Returns where the page starts. A token holds the last backup of the previous page, as it was
 * then: the page continues after it even if it no longer exists. */
static enum err find_start(struct gw_call *call, const struct list *l,
                           const Bta__ListBackupsRequest *request, size_t *out, struct errbuf *eb)
{
    const struct gw_page_context context = list_context(call, request);
    ProtobufCMessage *last = NULL;
    struct slice packed;
    enum err e = gw_list_page_open(call, &context, request->page_token, &packed, eb);
    *out = 0;
    if (e != ERR_OK || packed.len == 0)
        return e;
    e = gw_proto_decode(&bta__backup__descriptor, packed, &call->arena, &last, eb);
    while (e == ERR_OK && *out < l->reply.n_backups &&
           gw_backup_order_compare(&l->order, l->reply.backups[*out], (const void *)last) <= 0)
        (*out)++;
    return e;
}

static enum err end_page(struct gw_call *call, const Bta__ListBackupsRequest *request,
                         const Bta__Backup *last, char **out_token, struct errbuf *eb)
{
    const struct gw_page_context context = list_context(call, request);
    size_t bytes = bta__backup__get_packed_size(last);
    uint8_t *packed = base_arena_alloc(&call->arena, bytes + 1);
    if (packed == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for the page token");
    return gw_list_page_end(call, &context, base_slice(packed, bta__backup__pack(last, packed)),
                            out_token, eb);
}

/* Fills the page; on the control thread. */
static enum err fill_page(struct gw_call *call, struct errbuf *eb)
{
    const Bta__ListBackupsRequest *request = (const void *)gw_rpc(call)->request;
    struct list *l = call->state;
    size_t most = request->page_size > 0 ? (size_t)request->page_size : LIST_MAX;
    size_t at = 0;
    enum err e = collect(call, l, eb);
    if (e == ERR_OK)
        e = find_start(call, l, request, &at, eb);
    if (e != ERR_OK)
        return e;
    l->reply.backups += at;
    l->reply.n_backups -= at;
    if (l->reply.n_backups <= most)
        return ERR_OK;
    l->reply.n_backups = most;
    return end_page(call, request, l->reply.backups[most - 1], &l->reply.next_page_token, eb);
}

static void reply_list(struct gw_call *call)
{
    const struct list *l = call->state;
    gw_rpc_reply(call, &l->reply.base);
}

void gw_admin_list_backups(struct gw_call *call)
{
    const Bta__ListBackupsRequest *request = (const void *)gw_rpc(call)->request;
    struct slice cluster = gw_rpc(call)->resource.cluster;
    struct list *l = gw_call_new_state(call, sizeof *l, NULL);
    struct errbuf eb;
    eb.text[0] = '\0';
    bta__list_backups_response__init(&l->reply);
    enum err e = base_slice_is(cluster, "-") ? ERR_OK : gw_backup_cluster_check(cluster, &eb);
    if (e == ERR_OK && request->page_size < 0)
        e = base_fail(&eb, ERR_INVALID, "page_size is %d", request->page_size);
    if (e == ERR_OK)
        e = gw_backup_filter_read(base_slice_text(request->filter), &l->filter, &eb);
    if (e == ERR_OK)
        e = gw_backup_order_read(base_slice_text(request->order_by), &l->order, &eb);
    if (!refused(call, e, &eb))
        gw_rpc_on_control(call, fill_page, reply_list);
}

/* --- change -------------------------------------------------------------------------------------
 */

static enum err read_mask(const Google__Protobuf__FieldMask *mask, struct errbuf *eb)
{
    if (mask == NULL || mask->n_paths == 0)
        return base_fail(eb, ERR_INVALID, "update_mask must name what is to be changed");
    for (size_t i = 0; i < mask->n_paths; i++) {
        if (strcmp(mask->paths[i], "hot_to_standard_time") == 0)
            return base_fail(eb, ERR_UNSUPPORTED,
                             "hot_to_standard_time: backups are STANDARD here");
        if (strcmp(mask->paths[i], "expire_time") != 0)
            return base_fail(eb, ERR_INVALID, "update_mask may name expire_time alone");
    }
    return ERR_OK;
}

/* Changes the backup; on the control thread. */
static enum err update(struct gw_call *call, struct errbuf *eb)
{
    const Bta__UpdateBackupRequest *request = (const void *)gw_rpc(call)->request;
    struct mig_service *service = call->api->backups;
    struct slice name = gw_rpc(call)->resource.leaf;
    struct mig_tenant_backup found;
    int64_t expires_us = 0;
    enum err e = mig_tenant_backup_get(service, ten_tenant_id(call->tenant), name, &found, eb);
    if (e == ERR_OK)
        e = gw_backup_expiry_from_proto(request->backup->expire_time, found.started_us,
                                        base_wall_us(), &expires_us, eb);
    if (e == ERR_OK)
        e = mig_tenant_backup_set_expiry(service, call->tenant, name, expires_us, eb);
    return e == ERR_OK ? describe(call, eb) : e;
}

void gw_admin_update_backup(struct gw_call *call)
{
    const Bta__UpdateBackupRequest *request = (const void *)gw_rpc(call)->request;
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = gw_backup_cluster_check(gw_rpc(call)->resource.cluster, &eb);
    if (e == ERR_OK)
        e = read_mask(request->update_mask, &eb);
    if (!refused(call, e, &eb))
        gw_rpc_on_control(call, update, reply_backup);
}

/* --- delete -------------------------------------------------------------------------------------
 */

/* Deletes the backup; on the control thread. */
static enum err remove_backup(struct gw_call *call, struct errbuf *eb)
{
    return mig_tenant_backup_delete(call->api->backups, call->tenant, gw_rpc(call)->resource.leaf,
                                    eb);
}

static void reply_delete(struct gw_call *call)
{
    Google__Protobuf__Empty nothing = GOOGLE__PROTOBUF__EMPTY__INIT;
    gw_rpc_reply(call, &nothing.base);
}

void gw_admin_delete_backup(struct gw_call *call)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    if (!refused(call, gw_backup_cluster_check(gw_rpc(call)->resource.cluster, &eb), &eb))
        gw_rpc_on_control(call, remove_backup, reply_delete);
}

/*
 * gateway/grpc/backup_proto.c - a tenant's backups as messages, and names of backups and tables in
 * requests.
 */
#include "gateway/grpc/backup_proto.h"

#include "gateway/grpc/decode.h"
#include "gateway/grpc/table_proto.h"
#include "gateway/grpc/time_proto.h"
#include "migrations/table_origin.h"

#include "base/banned.h"

#define US_PER_S 1000000
#define NEVER_US (253402300799LL * US_PER_S) /* 9999-12-31T23:59:59Z, protobuf's last second */

static enum err no_memory(struct errbuf *eb)
{
    return base_fail(eb, ERR_NO_MEMORY, "out of memory for the description of a backup");
}

/* --- to messages --------------------------------------------------------------------------------
 */

/* NULL: no memory. */
static Google__Protobuf__Timestamp *time_to_proto(struct arena *arena, int64_t us)
{
    Google__Protobuf__Timestamp *time =
        gw_proto_new(arena, &google__protobuf__timestamp__descriptor);
    if (time != NULL)
        gw_time_to_proto(us, time);
    return time;
}

static char *backup_name(struct arena *arena, const struct gw_resource *instance, const char *id)
{
    const struct gw_resource name = {.kind = GW_RESOURCE_BACKUP,
                                     .project = instance->project,
                                     .instance = instance->instance,
                                     .cluster = SLICE_LIT(GW_CLUSTER),
                                     .leaf = base_slice_text(id)};
    return gw_resource_name(arena, &name);
}

static char *table_name(struct arena *arena, const struct gw_resource *instance, const char *id)
{
    const struct gw_resource name = {.kind = GW_RESOURCE_TABLE,
                                     .project = instance->project,
                                     .instance = instance->instance,
                                     .table = base_slice_text(id)};
    return gw_resource_name(arena, &name);
}

enum err gw_backup_info_to_proto(const struct mig_tenant_backup *backup,
                                 const struct gw_resource *instance, struct arena *arena,
                                 Bta__BackupInfo **out, struct errbuf *eb)
{
    const struct mig_backup_scope *scope = &backup->scope;
    Bta__BackupInfo *info = gw_proto_new(arena, &bta__backup_info__descriptor);
    if (info == NULL)
        return no_memory(eb);
    if (scope->name[0] != '\0') /* a backup of everything has no name */
        info->backup = backup_name(arena, instance, scope->name);
    info->source_table = table_name(arena, instance, scope->table);
    info->start_time = time_to_proto(arena, backup->started_us);
    info->end_time = time_to_proto(arena, backup->finished_us);
    if (scope->source[0] != '\0')
        info->source_backup = backup_name(arena, instance, scope->source);
    if (info->backup == NULL || info->source_table == NULL || info->source_backup == NULL ||
        info->start_time == NULL || info->end_time == NULL)
        return no_memory(eb);
    *out = info;
    return ERR_OK;
}

enum err gw_backup_to_proto(const struct mig_tenant_backup *backup,
                            const struct gw_resource *instance, struct arena *arena,
                            Bta__Backup **out, struct errbuf *eb)
{
    Bta__BackupInfo *info = NULL;
    Bta__Backup *b = gw_proto_new(arena, &bta__backup__descriptor);
    enum err e =
        b == NULL ? no_memory(eb) : gw_backup_info_to_proto(backup, instance, arena, &info, eb);
    if (e != ERR_OK)
        return e;
    b->name = info->backup;
    b->source_table = info->source_table;
    b->source_backup = info->source_backup;
    b->start_time = info->start_time;
    b->end_time = info->end_time;
    b->expire_time = time_to_proto(arena, backup->expires_us == 0 ? NEVER_US : backup->expires_us);
    b->encryption_info = gw_proto_new(arena, &bta__encryption_info__descriptor);
    b->size_bytes = (int64_t)backup->bytes;
    b->state = backup->is_ready ? BTA__BACKUP__STATE__READY : BTA__BACKUP__STATE__CREATING;
    b->backup_type = BTA__BACKUP__BACKUP_TYPE__STANDARD;
    if (b->expire_time == NULL || b->encryption_info == NULL)
        return no_memory(eb);
    *out = b;
    return ERR_OK;
}

enum err gw_restore_info_to_proto(struct slice origin, const struct gw_resource *instance,
                                  struct arena *arena, Bta__RestoreInfo **out, struct errbuf *eb)
{
    struct mig_tenant_backup from;
    *out = NULL;
    if (origin.len == 0)
        return ERR_OK;
    if (mig_table_origin_decode(origin, &from) != ERR_OK)
        return base_fail(eb, ERR_CORRUPT, "where the table was restored from cannot be read");
    Bta__RestoreInfo *info = gw_proto_new(arena, &bta__restore_info__descriptor);
    if (info == NULL)
        return no_memory(eb);
    info->source_type = BTA__RESTORE_SOURCE_TYPE__BACKUP;
    info->source_info_case = BTA__RESTORE_INFO__SOURCE_INFO_BACKUP_INFO;
    *out = info;
    return gw_backup_info_to_proto(&from, instance, arena, &info->backup_info, eb);
}

/* --- from messages ------------------------------------------------------------------------------
 */

enum err gw_backup_expiry_from_proto(const Google__Protobuf__Timestamp *message, int64_t made_us,
                                     int64_t now_us, int64_t *out_us, struct errbuf *eb)
{
    int64_t us = 0;
    if (message == NULL)
        return base_fail(eb, ERR_INVALID, "expire_time is missing");
    if (!gw_time_from_proto(message, &us))
        return base_fail(eb, ERR_INVALID, "expire_time is out of range");
    if (us < made_us + (GW_BACKUP_KEEP_MIN_S - GW_BACKUP_CLOCKS_S) * (int64_t)US_PER_S ||
        us > made_us + (GW_BACKUP_KEEP_MAX_S + GW_BACKUP_CLOCKS_S) * (int64_t)US_PER_S)
        return base_fail(eb, ERR_INVALID,
                         "expire_time must be at least 6 hours and at most 90 days after the "
                         "creation of the backup; clocks may differ by %d minutes",
                         GW_BACKUP_CLOCKS_S / 60);
    if (us <= now_us)
        return base_fail(eb, ERR_INVALID, "expire_time has passed; delete the backup instead");
    *out_us = us;
    return ERR_OK;
}

enum err gw_backup_cluster_check(struct slice cluster, struct errbuf *eb)
{
    if (base_slice_is(cluster, GW_CLUSTER))
        return ERR_OK;
    return base_fail(eb, ERR_NOT_FOUND, "there is no such cluster; it is \"" GW_CLUSTER "\"");
}

enum err gw_backup_name_of(const char *name, enum gw_resource_kind kind, const char *field,
                           const struct gw_resource *instance, struct slice *out, struct errbuf *eb)
{
    struct gw_resource parts;
    struct errbuf why;
    enum err e = gw_resource_parse(base_slice_text(name), kind, &parts, &why);
    if (e != ERR_OK)
        return base_fail(eb, e, "%s: %.200s", field, why.text);
    bool is_own = instance->is_exact
                      ? base_slice_equal(parts.instance, instance->instance)
                      : gw_resource_is_own_instance(parts.instance, instance->instance);
    if (!is_own || !base_slice_equal(parts.project, instance->project))
        return base_fail(eb, ERR_UNSUPPORTED, "%s: it must be in the instance of the parent",
                         field);
    *out = kind == GW_RESOURCE_TABLE ? parts.table : parts.leaf;
    return kind == GW_RESOURCE_TABLE ? ERR_OK : gw_backup_cluster_check(parts.cluster, eb);
}

/*
 * gateway/grpc/methods.c - the one table of gRPC methods.
 *
 * Methods that carry the load come first.
 */
#include <google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h>
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <google/bigtable/v2/bigtable.pb-c.h>
#include <google/iam/v1/iam_policy.pb-c.h>
#include <google/longrunning/operations.pb-c.h>
#include <grpc/health/v1/health.pb-c.h>
#include <grpc/reflection/v1/reflection.pb-c.h>

#include "auth/scopes.h"
#include "gateway/grpc/handlers.h"

#include "base/banned.h"

#define DATA             "google.bigtable.v2.Bigtable"
#define TABLES           "google.bigtable.admin.v2.BigtableTableAdmin"
#define INSTANCES        "google.bigtable.admin.v2.BigtableInstanceAdmin"
#define OPERATIONS       "google.longrunning.Operations"
#define METRICS          "google.monitoring.v3.MetricService"
#define HEALTH           "grpc.health.v1.Health"
#define REFLECTION       "grpc.reflection.v1.ServerReflection"
#define REFLECTION_ALPHA "grpc.reflection.v1alpha.ServerReflection"

#define REQUEST_MAX      (1 * MIB)
#define OPEN_REQUEST_MAX (16 * KIB) /* of methods that need no credential */

#define READ   .scope = AUTH_DATA_READ, .access = GW_ACCESS_READ, .cost = 1
#define WRITE  .scope = AUTH_DATA_WRITE, .access = GW_ACCESS_WRITE, .cost = 1
#define BULK   .scope = AUTH_DATA_WRITE, .access = GW_ACCESS_WRITE, .cost = 0
#define MODIFY .scope = AUTH_DATA_READ | AUTH_DATA_WRITE, .access = GW_ACCESS_MODIFY, .cost = 1

#define ON_TABLE                                                                                   \
    .resource = GW_RESOURCE_TABLE, .name_field = "table_name",                                     \
    .view_field = "authorized_view_name", .in_table = true
#define NO_MATERIALIZED    .missing_field = "materialized_view_name"
#define LARGE              .takes_large = true
#define IN_TABLE           NAMES(TABLE, "table_name"), .in_table = true
#define NAMES(kind, field) .resource = GW_RESOURCE_##kind, .name_field = (field)
#define OPEN               .access = GW_ACCESS_NONE
#define ANY_KEY            .access = GW_ACCESS_READ, .cost = 1
/* Methods that change more than rows are actions: macros like this one make the name of the action
 * mandatory. */
#define TABLE_W(action)                                                                            \
    .scope = AUTH_TABLE_ADMIN, .access = GW_ACCESS_DEFINE, .cost = 1, .audit = (action)

/* Reasons why methods are not implemented. */
#define NO_SNAPSHOTS "snapshots are deprecated; nothing uses them"
#define NO_SQL       "there is no SQL here: read rows with ReadRows and a filter"
#define NO_SESSIONS  "sessions are not spoken: use the plain RPCs, as GetClientConfiguration says"
#define NO_PROVISION "instances come and go with tenants: ask the operator of this server"
#define NO_IAM       "who may do what is said by the scopes of API keys"
#define NO_BUNDLES   "there is no SQL here, and so no schema bundles"
#define NO_VIEWS     "materialized and logical views need SQL, which is not here"
#define NO_UNDELETE  "a deleted table is gone: deletion protection keeps one from being deleted"
#define NO_METRICS   "this server takes no metrics of clients: switch them off in the client"
#define NO_TABLETS   "tables are not divided into tablets, so none is hotter than others"

const struct gw_method gw_methods[] = {
    {DATA, "ReadRows", &bt__read_rows_request__descriptor, READ, ON_TABLE, NO_MATERIALIZED, LARGE,
     .by_row = true, .handler = gw_read_rows, .doc = "complete; materialized views are refused"},
    {DATA, "MutateRow", &bt__mutate_row_request__descriptor, WRITE, ON_TABLE, LARGE,
     .bare_for_python = true, .by_row = true, .handler = gw_mutate_row, .doc = "complete"},
    {DATA, "MutateRows", &bt__mutate_rows_request__descriptor, BULK, ON_TABLE, LARGE,
     .outlives_peer = true, .bare_for_python = true, .by_row = true, .handler = gw_mutate_rows,
     .doc = "complete"},
    {DATA, "CheckAndMutateRow", &bt__check_and_mutate_row_request__descriptor, MODIFY, ON_TABLE,
     LARGE, .by_row = true, .handler = gw_check_and_mutate_row, .doc = "complete"},
    {DATA, "ReadModifyWriteRow", &bt__read_modify_write_row_request__descriptor, MODIFY, ON_TABLE,
     LARGE, .by_row = true, .handler = gw_read_modify_write_row, .doc = "complete"},
    {DATA, "SampleRowKeys", &bt__sample_row_keys_request__descriptor, READ, ON_TABLE,
     NO_MATERIALIZED, .handler = gw_sample_row_keys,
     .doc = "complete; offsets are the table's own bytes, through a view those of its rows"},
    {DATA, "GenerateInitialChangeStreamPartitions",
     &bt__generate_initial_change_stream_partitions_request__descriptor, READ, IN_TABLE,
     .handler = gw_change_stream_partitions, .doc = "complete; up to 8 partitions"},
    {DATA, "ReadChangeStream", &bt__read_change_stream_request__descriptor, READ, IN_TABLE,
     .handler = gw_read_change_stream,
     .doc = "complete; any range is a partition, and none is ever divided or merged"},
    {DATA, "PingAndWarm", &bt__ping_and_warm_request__descriptor, READ, NAMES(INSTANCE, "name"),
     .by_row = true, .handler = gw_ping_and_warm,
     .doc = "answers at once; there is nothing to warm"},
    {DATA, "GetClientConfiguration", &bt__get_client_configuration_request__descriptor, READ,
     NAMES(INSTANCE, "instance_name"), .by_row = true, .handler = gw_get_client_configuration,
     .doc = "no sessions, and no polling for more"},

    {TABLES, "CreateTable", &bta__create_table_request__descriptor, TABLE_W("table.create"),
     NAMES(INSTANCE, "parent"), .handler = gw_admin_create_table, .doc = "complete"},
    {TABLES, "ListTables", &bta__list_tables_request__descriptor, READ, NAMES(INSTANCE, "parent"),
     .handler = gw_admin_list_tables, .doc = "complete"},
    {TABLES, "GetTable", &bta__get_table_request__descriptor, READ, NAMES(TABLE, "name"),
     .in_table = true, .handler = gw_admin_get_table, .doc = "complete"},
    {TABLES, "UpdateTable", &bta__update_table_request__descriptor, TABLE_W("table.update"),
     NAMES(TABLE, "table.name"), .in_table = true, .handler = gw_admin_update_table,
     .doc = "deletion_protection and change_stream_config"},
    {TABLES, "DeleteTable", &bta__delete_table_request__descriptor, TABLE_W("table.delete"),
     NAMES(TABLE, "name"), .handler = gw_admin_delete_table, .doc = "complete"},
    {TABLES, "ModifyColumnFamilies", &bta__modify_column_families_request__descriptor,
     TABLE_W("table.families"), NAMES(TABLE, "name"), .in_table = true,
     .handler = gw_admin_modify_families,
     .doc = "complete; nothing may follow the drop of a family in one request"},
    {TABLES, "DropRowRange", &bta__drop_row_range_request__descriptor, TABLE_W("table.drop_rows"),
     NAMES(TABLE, "name"), .in_table = true, .handler = gw_admin_drop_row_range,
     .doc = "complete; any number at once, with any deadline"},
    {TABLES, "GenerateConsistencyToken", &bta__generate_consistency_token_request__descriptor, READ,
     NAMES(TABLE, "name"), .in_table = true, .handler = gw_admin_generate_token, .doc = "complete"},
    {TABLES, "CheckConsistency", &bta__check_consistency_request__descriptor, READ,
     NAMES(TABLE, "name"), .in_table = true, .handler = gw_admin_check_consistency,
     .doc = "complete; there is one copy, so it is always consistent"},

    {TABLES, "CreateAuthorizedView", &bta__create_authorized_view_request__descriptor,
     TABLE_W("view.create"), NAMES(TABLE, "parent"), .in_table = true,
     .handler = gw_admin_create_view,
     .doc = "complete; families must be the table's; at most 100 of a table"},
    {TABLES, "ListAuthorizedViews", &bta__list_authorized_views_request__descriptor, READ,
     NAMES(TABLE, "parent"), .in_table = true, .handler = gw_admin_list_views,
     .doc = "complete; a page ends when it takes 256 KiB, as one of ListTables"},
    {TABLES, "GetAuthorizedView", &bta__get_authorized_view_request__descriptor, READ,
     NAMES(VIEW, "name"), .in_table = true, .handler = gw_admin_get_view, .doc = "complete"},
    {TABLES, "UpdateAuthorizedView", &bta__update_authorized_view_request__descriptor,
     TABLE_W("view.update"), NAMES(VIEW, "authorized_view.name"), .in_table = true,
     .handler = gw_admin_update_view,
     .doc = "subset_view as a whole, deletion_protection; there is nothing to warn of"},
    {TABLES, "DeleteAuthorizedView", &bta__delete_authorized_view_request__descriptor,
     TABLE_W("view.delete"), NAMES(VIEW, "name"), .in_table = true, .handler = gw_admin_delete_view,
     .doc = "complete"},

    {TABLES, "CreateBackup", &bta__create_backup_request__descriptor, TABLE_W("backup.create"),
     NAMES(CLUSTER, "parent"), .handler = gw_admin_create_backup,
     .doc = "complete; STANDARD alone; at most 50 of a tenant"},
    {TABLES, "GetBackup", &bta__get_backup_request__descriptor, READ, NAMES(BACKUP, "name"),
     .handler = gw_admin_get_backup, .doc = "complete; encryption_info is empty"},
    {TABLES, "ListBackups", &bta__list_backups_request__descriptor, READ, NAMES(CLUSTER, "parent"),
     .handler = gw_admin_list_backups, .doc = "complete"},
    {TABLES, "UpdateBackup", &bta__update_backup_request__descriptor, TABLE_W("backup.update"),
     NAMES(BACKUP, "backup.name"), .handler = gw_admin_update_backup, .doc = "expire_time"},
    {TABLES, "DeleteBackup", &bta__delete_backup_request__descriptor, TABLE_W("backup.delete"),
     NAMES(BACKUP, "name"), .handler = gw_admin_delete_backup, .doc = "complete"},
    {TABLES, "CopyBackup", &bta__copy_backup_request__descriptor, TABLE_W("backup.copy"),
     NAMES(CLUSTER, "parent"), .handler = gw_admin_copy_backup, .doc = "within an instance"},
    {TABLES, "RestoreTable", &bta__restore_table_request__descriptor, TABLE_W("backup.restore"),
     NAMES(INSTANCE, "parent"), .handler = gw_admin_restore_table,
     .doc = "within an instance; nothing is left to optimize afterwards"},

    {TABLES, "TestIamPermissions", &iam__test_iam_permissions_request__descriptor, ANY_KEY,
     NAMES(ANY, "resource"), .handler = gw_admin_test_permissions,
     .doc = "complete; answered from the scopes of the key"},

    {INSTANCES, "GetInstance", &bta__get_instance_request__descriptor, READ,
     NAMES(INSTANCE, "name"), .finds = true, .handler = gw_admin_get_instance, .doc = "complete"},
    {INSTANCES, "ListInstances", &bta__list_instances_request__descriptor, READ,
     NAMES(PROJECT, "parent"), .finds = true, .handler = gw_admin_list_instances,
     .doc = "the tenant's one"},
    {INSTANCES, "GetCluster", &bta__get_cluster_request__descriptor, READ, NAMES(CLUSTER, "name"),
     .finds = true, .handler = gw_admin_get_cluster, .doc = "complete"},
    {INSTANCES, "ListClusters", &bta__list_clusters_request__descriptor, READ,
     NAMES(INSTANCE, "parent"), .finds = true, .handler = gw_admin_list_clusters,
     .doc = "the one there is"},
    {INSTANCES, "GetAppProfile", &bta__get_app_profile_request__descriptor, READ,
     NAMES(APP_PROFILE, "name"), .finds = true, .handler = gw_admin_get_app_profile,
     .doc = "complete"},
    {INSTANCES, "ListAppProfiles", &bta__list_app_profiles_request__descriptor, READ,
     NAMES(INSTANCE, "parent"), .finds = true, .handler = gw_admin_list_app_profiles,
     .doc = "the default one; any may be named"},
    {INSTANCES, "TestIamPermissions", &iam__test_iam_permissions_request__descriptor, ANY_KEY,
     NAMES(ANY, "resource"), .handler = gw_admin_test_permissions,
     .doc = "complete; answered from the scopes of the key"},

    {OPERATIONS, "GetOperation", &lro__get_operation_request__descriptor, READ,
     NAMES(OPERATION, "name"), .handler = gw_operation_get,
     .doc = "complete; all but work on backups is done when it is answered"},
    {OPERATIONS, "WaitOperation", &lro__wait_operation_request__descriptor, READ,
     NAMES(OPERATION, "name"), .handler = gw_operation_get, .doc = "the same; answers at once"},
    {OPERATIONS, "ListOperations", &lro__list_operations_request__descriptor, READ,
     NAMES(INSTANCE, "name"), .handler = gw_operation_list,
     .doc = "the last 100 on backups, newest first; no filter"},
    {OPERATIONS, "CancelOperation", &lro__cancel_operation_request__descriptor,
     TABLE_W("operation.cancel"), NAMES(OPERATION, "name"), .handler = gw_operation_cancel,
     .doc = "complete; nothing of a cancelled backup or restore is left"},
    {OPERATIONS, "DeleteOperation", &lro__delete_operation_request__descriptor,
     TABLE_W("operation.delete"), NAMES(OPERATION, "name"), .handler = gw_operation_forget,
     .doc = "complete; of one that has ended"},

    {HEALTH, "Check", &health__health_check_request__descriptor, OPEN, .handler = gw_health_check,
     .doc = "complete; for the server and each service, without a credential"},
    {HEALTH, "Watch", &health__health_check_request__descriptor, OPEN, .handler = gw_health_watch,
     .doc = "complete; a change is told within a second"},

    /* Both versions look the same on the wire. */
    {REFLECTION, "ServerReflectionInfo", &refl__server_reflection_request__descriptor, OPEN,
     .client_streaming = true, .handler = gw_reflection,
     .doc = "services, files and symbols, without a credential; extensions are not told"},
    {REFLECTION_ALPHA, "ServerReflectionInfo", &refl__server_reflection_request__descriptor, OPEN,
     .client_streaming = true, .handler = gw_reflection, .doc = "the same"},

    {DATA, "PrepareQuery", .doc = NO_SQL},
    {DATA, "ExecuteQuery", .doc = NO_SQL},
    {DATA, "OpenTable", .doc = NO_SESSIONS},
    {DATA, "OpenAuthorizedView", .doc = NO_SESSIONS},
    {DATA, "OpenMaterializedView", .doc = NO_SESSIONS},
    {TABLES, "UndeleteTable", .doc = NO_UNDELETE},
    {TABLES, "CreateTableFromSnapshot", .doc = NO_SNAPSHOTS},
    {TABLES, "SnapshotTable", .doc = NO_SNAPSHOTS},
    {TABLES, "GetSnapshot", .doc = NO_SNAPSHOTS},
    {TABLES, "ListSnapshots", .doc = NO_SNAPSHOTS},
    {TABLES, "DeleteSnapshot", .doc = NO_SNAPSHOTS},
    {TABLES, "GetIamPolicy", .doc = NO_IAM},
    {TABLES, "SetIamPolicy", .doc = NO_IAM},
    {TABLES, "CreateSchemaBundle", .doc = NO_BUNDLES},
    {TABLES, "UpdateSchemaBundle", .doc = NO_BUNDLES},
    {TABLES, "GetSchemaBundle", .doc = NO_BUNDLES},
    {TABLES, "ListSchemaBundles", .doc = NO_BUNDLES},
    {TABLES, "DeleteSchemaBundle", .doc = NO_BUNDLES},
    {INSTANCES, "CreateInstance", .plain_request = &bta__create_instance_request__descriptor,
     TABLE_W("instance.create"), NAMES(PROJECT, "parent"), .id_field = "instance_id",
     .check = gw_admin_check_instance, .handler = gw_admin_create_instance, .doc = NO_PROVISION},
    {INSTANCES, "UpdateInstance", .plain_request = &bta__instance__descriptor,
     TABLE_W("instance.update"), NAMES(INSTANCE, "name"), .finds = true,
     .handler = gw_admin_update_instance, .doc = NO_PROVISION},
    {INSTANCES, "PartialUpdateInstance",
     .plain_request = &bta__partial_update_instance_request__descriptor, TABLE_W("instance.update"),
     NAMES(INSTANCE, "instance.name"), .finds = true, .handler = gw_admin_patch_instance,
     .doc = NO_PROVISION},
    {INSTANCES, "CreateCluster", .plain_request = &bta__create_cluster_request__descriptor,
     TABLE_W("cluster.create"), NAMES(INSTANCE, "parent"), .finds = true,
     .handler = gw_admin_create_cluster, .doc = NO_PROVISION},
    {INSTANCES, "UpdateCluster", .plain_request = &bta__cluster__descriptor,
     TABLE_W("cluster.update"), NAMES(CLUSTER, "name"), .finds = true,
     .handler = gw_admin_update_cluster, .doc = NO_PROVISION},
    {INSTANCES, "PartialUpdateCluster",
     .plain_request = &bta__partial_update_cluster_request__descriptor, TABLE_W("cluster.update"),
     NAMES(CLUSTER, "cluster.name"), .finds = true, .handler = gw_admin_patch_cluster,
     .doc = NO_PROVISION},
    {INSTANCES, "CreateAppProfile", .plain_request = &bta__create_app_profile_request__descriptor,
     TABLE_W("profile.create"), NAMES(INSTANCE, "parent"), .finds = true,
     .handler = gw_admin_create_profile, .doc = NO_PROVISION},
    {INSTANCES, "UpdateAppProfile", .plain_request = &bta__update_app_profile_request__descriptor,
     TABLE_W("profile.update"), NAMES(APP_PROFILE, "app_profile.name"), .finds = true,
     .handler = gw_admin_update_profile, .doc = NO_PROVISION},
    {INSTANCES, "DeleteAppProfile", .plain_request = &bta__delete_app_profile_request__descriptor,
     TABLE_W("profile.delete"), NAMES(APP_PROFILE, "name"), .finds = true,
     .handler = gw_admin_delete_profile, .doc = NO_PROVISION},
    {INSTANCES, "DeleteCluster", .plain_request = &bta__delete_cluster_request__descriptor,
     TABLE_W("cluster.delete"), NAMES(CLUSTER, "name"), .finds = true,
     .handler = gw_admin_delete_cluster, .doc = NO_PROVISION},
    {INSTANCES, "DeleteInstance", .plain_request = &bta__delete_instance_request__descriptor,
     TABLE_W("instance.delete"), NAMES(INSTANCE, "name"), .finds = true,
     .handler = gw_admin_delete_instance, .doc = NO_PROVISION},
    {INSTANCES, "GetIamPolicy", .doc = NO_IAM},
    {INSTANCES, "SetIamPolicy", .doc = NO_IAM},
    {INSTANCES, "ListHotTablets", .doc = NO_TABLETS},
    {INSTANCES, "CreateLogicalView", .doc = NO_VIEWS},
    {INSTANCES, "GetLogicalView", .doc = NO_VIEWS},
    {INSTANCES, "ListLogicalViews", .doc = NO_VIEWS},
    {INSTANCES, "UpdateLogicalView", .doc = NO_VIEWS},
    {INSTANCES, "DeleteLogicalView", .doc = NO_VIEWS},
    {INSTANCES, "CreateMaterializedView", .doc = NO_VIEWS},
    {INSTANCES, "GetMaterializedView", .doc = NO_VIEWS},
    {INSTANCES, "ListMaterializedViews", .doc = NO_VIEWS},
    {INSTANCES, "UpdateMaterializedView", .doc = NO_VIEWS},
    {INSTANCES, "DeleteMaterializedView", .doc = NO_VIEWS},

    /* Clients send their own metrics to the server of their data; only this refusal makes them
     * stop. */
    {METRICS, "CreateServiceTimeSeries", .refusal = ERR_FORBIDDEN, .doc = NO_METRICS},
    {METRICS, "CreateTimeSeries", .refusal = ERR_FORBIDDEN, .doc = NO_METRICS},
    {0},
};

const size_t gw_method_count = sizeof gw_methods / sizeof gw_methods[0] - 1;

static bool take(struct slice *rest, const char *text, uint8_t end)
{
    size_t len = strlen(text);
    if (rest->len < len || memcmp(rest->ptr, text, len) != 0)
        return false;
    *rest = base_slice_skip(*rest, len);
    if (end == '\0')
        return rest->len == 0;
    if (rest->len == 0 || rest->ptr[0] != end)
        return false;
    *rest = base_slice_skip(*rest, 1);
    return true;
}

const struct gw_method *gw_method_find(struct slice path)
{
    for (const struct gw_method *m = gw_methods; m->service != NULL; m++) {
        struct slice rest = path;
        if (take(&rest, "", '/') && take(&rest, m->service, '/') && take(&rest, m->name, '\0'))
            return m;
    }
    return NULL;
}

size_t gw_method_request_max(const struct gw_method *method)
{
    if (method->takes_large)
        return GW_RPC_MESSAGE_MAX;
    return method->access == GW_ACCESS_NONE ? OPEN_REQUEST_MAX : REQUEST_MAX;
}

bool gw_method_service_is_known(struct slice service)
{
    for (const struct gw_method *m = gw_methods; m->service != NULL; m++)
        if (base_slice_is(service, m->service))
            return true;
    return false;
}

/*
 * gateway/grpc/permissions.c - TestIamPermissions: the rights of the caller's key, as Bigtable's
 * permissions.
 *
 * A permission belongs to a method, and is granted to a key with that method's scopes. Permissions
 * that have no method here (of provisioning and policies, say) are granted to no key.
 */
#include <google/iam/v1/iam_policy.pb-c.h>

#include "gateway/grpc/handlers.h"
#include "tenancy/views.h"

#include "base/banned.h"

#define DATA      "/google.bigtable.v2.Bigtable/"
#define TABLES    "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define INSTANCES "/google.bigtable.admin.v2.BigtableInstanceAdmin/"

static const struct {
    const char *name; /* after "bigtable." */
    const char *method;
} PERMISSIONS[] = {
    {"tables.readRows", DATA "ReadRows"},
    {"tables.sampleRowKeys", DATA "SampleRowKeys"},
    {"tables.mutateRows", DATA "MutateRows"},
    {"tables.get", TABLES "GetTable"},
    {"tables.list", TABLES "ListTables"},
    {"tables.create", TABLES "CreateTable"},
    {"tables.update", TABLES "UpdateTable"},
    {"tables.delete", TABLES "DeleteTable"},
    {"tables.generateConsistencyToken", TABLES "GenerateConsistencyToken"},
    {"tables.checkConsistency", TABLES "CheckConsistency"},
    {"authorizedViews.readRows", DATA "ReadRows"},
    {"authorizedViews.sampleRowKeys", DATA "SampleRowKeys"},
    {"authorizedViews.mutateRows", DATA "MutateRows"},
    {"authorizedViews.get", TABLES "GetAuthorizedView"},
    {"authorizedViews.list", TABLES "ListAuthorizedViews"},
    {"authorizedViews.create", TABLES "CreateAuthorizedView"},
    {"authorizedViews.update", TABLES "UpdateAuthorizedView"},
    {"authorizedViews.delete", TABLES "DeleteAuthorizedView"},
    {"backups.get", TABLES "GetBackup"},
    {"backups.list", TABLES "ListBackups"},
    {"backups.create", TABLES "CreateBackup"},
    {"backups.update", TABLES "UpdateBackup"},
    {"backups.delete", TABLES "DeleteBackup"},
    {"backups.read", TABLES "CopyBackup"},
    {"backups.restore", TABLES "RestoreTable"},
    {"instances.get", INSTANCES "GetInstance"},
    {"instances.list", INSTANCES "ListInstances"},
    {"instances.ping", DATA "PingAndWarm"},
    {"clusters.get", INSTANCES "GetCluster"},
    {"clusters.list", INSTANCES "ListClusters"},
    {"appProfiles.get", INSTANCES "GetAppProfile"},
    {"appProfiles.list", INSTANCES "ListAppProfiles"},
};
#define PERMISSION_COUNT (sizeof PERMISSIONS / sizeof PERMISSIONS[0])

static bool is_granted(uint64_t scopes, struct slice permission)
{
    struct slice service = SLICE_LIT("bigtable.");
    if (!base_slice_starts_with(permission, service))
        return false;
    struct slice name = base_slice_skip(permission, service.len);
    for (size_t i = 0; i < PERMISSION_COUNT; i++) {
        if (!base_slice_is(name, PERMISSIONS[i].name))
            continue;
        const struct gw_method *method = gw_method_find(base_slice_text(PERMISSIONS[i].method));
        INVARIANT(method != NULL && method->request != NULL);
        return (method->scope & ~scopes) == 0;
    }
    return false;
}

/* Returns whether the table or view exists; other resources are not checked. */
static bool exists(struct gw_call *call)
{
    struct gw_rpc *rpc = gw_rpc(call);
    if (rpc->resource.table.len == 0)
        return true;
    if (gw_call_enter_table(call, rpc->resource.table, NULL) != ERR_OK)
        return false;
    return rpc->resource.kind != GW_RESOURCE_VIEW ||
           ten_view_find(call->scope.schema, rpc->resource.leaf, &rpc->view, NULL) == ERR_OK;
}

static enum err check_permissions(const Iam__TestIamPermissionsRequest *request, struct errbuf *eb)
{
    if (request->n_permissions > LIM_PERMISSIONS)
        return base_fail(eb, ERR_TOO_BIG, "%zu permissions; the limit is %d",
                         request->n_permissions, LIM_PERMISSIONS);
    for (size_t i = 0; i < request->n_permissions; i++)
        if (strchr(request->permissions[i], '*') != NULL)
            return base_fail(eb, ERR_INVALID,
                             "permission %zu: \"%s\" has a wildcard; name each permission", i + 1,
                             request->permissions[i]);
    return ERR_OK;
}

void gw_admin_test_permissions(struct gw_call *call)
{
    const Iam__TestIamPermissionsRequest *request = (const void *)gw_rpc(call)->request;
    Iam__TestIamPermissionsResponse reply = IAM__TEST_IAM_PERMISSIONS_RESPONSE__INIT;
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = check_permissions(request, &eb);
    if (e == ERR_OK) {
        size_t count = request->n_permissions;
        reply.permissions =
            base_arena_alloc(&call->arena, (count + 1) * sizeof(*reply.permissions));
        if (reply.permissions == NULL)
            e = base_fail(&eb, ERR_NO_MEMORY, "out of memory for %zu permissions", count);
    }
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    bool is_there = exists(call);
    for (size_t i = 0; is_there && i < request->n_permissions; i++)
        if (is_granted(call->who.scopes, base_slice_text(request->permissions[i])))
            reply.permissions[reply.n_permissions++] = request->permissions[i];
    gw_rpc_reply(call, &reply.base);
}

/*
 * gateway/grpc/instance_admin.c - BigtableInstanceAdmin, as far as it can be read.
 *
 * Every tenant has one instance with one cluster and the default application profile; nothing of
 * it can be changed here. Any profile may be named by a client, none makes a difference.
 */
#include <google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h>

#include "gateway/grpc/handlers.h"
#include "gateway/grpc/table_proto.h"

#include "base/banned.h"

#define PROFILE  "default"
#define US_PER_S 1000000

static const char no_memory[] = "out of memory for the description";

/* Of what a tenant has one of: its own, whatever wildcard was asked for. */
static char *name_of(struct gw_call *call, enum gw_resource_kind kind)
{
    const struct gw_resource resource = {.kind = kind,
                                         .project = gw_rpc(call)->resource.project,
                                         .instance = ten_tenant_instance(call->tenant),
                                         .cluster = SLICE_LIT(GW_CLUSTER),
                                         .leaf = SLICE_LIT(PROFILE)};
    return gw_resource_name(&call->arena, &resource);
}

/* --- instances ---------------------------------------------------------------------------------
 */

static Bta__Instance *make_instance(struct gw_call *call)
{
    const struct ten_details *details = ten_tenant_details(call->tenant);
    Bta__Instance *instance = gw_proto_new(&call->arena, &bta__instance__descriptor);
    Google__Protobuf__Timestamp *created =
        gw_proto_new(&call->arena, &google__protobuf__timestamp__descriptor);
    if (instance == NULL || created == NULL)
        return NULL;
    created->seconds = details->created_us / US_PER_S;
    created->nanos = (int32_t)(details->created_us % US_PER_S) * 1000;
    instance->name = name_of(call, GW_RESOURCE_INSTANCE);
    bool is_named = details->display_name[0] != '\0'; /* clients refuse an instance without */
    instance->display_name =
        base_arena_text(&call->arena, is_named ? base_slice_text(details->display_name)
                                               : ten_tenant_id(call->tenant));
    instance->state = BTA__INSTANCE__STATE__READY;
    instance->type = BTA__INSTANCE__TYPE__PRODUCTION;
    instance->create_time = created;
    return instance->name == NULL || instance->display_name == NULL ? NULL : instance;
}

void gw_admin_get_instance(struct gw_call *call)
{
    const Bta__Instance *instance = make_instance(call);
    if (instance == NULL)
        gw_call_problem(call, ERR_NO_MEMORY, no_memory);
    else
        gw_rpc_reply(call, &instance->base);
}

void gw_admin_list_instances(struct gw_call *call)
{
    Bta__ListInstancesResponse reply = BTA__LIST_INSTANCES_RESPONSE__INIT;
    Bta__Instance *instance = make_instance(call);
    if (instance == NULL) {
        gw_call_problem(call, ERR_NO_MEMORY, no_memory);
        return;
    }
    reply.instances = &instance;
    reply.n_instances = 1;
    gw_rpc_reply(call, &reply.base);
}

/* --- clusters ----------------------------------------------------------------------------------
 */

static Bta__Cluster *make_cluster(struct gw_call *call)
{
    Bta__Cluster *cluster = gw_proto_new(&call->arena, &bta__cluster__descriptor);
    if (cluster == NULL)
        return NULL;
    cluster->name = name_of(call, GW_RESOURCE_CLUSTER);
    cluster->state = BTA__CLUSTER__STATE__READY;
    cluster->serve_nodes = 1;
    cluster->default_storage_type = BTA__STORAGE_TYPE__SSD;
    return cluster->name == NULL ? NULL : cluster;
}

void gw_admin_get_cluster(struct gw_call *call)
{
    const Bta__Cluster *cluster = make_cluster(call);
    if (cluster == NULL)
        gw_call_problem(call, ERR_NO_MEMORY, no_memory);
    else if (!base_slice_is(gw_rpc(call)->resource.cluster, GW_CLUSTER))
        gw_call_problem(call, ERR_NOT_FOUND, "there is no such cluster; it is \"" GW_CLUSTER "\"");
    else
        gw_rpc_reply(call, &cluster->base);
}

void gw_admin_list_clusters(struct gw_call *call)
{
    Bta__ListClustersResponse reply = BTA__LIST_CLUSTERS_RESPONSE__INIT;
    Bta__Cluster *cluster = make_cluster(call);
    if (cluster == NULL) {
        gw_call_problem(call, ERR_NO_MEMORY, no_memory);
        return;
    }
    reply.clusters = &cluster;
    reply.n_clusters = 1;
    gw_rpc_reply(call, &reply.base);
}

/* --- application profiles ----------------------------------------------------------------------
 */

static Bta__AppProfile *make_profile(struct gw_call *call)
{
    static char cluster[] = GW_CLUSTER;
    Bta__AppProfile *profile = gw_proto_new(&call->arena, &bta__app_profile__descriptor);
    Bta__AppProfile__SingleClusterRouting *routing =
        gw_proto_new(&call->arena, &bta__app_profile__single_cluster_routing__descriptor);
    if (profile == NULL || routing == NULL)
        return NULL;
    routing->cluster_id = cluster;
    routing->allow_transactional_writes = true;
    profile->name = name_of(call, GW_RESOURCE_APP_PROFILE);
    profile->routing_policy_case = BTA__APP_PROFILE__ROUTING_POLICY_SINGLE_CLUSTER_ROUTING;
    profile->single_cluster_routing = routing;
    return profile->name == NULL ? NULL : profile;
}

void gw_admin_get_app_profile(struct gw_call *call)
{
    const Bta__AppProfile *profile = make_profile(call);
    if (profile == NULL)
        gw_call_problem(call, ERR_NO_MEMORY, no_memory);
    else if (!base_slice_is(gw_rpc(call)->resource.leaf, PROFILE))
        gw_call_problem(call, ERR_NOT_FOUND, "there is no such profile; it is \"" PROFILE "\"");
    else
        gw_rpc_reply(call, &profile->base);
}

void gw_admin_list_app_profiles(struct gw_call *call)
{
    Bta__ListAppProfilesResponse reply = BTA__LIST_APP_PROFILES_RESPONSE__INIT;
    Bta__AppProfile *profile = make_profile(call);
    if (profile == NULL) {
        gw_call_problem(call, ERR_NO_MEMORY, no_memory);
        return;
    }
    reply.app_profiles = &profile;
    reply.n_app_profiles = 1;
    gw_rpc_reply(call, &reply.base);
}

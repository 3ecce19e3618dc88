/*
 * gateway/grpc/instance_admin.c - BigtableInstanceAdmin: instances, clusters and application
 * profiles, read.
 *
 * A tenant with a key has one instance with one cluster and the default profile; none of them can
 * be changed. At the emulator's listener a project has as many as clients created (instance_work.c,
 * cluster_work.c, profile_work.c). A request may name any profile; it makes no difference.
 */
#include "gateway/grpc/emulator.h"
#include "gateway/grpc/handlers.h"
#include "gateway/grpc/instance_state.h"

#include "base/banned.h"

/* Lists are not paged: there are few entries of each kind. */
struct list {
    Bta__ListInstancesResponse instances;
    Bta__ListClustersResponse clusters;
    Bta__ListAppProfilesResponse profiles;
};

static void reply_message(struct gw_call *call)
{
    const ProtobufCMessage *message = call->state;
    gw_rpc_reply(call, message);
}

/* --- single objects ----------------------------------------------------------------------------
 */

static enum err get_instance(struct gw_call *call, struct errbuf *eb)
{
    return gw_instance_part(call, GW_RESOURCE_INSTANCE, SLICE_EMPTY, eb);
}

void gw_admin_get_instance(struct gw_call *call)
{
    gw_instance_run(call, get_instance, reply_message);
}

static enum err get_cluster(struct gw_call *call, struct errbuf *eb)
{
    return gw_instance_part(call, GW_RESOURCE_CLUSTER, gw_rpc(call)->resource.cluster, eb);
}

void gw_admin_get_cluster(struct gw_call *call)
{
    gw_instance_run(call, get_cluster, reply_message);
}

static enum err get_profile(struct gw_call *call, struct errbuf *eb)
{
    return gw_instance_part(call, GW_RESOURCE_APP_PROFILE, gw_rpc(call)->resource.leaf, eb);
}

void gw_admin_get_app_profile(struct gw_call *call)
{
    gw_instance_run(call, get_profile, reply_message);
}

/* --- lists -------------------------------------------------------------------------------------
 */

typedef enum err list_one(struct gw_call *call, const struct gw_instance *in, struct list *list,
                          struct errbuf *eb);

/* Lists the instances that the call's resource names: one, or all of the project. */
static enum err list_each(struct gw_call *call, list_one *add, struct errbuf *eb)
{
    struct list *list = call->state;
    struct ten_tenant *own[] = {call->tenant}, **tenants = own;
    size_t count = 1;
    struct gw_instance *in = base_arena_alloc(&call->arena, sizeof *in);
    enum err e = in == NULL ? gw_instance_no_memory(eb) : ERR_OK;
    bool is_all = gw_rpc(call)->resource.is_exact && gw_emulator_names_all(gw_rpc(call));
    if (e == ERR_OK && is_all)
        e = gw_emulator_tenants(call, &tenants, &count, eb);
    for (size_t i = 0; e == ERR_OK && i < count; i++) {
        e = gw_instance_read(call, tenants[i], in, eb);
        if (e == ERR_OK && in->instance != NULL)
            e = add(call, in, list, eb);
        else if (e == ERR_OK && !is_all)
            e = gw_instance_get(call, in, eb); /* returns the error that there is none */
    }
    return e;
}

/* Returns the list with space for more messages at its end; NULL: no memory. */
static void *list_room(struct gw_call *call, void *list, size_t count, size_t more)
{
    void **longer = base_arena_alloc(&call->arena, (count + more + 1) * sizeof *longer);
    if (longer != NULL && count > 0)
        memcpy(longer, list, count * sizeof *longer);
    return longer;
}

static enum err add_instance(struct gw_call *call, const struct gw_instance *in, struct list *list,
                             struct errbuf *eb)
{
    Bta__ListInstancesResponse *reply = &list->instances;
    Bta__Instance *instance = gw_instance_describe(call, in);
    reply->instances = list_room(call, reply->instances, reply->n_instances, 1);
    if (instance == NULL || reply->instances == NULL)
        return gw_instance_no_memory(eb);
    reply->instances[reply->n_instances++] = instance;
    return ERR_OK;
}

static enum err list_instances(struct gw_call *call, struct errbuf *eb)
{
    return list_each(call, add_instance, eb);
}

static void reply_instances(struct gw_call *call)
{
    const struct list *list = call->state;
    gw_rpc_reply(call, &list->instances.base);
}

static enum err add_clusters(struct gw_call *call, const struct gw_instance *in, struct list *list,
                             struct errbuf *eb)
{
    Bta__ListClustersResponse *reply = &list->clusters;
    reply->clusters = list_room(call, reply->clusters, reply->n_clusters, in->cluster_count);
    if (reply->clusters == NULL)
        return gw_instance_no_memory(eb);
    for (size_t i = 0; i < in->cluster_count; i++) {
        Bta__Cluster *cluster = gw_instance_describe_cluster(call, in, i);
        if (cluster == NULL)
            return gw_instance_no_memory(eb);
        reply->clusters[reply->n_clusters++] = cluster;
    }
    return ERR_OK;
}

static enum err list_clusters(struct gw_call *call, struct errbuf *eb)
{
    return list_each(call, add_clusters, eb);
}

static void reply_clusters(struct gw_call *call)
{
    const struct list *list = call->state;
    gw_rpc_reply(call, &list->clusters.base);
}

static enum err add_profiles(struct gw_call *call, const struct gw_instance *in, struct list *list,
                             struct errbuf *eb)
{
    Bta__ListAppProfilesResponse *reply = &list->profiles;
    reply->app_profiles =
        list_room(call, reply->app_profiles, reply->n_app_profiles, in->profile_count);
    if (reply->app_profiles == NULL)
        return gw_instance_no_memory(eb);
    for (size_t i = 0; i < in->profile_count; i++) {
        Bta__AppProfile *profile = gw_instance_describe_profile(call, in, i);
        if (profile == NULL)
            return gw_instance_no_memory(eb);
        reply->app_profiles[reply->n_app_profiles++] = profile;
    }
    return ERR_OK;
}

static enum err list_profiles(struct gw_call *call, struct errbuf *eb)
{
    return list_each(call, add_profiles, eb);
}

static void reply_profiles(struct gw_call *call)
{
    const struct list *list = call->state;
    gw_rpc_reply(call, &list->profiles.base);
}

static void list_new(struct gw_call *call)
{
    struct list *list = gw_call_new_state(call, sizeof *list, NULL);
    bta__list_instances_response__init(&list->instances);
    bta__list_clusters_response__init(&list->clusters);
    bta__list_app_profiles_response__init(&list->profiles);
}

void gw_admin_list_instances(struct gw_call *call)
{
    list_new(call);
    gw_instance_run(call, list_instances, reply_instances);
}

void gw_admin_list_clusters(struct gw_call *call)
{
    list_new(call);
    gw_instance_run(call, list_clusters, reply_clusters);
}

void gw_admin_list_app_profiles(struct gw_call *call)
{
    list_new(call);
    gw_instance_run(call, list_profiles, reply_profiles);
}

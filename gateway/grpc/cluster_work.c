/*
 * gateway/grpc/cluster_work.c - BigtableInstanceAdmin at the emulator's listener: creates, changes
 * and deletes clusters.
 *
 * Clusters are stored descriptions and nothing else: they do not affect where rows are stored.
 */
#include <google/protobuf/empty.pb-c.h>

#include "base/clock.h"
#include "gateway/grpc/field_mask.h"
#include "gateway/grpc/handlers.h"
#include "gateway/grpc/instance_parts.h"
#include "gateway/grpc/operation.h"
#include "gateway/grpc/time_proto.h"

#include "base/banned.h"

static const char *const CREATED[] = {"location",
                                      "serve_nodes",
                                      "cluster_config",
                                      "node_scaling_factor",
                                      "encryption_config",
                                      "default_storage_type",
                                      NULL};
static const char *const CHANGEABLE[] = {"serve_nodes", "cluster_config", NULL};

/* The result of a task, for the response. */
struct change {
    struct gw_instance in;
    int64_t began_us;
    Bta__Cluster *described;
};

static void change_new(struct gw_call *call)
{
    struct change *c = gw_call_new_state(call, sizeof *c, NULL);
    c->began_us = base_wall_us();
}

/* Fills in fields that a client may leave out. */
static void complete(Bta__Cluster *cluster)
{
    bool scales = cluster->config_case == BTA__CLUSTER__CONFIG_CLUSTER_CONFIG &&
                  cluster->cluster_config->cluster_autoscaling_config != NULL;
    if (!scales)
        cluster->config_case = BTA__CLUSTER__CONFIG__NOT_SET;
    if (!scales && cluster->serve_nodes <= 0)
        cluster->serve_nodes = 1;
    if (cluster->default_storage_type == BTA__STORAGE_TYPE__STORAGE_TYPE_UNSPECIFIED)
        cluster->default_storage_type = BTA__STORAGE_TYPE__SSD;
    cluster->state = BTA__CLUSTER__STATE__READY;
}

/* Reads the instance, and finds in it the cluster that the call names. */
static enum err cluster_get(struct gw_call *call, struct change *c, size_t *out_at,
                            struct errbuf *eb)
{
    enum err e = gw_instance_get(call, &c->in, eb);
    return e == ERR_OK ? gw_instance_cluster(&c->in, gw_rpc(call)->resource.cluster, out_at, eb)
                       : e;
}

static enum err finish(struct gw_call *call, struct change *c, size_t at, struct errbuf *eb)
{
    complete(c->in.clusters[at]);
    enum err e = gw_instance_write(call, &c->in, eb);
    if (e == ERR_OK && (c->described = gw_instance_describe_cluster(call, &c->in, at)) == NULL)
        e = gw_instance_no_memory(eb);
    return e;
}

/* --- create ------------------------------------------------------------------------------------
 */

enum err gw_cluster_add(struct gw_call *call, struct gw_instance *in, const char *id,
                        const Bta__Cluster *said, struct errbuf *eb)
{
    Bta__Cluster *cluster = gw_proto_new(&call->arena, &bta__cluster__descriptor);
    enum err e = gw_instance_id_check("cluster_id", id, eb);
    if (e == ERR_OK && cluster == NULL)
        e = gw_instance_no_memory(eb);
    if (e == ERR_OK && said != NULL)
        e = gw_mask_apply_all(CREATED, &cluster->base, &said->base, &call->arena, eb);
    if (e != ERR_OK)
        return e;
    cluster->name = (char *)(uintptr_t)id; /* only read */
    complete(cluster);
    return gw_instance_add_cluster(in, cluster, eb);
}

/* Creates the cluster; on the control thread. */
static enum err create(struct gw_call *call, struct errbuf *eb)
{
    const Bta__CreateClusterRequest *request = (const void *)gw_rpc(call)->request;
    struct change *c = call->state;
    bool found = false;
    enum err e = gw_instance_get(call, &c->in, eb);
    if (e == ERR_OK)
        e = gw_cluster_add(call, &c->in, request->cluster_id, request->cluster, eb);
    if (e != ERR_OK)
        return e;
    return finish(call, c,
                  gw_instance_cluster_at(&c->in, base_slice_text(request->cluster_id), &found), eb);
}

static void reply_create(struct gw_call *call)
{
    const struct change *c = call->state;
    Bta__CreateClusterMetadata metadata = BTA__CREATE_CLUSTER_METADATA__INIT;
    Google__Protobuf__Timestamp began, ended;
    gw_time_to_proto(c->began_us, &began);
    gw_time_to_proto(base_wall_us(), &ended);
    /* protobuf-c only reads what it packs. */
    metadata.original_request = (Bta__CreateClusterRequest *)(uintptr_t)gw_rpc(call)->request;
    metadata.request_time = &began;
    metadata.finish_time = &ended;
    gw_operation_reply(call, "create-cluster", &metadata.base, &c->described->base);
}

void gw_admin_create_cluster(struct gw_call *call)
{
    struct gw_rpc *rpc = gw_rpc(call);
    const Bta__CreateClusterRequest *request = (const void *)rpc->request;
    change_new(call);
    rpc->resource.kind = GW_RESOURCE_CLUSTER;
    rpc->resource.cluster = base_slice_text(request->cluster_id);
    gw_rpc_on_control(call, create, reply_create);
}

/* --- change ------------------------------------------------------------------------------------
 */

/* Replaces the cluster's settings; on the control thread. */
static enum err update(struct gw_call *call, struct errbuf *eb)
{
    struct change *c = call->state;
    size_t at = 0;
    enum err e = cluster_get(call, c, &at, eb);
    if (e == ERR_OK)
        e = gw_mask_apply_all(CHANGEABLE, &c->in.clusters[at]->base, gw_rpc(call)->request,
                              &call->arena, eb);
    return e == ERR_OK ? finish(call, c, at, eb) : e;
}

static void reply_update(struct gw_call *call)
{
    const struct change *c = call->state;
    Bta__UpdateClusterMetadata metadata = BTA__UPDATE_CLUSTER_METADATA__INIT;
    Google__Protobuf__Timestamp began, ended;
    gw_time_to_proto(c->began_us, &began);
    gw_time_to_proto(base_wall_us(), &ended);
    metadata.original_request = (Bta__Cluster *)(uintptr_t)gw_rpc(call)->request; /* as above */
    metadata.request_time = &began;
    metadata.finish_time = &ended;
    gw_operation_reply(call, "update-cluster", &metadata.base, &c->described->base);
}

void gw_admin_update_cluster(struct gw_call *call)
{
    change_new(call);
    gw_rpc_on_control(call, update, reply_update);
}

/* Changes the fields that the mask names; on the control thread. */
static enum err patch(struct gw_call *call, struct errbuf *eb)
{
    const Bta__PartialUpdateClusterRequest *request = (const void *)gw_rpc(call)->request;
    struct change *c = call->state;
    size_t at = 0;
    enum err e = cluster_get(call, c, &at, eb);
    if (e == ERR_OK)
        e = gw_mask_apply(request->update_mask, CHANGEABLE, &c->in.clusters[at]->base,
                          &request->cluster->base, &call->arena, eb);
    return e == ERR_OK ? finish(call, c, at, eb) : e;
}

static void reply_patch(struct gw_call *call)
{
    const struct change *c = call->state;
    Bta__PartialUpdateClusterMetadata metadata = BTA__PARTIAL_UPDATE_CLUSTER_METADATA__INIT;
    Google__Protobuf__Timestamp began, ended;
    gw_time_to_proto(c->began_us, &began);
    gw_time_to_proto(base_wall_us(), &ended);
    metadata.original_request =
        (Bta__PartialUpdateClusterRequest *)(uintptr_t)gw_rpc(call)->request; /* as above */
    metadata.request_time = &began;
    metadata.finish_time = &ended;
    gw_operation_reply(call, "update-cluster", &metadata.base, &c->described->base);
}

void gw_admin_patch_cluster(struct gw_call *call)
{
    change_new(call);
    gw_rpc_on_control(call, patch, reply_patch);
}

/* --- delete ------------------------------------------------------------------------------------
 */

static enum err check_unused(const struct gw_instance *in, const char *cluster, struct errbuf *eb)
{
    if (in->cluster_count == 1)
        return base_fail(eb, ERR_CONFLICT,
                         "\"%s\" is the instance's last cluster; delete the instance", cluster);
    for (size_t i = 0; i < in->profile_count; i++) {
        const Bta__AppProfile *p = in->profiles[i];
        bool is_single =
            p->routing_policy_case == BTA__APP_PROFILE__ROUTING_POLICY_SINGLE_CLUSTER_ROUTING;
        if (is_single && strcmp(p->single_cluster_routing->cluster_id, cluster) == 0)
            return base_fail(eb, ERR_CONFLICT,
                             "the application profile \"%s\" routes to the cluster \"%s\"", p->name,
                             cluster);
    }
    return ERR_OK;
}

/* Deletes the cluster; on the control thread. */
static enum err take_out(struct gw_call *call, struct errbuf *eb)
{
    struct change *c = call->state;
    size_t at = 0;
    enum err e = cluster_get(call, c, &at, eb);
    if (e == ERR_OK)
        e = check_unused(&c->in, c->in.clusters[at]->name, eb);
    if (e != ERR_OK)
        return e;
    c->in.cluster_count--;
    memmove(&c->in.clusters[at], &c->in.clusters[at + 1],
            (c->in.cluster_count - at) * sizeof c->in.clusters[0]);
    return gw_instance_write(call, &c->in, eb);
}

static void reply_nothing(struct gw_call *call)
{
    Google__Protobuf__Empty nothing = GOOGLE__PROTOBUF__EMPTY__INIT;
    gw_rpc_reply(call, &nothing.base);
}

void gw_admin_delete_cluster(struct gw_call *call)
{
    change_new(call);
    gw_rpc_on_control(call, take_out, reply_nothing);
}

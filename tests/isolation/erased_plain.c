/*
 * tests/isolation/erased_plain.c - the life of three instances at the emulator's listener, each of
 * which is a tenant without a key.
 */
#include <check.h>
#include <string.h>

#include "gateway/grpc/status.h"
#include "tests/isolation/erased.h"
#include "tests/isolation/rpcs.h"
#include "tests/support/grpc_client.h"

#include "base/banned.h"

#define INSTANCES "/google.bigtable.admin.v2.BigtableInstanceAdmin/"
/* A project that is no tenant ID: its name is the customer's, and is in no ID. */
#define PROJECT  "projects/zq-Proj"
#define INSTANCE PROJECT "/instances/zq-inst"
#define CLUSTER  "zq-clus"
#define PROFILE  "zq-prof"

#define LABELS_AND_TAGS(at)                                                                        \
    at "labels.key=zq-tied;" at "labels.value=zq-tied to;" at "tags.key=zq-tied;" at               \
       "tags.value=zq-tied"
#define PLACE_AND_KEY(at) at "location=zq-place;" at "encryption_config.kms_key_name=zq-kms"
#define ANY(id)           "app_profile.multi_cluster_routing_use_any.cluster_ids=" id
#define SINGLE(id)        "app_profile.single_cluster_routing.cluster_id=" id

/* In this order; each must succeed, but for those that a client has no right answer for. */
static const struct {
    const char *path;
    const char *form;
    bool is_refused;
} STORY[] = {
    /* The instance of a project that is named first has the project's name as its ID. */
    {"/google.bigtable.v2.Bigtable/PingAndWarm",
     "name=projects/" ERASED_PLAIN "/instances/zq-inst-of-first", false},
    {INSTANCES "CreateInstance",
     "parent=" PROJECT ";instance_id=zq-inst;instance.name=zq-inst;"
     "instance.display_name=zq-shown at first;" LABELS_AND_TAGS(
         "instance.") ";clusters.key=" CLUSTER ";clusters.value.name=" CLUSTER
                      ";" PLACE_AND_KEY("clusters.value."),
     false},
    {INSTANCES "UpdateInstance",
     "name=" INSTANCE ";display_name=zq-shown later;" LABELS_AND_TAGS(""), false},
    {INSTANCES "PartialUpdateInstance",
     "instance.name=" INSTANCE ";instance.display_name=zq-shown;" LABELS_AND_TAGS(
         "instance.") ";update_mask.paths=display_name",
     false},
    {INSTANCES "CreateCluster",
     "parent=" INSTANCE ";cluster_id=" CLUSTER "-2;cluster.name=" CLUSTER
     ";" PLACE_AND_KEY("cluster."),
     false},
    {INSTANCES "UpdateCluster",
     "name=" INSTANCE "/clusters/" CLUSTER ";serve_nodes=3;" PLACE_AND_KEY(""), false},
    {INSTANCES "PartialUpdateCluster",
     "cluster.name=" INSTANCE "/clusters/" CLUSTER ";cluster.serve_nodes=4;"
     "update_mask.paths=serve_nodes;" PLACE_AND_KEY("cluster."),
     false},
    {INSTANCES "CreateAppProfile",
     "parent=" INSTANCE ";app_profile_id=" PROFILE ";app_profile.name=" PROFILE
     ";app_profile.etag=" PROFILE ";app_profile.description=zq-about all;" ANY(CLUSTER),
     false},
    {INSTANCES "CreateAppProfile",
     "parent=" INSTANCE ";app_profile_id=" PROFILE "-2;" SINGLE(CLUSTER), false},
    {INSTANCES "UpdateAppProfile",
     "app_profile.name=" INSTANCE "/appProfiles/" PROFILE ";app_profile.description=zq-about;"
     "update_mask.paths=description;" ANY(CLUSTER),
     false},
    {INSTANCES "UpdateAppProfile",
     "app_profile.name=" INSTANCE "/appProfiles/" PROFILE
     ";" SINGLE(CLUSTER) ";update_mask.paths=single_cluster_routing",
     false},
    {INSTANCES "UpdateAppProfile", /* the etag of no profile */
     "app_profile.name=" INSTANCE "/appProfiles/" PROFILE ";app_profile.etag=" PROFILE
     ";update_mask.paths=description",
     true},
    {INSTANCES "DeleteAppProfile", "name=" INSTANCE "/appProfiles/" PROFILE "-2", false},
    {INSTANCES "DeleteCluster", "name=" INSTANCE "/clusters/" CLUSTER "-2", false},
    {INSTANCES "CreateInstance",
     "parent=" PROJECT ";instance_id=zq-inst-gone;clusters.key=" CLUSTER ";clusters.value=", false},
    {INSTANCES "DeleteInstance", "name=" PROJECT "/instances/zq-inst-gone", false},
};

struct plain_asking {
    struct grpc_client *client;
    struct rpc rpc;
    const ProtobufCMessage *message;
    const struct grpc_call *call;
};

/* Asks again while the server is overloaded by other tests. */
static bool is_answered(void *arg)
{
    struct plain_asking *a = arg;
    if (a->client->count == GRPC_CALLS)
        grpc_forget(a->client);
    a->call = grpc_ask(a->client, rpc_path(&a->rpc), a->message);
    return a->call->status != GW_STATUS_UNAVAILABLE &&
           a->call->status != GW_STATUS_RESOURCE_EXHAUSTED;
}

void erased_tell_plain(struct erased *x)
{
    static struct grpc_client c;
    grpc_open_plain(&c, &x->server);
    grpc_hurry(&c);
    for (size_t i = 0; i < sizeof STORY / sizeof STORY[0]; i++) {
        struct arena arena;
        struct plain_asking a = {.client = &c,
                                 .rpc = {.method = gw_method_find(base_slice_text(STORY[i].path)),
                                         .form = STORY[i].form}};
        base_arena_init(&arena, MIB);
        a.message = rpc_message(&a.rpc, &x->own, &x->own, &arena);
        process_await(is_answered, &a, STORY[i].path);
        ck_assert_msg((a.call->status != GW_STATUS_OK) == STORY[i].is_refused, "%s: %s: %d: %s",
                      STORY[i].path, STORY[i].form, a.call->status, a.call->message);
        erased_remember(x, "gRPC", STORY[i].path, STORY[i].form);
        base_arena_fini(&arena);
    }
    grpc_close(&c);
}

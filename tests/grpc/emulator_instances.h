/*
 * tests/grpc/emulator_instances.h - instances at the emulator's listener: creation and description.
 *
 * Does:     create an instance; unpack operations; count entries of lists.
 * Owns:     see emulator.h.
 * May use:  tests/grpc/emulator.h.
 * Knows no: the tests.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Limits:   those of emulator.h.
 * Promises: 1. An instance created here has one cluster, c1.
 */
#ifndef TESTS_GRPC_EMULATOR_INSTANCES_H
#define TESTS_GRPC_EMULATOR_INSTANCES_H

#include "tests/grpc/emulator.h"

#define LAB "projects/my_project/instances/lab"
#define CREATE                                                                                     \
    INSTANCES "CreateInstance", &bta__create_instance_request__descriptor,                         \
        "parent=projects/%s;instance_id=%s;instance.display_name=%s;instance.type=2;"              \
        "instance.labels.key=env;instance.labels.value=test;clusters.key=c1;"                      \
        "clusters.value.location=projects/p/locations/us-east1-b;clusters.value.serve_nodes=3;"    \
        "clusters.value.default_storage_type=2"
#define TYPE_URL "type.googleapis.com/google.bigtable.admin.v2."

/* --- answers -----------------------------------------------------------------------------------
 */

/* Returns the response of an operation that has ended; free it with
 * protobuf_c_message_free_unpacked. */
UNUSED_FN static void *response_new(const struct grpc_call *call,
                                    const ProtobufCMessageDescriptor *type, const char *name,
                                    const char *metadata)
{
    Lro__Operation *operation = answer_new(call, &lro__operation__descriptor);
    ck_assert(operation->done);
    ck_assert_str_eq(operation->name, name);
    ck_assert_int_eq(operation->result_case, LRO__OPERATION__RESULT_RESPONSE);
    if (metadata != NULL)
        ck_assert_str_eq(operation->metadata->type_url, metadata);
    void *response = protobuf_c_message_unpack(type, NULL, operation->response->value.len,
                                               operation->response->value.data);
    ck_assert_ptr_nonnull(response);
    answer_free(operation);
    return response;
}

UNUSED_FN static Bta__Instance *instance_new(const char *name)
{
    return answer_new(
        ask(INSTANCES "GetInstance", &bta__get_instance_request__descriptor, "name=%s", name),
        &bta__instance__descriptor);
}

UNUSED_FN static Bta__Cluster *cluster_new(const char *name)
{
    return answer_new(
        ask(INSTANCES "GetCluster", &bta__get_cluster_request__descriptor, "name=%s", name),
        &bta__cluster__descriptor);
}

UNUSED_FN static Bta__AppProfile *profile_new(const char *name)
{
    return answer_new(
        ask(INSTANCES "GetAppProfile", &bta__get_app_profile_request__descriptor, "name=%s", name),
        &bta__app_profile__descriptor);
}

UNUSED_FN static void expect_instances(const char *project, size_t count)
{
    Bta__ListInstancesResponse *list =
        answer_new(ask(INSTANCES "ListInstances", &bta__list_instances_request__descriptor,
                       "parent=projects/%s", project),
                   &bta__list_instances_response__descriptor);
    char prefix[256];
    int len = snprintf(prefix, sizeof prefix, "projects/%s/instances/", project);
    ck_assert_uint_eq(list->n_instances, count);
    for (size_t i = 0; i < list->n_instances; i++)
        ck_assert_int_eq(strncmp(list->instances[i]->name, prefix, (size_t)len), 0);
    answer_free(list);
}

UNUSED_FN static void expect_clusters(const char *instance, size_t count)
{
    Bta__ListClustersResponse *list =
        answer_new(ask(INSTANCES "ListClusters", &bta__list_clusters_request__descriptor,
                       "parent=%s", instance),
                   &bta__list_clusters_response__descriptor);
    ck_assert_uint_eq(list->n_clusters, count);
    answer_free(list);
}

UNUSED_FN static void expect_profiles(const char *instance, size_t count)
{
    Bta__ListAppProfilesResponse *list =
        answer_new(ask(INSTANCES "ListAppProfiles", &bta__list_app_profiles_request__descriptor,
                       "parent=%s", instance),
                   &bta__list_app_profiles_response__descriptor);
    ck_assert_uint_eq(list->n_app_profiles, count);
    answer_free(list);
}

UNUSED_FN static void create(const char *project, const char *instance)
{
    expect_status(ask(CREATE, project, instance, instance), GW_STATUS_OK);
}

#endif

/*
 * tests/grpc/test_emulator_clusters.c - the emulator's listener makes clusters and application
 * profiles as clients ask, and tells them again.
 */
#include "base/alloc.h"
#include "tests/grpc/emulator_instances.h"

#include "base/banned.h"

/* --- clusters ----------------------------------------------------------------------------------
 */

#define SCALING "cluster_config.cluster_autoscaling_config.autoscaling_"

static void expect_nodes(const Bta__Cluster *cluster, int nodes, int min_nodes, int max_nodes)
{
    bool scales = cluster->config_case == BTA__CLUSTER__CONFIG_CLUSTER_CONFIG;
    ck_assert_int_eq(cluster->serve_nodes, nodes);
    ck_assert_int_eq(scales, max_nodes > 0);
    if (!scales)
        return;
    const Bta__AutoscalingLimits *limits =
        cluster->cluster_config->cluster_autoscaling_config->autoscaling_limits;
    ck_assert_int_eq(limits->min_serve_nodes, min_nodes);
    ck_assert_int_eq(limits->max_serve_nodes, max_nodes);
}

static void patch_cluster(const char *form, int nodes, int min_nodes, int max_nodes)
{
    Bta__Cluster *cluster =
        response_new(tell(INSTANCES "PartialUpdateCluster",
                          &bta__partial_update_cluster_request__descriptor, form),
                     &bta__cluster__descriptor, "operations/" LAB "/operations/update-cluster:c2",
                     TYPE_URL "PartialUpdateClusterMetadata");
    expect_nodes(cluster, nodes, min_nodes, max_nodes);
    answer_free(cluster);
    cluster = cluster_new(LAB "/clusters/c2");
    expect_nodes(cluster, nodes, min_nodes, max_nodes);
    answer_free(cluster);
}

START_TEST(clusters_are_made_changed_and_deleted)
{
    start();
    create("my_project", "lab");
    Bta__Cluster *cluster =
        response_new(tell(INSTANCES "CreateCluster", &bta__create_cluster_request__descriptor,
                          "parent=" LAB ";cluster_id=c2;cluster.location=projects/p/locations/eu;"
                          "cluster.encryption_config.kms_key_name=k"),
                     &bta__cluster__descriptor, "operations/" LAB "/operations/create-cluster:c2",
                     TYPE_URL "CreateClusterMetadata");
    ck_assert_str_eq(cluster->name, LAB "/clusters/c2");
    ck_assert_str_eq(cluster->location, "projects/p/locations/eu");
    ck_assert_str_eq(cluster->encryption_config->kms_key_name, "k");
    ck_assert_int_eq(cluster->default_storage_type, BTA__STORAGE_TYPE__SSD);
    expect_nodes(cluster, 1, 0, 0);
    answer_free(cluster);
    expect_clusters(LAB, 2);
    expect_refusal(tell(INSTANCES "CreateCluster", &bta__create_cluster_request__descriptor,
                        "parent=" LAB ";cluster_id=c2"),
                   GW_STATUS_ALREADY_EXISTS, "\"c2\"");

    cluster =
        response_new(tell(INSTANCES "UpdateCluster", &bta__cluster__descriptor,
                          "name=" LAB "/clusters/c2;serve_nodes=7;location=elsewhere"),
                     &bta__cluster__descriptor, "operations/" LAB "/operations/update-cluster:c2",
                     TYPE_URL "UpdateClusterMetadata");
    expect_nodes(cluster, 7, 0, 0);
    ck_assert_str_eq(cluster->location, "projects/p/locations/eu"); /* it does not move */
    answer_free(cluster);

    patch_cluster("cluster.name=" LAB "/clusters/c2;cluster.serve_nodes=5;"
                  "update_mask.paths=serve_nodes",
                  5, 0, 0);
    patch_cluster("cluster.name=" LAB "/clusters/c2;cluster." SCALING
                  "limits.min_serve_nodes=2;cluster." SCALING
                  "limits.max_serve_nodes=9;update_mask.paths=cluster_config",
                  5, 2, 9);
    patch_cluster("cluster.name=" LAB "/clusters/c2;cluster." SCALING
                  "limits.max_serve_nodes=10;update_mask.paths=" SCALING "limits.max_serve_nodes",
                  5, 2, 10);
    patch_cluster("cluster.name=" LAB "/clusters/c2;update_mask.paths=cluster_config."
                  "cluster_autoscaling_config",
                  5, 0, 0);
    expect_refusal(tell(INSTANCES "PartialUpdateCluster",
                        &bta__partial_update_cluster_request__descriptor,
                        "cluster.name=" LAB "/clusters/c2;update_mask.paths=location"),
                   GW_STATUS_INVALID_ARGUMENT, "\"location\" cannot be changed");
    expect_refusal(tell(INSTANCES "PartialUpdateCluster",
                        &bta__partial_update_cluster_request__descriptor,
                        "cluster.name=" LAB "/clusters/c2;update_mask.paths=serve_nodes.x"),
                   GW_STATUS_INVALID_ARGUMENT, "no field \"serve_nodes.x\"");

    expect_refusal(tell(INSTANCES "DeleteCluster", &bta__delete_cluster_request__descriptor,
                        "name=" LAB "/clusters/c1"),
                   GW_STATUS_FAILED_PRECONDITION, "\"default\" routes to the cluster \"c1\"");
    expect_status(tell(INSTANCES "DeleteCluster", &bta__delete_cluster_request__descriptor,
                       "name=" LAB "/clusters/c2"),
                  GW_STATUS_OK);
    expect_refusal(tell(INSTANCES "GetCluster", &bta__get_cluster_request__descriptor,
                        "name=" LAB "/clusters/c2"),
                   GW_STATUS_NOT_FOUND, "it is \"c1\"");
    expect_refusal(tell(INSTANCES "DeleteCluster", &bta__delete_cluster_request__descriptor,
                        "name=" LAB "/clusters/c1"),
                   GW_STATUS_FAILED_PRECONDITION, "last cluster");
    stop();
}
END_TEST

/* --- application profiles ----------------------------------------------------------------------
 */

#define CREATE_PROFILE INSTANCES "CreateAppProfile", &bta__create_app_profile_request__descriptor
#define UPDATE_PROFILE INSTANCES "UpdateAppProfile", &bta__update_app_profile_request__descriptor

START_TEST(profiles_are_made_changed_and_deleted)
{
    char etag[64];
    start();
    create("my_project", "lab");
    Bta__AppProfile *profile =
        answer_new(tell(CREATE_PROFILE, "parent=" LAB ";app_profile_id=batch;"
                                        "app_profile.description=For batches;"
                                        "app_profile.single_cluster_routing.cluster_id=c1"),
                   &bta__app_profile__descriptor);
    ck_assert_str_eq(profile->name, LAB "/appProfiles/batch");
    ck_assert_str_eq(profile->description, "For batches");
    ck_assert_str_eq(profile->single_cluster_routing->cluster_id, "c1");
    ck_assert_int_eq(profile->isolation_case, BTA__APP_PROFILE__ISOLATION_STANDARD_ISOLATION);
    ck_assert_int_eq(profile->standard_isolation->priority,
                     BTA__APP_PROFILE__PRIORITY__PRIORITY_HIGH);
    (void)snprintf(etag, sizeof etag, "%s", profile->etag);
    ck_assert_uint_gt(strlen(etag), 0);
    answer_free(profile);
    expect_profiles(LAB, 2);
    expect_profiles("projects/my_project/instances/-", 2);

    profile = response_new(ask(UPDATE_PROFILE,
                               "app_profile.name=" LAB "/appProfiles/batch;app_profile.etag=%s;"
                               "app_profile.multi_cluster_routing_use_any.cluster_ids=c1;"
                               "update_mask.paths=multi_cluster_routing_use_any",
                               etag),
                           &bta__app_profile__descriptor,
                           "operations/" LAB "/operations/update-app-profile:batch",
                           TYPE_URL "UpdateAppProfileMetadata");
    ck_assert_int_eq(profile->routing_policy_case,
                     BTA__APP_PROFILE__ROUTING_POLICY_MULTI_CLUSTER_ROUTING_USE_ANY);
    ck_assert_str_eq(profile->description, "For batches");
    ck_assert_str_ne(profile->etag, etag);
    answer_free(profile);
    expect_refusal(ask(UPDATE_PROFILE,
                       "app_profile.name=" LAB "/appProfiles/batch;app_profile.etag=%s;"
                       "update_mask.paths=description",
                       etag),
                   GW_STATUS_ABORTED, "etag");
    profile = profile_new(LAB "/appProfiles/batch");
    ck_assert_uint_eq(profile->multi_cluster_routing_use_any->n_cluster_ids, 1);
    answer_free(profile);

    expect_refusal(tell(CREATE_PROFILE, "parent=" LAB ";app_profile_id=batch;"
                                        "app_profile.multi_cluster_routing_use_any="),
                   GW_STATUS_ALREADY_EXISTS, "\"batch\"");
    expect_refusal(tell(CREATE_PROFILE, "parent=" LAB ";app_profile_id=p"),
                   GW_STATUS_INVALID_ARGUMENT, "the routing policy is missing");
    expect_refusal(tell(CREATE_PROFILE, "parent=" LAB ";app_profile_id=p;"
                                        "app_profile.single_cluster_routing.cluster_id=c9"),
                   GW_STATUS_NOT_FOUND, "no such cluster");
    expect_refusal(
        tell(UPDATE_PROFILE, "app_profile.name=" LAB "/appProfiles/batch;update_mask.paths=name"),
        GW_STATUS_INVALID_ARGUMENT, "\"name\" cannot be changed");
    expect_status(tell(INSTANCES "DeleteAppProfile", &bta__delete_app_profile_request__descriptor,
                       "name=" LAB "/appProfiles/batch;ignore_warnings=1"),
                  GW_STATUS_OK);
    expect_refusal(tell(INSTANCES "GetAppProfile", &bta__get_app_profile_request__descriptor,
                        "name=" LAB "/appProfiles/batch"),
                   GW_STATUS_NOT_FOUND, "it is \"default\"");
    stop();
}
END_TEST

/* --- limits ------------------------------------------------------------------------------------
 */

START_TEST(clusters_and_profiles_have_limits_that_are_told)
{
    start();
    create("my_project", "lab");
    for (int i = 1; i < LIM_CLUSTERS; i++)
        expect_status(ask(INSTANCES "CreateCluster", &bta__create_cluster_request__descriptor,
                          "parent=" LAB ";cluster_id=more-%d", i),
                      GW_STATUS_OK);
    expect_refusal(tell(INSTANCES "CreateCluster", &bta__create_cluster_request__descriptor,
                        "parent=" LAB ";cluster_id=last"),
                   GW_STATUS_RESOURCE_EXHAUSTED, "has 30 clusters, which is the limit");
    for (int i = 1; i < LIM_APP_PROFILES; i++)
        expect_status(ask(CREATE_PROFILE,
                          "parent=" LAB ";app_profile_id=more-%d;"
                          "app_profile.multi_cluster_routing_use_any=",
                          i),
                      GW_STATUS_OK);
    expect_refusal(tell(CREATE_PROFILE, "parent=" LAB ";app_profile_id=last;"
                                        "app_profile.multi_cluster_routing_use_any="),
                   GW_STATUS_RESOURCE_EXHAUSTED,
                   "has 100 application profiles, which is the limit");
    expect_clusters(LAB, LIM_CLUSTERS);
    expect_profiles(LAB, LIM_APP_PROFILES);

    char *form = base_new(LIM_INSTANCE_DOC + KIB);
    int len = snprintf(form, KIB, "name=" LAB ";display_name=");
    memset(form + len, 'x', LIM_INSTANCE_DOC);
    expect_refusal(tell(INSTANCES "UpdateInstance", &bta__instance__descriptor, form),
                   GW_STATUS_INVALID_ARGUMENT, "the limit is 262144");
    base_free(form);
    stop();
}
END_TEST

Suite *suite_grpc_emulator_clusters(void);
Suite *suite_grpc_emulator_clusters(void)
{
    Suite *s = suite_create("grpc_emulator_clusters");
    TCase *tc = tcase_create("clusters");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, clusters_are_made_changed_and_deleted);
    tcase_add_test(tc, profiles_are_made_changed_and_deleted);
    tcase_add_test(tc, clusters_and_profiles_have_limits_that_are_told);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/grpc/test_emulator_instances.c - the emulator's listener makes instances as clients ask,
 * and tells them again.
 */
#include "base/clock.h"
#include "tests/grpc/emulator_instances.h"

#include "base/banned.h"

static const struct grpc_call *delete_instance(const char *name)
{
    return ask(INSTANCES "DeleteInstance", &bta__delete_instance_request__descriptor, "name=%s",
               name);
}

static const struct grpc_call *create_table(const char *instance, const char *more)
{
    return ask(TABLES "CreateTable", &bta__create_table_request__descriptor,
               "parent=%s;table_id=t;table.column_families.key=f;table.column_families.value=%s",
               instance, more);
}

static const struct grpc_call *get_table(const char *instance)
{
    return ask(TABLES "GetTable", &bta__get_table_request__descriptor, "name=%s/tables/t",
               instance);
}

/* --- instances ---------------------------------------------------------------------------------
 */

static void expect_lab(const Bta__Instance *instance)
{
    ck_assert_str_eq(instance->name, LAB);
    ck_assert_str_eq(instance->display_name, "The lab");
    ck_assert_int_eq(instance->state, BTA__INSTANCE__STATE__READY);
    ck_assert_int_eq(instance->type, BTA__INSTANCE__TYPE__DEVELOPMENT);
    ck_assert_uint_eq(instance->n_labels, 1);
    ck_assert_str_eq(instance->labels[0]->key, "env");
    ck_assert_str_eq(instance->labels[0]->value, "test");
    ck_assert_ptr_nonnull(instance->create_time);
}

static void expect_all_of_lab(void)
{
    Bta__Instance *instance = instance_new(LAB);
    expect_lab(instance);
    answer_free(instance);
    instance = response_new(
        ask("/google.longrunning.Operations/GetOperation", &lro__get_operation_request__descriptor,
            "name=operations/" LAB "/operations/create-instance"),
        &bta__instance__descriptor, "operations/" LAB "/operations/create-instance", NULL);
    expect_lab(instance);
    answer_free(instance);

    Bta__Cluster *cluster = cluster_new(LAB "/clusters/c1");
    ck_assert_str_eq(cluster->name, LAB "/clusters/c1");
    ck_assert_str_eq(cluster->location, "projects/p/locations/us-east1-b");
    ck_assert_int_eq(cluster->serve_nodes, 3);
    ck_assert_int_eq(cluster->state, BTA__CLUSTER__STATE__READY);
    ck_assert_int_eq(cluster->default_storage_type, BTA__STORAGE_TYPE__HDD);
    answer_free(cluster);
    expect_clusters(LAB, 1);
    expect_clusters("projects/my_project/instances/-", 1);

    Bta__AppProfile *profile = profile_new(LAB "/appProfiles/default");
    ck_assert_int_eq(profile->routing_policy_case,
                     BTA__APP_PROFILE__ROUTING_POLICY_SINGLE_CLUSTER_ROUTING);
    ck_assert_str_eq(profile->single_cluster_routing->cluster_id, "c1");
    answer_free(profile);
    expect_profiles(LAB, 1);
    expect_instances("my_project", 1);
}

START_TEST(an_instance_is_made_and_told_as_it_was_asked_for)
{
    start();
    Bta__Instance *made = response_new(
        ask(CREATE, "my_project", "lab", "The lab"), &bta__instance__descriptor,
        "operations/" LAB "/operations/create-instance", TYPE_URL "CreateInstanceMetadata");
    expect_lab(made);
    answer_free(made);
    expect_all_of_lab();
    expect_refusal(ask(CREATE, "my_project", "lab", "again"), GW_STATUS_ALREADY_EXISTS, "\"lab\"");
    if (_i == 0) {
        stop();
    } else {
        server_kill(&server);
        grpc_close(&client);
    }
    start();
    expect_all_of_lab();
    stop();
}
END_TEST

START_TEST(what_is_wrong_with_a_new_instance_is_told)
{
    start();
    expect_refusal(ask(CREATE, "my_project", "a/b", "x"), GW_STATUS_INVALID_ARGUMENT,
                   "instance_id may hold");
    expect_refusal(ask(CREATE, "my_project", "-", "x"), GW_STATUS_INVALID_ARGUMENT,
                   "instance_id may hold");
    expect_refusal(ask(CREATE, "my_project", "", "x"), GW_STATUS_INVALID_ARGUMENT,
                   "instance_id has 0 characters; it must have 1 to 64");
    expect_refusal(tell(INSTANCES "CreateInstance", &bta__create_instance_request__descriptor,
                        "parent=projects/dev;instance_id=lab"),
                   GW_STATUS_INVALID_ARGUMENT, "clusters: an instance has one at least");
    expect_refusal(tell(INSTANCES "CreateInstance", &bta__create_instance_request__descriptor,
                        "parent=projects/dev;instance_id=lab;clusters.key=a:b;clusters.value="),
                   GW_STATUS_INVALID_ARGUMENT, "clusters: an ID may hold");
    expect_instances("dev", 0);
    stop();
}
END_TEST

/* Neither is a tenant made of a question. */
START_TEST(what_nobody_made_is_not_there)
{
    static const struct {
        const char *method;
        const ProtobufCMessageDescriptor *type;
        const char *form;
    } asked[] = {
        {"GetInstance", &bta__get_instance_request__descriptor, "name=" LAB},
        {"UpdateInstance", &bta__instance__descriptor, "name=" LAB ";display_name=x"},
        {"PartialUpdateInstance", &bta__partial_update_instance_request__descriptor,
         "instance.name=" LAB ";update_mask.paths=display_name"},
        {"DeleteInstance", &bta__delete_instance_request__descriptor, "name=" LAB},
        {"CreateCluster", &bta__create_cluster_request__descriptor, "parent=" LAB ";cluster_id=c"},
        {"GetCluster", &bta__get_cluster_request__descriptor, "name=" LAB "/clusters/main"},
        {"ListClusters", &bta__list_clusters_request__descriptor, "parent=" LAB},
        {"UpdateCluster", &bta__cluster__descriptor, "name=" LAB "/clusters/main"},
        {"PartialUpdateCluster", &bta__partial_update_cluster_request__descriptor,
         "cluster.name=" LAB "/clusters/main;update_mask.paths=serve_nodes"},
        {"DeleteCluster", &bta__delete_cluster_request__descriptor, "name=" LAB "/clusters/main"},
        {"CreateAppProfile", &bta__create_app_profile_request__descriptor,
         "parent=" LAB ";app_profile_id=p"},
        {"GetAppProfile", &bta__get_app_profile_request__descriptor,
         "name=" LAB "/appProfiles/default"},
        {"ListAppProfiles", &bta__list_app_profiles_request__descriptor, "parent=" LAB},
        {"UpdateAppProfile", &bta__update_app_profile_request__descriptor,
         "app_profile.name=" LAB "/appProfiles/p;update_mask.paths=description"},
        {"DeleteAppProfile", &bta__delete_app_profile_request__descriptor,
         "name=" LAB "/appProfiles/default"},
    };
    char path[128];
    start();
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        (void)snprintf(path, sizeof path, INSTANCES "%s", asked[i].method);
        const struct grpc_call *call = tell(path, asked[i].type, asked[i].form);
        ck_assert_msg(call->status == GW_STATUS_NOT_FOUND, "%s: %d %s", asked[i].method,
                      call->status, call->message);
    }
    expect_instances("my_project", 0);
    expect_clusters("projects/my_project/instances/-", 0);
    struct http *op = http_open(&server, HTTP_2, server.operator_key);
    http_get(op, "/v1/admin/tenants");
    ck_assert_uint_eq(http_count(op, "/tenants"), 0);
    http_close(op);
    stop();
}
END_TEST

START_TEST(an_instance_that_came_by_its_use_is_there_and_can_be_made)
{
    start();
    expect_status(tell(DATA "PingAndWarm", &bt__ping_and_warm_request__descriptor, "name=" LAB),
                  GW_STATUS_OK);
    expect_instances("my_project", 1);
    expect_status(create_table(LAB, ""), GW_STATUS_OK);
    Bta__Instance *instance = instance_new(LAB);
    ck_assert_str_ne(instance->display_name, "");
    answer_free(instance);
    expect_instances("my_project", 1);
    answer_free(cluster_new(LAB "/clusters/main"));
    answer_free(profile_new(LAB "/appProfiles/default"));
    create("my_project", "lab");
    expect_status(get_table(LAB), GW_STATUS_OK);
    expect_instances("my_project", 1);
    answer_free(cluster_new(LAB "/clusters/c1"));
    stop();
}
END_TEST

START_TEST(an_instance_is_changed)
{
    start();
    create("my_project", "lab");
    Bta__Instance *instance =
        answer_new(tell(INSTANCES "UpdateInstance", &bta__instance__descriptor,
                        "name=" LAB ";display_name=New;type=1;labels.key=a;labels.value=b"),
                   &bta__instance__descriptor);
    ck_assert_str_eq(instance->name, LAB);
    ck_assert_str_eq(instance->display_name, "New");
    ck_assert_int_eq(instance->type, BTA__INSTANCE__TYPE__PRODUCTION);
    ck_assert_uint_eq(instance->n_labels, 1);
    ck_assert_str_eq(instance->labels[0]->key, "a");
    answer_free(instance);

    instance = response_new(
        tell(INSTANCES "PartialUpdateInstance", &bta__partial_update_instance_request__descriptor,
             "instance.name=" LAB ";instance.display_name=Newer;instance.type=2;"
             "update_mask.paths=display_name"),
        &bta__instance__descriptor, "operations/" LAB "/operations/update-instance",
        TYPE_URL "UpdateInstanceMetadata");
    ck_assert_str_eq(instance->display_name, "Newer");
    ck_assert_int_eq(instance->type,
                     BTA__INSTANCE__TYPE__PRODUCTION); /* the mask does not name it */
    ck_assert_uint_eq(instance->n_labels, 1);
    answer_free(instance);
    instance = instance_new(LAB);
    ck_assert_str_eq(instance->display_name, "Newer");
    answer_free(instance);

    expect_refusal(tell(INSTANCES "PartialUpdateInstance",
                        &bta__partial_update_instance_request__descriptor,
                        "instance.name=" LAB ";update_mask.paths=create_time"),
                   GW_STATUS_INVALID_ARGUMENT, "\"create_time\" cannot be changed");
    expect_refusal(tell(INSTANCES "PartialUpdateInstance",
                        &bta__partial_update_instance_request__descriptor, "instance.name=" LAB),
                   GW_STATUS_INVALID_ARGUMENT, "update_mask must name");
    stop();
}
END_TEST

START_TEST(an_instance_is_deleted_with_its_tables_and_no_other)
{
    start();
    create("my_project", "lab");
    create("my_project", "other");
    expect_status(create_table(LAB, ""), GW_STATUS_OK);
    expect_status(create_table("projects/my_project/instances/other", ""), GW_STATUS_OK);
    expect_status(delete_instance(LAB), GW_STATUS_OK);
    expect_status(delete_instance(LAB), GW_STATUS_NOT_FOUND);
    expect_status(get_table(LAB), GW_STATUS_NOT_FOUND);
    expect_status(get_table("projects/my_project/instances/other"), GW_STATUS_OK);
    expect_instances("my_project", 1);
    create("my_project", "lab"); /* it has nothing of the one before */
    expect_status(get_table(LAB), GW_STATUS_NOT_FOUND);
    expect_instances("my_project", 2);
    expect_status(delete_instance(LAB), GW_STATUS_OK);
    expect_instances("my_project", 1);
    expect_status(create_table(LAB, ""), GW_STATUS_OK); /* and by its use again */
    answer_free(cluster_new(LAB "/clusters/main"));
    expect_status(delete_instance(LAB), GW_STATUS_OK);
    expect_instances("my_project", 1);
    expect_refusal(delete_instance("projects/my_project/instances/-"), GW_STATUS_INVALID_ARGUMENT,
                   "the name of an instance");
    stop();
}
END_TEST

START_TEST(an_instance_with_something_protected_is_not_deleted)
{
    start();
    create("my_project", "lab");
    expect_status(create_table(LAB, ";table.deletion_protection=1"), GW_STATUS_OK);
    expect_refusal(delete_instance(LAB), GW_STATUS_FAILED_PRECONDITION,
                   "deletion protection is on for the table \"t\"");
    expect_status(get_table(LAB), GW_STATUS_OK);
    expect_status(tell(TABLES "UpdateTable", &bta__update_table_request__descriptor,
                       "table.name=" LAB "/tables/t;update_mask.paths=deletion_protection"),
                  GW_STATUS_OK);
    expect_status(ask(TABLES "CreateBackup", &bta__create_backup_request__descriptor,
                      "parent=" LAB "/clusters/main;backup_id=saved;backup.source_table=" LAB
                      "/tables/t;backup.expire_time.seconds=%lld",
                      (long long)(base_wall_us() / 1000000 + 86400)),
                  GW_STATUS_OK);
    expect_refusal(delete_instance(LAB), GW_STATUS_FAILED_PRECONDITION, "the backup \"saved\"");
    expect_status(get_table(LAB), GW_STATUS_OK);
    stop();
}
END_TEST

/* --- apart -------------------------------------------------------------------------------------
 */

START_TEST(a_project_sees_nothing_of_another)
{
    static const char *const projects[] = {"my_project", "my-project", "My_project", "dev"};
    enum { COUNT = sizeof projects / sizeof projects[0] };
    char name[256], title[64];
    start();
    for (size_t i = 0; i < COUNT; i++) {
        (void)snprintf(title, sizeof title, "of %s", projects[i]);
        expect_status(ask(CREATE, projects[i], "lab", title), GW_STATUS_OK);
        (void)snprintf(title, sizeof title, "only-%zu", i);
        expect_status(ask(CREATE, projects[i], title, title), GW_STATUS_OK);
    }
    for (size_t i = 0; i < COUNT; i++) {
        (void)snprintf(name, sizeof name, "projects/%s/instances/lab", projects[i]);
        (void)snprintf(title, sizeof title, "of %s", projects[i]);
        Bta__Instance *instance = instance_new(name);
        ck_assert_str_eq(instance->display_name, title);
        answer_free(instance);
        expect_instances(projects[i], 2);
        for (size_t k = 0; k < COUNT; k++)
            expect_status(ask(INSTANCES "GetInstance", &bta__get_instance_request__descriptor,
                              "name=projects/%s/instances/only-%zu", projects[i], k),
                          i == k ? GW_STATUS_OK : GW_STATUS_NOT_FOUND);
    }
    expect_status(delete_instance("projects/my_project/instances/lab"), GW_STATUS_OK);
    expect_instances("my_project", 1);
    for (size_t i = 1; i < COUNT; i++)
        expect_instances(projects[i], 2);
    expect_instances("nobody", 0);
    stop();
}
END_TEST

START_TEST(a_project_of_an_operator_is_not_told)
{
    start();
    struct http *op = http_open(&server, HTTP_2, server.operator_key);
    http_json(op, "POST", "{'id':'altostrat'}", "/v1/admin/tenants");
    EXPECT_STATUS(op, 201);
    http_close(op);
    expect_refusal(tell(INSTANCES "ListInstances", &bta__list_instances_request__descriptor,
                        "parent=projects/altostrat"),
                   GW_STATUS_PERMISSION_DENIED, "without a key");
    expect_refusal(ask(CREATE, "altostrat", "lab", "x"), GW_STATUS_PERMISSION_DENIED,
                   "without a key");
    expect_refusal(delete_instance("projects/altostrat/instances/main"),
                   GW_STATUS_PERMISSION_DENIED, "without a key");
    stop();
}
END_TEST

Suite *suite_grpc_emulator_instances(void);
Suite *suite_grpc_emulator_instances(void)
{
    Suite *s = suite_create("grpc_emulator_instances");
    TCase *tc = tcase_create("instances");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 240);
    tcase_add_loop_test(tc, an_instance_is_made_and_told_as_it_was_asked_for, 0, 2);
    tcase_add_test(tc, what_is_wrong_with_a_new_instance_is_told);
    tcase_add_test(tc, what_nobody_made_is_not_there);
    tcase_add_test(tc, an_instance_that_came_by_its_use_is_there_and_can_be_made);
    tcase_add_test(tc, an_instance_is_changed);
    tcase_add_test(tc, an_instance_is_deleted_with_its_tables_and_no_other);
    tcase_add_test(tc, an_instance_with_something_protected_is_not_deleted);
    tcase_add_test(tc, a_project_sees_nothing_of_another);
    tcase_add_test(tc, a_project_of_an_operator_is_not_told);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/isolation/test_grpc_names.c - no gRPC method tells a tenant of others: names, failures, and
 * callers that are not the tenant.
 */
#include <google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h>
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "grpc_tenants.h"

#define TABLES    "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define INSTANCES "/google.bigtable.admin.v2.BigtableInstanceAdmin/"

/* --- names -------------------------------------------------------------------------------------
 */

/* Every kind of request, naming a project and a table. */
struct asked {
    const char *path;
    union {
        ProtobufCMessage base;
        Bt__ReadRowsRequest read;
        Bt__SampleRowKeysRequest sample;
        Bt__MutateRowRequest mutate;
        Bt__MutateRowsRequest mutate_rows;
        Bt__CheckAndMutateRowRequest check;
        Bt__ReadModifyWriteRowRequest modify;
        Bt__PingAndWarmRequest ping;
        Bta__GetTableRequest get;
        Bta__ListTablesRequest list;
        Bta__CreateTableRequest create;
        Bta__DeleteTableRequest delete;
        Bta__DropRowRangeRequest drop;
        Bta__ModifyColumnFamiliesRequest families;
        Bta__GenerateConsistencyTokenRequest token;
        Bta__GetInstanceRequest instance;
        Bta__ListInstancesRequest instances;
        Bta__ListClustersRequest clusters;
        Bta__ListAppProfilesRequest profiles;
    } message;
};

#define ASKED_COUNT 18

static void make_asked(struct asked *a, int which, char *table, char *instance, char *project)
{
    switch (which) {
#define CASE(number, member, type, where, name, at)                                                \
    case number:                                                                                   \
        a->path = where name;                                                                      \
        type##__init(&a->message.member);                                                          \
        a->message.member.at;                                                                      \
        return
        CASE(0, read, bt__read_rows_request, DATA, "ReadRows", table_name = table);
        CASE(1, sample, bt__sample_row_keys_request, DATA, "SampleRowKeys", table_name = table);
        CASE(2, mutate, bt__mutate_row_request, DATA, "MutateRow", table_name = table);
        CASE(3, mutate_rows, bt__mutate_rows_request, DATA, "MutateRows", table_name = table);
        CASE(4, check, bt__check_and_mutate_row_request, DATA, "CheckAndMutateRow",
             table_name = table);
        CASE(5, modify, bt__read_modify_write_row_request, DATA, "ReadModifyWriteRow",
             table_name = table);
        CASE(6, ping, bt__ping_and_warm_request, DATA, "PingAndWarm", name = instance);
        CASE(7, get, bta__get_table_request, TABLES, "GetTable", name = table);
        CASE(8, list, bta__list_tables_request, TABLES, "ListTables", parent = instance);
        CASE(9, create, bta__create_table_request, TABLES, "CreateTable", parent = instance);
        CASE(10, delete, bta__delete_table_request, TABLES, "DeleteTable", name = table);
        CASE(11, drop, bta__drop_row_range_request, TABLES, "DropRowRange", name = table);
        CASE(12, families, bta__modify_column_families_request, TABLES, "ModifyColumnFamilies",
             name = table);
        CASE(13, token, bta__generate_consistency_token_request, TABLES, "GenerateConsistencyToken",
             name = table);
        CASE(14, instance, bta__get_instance_request, INSTANCES, "GetInstance", name = instance);
        CASE(15, instances, bta__list_instances_request, INSTANCES, "ListInstances",
             parent = project);
        CASE(16, clusters, bta__list_clusters_request, INSTANCES, "ListClusters",
             parent = instance);
        CASE(17, profiles, bta__list_app_profiles_request, INSTANCES, "ListAppProfiles",
             parent = instance);
#undef CASE
    default:
        ck_abort_msg("there is no request %d", which);
    }
}

static struct grpc_call *ask_about(struct grpc_client *c, int which, const char *project,
                                   const char *table)
{
    static struct asked a;
    static char table_name[NAME], instance_name[NAME], project_name[NAME];
    (void)snprintf(table_name, NAME, "projects/%s/instances/main/tables/%s", project, table);
    (void)snprintf(instance_name, NAME, "projects/%s/instances/main", project);
    (void)snprintf(project_name, NAME, "projects/%s", project);
    make_asked(&a, which, table_name, instance_name, project_name);
    return grpc_ask(c, a.path, &a.message.base);
}

/* A neighbour's project, another neighbour's, one that nobody has; tables there or not. */
START_TEST(foreign_projects_are_refused_alike_whether_they_exist_or_not)
{
    static const char *const projects[] = {"acme-eu", "acme-us", "acm", "acme-e"};
    const struct grpc_call *first = ask_about(&clients[OWN], _i, projects[0], "devices");
    ck_assert_int_eq(first->status, GW_STATUS_PERMISSION_DENIED);
    expect_no_leak(first);
    for (size_t i = 0; i < 2 * sizeof projects / sizeof projects[0]; i++) {
        const struct grpc_call *next =
            ask_about(&clients[OWN], _i, projects[i / 2], i % 2 == 0 ? "devices" : "nothing");
        ck_assert_int_eq(next->status, first->status);
        ck_assert_str_eq(next->message, first->message);
        ck_assert_str_eq(next->details, first->details);
        ck_assert_uint_eq(next->body.len, 0);
    }
    expect_neighbours_untouched();
}
END_TEST

START_TEST(lists_name_the_tenants_own)
{
    static const int lists[] = {8, 15, 16, 17};
    static const char *const wanted[] = {
        "projects/acme/instances/main/tables/devices", "projects/acme/instances/main",
        "projects/acme/instances/main/clusters/", "projects/acme/instances/main/appProfiles/"};
    http_json(worlds[BEHIND].http, "PUT", "{'families':{'f':{}}}", "/v1/tables/canarydelta");
    EXPECT_STATUS(worlds[BEHIND].http, 201);
    const struct grpc_call *call = ask_about(&clients[OWN], lists[_i], "acme", "devices");
    expect_ok(call);
    expect_no_leak(call);
    ck_assert(contains(base_buf_slice(&call->body), wanted[_i]));
}
END_TEST

/* --- what failures say -------------------------------------------------------------------------
 */

static void expect_failure_without_leak(const struct grpc_call *call, enum gw_status_code status)
{
    ck_assert_msg(call->status == (int)status, "status %d: %s", call->status, call->message);
    expect_no_leak(call);
    Rpc__ErrorInfo *info = grpc_error_info_new(call);
    ck_assert_str_eq(info->domain, "bigtent");
    ck_assert_uint_eq(info->n_metadata, 0);
    rpc__error_info__free_unpacked(info, NULL);
}

START_TEST(failures_tell_nothing_of_neighbours)
{
    Bt__MutateRowRequest r = BT__MUTATE_ROW_REQUEST__INIT;
    http_json(worlds[BEHIND].http, "PUT", "{'families':{'secret':{}}}", "/v1/tables/others");
    EXPECT_STATUS(worlds[BEHIND].http, 201);
    expect_failure_without_leak(ask_about(&clients[OWN], 7, "acme", "others"), GW_STATUS_NOT_FOUND);
    make_mutation("v");
    r.table_name = names[OWN];
    r.row_key = binary("#");
    r.mutations = mutations;
    r.n_mutations = 1;
    cell.family_name = (char *)(uintptr_t) "secret";
    expect_failure_without_leak(ask(DATA "MutateRow", &r.base), GW_STATUS_NOT_FOUND);
    make_mutation("v");
    r.row_key = binary("");
    expect_failure_without_leak(ask(DATA "MutateRow", &r.base), GW_STATUS_INVALID_ARGUMENT);
    admin_set_quota(worlds[OWN].op, "acme", "{'rows':1}");
    r.row_key = binary("one more");
    expect_failure_without_leak(ask(DATA "MutateRow", &r.base), GW_STATUS_RESOURCE_EXHAUSTED);
}
END_TEST

/* --- other callers -----------------------------------------------------------------------------
 */

START_TEST(the_emulator_cannot_reach_tenants_with_keys)
{
    static struct grpc_client plain;
    grpc_open_plain(&plain, &server);
    for (size_t i = 0; i < TENANTS; i++) {
        const struct grpc_call *call = ask_about(&plain, _i, IDS[i], "devices");
        ck_assert_int_eq(call->status, GW_STATUS_PERMISSION_DENIED);
        ck_assert_uint_eq(call->body.len, 0);
    }
    grpc_close(&plain);
    expect_untouched(OWN);
    expect_neighbours_untouched();
}
END_TEST

/* A credential does not open at the emulator's endpoint what is closed there. */
START_TEST(a_key_is_worth_nothing_at_the_emulator)
{
    static struct grpc_client plain;
    char authorization[256];
    (void)snprintf(authorization, sizeof authorization, "Bearer %s", server.operator_key);
    grpc_open_plain(&plain, &server);
    grpc_add_header(&plain, "authorization", authorization);
    ck_assert_int_eq(ask_about(&plain, 0, "acme", "devices")->status, GW_STATUS_PERMISSION_DENIED);
    grpc_close(&plain);
}
END_TEST

/* Without a key, but not without a trace; what is refused there is in nobody's own trail. */
START_TEST(what_the_emulator_makes_is_recorded)
{
    static struct grpc_client plain;
    struct http *op = http_open(&server, HTTP_2, server.operator_key);
    grpc_open_plain(&plain, &server);
    ck_assert_int_eq(ask_about(&plain, 8, "acme-made", "devices")->status, GW_STATUS_OK);
    http_get(op, "/v1/admin/audit?tenant=acme-made");
    EXPECT_STATUS(op, 200);
    ck_assert_uint_eq(http_count(op, "/records"), 1);
    ck_assert_str_eq(http_string(op, "/records/0/action"), "tenant.create");
    ck_assert_str_eq(http_string(op, "/records/0/kind"), "development");
    ck_assert_str_eq(http_string(op, "/records/0/address"), "127.0.0.1");
    http_get(op, "/v1/admin/audit?tenant=%s", IDS[OWN]);
    size_t before = http_count(op, "/records");
    ck_assert_int_eq(ask_about(&plain, 10, IDS[OWN], "devices")->status,
                     GW_STATUS_PERMISSION_DENIED);
    http_json(op, "POST", "{}", "/v1/admin/tenants/acme-made:resume"); /* behind the refusal */
    http_get(op, "/v1/admin/audit?tenant=%s", IDS[OWN]);
    ck_assert_uint_eq(http_count(op, "/records"), before);
    grpc_close(&plain);
    http_close(op);
}
END_TEST

START_TEST(keys_cannot_reach_the_emulators_projects)
{
    static struct grpc_client plain;
    grpc_open_plain(&plain, &server);
    ck_assert_int_eq(ask_about(&plain, 8, "acme-dev", "devices")->status, GW_STATUS_OK);
    const struct grpc_call *there = ask_about(&clients[OWN], 8, "acme-dev", "devices");
    const struct grpc_call *nowhere = ask_about(&clients[OWN], 8, "acme-abc", "devices");
    ck_assert_int_eq(there->status, GW_STATUS_PERMISSION_DENIED);
    ck_assert_str_eq(there->message, nowhere->message);
    ck_assert_str_eq(there->details, nowhere->details);
    grpc_close(&plain);
}
END_TEST

START_TEST(service_keys_act_for_the_project_that_is_named)
{
    static struct grpc_client service;
    char key[WORLD_KEY];
    admin_create_global_key(worlds[OWN].op, "service", key, NULL);
    grpc_open(&service, &server, key, 0);
    for (size_t i = 0; i < TENANTS; i++) {
        const struct grpc_call *call = ask_about(&service, 0, IDS[i], "devices");
        expect_ok(call);
        for (size_t k = 0; k < TENANTS; k++)
            ck_assert(contains(base_buf_slice(&call->body), CANARIES[k]) == (i == k));
    }
    ck_assert_int_eq(ask_about(&service, 0, "acme-us", "devices")->status,
                     GW_STATUS_PERMISSION_DENIED);
    grpc_close(&service);
}
END_TEST

START_TEST(operator_keys_and_no_keys_reach_no_rows)
{
    static struct grpc_client other;
    grpc_open(&other, &server, _i == 0 ? server.operator_key : NULL, 0);
    const struct grpc_call *call = ask_about(&other, 0, "acme", "devices");
    ck_assert_int_eq(call->status,
                     _i == 0 ? GW_STATUS_PERMISSION_DENIED : GW_STATUS_UNAUTHENTICATED);
    ck_assert_uint_eq(call->body.len, 0);
    const struct grpc_call *nowhere = ask_about(&other, 0, "acme-us", "devices");
    ck_assert_str_eq(call->message, nowhere->message);
    grpc_close(&other);
}
END_TEST

Suite *suite_isolation_grpc_names(void);
Suite *suite_isolation_grpc_names(void)
{
    Suite *s = suite_create("isolation_grpc_names");
    TCase *tc = add_case(s, "names");
    tcase_add_loop_test(tc, foreign_projects_are_refused_alike_whether_they_exist_or_not, 0,
                        ASKED_COUNT);
    tcase_add_loop_test(tc, lists_name_the_tenants_own, 0, 4);
    tcase_add_test(tc, failures_tell_nothing_of_neighbours);
    tc = add_case(s, "callers");
    tcase_add_loop_test(tc, the_emulator_cannot_reach_tenants_with_keys, 0, ASKED_COUNT);
    tcase_add_test(tc, a_key_is_worth_nothing_at_the_emulator);
    tcase_add_test(tc, what_the_emulator_makes_is_recorded);
    tcase_add_test(tc, keys_cannot_reach_the_emulators_projects);
    tcase_add_test(tc, service_keys_act_for_the_project_that_is_named);
    tcase_add_loop_test(tc, operator_keys_and_no_keys_reach_no_rows, 0, 2);
    return s;
}

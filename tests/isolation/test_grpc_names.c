/*
 * tests/isolation/test_grpc_names.c - what lists and failures name, and callers of another kind.
 *
 * That no method tells a neighbour's things from nobody's is in test_methods.c.
 */
#include <google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h>
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "grpc_tenants.h"
#include "tests/isolation/message.h"
#include "tests/isolation/names.h"

#define TABLES    "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define INSTANCES "/google.bigtable.admin.v2.BigtableInstanceAdmin/"

/* --- names -------------------------------------------------------------------------------------
 */

enum { READ, GET_TABLE, DELETE_TABLE, LIST_TABLES, LIST_INSTANCES, LIST_CLUSTERS, LIST_PROFILES };

#define INSTANCE "projects/{tenant}/instances/main"

static const struct {
    const char *path;
    const ProtobufCMessageDescriptor *type;
    const char *form;
} ASKED[] = {
    [READ] = {DATA "ReadRows", &bt__read_rows_request__descriptor,
              "table_name=" INSTANCE "/tables/{table}"},
    [GET_TABLE] = {TABLES "GetTable", &bta__get_table_request__descriptor,
                   "name=" INSTANCE "/tables/{table}"},
    [DELETE_TABLE] = {TABLES "DeleteTable", &bta__delete_table_request__descriptor,
                      "name=" INSTANCE "/tables/{table}"},
    [LIST_TABLES] = {TABLES "ListTables", &bta__list_tables_request__descriptor,
                     "parent=" INSTANCE},
    [LIST_INSTANCES] = {INSTANCES "ListInstances", &bta__list_instances_request__descriptor,
                        "parent=projects/{tenant}"},
    [LIST_CLUSTERS] = {INSTANCES "ListClusters", &bta__list_clusters_request__descriptor,
                       "parent=" INSTANCE},
    [LIST_PROFILES] = {INSTANCES "ListAppProfiles", &bta__list_app_profiles_request__descriptor,
                       "parent=" INSTANCE},
};

static struct grpc_call *ask_about(struct grpc_client *c, int which, const char *project,
                                   const char *table)
{
    static struct names asked;
    struct arena arena;
    struct buf text;
    base_arena_init(&arena, MIB);
    base_buf_init(&text, KIB);
    name_set(&asked, NAME_TENANT, project);
    name_set(&asked, NAME_TABLE, table);
    names_expand(ASKED[which].form, &asked, &text);
    ck_assert_int_eq(base_buf_append_byte(&text, '\0'), ERR_OK);
    struct grpc_call *call = grpc_ask(
        c, ASKED[which].path, message_make(ASKED[which].type, (const char *)text.ptr, &arena));
    base_buf_fini(&text);
    base_arena_fini(&arena);
    return call;
}

START_TEST(lists_name_the_tenants_own)
{
    static const int lists[] = {LIST_TABLES, LIST_INSTANCES, LIST_CLUSTERS, LIST_PROFILES};
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
    expect_failure_without_leak(ask_about(&clients[OWN], GET_TABLE, "acme", "others"),
                                GW_STATUS_NOT_FOUND);
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

/* A credential does not open at the emulator's endpoint what is closed there. */
START_TEST(a_key_is_worth_nothing_at_the_emulator)
{
    static struct grpc_client plain;
    char authorization[256];
    (void)snprintf(authorization, sizeof authorization, "Bearer %s", server.operator_key);
    grpc_open_plain(&plain, &server);
    grpc_add_header(&plain, "authorization", authorization);
    ck_assert_int_eq(ask_about(&plain, READ, "acme", "devices")->status,
                     GW_STATUS_PERMISSION_DENIED);
    grpc_close(&plain);
}
END_TEST

/* Without a key, but not without a trace; what is refused there is in nobody's own trail. */
START_TEST(what_the_emulator_makes_is_recorded)
{
    static struct grpc_client plain;
    struct http *op = http_open(&server, HTTP_2, server.operator_key);
    grpc_open_plain(&plain, &server);
    ck_assert_int_eq(ask_about(&plain, LIST_TABLES, "acme-made", "devices")->status, GW_STATUS_OK);
    http_get(op, "/v1/admin/audit?tenant=acme-made");
    EXPECT_STATUS(op, 200);
    ck_assert_uint_eq(http_count(op, "/records"), 1);
    ck_assert_str_eq(http_string(op, "/records/0/action"), "tenant.create");
    ck_assert_str_eq(http_string(op, "/records/0/kind"), "development");
    ck_assert_str_eq(http_string(op, "/records/0/address"), "127.0.0.1");
    http_get(op, "/v1/admin/audit?tenant=%s", IDS[OWN]);
    size_t before = http_count(op, "/records");
    ck_assert_int_eq(ask_about(&plain, DELETE_TABLE, IDS[OWN], "devices")->status,
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
    ck_assert_int_eq(ask_about(&plain, LIST_TABLES, "acme-dev", "devices")->status, GW_STATUS_OK);
    const struct grpc_call *there = ask_about(&clients[OWN], LIST_TABLES, "acme-dev", "devices");
    const struct grpc_call *nowhere = ask_about(&clients[OWN], LIST_TABLES, "acme-abc", "devices");
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
        const struct grpc_call *call = ask_about(&service, READ, IDS[i], "devices");
        expect_ok(call);
        for (size_t k = 0; k < TENANTS; k++)
            ck_assert(contains(base_buf_slice(&call->body), CANARIES[k]) == (i == k));
    }
    ck_assert_int_eq(ask_about(&service, READ, "acme-us", "devices")->status,
                     GW_STATUS_PERMISSION_DENIED);
    grpc_close(&service);
}
END_TEST

START_TEST(operator_keys_and_no_keys_reach_no_rows)
{
    static struct grpc_client other;
    grpc_open(&other, &server, _i == 0 ? server.operator_key : NULL, 0);
    const struct grpc_call *call = ask_about(&other, READ, "acme", "devices");
    ck_assert_int_eq(call->status,
                     _i == 0 ? GW_STATUS_PERMISSION_DENIED : GW_STATUS_UNAUTHENTICATED);
    ck_assert_uint_eq(call->body.len, 0);
    const struct grpc_call *nowhere = ask_about(&other, READ, "acme-us", "devices");
    ck_assert_str_eq(call->message, nowhere->message);
    grpc_close(&other);
}
END_TEST

Suite *suite_isolation_grpc_names(void);
Suite *suite_isolation_grpc_names(void)
{
    Suite *s = suite_create("isolation_grpc_names");
    TCase *tc = add_case(s, "names");
    tcase_add_loop_test(tc, lists_name_the_tenants_own, 0, 4);
    tcase_add_test(tc, failures_tell_nothing_of_neighbours);
    tc = add_case(s, "callers");
    tcase_add_test(tc, a_key_is_worth_nothing_at_the_emulator);
    tcase_add_test(tc, what_the_emulator_makes_is_recorded);
    tcase_add_test(tc, keys_cannot_reach_the_emulators_projects);
    tcase_add_test(tc, service_keys_act_for_the_project_that_is_named);
    tcase_add_loop_test(tc, operator_keys_and_no_keys_reach_no_rows, 0, 2);
    return s;
}

/*
 * tests/grpc/test_emulator_projects.c - the emulator's listener takes every project, and keeps
 * projects and their instances apart.
 */
#include "base/clock.h"
#include "gateway/grpc/emulator_id.h"
#include "tests/grpc/emulator.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define SIXTY_FOUR "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-0123456789"
#define FAMILY     "table.column_families.key=f;table.column_families.value="

_Static_assert(sizeof SIXTY_FOUR - 1 == 64, "one more than a tenant ID may have");

static const char *const PROJECTS[] = {
    "my_project", "my-project",     "Project",       "project",         "google.com:proj",
    "a",          SIXTY_FOUR,       "{{projectId}}", "admin",           "-dash",
    "9",          "pr\xc3\xb6jekt", "with space",    "emulator-project"};
#define PROJECT_COUNT (int)(sizeof PROJECTS / sizeof PROJECTS[0])
static const char *const LABS[] = {"lab", "main", "bigtent", "Lab"};
#define LAB_COUNT (sizeof LABS / sizeof LABS[0])

static void make_table(const char *project, const char *instance)
{
    expect_status(ask(TABLES "CreateTable", &bta__create_table_request__descriptor,
                      "parent=projects/%s/instances/%s;table_id=t;" FAMILY, project, instance),
                  GW_STATUS_OK);
}

/* The row's value says whose it is. */
static void write_row(const char *project, const char *instance)
{
    expect_status(ask(DATA "MutateRow", &bt__mutate_row_request__descriptor,
                      "table_name=projects/%s/instances/%s/tables/t;row_key=k;"
                      "mutations.set_cell.family_name=f;mutations.set_cell.timestamp_micros=1000;"
                      "mutations.set_cell.value=%s of %s",
                      project, instance, instance, project),
                  GW_STATUS_OK);
}

static void expect_row(const char *project, const char *instance)
{
    char value[256];
    int len = snprintf(value, sizeof value, "%s of %s", instance, project);
    const struct grpc_call *call =
        ask(DATA "ReadRows", &bt__read_rows_request__descriptor,
            "table_name=projects/%s/instances/%s/tables/t", project, instance);
    Bt__ReadRowsResponse *reply = answer_new(call, &bt__read_rows_response__descriptor);
    ck_assert_uint_eq(reply->n_chunks, 1);
    ck_assert_msg(reply->chunks[0]->value.len == (size_t)len &&
                      memcmp(reply->chunks[0]->value.data, value, (size_t)len) == 0,
                  "\"%s\" reads \"%.*s\"", value, (int)reply->chunks[0]->value.len,
                  (const char *)reply->chunks[0]->value.data);
    answer_free(reply);
}

/* --- any name ----------------------------------------------------------------------------------
 */

START_TEST(every_project_of_the_emulator_is_taken_and_named_as_it_was)
{
    const char *project = PROJECTS[_i];
    char name[256];
    start();
    make_table(project, "lab");
    write_row(project, "lab");
    expect_row(project, "lab");

    (void)snprintf(name, sizeof name, "projects/%s/instances/lab/tables/t", project);
    Bta__Table *table =
        answer_new(ask(TABLES "GetTable", &bta__get_table_request__descriptor, "name=%s", name),
                   &bta__table__descriptor);
    ck_assert_str_eq(table->name, name);
    answer_free(table);

    Bta__ListTablesResponse *list =
        answer_new(ask(TABLES "ListTables", &bta__list_tables_request__descriptor,
                       "parent=projects/%s/instances/lab", project),
                   &bta__list_tables_response__descriptor);
    ck_assert_uint_eq(list->n_tables, 1);
    ck_assert_str_eq(list->tables[0]->name, name);
    answer_free(list);

    (void)snprintf(name, sizeof name, "projects/%s/instances/lab", project);
    Bta__Instance *instance = answer_new(
        ask(INSTANCES "GetInstance", &bta__get_instance_request__descriptor, "name=%s", name),
        &bta__instance__descriptor);
    ck_assert_str_eq(instance->name, name);
    answer_free(instance);
    stop();
}
END_TEST

START_TEST(operations_and_backups_name_the_project_as_it_was)
{
    static const char in[] = "projects/google.com:proj/instances/lab/";
    start();
    make_table("google.com:proj", "lab");
    const struct grpc_call *call =
        ask(TABLES "UpdateTable", &bta__update_table_request__descriptor,
            "table.name=%stables/t;table.deletion_protection=0;update_mask.paths="
            "deletion_protection",
            in);
    Lro__Operation *operation = answer_new(call, &lro__operation__descriptor);
    ck_assert_str_eq(operation->name, "operations/projects/google.com:proj/instances/lab/"
                                      "operations/update-table:t");
    answer_free(operation);

    call = ask(TABLES "CreateBackup", &bta__create_backup_request__descriptor,
               "parent=%sclusters/main;backup_id=saved;backup.source_table=%stables/t;"
               "backup.expire_time.seconds=%lld",
               in, in, (long long)(base_wall_us() / 1000000 + 86400));
    operation = answer_new(call, &lro__operation__descriptor);
    ck_assert_msg(strstr(operation->name, in) != NULL, "%s", operation->name);
    answer_free(operation);
    Bta__ListBackupsResponse *list =
        answer_new(ask(TABLES "ListBackups", &bta__list_backups_request__descriptor,
                       "parent=%sclusters/-", in),
                   &bta__list_backups_response__descriptor);
    ck_assert_uint_eq(list->n_backups, 1);
    ck_assert_msg(strncmp(list->backups[0]->name, in, sizeof in - 1) == 0, "%s",
                  list->backups[0]->name);
    ck_assert_msg(strncmp(list->backups[0]->source_table, in, sizeof in - 1) == 0, "%s",
                  list->backups[0]->source_table);
    answer_free(list);

    call = ask(TABLES "CreateBackup", &bta__create_backup_request__descriptor,
               "parent=%sclusters/main;backup_id=other;"
               "backup.source_table=projects/google.com:proj/instances/other/tables/t;"
               "backup.expire_time.seconds=%lld",
               in, (long long)(base_wall_us() / 1000000 + 86400));
    expect_refusal(call, GW_STATUS_UNIMPLEMENTED, "in the instance of the parent");
    stop();
}
END_TEST

START_TEST(names_have_limits_that_are_told)
{
    char longest[LIM_PROJECT + 2];
    memset(longest, 'p', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    start();
    const struct grpc_call *call = ask(DATA "PingAndWarm", &bt__ping_and_warm_request__descriptor,
                                       "name=projects/%s/instances/lab", longest);
    expect_refusal(call, GW_STATUS_INVALID_ARGUMENT, "the project is 129 bytes; the limit is 128");
    longest[LIM_PROJECT] = '\0';
    call = ask(DATA "PingAndWarm", &bt__ping_and_warm_request__descriptor,
               "name=projects/%s/instances/%.64s", longest, longest);
    expect_status(call, GW_STATUS_OK);
    call = ask(DATA "PingAndWarm", &bt__ping_and_warm_request__descriptor,
               "name=projects/Dev/instances/%.65s", longest);
    expect_refusal(call, GW_STATUS_INVALID_ARGUMENT, "the instance is 65 bytes; the limit is 64");
    stop();
}
END_TEST

START_TEST(instances_of_a_project_have_a_limit_that_is_told)
{
    static const char ping[] = "name=projects/%s/instances/i%d";
    const ProtobufCMessageDescriptor *type = &bt__ping_and_warm_request__descriptor;
    start();
    for (int i = 0; i < LIM_INSTANCES; i++)
        expect_status(ask(DATA "PingAndWarm", type, ping, "dev", i), GW_STATUS_OK);
    expect_refusal(ask(DATA "PingAndWarm", type, ping, "dev", LIM_INSTANCES),
                   GW_STATUS_RESOURCE_EXHAUSTED, "the project has 1000 instances");
    expect_status(ask(DATA "PingAndWarm", type, ping, "dev", 0), GW_STATUS_OK);
    expect_status(ask(DATA "PingAndWarm", type, ping, "Dev", LIM_INSTANCES), GW_STATUS_OK);
    stop();
}
END_TEST

/* --- apart -------------------------------------------------------------------------------------
 */

static void each(void (*what)(const char *project, const char *instance))
{
    char made[LIM_TENANT_ID + 1];
    for (size_t i = 0; i < LAB_COUNT; i++) {
        for (int k = 0; k < PROJECT_COUNT; k++)
            what(PROJECTS[k], LABS[i]);
        /* What looks like the tenant of another project. */
        gw_emulator_id_make(SLICE_LIT("my_project"), SLICE_LIT("lab"), made);
        what(made, LABS[i]);
        gw_emulator_id_make(SLICE_LIT("my-project"), SLICE_LIT("main"), made);
        what(made, LABS[i]);
    }
}

START_TEST(no_two_projects_and_no_two_instances_share_a_row)
{
    start();
    each(make_table);
    each(write_row);
    each(expect_row);
    if (_i == 0) {
        stop();
    } else {
        server_kill(&server);
        grpc_close(&client);
    }
    start();
    each(expect_row);
    stop();
}
END_TEST

START_TEST(an_id_that_is_made_is_no_project_as_it_is)
{
    char made[LIM_TENANT_ID + 1], other[LIM_TENANT_ID + 1];
    gw_emulator_id_make(SLICE_LIT("dev"), SLICE_LIT("a"), made);
    gw_emulator_id_make(SLICE_LIT("dev"), SLICE_LIT("b"), other);
    ck_assert_uint_eq(strlen(made), 53);
    ck_assert(!gw_emulator_is_tenant_id(base_slice_text(made)));
    ck_assert_int_eq(strncmp(made, other, 21), 0); /* of one project */
    ck_assert_str_ne(made, other);
    made[52] = 'g'; /* no hexadecimal digit */
    ck_assert(gw_emulator_is_tenant_id(base_slice_text(made)));
    ck_assert(gw_emulator_is_tenant_id(SLICE_LIT("emu-lab")));
    ck_assert(gw_emulator_is_tenant_id(SLICE_LIT("dev")));
    ck_assert(!gw_emulator_is_tenant_id(SLICE_LIT("admin")));
    ck_assert(!gw_emulator_is_tenant_id(SLICE_LIT("Dev")));
}
END_TEST

/* --- operators ---------------------------------------------------------------------------------
 */

START_TEST(operators_see_whose_tenant_it_is)
{
    char made[LIM_TENANT_ID + 1];
    gw_emulator_id_make(SLICE_LIT("my_project"), SLICE_LIT("lab"), made);
    start();
    make_table("my_project", "lab");
    make_table("dev", "lab");
    struct http *op = http_open(&server, HTTP_2, server.operator_key);
    http_get(op, "/v1/admin/tenants/%s", made);
    EXPECT_STATUS(op, 200);
    ck_assert_str_eq(http_string(op, "/display_name"), "projects/my_project/instances/lab");
    ck_assert_str_eq(http_string(op, "/instance"), "lab");
    ck_assert(json_is_true(http_at(op, "/keyless")));
    http_get(op, "/v1/admin/tenants/dev");
    EXPECT_STATUS(op, 200);
    ck_assert_str_eq(http_string(op, "/display_name"), "");
    http_get(op, "/v1/admin/audit?tenant=%s", made);
    EXPECT_STATUS(op, 200);
    ck_assert_uint_eq(http_count(op, "/records"), 2); /* the tenant, the table */
    http_close(op);
    stop();
}
END_TEST

START_TEST(a_tenant_of_an_operator_is_not_reached_by_any_name)
{
    static const char ping[] = "name=projects/%s/instances/%s";
    const ProtobufCMessageDescriptor *type = &bt__ping_and_warm_request__descriptor;
    char made[LIM_TENANT_ID + 1];
    gw_emulator_id_make(SLICE_LIT("my_project"), SLICE_LIT("lab"), made);
    start();
    struct http *op = http_open(&server, HTTP_2, server.operator_key);
    http_json(op, "POST", "{'id':'altostrat'}", "/v1/admin/tenants");
    EXPECT_STATUS(op, 201);
    http_value_take(op, "POST", json_pack("{s:s}", "id", made), "/v1/admin/tenants");
    EXPECT_STATUS(op, 201);
    expect_refusal(ask(DATA "PingAndWarm", type, ping, "altostrat", "main"),
                   GW_STATUS_PERMISSION_DENIED, "without a key");
    expect_refusal(ask(DATA "PingAndWarm", type, ping, "altostrat", "lab"),
                   GW_STATUS_PERMISSION_DENIED, "without a key");
    expect_refusal(ask(DATA "PingAndWarm", type, ping, "my_project", "lab"),
                   GW_STATUS_PERMISSION_DENIED, "without a key");
    expect_status(ask(DATA "PingAndWarm", type, ping, "my_project", "main"), GW_STATUS_OK);
    expect_status(ask(DATA "PingAndWarm", type, ping, made, "main"), GW_STATUS_OK);
    http_get(op, "/v1/admin/tenants/%s", made); /* that one is another's */
    ck_assert(json_is_false(http_at(op, "/keyless")));
    http_close(op);
    stop();
}
END_TEST

/* Its ID stays taken, and the name of the instance is not known any more. */
START_TEST(the_name_of_a_purged_instance_can_be_used_for_a_new_tenant)
{
    char made[LIM_TENANT_ID + 1];
    start();
    struct http *op = http_open(&server, HTTP_2, server.operator_key);
    make_table("dev", "lab");
    write_row("dev", "lab");
    make_table("dev", "other");
    write_row("dev", "other");
    admin_offboard(op, "dev");
    http_get(op, "/v1/admin/tenants/dev");
    ck_assert_str_eq(http_string(op, "/instance"), "main");
    expect_row("dev", "other");
    expect_status(ask(DATA "ReadRows", &bt__read_rows_request__descriptor,
                      "table_name=projects/dev/instances/lab/tables/t"),
                  GW_STATUS_NOT_FOUND); /* no table */
    make_table("dev", "lab");
    write_row("dev", "lab");
    make_table("dev", "main");
    write_row("dev", "main");
    expect_row("dev", "lab");
    expect_row("dev", "main");
    expect_row("dev", "other");
    gw_emulator_id_make(SLICE_LIT("dev"), SLICE_LIT("lab"), made);
    http_get(op, "/v1/admin/tenants/%s", made);
    ck_assert_str_eq(http_string(op, "/state"), "active");
    http_get(op, "/v1/admin/tenants/dev");
    ck_assert_str_eq(http_string(op, "/state"), "purged");
    http_close(op);
    stop();
}
END_TEST

Suite *suite_grpc_emulator_projects(void);
Suite *suite_grpc_emulator_projects(void)
{
    Suite *s = suite_create("grpc_emulator_projects");
    TCase *tc = tcase_create("projects");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 240);
    tcase_add_loop_test(tc, every_project_of_the_emulator_is_taken_and_named_as_it_was, 0,
                        PROJECT_COUNT);
    tcase_add_test(tc, operations_and_backups_name_the_project_as_it_was);
    tcase_add_test(tc, names_have_limits_that_are_told);
    tcase_add_test(tc, instances_of_a_project_have_a_limit_that_is_told);
    tcase_add_loop_test(tc, no_two_projects_and_no_two_instances_share_a_row, 0, 2);
    tcase_add_test(tc, an_id_that_is_made_is_no_project_as_it_is);
    tcase_add_test(tc, operators_see_whose_tenant_it_is);
    tcase_add_test(tc, a_tenant_of_an_operator_is_not_reached_by_any_name);
    tcase_add_test(tc, the_name_of_a_purged_instance_can_be_used_for_a_new_tenant);
    suite_add_tcase(s, tc);
    return s;
}

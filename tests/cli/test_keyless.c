/*
 * tests/cli/test_keyless.c - operators see which tenants the emulator's listener made.
 */
#define _GNU_SOURCE
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "gateway/grpc/status.h"
#include "tests/cli/session.h"
#include "tests/support/grpc_client.h"

#include "base/banned.h"

static struct server server;

/* Two tenants: one with keys, and one by the first use of its project. */
static void set_up(void)
{
    static struct grpc_client plain;
    Bta__ListTablesRequest list = BTA__LIST_TABLES_REQUEST__INIT;
    server_create(&server);
    server.options[0] = "--emulator";
    server.options[1] = "127.0.0.1:0";
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "acme");
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", server.port);
    op = (struct setup){.url = url, .key = server.operator_key, .cacert = server.ca};
    list.parent = (char *)(uintptr_t) "projects/acme-dev/instances/lab";
    grpc_open_plain(&plain, &server);
    const struct grpc_call *call =
        grpc_ask(&plain, "/google.bigtable.admin.v2.BigtableTableAdmin/ListTables", &list.base);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    grpc_close(&plain);
}

static void tear_down(void)
{
    world_fini(&w);
    server_stop(&server);
    server_remove(&server);
}

START_TEST(show_marks_who_is_used_without_a_key)
{
    bigtent(&r, &op, "tenant", "show", "acme-dev");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "keyless"), "true");
    ck_assert_str_eq(plain_value(&r, "instance"), "lab");
    bigtent(&r, &op, "tenant", "show", "acme");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "keyless"), "false");
    ck_assert_str_eq(plain_value(&r, "instance"), "main");
}
END_TEST

START_TEST(list_marks_them_too)
{
    bigtent(&r, &op, "tenant", "list");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "acme active 0 0 20");
    EXPECT_IN(r.out, "Z false main ");
    EXPECT_IN(r.out, "acme-dev active 0 0 20");
    EXPECT_IN(r.out, "Z true lab ");
}
END_TEST

/* Suites of tests make and remove tables as fast as they can. */
START_TEST(theirs_are_the_tables_of_tests)
{
    http_get(w.op, "/v1/admin/tenants/acme-dev");
    EXPECT_STATUS(w.op, 200);
    ck_assert_int_eq(http_number(w.op, "/quota/control_ops_per_s"), 1000);
    http_get(w.op, "/v1/admin/tenants/acme");
    EXPECT_STATUS(w.op, 200);
    ck_assert_int_eq(http_number(w.op, "/quota/control_ops_per_s"), 20);
}
END_TEST

/* What the server says, as it is: one member of the list, and the same alone. */
START_TEST(the_server_says_it_of_every_tenant)
{
    bigtent(&r, &op, "tenant", "list", "--json");
    EXPECT_CODE(&r, 0);
    json_t *doc = json_of(&r);
    const json_t *list = json_object_get(doc, "tenants");
    ck_assert_uint_eq(json_array_size(list), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *t = json_array_get(list, i);
        const char *id = json_string_value(json_object_get(t, "id"));
        const char *instance = json_string_value(json_object_get(t, "instance"));
        bool is_dev = strcmp(id, "acme-dev") == 0;
        ck_assert(json_is_boolean(json_object_get(t, "keyless")));
        ck_assert_int_eq(json_is_true(json_object_get(t, "keyless")), is_dev);
        ck_assert_str_eq(instance, is_dev ? "lab" : "main");
    }
    json_decref(doc);
}
END_TEST

Suite *suite_cli_keyless(void);
Suite *suite_cli_keyless(void)
{
    Suite *s = suite_create("cli_keyless");
    TCase *t = tcase_create("keyless");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, show_marks_who_is_used_without_a_key);
    tcase_add_test(t, list_marks_them_too);
    tcase_add_test(t, the_server_says_it_of_every_tenant);
    tcase_add_test(t, theirs_are_the_tables_of_tests);
    suite_add_tcase(s, t);
    return s;
}

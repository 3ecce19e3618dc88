/*
 * tests/api/test_control_rate.c - changes of tables have a rate for each tenant, operators none.
 */
#include <check.h>
#include <string.h>

#include "tests/support/world.h"

#include "base/banned.h"

#define CHANGES 300 /* more than ten seconds' worth, also where each takes a second */

static struct world w;

static void setup(void)
{
    world_init(&w, HTTP_2);
    admin_set_quota(w.op, w.tenant, "{'control_ops_per_s':1}");
}

static void tear_down(void)
{
    world_fini(&w);
}

static void change(int number)
{
    http_json(w.http, "PUT",
              number % 2 == 0 ? "{'families':{'stats':{},'raw':{}},'row_key_notes':'a'}"
                              : "{'families':{'stats':{},'raw':{}},'row_key_notes':'b'}",
              "/v1/tables/devices");
}

START_TEST(changes_of_tables_have_a_rate)
{
    int done = 0;
    for (change(done); w.http->status == 200 && done < CHANGES; change(done))
        done++;
    EXPECT_PROBLEM(w.http, 429, "rate_limited");
    ck_assert_int_ge(done, 10); /* come at once */
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "control_ops"));
    ck_assert_ptr_nonnull(http_header(w.http, "retry-after"));
    /* rows, other tenants' tables and operators are not meant */
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
    for (int i = 0; i < 20; i++) {
        http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:%s", w.tenant,
                  i % 2 == 0 ? "suspend" : "resume");
        EXPECT_STATUS(w.op, 200);
    }
    struct world other;
    world_init(&other, HTTP_2);
    world_fini(&other);
}
END_TEST

START_TEST(the_rate_is_shown)
{
    http_get(w.op, "/v1/admin/tenants/%s", w.tenant);
    ck_assert_int_eq(http_number(w.op, "/quota/control_ops_per_s"), 1);
    admin_set_quota(w.op, w.tenant, "{}");
    http_get(w.op, "/v1/admin/tenants/%s", w.tenant);
    ck_assert_int_eq(http_number(w.op, "/quota/control_ops_per_s"), 20);
}
END_TEST

Suite *suite_api_control_rate(void);

Suite *suite_api_control_rate(void)
{
    Suite *s = suite_create("api_control_rate");
    TCase *tc = tcase_create("rate");
    tcase_set_timeout(tc, 120);
    world_begin(tc);
    tcase_add_checked_fixture(tc, setup, tear_down);
    tcase_add_test(tc, changes_of_tables_have_a_rate);
    tcase_add_test(tc, the_rate_is_shown);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

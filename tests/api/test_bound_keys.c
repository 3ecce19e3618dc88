/*
 * tests/api/test_bound_keys.c - service keys bound to tenants, rates of keys, the scope ops.read.
 */
#include <check.h>

#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

START_TEST(a_service_key_with_a_list_acts_for_those_tenants_only)
{
    world_init(&w, (enum http_version)_i);
    char other[WORLD_ID], body[256], key[WORLD_KEY], id[WORLD_KEY], refused[512];
    world_fresh_id(other);
    admin_create_tenant(w.op, other);
    (void)snprintf(body, sizeof body,
                   "{'kind':'service','tenants':['%s'],'limits':{'read_ops_per_s':7}}", w.tenant);
    http_json(w.op, "POST", body, "/v1/admin/keys");
    EXPECT_STATUS(w.op, 201);
    (void)snprintf(key, sizeof key, "%s", http_string(w.op, "/key"));
    (void)snprintf(id, sizeof id, "%s", http_string(w.op, "/id"));
    ck_assert_int_eq(http_number(w.op, "/limits/read_ops_per_s"), 7);
    http_use_key(w.http, key);
    http_once(w.http, "Bigtent-Tenant: %s", w.tenant);
    http_get(w.http, "/v1/tables");
    EXPECT_STATUS(w.http, 200);
    http_once(w.http, "Bigtent-Tenant: %s", "nobody-here");
    http_get(w.http, "/v1/tables");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    (void)snprintf(refused, sizeof refused, "%s", http_text(w.http));
    http_once(w.http, "Bigtent-Tenant: %s", other);
    http_get(w.http, "/v1/tables");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    ck_assert_str_eq(http_text(w.http), refused);
    http_get(w.op, "/v1/admin/keys");
    bool found = false;
    for (size_t i = 0; i < http_count(w.op, "/keys"); i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/keys/%zu/id", i);
        if (strcmp(http_string(w.op, path), id) != 0)
            continue;
        found = true;
        (void)snprintf(path, sizeof path, "/keys/%zu/tenants/0", i);
        ck_assert_str_eq(http_string(w.op, path), w.tenant);
        (void)snprintf(path, sizeof path, "/keys/%zu/limits/read_ops_per_s", i);
        ck_assert_int_eq(http_number(w.op, path), 7);
        (void)snprintf(path, sizeof path, "/keys/%zu/limits/write_bytes_per_s", i);
        ck_assert(json_is_null(http_at(w.op, path)));
    }
    ck_assert(found);
}
END_TEST

static const char *const BAD_KEYS[] = {
    "{'kind':'service','tenants':[]}",
    "{'kind':'service','tenants':'a'}",
    "{'kind':'service','tenants':[7]}",
    "{'kind':'service','tenants':['nobody-here']}",
    "{'kind':'service','tenants':['../x']}",
    "{'kind':'operator','tenants':['nobody-here']}",
    "{'kind':'operator','limits':{'read_ops_per_s':1}}",
    "{'kind':'service','limits':{'read_ops_per_s':0}}",
    "{'kind':'service','limits':{'read_ops_per_s':1000000001}}",
    "{'kind':'service','limits':{'read_bytes_per_s':1023}}",
    "{'kind':'service','limits':{'rows':1}}",
    "{'kind':'service','limits':7}",
    "{'kind':'service','scopes':['ops.read']}",
};
#define BAD_KEY_COUNT ((int)(sizeof BAD_KEYS / sizeof BAD_KEYS[0]))

START_TEST(keys_that_are_wrong_are_refused)
{
    world_init(&w, HTTP_2);
    http_json(w.op, "POST", BAD_KEYS[_i], "/v1/admin/keys");
    EXPECT_PROBLEM(w.op, 400, "invalid");
}
END_TEST

START_TEST(an_ops_key_reads_no_administration)
{
    world_init(&w, (enum http_version)_i);
    char key[WORLD_KEY];
    http_json(w.op, "POST", "{'kind':'operator','scopes':['ops.read']}", "/v1/admin/keys");
    EXPECT_STATUS(w.op, 201);
    (void)snprintf(key, sizeof key, "%s", http_string(w.op, "/key"));
    http_use_key(w.http, key);
    http_get(w.http, "/v1/admin/tenants");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    http_json(w.http, "POST", "{'id':'not-made'}", "/v1/admin/tenants");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
}
END_TEST

static void teardown(void)
{
    world_fini(&w);
}

Suite *suite_api_bound_keys(void);
Suite *suite_api_bound_keys(void)
{
    Suite *s = suite_create("api_bound_keys");
    TCase *c = tcase_create("keys");
    tcase_set_timeout(c, 60);
    world_begin(c);
    tcase_add_checked_fixture(c, NULL, teardown);
    tcase_add_loop_test(c, a_service_key_with_a_list_acts_for_those_tenants_only, 0, HTTP_VERSIONS);
    tcase_add_loop_test(c, keys_that_are_wrong_are_refused, 0, BAD_KEY_COUNT);
    tcase_add_loop_test(c, an_ops_key_reads_no_administration, 0, HTTP_VERSIONS);
    world_end(c);
    suite_add_tcase(s, c);
    return s;
}

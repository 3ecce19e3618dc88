/*
 * tests/api/test_tables.c - making, changing, listing and deleting tables.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

START_TEST(put_creates_with_201_then_changes_with_200)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'families':{'stats':{'gc':{'max_versions':1}},'raw':{}}}",
              "/v1/tables/metrics");
    EXPECT_STATUS(w.http, 201);
    ck_assert_str_eq(http_header(w.http, "content-type"), "application/json");
    ck_assert_str_eq(http_header(w.http, "etag"), "\"1\"");
    EXPECT_JSON(w.http,
                "{'id':'metrics','version':1,"
                "'families':{'stats':{'gc':{'max_versions':1}},'raw':{}},"
                "'deletion_protection':false,'row_key_notes':null,'change_stream_retention':null,"
                "'usage':{'stored_bytes':0,'rows':0,'cells':0,'uncollected_bytes':0}}");
    http_json(w.http, "PUT",
              "{'families':{'stats':{'gc':{'max_versions':3}},'raw':{'gc':{'max_age':'86400s'}},"
              "'more':{}}}",
              "/v1/tables/metrics");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, "/v1/tables/metrics");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_header(w.http, "etag"), "\"2\"");
    EXPECT_JSON(w.http,
                "{'id':'metrics','version':2,"
                "'families':{'stats':{'gc':{'max_versions':3}},"
                "'raw':{'gc':{'max_age':'86400s'}},'more':{}},"
                "'deletion_protection':false,'row_key_notes':null,'change_stream_retention':null,"
                "'usage':{'stored_bytes':0,'rows':0,'cells':0,'uncollected_bytes':0}}");
}
END_TEST

START_TEST(put_twice_the_same_is_fine)
{
    world_init(&w, (enum http_version)_i);
    for (int i = 0; i < 3; i++) {
        http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/same");
        EXPECT_STATUS(w.http, i == 0 ? 201 : 200);
    }
}
END_TEST

START_TEST(leaving_out_a_family_is_a_conflict)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'families':{'stats':{}}}", "/v1/tables/devices");
    EXPECT_PROBLEM(w.http, 409, "conflict");
    http_get(w.http, "/v1/tables/devices");
    ck_assert_uint_eq(http_count(w.http, "/families"), 2);
}
END_TEST

START_TEST(list_shows_every_table_with_its_usage)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/another");
    EXPECT_STATUS(w.http, 201);
    tenant_put(w.http, "another", "key", "f", "q", "value");
    http_get(w.http, "/v1/tables");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, "/tables"), 2);
    ck_assert_str_eq(http_string(w.http, "/tables/0/id"), "another");
    ck_assert_int_eq(http_number(w.http, "/tables/0/usage/rows"), 1);
    ck_assert_int_eq(http_number(w.http, "/tables/0/usage/cells"), 1);
    ck_assert_int_eq(http_number(w.http, "/tables/0/usage/stored_bytes"), 3 + 1 + 1 + 5 + 8);
    ck_assert_str_eq(http_string(w.http, "/tables/1/id"), "devices");
    ck_assert_int_eq(http_number(w.http, "/tables/1/usage/rows"), 0);
    ck_assert_ptr_nonnull(http_at(w.http, "/tables/1/families/stats"));
}
END_TEST

/* 200 tables of 24 KB of text each: over several portions, and whole. */
START_TEST(a_long_list_comes_in_portions)
{
    enum { TABLES = 200, NOTES = 4000 };
    static char notes[NOTES + 1];
    char name[32];
    world_init(&w, (enum http_version)_i);
    admin_set_quota(w.op, w.tenant, "{'control_ops_per_s':1000}");
    memset(notes, 1, NOTES); /* six characters each */
    for (int i = 0; i < TABLES; i++) {
        http_value_take(w.http, "PUT",
                        json_pack("{s:{s:{}},s:s}", "families", "f", "row_key_notes", notes),
                        "/v1/tables/long-%03d", i);
        EXPECT_STATUS(w.http, 201);
    }
    http_get(w.http, "/v1/tables");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_gt(w.http->body.len, (size_t)TABLES * NOTES * 6);
    ck_assert_uint_eq(http_count(w.http, "/tables"), TABLES + 1);
    ck_assert_str_eq(http_string(w.http, "/tables/0/id"), "devices");
    for (int i = 0; i < TABLES; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "/tables/%d/id", i + 1);
        (void)snprintf(name, sizeof name, "long-%03d", i);
        ck_assert_str_eq(http_string(w.http, path), name);
    }
}
END_TEST

START_TEST(delete_takes_rows_and_usage_with_it)
{
    world_init(&w, (enum http_version)_i);
    for (int i = 0; i < 50; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "row%d", i);
        tenant_put(w.http, "devices", key, "stats", "q", "v");
    }
    http_delete(w.http, "/v1/tables/devices");
    EXPECT_STATUS(w.http, 204);
    ck_assert_uint_eq(w.http->body.len, 0);
    http_get(w.http, "/v1/tables/devices");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    http_get(w.http, "/v1/tables/devices/rows/row1");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
    http_delete(w.http, "/v1/tables/devices");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    /* The name is free again, and what was there does not come back. */
    http_json(w.http, "PUT", "{'families':{'stats':{}}}", "/v1/tables/devices");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, "/v1/tables/devices/rows");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, "/rows"), 0);
    EXPECT_USAGE(admin_recount(w.op, w.tenant), 0, 0, 0);
}
END_TEST

static const struct {
    const char *id;
    int status;
} NAMES[] = {
    {"a", 201},
    {"_a", 201},
    {"A-b_c.9", 201},
    {"12345678901234567890123456789012345678901234567890", 201},
    {"123456789012345678901234567890123456789012345678901", 400},
    {"-a", 400},
    {".a", 400},
    {"a%23b", 400},
    {"a%2Fb", 400},
    {"a%00", 400},
    {"%C3%A4", 400},
};

START_TEST(table_names_follow_bigtable)
{
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    size_t n = (size_t)_i / HTTP_VERSIONS;
    http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/%s", NAMES[n].id);
    if (NAMES[n].status == 201)
        EXPECT_STATUS(w.http, 201);
    else
        EXPECT_PROBLEM(w.http, NAMES[n].status, "invalid");
    http_get(w.http, "/v1/tables");
    ck_assert_uint_eq(http_count(w.http, "/tables"), NAMES[n].status == 201 ? 2 : 1);
}
END_TEST

static const struct {
    const char *what;
    const char *body;
    int status;
    const char *code;
} SCHEMAS[] = {
    {"no families member", "{}", 400, "invalid"},
    {"families is a list", "{'families':['stats']}", 400, "invalid"},
    {"family is a number", "{'families':{'f':1}}", 400, "invalid"},
    {"empty family name", "{'families':{'':{}}}", 400, "invalid"},
    {"family with a colon", "{'families':{'a:b':{}}}", 400, "invalid"},
    {"family with a slash", "{'families':{'a/b':{}}}", 400, "invalid"},
    {"unknown member", "{'families':{'f':{}},'family':1}", 400, "invalid"},
    {"unknown member of a family", "{'families':{'f':{'ttl':1}}}", 400, "invalid"},
    {"gc is a string", "{'families':{'f':{'gc':'x'}}}", 400, "invalid"},
    {"max_versions 0", "{'families':{'f':{'gc':{'max_versions':0}}}}", 400, "invalid"},
    {"max_versions -1", "{'families':{'f':{'gc':{'max_versions':-1}}}}", 400, "invalid"},
    {"max_versions text", "{'families':{'f':{'gc':{'max_versions':'1'}}}}", 400, "invalid"},
    {"max_age without s", "{'families':{'f':{'gc':{'max_age':'86400'}}}}", 400, "invalid"},
    {"max_age number", "{'families':{'f':{'gc':{'max_age':86400}}}}", 400, "invalid"},
    {"max_age negative", "{'families':{'f':{'gc':{'max_age':'-1s'}}}}", 400, "invalid"},
    {"unknown gc rule", "{'families':{'f':{'gc':{'newest':1}}}}", 400, "invalid"},
};

START_TEST(schemas_that_make_no_sense_are_refused)
{
    size_t n = (size_t)_i / HTTP_VERSIONS;
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    http_json(w.http, "PUT", SCHEMAS[n].body, "/v1/tables/odd");
    EXPECT_PROBLEM_OF(w.http, SCHEMAS[n].what, SCHEMAS[n].status, SCHEMAS[n].code);
    http_get(w.http, "/v1/tables/odd");
    EXPECT_PROBLEM(w.http, 404, "not_found");
}
END_TEST

static void put_families(const char *table, int count, int name_len)
{
    json_t *families = json_object();
    for (int i = 0; i < count; i++) {
        char name[128];
        int n = snprintf(name, sizeof(name), "f%d", i);
        memset(name + n, 'x', (size_t)(name_len > n ? name_len - n : 0));
        name[name_len > n ? name_len : n] = '\0';
        json_object_set_new(families, name, json_object());
    }
    http_value_take(w.http, "PUT", json_pack("{s:o}", "families", families), "/v1/tables/%s",
                    table);
}

START_TEST(families_are_limited_in_count_and_name)
{
    world_init(&w, (enum http_version)_i);
    put_families("many", 100, 0);
    EXPECT_STATUS(w.http, 201);
    put_families("toomany", 101, 0);
    EXPECT_PROBLEM(w.http, 413, "too_big");
    put_families("long", 1, 64);
    EXPECT_STATUS(w.http, 201);
    put_families("toolong", 1, 65);
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_get(w.http, "/v1/tables");
    ck_assert_uint_eq(http_count(w.http, "/tables"), 3);
}
END_TEST

Suite *suite_api_tables(void);
Suite *suite_api_tables(void)
{
    Suite *s = suite_create("api_tables");
    TCase *tc = tcase_create("tables");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, put_creates_with_201_then_changes_with_200, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, put_twice_the_same_is_fine, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, leaving_out_a_family_is_a_conflict, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, list_shows_every_table_with_its_usage, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_long_list_comes_in_portions, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, delete_takes_rows_and_usage_with_it, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, table_names_follow_bigtable, 0, HTTP_EACH(NAMES));
    tcase_add_loop_test(tc, schemas_that_make_no_sense_are_refused, 0, HTTP_EACH(SCHEMAS));
    tcase_add_loop_test(tc, families_are_limited_in_count_and_name, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

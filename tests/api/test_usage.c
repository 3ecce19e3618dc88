/*
 * tests/api/test_usage.c - what is stored, counted by hand; dropping rows with exact counts.
 *
 * The formula of docs/api.md: sum over cells of the lengths of row key, family name, qualifier and
 * value, plus 8.
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

#define ROW "/v1/tables/devices/rows/"

static int64_t cell(size_t key, size_t family, size_t qualifier, size_t value)
{
    return (int64_t)(key + family + qualifier + value + 8);
}

/* Counters, recount and per-table numbers must all say this. */
static void expect_everywhere(int64_t bytes, int64_t rows, int64_t cells)
{
    EXPECT_USAGE(tenant_usage(w.http), bytes, rows, cells);
    EXPECT_USAGE(admin_recount(w.op, w.tenant), bytes, rows, cells);
    http_get(w.op, "/v1/admin/tenants/%s/usage", w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_int_eq(http_number(w.op, "/stored_bytes"), bytes);
    ck_assert_int_eq(http_number(w.op, "/rows"), rows);
    ck_assert_int_eq(http_number(w.op, "/cells"), cells);
    http_get(w.op, "/v1/admin/tenants/%s", w.tenant);
    ck_assert_int_eq(http_number(w.op, "/usage/stored_bytes"), bytes);
}

START_TEST(a_new_tenant_stores_nothing)
{
    world_init(&w, (enum http_version)_i);
    http_get(w.http, "/v1/usage");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_string(w.http, "/tenant"), w.tenant);
    ck_assert(json_is_null(http_at(w.http, "/quota/stored_bytes")));
    ck_assert(json_is_null(http_at(w.http, "/quota/rows")));
    ck_assert(json_is_null(http_at(w.http, "/quota/read_ops_per_s")));
    ck_assert(json_is_null(http_at(w.http, "/quota/write_ops_per_s")));
    ck_assert_int_eq(http_number(w.http, "/uncollected_bytes"), 0);
    ck_assert_int_eq(http_number(w.http, "/quota/cell_bytes"), 10 * 1024 * 1024);
    expect_everywhere(0, 0, 0);
}
END_TEST

START_TEST(each_change_moves_the_counters_exactly)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'stats':{'os':'17','battery':'83'}}", ROW "phone");
    int64_t bytes = cell(5, 5, 2, 2) + cell(5, 5, 7, 2);
    expect_everywhere(bytes, 1, 2);

    http_json(w.http, "PATCH", "{'raw':{'x':{'value_b64':'AAECAw=='}}}", ROW "phone");
    bytes += cell(5, 3, 1, 4);
    expect_everywhere(bytes, 1, 3);

    /* a second version of a column is a cell of its own */
    http_json(w.http, "PATCH", "{'stats':{'os':{'value':'18 beta','timestamp':'1000'}}}",
              ROW "phone");
    bytes += cell(5, 5, 2, 7);
    expect_everywhere(bytes, 1, 4);

    /* the same version again replaces it */
    http_json(w.http, "PATCH", "{'stats':{'os':{'value':'18','timestamp':'1000'}}}", ROW "phone");
    bytes -= 5;
    expect_everywhere(bytes, 1, 4);

    http_bytes(w.http, "PUT", SLICE_LIT("0123456789"), "/v1/tables/devices/cells/other/raw/blob");
    bytes += cell(5, 3, 4, 10);
    expect_everywhere(bytes, 2, 5);

    http_json(w.http, "PATCH", "{'stats':{'os':null}}", ROW "phone");
    bytes -= cell(5, 5, 2, 2) + cell(5, 5, 2, 2);
    expect_everywhere(bytes, 2, 3);

    http_json(w.http, "PUT", "{'stats':{'b':'1'}}", ROW "phone");
    bytes = cell(5, 5, 1, 1) + cell(5, 3, 4, 10);
    expect_everywhere(bytes, 2, 2);

    http_delete(w.http, "/v1/tables/devices/cells/other/raw/blob");
    expect_everywhere(cell(5, 5, 1, 1), 1, 1);
    http_delete(w.http, ROW "phone");
    expect_everywhere(0, 0, 0);
}
END_TEST

START_TEST(bytes_count_as_bytes_not_as_text)
{
    world_init(&w, (enum http_version)_i);
    /* two-byte letters, escaped zero bytes: the stored key is longer, the count is not */
    http_json(w.http, "PUT", "{'stats':{'\xc3\xa4':'\xc3\xb6\xc3\xbc'}}", ROW "%%00%%00%%C3%%A4");
    EXPECT_STATUS(w.http, 201);
    expect_everywhere(cell(4, 5, 2, 4), 1, 1);
}
END_TEST

START_TEST(tables_add_up_to_the_tenant)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/second");
    tenant_put(w.http, "devices", "a", "stats", "q", "12345");
    tenant_put(w.http, "second", "a", "f", "q", "1");
    http_get(w.http, "/v1/tables/devices");
    ck_assert_int_eq(http_number(w.http, "/usage/stored_bytes"), cell(1, 5, 1, 5));
    http_get(w.http, "/v1/tables/second");
    ck_assert_int_eq(http_number(w.http, "/usage/stored_bytes"), cell(1, 1, 1, 1));
    ck_assert_int_eq(http_number(w.http, "/usage/rows"), 1);
    expect_everywhere(cell(1, 5, 1, 5) + cell(1, 1, 1, 1), 2, 2);
}
END_TEST

START_TEST(a_refused_write_counts_nothing)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "a", "stats", "q", "1");
    http_json(w.http, "PUT", "{'stats':{'q':'2'},'nofamily':{'q':'2'}}", ROW "a");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    http_json(w.http, "PUT", "{'stats':{'q':'2','r':{'value':'2','timestamp':'1'}}}", ROW "b");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    expect_everywhere(cell(1, 5, 1, 1), 1, 1);
    http_get(w.http, ROW "a");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/0/value"), "1");
}
END_TEST

/* --- drop --------------------------------------------------------------------------------------*/

#define DROP "/v1/tables/devices:drop"

static void expect_removed(int64_t bytes, int64_t rows, int64_t cells)
{
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(http_number(w.http, "/removed/stored_bytes"), bytes);
    ck_assert_int_eq(http_number(w.http, "/removed/rows"), rows);
    ck_assert_int_eq(http_number(w.http, "/removed/cells"), cells);
}

START_TEST(drop_by_prefix_counts_what_went)
{
    world_init(&w, (enum http_version)_i);
    for (int i = 0; i < 20; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "%s#%02d", i < 12 ? "phone" : "table", i);
        http_json(w.http, "PUT", "{'stats':{'a':'1','b':'22'}}", ROW "%s", pcts(key));
        EXPECT_STATUS(w.http, 201);
    }
    int64_t row = cell(8, 5, 1, 1) + cell(8, 5, 1, 2);
    http_json(w.http, "POST", "{'prefix':'phone#'}", DROP);
    expect_removed(12 * row, 12, 24);
    expect_everywhere(8 * row, 8, 16);
    http_get(w.http, "/v1/tables/devices/rows?prefix=phone");
    ck_assert_uint_eq(http_count(w.http, "/rows"), 0);
    http_json(w.http, "POST", "{'prefix_b64':'dGFibGUjMTI='}", DROP); /* "table#12" */
    expect_removed(row, 1, 2);
    http_json(w.http, "POST", "{'prefix':'phone#'}", DROP);
    expect_removed(0, 0, 0);
    http_json(w.http, "POST", "{'all':true}", DROP);
    expect_removed(7 * row, 7, 14);
    expect_everywhere(0, 0, 0);
}
END_TEST

START_TEST(drop_touches_its_own_table_only)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'families':{'stats':{}}}", "/v1/tables/devices2");
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
    tenant_put(w.http, "devices2", "k", "stats", "q", "1");
    http_json(w.http, "POST", "{'all':true}", DROP);
    expect_removed(cell(1, 5, 1, 1), 1, 1);
    http_get(w.http, "/v1/tables/devices2/rows/k");
    EXPECT_STATUS(w.http, 200);
}
END_TEST

static const char *const BAD_DROPS[] = {
    "{}",
    "{'all':false}",
    "{'all':1}",
    "{'prefix':''}",
    "{'prefix_b64':''}",
    "{'prefix':'a','all':true}",
    "{'prefix':'a','prefix_b64':'YQ=='}",
    "{'prefix':1}",
    "{'prefix_b64':'!'}",
    "{'prefix':'a','more':1}",
    "[]",
    "{'prefix':'a'",
};

START_TEST(a_drop_that_is_not_clear_drops_nothing)
{
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    tenant_put(w.http, "devices", "a", "stats", "q", "1");
    http_json(w.http, "POST", BAD_DROPS[_i / HTTP_VERSIONS], DROP);
    EXPECT_PROBLEM(w.http, 400, "invalid");
    EXPECT_USAGE(tenant_usage(w.http), cell(1, 5, 1, 1), 1, 1);
}
END_TEST

START_TEST(drop_needs_table_admin)
{
    char key[WORLD_KEY];
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "a", "stats", "q", "1");
    admin_create_key(w.op, w.tenant, "['data.read','data.write']", key, NULL);
    http_use_key(w.http, key);
    http_json(w.http, "POST", "{'all':true}", DROP);
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    EXPECT_USAGE(tenant_usage(w.http), cell(1, 5, 1, 1), 1, 1);
}
END_TEST

Suite *suite_api_usage(void);
Suite *suite_api_usage(void)
{
    Suite *s = suite_create("api_usage");
    TCase *tc = tcase_create("usage");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, a_new_tenant_stores_nothing, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, each_change_moves_the_counters_exactly, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, bytes_count_as_bytes_not_as_text, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, tables_add_up_to_the_tenant, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_refused_write_counts_nothing, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, drop_by_prefix_counts_what_went, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, drop_touches_its_own_table_only, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_drop_that_is_not_clear_drops_nothing, 0, HTTP_EACH(BAD_DROPS));
    tcase_add_loop_test(tc, drop_needs_table_admin, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

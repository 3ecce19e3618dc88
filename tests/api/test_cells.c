/*
 * tests/api/test_cells.c - one cell as raw bytes.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

#define CELL "/v1/tables/devices/cells/"

START_TEST(bytes_come_back_as_they_went_in)
{
    world_init(&w, (enum http_version)_i);
    uint8_t bytes[256];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)i;
    http_bytes(w.http, "PUT", base_slice(bytes, sizeof(bytes)), CELL "k/raw/blob");
    EXPECT_STATUS(w.http, 204);
    ck_assert_uint_eq(w.http->body.len, 0);
    http_get(w.http, CELL "k/raw/blob");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_header(w.http, "content-type"), "application/octet-stream");
    ck_assert_uint_eq(w.http->body.len, sizeof(bytes));
    ck_assert_int_eq(memcmp(w.http->body.ptr, bytes, sizeof(bytes)), 0);
    ck_assert_ptr_nonnull(http_header(w.http, "bigtent-timestamp"));
    EXPECT_USAGE(tenant_usage(w.http), 1 + 3 + 4 + 256 + 8, 1, 1);
}
END_TEST

START_TEST(put_with_timestamp_makes_a_version_get_gives_the_newest)
{
    world_init(&w, (enum http_version)_i);
    http_bytes(w.http, "PUT", SLICE_LIT("new"), CELL "k/raw/q?timestamp=9000");
    EXPECT_STATUS(w.http, 204);
    http_bytes(w.http, "PUT", SLICE_LIT("old"), CELL "k/raw/q?timestamp=1000");
    EXPECT_STATUS(w.http, 204);
    http_get(w.http, CELL "k/raw/q");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_text(w.http), "new");
    ck_assert_str_eq(http_header(w.http, "bigtent-timestamp"), "9000");
    http_get(w.http, "/v1/tables/devices/rows/k");
    ck_assert_uint_eq(http_count(w.http, "/cells/raw/q"), 2);
    http_delete(w.http, CELL "k/raw/q");
    EXPECT_STATUS(w.http, 204);
    http_get(w.http, CELL "k/raw/q");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
    http_delete(w.http, CELL "k/raw/q");
    EXPECT_STATUS(w.http, 204);
}
END_TEST

START_TEST(an_empty_value_is_a_cell)
{
    world_init(&w, (enum http_version)_i);
    http_bytes(w.http, "PUT", SLICE_EMPTY, CELL "k/raw/q");
    EXPECT_STATUS(w.http, 204);
    http_get(w.http, CELL "k/raw/q");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(w.http->body.len, 0);
    EXPECT_USAGE(tenant_usage(w.http), 1 + 3 + 1 + 0 + 8, 1, 1);
}
END_TEST

START_TEST(keys_and_qualifiers_are_bytes)
{
    world_init(&w, (enum http_version)_i);
    http_bytes(w.http, "PUT", SLICE_LIT("1"), CELL "%%00%%FF/raw/%%2F%%00%%FF");
    EXPECT_STATUS(w.http, 204);
    http_get(w.http, CELL "%%00%%ff/raw/%%2f%%00%%ff");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_text(w.http), "1");
    http_get(w.http, CELL "%%00%%ff/raw/%%2f%%00");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    /* An empty qualifier is the empty last segment. */
    http_bytes(w.http, "PUT", SLICE_LIT("2"), CELL "k/raw/");
    EXPECT_STATUS(w.http, 204);
    http_get(w.http, CELL "k/raw/");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_text(w.http), "2");
    EXPECT_USAGE(tenant_usage(w.http), (2 + 3 + 3 + 1 + 8) + (1 + 3 + 0 + 1 + 8), 2, 2);
}
END_TEST

START_TEST(values_up_to_the_cell_limit)
{
    world_init(&w, (enum http_version)_i);
    size_t limit = LIM_CELL_BYTES;
    uint8_t *bytes = base_new(limit + 1);
    for (size_t i = 0; i < limit; i += 4096)
        bytes[i] = (uint8_t)(i >> 12);
    http_bytes(w.http, "PUT", base_slice(bytes, limit + 1), CELL "k/raw/q");
    EXPECT_PROBLEM(w.http, 413, "too_big");
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
    http_bytes(w.http, "PUT", base_slice(bytes, limit), CELL "k/raw/q");
    EXPECT_STATUS(w.http, 204);
    http_get(w.http, CELL "k/raw/q");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(w.http->body.len, limit);
    ck_assert_int_eq(memcmp(w.http->body.ptr, bytes, limit), 0);
    EXPECT_USAGE(tenant_usage(w.http), 1 + 3 + 1 + (int64_t)limit + 8, 1, 1);
    base_free(bytes);
}
END_TEST

START_TEST(the_cell_limit_can_be_set_per_tenant)
{
    world_init(&w, (enum http_version)_i);
    admin_set_quota(w.op, w.tenant, "{'cell_bytes':100}");
    char value[102];
    memset(value, 'v', sizeof(value));
    http_bytes(w.http, "PUT", base_slice(value, 100), CELL "k/raw/q");
    EXPECT_STATUS(w.http, 204);
    http_bytes(w.http, "PUT", base_slice(value, 101), CELL "k/raw/q2");
    EXPECT_PROBLEM(w.http, 413, "too_big");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "100"));
    value[101] = '\0';
    http_value_take(w.http, "PATCH", json_pack("{s:{s:s}}", "raw", "q2", value),
                    "/v1/tables/devices/rows/k");
    EXPECT_PROBLEM(w.http, 413, "too_big");
    EXPECT_USAGE(tenant_usage(w.http), 1 + 3 + 1 + 100 + 8, 1, 1);
}
END_TEST

static const struct {
    const char *method;
    const char *path;
    int status;
    const char *code;
} ODD[] = {
    {"GET", "k/nofamily/q", 404, "not_found"},
    {"PUT", "k/nofamily/q", 404, "not_found"},
    {"DELETE", "k/nofamily/q", 404, "not_found"},
    {"PUT", "/raw/q", 400, "invalid"},
    {"GET", "/raw/q", 400, "invalid"},
    {"PUT", "k/raw/%zz", 400, "invalid"},
    {"PUT", "%/raw/q", 400, "invalid"},
    {"PUT", "k/raw/q?timestamp=1001", 400, "invalid"},
    {"PUT", "k/raw/q?timestamp=-1", 400, "invalid"},
    {"PUT", "k/raw/q?timestamp=", 400, "invalid"},
    {"PUT", "k/raw/q?timestamp=x", 400, "invalid"},
    {"PUT", "k/raw/q?time=1000", 400, "invalid"},
    {"GET", "k/raw", 404, "not_found"},
    {"GET", "k/raw/q/more", 404, "not_found"},
    {"POST", "k/raw/q", 405, "method_not_allowed"},
    {"PATCH", "k/raw/q", 405, "method_not_allowed"},
};

START_TEST(odd_requests_change_nothing)
{
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    size_t n = (size_t)_i / HTTP_VERSIONS;
    char target[128];
    (void)snprintf(target, sizeof(target), CELL "%s", ODD[n].path);
    bool has_body = ODD[n].method[0] == 'P';
    http_send(w.http, ODD[n].method, target, has_body ? SLICE_LIT("value") : SLICE_EMPTY);
    EXPECT_PROBLEM(w.http, ODD[n].status, ODD[n].code);
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

Suite *suite_api_cells(void);
Suite *suite_api_cells(void)
{
    Suite *s = suite_create("api_cells");
    TCase *tc = tcase_create("cells");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, bytes_come_back_as_they_went_in, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, put_with_timestamp_makes_a_version_get_gives_the_newest, 0,
                        HTTP_VERSIONS);
    tcase_add_loop_test(tc, an_empty_value_is_a_cell, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, keys_and_qualifiers_are_bytes, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, values_up_to_the_cell_limit, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, the_cell_limit_can_be_set_per_tenant, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, odd_requests_change_nothing, 0, HTTP_EACH(ODD));
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/api/test_versions.c - timestamps and which versions of a cell are seen.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

#define ROW "/v1/tables/devices/rows/"

static int64_t timestamp_at(struct http *h, const char *path)
{
    int64_t value = -1;
    ck_assert_int_eq(base_parse_i64(base_slice_text(http_string(h, path)), &value), ERR_OK);
    return value;
}

START_TEST(the_server_gives_milliseconds_of_now)
{
    world_init(&w, (enum http_version)_i);
    int64_t before = base_wall_us() / 1000 * 1000;
    http_json(w.http, "PUT", "{'stats':{'q':'v'}}", ROW "k");
    EXPECT_STATUS(w.http, 201);
    int64_t given = timestamp_at(w.http, "/timestamp");
    ck_assert_int_ge(given, before);
    ck_assert_int_le(given, base_wall_us() + 1000000);
    ck_assert_int_eq(given % 1000, 0);
    http_get(w.http, ROW "k");
    ck_assert_int_eq(timestamp_at(w.http, "/cells/stats/q/0/timestamp"), given);
}
END_TEST

START_TEST(server_timestamps_never_go_back)
{
    world_init(&w, (enum http_version)_i);
    int64_t last = 0;
    for (int i = 0; i < 30; i++) {
        http_json(w.http, "PATCH", "{'stats':{'q':'v'}}", ROW "k%d", i % 3);
        int64_t given = timestamp_at(w.http, "/timestamp");
        ck_assert_int_ge(given, last);
        last = given;
    }
}
END_TEST

START_TEST(newest_first_whatever_the_order_of_writing)
{
    world_init(&w, (enum http_version)_i);
    static const char *const order[] = {"3000", "1000", "9000", "2000"};
    for (size_t i = 0; i < 4; i++) {
        char body[128];
        (void)snprintf(body, sizeof(body), "{'stats':{'q':{'value':'at %s','timestamp':'%s'}}}",
                       order[i], order[i]);
        http_json(w.http, "PATCH", body, ROW "k");
    }
    http_get(w.http, ROW "k");
    EXPECT_JSON(w.http, "{'key':'k','cells':{'stats':{'q':["
                        "{'value':'at 9000','timestamp':'9000'},"
                        "{'value':'at 3000','timestamp':'3000'},"
                        "{'value':'at 2000','timestamp':'2000'},"
                        "{'value':'at 1000','timestamp':'1000'}]}}}");
}
END_TEST

START_TEST(same_timestamp_overwrites_and_counts_once)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PATCH", "{'stats':{'q':{'value':'longer value','timestamp':'1000'}}}",
              ROW "k");
    http_json(w.http, "PATCH", "{'stats':{'q':{'value':'short','timestamp':'1000'}}}", ROW "k");
    http_get(w.http, ROW "k");
    EXPECT_JSON(w.http,
                "{'key':'k','cells':{'stats':{'q':[{'value':'short','timestamp':'1000'}]}}}");
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 1 + 5 + 8, 1, 1);
    EXPECT_USAGE(admin_recount(w.op, w.tenant), 1 + 5 + 1 + 5 + 8, 1, 1);
}
END_TEST

static const struct {
    const char *json;
    bool good;
} TIMESTAMPS[] = {
    {"'0'", true},
    {"'1000'", true},
    {"'9223372036854775000'", true},
    {"'9223372036854776000'", false},
    {"'1'", false},
    {"'1001'", false},
    {"'-1000'", false},
    {"'-1'", false},
    {"'01000'", false},
    {"' 1000'", false},
    {"'1e6'", false},
    {"''", false},
    {"1000", false},
    {"true", false},
    {"'99999999999999999999000'", false},
};

START_TEST(timestamps_are_decimal_strings_of_whole_milliseconds)
{
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    size_t n = (size_t)_i / HTTP_VERSIONS;
    char body[160];
    (void)snprintf(body, sizeof(body), "{'stats':{'q':{'value':'v','timestamp':%s}}}",
                   TIMESTAMPS[n].json);
    http_json(w.http, "PUT", body, ROW "k");
    if (TIMESTAMPS[n].good) {
        EXPECT_STATUS(w.http, 201);
    } else {
        EXPECT_PROBLEM(w.http, 400, "invalid");
        EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
    }
}
END_TEST

START_TEST(max_versions_shows_the_newest_n)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT",
              "{'families':{'one':{'gc':{'max_versions':1}},"
              "'three':{'gc':{'max_versions':3}},'all':{}}}",
              "/v1/tables/v");
    EXPECT_STATUS(w.http, 201);
    for (int i = 1; i <= 5; i++) {
        char body[256];
        (void)snprintf(body, sizeof(body),
                       "{'one':{'q':{'value':'%d','timestamp':'%d000'}},"
                       "'three':{'q':{'value':'%d','timestamp':'%d000'}},"
                       "'all':{'q':{'value':'%d','timestamp':'%d000'}}}",
                       i, i, i, i, i, i);
        http_json(w.http, "PATCH", body, "/v1/tables/v/rows/k");
    }
    http_get(w.http, "/v1/tables/v/rows/k");
    ck_assert_uint_eq(http_count(w.http, "/cells/one/q"), 1);
    ck_assert_str_eq(http_string(w.http, "/cells/one/q/0/value"), "5");
    ck_assert_uint_eq(http_count(w.http, "/cells/three/q"), 3);
    ck_assert_str_eq(http_string(w.http, "/cells/three/q/2/value"), "3");
    ck_assert_uint_eq(http_count(w.http, "/cells/all/q"), 5);
    http_get(w.http, "/v1/tables/v/rows");
    ck_assert_uint_eq(http_count(w.http, "/rows/0/cells/three/q"), 3);
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(changing_gc_changes_what_is_seen_at_once)
{
    world_init(&w, (enum http_version)_i);
    for (int i = 1; i <= 4; i++) {
        char body[128];
        (void)snprintf(body, sizeof(body), "{'stats':{'q':{'value':'%d','timestamp':'%d000'}}}", i,
                       i);
        http_json(w.http, "PATCH", body, ROW "k");
    }
    http_json(w.http, "PUT", "{'families':{'stats':{'gc':{'max_versions':2}},'raw':{}}}",
              "/v1/tables/devices");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, ROW "k");
    ck_assert_uint_eq(http_count(w.http, "/cells/stats/q"), 2);
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/1/value"), "3");
    http_get(w.http, "/v1/tables/devices/cells/k/stats/q");
    ck_assert_str_eq(http_text(w.http), "4");
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(max_age_hides_what_is_older)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'families':{'f':{'gc':{'max_age':'3600s'}}}}", "/v1/tables/aged");
    EXPECT_STATUS(w.http, 201);
    long long now_ms = base_wall_us() / 1000;
    char body[256];
    (void)snprintf(body, sizeof(body),
                   "{'f':{'q':[{'value':'old','timestamp':'%lld000'},"
                   "{'value':'young','timestamp':'%lld000'}]}}",
                   now_ms - 3700LL * 1000, now_ms - 3500LL * 1000);
    http_json(w.http, "PUT", body, "/v1/tables/aged/rows/k");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, "/v1/tables/aged/rows/k");
    ck_assert_uint_eq(http_count(w.http, "/cells/f/q"), 1);
    ck_assert_str_eq(http_string(w.http, "/cells/f/q/0/value"), "young");
    /* A row of which nothing is seen is no row. */
    (void)snprintf(body, sizeof(body), "{'f':{'q':{'value':'old','timestamp':'%lld000'}}}",
                   now_ms - 3700LL * 1000);
    http_json(w.http, "PUT", body, "/v1/tables/aged/rows/gone");
    http_get(w.http, "/v1/tables/aged/rows/gone");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    http_get(w.http, "/v1/tables/aged/rows");
    ck_assert_uint_eq(http_count(w.http, "/rows"), 1);
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(with_both_rules_a_cell_is_hidden_when_either_says_so)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'families':{'f':{'gc':{'max_versions':2,'max_age':'3600s'}}}}",
              "/v1/tables/both");
    EXPECT_STATUS(w.http, 201);
    ck_assert_int_eq(http_number(w.http, "/families/f/gc/max_versions"), 2);
    ck_assert_str_eq(http_string(w.http, "/families/f/gc/max_age"), "3600s");
    long long now_ms = base_wall_us() / 1000;
    char body[512];
    (void)snprintf(body, sizeof(body),
                   "{'f':{'many':[{'value':'1','timestamp':'%lld000'},"
                   "{'value':'2','timestamp':'%lld000'},{'value':'3','timestamp':'%lld000'}],"
                   "'aged':[{'value':'young','timestamp':'%lld000'},"
                   "{'value':'old','timestamp':'%lld000'}]}}",
                   now_ms - 3000, now_ms - 2000, now_ms - 1000, now_ms - 1000,
                   now_ms - 4000LL * 1000);
    http_json(w.http, "PUT", body, "/v1/tables/both/rows/k");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, "/v1/tables/both/rows/k");
    ck_assert_uint_eq(http_count(w.http, "/cells/f/many"), 2);
    ck_assert_str_eq(http_string(w.http, "/cells/f/many/1/value"), "2");
    ck_assert_uint_eq(http_count(w.http, "/cells/f/aged"), 1);
    ck_assert_str_eq(http_string(w.http, "/cells/f/aged/0/value"), "young");
}
END_TEST

Suite *suite_api_versions(void);
Suite *suite_api_versions(void)
{
    Suite *s = suite_create("api_versions");
    TCase *tc = tcase_create("versions");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, the_server_gives_milliseconds_of_now, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, server_timestamps_never_go_back, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, newest_first_whatever_the_order_of_writing, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, same_timestamp_overwrites_and_counts_once, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, timestamps_are_decimal_strings_of_whole_milliseconds, 0,
                        HTTP_EACH(TIMESTAMPS));
    tcase_add_loop_test(tc, max_versions_shows_the_newest_n, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, changing_gc_changes_what_is_seen_at_once, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, max_age_hides_what_is_older, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, with_both_rules_a_cell_is_hidden_when_either_says_so, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

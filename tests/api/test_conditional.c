/*
 * tests/api/test_conditional.c - If-Match and If-None-Match: write a row only if it is there, or
 * only if it is not.
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

/* Every way to write a row. */
static const struct way {
    const char *method;
    const char *target;
    const char *body;
    int status_new;
    int status_old;
} WAYS[] = {
    {"PUT", ROW "k", "{'stats':{'q':'after'}}", 201, 200},
    {"PATCH", ROW "k", "{'stats':{'q':'after'}}", 201, 200},
    {"POST", ROW "k:mutate",
     "{'mutations':[{'set_cell':{'family':'stats','qualifier':'q','value':'after'}}]}", 201, 200},
    {"POST", ROW "k:check",
     "{'then':[{'set_cell':{'family':'stats','qualifier':'q','value':'after'}}],"
     "'else':[{'set_cell':{'family':'stats','qualifier':'q','value':'after'}}]}",
     200, 200},
    {"POST", ROW "k:modify", "{'rules':[{'family':'stats','qualifier':'q','append':'after'}]}", 200,
     200},
    {"PUT", "/v1/tables/devices/cells/k/stats/q", "after", 204, 204},
};
#define WAY_COUNT (int)(sizeof WAYS / sizeof WAYS[0])

static const struct way *begin(int i)
{
    world_init(&w, (enum http_version)(i % HTTP_VERSIONS));
    return &WAYS[i / HTTP_VERSIONS];
}

static void send_way(const struct way *way)
{
    http_send(w.http, way->method, way->target, quoted(way->body));
}

START_TEST(if_none_match_makes_a_row_once)
{
    const struct way *way = begin(_i);
    http_once(w.http, "If-None-Match: *");
    send_way(way);
    EXPECT_STATUS(w.http, way->status_new);
    http_once(w.http, "If-None-Match: *");
    send_way(way);
    EXPECT_PROBLEM(w.http, 412, "precondition");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "exists"));
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 1 + 5 + 8, 1, 1);
}
END_TEST

START_TEST(if_match_changes_only_what_is_there)
{
    const struct way *way = begin(_i);
    http_once(w.http, "If-Match: *");
    send_way(way);
    EXPECT_PROBLEM(w.http, 412, "precondition");
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
    tenant_put(w.http, "devices", "k", "raw", "x", "1");
    http_once(w.http, "If-Match: *");
    send_way(way);
    EXPECT_STATUS(w.http, way->status_old);
    http_get(w.http, "/v1/tables/devices/cells/k/stats/q");
    ck_assert_str_eq(http_text(w.http), "after");
}
END_TEST

START_TEST(delete_takes_them_too)
{
    world_init(&w, (enum http_version)_i);
    http_once(w.http, "If-Match: *");
    http_delete(w.http, ROW "k");
    EXPECT_PROBLEM(w.http, 412, "precondition");
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
    http_once(w.http, "If-None-Match: *");
    http_delete(w.http, ROW "k");
    EXPECT_PROBLEM(w.http, 412, "precondition");
    http_once(w.http, "If-Match: *");
    http_delete(w.http, ROW "k");
    EXPECT_STATUS(w.http, 204);
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

static const char *const BAD[][2] = {
    {"If-Match: \"3\"", "*"},        {"If-Match: W/\"3\"", "*"},
    {"If-Match: \"abc\"", "*"},      {"If-Match: x", ""},
    {"If-Match: *, \"3\"", ""},      {"If-None-Match: \"3\"", "*"},
    {"If-None-Match: W/\"3\"", "*"}, {"If-None-Match: **", "*"},
};

START_TEST(anything_else_is_400)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "before");
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        http_once(w.http, "%s", BAD[i][0]);
        http_json(w.http, "PUT", "{'stats':{'q':'after'}}", ROW "k");
        EXPECT_PROBLEM(w.http, 400, "invalid");
        ck_assert_msg(strstr(http_string(w.http, "/detail"), BAD[i][1]) != NULL, "%s: %s",
                      BAD[i][0], http_text(w.http));
    }
    http_once(w.http, "If-Match: *");
    http_once(w.http, "If-None-Match: *");
    http_json(w.http, "PUT", "{'stats':{'q':'after'}}", ROW "k");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 1 + 6 + 8, 1, 1);
}
END_TEST

START_TEST(a_missing_table_is_still_404)
{
    world_init(&w, (enum http_version)_i);
    http_once(w.http, "If-Match: *");
    http_json(w.http, "PUT", "{'stats':{'q':'v'}}", "/v1/tables/nothere/rows/k");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    http_once(w.http, "If-Match: *");
    http_json(w.http, "PUT", "{'nothere':{'q':'v'}}", ROW "k");
    EXPECT_PROBLEM(w.http, 404, "not_found");
}
END_TEST

START_TEST(of_many_who_make_a_row_one_does)
{
    enum { RIVALS = 64 };
    world_init(&w, HTTP_2);
    http_always(w.http, "If-None-Match: *");
    static char bodies[RIVALS][64];
    struct http_call calls[RIVALS];
    for (int i = 0; i < RIVALS; i++) {
        int n = snprintf(bodies[i], sizeof bodies[i], "{\"stats\":{\"owner\":\"%d\"}}", i);
        calls[i] = (struct http_call){"PUT", ROW "k", base_slice(bodies[i], (size_t)n), 0};
    }
    http_send_all(w.http, calls, RIVALS);
    int made = 0;
    for (int i = 0; i < RIVALS; i++) {
        made += calls[i].status == 201;
        ck_assert(calls[i].status == 201 || calls[i].status == 412);
    }
    ck_assert_int_eq(made, 1);
    http_get(w.http, ROW "k");
    ck_assert_uint_eq(http_count(w.http, "/cells/stats/owner"), 1);
}
END_TEST

Suite *suite_api_conditional(void);
Suite *suite_api_conditional(void)
{
    Suite *s = suite_create("api_conditional");
    TCase *tc = tcase_create("conditional");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, if_none_match_makes_a_row_once, 0, WAY_COUNT * HTTP_VERSIONS);
    tcase_add_loop_test(tc, if_match_changes_only_what_is_there, 0, WAY_COUNT * HTTP_VERSIONS);
    tcase_add_loop_test(tc, delete_takes_them_too, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, anything_else_is_400, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_missing_table_is_still_404, 0, HTTP_VERSIONS);
    tcase_add_test(tc, of_many_who_make_a_row_one_does);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

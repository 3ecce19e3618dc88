/*
 * tests/gateway/test_router.c - which route a path means, and what its parameters are.
 */
#include <check.h>
#include <stdio.h>

#include "auth/scopes.h"
#include "base/limits.h"
#include "gateway/api/router.h"

#include "base/banned.h"

static struct gw_router *router;
static struct arena arena;
static struct gw_match match;

static void set_up(void)
{
    router = gw_router_new(gw_routes, gw_route_count);
    base_arena_init(&arena, 1 << 20);
}

static void tear_down(void)
{
    base_arena_fini(&arena);
    gw_router_free(router);
}

static enum gw_matched find(const char *method, const char *path)
{
    return gw_router_match(router, base_slice_text(method), base_slice_text(path), &match);
}

static const struct {
    const char *method;
    const char *path;
    const char *pattern;
} FOUND[] = {
    {"GET", "/v1/tables", "/v1/tables"},
    {"GET", "/v1/tables/devices", "/v1/tables/{table}"},
    {"PUT", "/v1/tables/devices", "/v1/tables/{table}"},
    {"POST", "/v1/tables/devices:write", "/v1/tables/{table}:write"},
    {"POST", "/v1/tables/devices:drop", "/v1/tables/{table}:drop"},
    {"GET", "/v1/tables/devices/rows", "/v1/tables/{table}/rows"},
    {"GET", "/v1/tables/devices/rows/k", "/v1/tables/{table}/rows/{key}"},
    {"GET", "/v1/tables/rows/rows/rows", "/v1/tables/{table}/rows/{key}"},
    {"GET", "/v1/tables/devices/rows/a:b", "/v1/tables/{table}/rows/{key}"},
    {"GET", "/v1/tables/devices/rows/a:write", "/v1/tables/{table}/rows/{key}"},
    {"GET", "/v1/tables/devices/rows/%2e%2e", "/v1/tables/{table}/rows/{key}"},
    {"GET", "/v1/tables/t/cells/k/f/q", "/v1/tables/{table}/cells/{key}/{family}/{qualifier}"},
    {"GET", "/v1/tables/t/cells/k/f/", "/v1/tables/{table}/cells/{key}/{family}/{qualifier}"},
    {"GET", "/v1/tables/t/cells/k/f/q:drop", "/v1/tables/{table}/cells/{key}/{family}/{qualifier}"},
    {"POST", "/v1/admin/tenants/altostrat:suspend", "/v1/admin/tenants/{id}:suspend"},
    {"DELETE", "/v1/admin/tenants/altostrat/keys/abc", "/v1/admin/tenants/{id}/keys/{keyid}"},
    {"GET", "/readyz", "/readyz"},
};

START_TEST(paths_find_their_route)
{
    ck_assert_int_eq(find(FOUND[_i].method, FOUND[_i].path), GW_MATCHED);
    ck_assert_str_eq(match.route->pattern, FOUND[_i].pattern);
    ck_assert_str_eq(match.route->method, FOUND[_i].method);
}
END_TEST

START_TEST(head_finds_the_route_of_get)
{
    ck_assert_int_eq(find("HEAD", "/v1/tables/devices/rows/k"), GW_MATCHED);
    ck_assert_str_eq(match.route->method, "GET");
    ck_assert_str_eq(match.route->pattern, "/v1/tables/{table}/rows/{key}");
}
END_TEST

static const struct {
    const char *method;
    const char *path;
    enum gw_matched matched;
} NOT_FOUND[] = {
    {"GET", "", GW_MATCHED_NO_PATH},
    {"GET", "/", GW_MATCHED_NO_PATH},
    {"GET", "//", GW_MATCHED_NO_PATH},
    {"GET", "v1/tables", GW_MATCHED_NO_PATH},
    {"GET", "/v1//tables", GW_MATCHED_NO_PATH},
    {"GET", "/v1/tables/t/rows/k/x", GW_MATCHED_LONG_PATH},
    {"PUT", "/v1/tables/t/rows/k/x/y/z/a/b/c", GW_MATCHED_LONG_PATH},
    {"PUT", "/v1/tables/t/rows/k/", GW_MATCHED_LONG_PATH},
    {"GET", "/v1/tables/t/cells/k/x/f/q", GW_MATCHED_LONG_PATH},
    {"GET", "/v1/tables/t/cells/k/x/y/f/q", GW_MATCHED_LONG_PATH},
    {"GET", "/v1/admin/tenants/altostrat/x", GW_MATCHED_NO_PATH},
    {"GET", "/v1/t%61bles", GW_MATCHED_NO_PATH},
    {"GET", "/V1/tables", GW_MATCHED_NO_PATH},
    {"GET", "/a/b/c/d/e/f/g/h/i/j", GW_MATCHED_NO_PATH},
    {"POST", "/v1/tables/devices:burn", GW_MATCHED_NO_PATH},
    {"GET", "/v1/tables/a:b/rows/k", GW_MATCHED_NO_PATH},
    {"POST", "/v1/admin/tenants/altostrat:", GW_MATCHED_NO_PATH},
    {"GET", "/v1/tables/", GW_MATCHED_BAD_PATH},
    {"POST", "/v1/tables/:write", GW_MATCHED_BAD_PATH},
    {"GET", "/v1/tables/devices/rows/", GW_MATCHED_BAD_PATH},
    {"GET", "/v1/tables/devices/rows/..", GW_MATCHED_BAD_PATH},
    {"GET", "/v1/tables/devices/rows/.", GW_MATCHED_BAD_PATH},
    {"GET", "/v1/tables//rows/k", GW_MATCHED_BAD_PATH},
    {"GET", "/v1/tables/t/cells//f/q", GW_MATCHED_BAD_PATH},
    {"POST", "/v1/tables", GW_MATCHED_NO_METHOD},
    {"get", "/v1/tables", GW_MATCHED_NO_METHOD},
    {"", "/v1/tables", GW_MATCHED_NO_METHOD},
    {"GET", "/v1/tables/devices:write", GW_MATCHED_NO_METHOD},
    {"HEAD", "/v1/tables/devices:write", GW_MATCHED_NO_METHOD},
};

START_TEST(other_paths_do_not)
{
    ck_assert_int_eq(find(NOT_FOUND[_i].method, NOT_FOUND[_i].path), NOT_FOUND[_i].matched);
    ck_assert_ptr_null(match.route);
}
END_TEST

START_TEST(allow_lists_every_method_of_the_path)
{
    ck_assert_int_eq(find("POST", "/v1/tables/t/rows/k"), GW_MATCHED_NO_METHOD);
    ck_assert_str_eq(match.allow, "GET, HEAD, PUT, PATCH, DELETE");
    ck_assert_int_eq(find("BREW", "/v1/tables/t/rows/k:check"), GW_MATCHED_NO_METHOD);
    ck_assert_str_eq(match.allow, "GET, HEAD, PUT, PATCH, DELETE, POST");
    ck_assert_int_eq(find("PUT", "/v1/tables/t:drop"), GW_MATCHED_NO_METHOD);
    ck_assert_str_eq(match.allow, "POST");
}
END_TEST

static void expect_param(size_t i, struct slice want)
{
    ck_assert_msg(base_slice_equal(match.params[i], want), "parameter %zu is %.*s", i,
                  SLICE_ARGS(match.params[i]));
}

START_TEST(parameters_are_any_bytes)
{
    struct errbuf eb = {{0}};
    ck_assert_int_eq(find("GET", "/v1/tables/devices/cells/a%2Fb%00%ff/stats/%3a:+"), GW_MATCHED);
    ck_assert_uint_eq(match.param_count, 4);
    ck_assert_int_eq(gw_match_decode(&match, &arena, &eb), ERR_OK);
    expect_param(0, SLICE_LIT("devices"));
    expect_param(1, base_slice("a/b\0\xff", 5));
    expect_param(2, SLICE_LIT("stats"));
    expect_param(3, SLICE_LIT("::+"));
}
END_TEST

/* Only POST has verbs on rows: with any other method, or encoded, ':' is a byte of the key. */
START_TEST(a_verb_is_the_last_of_a_key_and_of_post_alone)
{
    static const struct {
        const char *method;
        const char *path;
        const char *pattern;
        const char *key;
    } cases[] = {
        {"GET", "/v1/tables/t/rows/a:check", "/v1/tables/{table}/rows/{key}", "a:check"},
        {"PUT", "/v1/tables/t/rows/a:modify", "/v1/tables/{table}/rows/{key}", "a:modify"},
        {"DELETE", "/v1/tables/t/rows/:check", "/v1/tables/{table}/rows/{key}", ":check"},
        {"POST", "/v1/tables/t/rows/a:check", "/v1/tables/{table}/rows/{key}:check", "a"},
        {"POST", "/v1/tables/t/rows/a:b:check", "/v1/tables/{table}/rows/{key}:check", "a:b"},
        {"POST", "/v1/tables/t/rows/a:check:mutate", "/v1/tables/{table}/rows/{key}:mutate",
         "a:check"},
        {"POST", "/v1/tables/t/rows/a%3Acheck:modify", "/v1/tables/{table}/rows/{key}:modify",
         "a:check"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct errbuf eb = {{0}};
        ck_assert_int_eq(find(cases[i].method, cases[i].path), GW_MATCHED);
        ck_assert_str_eq(match.route->pattern, cases[i].pattern);
        ck_assert_int_eq(gw_match_decode(&match, &arena, &eb), ERR_OK);
        expect_param(1, base_slice_text(cases[i].key));
    }
    ck_assert_int_eq(find("POST", "/v1/tables/t/rows/a%3Acheck"), GW_MATCHED_NO_METHOD);
    ck_assert_int_eq(find("POST", "/v1/tables/t/rows/:check"), GW_MATCHED_NO_METHOD);
    ck_assert_int_eq(find("POST", "/v1/tables/t/rows/a:checked"), GW_MATCHED_NO_METHOD);
}
END_TEST

START_TEST(a_verb_is_not_part_of_the_name)
{
    struct errbuf eb = {{0}};
    ck_assert_int_eq(find("POST", "/v1/tables/devices:drop"), GW_MATCHED);
    ck_assert_int_eq(gw_match_decode(&match, &arena, &eb), ERR_OK);
    expect_param(0, SLICE_LIT("devices"));
}
END_TEST

static const char *const BAD_CODES[] = {"%", "%4", "%zz", "a%", "%%", "a\x80", "a\x7f", "a b"};

START_TEST(bad_percent_codes_are_refused)
{
    struct errbuf eb = {{0}};
    char path[64];
    (void)snprintf(path, sizeof path, "/v1/tables/devices/rows/%s", BAD_CODES[_i]);
    ck_assert_int_eq(find("GET", path), GW_MATCHED);
    ck_assert_int_eq(gw_match_decode(&match, &arena, &eb), ERR_INVALID);
    ck_assert_str_ne(eb.text, "");
}
END_TEST

START_TEST(a_full_arena_is_out_of_memory)
{
    struct errbuf eb = {{0}};
    struct arena small;
    base_arena_init(&small, 2);
    ck_assert_int_eq(find("GET", "/v1/tables/devices/rows/key"), GW_MATCHED);
    ck_assert_int_eq(gw_match_decode(&match, &small, &eb), ERR_NO_MEMORY);
    base_arena_fini(&small);
}
END_TEST

/* The table itself. */
START_TEST(every_route_is_complete)
{
    for (size_t i = 0; i < gw_route_count; i++) {
        const struct gw_route *r = &gw_routes[i];
        ck_assert_msg(r->handler != NULL && r->doc != NULL && r->doc[0] != '\0', "%s %s", r->method,
                      r->pattern);
        ck_assert_msg(r->scope != 0 || r->access == GW_ACCESS_NONE,
                      "%s %s touches a tenant without a scope", r->method, r->pattern);
        ck_assert_msg(!r->in_table || r->access != GW_ACCESS_NONE,
                      "%s %s is in a table of no tenant", r->method, r->pattern);
        bool is_single = (r->scope & (r->scope - 1)) == 0;
        ck_assert_msg(is_single || r->scope == (AUTH_DATA_READ | AUTH_DATA_WRITE),
                      "%s %s needs an odd pair of scopes", r->method, r->pattern);
        for (size_t n = i + 1; n < gw_route_count; n++)
            ck_assert_msg(strcmp(r->method, gw_routes[n].method) != 0 ||
                              strcmp(r->pattern, gw_routes[n].pattern) != 0,
                          "%s %s stands twice", r->method, r->pattern);
    }
}
END_TEST

Suite *suite_gateway_router(void);
Suite *suite_gateway_router(void)
{
    Suite *s = suite_create("gateway_router");
    TCase *tc = tcase_create("router");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, paths_find_their_route, 0, (int)(sizeof FOUND / sizeof FOUND[0]));
    tcase_add_test(tc, head_finds_the_route_of_get);
    tcase_add_loop_test(tc, other_paths_do_not, 0, (int)(sizeof NOT_FOUND / sizeof NOT_FOUND[0]));
    tcase_add_test(tc, allow_lists_every_method_of_the_path);
    tcase_add_test(tc, parameters_are_any_bytes);
    tcase_add_test(tc, a_verb_is_not_part_of_the_name);
    tcase_add_test(tc, a_verb_is_the_last_of_a_key_and_of_post_alone);
    tcase_add_loop_test(tc, bad_percent_codes_are_refused, 0,
                        (int)(sizeof BAD_CODES / sizeof BAD_CODES[0]));
    tcase_add_test(tc, a_full_arena_is_out_of_memory);
    tcase_add_test(tc, every_route_is_complete);
    suite_add_tcase(s, tc);
    return s;
}

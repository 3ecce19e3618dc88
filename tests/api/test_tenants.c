/*
 * tests/api/test_tenants.c - tenants: create, look, suspend, resume; health.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

#define ROW "/v1/tables/devices/rows/"

static void expect_rfc3339(const char *text)
{
    /* 2026-11-20T10:00:00.000Z */
    ck_assert_msg(strlen(text) >= 20 && text[4] == '-' && text[7] == '-' && text[10] == 'T' &&
                      text[13] == ':' && text[16] == ':' && text[strlen(text) - 1] == 'Z',
                  "not RFC 3339 in UTC: %s", text);
}

START_TEST(a_new_tenant_is_active_and_empty)
{
    world_init(&w, (enum http_version)_i);
    char id[WORLD_ID];
    world_fresh_id(id);
    http_value_take(w.op, "POST", json_pack("{s:s,s:s}", "id", id, "display_name", "Zo\xc3\xab"),
                    "/v1/admin/tenants");
    EXPECT_STATUS(w.op, 201);
    http_get(w.op, "/v1/admin/tenants/%s", id);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/id"), id);
    ck_assert_str_eq(http_string(w.op, "/display_name"), "Zo\xc3\xab");
    ck_assert_str_eq(http_string(w.op, "/state"), "active");
    expect_rfc3339(http_string(w.op, "/created"));
    expect_rfc3339(http_string(w.op, "/state_since"));
    ck_assert_int_eq(http_number(w.op, "/usage/stored_bytes"), 0);
    ck_assert(json_is_null(http_at(w.op, "/quota/rows")));
    ck_assert(json_is_false(http_at(w.op, "/keyless")));
    ck_assert_str_eq(http_string(w.op, "/instance"), "main");
}
END_TEST

START_TEST(an_id_exists_once)
{
    world_init(&w, (enum http_version)_i);
    http_value_take(w.op, "POST", json_pack("{s:s}", "id", w.tenant), "/v1/admin/tenants");
    EXPECT_PROBLEM(w.op, 409, "exists");
}
END_TEST

static const struct {
    const char *body;
    int status;
} BAD_TENANTS[] = {
    {"{}", 400},
    {"{'id':''}", 400},
    {"{'id':'a'}", 400},
    {"{'id':'-ab'}", 400},
    {"{'id':'Ab'}", 400},
    {"{'id':'a_b'}", 400},
    {"{'id':'a#b'}", 400},
    {"{'id':'a.b'}", 400},
    {"{'id':'\xc3\xa4\xc3\xb6'}", 400},
    {"{'id':7}", 400},
    {"{'id':'ab','id':'cd'}", 400},
    {"{'id':'abcd','unknown':1}", 400},
    {"{'id':'abcd','display_name':7}", 400},
    {"['abcd']", 400},
    {"{'id':'1234567890123456789012345678901234567890123456789012345678901234'}", 413},
};

START_TEST(ids_follow_their_rule)
{
    size_t n = (size_t)_i / HTTP_VERSIONS;
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    http_json(w.op, "POST", BAD_TENANTS[n].body, "/v1/admin/tenants");
    ck_assert_msg(w.op->status == BAD_TENANTS[n].status ||
                      (BAD_TENANTS[n].status == 413 && w.op->status == 400),
                  "%s: %d %s", BAD_TENANTS[n].body, w.op->status, http_text(w.op));
    EXPECT_PROBLEM(w.op, w.op->status, w.op->status == 413 ? "too_big" : "invalid");
}
END_TEST

START_TEST(the_longest_and_the_shortest_id)
{
    world_init(&w, (enum http_version)_i);
    char id[WORLD_ID];
    char padded[LIM_TENANT_ID + 1];
    world_fresh_id(id);
    memset(padded, '-', LIM_TENANT_ID);
    padded[LIM_TENANT_ID] = '\0';
    memcpy(padded, id, strlen(id));
    ck_assert_uint_eq(strlen(padded), LIM_TENANT_ID);
    admin_create_tenant(w.op, padded);
    char key[WORLD_KEY];
    admin_create_key(w.op, padded, NULL, key, NULL);
    http_use_key(w.http, key);
    ck_assert_int_eq(tenant_usage(w.http).rows, 0);
    ck_assert_str_eq(http_string(w.http, "/tenant"), padded);
    if (_i == 0)
        admin_create_tenant(w.op, "0a");
    else
        admin_create_tenant(w.op, "0b");
}
END_TEST

START_TEST(display_names_have_a_limit)
{
    world_init(&w, (enum http_version)_i);
    char id[WORLD_ID], name[LIM_DISPLAY_NAME + 2];
    memset(name, 'n', sizeof(name));
    name[LIM_DISPLAY_NAME + 1] = '\0';
    world_fresh_id(id);
    http_value_take(w.op, "POST", json_pack("{s:s,s:s}", "id", id, "display_name", name),
                    "/v1/admin/tenants");
    ck_assert_msg(w.op->status == 413 || w.op->status == 400, "%d", w.op->status);
    name[LIM_DISPLAY_NAME] = '\0';
    http_value_take(w.op, "POST", json_pack("{s:s,s:s}", "id", id, "display_name", name),
                    "/v1/admin/tenants");
    EXPECT_STATUS(w.op, 201);
}
END_TEST

START_TEST(the_list_pages_through_all)
{
    world_init(&w, (enum http_version)_i);
    char first[WORLD_ID], second[WORLD_ID];
    world_fresh_id(first);
    admin_create_tenant(w.op, first);
    world_fresh_id(second);
    admin_create_tenant(w.op, second);
    char token[2048] = "";
    char last[WORLD_ID] = "";
    int found = 0;
    int pages = 0;
    do {
        http_get(w.op, "/v1/admin/tenants?limit=2%s%s", token[0] != '\0' ? "&page_token=" : "",
                 token);
        EXPECT_STATUS(w.op, 200);
        ck_assert_uint_le(http_count(w.op, "/tenants"), 2);
        for (size_t i = 0; i < http_count(w.op, "/tenants"); i++) {
            char path[64];
            (void)snprintf(path, sizeof(path), "/tenants/%zu/id", i);
            const char *id = http_string(w.op, path);
            ck_assert_str_lt(last, id);
            (void)snprintf(last, sizeof(last), "%s", id);
            found += strcmp(id, w.tenant) == 0 || strcmp(id, first) == 0 || strcmp(id, second) == 0;
        }
        json_t *next = http_at(w.op, "/next_page_token");
        (void)snprintf(token, sizeof(token), "%s",
                       next != NULL ? pcts(json_string_value(next)) : "");
        ck_assert_int_le(++pages, 1000);
    } while (token[0] != '\0');
    ck_assert_int_eq(found, 3);
}
END_TEST

START_TEST(a_suspended_tenant_is_refused_with_the_reason)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
    http_json(w.op, "POST", "{'reason':'unpaid since May'}", "/v1/admin/tenants/%s:suspend",
              w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/state"), "suspended");
    ck_assert_str_eq(http_string(w.op, "/reason"), "unpaid since May");
    /* at once, on every data route */
    http_get(w.http, ROW "k");
    EXPECT_PROBLEM(w.http, 403, "suspended");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "unpaid since May"));
    http_json(w.http, "PUT", "{'stats':{'q':'2'}}", ROW "k");
    EXPECT_PROBLEM(w.http, 403, "suspended");
    http_delete(w.http, ROW "k");
    EXPECT_PROBLEM(w.http, 403, "suspended");
    http_get(w.http, "/v1/tables/devices/rows");
    EXPECT_PROBLEM(w.http, 403, "suspended");
    http_get(w.http, "/v1/tables/devices/cells/k/stats/q");
    EXPECT_PROBLEM(w.http, 403, "suspended");
    http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/more");
    EXPECT_PROBLEM(w.http, 403, "suspended");
    http_json(w.http, "POST", "{'all':true}", "/v1/tables/devices:drop");
    EXPECT_PROBLEM(w.http, 403, "suspended");
    /* again is fine and may change the reason */
    http_json(w.op, "POST", "{'reason':'still unpaid'}", "/v1/admin/tenants/%s:suspend", w.tenant);
    EXPECT_STATUS(w.op, 200);
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:resume", w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/state"), "active");
    http_get(w.http, ROW "k");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/0/value"), "1");
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:resume", w.tenant);
    EXPECT_STATUS(w.op, 200);
}
END_TEST

START_TEST(an_unknown_tenant_is_404_for_the_operator)
{
    world_init(&w, (enum http_version)_i);
    static const char *const paths[] = {"", "/usage", "/usage?recount=true", "/quota", "/keys"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        http_get(w.op, "/v1/admin/tenants/nobody-here%s", paths[i]);
        EXPECT_PROBLEM(w.op, 404, "not_found");
    }
    static const char *const posts[] = {":suspend", ":resume", "/keys"};
    for (size_t i = 0; i < sizeof(posts) / sizeof(posts[0]); i++) {
        http_json(w.op, "POST", i == 0 ? "{'reason':'x'}" : "{}", "/v1/admin/tenants/nobody-here%s",
                  posts[i]);
        EXPECT_PROBLEM(w.op, 404, "not_found");
    }
    http_json(w.op, "POST", "{'confirm':'nobody-here'}", "/v1/admin/tenants/nobody-here:offboard");
    EXPECT_PROBLEM(w.op, 404, "not_found");
    http_json(w.op, "PUT", "{}", "/v1/admin/tenants/nobody-here/quota");
    EXPECT_PROBLEM(w.op, 404, "not_found");
    http_get(w.op, "/v1/admin/jobs/nosuchjob");
    EXPECT_PROBLEM(w.op, 404, "not_found");
}
END_TEST

START_TEST(health_needs_no_key)
{
    world_init(&w, (enum http_version)_i);
    http_use_key(w.http, NULL);
    http_get(w.http, "/healthz");
    EXPECT_STATUS(w.http, 200);
    EXPECT_JSON(w.http, "{'status':'ok'}");
    http_get(w.http, "/readyz");
    EXPECT_STATUS(w.http, 200);
    EXPECT_JSON(w.http, "{'status':'ready','storage':'ok'}");
}
END_TEST

Suite *suite_api_tenants(void);
Suite *suite_api_tenants(void)
{
    Suite *s = suite_create("api_tenants");
    TCase *tc = tcase_create("tenants");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, a_new_tenant_is_active_and_empty, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, an_id_exists_once, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, ids_follow_their_rule, 0, HTTP_EACH(BAD_TENANTS));
    tcase_add_loop_test(tc, the_longest_and_the_shortest_id, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, display_names_have_a_limit, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, the_list_pages_through_all, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_suspended_tenant_is_refused_with_the_reason, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, an_unknown_tenant_is_404_for_the_operator, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, health_needs_no_key, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

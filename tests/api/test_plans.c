/*
 * tests/api/test_plans.c - plans, what their tenants may, lists of tenants, suspension by access.
 */
#include <check.h>

#include "base/limits.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void put_plan(const char *plan, const char *body)
{
    http_json(w.op, "PUT", body, "/v1/admin/plans/%s", plan);
    ck_assert_msg(w.op->status == 200 || w.op->status == 201, "%s", http_text(w.op));
}

static void give_plan(const char *tenant, const char *plan)
{
    http_json(w.op, "PATCH", plan, "/v1/admin/tenants/%s", tenant);
    EXPECT_STATUS(w.op, 200);
}

/* Plans are the server's, which tests share: each test has its own. */
static void fresh(char plan[WORLD_ID], char body[WORLD_ID + 16])
{
    world_fresh_id(plan);
    (void)snprintf(body, WORLD_ID + 16, "{'plan':'%s'}", plan);
}

/* --- plans ------------------------------------------------------------------------------------ */

START_TEST(a_plan_is_made_shown_changed_and_deleted)
{
    world_init(&w, (enum http_version)_i);
    char plan[WORLD_ID], with[WORLD_ID + 16];
    fresh(plan, with);
    http_json(w.op, "PUT", "{'display_name':'Gold','quota':{'rows':5,'stored_bytes':null}}",
              "/v1/admin/plans/%s", plan);
    EXPECT_STATUS(w.op, 201);
    ck_assert_str_eq(http_string(w.op, "/id"), plan);
    ck_assert_str_eq(http_string(w.op, "/display_name"), "Gold");
    ck_assert_int_eq(http_number(w.op, "/quota/rows"), 5);
    ck_assert(json_is_null(http_at(w.op, "/quota/stored_bytes")));
    ck_assert_uint_eq(http_count(w.op, "/quota"), 2);
    ck_assert_int_eq(http_number(w.op, "/tenants"), 0);
    give_plan(w.tenant, with);
    ck_assert_str_eq(http_string(w.op, "/plan"), plan);
    ck_assert_int_eq(http_number(w.op, "/quota/rows"), 5);
    http_get(w.op, "/v1/admin/tenants/%s/quota", w.tenant);
    ck_assert_str_eq(http_string(w.op, "/plan"), plan);
    ck_assert_uint_eq(http_count(w.op, "/own"), 0);
    ck_assert_int_eq(http_number(w.op, "/rows"), 5);
    http_json(w.op, "PUT", "{'quota':{'rows':6}}", "/v1/admin/plans/%s", plan);
    EXPECT_STATUS(w.op, 200);
    http_get(w.op, "/v1/admin/plans/%s", plan);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/display_name"), "");
    ck_assert_int_eq(http_number(w.op, "/tenants"), 1);
    http_get(w.http, "/v1/usage");
    ck_assert_int_eq(http_number(w.http, "/quota/rows"), 6);
    http_delete(w.op, "/v1/admin/plans/%s", plan);
    EXPECT_PROBLEM(w.op, 409, "conflict");
    ck_assert_ptr_nonnull(strstr(http_string(w.op, "/detail"), "1 tenant has"));
    give_plan(w.tenant, "{'plan':null}");
    ck_assert(json_is_null(http_at(w.op, "/plan")));
    http_delete(w.op, "/v1/admin/plans/%s", plan);
    EXPECT_STATUS(w.op, 204);
    http_get(w.op, "/v1/admin/plans/%s", plan);
    EXPECT_PROBLEM(w.op, 404, "not_found");
    http_delete(w.op, "/v1/admin/plans/%s", plan);
    EXPECT_PROBLEM(w.op, 404, "not_found");
}
END_TEST

START_TEST(a_change_of_a_plan_holds_for_the_next_request)
{
    world_init(&w, (enum http_version)_i);
    char plan[WORLD_ID], with[WORLD_ID + 16];
    fresh(plan, with);
    put_plan(plan, "{'quota':{'rows':1}}");
    give_plan(w.tenant, with);
    tenant_put(w.http, "devices", "a", "stats", "q", "v");
    http_json(w.http, "PUT", "{'stats':{'q':'v'}}", "/v1/tables/devices/rows/b");
    EXPECT_PROBLEM(w.http, 403, "quota");
    ck_assert_ptr_nonnull(
        strstr(http_string(w.http, "/detail"), "1 used, 1 would be added, limit 1"));
    ck_assert_ptr_null(http_header(w.http, "retry-after"));
    put_plan(plan, "{'quota':{'rows':2}}");
    tenant_put(w.http, "devices", "b", "stats", "q", "v");
    put_plan(plan, "{'quota':{'rows':0}}"); /* below what is there: reads and deletes pass */
    http_get(w.http, "/v1/tables/devices/rows/b");
    EXPECT_STATUS(w.http, 200);
    tenant_put(w.http, "devices", "b", "stats", "q", "w");
    http_delete(w.http, "/v1/tables/devices/rows/b");
    EXPECT_STATUS(w.http, 204);
    http_json(w.http, "POST", "{'prefix':'a'}", "/v1/tables/devices:drop");
    EXPECT_STATUS(w.http, 200);
    http_json(w.http, "PUT", "{'stats':{'q':'v'}}", "/v1/tables/devices/rows/b");
    EXPECT_PROBLEM(w.http, 403, "quota");
}
END_TEST

START_TEST(tables_and_keys_over_quota_are_refused_and_deleting_passes)
{
    world_init(&w, (enum http_version)_i);
    admin_set_quota(w.op, w.tenant, "{'tables':1,'keys':1}");
    http_json(w.http, "PUT", "{'families':{'a':{}}}", "/v1/tables/second");
    EXPECT_PROBLEM(w.http, 403, "quota");
    ck_assert_str_eq(http_string(w.http, "/detail"),
                     "tables quota: 1 used, 1 would be added, limit 1");
    ck_assert(json_is_false(http_at(w.http, "/retry")));
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s/keys", w.tenant);
    EXPECT_PROBLEM(w.op, 403, "quota");
    ck_assert_ptr_nonnull(
        strstr(http_string(w.op, "/detail"), "keys quota: 1 used, 1 would be added, limit 1"));
    http_delete(w.http, "/v1/tables/devices");
    EXPECT_STATUS(w.http, 204);
    http_json(w.http, "PUT", "{'families':{'a':{}}}", "/v1/tables/second");
    EXPECT_STATUS(w.http, 201);
}
END_TEST

START_TEST(features_that_a_plan_leaves_out_are_refused_by_name)
{
    world_init(&w, (enum http_version)_i);
    char plan[WORLD_ID], with[WORLD_ID + 16];
    fresh(plan, with);
    put_plan(plan, "{'quota':{'change_streams':0}}");
    http_json(w.http, "PUT", "{'families':{'a':{}},'change_stream_retention':'86400s'}",
              "/v1/tables/before");
    EXPECT_STATUS(w.http, 201);
    give_plan(w.tenant, with);
    http_json(w.http, "PUT", "{'families':{'a':{}},'change_stream_retention':'86400s'}",
              "/v1/tables/after");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), plan));
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "change streams"));
    http_json(w.http, "PUT", "{'families':{'a':{}},'change_stream_retention':'172800s'}",
              "/v1/tables/before"); /* what there is goes on */
    EXPECT_STATUS(w.http, 200);
    http_json(w.http, "PUT", "{'families':{'a':{}}}", "/v1/tables/after");
    EXPECT_STATUS(w.http, 201);
    admin_set_quota(w.op, w.tenant, "{'change_streams':1}"); /* of its own */
    http_json(w.http, "PUT", "{'families':{'a':{}},'change_stream_retention':'86400s'}",
              "/v1/tables/after");
    EXPECT_STATUS(w.http, 200);
}
END_TEST

static const char *const BAD_PLANS[] = {
    "{}",
    "{'quota':null}",
    "{'quota':[]}",
    "{'quota':{'unknown':1}}",
    "{'quota':{'rows':-1}}",
    "{'quota':{'weight':null}}",
    "{'quota':{'weight':0}}",
    "{'quota':{},'display_name':7}",
    "{'quota':{},'tenants':1}",
    "{'quota':{'read_ops_per_s':1,'write_ops_per_s':1,'reserved_ops_per_s':2}}",
};
#define BAD_COUNT ((int)(sizeof BAD_PLANS / sizeof BAD_PLANS[0]))

START_TEST(plans_that_are_wrong_are_refused)
{
    world_init(&w, HTTP_2);
    http_json(w.op, "PUT", BAD_PLANS[_i], "/v1/admin/plans/bad");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    http_get(w.op, "/v1/admin/plans/bad");
    EXPECT_PROBLEM(w.op, 404, "not_found");
}
END_TEST

/* A new data directory has it; whoever makes a tenant with a plan, or with none, says so. */
START_TEST(tenants_get_the_standard_plan_unless_told_otherwise)
{
    world_init(&w, (enum http_version)_i);
    char id[WORLD_ID];
    world_fresh_id(id);
    http_value_take(w.op, "POST", json_pack("{s:s}", "id", id), "/v1/admin/tenants");
    EXPECT_STATUS(w.op, 201);
    ck_assert_str_eq(http_string(w.op, "/plan"), "standard");
    ck_assert_int_eq(http_number(w.op, "/quota/stored_bytes"), LIM_FIRST_STORED_BYTES);
    ck_assert_int_eq(http_number(w.op, "/quota/write_ops_per_s"), LIM_FIRST_OPS_PER_S);
    ck_assert_uint_eq(http_count(w.op, "/own_quota"), 0);
    http_delete(w.op, "/v1/admin/plans/standard");
    EXPECT_PROBLEM(w.op, 409, "conflict");
    world_fresh_id(id);
    http_value_take(w.op, "POST", json_pack("{s:s,s:n}", "id", id, "plan"), "/v1/admin/tenants");
    EXPECT_STATUS(w.op, 201);
    ck_assert(json_is_null(http_at(w.op, "/plan")));
    ck_assert(json_is_null(http_at(w.op, "/quota/stored_bytes")));
}
END_TEST

START_TEST(tenants_are_made_with_plan_and_quota)
{
    world_init(&w, (enum http_version)_i);
    char plan[WORLD_ID], with[WORLD_ID + 16], id[WORLD_ID], body[256];
    fresh(plan, with);
    world_fresh_id(id);
    put_plan(plan, "{'quota':{'rows':9,'weight':50}}");
    (void)snprintf(body, sizeof body, "{'id':'%s','plan':'%s','quota':{'rows':3}}", id, plan);
    http_json(w.op, "POST", body, "/v1/admin/tenants");
    EXPECT_STATUS(w.op, 201);
    ck_assert_int_eq(http_number(w.op, "/quota/rows"), 3);
    ck_assert_int_eq(http_number(w.op, "/quota/weight"), 50);
    ck_assert_int_eq(http_number(w.op, "/own_quota/rows"), 3);
    ck_assert_uint_eq(http_count(w.op, "/own_quota"), 1);
    http_get(w.op, "/v1/admin/tenants?prefix=%s", id);
    ck_assert_uint_eq(http_count(w.op, "/tenants/0/own_quota"), 1);
    http_json(w.op, "POST", "{'id':'bigtent'}", "/v1/admin/tenants");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    http_json(w.op, "POST", "{'id':'not-made','plan':'nowhere'}", "/v1/admin/tenants");
    EXPECT_PROBLEM(w.op, 404, "not_found");
    http_json(w.op, "POST", "{'id':'not-made','plan':''}", "/v1/admin/tenants");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    http_json(w.op, "PATCH", "{'quota':{'rows':1}}", "/v1/admin/tenants/%s", id);
    EXPECT_PROBLEM(w.op, 400, "invalid");
    http_json(w.op, "PATCH", "{'display_name':'New'}", "/v1/admin/tenants/%s", id);
    ck_assert_str_eq(http_string(w.op, "/display_name"), "New");
    ck_assert_str_eq(http_string(w.op, "/plan"), plan);
    (void)snprintf(body, sizeof body, "{'quota':{'reserved_ops_per_s':9}}");
    http_json(w.op, "PUT", "{'reserved_ops_per_s':9}", "/v1/admin/tenants/%s/quota", id);
    EXPECT_STATUS(w.op, 200);
    http_json(w.op, "PUT", "{'quota':{'read_ops_per_s':8,'write_ops_per_s':8}}",
              "/v1/admin/plans/%s", plan);
    EXPECT_PROBLEM(w.op, 400, "invalid");
    ck_assert_ptr_nonnull(strstr(http_string(w.op, "/detail"), id));
}
END_TEST

/* --- lists ------------------------------------------------------------------------------------ */

#define LISTED 7

/* The IDs of all pages, the part behind the common prefix. */
static void collect(const char *prefix, const char *query, char out[64])
{
    char token[512] = "";
    size_t used = 0;
    for (int pages = 0; pages < 10; pages++) {
        http_get(w.op, "/v1/admin/tenants?prefix=%s&limit=2%s%s%s", prefix, query,
                 token[0] != '\0' ? "&page_token=" : "", token);
        EXPECT_STATUS(w.op, 200);
        for (size_t i = 0; i < http_count(w.op, "/tenants"); i++) {
            char path[48];
            (void)snprintf(path, sizeof path, "/tenants/%zu/id", i);
            out[used++] = http_string(w.op, path)[strlen(prefix)];
        }
        out[used] = '\0';
        const json_t *next = http_at(w.op, "/next_page_token");
        if (next == NULL)
            return;
        (void)snprintf(token, sizeof token, "%s", json_string_value(next));
    }
    ck_abort_msg("no end");
}

START_TEST(lists_have_filters_orders_and_pages)
{
    world_init(&w, (enum http_version)_i);
    char prefix[WORLD_ID], plan[WORLD_ID], with[WORLD_ID + 16], id[WORLD_ID + 4], found[64];
    char query[128];
    world_fresh_id(prefix);
    fresh(plan, with);
    put_plan(plan, "{'quota':{}}");
    static const char ORDER[] = "dbgaefc"; /* of creation */
    for (int i = 0; i < LISTED; i++) {
        char key[WORLD_KEY];
        (void)snprintf(id, sizeof id, "%s%c", prefix, ORDER[i]);
        admin_create_tenant(w.op, id);
        if (i % 3 == 0)
            give_plan(id, with);
        if (i >= 3)
            continue;
        admin_create_key(w.op, id, NULL, key, NULL); /* d has 3 rows, b 2, g 1 */
        http_use_key(w.http, key);
        http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/t");
        for (int k = i; k < 3; k++)
            http_json(w.http, "PUT", "{'f':{'q':'v'}}", "/v1/tables/t/rows/%d", k);
        EXPECT_STATUS(w.http, 201);
    }
    collect(prefix, "", found);
    ck_assert_str_eq(found, "abcdefg");
    collect(prefix, "&order=-id", found);
    ck_assert_str_eq(found, "gfedcba");
    collect(prefix, "&order=created", found);
    ck_assert_str_eq(found, ORDER);
    collect(prefix, "&order=-created", found);
    ck_assert_str_eq(found, "cfeagbd");
    collect(prefix, "&order=-rows", found);
    ck_assert_str_eq(found, "dbgfeca");
    collect(prefix, "&order=bytes", found);
    ck_assert_str_eq(found, "acefgbd");
    (void)snprintf(query, sizeof query, "&plan=%s", plan);
    collect(prefix, query, found);
    ck_assert_str_eq(found, "acd");
    collect(prefix, "&plan=&order=-id", found);
    ck_assert_str_eq(found, "gfeb");
    (void)snprintf(id, sizeof id, "%se", prefix);
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:suspend", id);
    collect(prefix, "&state=suspended", found);
    ck_assert_str_eq(found, "e");
    collect(prefix, "&state=active&order=created", found);
    ck_assert_str_eq(found, "dbgafc");
    collect("nobody-here", "&order=rows", found);
    ck_assert_str_eq(found, "");
}
END_TEST

START_TEST(pages_are_stable_while_tenants_are_made)
{
    world_init(&w, (enum http_version)_i);
    static const char *const ORDERS[] = {"id", "-id", "created", "-created"};
    for (size_t o = 0; o < sizeof ORDERS / sizeof ORDERS[0]; o++) {
        char prefix[WORLD_ID], id[WORLD_ID + 8], seen[32] = "", token[512] = "";
        world_fresh_id(prefix);
        for (char c = 'b'; c <= 'y'; c = (char)(c + 4)) {
            (void)snprintf(id, sizeof id, "%s%c", prefix, c);
            admin_create_tenant(w.op, id);
        }
        for (int page = 0; page < 20; page++) {
            http_get(w.op, "/v1/admin/tenants?limit=1&order=%s&prefix=%s%s%s", ORDERS[o], prefix,
                     page > 0 ? "&page_token=" : "", token);
            EXPECT_STATUS(w.op, 200);
            const char *got = http_string(w.op, "/tenants/0/id");
            char letter[2] = {got[strlen(prefix)], '\0'};
            if ((letter[0] - 'b') % 4 == 0) {
                ck_assert_ptr_null(strchr(seen, letter[0]));
                (void)snprintf(seen + strlen(seen), 2, "%s", letter);
            }
            const json_t *next = http_at(w.op, "/next_page_token");
            if (next == NULL)
                break;
            (void)snprintf(token, sizeof token, "%s", json_string_value(next));
            (void)snprintf(id, sizeof id, "%s%c", prefix, 'a' + page * 7 % 26);
            if ((id[strlen(prefix)] - 'b') % 4 != 0)
                http_value_take(w.op, "POST", json_pack("{s:s}", "id", id), "/v1/admin/tenants");
        }
        ck_assert_uint_eq(strlen(seen), 6);
    }
}
END_TEST

START_TEST(lists_that_are_wrong_are_refused)
{
    world_init(&w, HTTP_2);
    static const char *const BAD[] = {"order=size", "order=",  "order=--id", "state=gone",
                                      "state=",     "limit=0", "tenant=x"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        http_get(w.op, "/v1/admin/tenants?%s", BAD[i]);
        EXPECT_PROBLEM(w.op, 400, "invalid");
    }
    http_get(w.op, "/v1/admin/tenants?plan=nowhere");
    EXPECT_PROBLEM(w.op, 404, "not_found");
    char id[WORLD_ID], token[512];
    world_fresh_id(id);
    admin_create_tenant(w.op, id);
    http_get(w.op, "/v1/admin/tenants?limit=1&order=rows");
    (void)snprintf(token, sizeof token, "%s", http_string(w.op, "/next_page_token"));
    static const char *const OTHERS[] = {"", "&order=-rows", "&order=rows&prefix=a",
                                         "&order=rows&plan=", "&order=rows&state=active"};
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
        http_get(w.op, "/v1/admin/tenants?limit=1&page_token=%s%s", token, OTHERS[i]);
        EXPECT_PROBLEM(w.op, 400, "invalid");
    }
}
END_TEST

/* --- suspension ------------------------------------------------------------------------------- */

static void suspend(const char *body)
{
    http_json(w.op, "POST", body, "/v1/admin/tenants/%s:suspend", w.tenant);
    EXPECT_STATUS(w.op, 200);
}

#define ROW_K "/v1/tables/devices/rows/k"

static void expect_suspended(const char *text)
{
    EXPECT_PROBLEM(w.http, 403, "suspended");
    ck_assert_str_eq(http_string(w.http, "/detail"), text);
}

START_TEST(reads_writes_or_both_are_suspended_with_a_reason)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    suspend("{'reason':'unpaid','access':'writes'}");
    ck_assert_str_eq(http_string(w.op, "/suspended"), "writes");
    ck_assert_str_eq(http_string(w.op, "/reason"), "unpaid");
    http_get(w.http, ROW_K);
    EXPECT_STATUS(w.http, 200);
    http_delete(w.http, ROW_K);
    expect_suspended("the tenant's writes are suspended: unpaid");
    http_json(w.http, "POST", "{'rules':[]}", ROW_K ":modify");
    expect_suspended("the tenant's writes are suspended: unpaid");
    suspend("{'access':'reads'}");
    ck_assert_str_eq(http_string(w.op, "/suspended"), "reads");
    http_get(w.http, ROW_K);
    expect_suspended("the tenant's reads are suspended");
    tenant_put(w.http, "devices", "k", "stats", "q", "w");
    http_json(w.http, "POST", "{'rules':[]}", ROW_K ":modify"); /* it answers what is there */
    expect_suspended("the tenant's reads are suspended");
    suspend("{'reason':'abuse'}");
    ck_assert_str_eq(http_string(w.op, "/suspended"), "all");
    http_get(w.http, ROW_K);
    expect_suspended("the tenant is suspended: abuse");
    http_json(w.http, "PATCH", "{'stats':{'q':'x'}}", ROW_K);
    expect_suspended("the tenant is suspended: abuse");
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:resume", w.tenant);
    ck_assert(json_is_null(http_at(w.op, "/suspended")));
    http_get(w.http, ROW_K);
    EXPECT_STATUS(w.http, 200);
    http_json(w.op, "POST", "{'access':'deletes'}", "/v1/admin/tenants/%s:suspend", w.tenant);
    EXPECT_PROBLEM(w.op, 400, "invalid");
}
END_TEST

static void teardown(void)
{
    world_fini(&w);
}

Suite *suite_api_plans(void);
Suite *suite_api_plans(void)
{
    Suite *s = suite_create("api_plans");
    TCase *c = tcase_create("plans");
    tcase_set_timeout(c, 60);
    world_begin(c);
    tcase_add_checked_fixture(c, NULL, teardown);
    tcase_add_loop_test(c, a_plan_is_made_shown_changed_and_deleted, 0, HTTP_VERSIONS);
    tcase_add_loop_test(c, a_change_of_a_plan_holds_for_the_next_request, 0, HTTP_VERSIONS);
    tcase_add_loop_test(c, tables_and_keys_over_quota_are_refused_and_deleting_passes, 0,
                        HTTP_VERSIONS);
    tcase_add_loop_test(c, features_that_a_plan_leaves_out_are_refused_by_name, 0, HTTP_VERSIONS);
    tcase_add_loop_test(c, plans_that_are_wrong_are_refused, 0, BAD_COUNT);
    tcase_add_loop_test(c, tenants_get_the_standard_plan_unless_told_otherwise, 0, HTTP_VERSIONS);
    tcase_add_loop_test(c, tenants_are_made_with_plan_and_quota, 0, HTTP_VERSIONS);
    tcase_add_loop_test(c, lists_have_filters_orders_and_pages, 0, HTTP_VERSIONS);
    tcase_add_loop_test(c, pages_are_stable_while_tenants_are_made, 0, HTTP_VERSIONS);
    tcase_add_test(c, lists_that_are_wrong_are_refused);
    tcase_add_loop_test(c, reads_writes_or_both_are_suspended_with_a_reason, 0, HTTP_VERSIONS);
    world_end(c);
    suite_add_tcase(s, c);
    return s;
}

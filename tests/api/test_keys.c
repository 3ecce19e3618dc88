/*
 * tests/api/test_keys.c - API keys: scopes, kinds, revocation, and every way to present a bad one.
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

START_TEST(a_key_is_shown_once_and_listed_without_secret)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.op, "POST", "{'scopes':['data.read'],'label':'reader'}",
              "/v1/admin/tenants/%s/keys", w.tenant);
    EXPECT_STATUS(w.op, 201);
    char id[WORLD_ID], key[WORLD_KEY];
    (void)snprintf(id, sizeof(id), "%s", http_string(w.op, "/id"));
    (void)snprintf(key, sizeof(key), "%s", http_string(w.op, "/key"));
    ck_assert_str_eq(http_string(w.op, "/kind"), "tenant");
    ck_assert_uint_eq(http_count(w.op, "/scopes"), 1);
    ck_assert_uint_eq(strlen(key), 58);
    ck_assert_int_eq(strncmp(key, "btt_", 4), 0);
    http_get(w.op, "/v1/admin/tenants/%s/keys", w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_uint_eq(http_count(w.op, "/keys"), 2);
    ck_assert_ptr_nonnull(strstr(http_text(w.op), id));
    ck_assert_ptr_nonnull(strstr(http_text(w.op), "reader"));
    ck_assert_ptr_null(strstr(http_text(w.op), key + 16)); /* no secret anywhere */
}
END_TEST

#define APPEND_NOTHING "{'rules':[{'family':'stats','qualifier':'q','append':''}]}"

START_TEST(each_route_needs_its_scope)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
    char key[WORLD_KEY];
    admin_create_key(w.op, w.tenant, "['data.read']", key, NULL);
    http_use_key(w.http, key);
    http_get(w.http, ROW "k");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, "/v1/tables/devices/rows");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, "/v1/usage");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, "/v1/tables");
    EXPECT_STATUS(w.http, 200);
    http_json(w.http, "PUT", "{'stats':{'q':'2'}}", ROW "k");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "data.write"));
    http_delete(w.http, ROW "k");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    http_json(w.http, "POST", "{'mutations':[{'delete_from_row':{}}]}", ROW "k:mutate");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    http_json(w.http, "POST", APPEND_NOTHING, ROW "k:modify");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "data.write"));
    http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/more");
    EXPECT_PROBLEM(w.http, 403, "forbidden");

    admin_create_key(w.op, w.tenant, "['data.write']", key, NULL);
    http_use_key(w.http, key);
    http_json(w.http, "PUT", "{'stats':{'q':'3'}}", ROW "k");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, ROW "k");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    /* what answers with cells, or by them, is also a read */
    http_json(w.http, "POST", APPEND_NOTHING, ROW "k:modify");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "data.read"));
    http_json(w.http, "POST", "{'then':[{'delete_from_row':{}}]}", ROW "k:check");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    http_delete(w.http, "/v1/tables/devices");
    EXPECT_PROBLEM(w.http, 403, "forbidden");

    admin_create_key(w.op, w.tenant, "['table.admin']", key, NULL);
    http_use_key(w.http, key);
    http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/more");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, ROW "k");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
}
END_TEST

START_TEST(a_revoked_key_is_refused_at_once)
{
    world_init(&w, (enum http_version)_i);
    char key[WORLD_KEY], id[WORLD_ID];
    admin_create_key(w.op, w.tenant, NULL, key, id);
    http_use_key(w.http, key); /* one connection, used before and after */
    ck_assert_int_eq(tenant_usage(w.http).rows, 0);
    http_delete(w.op, "/v1/admin/tenants/%s/keys/%s", w.tenant, id);
    EXPECT_STATUS(w.op, 204);
    http_get(w.http, "/v1/usage");
    EXPECT_PROBLEM(w.http, 401, "unauthenticated");
    http_delete(w.op, "/v1/admin/tenants/%s/keys/%s", w.tenant, id);
    EXPECT_PROBLEM(w.op, 404, "not_found");
    http_use_key(w.http, w.key); /* the other key lives on */
    ck_assert_int_eq(tenant_usage(w.http).rows, 0);
}
END_TEST

START_TEST(a_key_is_revoked_only_under_its_own_tenant)
{
    world_init(&w, (enum http_version)_i);
    char other[WORLD_ID], key[WORLD_KEY], id[WORLD_ID];
    world_fresh_id(other);
    admin_create_tenant(w.op, other);
    admin_create_key(w.op, w.tenant, NULL, key, id);
    http_delete(w.op, "/v1/admin/tenants/%s/keys/%s", other, id);
    EXPECT_PROBLEM(w.op, 404, "not_found");
    http_delete(w.op, "/v1/admin/keys/%s", id);
    EXPECT_PROBLEM(w.op, 404, "not_found");
    http_use_key(w.http, key);
    ck_assert_int_eq(tenant_usage(w.http).rows, 0);
}
END_TEST

START_TEST(both_ways_to_present_a_key)
{
    world_init(&w, (enum http_version)_i);
    http_use_key(w.http, NULL);
    http_once(w.http, "x-goog-api-key: %s", w.key);
    http_get(w.http, "/v1/usage");
    EXPECT_STATUS(w.http, 200);
    http_once(w.http, "authorization: bearer %s", w.key);
    http_get(w.http, "/v1/usage");
    EXPECT_STATUS(w.http, 200);
}
END_TEST

START_TEST(a_service_key_names_its_tenant)
{
    world_init(&w, (enum http_version)_i);
    char other[WORLD_ID], key[WORLD_KEY], id[WORLD_ID];
    world_fresh_id(other);
    admin_create_tenant(w.op, other);
    admin_create_global_key(w.op, "service", key, id);
    ck_assert_str_eq(http_string(w.op, "/kind"), "service");
    ck_assert_int_eq(strncmp(key, "bts_", 4), 0);
    http_use_key(w.http, key);
    http_once(w.http, "Bigtent-Tenant: %s", w.tenant);
    http_json(w.http, "PUT", "{'stats':{'q':'1'}}", ROW "k");
    EXPECT_STATUS(w.http, 201);
    http_once(w.http, "Bigtent-Tenant: %s", w.tenant);
    http_get(w.http, "/v1/usage");
    ck_assert_str_eq(http_string(w.http, "/tenant"), w.tenant);
    ck_assert_int_eq(http_number(w.http, "/rows"), 1);
    http_once(w.http, "Bigtent-Tenant: %s", other);
    http_get(w.http, "/v1/usage");
    ck_assert_str_eq(http_string(w.http, "/tenant"), other);
    ck_assert_int_eq(http_number(w.http, "/rows"), 0);

    http_get(w.http, "/v1/usage"); /* nobody named */
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_once(w.http, "Bigtent-Tenant: nobody-here");
    http_get(w.http, "/v1/usage");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    http_once(w.http, "Bigtent-Tenant: Not/An/ID");
    http_get(w.http, "/v1/usage");
    ck_assert_msg(w.http->status == 400 || w.http->status == 403, "%d", w.http->status);
    http_once(w.http, "Bigtent-Tenant: %s", w.tenant);
    http_once(w.http, "Bigtent-Tenant: %s", other);
    http_get(w.http, "/v1/usage");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_once(w.http, "Bigtent-Tenant: %s", w.tenant);
    http_get(w.http, "/v1/admin/tenants");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    http_delete(w.op, "/v1/admin/keys/%s", id);
    EXPECT_STATUS(w.op, 204);
    http_once(w.http, "Bigtent-Tenant: %s", w.tenant);
    http_get(w.http, "/v1/usage");
    EXPECT_PROBLEM(w.http, 401, "unauthenticated");
}
END_TEST

START_TEST(a_tenant_key_may_name_only_itself)
{
    world_init(&w, (enum http_version)_i);
    char other[WORLD_ID];
    world_fresh_id(other);
    admin_create_tenant(w.op, other);
    http_once(w.http, "Bigtent-Tenant: %s", w.tenant);
    http_get(w.http, "/v1/usage");
    EXPECT_STATUS(w.http, 200);
    http_once(w.http, "Bigtent-Tenant: %s", other);
    http_get(w.http, "/v1/usage");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    /* the same answer for a tenant that does not exist: nobody learns which do */
    char detail[512];
    (void)snprintf(detail, sizeof(detail), "%s", http_string(w.http, "/detail"));
    ck_assert_ptr_null(strstr(detail, other));
    http_once(w.http, "Bigtent-Tenant: nobody-here");
    http_get(w.http, "/v1/usage");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    ck_assert_str_eq(http_string(w.http, "/detail"), detail);
}
END_TEST

START_TEST(an_operator_reads_no_data)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
    static const char *const paths[] = {"/v1/usage",
                                        "/v1/tables",
                                        "/v1/tables/devices",
                                        "/v1/tables/devices/rows",
                                        ROW "k",
                                        "/v1/tables/devices/cells/k/stats/q"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (i % 2 == 0)
            http_once(w.op, "Bigtent-Tenant: %s", w.tenant);
        http_get(w.op, "%s", paths[i]);
        EXPECT_PROBLEM(w.op, 403, "forbidden");
    }
    http_once(w.op, "Bigtent-Tenant: %s", w.tenant);
    http_json(w.op, "PUT", "{'stats':{'q':'2'}}", ROW "k");
    EXPECT_PROBLEM(w.op, 403, "forbidden");
    http_once(w.op, "Bigtent-Tenant: %s", w.tenant);
    http_delete(w.op, ROW "k");
    EXPECT_PROBLEM(w.op, 403, "forbidden");
    http_once(w.op, "Bigtent-Tenant: %s", w.tenant);
    http_json(w.op, "POST", "{'all':true}", "/v1/tables/devices:drop");
    EXPECT_PROBLEM(w.op, 403, "forbidden");
    http_get(w.http, ROW "k");
    EXPECT_STATUS(w.http, 200);
}
END_TEST

START_TEST(operator_keys_can_be_made_and_limited)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.op, "POST", "{'kind':'operator','scopes':['admin.read'],'label':'dashboards'}",
              "/v1/admin/keys");
    EXPECT_STATUS(w.op, 201);
    char key[WORLD_KEY], id[WORLD_ID];
    (void)snprintf(key, sizeof(key), "%s", http_string(w.op, "/key"));
    (void)snprintf(id, sizeof(id), "%s", http_string(w.op, "/id"));
    http_use_key(w.http, key);
    http_get(w.http, "/v1/admin/tenants/%s", w.tenant);
    EXPECT_STATUS(w.http, 200);
    http_json(w.http, "POST", "{'reason':'x'}", "/v1/admin/tenants/%s:suspend", w.tenant);
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    http_json(w.http, "POST", "{}", "/v1/admin/tenants/%s/keys", w.tenant);
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    http_get(w.op, "/v1/admin/keys");
    EXPECT_STATUS(w.op, 200);
    ck_assert_uint_ge(http_count(w.op, "/keys"), 2);
    http_delete(w.op, "/v1/admin/keys/%s", id);
    EXPECT_STATUS(w.op, 204);
    http_get(w.http, "/v1/admin/tenants/%s", w.tenant);
    EXPECT_PROBLEM(w.http, 401, "unauthenticated");
}
END_TEST

START_TEST(the_last_key_that_can_manage_keys_stays)
{
    world_init(&w, (enum http_version)_i);
    char id[13];
    (void)snprintf(id, sizeof(id), "%.12s", world_server()->operator_key + 4);
    http_delete(w.op, "/v1/admin/keys/%s", id);
    EXPECT_PROBLEM(w.op, 409, "conflict");
    /* a key that only reads does not count as another one */
    http_json(w.op, "POST", "{'kind':'operator','scopes':['admin.read']}", "/v1/admin/keys");
    EXPECT_STATUS(w.op, 201);
    char reader[WORLD_ID];
    (void)snprintf(reader, sizeof(reader), "%s", http_string(w.op, "/id"));
    http_delete(w.op, "/v1/admin/keys/%s", id);
    EXPECT_PROBLEM(w.op, 409, "conflict");
    http_delete(w.op, "/v1/admin/keys/%s", reader);
    EXPECT_STATUS(w.op, 204);
    http_get(w.op, "/v1/admin/keys");
    EXPECT_STATUS(w.op, 200);
}
END_TEST

static const struct {
    const char *path;
    const char *body;
} BAD_KEYS[] = {
    {"/v1/admin/tenants/%s/keys", "{'scopes':['admin.read']}"},
    {"/v1/admin/tenants/%s/keys", "{'scopes':['data.everything']}"},
    {"/v1/admin/tenants/%s/keys", "{'scopes':'data.read'}"},
    {"/v1/admin/tenants/%s/keys", "{'scopes':[]}"},
    {"/v1/admin/tenants/%s/keys", "{'scopes':[1]}"},
    {"/v1/admin/tenants/%s/keys", "{'label':1}"},
    {"/v1/admin/tenants/%s/keys", "{'label':'two\\nlines'}"},
    {"/v1/admin/tenants/%s/keys", "{'scope':['data.read']}"},
    {"/v1/admin/keys", "{}"},
    {"/v1/admin/keys", "{'kind':'tenant'}"},
    {"/v1/admin/keys", "{'kind':'root'}"},
    {"/v1/admin/keys", "{'kind':'operator','scopes':['data.read']}"},
    {"/v1/admin/keys", "{'kind':'service','scopes':['admin.write']}"},
};

START_TEST(keys_that_make_no_sense_are_not_made)
{
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    size_t n = (size_t)_i / HTTP_VERSIONS;
    bool global = strchr(BAD_KEYS[n].path, '%') == NULL;
    if (global)
        http_json(w.op, "POST", BAD_KEYS[n].body, "/v1/admin/keys");
    else
        http_json(w.op, "POST", BAD_KEYS[n].body, "/v1/admin/tenants/%s/keys", w.tenant);
    EXPECT_PROBLEM(w.op, 400, "invalid");
    http_get(w.op, "/v1/admin/tenants/%s/keys", w.tenant);
    ck_assert_uint_eq(http_count(w.op, "/keys"), 1);
}
END_TEST

/* --- presenting no key, or a bad one ---------------------------------------------------------- */

/* KEY stands for a good key, BAD for one with its last character changed. */
static const struct {
    const char *what;
    const char *first;
    const char *second;
    int status;
    const char *code;
} HEADERS[] = {
    {"no header", NULL, NULL, 401, "unauthenticated"},
    {"only the scheme", "Authorization: Bearer", NULL, 401, "unauthenticated"},
    {"empty x-goog-api-key", "x-goog-api-key;", NULL, 401, "unauthenticated"},
    {"basic", "Authorization: Basic YTpi", NULL, 401, "unauthenticated"},
    {"no scheme", "Authorization: KEY", NULL, 401, "unauthenticated"},
    {"not a key", "Authorization: Bearer hello", NULL, 401, "unauthenticated"},
    {"changed at the end", "Authorization: Bearer BAD", NULL, 401, "unauthenticated"},
    {"longer by one", "Authorization: Bearer KEYx", NULL, 401, "unauthenticated"},
    {"two spaces and more", "Authorization: Bearer KEY KEY", NULL, 401, "unauthenticated"},
    {"made up", "Authorization: Bearer btt_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
     NULL, 401, "unauthenticated"},
    {"both headers", "Authorization: Bearer KEY", "x-goog-api-key: KEY", 400, "invalid"},
    {"twice the same header", "x-goog-api-key: KEY", "X-Goog-Api-Key: KEY", 400, "invalid"},
    {"twice authorization", "Authorization: Bearer KEY", "authorization: Bearer KEY", 400,
     "invalid"},
};

static void add_header(const char *pattern)
{
    char line[1024];
    size_t n = 0;
    for (const char *c = pattern; *c != '\0';) {
        bool good = strncmp(c, "KEY", 3) == 0;
        if (good || strncmp(c, "BAD", 3) == 0) {
            n += (size_t)snprintf(line + n, sizeof(line) - n, "%s", w.key);
            if (!good)
                line[n - 1] = line[n - 1] == 'A' ? 'B' : 'A';
            c += 3;
        } else {
            line[n++] = *c++;
        }
    }
    line[n] = '\0';
    http_once(w.http, "%s", line);
}

START_TEST(without_one_good_key_nothing_happens)
{
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    size_t n = (size_t)_i / HTTP_VERSIONS;
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
    http_use_key(w.http, NULL);
    static const char *const methods[] = {"GET", "PUT", "DELETE"};
    for (size_t i = 0; i < 3; i++) {
        if (HEADERS[n].first != NULL)
            add_header(HEADERS[n].first);
        if (HEADERS[n].second != NULL)
            add_header(HEADERS[n].second);
        http_send(w.http, methods[i], ROW "k",
                  i == 1 ? SLICE_LIT("{\"stats\":{\"q\":\"2\"}}") : SLICE_EMPTY);
        EXPECT_PROBLEM_OF(w.http, HEADERS[n].what, HEADERS[n].status, HEADERS[n].code);
        ck_assert_ptr_null(strstr(http_text(w.http), w.key + 16));
    }
    http_use_key(w.http, w.key);
    http_get(w.http, ROW "k");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/0/value"), "1");
    EXPECT_USAGE(tenant_usage(w.http), 16, 1, 1);
}
END_TEST

Suite *suite_api_keys(void);
Suite *suite_api_keys(void)
{
    Suite *s = suite_create("api_keys");
    TCase *tc = tcase_create("keys");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, a_key_is_shown_once_and_listed_without_secret, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, each_route_needs_its_scope, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_revoked_key_is_refused_at_once, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_key_is_revoked_only_under_its_own_tenant, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, both_ways_to_present_a_key, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_service_key_names_its_tenant, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_tenant_key_may_name_only_itself, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, an_operator_reads_no_data, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, operator_keys_can_be_made_and_limited, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, the_last_key_that_can_manage_keys_stays, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, keys_that_make_no_sense_are_not_made, 0, HTTP_EACH(BAD_KEYS));
    tcase_add_loop_test(tc, without_one_good_key_nothing_happens, 0, HTTP_EACH(HEADERS));
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/api/test_audit.c - what operators and tenants do to tenants, keys and tables is recorded,
 * also when it is refused; data and secrets are not; each tenant sees its own records.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "auth/scopes.h"
#include "gateway/api/routes.h"
#include "gateway/grpc/method.h"
#include "tests/support/process.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define SECRET "canary5e94"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

/* --- the tables --------------------------------------------------------------------------------
 */

START_TEST(every_route_that_changes_more_than_rows_is_an_action)
{
    const uint64_t admin = AUTH_TABLE_ADMIN | AUTH_ADMIN_WRITE;
    for (const struct gw_route *r = gw_routes; r->method != NULL; r++) {
        bool changes = (r->scope & admin) != 0 && strcmp(r->method, "GET") != 0;
        ck_assert_msg((r->audit != NULL) == changes, "%s %s", r->method, r->pattern);
    }
    for (const struct gw_method *m = gw_methods; m->service != NULL; m++)
        ck_assert_msg((m->audit != NULL) == ((m->scope & admin) != 0), "%s", m->name);
}
END_TEST

/* --- reading the trail -------------------------------------------------------------------------
 */

struct wanted {
    struct http *http;
    size_t count;
};

/* A refusal is recorded behind its answer. */
static bool are_recorded(void *arg)
{
    const struct wanted *wanted = arg;
    http_get(wanted->http, "/v1/admin/audit?tenant=%s", w.tenant);
    EXPECT_STATUS(wanted->http, 200);
    return http_count(wanted->http, "/records") >= wanted->count;
}

/* The last record about the world's tenant, from its own trail, once there are so many. */
static json_t *last_of(struct http *h, size_t count)
{
    struct wanted wanted = {h, count};
    process_await(are_recorded, &wanted, "a record of the trail");
    ck_assert_uint_eq(http_count(h, "/records"), count);
    return json_array_get(http_at(h, "/records"), count - 1);
}

static const char *field(const json_t *record, const char *name)
{
    const char *text = json_string_value(json_object_get(record, name));
    return text != NULL ? text : "";
}

static void expect_action(const json_t *record, const char *action, const char *outcome,
                          const char *target)
{
    ck_assert_str_eq(field(record, "action"), action);
    ck_assert_str_eq(field(record, "outcome"), outcome);
    ck_assert_str_eq(field(record, "target"), target);
    ck_assert_str_eq(field(record, "tenant"), w.tenant);
    ck_assert_str_eq(field(record, "address"), "127.0.0.1");
}

/* A world is made by three actions: the tenant, its key, its table. */
#define BEFORE 3

START_TEST(an_operators_action_is_recorded)
{
    world_init(&w, (enum http_version)_i);
    const json_t *record = last_of(w.op, BEFORE);
    expect_action(record, "table.put", "done", "devices");
    ck_assert_str_eq(field(record, "detail"), "families=stats,raw");
    ck_assert_str_eq(field(record, "kind"), "tenant");
    http_json(w.op, "POST", "{'reason':'" SECRET "'}", "/v1/admin/tenants/%s:suspend", w.tenant);
    EXPECT_STATUS(w.op, 200);
    record = last_of(w.op, BEFORE + 1);
    expect_action(record, "tenant.suspend", "done", "");
    ck_assert_str_eq(field(record, "kind"), "operator");
    ck_assert_uint_eq(strlen(field(record, "key")), 12);
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:resume", w.tenant);
    http_json(w.op, "PUT", "{'rows':7}", "/v1/admin/tenants/%s/quota", w.tenant);
    EXPECT_STATUS(w.op, 200);
    record = last_of(w.op, BEFORE + 3);
    expect_action(record, "tenant.quota", "done", "");
    ck_assert_ptr_nonnull(strstr(field(record, "detail"), "rows=7"));
}
END_TEST

START_TEST(a_refused_action_is_recorded)
{
    world_init(&w, (enum http_version)_i);
    char key[WORLD_KEY];
    admin_create_key(w.op, w.tenant, "['data.read']", key, NULL);
    http_use_key(w.http, key);
    http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/other");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    expect_action(last_of(w.op, BEFORE + 2), "table.put", "forbidden", "other");
    http_use_key(w.http, w.key);
    http_json(w.http, "PUT", "{'families':1}", "/v1/tables/other");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    expect_action(last_of(w.op, BEFORE + 3), "table.put", "invalid", "other");
    http_delete(w.http, "/v1/tables/nothing");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    expect_action(last_of(w.op, BEFORE + 4), "table.delete", "not_found", "nothing");
    http_json(w.http, "POST", "{}", "/v1/admin/tenants/%s:suspend", w.tenant);
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    expect_action(last_of(w.op, BEFORE + 5), "tenant.suspend", "forbidden", "");
}
END_TEST

START_TEST(nobody_unknown_and_no_reading_is_recorded)
{
    world_init(&w, (enum http_version)_i);
    http_use_key(w.http, "btt_000000000000000000000000000000000000000000000000000000");
    http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/other");
    EXPECT_PROBLEM(w.http, 401, "unauthenticated");
    http_use_key(w.http, w.key);
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
    http_get(w.http, "/v1/tables/devices/rows");
    http_get(w.http, "/v1/tables/none/rows");
    http_json(w.http, "POST", "{'all':true,'dry_run':true}", "/v1/tables/devices:drop");
    EXPECT_STATUS(w.http, 200);
    /* what would be recorded of them comes before the record of a later refusal */
    http_delete(w.http, "/v1/tables/nothing");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    expect_action(last_of(w.op, BEFORE + 1), "table.delete", "not_found", "nothing");
}
END_TEST

START_TEST(a_drop_is_recorded_before_and_behind_it_without_its_prefix)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", SECRET "1", "stats", "q", "1");
    http_json(w.http, "POST", "{'prefix':'" SECRET "'}", "/v1/tables/devices:drop");
    EXPECT_STATUS(w.http, 200);
    const json_t *end = last_of(w.op, BEFORE + 2);
    expect_action(end, "table.drop_rows", "done", "devices");
    ck_assert_str_eq(field(end, "detail"), "end rows=1 bytes=26");
    const json_t *begin = json_array_get(http_at(w.op, "/records"), BEFORE);
    expect_action(begin, "table.drop_rows", "done", "devices");
    ck_assert_str_eq(field(begin, "detail"), "begin prefix_bytes=10");
}
END_TEST

static void expect_not_in_body(struct http *h, const char *text)
{
    ck_assert_ptr_null(memmem(h->body.ptr, h->body.len, text, strlen(text)));
}

START_TEST(no_data_and_no_secret_is_in_the_trail)
{
    world_init(&w, (enum http_version)_i);
    char key[WORLD_KEY], id[WORLD_ID];
    tenant_put(w.http, "devices", SECRET, "stats", SECRET, SECRET);
    http_json(w.http, "POST", "{'prefix':'" SECRET "'}", "/v1/tables/devices:drop");
    http_json(w.http, "PUT", "{'families':{'stats':{},'raw':{}},'row_key_notes':'" SECRET "'}",
              "/v1/tables/devices");
    EXPECT_STATUS(w.http, 200);
    http_json(w.op, "POST", "{'label':'" SECRET "'}", "/v1/admin/tenants/%s/keys", w.tenant);
    EXPECT_STATUS(w.op, 201);
    (void)snprintf(key, sizeof key, "%s", http_string(w.op, "/key"));
    (void)snprintf(id, sizeof id, "%s", http_string(w.op, "/id"));
    /* a key where its ID belongs */
    http_delete(w.op, "/v1/admin/tenants/%s/keys/%s", w.tenant, key);
    EXPECT_PROBLEM(w.op, 404, "not_found");
    const json_t *record = last_of(w.op, BEFORE + 5);
    expect_action(record, "key.revoke", "not_found", "(an API key)");
    expect_not_in_body(w.op, SECRET);
    expect_not_in_body(w.op, key + 16);
    record = json_array_get(http_at(w.op, "/records"), BEFORE + 3);
    expect_action(record, "key.create", "done", id);
}
END_TEST

/* --- forms and views ---------------------------------------------------------------------------
 */

START_TEST(a_tenant_sees_its_own_records_and_nothing_of_others)
{
    world_init(&w, (enum http_version)_i);
    admin_create_tenant(w.op, "other-of-audit");
    http_json(w.http, "POST", "{}", "/v1/admin/tenants/other-of-audit:suspend");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    (void)last_of(w.op, BEFORE + 1);
    http_get(w.http, "/v1/audit");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, "/records"), BEFORE + 1);
    for (size_t i = 0; i < BEFORE + 1; i++) {
        const json_t *r = json_array_get(http_at(w.http, "/records"), i);
        ck_assert_int_eq(json_integer_value(json_object_get(r, "tenant_number")), (int)i + 1);
        ck_assert_str_eq(field(r, "tenant"), w.tenant);
        ck_assert_ptr_null(json_object_get(r, "number"));
        ck_assert_ptr_null(json_object_get(r, "before"));
        ck_assert_ptr_null(json_object_get(r, "hash"));
    }
    http_get(w.op, "/v1/admin/audit?tenant=other-of-audit");
    ck_assert_uint_eq(http_count(w.op, "/records"), 1); /* its making alone */
    char key[WORLD_KEY];
    admin_create_key(w.op, w.tenant, "['data.read']", key, NULL);
    http_use_key(w.http, key);
    http_get(w.http, "/v1/audit");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    http_use_key(w.http, w.key);
    http_get(w.http, "/v1/admin/audit");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
}
END_TEST

/* Which operator it was, and from where: its kind is told. */
START_TEST(a_tenant_does_not_see_the_operators_key_and_address)
{
    world_init(&w, (enum http_version)_i);
    const json_t *seen = last_of(w.op, BEFORE);
    const json_t *made = json_array_get(http_at(w.op, "/records"), 0);
    char id[WORLD_ID], actor[80];
    ck_assert_str_eq(field(made, "kind"), "operator");
    ck_assert_str_eq(field(made, "address"), "127.0.0.1");
    ck_assert_str_eq(field(seen, "kind"), "tenant");
    (void)snprintf(id, sizeof id, "%s", field(made, "key"));
    (void)snprintf(actor, sizeof actor, "%s", field(made, "actor"));
    ck_assert_uint_eq(strlen(field(made, "salt")), 32);
    http_get(w.http, "/v1/audit");
    EXPECT_STATUS(w.http, 200);
    expect_not_in_body(w.http, id);
    made = json_array_get(http_at(w.http, "/records"), 0);
    ck_assert_str_eq(field(made, "kind"), "operator");
    ck_assert_str_eq(field(made, "actor"), actor);
    static const char *const hidden[] = {"key", "address", "salt"};
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        ck_assert(json_is_null(json_object_get(made, hidden[i])));
    seen = json_array_get(http_at(w.http, "/records"), BEFORE - 1); /* made by its own key */
    ck_assert_uint_eq(strlen(field(seen, "key")), 12);
    ck_assert_str_eq(field(seen, "address"), "127.0.0.1");
    ck_assert_uint_eq(strlen(field(seen, "salt")), 32);
}
END_TEST

static bool service_was_refused(void *arg)
{
    size_t i;
    json_t *record;
    (void)arg;
    http_get(w.op, "/v1/admin/audit?limit=1000");
    EXPECT_STATUS(w.op, 200);
    json_array_foreach(http_at(w.op, "/records"), i,
                       record) if (strcmp(field(record, "kind"), "service") == 0) return true;
    return false;
}

/* It was refused before it was known whose table that is: with no tenant would the name go. */
START_TEST(what_a_service_key_named_in_vain_is_not_recorded)
{
    char key[WORLD_KEY];
    world_init(&w, (enum http_version)_i);
    http_json(w.op, "POST", "{'kind':'service','scopes':['data.read']}", "/v1/admin/keys");
    EXPECT_STATUS(w.op, 201);
    (void)snprintf(key, sizeof key, "%s", http_string(w.op, "/key"));
    struct http *service = http_open(world_server(), (enum http_version)_i, key);
    http_once(service, "Bigtent-Tenant: other-of-audit");
    http_json(service, "PUT", "{'families':{'f':{}}}", "/v1/tables/zq-hidden");
    ck_assert_int_eq(service->status, 403);
    http_close(service);
    process_await(service_was_refused, NULL, "the record of a refusal");
    expect_not_in_body(w.op, "zq-hidden");
}
END_TEST

START_TEST(pages_and_lines_give_the_same_records)
{
    world_init(&w, (enum http_version)_i);
    http_get(w.http, "/v1/audit?limit=2");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, "/records"), 2);
    ck_assert_int_eq(http_number(w.http, "/next_from"), 3);
    http_get(w.http, "/v1/audit?from=3&limit=2");
    ck_assert_uint_eq(http_count(w.http, "/records"), 1);
    ck_assert_ptr_null(json_object_get(http_body(w.http), "next_from"));
    json_t *last = json_deep_copy(json_array_get(http_at(w.http, "/records"), 0));
    http_once(w.http, "Accept: application/x-ndjson");
    http_get(w.http, "/v1/audit");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_lines(w.http), BEFORE);
    json_t *line = http_line_new(w.http, BEFORE - 1);
    ck_assert(json_equal(line, last));
    json_decref(line);
    json_decref(last);
    http_once(w.http, "Accept: application/x-ndjson");
    http_get(w.http, "/v1/audit?from=%d", BEFORE + 1);
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_lines(w.http), 0);
}
END_TEST

START_TEST(the_head_is_the_newest_record)
{
    world_init(&w, (enum http_version)_i);
    http_get(w.op, "/v1/admin/audit/head");
    EXPECT_STATUS(w.op, 200);
    long long number = (long long)http_number(w.op, "/number");
    char hash[80];
    (void)snprintf(hash, sizeof hash, "%s", http_string(w.op, "/hash"));
    http_get(w.op, "/v1/admin/audit?from=%lld&limit=1", number);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/records/0/hash"), hash);
    ck_assert_int_eq(http_number(w.op, "/records/0/number"), number);
}
END_TEST

/* More than a portion of lines, more than a page. */
START_TEST(a_long_trail_streams_to_its_end)
{
    world_init(&w, (enum http_version)_i);
    for (int i = 0; i < 1100; i++) {
        http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:%s", w.tenant,
                  i % 2 == 0 ? "suspend" : "resume");
        EXPECT_STATUS(w.op, 200);
    }
    http_once(w.op, "Accept: application/x-ndjson");
    http_get(w.op, "/v1/admin/audit?tenant=%s", w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_uint_eq(http_lines(w.op), BEFORE + 1100);
    http_get(w.op, "/v1/admin/audit?tenant=%s", w.tenant);
    ck_assert_uint_eq(http_count(w.op, "/records"), 1000);
    ck_assert_int_eq(http_number(w.op, "/next_from"), 1001);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
    world_init(&w, (enum http_version)_i);
    static const char *const bad[] = {"?from=0", "?from=x", "?limit=0", "?limit=1001", "?until=1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        http_get(w.op, "/v1/admin/audit%s", bad[i]);
        EXPECT_PROBLEM(w.op, 400, "invalid");
    }
    http_get(w.op, "/v1/admin/audit?tenant=nobody");
    EXPECT_PROBLEM(w.op, 404, "not_found");
    http_get(w.http, "/v1/audit?tenant=%s", w.tenant);
    EXPECT_PROBLEM(w.http, 400, "invalid");
}
END_TEST

Suite *suite_api_audit(void);

Suite *suite_api_audit(void)
{
    Suite *s = suite_create("api_audit");
    TCase *tables = tcase_create("tables");
    tcase_add_test(tables, every_route_that_changes_more_than_rows_is_an_action);
    suite_add_tcase(s, tables);
    TCase *tc = tcase_create("audit");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, an_operators_action_is_recorded, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_refused_action_is_recorded, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, nobody_unknown_and_no_reading_is_recorded, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_drop_is_recorded_before_and_behind_it_without_its_prefix, 0,
                        HTTP_VERSIONS);
    tcase_add_loop_test(tc, no_data_and_no_secret_is_in_the_trail, 0, HTTP_VERSIONS);
    tcase_add_test(tc, a_tenant_sees_its_own_records_and_nothing_of_others);
    tcase_add_loop_test(tc, a_tenant_does_not_see_the_operators_key_and_address, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, what_a_service_key_named_in_vain_is_not_recorded, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, pages_and_lines_give_the_same_records, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, the_head_is_the_newest_record, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_long_trail_streams_to_its_end, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, what_makes_no_sense_is_refused, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

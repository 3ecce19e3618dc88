/*
 * tests/crash/test_admin.c - what an operator was told is done stays done after kill -9: tenants,
 * keys, revocations, quotas, suspensions, tables; removals that were under way end exactly counted.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "tests/support/random.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct server server;
static struct world w;

static void set_up(void)
{
    server_create(&server);
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "ab");
}

static void tear_down(void)
{
    world_fini(&w);
    server_stop(&server);
    server_remove(&server);
}

/* The next start finds whatever reached the disk. */
static void crash(void)
{
    server_kill(&server);
    server_start(&server, NULL);
    http_reconnect(w.op);
    http_reconnect(w.http);
}

static void fill(const char *table, int rows)
{
    struct buf body;
    base_buf_init(&body, 64 * MIB);
    for (int i = 0; i < rows; i++)
        ck_assert_int_eq(
            base_buf_printf(&body, "{\"key\":\"row%06d\",\"cells\":{\"raw\":{\"v\":\"%d\"}}}\n", i,
                            i),
            ERR_OK);
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_bytes(w.http, "POST", base_buf_slice(&body), "/v1/tables/%s:write", table);
    EXPECT_STATUS(w.http, 200);
    base_buf_fini(&body);
}

static bool has_rows(void *arg)
{
    return tenant_usage(w.http).rows == *(int64_t *)arg;
}

static bool has_cells(void *arg)
{
    return tenant_usage(w.http).cells == *(int64_t *)arg;
}

START_TEST(an_acknowledged_tenant_and_key_are_there)
{
    char key[WORLD_KEY];
    admin_create_tenant(w.op, "abc");
    crash();
    http_get(w.op, "/v1/admin/tenants/abc");
    EXPECT_STATUS(w.op, 200);
    http_value_take(w.op, "POST", json_pack("{s:s}", "id", "abc"), "/v1/admin/tenants");
    EXPECT_PROBLEM(w.op, 409, "exists");
    admin_create_key(w.op, "abc", NULL, key, NULL);
    crash();
    http_use_key(w.http, key);
    ck_assert_int_eq(tenant_usage(w.http).rows, 0);
    ck_assert_str_eq(http_string(w.http, "/tenant"), "abc");
}
END_TEST

START_TEST(a_revoked_key_stays_revoked)
{
    char key[WORLD_KEY], id[WORLD_ID];
    admin_create_key(w.op, "ab", NULL, key, id);
    http_delete(w.op, "/v1/admin/tenants/ab/keys/%s", id);
    EXPECT_STATUS(w.op, 204);
    crash();
    http_use_key(w.http, key);
    http_get(w.http, "/v1/usage");
    EXPECT_PROBLEM(w.http, 401, "unauthenticated");
}
END_TEST

START_TEST(a_suspension_and_its_end_are_kept)
{
    http_json(w.op, "POST", "{'reason':'unpaid'}", "/v1/admin/tenants/ab:suspend");
    EXPECT_STATUS(w.op, 200);
    crash();
    http_get(w.http, "/v1/usage");
    EXPECT_PROBLEM(w.http, 403, "suspended");
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/ab:resume");
    EXPECT_STATUS(w.op, 200);
    crash();
    ck_assert_int_eq(tenant_usage(w.http).rows, 0);
}
END_TEST

START_TEST(a_quota_is_kept_and_enforced)
{
    fill("devices", 10);
    admin_set_quota(w.op, "ab", "{'rows':10}");
    crash();
    http_json(w.http, "PUT", "{'stats':{'q':'1'}}", "/v1/tables/devices/rows/another");
    EXPECT_PROBLEM(w.http, 403, "quota");
    ck_assert_int_eq(tenant_usage(w.http).rows, 10);
}
END_TEST

START_TEST(a_table_and_its_changed_families_are_kept)
{
    http_json(w.http, "PUT", "{'families':{'stats':{'gc':{'max_versions':2}},'raw':{},'new':{}}}",
              "/v1/tables/devices");
    EXPECT_STATUS(w.http, 200);
    crash();
    http_get(w.http, "/v1/tables/devices");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, "/families"), 3);
    ck_assert_int_eq(http_number(w.http, "/families/stats/gc/max_versions"), 2);
    tenant_put(w.http, "devices", "k", "new", "q", "1");
}
END_TEST

START_TEST(a_table_being_deleted_does_not_come_back)
{
    struct random dice = {(uint64_t)_i * 31 + 5};
    fill("devices", 5000);
    http_json(w.http, "PUT", "{'families':{'raw':{}}}", "/v1/tables/kept");
    EXPECT_STATUS(w.http, 201);
    fill("kept", 100);
    /* the answer comes when the rows are gone: it is not waited for */
    curl_easy_setopt(w.http->curl, CURLOPT_TIMEOUT_MS, 1L + (long)random_below(&dice, 40));
    bool answered = http_try(w.http, "DELETE", "/v1/tables/devices", SLICE_EMPTY);
    bool acknowledged = answered && w.http->status == 204;
    server_kill(&server);
    server_start(&server, NULL);
    curl_easy_setopt(w.http->curl, CURLOPT_TIMEOUT_MS, 60000L);
    http_reconnect(w.op);
    http_reconnect(w.http);
    /* It is gone, or the request had not been taken yet; then every row is there. */
    http_get(w.http, "/v1/tables/devices/rows?limit=10000");
    ck_assert_msg(w.http->status == 404 || (!acknowledged && w.http->status == 200),
                  "DATA: the deletion was acknowledged: %d; then %d", acknowledged, w.http->status);
    if (w.http->status == 200)
        ck_assert_msg(http_count(w.http, "/rows") == 5000, "DATA: %zu of 5000 rows are there",
                      http_count(w.http, "/rows"));
    /* A removal that a crash interrupted goes on by itself. */
    int64_t expected = w.http->status == 200 ? 5100 : 100;
    process_await(has_rows, &expected, "the removal to end");
    ck_assert_int_eq(admin_recount(w.op, "ab").rows, expected);
}
END_TEST

START_TEST(a_drop_cut_short_is_exactly_counted)
{
    struct random dice = {(uint64_t)_i * 17 + 3};
    fill("devices", 20000);
    curl_easy_setopt(w.http->curl, CURLOPT_TIMEOUT_MS, 1L + (long)random_below(&dice, 60));
    bool answered = http_try(w.http, "POST", "/v1/tables/devices:drop", quoted("{'all':true}"));
    int64_t left_at_most = answered ? 0 : 20000;
    server_kill(&server);
    server_start(&server, NULL);
    curl_easy_setopt(w.http->curl, CURLOPT_TIMEOUT_MS, 60000L);
    http_reconnect(w.op);
    http_reconnect(w.http);
    struct usage counted = admin_recount(w.op, "ab"); /* drift 0 */
    ck_assert_int_le(counted.rows, left_at_most);
    EXPECT_USAGE(tenant_usage(w.http), counted.bytes, counted.rows, counted.cells);
    http_once(w.http, "Accept: application/x-ndjson");
    http_get(w.http, "/v1/tables/devices/rows");
    ck_assert_int_eq((int64_t)http_lines(w.http), counted.rows);
    http_json(w.http, "POST", "{'all':true}", "/v1/tables/devices:drop");
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(http_number(w.http, "/removed/rows"), counted.rows);
    EXPECT_USAGE(admin_recount(w.op, "ab"), 0, 0, 0);
}
END_TEST

/* raw:v of 20000 rows goes; twenty rows keep stats:k. */
START_TEST(a_dropped_family_goes_exactly_counted_over_crashes)
{
    struct random dice = {(uint64_t)_i * 13 + 7};
    fill("devices", 20000);
    http_json(w.http, "PUT", "{'families':{'stats':{},'raw':{},'new':{}}}", "/v1/tables/devices");
    for (int i = 0; i < 20; i++) {
        char row[32];
        (void)snprintf(row, sizeof row, "row%06d", i * 1000);
        tenant_put(w.http, "devices", row, "stats", "k", "v");
    }
    http_json(w.http, "POST", "{'drop':['raw']}", "/v1/tables/devices:families");
    EXPECT_STATUS(w.http, 200);
    for (int crashes = 0; crashes < 3; crashes++) {
        process_sleep_ms(1 + (int)random_below(&dice, 30));
        crash();
        struct usage counted = admin_recount(w.op, "ab"); /* drift 0 */
        ck_assert_int_ge(counted.cells, 20);
    }
    process_await(has_cells, &(int64_t){20}, "the dropped family's cells to go");
    int64_t bytes = 20 * (9 + 5 + 1 + 1 + 8);
    EXPECT_USAGE(tenant_usage(w.http), bytes, 20, 20);
    EXPECT_USAGE(admin_recount(w.op, "ab"), bytes, 20, 20);
    http_get(w.http, "/v1/tables/devices");
    ck_assert_ptr_null(http_at(w.http, "/families/raw"));
    crash();
    EXPECT_USAGE(admin_recount(w.op, "ab"), bytes, 20, 20);
}
END_TEST

Suite *suite_crash_admin(void);
Suite *suite_crash_admin(void)
{
    Suite *s = suite_create("crash_admin");
    int rounds = (int)process_rounds(5);
    TCase *tc = tcase_create("admin");
    tcase_set_timeout(tc, 90);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, an_acknowledged_tenant_and_key_are_there);
    tcase_add_test(tc, a_revoked_key_stays_revoked);
    tcase_add_test(tc, a_suspension_and_its_end_are_kept);
    tcase_add_test(tc, a_quota_is_kept_and_enforced);
    tcase_add_test(tc, a_table_and_its_changed_families_are_kept);
    tcase_add_loop_test(tc, a_table_being_deleted_does_not_come_back, 0, rounds);
    tcase_add_loop_test(tc, a_drop_cut_short_is_exactly_counted, 0, rounds);
    tcase_add_loop_test(tc, a_dropped_family_goes_exactly_counted_over_crashes, 0, rounds);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/api/test_quota.c - ceilings on what is stored and on how fast.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "tests/support/rates.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

#define ROW "/v1/tables/devices/rows/"

#define DEFAULTS                                                                                   \
    "'row_key_bytes':4096,'qualifier_bytes':16384,'cell_bytes':10485760,'row_bytes':268435456,"    \
    "'mutations_per_row':100000,'families':100,'tables':1000"
#define STANDARD                                                                                   \
    "'keys':1000,'read_bytes_per_s':null,'write_bytes_per_s':null,'burst_ms':1000,"                \
    "'concurrent_requests':1000,'weight':100,'reserved_ops_per_s':0,'change_streams':1,"           \
    "'authorized_views':1,'control_ops_per_s':20,'audit_days':400"
#define LOWERED                                                                                    \
    "'row_key_bytes':10,'qualifier_bytes':20,'cell_bytes':2048,'row_bytes':4096,"                  \
    "'mutations_per_row':30,'families':40,'tables':50"

START_TEST(a_quota_is_shown_as_it_was_set)
{
    world_init(&w, (enum http_version)_i);
    admin_set_quota(w.op, w.tenant,
                    "{'stored_bytes':1000000,'rows':500,'read_ops_per_s':100,"
                    "'write_ops_per_s':50," LOWERED "}");
    http_get(w.op, "/v1/admin/tenants/%s/quota", w.tenant);
    EXPECT_STATUS(w.op, 200);
    EXPECT_JSON(w.op, "{'stored_bytes':1000000,'rows':500,'read_ops_per_s':100,"
                      "'write_ops_per_s':50," STANDARD
                      ",'change_bytes':1000000,'backup_bytes':8000000,'idempotency_tokens':1000000,"
                      "'schema_bytes':16777216," LOWERED ",'plan':null,"
                      "'own':{'stored_bytes':1000000,'rows':500,'read_ops_per_s':100,"
                      "'write_ops_per_s':50," LOWERED "}}");
    http_get(w.http, "/v1/usage");
    ck_assert_int_eq(http_number(w.http, "/quota/stored_bytes"), 1000000);
    ck_assert_int_eq(http_number(w.http, "/quota/cell_bytes"), 2048);
    ck_assert_int_eq(http_number(w.http, "/quota/row_key_bytes"), 10);
    ck_assert_int_eq(http_number(w.http, "/quota/tables"), 50);
    http_get(w.op, "/v1/admin/tenants/%s", w.tenant);
    ck_assert_int_eq(http_number(w.op, "/quota/families"), 40);
    admin_set_quota(w.op, w.tenant, "{'rows':null,'stored_bytes':7}");
    http_get(w.op, "/v1/admin/tenants/%s/quota", w.tenant);
    EXPECT_JSON(w.op, "{'stored_bytes':7,'rows':null,'read_ops_per_s':null,"
                      "'write_ops_per_s':null," STANDARD
                      ",'change_bytes':7,'backup_bytes':56,'idempotency_tokens':1000000,'schema_"
                      "bytes':16777216," DEFAULTS ",'plan':null,"
                      "'own':{'rows':null,'stored_bytes':7}}");
}
END_TEST

static const char *const BAD_QUOTAS[] = {
    "{'families':null}",
    "{'weight':null}",
    "{'keys':0}",
    "{'keys':1001}",
    "{'read_bytes_per_s':1023}",
    "{'burst_ms':99}",
    "{'change_streams':2}",
    "{'read_ops_per_s':5,'write_ops_per_s':6,'reserved_ops_per_s':7}",
    "{'stored_bytes':-1}",
    "{'rows':'7'}",
    "{'rows':1.5}",
    "{'unknown':1}",
    "{'cell_bytes':999999999999}",
    "{'row_key_bytes':0}",
    "{'row_key_bytes':4097}",
    "{'qualifier_bytes':0}",
    "{'qualifier_bytes':16385}",
    "{'cell_bytes':0}",
    "{'cell_bytes':104857601}",
    "{'row_bytes':0}",
    "{'row_bytes':268435457}",
    "{'mutations_per_row':0}",
    "{'mutations_per_row':100001}",
    "{'families':0}",
    "{'families':101}",
    "{'tables':0}",
    "{'tables':1001}",
    "{'tables':'7'}",
    "[]",
    "{'read_ops_per_s':-5}",
    "{'rows':true}",
    "{'write_ops_per_s':2000000000}",
    "{'rows':1,'rows':2}",
    "",
};

START_TEST(a_quota_that_makes_no_sense_changes_nothing)
{
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    admin_set_quota(w.op, w.tenant, "{'rows':12}");
    http_json(w.op, "PUT", BAD_QUOTAS[_i / HTTP_VERSIONS], "/v1/admin/tenants/%s/quota", w.tenant);
    EXPECT_PROBLEM(w.op, 400, "invalid");
    http_get(w.op, "/v1/admin/tenants/%s/quota", w.tenant);
    ck_assert_int_eq(http_number(w.op, "/rows"), 12);
}
END_TEST

START_TEST(the_byte_quota_is_exact_and_lets_deletes_pass)
{
    world_init(&w, (enum http_version)_i);
    /* a row is 1 + 5 + 1 + 10 + 8 = 25 bytes: exactly four fit */
    admin_set_quota(w.op, w.tenant, "{'stored_bytes':100}");
    for (int i = 0; i < 4; i++) {
        char key[2] = {(char)('a' + i), '\0'};
        tenant_put(w.http, "devices", key, "stats", "q", "0123456789");
    }
    http_json(w.http, "PUT", "{'stats':{'q':''}}", ROW "e");
    EXPECT_PROBLEM(w.http, 403, "quota");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "100"));
    http_bytes(w.http, "PUT", SLICE_EMPTY, "/v1/tables/devices/cells/e/raw/q");
    EXPECT_PROBLEM(w.http, 403, "quota");
    /* replacing a value by one that is not longer passes, by a longer one does not */
    http_json(w.http, "PUT", "{'stats':{'q':'9876543210'}}", ROW "a");
    EXPECT_STATUS(w.http, 200);
    http_json(w.http, "PUT", "{'stats':{'q':'9876543210X'}}", ROW "a");
    EXPECT_PROBLEM(w.http, 403, "quota");
    EXPECT_USAGE(tenant_usage(w.http), 100, 4, 4);
    /* every kind of delete passes */
    http_json(w.http, "PATCH", "{'stats':{'q':null}}", ROW "a");
    EXPECT_STATUS(w.http, 200);
    http_delete(w.http, ROW "b");
    EXPECT_STATUS(w.http, 204);
    http_delete(w.http, "/v1/tables/devices/cells/c/stats/q");
    EXPECT_STATUS(w.http, 204);
    http_json(w.http, "POST", "{'prefix':'d'}", "/v1/tables/devices:drop");
    EXPECT_STATUS(w.http, 200);
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
    tenant_put(w.http, "devices", "z", "stats", "q", "room again");
    EXPECT_USAGE(admin_recount(w.op, w.tenant), 25, 1, 1);
}
END_TEST

START_TEST(a_quota_below_usage_blocks_growth_only)
{
    world_init(&w, (enum http_version)_i);
    for (int i = 0; i < 4; i++) {
        char key[2] = {(char)('a' + i), '\0'};
        tenant_put(w.http, "devices", key, "stats", "q", "0123456789");
    }
    admin_set_quota(w.op, w.tenant, "{'stored_bytes':30}");
    http_get(w.http, ROW "a");
    EXPECT_STATUS(w.http, 200);
    http_json(w.http, "PATCH", "{'stats':{'r':''}}", ROW "a");
    EXPECT_PROBLEM(w.http, 403, "quota");
    http_json(w.http, "PUT", "{'stats':{'q':'shorter'}}", ROW "a");
    EXPECT_STATUS(w.http, 200);
    http_delete(w.http, ROW "b");
    EXPECT_STATUS(w.http, 204);
    admin_set_quota(w.op, w.tenant, "{}");
    http_json(w.http, "PATCH", "{'stats':{'r':''}}", ROW "a");
    EXPECT_STATUS(w.http, 200);
}
END_TEST

START_TEST(the_row_quota_counts_rows_not_cells)
{
    world_init(&w, (enum http_version)_i);
    admin_set_quota(w.op, w.tenant, "{'rows':2}");
    tenant_put(w.http, "devices", "a", "stats", "q", "1");
    tenant_put(w.http, "devices", "b", "stats", "q", "1");
    tenant_put(w.http, "devices", "a", "stats", "r", "1");
    http_json(w.http, "PUT", "{'stats':{'q':'1'}}", ROW "c");
    EXPECT_PROBLEM(w.http, 403, "quota");
    http_delete(w.http, ROW "a");
    http_json(w.http, "PUT", "{'stats':{'q':'1'}}", ROW "c");
    EXPECT_STATUS(w.http, 201);
    EXPECT_USAGE(admin_recount(w.op, w.tenant), 2 * 16, 2, 2);
}
END_TEST

START_TEST(many_at_once_never_go_over_the_quota)
{
    world_init(&w, HTTP_2);
    admin_set_quota(w.op, w.tenant, "{'rows':40,'stored_bytes':1000}");
    static char targets[100][64];
    struct http_call calls[100];
    for (size_t i = 0; i < 100; i++) {
        (void)snprintf(targets[i], sizeof(targets[i]), ROW "k%02zu", i);
        calls[i] = (struct http_call){"PUT", targets[i],
                                      SLICE_LIT("{\"stats\":{\"q\":\"0123456789\"}}"), 0};
    }
    http_send_all(w.http, calls, 100);
    int created = 0;
    for (size_t i = 0; i < 100; i++) {
        ck_assert_msg(calls[i].status == 201 || calls[i].status == 403, "status %d",
                      calls[i].status);
        created += calls[i].status == 201;
    }
    /* a row is 3 + 5 + 1 + 10 + 8 = 27 bytes: 37 fit into 1000 */
    ck_assert_int_eq(created, 37);
    EXPECT_USAGE(admin_recount(w.op, w.tenant), 37 * 27, 37, 37);
}
END_TEST

/* --- rates ------------------------------------------------------------------------------------ */

static int put_one(void *arg)
{
    (void)arg;
    return http_json(w.http, "PUT", "{'stats':{'q':'1'}}", ROW "k");
}

static int get_one(void *arg)
{
    (void)arg;
    return http_get(w.http, ROW "k");
}

static int get_rows(void *arg)
{
    (void)arg;
    return http_get(w.http, "/v1/tables/devices/rows");
}

START_TEST(writes_over_the_rate_are_429_with_retry_after)
{
    struct rate r;
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
    rate_watch(&r, 1, 1);
    admin_set_quota(w.op, w.tenant, "{'write_ops_per_s':1}");
    rate_use_up(&r, put_one, NULL, 200, 429);
    ck_assert_int_gt(r.passed, 0);
    EXPECT_PROBLEM(w.http, 429, "rate_limited");
    ck_assert(json_is_true(http_at(w.http, "/retry")));
    uint64_t wait_s = 0;
    ck_assert_int_eq(base_parse_u64(base_slice_text(http_header(w.http, "retry-after")), &wait_s),
                     ERR_OK);
    ck_assert_uint_ge(wait_s, 1);
    ck_assert_uint_le(wait_s, 1);
    /* reads have a rate of their own */
    http_get(w.http, ROW "k");
    EXPECT_STATUS(w.http, 200);
    process_sleep_ms((int)wait_s * 1000);
    http_json(w.http, "PUT", "{'stats':{'q':'1'}}", ROW "k");
    EXPECT_STATUS(w.http, 200);
}
END_TEST

START_TEST(reads_over_the_rate_are_429)
{
    struct rate r;
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
    rate_watch(&r, 1, 1);
    admin_set_quota(w.op, w.tenant, "{'read_ops_per_s':1}");
    rate_use_up(&r, get_one, NULL, 200, 429);
    EXPECT_PROBLEM(w.http, 429, "rate_limited");
    rate_use_up(&r, get_rows, NULL, 200, 429); /* of the same rate */
    EXPECT_PROBLEM(w.http, 429, "rate_limited");
    http_json(w.http, "PUT", "{'stats':{'q':'1'}}", ROW "k");
    EXPECT_STATUS(w.http, 200);
    /* another tenant is not touched */
    char other[WORLD_ID], key[WORLD_KEY];
    world_fresh_id(other);
    admin_create_tenant(w.op, other);
    admin_create_key(w.op, other, NULL, key, NULL);
    http_use_key(w.http, key);
    for (int i = 0; i < 20; i++) {
        http_get(w.http, "/v1/tables");
        EXPECT_STATUS(w.http, 200);
    }
    /* lifting the limit works at once */
    http_use_key(w.http, w.key);
    admin_set_quota(w.op, w.tenant, "{}");
    http_get(w.http, ROW "k");
    EXPECT_STATUS(w.http, 200);
}
END_TEST

START_TEST(the_rate_is_kept_over_seconds)
{
    world_init(&w, HTTP_2);
    admin_set_quota(w.op, w.tenant, "{'read_ops_per_s':100}");
    uint64_t start = base_monotonic_ns();
    int passed = 0;
    while (passed < 300) {
        http_get(w.http, ROW "none");
        passed += w.http->status == 404;
        double seconds = (double)(base_monotonic_ns() - start) / 1e9;
        /* rate * t + burst (one second's worth) + one operation */
        ck_assert_msg(passed <= 100 * seconds + 100 + 1, "%d passed in %.2f s", passed, seconds);
    }
}
END_TEST

Suite *suite_api_quota(void);
Suite *suite_api_quota(void)
{
    Suite *s = suite_create("api_quota");
    TCase *tc = tcase_create("quota");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, a_quota_is_shown_as_it_was_set, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_quota_that_makes_no_sense_changes_nothing, 0, HTTP_EACH(BAD_QUOTAS));
    tcase_add_loop_test(tc, the_byte_quota_is_exact_and_lets_deletes_pass, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_quota_below_usage_blocks_growth_only, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, the_row_quota_counts_rows_not_cells, 0, HTTP_VERSIONS);
    tcase_add_test(tc, many_at_once_never_go_over_the_quota);
    tcase_add_loop_test(tc, writes_over_the_rate_are_429_with_retry_after, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, reads_over_the_rate_are_429, 0, HTTP_VERSIONS);
    tcase_add_test(tc, the_rate_is_kept_over_seconds);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

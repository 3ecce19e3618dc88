/*
 * tests/api/test_key_limits.c - limits of one key beside those of its tenant, over both protocols:
 * who is refused, in whose name, and who is not.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "gateway/grpc/status.h"
#include "tests/grpc/writes.h"
#include "tests/support/rates.h"
#include "tests/support/scrape.h"

#include <google/rpc/error_details.pb-c.h>

#include "base/banned.h"

#define ROW "/v1/tables/devices/rows/"

static struct world w;
static char limited[WORLD_KEY]; /* the tenant's other key has no limits */
static char large[3000];

static void tear_down(void)
{
    world_fini(&w);
}

/* path: of the tenant's keys, or of all others. */
static void make_key(const char *path, const char *wanted, char out[WORLD_KEY])
{
    http_json(w.op, "POST", wanted, "%s", path);
    EXPECT_STATUS(w.op, 201);
    (void)snprintf(out, WORLD_KEY, "%s", http_string(w.op, "/key"));
}

static void begin(enum http_version version, const char *limits)
{
    char path[128], wanted[256];
    world_init(&w, version);
    memset(large, 'v', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    tenant_put(w.http, "devices", "r", "stats", "q", large);
    (void)snprintf(path, sizeof path, "/v1/admin/tenants/%s/keys", w.tenant);
    (void)snprintf(wanted, sizeof wanted, "{'scopes':['data.read','data.write'],'limits':{%s}}",
                   limits);
    make_key(path, wanted, limited);
}

struct policy {
    const char *limit; /* so that one request passes, and another of its kind within a second not */
    const char *of_key; /* its name in refusals */
    bool is_read;
};

static const struct policy POLICIES[] = {
    {"'read_ops_per_s':1", "key_read_ops", true},
    {"'write_ops_per_s':1", "key_write_ops", false},
    {"'read_bytes_per_s':1024", "key_read_bytes", true},
    {"'write_bytes_per_s':1024", "key_write_bytes", false},
};

#define POLICY_COUNT ((int)(sizeof POLICIES / sizeof POLICIES[0]))

/* Of the two, what the policy limits and what it does not. */
static int ask_http(bool is_read)
{
    char body[sizeof large + 64];
    if (is_read)
        return http_get(w.http, ROW "r");
    (void)snprintf(body, sizeof body, "{'stats':{'q':'%s'}}", large);
    return http_json(w.http, "PUT", body, ROW "r");
}

static int ask_again(void *is_read)
{
    return ask_http(*(bool *)is_read);
}

static bool is_true = true;

/* --- JSON --------------------------------------------------------------------------------------
 */

START_TEST(a_key_is_refused_in_its_own_name_and_others_go_on)
{
    const struct policy *p = &POLICIES[_i / HTTP_VERSIONS];
    bool is_read = p->is_read;
    struct rate r;
    rate_watch(&r, 1, 1);
    begin((enum http_version)(_i % HTTP_VERSIONS), p->limit);
    http_use_key(w.http, limited);
    ck_assert_int_eq(ask_http(is_read), 200);
    rate_passed(&r);
    rate_use_up(&r, ask_again, &is_read, 200, 429);
    EXPECT_PROBLEM(w.http, 429, "rate_limited");
    ck_assert_uint_eq(http_count(w.http, "/violated-policies"), 1);
    ck_assert_str_eq(http_string(w.http, "/violated-policies/0"), p->of_key);
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "this key's limit"));
    ck_assert_ptr_nonnull(strstr(http_header(w.http, "ratelimit"), p->of_key));
    ck_assert_ptr_nonnull(http_header(w.http, "retry-after"));
    ck_assert_int_eq(ask_http(!is_read), 200); /* that has no limit */
    http_use_key(w.http, w.key);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(ask_http(is_read), 200);
        ck_assert_ptr_null(http_header(w.http, "ratelimit")); /* of somebody else's key */
    }
    char series[128];
    (void)snprintf(series, sizeof series,
                   "bigtent_tenant_throttled_total{tenant=\"%s\",policy=\"key\"}", w.tenant);
    scrape_expect(w.op, series, 1);
}
END_TEST

/* What is left of a policy; fails the test when it is not told. */
static uint64_t left_of(const char *policy)
{
    char wanted[64];
    uint64_t left = 0;
    const char *header = http_header(w.http, "ratelimit");
    (void)snprintf(wanted, sizeof wanted, "\"%s\";r=", policy);
    const char *at = header == NULL ? NULL : strstr(header, wanted);
    ck_assert_msg(at != NULL, "%s is not in %s", policy, header == NULL ? "nothing" : header);
    at += strlen(wanted);
    ck_assert_int_eq(base_parse_u64(base_slice(at, strspn(at, "0123456789")), &left), ERR_OK);
    return left;
}

struct told {
    const char *tight;
    const char *wide;
    struct rate tight_rate;
    struct rate wide_rate;
};

/* Each answer that passes says what is left of both; the last one, to wait. */
static int ask_and_compare(void *arg)
{
    struct told *t = arg;
    int status = ask_http(true);
    if (status != 200)
        return status;
    rate_passed(&t->tight_rate);
    rate_passed(&t->wide_rate);
    uint64_t left = left_of(t->tight);
    rate_expect_left(&t->tight_rate, (int64_t)left);
    rate_expect_left(&t->wide_rate, (int64_t)left_of(t->wide));
    const char *wait = http_header(w.http, "retry-after");
    if (left > 0)
        ck_assert_ptr_null(wait);
    else
        ck_assert_str_eq(wait, "1");
    return status;
}

START_TEST(the_tighter_of_both_limits_is_told_and_refuses)
{
    bool key_is_tighter = _i / HTTP_VERSIONS == 0;
    struct told t = {.tight = key_is_tighter ? "key_read_ops" : "read_ops",
                     .wide = key_is_tighter ? "read_ops" : "key_read_ops"};
    struct rate passed;
    begin((enum http_version)(_i % HTTP_VERSIONS),
          key_is_tighter ? "'read_ops_per_s':2" : "'read_ops_per_s':100");
    rate_watch(&t.tight_rate, 2, 2);
    rate_watch(&t.wide_rate, 100, 100);
    admin_set_quota(w.op, w.tenant,
                    key_is_tighter ? "{'read_ops_per_s':100}" : "{'read_ops_per_s':2}");
    http_use_key(w.http, limited);
    ck_assert_int_eq(ask_and_compare(&t), 200);
    passed = t.tight_rate;
    rate_use_up(&passed, ask_and_compare, &t, 200, 429);
    ck_assert_int_gt(t.tight_rate.passed, 1);
    ck_assert_str_eq(http_string(w.http, "/violated-policies/0"), t.tight);
    ck_assert_uint_eq(left_of(t.tight), 0);
    /* what one refuses uses up nothing of the other */
    rate_expect_left(&t.wide_rate, (int64_t)left_of(t.wide));
    http_use_key(w.http, w.key);
    if (key_is_tighter)
        ck_assert_int_eq(ask_http(true), 200);
    else /* of all keys of the tenant together */
        rate_use_up(&t.tight_rate, ask_again, &is_true, 200, 429);
}
END_TEST

START_TEST(a_service_key_has_one_rate_for_all_its_tenants)
{
    char key[WORLD_KEY], other[WORLD_ID];
    struct rate r;
    begin((enum http_version)_i, "'read_ops_per_s':1000");
    world_fresh_id(other);
    admin_create_tenant(w.op, other);
    rate_watch(&r, 2, 2);
    make_key("/v1/admin/keys", "{'kind':'service','limits':{'read_ops_per_s':2}}", key);
    http_use_key(w.http, key);
    const char *const tenants[] = {w.tenant, other};
    int passed[2] = {0}, refused[2] = {0};
    for (size_t i = 0; refused[0] == 0 || refused[1] == 0; i++) {
        ck_assert_uint_lt(i, 10000);
        http_once(w.http, "Bigtent-Tenant: %s", tenants[i % 2]);
        http_get(w.http, "/v1/usage");
        if (w.http->status == 200) {
            rate_passed(&r);
            passed[i % 2]++;
            continue;
        }
        EXPECT_STATUS(w.http, 429);
        ck_assert_str_eq(http_string(w.http, "/violated-policies/0"), "key_read_ops");
        refused[i % 2]++;
    }
    ck_assert(passed[0] > 0 && passed[1] > 0);
    http_use_key(w.http, w.key);
    ck_assert_int_eq(ask_http(true), 200);
}
END_TEST

/* --- gRPC --------------------------------------------------------------------------------------
 */

static struct grpc_client client;
static char table[TABLE_NAME];

static struct grpc_call *ask_grpc(bool is_read)
{
    struct set_cell cell;
    Bt__Mutation *list[] = {set_cell(&cell, "stats", "q", large)};
    Bt__MutateRowRequest write = BT__MUTATE_ROW_REQUEST__INIT;
    Bt__ReadRowsRequest read = BT__READ_ROWS_REQUEST__INIT;
    write.table_name = table;
    write.row_key = binary("r");
    write.mutations = list;
    write.n_mutations = 1;
    read.table_name = table;
    return is_read ? grpc_ask(&client, BIGTABLE "ReadRows", &read.base)
                   : grpc_ask(&client, BIGTABLE "MutateRow", &write.base);
}

static int ask_grpc_again(void *is_read)
{
    if (client.count == GRPC_CALLS)
        grpc_forget(&client);
    return ask_grpc(*(bool *)is_read)->status;
}

static void expect_refused_by(const struct grpc_call *call, const char *policy)
{
    ck_assert_int_eq(call->status, GW_STATUS_RESOURCE_EXHAUSTED);
    Rpc__Status *status = grpc_status_new(call);
    const ProtobufCBinaryData *detail = grpc_detail(status, "QuotaFailure");
    ck_assert_ptr_nonnull(detail);
    ck_assert_ptr_nonnull(grpc_detail(status, "RetryInfo"));
    Rpc__QuotaFailure *failure = rpc__quota_failure__unpack(NULL, detail->len, detail->data);
    ck_assert_ptr_nonnull(failure);
    ck_assert_uint_eq(failure->n_violations, 1);
    ck_assert_str_eq(failure->violations[0]->subject, policy);
    rpc__quota_failure__free_unpacked(failure, NULL);
    rpc__status__free_unpacked(status, NULL);
}

static void grpc_as(const char *key)
{
    grpc_open(&client, world_server(), key, 0);
    (void)table_name(table, &w);
}

START_TEST(a_key_is_refused_over_grpc_in_its_own_name_and_others_go_on)
{
    const struct policy *p = &POLICIES[_i];
    bool is_read = p->is_read;
    struct rate r;
    rate_watch(&r, 1, 1);
    begin(HTTP_2, p->limit);
    grpc_as(limited);
    ck_assert_int_eq(ask_grpc(is_read)->status, GW_STATUS_OK);
    rate_passed(&r);
    rate_use_up(&r, ask_grpc_again, &is_read, GW_STATUS_OK, GW_STATUS_RESOURCE_EXHAUSTED);
    expect_refused_by(&client.calls[client.count - 1], p->of_key);
    ck_assert_int_eq(ask_grpc(!is_read)->status, GW_STATUS_OK);
    http_use_key(w.http, limited); /* the key has one rate for both protocols */
    rate_use_up(&r, ask_again, &is_read, 200, 429);
    grpc_close(&client);
    grpc_as(w.key);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(ask_grpc(p->is_read)->status, GW_STATUS_OK);
    grpc_close(&client);
}
END_TEST

/* --- requests at a time ------------------------------------------------------------------------
 */

static bool has_place(void *arg)
{
    (void)arg;
    return ask_http(true) == 200;
}

START_TEST(requests_at_a_time_are_counted_over_keys_and_protocols)
{
    struct slice value = {base_new(LIM_SLICE_BYTES), LIM_SLICE_BYTES};
    Bt__ReadRowsRequest request = BT__READ_ROWS_REQUEST__INIT;
    struct world other;
    struct grpc_client slow;
    begin(HTTP_2, "'read_ops_per_s':1000");
    world_init(&other, HTTP_2);
    for (int i = 0; i < 8; i++)
        http_bytes(w.http, "PUT", value, "/v1/tables/devices/cells/k%d/stats/q", i);
    base_free((void *)(uintptr_t)value.ptr);
    admin_set_quota(w.op, w.tenant, "{'concurrent_requests':1}");
    request.table_name = table_name(table, &w);
    grpc_open(&slow, world_server(), limited, 1000);
    struct grpc_call *held = grpc_start(&slow, BIGTABLE "ReadRows", &request.base, NULL);
    ck_assert(grpc_run_until(&slow, held, 1, 60000 * process_patience()));
    ck_assert_int_eq(ask_http(true), 429); /* another key, another protocol */
    ck_assert_str_eq(http_string(w.http, "/violated-policies/0"), "concurrency");
    http_get(other.http, "/v1/usage"); /* another tenant */
    EXPECT_STATUS(other.http, 200);
    grpc_cancel(&slow, held);
    ck_assert(grpc_run(&slow, 60000 * process_patience()));
    process_await(has_place, NULL, "the cancelled call's place");
    grpc_close(&slow);
    world_fini(&other);
}
END_TEST

Suite *suite_api_key_limits(void);

Suite *suite_api_key_limits(void)
{
    Suite *s = suite_create("api_key_limits");
    TCase *tc = tcase_create("key_limits");
    tcase_set_timeout(tc, 120);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, a_key_is_refused_in_its_own_name_and_others_go_on, 0,
                        POLICY_COUNT * HTTP_VERSIONS);
    tcase_add_loop_test(tc, the_tighter_of_both_limits_is_told_and_refuses, 0, 2 * HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_service_key_has_one_rate_for_all_its_tenants, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_key_is_refused_over_grpc_in_its_own_name_and_others_go_on, 0,
                        POLICY_COUNT);
    tcase_add_test(tc, requests_at_a_time_are_counted_over_keys_and_protocols);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/api/test_edge_metrics.c - what is refused before it is a call, or for who asked, is counted
 * by reason; so are tenants that reach parts of their quotas.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "auth/apikey.h"
#include "base/text.h"
#include "tests/grpc/writes.h"
#include "tests/support/scrape.h"

#include "base/banned.h"

static struct world w;

static void set_up(void)
{
    world_init(&w, HTTP_2);
}

static void tear_down(void)
{
    world_fini(&w);
}

/* --- callers -----------------------------------------------------------------------------------
 */

enum { NO_KEY, SEVERAL, MALFORMED, UNKNOWN, SECRET, SCOPE, TENANT, REASONS };

static const char *const REASON[REASONS] = {"no_key", "several", "malformed", "unknown",
                                            "secret", "scope",   "tenant"};

static const char *callers(const char *protocol, int reason)
{
    static char out[128];
    (void)snprintf(out, sizeof out, "bigtent_callers_refused_total{protocol=\"%s\",reason=\"%s\"}",
                   protocol, REASON[reason]);
    return out;
}

/* The key's ID with another secret, and the checksum that belongs to both. */
static void forge(char key[WORLD_KEY])
{
    size_t checked = AUTH_KEY_TEXT - AUTH_KEY_CHECKSUM;
    key[checked - 1] = key[checked - 1] == 'a' ? 'b' : 'a';
    uint32_t sum = (uint32_t)crc32(0, (const Bytef *)key, (uInt)checked);
    for (size_t i = AUTH_KEY_CHECKSUM; i-- > 0; sum /= 62)
        key[checked + i] = BASE_BASE62_DIGITS[sum % 62];
}

static void make_key(int reason, char out[WORLD_KEY])
{
    char id[WORLD_ID];
    memcpy(out, w.key, WORLD_KEY);
    if (reason == MALFORMED)
        (void)snprintf(out, WORLD_KEY, "nonsense");
    if (reason == SECRET)
        forge(out);
    if (reason == SCOPE)
        admin_create_key(w.op, w.tenant, "['data.write']", out, NULL);
    if (reason != UNKNOWN)
        return;
    admin_create_key(w.op, w.tenant, NULL, out, id);
    http_delete(w.op, "/v1/admin/tenants/%s/keys/%s", w.tenant, id);
    EXPECT_STATUS(w.op, 204);
}

static void call_json(int reason, const char *key)
{
    http_use_key(w.http, reason == NO_KEY ? NULL : key);
    if (reason == SEVERAL)
        http_once(w.http, "x-goog-api-key: %s", key);
    if (reason == TENANT)
        http_once(w.http, "Bigtent-Tenant: somebody-else");
    http_get(w.http, "/v1/tables/devices/rows/r");
    EXPECT_STATUS(w.http, reason == SEVERAL ? 400 : reason >= SCOPE ? 403 : 401);
}

static void call_grpc(int reason, const char *key)
{
    struct grpc_client client;
    char table[TABLE_NAME];
    Bt__ReadRowsRequest request = BT__READ_ROWS_REQUEST__INIT;
    request.table_name = table_name(table, &w);
    if (reason == TENANT)
        request.table_name = (char *)(uintptr_t) "projects/somebody-else/instances/main/tables/t";
    grpc_open(&client, world_server(), reason == NO_KEY ? NULL : key, 0);
    if (reason == SEVERAL)
        grpc_add_header(&client, "x-goog-api-key", key);
    struct grpc_call *call = grpc_ask(&client, BIGTABLE "ReadRows", &request.base);
    ck_assert_int_eq(call->status, reason == SEVERAL ? 3 : reason >= SCOPE ? 7 : 16);
    grpc_close(&client);
}

START_TEST(callers_without_a_good_key_are_counted_by_reason)
{
    int reason = _i / 2;
    bool is_grpc = _i % 2 == 1;
    const char *protocol = is_grpc ? "grpc" : "json";
    char key[WORLD_KEY];
    uint64_t before[REASONS];
    make_key(reason, key);
    scrape(w.op);
    for (int i = 0; i < REASONS; i++)
        before[i] = scrape_seen(callers(protocol, i));
    for (int times = 0; times < 2; times++) {
        if (is_grpc)
            call_grpc(reason, key);
        else
            call_json(reason, key);
    }
    scrape_expect(w.op, callers(protocol, reason), before[reason] + 2);
    for (int i = 0; i < REASONS; i++)
        ck_assert_uint_eq(scrape_seen(callers(protocol, i)), before[i] + (i == reason ? 2 : 0));
}
END_TEST

/* --- the edge ----------------------------------------------------------------------------------
 */

#define REFUSED_TLS "bigtent_connections_refused_total{reason=\"tls\"}"
#define ACCEPTED    "bigtent_connections_accepted_total"

START_TEST(handshakes_that_fail_are_counted)
{
    struct raw_tls raw;
    struct server plain = *world_server();
    plain.plain_port = plain.port; /* speaks no TLS to where TLS is spoken */
    uint64_t refused = scrape_number(w.op, REFUSED_TLS);
    uint64_t accepted = scrape_seen(ACCEPTED);
    raw_open_plain(&raw, &plain);
    (void)raw_send(&raw, SLICE_LIT("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    ck_assert(raw_read_to_close(&raw, 5000));
    raw_close(&raw);
    scrape_expect(w.op, REFUSED_TLS, refused + 1);
    scrape_expect(w.op, ACCEPTED, accepted + 1);
    raw_open(&raw, world_server(), "http/1.1");
    raw_close(&raw);
    scrape_expect(w.op, ACCEPTED, accepted + 2);
    ck_assert_uint_eq(scrape_seen(REFUSED_TLS), refused + 1);
}
END_TEST

#define HEADS(transport, status)                                                                   \
    "bigtent_heads_refused_total{transport=\"" transport "\",status=\"" status "\"}"

START_TEST(heads_that_are_refused_are_counted_by_status)
{
    struct raw_tls raw;
    static char target[LIM_HEAD_BYTES];
    uint64_t bad = scrape_number(w.op, HEADS("http1", "400"));
    uint64_t large = scrape_seen(HEADS("http2", "414"));
    raw_open(&raw, world_server(), "http/1.1");
    ck_assert(raw_send(&raw, SLICE_LIT("GET /x HTTP/1.1\r\nBad Header: 1\r\n\r\n")));
    ck_assert_int_eq(raw_response(&raw, 5000), 400);
    raw_close(&raw);
    memset(target, 'a', sizeof target - 1);
    target[0] = '/';
    target[25000] = '\0';
    http_get(w.http, "%s", target);
    EXPECT_STATUS(w.http, 414);
    scrape_expect(w.op, HEADS("http1", "400"), bad + 1);
    scrape_expect(w.op, HEADS("http2", "414"), large + 1);
}
END_TEST

/* --- parts of quotas ---------------------------------------------------------------------------
 */

static const char *events(const char *field, unsigned percent, const char *direction)
{
    static char out[160];
    (void)snprintf(out, sizeof out,
                   "bigtent_quota_threshold_events_total{field=\"%s\",percent=\"%u\","
                   "direction=\"%s\"}",
                   field, percent, direction);
    return out;
}

static const char *at(const char *field, unsigned percent)
{
    static char out[160];
    (void)snprintf(out, sizeof out,
                   "bigtent_tenants_at_quota_threshold{field=\"%s\",percent=\"%u\"}", field,
                   percent);
    return out;
}

/* Events may come a round of the thresholds later. */
static void expect_soon(const char *series, uint64_t wanted)
{
    scrape_expect(w.op, series, wanted);
}

START_TEST(tenants_that_reach_parts_of_their_quotas_are_counted)
{
    uint64_t up[3], down[3], there[3];
    admin_set_quota(w.op, w.tenant, "{'rows':10}");
    scrape(w.op);
    for (unsigned i = 0; i < 3; i++) {
        up[i] = scrape_seen(events("rows", 80 + 10 * i, "up"));
        down[i] = scrape_seen(events("rows", 80 + 10 * i, "down"));
        there[i] = scrape_seen(at("rows", 80 + 10 * i));
    }
    for (int i = 0; i < 9; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "r%d", i);
        tenant_put(w.http, "devices", key, "stats", "q", "v");
    }
    expect_soon(events("rows", 90, "up"), up[1] + 1); /* perhaps jumped over 80 */
    ck_assert_uint_eq(scrape_seen(events("rows", 80, "up")), up[0] + 1);
    ck_assert_uint_eq(scrape_seen(events("rows", 100, "up")), up[2]);
    ck_assert_uint_eq(scrape_seen(at("rows", 80)), there[0] + 1);
    ck_assert_uint_eq(scrape_seen(at("rows", 90)), there[1] + 1);
    ck_assert_uint_eq(scrape_seen(at("rows", 100)), there[2]);
    http_delete(w.http, "/v1/tables/devices/rows/r0");
    expect_soon(events("rows", 90, "down"), down[1] + 1);
    ck_assert_uint_eq(scrape_seen(events("rows", 80, "down")), down[0]);
    ck_assert_uint_eq(scrape_seen(at("rows", 80)), there[0] + 1);
    ck_assert_uint_eq(scrape_seen(at("rows", 90)), there[1]);
}
END_TEST

/* What of a quota of 1 is full with the one that every tenant of a test has. */
static void expect_full_and_back(const char *field)
{
    uint64_t up[3], down[3], there[3];
    char quota[32];
    scrape(w.op);
    for (unsigned i = 0; i < 3; i++) {
        up[i] = scrape_seen(events(field, 80 + 10 * i, "up"));
        down[i] = scrape_seen(events(field, 80 + 10 * i, "down"));
        there[i] = scrape_seen(at(field, 80 + 10 * i));
    }
    (void)snprintf(quota, sizeof quota, "{'%s':1}", field);
    admin_set_quota(w.op, w.tenant, quota);
    expect_soon(events(field, 100, "up"), up[2] + 1);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(scrape_seen(events(field, 80 + 10 * i, "up")), up[i] + 1);
        ck_assert_uint_eq(scrape_seen(at(field, 80 + 10 * i)), there[i] + 1);
    }
    admin_set_quota(w.op, w.tenant, "{}");
    expect_soon(events(field, 80, "down"), down[0] + 1);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(scrape_seen(events(field, 80 + 10 * i, "up")), up[i] + 1);
        ck_assert_uint_eq(scrape_seen(events(field, 80 + 10 * i, "down")), down[i] + 1);
        ck_assert_uint_eq(scrape_seen(at(field, 80 + 10 * i)), there[i]);
    }
}

START_TEST(tenants_whose_tables_or_keys_are_at_the_quota_are_counted)
{
    expect_full_and_back("tables");
    expect_full_and_back("keys");
}
END_TEST

static size_t series_of(const char *metric)
{
    size_t count = 0;
    char line[64];
    (void)snprintf(line, sizeof line, "\n%s{", metric);
    for (const char *next = scrape_page(); (next = strstr(next, line)) != NULL; next++)
        count++;
    return count;
}

START_TEST(series_of_thresholds_are_as_many_whoever_reached_one)
{
    uint64_t there = scrape_number(w.op, at("keys", 100));
    admin_set_quota(w.op, w.tenant, "{'keys':1,'tables':1,'rows':0,'stored_bytes':0}");
    expect_soon(at("keys", 100), there + 1);
    ck_assert_uint_eq(series_of("bigtent_quota_threshold_events_total"), 6 * 3 * 2);
    ck_assert_uint_eq(series_of("bigtent_tenants_at_quota_threshold"), 6 * 3);
}
END_TEST

Suite *suite_api_edge_metrics(void);

Suite *suite_api_edge_metrics(void)
{
    Suite *s = suite_create("api_edge_metrics");
    TCase *tc = tcase_create("edge_metrics");
    tcase_set_timeout(tc, 30);
    world_begin(tc);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, callers_without_a_good_key_are_counted_by_reason, 0, 2 * REASONS);
    tcase_add_test(tc, handshakes_that_fail_are_counted);
    tcase_add_test(tc, heads_that_are_refused_are_counted_by_status);
    tcase_add_test(tc, tenants_that_reach_parts_of_their_quotas_are_counted);
    tcase_add_test(tc, tenants_whose_tables_or_keys_are_at_the_quota_are_counted);
    tcase_add_test(tc, series_of_thresholds_are_as_many_whoever_reached_one);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

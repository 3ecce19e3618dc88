/*
 * tests/api/test_dry_runs.c - dry runs of :drop are reads of their tenant: what they cost, who
 * makes them wait, what ends them.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "tenancy/admission.h"
#include "tests/support/rates.h"
#include "tests/support/scrape.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define DROP    "/v1/tables/devices:drop"
#define DRY_RUN "{'all':true,'dry_run':true}"

enum {
    FEW = 1500,
    MANY = LIM_SLICE_ROWS + 100, /* two slices */
};

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

static void fill(int rows)
{
    struct buf body;
    base_buf_init(&body, 8 * MIB);
    for (int i = 0; i < rows; i++)
        ck_assert_int_eq(
            base_buf_printf(&body, "{\"key\":\"row%05d\",\"cells\":{\"raw\":{\"q\":\"v\"}}}\n", i),
            ERR_OK);
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_bytes(w.http, "POST", base_buf_slice(&body), "/v1/tables/devices:write");
    EXPECT_STATUS(w.http, 200);
    base_buf_fini(&body);
}

START_TEST(a_dry_run_costs_what_it_reads)
{
    world_init(&w, (enum http_version)_i);
    fill(FEW);
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':1024," RATE_DEBT "}");
    http_json(w.http, "POST", DRY_RUN, DROP);
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(http_number(w.http, "/would_remove/rows"), FEW);
    uint64_t cost = 0;
    ck_assert_int_eq(base_parse_u64(base_slice_text(http_header(w.http, "bigtent-cost")), &cost),
                     ERR_OK);
    ck_assert_uint_ge(cost, TEN_COST_WRITE + FEW * TEN_ROW_VISITED_BYTES / TEN_COST_WRITE_BYTES);
    http_get(w.http, "/v1/tables/devices/rows/row00000");
    EXPECT_PROBLEM(w.http, 429, "rate_limited");
    ck_assert_str_eq(http_string(w.http, "/violated-policies/0"), "read_bytes");
    http_json(w.http, "POST", DRY_RUN, DROP);
    EXPECT_PROBLEM(w.http, 429, "rate_limited");
    ck_assert_str_eq(http_string(w.http, "/violated-policies/0"), "read_bytes");
    http_json(w.http, "POST", "{'all':true}", DROP); /* which is no read */
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(http_number(w.http, "/removed/rows"), FEW);
}
END_TEST

/* --- dry runs that pause ---------------------------------------------------------------------- */

struct dry_run {
    struct http *http;
    pthread_t thread;
    bool is_answered;
};

static void *run_dry(void *arg)
{
    struct dry_run *d = arg;
    d->is_answered = http_try(d->http, "POST", DROP, SLICE_LIT("{\"all\":true,\"dry_run\":true}"));
    return NULL;
}

static bool has_paused(void *arg)
{
    char series[160];
    (void)arg;
    (void)snprintf(series, sizeof series,
                   "bigtent_tenant_throttled_seconds_total{tenant=\"%s\",policy=\"read_bytes\"}",
                   w.tenant);
    scrape(w.op);
    return strtod(scrape_value(series), NULL) > 0;
}

/* Its first slice is paid off in ten minutes. */
static struct dry_run dry_run_prepare(enum http_version version)
{
    world_init(&w, version);
    fill(MANY);
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':1024,'concurrent_requests':1}");
    return (struct dry_run){.http = http_open(world_server(), version, w.key)};
}

static void dry_run_start(struct dry_run *d)
{
    ck_assert_int_eq(pthread_create(&d->thread, NULL, run_dry, d), 0);
    process_await(has_paused, NULL, "the dry run's pause to be metered");
}

static void dry_run_join(struct dry_run *d)
{
    ck_assert_int_eq(pthread_join(d->thread, NULL), 0);
    ck_assert(d->is_answered);
}

START_TEST(a_dry_run_that_owes_pauses_and_goes_on)
{
    struct dry_run d = dry_run_prepare(HTTP_2);
    dry_run_start(&d);
    admin_set_quota(w.op, w.tenant, "{}");
    dry_run_join(&d);
    EXPECT_STATUS(d.http, 200);
    ck_assert_int_eq(http_number(d.http, "/would_remove/rows"), MANY);
    ck_assert_int_eq(http_number(d.http, "/would_remove/cells"), MANY);
    ck_assert_int_eq(http_number(d.http, "/would_remove/stored_bytes"), tenant_usage(w.http).bytes);
    http_close(d.http);
}
END_TEST

START_TEST(a_revoked_key_ends_a_dry_run)
{
    struct dry_run d = dry_run_prepare(HTTP_2);
    dry_run_start(&d);
    http_delete(w.op, "/v1/admin/tenants/%s/keys/%.12s", w.tenant, w.key + 4);
    EXPECT_STATUS(w.op, 204);
    dry_run_join(&d);
    EXPECT_PROBLEM(d.http, 401, "unauthenticated");
    http_close(d.http);
}
END_TEST

START_TEST(a_suspended_tenant_ends_a_dry_run)
{
    struct dry_run d = dry_run_prepare(HTTP_2);
    dry_run_start(&d);
    http_json(w.op, "POST", "{'reason':'r'}", "/v1/admin/tenants/%s:suspend", w.tenant);
    EXPECT_STATUS(w.op, 200);
    dry_run_join(&d);
    EXPECT_PROBLEM(d.http, 403, "suspended");
    http_close(d.http);
}
END_TEST

/* The tenant's only place. */
static bool place_is_free(void *arg)
{
    (void)arg;
    return http_json(w.http, "PUT", "{'stats':{'q':'1'}}", "/v1/tables/devices/rows/new") != 429;
}

static int leave_when_told(void *is_told, curl_off_t to_get, curl_off_t got, curl_off_t to_send,
                           curl_off_t sent)
{
    (void)to_get, (void)got, (void)to_send, (void)sent;
    return atomic_load((_Atomic bool *)is_told);
}

START_TEST(a_client_that_leaves_ends_its_dry_run)
{
    static _Atomic bool is_told;
    struct dry_run d = dry_run_prepare((enum http_version)_i);
    curl_easy_setopt(d.http->curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(d.http->curl, CURLOPT_XFERINFOFUNCTION, leave_when_told);
    curl_easy_setopt(d.http->curl, CURLOPT_XFERINFODATA, &is_told);
    atomic_store(&is_told, false);
    dry_run_start(&d);
    ck_assert(!place_is_free(NULL));
    atomic_store(&is_told, true);
    ck_assert_int_eq(pthread_join(d.thread, NULL), 0);
    ck_assert(!d.is_answered);
    http_close(d.http); /* and its connection */
    process_await(place_is_free, NULL, "the dry run's place");
}
END_TEST

Suite *suite_api_dry_runs(void);

Suite *suite_api_dry_runs(void)
{
    Suite *s = suite_create("api_dry_runs");
    TCase *tc = tcase_create("dry_runs");
    tcase_set_timeout(tc, 120);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, a_dry_run_costs_what_it_reads, 0, HTTP_VERSIONS);
    tcase_add_test(tc, a_dry_run_that_owes_pauses_and_goes_on);
    tcase_add_test(tc, a_revoked_key_ends_a_dry_run);
    tcase_add_test(tc, a_suspended_tenant_ends_a_dry_run);
    tcase_add_loop_test(tc, a_client_that_leaves_ends_its_dry_run, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/api/test_streams.c - peers that are slow, that vanish, that are many: long answers and long
 * bodies in flat memory, and nothing left over.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "tests/support/random.h"
#include "tests/support/raw_tls.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

/* Rows of about 10 KiB through :write. */
static void fill(int rows)
{
    static char value[10001];
    struct buf body;
    memset(value, 'v', sizeof(value) - 1);
    base_buf_init(&body, 512 * MIB);
    for (int i = 0; i < rows; i++)
        ck_assert_int_eq(
            base_buf_printf(&body,
                            "{\"key\":\"row%05d\",\"cells\":{\"raw\":{\"v\":{\"value\":\"%s\","
                            "\"timestamp\":\"1000\"}}}}\n",
                            i, value),
            ERR_OK);
    struct slice bytes = base_buf_slice(&body);
    /* in parts below the limit of a buffered HTTP/1 body */
    while (bytes.len > 0) {
        size_t n = bytes.len < 8 * MIB ? bytes.len : 8 * MIB;
        while (bytes.ptr[n - 1] != '\n')
            n--;
        http_once(w.http, "Content-Type: application/x-ndjson");
        http_bytes(w.http, "POST", base_slice(bytes.ptr, n), "/v1/tables/devices:write");
        EXPECT_STATUS(w.http, 200);
        bytes = base_slice_skip(bytes, n);
    }
    base_buf_fini(&body);
}

static void ask_for_all(struct raw_tls *r)
{
    char request[512];
    int n =
        snprintf(request, sizeof(request),
                 "GET /v1/tables/devices/rows HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n"
                 "Accept: application/x-ndjson\r\n\r\n",
                 w.key);
    ck_assert(raw_send(r, base_slice(request, (size_t)n)));
}

static bool ends_whole(const struct raw_tls *r)
{
    return r->in.len >= 5 && memcmp(r->in.ptr + r->in.len - 5, "0\r\n\r\n", 5) == 0;
}

/* So much of an answer that it has begun, and waits for its reader. */
#define BEGUN (32 * KIB)

#define SLOW 40

/* A busy server refuses a tenant that has many requests in flight: such a request is sent again. */
#define BUSY_MS    20
#define BUSY_TRIES (3000 * process_patience())

START_TEST(slow_readers_cost_little_memory)
{
    static struct raw_tls readers[SLOW];
    world_init(&w, HTTP_2);
    fill(3000); /* 30 MB: 1.2 GB for all of them */
    (void)http_get(w.http, "/v1/tables/devices/rows?limit=10000");
    uint64_t before = server_rss_kib(world_server());
    for (size_t i = 0; i < SLOW; i++) {
        raw_open(&readers[i], world_server(), "http/1.1");
        ask_for_all(&readers[i]);
    }
    for (size_t i = 0; i < SLOW; i++)
        raw_await_unread(&readers[i], BEGUN);
    process_sleep_ms(100); /* nobody reads: slowness can only make less of it */
    uint64_t grown = server_rss_kib(world_server()) - before;
    /* a slice, the queue and the socket's buffer each; sanitizers keep freed memory for a while */
    ck_assert_msg(process_sanitized() || (int64_t)grown < SLOW * 3 * 1024,
                  "%d slow readers cost %llu KiB", SLOW, (unsigned long long)grown);
    /* others are served meanwhile */
    ck_assert_int_eq(tenant_usage(w.http).rows, 3000);
    /* and one that begins to read gets everything */
    const struct buf *in = &readers[0].in;
    while (!ends_whole(&readers[0]))
        ck_assert(raw_read_some(&readers[0], 10000 * process_patience()));
    ck_assert_uint_gt(in->len, 3000 * 10000);
    for (size_t i = 0; i < SLOW; i++)
        raw_close(&readers[i]);
    ck_assert_int_eq(tenant_usage(w.http).rows, 3000);
}
END_TEST

START_TEST(peers_that_vanish_leave_nothing_behind)
{
    struct random dice = {4711};
    world_init(&w, HTTP_2);
    fill(200);
    for (int i = 0; i < 60; i++) {
        struct raw_tls r;
        char request[512];
        raw_open(&r, world_server(), "http/1.1");
        if (i % 3 == 0) {
            ask_for_all(&r);
        } else {
            int n = snprintf(request, sizeof(request),
                             "POST /v1/tables/devices:write HTTP/1.1\r\nHost: a\r\nAuthorization: "
                             "Bearer %s\r\nContent-Type: application/x-ndjson\r\n"
                             "Content-Length: 100000\r\n\r\n"
                             "{\"key\":\"half\",\"cells\":{\"stats\":{\"a\":\"1\"}}}\n{\"key\":",
                             w.key);
            ck_assert(raw_send(&r, base_slice(request, random_below(&dice, (uint32_t)n))));
        }
        if (i % 2 == 0)
            (void)raw_read_to_close(&r, (int)random_below(&dice, 20));
        raw_close(&r);
    }
    ck_assert_int_le(tenant_usage(w.http).rows, 201);
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(a_hundred_scans_at_once_are_all_whole)
{
    world_init(&w, HTTP_2);
    fill(300);
    struct http_call calls[100];
    for (size_t i = 0; i < 100; i++)
        calls[i] = (struct http_call){"GET", "/v1/tables/devices/rows?limit=10000", SLICE_EMPTY, 0};
    size_t left = 100;
    for (int tries = 0; left > 0; tries++) { /* those that a busy server refused, again */
        ck_assert_int_lt(tries, BUSY_TRIES);
        http_send_all(w.http, calls, left);
        size_t refused = 0;
        for (size_t i = 0; i < left; i++) {
            ck_assert(calls[i].status == 200 || calls[i].status == 503);
            if (calls[i].status == 503)
                calls[refused++] = calls[i];
        }
        left = refused;
        if (left > 0)
            process_sleep_ms(BUSY_MS);
    }
}
END_TEST

/* --- streams that cannot go on ---------------------------------------------------------------- */

/* Suspended, or its deletion requested. */
START_TEST(a_stream_of_a_tenant_that_is_shut_is_broken_off)
{
    struct raw_tls r;
    world_init(&w, HTTP_1);
    fill(3000);
    raw_open(&r, world_server(), "http/1.1");
    ask_for_all(&r);
    raw_await_unread(&r, BEGUN);
    if (_i == 0)
        http_json(w.op, "POST", "{'reason':'unpaid'}", "/v1/admin/tenants/%s:suspend", w.tenant);
    else
        http_value_take(w.op, "POST",
                        json_pack("{s:s, s:s}", "confirm", w.tenant, "grace", "3600s"),
                        "/v1/admin/tenants/%s:offboard", w.tenant);
    EXPECT_STATUS(w.op, _i == 0 ? 200 : 202);
    (void)raw_read_to_close(&r, 10000 * process_patience());
    ck_assert_uint_gt(r.in.len, 0);
    ck_assert_uint_lt(r.in.len, 3000 * 10000);
    ck_assert_msg(r.closed && !ends_whole(&r), "a short stream looks whole");
    raw_close(&r);
}
END_TEST

static atomic_bool scan_has_begun;

static int on_progress(void *unused, curl_off_t total, curl_off_t now, curl_off_t to_send,
                       curl_off_t sent)
{
    (void)unused;
    (void)total;
    (void)to_send;
    (void)sent;
    if (now > 0)
        atomic_store(&scan_has_begun, true);
    return 0;
}

static bool has_begun(void *arg)
{
    (void)arg;
    return atomic_load(&scan_has_begun);
}

static void *slow_scan(void *arg)
{
    struct http *h = arg;
    curl_easy_setopt(h->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(h->curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(h->curl, CURLOPT_MAX_RECV_SPEED_LARGE, (curl_off_t)(2 * MIB));
    http_once(h, "Accept: application/x-ndjson");
    return http_try(h, "GET", "/v1/tables/devices/rows", SLICE_EMPTY) ? h : NULL;
}

START_TEST(the_same_over_http2_is_a_reset)
{
    pthread_t thread;
    void *answered;
    world_init(&w, HTTP_2);
    fill(3000);
    struct http *h = http_open(world_server(), HTTP_2, w.key);
    ck_assert_int_eq(pthread_create(&thread, NULL, slow_scan, h), 0);
    process_await(has_begun, NULL, "the scan's first bytes");
    http_json(w.op, "POST", "{'reason':'unpaid'}", "/v1/admin/tenants/%s:suspend", w.tenant);
    EXPECT_STATUS(w.op, 200);
    (void)pthread_join(thread, &answered);
    ck_assert_msg(answered == NULL, "a short stream of %zu bytes looks whole", h->body.len);
    ck_assert_uint_gt(h->body.len, 0);
    http_close(h);
}
END_TEST

START_TEST(a_reader_that_stopped_reading_does_not_hold_up_an_offboarding)
{
    struct raw_tls r[4];
    world_init(&w, HTTP_2);
    fill(3000);
    for (size_t i = 0; i < 4; i++) {
        raw_open(&r[i], world_server(), "http/1.1");
        ask_for_all(&r[i]);
    }
    for (size_t i = 0; i < 4; i++)
        raw_await_unread(&r[i], BEGUN);
    admin_offboard(w.op, w.tenant);
    ck_assert_int_eq(http_number(w.op, "/audit/physical_keys"), 0);
    for (size_t i = 0; i < 4; i++) {
        (void)raw_read_to_close(&r[i], 10000 * process_patience());
        ck_assert(r[i].closed && !ends_whole(&r[i]));
        raw_close(&r[i]);
    }
}
END_TEST

/* libcurl ends each request with a body by RST_STREAM when the answer has no length: that is no
 * attack, however many there are. */
START_TEST(thousands_of_requests_share_a_connection)
{
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    long count = process_rounds(3000);
    int busy = 0;
    for (long i = 0; i < count; i++) {
        switch (_i / HTTP_VERSIONS) {
        case 0:
            http_json(w.http, "PUT", "{'stats':{'q':'v'}}", "/v1/tables/devices/rows/k");
            break;
        case 1:
            http_once(w.http, "Content-Type: application/x-ndjson");
            http_json(w.http, "POST", "{'key':'k','cells':{'stats':{'q':'v'}}}\n",
                      "/v1/tables/devices:write");
            break;
        case 2:
            http_once(w.http, "Accept: application/x-ndjson");
            http_get(w.http, "/v1/tables/devices/rows");
            break;
        default: /* refused before the body was read */
            http_json(w.http, "PUT", "{'stats':{'q':'v'}}", "/v1/tables/nosuch/rows/k");
            break;
        }
        if (w.http->status == 503 && ++busy < BUSY_TRIES) {
            process_sleep_ms(BUSY_MS);
            i--;
            continue;
        }
        busy = 0;
        ck_assert_msg(w.http->status < 500, "request %ld: %d", i, w.http->status);
    }
}
END_TEST

struct contender {
    pthread_t thread;
    struct http *http;
    int number;
    int failures;
};

static bool try_when_busy(struct http *h, const char *method, const char *target, struct slice body)
{
    bool answered = http_try(h, method, target, body);
    for (int tries = 0; answered && h->status == 503 && tries < BUSY_TRIES; tries++) {
        process_sleep_ms(BUSY_MS);
        answered = http_try(h, method, target, body);
    }
    return answered;
}

static void *contend(void *arg)
{
    struct contender *c = arg;
    for (int i = 0; i < 100; i++) {
        char target[64], body[64];
        (void)snprintf(target, sizeof(target), "/v1/tables/devices/rows/shared%d", i % 3);
        int n = snprintf(body, sizeof(body), "{\"stats\":{\"a\":\"%d-%d\",\"b\":\"%d-%d\"}}",
                         c->number, i, c->number, i);
        if (!try_when_busy(c->http, i % 2 == 0 ? "PUT" : "PATCH", target,
                           base_slice(body, (size_t)n)) ||
            c->http->status / 100 != 2)
            c->failures++;
        if (!try_when_busy(c->http, "GET", target, SLICE_EMPTY) || c->http->status != 200)
            c->failures++;
        else if (strcmp(http_string(c->http, "/cells/stats/a/0/value"),
                        http_string(c->http, "/cells/stats/b/0/value")) != 0)
            c->failures++; /* a row is read and written whole */
    }
    return NULL;
}

START_TEST(writers_of_one_row_never_tear_it)
{
    struct contender contenders[8];
    world_init(&w, (enum http_version)_i);
    for (int i = 0; i < 8; i++) {
        contenders[i] = (struct contender){.number = i};
        contenders[i].http = http_open(world_server(), (enum http_version)_i, w.key);
        ck_assert_int_eq(pthread_create(&contenders[i].thread, NULL, contend, &contenders[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        (void)pthread_join(contenders[i].thread, NULL);
        http_close(contenders[i].http);
        ck_assert_int_eq(contenders[i].failures, 0);
    }
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(bodies_that_trickle_in_are_taken)
{
    struct raw_tls r;
    char request[512];
    world_init(&w, HTTP_1);
    raw_open(&r, world_server(), "http/1.1");
    const char *body = "{\"stats\":{\"q\":\"slowly\"}}";
    int n =
        snprintf(request, sizeof(request),
                 "PUT /v1/tables/devices/rows/k HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n"
                 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                 w.key, strlen(body));
    ck_assert(raw_send(&r, base_slice(request, (size_t)n)));
    for (size_t i = 0; body[i] != '\0'; i++) {
        ck_assert(raw_send(&r, base_slice(body + i, 1)));
        process_sleep_ms(5);
    }
    ck_assert_int_eq(raw_response(&r, 60000 * process_patience()), 201);
    raw_close(&r);
}
END_TEST

Suite *suite_api_streams(void);
Suite *suite_api_streams(void)
{
    Suite *s = suite_create("api_streams");
    TCase *tc = tcase_create("streams");
    tcase_set_timeout(tc, 90);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_test(tc, slow_readers_cost_little_memory);
    tcase_add_test(tc, peers_that_vanish_leave_nothing_behind);
    tcase_add_test(tc, a_hundred_scans_at_once_are_all_whole);
    tcase_add_loop_test(tc, thousands_of_requests_share_a_connection, 0, 4 * HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_stream_of_a_tenant_that_is_shut_is_broken_off, 0, 2);
    tcase_add_test(tc, the_same_over_http2_is_a_reset);
    tcase_add_test(tc, a_reader_that_stopped_reading_does_not_hold_up_an_offboarding);
    tcase_add_loop_test(tc, writers_of_one_row_never_tear_it, 0, HTTP_VERSIONS);
    tcase_add_test(tc, bodies_that_trickle_in_are_taken);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

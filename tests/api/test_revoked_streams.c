/*
 * tests/api/test_revoked_streams.c - what a key has open ends when the key is revoked, and what a
 * tenant has, when it is suspended: scans, bulk writes, the trail.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "tests/support/scrape.h"
#include "tests/support/world.h"

#include "base/banned.h"

/* A stream that is let be goes on for so long, and then looks whole. */
#define LINES_MAX 6000
#define LINE_MS   20

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

/* --- one stream, on a thread of its own ------------------------------------------------------- */

struct stream {
    CURL *curl;
    char url[128];
    struct curl_slist *headers;
    pthread_t thread;
    CURLcode result;
    _Atomic size_t sent; /* lines */
    _Atomic size_t got;  /* bytes */
};

static bool has_begun(void *arg)
{
    struct stream *s = arg;
    return atomic_load(&s->got) > 0;
}

/* A line now and then. */
static size_t give_line(char *to, size_t size, size_t count, void *user)
{
    struct stream *s = user;
    size_t line = atomic_load(&s->sent);
    if (line == LINES_MAX)
        return 0;
    process_sleep_ms(LINE_MS);
    atomic_store(&s->sent, line + 1);
    return (size_t)snprintf(to, size * count,
                            "{\"key\":\"k%zu\",\"cells\":{\"raw\":{\"q\":\"v\"}}}\n", line);
}

/* At 64 KiB a second a scan of 30 MB takes minutes. */
static size_t take_bytes(char *bytes, size_t size, size_t count, void *user)
{
    struct stream *s = user;
    (void)bytes;
    atomic_fetch_add(&s->got, size * count);
    return size * count;
}

static void *run_stream(void *arg)
{
    struct stream *s = arg;
    s->result = curl_easy_perform(s->curl);
    return NULL;
}

static void stream_start(struct stream *s, const char *target, bool is_upload)
{
    char key[WORLD_KEY + 32];
    memset(s, 0, sizeof *s);
    s->curl = curl_easy_duphandle(w.http->curl);
    ck_assert_ptr_nonnull(s->curl);
    (void)snprintf(s->url, sizeof s->url, "https://127.0.0.1:%u%s", world_server()->port, target);
    (void)snprintf(key, sizeof key, "Authorization: Bearer %s", w.key);
    s->headers = curl_slist_append(s->headers, key);
    s->headers = curl_slist_append(s->headers, "Content-Type: application/x-ndjson");
    s->headers = curl_slist_append(s->headers, "Accept: application/x-ndjson");
    curl_easy_setopt(s->curl, CURLOPT_URL, s->url);
    curl_easy_setopt(s->curl, CURLOPT_HTTPHEADER, s->headers);
    curl_easy_setopt(s->curl, CURLOPT_TIMEOUT_MS, 0L);
    curl_easy_setopt(s->curl, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(s->curl, CURLOPT_WRITEDATA, s);
    curl_easy_setopt(s->curl, CURLOPT_HEADERFUNCTION, NULL);
    curl_easy_setopt(s->curl, CURLOPT_HEADERDATA, NULL);
    curl_easy_setopt(s->curl, CURLOPT_ERRORBUFFER, NULL);
    curl_easy_setopt(s->curl, CURLOPT_CUSTOMREQUEST, NULL);
    if (is_upload) {
        curl_easy_setopt(s->curl, CURLOPT_POST, 1L);
        curl_easy_setopt(s->curl, CURLOPT_POSTFIELDS, NULL);
        curl_easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)-1);
        curl_easy_setopt(s->curl, CURLOPT_READFUNCTION, give_line);
        curl_easy_setopt(s->curl, CURLOPT_READDATA, s);
    } else {
        curl_easy_setopt(s->curl, CURLOPT_HTTPGET, 1L);
        curl_easy_setopt(s->curl, CURLOPT_MAX_RECV_SPEED_LARGE, (curl_off_t)(64 * KIB));
    }
    ck_assert_int_eq(pthread_create(&s->thread, NULL, run_stream, s), 0);
    process_await(has_begun, s, "the stream's first bytes");
}

/* It was broken off. */
static void stream_expect_cut(struct stream *s)
{
    ck_assert_int_eq(pthread_join(s->thread, NULL), 0);
    ck_assert_msg(s->result != CURLE_OK, "%zu bytes look whole", atomic_load(&s->got));
    curl_easy_cleanup(s->curl);
    curl_slist_free_all(s->headers);
}

enum { REVOKED, SUSPENDED, WAYS };

static void close_by(int way)
{
    if (way == REVOKED) {
        http_delete(w.op, "/v1/admin/tenants/%s/keys/%.12s", w.tenant, w.key + 4);
        EXPECT_STATUS(w.op, 204);
    } else {
        http_json(w.op, "POST", "{'reason':'r'}", "/v1/admin/tenants/%s:suspend", w.tenant);
        EXPECT_STATUS(w.op, 200);
    }
}

START_TEST(a_scan_ends)
{
    struct stream s;
    struct buf body;
    static char value[10001];
    memset(value, 'v', sizeof value - 1);
    world_init(&w, HTTP_2);
    base_buf_init(&body, 8 * MIB);
    for (int part = 0; part < 6; part++) {
        base_buf_truncate(&body, 0);
        for (int i = 0; i < 500; i++)
            ck_assert_int_eq(
                base_buf_printf(&body,
                                "{\"key\":\"row%d-%05d\",\"cells\":{\"raw\":{\"v\":\"%s\"}}}\n",
                                part, i, value),
                ERR_OK);
        http_once(w.http, "Content-Type: application/x-ndjson");
        http_bytes(w.http, "POST", base_buf_slice(&body), "/v1/tables/devices:write");
        EXPECT_STATUS(w.http, 200);
    }
    base_buf_fini(&body);
    stream_start(&s, "/v1/tables/devices/rows", false);
    close_by(_i);
    stream_expect_cut(&s);
    ck_assert_uint_lt(atomic_load(&s.got), 30000000);
}
END_TEST

START_TEST(a_bulk_write_ends)
{
    struct stream s;
    world_init(&w, HTTP_2);
    stream_start(&s, "/v1/tables/devices:write", true);
    size_t before = atomic_load(&s.sent);
    close_by(_i);
    stream_expect_cut(&s);
    size_t more = atomic_load(&s.sent) - before;
    ck_assert_msg(more < LINES_MAX / 2, "%zu lines more", more);
}
END_TEST

/* --- a write that takes long ------------------------------------------------------------------ */

enum { LARGE_CELLS = 16, PATTERNS = 100 };

struct dear_write {
    struct http *http;
    char body[8 * KIB];
    pthread_t thread;
    _Atomic bool is_over;
    bool is_answered;
};

static struct dear_write dear;

static void *run_dear_write(void *arg)
{
    struct dear_write *d = arg;
    d->is_answered =
        http_try(d->http, "POST", "/v1/tables/devices/rows/long:check", base_slice_text(d->body));
    atomic_store(&d->is_over, true);
    return NULL;
}

static bool is_planned(void *before)
{
    ck_assert_msg(!atomic_load(&dear.is_over), "%s", http_text(dear.http)); /* it came too soon */
    scrape(w.op);
    return scrape_seen("bigtent_writes_planned_total") > *(const uint64_t *)before;
}

/* 64 MB, each byte matched with 100 expressions: ten seconds and more of a reader. */
START_TEST(a_conditional_write_that_takes_long_ends)
{
    static const int STATUS[WAYS] = {[REVOKED] = 401, [SUSPENDED] = 403};
    static uint8_t value[4 * MIB];
    struct buf body;
    world_init(&w, HTTP_2);
    memset(value, 'v', sizeof value);
    for (int i = 0; i < LARGE_CELLS; i++) {
        http_bytes(w.http, "PUT", base_slice(value, sizeof value),
                   "/v1/tables/devices/cells/long/raw/q%d", i);
        ck_assert_int_eq(w.http->status / 100, 2);
    }
    base_buf_init(&body, sizeof dear.body - 1);
    ck_assert_int_eq(base_buf_append_text(&body, "{\"predicate\":{\"interleave\":["), ERR_OK);
    for (int i = 0; i < PATTERNS; i++)
        ck_assert_int_eq(base_buf_printf(&body, "%s{\"value_regex\":\"v*x\"}", i == 0 ? "" : ","),
                         ERR_OK);
    ck_assert_int_eq(base_buf_append_text(&body, "]},\"then\":[{\"delete_from_row\":{}}]}"),
                     ERR_OK);
    memcpy(dear.body, body.ptr, body.len);
    base_buf_fini(&body);
    scrape(w.op);
    uint64_t before = scrape_seen("bigtent_writes_planned_total");
    dear.http = http_open(world_server(), HTTP_2, w.key);
    ck_assert_int_eq(pthread_create(&dear.thread, NULL, run_dear_write, &dear), 0);
    process_await(is_planned, &before, "a reader with the write");
    close_by(_i);
    ck_assert_int_eq(pthread_join(dear.thread, NULL), 0);
    ck_assert(dear.is_answered);
    EXPECT_STATUS(dear.http, STATUS[_i]);
    http_close(dear.http);
}
END_TEST

struct goal {
    struct stream *stream;
    size_t lines;
};

static bool goal_is_reached(void *arg)
{
    const struct goal *g = arg;
    return atomic_load(&g->stream->sent) >= g->lines;
}

/* The world's other keys, and other tenants, go on. */
START_TEST(others_streams_go_on)
{
    struct stream s;
    char key[WORLD_KEY], id[WORLD_ID];
    world_init(&w, HTTP_2);
    admin_create_key(w.op, w.tenant, "['data.read']", key, id);
    stream_start(&s, "/v1/tables/devices:write", true);
    http_delete(w.op, "/v1/admin/tenants/%s/keys/%s", w.tenant, id);
    EXPECT_STATUS(w.op, 204);
    struct goal goal = {&s, atomic_load(&s.sent) + 150};
    process_await(goal_is_reached, &goal, "three seconds of another key's stream");
    close_by(REVOKED);
    stream_expect_cut(&s);
}
END_TEST

Suite *suite_api_revoked_streams(void);

Suite *suite_api_revoked_streams(void)
{
    Suite *s = suite_create("api_revoked_streams");
    TCase *tc = tcase_create("revoked");
    tcase_set_timeout(tc, 90);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, a_scan_ends, 0, WAYS);
    tcase_add_loop_test(tc, a_bulk_write_ends, 0, WAYS);
    tcase_add_loop_test(tc, a_conditional_write_that_takes_long_ends, 0, WAYS);
    tcase_add_test(tc, others_streams_go_on);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

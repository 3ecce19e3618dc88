/*
 * HTTP/2 through the whole edge: an honest client, and heads that must be refused.
 */
#define _GNU_SOURCE
#include <check.h>

#include "tests/support/edge_h2.h"

#include "base/banned.h"

static struct edge edge;

static void set_up(void)
{
    edge_start(&edge, 2);
}

static void tear_down(void)
{
    edge_stop(&edge);
}

START_TEST(many_requests_on_one_connection)
{
    struct h2 h;
    h2_open(&h, &edge);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100; i++)
            (void)h2_request(&h, "GET", "/static", 0, false);
        h2_await(&h);
    }
    for (size_t i = 0; i < h.count; i++) {
        ck_assert_int_eq(h.streams[i].status, 200);
        ck_assert_uint_eq(h.streams[i].body.len, 1024);
        ck_assert_uint_eq(h.streams[i].error, NGHTTP2_NO_ERROR);
    }
    h2_close(&h);
}
END_TEST

START_TEST(fills_the_exchange)
{
    struct h2 h;
    h2_open(&h, &edge);
    nghttp2_nv nv[] = {h2_nv(":method", "GET"),
                       h2_nv(":scheme", "https"),
                       h2_nv(":path", "/head/%2e%2E/a%2Fb//?17"),
                       h2_nv(":authority", "X:1"),
                       h2_nv("x-one", "1"),
                       h2_nv("host", "X:1"),
                       h2_nv("te", "trailers"),
                       h2_nv("x-one", "2")};
    struct h2_stream *s = h2_submit(&h, nv, sizeof nv / sizeof nv[0]);
    h2_await(&h);
    ck_assert_int_eq(s->status, 200);
    ck_assert_int_eq(base_buf_append_byte(&s->body, 0), ERR_OK);
    ck_assert_str_eq((char *)s->body.ptr,
                     "GET|/head/%2e%2E/a%2Fb//|17|X:1|x-one=1|te=trailers|x-one=2|0|2");
    h2_close(&h);
}
END_TEST

START_TEST(echoes_large_bodies_side_by_side)
{
    struct h2 h;
    h2_open(&h, &edge);
    for (int i = 0; i < 4; i++)
        (void)h2_request(&h, "POST", "/echo", 3 * MIB + (size_t)i, false);
    h2_await(&h);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(h.streams[i].status, 200);
        ck_assert_uint_eq(h.streams[i].body_bytes, 3 * MIB + i);
    }
    h2_close(&h);
}
END_TEST

START_TEST(sends_trailers_after_the_body)
{
    struct h2 h;
    h2_open(&h, &edge);
    const struct h2_stream *s = h2_request(&h, "GET", "/trailers", 0, false);
    h2_await(&h);
    ck_assert_int_eq(s->status, 200);
    ck_assert_uint_eq(s->body.len, 5);
    ck_assert(s->has_trailer);
    h2_close(&h);
}
END_TEST

START_TEST(head_has_no_body)
{
    struct h2 h;
    h2_open(&h, &edge);
    const struct h2_stream *s = h2_request(&h, "HEAD", "/static", 0, false);
    const struct h2_stream *t = h2_request(&h, "HEAD", "/stream?70000", 0, false);
    h2_await(&h);
    ck_assert_int_eq(s->status, 200);
    ck_assert_int_eq(t->status, 200);
    ck_assert_uint_eq(s->body_bytes + t->body_bytes, 0);
    h2_close(&h);
}
END_TEST

START_TEST(streams_to_a_slow_reader_in_bounded_memory)
{
    struct h2 h;
    h2_open(&h, &edge);
    const struct h2_stream *s = h2_request(&h, "GET", "/stream?67108864", 0, false);
    h2_push(&h);
    edge_await_begun(&edge, 1);
    edge_sleep_ms(300); /* of what it must not do: queue more */
    ck_assert_uint_le(atomic_load(&edge.most_queued), LIM_OUT_HIGH_BYTES + 64 * KIB);
    h2_await(&h);
    ck_assert_int_eq(s->status, 200);
    ck_assert_uint_eq(s->body_bytes, 64 * MIB);
    ck_assert_uint_le(atomic_load(&edge.most_queued), LIM_OUT_HIGH_BYTES + 64 * KIB);
    h2_close(&h);
}
END_TEST

static bool handlers_have(void *bytes)
{
    return atomic_load(&edge.body_bytes) >= *(const size_t *)bytes;
}

/* Uploads until the handlers were given so many bytes of bodies in all. */
static void upload(struct h2 *h, size_t bytes)
{
    h2_await_that(h, handlers_have, &bytes, "bytes of bodies");
}

START_TEST(body_nobody_consumes_stops_at_the_window)
{
    struct h2 h;
    h2_open(&h, &edge);
    (void)h2_request(&h, "POST", "/hold", 3 * MIB, false);
    upload(&h, 256 * KIB);
    ck_assert(!h2_run(&h, 200));
    ck_assert_uint_eq(atomic_load(&edge.body_bytes), 256 * KIB);
    for (int i = 0; i < 7; i++)
        (void)h2_request(&h, "POST", "/hold", 3 * MIB, false);
    upload(&h, 900 * KIB + 1);
    ck_assert(!h2_run(&h, 200));
    ck_assert_uint_le(atomic_load(&edge.body_bytes), 1 * MIB);
    h2_close(&h);
    edge_await_gone(&edge);
}
END_TEST

START_TEST(window_of_a_dead_upload_comes_back)
{
    struct h2 h;
    h2_open(&h, &edge);
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < 4; i++)
            (void)h2_request(&h, "POST", "/hold", 256 * KIB, true);
        upload(&h, ((size_t)round + 1) * 900 * KIB);
        for (size_t i = 0; i < 4; i++)
            ck_assert(!h.streams[h.count - 1 - i].is_closed);
        for (size_t i = 0; i < 4; i++)
            ck_assert_int_eq(nghttp2_submit_rst_stream(h.session, 0, h.streams[h.count - 1 - i].id,
                                                       NGHTTP2_CANCEL),
                             0);
        h2_await(&h);
    }
    const struct h2_stream *s = h2_request(&h, "POST", "/echo", 3 * MIB, false);
    h2_await(&h);
    ck_assert_uint_eq(s->body_bytes, 3 * MIB);
    h2_close(&h);
}
END_TEST

START_TEST(early_answer_ends_the_upload)
{
    struct h2 h;
    h2_open(&h, &edge);
    const struct h2_stream *s = h2_request(&h, "POST", "/early", 64 * MIB, false);
    h2_await(&h);
    ck_assert_int_eq(s->status, 403);
    ck_assert_uint_eq(s->error, NGHTTP2_NO_ERROR);
    const struct h2_stream *t = h2_request(&h, "POST", "/echo", 2 * MIB, false);
    h2_await(&h);
    ck_assert_uint_eq(t->body_bytes, 2 * MIB);
    h2_close(&h);
}
END_TEST

START_TEST(aborted_stream_is_reset)
{
    struct h2 h;
    h2_open(&h, &edge);
    const struct h2_stream *s = h2_request(&h, "GET", "/abort?100000", 0, false);
    const struct h2_stream *t = h2_request(&h, "GET", "/abort?0", 0, false);
    h2_await(&h);
    ck_assert_uint_eq(s->error, NGHTTP2_INTERNAL_ERROR);
    ck_assert_uint_eq(t->error, NGHTTP2_INTERNAL_ERROR);
    ck_assert(!h.is_broken);
    h2_close(&h);
}
END_TEST

static bool have_begun(void *count)
{
    return atomic_load(&edge.begun) >= *(const int *)count;
}

START_TEST(client_vanishes)
{
    struct h2 h;
    h2_open(&h, &edge);
    for (int i = 0; i < 10; i++) {
        (void)h2_request(&h, "GET", "/stream?67108864", 0, false);
        (void)h2_request(&h, "GET", "/slow?10", 0, false);
        (void)h2_request(&h, "GET", "/hang", 0, false);
        (void)h2_request(&h, "POST", "/echo", 1000, true);
    }
    h2_await_that(&h, have_begun, &(int){40}, "40 requests to begin");
    h2_close(&h);
    edge_await_gone(&edge);
    ck_assert_int_eq(atomic_load(&edge.begun), 40);
}
END_TEST

START_TEST(reset_request_is_gone)
{
    struct h2 h;
    h2_open(&h, &edge);
    for (int i = 0; i < 20; i++) {
        const struct h2_stream *s =
            h2_request(&h, "GET", i % 2 == 0 ? "/hang" : "/slow?5", 0, false);
        h2_push(&h);
        ck_assert_int_eq(nghttp2_submit_rst_stream(h.session, 0, s->id, NGHTTP2_CANCEL), 0);
    }
    h2_await(&h);
    edge_await_gone(&edge);
    (void)h2_request(&h, "GET", "/static", 0, false);
    h2_await(&h);
    ck_assert_int_eq(h.streams[h.count - 1].status, 200);
    h2_close(&h);
}
END_TEST

/* --- refusals ----------------------------------------------------------------------------------
 */

static void check_refused(const nghttp2_nv *nv, size_t count, int status)
{
    struct h2 h;
    h2_open(&h, &edge);
    struct h2_stream *s = h2_submit(&h, nv, count);
    h2_await(&h);
    ck_assert_msg(s->status == status, "%s of %zu: %d", (const char *)nv[count - 1].name, count,
                  s->status);
    if (status != 0)
        ck_assert(memmem(s->body.ptr, s->body.len, "problems/", 9) != NULL);
    else
        ck_assert_uint_eq(s->error, NGHTTP2_PROTOCOL_ERROR);
    h2_close(&h);
    ck_assert_int_eq(atomic_load(&edge.begun), 0);
}

#define USUAL(path) h2_nv(":method", "GET"), h2_nv(":scheme", "https"), h2_nv(":path", path)
#define REFUSED(status, ...)                                                                       \
    do {                                                                                           \
        nghttp2_nv nv_[] = {__VA_ARGS__};                                                          \
        check_refused(nv_, sizeof nv_ / sizeof nv_[0], status);                                    \
    } while (0)

#define NGHTTP2_REFUSES_USERINFO 0x014000 /* 1.64 and later: the stream is reset */

START_TEST(malformed_head_is_refused)
{
    nghttp2_nv authority = h2_nv(":authority", "x");
    REFUSED(0, USUAL("/static"));
    REFUSED(400, USUAL("/a#b"), authority);
    REFUSED(0, USUAL("/a b"), authority);
    REFUSED(400, USUAL("/\xc3\xa9"), authority);
    REFUSED(400, USUAL("/static"), authority, h2_nv("host", "y"));
    REFUSED(0, USUAL("/static"), h2_nv("host", "x"), h2_nv("host", "x"));
    REFUSED(400, USUAL("/static"), authority, h2_nv("authorization", "a"),
            h2_nv("authorization", "a"));
    REFUSED(400, h2_nv(":method", "OPTIONS"), h2_nv(":scheme", "https"), h2_nv(":path", "*"),
            authority);
    REFUSED(400, h2_nv(":method", "CONNECT"), authority);
    bool is_refused_before_us = nghttp2_version(NGHTTP2_REFUSES_USERINFO) != NULL;
    REFUSED(is_refused_before_us ? 0 : 400, USUAL("/static"), h2_nv(":authority", "u@x"));
    REFUSED(400, h2_nv(":method", "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG"), h2_nv(":scheme", "https"),
            h2_nv(":path", "/static"), authority);
    REFUSED(0, USUAL("static"), authority);
    REFUSED(0, USUAL(""), authority);
    REFUSED(0, USUAL("/static"), authority, h2_nv("connection", "close"));
    REFUSED(0, USUAL("/static"), authority, h2_nv("transfer-encoding", "chunked"));
    REFUSED(0, USUAL("/static"), authority, h2_nv("content-length", "5"));
    REFUSED(0, h2_nv(":method", "GET"), h2_nv(":path", "/static"), authority);
}
END_TEST

START_TEST(a_hash_in_the_path_is_explained)
{
    static const char explained[] = "a #, which is written %23";
    nghttp2_nv nv[] = {USUAL("/static#a"), h2_nv(":authority", "x")};
    struct h2 h;
    h2_open(&h, &edge);
    struct h2_stream *s = h2_submit(&h, nv, sizeof nv / sizeof nv[0]);
    h2_await(&h);
    ck_assert_int_eq(s->status, 400);
    ck_assert(memmem(s->body.ptr, s->body.len, explained, strlen(explained)) != NULL);
    h2_close(&h);
}
END_TEST

START_TEST(large_head_is_refused)
{
    static char path[LIM_TARGET_BYTES + 2];
    static char value[LIM_HEAD_BYTES / 2];
    nghttp2_nv nv[LIM_HEADERS + 5] = {USUAL("/static"), h2_nv(":authority", "x")};
    memset(path, 'a', sizeof path - 1);
    path[0] = '/';
    REFUSED(414, USUAL(path), h2_nv(":authority", "x"));
    for (size_t i = 4; i < sizeof nv / sizeof nv[0]; i++)
        nv[i] = h2_nv("a", "b");
    check_refused(nv, sizeof nv / sizeof nv[0], 431);
    memset(value, 'v', sizeof value - 1);
    nv[4] = h2_nv("a", value);
    nv[5] = h2_nv("b", value);
    check_refused(nv, 6, 431);
}
END_TEST

START_TEST(head_at_the_limits_is_served)
{
    static char path[LIM_TARGET_BYTES + 1];
    nghttp2_nv nv[LIM_HEADERS + 4] = {USUAL("/static"), h2_nv(":authority", "x")};
    struct h2 h;
    h2_open(&h, &edge);
    memset(path, 'a', sizeof path - 1);
    path[0] = '/';
    nghttp2_nv long_path[] = {USUAL(path), h2_nv(":authority", "x")};
    for (size_t i = 4; i < sizeof nv / sizeof nv[0]; i++)
        nv[i] = h2_nv("a", "b");
    const struct h2_stream *s = h2_submit(&h, nv, sizeof nv / sizeof nv[0]);
    const struct h2_stream *t = h2_submit(&h, long_path, 4);
    h2_await(&h);
    ck_assert_int_eq(s->status, 200);
    ck_assert_int_eq(t->status, 200);
    h2_close(&h);
}
END_TEST

Suite *suite_gateway_http2(void);
Suite *suite_gateway_http2(void)
{
    Suite *s = suite_create("gateway_http2");
    TCase *t = tcase_create("honest");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, many_requests_on_one_connection);
    tcase_add_test(t, fills_the_exchange);
    tcase_add_test(t, echoes_large_bodies_side_by_side);
    tcase_add_test(t, sends_trailers_after_the_body);
    tcase_add_test(t, head_has_no_body);
    tcase_add_test(t, streams_to_a_slow_reader_in_bounded_memory);
    tcase_add_test(t, body_nobody_consumes_stops_at_the_window);
    tcase_add_test(t, window_of_a_dead_upload_comes_back);
    tcase_add_test(t, early_answer_ends_the_upload);
    tcase_add_test(t, aborted_stream_is_reset);
    tcase_add_test(t, client_vanishes);
    tcase_add_test(t, reset_request_is_gone);
    tcase_add_test(t, malformed_head_is_refused);
    tcase_add_test(t, a_hash_in_the_path_is_explained);
    tcase_add_test(t, large_head_is_refused);
    tcase_add_test(t, head_at_the_limits_is_served);
    suite_add_tcase(s, t);
    return s;
}

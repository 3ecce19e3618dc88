/*
 * Patience: who is waited for, for how long, and who is not; and that stopping has an end.
 */
#include <check.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/edge_h2.h"
#include "tests/support/process.h"

#include "base/banned.h"

#define H "Host: x\r\n"

static struct edge edge;

/* One kind of patience is short, the others are so long that nothing ended for want of them. */
#define SOON_MS process_await_ms()
#define LONG_MS (2 * (uint32_t)SOON_MS)

static void set_up_head(void)
{
    const struct gw_timeouts timeouts = {
        .head_ms = 300, .idle_ms = LONG_MS, .stall_ms = LONG_MS, .drain_ms = 500};
    edge_start_with(&edge, 2, &timeouts);
}

static void set_up_idle(void)
{
    const struct gw_timeouts timeouts = {
        .head_ms = LONG_MS, .idle_ms = 900, .stall_ms = LONG_MS, .drain_ms = 500};
    edge_start_with(&edge, 2, &timeouts);
}

static void set_up_stall(void)
{
    const struct gw_timeouts timeouts = {
        .head_ms = LONG_MS, .idle_ms = LONG_MS, .stall_ms = 1000, .drain_ms = 500};
    edge_start_with(&edge, 2, &timeouts);
}

static void tear_down(void)
{
    edge_stop(&edge);
}

/* --- peers that were quick enough --------------------------------------------------------------
 *
 * On a busy machine a peer of these tests may take longer than the short patience, and is rightly
 * closed: it tries again.
 */

enum { TRIES = 200 };

static void connect_in_time(struct edge_client *c, const char *alpn)
{
    for (int tries = 1; !edge_connect(c, &edge, alpn); tries++) {
        ck_assert_int_lt(tries, TRIES);
        edge_disconnect(c);
    }
}

/* Sends the nth request of the test. */
static void request_in_time(struct edge_client *c, struct slice request, int nth)
{
    for (int tries = 1;; tries++) {
        connect_in_time(c, "http/1.1");
        (void)edge_send(c, request); /* closed: seen below */
        while (atomic_load(&edge.begun) < nth && !c->closed)
            (void)edge_receive(c, 5);
        if (atomic_load(&edge.begun) >= nth)
            return;
        ck_assert_int_lt(tries, TRIES);
        edge_disconnect(c);
    }
}

/* Both sides know the other's settings. */
static void open_in_time(struct h2 *h)
{
    for (int tries = 1;; tries++) {
        if (h2_try_open(h, &edge)) {
            while (!h->has_settled && !h->is_broken)
                (void)h2_run(h, 5);
            if (h->has_settled)
                return;
            h2_close(h);
        }
        ck_assert_int_lt(tries, TRIES);
    }
}

/* --- tests -------------------------------------------------------------------------------------
 */

START_TEST(peers_that_begin_and_fall_silent_are_closed)
{
    struct edge_client half_head;
    struct edge_client half_body;
    struct edge_client no_settings;
    uint64_t began_ns = base_monotonic_ns();
    int no_hello = edge_dial(&edge);
    connect_in_time(&half_head, "http/1.1");
    connect_in_time(&no_settings, "h2");
    (void)edge_send(&half_head, SLICE_LIT("GET / HTTP/1.1\r\nHo")); /* closed: that is waited for */
    request_in_time(&half_body, SLICE_LIT("POST /echo HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\nx"),
                    1);
    edge_await_close(&half_head);
    ck_assert_int_ge(edge_ms_since(began_ns), 290);
    edge_await_close(&half_body);
    edge_await_close(&no_settings);
    edge_disconnect(&half_head);
    edge_disconnect(&half_body);
    edge_disconnect(&no_settings);
    edge_await_connections(&edge, 0);
    (void)close(no_hello);                         /* the server closed it */
    ck_assert_int_eq(atomic_load(&edge.begun), 1); /* the one whose head was there */
}
END_TEST

START_TEST(idle_peers_are_closed)
{
    struct edge_client idle;
    uint64_t began_ns = base_monotonic_ns();
    connect_in_time(&idle, "http/1.1");
    edge_await_close(&idle);
    ck_assert_int_ge(edge_ms_since(began_ns), 890);
    edge_disconnect(&idle);
    edge_await_connections(&edge, 0);
    ck_assert_int_eq(atomic_load(&edge.begun), 0);
}
END_TEST

static bool takes_no_byte(void *c)
{
    return !edge_send(c, SLICE_LIT("G"));
}

/* One byte now and then must not keep a request head open. */
START_TEST(dribbled_head_is_closed)
{
    struct edge_client c;
    connect_in_time(&c, "http/1.1");
    process_await(takes_no_byte, &c, "a close");
    edge_disconnect(&c);
}
END_TEST

/* Nor a body: 200 bytes a second are below the least speed. */
START_TEST(dribbled_body_is_closed)
{
    struct edge_client c;
    request_in_time(&c, SLICE_LIT("POST /echo HTTP/1.1\r\n" H "Content-Length: 9000000\r\n\r\nx"),
                    1);
    process_await(takes_no_byte, &c, "a close");
    edge_disconnect(&c);
}
END_TEST

START_TEST(idle_http2_gets_goaway)
{
    struct h2 h;
    open_in_time(&h);
    (void)h2_request(&h, "GET", "/static", 0, false);
    h2_await(&h);
    h2_forget(&h);
    (void)h2_run(&h, SOON_MS);
    ck_assert(h.got_goaway);
    ck_assert_uint_eq(h.goaway_error, NGHTTP2_NO_ERROR);
    ck_assert(h.is_broken);
    h2_close(&h);
}
END_TEST

static bool pings_find_no_peer(void *h2)
{
    static const uint8_t eight[8] = {0};
    struct h2 *h = h2;
    (void)h2_frame(h, NGHTTP2_PING, 0, 0, base_slice(eight, 8)); /* the end is waited for */
    (void)h2_run(h, 50);
    return h->is_broken;
}

/* Pings are no work: they do not keep a connection. */
START_TEST(pings_do_not_keep_a_connection)
{
    struct h2 h;
    open_in_time(&h);
    process_await(pings_find_no_peer, &h, "a close");
    h2_close(&h);
}
END_TEST

START_TEST(unfinished_http2_requests_are_ended)
{
    struct h2 h;
    h2_open(&h, &edge);
    const struct h2_stream *body = h2_request(&h, "POST", "/echo", 10, true);
    h2_await(&h);
    ck_assert_uint_eq(body->error, NGHTTP2_CANCEL);
    edge_await_gone(&edge);
    h2_close(&h);
}
END_TEST

/* A header block that is never finished. */
START_TEST(unfinished_http2_head_is_closed)
{
    struct h2 h;
    open_in_time(&h);
    uint64_t began_ns = base_monotonic_ns();
    ck_assert(h2_frame(&h, NGHTTP2_HEADERS, 0, 1, base_slice("\x82\x87", 2)));
    edge_await_close(&h.tls);
    ck_assert_int_ge(edge_ms_since(began_ns), 290);
    h2_close(&h);
}
END_TEST

START_TEST(peers_that_take_nothing_are_closed)
{
    struct edge_client one;
    struct h2 two;
    ck_assert(edge_connect(&one, &edge, "http/1.1"));
    ck_assert(edge_send(&one, SLICE_LIT("GET /sized?134217728 HTTP/1.1\r\n" H "\r\n")));
    h2_open(&two, &edge);
    (void)nghttp2_session_set_local_window_size(two.session, 0, 0, 256 << 20);
    (void)h2_request(&two, "GET", "/stream?134217728", 0, false);
    h2_push(&two);
    edge_await_begun(&edge, 2);
    edge_await_gone(&edge);
    ck_assert_int_eq(atomic_load(&edge.begun), 2);
    edge_disconnect(&one);
    h2_close(&two);
}
END_TEST

/* A window of zero: the socket moves, the stream does not. */
START_TEST(stream_without_window_is_ended)
{
    nghttp2_settings_entry none = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0};
    struct h2 h;
    h2_open(&h, &edge);
    ck_assert_int_eq(nghttp2_submit_settings(h.session, 0, &none, 1), 0);
    const struct h2_stream *s = h2_request(&h, "GET", "/static", 0, false);
    h2_await(&h);
    ck_assert_uint_eq(s->error, NGHTTP2_CANCEL);
    ck_assert_uint_eq(s->body_bytes, 0);
    h2_close(&h);
}
END_TEST

struct upload {
    struct h2 *h;
    const struct h2_stream *stream;
};

static bool ends_beside_empty_frames(void *arg)
{
    const struct upload *u = arg;
    if (!u->stream->is_closed)
        (void)h2_frame(u->h, NGHTTP2_DATA, 0, u->stream->id, SLICE_EMPTY);
    return u->stream->is_closed;
}

/* Frames without a byte are no progress of a body. */
START_TEST(a_body_of_empty_frames_is_ended)
{
    struct h2 h;
    h2_open(&h, &edge);
    struct upload u = {&h, h2_request(&h, "POST", "/echo", 10, true)};
    h2_await_that(&h, ends_beside_empty_frames, &u, "the end of a body of empty frames");
    ck_assert_uint_eq(u.stream->error, NGHTTP2_CANCEL);
    h2_close(&h);
}
END_TEST

/* Takes what is there, and lets the server send as much again: a byte each 5 ms. */
static bool ends_while_taking_little(void *arg)
{
    struct upload *u = arg;
    while (edge_receive(&u->h->tls, 0)) {
        const struct buf *in = &u->h->tls.in;
        ck_assert_int_eq(nghttp2_session_mem_recv(u->h->session, in->ptr, in->len),
                         (ssize_t)in->len);
        base_buf_truncate(&u->h->tls.in, 0);
    }
    h2_push(u->h);
    return u->stream->is_closed || u->h->tls.closed;
}

/* A fifth of the least speed: each window is progress, but less than the time it took. */
START_TEST(an_answer_that_is_taken_too_slowly_is_ended)
{
    nghttp2_settings_entry little = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1};
    struct h2 h;
    open_in_time(&h);
    ck_assert_int_eq(nghttp2_submit_settings(h.session, 0, &little, 1), 0);
    struct upload u = {&h, h2_request(&h, "GET", "/sized?1000000", 0, false)};
    h2_push(&h);
    process_await(ends_while_taking_little, &u, "the end of a trickled answer");
    ck_assert(u.stream->is_closed);
    ck_assert_uint_eq(u.stream->error, NGHTTP2_CANCEL);
    ck_assert_uint_gt(u.stream->body_bytes, 0);
    h2_close(&h);
}
END_TEST

/* A slow handler is not an idle peer. */
START_TEST(slow_answer_is_waited_for)
{
    struct edge_client c;
    struct h2 h;
    request_in_time(&c, SLICE_LIT("GET /slow?1500 HTTP/1.1\r\n" H "\r\n"), 1);
    open_in_time(&h);
    const struct h2_stream *s = h2_request(&h, "GET", "/slow?10", 0, false);
    h2_await(&h);
    ck_assert_int_eq(s->status, 200);
    ck_assert_int_eq(edge_response(&c, NULL), 200);
    edge_disconnect(&c);
    h2_close(&h);
}
END_TEST

START_TEST(stop_does_not_wait_for_ever)
{
    struct edge_client hanging;
    struct edge_client unread;
    struct edge_client uploading;
    struct h2 two;
    ck_assert(edge_connect(&hanging, &edge, "http/1.1"));
    ck_assert(edge_send(&hanging, SLICE_LIT("GET /hang HTTP/1.1\r\n" H "\r\n")));
    ck_assert(edge_connect(&unread, &edge, "http/1.1"));
    ck_assert(edge_send(&unread, SLICE_LIT("GET /sized?134217728 HTTP/1.1\r\n" H "\r\n")));
    ck_assert(edge_connect(&uploading, &edge, "http/1.1"));
    ck_assert(
        edge_send(&uploading, SLICE_LIT("POST /echo HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\n")));
    h2_open(&two, &edge);
    (void)h2_request(&two, "GET", "/hang", 0, false);
    (void)h2_request(&two, "GET", "/slow?200", 0, false);
    h2_push(&two);
    int no_hello = edge_dial(&edge);
    edge_await_begun(&edge, 5);
    uint64_t began_ns = base_monotonic_ns();
    gw_loops_stop(edge.loops);
    edge.loops = NULL;
    ck_assert_int_ge(edge_ms_since(began_ns), 400);
    ck_assert_int_eq(atomic_load(&edge.begun), 5);
    edge_disconnect(&hanging);
    edge_disconnect(&unread);
    edge_disconnect(&uploading);
    h2_close(&two);
    (void)close(no_hello); /* the server closed it */
}
END_TEST

Suite *suite_gateway_reaper(void);
static TCase *add_case(Suite *s, const char *name, void (*set_up)(void))
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    suite_add_tcase(s, tc);
    return tc;
}

Suite *suite_gateway_reaper(void)
{
    Suite *s = suite_create("gateway_reaper");
    TCase *tc = add_case(s, "head", set_up_head);
    tcase_add_test(tc, peers_that_begin_and_fall_silent_are_closed);
    tcase_add_test(tc, dribbled_head_is_closed);
    tcase_add_test(tc, dribbled_body_is_closed);
    tcase_add_test(tc, unfinished_http2_head_is_closed);
    tcase_add_test(tc, slow_answer_is_waited_for);
    tc = add_case(s, "idle", set_up_idle);
    tcase_add_test(tc, idle_peers_are_closed);
    tcase_add_test(tc, idle_http2_gets_goaway);
    tcase_add_test(tc, pings_do_not_keep_a_connection);
    tcase_add_test(tc, slow_answer_is_waited_for);
    tc = add_case(s, "stall", set_up_stall);
    tcase_add_test(tc, unfinished_http2_requests_are_ended);
    tcase_add_test(tc, peers_that_take_nothing_are_closed);
    tcase_add_test(tc, stream_without_window_is_ended);
    tcase_add_test(tc, a_body_of_empty_frames_is_ended);
    tcase_add_test(tc, an_answer_that_is_taken_too_slowly_is_ended);
    tcase_add_test(tc, slow_answer_is_waited_for);
    tcase_add_test(tc, stop_does_not_wait_for_ever);
    return s;
}

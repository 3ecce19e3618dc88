/*
 * HTTP/1.1 through the whole edge: TLS, the gate, h2o, the exchange, and back.
 * Over 500 lines because all of it shares one edge and its client.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>

#include "tests/support/edge.h"

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

#define H "Host: x\r\n"

static struct slice in_of(const struct edge_client *c)
{
    return base_buf_slice(&c->in);
}

static bool contains(struct slice in, const char *text)
{
    return in.len > 0 && memmem(in.ptr, in.len, text, strlen(text)) != NULL;
}

START_TEST(keeps_the_connection)
{
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    for (int i = 0; i < 20; i++) {
        ck_assert(edge_send(&c, SLICE_LIT("GET /static HTTP/1.1\r\n" H "\r\n")));
        struct buf body;
        base_buf_init(&body, MIB);
        ck_assert_int_eq(edge_response(&c, &body), 200);
        ck_assert_uint_eq(body.len, 1024);
        base_buf_fini(&body);
    }
    edge_disconnect(&c);
    edge_await_gone(&edge);
}
END_TEST

START_TEST(serves_clients_without_alpn)
{
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, NULL));
    ck_assert(edge_send(&c, SLICE_LIT("GET /static HTTP/1.1\r\n" H "\r\n")));
    ck_assert_int_eq(edge_response(&c, NULL), 200);
    edge_disconnect(&c);
}
END_TEST

START_TEST(has_no_banner_but_a_date)
{
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    ck_assert(edge_send(&c, SLICE_LIT("GET /static HTTP/1.1\r\n" H "Connection: close\r\n\r\n")));
    edge_await_close(&c);
    ck_assert(!contains(in_of(&c), "erver:"));
    ck_assert(contains(in_of(&c), "\r\nDate: "));
    ck_assert(contains(in_of(&c), "\r\nConnection: close\r\n"));
    edge_disconnect(&c);
}
END_TEST

START_TEST(fills_the_exchange)
{
    struct edge_client c;
    struct buf body;
    base_buf_init(&body, MIB);
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    ck_assert(edge_send(&c, SLICE_LIT("PUT /head/%2e%2E/a%2Fb//?17 HTTP/1.1\r\nHOST: X:1\r\n"
                                      "X-One: 1\r\nAccept: a/b\r\nx-one: 2\r\n"
                                      "Content-Length: 3\r\n\r\nabc")));
    ck_assert_int_eq(edge_response(&c, &body), 200);
    ck_assert(base_buf_append_byte(&body, 0) == ERR_OK);
    ck_assert_str_eq((char *)body.ptr,
                     "PUT|/head/%2e%2E/a%2Fb//|17|X:1|x-one=1|accept=a/b|x-one=2|3|1");
    base_buf_fini(&body);
    edge_disconnect(&c);
}
END_TEST

START_TEST(answers_head_without_body)
{
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    ck_assert(
        edge_send(&c, SLICE_LIT("HEAD /static HTTP/1.1\r\n" H "\r\nHEAD /stream?9 HTTP/1.1\r\n" H
                                "Connection: close\r\n\r\n")));
    edge_await_close(&c);
    ck_assert(contains(in_of(&c), "\r\nContent-Length: 1024\r\n"));
    ck_assert(!contains(in_of(&c), "xx"));
    ck_assert(!contains(in_of(&c), "ss"));
    edge_disconnect(&c);
}
END_TEST

START_TEST(answer_without_content_has_no_length)
{
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    ck_assert(edge_send(&c, SLICE_LIT("DELETE /none HTTP/1.1\r\n" H "\r\n")));
    ck_assert(edge_await_some(&c, "an answer"));
    ck_assert(contains(in_of(&c), "HTTP/1.1 204 No Content\r\n"));
    ck_assert(contains(in_of(&c), "Connection: keep-alive\r\n"));
    ck_assert(!contains(in_of(&c), "ontent-Length"));
    ck_assert(!contains(in_of(&c), "ransfer-"));
    base_buf_truncate(&c.in, 0);
    ck_assert(edge_send(&c, base_slice_text("GET /static HTTP/1.1\r\n" H "\r\n")));
    ck_assert_int_eq(edge_response(&c, NULL), 200);
    edge_disconnect(&c);
}
END_TEST

START_TEST(answers_pipelined_requests_in_order)
{
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    ck_assert(edge_send(&c, SLICE_LIT("GET /slow?50 HTTP/1.1\r\n" H "\r\n"
                                      "POST /echo HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc"
                                      "GET /static HTTP/1.1\r\n" H "\r\n")));
    struct buf body;
    base_buf_init(&body, MIB);
    ck_assert_int_eq(edge_response(&c, &body), 200);
    ck_assert(base_slice_is(base_buf_slice(&body), "xxxxx"));
    base_buf_truncate(&body, 0);
    ck_assert_int_eq(edge_response(&c, &body), 200);
    ck_assert(base_slice_is(base_buf_slice(&body), "abc"));
    base_buf_truncate(&body, 0);
    ck_assert_int_eq(edge_response(&c, &body), 200);
    ck_assert_uint_eq(body.len, 1024);
    base_buf_fini(&body);
    edge_disconnect(&c);
}
END_TEST

START_TEST(malformed_second_request_leaves_the_first_alone)
{
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    ck_assert(edge_send(&c, SLICE_LIT("GET /slow?30 HTTP/1.1\r\n" H "\r\nGET /static HTTP/1.1\r\n"
                                      "Content-Length: 1\r\nContent-Length: 2\r\n" H
                                      "\r\n\r\nGET /static HTTP/1.1\r\n" H "\r\n")));
    ck_assert_int_eq(edge_response(&c, NULL), 200);
    ck_assert_int_eq(edge_response(&c, NULL), 400);
    edge_await_close(&c);
    ck_assert_uint_eq(c.in.len, 0);
    ck_assert_int_eq(atomic_load(&edge.begun), 1);
    edge_disconnect(&c);
}
END_TEST

START_TEST(many_pipelined_requests_in_one_write)
{
    enum { COUNT = 2000 };
    struct edge_client c;
    struct buf all;
    base_buf_init(&all, MIB);
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(base_buf_append_text(&all, "GET /early HTTP/1.1\r\n" H "\r\n"), ERR_OK);
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    ck_assert(edge_send(&c, base_buf_slice(&all)));
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(edge_response(&c, NULL), 403);
    edge_disconnect(&c);
    base_buf_fini(&all);
}
END_TEST

START_TEST(request_byte_by_byte)
{
    static const char request[] =
        "POST /echo HTTP/1.1\r\n" H
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        "GET /static HTTP/1.1\r\n" H "\r\n";
    struct edge_client c;
    struct buf body;
    base_buf_init(&body, MIB);
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    for (size_t i = 0; i < sizeof request - 1; i++)
        ck_assert(edge_send(&c, base_slice(request + i, 1)));
    ck_assert_int_eq(edge_response(&c, &body), 200);
    ck_assert(base_slice_is(base_buf_slice(&body), "abcde"));
    ck_assert_int_eq(edge_response(&c, NULL), 200);
    base_buf_fini(&body);
    edge_disconnect(&c);
}
END_TEST

START_TEST(continues_when_asked_to)
{
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    for (int i = 0; i < 3; i++) {
        ck_assert(edge_send(&c, SLICE_LIT("POST /echo HTTP/1.1\r\n" H "Expect: 100-continue\r\n"
                                          "Content-Length: 5\r\n\r\n")));
        ck_assert_int_eq(edge_response(&c, NULL), 100);
        ck_assert(edge_send(&c, SLICE_LIT("hello")));
        ck_assert_int_eq(edge_response(&c, NULL), 200);
        /* and when the client does not wait for it */
        ck_assert(edge_send(&c, SLICE_LIT("POST /echo HTTP/1.1\r\n" H "Expect: 100-continue\r\n"
                                          "Content-Length: 5\r\n\r\nhello"
                                          "GET /static HTTP/1.1\r\n" H "\r\n")));
        ck_assert_int_eq(edge_response(&c, NULL), 100);
        ck_assert_int_eq(edge_response(&c, NULL), 200);
        ck_assert_int_eq(edge_response(&c, NULL), 200);
    }
    edge_disconnect(&c);
}
END_TEST

static void echo_large(size_t count, bool chunked, int expected)
{
    struct edge_client c;
    struct buf body;
    char head[200];
    struct buf upload;
    base_buf_init(&upload, 2 * LIM_BODY_BYTES);
    base_buf_init(&body, LIM_BODY_BYTES);
    ck_assert_int_eq(base_buf_reserve(&upload, count), ERR_OK);
    for (size_t i = 0; i < count; i++)
        upload.ptr[i] = (uint8_t)(i * 31 >> 3);
    upload.len = count;
    if (chunked)
        (void)snprintf(head, sizeof head,
                       "POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n%zx\r\n",
                       count); /* fits */
    else
        (void)snprintf(head, sizeof head, "POST /echo HTTP/1.1\r\n" H "Content-Length: %zu\r\n\r\n",
                       count); /* fits */
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    ck_assert(edge_send(&c, base_slice_text(head)));
    bool taken = edge_send(&c, base_buf_slice(&upload));
    if (chunked)
        taken = taken && edge_send(&c, SLICE_LIT("\r\n0\r\n\r\n"));
    ck_assert(taken || expected != 200);
    ck_assert_int_eq(edge_response(&c, &body), expected);
    if (expected == 200)
        ck_assert(base_slice_equal(base_buf_slice(&body), base_buf_slice(&upload)));
    edge_disconnect(&c);
    base_buf_fini(&upload);
    base_buf_fini(&body);
}

START_TEST(body_at_the_limit)
{
    echo_large(LIM_BODY_BYTES, false, 200);
    echo_large(LIM_BODY_BYTES, true, 200);
}
END_TEST

START_TEST(body_over_the_limit_is_refused)
{
    echo_large(LIM_BODY_BYTES + 1, false, 413);
    echo_large(LIM_BODY_BYTES + 1, true, 413);
    ck_assert_int_eq(atomic_load(&edge.begun), 0);
}
END_TEST

START_TEST(streams_to_a_slow_reader_in_bounded_memory)
{
    enum { BYTES = 64 * 1024 * 1024 };
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    ck_assert(edge_send(&c, SLICE_LIT("GET /sized?67108864 HTTP/1.1\r\n" H "\r\n")));
    edge_await_begun(&edge, 1);
    edge_sleep_ms(300); /* of what it must not do: queue more */
    ck_assert_uint_le(atomic_load(&edge.most_queued), LIM_OUT_HIGH_BYTES + 64 * KIB);
    struct buf body;
    base_buf_init(&body, EDGE_ANSWER_MAX);
    ck_assert_int_eq(edge_response(&c, &body), 200);
    ck_assert_uint_eq(body.len, BYTES);
    ck_assert_uint_le(atomic_load(&edge.most_queued), LIM_OUT_HIGH_BYTES + 64 * KIB);
    base_buf_fini(&body);
    /* the connection is good for more */
    ck_assert(edge_send(&c, SLICE_LIT("GET /static HTTP/1.1\r\n" H "\r\n")));
    ck_assert_int_eq(edge_response(&c, NULL), 200);
    edge_disconnect(&c);
}
END_TEST

START_TEST(chunked_stream_ends_properly)
{
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    ck_assert(edge_send(&c, SLICE_LIT("GET /stream?100000 HTTP/1.1\r\n" H "\r\n"
                                      "GET /static HTTP/1.1\r\n" H "Connection: close\r\n\r\n")));
    edge_await_close(&c);
    ck_assert(contains(in_of(&c), "transfer-encoding: chunked\r\n"));
    ck_assert(contains(in_of(&c), "s\r\n0\r\n\r\nHTTP/1.1 200"));
    edge_disconnect(&c);
}
END_TEST

START_TEST(aborted_stream_is_not_whole)
{
    static const char *const requests[] = {"GET /abort?100 HTTP/1.1\r\n" H "\r\n",
                                           "GET /abort?100000 HTTP/1.1\r\n" H "\r\n",
                                           "GET /abort?0 HTTP/1.1\r\n" H "\r\n"};
    for (size_t i = 0; i < 3; i++) {
        struct edge_client c;
        ck_assert(edge_connect(&c, &edge, "http/1.1"));
        ck_assert(edge_send(&c, base_slice_text(requests[i])));
        edge_await_close(&c);
        ck_assert(!contains(in_of(&c), "\r\n0\r\n\r\n"));
        edge_disconnect(&c);
    }
    edge_await_gone(&edge);
}
END_TEST

START_TEST(old_client_gets_a_stream_that_ends_by_close)
{
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    ck_assert(
        edge_send(&c, SLICE_LIT("GET /stream?1000 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")));
    edge_await_close(&c);
    ck_assert(contains(in_of(&c), "Connection: close\r\n"));
    ck_assert(!contains(in_of(&c), "chunked"));
    ck_assert(contains(in_of(&c), "ssss"));
    edge_disconnect(&c);
}
END_TEST

START_TEST(client_vanishes_in_the_middle_of_a_response)
{
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    ck_assert(edge_send(&c, SLICE_LIT("GET /sized?67108864 HTTP/1.1\r\n" H "\r\n")));
    ck_assert(edge_await_some(&c, "an answer"));
    edge_disconnect(&c);
    edge_await_gone(&edge);
}
END_TEST

START_TEST(client_vanishes_while_the_answer_is_pending)
{
    for (int i = 0; i < 5; i++) {
        struct edge_client c;
        ck_assert(edge_connect(&c, &edge, "http/1.1"));
        ck_assert(edge_send(&c, SLICE_LIT("GET /slow?60 HTTP/1.1\r\n" H "\r\n")));
        edge_await_begun(&edge, i + 1);
        edge_disconnect(&c);
    }
    edge_await_gone(&edge);
    ck_assert_int_eq(atomic_load(&edge.begun), 5);
}
END_TEST

/* The request behind it keeps the socket's end from being the next thing that could be read. */
START_TEST(client_that_left_ends_a_request_that_has_no_end)
{
    static const char *const REQUESTS[] = {"GET /hang HTTP/1.1\r\n" H "\r\n",
                                           "GET /hang HTTP/1.1\r\n" H "\r\n"
                                           "GET /static HTTP/1.1\r\n" H "\r\n"};
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    ck_assert(edge_send(&c, base_slice_text(REQUESTS[_i])));
    edge_await_begun(&edge, 1);
    edge_disconnect(&c);
    edge_await_gone(&edge);
    edge_await_connections(&edge, 0);
    ck_assert_int_eq(atomic_load(&edge.begun), 1);
}
END_TEST

START_TEST(client_vanishes_in_the_middle_of_a_request)
{
    static const char request[] = "POST /echo HTTP/1.1\r\n" H "Content-Length: 10\r\n\r\nabc";
    for (size_t n = 0; n < sizeof request - 1; n += 7) {
        struct edge_client c;
        ck_assert(edge_connect(&c, &edge, "http/1.1"));
        ck_assert(edge_send(&c, base_slice(request, n)));
        edge_disconnect(&c);
    }
    edge_await_connections(&edge, 0);
    ck_assert_int_eq(atomic_load(&edge.begun), 0);
}
END_TEST

/* What libh2o alone would let pass: each must be refused, and nothing behind it be answered. */
static const char *const GOLDEN[] = {
    "POST /echo HTTP/1.1\r\n" H "Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
    "POST /echo HTTP/1.1\r\n" H "Content-Length: 3,3\r\n\r\nabc",
    "POST /echo HTTP/1.1\r\n" H "Content-Length: +3\r\n\r\nabc",
    "POST /echo HTTP/1.1\r\n" H "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /echo HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /echo HTTP/1.1\r\n" H
    "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
    "POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n3 zz\r\nabc\r\n0\r\n\r\n",
    "POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n",
    "POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n",
    "GET /static HTTP/1.1\r\n" H "X: a\r\n folded\r\n\r\n",
    "GET /static HTTP/1.1\n" H "\n",
    "GET /static HTTP/1.1\r\n" H "X: a\n\r\n",
    "GET /static HTTP/1.1\r\n" H "X : a\r\n\r\n",
    "GET /static HTTP/1.1\r\n" H "Host: y\r\n\r\n",
    "GET /static HTTP/1.1\r\n\r\n",
    "GET /static HTTP/1.1\r\n" H "Authorization: a\r\nAuthorization: b\r\n\r\n",
    "GET http://evil/echo HTTP/1.1\r\n" H "\r\n",
    "OPTIONS * HTTP/1.1\r\n" H "\r\n",
    "GET static HTTP/1.1\r\n" H "\r\n",
    "GET /static#a HTTP/1.1\r\n" H "\r\n",
    "GET /static HTTP/1.1\r\n" H "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
};

START_TEST(golden_probe_is_refused)
{
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    (void)edge_send(&c, base_slice_text(GOLDEN[_i]));
    (void)edge_send(&c, SLICE_LIT("GET /static HTTP/1.1\r\n" H "\r\n")); /* may come too late */
    struct buf body;
    base_buf_init(&body, MIB);
    ck_assert_int_eq(edge_response(&c, &body), 400);
    ck_assert(contains(base_buf_slice(&body), "\"code\":\"invalid\""));
    edge_await_close(&c);
    ck_assert_uint_eq(c.in.len, 0);
    ck_assert_int_eq(atomic_load(&edge.begun), 0);
    base_buf_fini(&body);
    edge_disconnect(&c);
}
END_TEST

START_TEST(a_hash_in_the_target_is_explained)
{
    struct edge_client c;
    struct buf body;
    base_buf_init(&body, MIB);
    ck_assert(edge_connect(&c, &edge, "http/1.1"));
    ck_assert(edge_send(&c, SLICE_LIT("GET /static#a HTTP/1.1\r\n" H "\r\n")));
    ck_assert_int_eq(edge_response(&c, &body), 400);
    ck_assert(contains(base_buf_slice(&body), "a #, which is written %23"));
    base_buf_fini(&body);
    edge_disconnect(&c);
}
END_TEST

START_TEST(limits_have_their_own_status)
{
    struct buf b;
    base_buf_init(&b, MIB);
    ck_assert_int_eq(base_buf_append_text(&b, "GET /"), ERR_OK);
    for (size_t i = 0; i < LIM_TARGET_BYTES; i++)
        ck_assert_int_eq(base_buf_append_byte(&b, 'a'), ERR_OK);
    ck_assert_int_eq(edge_ask(&edge, base_buf_slice(&b)), 414);
    base_buf_truncate(&b, 0);
    ck_assert_int_eq(base_buf_append_text(&b, "GET / HTTP/1.1\r\n"), ERR_OK);
    for (int i = 0; i <= LIM_HEADERS; i++)
        ck_assert_int_eq(base_buf_append_text(&b, "a: b\r\n"), ERR_OK);
    ck_assert_int_eq(edge_ask(&edge, base_buf_slice(&b)), 431);
    base_buf_fini(&b);
}
END_TEST

Suite *suite_gateway_http1(void);
Suite *suite_gateway_http1(void)
{
    Suite *s = suite_create("gateway_http1");
    TCase *t = tcase_create("live");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, keeps_the_connection);
    tcase_add_test(t, serves_clients_without_alpn);
    tcase_add_test(t, has_no_banner_but_a_date);
    tcase_add_test(t, fills_the_exchange);
    tcase_add_test(t, answers_head_without_body);
    tcase_add_test(t, answer_without_content_has_no_length);
    tcase_add_test(t, answers_pipelined_requests_in_order);
    tcase_add_test(t, malformed_second_request_leaves_the_first_alone);
    tcase_add_test(t, many_pipelined_requests_in_one_write);
    tcase_add_test(t, request_byte_by_byte);
    tcase_add_test(t, continues_when_asked_to);
    tcase_add_test(t, body_at_the_limit);
    tcase_add_test(t, body_over_the_limit_is_refused);
    tcase_add_test(t, streams_to_a_slow_reader_in_bounded_memory);
    tcase_add_test(t, chunked_stream_ends_properly);
    tcase_add_test(t, aborted_stream_is_not_whole);
    tcase_add_test(t, old_client_gets_a_stream_that_ends_by_close);
    tcase_add_test(t, client_vanishes_in_the_middle_of_a_response);
    tcase_add_test(t, client_vanishes_while_the_answer_is_pending);
    tcase_add_loop_test(t, client_that_left_ends_a_request_that_has_no_end, 0, 2);
    tcase_add_test(t, client_vanishes_in_the_middle_of_a_request);
    tcase_add_test(t, a_hash_in_the_target_is_explained);
    tcase_add_test(t, limits_have_their_own_status);
    tcase_add_loop_test(t, golden_probe_is_refused, 0, sizeof GOLDEN / sizeof GOLDEN[0]);
    suite_add_tcase(s, t);
    return s;
}

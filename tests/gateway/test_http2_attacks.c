/*
 * HTTP/2 spoken by clients that mean harm: what they cost is bounded, and others are served on.
 */
#define _GNU_SOURCE
#include <check.h>
#include <sys/socket.h>

#include "gateway/http2_internal.h"
#include "tests/support/edge_h2.h"
#include "tests/support/random.h"

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

/* The server still serves others. */
static void check_alive(void)
{
    struct h2 h;
    h2_open(&h, &edge);
    const struct h2_stream *s = h2_request(&h, "GET", "/static", 0, false);
    h2_await(&h);
    ck_assert_int_eq(s->status, 200);
    h2_close(&h);
}

/* GET / with the static table alone; and with an authority from a literal. */
static const uint8_t HEAD_BLOCK[] = {0x82, 0x87, 0x84, 0x41, 0x01, 'x'};

static bool send_head(struct h2 *h, int32_t id, uint8_t flags)
{
    return h2_frame(h, NGHTTP2_HEADERS, flags | NGHTTP2_FLAG_END_HEADERS, id,
                    base_slice(HEAD_BLOCK, sizeof HEAD_BLOCK));
}

/* Requests without end, each followed by a frame of four bytes: the server ends the connection
 * before many were begun. */
static void flood(uint8_t type, uint32_t four_bytes)
{
    const uint8_t payload[] = {(uint8_t)(four_bytes >> 24), (uint8_t)(four_bytes >> 16),
                               (uint8_t)(four_bytes >> 8), (uint8_t)four_bytes};
    struct h2 h;
    h2_open(&h, &edge);
    for (int32_t id = 1; id < 40000; id += 2)
        if (!send_head(&h, id, 0) || !h2_frame(&h, type, 0, id, base_slice(payload, 4)))
            break;
    h2_await_end(&h);
    ck_assert_int_le(atomic_load(&edge.begun), 1100);
    h2_close(&h);
    edge_await_gone(&edge);
    check_alive();
}

START_TEST(rapid_reset_ends_the_connection)
{
    flood(NGHTTP2_RST_STREAM, NGHTTP2_CANCEL);
}
END_TEST

/* libcurl does that behind most requests of a connection it keeps. */
START_TEST(resets_behind_finished_streams_are_harmless)
{
    static const uint8_t cancel[] = {0, 0, 0, NGHTTP2_CANCEL};
    struct h2 h;
    h2_open(&h, &edge);
    for (int i = 0; i < 3000; i++) {
        const struct h2_stream *s = h2_request(&h, "GET", "/static", 0, false);
        h2_await(&h);
        ck_assert_int_eq(s->status, 200);
        ck_assert(h2_frame(&h, NGHTTP2_RST_STREAM, 0, s->id, base_slice(cancel, 4)));
        h2_forget(&h);
    }
    ck_assert(!h.is_broken && !h.got_goaway);
    h2_close(&h);
    check_alive();
}
END_TEST

/* The peer makes the server reset streams: a window overflow on each. */
START_TEST(made_you_reset_ends_the_connection)
{
    flood(NGHTTP2_WINDOW_UPDATE, 0x7fffffff);
}
END_TEST

START_TEST(too_many_streams_are_refused)
{
    struct h2 h;
    h2_open(&h, &edge);
    (void)h2_run(&h, 100);
    for (int32_t id = 1; id < 2 * (LIM_STREAMS_PER_CONN + 20); id += 2)
        if (!send_head(&h, id, 0))
            break;
    (void)h2_run(&h, 200);
    ck_assert_int_le(atomic_load(&edge.begun), LIM_STREAMS_PER_CONN);
    h2_close(&h);
    edge_await_gone(&edge);
    check_alive();
}
END_TEST

#define PING_BYTES 17
static const uint8_t PING[PING_BYTES] = {0, 0, 8, NGHTTP2_PING};

/* As many pings as are allowed, and some of the body of stream 1, so that as many more are. */
static void put_round(struct buf *out)
{
    static const uint8_t data[9] = {0, 0, 0, NGHTTP2_DATA, 0, 0, 0, 0, 1};
    for (int i = 0; i < GW_HTTP2_PINGS_BURST; i++)
        ck_assert_int_eq(base_buf_append(out, base_slice(PING, sizeof PING)), ERR_OK);
    ck_assert_int_eq(base_buf_append(out, base_slice(data, sizeof data)), ERR_OK);
}

static bool is_closed(void *stream)
{
    return ((const struct h2_stream *)stream)->is_closed;
}

/* Memory for answers must not grow. */
START_TEST(unread_answers_stop_the_reading)
{
    struct h2 h;
    struct buf rounds;
    h2_open(&h, &edge);
    struct timeval patience = {.tv_usec = 300000};
    ck_assert_int_eq(setsockopt(h.tls.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience), 0);
    (void)h2_request(&h, "POST", "/hang", 1, true);
    (void)h2_run(&h, 100);
    base_buf_init(&rounds, MIB);
    for (int i = 0; i < 100; i++)
        put_round(&rounds);
    bool is_stopped = false;
    for (int i = 0; i < 6000 && !is_stopped; i++)
        is_stopped = !edge_send(&h.tls, base_buf_slice(&rounds));
    ck_assert(is_stopped);
    /* It waits, it did not close: everything is answered once we read. */
    do
        for (int i = 0; i < 1000 && edge_receive(&h.tls, 20); i++)
            continue;
    while (!edge_send(&h.tls, base_buf_slice(&rounds)) && !h.tls.closed);
    const struct h2_stream *s = h2_request(&h, "GET", "/static", 0, false);
    h2_await_that(&h, is_closed, (void *)(uintptr_t)s, "an answer behind those to the pings");
    ck_assert_int_eq(s->status, 200);
    base_buf_fini(&rounds);
    h2_close(&h);
    check_alive();
}
END_TEST

static bool send_pings(struct h2 *h, size_t count)
{
    bool is_sent = true;
    for (size_t i = 0; i < count && is_sent; i++)
        is_sent = edge_send(&h->tls, base_slice(PING, sizeof PING));
    return is_sent;
}

START_TEST(a_ping_flood_ends_the_connection)
{
    struct h2 h;
    h2_open(&h, &edge);
    (void)send_pings(&h, 1000);
    edge_await_close(&h.tls);
    h2_close(&h);
    check_alive();
}
END_TEST

START_TEST(continuation_flood_ends_the_connection)
{
    struct h2 h;
    h2_open(&h, &edge);
    bool is_stopped = !h2_frame(&h, NGHTTP2_HEADERS, 0, 1, base_slice(HEAD_BLOCK, 3));
    for (int i = 0; i < 100000 && !is_stopped; i++)
        is_stopped = !h2_frame(&h, NGHTTP2_CONTINUATION, 0, 1, base_slice("\0\1a\1b", 5));
    ck_assert(is_stopped);
    h2_close(&h);
    check_alive();
}
END_TEST

START_TEST(hpack_bomb_costs_little)
{
    struct h2 h;
    struct buf block;
    base_buf_init(&block, MIB);
    h2_open(&h, &edge);
    /* one field of 3,900 bytes into the dynamic table, then thousands of one-byte references */
    ck_assert_int_eq(base_buf_append(&block, base_slice(HEAD_BLOCK, sizeof HEAD_BLOCK)), ERR_OK);
    ck_assert_int_eq(base_buf_append(&block, base_slice("\x40\x01"
                                                        "a"
                                                        "\x7f\xbd\x1d",
                                                        6)),
                     ERR_OK);
    for (int i = 0; i < 127 + 0xe80 + 0x3d; i++)
        ck_assert_int_eq(base_buf_append_byte(&block, 'v'), ERR_OK);
    while (block.len < 16000)
        ck_assert_int_eq(base_buf_append_byte(&block, 0xbe), ERR_OK);
    (void)h2_frame(&h, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1,
                   base_buf_slice(&block));
    (void)h2_run(&h, 300);
    h2_close(&h);
    base_buf_fini(&block);
    ck_assert_int_eq(atomic_load(&edge.begun), 0);
    check_alive();
}
END_TEST

START_TEST(upper_case_name_is_refused)
{
    struct h2 h;
    h2_open(&h, &edge);
    (void)h2_frame(&h, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1,
                   base_slice("\x82\x87\x84\x41\x01x\x40\x01"
                              "A\x01"
                              "b",
                              11));
    (void)h2_run(&h, 200);
    ck_assert_int_eq(atomic_load(&edge.begun), 0);
    h2_close(&h);
    check_alive();
}
END_TEST

START_TEST(plain_text_on_http2_is_closed)
{
    struct edge_client c;
    ck_assert(edge_connect(&c, &edge, "h2"));
    ck_assert(edge_send(&c, SLICE_LIT("GET / HTTP/1.1\r\nHost: x\r\n\r\n")));
    edge_await_close(&c);
    ck_assert_int_eq(atomic_load(&edge.begun), 0);
    edge_disconnect(&c);
}
END_TEST

/* A recorded conversation with random damage, from many connections. */
START_TEST(damaged_frames_do_no_harm)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    static const uint8_t frames[] = {
        0, 0, 6, 4, 0, 0, 0, 0, 0, 0,    4,    0,    0,    0xff, 0xff,       /* SETTINGS */
        0, 0, 4, 8, 0, 0, 0, 0, 0, 0,    1,    0,    0,                      /* WINDOW_UPDATE */
        0, 0, 6, 1, 4, 0, 0, 0, 1, 0x83, 0x87, 0x84, 0x41, 1,    'x',        /* HEADERS, open */
        0, 0, 5, 0, 0, 0, 0, 0, 1, 'h',  'e',  'l',  'l',  'o',              /* DATA */
        0, 0, 5, 2, 0, 0, 0, 0, 3, 0,    0,    0,    1,    9,                /* PRIORITY */
        0, 0, 8, 6, 0, 0, 0, 0, 0, 1,    2,    3,    4,    5,    6,    7, 8, /* PING */
        0, 0, 3, 1, 0, 0, 0, 0, 3, 0x82, 0x87, 0x84,                         /* HEADERS */
        0, 0, 3, 9, 4, 0, 0, 0, 3, 0x41, 1,    'x',                          /* CONTINUATION */
        0, 0, 0, 0, 1, 0, 0, 0, 1,                                           /* DATA, end */
        0, 0, 4, 3, 0, 0, 0, 0, 3, 0,    0,    0,    8,                      /* RST_STREAM */
        0, 0, 8, 7, 0, 0, 0, 0, 0, 0,    0,    0,    0,    0,    0,    0, 0, /* GOAWAY */
    };
    struct random dice = {.state = 9113};
    for (int round = 0; round < 400; round++) {
        uint8_t copy[sizeof frames];
        struct edge_client c;
        memcpy(copy, frames, sizeof frames);
        uint32_t changes = random_below(&dice, 4);
        for (uint32_t i = 0; i < changes; i++)
            copy[random_below(&dice, sizeof copy)] = (uint8_t)random_next(&dice);
        ck_assert(edge_connect(&c, &edge, "h2"));
        (void)edge_send(&c, SLICE_LIT(preface));
        size_t cut = random_below(&dice, 8) == 0 ? random_below(&dice, sizeof copy) : sizeof copy;
        (void)edge_send(&c, base_slice(copy, cut));
        if (random_below(&dice, 4) == 0)
            (void)edge_receive(&c, 10);
        edge_disconnect(&c);
    }
    edge_await_gone(&edge);
    check_alive();
}
END_TEST

Suite *suite_gateway_http2_attacks(void);
Suite *suite_gateway_http2_attacks(void)
{
    Suite *s = suite_create("gateway_http2_attacks");
    TCase *attacks = tcase_create("attacks");
    tcase_add_checked_fixture(attacks, set_up, tear_down);
    tcase_set_timeout(attacks, 120);
    tcase_add_test(attacks, rapid_reset_ends_the_connection);
    tcase_add_test(attacks, made_you_reset_ends_the_connection);
    tcase_add_test(attacks, resets_behind_finished_streams_are_harmless);
    tcase_add_test(attacks, too_many_streams_are_refused);
    tcase_add_test(attacks, unread_answers_stop_the_reading);
    tcase_add_test(attacks, a_ping_flood_ends_the_connection);
    tcase_add_test(attacks, continuation_flood_ends_the_connection);
    tcase_add_test(attacks, hpack_bomb_costs_little);
    tcase_add_test(attacks, upper_case_name_is_refused);
    tcase_add_test(attacks, plain_text_on_http2_is_closed);
    tcase_add_test(attacks, damaged_frames_do_no_harm);
    suite_add_tcase(s, attacks);
    return s;
}

/*
 * tests/api/test_bad_http.c - HTTP/1.1 as nobody should speak it: 400 and a close, and the same
 * connection never carries a second request past a malformed one.
 *
 * The probes are those that the HTTP/1 library below the gateway is known to let through.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "tests/support/raw_tls.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct raw_tls raw;
static struct world w;

static void tear_down(void)
{
    raw_close(&raw);
    world_fini(&w);
}

#define READ_MS 5000

/* In requests, KEY stands for a good key. */
static const struct probe {
    const char *what;
    const char *bytes;
    int status; /* 0: a close without an answer is fine too, 400 otherwise */
} PROBES[] = {
    {"two lengths",
     "PUT /v1/tables/devices/rows/k HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
     "KEY\r\nContent-Type: application/json\r\nContent-Length: 23\r\n"
     "Content-Length: 5\r\n\r\n{\"stats\":{\"q\":\"after\"}}",
     400},
    {"two equal lengths",
     "PUT /v1/tables/devices/rows/k HTTP/1.1\r\nHost: a\r\nAuthorization: "
     "Bearer KEY\r\nContent-Length: 23\r\nContent-Length: 23\r\n\r\n"
     "{\"stats\":{\"q\":\"after\"}}",
     400},
    {"length as a list",
     "PUT /v1/tables/devices/rows/k HTTP/1.1\r\nHost: a\r\nContent-Length: "
     "3,3\r\n\r\nabc",
     400},
    {"length with a sign", "PUT /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc",
     400},
    {"length and chunks",
     "PUT /v1/tables/devices/rows/k HTTP/1.1\r\nHost: a\r\nAuthorization: "
     "Bearer KEY\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
     "17\r\n{\"stats\":{\"q\":\"after\"}}\r\n0\r\n\r\n",
     400},
    {"chunks in HTTP/1.0",
     "PUT /healthz HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
     "\r\n0\r\n\r\n",
     400},
    {"identity then chunked",
     "PUT /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n"
     "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     400},
    {"chunked twice",
     "PUT /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n"
     "\r\n0\r\n\r\n",
     400},
    {"gzip, chunked",
     "PUT /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n"
     "\r\n0\r\n\r\n",
     400},
    {"xchunked", "PUT /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
     400},
    {"chunk size 0x",
     "PUT /v1/tables/devices/rows/k HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
     "KEY\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
     400},
    {"chunk size and rubbish",
     "PUT /v1/tables/devices/rows/k HTTP/1.1\r\nHost: a\r\n"
     "Authorization: Bearer KEY\r\nTransfer-Encoding: chunked\r\n\r\n"
     "3 zz\r\nabc\r\n0\r\n\r\n",
     400},
    {"chunks with bare LF",
     "PUT /v1/tables/devices/rows/k HTTP/1.1\r\nHost: a\r\nAuthorization: "
     "Bearer KEY\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n",
     400},
    {"chunk size too long",
     "PUT /v1/tables/devices/rows/k HTTP/1.1\r\nHost: a\r\nAuthorization: "
     "Bearer KEY\r\nTransfer-Encoding: chunked\r\n\r\n"
     "FFFFFFFFFFFFFFFFF\r\nabc\r\n0\r\n\r\n",
     0},
    {"folded header", "GET /healthz HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n", 400},
    {"bare LF", "GET /healthz HTTP/1.1\nHost: a\n\n", 400},
    {"bare CR", "GET /healthz HTTP/1.1\r\nHost: a\r\nX-A: b\rc\r\n\r\n", 400},
    {"space before the colon", "GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n", 400},
    {"no Host", "GET /healthz HTTP/1.1\r\n\r\n", 400},
    {"two Hosts", "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
    {"absolute form", "GET http://evil/healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"target without slash", "GET healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"star", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"authority form", "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"fragment", "GET /healthz#x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"space in the target", "GET /healthz /x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"control character in the target", "GET /health\x01z HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"high byte in the target", "GET /health\xffz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"lower-case version", "GET /healthz http/1.1\r\nHost: a\r\n\r\n", 400},
    {"HTTP/1.2", "GET /healthz HTTP/1.2\r\nHost: a\r\n\r\n", 400},
    {"HTTP/0.9", "GET /healthz\r\n\r\n", 400},
    {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0},
    {"empty header name", "GET /healthz HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400},
    {"control character in a value", "GET /healthz HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n", 400},
    {"header without colon", "GET /healthz HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400},
    {"rubbish", "\x16\x03\x01 this is not HTTP\r\n\r\n", 0},
};

#define PROBE_COUNT ((int)(sizeof(PROBES) / sizeof(PROBES[0])))

static void send_with_key(const char *text)
{
    char request[2048];
    size_t n = 0;
    for (const char *c = text; *c != '\0';) {
        if (strncmp(c, "KEY", 3) == 0) {
            n += (size_t)snprintf(request + n, sizeof(request) - n, "%s", w.key);
            c += 3;
        } else {
            request[n++] = *c++;
        }
    }
    (void)raw_send(&raw, base_slice(request, n));
}

START_TEST(is_answered_with_400_and_a_close)
{
    const struct probe *p = &PROBES[_i];
    world_init(&w, HTTP_1);
    tenant_put(w.http, "devices", "k", "stats", "q", "before");
    raw_open(&raw, world_server(), "http/1.1");
    send_with_key(p->bytes);
    int status = raw_response(&raw, READ_MS);
    ck_assert_msg(status == 400 || (p->status == 0 && status == 0), "%s: status %d", p->what,
                  status);
    ck_assert_msg(raw_read_to_close(&raw, READ_MS), "%s: the connection stays open", p->what);
    ck_assert_msg(raw.in.len == 0, "%s: a second answer: %.*s", p->what, (int)raw.in.len,
                  (const char *)raw.in.ptr);
    http_get(w.http, "/v1/tables/devices/rows/k");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/0/value"), "before");
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 1 + 6 + 8, 1, 1);
}
END_TEST

START_TEST(nul_bytes_in_a_head_are_refused)
{
    world_init(&w, HTTP_1);
    raw_open(&raw, world_server(), "http/1.1");
    (void)raw_send(&raw, SLICE_LIT("GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"));
    ck_assert_int_eq(raw_response(&raw, READ_MS), 400);
    ck_assert(raw_read_to_close(&raw, READ_MS));
}
END_TEST

START_TEST(good_requests_share_a_connection)
{
    world_init(&w, HTTP_1);
    raw_open(&raw, world_server(), "http/1.1");
    for (int i = 0; i < 5; i++) {
        (void)raw_send(&raw, SLICE_LIT("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"));
        ck_assert_int_eq(raw_response(&raw, READ_MS), 200);
    }
    /* two at once (pipelined) are answered in order */
    (void)raw_send(&raw, SLICE_LIT("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
                                   "GET /nosuch HTTP/1.1\r\nHost: a\r\n\r\n"));
    ck_assert_int_eq(raw_response(&raw, READ_MS), 200);
    int second = raw_response(&raw, READ_MS);
    ck_assert_msg(second == 404 || second == 401, "%d", second);
}
END_TEST

START_TEST(chunked_bodies_in_good_form_are_taken)
{
    world_init(&w, HTTP_1);
    raw_open(&raw, world_server(), "http/1.1");
    send_with_key("PUT /v1/tables/devices/rows/k HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
                  "KEY\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "8\r\n{\"stats\"\r\n0F\r\n:{\"q\":\"after\"}}\r\n0\r\n\r\n");
    int status = raw_response(&raw, READ_MS);
    ck_assert_msg(status == 201, "%d", status);
    http_get(w.http, "/v1/tables/devices/rows/k");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/0/value"), "after");
}
END_TEST

START_TEST(a_request_in_single_bytes_is_understood)
{
    world_init(&w, HTTP_1);
    raw_open(&raw, world_server(), "http/1.1");
    const char *text = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    for (size_t i = 0; text[i] != '\0'; i++)
        ck_assert(raw_send(&raw, base_slice(text + i, 1)));
    ck_assert_int_eq(raw_response(&raw, READ_MS), 200);
}
END_TEST

START_TEST(an_endless_head_is_cut_off)
{
    world_init(&w, HTTP_1);
    raw_open(&raw, world_server(), "http/1.1");
    (void)raw_send(&raw, SLICE_LIT("GET /healthz HTTP/1.1\r\nHost: a\r\n"));
    char filler[1024];
    memset(filler, 'x', sizeof(filler));
    memcpy(filler, "X: ", 3);
    memcpy(filler + sizeof(filler) - 2, "\r\n", 2);
    bool open = true;
    for (size_t sent = 0; open && sent < 4 * MIB; sent += sizeof(filler))
        open = raw_send(&raw, base_slice(filler, sizeof(filler)));
    (void)raw_read_to_close(&raw, READ_MS);
    ck_assert_msg(raw.closed, "4 MiB of headers did not end the connection");
}
END_TEST

START_TEST(without_alpn_it_is_http1)
{
    world_init(&w, HTTP_1);
    raw_open(&raw, world_server(), NULL);
    (void)raw_send(&raw, SLICE_LIT("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"));
    ck_assert_int_eq(raw_response(&raw, READ_MS), 200);
}
END_TEST

START_TEST(upgrade_to_h2c_is_ignored_or_refused)
{
    world_init(&w, HTTP_1);
    raw_open(&raw, world_server(), "http/1.1");
    (void)raw_send(&raw,
                   SLICE_LIT("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, "
                             "HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\n\r\n"));
    int status = raw_response(&raw, READ_MS);
    ck_assert_msg(status == 200 || status == 400, "%d", status);
}
END_TEST

START_TEST(rubbish_on_h2_does_not_hurt_others)
{
    world_init(&w, HTTP_2);
    for (int i = 0; i < 20; i++) {
        raw_open(&raw, world_server(), "h2");
        char noise[512];
        for (size_t n = 0; n < sizeof(noise); n++)
            noise[n] = (char)(n * 131 + (size_t)i * 17);
        if (i % 2 == 0)
            (void)raw_send(&raw, SLICE_LIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
        (void)raw_send(&raw, base_slice(noise, sizeof(noise)));
        (void)raw_read_to_close(&raw, 200);
        if (i < 19)
            raw_close(&raw);
    }
    ck_assert_int_eq(tenant_usage(w.http).rows, 0);
}
END_TEST

Suite *suite_api_bad_http(void);
Suite *suite_api_bad_http(void)
{
    Suite *s = suite_create("api_bad_http");
    TCase *tc = tcase_create("bad_http");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, is_answered_with_400_and_a_close, 0, PROBE_COUNT);
    tcase_add_test(tc, nul_bytes_in_a_head_are_refused);
    tcase_add_test(tc, good_requests_share_a_connection);
    tcase_add_test(tc, chunked_bodies_in_good_form_are_taken);
    tcase_add_test(tc, a_request_in_single_bytes_is_understood);
    tcase_add_test(tc, an_endless_head_is_cut_off);
    tcase_add_test(tc, without_alpn_it_is_http1);
    tcase_add_test(tc, upgrade_to_h2c_is_ignored_or_refused);
    tcase_add_test(tc, rubbish_on_h2_does_not_hurt_others);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

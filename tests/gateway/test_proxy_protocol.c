/*
 * The header of a proxy: what is taken, refused and waited for; and whom it makes the peer.
 */
#include <arpa/inet.h>
#include <check.h>
#include <unistd.h>

#include "gateway/proxy_protocol.h"
#include "tests/support/edge.h"

#include "base/banned.h"

#define V2      "\r\n\r\n\0\r\nQUIT\n"
#define V4_PAIR "\xc0\x00\x02\x01\xc0\x00\x02\x02\x04\xd2\x01\xbb"
#define TLV     "\x04\x00\x01x"
#define SIXTEEN "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x09"
#define V6_PAIR SIXTEEN SIXTEEN "\x04\xd2\x01\xbb"
#define V1_GOOD "PROXY TCP4 192.0.2.1 192.0.2.2 1234 443\r\n"

static const struct good {
    struct slice header;
    const char *peer; /* NULL: the proxy's own connection */
} GOOD[] = {
    {SLICE_LIT(V1_GOOD), "::ffff:192.0.2.1"},
    {SLICE_LIT("PROXY TCP6 2001:db8::9 ::1 1234 443\r\n"), "2001:db8::9"},
    {SLICE_LIT("PROXY UNKNOWN\r\n"), NULL},
    {SLICE_LIT("PROXY UNKNOWN ffff::1 ::1 1 2\r\n"), NULL},
    {SLICE_LIT(V2 "\x21\x11\0\x0c" V4_PAIR), "::ffff:192.0.2.1"},
    {SLICE_LIT(V2 "\x21\x11\0\x10" V4_PAIR TLV), "::ffff:192.0.2.1"},
    {SLICE_LIT(V2 "\x21\x21\0\x24" V6_PAIR), "2001:db8::9"},
    {SLICE_LIT(V2 "\x20\x00\0\0"), NULL},
    {SLICE_LIT(V2 "\x20\x11\0\x10" V4_PAIR TLV), NULL},
    {SLICE_LIT(V2 "\x21\x00\0\0"), NULL},
};

static const struct slice BAD[] = {
    SLICE_LIT("GET / HTTP/1.1\r\n"),
    SLICE_LIT("\x16\x03\x01"),
    SLICE_LIT("PROXY TCP4 192.0.2.1 192.0.2.2 1234 443\n"),
    SLICE_LIT("PROXY TCP4  192.0.2.1 192.0.2.2 1234 443\r\n"),
    SLICE_LIT("PROXY TCP4 192.0.2.1 192.0.2.2 1234 443 \r\n"),
    SLICE_LIT("PROXY TCP4 192.0.2.1 192.0.2.2 01234 443\r\n"),
    SLICE_LIT("PROXY TCP4 192.0.2.1 192.0.2.2 65536 443\r\n"),
    SLICE_LIT("PROXY TCP4 192.0.2.1 192.0.2.2 1234\r\n"),
    SLICE_LIT("PROXY TCP4 192.0.2 192.0.2.2 1234 443\r\n"),
    SLICE_LIT("PROXY TCP4 ::1 ::1 1234 443\r\n"),
    SLICE_LIT("PROXY UDP4 192.0.2.1 192.0.2.2 1234 443\r\n"),
    SLICE_LIT("PROXY \r\n"),
    SLICE_LIT(V2 "\x11\x11\0\x0c" V4_PAIR), /* version 1 in binary */
    SLICE_LIT(V2 "\x22\x11\0\x0c" V4_PAIR), /* no command */
    SLICE_LIT(V2 "\x21\x12\0\x0c" V4_PAIR), /* UDP */
    SLICE_LIT(V2 "\x21\x31\0\x0c" V4_PAIR), /* Unix socket */
    SLICE_LIT(V2 "\x21\x11\0\x0b" V4_PAIR), /* too short */
    SLICE_LIT(V2 "\x21\x21\0\x0c" V4_PAIR),
    SLICE_LIT(V2 "\x20\x00\xff\xff"), /* too long */
};

START_TEST(good_headers_are_taken_whole_and_waited_for)
{
    const struct good *g = &GOOD[_i];
    struct gw_proxy_header h;
    char more[256];
    for (size_t len = 0; len < g->header.len; len++)
        ck_assert_int_eq(gw_proxy_parse(base_slice(g->header.ptr, len), &h), GW_PROXY_MORE);
    memcpy(more, g->header.ptr, g->header.len);
    more[g->header.len] = '\x16'; /* TLS follows */
    ck_assert_int_eq(gw_proxy_parse(base_slice(more, g->header.len + 1), &h), GW_PROXY_DONE);
    ck_assert_uint_eq(h.bytes, g->header.len);
    if (g->peer == NULL) {
        ck_assert_int_eq(h.peer.sin6_family, 0);
        return;
    }
    struct in6_addr expected;
    ck_assert_int_eq(inet_pton(AF_INET6, g->peer, &expected), 1);
    ck_assert_mem_eq(&h.peer.sin6_addr, &expected, sizeof expected);
    ck_assert_int_eq(ntohs(h.peer.sin6_port), 1234);
}
END_TEST

START_TEST(bad_headers_are_refused)
{
    struct gw_proxy_header h;
    ck_assert_int_eq(gw_proxy_parse(BAD[_i], &h), GW_PROXY_BAD);
}
END_TEST

START_TEST(a_line_without_an_end_is_refused)
{
    struct gw_proxy_header h;
    char line[200];
    memset(line, 'x', sizeof line);
    memcpy(line, "PROXY UNKNOWN ", 14);
    ck_assert_int_eq(gw_proxy_parse(base_slice(line, 106), &h), GW_PROXY_MORE);
    ck_assert_int_eq(gw_proxy_parse(base_slice(line, 107), &h), GW_PROXY_BAD);
}
END_TEST

static bool have(const char *nets_text, const char *text)
{
    struct errbuf eb = {{0}};
    struct gw_proxy_nets nets;
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    ck_assert_msg(gw_proxy_nets_parse(nets_text, &nets, &eb) == ERR_OK, "%s", eb.text);
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return gw_proxy_nets_have(&nets, (struct sockaddr *)&v4);
    ck_assert_int_eq(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return gw_proxy_nets_have(&nets, (struct sockaddr *)&v6);
}

START_TEST(networks_are_matched_by_their_bits)
{
    static const char *const wrong[] = {"",        "10.0.0.0/33", "10.0.0/8",  "10.0.0.0/8,",
                                        "::1/129", "name",        "10.0.0.0/", "/8"};
    struct errbuf eb = {{0}};
    struct gw_proxy_nets nets;
    ck_assert(have("10.0.0.0/9,192.0.2.1", "10.127.255.255"));
    ck_assert(!have("10.0.0.0/9,192.0.2.1", "10.128.0.0"));
    ck_assert(have("10.0.0.0/9,192.0.2.1", "::ffff:192.0.2.1"));
    ck_assert(!have("10.0.0.0/9,192.0.2.1", "192.0.2.2"));
    ck_assert(!have("10.0.0.0/9,192.0.2.1", "::1"));
    ck_assert(have("2001:db8::/33", "2001:db8:7fff::1"));
    ck_assert(!have("2001:db8::/33", "2001:db8:8000::1"));
    ck_assert(!have("0.0.0.0/0", "::1"));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(gw_proxy_nets_parse(wrong[i], &nets, &eb) == ERR_INVALID, "%s", wrong[i]);
}
END_TEST

/* --- through the edge --------------------------------------------------------------------------
 */

static struct edge edge;

static void edge_open(const char *from, uint32_t connections)
{
    static struct gw_proxy_nets proxies; /* lent to the loops */
    struct errbuf eb = {{0}};
    const struct gw_address_limits limits = {.connections = connections, .with_loopback = true};
    ck_assert_int_eq(gw_proxy_nets_parse(from, &proxies, &eb), ERR_OK);
    edge_start_limited(&edge, &limits, &proxies);
}

static void edge_close(void)
{
    edge_stop(&edge);
}

static void check_peer(struct slice header, const char *expected)
{
    struct edge_client c;
    struct buf body;
    base_buf_init(&body, KIB);
    ck_assert(edge_connect_behind(&c, &edge, header));
    ck_assert(edge_send(&c, SLICE_LIT("GET /peer HTTP/1.1\r\nHost: x\r\n\r\n")));
    ck_assert_int_eq(edge_response(&c, &body), 200);
    ck_assert(base_slice_is(base_buf_slice(&body), expected));
    base_buf_fini(&body);
    edge_disconnect(&c);
}

static void check_refused(struct slice header)
{
    struct edge_client c;
    ck_assert(!edge_connect_behind(&c, &edge, header));
    edge_disconnect(&c);
}

START_TEST(the_peer_is_who_the_header_says)
{
    edge_open("127.0.0.0/8", 0);
    check_peer(SLICE_LIT(V1_GOOD), "192.0.2.1");
    check_peer(SLICE_LIT(V2 "\x21\x21\0\x24" V6_PAIR), "2001:db8::9");
    check_peer(SLICE_LIT(V2 "\x20\x00\0\0"), "127.0.0.1");
}
END_TEST

START_TEST(a_proxy_must_send_a_header_and_nobody_else_may)
{
    edge_open("127.0.0.1", 0);
    check_refused(SLICE_EMPTY);
    check_refused(BAD[0]);
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_PROXY), 2);
    edge_stop(&edge);
    edge_open("192.0.2.0/24", 0);
    check_refused(SLICE_LIT(V1_GOOD));
    check_peer(SLICE_EMPTY, "127.0.0.1");
}
END_TEST

START_TEST(limits_are_of_the_address_in_the_header)
{
    struct edge_client c[2];
    edge_open("127.0.0.1", 2);
    for (int i = 0; i < 2; i++)
        ck_assert(edge_connect_behind(&c[i], &edge, SLICE_LIT(V1_GOOD)));
    check_refused(SLICE_LIT(V1_GOOD));
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ADDRESS), 1);
    check_peer(GOOD[1].header, "2001:db8::9");
    for (int i = 0; i < 2; i++)
        edge_disconnect(&c[i]);
    edge_await_connections(&edge, 0);
    check_peer(SLICE_LIT(V1_GOOD), "192.0.2.1");
}
END_TEST

Suite *suite_gateway_proxy_protocol(void);
Suite *suite_gateway_proxy_protocol(void)
{
    Suite *s = suite_create("gateway_proxy_protocol");
    TCase *t = tcase_create("header");
    tcase_add_loop_test(t, good_headers_are_taken_whole_and_waited_for, 0,
                        (int)(sizeof GOOD / sizeof GOOD[0]));
    tcase_add_loop_test(t, bad_headers_are_refused, 0, (int)(sizeof BAD / sizeof BAD[0]));
    tcase_add_test(t, a_line_without_an_end_is_refused);
    tcase_add_test(t, networks_are_matched_by_their_bits);
    suite_add_tcase(s, t);
    TCase *through = tcase_create("edge");
    tcase_add_checked_fixture(through, NULL, edge_close);
    tcase_add_test(through, the_peer_is_who_the_header_says);
    tcase_add_test(through, a_proxy_must_send_a_header_and_nobody_else_may);
    tcase_add_test(through, limits_are_of_the_address_in_the_header);
    suite_add_tcase(s, through);
    return s;
}

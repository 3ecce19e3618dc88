/*
 * The gate's verdict on what libh2o was measured to accept, refuse or misread, and on each limit
 * below, at and above. Every input is fed whole, byte by byte and in random pieces.
 */
#include <check.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/limits.h"
#include "gateway/http1_gate.h"
#include "tests/support/random.h"

#include "base/banned.h"

#define OK  200 /* complete */
#define CUT 0   /* wants more */

struct probe {
    int status; /* OK, CUT or the refusal */
    const char *bytes;
};

#define H   "Host: x\r\n"
#define GET "GET / HTTP/1.1\r\n"

static const struct probe PROBES[] = {
    {OK, GET H "\r\n"},
    {OK, "GET / HTTP/1.0\r\n\r\n"},
    {OK, "GET / HTTP/1.0\r\n" H "\r\n"},
    {OK, "get /a?b=%2F&c=[] HTTP/1.1\r\nhost:x:8443\r\n\r\n"},
    {OK, "GET //x/../%00 HTTP/1.1\r\nHost: [::1]:8443\r\n\r\n"},
    {OK, GET "Host:   x \t \r\nX-Empty:\r\nX-Tab: a\tb\r\nX-High: \xc3\xa9\r\n\r\n"},
    {OK, "POST / HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n"},
    {OK, "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc"},
    {OK, "POST / HTTP/1.1\r\n" H "Content-Length: 3 \r\n\r\na\r\n"},
    {OK, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
    {OK,
     "POST / HTTP/1.1\r\n" H "Transfer-Encoding: Chunked\r\n\r\n00000003\r\nabc\r\n000\r\n\r\n"},
    {OK, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {OK, "POST / HTTP/1.1\r\n" H "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx"},
    {OK, GET H "Authorization: Bearer a b c\r\n\r\n"},
    {OK, GET H "Connection: upgrade\r\n\r\n"},
    /* not finished */
    {CUT, ""},
    {CUT, "GET"},
    {CUT, GET H},
    {CUT, GET H "\r"},
    {CUT, "POST / HTTP/1.1\r\n" H "Content-Length: 4\r\n\r\nabc"},
    {CUT, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"},
    /* request line */
    {400, "\r\n" GET H "\r\n"},
    {400, " GET / HTTP/1.1\r\n" H "\r\n"},
    {400, "GET  / HTTP/1.1\r\n" H "\r\n"},
    {400, "GET /  HTTP/1.1\r\n" H "\r\n"},
    {400, "GET / HTTP/1.1 \r\n" H "\r\n"},
    {400, "GET\t/ HTTP/1.1\r\n" H "\r\n"},
    {400, "G(T / HTTP/1.1\r\n" H "\r\n"},
    {400, "GET / HTTP/1.2\r\n" H "\r\n"},
    {400, "GET / HTTP/2.0\r\n" H "\r\n"},
    {400, "GET / http/1.1\r\n" H "\r\n"},
    {400, "GET / HTTP/1.1\n" H "\r\n"},
    {400, "GET / HTTP/1.1\r" H "\r\n"},
    {400, "GET /\r\n\r\n"},
    {400, "GET http://evil/echo HTTP/1.1\r\n" H "\r\n"},
    {400, "GET echo HTTP/1.1\r\n" H "\r\n"},
    {400, "OPTIONS * HTTP/1.1\r\n" H "\r\n"},
    {400, "CONNECT x:443 HTTP/1.1\r\n" H "\r\n"},
    {400, "GET /a#b HTTP/1.1\r\n" H "\r\n"},
    {400, "GET /\xc3\xa9 HTTP/1.1\r\n" H "\r\n"},
    {400, "GET /a\x7f HTTP/1.1\r\n" H "\r\n"},
    {400, "GET /a\x01 HTTP/1.1\r\n" H "\r\n"},
    {400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
    {400, "\x16\x03\x01\x02"},
    /* headers */
    {400, GET H "X: a\n\r\n"},
    {400, GET H "X: a\r\r\n\r\n"},
    {400, GET H "\n"},
    {400, GET H "X: a\r\n folded\r\n\r\n"},
    {400, GET " X: a\r\n" H "\r\n"},
    {400, GET H "X : a\r\n\r\n"},
    {400, GET H ": a\r\n\r\n"},
    {400, GET H "X\r\n\r\n"},
    {400, GET H "X[: a\r\n\r\n"},
    {400, GET H "X: a\x01\r\n\r\n"},
    {400, GET H "X: a\x7f\r\n\r\n"},
    {400, GET "\r\n"},
    {400, GET "Host:\r\n\r\n"},
    {400, GET "Host: a b\r\n\r\n"},
    {400, GET "Host: a/b\r\n\r\n"},
    {400, GET "Host: u@a\r\n\r\n"},
    {400, GET "Host: a,b\r\n\r\n"},
    {400, GET H H "\r\n"},
    {400, GET H "hOsT: y\r\n\r\n"},
    {400, "GET / HTTP/1.0\r\n" H H "\r\n"},
    {400, GET H "Authorization: a\r\nAuthorization: a\r\n\r\n"},
    {400,
     GET H "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMA\r\n\r\n"},
    {400, GET H "Upgrade: websocket\r\n\r\n"},
    {400, "POST / HTTP/1.1\r\n" H "Expect: 200-ok\r\nContent-Length: 1\r\n\r\nx"},
    {400, "POST / HTTP/1.0\r\n" H "Expect: 100-continue\r\nContent-Length: 1\r\n\r\nx"},
    /* framing */
    {400, "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"},
    {400, "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"},
    {400, "POST / HTTP/1.1\r\n" H "Content-Length: 3,3\r\n\r\nabc"},
    {400, "POST / HTTP/1.1\r\n" H "Content-Length: 3 3\r\n\r\nabc"},
    {400, "POST / HTTP/1.1\r\n" H "Content-Length: +3\r\n\r\nabc"},
    {400, "POST / HTTP/1.1\r\n" H "Content-Length: -3\r\n\r\nabc"},
    {400, "POST / HTTP/1.1\r\n" H "Content-Length: 0x3\r\n\r\nabc"},
    {400, "POST / HTTP/1.1\r\n" H "Content-Length: 03\r\n\r\nabc"},
    {400, "POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\nabc"},
    {400,
     "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {400,
     "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"},
    {400, "POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {400,
     "POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {400,
     "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {400, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n"},
    {400, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, chunked\r\n\r\n"},
    {400, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n"},
    {400, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked; q=1\r\n\r\n"},
    {400, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: \"chunked\"\r\n\r\n"},
    {400, "POST / HTTP/1.1\r\n" H "Transfer-Encoding:\r\n\r\n"},
    {413, "POST / HTTP/1.1\r\n" H "Content-Length: 16777217\r\n\r\n"},
    {413, "POST / HTTP/1.1\r\n" H "Content-Length: 99999999999999999999999999999999\r\n\r\n"},
};

#define CHUNKED "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"

static const struct probe CHUNK_PROBES[] = {
    {400, CHUNKED "0x3\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "3 zz\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "3;a=b\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED " 3\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "+3\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "000000003\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "3\nabc\n0\n\n"},
    {400, CHUNKED "3\r\nabc\n0\r\n\r\n"},
    {400, CHUNKED "3\r\nabc0\r\n\r\n"},
    {400, CHUNKED "3\r\nabcd\r\n0\r\n\r\n"},
    {400, CHUNKED "3\r\nabc\r\n0\r\nX: trailer\r\n\r\n"},
    {400, CHUNKED "0\r\nContent-Length: 5\r\n\r\n"},
    {400, CHUNKED "0\r\n\n"},
    {413, CHUNKED "1000001\r\n"},
    {413, CHUNKED "ffffffff\r\n"},
};

static struct random dice = {.state = 20181};

struct verdict {
    int status;
    size_t taken;
};

/* Feed in pieces as large as next_piece says; 0 means all. */
static struct verdict judge(struct slice in, size_t piece)
{
    struct gw_http1_gate gate;
    size_t at = 0;
    enum gw_gate_verdict v = GW_GATE_MORE;
    gw_http1_gate_init(&gate);
    while (at < in.len && v == GW_GATE_MORE) {
        size_t n = piece == 0 ? in.len : piece == SIZE_MAX ? 1 + random_below(&dice, 40) : piece;
        size_t left = in.len - at;
        size_t taken = SIZE_MAX;
        v = gw_http1_gate_feed(&gate, base_slice(in.ptr + at, n < left ? n : left), &taken);
        ck_assert_uint_le(taken, left);
        ck_assert(v != GW_GATE_MORE || taken == (n < left ? n : left));
        at += taken;
    }
    ck_assert_uint_le(gate.head_bytes, LIM_HEAD_BYTES + 1);
    ck_assert_uint_le(gate.target_bytes, LIM_TARGET_BYTES + 1);
    if (v == GW_GATE_REFUSED)
        ck_assert(gate.detail != NULL && gate.status >= 400);
    return (struct verdict){v == GW_GATE_REFUSED    ? gate.status
                            : v == GW_GATE_COMPLETE ? OK
                                                    : CUT,
                            at};
}

static void check(int expected, struct slice in, const char *name)
{
    struct verdict whole = judge(in, 0);
    ck_assert_msg(whole.status == expected, "%s: %d, expected %d", name, whole.status, expected);
    for (int i = 0; i < 4; i++) {
        struct verdict pieces = judge(in, i == 0 ? 1 : i == 1 ? 7 : SIZE_MAX);
        ck_assert_msg(pieces.status == whole.status && pieces.taken == whole.taken,
                      "%s: %d at %zu in pieces, %d at %zu whole", name, pieces.status, pieces.taken,
                      whole.status, whole.taken);
    }
}

START_TEST(probe_gets_its_verdict)
{
    const struct probe *p = &PROBES[_i];
    check(p->status, base_slice_text(p->bytes), p->bytes);
}
END_TEST

START_TEST(chunk_probe_gets_its_verdict)
{
    const struct probe *p = &CHUNK_PROBES[_i];
    check(p->status, base_slice_text(p->bytes), p->bytes);
}
END_TEST

START_TEST(zero_byte_is_refused_everywhere)
{
    static const char request[] =
        "POST /a HTTP/1.1\r\nHost: x\r\nX: y\r\nContent-Length: 3\r\n\r\n";
    char copy[sizeof request];
    for (size_t i = 0; i + 1 < sizeof request; i++) {
        memcpy(copy, request, sizeof request);
        copy[i] = '\0';
        check(400, base_slice(copy, sizeof request - 1), request);
    }
}
END_TEST

START_TEST(next_request_is_not_taken)
{
    static const char two[] =
        "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n";
    struct verdict v = judge(SLICE_LIT(two), 0);
    ck_assert_int_eq(v.status, OK);
    ck_assert_uint_eq(v.taken, sizeof two - 1 - strlen("GET / HTTP/1.1\r\n"));
}
END_TEST

START_TEST(refused_byte_is_not_taken)
{
    struct verdict v = judge(SLICE_LIT("GET / HTTP/1.1\r\nHost: x\r\nBad Name: y\r\n\r\n"), 0);
    ck_assert_int_eq(v.status, 400);
    ck_assert_uint_eq(v.taken, strlen("GET / HTTP/1.1\r\nHost: x\r\nBad"));
}
END_TEST

START_TEST(authority_is_a_name_or_an_address)
{
    ck_assert(gw_http1_is_authority(SLICE_LIT("tables.example.com:8443")));
    ck_assert(gw_http1_is_authority(SLICE_LIT("[2001:db8::1]:443")));
    ck_assert(!gw_http1_is_authority(SLICE_LIT("")));
    ck_assert(!gw_http1_is_authority(SLICE_LIT("user@x")));
    ck_assert(!gw_http1_is_authority(SLICE_LIT("x/y")));
    ck_assert(!gw_http1_is_authority(SLICE_LIT("x y")));
}
END_TEST

/* --- limits ------------------------------------------------------------------------------------
 */

static struct buf text_of(const char *before, char fill, size_t count, const char *after)
{
    struct buf b;
    base_buf_init(&b, 64 * MIB);
    (void)base_buf_append_text(&b, before); /* latches, as the next */
    for (size_t i = 0; i < count; i++)
        (void)base_buf_append_byte(&b, (uint8_t)fill);
    ck_assert_int_eq(base_buf_append_text(&b, after), ERR_OK);
    return b;
}

static void check_buf(int expected, struct buf b, const char *name)
{
    check(expected, base_buf_slice(&b), name);
    base_buf_fini(&b);
}

START_TEST(target_limit)
{
    const char *end = " HTTP/1.1\r\n" H "\r\n";
    check_buf(OK, text_of("GET /", 'a', LIM_TARGET_BYTES - 2, end), "below");
    check_buf(OK, text_of("GET /", 'a', LIM_TARGET_BYTES - 1, end), "at");
    check_buf(414, text_of("GET /", 'a', LIM_TARGET_BYTES, end), "above");
}
END_TEST

START_TEST(head_limit)
{
    size_t rest = strlen(GET H "X: \r\n\r\n");
    check_buf(OK, text_of(GET H "X: ", 'a', LIM_HEAD_BYTES - rest - 1, "\r\n\r\n"), "below");
    check_buf(OK, text_of(GET H "X: ", 'a', LIM_HEAD_BYTES - rest, "\r\n\r\n"), "at");
    check_buf(431, text_of(GET H "X: ", 'a', LIM_HEAD_BYTES - rest + 1, "\r\n\r\n"), "above");
    check_buf(431, text_of(GET H, 'a', LIM_HEAD_BYTES, ": b\r\n\r\n"), "name");
}
END_TEST

START_TEST(method_limit)
{
    check_buf(OK, text_of("", 'M', 32, " / HTTP/1.1\r\n" H "\r\n"), "at");
    check_buf(400, text_of("", 'M', 33, " / HTTP/1.1\r\n" H "\r\n"), "above");
}
END_TEST

static struct buf with_headers(int count)
{
    struct buf b = text_of(GET H, 0, 0, "");
    for (int i = 1; i < count; i++)
        (void)base_buf_append_text(&b, "a: b\r\n"); /* latches */
    ck_assert_int_eq(base_buf_append_text(&b, "\r\n"), ERR_OK);
    return b;
}

START_TEST(header_count_limit)
{
    check_buf(OK, with_headers(LIM_HEADERS - 1), "below");
    check_buf(OK, with_headers(LIM_HEADERS), "at");
    check_buf(431, with_headers(LIM_HEADERS + 1), "above");
}
END_TEST

START_TEST(length_limit)
{
    static const char at[] = "POST / HTTP/1.1\r\n" H "Content-Length: 16777216\r\n\r\n";
    struct buf b = text_of(at, 'x', LIM_BODY_BYTES, "");
    ck_assert_int_eq(judge(base_buf_slice(&b), 0).status, OK);
    ck_assert_int_eq(judge(base_buf_slice(&b), 65536).status, OK);
    base_buf_fini(&b);
}
END_TEST

START_TEST(chunks_add_up_to_the_limit)
{
    struct buf b = text_of(CHUNKED "800000\r\n", 'x', LIM_BODY_BYTES / 2, "\r\n800000\r\n");
    for (size_t i = 0; i < LIM_BODY_BYTES / 2; i++)
        (void)base_buf_append_byte(&b, 'y'); /* latches */
    size_t len = b.len;
    ck_assert_int_eq(base_buf_append_text(&b, "\r\n0\r\n\r\n"), ERR_OK);
    ck_assert_int_eq(judge(base_buf_slice(&b), 0).status, OK);
    base_buf_truncate(&b, len);
    ck_assert_int_eq(base_buf_append_text(&b, "\r\n1\r\nz\r\n0\r\n\r\n"), ERR_OK);
    ck_assert_int_eq(judge(base_buf_slice(&b), 0).status, 413);
    base_buf_fini(&b);
}
END_TEST

/* --- mutation ----------------------------------------------------------------------------------
 */

/* No input may crash, hang or get two verdicts; complete requests must parse alike again. */
START_TEST(mutated_requests_get_one_verdict)
{
    static const char extra[] = "\r\n :\t0123,;xX/\0\xff#";
    uint8_t bytes[400];
    for (int round = 0; round < 60000; round++) {
        const struct probe *p =
            random_below(&dice, 2) == 0
                ? &PROBES[random_below(&dice, sizeof PROBES / sizeof PROBES[0])]
                : &CHUNK_PROBES[random_below(&dice, sizeof CHUNK_PROBES / sizeof CHUNK_PROBES[0])];
        size_t len = strlen(p->bytes);
        memcpy(bytes, p->bytes, len);
        for (size_t change = 0; change < 1 + random_below(&dice, 3) && len > 1; change++) {
            size_t at = random_below(&dice, len);
            uint8_t byte = (uint8_t)extra[random_below(&dice, sizeof extra - 1)];
            if (random_below(&dice, 3) == 0) {
                memmove(bytes + at, bytes + at + 1, --len - at);
            } else if (random_below(&dice, 2) == 0 && len < sizeof bytes) {
                memmove(bytes + at + 1, bytes + at, len++ - at);
                bytes[at] = byte;
            } else {
                bytes[at] = byte;
            }
        }
        struct verdict whole = judge(base_slice(bytes, len), 0);
        struct verdict single = judge(base_slice(bytes, len), 1);
        ck_assert_int_eq(whole.status, single.status);
        ck_assert_uint_eq(whole.taken, single.taken);
        if (whole.status == OK)
            ck_assert_int_eq(judge(base_slice(bytes, whole.taken), SIZE_MAX).status, OK);
    }
}
END_TEST

Suite *suite_gateway_http1_gate(void);
Suite *suite_gateway_http1_gate(void)
{
    Suite *s = suite_create("gateway_http1_gate");
    TCase *probes = tcase_create("probes");
    tcase_add_loop_test(probes, probe_gets_its_verdict, 0, sizeof PROBES / sizeof PROBES[0]);
    tcase_add_loop_test(probes, chunk_probe_gets_its_verdict, 0,
                        sizeof CHUNK_PROBES / sizeof CHUNK_PROBES[0]);
    tcase_add_test(probes, zero_byte_is_refused_everywhere);
    tcase_add_test(probes, next_request_is_not_taken);
    tcase_add_test(probes, refused_byte_is_not_taken);
    tcase_add_test(probes, authority_is_a_name_or_an_address);
    suite_add_tcase(s, probes);
    TCase *limits = tcase_create("limits");
    tcase_add_test(limits, target_limit);
    tcase_add_test(limits, head_limit);
    tcase_add_test(limits, method_limit);
    tcase_add_test(limits, header_count_limit);
    tcase_add_test(limits, length_limit);
    tcase_add_test(limits, chunks_add_up_to_the_limit);
    suite_add_tcase(s, limits);
    TCase *mutation = tcase_create("mutation");
    tcase_set_timeout(mutation, 120);
    tcase_add_test(mutation, mutated_requests_get_one_verdict);
    suite_add_tcase(s, mutation);
    return s;
}

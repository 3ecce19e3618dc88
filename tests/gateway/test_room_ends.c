/*
 * tests/gateway/test_room_ends.c - connections that end for a new one while something happens to
 * them, and those that do not end.
 *
 * To have several things happen in one turn of a loop, a request of an operator holds the loop.
 * Listeners and mailbox come first in the next turn, connections after them.
 *
 * Over 500 lines because all of them share how a loop is held.
 */
#include <check.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/proxy_protocol.h"
#include "tests/support/edge_h2.h"

#include "base/banned.h"

enum { STRANGERS, MANY, FEW, OPERATORS, HOLD };
/* Over the limit in handshakes, of a small limit; ticks of 0.5 s in which a request becomes old. */
enum { SPARE = 4, SETTLE_TICKS = 4, LONG_TICKS = 7, CLIENTS = 32 };

#define HEADER "PROXY TCP4 192.0.2.1 192.0.2.2 1234 443\r\n"

static struct edge edge;
static struct base_memory_share users[HOLD];
static struct edge_client clients[CLIENTS];
static int dialled[CLIENTS];
static size_t client_count;
static size_t dialled_count;
static sem_t is_held;
static sem_t may_go_on;
static uint16_t plain_port;

static void act_for(struct gw_exchange *ex, uint64_t n)
{
    gw_exchange_charge(ex, &users[n == HOLD ? OPERATORS : n]);
    if (n != HOLD)
        return;
    (void)sem_post(&is_held);
    while (sem_wait(&may_go_on) != 0)
        continue;
}

static void start(int loops, size_t most, const struct gw_proxy_nets *proxies)
{
    uint32_t long_ms = 10 * (uint32_t)process_await_ms();
    client_count = 0;
    dialled_count = 0;
    ck_assert_int_eq(sem_init(&is_held, 0, 0), 0);
    ck_assert_int_eq(sem_init(&may_go_on, 0, 0), 0);
    edge_prepare(&edge, loops);
    edge.options.endpoints[GW_ENDPOINT_PLAIN].host = "127.0.0.1";
    edge.options.connections_max = most;
    edge.options.proxies = proxies;
    edge.options.timeouts = (struct gw_timeouts){long_ms, long_ms, long_ms, 0};
    edge.options.strangers = &users[STRANGERS];
    edge.options.operators = &users[OPERATORS];
    atomic_store(&edge.of, act_for);
    edge_start_prepared(&edge);
    plain_port = gw_loops_port(edge.loops, GW_ENDPOINT_PLAIN);
}

static void stop(void)
{
    for (size_t i = 0; i < client_count; i++)
        edge_disconnect(&clients[i]);
    for (size_t i = 0; i < dialled_count; i++)
        (void)close(dialled[i]); /* nothing was written to it */
    edge_stop(&edge);
}

/* --- clients -----------------------------------------------------------------------------------
 */

static void ask(struct edge_client *c, const char *path)
{
    char request[64];
    int len = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    ck_assert(edge_send(c, base_slice(request, (size_t)len)));
}

static void expect_served(struct edge_client *c, const char *path)
{
    ask(c, path);
    ck_assert_int_eq(edge_response(c, NULL), 200);
}

static struct edge_client *client_new(const char *path)
{
    struct edge_client *c = &clients[client_count++];
    ck_assert(edge_connect(c, &edge, "http/1.1"));
    expect_served(c, path);
    return c;
}

/* A request that is never answered. */
static struct edge_client *client_hanging(const char *path)
{
    struct edge_client *c = client_new(path);
    int begun = atomic_load(&edge.begun);
    ask(c, "/hang");
    edge_await_begun(&edge, begun + 1);
    return c;
}

static bool is_ended(struct edge_client *c)
{
    while (edge_receive(c, 0))
        continue;
    return c->closed;
}

static int dial(void)
{
    int fd = edge_dial(&edge);
    ck_assert_int_ge(fd, 0);
    dialled[dialled_count++] = fd;
    return fd;
}

/* An established connection, of an address of its own: in plaintext, there is no handshake. */
static int newcomer_dial(void)
{
    char source[32];
    uint16_t port = edge.port;
    edge.port = plain_port;
    (void)snprintf(source, sizeof source, "127.0.1.%zu", dialled_count);
    edge.source = source;
    int fd = dial();
    edge.port = port;
    edge.source = NULL;
    return fd;
}

static bool are_accepted(void *count)
{
    return edge_counted(&edge, GW_EDGE_ACCEPTED) >= *(const uint64_t *)count;
}

static void await_accepted(uint64_t count)
{
    process_await(are_accepted, &count, "connections to be accepted");
}

static bool is_decided(void *before)
{
    return edge_counted(&edge, GW_EDGE_ROOM_IDLE) + edge_counted(&edge, GW_EDGE_ROOM_BUSY) +
               edge_counted(&edge, GW_EDGE_CONNECTIONS) >
           *(const uint64_t *)before;
}

/* A newcomer came, and was accepted or not. */
static void newcomer_come(void)
{
    uint64_t before = edge_counted(&edge, GW_EDGE_ROOM_IDLE) +
                      edge_counted(&edge, GW_EDGE_ROOM_BUSY) +
                      edge_counted(&edge, GW_EDGE_CONNECTIONS);
    (void)newcomer_dial();
    process_await(is_decided, &before, "a decision about a new connection");
}

/* The client is the operators' from then on. */
static void loop_hold(struct edge_client *c)
{
    ask(c, "/of?4");
    while (sem_wait(&is_held) != 0)
        continue;
}

static void loop_release(void)
{
    (void)sem_post(&may_go_on);
}

/* Clients' systems acknowledge an answer within 0.2 s: until then it is still being sent. */
static void answers_settle(void)
{
    edge_await_ticks(&edge, SETTLE_TICKS);
}

/* --- handshakes --------------------------------------------------------------------------------
 */

/* Eight come in one turn: four end handshakes that are there, and then twice as many are over the
 * limit as may be. */
START_TEST(connections_exceed_their_limit_by_a_bounded_number)
{
    enum { COMING = 8 };
    start(1, 1, NULL);
    struct edge_client *c = client_new("/of?3");
    for (size_t i = 0; i < SPARE; i++)
        (void)dial();
    await_accepted(1 + SPARE);
    loop_hold(c);
    for (size_t i = 0; i < COMING; i++)
        (void)dial();
    loop_release();
    ck_assert_int_eq(edge_response(c, NULL), 200);
    await_accepted(1 + SPARE + COMING);
    expect_served(c, "/of?3"); /* after what was accepted */
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM), SPARE);
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_CONNECTIONS), COMING - SPARE);
}
END_TEST

/* The header of the proxy is in the socket when the connection is told to end. */
START_TEST(a_connection_of_a_proxy_that_ended_is_not_admitted)
{
    static struct gw_proxy_nets proxies;
    struct errbuf eb = {{0}};
    char byte;
    ck_assert_int_eq(gw_proxy_nets_parse("127.0.0.1", &proxies, &eb), ERR_OK);
    start(1, 1, &proxies);
    struct edge_client *c = &clients[client_count++];
    ck_assert(edge_connect_behind(c, &edge, SLICE_LIT(HEADER)));
    expect_served(c, "/of?3");
    int oldest = dial();
    await_accepted(2);
    for (size_t i = 1; i < SPARE; i++)
        (void)dial();
    await_accepted(1 + SPARE);
    loop_hold(c);
    (void)dial();
    ck_assert_int_eq(write(oldest, HEADER, sizeof HEADER - 1), (ssize_t)sizeof HEADER - 1);
    loop_release();
    ck_assert_int_eq(edge_response(c, NULL), 200);
    ck_assert_int_le(read(oldest, &byte, 1), 0);
    edge_await_connections(&edge, 1 + SPARE);
    (void)dial(); /* the list of those that end is whole */
    await_accepted(3 + SPARE);
    edge_await_connections(&edge, 1 + SPARE);
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM), 2);
}
END_TEST

/* The one that has been idle longest has sent its next request, which was not read yet. */
START_TEST(an_idle_connection_with_input_is_spared)
{
    enum { MAX = 6 };
    start(1, MAX, NULL);
    struct edge_client *op = client_new("/of?3");
    struct edge_client *asks = client_new("/of?1");
    for (size_t i = 3; i < MAX; i++)
        (void)client_hanging("/of?1");
    struct edge_client *few = client_new("/of?2");
    answers_settle();
    loop_hold(op);
    (void)newcomer_dial();
    ask(asks, "/of?1");
    loop_release();
    ck_assert_int_eq(edge_response(asks, NULL), 200);
    ck_assert_int_eq(edge_response(op, NULL), 200);
    await_accepted(MAX + 1);
    expect_served(op, "/of?3"); /* after what was accepted */
    ck_assert(!is_ended(asks));
    ck_assert_uint_eq(
        edge_counted(&edge, GW_EDGE_ROOM_IDLE) + edge_counted(&edge, GW_EDGE_ROOM_BUSY), 1);
    ck_assert(edge_counted(&edge, GW_EDGE_ROOM_BUSY) == 1 || is_ended(few));
}
END_TEST

START_TEST(input_spares_a_connection_once)
{
    start(1, 2, NULL);
    struct edge_client *op = client_new("/of?3");
    struct edge_client *asks = client_new("/of?1");
    edge_await_ticks(&edge, _i == 0 ? SETTLE_TICKS : LONG_TICKS);
    loop_hold(op);
    (void)newcomer_dial();
    ck_assert(edge_send(asks, SLICE_LIT("GET /of?1 HTTP/1.1\r\n"))); /* no request yet */
    loop_release();
    ck_assert_int_eq(edge_response(op, NULL), 200);
    await_accepted(3);
    expect_served(op, "/of?3"); /* after what was accepted */
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_CONNECTIONS), 1);
    (void)newcomer_dial();
    edge_await_close(asks);
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_CONNECTIONS), 1);
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_IDLE), 1);
}
END_TEST

/* Of two loops, each with half of them; connections that come are counted before they are there. */
START_TEST(as_many_end_as_come)
{
    enum { MAX = 16, HELD = 12, COMING = 8 };
    start(2, MAX, NULL);
    for (size_t i = 0; i < HELD; i++)
        (void)client_new("/of?1");
    answers_settle();
    for (size_t i = 0; i < COMING; i++)
        (void)newcomer_dial();
    await_accepted(HELD + COMING);
    edge_await_connections(&edge, MAX);
    edge_await_ticks(&edge, 4);
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_IDLE), HELD + COMING - MAX);
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_CONNECTIONS), 0);
    ck_assert_uint_eq(gw_loops_connections(edge.loops), MAX);
}
END_TEST

/* --- requests in flight ------------------------------------------------------------------------
 */

/* Again, when the test itself was so slow that what it does is no longer recent for the server. */
static void attempts(size_t most, bool (*in_time)(bool arg), bool arg)
{
    start(1, most, NULL);
    while (!in_time(arg)) {
        stop();
        start(1, most, NULL);
    }
}

/* The peer reads nothing of an answer that is larger than what its system takes. */
static bool answer_end(bool is_http2)
{
    struct h2 h;
    struct edge_client *c = &clients[0];
    int before = atomic_load(&edge.ticks);
    if (is_http2) {
        h2_open(&h, &edge);
        (void)h2_request(&h, "GET", "/sized?150000", 0, false);
        h2_push(&h);
    } else {
        c = client_new("/static");
        ask(c, "/sized?150000");
    }
    edge_await_begun(&edge, is_http2 ? 1 : 2);
    edge_await_gone(&edge);
    newcomer_come();
    bool is_in_time = atomic_load(&edge.ticks) - before < LONG_TICKS - 3;
    if (is_in_time) {
        ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_CONNECTIONS), 1);
        ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_IDLE), 0);
    }
    if (is_http2)
        h2_close(&h);
    return is_in_time;
}

START_TEST(an_idle_connection_has_time_to_send_its_last_answer)
{
    attempts(1, answer_end, _i == 1);
}
END_TEST

static bool refusal_end(bool unused)
{
    (void)unused;
    int before = atomic_load(&edge.ticks);
    struct edge_client *c = client_new("/static");
    ck_assert(edge_send(c, SLICE_LIT("GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n")));
    ck_assert_int_eq(edge_response(c, NULL), 400);
    newcomer_come();
    bool is_in_time = atomic_load(&edge.ticks) - before < LONG_TICKS - 3;
    ck_assert(!is_in_time || edge_counted(&edge, GW_EDGE_CONNECTIONS) == 1);
    return is_in_time;
}

START_TEST(a_refused_request_has_time_for_its_answer)
{
    attempts(1, refusal_end, false);
}
END_TEST

static bool has_gone(void *before)
{
    return atomic_load(&edge.gone) > *(const int *)before;
}

/* Another request than the one with which it began to be busy is in flight. */
static void overlap(struct h2 *h)
{
    int gone = atomic_load(&edge.gone);
    int begun = atomic_load(&edge.begun);
    (void)h2_request(h, "GET", "/hang", 0, false);
    h2_push(h);
    edge_await_begun(&edge, begun + 1);
    ck_assert_int_eq(nghttp2_submit_rst_stream(h->session, 0, h->streams[0].id, NGHTTP2_CANCEL), 0);
    h2_push(h);
    process_await(has_gone, &gone, "the end of a request");
}

static bool overlapping_end(bool has_another)
{
    struct h2 h;
    h2_open(&h, &edge);
    (void)h2_request(&h, "GET", "/hang", 0, false);
    h2_push(&h);
    edge_await_begun(&edge, 1);
    struct edge_client *other = has_another ? client_hanging("/static") : NULL;
    edge_await_ticks(&edge, LONG_TICKS);
    int before = atomic_load(&edge.ticks);
    overlap(&h);
    newcomer_come();
    bool is_in_time = atomic_load(&edge.ticks) - before < LONG_TICKS - 3;
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_BUSY), 1);
    if (has_another && is_in_time)
        edge_await_close(other);
    h2_close(&h);
    return is_in_time;
}

/* Its only other one has a request that has been in flight for long. */
START_TEST(the_longest_request_ends_and_not_the_longest_busy_connection)
{
    attempts(2, overlapping_end, true);
}
END_TEST

START_TEST(requests_that_overlap_hold_no_connection_for_ever)
{
    attempts(1, overlapping_end, false);
}
END_TEST

/* --- a body that comes while its connection ends -----------------------------------------------
 */

static bool is_on_first_loop(struct edge_client *c)
{
    int before = atomic_load(&edge.on_first_loop);
    expect_served(c, "/loop");
    return atomic_load(&edge.on_first_loop) > before;
}

/* All are the operators' but one of the first loop, and another one can hold that loop. The
 * newcomers whom the other loop accepts come by mailbox, and what was deferred runs behind it,
 * before the rest of the body is read. */
START_TEST(a_body_whose_rest_comes_while_its_connection_ends_is_let_go)
{
    enum { MAX = 4, COMING = 12 };
    struct edge_client *uploads = NULL;
    struct edge_client *holds = NULL;
    start(2, MAX, NULL);
    for (size_t i = 0; i < MAX; i++) {
        struct edge_client *c = client_new("/of?3");
        if (!is_on_first_loop(c))
            continue;
        holds = uploads;
        uploads = c;
    }
    ck_assert_ptr_nonnull(holds);
    for (size_t i = 0; i < MAX; i++) { /* what came last tells whose it is */
        expect_served(&clients[i], &clients[i] == uploads ? "/of?1" : "/of?3");
    }
    int begun = atomic_load(&edge.begun);
    ck_assert(edge_send(
        uploads, SLICE_LIT("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nbody")));
    edge_await_begun(&edge, begun + 1);
    edge_await_ticks(&edge, 2 * LONG_TICKS);
    loop_hold(holds);
    uint64_t accepted = edge_counted(&edge, GW_EDGE_ACCEPTED);
    for (size_t i = 0; i < COMING; i++)
        (void)newcomer_dial();
    await_accepted(accepted + 1);
    ck_assert(edge_send(uploads, SLICE_LIT(" rest")));
    loop_release();
    ck_assert_int_eq(edge_response(holds, NULL), 200);
    edge_await_gone(&edge);
    await_accepted(accepted + COMING);
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_BUSY), 1);
}
END_TEST

Suite *suite_gateway_room_ends(void);
Suite *suite_gateway_room_ends(void)
{
    Suite *s = suite_create("gateway_room_ends");
    TCase *tc = tcase_create("ends");
    tcase_add_checked_fixture(tc, NULL, stop);
    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, connections_exceed_their_limit_by_a_bounded_number);
    tcase_add_test(tc, a_connection_of_a_proxy_that_ended_is_not_admitted);
    tcase_add_test(tc, an_idle_connection_with_input_is_spared);
    tcase_add_loop_test(tc, input_spares_a_connection_once, 0, 2);
    tcase_add_test(tc, as_many_end_as_come);
    tcase_add_loop_test(tc, an_idle_connection_has_time_to_send_its_last_answer, 0, 2);
    tcase_add_test(tc, a_refused_request_has_time_for_its_answer);
    tcase_add_test(tc, the_longest_request_ends_and_not_the_longest_busy_connection);
    tcase_add_test(tc, requests_that_overlap_hold_no_connection_for_ever);
    tcase_add_test(tc, a_body_whose_rest_comes_while_its_connection_ends_is_let_go);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/gateway/test_room.c - when all connections are in use: who gives way to a new one, and how
 * the connections that end are closed.
 */
#include <check.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/support/edge_h2.h"
#include "tests/support/process.h"

#include "base/banned.h"

enum {
    MAX = 16,
    EACH = MAX / 2,
    CLIENTS = 2 * MAX,
    STRANGERS = 0,
    MANY = 1,
    FEW = 2,
    OPERATORS = 3,
    LONG_TICKS = 7
};

struct client {
    bool is_http2;
    bool is_open;
    struct edge_client one;
    struct h2 two;
};

static struct edge edge;
static struct client clients[CLIENTS];
static struct base_memory_share users[4];

static void act_for(struct gw_exchange *ex, uint64_t n)
{
    gw_exchange_charge(ex, &users[n]);
}

/* Nothing ends for want of patience. */
static void start(int loops, size_t most, const struct gw_address_limits *limits)
{
    uint32_t long_ms = 10 * (uint32_t)process_await_ms();
    edge_prepare(&edge, loops);
    edge.options.connections_max = most;
    edge.options.timeouts =
        (struct gw_timeouts){.head_ms = long_ms, .idle_ms = long_ms, .stall_ms = long_ms};
    edge.options.strangers = &users[STRANGERS];
    edge.options.operators = &users[OPERATORS];
    if (limits != NULL)
        edge.options.per_address = *limits;
    atomic_store(&edge.of, act_for);
    edge_start_prepared(&edge);
}

/* Clients' systems acknowledge an answer within 0.2 s: until then it is still being sent. */
static void answers_settle(void)
{
    edge_await_ticks(&edge, 4);
}

/* --- clients -----------------------------------------------------------------------------------
 */

static void client_close(struct client *c)
{
    if (!c->is_open)
        return;
    if (c->is_http2)
        h2_close(&c->two);
    else
        edge_disconnect(&c->one);
    c->is_open = false;
}

static bool client_open(struct client *c, bool is_http2, const char *source)
{
    edge.source = source;
    c->is_http2 = is_http2;
    if (is_http2) {
        c->is_open = h2_try_open(&c->two, &edge);
    } else {
        c->is_open = edge_connect(&c->one, &edge, "http/1.1");
        if (!c->is_open)
            edge_disconnect(&c->one);
    }
    return c->is_open;
}

static void client_send(struct client *c, const char *path)
{
    char request[64];
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    if (!c->is_http2) {
        (void)edge_send(&c->one, base_slice_text(request)); /* closed: no answer comes */
        return;
    }
    h2_forget(&c->two);
    (void)h2_request(&c->two, "GET", path, 0, false);
    h2_push(&c->two);
}

static bool client_ask(struct client *c, const char *path)
{
    client_send(c, path);
    if (!c->is_http2)
        return edge_response(&c->one, NULL) == 200;
    return h2_run(&c->two, process_await_ms()) && c->two.streams[0].status == 200;
}

static void client_begin(struct client *c, bool is_http2, const char *source, const char *path)
{
    ck_assert(client_open(c, is_http2, source));
    ck_assert(client_ask(c, path));
}

/* A request that is never answered. */
static void client_hang(struct client *c)
{
    int begun = atomic_load(&edge.begun);
    client_send(c, "/hang");
    edge_await_begun(&edge, begun + 1);
}

/* The server closed it. */
static bool client_is_ended(struct client *c)
{
    if (c->is_http2) {
        if (h2_run(&c->two, 0)) { /* it reads nothing when all requests are answered */
            h2_forget(&c->two);
            (void)h2_run(&c->two, 0);
        }
        return c->two.is_broken;
    }
    while (edge_receive(&c->one, 0))
        continue;
    return c->one.closed;
}

/* It was told so by TLS, and by HTTP/2. */
static bool client_was_told(struct client *c)
{
    SSL *ssl = c->is_http2 ? c->two.tls.ssl : c->one.ssl;
    bool is_told = (SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN) != 0;
    return is_told &&
           (!c->is_http2 || (c->two.got_goaway && c->two.goaway_error == NGHTTP2_NO_ERROR));
}

static size_t ended_count(size_t from, size_t to)
{
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        if (!client_is_ended(&clients[i]))
            continue;
        ck_assert(client_was_told(&clients[i]));
        count++;
    }
    return count;
}

static void tear_down(void)
{
    for (size_t i = 0; i < CLIENTS; i++)
        client_close(&clients[i]);
    edge_stop(&edge);
}

/* --- tests -------------------------------------------------------------------------------------
 */

/* The one that was used before all others has a request in flight. */
START_TEST(two_addresses_within_their_limits_lock_out_nobody)
{
    static const struct gw_address_limits LIMITS = {.connections = EACH, .with_loopback = true};
    bool is_http2 = _i % 2 == 1;
    struct client *newcomer = &clients[MAX];
    start(1 + _i / 2, MAX, &LIMITS);
    for (size_t i = 0; i < MAX; i++) {
        client_begin(&clients[i], is_http2, i < EACH ? "127.0.0.2" : "127.0.0.3", "/static");
        if (i == 0)
            client_hang(&clients[i]);
    }
    ck_assert_uint_eq(gw_loops_connections(edge.loops), MAX);
    answers_settle();
    client_begin(newcomer, is_http2, "127.0.0.4", "/static");
    edge_await_connections(&edge, MAX);
    ck_assert_uint_eq(ended_count(0, MAX), 1);
    ck_assert(!client_is_ended(&clients[0]));
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_IDLE), 1);
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_BUSY), 0);
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_CONNECTIONS), 0);
    for (size_t i = 1; i < MAX; i++)
        ck_assert(client_is_ended(&clients[i]) || client_ask(&clients[i], "/static"));
    ck_assert(client_ask(newcomer, "/static"));
}
END_TEST

/* Each of its connections is from an address of its own; those of the other have been idle longer.
 */
START_TEST(a_user_of_many_connections_gives_way_to_others)
{
    enum { OF_FEW = 2, NEWCOMERS = 4 };
    bool is_http2 = _i == 1;
    char source[32];
    start(1, MAX, NULL);
    for (size_t i = 0; i < MAX; i++) {
        (void)snprintf(source, sizeof source, "127.0.1.%zu", i);
        client_begin(&clients[i], is_http2, source, i < OF_FEW ? "/of?2" : "/of?1");
    }
    answers_settle();
    for (size_t i = MAX; i < MAX + NEWCOMERS; i++) {
        (void)snprintf(source, sizeof source, "127.0.2.%zu", i);
        client_begin(&clients[i], is_http2, source, "/of?2");
    }
    edge_await_connections(&edge, MAX);
    ck_assert_uint_eq(ended_count(OF_FEW, MAX), NEWCOMERS);
    ck_assert_uint_eq(ended_count(0, OF_FEW), 0);
    ck_assert_uint_eq(ended_count(MAX, MAX + NEWCOMERS), 0);
}
END_TEST

/* Those of the other address have been idle longer. */
START_TEST(an_address_of_many_connections_gives_way_itself)
{
    enum { OF_FEW = 3, NEWCOMERS = 6 };
    bool is_http2 = _i == 1;
    start(1, MAX, NULL);
    for (size_t i = 0; i < MAX + NEWCOMERS; i++) {
        if (i == MAX)
            answers_settle();
        client_begin(&clients[i], is_http2, i < OF_FEW ? "127.0.0.3" : "127.0.0.2", "/static");
    }
    edge_await_connections(&edge, MAX);
    ck_assert_uint_eq(ended_count(0, OF_FEW), 0);
    ck_assert_uint_eq(ended_count(OF_FEW, MAX + NEWCOMERS), NEWCOMERS);
}
END_TEST

static bool are_accepted(void *count)
{
    return edge_counted(&edge, GW_EDGE_ACCEPTED) >= *(const uint64_t *)count;
}

/* Without a handshake, however many. */
START_TEST(what_only_connects_ends_no_established_connection)
{
    enum { COMING = 12 };
    bool is_http2 = _i == 1;
    uint64_t count = EACH + COMING;
    int fds[COMING];
    start(1, EACH, NULL);
    for (size_t i = 0; i < EACH; i++)
        client_begin(&clients[i], is_http2, "127.0.0.2", "/of?1");
    answers_settle();
    for (size_t i = 0; i < COMING; i++)
        ck_assert_int_ge(fds[i] = edge_dial(&edge), 0);
    process_await(are_accepted, &count, "connections to be accepted");
    for (size_t i = 0; i < EACH; i++)
        ck_assert(client_ask(&clients[i], "/of?1"));
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_IDLE), 0);
    ck_assert_uint_ge(edge_counted(&edge, GW_EDGE_ROOM), 1);
    for (size_t i = 0; i < COMING; i++)
        (void)close(fds[i]); /* nothing was written to it */
}
END_TEST

/* --- with requests in flight everywhere --------------------------------------------------------
 */

static bool newcomer_is_served(void *is_http2)
{
    struct client *c = &clients[CLIENTS - 1];
    client_close(c);
    return client_open(c, *(const bool *)is_http2, "127.0.0.4") && client_ask(c, "/static");
}

static size_t broken_count(size_t from, size_t to)
{
    size_t count = 0;
    for (size_t i = from; i < to; i++)
        count += client_is_ended(&clients[i]);
    return count;
}

/* Idle ones of another address are there. */
START_TEST(the_holder_of_most_pays_with_its_requests)
{
    enum { OF_FEW = 2 };
    bool is_http2 = _i == 1;
    start(1, EACH, NULL);
    for (size_t i = 0; i < EACH; i++) {
        client_begin(&clients[i], is_http2, i < OF_FEW ? "127.0.0.3" : "127.0.0.2", "/static");
        if (i >= OF_FEW)
            client_hang(&clients[i]);
    }
    edge_await_ticks(&edge, LONG_TICKS);
    process_await(newcomer_is_served, &is_http2, "the end of a request");
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_BUSY), 1);
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_IDLE), 0);
    ck_assert_uint_eq(broken_count(0, OF_FEW), 0);
    ck_assert_uint_eq(broken_count(OF_FEW, EACH), 1);
}
END_TEST

/* The only idle connection is an operator's. */
START_TEST(operators_give_way_to_nobody)
{
    enum { HELD = 5 };
    bool is_http2 = _i == 1;
    start(1, HELD, NULL);
    for (size_t i = 0; i < HELD; i++) {
        client_begin(&clients[i], is_http2, "127.0.0.2", i == 0 ? "/of?3" : "/of?1");
        if (i > 0)
            client_hang(&clients[i]);
    }
    process_await(newcomer_is_served, &is_http2, "a place among busy connections");
    edge_await_connections(&edge, HELD);
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_BUSY), 1);
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_IDLE), 0);
    ck_assert_uint_eq(broken_count(1, HELD), 1);
    ck_assert(client_is_ended(&clients[1])); /* its request had been in flight longest */
    ck_assert(client_ask(&clients[0], "/of?3"));
}
END_TEST

/* Its operator's key is not good any more, or it acts for a tenant. */
START_TEST(a_connection_is_the_operators_while_its_last_request_was)
{
    bool is_http2 = _i % 2 == 1;
    struct client *c = &clients[0];
    start(1, 1, NULL);
    client_begin(c, is_http2, "127.0.0.2", "/of?3");
    answers_settle();
    ck_assert(!newcomer_is_served(&is_http2));
    ck_assert(client_ask(c, _i < 2 ? "/of?0" : "/of?1"));
    answers_settle();
    ck_assert(newcomer_is_served(&is_http2));
    edge_await_connections(&edge, 1);
    ck_assert_uint_eq(ended_count(0, 1), 1);
}
END_TEST

/* Nobody has shown a good key, and all come from one address, as behind a tunnel. */
START_TEST(requests_without_a_key_hold_no_connection_for_ever)
{
    enum { HELD = 4 };
    bool is_http2 = _i == 1;
    start(1, HELD, NULL);
    for (size_t i = 0; i < HELD; i++) {
        client_begin(&clients[i], is_http2, "127.0.0.4", "/of?0");
        client_hang(&clients[i]);
    }
    process_await(newcomer_is_served, &is_http2, "a place among busy connections");
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_BUSY), 1);
}
END_TEST

/* --- peers that take nothing -------------------------------------------------------------------
 */

/* The server does not read any more: it has answers that nobody takes. */
static void settings_flood(struct client *c)
{
    static uint8_t frames[9 * 7000];
    struct timeval patience = {.tv_usec = 100000};
    for (size_t i = 0; i < sizeof frames; i += 9)
        frames[i + 3] = NGHTTP2_SETTINGS;
    ck_assert_int_eq(setsockopt(c->two.tls.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience),
                     0);
    while (edge_send(&c->two.tls, base_slice(frames, sizeof frames)))
        continue;
}

/* It is idle longest, but its peer has not taken all of its last response. */
START_TEST(a_response_on_its_way_is_broken_off_last)
{
    enum { HELD = 4 };
    start(1, HELD, NULL);
    ck_assert(client_open(&clients[0], true, "127.0.0.2"));
    client_send(&clients[0], "/sized?150000");
    edge_await_begun(&edge, 1);
    edge_await_gone(&edge);
    edge_await_ticks(&edge, LONG_TICKS);
    for (size_t i = 1; i < HELD; i++)
        client_begin(&clients[i], true, "127.0.0.2", "/static");
    answers_settle();
    client_begin(&clients[HELD], true, "127.0.0.4", "/static");
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_IDLE), 1);
    edge_await_connections(&edge, HELD);
    ck_assert_uint_eq(ended_count(1, HELD), 1);
    ck_assert(h2_run(&clients[0].two, process_await_ms()));
    ck_assert_uint_eq(clients[0].two.streams[0].body_bytes, 150000);
}
END_TEST

/* More than may be over the limit at a time. */
START_TEST(peers_that_take_nothing_keep_nobody_out)
{
    enum { HELD = 12, NEWCOMERS = 9 };
    char source[32];
    start(1 + _i, HELD, NULL);
    for (size_t i = 0; i < HELD; i++) {
        client_begin(&clients[i], true, "127.0.0.2", "/static");
        settings_flood(&clients[i]);
    }
    edge_await_ticks(&edge, 2 * LONG_TICKS); /* of both loops */
    for (size_t i = HELD; i < HELD + NEWCOMERS; i++) {
        (void)snprintf(source, sizeof source, "127.0.1.%zu", i);
        client_begin(&clients[i], true, source, "/static");
    }
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_IDLE), NEWCOMERS);
    edge_await_connections(&edge, HELD);
}
END_TEST

/* It has taken what came until a moment ago, and has a request in flight. */
START_TEST(a_goodbye_that_is_not_taken_ends_at_a_tick)
{
    bool is_http2 = true;
    start(1, 1, NULL);
    client_begin(&clients[0], is_http2, "127.0.0.2", "/static");
    client_hang(&clients[0]);
    edge_await_ticks(&edge, LONG_TICKS);
    settings_flood(&clients[0]);
    ck_assert(newcomer_is_served(&is_http2));
    ck_assert_uint_eq(edge_counted(&edge, GW_EDGE_ROOM_BUSY), 1);
    edge_await_connections(&edge, 1);
    ck_assert(client_is_ended(&clients[0]));
}
END_TEST

Suite *suite_gateway_room(void);
Suite *suite_gateway_room(void)
{
    Suite *s = suite_create("gateway_room");
    TCase *tc = tcase_create("room");
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_set_timeout(tc, 240);
    tcase_add_loop_test(tc, two_addresses_within_their_limits_lock_out_nobody, 0, 4);
    tcase_add_loop_test(tc, a_user_of_many_connections_gives_way_to_others, 0, 2);
    tcase_add_loop_test(tc, an_address_of_many_connections_gives_way_itself, 0, 2);
    tcase_add_loop_test(tc, what_only_connects_ends_no_established_connection, 0, 2);
    tcase_add_loop_test(tc, a_connection_is_the_operators_while_its_last_request_was, 0, 4);
    tcase_add_loop_test(tc, the_holder_of_most_pays_with_its_requests, 0, 2);
    tcase_add_loop_test(tc, operators_give_way_to_nobody, 0, 2);
    tcase_add_loop_test(tc, requests_without_a_key_hold_no_connection_for_ever, 0, 2);
    tcase_add_test(tc, a_response_on_its_way_is_broken_off_last);
    tcase_add_loop_test(tc, peers_that_take_nothing_keep_nobody_out, 0, 2);
    tcase_add_test(tc, a_goodbye_that_is_not_taken_ends_at_a_tick);
    suite_add_tcase(s, tc);
    return s;
}

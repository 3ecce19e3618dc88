/*
 * tests/gateway/test_turns.c - lines of one loop, counted in turns.
 */
#include <check.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "gateway/turns.h"
#include "tests/support/edge_h2.h"
#include "tests/support/process.h"

#include "base/banned.h"

enum { MANY = 1000 };

static struct gw_turns *turns;
static struct gw_turn many[MANY];
static struct gw_turn others[4];
static struct gw_line *crowd;
static struct gw_line *single;

/* Two users that have not the same line by chance. */
static void set_up(void)
{
    static const char users[2 * GW_TURN_LINES];
    turns = base_new(sizeof *turns);
    memset(many, 0, sizeof many);
    memset(others, 0, sizeof others);
    crowd = gw_turns_line(turns, users);
    size_t at = 1;
    while (gw_turns_line(turns, &users[at]) == crowd)
        at++;
    single = gw_turns_line(turns, &users[at]);
    ck_assert_ptr_eq(gw_turns_line(turns, users), crowd);
}

static void tear_down(void)
{
    base_free(turns);
}

static void enter_many(void)
{
    for (size_t i = 0; i < MANY; i++)
        gw_turns_enter(turns, crowd, &many[i]);
}

START_TEST(one_connection_waits_for_one_of_a_thousand)
{
    enter_many();
    gw_turns_enter(turns, single, &others[0]);
    ck_assert_uint_eq(turns->waiting, MANY + 1);
    ck_assert_ptr_eq(gw_turns_take(turns), &many[0]);
    ck_assert_ptr_eq(gw_turns_take(turns), &others[0]);
    for (size_t i = 1; i < MANY; i++)
        ck_assert_ptr_eq(gw_turns_take(turns), &many[i]);
    ck_assert_ptr_null(gw_turns_take(turns));
    ck_assert_uint_eq(turns->waiting, 0);
}
END_TEST

/* It comes again as often as it was served. */
START_TEST(lines_that_always_wait_have_as_many_turns)
{
    size_t of_crowd = 0, of_single = 0;
    enter_many();
    gw_turns_enter(turns, single, &others[0]);
    for (size_t i = 0; i < 200; i++) {
        struct gw_turn *turn = gw_turns_take(turns);
        bool is_single = turn == &others[0];
        of_single += is_single;
        of_crowd += !is_single;
        gw_turns_enter(turns, is_single ? single : crowd, turn);
    }
    ck_assert_uint_eq(of_crowd, 100);
    ck_assert_uint_eq(of_single, 100);
}
END_TEST

START_TEST(a_connection_of_nobody_has_a_line_of_its_own)
{
    struct gw_line own = {0};
    enter_many();
    gw_turns_enter(turns, &own, &others[1]);
    ck_assert_ptr_eq(gw_turns_take(turns), &many[0]);
    ck_assert_ptr_eq(gw_turns_take(turns), &others[1]);
    gw_turns_enter(turns, &own, &others[1]);
    gw_turns_leave(turns, &others[1]); /* it is closed */
    ck_assert_ptr_eq(gw_turns_take(turns), &many[1]);
}
END_TEST

START_TEST(whoever_waits_does_not_come_in_twice)
{
    for (size_t i = 0; i < 3; i++)
        gw_turns_enter(turns, crowd, &many[i]);
    gw_turns_enter(turns, single, &many[0]); /* it acts for another one now, and keeps its place */
    ck_assert_uint_eq(turns->waiting, 3);
    gw_turns_leave(turns, &many[1]);
    gw_turns_leave(turns, &many[1]);
    ck_assert_uint_eq(turns->waiting, 2);
    ck_assert(gw_turn_waits(&many[2]) && !gw_turn_waits(&many[1]));
    ck_assert_ptr_eq(gw_turns_take(turns), &many[0]);
    ck_assert_ptr_eq(gw_turns_take(turns), &many[2]);
    ck_assert_ptr_null(gw_turns_take(turns));
}
END_TEST

/* --- on a loop ---------------------------------------------------------------------------------
 */

enum { CROWD = 20, CLIENTS = CROWD + 1, ROUNDS = 10, GATE = 10, SLOW = 20 };

/* The last client is of user 1, all others are of user 0. */
static struct edge edge;
static struct edge_client http1[CLIENTS];
static struct h2 http2[CLIENTS];
static struct base_memory_share users[2];
static sem_t gate;
static struct {
    atomic_bool is_reached;
    atomic_size_t count;
    uint64_t order[CLIENTS + 1]; /* users, as they were served */
} served;

static void serve(struct gw_exchange *ex, uint64_t n)
{
    gw_exchange_charge(ex, &users[n % GATE]);
    if (n == GATE) { /* user 0 takes the loop's time until the test has sent the other requests */
        atomic_store(&served.is_reached, true);
        while (sem_wait(&gate) != 0) { /* interrupted */
        }
        return;
    }
    uint64_t until_ns = base_monotonic_ns() + (n == SLOW ? 5 * LIM_TURN_US * 1000 : 0);
    while (base_monotonic_ns() < until_ns) {
    }
    served.order[atomic_load(&served.count) % CLIENTS] = n;
    atomic_fetch_add(&served.count, 1);
}

static bool is_reached(void *unused)
{
    (void)unused;
    return atomic_load(&served.is_reached);
}

static void send_to(bool is_http2, size_t client, int n)
{
    char path[16], request[64];
    (void)snprintf(path, sizeof path, "/of?%d", n);
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    if (is_http2) {
        (void)h2_request(&http2[client], "GET", path, 0, false);
        h2_push(&http2[client]);
    } else {
        ck_assert(edge_send(&http1[client], base_slice_text(request)));
    }
}

static void await_answer(bool is_http2, size_t client)
{
    if (is_http2) {
        h2_await(&http2[client]);
        h2_forget(&http2[client]);
    } else {
        ck_assert_int_eq(edge_response(&http1[client], NULL), 200);
    }
}

/* How many of user 0 were served before user 1, whose request came in their middle: h2o does not
 * serve sockets in the order in which they became readable. */
static size_t round_play(bool is_http2)
{
    atomic_store(&served.is_reached, false);
    send_to(is_http2, 0, GATE);
    process_await(is_reached, NULL, "a request that takes long");
    atomic_store(&served.count, 0);
    for (size_t i = 1; i < CROWD; i++) {
        send_to(is_http2, i, 0);
        if (i == CROWD / 2)
            send_to(is_http2, CROWD, 1);
    }
    ck_assert_int_eq(sem_post(&gate), 0);
    for (size_t i = 0; i < CLIENTS; i++)
        await_answer(is_http2, i);
    size_t before = 0;
    ck_assert_uint_eq(atomic_load(&served.count), CLIENTS - 1);
    while (before < CROWD && served.order[before] == 0)
        before++;
    return before;
}

/* A round in which the loop's thread is kept from running for longer than a user counts as busy
 * says nothing. */
START_TEST(a_user_of_many_connections_waits_behind_one_of_few)
{
    bool is_http2 = _i == 1;
    ck_assert_int_eq(sem_init(&gate, 0, 0), 0);
    edge_start(&edge, 1);
    atomic_store(&edge.of, serve);
    for (size_t i = 0; i < CLIENTS; i++) {
        if (is_http2)
            h2_open(&http2[i], &edge);
        else
            ck_assert(edge_connect(&http1[i], &edge, "http/1.1"));
        send_to(is_http2, i, i == CROWD);
        await_answer(is_http2, i);
    }
    size_t before = CROWD;
    for (int i = 0; i < ROUNDS && before > 1; i++)
        before = round_play(is_http2);
    ck_assert_uint_le(before, 1);
    for (size_t i = 0; i < CLIENTS; i++) {
        if (is_http2)
            h2_close(&http2[i]);
        else
            edge_disconnect(&http1[i]);
    }
    edge_stop(&edge);
}
END_TEST

/* The third request waits for its turn behind one of its neighbours, for longer than one run of the
 * loop, while the end of its client's side comes in. */
START_TEST(a_request_that_waits_is_answered_after_its_client_said_all)
{
    enum { COUNT = 4, ENDED = 2 };
    static const int REQUESTS[COUNT] = {GATE, SLOW, 0, SLOW};
    ck_assert_int_eq(sem_init(&gate, 0, 0), 0);
    edge_start(&edge, 1);
    atomic_store(&edge.of, serve);
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert(edge_connect(&http1[i], &edge, "http/1.1"));
        send_to(false, i, 0);
        await_answer(false, i);
    }
    atomic_store(&served.is_reached, false);
    for (size_t i = 0; i < COUNT; i++) {
        send_to(false, i, REQUESTS[i]);
        if (i == 0)
            process_await(is_reached, NULL, "a request that takes long");
        if (i == ENDED)
            ck_assert_int_eq(shutdown(http1[i].fd, SHUT_WR), 0);
    }
    ck_assert_int_eq(sem_post(&gate), 0);
    for (size_t i = 0; i < COUNT; i++) {
        await_answer(false, i);
        edge_disconnect(&http1[i]);
    }
    edge_stop(&edge);
}
END_TEST

Suite *suite_gateway_turns(void);
Suite *suite_gateway_turns(void)
{
    Suite *s = suite_create("gateway_turns");
    TCase *tc = tcase_create("turns");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, one_connection_waits_for_one_of_a_thousand);
    tcase_add_test(tc, lines_that_always_wait_have_as_many_turns);
    tcase_add_test(tc, a_connection_of_nobody_has_a_line_of_its_own);
    tcase_add_test(tc, whoever_waits_does_not_come_in_twice);
    suite_add_tcase(s, tc);
    tc = tcase_create("loops");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, a_user_of_many_connections_waits_behind_one_of_few, 0, 2);
    tcase_add_test(tc, a_request_that_waits_is_answered_after_its_client_said_all);
    suite_add_tcase(s, tc);
    return s;
}

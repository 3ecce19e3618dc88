/*
 * tests/grpc/test_health.c - health of a real server, asked and watched without a credential.
 */
#include <check.h>
#include <grpc/health/v1/health.pb-c.h>
#include <signal.h>

#include "gateway/grpc/status.h"
#include "tests/support/grpc_client.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define CHECK "/grpc.health.v1.Health/Check"
#define WATCH "/grpc.health.v1.Health/Watch"

#define SERVING         HEALTH__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
#define NOT_SERVING     HEALTH__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
#define SERVICE_UNKNOWN HEALTH__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN

#define WATCHES_MAX 256

static struct grpc_client client;
static Health__HealthCheckRequest request;

static void set_up(void)
{
    grpc_open(&client, world_server(), NULL, 0);
    health__health_check_request__init(&request);
}

static void tear_down(void)
{
    grpc_close(&client);
}

static void expect_status(const struct grpc_call *call, size_t n, int wanted)
{
    ProtobufCMessage *message =
        grpc_message_new(call, &health__health_check_response__descriptor, n);
    ck_assert_int_eq((int)((Health__HealthCheckResponse *)message)->status, wanted);
    protobuf_c_message_free_unpacked(message, NULL);
}

static const struct grpc_call *check(const char *service)
{
    request.service = (char *)(uintptr_t)service;
    return grpc_ask(&client, CHECK, &request.base);
}

static const char *const KNOWN[] = {"",
                                    "google.bigtable.v2.Bigtable",
                                    "google.bigtable.admin.v2.BigtableTableAdmin",
                                    "google.longrunning.Operations",
                                    "grpc.health.v1.Health",
                                    "grpc.reflection.v1.ServerReflection"};

START_TEST(server_and_services_are_serving)
{
    const struct grpc_call *call = check(KNOWN[_i]);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    ck_assert_uint_eq(grpc_message_count(call), 1);
    expect_status(call, 0, SERVING);
}
END_TEST

START_TEST(other_services_are_not_found)
{
    static const char *const names[] = {"google.bigtable.v2.Bigtabl",
                                        "google.bigtable.v2.Bigtable ", "Bigtable", "acme"};
    const struct grpc_call *call = check(names[_i]);
    ck_assert_int_eq(call->status, GW_STATUS_NOT_FOUND);
    ck_assert_uint_eq(call->body.len, 0);
    ck_assert_ptr_null(strstr(call->message, "acme"));
}
END_TEST

/* Who is answered before resets a stream behind whose reset its end may still come. */
START_TEST(a_call_is_answered_when_its_client_has_ended_its_side)
{
    request.service = (char *)(uintptr_t)KNOWN[0];
    struct grpc_call *call = grpc_begin(&client, CHECK, NULL);
    grpc_put(&client, call, &request.base);
    grpc_listen(&client, 200);
    ck_assert_uint_eq(grpc_message_count(call), 0);
    ck_assert(!call->is_closed);
    grpc_finish(&client, call);
    grpc_await(&client);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    expect_status(call, 0, SERVING);
}
END_TEST

/* The loop of the connection looks at its watches at each tick, of which there are two in a second:
 * when another watch has ended at its deadline, at least two have passed. */
static void let_ticks_pass(void)
{
    Health__HealthCheckRequest all = HEALTH__HEALTH_CHECK_REQUEST__INIT;
    const struct grpc_call *other = grpc_start(&client, WATCH, &all.base, "1100m");
    grpc_await_end(&client, other);
    ck_assert_int_eq(other->status, GW_STATUS_DEADLINE_EXCEEDED);
}

START_TEST(a_watch_tells_at_once_and_stays)
{
    request.service = (char *)(uintptr_t)KNOWN[_i];
    struct grpc_call *call = grpc_start(&client, WATCH, &request.base, NULL);
    let_ticks_pass();
    ck_assert(!call->is_closed);
    ck_assert_uint_eq(grpc_message_count(call), 1);
    expect_status(call, 0, SERVING);
    ck_assert_int_eq(call->status, GRPC_HEAD_ONLY);
}
END_TEST

START_TEST(a_watch_of_another_service_is_told_that_it_is_unknown_and_stays)
{
    request.service = (char *)(uintptr_t) "acme";
    struct grpc_call *call = grpc_start(&client, WATCH, &request.base, NULL);
    let_ticks_pass();
    ck_assert(!call->is_closed);
    ck_assert_uint_eq(grpc_message_count(call), 1);
    expect_status(call, 0, SERVICE_UNKNOWN);
}
END_TEST

START_TEST(a_watch_ends_at_its_deadline)
{
    struct grpc_call *call = grpc_start(&client, WATCH, &request.base, "300m");
    grpc_await(&client);
    ck_assert_int_eq(call->status, GW_STATUS_DEADLINE_EXCEEDED);
    expect_status(call, 0, SERVING);
}
END_TEST

/* A refusal has no message. */
static void listen_until_answered(struct grpc_client *c)
{
    for (size_t i = 0; i < c->count; i++) {
        grpc_begun(c, &c->calls[i]);
        while (c->calls[i].body.len == 0 && !c->calls[i].is_closed)
            grpc_listen(c, 1);
    }
}

/* Those of vanished peers go when the server notices. */
static bool watch_is_taken(void *unused)
{
    (void)unused;
    struct grpc_call *call = grpc_start(&client, WATCH, &request.base, NULL);
    listen_until_answered(&client);
    if (call->status != GW_STATUS_UNAVAILABLE)
        return true;
    grpc_forget(&client);
    return false;
}

START_TEST(watches_are_bounded_and_give_their_place_back)
{
    static struct server two_loops;
    static struct grpc_client others[2 * WATCHES_MAX / GRPC_CALLS + 2];
    size_t count = sizeof others / sizeof others[0], refused = 0;
    server_create(&two_loops);
    two_loops.options[0] = "--loops";
    two_loops.options[1] = "2";
    server_start(&two_loops, NULL);
    for (size_t i = 0; i < count; i++) {
        grpc_open(&others[i], &two_loops, NULL, 0);
        for (size_t k = 0; k < GRPC_CALLS; k++)
            (void)grpc_start(&others[i], WATCH, &request.base, NULL);
    }
    for (size_t i = 0; i < count; i++) {
        listen_until_answered(&others[i]);
        for (size_t k = 0; k < GRPC_CALLS; k++)
            refused += others[i].calls[k].status == GW_STATUS_UNAVAILABLE;
    }
    ck_assert_uint_ge(refused, 2 * GRPC_CALLS); /* on both loops */
    for (size_t i = 0; i < count; i++)
        grpc_close(&others[i]);
    grpc_close(&client);
    grpc_open(&client, &two_loops, NULL, 0);
    process_await(watch_is_taken, NULL, "the place of a watch whose peer has vanished");
    const struct grpc_call *call = &client.calls[0];
    let_ticks_pass();
    ck_assert(!call->is_closed);
    ck_assert_int_eq(call->status, GRPC_HEAD_ONLY);
    expect_status(call, 0, SERVING);
    server_stop(&two_loops);
    server_remove(&two_loops);
}
END_TEST

START_TEST(a_server_that_stops_says_so_and_ends_its_watches)
{
    static struct server server;
    static struct grpc_client watcher;
    server_create(&server);
    server_start(&server, NULL);
    grpc_open(&watcher, &server, NULL, 0);
    struct grpc_call *known = grpc_start(&watcher, WATCH, &request.base, NULL);
    request.service = (char *)(uintptr_t) "acme";
    struct grpc_call *unknown = grpc_start(&watcher, WATCH, &request.base, NULL);
    listen_until_answered(&watcher);
    ck_assert(!known->is_closed && !unknown->is_closed);
    ck_assert_int_eq(kill(server.pid, SIGTERM), 0);
    grpc_await(&watcher);
    ck_assert_uint_eq(grpc_message_count(known), 2);
    expect_status(known, 1, NOT_SERVING);
    ck_assert_int_eq(known->status, GW_STATUS_UNAVAILABLE);
    ck_assert_uint_eq(grpc_message_count(unknown), 1);
    ck_assert_int_eq(unknown->status, GW_STATUS_UNAVAILABLE);
    grpc_close(&watcher);
    ck_assert_int_eq(server_wait_end(&server, 60000), 0);
    server_remove(&server);
}
END_TEST

Suite *suite_grpc_health(void);
Suite *suite_grpc_health(void)
{
    Suite *s = suite_create("grpc_health");
    TCase *tc = tcase_create("health");
    world_begin(tc);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    suite_add_tcase(s, tc);
    tcase_add_loop_test(tc, server_and_services_are_serving, 0, 6);
    tcase_add_test(tc, a_call_is_answered_when_its_client_has_ended_its_side);
    tcase_add_loop_test(tc, other_services_are_not_found, 0, 4);
    tcase_add_loop_test(tc, a_watch_tells_at_once_and_stays, 0, 2);
    tcase_add_test(tc, a_watch_of_another_service_is_told_that_it_is_unknown_and_stays);
    tcase_add_test(tc, a_watch_ends_at_its_deadline);
    tcase_add_test(tc, watches_are_bounded_and_give_their_place_back);
    tcase_add_test(tc, a_server_that_stops_says_so_and_ends_its_watches);
    world_end(tc);
    return s;
}

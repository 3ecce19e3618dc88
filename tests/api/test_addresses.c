/*
 * tests/api/test_addresses.c - what one address may have: connections, handshakes and requests
 * without a good key.
 */
#include <check.h>
#include <stdio.h>

#include "tests/support/raw_tls.h"
#include "tests/support/scrape.h"
#include "tests/support/world.h"

#include "base/banned.h"

enum { CONNECTIONS = 8, BURST = 10 };

#define REFUSED(reason) "bigtent_connections_refused_total{reason=\"" reason "\"}"

static struct server server;
static struct world world;

static void start(const char *option, const char *value)
{
    server_create(&server);
    server.options[0] = option;
    server.options[1] = value;
    server_start(&server, NULL);
}

static void tear_down(void)
{
    server_stop(&server);
    server_remove(&server);
}

/* A new connection each time. */
static bool is_served(void *arg)
{
    struct http *h = arg;
    http_reconnect(h);
    return http_try(h, "GET", "/healthz", SLICE_EMPTY) && h->status == 200;
}

START_TEST(an_address_has_so_many_connections)
{
    struct raw_tls held[CONNECTIONS];
    start("--connections-per-address", "8");
    struct http *op = http_open(&server, HTTP_2, server.operator_key);
    struct http *h = http_open(&server, HTTP_1, NULL);
    scrape(op); /* its connection is one of them */
    for (int i = 0; i < CONNECTIONS - 1; i++)
        raw_open(&held[i], &server, "http/1.1");
    for (int i = 0; i < 3; i++)
        ck_assert(!is_served(h));
    scrape_expect(op, REFUSED("address"), 3);
    raw_close(&held[0]);
    process_await(is_served, h, "the place of a closed connection");
    for (int i = 1; i < CONNECTIONS - 1; i++)
        raw_close(&held[i]);
    http_close(h);
    http_close(op);
}
END_TEST

START_TEST(an_address_makes_so_many_handshakes)
{
    start("--handshakes-per-address", "1");
    struct http *op = http_open(&server, HTTP_2, server.operator_key);
    struct http *h = http_open(&server, HTTP_1, NULL);
    scrape(op);
    int served = 0;
    for (; served < 100 * BURST && is_served(h);)
        served++;
    ck_assert_int_ge(served, BURST - 2);
    ck_assert_int_lt(served, 100 * BURST);
    scrape(op);
    ck_assert_uint_ge(scrape_seen(REFUSED("handshakes")), 1);
    process_await(is_served, h, "the next handshake"); /* a second later */
    http_close(h);
    http_close(op);
}
END_TEST

START_TEST(an_address_fails_so_often_and_good_keys_pass)
{
    start("--failures-per-address", "1");
    world_init_on(&world, &server, (enum http_version)_i, "acme");
    struct http *stranger = http_open(&server, (enum http_version)_i, NULL);
    int refused = 0;
    http_get(stranger, "/v1/tables");
    for (; stranger->status == 401 && refused < 100 * BURST; refused++)
        http_get(stranger, "/v1/tables");
    EXPECT_PROBLEM(stranger, 429, "rate_limited");
    ck_assert_ptr_nonnull(strstr(http_string(stranger, "/detail"), "without a good API key"));
    ck_assert_int_ge(refused, BURST - 2);
    http_get(world.http, "/v1/tables");
    EXPECT_STATUS(world.http, 200);
    http_close(stranger);
    world_fini(&world);
}
END_TEST

/* Without an option nothing is for this machine. */
START_TEST(this_machine_has_no_limits_by_default)
{
    start(NULL, NULL);
    struct http *stranger = http_open(&server, HTTP_2, NULL);
    for (int i = 0; i < 250; i++) {
        http_get(stranger, "/v1/tables");
        EXPECT_STATUS(stranger, 401);
    }
    http_close(stranger);
}
END_TEST

Suite *suite_api_addresses(void);
Suite *suite_api_addresses(void)
{
    Suite *s = suite_create("api_addresses");
    TCase *t = tcase_create("addresses");
    tcase_add_checked_fixture(t, NULL, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, an_address_has_so_many_connections);
    tcase_add_test(t, an_address_makes_so_many_handshakes);
    tcase_add_loop_test(t, an_address_fails_so_often_and_good_keys_pass, 0, HTTP_VERSIONS);
    tcase_add_test(t, this_machine_has_no_limits_by_default);
    suite_add_tcase(s, t);
    return s;
}

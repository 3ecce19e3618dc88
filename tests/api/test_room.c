/*
 * tests/api/test_room.c - connections of one tenant, however many, lock out neither another tenant
 * nor an operator.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <sys/resource.h>

#include "tests/support/raw_tls.h"
#include "tests/support/scrape.h"
#include "tests/support/world.h"

#include "base/banned.h"

/* A server that may open so many files has CONNECTIONS; an address may have half of them. */
enum { FILES = 400, CONNECTIONS = 96, EACH = CONNECTIONS / 2, OF_WORLD = 2, NEWCOMERS = 4 };
enum { HELD = CONNECTIONS - OF_WORLD };

#define REFUSED(reason) "bigtent_connections_refused_total{reason=\"" reason "\"}"

static struct server server;
static struct world world; /* its tenant holds what the operator does not */
static struct raw_tls held[HELD];
static struct http *newcomers[NEWCOMERS]; /* of another tenant */

static void set_up(void)
{
    struct rlimit limit = {FILES, FILES};
    server_create(&server);
    server.options[0] = "--connections-per-address";
    server.options[1] = "48";
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    server_start(&server, NULL);
    world_init_on(&world, &server, HTTP_2, "many");
}

static void tear_down(void)
{
    for (size_t i = 0; i < HELD; i++)
        raw_close(&held[i]);
    for (size_t i = 0; i < NEWCOMERS; i++)
        http_close(newcomers[i]);
    world_fini(&world);
    server_stop(&server);
    server_remove(&server);
}

/* An idle connection whose holder has shown its key. */
static void hold(struct raw_tls *r, const char *source, const char *key)
{
    char request[512];
    int len = snprintf(request, sizeof request,
                       "GET /v1/%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n",
                       key == world.key ? "tables" : "admin/tenants", key);
    raw_open_from(r, &server, "http/1.1", source);
    ck_assert(raw_send(r, base_slice(request, (size_t)len)));
    ck_assert_int_eq(raw_response(r, process_await_ms()), 200);
}

static size_t ended_count(size_t from, size_t to)
{
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        while (raw_read_some(&held[i], 0))
            continue;
        count += held[i].closed;
        ck_assert(!held[i].closed || (SSL_get_shutdown(held[i].ssl) & SSL_RECEIVED_SHUTDOWN) != 0);
    }
    return count;
}

/* Its last request went over a connection that was there. */
static void expect_same_connection(const struct http *h)
{
    long made = -1;
    ck_assert_int_eq(curl_easy_getinfo(h->curl, CURLINFO_NUM_CONNECTS, &made), CURLE_OK);
    ck_assert_int_eq(made, 0);
}

/* From an address that has no connection, each over one of its own. */
static void newcomers_come(enum http_version version)
{
    char key[WORLD_KEY];
    admin_create_tenant(world.op, "few");
    admin_create_key(world.op, "few", NULL, key, NULL);
    http_get(world.http, "/v1/tables"); /* the others of its tenant have been idle longer */
    for (size_t i = 0; i < NEWCOMERS; i++) {
        newcomers[i] = http_open(&server, version, key);
        (void)curl_easy_setopt(newcomers[i]->curl, CURLOPT_INTERFACE, "127.0.0.4");
        http_get(newcomers[i], "/v1/tables");
        EXPECT_STATUS(newcomers[i], 200);
    }
    for (size_t i = 0; i < NEWCOMERS; i++) {
        http_get(newcomers[i], "/v1/tables");
        EXPECT_STATUS(newcomers[i], 200);
        expect_same_connection(newcomers[i]);
    }
}

START_TEST(a_tenant_with_all_connections_gives_way_to_another)
{
    for (size_t i = 0; i < HELD; i++)
        hold(&held[i], i < EACH ? "127.0.0.2" : "127.0.0.3", world.key);
    newcomers_come((enum http_version)_i);
    scrape_expect(world.op, REFUSED("room_idle"), NEWCOMERS);
    expect_same_connection(world.op);
    ck_assert_uint_eq(scrape_seen(REFUSED("connections")), 0);
    ck_assert_uint_eq(ended_count(0, HELD), NEWCOMERS);
}
END_TEST

/* The operator's are more, and have been idle longer. */
START_TEST(connections_of_operators_stay)
{
    for (size_t i = 0; i < HELD; i++)
        hold(&held[i], i < EACH ? "127.0.0.2" : "127.0.0.3",
             i < EACH ? server.operator_key : world.key);
    newcomers_come((enum http_version)_i);
    scrape_expect(world.op, REFUSED("room_idle"), NEWCOMERS);
    ck_assert_uint_eq(ended_count(0, EACH), 0);
    ck_assert_uint_eq(ended_count(EACH, HELD), NEWCOMERS);
}
END_TEST

Suite *suite_api_room(void);
Suite *suite_api_room(void)
{
    Suite *s = suite_create("api_room");
    TCase *t = tcase_create("room");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_tenant_with_all_connections_gives_way_to_another, 0, HTTP_VERSIONS);
    tcase_add_loop_test(t, connections_of_operators_stay, 0, HTTP_VERSIONS);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/crash/test_metering.c - kill -9 again and again: what is billed is never more than what was
 * done, and not less than what was done before the last interval.
 */
#include <check.h>
#include <stdio.h>

#include "tests/support/process.h"
#include "tests/support/random.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct server server;
static struct world w;

static void set_up(void)
{
    server_create(&server);
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "ab");
    http_json(w.op, "PUT", "{'read_ops_per_s':1}", "/v1/admin/tenants/%s/quota", w.tenant);
    EXPECT_STATUS(w.op, 200);
}

static void tear_down(void)
{
    world_fini(&w);
    server_stop(&server);
    server_remove(&server);
}

static void kill_and_start(void)
{
    server_kill(&server);
    server_start(&server, NULL);
    http_reconnect(w.op);
    http_reconnect(w.http);
}

/* Requests until `count` were refused for their rate. */
static size_t be_throttled(size_t count)
{
    size_t refused = 0;
    for (size_t i = 0; i < 100 * count && refused < count; i++) {
        http_get(w.http, "/v1/usage");
        refused += w.http->status == 429;
    }
    ck_assert_uint_eq(refused, count);
    return refused;
}

static uint64_t billed(void)
{
    uint64_t sum = 0;
    http_get(w.op, "/v1/admin/metering?tenant=%s", w.tenant);
    EXPECT_STATUS(w.op, 200);
    for (size_t i = 0; i < http_lines(w.op); i++) {
        json_t *line = http_line_new(w.op, i);
        const json_t *policy = json_object_get(json_object_get(line, "throttled"), "read_ops");
        sum += (uint64_t)json_integer_value(json_object_get(policy, "count"));
        json_decref(line);
    }
    return sum;
}

static bool is_billed(void *arg)
{
    return billed() == *(size_t *)arg;
}

START_TEST(kills_lose_one_interval_and_count_nothing_twice)
{
    struct random dice = {(uint64_t)_i * 17 + 3};
    size_t done = be_throttled(20);
    process_await(is_billed, &done, "the bill to be flushed");
    uint64_t least = done;
    ck_assert_uint_eq(billed(), least);
    for (int round = 0; round < 4; round++) {
        done += be_throttled(5);
        process_sleep_ms((long)random_below(&dice, 200));
        kill_and_start();
        uint64_t now = billed();
        ck_assert_uint_ge(now, least);
        ck_assert_uint_le(now, done);
        least = now;
    }
}
END_TEST

Suite *suite_crash_metering(void);

Suite *suite_crash_metering(void)
{
    Suite *s = suite_create("crash_metering");
    TCase *tc = tcase_create("metering");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, kills_lose_one_interval_and_count_nothing_twice, 0,
                        (int)process_rounds(1));
    suite_add_tcase(s, tc);
    return s;
}

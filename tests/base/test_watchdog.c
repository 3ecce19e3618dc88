/* tests/base/test_watchdog.c - who computes for long is reported, and nobody else. */
#define _GNU_SOURCE
#include "tests/base/check_base.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/watchdog.h"
#include "base/worker.h"

Suite *suite_base_watchdog(void);

#define NS_PER_MS 1000000ULL

static _Atomic int reported;
static char last[128];
static uint64_t last_ms;

static void report(const char *name, const char *what, uint64_t ms)
{
    (void)snprintf(last, sizeof last, "%s %s", name, what);
    last_ms = ms;
    atomic_fetch_add(&reported, 1);
}

static void setup(void)
{
    atomic_store(&reported, 0);
    ck_assert_int_eq(base_watchdog_start(report), ERR_OK);
}

static void teardown(void)
{
    base_watchdog_stop();
}

static uint64_t processor_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* there is one */
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / NS_PER_MS;
}

/* With the processor for that long. */
static void compute(uint64_t ms)
{
    for (uint64_t end = processor_ms() + ms; processor_ms() < end;)
        continue;
}

static void run(void *(*fn)(void *))
{
    pthread_t thread;
    ck_assert_int_eq(base_thread_start(&thread, "test", fn, NULL), ERR_OK);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static void *compute_until_overdue(void *unused)
{
    (void)unused;
    base_watchdog_join("worker-1");
    base_watchdog_round("GET /v1/thing");
    while (!base_watchdog_is_overdue())
        compute(1);
    compute(3 * BASE_WATCHDOG_MS); /* it is reported once */
    ck_assert(base_watchdog_is_overdue());
    base_watchdog_round(NULL);
    ck_assert(!base_watchdog_is_overdue());
    return NULL;
}

START_TEST(who_computes_for_long_is_reported_once_and_told)
{
    uint64_t before = base_watchdog_reports();
    run(compute_until_overdue);
    ck_assert_int_eq(atomic_load(&reported), 1);
    ck_assert_uint_eq(base_watchdog_reports() - before, 1);
    ck_assert_str_eq(last, "worker-1 GET /v1/thing");
    ck_assert_uint_ge(last_ms, BASE_WATCHDOG_MS);
}
END_TEST

static void *wait_long(void *unused)
{
    (void)unused;
    base_watchdog_join("worker-2");
    base_watchdog_round(NULL);
    (void)usleep(5 * BASE_WATCHDOG_MS * 1000);
    return NULL;
}

START_TEST(who_waits_is_not_reported)
{
    run(wait_long);
    ck_assert_int_eq(atomic_load(&reported), 0);
}
END_TEST

static void *come_round(void *unused)
{
    (void)unused;
    base_watchdog_join("worker-3");
    for (int i = 0; i < 100; i++) {
        base_watchdog_round(NULL);
        compute(BASE_WATCHDOG_MS / 20);
    }
    return NULL;
}

START_TEST(who_comes_round_is_not_reported)
{
    run(come_round);
    ck_assert_int_eq(atomic_load(&reported), 0);
}
END_TEST

static void *not_joined(void *unused)
{
    (void)unused;
    base_watchdog_round("nothing");
    base_watchdog_say("nothing");
    compute(3 * BASE_WATCHDOG_MS);
    ck_assert(!base_watchdog_is_overdue());
    return NULL;
}

START_TEST(who_has_not_joined_is_not_watched)
{
    run(not_joined);
    ck_assert_int_eq(atomic_load(&reported), 0);
}
END_TEST

static void *join(void *unused)
{
    (void)unused;
    base_watchdog_join("again");
    ck_assert_ptr_nonnull(base_watched_here);
    return NULL;
}

START_TEST(places_are_given_back)
{
    for (int i = 0; i < 2 * BASE_WATCHDOG_THREADS; i++)
        run(join);
}
END_TEST

Suite *suite_base_watchdog(void)
{
    Suite *s = suite_create("base_watchdog");
    TCase *t = tcase_create("watchdog");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, who_computes_for_long_is_reported_once_and_told);
    tcase_add_test(t, who_waits_is_not_reported);
    tcase_add_test(t, who_comes_round_is_not_reported);
    tcase_add_test(t, who_has_not_joined_is_not_watched);
    tcase_add_test(t, places_are_given_back);
    suite_add_tcase(s, t);
    return s;
}

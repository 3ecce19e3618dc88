/*
 * tests/gateway/test_timer.c - timers of a loop, without the loop.
 */
#include <check.h>

#include "gateway/loop_internal.h"

#include "base/banned.h"

Suite *suite_gateway_timer(void);

#define TIMERS 8

struct counted {
    struct gw_timer timer; /* first */
    int runs;
    struct counted *stops; /* another one, when it runs */
    bool again;
};

static struct gw_loop loop;
static struct counted timers[TIMERS];

static void run(struct gw_timer *timer)
{
    struct counted *c = (struct counted *)(void *)timer;
    c->runs++;
    if (c->stops != NULL)
        gw_timer_stop(&c->stops->timer);
    if (c->again)
        gw_timer_start(&loop, timer);
}

static void setup(void)
{
    memset(&loop, 0, sizeof loop);
    memset(timers, 0, sizeof timers);
    for (size_t i = 0; i < TIMERS; i++)
        timers[i].timer.run = run;
}

static void start(size_t i, uint64_t due_ns)
{
    timers[i].timer.due_ns = due_ns;
    gw_timer_start(&loop, &timers[i].timer);
}

static int runs(void)
{
    int sum = 0;
    for (size_t i = 0; i < TIMERS; i++)
        sum += timers[i].runs;
    return sum;
}

START_TEST(timers_run_once_when_they_are_due)
{
    for (size_t i = 0; i < TIMERS; i++)
        start(i, 100 * (i + 1));
    ck_assert_uint_eq(loop.timers.soonest_ns, 100);
    gw_timers_run(&loop.timers, 99);
    ck_assert_int_eq(runs(), 0);
    gw_timers_run(&loop.timers, 100);
    ck_assert_int_eq(timers[0].runs, 1);
    ck_assert_int_eq(runs(), 1);
    ck_assert_uint_eq(loop.timers.soonest_ns, 200);
    gw_timers_run(&loop.timers, 450);
    ck_assert_int_eq(runs(), 4);
    gw_timers_run(&loop.timers, UINT64_MAX);
    gw_timers_run(&loop.timers, UINT64_MAX);
    ck_assert_int_eq(runs(), TIMERS);
    ck_assert_ptr_null(loop.timers.first);
}
END_TEST

START_TEST(a_stopped_timer_does_not_run)
{
    for (size_t i = 0; i < TIMERS; i++)
        start(i, 10);
    gw_timer_stop(&timers[3].timer);
    gw_timer_stop(&timers[3].timer);
    gw_timer_stop(&timers[TIMERS - 1].timer); /* the list's first */
    gw_timer_stop(&timers[0].timer);          /* and its last */
    gw_timers_run(&loop.timers, 10);
    ck_assert_int_eq(runs(), TIMERS - 3);
    start(3, 20);
    gw_timers_run(&loop.timers, 20);
    ck_assert_int_eq(timers[3].runs, 1);
}
END_TEST

START_TEST(timers_may_stop_others_and_start_themselves)
{
    start(0, 10);
    start(1, 10);
    timers[0].stops = &timers[1];
    timers[1].stops = &timers[0];
    gw_timers_run(&loop.timers, 10);
    ck_assert_int_eq(runs(), 1); /* whichever came first */
    timers[2].again = true;
    start(2, 30);
    gw_timers_run(&loop.timers, 30);
    ck_assert_int_eq(timers[2].runs, 1); /* the next turn is another one */
    gw_timers_run(&loop.timers, 30);
    ck_assert_int_eq(timers[2].runs, 2);
}
END_TEST

Suite *suite_gateway_timer(void)
{
    Suite *s = suite_create("gateway_timer");
    TCase *tc = tcase_create("timers");
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, timers_run_once_when_they_are_due);
    tcase_add_test(tc, a_stopped_timer_does_not_run);
    tcase_add_test(tc, timers_may_stop_others_and_start_themselves);
    suite_add_tcase(s, tc);
    return s;
}

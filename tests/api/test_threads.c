/*
 * tests/api/test_threads.c - the threads that answer go ahead of the others where the system lets
 * them, and nobody else does; how many there are.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <check.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/share.h"
#include "tests/support/threads.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define AHEAD     5
#define LONG_WORK 5

static struct server server;
static int own; /* nice, of this program: what the server begins with */

static void set_up(void)
{
    own = getpriority(PRIO_PROCESS, 0);
    server_create(&server);
}

static void tear_down(void)
{
    server_remove(&server);
}

static void look_at_nice(void *ctx)
{
    int *out = ctx;
    *out = getpriority(PRIO_PROCESS, 0); /* Linux: of the calling thread */
}

static bool may_rise(void)
{
    int nice = own;
    base_run_apart("rise", BASE_SERVE, look_at_nice, &nice);
    return nice < own;
}

/* What is started from now on is neither root to the scheduler, nor has it a limit of its own. */
static void take_the_right_away(void)
{
    const struct rlimit none = {0};
    ck_assert(prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0) == 0 || !may_rise());
    ck_assert_int_eq(setrlimit(RLIMIT_NICE, &none), 0);
}

static int at(const char *prefix, int nice)
{
    return threads_count(server.pid, prefix, nice, nice);
}

static int all(const char *prefix)
{
    return threads_count(server.pid, prefix, THREADS_FIRST, THREADS_LAST);
}

/* Where long work has its place: none is behind the last. */
static int long_work(void)
{
    return own + LONG_WORK < THREADS_LAST ? own + LONG_WORK : THREADS_LAST;
}

/* Readers there: of a program that began at the last place, the one that answers as well. */
static int long_readers(int answering)
{
    return all("read-") - (answering == long_work() ? 0 : 1);
}

/* They take their places when they begin, which may be behind the first answer. */
static bool are_in_place(void *arg)
{
    int answering = *(int *)arg;
    return at("loop-", answering) == all("loop-") && at("commit-", answering) == all("commit-") &&
           at("ten-control", answering) == 1 &&
           at("read-", answering) == (answering == long_work() ? all("read-") : 1) &&
           at("read-", long_work()) == long_readers(answering);
}

/* Rows come and go as a range and are rewritten, so that whoever makes threads for it has. */
static void work(void)
{
    struct world w;
    world_init_on(&w, &server, HTTP_1, "altostrat");
    ck_assert_int_eq(http_json(w.http, "PUT", "{'stats':{'x':'1'}}", "/v1/tables/devices/rows/a"),
                     201);
    ck_assert_int_eq(http_get(w.http, "/v1/tables/devices/rows/a"), 200);
    ck_assert_int_eq(http_delete(w.http, "/v1/tables/devices"), 204);
    world_fini(&w);
}

static void expect_answering(int nice)
{
    char line[64];
    server_start(&server, NULL);
    work();
    process_await(are_in_place, &nice, "the threads to take their places");
    int answer = all("loop-") + all("commit-") + 2; /* the control thread and one reader */
    ck_assert_int_eq(at("ten-control", nice), 1);
    ck_assert_int_eq(at("loop-", nice), all("loop-"));
    ck_assert_int_eq(at("commit-", nice), all("commit-"));
    ck_assert_int_eq(at("read-", nice), nice == long_work() ? all("read-") : 1);
    ck_assert_int_eq(at("read-", long_work()), long_readers(nice));
    ck_assert_int_eq(threads_count(server.pid, "", THREADS_FIRST, own - 1),
                     nice < own ? answer : 0);
    (void)snprintf(line, sizeof line, "threads nice=%d answering=%d", own, nice);
    ck_assert(server_log_says(&server, line));
    server_stop(&server);
}

START_TEST(who_answers_goes_ahead_where_it_may)
{
    expect_answering(may_rise() ? own - AHEAD : own);
}
END_TEST

START_TEST(a_server_without_the_right_runs_all_the_same)
{
    take_the_right_away();
    expect_answering(own);
}
END_TEST

/* As in a container that may use one processor of many. */
START_TEST(a_server_has_a_loop_for_each_processor_that_it_may_run_on)
{
    cpu_set_t own_set, one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof own_set, &own_set), 0);
    server_start(&server, NULL);
    ck_assert_int_eq(all("loop-"), base_machine_processors());
    server_stop(&server);
    CPU_ZERO(&one);
    for (int i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &own_set))
            CPU_SET(i, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    server_start(&server, NULL);
    ck_assert_int_eq(all("loop-"), 1);
    ck_assert_int_eq(all("commit-"), 1);
    server_stop(&server);
}
END_TEST

Suite *suite_api_threads(void);
Suite *suite_api_threads(void)
{
    Suite *s = suite_create("api_threads");
    TCase *t = tcase_create("priority");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, who_answers_goes_ahead_where_it_may);
    tcase_add_test(t, a_server_without_the_right_runs_all_the_same);
    suite_add_tcase(s, t);
    t = tcase_create("processors");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_server_has_a_loop_for_each_processor_that_it_may_run_on);
    suite_add_tcase(s, t);
    return s;
}

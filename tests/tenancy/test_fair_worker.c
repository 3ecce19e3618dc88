/*
 * tests/tenancy/test_fair_worker.c - nobody waits for all that another tenant has waiting; what is
 * urgent waits for one piece.
 */
#include <check.h>
#include <semaphore.h>
#include <string.h>

#include "tenancy/fair_worker.h"
#include "tests/support/wall.h"

#include "base/banned.h"

#define PIECES 100

static struct ten_fair_worker worker;
static struct sto_share share;
static struct sto_fair_line a, b;

struct piece {
    struct ten_work work;
    char name;
    long ms; /* it takes so long */
};

static struct piece pieces[PIECES];
static size_t piece_count;
static char
    ran[PIECES + 1]; /* names, in the order in which they ran; the worker's until it ended */
static size_t ran_count;

static void run(struct ten_work *work)
{
    struct piece *p = (struct piece *)(void *)((char *)work - offsetof(struct piece, work));
    wall_advance_ns((uint64_t)p->ms * 1000000u);
    ran[ran_count++] = p->name;
}

/* The worker stands still from the one to the other. */
static struct base_msg gate;
static sem_t at_gate, open_gate;

static void wait_at_gate(struct base_msg *msg)
{
    (void)msg;
    wall_hold_monotonic(); /* the worker's: nothing takes time but what says so */
    ck_assert_int_eq(sem_post(&at_gate), 0);
    while (sem_wait(&open_gate) != 0)
        continue;
}

static void close_gate(void)
{
    gate.run = wait_at_gate;
    ten_fair_worker_post(&worker, &gate);
    while (sem_wait(&at_gate) != 0)
        continue;
}

static void finish(void)
{
    ck_assert_int_eq(sem_post(&open_gate), 0);
    ten_fair_worker_stop(&worker);
    ck_assert_uint_eq(ran_count, piece_count);
}

static struct ten_work *piece_new(char name, long ms)
{
    struct piece *p = &pieces[piece_count++];
    *p = (struct piece){.work.run = run, .name = name, .ms = ms};
    return &p->work;
}

static void submit(struct sto_fair_line *line, char name, size_t count, long ms)
{
    for (size_t i = 0; i < count; i++)
        ck_assert(ten_fair_worker_submit(&worker, piece_new(name, ms), line, PIECES));
}

static void setup(void)
{
    ck_assert_int_eq(sem_init(&at_gate, 0, 0), 0);
    ck_assert_int_eq(sem_init(&open_gate, 0, 0), 0);
    atomic_store(&share.weight, 100);
    sto_fair_line_init(&a, &share);
    sto_fair_line_init(&b, &share);
    ck_assert_int_eq(ten_fair_worker_start(&worker, "fair", false), ERR_OK);
    close_gate();
}

START_TEST(a_line_that_comes_later_does_not_wait_for_all_of_another)
{
    submit(&a, 'a', 50, 0);
    submit(&b, 'b', 2, 0);
    submit(ten_fair_lane(&worker, TEN_LANE_OPERATORS), 'o', 1, 0);
    finish();
    ck_assert_uint_le((size_t)(strchr(ran, 'o') - ran), 4);
    ck_assert_uint_le((size_t)(strrchr(ran, 'b') - ran), 6);
}
END_TEST

START_TEST(what_is_urgent_goes_first)
{
    submit(&a, 'a', 50, 0);
    submit(ten_fair_lane(&worker, TEN_LANE_OPERATORS), 'o', 20, 0);
    ten_fair_worker_submit_urgent(&worker, piece_new('u', 0));
    ten_fair_worker_submit_urgent(&worker, piece_new('v', 0));
    finish();
    ck_assert_int_eq(strncmp(ran, "uv", 2), 0);
}
END_TEST

START_TEST(services_take_nothing_from_operators)
{
    submit(ten_fair_lane(&worker, TEN_LANE_SERVICES), 's', 50, 0);
    submit(ten_fair_lane(&worker, TEN_LANE_OPERATORS), 'o', 1, 0);
    finish();
    ck_assert_uint_le((size_t)(strchr(ran, 'o') - ran), 2);
}
END_TEST

/* Each of a's takes as long as many of b's: b's are done when few of them were. */
START_TEST(time_is_shared_not_pieces)
{
    submit(&a, 'a', 20, 20);
    submit(&b, 'b', 20, 0);
    finish();
    size_t before = 0;
    for (const char *at = ran; at < strrchr(ran, 'b'); at++)
        before += *at == 'a';
    ck_assert_uint_le(before, 10);
}
END_TEST

START_TEST(a_line_holds_what_it_may_and_no_more)
{
    for (size_t i = 0; i < 10; i++)
        ck_assert(ten_fair_worker_submit(&worker, piece_new('a', 0), &a, 10));
    struct ten_work refused = {.run = run};
    ck_assert(!ten_fair_worker_submit(&worker, &refused, &a, 10));
    ck_assert(ten_fair_worker_submit(&worker, piece_new('b', 0), &b, 10)); /* another's does */
    finish();
    ck_assert_uint_eq(atomic_load(&a.queued), 0);
    ck_assert_uint_eq(atomic_load(&b.queued), 0);
}
END_TEST

Suite *suite_tenancy_fair_worker(void);

Suite *suite_tenancy_fair_worker(void)
{
    Suite *s = suite_create("tenancy_fair_worker");
    TCase *tc = tcase_create("order");
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_line_that_comes_later_does_not_wait_for_all_of_another);
    tcase_add_test(tc, what_is_urgent_goes_first);
    tcase_add_test(tc, services_take_nothing_from_operators);
    tcase_add_test(tc, time_is_shared_not_pieces);
    tcase_add_test(tc, a_line_holds_what_it_may_and_no_more);
    suite_add_tcase(s, tc);
    return s;
}

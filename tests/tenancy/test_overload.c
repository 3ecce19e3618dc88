/*
 * tests/tenancy/test_overload.c - who is limited while small requests wait, and for how long.
 * Time is made here: every window brings what its test says.
 */
#include <check.h>
#include <pthread.h>

#include "base/limits.h"
#include "tenancy/overload.h"

#include "base/banned.h"

#define WINDOW_NS (LIM_OVERLOAD_WINDOW_MS * 1000000ull)
#define FAST_NS   200000ull
/* Much, because what is usual rises while a test lasts. */
#define SLOW_NS 10000000ull
#define SECOND  20 /* windows */
#define COST    100

struct world {
    struct ten_overload all;
    struct ten_overload_part quiet;
    struct ten_overload_part flood;
    uint64_t quiet_weight;
    uint64_t flood_weight;
    uint64_t now_ns;
    uint64_t passed; /* of the flood's requests: at once */
    uint64_t waited; /* they would have had to, and go away */
    uint64_t quiet_waited;
};

static struct world w;

static void setup(void)
{
    w = (struct world){.quiet_weight = 100, .flood_weight = 100, .now_ns = 1000 * WINDOW_NS};
}

static struct ten_overload_by by(struct ten_overload_part *part)
{
    return (struct ten_overload_by){&w.all, part,
                                    part == &w.quiet ? w.quiet_weight : w.flood_weight, w.now_ns};
}

static bool write_of(struct ten_overload_part *part, uint64_t cost)
{
    const struct ten_overload_by who = by(part);
    uint64_t wait_ns = 0;
    if (!ten_overload_begin(&who, 0, &wait_ns)) {
        ck_assert_uint_gt(wait_ns, 0);
        return false;
    }
    ck_assert_uint_eq(wait_ns, 0);
    (void)ten_overload_pay(&who, cost);
    return true;
}

/* So many requests of the flood, and one of the quiet tenant that waits so long (0: it is away). */
static void window(uint64_t flood, uint64_t waits_ns)
{
    w.now_ns += WINDOW_NS;
    for (uint64_t i = 0; i < flood; i++) {
        bool passed = write_of(&w.flood, COST);
        w.passed += passed;
        w.waited += !passed;
    }
    if (waits_ns == 0)
        return;
    w.quiet_waited += !write_of(&w.quiet, 2);
    const struct ten_overload_by who = by(&w.quiet);
    ten_overload_waited(&who, TEN_WAITED_WRITE, waits_ns);
}

static void windows(uint64_t count, uint64_t flood, uint64_t waits_ns)
{
    w.passed = w.waited = w.quiet_waited = 0;
    for (uint64_t i = 0; i < count; i++)
        window(flood, waits_ns);
}

START_TEST(a_flood_waits_while_others_do_and_they_do_not_for_it)
{
    windows(SECOND, 100, FAST_NS);
    ck_assert_uint_eq(w.waited, 0);
    windows(2 * SECOND, 100, SLOW_NS);
    ck_assert_uint_gt(w.waited, w.passed);
    ck_assert_uint_eq(w.quiet_waited, 0);
    ck_assert_uint_eq(ten_overload_limit(&w.quiet), 0);
}
END_TEST

START_TEST(a_tenant_that_is_alone_does_not_wait)
{
    windows(SECOND, 100, FAST_NS);
    windows(SECOND, 100, SLOW_NS);
    ck_assert_uint_gt(w.waited, 0);
    windows(3 * SECOND, 100, 0); /* the other one is forgotten meanwhile */
    windows(2 * SECOND, 100, 0);
    ck_assert_uint_eq(w.waited, 0);
}
END_TEST

START_TEST(tenants_that_do_the_same_do_not_limit_each_other)
{
    for (int i = 0; i < 6 * SECOND; i++) {
        window(60 + (i / 3 % 2) * 20, 0);
        for (int k = 0; k < 70; k++)
            w.quiet_waited += !write_of(&w.quiet, COST);
        const struct ten_overload_by one = by(&w.quiet);
        const struct ten_overload_by other = by(&w.flood);
        ten_overload_waited(&one, TEN_WAITED_WRITE, i < SECOND ? FAST_NS : SLOW_NS);
        ten_overload_waited(&other, TEN_WAITED_WRITE, i < SECOND ? FAST_NS : SLOW_NS);
    }
    ck_assert_uint_eq(w.waited, 0);
    ck_assert_uint_eq(w.quiet_waited, 0);
}
END_TEST

START_TEST(a_lone_tenant_that_waits_is_not_limited)
{
    for (int i = 0; i < 3 * SECOND; i++) {
        window(100, 0);
        const struct ten_overload_by who = by(&w.flood);
        ten_overload_waited(&who, TEN_WAITED_WRITE, i < SECOND ? FAST_NS : SLOW_NS);
    }
    ck_assert_uint_eq(w.waited, 0);
}
END_TEST

START_TEST(a_limit_shrinks_to_the_least_and_no_further)
{
    windows(SECOND, 1000, FAST_NS);
    windows(10 * SECOND, 1000, SLOW_NS);
    ck_assert_uint_ge(ten_overload_limit(&w.flood), LIM_OVERLOAD_LEAST);
    ck_assert_uint_le(ten_overload_limit(&w.flood), 2 * LIM_OVERLOAD_LEAST);
    windows(10 * SECOND, 1000, SLOW_NS);
    ck_assert_uint_ge(w.passed * COST, LIM_OVERLOAD_LEAST * 8); /* in ten seconds */
}
END_TEST

START_TEST(a_limit_grows_without_pressure_until_it_is_none)
{
    windows(SECOND, 100, FAST_NS);
    windows(2 * SECOND, 100, SLOW_NS);
    ck_assert_uint_gt(ten_overload_limit(&w.flood), 0);
    windows(20 * SECOND, 100, FAST_NS);
    windows(SECOND, 100, FAST_NS);
    ck_assert_uint_eq(w.waited, 0);
    windows(5 * SECOND, 1, FAST_NS); /* and it asks for little */
    ck_assert_uint_eq(ten_overload_limit(&w.flood), 0);
}
END_TEST

START_TEST(who_does_little_is_not_limited_though_it_does_most)
{
    windows(SECOND, 1, FAST_NS);
    windows(5 * SECOND, 1, SLOW_NS); /* 2000 a second */
    ck_assert_uint_eq(w.waited, 0);
    ck_assert_uint_eq(ten_overload_limit(&w.flood), 0);
}
END_TEST

START_TEST(what_is_usual_is_no_pressure)
{
    windows(5 * SECOND, 100, SLOW_NS); /* a slow disk */
    ck_assert_uint_eq(w.waited, 0);
}
END_TEST

/* One slow fsync. */
START_TEST(one_long_wait_limits_nobody)
{
    windows(SECOND, 100, FAST_NS);
    for (int i = 0; i < SECOND; i++) {
        window(100, SLOW_NS);
        window(100, FAST_NS);
    }
    ck_assert_uint_eq(w.waited, 0);
}
END_TEST

START_TEST(windows_in_which_nobody_small_came_say_nothing)
{
    windows(SECOND, 100, FAST_NS);
    for (int i = 0; i < SECOND; i++) {
        window(100, SLOW_NS);
        window(100, 0);
    }
    ck_assert_uint_gt(w.waited, 0);
    w.waited = 0;
    setup();
    windows(SECOND, 100, FAST_NS);
    for (int i = 0; i < SECOND; i++) {
        window(100, SLOW_NS);
        w.now_ns += 2 * LIM_OVERLOAD_PARTS * WINDOW_NS; /* too long ago to be one after the other */
    }
    ck_assert_uint_eq(w.waited, 0);
}
END_TEST

START_TEST(who_waits_begins_when_what_its_tenant_owed_is_paid)
{
    uint64_t wait_ns = 0, again_ns = 0;
    windows(SECOND, 100, FAST_NS);
    windows(2 * SECOND, 100, SLOW_NS);
    struct ten_overload_by who = by(&w.flood);
    uint64_t limit = ten_overload_limit(&w.flood);
    (void)ten_overload_pay(&who, limit);
    ck_assert(!ten_overload_begin(&who, 0, &wait_ns));
    ck_assert(!ten_overload_begin(&who, wait_ns - 1, &again_ns));
    ck_assert(ten_overload_begin(&who, wait_ns, &again_ns));
    ck_assert_uint_eq(again_ns, wait_ns); /* asking costs nothing */
    ck_assert_uint_ge(wait_ns, 800000000);
    atomic_store(&w.flood.window, UINT64_MAX); /* the limit stays as it is */
    who.now_ns += wait_ns;
    ck_assert(ten_overload_begin(&who, 0, &again_ns));
    ck_assert_uint_eq(again_ns, 0);
}
END_TEST

START_TEST(waiting_of_those_above_their_share_does_not_count)
{
    windows(SECOND, 100, FAST_NS);
    for (int i = 0; i < 2 * SECOND; i++) {
        window(100, FAST_NS);
        const struct ten_overload_by who = by(&w.flood);
        ten_overload_waited(&who, TEN_WAITED_WRITE, SLOW_NS);
    }
    ck_assert_uint_eq(w.waited, 0);
}
END_TEST

START_TEST(a_share_is_by_weight)
{
    w.flood_weight = 1000000; /* everything is its share, but for a millionth */
    windows(SECOND, 100, FAST_NS);
    windows(2 * SECOND, 100, SLOW_NS);
    ck_assert_uint_eq(w.waited, 0);
}
END_TEST

START_TEST(a_read_of_a_limited_tenant_pauses_for_what_it_did)
{
    windows(SECOND, 100, FAST_NS);
    const struct ten_overload_by before = by(&w.flood);
    ck_assert_uint_eq(ten_overload_pay(&before, 1000), 0);
    windows(2 * SECOND, 100, SLOW_NS);
    const struct ten_overload_by who = by(&w.flood);
    uint64_t limit = ten_overload_limit(&w.flood);
    uint64_t first = ten_overload_pay(&who, limit);
    uint64_t second = ten_overload_pay(&who, limit);
    ck_assert_uint_ge(first, 800000000);
    ck_assert_uint_ge(second - first, 999000000); /* each waits for its own as well */
    ck_assert_uint_le(second - first, 1001000000);
}
END_TEST

/* --- threads ------------------------------------------------------------------------------------
 */

#define THREADS 4

static void *do_all_of_it(void *arg)
{
    const size_t index = *(const size_t *)arg;
    for (uint64_t i = 0; i < 50000; i++) {
        struct ten_overload_part *part = (index + i) % 2 == 0 ? &w.quiet : &w.flood;
        const struct ten_overload_by who = {&w.all, part, 100, 1000 * WINDOW_NS + i * 20000};
        uint64_t wait_ns = 0;
        (void)ten_overload_begin(&who, 0, &wait_ns);
        (void)ten_overload_pay(&who, part == &w.quiet ? 0 : 50);
        ten_overload_waited(&who, TEN_WAITED_READ, i < 20000 ? FAST_NS : SLOW_NS);
    }
    return NULL;
}

START_TEST(threads_together_limit_the_flood_and_nobody_else)
{
    pthread_t threads[THREADS];
    size_t index[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        index[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, do_all_of_it, &index[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL); /* made above */
    ck_assert_uint_eq(ten_overload_limit(&w.quiet), 0);
    ck_assert_uint_ge(ten_overload_limit(&w.flood), LIM_OVERLOAD_LEAST);
}
END_TEST

Suite *suite_tenancy_overload(void);
Suite *suite_tenancy_overload(void)
{
    Suite *s = suite_create("tenancy_overload");
    TCase *c = tcase_create("limits");
    tcase_add_checked_fixture(c, setup, NULL);
    suite_add_tcase(s, c);
    tcase_add_test(c, a_flood_waits_while_others_do_and_they_do_not_for_it);
    tcase_add_test(c, a_tenant_that_is_alone_does_not_wait);
    tcase_add_test(c, tenants_that_do_the_same_do_not_limit_each_other);
    tcase_add_test(c, a_lone_tenant_that_waits_is_not_limited);
    tcase_add_test(c, a_limit_shrinks_to_the_least_and_no_further);
    tcase_add_test(c, a_limit_grows_without_pressure_until_it_is_none);
    tcase_add_test(c, who_does_little_is_not_limited_though_it_does_most);
    tcase_add_test(c, what_is_usual_is_no_pressure);
    tcase_add_test(c, one_long_wait_limits_nobody);
    tcase_add_test(c, windows_in_which_nobody_small_came_say_nothing);
    tcase_add_test(c, who_waits_begins_when_what_its_tenant_owed_is_paid);
    tcase_add_test(c, waiting_of_those_above_their_share_does_not_count);
    tcase_add_test(c, a_share_is_by_weight);
    c = tcase_create("paying");
    tcase_add_checked_fixture(c, setup, NULL);
    suite_add_tcase(s, c);
    tcase_add_test(c, a_read_of_a_limited_tenant_pauses_for_what_it_did);
    c = tcase_create("threads");
    tcase_add_checked_fixture(c, setup, NULL);
    suite_add_tcase(s, c);
    tcase_add_test(c, threads_together_limit_the_flood_and_nobody_else);
    return s;
}

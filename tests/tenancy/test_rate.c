/*
 * tests/tenancy/test_rate.c - the rate limit counted unit by unit over simulated time.
 * Over 500 lines because every way of charging is met with every extreme.
 */
#include <check.h>
#include <pthread.h>
#include <stdbool.h>

#include "tenancy/rate.h"

#include "base/banned.h"

#define SECOND 1000000000ull
#define START  (5 * SECOND)

static struct ten_rate rate_of(uint64_t per_second)
{
    struct ten_rate r = {0};
    ten_rate_set(&r, per_second, 1000);
    return r;
}

static uint64_t take_while_open(struct ten_rate *r, uint64_t cost, uint64_t now)
{
    uint64_t count = 0;
    uint64_t wait = 0;
    while (count < 10000000 && ten_rate_take(r, cost, now, &wait))
        count++;
    return count;
}

static const uint64_t RATES[] = {1, 2, 3, 7, 10, 60, 999, 1000, 4096, 1000000};

#define RATE_COUNT (int)(sizeof RATES / sizeof RATES[0])

START_TEST(burst_is_exactly_one_second_of_units)
{
    struct ten_rate r = rate_of(RATES[_i]);
    ck_assert_uint_eq(ten_rate_left(&r, START), RATES[_i]);
    ck_assert_uint_eq(take_while_open(&r, 1, START), RATES[_i]);
    ck_assert_uint_eq(ten_rate_left(&r, START), 0);
}
END_TEST

START_TEST(sustained_rate_is_exact_over_a_minute)
{
    /* one knock every 100 us; rates that divide a second pass exactly, others lose rounding only */
    uint64_t per_second = RATES[_i];
    if (per_second > 10000)
        return; /* more than one a knock */
    struct ten_rate r = rate_of(per_second);
    uint64_t passed = take_while_open(&r, 1, START);
    uint64_t wait = 0;
    for (uint64_t at = 100000; at <= 60 * SECOND; at += 100000)
        passed += ten_rate_take(&r, 1, START + at, &wait);
    ck_assert_uint_le(passed, per_second * 61);
    ck_assert_uint_ge(passed, per_second * 61 - 1);
}
END_TEST

START_TEST(any_window_holds_at_most_rate_and_burst)
{
    enum { PER_SECOND = 50, STEPS = 4000, STEP_MS = 5 };
    static uint32_t passed[STEPS];
    struct ten_rate r = rate_of(PER_SECOND);
    uint64_t wait = 0;
    uint64_t seed = 12345;
    for (int i = 0; i < STEPS; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t knocks = (seed >> 40) % 4 == 0 ? (seed >> 50) % 40 : 0;
        passed[i] = 0;
        for (uint64_t k = 0; k < knocks; k++)
            passed[i] += ten_rate_take(&r, 1, START + (uint64_t)i * STEP_MS * 1000000, &wait);
    }
    for (int from = 0; from < STEPS; from += 3) {
        uint64_t sum = 0;
        for (int to = from; to < STEPS; to++) {
            sum += passed[to];
            uint64_t elapsed_ms = (uint64_t)(to - from) * STEP_MS;
            ck_assert_uint_le(sum, PER_SECOND + PER_SECOND * elapsed_ms / 1000 + 1);
        }
    }
}
END_TEST

START_TEST(wait_is_exactly_when_it_passes)
{
    struct ten_rate r = rate_of(RATES[_i]);
    uint64_t wait = 0;
    (void)take_while_open(&r, 1, START);
    ck_assert(!ten_rate_take(&r, 1, START, &wait));
    ck_assert_uint_gt(wait, 0);
    ck_assert_uint_le(wait, SECOND);
    uint64_t again = 0;
    ck_assert(!ten_rate_take(&r, 1, START + wait - 1, &again));
    ck_assert_uint_eq(again, 1);
    ck_assert(ten_rate_take(&r, 1, START + wait, &again));
}
END_TEST

START_TEST(refused_take_charges_nothing)
{
    struct ten_rate r = rate_of(10);
    uint64_t wait = 0;
    (void)take_while_open(&r, 1, START);
    for (int i = 0; i < 1000; i++)
        ck_assert(!ten_rate_take(&r, 1, START, &wait));
    ck_assert_uint_eq(wait, SECOND / 10);
    ck_assert_uint_eq(take_while_open(&r, 1, START + SECOND), 10);
}
END_TEST

START_TEST(cost_zero_passes_even_in_debt)
{
    struct ten_rate r = rate_of(1);
    uint64_t wait = 77;
    ck_assert(ten_rate_take(&r, 1000, START, &wait));
    ck_assert(!ten_rate_take(&r, 1, START, &wait));
    uint64_t before = atomic_load(&r.arrival_ns);
    ck_assert(ten_rate_take(&r, 0, START, &wait));
    (void)ten_rate_charge(&r, 0, START);
    ck_assert_uint_eq(atomic_load(&r.arrival_ns), before);
}
END_TEST

START_TEST(no_limit_always_passes)
{
    struct ten_rate r = rate_of(0);
    uint64_t wait = 0;
    for (int i = 0; i < 1000; i++)
        ck_assert(ten_rate_take(&r, UINT64_MAX, START, &wait));
    (void)ten_rate_charge(&r, UINT64_MAX, START);
    ck_assert_uint_eq(ten_rate_left(&r, START), UINT64_MAX);
}
END_TEST

START_TEST(large_operation_passes_on_credit_and_is_paid_off)
{
    struct ten_rate r = rate_of(10);
    uint64_t wait = 0;
    ck_assert(ten_rate_take(&r, 9, START, &wait)); /* one unit left is enough */
    ck_assert(ten_rate_take(&r, 100, START, &wait));
    ck_assert(!ten_rate_take(&r, 1, START, &wait));
    ck_assert(!ten_rate_take(&r, 100, START, &wait)); /* one at a time */
    /* 109 units are owed and 10 are the burst: the next unit is there after 10 s */
    ck_assert_uint_eq(wait, 10 * SECOND);
    ck_assert(!ten_rate_take(&r, 1, START + 10 * SECOND - 1, &wait));
    ck_assert(ten_rate_take(&r, 1, START + 10 * SECOND, &wait));
}
END_TEST

START_TEST(charged_debt_is_at_most_one_second)
{
    struct ten_rate r = rate_of(100);
    uint64_t wait = 0;
    (void)ten_rate_charge(&r, 1000000, START);
    ck_assert_uint_eq(ten_rate_left(&r, START), 0);
    ck_assert(!ten_rate_take(&r, 1, START, &wait));
    ck_assert_uint_eq(wait, SECOND + SECOND / 100);
    (void)ten_rate_charge(&r, UINT64_MAX, START);
    ck_assert(!ten_rate_take(&r, 1, START, &wait));
    ck_assert_uint_eq(wait, SECOND + SECOND / 100);
}
END_TEST

START_TEST(charge_never_forgives_debt)
{
    struct ten_rate r = rate_of(10);
    uint64_t wait = 0;
    ck_assert(ten_rate_take(&r, 1000, START, &wait));
    uint64_t before = atomic_load(&r.arrival_ns);
    (void)ten_rate_charge(&r, 5, START);
    ck_assert_uint_ge(atomic_load(&r.arrival_ns), before);
}
END_TEST

START_TEST(what_is_owed_is_owed_in_full_and_each_waits_behind_the_others)
{
    struct ten_rate r = rate_of(1000);
    ck_assert_uint_eq(ten_rate_owe(&r, 500, START), 0); /* within the burst */
    uint64_t wait = ten_rate_owe(&r, 10000, START);
    ck_assert_uint_ge(wait, 19 * SECOND / 2);
    ck_assert_uint_le(wait, 19 * SECOND / 2 + SECOND / 1000);
    ck_assert_uint_eq(ten_rate_owe(&r, 1000, START) - wait, SECOND);
    ck_assert_uint_eq(ten_rate_wait_ns(&r, START), wait + SECOND);
    struct ten_rate none = {0};
    ck_assert_uint_eq(ten_rate_owe(&none, UINT64_MAX, START), 0);
}
END_TEST

START_TEST(small_charge_is_counted_exactly)
{
    struct ten_rate r = rate_of(100);
    (void)ten_rate_charge(&r, 30, START);
    ck_assert_uint_eq(ten_rate_left(&r, START), 70);
    (void)ten_rate_charge(&r, 30, START);
    ck_assert_uint_eq(ten_rate_left(&r, START), 40);
    ck_assert_uint_eq(take_while_open(&r, 1, START), 40);
}
END_TEST

START_TEST(idle_time_gives_no_more_than_one_burst)
{
    struct ten_rate r = rate_of(10);
    (void)take_while_open(&r, 1, START);
    ck_assert_uint_eq(take_while_open(&r, 1, START + 3600 * SECOND), 10);
}
END_TEST

START_TEST(huge_rates_and_costs_do_not_overflow)
{
    static const uint64_t BIG[] = {1000000000ull, 1000000001ull, 1ull << 40, UINT64_MAX - 1,
                                   UINT64_MAX};
    for (size_t i = 0; i < sizeof BIG / sizeof BIG[0]; i++) {
        struct ten_rate r = rate_of(BIG[i]);
        uint64_t wait = 0;
        for (int k = 0; k < 100; k++)
            ck_assert(ten_rate_take(&r, 1, START, &wait));
        ck_assert(ten_rate_take(&r, UINT64_MAX, START, &wait));
        (void)ten_rate_charge(&r, UINT64_MAX, START);
        ck_assert(!ten_rate_take(&r, 1, START, &wait));
        ck_assert_uint_gt(wait, 0);
        ck_assert_uint_eq(ten_rate_left(&r, START), 0);
    }
}
END_TEST

START_TEST(highest_rate_counts_single_units)
{
    struct ten_rate r = rate_of(SECOND);
    uint64_t wait = 0;
    ck_assert(ten_rate_take(&r, SECOND - 1, START, &wait));
    ck_assert(ten_rate_take(&r, 1, START, &wait));
    ck_assert(!ten_rate_take(&r, 1, START, &wait));
    ck_assert_uint_eq(wait, 1);
}
END_TEST

START_TEST(rounding_never_lets_more_through)
{
    static const uint64_t UNEVEN[] = {3, 700, 600000000, 700000000, 999999999};
    uint64_t per_second = UNEVEN[_i];
    uint64_t cost = per_second / 100 + 1;
    struct ten_rate r = rate_of(per_second);
    uint64_t passed = 0;
    uint64_t wait = 0;
    for (uint64_t at = 0; at <= 20 * SECOND; at += SECOND / 1000)
        while (ten_rate_take(&r, cost, START + at, &wait))
            passed += cost;
    ck_assert_uint_le(passed, per_second * 21 + cost);
    ck_assert_uint_ge(passed, per_second * 21 / 100 * 99);
}
END_TEST

START_TEST(set_forgives_debt)
{
    struct ten_rate r = rate_of(1);
    uint64_t wait = 0;
    ck_assert(ten_rate_take(&r, 1000000, START, &wait));
    ten_rate_set(&r, 5, 1000);
    ck_assert_uint_eq(take_while_open(&r, 1, START), 5);
}
END_TEST

/* --- bursts ----------------------------------------------------------------------------------- */

static const struct {
    uint64_t per_second;
    uint64_t burst_ms;
    uint64_t burst;
} BURSTS[] = {{10, 100, 1},
              {10, 199, 1},
              {10, 200, 2},
              {1, 100, 1},
              {1000, 2500, 2500},
              {3, 60000, 180},
              {5000000, 1500, 7500000}};

START_TEST(burst_is_what_its_time_gives_and_at_least_one)
{
    struct ten_rate r = {0};
    ten_rate_set(&r, BURSTS[_i].per_second, BURSTS[_i].burst_ms);
    ck_assert_uint_eq(ten_rate_left(&r, START), BURSTS[_i].burst);
    uint64_t wait = 0;
    uint64_t half = BURSTS[_i].burst / 2;
    ck_assert(ten_rate_take(&r, half, START, &wait));
    ck_assert_uint_eq(ten_rate_left(&r, START), BURSTS[_i].burst - half);
    ck_assert(ten_rate_take(&r, BURSTS[_i].burst - half, START, &wait));
    ck_assert(!ten_rate_take(&r, 1, START, &wait));
    ck_assert_uint_eq(wait, ten_rate_wait_ns(&r, START));
    ck_assert_uint_eq(ten_rate_wait_ns(&r, START + wait), 0);
    ck_assert_uint_eq(ten_rate_wait_ns(&r, START + wait - 1), 1);
    ck_assert_uint_eq(ten_rate_left(&r, START + ten_rate_full_ns(&r, START)), BURSTS[_i].burst);
    ck_assert_uint_eq(ten_rate_full_ns(&r, START + 61 * SECOND), 0);
}
END_TEST

START_TEST(charged_debt_is_at_most_one_burst)
{
    struct ten_rate r = {0};
    ten_rate_set(&r, 100, 5000);
    ck_assert_uint_eq(ten_rate_charge(&r, 500, START), 0);
    ck_assert_uint_eq(ten_rate_charge(&r, 600, START), 100);
    ck_assert_uint_eq(ten_rate_wait_ns(&r, START), 5 * SECOND + SECOND / 100);
    ck_assert_uint_eq(ten_rate_charge(&r, 100, START), 100);
    ck_assert_uint_eq(ten_rate_price_ns(&r, 100), SECOND);
    ck_assert_uint_eq(ten_rate_units(&r, SECOND - 1), 99);
    ck_assert_uint_eq(ten_rate_wait_ns(&r, START), 5 * SECOND + SECOND / 100);
}
END_TEST

START_TEST(the_same_setting_forgives_nothing)
{
    struct ten_rate r = rate_of(10);
    (void)ten_rate_charge(&r, 1000, START);
    ten_rate_set(&r, 10, 1000);
    ck_assert_uint_eq(ten_rate_left(&r, START), 0);
    ten_rate_set(&r, 10, 1100);
    ck_assert_uint_eq(ten_rate_left(&r, START), 11);
}
END_TEST

START_TEST(no_limit_has_no_wait)
{
    struct ten_rate r = rate_of(0);
    (void)ten_rate_charge(&r, UINT64_MAX, START);
    ten_rate_give_back(&r, UINT64_MAX);
    ck_assert_uint_eq(ten_rate_wait_ns(&r, START), 0);
    ck_assert_uint_eq(ten_rate_full_ns(&r, START), 0);
    ck_assert_uint_eq(ten_rate_price_ns(&r, UINT64_MAX), 0);
    ck_assert(!ten_rate_is_limited(&r));
}
END_TEST

/* --- random sequences against a bucket -------------------------------------------------------- */

/* A bucket of tokens, in billionths of one, for rates that divide a billion: then GCRA is it. */
struct bucket {
    int64_t per_second;
    int64_t full;
    int64_t tokens; /* below 0: debt */
};

static void bucket_wait(struct bucket *b, int64_t ns)
{
    int64_t missing = b->full - b->tokens;
    b->tokens = ns >= (missing + b->per_second - 1) / b->per_second
                    ? b->full
                    : b->tokens + ns * b->per_second;
}

static void bucket_charge(struct bucket *b, int64_t cost)
{
    int64_t floor = b->tokens < -b->full ? b->tokens : -b->full;
    b->tokens -= cost * (int64_t)SECOND;
    if (b->tokens < floor)
        b->tokens = floor;
}

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 33) % below;
}

static void expect_same(const struct ten_rate *r, const struct bucket *b, uint64_t now)
{
    const int64_t second = (int64_t)SECOND;
    int64_t left = b->tokens < 0 ? 0 : b->tokens / second;
    int64_t wait =
        b->tokens >= second ? 0 : (second - b->tokens + b->per_second - 1) / b->per_second;
    ck_assert_int_eq(ten_rate_left(r, now), left);
    ck_assert_int_eq(ten_rate_wait_ns(r, now), wait);
}

static void step(struct ten_rate *r, struct bucket *b, uint64_t *now)
{
    uint64_t cost = 1 + draw(draw(10) == 0 ? (uint64_t)(3 * b->full) / SECOND + 1 : 5);
    uint64_t wait = 0;
    uint64_t ns = draw(1000000000);
    switch (draw(5)) {
    case 0: /* refused takes are the same as none, taken ones that are given back as well */
        if (ten_rate_take(r, cost, *now, &wait))
            ten_rate_give_back(r, cost);
        break;
    case 1:
        (void)ten_rate_charge(r, cost, *now);
        bucket_charge(b, (int64_t)cost);
        break;
    case 2:
        *now += ns;
        bucket_wait(b, (int64_t)ns);
        break;
    default:
        ck_assert_int_eq(ten_rate_take(r, cost, *now, &wait), b->tokens >= (int64_t)SECOND);
        if (b->tokens >= (int64_t)SECOND)
            b->tokens -= (int64_t)(cost * SECOND);
    }
}

START_TEST(random_sequences_are_those_of_a_bucket)
{
    static const uint64_t rates[] = {1, 2, 5, 8, 100, 1000, 62500};
    static const uint64_t bursts_ms[] = {100, 1000, 2500, 60000};
    uint64_t per_second = rates[_i % 7];
    uint64_t burst_ms = bursts_ms[_i / 7];
    uint64_t burst = per_second * burst_ms / 1000;
    struct ten_rate r = {0};
    struct bucket b = {.per_second = (int64_t)per_second};
    uint64_t now = START;
    seed = (uint64_t)_i;
    ten_rate_set(&r, per_second, burst_ms);
    b.full = b.tokens = (int64_t)((burst == 0 ? 1 : burst) * SECOND);
    for (int i = 0; i < 20000; i++) {
        step(&r, &b, &now);
        expect_same(&r, &b, now);
    }
}
END_TEST

/* --- four threads on one limit ---------------------------------------------------------------- */

enum { THREADS = 4, BURST = 400000 };

struct racer {
    struct ten_rate *rate;
    uint64_t passed;
    bool charges;
};

/* All at the same moment of simulated time: nothing is paid off while they race. */
static void *race(void *arg)
{
    struct racer *me = arg;
    uint64_t wait = 0;
    while (me->passed < BURST && ten_rate_take(me->rate, 1, START, &wait)) {
        me->passed++;
        if (me->charges)
            (void)ten_rate_charge(me->rate, 1, START);
    }
    return NULL;
}

START_TEST(threads_together_pass_what_one_may)
{
    bool charges = _i == 1;
    struct ten_rate r = rate_of(BURST);
    struct racer racers[THREADS] = {{.passed = 0}};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        racers[i].rate = &r;
        racers[i].charges = charges;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    uint64_t sum = 0;
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        sum += racers[i].passed;
    }
    if (!charges)
        ck_assert_uint_eq(sum, BURST);
    ck_assert_uint_le(sum, charges ? BURST / 2 + THREADS : BURST);
    ck_assert_uint_ge(sum, BURST / 2);
}
END_TEST

Suite *suite_tenancy_rate(void);
Suite *suite_tenancy_rate(void)
{
    Suite *s = suite_create("tenancy_rate");
    TCase *c = tcase_create("counts");
    tcase_set_timeout(c, 30);
    tcase_add_loop_test(c, burst_is_exactly_one_second_of_units, 0, RATE_COUNT);
    tcase_add_loop_test(c, sustained_rate_is_exact_over_a_minute, 0, RATE_COUNT);
    tcase_add_test(c, any_window_holds_at_most_rate_and_burst);
    tcase_add_loop_test(c, wait_is_exactly_when_it_passes, 0, RATE_COUNT);
    tcase_add_test(c, refused_take_charges_nothing);
    tcase_add_test(c, cost_zero_passes_even_in_debt);
    tcase_add_test(c, no_limit_always_passes);
    tcase_add_test(c, idle_time_gives_no_more_than_one_burst);
    tcase_add_test(c, set_forgives_debt);
    suite_add_tcase(s, c);
    c = tcase_create("debt");
    tcase_add_test(c, large_operation_passes_on_credit_and_is_paid_off);
    tcase_add_test(c, charged_debt_is_at_most_one_second);
    tcase_add_test(c, charge_never_forgives_debt);
    tcase_add_test(c, small_charge_is_counted_exactly);
    tcase_add_test(c, what_is_owed_is_owed_in_full_and_each_waits_behind_the_others);
    suite_add_tcase(s, c);
    c = tcase_create("extremes");
    tcase_add_test(c, huge_rates_and_costs_do_not_overflow);
    tcase_add_test(c, highest_rate_counts_single_units);
    tcase_add_loop_test(c, rounding_never_lets_more_through, 0, 5);
    suite_add_tcase(s, c);
    c = tcase_create("bursts");
    tcase_set_timeout(c, 30);
    tcase_add_loop_test(c, burst_is_what_its_time_gives_and_at_least_one, 0,
                        (int)(sizeof BURSTS / sizeof BURSTS[0]));
    tcase_add_test(c, charged_debt_is_at_most_one_burst);
    tcase_add_test(c, the_same_setting_forgives_nothing);
    tcase_add_test(c, no_limit_has_no_wait);
    tcase_add_loop_test(c, random_sequences_are_those_of_a_bucket, 0, 28);
    suite_add_tcase(s, c);
    c = tcase_create("threads");
    tcase_set_timeout(c, 30);
    tcase_add_loop_test(c, threads_together_pass_what_one_may, 0, 2);
    suite_add_tcase(s, c);
    return s;
}

/*
 * tests/tenancy/test_rate_exact.c - random sequences at any rate, against a bucket of tokens in
 * exact arithmetic: what passes, the bucket has; what is refused, it has not, but for rounding.
 *
 * Tokens are counted in billionths, so that a nanosecond of a whole rate is a whole number of them.
 * A limit rounds the price of what it takes up to nanoseconds; what that makes of difference is
 * added up here, exactly, and is nothing again when the limit is whole.
 */
#include <check.h>

#include "tenancy/rate.h"
#include "tests/support/random.h"

#include "base/banned.h"

__extension__ typedef __int128 wide;

#define UNIT  ((wide)1000000000) /* one token; also a second */
#define START (50ull * 1000000000)
/* Up to here each unit is rounded by itself, above each take as a whole (tenancy/rate.c). */
#define BY_UNIT_MAX 1000000

struct exact {
    wide per_second;
    wide full;
    wide tokens;   /* below 0: debt */
    wide rounding; /* so much more the limit may have charged since it was whole */
};

static wide up(wide number, wide by)
{
    return (number + by - 1) / by;
}

/* Of what the limit charges for a cost, more than it is. */
static wide rounded(const struct exact *b, wide cost)
{
    wide ns = b->per_second <= BY_UNIT_MAX ? cost * up(UNIT, b->per_second)
                                           : up(cost * UNIT, b->per_second);
    return ns * b->per_second - cost * UNIT;
}

static void pass_time(struct exact *b, uint64_t ns)
{
    wide tokens = b->tokens + (wide)ns * b->per_second;
    b->tokens = tokens < b->full ? tokens : b->full;
}

static void take(struct exact *b, uint64_t cost, bool passed)
{
    /* one nanosecond, where the burst and the last unit are not whole ones */
    wide slack = b->per_second <= BY_UNIT_MAX ? 0 : b->per_second;
    if (!passed) {
        ck_assert(b->tokens < UNIT + b->rounding + rounded(b, 1));
        return;
    }
    ck_assert(b->tokens + slack >= UNIT);
    b->tokens -= (wide)cost * UNIT;
    b->rounding += rounded(b, cost);
}

static const uint64_t RATES[] = {1,      3,       7,       11,        999,       1001,
                                 333333, 999983,  1000000, 1000003,   7000001,   123456789,
                                 999999, 5000000, 9999991, 700000000, 1000000000};
static const uint64_t BURSTS_MS[] = {100, 1000, 60000};

#define RATE_COUNT  ((int)(sizeof RATES / sizeof RATES[0]))
#define BURST_COUNT ((int)(sizeof BURSTS_MS / sizeof BURSTS_MS[0]))

/* Mostly about as long as a few units take, sometimes much longer. */
static uint64_t draw_ns(struct random *dice, const struct exact *b)
{
    uint64_t unit_ns = (uint64_t)up(UNIT, b->per_second);
    uint64_t units = random_below(dice, 20) == 0 ? (uint64_t)(b->full / UNIT) : 8;
    return (uint64_t)random_below(dice, 1000) * (unit_ns * units + 1) / 1000;
}

static uint64_t draw_cost(struct random *dice, const struct exact *b)
{
    uint64_t burst = (uint64_t)(b->full / UNIT);
    if (random_below(dice, 4) > 0)
        return 1;
    return 1 + (uint64_t)random_below(dice, 1000) * (burst / 2 + 2) / 1000;
}

START_TEST(random_sequences_at_any_rate_are_those_of_an_exact_bucket)
{
    struct random dice = {(uint64_t)_i + 1};
    struct exact b = {.per_second = (wide)RATES[_i % RATE_COUNT]};
    struct ten_rate r = {0};
    uint64_t now = START, wait = 0, passed = 0, refused = 0;
    ten_rate_set(&r, RATES[_i % RATE_COUNT], BURSTS_MS[_i / RATE_COUNT]);
    b.full = b.tokens = (wide)atomic_load(&r.burst) * UNIT;
    for (int i = 0; i < 20000; i++) {
        if (random_below(&dice, 3) == 0) {
            uint64_t ns = draw_ns(&dice, &b);
            pass_time(&b, ns);
            now += ns;
        }
        if (ten_rate_full_ns(&r, now) == 0)
            b.rounding = 0;
        uint64_t cost = draw_cost(&dice, &b);
        bool is_taken = ten_rate_take(&r, cost, now, &wait);
        take(&b, cost, is_taken);
        passed += is_taken;
        refused += !is_taken;
    }
    ck_assert_uint_gt(passed, 100);
    ck_assert_uint_gt(refused, 100);
}
END_TEST

Suite *suite_tenancy_rate_exact(void);

Suite *suite_tenancy_rate_exact(void)
{
    Suite *s = suite_create("tenancy_rate_exact");
    TCase *tc = tcase_create("rate_exact");
    tcase_add_loop_test(tc, random_sequences_at_any_rate_are_those_of_an_exact_bucket, 0,
                        RATE_COUNT * BURST_COUNT);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/tenancy/test_clock_jumps.c - a wall clock that jumps neither opens a limit nor freezes it:
 * not those of a tenant, not those of a key, not what a caller is told.
 */
#include "tests/tenancy/tent.h"

#include "base/clock.h"
#include "tests/support/wall.h"

#include "base/banned.h"

#define SECOND  1000000000ull
#define HOUR_S  3600LL
#define YEAR_S  (365 * 24 * HOUR_S)
#define RATE    100
#define STEP_NS (SECOND / RATE / 5)
#define STEPS   250 /* half a second */

/* To seconds ahead of the system's clock. */
static const int64_t JUMPS[] = {HOUR_S, -HOUR_S, 10 * YEAR_S, -10 * YEAR_S, 200 * YEAR_S};
#define JUMP_COUNT ((int)(sizeof JUMPS / sizeof JUMPS[0]))

static struct tent tent;
static struct ten_tenant *t;
static struct ten_visit visit;
static struct ten_refusal why;

/* The monotonic clock of the main thread, by which it is charged, goes on only when it is advanced.
 */
static void set_up(void)
{
    tent_make(&tent);
    tent_open(&tent);
    t = tent_create(&tent, "altostrat");
    wall_hold_monotonic();
}

static void tear_down(void)
{
    wall_release_monotonic();
    ten_visit_end(&visit);
    wall_set_ahead(0);
    tent_close(&tent);
    tent_remove(&tent);
}

struct limit {
    enum ten_rate_kind kind;
    enum ten_access access;
    struct ten_load unit;
    bool of_key;
};

static const struct limit LIMITS[] = {
    {TEN_RATE_READ_OPS, TEN_READ, {1, 0}, false},
    {TEN_RATE_WRITE_OPS, TEN_WRITE, {1, 0}, false},
    {TEN_RATE_READ_BYTES, TEN_READ, {0, 1}, false},
    {TEN_RATE_WRITE_BYTES, TEN_WRITE, {0, 1}, false},
    {TEN_RATE_READ_OPS, TEN_READ, {1, 0}, true},
    {TEN_RATE_WRITE_BYTES, TEN_WRITE, {0, 1}, true},
};
#define LIMIT_COUNT ((int)(sizeof LIMITS / sizeof LIMITS[0]))

/* The rate of the limit, RATE a second, and nothing left of its burst of a second. */
static void begin(const struct limit *l)
{
    struct ten_rate_limits wanted = {.burst_ms = 1000};
    for (size_t i = 0; i < TEN_RATE_COUNT; i++)
        wanted.per_second[i] = i == l->kind ? RATE : UINT64_MAX;
    struct ten_key_rates *key = l->of_key ? ten_key_rates_new(&wanted) : NULL;
    if (!l->of_key)
        ten_rates_set(&t->rates, &wanted);
    ten_visit_begin(&visit, t, key);
    ten_key_rates_unref(key);
    for (int i = 0; i < RATE; i++)
        ck_assert_int_eq(ten_admit(&visit, l->access, l->unit, &why, &tent.eb), ERR_OK);
}

static uint64_t left(void)
{
    struct ten_standing all[TEN_STANDINGS];
    ck_assert_uint_eq(ten_visit_standings(&visit, all), 1);
    ck_assert_uint_eq(all[0].limit, RATE);
    ck_assert_uint_le(all[0].reset_ns, SECOND);
    return all[0].left;
}

START_TEST(a_jump_gives_nothing_and_takes_nothing)
{
    const struct limit *l = &LIMITS[_i % LIMIT_COUNT];
    int64_t wall = base_wall_us();
    begin(l);
    wall_set_ahead(JUMPS[_i / LIMIT_COUNT]);
    int64_t jumped_s = (base_wall_us() - wall) / 1000000;
    ck_assert(jumped_s >= JUMPS[_i / LIMIT_COUNT] && jumped_s < JUMPS[_i / LIMIT_COUNT] + HOUR_S);
    ck_assert_uint_eq(left(), 0);
    ck_assert_int_eq(ten_admit(&visit, l->access, l->unit, &why, &tent.eb), ERR_RATE_LIMITED);
    ck_assert_uint_eq(why.wait_ns, SECOND / RATE); /* when the next unit is there */
    wall_advance_ns(why.wait_ns - 1);
    ck_assert_int_eq(ten_admit(&visit, l->access, l->unit, &why, &tent.eb), ERR_RATE_LIMITED);
    wall_advance_ns(1);
    ck_assert_uint_eq(left(), 1);
    ck_assert_int_eq(ten_admit(&visit, l->access, l->unit, &why, &tent.eb), ERR_OK);
    ck_assert_uint_eq(left(), 0);
}
END_TEST

/* However often it jumps, as many pass as time has paid for. */
START_TEST(a_clock_that_jumps_all_the_time_changes_no_rate)
{
    const struct limit *l = &LIMITS[_i];
    begin(l);
    uint64_t passed = 0;
    for (uint64_t turn = 1; turn <= STEPS; turn++) {
        wall_set_ahead(JUMPS[turn % JUMP_COUNT]);
        wall_advance_ns(STEP_NS);
        passed += ten_admit(&visit, l->access, l->unit, &why, &tent.eb) == ERR_OK;
        ck_assert_uint_eq(passed, turn * STEP_NS * RATE / SECOND);
    }
}
END_TEST

Suite *suite_tenancy_clock_jumps(void);

Suite *suite_tenancy_clock_jumps(void)
{
    Suite *s = suite_create("tenancy_clock_jumps");
    TCase *tc = tcase_create("clock_jumps");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, a_jump_gives_nothing_and_takes_nothing, 0, JUMP_COUNT * LIMIT_COUNT);
    tcase_add_loop_test(tc, a_clock_that_jumps_all_the_time_changes_no_rate, 0, LIMIT_COUNT);
    suite_add_tcase(s, tc);
    return s;
}

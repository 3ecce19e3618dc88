/*
 * tests/tenancy/test_clock_jumps.c - a wall clock that jumps neither opens a limit nor freezes it:
 * not those of a tenant, not those of a key, not what a caller is told.
 */
#include "tests/tenancy/tent.h"

#include "base/clock.h"
#include "tests/support/wall.h"

#include "base/banned.h"

#define SECOND   1000000000ull
#define HOUR_S   3600LL
#define YEAR_S   (365 * 24 * HOUR_S)
#define RATE     100
#define LASTS_NS (SECOND / 2)

/* To seconds ahead of the system's clock. */
static const int64_t JUMPS[] = {HOUR_S, -HOUR_S, 10 * YEAR_S, -10 * YEAR_S, 200 * YEAR_S};
#define JUMP_COUNT ((int)(sizeof JUMPS / sizeof JUMPS[0]))

static struct tent tent;
static struct ten_tenant *t;
static struct ten_visit visit;
static struct ten_refusal why;

static void set_up(void)
{
    tent_make(&tent);
    tent_open(&tent);
    t = tent_create(&tent, "altostrat");
}

static void tear_down(void)
{
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

static uint64_t left(const struct limit *l)
{
    struct ten_standing all[TEN_STANDINGS];
    ck_assert_uint_eq(ten_visit_standings(&visit, all), 1);
    ck_assert_uint_eq(all[0].limit, RATE);
    ck_assert_uint_le(all[0].reset_ns, SECOND);
    (void)l;
    return all[0].left;
}

START_TEST(a_jump_gives_nothing_and_takes_nothing)
{
    const struct limit *l = &LIMITS[_i % LIMIT_COUNT];
    uint64_t began = base_monotonic_ns();
    int64_t wall = base_wall_us();
    begin(l);
    wall_set_ahead(JUMPS[_i / LIMIT_COUNT]);
    int64_t jumped_s = (base_wall_us() - wall) / 1000000;
    ck_assert(jumped_s >= JUMPS[_i / LIMIT_COUNT] && jumped_s < JUMPS[_i / LIMIT_COUNT] + 60);
    uint64_t passed_ns = base_monotonic_ns() - began;
    ck_assert_uint_le(left(l), passed_ns * RATE / SECOND + 1);
    uint64_t passed = 0;
    while (ten_admit(&visit, l->access, l->unit, &why, &tent.eb) == ERR_OK)
        passed++;
    ck_assert_uint_le(passed, (base_monotonic_ns() - began) * RATE / SECOND + 1);
    ck_assert_uint_le(why.wait_ns, SECOND / RATE); /* when the next unit is there */
    tent_pause_ms((long)(why.wait_ns / 1000000) + 1);
    ck_assert_int_eq(ten_admit(&visit, l->access, l->unit, &why, &tent.eb), ERR_OK);
}
END_TEST

/* However often it jumps, as many pass as time has paid for. */
START_TEST(a_clock_that_jumps_all_the_time_changes_no_rate)
{
    const struct limit *l = &LIMITS[_i];
    uint64_t before = base_monotonic_ns();
    begin(l);
    uint64_t began = base_monotonic_ns();
    uint64_t passed = 0, now = began;
    for (size_t turn = 0; now - began < LASTS_NS; turn++, now = base_monotonic_ns()) {
        wall_set_ahead(JUMPS[turn % JUMP_COUNT]);
        passed += ten_admit(&visit, l->access, l->unit, &why, &tent.eb) == ERR_OK;
    }
    uint64_t ended = base_monotonic_ns();
    ck_assert_uint_le(passed, (ended - before) * RATE / SECOND + 1);
    ck_assert_uint_ge(passed + 2, (now - began) * RATE / SECOND * 9 / 10);
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

/*
 * tests/tenancy/test_threshold.c - soft thresholds are noticed, upwards and downwards, once.
 */
#include "tests/tenancy/tent_rows.h"

#include "tenancy/threshold.h"

#include "base/banned.h"

static struct tent tent;
static struct ten_tenant *t;

/* The control thread writes, the test reads after a pause. */
static struct ten_threshold_event events[16];
static _Atomic size_t event_count;

static void told(const struct ten_threshold_event *event)
{
    size_t n = atomic_load(&event_count);
    if (n < 16)
        events[n] = *event;
    atomic_store(&event_count, n + 1);
}

static void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
    ten_threshold_listen(tent.registry, told);
    t = tent_create(&tent, "altostrat");
    (void)tent_create(&tent, "other");
    tent_table(&tent, t, "devices");
}

static void teardown(void)
{
    tent_close(&tent);
    tent_remove(&tent);
}

static void set_rows(uint64_t rows)
{
    struct ten_quota q;
    ten_quota_default(&q);
    GIVE(&q, rows, rows);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
}

static void expect_event(size_t n, uint8_t from, uint8_t to, uint64_t used)
{
    for (int tries = 0; atomic_load(&event_count) <= n; tries++) {
        ck_assert_msg(tries < 3000, "event %zu did not come", n);
        tent_pause_ms(10);
    }
    ck_assert_str_eq(events[n].field, "rows");
    ck_assert_ptr_eq(events[n].tenant, t);
    ck_assert_uint_eq(events[n].from, from);
    ck_assert_uint_eq(events[n].to, to);
    ck_assert_uint_eq(events[n].used, used);
    ck_assert_uint_eq(ten_threshold_level(t, TEN_USED_ROWS), to);
    ck_assert_uint_eq(ten_threshold_level(t, TEN_USED_BYTES), 0);
}

static void put_rows(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        char row[8];
        (void)snprintf(row, sizeof row, "r%02u", i);
        tent_write(&tent, t, "devices", row, "v");
    }
}

START_TEST(levels_go_up_and_down_with_usage_and_quota)
{
    set_rows(10);
    put_rows(0, 8);
    expect_event(0, 0, 80, 8);
    put_rows(8, 9);
    expect_event(1, 80, 90, 9);
    put_rows(9, 10);
    expect_event(2, 90, 100, 10);
    set_rows(20); /* room was made */
    expect_event(3, 100, 0, 10);
    set_rows(11);
    expect_event(4, 0, 90, 10);
    tent_reopen(&tent); /* what was reached is not told again */
    t = tent_find(&tent, "altostrat");
    ten_threshold_listen(tent.registry, told);
    ck_assert_uint_eq(ten_threshold_level(t, TEN_USED_ROWS), 90);
    tent_pause_ms(2 * TEN_THRESHOLD_ROUND_MS);
    ck_assert_uint_eq(atomic_load(&event_count), 5);
}
END_TEST

START_TEST(thresholds_are_exact)
{
    ck_assert_uint_eq(ten_threshold_of(0, 0), 100);
    ck_assert_uint_eq(ten_threshold_of(UINT64_MAX, UINT64_MAX), 0);
    ck_assert_uint_eq(ten_threshold_of(79, 100), 0);
    ck_assert_uint_eq(ten_threshold_of(80, 100), 80);
    ck_assert_uint_eq(ten_threshold_of(89, 100), 80);
    ck_assert_uint_eq(ten_threshold_of(90, 100), 90);
    ck_assert_uint_eq(ten_threshold_of(99, 100), 90);
    ck_assert_uint_eq(ten_threshold_of(100, 100), 100);
    ck_assert_uint_eq(ten_threshold_of(500, 100), 100);
    ck_assert_uint_eq(ten_threshold_of(UINT64_MAX - 2, UINT64_MAX - 1), 90);
}
END_TEST

Suite *suite_tenancy_threshold(void);
Suite *suite_tenancy_threshold(void)
{
    Suite *s = suite_create("tenancy_threshold");
    TCase *c = tcase_create("levels");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, levels_go_up_and_down_with_usage_and_quota);
    suite_add_tcase(s, c);
    c = tcase_create("numbers");
    tcase_add_test(c, thresholds_are_exact);
    suite_add_tcase(s, c);
    return s;
}

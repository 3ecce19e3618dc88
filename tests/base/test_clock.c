/* tests/base/test_clock.c - monotonic and wall time, and UTC text. */
#include "tests/base/check_base.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

Suite *suite_base_clock(void);

START_TEST(monotonic_time_never_goes_back)
{
    uint64_t before = base_monotonic_ns();
    for (int i = 0; i < 100000; i++) {
        uint64_t now = base_monotonic_ns();
        ck_assert_uint_ge(now, before);
        before = now;
    }
}
END_TEST

START_TEST(monotonic_time_counts_nanoseconds)
{
    struct timespec before, after;
    ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &before), 0);
    uint64_t now = base_monotonic_ns();
    ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &after), 0);
    ck_assert_uint_ge(now, (uint64_t)before.tv_sec * 1000000000U + (uint64_t)before.tv_nsec);
    ck_assert_uint_le(now, (uint64_t)after.tv_sec * 1000000000U + (uint64_t)after.tv_nsec);
}
END_TEST

START_TEST(wall_time_is_microseconds_since_1970)
{
    int64_t low = (int64_t)time(NULL) - 1;
    int64_t now = base_wall_us();
    int64_t high = (int64_t)time(NULL) + 1;
    ck_assert_int_ge(now, low * 1000000);
    ck_assert_int_le(now, high * 1000000);
}
END_TEST

static void assert_time(int64_t us, const char *want)
{
    char text[BASE_TIME_TEXT];
    base_time_format(us, text);
    ck_assert_str_eq(text, want);
}

START_TEST(known_times_are_written_in_utc)
{
    setenv("TZ", "America/New_York", 1);
    tzset();
    assert_time(0, "1970-01-01T00:00:00.000Z");
    assert_time(1700000000123456, "2023-11-14T22:13:20.123Z");
    assert_time(1795168800000000, "2026-11-20T10:00:00.000Z");
    assert_time(951782400000000, "2000-02-29T00:00:00.000Z");
    assert_time(4107542399999999, "2100-02-28T23:59:59.999Z");
    assert_time(4107542400000000, "2100-03-01T00:00:00.000Z");
    assert_time(253402300799999999, "9999-12-31T23:59:59.999Z");
}
END_TEST

START_TEST(times_before_1970_round_down)
{
    assert_time(-1, "1969-12-31T23:59:59.999Z");
    assert_time(-1000, "1969-12-31T23:59:59.999Z");
    assert_time(-1001, "1969-12-31T23:59:59.998Z");
    assert_time(-62135596800000000, "0001-01-01T00:00:00.000Z");
}
END_TEST

START_TEST(extreme_times_fit_the_text)
{
    assert_time(INT64_MAX, "294247-01-10T04:00:54.775Z");
    assert_time(INT64_MIN, "-290308-12-21T19:59:05.224Z");
}
END_TEST

START_TEST(random_times_agree_with_the_c_library)
{
    uint64_t seed = 5;
    for (int i = 0; i < 20000; i++) {
        int64_t us = (int64_t)(next_random(&seed) % 253402300800000000U);
        time_t s = us / 1000000;
        struct tm tm;
        ck_assert_ptr_nonnull(gmtime_r(&s, &tm));
        char want[128];
        snprintf(want, sizeof want, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                 (int)(us / 1000 % 1000));
        assert_time(us, want);
    }
}
END_TEST

Suite *suite_base_clock(void)
{
    Suite *suite = suite_create("base_clock");
    TCase *clocks = tcase_create("clocks");
    tcase_add_test(clocks, monotonic_time_never_goes_back);
    tcase_add_test(clocks, monotonic_time_counts_nanoseconds);
    tcase_add_test(clocks, wall_time_is_microseconds_since_1970);
    suite_add_tcase(suite, clocks);
    TCase *format = tcase_create("format");
    tcase_add_test(format, known_times_are_written_in_utc);
    tcase_add_test(format, times_before_1970_round_down);
    tcase_add_test(format, extreme_times_fit_the_text);
    tcase_add_test(format, random_times_agree_with_the_c_library);
    suite_add_tcase(suite, format);
    return suite;
}

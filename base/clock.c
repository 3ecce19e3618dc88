/*
 * base/clock.c - clocks, and UTC without the C library's time zone lock.
 *
 * Mechanism: the civil date is computed from the day number (the days_from_civil family of
 * formulas: years begin in March, eras are 400 years), because gmtime_r takes a process-wide lock
 * and reads TZ.
 */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

#include "base/banned.h"

#define US_PER_MS     1000
#define MS_PER_DAY    86400000
#define DAYS_PER_ERA  146097
#define DAYS_TO_EPOCH 719468 /* 0000-03-01 to 1970-01-01 */
#define DAYS_PER_4Y   1461
#define DAYS_PER_100Y 36524
#define DAYS_PER_YEAR 365
#define YEARS_PER_ERA 400

uint64_t base_monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* fails only for an unknown clock */
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

int64_t base_wall_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* fails only for an unknown clock */
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

uint64_t base_thread_cpu_ns(void)
{
    struct timespec used;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used); /* fails only for an unknown clock */
    return (uint64_t)used.tv_sec * 1000000000U + (uint64_t)used.tv_nsec;
}

static int64_t floor_div(int64_t value, int64_t by)
{
    return value / by - (value % by < 0 ? 1 : 0);
}

struct civil {
    int year;
    unsigned month;
    unsigned day;
};

static struct civil civil_from_days(int64_t days_since_epoch)
{
    int64_t days = days_since_epoch + DAYS_TO_EPOCH;
    int64_t era = floor_div(days, DAYS_PER_ERA);
    int day_of_era = (int)(days - era * DAYS_PER_ERA);
    int year_of_era = (day_of_era - day_of_era / (DAYS_PER_4Y - 1) + day_of_era / DAYS_PER_100Y -
                       day_of_era / (DAYS_PER_ERA - 1)) /
                      DAYS_PER_YEAR;
    int day_of_year =
        day_of_era - (DAYS_PER_YEAR * year_of_era + year_of_era / 4 - year_of_era / 100);
    int month_from_march = (5 * day_of_year + 2) / 153;
    int month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    return (struct civil){
        .year = year_of_era + (int)era * YEARS_PER_ERA + (month <= 2 ? 1 : 0),
        .month = (unsigned)month,
        .day = (unsigned)(day_of_year - (153 * month_from_march + 2) / 5 + 1),
    };
}

void base_time_format(int64_t wall_us, char out[BASE_TIME_TEXT])
{
    int64_t wall_ms = floor_div(wall_us, US_PER_MS);
    int64_t days = floor_div(wall_ms, MS_PER_DAY);
    unsigned ms = (unsigned)(wall_ms - days * MS_PER_DAY);
    struct civil date = civil_from_days(days);
    unsigned s = ms / 1000;
    /* The remainders change nothing; they show the compiler that 32 bytes are enough. */
    (void)snprintf(out, BASE_TIME_TEXT, "%04d-%02d-%02dT%02u:%02u:%02u.%03uZ", date.year,
                   date.month % 100, date.day % 100, s / 3600 % 24, s / 60 % 60, s % 60, ms % 1000);
}

/*
 * tests/base/test_histogram.c - durations are in the right bucket, and none is lost.
 */
#include "base/histogram.h"

#include <check.h>
#include <pthread.h>

#include "base/banned.h"

Suite *suite_base_histogram(void);

static uint64_t total(const struct base_histogram_now *now)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < BASE_HISTOGRAM_BUCKETS; i++)
        sum += now->count[i];
    return sum;
}

START_TEST(a_duration_is_in_the_first_bucket_that_it_does_not_pass)
{
    for (size_t i = 0; i + 1 < BASE_HISTOGRAM_BUCKETS; i++) {
        struct base_histogram h = {0};
        struct base_histogram_now now = {0};
        uint64_t bound = base_histogram_bound_ns(i);
        ck_assert_uint_eq(bound, 62500ull << i);
        base_histogram_add(&h, bound);
        base_histogram_add(&h, bound + 1);
        base_histogram_sum(&now, &h);
        ck_assert_uint_eq(now.count[i], 1);
        ck_assert_uint_eq(now.count[i + 1], 1);
        ck_assert_uint_eq(now.sum_ns, 2 * bound + 1);
    }
}
END_TEST

START_TEST(the_first_bucket_has_nothing_and_the_last_one_everything_else)
{
    struct base_histogram h = {0};
    struct base_histogram_now now = {0};
    base_histogram_add(&h, 0);
    base_histogram_add(&h, UINT64_MAX);
    base_histogram_sum(&now, &h);
    ck_assert_uint_eq(base_histogram_bound_ns(BASE_HISTOGRAM_BUCKETS - 1), UINT64_MAX);
    ck_assert_uint_eq(now.count[0], 1);
    ck_assert_uint_eq(now.count[BASE_HISTOGRAM_BUCKETS - 1], 1);
    ck_assert_uint_eq(total(&now), 2);
}
END_TEST

START_TEST(sums_add_up)
{
    struct base_histogram a = {0}, b = {0};
    struct base_histogram_now now = {0};
    base_histogram_add(&a, 100);
    base_histogram_add(&b, 200);
    base_histogram_sum(&now, &a);
    base_histogram_sum(&now, &b);
    ck_assert_uint_eq(now.count[0], 2);
    ck_assert_uint_eq(now.sum_ns, 300);
}
END_TEST

#define WRITES 200000

static void *write_many(void *arg)
{
    for (uint64_t i = 0; i < WRITES; i++)
        base_histogram_add(arg, 1);
    return NULL;
}

START_TEST(a_reader_beside_the_writer_sees_no_count_fall_and_in_the_end_all)
{
    static struct base_histogram h;
    pthread_t writer;
    uint64_t last = 0;
    ck_assert_int_eq(pthread_create(&writer, NULL, write_many, &h), 0);
    while (last < WRITES) {
        struct base_histogram_now now = {0};
        base_histogram_sum(&now, &h);
        ck_assert_uint_ge(total(&now), last);
        last = total(&now);
    }
    ck_assert_int_eq(pthread_join(writer, NULL), 0);
    struct base_histogram_now now = {0};
    base_histogram_sum(&now, &h);
    ck_assert_uint_eq(total(&now), WRITES);
    ck_assert_uint_eq(now.sum_ns, WRITES);
}
END_TEST

Suite *suite_base_histogram(void)
{
    Suite *s = suite_create("base_histogram");
    TCase *tc = tcase_create("buckets");
    tcase_add_test(tc, a_duration_is_in_the_first_bucket_that_it_does_not_pass);
    tcase_add_test(tc, the_first_bucket_has_nothing_and_the_last_one_everything_else);
    tcase_add_test(tc, sums_add_up);
    suite_add_tcase(s, tc);
    tc = tcase_create("threads");
    tcase_add_test(tc, a_reader_beside_the_writer_sees_no_count_fall_and_in_the_end_all);
    suite_add_tcase(s, tc);
    return s;
}

/* tests/base/test_machine.c - what a process may use, by its control group and its affinity. */
#define _GNU_SOURCE
#include "tests/base/check_base.h"

#include <sched.h>
#include <sys/resource.h>

#include "base/machine.h"

#include "base/banned.h"

Suite *suite_base_machine(void);

START_TEST(a_bound_of_memory_is_a_number_or_none)
{
    ck_assert_uint_eq(base_machine_memory_bound(SLICE_LIT("1073741824\n")), 1ULL << 30);
    ck_assert_uint_eq(base_machine_memory_bound(SLICE_LIT("max\n")), UINT64_MAX);
    ck_assert_uint_eq(base_machine_memory_bound(SLICE_LIT("")), UINT64_MAX);
    ck_assert_uint_eq(base_machine_memory_bound(SLICE_LIT("0\n")), UINT64_MAX);
    ck_assert_uint_eq(base_machine_memory_bound(SLICE_LIT("12x\n")), UINT64_MAX);
}
END_TEST

static const struct quota_case {
    const char *text;
    uint64_t processors;
} QUOTAS[] = {
    {"max 100000\n", UINT64_MAX},
    {"100000 100000\n", 1},
    {"50000 100000\n", 1},
    {"150000 100000\n", 2},
    {"200000 100000", 2},
    {"6400000 100000\n", 64},
    {"18446744073709551615 1\n", UINT64_MAX},
    {"", UINT64_MAX},
    {"\n", UINT64_MAX},
    {"200000\n", UINT64_MAX},
    {"200000 \n", UINT64_MAX},
    {" 100000\n", UINT64_MAX},
    {"0 100000\n", UINT64_MAX},
    {"100000 0\n", UINT64_MAX},
    {"-1 100000\n", UINT64_MAX},
    {"200000 100000 1\n", UINT64_MAX},
};

START_TEST(a_quota_of_processors_is_rounded_up)
{
    const struct quota_case *c = &QUOTAS[_i];
    ck_assert_uint_eq(base_machine_processor_bound(base_slice_text(c->text)), c->processors);
}
END_TEST

START_TEST(processors_are_those_that_it_may_run_on)
{
    cpu_set_t all, one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    ck_assert_int_ge(base_machine_processors(), 1);
    ck_assert_int_le(base_machine_processors(), CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (int i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_int_eq(base_machine_processors(), 1);
    ck_assert_int_eq(sched_setaffinity(0, sizeof all, &all), 0);
}
END_TEST

START_TEST(memory_is_what_its_own_limit_allows)
{
    struct rlimit before, limit;
    uint64_t bytes = base_machine_memory_bytes();
    ck_assert_int_eq(getrlimit(RLIMIT_DATA, &before), 0);
    limit = before;
    limit.rlim_cur = bytes / 2;
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
    ck_assert_uint_eq(base_machine_memory_bytes(), bytes / 2);
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &before), 0);
}
END_TEST

Suite *suite_base_machine(void)
{
    Suite *s = suite_create("base_machine");
    TCase *t = tcase_create("machine");
    tcase_add_test(t, a_bound_of_memory_is_a_number_or_none);
    tcase_add_loop_test(t, a_quota_of_processors_is_rounded_up, 0,
                        (int)(sizeof QUOTAS / sizeof QUOTAS[0]));
    tcase_add_test(t, processors_are_those_that_it_may_run_on);
    tcase_add_test(t, memory_is_what_its_own_limit_allows);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/storage/test_garbage.c - an estimate of garbage that was not removed yet.
 */
#include <check.h>

#include "storage/garbage.h"

#include "base/banned.h"

Suite *suite_storage_garbage(void);

START_TEST(nothing_known_or_nothing_added_is_nothing)
{
    struct sto_garbage g = {0};
    ck_assert_uint_eq(sto_garbage_estimate(&g, 0, UINT64_MAX), 0);
    ck_assert_uint_eq(sto_garbage_estimate(&g, 1000, UINT64_MAX), 0);
    sto_garbage_removed(&g, 0, 1000);
    ck_assert_uint_eq(sto_garbage_estimate(&g, 5000, UINT64_MAX), 0);
    sto_garbage_removed(&g, 700, 2000);
    ck_assert_uint_eq(sto_garbage_estimate(&g, 2000, UINT64_MAX), 0);
    ck_assert_uint_eq(sto_garbage_estimate(&g, 1999, UINT64_MAX),
                      0); /* read in the middle of a change */
}
END_TEST

START_TEST(equal_passes_are_told)
{
    struct sto_garbage g = {0};
    for (uint64_t pass = 1; pass <= 100; pass++) {
        sto_garbage_removed(&g, 30000000, 100000 * pass);
        uint64_t half = sto_garbage_estimate(&g, 100000 * pass + 50000, UINT64_MAX);
        ck_assert_uint_ge(half, 14999000);
        ck_assert_uint_le(half, 15001000);
    }
}
END_TEST

START_TEST(newer_passes_count_more)
{
    struct sto_garbage g = {0};
    for (uint64_t pass = 1; pass <= 20; pass++)
        sto_garbage_removed(&g, 3000, 100 * pass);
    for (uint64_t pass = 21; pass <= 30; pass++)
        sto_garbage_removed(&g, 0, 100 * pass);
    ck_assert_uint_lt(sto_garbage_estimate(&g, 3100, UINT64_MAX), 3000 / 500);
}
END_TEST

/* Ten passes over what became too old, after all of it was added at once. */
START_TEST(passes_without_additions_add_up)
{
    struct sto_garbage g = {0};
    sto_garbage_removed(&g, 0, 1000);
    for (int pass = 0; pass < 10; pass++)
        sto_garbage_removed(&g, 500, 1000);
    ck_assert_uint_eq(sto_garbage_estimate(&g, 1100, UINT64_MAX), 500);
}
END_TEST

START_TEST(what_was_got_can_be_loaded)
{
    struct sto_garbage g = {0}, again;
    uint64_t bytes, made_by;
    sto_garbage_removed(&g, 800, 100);
    sto_garbage_get(&g, &bytes, &made_by);
    sto_garbage_load(&again, bytes, made_by, 100);
    ck_assert_uint_eq(sto_garbage_estimate(&again, 110, UINT64_MAX), 80);
    sto_garbage_load(&again, UINT64_MAX, 1, 0);
    ck_assert_uint_eq(sto_garbage_estimate(&again, 2, 1234), 1234); /* more than fits */
    sto_garbage_load(&again, 0, 0, 100);
    ck_assert_uint_eq(sto_garbage_estimate(&again, 110, UINT64_MAX), 0);
}
END_TEST

Suite *suite_storage_garbage(void)
{
    Suite *suite = suite_create("storage_garbage");
    TCase *t = tcase_create("garbage");
    tcase_add_test(t, nothing_known_or_nothing_added_is_nothing);
    tcase_add_test(t, equal_passes_are_told);
    tcase_add_test(t, newer_passes_count_more);
    tcase_add_test(t, passes_without_additions_add_up);
    tcase_add_test(t, what_was_got_can_be_loaded);
    suite_add_tcase(suite, t);
    return suite;
}

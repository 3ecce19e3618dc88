/*
 * tests/storage/test_engine_hot_cases.c - each kind of change, a thousand times; tests/check/ makes
 * more of them.
 */
#include "tests/storage/hot_cases.h"

#include "base/banned.h"

Suite *suite_storage_engine_hot_cases(void);

START_TEST(a_thousand_changes)
{
    hot_case_run(&hot_cases[_i], 1000);
}
END_TEST

Suite *suite_storage_engine_hot_cases(void)
{
    Suite *s = suite_create("storage_engine_hot_cases");
    TCase *c = tcase_create("hot cases");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, a_thousand_changes, 0, HOT_CASES);
    suite_add_tcase(s, c);
    return s;
}

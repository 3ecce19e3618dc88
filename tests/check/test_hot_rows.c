/*
 * tests/check/test_hot_rows.c - rows that change often: as much work after 100,000 changes as after
 * 1,000.
 */
#include "tests/storage/hot_cases.h"

#include "base/banned.h"

Suite *suite_check_hot_rows(void);

START_TEST(ten_thousand_changes)
{
    hot_case_run(&hot_cases[_i], 10000);
}
END_TEST

START_TEST(a_hundred_thousand_changes)
{
    hot_case_run(&hot_cases[_i], 100000);
}
END_TEST

Suite *suite_check_hot_rows(void)
{
    Suite *s = suite_create("check_hot_rows");
    TCase *c = tcase_create("hot rows");
    tcase_set_timeout(c, 1200);
    tcase_add_loop_test(c, ten_thousand_changes, 0, HOT_CASES);
    tcase_add_loop_test(c, a_hundred_thousand_changes, 0, HOT_CASES);
    suite_add_tcase(s, c);
    return s;
}

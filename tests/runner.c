/*
 * tests/runner.c - every suite in one program, so that a run ends with one summary line.
 *
 * The list of suites is made from the names of the files under tests/ (see Makefile). Each test
 * runs in a child process; a test that exits early with 0 would count as passed, so the runner
 * also compares how many tests ran with how many were registered: srunner_ntests_run counts only
 * finished ones.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define SUITE(name) Suite *suite_##name(void);
#include "suites.inc"
#undef SUITE

int main(void)
{
    SRunner *runner = srunner_create(NULL);
#define SUITE(name) srunner_add_suite(runner, suite_##name());
#include "suites.inc"
#undef SUITE
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    int ran = srunner_ntests_run(runner);
    srunner_free(runner);
    return failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

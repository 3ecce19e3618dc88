/*
 * tests/storage/test_engine_model.c - random programs against the oracle, a few; tests/check/ runs
 * many.
 */
#include <check.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "tests/support/process.h"
#include "tests/support/program.h"

#include "base/banned.h"

Suite *suite_storage_engine_model(void);

enum { OPERATIONS = 8000, COLD = 4, HOT = 2 }; /* programs with many rows, and with few */

START_TEST(a_random_program_does_what_the_oracle_says)
{
    struct random rng = {.state = 20261120 + (uint64_t)_i};
    struct program_op *ops = base_new_array(OPERATIONS, sizeof ops[0]);
    struct program_verdict verdict;
    size_t count = (size_t)process_rounds(OPERATIONS);
    program_seal(_i % 2 == 1);
    program_draw(&rng, ops, count, false);
    if (_i >= COLD)
        program_heat(ops, count);
    bool ok = program_try(ops, count, &verdict);
    if (!ok) {
        count = program_shrink(ops, count, &verdict);
        program_print(stderr, ops, count);
    }
    ck_assert_msg(ok, "DATA: seed %d, operation %zu: %s", 20261120 + _i, verdict.at,
                  verdict.message);
    base_free(ops);
}
END_TEST

START_TEST(a_killed_program_keeps_what_was_acknowledged)
{
    struct random rng = {.state = 20261120 + (uint64_t)_i};
    struct program_op *ops = base_new_array(OPERATIONS, sizeof ops[0]);
    struct program_verdict verdict;
    program_seal(_i % 2 == 1);
    program_draw(&rng, ops, OPERATIONS, true);
    bool ok = program_try_killed(ops, OPERATIONS, &rng, 5, &verdict);
    ck_assert_msg(ok, "DATA: seed %d, operation %zu: %s", 20261120 + _i, verdict.at,
                  verdict.message);
    base_free(ops);
}
END_TEST

Suite *suite_storage_engine_model(void)
{
    Suite *s = suite_create("storage_engine_model");
    TCase *t = tcase_create("model");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, a_random_program_does_what_the_oracle_says, 0, COLD + HOT);
    tcase_add_loop_test(t, a_killed_program_keeps_what_was_acknowledged, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/check/test_programs.c - a million random operations against the oracle, and programs that
 * are killed.
 *
 * A program is a few thousand operations from a seed of its own, in a new directory. OPERATIONS
 * says how many there are in all, SEED where they begin; a failure prints the seed of its program
 * and what is left of it after shrinking.
 */
#include <check.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/support/process.h"
#include "tests/support/program.h"

#include "base/banned.h"

Suite *suite_check_programs(void);

enum { PROGRAM = 10000, KILLED_PROGRAM = 40000, KILLS = 20 };

static size_t operations(void)
{
    return (size_t)process_env_number("OPERATIONS", 1000000);
}

static uint64_t first_seed(void)
{
    return (uint64_t)process_env_number("SEED", (long)(base_wall_us() & 0xffffff) * 1000);
}

static _Noreturn void report(uint64_t seed, const struct program_op *ops, size_t count,
                             const struct program_verdict *verdict)
{
    (void)printf("programs: SEED=%llu, shrunk to %zu operations:\n", (unsigned long long)seed,
                 count);
    program_print(stdout, ops, count);
    (void)fflush(stdout);
    ck_abort_msg("DATA: SEED=%llu, operation %zu: %s", (unsigned long long)seed, verdict->at,
                 verdict->message);
}

START_TEST(a_million_operations_do_what_the_oracle_says)
{
    uint64_t seed = first_seed(), together = 0;
    struct program_op *ops = base_new_array(PROGRAM, sizeof ops[0]);
    struct program_verdict verdict;
    (void)printf("programs: SEED=%llu OPERATIONS=%zu\n", (unsigned long long)seed, operations());
    (void)fflush(stdout);
    for (size_t done = 0; done < operations(); done += PROGRAM, seed++) {
        struct random rng = {.state = seed};
        program_draw(&rng, ops, PROGRAM, false);
        if (seed % 2 == 1)
            program_heat(ops, PROGRAM);
        if (!program_try(ops, PROGRAM, &verdict))
            report(seed, ops, program_shrink(ops, PROGRAM, &verdict), &verdict);
        together += verdict.batches_shared;
    }
    ck_assert_uint_gt(together, operations() / 200); /* operations met in batches */
    base_free(ops);
}
END_TEST

START_TEST(killed_programs_keep_what_was_acknowledged_whole)
{
    uint64_t seed = first_seed();
    struct program_op *ops = base_new_array(KILLED_PROGRAM, sizeof ops[0]);
    struct program_verdict verdict;
    (void)printf("killed programs: SEED=%llu\n", (unsigned long long)seed);
    (void)fflush(stdout);
    for (size_t done = 0; done < operations(); done += 5 * KILLED_PROGRAM, seed++) {
        struct random rng = {.state = seed};
        program_draw(&rng, ops, KILLED_PROGRAM, true);
        bool ok = program_try_killed(ops, KILLED_PROGRAM, &rng, KILLS, &verdict);
        ck_assert_msg(ok, "DATA: SEED=%llu, operation %zu: %s", (unsigned long long)seed,
                      verdict.at, verdict.message);
        ck_assert_uint_eq(verdict.kills, KILLS);
    }
    base_free(ops);
}
END_TEST

Suite *suite_check_programs(void)
{
    Suite *s = suite_create("check_programs");
    TCase *t = tcase_create("programs");
    tcase_set_timeout(t, 1200);
    tcase_add_test(t, a_million_operations_do_what_the_oracle_says);
    tcase_add_test(t, killed_programs_keep_what_was_acknowledged_whole);
    suite_add_tcase(s, t);
    return s;
}

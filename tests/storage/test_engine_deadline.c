/*
 * tests/storage/test_engine_deadline.c - operations whose deadline passed before their turn.
 */
#include "fixture.h"
#include "hold.h"
#include "tests/support/wall.h"

#include "base/banned.h"

#define T       (&fix.tables[0][0])
#define LONG_S  3600
#define LONG_NS (LONG_S * 1000000000ULL)

static struct sto_mutation mutation;

static struct sto_mutate_op write_of(const char *row, uint64_t deadline_ns)
{
    mutation = fix_set(1, "q", 1000, SLICE_LIT("v"));
    return (struct sto_mutate_op){.scope = *T,
                                  .row_key = base_slice_text(row),
                                  .mutations = &mutation,
                                  .mutation_count = 1,
                                  .deadline_ns = deadline_ns};
}

START_TEST(writes_with_time_left_happen)
{
    struct sto_mutate_op none = write_of("a", 0);
    struct sto_mutate_op later = write_of("b", base_monotonic_ns() + LONG_NS);
    fix_submit(&none);
    fix_submit(&later);
    fix_wait();
    ck_assert_int_eq(none.result, ERR_OK);
    ck_assert_int_eq(later.result, ERR_OK);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "a{f:q@1000=v,}b{f:q@1000=v,}");
}
END_TEST

START_TEST(writes_whose_time_is_up_change_nothing)
{
    struct sto_mutate_op late = write_of("a", base_monotonic_ns());
    struct sto_mutate_op next = write_of("b", 0);
    fix_submit(&late);
    fix_submit(&next);
    fix_wait();
    ck_assert_int_eq(late.result, ERR_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(late.detail.text, "nothing was done"));
    ck_assert_int_eq(next.result, ERR_OK);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "b{f:q@1000=v,}");
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(time_may_run_out_in_the_queue)
{
    fix_hold_committer(0);
    struct sto_mutate_op late = write_of("a", base_monotonic_ns() + LONG_NS);
    struct sto_check check = {.otherwise = &mutation, .otherwise_count = 1};
    late.check = &check;
    fix_submit(&late);
    wall_pass_s(LONG_S);
    fix_let_go();
    ck_assert_int_eq(late.result, ERR_TIMEOUT);
    ck_assert(!check.matched);
    fix_assert_usage(0, 0, 0, 0);
}
END_TEST

START_TEST(drops_whose_time_is_up_remove_nothing)
{
    static const uint64_t wanted_rows[] = {1, 0};
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    struct sto_drop_op op = {.scope = *T,
                             .reply_to = &fix.mailbox,
                             .done = fix_drop_done,
                             .deadline_ns = base_monotonic_ns() + (_i == 0 ? 0 : LONG_NS)};
    fix.outstanding++;
    sto_drop_rows(fix.engine, &op);
    fix_wait();
    ck_assert_int_eq(op.result, _i == 0 ? ERR_TIMEOUT : ERR_OK);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).rows, wanted_rows[_i]);
    fix_assert_no_drift(0);
}
END_TEST

static void sample_done(struct sto_sample_op *op)
{
    (void)op;
    fix.outstanding--;
}

START_TEST(samples_whose_time_is_up_are_not_taken)
{
    struct arena arena;
    base_arena_init(&arena, 16 * MIB);
    struct sto_sample_op op = {.scope = *T,
                               .reply_to = &fix.mailbox,
                               .done = sample_done,
                               .arena = &arena,
                               .deadline_ns = base_monotonic_ns() + (_i == 0 ? 0 : LONG_NS)};
    fix.outstanding++;
    sto_sample_row_keys(fix.engine, &op);
    fix_wait();
    ck_assert_int_eq(op.result, _i == 0 ? ERR_TIMEOUT : ERR_OK);
    ck_assert_uint_eq(op.count, _i == 0 ? 0 : 1);
    base_arena_fini(&arena);
}
END_TEST

Suite *suite_storage_engine_deadline(void);
Suite *suite_storage_engine_deadline(void)
{
    Suite *s = suite_create("storage_engine_deadline");
    TCase *t = tcase_create("deadline");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, writes_with_time_left_happen);
    tcase_add_test(t, writes_whose_time_is_up_change_nothing);
    tcase_add_test(t, time_may_run_out_in_the_queue);
    tcase_add_loop_test(t, drops_whose_time_is_up_remove_nothing, 0, 2);
    tcase_add_loop_test(t, samples_whose_time_is_up_are_not_taken, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

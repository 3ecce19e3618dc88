/*
 * tests/storage/test_engine_replace.c - cells put in the place of others: counted without a look at
 * the row's header where they are as long.
 */
#include "fixture.h"

#include "base/banned.h"

Suite *suite_storage_engine_replace(void);

#define T &fix.tables[0][0]

static bool existed_before(struct sto_mutation *mutations, size_t count)
{
    struct sto_mutate_op op = {
        .scope = *T, .row_key = SLICE_LIT("row"), .mutations = mutations, .mutation_count = count};
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_OK);
    fix_assert_no_drift(0);
    return op.row_existed;
}

START_TEST(cells_replaced_by_as_long_ones_count_the_same_whatever_is_around_them)
{
    struct sto_mutation four = fix_set(1, "q", 1000, SLICE_LIT("four"));
    struct sto_mutation same = fix_set(1, "q", 1000, SLICE_LIT("same"));
    struct sto_mutation grown[3] = {four, fix_set(1, "q", 1000, SLICE_LIT("longer")),
                                    fix_set(1, "r", 1000, SLICE_LIT("x"))};
    struct sto_mutation gone[2] = {fix_set(1, "q", 1000, SLICE_LIT("LONGER")),
                                   {.kind = STO_DELETE_FROM_ROW}};
    ck_assert(!existed_before(&four, 1));
    for (int i = 0; i < 3; i++) {
        ck_assert(existed_before(i % 2 == 0 ? &same : &four, 1));
        fix_assert_usage(0, 3 + 1 + 1 + 4 + 8, 1, 1);
    }
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{f:q@1000=same,}");
    ck_assert(existed_before(grown, 3));
    fix_assert_usage(0, 3 + 1 + 1 + 6 + 8 + 3 + 1 + 1 + 1 + 8, 1, 2);
    ck_assert(existed_before(gone, 2));
    fix_assert_usage(0, 0, 0, 0);
    ck_assert(!existed_before(&four, 1)); /* though the row before was there */
    fix_assert_usage(0, 3 + 1 + 1 + 4 + 8, 1, 1);
}
END_TEST

START_TEST(a_cell_deleted_in_the_batch_is_not_replaced_but_new)
{
    struct sto_mutation set = fix_set(1, "q", 1000, SLICE_LIT("four"));
    struct sto_mutation del = {.kind = STO_DELETE_FROM_ROW};
    struct sto_mutate_op ops[3];
    ck_assert(!existed_before(&set, 1));
    for (int i = 0; i < 3; i++) {
        ops[i] = (struct sto_mutate_op){.scope = *T,
                                        .row_key = SLICE_LIT("row"),
                                        .mutations = i == 1 ? &del : &set,
                                        .mutation_count = 1};
        fix_submit(&ops[i]);
    }
    fix_wait();
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(ops[i].result, ERR_OK);
        ck_assert_int_eq(ops[i].row_existed, i < 2);
    }
    fix_assert_usage(0, 3 + 1 + 1 + 4 + 8, 1, 1);
    fix_assert_no_drift(0);
}
END_TEST

Suite *suite_storage_engine_replace(void)
{
    Suite *s = suite_create("storage_engine_replace");
    TCase *t = tcase_create("replace");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, cells_replaced_by_as_long_ones_count_the_same_whatever_is_around_them);
    tcase_add_test(t, a_cell_deleted_in_the_batch_is_not_replaced_but_new);
    suite_add_tcase(s, t);
    return s;
}

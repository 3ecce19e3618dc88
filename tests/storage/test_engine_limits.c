/*
 * tests/storage/test_engine_limits.c - limits that were lowered below what is stored: it can be
 * read, shrunk and deleted, and does not grow. What is checked before the queue is checked here
 * too.
 */
#include "tests/storage/fixture.h"

#include "base/banned.h"

#define T &fix.tables[0][0]

static const char LONG[] = "0123456789"; /* a row key and a qualifier */

static void limit(enum sto_limit which, uint64_t value)
{
    sto_account_limit_set(&fix.accounts[0], which, value);
}

/* As a request goes: checked, then applied. */
static enum err change(size_t tenant, const char *row, struct sto_mutation *list, size_t count)
{
    const struct sto_table_scope *scope = &fix.tables[tenant][0];
    enum err rc = sto_mutations_check(scope->schema, scope->tenant.account, base_slice_text(row),
                                      list, count, &fix_detail);
    return rc != ERR_OK ? rc : fix_mutate(scope, row, list, count);
}

static enum err set(const char *row, const char *qualifier, const char *value)
{
    struct sto_mutation m = fix_set(1, qualifier, 1000, base_slice_text(value));
    return change(0, row, &m, 1);
}

static enum err delete_column(const char *row, const char *qualifier)
{
    struct sto_mutation m = {
        .kind = STO_DELETE_FROM_COLUMN, .family = 1, .qualifier = base_slice_text(qualifier)};
    return change(0, row, &m, 1);
}

static enum err delete_row(const char *row)
{
    struct sto_mutation m = {.kind = STO_DELETE_FROM_ROW};
    return change(0, row, &m, 1);
}

/* --- keys and qualifiers ---------------------------------------------------------------------- */

START_TEST(rows_of_keys_now_too_long_are_read_and_deleted_but_not_written)
{
    ck_assert_int_eq(set(LONG, "q", "v"), ERR_OK);
    ck_assert_int_eq(set(LONG, "r", "w"), ERR_OK);
    limit(STO_LIMIT_ROW_KEY, sizeof LONG - 2);
    ck_assert_int_eq(set(LONG, "q", ""), ERR_TOO_BIG);
    ck_assert_str_eq(fix_detail.text,
                     "row key has 10 bytes; the limit is 9 (this tenant's row_key_bytes)");
    fix_assert_rows(T, &(struct sto_read_spec){.row_key = base_slice_text(LONG)},
                    "0123456789{f:q@1000=v,f:r@1000=w,}");
    ck_assert_int_eq(delete_column(LONG, "q"), ERR_OK);
    struct sto_mutation mixed[] = {{.kind = STO_DELETE_FROM_ROW},
                                   fix_set(1, "q", 1000, SLICE_LIT("v"))};
    ck_assert_int_eq(change(0, LONG, mixed, 2), ERR_TOO_BIG); /* it makes a cell */
    fix_assert_rows(T, &(struct sto_read_spec){0}, "0123456789{f:r@1000=w,}");
    ck_assert_int_eq(delete_row(LONG), ERR_OK);
    fix_assert_usage(0, 0, 0, 0);
    ck_assert_int_eq(set("012345678", "q", "v"), ERR_OK); /* at the limit */
}
END_TEST

/* Zeros are stored as two bytes: the longest key and qualifier of them are the longest there are.
 */
START_TEST(the_longest_keys_are_read_whatever_is_escaped_in_them)
{
    static uint8_t row[LIM_ROW_KEY], qualifier[LIM_QUALIFIER];
    const size_t others[] = {0, 1, 2, LIM_ROW_KEY};
    memset(row, 1, others[_i]);
    memset(qualifier, 1, others[_i]);
    const struct slice row_key = base_slice(row, sizeof row);
    struct sto_mutation m = {.kind = STO_SET_CELL,
                             .family = 1,
                             .qualifier = base_slice(qualifier, sizeof qualifier),
                             .value = SLICE_LIT("v")};
    struct sto_mutate_op op = {
        .scope = *T, .row_key = row_key, .mutations = &m, .mutation_count = 1};
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_OK);
    const struct sto_read_spec specs[] = {
        {.row_key = row_key}, {.reversed = false}, {.reversed = true}};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct fix_sink s;
        fix_sink_init(&s);
        ck_assert_msg(fix_read(T, &specs[i], &s, false) == ERR_OK, "read %zu: %s", i,
                      fix_detail.text);
        ck_assert(base_slice_starts_with(base_buf_slice(&s.text), row_key));
        ck_assert_int_eq(
            memcmp(s.text.ptr + LIM_ROW_KEY + strlen("{f:"), qualifier, sizeof qualifier), 0);
        base_buf_fini(&s.text);
    }
}
END_TEST

START_TEST(columns_now_too_long_are_read_and_deleted_but_not_written)
{
    ck_assert_int_eq(set("row", LONG, "v"), ERR_OK);
    limit(STO_LIMIT_QUALIFIER, sizeof LONG - 2);
    struct sto_mutation writes[] = {fix_set(1, LONG, 1000, SLICE_EMPTY),
                                    fix_append(1, LONG, SLICE_EMPTY), fix_increment(1, LONG, 1)};
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        ck_assert_int_eq(change(0, "row", &writes[i], 1), ERR_TOO_BIG);
        ck_assert_str_eq(fix_detail.text, "column qualifier has 10 bytes; the limit is 9 "
                                          "(this tenant's qualifier_bytes)");
        ck_assert_int_eq(change(1, "row", &writes[0], 1), ERR_OK); /* another tenant */
    }
    fix_assert_rows(T,
                    &(struct sto_read_spec){.narrowed = true,
                                            .projection = fix_column(1, base_slice_text(LONG))},
                    "row{f:0123456789@1000=v,}");
    /* in one list with what is short enough */
    struct sto_mutation list[] = {
        {.kind = STO_DELETE_FROM_COLUMN, .family = 1, .qualifier = base_slice_text(LONG)},
        fix_set(1, "012345678", 1000, SLICE_LIT("w"))};
    ck_assert_int_eq(change(0, "row", list, 2), ERR_OK);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{f:012345678@1000=w,}");
    fix_assert_no_drift(0);
}
END_TEST

/* --- rows and cells --------------------------------------------------------------------------- */

START_TEST(a_row_grows_to_its_limit_exactly)
{
    limit(STO_LIMIT_ROW, 2 * (3 + 1 + 1 + 8) + 10);
    ck_assert_int_eq(set("row", "a", "01234"), ERR_OK);
    ck_assert_int_eq(set("row", "b", "012345"), ERR_TOO_BIG);
    ck_assert_str_eq(fix_detail.text,
                     "the row would hold 37 bytes; the limit is 36 (this tenant's row_bytes)");
    fix_assert_usage(0, 13 + 5, 1, 1);
    ck_assert_int_eq(set("row", "b", "01234"), ERR_OK);
    ck_assert_int_eq(set("row", "b", "56789"), ERR_OK); /* as large as before */
    struct sto_mutation append = fix_append(1, "a", SLICE_LIT("5"));
    ck_assert_int_eq(change(0, "row", &append, 1), ERR_TOO_BIG);
    ck_assert_int_eq(set("rox", "a", "0123456789"), ERR_OK); /* another row */
    fix_assert_usage(0, 36 + 23, 2, 3);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_row_over_a_lowered_limit_shrinks_and_does_not_grow)
{
    ck_assert_int_eq(set("row", "a", "0123456789"), ERR_OK);
    ck_assert_int_eq(set("row", "b", "0123456789"), ERR_OK);
    limit(STO_LIMIT_ROW, 20); /* it has 46 */
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{f:a@1000=0123456789,f:b@1000=0123456789,}");
    ck_assert_int_eq(set("row", "b", "0123456789X"), ERR_TOO_BIG);
    ck_assert_int_eq(set("row", "c", ""), ERR_TOO_BIG);
    ck_assert_int_eq(set("row", "b", "9876543210"), ERR_OK);
    ck_assert_int_eq(set("row", "b", "short"), ERR_OK);
    /* one change that adds less than it removes */
    struct sto_mutation swap[] = {
        {.kind = STO_DELETE_FROM_COLUMN, .family = 1, .qualifier = SLICE_LIT("b")},
        fix_set(1, "c", 1000, SLICE_LIT("x"))};
    ck_assert_int_eq(change(0, "row", swap, 2), ERR_OK);
    ck_assert_int_eq(delete_column("row", "c"), ERR_OK);
    fix_assert_usage(0, 23, 1, 1);
    ck_assert_int_eq(set("row", "c", ""), ERR_TOO_BIG);
    ck_assert_int_eq(delete_row("row"), ERR_OK);
    ck_assert_int_eq(set("row", "c", "0123456"), ERR_OK); /* at the limit */
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_cell_over_a_lowered_limit_is_read_replaced_and_deleted)
{
    ck_assert_int_eq(set("row", "a", "0123456789"), ERR_OK);
    limit(STO_LIMIT_CELL, 5);
    struct sto_mutation append = fix_append(1, "a", SLICE_EMPTY);
    ck_assert_int_eq(change(0, "row", &append, 1), ERR_TOO_BIG);
    ck_assert_str_eq(fix_detail.text,
                     "cell value has 10 bytes; the limit is 5 (this tenant's cell_bytes)");
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{f:a@1000=0123456789,}");
    ck_assert_int_eq(set("row", "a", "012345"), ERR_TOO_BIG);
    ck_assert_int_eq(set("row", "a", "01234"), ERR_OK);
    ck_assert_int_eq(delete_column("row", "a"), ERR_OK);
    fix_assert_usage(0, 0, 0, 0);
}
END_TEST

Suite *suite_storage_engine_limits(void);
Suite *suite_storage_engine_limits(void)
{
    Suite *s = suite_create("storage_engine_limits");
    TCase *t = tcase_create("limits");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, rows_of_keys_now_too_long_are_read_and_deleted_but_not_written);
    tcase_add_loop_test(t, the_longest_keys_are_read_whatever_is_escaped_in_them, 0, 4);
    tcase_add_test(t, columns_now_too_long_are_read_and_deleted_but_not_written);
    tcase_add_test(t, a_row_grows_to_its_limit_exactly);
    tcase_add_test(t, a_row_over_a_lowered_limit_shrinks_and_does_not_grow);
    tcase_add_test(t, a_cell_over_a_lowered_limit_is_read_replaced_and_deleted);
    suite_add_tcase(s, t);
    return s;
}

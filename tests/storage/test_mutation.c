/*
 * tests/storage/test_mutation.c - limits of mutations and ranges: below, at, above.
 */
#include <check.h>

#include "storage/mutation.h"
#include "storage/read.h"

#include "base/alloc.h"

#include "base/banned.h"

static struct sto_account account;
static struct sto_schema *schema;
static uint8_t bytes[LIM_CELL_BYTES + 1];

static void setup(void)
{
    sto_account_init(&account, 0);
    struct sto_family_spec spec = {.name = SLICE_LIT("f")};
    ck_assert_int_eq(sto_schema_make(SLICE_LIT("t"), NULL, &spec, 1, &schema, NULL), ERR_OK);
}

static void teardown(void)
{
    sto_schema_unref(schema);
}

static enum err check_one(struct sto_mutation m)
{
    struct errbuf eb = {{0}};
    enum err rc = sto_mutations_check(schema, &account, SLICE_LIT("row"), &m, 1, &eb);
    ck_assert_int_eq(rc == ERR_OK, eb.text[0] == '\0');
    return rc;
}

START_TEST(row_keys_and_qualifiers_have_limits)
{
    ck_assert_int_eq(sto_row_key_check(SLICE_EMPTY, NULL), ERR_INVALID);
    ck_assert_int_eq(sto_row_key_check(base_slice(bytes, 1), NULL), ERR_OK);
    ck_assert_int_eq(sto_row_key_check(base_slice(bytes, LIM_ROW_KEY), NULL), ERR_OK);
    ck_assert_int_eq(sto_row_key_check(base_slice(bytes, LIM_ROW_KEY + 1), NULL), ERR_TOO_BIG);
    ck_assert_int_eq(sto_qualifier_check(SLICE_EMPTY, NULL), ERR_OK);
    ck_assert_int_eq(sto_qualifier_check(base_slice(bytes, LIM_QUALIFIER), NULL), ERR_OK);
    ck_assert_int_eq(sto_qualifier_check(base_slice(bytes, LIM_QUALIFIER + 1), NULL), ERR_TOO_BIG);
}
END_TEST

START_TEST(timestamps_are_whole_milliseconds)
{
    ck_assert_int_eq(sto_timestamp_check(0, NULL), ERR_OK);
    ck_assert_int_eq(sto_timestamp_check(1000, NULL), ERR_OK);
    ck_assert_int_eq(sto_timestamp_check(1001, NULL), ERR_INVALID);
    ck_assert_int_eq(sto_timestamp_check(-1000, NULL), ERR_INVALID);
    ck_assert_int_eq(check_one((struct sto_mutation){
                         .kind = STO_SET_CELL, .family = 1, .timestamp_us = STO_TIMESTAMP_SERVER}),
                     ERR_OK);
    ck_assert_int_eq(
        check_one((struct sto_mutation){.kind = STO_SET_CELL, .family = 1, .timestamp_us = -2}),
        ERR_INVALID);
}
END_TEST

START_TEST(cell_size_follows_the_account)
{
    struct sto_mutation m = {.kind = STO_SET_CELL, .family = 1};
    m.value = base_slice(bytes, LIM_CELL_BYTES);
    ck_assert_int_eq(check_one(m), ERR_OK);
    m.value.len++;
    ck_assert_int_eq(check_one(m), ERR_TOO_BIG);
    atomic_store(&account.cell_bytes_max, 10);
    m.value.len = 10;
    ck_assert_int_eq(check_one(m), ERR_OK);
    m.value.len = 11;
    ck_assert_int_eq(check_one(m), ERR_TOO_BIG);
    atomic_store(&account.cell_bytes_max, UINT64_MAX);
    m.value.len = LIM_CELL_BYTES_HARD + 1; /* refused before it is looked at */
    ck_assert_int_eq(check_one(m), ERR_TOO_BIG);
}
END_TEST

START_TEST(families_must_exist)
{
    for (int kind = STO_SET_CELL; kind <= STO_DELETE_FROM_FAMILY; kind++) {
        struct sto_mutation m = {.kind = (enum sto_mutation_kind)kind, .family = 1};
        ck_assert_int_eq(check_one(m), ERR_OK);
        m.family = 2;
        ck_assert_int_eq(check_one(m), ERR_NOT_FOUND);
        m.family = 0;
        ck_assert_int_eq(check_one(m), ERR_NOT_FOUND);
    }
    ck_assert_int_eq(check_one((struct sto_mutation){.kind = STO_DELETE_FROM_ROW}), ERR_OK);
    ck_assert_int_eq(
        check_one((struct sto_mutation){.kind = (enum sto_mutation_kind)99, .family = 1}),
        ERR_INVALID);
}
END_TEST

START_TEST(time_ranges_must_hold_something)
{
    struct sto_mutation m = {.kind = STO_DELETE_FROM_COLUMN, .family = 1};
    m.start_us = 5;
    ck_assert_int_eq(check_one(m), ERR_OK);
    m.end_us = 6;
    ck_assert_int_eq(check_one(m), ERR_OK);
    m.end_us = 5;
    ck_assert_int_eq(check_one(m), ERR_INVALID);
    m.start_us = -1;
    ck_assert_int_eq(check_one(m), ERR_INVALID);
}
END_TEST

START_TEST(number_of_mutations_is_limited)
{
    struct sto_mutation *many = base_new_array(LIM_MUTATIONS_PER_ROW + 1, sizeof(*many));
    for (size_t i = 0; i <= LIM_MUTATIONS_PER_ROW; i++)
        many[i] = (struct sto_mutation){.kind = STO_DELETE_FROM_ROW};
    struct slice row = SLICE_LIT("row");
    ck_assert_int_eq(sto_mutations_check(schema, &account, row, many, 0, NULL), ERR_INVALID);
    ck_assert_int_eq(sto_mutations_check(schema, &account, row, many, LIM_MUTATIONS_PER_ROW, NULL),
                     ERR_OK);
    ck_assert_int_eq(
        sto_mutations_check(schema, &account, row, many, LIM_MUTATIONS_PER_ROW + 1, NULL),
        ERR_TOO_BIG);
    ck_assert(sto_mutations_only_delete(many, 3));
    many[2].kind = STO_SET_CELL;
    ck_assert(!sto_mutations_only_delete(many, 3));
    base_free(many);
}
END_TEST

START_TEST(prefix_ranges_end_behind_the_prefix)
{
    uint8_t end[LIM_ROW_KEY];
    struct sto_row_range r = sto_range_of_prefix(SLICE_LIT("ab"), end);
    ck_assert(base_slice_is(r.start, "ab") && base_slice_is(r.end, "ac"));
    r = sto_range_of_prefix(SLICE_LIT("a\xff\xff"), end);
    ck_assert(base_slice_is(r.end, "b"));
    r = sto_range_of_prefix(SLICE_LIT("\xff\xff"), end);
    ck_assert_uint_eq(r.end.len, 0);
    r = sto_range_of_prefix(SLICE_EMPTY, end);
    ck_assert(r.start.len == 0 && r.end.len == 0);
}
END_TEST

START_TEST(reversed_and_empty_ranges_are_refused)
{
    struct sto_row_range r = {.start = SLICE_LIT("a"), .end = SLICE_LIT("b")};
    ck_assert_int_eq(sto_range_check(&r, NULL), ERR_OK);
    r.start = SLICE_LIT("b");
    ck_assert_int_eq(sto_range_check(&r, NULL), ERR_INVALID);
    r.start = SLICE_LIT("c");
    ck_assert_int_eq(sto_range_check(&r, NULL), ERR_INVALID);
    r.end = SLICE_EMPTY;
    ck_assert_int_eq(sto_range_check(&r, NULL), ERR_OK);
    r.start = base_slice(bytes, LIM_ROW_KEY);
    ck_assert_int_eq(sto_range_check(&r, NULL), ERR_OK);
    r.start.len++;
    ck_assert_int_eq(sto_range_check(&r, NULL), ERR_INVALID);
}
END_TEST

Suite *suite_storage_mutation(void);

Suite *suite_storage_mutation(void)
{
    Suite *s = suite_create("storage_mutation");
    TCase *t = tcase_create("mutation");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, row_keys_and_qualifiers_have_limits);
    tcase_add_test(t, timestamps_are_whole_milliseconds);
    tcase_add_test(t, cell_size_follows_the_account);
    tcase_add_test(t, families_must_exist);
    tcase_add_test(t, time_ranges_must_hold_something);
    tcase_add_test(t, number_of_mutations_is_limited);
    tcase_add_test(t, prefix_ranges_end_behind_the_prefix);
    tcase_add_test(t, reversed_and_empty_ranges_are_refused);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/storage/test_filter_narrow.c - which cells and rows a filter says can matter to it.
 */
#include <check.h>

#include "tests/storage/filter_rows.h"

#include "base/banned.h"

static const char *const family_names[] = {"cf1", "cf2", "stats"};
static struct sto_schema *schema;
static struct sto_filter_program *program; /* of the last projection_of */

static void setup(void)
{
    schema = filter_schema(family_names, 3);
}

static void teardown(void)
{
    sto_filter_unref(program);
    program = NULL;
    base_free(schema);
}

static const struct sto_projection *projection_of(struct sto_filter filter)
{
    sto_filter_unref(program);
    program = NULL;
    ck_assert_int_eq(sto_filter_compile(&filter, schema, &program, NULL), ERR_OK);
    return sto_filter_projection(program);
}

static unsigned families_of(struct sto_filter filter)
{
    return (unsigned)projection_of(filter)->families[0];
}

START_TEST(families_are_narrowed)
{
    ck_assert_uint_eq(families_of(PASS), 7);
    ck_assert_uint_eq(families_of(FAMILY("cf.*")), 3);
    ck_assert_uint_eq(families_of(OF_BYTES(STO_FILTER_COLUMN_RANGE, "stats")), 4);
    ck_assert_uint_eq(families_of(INTERLEAVE(FAMILY("cf1"), FAMILY("stats"))), 5);
    ck_assert_uint_eq(families_of(CHAIN(FAMILY("cf.*"), FAMILY(".*2"))), 2);
    ck_assert_uint_eq(families_of(CONDITION(FAMILY("cf1"), FAMILY("cf2"), NONE)), 3);
    ck_assert_uint_eq(families_of(CONDITION(FAMILY("cf1"), NONE, NONE)), 0);
    ck_assert_uint_eq(families_of(CHAIN(PER_ROW(3), FAMILY("cf1"))), 7);
    ck_assert_uint_eq(families_of(CHAIN(FAMILY("cf1"), PER_ROW(3))), 1);
    ck_assert_uint_eq(families_of(CHAIN(OFFSET(1), BLOCK)), 0);
    ck_assert_uint_eq(families_of(CHAIN(PER_COLUMN(1), STRIP, FAMILY("cf1"))), 1);
    ck_assert_uint_eq(
        families_of(CHAIN(INTERLEAVE(PASS, CHAIN(FAMILY("cf2"), SINK)), FAMILY("cf1"))), 3);
}
END_TEST

START_TEST(qualifiers_are_narrowed)
{
    const struct sto_projection *p = projection_of(QUALIFIER("ab.*"));
    ck_assert(sto_bytes_range_holds(&p->qualifiers, SLICE_LIT("ab")));
    ck_assert(sto_bytes_range_holds(&p->qualifiers, SLICE_LIT("ab\xff\xff")));
    ck_assert(!sto_bytes_range_holds(&p->qualifiers, SLICE_LIT("aa")));
    ck_assert(!sto_bytes_range_holds(&p->qualifiers, SLICE_LIT("b")));
    p = projection_of(INTERLEAVE(QUALIFIER("b"), CHAIN(PER_COLUMN(1), QUALIFIER("d"))));
    ck_assert(!sto_bytes_range_holds(&p->qualifiers, SLICE_LIT("a")));
    ck_assert(sto_bytes_range_holds(&p->qualifiers, SLICE_LIT("c")));
    ck_assert(!sto_bytes_range_holds(&p->qualifiers, SLICE_LIT("d\x01")));
    p = projection_of(INTERLEAVE(QUALIFIER("b"), QUALIFIER(".*d")));
    ck_assert(sto_bytes_range_holds(&p->qualifiers, SLICE_LIT("zd")));
}
END_TEST

START_TEST(times_are_narrowed)
{
    const struct sto_projection *p = projection_of(TIMES(10, 20));
    ck_assert_int_eq(p->since_us, 10);
    ck_assert_int_eq(p->until_us, 20);
    p = projection_of(INTERLEAVE(TIMES(10, 20), TIMES(15, 30)));
    ck_assert_int_eq(p->since_us, 10);
    ck_assert_int_eq(p->until_us, 30);
    p = projection_of(CHAIN(PER_COLUMN(1), TIMES(10, 20))); /* newer ones count */
    ck_assert_int_eq(p->since_us, 10);
    ck_assert_int_eq(p->until_us, 0);
    p = projection_of(CHAIN(TIMES(10, 20), PER_COLUMN(1)));
    ck_assert_int_eq(p->until_us, 20);
}
END_TEST

static bool may_have(struct sto_filter filter, const char *row_key)
{
    (void)projection_of(filter);
    const struct sto_bytes_range *rows = sto_filter_rows(program);
    return rows == NULL || sto_bytes_range_holds(rows, base_slice_text(row_key));
}

START_TEST(rows_are_narrowed)
{
    (void)projection_of(FAMILY("a"));
    ck_assert_ptr_null(sto_filter_rows(program));
    ck_assert(may_have(ROW_KEY("ab.*"), "abc"));
    ck_assert(!may_have(ROW_KEY("ab.*"), "b"));
    ck_assert(!may_have(CHAIN(PER_ROW(1), ROW_KEY("ab.*")), "b"));
    ck_assert(!may_have(CHAIN(ROW_KEY("a.*"), ROW_KEY("ab.*")), "ad"));
    ck_assert(may_have(INTERLEAVE(ROW_KEY("ab.*"), PASS), "b"));
    ck_assert(!may_have(INTERLEAVE(ROW_KEY("ab"), ROW_KEY("ad")), "b"));
    ck_assert(may_have(INTERLEAVE(ROW_KEY("ab"), ROW_KEY("ad")), "ac"));
    ck_assert(may_have(CONDITION(ROW_KEY("ab"), NONE, PASS), "b"));
    ck_assert(!may_have(CONDITION(PASS, ROW_KEY("ab"), NONE), "b"));
    ck_assert(!may_have(BLOCK, "b"));
    ck_assert(!may_have(CHAIN(ROW_KEY("ab"), INTERLEAVE(SINK, SINK)), "b"));
    ck_assert(may_have(CHAIN(INTERLEAVE(SINK, PASS), ROW_KEY("ab")), "b"));
}
END_TEST

/* What the tree pointed at may go: all of it was copied. */
START_TEST(a_program_needs_nothing_of_its_tree)
{
    char text[] = "abc";
    char label[] = "label";
    struct sto_filter members[] = {{.kind = STO_FILTER_COLUMN_RANGE,
                                    .bytes = SLICE_LIT("cf1"),
                                    .range = {.start = base_slice(text, 3)}},
                                   {.kind = STO_FILTER_APPLY_LABEL, .bytes = base_slice(label, 5)}};
    struct sto_filter f = {.kind = STO_FILTER_CHAIN, .members = members, .member_count = 2};
    const struct sto_projection *p = projection_of(f);
    memset(text, 'z', sizeof text);
    memset(members, 0, sizeof members);
    ck_assert(base_slice_is(p->qualifiers.start, "abc"));
    struct sto_filter_program *again = sto_filter_ref(program);
    ck_assert_ptr_eq(again, program);
    sto_filter_unref(again);
    ck_assert(base_slice_is(p->qualifiers.start, "abc"));
    sto_filter_unref(NULL);
}
END_TEST

Suite *suite_storage_filter_narrow(void);
Suite *suite_storage_filter_narrow(void)
{
    Suite *suite = suite_create("storage_filter_narrow");
    TCase *tc = tcase_create("narrowing");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, families_are_narrowed);
    tcase_add_test(tc, qualifiers_are_narrowed);
    tcase_add_test(tc, times_are_narrowed);
    tcase_add_test(tc, rows_are_narrowed);
    tcase_add_test(tc, a_program_needs_nothing_of_its_tree);
    suite_add_tcase(suite, tc);
    return suite;
}

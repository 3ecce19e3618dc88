/*
 * tests/check/test_one_family.c - a scan that wants one family of ten does a tenth of the work:
 * counted in cells looked at, steps and seeks, not in time.
 */
#include "tests/storage/fixture.h"

#include "base/banned.h"

Suite *suite_check_one_family(void);

enum { ROWS = 1000, FAMILIES = 10, COLUMNS = 20, CELLS = FAMILIES * COLUMNS };

static struct sto_table_scope table;

static void fill(void)
{
    struct sto_family_spec families[FAMILIES];
    char names[FAMILIES][8], columns[COLUMNS][8], row[16];
    struct sto_mutation m[CELLS];
    for (size_t f = 0; f < FAMILIES; f++) {
        (void)snprintf(names[f], sizeof names[f], "fam%zu", f);
        families[f] = (struct sto_family_spec){.name = base_slice_text(names[f])};
    }
    for (size_t q = 0; q < COLUMNS; q++)
        (void)snprintf(columns[q], sizeof columns[q], "q%02zu", q);
    struct sto_schema *schema = fix_schema("ten", NULL, families, FAMILIES);
    table = sto_table_scope_make(&fix.tenants[0], schema);
    sto_schema_unref(schema);
    for (size_t i = 0; i < CELLS; i++)
        m[i] = fix_set((uint16_t)(1 + i / COLUMNS), columns[i % COLUMNS], 1000, SLICE_LIT("value"));
    for (size_t r = 0; r < ROWS; r++) {
        (void)snprintf(row, sizeof row, "row%05zu", r);
        ck_assert_int_eq(fix_mutate(&table, row, m, CELLS), ERR_OK);
    }
}

/* Scan the whole table; what the engine counted is left in op. */
static void scan(const struct sto_filter *filter, bool reversed, uint64_t cells_wanted,
                 struct sto_read_op *op)
{
    struct fix_sink s;
    fix_sink_init(&s);
    s.full_bytes = LIM_SLICE_BYTES;
    *op = (struct sto_read_op){.scope = table, .spec = {.reversed = reversed}};
    if (filter != NULL)
        ck_assert_int_eq(sto_filter_compile(filter, table.schema, &op->spec.filter, NULL), ERR_OK);
    do {
        fix_slice(op, &s, false);
        base_buf_truncate(&s.text, s.in_row ? s.text.len : 0);
    } while (op->state == STO_READ_MORE);
    ck_assert_int_eq(op->state, STO_READ_END);
    sto_read_finish(fix.engine, op);
    sto_filter_unref(op->spec.filter);
    base_buf_fini(&s.text);
    ck_assert_uint_eq(op->cells_given, cells_wanted);
}

START_TEST(a_scan_of_one_family_looks_at_that_family_only)
{
    struct sto_read_op all, one;
    char name[8];
    (void)snprintf(name, sizeof name, "fam%d", _i);
    const struct sto_filter family = {.kind = STO_FILTER_FAMILY_REGEX,
                                      .bytes = base_slice_text(name)};
    bool reversed = _i % 2 == 1;
    fill();
    scan(NULL, reversed, ROWS * CELLS, &all);
    ck_assert_uint_ge(all.cells_seen, ROWS * CELLS);
    scan(&family, reversed, ROWS * COLUMNS, &one);
    /* The family, and a few steps that are tried before each of two seeks. */
    ck_assert_uint_le(one.cells_seen, ROWS * (COLUMNS + 2));
    ck_assert_uint_le(one.seeks, ROWS * (reversed ? 4 : 2) + 64);
    ck_assert_uint_ge(all.cells_seen, 9 * one.cells_seen);
    /* Six are tried before a seek (storage/rocksdb/slice.c): through the family, to it, behind it.
     */
    ck_assert_uint_le(one.steps, ROWS * (COLUMNS + 2 * 7 + 2));
    ck_assert_uint_ge(all.steps, ROWS * CELLS);
    ck_assert_uint_ge(all.steps, 5 * one.steps);
    sto_table_scope_release(&table);
}
END_TEST

START_TEST(a_scan_of_one_column_looks_at_that_column_only)
{
    struct sto_read_op op;
    const struct sto_filter column = {.kind = STO_FILTER_COLUMN_RANGE,
                                      .bytes = SLICE_LIT("fam5"),
                                      .range = {.start = SLICE_LIT("q10"),
                                                .has_end = true,
                                                .end = SLICE_LIT("q10"),
                                                .end_inclusive = true}};
    fill();
    scan(&column, false, ROWS, &op);
    ck_assert_uint_le(op.cells_seen, ROWS * 3);
    ck_assert_uint_le(op.seeks, ROWS * 2 + 64);
    ck_assert_uint_le(op.steps, ROWS * (1 + 2 * 7 + 2));
    sto_table_scope_release(&table);
}
END_TEST

Suite *suite_check_one_family(void)
{
    Suite *s = suite_create("check_one_family");
    TCase *t = tcase_create("one_family");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_scan_of_one_family_looks_at_that_family_only, 0, FAMILIES);
    tcase_add_test(t, a_scan_of_one_column_looks_at_that_column_only);
    suite_add_tcase(s, t);
    return s;
}

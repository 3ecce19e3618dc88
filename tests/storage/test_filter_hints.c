/*
 * tests/storage/test_filter_hints.c - how often a row is read, how much of it, and by what run.
 */
#include <pthread.h>

#include "tests/storage/filter_phone.h"

#include "base/banned.h"

/* --- passes -----------------------------------------------------------------------------------
 */

static size_t passes_of(struct sto_filter filter)
{
    struct sto_filter_program *p = compile(filter);
    struct reader reader = read_row(p, HONOUR_EVERYTHING);
    oracle_list_free(&reader.out);
    sto_filter_unref(p);
    return reader.passes;
}

START_TEST(a_row_is_read_as_often_as_conditions_need)
{
    struct sto_filter condition = CONDITION(VALUE("true"), STRIP, NONE);
    ck_assert_uint_eq(passes_of(INTERLEAVE(PASS, STRIP)), 1);
    ck_assert_uint_eq(passes_of(condition), 2);
    ck_assert_uint_eq(passes_of(INTERLEAVE(condition, condition)), 2);
    ck_assert_uint_eq(passes_of(CHAIN(CONDITION(VALUE("true"), PASS, NONE), condition)), 3);
    ck_assert_uint_eq(passes_of(CONDITION(condition, PASS, NONE)), 3);
    /* Known beforehand: nothing can match, or nothing is left to show. */
    ck_assert_uint_eq(passes_of(CONDITION(ROW_KEY("other"), PASS, STRIP)), 1);
    ck_assert_uint_eq(passes_of(CONDITION(VALUE("nothing"), PASS, NONE)), 1);
    ck_assert_uint_eq(passes_of(CHAIN(ROW_KEY("other"), condition)), 0);
    row.count = 0;
    ck_assert_uint_eq(passes_of(CHAIN(condition, condition)), 1);
}
END_TEST

/* --- hints ------------------------------------------------------------------------------------
 */

/* The hint after the first cell. */
static enum sto_filter_hint first_hint(struct sto_filter filter)
{
    struct sto_filter_program *p = compile(filter);
    struct reader reader = {.schema = schema, .row = &row};
    struct sto_filter_run *run = sto_filter_run_new(p, reader_emit, &reader);
    enum sto_filter_hint hint = sto_filter_row_begin(run, row.key);
    if (hint == STO_FILTER_NEXT_CELL)
        hint = sto_filter_cell(run, &row.cells[0], true);
    oracle_list_free(&reader.out);
    sto_filter_run_free(run);
    sto_filter_unref(p);
    return hint;
}

#define HINT(filter_, hint_) ck_assert_int_eq(first_hint(filter_), STO_FILTER_NEXT_##hint_)

START_TEST(rejections_say_how_far_they_reach)
{
    HINT(PASS, CELL);
    HINT(BLOCK, ROW);
    HINT(ROW_KEY("other"), ROW);
    HINT(FAMILY("stats"), FAMILY);
    HINT(FAMILY("nosuch"), ROW);
    HINT(QUALIFIER("b"), COLUMN);
    HINT(VALUE("b"), CELL);
    HINT(TIMES(4000, 0), COLUMN);
    HINT(TIMES(0, 2000), CELL);
    HINT(OFFSET(1), CELL);
    HINT(columns("stats", (struct sto_bytes_range){0}), FAMILY);
    HINT(columns("cell_plan", (struct sto_bytes_range){.start = SLICE_LIT("e")}), COLUMN);
    HINT(columns("cell_plan", (struct sto_bytes_range){.has_end = true, .end = SLICE_LIT("a")}),
         ROW);
}
END_TEST

START_TEST(limits_that_are_reached_say_so_at_once)
{
    HINT(PER_ROW(1), ROW);
    HINT(PER_ROW(2), CELL);
    HINT(PER_COLUMN(1), COLUMN);
    HINT(PER_COLUMN(2), CELL);
    HINT(CHAIN(INTERLEAVE(PASS, PASS), PER_ROW(2)), CELL); /* known by the second copy only */
    HINT(CHAIN(OFFSET(1), PER_ROW(1)), CELL);
    HINT(CHAIN(PER_ROW(9), PER_ROW(1)), ROW);
}
END_TEST

START_TEST(what_is_counted_must_be_seen)
{
    HINT(CHAIN(PER_ROW(9), FAMILY("stats")), CELL);
    HINT(CHAIN(PER_ROW(9), PER_COLUMN(1)), CELL);
    HINT(CHAIN(PER_ROW(9), FAMILY("nosuch")), ROW);
    HINT(CHAIN(PER_COLUMN(9), FAMILY("stats")), FAMILY);
    HINT(CHAIN(PER_COLUMN(9), QUALIFIER("b")), COLUMN);
    HINT(CHAIN(PER_COLUMN(1), PER_ROW(9), VALUE("b")), COLUMN);
}
END_TEST

START_TEST(branches_skip_what_all_of_them_skip)
{
    HINT(INTERLEAVE(FAMILY("stats"), QUALIFIER("b")), COLUMN);
    HINT(INTERLEAVE(FAMILY("stats"), PASS), CELL);
    HINT(INTERLEAVE(FAMILY("stats"), BLOCK), FAMILY);
    HINT(INTERLEAVE(PER_ROW(1), PER_COLUMN(1)), COLUMN);
    HINT(CHAIN(INTERLEAVE(PASS, SINK), QUALIFIER("b")), CELL);
}
END_TEST

START_TEST(a_decided_condition_needs_no_more_cells)
{
    HINT(CONDITION(PASS, PASS, PASS), ROW);
    HINT(CONDITION(FAMILY("stats"), PASS, PASS), FAMILY);
    HINT(CHAIN(PER_ROW(9), CONDITION(FAMILY("stats"), PASS, PASS)), CELL);
    HINT(INTERLEAVE(PASS, CONDITION(PASS, PASS, PASS)), ROW); /* this pass has no output */
}
END_TEST

START_TEST(a_limit_reads_few_cells)
{
    struct sto_filter_program *p = compile(CHAIN(FAMILY("stats"), PER_COLUMN(1), PER_ROW(3)));
    struct reader reader = read_row(p, HONOUR_EVERYTHING);
    ck_assert_uint_eq(reader.out.count, 3);
    ck_assert_uint_eq(reader.given, 3);
    oracle_list_free(&reader.out);
    sto_filter_unref(p);
}
END_TEST

/* --- samples, runs, memory --------------------------------------------------------------------
 */

static void count_cells(void *ctx, const struct sto_cell *cell)
{
    (void)cell;
    ++*(size_t *)ctx;
}

static size_t sampled_rows(struct sto_filter filter, size_t rows)
{
    struct sto_filter_program *p = compile(filter);
    size_t emitted = 0;
    struct sto_filter_run *run = sto_filter_run_new(p, count_cells, &emitted);
    for (size_t i = 0; i < rows; i++) {
        if (sto_filter_row_begin(run, base_slice(&i, sizeof i)) == STO_FILTER_NEXT_ROW)
            continue;
        do {
            (void)sto_filter_cell(run, &row.cells[0], true);
        } while (sto_filter_row_end(run));
    }
    sto_filter_run_free(run);
    sto_filter_unref(p);
    return emitted;
}

/* Seeds are random: the bounds are eight standard deviations away. */
START_TEST(a_sample_takes_its_share_of_rows)
{
    size_t half = sampled_rows(SAMPLE(0.5), 10000);
    ck_assert(half > 4600 && half < 5400);
    size_t tenth = sampled_rows(SAMPLE(0.1), 10000);
    ck_assert(tenth > 760 && tenth < 1240);
    size_t both = sampled_rows(CHAIN(SAMPLE(0.5), SAMPLE(0.5)), 10000); /* each by itself */
    ck_assert(both > 2150 && both < 2850);
}
END_TEST

/* Taken in the pass that decides, and in the one that emits: a row is taken or not. */
START_TEST(a_sample_is_the_same_in_every_pass)
{
    size_t rows = 10000;
    size_t taken = sampled_rows(CHAIN(SAMPLE(0.5), CONDITION(PASS, PASS, BLOCK)), rows);
    ck_assert(taken > 4600 && taken < 5400);
}
END_TEST

/* An unknown family is none that a filter asks for, whatever its address. */
START_TEST(families_are_known_by_their_number)
{
    struct sto_family copy = schema->families[0];
    struct sto_family unknown = {.number = 3, .name = "y", .name_len = 1};
    struct sto_filter_program *p = compile(FAMILY("cell_plan|x"));
    size_t emitted = 0;
    struct sto_filter_run *run = sto_filter_run_new(p, count_cells, &emitted);
    ck_assert_int_eq(sto_filter_row_begin(run, row.key), STO_FILTER_NEXT_CELL);
    struct sto_cell cell = {.family = &copy};
    ck_assert_int_eq(sto_filter_cell(run, &cell, true), STO_FILTER_NEXT_CELL);
    ck_assert_uint_eq(emitted, 1);
    cell.family = &unknown;
    ck_assert_int_eq(sto_filter_cell(run, &cell, true), STO_FILTER_NEXT_FAMILY);
    ck_assert_uint_eq(emitted, 1);
    sto_filter_run_free(run);
    sto_filter_unref(p);
}
END_TEST

START_TEST(a_run_holds_its_program_and_may_have_no_memory)
{
    struct sto_filter_program *p = compile(CHAIN(INTERLEAVE(PASS, STRIP), QUALIFIER("a.*")));
    size_t emitted = 0;
    for (long i = 0; i < 4; i++) {
        base_alloc_fail_after(i);
        ck_assert_ptr_null(sto_filter_run_new(p, count_cells, &emitted));
    }
    base_alloc_fail_after(-1);
    struct sto_filter_run *run = sto_filter_run_new(p, count_cells, &emitted);
    sto_filter_unref(p);
    ck_assert_int_eq(sto_filter_row_begin(run, row.key), STO_FILTER_NEXT_CELL);
    struct sto_cell cell = row.cells[0];
    cell.qualifier = SLICE_LIT("ab");
    (void)sto_filter_cell(run, &cell, true);
    ck_assert_uint_eq(emitted, 2);
    ck_assert(!sto_filter_row_end(run));
    ck_assert_int_eq(sto_filter_cell(run, &cell, true), STO_FILTER_NEXT_ROW); /* between rows */
    ck_assert_uint_eq(emitted, 2);
    sto_filter_run_free(run);
    sto_filter_run_free(NULL);
}
END_TEST

static void *read_often(void *program)
{
    size_t emitted = 0;
    struct sto_filter_run *run = sto_filter_run_new(program, count_cells, &emitted);
    for (int i = 0; i < 1000; i++) {
        (void)sto_filter_row_begin(run, row.key);
        do {
            for (size_t k = 0; k < row.count; k++)
                (void)sto_filter_cell(run, &row.cells[k], false);
        } while (sto_filter_row_end(run));
    }
    sto_filter_run_free(run);
    return emitted == 4000 ? program : NULL;
}

START_TEST(a_program_serves_several_threads)
{
    struct sto_filter_program *p =
        compile(CONDITION(VALUE("PQ.*"), CHAIN(ROW_KEY("phone.*"), FAMILY("stats")), NONE));
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_often, p), 0);
    for (size_t i = 0; i < 4; i++) {
        void *result = NULL;
        ck_assert_int_eq(pthread_join(threads[i], &result), 0);
        ck_assert_ptr_eq(result, p);
    }
    sto_filter_unref(p);
}
END_TEST

/* The dearest filters that are allowed, over a value that hostile patterns dread. */
START_TEST(the_dearest_filters_end)
{
    size_t len = 100 * KIB;
    uint8_t *bytes = base_new(len);
    memset(bytes, 'a', len);
    row.count = 1;
    row.cells[0].value = base_slice(bytes, len);
    struct sto_filter two = INTERLEAVE(PASS, PASS);
    struct sto_filter dear = CHAIN(two, two, two, two, two, two, two, two, two,
                                   INTERLEAVE(VALUE("(a*)*b"), VALUE("(a|aa)+b")));
    struct sto_filter_program *p = compile(dear);
    struct reader reader = read_row(p, HONOUR_NOTHING);
    ck_assert_uint_eq(reader.out.count, 0);
    sto_filter_unref(p);
    p = compile(CHAIN(two, two, two, two, two, two, two, two, two, two));
    reader = read_row(p, HONOUR_NOTHING);
    ck_assert_uint_eq(reader.out.count, LIM_FILTER_COPIES);
    oracle_list_free(&reader.out);
    sto_filter_unref(p);
    base_free(bytes);
}
END_TEST

Suite *suite_storage_filter_hints(void);
Suite *suite_storage_filter_hints(void)
{
    Suite *suite = suite_create("storage_filter_hints");
    TCase *tc = new_case(suite, "hints");
    tcase_add_test(tc, a_row_is_read_as_often_as_conditions_need);
    tcase_add_test(tc, rejections_say_how_far_they_reach);
    tcase_add_test(tc, limits_that_are_reached_say_so_at_once);
    tcase_add_test(tc, what_is_counted_must_be_seen);
    tcase_add_test(tc, branches_skip_what_all_of_them_skip);
    tcase_add_test(tc, a_decided_condition_needs_no_more_cells);
    tcase_add_test(tc, a_limit_reads_few_cells);
    tc = new_case(suite, "runs");
    tcase_add_test(tc, a_sample_takes_its_share_of_rows);
    tcase_add_test(tc, a_sample_is_the_same_in_every_pass);
    tcase_add_test(tc, families_are_known_by_their_number);
    tcase_add_test(tc, a_run_holds_its_program_and_may_have_no_memory);
    tcase_add_test(tc, a_program_serves_several_threads);
    tcase_add_test(tc, the_dearest_filters_end);
    return suite;
}

/*
 * tests/storage/test_filter_run.c - what each kind of filter gives, alone and together.
 *
 * A result is written "family:qualifier@time=value#label", one after the other. Every filter is
 * run three times (skipping nothing, all that may be, by chance) and held against the reference.
 */
#include <stdio.h>

#include "base/buf.h"
#include "tests/storage/filter_phone.h"

#include "base/banned.h"

static void write_result(const struct oracle_list *list, struct buf *out)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct sto_cell *c = &list->items[i].cell;
        base_buf_printf(out, "%s%.*s:%.*s@%d=%.*s", i > 0 ? " " : "", c->family->name_len,
                        c->family->name, SLICE_ARGS(c->qualifier), (int)(c->timestamp_us / 1000),
                        SLICE_ARGS(c->value));
        if (c->label.len > 0)
            base_buf_printf(out, "#%.*s", SLICE_ARGS(c->label));
    }
    base_buf_append_byte(out, 0);
    ck_assert_int_eq(out->error, ERR_OK);
}

static void expect(struct sto_filter filter, const char *text)
{
    struct sto_filter_program *p = compile(filter);
    for (int honour = HONOUR_NOTHING; honour <= HONOUR_BY_CHANCE; honour++) {
        struct reader reader = read_row(p, (enum honour)honour);
        struct oracle_list right = oracle_evaluate(&filter, &row, true);
        struct buf out;
        base_buf_init(&out, 65536);
        write_result(&reader.out, &out);
        ck_assert_str_eq((const char *)out.ptr, text);
        ck_assert(oracle_list_equal(&reader.out, &right));
        base_buf_fini(&out);
        oracle_list_free(&right);
        oracle_list_free(&reader.out);
    }
    sto_filter_unref(p);
}

#define GB01_NEW "cell_plan:data_01gb@3=true"
#define GB01_OLD "cell_plan:data_01gb@2=false"
#define GB05     "cell_plan:data_05gb@3=true"
#define CELL     "stats:connected_cell@3=\1"
#define WIFI     "stats:connected_wifi@3=\1"
#define OS_NEW   "stats:os_build@3=PQ2A.190405.003"
#define OS_OLD   "stats:os_build@1=PQ2A.190405.001"
#define PLAN     GB01_NEW " " GB01_OLD " " GB05
#define STATS    CELL " " WIFI " " OS_NEW " " OS_OLD
#define WHOLE    PLAN " " STATS

/* --- limiting filters -------------------------------------------------------------------------
 */

START_TEST(all_and_nothing)
{
    expect(PASS, WHOLE);
    expect(BLOCK, "");
    expect(SINK, WHOLE);
    expect(CHAIN(PASS, BLOCK), "");
    expect(CHAIN(BLOCK, PASS), "");
}
END_TEST

START_TEST(row_keys_match_whole)
{
    expect(ROW_KEY("phone#.*"), WHOLE);
    expect(ROW_KEY(".*#20190501$"), WHOLE);
    expect(ROW_KEY("phone"), "");
    expect(ROW_KEY("phone#4c410523#20190501"), WHOLE);
}
END_TEST

START_TEST(families_match_whole)
{
    expect(FAMILY("stats"), STATS);
    expect(FAMILY("stats.*$"), STATS);
    expect(FAMILY("s|c.*"), PLAN);
    expect(FAMILY("stat"), "");
}
END_TEST

START_TEST(qualifiers_match_whole)
{
    expect(QUALIFIER("connected_.*$"), CELL " " WIFI);
    expect(QUALIFIER("data_05gb"), GB05);
    expect(QUALIFIER("data"), "");
}
END_TEST

START_TEST(column_ranges_are_of_one_family)
{
    struct sto_bytes_range r = {
        .start = SLICE_LIT("data_01gb"), .has_end = true, .end = SLICE_LIT("data_05gb")};
    expect(columns("cell_plan", r), GB01_NEW " " GB01_OLD);
    r.end_inclusive = true;
    expect(columns("cell_plan", r), PLAN);
    r.start_exclusive = true;
    expect(columns("cell_plan", r), GB05);
    expect(columns("stats", r), "");
    r.has_end = false;
    expect(columns("stats", r), OS_NEW " " OS_OLD);
    expect(columns("x", (struct sto_bytes_range){0}), "");
    expect(columns("cell_plan", (struct sto_bytes_range){0}), PLAN);
    r = (struct sto_bytes_range){.start = SLICE_LIT("z"), .has_end = true, .end = SLICE_LIT("a")};
    expect(columns("stats", r), "");
}
END_TEST

START_TEST(times_hold_their_start_and_not_their_end)
{
    expect(TIMES(2000, 3000), GB01_OLD);
    expect(TIMES(1000, 3000), GB01_OLD " " OS_OLD);
    expect(TIMES(0, 1001), OS_OLD);
    expect(TIMES(3000, 0), GB01_NEW " " GB05 " " CELL " " WIFI " " OS_NEW);
    expect(TIMES(3001, 0), "");
    expect(TIMES(0, 0), WHOLE);
}
END_TEST

START_TEST(values_match_whole)
{
    expect(VALUE("PQ2A.*$"), OS_NEW " " OS_OLD);
    expect(VALUE("true|false"), PLAN);
    expect(VALUE("tru"), "");
    struct sto_filter f = {.kind = STO_FILTER_VALUE_RANGE,
                           .range = {.start = SLICE_LIT("PQ2A.190405.001"),
                                     .start_exclusive = true,
                                     .has_end = true,
                                     .end = SLICE_LIT("false"),
                                     .end_inclusive = true}};
    expect(f, GB01_OLD " " OS_NEW);
}
END_TEST

START_TEST(masks_match_values_of_their_length)
{
    expect(BITMASK("\1"), CELL " " WIFI);
    expect(BITMASK("\0"), CELL " " WIFI);
    expect(BITMASK("\2"), "");
    expect(BITMASK(""), "");
    expect(BITMASK("true"), GB01_NEW " " GB05);
    expect(BITMASK("TRUE"), GB01_NEW " " GB05);
    expect(BITMASK("\0\0\0\0"), GB01_NEW " " GB05);
    expect(CHAIN(STRIP, BITMASK("")), "cell_plan:data_01gb@3= cell_plan:data_01gb@2= "
                                      "cell_plan:data_05gb@3= stats:connected_cell@3= "
                                      "stats:connected_wifi@3= stats:os_build@3= "
                                      "stats:os_build@1=");
}
END_TEST

START_TEST(cells_are_counted_per_row_and_column)
{
    expect(PER_ROW(2), GB01_NEW " " GB01_OLD);
    expect(PER_ROW(7), WHOLE);
    expect(OFFSET(5), OS_NEW " " OS_OLD);
    expect(OFFSET(7), "");
    expect(PER_COLUMN(1), GB01_NEW " " GB05 " " CELL " " WIFI " " OS_NEW);
    expect(PER_COLUMN(2), WHOLE);
    expect(CHAIN(OFFSET(1), PER_ROW(2)), GB01_OLD " " GB05);
    expect(CHAIN(PER_ROW(2), OFFSET(1)), GB01_OLD);
    expect(CHAIN(OFFSET(1), PER_COLUMN(1)), GB01_OLD " " GB05 " " CELL " " WIFI " " OS_NEW);
    expect(CHAIN(PER_COLUMN(1), OFFSET(1)), GB05 " " CELL " " WIFI " " OS_NEW);
}
END_TEST

/* What is counted before it is thrown away counts. */
START_TEST(the_order_of_a_chain_matters)
{
    expect(CHAIN(FAMILY("stats"), PER_ROW(1)), CELL);
    expect(CHAIN(PER_ROW(1), FAMILY("stats")), "");
    expect(CHAIN(PER_ROW(4), FAMILY("stats")), CELL);
    expect(CHAIN(OFFSET(4), QUALIFIER(".*_.*"), FAMILY("stats")), WIFI " " OS_NEW " " OS_OLD);
    expect(CHAIN(PER_COLUMN(1), TIMES(0, 3000)), "");
    expect(CHAIN(TIMES(0, 3000), PER_COLUMN(1)), GB01_OLD " " OS_OLD);
    expect(CHAIN(VALUE("false|.*001"), PER_COLUMN(1)), GB01_OLD " " OS_OLD);
}
END_TEST

/* --- modifying filters ------------------------------------------------------------------------
 */

START_TEST(values_are_stripped_for_what_follows)
{
    expect(CHAIN(FAMILY("cell_plan"), STRIP),
           "cell_plan:data_01gb@3= cell_plan:data_01gb@2= cell_plan:data_05gb@3=");
    expect(CHAIN(STRIP, VALUE("true")), "");
    expect(CHAIN(QUALIFIER("data_05gb"), STRIP, VALUE("")), "cell_plan:data_05gb@3=");
    expect(CHAIN(INTERLEAVE(STRIP, PASS), VALUE("true|false")), PLAN);
}
END_TEST

START_TEST(labels_go_with_the_cell)
{
    expect(CHAIN(QUALIFIER("data_05gb"), LABEL("foo")), GB05 "#foo");
    expect(CHAIN(LABEL("foo"), QUALIFIER("data_05gb")), GB05 "#foo");
    expect(CHAIN(QUALIFIER("data_05gb"), INTERLEAVE(LABEL("a"), LABEL("b"))), GB05 "#a " GB05 "#b");
}
END_TEST

/* --- composing filters ------------------------------------------------------------------------
 */

START_TEST(an_interleave_pools_in_the_order_of_the_row)
{
    expect(INTERLEAVE(VALUE("true"), QUALIFIER("os_build")),
           GB01_NEW " " GB05 " " OS_NEW " " OS_OLD);
    expect(INTERLEAVE(QUALIFIER("os_build"), VALUE("true")),
           GB01_NEW " " GB05 " " OS_NEW " " OS_OLD);
    expect(INTERLEAVE(BLOCK, BLOCK), "");
    expect(INTERLEAVE(BLOCK, FAMILY("stats"), BLOCK), STATS);
}
END_TEST

START_TEST(duplicates_are_kept_and_counted)
{
    struct sto_filter twice = INTERLEAVE(PASS, PASS);
    expect(CHAIN(QUALIFIER("data_01gb"), twice), GB01_NEW " " GB01_NEW " " GB01_OLD " " GB01_OLD);
    expect(CHAIN(QUALIFIER("data_01gb"), twice, PER_COLUMN(1)), GB01_NEW);
    expect(CHAIN(QUALIFIER("data_01gb"), twice, PER_COLUMN(2)), GB01_NEW " " GB01_NEW);
    expect(CHAIN(QUALIFIER("data_01gb"), twice, PER_COLUMN(3)), GB01_NEW " " GB01_NEW " " GB01_OLD);
    expect(CHAIN(twice, PER_ROW(3)), GB01_NEW " " GB01_NEW " " GB01_OLD);
    expect(CHAIN(twice, OFFSET(13)), OS_OLD);
    expect(CHAIN(PER_ROW(1), twice, twice), GB01_NEW " " GB01_NEW " " GB01_NEW " " GB01_NEW);
    expect(CHAIN(INTERLEAVE(PASS, LABEL("b")), PER_ROW(2)), GB01_NEW " " GB01_NEW "#b");
}
END_TEST

/* Limits in branches count their branch alone; the one behind counts the pool. */
START_TEST(branches_count_for_themselves)
{
    expect(INTERLEAVE(PER_ROW(1), OFFSET(6)), GB01_NEW " " OS_OLD);
    expect(INTERLEAVE(CHAIN(FAMILY("stats"), PER_ROW(1)), CHAIN(FAMILY("cell_plan"), PER_ROW(1))),
           GB01_NEW " " CELL);
    expect(CHAIN(INTERLEAVE(PER_ROW(2), PER_COLUMN(1)), PER_ROW(4)),
           GB01_NEW " " GB01_NEW " " GB01_OLD " " GB05);
}
END_TEST

/* The API's own example: a chain of a family, an interleave of everything and of a labelled sink,
 * and a qualifier. */
START_TEST(a_sink_goes_past_what_follows)
{
    row.count = 0;
    add_cell(0, "A", 1000, "w");
    add_cell(0, "B", 2000, "x");
    add_cell(1, "B", 4000, "z");
    expect(CHAIN(FAMILY("cell_plan"), INTERLEAVE(PASS, CHAIN(LABEL("foo"), SINK)), QUALIFIER("B")),
           "cell_plan:A@1=w#foo cell_plan:B@2=x cell_plan:B@2=x#foo");
    expect(CHAIN(SINK, PASS), "cell_plan:A@1=w cell_plan:B@2=x stats:B@4=z");
    expect(CHAIN(SINK, BLOCK), "cell_plan:A@1=w cell_plan:B@2=x stats:B@4=z");
    expect(CHAIN(INTERLEAVE(SINK, PASS), PER_ROW(1)),
           "cell_plan:A@1=w cell_plan:A@1=w cell_plan:B@2=x stats:B@4=z");
    expect(CHAIN(PER_ROW(1), INTERLEAVE(CHAIN(STRIP, SINK), PASS), QUALIFIER("B")),
           "cell_plan:A@1=");
}
END_TEST

/* --- conditions -------------------------------------------------------------------------------
 */

START_TEST(a_condition_chooses_for_the_whole_row)
{
    /* The documentation's: label rows that have a data plan. */
    expect(CONDITION(CHAIN(QUALIFIER("data_05gb"), VALUE("true")),
                     CHAIN(LABEL("passed-filter"), FAMILY("cell_plan")), LABEL("filtered-out")),
           GB01_NEW "#passed-filter " GB01_OLD "#passed-filter " GB05 "#passed-filter");
    expect(CONDITION(VALUE("nothing"), PASS, FAMILY("stats")), STATS);
    expect(CONDITION(VALUE("nothing"), PASS, NONE), "");
    expect(CONDITION(VALUE(".*001"), PER_ROW(1), PASS), GB01_NEW); /* seen last, decides first */
    expect(CONDITION(PASS, NONE, PASS), "");
    expect(CONDITION(BLOCK, NONE, PASS), WHOLE);
    expect(CONDITION(PASS, PASS, NONE), WHOLE);
}
END_TEST

START_TEST(a_predicate_sees_what_the_chain_lets_through)
{
    struct sto_filter has_stats = CONDITION(FAMILY("stats"), LABEL("t"), LABEL("f"));
    expect(CHAIN(PER_ROW(1), has_stats), GB01_NEW "#f");
    expect(CHAIN(PER_ROW(4), OFFSET(3), has_stats), CELL "#t");
    expect(CHAIN(has_stats, PER_ROW(1)), GB01_NEW "#t");
    expect(CHAIN(STRIP, CONDITION(VALUE("true"), PASS, PER_ROW(1))), "cell_plan:data_01gb@3=");
    expect(CHAIN(BLOCK, has_stats), "");
}
END_TEST

START_TEST(counts_in_a_predicate_are_its_own)
{
    expect(CONDITION(OFFSET(6), PER_ROW(1), NONE), GB01_NEW);
    expect(CONDITION(OFFSET(7), PER_ROW(1), OFFSET(6)), OS_OLD);
    expect(CONDITION(CHAIN(PER_COLUMN(1), VALUE("false")), NONE, PER_ROW(1)), GB01_NEW);
    expect(CHAIN(PER_ROW(3), CONDITION(OFFSET(2), OFFSET(2), NONE)), GB05);
}
END_TEST

START_TEST(conditions_follow_and_hold_each_other)
{
    struct sto_filter inner = CONDITION(VALUE("true"), FAMILY("stats"), FAMILY("cell_plan"));
    expect(CHAIN(inner, CONDITION(FAMILY("cell_plan"), NONE, PER_ROW(1))), CELL);
    expect(CONDITION(inner, inner, NONE), STATS);
    expect(CONDITION(CHAIN(inner, FAMILY("cell_plan")), NONE, inner), STATS);
    expect(CONDITION(PASS, CONDITION(BLOCK, NONE, CONDITION(PASS, PER_ROW(1), NONE)), NONE),
           GB01_NEW);
    expect(INTERLEAVE(CHAIN(inner, PER_ROW(1)), CHAIN(CONDITION(VALUE("no"), PASS, NONE), PASS),
                      CONDITION(QUALIFIER("os_build"), OFFSET(6), NONE)),
           CELL " " OS_OLD);
}
END_TEST

/* --- memory ------------------------------------------------------------------------------------
 */

#define SHARE (64 * KIB)

static void emit_nothing(void *ctx, const struct sto_cell *cell)
{
    (void)ctx;
    (void)cell;
}

/* Matches a text that takes the expression through thousands of states. */
static struct sto_filter_run *match_much(struct sto_filter_program *p)
{
    uint8_t text[4096];
    struct random r = {1};
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "ab"[random_below(&r, 2)];
    struct sto_filter_run *run = sto_filter_run_new(p, emit_nothing, NULL);
    ck_assert_ptr_nonnull(run);
    (void)sto_filter_match(run, p->entry, base_slice(text, sizeof text));
    return run;
}

static bool heap_counts(void)
{
    uint64_t before = base_alloc_of_thread();
    void *any = base_new(1);
    bool counts = base_alloc_of_thread() != before;
    base_free(any);
    return counts;
}

START_TEST(states_of_expressions_count_in_the_share)
{
    struct base_memory budget = {.limit = 100 * MIB};
    struct base_memory_share share = {.budget = &budget};
    struct sto_filter_program *p = compile(VALUE("(a|b)*a(a|b){12}"));
    ck_assert(sto_filter_charge(p, &share));
    size_t before = atomic_load(&share.used);
    struct sto_filter_run *run = match_much(p);
    size_t matched = atomic_load(&share.used);
    ck_assert_int_eq(run->error, ERR_OK);
    ck_assert_int_eq(matched > before + SHARE, heap_counts());
    ck_assert_uint_le(matched, LIM_FILTER_REGEX_BYTES);
    sto_filter_run_free(run);
    run = match_much(p); /* the same states */
    ck_assert_uint_eq(atomic_load(&share.used), matched);
    sto_filter_run_free(run);
    sto_filter_unref(p);
    ck_assert_uint_eq(atomic_load(&share.used), 0);
}
END_TEST

START_TEST(a_run_ends_where_its_states_find_no_memory)
{
    struct base_memory budget = {.limit = 100 * MIB};
    struct base_memory_share share = {.budget = &budget, .most = SHARE};
    struct sto_filter_program *p = compile(VALUE("(a|b)*a(a|b){12}"));
    ck_assert(sto_filter_charge(p, &share));
    struct sto_filter_run *run = match_much(p);
    if (heap_counts()) {
        struct errbuf eb = {{0}};
        ck_assert_int_eq(sto_filter_error(run, &eb), ERR_NO_MEMORY);
        ck_assert_msg(strstr(eb.text, "value_regex: the states of ") != NULL &&
                          strstr(eb.text, " may hold 65536 bytes together ") != NULL,
                      "%s", eb.text);
    }
    sto_filter_run_free(run);
    sto_filter_unref(p);
    ck_assert_uint_eq(atomic_load(&share.used), 0);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
}
END_TEST

Suite *suite_storage_filter_run(void);
Suite *suite_storage_filter_run(void)
{
    Suite *suite = suite_create("storage_filter_run");
    TCase *tc = new_case(suite, "limiting");
    tcase_add_test(tc, all_and_nothing);
    tcase_add_test(tc, row_keys_match_whole);
    tcase_add_test(tc, families_match_whole);
    tcase_add_test(tc, qualifiers_match_whole);
    tcase_add_test(tc, column_ranges_are_of_one_family);
    tcase_add_test(tc, times_hold_their_start_and_not_their_end);
    tcase_add_test(tc, values_match_whole);
    tcase_add_test(tc, masks_match_values_of_their_length);
    tcase_add_test(tc, cells_are_counted_per_row_and_column);
    tcase_add_test(tc, the_order_of_a_chain_matters);
    tc = new_case(suite, "modifying");
    tcase_add_test(tc, values_are_stripped_for_what_follows);
    tcase_add_test(tc, labels_go_with_the_cell);
    tc = new_case(suite, "composing");
    tcase_add_test(tc, an_interleave_pools_in_the_order_of_the_row);
    tcase_add_test(tc, duplicates_are_kept_and_counted);
    tcase_add_test(tc, branches_count_for_themselves);
    tcase_add_test(tc, a_sink_goes_past_what_follows);
    tc = new_case(suite, "conditions");
    tcase_add_test(tc, a_condition_chooses_for_the_whole_row);
    tcase_add_test(tc, a_predicate_sees_what_the_chain_lets_through);
    tcase_add_test(tc, counts_in_a_predicate_are_its_own);
    tcase_add_test(tc, conditions_follow_and_hold_each_other);
    tc = new_case(suite, "memory");
    tcase_add_test(tc, states_of_expressions_count_in_the_share);
    tcase_add_test(tc, a_run_ends_where_its_states_find_no_memory);
    return suite;
}

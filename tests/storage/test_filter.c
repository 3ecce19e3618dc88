/*
 * tests/storage/test_filter.c - which filters are refused and why, what they cost, what they
 * narrow.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "tests/storage/filter_rows.h"

#include "base/banned.h"

static const char *const family_names[] = {"cf1", "cf2", "stats"};
static struct sto_schema *schema;
static struct errbuf eb;

static void setup(void)
{
    schema = filter_schema(family_names, 3);
    eb.text[0] = 0;
}

static void teardown(void)
{
    base_free(schema);
}

static enum err compile(struct sto_filter filter)
{
    struct sto_filter_program *p = NULL;
    enum err e = sto_filter_compile(&filter, schema, &p, &eb);
    ck_assert_int_eq(e == ERR_OK, p != NULL);
    sto_filter_unref(p);
    return e;
}

#define OK(filter_) ck_assert_msg(compile(filter_) == ERR_OK, "%s", eb.text)
#define REFUSED(filter_, error_, text_)                                                            \
    do {                                                                                           \
        ck_assert_int_eq(compile(filter_), error_);                                                \
        ck_assert_str_eq(eb.text, text_);                                                          \
    } while (0)

/* --- names ------------------------------------------------------------------------------------
 */

START_TEST(names_are_those_of_the_api)
{
    ck_assert_str_eq(sto_filter_kind_name(STO_FILTER_CHAIN), "chain");
    ck_assert_str_eq(sto_filter_kind_name(STO_FILTER_FAMILY_REGEX), "family_name_regex");
    ck_assert_str_eq(sto_filter_kind_name(STO_FILTER_QUALIFIER_REGEX), "column_qualifier_regex");
    ck_assert_str_eq(sto_filter_kind_name(STO_FILTER_VALUE_BITMASK), "value_bitmask");
    ck_assert_str_eq(sto_filter_kind_name(STO_FILTER_STRIP_VALUE), "strip_value");
    ck_assert_str_eq(sto_filter_kind_name(STO_FILTER_KIND_COUNT), "unknown");
    for (int i = 0; i < STO_FILTER_KIND_COUNT; i++)
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(sto_filter_kind_name((enum sto_filter_kind)i),
                             sto_filter_kind_name((enum sto_filter_kind)k));
}
END_TEST

/* --- size on the wire -------------------------------------------------------------------------
 */

static size_t wire(struct sto_filter filter)
{
    return sto_filter_wire_bytes(&filter);
}

/* By hand: tag, length, content. */
START_TEST(sizes_are_those_of_the_serialized_message)
{
    ck_assert_uint_eq(wire(PASS), 3);
    ck_assert_uint_eq(wire(BLOCK), 3);
    ck_assert_uint_eq(wire(SINK), 3);
    ck_assert_uint_eq(wire(STRIP), 2);
    ck_assert_uint_eq(wire(SAMPLE(0.5)), 9);
    ck_assert_uint_eq(wire(ROW_KEY("ab")), 4);
    ck_assert_uint_eq(wire(VALUE("")), 2);
    ck_assert_uint_eq(wire(LABEL("ab")), 5);
    ck_assert_uint_eq(wire(BITMASK("ab")), 3 + 4);
    ck_assert_uint_eq(wire(BITMASK("")), 3);
    ck_assert_uint_eq(wire(PER_ROW(1)), 2);
    ck_assert_uint_eq(wire(PER_ROW(127)), 2);
    ck_assert_uint_eq(wire(PER_ROW(128)), 3);
    ck_assert_uint_eq(wire(PER_ROW(-1)), 11);
    ck_assert_uint_eq(wire(TIMES(0, 0)), 2);
    ck_assert_uint_eq(wire(TIMES(1, 128)), 2 + 2 + 3);
    struct sto_filter range = {.kind = STO_FILTER_VALUE_RANGE};
    ck_assert_uint_eq(wire(range), 2);
    range.range =
        (struct sto_bytes_range){.start_exclusive = true, .has_end = true, .end = SLICE_LIT("xyz")};
    ck_assert_uint_eq(wire(range), 2 + 2 + 5);
    range.kind = STO_FILTER_COLUMN_RANGE;
    range.bytes = SLICE_LIT("cf1");
    ck_assert_uint_eq(wire(range), 2 + 5 + 2 + 5);
    ck_assert_uint_eq(wire(CHAIN(PASS, STRIP)), 2 + (2 + 3) + (2 + 2));
    ck_assert_uint_eq(wire(CONDITION(PASS, NONE, STRIP)), 2 + (2 + 3) + (2 + 2));
    ck_assert_uint_eq(wire(INTERLEAVE(PASS, CHAIN(PASS, PASS))), 2 + 5 + (2 + 12));
    static const char text[200];
    struct sto_filter longer = {.kind = STO_FILTER_VALUE_REGEX,
                                .bytes = {(const uint8_t *)text, 200}};
    ck_assert_uint_eq(wire(longer), 1 + 2 + 200);
}
END_TEST

/* A value range, whose bytes cost nothing but their size. */
START_TEST(bytes_are_limited)
{
    uint8_t *bytes = base_new(LIM_FILTER_BYTES);
    struct sto_filter f = {.kind = STO_FILTER_VALUE_RANGE};
    size_t around = 2 * (1 + 3); /* two tags, two lengths of three bytes */
    f.range = (struct sto_bytes_range){.start = base_slice(bytes, LIM_FILTER_BYTES - around)};
    ck_assert_uint_eq(wire(f), LIM_FILTER_BYTES);
    OK(f);
    f.range.start.len++;
    REFUSED(f, ERR_TOO_BIG, "filter is 20481 bytes; the limit is 20480");
    base_free(bytes);
}
END_TEST

static void nest(struct sto_filter (*levels)[2], size_t depth, enum sto_filter_kind kind)
{
    for (size_t i = 0; i < depth; i++) {
        levels[i][0] = PASS;
        levels[i][1] = PASS;
        if (i + 1 < depth) {
            levels[i][1].kind = kind;
            levels[i][1].members = levels[i + 1];
            levels[i][1].member_count = 2;
        }
    }
}

START_TEST(depth_is_limited)
{
    static struct sto_filter levels[5000][2];
    nest(levels, LIM_FILTER_DEPTH - 1, STO_FILTER_CHAIN);
    struct sto_filter root = {.kind = STO_FILTER_CHAIN, .members = levels[0], .member_count = 2};
    OK(root);
    nest(levels, LIM_FILTER_DEPTH, STO_FILTER_CHAIN);
    REFUSED(root, ERR_TOO_BIG, "filter is nested more than 20 deep");
    ck_assert_uint_eq(wire(root), SIZE_MAX);
    nest(levels, 5000, STO_FILTER_INTERLEAVE);
    ck_assert_int_eq(compile(root), ERR_TOO_BIG);
}
END_TEST

/* --- each kind --------------------------------------------------------------------------------
 */

START_TEST(groups_need_their_members)
{
    struct sto_filter one[] = {PASS};
    struct sto_filter f = {.kind = STO_FILTER_CHAIN, .members = one, .member_count = 1};
    REFUSED(f, ERR_INVALID, "chain has 1 members; it needs two or more");
    f.kind = STO_FILTER_INTERLEAVE;
    f.member_count = 0;
    REFUSED(f, ERR_INVALID, "interleave has 0 members; it needs two or more");
    f.kind = STO_FILTER_CONDITION;
    f.member_count = 1;
    REFUSED(f, ERR_INVALID, "condition has 1 members; it needs a predicate and two branches");
    REFUSED(CONDITION(NONE, PASS, PASS), ERR_INVALID, "condition has no predicate");
    OK(CONDITION(PASS, NONE, NONE));
    static const char *const absent = "a filter is there without saying what it filters";
    REFUSED(NONE, ERR_INVALID, absent);
    REFUSED(CHAIN(PASS, NONE), ERR_INVALID, absent);
    REFUSED(INTERLEAVE(NONE, PASS), ERR_INVALID, absent);
    REFUSED(CONDITION(PASS, CHAIN(NONE, PASS), NONE), ERR_INVALID, absent);
    ck_assert_int_eq(compile(PLAIN(STO_FILTER_KIND_COUNT)), ERR_INVALID);
}
END_TEST

START_TEST(a_sink_is_not_inside_a_condition)
{
    static const char *const refused = "sink must not be inside a condition";
    OK(SINK);
    OK(CHAIN(INTERLEAVE(PASS, CHAIN(STRIP, SINK)), PASS));
    REFUSED(CONDITION(SINK, PASS, PASS), ERR_INVALID, refused);
    REFUSED(CONDITION(PASS, SINK, PASS), ERR_INVALID, refused);
    REFUSED(CONDITION(PASS, PASS, CHAIN(PASS, INTERLEAVE(PASS, SINK))), ERR_INVALID, refused);
    OK(INTERLEAVE(CONDITION(PASS, PASS, NONE), SINK));
}
END_TEST

START_TEST(counts_are_above_zero)
{
    OK(PER_ROW(1));
    OK(OFFSET(INT64_MAX));
    REFUSED(PER_ROW(0), ERR_INVALID, "cells_per_row_limit is 0; it must be above 0");
    REFUSED(OFFSET(0), ERR_INVALID, "cells_per_row_offset is 0; it must be above 0");
    REFUSED(PER_COLUMN(-7), ERR_INVALID, "cells_per_column_limit is -7; it must be above 0");
}
END_TEST

START_TEST(a_sample_is_between_none_and_all)
{
    OK(SAMPLE(nextafter(0, 1)));
    OK(SAMPLE(nextafter(1, 0)));
    REFUSED(SAMPLE(0), ERR_INVALID, "row_sample is 0; it must be above 0 and below 1");
    REFUSED(SAMPLE(1), ERR_INVALID, "row_sample is 1; it must be above 0 and below 1");
    ck_assert_int_eq(compile(SAMPLE(-0.5)), ERR_INVALID);
    ck_assert_int_eq(compile(SAMPLE((double)NAN)), ERR_INVALID);
}
END_TEST

START_TEST(labels_have_a_grammar)
{
    OK(LABEL("a"));
    OK(LABEL("abcdefghij-0189"));
    REFUSED(LABEL("abcdefghijklmnop"), ERR_TOO_BIG, "apply_label is 16 bytes; the limit is 15");
    static const char *const grammar =
        "apply_label must be one or more of a to z, 0 to 9 and \"-\"";
    REFUSED(LABEL(""), ERR_INVALID, grammar);
    REFUSED(LABEL("A"), ERR_INVALID, grammar);
    REFUSED(LABEL("a_b"), ERR_INVALID, grammar);
    REFUSED(LABEL("a\xc3\xa4"), ERR_INVALID, grammar);
}
END_TEST

START_TEST(one_member_of_a_chain_may_label)
{
    static const char *const two = "chain has apply_label in 2 of its members; one is the limit";
    OK(CHAIN(PASS, LABEL("a")));
    OK(INTERLEAVE(LABEL("a"), LABEL("b")));
    OK(CHAIN(INTERLEAVE(LABEL("a"), LABEL("b")), PASS));
    REFUSED(CHAIN(LABEL("a"), LABEL("b")), ERR_INVALID, two);
    REFUSED(CHAIN(LABEL("a"), INTERLEAVE(PASS, LABEL("b"))), ERR_INVALID, two);
    REFUSED(INTERLEAVE(PASS, CHAIN(CHAIN(PASS, LABEL("a")), PASS, LABEL("b"))), ERR_INVALID, two);
    REFUSED(CHAIN(CONDITION(PASS, LABEL("a"), NONE), LABEL("b")), ERR_INVALID, two);
}
END_TEST

START_TEST(family_patterns_have_no_colon)
{
    OK(FAMILY("cf[0-9]"));
    OK(FAMILY("nosuchfamily"));
    REFUSED(FAMILY("cf1:a"), ERR_INVALID, "family_name_regex must not contain \":\"");
    OK(QUALIFIER("a:b"));
}
END_TEST

START_TEST(only_a_row_key_pattern_is_never_empty)
{
    REFUSED(ROW_KEY(""), ERR_INVALID, "row_key_regex must not be empty: no row key is");
    REFUSED(CONDITION(PASS, ROW_KEY(""), NONE), ERR_INVALID,
            "row_key_regex must not be empty: no row key is");
    OK(FAMILY(""));
    OK(QUALIFIER(""));
    OK(VALUE(""));
}
END_TEST

START_TEST(times_start_before_they_end)
{
    OK(TIMES(0, 0));
    OK(TIMES(1000, 0));
    OK(TIMES(1000, 1001));
    REFUSED(TIMES(1000, 1000), ERR_INVALID,
            "timestamp_range must start before it ends; it is 1000 to 1000");
    REFUSED(TIMES(2, 1), ERR_INVALID, "timestamp_range must start before it ends; it is 2 to 1");
}
END_TEST

START_TEST(a_column_range_is_of_a_family_that_is_there)
{
    OK(OF_BYTES(STO_FILTER_COLUMN_RANGE, "stats"));
    REFUSED(OF_BYTES(STO_FILTER_COLUMN_RANGE, "nosuch"), ERR_NOT_FOUND,
            "column_range names a column family that the table does not have");
    REFUSED(OF_BYTES(STO_FILTER_COLUMN_RANGE, ""), ERR_NOT_FOUND,
            "column_range names a column family that the table does not have");
}
END_TEST

START_TEST(bad_patterns_name_their_filter)
{
    REFUSED(ROW_KEY("a("), ERR_INVALID,
            "row_key_regex: regular expression is not valid: missing )");
    REFUSED(FAMILY("a("), ERR_INVALID,
            "family_name_regex: regular expression is not valid: missing )");
    REFUSED(QUALIFIER("a**"), ERR_INVALID,
            "column_qualifier_regex: regular expression is not valid: bad repetition operator");
    /* The last member is built first, but there is one answer. */
    ck_assert_int_eq(compile(CHAIN(VALUE("["), VALUE("("))), ERR_INVALID);
    ck_assert_int_eq(compile(CONDITION(VALUE("["), VALUE("a"), NONE)), ERR_INVALID);
}
END_TEST

/* --- costs ------------------------------------------------------------------------------------
 */

/* members, each the same, in a chain */
static enum err compile_chain_of(struct sto_filter member, size_t count)
{
    struct sto_filter *members = base_new_array(count, sizeof *members);
    for (size_t i = 0; i < count; i++)
        members[i] = member;
    enum err e = compile(
        (struct sto_filter){.kind = STO_FILTER_CHAIN, .members = members, .member_count = count});
    base_free(members);
    return e;
}

START_TEST(copies_of_a_cell_are_limited)
{
    struct sto_filter two = INTERLEAVE(PASS, PASS);
    ck_assert_int_eq(compile_chain_of(two, 10), ERR_OK);
    ck_assert_int_eq(compile_chain_of(two, 11), ERR_TOO_BIG);
    ck_assert_str_eq(eb.text,
                     "interleave: one cell can come out more than 1024 times, which is the limit");
    ck_assert_int_eq(compile_chain_of(two, 1000), ERR_TOO_BIG); /* 2 to the power of 1000 */
    struct sto_filter *many = base_new_array(LIM_FILTER_COPIES + 1, sizeof *many);
    for (size_t i = 0; i <= LIM_FILTER_COPIES; i++)
        many[i] = PASS;
    struct sto_filter f = {
        .kind = STO_FILTER_INTERLEAVE, .members = many, .member_count = LIM_FILTER_COPIES};
    OK(f);
    f.member_count++;
    ck_assert_int_eq(compile(f), ERR_TOO_BIG);
    /* A condition takes one of its branches; a predicate gives nothing out. */
    f.member_count--;
    OK(CONDITION(f, f, f));
    ck_assert_int_eq(compile(INTERLEAVE(CONDITION(PASS, f, PASS), PASS)), ERR_TOO_BIG);
    /* What a sink takes is out; nothing comes to what follows. */
    OK(CHAIN(f, SINK, two));
    base_free(many);
}
END_TEST

/* Each doubles the ways to the end, and the end lets nothing out. */
START_TEST(steps_for_a_cell_are_limited)
{
    struct sto_filter two = INTERLEAVE(PASS, PASS);
    struct sto_filter members[20];
    for (size_t i = 0; i < 19; i++)
        members[i] = two;
    members[19] = BLOCK;
    struct sto_filter f = {.kind = STO_FILTER_CHAIN, .members = members + 4, .member_count = 16};
    OK(f);
    f.members = members + 3;
    f.member_count = 17;
    REFUSED(f, ERR_TOO_BIG,
            "interleave: one cell can take more than 65536 steps, which is the limit");
    REFUSED(CONDITION(f, PASS, PASS), ERR_TOO_BIG,
            "interleave: one cell can take more than 65536 steps, which is the limit");
}
END_TEST

/* Each condition in a chain waits for the one before it. */
START_TEST(passes_over_a_row_are_limited)
{
    struct sto_filter condition = CONDITION(VALUE("a"), PASS, STRIP);
    ck_assert_int_eq(compile_chain_of(condition, LIM_FILTER_PASSES - 1), ERR_OK);
    ck_assert_int_eq(compile_chain_of(condition, LIM_FILTER_PASSES), ERR_TOO_BIG);
    ck_assert_str_eq(eb.text, "condition: they depend on each other so that a row must be read 17 "
                              "times; the limit is 16");
    /* Side by side they do not depend on each other. */
    struct sto_filter members[100];
    for (size_t i = 0; i < 100; i++)
        members[i] = condition;
    OK(((struct sto_filter){
        .kind = STO_FILTER_INTERLEAVE, .members = members, .member_count = 100}));
}
END_TEST

START_TEST(patterns_share_their_memory)
{
    struct sto_filter large = VALUE(".{1000}.{1000}");
    OK(large);
    ck_assert_int_eq(compile_chain_of(large, LIM_FILTER_REGEXES), ERR_TOO_BIG);
    ck_assert_int_eq(strncmp(eb.text, "value_regex: ", 13), 0);
    ck_assert_int_eq(compile_chain_of(VALUE("[a-z]+:.*"), LIM_FILTER_REGEXES), ERR_OK);
    ck_assert_int_eq(compile_chain_of(VALUE("[a-z]+:.*"), LIM_FILTER_REGEXES + 1), ERR_TOO_BIG);
    ck_assert_str_eq(eb.text, "filter has 129 regular expressions; the limit is 128");
    ck_assert_int_eq(compile_chain_of(VALUE("a\\-literal\\.\\x00"), 800), ERR_OK);
}
END_TEST

START_TEST(classes_of_unicode_are_limited)
{
    struct sto_filter of_two = VALUE("[\\pL\\pN]+:.*");
    ck_assert_int_eq(compile_chain_of(of_two, LIM_FILTER_CLASSES / 2), ERR_OK);
    ck_assert_int_eq(compile_chain_of(of_two, LIM_FILTER_CLASSES / 2 + 1), ERR_TOO_BIG);
    ck_assert_str_eq(eb.text,
                     "filter has 66 Unicode classes (\\p) in its regular expressions; the limit is "
                     "64: bytes are matched, and [a-z] or \\w say which");
}
END_TEST

/* What is compiled on a loop. */
START_TEST(small_filters_are_those_that_compile_in_no_time)
{
    struct sto_filter many[100];
    for (size_t i = 0; i < 100; i++)
        many[i] = VALUE("a\\.literal");
    struct sto_filter literals = {
        .kind = STO_FILTER_INTERLEAVE, .members = many, .member_count = 100};
    const struct {
        struct sto_filter filter;
        bool is_small;
    } cases[] = {
        {VALUE("a.*"), true},      {CHAIN(VALUE("[0-9]{4}-[0-9]{2}"), QUALIFIER("(a|b)+")), true},
        {VALUE(".{1000}"), false}, {VALUE("\\PL\\PL\\PL"), false},
        {literals, true},          {CHAIN(VALUE(".{12}.{12}"), VALUE("a.*")), false},
        {VALUE("no("), true}, /* refused as quickly */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(sto_filter_is_small(&cases[i].filter) == cases[i].is_small, "case %zu", i);
    for (size_t i = 0; i < 100; i++)
        many[i] = VALUE("a.*b.*");
    ck_assert(!sto_filter_is_small(&literals));
}
END_TEST

/* Some 5,000 instructions. */
START_TEST(a_program_counts_in_a_share_until_its_last_ref)
{
    struct base_memory budget = {.limit = 10 * MIB};
    struct base_memory_share share = {.budget = &budget}, full = {.budget = &budget, .most = 5000};
    struct sto_filter filter = VALUE("(.{0,500}.{0,500}){2}");
    struct sto_filter_program *p = NULL;
    ck_assert_int_eq(sto_filter_compile(&filter, schema, &p, &eb), ERR_OK);
    ck_assert(!sto_filter_charge(p, &full));
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
    ck_assert(sto_filter_charge(p, &share));
    ck_assert_uint_ge(atomic_load(&share.used), 64 * sto_filter_instructions(p));
    ck_assert_uint_gt(sto_filter_instructions(p), 1000);
    ck_assert_uint_le(atomic_load(&share.used), LIM_FILTER_REGEX_BYTES);
    sto_filter_unref(sto_filter_ref(p));
    ck_assert_uint_gt(atomic_load(&share.used), 0);
    sto_filter_unref(p);
    ck_assert_uint_eq(atomic_load(&share.used), 0);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
}
END_TEST

START_TEST(lack_of_memory_is_an_error_and_leaks_nothing)
{
    struct sto_filter f =
        CHAIN(QUALIFIER("a.*"), INTERLEAVE(VALUE("b.*"), CONDITION(PASS, PASS, NONE)));
    enum err e = ERR_NO_MEMORY;
    long allocations = 0;
    for (; e != ERR_OK; allocations++) {
        base_alloc_fail_after(allocations);
        e = compile(f);
        base_alloc_fail_after(-1);
        ck_assert(e == ERR_OK || e == ERR_NO_MEMORY);
    }
    ck_assert_int_gt(allocations, 5);
}
END_TEST

static void add_tests_of_kinds(TCase *tc)
{
    tcase_add_test(tc, groups_need_their_members);
    tcase_add_test(tc, a_sink_is_not_inside_a_condition);
    tcase_add_test(tc, counts_are_above_zero);
    tcase_add_test(tc, a_sample_is_between_none_and_all);
    tcase_add_test(tc, labels_have_a_grammar);
    tcase_add_test(tc, one_member_of_a_chain_may_label);
    tcase_add_test(tc, family_patterns_have_no_colon);
    tcase_add_test(tc, only_a_row_key_pattern_is_never_empty);
    tcase_add_test(tc, times_start_before_they_end);
    tcase_add_test(tc, a_column_range_is_of_a_family_that_is_there);
    tcase_add_test(tc, bad_patterns_name_their_filter);
}

Suite *suite_storage_filter(void);
Suite *suite_storage_filter(void)
{
    Suite *suite = suite_create("storage_filter");
    TCase *tc = tcase_create("tree");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, names_are_those_of_the_api);
    tcase_add_test(tc, sizes_are_those_of_the_serialized_message);
    tcase_add_test(tc, bytes_are_limited);
    tcase_add_test(tc, depth_is_limited);
    add_tests_of_kinds(tc);
    suite_add_tcase(suite, tc);
    tc = tcase_create("costs");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, copies_of_a_cell_are_limited);
    tcase_add_test(tc, steps_for_a_cell_are_limited);
    tcase_add_test(tc, passes_over_a_row_are_limited);
    tcase_add_test(tc, patterns_share_their_memory);
    tcase_add_test(tc, classes_of_unicode_are_limited);
    tcase_add_test(tc, small_filters_are_those_that_compile_in_no_time);
    tcase_add_test(tc, a_program_counts_in_a_share_until_its_last_ref);
    tcase_add_test(tc, lack_of_memory_is_an_error_and_leaks_nothing);
    suite_add_tcase(suite, tc);
    return suite;
}

/*
 * tests/grpc/test_filter_proto.c - filters of messages: every kind, what is absent or unknown.
 */
#include <check.h>

#include "gateway/grpc/filter_proto.h"

#include "base/banned.h"

Suite *suite_grpc_filter_proto(void);

static struct arena arena;
static struct sto_filter filter;
static struct errbuf eb;

static void setup(void)
{
    base_arena_init(&arena, 64 * MIB);
}

static void teardown(void)
{
    base_arena_fini(&arena);
}

static enum err take(const Bt__RowFilter *message)
{
    eb.text[0] = '\0';
    enum err e = gw_filter_from_proto(message, &arena, &filter, &eb);
    ck_assert_int_eq(e == ERR_OK, eb.text[0] == '\0');
    return e;
}

static ProtobufCBinaryData binary(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

static Bt__RowFilter of_kind(Bt__RowFilter__FilterCase kind)
{
    Bt__RowFilter message = BT__ROW_FILTER__INIT;
    message.filter_case = kind;
    return message;
}

/* --- single kinds ------------------------------------------------------------------------------
 */

START_TEST(flags_must_be_true)
{
    static const struct {
        Bt__RowFilter__FilterCase from;
        enum sto_filter_kind to;
    } flags[] = {
        {BT__ROW_FILTER__FILTER_SINK, STO_FILTER_SINK},
        {BT__ROW_FILTER__FILTER_PASS_ALL_FILTER, STO_FILTER_PASS_ALL},
        {BT__ROW_FILTER__FILTER_BLOCK_ALL_FILTER, STO_FILTER_BLOCK_ALL},
        {BT__ROW_FILTER__FILTER_STRIP_VALUE_TRANSFORMER, STO_FILTER_STRIP_VALUE},
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        Bt__RowFilter message = of_kind(flags[i].from);
        ck_assert_int_eq(take(&message), ERR_INVALID);
        message.sink = true; /* all of them share the place */
        ck_assert_int_eq(take(&message), ERR_OK);
        ck_assert_int_eq(filter.kind, flags[i].to);
    }
}
END_TEST

START_TEST(patterns_labels_and_masks_are_taken_as_bytes)
{
    Bt__RowFilter message = of_kind(BT__ROW_FILTER__FILTER_ROW_KEY_REGEX_FILTER);
    message.row_key_regex_filter = (ProtobufCBinaryData){3, (uint8_t[]){'a', 0, 0xff}};
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_int_eq(filter.kind, STO_FILTER_ROW_KEY_REGEX);
    ck_assert(base_slice_equal(filter.bytes, base_slice("a\0\xff", 3)));

    message = of_kind(BT__ROW_FILTER__FILTER_COLUMN_QUALIFIER_REGEX_FILTER);
    message.column_qualifier_regex_filter = binary("q.*");
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_int_eq(filter.kind, STO_FILTER_QUALIFIER_REGEX);
    ck_assert(base_slice_is(filter.bytes, "q.*"));

    message = of_kind(BT__ROW_FILTER__FILTER_VALUE_REGEX_FILTER);
    message.value_regex_filter = binary("v.*");
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_int_eq(filter.kind, STO_FILTER_VALUE_REGEX);
    ck_assert(base_slice_is(filter.bytes, "v.*"));

    message = of_kind(BT__ROW_FILTER__FILTER_FAMILY_NAME_REGEX_FILTER);
    message.family_name_regex_filter = (char[]){"f.*"};
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_int_eq(filter.kind, STO_FILTER_FAMILY_REGEX);
    ck_assert(base_slice_is(filter.bytes, "f.*"));

    message = of_kind(BT__ROW_FILTER__FILTER_APPLY_LABEL_TRANSFORMER);
    message.apply_label_transformer = (char[]){"label"};
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_int_eq(filter.kind, STO_FILTER_APPLY_LABEL);
    ck_assert(base_slice_is(filter.bytes, "label"));

    Bt__ValueBitmask mask = BT__VALUE_BITMASK__INIT;
    mask.mask = binary("\x0f");
    message = of_kind(BT__ROW_FILTER__FILTER_VALUE_BITMASK_FILTER);
    message.value_bitmask_filter = &mask;
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_int_eq(filter.kind, STO_FILTER_VALUE_BITMASK);
    ck_assert(base_slice_is(filter.bytes, "\x0f"));
}
END_TEST

START_TEST(numbers_keep_their_value_and_sign)
{
    static const int32_t counts[] = {1, 0, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        Bt__RowFilter message = of_kind(BT__ROW_FILTER__FILTER_CELLS_PER_ROW_OFFSET_FILTER);
        message.cells_per_row_offset_filter = counts[i];
        ck_assert_int_eq(take(&message), ERR_OK);
        ck_assert_int_eq(filter.kind, STO_FILTER_CELLS_PER_ROW_OFFSET);
        ck_assert_int_eq(filter.count, counts[i]);
        message.filter_case = BT__ROW_FILTER__FILTER_CELLS_PER_ROW_LIMIT_FILTER;
        ck_assert_int_eq(take(&message), ERR_OK);
        ck_assert_int_eq(filter.kind, STO_FILTER_CELLS_PER_ROW_LIMIT);
        ck_assert_int_eq(filter.count, counts[i]);
        message.filter_case = BT__ROW_FILTER__FILTER_CELLS_PER_COLUMN_LIMIT_FILTER;
        ck_assert_int_eq(take(&message), ERR_OK);
        ck_assert_int_eq(filter.kind, STO_FILTER_CELLS_PER_COLUMN_LIMIT);
        ck_assert_int_eq(filter.count, counts[i]);
    }
    Bt__RowFilter sample = of_kind(BT__ROW_FILTER__FILTER_ROW_SAMPLE_FILTER);
    sample.row_sample_filter = 0.25;
    ck_assert_int_eq(take(&sample), ERR_OK);
    ck_assert_int_eq(filter.kind, STO_FILTER_ROW_SAMPLE);
    ck_assert(filter.probability == 0.25);
}
END_TEST

/* Limits of filters are storage's; what is negative must get there as such. */
START_TEST(a_negative_limit_is_refused_when_compiled)
{
    struct sto_family_spec family = {.name = SLICE_LIT("f")};
    struct sto_table_spec table = {.families = &family, .family_count = 1};
    struct sto_schema *schema = NULL;
    struct sto_filter_program *program = NULL;
    ck_assert_int_eq(sto_schema_make(SLICE_LIT("t"), NULL, &table, &schema, NULL), ERR_OK);
    Bt__RowFilter message = of_kind(BT__ROW_FILTER__FILTER_CELLS_PER_ROW_LIMIT_FILTER);
    message.cells_per_row_limit_filter = -1;
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_int_eq(sto_filter_compile(&filter, schema, &program, NULL), ERR_INVALID);
    message.cells_per_row_limit_filter = 1;
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_int_eq(sto_filter_compile(&filter, schema, &program, NULL), ERR_OK);
    sto_filter_unref(program);
    sto_schema_unref(schema);
}
END_TEST

START_TEST(timestamps_are_taken_as_they_are)
{
    Bt__TimestampRange range = BT__TIMESTAMP_RANGE__INIT;
    Bt__RowFilter message = of_kind(BT__ROW_FILTER__FILTER_TIMESTAMP_RANGE_FILTER);
    message.timestamp_range_filter = &range;
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_int_eq(filter.kind, STO_FILTER_TIMESTAMP_RANGE);
    ck_assert_int_eq(filter.start_us, 0);
    ck_assert_int_eq(filter.end_us, 0);
    range.start_timestamp_micros = -5;
    range.end_timestamp_micros = INT64_MAX;
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_int_eq(filter.start_us, -5);
    ck_assert_int_eq(filter.end_us, INT64_MAX);
}
END_TEST

/* --- ranges ------------------------------------------------------------------------------------
 */

static void expect_range(const char *start, bool open, const char *end, bool closed)
{
    ck_assert(base_slice_is(filter.range.start, start));
    ck_assert_int_eq(filter.range.start_exclusive, open);
    ck_assert_int_eq(filter.range.has_end, end != NULL);
    ck_assert(base_slice_is(filter.range.end, end == NULL ? "" : end));
    ck_assert_int_eq(filter.range.end_inclusive, closed);
}

START_TEST(bounds_of_columns_are_closed_open_or_absent)
{
    Bt__ColumnRange range = BT__COLUMN_RANGE__INIT;
    Bt__RowFilter message = of_kind(BT__ROW_FILTER__FILTER_COLUMN_RANGE_FILTER);
    message.column_range_filter = &range;
    ck_assert_int_eq(take(&message), ERR_INVALID); /* of which family? */
    range.family_name = (char[]){"f"};
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_int_eq(filter.kind, STO_FILTER_COLUMN_RANGE);
    ck_assert(base_slice_is(filter.bytes, "f"));
    expect_range("", false, NULL, false);

    range.start_qualifier_case = BT__COLUMN_RANGE__START_QUALIFIER_START_QUALIFIER_CLOSED;
    range.start_qualifier_closed = binary("a");
    range.end_qualifier_case = BT__COLUMN_RANGE__END_QUALIFIER_END_QUALIFIER_OPEN;
    range.end_qualifier_open = binary("b");
    ck_assert_int_eq(take(&message), ERR_OK);
    expect_range("a", false, "b", false);

    range.start_qualifier_case = BT__COLUMN_RANGE__START_QUALIFIER_START_QUALIFIER_OPEN;
    range.end_qualifier_case = BT__COLUMN_RANGE__END_QUALIFIER_END_QUALIFIER_CLOSED;
    ck_assert_int_eq(take(&message), ERR_OK);
    expect_range("a", true, "b", true);

    /* A qualifier may be empty: behind it, and up to it, are different from no bound. */
    range.start_qualifier_open = binary("");
    range.end_qualifier_closed = binary("");
    ck_assert_int_eq(take(&message), ERR_OK);
    expect_range("", true, "", true);
}
END_TEST

START_TEST(bounds_of_values_are_closed_open_or_absent)
{
    Bt__ValueRange range = BT__VALUE_RANGE__INIT;
    Bt__RowFilter message = of_kind(BT__ROW_FILTER__FILTER_VALUE_RANGE_FILTER);
    message.value_range_filter = &range;
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_int_eq(filter.kind, STO_FILTER_VALUE_RANGE);
    expect_range("", false, NULL, false);

    range.start_value_case = BT__VALUE_RANGE__START_VALUE_START_VALUE_CLOSED;
    range.start_value_closed = binary("a");
    range.end_value_case = BT__VALUE_RANGE__END_VALUE_END_VALUE_OPEN;
    range.end_value_open = binary("b");
    ck_assert_int_eq(take(&message), ERR_OK);
    expect_range("a", false, "b", false);

    range.start_value_case = BT__VALUE_RANGE__START_VALUE_START_VALUE_OPEN;
    range.end_value_case = BT__VALUE_RANGE__END_VALUE_END_VALUE_CLOSED;
    ck_assert_int_eq(take(&message), ERR_OK);
    expect_range("a", true, "b", true);
}
END_TEST

/* --- filters in filters ------------------------------------------------------------------------
 */

START_TEST(members_keep_their_order)
{
    Bt__RowFilter a = of_kind(BT__ROW_FILTER__FILTER_VALUE_REGEX_FILTER);
    Bt__RowFilter b = of_kind(BT__ROW_FILTER__FILTER_VALUE_REGEX_FILTER);
    a.value_regex_filter = binary("a");
    b.value_regex_filter = binary("b");
    Bt__RowFilter *list[] = {&a, &b};
    Bt__RowFilter__Chain chain = BT__ROW_FILTER__CHAIN__INIT;
    Bt__RowFilter__Interleave interleave = BT__ROW_FILTER__INTERLEAVE__INIT;
    chain.filters = interleave.filters = list;
    chain.n_filters = interleave.n_filters = 2;
    for (int i = 0; i < 2; i++) {
        Bt__RowFilter message =
            of_kind(i == 0 ? BT__ROW_FILTER__FILTER_CHAIN : BT__ROW_FILTER__FILTER_INTERLEAVE);
        if (i == 0)
            message.chain = &chain;
        else
            message.interleave = &interleave;
        ck_assert_int_eq(take(&message), ERR_OK);
        ck_assert_int_eq(filter.kind, i == 0 ? STO_FILTER_CHAIN : STO_FILTER_INTERLEAVE);
        ck_assert_uint_eq(filter.member_count, 2);
        ck_assert(base_slice_is(filter.members[0].bytes, "a"));
        ck_assert(base_slice_is(filter.members[1].bytes, "b"));
    }
}
END_TEST

START_TEST(absent_branches_give_nothing)
{
    Bt__RowFilter pass = of_kind(BT__ROW_FILTER__FILTER_PASS_ALL_FILTER);
    pass.pass_all_filter = true;
    Bt__RowFilter__Condition condition = BT__ROW_FILTER__CONDITION__INIT;
    Bt__RowFilter message = of_kind(BT__ROW_FILTER__FILTER_CONDITION);
    message.condition = &condition;
    condition.predicate_filter = &pass;
    condition.false_filter = &pass;
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_int_eq(filter.kind, STO_FILTER_CONDITION);
    ck_assert_uint_eq(filter.member_count, 3);
    ck_assert_int_eq(filter.members[0].kind, STO_FILTER_PASS_ALL);
    ck_assert_int_eq(filter.members[1].kind, STO_FILTER_NONE);
    ck_assert_int_eq(filter.members[2].kind, STO_FILTER_PASS_ALL);
}
END_TEST

START_TEST(a_filter_without_a_kind_is_refused_wherever_it_stands)
{
    Bt__RowFilter none = BT__ROW_FILTER__INIT;
    ck_assert_int_eq(take(&none), ERR_INVALID);
    Bt__RowFilter__Condition condition = BT__ROW_FILTER__CONDITION__INIT;
    Bt__RowFilter message = of_kind(BT__ROW_FILTER__FILTER_CONDITION);
    message.condition = &condition;
    condition.true_filter = &none;
    ck_assert_int_eq(take(&message), ERR_INVALID);
}
END_TEST

START_TEST(a_kind_from_the_future_is_refused)
{
    static const uint8_t field_100[] = {0xa0, 0x06, 0x01};
    Bt__RowFilter *message = bt__row_filter__unpack(NULL, sizeof field_100, field_100);
    ck_assert_ptr_nonnull(message);
    ck_assert_int_eq(take(message), ERR_INVALID);
    bt__row_filter__free_unpacked(message, NULL);
}
END_TEST

START_TEST(no_memory_is_said)
{
    Bt__RowFilter__Chain chain = BT__ROW_FILTER__CHAIN__INIT;
    Bt__RowFilter message = of_kind(BT__ROW_FILTER__FILTER_CHAIN);
    message.chain = &chain;
    base_arena_fini(&arena);
    base_arena_init(&arena, 1);
    ck_assert_int_eq(take(&message), ERR_NO_MEMORY);
}
END_TEST

Suite *suite_grpc_filter_proto(void);
Suite *suite_grpc_filter_proto(void)
{
    Suite *s = suite_create("grpc_filter_proto");
    TCase *kinds = tcase_create("kinds");
    tcase_add_checked_fixture(kinds, setup, teardown);
    tcase_add_test(kinds, flags_must_be_true);
    tcase_add_test(kinds, patterns_labels_and_masks_are_taken_as_bytes);
    tcase_add_test(kinds, numbers_keep_their_value_and_sign);
    tcase_add_test(kinds, a_negative_limit_is_refused_when_compiled);
    tcase_add_test(kinds, timestamps_are_taken_as_they_are);
    suite_add_tcase(s, kinds);
    TCase *ranges = tcase_create("ranges");
    tcase_add_checked_fixture(ranges, setup, teardown);
    tcase_add_test(ranges, bounds_of_columns_are_closed_open_or_absent);
    tcase_add_test(ranges, bounds_of_values_are_closed_open_or_absent);
    suite_add_tcase(s, ranges);
    TCase *nested = tcase_create("nested");
    tcase_add_checked_fixture(nested, setup, teardown);
    tcase_add_test(nested, members_keep_their_order);
    tcase_add_test(nested, absent_branches_give_nothing);
    tcase_add_test(nested, a_filter_without_a_kind_is_refused_wherever_it_stands);
    tcase_add_test(nested, a_kind_from_the_future_is_refused);
    tcase_add_test(nested, no_memory_is_said);
    suite_add_tcase(s, nested);
    return s;
}

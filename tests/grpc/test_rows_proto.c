/*
 * tests/grpc/test_rows_proto.c - row sets of messages: keys, every pair of bounds, what is refused.
 */
#include <check.h>

#include "gateway/grpc/rows_proto.h"

#include "base/banned.h"

Suite *suite_grpc_rows_proto(void);

static struct arena arena;
static struct sto_row_set set;
static struct errbuf eb;
static uint8_t long_key[LIM_ROW_KEY + 1];

static void setup(void)
{
    base_arena_init(&arena, 64 * MIB);
    memset(long_key, 'k', sizeof long_key);
}

static void teardown(void)
{
    base_arena_fini(&arena);
}

static enum err take(const Bt__RowSet *message)
{
    eb.text[0] = '\0';
    enum err e = gw_rows_from_proto(message, &arena, &set, &eb);
    ck_assert_int_eq(e == ERR_OK, eb.text[0] == '\0');
    return e;
}

static ProtobufCBinaryData binary(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

/* NULL: no bound. */
static Bt__RowRange range_of(Bt__RowRange__StartKeyCase start_case, const char *start,
                             Bt__RowRange__EndKeyCase end_case, const char *end)
{
    Bt__RowRange range = BT__ROW_RANGE__INIT;
    if (start != NULL) {
        range.start_key_case = start_case;
        range.start_key_closed = binary(start);
    }
    if (end != NULL) {
        range.end_key_case = end_case;
        range.end_key_open = binary(end);
    }
    return range;
}

#define FROM  BT__ROW_RANGE__START_KEY_START_KEY_CLOSED
#define AFTER BT__ROW_RANGE__START_KEY_START_KEY_OPEN
#define UNTIL BT__ROW_RANGE__END_KEY_END_KEY_OPEN
#define TO    BT__ROW_RANGE__END_KEY_END_KEY_CLOSED

static enum err take_range(Bt__RowRange range, struct sto_row_range *out)
{
    eb.text[0] = '\0';
    return gw_range_from_proto(&range, &arena, out, &eb);
}

/* --- sets --------------------------------------------------------------------------------------
 */

START_TEST(no_set_and_an_empty_set_are_every_row)
{
    Bt__RowSet message = BT__ROW_SET__INIT;
    ck_assert_int_eq(take(NULL), ERR_OK);
    ck_assert_uint_eq(set.count, 0);
    ck_assert(!set.none);
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_uint_eq(set.count, 0);
    ck_assert(!set.none);
}
END_TEST

START_TEST(a_range_without_bounds_is_every_row)
{
    Bt__RowRange range = BT__ROW_RANGE__INIT;
    Bt__RowRange *ranges[] = {&range};
    Bt__RowSet message = BT__ROW_SET__INIT;
    message.row_ranges = ranges;
    message.n_row_ranges = 1;
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_uint_eq(set.count, 1);
    ck_assert_uint_eq(set.ranges[0].start.len, 0);
    ck_assert_uint_eq(set.ranges[0].end.len, 0);
}
END_TEST

START_TEST(keys_and_ranges_become_one_order)
{
    ProtobufCBinaryData keys[] = {binary("z"), binary("c"), binary("a"), binary("a")};
    Bt__RowRange range = range_of(FROM, "b", UNTIL, "d");
    Bt__RowRange *ranges[] = {&range};
    Bt__RowSet message = BT__ROW_SET__INIT;
    message.row_keys = keys;
    message.n_row_keys = 4;
    message.row_ranges = ranges;
    message.n_row_ranges = 1;
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_uint_eq(set.count, 3);
    ck_assert(base_slice_is(set.ranges[0].start, "a") && set.ranges[0].end_inclusive);
    ck_assert(base_slice_is(set.ranges[1].start, "b") && base_slice_is(set.ranges[1].end, "d"));
    ck_assert(base_slice_is(set.ranges[2].start, "z") && set.ranges[2].end_inclusive);
}
END_TEST

START_TEST(an_empty_key_is_refused_by_its_number)
{
    ProtobufCBinaryData keys[] = {binary("a"), binary("")};
    Bt__RowSet message = BT__ROW_SET__INIT;
    message.row_keys = keys;
    message.n_row_keys = 1;
    ck_assert_int_eq(take(&message), ERR_OK);
    message.n_row_keys = 2;
    ck_assert_int_eq(take(&message), ERR_INVALID);
    ck_assert_str_eq(eb.text, "Error in field 'row_keys' : Error in element #1 : "
                              "Row keys must be non-empty");
}
END_TEST

START_TEST(keys_and_bounds_have_a_limit)
{
    ProtobufCBinaryData key = {LIM_ROW_KEY, long_key};
    Bt__RowSet message = BT__ROW_SET__INIT;
    message.row_keys = &key;
    message.n_row_keys = 1;
    ck_assert_int_eq(take(&message), ERR_OK);
    key.len++;
    ck_assert_int_eq(take(&message), ERR_TOO_BIG);

    struct sto_row_range range;
    Bt__RowRange start = BT__ROW_RANGE__INIT;
    Bt__RowRange end = BT__ROW_RANGE__INIT;
    start.start_key_case = FROM;
    start.start_key_closed = (ProtobufCBinaryData){LIM_ROW_KEY, long_key};
    end.end_key_case = UNTIL;
    end.end_key_open = start.start_key_closed;
    ck_assert_int_eq(take_range(start, &range), ERR_OK);
    ck_assert_int_eq(take_range(end, &range), ERR_OK);
    start.start_key_closed.len++;
    end.end_key_open.len++;
    ck_assert_int_eq(take_range(start, &range), ERR_TOO_BIG);
    ck_assert_int_eq(take_range(end, &range), ERR_TOO_BIG);
}
END_TEST

START_TEST(a_set_has_a_limit)
{
    ProtobufCBinaryData *keys = base_arena_alloc(&arena, (LIM_ROW_SET + 1) * sizeof *keys);
    ck_assert_ptr_nonnull(keys);
    for (size_t i = 0; i < LIM_ROW_SET + 1; i++)
        keys[i] = binary("k");
    Bt__RowSet message = BT__ROW_SET__INIT;
    message.row_keys = keys;
    message.n_row_keys = LIM_ROW_SET;
    ck_assert_int_eq(take(&message), ERR_OK);
    ck_assert_uint_eq(set.count, 1);
    message.n_row_keys++;
    ck_assert_int_eq(take(&message), ERR_TOO_BIG);
}
END_TEST

START_TEST(no_memory_is_said)
{
    ProtobufCBinaryData key = binary("k");
    Bt__RowSet message = BT__ROW_SET__INIT;
    message.row_keys = &key;
    message.n_row_keys = 1;
    base_arena_fini(&arena);
    base_arena_init(&arena, 1);
    ck_assert_int_eq(take(&message), ERR_NO_MEMORY);
}
END_TEST

/* --- ranges ------------------------------------------------------------------------------------
 */

START_TEST(bounds_are_closed_open_or_absent)
{
    static const struct {
        Bt__RowRange__StartKeyCase start_case;
        const char *start;
        Bt__RowRange__EndKeyCase end_case;
        const char *end;
    } cases[] = {
        {FROM, "a", UNTIL, "b"}, {FROM, "a", TO, "b"},   {AFTER, "a", UNTIL, "b"},
        {AFTER, "a", TO, "b"},   {FROM, NULL, TO, "b"},  {FROM, NULL, UNTIL, "b"},
        {FROM, "a", TO, NULL},   {AFTER, "a", TO, NULL}, {FROM, "a", TO, "a"},
        {FROM, NULL, TO, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sto_row_range range;
        const char *start = cases[i].start, *end = cases[i].end;
        ck_assert_int_eq(
            take_range(range_of(cases[i].start_case, start, cases[i].end_case, end), &range),
            ERR_OK);
        ck_assert(base_slice_is(range.start, start == NULL ? "" : start));
        ck_assert(base_slice_is(range.end, end == NULL ? "" : end));
        ck_assert_int_eq(range.start_exclusive, start != NULL && cases[i].start_case == AFTER);
        ck_assert_int_eq(range.end_inclusive, end != NULL && cases[i].end_case == TO);
    }
}
END_TEST

/* Nothing is in front of the first key, and clients write "to the end" as an empty end. */
START_TEST(empty_bounds_are_none)
{
    struct sto_row_range range;
    ck_assert_int_eq(take_range(range_of(AFTER, "", UNTIL, ""), &range), ERR_OK);
    ck_assert_uint_eq(range.start.len + range.end.len, 0);
    ck_assert(!range.start_exclusive && !range.end_inclusive);
    ck_assert_int_eq(take_range(range_of(FROM, "", TO, ""), &range), ERR_OK);
    ck_assert_uint_eq(range.start.len + range.end.len, 0);
    ck_assert(!range.start_exclusive && !range.end_inclusive);
}
END_TEST

START_TEST(a_range_that_holds_no_key_is_refused_by_its_number)
{
    static const struct {
        Bt__RowRange__StartKeyCase start_case;
        const char *start;
        Bt__RowRange__EndKeyCase end_case;
        const char *end;
    } cases[] = {
        {FROM, "b", UNTIL, "a"}, {FROM, "b", TO, "a"},     {FROM, "a", UNTIL, "a"},
        {AFTER, "a", TO, "a"},   {AFTER, "a", UNTIL, "a"}, {AFTER, "b", TO, "a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Bt__RowRange good = BT__ROW_RANGE__INIT;
        Bt__RowRange bad =
            range_of(cases[i].start_case, cases[i].start, cases[i].end_case, cases[i].end);
        Bt__RowRange *ranges[] = {&good, &good, &bad};
        ProtobufCBinaryData key = binary("k"); /* keys are not counted */
        Bt__RowSet message = BT__ROW_SET__INIT;
        message.row_keys = &key;
        message.n_row_keys = 1;
        message.row_ranges = ranges;
        message.n_row_ranges = 3;
        ck_assert_int_eq(take(&message), ERR_INVALID);
        ck_assert_str_eq(eb.text, "Error in field 'row_ranges' : Error in element #2 : "
                                  "start_key must be less than end_key");
    }
}
END_TEST

Suite *suite_grpc_rows_proto(void);
Suite *suite_grpc_rows_proto(void)
{
    Suite *s = suite_create("grpc_rows_proto");
    TCase *sets = tcase_create("sets");
    tcase_add_checked_fixture(sets, setup, teardown);
    tcase_add_test(sets, no_set_and_an_empty_set_are_every_row);
    tcase_add_test(sets, a_range_without_bounds_is_every_row);
    tcase_add_test(sets, keys_and_ranges_become_one_order);
    tcase_add_test(sets, an_empty_key_is_refused_by_its_number);
    tcase_add_test(sets, keys_and_bounds_have_a_limit);
    tcase_add_test(sets, a_set_has_a_limit);
    tcase_add_test(sets, no_memory_is_said);
    suite_add_tcase(s, sets);
    TCase *ranges = tcase_create("ranges");
    tcase_add_checked_fixture(ranges, setup, teardown);
    tcase_add_test(ranges, bounds_are_closed_open_or_absent);
    tcase_add_test(ranges, empty_bounds_are_none);
    tcase_add_test(ranges, a_range_that_holds_no_key_is_refused_by_its_number);
    suite_add_tcase(s, ranges);
    return s;
}

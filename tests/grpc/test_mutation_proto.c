/*
 * tests/grpc/test_mutation_proto.c - mutations of messages: every kind, what is absent or unknown,
 * limits.
 */
#include <check.h>

#include "gateway/cell_fields.h"
#include "gateway/grpc/mutation_proto.h"

#include "base/banned.h"

Suite *suite_grpc_mutation_proto(void);

static struct arena arena;
static struct sto_schema *schema;
static struct sto_mutation *list;
static struct errbuf eb;

static void setup(void)
{
    static const struct sto_family_spec families[] = {
        {.name = SLICE_LIT("plain")},
        {.name = SLICE_LIT("sum"), .aggregate = STO_AGGREGATE_SUM},
        {.name = SLICE_LIT("hll"), .aggregate = STO_AGGREGATE_HLL},
    };
    struct sto_table_spec table = {.families = families, .family_count = 3};
    ck_assert_int_eq(sto_schema_make(SLICE_LIT("t"), NULL, &table, &schema, NULL), ERR_OK);
    base_arena_init(&arena, 64 * MIB);
}

static void teardown(void)
{
    sto_schema_unref(schema);
    base_arena_fini(&arena);
}

static uint16_t number_of(const char *family)
{
    return sto_schema_family(schema, base_slice_text(family))->number;
}

static ProtobufCBinaryData binary(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

static enum err take(Bt__Mutation *message)
{
    eb.text[0] = '\0';
    list = NULL;
    enum err e = gw_mutations_from_proto(schema, &message, 1, &arena, &list, &eb);
    ck_assert_int_eq(e == ERR_OK, eb.text[0] == '\0');
    ck_assert_int_eq(e == ERR_OK, list != NULL);
    return e;
}

/* As the caller has it: also past what storage looks at before a commit. */
static enum err take_and_check(Bt__Mutation *message)
{
    struct sto_account account;
    sto_account_init(&account, 0);
    enum err e = take(message);
    return e == ERR_OK ? sto_mutations_check(schema, &account, SLICE_LIT("r"), list, 1, &eb) : e;
}

/* --- plain cells -------------------------------------------------------------------------------
 */

START_TEST(set_cell_has_column_time_and_value)
{
    Bt__Mutation__SetCell set = BT__MUTATION__SET_CELL__INIT;
    Bt__Mutation message = BT__MUTATION__INIT;
    message.mutation_case = BT__MUTATION__MUTATION_SET_CELL;
    message.set_cell = &set;
    set.family_name = (char[]){"plain"};
    set.column_qualifier = binary("q");
    set.value = (ProtobufCBinaryData){2, (uint8_t[]){0, 0xff}};
    set.timestamp_micros = 5000;
    ck_assert_int_eq(take_and_check(&message), ERR_OK);
    ck_assert_int_eq(list->kind, STO_SET_CELL);
    ck_assert_uint_eq(list->family, number_of("plain"));
    ck_assert(base_slice_is(list->qualifier, "q"));
    ck_assert(base_slice_equal(list->value, base_slice("\0\xff", 2)));
    ck_assert_int_eq(list->timestamp_us, 5000);

    set.column_qualifier = binary("");
    set.value = binary("");
    set.timestamp_micros = 0;
    ck_assert_int_eq(take_and_check(&message), ERR_OK);
    ck_assert_int_eq(list->timestamp_us, 0);
    set.timestamp_micros = -1;
    ck_assert_int_eq(take_and_check(&message), ERR_OK);
    ck_assert_int_eq(list->timestamp_us, STO_TIMESTAMP_SERVER);
    set.timestamp_micros = -2;
    ck_assert_int_eq(take_and_check(&message), ERR_INVALID);
}
END_TEST

START_TEST(only_times_a_client_made_itself_are_cut_to_milliseconds)
{
    Bt__Mutation__SetCell set = BT__MUTATION__SET_CELL__INIT;
    Bt__Mutation message = BT__MUTATION__INIT;
    message.mutation_case = BT__MUTATION__MUTATION_SET_CELL;
    message.set_cell = &set;
    set.family_name = (char[]){"plain"};
    set.timestamp_micros = 5999;
    ck_assert_int_eq(take_and_check(&message), ERR_INVALID);
    message.timestamp_origin = BT__MUTATION__TIMESTAMP_ORIGIN__USER_SPECIFIED;
    ck_assert_int_eq(take_and_check(&message), ERR_INVALID);
    message.timestamp_origin = BT__MUTATION__TIMESTAMP_ORIGIN__CLIENT_AUTO_GENERATED;
    ck_assert_int_eq(take_and_check(&message), ERR_OK);
    ck_assert_int_eq(list->timestamp_us, 5000);
    set.timestamp_micros = -1;
    ck_assert_int_eq(take_and_check(&message), ERR_OK);
    ck_assert_int_eq(list->timestamp_us, STO_TIMESTAMP_SERVER);
}
END_TEST

START_TEST(deletes_name_a_column_with_times_a_family_or_the_row)
{
    Bt__Mutation__DeleteFromColumn column = BT__MUTATION__DELETE_FROM_COLUMN__INIT;
    Bt__Mutation__DeleteFromFamily family = BT__MUTATION__DELETE_FROM_FAMILY__INIT;
    Bt__Mutation__DeleteFromRow row = BT__MUTATION__DELETE_FROM_ROW__INIT;
    Bt__TimestampRange times = BT__TIMESTAMP_RANGE__INIT;
    Bt__Mutation message = BT__MUTATION__INIT;
    message.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_COLUMN;
    message.delete_from_column = &column;
    column.family_name = (char[]){"plain"};
    column.column_qualifier = binary("q");
    ck_assert_int_eq(take_and_check(&message), ERR_OK);
    ck_assert_int_eq(list->kind, STO_DELETE_FROM_COLUMN);
    ck_assert(base_slice_is(list->qualifier, "q"));
    ck_assert_int_eq(list->start_us, 0);
    ck_assert_int_eq(list->end_us, 0);
    column.time_range = &times;
    times.start_timestamp_micros = 1000;
    times.end_timestamp_micros = 3000;
    ck_assert_int_eq(take_and_check(&message), ERR_OK);
    ck_assert_int_eq(list->start_us, 1000);
    ck_assert_int_eq(list->end_us, 3000);

    message.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_FAMILY;
    message.delete_from_family = &family;
    family.family_name = (char[]){"hll"};
    ck_assert_int_eq(take_and_check(&message), ERR_OK);
    ck_assert_int_eq(list->kind, STO_DELETE_FROM_FAMILY);
    ck_assert_uint_eq(list->family, number_of("hll"));

    message.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_ROW;
    message.delete_from_row = &row;
    ck_assert_int_eq(take_and_check(&message), ERR_OK);
    ck_assert_int_eq(list->kind, STO_DELETE_FROM_ROW);
}
END_TEST

/* --- aggregates --------------------------------------------------------------------------------
 */

struct aggregate {
    Bt__Mutation message;
    Bt__Mutation__AddToCell add;
    Bt__Mutation__MergeToCell merge;
    Bt__Value qualifier;
    Bt__Value timestamp;
    Bt__Value input;
};

/* An addition, or a merge, of 7 to column sum:q at 1000, in place. */
static void aggregate_init(struct aggregate *a, bool merge)
{
    static char family[] = "sum";
    bt__mutation__init(&a->message);
    bt__mutation__add_to_cell__init(&a->add);
    bt__mutation__merge_to_cell__init(&a->merge);
    bt__value__init(&a->qualifier);
    bt__value__init(&a->timestamp);
    bt__value__init(&a->input);
    a->qualifier.kind_case = BT__VALUE__KIND_RAW_VALUE;
    a->qualifier.raw_value = binary("q");
    a->timestamp.kind_case = BT__VALUE__KIND_RAW_TIMESTAMP_MICROS;
    a->timestamp.raw_timestamp_micros = 1000;
    a->input.kind_case = BT__VALUE__KIND_INT_VALUE;
    a->input.int_value = 7;
    a->add.family_name = a->merge.family_name = family;
    a->add.column_qualifier = a->merge.column_qualifier = &a->qualifier;
    a->add.timestamp = a->merge.timestamp = &a->timestamp;
    a->add.input = a->merge.input = &a->input;
    if (merge) {
        a->message.mutation_case = BT__MUTATION__MUTATION_MERGE_TO_CELL;
        a->message.merge_to_cell = &a->merge;
    } else {
        a->message.mutation_case = BT__MUTATION__MUTATION_ADD_TO_CELL;
        a->message.add_to_cell = &a->add;
    }
}

START_TEST(integers_become_the_bytes_of_an_aggregate)
{
    struct aggregate a;
    for (int merge = 0; merge < 2; merge++) {
        aggregate_init(&a, merge == 1);
        a.input.int_value = -2;
        ck_assert_int_eq(take_and_check(&a.message), ERR_OK);
        ck_assert_int_eq(list->kind, merge == 1 ? STO_MERGE_TO_CELL : STO_ADD_TO_CELL);
        ck_assert_uint_eq(list->family, number_of("sum"));
        ck_assert(base_slice_is(list->qualifier, "q"));
        ck_assert_int_eq(list->timestamp_us, 1000);
        ck_assert_int_eq(gw_integer_of_bytes(list->value), -2);
    }
}
END_TEST

START_TEST(raw_bytes_must_be_what_the_family_adds)
{
    struct aggregate a;
    for (int merge = 0; merge < 2; merge++) {
        aggregate_init(&a, merge == 1);
        a.input.kind_case = BT__VALUE__KIND_RAW_VALUE;
        a.input.raw_value = (ProtobufCBinaryData){8, (uint8_t[]){0, 0, 0, 0, 0, 0, 0, 9}};
        ck_assert_int_eq(take_and_check(&a.message), ERR_OK);
        ck_assert_int_eq(gw_integer_of_bytes(list->value), 9);
        a.input.raw_value.len = 7;
        ck_assert_int_eq(take_and_check(&a.message), ERR_INVALID);
    }
}
END_TEST

START_TEST(distinct_counts_take_bytes_and_text_but_no_integers)
{
    struct aggregate a;
    aggregate_init(&a, false);
    a.add.family_name = (char[]){"hll"};
    ck_assert_int_eq(take_and_check(&a.message), ERR_INVALID);
    a.input.kind_case = BT__VALUE__KIND_BYTES_VALUE;
    a.input.bytes_value = binary("user-1");
    ck_assert_int_eq(take_and_check(&a.message), ERR_OK);
    ck_assert(base_slice_is(list->value, "user-1"));
    a.input.kind_case = BT__VALUE__KIND_STRING_VALUE;
    a.input.string_value = (char[]){"user-2"};
    ck_assert_int_eq(take_and_check(&a.message), ERR_OK);
    ck_assert(base_slice_is(list->value, "user-2"));
    a.input.kind_case = BT__VALUE__KIND_RAW_VALUE;
    a.input.raw_value = binary("user-3");
    ck_assert_int_eq(take_and_check(&a.message), ERR_OK);
    ck_assert(base_slice_is(list->value, "user-3"));
}
END_TEST

START_TEST(sums_take_no_text)
{
    struct aggregate a;
    aggregate_init(&a, false);
    a.input.kind_case = BT__VALUE__KIND_STRING_VALUE;
    a.input.string_value = (char[]){"12345678"};
    ck_assert_int_eq(take(&a.message), ERR_INVALID);
    a.input.kind_case = BT__VALUE__KIND_BYTES_VALUE;
    a.input.bytes_value = binary("12345678");
    ck_assert_int_eq(take(&a.message), ERR_INVALID);
}
END_TEST

START_TEST(a_state_of_a_distinct_count_must_be_one)
{
    struct aggregate a;
    aggregate_init(&a, true);
    a.merge.family_name = (char[]){"hll"};
    a.input.kind_case = BT__VALUE__KIND_RAW_VALUE;
    a.input.raw_value = binary("no state");
    ck_assert_int_eq(take_and_check(&a.message), ERR_INVALID);
    struct buf state;
    base_buf_init(&state, STO_AGGREGATE_STATE_MAX);
    ck_assert_int_eq(sto_aggregate_add(STO_AGGREGATE_HLL, SLICE_EMPTY, SLICE_LIT("x"), &state, &eb),
                     ERR_OK);
    a.input.raw_value = (ProtobufCBinaryData){state.len, state.ptr};
    ck_assert_int_eq(take_and_check(&a.message), ERR_OK);
    base_buf_fini(&state);
}
END_TEST

START_TEST(parts_of_an_aggregate_must_be_of_their_kind)
{
    static const Bt__Value__KindCase wrong[] = {
        BT__VALUE__KIND__NOT_SET, BT__VALUE__KIND_BOOL_VALUE, BT__VALUE__KIND_FLOAT_VALUE,
        BT__VALUE__KIND_TIMESTAMP_VALUE, BT__VALUE__KIND_ARRAY_VALUE};
    struct aggregate a;
    for (int merge = 0; merge < 2; merge++) {
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            aggregate_init(&a, merge == 1);
            a.qualifier.kind_case = wrong[i];
            ck_assert_int_eq(take(&a.message), ERR_INVALID);
            aggregate_init(&a, merge == 1);
            a.timestamp.kind_case = wrong[i];
            ck_assert_int_eq(take(&a.message), ERR_INVALID);
            aggregate_init(&a, merge == 1);
            a.input.kind_case = wrong[i];
            ck_assert_int_eq(take(&a.message), ERR_INVALID);
        }
        aggregate_init(&a, merge == 1);
        a.add.column_qualifier = a.merge.column_qualifier = NULL;
        ck_assert_int_eq(take(&a.message), ERR_INVALID);
        aggregate_init(&a, merge == 1);
        a.add.timestamp = a.merge.timestamp = NULL;
        ck_assert_int_eq(take(&a.message), ERR_INVALID);
        aggregate_init(&a, merge == 1);
        a.add.input = a.merge.input = NULL;
        ck_assert_int_eq(take(&a.message), ERR_INVALID);
    }
}
END_TEST

START_TEST(families_of_plain_cells_are_not_added_to)
{
    struct aggregate a;
    for (int merge = 0; merge < 2; merge++) {
        aggregate_init(&a, merge == 1);
        a.add.family_name = a.merge.family_name = (char[]){"plain"};
        ck_assert_int_eq(take_and_check(&a.message), ERR_INVALID);
        a.input.kind_case = BT__VALUE__KIND_RAW_VALUE;
        a.input.raw_value = binary("12345678");
        ck_assert_int_eq(take_and_check(&a.message), ERR_INVALID);
    }
}
END_TEST

/* --- lists -------------------------------------------------------------------------------------
 */

START_TEST(no_kind_and_a_kind_from_the_future_are_refused_by_their_number)
{
    static const uint8_t field_100[] = {0xa2, 0x06, 0x00};
    Bt__Mutation__DeleteFromRow row = BT__MUTATION__DELETE_FROM_ROW__INIT;
    Bt__Mutation good = BT__MUTATION__INIT;
    good.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_ROW;
    good.delete_from_row = &row;
    Bt__Mutation *unknown = bt__mutation__unpack(NULL, sizeof field_100, field_100);
    ck_assert_ptr_nonnull(unknown);
    Bt__Mutation *messages[] = {&good, unknown};
    ck_assert_int_eq(gw_mutations_from_proto(schema, messages, 1, &arena, &list, &eb), ERR_OK);
    ck_assert_int_eq(gw_mutations_from_proto(schema, messages, 2, &arena, &list, &eb), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "mutation 2:"));
    bt__mutation__free_unpacked(unknown, NULL);
}
END_TEST

START_TEST(an_unknown_family_is_not_found_by_its_name)
{
    Bt__Mutation__DeleteFromFamily family = BT__MUTATION__DELETE_FROM_FAMILY__INIT;
    Bt__Mutation message = BT__MUTATION__INIT;
    message.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_FAMILY;
    message.delete_from_family = &family;
    family.family_name = (char[]){"nosuch"};
    ck_assert_int_eq(take(&message), ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(eb.text, "nosuch"));
    family.family_name = (char[]){""};
    ck_assert_int_eq(take(&message), ERR_NOT_FOUND);
}
END_TEST

START_TEST(lists_have_a_limit)
{
    Bt__Mutation__DeleteFromRow row = BT__MUTATION__DELETE_FROM_ROW__INIT;
    Bt__Mutation message = BT__MUTATION__INIT;
    message.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_ROW;
    message.delete_from_row = &row;
    size_t count = LIM_MUTATIONS_PER_ROW + 1;
    Bt__Mutation **messages = base_arena_alloc(&arena, count * sizeof *messages);
    ck_assert_ptr_nonnull(messages);
    for (size_t i = 0; i < count; i++)
        messages[i] = &message;
    ck_assert_int_eq(gw_mutations_from_proto(schema, messages, count - 1, &arena, &list, &eb),
                     ERR_OK);
    ck_assert_int_eq(gw_mutations_from_proto(schema, messages, count, &arena, &list, &eb),
                     ERR_TOO_BIG);
    ck_assert_str_eq(eb.text, "Too many mutations: 100001 provided; limit 100000");
    base_arena_fini(&arena);
    base_arena_init(&arena, 1);
    Bt__Mutation *one[] = {&message};
    ck_assert_int_eq(gw_mutations_from_proto(schema, one, 1, &arena, &list, &eb), ERR_NO_MEMORY);
}
END_TEST

Suite *suite_grpc_mutation_proto(void);
Suite *suite_grpc_mutation_proto(void)
{
    Suite *s = suite_create("grpc_mutation_proto");
    TCase *plain = tcase_create("plain");
    tcase_add_checked_fixture(plain, setup, teardown);
    tcase_add_test(plain, set_cell_has_column_time_and_value);
    tcase_add_test(plain, only_times_a_client_made_itself_are_cut_to_milliseconds);
    tcase_add_test(plain, deletes_name_a_column_with_times_a_family_or_the_row);
    suite_add_tcase(s, plain);
    TCase *aggregates = tcase_create("aggregates");
    tcase_add_checked_fixture(aggregates, setup, teardown);
    tcase_add_test(aggregates, integers_become_the_bytes_of_an_aggregate);
    tcase_add_test(aggregates, raw_bytes_must_be_what_the_family_adds);
    tcase_add_test(aggregates, distinct_counts_take_bytes_and_text_but_no_integers);
    tcase_add_test(aggregates, sums_take_no_text);
    tcase_add_test(aggregates, a_state_of_a_distinct_count_must_be_one);
    tcase_add_test(aggregates, parts_of_an_aggregate_must_be_of_their_kind);
    tcase_add_test(aggregates, families_of_plain_cells_are_not_added_to);
    suite_add_tcase(s, aggregates);
    TCase *lists = tcase_create("lists");
    tcase_add_checked_fixture(lists, setup, teardown);
    tcase_add_test(lists, no_kind_and_a_kind_from_the_future_are_refused_by_their_number);
    tcase_add_test(lists, an_unknown_family_is_not_found_by_its_name);
    tcase_add_test(lists, lists_have_a_limit);
    suite_add_tcase(s, lists);
    return s;
}

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
static uint8_t *bytes; /* zeros: LIM_CELL_BYTES + 1 */

static void setup(void)
{
    bytes = base_new(LIM_CELL_BYTES + 1);
    sto_account_init(&account, 0);
    struct sto_family_spec spec = {.name = SLICE_LIT("f")};
    struct sto_table_spec table = {.families = &spec, .family_count = 1};
    ck_assert_int_eq(sto_schema_make(SLICE_LIT("t"), NULL, &table, &schema, NULL), ERR_OK);
}

static void teardown(void)
{
    sto_schema_unref(schema);
    base_free(bytes);
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
    ck_assert_int_eq(sto_row_key_check(NULL, SLICE_EMPTY, NULL), ERR_INVALID);
    ck_assert_int_eq(sto_row_key_check(NULL, base_slice(bytes, 1), NULL), ERR_OK);
    ck_assert_int_eq(sto_row_key_check(NULL, base_slice(bytes, LIM_ROW_KEY), NULL), ERR_OK);
    ck_assert_int_eq(sto_row_key_check(NULL, base_slice(bytes, LIM_ROW_KEY + 1), NULL),
                     ERR_TOO_BIG);
    ck_assert_int_eq(sto_qualifier_check(NULL, SLICE_EMPTY, NULL), ERR_OK);
    ck_assert_int_eq(sto_qualifier_check(NULL, base_slice(bytes, LIM_QUALIFIER), NULL), ERR_OK);
    ck_assert_int_eq(sto_qualifier_check(NULL, base_slice(bytes, LIM_QUALIFIER + 1), NULL),
                     ERR_TOO_BIG);
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
    sto_account_limit_set(&account, STO_LIMIT_CELL, 10);
    m.value.len = 10;
    ck_assert_int_eq(check_one(m), ERR_OK);
    m.value.len = 11;
    ck_assert_int_eq(check_one(m), ERR_TOO_BIG);
    sto_account_limit_set(&account, STO_LIMIT_CELL, LIM_CELL_BYTES_HARD);
    m.value.len = LIM_CELL_BYTES_HARD; /* only its length is looked at */
    ck_assert_int_eq(check_one(m), ERR_OK);
    m.value.len++;
    ck_assert_int_eq(check_one(m), ERR_TOO_BIG);
}
END_TEST

START_TEST(keys_and_qualifiers_follow_the_account_where_cells_are_made)
{
    sto_account_limit_set(&account, STO_LIMIT_ROW_KEY, 3);
    sto_account_limit_set(&account, STO_LIMIT_QUALIFIER, 4);
    for (int kind = STO_SET_CELL; kind <= STO_INCREMENT; kind++) {
        if (kind == STO_ADD_TO_CELL || kind == STO_MERGE_TO_CELL)
            continue; /* of aggregates, checked alike */
        struct sto_mutation m = {.kind = (enum sto_mutation_kind)kind, .family = 1};
        bool deletes = sto_mutations_only_delete(&m, 1);
        enum err wanted = deletes ? ERR_OK : ERR_TOO_BIG;
        m.qualifier = base_slice(bytes, 4);
        ck_assert_int_eq(check_one(m), ERR_OK);
        ck_assert_int_eq(sto_mutations_check(schema, &account, SLICE_LIT("rowX"), &m, 1, NULL),
                         wanted);
        m.qualifier.len = 5;
        ck_assert_int_eq(check_one(m), wanted);
        struct slice longest = base_slice(bytes, LIM_ROW_KEY);
        ck_assert_int_eq(sto_mutations_check(schema, &account, longest, &m, 1, NULL), wanted);
        longest.len++;
        ck_assert_int_eq(sto_mutations_check(schema, &account, longest, &m, 1, NULL), ERR_TOO_BIG);
        m.qualifier.len = LIM_QUALIFIER + 1;
        bool has_qualifier = kind != STO_DELETE_FROM_FAMILY && kind != STO_DELETE_FROM_ROW;
        ck_assert_int_eq(check_one(m), has_qualifier ? ERR_TOO_BIG : ERR_OK);
    }
}
END_TEST

START_TEST(number_of_mutations_follows_the_account)
{
    struct sto_mutation list[4];
    struct slice row = SLICE_LIT("row");
    for (size_t i = 0; i < 4; i++)
        list[i] = (struct sto_mutation){.kind = STO_SET_CELL, .family = 1};
    sto_account_limit_set(&account, STO_LIMIT_MUTATIONS, 3);
    ck_assert_int_eq(sto_mutations_check(schema, &account, row, list, 3, NULL), ERR_OK);
    struct errbuf eb = {{0}};
    ck_assert_int_eq(sto_mutations_check(schema, &account, row, list, 4, &eb), ERR_TOO_BIG);
    ck_assert_str_eq(eb.text, "the change of the row has 4 mutations; the limit is 3 (this "
                              "tenant's mutations_per_row)");
    for (size_t i = 0; i < 4; i++) /* deletes can be sent in several requests */
        list[i] = (struct sto_mutation){.kind = STO_DELETE_FROM_ROW};
    ck_assert_int_eq(sto_mutations_check(schema, &account, row, list, 4, NULL), ERR_TOO_BIG);
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

/* Families of a second table: 1 plain, 2 sum, 3 hll. */
static enum err check_kind(enum sto_mutation_kind kind, uint16_t family, struct slice value,
                           int64_t timestamp_us)
{
    struct sto_family_spec specs[] = {{.name = SLICE_LIT("p")},
                                      {.name = SLICE_LIT("s"), .aggregate = STO_AGGREGATE_SUM},
                                      {.name = SLICE_LIT("h"), .aggregate = STO_AGGREGATE_HLL}};
    struct sto_table_spec table = {.families = specs, .family_count = 3};
    struct sto_schema *made = NULL;
    struct sto_mutation m = {
        .kind = kind, .family = family, .value = value, .timestamp_us = timestamp_us};
    ck_assert_int_eq(sto_schema_make(SLICE_LIT("t"), NULL, &table, &made, NULL), ERR_OK);
    enum err rc = sto_mutations_check(made, &account, SLICE_LIT("row"), &m, 1, NULL);
    sto_schema_unref(made);
    return rc;
}

START_TEST(families_take_the_mutations_of_their_kind)
{
    struct slice eight = base_slice(bytes, 8);
    for (uint16_t family = 1; family <= 3; family++) {
        enum err plain = family == 1 ? ERR_OK : ERR_INVALID;
        enum err adds = family == 1 ? ERR_INVALID : ERR_OK;
        enum err merges = family == 2 ? ERR_OK : ERR_INVALID; /* 8 bytes are no hll state */
        ck_assert_int_eq(check_kind(STO_SET_CELL, family, eight, 0), plain);
        ck_assert_int_eq(check_kind(STO_APPEND, family, eight, 0), plain);
        ck_assert_int_eq(check_kind(STO_INCREMENT, family, SLICE_EMPTY, 0), plain);
        ck_assert_int_eq(check_kind(STO_ADD_TO_CELL, family, eight, 0), adds);
        ck_assert_int_eq(check_kind(STO_MERGE_TO_CELL, family, eight, 0), merges);
        ck_assert_int_eq(check_kind(STO_DELETE_FROM_COLUMN, family, SLICE_EMPTY, 0), ERR_OK);
        ck_assert_int_eq(check_kind(STO_DELETE_FROM_FAMILY, family, SLICE_EMPTY, 0), ERR_OK);
    }
    ck_assert_int_eq(check_kind(STO_ADD_TO_CELL, 4, eight, 0), ERR_NOT_FOUND);
    ck_assert_int_eq(check_kind(STO_ADD_TO_CELL, 2, base_slice(bytes, 7), 0), ERR_INVALID);
    ck_assert_int_eq(check_kind(STO_ADD_TO_CELL, 3, base_slice(bytes, 7), 0), ERR_OK);
    ck_assert_int_eq(check_kind(STO_MERGE_TO_CELL, 3, SLICE_LIT("\x01"), 0), ERR_OK);
}
END_TEST

START_TEST(inputs_and_timestamps_of_aggregates_have_limits)
{
    struct slice eight = base_slice(bytes, 8);
    ck_assert_int_eq(check_kind(STO_ADD_TO_CELL, 2, eight, STO_TIMESTAMP_SERVER), ERR_OK);
    ck_assert_int_eq(check_kind(STO_ADD_TO_CELL, 2, eight, 1000), ERR_OK);
    ck_assert_int_eq(check_kind(STO_ADD_TO_CELL, 2, eight, 1001), ERR_INVALID);
    ck_assert_int_eq(check_kind(STO_MERGE_TO_CELL, 2, eight, -2), ERR_INVALID);
    for (uint16_t family = 1; family <= 3; family += 2) {
        enum sto_mutation_kind kind = family == 1 ? STO_APPEND : STO_ADD_TO_CELL;
        ck_assert_int_eq(check_kind(kind, family, base_slice(bytes, LIM_CELL_BYTES), 0), ERR_OK);
        ck_assert_int_eq(check_kind(kind, family, base_slice(bytes, LIM_CELL_BYTES + 1), 0),
                         ERR_TOO_BIG);
    }
}
END_TEST

START_TEST(rules_are_limited_and_stand_alone)
{
    struct sto_mutation *rules = base_new_array(LIM_MODIFY_RULES + 1, sizeof(*rules));
    struct slice row = SLICE_LIT("row");
    for (size_t i = 0; i <= LIM_MODIFY_RULES; i++)
        rules[i] = (struct sto_mutation){.kind = i % 2 ? STO_APPEND : STO_INCREMENT, .family = 1};
    ck_assert_int_eq(sto_mutations_check(schema, &account, row, rules, LIM_MODIFY_RULES, NULL),
                     ERR_OK);
    ck_assert_int_eq(sto_mutations_check(schema, &account, row, rules, LIM_MODIFY_RULES + 1, NULL),
                     ERR_TOO_BIG);
    rules[1].kind = STO_SET_CELL;
    ck_assert_int_eq(sto_mutations_check(schema, &account, row, rules, 3, NULL), ERR_INVALID);
    base_free(rules);
}
END_TEST

START_TEST(everything_but_deletes_can_grow)
{
    for (int kind = STO_SET_CELL; kind <= STO_INCREMENT; kind++) {
        struct sto_mutation m[] = {{.kind = STO_DELETE_FROM_ROW},
                                   {.kind = (enum sto_mutation_kind)kind}};
        bool deletes = kind == STO_DELETE_FROM_COLUMN || kind == STO_DELETE_FROM_FAMILY ||
                       kind == STO_DELETE_FROM_ROW;
        ck_assert_int_eq(sto_mutations_only_delete(m, 2), deletes);
    }
    ck_assert(sto_mutations_only_delete(NULL, 0));
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
    tcase_add_test(t, keys_and_qualifiers_follow_the_account_where_cells_are_made);
    tcase_add_test(t, number_of_mutations_follows_the_account);
    tcase_add_test(t, families_must_exist);
    tcase_add_test(t, time_ranges_must_hold_something);
    tcase_add_test(t, number_of_mutations_is_limited);
    tcase_add_test(t, families_take_the_mutations_of_their_kind);
    tcase_add_test(t, inputs_and_timestamps_of_aggregates_have_limits);
    tcase_add_test(t, rules_are_limited_and_stand_alone);
    tcase_add_test(t, everything_but_deletes_can_grow);
    tcase_add_test(t, prefix_ranges_end_behind_the_prefix);
    tcase_add_test(t, reversed_and_empty_ranges_are_refused);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/grpc/test_rules_proto.c - rules of read-modify-write and tokens of idempotency in messages.
 */
#include <check.h>

#include "base/clock.h"
#include "gateway/grpc/mutation_proto.h"

#include "base/banned.h"

Suite *suite_grpc_rules_proto(void);

static struct arena arena;
static struct sto_schema *schema;
static struct sto_mutation *list;
static struct errbuf eb;

static void setup(void)
{
    static const struct sto_family_spec family = {.name = SLICE_LIT("plain")};
    struct sto_table_spec table = {.families = &family, .family_count = 1};
    ck_assert_int_eq(sto_schema_make(SLICE_LIT("t"), NULL, &table, &schema, NULL), ERR_OK);
    base_arena_init(&arena, MIB);
}

static void teardown(void)
{
    sto_schema_unref(schema);
    base_arena_fini(&arena);
}

static ProtobufCBinaryData binary(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

/* --- rules -------------------------------------------------------------------------------------
 */

START_TEST(rules_append_or_increment)
{
    Bt__ReadModifyWriteRule append = BT__READ_MODIFY_WRITE_RULE__INIT;
    Bt__ReadModifyWriteRule increment = BT__READ_MODIFY_WRITE_RULE__INIT;
    append.family_name = increment.family_name = (char[]){"plain"};
    append.column_qualifier = binary("q");
    append.rule_case = BT__READ_MODIFY_WRITE_RULE__RULE_APPEND_VALUE;
    append.append_value = binary("more");
    increment.rule_case = BT__READ_MODIFY_WRITE_RULE__RULE_INCREMENT_AMOUNT;
    increment.increment_amount = INT64_MIN;
    Bt__ReadModifyWriteRule *rules[] = {&append, &increment};
    ck_assert_int_eq(gw_rules_from_proto(schema, rules, 2, &arena, &list, &eb), ERR_OK);
    ck_assert_int_eq(list[0].kind, STO_APPEND);
    ck_assert_uint_eq(list[0].family, sto_schema_family(schema, SLICE_LIT("plain"))->number);
    ck_assert(base_slice_is(list[0].qualifier, "q"));
    ck_assert(base_slice_is(list[0].value, "more"));
    ck_assert_int_eq(list[1].kind, STO_INCREMENT);
    ck_assert_int_eq(list[1].increment, INT64_MIN);

    increment.rule_case = BT__READ_MODIFY_WRITE_RULE__RULE__NOT_SET;
    ck_assert_int_eq(gw_rules_from_proto(schema, rules, 2, &arena, &list, &eb), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "rule 2:"));
    append.family_name = (char[]){"nosuch"};
    ck_assert_int_eq(gw_rules_from_proto(schema, rules, 1, &arena, &list, &eb), ERR_NOT_FOUND);
}
END_TEST

START_TEST(rules_have_a_limit)
{
    Bt__ReadModifyWriteRule rule = BT__READ_MODIFY_WRITE_RULE__INIT;
    Bt__ReadModifyWriteRule *rules[LIM_MODIFY_RULES + 1];
    rule.family_name = (char[]){"plain"};
    rule.rule_case = BT__READ_MODIFY_WRITE_RULE__RULE_INCREMENT_AMOUNT;
    for (size_t i = 0; i < LIM_MODIFY_RULES + 1; i++)
        rules[i] = &rule;
    ck_assert_int_eq(gw_rules_from_proto(schema, rules, LIM_MODIFY_RULES, &arena, &list, &eb),
                     ERR_OK);
    ck_assert_int_eq(gw_rules_from_proto(schema, rules, LIM_MODIFY_RULES + 1, &arena, &list, &eb),
                     ERR_TOO_BIG);
}
END_TEST

/* --- tokens ------------------------------------------------------------------------------------
 */

START_TEST(a_token_comes_with_the_time_of_the_first_attempt_or_now)
{
    struct sto_idempotency out = {.start_us = 1};
    Bt__Idempotency message = BT__IDEMPOTENCY__INIT;
    Google__Protobuf__Timestamp start = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    ck_assert_int_eq(gw_idempotency_from_proto(NULL, &out, &eb), ERR_OK);
    ck_assert_uint_eq(out.token.len, 0);

    message.token = binary("12345678");
    int64_t before = base_wall_us();
    ck_assert_int_eq(gw_idempotency_from_proto(&message, &out, &eb), ERR_OK);
    ck_assert(base_slice_is(out.token, "12345678"));
    ck_assert_int_ge(out.start_us, before);
    ck_assert_int_le(out.start_us, base_wall_us());

    message.start_time = &start;
    start.seconds = 1700000000;
    start.nanos = 123456789;
    ck_assert_int_eq(gw_idempotency_from_proto(&message, &out, &eb), ERR_OK);
    ck_assert_int_eq(out.start_us, 1700000000123456);
}
END_TEST

START_TEST(an_empty_token_and_times_that_are_none_are_refused)
{
    struct sto_idempotency out;
    Bt__Idempotency message = BT__IDEMPOTENCY__INIT;
    Google__Protobuf__Timestamp start = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    ck_assert_int_eq(gw_idempotency_from_proto(&message, &out, &eb), ERR_INVALID);
    message.token = binary("12345678");
    message.start_time = &start;
    start.nanos = -1;
    ck_assert_int_eq(gw_idempotency_from_proto(&message, &out, &eb), ERR_INVALID);
    start.nanos = 1000000000;
    ck_assert_int_eq(gw_idempotency_from_proto(&message, &out, &eb), ERR_INVALID);
    start.nanos = 999999999;
    ck_assert_int_eq(gw_idempotency_from_proto(&message, &out, &eb), ERR_OK);
    start.seconds = INT64_MAX;
    ck_assert_int_eq(gw_idempotency_from_proto(&message, &out, &eb), ERR_INVALID);
    start.seconds = INT64_MAX / 1000000;
    ck_assert_int_eq(gw_idempotency_from_proto(&message, &out, &eb), ERR_INVALID);
    start.seconds = INT64_MIN;
    ck_assert_int_eq(gw_idempotency_from_proto(&message, &out, &eb), ERR_INVALID);
}
END_TEST

Suite *suite_grpc_rules_proto(void);
Suite *suite_grpc_rules_proto(void)
{
    Suite *s = suite_create("grpc_rules_proto");
    TCase *rules = tcase_create("rules");
    tcase_add_checked_fixture(rules, setup, teardown);
    tcase_add_test(rules, rules_append_or_increment);
    tcase_add_test(rules, rules_have_a_limit);
    suite_add_tcase(s, rules);
    TCase *tokens = tcase_create("tokens");
    tcase_add_checked_fixture(tokens, setup, teardown);
    tcase_add_test(tokens, a_token_comes_with_the_time_of_the_first_attempt_or_now);
    tcase_add_test(tokens, an_empty_token_and_times_that_are_none_are_refused);
    suite_add_tcase(s, tokens);
    return s;
}

/*
 * tests/grpc/test_hard_filters.c - filters that take long to compile or to match: they hold nobody
 * up, they are charged, and what cannot be matched is refused, over both protocols.
 */
#include "calls.h"

#include "base/text.h"
#include "tests/support/random.h"
#include "tests/support/rates.h"

#include "base/banned.h"

Suite *suite_grpc_hard_filters(void);

enum { PATTERNS_MAX = 32 };

/* request.filter is an interleave of so many times the pattern, values. */
static void use_patterns(const char *pattern, size_t count)
{
    static Bt__RowFilter each[PATTERNS_MAX];
    static Bt__RowFilter *all[PATTERNS_MAX];
    static Bt__RowFilter__Interleave interleave;
    ck_assert_uint_le(count, PATTERNS_MAX);
    for (size_t i = 0; i < count; i++) {
        bt__row_filter__init(&each[i]);
        each[i].filter_case = BT__ROW_FILTER__FILTER_VALUE_REGEX_FILTER;
        each[i].value_regex_filter = binary(pattern);
        all[i] = &each[i];
    }
    bt__row_filter__interleave__init(&interleave);
    interleave.filters = all;
    interleave.n_filters = count;
    filter.filter_case = BT__ROW_FILTER__FILTER_INTERLEAVE;
    filter.interleave = &interleave;
    request.filter = &filter;
}

/* 4 ms each of RE2's time, in 90 bytes of filter. */
static void use_filter_that_compiles_long(void)
{
    use_patterns("(.{0,500}.{0,500}){2}", 3);
}

static void use_row(const char *key)
{
    keys[0] = binary(key);
    use_keys(1);
}

/* Row "k" has one value, of a and b by chance. */
static void put_value(size_t len)
{
    struct random r = {3};
    uint8_t *value = base_new(len);
    for (size_t i = 0; i < len; i++)
        value[i] = "ab"[random_below(&r, 2)];
    make_mutate(0);
    cell.set.value = (ProtobufCBinaryData){.data = value, .len = len};
    expect_status(grpc_ask(&client, BIGTABLE "MutateRow", &mutate.base), GW_STATUS_OK, "");
    base_free(value);
}

static uint64_t parsed(const char *text)
{
    uint64_t number = 0;
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(base_parse_u64(base_slice_text(text), &number), ERR_OK);
    return number;
}

static uint64_t cost_of(const struct grpc_call *call)
{
    return parsed(call->cost);
}

/* --- compiling --------------------------------------------------------------------------------
 */

/* Both come with one packet; the loop answers the second one while the helper compiles. Without
 * that, they are answered in the order in which they came. */
static void expect_overtaken(const struct grpc_call *slow, const struct grpc_call *quick)
{
    grpc_await(&client);
    expect_status(slow, GW_STATUS_OK, "");
    expect_status(quick, GW_STATUS_OK, "");
    ck_assert_uint_lt(quick->closed_nth, slow->closed_nth);
}

START_TEST(a_read_overtakes_one_whose_filter_compiles_long)
{
    Bt__ReadRowsRequest plain = BT__READ_ROWS_REQUEST__INIT;
    put_value(1); /* answered at once, from memory */
    use_row("k");
    use_filter_that_compiles_long();
    const struct grpc_call *slow = grpc_start(&client, READ_ROWS, &request.base, NULL);
    plain.table_name = table;
    plain.rows = &rows;
    expect_overtaken(slow, grpc_start(&client, READ_ROWS, &plain.base, NULL));
}
END_TEST

START_TEST(a_write_overtakes_a_check_whose_filter_compiles_long)
{
    Bt__CheckAndMutateRowRequest check = BT__CHECK_AND_MUTATE_ROW_REQUEST__INIT;
    put_value(1);
    use_filter_that_compiles_long();
    make_mutate(1);
    check.table_name = table;
    check.row_key = mutate.row_key;
    check.predicate_filter = &filter;
    check.true_mutations = mutations;
    check.n_true_mutations = 1;
    const struct grpc_call *slow =
        grpc_start(&client, BIGTABLE "CheckAndMutateRow", &check.base, NULL);
    expect_overtaken(slow, grpc_start(&client, BIGTABLE "MutateRow", &mutate.base, NULL));
}
END_TEST

#define LONG_JSON                                                                                  \
    "{'interleave':[{'value_regex':'(.{0,500}.{0,500}){2}'},{'value_regex':'a(.{0,500}.{0,500})"   \
    "{2}'},{'value_regex':'(.{0,500}.{0,500}){2}'}]}"

/* Of what compiling takes, 1 ms costs 62. */
START_TEST(compiling_is_charged_over_both_protocols)
{
    put_value(10);
    use_row("k");
    use_patterns("[ab]*", 3);
    ck_assert_uint_eq(cost_of(grpc_ask(&client, READ_ROWS, &request.base)), 1);
    use_filter_that_compiles_long();
    ck_assert_uint_ge(cost_of(grpc_ask(&client, READ_ROWS, &request.base)), 10);
    http_json(w.http, "POST", "{'keys':['k'],'filter':" LONG_JSON ",'stats':true}",
              "/v1/tables/devices:read");
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(http_number(w.http, "/stats/rows_returned"), 1);
    ck_assert_int_ge(http_number(w.http, "/stats/cost"), 10);
}
END_TEST

/* CheckAndMutateRow of row "k", with request.filter as predicate. */
static const struct grpc_call *check_row(void)
{
    static Bt__CheckAndMutateRowRequest check;
    bt__check_and_mutate_row_request__init(&check);
    make_mutate(1);
    check.table_name = table;
    check.row_key = mutate.row_key;
    check.predicate_filter = &filter;
    check.true_mutations = mutations;
    check.n_true_mutations = 1;
    return grpc_ask(&client, BIGTABLE "CheckAndMutateRow", &check.base);
}

/* 1 ms costs 250 of a write. */
START_TEST(compiling_a_predicate_is_charged_over_both_protocols)
{
    put_value(10);
    use_patterns("[ab]*", 3);
    ck_assert_uint_le(cost_of(check_row()), 3);
    use_filter_that_compiles_long();
    const struct grpc_call *call = check_row();
    expect_status(call, GW_STATUS_OK, "");
    ck_assert_uint_ge(cost_of(call), 40);
    http_json(w.http, "POST",
              "{'predicate':" LONG_JSON ",'then':[{'set_cell':{'family':'raw','qualifier':'x',"
              "'value':'1'}}]}",
              "/v1/tables/devices/rows/k:check");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_ge(parsed(http_header(w.http, "bigtent-cost")), 40);
    /* what is refused afterwards is not for nothing */
    http_json(w.http, "POST",
              "{'predicate':" LONG_JSON ",'then':[{'set_cell':{'family':'raw','qualifier':'x',"
              "'timestamp':'17','value':'1'}}]}",
              "/v1/tables/devices/rows/k:check");
    EXPECT_STATUS(w.http, 400);
    ck_assert_uint_ge(parsed(http_header(w.http, "bigtent-cost")), 40);
}
END_TEST

/* Compiling is owed, whatever becomes of the write. */
START_TEST(compiling_a_predicate_is_charged_when_a_rate_refuses_the_write)
{
    put_value(200 * KIB);
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':1024," RATE_DEBT "}");
    http_get(w.http, "/v1/tables/devices/rows/k");
    EXPECT_STATUS(w.http, 200);
    use_filter_that_compiles_long();
    const struct grpc_call *call = check_row();
    expect_status(call, GW_STATUS_RESOURCE_EXHAUSTED, "read_bytes");
    ck_assert_uint_ge(cost_of(call), 40);
    http_json(w.http, "POST", "{'predicate':" LONG_JSON ",'then':[{'delete_from_row':{}}]}",
              "/v1/tables/devices/rows/k:check");
    EXPECT_PROBLEM(w.http, 429, "rate_limited");
    ck_assert_str_eq(http_string(w.http, "/violated-policies/0"), "read_bytes");
    ck_assert_uint_ge(parsed(http_header(w.http, "bigtent-cost")), 40);
}
END_TEST

/* What is wrong with a filter is said in the same way, whichever thread compiled it. */
START_TEST(a_long_filter_that_is_wrong_is_refused)
{
    put_value(10);
    use_row("k");
    use_patterns("(.{0,500}.{0,500}){2}(", 3);
    expect_refused(GW_STATUS_INVALID_ARGUMENT, "value_regex: regular expression is not valid");
    http_json(w.http, "POST", "{'filter':{'value_regex':'(.{0,500}.{0,500}){2}('}}",
              "/v1/tables/devices:read");
    EXPECT_STATUS(w.http, 400);
    http_json(w.http, "POST",
              "{'predicate':{'value_regex':'(.{0,500}.{0,500}){2}('},'then':[{'delete_row':true}]}",
              "/v1/tables/devices/rows/k:check");
    EXPECT_STATUS(w.http, 400);
}
END_TEST

START_TEST(a_check_with_a_long_filter_decides_as_one_with_a_short_one)
{
    put_value(10);
    http_json(w.http, "POST",
              "{'predicate':" LONG_JSON ",'then':[{'set_cell':{'family':'raw','qualifier':'x',"
              "'value':'1'}}]}",
              "/v1/tables/devices/rows/k:check");
    EXPECT_STATUS(w.http, 200);
    ck_assert_ptr_nonnull(strstr(http_text(w.http), "\"matched\":true"));
}
END_TEST

/* --- matching ---------------------------------------------------------------------------------
 */

/* Each of the six takes 13 ms or more. */
START_TEST(a_read_overtakes_those_that_match_a_large_value)
{
    enum { HARD = 6 };
    struct grpc_call *slow[HARD];
    Bt__ReadRowsRequest plain = BT__READ_ROWS_REQUEST__INIT;
    put_value(MIB); /* in memory */
    put(w.http, "small");
    use_row("k");
    use_patterns("\\C*x\\C*", 8);
    for (int i = 0; i < HARD; i++)
        slow[i] = grpc_start(&client, READ_ROWS, &request.base, NULL);
    use_row("small");
    plain.table_name = table;
    plain.rows = &rows;
    const struct grpc_call *quick = grpc_start(&client, READ_ROWS, &plain.base, NULL);
    grpc_await(&client);
    expect_status(quick, GW_STATUS_OK, "");
    for (int i = 0; i < HARD; i++) {
        expect_status(slow[i], GW_STATUS_OK, "");
        ck_assert_uint_lt(quick->closed_nth, slow[i]->closed_nth);
    }
}
END_TEST

/* 256 bytes for a microsecond, of which 512 bytes of a value are matched: 1 for each 8 KiB. */
START_TEST(matching_is_charged_by_bytes_and_patterns)
{
    put_value(4 * MIB);
    use_row("k");
    use_patterns("x*", 2);
    uint64_t two = cost_of(grpc_ask(&client, READ_ROWS, &request.base));
    use_patterns("x*", PATTERNS_MAX);
    uint64_t many = cost_of(grpc_ask(&client, READ_ROWS, &request.base));
    uint64_t each = 4 * MIB / (8 * KIB);
    ck_assert_uint_ge(two, 1024 + 2 * each);
    ck_assert_uint_ge(many - two, (PATTERNS_MAX - 2) * each);
    ck_assert_uint_le(many - two, (PATTERNS_MAX - 2) * each * 5 / 4);
}
END_TEST

/* 1 KiB of a write costs as much as 4 of a read. */
START_TEST(matching_a_predicate_is_charged_by_bytes_and_patterns)
{
    put_value(4 * MIB);
    use_patterns("x*", 2);
    uint64_t two = cost_of(check_row());
    use_patterns("x*", PATTERNS_MAX);
    uint64_t many = cost_of(check_row());
    uint64_t each = 4 * MIB / (2 * KIB);
    ck_assert_uint_ge(two, 4096 + 2 * each);
    ck_assert_uint_ge(many - two, (PATTERNS_MAX - 2) * each);
    ck_assert_uint_le(many - two, (PATTERNS_MAX - 2) * each * 5 / 4);
}
END_TEST

START_TEST(a_value_that_takes_too_many_states_is_refused)
{
    put_value(2 * MIB);
    put(w.http, "small");
    use_row("k");
    use_patterns("(?s)(.*a.{900})", 2);
    expect_refused(GW_STATUS_INVALID_ARGUMENT,
                   "value_regex: 2097152 bytes took a regular expression through more states");
    http_json(w.http, "POST", "{'filter':{'value_regex':'(?s)(.*a.{900})'}}",
              "/v1/tables/devices:read");
    EXPECT_STATUS(w.http, 413);
    ck_assert_ptr_nonnull(strstr(http_text(w.http), "value_regex: 2097152 bytes"));
    /* The user leaves the large column out. */
    http_json(w.http, "POST",
              "{'filter':{'chain':[{'family_name_regex':'stats'},"
              "{'value_regex':'(?s)(.*v.{0,900})'}]},'stats':true}",
              "/v1/tables/devices:read");
    EXPECT_STATUS(w.http, 200);
    ck_assert_ptr_nonnull(strstr(http_text(w.http), "\"rows_returned\":1"));
}
END_TEST

Suite *suite_grpc_hard_filters(void)
{
    Suite *suite = suite_create("grpc_hard_filters");
    TCase *tc = add_case(suite, "compiling");
    tcase_add_test(tc, a_read_overtakes_one_whose_filter_compiles_long);
    tcase_add_test(tc, a_write_overtakes_a_check_whose_filter_compiles_long);
    tcase_add_test(tc, compiling_is_charged_over_both_protocols);
    tcase_add_test(tc, compiling_a_predicate_is_charged_over_both_protocols);
    tcase_add_test(tc, compiling_a_predicate_is_charged_when_a_rate_refuses_the_write);
    tcase_add_test(tc, a_long_filter_that_is_wrong_is_refused);
    tcase_add_test(tc, a_check_with_a_long_filter_decides_as_one_with_a_short_one);
    tc = add_case(suite, "matching");
    tcase_add_test(tc, a_read_overtakes_those_that_match_a_large_value);
    tcase_add_test(tc, matching_is_charged_by_bytes_and_patterns);
    tcase_add_test(tc, matching_a_predicate_is_charged_by_bytes_and_patterns);
    tcase_add_test(tc, a_value_that_takes_too_many_states_is_refused);
    return suite;
}

/*
 * tests/grpc/test_mutate_row.c - MutateRow, CheckAndMutateRow and ReadModifyWriteRow of a running
 * server: what they do, what they answer, what they refuse whole.
 */
#include <check.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "gateway/grpc/status.h"
#include "tests/grpc/writes.h"

#include "base/banned.h"

Suite *suite_grpc_mutate_row(void);

static struct world w;
static struct grpc_client client;
static struct grpc_call *call;
static char table[TABLE_NAME];

static void begin(void)
{
    world_init(&w, HTTP_2);
    http_json(w.http, "POST", "{'create':{'hits':{'type':'sum'}}}", "/v1/tables/devices:families");
    EXPECT_STATUS(w.http, 200);
    grpc_open(&client, world_server(), w.key, 0);
    (void)table_name(table, &w);
}

static void tear_down(void)
{
    grpc_close(&client);
    world_fini(&w);
}

static void expect_cell(const char *key, const char *family, const char *qualifier,
                        const char *value)
{
    http_get(w.http, "/v1/tables/devices/cells/%s/%s/%s", key, family, qualifier);
    EXPECT_STATUS(w.http, value == NULL ? 404 : 200);
    if (value != NULL)
        ck_assert_str_eq(http_text(w.http), value);
}

/* Its grpc-status; the call is the last one. */
static int ask(const char *method, const ProtobufCMessage *message)
{
    call = grpc_ask(&client, method, message);
    return call->status;
}

/* --- MutateRow ---------------------------------------------------------------------------------
 */

static int mutate(const char *key, Bt__Mutation **list, size_t count)
{
    Bt__MutateRowRequest request = BT__MUTATE_ROW_REQUEST__INIT;
    request.table_name = table;
    request.row_key = binary(key);
    request.mutations = list;
    request.n_mutations = count;
    return ask(BIGTABLE "MutateRow", &request.base);
}

START_TEST(mutations_are_applied_in_their_order)
{
    struct set_cell first, second;
    Bt__Mutation__DeleteFromRow row = BT__MUTATION__DELETE_FROM_ROW__INIT;
    Bt__Mutation clear = BT__MUTATION__INIT;
    begin();
    clear.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_ROW;
    clear.delete_from_row = &row;
    Bt__Mutation *list[] = {set_cell(&first, "stats", "gone", "x"), &clear,
                            set_cell(&second, "raw", "there", "y")};
    ck_assert_int_eq(mutate("k", list, 3), GW_STATUS_OK);
    ck_assert_uint_eq(grpc_message_count(call), 1);
    ck_assert_uint_eq(call->body.len, 5); /* a message of nothing */
    expect_cell("k", "stats", "gone", NULL);
    expect_cell("k", "raw", "there", "y");
    EXPECT_USAGE(admin_recount(w.op, w.tenant), tenant_usage(w.http).bytes, 1, 1);
}
END_TEST

START_TEST(a_row_is_unchanged_when_one_of_its_mutations_is_refused)
{
    struct set_cell good, bad;
    begin();
    Bt__Mutation *list[] = {set_cell(&good, "stats", "q", "x"), set_cell(&bad, "nosuch", "q", "x")};
    ck_assert_int_eq(mutate("k", list, 2), GW_STATUS_NOT_FOUND);
    ck_assert_uint_eq(grpc_message_count(call), 0);
    ck_assert_ptr_nonnull(strstr(call->message, "nosuch"));
    list[1] = set_cell(&bad, "stats", "r", "x");
    bad.set.timestamp_micros = 1001;
    ck_assert_int_eq(mutate("k", list, 2), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(call->message, "mutation 2"));
    bad.mutation.mutation_case = BT__MUTATION__MUTATION__NOT_SET;
    ck_assert_int_eq(mutate("k", list, 2), GW_STATUS_INVALID_ARGUMENT);
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

START_TEST(row_keys_and_lists_must_not_be_empty_or_too_long)
{
    static char key[LIM_ROW_KEY + 2];
    struct set_cell set;
    begin();
    memset(key, 'k', LIM_ROW_KEY + 1);
    Bt__Mutation *list[] = {set_cell(&set, "stats", "q", "x")};
    ck_assert_int_eq(mutate("", list, 1), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(mutate("k", list, 0), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(mutate(key, list, 1), GW_STATUS_INVALID_ARGUMENT);
    key[LIM_ROW_KEY] = '\0';
    ck_assert_int_eq(mutate(key, list, 1), GW_STATUS_OK);
}
END_TEST

static void use_key(const char *key)
{
    grpc_close(&client);
    grpc_open(&client, world_server(), key, 0);
}

START_TEST(other_tables_and_other_callers_are_refused)
{
    struct set_cell set;
    char reader[WORLD_KEY], id[WORLD_ID];
    begin();
    Bt__Mutation *list[] = {set_cell(&set, "stats", "q", "x")};
    memcpy(strstr(table, "devices"), "nothere", strlen("nothere"));
    ck_assert_int_eq(mutate("k", list, 1), GW_STATUS_NOT_FOUND);
    (void)table_name(table, &w);
    use_key("nobody");
    ck_assert_int_eq(mutate("k", list, 1), GW_STATUS_UNAUTHENTICATED);
    admin_create_key(w.op, w.tenant, "['data.read']", reader, id);
    use_key(reader);
    ck_assert_int_eq(mutate("k", list, 1), GW_STATUS_PERMISSION_DENIED);
    use_key(w.key);
    ck_assert_int_eq(mutate("k", list, 1), GW_STATUS_OK);
}
END_TEST

START_TEST(a_quota_that_is_full_comes_without_retry_info_and_lets_deletes_pass)
{
    struct set_cell set;
    Bt__Mutation__DeleteFromRow row = BT__MUTATION__DELETE_FROM_ROW__INIT;
    Bt__Mutation clear = BT__MUTATION__INIT;
    begin();
    clear.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_ROW;
    clear.delete_from_row = &row;
    Bt__Mutation *list[] = {set_cell(&set, "stats", "q", "x"), NULL};
    admin_set_quota(w.op, w.tenant, "{'rows':1}");
    ck_assert_int_eq(mutate("a", list, 1), GW_STATUS_OK);
    ck_assert_int_eq(mutate("b", list, 1), GW_STATUS_RESOURCE_EXHAUSTED);
    Rpc__Status *status = grpc_status_new(call);
    ck_assert_ptr_nonnull(grpc_detail(status, "QuotaFailure"));
    ck_assert_ptr_null(grpc_detail(status, "RetryInfo"));
    rpc__status__free_unpacked(status, NULL);
    list[0] = &clear;
    ck_assert_int_eq(mutate("a", list, 1), GW_STATUS_OK);
}
END_TEST

/* --- tokens ------------------------------------------------------------------------------------
 */

static int add_once(int64_t n, const char *token, int64_t start_s)
{
    struct add_to_cell add;
    Bt__Idempotency idempotency = BT__IDEMPOTENCY__INIT;
    Google__Protobuf__Timestamp start = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    Bt__MutateRowRequest request = BT__MUTATE_ROW_REQUEST__INIT;
    Bt__Mutation *list[] = {add_to_cell(&add, "hits", "n", n)};
    start.seconds = start_s;
    idempotency.token = binary(token);
    idempotency.start_time = start_s == 0 ? NULL : &start;
    request.table_name = table;
    request.row_key = binary("k");
    request.mutations = list;
    request.n_mutations = 1;
    request.idempotency = &idempotency;
    return ask(BIGTABLE "MutateRow", &request.base);
}

static void expect_hits(uint8_t n)
{
    const uint8_t bytes[8] = {0, 0, 0, 0, 0, 0, 0, n};
    http_get(w.http, "/v1/tables/devices/cells/k/hits/n");
    EXPECT_STATUS(w.http, 200);
    ck_assert(base_slice_equal(base_buf_slice(&w.http->body), base_slice(bytes, sizeof bytes)));
}

START_TEST(a_token_makes_a_retry_change_nothing)
{
    begin();
    int64_t now_s = base_wall_us() / 1000000;
    ck_assert_int_eq(add_once(5, "token-one", now_s), GW_STATUS_OK);
    ck_assert_int_eq(add_once(5, "token-one", now_s), GW_STATUS_OK);
    expect_hits(5);
    ck_assert_int_eq(add_once(5, "token-two", 0), GW_STATUS_OK);
    expect_hits(10);
    ck_assert_int_eq(add_once(6, "token-one", now_s), GW_STATUS_FAILED_PRECONDITION);
    ck_assert_int_eq(add_once(5, "old-token", now_s - 16 * 60), GW_STATUS_FAILED_PRECONDITION);
    ck_assert_int_eq(add_once(5, "short-7", 0), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(add_once(5, "", 0), GW_STATUS_INVALID_ARGUMENT);
    expect_hits(10);
}
END_TEST

/* --- CheckAndMutateRow -------------------------------------------------------------------------
 */

struct check {
    Bt__CheckAndMutateRowRequest request;
    struct set_cell yes, no;
    Bt__Mutation *then[1], *otherwise[1];
};

/* Sets stats:yes or stats:no of row k. */
static void check_init(struct check *c)
{
    bt__check_and_mutate_row_request__init(&c->request);
    c->then[0] = set_cell(&c->yes, "stats", "yes", "x");
    c->otherwise[0] = set_cell(&c->no, "stats", "no", "x");
    c->request.table_name = table;
    c->request.row_key = binary("k");
    c->request.true_mutations = c->then;
    c->request.false_mutations = c->otherwise;
    c->request.n_true_mutations = c->request.n_false_mutations = 1;
}

static int check_send(const struct check *c)
{
    return ask(BIGTABLE "CheckAndMutateRow", &c->request.base);
}

static bool matched(void)
{
    ck_assert_uint_eq(grpc_message_count(call), 1);
    Bt__CheckAndMutateRowResponse *reply = (Bt__CheckAndMutateRowResponse *)grpc_message_new(
        call, &bt__check_and_mutate_row_response__descriptor, 0);
    bool matched = reply->predicate_matched;
    bt__check_and_mutate_row_response__free_unpacked(reply, NULL);
    return matched;
}

START_TEST(without_a_predicate_it_asks_whether_the_row_exists)
{
    struct check c;
    begin();
    check_init(&c);
    ck_assert_int_eq(check_send(&c), GW_STATUS_OK);
    ck_assert(!matched());
    expect_cell("k", "stats", "no", "x");
    expect_cell("k", "stats", "yes", NULL);
    ck_assert_int_eq(check_send(&c), GW_STATUS_OK);
    ck_assert(matched());
    expect_cell("k", "stats", "yes", "x");
}
END_TEST

START_TEST(a_predicate_chooses_the_list)
{
    Bt__RowFilter filter = BT__ROW_FILTER__INIT;
    struct check c;
    begin();
    tenant_put(w.http, "devices", "k", "raw", "state", "on");
    check_init(&c);
    c.request.predicate_filter = &filter;
    filter.filter_case = BT__ROW_FILTER__FILTER_VALUE_REGEX_FILTER;
    filter.value_regex_filter = binary("off");
    ck_assert_int_eq(check_send(&c), GW_STATUS_OK);
    ck_assert(!matched());
    expect_cell("k", "stats", "yes", NULL);
    expect_cell("k", "stats", "no", "x");
    filter.value_regex_filter = binary("on");
    c.request.n_false_mutations = 0;
    ck_assert_int_eq(check_send(&c), GW_STATUS_OK);
    ck_assert(matched());
    expect_cell("k", "stats", "yes", "x");
}
END_TEST

START_TEST(a_list_may_be_empty_but_not_both)
{
    struct check c;
    begin();
    check_init(&c);
    c.request.n_false_mutations = 0;
    ck_assert_int_eq(check_send(&c), GW_STATUS_OK);
    ck_assert(!matched());
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
    c.request.n_true_mutations = 0;
    ck_assert_int_eq(check_send(&c), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_str_eq(call->message, "No mutations provided");
}
END_TEST

START_TEST(what_is_wrong_in_either_list_or_the_predicate_is_refused)
{
    Bt__RowFilter filter = BT__ROW_FILTER__INIT;
    struct check c;
    begin();
    check_init(&c);
    c.yes.set.family_name = (char[]){"nosuch"};
    ck_assert_int_eq(check_send(&c), GW_STATUS_NOT_FOUND);
    check_init(&c);
    c.no.set.timestamp_micros = 1;
    ck_assert_int_eq(check_send(&c), GW_STATUS_INVALID_ARGUMENT);
    check_init(&c);
    c.request.row_key = binary("");
    ck_assert_int_eq(check_send(&c), GW_STATUS_INVALID_ARGUMENT);
    check_init(&c);
    c.request.predicate_filter = &filter;
    ck_assert_int_eq(check_send(&c), GW_STATUS_INVALID_ARGUMENT);
    filter.filter_case = BT__ROW_FILTER__FILTER_VALUE_REGEX_FILTER;
    filter.value_regex_filter = binary("(");
    ck_assert_int_eq(check_send(&c), GW_STATUS_INVALID_ARGUMENT);
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

/* --- ReadModifyWriteRow ------------------------------------------------------------------------
 */

static void rule_init(Bt__ReadModifyWriteRule *rule, const char *family, const char *qualifier,
                      const char *append, int64_t increment)
{
    bt__read_modify_write_rule__init(rule);
    rule->family_name = (char *)(uintptr_t)family;
    rule->column_qualifier = binary(qualifier);
    if (append != NULL) {
        rule->rule_case = BT__READ_MODIFY_WRITE_RULE__RULE_APPEND_VALUE;
        rule->append_value = binary(append);
    } else {
        rule->rule_case = BT__READ_MODIFY_WRITE_RULE__RULE_INCREMENT_AMOUNT;
        rule->increment_amount = increment;
    }
}

static int modify(Bt__ReadModifyWriteRule **rules, size_t count)
{
    Bt__ReadModifyWriteRowRequest request = BT__READ_MODIFY_WRITE_ROW_REQUEST__INIT;
    request.table_name = table;
    request.row_key = binary("k");
    request.rules = rules;
    request.n_rules = count;
    return ask(BIGTABLE "ReadModifyWriteRow", &request.base);
}

static void expect_column(const Bt__Column *column, const char *qualifier, struct slice value)
{
    ck_assert(base_slice_is(base_slice(column->qualifier.data, column->qualifier.len), qualifier));
    ck_assert_uint_eq(column->n_cells, 1);
    const Bt__Cell *cell = column->cells[0];
    ck_assert(base_slice_equal(base_slice(cell->value.data, cell->value.len), value));
    ck_assert_int_gt(cell->timestamp_micros, 0);
    ck_assert_int_eq(cell->timestamp_micros % 1000, 0);
    ck_assert_uint_eq(cell->n_labels, 0);
}

START_TEST(only_modified_cells_come_back_in_the_order_of_the_row)
{
    Bt__ReadModifyWriteRule a, b, c, d;
    Bt__ReadModifyWriteRule *rules[] = {&a, &b, &c, &d};
    begin();
    tenant_put(w.http, "devices", "k", "stats", "untouched", "x");
    tenant_put(w.http, "devices", "k", "stats", "log", "a");
    rule_init(&a, "raw", "n", NULL, 258);
    rule_init(&b, "stats", "log", "b", 0);
    rule_init(&c, "raw", "first", "1", 0);
    rule_init(&d, "stats", "log", "c", 0);
    ck_assert_int_eq(modify(rules, 4), GW_STATUS_OK);
    ck_assert_uint_eq(grpc_message_count(call), 1);
    Bt__ReadModifyWriteRowResponse *reply = (Bt__ReadModifyWriteRowResponse *)grpc_message_new(
        call, &bt__read_modify_write_row_response__descriptor, 0);
    const Bt__Row *row = reply->row;
    ck_assert_ptr_nonnull(row);
    ck_assert(base_slice_is(base_slice(row->key.data, row->key.len), "k"));
    ck_assert_uint_eq(row->n_families, 2);
    for (size_t i = 0; i < 2; i++) {
        const Bt__Family *family = row->families[i];
        bool is_stats = strcmp(family->name, "stats") == 0;
        ck_assert_uint_eq(family->n_columns, is_stats ? 1 : 2);
        if (is_stats) {
            expect_column(family->columns[0], "log", SLICE_LIT("abc"));
        } else {
            ck_assert_str_eq(family->name, "raw");
            expect_column(family->columns[0], "first", SLICE_LIT("1"));
            expect_column(family->columns[1], "n", base_slice("\0\0\0\0\0\0\1\2", 8));
        }
    }
    ck_assert_str_ne(row->families[0]->name, row->families[1]->name);
    bt__read_modify_write_row_response__free_unpacked(reply, NULL);
    expect_cell("k", "stats", "log", "abc");
    expect_cell("k", "stats", "untouched", "x");
}
END_TEST

START_TEST(a_value_of_seven_bytes_is_not_incremented_and_nothing_is_changed)
{
    Bt__ReadModifyWriteRule append, increment;
    Bt__ReadModifyWriteRule *rules[] = {&append, &increment};
    begin();
    tenant_put(w.http, "devices", "k", "stats", "n", "1234567");
    rule_init(&append, "stats", "log", "x", 0);
    rule_init(&increment, "stats", "n", NULL, 1);
    ck_assert_int_eq(modify(rules, 2), GW_STATUS_FAILED_PRECONDITION);
    ck_assert_uint_eq(grpc_message_count(call), 0);
    expect_cell("k", "stats", "log", NULL);
    expect_cell("k", "stats", "n", "1234567");
}
END_TEST

START_TEST(rules_that_cannot_be_are_refused)
{
    Bt__ReadModifyWriteRule rule;
    Bt__ReadModifyWriteRule *rules[LIM_MODIFY_RULES + 1];
    begin();
    rule_init(&rule, "stats", "n", NULL, 1);
    for (size_t i = 0; i < LIM_MODIFY_RULES + 1; i++)
        rules[i] = &rule;
    ck_assert_int_eq(modify(rules, 0), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(modify(rules, LIM_MODIFY_RULES + 1), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(modify(rules, LIM_MODIFY_RULES), GW_STATUS_OK);
    rule.family_name = (char[]){"nosuch"};
    ck_assert_int_eq(modify(rules, 1), GW_STATUS_NOT_FOUND);
    rule.family_name = (char[]){"hits"};
    ck_assert_int_eq(modify(rules, 1), GW_STATUS_INVALID_ARGUMENT);
    rule.rule_case = BT__READ_MODIFY_WRITE_RULE__RULE__NOT_SET;
    ck_assert_int_eq(modify(rules, 1), GW_STATUS_INVALID_ARGUMENT);
}
END_TEST

Suite *suite_grpc_mutate_row(void);
Suite *suite_grpc_mutate_row(void)
{
    Suite *s = suite_create("grpc_mutate_row");
    TCase *tc = tcase_create("one row");
    tcase_set_timeout(tc, 120);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_test(tc, mutations_are_applied_in_their_order);
    tcase_add_test(tc, a_row_is_unchanged_when_one_of_its_mutations_is_refused);
    tcase_add_test(tc, row_keys_and_lists_must_not_be_empty_or_too_long);
    tcase_add_test(tc, other_tables_and_other_callers_are_refused);
    tcase_add_test(tc, a_quota_that_is_full_comes_without_retry_info_and_lets_deletes_pass);
    tcase_add_test(tc, a_token_makes_a_retry_change_nothing);
    tcase_add_test(tc, without_a_predicate_it_asks_whether_the_row_exists);
    tcase_add_test(tc, a_predicate_chooses_the_list);
    tcase_add_test(tc, a_list_may_be_empty_but_not_both);
    tcase_add_test(tc, what_is_wrong_in_either_list_or_the_predicate_is_refused);
    tcase_add_test(tc, only_modified_cells_come_back_in_the_order_of_the_row);
    tcase_add_test(tc, a_value_of_seven_bytes_is_not_incremented_and_nothing_is_changed);
    tcase_add_test(tc, rules_that_cannot_be_are_refused);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

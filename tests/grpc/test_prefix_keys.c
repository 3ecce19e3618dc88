/*
 * tests/grpc/test_prefix_keys.c - keys limited to rows with a prefix, as Bigtable clients meet
 * them.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "gateway/grpc/method.h"
#include "tests/grpc/reads.h"
#include "tests/grpc/writes.h"

#include "base/banned.h"

Suite *suite_grpc_prefix_keys(void);

static struct grpc_call *call;
static char key_text[WORLD_KEY];

static void begin(void)
{
    set_up();
    put(w.http, "a#1");
    put(w.http, "b#1");
    http_json(w.op, "POST", "{'row_prefix':'a#'}", "/v1/admin/tenants/%s/keys", w.tenant);
    EXPECT_STATUS(w.op, 201);
    (void)snprintf(key_text, sizeof key_text, "%s", http_string(w.op, "/key"));
    grpc_close(&client);
    grpc_open(&client, world_server(), key_text, 0);
}

static int ask(const char *method, const ProtobufCMessage *message)
{
    char path[128];
    (void)snprintf(path, sizeof path, BIGTABLE "%s", method);
    call = grpc_ask(&client, path, message);
    return call->status;
}

START_TEST(reads_give_rows_with_the_prefix)
{
    begin();
    ck_assert_int_eq(ask("ReadRows", &request.base), GW_STATUS_OK);
    ck_assert_ptr_nonnull(memmem(call->body.ptr, call->body.len, "a#1", 3));
    ck_assert_ptr_null(memmem(call->body.ptr, call->body.len, "b#1", 3));
    keys[0] = data_of("b#1");
    rows.row_keys = keys;
    rows.n_row_keys = 1;
    request.rows = &rows;
    ck_assert_int_eq(ask("ReadRows", &request.base), GW_STATUS_OK);
    ck_assert_uint_eq(call->body.len, 0);
}
END_TEST

static int change(const char *method, const char *key)
{
    struct set_cell cell;
    Bt__Mutation *list[] = {set_cell(&cell, "stats", "q", "new")};
    Bt__MutateRowRequest one = BT__MUTATE_ROW_REQUEST__INIT;
    Bt__CheckAndMutateRowRequest check = BT__CHECK_AND_MUTATE_ROW_REQUEST__INIT;
    Bt__ReadModifyWriteRowRequest modify = BT__READ_MODIFY_WRITE_ROW_REQUEST__INIT;
    Bt__ReadModifyWriteRule rule = BT__READ_MODIFY_WRITE_RULE__INIT;
    Bt__ReadModifyWriteRule *rules[] = {&rule};
    char family[] = "stats";
    rule.family_name = family;
    rule.column_qualifier = binary("q");
    rule.rule_case = BT__READ_MODIFY_WRITE_RULE__RULE_APPEND_VALUE;
    rule.append_value = binary("x");
    one.table_name = check.table_name = modify.table_name = table;
    one.row_key = check.row_key = modify.row_key = binary(key);
    one.mutations = check.true_mutations = list;
    one.n_mutations = check.n_true_mutations = 1;
    modify.rules = rules;
    modify.n_rules = 1;
    if (strcmp(method, "MutateRow") == 0)
        return ask(method, &one.base);
    return ask(method, strcmp(method, "CheckAndMutateRow") == 0 ? &check.base : &modify.base);
}

START_TEST(a_row_without_the_prefix_is_refused)
{
    static const char *const methods[] = {"MutateRow", "CheckAndMutateRow", "ReadModifyWriteRow"};
    begin();
    ck_assert_int_eq(change(methods[_i], "b#1"), GW_STATUS_PERMISSION_DENIED);
    ck_assert_int_eq(change(methods[_i], "a"), GW_STATUS_PERMISSION_DENIED);
    ck_assert_int_eq(change(methods[_i], "a#1"), GW_STATUS_OK);
    http_get(w.http, "/v1/tables/devices/rows/b%%231");
    ck_assert_uint_eq(http_count(w.http, "/cells/stats/q"), 1);
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/0/value"), "v");
}
END_TEST

START_TEST(entries_are_refused_one_by_one)
{
    struct set_cell cell;
    Bt__Mutation *list[] = {set_cell(&cell, "stats", "q", "new")};
    Bt__MutateRowsRequest__Entry entries[2];
    Bt__MutateRowsRequest__Entry *pointers[] = {&entries[0], &entries[1]};
    Bt__MutateRowsRequest many = BT__MUTATE_ROWS_REQUEST__INIT;
    begin();
    for (size_t i = 0; i < 2; i++) {
        bt__mutate_rows_request__entry__init(&entries[i]);
        entries[i].row_key = binary(i == 0 ? "b#1" : "a#1");
        entries[i].mutations = list;
        entries[i].n_mutations = 1;
    }
    many.table_name = table;
    many.entries = pointers;
    many.n_entries = 2;
    ck_assert_int_eq(ask("MutateRows", &many.base), GW_STATUS_OK);
    http_get(w.http, "/v1/tables/devices/rows/b%%231");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/0/value"), "v");
    http_get(w.http, "/v1/tables/devices/rows/a%%231");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/0/value"), "new");
}
END_TEST

/* Made from the table of methods: a new one is refused until it says that it looks at prefixes. */
START_TEST(every_other_method_is_refused)
{
    size_t refused = 0;
    begin();
    for (size_t i = 0; i < gw_method_count; i++) {
        const struct gw_method *m = &gw_methods[i];
        char path[160];
        if (m->by_row || m->access == GW_ACCESS_NONE || m->request == NULL)
            continue;
        ProtobufCMessage *empty = base_new(m->request->sizeof_message);
        protobuf_c_message_init(m->request, empty);
        (void)snprintf(path, sizeof path, "/%s/%s", m->service, m->name);
        call = grpc_ask(&client, path, empty);
        base_free(empty);
        int status = call->status;
        grpc_close(&client); /* one has room for few calls */
        grpc_open(&client, world_server(), key_text, 0);
        ck_assert_msg(status == GW_STATUS_PERMISSION_DENIED, "%s: %d", path, status);
        refused++;
    }
    ck_assert_uint_ge(refused, 30);
}
END_TEST

Suite *suite_grpc_prefix_keys(void)
{
    Suite *s = suite_create("grpc_prefix_keys");
    TCase *tc = tcase_create("prefix_keys");
    tcase_set_timeout(tc, 120);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_test(tc, reads_give_rows_with_the_prefix);
    tcase_add_loop_test(tc, a_row_without_the_prefix_is_refused, 0, 3);
    tcase_add_test(tc, entries_are_refused_one_by_one);
    tcase_add_test(tc, every_other_method_is_refused);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/grpc/test_quotas.c - over a quota: RESOURCE_EXHAUSTED that says which, and never RetryInfo,
 * for clients repeat whatever carries it and a quota does not empty by itself.
 */
#include <check.h>
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <inttypes.h>
#include <string.h>

#include "gateway/grpc/status.h"
#include "tests/grpc/writes.h"

#include "base/banned.h"

#define TABLES "/google.bigtable.admin.v2.BigtableTableAdmin/"

Suite *suite_grpc_quotas(void);

static struct world w;
static struct grpc_client client;
static struct grpc_call *call;
static char table[TABLE_NAME];

static void set_up(void)
{
    world_init(&w, HTTP_2);
    tenant_put(w.http, "devices", "there", "stats", "q", "x");
    grpc_open(&client, world_server(), w.key, 0);
    (void)table_name(table, &w);
}

static void tear_down(void)
{
    grpc_close(&client);
    world_fini(&w);
}

static void expect_full(const Rpc__Status *status, const char *field)
{
    ck_assert_int_eq(status->code, GW_STATUS_RESOURCE_EXHAUSTED);
    ck_assert_msg(strstr(status->message, field) != NULL, "%s", status->message);
    ck_assert_ptr_nonnull(grpc_detail(status, "QuotaFailure"));
    ck_assert_ptr_null(grpc_detail(status, "RetryInfo"));
}

/* The method is refused, with the name of the quota. */
static void expect_refusal(const char *method, const ProtobufCMessage *message, const char *field)
{
    call = grpc_ask(&client, method, message);
    ck_assert_int_eq(call->status, GW_STATUS_RESOURCE_EXHAUSTED);
    Rpc__Status *status = grpc_status_new(call);
    ck_assert_ptr_nonnull(status);
    expect_full(status, field);
    rpc__status__free_unpacked(status, NULL);
}

static void mutate(const char *row, const char *field)
{
    struct set_cell set;
    Bt__Mutation *list[] = {set_cell(&set, "stats", "q", "y")};
    Bt__MutateRowRequest request = BT__MUTATE_ROW_REQUEST__INIT;
    request.table_name = table;
    request.row_key = binary(row);
    request.mutations = list;
    request.n_mutations = 1;
    expect_refusal(BIGTABLE "MutateRow", &request.base, field);
}

static void check_and_mutate(const char *row, const char *field)
{
    struct set_cell set;
    Bt__Mutation *list[] = {set_cell(&set, "stats", "q", "y")};
    Bt__CheckAndMutateRowRequest request = BT__CHECK_AND_MUTATE_ROW_REQUEST__INIT;
    request.table_name = table;
    request.row_key = binary(row);
    request.true_mutations = request.false_mutations = list;
    request.n_true_mutations = request.n_false_mutations = 1;
    expect_refusal(BIGTABLE "CheckAndMutateRow", &request.base, field);
}

static void append(const char *row, const char *field)
{
    Bt__ReadModifyWriteRule rule = BT__READ_MODIFY_WRITE_RULE__INIT;
    Bt__ReadModifyWriteRule *rules[] = {&rule};
    Bt__ReadModifyWriteRowRequest request = BT__READ_MODIFY_WRITE_ROW_REQUEST__INIT;
    rule.family_name = (char[]){"stats"};
    rule.column_qualifier = binary("q");
    rule.rule_case = BT__READ_MODIFY_WRITE_RULE__RULE_APPEND_VALUE;
    rule.append_value = binary("y");
    request.table_name = table;
    request.row_key = binary(row);
    request.rules = rules;
    request.n_rules = 1;
    expect_refusal(BIGTABLE "ReadModifyWriteRow", &request.base, field);
}

/* Entry 0 deletes and passes, entry 1 is refused on its own. */
static void mutate_rows(const char *row, const char *field)
{
    struct set_cell set;
    Bt__Mutation__DeleteFromRow all = BT__MUTATION__DELETE_FROM_ROW__INIT;
    Bt__Mutation clear = BT__MUTATION__INIT;
    Bt__Mutation *lists[2][1] = {{&clear}, {set_cell(&set, "stats", "q", "y")}};
    Bt__MutateRowsRequest__Entry entries[2];
    Bt__MutateRowsRequest__Entry *all_entries[] = {&entries[0], &entries[1]};
    Bt__MutateRowsRequest request = BT__MUTATE_ROWS_REQUEST__INIT;
    clear.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_ROW;
    clear.delete_from_row = &all;
    for (size_t i = 0; i < 2; i++) {
        bt__mutate_rows_request__entry__init(&entries[i]);
        entries[i].row_key = binary(i == 0 ? "nobody" : row);
        entries[i].mutations = lists[i];
        entries[i].n_mutations = 1;
    }
    request.table_name = table;
    request.entries = all_entries;
    request.n_entries = 2;
    call = grpc_ask(&client, BIGTABLE "MutateRows", &request.base);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    size_t told = 0;
    for (size_t r = 0; r < grpc_message_count(call); r++) {
        Bt__MutateRowsResponse *reply = (Bt__MutateRowsResponse *)grpc_message_new(
            call, &bt__mutate_rows_response__descriptor, r);
        for (size_t i = 0; i < reply->n_entries; i++, told++) {
            if (reply->entries[i]->index == 1)
                expect_full(reply->entries[i]->status, field);
            else
                ck_assert_int_eq(reply->entries[i]->status->code, GW_STATUS_OK);
        }
        bt__mutate_rows_response__free_unpacked(reply, NULL);
    }
    ck_assert_uint_eq(told, 2);
}

START_TEST(more_rows_are_refused_without_retry_info)
{
    admin_set_quota(w.op, w.tenant, "{'rows':1}");
    mutate("more", "rows quota");
    check_and_mutate("more", "rows quota");
    append("more", "rows quota");
    mutate_rows("more", "rows quota");
    EXPECT_USAGE(tenant_usage(w.http), tenant_usage(w.http).bytes, 1, 1);
}
END_TEST

START_TEST(more_bytes_are_refused_without_retry_info)
{
    int64_t bytes = tenant_usage(w.http).bytes;
    char quota[64];
    (void)snprintf(quota, sizeof quota, "{'stored_bytes':%" PRId64 "}", bytes);
    admin_set_quota(w.op, w.tenant, quota);
    mutate("there", "stored bytes quota");
    check_and_mutate("there", "stored bytes quota");
    append("there", "stored bytes quota");
    mutate_rows("there", "stored bytes quota");
    EXPECT_USAGE(tenant_usage(w.http), bytes, 1, 1);
}
END_TEST

START_TEST(one_table_more_is_refused_without_retry_info)
{
    char parent[WORLD_ID + 64];
    Bta__CreateTableRequest create = BTA__CREATE_TABLE_REQUEST__INIT;
    Bta__Table made = BTA__TABLE__INIT;
    (void)snprintf(parent, sizeof parent, "projects/%s/instances/main", w.tenant);
    create.parent = parent;
    create.table_id = (char[]){"alarms"};
    create.table = &made;
    admin_set_quota(w.op, w.tenant, "{'tables':1}");
    expect_refusal(TABLES "CreateTable", &create.base, "tables quota");
    admin_set_quota(w.op, w.tenant, "{'tables':2}");
    call = grpc_ask(&client, TABLES "CreateTable", &create.base);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
}
END_TEST

Suite *suite_grpc_quotas(void)
{
    Suite *s = suite_create("grpc_quotas");
    TCase *c = tcase_create("quotas");
    tcase_set_timeout(c, 120);
    world_begin(c);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, more_rows_are_refused_without_retry_info);
    tcase_add_test(c, more_bytes_are_refused_without_retry_info);
    tcase_add_test(c, one_table_more_is_refused_without_retry_info);
    world_end(c);
    suite_add_tcase(s, c);
    return s;
}

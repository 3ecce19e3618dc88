/*
 * tests/grpc/test_mutate_rows.c - MutateRows of a running server: each entry for itself, each
 * reported once, whatever their number and whether anybody reads.
 */
#include <check.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/text.h"
#include "gateway/grpc/status.h"
#include "tests/grpc/writes.h"

#include <google/bigtable/v2/feature_flags.pb-c.h>
#include <google/rpc/error_details.pb-c.h>

#include "base/banned.h"

Suite *suite_grpc_mutate_rows(void);

#define METHOD   BIGTABLE "MutateRows"
#define KEY_SIZE 24

static struct world w;
static struct grpc_client client;
static struct grpc_call *call;
static char table[TABLE_NAME];

/* A request and what it is made of. */
static Bt__MutateRowsRequest request;
static Bt__MutateRowsRequest__Entry *entries;
static Bt__MutateRowsRequest__Entry **list;
static char (*keys)[KEY_SIZE];

/* What was said of each entry; NULL until it was. */
static Bt__MutateRowsResponse **replies;
static size_t reply_count;
static const Rpc__Status **verdicts;

static void begin(void)
{
    world_init(&w, HTTP_2);
    grpc_open(&client, world_server(), w.key, 0);
    (void)table_name(table, &w);
}

/* Its grpc-status; the call is the last one. */
static int ask(const char *method, const ProtobufCMessage *message)
{
    call = grpc_ask(&client, method, message);
    return call->status;
}

static void forget_replies(void)
{
    for (size_t i = 0; i < reply_count; i++)
        bt__mutate_rows_response__free_unpacked(replies[i], NULL);
    base_free(replies);
    base_free(verdicts);
    replies = NULL;
    verdicts = NULL;
    reply_count = 0;
}

static void tear_down(void)
{
    forget_replies();
    base_free(entries);
    base_free(list);
    base_free(keys);
    grpc_close(&client);
    world_fini(&w);
}

/* count entries of the same mutations, for rows k000000 and so on. */
static void make_request(size_t count, Bt__Mutation **mutations, size_t mutation_count)
{
    bt__mutate_rows_request__init(&request);
    entries = base_new((count + 1) * sizeof *entries);
    list = base_new((count + 1) * sizeof(Bt__MutateRowsRequest__Entry *));
    keys = base_new((count + 1) * sizeof *keys);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(keys[i], KEY_SIZE, "k%06zu", i);
        bt__mutate_rows_request__entry__init(&entries[i]);
        entries[i].row_key = binary(keys[i]);
        entries[i].mutations = mutations;
        entries[i].n_mutations = mutation_count;
        list[i] = &entries[i];
    }
    request.table_name = table;
    request.entries = list;
    request.n_entries = count;
}

/* Each index exactly once, with its status. */
static void take_verdicts(void)
{
    forget_replies();
    reply_count = grpc_message_count(call);
    replies = base_new((reply_count + 1) * sizeof(Bt__MutateRowsResponse *));
    verdicts = base_new((request.n_entries + 1) * sizeof(const Rpc__Status *));
    size_t given = 0;
    for (size_t r = 0; r < reply_count; r++) {
        replies[r] = (Bt__MutateRowsResponse *)grpc_message_new(
            call, &bt__mutate_rows_response__descriptor, r);
        given += replies[r]->n_entries;
        for (size_t i = 0; i < replies[r]->n_entries; i++) {
            const Bt__MutateRowsResponse__Entry *entry = replies[r]->entries[i];
            ck_assert_int_ge(entry->index, 0);
            ck_assert_uint_lt((uint64_t)entry->index, request.n_entries);
            ck_assert_msg(entry->status != NULL, "entry %lld has no status",
                          (long long)entry->index);
            ck_assert_msg(verdicts[entry->index] == NULL, "entry %lld came twice",
                          (long long)entry->index);
            verdicts[entry->index] = entry->status;
        }
    }
    ck_assert_uint_eq(given, request.n_entries);
}

static void send_all(void)
{
    ck_assert_int_eq(ask(METHOD, &request.base), GW_STATUS_OK);
    take_verdicts();
}

static size_t count_code(int code)
{
    size_t count = 0;
    for (size_t i = 0; i < request.n_entries; i++)
        count += verdicts[i]->code == code;
    return count;
}

/* --- each for itself ---------------------------------------------------------------------------
 */

START_TEST(entries_succeed_and_fail_each_for_itself)
{
    struct set_cell good, absent, bad;
    begin();
    Bt__Mutation *mutations[] = {set_cell(&good, "stats", "q", "x")};
    Bt__Mutation *nowhere[] = {&good.mutation, set_cell(&absent, "nosuch", "q", "x")};
    Bt__Mutation *odd[] = {&good.mutation, set_cell(&bad, "stats", "r", "x")};
    bad.set.timestamp_micros = 1;
    make_request(6, mutations, 1);
    entries[1].mutations = nowhere;
    entries[1].n_mutations = 2;
    entries[2].mutations = odd;
    entries[2].n_mutations = 2;
    entries[3].n_mutations = 0;
    entries[4].row_key = binary("");
    send_all();
    static const int codes[] = {GW_STATUS_OK,
                                GW_STATUS_NOT_FOUND,
                                GW_STATUS_INVALID_ARGUMENT,
                                GW_STATUS_INVALID_ARGUMENT,
                                GW_STATUS_INVALID_ARGUMENT,
                                GW_STATUS_OK};
    for (size_t i = 0; i < 6; i++) {
        ck_assert_int_eq(verdicts[i]->code, codes[i]);
        ck_assert_int_eq(verdicts[i]->message[0] == '\0', codes[i] == GW_STATUS_OK);
        ck_assert_ptr_null(grpc_detail(verdicts[i], "RetryInfo"));
    }
    ck_assert_ptr_nonnull(strstr(verdicts[1]->message, "nosuch"));
    EXPECT_USAGE(admin_recount(w.op, w.tenant), tenant_usage(w.http).bytes, 2, 2);
}
END_TEST

START_TEST(the_call_is_ok_when_every_entry_fails)
{
    struct set_cell absent;
    begin();
    Bt__Mutation *nowhere[] = {set_cell(&absent, "nosuch", "q", "x")};
    make_request(3, nowhere, 1);
    send_all();
    ck_assert_uint_eq(count_code(GW_STATUS_NOT_FOUND), 3);
}
END_TEST

START_TEST(entries_of_one_row_are_done_in_their_order)
{
    struct set_cell cells[100];
    Bt__Mutation *mutations[100];
    static char values[100][8];
    begin();
    make_request(100, mutations, 1);
    for (size_t i = 0; i < 100; i++) {
        (void)snprintf(values[i], sizeof values[i], "%zu", i);
        mutations[i] = set_cell(&cells[i], "stats", "q", values[i]);
        entries[i].mutations = &mutations[i];
        entries[i].row_key = binary("same");
    }
    send_all();
    ck_assert_uint_eq(count_code(GW_STATUS_OK), 100);
    http_get(w.http, "/v1/tables/devices/cells/same/stats/q");
    ck_assert_str_eq(http_text(w.http), "99");
}
END_TEST

START_TEST(a_token_makes_a_retried_entry_change_nothing)
{
    struct add_to_cell add;
    Bt__Idempotency token = BT__IDEMPOTENCY__INIT;
    static const uint8_t seven[8] = {0, 0, 0, 0, 0, 0, 0, 7};
    begin();
    http_json(w.http, "POST", "{'create':{'hits':{'type':'sum'}}}", "/v1/tables/devices:families");
    EXPECT_STATUS(w.http, 200);
    Bt__Mutation *mutations[] = {add_to_cell(&add, "hits", "n", 7)};
    make_request(1, mutations, 1);
    token.token = binary("the-token");
    entries[0].idempotency = &token;
    for (int i = 0; i < 2; i++) {
        send_all();
        ck_assert_int_eq(verdicts[0]->code, GW_STATUS_OK);
    }
    token.token = binary("short");
    send_all();
    ck_assert_int_eq(verdicts[0]->code, GW_STATUS_INVALID_ARGUMENT);
    http_get(w.http, "/v1/tables/devices/cells/k000000/hits/n");
    EXPECT_STATUS(w.http, 200);
    ck_assert(base_slice_equal(base_buf_slice(&w.http->body), base_slice(seven, sizeof seven)));
}
END_TEST

/* --- many --------------------------------------------------------------------------------------
 */

START_TEST(more_entries_than_may_be_under_way_are_all_done)
{
    struct set_cell cell;
    begin();
    Bt__Mutation *mutations[] = {set_cell(&cell, "stats", "q", "x")};
    make_request(20 * LIM_BULK_INFLIGHT + 1, mutations, 1);
    send_all();
    ck_assert_uint_eq(count_code(GW_STATUS_OK), request.n_entries);
    ck_assert_uint_gt(reply_count, 1); /* verdicts did not wait for the last entry */
    struct usage usage = admin_recount(w.op, w.tenant);
    ck_assert_int_eq(usage.rows, (int64_t)request.n_entries);
}
END_TEST

/* Nothing is under way, so nothing but the sending of verdicts calls for more. */
START_TEST(entries_that_are_refused_at_once_are_all_reported)
{
    begin();
    make_request(LIM_MUTATIONS_PER_ROW, NULL, 0);
    send_all();
    ck_assert_uint_eq(count_code(GW_STATUS_INVALID_ARGUMENT), request.n_entries);
    ck_assert_uint_gt(call->body.len, 4 * LIM_OUT_HIGH_BYTES);
}
END_TEST

START_TEST(mutations_have_a_limit_over_all_entries)
{
    Bt__Mutation__DeleteFromRow row = BT__MUTATION__DELETE_FROM_ROW__INIT;
    Bt__Mutation clear = BT__MUTATION__INIT;
    Bt__Mutation *mutations[101];
    begin();
    clear.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_ROW;
    clear.delete_from_row = &row;
    for (size_t i = 0; i < 101; i++)
        mutations[i] = &clear;
    make_request(1000, mutations, 100);
    send_all();
    ck_assert_uint_eq(count_code(GW_STATUS_OK), 1000);
    entries[7].n_mutations = 101;
    ck_assert_int_eq(ask(METHOD, &request.base), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_str_eq(call->message, "Too many mutations: 100001 provided; limit 100000");
    request.n_entries = 0;
    ck_assert_int_eq(ask(METHOD, &request.base), GW_STATUS_INVALID_ARGUMENT);
}
END_TEST

START_TEST(large_values_pass_a_few_at_a_time)
{
    struct set_cell cell;
    ProtobufCBinaryData value = {MIB, base_new(MIB)};
    begin();
    Bt__Mutation *mutations[] = {set_cell(&cell, "stats", "q", "")};
    cell.set.value = value;
    make_request(40, mutations, 1);
    send_all();
    ck_assert_uint_eq(count_code(GW_STATUS_OK), 40);
    ck_assert_int_gt(tenant_usage(w.http).bytes, 40 * (int64_t)MIB);
    base_free(value.data);
}
END_TEST

/* world_end's test wants the server whole behind it. */
START_TEST(a_peer_may_leave_in_the_middle)
{
    struct set_cell cell;
    begin();
    Bt__Mutation *mutations[] = {set_cell(&cell, "stats", "q", "x")};
    make_request(100 * LIM_BULK_INFLIGHT, mutations, 1);
    struct grpc_call *left = grpc_start(&client, METHOD, &request.base, NULL);
    grpc_await_bytes(&client, left, 1);
    grpc_cancel(&client, left);
    ck_assert_int_eq(left->status, GRPC_HEAD_ONLY);
    request.n_entries = 1;
    send_all();
    ck_assert_int_eq(verdicts[0]->code, GW_STATUS_OK);
}
END_TEST

/* --- without a peer -----------------------------------------------------------------------------
 */

static bool all_are_there(void *arg)
{
    (void)arg;
    return tenant_usage(w.http).rows == (int64_t)request.n_entries;
}

static void send_and_leave(size_t count)
{
    static struct set_cell cell;
    static Bt__Mutation *mutations[1];
    mutations[0] = set_cell(&cell, "stats", "q", "x");
    make_request(count, mutations, 1);
    struct grpc_call *left = grpc_start(&client, METHOD, &request.base, NULL);
    grpc_await_sent(&client, left);
    grpc_cancel(&client, left);
}

/* The loop decodes few entries, the helper many. The tenant of a service key is known from the
 * message alone. */
START_TEST(a_complete_request_is_applied_when_its_client_disconnects)
{
    begin();
    if (_i % 2 == 1) {
        char key[WORLD_KEY];
        admin_create_global_key(w.op, "service", key, NULL);
        grpc_close(&client);
        grpc_open(&client, world_server(), key, 0);
    }
    send_and_leave(_i < 2 ? 4 * LIM_BULK_INFLIGHT : 50000);
    process_await(all_are_there, NULL, "all rows of a client that disconnected");
    EXPECT_USAGE(admin_recount(w.op, w.tenant), tenant_usage(w.http).bytes,
                 (int64_t)request.n_entries, (int64_t)request.n_entries);
}
END_TEST

/* The purge would wait for it. */
START_TEST(offboarding_ends_a_call_without_a_client)
{
    begin();
    send_and_leave(LIM_MUTATIONS_PER_ROW);
    admin_offboard(w.op, w.tenant);
}
END_TEST

/* server_stop fails the test if the server does not end, with exit status 0. */
START_TEST(a_server_stops_with_a_call_without_a_client)
{
    struct server own;
    server_create(&own);
    server_start(&own, NULL);
    world_init_on(&w, &own, HTTP_2, "leaving");
    grpc_open(&client, &own, w.key, 0);
    (void)table_name(table, &w);
    send_and_leave(LIM_MUTATIONS_PER_ROW);
    server_stop(&own);
    server_remove(&own);
}
END_TEST

/* --- the rate ----------------------------------------------------------------------------------
 */

static void say_features(bool padded)
{
    static struct buf text;
    Bt__FeatureFlags flags = BT__FEATURE_FLAGS__INIT;
    uint8_t bytes[32];
    flags.mutate_rows_rate_limit2 = true;
    base_buf_fini(&text);
    base_buf_init(&text, 64);
    ck_assert_int_eq(
        base_base64url_encode(base_slice(bytes, bt__feature_flags__pack(&flags, bytes)), &text),
        ERR_OK);
    while (padded && text.len % 4 != 0)
        ck_assert_int_eq(base_buf_append_byte(&text, '='), ERR_OK);
    ck_assert_int_eq(base_buf_append_byte(&text, '\0'), ERR_OK);
    client.features = (const char *)text.ptr;
}

static const Bt__RateLimitInfo *rate_info(void)
{
    const Bt__RateLimitInfo *info = NULL;
    for (size_t i = 0; i < reply_count; i++)
        info = replies[i]->rate_limit_info != NULL ? replies[i]->rate_limit_info : info;
    return info;
}

static void expect_retry_info(const Rpc__Status *status)
{
    const ProtobufCBinaryData *detail = grpc_detail(status, "RetryInfo");
    ck_assert_ptr_nonnull(detail);
    Rpc__RetryInfo *info = rpc__retry_info__unpack(NULL, detail->len, detail->data);
    ck_assert_ptr_nonnull(info);
    ck_assert_ptr_nonnull(info->retry_delay);
    ck_assert(info->retry_delay->seconds > 0 || info->retry_delay->nanos > 0);
    rpc__retry_info__free_unpacked(info, NULL);
}

START_TEST(a_tenant_over_its_rate_is_told_when_to_come_again)
{
    struct set_cell cell;
    begin();
    admin_set_quota(w.op, w.tenant, "{'write_ops_per_s':10}");
    Bt__Mutation *mutations[] = {set_cell(&cell, "stats", "q", "x")};
    make_request(100, mutations, 1);
    send_all(); /* on credit */
    ck_assert_uint_eq(count_code(GW_STATUS_OK), 100);
    ck_assert_ptr_null(rate_info()); /* the client did not ask */
    ck_assert_int_eq(ask(METHOD, &request.base), GW_STATUS_RESOURCE_EXHAUSTED);
    Rpc__Status *status = grpc_status_new(call);
    ck_assert_ptr_nonnull(status);
    expect_retry_info(status);
    rpc__status__free_unpacked(status, NULL);
    ck_assert_int_eq(tenant_usage(w.http).rows, 100);
}
END_TEST

START_TEST(clients_that_ask_are_told_to_slow_down)
{
    struct set_cell cell;
    begin();
    Bt__Mutation *mutations[] = {set_cell(&cell, "stats", "q", "x")};
    make_request(100, mutations, 1);
    for (int padded = 0; padded < 2; padded++) {
        admin_set_quota(w.op, w.tenant, "{'write_ops_per_s':10}"); /* nothing is owed */
        say_features(padded == 1);
        send_all();
        const Bt__RateLimitInfo *info = rate_info();
        ck_assert_ptr_nonnull(info);
        ck_assert_ptr_nonnull(info->period);
        ck_assert_int_ge(info->period->seconds, 1);
        ck_assert(info->factor > 0.699 && info->factor < 0.701); /* nothing is left */
        admin_set_quota(w.op, w.tenant, "{'write_ops_per_s':null}");
    }
    admin_set_quota(w.op, w.tenant, "{'write_ops_per_s':10,'burst_ms':60000}");
    send_all(); /* 100 of 600, with a little that came back */
    ck_assert_ptr_nonnull(rate_info());
    ck_assert(rate_info()->factor > 1.19 && rate_info()->factor < 1.3);
    client.features = "not base64!";
    send_all();
    ck_assert_ptr_null(rate_info());
    admin_set_quota(w.op, w.tenant, "{'write_ops_per_s':null}");
    say_features(false);
    send_all();
    ck_assert_uint_eq(count_code(GW_STATUS_OK), 100);
    ck_assert_ptr_null(rate_info()); /* there is no rate */
}
END_TEST

Suite *suite_grpc_mutate_rows(void);
Suite *suite_grpc_mutate_rows(void)
{
    Suite *s = suite_create("grpc_mutate_rows");
    TCase *tc = tcase_create("many rows");
    tcase_set_timeout(tc, 120);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_test(tc, entries_succeed_and_fail_each_for_itself);
    tcase_add_test(tc, the_call_is_ok_when_every_entry_fails);
    tcase_add_test(tc, entries_of_one_row_are_done_in_their_order);
    tcase_add_test(tc, a_token_makes_a_retried_entry_change_nothing);
    tcase_add_test(tc, more_entries_than_may_be_under_way_are_all_done);
    tcase_add_test(tc, entries_that_are_refused_at_once_are_all_reported);
    tcase_add_test(tc, mutations_have_a_limit_over_all_entries);
    tcase_add_test(tc, large_values_pass_a_few_at_a_time);
    tcase_add_test(tc, a_peer_may_leave_in_the_middle);
    tcase_add_loop_test(tc, a_complete_request_is_applied_when_its_client_disconnects, 0, 4);
    tcase_add_test(tc, offboarding_ends_a_call_without_a_client);
    tcase_add_test(tc, a_server_stops_with_a_call_without_a_client);
    tcase_add_test(tc, a_tenant_over_its_rate_is_told_when_to_come_again);
    tcase_add_test(tc, clients_that_ask_are_told_to_slow_down);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

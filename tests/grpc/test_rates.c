/*
 * tests/grpc/test_rates.c - limits and costs as clients of Bigtable meet them.
 */
#include <check.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "gateway/grpc/status.h"
#include "tests/grpc/writes.h"

#include <google/rpc/error_details.pb-c.h>

#include "base/banned.h"

Suite *suite_grpc_rates(void);

static struct world w;
static struct grpc_client client;
static struct grpc_call *call;
static char table[TABLE_NAME];
static char large[3000];
static char huge[200 * KIB]; /* a minute or more at 1024 bytes a second: no test waits that long */

static void begin(void)
{
    world_init(&w, HTTP_2);
    grpc_open(&client, world_server(), w.key, 0);
    (void)table_name(table, &w);
    memset(large, 'v', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    memset(huge, 'v', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
}

static void tear_down(void)
{
    grpc_close(&client);
    world_fini(&w);
}

static int ask(const char *method, const ProtobufCMessage *message)
{
    char path[128];
    (void)snprintf(path, sizeof path, BIGTABLE "%s", method);
    call = grpc_ask(&client, path, message);
    return call->status;
}

static uint64_t cost(void)
{
    uint64_t number = 0;
    ck_assert_int_eq(base_parse_u64(base_slice_text(call->cost), &number), ERR_OK);
    return number;
}

/* --- requests --------------------------------------------------------------------------------- */

static int mutate(const char *key, const char *value)
{
    struct set_cell cell;
    Bt__Mutation *list[] = {set_cell(&cell, "stats", "q", value)};
    Bt__MutateRowRequest request = BT__MUTATE_ROW_REQUEST__INIT;
    request.table_name = table;
    request.row_key = binary(key);
    request.mutations = list;
    request.n_mutations = 1;
    return ask("MutateRow", &request.base);
}

#define MANY 200 /* at 1 or 2 a second a minute or more: no test waits that long */

static int mutate_many(size_t count, const char *value)
{
    struct set_cell cell;
    Bt__Mutation *list[] = {set_cell(&cell, "stats", "q", value)};
    Bt__MutateRowsRequest__Entry entry = BT__MUTATE_ROWS_REQUEST__ENTRY__INIT;
    Bt__MutateRowsRequest__Entry *entries[MANY];
    Bt__MutateRowsRequest request = BT__MUTATE_ROWS_REQUEST__INIT;
    entry.row_key = binary("m");
    entry.mutations = list;
    entry.n_mutations = 1;
    for (size_t i = 0; i < count; i++)
        entries[i] = &entry;
    request.table_name = table;
    request.entries = entries;
    request.n_entries = count;
    return ask("MutateRows", &request.base);
}

/* Two lists, of which the second is applied. */
static int check(const char *value, const char *otherwise)
{
    struct set_cell one, two;
    Bt__Mutation *first[] = {set_cell(&one, "stats", "q", value)};
    Bt__Mutation *second[] = {set_cell(&two, "stats", "q", otherwise)};
    Bt__CheckAndMutateRowRequest request = BT__CHECK_AND_MUTATE_ROW_REQUEST__INIT;
    request.table_name = table;
    request.row_key = binary("c");
    request.true_mutations = first;
    request.n_true_mutations = 1;
    request.false_mutations = second;
    request.n_false_mutations = 1;
    return ask("CheckAndMutateRow", &request.base);
}

/* The row that mutate and the rows that mutate_many write. */
static int delete_row(void)
{
    Bt__Mutation mutation = BT__MUTATION__INIT;
    Bt__Mutation__DeleteFromRow all = BT__MUTATION__DELETE_FROM_ROW__INIT;
    Bt__Mutation *list[] = {&mutation};
    Bt__MutateRowRequest request = BT__MUTATE_ROW_REQUEST__INIT;
    mutation.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_ROW;
    mutation.delete_from_row = &all;
    request.table_name = table;
    request.row_key = binary("k");
    request.mutations = list;
    request.n_mutations = 1;
    return ask("MutateRow", &request.base);
}

static int delete_many(void)
{
    Bt__Mutation mutation = BT__MUTATION__INIT;
    Bt__Mutation__DeleteFromRow all = BT__MUTATION__DELETE_FROM_ROW__INIT;
    Bt__Mutation *list[] = {&mutation};
    Bt__MutateRowsRequest__Entry entry = BT__MUTATE_ROWS_REQUEST__ENTRY__INIT;
    Bt__MutateRowsRequest__Entry *entries[] = {&entry};
    Bt__MutateRowsRequest request = BT__MUTATE_ROWS_REQUEST__INIT;
    mutation.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_ROW;
    mutation.delete_from_row = &all;
    entry.row_key = binary("m");
    entry.mutations = list;
    entry.n_mutations = 1;
    request.table_name = table;
    request.entries = entries;
    request.n_entries = 1;
    return ask("MutateRows", &request.base);
}

static int read_all(void)
{
    Bt__ReadRowsRequest request = BT__READ_ROWS_REQUEST__INIT;
    request.table_name = table;
    return ask("ReadRows", &request.base);
}

static void expect_refused_by(const char *policy)
{
    Rpc__Status *status = grpc_status_new(call);
    const ProtobufCBinaryData *retry = grpc_detail(status, "RetryInfo");
    const ProtobufCBinaryData *detail = grpc_detail(status, "QuotaFailure");
    ck_assert_int_eq(call->status, GW_STATUS_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(retry);
    ck_assert_ptr_nonnull(detail);
    Rpc__QuotaFailure *failure = rpc__quota_failure__unpack(NULL, detail->len, detail->data);
    ck_assert_ptr_nonnull(failure);
    ck_assert_uint_eq(failure->n_violations, 1);
    ck_assert_str_eq(failure->violations[0]->subject, policy);
    ck_assert_ptr_nonnull(strstr(failure->violations[0]->description, policy));
    rpc__quota_failure__free_unpacked(failure, NULL);
    rpc__status__free_unpacked(status, NULL);
    ck_assert_str_eq(call->cost, ""); /* nothing was charged */
}

/* --- tests ------------------------------------------------------------------------------------ */

START_TEST(trailers_say_what_a_call_cost)
{
    begin();
    ck_assert_int_eq(mutate("k", "v"), GW_STATUS_OK);
    ck_assert_uint_eq(cost(), 2);
    ck_assert_int_eq(mutate("k", large), GW_STATUS_OK);
    ck_assert_uint_eq(cost(), 2 + 2); /* 3001 bytes */
    ck_assert_int_eq(mutate_many(2, large), GW_STATUS_OK);
    ck_assert_uint_eq(cost(), 4 + 5); /* 6002 */
    ck_assert_int_eq(check("v", large), GW_STATUS_OK);
    ck_assert_uint_eq(cost(), 2 + 2); /* the larger list */
    ck_assert_int_eq(read_all(), GW_STATUS_OK);
    ck_assert_uint_eq(cost(), 1 + 2); /* three rows of 3000 bytes */
    ck_assert_int_eq(delete_row(), GW_STATUS_OK);
    ck_assert_uint_eq(cost(), 2 + 2); /* of 3000 bytes */
    ck_assert_int_eq(delete_many(), GW_STATUS_OK);
    ck_assert_uint_eq(cost(), 2 + 2);
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/none", w.tenant);
    ck_assert_int_eq(read_all(), GW_STATUS_NOT_FOUND);
    ck_assert_uint_eq(cost(), 1);
}
END_TEST

static uint64_t number_at(const char *text)
{
    uint64_t number = 0;
    struct slice digits = base_slice(text, strspn(text, "0123456789"));
    ck_assert_int_eq(base_parse_u64(digits, &number), ERR_OK);
    return number;
}

/* The limits in an answer are those of the policy and of concurrency. Of the first, `used` was used
 * since then, and what came back meanwhile may be there. */
static void expect_left(const char *policy, uint64_t limit, uint64_t used, uint64_t rate,
                        uint64_t since_ns)
{
    char wanted[128];
    uint64_t back = rate * (base_monotonic_ns() - since_ns) / 1000000000u + 1;
    unsigned left = 0, full_s = 0;
    const char *at = strstr(call->limits, ";r=");
    ck_assert_ptr_nonnull(at);
    left = (unsigned)number_at(at + 3);
    ck_assert_ptr_nonnull(strstr(at, ";t="));
    full_s = (unsigned)number_at(strstr(at, ";t=") + 3);
    (void)snprintf(wanted, sizeof wanted, "\"%s\";r=%u;t=%u, \"concurrency\";r=8;t=0", policy, left,
                   full_s);
    ck_assert_str_eq(call->limits, wanted);
    ck_assert_uint_ge(left, limit - used);
    ck_assert_uint_le(left, limit - used + back);
    ck_assert(left > 0 || call->retry_after[0] != '\0'); /* and the other way round */
    ck_assert(left == 0 || call->retry_after[0] == '\0');
    ck_assert_uint_ge(full_s, (limit - left) / rate);
    ck_assert_uint_le(full_s, (limit - left) / rate + 1);
}

/* Nothing is left; until when is said twice. */
static void expect_debt(const char *policy)
{
    char wanted[64];
    int n = snprintf(wanted, sizeof wanted, "\"%s\";r=0;t=", policy);
    ck_assert_int_eq(strncmp(call->limits, wanted, (size_t)n), 0);
    ck_assert_uint_eq(number_at(call->retry_after), number_at(call->limits + n));
    ck_assert_uint_ge(number_at(call->retry_after), 1);
}

/* At 1 a second: two reads within one second will come. */
static void read_until_refused(void)
{
    uint64_t since_ns = base_monotonic_ns();
    uint64_t count = 0;
    while (read_all() == GW_STATUS_OK) {
        uint64_t came_s = (base_monotonic_ns() - since_ns) / 1000000000u + 1;
        ck_assert_uint_le(++count, 1 + came_s);
        grpc_forget(&client);
    }
}

#define CONCURRENCY "\"concurrency\";q=8;qu=\"concurrent-requests\""
#define SECONDS     "\"read_ops\";q=1;w=1, \"write_ops\";q=2;w=1, " CONCURRENCY
#define MINUTES                                                                                    \
    "\"read_ops\";q=1;w=1;bigtent-burst=60, \"write_ops\";q=2;w=1;bigtent-burst=120, " CONCURRENCY

/* As the JSON API says it, whatever the answer is. */
START_TEST(every_answer_says_what_is_left)
{
    enum { WRITES = 10 };
    begin();
    ck_assert_int_eq(mutate("k", "v"), GW_STATUS_OK);
    ck_assert_str_eq(call->policies, ""); /* without limits there is nothing to say */
    ck_assert_str_eq(call->limits, "");
    uint64_t since_ns = base_monotonic_ns();
    admin_set_quota(w.op, w.tenant,
                    "{'read_ops_per_s':1,'write_ops_per_s':2,'concurrent_requests':8,"
                    "'burst_ms':60000}");
    for (uint64_t i = 1; i <= WRITES; i++) {
        ck_assert_int_eq(mutate("k", "v"), GW_STATUS_OK); /* one message */
        ck_assert_str_eq(call->policies, MINUTES);
        expect_left("write_ops", 120, i, 2, since_ns);
    }
    ck_assert_int_eq(read_all(), GW_STATUS_OK); /* a stream */
    ck_assert_str_eq(call->policies, MINUTES);
    expect_left("read_ops", 60, 1, 1, since_ns);
    grpc_forget(&client);

    admin_set_quota(w.op, w.tenant,
                    "{'read_ops_per_s':1,'write_ops_per_s':2,'concurrent_requests':8}");
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/none", w.tenant);
    since_ns = base_monotonic_ns();
    ck_assert_int_eq(mutate("k", "v"), GW_STATUS_NOT_FOUND); /* an error */
    ck_assert_str_eq(call->policies, SECONDS);
    expect_left("write_ops", 2, 1, 2, since_ns);
    (void)table_name(table, &w);
    ck_assert_int_eq(mutate_many(MANY, "v"), GW_STATUS_OK); /* on credit */
    ck_assert_str_eq(call->policies, SECONDS);
    expect_debt("write_ops");
    ck_assert_int_eq(mutate("k", "v"), GW_STATUS_RESOURCE_EXHAUSTED); /* a refusal */
    ck_assert_str_eq(call->policies, SECONDS);
    expect_debt("write_ops");
    read_until_refused();
    ck_assert_str_eq(call->policies, SECONDS);
    ck_assert_str_eq(call->retry_after, "1");
}
END_TEST

START_TEST(operations_over_the_rate_name_it)
{
    begin();
    admin_set_quota(w.op, w.tenant, "{'read_ops_per_s':1,'write_ops_per_s':1}");
    ck_assert_int_eq(read_all(), GW_STATUS_OK);
    read_until_refused();
    expect_refused_by("read_ops");
    ck_assert_int_eq(mutate_many(MANY, "v"), GW_STATUS_OK); /* on credit */
    (void)mutate("k", "v");
    expect_refused_by("write_ops");
    (void)mutate_many(2, "v");
    expect_refused_by("write_ops");
    (void)check("v", "v");
    expect_refused_by("write_ops");
}
END_TEST

START_TEST(bytes_over_the_rate_name_it)
{
    begin();
    ck_assert_int_eq(mutate("k", huge), GW_STATUS_OK);
    admin_set_quota(w.op, w.tenant,
                    "{'read_bytes_per_s':1024,'write_bytes_per_s':1024,'burst_ms':60000}");
    ck_assert_int_eq(read_all(), GW_STATUS_OK);
    (void)read_all();
    expect_refused_by("read_bytes");
    ck_assert_int_eq(mutate_many(2, huge), GW_STATUS_OK); /* on credit */
    (void)mutate("k", "v");
    expect_refused_by("write_bytes");
    (void)mutate_many(2, "v");
    expect_refused_by("write_bytes");
    (void)check("v", "v");
    expect_refused_by("write_bytes");
}
END_TEST

static bool is_admitted(void *arg)
{
    (void)arg;
    bool admitted = mutate("a", "v") == GW_STATUS_OK;
    if (!admitted)
        expect_refused_by("concurrency");
    grpc_forget(&client);
    return admitted;
}

START_TEST(requests_over_the_cap_name_it)
{
    begin();
    struct slice value = {base_new(LIM_SLICE_BYTES), LIM_SLICE_BYTES};
    for (int i = 0; i < 8; i++)
        http_bytes(w.http, "PUT", value, "/v1/tables/devices/cells/k%d/stats/q", i);
    base_free((void *)(uintptr_t)value.ptr);
    admin_set_quota(w.op, w.tenant, "{'concurrent_requests':1}");
    ck_assert_int_eq(mutate("a", "v"), GW_STATUS_OK); /* one after the other */
    ck_assert_int_eq(mutate_many(2, "v"), GW_STATUS_OK);
    struct grpc_client slow;
    Bt__ReadRowsRequest request = BT__READ_ROWS_REQUEST__INIT;
    request.table_name = table;
    grpc_open(&slow, world_server(), w.key, 1000);
    struct grpc_call *held = grpc_start(&slow, BIGTABLE "ReadRows", &request.base, NULL);
    grpc_begun(&slow, held);
    ck_assert(!held->is_closed);
    (void)mutate("a", "v");
    expect_refused_by("concurrency");
    (void)mutate_many(2, "v");
    expect_refused_by("concurrency");
    (void)read_all();
    expect_refused_by("concurrency");
    grpc_cancel(&slow, held);
    process_await(is_admitted, NULL, "the place of a cancelled read");
    ck_assert_int_eq(mutate("a", "v"), GW_STATUS_OK);
    grpc_close(&slow);
}
END_TEST

Suite *suite_grpc_rates(void)
{
    Suite *s = suite_create("grpc_rates");
    TCase *tc = tcase_create("rates");
    tcase_set_timeout(tc, 120);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_test(tc, trailers_say_what_a_call_cost);
    tcase_add_test(tc, every_answer_says_what_is_left);
    tcase_add_test(tc, operations_over_the_rate_name_it);
    tcase_add_test(tc, bytes_over_the_rate_name_it);
    tcase_add_test(tc, requests_over_the_cap_name_it);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

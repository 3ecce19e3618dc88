/*
 * tests/api/test_bulk_refusals.c - rows of bulk writes that are refused are counted and metered
 * like refused requests: each once, by its policy and its reason, over both protocols.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/grpc/writes.h"
#include "tests/support/rates.h"
#include "tests/support/scrape.h"

#include "base/banned.h"

enum { ROWS = 7, FIT = 2, REFUSED = ROWS - FIT };

static struct world w;

static void set_up(void)
{
    world_init(&w, HTTP_2);
}

static void tear_down(void)
{
    world_fini(&w);
}

static const char *of_tenant(const char *name, const char *more)
{
    static char out[256];
    (void)snprintf(out, sizeof out, "bigtent_tenant_%s{tenant=\"%s\",%s}", name, w.tenant, more);
    return out;
}

/* Rows k0, k1, ... with a value of that many bytes, by :write; returns how many got that status. */
static size_t write_lines(int value_bytes, int status)
{
    struct buf body;
    size_t found = 0;
    base_buf_init(&body, 512 * KIB);
    for (int i = 0; i < ROWS; i++)
        (void)base_buf_printf(&body, "{\"key\":\"k%d\",\"cells\":{\"stats\":{\"q\":\"%0*d\"}}}\n",
                              i, value_bytes, 7);
    ck_assert_int_eq(body.error, ERR_OK);
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_bytes(w.http, "POST", base_buf_slice(&body), "/v1/tables/devices:write");
    base_buf_fini(&body);
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_lines(w.http), ROWS + 1);
    for (size_t i = 0; i < ROWS; i++) {
        json_t *line = http_line_new(w.http, i);
        found += json_integer_value(json_at(line, "/status")) == status;
        json_decref(line);
    }
    return found;
}

/* The same by MutateRows; returns how many entries got that code. */
static size_t mutate_rows(const char *family, int code)
{
    static char table[TABLE_NAME];
    char keys[ROWS][24];
    struct set_cell cell;
    Bt__Mutation *list[] = {set_cell(&cell, family, "q", "v")};
    Bt__MutateRowsRequest__Entry entries[ROWS];
    Bt__MutateRowsRequest__Entry *all[ROWS];
    Bt__MutateRowsRequest request = BT__MUTATE_ROWS_REQUEST__INIT;
    struct grpc_client client;
    size_t seen = 0, found = 0;
    for (size_t i = 0; i < ROWS; i++) {
        bt__mutate_rows_request__entry__init(&entries[i]);
        (void)snprintf(keys[i], sizeof keys[i], "k%zu", i);
        entries[i].row_key = binary(keys[i]);
        entries[i].mutations = list;
        entries[i].n_mutations = 1;
        all[i] = &entries[i];
    }
    request.table_name = table_name(table, &w);
    request.entries = all;
    request.n_entries = ROWS;
    grpc_open(&client, world_server(), w.key, 0);
    struct grpc_call *call = grpc_ask(&client, BIGTABLE "MutateRows", &request.base);
    ck_assert_int_eq(call->status, 0);
    for (size_t n = 0; n < grpc_message_count(call); n++) {
        ProtobufCMessage *message =
            grpc_message_new(call, &bt__mutate_rows_response__descriptor, n);
        const Bt__MutateRowsResponse *answer = (const Bt__MutateRowsResponse *)message;
        for (size_t i = 0; i < answer->n_entries; i++, seen++)
            found += answer->entries[i]->status->code == code;
        protobuf_c_message_free_unpacked(message, NULL);
    }
    grpc_close(&client);
    ck_assert_uint_eq(seen, ROWS);
    return found;
}

struct counts {
    const char *protocol;
    const char *reason;
    const char *policy; /* NULL: it is no throttling */
};

static uint64_t errors_before;
static uint64_t throttled_before;

static const char *errors_series(const struct counts *c)
{
    static char out[128];
    (void)snprintf(out, sizeof out, "bigtent_errors_total{protocol=\"%s\",reason=\"%s\"}",
                   c->protocol, c->reason);
    return out;
}

static const char *throttled_series(const struct counts *c)
{
    static char out[128];
    (void)snprintf(out, sizeof out, "bigtent_throttled_total{policy=\"%s\"}", c->policy);
    return out;
}

static void look(const struct counts *c)
{
    errors_before = scrape_number(w.op, errors_series(c));
    throttled_before = c->policy == NULL ? 0 : scrape_seen(throttled_series(c));
}

static void expect_refused(const struct counts *c)
{
    char label[64];
    scrape_expect(w.op, errors_series(c), errors_before + REFUSED);
    scrape_expect(w.op, of_tenant("errors_total", "blame=\"caller\""), REFUSED);
    scrape_expect(w.op, of_tenant("errors_total", "blame=\"server\""), 0);
    if (c->policy == NULL)
        return;
    (void)snprintf(label, sizeof label, "policy=\"%s\"", c->policy);
    scrape_expect(w.op, throttled_series(c), throttled_before + REFUSED);
    scrape_expect(w.op, of_tenant("throttled_total", label), REFUSED);
}

START_TEST(lines_over_a_quota_are_counted_each_once)
{
    const struct counts c = {"json", "quota", "quota"};
    admin_set_quota(w.op, w.tenant, "{'rows':2}");
    look(&c);
    ck_assert_uint_eq(write_lines(1, 403), REFUSED);
    expect_refused(&c);
}
END_TEST

START_TEST(lines_over_a_rate_are_counted_each_once)
{
    const struct counts c = {"json", "rate_limited", "write_bytes"};
    admin_set_quota(w.op, w.tenant, "{'write_bytes_per_s':1024," RATE_DEBT "}");
    look(&c);
    ck_assert_uint_eq(write_lines(60000, 429), REFUSED); /* the second is on credit */
    expect_refused(&c);
}
END_TEST

START_TEST(lines_that_are_wrong_are_counted_each_once)
{
    const struct counts c = {"json", "too_big", NULL};
    admin_set_quota(w.op, w.tenant, "{'row_key_bytes':2,'cell_bytes':1}");
    look(&c);
    ck_assert_uint_eq(write_lines(2, 413), ROWS);
    scrape_expect(w.op, errors_series(&c), errors_before + ROWS);
    scrape_expect(w.op, of_tenant("errors_total", "blame=\"caller\""), ROWS);
}
END_TEST

START_TEST(entries_over_a_quota_are_counted_each_once)
{
    const struct counts c = {"grpc", "quota", "quota"};
    admin_set_quota(w.op, w.tenant, "{'rows':2}");
    look(&c);
    ck_assert_uint_eq(mutate_rows("stats", 8), REFUSED); /* RESOURCE_EXHAUSTED */
    expect_refused(&c);
}
END_TEST

START_TEST(entries_that_are_wrong_are_counted_each_once)
{
    const struct counts c = {"grpc", "not_found", NULL};
    look(&c);
    ck_assert_uint_eq(mutate_rows("none", 5), ROWS);
    scrape_expect(w.op, errors_series(&c), errors_before + ROWS);
    scrape_expect(w.op, of_tenant("errors_total", "blame=\"caller\""), ROWS);
}
END_TEST

Suite *suite_api_bulk_refusals(void);

Suite *suite_api_bulk_refusals(void)
{
    Suite *s = suite_create("api_bulk_refusals");
    TCase *tc = tcase_create("bulk_refusals");
    tcase_set_timeout(tc, 30);
    world_begin(tc);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, lines_over_a_quota_are_counted_each_once);
    tcase_add_test(tc, lines_over_a_rate_are_counted_each_once);
    tcase_add_test(tc, lines_that_are_wrong_are_counted_each_once);
    tcase_add_test(tc, entries_over_a_quota_are_counted_each_once);
    tcase_add_test(tc, entries_that_are_wrong_are_counted_each_once);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

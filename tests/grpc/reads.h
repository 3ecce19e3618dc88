/*
 * tests/grpc/reads.h - a tenant's table, and a client that reads it strictly.
 *
 * Does:     fill the table over the JSON API, call ReadRows, compare the rows.
 * Owns:     a world, a client and a reader, from set_up to tear_down.
 * May use:  tests/support/, libcheck.
 * Knows no: the tests.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: 1. An answer that breaks a rule of CellChunks fails the test.
 */
#ifndef TESTS_GRPC_READS_H
#define TESTS_GRPC_READS_H

#include <check.h>
#include <grpc/health/v1/health.pb-c.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "gateway/grpc/status.h"
#include "tests/support/chunk_reader.h"
#include "tests/support/grpc_client.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define UNUSED_FN __attribute__((unused))

#define READ_ROWS "/google.bigtable.v2.Bigtable/ReadRows"

static struct world w;
static struct grpc_client client;
static struct chunk_reader reader;
static struct buf expected;
static char table[WORLD_ID + 64];

/* A request, and memory for its parts. */
static Bt__ReadRowsRequest request;
static Bt__RowSet rows;
static Bt__RowRange range;
static Bt__RowRange *ranges[1] = {&range};
static ProtobufCBinaryData keys[4] UNUSED_FN;
static Bt__RowFilter filter;

UNUSED_FN static void set_up(void)
{
    world_init(&w, HTTP_2);
    grpc_open(&client, world_server(), w.key, 0);
    chunk_reader_init(&reader);
    base_buf_init(&expected, CHUNK_ROWS_MAX);
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/devices", w.tenant);
    bt__read_rows_request__init(&request);
    bt__row_set__init(&rows);
    bt__row_range__init(&range);
    bt__row_filter__init(&filter);
    request.table_name = table;
}

UNUSED_FN static void tear_down(void)
{
    base_buf_fini(&expected);
    chunk_reader_fini(&reader);
    grpc_close(&client);
    world_fini(&w);
}

UNUSED_FN static ProtobufCBinaryData data_of(const char *text)
{
    return (ProtobufCBinaryData){.data = (uint8_t *)(uintptr_t)text, .len = strlen(text)};
}

/* --- rows of the table -------------------------------------------------------------------------
 */

/* Writes a row with one cell, whose timestamp is 1000. */
UNUSED_FN static void put(struct http *h, const char *key)
{
    http_json(h, "PUT", "{'stats':{'q':{'value':'v','timestamp':'1000'}}}",
              "/v1/tables/devices/rows/%s", pcts(key));
    ck_assert_msg(h->status == 200 || h->status == 201, "%d %s", h->status, http_text(h));
}

UNUSED_FN static void put_all(struct http *h, const char *letters)
{
    for (; *letters != '\0'; letters++)
        put(h, (const char[]){*letters, '\0'});
}

UNUSED_FN static void write_lines(struct buf *body)
{
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_bytes(w.http, "POST", base_buf_slice(body), "/v1/tables/devices:write");
    EXPECT_STATUS(w.http, 200);
    base_buf_truncate(body, 0);
}

UNUSED_FN static void fill(int count, size_t value_len)
{
    struct buf body;
    char *value = base_new(value_len + 1);
    memset(value, 'v', value_len);
    base_buf_init(&body, 64 * MIB);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(base_buf_printf(&body,
                                         "{\"key\":\"row%05d\",\"cells\":{\"raw\":{\"v\":{"
                                         "\"value\":\"%s\",\"timestamp\":\"1000\"}}}}\n",
                                         i, value),
                         ERR_OK);
        if (body.len > 8 * MIB)
            write_lines(&body);
    }
    write_lines(&body);
    base_buf_fini(&body);
    base_free(value);
}

/* --- calls -------------------------------------------------------------------------------------
 */

UNUSED_FN static const struct grpc_call *take_answer(const struct grpc_call *call)
{
    ck_assert_msg(call->status == GW_STATUS_OK, "status %d: %s", call->status, call->message);
    ck_assert_uint_eq(chunk_reader_feed(&reader, base_buf_slice(&call->body)), call->body.len);
    const char *error = chunk_reader_end(&reader);
    ck_assert_msg(error == NULL, "%s", error);
    return call;
}

UNUSED_FN static void read_rows(void)
{
    (void)take_answer(grpc_ask(&client, READ_ROWS, &request.base));
}

/* Reads with that deadline, as a client that consumes nothing until the deadline has passed. The
 * same loop ends a Watch call with a later deadline, whose end shows that the deadline has
 * passed. */
UNUSED_FN static struct grpc_call *read_past_deadline(struct grpc_client *slow,
                                                      const char *deadline, const char *later)
{
    static Health__HealthCheckRequest watch = HEALTH__HEALTH_CHECK_REQUEST__INIT;
    ck_assert_int_eq(nghttp2_session_set_local_window_size(slow->session, 0, 0, 4 * MIB), 0);
    slow->holds_windows = true;
    struct grpc_call *call = grpc_start(slow, READ_ROWS, &request.base, deadline);
    struct grpc_call *passed = grpc_start(slow, "/grpc.health.v1.Health/Watch", &watch.base, later);
    grpc_await_end(slow, passed);
    ck_assert_int_eq(passed->status, GW_STATUS_DEADLINE_EXCEEDED);
    ck_assert(!call->is_closed);
    grpc_give_windows(slow);
    grpc_await_end(slow, call);
    return call;
}

/* Expects the rows of `put` with these letters, in that order. */
UNUSED_FN static void expect_rows(const char *letters)
{
    for (; *letters != '\0'; letters++) {
        chunk_rows_begin(&expected, base_slice(letters, 1));
        chunk_rows_cell(&expected, SLICE_LIT("stats"), SLICE_LIT("q"), 1000, SLICE_LIT("v"),
                        SLICE_EMPTY);
    }
    ck_assert_uint_eq(reader.rows.len, expected.len);
    ck_assert(base_slice_equal(base_buf_slice(&reader.rows), base_buf_slice(&expected)));
}

UNUSED_FN static void expect_refused(enum gw_status_code status, const char *word)
{
    const struct grpc_call *call = grpc_ask(&client, READ_ROWS, &request.base);
    ck_assert_int_eq(call->status, (int)status);
    ck_assert_msg(strstr(call->message, word) != NULL, "%s", call->message);
    ck_assert_uint_eq(call->body.len, 0);
}

UNUSED_FN static void use_range(void)
{
    rows.n_row_ranges = 1;
    rows.row_ranges = ranges;
    request.rows = &rows;
}

UNUSED_FN static void use_keys(size_t count)
{
    rows.n_row_keys = count;
    rows.row_keys = keys;
    request.rows = &rows;
}

/* Sets a filter that passes nothing, but examines every value. */
UNUSED_FN static void use_filter_of_nothing(void)
{
    filter.filter_case = BT__ROW_FILTER__FILTER_VALUE_REGEX_FILTER;
    filter.value_regex_filter = data_of("v*w");
    request.filter = &filter;
}

UNUSED_FN static TCase *add_case(Suite *s, const char *name)
{
    TCase *tc = tcase_create(name);
    world_begin(tc);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    suite_add_tcase(s, tc);
    return tc;
}

#endif

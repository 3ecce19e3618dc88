/*
 * tests/grpc/test_transport.c - gRPC around its calls: pings, heads, the end of a server.
 */
#define _GNU_SOURCE /* memmem */
#include <signal.h>

#include "calls.h"
#include "tests/support/raw_tls.h"

#include "base/banned.h"

/* --- pings -------------------------------------------------------------------------------------
 */

/* So many pongs, and no more behind them. */
static void expect_pongs(size_t count)
{
    for (int ms = 0; client.pongs < count && ms < process_await_ms(); ms += 50)
        grpc_listen(&client, 50);
    grpc_listen(&client, 100);
    ck_assert_uint_eq(client.pongs, count);
    ck_assert_uint_eq(client.goaway_count, 0);
}

START_TEST(a_few_pings_are_answered)
{
    grpc_ping(&client, 4);
    expect_pongs(4);
}
END_TEST

START_TEST(pings_between_requests_are_welcome)
{
    for (size_t i = 0; i < GRPC_CALLS; i++) {
        grpc_ping(&client, 2);
        expect_status(grpc_ask(&client, READ_ROWS, &request.base), GW_STATUS_OK, "");
    }
    expect_pongs(2 * GRPC_CALLS);
}
END_TEST

#define WINDOW (16 * KIB)

START_TEST(too_many_pings_are_told_and_calls_go_on)
{
    static struct grpc_client slow;
    fill(3000, 1000);
    grpc_open(&slow, world_server(), w.key, WINDOW);
    struct grpc_call *call = grpc_start(&slow, READ_ROWS, &request.base, NULL);
    raw_await_unread(&slow.tls, WINDOW); /* nothing moves any more */
    grpc_ping(&slow, 8);
    grpc_hurry(&slow);
    grpc_await(&slow);
    ck_assert_uint_eq(slow.goaway_error, NGHTTP2_ENHANCE_YOUR_CALM);
    ck_assert_str_eq(slow.goaway_text, "too_many_pings");
    ck_assert_int_eq(slow.goaway_last_id, call->id);
    (void)take_answer(call);
    ck_assert_uint_eq(reader.row_count, 3000);
    ck_assert_uint_eq(slow.pongs, 8);
    grpc_close(&slow);
}
END_TEST

START_TEST(an_idle_connection_with_too_many_pings_is_closed)
{
    grpc_ping(&client, 8);
    grpc_await_close(&client);
    ck_assert_uint_eq(client.goaway_error, NGHTTP2_ENHANCE_YOUR_CALM);
    ck_assert(client.tls.closed);
}
END_TEST

/* --- many calls --------------------------------------------------------------------------------
 */

#define CONNECTIONS 16
#define ROUNDS      4

/* Returns how many were done: a call that a loaded server refuses has a complete answer as well. */
static size_t expect_answered(const struct grpc_client *c)
{
    size_t done = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct grpc_call *call = &c->calls[i];
        ck_assert_uint_eq(call->error, NGHTTP2_NO_ERROR);
        ck_assert_int_eq(call->http_status, 200);
        ck_assert_int_ne(call->status, GRPC_HEAD_ONLY);
        ck_assert_uint_eq(grpc_message_count(call), call->status == GW_STATUS_OK);
        done += call->status == GW_STATUS_OK;
    }
    ck_assert_uint_eq(c->resets, 0);
    return done;
}

START_TEST(no_stream_is_reset_after_its_answer)
{
    struct grpc_client *many = base_new_array(CONNECTIONS, sizeof *many);
    size_t done = 0;
    admin_set_quota(w.op, w.tenant, "{'concurrent_requests':1024}");
    make_mutate(100);
    for (size_t i = 0; i < CONNECTIONS; i++)
        grpc_open(&many[i], world_server(), w.key, 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; k < GRPC_CALLS; k++)
            for (size_t i = 0; i < CONNECTIONS; i++)
                (void)grpc_start(&many[i], BIGTABLE "MutateRow", &mutate.base, NULL);
        for (size_t i = 0; i < CONNECTIONS; i++) {
            grpc_await(&many[i]);
            done += expect_answered(&many[i]);
            grpc_forget(&many[i]);
        }
    }
    /* What came behind the last answers came before another one. */
    for (size_t i = 0; i < CONNECTIONS; i++) {
        (void)grpc_start(&many[i], BIGTABLE "MutateRow", &mutate.base, NULL);
        grpc_await(&many[i]);
        done += expect_answered(&many[i]);
        grpc_close(&many[i]);
    }
    ck_assert_uint_gt(done, 0);
    base_free(many);
}
END_TEST

/* --- heads -------------------------------------------------------------------------------------
 */

START_TEST(many_headers_are_refused_and_fewer_are_not)
{
    static const int counts[] = {40, 70};
    for (int i = 0; i < counts[_i]; i++)
        grpc_add_header(&client, "x-more", "1");
    struct grpc_call *call = grpc_start(&client, READ_ROWS, &request.base, NULL);
    grpc_await(&client);
    ck_assert_int_eq(call->http_status, _i == 0 ? 200 : 431);
    ck_assert_int_eq(call->status, _i == 0 ? GW_STATUS_OK : GRPC_HEAD_ONLY);
}
END_TEST

START_TEST(large_headers_are_refused)
{
    static char value[LIM_HEAD_BYTES + 1];
    memset(value, 'x', sizeof value - 1);
    grpc_add_header(&client, "x-more", value);
    struct grpc_call *call = grpc_start(&client, READ_ROWS, &request.base, NULL);
    grpc_await(&client);
    ck_assert_int_eq(call->http_status, 431);
}
END_TEST

START_TEST(answers_name_no_cluster_and_zone)
{
    const struct grpc_call *call = grpc_ask(&client, READ_ROWS, &request.base);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    ck_assert_ptr_nonnull(memmem(call->head.ptr, call->head.len, "grpc-status", 11));
    ck_assert_ptr_null(memmem(call->head.ptr, call->head.len, "x-goog-ext-", 11));
}
END_TEST

START_TEST(grpc_needs_http2)
{
    struct raw_tls raw;
    raw_open(&raw, world_server(), "http/1.1");
    ck_assert(raw_send(&raw, SLICE_LIT("POST /google.bigtable.v2.Bigtable/ReadRows HTTP/1.1\r\n"
                                       "Host: x\r\nContent-Type: application/grpc+proto\r\n"
                                       "Content-Length: 5\r\nConnection: close\r\n\r\n"
                                       "\0\0\0\0\0")));
    (void)raw_read_to_close(&raw, process_await_ms());
    ck_assert_int_eq(base_buf_append_byte(&raw.in, '\0'), ERR_OK);
    const char *answer = (const char *)raw.in.ptr;
    ck_assert(base_slice_starts_with(base_buf_slice(&raw.in), SLICE_LIT("HTTP/1.1 415 ")));
    ck_assert_ptr_nonnull(strstr(answer, "gRPC needs HTTP/2"));
    raw_close(&raw);
}
END_TEST

START_TEST(materialized_views_are_not_here)
{
    char name[2 * TABLE_NAME];
    (void)snprintf(name, sizeof name, "projects/%s/instances/main/materializedViews/v", w.tenant);
    request.materialized_view_name = name;
    if (_i == 0)
        request.table_name = (char *)(uintptr_t) "";
    expect_refused(GW_STATUS_UNIMPLEMENTED, "materialized views");
    Bt__SampleRowKeysRequest sample = BT__SAMPLE_ROW_KEYS_REQUEST__INIT;
    sample.materialized_view_name = name;
    expect_status(grpc_ask(&client, BIGTABLE "SampleRowKeys", &sample.base),
                  GW_STATUS_UNIMPLEMENTED, "materialized views");
}
END_TEST

/* --- the end -----------------------------------------------------------------------------------
 */

/* They must be done before the server stops waiting: fewer where every step is slow. */
#define ENTRIES 20000

static size_t entry_count(void)
{
    return (size_t)process_rounds(ENTRIES);
}

static struct grpc_call *start_mutate_rows(struct grpc_client *c, char *name)
{
    static Bt__MutateRowsRequest many;
    static Bt__MutateRowsRequest__Entry entries[ENTRIES];
    static Bt__MutateRowsRequest__Entry *list[ENTRIES];
    static char row_keys[ENTRIES][32];
    make_mutate(100);
    bt__mutate_rows_request__init(&many);
    for (size_t i = 0; i < entry_count(); i++) {
        bt__mutate_rows_request__entry__init(&entries[i]);
        (void)snprintf(row_keys[i], sizeof row_keys[i], "many%05zu", i);
        entries[i].row_key = binary(row_keys[i]);
        entries[i].mutations = mutations;
        entries[i].n_mutations = 1;
        list[i] = &entries[i];
    }
    many.table_name = name;
    many.entries = list;
    many.n_entries = entry_count();
    return grpc_start(c, BIGTABLE "MutateRows", &many.base, NULL);
}

static void expect_all_ok(const struct grpc_call *call)
{
    size_t count = 0;
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    for (size_t n = 0; grpc_message(call, n).ptr != NULL; n++) {
        Bt__MutateRowsResponse *response = (Bt__MutateRowsResponse *)(void *)grpc_message_new(
            call, &bt__mutate_rows_response__descriptor, n);
        for (size_t i = 0; i < response->n_entries; i++, count++)
            ck_assert_int_eq(response->entries[i]->status->code, GW_STATUS_OK);
        bt__mutate_rows_response__free_unpacked(response, NULL);
    }
    ck_assert_uint_eq(count, entry_count());
}

static bool has_pong(void *c)
{
    grpc_listen(c, 1);
    return ((const struct grpc_client *)c)->pongs > 0;
}

/* The first GOAWAY names no call, so that those on their way come in; the second may come behind
 * the answers. nghttp2 does not tell of it then: it is the last frame of the connection. */
static void expect_last_goaway(struct grpc_client *c, int32_t last)
{
    const uint8_t frame[GRPC_TAIL] = {0, 0, 8, NGHTTP2_GOAWAY, [12] = (uint8_t)last};
    grpc_await_close(c);
    ck_assert(c->tls.closed);
    if (c->goaway_last_id != last)
        ck_assert_mem_eq(c->tail, frame, sizeof frame);
}

START_TEST(calls_under_way_are_finished_when_the_server_stops)
{
    static struct server server;
    static struct grpc_client late, reading, writing;
    server_create(&server);
    server_start(&server, NULL);
    world_fini(&w);
    world_init_on(&w, &server, HTTP_2, "ending");
    (void)snprintf(table, sizeof table, "projects/ending/instances/main/tables/devices");
    fill(3000, 1000);
    grpc_open(&reading, &server, w.key, 65535);
    grpc_open(&writing, &server, w.key, 0);
    grpc_open(&late, &server, w.key, 0);
    struct grpc_call *read = grpc_start(&reading, READ_ROWS, &request.base, NULL);
    grpc_await_bytes(&reading, read, 1000);
    struct grpc_call *write = start_mutate_rows(&writing, table);
    grpc_ping(&writing, 1);
    process_await(has_pong, &writing, "a pong, which says that the server has the call");
    ck_assert_int_eq(kill(server.pid, SIGTERM), 0);
    grpc_await_close(&late);
    ck_assert_uint_eq(late.goaway_error, NGHTTP2_NO_ERROR);
    ck_assert_uint_ge(late.goaway_count, 1);
    ck_assert(late.tls.closed);
    grpc_await(&writing);
    grpc_hurry(&reading);
    grpc_await(&reading);
    expect_all_ok(write);
    (void)take_answer(read);
    ck_assert_uint_ge(reader.row_count, 3000);
    expect_last_goaway(&reading, read->id);
    expect_last_goaway(&writing, write->id);
    grpc_close(&reading);
    grpc_close(&writing);
    grpc_close(&late);
    ck_assert_int_eq(server_wait_end(&server, 60000), 0);
    server_remove(&server);
}
END_TEST

Suite *suite_grpc_transport(void);
Suite *suite_grpc_transport(void)
{
    Suite *s = suite_create("grpc_transport");
    TCase *tc = add_case(s, "transport");
    tcase_add_test(tc, a_few_pings_are_answered);
    tcase_add_test(tc, pings_between_requests_are_welcome);
    tcase_add_test(tc, too_many_pings_are_told_and_calls_go_on);
    tcase_add_test(tc, an_idle_connection_with_too_many_pings_is_closed);
    tcase_add_test(tc, no_stream_is_reset_after_its_answer);
    tcase_add_loop_test(tc, many_headers_are_refused_and_fewer_are_not, 0, 2);
    tcase_add_test(tc, large_headers_are_refused);
    tcase_add_test(tc, answers_name_no_cluster_and_zone);
    tcase_add_test(tc, grpc_needs_http2);
    tcase_add_loop_test(tc, materialized_views_are_not_here, 0, 2);
    tcase_add_test(tc, calls_under_way_are_finished_when_the_server_stops);
    world_end(tc);
    return s;
}

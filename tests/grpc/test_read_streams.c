/*
 * tests/grpc/test_read_streams.c - long reads over gRPC: large cells, slow peers and vanishing
 * ones.
 */
#include "reads.h"
#include "tests/support/copies.h"

#include "base/banned.h"

START_TEST(a_scan_that_gives_nothing_says_how_far_it_is)
{
    fill(30000, 10);
    use_filter_of_nothing();
    request.reversed = _i == 1;
    reader.reversed = _i == 1;
    read_rows();
    ck_assert_uint_eq(reader.row_count, 0);
    ck_assert_uint_ge(reader.scanned_count, 2);
    ck_assert_uint_eq(reader.bound.len, 8); /* row12345: the tenant's own key */
    ck_assert(base_slice_starts_with(base_buf_slice(&reader.bound), SLICE_LIT("row")));
}
END_TEST

/* --- sizes and speeds --------------------------------------------------------------------------
 */

START_TEST(a_large_cell_comes_in_parts)
{
    size_t len = 5 * MIB;
    char *value = base_new(len + 1);
    struct buf body;
    for (size_t i = 0; i < len; i++)
        value[i] = (char)('a' + i % 23);
    base_buf_init(&body, 8 * MIB);
    ck_assert_int_eq(base_buf_append_text(&body, "{\"raw\":{\"v\":{\"value\":\""), ERR_OK);
    ck_assert_int_eq(base_buf_append_text(&body, value), ERR_OK);
    ck_assert_int_eq(base_buf_append_text(&body, "\",\"timestamp\":\"1000\"}}}"), ERR_OK);
    http_bytes(w.http, "PUT", base_buf_slice(&body), "/v1/tables/devices/rows/k");
    ck_assert_int_le(w.http->status, 201);
    if (_i == 1) {
        keys[0] = data_of("k");
        use_keys(1);
    }
    read_rows();
    chunk_rows_begin(&expected, SLICE_LIT("k"));
    chunk_rows_cell(&expected, SLICE_LIT("raw"), SLICE_LIT("v"), 1000, base_slice(value, len),
                    SLICE_EMPTY);
    ck_assert(base_slice_equal(base_buf_slice(&reader.rows), base_buf_slice(&expected)));
    ck_assert_uint_ge(reader.chunk_count, 5);
    base_buf_fini(&body);
    base_free(value);
}
END_TEST

/* Of it, COPIES copies are more than a client takes. */
#define LARGE_CELL (10 * MIB)
#define COPIES     27

static void put_cell(const char *key, size_t len)
{
    char *value = base_new(len);
    memset(value, 'v', len);
    http_bytes(w.http, "PUT", base_slice(value, len),
               "/v1/tables/devices/cells/%s/raw/v?timestamp=1000", pcts(key));
    EXPECT_STATUS(w.http, 204);
    base_free(value);
}

static void expect_large_row(const struct grpc_call *call, const char *key)
{
    struct buf told;
    base_buf_init(&told, LIM_ROW_KEY);
    ck_assert_msg(call->status == GW_STATUS_FAILED_PRECONDITION, "%d %s", call->status,
                  call->message);
    grpc_large_row_key(call, &told);
    ck_assert(base_slice_is(base_buf_slice(&told), key));
    base_buf_fini(&told);
}

/* Alone, in the head; behind others that were sent, in the trailers. */
START_TEST(a_row_that_no_client_takes_is_named)
{
    put_cell("k\xfb\xff\xfe?", LARGE_CELL);
    request.filter = copies_filter(COPIES);
    if (_i == 0) {
        keys[0] = data_of("k\xfb\xff\xfe?"); /* "a/v//j8=": the usual alphabet */
        use_keys(1);
    } else {
        put_cell("a", 300 * KIB);
        put_cell("z", 10);
    }
    const struct grpc_call *call = grpc_ask(&client, READ_ROWS, &request.base);
    expect_large_row(call, "k\xfb\xff\xfe?");
    ck_assert_uint_eq(call->body.len > 300 * KIB, _i == 1);
    ck_assert_uint_lt(call->body.len, LARGE_CELL);
}
END_TEST

/* As clients do that were told. */
START_TEST(without_the_row_that_was_named_the_read_goes_on)
{
    char key[LIM_ROW_KEY + 1];
    memset(key, 'k', LIM_ROW_KEY);
    key[LIM_ROW_KEY] = '\0';
    put_cell(key, LARGE_CELL);
    put_all(w.http, "az");
    request.filter = copies_filter(COPIES);
    expect_large_row(grpc_ask(&client, READ_ROWS, &request.base), key);
    range.start_key_case = BT__ROW_RANGE__START_KEY_START_KEY_OPEN;
    range.start_key_open = data_of(key);
    use_range();
    keys[0] = data_of("a");
    use_keys(1);
    read_rows();
    ck_assert_uint_eq(reader.row_count, 2);
}
END_TEST

START_TEST(a_slow_reader_costs_little_memory_and_gets_everything)
{
    static struct grpc_client slow[10];
    fill(3000, 10000); /* 30 MB */
    read_rows();
    uint64_t before = server_rss_kib(world_server());
    for (size_t i = 0; i < 10; i++) {
        grpc_open(&slow[i], world_server(), w.key, 65535);
        (void)grpc_start(&slow[i], READ_ROWS, &request.base, NULL);
    }
    for (size_t i = 0; i < 10; i++)
        raw_await_unread(&slow[i].tls, 32 * KIB);
    process_sleep_ms(300); /* nobody reads, and the server must not read ahead */
    int64_t grown = (int64_t)(server_rss_kib(world_server()) - before);
    ck_assert_msg(process_sanitized() || grown < 10 * 3 * 1024, "ten slow readers cost %lld KiB",
                  (long long)grown);
    grpc_hurry(&slow[0]); /* with its windows: slow it was before */
    grpc_await(&slow[0]);
    ck_assert(base_slice_equal(base_buf_slice(&slow[0].calls[0].body),
                               base_buf_slice(&client.calls[0].body)) ||
              slow[0].calls[0].body.len > 30000000);
    chunk_reader_fini(&reader);
    chunk_reader_init(&reader);
    (void)take_answer(&slow[0].calls[0]);
    ck_assert_uint_eq(reader.row_count, 3000);
    for (size_t i = 0; i < 10; i++)
        grpc_close(&slow[i]);
}
END_TEST

/* A tenant is only removed when none of its reads is open any more. */
START_TEST(a_cancelled_scan_leaves_nothing_open)
{
    static struct grpc_client quick;
    fill(3000, 10000);
    grpc_open(&quick, world_server(), w.key, 65535);
    const struct grpc_call *call = grpc_start(&quick, READ_ROWS, &request.base, NULL);
    grpc_await_bytes(&quick, call, 100000);
    grpc_cancel(&quick, call);
    (void)grpc_run(&quick, 100);
    ck_assert_uint_lt(call->body.len, 3000 * 10000);
    /* the connection lives */
    put(w.http, "zzz");
    keys[0] = data_of("zzz");
    use_keys(1);
    call = grpc_start(&quick, READ_ROWS, &request.base, NULL);
    grpc_await(&quick);
    (void)take_answer(call);
    ck_assert_uint_eq(reader.row_count, 1);
    use_filter_of_nothing();
    request.rows = NULL;
    call =
        grpc_start(&quick, READ_ROWS, &request.base, NULL); /* on a reader when it is cancelled */
    grpc_cancel(&quick, call);
    (void)grpc_run(&quick, 100);
    admin_offboard(w.op, w.tenant);
    grpc_close(&quick);
}
END_TEST

/* Its deletion was requested: the running scan and whatever comes later, until undelete. */
START_TEST(a_tenant_in_its_grace_period_is_not_found)
{
    static struct grpc_client slow;
    fill(3000, 10000);
    grpc_open(&slow, world_server(), w.key, 65535);
    const struct grpc_call *call = grpc_start(&slow, READ_ROWS, &request.base, NULL);
    grpc_await_bytes(&slow, call, 30000);
    http_value_take(w.op, "POST", json_pack("{s:s, s:s}", "confirm", w.tenant, "grace", "3600s"),
                    "/v1/admin/tenants/%s:offboard", w.tenant);
    EXPECT_STATUS(w.op, 202);
    grpc_await(&slow);
    ck_assert_int_eq(call->status, GW_STATUS_NOT_FOUND);
    ck_assert_uint_lt(call->body.len, 3000 * 10000);
    call = grpc_start(&slow, READ_ROWS, &request.base, NULL);
    grpc_await(&slow);
    ck_assert_int_eq(call->status, GW_STATUS_NOT_FOUND);
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:undelete", w.tenant);
    EXPECT_STATUS(w.op, 200);
    keys[0] = data_of("row00000");
    use_keys(1);
    call = grpc_start(&slow, READ_ROWS, &request.base, NULL);
    grpc_await(&slow);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    grpc_close(&slow);
}
END_TEST

START_TEST(a_scan_ends_at_its_deadline)
{
    static struct grpc_client slow;
    fill(3000, 10000);
    grpc_open(&slow, world_server(), w.key, 65535);
    const struct grpc_call *call = read_past_deadline(&slow, "400m", "500m");
    ck_assert_int_eq(call->status, GW_STATUS_DEADLINE_EXCEEDED);
    ck_assert_str_eq(call->details, "");
    ck_assert_uint_lt(call->body.len, 3000 * 10000);
    grpc_close(&slow);
}
END_TEST

/* One that has given rows, and one that goes through all of them and gives none. */
START_TEST(a_scan_ends_when_its_key_is_revoked)
{
    static struct grpc_client slow;
    fill(_i == 0 ? 3000 : 30000, _i == 0 ? 10000 : 10);
    if (_i == 1) { /* what it visits is owed for: it takes half an hour */
        admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':1024}");
        use_filter_of_nothing();
    }
    grpc_open(&slow, world_server(), w.key, 65535);
    const struct grpc_call *call = grpc_start(&slow, READ_ROWS, &request.base, NULL);
    if (_i == 0)
        grpc_await_bytes(&slow, call, 1);
    else
        grpc_listen(&slow, 300);
    ck_assert(!call->is_closed);
    http_delete(w.op, "/v1/admin/tenants/%s/keys/%.12s", w.tenant, w.key + 4);
    EXPECT_STATUS(w.op, 204);
    grpc_await(&slow);
    ck_assert_int_eq(call->status, GW_STATUS_UNAUTHENTICATED);
    ck_assert_uint_lt(call->body.len, 3000 * 10000);
    grpc_close(&slow);
}
END_TEST

Suite *suite_grpc_read_streams(void);
Suite *suite_grpc_read_streams(void);
Suite *suite_grpc_read_streams(void)
{
    Suite *s = suite_create("grpc_read_streams");
    TCase *tc = add_case(s, "streams");
    tcase_add_loop_test(tc, a_scan_that_gives_nothing_says_how_far_it_is, 0, 2);
    tcase_add_loop_test(tc, a_large_cell_comes_in_parts, 0, 2);
    tcase_add_loop_test(tc, a_row_that_no_client_takes_is_named, 0, 2);
    tcase_add_test(tc, without_the_row_that_was_named_the_read_goes_on);
    tcase_add_test(tc, a_slow_reader_costs_little_memory_and_gets_everything);
    tcase_add_test(tc, a_cancelled_scan_leaves_nothing_open);
    tcase_add_test(tc, a_tenant_in_its_grace_period_is_not_found);
    tcase_add_test(tc, a_scan_ends_at_its_deadline);
    tcase_add_loop_test(tc, a_scan_ends_when_its_key_is_revoked, 0, 2);
    world_end(tc);
    return s;
}

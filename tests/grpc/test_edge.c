/*
 * tests/grpc/test_edge.c - gRPC around its methods: deadlines, sizes, gzip.
 */
#define _GNU_SOURCE
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <zlib.h>

#include "gateway/grpc/rpc.h"

#include "calls.h"

#include "base/banned.h"

#define TABLES "/google.bigtable.admin.v2.BigtableTableAdmin/"

static void put_frame_head(struct buf *out, uint8_t flags, size_t len)
{
    uint8_t head[5] = {flags, (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                       (uint8_t)len};
    ck_assert_int_eq(base_buf_append(out, base_slice(head, sizeof head)), ERR_OK);
}

/* --- deadlines ---------------------------------------------------------------------------------
 */

START_TEST(a_stream_whose_peer_takes_nothing_ends_at_its_deadline)
{
    static struct grpc_client slow;
    fill(3000, 1000);
    grpc_open(&slow, world_server(), w.key, 65535);
    grpc_hurry(&slow);
    const struct grpc_call *call = read_past_deadline(&slow, "500m", "600m");
    ck_assert_int_eq(call->status, GW_STATUS_DEADLINE_EXCEEDED);
    ck_assert_uint_lt(call->body.len, 3000 * 1000);
    call = grpc_start(&slow, READ_ROWS, &request.base, NULL); /* the connection lives */
    grpc_await(&slow);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    grpc_close(&slow);
}
END_TEST

START_TEST(an_upload_that_stops_ends_at_its_deadline)
{
    struct grpc_call *call = grpc_begin(&client, BIGTABLE "MutateRow", "300m");
    grpc_put_bytes(&client, call, base_slice("\0\0\0\1\0ab", 7));
    grpc_await(&client);
    expect_status(call, GW_STATUS_DEADLINE_EXCEEDED, "deadline");
}
END_TEST

START_TEST(a_deadline_that_has_passed_is_told)
{
    make_mutate(1);
    struct grpc_call *call = grpc_start(&client, BIGTABLE "MutateRow", &mutate.base, "1n");
    grpc_await(&client);
    expect_status(call, GW_STATUS_DEADLINE_EXCEEDED, "deadline");
    read_rows();
    ck_assert_uint_eq(reader.row_count, 0);
}
END_TEST

static const char *const BAD_TIMEOUTS[] = {"", "1", "m", "123456789S", "1.5S", "-1S", "1s", "1 S"};

START_TEST(timeouts_that_are_none_are_refused)
{
    struct grpc_call *call = grpc_start(&client, READ_ROWS, &request.base, BAD_TIMEOUTS[_i]);
    grpc_await(&client);
    expect_status(call, GW_STATUS_INVALID_ARGUMENT, "grpc-timeout");
}
END_TEST

/* --- sizes -------------------------------------------------------------------------------------
 */

/* GetTable, with an unknown field that makes the message so long. */
static struct grpc_call *get_table(size_t len)
{
    struct buf message;
    Bta__GetTableRequest get = BTA__GET_TABLE_REQUEST__INIT;
    get.name = table;
    base_buf_init(&message, 2 * MIB);
    put_frame_head(&message, 0, len);
    ck_assert_int_eq(base_buf_reserve(&message, len), ERR_OK);
    size_t known = bta__get_table_request__pack(&get, base_buf_end(&message));
    message.len += known;
    size_t unknown = len - known - 5; /* a tag of two bytes, a length of three */
    const uint8_t head[5] = {0xc2, 0x3e, (uint8_t)(unknown | 0x80), (uint8_t)(unknown >> 7 | 0x80),
                             (uint8_t)(unknown >> 14)};
    ck_assert_int_eq(base_buf_append(&message, base_slice(head, sizeof head)), ERR_OK);
    memset(base_buf_end(&message), 'x', unknown);
    message.len += unknown;
    struct grpc_call *call = grpc_begin(&client, TABLES "GetTable", NULL);
    grpc_put_bytes(&client, call, base_buf_slice(&message));
    grpc_finish(&client, call);
    grpc_await(&client);
    base_buf_fini(&message);
    return call;
}

START_TEST(administration_takes_a_megabyte)
{
    expect_status(get_table(100 * KIB), GW_STATUS_OK, "");
    expect_status(get_table(300 * KIB), GW_STATUS_OK, ""); /* decoded by the helper */
    expect_status(get_table(1 * MIB), GW_STATUS_OK, "");
    expect_status(get_table(1 * MIB + 1), GW_STATUS_INVALID_ARGUMENT, "1048576");
}
END_TEST

START_TEST(large_rows_are_taken)
{
    static const size_t sizes[] = {200 * KIB, 300 * KIB, 5 * MIB};
    make_mutate(sizes[_i]);
    expect_status(grpc_ask(&client, BIGTABLE "MutateRow", &mutate.base), GW_STATUS_OK, "");
    read_rows();
    chunk_rows_begin(&expected, SLICE_LIT("k"));
    chunk_rows_cell(&expected, SLICE_LIT("raw"), SLICE_LIT("v"), 1000,
                    base_slice(cell.set.value.data, sizes[_i]), SLICE_EMPTY);
    ck_assert(base_slice_equal(base_buf_slice(&reader.rows), base_buf_slice(&expected)));
}
END_TEST

START_TEST(a_large_row_that_is_wrong_is_refused)
{
    make_mutate(300 * KIB);
    cell.set.family_name = (char *)(uintptr_t) "nothing";
    expect_status(grpc_ask(&client, BIGTABLE "MutateRow", &mutate.base), GW_STATUS_NOT_FOUND,
                  "nothing");
}
END_TEST

START_TEST(nothing_may_follow_a_message_that_is_decoded)
{
    make_mutate(2 * MIB);
    struct grpc_call *call = grpc_begin(&client, BIGTABLE "MutateRow", NULL);
    grpc_put(&client, call, &mutate.base);
    grpc_put(&client, call, &mutate.base);
    grpc_finish(&client, call);
    grpc_await(&client);
    expect_status(call, GW_STATUS_INVALID_ARGUMENT, "one message");
}
END_TEST

START_TEST(calls_broken_off_while_they_are_decoded_do_no_harm)
{
    make_mutate(2 * MIB);
    for (int i = 0; i < 10; i++) {
        struct grpc_call *call = grpc_start(&client, BIGTABLE "MutateRow", &mutate.base, NULL);
        grpc_listen(&client, 5 + i);
        if (!call->is_closed)
            grpc_cancel(&client, call);
    }
    (void)grpc_run(&client, 500);
    make_mutate(10);
    expect_status(grpc_ask(&client, BIGTABLE "MutateRow", &mutate.base), GW_STATUS_OK, "");
}
END_TEST

/* --- gzip --------------------------------------------------------------------------------------
 */

static void put_gzip(struct buf *out, struct slice plain)
{
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)plain.ptr, .avail_in = (uInt)plain.len};
    struct buf small;
    base_buf_init(&small, 128 * MIB);
    ck_assert_int_eq(base_buf_reserve(&small, plain.len + KIB), ERR_OK);
    ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_out = small.ptr;
    z.avail_out = (uInt)(plain.len + KIB);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    small.len = plain.len + KIB - z.avail_out;
    (void)deflateEnd(&z);
    put_frame_head(out, 1, small.len);
    ck_assert_int_eq(base_buf_append(out, base_buf_slice(&small)), ERR_OK);
    base_buf_fini(&small);
}

/* framed: the body of a request whose messages may be compressed. */
static struct grpc_call *ask_framed(const char *path, const struct buf *framed)
{
    if (client.more_count == 0) {
        grpc_add_header(&client, "grpc-encoding", "gzip");
        grpc_add_header(&client, "grpc-accept-encoding", "identity, gzip");
    }
    struct grpc_call *call = grpc_begin(&client, path, NULL);
    grpc_put_bytes(&client, call, base_buf_slice(framed));
    grpc_finish(&client, call);
    grpc_await(&client);
    return call;
}

static struct grpc_call *ask_gzip(const char *path, const ProtobufCMessage *message)
{
    struct buf plain, framed;
    base_buf_init(&plain, 32 * MIB);
    base_buf_init(&framed, 32 * MIB);
    ck_assert_int_eq(base_buf_reserve(&plain, protobuf_c_message_get_packed_size(message)), ERR_OK);
    plain.len = protobuf_c_message_pack(message, plain.ptr);
    put_gzip(&framed, base_buf_slice(&plain));
    struct grpc_call *call = ask_framed(path, &framed);
    base_buf_fini(&plain);
    base_buf_fini(&framed);
    return call;
}

START_TEST(compressed_requests_are_taken)
{
    static const size_t sizes[] = {10, 100 * KIB, 5 * MIB}; /* the last two inflate elsewhere */
    make_mutate(sizes[_i]);
    expect_status(ask_gzip(BIGTABLE "MutateRow", &mutate.base), GW_STATUS_OK, "");
    client.more_count = 0;
    read_rows();
    ck_assert_uint_eq(reader.row_count, 1);
    ck_assert_uint_gt(client.calls[1].body.len, sizes[_i]);
}
END_TEST

START_TEST(compressed_requests_have_the_same_limit)
{
    static const struct {
        const char *path;
        size_t len;
        const char *word;
    } cases[] = {{BIGTABLE "MutateRow", GW_RPC_MESSAGE_MAX + 1, "more than 64 times"},
                 {TABLES "GetTable", 1 * MIB + 1, "1048576"}};
    struct buf framed;
    uint8_t *zeros = base_new_array(cases[_i].len, 1);
    base_buf_init(&framed, MIB);
    put_gzip(&framed, base_slice(zeros, cases[_i].len));
    expect_status(ask_framed(cases[_i].path, &framed), GW_STATUS_INVALID_ARGUMENT, cases[_i].word);
    base_buf_fini(&framed);
    base_free(zeros);
}
END_TEST

/* What a stream says of its encoding is true: rows come as they are, and nothing says gzip. */
START_TEST(streams_of_rows_are_plain_and_say_so)
{
    put_all(w.http, "abc");
    struct grpc_call *call = ask_gzip(READ_ROWS, &request.base);
    ck_assert_str_eq(call->encoding, "");
    ck_assert_uint_gt(call->body.len, 5);
    ck_assert_uint_eq(call->body.ptr[0], 0);
    (void)take_answer(call);
    expect_rows("abc");
}
END_TEST

/* The message of a compressed frame, which is all there is. */
static void inflate_answer(const struct grpc_call *call, struct buf *out)
{
    struct slice framed = base_buf_slice(&call->body);
    ck_assert_uint_gt(framed.len, 5);
    ck_assert_uint_eq(framed.ptr[0], 1);
    ck_assert_uint_eq((size_t)framed.ptr[3] << 8 | framed.ptr[4], framed.len - 5);
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)framed.ptr + 5,
                  .avail_in = (uInt)framed.len - 5};
    ck_assert_int_eq(base_buf_reserve(out, 64 * KIB), ERR_OK);
    ck_assert_int_eq(inflateInit2(&z, 31), Z_OK);
    z.next_out = out->ptr;
    z.avail_out = 64 * KIB;
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(z.avail_in, 0);
    out->len = 64 * KIB - z.avail_out;
    (void)inflateEnd(&z);
}

/* So many that a description of the table becomes smaller. */
static void add_families(void)
{
    char body[4096];
    int n = snprintf(body, sizeof body, "{'create':{'family-0':{}");
    for (int i = 1; i < 60; i++)
        n += snprintf(body + n, sizeof body - (size_t)n, ",'family-%d':{}", i);
    (void)snprintf(body + n, sizeof body - (size_t)n, "}}");
    http_json(w.http, "POST", body, "/v1/tables/devices:families");
    EXPECT_STATUS(w.http, 200);
}

START_TEST(unary_answers_are_compressed_when_both_want_it)
{
    struct buf inflated;
    add_families();
    Bta__GetTableRequest get = BTA__GET_TABLE_REQUEST__INIT;
    get.name = table;
    base_buf_init(&inflated, MIB);
    struct grpc_call *call = ask_gzip(TABLES "GetTable", &get.base);
    expect_status(call, GW_STATUS_OK, "");
    ck_assert_str_eq(call->encoding, "gzip");
    inflate_answer(call, &inflated);
    client.more_count = 0;
    call = grpc_ask(&client, TABLES "GetTable", &get.base);
    expect_status(call, GW_STATUS_OK, "");
    ck_assert_str_eq(call->encoding, "");
    ck_assert(base_slice_equal(base_buf_slice(&inflated), grpc_message(call, 0)));
    base_buf_fini(&inflated);
}
END_TEST

/* Also with a refusal: who was refused for his compression must be told which there are. */
START_TEST(every_answer_says_which_compressions_are_taken)
{
    static const char offer[] = "grpc-accept-encoding: identity,gzip\n";
    const struct grpc_call *call = grpc_ask(&client, READ_ROWS, &request.base);
    expect_status(call, GW_STATUS_OK, "");
    ck_assert_ptr_nonnull(memmem(call->head.ptr, call->head.len, offer, sizeof offer - 1));
    grpc_add_header(&client, "grpc-encoding", "snappy");
    call = grpc_ask(&client, READ_ROWS, &request.base);
    expect_status(call, GW_STATUS_UNIMPLEMENTED, "gzip");
    ck_assert_ptr_nonnull(memmem(call->head.ptr, call->head.len, offer, sizeof offer - 1));
}
END_TEST

Suite *suite_grpc_edge(void);
Suite *suite_grpc_edge(void)
{
    Suite *s = suite_create("grpc_edge");
    TCase *tc = add_case(s, "deadlines");
    tcase_add_test(tc, a_stream_whose_peer_takes_nothing_ends_at_its_deadline);
    tcase_add_test(tc, an_upload_that_stops_ends_at_its_deadline);
    tcase_add_test(tc, a_deadline_that_has_passed_is_told);
    tcase_add_loop_test(tc, timeouts_that_are_none_are_refused, 0, 8);
    world_end(tc);
    tc = add_case(s, "sizes");
    tcase_add_test(tc, administration_takes_a_megabyte);
    tcase_add_loop_test(tc, large_rows_are_taken, 0, 3);
    tcase_add_test(tc, a_large_row_that_is_wrong_is_refused);
    tcase_add_test(tc, nothing_may_follow_a_message_that_is_decoded);
    tcase_add_test(tc, calls_broken_off_while_they_are_decoded_do_no_harm);
    tcase_add_loop_test(tc, compressed_requests_are_taken, 0, 3);
    tcase_add_loop_test(tc, compressed_requests_have_the_same_limit, 0, 2);
    tcase_add_test(tc, streams_of_rows_are_plain_and_say_so);
    tcase_add_test(tc, unary_answers_are_compressed_when_both_want_it);
    tcase_add_test(tc, every_answer_says_which_compressions_are_taken);
    world_end(tc);
    return s;
}

/*
 * tests/grpc/test_sample_row_keys.c - SampleRowKeys of a real server.
 */
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "base/text.h"
#include "reads.h"
#include "tests/support/server.h"

#include "base/banned.h"

#define SAMPLES "/google.bigtable.v2.Bigtable/SampleRowKeys"
#define CREATE  "/google.bigtable.admin.v2.BigtableTableAdmin/CreateTable"

static const struct grpc_call *ask_samples(const Bt__RowRange *row_range)
{
    Bt__SampleRowKeysRequest ask = BT__SAMPLE_ROW_KEYS_REQUEST__INIT;
    ask.table_name = table;
    ask.row_range = (Bt__RowRange *)(uintptr_t)row_range;
    const struct grpc_call *call = grpc_ask(&client, SAMPLES, &ask.base);
    ck_assert_msg(call->status == GW_STATUS_OK, "status %d: %s", call->status, call->message);
    return call;
}

/* How many samples came: keys rise, offsets do not fall; the last one's key and offset. */
static size_t samples_of(const struct grpc_call *call, char last_key[64], int64_t *out_offset)
{
    char before[64] = "";
    *out_offset = 0;
    for (size_t n = 0;; n++) {
        struct slice bytes = grpc_message(call, n);
        if (bytes.ptr == NULL)
            return n;
        Bt__SampleRowKeysResponse *m =
            bt__sample_row_keys_response__unpack(NULL, bytes.len, bytes.ptr);
        ck_assert_ptr_nonnull(m);
        (void)snprintf(last_key, 64, "%.*s", (int)m->row_key.len, (const char *)m->row_key.data);
        ck_assert(last_key[0] == '\0' || strcmp(last_key, before) > 0);
        ck_assert_int_ge(m->offset_bytes, *out_offset);
        *out_offset = m->offset_bytes;
        (void)snprintf(before, sizeof before, "%s", last_key);
        bt__sample_row_keys_response__free_unpacked(m, NULL);
    }
}

START_TEST(samples_of_an_empty_table_are_its_end)
{
    char key[64] = "x";
    int64_t offset = 1;
    ck_assert_uint_eq(samples_of(ask_samples(NULL), key, &offset), 1);
    ck_assert_str_eq(key, "");
    ck_assert_int_eq(offset, 0);
}
END_TEST

START_TEST(samples_divide_the_table_and_end_with_it)
{
    char key[64];
    int64_t offset, part_offset;
    fill(3000, 10000);
    size_t all = samples_of(ask_samples(NULL), key, &offset);
    ck_assert_uint_ge(all, 3);
    ck_assert_str_eq(key, "");
    ck_assert_int_eq(offset, tenant_usage(w.http).bytes);
    range.start_key_case = BT__ROW_RANGE__START_KEY_START_KEY_CLOSED;
    range.start_key_closed = data_of("row00500");
    range.end_key_case = BT__ROW_RANGE__END_KEY_END_KEY_OPEN;
    range.end_key_open = data_of("row02000");
    size_t part = samples_of(ask_samples(&range), key, &part_offset);
    ck_assert_uint_ge(part, 2);
    ck_assert_uint_lt(part, all);
    ck_assert_str_eq(key, "row02000");
    ck_assert_int_lt(part_offset, offset);
    range.end_key_case = BT__ROW_RANGE__END_KEY__NOT_SET;
    (void)samples_of(ask_samples(&range), key, &part_offset);
    ck_assert_str_eq(key, "");
    ck_assert_int_eq(part_offset, offset);
}
END_TEST

static uint64_t parsed(const char *text)
{
    uint64_t number = 0;
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(base_parse_u64(base_slice_text(text), &number), ERR_OK);
    return number;
}

/* A row costs 64 bytes and its header's, 4 KiB of those one. */
START_TEST(rows_that_are_walked_over_are_charged_over_both_protocols)
{
    ck_assert_uint_eq(parsed(ask_samples(NULL)->cost), 1);
    fill(3000, 100);
    uint64_t cost = parsed(ask_samples(NULL)->cost);
    ck_assert_uint_ge(cost, 1 + 3000 * 64 / (4 * KIB));
    ck_assert_uint_le(cost, 1 + 3000 * 128 / (4 * KIB));
    http_get(w.http, "/v1/tables/devices:samples");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(parsed(http_header(w.http, "bigtent-cost")), cost);
}
END_TEST

/* --- splits ------------------------------------------------------------------------------------
 */

#define SPLITS_MAX (LIM_SPLITS + 1)

/* "projects/.../tables/<id>" into table. */
static void use_table(const char *id)
{
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/%s", w.tenant, id);
}

static const struct grpc_call *create(const char *id, const ProtobufCBinaryData *split_keys,
                                      size_t count)
{
    static Bta__CreateTableRequest__Split splits[SPLITS_MAX];
    static Bta__CreateTableRequest__Split *all[SPLITS_MAX];
    char parent[WORLD_ID + 64];
    Bta__CreateTableRequest ask = BTA__CREATE_TABLE_REQUEST__INIT;
    Bta__Table made = BTA__TABLE__INIT;
    (void)snprintf(parent, sizeof parent, "projects/%s/instances/main", w.tenant);
    for (size_t i = 0; i < count; i++) {
        bta__create_table_request__split__init(&splits[i]);
        splits[i].key = split_keys[i];
        all[i] = &splits[i];
    }
    ask.parent = parent;
    ask.table_id = (char *)(uintptr_t)id;
    ask.table = &made;
    ask.initial_splits = all;
    ask.n_initial_splits = count;
    return grpc_ask(&client, CREATE, &ask.base);
}

/* Keys in order, each behind a space; the end has none. All offsets are 0. */
static void expect_samples(const Bt__RowRange *row_range, const char *wanted)
{
    const struct grpc_call *call = ask_samples(row_range);
    struct buf text;
    base_buf_init(&text, MIB);
    for (size_t n = 0; grpc_message(call, n).ptr != NULL; n++) {
        Bt__SampleRowKeysResponse *m = (Bt__SampleRowKeysResponse *)grpc_message_new(
            call, &bt__sample_row_keys_response__descriptor, n);
        ck_assert_int_eq(m->offset_bytes, 0);
        ck_assert_int_eq(base_buf_append_text(&text, " "), ERR_OK);
        ck_assert_int_eq(base_buf_append(&text, base_slice(m->row_key.data, m->row_key.len)),
                         ERR_OK);
        bt__sample_row_keys_response__free_unpacked(m, NULL);
    }
    ck_assert_int_eq(base_buf_append_byte(&text, 0), ERR_OK);
    ck_assert_str_eq((const char *)text.ptr, wanted);
    base_buf_fini(&text);
}

START_TEST(samples_of_a_new_table_are_its_splits)
{
    ProtobufCBinaryData splits[] = {data_of("p"), data_of("g"), data_of("p"), data_of("k#1")};
    const struct grpc_call *call = create("split", splits, 4);
    ck_assert_msg(call->status == GW_STATUS_OK, "%s", call->message);
    use_table("split");
    expect_samples(NULL, " g k#1 p ");
    range.start_key_case = BT__ROW_RANGE__START_KEY_START_KEY_CLOSED;
    range.start_key_closed = data_of("g");
    expect_samples(&range, " k#1 p ");
    range.end_key_case = BT__ROW_RANGE__END_KEY_END_KEY_OPEN;
    range.end_key_open = data_of("m");
    expect_samples(&range, " k#1 m");
    http_get(w.http, "/v1/tables/split:samples?bytes=1");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, "/samples"), 4);
    ck_assert_str_eq(http_string(w.http, "/samples/1/key"), "k#1");
    ck_assert_int_eq(create("split", splits, 4)->status, GW_STATUS_ALREADY_EXISTS);
    http_json(w.http, "PUT", "{'families':{'later':{}}}", "/v1/tables/split");
    EXPECT_STATUS(w.http, 200);
    expect_samples(NULL, " g k#1 p ");
}
END_TEST

START_TEST(splits_are_refused_as_row_keys_are)
{
    static uint8_t bytes[LIM_ROW_KEY + 1];
    static ProtobufCBinaryData many[SPLITS_MAX];
    ProtobufCBinaryData splits[] = {data_of("p"), data_of("")};
    const struct grpc_call *call = create("split", splits, 2);
    ck_assert_int_eq(call->status, GW_STATUS_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(call->message, "split 2: row key is empty"));
    splits[1] = (ProtobufCBinaryData){.data = bytes, .len = LIM_ROW_KEY + 1};
    call = create("split", splits, 2);
    ck_assert_int_eq(call->status, GW_STATUS_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(call->message, "4096"));
    for (size_t i = 0; i < SPLITS_MAX; i++)
        many[i] = (ProtobufCBinaryData){.data = bytes, .len = 1 + i % 100};
    call = create("split", many, SPLITS_MAX);
    ck_assert_int_eq(call->status, GW_STATUS_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(call->message, "at most 1000 splits, not 1001"));
    for (size_t i = 0; i < SPLITS_MAX; i++)
        many[i].len = LIM_SPLIT_BYTES / LIM_SPLITS;
    call = create("split", many, LIM_SPLITS); /* one key, merged */
    ck_assert_msg(call->status == GW_STATUS_OK, "%s", call->message);
    use_table("split");
    ck_assert_uint_eq(grpc_message_count(ask_samples(NULL)), 2);
}
END_TEST

/* --- a server of its own -----------------------------------------------------------------------
 */

static struct server server;

static void create_server(void)
{
    server_create(&server);
}

static void remove_server(void)
{
    server_remove(&server);
}

START_TEST(splits_are_kept_over_a_restart)
{
    ProtobufCBinaryData splits[] = {data_of("p"), data_of("g")};
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "keeper");
    grpc_open(&client, &server, w.key, 0);
    ck_assert_int_eq(create("split", splits, 2)->status, GW_STATUS_OK);
    grpc_close(&client);
    server_stop(&server);
    server_start(&server, NULL);
    grpc_open(&client, &server, w.key, 0);
    use_table("split");
    expect_samples(NULL, " g p ");
    grpc_close(&client);
    world_fini(&w);
    server_stop(&server);
}
END_TEST

Suite *suite_grpc_sample_row_keys(void);
Suite *suite_grpc_sample_row_keys(void)
{
    Suite *s = suite_create("grpc_sample_row_keys");
    TCase *tc = add_case(s, "samples");
    tcase_add_test(tc, samples_of_an_empty_table_are_its_end);
    tcase_add_test(tc, samples_divide_the_table_and_end_with_it);
    tcase_add_test(tc, rows_that_are_walked_over_are_charged_over_both_protocols);
    tcase_add_test(tc, samples_of_a_new_table_are_its_splits);
    tcase_add_test(tc, splits_are_refused_as_row_keys_are);
    world_end(tc);
    tc = tcase_create("restart");
    tcase_add_checked_fixture(tc, create_server, remove_server);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, splits_are_kept_over_a_restart);
    suite_add_tcase(s, tc);
    return s;
}

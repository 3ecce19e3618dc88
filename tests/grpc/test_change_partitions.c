/*
 * tests/grpc/test_change_partitions.c - the partitions that a change stream begins with.
 */
#include "tenancy/admission.h"

#include "changes.h"

#include "base/text.h"
#include "tests/support/rates.h"

#include "base/banned.h"

Suite *suite_grpc_change_partitions(void);

/* The table again, divided at "k00", "k01", ... */
static void split_table(int splits)
{
    char body[1024];
    size_t len = (size_t)snprintf(body, sizeof body,
                                  "{'families':{'stats':{},'raw':{},'sum':{'type':'sum'}},"
                                  "'change_stream_retention':'86400s','splits':[");
    for (int i = 0; i < splits; i++)
        len += (size_t)snprintf(body + len, sizeof body - len, "%s'k%02d'", i == 0 ? "" : ",", i);
    (void)snprintf(body + len, sizeof body - len, "]}");
    http_json(w.http, "PUT", body, "/v1/tables/split");
    EXPECT_STATUS(w.http, 201);
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/split", w.tenant);
    set_time(&start_time, base_wall_us());
}

#define PARTITIONS_MAX 8

/* Each begins where the one before ends; starts[i] of the i-th, and "" behind the last one. */
static size_t partitions(char starts[PARTITIONS_MAX + 1][8])
{
    Bt__GenerateInitialChangeStreamPartitionsRequest all =
        BT__GENERATE_INITIAL_CHANGE_STREAM_PARTITIONS_REQUEST__INIT;
    all.table_name = table;
    const struct grpc_call *call = grpc_ask(&client, PARTITIONS, &all.base);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    size_t count = grpc_message_count(call);
    ck_assert_uint_ge(count, 1);
    ck_assert_uint_le(count, PARTITIONS_MAX);
    starts[0][0] = '\0';
    for (size_t i = 0; i < count; i++) {
        struct slice bytes = grpc_message(call, i);
        Bt__GenerateInitialChangeStreamPartitionsResponse *m =
            bt__generate_initial_change_stream_partitions_response__unpack(NULL, bytes.len,
                                                                           bytes.ptr);
        ck_assert_ptr_nonnull(m);
        const Bt__RowRange *r = m->partition->row_range;
        ck_assert_int_eq(r->start_key_case, BT__ROW_RANGE__START_KEY_START_KEY_CLOSED);
        ck_assert_int_eq(r->end_key_case, BT__ROW_RANGE__END_KEY_END_KEY_OPEN);
        ck_assert(base_slice_is(base_slice(r->start_key_closed.data, r->start_key_closed.len),
                                starts[i]));
        ck_assert_uint_lt(r->end_key_open.len, sizeof starts[0]);
        ck_assert_int_eq(r->end_key_open.len == 0, i + 1 == count);
        (void)snprintf(starts[i + 1], sizeof starts[0], "%.*s", (int)r->end_key_open.len,
                       (const char *)r->end_key_open.data);
        bt__generate_initial_change_stream_partitions_response__free_unpacked(m, NULL);
    }
    return count;
}

START_TEST(partitions_to_begin_with_are_few_and_cover_the_table)
{
    static const struct {
        int splits;
        size_t count;
    } cases[] = {{0, 1}, {1, 2}, {7, 8}, {8, 8}, {60, 8}};
    char starts[PARTITIONS_MAX + 1][8];
    split_table(cases[_i].splits);
    ck_assert_uint_eq(partitions(starts), cases[_i].count);
}
END_TEST

/* Whoever reads all of them has each change once. */
START_TEST(each_change_is_in_one_of_the_partitions)
{
    char starts[PARTITIONS_MAX + 1][8];
    static struct follower f;
    size_t changes = 0;
    split_table(20);
    for (int i = 0; i < 40; i++) {
        http_json(w.http, "PUT", "{'raw':{'q':{'value':'v'}}}", "/v1/tables/split/rows/k%02d%s",
                  i / 2, i % 2 == 0 ? "" : "x");
        EXPECT_STATUS(w.http, 201);
    }
    use_end_now();
    size_t count = partitions(starts);
    ck_assert_uint_eq(count, PARTITIONS_MAX);
    for (size_t i = 0; i < count; i++) {
        memset(&f, 0, sizeof f);
        range.start_key_closed = (ProtobufCBinaryData){strlen(starts[i]), (uint8_t *)starts[i]};
        range.end_key_open = (ProtobufCBinaryData){strlen(starts[i + 1]), (uint8_t *)starts[i + 1]};
        follow(&f, grpc_ask(&client, READ, &ask.base));
        ck_assert(f.closed);
        ck_assert_uint_ge(f.changes, 1);
        changes += f.changes;
    }
    ck_assert_uint_eq(changes, 40);
}
END_TEST

#define ROWS 1000

/* What a partition's reader is not given is read all the same. */
START_TEST(changes_of_other_partitions_are_charged)
{
    static struct follower f;
    static char none[] = "none";
    uint64_t cost = 0;
    struct buf body;
    base_buf_init(&body, MIB);
    for (int i = 0; i < ROWS; i++)
        ck_assert_int_eq(
            base_buf_printf(&body, "{\"key\":\"k%04d\",\"cells\":{\"raw\":{\"q\":\"%0100d\"}}}\n",
                            i, i),
            ERR_OK);
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_bytes(w.http, "POST", base_buf_slice(&body), "/v1/tables/devices:write");
    EXPECT_STATUS(w.http, 200);
    base_buf_fini(&body);
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':1024," RATE_DEBT "}");
    range.start_key_closed = (ProtobufCBinaryData){strlen(none), (uint8_t *)none};
    use_end_now();
    const struct grpc_call *call = grpc_ask(&client, READ, &ask.base);
    memset(&f, 0, sizeof f);
    follow(&f, call);
    ck_assert(f.closed);
    ck_assert_uint_eq(f.changes, 0);
    ck_assert_int_eq(base_parse_u64(base_slice_text(call->cost), &cost), ERR_OK);
    ck_assert_uint_ge(cost, ROWS * (100 + TEN_ROW_VISITED_BYTES) / TEN_COST_READ_BYTES);
    call = grpc_ask(&client, READ, &ask.base);
    ck_assert_int_eq(call->status, GW_STATUS_RESOURCE_EXHAUSTED);
}
END_TEST

Suite *suite_grpc_change_partitions(void)
{
    Suite *s = suite_create("grpc_change_partitions");
    TCase *t = tcase_create("partitions");
    world_begin(t);
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, begin, tear_down);
    tcase_add_loop_test(t, partitions_to_begin_with_are_few_and_cover_the_table, 0, 5);
    tcase_add_test(t, each_change_is_in_one_of_the_partitions);
    tcase_add_test(t, changes_of_other_partitions_are_charged);
    suite_add_tcase(s, t);
    return s;
}

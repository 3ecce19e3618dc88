/*
 * tests/grpc/test_change_stream.c - change streams of a real server.
 */
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "changes.h"

#include "base/banned.h"

/* --- changes ------------------------------------------------------------------------------------
 */

START_TEST(what_is_written_comes_with_an_end)
{
    set_time(&start_time, began_us - 10 * 1000000); /* before the stream: from its beginning */
    put(w.http, "a");
    put(w.http, "b");
    http_json(w.http, "POST",
              "{'mutations':[{'add_to_cell':{'family':'sum','qualifier':'n','input':7}}]}",
              "/v1/tables/devices/rows/a:mutate");
    EXPECT_STATUS(w.http, 200);
    http_json(w.http, "DELETE", "", "/v1/tables/devices/rows/b");
    expect_changes("a:set stats:q@1000=v,;b:set stats:q@1000=v,;a:add sum:n+7,;b:-family stats:,;");
}
END_TEST

START_TEST(a_large_value_comes_in_chunks)
{
    fill(1, 700000);
    put(w.http, "z");
    expect_changes("row00000:big raw:v=700000 bytes,;z:set stats:q@1000=v,;");
}
END_TEST

START_TEST(a_dropped_range_and_a_partition)
{
    put_all(w.http, "abc");
    range.start_key_closed = data_of("b");
    range.end_key_open = data_of("c");
    http_json(w.http, "POST", "{'prefix':'b'}", "/v1/tables/devices:drop");
    EXPECT_STATUS(w.http, 200);
    expect_changes("b:set stats:q@1000=v,;b:-family stats:,;");
}
END_TEST

START_TEST(a_token_goes_on_behind_its_change)
{
    put_all(w.http, "abc");
    static struct follower f;
    memset(&f, 0, sizeof f);
    use_end_now();
    follow(&f, grpc_ask(&client, READ, &ask.base));
    ck_assert_uint_eq(f.changes, 3);
    char last[128];
    memcpy(last, token_text, sizeof last);
    use_token(last);
    expect_changes("");
    put(w.http, "d");
    for (int i = 0; i < 2; i++) { /* it serves as often as it is asked */
        use_token(last);
        expect_changes("d:set stats:q@1000=v,;");
    }
}
END_TEST

/* --- living streams -----------------------------------------------------------------------------
 */

START_TEST(a_waiting_stream_hears_of_a_commit_and_beats)
{
    static struct follower f;
    memset(&f, 0, sizeof f);
    use_heartbeat_ms(200);
    struct grpc_call *call = grpc_start(&client, READ, &ask.base, NULL);
    grpc_await_bytes(&client, call, 1); /* a heartbeat */
    follow(&f, call);
    ck_assert_uint_ge(f.heartbeats, 1);
    int64_t idle_us = f.last_watermark_us;
    put(w.http, "live");
    size_t seen = call->body.len;
    uint64_t end_ns = base_monotonic_ns() + (uint64_t)process_await_ms() * 1000000u;
    while (f.changes == 0 && base_monotonic_ns() < end_ns) {
        grpc_await_bytes(&client, call, ++seen);
        follow(&f, call);
        seen = call->body.len;
    }
    ck_assert_str_eq(f.text, "live:set stats:q@1000=v,;");
    ck_assert_int_gt(f.last_watermark_us, idle_us);
    ck_assert(!call->is_closed);
    grpc_cancel(&client, call);
}
END_TEST

START_TEST(a_heartbeat_of_an_idle_stream_is_a_token)
{
    static struct follower f;
    memset(&f, 0, sizeof f);
    put(w.http, "a");
    use_heartbeat_ms(100);
    struct grpc_call *call = grpc_start(&client, READ, &ask.base, NULL);
    size_t seen = 0;
    while (f.heartbeats < 3) {
        grpc_await_bytes(&client, call, ++seen);
        follow(&f, call);
        seen = call->body.len;
    }
    grpc_cancel(&client, call);
    ck_assert_uint_eq(f.changes, 1);
    ck_assert_int_gt(f.last_watermark_us, f.last_commit_us);
    use_token(token_text);
    put(w.http, "b");
    expect_changes("b:set stats:q@1000=v,;");
}
END_TEST

START_TEST(a_stream_ends_when_its_reason_goes)
{
    use_heartbeat_ms(60000);
    put(w.http, "a");
    struct grpc_call *call = grpc_start(&client, READ, &ask.base, NULL);
    grpc_await_bytes(&client, call, 1); /* the stream has begun */
    ck_assert(!call->is_closed);
    int wanted = GW_STATUS_FAILED_PRECONDITION;
    if (_i == 0) {
        http_json(w.http, "PUT",
                  "{'families':{'stats':{},'raw':{},'sum':{'type':'sum'}},"
                  "'change_stream_retention':null}",
                  "/v1/tables/devices");
        EXPECT_STATUS(w.http, 200);
    } else if (_i == 1) {
        http_json(w.http, "DELETE", "", "/v1/tables/devices");
        EXPECT_STATUS(w.http, 204);
        wanted = GW_STATUS_NOT_FOUND;
    } else if (_i == 2) {
        http_value_take(w.op, "POST",
                        json_pack("{s:s, s:s}", "confirm", w.tenant, "grace", "3600s"),
                        "/v1/admin/tenants/%s:offboard", w.tenant);
        EXPECT_STATUS(w.op, 202);
        wanted = GW_STATUS_NOT_FOUND;
    } else if (_i == 3) {
        http_json(w.op, "POST", "{'reason':'test'}", "/v1/admin/tenants/%s:suspend", w.tenant);
        EXPECT_STATUS(w.op, 200);
        wanted = GW_STATUS_PERMISSION_DENIED;
    } else {
        http_delete(w.op, "/v1/admin/tenants/%s/keys/%.12s", w.tenant, w.key + 4);
        EXPECT_STATUS(w.op, 204);
        wanted = GW_STATUS_UNAUTHENTICATED;
    }
    grpc_await(&client);
    ck_assert_msg(call->status == wanted, "status %d: %s", call->status, call->message);
}
END_TEST

START_TEST(a_stream_ends_at_its_deadline)
{
    use_heartbeat_ms(60000);
    const struct grpc_call *call = grpc_start(&client, READ, &ask.base, "300m");
    grpc_await(&client);
    ck_assert_int_eq(call->status, GW_STATUS_DEADLINE_EXCEEDED);
}
END_TEST

START_TEST(a_slow_reader_gets_everything)
{
    static struct grpc_client slow;
    static struct follower f;
    static char row[16], wanted[4096];
    memset(&f, 0, sizeof f);
    size_t len = 0;
    fill(20, 900000);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(row, sizeof row, "row%05d", i);
        len +=
            (size_t)snprintf(wanted + len, sizeof wanted - len, "%s:big raw:v=900000 bytes,;", row);
    }
    use_end_now();
    grpc_open(&slow, world_server(), w.key, 65535);
    struct grpc_call *call = grpc_start(&slow, READ, &ask.base, NULL);
    raw_await_unread(&slow.tls, 32 * KIB);
    grpc_hurry(&slow);
    grpc_await(&slow);
    ck_assert_msg(call->status == GW_STATUS_OK, "%d %s", call->status, call->message);
    follow(&f, call);
    ck_assert(f.closed);
    ck_assert_str_eq(f.text, wanted);
    grpc_close(&slow);
}
END_TEST

/* --- refusals -----------------------------------------------------------------------------------
 */

START_TEST(a_table_without_a_stream_has_none_to_read)
{
    Bt__GenerateInitialChangeStreamPartitionsRequest all =
        BT__GENERATE_INITIAL_CHANGE_STREAM_PARTITIONS_REQUEST__INIT;
    all.table_name = table;
    const struct grpc_call *call = grpc_ask(&client, PARTITIONS, &all.base);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    ck_assert_uint_eq(grpc_message_count(call), 1);
    struct slice bytes = grpc_message(call, 0);
    Bt__GenerateInitialChangeStreamPartitionsResponse *m =
        bt__generate_initial_change_stream_partitions_response__unpack(NULL, bytes.len, bytes.ptr);
    ck_assert_ptr_nonnull(m);
    ck_assert_int_eq(m->partition->row_range->start_key_case,
                     BT__ROW_RANGE__START_KEY_START_KEY_CLOSED);
    ck_assert_int_eq(m->partition->row_range->end_key_case, BT__ROW_RANGE__END_KEY_END_KEY_OPEN);
    ck_assert_uint_eq(m->partition->row_range->end_key_open.len, 0);
    bt__generate_initial_change_stream_partitions_response__free_unpacked(m, NULL);
    http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/plain");
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/plain", w.tenant);
    expect_no(GW_STATUS_FAILED_PRECONDITION, "no change stream");
    call = grpc_ask(&client, PARTITIONS, &all.base);
    ck_assert_int_eq(call->status, GW_STATUS_FAILED_PRECONDITION);
}
END_TEST

START_TEST(times_that_cannot_be_are_refused)
{
    set_time(&start_time, began_us + 3600LL * 1000000);
    expect_no(GW_STATUS_INVALID_ARGUMENT, "future");
    start_time.seconds = -5;
    expect_no(GW_STATUS_INVALID_ARGUMENT, "start_time");
    set_time(&start_time, began_us);
    use_heartbeat_ms(99);
    expect_no(GW_STATUS_INVALID_ARGUMENT, "heartbeat");
    use_heartbeat_ms(1000);
    set_time(&end_time, 0);
    ask.end_time = &end_time;
    expect_no(GW_STATUS_INVALID_ARGUMENT, "end_time");
}
END_TEST

START_TEST(tokens_are_of_one_tenant_table_and_partition)
{
    put(w.http, "a");
    static struct follower f;
    memset(&f, 0, sizeof f);
    use_end_now();
    follow(&f, grpc_ask(&client, READ, &ask.base));
    ask.end_time = NULL;
    char good[128];
    memcpy(good, token_text, sizeof good);
    use_token("bm90IG9uZQ");
    expect_no(GW_STATUS_INVALID_ARGUMENT, "token");
    use_token(good);
    token_text[3] ^= 1;
    expect_no(GW_STATUS_INVALID_ARGUMENT, "token");
    use_token(good);
    range.start_key_closed = data_of("a");
    expect_no(GW_STATUS_INVALID_ARGUMENT, "token");
    range.start_key_closed = data_of("");
    use_token(good);
    tokens.n_tokens = 0;
    expect_no(GW_STATUS_INVALID_ARGUMENT, "no token");
    tokens.n_tokens = 2;
    expect_no(GW_STATUS_UNIMPLEMENTED, "merges");
    tokens.n_tokens = 1;
    /* another table of the tenant, and the same table of another tenant */
    http_json(w.http, "PUT", "{'families':{'f':{}},'change_stream_retention':'86400s'}",
              "/v1/tables/other");
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/other", w.tenant);
    expect_no(GW_STATUS_INVALID_ARGUMENT, "token");
    struct world neighbour;
    static struct grpc_client theirs;
    world_init(&neighbour, HTTP_2);
    http_json(neighbour.http, "PUT",
              "{'families':{'stats':{},'raw':{}},'change_stream_retention':'86400s'}",
              "/v1/tables/devices");
    grpc_open(&theirs, world_server(), neighbour.key, 0);
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/devices",
                   neighbour.tenant);
    const struct grpc_call *call = grpc_ask(&theirs, READ, &ask.base);
    ck_assert_int_eq(call->status, GW_STATUS_INVALID_ARGUMENT);
    /* their own tokens name nothing of ours, nor does their key open our table */
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/devices", w.tenant);
    call = grpc_ask(&theirs, READ, &ask.base);
    ck_assert_int_eq(call->status, GW_STATUS_PERMISSION_DENIED);
    grpc_close(&theirs);
    world_fini(&neighbour);
}
END_TEST

START_TEST(a_token_of_a_stream_that_was_switched_off_is_over)
{
    put(w.http, "a");
    static struct follower f;
    memset(&f, 0, sizeof f);
    use_end_now();
    follow(&f, grpc_ask(&client, READ, &ask.base));
    ask.end_time = NULL;
    http_json(w.http, "PUT",
              "{'families':{'stats':{},'raw':{},'sum':{'type':'sum'}},"
              "'change_stream_retention':null}",
              "/v1/tables/devices");
    stream_on();
    use_token(token_text);
    expect_no(GW_STATUS_FAILED_PRECONDITION, "switched off");
}
END_TEST

/* acme and acme-eu: one name begins like the other. */
START_TEST(neighbours_with_names_alike_hear_nothing_of_each_other)
{
    char id[WORLD_ID];
    struct world eu;
    static struct grpc_client theirs;
    (void)snprintf(id, sizeof id, "%.50s-eu", w.tenant);
    world_init_on(&eu, world_server(), HTTP_2, id);
    http_json(eu.http, "PUT",
              "{'families':{'stats':{},'raw':{}},'change_stream_retention':'86400s'}",
              "/v1/tables/devices");
    int64_t eu_began_us = base_wall_us();
    put(w.http, "ours");
    put(eu.http, "theirs");
    expect_changes("ours:set stats:q@1000=v,;");
    static struct follower f;
    memset(&f, 0, sizeof f);
    grpc_open(&theirs, world_server(), eu.key, 0);
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/devices", id);
    set_time(&start_time, eu_began_us);
    use_end_now();
    const struct grpc_call *call = grpc_ask(&theirs, READ, &ask.base);
    ck_assert_msg(call->status == GW_STATUS_OK, "%s", call->message);
    follow(&f, call);
    ck_assert_str_eq(f.text, "theirs:set stats:q@1000=v,;");
    grpc_close(&theirs);
    world_fini(&eu);
}
END_TEST

/* --- switching on and off ------------------------------------------------------------------------
 */

static const struct grpc_call *update(const char *path, int64_t retention_s)
{
    Bta__UpdateTableRequest change = BTA__UPDATE_TABLE_REQUEST__INIT;
    Bta__Table t = BTA__TABLE__INIT;
    Google__Protobuf__FieldMask mask = GOOGLE__PROTOBUF__FIELD_MASK__INIT;
    Bta__ChangeStreamConfig config = BTA__CHANGE_STREAM_CONFIG__INIT;
    Google__Protobuf__Duration period = GOOGLE__PROTOBUF__DURATION__INIT;
    char *paths[1] = {(char *)(uintptr_t)path};
    t.name = table;
    period.seconds = retention_s;
    config.retention_period = &period;
    t.change_stream_config = retention_s == 0 ? NULL : &config;
    mask.paths = paths;
    mask.n_paths = 1;
    change.table = &t;
    change.update_mask = &mask;
    return grpc_ask(&client, ADMIN "UpdateTable", &change.base);
}

static int64_t retention_now(void)
{
    Bta__GetTableRequest get = BTA__GET_TABLE_REQUEST__INIT;
    get.name = table;
    const struct grpc_call *call = grpc_ask(&client, ADMIN "GetTable", &get.base);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    struct slice bytes = grpc_message(call, 0);
    Bta__Table *t = bta__table__unpack(NULL, bytes.len, bytes.ptr);
    ck_assert_ptr_nonnull(t);
    int64_t s =
        t->change_stream_config == NULL ? 0 : t->change_stream_config->retention_period->seconds;
    bta__table__free_unpacked(t, NULL);
    return s;
}

START_TEST(retention_is_one_to_seven_days)
{
    static const struct {
        int64_t seconds;
        bool good;
    } cases[] = {{DAY_S - 1, false}, {DAY_S, true}, {7 * DAY_S, true}, {7 * DAY_S + 1, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct grpc_call *call = update("change_stream_config", cases[i].seconds);
        ck_assert_int_eq(call->status, cases[i].good ? GW_STATUS_OK : GW_STATUS_INVALID_ARGUMENT);
        if (cases[i].good)
            ck_assert_int_eq(retention_now(), cases[i].seconds);
    }
    ck_assert_int_eq(update("change_stream_config.retention_period", 2 * DAY_S)->status,
                     GW_STATUS_OK);
    ck_assert_int_eq(retention_now(), 2 * DAY_S);
    ck_assert_int_eq(update("change_stream_config", 0)->status, GW_STATUS_OK);
    ck_assert_int_eq(retention_now(), 0);
    ck_assert_int_eq(update("change_stream_config", DAY_S)->status, GW_STATUS_OK);
    ck_assert_int_eq(update("change_stream_config.retention_period", 0)->status, GW_STATUS_OK);
    ck_assert_int_eq(retention_now(), 0);
    expect_no(GW_STATUS_FAILED_PRECONDITION, "no change stream");
}
END_TEST

START_TEST(json_says_the_same)
{
    http_get(w.http, "/v1/tables/devices");
    ck_assert_str_eq(http_string(w.http, "/change_stream_retention"), "86400s");
    static const char *const bad[] = {"'86399s'", "'604801s'", "'86400'", "86400", "'90000.5s'"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char body[160];
        (void)snprintf(body, sizeof body, "{'families':{'f':{}},'change_stream_retention':%s}",
                       bad[i]);
        http_json(w.http, "PUT", body, "/v1/tables/bad");
        EXPECT_STATUS(w.http, 400);
    }
    http_json(w.http, "PUT", "{'families':{'stats':{},'raw':{},'sum':{'type':'sum'}}}",
              "/v1/tables/devices");
    http_json(w.http, "POST", "{'create':{'more':{}}}", "/v1/tables/devices:families");
    http_get(w.http, "/v1/tables/devices"); /* left out: as it was */
    ck_assert_str_eq(http_string(w.http, "/change_stream_retention"), "86400s");
    http_json(w.http, "PUT",
              "{'families':{'stats':{},'raw':{},'sum':{'type':'sum'},'more':{}},"
              "'change_stream_retention':null}",
              "/v1/tables/devices");
    EXPECT_STATUS(w.http, 200);
    ck_assert(json_is_null(http_at(w.http, "/change_stream_retention")));
}
END_TEST

START_TEST(a_departed_tenant_leaves_nothing)
{
    put(w.http, "a");
    admin_offboard(w.op, w.tenant);
    ck_assert_str_eq(http_string(w.op, "/state"), "done");
}
END_TEST

static TCase *add(Suite *s, const char *name)
{
    TCase *tc = tcase_create(name);
    world_begin(tc);
    tcase_add_checked_fixture(tc, begin, tear_down);
    tcase_set_timeout(tc, 120);
    suite_add_tcase(s, tc);
    return tc;
}

Suite *suite_grpc_change_stream(void);
Suite *suite_grpc_change_stream(void)
{
    Suite *s = suite_create("grpc_change_stream");
    TCase *tc = add(s, "changes");
    tcase_add_test(tc, what_is_written_comes_with_an_end);
    tcase_add_test(tc, a_large_value_comes_in_chunks);
    tcase_add_test(tc, a_dropped_range_and_a_partition);
    tcase_add_test(tc, a_token_goes_on_behind_its_change);
    world_end(tc);
    tc = add(s, "live");
    tcase_add_test(tc, a_waiting_stream_hears_of_a_commit_and_beats);
    tcase_add_test(tc, a_heartbeat_of_an_idle_stream_is_a_token);
    tcase_add_loop_test(tc, a_stream_ends_when_its_reason_goes, 0, 5);
    tcase_add_test(tc, a_stream_ends_at_its_deadline);
    tcase_add_test(tc, a_slow_reader_gets_everything);
    world_end(tc);
    tc = add(s, "refused");
    tcase_add_test(tc, a_table_without_a_stream_has_none_to_read);
    tcase_add_test(tc, times_that_cannot_be_are_refused);
    tcase_add_test(tc, tokens_are_of_one_tenant_table_and_partition);
    tcase_add_test(tc, a_token_of_a_stream_that_was_switched_off_is_over);
    tcase_add_test(tc, neighbours_with_names_alike_hear_nothing_of_each_other);
    world_end(tc);
    tc = add(s, "tables");
    tcase_add_test(tc, retention_is_one_to_seven_days);
    tcase_add_test(tc, json_says_the_same);
    tcase_add_test(tc, a_departed_tenant_leaves_nothing);
    world_end(tc);
    return s;
}

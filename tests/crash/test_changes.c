/*
 * tests/crash/test_changes.c - kill -9 under writers: a change stream tells neither less nor more.
 *
 * A reader follows a table's changes while others write, goes away at any moment, and after the
 * server was killed under the writers and started again it goes on behind the last token it had.
 * At the end, what it made of the changes is what the table holds. ROUNDS says how often (default
 * 6).
 */
#define _GNU_SOURCE
#include <check.h>
#include <google/bigtable/v2/bigtable.pb-c.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/support/grpc_client.h"
#include "tests/support/random.h"
#include "tests/support/world.h"

#include "base/banned.h"

Suite *suite_crash_changes(void);

#define WRITERS 4
#define ROWS    60 /* of each writer */
#define TABLE   "projects/acme/instances/main/tables/t"

struct writer {
    pthread_t thread;
    struct http *http;
    struct random dice;
    size_t number;
    int wrong;    /* a status that should not have come */
    uint64_t put; /* that were answered */
};

static struct server server;
static struct http *op;
static char key[WORLD_KEY];
static struct writer writers[WRITERS];

/* What the changes say: the value of each row, "" without one. */
static char told[WRITERS][ROWS][24];
static char token[128];
static size_t changes;
static size_t sets;     /* changes that leave a value */
static int64_t told_us; /* commit of the last one */
static int64_t began_us;

/* --- writing ------------------------------------------------------------------------------------
 */

static void *write_until_gone(void *arg)
{
    struct writer *w = arg;
    for (;;) {
        char target[64], body[96];
        (void)snprintf(target, sizeof target, "/v1/tables/t/rows/%zu-%02u", w->number,
                       random_below(&w->dice, ROWS));
        bool is_delete = random_below(&w->dice, 4) == 0;
        int len = snprintf(body, sizeof body,
                           "{\"f\":{\"v\":{\"value\":\"%08x\",\"timestamp\":"
                           "\"1000\"}}}",
                           random_below(&w->dice, UINT32_MAX));
        if (!http_try(w->http, is_delete ? "DELETE" : "PUT", target,
                      is_delete ? SLICE_EMPTY : base_slice(body, (size_t)len)))
            return NULL;
        if (w->http->status / 100 != 2) {
            w->wrong = w->http->status;
            return NULL;
        }
        w->put += !is_delete;
    }
}

/* --- following ----------------------------------------------------------------------------------
 */

static char *told_of(ProtobufCBinaryData row)
{
    uint64_t writer = 0, number = 0;
    ck_assert_uint_eq(row.len, 4);
    ck_assert_int_eq(base_parse_u64(base_slice(row.data, 1), &writer), ERR_OK);
    number = (uint64_t)(row.data[2] - '0') * 10 + (uint64_t)(row.data[3] - '0');
    ck_assert(writer < WRITERS && number < ROWS);
    return told[writer][number];
}

static void apply(const Bt__ReadChangeStreamResponse__DataChange *c)
{
    char *value = told_of(c->row_key);
    ck_assert(c->done);
    for (size_t i = 0; i < c->n_chunks; i++) {
        const Bt__Mutation *m = c->chunks[i]->mutation;
        value[0] = '\0';
        if (m->mutation_case == BT__MUTATION__MUTATION_SET_CELL)
            (void)snprintf(value, 24, "%.*s", (int)m->set_cell->value.len,
                           (const char *)m->set_cell->value.data);
        else
            ck_assert_int_eq(m->mutation_case, BT__MUTATION__MUTATION_DELETE_FROM_FAMILY);
    }
    sets += value[0] != '\0';
    int64_t at_us = c->commit_timestamp->seconds * 1000000 + c->commit_timestamp->nanos / 1000;
    ck_assert_int_gt(at_us, told_us); /* over crashes, too */
    told_us = at_us;
    (void)snprintf(token, sizeof token, "%s", c->token);
    changes++;
}

/* The next whole message, without its frame; ptr NULL: the rest did not come. */
static struct slice next_message(struct slice *rest)
{
    const uint8_t *p = rest->ptr;
    if (rest->len < 5)
        return SLICE_EMPTY;
    size_t len = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (len > rest->len - 5)
        return SLICE_EMPTY;
    *rest = base_slice_skip(*rest, 5 + len);
    return base_slice(p + 5, len);
}

static void take(const struct grpc_call *call)
{
    struct slice rest = base_buf_slice(&call->body), bytes;
    while ((bytes = next_message(&rest)).ptr != NULL) {
        Bt__ReadChangeStreamResponse *m =
            bt__read_change_stream_response__unpack(NULL, bytes.len, bytes.ptr);
        ck_assert_ptr_nonnull(m);
        if (m->stream_record_case == BT__READ_CHANGE_STREAM_RESPONSE__STREAM_RECORD_DATA_CHANGE)
            apply(m->data_change);
        else if (m->stream_record_case == BT__READ_CHANGE_STREAM_RESPONSE__STREAM_RECORD_HEARTBEAT)
            (void)snprintf(token, sizeof token, "%s", m->heartbeat->continuation_token->token);
        bt__read_change_stream_response__free_unpacked(m, NULL);
    }
}

static void set_time(Google__Protobuf__Timestamp *t, int64_t us)
{
    google__protobuf__timestamp__init(t);
    t->seconds = us / 1000000;
    t->nanos = (int32_t)(us % 1000000) * 1000;
}

/* From the last token. bytes: go away when so many came; 0: to the end of now. */
static void follow(size_t bytes)
{
    static struct grpc_client client;
    Bt__ReadChangeStreamRequest ask = BT__READ_CHANGE_STREAM_REQUEST__INIT;
    Bt__StreamContinuationTokens tokens = BT__STREAM_CONTINUATION_TOKENS__INIT;
    Bt__StreamContinuationToken one = BT__STREAM_CONTINUATION_TOKEN__INIT;
    Bt__StreamContinuationToken *list[1] = {&one};
    Google__Protobuf__Timestamp start, end;
    char name[] = TABLE;
    ask.table_name = name;
    set_time(&start, began_us);
    set_time(&end, base_wall_us());
    one.token = token;
    tokens.tokens = list;
    tokens.n_tokens = 1;
    bool has_token = token[0] != '\0';
    ask.start_from_case = has_token ? BT__READ_CHANGE_STREAM_REQUEST__START_FROM_CONTINUATION_TOKENS
                                    : BT__READ_CHANGE_STREAM_REQUEST__START_FROM_START_TIME;
    if (has_token)
        ask.continuation_tokens = &tokens;
    else
        ask.start_time = &start;
    if (bytes == 0)
        ask.end_time = &end;
    grpc_open(&client, &server, key, 0);
    struct grpc_call *call =
        grpc_start(&client, "/google.bigtable.v2.Bigtable/ReadChangeStream", &ask.base, NULL);
    if (bytes == 0) {
        ck_assert(grpc_run(&client, 10000 * process_patience()));
        ck_assert_msg(call->status == 0, "status %d: %s", call->status, call->message);
    } else {
        (void)grpc_run_until(&client, call, bytes, 500);
        ck_assert_msg(!call->is_closed, "status %d: %s", call->status, call->message);
    }
    take(call);
    grpc_close(&client);
}

/* --- rounds -------------------------------------------------------------------------------------
 */

static void set_up(void)
{
    server_create(&server);
    server_start(&server, NULL);
    op = http_open(&server, HTTP_2, server.operator_key);
    admin_create_tenant(op, "acme");
    admin_create_key(op, "acme", NULL, key, NULL);
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i].number = i;
        writers[i].http = http_open(&server, HTTP_2, key);
        writers[i].dice.state = i;
    }
    http_json(writers[0].http, "PUT", "{'families':{'f':{}},'change_stream_retention':'86400s'}",
              "/v1/tables/t");
    EXPECT_STATUS(writers[0].http, 201);
    began_us = base_wall_us();
}

static void tear_down(void)
{
    for (size_t i = 0; i < WRITERS; i++)
        http_close(writers[i].http);
    http_close(op);
    server_stop(&server);
    server_remove(&server);
}

static void crash_once(struct random *dice)
{
    for (size_t i = 0; i < WRITERS; i++) {
        http_reconnect(writers[i].http);
        ck_assert_int_eq(pthread_create(&writers[i].thread, NULL, write_until_gone, &writers[i]),
                         0);
    }
    for (int i = 0; i < 3; i++)
        follow(1 + random_below(dice, 20000));
    process_sleep_ms((int)random_below(dice, 100));
    server_kill(&server);
    for (size_t i = 0; i < WRITERS; i++) {
        (void)pthread_join(writers[i].thread, NULL);
        ck_assert_int_eq(writers[i].wrong, 0);
    }
    server_start(&server, NULL);
}

/* The table's rows against what was told. */
static void compare(void)
{
    struct http *h = writers[0].http;
    size_t there = 0, expected = 0;
    http_reconnect(h);
    http_once(h, "Accept: application/x-ndjson");
    http_get(h, "/v1/tables/t/rows");
    EXPECT_STATUS(h, 200);
    const char *at = (const char *)h->body.ptr, *end = at + h->body.len;
    while (at < end) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        ck_assert_ptr_nonnull(eol);
        json_t *row = json_loadb(at, (size_t)(eol - at), 0, NULL);
        const char *name = json_string_value(json_at(row, "/key"));
        const char *value = json_string_value(json_at(row, "/cells/f/v/0/value"));
        ck_assert(name != NULL && value != NULL);
        char *says = told_of((ProtobufCBinaryData){strlen(name), (uint8_t *)(uintptr_t)name});
        ck_assert_msg(strcmp(says, value) == 0, "DATA: row %s holds %s, the changes say %s", name,
                      value, says);
        there++;
        json_decref(row);
        at = eol + 1;
    }
    for (size_t i = 0; i < WRITERS; i++)
        for (size_t n = 0; n < ROWS; n++)
            expected += told[i][n][0] != '\0';
    ck_assert_uint_eq(there, expected);
}

/* Each write that was answered is told once; one of each writer that a crash cut off may be. */
static void expect_told_once(uint64_t crashes)
{
    uint64_t put = 0;
    for (size_t i = 0; i < WRITERS; i++)
        put += writers[i].put;
    ck_assert_uint_ge(sets, put);
    ck_assert_uint_le(sets, put + WRITERS * crashes);
}

START_TEST(a_reader_misses_nothing_and_hears_nothing_twice)
{
    struct random dice = {4};
    const char *rounds_text = getenv("ROUNDS");
    uint64_t rounds = 6;
    if (rounds_text != NULL)
        ck_assert_int_eq(base_parse_u64(base_slice_text(rounds_text), &rounds), ERR_OK);
    for (uint64_t i = 0; i < rounds; i++) {
        crash_once(&dice);
        if (random_below(&dice, 2) == 0)
            continue; /* the next reader has to catch up */
        follow(0);
        compare();
    }
    follow(0);
    compare();
    expect_told_once(rounds);
    ck_assert_uint_gt(changes, 100);
}
END_TEST

Suite *suite_crash_changes(void)
{
    Suite *s = suite_create("crash_changes");
    TCase *tc = tcase_create("changes");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_reader_misses_nothing_and_hears_nothing_twice);
    tcase_set_timeout(tc, 300);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/crash/test_quota.c - a quota at its boundary, over both protocols at once, with kill -9 in
 * between: usage never is a byte over it, equals a recount, and a tenant that fills its quota ends
 * at its last byte.
 *
 * All rows have the same size, and the quota is that of FIT of them. ROUNDS says how often.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tests/grpc/writes.h"
#include "tests/support/random.h"

#include "base/banned.h"

enum { WRITERS = 4, ROWS_PER_WRITER = 60, FIT = 100, MESSAGE_MAX = 512 };

#define VALUE "0123456789"

static struct server server;
static struct world w;
static int64_t quota;

struct writer {
    pthread_t thread;
    struct http *http;
    struct random dice;
    size_t number;
    bool is_grpc;
    bool fills; /* each of its rows once, and ends; else at random, until the server is gone */
    size_t passed;
    _Atomic size_t refused;
    const char *wrong;
};

static struct writer writers[WRITERS];

/* --- one row ----------------------------------------------------------------------------------
 */

/* BUSY: the server was, and did nothing. */
enum verdict { PASSED, REFUSED, BUSY, WRONG, GONE };

#define BUSY_MS    10
#define BUSY_TRIES (6000 * process_patience())

static enum verdict verdict_of(int status, int ok, int also_ok, int refused)
{
    return status == ok || status == also_ok ? PASSED : status == refused ? REFUSED : WRONG;
}

static enum verdict write_json(struct writer *me, const char *key, bool deletes)
{
    char target[64];
    (void)snprintf(target, sizeof target, "/v1/tables/devices/rows/%s", key);
    bool answered =
        deletes ? http_try(me->http, "DELETE", target, SLICE_EMPTY)
                : http_try(me->http, "PUT", target, SLICE_LIT("{\"stats\":{\"q\":\"" VALUE "\"}}"));
    if (answered && me->http->status == 503)
        return BUSY;
    return answered ? verdict_of(me->http->status, deletes ? 204 : 200, deletes ? 404 : 201, 403)
                    : GONE;
}

/* The row as it is to be, or nothing of it; framed. */
static size_t make_message(const char *key, bool deletes, uint8_t out[MESSAGE_MAX])
{
    char table[TABLE_NAME];
    struct set_cell cell;
    Bt__Mutation delete_row = BT__MUTATION__INIT;
    Bt__Mutation__DeleteFromRow nothing = BT__MUTATION__DELETE_FROM_ROW__INIT;
    Bt__Mutation *list[] = {&delete_row, set_cell(&cell, "stats", "q", VALUE)};
    Bt__MutateRowRequest request = BT__MUTATE_ROW_REQUEST__INIT;
    delete_row.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_ROW;
    delete_row.delete_from_row = &nothing;
    request.table_name = table_name(table, &w);
    request.row_key = binary(key);
    request.mutations = list;
    request.n_mutations = deletes ? 1 : 2;
    size_t len = bt__mutate_row_request__get_packed_size(&request);
    if (len > MESSAGE_MAX - 5)
        return 0;
    memset(out, 0, 5);
    out[3] = (uint8_t)(len >> 8);
    out[4] = (uint8_t)len;
    return 5 + bt__mutate_row_request__pack(&request, out + 5);
}

/* By the JSON API's client: it outlives a server. */
static enum verdict write_grpc(struct writer *me, const char *key, bool deletes)
{
    uint8_t message[MESSAGE_MAX];
    size_t len = make_message(key, deletes, message);
    if (len == 0)
        return WRONG;
    http_once(me->http, "Content-Type: application/grpc");
    if (!http_try(me->http, "POST", BIGTABLE "MutateRow", base_slice(message, len)))
        return GONE;
    const char *status = http_header(me->http, "grpc-status");
    if (status == NULL)
        return GONE; /* the connection ended behind the head */
    if (strcmp(status, "14") == 0)
        return BUSY;
    return strcmp(status, "0") == 0 ? PASSED : strcmp(status, "8") == 0 ? REFUSED : WRONG;
}

static bool write_row(struct writer *me, size_t n, bool deletes)
{
    char key[16];
    (void)snprintf(key, sizeof key, "w%zu-%03zu", me->number, n);
    enum verdict v = BUSY;
    for (int tries = 0; v == BUSY && tries < BUSY_TRIES; tries++) {
        if (tries > 0)
            process_sleep_ms(BUSY_MS);
        v = me->is_grpc ? write_grpc(me, key, deletes) : write_json(me, key, deletes);
    }
    me->passed += v == PASSED && !deletes;
    me->refused += v == REFUSED;
    if (v == WRONG || v == BUSY || (v == REFUSED && deletes))
        me->wrong = deletes ? "a deletion" : "a write";
    return v != GONE && me->wrong == NULL;
}

static void *write_rows(void *arg)
{
    struct writer *me = arg;
    bool goes_on = true;
    for (size_t n = 0; me->fills && goes_on && n < ROWS_PER_WRITER; n++)
        goes_on = write_row(me, n, false);
    while (!me->fills && goes_on)
        goes_on = write_row(me, random_below(&me->dice, ROWS_PER_WRITER),
                            random_below(&me->dice, 4) == 0);
    return NULL;
}

/* --- rounds ------------------------------------------------------------------------------------
 */

static void begin(bool fills)
{
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i].passed = writers[i].refused = 0;
        writers[i].fills = fills;
        http_reconnect(writers[i].http);
        ck_assert_int_eq(pthread_create(&writers[i].thread, NULL, write_rows, &writers[i]), 0);
    }
}

static size_t end(void)
{
    size_t refused = 0;
    for (size_t i = 0; i < WRITERS; i++) {
        ck_assert_int_eq(pthread_join(writers[i].thread, NULL), 0);
        ck_assert_msg(writers[i].wrong == NULL, "writer %zu: %s: status %d, %s", i,
                      writers[i].wrong, writers[i].http->status, http_text(writers[i].http));
        refused += writers[i].refused;
    }
    return refused;
}

/* What the server counts, what is there, and the quota. */
static int64_t used(void)
{
    struct usage there = admin_recount(w.op, w.tenant); /* drift 0 */
    struct usage counted = tenant_usage(w.http);
    EXPECT_USAGE(counted, there.bytes, there.rows, there.cells);
    ck_assert_int_le(there.bytes, quota);
    ck_assert_int_eq(there.bytes % (quota / FIT), 0); /* whole rows */
    ck_assert_int_eq(there.bytes / (quota / FIT), there.rows);
    return there.bytes;
}

static void set_up(void)
{
    char json[64];
    server_create(&server);
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "ab");
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.http = http_open(&server, HTTP_2, w.key),
                                     .dice = {i + 1},
                                     .number = i,
                                     .is_grpc = i % 2 == 1};
        if (writers[i].is_grpc)
            http_always(writers[i].http, "TE: trailers");
    }
    ck_assert(write_row(&writers[0], 0, false));
    quota = tenant_usage(w.http).bytes * FIT;
    ck_assert(write_row(&writers[1], 0, false)); /* as large, whoever writes it */
    ck_assert_int_eq(tenant_usage(w.http).bytes, 2 * (quota / FIT));
    (void)snprintf(json, sizeof json, "{'stored_bytes':%lld}", (long long)quota);
    admin_set_quota(w.op, w.tenant, json);
}

static void tear_down(void)
{
    for (size_t i = 0; i < WRITERS; i++)
        http_close(writers[i].http);
    world_fini(&w);
    server_stop(&server);
    server_remove(&server);
}

static bool some_are_refused(void *unused)
{
    size_t refused = 0;
    (void)unused;
    for (size_t i = 0; i < WRITERS; i++)
        refused += atomic_load(&writers[i].refused);
    return refused > 0;
}

START_TEST(no_kill_takes_a_tenant_over_its_quota_and_it_is_filled_to_the_last_byte)
{
    struct random dice = {(uint64_t)_i * 17 + 3};
    size_t refused = 0;
    for (size_t i = 0; i < WRITERS; i++)
        writers[i].dice.state += dice.state * WRITERS;
    for (int round = 0; round < 4; round++) {
        begin(false);
        if (round == 0)
            process_await(some_are_refused, NULL, "the quota's boundary");
        process_sleep_ms(100 + (long)random_below(&dice, 300));
        server_kill(&server);
        refused += end();
        server_start(&server, NULL);
        http_reconnect(w.op);
        http_reconnect(w.http);
        ck_assert_int_gt(used(), 0);
    }
    ck_assert_uint_gt(refused, 0);
    begin(true);
    (void)end();
    ck_assert_int_eq(used(), quota); /* more rows than fit were written at once */
    begin(true);
    (void)end();
    ck_assert_int_eq(used(), quota);
}
END_TEST

Suite *suite_crash_quota(void);

Suite *suite_crash_quota(void)
{
    Suite *s = suite_create("crash_quota");
    TCase *tc = tcase_create("quota");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, no_kill_takes_a_tenant_over_its_quota_and_it_is_filled_to_the_last_byte,
                        0, (int)process_rounds(3));
    suite_add_tcase(s, tc);
    return s;
}

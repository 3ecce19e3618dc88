/*
 * tests/isolation/grpc_tenants.h - three tenants that look like each other, and a client of each.
 *
 * "acm", "acme" and "acme-eu" keep the same row keys in tables of the same name; every value is its
 * tenant's own canary. Some keys look like the stored form of a neighbour's. "acme" asks, and what
 * comes must be exactly what it wrote; what the neighbours have must be as it was.
 *
 * Does:     make the tenants on a server with an emulator's endpoint; ask, compare rows, look for
 *           what is a neighbour's.
 * Owns:     the server, worlds and clients, from set_up to tear_down.
 * May use:  tests/support/, libcheck.
 * Knows no: what is tested.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: 1. Rows are compared whole: keys, columns, times and values.
 */
#ifndef TESTS_ISOLATION_GRPC_TENANTS_H
#define TESTS_ISOLATION_GRPC_TENANTS_H

#include <check.h>
#include <google/bigtable/v2/bigtable.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/grpc/status.h"
#include "tests/support/chunk_reader.h"
#include "tests/support/grpc_client.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define UNUSED_FN __attribute__((unused))

#define DATA "/google.bigtable.v2.Bigtable/"

#define TENANTS 3
#define NAME    128

enum { BEFORE, OWN, BEHIND }; /* in the order of their keys */

static const char *const IDS[TENANTS] = {"acm", "acme", "acme-eu"};
static const char *const CANARIES[TENANTS] = {"canaryalpha", "canarybravo", "canarydelta"};
/* In order. The last ones are what a neighbour's keys look like, or bounds of a tenant. */
static const char *const KEYS[] = {
    "#", "$", "-eu#devices#a", "a",       "acme", "acme-eu#devices#a", "am", "row",
    "z", "~", "\xff",          "\xff\xff"};
#define KEY_COUNT (sizeof KEYS / sizeof KEYS[0])

static struct server server;
static struct world worlds[TENANTS];
static struct grpc_client clients[TENANTS];
static char names[TENANTS][NAME]; /* of the tables */
static struct chunk_reader reader;
static struct buf expected;

/* A request, with room for what it points to. */
static Bt__ReadRowsRequest request;
static Bt__RowSet rows;
static Bt__RowRange range;
static Bt__RowRange *ranges[1] UNUSED_FN = {&range};
static ProtobufCBinaryData keys[KEY_COUNT] UNUSED_FN;
static Bt__RowFilter filter UNUSED_FN;

UNUSED_FN static ProtobufCBinaryData binary(const char *text)
{
    return (ProtobufCBinaryData){.data = (uint8_t *)(uintptr_t)text, .len = strlen(text)};
}

UNUSED_FN static void write_rows(struct world *w, const char *canary)
{
    char body[128];
    (void)snprintf(body, sizeof body, "{'stats':{'q':{'value':'%s','timestamp':'1000'}}}", canary);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        http_json(w->http, "PUT", body, "/v1/tables/devices/rows/%s", pcts(KEYS[i]));
        ck_assert_int_le(w->http->status, 201);
    }
}

UNUSED_FN static void set_up(void)
{
    server_create(&server);
    server.options[0] = "--emulator";
    server.options[1] = "127.0.0.1:0";
    server_start(&server, NULL);
    for (size_t i = 0; i < TENANTS; i++) {
        world_init_on(&worlds[i], &server, HTTP_2, IDS[i]);
        write_rows(&worlds[i], CANARIES[i]);
        grpc_open(&clients[i], &server, worlds[i].key, 0);
        (void)snprintf(names[i], NAME, "projects/%s/instances/main/tables/devices", IDS[i]);
    }
    chunk_reader_init(&reader);
    base_buf_init(&expected, CHUNK_ROWS_MAX);
    bt__read_rows_request__init(&request);
    bt__row_set__init(&rows);
    bt__row_range__init(&range);
    bt__row_filter__init(&filter);
    request.table_name = names[OWN];
}

UNUSED_FN static void tear_down(void)
{
    chunk_reader_fini(&reader);
    base_buf_fini(&expected);
    for (size_t i = 0; i < TENANTS; i++) {
        grpc_close(&clients[i]);
        world_fini(&worlds[i]);
    }
    server_stop(&server);
    server_remove(&server);
}

/* --- asking ------------------------------------------------------------------------------------
 */

UNUSED_FN static struct grpc_call *ask(const char *path, const ProtobufCMessage *message)
{
    return grpc_ask(&clients[OWN], path, message);
}

UNUSED_FN static void expect_ok(const struct grpc_call *call)
{
    ck_assert_msg(call->status == GW_STATUS_OK, "status %d: %s", call->status, call->message);
}

UNUSED_FN static void read_as(size_t tenant)
{
    request.table_name = names[tenant];
    const struct grpc_call *call = grpc_ask(&clients[tenant], DATA "ReadRows", &request.base);
    expect_ok(call);
    chunk_reader_fini(&reader);
    chunk_reader_init(&reader);
    ck_assert_uint_eq(chunk_reader_feed(&reader, base_buf_slice(&call->body)), call->body.len);
    const char *error = chunk_reader_end(&reader);
    ck_assert_msg(error == NULL, "%s", error);
}

UNUSED_FN static void expect_key(size_t tenant, const char *key)
{
    chunk_rows_begin(&expected, base_slice_text(key));
    chunk_rows_cell(&expected, SLICE_LIT("stats"), SLICE_LIT("q"), 1000,
                    base_slice_text(CANARIES[tenant]), SLICE_EMPTY);
}

UNUSED_FN static void expect_read(void)
{
    ck_assert_msg(base_slice_equal(base_buf_slice(&reader.rows), base_buf_slice(&expected)),
                  "DATA: %llu rows came: %.*s", (unsigned long long)reader.row_count,
                  SLICE_ARGS(base_buf_slice(&reader.rows)));
    base_buf_truncate(&expected, 0);
}

/* All of a tenant's rows are there, and nothing else. */
UNUSED_FN static void expect_untouched(size_t tenant)
{
    bt__read_rows_request__init(&request);
    read_as(tenant);
    for (size_t i = 0; i < KEY_COUNT; i++)
        expect_key(tenant, KEYS[i]);
    expect_read();
}

UNUSED_FN static void expect_neighbours_untouched(void)
{
    expect_untouched(BEFORE);
    expect_untouched(BEHIND);
}

UNUSED_FN static bool contains(struct slice where, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= where.len; i++)
        if (memcmp(where.ptr + i, word, len) == 0)
            return true;
    return false;
}

/* Nothing of a neighbour stands anywhere in an answer. */
UNUSED_FN static void expect_no_leak(const struct grpc_call *call)
{
    static const char *const words[] = {"canaryalpha", "canarydelta", "acme-eu",
                                        "acme#",       "acm#",        "projects/acm/"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        ck_assert(!contains(base_buf_slice(&call->body), words[i]));
        ck_assert_ptr_null(strstr(call->message, words[i]));
        if (call->details[0] == '\0')
            continue;
        Rpc__Status *status = grpc_status_new(call);
        for (size_t k = 0; k < status->n_details; k++)
            ck_assert(
                !contains(base_slice(status->details[k]->value.data, status->details[k]->value.len),
                          words[i]));
        rpc__status__free_unpacked(status, NULL);
    }
}

/* --- a write -----------------------------------------------------------------------------------
 */

static Bt__Mutation mutation;
static Bt__Mutation__SetCell cell;
static Bt__Mutation *mutations[1] UNUSED_FN = {&mutation};

UNUSED_FN static void make_mutation(const char *value)
{
    bt__mutation__init(&mutation);
    bt__mutation__set_cell__init(&cell);
    mutation.mutation_case = BT__MUTATION__MUTATION_SET_CELL;
    mutation.set_cell = &cell;
    cell.family_name = (char *)(uintptr_t) "stats";
    cell.column_qualifier = binary("q");
    cell.value = binary(value);
    cell.timestamp_micros = 1000;
}

UNUSED_FN static TCase *add_case(Suite *s, const char *name)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(s, tc);
    return tc;
}

#endif

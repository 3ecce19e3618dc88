/*
 * tests/grpc/test_without_client.c - a MutateRows whose client disconnected ends with its deadline,
 * its key and its tenant's state.
 *
 * The disk is made slow, so that the request takes many times as long as what ends it, whatever the
 * machine: each LIM_BULK_INFLIGHT entries wait for a sync.
 */
#include <check.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "tests/grpc/writes.h"
#include "tests/support/disk.h"
#include "tests/support/scrape.h"

#include "base/banned.h"

Suite *suite_grpc_without_client(void);

enum {
    ENTRIES = 100 * LIM_BULK_INFLIGHT,
    SYNC_MS = 300, /* 30 s for all entries */
    KEY_SIZE = 24,
};
#define TENANT    "leaving"
#define UNDER_WAY "bigtent_tenant_requests_under_way{tenant=\"" TENANT "\"}"

static struct server server;
static struct disk disk;
static struct world w;
static struct grpc_client client;

static void set_up(void)
{
    server_create(&server);
    disk_init(&disk, &server, server.data);
    server_start(&server, disk.env);
    world_init_on(&w, &server, HTTP_2, TENANT);
}

static void tear_down(void)
{
    world_fini(&w);
    disk_heal(&disk);
    server_stop(&server);
    disk_fini(&disk);
    server_remove(&server);
}

/* ENTRIES rows, with that key; the stream is reset when all of the request was sent. */
static void send_and_leave(const char *key, const char *timeout)
{
    static struct set_cell cell;
    char table[TABLE_NAME];
    Bt__Mutation *mutations[] = {set_cell(&cell, "stats", "q", "x")};
    Bt__MutateRowsRequest request = BT__MUTATE_ROWS_REQUEST__INIT;
    Bt__MutateRowsRequest__Entry *entries = base_new_array(ENTRIES, sizeof *entries);
    Bt__MutateRowsRequest__Entry **list = base_new_array(ENTRIES, sizeof *list);
    char(*keys)[KEY_SIZE] = base_new_array(ENTRIES, sizeof *keys);
    for (size_t i = 0; i < ENTRIES; i++) {
        (void)snprintf(keys[i], KEY_SIZE, "k%06zu", i); /* fits */
        bt__mutate_rows_request__entry__init(&entries[i]);
        entries[i].row_key = binary(keys[i]);
        entries[i].mutations = mutations;
        entries[i].n_mutations = 1;
        list[i] = &entries[i];
    }
    request.table_name = table_name(table, &w);
    request.entries = list;
    request.n_entries = ENTRIES;
    disk_slow(&disk, SYNC_MS);
    grpc_open(&client, &server, key, 0);
    struct grpc_call *left = grpc_start(&client, BIGTABLE "MutateRows", &request.base, timeout);
    grpc_await_sent(&client, left);
    grpc_cancel(&client, left);
    base_free(keys);
    base_free(list);
    base_free(entries);
}

static bool some_are_written(void *arg)
{
    (void)arg;
    http_get(w.op, "/v1/admin/tenants/" TENANT "/usage");
    EXPECT_STATUS(w.op, 200);
    return http_number(w.op, "/rows") > 0;
}

static bool is_over(void *arg)
{
    (void)arg;
    scrape(w.op);
    return strcmp(scrape_value(UNDER_WAY), "0") == 0;
}

static int64_t rows(void)
{
    return admin_recount(w.op, TENANT).rows;
}

/* The call is over before its entries are. */
static void expect_ended(void)
{
    process_await(is_over, NULL, "the end of a call without a client");
    disk_heal(&disk);
    int64_t written = rows();
    ck_assert_int_gt(written, 0);
    ck_assert_int_lt(written, ENTRIES);
    grpc_close(&client);
}

START_TEST(it_ends_with_its_deadline)
{
    send_and_leave(w.key, "5S");
    process_await(some_are_written, NULL, "rows of a client that disconnected");
    expect_ended();
}
END_TEST

START_TEST(it_ends_when_its_key_is_revoked)
{
    char key[WORLD_KEY], id[WORLD_ID];
    admin_create_key(w.op, TENANT, NULL, key, id);
    send_and_leave(key, NULL);
    process_await(some_are_written, NULL, "rows of a client that disconnected");
    http_delete(w.op, "/v1/admin/tenants/" TENANT "/keys/%s", id);
    EXPECT_STATUS(w.op, 204);
    expect_ended();
}
END_TEST

/* Nothing comes behind the answer to the suspension, also when the tenant is resumed. */
START_TEST(it_ends_when_writes_of_its_tenant_are_suspended)
{
    send_and_leave(w.key, NULL);
    process_await(some_are_written, NULL, "rows of a client that disconnected");
    http_json(w.op, "POST", "{'access':'writes'}", "/v1/admin/tenants/" TENANT ":suspend");
    EXPECT_STATUS(w.op, 200);
    int64_t suspended = tenant_usage(w.http).rows;
    expect_ended();
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/" TENANT ":resume");
    EXPECT_STATUS(w.op, 200);
    tenant_put(w.http, "devices", "another", "stats", "q", "v");
    ck_assert_int_eq(rows(), suspended + 1);
}
END_TEST

Suite *suite_grpc_without_client(void)
{
    Suite *s = suite_create("grpc_without_client");
    TCase *c = tcase_create("without a client");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, it_ends_with_its_deadline);
    tcase_add_test(c, it_ends_when_its_key_is_revoked);
    tcase_add_test(c, it_ends_when_writes_of_its_tenant_are_suspended);
    suite_add_tcase(s, c);
    return s;
}

/*
 * tests/faults/test_suspension.c - who is told that writes are suspended, or that a tenant has
 * left, can count on it.
 *
 * On a slow disk a batch is on its way for long after its operations were let pass: the window in
 * which an answer would be given too early. What is read behind the answer has to stay what it is.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/grpc/writes.h"
#include "tests/support/disk.h"
#include "tests/support/disk_load.h"

#include "base/banned.h"

#define SYNC_MS 150
#define BULK    2000
/* An end of writes has to come before 16 KiB of verdicts, the second batch: a bulk write that
 * answers already is broken off. */
#define BULK_SYNC_MS 500
#define ENTRIES      400

static struct server server;
static struct disk disk;
static struct world world;
static struct disk_load load;

static void set_up(void)
{
    server_create(&server);
    disk_init(&disk, &server, server.data);
    server_start(&server, disk.env);
    world_init_on(&world, &server, HTTP_2, "acme");
    disk_load_init(&load, &server, world.key, 64);
}

static void tear_down(void)
{
    disk_heal(&disk);
    world_fini(&world);
    server_stop(&server); /* what a sanitizer finds is a failure */
    disk_fini(&disk);
    server_remove(&server);
}

static void suspend_writes(void)
{
    ck_assert_int_eq(
        http_json(world.op, "POST", "{'access':'writes'}", "/v1/admin/tenants/acme:suspend"), 200);
}

/* All rows as they are now. */
static struct buf read_rows(void)
{
    struct buf rows;
    http_once(world.http, "Accept: application/x-ndjson");
    ck_assert_int_eq(http_get(world.http, "/v1/tables/devices/rows"), 200);
    base_buf_init(&rows, HTTP_BODY_MAX);
    ck_assert_int_eq(base_buf_append(&rows, base_buf_slice(&world.http->body)), ERR_OK);
    return rows;
}

/* Suspends, and looks for what comes behind the answer. */
static void expect_still(void)
{
    suspend_writes();
    struct buf first = read_rows();
    process_sleep_ms(4 * SYNC_MS);
    struct buf second = read_rows();
    ck_assert_msg(base_slice_equal(base_buf_slice(&first), base_buf_slice(&second)),
                  "%zu bytes when writes were suspended, %zu later", first.len, second.len);
    base_buf_fini(&first);
    base_buf_fini(&second);
}

static void resume(void)
{
    ck_assert_int_eq(http_json(world.op, "POST", "{}", "/v1/admin/tenants/acme:resume"), 200);
}

/* --- one row a request ---------------------------------------------------------------------------
 */

START_TEST(single_writes_end_before_the_answer)
{
    disk_slow(&disk, SYNC_MS);
    disk_load_start(&load);
    for (int round = 1; round <= 4; round++) {
        uint64_t wanted = atomic_load(&load.acked) + 4;
        ck_assert(disk_load_await(&load, &load.acked, wanted));
        expect_still();
        resume();
    }
    disk_load_stop(&load);
    disk_load_expect(&load);
}
END_TEST

START_TEST(what_was_seen_at_the_answer_is_there_after_kill_9)
{
    disk_slow(&disk, SYNC_MS);
    disk_load_start(&load);
    ck_assert(disk_load_await(&load, &load.acked, 4));
    suspend_writes();
    struct buf before = read_rows();
    server_kill(&server);
    disk_load_stop(&load);
    server_start(&server, disk.env);
    http_reconnect(world.op);
    http_reconnect(world.http);
    struct buf after = read_rows();
    ck_assert(base_slice_equal(base_buf_slice(&before), base_buf_slice(&after)));
    ck_assert_int_eq(
        http_json(world.http, "PATCH", "{'raw':{'v':'x'}}", "/v1/tables/devices/rows/later"), 403);
    base_buf_fini(&before);
    base_buf_fini(&after);
}
END_TEST

/* --- many rows a request -------------------------------------------------------------------------
 */

struct bulk {
    struct http *http;
    struct buf lines;
    int status;
};

static void *send_bulk(void *arg)
{
    struct bulk *b = arg;
    http_once(b->http, "Content-Type: application/x-ndjson");
    b->status = http_bytes(b->http, "POST", base_buf_slice(&b->lines), "/v1/tables/devices:write");
    return NULL;
}

static size_t count_text(struct slice in, const char *text)
{
    size_t count = 0;
    size_t len = strlen(text);
    while (in.len >= len) {
        const uint8_t *at = memmem(in.ptr, in.len, text, len);
        if (at == NULL)
            break;
        count++;
        in = base_slice_skip(in, (size_t)(at - in.ptr) + len);
    }
    return count;
}

static size_t count_rows(void)
{
    struct buf rows = read_rows();
    size_t count = count_text(base_buf_slice(&rows), "\n");
    base_buf_fini(&rows);
    return count;
}

static bool has_rows(void *arg)
{
    (void)arg;
    return count_rows() > 0;
}

static pthread_t bulk_start(struct bulk *bulk)
{
    pthread_t thread;
    *bulk = (struct bulk){.http = http_open(&server, HTTP_2, world.key)};
    base_buf_init(&bulk->lines, 8 * MIB);
    for (int i = 0; i < BULK; i++)
        base_buf_printf(&bulk->lines, "{\"key\":\"b%06d\",\"cells\":{\"raw\":{\"v\":\"x\"}}}\n", i);
    ck_assert_int_eq(bulk->lines.error, ERR_OK);
    disk_slow(&disk, BULK_SYNC_MS);
    ck_assert_int_eq(pthread_create(&thread, NULL, send_bulk, bulk), 0);
    process_await(has_rows, NULL, "rows of a bulk write");
    return thread;
}

/* Entries that were refused for this reason; all others are there. */
static size_t bulk_end(struct bulk *bulk, pthread_t thread, const char *code)
{
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(bulk->status, 200);
    size_t refused = count_text(base_buf_slice(&bulk->http->body), code);
    ck_assert_uint_gt(refused, 0);
    ck_assert_uint_lt(refused, BULK);
    base_buf_fini(&bulk->lines);
    http_close(bulk->http);
    return refused;
}

START_TEST(bulk_write_ends_where_it_was_suspended)
{
    struct bulk bulk;
    pthread_t thread = bulk_start(&bulk);
    expect_still();
    size_t refused = bulk_end(&bulk, thread, "\"suspended\"");
    ck_assert_uint_eq(count_rows(), BULK - refused);
}
END_TEST

static size_t usage_rows(void)
{
    ck_assert_int_eq(http_get(world.op, "/v1/admin/tenants/acme"), 200);
    ck_assert_str_eq(http_string(world.op, "/state"), "delete_requested");
    return (size_t)http_number(world.op, "/usage/rows");
}

/* Nobody can read the rows then; an operator sees how many there are. The answer does not wait for
 * what is on its way to the disk, as that of a suspension does. */
START_TEST(bulk_write_ends_where_its_tenant_left)
{
    struct bulk bulk;
    pthread_t thread = bulk_start(&bulk);
    ck_assert_int_eq(http_json(world.op, "POST", "{'confirm':'acme','grace':'3600s'}",
                               "/v1/admin/tenants/acme:offboard"),
                     202);
    size_t refused = bulk_end(&bulk, thread, "\"gone\"");
    ck_assert_uint_eq(usage_rows(), BULK - refused);
    process_sleep_ms(4 * SYNC_MS);
    ck_assert_uint_eq(usage_rows(), BULK - refused);
    ck_assert_int_eq(http_json(world.op, "POST", "{}", "/v1/admin/tenants/acme:undelete"), 200);
    ck_assert_uint_eq(count_rows(), BULK - refused);
    process_sleep_ms(4 * SYNC_MS);
    ck_assert_uint_eq(count_rows(), BULK - refused); /* what was refused stays so */
}
END_TEST

static struct set_cell cells[ENTRIES];
static Bt__Mutation *mutations[ENTRIES];
static Bt__MutateRowsRequest__Entry entries[ENTRIES];
static Bt__MutateRowsRequest__Entry *list[ENTRIES];
static char keys[ENTRIES][16];

static void start_mutate_rows(struct grpc_client *client, struct grpc_call **out)
{
    Bt__MutateRowsRequest request;
    char table[TABLE_NAME];
    bt__mutate_rows_request__init(&request);
    for (int i = 0; i < ENTRIES; i++) {
        bt__mutate_rows_request__entry__init(&entries[i]);
        (void)snprintf(keys[i], sizeof keys[i], "g%06d", i);
        mutations[i] = set_cell(&cells[i], "raw", "v", "x");
        entries[i].row_key = binary(keys[i]);
        entries[i].mutations = &mutations[i];
        entries[i].n_mutations = 1;
        list[i] = &entries[i];
    }
    request.table_name = table_name(table, &world);
    request.entries = list;
    request.n_entries = ENTRIES;
    *out = grpc_start(client, BIGTABLE "MutateRows", &request.base, NULL);
    grpc_listen(client, 10);
}

/* Entries of which was said that they are done. */
static size_t count_done(const struct grpc_call *call)
{
    size_t done = 0;
    for (size_t n = 0; n < grpc_message_count(call); n++) {
        Bt__MutateRowsResponse *reply =
            (void *)grpc_message_new(call, &bt__mutate_rows_response__descriptor, n);
        for (size_t i = 0; i < reply->n_entries; i++)
            done += reply->entries[i]->status->code == 0;
        bt__mutate_rows_response__free_unpacked(reply, NULL);
    }
    return done;
}

START_TEST(mutate_rows_says_of_each_entry_what_became_of_it)
{
    struct grpc_client client;
    struct grpc_call *call = NULL;
    grpc_open(&client, &server, world.key, 0);
    disk_slow(&disk, SYNC_MS);
    start_mutate_rows(&client, &call);
    expect_still();
    ck_assert(grpc_run(&client, 10000 * process_patience()));
    ck_assert_uint_eq(count_rows(), count_done(call));
    grpc_close(&client);
}
END_TEST

Suite *suite_faults_suspension(void);
Suite *suite_faults_suspension(void)
{
    Suite *s = suite_create("faults_suspension");
    TCase *t = tcase_create("slow disk");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, single_writes_end_before_the_answer);
    tcase_add_test(t, what_was_seen_at_the_answer_is_there_after_kill_9);
    tcase_add_test(t, bulk_write_ends_where_it_was_suspended);
    tcase_add_test(t, bulk_write_ends_where_its_tenant_left);
    tcase_add_test(t, mutate_rows_says_of_each_entry_what_became_of_it);
    suite_add_tcase(s, t);
    return s;
}

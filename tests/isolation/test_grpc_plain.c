/*
 * tests/isolation/test_grpc_plain.c - in plaintext too, what one connection waits for is not
 * touched by what others send.
 *
 * A slow reader's answer stands in the server, part of it written, while others on the same loops
 * read the other project. Every byte it gets in the end must be its own.
 */
#include <check.h>
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <google/bigtable/admin/v2/table.pb-c.h>
#include <google/bigtable/v2/bigtable.pb-c.h>

#include "base/alloc.h"
#include "gateway/grpc/status.h"
#include "tests/support/grpc_client.h"

#include "base/banned.h"

#define DATA        "/google.bigtable.v2.Bigtable/"
#define ADMIN       "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define VALUE_BYTES (1 * MIB)
#define ROWS        12 /* far more than the buffers of both sockets hold */
#define OTHERS      4  /* on every loop, most likely */
#define ROUNDS      20

static struct server server;

static char *text(const char *literal)
{
    return (char *)(uintptr_t)literal;
}

static void make_table(struct grpc_client *c, const char *instance)
{
    Bta__ColumnFamily family = BTA__COLUMN_FAMILY__INIT;
    Bta__Table__ColumnFamiliesEntry entry = BTA__TABLE__COLUMN_FAMILIES_ENTRY__INIT;
    Bta__Table__ColumnFamiliesEntry *entries[] = {&entry};
    Bta__Table table = BTA__TABLE__INIT;
    Bta__CreateTableRequest create = BTA__CREATE_TABLE_REQUEST__INIT;
    entry.key = text("f");
    entry.value = &family;
    table.n_column_families = 1;
    table.column_families = entries;
    create.parent = text(instance);
    create.table_id = text("t");
    create.table = &table;
    const struct grpc_call *call = grpc_ask(c, ADMIN "CreateTable", &create.base);
    ck_assert_msg(call->status == GW_STATUS_OK, "%s", call->message);
}

static void put_row(struct grpc_client *c, const char *table, char letter, uint8_t row)
{
    static uint8_t value[VALUE_BYTES];
    Bt__Mutation__SetCell cell = BT__MUTATION__SET_CELL__INIT;
    Bt__Mutation mutation = BT__MUTATION__INIT;
    Bt__Mutation *mutations[] = {&mutation};
    Bt__MutateRowRequest request = BT__MUTATE_ROW_REQUEST__INIT;
    memset(value, letter, sizeof value);
    cell.family_name = text("f");
    cell.column_qualifier = (ProtobufCBinaryData){.data = (uint8_t *)text("q"), .len = 1};
    cell.value = (ProtobufCBinaryData){.data = value, .len = sizeof value};
    mutation.mutation_case = BT__MUTATION__MUTATION_SET_CELL;
    mutation.set_cell = &cell;
    request.table_name = text(table);
    request.row_key = (ProtobufCBinaryData){.data = &row, .len = 1};
    request.n_mutations = 1;
    request.mutations = mutations;
    const struct grpc_call *call = grpc_ask(c, DATA "MutateRow", &request.base);
    ck_assert_msg(call->status == GW_STATUS_OK, "%s", call->message);
}

static size_t count_of(const struct grpc_call *call, char letter)
{
    size_t count = 0;
    for (size_t i = 0; i < call->body.len; i++)
        count += call->body.ptr[i] == (uint8_t)letter;
    return count;
}

static void expect_own(const struct grpc_call *call, char own, char others, size_t rows)
{
    ck_assert_msg(call->is_closed && call->status == GW_STATUS_OK, "status %d, error %u",
                  call->status, call->error);
    ck_assert_uint_ge(count_of(call, own), rows * VALUE_BYTES);
    ck_assert_uint_lt(count_of(call, others), KIB); /* of heads of messages */
}

START_TEST(a_slow_reader_gets_its_own_bytes_only)
{
    static struct grpc_client slow;
    static struct grpc_client others[OTHERS];
    Bt__ReadRowsRequest own = BT__READ_ROWS_REQUEST__INIT;
    Bt__ReadRowsRequest other = BT__READ_ROWS_REQUEST__INIT;
    own.table_name = text("projects/acme/instances/main/tables/t");
    other.table_name = text("projects/acme-eu/instances/main/tables/t");
    grpc_open_plain(&slow, &server);
    make_table(&slow, "projects/acme/instances/main");
    make_table(&slow, "projects/acme-eu/instances/main");
    for (uint8_t i = 0; i < ROWS; i++)
        put_row(&slow, own.table_name, 'A', i);
    put_row(&slow, other.table_name, 'B', 0);
    grpc_close(&slow);

    grpc_open_plain(&slow, &server);
    const struct grpc_call *call = grpc_start(&slow, DATA "ReadRows", &own.base, NULL);
    raw_await_unread(&slow.tls, 32 * KIB);
    for (size_t i = 0; i < OTHERS; i++)
        grpc_open_plain(&others[i], &server);
    for (size_t i = 0; i < ROUNDS * OTHERS; i++) {
        struct grpc_client *c = &others[i % OTHERS];
        if (c->count == GRPC_CALLS) {
            grpc_close(c);
            grpc_open_plain(c, &server);
        }
        expect_own(grpc_ask(c, DATA "ReadRows", &other.base), 'B', 'A', 1);
    }
    ck_assert(grpc_run(&slow, 10000 * process_patience()));
    expect_own(call, 'A', 'B', ROWS);
    for (size_t i = 0; i < OTHERS; i++)
        grpc_close(&others[i]);
    grpc_close(&slow);
}
END_TEST

static void set_up(void)
{
    server_create(&server);
    server.options[0] = "--emulator";
    server.options[1] = "127.0.0.1:0";
    server_start(&server, NULL);
}

static void tear_down(void)
{
    server_stop(&server);
    server_remove(&server);
}

Suite *suite_isolation_grpc_plain(void);
Suite *suite_isolation_grpc_plain(void)
{
    Suite *s = suite_create("isolation_grpc_plain");
    TCase *tc = tcase_create("plaintext");
    tcase_set_timeout(tc, 240);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_slow_reader_gets_its_own_bytes_only);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/grpc/test_handling.c - what handling a request takes beside its rows is charged where the
 * request does not pay for it: to inflate its message, to make a page of a list, to deflate what is
 * answered. All of it is reckoned by bytes, so each cost is known exactly.
 */
#include <stdlib.h>

#include "calls.h"

#include "base/text.h"
#include "gateway/grpc/frame.h"
#include "tenancy/admission.h"
#include "tests/support/rates.h"
#include "tests/support/scrape.h"

#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "base/banned.h"

#define ADMIN       "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define LIST_TABLES ADMIN "ListTables"
#define LIST_VIEWS  ADMIN "ListAuthorizedViews"
#define ROW         "/v1/tables/devices/rows/"

enum {
    MUCH = 4 * MIB,
    INFLATED_PAID = 8, /* bytes, by each one that was sent */
    DEFLATED_PRICE = 4,
    MANY_CELLS = 10000,
    MANY = 20,
    MANY_ENTRIES = 100,
    NAME_BYTES = 32,
};

Suite *suite_grpc_handling(void);

static size_t sent_bytes;     /* of the last message */
static size_t inflated_bytes; /* the same, before it was compressed */

static uint64_t cost_of(const struct grpc_call *call)
{
    uint64_t number = 0;
    ck_assert_int_eq(base_parse_u64(base_slice_text(call->cost), &number), ERR_OK);
    return number;
}

/* --- messages, compressed --------------------------------------------------------------------- */

/* A field that nobody knows, of so many bytes. */
static void put_unknown(struct buf *out, size_t bytes)
{
    const uint8_t head[] = {0xfa,
                            0x3f,
                            (uint8_t)(bytes & 0x7f) | 0x80,
                            (uint8_t)(bytes >> 7) | 0x80,
                            (uint8_t)(bytes >> 14) | 0x80,
                            (uint8_t)(bytes >> 21)};
    ck_assert_int_eq(base_buf_append(out, base_slice(head, sizeof head)), ERR_OK);
    ck_assert_int_eq(base_buf_reserve(out, bytes), ERR_OK);
    memset(base_buf_end(out), 'x', bytes);
    out->len += bytes;
}

/* The message with zeros behind it or an unknown field; none: 0. */
static struct grpc_call *start_framed(const char *path, const ProtobufCMessage *message,
                                      size_t zeros, size_t unknown, bool is_compressed)
{
    struct buf body;
    base_buf_init(&body, 4 * MUCH);
    size_t at = gw_frame_begin(&body);
    size_t bytes = protobuf_c_message_get_packed_size(message);
    ck_assert_int_eq(base_buf_reserve(&body, bytes + zeros), ERR_OK);
    body.len += protobuf_c_message_pack(message, base_buf_end(&body));
    memset(base_buf_end(&body), 0, zeros);
    body.len += zeros;
    if (unknown > 0)
        put_unknown(&body, unknown);
    gw_frame_end(&body, at);
    inflated_bytes = body.len - GW_FRAME_HEAD;
    if (is_compressed)
        ck_assert_int_eq(gw_frame_deflate(&body, at), ERR_OK);
    sent_bytes = body.len - GW_FRAME_HEAD;
    struct grpc_call *call = grpc_begin(&client, path, NULL);
    grpc_put_bytes(&client, call, base_buf_slice(&body));
    grpc_finish(&client, call);
    grpc_await_sent(&client, call);
    base_buf_fini(&body);
    return call;
}

static struct grpc_call *send_framed(const char *path, const ProtobufCMessage *message,
                                     size_t zeros, size_t unknown, bool is_compressed)
{
    struct grpc_call *call = start_framed(path, message, zeros, unknown, is_compressed);
    grpc_await(&client);
    return call;
}

/* So many bytes of the last message were not paid for by those that were sent. */
static uint64_t excess(void)
{
    ck_assert_uint_gt(inflated_bytes, INFLATED_PAID * sent_bytes);
    return inflated_bytes - INFLATED_PAID * sent_bytes;
}

static uint64_t read_cost(uint64_t handled)
{
    return 1 + (handled - TEN_COST_READ_BYTES) / TEN_COST_READ_BYTES;
}

/* paid: bytes of keys, qualifiers and values. */
static uint64_t write_cost(uint64_t rows_written, uint64_t paid, uint64_t handled)
{
    uint64_t of_ops = rows_written * TEN_COST_WRITE * TEN_COST_WRITE_BYTES;
    uint64_t beyond = handled > of_ops + paid ? handled - of_ops - paid : 0;
    return rows_written * TEN_COST_WRITE + (paid + beyond) / TEN_COST_WRITE_BYTES;
}

/* --- inflating -------------------------------------------------------------------------------- */

static void read_nobody(void)
{
    keys[0] = binary("nobody");
    use_keys(1);
    grpc_add_header(&client, "grpc-encoding", "gzip");
}

START_TEST(a_read_is_charged_for_what_its_message_inflates_to)
{
    read_nobody();
    const struct grpc_call *plain = send_framed(READ_ROWS, &request.base, 0, MUCH, false);
    expect_status(plain, GW_STATUS_OK, "");
    ck_assert_uint_eq(cost_of(plain), 1);
    const struct grpc_call *much = send_framed(READ_ROWS, &request.base, 0, MUCH, true);
    expect_status(much, GW_STATUS_OK, "");
    ck_assert_uint_eq(cost_of(much), read_cost(excess()));
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':1024," RATE_DEBT "}");
    much = send_framed(READ_ROWS, &request.base, 0, MUCH, true);
    expect_status(much, GW_STATUS_OK, "");
    http_get(w.http, ROW "nobody");
    EXPECT_PROBLEM(w.http, 429, "rate_limited");
    ck_assert_str_eq(http_string(w.http, "/violated-policies/0"), "read_bytes");
}
END_TEST

static bool has_paused(void *arg)
{
    char series[160];
    (void)arg;
    (void)snprintf(series, sizeof series,
                   "bigtent_tenant_throttled_seconds_total{tenant=\"%s\",policy=\"read_bytes\"}",
                   w.tenant);
    scrape(w.op);
    return strtod(scrape_value(series), NULL) > 0;
}

/* The rows alone are less than the burst. */
START_TEST(a_scan_pauses_for_what_its_message_inflates_to)
{
    fill(2, LIM_SLICE_BYTES);
    grpc_add_header(&client, "grpc-encoding", "gzip");
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':32768," RATE_DEBT "}");
    struct grpc_call *call = start_framed(READ_ROWS, &request.base, 0, MUCH, true);
    process_await(has_paused, NULL, "the scan's pause to be metered");
    admin_set_quota(w.op, w.tenant, "{}");
    grpc_await(&client);
    (void)take_answer(call);
    ck_assert_uint_eq(reader.row_count, 2);
}
END_TEST

/* On the loop, and on the helper where more than a KiB is sent. */
START_TEST(a_small_message_costs_the_same_however_it_is_sent)
{
    static const size_t noise[] = {0, 1500};
    grpc_add_header(&client, "grpc-encoding", "gzip");
    make_mutate(noise[_i]);
    for (size_t i = 0; i < noise[_i]; i++)
        cell.set.value.data[i] = (uint8_t)(i * i * 2654435761U >> 16);
    uint64_t paid = 2 + noise[_i];
    size_t rest = GW_FRAME_SMALL_BYTES - bt__mutate_row_request__get_packed_size(&mutate) - 6;
    const char *path = BIGTABLE "MutateRow";
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        const struct grpc_call *call = send_framed(path, &mutate.base, 0, rest, is_compressed != 0);
        expect_status(call, GW_STATUS_OK, "");
        ck_assert_uint_eq(inflated_bytes, GW_FRAME_SMALL_BYTES);
        ck_assert((sent_bytes > KIB) == (noise[_i] > 0 || is_compressed == 0));
        ck_assert_uint_eq(cost_of(call), write_cost(1, paid, 0));
    }
}
END_TEST

static void make_deletion(void)
{
    static Bt__Mutation deletion;
    static Bt__Mutation__DeleteFromRow from_row;
    bt__mutate_row_request__init(&mutate);
    bt__mutation__init(&deletion);
    bt__mutation__delete_from_row__init(&from_row);
    deletion.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_ROW;
    deletion.delete_from_row = &from_row;
    mutations[0] = &deletion;
    mutate.table_name = table;
    mutate.row_key = binary("k");
    mutate.mutations = mutations;
    mutate.n_mutations = 1;
}

/* Nothing but its operation pays for the deletion of a row that is not there, and its tenant's name
 * is so short that 8 times the bytes that are sent are little. */
START_TEST(a_message_that_is_not_small_any_more_pays)
{
    struct world brief;
    grpc_close(&client);
    world_init_on(&brief, world_server(), HTTP_2, "w1");
    grpc_open(&client, world_server(), brief.key, 0);
    grpc_add_header(&client, "grpc-encoding", "gzip");
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/devices", brief.tenant);
    make_deletion();
    size_t rest = GW_FRAME_SMALL_BYTES - bt__mutate_row_request__get_packed_size(&mutate) - 6;
    const struct grpc_call *call = send_framed(BIGTABLE "MutateRow", &mutate.base, 0, rest, true);
    expect_status(call, GW_STATUS_OK, "");
    ck_assert_uint_eq(cost_of(call), write_cost(1, 1, 0));
    call = send_framed(BIGTABLE "MutateRow", &mutate.base, 0, rest + 1, true);
    expect_status(call, GW_STATUS_OK, "");
    ck_assert_uint_eq(cost_of(call), write_cost(1, 1, excess()));
    ck_assert_uint_gt(cost_of(call), write_cost(1, 1, 0));
    world_fini(&brief);
}
END_TEST

/* Returns the bytes that pay for the row. */
static uint64_t make_many_cells(struct set_cell *all, Bt__Mutation **list,
                                char (*names)[NAME_BYTES])
{
    uint64_t paid = 1;
    for (size_t i = 0; i < MANY_CELLS; i++) {
        (void)snprintf(names[i], NAME_BYTES, "q%zu-%08x", i, (unsigned)i * 2654435761U);
        list[i] = set_cell(&all[i], "raw", names[i], "1");
        all[i].set.timestamp_micros = 1700000000000000;
        paid += strlen(names[i]) + 1;
    }
    mutate.table_name = table;
    mutate.row_key = binary("k");
    mutate.mutations = list;
    mutate.n_mutations = MANY_CELLS;
    return paid;
}

START_TEST(many_small_cells_cost_the_same_however_they_are_sent)
{
    struct set_cell *all = base_new(MANY_CELLS * sizeof *all);
    Bt__Mutation **list = base_new(MANY_CELLS * sizeof(Bt__Mutation *));
    char(*names)[NAME_BYTES] = base_new(MANY_CELLS * sizeof *names);
    grpc_add_header(&client, "grpc-encoding", "gzip");
    bt__mutate_row_request__init(&mutate);
    uint64_t paid = make_many_cells(all, list, names);
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        const struct grpc_call *call =
            send_framed(BIGTABLE "MutateRow", &mutate.base, 0, 0, is_compressed != 0);
        expect_status(call, GW_STATUS_OK, "");
        ck_assert_uint_eq(cost_of(call), write_cost(1, paid, 0));
    }
    base_free(names);
    base_free(list);
    base_free(all);
}
END_TEST

/* A write of one row, whose message is damaged behind much that was inflated. */
START_TEST(what_is_damaged_is_charged_for_what_it_inflates_to)
{
    grpc_add_header(&client, "grpc-encoding", "gzip");
    make_mutate(1);
    const struct grpc_call *call = send_framed(BIGTABLE "MutateRow", &mutate.base, MUCH, 0, true);
    expect_status(call, GW_STATUS_INVALID_ARGUMENT, "");
    ck_assert_uint_eq(cost_of(call), write_cost(1, 0, excess()));
}
END_TEST

/* Else clients that are refused, and come again, would use up what the rate lets through. */
START_TEST(what_a_rate_refuses_is_not_charged_for_what_it_inflates_to)
{
    Bt__MutateRowsRequest many = BT__MUTATE_ROWS_REQUEST__INIT;
    Bt__MutateRowsRequest__Entry entry = BT__MUTATE_ROWS_REQUEST__ENTRY__INIT;
    Bt__MutateRowsRequest__Entry *entries[] = {&entry};
    const char *path = BIGTABLE "MutateRows";
    admin_set_quota(w.op, w.tenant, "{'write_bytes_per_s':1024," RATE_DEBT "}");
    make_mutate(200 * KIB);
    expect_status(grpc_ask(&client, BIGTABLE "MutateRow", &mutate.base), GW_STATUS_OK, "");
    grpc_add_header(&client, "grpc-encoding", "gzip");
    make_mutate(1);
    entry.row_key = binary("k");
    entry.mutations = mutations;
    entry.n_mutations = 1;
    many.table_name = table;
    many.entries = entries;
    many.n_entries = 1;
    const struct grpc_call *plain = send_framed(path, &many.base, 0, MUCH, false);
    expect_status(plain, GW_STATUS_RESOURCE_EXHAUSTED, "write_bytes");
    const struct grpc_call *call = send_framed(path, &many.base, 0, MUCH, true);
    expect_status(call, GW_STATUS_RESOURCE_EXHAUSTED, "write_bytes");
    ck_assert_str_eq(call->cost, plain->cost);
}
END_TEST

/* --- lists ------------------------------------------------------------------------------------ */

static void make_tables(void)
{
    json_t *families = json_object();
    for (int i = 0; i < LIM_FAMILIES; i++) {
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof name, "a-family-of-a-large-table-%d", i);
        json_object_set_new(families, name,
                            json_pack("{s:{s:i,s:s}}", "gc", "max_versions", 3, "max_age", "60s"));
    }
    for (int i = 0; i < MANY; i++) {
        http_value_take(w.http, "PUT", json_pack("{s:O}", "families", families),
                        "/v1/tables/table%d", i);
        EXPECT_STATUS(w.http, 201);
    }
    json_decref(families);
}

static const struct grpc_call *list_tables(Bta__Table__View view)
{
    char parent[TABLE_NAME];
    Bta__ListTablesRequest list = BTA__LIST_TABLES_REQUEST__INIT;
    (void)snprintf(parent, sizeof parent, "projects/%s/instances/main", w.tenant);
    list.parent = parent;
    list.view = view;
    const struct grpc_call *call = grpc_ask(&client, LIST_TABLES, &list.base);
    expect_status(call, GW_STATUS_OK, "");
    return call;
}

START_TEST(a_page_of_tables_is_charged_by_its_bytes)
{
    make_tables();
    ck_assert_uint_eq(cost_of(list_tables(BTA__TABLE__VIEW__NAME_ONLY)), 1);
    const struct grpc_call *call = list_tables(BTA__TABLE__VIEW__SCHEMA_VIEW);
    size_t bytes = grpc_message(call, 0).len;
    ck_assert_uint_gt(bytes, 2 * TEN_COST_READ_BYTES);
    ck_assert_uint_eq(cost_of(call), read_cost(bytes));
}
END_TEST

static void make_views(void)
{
    static char prefix[1000];
    Bta__CreateAuthorizedViewRequest create = BTA__CREATE_AUTHORIZED_VIEW_REQUEST__INIT;
    Bta__AuthorizedView view = BTA__AUTHORIZED_VIEW__INIT;
    Bta__AuthorizedView__SubsetView subset = BTA__AUTHORIZED_VIEW__SUBSET_VIEW__INIT;
    ProtobufCBinaryData prefixes[] = {{sizeof prefix, (uint8_t *)prefix}};
    memset(prefix, 'p', sizeof prefix);
    subset.row_prefixes = prefixes;
    subset.n_row_prefixes = 1;
    view.authorized_view_case = BTA__AUTHORIZED_VIEW__AUTHORIZED_VIEW_SUBSET_VIEW;
    view.subset_view = &subset;
    create.parent = table;
    create.authorized_view = &view;
    for (int i = 0; i < MANY; i++) {
        char id[NAME_BYTES];
        (void)snprintf(id, sizeof id, "view%d", i);
        create.authorized_view_id = id;
        expect_status(grpc_ask(&client, ADMIN "CreateAuthorizedView", &create.base), GW_STATUS_OK,
                      "");
    }
}

START_TEST(a_page_of_views_is_charged_by_its_bytes)
{
    Bta__ListAuthorizedViewsRequest list = BTA__LIST_AUTHORIZED_VIEWS_REQUEST__INIT;
    make_views();
    list.parent = table;
    list.view = BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__FULL;
    const struct grpc_call *call = grpc_ask(&client, LIST_VIEWS, &list.base);
    expect_status(call, GW_STATUS_OK, "");
    size_t bytes = grpc_message(call, 0).len;
    ck_assert_uint_gt(bytes, 2 * TEN_COST_READ_BYTES);
    ck_assert_uint_eq(cost_of(call), read_cost(bytes));
}
END_TEST

/* --- deflating -------------------------------------------------------------------------------- */

/* What the server has deflated, of messages that are not small. */
static uint64_t deflated_bytes(const struct grpc_call *call)
{
    struct gw_frame_reader r = {0};
    struct slice rest = base_buf_slice(&call->body);
    uint64_t sum = 0;
    gw_frame_reader_init(&r, MUCH, GW_ENCODING_GZIP);
    while (rest.len > 0) {
        struct errbuf eb;
        size_t used = 0;
        bool is_complete = false;
        ck_assert_int_eq(gw_frame_feed(&r, rest, &used, &is_complete, &eb), ERR_OK);
        ck_assert(is_complete);
        ck_assert_int_eq(gw_frame_unpack(&r, &eb), ERR_OK);
        size_t bytes = gw_frame_message(&r).len;
        sum += bytes > GW_FRAME_SMALL_BYTES ? bytes : 0;
        rest = base_slice_skip(rest, used);
        gw_frame_next(&r);
    }
    gw_frame_reader_fini(&r);
    return sum;
}

START_TEST(an_answer_that_is_compressed_is_charged_by_its_bytes)
{
    Bta__GetTableRequest get = BTA__GET_TABLE_REQUEST__INIT;
    char name[TABLE_NAME];
    make_tables();
    grpc_add_header(&client, "grpc-encoding", "gzip");
    grpc_add_header(&client, "grpc-accept-encoding", "gzip");
    (void)snprintf(name, sizeof name, "projects/%s/instances/main/tables/table0", w.tenant);
    get.name = table;
    const struct grpc_call *small = grpc_ask(&client, ADMIN "GetTable", &get.base);
    expect_status(small, GW_STATUS_OK, "");
    ck_assert_uint_eq(deflated_bytes(small), 0);
    ck_assert_uint_eq(cost_of(small), 1);
    get.name = name;
    const struct grpc_call *large = grpc_ask(&client, ADMIN "GetTable", &get.base);
    expect_status(large, GW_STATUS_OK, "");
    ck_assert_uint_gt(deflated_bytes(large), GW_FRAME_SMALL_BYTES);
    ck_assert_uint_eq(cost_of(large), read_cost(deflated_bytes(large) * DEFLATED_PRICE));
}
END_TEST

/* Inflating the message uses up what its entries pay. */
START_TEST(verdicts_that_are_compressed_are_charged_by_their_bytes)
{
    Bt__MutateRowsRequest many = BT__MUTATE_ROWS_REQUEST__INIT;
    Bt__MutateRowsRequest__Entry entry = BT__MUTATE_ROWS_REQUEST__ENTRY__INIT;
    Bt__MutateRowsRequest__Entry *entries[MANY_ENTRIES];
    grpc_add_header(&client, "grpc-encoding", "gzip");
    grpc_add_header(&client, "grpc-accept-encoding", "gzip");
    make_mutate(0);
    cell.set.family_name = (char *)(uintptr_t) "no family that the table has";
    entry.row_key = binary("k");
    entry.mutations = mutations;
    entry.n_mutations = 1;
    for (size_t i = 0; i < MANY_ENTRIES; i++)
        entries[i] = &entry;
    many.table_name = table;
    many.entries = entries;
    many.n_entries = MANY_ENTRIES;
    const struct grpc_call *call = send_framed(BIGTABLE "MutateRows", &many.base, 0, MUCH, true);
    expect_status(call, GW_STATUS_OK, "");
    ck_assert_uint_gt(deflated_bytes(call), 2 * GW_FRAME_SMALL_BYTES);
    uint64_t handled = excess() + deflated_bytes(call) * DEFLATED_PRICE;
    ck_assert_uint_eq(cost_of(call), write_cost(MANY_ENTRIES, MANY_ENTRIES * 2, handled));
}
END_TEST

Suite *suite_grpc_handling(void)
{
    Suite *suite = suite_create("grpc_handling");
    TCase *tc = add_case(suite, "inflating");
    tcase_add_test(tc, a_read_is_charged_for_what_its_message_inflates_to);
    tcase_add_test(tc, a_scan_pauses_for_what_its_message_inflates_to);
    tcase_add_loop_test(tc, a_small_message_costs_the_same_however_it_is_sent, 0, 2);
    tcase_add_test(tc, a_message_that_is_not_small_any_more_pays);
    tcase_add_test(tc, many_small_cells_cost_the_same_however_they_are_sent);
    tcase_add_test(tc, what_is_damaged_is_charged_for_what_it_inflates_to);
    tcase_add_test(tc, what_a_rate_refuses_is_not_charged_for_what_it_inflates_to);
    world_end(tc);
    tc = add_case(suite, "lists");
    tcase_add_test(tc, a_page_of_tables_is_charged_by_its_bytes);
    tcase_add_test(tc, a_page_of_views_is_charged_by_its_bytes);
    world_end(tc);
    tc = add_case(suite, "deflating");
    tcase_add_test(tc, an_answer_that_is_compressed_is_charged_by_its_bytes);
    tcase_add_test(tc, verdicts_that_are_compressed_are_charged_by_their_bytes);
    world_end(tc);
    return suite;
}

/*
 * tests/grpc/test_departure.c - behind the answer to :offboard no call of the tenant finds it, and
 * a neighbour's calls go on.
 *
 * What becomes of reads under way is in test_read_streams.c and test_change_stream.c.
 */
#include <check.h>
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "calls.h"
#include "tests/isolation/message.h"
#include "tests/isolation/names.h"

#include "base/banned.h"

#define TABLES   "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define INSTANCE "projects/{tenant}/instances/main"
#define TABLE    INSTANCE "/tables/{table}"
#define ON_ROW   "table_name=" TABLE ";row_key=k;"
#define SET(list)                                                                                  \
    list ".set_cell.family_name=raw;" list ".set_cell.column_qualifier=v;" list                    \
         ".set_cell.timestamp_micros=1000"

static const struct {
    const char *path;
    const ProtobufCMessageDescriptor *type;
    const char *form; /* see message.h; with names of names.h */
} CALLS[] = {
    {BIGTABLE "MutateRow", &bt__mutate_row_request__descriptor, ON_ROW SET("mutations")},
    {BIGTABLE "MutateRows", &bt__mutate_rows_request__descriptor,
     "table_name=" TABLE ";entries.row_key=k;" SET("entries.mutations")},
    {BIGTABLE "CheckAndMutateRow", &bt__check_and_mutate_row_request__descriptor,
     ON_ROW SET("true_mutations")},
    {BIGTABLE "ReadModifyWriteRow", &bt__read_modify_write_row_request__descriptor,
     ON_ROW "rules.family_name=raw;rules.column_qualifier=v;rules.append_value=x"},
    {BIGTABLE "ReadRows", &bt__read_rows_request__descriptor, "table_name=" TABLE},
    {BIGTABLE "SampleRowKeys", &bt__sample_row_keys_request__descriptor, "table_name=" TABLE},
    {TABLES "ListTables", &bta__list_tables_request__descriptor, "parent=" INSTANCE},
    {TABLES "GetTable", &bta__get_table_request__descriptor, "name=" TABLE},
    {TABLES "CreateTable", &bta__create_table_request__descriptor,
     "parent=" INSTANCE ";table_id={label};table.column_families.key=f;"
     "table.column_families.value="},
    {TABLES "DropRowRange", &bta__drop_row_range_request__descriptor,
     "name=" TABLE ";row_key_prefix=k"},
};
#define CALL_COUNT (sizeof CALLS / sizeof CALLS[0])

static struct world neighbour;
static struct grpc_client neighbours;

static void set_up_both(void)
{
    set_up();
    world_init(&neighbour, HTTP_2);
    grpc_open(&neighbours, world_server(), neighbour.key, 0);
}

static void tear_down_both(void)
{
    grpc_close(&neighbours);
    world_fini(&neighbour);
    tear_down();
}

/* new_table: of CreateTable. */
static const struct grpc_call *call_of(struct grpc_client *c, const struct world *of, size_t which,
                                       const char *new_table)
{
    static struct names asked;
    struct arena arena;
    struct buf text;
    if (c->count == GRPC_CALLS)
        grpc_forget(c);
    base_arena_init(&arena, MIB);
    base_buf_init(&text, KIB);
    name_set(&asked, NAME_TENANT, of->tenant);
    name_set(&asked, NAME_TABLE, "devices");
    name_set(&asked, NAME_LABEL, new_table);
    names_expand(CALLS[which].form, &asked, &text);
    ck_assert_int_eq(base_buf_append_byte(&text, '\0'), ERR_OK);
    const struct grpc_call *call = grpc_ask(
        c, CALLS[which].path, message_make(CALLS[which].type, (const char *)text.ptr, &arena));
    base_buf_fini(&text);
    base_arena_fini(&arena);
    return call;
}

/* Also each entry of MutateRows. */
static void expect_done(const struct grpc_call *call, size_t which)
{
    ck_assert_msg(call->status == GW_STATUS_OK, "%s: status %d: %s", CALLS[which].path,
                  call->status, call->message);
    if (CALLS[which].type != &bt__mutate_rows_request__descriptor)
        return;
    Bt__MutateRowsResponse *reply =
        (void *)grpc_message_new(call, &bt__mutate_rows_response__descriptor, 0);
    ck_assert_uint_eq(reply->n_entries, 1);
    ck_assert_int_eq(reply->entries[0]->status->code, GW_STATUS_OK);
    bt__mutate_rows_response__free_unpacked(reply, NULL);
}

static void expect_gone(const struct grpc_call *call, size_t which)
{
    ck_assert_msg(call->status == GW_STATUS_NOT_FOUND, "%s: status %d: %s", CALLS[which].path,
                  call->status, call->message);
    ck_assert_msg(call->body.len == 0, "%s: %zu bytes", CALLS[which].path, call->body.len);
    Rpc__ErrorInfo *info = grpc_error_info_new(call);
    ck_assert_str_eq(info->reason, "gone");
    rpc__error_info__free_unpacked(info, NULL);
}

static void expect_neighbour(const char *new_table)
{
    for (size_t i = 0; i < CALL_COUNT; i++)
        expect_done(call_of(&neighbours, &neighbour, i, new_table), i);
}

static void offboard(bool has_grace)
{
    json_t *wanted = json_pack("{s:s}", "confirm", w.tenant);
    if (has_grace)
        (void)json_object_set_new(wanted, "grace", json_string("3600s"));
    http_value_take(w.op, "POST", wanted, "/v1/admin/tenants/%s:offboard", w.tenant);
    EXPECT_STATUS(w.op, 202);
}

START_TEST(behind_the_answer_every_call_finds_nothing)
{
    bool has_grace = _i == 1;
    for (size_t i = 0; i < CALL_COUNT; i++)
        expect_done(call_of(&client, &w, i, "before"), i);
    expect_neighbour("before");
    offboard(has_grace);
    for (size_t i = 0; i < CALL_COUNT; i++)
        expect_gone(call_of(&client, &w, i, "behind"), i);
    expect_neighbour("behind");
}
END_TEST

/* Nothing of what was refused has happened. */
START_TEST(undelete_brings_back_what_was_there)
{
    put(w.http, "k");
    offboard(true);
    for (size_t i = 0; i < CALL_COUNT; i++)
        expect_gone(call_of(&client, &w, i, "behind"), i);
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:undelete", w.tenant);
    EXPECT_STATUS(w.op, 200);
    read_rows();
    expect_rows("k");
    http_get(w.http, "/v1/tables/behind");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    for (size_t i = 0; i < CALL_COUNT; i++)
        expect_done(call_of(&client, &w, i, "again"), i);
}
END_TEST

Suite *suite_grpc_departure(void);
Suite *suite_grpc_departure(void)
{
    Suite *s = suite_create("grpc_departure");
    TCase *tc = tcase_create("departure");
    world_begin(tc);
    tcase_add_checked_fixture(tc, set_up_both, tear_down_both);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, behind_the_answer_every_call_finds_nothing, 0, 2);
    tcase_add_test(tc, undelete_brings_back_what_was_there);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

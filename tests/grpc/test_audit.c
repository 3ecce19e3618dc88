/*
 * tests/grpc/test_audit.c - what is changed over gRPC is recorded like what is changed over JSON.
 */
#define _GNU_SOURCE
#include "views.h"

#include "tests/support/process.h"

#include "base/banned.h"

Suite *suite_grpc_audit(void);

#define SECRET "canary7c31"

/* The tenant, its key and its table, by world_init. */
#define BEFORE 3

static const char *field(const json_t *record, const char *name)
{
    const char *value = json_string_value(json_object_get(record, name));
    return value != NULL ? value : "";
}

static bool is_recorded(void *place)
{
    http_get(w.op, "/v1/admin/audit?tenant=%s", w.tenant);
    EXPECT_STATUS(w.op, 200);
    return http_count(w.op, "/records") >= *(const size_t *)place;
}

/* Record number `place` of the tenant's, once it is there. */
static void expect_record(size_t place, const char *action, const char *outcome, const char *target)
{
    process_await(is_recorded, &place, "a record of the audit log");
    const json_t *record = json_array_get(http_at(w.op, "/records"), place - 1);
    ck_assert_str_eq(field(record, "action"), action);
    ck_assert_str_eq(field(record, "outcome"), outcome);
    ck_assert_str_eq(field(record, "target"), target);
    ck_assert_str_eq(field(record, "kind"), "tenant");
    ck_assert_str_eq(field(record, "address"), "127.0.0.1");
    ck_assert_ptr_null(memmem(w.op->body.ptr, w.op->body.len, SECRET, strlen(SECRET)));
}

START_TEST(views_are_recorded)
{
    struct subset s;
    ck_assert_int_eq(create_view("v", subset_of(&s, SECRET)), GW_STATUS_OK);
    expect_record(BEFORE + 1, "view.create", "done", "devices/v");
    ck_assert_int_eq(create_view("v", subset_of(&s, SECRET)), GW_STATUS_ALREADY_EXISTS);
    expect_record(BEFORE + 2, "view.create", "exists", "devices/v");
    Bta__DeleteAuthorizedViewRequest gone = BTA__DELETE_AUTHORIZED_VIEW_REQUEST__INIT;
    gone.name = view_name;
    ck_assert_int_eq(ask(ADMIN "DeleteAuthorizedView", &gone.base), GW_STATUS_OK);
    expect_record(BEFORE + 3, "view.delete", "done", "devices/v");
}
END_TEST

START_TEST(tables_and_drops_are_recorded)
{
    Bta__CreateTableRequest create = BTA__CREATE_TABLE_REQUEST__INIT;
    Bta__Table made = BTA__TABLE__INIT;
    char parent[WORLD_ID + 64], name[WORLD_ID + 96];
    (void)snprintf(parent, sizeof parent, "projects/%s/instances/main", w.tenant);
    (void)snprintf(name, sizeof name, "%s/tables/alarms", parent);
    create.parent = parent;
    create.table_id = text("alarms");
    create.table = &made;
    ck_assert_int_eq(ask(ADMIN "CreateTable", &create.base), GW_STATUS_OK);
    expect_record(BEFORE + 1, "table.create", "done", "alarms");
    Bta__DropRowRangeRequest drop = BTA__DROP_ROW_RANGE_REQUEST__INIT;
    drop.name = name;
    drop.target_case = BTA__DROP_ROW_RANGE_REQUEST__TARGET_ROW_KEY_PREFIX;
    drop.row_key_prefix = data_of(SECRET);
    ck_assert_int_eq(ask(ADMIN "DropRowRange", &drop.base), GW_STATUS_OK);
    expect_record(BEFORE + 2, "table.drop_rows", "done", "alarms");
    expect_record(BEFORE + 3, "table.drop_rows", "done", "alarms");
    Bta__DeleteTableRequest gone = BTA__DELETE_TABLE_REQUEST__INIT;
    gone.name = name;
    ck_assert_int_eq(ask(ADMIN "DeleteTable", &gone.base), GW_STATUS_OK);
    expect_record(BEFORE + 4, "table.delete", "done", "alarms");
}
END_TEST

START_TEST(a_call_without_the_scope_is_recorded)
{
    char key[WORLD_KEY];
    admin_create_key(w.op, w.tenant, "['data.read']", key, NULL);
    struct grpc_client reader_only;
    grpc_open(&reader_only, world_server(), key, 0);
    Bta__DeleteTableRequest gone = BTA__DELETE_TABLE_REQUEST__INIT;
    gone.name = table;
    call = grpc_ask(&reader_only, ADMIN "DeleteTable", &gone.base);
    ck_assert_int_eq(call->status, GW_STATUS_PERMISSION_DENIED);
    /* The message, which names the table, was not looked at. */
    expect_record(BEFORE + 2, "table.delete", "forbidden", "");
    grpc_close(&reader_only);
}
END_TEST

/* The newest record of all. */
static const json_t *last_record(void)
{
    http_get(w.op, "/v1/admin/audit?limit=1000");
    EXPECT_STATUS(w.op, 200);
    return json_array_get(http_at(w.op, "/records"), http_count(w.op, "/records") - 1);
}

static bool is_refusal_recorded(void *unused)
{
    (void)unused;
    return strcmp(field(last_record(), "action"), "table.delete") == 0;
}

START_TEST(a_service_key_refused_by_its_head_is_recorded_with_what_it_named)
{
    http_value_take(w.op, "POST",
                    json_pack("{s:s,s:s,s:[s],s:[s]}", "kind", "service", "label", "s", "tenants",
                              w.tenant, "scopes", "table.admin"),
                    "/v1/admin/keys");
    EXPECT_STATUS(w.op, 201);
    static struct grpc_client service;
    grpc_open(&service, world_server(), http_string(w.op, "/key"), 0);
    grpc_add_header(&service, "x-goog-request-params", "name=projects%2Fcontoso%2Finstances%2Fm");
    Bta__DeleteTableRequest gone = BTA__DELETE_TABLE_REQUEST__INIT;
    gone.name = table;
    call = grpc_ask(&service, ADMIN "DeleteTable", &gone.base);
    ck_assert_int_eq(call->status, GW_STATUS_PERMISSION_DENIED);
    process_await(is_refusal_recorded, NULL, "a record of the refusal");
    const json_t *record = last_record();
    ck_assert_str_eq(field(record, "outcome"), "forbidden");
    ck_assert_str_eq(field(record, "tenant"), ""); /* it names what it may not know of */
    ck_assert_str_eq(field(record, "target"), "contoso");
    grpc_close(&service);
}
END_TEST

Suite *suite_grpc_audit(void)
{
    Suite *s = suite_create("grpc_audit");
    TCase *tc = tcase_create("audit");
    tcase_set_timeout(tc, 120);
    world_begin(tc);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, views_are_recorded);
    tcase_add_test(tc, tables_and_drops_are_recorded);
    tcase_add_test(tc, a_call_without_the_scope_is_recorded);
    tcase_add_test(tc, a_service_key_refused_by_its_head_is_recorded_with_what_it_named);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

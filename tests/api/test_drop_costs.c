/*
 * tests/api/test_drop_costs.c - a drop of rows is charged for what it removes, over both protocols.
 */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/text.h"
#include "tenancy/admission.h"
#include "tests/support/grpc_client.h"
#include "tests/support/rates.h"
#include "tests/support/world.h"

#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "base/banned.h"

#define DROP           "/v1/tables/devices:drop"
#define DROP_ROW_RANGE "/google.bigtable.admin.v2.BigtableTableAdmin/DropRowRange"

enum {
    VALUE_BYTES = 1 * MIB,
    FULL_COST = TEN_COST_WRITE + VALUE_BYTES / TEN_COST_WRITE_BYTES,
};

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

static void put_value(void)
{
    char *value = base_new(VALUE_BYTES);
    memset(value, 'v', VALUE_BYTES);
    http_bytes(w.http, "PUT", base_slice(value, VALUE_BYTES), "/v1/tables/devices/cells/k/stats/q");
    base_free(value);
    EXPECT_STATUS(w.http, 204);
}

static uint64_t number_of(const char *cost)
{
    uint64_t number = 0;
    ck_assert_ptr_nonnull(cost);
    ck_assert_int_eq(base_parse_u64(base_slice_text(cost), &number), ERR_OK);
    return number;
}

/* Names, the timestamp and the row's header are less than a KiB. */
static void expect_full_cost(const char *cost)
{
    ck_assert_uint_ge(number_of(cost), FULL_COST);
    ck_assert_uint_le(number_of(cost), FULL_COST + 1);
}

START_TEST(a_drop_is_charged_for_what_it_removes)
{
    world_init(&w, (enum http_version)_i);
    put_value();
    http_json(w.http, "POST", "{'prefix':'none'}", DROP);
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(number_of(http_header(w.http, "bigtent-cost")), TEN_COST_WRITE);
    admin_set_quota(w.op, w.tenant, "{'write_bytes_per_s':1024," RATE_DEBT "}");
    http_json(w.http, "POST", "{'all':true}", DROP);
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(http_number(w.http, "/removed/rows"), 1);
    expect_full_cost(http_header(w.http, "bigtent-cost"));
    http_json(w.http, "PUT", "{'raw':{'q':'v'}}", "/v1/tables/devices/rows/k");
    EXPECT_PROBLEM(w.http, 429, "rate_limited");
    ck_assert_str_eq(http_string(w.http, "/violated-policies/0"), "write_bytes");
}
END_TEST

START_TEST(so_is_one_over_grpc)
{
    struct grpc_client client;
    char table[256];
    Bta__DropRowRangeRequest drop = BTA__DROP_ROW_RANGE_REQUEST__INIT;
    world_init(&w, HTTP_2);
    put_value();
    grpc_open(&client, world_server(), w.key, 0);
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/devices", w.tenant);
    drop.name = table;
    drop.target_case = BTA__DROP_ROW_RANGE_REQUEST__TARGET_DELETE_ALL_DATA_FROM_TABLE;
    drop.delete_all_data_from_table = true;
    const struct grpc_call *call = grpc_ask(&client, DROP_ROW_RANGE, &drop.base);
    ck_assert_msg(call->status == 0, "%s", call->message);
    expect_full_cost(call->cost);
    grpc_close(&client);
}
END_TEST

Suite *suite_api_drop_costs(void);

Suite *suite_api_drop_costs(void)
{
    Suite *s = suite_create("api_drop_costs");
    TCase *tc = tcase_create("drops");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, a_drop_is_charged_for_what_it_removes, 0, HTTP_VERSIONS);
    tcase_add_test(tc, so_is_one_over_grpc);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

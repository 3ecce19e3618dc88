/*
 * tests/grpc/test_instance_admin.c - BigtableInstanceAdmin of a real server: how instances look.
 */
#include <check.h>
#include <google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h>
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <stdio.h>

#include "gateway/grpc/resource.h"
#include "gateway/grpc/status.h"
#include "tests/support/grpc_client.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define GET_INSTANCE "/google.bigtable.admin.v2.BigtableInstanceAdmin/GetInstance"
#define GET_TABLE    "/google.bigtable.admin.v2.BigtableTableAdmin/GetTable"

static struct world w;

static void set_up(void)
{
    world_init(&w, HTTP_2);
}

static void tear_down(void)
{
    world_fini(&w);
}

static void expect_display_name(const char *tenant, const char *key, const char *expected)
{
    struct grpc_client client;
    char name[WORLD_ID + 64];
    Bta__GetInstanceRequest ask = BTA__GET_INSTANCE_REQUEST__INIT;
    (void)snprintf(name, sizeof name, "projects/%s/instances/main", tenant);
    ask.name = name;
    grpc_open(&client, world_server(), key, 0);
    const struct grpc_call *call = grpc_ask(&client, GET_INSTANCE, &ask.base);
    ck_assert_msg(call->status == GW_STATUS_OK, "status %d: %s", call->status, call->message);
    ProtobufCMessage *message = grpc_message_new(call, &bta__instance__descriptor, 0);
    const Bta__Instance *instance = (const Bta__Instance *)message;
    ck_assert_str_eq(instance->name, name);
    ck_assert_str_eq(instance->display_name, expected);
    ck_assert_int_eq(instance->state, BTA__INSTANCE__STATE__READY);
    protobuf_c_message_free_unpacked(message, NULL);
    grpc_close(&client);
}

START_TEST(instance_has_the_display_name_of_its_tenant)
{
    char tenant[WORLD_ID], key[WORLD_KEY], name[WORLD_ID + 8];
    world_fresh_id(tenant);
    (void)snprintf(name, sizeof name, "The %s", tenant);
    http_value_take(w.op, "POST", json_pack("{s:s,s:s}", "id", tenant, "display_name", name),
                    "/v1/admin/tenants");
    EXPECT_STATUS(w.op, 201);
    admin_create_key(w.op, tenant, NULL, key, NULL);
    expect_display_name(tenant, key, name);
}
END_TEST

START_TEST(instance_of_a_tenant_without_display_name_has_its_id)
{
    char tenant[WORLD_ID], key[WORLD_KEY];
    world_fresh_id(tenant);
    http_value_take(w.op, "POST", json_pack("{s:s}", "id", tenant), "/v1/admin/tenants");
    EXPECT_STATUS(w.op, 201);
    admin_create_key(w.op, tenant, NULL, key, NULL);
    expect_display_name(tenant, key, tenant);
}
END_TEST

/* --- its other name ----------------------------------------------------------------------------
 */

static const struct grpc_call *get_table(struct grpc_client *client, const char *instance)
{
    char name[WORLD_ID + 64];
    Bta__GetTableRequest ask = BTA__GET_TABLE_REQUEST__INIT;
    (void)snprintf(name, sizeof name, "projects/%s/instances/%s/tables/devices", w.tenant,
                   instance);
    ask.name = name;
    return grpc_ask(client, GET_TABLE, &ask.base);
}

START_TEST(the_instance_main_has_a_longer_name)
{
    struct grpc_client client;
    char name[WORLD_ID + 64];
    grpc_open(&client, world_server(), w.key, 0);
    const struct grpc_call *call = get_table(&client, "bigtent");
    ck_assert_msg(call->status == GW_STATUS_OK, "status %d: %s", call->status, call->message);
    ProtobufCMessage *message = grpc_message_new(call, &bta__table__descriptor, 0);
    (void)snprintf(name, sizeof name, "projects/%s/instances/bigtent/tables/devices", w.tenant);
    ck_assert_str_eq(((const Bta__Table *)message)->name, name);
    protobuf_c_message_free_unpacked(message, NULL);
    ck_assert_int_eq(get_table(&client, "bigtents")->status, GW_STATUS_NOT_FOUND);
    ck_assert_int_eq(get_table(&client, "bigten")->status, GW_STATUS_NOT_FOUND);
    grpc_close(&client);
}
END_TEST

START_TEST(an_instance_of_another_name_has_no_second_one)
{
    ck_assert(gw_resource_is_own_instance(SLICE_LIT("bigtent"), SLICE_LIT("main")));
    ck_assert(gw_resource_is_own_instance(SLICE_LIT("-"), SLICE_LIT("other")));
    ck_assert(!gw_resource_is_own_instance(SLICE_LIT("bigtent"), SLICE_LIT("other")));
    ck_assert(!gw_resource_is_own_instance(SLICE_LIT("main"), SLICE_LIT("bigtent")));
}
END_TEST

Suite *suite_grpc_instance_admin(void);
Suite *suite_grpc_instance_admin(void)
{
    Suite *s = suite_create("grpc_instance_admin");
    TCase *tc = tcase_create("instances");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    world_begin(tc);
    tcase_add_test(tc, instance_has_the_display_name_of_its_tenant);
    tcase_add_test(tc, instance_of_a_tenant_without_display_name_has_its_id);
    tcase_add_test(tc, the_instance_main_has_a_longer_name);
    tcase_add_test(tc, an_instance_of_another_name_has_no_second_one);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

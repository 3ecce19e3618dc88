/*
 * tests/grpc/test_admission.c - a call that may not be made is refused by its head: its message is
 * neither waited for nor kept.
 */
#include "calls.h"

#include "base/banned.h"

#define MUTATE_ROW "/google.bigtable.v2.Bigtable/MutateRow"
#define ANNOUNCED  (100 * MIB)
#define PART       (64 * KIB)

static const char *const METHODS[] = {MUTATE_ROW, READ_ROWS};

/* The head of a call, the head of a message of 100 MiB, and a part of it. */
static struct grpc_call *begin_large(const char *method)
{
    static uint8_t bytes[5 + PART];
    for (size_t i = 0; i < 4; i++)
        bytes[1 + i] = (uint8_t)(ANNOUNCED >> (8 * (3 - i)));
    struct grpc_call *call = grpc_begin(&client, method, NULL);
    grpc_put_bytes(&client, call, base_slice(bytes, sizeof bytes));
    return call;
}

static void state_set(const char *verb)
{
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:%s", w.tenant, verb);
    EXPECT_STATUS(w.op, 200);
}

START_TEST(a_suspended_tenant_is_refused_by_the_head)
{
    state_set("suspend");
    struct grpc_call *call = begin_large(METHODS[_i]);
    grpc_await(&client);
    expect_status(call, GW_STATUS_PERMISSION_DENIED, "suspended");
    state_set("resume");
}
END_TEST

START_TEST(a_call_over_the_cap_is_refused_by_the_head)
{
    admin_set_quota(w.op, w.tenant, "{'concurrent_requests':1}");
    struct grpc_call *first = begin_large(METHODS[_i]);
    grpc_listen(&client, 100);
    ck_assert(!first->is_closed);
    struct grpc_call *second = begin_large(METHODS[_i]);
    grpc_await_end(&client, second);
    expect_status(second, GW_STATUS_RESOURCE_EXHAUSTED, "");
    ck_assert(!first->is_closed);
    grpc_cancel(&client, first);
    grpc_await(&client);
    admin_set_quota(w.op, w.tenant, "{}");
}
END_TEST

START_TEST(a_rate_is_held_against_the_head)
{
    admin_set_quota(w.op, w.tenant, "{'read_ops_per_s':1,'write_ops_per_s':1}");
    struct grpc_call *last = NULL;
    for (int i = 0; i < 8 && (last == NULL || !last->is_closed); i++) {
        last = begin_large(METHODS[_i]);
        grpc_listen(&client, 50);
    }
    expect_status(last, GW_STATUS_RESOURCE_EXHAUSTED, "");
    admin_set_quota(w.op, w.tenant, "{}");
}
END_TEST

/* Its operation is charged once, whenever the message comes. */
START_TEST(a_message_that_comes_later_is_looked_at_again)
{
    make_mutate(10);
    struct grpc_call *call = grpc_begin(&client, MUTATE_ROW, NULL);
    grpc_listen(&client, 100);
    grpc_put(&client, call, &mutate.base);
    grpc_finish(&client, call);
    grpc_await(&client);
    expect_status(call, GW_STATUS_OK, "");
    ck_assert_str_eq(call->cost, "2");
    call = grpc_begin(&client, MUTATE_ROW, NULL);
    grpc_listen(&client, 100);
    state_set("suspend");
    grpc_put(&client, call, &mutate.base);
    grpc_finish(&client, call);
    grpc_await(&client);
    expect_status(call, GW_STATUS_PERMISSION_DENIED, "suspended");
    state_set("resume");
}
END_TEST

/* The head was admitted for the key's tenant, which is not the one that the message names. */
START_TEST(a_message_for_another_tenant_is_refused)
{
    make_mutate(10);
    static char other[] = "projects/someone-else/instances/main/tables/devices";
    mutate.table_name = other;
    struct grpc_call *call = grpc_ask(&client, MUTATE_ROW, &mutate.base);
    ck_assert_int_eq(call->status, GW_STATUS_PERMISSION_DENIED);
    call = grpc_begin(&client, MUTATE_ROW, NULL);
    grpc_listen(&client, 100);
    grpc_put(&client, call, &mutate.base);
    grpc_finish(&client, call);
    grpc_await(&client);
    ck_assert_int_eq(call->status, GW_STATUS_PERMISSION_DENIED);
}
END_TEST

Suite *suite_grpc_admission(void);
Suite *suite_grpc_admission(void)
{
    Suite *s = suite_create("grpc_admission");
    TCase *tc = add_case(s, "admission");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, a_suspended_tenant_is_refused_by_the_head, 0, 2);
    tcase_add_loop_test(tc, a_call_over_the_cap_is_refused_by_the_head, 0, 2);
    tcase_add_loop_test(tc, a_rate_is_held_against_the_head, 0, 2);
    tcase_add_test(tc, a_message_that_comes_later_is_looked_at_again);
    tcase_add_test(tc, a_message_for_another_tenant_is_refused);
    world_end(tc);
    return s;
}

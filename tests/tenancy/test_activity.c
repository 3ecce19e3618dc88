/*
 * tests/tenancy/test_activity.c - who was active lately, and that no more are given than asked for.
 */
#include "tests/tenancy/tent.h"

#include "tenancy/activity.h"

#include "base/banned.h"

#define TENANTS 8

static struct tent tent;
static struct ten_tenant *tenants[TENANTS];

static void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
    for (size_t i = 0; i < TENANTS; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "tenant-%zu", i);
        tenants[i] = tent_create(&tent, id);
    }
}

static void teardown(void)
{
    tent_close(&tent);
    tent_remove(&tent);
}

struct look {
    uint64_t now_ns;
    size_t limit;
    struct ten_active found[TENANTS];
    size_t count;
    struct ten_activity sum;
};

static void do_look(struct tent *t, void *ctx)
{
    struct look *l = ctx;
    l->count = ten_activity_look(t->registry, l->now_ns, l->found, l->limit, &l->sum);
}

static struct look look_at(uint64_t now_ns, size_t limit)
{
    struct look l = {.now_ns = now_ns, .limit = limit};
    tent_control(&tent, do_look, &l);
    return l;
}

/* Each in its turn, all orders of the numbers, every limit: the most active ones, in order. */
START_TEST(the_most_active_come_first_and_no_more_than_wanted)
{
    static const uint64_t done[TENANTS] = {3, 0, 9, 1, 9, 4, 0, 2};
    static const size_t order[] = {2, 4, 5, 0, 7, 3};
    for (size_t i = 0; i < TENANTS; i++)
        ten_meter_add(tenants[i], TEN_METER_READ_OPS, done[i]);
    struct look l = look_at(1, (size_t)_i);
    ck_assert_uint_eq(l.sum.active, 6);
    ck_assert_uint_eq(l.sum.states[TEN_ACTIVE], TENANTS);
    ck_assert_uint_eq(l.count, _i < 6 ? (size_t)_i : 6);
    for (size_t i = 0; i < l.count; i++) {
        ck_assert_ptr_eq(l.found[i].tenant, tenants[order[i]]);
        ck_assert_uint_eq(l.found[i].requests, done[order[i]]);
    }
}
END_TEST

START_TEST(who_did_nothing_for_long_is_not_active_any_more)
{
    uint64_t now_ns = TEN_ACTIVE_NS;
    ten_meter_add(tenants[0], TEN_METER_WRITE_OPS, 1);
    ck_assert_uint_eq(look_at(now_ns, TENANTS).sum.active, 1);
    now_ns += TEN_ACTIVE_NS - 1;
    ten_meter_add(tenants[1], TEN_METER_REFUSALS, 1);
    ck_assert_uint_eq(look_at(now_ns, TENANTS).sum.active, 2);
    now_ns += 1;
    ck_assert_uint_eq(look_at(now_ns, TENANTS).sum.active, 2);
    now_ns += TEN_ACTIVE_NS;
    struct look l = look_at(now_ns, TENANTS);
    ck_assert_uint_eq(l.sum.active, 1);
    ck_assert_ptr_eq(l.found[0].tenant, tenants[1]);
    now_ns += TEN_ACTIVE_NS;
    ck_assert_uint_eq(look_at(now_ns, TENANTS).sum.active, 0);
    ten_meter_add(tenants[0], TEN_METER_OTHER_OPS, 1);
    ck_assert_uint_eq(look_at(now_ns, TENANTS).sum.active, 1);
}
END_TEST

START_TEST(throttling_of_all_is_added_up)
{
    ten_meter_throttled(tenants[0], TEN_POLICY_READ_OPS, 5);
    ten_meter_throttled(tenants[7], TEN_POLICY_READ_OPS, 6);
    ten_meter_throttled(tenants[7], TEN_POLICY_KEY, 7);
    struct look l = look_at(1, 0);
    ck_assert_uint_eq(l.sum.throttled[TEN_POLICY_READ_OPS], 2);
    ck_assert_uint_eq(l.sum.throttled_ns[TEN_POLICY_READ_OPS], 11);
    ck_assert_uint_eq(l.sum.throttled[TEN_POLICY_KEY], 1);
}
END_TEST

Suite *suite_tenancy_activity(void);

Suite *suite_tenancy_activity(void)
{
    Suite *s = suite_create("tenancy_activity");
    TCase *tc = tcase_create("activity");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, the_most_active_come_first_and_no_more_than_wanted, 0, TENANTS + 1);
    tcase_add_test(tc, who_did_nothing_for_long_is_not_active_any_more);
    tcase_add_test(tc, throttling_of_all_is_added_up);
    suite_add_tcase(s, tc);
    return s;
}

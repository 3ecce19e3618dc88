/*
 * tests/tenancy/test_top.c - who does most at this moment: over what time, in which order, and that
 * who has stopped drops out.
 */
#include "tests/tenancy/tent.h"

#include "tenancy/top.h"

#include "base/banned.h"

#define TENANTS 4
#define START   (100 * TEN_TOP_NS)

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
    enum ten_top_order order;
    size_t limit;
    bool is_there;
    struct ten_top found[TENANTS];
    size_t count;
    struct ten_top_sum sum;
};

static void do_look(struct tent *t, void *ctx)
{
    struct look *l = ctx;
    l->is_there =
        ten_top_look(t->registry, l->now_ns, l->order, l->found, l->limit, &l->count, &l->sum);
}

static struct look look_by(uint64_t now_ns, enum ten_top_order order, size_t limit)
{
    struct look l = {.now_ns = now_ns, .order = order, .limit = limit};
    tent_control(&tent, do_look, &l);
    return l;
}

static struct look look_at(uint64_t now_ns)
{
    return look_by(now_ns, TEN_TOP_OPS, TENANTS);
}

START_TEST(the_first_look_has_nothing_to_compare_with)
{
    ck_assert(!look_at(START).is_there);
    ck_assert(!look_at(START + TEN_TOP_NS - 1).is_there);
    ten_meter_add(tenants[1], TEN_METER_READ_OPS, 7);
    struct look l = look_at(START + TEN_TOP_NS);
    ck_assert(l.is_there);
    ck_assert_uint_eq(l.sum.over_ns, TEN_TOP_NS);
    ck_assert_uint_eq(l.count, 1);
    ck_assert_ptr_eq(l.found[0].tenant, tenants[1]);
    ck_assert_uint_eq(l.found[0].read_ops, 7);
}
END_TEST

START_TEST(what_was_done_before_anybody_looked_is_not_shown)
{
    ten_meter_add(tenants[0], TEN_METER_WRITE_OPS, 1000);
    ck_assert(!look_at(START).is_there);
    struct look l = look_at(START + TEN_TOP_NS);
    ck_assert(l.is_there);
    ck_assert_uint_eq(l.count, 0);
    ck_assert_uint_eq(l.sum.active, 0);
    ck_assert_uint_eq(l.sum.write_ops, 0);
}
END_TEST

START_TEST(who_has_stopped_drops_out_after_two_samples)
{
    ck_assert(!look_at(START).is_there);
    ten_meter_add(tenants[2], TEN_METER_WRITE_OPS, 3);
    ck_assert_uint_eq(look_at(START + TEN_TOP_NS).count, 1);
    /* Seen from the sample before: at most twice TEN_TOP_NS ago. */
    struct look l = look_at(START + 2 * TEN_TOP_NS - 1);
    ck_assert_uint_eq(l.count, 1);
    ck_assert_uint_eq(l.sum.over_ns, 2 * TEN_TOP_NS - 1);
    l = look_at(START + 2 * TEN_TOP_NS);
    ck_assert(l.is_there);
    ck_assert_uint_eq(l.sum.over_ns, TEN_TOP_NS);
    ck_assert_uint_eq(l.count, 0);
    ck_assert_uint_eq(l.sum.active, 0);
}
END_TEST

START_TEST(samples_that_grew_old_are_not_compared_with)
{
    ck_assert(!look_at(START).is_there);
    ck_assert(look_at(START + TEN_TOP_NS).is_there);
    ten_meter_add(tenants[3], TEN_METER_READ_OPS, 5);
    uint64_t later_ns = START + TEN_TOP_NS + TEN_TOP_OLD_NS;
    if (_i == 0) { /* just young enough */
        struct look l = look_at(later_ns - 1);
        ck_assert(l.is_there);
        ck_assert_uint_eq(l.count, 1);
        return;
    }
    ck_assert(!look_at(later_ns).is_there);
    ck_assert(!look_at(later_ns + TEN_TOP_NS - 1).is_there);
    struct look l = look_at(later_ns + TEN_TOP_NS);
    ck_assert(l.is_there);
    ck_assert_uint_eq(l.sum.over_ns, TEN_TOP_NS);
    ck_assert_uint_eq(l.count, 0);
}
END_TEST

START_TEST(who_looks_often_does_not_shorten_the_time)
{
    ck_assert(!look_at(START).is_there);
    ten_meter_add(tenants[0], TEN_METER_READ_OPS, 1);
    for (uint64_t now_ns = START + TEN_TOP_NS; now_ns < START + 5 * TEN_TOP_NS;
         now_ns += TEN_TOP_NS / 4) {
        struct look l = look_at(now_ns);
        ck_assert(l.is_there);
        ck_assert_uint_ge(l.sum.over_ns, TEN_TOP_NS);
        ck_assert_uint_lt(l.sum.over_ns, 2 * TEN_TOP_NS);
    }
}
END_TEST

START_TEST(each_order_goes_by_its_own_number)
{
    static const size_t first[] = {
        [TEN_TOP_OPS] = 0, [TEN_TOP_BYTES] = 1, [TEN_TOP_THROTTLED] = 2, [TEN_TOP_LATENCY] = 3};
    ck_assert(!look_at(START).is_there);
    for (size_t i = 0; i < TENANTS; i++)
        ten_meter_add(tenants[i], TEN_METER_READ_OPS, 1);
    ten_meter_add(tenants[0], TEN_METER_WRITE_OPS, 9);
    ten_meter_add(tenants[1], TEN_METER_BYTES_OUT, 4096);
    ten_meter_add(tenants[3], TEN_METER_BYTES_IN, 4095);
    ten_meter_throttled(tenants[2], TEN_POLICY_READ_OPS, 1);
    ten_meter_latency(tenants[0], 1000000);
    ten_meter_latency(tenants[3], 9000000000);
    struct look l = look_by(START + TEN_TOP_NS, (enum ten_top_order)_i, TENANTS);
    ck_assert_uint_eq(l.count, TENANTS);
    ck_assert_ptr_eq(l.found[0].tenant, tenants[first[_i]]);
}
END_TEST

/* Ties by ID, no more than wanted, and the sum has those that are not listed. */
START_TEST(list_is_cut_and_the_sum_is_not)
{
    ck_assert(!look_at(START).is_there);
    for (size_t i = 0; i < TENANTS; i++) {
        ten_meter_add(tenants[i], TEN_METER_WRITE_OPS, 2);
        ten_meter_add(tenants[i], TEN_METER_BYTES_IN, 10);
    }
    ten_meter_throttled(tenants[3], TEN_POLICY_WRITE_OPS, 1);
    struct look l = look_by(START + TEN_TOP_NS, TEN_TOP_OPS, (size_t)_i);
    ck_assert(l.is_there);
    ck_assert_uint_eq(l.count, (size_t)_i);
    for (size_t i = 0; i < l.count; i++)
        ck_assert_ptr_eq(l.found[i].tenant, tenants[i]);
    ck_assert_uint_eq(l.sum.active, TENANTS);
    ck_assert_uint_eq(l.sum.write_ops, 2 * TENANTS);
    ck_assert_uint_eq(l.sum.bytes_in, 10 * TENANTS);
    ck_assert_uint_eq(l.sum.throttled, 1);
}
END_TEST

Suite *suite_tenancy_top(void);

Suite *suite_tenancy_top(void)
{
    Suite *s = suite_create("tenancy_top");
    TCase *tc = tcase_create("top");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_first_look_has_nothing_to_compare_with);
    tcase_add_test(tc, what_was_done_before_anybody_looked_is_not_shown);
    tcase_add_test(tc, who_has_stopped_drops_out_after_two_samples);
    tcase_add_loop_test(tc, samples_that_grew_old_are_not_compared_with, 0, 2);
    tcase_add_test(tc, who_looks_often_does_not_shorten_the_time);
    tcase_add_loop_test(tc, each_order_goes_by_its_own_number, 0, 4);
    tcase_add_loop_test(tc, list_is_cut_and_the_sum_is_not, 0, TENANTS + 1);
    suite_add_tcase(s, tc);
    return s;
}

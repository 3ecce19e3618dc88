/*
 * tests/gateway/test_observe.c - calls and entries of bulk calls: each problem is counted once, and
 * throttling is metered once, whether admission refused or the engine.
 */
#include "tests/tenancy/tent.h"

#include "gateway/call.h"
#include "gateway/caller.h"

#include "base/banned.h"

static struct tent tent;
static struct ten_tenant *tenant;
static struct gw_api api;
static struct gw_api_thread thread;
static struct gw_call call;

static void label(const struct gw_call *of, struct gw_label *out)
{
    (void)of;
    *out = (struct gw_label){.what = 0, .code = 4, .is_data = true};
}

static int refused; /* with this problem */

static void refuse(struct gw_call *of, int problem, const char *detail,
                   const struct gw_problem_extra *extra)
{
    (void)of;
    (void)detail;
    (void)extra;
    refused = problem;
}

static const struct gw_protocol protocol = {
    .id = GW_PROTOCOL_GRPC, .label = label, .refuse = refuse};

static void set_up(void)
{
    tent_make(&tent);
    tent_open(&tent);
    tenant = tent_create(&tent, "observed");
    api = (struct gw_api){.observers = {.counts = {1, 1}}};
    thread = (struct gw_api_thread){.api = &api, .observer = gw_observer_new(&api.observers)};
    call =
        (struct gw_call){.protocol = &protocol, .thread = &thread, .api = &api, .tenant = tenant};
}

static void tear_down(void)
{
    gw_observers_free(&api.observers);
    tent_close(&tent);
    tent_remove(&tent);
}

static uint64_t problems(int problem)
{
    return gw_observed_problems(&api.observers, GW_PROTOCOL_GRPC, problem);
}

struct expected {
    int problem;
    bool is_throttled;       /* admission metered it */
    uint64_t service, quota; /* metered here */
    uint64_t refusals, errors;
};

static const struct expected EXPECTED[] = {
    {ERR_OVERLOADED, false, 1, 0, 1, 0}, /* a full queue, or pressure */
    {ERR_OVERLOADED, true, 0, 0, 1, 0},  /* above its share */
    {ERR_RATE_LIMITED, true, 0, 0, 1, 0}, {ERR_QUOTA, false, 0, 1, 1, 0},
    {ERR_NOT_FOUND, false, 0, 0, 1, 0},   {ERR_IO, false, 0, 0, 0, 1},
};

#define EACH ((int)(sizeof EXPECTED / sizeof EXPECTED[0]))

static void expect(const struct expected *e, uint64_t times)
{
    struct ten_metered_now now;
    ten_meter_read(tenant, &now);
    ck_assert_uint_eq(problems(e->problem), times);
    ck_assert_uint_eq(now.throttled[TEN_POLICY_SERVICE], times * e->service);
    ck_assert_uint_eq(now.throttled_ns[TEN_POLICY_SERVICE], times * e->service * 5);
    ck_assert_uint_eq(now.throttled[TEN_POLICY_QUOTA], times * e->quota);
    ck_assert_uint_eq(now.each[TEN_METER_REFUSALS], times * e->refusals);
    ck_assert_uint_eq(now.each[TEN_METER_ERRORS], times * e->errors);
}

START_TEST(an_entry_counts_once)
{
    const struct expected *e = &EXPECTED[_i];
    for (int i = 0; i < 3; i++)
        gw_observe_entry(&call, e->problem, 5, e->is_throttled);
    expect(e, 3);
}
END_TEST

START_TEST(a_call_counts_once)
{
    const struct expected *e = &EXPECTED[_i];
    call.seen.is_throttled = e->is_throttled;
    gw_observe_problem(&call, e->problem, 5);
    gw_observe(&call);
    expect(e, 1);
}
END_TEST

START_TEST(entries_of_a_call_that_was_admitted_count_beside_it)
{
    const struct expected *e = &EXPECTED[0];
    gw_observe_entry(&call, e->problem, 5, false);
    gw_observe_entry(&call, e->problem, 5, false);
    gw_observe(&call); /* which itself went well */
    expect(e, 2);
}
END_TEST

/* Admission meters it; whoever observes the call must know. */
START_TEST(a_call_above_its_share_is_throttled_once)
{
    static struct gw_exchange ex;                               /* without headers */
    const struct ten_load one = {.ops = 1}, many = {.ops = 20}; /* 20 s of its limit */
    struct ten_metered_now now;
    struct gw_call first = call;
    call.ex = first.ex = &ex;
    ten_rate_set(&tenant->load.limit, 1, 1000);
    atomic_store(&tenant->load.window, UINT64_MAX); /* the limit stays as it is */
    ck_assert(gw_caller_admit(&first, GW_ACCESS_WRITE, many));
    ck_assert(!gw_caller_admit(&call, GW_ACCESS_WRITE, one));
    ck_assert_int_eq(refused, ERR_OVERLOADED);
    gw_observe(&call);
    ten_meter_read(tenant, &now);
    ck_assert_uint_eq(problems(ERR_OVERLOADED), 1);
    ck_assert_uint_eq(now.throttled[TEN_POLICY_SERVICE], 1);
    ck_assert_uint_eq(now.each[TEN_METER_REFUSALS], 1);
    ten_visit_end(&first.visit);
    ten_visit_end(&call.visit);
}
END_TEST

START_TEST(what_acts_for_no_tenant_is_counted_all_the_same)
{
    call.tenant = NULL;
    gw_observe_entry(&call, ERR_QUOTA, 0, false);
    gw_observe_problem(&call, ERR_UNAUTHENTICATED, 0);
    gw_observe(&call);
    ck_assert_uint_eq(problems(ERR_QUOTA), 1);
    ck_assert_uint_eq(problems(ERR_UNAUTHENTICATED), 1);
    ck_assert(!ten_meter_is_active(tenant));
}
END_TEST

Suite *suite_gateway_observe(void);

Suite *suite_gateway_observe(void)
{
    Suite *s = suite_create("gateway_observe");
    TCase *tc = tcase_create("observe");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, an_entry_counts_once, 0, EACH);
    tcase_add_loop_test(tc, a_call_counts_once, 0, EACH);
    tcase_add_test(tc, entries_of_a_call_that_was_admitted_count_beside_it);
    tcase_add_test(tc, a_call_above_its_share_is_throttled_once);
    tcase_add_test(tc, what_acts_for_no_tenant_is_counted_all_the_same);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/tenancy/test_audit_retention.c - old records go, and what is left follows the cut.
 */
#include "tests/tenancy/tent.h"

#include "tenancy/audit.h"
#include "tenancy/audit_cut.h"
#include "tenancy/audit_internal.h"
#include "tenancy/erasure_ledger.h"
#include "tenancy/metering.h"
#include "tenancy/plan.h"
#include "tenancy/purge.h"

#include "base/banned.h"

#define DAY_US (24 * TEN_HOUR_US)

static struct tent tent;
static int64_t now_us;

/* --- what happens ----------------------------------------------------------------------------- */

struct deed {
    const char *name;
    const char *tenant;
    size_t times;
};

/* Recorded, without a change. */
static void act(struct tent *t, void *ctx)
{
    const struct deed *d = ctx;
    const struct ten_action action = {.actor = {"k0123456789a", "operator", "192.0.2.7"},
                                      .name = d->name,
                                      .tenant = base_slice_text(d->tenant)};
    for (size_t i = 0; i < d->times; i++) {
        ten_audit_begin(t->registry, &action);
        ck_assert_int_eq(ten_audit_end(t->registry, ERR_OK, &t->eb), ERR_OK);
    }
}

static void act_on(const char *tenant, size_t times, const char *name)
{
    struct deed d = {name, tenant, times};
    tent_control(&tent, act, &d);
}

static void write_bases(struct tent *t, void *ctx)
{
    const size_t *days = ctx;
    for (size_t i = 0; i <= *days; i++) {
        struct ten_doc_key key =
            ten_metering_base_key((uint64_t)(now_us / TEN_HOUR_US) + 1 + 24 * i);
        const struct sto_doc_change change = {
            .key = ten_doc_key_slice(&key), .body = SLICE_LIT("x"), .expect = STO_DOC_ANY};
        ck_assert_int_eq(sto_docs_commit(t->engine, &change, 1, &t->eb), ERR_OK);
    }
}

/* A base of bills for each of so many days, from now on. */
static void days_pass(size_t days)
{
    tent_control(&tent, write_bases, &days);
}

struct expiry {
    int64_t days;
    size_t removed;
};

static void expire(struct tent *t, void *ctx)
{
    struct expiry *e = ctx;
    enum err rc = ten_audit_expire(t->registry, now_us + e->days * DAY_US, &e->removed, &t->eb);
    ck_assert_msg(rc == ERR_OK, "%s", t->eb.text);
}

/* Until nothing is due so many days from now; the number of records that went. */
static size_t expire_all(int64_t days)
{
    struct expiry e = {.days = days};
    size_t removed = 0;
    do {
        tent_control(&tent, expire, &e);
        removed += e.removed;
    } while (e.removed > 0);
    return removed;
}

/* --- what is left ----------------------------------------------------------------------------- */

struct chain {
    struct base_audit_head head;
    bool is_tenants;
    size_t count;
    const char *wrong;
};

static enum err follow(void *ctx, const struct base_audit_record *r)
{
    struct chain *c = ctx;
    const char *wrong =
        c->is_tenants ? base_audit_follow_tenant(&c->head, r) : base_audit_follow(&c->head, r);
    if (c->wrong == NULL)
        c->wrong = wrong;
    c->count++;
    return ERR_OK;
}

/* The chain follows its cut; how many records it has still. */
static size_t count_left(const char *tenant)
{
    struct ten_audit_cut cut;
    struct slice of = base_slice_text(tenant);
    ck_assert_int_eq(ten_audit_cut_read(tent.registry, of, &cut, &tent.eb), ERR_OK);
    struct chain c = {.head = cut.head, .is_tenants = of.len > 0};
    enum err rc = ten_audit_read(tent.registry, of, 1, SIZE_MAX, follow, &c, &tent.eb);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    ck_assert_msg(c.wrong == NULL, "%s behind %llu: %s", tenant,
                  (unsigned long long)cut.head.number, c.wrong);
    return c.count;
}

static void stop_ticks(struct tent *t, void *ctx)
{
    (void)ctx;
    ten_metering_test_stop(t->registry); /* no bases but the test's */
}

static void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
    tent_control(&tent, stop_ticks, NULL);
    (void)tent_create(&tent, "ab");
    (void)tent_create(&tent, "abc");
    now_us = base_wall_us();
}

static void teardown(void)
{
    tent_close(&tent);
    tent_remove(&tent);
}

static void set_days(const char *tenant, uint64_t days)
{
    struct ten_quota q;
    ten_quota_default(&q);
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++)
        if (strcmp(ten_quota_field(i).name, "audit_days") == 0)
            ten_quota_give(&q, i, days);
    ck_assert_int_eq(tent_set_quota(&tent, tent_find(&tent, tenant), &q), ERR_OK);
}

START_TEST(records_go_when_they_are_old_enough_and_the_rest_follows)
{
    act_on("ab", 70, "x"); /* more than a batch */
    act_on("abc", 3, "x");
    act_on("", 5, "x");
    days_pass(LIM_AUDIT_DAYS);
    ck_assert_uint_eq(expire_all(LIM_AUDIT_DAYS - 1), 0);
    ck_assert_uint_eq(count_left(""), 78);
    ck_assert_uint_eq(expire_all(LIM_AUDIT_DAYS + 1), 77);
    ck_assert_uint_eq(count_left(""), 1); /* the newest stays */
    ck_assert_uint_eq(count_left("ab"), 0);
    ck_assert_uint_eq(count_left("abc"), 0);
    act_on("ab", 2, "x");
    tent_reopen(&tent);
    act_on("abc", 1, "x");
    ck_assert_uint_eq(count_left(""), 4);
    ck_assert_uint_eq(count_left("ab"), 2);
    ck_assert_uint_eq(count_left("abc"), 1);
}
END_TEST

START_TEST(a_commit_removes_few)
{
    struct expiry e = {.days = LIM_AUDIT_DAYS + 1};
    act_on("ab", 300, "x");
    days_pass(LIM_AUDIT_DAYS);
    tent_control(&tent, expire, &e);
    ck_assert_uint_gt(e.removed, 0);
    ck_assert_uint_le(e.removed, 64);
    ck_assert_uint_eq(count_left(""), 300 - e.removed);
}
END_TEST

START_TEST(a_clock_that_is_ahead_removes_nothing)
{
    act_on("ab", 3, "x");
    days_pass(LIM_AUDIT_DAYS - 1); /* one is missing */
    ck_assert_uint_eq(expire_all(10 * LIM_AUDIT_DAYS), 0);
    ck_assert_uint_eq(count_left("ab"), 3);
}
END_TEST

START_TEST(a_quota_says_how_long)
{
    set_days("ab", 10);
    set_days("abc", 20);
    act_on("ab", 2, "x");
    act_on("abc", 1, "x");
    act_on("ab", 2, "x");
    days_pass(30);
    ck_assert_uint_eq(expire_all(9), 0);
    ck_assert_uint_eq(expire_all(11), 2);
    ck_assert_uint_eq(count_left("ab"), 2); /* those behind one that stays do, too */
    ck_assert_uint_eq(expire_all(21), 2);
    ck_assert_uint_eq(count_left("abc"), 0);
    ck_assert_uint_eq(count_left("ab"), 1);
}
END_TEST

static void take_plan(struct tent *t, void *ctx)
{
    struct ten_plan *plan = NULL;
    struct ten_quota q = {.given = 0};
    const struct ten_tenant_wanted wanted = {.plan = SLICE_LIT("short")};
    GIVE(&q, audit_days, 10);
    ck_assert_int_eq(ten_plan_put(t->registry, wanted.plan, SLICE_EMPTY, &q, &plan, &t->eb),
                     ERR_OK);
    ck_assert_int_eq(ten_tenant_change(t->registry, ctx, &wanted, &t->eb), ERR_OK);
}

static enum err see_line(void *ctx, const struct ten_erasure *erasure, struct slice line)
{
    static const char until[] = "\"10 days after each record";
    ck_assert_str_eq(erasure->tenant, "ab");
    *(bool *)ctx = memmem(line.ptr, line.len, until, strlen(until)) != NULL;
    return ERR_OK;
}

/* The plan is not its own any more, and may be deleted. */
START_TEST(a_plan_says_it_of_a_tenant_that_is_gone)
{
    char id[TEN_JOB_ID + 1], path[300];
    struct ten_job job;
    struct ten_quota q;
    bool is_said = false;
    struct ten_tenant *t = tent_find(&tent, "ab");
    tent_control(&tent, take_plan, t);
    act_on("ab", 2, "x");
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_OK);
    tent_await_job(&tent, id, &job);
    ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
    ck_assert_ptr_null(ten_tenant_details(t)->plan);
    ten_tenant_quota(t, &q);
    ck_assert_uint_eq(q.audit_days, 10);
    (void)snprintf(path, sizeof path, "%s/%s", tent.dir, TEN_LEDGER_FILE);
    ck_assert_int_eq(ten_erasure_ledger_read(path, see_line, &is_said, &tent.eb), ERR_OK);
    ck_assert(is_said);
    size_t count = count_left("");
    days_pass(30);
    ck_assert_uint_eq(expire_all(9), 0);
    ck_assert_uint_eq(expire_all(11), count - 1); /* the newest stays */
}
END_TEST

START_TEST(holds_outlive_their_records)
{
    static struct ten_holds holds;
    act_on("ab", 1, "tenant.hold");
    act_on("ab", 1, "tenant.release");
    act_on("abc", 1, "x");
    days_pass(LIM_AUDIT_DAYS);
    ck_assert_uint_eq(expire_all(LIM_AUDIT_DAYS + 1), 2);
    act_on("ab", 1, "tenant.hold");
    ck_assert_int_eq(ten_holds_read(tent.registry, SLICE_LIT("ab"), &holds, &tent.eb), ERR_OK);
    ck_assert_uint_eq(holds.count, 3);
    for (uint64_t i = 0; i < holds.count; i++) {
        ck_assert_uint_eq(holds.of[i].record, i + 1);
        ck_assert_int_eq(holds.of[i].is_release, i == 1);
        ck_assert_str_eq(holds.of[i].by, "k0123456789a");
        ck_assert_uint_eq(strlen(holds.of[i].time), strlen("2026-11-20T10:00:00.000Z"));
    }
}
END_TEST

Suite *suite_tenancy_audit_retention(void);

Suite *suite_tenancy_audit_retention(void)
{
    Suite *s = suite_create("tenancy_audit_retention");
    TCase *tc = tcase_create("retention");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, records_go_when_they_are_old_enough_and_the_rest_follows);
    tcase_add_test(tc, a_commit_removes_few);
    tcase_add_test(tc, a_clock_that_is_ahead_removes_nothing);
    tcase_add_test(tc, a_quota_says_how_long);
    tcase_add_test(tc, a_plan_says_it_of_a_tenant_that_is_gone);
    tcase_add_test(tc, holds_outlive_their_records);
    suite_add_tcase(s, tc);
    return s;
}

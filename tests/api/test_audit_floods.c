/*
 * tests/api/test_audit_floods.c - what changes nothing has no record; what is refused, few.
 */
#include <check.h>
#include <string.h>

#include "tests/support/process.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define REFUSED 400 /* as many as are recorded of a key in 25 s */

static struct world w;

static void setup(void)
{
    world_init(&w, HTTP_2);
}

static void tear_down(void)
{
    world_fini(&w);
}

static int64_t head(void)
{
    http_get(w.op, "/v1/admin/audit/head");
    EXPECT_STATUS(w.op, 200);
    return http_number(w.op, "/number");
}

/* The same request twice: the first is an action, the second changes nothing. */
static void expect_one_record(struct http *h, const char *method, const char *json,
                              const char *target)
{
    int64_t before = head();
    for (int64_t i = 0; i < 2; i++) {
        (void)http_json(h, method, json, "%s", target);
        ck_assert_msg(h->status == 200 || h->status == 201, "%s %s: %d", method, target, h->status);
        ck_assert_msg(head() == before + 1, "%s %s, time %d", method, target, (int)i);
    }
}

static const char *of_tenant(const char *rest)
{
    static char target[128];
    (void)snprintf(target, sizeof target, "/v1/admin/tenants/%s%s", w.tenant, rest);
    return target;
}

START_TEST(a_change_that_changes_nothing_has_no_record)
{
    expect_one_record(w.http, "PUT", "{'families':{'stats':{},'raw':{},'more':{}}}",
                      "/v1/tables/devices");
    expect_one_record(w.http, "PUT",
                      "{'families':{'stats':{},'raw':{},'more':{}},'row_key_notes':'n'}",
                      "/v1/tables/devices");
    expect_one_record(w.http, "POST", "{'update':{'raw':{'gc':{'max_versions':3}}}}",
                      "/v1/tables/devices:families");
    expect_one_record(w.op, "PATCH", "{'display_name':'D'}", of_tenant(""));
    expect_one_record(w.op, "PUT", "{'rows':7}", of_tenant("/quota"));
    expect_one_record(w.op, "POST", "{'reason':'r'}", of_tenant(":suspend"));
    expect_one_record(w.op, "POST", "{}", of_tenant(":resume"));
    expect_one_record(w.op, "POST", "{'reason':'r'}", of_tenant(":hold"));
    expect_one_record(w.op, "PUT", "{'display_name':'P','quota':{'rows':9}}",
                      "/v1/admin/plans/plan-of-floods");
}
END_TEST

START_TEST(what_acts_without_changing_a_document_is_recorded_each_time)
{
    for (int i = 0; i < 2; i++) {
        int64_t before = head();
        http_json(w.http, "POST", "{'all':true}", "/v1/tables/devices:drop");
        EXPECT_STATUS(w.http, 200);
        ck_assert_int_eq(head(), before + 2); /* its beginning and its end */
    }
}
END_TEST

struct counted {
    int64_t from;
    size_t recorded;
    size_t skips;
};

static bool skips_are_recorded(void *arg)
{
    struct counted *c = arg;
    c->recorded = c->skips = 0;
    http_get(w.op, "/v1/admin/audit?from=%lld", (long long)c->from);
    for (size_t i = 0; i < http_count(w.op, "/records"); i++) {
        json_t *r = json_array_get(http_at(w.op, "/records"), i);
        const char *action = json_string_value(json_object_get(r, "action"));
        c->recorded += strcmp(action, "table.put") == 0;
        c->skips += strcmp(action, "audit.skip") == 0;
    }
    return c->skips > 0;
}

/* Decided on the control thread, where each had a commit of its own. */
START_TEST(refused_changes_have_few_records_and_are_counted)
{
    admin_set_quota(w.op, w.tenant, "{'control_ops_per_s':1000}");
    struct counted c = {.from = head() + 1};
    for (int i = 0; i < REFUSED; i++) {
        http_json(w.http, "PUT", "{'families':{'other':{}}}", "/v1/tables/devices");
        EXPECT_PROBLEM(w.http, 409, "conflict");
    }
    process_await(skips_are_recorded, &c, "the count of what has no record");
    ck_assert_uint_gt(c.recorded, 0);
    ck_assert_uint_lt(c.recorded, REFUSED);
}
END_TEST

Suite *suite_api_audit_floods(void);

Suite *suite_api_audit_floods(void)
{
    Suite *s = suite_create("api_audit_floods");
    TCase *tc = tcase_create("floods");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, setup, tear_down);
    tcase_add_test(tc, a_change_that_changes_nothing_has_no_record);
    tcase_add_test(tc, what_acts_without_changing_a_document_is_recorded_each_time);
    tcase_add_test(tc, refused_changes_have_few_records_and_are_counted);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

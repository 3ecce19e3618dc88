/*
 * tests/api/test_departure.c - between being used and being gone: grace period, undelete, legal
 * hold, and looking before leaping.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void set_up(void)
{
    world_init(&w, HTTP_2);
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
}

static void tear_down(void)
{
    world_fini(&w);
}

/* POST action of the tenant; body with ' for ". */
static void post(const char *action, const char *body)
{
    http_json(w.op, "POST", body, "/v1/admin/tenants/%s:%s", w.tenant, action);
}

/* members: further ones, with ' for " and a comma in front. */
static void offboard(const char *members)
{
    char body[256];
    (void)snprintf(body, sizeof body, "{'confirm':'%s'%s}", w.tenant, members);
    post("offboard", body);
}

static void expect_state(const char *state)
{
    http_get(w.op, "/v1/admin/tenants/%s", w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/state"), state);
}

/* --- many --------------------------------------------------------------------------------------
 */

static const char *string_at(const char *list, int i, const char *member)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/%s/%d/%s", list, i, member);
    return http_string(w.op, path);
}

/* Lists that are made in several portions: all are there, once, in order. */
START_TEST(many_tenants_and_jobs_are_listed_in_portions)
{
    enum { MANY = 130 };
    for (int i = 0; i < MANY; i++) {
        char body[64];
        (void)snprintf(body, sizeof body, "{'id':'leaves-%03d'}", i);
        http_json(w.op, "POST", body, "/v1/admin/tenants");
        EXPECT_STATUS(w.op, 201);
        (void)snprintf(body, sizeof body, "{'confirm':'leaves-%03d','grace':'2592000s'}", i);
        http_json(w.op, "POST", body, "/v1/admin/tenants/leaves-%03d:offboard", i);
        EXPECT_STATUS(w.op, 202);
    }
    char id[32];
    http_get(w.op, "/v1/admin/jobs");
    EXPECT_STATUS(w.op, 200);
    ck_assert_uint_eq(http_count(w.op, "/jobs"), MANY);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof id, "leaves-%03d", MANY - 1 - i);
        ck_assert_str_eq(string_at("jobs", i, "tenant"), id);
    }
    http_get(w.op, "/v1/admin/tenants?prefix=leaves-&limit=120");
    EXPECT_STATUS(w.op, 200);
    ck_assert_uint_eq(http_count(w.op, "/tenants"), 120);
    for (int i = 0; i < 120; i++) {
        (void)snprintf(id, sizeof id, "leaves-%03d", i);
        ck_assert_str_eq(string_at("tenants", i, "id"), id);
    }
    char token[512];
    (void)snprintf(token, sizeof token, "%s", http_string(w.op, "/next_page_token"));
    http_get(w.op, "/v1/admin/tenants?prefix=leaves-&limit=120&page_token=%s", token);
    EXPECT_STATUS(w.op, 200);
    ck_assert_uint_eq(http_count(w.op, "/tenants"), MANY - 120);
    ck_assert_str_eq(http_string(w.op, "/tenants/0/id"), "leaves-120");
}
END_TEST

/* --- grace ------------------------------------------------------------------------------------ */

START_TEST(in_grace_everything_answers_410_until_undelete)
{
    static const struct {
        const char *method;
        const char *target;
        const char *body;
    } ROUTES[] = {{"GET", "/v1/tables/devices/rows/k", NULL},
                  {"PUT", "/v1/tables/devices/rows/k", "{\"stats\":{\"q\":\"1\"}}"},
                  {"GET", "/v1/tables/devices/rows", NULL},
                  {"GET", "/v1/tables", NULL},
                  {"PUT", "/v1/tables/devices", "{\"families\":{\"f\":{}}}"},
                  {"DELETE", "/v1/tables/devices", NULL},
                  {"GET", "/v1/usage", NULL}};
    offboard(",'grace':'3600s','reason':'contract ended'");
    EXPECT_STATUS(w.op, 202);
    char job[WORLD_ID];
    (void)snprintf(job, sizeof job, "%s", http_string(w.op, "/job"));
    (void)http_string(w.op, "/delete_at");
    for (size_t i = 0; i < sizeof ROUTES / sizeof ROUTES[0]; i++) {
        struct slice body = ROUTES[i].body == NULL ? SLICE_EMPTY : base_slice_text(ROUTES[i].body);
        http_send(w.http, ROUTES[i].method, ROUTES[i].target, body);
        EXPECT_PROBLEM_OF(w.http, ROUTES[i].target, 410, "gone");
    }
    expect_state("delete_requested");
    ck_assert_int_eq(http_number(w.op, "/usage/rows"), 1);
    http_get(w.op, "/v1/admin/jobs/%s", job);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/state"), "waiting");
    ck_assert_str_eq(http_string(w.op, "/reason"), "contract ended");
    ck_assert(json_is_null(http_at(w.op, "/audit")));
    post("undelete", "{}");
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/state"), "active");
    ck_assert(json_is_null(http_at(w.op, "/delete_at")));
    ck_assert(json_is_null(http_at(w.op, "/job")));
    ck_assert_int_eq(tenant_usage(w.http).rows, 1); /* with the same key */
    tenant_put(w.http, "devices", "k2", "stats", "q", "2");
    (void)admin_recount(w.op, w.tenant);
    http_get(w.op, "/v1/admin/jobs/%s", job);
    ck_assert_str_eq(http_string(w.op, "/state"), "cancelled");
    ck_assert(json_is_null(http_at(w.op, "/backups")));
}
END_TEST

START_TEST(in_grace_the_tenant_is_frozen)
{
    offboard(",'grace':'3600s'");
    EXPECT_STATUS(w.op, 202);
    post("suspend", "{'reason':'x'}");
    EXPECT_PROBLEM(w.op, 409, "conflict");
    ck_assert_ptr_nonnull(strstr(http_string(w.op, "/detail"), "undelete it first"));
    post("resume", "{}");
    EXPECT_PROBLEM(w.op, 409, "conflict");
    http_json(w.op, "PATCH", "{'display_name':'x'}", "/v1/admin/tenants/%s", w.tenant);
    EXPECT_PROBLEM(w.op, 409, "conflict");
    http_json(w.op, "PUT", "{'rows':1}", "/v1/admin/tenants/%s/quota", w.tenant);
    EXPECT_PROBLEM(w.op, 409, "conflict");
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s/keys", w.tenant);
    EXPECT_PROBLEM(w.op, 410, "gone");
    http_value_take(w.op, "POST", json_pack("{s:s}", "id", w.tenant), "/v1/admin/tenants");
    EXPECT_PROBLEM(w.op, 409, "exists");
    expect_state("delete_requested");
}
END_TEST

START_TEST(when_grace_is_over_the_tenant_is_purged)
{
    char job[WORLD_ID];
    offboard(",'grace':'1s'");
    EXPECT_STATUS(w.op, 202);
    (void)snprintf(job, sizeof job, "%s", http_string(w.op, "/job"));
    admin_await_job(w.op, job);
    ck_assert_int_eq(http_number(w.op, "/audit/physical_keys"), 0);
    ck_assert_int_eq(http_number(w.op, "/usage_before/rows"), 1);
    expect_state("purged");
    post("undelete", "{}");
    EXPECT_PROBLEM(w.op, 409, "conflict");
    offboard(",'grace':'1s'"); /* the same request, or one that asks for less */
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/job"), job);
    offboard("");
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/job"), job);
    offboard(",'grace':'2s'");
    EXPECT_PROBLEM(w.op, 409, "conflict");
    ck_assert_ptr_nonnull(strstr(http_string(w.op, "/detail"), "without the grace period of 2 s"));
    offboard(",'deep':true");
    EXPECT_PROBLEM(w.op, 409, "conflict");
}
END_TEST

static const struct {
    const char *members;
    int status;
} GRACES[] = {{",'grace':'7776000s'", 202},  {",'grace':'7776000.000001s'", 400},
              {",'grace':'7776001s'", 400},  {",'grace':'soon'", 400},
              {",'grace':'30d'", 400},       {",'grace':3600", 400},
              {",'grace':''", 400},          {",'grace':'-1s'", 400},
              {",'grace':null", 202},        {",'grace':'0s'", 202},
              {",'dry_run':'yes'", 400},     {",'reason':5", 400},
              {",'reason':'a\\u0001b'", 400}};

START_TEST(what_is_no_grace_period_is_refused)
{
    offboard(GRACES[_i].members);
    if (GRACES[_i].status == 202) {
        EXPECT_STATUS(w.op, 202);
        return;
    }
    EXPECT_PROBLEM(w.op, GRACES[_i].status, "invalid");
    expect_state("active");
}
END_TEST

/* --- hold ------------------------------------------------------------------------------------- */

/* Another tenant whose grace period ends later is purged. */
static void pass_half_a_second_of_grace(void)
{
    char other[WORLD_ID], job[WORLD_ID];
    world_fresh_id(other);
    admin_create_tenant(w.op, other);
    http_value_take(w.op, "POST", json_pack("{s:s,s:s}", "confirm", other, "grace", "0.5s"),
                    "/v1/admin/tenants/%s:offboard", other);
    EXPECT_STATUS(w.op, 202);
    (void)snprintf(job, sizeof job, "%s", http_string(w.op, "/job"));
    admin_await_job(w.op, job);
}

START_TEST(a_hold_keeps_a_tenant_from_being_purged)
{
    char job[WORLD_ID];
    char key_id[13];
    (void)snprintf(key_id, sizeof key_id, "%.12s", w.op->server->operator_key + 4);
    post("release", "{}"); /* of a tenant that nobody holds: it may be the wrong one */
    EXPECT_PROBLEM(w.op, 409, "conflict");
    ck_assert_ptr_nonnull(strstr(http_string(w.op, "/detail"), "not under legal hold"));
    post("hold", "{}");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    post("hold", "{'reason':''}");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    post("hold", "{'reason':'file 17 O 1234'}");
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/hold/reason"), "file 17 O 1234");
    ck_assert_str_eq(http_string(w.op, "/hold/by"), key_id);
    (void)http_string(w.op, "/hold/since");
    ck_assert_str_eq(http_string(w.op, "/state"), "active");
    ck_assert_int_eq(tenant_usage(w.http).rows, 1);

    offboard("");
    EXPECT_PROBLEM(w.op, 409, "held");
    ck_assert_str_eq(http_string(w.op, "/type"), "https://bigtent.dev/problems/held");
    ck_assert_ptr_nonnull(strstr(http_string(w.op, "/detail"), key_id));
    ck_assert(json_is_false(http_at(w.op, "/retry")));
    offboard(",'grace':'0.5s'");
    EXPECT_STATUS(w.op, 202);
    (void)snprintf(job, sizeof job, "%s", http_string(w.op, "/job"));
    pass_half_a_second_of_grace();
    expect_state("delete_requested");
    post("release", "{}");
    EXPECT_STATUS(w.op, 200);
    ck_assert(json_is_null(http_at(w.op, "/hold")));
    admin_await_job(w.op, job);
    expect_state("purged");
    post("hold", "{'reason':'x'}");
    EXPECT_PROBLEM(w.op, 409, "conflict");
}
END_TEST

/* --- looking first ---------------------------------------------------------------------------- */

START_TEST(a_dry_run_says_what_would_go_and_does_nothing)
{
    post("hold", "{'reason':'file 17 O 1234'}");
    post("offboard", "{'dry_run':true}");
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/tenant"), w.tenant);
    ck_assert_str_eq(http_string(w.op, "/state"), "active");
    ck_assert_int_eq(http_number(w.op, "/rows"), 1);
    ck_assert_int_eq(http_number(w.op, "/cells"), 1);
    ck_assert_int_gt(http_number(w.op, "/stored_bytes"), 0);
    ck_assert_int_eq(http_number(w.op, "/tables"), 1);
    ck_assert_int_eq(http_number(w.op, "/keys"), 1);
    ck_assert_str_eq(http_string(w.op, "/hold/reason"), "file 17 O 1234");
    ck_assert(json_is_null(http_at(w.op, "/delete_at")));
    offboard(",'dry_run':true");
    EXPECT_STATUS(w.op, 200);
    post("offboard", "{'dry_run':true,'confirm':'somebody-else'}");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    post("offboard", "{'dry_run':false}");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    expect_state("active");
    ck_assert(json_is_null(http_at(w.op, "/job")));
    ck_assert_int_eq(tenant_usage(w.http).rows, 1);
}
END_TEST

/* --- what others see of it -------------------------------------------------------------------- */

START_TEST(each_transition_is_in_the_audit_trail)
{
    static const char *const ACTIONS[] = {"tenant.hold",     "tenant.release",  "tenant.offboard",
                                          "tenant.undelete", "tenant.offboard", "purge.start"};
    char job[WORLD_ID];
    post("hold", "{'reason':'a secret of the court'}");
    post("release", "{}");
    offboard(",'grace':'3600s'");
    post("undelete", "{}");
    offboard(",'grace':'0.1s'");
    EXPECT_STATUS(w.op, 202);
    (void)snprintf(job, sizeof job, "%s", http_string(w.op, "/job"));
    admin_await_job(w.op, job);
    http_get(w.op, "/v1/admin/audit?tenant=%s", w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_ptr_null(strstr(http_text(w.op), "court"));
    size_t found = 0;
    size_t count = http_count(w.op, "/records");
    for (size_t i = 0; i < count && found < sizeof ACTIONS / sizeof ACTIONS[0]; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/records/%zu/action", i);
        if (strcmp(http_string(w.op, path), ACTIONS[found]) != 0)
            continue;
        (void)snprintf(path, sizeof path, "/records/%zu/outcome", i);
        ck_assert_str_eq(http_string(w.op, path), "done");
        found++;
    }
    ck_assert_uint_eq(found, sizeof ACTIONS / sizeof ACTIONS[0]);
}
END_TEST

START_TEST(it_is_listed_and_counted_by_its_state)
{
    offboard(",'grace':'3600s'");
    EXPECT_STATUS(w.op, 202);
    http_get(w.op, "/v1/admin/tenants?state=delete_requested&prefix=%s", w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/tenants/0/id"), w.tenant);
    http_get(w.op, "/v1/admin/tenants?state=expired&prefix=%s", w.tenant);
    ck_assert_uint_eq(http_count(w.op, "/tenants"), 0);
    http_get(w.op, "/metrics");
    EXPECT_STATUS(w.op, 200);
    ck_assert_int_eq(base_buf_append_byte(&w.op->body, '\0'), ERR_OK);
    const char *text = (const char *)w.op->body.ptr;
    const char *sample = strstr(text, "bigtent_tenants{state=\"delete_requested\"} ");
    ck_assert_ptr_nonnull(sample);
    ck_assert_int_ne(strchr(sample, ' ')[1], '0');
    sample = strstr(text, "bigtent_jobs{state=\"waiting\"} ");
    ck_assert_ptr_nonnull(sample);
    ck_assert_int_ne(strchr(sample, ' ')[1], '0');
    ck_assert_ptr_nonnull(strstr(text, "bigtent_tenants{state=\"expired\"} 0"));
    ck_assert_ptr_nonnull(strstr(text, "\nbigtent_purges_running "));
    ck_assert_ptr_nonnull(strstr(text, "\nbigtent_purges_waiting "));
    ck_assert_ptr_nonnull(strstr(text, "\nbigtent_purge_oldest_seconds "));
    ck_assert_ptr_nonnull(strstr(text, "\nbigtent_purge_seconds_left "));
    ck_assert_ptr_nonnull(strstr(text, "bigtent_purge_amount{unit=\"bytes\",part=\"all\"} "));
}
END_TEST

Suite *suite_api_departure(void);
Suite *suite_api_departure(void)
{
    Suite *s = suite_create("api_departure");
    TCase *tc = tcase_create("departure");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, many_tenants_and_jobs_are_listed_in_portions);
    tcase_add_test(tc, in_grace_everything_answers_410_until_undelete);
    tcase_add_test(tc, in_grace_the_tenant_is_frozen);
    tcase_add_test(tc, when_grace_is_over_the_tenant_is_purged);
    tcase_add_loop_test(tc, what_is_no_grace_period_is_refused, 0,
                        (int)(sizeof GRACES / sizeof GRACES[0]));
    tcase_add_test(tc, a_hold_keeps_a_tenant_from_being_purged);
    tcase_add_test(tc, a_dry_run_says_what_would_go_and_does_nothing);
    tcase_add_test(tc, each_transition_is_in_the_audit_trail);
    tcase_add_test(tc, it_is_listed_and_counted_by_its_state);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/crash/test_offboard.c - kill -9 during offboarding, after each of its steps and at random
 * moments: the job goes on by itself, nothing of the tenant is left, the neighbour is untouched.
 *
 * BIGTENT_TEST_DIE_AFTER_STEP=n makes bigtentd leave with 137 right after step n is durable.
 */
#define _GNU_SOURCE
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/limits.h"
#include "tenancy/offboard.h"
#include "tests/support/random.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define LEAVER    "leaver"
#define NEIGHBOUR "leaver-too"
#define ROWS      400
/* Behind each step, and between the line in the ledger and the last batch. */
#define DEATHS (TEN_JOB_STEPS + 1)

static struct server server;
static struct world leaver;
static struct world neighbour;
static struct buf before; /* every row of the neighbour, as a stream */

static void fill(struct world *w, const char *value, int rows)
{
    struct buf body;
    base_buf_init(&body, 64 * MIB);
    for (int i = 0; i < rows; i++)
        ck_assert_int_eq(
            base_buf_printf(
                &body, "{\"key\":\"row%06d\",\"cells\":{\"raw\":{\"v\":\"%s\",\"w\":\"%d\"}}}\n", i,
                value, i),
            ERR_OK);
    http_once(w->http, "Content-Type: application/x-ndjson");
    http_bytes(w->http, "POST", base_buf_slice(&body), "/v1/tables/devices:write");
    EXPECT_STATUS(w->http, 200);
    base_buf_fini(&body);
    ck_assert_int_eq(tenant_usage(w->http).rows, rows);
}

static void read_all(struct http *h, struct buf *out)
{
    http_once(h, "Accept: application/x-ndjson");
    http_get(h, "/v1/tables/devices/rows");
    EXPECT_STATUS(h, 200);
    base_buf_fini(out);
    base_buf_init(out, HTTP_BODY_MAX);
    ck_assert_int_eq(base_buf_append(out, base_buf_slice(&h->body)), ERR_OK);
}

static void set_up(void)
{
    server_create(&server);
    server_start(&server, NULL);
    world_init_on(&leaver, &server, HTTP_2, LEAVER);
    world_init_on(&neighbour, &server, HTTP_2, NEIGHBOUR);
    fill(&neighbour, "staying", ROWS);
    base_buf_init(&before, HTTP_BODY_MAX);
    read_all(neighbour.http, &before);
}

static void tear_down(void)
{
    base_buf_fini(&before);
    world_fini(&leaver);
    world_fini(&neighbour);
    server_stop(&server);
    server_remove(&server);
}

static void reconnect(void)
{
    http_reconnect(leaver.op);
    http_reconnect(leaver.http);
    http_reconnect(neighbour.op);
    http_reconnect(neighbour.http);
}

/* The one job there is; its document is the last answer of the operator. */
static void await_only_job(void)
{
    http_get(leaver.op, "/v1/admin/jobs");
    EXPECT_STATUS(leaver.op, 200);
    ck_assert_uint_eq(http_count(leaver.op, "/jobs"), 1);
    char job[WORLD_ID];
    (void)snprintf(job, sizeof(job), "%s", http_string(leaver.op, "/jobs/0/id"));
    admin_await_job(leaver.op, job);
}

/* One line of its own in the ledger, whatever was repeated, and it says that all checks passed. */
static void expect_one_certificate(void)
{
    char path[PROCESS_PATH + 32];
    struct errbuf eb;
    struct buf ledger = {0};
    size_t lines = 0;
    (void)snprintf(path, sizeof path, "%s/erasures.ndjson", server.data);
    ck_assert_int_eq(base_file_read(path, MIB, &ledger, &eb), ERR_OK);
    for (size_t i = 0; i < ledger.len; i++)
        lines += ledger.ptr[i] == '\n';
    ck_assert_uint_eq(lines, 1);
    base_buf_fini(&ledger);
    http_get(leaver.op, "/v1/admin/tenants/" LEAVER "/certificate");
    EXPECT_STATUS(leaver.op, 200);
    ck_assert_str_eq(http_string(leaver.op, "/event"), "purged");
    ck_assert_int_eq(http_number(leaver.op, "/canaries/found_after"), 0);
    for (size_t i = 0; i < http_count(leaver.op, "/checks"); i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "/checks/%zu/passed", i);
        ck_assert(json_is_true(http_at(leaver.op, name)));
    }
}

static void expect_gone_and_neighbour_whole(void)
{
    await_only_job();
    ck_assert_str_eq(http_string(leaver.op, "/tenant"), LEAVER);
    ck_assert_int_eq(http_number(leaver.op, "/audit/physical_keys"), 0);
    ck_assert_int_eq(http_number(leaver.op, "/audit/live_files_inside"), 0);
    ck_assert_int_eq(http_number(leaver.op, "/audit/counters"), 0);
    http_get(leaver.op, "/v1/admin/tenants/" LEAVER);
    ck_assert_str_eq(http_string(leaver.op, "/state"), "purged");
    ck_assert_int_eq(http_number(leaver.op, "/usage/stored_bytes"), 0);
    http_get(leaver.http, "/v1/tables/devices/rows");
    EXPECT_PROBLEM(leaver.http, 410, "gone");
    http_value_take(leaver.op, "POST", json_pack("{s:s}", "id", LEAVER), "/v1/admin/tenants");
    EXPECT_PROBLEM(leaver.op, 409, "exists");
    expect_one_certificate();

    struct buf after;
    base_buf_init(&after, HTTP_BODY_MAX);
    read_all(neighbour.http, &after);
    ck_assert_uint_eq(after.len, before.len);
    ck_assert_int_eq(memcmp(after.ptr, before.ptr, before.len), 0);
    base_buf_fini(&after);
    struct usage counted = admin_recount(neighbour.op, NEIGHBOUR);
    EXPECT_USAGE(tenant_usage(neighbour.http), counted.bytes, ROWS, 2 * ROWS);
    tenant_put(neighbour.http, "devices", "after", "stats", "q", "still writable");
}

/* The answer may be lost when the server dies early; it must not be a refusal. */
static void ask_to_offboard(void)
{
    if (http_try(leaver.op, "POST", "/v1/admin/tenants/" LEAVER ":offboard",
                 SLICE_LIT("{\"confirm\":\"" LEAVER "\"}")))
        EXPECT_STATUS(leaver.op, 202);
}

START_TEST(dying_after_a_step_is_finished_at_the_next_start)
{
    char env[64];
    (void)snprintf(env, sizeof(env), "BIGTENT_TEST_DIE_AFTER_STEP=%d", _i);
    fill(&leaver, "leaving", ROWS);
    server_stop(&server);
    server_start(&server, (const char *const[]){env, NULL});
    reconnect();
    ask_to_offboard();
    ck_assert_int_eq(server_wait_end(&server, 20000), 137);
    server_start(&server, NULL);
    reconnect();
    expect_gone_and_neighbour_whole();
}
END_TEST

START_TEST(dying_after_every_step_in_turn)
{
    fill(&leaver, "leaving", ROWS);
    static const int ORDER[] = {0, 1, 2, 3, 4, 5, 6, TEN_JOB_STEPS, TEN_STEP_CERTIFICATE};
    _Static_assert(sizeof ORDER / sizeof ORDER[0] == DEATHS, "each of them");
    for (int i = 0; i < DEATHS; i++) {
        int step = ORDER[i];
        char env[64];
        (void)snprintf(env, sizeof(env), "BIGTENT_TEST_DIE_AFTER_STEP=%d", step);
        if (step == 0) {
            server_stop(&server);
            server_start(&server, (const char *const[]){env, NULL});
            reconnect();
            ask_to_offboard();
        } else {
            server_launch(&server, (const char *const[]){env, NULL});
        }
        /* from then on the job goes on at each start, one step further */
        ck_assert_int_eq(server_wait_end(&server, 20000), 137);
    }
    server_start(&server, NULL);
    reconnect();
    expect_gone_and_neighbour_whole();
}
END_TEST

START_TEST(killed_at_any_moment_it_is_finished_or_never_began)
{
    struct random dice = {(uint64_t)_i * 7919 + 1};
    fill(&leaver, "leaving", 5 * ROWS);
    ask_to_offboard();
    process_sleep_ms((int)random_below(&dice, 60));
    server_kill(&server);
    for (int again = 0; again < 2; again++) { /* and killed again while it recovers */
        server_start(&server, NULL);
        process_sleep_ms((int)random_below(&dice, 30));
        server_kill(&server);
    }
    server_start(&server, NULL);
    reconnect();
    expect_gone_and_neighbour_whole();
}
END_TEST

/* --- before the purge ------------------------------------------------------------------------- */

static void post(const char *action, const char *body, int status)
{
    http_json(leaver.op, "POST", body, "/v1/admin/tenants/" LEAVER ":%s", action);
    EXPECT_STATUS(leaver.op, status);
}

/* Killed right behind the answer, and started again; the tenant is the last answer. */
static void kill_and_look(const char *state)
{
    server_kill(&server);
    server_start(&server, NULL);
    reconnect();
    http_get(leaver.op, "/v1/admin/tenants/" LEAVER);
    EXPECT_STATUS(leaver.op, 200);
    ck_assert_str_eq(http_string(leaver.op, "/state"), state);
}

START_TEST(killed_behind_each_answer_what_was_answered_holds)
{
    fill(&leaver, "leaving", ROWS);
    post("suspend", "{'reason':'unpaid','access':'writes'}", 200);
    post("offboard", "{'confirm':'" LEAVER "','grace':'3600s'}", 202);
    kill_and_look("delete_requested");
    post("hold", "{'reason':'file 17'}", 200);
    kill_and_look("delete_requested");
    ck_assert_str_eq(http_string(leaver.op, "/hold/reason"), "file 17");
    post("offboard", "{'confirm':'" LEAVER "'}", 409);
    post("undelete", "{}", 200);
    kill_and_look("suspended");
    ck_assert_str_eq(http_string(leaver.op, "/suspended"), "writes");
    ck_assert_str_eq(http_string(leaver.op, "/hold/reason"), "file 17");
    post("release", "{}", 200);
    kill_and_look("suspended");
    ck_assert(json_is_null(http_at(leaver.op, "/hold")));
    post("resume", "{}", 200);
    ck_assert_int_eq(tenant_usage(leaver.http).rows, ROWS);
    ck_assert_int_eq(admin_recount(leaver.op, LEAVER).rows, ROWS);
}
END_TEST

START_TEST(killed_around_the_end_of_a_grace_period_it_is_purged)
{
    struct random dice = {(uint64_t)_i * 104729 + 1};
    fill(&leaver, "leaving", ROWS);
    post("offboard", "{'confirm':'" LEAVER "','grace':'0.4s'}", 202);
    process_sleep_ms(300 + (int)random_below(&dice, 300));
    server_kill(&server);
    server_start(&server, NULL);
    reconnect();
    expect_gone_and_neighbour_whole();
}
END_TEST

Suite *suite_crash_offboard(void);
Suite *suite_crash_offboard(void)
{
    Suite *s = suite_create("crash_offboard");
    TCase *tc = tcase_create("offboard");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, dying_after_a_step_is_finished_at_the_next_start, 0, DEATHS);
    tcase_add_test(tc, dying_after_every_step_in_turn);
    tcase_add_loop_test(tc, killed_at_any_moment_it_is_finished_or_never_began, 0, 4);
    tcase_add_test(tc, killed_behind_each_answer_what_was_answered_holds);
    tcase_add_loop_test(tc, killed_around_the_end_of_a_grace_period_it_is_purged, 0, 5);
    suite_add_tcase(s, tc);
    return s;
}

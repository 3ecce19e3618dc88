/*
 * tests/api/test_lost_ledger.c - a server whose ledger of erasures is gone, with its copy.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/world.h"

#include "base/banned.h"

Suite *suite_api_lost_ledger(void);

static struct server server;
static struct process_result result;

static void set_up(void)
{
    server_create(&server);
}

static void tear_down(void)
{
    server_remove(&server);
}

static void ledger_remove(const char *in)
{
    char path[PROCESS_PATH + 64];
    (void)snprintf(path, sizeof path, "%s%s/erasures.ndjson", server.data, in);
    ck_assert_int_eq(unlink(path), 0);
}

START_TEST(a_start_without_the_ledger_is_refused_until_that_is_accepted)
{
    struct world w;
    char program[PROCESS_PATH], tenant[WORLD_ID];
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "leaving");
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    admin_offboard(w.op, w.tenant);
    (void)snprintf(tenant, sizeof tenant, "%s", w.tenant);
    server_stop(&server);
    ledger_remove("");
    server_start(&server, NULL); /* the copy has it */
    ck_assert(!server_log_says(&server, "erasures_reissued"));
    server_stop(&server);
    ledger_remove("");
    ledger_remove("/backups");
    process_program("bigtentd", program);
    const char *start[] = {program,    "serve",       "--data", server.data,
                           "--listen", "127.0.0.1:0", NULL};
    process_run(start, NULL, 60000, &result);
    ck_assert(!result.timed_out);
    ck_assert_int_eq(result.exit_code, 1);
    ck_assert_msg(strstr(result.output, "the ledger of erasures lacks 1 tenants") != NULL &&
                      strstr(result.output, "erasures.ndjson") != NULL &&
                      strstr(result.output, "--accept-lost-erasure-ledger") != NULL &&
                      strstr(result.output, tenant) == NULL,
                  "%s", result.output);
    server.options[0] = "--accept-lost-erasure-ledger";
    server_start(&server, NULL);
    ck_assert(server_log_says(&server, "erasures_reissued"));
    http_reconnect(w.op);
    http_get(w.op, "/v1/admin/tenants/%s/certificate", tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/tenant"), tenant);
    (void)http_string(w.op, "/reissued");
    world_fini(&w);
    server_stop(&server);
    server.options[0] = NULL;
    server_start(&server, NULL);
    server_stop(&server);
}
END_TEST

Suite *suite_api_lost_ledger(void)
{
    Suite *s = suite_create("api_lost_ledger");
    TCase *tc = tcase_create("lost_ledger");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_start_without_the_ledger_is_refused_until_that_is_accepted);
    suite_add_tcase(s, tc);
    return s;
}

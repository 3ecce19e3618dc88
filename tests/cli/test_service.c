/*
 * tests/cli/test_service.c - usage, health, whom to trust, patience with a rate limit.
 */
#define _GNU_SOURCE
#include "tests/cli/session.h"

#include "base/banned.h"

START_TEST(usage_counts_and_recount_finds_no_drift)
{
    tenant_put(w.http, "devices", "key", "stats", "q", "value");
    bigtent(&r, &tenant, "usage");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "tenant"), w.tenant);
    ck_assert_str_eq(plain_value(&r, "stored_bytes"), "22");
    ck_assert_str_eq(plain_value(&r, "rows"), "1");
    bigtent(&r, &op, "usage", "--tenant", w.tenant, "--recount");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "recount.stored_bytes"), "22");
    ck_assert_str_eq(plain_value(&r, "drift.stored_bytes"), "0");
    bigtent(&r, &op, "usage");
    EXPECT_CODE(&r, 2); /* whose? */
    bigtent(&r, &tenant, "usage", "--recount", "--tenant", w.tenant);
    EXPECT_CODE(&r, 1); /* not an operator */
}
END_TEST

START_TEST(health_speaks_http_2_and_needs_no_key)
{
    struct setup nobody = tenant;
    nobody.key = NULL;
    bigtent(&r, &nobody, "health");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "ready"), "ready");
    ck_assert_str_eq(plain_value(&r, "storage"), "ok");
    ck_assert_str_eq(plain_value(&r, "protocol"), "HTTP/2");
    bigtent(&r, &nobody, "health", "--json");
    json_decref(json_of(&r));
}
END_TEST

START_TEST(untrusted_server_exits_3_and_says_how_to_trust_it)
{
    struct setup stranger = tenant;
    stranger.cacert = NULL;
    bigtent(&r, &stranger, "table", "list");
    EXPECT_CODE(&r, 3);
    EXPECT_IN(r.err, url);
    EXPECT_IN(r.err, "the system's certificates");
    EXPECT_IN(r.err, "--cacert");
    /* Trust in one CA replaces the system's: a CA that did not sign this server. */
    char dir[PROCESS_PATH];
    char path[PROCESS_PATH + 16];
    int keeper = process_temp_dir(dir);
    (void)snprintf(path, sizeof path, "%s/data", dir);
    char program[PROCESS_PATH];
    static struct process_result made;
    process_program("bigtentd", program);
    process_run((const char *const[]){program, "init", "--data", path, NULL}, NULL, 20000, &made);
    ck_assert_int_eq(made.exit_code, 0);
    (void)snprintf(path, sizeof path, "%s/data/ca.pem", dir);
    stranger.cacert = path;
    bigtent(&r, &stranger, "table", "list");
    EXPECT_CODE(&r, 3);
    EXPECT_IN(r.err, path);
    process_temp_dir_remove(dir, keeper);
}
END_TEST

START_TEST(wrong_host_name_is_not_trusted)
{
    /* curl takes every name under localhost for this machine; the certificate does not. */
    char other[64];
    (void)snprintf(other, sizeof other, "https://other.localhost:%u", world_server()->port);
    bigtent(&r, &tenant, "table", "list", "--url", other);
    EXPECT_CODE(&r, 3);
    EXPECT_IN(r.err, "other.localhost");
    EXPECT_IN(r.err, "certificate");
    (void)snprintf(other, sizeof other, "https://localhost:%u", world_server()->port);
    bigtent(&r, &tenant, "table", "list", "--url", other);
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(rate_limit_is_waited_for)
{
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    admin_set_quota(w.op, w.tenant, "{'read_ops_per_s':1}");
    for (int i = 0; i < 3; i++) {
        bigtent(&r, &tenant, "row", "get", "devices", "k", "--retry", "9");
        EXPECT_CODE(&r, 0);
    }
    /* What is over the limit is owed, here for 98 s. */
    char large[100 * 1000 + 1];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    admin_set_quota(w.op, w.tenant, "{}");
    tenant_put(w.http, "devices", "large", "stats", "q", large);
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':1024}");
    bigtent(&r, &tenant, "row", "get", "devices", "large", "--retry", "0");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "row", "get", "devices", "k", "--retry", "0");
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "trying again later may help");
}
END_TEST

Suite *suite_cli_service(void);
Suite *suite_cli_service(void)
{
    Suite *s = suite_create("cli_service");
    TCase *t = session_tcase("service", session_set_up);
    tcase_add_test(t, usage_counts_and_recount_finds_no_drift);
    tcase_add_test(t, health_speaks_http_2_and_needs_no_key);
    tcase_add_test(t, untrusted_server_exits_3_and_says_how_to_trust_it);
    tcase_add_test(t, wrong_host_name_is_not_trusted);
    tcase_add_test(t, rate_limit_is_waited_for);
    world_end(t);
    suite_add_tcase(s, t);
    return s;
}

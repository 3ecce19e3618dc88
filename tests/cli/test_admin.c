/*
 * tests/cli/test_admin.c - tenants, their quotas and jobs, keys.
 */
#define _GNU_SOURCE
#include "tests/cli/session.h"

#include "base/banned.h"

/* --- tenants ------------------------------------------------------------------------------------
 */

START_TEST(tenant_is_made_listed_and_shown)
{
    char id[WORLD_ID];
    world_fresh_id(id);
    bigtent(&r, &op, "tenant", "create", id, "--name", "Acme & S\xc3\xb6hne");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "id"), id);
    ck_assert_str_eq(plain_value(&r, "display_name"), "Acme & S\xc3\xb6hne");
    ck_assert_str_eq(plain_value(&r, "state"), "active");
    ck_assert_str_eq(plain_value(&r, "quota.rows"), "none");
    bigtent(&r, &op, "tenant", "list");
    EXPECT_CODE(&r, 0);
    char line[WORLD_ID + 32];
    (void)snprintf(line, sizeof line, "%s active 0 0 20", id);
    EXPECT_IN(r.out, line);
    EXPECT_IN(r.out, "Z false main Acme & S\xc3\xb6hne\n");
    EXPECT_NOT_IN(r.out, "\t");
    bigtent(&r, &op, "tenant", "show", id, "--json");
    EXPECT_CODE(&r, 0);
    json_t *doc = json_of(&r);
    ck_assert_str_eq(json_string_value(json_object_get(doc, "id")), id);
    json_decref(doc);
}
END_TEST

START_TEST(tenant_made_twice_is_refused_and_a_retry_does_not_help)
{
    bigtent(&r, &op, "tenant", "create", w.tenant);
    EXPECT_CODE(&r, 1);
    ck_assert_str_eq(r.out, "");
    ck_assert_msg(strncmp(r.err, "bigtent: ", 9) == 0, "%s", r.err);
    EXPECT_IN(r.err, "trying again will not help");
}
END_TEST

START_TEST(unknown_tenant_exits_4)
{
    bigtent(&r, &op, "tenant", "show", "nobody");
    EXPECT_CODE(&r, 4);
    ck_assert_str_eq(r.out, "");
    bigtent(&r, &op, "usage", "--tenant", "nobody");
    EXPECT_CODE(&r, 4);
    bigtent(&r, &op, "job", "show", "nothing");
    EXPECT_CODE(&r, 4);
}
END_TEST

START_TEST(formats_are_listed_with_the_one_the_directory_was_made_with)
{
    bigtent(&r, &op, "migrate", "status");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(count_lines(r.out), 2);
    EXPECT_IN(r.out, "1 done ");
    EXPECT_IN(r.out, "\n2 made 20");
    EXPECT_IN(r.out, "plant canaries");
    bigtent(&r, &tenant, "migrate", "status");
    EXPECT_CODE(&r, 1);
}
END_TEST

START_TEST(list_follows_pages_to_the_end)
{
    /* More tenants than one page has. */
    char prefix[WORLD_ID];
    world_fresh_id(prefix);
    for (int i = 0; i < 1005; i++) {
        char id[WORLD_ID + 16];
        (void)snprintf(id, sizeof id, "%s-%04d", prefix, i);
        admin_create_tenant(w.op, id);
    }
    bigtent(&r, &op, "tenant", "list");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_ge(count_lines(r.out), 1006);
    bigtent(&r, &op, "tenant", "list", "--json");
    EXPECT_CODE(&r, 0);
    json_t *doc = json_of(&r);
    ck_assert_uint_ge(json_array_size(json_object_get(doc, "tenants")), 1006);
    ck_assert_uint_eq(json_object_size(doc), 1);
    json_decref(doc);
}
END_TEST

START_TEST(suspension_shows_its_reason_and_ends)
{
    bigtent(&r, &op, "tenant", "suspend", w.tenant, "--reason", "invoice unpaid");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "state"), "suspended");
    ck_assert_str_eq(plain_value(&r, "reason"), "invoice unpaid");
    bigtent(&r, &tenant, "table", "list");
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "invoice unpaid");
    bigtent(&r, &op, "tenant", "resume", w.tenant);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "state"), "active");
    bigtent(&r, &tenant, "table", "list");
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(quota_changes_what_is_named_and_keeps_the_rest)
{
    bigtent(&r, &op, "tenant", "quota", w.tenant, "--bytes", "10M", "--rows=7");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "stored_bytes"), "10485760");
    ck_assert_str_eq(plain_value(&r, "rows"), "7");
    bigtent(&r, &op, "tenant", "quota", w.tenant, "--reads-per-s", "100", "--rows", "none");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "stored_bytes"), "10485760");
    ck_assert_str_eq(plain_value(&r, "rows"), "none");
    ck_assert_str_eq(plain_value(&r, "read_ops_per_s"), "100");
    bigtent(&r, &op, "tenant", "quota", w.tenant, "--writes-per-s=5", "--cell-bytes=1K");
    ck_assert_str_eq(plain_value(&r, "write_ops_per_s"), "5");
    ck_assert_str_eq(plain_value(&r, "cell_bytes"), "1024");
    bigtent(&r, &op, "tenant", "quota", w.tenant);
    ck_assert_str_eq(plain_value(&r, "stored_bytes"), "10485760");
    ck_assert_str_eq(plain_value(&r, "cell_bytes"), "1024");
    bigtent(&r, &op, "tenant", "quota", w.tenant, "--none");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "stored_bytes"), "none");
    ck_assert_str_eq(plain_value(&r, "read_ops_per_s"), "none");
}
END_TEST

static const struct {
    const char *option;
    const char *member;
    const char *standard;
    const char *too_much;
} LIMITS[] = {
    {"--row-key-bytes", "row_key_bytes", "4096", "4097"},
    {"--qualifier-bytes", "qualifier_bytes", "16384", "17K"},
    {"--cell-bytes", "cell_bytes", "10485760", "101M"},
    {"--row-bytes", "row_bytes", "268435456", "1G"},
    {"--mutations-per-row", "mutations_per_row", "100000", "100001"},
    {"--families", "families", "100", "101"},
    {"--tables", "tables", "1000", "0"},
};

START_TEST(plans_are_put_given_listed_and_deleted)
{
    char plan[WORLD_ID];
    world_fresh_id(plan);
    bigtent(&r, &op, "plan", "put", plan, "--name", "Gold", "--rows", "5", "--bytes", "none");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "quota.rows"), "5");
    ck_assert_str_eq(plain_value(&r, "quota.stored_bytes"), "none");
    bigtent(&r, &op, "tenant", "change", w.tenant, "--plan", plan);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "plan"), plan);
    ck_assert_str_eq(plain_value(&r, "quota.rows"), "5");
    bigtent(&r, &op, "tenant", "quota", w.tenant, "--rows", "6");
    ck_assert_str_eq(plain_value(&r, "rows"), "6");
    bigtent(&r, &op, "tenant", "quota", w.tenant, "--rows", "inherit");
    ck_assert_str_eq(plain_value(&r, "rows"), "5");
    bigtent(&r, &op, "tenant", "list", "--plan", plan, "--order", "-created");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, w.tenant);
    bigtent(&r, &op, "plan", "list");
    EXPECT_IN(r.out, plan);
    bigtent(&r, &op, "plan", "delete", plan);
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "1 tenant has");
    bigtent(&r, &op, "tenant", "change", w.tenant, "--no-plan");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, "plan", "delete", plan);
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, "plan", "show", plan);
    EXPECT_CODE(&r, 4);
    bigtent(&r, &op, "tenant", "change", w.tenant);
    EXPECT_CODE(&r, 2);
    bigtent(&r, &op, "tenant", "suspend", w.tenant, "--reason", "x", "--access", "reads");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "suspended"), "reads");
}
END_TEST

START_TEST(keys_are_limited_to_rows_with_a_prefix)
{
    bigtent(&r, &op, "key", "create", "--tenant", w.tenant, "--row-prefix", "phone#");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "scopes"), "data.read,data.write");
    bigtent(&r, &op, "key", "list", "--tenant", w.tenant);
    EXPECT_IN(r.out, " phone# ");
    bigtent(&r, &op, "key", "create", "--tenant", w.tenant, "--row-prefix", "phone#", "--scope",
            "table.admin");
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "limited to rows");
}
END_TEST

START_TEST(service_keys_are_bound_to_tenants_and_rates)
{
    bigtent(&r, &op, "key", "create", "--service", "--for", w.tenant, "--reads-per-s", "7");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, "key", "list");
    EXPECT_IN(r.out, w.tenant);
    bigtent(&r, &op, "key", "create", "--service", "--for", "nobody-here");
    EXPECT_CODE(&r, 1);
    bigtent(&r, &op, "key", "create", "--service", "--reads-per-s", "many");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &op, "key", "create", "--operator", "--scope", "ops.read");
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(each_limit_of_the_data_model_is_set_shown_and_taken_back)
{
    char path[64];
    (void)snprintf(path, sizeof path, "quota.%s", LIMITS[_i].member);
    bigtent(&r, &op, "tenant", "quota", w.tenant, "--rows", "7");
    ck_assert_str_eq(plain_value(&r, LIMITS[_i].member), LIMITS[_i].standard);
    bigtent(&r, &op, "tenant", "quota", w.tenant, LIMITS[_i].option, "9");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, LIMITS[_i].member), "9");
    ck_assert_str_eq(plain_value(&r, "rows"), "7");
    bigtent(&r, &op, "tenant", "show", w.tenant);
    ck_assert_str_eq(plain_value(&r, path), "9");
    bigtent(&r, &tenant, "usage");
    ck_assert_str_eq(plain_value(&r, path), "9");
    bigtent(&r, &op, "tenant", "quota", w.tenant, LIMITS[_i].option, LIMITS[_i].too_much);
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, LIMITS[_i].member);
    bigtent(&r, &op, "tenant", "quota", w.tenant, LIMITS[_i].option, "inherit");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, LIMITS[_i].member), LIMITS[_i].standard);
    ck_assert_str_eq(plain_value(&r, "rows"), "7");
}
END_TEST

START_TEST(a_departure_is_looked_at_held_and_taken_back)
{
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--dry-run");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "rows"), "1");
    ck_assert_str_eq(plain_value(&r, "keys"), "1");
    ck_assert_str_eq(plain_value(&r, "backups"), "none");
    bigtent(&r, &op, "tenant", "hold", w.tenant, "--reason", "file 17 O 1234");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "hold.reason"), "file 17 O 1234");
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--confirm", w.tenant);
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "legal hold");
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--confirm", w.tenant, "--grace", "30d",
            "--reason", "contract ended");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, "tenant", "list", "--state", "delete_requested", "--prefix", w.tenant);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, w.tenant);
    bigtent(&r, &op, "tenant", "release", w.tenant);
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, "tenant", "release", w.tenant);
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "not under legal hold");
    bigtent(&r, &op, "tenant", "undelete", w.tenant);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "state"), "active");
    ck_assert_int_eq(tenant_usage(w.http).rows, 1);
}
END_TEST

START_TEST(offboarding_is_followed_to_its_proof)
{
    char job[64];
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--confirm", w.tenant, "--wait");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "state"), "done");
    ck_assert_str_eq(plain_value(&r, "usage_before.rows"), "1");
    ck_assert_str_eq(plain_value(&r, "audit.physical_keys"), "0");
    EXPECT_NOT_IN(r.out, "progress."); /* it is over */
    copy_plain_value(&r, "id", job, sizeof job);
    bigtent(&r, &op, "job", "list");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, job);
    bigtent(&r, &op, "job", "show", job, "--wait", "--json");
    EXPECT_CODE(&r, 0);
    json_t *doc = json_of(&r);
    ck_assert_str_eq(json_string_value(json_object_get(doc, "tenant")), w.tenant);
    json_decref(doc);
    bigtent(&r, &op, "tenant", "show", w.tenant);
    ck_assert_str_eq(plain_value(&r, "state"), "purged");
    ck_assert_str_eq(plain_value(&r, "job"), job);
    bigtent(&r, &tenant, "row", "get", "devices", "k");
    EXPECT_CODE(&r, 1);
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--confirm", w.tenant); /* a script repeats */
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "job"), job);
    ck_assert_str_eq(plain_value(&r, "state"), "purged");
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--confirm", w.tenant, "--wait");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "id"), job);
    ck_assert_str_eq(plain_value(&r, "state"), "done");
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--confirm", w.tenant, "--grace", "1d");
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "without the grace period");
}
END_TEST

/* --- keys ---------------------------------------------------------------------------------------
 */

START_TEST(key_works_until_it_is_revoked)
{
    char id[64];
    char key[256];
    bigtent(&r, &op, "key", "create", "--tenant", w.tenant, "--scope", "data.read", "--label",
            "my label");
    EXPECT_CODE(&r, 0);
    copy_plain_value(&r, "id", id, sizeof id);
    copy_plain_value(&r, "key", key, sizeof key);
    ck_assert_str_eq(plain_value(&r, "scopes"), "data.read");
    struct setup reader = tenant;
    reader.key = key;
    bigtent(&r, &reader, "table", "list");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &reader, "row", "put", "devices", "k", "stats:q=v");
    EXPECT_CODE(&r, 1);
    EXPECT_NOT_IN(r.err, key);
    bigtent(&r, &op, "key", "list", "--tenant", w.tenant);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, id);
    EXPECT_IN(r.out, " my label\n");
    EXPECT_NOT_IN(r.out, key);
    bigtent(&r, &op, "key", "revoke", id, "--tenant", w.tenant);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "");
    bigtent(&r, &reader, "table", "list");
    EXPECT_CODE(&r, 1);
    EXPECT_NOT_IN(r.err, key);
    bigtent(&r, &op, "key", "revoke", id, "--tenant", w.tenant);
    EXPECT_CODE(&r, 4);
}
END_TEST

START_TEST(service_key_acts_for_the_tenant_it_names)
{
    char id[64];
    char key[256];
    bigtent(&r, &op, "key", "create", "--service", "--label", "backend");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "kind"), "service");
    copy_plain_value(&r, "id", id, sizeof id);
    copy_plain_value(&r, "key", key, sizeof key);
    struct setup service = tenant;
    service.key = key;
    bigtent(&r, &service, "table", "list");
    EXPECT_CODE(&r, 1);
    bigtent(&r, &service, "--tenant", w.tenant, "table", "list");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "devices 0 0 0 stats,raw\n");
    bigtent(&r, &service, "usage", "--tenant", w.tenant);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "tenant"), w.tenant);
    bigtent(&r, &op, "key", "list");
    EXPECT_IN(r.out, id);
    bigtent(&r, &op, "key", "revoke", id);
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(operator_key_is_made)
{
    bigtent(&r, &op, "key", "create", "--operator", "--scope=admin.read", "--json");
    EXPECT_CODE(&r, 0);
    json_t *doc = json_of(&r);
    char key[256];
    (void)snprintf(key, sizeof key, "%s", json_string_value(json_object_get(doc, "key")));
    json_decref(doc);
    struct setup reader = op;
    reader.key = key;
    bigtent(&r, &reader, "tenant", "list");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &reader, "tenant", "create", "never-made");
    EXPECT_CODE(&r, 1);
}
END_TEST

START_TEST(key_comes_from_a_file_too)
{
    char dir[PROCESS_PATH];
    char path[PROCESS_PATH + 8];
    int keeper = process_temp_dir(dir);
    (void)snprintf(path, sizeof path, "%s/key", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(dprintf(fd, "%s\n", w.key), (int)strlen(w.key) + 1);
    (void)close(fd);
    struct setup without = tenant;
    without.key = "btt_wrong";
    bigtent(&r, &without, "table", "list", "--key-file", path);
    EXPECT_CODE(&r, 0);
    bigtent(&r, &without, "table", "list", "--key", w.key);
    EXPECT_CODE(&r, 0);
    bigtent(&r, &without, "table", "list");
    EXPECT_CODE(&r, 1);
    process_temp_dir_remove(dir, keeper);
}
END_TEST

Suite *suite_cli_admin(void);
Suite *suite_cli_admin(void)
{
    Suite *s = suite_create("cli_admin");
    TCase *t = session_tcase("admin", session_set_up);
    tcase_add_test(t, tenant_is_made_listed_and_shown);
    tcase_add_test(t, tenant_made_twice_is_refused_and_a_retry_does_not_help);
    tcase_add_test(t, unknown_tenant_exits_4);
    tcase_add_test(t, formats_are_listed_with_the_one_the_directory_was_made_with);
    tcase_add_test(t, list_follows_pages_to_the_end);
    tcase_add_test(t, suspension_shows_its_reason_and_ends);
    tcase_add_test(t, quota_changes_what_is_named_and_keeps_the_rest);
    tcase_add_test(t, plans_are_put_given_listed_and_deleted);
    tcase_add_test(t, keys_are_limited_to_rows_with_a_prefix);
    tcase_add_test(t, service_keys_are_bound_to_tenants_and_rates);
    tcase_add_loop_test(t, each_limit_of_the_data_model_is_set_shown_and_taken_back, 0,
                        (int)(sizeof LIMITS / sizeof LIMITS[0]));
    tcase_add_test(t, a_departure_is_looked_at_held_and_taken_back);
    tcase_add_test(t, offboarding_is_followed_to_its_proof);
    tcase_add_test(t, key_works_until_it_is_revoked);
    tcase_add_test(t, service_key_acts_for_the_tenant_it_names);
    tcase_add_test(t, operator_key_is_made);
    tcase_add_test(t, key_comes_from_a_file_too);
    world_end(t);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/cli/test_audit.c - the trail listed, exported and checked; a changed, cut or rewritten one
 * is found.
 */
#define _GNU_SOURCE
#include "tests/cli/session.h"

#include "base/audit_record.h"

#include "base/banned.h"

static char trail[RUN_OUT_BYTES];

static void export_own(void)
{
    bigtent(&r, &tenant, "audit", "export");
    EXPECT_CODE(&r, 0);
    (void)snprintf(trail, sizeof trail, "%s", r.out);
    ck_assert_uint_eq(count_lines(trail), 3);
}

static void verify_text(const char *text)
{
    struct setup s = {.input = text};
    bigtent(&r, &s, "audit", "verify", "--file", "-");
}

/* The value of a member in the record of the tenant's table becomes null. */
static void leave_out(const char *name)
{
    char pattern[32];
    (void)snprintf(pattern, sizeof pattern, "\"%s\":\"", name);
    char *line = strstr(trail, "\"action\":\"table.");
    ck_assert_ptr_nonnull(line);
    while (line > trail && line[-1] != '\n')
        line--;
    char *value = strstr(line, pattern);
    ck_assert_ptr_nonnull(value);
    value += strlen(pattern) - 1;
    char *end = strchr(value + 1, '"') + 1;
    memmove(value + 4, end, strlen(end) + 1); /* it is longer than that */
    memcpy(value, "null", 4);
}

static void export_all(void)
{
    bigtent(&r, &op, "audit", "export");
    EXPECT_CODE(&r, 0);
    (void)snprintf(trail, sizeof trail, "%s", r.out);
}

START_TEST(list_shows_who_did_what)
{
    bigtent(&r, &op, "audit", "list", "--tenant", w.tenant);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, " tenant.create done ");
    EXPECT_IN(r.out, " 127.0.0.1 families=stats,raw\n");
    ck_assert_uint_eq(count_lines(r.out), 3);
    bigtent(&r, &tenant, "audit", "list", "--from", "2", "--limit", "1");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(count_lines(r.out), 1);
    ck_assert_msg(strncmp(r.out, "2 ", 2) == 0, "%s", r.out);
    bigtent(&r, &op, "audit", "list", "--limit", "3");
    EXPECT_IN(r.out, " server.start done - - server - version=");
    bigtent(&r, &op, "audit", "list", "--from", "0");
    EXPECT_CODE(&r, 2);
}
END_TEST

START_TEST(a_whole_trail_is_verified_from_the_server)
{
    bigtent(&r, &op, "audit", "verify");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, " records, whole; head ");
    bigtent(&r, &op, "audit", "verify", "--tenant", w.tenant);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "3 records, whole; head ");
    bigtent(&r, &op, "audit", "verify", "--from", "2");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.err, "the part begins at record 2");
    bigtent(&r, &tenant, "audit", "verify");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "3 records, whole; head ");
    struct setup nobody = {.url = op.url, .cacert = op.cacert};
    bigtent(&r, &nobody, "audit", "verify");
    EXPECT_CODE(&r, 2);
}
END_TEST

START_TEST(a_file_is_verified_without_a_server)
{
    export_own();
    verify_text(trail);
    EXPECT_CODE(&r, 0);
    export_all();
    verify_text(trail);
    EXPECT_CODE(&r, 0);
    struct setup s = {.input = trail};
    bigtent(&r, &s, "audit", "verify", "--file", "-", "--tenant", w.tenant);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "3 records, whole; head ");
    bigtent(&r, &s, "audit", "verify", "--file", "/nonexistent");
    EXPECT_CODE(&r, 2);
}
END_TEST

/* A value of the second record, or of the third, which a key of the tenant's made, with another
 * character in it. */
START_TEST(a_changed_field_is_found)
{
    static const char *const names[] = {
        "time",    "action", "outcome",       "tenant", "target", "detail",  "key",         "kind",
        "address", "entry",  "tenant_before", "actor",  "salt",   "subject", "subject_salt"};
    export_own();
    char pattern[32];
    (void)snprintf(pattern, sizeof pattern, "\"%s\":\"", names[_i]);
    char *value = strstr(strchr(trail, '\n'), pattern);
    ck_assert_ptr_nonnull(value);
    bool is_third = value > strchr(strchr(trail, '\n') + 1, '\n');
    value += strlen(pattern);
    *value = *value == '0' ? '1' : '0';
    verify_text(trail);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, is_third ? "record 3 of the tenant: " : "record 2 of the tenant: ");
}
END_TEST

/* As a purge leaves it, but there was none. */
START_TEST(a_missing_subject_of_a_tenant_that_stays_is_found)
{
    if (_i == 0)
        export_own();
    else
        export_all();
    leave_out("detail"); /* one alone is a changed field */
    verify_text(trail);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "its subject is not the hash of its salt, target and detail");
    leave_out("target");
    leave_out("subject_salt");
    verify_text(trail);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "its target and detail are missing");
    EXPECT_IN(r.err,
              _i == 0 ? "broken at record 3 of the tenant" : "no record says that the tenant");
}
END_TEST

START_TEST(what_a_purged_tenants_records_name_is_gone_and_the_trail_is_whole)
{
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--confirm", w.tenant, "--wait");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, "audit", "list", "--tenant", w.tenant);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, " table.put done ");
    EXPECT_IN(r.out, " tenant.offboard done ");
    EXPECT_NOT_IN(r.out, "stats");
    export_all();
    verify_text(trail);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.err, "the names in 1 records went with their tenants");
    bigtent(&r, &op, "audit", "verify", "--tenant", w.tenant);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.err, "the names in 1 records went with their tenants");
}
END_TEST

START_TEST(a_removed_line_is_found)
{
    export_own();
    char *second = strchr(trail, '\n') + 1;
    char *third = strchr(second, '\n') + 1;
    memmove(second, third, strlen(third) + 1);
    verify_text(trail);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "record 3 of the tenant: its number");
}
END_TEST

/* Whoever removes the first record must not be believed that the trail begins behind it. */
START_TEST(a_removed_first_line_is_found)
{
    export_own();
    struct setup rest = {.input = strchr(trail, '\n') + 1};
    bigtent(&r, &rest, "audit", "verify", "--file", "-");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "record 2 of the tenant: record 1 should stand here");
    bigtent(&r, &rest, "audit", "verify", "--file", "-", "--from", "2");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.err, "the part begins at record 2");
    bigtent(&r, &rest, "audit", "verify", "--file", "-", "--from", "3");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "1 records, whole; head ");
    bigtent(&r, &rest, "audit", "verify", "--file", "-", "--tenant", w.tenant);
    EXPECT_CODE(&r, 5);
    struct setup all = {.input = trail};
    bigtent(&r, &op, "audit", "export");
    EXPECT_CODE(&r, 0);
    (void)snprintf(trail, sizeof trail, "%s", strchr(r.out, '\n') + 1);
    bigtent(&r, &all, "audit", "verify", "--file", "-");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "broken at record 2: record 1 should stand here");
    bigtent(&r, &all, "audit", "verify", "--file", "-", "--from", "2");
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(a_trail_of_nothing_is_not_whole)
{
    verify_text("");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "no record");
}
END_TEST

/* What no hash covers must not stand there, and what a hash covers stands there once. */
START_TEST(members_that_are_added_are_found)
{
    static const char *const more[] = {"\"note\":\"x\",", "\"outcome\":\"forbidden\","};
    static char changed[sizeof trail + 64];
    export_own();
    (void)snprintf(changed, sizeof changed, "{%s%s", more[_i], trail + 1);
    verify_text(changed);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "no record");
}
END_TEST

START_TEST(swapped_lines_are_found)
{
    static char swapped[sizeof trail];
    export_own();
    char *second = strchr(trail, '\n') + 1;
    char *third = strchr(second, '\n') + 1;
    (void)snprintf(swapped, sizeof swapped, "%s%.*s", third, (int)(third - trail), trail);
    verify_text(swapped);
    EXPECT_CODE(&r, 5);
}
END_TEST

/* A tenant's own records have no place among all; others' without one may lack some. */
START_TEST(a_trail_without_the_chain_of_all_is_one_tenants)
{
    char other[WORLD_ID];
    world_fresh_id(other);
    export_own();
    size_t used = strlen(trail);
    admin_create_tenant(w.op, other);
    admin_create_key(w.op, other, NULL, w.key, NULL);
    tenant.key = w.key;
    bigtent(&r, &tenant, "audit", "export");
    EXPECT_CODE(&r, 0);
    (void)snprintf(trail + used, sizeof trail - used, "%s", r.out);
    verify_text(trail);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "the chain of all is missing");
}
END_TEST

START_TEST(what_is_no_record_is_found)
{
    static const char *const bad[] = {"{}\n", "[]\n", "x\n", "{\"number\":1}\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        verify_text(bad[i]);
        EXPECT_CODE(&r, 5);
    }
    export_own();
    trail[strlen(trail) - 1] = '\0';
    verify_text(trail);
    EXPECT_CODE(&r, 5);
}
END_TEST

/* A cut end is a whole trail: only who noted its head knows. */
START_TEST(a_cut_end_is_found_by_a_noted_head)
{
    char head[128];
    export_own();
    verify_text(trail);
    EXPECT_CODE(&r, 0);
    const char *at = strstr(r.out, "head ") + 5;
    (void)snprintf(head, sizeof head, "%.*s", (int)strcspn(at, "\n"), at);
    struct setup s = {.input = trail};
    bigtent(&r, &s, "audit", "verify", "--file", "-", "--head", head);
    EXPECT_CODE(&r, 0);
    char *second = strchr(trail, '\n') + 1;
    *(strchr(second, '\n') + 1) = '\0';
    verify_text(trail);
    EXPECT_CODE(&r, 0);
    bigtent(&r, &s, "audit", "verify", "--file", "-", "--head", head);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "its end was cut off");
}
END_TEST

START_TEST(a_trail_written_anew_is_found_by_a_noted_head)
{
    char head[128];
    export_own();
    memset(head, 'a', 64);
    (void)snprintf(head + 64, sizeof head - 64, "@2");
    struct setup s = {.input = trail};
    bigtent(&r, &s, "audit", "verify", "--file", "-", "--head", head);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "written anew");
    static const char *const bad[] = {"x", "@1", "aa@1", ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bigtent(&r, &s, "audit", "verify", "--file", "-", "--head", bad[i]);
        EXPECT_CODE(&r, 2);
    }
}
END_TEST

Suite *suite_cli_audit(void);

Suite *suite_cli_audit(void)
{
    Suite *s = suite_create("cli_audit");
    TCase *t = session_tcase("audit", session_set_up);
    tcase_add_test(t, list_shows_who_did_what);
    tcase_add_test(t, a_whole_trail_is_verified_from_the_server);
    tcase_add_test(t, a_file_is_verified_without_a_server);
    tcase_add_loop_test(t, a_changed_field_is_found, 0, 15);
    tcase_add_loop_test(t, a_missing_subject_of_a_tenant_that_stays_is_found, 0, 2);
    tcase_add_test(t, what_a_purged_tenants_records_name_is_gone_and_the_trail_is_whole);
    tcase_add_test(t, a_removed_line_is_found);
    tcase_add_test(t, a_removed_first_line_is_found);
    tcase_add_test(t, a_trail_of_nothing_is_not_whole);
    tcase_add_loop_test(t, members_that_are_added_are_found, 0, 2);
    tcase_add_test(t, swapped_lines_are_found);
    tcase_add_test(t, a_trail_without_the_chain_of_all_is_one_tenants);
    tcase_add_test(t, what_is_no_record_is_found);
    tcase_add_test(t, a_cut_end_is_found_by_a_noted_head);
    tcase_add_test(t, a_trail_written_anew_is_found_by_a_noted_head);
    world_end(t);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/api/test_tenant_backups.c - backups of one tenant over HTTPS, and what they bring back.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/support/world.h"

#include "base/banned.h"

Suite *suite_api_tenant_backups(void);

#define TENANT "/v1/admin/tenants/altostrat"

static struct server server;
static struct world w;
static char id[64];

static void set_up(void)
{
    server_create(&server);
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "altostrat");
}

static void tear_down(void)
{
    world_fini(&w);
    server_remove(&server);
}

/* What was just begun, until it ended. */
static const char *await(const char *tenant)
{
    EXPECT_STATUS(w.op, 202);
    (void)snprintf(id, sizeof id, "%s", http_string(w.op, "/id"));
    return admin_await_end(w.op, "/state", "/v1/admin/tenants/%s/operations/%s", tenant, id);
}

static void put_rows(int count)
{
    for (int i = 0; i < count; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "row%03d", i);
        tenant_put(w.http, "devices", key, "stats", "q", "value");
    }
}

static void back_up(const char *body)
{
    http_json(w.op, "POST", body, TENANT "/backups");
    ck_assert_str_eq(await("altostrat"), "done");
}

static void set_backup_bytes(int64_t bytes)
{
    char quota[64];
    (void)snprintf(quota, sizeof quota, "{'backup_bytes':%lld}", (long long)bytes);
    admin_set_quota(w.op, "altostrat", quota);
}

/* A new one is taken to be as large as what it is made of. */
START_TEST(backups_are_within_their_quota)
{
    char detail[128];
    put_rows(20);
    http_get(w.http, "/v1/usage");
    int64_t stored = http_number(w.http, "/stored_bytes");
    set_backup_bytes(stored - 1);
    http_json(w.op, "POST", "{'table':'devices','name':'one'}", TENANT "/backups");
    EXPECT_PROBLEM(w.op, 403, "quota");
    (void)snprintf(detail, sizeof detail,
                   "backup bytes quota: 0 used, %lld would be added, limit %lld; delete a backup",
                   (long long)stored, (long long)stored - 1);
    ck_assert_msg(strstr(http_text(w.op), detail) != NULL, "%s", http_text(w.op));
    admin_set_quota(w.op, "altostrat", "{'stored_bytes':10000}");
    http_get(w.op, TENANT "/quota");
    ck_assert_int_eq(http_number(w.op, "/backup_bytes"), 80000);
    back_up("{'table':'devices','name':'one'}");
    http_get(w.op, TENANT "/backups");
    int64_t bytes = http_number(w.op, "/backups/0/bytes");
    set_backup_bytes(bytes + stored);
    back_up("{'table':'devices','name':'two'}");
    set_backup_bytes(2 * bytes + stored - 1);
    http_json(w.op, "POST", "{'name':'three'}", TENANT "/backups"); /* of all tables */
    EXPECT_PROBLEM(w.op, 403, "quota");
    admin_set_quota(w.op, "altostrat", "{'backup_bytes':null}");
    back_up("{'name':'three'}");
}
END_TEST

START_TEST(table_is_backed_up_listed_verified_and_restored)
{
    char backup[64];
    put_rows(20);
    back_up("{'table':'devices','name':'monday','note':'of a test','keep_seconds':3600}");
    ck_assert_str_eq(http_string(w.op, "/kind"), "backup");
    ck_assert_str_eq(http_string(w.op, "/name"), "monday");
    (void)snprintf(backup, sizeof backup, "%s", http_string(w.op, "/backup"));
    http_get(w.op, TENANT "/backups");
    ck_assert_uint_eq(http_count(w.op, "/backups"), 1);
    ck_assert_str_eq(http_string(w.op, "/backups/0/id"), backup);
    ck_assert_str_eq(http_string(w.op, "/backups/0/tenant"), "altostrat");
    ck_assert_str_eq(http_string(w.op, "/backups/0/table"), "devices");
    ck_assert_int_eq(http_number(w.op, "/backups/0/tables"), 1);
    ck_assert_int_eq(http_number(w.op, "/backups/0/keys/cells"), 40);
    http_get(w.op, "/v1/admin/backups"); /* those of everything */
    ck_assert_uint_eq(http_count(w.op, "/backups"), 0);
    http_json(w.op, "POST", "{}", "/v1/admin/backups/%s:verify", backup);
    EXPECT_STATUS(w.op, 202);
    ck_assert_str_eq(admin_await_end(w.op, "/verified/state", "/v1/admin/backups/%s", backup),
                     "ok");
    http_delete(w.http, "/v1/tables/devices");
    EXPECT_STATUS(w.http, 204);
    http_json(w.op, "POST", "{'backup':'@','table':'devices','new_table':'then'}",
              TENANT ":restore");
    EXPECT_PROBLEM(w.op, 404, "not_found");
    char body[200];
    (void)snprintf(body, sizeof body, "{'backup':'%s','table':'devices','new_table':'then'}",
                   backup);
    http_json(w.op, "POST", body, TENANT ":restore");
    ck_assert_str_eq(await("altostrat"), "done");
    ck_assert_int_eq(http_number(w.op, "/rows"), 20);
    http_get(w.http, "/v1/tables/then/rows/row019");
    EXPECT_STATUS(w.http, 200);
    http_get(w.op, TENANT "/operations");
    ck_assert_uint_eq(http_count(w.op, "/operations"), 2);
    ck_assert_str_eq(http_string(w.op, "/operations/0/kind"), "restore_table");
    http_delete(w.op, "/v1/admin/backups/%s", backup);
    EXPECT_STATUS(w.op, 204);
    http_get(w.op, TENANT "/backups");
    ck_assert_uint_eq(http_count(w.op, "/backups"), 0);
}
END_TEST

START_TEST(tenant_is_put_back_when_its_id_is_repeated)
{
    char body[200];
    put_rows(5);
    back_up("{}");
    (void)snprintf(body, sizeof body, "{'backup':'%s'}", id);
    http_json(w.op, "POST", body, TENANT ":restore");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    (void)snprintf(body, sizeof body, "{'backup':'%s','confirm':'altostra'}", id);
    http_json(w.op, "POST", body, TENANT ":restore");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    (void)snprintf(body, sizeof body, "{'backup':'%s','dry_run':true}", id);
    http_json(w.op, "POST", body, TENANT ":restore");
    EXPECT_STATUS(w.op, 200);
    ck_assert_uint_eq(http_count(w.op, "/replaced"), 1);
    ck_assert_str_eq(http_string(w.op, "/replaced/0"), "devices");
    tenant_put(w.http, "devices", "later", "stats", "q", "value");
    (void)snprintf(body, sizeof body, "{'backup':'%s','confirm':'altostrat'}", id);
    http_json(w.op, "POST", body, TENANT ":restore");
    ck_assert_str_eq(await("altostrat"), "done");
    ck_assert_int_eq(http_number(w.op, "/rows"), 5);
    http_get(w.http, "/v1/tables/devices/rows/later");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    http_get(w.http, "/v1/tables/devices/rows/row004");
    EXPECT_STATUS(w.http, 200);
}
END_TEST

START_TEST(what_is_asked_is_checked)
{
    char body[200];
    put_rows(1);
    back_up("{'table':'devices','name':'monday'}");
    http_json(w.op, "POST", "{'table':'devices','name':'monday'}", TENANT "/backups");
    EXPECT_PROBLEM(w.op, 409, "exists");
    http_json(w.op, "POST", "{'table':'nothing'}", TENANT "/backups");
    EXPECT_PROBLEM(w.op, 404, "not_found");
    http_json(w.op, "POST", "{'name':'-'}", TENANT "/backups");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    http_json(w.op, "POST", "{'keep_seconds':3162240001}", TENANT "/backups");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/nobody/backups");
    EXPECT_PROBLEM(w.op, 404, "not_found");
    http_get(w.op, TENANT "/operations/0123456789abcdef");
    EXPECT_PROBLEM(w.op, 404, "not_found");
    (void)snprintf(body, sizeof body, "{'backup':'%s','confirm':'altostrat'}", id);
    http_json(w.op, "POST", body, TENANT ":restore"); /* one table is not the tenant */
    EXPECT_PROBLEM(w.op, 400, "invalid");
    (void)snprintf(body, sizeof body, "{'backup':'%s','table':'devices','new_table':'devices'}",
                   id);
    http_json(w.op, "POST", body, TENANT ":restore");
    EXPECT_PROBLEM(w.op, 409, "exists");
    /* An empty name is not everything. */
    http_json(w.op, "POST", "{'table':''}", TENANT "/backups");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    (void)snprintf(body, sizeof body, "{'backup':'%s','table':'','confirm':'altostrat'}", id);
    http_json(w.op, "POST", body, TENANT ":restore");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    (void)snprintf(body, sizeof body, "{'backup':'%s','new_table':'n','confirm':'altostrat'}", id);
    http_json(w.op, "POST", body, TENANT ":restore");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    http_json(w.op, "POST", "{}", TENANT "/operations/%s:cancel", id); /* it has ended: no harm */
    EXPECT_STATUS(w.op, 202);
    ck_assert_str_eq(http_string(w.op, "/state"), "done");
    static const char *const paths[] = {TENANT "/backups", TENANT ":restore"};
    for (size_t i = 0; i < 2; i++) {
        http_json(w.http, "POST", "{'backup':'x','confirm':'altostrat'}", "%s", paths[i]);
        EXPECT_PROBLEM(w.http, 403, "forbidden");
    }
    http_get(w.http, TENANT "/operations");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
}
END_TEST

/* Of the tenant's own trail: what was asked, and what came of it. */
START_TEST(trail_says_who_asked_and_how_it_ended)
{
    put_rows(1);
    back_up("{'table':'devices','name':'monday'}");
    http_get(w.op, "/v1/admin/audit?tenant=altostrat&from=4");
    EXPECT_STATUS(w.op, 200);
    ck_assert_ptr_nonnull(strstr(http_text(w.op), "\"backup.create\""));
    ck_assert_msg(strstr(http_text(w.op), "\"backup.finish\"") != NULL, "%s", http_text(w.op));
    ck_assert_ptr_nonnull(strstr(http_text(w.op), id));
}
END_TEST

START_TEST(metrics_count_operations_and_name_nobody)
{
    static const char DONE[] =
        "\nbigtent_backup_operations_total{kind=\"backup\",result=\"done\"} 1\n";
    put_rows(1);
    back_up("{'table':'devices','name':'monday'}");
    http_get(w.op, "/metrics");
    EXPECT_STATUS(w.op, 200);
    char *text = base_new_text(w.op->body.ptr, w.op->body.len);
    ck_assert_ptr_nonnull(strstr(text, DONE));
    ck_assert_ptr_nonnull(strstr(text, "\nbigtent_backup_operation_running_seconds 0\n"));
    for (const char *at = strstr(text, "\nbigtent_backup_operation"); at != NULL;
         at = strstr(at + 1, "\nbigtent_backup_operation")) {
        size_t len = strcspn(at + 1, "\n");
        ck_assert_ptr_null(memmem(at + 1, len, "altostrat", 9));
        ck_assert_ptr_null(memmem(at + 1, len, "monday", 6));
    }
    base_free(text);
    http_get(w.http, "/metrics"); /* with the key of a tenant */
    EXPECT_PROBLEM(w.http, 403, "forbidden");
}
END_TEST

Suite *suite_api_tenant_backups(void)
{
    Suite *s = suite_create("api_tenant_backups");
    TCase *tc = tcase_create("tenant_backups");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, backups_are_within_their_quota);
    tcase_add_test(tc, table_is_backed_up_listed_verified_and_restored);
    tcase_add_test(tc, tenant_is_put_back_when_its_id_is_repeated);
    tcase_add_test(tc, what_is_asked_is_checked);
    tcase_add_test(tc, trail_says_who_asked_and_how_it_ended);
    tcase_add_test(tc, metrics_count_operations_and_name_nobody);
    suite_add_tcase(s, tc);
    return s;
}

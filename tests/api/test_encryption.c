/*
 * tests/api/test_encryption.c - encrypted tenants of a real server: nothing of their values in any
 * file, keys that are rotated, lost and destroyed, and master keys from three places.
 */
#define _GNU_SOURCE
#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define MASTER "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"
#define OTHER  "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define ROW    "/v1/tables/devices/rows/"

static const char SECRET[] = "quetzal-in-no-file";

static struct server server;
static struct world sealed; /* its tenant is encrypted */
static struct world plain;
static char key_file[PROCESS_PATH + 32];

static void write_master(const char *text)
{
    ck_assert_int_eq(base_file_replace(key_file, base_slice_text(text), 0600, NULL), ERR_OK);
}

static void start_with_file(void)
{
    server.options[0] = "--master-key-file";
    server.options[1] = key_file;
    server_start(&server, NULL);
}

static void make_sealed(void)
{
    char target[64];
    (void)snprintf(sealed.tenant, sizeof sealed.tenant, "acme-sealed");
    sealed.op = http_open(&server, HTTP_2, server.operator_key);
    http_json(sealed.op, "POST", "{'id':'acme-sealed','encrypted':true}", "/v1/admin/tenants");
    EXPECT_STATUS(sealed.op, 201);
    admin_create_key(sealed.op, sealed.tenant, NULL, sealed.key, target);
    sealed.http = http_open(&server, HTTP_2, sealed.key);
    http_json(sealed.http, "PUT", "{'families':{'stats':{},'raw':{}}}", "/v1/tables/devices");
    EXPECT_STATUS(sealed.http, 201);
}

static void set_up(void)
{
    server_create(&server);
    (void)snprintf(key_file, sizeof key_file, "%s/master.key", server.root);
    write_master(MASTER "\n");
    start_with_file();
    make_sealed();
    world_init_on(&plain, &server, HTTP_2, "acme-plain");
}

static void tear_down(void)
{
    world_fini(&sealed);
    world_fini(&plain);
    server_remove(&server);
}

/* The clients speak to the server that is running now. */
static void reconnect(void)
{
    struct world *both[] = {&sealed, &plain};
    for (size_t i = 0; i < 2; i++) {
        http_close(both[i]->op);
        http_close(both[i]->http);
        both[i]->op = http_open(&server, HTTP_2, server.operator_key);
        both[i]->http = http_open(&server, HTTP_2, both[i]->key);
    }
}

static struct slice wanted;
static size_t found;

static int look_into(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    struct buf bytes = {0};
    (void)st;
    (void)ftw;
    if (type != FTW_F || base_file_read(path, 256 * MIB, &bytes, NULL) != ERR_OK)
        return 0; /* a file may go while we look */
    found += bytes.len > 0 && memmem(bytes.ptr, bytes.len, wanted.ptr, wanted.len) != NULL;
    base_buf_fini(&bytes);
    return 0;
}

static size_t files_with(const char *dir, struct slice text)
{
    wanted = text;
    found = 0;
    ck_assert_int_eq(nftw(dir, look_into, 16, FTW_PHYS), 0);
    return found;
}

static size_t files_with_secret(void)
{
    return files_with(server.data, base_slice_text(SECRET));
}

static void expect_value(struct world *of, const char *key, const char *value)
{
    http_get(of->http, ROW "%s", key);
    EXPECT_STATUS(of->http, 200);
    ck_assert_str_eq(http_string(of->http, "/cells/stats/q/0/value"), value);
}

static bool has_key_file(const char *tenant)
{
    char path[PROCESS_PATH + 64];
    (void)snprintf(path, sizeof path, "%s/keystore/%s", server.data, tenant);
    return access(path, F_OK) == 0;
}

START_TEST(values_are_served_and_stand_in_no_file)
{
    http_get(sealed.op, "/v1/admin/tenants/acme-sealed");
    ck_assert(json_is_true(http_at(sealed.op, "/encrypted")));
    ck_assert_int_eq(http_number(sealed.op, "/key_versions"), 1);
    tenant_put(sealed.http, "devices", "k", "stats", "q", SECRET);
    http_json(sealed.http, "POST", "{'rules':[{'append':{'stats':{'q':'-more'}}}]}",
              ROW "k:modify");
    tenant_put(sealed.http, "devices", "k", "stats", "q", SECRET);
    expect_value(&sealed, "k", SECRET);
    server_stop(&server);
    ck_assert_uint_eq(files_with_secret(), 0);
    start_with_file();
    reconnect();
    expect_value(&sealed, "k", SECRET);
    (void)admin_recount(sealed.op, "acme-sealed");
    tenant_put(plain.http, "devices", "k", "stats", "q", SECRET);
    server_kill(&server);
    ck_assert_uint_gt(files_with_secret(), 0);
}
END_TEST

START_TEST(a_tenant_is_encrypted_from_its_making_or_never)
{
    http_json(plain.op, "PATCH", "{'encrypted':true}", "/v1/admin/tenants/acme-plain");
    EXPECT_PROBLEM(plain.op, 400, "invalid");
    http_json(plain.op, "POST", "{}", "/v1/admin/tenants/acme-plain:rotate-key");
    EXPECT_PROBLEM(plain.op, 409, "conflict");
    ck_assert_ptr_nonnull(strstr(http_string(plain.op, "/detail"), "not encrypted"));
    http_json(plain.op, "POST", "{'id':'acme-odd','encrypted':1}", "/v1/admin/tenants");
    EXPECT_PROBLEM(plain.op, 400, "invalid");
    http_get(plain.op, "/v1/admin/tenants/acme-plain");
    ck_assert(json_is_false(http_at(plain.op, "/encrypted")));
    ck_assert_int_eq(http_number(plain.op, "/key_versions"), 0);
}
END_TEST

START_TEST(after_a_rotation_old_and_new_values_are_read)
{
    tenant_put(sealed.http, "devices", "old", "stats", "q", "1");
    http_json(sealed.op, "POST", "{}", "/v1/admin/tenants/acme-sealed:rotate-key");
    EXPECT_STATUS(sealed.op, 200);
    ck_assert_int_eq(http_number(sealed.op, "/key_versions"), 2);
    tenant_put(sealed.http, "devices", "new", "stats", "q", "2");
    server_kill(&server);
    start_with_file();
    reconnect();
    expect_value(&sealed, "old", "1");
    expect_value(&sealed, "new", "2");
    http_get(sealed.op, "/v1/admin/audit?tenant=acme-sealed");
    ck_assert_ptr_nonnull(strstr(http_text(sealed.op), "tenant.rotate_key"));
    ck_assert_ptr_nonnull(strstr(http_text(sealed.op), "key_versions=2"));
}
END_TEST

START_TEST(without_the_master_key_others_are_served)
{
    tenant_put(sealed.http, "devices", "k", "stats", "q", SECRET);
    tenant_put(plain.http, "devices", "k", "stats", "q", "v");
    server_stop(&server);
    server.options[0] = NULL;
    server_start(&server, NULL);
    reconnect();
    expect_value(&plain, "k", "v");
    http_get(sealed.http, ROW "k");
    EXPECT_PROBLEM(sealed.http, 503, "unavailable");
    ck_assert_ptr_nonnull(strstr(http_string(sealed.http, "/detail"), "encryption key"));
    http_json(sealed.http, "PUT", "{'stats':{'q':'1'}}", ROW "k");
    EXPECT_PROBLEM(sealed.http, 503, "unavailable");
    http_json(plain.op, "POST", "{'id':'acme-more','encrypted':true}", "/v1/admin/tenants");
    EXPECT_PROBLEM(plain.op, 409, "conflict");
    ck_assert_ptr_nonnull(strstr(http_string(plain.op, "/detail"), "--master-key-file"));
    http_get(plain.op, "/v1/admin/tenants/acme-more");
    EXPECT_STATUS(plain.op, 404);
}
END_TEST

START_TEST(a_departed_tenants_key_is_destroyed)
{
    tenant_put(sealed.http, "devices", "k", "stats", "q", SECRET);
    ck_assert(has_key_file("acme-sealed"));
    admin_offboard(sealed.op, "acme-sealed");
    ck_assert(!has_key_file("acme-sealed"));
    http_get(sealed.http, ROW "k");
    EXPECT_STATUS(sealed.http, 410);
    server_kill(&server);
    start_with_file();
    reconnect();
    http_get(sealed.http, ROW "k");
    EXPECT_STATUS(sealed.http, 410);
}
END_TEST

static void back_up(void)
{
    char id[64];
    http_json(plain.op, "POST", "{}", "/v1/admin/backups");
    EXPECT_STATUS(plain.op, 202);
    (void)snprintf(id, sizeof id, "%s", http_string(plain.op, "/id"));
    ck_assert_str_eq(admin_await_end(plain.op, "/state", "/v1/admin/backups/%s", id), "ready");
}

static void check_copies_passed(void)
{
    bool passed = false;
    for (size_t i = 0; i < http_count(sealed.op, "/checks"); i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/checks/%zu/layer", i);
        bool is_it = strcmp(http_string(sealed.op, path), "copies") == 0;
        (void)snprintf(path, sizeof path, "/checks/%zu/passed", i);
        passed = passed || (is_it && json_is_true(http_at(sealed.op, path)));
    }
    ck_assert(passed);
}

/* So a backup without an end keeps nothing of an encrypted tenant readable, and stands in the way
 * of no certificate. */
START_TEST(a_backup_holds_neither_values_nor_keys)
{
    char path[PROCESS_PATH + 64];
    struct buf key = {0};
    tenant_put(sealed.http, "devices", "k", "stats", "q", SECRET);
    tenant_put(plain.http, "devices", "k", "stats", "q", "plumage-in-every-copy");
    back_up();
    (void)snprintf(path, sizeof path, "%s/keystore/acme-sealed", server.data);
    ck_assert_int_eq(base_file_read(path, MIB, &key, NULL), ERR_OK);
    (void)snprintf(path, sizeof path, "%s/backups", server.data);
    ck_assert_uint_gt(files_with(path, SLICE_LIT("plumage-in-every-copy")), 0);
    ck_assert_uint_eq(files_with(path, base_slice_text(SECRET)), 0);
    ck_assert_uint_eq(files_with(path, base_buf_slice(&key)), 0);
    ck_assert_uint_eq(files_with(server.data, base_buf_slice(&key)), 1);
    base_buf_fini(&key);
    admin_offboard(sealed.op, "acme-sealed");
    http_get(sealed.op, "/v1/admin/tenants/acme-sealed/certificate");
    EXPECT_STATUS(sealed.op, 200);
    ck_assert_uint_eq(http_count(sealed.op, "/copies"), 1);
    check_copies_passed();
}
END_TEST

/* Whoever gets hold of the files, and of the master key, reads nothing. */
START_TEST(a_copy_from_before_is_unreadable_without_the_destroyed_key)
{
    char key_path[PROCESS_PATH + 64];
    tenant_put(sealed.http, "devices", "k", "stats", "q", SECRET);
    server_stop(&server);
    (void)snprintf(key_path, sizeof key_path, "%s/keystore/acme-sealed", server.data);
    ck_assert_int_eq(unlink(key_path), 0); /* what a backup comes back to after a purge */
    start_with_file();
    reconnect();
    http_get(sealed.http, ROW "k");
    EXPECT_PROBLEM(sealed.http, 503, "unavailable");
    ck_assert_ptr_null(strstr(http_text(sealed.http), SECRET));
    http_get(sealed.http, "/v1/usage");
    EXPECT_STATUS(sealed.http, 200);
}
END_TEST

/* --- master keys ------------------------------------------------------------------------------ */

static void expect_no_start(const char *const *env, const char *says)
{
    struct buf log = {0};
    server_launch(&server, env);
    ck_assert_int_eq(server_wait_end(&server, 60000), 1);
    ck_assert_int_eq(base_file_read(server.log, 16 * MIB, &log, NULL), ERR_OK);
    ck_assert_int_eq(base_buf_append_byte(&log, '\0'), ERR_OK);
    const char *text = (const char *)log.ptr;
    ck_assert_msg(strstr(text, says) != NULL, "\"%s\" is not in %s", says, text);
    ck_assert_ptr_null(strstr(text, "00112233"));
    base_buf_fini(&log);
}

START_TEST(a_wrong_master_key_is_refused_at_the_start)
{
    server_stop(&server);
    write_master(OTHER);
    expect_no_start(NULL, "was made with the master key ");
}
END_TEST

START_TEST(what_is_no_key_is_refused_at_the_start)
{
    static const char *const bad[] = {"",
                                      "0011",
                                      MASTER "00",
                                      MASTER " " MASTER,
                                      "0x" MASTER,
                                      "zz112233445566778899aabbccddeeff"
                                      "00112233445566778899aabbccddeeff"};
    server_stop(&server);
    write_master(bad[_i]);
    expect_no_start(NULL, "64 hexadecimal digits");
}
END_TEST

START_TEST(the_key_may_come_from_the_environment_or_a_command)
{
    static const char *const env[] = {"BIGTENT_MASTER_KEY=" MASTER, NULL};
    char command[PROCESS_PATH + 64];
    tenant_put(sealed.http, "devices", "k", "stats", "q", "v");
    server_stop(&server);
    server.options[0] = NULL;
    server_start(&server, env);
    reconnect();
    expect_value(&sealed, "k", "v");
    server_stop(&server);
    (void)snprintf(command, sizeof command, "cat '%s'", key_file);
    server.options[0] = "--master-key-command";
    server.options[1] = command;
    server_start(&server, NULL);
    reconnect();
    expect_value(&sealed, "k", "v");
    server_stop(&server);
    expect_no_start(env, "more than once");
    server.options[1] = "exit 3";
    expect_no_start(NULL, "ended with status 3");
    (void)snprintf(key_file, sizeof key_file, "%s/nowhere", server.root);
    server.options[0] = "--master-key-file";
    server.options[1] = key_file;
    expect_no_start(NULL, "nowhere");
}
END_TEST

static void rekey(const char *new_file, int expected, const char *says)
{
    char program[PROCESS_PATH];
    struct process_result result;
    process_program("bigtentd", program);
    const char *argv[] = {program,
                          "rekey",
                          "--data",
                          server.data,
                          "--master-key-file",
                          key_file,
                          "--new-master-key-file",
                          new_file,
                          NULL};
    process_run(argv, NULL, 60000, &result);
    ck_assert_msg(result.exit_code == expected, "%s", result.output);
    ck_assert_msg(strstr(result.output, says) != NULL, "%s", result.output);
}

START_TEST(a_new_master_key_opens_what_the_old_one_wrapped)
{
    char new_file[PROCESS_PATH + 32];
    (void)snprintf(new_file, sizeof new_file, "%s/new.key", server.root);
    ck_assert_int_eq(base_file_create(new_file, base_slice_text(OTHER), 0600, NULL), ERR_OK);
    tenant_put(sealed.http, "devices", "k", "stats", "q", "v");
    rekey(new_file, 1, "another process"); /* the server has it */
    server_stop(&server);
    rekey(new_file, 0, "1 tenants' keys");
    rekey(new_file, 1, "was made with the master key");
    expect_no_start(NULL, "was made with the master key");
    write_master(OTHER);
    start_with_file();
    reconnect();
    expect_value(&sealed, "k", "v");
}
END_TEST

Suite *suite_api_encryption(void);

Suite *suite_api_encryption(void)
{
    Suite *s = suite_create("api_encryption");
    TCase *t = tcase_create("encryption");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, values_are_served_and_stand_in_no_file);
    tcase_add_test(t, a_tenant_is_encrypted_from_its_making_or_never);
    tcase_add_test(t, after_a_rotation_old_and_new_values_are_read);
    tcase_add_test(t, without_the_master_key_others_are_served);
    tcase_add_test(t, a_departed_tenants_key_is_destroyed);
    tcase_add_test(t, a_backup_holds_neither_values_nor_keys);
    tcase_add_test(t, a_copy_from_before_is_unreadable_without_the_destroyed_key);
    tcase_add_test(t, a_wrong_master_key_is_refused_at_the_start);
    tcase_add_loop_test(t, what_is_no_key_is_refused_at_the_start, 0, 6);
    tcase_add_test(t, a_new_master_key_opens_what_the_old_one_wrapped);
    tcase_add_test(t, the_key_may_come_from_the_environment_or_a_command);
    suite_add_tcase(s, t);
    return s;
}

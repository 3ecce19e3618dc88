/*
 * tests/cli/test_offboard_export.c - tenant offboard --export: all of it is in files before
 * anything is deleted, or nothing is deleted.
 */
#define _GNU_SOURCE
#include "tests/cli/transfer.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/banned.h"

#define ROWS 300
#define LEAVE(name)                                                                                \
    "tenant", "offboard", w.tenant, "--confirm", w.tenant, "--export", in_dir(name),               \
        "--data-key-file", in_dir("data.key")

static void write_key(const char *key)
{
    write_file("data.key", key, strlen(key));
    ck_assert_int_eq(chmod(in_dir("data.key"), 0600), 0);
}

static void set_up(void)
{
    char key[WORLD_KEY], id[WORLD_ID];
    session_set_up();
    keeper = process_temp_dir(dir);
    admin_create_global_key(w.op, "service", key, id);
    write_key(key);
    fill_table("devices", ROWS, 20);
    http_json(w.http, "PUT", "{'families':{'stats':{}}}", "/v1/tables/second");
    tenant_put(w.http, "second", "only", "stats", "q", "v");
}

static void tear_down(void)
{
    process_temp_dir_remove(dir, keeper);
    session_tear_down();
}

static const char *state_of(const char *member)
{
    http_get(w.op, "/v1/admin/tenants/%s", w.tenant);
    EXPECT_STATUS(w.op, 200);
    return http_string(w.op, member);
}

static void expect_nothing_deleted(void)
{
    bigtent(&r, &op, "tenant", "resume", w.tenant);
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(tenant_usage(w.http).rows, ROWS + 1);
    tenant_put(w.http, "second", "more", "stats", "q", "v");
}

START_TEST(all_of_it_is_in_files_before_it_is_deleted)
{
    struct world heir;
    struct buf before = scan_of("devices");
    if (_i == 1) { /* of the tenant, and suspended on another ground */
        write_key(w.key);
        bigtent(&r, &op, "tenant", "suspend", w.tenant, "--reason", "unpaid", "--access", "writes");
        EXPECT_CODE(&r, 0);
    }
    bigtent(&r, &op, LEAVE("x"), "--wait");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.err, "exported 301 rows of 2 tables");
    ck_assert_str_eq(plain_value(&r, "state"), "done");
    ck_assert_str_eq(plain_value(&r, "usage_before.rows"), "301");
    ck_assert_str_eq(state_of("/state"), "purged");

    world_init(&heir, HTTP_2);
    tenant.key = heir.key;
    http_send(heir.http, "DELETE", "/v1/tables/devices", SLICE_EMPTY);
    bigtent(&r, &tenant, "import", in_dir("x"), "--create", "--verify");
    EXPECT_CODE(&r, 0);
    http_once(heir.http, "Accept: application/x-ndjson");
    http_get(heir.http, "/v1/tables/devices/rows");
    ck_assert(base_slice_equal(base_buf_slice(&before), base_buf_slice(&heir.http->body)));
    ck_assert_int_eq(tenant_usage(heir.http).rows, ROWS + 1);
    base_buf_fini(&before);
    world_fini(&heir);
}
END_TEST

START_TEST(in_its_grace_period_it_may_come_back)
{
    bigtent(&r, &op, "tenant", "hold", w.tenant, "--reason", "file 17"); /* is no obstacle */
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, LEAVE("x"), "--grace", "1h");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(state_of("/state"), "delete_requested");
    bigtent(&r, &op, "tenant", "undelete", w.tenant);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(state_of("/suspended"), "writes");
    expect_nothing_deleted();
}
END_TEST

START_TEST(what_cannot_be_exported_is_not_deleted)
{
    char key[WORLD_KEY], id[WORLD_ID];
    if (_i == 0) /* not an empty directory */
        ck_assert_int_eq(mkdir(in_dir("x"), 0700), 0);
    if (_i == 0)
        write_file("x/something", "x", 1);
    if (_i == 1) { /* a key that may not read */
        admin_create_key(w.op, w.tenant, "['data.write']", key, id);
        write_key(key);
    }
    if (_i == 2) { /* neither can this one */
        bigtent(&r, &op, "tenant", "suspend", w.tenant, "--reason", "unpaid");
        EXPECT_CODE(&r, 0);
    }
    bigtent(&r, &op, LEAVE("x"));
    ck_assert_int_ne(r.code, 0);
    if (_i < 2) {
        EXPECT_IN(r.err, "nothing is deleted");
        ck_assert_str_eq(state_of("/suspended"), "writes");
    }
    ck_assert_str_eq(state_of("/state"), "suspended");
    expect_nothing_deleted();
}
END_TEST

START_TEST(who_is_held_is_not_exported_for_nothing)
{
    bigtent(&r, &op, "tenant", "hold", w.tenant, "--reason", "file 17");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, LEAVE("x"));
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "legal hold");
    ck_assert_str_eq(state_of("/state"), "active");
    ck_assert(!is_there("x"));
}
END_TEST

START_TEST(one_that_was_deleted_before_is_refused_with_its_job)
{
    char job[WORLD_ID], shown[WORLD_ID + 32];
    const char *grace = _i == 0 ? "1h" : "0";
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--confirm", w.tenant, "--grace", grace);
    EXPECT_CODE(&r, 0);
    (void)snprintf(job, sizeof job, "%.63s", plain_value(&r, "job")); /* fits */
    if (_i == 1)
        admin_await_job(w.op, job);
    bigtent(&r, &op, LEAVE("x"));
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, _i == 0 ? "is delete_requested: nothing" : "is purged: nothing");
    (void)snprintf(shown, sizeof shown, "bigtent job show %s --wait", job);
    EXPECT_IN(r.err, shown);
    ck_assert(!is_there("x"));
}
END_TEST

START_TEST(what_is_asked_is_checked)
{
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--confirm", w.tenant, "--export",
            in_dir("x"));
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "--data-key-file");
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--confirm", "other", "--export", in_dir("x"),
            "--data-key-file", in_dir("data.key"));
    EXPECT_CODE(&r, 2);
    ck_assert_str_eq(state_of("/state"), "active");
    ck_assert(!is_there("x"));
}
END_TEST

/* --- somebody lets writes go on -----------------------------------------------------------------
 */

static atomic_bool was_resumed;

static bool is_suspended(void *arg)
{
    struct http *h = arg;
    http_get(h, "/v1/admin/tenants/%s", w.tenant);
    return atomic_load(&was_resumed) ||
           (h->status == 200 && strcmp(http_string(h, "/state"), "suspended") == 0);
}

/* Resumes the tenant, then lifts the quota that keeps the export from ending before that. */
static void *resume(void *arg)
{
    struct http *h = arg;
    process_await(is_suspended, h, "the suspension of writes");
    http_json(h, "POST", "{}", "/v1/admin/tenants/%s:resume", w.tenant);
    if (!atomic_exchange(&was_resumed, true))
        admin_set_quota(h, w.tenant, "{}");
    return NULL;
}

START_TEST(writes_that_went_on_meanwhile_keep_it)
{
    pthread_t thread;
    struct http *h = http_open(world_server(), HTTP_2, world_server()->operator_key);
    fill_table("devices", 50 * ROWS, 500);
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':100000}");
    atomic_store(&was_resumed, false);
    ck_assert_int_eq(pthread_create(&thread, NULL, resume, h), 0);
    bigtent(&r, &op, LEAVE("x"));
    bool in_time = atomic_exchange(&was_resumed, true);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    http_close(h);
    ck_assert(in_time);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "went on while it was exported");
    ck_assert_str_eq(state_of("/state"), "active");
    ck_assert_int_eq(tenant_usage(w.http).rows, 50 * ROWS + 1);
}
END_TEST

Suite *suite_cli_offboard_export(void);
Suite *suite_cli_offboard_export(void)
{
    Suite *s = suite_create("cli_offboard_export");
    TCase *t = tcase_create("export");
    tcase_set_timeout(t, 60);
    world_begin(t);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, all_of_it_is_in_files_before_it_is_deleted, 0, 2);
    tcase_add_test(t, in_its_grace_period_it_may_come_back);
    tcase_add_loop_test(t, what_cannot_be_exported_is_not_deleted, 0, 3);
    tcase_add_test(t, who_is_held_is_not_exported_for_nothing);
    tcase_add_loop_test(t, one_that_was_deleted_before_is_refused_with_its_job, 0, 2);
    tcase_add_test(t, what_is_asked_is_checked);
    tcase_add_test(t, writes_that_went_on_meanwhile_keep_it);
    world_end(t);
    suite_add_tcase(s, t);
    return s;
}

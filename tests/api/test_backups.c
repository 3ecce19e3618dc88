/*
 * tests/api/test_backups.c - backups over HTTPS, by schedule, and restored by the command.
 * Over 500 lines because all are about one server's backups, from the request to the restore.
 */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "storage/engine.h"
#include "tests/support/world.h"

#include "base/banned.h"

Suite *suite_api_backups(void);

#define PATH_BYTES (PROCESS_PATH + 64)

#define RACES 1000 /* with a backup in the making, until one is won */

static struct server server;
static struct server restored; /* what a restore made; its root is its own */
static struct world w;
static char id[64];
static struct process_result result;

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

struct phase {
    const char *path;
    const char *state;
};

static bool phase_is_over(void *arg)
{
    const struct phase *p = arg;
    http_get(w.op, "/v1/admin/backups/%s", id);
    EXPECT_STATUS(w.op, 200);
    return strcmp(http_string(w.op, p->path), p->state) != 0;
}

/* Until what is at the path is something else. */
static void await(const char *path, const char *while_state)
{
    process_await(phase_is_over, &(struct phase){path, while_state}, "the next state of a backup");
}

static void make(const char *body)
{
    http_json(w.op, "POST", body, "/v1/admin/backups");
    EXPECT_STATUS(w.op, 202);
    (void)snprintf(id, sizeof id, "%s", http_string(w.op, "/id"));
    await("/state", "creating");
    ck_assert_msg(strcmp(http_string(w.op, "/state"), "ready") == 0, "%s", http_text(w.op));
}

static void put_rows(int count)
{
    for (int i = 0; i < count; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "row%03d", i);
        tenant_put(w.http, "devices", key, "stats", "q", "value");
    }
}

START_TEST(backup_is_made_shown_verified_and_deleted)
{
    put_rows(20);
    make("{'note':'of a test','keep_seconds':3600}");
    ck_assert_str_eq(http_string(w.op, "/note"), "of a test");
    ck_assert_int_eq(http_number(w.op, "/tenants"), 1);
    ck_assert_int_eq(http_number(w.op, "/keys/cells"), 40 + STO_CANARIES);
    ck_assert_int_gt(http_number(w.op, "/bytes"), 0);
    ck_assert_int_gt(http_number(w.op, "/sequence"), 0);
    ck_assert(json_is_string(http_at(w.op, "/expires")));
    ck_assert_str_eq(http_string(w.op, "/verified/state"), "none");
    http_json(w.op, "POST", "{}", "/v1/admin/backups/%s:verify", id);
    EXPECT_STATUS(w.op, 202);
    await("/verified/state", "running");
    ck_assert_str_eq(http_string(w.op, "/verified/state"), "ok");
    ck_assert(json_is_string(http_at(w.op, "/verified/finished")));
    http_get(w.op, "/v1/admin/backups");
    EXPECT_STATUS(w.op, 200);
    ck_assert_uint_eq(http_count(w.op, "/backups"), 1);
    http_delete(w.op, "/v1/admin/backups/%s", id);
    EXPECT_STATUS(w.op, 204);
    http_get(w.op, "/v1/admin/backups/%s", id);
    EXPECT_PROBLEM(w.op, 404, "not_found");
    http_delete(w.op, "/v1/admin/backups/%s", id);
    EXPECT_PROBLEM(w.op, 404, "not_found");
    http_json(w.op, "POST", "{}", "/v1/admin/backups/%s:verify", id);
    EXPECT_PROBLEM(w.op, 404, "not_found");
    make("{}");
    ck_assert(json_is_null(http_at(w.op, "/expires")));
}
END_TEST

/* Of a dry run or a job: this many backups hold the tenant, and the one that was made is first. */
static void expect_held(int count, bool has_end)
{
    EXPECT_STATUS(w.op, 200);
    ck_assert_int_eq(http_number(w.op, "/backups/count"), count);
    ck_assert_uint_eq(http_count(w.op, "/backups/listed"), (size_t)count);
    if (count == 0)
        return;
    ck_assert_str_eq(http_string(w.op, "/backups/listed/0/id"), id);
    ck_assert_str_ne(http_string(w.op, "/backups/listed/0/created"), "");
    ck_assert(json_is_string(http_at(w.op, "/backups/listed/0/expires")) == has_end);
}

static bool is_held_by_one(void *job)
{
    http_get(w.op, "/v1/admin/jobs/%s", (const char *)job);
    return http_number(w.op, "/backups/count") == 1;
}

START_TEST(a_dry_run_and_the_job_say_which_backups_hold_the_tenant)
{
    char job[WORLD_ID], first[sizeof id];
    put_rows(20);
    http_json(w.op, "POST", "{'dry_run':true}", "/v1/admin/tenants/%s:offboard", w.tenant);
    expect_held(0, false);
    make("{'keep_seconds':3600}");
    http_json(w.op, "POST", "{'dry_run':true}", "/v1/admin/tenants/%s:offboard", w.tenant);
    expect_held(1, true);
    (void)snprintf(first, sizeof first, "%s", id);
    make("{}");
    admin_offboard(w.op, w.tenant);
    (void)snprintf(job, sizeof job, "%s", http_string(w.op, "/id"));
    expect_held(2, false); /* the one without an end first */
    http_delete(w.op, "/v1/admin/backups/%s", id);
    EXPECT_STATUS(w.op, 204);
    (void)snprintf(id, sizeof id, "%s", first);
    process_await(is_held_by_one, job, "the files of the deleted backup to go");
    expect_held(1, true);
    make("{}"); /* the tenant is not in it */
    (void)snprintf(id, sizeof id, "%s", first);
    http_get(w.op, "/v1/admin/jobs/%s", job);
    expect_held(1, true);
    http_get(w.op, "/v1/admin/jobs");
    ck_assert_str_eq(http_string(w.op, "/jobs/0/id"), job);
    ck_assert_ptr_null(strstr(http_text(w.op), "\"backups\""));
}
END_TEST

START_TEST(what_is_asked_is_checked)
{
    http_json(w.op, "POST", "{'keep_seconds':3162240000,'note':'\\u0001'}", "/v1/admin/backups");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    http_json(w.op, "POST", "{'keep_seconds':3162240001}", "/v1/admin/backups");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    http_json(w.op, "POST", "{'keep':1}", "/v1/admin/backups");
    EXPECT_PROBLEM(w.op, 400, "invalid");
    http_get(w.http, "/v1/admin/backups");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    http_json(w.http, "POST", "{}", "/v1/admin/backups");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
}
END_TEST

START_TEST(second_one_at_once_is_refused)
{
    put_rows(20);
    int refused = 0;
    for (int i = 0; i < RACES && refused == 0; i++) {
        http_json(w.op, "POST", "{}", "/v1/admin/backups");
        EXPECT_STATUS(w.op, 202);
        (void)snprintf(id, sizeof id, "%s", http_string(w.op, "/id"));
        http_json(w.op, "POST", "{}", "/v1/admin/backups");
        refused += w.op->status == 409;
        if (w.op->status == 202)
            (void)snprintf(id, sizeof id, "%s", http_string(w.op, "/id"));
        await("/state", "creating");
    }
    ck_assert_int_eq(refused, 1);
}
END_TEST

static bool is_made_or_gone(void *arg)
{
    (void)arg;
    http_get(w.op, "/v1/admin/backups/%s", id);
    return w.op->status == 404 || strcmp(http_string(w.op, "/state"), "creating") != 0;
}

START_TEST(one_in_the_making_is_neither_verified_nor_deleted)
{
    put_rows(20);
    int refused = 0;
    for (int i = 0; i < RACES && refused < 2; i++) {
        http_json(w.op, "POST", "{}", "/v1/admin/backups");
        EXPECT_STATUS(w.op, 202);
        (void)snprintf(id, sizeof id, "%s", http_string(w.op, "/id"));
        if (refused == 0)
            http_json(w.op, "POST", "{}", "/v1/admin/backups/%s:verify", id);
        else
            http_delete(w.op, "/v1/admin/backups/%s", id);
        if (w.op->status == 409) {
            ck_assert_ptr_nonnull(strstr(http_string(w.op, "/detail"), "still being made"));
            refused++;
        }
        process_await(is_made_or_gone, NULL, "a backup that is made, or deleted");
    }
    ck_assert_int_eq(refused, 2);
}
END_TEST

/* The actions of the trail, a comma behind each. */
static void read_trail(char *out, size_t bytes)
{
    size_t at = 0;
    out[0] = '\0';
    http_get(w.op, "/v1/admin/audit?limit=1000");
    EXPECT_STATUS(w.op, 200);
    for (size_t i = 0; i < http_count(w.op, "/records"); i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/records/%zu/action", i);
        const char *action = http_string(w.op, path);
        if (strncmp(action, "backup.", 7) == 0)
            at += (size_t)snprintf(out + at, bytes - at, "%s,", action);
        ck_assert_uint_lt(at, bytes);
    }
}

static bool has_line(const char *line)
{
    const struct buf *body = &w.op->body;
    return memmem(body->ptr, body->len, line, strlen(line)) != NULL;
}

START_TEST(all_of_it_is_in_the_trail_and_in_metrics)
{
    char trail[512];
    make("{}");
    http_json(w.op, "POST", "{}", "/v1/admin/backups/%s:verify", id);
    await("/verified/state", "running");
    http_get(w.op, "/metrics");
    EXPECT_STATUS(w.op, 200);
    ck_assert(has_line("\nbigtent_backups 1\n"));
    ck_assert(has_line("\nbigtent_backup_works_total{kind=\"create\",result=\"done\"} 1\n"));
    http_delete(w.op, "/v1/admin/backups/%s", id);
    read_trail(trail, sizeof trail);
    ck_assert_str_eq(trail,
                     "backup.create,backup.finish,backup.verify,backup.verified,backup.delete,");
}
END_TEST

/* --- restored --------------------------------------------------------------------------------- */

static void restore(const char *data, const char *backups)
{
    char program[PROCESS_PATH];
    process_program("bigtentd", program);
    const char *argv[] = {program, "restore", "--data", data, "--backups", backups, NULL};
    process_run(argv, NULL, 60000, &result);
}

START_TEST(restored_server_serves_what_was_there)
{
    char backups[PATH_BYTES];
    (void)snprintf(backups, sizeof backups, "%s/backups", server.data);
    put_rows(20);
    make("{}");
    put_rows(30);
    restored = server; /* keys, CA and operator's key are those of the backup */
    restored.pid = 0;
    (void)snprintf(restored.data, sizeof restored.data, "%s/again", server.root);
    restore(restored.data, backups);
    ck_assert_msg(result.exit_code == 0, "%s", result.output);
    ck_assert_ptr_nonnull(strstr(result.output, id));
    restore(restored.data, backups);
    ck_assert_int_eq(result.exit_code, 1);
    ck_assert_ptr_nonnull(strstr(result.output, "is a data directory already"));
    server_stop(&server);
    server_start(&restored, NULL);
    struct http *http = http_open(&restored, HTTP_2, w.key);
    ck_assert_int_eq(tenant_usage(http).rows, 20);
    http_get(http, "/v1/tables/devices/rows/row019");
    EXPECT_STATUS(http, 200);
    http_close(http);
    server_stop(&restored);
}
END_TEST

/* About altostrat; they come in their order. */
static void check_last_record(const char *action, const char *outcome)
{
    char path[64];
    http_get(w.op, "/v1/admin/audit?tenant=altostrat");
    EXPECT_STATUS(w.op, 200);
    size_t count = http_count(w.op, "/records");
    ck_assert_uint_gt(count, 0);
    (void)snprintf(path, sizeof path, "/records/%zu/action", count - 1);
    ck_assert_str_eq(http_string(w.op, path), action);
    (void)snprintf(path, sizeof path, "/records/%zu/outcome", count - 1);
    ck_assert_str_eq(http_string(w.op, path), outcome);
}

static bool has_expired(void *arg)
{
    (void)arg;
    http_get(w.op, "/v1/admin/tenants/altostrat");
    return strcmp(http_string(w.op, "/state"), "expired") == 0;
}

START_TEST(who_left_does_not_return_and_expires_with_the_last_backup)
{
    char backups[PATH_BYTES];
    (void)snprintf(backups, sizeof backups, "%s/backups", server.data);
    put_rows(20);
    make("{'keep_seconds':3600}");
    admin_offboard(w.op, "altostrat");
    http_get(w.op, "/v1/admin/tenants/altostrat/certificate");
    EXPECT_STATUS(w.op, 200);
    ck_assert_uint_eq(http_count(w.op, "/copies"), 1);
    ck_assert_str_eq(http_string(w.op, "/copies/0/id"), id);
    restored = server;
    restored.pid = 0;
    (void)snprintf(restored.data, sizeof restored.data, "%s/again", server.root);
    restore(restored.data, backups);
    ck_assert_msg(result.exit_code == 0, "%s", result.output);
    http_delete(w.op, "/v1/admin/backups/%s", id);
    EXPECT_STATUS(w.op, 204);
    process_await(has_expired, NULL, "the tenant's last copy to be gone");
    check_last_record("purge.expire", "done");
    server_stop(&server);
    server_start(&restored, NULL);
    struct http *http = http_open(&restored, HTTP_2, w.key);
    struct http *op = http_open(&restored, HTTP_2, restored.operator_key);
    http_get(http, "/v1/tables/devices/rows/row019");
    EXPECT_PROBLEM(http, 410, "gone");
    http_get(op, "/v1/admin/tenants/altostrat");
    EXPECT_STATUS(op, 200);
    char job[64];
    (void)snprintf(job, sizeof job, "%s", http_string(op, "/job"));
    admin_await_job(op, job);
    ck_assert_int_eq(http_number(op, "/audit/physical_keys"), 0);
    ck_assert_str_eq(http_string(op, "/requested_by"), "restore");
    http_close(op);
    http_close(http);
    server_stop(&restored);
}
END_TEST

/* Whoever left there has a namesake here. */
START_TEST(another_servers_directory_deletes_nobody)
{
    struct server other;
    struct world namesake;
    static char directory[PROCESS_PATH + 32];
    (void)snprintf(directory, sizeof directory, "%s/backups", server.data);
    put_rows(3);
    admin_offboard(w.op, w.tenant);
    server_stop(&server);
    server_create(&other);
    server_start(&other, NULL);
    world_init_on(&namesake, &other, HTTP_2, "altostrat");
    tenant_put(namesake.http, "devices", "k", "stats", "q", "v");
    world_fini(&namesake);
    server_stop(&other);
    other.options[0] = "--backups";
    other.options[1] = directory;
    server_launch(&other, NULL);
    ck_assert_int_eq(server_wait_end(&other, 60000), 1);
    other.options[0] = NULL;
    server_start(&other, NULL);
    struct http *op = http_open(&other, HTTP_2, other.operator_key);
    http_get(op, "/v1/admin/tenants/altostrat");
    ck_assert_str_eq(http_string(op, "/state"), "active");
    ck_assert_int_eq(http_number(op, "/usage/rows"), 1);
    http_close(op);
    server_remove(&other);
}
END_TEST

START_TEST(restore_says_what_is_wrong)
{
    char backups[PATH_BYTES];
    (void)snprintf(backups, sizeof backups, "%s/backups", server.data);
    make("{}");
    char none[PATH_BYTES];
    (void)snprintf(none, sizeof none, "%s/none", server.root);
    restore("/nowhere/at/all", none);
    ck_assert_int_eq(result.exit_code, 1);
    ck_assert_ptr_nonnull(strstr(result.output, "no ledger of erasures"));
    char program[PROCESS_PATH];
    process_program("bigtentd", program);
    const char *argv[] = {program, "restore", "--data", "x", NULL};
    process_run(argv, NULL, 60000, &result);
    ck_assert_int_eq(result.exit_code, 2);
}
END_TEST

/* --- by the clock, and stopped ---------------------------------------------------------------- */

static void restart_with(const char *const *options, const char *const *env)
{
    world_fini(&w);
    server_stop(&server);
    for (size_t i = 0; options[i] != NULL; i++)
        server.options[i] = options[i];
    server_start(&server, env);
    world_init_on(&w, &server, HTTP_2, "cirrus");
}

/* The service expires backups and asks whether the next is due after each of its works, so when the
 * second of two has ended, it has done so at least once. */
static void pass_a_round(void)
{
    for (int i = 0; i < 2; i++) {
        http_json(w.op, "POST", "{}", "/v1/admin/backups/%s:verify", id);
        EXPECT_STATUS(w.op, 202);
        await("/verified/state", "running");
        ck_assert_str_eq(http_string(w.op, "/verified/state"), "ok");
    }
}

struct shown {
    size_t wanted;
    uint64_t *out_before; /* when there was one less, for certain */
};

static bool so_many_are_shown(void *arg)
{
    const struct shown *s = arg;
    uint64_t asked_ns = base_monotonic_ns();
    http_get(w.op, "/v1/admin/backups");
    EXPECT_STATUS(w.op, 200);
    if (http_count(w.op, "/backups") >= s->wanted)
        return true;
    *s->out_before = asked_ns;
    return false;
}

START_TEST(first_scheduled_one_is_made_at_once_and_no_second)
{
    static const char *const options[] = {"--backup-every", "24h", "--backup-keep", "7d", NULL};
    restart_with(options, NULL);
    process_await(so_many_are_shown, &(struct shown){1, &(uint64_t){0}}, "a first backup");
    (void)snprintf(id, sizeof id, "%s", http_string(w.op, "/backups/0/id"));
    await("/state", "creating");
    ck_assert_str_eq(http_string(w.op, "/state"), "ready");
    ck_assert_str_eq(http_string(w.op, "/note"), "scheduled");
    ck_assert(json_is_string(http_at(w.op, "/expires")));
    pass_a_round();
    http_get(w.op, "/v1/admin/backups");
    ck_assert_uint_eq(http_count(w.op, "/backups"), 1);
}
END_TEST

START_TEST(scheduled_ones_follow_each_other_by_themselves)
{
    enum { COUNT = 3 };
    static const uint64_t EVERY_NS = 2000000000; /* an hour that passes so many times faster */
    static const char *const options[] = {"--backup-every", "1h", NULL};
    const char *env[] = {"BIGTENT_TEST_BACKUP_HURRY=1800", NULL};
    uint64_t before[COUNT + 1] = {base_monotonic_ns()};
    restart_with(options, env);
    for (size_t n = 1; n <= COUNT; n++) {
        before[n] = before[n - 1];
        process_await(so_many_are_shown, &(struct shown){n, &before[n]}, "one more backup");
    }
    ck_assert_uint_ge(base_monotonic_ns() - before[COUNT - 1], EVERY_NS); /* and not before */
    ck_assert_uint_ge(base_monotonic_ns() - before[1], 2 * EVERY_NS);
    for (size_t n = 0; n < COUNT; n++) {
        char path[64];
        http_get(w.op, "/v1/admin/backups");
        (void)snprintf(path, sizeof path, "/backups/%zu/id", n);
        (void)snprintf(id, sizeof id, "%s", http_string(w.op, path));
        await("/state", "creating");
        ck_assert_str_eq(http_string(w.op, "/state"), "ready");
        ck_assert_str_eq(http_string(w.op, "/note"), "scheduled");
        ck_assert(json_is_null(http_at(w.op, "/expires")));
    }
}
END_TEST

static bool is_gone(void *backup)
{
    return http_get(w.op, "/v1/admin/backups/%s", (const char *)backup) == 404;
}

START_TEST(expired_one_goes_by_itself)
{
    make("{'keep_seconds':1}");
    char first[64];
    memcpy(first, id, sizeof first);
    process_sleep_ms(1100); /* then it has expired */
    pass_a_round();
    http_get(w.op, "/v1/admin/backups/%s", first);
    EXPECT_STATUS(w.op, 200); /* the newest stays */
    make("{}");
    process_await(is_gone, first, "an expired backup to go");
    EXPECT_PROBLEM(w.op, 404, "not_found");
    http_json(w.op, "POST", "{}", "/v1/admin/backups/%s:verify", id);
    await("/verified/state", "running");
    ck_assert_str_eq(http_string(w.op, "/verified/state"), "ok");
}
END_TEST

/* Of phases of a backup, as migrations/backup.h numbers them. */
START_TEST(killed_server_comes_up_with_whole_backups_only)
{
    char point[48];
    (void)snprintf(point, sizeof point, "BIGTENT_TEST_DIE_IN_BACKUP=%d", _i);
    static const char *const options[] = {NULL};
    const char *env[] = {point, NULL};
    restart_with(options, env);
    /* It may die before it answers. */
    (void)http_try(w.op, "POST", "/v1/admin/backups", SLICE_LIT("{}"));
    ck_assert_int_eq(server_wait_end(&server, 30000), 137);
    world_fini(&w);
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "stratus");
    http_get(w.op, "/v1/admin/backups");
    EXPECT_STATUS(w.op, 200);
    ck_assert_uint_eq(http_count(w.op, "/backups"), _i == 4);
    make("{}");
    http_json(w.op, "POST", "{}", "/v1/admin/backups/%s:verify", id);
    await("/verified/state", "running");
    ck_assert_str_eq(http_string(w.op, "/verified/state"), "ok");
}
END_TEST

Suite *suite_api_backups(void)
{
    Suite *suite = suite_create("api_backups");
    TCase *calls = tcase_create("calls");
    tcase_add_checked_fixture(calls, set_up, tear_down);
    tcase_set_timeout(calls, 120);
    tcase_add_test(calls, backup_is_made_shown_verified_and_deleted);
    tcase_add_test(calls, a_dry_run_and_the_job_say_which_backups_hold_the_tenant);
    tcase_add_test(calls, what_is_asked_is_checked);
    tcase_add_test(calls, second_one_at_once_is_refused);
    tcase_add_test(calls, one_in_the_making_is_neither_verified_nor_deleted);
    tcase_add_test(calls, all_of_it_is_in_the_trail_and_in_metrics);
    suite_add_tcase(suite, calls);
    TCase *restoring = tcase_create("restoring");
    tcase_add_checked_fixture(restoring, set_up, tear_down);
    tcase_set_timeout(restoring, 120);
    tcase_add_test(restoring, restored_server_serves_what_was_there);
    tcase_add_test(restoring, who_left_does_not_return_and_expires_with_the_last_backup);
    tcase_add_test(restoring, another_servers_directory_deletes_nobody);
    tcase_add_test(restoring, restore_says_what_is_wrong);
    suite_add_tcase(suite, restoring);
    TCase *time = tcase_create("time");
    tcase_add_checked_fixture(time, set_up, tear_down);
    tcase_set_timeout(time, 120);
    tcase_add_test(time, first_scheduled_one_is_made_at_once_and_no_second);
    tcase_add_test(time, scheduled_ones_follow_each_other_by_themselves);
    tcase_add_test(time, expired_one_goes_by_itself);
    tcase_add_loop_test(time, killed_server_comes_up_with_whole_backups_only, 0, 5);
    suite_add_tcase(suite, time);
    return suite;
}

/*
 * tests/api/test_torn_log.c - what a start says of a log with a torn end, or with a hole.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/world.h"

#include "base/banned.h"

Suite *suite_api_torn_log(void);

static struct server server;
static char program[PROCESS_PATH];
static struct process_result result;

static void set_up(void)
{
    server_create(&server);
    process_program("bigtentd", program);
}

static void tear_down(void)
{
    server_remove(&server);
}

/* A process that ended by itself, and why. */
static void expect_refusal(void)
{
    ck_assert(!result.timed_out);
    ck_assert_int_eq(result.exit_code, 1);
    ck_assert_msg(strstr(result.output, "acknowledged writes are lost; restore a backup") != NULL,
                  "%s", result.output);
}

/* The newest log of the database, and its length. */
static off_t newest_log(char out[PROCESS_PATH + 300])
{
    char db[PROCESS_PATH + 32];
    char newest[256] = "";
    struct stat st;
    (void)snprintf(db, sizeof db, "%s/db", server.data);
    DIR *dir = opendir(db);
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *d; (d = readdir(dir)) != NULL;) {
        size_t len = strlen(d->d_name);
        if (len > 4 && strcmp(d->d_name + len - 4, ".log") == 0 && strcmp(d->d_name, newest) > 0)
            memcpy(newest, d->d_name, len + 1);
    }
    (void)closedir(dir);
    (void)snprintf(out, PROCESS_PATH + 300, "%s/%s", db, newest);
    ck_assert_int_eq(stat(out, &st), 0);
    return st.st_size;
}

START_TEST(a_torn_log_opens_and_the_log_of_events_says_what_was_cut_off)
{
    static const char torn[] = "half of a write that nobody was told is stored";
    struct world w;
    char path[PROCESS_PATH + 300], dropped[64];
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "torn");
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    server_kill(&server);
    off_t whole = newest_log(path);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    ck_assert_int_eq(write(fd, torn, sizeof torn), sizeof torn);
    (void)close(fd);
    (void)snprintf(dropped, sizeof dropped, "offset=%lld dropped_bytes=%zu", (long long)whole,
                   sizeof torn);
    const char *argv[] = {program, "check", "--data", server.data, "--logs", NULL};
    for (int i = 0; i < 2; i++) { /* it changes nothing */
        process_run(argv, NULL, 20000, &result);
        ck_assert_msg(result.exit_code == 0 && strstr(result.output, "torn_log") != NULL &&
                          strstr(result.output, dropped) != NULL,
                      "exit %d: %s", result.exit_code, result.output);
        ck_assert_int_eq(newest_log(path), whole + (off_t)sizeof torn);
    }
    server_start(&server, NULL);
    ck_assert(server_log_says(&server, dropped));
    http_reconnect(w.http);
    http_get(w.http, "/v1/tables/devices/cells/k/stats/q");
    EXPECT_STATUS(w.http, 200);
    world_fini(&w);
    server_stop(&server);
    process_run(argv, NULL, 20000, &result);
    ck_assert_msg(result.exit_code == 0 && strstr(result.output, "torn_log") == NULL, "exit %d: %s",
                  result.exit_code, result.output);
}
END_TEST

START_TEST(a_log_with_a_hole_before_an_acknowledged_write_is_refused)
{
    struct world w;
    char path[PROCESS_PATH + 300];
    char zeros[64] = {0};
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "torn");
    off_t before = newest_log(path);
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    tenant_put(w.http, "devices", "k", "stats", "q", "w");
    world_fini(&w);
    server_kill(&server);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(pwrite(fd, zeros, sizeof zeros, before), sizeof zeros);
    (void)close(fd);
    off_t bytes = newest_log(path);
    const char *argv[] = {program, "check", "--data", server.data, "--logs", NULL};
    process_run(argv, NULL, 20000, &result);
    expect_refusal();
    const char *start[] = {program,    "serve",       "--data", server.data,
                           "--listen", "127.0.0.1:0", NULL};
    process_run(start, NULL, 60000, &result);
    expect_refusal();
    ck_assert_int_eq(newest_log(path), bytes);
}
END_TEST

Suite *suite_api_torn_log(void)
{
    Suite *s = suite_create("api_torn_log");
    TCase *tc = tcase_create("torn_log");
    tcase_set_timeout(tc, 90);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_torn_log_opens_and_the_log_of_events_says_what_was_cut_off);
    tcase_add_test(tc, a_log_with_a_hole_before_an_acknowledged_write_is_refused);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/api/test_start.c - starting on something that is not right: an exit code, and a message
 * that names the thing. And what a clean stop and start keep.
 */
#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/limits.h"
#include "tests/support/world.h"

#include "base/banned.h"

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

static void serve(const char *data, const char *listen_on)
{
    const char *argv[] = {program, "serve", "--data", data, "--listen", listen_on, NULL};
    process_run(argv, NULL, 60000, &result);
}

/* It ended by itself, not by a signal, and said which. */
static void expect_refusal(const char *named)
{
    ck_assert_msg(!result.timed_out, "it went on running: %s", result.output);
    ck_assert_msg(result.exit_code > 0 && result.exit_code < 126, "exit code %d: %s",
                  result.exit_code, result.output);
    ck_assert_msg(strstr(result.output, named) != NULL, "\"%s\" is not named in: %s", named,
                  result.output);
    ck_assert_ptr_null(strstr(result.output, "listening on"));
}

static void path_in_data(char out[PROCESS_PATH + 32], const char *name)
{
    (void)snprintf(out, PROCESS_PATH + 32, "%s/%s", server.data, name);
}

static void overwrite(const char *name, const char *text)
{
    char path[PROCESS_PATH + 32];
    path_in_data(path, name);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

START_TEST(a_missing_directory_is_named)
{
    char path[PROCESS_PATH + 32];
    (void)snprintf(path, sizeof(path), "%s/nowhere", server.root);
    serve(path, "127.0.0.1:0");
    expect_refusal(path);
    ck_assert_int_ne(access(path, F_OK), 0); /* and not made */
}
END_TEST

START_TEST(a_directory_that_is_not_ours_is_left_alone)
{
    char path[PROCESS_PATH + 16], inside[PROCESS_PATH + 32];
    (void)snprintf(path, sizeof(path), "%s/foreign", server.root);
    (void)snprintf(inside, sizeof(inside), "%s/thesis", path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)close(open(inside, O_WRONLY | O_CREAT, 0600));
    serve(path, "127.0.0.1:0");
    expect_refusal(path);
    const char *argv[] = {program, "init", "--data", path, NULL};
    process_run(argv, NULL, 60000, &result);
    expect_refusal(path);
    ck_assert_int_eq(access(inside, F_OK), 0);
    (void)unlink(inside);
    ck_assert_int_eq(rmdir(path), 0); /* nothing was put there */
}
END_TEST

START_TEST(init_twice_is_refused)
{
    const char *argv[] = {program, "init", "--data", server.data, NULL};
    process_run(argv, NULL, 60000, &result);
    expect_refusal(server.data);
    server_start(&server, NULL); /* and nothing is damaged */
    server_stop(&server);
}
END_TEST

START_TEST(a_format_from_the_future_is_named)
{
    overwrite("FORMAT", "bigtent data 999\n");
    serve(server.data, "127.0.0.1:0");
    expect_refusal("999");
}
END_TEST

START_TEST(a_format_that_is_rubbish_is_refused)
{
    overwrite("FORMAT", "something else\n");
    serve(server.data, "127.0.0.1:0");
    expect_refusal(server.data);
}
END_TEST

START_TEST(a_second_server_on_the_same_data_is_refused)
{
    server_start(&server, NULL);
    serve(server.data, "127.0.0.1:0");
    expect_refusal(server.data);
    struct http *h = http_open(&server, HTTP_2, NULL);
    http_get(h, "/healthz");
    EXPECT_STATUS(h, 200);
    http_close(h);
    server_stop(&server);
}
END_TEST

START_TEST(a_port_in_use_is_named)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t len = sizeof(at);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    char listen_on[32], port[16];
    (void)snprintf(listen_on, sizeof(listen_on), "127.0.0.1:%u", ntohs(at.sin_port));
    (void)snprintf(port, sizeof(port), "%u", ntohs(at.sin_port));
    serve(server.data, listen_on);
    expect_refusal(port);
    (void)close(fd);
}
END_TEST

START_TEST(a_port_taken_by_another_server_is_named)
{
    struct server second;
    server_start(&server, NULL);
    server_create(&second);
    char listen_on[32], port[16];
    (void)snprintf(listen_on, sizeof(listen_on), "127.0.0.1:%u", server.port);
    (void)snprintf(port, sizeof(port), "%u", server.port);
    serve(second.data, listen_on);
    expect_refusal(port);
    server_stop(&server);
    server_remove(&second);
}
END_TEST

static const char *const CERTIFICATES[] = {"server.pem", "server.key"};

START_TEST(a_bad_certificate_file_is_named)
{
    const char *name = CERTIFICATES[_i % 2];
    char path[PROCESS_PATH + 32];
    path_in_data(path, name);
    if (_i < 2)
        overwrite(name, "-----BEGIN RUBBISH-----\n");
    else
        ck_assert_int_eq(unlink(path), 0);
    serve(server.data, "127.0.0.1:0");
    expect_refusal(name);
}
END_TEST

static const struct {
    const char *what;
    const char *argv[6];
} USAGES[] = {
    {"no command", {NULL}},
    {"unknown command", {"dance", NULL}},
    {"no data", {"serve", NULL}},
    {"data without value", {"serve", "--data", NULL}},
    {"unknown flag", {"serve", "--data", "/nonexistent", "--fast", NULL}},
    {"bad listen", {"serve", "--data", "/nonexistent", "--listen", "nonsense", NULL}},
    {"bad port", {"serve", "--data", "/nonexistent", "--listen", "127.0.0.1:99999", NULL}},
};

START_TEST(wrong_usage_is_an_error)
{
    const char *argv[8] = {program};
    for (size_t i = 0; USAGES[_i].argv[i] != NULL; i++)
        argv[i + 1] = USAGES[_i].argv[i];
    process_run(argv, NULL, 60000, &result);
    ck_assert_msg(!result.timed_out && result.exit_code > 0 && result.exit_code < 126 &&
                      result.output_len > 0,
                  "%s: exit %d: %s", USAGES[_i].what, result.exit_code, result.output);
}
END_TEST

/* What a command reads nothing for: options are refused before. */
static const struct {
    const char *command;
    const char *option;
} VALUES[] = {
    {"serve", "--data"},
    {"serve", "--listen"},
    {"serve", "--emulator"},
    {"serve", "--cert"},
    {"serve", "--key"},
    {"serve", "--access-log"},
    {"serve", "--proxy-from"},
    {"serve", "--loops"},
    {"serve", "--scrub-mb"},
    {"serve", "--backup-keep"},
    {"init", "--data"},
    {"check", "--data"},
    {"rekey", "--data"},
    {"upgrade", "--backups"},
    {"restore", "--backup"},
    {"salvage", "--report"},
    {"read-database", "--column-family"},
};

START_TEST(an_option_given_twice_is_named)
{
    char wanted[80];
    const char *option = VALUES[_i].option;
    const char *value = strcmp(option, "--listen") == 0 || strcmp(option, "--emulator") == 0
                            ? "127.0.0.1:8443"
                        : strcmp(option, "--proxy-from") == 0  ? "10.0.0.0/8"
                        : strcmp(option, "--backup-keep") == 0 ? "7d"
                        : strcmp(option, "--data") == 0        ? "/nonexistent/data"
                                                               : "1";
    const char *argv[] = {program, VALUES[_i].command, option, value, option, value, NULL};
    process_run(argv, NULL, 60000, &result);
    (void)snprintf(wanted, sizeof wanted, "bigtentd: %s was given twice", option);
    ck_assert_int_eq(result.exit_code, 2);
    ck_assert_msg(strstr(result.output, wanted) != NULL, "%s", result.output);
}
END_TEST

START_TEST(version_is_said)
{
    const char *argv[] = {program, "--version", NULL};
    process_run(argv, NULL, 60000, &result);
    ck_assert_int_eq(result.exit_code, 0);
    ck_assert_ptr_nonnull(strstr(result.output, "bigtent"));
}
END_TEST

START_TEST(secrets_are_for_their_owner_only)
{
    static const char *const secrets[] = {"operator.key", "ca.key", "server.key", "pepper"};
    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
        char path[PROCESS_PATH + 32];
        struct stat st;
        path_in_data(path, secrets[i]);
        ck_assert_msg(stat(path, &st) == 0, "%s is missing", path);
        ck_assert_msg((st.st_mode & 0077) == 0, "%s is mode %o", path, st.st_mode & 07777);
    }
}
END_TEST

START_TEST(a_restart_keeps_everything)
{
    struct world w;
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "keeper");
    admin_set_quota(w.op, "keeper", "{'rows':100}");
    for (int i = 0; i < 20; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%02d", i);
        tenant_put(w.http, "devices", key, "stats", "q", "v");
    }
    struct usage before = tenant_usage(w.http);
    server_stop(&server);
    server_start(&server, NULL);
    http_reconnect(w.http);
    http_reconnect(w.op);
    EXPECT_USAGE(tenant_usage(w.http), before.bytes, before.rows, before.cells);
    ck_assert_int_eq(http_number(w.http, "/quota/rows"), 100);
    http_get(w.http, "/v1/tables/devices/rows");
    ck_assert_uint_eq(http_count(w.http, "/rows"), 20);
    EXPECT_USAGE(admin_recount(w.op, "keeper"), before.bytes, before.rows, before.cells);
    world_fini(&w);
    server_stop(&server);
}
END_TEST

#define CALLS 2000

static struct http_call calls[CALLS];
static char targets[CALLS][64];

static void *send_them(void *arg)
{
    http_send_all(arg, calls, CALLS);
    return NULL;
}

START_TEST(a_stop_under_load_answers_what_it_took)
{
    struct world w;
    pthread_t thread;
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "draining");
    for (size_t i = 0; i < CALLS; i++) {
        (void)snprintf(targets[i], sizeof(targets[i]), "/v1/tables/devices/rows/k%04zu", i);
        calls[i] = (struct http_call){"PUT", targets[i], SLICE_LIT("{\"stats\":{\"q\":\"v\"}}"), 0};
    }
    ck_assert_int_eq(pthread_create(&thread, NULL, send_them, w.http), 0);
    process_sleep_ms(30);
    server_stop(&server); /* exit code 0, under load */
    (void)pthread_join(thread, NULL);
    server_start(&server, NULL);
    http_reconnect(w.http);
    http_reconnect(w.op);
    http_get(w.http, "/v1/tables/devices/rows?limit=10000");
    EXPECT_STATUS(w.http, 200);
    size_t answered = 0;
    for (size_t i = 0; i < CALLS; i++) {
        ck_assert_msg(calls[i].status == 201 || calls[i].status == 503 || calls[i].status == 0,
                      "status %d", calls[i].status);
        answered += calls[i].status == 201;
    }
    ck_assert_uint_ge(http_count(w.http, "/rows"), answered);
    for (size_t i = 0; i < CALLS; i += 37) {
        http_get(w.http, "%s", targets[i]);
        if (calls[i].status == 201)
            EXPECT_STATUS(w.http, 200);
    }
    (void)admin_recount(w.op, "draining");
    world_fini(&w);
    server_stop(&server);
}
END_TEST

START_TEST(check_says_whether_the_counters_are_right)
{
    struct world w;
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "checked");
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    const char *argv[] = {program, "check", "--data", server.data, NULL};
    process_run(argv, NULL, 20000, &result); /* not beside a server */
    expect_refusal(server.data);
    world_fini(&w);
    server_stop(&server);
    process_run(argv, NULL, 20000, &result);
    ck_assert_msg(result.exit_code == 0 && strstr(result.output, "checked") != NULL &&
                      strstr(result.output, "DRIFT") == NULL,
                  "exit %d: %s", result.exit_code, result.output);
}
END_TEST

/* Whoever waits for the end of a grace period is counted as well; so is who has nothing any more.
 */
START_TEST(check_counts_tenants_that_leave_and_left)
{
    struct world w, gone;
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "waiting");
    world_init_on(&gone, &server, HTTP_2, "departed");
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    tenant_put(gone.http, "devices", "k", "stats", "q", "v");
    http_json(w.op, "POST", "{'confirm':'waiting','grace':'3600s'}",
              "/v1/admin/tenants/waiting:offboard");
    EXPECT_STATUS(w.op, 202);
    admin_offboard(gone.op, "departed");
    world_fini(&w);
    world_fini(&gone);
    server_stop(&server);
    const char *argv[] = {program, "check", "--data", server.data, NULL};
    process_run(argv, NULL, 20000, &result);
    ck_assert_msg(result.exit_code == 0, "exit %d: %s", result.exit_code, result.output);
    char waiting[160], departed[160];
    (void)snprintf(waiting, sizeof waiting, "\n%-32s %-16s %16d %12d %12d  ok\n", "waiting",
                   "delete_requested", 16, 1, 1);
    (void)snprintf(departed, sizeof departed, "\n%-32s %-16s %16d %12d %12d  ok\n", "departed",
                   "purged", 0, 0, 0);
    ck_assert_msg(strstr(result.output, waiting) != NULL, "%s", result.output);
    ck_assert_msg(strstr(result.output, departed) != NULL, "%s", result.output);
    ck_assert_ptr_nonnull(strstr(result.output, "0 with wrong counters, 0 not counted\n"));
}
END_TEST

START_TEST(below_its_headroom_only_deletes_pass)
{
    struct world w;
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "cramped");
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    tenant_put(w.http, "devices", "k2", "stats", "q", "v");
    server_stop(&server);
    char more_than_free[32];
    struct statvfs disk;
    ck_assert_int_eq(statvfs(server.data, &disk), 0);
    (void)snprintf(more_than_free, sizeof(more_than_free), "%llu",
                   (unsigned long long)disk.f_bavail * disk.f_frsize / MIB + 10240);
    server.options[0] = "--headroom-mb";
    server.options[1] = more_than_free;
    server_start(&server, NULL);
    http_reconnect(w.http);
    http_json(w.http, "PUT", "{'stats':{'q':'w'}}", "/v1/tables/devices/rows/k");
    EXPECT_PROBLEM(w.http, 507, "storage_full");
    http_bytes(w.http, "PUT", SLICE_LIT("w"), "/v1/tables/devices/cells/k/stats/q");
    EXPECT_PROBLEM(w.http, 507, "storage_full");
    http_get(w.http, "/v1/tables/devices/rows/k");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/0/value"), "v");
    http_delete(w.http, "/v1/tables/devices/rows/k");
    EXPECT_STATUS(w.http, 204);
    http_json(w.http, "POST", "{'all':true}", "/v1/tables/devices:drop");
    EXPECT_STATUS(w.http, 200);
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
    server_stop(&server);
    server.options[0] = NULL;
    server_start(&server, NULL);
    http_reconnect(w.http);
    tenant_put(w.http, "devices", "k", "stats", "q", "room again");
    world_fini(&w);
    server_stop(&server);
}
END_TEST

static bool log_says(void *arg)
{
    return server_log_says(&server, arg);
}

START_TEST(sighup_takes_a_new_certificate_and_survives_a_bad_one)
{
    server_start(&server, NULL);
    ck_assert_int_eq(kill(server.pid, SIGHUP), 0);
    process_await(log_says, (char[]){"certificate_reloaded"}, "the new certificate");
    struct http *h = http_open(&server, HTTP_2, NULL);
    http_get(h, "/healthz");
    EXPECT_STATUS(h, 200);
    overwrite("server.pem", "-----BEGIN RUBBISH-----\n");
    ck_assert_int_eq(kill(server.pid, SIGHUP), 0);
    process_await(log_says, (char[]){"certificate_kept"}, "the certificate's refusal");
    http_reconnect(h); /* a new handshake, with the certificate it had */
    http_get(h, "/healthz");
    EXPECT_STATUS(h, 200);
    http_close(h);
    server_stop(&server);
}
END_TEST

Suite *suite_api_start(void);
Suite *suite_api_start(void)
{
    Suite *s = suite_create("api_start");
    TCase *tc = tcase_create("start");
    tcase_set_timeout(tc, 90);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_missing_directory_is_named);
    tcase_add_test(tc, a_directory_that_is_not_ours_is_left_alone);
    tcase_add_test(tc, init_twice_is_refused);
    tcase_add_test(tc, a_format_from_the_future_is_named);
    tcase_add_test(tc, a_format_that_is_rubbish_is_refused);
    tcase_add_test(tc, a_second_server_on_the_same_data_is_refused);
    tcase_add_test(tc, a_port_in_use_is_named);
    tcase_add_test(tc, a_port_taken_by_another_server_is_named);
    tcase_add_loop_test(tc, a_bad_certificate_file_is_named, 0, 4);
    tcase_add_loop_test(tc, wrong_usage_is_an_error, 0, (int)(sizeof(USAGES) / sizeof(USAGES[0])));
    tcase_add_loop_test(tc, an_option_given_twice_is_named, 0,
                        (int)(sizeof(VALUES) / sizeof(VALUES[0])));
    tcase_add_test(tc, version_is_said);
    tcase_add_test(tc, secrets_are_for_their_owner_only);
    tcase_add_test(tc, a_restart_keeps_everything);
    tcase_add_test(tc, a_stop_under_load_answers_what_it_took);
    tcase_add_test(tc, check_says_whether_the_counters_are_right);
    tcase_add_test(tc, check_counts_tenants_that_leave_and_left);
    tcase_add_test(tc, below_its_headroom_only_deletes_pass);
    tcase_add_test(tc, sighup_takes_a_new_certificate_and_survives_a_bad_one);
    suite_add_tcase(s, tc);
    return s;
}

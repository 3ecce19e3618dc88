/*
 * tests/cli/test_run_script.c - `make run`: first start, the lines it prints, stop, second start,
 * and a start after its tenants and keys were deleted, suspended or revoked.
 */
#define _GNU_SOURCE
#include "tests/cli/program.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/banned.h"

static char dir[PROCESS_PATH];
static char build[PROCESS_PATH];
static char log_path[PROCESS_PATH + 16];
static char port[16];
static int keeper;

struct script {
    pid_t pid;
    int fd;
    size_t len;
    char out[16384];
};
static struct script script;

static void set_up(void)
{
    keeper = process_temp_dir(dir);
    (void)snprintf(log_path, sizeof log_path, "%s/script.log", dir);
    process_program("bigtent", build);
    *strrchr(build, '/') = '\0';
    /* A free port: bound once, then let go. */
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    (void)close(fd);
    (void)snprintf(port, sizeof port, "%u", ntohs(address.sin_port));
}

static void tear_down(void)
{
    process_temp_dir_remove(dir, keeper);
}

static void start(const char *until)
{
    char run_dir[PROCESS_PATH + 32];
    char run_port[64];
    (void)snprintf(run_dir, sizeof run_dir, "BIGTENT_RUN_DIR=%s/it's here", dir);
    (void)snprintf(run_port, sizeof run_port, "BIGTENT_PORT=%s", port);
    const char *const argv[] = {"/bin/sh", "cli/run.sh", build, NULL};
    const char *const env[] = {run_dir, run_port, "BIGTENT_RUN_OPTIONS=--headroom-mb 8", NULL};
    memset(&script, 0, sizeof script);
    script.pid = process_start(argv, env, log_path, &script.fd);
    while (strstr(script.out, until) == NULL) {
        struct pollfd p = {script.fd, POLLIN, 0};
        ck_assert_msg(poll(&p, 1, 60000 * process_patience()) == 1, "no more output after: %s",
                      script.out);
        char more[1024];
        ssize_t n = read(script.fd, more, sizeof more);
        ck_assert_msg(n > 0, "it ended after: %s", script.out);
        ck_assert_uint_lt(script.len + (size_t)n, sizeof script.out);
        memcpy(script.out + script.len, more, (size_t)n);
        script.len += (size_t)n;
    }
}

static void stop(int wanted)
{
    int status = 0;
    (void)kill(script.pid, SIGTERM);
    ck_assert(process_wait(script.pid, 20000 * process_patience(), &status));
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), wanted);
    (void)close(script.fd);
}

/* Run the n-th printed line that begins with `begin`; its output. */
static const char *paste(const char *begin, int n)
{
    static struct process_result result;
    static char line[4096];
    const char *at = script.out;
    for (int i = 0; i <= n; i++) {
        at = strstr(at, begin);
        ck_assert_msg(at != NULL, "no line %d of \"%s\" in: %s", n, begin, script.out);
        at++;
    }
    size_t len = strcspn(at, "\n");
    ck_assert_uint_lt(len, sizeof line);
    memcpy(line, at, len);
    line[len] = '\0';
    process_run((const char *const[]){"/bin/sh", "-c", line, NULL}, NULL, 20000, &result);
    ck_assert_msg(result.exit_code == 0, "exit %d: %s: %s", result.exit_code, line, result.output);
    return result.output;
}

/* The lines from the first export to the end, as one paste. */
static const char *paste_exports(const char *command)
{
    static struct process_result result;
    static char text[8192];
    const char *from = strstr(script.out, "\nexport PATH=");
    ck_assert_ptr_nonnull(from);
    const char *end = strstr(from, "\nbigtent scan");
    ck_assert_ptr_nonnull(end);
    (void)snprintf(text, sizeof text, "%.*s\n%s", (int)(end - from), from, command);
    process_run((const char *const[]){"/bin/sh", "-c", text, NULL}, NULL, 20000, &result);
    ck_assert_msg(result.exit_code == 0, "exit %d: %s: %s", result.exit_code, text, result.output);
    return result.output;
}

START_TEST(printed_lines_work_as_printed_and_a_second_start_finds_everything)
{
    start("Ctrl-C stops the server");
    EXPECT_IN(paste("\ncurl ", 0), "\"timestamp\"");
    EXPECT_IN(paste("\ncurl ", 1), "PQ2A.190405.003");
    EXPECT_IN(paste("\ncurl ", 2), "\"rows\":[{\"key\":\"4c410523#20190501\"");
    EXPECT_IN(paste("\ncurl ", 3), "\"tenant\":\"altostrat\"");
    EXPECT_NOT_IN(script.out, " -k ");
    EXPECT_IN(paste_exports("bigtent scan phone"), "4c410523#20190501 stats:os_build ");
    const char *const names[] = {"altostrat", "examplepetstore"};
    struct stat st;
    char path[PROCESS_PATH + 64];
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/it's here/%s.key", dir, names[i]);
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_uint_eq(st.st_mode & 0777, 0600);
    }
    stop(0);
    static char first_out[sizeof script.out];
    memcpy(first_out, script.out, sizeof first_out);
    start("Ctrl-C stops the server");
    EXPECT_NOT_IN(script.out, "making");
    /* The same lines, so the same key. */
    const char *curl = strstr(first_out, "\ncurl ");
    ck_assert_int_eq(strncmp(curl, strstr(script.out, "\ncurl "), strcspn(curl + 1, "\n")), 0);
    EXPECT_IN(paste("\ncurl ", 1), "PQ2A.190405.003");
    stop(0);
}
END_TEST

START_TEST(second_server_on_the_same_data_fails_and_leaves_the_first_alone)
{
    start("Ctrl-C stops the server");
    struct script first = script;
    char run_dir[PROCESS_PATH + 32];
    char run_port[64];
    (void)snprintf(run_dir, sizeof run_dir, "BIGTENT_RUN_DIR=%s/it's here", dir);
    (void)snprintf(run_port, sizeof run_port, "BIGTENT_PORT=%s", port);
    static struct process_result result;
    process_run((const char *const[]){"/bin/sh", "cli/run.sh", build, NULL},
                (const char *const[]){run_dir, run_port, NULL}, 30000, &result);
    ck_assert_int_eq(result.exit_code, 1);
    EXPECT_IN(result.output, "run.sh: ");
    EXPECT_NOT_IN(result.output, "Ctrl-C");
    EXPECT_IN(paste("\ncurl ", 3), "\"tenant\":\"altostrat\"");
    script = first;
    stop(0);
}
END_TEST

/* Run `bigtent COMMAND` with the operator's key. */
static void as_operator(const char *command)
{
    char line[PROCESS_PATH + 256];
    (void)snprintf(line, sizeof line,
                   "op() { bigtent \"$@\" --key-file \"%s/it's here/data/operator.key\"; }; %s",
                   dir, command);
    (void)paste_exports(line);
}

static void in_run_dir(const char *command)
{
    static struct process_result result;
    char line[PROCESS_PATH + 256];
    (void)snprintf(line, sizeof line, "cd \"%s/it's here\" && %s", dir, command);
    process_run((const char *const[]){"/bin/sh", "-c", line, NULL}, NULL, 20000, &result);
    ck_assert_msg(result.exit_code == 0, "exit %d: %s: %s", result.exit_code, line, result.output);
}

static void expect_sample(const char *tenants)
{
    char line[64];
    (void)snprintf(line, sizeof line, "Tenants: %s, each", tenants);
    EXPECT_IN(script.out, line);
    EXPECT_IN(paste("\ncurl ", 0), "\"timestamp\"");
    EXPECT_IN(paste("\ncurl ", 1), "PQ2A.190405.003");
    EXPECT_IN(paste_exports("bigtent scan phone"), "4c410523#20190501 stats:os_build ");
}

START_TEST(a_start_finds_other_tenants_for_those_that_are_gone_or_suspended)
{
    start("Ctrl-C stops the server");
    as_operator("op tenant offboard altostrat --confirm altostrat --wait");
    as_operator("op tenant suspend examplepetstore --reason curiosity");
    stop(0);
    start("Ctrl-C stops the server");
    EXPECT_IN(script.out, "passing over altostrat: it is purged");
    EXPECT_IN(script.out, "passing over examplepetstore: it is suspended");
    expect_sample("altostrat-2 and examplepetstore-2");
    as_operator("op tenant resume examplepetstore");
    as_operator("op tenant offboard altostrat-2 --confirm altostrat-2 --grace 1d");
    stop(0);
    start("Ctrl-C stops the server");
    EXPECT_IN(script.out, "passing over altostrat-2: it is delete_requested");
    expect_sample("altostrat-3 and examplepetstore");
    stop(0);
}
END_TEST

START_TEST(a_start_makes_keys_and_tables_again_that_are_missing)
{
    start("Ctrl-C stops the server");
    as_operator("op key revoke --tenant altostrat "
                "$(op key list --tenant altostrat | awk '/make-run/ { print $1 }')");
    stop(0);
    start("Ctrl-C stops the server");
    expect_sample("altostrat and examplepetstore");
    (void)paste_exports("bigtent table delete phone --yes");
    stop(0);
    start("Ctrl-C stops the server");
    expect_sample("altostrat and examplepetstore");
    stop(0);
    in_run_dir("rm -r data"); /* the keys are those of no server now */
    start("Ctrl-C stops the server");
    expect_sample("altostrat and examplepetstore");
    stop(0);
}
END_TEST

START_TEST(a_start_with_no_tenant_to_use_says_so_and_serves)
{
    start("Ctrl-C stops the server");
    stop(0);
    in_run_dir("rm altostrat.key && echo none > data/operator.key");
    start("Ctrl-C stops the server");
    EXPECT_IN(script.out, "There is no sample tenant to use.");
    stop(0);
}
END_TEST

Suite *suite_cli_run_script(void);
Suite *suite_cli_run_script(void)
{
    Suite *s = suite_create("cli_run_script");
    TCase *t = tcase_create("run");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, printed_lines_work_as_printed_and_a_second_start_finds_everything);
    tcase_add_test(t, second_server_on_the_same_data_fails_and_leaves_the_first_alone);
    tcase_add_test(t, a_start_finds_other_tenants_for_those_that_are_gone_or_suspended);
    tcase_add_test(t, a_start_makes_keys_and_tables_again_that_are_missing);
    tcase_add_test(t, a_start_with_no_tenant_to_use_says_so_and_serves);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/support/server.c - a real bigtentd with its own data directory.
 *
 * The server prints "listening on https://127.0.0.1:PORT" on stdout once it accepts connections;
 * the start waits for nothing else. Its log (stderr) is written to a file beside the data
 * directory, and is printed when the server ends in an unexpected way.
 */
#define _GNU_SOURCE
#include "tests/support/server.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/text.h"

#include "base/banned.h"

#define START_TIMEOUT_MS 120000
#define STOP_TIMEOUT_MS  120000
#define LOG_TAIL_BYTES   8192
#define LOG_MAX          (16 * MIB)

bool server_log_says(const struct server *s, const char *text)
{
    struct buf log;
    ck_assert_int_eq(base_file_read(s->log, LOG_MAX, &log, NULL), ERR_OK);
    bool found = memmem(log.ptr, log.len, text, strlen(text)) != NULL;
    base_buf_fini(&log);
    return found;
}

void server_show_log(const struct server *s)
{
    int fd = open(s->log, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    off_t size = lseek(fd, 0, SEEK_END);
    (void)lseek(fd, size > LOG_TAIL_BYTES ? size - LOG_TAIL_BYTES : 0, SEEK_SET);
    char text[LOG_TAIL_BYTES];
    ssize_t n = read(fd, text, sizeof(text));
    if (n > 0)
        (void)fprintf(stderr, "--- end of the server's log ---\n%.*s---\n", (int)n, text);
    (void)close(fd);
}

static void read_operator_key(struct server *s)
{
    char path[PROCESS_PATH + 32];
    (void)snprintf(path, sizeof(path), "%s/operator.key", s->data);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
    ssize_t n = read(fd, s->operator_key, sizeof(s->operator_key) - 1);
    (void)close(fd);
    ck_assert_int_gt(n, 1);
    ck_assert_msg(s->operator_key[n - 1] == '\n', "operator.key is not one line");
    s->operator_key[n - 1] = '\0';
    ck_assert_ptr_null(strchr(s->operator_key, '\n'));
}

void server_create(struct server *s)
{
    memset(s, 0, sizeof(*s));
    s->stdout_fd = -1;
    s->keeper_fd = process_temp_dir(s->root);
    (void)snprintf(s->data, sizeof(s->data), "%s/data", s->root);
    (void)snprintf(s->log, sizeof(s->log), "%s/server.log", s->root);
    (void)snprintf(s->ca, sizeof(s->ca), "%s/ca.pem", s->data);
    char program[PROCESS_PATH];
    process_program("bigtentd", program);
    const char *argv[] = {program, "init", "--data", s->data, NULL};
    static struct process_result result;
    process_run(argv, NULL, 60000, &result);
    ck_assert_msg(result.exit_code == 0, "bigtentd init: exit %d: %s", result.exit_code,
                  result.output);
    read_operator_key(s);
}

/* Returns the port between mark and "\n" in text; 0 when it is not complete yet. */
static uint16_t find_port(const char *text, const char *mark)
{
    const char *at = strstr(text, mark);
    if (at == NULL)
        return 0;
    at += strlen(mark);
    size_t digits = strspn(at, "0123456789");
    uint64_t port = 0;
    if (at[digits] == '\0' || base_parse_u64(base_slice(at, digits), &port) != ERR_OK)
        return 0;
    return port <= UINT16_MAX ? (uint16_t)port : 0;
}

static bool has_option(const struct server *s, const char *name)
{
    for (size_t i = 0; i < SERVER_OPTIONS && s->options[i] != NULL; i++) {
        if (strcmp(s->options[i], name) == 0)
            return true;
    }
    return false;
}

void server_launch(struct server *s, const char *const *env)
{
    /* A small file system is enough for a test. */
    static const char *const DEFAULTS[][2] = {{"--listen", "127.0.0.1:0"}, {"--headroom-mb", "8"}};
    ck_assert_int_eq(s->pid, 0);
    char program[PROCESS_PATH];
    process_program("bigtentd", program);
    const char *argv[9 + SERVER_OPTIONS] = {program, "serve", "--data", s->data};
    size_t n = 4;
    for (size_t i = 0; i < sizeof DEFAULTS / sizeof DEFAULTS[0]; i++) {
        if (has_option(s, DEFAULTS[i][0]))
            continue;
        argv[n++] = DEFAULTS[i][0];
        argv[n++] = DEFAULTS[i][1];
    }
    for (size_t i = 0; i < SERVER_OPTIONS && s->options[i] != NULL; i++)
        argv[n++] = s->options[i];
    s->port = 0;
    s->pid = process_start(argv, env, s->log, &s->stdout_fd);
}

/* Cleans up after the process was reaped. */
static int ended(struct server *s, int wait_status)
{
    s->pid = 0;
    (void)close(s->stdout_fd);
    s->stdout_fd = -1;
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

int server_wait_end(struct server *s, int timeout_ms)
{
    int status = 0;
    if (!process_wait(s->pid, process_bound_ms(timeout_ms), &status)) {
        server_show_log(s);
        ck_abort_msg("bigtentd still runs after %d ms", process_bound_ms(timeout_ms));
    }
    return ended(s, status);
}

bool server_up_or_ended(struct server *s, int *out_code)
{
    static char text[4096];
    size_t len = 0;
    uint64_t end_ns = base_monotonic_ns() + (uint64_t)process_bound_ms(START_TIMEOUT_MS) * 1000000u;
    text[0] = '\0';
    while (s->port == 0) {
        struct pollfd p = {s->stdout_fd, POLLIN, 0};
        if (poll(&p, 1, 100) == 1) {
            ssize_t n = read(s->stdout_fd, text + len, sizeof(text) - 1 - len);
            if (n <= 0) {
                *out_code = server_wait_end(s, STOP_TIMEOUT_MS);
                return false;
            }
            len += (size_t)n;
            text[len] = '\0';
        } else if (base_monotonic_ns() > end_ns) {
            server_show_log(s);
            ck_abort_msg("bigtentd serve neither listens nor ends; it wrote \"%s\"", text);
        }
        s->port = find_port(text, "listening on https://127.0.0.1:");
        s->plain_port = find_port(text, "BIGTABLE_EMULATOR_HOST=127.0.0.1:");
    }
    return true;
}

/* Returns whether a port that the test chose, and that another process may hold briefly, was in use
 * at the server's last start; log_before: length of the log of earlier starts in bytes. */
static bool port_was_taken(const struct server *s, size_t log_before)
{
    struct buf log;
    if (!has_option(s, "--listen"))
        return false;
    ck_assert_int_eq(base_file_read(s->log, LOG_MAX, &log, NULL), ERR_OK);
    struct slice last = base_slice_skip(base_buf_slice(&log), log_before);
    bool taken = last.len > 0 && memmem(last.ptr, last.len, "in use", strlen("in use")) != NULL;
    base_buf_fini(&log);
    return taken;
}

struct start {
    struct server *server;
    const char *const *env;
};

static bool comes_up(void *arg)
{
    const struct start *start = arg;
    struct server *s = start->server;
    struct stat st;
    size_t log_before = stat(s->log, &st) == 0 ? (size_t)st.st_size : 0;
    int code = 0;
    server_launch(s, start->env);
    if (server_up_or_ended(s, &code))
        return true;
    if (!port_was_taken(s, log_before)) {
        server_show_log(s);
        ck_abort_msg("bigtentd serve did not come up; exit %d", code);
    }
    return false;
}

void server_start(struct server *s, const char *const *env)
{
    process_await(comes_up, &(struct start){s, env}, "the port of a server");
}

void server_stop(struct server *s)
{
    ck_assert_int_gt(s->pid, 0);
    (void)kill(s->pid, SIGTERM);
    int code = server_wait_end(s, STOP_TIMEOUT_MS);
    if (code != 0) {
        server_show_log(s);
        ck_abort_msg("bigtentd ended with %d after SIGTERM", code);
    }
}

/* Outputs field `wanted` (from 3 on) of /proc/PID/stat; "" when the process does not exist. */
static void stat_field(pid_t pid, int wanted, char *out, size_t size)
{
    char path[64];
    char text[2048];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    out[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strrchr(text, ')'); /* the name before it may hold anything */
    for (int field = 2; at != NULL && field < wanted; field++) {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    if (at != NULL)
        (void)snprintf(out, size, "%.*s", (int)strcspn(at, " \n"), at);
}

int server_end_of_runner(const struct server *s)
{
    char field[32];
    uint64_t status = 0;
    ck_assert_int_gt(s->pid, 0);
    (void)kill(s->pid, SIGTERM);
    struct pollfd end = {(int)syscall(SYS_pidfd_open, s->pid, 0), POLLIN, 0};
    ck_assert_int_ge(end.fd, 0);
    if (poll(&end, 1, process_bound_ms(STOP_TIMEOUT_MS)) != 1) {
        server_show_log(s);
        ck_abort_msg("bigtentd does not end after SIGTERM");
    }
    (void)close(end.fd);
    stat_field(s->pid, 52, field, sizeof(field));
    ck_assert_int_eq(base_parse_u64(base_slice_text(field), &status), ERR_OK);
    return WIFEXITED((int)status) ? WEXITSTATUS((int)status) : 128 + WTERMSIG((int)status);
}

void server_kill(struct server *s)
{
    ck_assert_int_gt(s->pid, 0);
    (void)kill(s->pid, SIGKILL);
    int code = server_wait_end(s, STOP_TIMEOUT_MS);
    if (code != 128 + SIGKILL) {
        server_show_log(s);
        ck_abort_msg("bigtentd had ended with %d before it was killed", code);
    }
}

void server_remove(struct server *s)
{
    if (s->pid > 0)
        server_kill(s);
    if (s->root[0] != '\0' && s->stdout_fd >= 0)
        (void)close(s->stdout_fd);
    if (s->root[0] != '\0')
        process_temp_dir_remove(s->root, s->keeper_fd);
    memset(s, 0, sizeof(*s));
}

uint64_t server_rss_kib(const struct server *s)
{
    char path[64], line[256];
    uint64_t kib = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)s->pid);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof(line), f) != NULL) {
        const char *digits = line + strcspn(line, "0123456789");
        if (strncmp(line, "VmRSS:", 6) == 0)
            ck_assert_int_eq(base_parse_u64(base_slice(digits, strspn(digits, "0123456789")), &kib),
                             ERR_OK);
    }
    (void)fclose(f);
    return kib;
}

/*
 * tests/cli/program.h - bigtent as a person or a script runs it: arguments, environment, input, a
 * pipe or a terminal, and what came of it.
 */
#ifndef TESTS_CLI_PROGRAM_H
#define TESTS_CLI_PROGRAM_H

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/support/process.h"

#define RUN_OUT_BYTES (2048U * 1024U)
#define RUN_ARGS      48

/* How to run it. Zero: no key, no CA, the URL of a port nobody listens on, stdin empty. */
struct setup {
    const char *url;
    const char *key;
    const char *cacert;
    const char *input;       /* on stdin, as a file */
    int input_fd;            /* or this descriptor when > 0 */
    const char *stdout_path; /* instead of a pipe */
    int stdout_fd;           /* or this descriptor when > 0 */
    bool terminal;           /* stdin, stdout and stderr are a terminal */
    unsigned columns;        /* of it; 0: 100 */
};

struct run {
    pid_t pid;
    int out_fd;
    int err_fd; /* -1 with a terminal: everything comes by out_fd */
    int code;   /* 128 + signal when a signal ended it */
    long max_rss_kib;
    size_t out_len; /* all of it, also what did not fit into out */
    size_t err_len;
    char *out; /* of RUN_OUT_BYTES, as err; made by the first start, gone with the test's process */
    char *err;
};

/* Port 1 is tcpmux's, which no one runs. */
static inline const char *nobody_url(void)
{
    return "https://127.0.0.1:1";
}

static inline void set_or_unset(const char *name, const char *value)
{
    if (value != NULL)
        (void)setenv(name, value, 1); /* cannot fail but for memory */
    else
        (void)unsetenv(name);
}

static inline int input_of(const struct setup *s)
{
    if (s->input_fd > 0)
        return s->input_fd;
    if (s->input == NULL)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("input", MFD_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    size_t len = strlen(s->input);
    ck_assert_int_eq(write(fd, s->input, len), (ssize_t)len);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* In the child: never returns. */
static inline void become_bigtent(const struct setup *s, const int fds[3], const char *tty,
                                  const char *const *argv)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_or_unset("BIGTENT_URL", s->url != NULL ? s->url : nobody_url());
    set_or_unset("BIGTENT_KEY", s->key);
    set_or_unset("BIGTENT_CACERT", s->cacert);
    set_or_unset("https_proxy", NULL);
    set_or_unset("HTTPS_PROXY", NULL);
    set_or_unset("ALL_PROXY", NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGHUP, SIG_DFL);
    (void)signal(SIGQUIT, SIG_DFL);
    if (tty != NULL) {
        (void)setsid();
        int fd = open(tty, O_RDWR);
        struct winsize size = {.ws_row = 24,
                               .ws_col = (unsigned short)(s->columns > 0 ? s->columns : 100)};
        (void)ioctl(fd, TIOCSWINSZ, &size);
        for (int i = 0; i < 3; i++)
            (void)dup2(fd, i);
        if (s->input_fd > 0)
            (void)dup2(s->input_fd, 0);
    } else {
        for (int i = 0; i < 3; i++)
            (void)dup2(fds[i], i);
    }
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static inline int open_terminal(char name[64])
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ck_assert_int_ge(master, 0);
    ck_assert_int_eq(grantpt(master), 0);
    ck_assert_int_eq(unlockpt(master), 0);
    ck_assert_int_eq(ptsname_r(master, name, 64), 0);
    return master;
}

/* args end with NULL. */
static inline void run_start(struct run *r, const struct setup *s, const char *const *args)
{
    static char program[PROCESS_PATH];
    const char *argv[RUN_ARGS] = {program};
    process_program("bigtent", program);
    size_t n = 1;
    for (; args[n - 1] != NULL; n++) {
        ck_assert_uint_lt(n, RUN_ARGS - 1);
        argv[n] = args[n - 1];
    }
    *r = (struct run){.out = r->out != NULL ? r->out : base_new(RUN_OUT_BYTES),
                      .err = r->err != NULL ? r->err : base_new(RUN_OUT_BYTES)};
    r->out[0] = r->err[0] = '\0';
    char tty[64];
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    int in = input_of(s);
    if (s->terminal) {
        out[0] = open_terminal(tty);
    } else {
        ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
        ck_assert_int_eq(pipe2(err, O_CLOEXEC), 0);
    }
    if (s->stdout_path != NULL) {
        (void)close(out[1]);
        out[1] = open(s->stdout_path, O_WRONLY | O_CLOEXEC);
        ck_assert_int_ge(out[1], 0);
    }
    (void)fflush(NULL);
    r->pid = fork();
    ck_assert_int_ge(r->pid, 0);
    const int fds[3] = {in, s->stdout_fd > 0 ? s->stdout_fd : out[1], err[1]};
    if (r->pid == 0)
        become_bigtent(s, fds, s->terminal ? tty : NULL, argv);
    if (in != s->input_fd)
        (void)close(in);
    if (out[1] >= 0)
        (void)close(out[1]);
    if (err[1] >= 0)
        (void)close(err[1]);
    r->out_fd = out[0];
    r->err_fd = err[0];
}

/* Read once into text; false at the end. */
static inline bool take_output(int fd, char text[RUN_OUT_BYTES], size_t *len)
{
    char piece[65536];
    ssize_t n = read(fd, piece, sizeof piece);
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0)
        return false; /* a terminal's end is EIO */
    size_t space = *len < RUN_OUT_BYTES - 1 ? RUN_OUT_BYTES - 1 - *len : 0;
    size_t kept = (size_t)n < space ? (size_t)n : space;
    memcpy(text + (*len < RUN_OUT_BYTES ? *len : 0), piece, kept);
    *len += (size_t)n;
    text[*len < RUN_OUT_BYTES ? *len : RUN_OUT_BYTES - 1] = '\0';
    return true;
}

/* Read until `until` stands in the output (NULL: until the end). */
static inline void run_read(struct run *r, const char *until)
{
    uint64_t end_ns = base_monotonic_ns() + (uint64_t)process_await_ms() * 1000000u;
    while (r->out_fd >= 0 || r->err_fd >= 0) {
        if (until != NULL && (strstr(r->out, until) != NULL || strstr(r->err, until) != NULL))
            return;
        struct pollfd p[2] = {{r->out_fd, POLLIN, 0}, {r->err_fd, POLLIN, 0}};
        (void)poll(p, 2, 200);
        ck_assert_msg(base_monotonic_ns() < end_ns, "bigtent takes too long; it wrote: %s%s",
                      r->out, r->err);
        if (p[0].revents != 0 && !take_output(r->out_fd, r->out, &r->out_len)) {
            (void)close(r->out_fd);
            r->out_fd = -1;
        }
        if (p[1].revents != 0 && !take_output(r->err_fd, r->err, &r->err_len)) {
            (void)close(r->err_fd);
            r->err_fd = -1;
        }
    }
}

static inline void run_finish(struct run *r)
{
    run_read(r, NULL);
    int status = 0;
    struct rusage usage;
    while (wait4(r->pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    r->pid = 0;
    r->max_rss_kib = usage.ru_maxrss;
    r->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void run_all(struct run *r, const struct setup *s, const char *const *args)
{
    run_start(r, s, args);
    run_finish(r);
}

/* bigtent(&r, &setup, "tenant", "list") */
#define bigtent(r, s, ...) run_all((r), (s), (const char *const[]){__VA_ARGS__, NULL})

#define EXPECT_CODE(r, wanted)                                                                     \
    ck_assert_msg((r)->code == (wanted), "exit %d, expected %d; stdout: %.3000s; stderr: %.3000s", \
                  (r)->code, (wanted), (r)->out, (r)->err)
#define EXPECT_IN(text, wanted)                                                                    \
    ck_assert_msg(strstr((text), (wanted)) != NULL, "\"%s\" is not in: %.4000s", (wanted), (text))
#define EXPECT_NOT_IN(text, unwanted)                                                              \
    ck_assert_msg(strstr((text), (unwanted)) == NULL, "\"%s\" is in: %.4000s", (unwanted), (text))

/* What stands behind "name " on a line of plain output; in static memory. */
static inline const char *plain_value(const struct run *r, const char *name)
{
    static char value[1024];
    size_t name_len = strlen(name);
    for (const char *line = r->out; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, name_len) == 0 && line[name_len] == ' ') {
            const char *from = line + name_len + 1;
            (void)snprintf(value, sizeof value, "%.*s", (int)strcspn(from, "\n"), from);
            return value;
        }
    }
    ck_abort_msg("no \"%s\" in: %s", name, r->out);
}

static inline void copy_plain_value(const struct run *r, const char *name, char *out, size_t size)
{
    const char *value = plain_value(r, name);
    size_t len = strlen(value);
    ck_assert_uint_lt(len, size);
    memcpy(out, value, len + 1);
}

#endif

/*
 * tests/support/process.c - fork, exec, wait; and the keeper.
 *
 * libcheck kills a test that runs too long, with its whole process group, and ends a failed test
 * without its teardown. So cleanup must not depend on the test: each temporary directory has a
 * keeper, a forked process in its own group that reads from a pipe without writes. The read returns
 * when the last process of the test has ended, and then the keeper removes the directory.
 */
#define _GNU_SOURCE
#include "tests/support/process.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

#include "base/banned.h"

extern char **environ;

#define AWAIT_MS 60000

int process_await_ms(void)
{
    return AWAIT_MS * process_patience();
}

int process_bound_ms(int ms)
{
    return (ms < AWAIT_MS ? AWAIT_MS : ms) * process_patience();
}

void process_await(bool (*condition)(void *arg), void *arg, const char *what)
{
    uint64_t end_ns = base_monotonic_ns() + (uint64_t)process_await_ms() * 1000000u;
    while (!condition(arg)) {
        ck_assert_msg(base_monotonic_ns() < end_ns, "waited in vain for %s", what);
        process_sleep_ms(5);
    }
}

void process_sleep_ms(int ms)
{
    struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000L};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

long process_env_number(const char *name, long fallback)
{
    const char *text = getenv(name);
    uint64_t number = 0;
    if (text == NULL || base_parse_u64(base_slice_text(text), &number) != ERR_OK)
        return fallback;
    return (long)number;
}

int process_patience(void)
{
    long factor = process_env_number("CK_TIMEOUT_MULTIPLIER", 1);
    return factor < 1 ? 1 : (int)factor;
}

long process_rounds(long whole)
{
    long divisor = process_env_number("ROUNDS_DIVISOR", 1);
    long rounds = whole / (divisor < 1 ? 1 : divisor);
    return rounds < 1 ? 1 : rounds;
}

bool process_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#else
    return false;
#endif
}

void process_program(const char *name, char out[PROCESS_PATH])
{
    const char *dir = getenv("BIGTENT_BIN_DIR");
    char self[PROCESS_PATH];
    if (dir == NULL) {
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
        ck_assert_msg(n > 0, "/proc/self/exe: %s", strerror(errno));
        self[n] = '\0';
        char *slash = strrchr(self, '/');
        ck_assert_ptr_nonnull(slash);
        *slash = '\0';
        dir = self;
    }
    int n = snprintf(out, PROCESS_PATH, "%s/%s", dir, name);
    ck_assert(n > 0 && n < PROCESS_PATH);
    ck_assert_msg(access(out, X_OK) == 0, "%s: %s", out, strerror(errno));
}

/* --- temporary directories -------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    int rc = kind == FTW_DP ? rmdir(path) : unlink(path);
    return rc == 0 || errno == ENOENT ? 0 : -1;
}

static void remove_tree(const char *path)
{
    /* A recently killed server may still be releasing its files. */
    for (int i = 0; i < 50; i++) {
        if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT)
            return;
        process_sleep_ms(100);
    }
}

static _Noreturn void keeper(const char *path, int read_fd)
{
    char byte;
    (void)setpgid(0, 0); /* not reached by libcheck's group kill */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    while (read(read_fd, &byte, 1) < 0 && errno == EINTR) {
    }
    if (getenv("BIGTENT_TEST_KEEP") == NULL)
        remove_tree(path);
    _exit(0);
}

/* Creates a directory with a keeper; -1: errno has the reason. */
static int temp_dir_make(char out[PROCESS_PATH])
{
    const char *base = getenv("TMPDIR");
    int n = snprintf(out, PROCESS_PATH, "%s/bigtent-test.XXXXXX", base != NULL ? base : "/tmp");
    int ends[2];
    if (n < 0 || n >= PROCESS_PATH || mkdtemp(out) == NULL || pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return -1;
    if (pid == 0) {
        /* Forks twice, so that init reaps the keeper instead of the test. */
        if (fork() != 0)
            _exit(0);
        (void)close(ends[1]);
        keeper(out, ends[0]);
    }
    (void)close(ends[0]);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return ends[1];
}

int process_temp_dir(char out[PROCESS_PATH])
{
    int keeper_fd = temp_dir_make(out);
    ck_assert_msg(keeper_fd >= 0, "%s: %s", out, strerror(errno));
    return keeper_fd;
}

void process_temp_dir_remove(const char *path, int keeper_fd)
{
    if (getenv("BIGTENT_TEST_KEEP") == NULL)
        remove_tree(path);
    (void)close(keeper_fd);
}

static char shared_dir[PROCESS_PATH];
static bool has_shared_dir;

/* Does not assert, because it runs outside tests. */
void process_shared_dir_make(void)
{
    has_shared_dir = temp_dir_make(shared_dir) >= 0;
}

const char *process_shared_dir(void)
{
    ck_assert_msg(has_shared_dir, "the runner could make no directory for its tests");
    return shared_dir;
}

/* --- programs --------------------------------------------------------------------------------- */

static _Noreturn void become(const char *const *argv, char **environment, int out_fd, int err_fd,
                             pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(126);
    int null_fd = open("/dev/null", O_RDONLY);
    (void)dup2(null_fd, 0);
    (void)dup2(out_fd, 1);
    (void)dup2(err_fd, 2);
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    /* execve takes char *const[] for historical reasons and changes nothing. */
    execve(argv[0], (char *const *)(uintptr_t)argv, environment);
    _exit(127);
}

#define ENVIRONMENT_MAX 512

static pid_t spawn(const char *const *argv, const char *const *env, int out_fd, int err_fd)
{
    static char *environment[ENVIRONMENT_MAX];
    size_t n = 0;
    /* getenv returns the first of two equal names, so additions come first. */
    for (size_t i = 0; env != NULL && env[i] != NULL && n < ENVIRONMENT_MAX / 2; i++)
        environment[n++] = (char *)(uintptr_t)env[i];
    for (size_t i = 0; environ[i] != NULL && n < ENVIRONMENT_MAX - 1; i++)
        environment[n++] = environ[i];
    environment[n] = NULL;
    (void)fflush(NULL);
    pid_t parent = getpid();
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        become(argv, environment, out_fd, err_fd, parent);
    return pid;
}

pid_t process_start(const char *const *argv, const char *const *env, const char *log_path,
                    int *out_stdout_fd)
{
    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ck_assert_msg(log >= 0, "%s: %s", log_path, strerror(errno));
    int ends[2] = {-1, -1};
    if (out_stdout_fd != NULL)
        ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = spawn(argv, env, out_stdout_fd != NULL ? ends[1] : log, log);
    (void)close(log);
    if (out_stdout_fd != NULL) {
        (void)close(ends[1]);
        *out_stdout_fd = ends[0];
    }
    return pid;
}

bool process_wait(pid_t pid, int timeout_ms, int *out_wait_status)
{
    uint64_t end_ns = base_monotonic_ns() + (uint64_t)timeout_ms * 1000000u;
    int pause_ms = 1;
    for (;;) {
        pid_t got = waitpid(pid, out_wait_status, WNOHANG);
        if (got == pid)
            return true;
        ck_assert_msg(got == 0 || errno == EINTR, "waitpid: %s", strerror(errno));
        if (base_monotonic_ns() >= end_ns)
            return false;
        process_sleep_ms(pause_ms);
        if (pause_ms < 16)
            pause_ms *= 2;
    }
}

/* Reads until the end of the pipe or the timeout. */
static void collect(int fd, uint64_t end_ns, struct process_result *out)
{
    for (;;) {
        uint64_t now = base_monotonic_ns();
        struct pollfd p = {fd, POLLIN, 0};
        if (now >= end_ns || poll(&p, 1, (int)((end_ns - now) / 1000000u) + 1) <= 0)
            return;
        char spare[4096];
        size_t room = sizeof(out->output) - 1 - out->output_len;
        ssize_t n = room > 0 ? read(fd, out->output + out->output_len, room)
                             : read(fd, spare, sizeof(spare));
        if (n <= 0)
            return;
        if (room > 0)
            out->output_len += (size_t)n;
    }
}

void process_run(const char *const *argv, const char *const *env, int timeout_ms,
                 struct process_result *out)
{
    memset(out, 0, sizeof(*out));
    timeout_ms = process_bound_ms(timeout_ms);
    uint64_t end_ns = base_monotonic_ns() + (uint64_t)timeout_ms * 1000000u;
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = spawn(argv, env, ends[1], ends[1]);
    (void)close(ends[1]);
    collect(ends[0], end_ns, out);
    int status = 0;
    uint64_t now = base_monotonic_ns();
    int left_ms = now < end_ns ? (int)((end_ns - now) / 1000000u) : 0;
    if (!process_wait(pid, left_ms, &status)) {
        out->timed_out = true;
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
    }
    (void)close(ends[0]);
    out->output[out->output_len] = '\0';
    out->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

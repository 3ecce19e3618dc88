/*
 * cli/move_pairs.c - see move_pairs.h.
 *
 * The child's standard input, a file in memory, holds the key after which it continues. Its stderr
 * is discarded: errors are in the stream. The child has its own process group, so that Ctrl-C
 * reaches only the parent, which records the progress.
 */
#define _GNU_SOURCE
#include "cli/move_pairs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/pair_stream.h"
#include "cli/out.h"

#include "base/banned.h"

#define PROGRAM     "bigtentd"
#define POLL_MS     200
#define TEXT_BYTES  4096
#define MOST_BYTES  (CLI_MOVE_KEY_BYTES + LIM_CELL_BYTES_HARD + 2 * CLI_READ_BYTES)
#define EXIT_NO_RUN 127 /* exit code of posix_spawnp's child when it cannot run the program */

extern char **environ;

/* --- starting ---------------------------------------------------------------------------------
 */

/* Outputs "directory of this program/bigtentd" if that file exists. */
static bool find_beside(char out[BASE_PATH_BYTES])
{
    ssize_t n = readlink("/proc/self/exe", out, BASE_PATH_BYTES - sizeof PROGRAM - 1);
    char *slash = n > 0 ? memrchr(out, '/', (size_t)n) : NULL;
    if (slash == NULL)
        return false;
    memcpy(slash + 1, PROGRAM, sizeof PROGRAM);
    return access(out, X_OK) == 0;
}

static int key_file(const struct cli_pairs_request *request)
{
    int fd = memfd_create("after", MFD_CLOEXEC);
    size_t left = request->is_after ? request->after.len : 0;
    const uint8_t *from = request->after.ptr;
    while (fd >= 0 && left > 0) {
        ssize_t n = write(fd, from, left);
        if (n < 0) {
            (void)close(fd); /* nothing will read it */
            return -1;
        }
        from += n;
        left -= (size_t)n;
    }
    if (fd >= 0 && lseek(fd, 0, SEEK_SET) != 0) {
        (void)close(fd); /* likewise */
        return -1;
    }
    return fd;
}

/* Starts the child, with signals unblocked: this program's threads block all of them. */
static int spawn(struct cli_pairs *p, const struct cli_pairs_request *request, int in, int out)
{
    char beside[BASE_PATH_BYTES];
    const char *program = request->program;
    if (program == NULL)
        program = find_beside(beside) ? beside : PROGRAM;
    const char *argv[] = {
        program, "read-database", "--column-family", request->family, "--after", "--", request->dir,
        NULL};
    if (!request->is_after)
        memmove(&argv[4], &argv[5], 3 * sizeof argv[0]);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none;
    sigset_t defaults;
    (void)sigemptyset(&none); /* these cannot fail */
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGPIPE);
    (void)sigaddset(&defaults, SIGINT);
    INVARIANT(posix_spawn_file_actions_init(&files) == 0 && posix_spawnattr_init(&attr) == 0);
    INVARIANT(posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO) == 0 &&
              posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO) == 0 &&
              posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0) ==
                  0);
    INVARIANT(posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                  POSIX_SPAWN_SETPGROUP) == 0 &&
              posix_spawnattr_setsigmask(&attr, &none) == 0 &&
              posix_spawnattr_setsigdefault(&attr, &defaults) == 0 &&
              posix_spawnattr_setpgroup(&attr, 0) == 0);
    int error =
        posix_spawnp(&p->pid, program, &files, &attr, (char *const *)(uintptr_t)argv, environ);
    if (error != 0)
        p->pid = 0;
    (void)posix_spawnattr_destroy(&attr); /* cannot fail */
    (void)posix_spawn_file_actions_destroy(&files);
    if (error != 0)
        cli_say("cannot start %s: %s", program, strerror(error));
    return error;
}

static enum cli_exit start(struct cli_pairs *p, const struct cli_pairs_request *request)
{
    int out[2] = {-1, -1};
    int in = key_file(request);
    if (in < 0 || pipe2(out, O_CLOEXEC) != 0) {
        enum cli_exit e = cli_fail(CLI_USAGE, "cannot make a pipe: %s", strerror(errno));
        if (in >= 0)
            (void)close(in); /* nothing will read it */
        return e;
    }
    int error = spawn(p, request, in, out[1]);
    p->fd = out[0];
    (void)close(out[1]); /* the child has its own */
    (void)close(in);
    return error == 0 ? CLI_OK : CLI_USAGE;
}

/* --- bytes ------------------------------------------------------------------------------------
 */

static enum cli_exit ended_early(struct cli_pairs *p)
{
    int status = 0;
    (void)close(p->fd); /* ends a child that still writes */
    p->fd = -1;
    pid_t pid = p->pid;
    p->pid = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (atomic_load(p->stop))
        return CLI_INTERRUPTED;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_RUN)
        return cli_fail(CLI_USAGE, "bigtentd, which reads databases, cannot be run; name it with "
                                   "--reader");
    if (WIFSIGNALED(status))
        return cli_fail(CLI_CHECK_FAILED, "%s: its reader was ended by signal %d", p->name,
                        WTERMSIG(status));
    return cli_fail(CLI_CHECK_FAILED,
                    "%s: its reader ended before the end of the database, with status %d", p->name,
                    WEXITSTATUS(status));
}

static enum cli_exit read_some(struct cli_pairs *p)
{
    struct pollfd in = {.fd = p->fd, .events = POLLIN};
    if (base_buf_reserve(&p->bytes, CLI_READ_BYTES) != ERR_OK)
        return cli_fail(CLI_REFUSED, "out of memory for a value of %s", p->name);
    while (!atomic_load(p->stop)) {
        int ready = poll(&in, 1, POLL_MS);
        if (ready <= 0)
            continue; /* check stop */
        ssize_t n = read(p->fd, base_buf_end(&p->bytes), CLI_READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return ended_early(p);
        p->bytes.len += (size_t)n;
        return CLI_OK;
    }
    return CLI_INTERRUPTED;
}

/* Reads until at least count bytes from `at` on are available. */
static enum cli_exit need(struct cli_pairs *p, size_t count)
{
    enum cli_exit e = CLI_OK;
    if (p->bytes.len - p->at >= count)
        return CLI_OK;
    base_buf_consume(&p->bytes, p->at);
    p->at = 0;
    while (e == CLI_OK && p->bytes.len < count)
        e = read_some(p);
    return e;
}

static struct slice take(struct cli_pairs *p, size_t count)
{
    struct slice bytes = base_slice(p->bytes.ptr + p->at, count);
    p->at += count;
    return bytes;
}

static enum cli_exit pass_over(struct cli_pairs *p, uint64_t count)
{
    enum cli_exit e = CLI_OK;
    while (e == CLI_OK && count > 0) {
        uint64_t step = count < CLI_READ_BYTES ? count : CLI_READ_BYTES;
        e = need(p, step);
        if (e == CLI_OK)
            p->at += step;
        count -= step;
    }
    return e;
}

/* --- frames -----------------------------------------------------------------------------------
 */

static enum cli_exit is_none(const struct cli_pairs *p)
{
    return cli_fail(CLI_CHECK_FAILED, "%s: what its reader sends is no stream of pairs", p->name);
}

static enum cli_exit take_failure(struct cli_pairs *p, uint32_t len)
{
    if (len > TEXT_BYTES)
        return is_none(p);
    enum cli_exit e = need(p, len);
    if (e != CLI_OK)
        return e;
    struct slice text = take(p, len);
    return cli_fail(CLI_CHECK_FAILED, "%.*s", (int)text.len, (const char *)text.ptr);
}

static enum cli_exit take_end(struct cli_pairs *p, uint32_t len, struct cli_pair *out)
{
    if (len != BASE_PAIRS_END_BYTES)
        return is_none(p);
    enum cli_exit e = need(p, len);
    if (e != CLI_OK)
        return e;
    uint64_t count = base_pairs_get_u64(take(p, len).ptr);
    if (count != p->count)
        return cli_fail(CLI_CHECK_FAILED, "%s: %" PRIu64 " of %" PRIu64 " pairs came", p->name,
                        p->count, count);
    out->is_end = true;
    return CLI_OK;
}

/* Handles a mark, which key_len encodes. */
static enum cli_exit take_mark(struct cli_pairs *p, uint32_t key_len, uint32_t value_len,
                               struct cli_pair *out)
{
    if (key_len == BASE_PAIRS_FAILED)
        return take_failure(p, value_len);
    return key_len == BASE_PAIRS_END ? take_end(p, value_len, out) : is_none(p);
}

enum cli_exit cli_pairs_next(struct cli_pairs *p, struct cli_pair *out)
{
    *out = (struct cli_pair){.is_end = false};
    enum cli_exit e = need(p, BASE_PAIRS_HEAD_BYTES);
    if (e != CLI_OK)
        return e;
    const uint8_t *head = take(p, BASE_PAIRS_HEAD_BYTES).ptr;
    uint32_t key_len = base_pairs_get_u32(head);
    uint32_t value_len = base_pairs_get_u32(head + 4);
    if (key_len >= BASE_PAIRS_ABOUT)
        return take_mark(p, key_len, value_len, out);
    p->count++;
    out->key.len = key_len;
    out->value.len = value_len;
    out->is_long = key_len > CLI_MOVE_KEY_BYTES || value_len > LIM_CELL_BYTES_HARD;
    if (out->is_long)
        return pass_over(p, (uint64_t)key_len + value_len);
    e = need(p, (size_t)key_len + value_len);
    if (e != CLI_OK)
        return e;
    out->key = take(p, key_len);
    out->value = take(p, value_len);
    return CLI_OK;
}

/* --- open, next, close ------------------------------------------------------------------------
 */

static enum cli_exit take_about(struct cli_pairs *p)
{
    struct cli_pair none;
    enum cli_exit e = need(p, BASE_PAIRS_MAGIC_LEN + BASE_PAIRS_HEAD_BYTES);
    if (e != CLI_OK)
        return e;
    if (!base_slice_is(take(p, BASE_PAIRS_MAGIC_LEN), BASE_PAIRS_MAGIC))
        return is_none(p);
    const uint8_t *head = take(p, BASE_PAIRS_HEAD_BYTES).ptr;
    uint32_t mark = base_pairs_get_u32(head);
    uint32_t len = base_pairs_get_u32(head + 4);
    if (mark == BASE_PAIRS_FAILED)
        return take_mark(p, mark, len, &none);
    if (mark != BASE_PAIRS_ABOUT || len != BASE_PAIRS_ABOUT_BYTES)
        return is_none(p);
    e = need(p, len);
    if (e != CLI_OK)
        return e;
    const uint8_t *about = take(p, len).ptr;
    p->sequence = base_pairs_get_u64(about);
    p->all_bytes = base_pairs_get_u64(about + 8);
    return CLI_OK;
}

enum cli_exit cli_pairs_open(struct cli_pairs *p, const struct cli_pairs_request *request,
                             const char *name, const atomic_bool *stop)
{
    *p = (struct cli_pairs){.stop = stop, .name = name, .fd = -1};
    base_buf_init(&p->bytes, MOST_BYTES);
    enum cli_exit e = start(p, request);
    return e == CLI_OK ? take_about(p) : e;
}

void cli_pairs_close(struct cli_pairs *p)
{
    if (p->fd >= 0)
        (void)close(p->fd); /* it was only read */
    p->fd = -1;
    if (p->pid > 0) {
        (void)kill(p->pid, SIGKILL); /* it only reads; it may have ended */
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    p->pid = 0;
    base_buf_fini(&p->bytes);
}

/*
 * tests/support/program_try.c - runs, kills and shrinks programs in separate processes.
 *
 * RocksDB's threads do not survive a fork, so this process never opens an engine.
 */
#include "tests/support/program.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/support/process.h"

#include "base/banned.h"

static void *shared_new(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    INVARIANT(p != MAP_FAILED);
    return p;
}

static pid_t start(const char *dir, const struct program_op *ops, size_t count,
                   struct program_record *records, struct program_verdict *shared)
{
    atomic_store(&shared->running, false);
    pid_t child = fork();
    INVARIANT(child >= 0);
    if (child == 0) {
        (void)alarm((unsigned)(30 + count / 200) * (unsigned)process_patience());
        program_run(dir, ops, count, records, shared);
    }
    return child;
}

/* Waits for the child's end; a child without a message in its verdict died unexpectedly. */
static void finish(pid_t child, struct program_verdict *shared)
{
    int status = 0;
    INVARIANT(waitpid(child, &status, 0) == child);
    bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!clean && shared->message[0] == '\0')
        (void)snprintf(shared->message, sizeof shared->message,
                       WIFSIGNALED(status) ? "ended by signal %d" : "ended with %d",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    shared->ok = shared->ok && clean;
}

bool program_try(const struct program_op *ops, size_t count, struct program_verdict *out)
{
    char dir[PROCESS_PATH];
    struct program_verdict *shared = shared_new(sizeof *shared);
    shared->base_us = base_wall_us() / 1000 * 1000;
    int keeper = process_temp_dir(dir);
    finish(start(dir, ops, count, NULL, shared), shared);
    process_temp_dir_remove(dir, keeper);
    *out = *shared;
    (void)munmap(shared, sizeof *shared);
    return out->ok;
}

/* Kills the child; returns false when the child had ended before. */
static bool kill_soon(pid_t child, struct program_verdict *shared, uint32_t us)
{
    while (!atomic_load(&shared->running) && shared->message[0] == '\0' && kill(child, 0) == 0) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0)
            return false;
        (void)usleep(1000);
    }
    (void)usleep(us);
    if (shared->message[0] != '\0' || shared->ok)
        return false;
    (void)kill(child, SIGKILL);
    return true;
}

bool program_try_killed(const struct program_op *ops, size_t count, struct random *rng,
                        unsigned kills, struct program_verdict *out)
{
    char dir[PROCESS_PATH];
    size_t bytes = (count + 1) * sizeof(struct program_record);
    struct program_verdict *shared = shared_new(sizeof *shared);
    struct program_record *records = shared_new(bytes);
    shared->base_us = base_wall_us() / 1000 * 1000;
    int keeper = process_temp_dir(dir);
    for (unsigned i = 0; i < kills; i++) {
        pid_t child = start(dir, ops, count, records, shared);
        bool killed = kill_soon(child, shared, random_below(rng, 60000));
        if (!killed || shared->message[0] != '\0') {
            finish(child, shared);
            break;
        }
        int status = 0;
        INVARIANT(waitpid(child, &status, 0) == child);
        shared->kills += WIFSIGNALED(status);
    }
    if (!shared->ok && shared->message[0] == '\0')
        finish(start(dir, ops, count, records, shared), shared);
    process_temp_dir_remove(dir, keeper);
    *out = *shared;
    (void)munmap(records, bytes);
    (void)munmap(shared, sizeof *shared);
    return out->ok;
}

/* --- shrinking
 * ------------------------------------------------------------------------------------ */

struct shrink {
    struct program_op *ops; /* fails */
    size_t count;
    struct program_op *attempt;
    struct program_verdict *verdict;
    int64_t until_ns;
};

static bool still_fails(struct shrink *s, size_t count)
{
    struct program_verdict verdict;
    if ((int64_t)base_monotonic_ns() > s->until_ns || program_try(s->attempt, count, &verdict) ||
        verdict.invalid)
        return false;
    memcpy(s->ops, s->attempt, count * sizeof s->ops[0]);
    s->count = count;
    *s->verdict = verdict;
    return true;
}

/* Removes pieces of that many operations. */
static void drop_pieces(struct shrink *s, size_t piece)
{
    for (size_t at = 0; at < s->count;) {
        size_t n = piece < s->count - at ? piece : s->count - at;
        memcpy(s->attempt, s->ops, at * sizeof s->ops[0]);
        memcpy(&s->attempt[at], &s->ops[at + n], (s->count - at - n) * sizeof s->ops[0]);
        if (n == s->count || !still_fails(s, s->count - n))
            at += n;
    }
}

/* Sets each byte of an operation that is not 0 to 0, or halves it.
 * Lists have a length of at least one. */
static void simplify(struct shrink *s, size_t index)
{
    for (size_t byte = offsetof(struct program_op, tenant); byte < sizeof s->ops[0]; byte++)
        for (unsigned to = 0; to < 2; to++) {
            uint8_t old = ((const uint8_t *)&s->ops[index])[byte];
            uint8_t new = to == 0 ? 0 : old / 2;
            bool is_count = byte == offsetof(struct program_op, count);
            if (old == 0 || new == old || (is_count && new == 0))
                continue;
            memcpy(s->attempt, s->ops, s->count * sizeof s->ops[0]);
            ((uint8_t *)&s->attempt[index])[byte] = new;
            (void)still_fails(s, s->count);
        }
}

size_t program_shrink(struct program_op *ops, size_t count, struct program_verdict *out)
{
    struct shrink s = {.ops = ops,
                       .count = out->at + 64 < count ? out->at + 64 : count,
                       .attempt = base_new_array(count + 1, sizeof ops[0]),
                       .verdict = out,
                       .until_ns = (int64_t)base_monotonic_ns() + 120000000000};
    for (size_t piece = s.count / 2; piece > 0; piece /= 2)
        drop_pieces(&s, piece);
    for (size_t i = 0; i < s.count && s.count < 64; i++)
        simplify(&s, i);
    drop_pieces(&s, 1);
    base_free(s.attempt);
    return s.count;
}

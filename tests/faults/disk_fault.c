/*
 * tests/faults/disk_fault.c - a library in front of libc (LD_PRELOAD) that has disks fail.
 *
 * The file named by DISK_FAULT_ENV is mapped when the library is loaded; every call below looks
 * into it, and goes on to the next library when its file is none of the test's or all is well.
 *
 * 1. A small disk is a large one of which is counted what lies there: before a call that takes
 *    space the blocks of all files are added up. That costs what a test can afford, is right after
 *    any deletion, and needs no right to mount anything.
 * 2. Calls that libc makes to itself (stdio) do not come by here: RocksDB's own log is never hit.
 * 3. What a server says between its engine's failure and its end can only be looked at when the end
 *    waits. Its main thread looks at the engine's health whenever sigtimedwait is over, so that is
 *    where it is held back, and nothing else of it.
 */
#define _GNU_SOURCE
#include "tests/faults/disk_fault.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

#define BLOCK_BYTES 512 /* of st_blocks */
#define DEPTH_MAX   6
#define NS_PER_S    1000000000LL
#define MOMENT_NS   10000000L

static struct disk_fault *fault; /* NULL: nothing ever fails */

/* The next library's function of the same name. */
#define NEXT(name)                                                                                 \
    static void *_Atomic next_;                                                                    \
    if (next_ == NULL)                                                                             \
        next_ = dlsym(RTLD_NEXT, #name);                                                           \
    __typeof__(name) *next = (__typeof__(name) *)next_

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv(DISK_FAULT_ENV);
    if (path == NULL)
        return;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*fault), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        (void)fprintf(stderr, "disk_fault: cannot map %s\n", path);
        abort();
    }
    (void)close(fd); /* mapped */
    fault = at;
}

/* --- how much lies there ---------------------------------------------------------------------- */

static uint64_t used_under(int parent, const char *name, int depth)
{
    uint64_t used = 0;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    for (const struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;) {
        struct stat st;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
            fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        used +=
            (uint64_t)st.st_blocks * BLOCK_BYTES / (uint64_t)(st.st_nlink > 1 ? st.st_nlink : 1);
        if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
            used += used_under(fd, d->d_name, depth + 1);
    }
    if (dir != NULL)
        (void)closedir(dir); /* only read from */
    return used;
}

static uint64_t space_left(void)
{
    uint64_t space = atomic_load(&fault->space_bytes);
    uint64_t used = used_under(AT_FDCWD, fault->under, 0);
    return used < space ? space - used : 0;
}

/* --- does this call fail -----------------------------------------------------------------------
 */

static bool is_ours(const char *path)
{
    size_t len = strlen(fault->under);
    return strncmp(path, fault->under, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Whether the planned failure hits this one. */
static bool is_hit(enum disk_call call, const char *path)
{
    if ((atomic_load(&fault->calls) & call) == 0 ||
        (fault->only[0] != '\0' && strstr(path, fault->only) == NULL))
        return false;
    uint64_t number = atomic_fetch_add(&fault->seen, 1);
    uint64_t after = atomic_load(&fault->after);
    uint64_t times = atomic_load(&fault->times);
    return number >= after && (times == 0 || number - after < times);
}

/* As a crash: the call is not made, and nothing of the process goes on. */
static void die(void)
{
    (void)kill(getpid(), SIGKILL); /* cannot fail for oneself */
    for (;;)
        (void)pause();
}

/* Woken early: a shorter time. */
static void be_slow(void)
{
    uint32_t ms = atomic_load(&fault->sync_ms);
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    if (ms > 0)
        (void)nanosleep(&pause, NULL);
}

/* Waits until the test lets go. */
static void be_held(uint64_t hold)
{
    const struct timespec moment = {.tv_nsec = MOMENT_NS / 10};
    atomic_fetch_add(&fault->holding, 1);
    while (atomic_load(&fault->hold) == hold)
        (void)nanosleep(&moment, NULL);
    atomic_fetch_sub(&fault->holding, 1);
}

/* The errno with which it fails, 0 when it passes. */
static int verdict(enum disk_call call, const char *path, uint64_t bytes)
{
    int error = 0;
    if (!is_ours(path))
        return 0;
    if (call == DISK_SYNC)
        be_slow();
    if (atomic_load(&fault->read_only) != 0 && (call & DISK_CHANGE) != 0)
        error = EROFS;
    else if (is_hit(call, path)) {
        if (atomic_load(&fault->kills) != 0)
            die();
        uint64_t hold = atomic_load(&fault->hold);
        if (hold != 0)
            be_held(hold);
        else
            error = atomic_load(&fault->error);
    } else if ((call & DISK_MAKE) != 0 && bytes > 0 && atomic_load(&fault->no_inodes) != 0)
        error = ENOSPC;
    else if (bytes > 0 && atomic_load(&fault->space_bytes) != 0 && space_left() < bytes)
        error = ENOSPC;
    if (error != 0)
        atomic_fetch_add(&fault->failed, 1);
    return error;
}

static bool is_armed(void)
{
    return fault != NULL && (atomic_load(&fault->calls) != 0 || atomic_load(&fault->space_bytes) ||
                             atomic_load(&fault->no_inodes) || atomic_load(&fault->read_only) ||
                             atomic_load(&fault->sync_ms));
}

static bool path_fails(enum disk_call call, const char *path, uint64_t bytes)
{
    int before = errno;
    int error = is_armed() ? verdict(call, path, bytes) : 0;
    errno = error != 0 ? error : before;
    return error != 0;
}

static bool fd_fails(enum disk_call call, int fd, uint64_t bytes)
{
    if (!is_armed())
        return false;
    int before = errno;
    char link_path[64];
    char path[DISK_FAULT_PATH];
    (void)snprintf(link_path, sizeof link_path, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link_path, path, sizeof path - 1);
    errno = before;
    if (n <= 0)
        return false;
    path[n] = '\0';
    return path_fails(call, path, bytes);
}

/* --- the calls ---------------------------------------------------------------------------------
 */

static bool open_fails(const char *path, int flags)
{
    bool is_new = (flags & O_CREAT) != 0 && is_armed() && access(path, F_OK) != 0;
    bool changes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0;
    return changes && path_fails(DISK_MAKE, path, is_new ? 1 : 0);
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        NEXT(name);                                                                                \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;             \
        va_end(args);                                                                              \
        return open_fails(path, flags) ? -1 : next(path, flags, mode);                             \
    }

#define WRITE(name, offset_type)                                                                   \
    ssize_t name(int fd, const void *bytes, size_t len, offset_type at)                            \
    {                                                                                              \
        NEXT(name);                                                                                \
        return fd_fails(DISK_WRITE, fd, len) ? -1 : next(fd, bytes, len, at);                      \
    }

#define READ_AT(name, offset_type)                                                                 \
    ssize_t name(int fd, void *bytes, size_t len, offset_type at)                                  \
    {                                                                                              \
        NEXT(name);                                                                                \
        return fd_fails(DISK_READ, fd, 0) ? -1 : next(fd, bytes, len, at);                         \
    }

#define ON_FD(name, call)                                                                          \
    int name(int fd)                                                                               \
    {                                                                                              \
        NEXT(name);                                                                                \
        return fd_fails(call, fd, 0) ? -1 : next(fd);                                              \
    }

#define ON_TWO_PATHS(name, call)                                                                   \
    int name(const char *from, const char *to)                                                     \
    {                                                                                              \
        NEXT(name);                                                                                \
        return path_fails(call, to, 0) ? -1 : next(from, to);                                      \
    }

#define ON_PATH(name, call)                                                                        \
    int name(const char *path)                                                                     \
    {                                                                                              \
        NEXT(name);                                                                                \
        return path_fails(call, path, 0) ? -1 : next(path);                                        \
    }

OPEN(open)
OPEN(open64)
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)
READ_AT(pread, off_t)
READ_AT(pread64, off64_t)
ON_FD(fsync, DISK_SYNC)
ON_FD(fdatasync, DISK_SYNC)
ON_TWO_PATHS(rename, DISK_NAME)
ON_TWO_PATHS(link, DISK_NAME)
ON_PATH(unlink, DISK_REMOVE)
ON_PATH(rmdir, DISK_REMOVE)

ssize_t write(int fd, const void *bytes, size_t len)
{
    NEXT(write);
    return fd_fails(DISK_WRITE, fd, len) ? -1 : next(fd, bytes, len);
}

ssize_t read(int fd, void *bytes, size_t len)
{
    NEXT(read);
    return fd_fails(DISK_READ, fd, 0) ? -1 : next(fd, bytes, len);
}

int mkdir(const char *path, mode_t mode)
{
    NEXT(mkdir);
    return path_fails(DISK_MAKE, path, 1) ? -1 : next(path, mode);
}

int ftruncate(int fd, off_t len)
{
    NEXT(ftruncate);
    return fd_fails(DISK_ALLOCATE, fd, 0) ? -1 : next(fd, len);
}

int fallocate(int fd, int mode, off_t at, off_t len)
{
    NEXT(fallocate);
    return fd_fails(DISK_ALLOCATE, fd, (uint64_t)len) ? -1 : next(fd, mode, at, len);
}

/* Gives the error, does not set it. */
int posix_fallocate(int fd, off_t at, off_t len)
{
    NEXT(posix_fallocate);
    return fd_fails(DISK_ALLOCATE, fd, (uint64_t)len) ? errno : next(fd, at, len);
}

int unlinkat(int fd, const char *name, int flags)
{
    NEXT(unlinkat);
    return fd_fails(DISK_REMOVE, fd, 0) ? -1 : next(fd, name, flags);
}

int statvfs(const char *path, struct statvfs *out)
{
    NEXT(statvfs);
    int rc = next(path, out);
    if (rc != 0 || !is_armed() || !is_ours(path))
        return rc;
    if (atomic_load(&fault->read_only) != 0)
        out->f_flag |= ST_RDONLY;
    if (atomic_load(&fault->no_inodes) != 0)
        out->f_ffree = out->f_favail = 0;
    if (atomic_load(&fault->space_bytes) != 0)
        out->f_bfree = out->f_bavail = space_left() / out->f_frsize;
    return 0;
}

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* A moment at a time, so that a hold is heeded soon, and its end as well. */
int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    NEXT(sigtimedwait);
    const struct timespec moment = {.tv_nsec = MOMENT_NS};
    if (fault == NULL || timeout == NULL)
        return next(set, info, timeout);
    int64_t end_ns = now_ns() + (int64_t)timeout->tv_sec * NS_PER_S + timeout->tv_nsec;
    int signal_number;
    do {
        atomic_store(&fault->is_held, atomic_load(&fault->holds_end));
        signal_number = next(set, info, &moment);
    } while (signal_number < 0 && errno == EAGAIN &&
             (atomic_load(&fault->is_held) != 0 || now_ns() < end_ns));
    return signal_number;
}

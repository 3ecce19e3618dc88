/*
 * base/file.c - small files that must survive a power cut.
 *
 * Mechanism: new content is written to a temporary file next to the target and fsynced there. Then
 * one rename (replace) or link (create: it fails if the name exists) installs it, and the directory
 * is fsynced. The temporary name carries process ID and a counter, so no two writers share one. A
 * temporary file left by a crash is removed by the next writer that generates the same name.
 */
#define _GNU_SOURCE

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

#define TEMP_PATH_BYTES (BASE_PATH_BYTES + 48)
#define READ_BYTES      ((size_t)16 * 1024)

enum err base_file_error(int error)
{
    switch (error) {
    case ENOENT:
        return ERR_NOT_FOUND;
    case EEXIST:
        return ERR_EXISTS;
    case ENAMETOOLONG:
        return ERR_TOO_BIG;
    case ENOSPC:
    case EDQUOT:
        return ERR_STORAGE_FULL;
    case EMFILE:
    case ENFILE:
        return ERR_OVERLOADED; /* it passes when other files are closed */
    default:
        return ERR_IO;
    }
}

/* Reports a failure; the sentence contains errno's text. */
static enum err fail(struct errbuf *eb, const char *verb, const char *path)
{
    int error = errno;
    return base_fail(eb, base_file_error(error), "cannot %s %s: %s", verb, path,
                     strerrordesc_np(error));
}

static int open_retry(const char *path, int flags, mode_t mode)
{
    int fd;
    do {
        fd = open(path, flags | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

static int fsync_retry(int fd)
{
    int result;
    do {
        result = fsync(fd);
    } while (result < 0 && errno == EINTR);
    return result;
}

/* Closes without changing the errno that holds the reason. */
static void close_quietly(int fd)
{
    int error = errno;
    (void)close(fd); /* written bytes were fsynced, or the failure is reported already */
    errno = error;
}

/* --- reading -------------------------------------------------------------------------------- */

static enum err read_all(int fd, const char *path, size_t max, struct buf *out, struct errbuf *eb)
{
    for (;;) {
        /* One byte more than max distinguishes a file that is too big from one that just fits. */
        size_t left = max - out->len;
        size_t wanted = left < READ_BYTES ? left + 1 : READ_BYTES;
        uint8_t chunk[READ_BYTES];
        ssize_t n = read(fd, chunk, wanted);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(eb, "read", path);
        if (n == 0)
            return ERR_OK;
        if ((size_t)n > left)
            return base_fail(eb, ERR_TOO_BIG, "%s is over the limit of %zu bytes", path, max);
        enum err e = base_buf_append(out, base_slice(chunk, (size_t)n));
        if (e != ERR_OK)
            return base_fail(eb, e, "no memory to read %s", path);
    }
}

enum err base_file_read(const char *path, size_t max, struct buf *out, struct errbuf *eb)
{
    base_buf_init(out, max);
    int fd = open_retry(path, O_RDONLY, 0);
    if (fd < 0)
        return fail(eb, "open", path);
    enum err e = read_all(fd, path, max, out, eb);
    close_quietly(fd);
    if (e != ERR_OK) {
        base_buf_fini(out);
        base_buf_init(out, max);
    }
    return e;
}

/* --- directories ---------------------------------------------------------------------------- */

enum err base_dir_sync(const char *path, struct errbuf *eb)
{
    int fd = open_retry(path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return fail(eb, "open directory", path);
    enum err e = fsync_retry(fd) == 0 ? ERR_OK : fail(eb, "fsync directory", path);
    close_quietly(fd);
    return e;
}

/* Syncs the directory that holds path. */
static enum err sync_parent(const char *path, struct errbuf *eb)
{
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        len--;
    while (len > 0 && path[len - 1] != '/')
        len--;
    if (len == 0)
        return base_dir_sync(".", eb);
    char parent[TEMP_PATH_BYTES];
    if (len >= sizeof parent)
        return base_fail(eb, ERR_TOO_BIG, "path of %zu bytes is over the limit", len);
    memcpy(parent, path, len);
    parent[len] = '\0';
    return base_dir_sync(parent, eb);
}

enum err base_dir_make(const char *path, mode_t mode, struct errbuf *eb)
{
    if (mkdir(path, mode) != 0)
        return fail(eb, "make directory", path);
    enum err e = chmod(path, mode) == 0 ? ERR_OK : fail(eb, "set the mode of", path);
    if (e == ERR_OK)
        e = sync_parent(path, eb);
    if (e != ERR_OK)
        (void)rmdir(path); /* best effort; the failure is reported either way */
    return e;
}

static enum err remove_entries(DIR *dir, const char *path, struct errbuf *eb)
{
    errno = 0;
    for (const struct dirent *d = readdir(dir); d != NULL; d = readdir(dir)) {
        bool is_itself = strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0;
        if (!is_itself && unlinkat(dirfd(dir), d->d_name, 0) != 0)
            return fail(eb, "remove a file of", path);
        errno = 0;
    }
    return errno == 0 ? ERR_OK : fail(eb, "look into", path);
}

enum err base_dir_remove(const char *path, struct errbuf *eb)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return errno == ENOENT ? ERR_OK : fail(eb, "look into", path);
    enum err e = remove_entries(dir, path, eb);
    (void)closedir(dir); /* only read from */
    if (e == ERR_OK && rmdir(path) != 0)
        e = fail(eb, "remove", path);
    return e;
}

/* --- writing -------------------------------------------------------------------------------- */

static enum err temp_path(const char *path, char out[TEMP_PATH_BYTES], struct errbuf *eb)
{
    static atomic_uint counter;
    unsigned number = atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
    size_t len = strlen(path);
    if (len >= BASE_PATH_BYTES)
        return base_fail(eb, ERR_TOO_BIG, "path is %zu bytes; the limit is %d", len,
                         BASE_PATH_BYTES - 1);
    (void)snprintf(out, TEMP_PATH_BYTES, "%s.%ld.%u.tmp", path, (long)getpid(), number);
    return ERR_OK;
}

static enum err write_all(int fd, const char *path, struct slice bytes, struct errbuf *eb)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(eb, "write", path);
        bytes = base_slice_skip(bytes, (size_t)n);
    }
    return ERR_OK;
}

/* Writes a complete, fsynced file at temp, or none. */
static enum err write_temp(const char *temp, struct slice bytes, mode_t mode, struct errbuf *eb)
{
    int fd = open_retry(temp, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (fd < 0 && errno == EEXIST && unlink(temp) == 0)
        fd = open_retry(temp, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (fd < 0)
        return fail(eb, "create", temp);
    enum err e = fchmod(fd, mode) == 0 ? ERR_OK : fail(eb, "set the mode of", temp);
    if (e == ERR_OK)
        e = write_all(fd, temp, bytes, eb);
    if (e == ERR_OK && fsync_retry(fd) != 0)
        e = fail(eb, "fsync", temp);
    close_quietly(fd);
    if (e != ERR_OK)
        (void)unlink(temp); /* best effort; the failure is reported either way */
    return e;
}

enum err base_file_replace(const char *path, struct slice bytes, mode_t mode, struct errbuf *eb)
{
    char temp[TEMP_PATH_BYTES];
    enum err e = temp_path(path, temp, eb);
    if (e != ERR_OK)
        return e;
    e = write_temp(temp, bytes, mode, eb);
    if (e != ERR_OK)
        return e;
    if (rename(temp, path) != 0) {
        e = fail(eb, "replace", path);
        (void)unlink(temp); /* best effort; the failure is reported either way */
        return e;
    }
    return sync_parent(path, eb);
}

enum err base_file_create(const char *path, struct slice bytes, mode_t mode, struct errbuf *eb)
{
    char temp[TEMP_PATH_BYTES];
    enum err e = temp_path(path, temp, eb);
    if (e != ERR_OK)
        return e;
    e = write_temp(temp, bytes, mode, eb);
    if (e != ERR_OK)
        return e;
    e = link(temp, path) == 0 ? ERR_OK : fail(eb, "create", path);
    (void)unlink(temp); /* at worst a second name remains; the content is installed or the failure
                         * known */
    return e == ERR_OK ? sync_parent(path, eb) : e;
}

/* --- locks and paths ------------------------------------------------------------------------ */

static int flock_retry(int fd)
{
    int result;
    do {
        result = flock(fd, LOCK_EX | LOCK_NB);
    } while (result < 0 && errno == EINTR);
    return result;
}

enum err base_file_lock(const char *path, int *out_fd, struct errbuf *eb)
{
    int fd = open_retry(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0)
        return fail(eb, "open", path);
    if (flock_retry(fd) == 0) {
        *out_fd = fd;
        return ERR_OK;
    }
    enum err e = errno == EWOULDBLOCK
                     ? base_fail(eb, ERR_LOCKED, "%s is held by another process", path)
                     : fail(eb, "lock", path);
    close_quietly(fd);
    return e;
}

enum err base_path_join(char out[BASE_PATH_BYTES], const char *dir, const char *name,
                        struct errbuf *eb)
{
    size_t dir_len = strlen(dir);
    size_t name_len = strlen(name);
    size_t slash_len = dir_len == 0 || dir[dir_len - 1] == '/' ? 0 : 1;
    if (dir_len >= BASE_PATH_BYTES || name_len >= BASE_PATH_BYTES ||
        dir_len + slash_len + name_len >= BASE_PATH_BYTES)
        return base_fail(eb, ERR_TOO_BIG, "path of %zu bytes; the limit is %d",
                         dir_len + slash_len + name_len, BASE_PATH_BYTES - 1);
    memmove(out, dir, dir_len); /* dir may be out itself: join step by step */
    memcpy(out + dir_len, "/", slash_len);
    memcpy(out + dir_len + slash_len, name, name_len + 1);
    return ERR_OK;
}

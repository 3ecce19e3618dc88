/*
 * migrations/backup_files.c - one loop that reads, hashes and optionally writes, and file names.
 *
 * A file is written under INCOMING, hashed while it is copied, made durable, and renamed to its
 * hash. Under that name it is never written again.
 *
 * 1. A copied file is read once and not needed again: its pages are dropped from the page cache, so
 *    that a backup does not evict pages that requests read.
 * 2. The rate is kept by sleeping for the excess, a block at a time.
 */
#define _GNU_SOURCE
#include "migrations/backup_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/text.h"

#include "base/banned.h"

#define FILES_NAME "files"
#define INCOMING   "incoming"
#define NS_PER_S   1000000000ULL
#define FREE_REAL  UINT64_MAX

static _Atomic uint64_t pretended_free = FREE_REAL;

void mig_files_test_free(uint64_t bytes)
{
    atomic_store(&pretended_free, bytes);
}

static enum err fail(struct errbuf *eb, const char *verb, const char *path)
{
    int error = errno;
    return base_fail(eb, base_file_error(error), "cannot %s %s: %s", verb, path,
                     strerrordesc_np(error));
}

/* --- the copier ------------------------------------------------------------------------------- */

enum err mig_copier_init(struct mig_copier *c, _Atomic uint64_t *done_bytes, struct errbuf *eb)
{
    *c = (struct mig_copier){.done_bytes = done_bytes, .began_ns = base_monotonic_ns()};
    c->block = base_try_alloc(LIM_BACKUP_BLOCK_BYTES);
    return c->block != NULL ? ERR_OK : base_fail(eb, ERR_NO_MEMORY, "no memory to copy files");
}

void mig_copier_fini(struct mig_copier *c)
{
    base_free(c->block);
    c->block = NULL;
}

static void keep_rate(struct mig_copier *c, size_t bytes)
{
    c->copied_bytes += bytes;
    if (c->bytes_per_s == 0)
        return;
    uint64_t due_ns = c->began_ns + (uint64_t)((double)c->copied_bytes / (double)c->bytes_per_s *
                                               (double)NS_PER_S);
    uint64_t now_ns = base_monotonic_ns();
    if (due_ns <= now_ns)
        return;
    struct timespec pause = {.tv_sec = (time_t)((due_ns - now_ns) / NS_PER_S),
                             .tv_nsec = (long)((due_ns - now_ns) % NS_PER_S)};
    (void)nanosleep(&pause, NULL); /* an early wake-up only makes it slightly too fast */
}

static enum err write_all(int fd, const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ERR_IO;
        bytes += n;
        len -= (size_t)n;
    }
    return ERR_OK;
}

/* to: -1: only reads. */
static enum err pump(struct mig_copier *c, int from, int to, EVP_MD_CTX *hash, uint64_t *out_size,
                     const char *path, struct errbuf *eb)
{
    uint64_t size = 0;
    for (;;) {
        if (c->stop != NULL && c->stop(c->ctx))
            return base_fail(eb, ERR_CANCELLED, "stopped while files were copied");
        ssize_t n = read(from, c->block, LIM_BACKUP_BLOCK_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(eb, "read", path);
        if (n == 0)
            break;
        INVARIANT(EVP_DigestUpdate(hash, c->block, (size_t)n) == 1);
        if (to >= 0 && write_all(to, c->block, (size_t)n) != ERR_OK)
            return fail(eb, "copy", path);
        size += (uint64_t)n;
        if (c->done_bytes != NULL)
            atomic_fetch_add(c->done_bytes, (uint64_t)n);
        keep_rate(c, (size_t)n);
    }
    *out_size = size;
    return ERR_OK;
}

static void put_digest(EVP_MD_CTX *hash, struct mig_content *out)
{
    uint8_t digest[MIG_SHA256_TEXT / 2];
    unsigned len = sizeof digest;
    struct buf text;
    INVARIANT(EVP_DigestFinal_ex(hash, digest, &len) == 1 && len == sizeof digest);
    base_buf_init(&text, MIG_SHA256_TEXT);
    enum err rc = base_hex_encode(base_slice(digest, sizeof digest), &text);
    INVARIANT(rc == ERR_OK); /* it fits */
    memcpy(out->sha256, text.ptr, MIG_SHA256_TEXT);
    out->sha256[MIG_SHA256_TEXT] = '\0';
    base_buf_fini(&text);
}

static enum err copy_fd(struct mig_copier *c, int from, int to, const char *path,
                        struct mig_content *out, struct errbuf *eb)
{
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    INVARIANT(hash != NULL && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1);
    enum err rc = pump(c, from, to, hash, &out->size, path, eb);
    if (rc == ERR_OK)
        put_digest(hash, out);
    EVP_MD_CTX_free(hash);
    if (rc == ERR_OK && to >= 0 && fsync(to) != 0)
        rc = fail(eb, "make durable the copy of", path);
    (void)posix_fadvise(from, 0, 0, POSIX_FADV_DONTNEED); /* only advice */
    if (to >= 0)
        (void)posix_fadvise(to, 0, 0, POSIX_FADV_DONTNEED);
    return rc;
}

static enum err copy(struct mig_copier *c, const char *from, const char *to, unsigned mode,
                     struct mig_content *out, struct errbuf *eb)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return fail(eb, "open", from);
    int out_fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    enum err rc = out_fd < 0 || fchmod(out_fd, mode) != 0 ? fail(eb, "make", to)
                                                          : copy_fd(c, in, out_fd, from, out, eb);
    if (out_fd >= 0)
        (void)close(out_fd); /* durable already, or the failure is known */
    (void)close(in);         /* only read from */
    return rc;
}

/* --- the directory ---------------------------------------------------------------------------- */

static enum err files_dir(const char *dir, char out[BASE_PATH_BYTES], struct errbuf *eb)
{
    return base_path_join(out, dir, FILES_NAME, eb);
}

enum err mig_files_prepare(const char *dir, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct errbuf detail = {{0}};
    enum err rc = files_dir(dir, path, eb);
    if (rc == ERR_OK)
        rc = base_dir_make(path, 0700, &detail);
    if (rc == ERR_EXISTS)
        return ERR_OK;
    return rc == ERR_OK ? rc : base_fail(eb, rc, "%s", detail.text);
}

enum err mig_files_path(const char *dir, const char *sha256, char out[BASE_PATH_BYTES],
                        struct errbuf *eb)
{
    enum err rc = files_dir(dir, out, eb);
    return rc == ERR_OK ? base_path_join(out, out, sha256, eb) : rc;
}

bool mig_files_has(const char *dir, const struct mig_content *content)
{
    char path[BASE_PATH_BYTES];
    struct stat st;
    return mig_files_path(dir, content->sha256, path, NULL) == ERR_OK && stat(path, &st) == 0 &&
           S_ISREG(st.st_mode) && (uint64_t)st.st_size == content->size;
}

/* Renames an incoming file to its final name. An existing file of that name with another size is
 * damaged: it is replaced. */
static enum err settle(const char *dir, const char *incoming, const struct mig_content *content,
                       bool *out_is_new, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    *out_is_new = !mig_files_has(dir, content);
    if (!*out_is_new)
        return unlink(incoming) == 0 ? ERR_OK : fail(eb, "remove", incoming);
    enum err rc = mig_files_path(dir, content->sha256, path, eb);
    if (rc == ERR_OK && rename(incoming, path) != 0)
        rc = fail(eb, "name", path);
    if (rc == ERR_OK)
        rc = files_dir(dir, path, eb);
    return rc == ERR_OK ? base_dir_sync(path, eb) : rc;
}

enum err mig_files_take(struct mig_copier *c, const char *dir, const char *from,
                        struct mig_content *out, bool *out_is_new, struct errbuf *eb)
{
    char incoming[BASE_PATH_BYTES];
    enum err rc = mig_files_path(dir, INCOMING, incoming, eb);
    if (rc != ERR_OK)
        return rc;
    (void)unlink(incoming); /* left by a copy that failed */
    rc = copy(c, from, incoming, 0600, out, eb);
    if (rc == ERR_OK)
        rc = settle(dir, incoming, out, out_is_new, eb);
    if (rc != ERR_OK)
        (void)unlink(incoming); /* best effort; the failure is reported either way */
    return rc;
}

static enum err compare(const struct mig_content *is, const struct mig_content *should,
                        struct errbuf *eb)
{
    if (is->size == should->size && strcmp(is->sha256, should->sha256) == 0)
        return ERR_OK;
    return base_fail(eb, ERR_CORRUPT,
                     "the file %s is damaged: %" PRIu64 " bytes instead of %" PRIu64
                     ", or other ones",
                     should->sha256, is->size, should->size);
}

enum err mig_files_give(struct mig_copier *c, const char *dir, const struct mig_content *content,
                        const char *to, unsigned mode, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct mig_content is;
    enum err rc = mig_files_path(dir, content->sha256, path, eb);
    if (rc == ERR_OK)
        rc = copy(c, path, to, mode, &is, eb);
    return rc == ERR_OK ? compare(&is, content, eb) : rc;
}

enum err mig_files_check(struct mig_copier *c, const char *dir, const struct mig_content *content,
                         struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct mig_content is;
    enum err rc = mig_files_path(dir, content->sha256, path, eb);
    if (rc != ERR_OK)
        return rc;
    int in = open(path, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return fail(eb, "open", path);
    rc = copy_fd(c, in, -1, path, &is, eb);
    (void)close(in); /* only read from */
    return rc == ERR_OK ? compare(&is, content, eb) : rc;
}

/* --- sweeping, space -------------------------------------------------------------------------- */

enum err mig_files_sweep(const char *dir, bool (*is_named)(const void *ctx, const char *sha256),
                         const void *ctx, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = files_dir(dir, path, eb);
    DIR *files = rc == ERR_OK ? opendir(path) : NULL;
    if (rc == ERR_OK && files == NULL)
        rc = fail(eb, "look into", path);
    if (rc != ERR_OK)
        return rc;
    for (const struct dirent *d; rc == ERR_OK && (d = readdir(files)) != NULL;) {
        bool stays = d->d_name[0] == '.' || is_named(ctx, d->d_name);
        if (!stays && unlinkat(dirfd(files), d->d_name, 0) != 0)
            rc = fail(eb, "remove a file of", path);
    }
    (void)closedir(files); /* only read from */
    return rc == ERR_OK ? base_dir_sync(path, eb) : rc;
}

enum err mig_files_free_bytes(const char *dir, uint64_t *out, struct errbuf *eb)
{
    struct statvfs st;
    *out = atomic_load(&pretended_free);
    if (*out != FREE_REAL)
        return ERR_OK;
    if (statvfs(dir, &st) != 0)
        return fail(eb, "look at the disk of", dir);
    *out = (uint64_t)st.f_bavail * st.f_frsize;
    return ERR_OK;
}

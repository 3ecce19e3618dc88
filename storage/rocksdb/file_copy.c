/*
 * storage/rocksdb/file_copy.c - read in large pieces; where that fails, sector by sector.
 */
#define _GNU_SOURCE
#include "storage/rocksdb/file_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"

#include "base/banned.h"

#define COPY_BYTES   MIB
#define SECTOR_BYTES 4096

static enum err fail_errno(struct errbuf *eb, const char *what, const char *path)
{
    int error = errno;
    return base_fail(eb, base_file_error(error), "cannot %s %s: %s", what, path,
                     strerrordesc_np(error));
}

/* False: the disk does not return these bytes. *out_len: less at the end of the file. */
static bool range_read(int fd, uint8_t *out, size_t len, uint64_t offset, size_t *out_len)
{
    *out_len = 0;
    while (*out_len < len) {
        ssize_t n = pread(fd, out + *out_len, len - *out_len, (off_t)(offset + *out_len));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        if (n == 0)
            break;
        *out_len += (size_t)n;
    }
    return true;
}

static void sectors_read(int fd, uint8_t *out, size_t len, uint64_t offset)
{
    for (size_t at = 0; at < len; at += SECTOR_BYTES) {
        size_t part = len - at < SECTOR_BYTES ? len - at : SECTOR_BYTES;
        size_t got = 0;
        if (!range_read(fd, out + at, part, offset + at, &got) || got < part)
            memset(out + at, 0, part);
    }
}

enum err sto_bytes_write(int fd, const char *path, const uint8_t *bytes, size_t len,
                         uint64_t offset, struct errbuf *eb)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(fd, bytes + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(eb, "write", path);
        done += (size_t)n;
    }
    return ERR_OK;
}

static enum err contents_copy(int in, const char *from, int out, const char *to, uint64_t bytes,
                              bool fills_gaps, struct errbuf *eb)
{
    uint8_t *block = base_new(COPY_BYTES);
    enum err rc = ERR_OK;
    (void)posix_fadvise(in, 0, 0, POSIX_FADV_SEQUENTIAL); /* advice */
    for (uint64_t at = 0; rc == ERR_OK && at < bytes;) {
        size_t len = bytes - at < COPY_BYTES ? (size_t)(bytes - at) : COPY_BYTES;
        size_t got = 0;
        if (!range_read(in, block, len, at, &got)) {
            if (!fills_gaps)
                rc = fail_errno(eb, "read", from);
            else
                sectors_read(in, block, len, at);
            got = len;
        }
        if (rc == ERR_OK)
            rc = sto_bytes_write(out, to, block, got, at, eb);
        if (got < len)
            break; /* the file became shorter */
        at += len;
    }
    base_free(block);
    if (rc == ERR_OK && fsync(out) != 0)
        rc = fail_errno(eb, "sync", to);
    return rc;
}

enum err sto_file_copy(const char *from, const char *to, mode_t mode, bool fills_gaps,
                       uint64_t *out_bytes, struct errbuf *eb)
{
    struct stat st;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return fail_errno(eb, "open", from);
    enum err rc = fstat(in, &st) == 0 ? ERR_OK : fail_errno(eb, "measure", from);
    int out = rc == ERR_OK ? open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode) : -1;
    if (rc == ERR_OK && out < 0)
        rc = fail_errno(eb, "make", to);
    if (rc == ERR_OK)
        rc = contents_copy(in, from, out, to, (uint64_t)st.st_size, fills_gaps, eb);
    if (out >= 0 && close(out) != 0 && rc == ERR_OK)
        rc = fail_errno(eb, "close", to);
    (void)close(in); /* it was only read */
    if (rc == ERR_OK)
        *out_bytes = (uint64_t)st.st_size;
    return rc;
}

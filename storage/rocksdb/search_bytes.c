/*
 * storage/rocksdb/search_bytes.c - searches window after window.
 *
 * A match that starts in the last bytes of a window and does not end there is searched in the next
 * one. Windows of a log or MANIFEST hold the contents of its records, one fragment after the other:
 * a record longer than the rest of its block of 32 KiB continues after the head of the next
 * fragment, which may be in the middle of a key. Keys are complete in both: neither abbreviates a
 * key by the previous one, as blocks of tables do, and logs are not compressed (README.md,
 * "Deliberately off").
 */
#include "storage/rocksdb/search_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/rocksdb/log_file.h"

#include "base/banned.h"

#define LOG_RUN_MAX (32 * KIB) /* bytes that a log returns at once */

_Static_assert(LOG_RUN_MAX < RDB_SEARCH_CHUNK / 2, "it fits behind what a window keeps");

struct window {
    const struct rdb_byte_search *search;
    uint8_t *bytes;
    size_t kept; /* bytes of the previous window, at the start */
};

/* Searches a window; n bytes were added after the kept ones. */
static enum err window_search(struct window *w, size_t n, bool is_last, uint64_t file_bytes)
{
    size_t overlap = w->search->match->overlap;
    struct slice bytes = base_slice(w->bytes, w->kept + n);
    size_t limit = is_last ? bytes.len : bytes.len > overlap ? bytes.len - overlap : 0;
    sto_rdb_match_bytes(w->search->match, bytes, limit);
    enum err rc = w->search->passed(w->search->ctx, bytes, file_bytes);
    w->kept = bytes.len - limit;
    memmove(w->bytes, w->bytes + limit, w->kept);
    return rc;
}

static enum err search_failed(enum err rc, struct errbuf *eb)
{
    if (rc == ERR_OK || rc == ERR_CANCELLED)
        return rc;
    return base_fail(eb, rc, "a file of the database cannot be read");
}

static enum err raw_read(struct window *w, int fd)
{
    enum err rc = ERR_OK;
    ssize_t n = 1;
    while (rc == ERR_OK && n != 0) {
        n = read(fd, w->bytes + w->kept, RDB_SEARCH_CHUNK - w->kept);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ERR_IO;
        rc = window_search(w, (size_t)n, n == 0, (uint64_t)n);
    }
    return rc;
}

enum err sto_rdb_search_raw(const char *path, const struct rdb_byte_search *search,
                            struct errbuf *eb)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return ERR_OK;
    struct window w = {.search = search, .bytes = base_new(RDB_SEARCH_CHUNK)};
    enum err rc = fd < 0 ? ERR_IO : raw_read(&w, fd);
    base_free(w.bytes);
    if (fd >= 0)
        (void)close(fd); /* it was only read */
    return search_failed(rc, eb);
}

static enum err log_read(struct window *w, struct rdb_log_file *f)
{
    enum rdb_log_found found = RDB_LOG_RECORD;
    uint64_t passed = 0;
    size_t added = 0; /* after the kept bytes: records may be short */
    enum err rc = ERR_OK;
    while (rc == ERR_OK && found != RDB_LOG_END) {
        struct slice run = SLICE_EMPTY;
        rc = sto_rdb_log_run(f, &found, &run, NULL);
        if (rc != ERR_OK)
            return rc;
        INVARIANT(run.len <= LOG_RUN_MAX);
        if (run.len > 0)
            memcpy(w->bytes + w->kept + added, run.ptr, run.len);
        added += run.len;
        bool is_last = found == RDB_LOG_END;
        if (!is_last && w->kept + added <= RDB_SEARCH_CHUNK - LOG_RUN_MAX)
            continue;
        uint64_t at = is_last ? sto_rdb_log_bytes(f) : sto_rdb_log_at(f);
        at = at < passed ? passed : at; /* it grew after the open */
        rc = window_search(w, added, is_last, at - passed);
        passed = at;
        added = 0;
    }
    return rc;
}

enum err sto_rdb_search_log(const char *path, const struct rdb_byte_search *search,
                            struct errbuf *eb)
{
    struct rdb_log_file *f = NULL;
    enum err rc = sto_rdb_log_open(path, &f, NULL);
    if (rc == ERR_NOT_FOUND)
        return ERR_OK;
    struct window w = {.search = search, .bytes = base_new(RDB_SEARCH_CHUNK)};
    if (rc == ERR_OK)
        rc = log_read(&w, f);
    base_free(w.bytes);
    sto_rdb_log_close(f);
    return search_failed(rc, eb);
}

/*
 * storage/rocksdb/headroom.c - statvfs, a flag with hysteresis, a file without data.
 *
 *   free            low    ballast
 *   >= 9/8 headroom clears recreated if there is space for it in addition
 *   < headroom      sets   kept
 *   < headroom / 4  set    removed: its space is for deletes, flushes and compactions
 *
 * 1. Debian's RocksDB aborts when its log meets ENOSPC permanently, so growth stops long before.
 *    For the same reason the database is not opened on a disk that accepts no writes.
 * 2. Between two checks at most an eighth of the headroom is written.
 */
#define _GNU_SOURCE
#include "storage/rocksdb/headroom.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"

#include "base/banned.h"

#define LOOK_AFTER_BYTES (16 * MIB)
#define PROBE_BYTES      (64 * KIB)

/* Returns the free bytes. Some file systems have no inode table, and report 0 of 0. */
static uint64_t look(struct rdb_headroom *h, bool *out_few_files)
{
    uint64_t pretended = atomic_load(&h->pretended_bytes);
    struct statvfs st;
    *out_few_files = false;
    if (pretended != RDB_DISK_REAL)
        return pretended;
    if (statvfs(h->dir, &st) != 0)
        return 0;
    *out_few_files = st.f_files > 0 && st.f_favail < RDB_FILES_FREE_MIN;
    atomic_store(&h->read_only, (st.f_flag & ST_RDONLY) != 0);
    return (uint64_t)st.f_bavail * st.f_frsize;
}

static void ballast_make(struct rdb_headroom *h)
{
    int fd = open(h->ballast_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    h->has_ballast = posix_fallocate(fd, 0, (off_t)h->ballast_bytes) == 0;
    (void)close(fd); /* nothing was written that could be lost */
    if (!h->has_ballast)
        (void)unlink(h->ballast_path); /* a part of it would not help */
}

static void ballast_give(struct rdb_headroom *h)
{
    h->has_ballast = unlink(h->ballast_path) != 0 && errno != ENOENT;
}

static void check_locked(struct rdb_headroom *h)
{
    bool few_files = false;
    uint64_t free_bytes = look(h, &few_files);
    atomic_store(&h->written_bytes, 0);
    atomic_store(&h->free_bytes, free_bytes);
    uint64_t clear_at = h->headroom_bytes + h->headroom_bytes / 8;
    if (free_bytes < h->headroom_bytes || few_files)
        atomic_store(&h->low, true);
    else if (free_bytes >= clear_at)
        atomic_store(&h->low, false);
    if (h->has_ballast && free_bytes < h->headroom_bytes / 4) {
        ballast_give(h);
    } else if (!h->has_ballast && h->ballast_bytes > 0 && free_bytes >= clear_at &&
               free_bytes - clear_at >= h->ballast_bytes) {
        ballast_make(h);
    }
}

void sto_rdb_headroom_check(struct rdb_headroom *h)
{
    pthread_mutex_lock(&h->lock);
    check_locked(h);
    pthread_mutex_unlock(&h->lock);
}

void sto_rdb_headroom_wrote(struct rdb_headroom *h, uint64_t bytes)
{
    uint64_t before = atomic_fetch_add_explicit(&h->written_bytes, bytes, memory_order_relaxed);
    uint64_t often = h->headroom_bytes / 8;
    if (before + bytes >= (often < LOOK_AFTER_BYTES ? often : LOOK_AFTER_BYTES))
        sto_rdb_headroom_check(h);
}

/* Writes a small file and syncs it, as everything else is written. */
static enum err try_to_write(const struct rdb_headroom *h, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct errbuf why = {{0}};
    struct buf bytes;
    enum err rc = base_path_join(path, h->dir, "probe", eb);
    if (rc != ERR_OK)
        return rc;
    base_buf_init(&bytes, PROBE_BYTES);
    uint8_t *zeros = base_new(PROBE_BYTES);
    rc = base_buf_append(&bytes, base_slice(zeros, PROBE_BYTES));
    base_free(zeros);
    if (rc == ERR_OK)
        rc = base_file_replace(path, base_buf_slice(&bytes), 0600, &why);
    base_buf_fini(&bytes);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "the disk of %s takes no writes: %s", h->dir, why.text);
    if (unlink(path) != 0)
        return base_fail(eb, ERR_IO, "cannot remove %s: %s", path, strerrordesc_np(errno));
    return ERR_OK;
}

enum err sto_rdb_headroom_probe(struct rdb_headroom *h, uint64_t bytes_needed, struct errbuf *eb)
{
    pthread_mutex_lock(&h->lock);
    check_locked(h); /* the last check may have released the ballast */
    if (h->has_ballast && atomic_load(&h->free_bytes) < bytes_needed) {
        ballast_give(h);
        check_locked(h);
    }
    pthread_mutex_unlock(&h->lock);
    uint64_t free_bytes = atomic_load(&h->free_bytes);
    if (free_bytes < bytes_needed)
        return base_fail(eb, ERR_STORAGE_FULL,
                         "the disk of %s is full: %" PRIu64 " bytes are free, opening the database "
                         "may need %" PRIu64 "; make room and start again",
                         h->dir, free_bytes, bytes_needed);
    return try_to_write(h, eb);
}

enum err sto_rdb_headroom_init(struct rdb_headroom *h, const char *dir, uint64_t headroom_bytes,
                               uint64_t ballast_bytes, struct errbuf *eb)
{
    memset(h, 0, sizeof(*h));
    enum err rc = base_path_join(h->dir, dir, "", eb);
    if (rc == ERR_OK)
        h->dir[strlen(dir)] = '\0'; /* as it was passed in, for messages */
    if (rc == ERR_OK)
        rc = base_path_join(h->ballast_path, dir, "ballast", eb);
    if (rc != ERR_OK)
        return rc;
    h->headroom_bytes = headroom_bytes;
    h->ballast_bytes = ballast_bytes;
    (void)pthread_mutex_init(&h->lock, NULL); /* default attributes: cannot fail */
    atomic_init(&h->pretended_bytes, RDB_DISK_REAL);
    h->has_ballast = access(h->ballast_path, F_OK) == 0;
    sto_rdb_headroom_check(h);
    return ERR_OK;
}

void sto_rdb_headroom_fini(struct rdb_headroom *h)
{
    if (h->dir[0] != '\0')
        (void)pthread_mutex_destroy(&h->lock); /* no thread holds it */
    h->dir[0] = '\0';
}

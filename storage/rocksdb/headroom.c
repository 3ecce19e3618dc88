/*
 * storage/rocksdb/headroom.c - statvfs, a flag with hysteresis, a file full of nothing.
 *
 *   free            low    ballast
 *   >= 9/8 headroom clears made again when there is room for it on top
 *   < headroom      sets   kept
 *   < headroom / 4  set    removed: what it held is for deletes, flushes and compactions
 *
 * 1. Debian's RocksDB aborts when its log meets ENOSPC for good, so growth stops long before.
 */
#define _GNU_SOURCE
#include "storage/rocksdb/headroom.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/limits.h"

#include "base/banned.h"

#define LOOK_AFTER_BYTES (16 * MIB)

static uint64_t look(struct rdb_headroom *h)
{
    uint64_t pretended = atomic_load(&h->pretended_bytes);
    if (pretended != RDB_DISK_REAL)
        return pretended;
    struct statvfs st;
    if (statvfs(h->dir, &st) != 0)
        return 0;
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
        (void)unlink(h->ballast_path); /* a part of it would help nobody */
}

static void check_locked(struct rdb_headroom *h)
{
    uint64_t free_bytes = look(h);
    atomic_store(&h->written_bytes, 0);
    atomic_store(&h->free_bytes, free_bytes);
    uint64_t clear_at = h->headroom_bytes + h->headroom_bytes / 8;
    if (free_bytes < h->headroom_bytes)
        atomic_store(&h->low, true);
    else if (free_bytes >= clear_at)
        atomic_store(&h->low, false);
    if (h->has_ballast && free_bytes < h->headroom_bytes / 4) {
        h->has_ballast = unlink(h->ballast_path) != 0 && errno != ENOENT;
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
    if (before + bytes >= LOOK_AFTER_BYTES)
        sto_rdb_headroom_check(h);
}

enum err sto_rdb_headroom_init(struct rdb_headroom *h, const char *dir, uint64_t headroom_bytes,
                               uint64_t ballast_bytes, struct errbuf *eb)
{
    memset(h, 0, sizeof(*h));
    enum err rc = base_path_join(h->dir, dir, ".", eb);
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
        (void)pthread_mutex_destroy(&h->lock); /* nobody holds it */
    h->dir[0] = '\0';
}

/*
 * storage/rocksdb/headroom.h - RocksDB must never meet a full disk.
 *
 * Does:     look how much is free, say when growing writes must stop, keep a ballast file that is
 *           given up when it becomes tight in spite of that.
 * Owns:     the ballast file.
 * May use:  base/.
 * Knows no: who writes.
 * Threads:  check from one at a time (it locks); is_low from any.
 * Blocks:   check makes one statvfs, and rarely makes or removes the ballast.
 * Fails by: a disk that cannot be looked at counts as full, and so does one without inodes.
 * Limits:   the headroom and ballast given at init; RDB_FILES_FREE_MIN.
 * Promises: 1. low is set below headroom and cleared only above headroom + 1/8 of it.
 */
#ifndef STORAGE_ROCKSDB_HEADROOM_H
#define STORAGE_ROCKSDB_HEADROOM_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/file.h"

#define RDB_DISK_REAL UINT64_MAX /* end pretending */
/* A disk can be full of files: RocksDB needs a few new ones to live, backups and temporary files.
 */
#define RDB_FILES_FREE_MIN 256

struct rdb_headroom {
    char dir[BASE_PATH_BYTES];
    char ballast_path[BASE_PATH_BYTES];
    uint64_t headroom_bytes;
    uint64_t ballast_bytes;
    pthread_mutex_t lock;
    bool has_ballast; /* under lock */
    _Atomic bool low;
    _Atomic bool read_only; /* mounted so, or remounted so by the kernel */
    _Atomic uint64_t free_bytes;
    _Atomic uint64_t pretended_bytes;
    _Atomic uint64_t written_bytes; /* since the last look */
};

enum err sto_rdb_headroom_init(struct rdb_headroom *h, const char *dir, uint64_t headroom_bytes,
                               uint64_t ballast_bytes, struct errbuf *eb) MUST_CHECK;
void sto_rdb_headroom_fini(struct rdb_headroom *h);
void sto_rdb_headroom_check(struct rdb_headroom *h);
/* Before the database is opened: whether the disk takes writes and has room for this much; the
 * ballast is given up for it. ERR_STORAGE_FULL, ERR_IO with a text for whoever started it. */
enum err sto_rdb_headroom_probe(struct rdb_headroom *h, uint64_t bytes_needed,
                                struct errbuf *eb) MUST_CHECK;
/* Called with what was just written: looks early when much was. */
void sto_rdb_headroom_wrote(struct rdb_headroom *h, uint64_t bytes);

static inline bool sto_rdb_headroom_is_low(const struct rdb_headroom *h)
{
    return atomic_load_explicit(&h->low, memory_order_relaxed);
}

#endif

/*
 * storage/rocksdb/headroom.h - keeps RocksDB from ever meeting a full disk.
 *
 * Does:     checks the free space, reports when growing writes must stop, keeps a ballast file that
 *           is deleted if space becomes scarce in spite of that.
 * Owns:     the ballast file.
 * May use:  base/.
 * Knows no: who writes.
 * Threads:  check from one at a time (it locks); is_low from any.
 * Blocks:   check makes one statvfs, and rarely creates or removes the ballast.
 * Fails by: a disk that cannot be checked counts as full, and so does one without free inodes.
 * Limits:   the headroom and ballast given at init; RDB_FILES_FREE_MIN.
 * Promises: 1. low is set below headroom and cleared only above headroom + 1/8 of it.
 */
#ifndef STORAGE_ROCKSDB_HEADROOM_H
#define STORAGE_ROCKSDB_HEADROOM_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/file.h"

#define RDB_DISK_REAL UINT64_MAX /* ends pretending */
/* A disk can run out of inodes: RocksDB needs a few new files to work, and backups need files and
 * temporary ones. */
#define RDB_FILES_FREE_MIN 256

struct rdb_headroom {
    char dir[BASE_PATH_BYTES];
    char ballast_path[BASE_PATH_BYTES];
    uint64_t headroom_bytes;
    uint64_t ballast_bytes;
    pthread_mutex_t lock;
    bool has_ballast; /* under lock */
    _Atomic bool low;
    _Atomic bool read_only; /* mounted read-only, or remounted so by the kernel */
    _Atomic uint64_t free_bytes;
    _Atomic uint64_t pretended_bytes;
    _Atomic uint64_t written_bytes; /* since the last check */
};

enum err sto_rdb_headroom_init(struct rdb_headroom *h, const char *dir, uint64_t headroom_bytes,
                               uint64_t ballast_bytes, struct errbuf *eb) MUST_CHECK;
void sto_rdb_headroom_fini(struct rdb_headroom *h);
void sto_rdb_headroom_check(struct rdb_headroom *h);
/* Before the database is opened: checks that the disk accepts writes and has bytes_needed free;
 * deletes the ballast if that is needed. ERR_STORAGE_FULL, ERR_IO, with a text for the operator. */
enum err sto_rdb_headroom_probe(struct rdb_headroom *h, uint64_t bytes_needed,
                                struct errbuf *eb) MUST_CHECK;
/* Called with the number of bytes just written: checks early after many. */
void sto_rdb_headroom_wrote(struct rdb_headroom *h, uint64_t bytes);

static inline bool sto_rdb_headroom_is_low(const struct rdb_headroom *h)
{
    return atomic_load_explicit(&h->low, memory_order_relaxed);
}

#endif

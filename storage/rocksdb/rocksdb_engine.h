/*
 * storage/rocksdb/rocksdb_engine.h - the embedded engine, the default.
 *
 * Does:     open the one shared table in a directory and give it as a storage/engine.h engine.
 * Owns:     the database, its committer and reader threads, witness and ballast files.
 * May use:  base/, storage/.
 * Knows no: tenancy, HTTP.
 * Threads:  open and close from one thread.
 * Blocks:   yes.
 * Fails by: ERR_CORRUPT (damage, or behind its witness), ERR_IO, ERR_LOCKED.
 * Limits:   those of base/limits.h.
 * Promises: 1. A database that lost acknowledged writes is not opened.
 *           2. More than the contract: exact quotas, fsync before the answer, immediate drop.
 */
#ifndef STORAGE_ROCKSDB_ROCKSDB_ENGINE_H
#define STORAGE_ROCKSDB_ROCKSDB_ENGINE_H

#include "base/epoch.h"
#include "storage/engine.h"

struct sto_rocksdb_options {
    const char *dir;              /* holds db/, witness, ballast; must exist and be locked by us */
    size_t cache_bytes;           /* block cache, shared by both column families */
    size_t memtable_bytes;        /* write buffer of the cells column family */
    int committers;               /* 0: half the cores, at least 1 */
    int readers;                  /* 0: one more than cores, at least 2 */
    uint64_t drop_range_cells;    /* 0: LIM_DROP_RANGE_CELLS */
    uint64_t drop_stretch_cells;  /* 0: LIM_DROP_STRETCH_CELLS */
    uint64_t reclaim_after_s;     /* bytes of small drops leave the files; 0: the default */
    uint64_t reclaim_bytes_per_s; /* rewritten while others are served; UINT64_MAX: no bound; 0: the
                                    default */
    uint64_t headroom_bytes;      /* writes that grow stop when less is free */
    uint64_t ballast_bytes;       /* reserve file, released when the headroom is breached hard */
};

/* All defaults filled in except dir. */
void sto_rocksdb_options_default(struct sto_rocksdb_options *o);

enum err sto_rocksdb_open(const struct sto_rocksdb_options *options, struct sto_engine **out,
                          struct errbuf *eb) MUST_CHECK;

/* A database that was put there on purpose (a restored backup): the next open accepts it whatever
 * the witness said, and watches over it from then on. Not while it is open. */
enum err sto_rocksdb_adopt(const char *dir, struct errbuf *eb) MUST_CHECK;

/* Test tools: make the n-th next commit fail as the disk would (1: the next; 0: none); pretend this
 * much disk is free (UINT64_MAX: what is true again); pretend that RocksDB is so near to a delay (0
 * to 1000; 0: what is true again). */
void sto_rocksdb_test_fail_commit(struct sto_engine *e, int after);
void sto_rocksdb_test_pressure(struct sto_engine *e, uint32_t level);
void sto_rocksdb_test_disk_free(struct sto_engine *e, uint64_t bytes);

/* Test tool: end the process behind a step of deleting rows as a range, as kill -9 does. */
enum sto_die_point {
    STO_DIE_NEVER,
    STO_DIE_COUNTED,
    STO_DIE_WRITTEN,
    STO_DIE_FLUSHED,
    STO_DIE_COMPACTED,
    STO_DIE_SETTLED,
    STO_DIE_FORGOTTEN,
    STO_DIE_POINTS
};
void sto_rocksdb_test_die_at(struct sto_engine *e, enum sto_die_point point);

#endif

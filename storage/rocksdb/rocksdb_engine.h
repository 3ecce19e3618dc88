/*
 * storage/rocksdb/rocksdb_engine.h - the embedded engine, the default.
 *
 * Does:     opens the one shared table in a directory and returns it as a storage/engine.h engine.
 * Owns:     the database, its committer and reader threads, witness and ballast files.
 * May use:  base/, storage/.
 * Knows no: tenancy, HTTP.
 * Threads:  open and close from one thread.
 * Blocks:   yes.
 * Fails by: ERR_CORRUPT (damage, or the database ends before its witness), ERR_IO, ERR_LOCKED.
 * Limits:   those of base/limits.h.
 * Promises: 1. A database that lost acknowledged writes is not opened.
 *           2. More than the contract: exact quotas, fsync before the response, immediate drop.
 */
#ifndef STORAGE_ROCKSDB_ROCKSDB_ENGINE_H
#define STORAGE_ROCKSDB_ROCKSDB_ENGINE_H

#include "base/epoch.h"
#include "storage/engine.h"

/* The end of a log that a crash left incomplete, in a write that was never acknowledged. */
struct sto_rocksdb_tear {
    uint64_t log;      /* number of the log: 12 is 000012.log */
    uint64_t offset;   /* where the log is cut */
    uint64_t bytes;    /* bytes cut off; they contain no complete write */
    uint64_t sequence; /* the last change before the tear */
};

/* Called for each tear, before it is cut off; found may be NULL. */
struct sto_rocksdb_tears {
    void (*found)(void *ctx, const struct sto_rocksdb_tear *tear);
    void *ctx;
};

/* Called at open for each file of the metadata that was replaced by its copy; file may be NULL. */
struct sto_rocksdb_mended {
    void (*file)(void *ctx, uint64_t number); /* 12 is 000012.sst */
    void *ctx;
};

struct sto_rocksdb_options {
    const char *dir;           /* holds db/, witness, ballast; must exist, locked by this process */
    size_t cache_bytes;        /* block cache, shared by all families; 0: derived from the memory */
    size_t memtable_bytes;     /* write buffer of the cells column family */
    int open_files;            /* table files; 0: half of the descriptors of the process */
    int background_jobs;       /* concurrent flushes and compactions; 0: cores + 1, at least 3 */
    uint64_t index_part_bytes; /* size of a part of an index or filter; parts are read one by one */
    uint64_t file_bytes;       /* target size of a table file; 0: the default */
    uint64_t level_bytes;      /* of the first level below level 0; 0: the default */
    int committers;            /* 0: half the cores, at least 1 */
    int readers; /* 0: 4 times the cores, at least 8, because readers wait for disks */
    uint64_t drop_range_cells;   /* 0: LIM_DROP_RANGE_CELLS */
    uint64_t drop_stretch_cells; /* 0: LIM_DROP_STRETCH_CELLS */
    /* delay until the space of small drops is reclaimed; 0: the default */
    uint64_t reclaim_after_s;
    /* rewritten while requests are served; UINT64_MAX: no bound; 0: the default */
    uint64_t reclaim_bytes_per_s;
    /* age of the snapshot of a row that changes while it is read; 0: the default */
    uint64_t row_snapshot_ms;
    uint64_t row_snapshot_waited_ms; /* the same while a deletion waits for it; 0: the default */
    uint64_t scrub_bytes_per_s;      /* of table files, read to find damage; 0: none */
    uint64_t headroom_bytes;         /* writes that grow the database stop when less is free */
    uint64_t ballast_bytes; /* reserve file, released when free space is far below the headroom */
    struct sto_rocksdb_tears tears;   /* found at open */
    struct sto_rocksdb_mended mended; /* found at open */
    /* between two scans for files of the metadata without a copy; 0: no copies are made */
    int meta_copies_s;
};

/* For scrub_bytes_per_s: all tables within a week, at least 4 MiB/s. */
#define STO_SCRUB_AUTO UINT64_MAX

/* Fills in all defaults except dir. */
void sto_rocksdb_options_default(struct sto_rocksdb_options *o);

enum err sto_rocksdb_open(const struct sto_rocksdb_options *options, struct sto_engine **out,
                          struct errbuf *eb) MUST_CHECK;

/* Reads the logs as an open does, and changes nothing. ERR_CORRUPT if an open would refuse them.
 * Not while the database is open. */
enum err sto_rocksdb_logs_read(const char *dir, const struct sto_rocksdb_tears *tears,
                               struct errbuf *eb) MUST_CHECK;

/* Adopts a database that was placed there on purpose (a restored backup): the next open accepts it
 * whatever the witness says, and the witness covers it after that. Not while it is open. */
enum err sto_rocksdb_adopt(const char *dir, struct errbuf *eb) MUST_CHECK;

enum sto_test_prefetch { STO_PREFETCH_IF_SLOW, STO_PREFETCH_ALWAYS, STO_PREFETCH_NEVER };

/* Test tools: make the n-th next commit fail as the disk would (1: the next; 0: none); pretend that
 * RocksDB is this near to a delay (0 to 1000; 0: the true value again); set when writes are
 * prefetched; have readers compute operations of more steps than `steps`; set how long each such
 * operation may keep others waiting without a rest; pretend that `bytes` of disk are free
 * (UINT64_MAX: the true value again). */
void sto_rocksdb_test_fail_commit(struct sto_engine *e, int after);
void sto_rocksdb_test_pressure(struct sto_engine *e, uint32_t level);
void sto_rocksdb_test_prefetch(struct sto_engine *e, enum sto_test_prefetch when);
void sto_rocksdb_test_apply_steps(struct sto_engine *e, uint64_t steps);
void sto_rocksdb_test_held_free(struct sto_engine *e, uint64_t ns);
void sto_rocksdb_test_disk_free(struct sto_engine *e, uint64_t bytes);

/* Test tool: end the process after a step, as kill -9 does. */
enum sto_die_point {
    STO_DIE_NEVER,
    STO_DIE_LOST,     /* the keys of a damaged block are recorded */
    STO_DIE_REPLACED, /* compactions leave the damaged block out */
    STO_DIE_CHANGES,  /* changes of a removed table were deleted as points */
    STO_DIE_SWEEPING, /* old changes were found, and are not deleted yet */
    STO_DIE_PLANNING, /* a reader has an expensive operation, and has not started it */
    /* a reader is inside an expensive operation, a sampling or a recount, and checks whether it may
     * continue */
    STO_DIE_LOOKING,
    STO_DIE_PLANNED, /* a reader has computed an operation, and nothing of it is written */
    STO_DIE_COUNTED,
    STO_DIE_WRITTEN,
    STO_DIE_FLUSHED,
    STO_DIE_COMPACTED,
    STO_DIE_SETTLED,
    STO_DIE_FORGOTTEN,
    STO_DIE_POINTS
};
void sto_rocksdb_test_die_at(struct sto_engine *e, enum sto_die_point point);
/* Test tool: holds the thread that reaches this step there; STO_DIE_NEVER releases it. True: a
 * thread is held. */
void sto_rocksdb_test_hold_at(struct sto_engine *e, enum sto_die_point point);
bool sto_rocksdb_test_is_held(struct sto_engine *e);

#endif

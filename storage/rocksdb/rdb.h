/*
 * storage/rocksdb/rdb.h - the embedded engine's own structure, for the files of this directory.
 *
 * Does:     holds the parts together; latches the first failure; makes synced writes.
 * Owns:     all parts, from sto_rocksdb_open to sto_engine_close.
 * May use:  base/, storage/.
 * Knows no: what the parts do.
 * Threads:  fields say which.
 * Blocks:   sto_rdb_write waits for the disk.
 * Fails by: sto_rdb_fail latches and translates.
 * Limits:   none.
 * Promises: 1. After the first failure every later write is refused without touching RocksDB.
 *           2. acked_sequence never names a write that is not on disk.
 */
#ifndef STORAGE_ROCKSDB_RDB_H
#define STORAGE_ROCKSDB_RDB_H

#include <pthread.h>

#include "base/file.h"
#include "storage/engine_ops.h"
#include "storage/rocksdb/cache_sample.h"
#include "storage/rocksdb/change_count.h"
#include "storage/rocksdb/committer.h"
#include "storage/rocksdb/damage.h"
#include "storage/rocksdb/db.h"
#include "storage/rocksdb/file_lists.h"
#include "storage/rocksdb/headroom.h"
#include "storage/rocksdb/long_row.h"
#include "storage/rocksdb/lost.h"
#include "storage/rocksdb/maintenance.h"
#include "storage/rocksdb/meta_copies.h"
#include "storage/rocksdb/options.h"
#include "storage/rocksdb/pace.h"
#include "storage/rocksdb/pool.h"
#include "storage/rocksdb/pressure.h"
#include "storage/rocksdb/reclaim.h"
#include "storage/rocksdb/removed.h"
#include "storage/rocksdb/scrub.h"
#include "storage/rocksdb/tombstones.h"

#define RDB_STEPS_PER_OP 64    /* iterator steps that cost as much as one operation */
#define RDB_NS_OF_A_STEP 512   /* filter time that counts as one iterator step */
#define RDB_NS_PER_OP    10000 /* committer time that counts as one operation in the fair queue */
#define RDB_READS_FULL   "the read queue, or this tenant's part of it, is full; retry"
#define RDB_WAIT_SECONDS 30 /* longest wait of a purge step for readers; then ERR_TIMEOUT */

struct rdb_purging_tenant {
    char id[LIM_TENANT_ID + 1];
};

struct rdb_purging {
    size_t count;
    size_t capacity;
    struct rdb_purging_tenant *of;
};

struct rdb_engine {
    struct sto_engine base; /* first: the handle is a pointer to it */

    /* set at open, then read only */
    struct sto_rocksdb_options options;
    char dir[BASE_PATH_BYTES];
    struct rdb_db db;
    int wait_seconds; /* RDB_WAIT_SECONDS; tests shorten it */
    int committer_count;
    struct rdb_committer *committers[RDB_COMMITTERS_MAX];
    struct rdb_long_rows long_rows[RDB_COMMITTERS_MAX]; /* one list for each committer */
    struct rdb_pool pool;

    /* any thread */
    _Atomic bool failed;
    _Atomic bool closing;
    _Atomic uint64_t acked_sequence;
    _Atomic uint64_t erasing_since_ns;  /* shares.h */
    _Atomic unsigned old_state_waited;  /* deletions that wait for old snapshots or files */
    _Atomic uint64_t reads_handed_over; /* reads that a loop tried and did not find in memory */
    _Atomic uint64_t compacted_bytes[RDB_CF_COUNT]; /* of files compacted by ranges.c */
    struct rdb_cache_sample cache_sample;
    struct rdb_tombstones tombstones;
    struct rdb_change_counts change_counts;
    struct rdb_damage damage;
    struct rdb_meta_copies meta_copies;
    struct rdb_lost lost;
    struct rdb_scrub scrub;
    struct rdb_file_lists file_lists;
    _Atomic unsigned shuttles; /* operations in flight between readers and committers (shuttle.h) */
    _Atomic uint64_t prefetches;   /* started */
    _Atomic uint64_t plans;        /* started */
    _Atomic uint64_t apply_steps;  /* LIM_APPLY_STEPS, unless a test says otherwise */
    _Atomic uint64_t held_free_ns; /* LIM_HELD_FREE_MS, unless a test says otherwise */
    _Atomic int prefetch_when;     /* test tool: enum sto_test_prefetch */
    _Atomic int die_at;            /* test tool: enum sto_die_point */
    _Atomic int hold_at;           /* test tool: enum sto_die_point */
    _Atomic unsigned held;         /* test tool: threads held at hold_at */
    _Atomic int fail_commit;       /* test tool: counts down, the write that reaches 0 fails */
    pthread_mutex_t reason_lock;
    char reason[160]; /* under reason_lock, as is failed_disk */
    enum sto_disk failed_disk;
    pthread_mutex_t docs_lock;     /* held for one change of documents at a time */
    pthread_mutex_t compact_lock;  /* ranges.c: held for one range at a time */
    pthread_mutex_t image_lock;    /* held while an image is created or a purge step starts */
    struct rdb_purging purging;    /* under image_lock: tenants between two steps of a purge */
    struct sto_progress *progress; /* job thread; NULL: no progress is reported */

    struct rdb_pace pace;
    struct rdb_pressure pressure;
    struct rdb_headroom headroom;
    struct rdb_maintenance maintenance;
    struct rdb_reclaim reclaim;
    struct rdb_removed removed;
};

static inline struct rdb_engine *sto_rdb_engine(struct sto_engine *e)
{
    return (struct rdb_engine *)e;
}

static inline struct rdb_committer *sto_rdb_committer_of(struct rdb_engine *e,
                                                         const struct sto_account *account)
{
    return e->committers[account->shard % (uint32_t)e->committer_count];
}

/* Returns the list of the account's committer, even while the engine closes. */
static inline struct rdb_long_rows *sto_rdb_long_rows_of(struct rdb_engine *e,
                                                         const struct sto_account *account)
{
    return &e->long_rows[account->shard % (uint32_t)e->options.committers];
}

/* Latches the engine; takes over and frees RocksDB's error text. Returns the error that the text
 * stands for. */
enum err sto_rdb_fail(struct rdb_engine *e, const char *doing, char *rocksdb_error);
/* Latches the engine for a failure that RocksDB did not report. */
void sto_rdb_fail_text(struct rdb_engine *e, const char *reason);

/* Return ERR_UNAVAILABLE with the reason if the engine has failed; usable also if it is closing. */
enum err sto_rdb_sound(struct rdb_engine *e, struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_usable(struct rdb_engine *e, struct errbuf *eb) MUST_CHECK;

/* Makes one synced write. ERR_UNAVAILABLE: not attempted; ERR_OUTCOME_UNKNOWN: the write failed,
 * and the engine is latched. */
enum err sto_rdb_write(struct rdb_engine *e, rocksdb_writebatch_t *batch) MUST_CHECK;
/* Test tool: ends the process as kill -9 does, or waits, if the test requested that at this
 * point. */
void sto_rdb_test_point(struct rdb_engine *e, enum sto_die_point point);
/* Flushes all column families: afterwards no log holds data that was written before the call. */
enum err sto_rdb_flush(struct rdb_engine *e) MUST_CHECK;
/* Flushes one family; family: one of RDB_CF_*. */
enum err sto_rdb_flush_family(struct rdb_engine *e, int family) MUST_CHECK;

#endif

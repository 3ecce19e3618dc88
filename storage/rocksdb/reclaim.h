/*
 * storage/rocksdb/reclaim.h - reclaims the space of dropped rows in the files, without waiting for
 * other writes.
 *
 * Does:     flushes; rewrites the files around the rows of reclaim records that are due (around the
 *           changes as well, if a whole table was dropped) and deletes the records; checks for
 *           range tombstones as long as there may be some; has stretches of removed keys rewritten
 *           that reads walk through (removed.h).
 * Owns:     its thread.
 * May use:  base/, storage/.
 * Knows no: why rows were dropped, or whether the range has new rows.
 * Threads:  wake, expect, is_idle and waiting from any; start and stop from one.
 * Blocks:   stop joins, after it told the compaction in progress to end.
 * Fails by: latching the engine. Snapshots and reads that stay open: retried later. A damaged file
 *           that cannot be rewritten: see promise 5.
 * Limits:   RDB_NOTES_BYTES of reclaim records a round, which share a flush; RDB_RECLAIM_RETRY_S;
 *           RDB_STUCK_FIRST_S to RDB_STUCK_MAX_S, and at most options.reclaim_after_s; the speed is
 *           pace.h's.
 * Promises: 1. A reclaim record that a crash left is found at the next open.
 *           2. A record is deleted when the rewriting is done. The replaced files, and the record's
 *              own bytes, are gone from the disk when is_idle is true, and in any case after an
 *              open.
 *           3. New rows in the range stay: a rewriting removes nothing that a read would return.
 *           4. Records for later are processed together: a file is rewritten once for all of them.
 *           5. If a damaged file cannot be rewritten, the records of other files are processed and
 *              deleted. The record of that file, the rewriting of the records' own bytes and that
 *              of range tombstones are retried after a pause that doubles.
 */
#ifndef STORAGE_ROCKSDB_RECLAIM_H
#define STORAGE_ROCKSDB_RECLAIM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/limits.h"

#define RDB_RECLAIM_RETRY_S 10
#define RDB_STUCK_FIRST_S   60
#define RDB_STUCK_MAX_S     3600

struct rdb_engine;

/* Work that a damaged file can block. */
enum rdb_stuck_work {
    RDB_STUCK_READING,  /* reading the reclaim records */
    RDB_STUCK_KEPT,     /* rewriting the ranges of some records */
    RDB_STUCK_SETTLING, /* rewriting the records' own bytes */
    RDB_STUCK_CLEARING, /* rewriting files with range tombstones */
    RDB_STUCK_WORKS
};
struct rdb_stuck {
    uint64_t pause_s; /* between two attempts; 0: no file blocks the work */
    uint64_t next_ns; /* of base_monotonic_ns: earliest next attempt */
};

struct rdb_reclaim {
    struct rdb_engine *engine;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started;
    bool stopping;     /* under lock */
    bool wanted;       /* under lock: there may be a new reclaim record */
    uint64_t due_ns;   /* under lock: when a record for later is due; UINT64_MAX: there is none */
    bool is_unsettled; /* its thread: replaced files may still be on the disk */
    struct rdb_stuck stuck[RDB_STUCK_WORKS]; /* its thread */
    struct errbuf stuck_text;                /* under lock: names the damaged file; "": none */
    _Atomic bool is_idle; /* at the last check nothing was due, and there was no range tombstone */
    _Atomic uint64_t waiting; /* reclaim records at the last check, and new ones since */
};

enum err sto_rdb_reclaim_start(struct rdb_reclaim *r, struct rdb_engine *e) MUST_CHECK;
void sto_rdb_reclaim_stop(struct rdb_reclaim *r);
/* Call after the last batch with a reclaim record for now, and after a purge. */
void sto_rdb_reclaim_wake(struct rdb_reclaim *r);
/* Call after the last batch with a reclaim record for later. */
void sto_rdb_reclaim_expect(struct rdb_reclaim *r);
/* Names a damaged file that prevents space of drops from being reclaimed; "": there is none. */
void sto_rdb_reclaim_stuck(struct rdb_reclaim *r, struct errbuf *out);

#endif

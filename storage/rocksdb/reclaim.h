/*
 * storage/rocksdb/reclaim.h - what rows that were dropped leave in the files goes without waiting
 * for other writes.
 *
 * Does:     flush, rewrite the files around the rows of notes that are due (around the changes as
 *           well, where a whole table was dropped) and take the notes away;
 *           look whether range tombstones are left, as long as there may be some; have stretches of
 *           removed keys rewritten that reads walk through (removed.h).
 * Owns:     its thread.
 * May use:  base/, storage/.
 * Knows no: why rows were dropped, or whether there are any in their place again.
 * Threads:  wake, expect, is_idle and waiting from any; start and stop from one.
 * Blocks:   stop joins, after the compaction under way was told to end.
 * Fails by: latching the engine. Snapshots and reads that stay open: later again. A damaged file
 *           that cannot be rewritten: see promise 5.
 * Limits:   RDB_NOTES_BYTES of notes a round, which share a flush; RDB_RECLAIM_RETRY_S;
 *           RDB_STUCK_FIRST_S to RDB_STUCK_MAX_S, and at most options.reclaim_after_s;
 *           how fast is pace.h's.
 * Promises: 1. A note that a crash left is found at the next open.
 *           2. A note goes when the rewriting is done; what it replaced, and what the note was, are
 *              gone from the disk when is_idle is true, and behind an open in any case.
 *           3. Whatever stands in the range anew stays: a rewriting removes nothing that a read
 *              would give.
 *           4. Notes for later are worked on together: a file is rewritten once for all of them.
 *           5. Where a damaged file cannot be rewritten, the notes of other files are worked on and
 *              forgotten; the note of that file, the rewriting of the notes' own bytes and that of
 *              range tombstones are tried again, after a pause that doubles.
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

/* What a damaged file may be in the way of. */
enum rdb_stuck_work {
    RDB_STUCK_READING,  /* the notes */
    RDB_STUCK_KEPT,     /* rewriting around some of them */
    RDB_STUCK_SETTLING, /* rewriting the notes' own bytes */
    RDB_STUCK_CLEARING, /* rewriting files with range tombstones */
    RDB_STUCK_WORKS
};
struct rdb_stuck {
    uint64_t pause_s; /* between two tries; 0: no file is in the way */
    uint64_t next_ns; /* of base_monotonic_ns: not tried sooner */
};

struct rdb_reclaim {
    struct rdb_engine *engine;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started;
    bool stopping;     /* under lock */
    bool wanted;       /* under lock: there may be a note that was not looked at */
    uint64_t due_ns;   /* under lock: when one for later is due; UINT64_MAX: there is none */
    bool is_unsettled; /* its thread: replaced files may still be on the disk */
    struct rdb_stuck stuck[RDB_STUCK_WORKS]; /* its thread */
    struct errbuf stuck_text;                /* under lock: which file it is; "": none */
    _Atomic bool is_idle;                    /* it looked: nothing is due, no range tombstone */
    _Atomic uint64_t waiting;                /* notes: when it looked last, and new ones since */
};

enum err sto_rdb_reclaim_start(struct rdb_reclaim *r, struct rdb_engine *e) MUST_CHECK;
void sto_rdb_reclaim_stop(struct rdb_reclaim *r);
/* Behind the last batch with a note for now, and behind a purge. */
void sto_rdb_reclaim_wake(struct rdb_reclaim *r);
/* Behind the last batch with a note for later. */
void sto_rdb_reclaim_expect(struct rdb_reclaim *r);
/* Names a damaged file that keeps bytes of drops from leaving; "": there is none. */
void sto_rdb_reclaim_stuck(struct rdb_reclaim *r, struct errbuf *out);

#endif

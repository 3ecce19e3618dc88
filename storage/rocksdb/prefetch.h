/*
 * storage/rocksdb/prefetch.h - reads the blocks that a write needs on another thread, before the
 * write is served.
 *
 * Does:     determines whether the blocks that an operation will read are in memory; has a reader
 *           thread read those that are not; detects when that check is worth its cost.
 * Owns:     a read from its start until sto_rdb_prefetch_finish.
 * May use:  base/, storage/.
 * Knows no: the meaning of the values read: no decision depends on them.
 * Threads:  one committer's, except the read itself.
 * Blocks:   no; the reader does.
 * Fails by: an operation that is not prefetched is read by the committer; so is one whose prefetch
 *           meets an error, which the committer meets then and reports.
 * Limits:   LIM_PREFETCH_OPS, LIM_PREFETCH_BYTES, LIM_PREFETCH_KEYS, and the tenant's part of the
 *           queue of points.
 * Promises: 1. An operation is prefetched at most once.
 *           2. While no read waits for a disk there are no checks and no prefetches: slowness for
 *              lack of processor time does not count.
 *           3. A prefetch counts in reads_open, and reads nothing after the gate closed.
 *           4. The engine does not end its threads while a prefetch is in flight.
 */
#ifndef STORAGE_ROCKSDB_PREFETCH_H
#define STORAGE_ROCKSDB_PREFETCH_H

#include "storage/engine.h"

struct rdb_committer;

/* One operation's read; msg returns to its committer's mailbox. */
struct rdb_prefetch {
    struct base_msg msg; /* first */
    void (*returned)(struct base_msg *msg);
    struct rdb_committer *committer;
    struct sto_mutate_op *op;
    bool was_slow;
};

/* One committer's state that decides when to check. */
struct rdb_prefetch_watch {
    unsigned left;       /* operations that will still be checked */
    uint64_t applied_ns; /* when the last operation started to be applied; 0: not timed */
    uint64_t sleeps;     /* of this thread, at the last reading */
    bool is_counted;     /* sleeps is known, and the thread has only applied operations since */
};

/* Starts the timing of an operation that will be applied. */
void sto_rdb_prefetch_applies(struct rdb_prefetch_watch *w, uint64_t now_ns);
/* Ends the timing. After an operation that slept for LIM_PREFETCH_SLOW_US or more, the next ones
 * are checked. */
void sto_rdb_prefetch_applied(struct rdb_prefetch_watch *w, uint64_t now_ns);
/* Call before the thread does other work, which may sleep. */
void sto_rdb_prefetch_pauses(struct rdb_prefetch_watch *w);
/* Returns whether to start a prefetch of op: checks are worth their cost, and a block is not in
 * memory. */
bool sto_rdb_prefetch_is_wanted(struct rdb_committer *c, const struct sto_mutate_op *op) MUST_CHECK;
/* Starts it. On return, msg->run is `returned`; false: not started, op continues without it. */
bool sto_rdb_prefetch_start(struct rdb_committer *c, struct sto_mutate_op *op,
                            void (*returned)(struct base_msg *msg)) MUST_CHECK;
/* Call after its return, when op no longer waits for it. */
void sto_rdb_prefetch_finish(struct rdb_prefetch *p);

#endif

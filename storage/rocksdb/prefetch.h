/*
 * storage/rocksdb/prefetch.h - what a write reads, read on another thread before its turn comes.
 *
 * Does:     say whether the blocks that an operation will read are in memory; have a reader thread
 *           read those that are not; notice when that is worth asking.
 * Owns:     a read from its start until its message is finished with.
 * May use:  base/, storage/.
 * Knows no: what the read values mean: nothing is decided by them.
 * Threads:  one committer's, but for the read itself.
 * Blocks:   no; the reader does.
 * Fails by: an operation that is not prefetched is read by the committer; so is one whose prefetch
 *           meets an error, which the committer meets then and reports.
 * Limits:   LIM_PREFETCH_OPS, LIM_PREFETCH_BYTES, LIM_PREFETCH_KEYS, and the tenant's part of the
 *           queue of points.
 * Promises: 1. An operation is prefetched at most once.
 *           2. While no read waits for a disk nothing is asked and nothing prefetched: being slow
 *              for want of a processor is not that.
 *           3. A prefetch counts in reads_open, and reads nothing behind a closed gate.
 *           4. The engine does not end its threads while a prefetch is in flight.
 */
#ifndef STORAGE_ROCKSDB_PREFETCH_H
#define STORAGE_ROCKSDB_PREFETCH_H

#include "storage/engine.h"

struct rdb_committer;

/* One operation's read; msg comes back to its committer's mailbox. */
struct rdb_prefetch {
    struct base_msg msg; /* first */
    void (*returned)(struct base_msg *msg);
    struct rdb_committer *committer;
    struct sto_mutate_op *op;
    bool was_slow;
};

/* When to ask, of one committer. */
struct rdb_prefetch_watch {
    unsigned left;       /* operations that are still asked about */
    uint64_t applied_ns; /* when an operation began to be applied; 0: not timed */
    uint64_t sleeps;     /* of this thread, up to the last look */
    bool is_counted;     /* sleeps is known, and the thread has done nothing but apply since */
};

/* An operation will be applied: has it timed. */
void sto_rdb_prefetch_applies(struct rdb_prefetch_watch *w, uint64_t now_ns);
/* It was. One that slept for LIM_PREFETCH_SLOW_US or more has the next ones asked about. */
void sto_rdb_prefetch_applied(struct rdb_prefetch_watch *w, uint64_t now_ns);
/* The thread does something else now, which may sleep. */
void sto_rdb_prefetch_pauses(struct rdb_prefetch_watch *w);
/* Says whether to start a prefetch of op: it is worth asking, and something is not in memory. */
bool sto_rdb_prefetch_is_wanted(struct rdb_committer *c, const struct sto_mutate_op *op) MUST_CHECK;
/* Starts it. msg->run is `returned` when it is back; false: not started, op goes on without. */
bool sto_rdb_prefetch_start(struct rdb_committer *c, struct sto_mutate_op *op,
                            void (*returned)(struct base_msg *msg)) MUST_CHECK;
/* It came back, and op waits for it no more. */
void sto_rdb_prefetch_finish(struct rdb_prefetch *p);

#endif

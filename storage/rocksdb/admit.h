/*
 * storage/rocksdb/admit.h - which writes a committer's queue takes.
 *
 * Does:     refuse what would wait too long, or would bring RocksDB to stall everybody; say when to
 *           come again; count what each tenant writes in a window of time.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: the order of what was taken (storage/fair_queue.h).
 * Threads:  admit from any; leave on the committer's.
 * Blocks:   no.
 * Fails by: ERR_OVERLOADED with op->retry_ns; what the gate and the engine's state say.
 * Limits:   LIM_COMMIT_QUEUE_OPS, LIM_COMMIT_QUEUE_BYTES, LIM_SHED_WINDOW_MS, LIM_HELD_*.
 * Promises: 1. A tenant has no more queued than is still free: one that floods leaves half to
 *              others, two leave a third.
 *           2. Under pressure, who writes less than a tenth of an even share is never refused for
 *              it, and one tenant alone is not either: its queue becomes short instead.
 *           3. Deletes are never refused for pressure.
 *           4. Beside others one tenant's operations that each keep them waiting for longer than
 *              LIM_HELD_FREE_MS do so for a hundredth of the time.
 */
#ifndef STORAGE_ROCKSDB_ADMIT_H
#define STORAGE_ROCKSDB_ADMIT_H

#include "storage/rocksdb/committer.h"

enum err sto_rdb_admit(struct rdb_committer *c, struct sto_mutate_op *op) MUST_CHECK;
/* The operation leaves the queue; returns its bytes. */
uint64_t sto_rdb_admit_leave(struct rdb_committer *c, struct sto_mutate_op *op, uint64_t now_ns);
/* An operation of the account took the committer's processor for so long: beyond what is free, none
 * of it may do so again for LIM_HELD_REST times as long. */
void sto_rdb_admit_held(struct rdb_committer *c, struct sto_account *account, uint64_t held_ns,
                        uint64_t now_ns);
/* Whether one that may keep others waiting is taken: always, when nobody else wrote lately. */
enum err sto_rdb_admit_dear(struct rdb_committer *c, struct sto_mutate_op *op,
                            uint64_t now_ns) MUST_CHECK;
/* How long to wait before another try, when so many operations are ahead. */
uint64_t sto_rdb_retry_ns(uint64_t ahead, uint64_t ns_per_op);

/* Counters that one thread writes and any reads: no locked instruction. */
static inline void sto_rdb_count_own(_Atomic uint64_t *counter, uint64_t by)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + by,
                          memory_order_relaxed);
}

#endif

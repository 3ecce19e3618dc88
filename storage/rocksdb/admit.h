/*
 * storage/rocksdb/admit.h - decides which writes a committer's queue accepts.
 *
 * Does:     refuses operations that would wait too long, or that would make RocksDB stall all
 *           writers; returns when to retry; counts the operations of each tenant in a window of
 *           time.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: the order of accepted operations (storage/fair_queue.h).
 * Threads:  admit from any; leave on the committer's.
 * Blocks:   no.
 * Fails by: ERR_OVERLOADED with op->retry_ns; the errors of a closed gate and of a failed engine.
 * Limits:   LIM_COMMIT_QUEUE_OPS, LIM_COMMIT_QUEUE_BYTES, LIM_SHED_WINDOW_MS, LIM_HELD_*.
 * Promises: 1. A tenant never has more operations queued than the queue has free places: one that
 *              floods leaves half to others, two leave a third.
 *           2. Under pressure, a tenant that writes less than a tenth of an even share is never
 *              refused for it, and a tenant that writes alone is not either: its queue becomes
 *              short instead.
 *           3. Deletes are never refused for pressure.
 *           4. While other tenants write, the operations of one tenant that each keep them waiting
 *              for longer than LIM_HELD_FREE_MS do so for a hundredth of the time.
 */
#ifndef STORAGE_ROCKSDB_ADMIT_H
#define STORAGE_ROCKSDB_ADMIT_H

#include "storage/rocksdb/committer.h"

enum err sto_rdb_admit(struct rdb_committer *c, struct sto_mutate_op *op) MUST_CHECK;
/* Removes the operation from the queue's counts; returns its bytes. */
uint64_t sto_rdb_admit_leave(struct rdb_committer *c, struct sto_mutate_op *op, uint64_t now_ns);
/* Records that an operation of the account used the committer's processor for held_ns. If that is
 * more than is free, none of the account may do so again for LIM_HELD_REST times as long. */
void sto_rdb_admit_held(struct rdb_committer *c, struct sto_account *account, uint64_t held_ns,
                        uint64_t now_ns);
/* Admits an operation that may keep others waiting; always, if no other tenant wrote recently. */
enum err sto_rdb_admit_dear(struct rdb_committer *c, struct sto_mutate_op *op,
                            uint64_t now_ns) MUST_CHECK;
/* Returns the time until a retry if `ahead` operations are before it in the queue. */
uint64_t sto_rdb_retry_ns(uint64_t ahead, uint64_t ns_per_op);

/* Adds to a counter that one thread writes and any reads: no locked instruction. */
static inline void sto_rdb_count_own(_Atomic uint64_t *counter, uint64_t by)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + by,
                          memory_order_relaxed);
}

#endif

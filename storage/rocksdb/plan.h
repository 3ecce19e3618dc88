/*
 * storage/rocksdb/plan.h - a dear operation, worked out on a reader while others are committed.
 *
 * Does:     hold back what its tenant wants to write later, have a reader apply it to the row as
 *           the database has it, notice whether the row changes meanwhile, make the batch that is
 *           left.
 * Owns:     a plan from its start until it is freed.
 * May use:  base/, storage/.
 * Knows no: which operations are dear (apply.c), who is answered.
 * Threads:  one committer's, but for the work itself.
 * Blocks:   on a reader: on reads. put, when ranges are deleted: for documents that are written.
 * Fails by: start: false when there is no memory, or the engine is closing; put: as apply.h.
 * Limits:   one plan for each tenant and priority; LIM_PLAN_TRIES.
 * Promises: 1. What is written is what the committer would have written at that moment.
 *           2. From the start to the end nothing of the tenant and priority is taken from the
 *              queue; from LIM_PLAN_TRIES on nothing of the tenant is: then the row does not
 *              change.
 *           3. A plan counts in reads_open while a reader has it, and the engine does not end its
 *              threads before it is freed.
 */
#ifndef STORAGE_ROCKSDB_PLAN_H
#define STORAGE_ROCKSDB_PLAN_H

#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/committer.h"

struct rdb_plan {
    struct base_msg msg; /* first; comes back to the committer's mailbox */
    void (*returned)(struct base_msg *msg);
    struct rdb_committer *committer;
    struct sto_mutate_op *op;
    unsigned tries; /* plans of this operation that were stale */
    int64_t server_us;
    enum err result;
    bool is_locked; /* docs_lock */
    struct rdb_watch watch;
    struct sto_key_bounds bounds; /* of the row */
    struct sto_span span;         /* the same */
    struct rdb_row row;
    struct rdb_batch batch;
};

/* Nothing of the row is in the batch under way. msg->run is `returned` when it is back. */
bool sto_rdb_plan_start(struct rdb_committer *c, struct sto_mutate_op *op, unsigned tries,
                        void (*returned)(struct base_msg *msg)) MUST_CHECK;
/* It is back: what was held back is released. True: the row has changed. No batch is under way. */
bool sto_rdb_plan_finish(struct rdb_plan *p, uint64_t now_ns) MUST_CHECK;
/* Puts it into the committer's empty batch; whatever the result, that is written or cleared before
 * the plan is freed. *out_stale: it is to be worked out again, and the batch is empty. */
enum err sto_rdb_plan_put(struct rdb_plan *p, bool *out_stale) MUST_CHECK;
void sto_rdb_plan_free(struct rdb_plan *p);

#endif

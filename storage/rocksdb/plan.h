/*
 * storage/rocksdb/plan.h - an expensive operation, computed on a reader while others are committed.
 *
 * Does:     holds back its tenant's later writes, has a reader apply the operation to the row as
 *           the database has it, detects whether the row changes before the result is written,
 *           creates the batch of the remaining writes.
 * Owns:     a plan from its start until it is freed.
 * May use:  base/, storage/.
 * Knows no: which operations are expensive (apply.c), the client.
 * Threads:  one committer's, except the computation itself.
 * Blocks:   on a reader: on reads. put, when ranges are deleted: on writes of documents.
 * Fails by: start: false if there is no memory, or the engine is closing; put: as apply.h.
 * Limits:   one plan for each tenant and priority; LIM_PLAN_TRIES.
 * Promises: 1. The written changes are those that the committer would have written at that moment.
 *           2. From start to finish no operation of the tenant and priority is taken from the
 *              queue; after LIM_PLAN_TRIES tries none of the tenant is: then the row does not
 *              change.
 *           3. A plan counts in reads_open while a reader has it, and the engine does not end its
 *              threads before the plan is freed.
 */
#ifndef STORAGE_ROCKSDB_PLAN_H
#define STORAGE_ROCKSDB_PLAN_H

#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/committer.h"

struct rdb_plan {
    struct base_msg msg; /* first; returns to the committer's mailbox */
    void (*returned)(struct base_msg *msg);
    struct rdb_committer *committer;
    struct sto_mutate_op *op;
    unsigned tries; /* previous plans of this operation that were stale */
    int64_t server_us;
    enum err result;
    bool is_locked; /* docs_lock is held */
    struct rdb_watch watch;
    struct sto_key_bounds bounds; /* bounds of the row */
    struct sto_span span;         /* the same bounds as a span */
    struct rdb_row row;
    struct rdb_batch batch;
};

/* Starts a plan. The batch in progress has no change of the row. On return, msg->run is
 * `returned`. */
bool sto_rdb_plan_start(struct rdb_committer *c, struct sto_mutate_op *op, unsigned tries,
                        void (*returned)(struct base_msg *msg)) MUST_CHECK;
/* Call on return; releases the operations that were held back. True: the row has changed. No batch
 * is in progress. */
bool sto_rdb_plan_finish(struct rdb_plan *p, uint64_t now_ns) MUST_CHECK;
/* Puts the result into the committer's empty batch; whatever the result, the caller writes or
 * clears that batch before it frees the plan. *out_stale: the operation has to be computed again,
 * and the batch is empty. */
enum err sto_rdb_plan_put(struct rdb_plan *p, bool *out_stale) MUST_CHECK;
void sto_rdb_plan_free(struct rdb_plan *p);

#endif

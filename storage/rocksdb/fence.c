/*
 * storage/rocksdb/fence.c - see fence.h.
 *
 * Each operation and each slice of a drop checks the gate on the committer, right before it goes
 * into a batch. A message that is neither has the batch in progress written first: later operations
 * were not checked yet, and will find the gate closed. So the fence need not wait until its tenant
 * is served.
 */
#include "storage/rocksdb/fence.h"

#include <stddef.h>

#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

static struct sto_fence_op *op_of(struct base_msg *msg)
{
    return (struct sto_fence_op *)((char *)msg - offsetof(struct sto_fence_op, msg));
}

static void run_done(struct base_msg *msg)
{
    struct sto_fence_op *op = op_of(msg);
    op->done(op);
}

static void run_between_batches(struct base_msg *msg)
{
    struct sto_fence_op *op = op_of(msg);
    op->msg.run = run_done;
    base_mailbox_push(op->reply_to, &op->msg);
}

void sto_rdb_fence(struct sto_engine *engine, struct sto_fence_op *op)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    op->msg.run = run_between_batches;
    sto_rdb_committer_post(sto_rdb_committer_of(e, op->scope.account), &op->msg);
}

/*
 * storage/rocksdb/fence.h - the moment behind which a closed gate lets nothing more be committed.
 *
 * Does:     answer when whatever of a tenant passed the gate before is durable or refused.
 * Owns:     nothing; the operation is the message.
 * May use:  storage/.
 * Knows no: who closed the gate, and why.
 * Threads:  submit from any; runs on the tenant's committer, between two batches.
 * Blocks:   no.
 * Fails by: does not fail: of an engine that has stopped nothing is committed any more.
 * Limits:   the batch under way and one slice of a drop; nothing that waits is waited for.
 * Promises: 1. Behind done nothing becomes visible that the gate forbids.
 */
#ifndef STORAGE_ROCKSDB_FENCE_H
#define STORAGE_ROCKSDB_FENCE_H

#include "storage/engine.h"

void sto_rdb_fence(struct sto_engine *engine, struct sto_fence_op *op);

#endif

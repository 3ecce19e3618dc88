/*
 * storage/rocksdb/fence.h - reports when no write admitted before a gate closed is in flight.
 *
 * Does:     returns the operation when every write of a tenant that passed the gate before is
 *           durable or refused.
 * Owns:     nothing; the operation is the message.
 * May use:  storage/.
 * Knows no: who closed the gate, and why.
 * Threads:  submit from any; runs on the tenant's committer, between two batches.
 * Blocks:   no.
 * Fails by: does not fail: a stopped engine commits nothing more.
 * Limits:   the batch in progress and one slice of a drop; it does not wait for queued operations.
 * Promises: 1. After done, no write that the gate forbids becomes visible.
 */
#ifndef STORAGE_ROCKSDB_FENCE_H
#define STORAGE_ROCKSDB_FENCE_H

#include "storage/engine.h"

void sto_rdb_fence(struct sto_engine *engine, struct sto_fence_op *op);

#endif

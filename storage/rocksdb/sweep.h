/*
 * storage/rocksdb/sweep.h - removes cells that no read shows any more.
 *
 * Does:     finds such cells on readers, in parallel with other work; removes them on the tenant's
 *           committer, which checks them again, a few at a time.
 * Owns:     the operation's cursor and its list of found cells.
 * May use:  base/, storage/.
 * Knows no: when which table is swept, and at what rate (tenancy/sweeper.h).
 * Threads:  submit from any; runs on readers and the tenant's committer.
 * Blocks:   no more than a slice or a commit.
 * Fails by: as sto_drop_rows.
 * Limits:   LIM_SLICE_STEPS_SHARED keys a slice of a reader, LIM_SWEEP_SLICE_CELLS deletes a
 *           commit, LIM_SWEEP_FOUND_CELLS, LIM_SWEEP_FOUND_BYTES.
 * Promises: 1. The committer visits no column in which nothing was found, and nothing after the
 *              last found cell.
 *           2. After every commit headers and counters are exact.
 */
#ifndef STORAGE_ROCKSDB_SWEEP_H
#define STORAGE_ROCKSDB_SWEEP_H

#include "storage/engine.h"

struct rdb_engine;

/* op->expired_only is set. */
void sto_rdb_sweep(struct rdb_engine *e, struct sto_drop_op *op);

#endif

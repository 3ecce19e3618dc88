/*
 * storage/rocksdb/change_read.h - slices of a table's change stream.
 *
 * Does:     give changes behind a position to a sink, on a reader thread, a slice at a time.
 * Owns:     nothing between slices.
 * May use:  base/, storage/.
 * Knows no: who reads, what a change looks like on the wire.
 * Threads:  submit from any.
 * Blocks:   no.
 * Fails by: as sto_read_changes.
 * Limits:   those of slice_clock.h: a step is a part, or 1 KiB of it.
 * Promises: 1. What is given is durable, in the order of positions, and nothing is left out: where
 *              something may have been removed already, the slice fails.
 *           2. What a slice looked at is in parts_seen and bytes_seen, whatever it ended with.
 */
#ifndef STORAGE_ROCKSDB_CHANGE_READ_H
#define STORAGE_ROCKSDB_CHANGE_READ_H

#include "storage/engine.h"

void sto_rdb_read_changes(struct sto_engine *engine, struct sto_change_op *op);

#endif

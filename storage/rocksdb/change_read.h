/*
 * storage/rocksdb/change_read.h - slices of a table's change stream.
 *
 * Does:     emits changes after a position to a sink, on a reader thread, a slice at a time.
 * Owns:     nothing between slices.
 * May use:  base/, storage/.
 * Knows no: the client, the wire format of a change.
 * Threads:  submit from any.
 * Blocks:   no.
 * Fails by: as sto_read_changes.
 * Limits:   those of slice_clock.h: a step is a part, or 1 KiB of it.
 * Promises: 1. Every emitted change is durable, changes come in the order of positions, and none is
 *              left out: where some may have been removed already, the slice fails.
 *           2. The data that a slice visited is in parts_seen and bytes_seen, whatever its result.
 */
#ifndef STORAGE_ROCKSDB_CHANGE_READ_H
#define STORAGE_ROCKSDB_CHANGE_READ_H

#include "storage/engine.h"

void sto_rdb_read_changes(struct sto_engine *engine, struct sto_change_op *op);

#endif

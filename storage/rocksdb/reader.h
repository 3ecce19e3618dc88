/*
 * storage/rocksdb/reader.h - reads rows and ranges of rows, slice by slice.
 *
 * Does:     runs read operations, on the caller's thread from memory or on a reader thread.
 * Owns:     cursors, until sto_read_finish.
 * May use:  base/, storage/.
 * Knows no: the client.
 * Threads:  as storage/engine.h.
 * Blocks:   only on reader threads.
 * Fails by: ERR_SUSPENDED, ERR_GONE, ERR_OVERLOADED, ERR_UNAVAILABLE, ERR_CORRUPT, ERR_IO,
 *           ERR_INVALID, ERR_NO_MEMORY.
 * Limits:   LIM_READ_QUEUE_OPS, those of slice.h.
 * Promises: 1. A row is emitted from one state of it, however many slices it takes (long_row.h).
 *           2. A point read that is served from memory allocates nothing here.
 */
#ifndef STORAGE_ROCKSDB_READER_H
#define STORAGE_ROCKSDB_READER_H

#include "storage/engine.h"

bool sto_rdb_read_rows(struct sto_engine *engine, struct sto_read_op *op,
                       bool try_inline) MUST_CHECK;
void sto_rdb_read_finish(struct sto_engine *engine, struct sto_read_op *op);

#endif

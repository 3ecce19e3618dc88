/*
 * storage/rocksdb/slice_range.h - the ranges of a read, one iterator for each.
 *
 * Does:     opens an iterator over the rest of the next range of the read's row set.
 * Owns:     nothing; works on the cursor.
 * May use:  base/, storage/.
 * Knows no: rows, cells.
 * Threads:  one at a time per cursor.
 * Blocks:   opening does not read.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Every range of the row set comes once, in the direction of the read, without the
 *              rows that the filter's row keys rule out.
 */
#ifndef STORAGE_ROCKSDB_SLICE_RANGE_H
#define STORAGE_ROCKSDB_SLICE_RANGE_H

#include "storage/rocksdb/slice.h"

/* Opens the iterator of the current range or, if nothing of that is left, of a later one; the
 * iterator is not positioned yet. has_no_tombstones: no range tombstone covers a row of the range
 * (tombstones.h). False: no range is left. */
bool sto_rdb_range_open(struct sto_read_cursor *c, bool has_no_tombstones);
/* Opens the iterator again, inside the long row. False: the state of that row is lost. */
bool sto_rdb_range_reopen(struct sto_read_cursor *c, bool has_no_tombstones);
/* Closes the iterator; finished: the next range follows, else the same range is opened again. */
void sto_rdb_range_close(struct sto_read_cursor *c, bool finished);

/* Returns the row key; only if is_point. */
struct slice sto_rdb_range_point(const struct sto_read_cursor *c);

/* Returns the kind of the range that was opened last. */
enum sto_read_kind sto_rdb_range_kind(const struct sto_read_cursor *c);

#endif

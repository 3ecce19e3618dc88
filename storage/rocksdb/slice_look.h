/*
 * storage/rocksdb/slice_look.h - whether a read goes on, and whether its slice does.
 *
 * Does:     look at cancellation, deadline, time and work while a slice runs, also between two
 *           matches of one cell; count what the filter did as steps and as work of the operation.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: where in a row a slice may end.
 * Threads:  as slice.h.
 * Blocks:   no.
 * Fails by: at the beginning, ERR_SUSPENDED, ERR_GONE, ERR_NOT_FOUND, those of sto_rdb_usable;
 *           ERR_CANCELLED, ERR_TIMEOUT, ERR_TOO_BIG (a pattern of the filter).
 * Limits:   LIM_SLICE_STEPS, LIM_SLICE_STEPS_SHARED, LIM_SLICE_SHARED_US, LIM_INLINE_STEPS,
 *           LIM_INLINE_BYTES, LIM_INLINE_MATCHED.
 * Promises: 1. A slice on a loop ends by what it did, never by a clock: the same read is answered
 *              at once, or not, however busy the machine is.
 *           2. A slice on a reader that others wait for takes LIM_SLICE_SHARED_US of a processor,
 *              or the match of one pattern over one value.
 */
#ifndef STORAGE_ROCKSDB_SLICE_LOOK_H
#define STORAGE_ROCKSDB_SLICE_LOOK_H

#include "storage/rocksdb/slice.h"

/* The read ends, with that. */
enum rdb_slice_end sto_rdb_read_end(struct sto_read_cursor *c, enum err rc, const char *why);
/* Before the first key. SLICE_ERROR: the read ends here. */
enum rdb_slice_end sto_rdb_look_begin(struct sto_read_cursor *c);
/* Between two keys. SLICE_FULL: go on. */
enum rdb_slice_end sto_rdb_look(struct sto_read_cursor *c);
bool sto_rdb_slice_is_over(struct sto_read_cursor *c);
/* Matches what the filter will ask of a cell with a large value. False: the slice, or the read, is
 * over first; the cell is to come again. */
bool sto_rdb_cell_prepare(struct sto_read_cursor *c, int64_t timestamp_us, struct slice value);
/* Whether the cell is too much for this thread, which others wait for. The value is as stored. */
bool sto_rdb_cell_is_large(struct sto_read_cursor *c, size_t value_bytes);
/* Then the row goes to one where it holds nobody up. */
enum rdb_slice_end sto_rdb_cell_hand_over(struct sto_read_cursor *c);

#endif

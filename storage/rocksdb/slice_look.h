/*
 * storage/rocksdb/slice_look.h - decides whether a read continues, and whether its slice does.
 *
 * Does:     checks cancellation, deadline, time and work while a slice runs, also between two
 *           matches of one cell; counts the filter's work as steps and as work of the operation.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: where in a row a slice may end.
 * Threads:  as slice.h.
 * Blocks:   no.
 * Fails by: at the start, ERR_SUSPENDED, ERR_GONE, ERR_NOT_FOUND, those of sto_rdb_usable;
 *           ERR_CANCELLED, ERR_TIMEOUT, ERR_TOO_BIG (a pattern of the filter).
 * Limits:   LIM_SLICE_STEPS, LIM_SLICE_STEPS_SHARED, LIM_SLICE_SHARED_US, LIM_INLINE_STEPS,
 *           LIM_INLINE_BYTES, LIM_INLINE_MATCHED.
 * Promises: 1. A slice on a loop ends by the work it did, never by a clock: whether a read is
 *              served from the loop does not depend on how busy the machine is.
 *           2. A slice on a reader that others wait for takes LIM_SLICE_SHARED_US of processor
 *              time, or the match of one pattern over one value.
 */
#ifndef STORAGE_ROCKSDB_SLICE_LOOK_H
#define STORAGE_ROCKSDB_SLICE_LOOK_H

#include "storage/rocksdb/slice.h"

/* Ends the read with this error. */
enum rdb_slice_end sto_rdb_read_end(struct sto_read_cursor *c, enum err rc, const char *why);
/* Checks before the first key. SLICE_ERROR: the read ends here. */
enum rdb_slice_end sto_rdb_look_begin(struct sto_read_cursor *c);
/* Checks between two keys. SLICE_FULL: continue. */
enum rdb_slice_end sto_rdb_look(struct sto_read_cursor *c);
bool sto_rdb_slice_is_over(struct sto_read_cursor *c);
/* Matches the filter's patterns against a cell with a large value. False: the slice, or the read,
 * is over first; the cell has to be visited again. */
bool sto_rdb_cell_prepare(struct sto_read_cursor *c, int64_t timestamp_us, struct slice value);
/* Returns whether the cell is too expensive for this thread, which others wait for. value_bytes: as
 * stored. */
bool sto_rdb_cell_is_large(struct sto_read_cursor *c, size_t value_bytes);
/* Moves the row to a thread where it delays no other request. */
enum rdb_slice_end sto_rdb_cell_hand_over(struct sto_read_cursor *c);

#endif

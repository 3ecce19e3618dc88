/*
 * storage/rocksdb/slice_move.h - an iterator's moves, within a row and between rows.
 *
 * Does:     moves the cursor's iterator to where the visit of a row continues, or to a key, by
 *           steps or by a seek, whichever was cheaper before; counts both.
 * Owns:     nothing.
 * May use:  storage/.
 * Knows no: where rows and slices end, the key under the iterator after a move.
 * Threads:  as slice.h.
 * Blocks:   as the iterator's options say.
 * Fails by: an iterator that is no longer valid; if removed keys are the reason, target is the key
 *           of the seek.
 * Limits:   none; the cost is in the cursor's steps.
 * Promises: 1. All moves go forwards, except sto_rdb_seek_back.
 */
#ifndef STORAGE_ROCKSDB_SLICE_MOVE_H
#define STORAGE_ROCKSDB_SLICE_MOVE_H

#include "storage/rocksdb/slice.h"

/* Initializes the experience with skips of a new cursor. */
void sto_rdb_skips_init(struct sto_read_cursor *c);

/* Returns the key in the iterator's memory, valid until it moves. */
static inline struct slice sto_rdb_key_now(const struct sto_read_cursor *c)
{
    struct slice key;
    key.ptr = (const uint8_t *)rocksdb_iter_key(c->iterator, &key.len);
    return key;
}

/* Charges work that costs as much as this many steps. */
static inline void sto_rdb_steps_add(struct sto_read_cursor *c, uint64_t steps)
{
    c->steps += steps;
    c->op->steps += steps;
}

/* Moves to the first key at or after target; back: to the last key at or before it. */
void sto_rdb_seek(struct sto_read_cursor *c, struct slice target);
void sto_rdb_seek_back(struct sto_read_cursor *c, struct slice target);
/* As sto_rdb_seek, for a target ahead: takes a few steps if they reach it, else seeks. */
void sto_rdb_skip_to(struct sto_read_cursor *c, enum rdb_skip kind, struct slice target);

/* Moves from the cell, or the header, under the iterator to where the visit continues. */
void sto_rdb_move(struct sto_read_cursor *c, enum sto_visit_next next);
/* Moves to the first cell of the row that matters, from any position. */
void sto_rdb_move_from_start(struct sto_read_cursor *c, enum sto_visit_next next);

#endif

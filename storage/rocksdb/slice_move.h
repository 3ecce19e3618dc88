/*
 * storage/rocksdb/slice_move.h - an iterator's moves, within a row and to others.
 *
 * Does:     take the cursor's iterator where the visit of a row goes on, or to a key, by steps or a
 *           seek, whatever was cheaper before; count both.
 * Owns:     nothing.
 * May use:  storage/.
 * Knows no: where rows and slices end, what is under the iterator then.
 * Threads:  as slice.h.
 * Blocks:   as the iterator's options say.
 * Fails by: an iterator that is not valid any more; where removed keys are the reason, target is
 *           the key that was looked for.
 * Limits:   none; what counts is in the cursor's steps.
 * Promises: 1. Moves go forwards, but for sto_rdb_seek_back.
 */
#ifndef STORAGE_ROCKSDB_SLICE_MOVE_H
#define STORAGE_ROCKSDB_SLICE_MOVE_H

#include "storage/rocksdb/slice.h"

/* Of a new cursor: nothing was skipped yet. */
void sto_rdb_skips_init(struct sto_read_cursor *c);

/* In the iterator's memory, until it moves. */
static inline struct slice sto_rdb_key_now(const struct sto_read_cursor *c)
{
    struct slice key;
    key.ptr = (const uint8_t *)rocksdb_iter_key(c->iterator, &key.len);
    return key;
}

/* What was done costs as much as so many steps. */
static inline void sto_rdb_steps_add(struct sto_read_cursor *c, uint64_t steps)
{
    c->steps += steps;
    c->op->steps += steps;
}

/* To the first key at or behind target; back: to the last one at or before it. */
void sto_rdb_seek(struct sto_read_cursor *c, struct slice target);
void sto_rdb_seek_back(struct sto_read_cursor *c, struct slice target);
/* As sto_rdb_seek, for a target ahead: a few steps if that reaches it, else a seek. */
void sto_rdb_skip_to(struct sto_read_cursor *c, enum rdb_skip kind, struct slice target);

/* From the cell, or the header, under the iterator to where the visit goes on. */
void sto_rdb_move(struct sto_read_cursor *c, enum sto_visit_next next);
/* To the first cell of the row that matters, from wherever the iterator is. */
void sto_rdb_move_from_start(struct sto_read_cursor *c, enum sto_visit_next next);

#endif

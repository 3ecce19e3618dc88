/*
 * storage/rocksdb/drop_slice.h - a part of a drop: one commit of point deletes.
 *
 * Does:     collect deletes of the next cells of a range, their rows' headers, what the table's
 *           change stream is told of it, and what it does to the counters.
 * Owns:     nothing; the cursor, with its log of changes, is part of the drop.
 * May use:  base/, storage/.
 * Knows no: when it is written, what comes next (drop.c).
 * Threads:  one committer's.
 * Blocks:   on reads.
 * Fails by: ERR_CORRUPT, ERR_IO (after latching the engine), ERR_NO_MEMORY.
 * Limits:   as its maker sets them.
 * Promises: 1. What is collected leaves headers and counters exact, also in the middle of a row.
 */
#ifndef STORAGE_ROCKSDB_DROP_SLICE_H
#define STORAGE_ROCKSDB_DROP_SLICE_H

#include "storage/engine.h"
#include "storage/rocksdb/change_log.h"
#include "storage/rocksdb/committer.h"
#include "storage/rocksdb/expiry.h"
#include "storage/rocksdb/reclaim_note.h"

struct rdb_drop_slice {
    struct sto_drop_op *op;
    struct rdb_engine *engine;
    struct rdb_committer *committer;
    uint64_t cells_wanted; /* behind so many it ends at the next row */
    uint64_t cells_max;    /* behind so many it ends */
    struct slice last;     /* of the cells to look at; empty: the iterator's bound is the end */
    bool finished;         /* nothing is left up to there */
    bool at_row_front;     /* position is */
    size_t cells;          /* deleted in this slice */
    size_t steps;          /* stored keys it looked at */

    /* the row being emptied; row_len 0: none */
    size_t row_len;
    bool changed;
    size_t row_key_len; /* logical */
    struct sto_row_head before;
    struct sto_row_head now;
    bool from_header; /* the slice saw it from its first key */
    struct rdb_change_log changes;

    struct rdb_expiry expiry; /* when only expired cells go */

    size_t position_len; /* where the next slice begins */
    uint8_t position[STO_KEY_MAX];
    uint8_t row[STO_KEY_HEADER_MAX];
};

/* All counters and limits but position are zero. */
void sto_rdb_drop_slice_init(struct rdb_drop_slice *d, struct rdb_engine *e,
                             struct sto_drop_op *op);
void sto_rdb_drop_slice_fini(struct rdb_drop_slice *d);
/* it: bounded. The batch may hold slices of other cells. */
enum err sto_rdb_drop_slice_collect(struct rdb_drop_slice *d, struct rdb_batch *batch,
                                    rocksdb_iterator_t *it) MUST_CHECK;
/* Write what was collected, with what it removed added to the operation. noted: NULL, or of what a
 * note for reclaim.h goes with it, and when it is due. The batch is empty afterwards. */
enum err sto_rdb_drop_slice_write(struct rdb_drop_slice *d, struct rdb_batch *batch,
                                  const struct sto_key_bounds *noted,
                                  enum rdb_note_when when) MUST_CHECK;

#endif

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
 * Limits:   LIM_DROP_SLICE_CELLS.
 * Promises: 1. What is collected leaves headers and counters exact, also in the middle of a row.
 */
#ifndef STORAGE_ROCKSDB_DROP_SLICE_H
#define STORAGE_ROCKSDB_DROP_SLICE_H

#include "storage/engine.h"
#include "storage/rocksdb/change_log.h"
#include "storage/rocksdb/committer.h"

struct rdb_drop_slice {
    struct sto_drop_op *op;
    struct rdb_engine *engine;
    struct rdb_committer *committer;
    uint64_t cells_wanted; /* behind so many it ends at the next row; UINT64_MAX: at its limits */
    bool finished;         /* nothing is left */
    bool at_row_front;     /* position is */
    size_t cells;          /* deleted in this slice */
    size_t steps;

    /* the row being emptied; row_len 0: none */
    size_t row_len;
    bool changed;
    size_t row_key_len; /* logical */
    struct sto_row_head before;
    struct sto_row_head now;
    bool from_header; /* the slice saw it from its first key */
    struct rdb_change_log changes;

    /* the column being looked through when only expired cells go; column_len 0: none */
    size_t column_len;
    const struct sto_family *family; /* NULL: not in the schema */
    uint64_t newer;                  /* stored cells of the column passed */
    int64_t now_us;

    size_t position_len; /* where the next slice begins */
    struct sto_key_bounds bounds;
    uint8_t position[STO_KEY_MAX];
    uint8_t row[STO_KEY_HEADER_MAX];
    uint8_t column[STO_KEY_COLUMN_MAX];
};

enum err sto_rdb_drop_slice_collect(struct rdb_drop_slice *d, struct rdb_batch *batch) MUST_CHECK;
/* Whether the operation looked at enough (steps_max) and position is at the front of a row. */
bool sto_rdb_drop_slice_is_enough(const struct rdb_drop_slice *d);

#endif

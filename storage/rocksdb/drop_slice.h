/*
 * storage/rocksdb/drop_slice.h - a part of a drop: one commit of point deletes.
 *
 * Does:     collects deletes of the next cells of a range, their rows' headers, records for the
 *           table's change stream, and the effect on the counters.
 * Owns:     nothing; the cursor, with its log of changes, is part of the drop.
 * May use:  base/, storage/.
 * Knows no: when it is written, the next slice (drop.c).
 * Threads:  one committer's.
 * Blocks:   on reads.
 * Fails by: ERR_CORRUPT, ERR_IO (after latching the engine), ERR_NO_MEMORY.
 * Limits:   set by its creator.
 * Promises: 1. The collected changes leave headers and counters exact, also in the middle of a row.
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
    uint64_t cells_wanted; /* after this many the slice ends at the next row */
    uint64_t cells_max;    /* after this many the slice ends */
    struct slice last;     /* of the cells to visit; empty: the iterator's bound is the end */
    bool finished;         /* no cell is left up to `last` */
    bool at_row_front;     /* position is at the start of a row */
    size_t cells;          /* deleted in this slice */
    size_t steps;          /* stored keys visited */

    /* the row being emptied; row_len 0: none */
    size_t row_len;
    bool changed;
    size_t row_key_len; /* length of the logical row key */
    struct sto_row_head before;
    struct sto_row_head now;
    bool from_header; /* the slice saw the row from its first key */
    struct rdb_change_log changes;

    struct rdb_expiry expiry; /* used when only expired cells are deleted */

    size_t position_len; /* position: where the next slice starts */
    uint8_t position[STO_KEY_MAX];
    uint8_t row[STO_KEY_HEADER_MAX];
};

/* All counters and limits, except position, are zero. */
void sto_rdb_drop_slice_init(struct rdb_drop_slice *d, struct rdb_engine *e,
                             struct sto_drop_op *op);
void sto_rdb_drop_slice_fini(struct rdb_drop_slice *d);
/* Collects the slice. it: bounded. The batch may hold slices of other cells. */
enum err sto_rdb_drop_slice_collect(struct rdb_drop_slice *d, struct rdb_batch *batch,
                                    rocksdb_iterator_t *it) MUST_CHECK;
/* Writes the collected changes and adds the removed amounts to the operation. noted: NULL, or the
 * rows of a reclaim record in the same batch; when: when it is due. The batch is empty
 * afterwards. */
enum err sto_rdb_drop_slice_write(struct rdb_drop_slice *d, struct rdb_batch *batch,
                                  const struct sto_key_bounds *noted,
                                  enum rdb_note_when when) MUST_CHECK;

#endif

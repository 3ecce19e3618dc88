/*
 * storage/rocksdb/slice.h - the next part of a read: one iterator, one row at a time.
 *
 * Does:     run one slice of a read on the calling thread, give its rows to the sink.
 * Owns:     the cursor's iterator.
 * May use:  base/, storage/.
 * Knows no: which thread it is on, beyond whether it may wait; who is answered.
 * Threads:  one at a time per cursor.
 * Blocks:   only when on_reader is set.
 * Fails by: SLICE_ERROR with op->result: ERR_SUSPENDED, ERR_GONE, ERR_UNAVAILABLE, ERR_CORRUPT,
 *           ERR_IO.
 * Limits:   LIM_SLICE_ROWS, LIM_SLICE_STEPS, LIM_INLINE_STEPS.
 * Promises: 1. Between slices no iterator is held unless a row is open; one that is held counts in
 *              reads_open of the account. 2. A slice on a reader gives at least one cell or passes
 *              at least one row: a read ends.
 */
#ifndef STORAGE_ROCKSDB_SLICE_H
#define STORAGE_ROCKSDB_SLICE_H

#include <rocksdb/c.h>

#include "storage/engine.h"
#include "storage/keycodec.h"

struct rdb_engine;

enum rdb_slice_end {
    SLICE_FULL,       /* more to come, position is in bounds.lower */
    SLICE_HELD,       /* more to come, the iterator stands inside a row */
    SLICE_END,        /* nothing more */
    SLICE_INCOMPLETE, /* memory did not have it, or it takes too long here: to a reader */
    SLICE_ERROR,
};

struct sto_read_cursor {
    struct rdb_engine *engine;
    struct sto_read_op *op;
    bool on_reader;
    rocksdb_iterator_t *iterator; /* NULL between slices unless a row is open */
    rocksdb_readoptions_t *options;
    size_t table_len;

    /* the row under the iterator; row_len 0: none */
    size_t row_len;
    bool begun;
    bool full;
    bool finished;      /* a single row has nothing more that was asked for */
    uint64_t row_bytes; /* from its header */

    /* the column under the iterator; column_len 0: none */
    size_t column_len;
    const struct sto_family *family; /* NULL: not in the schema */
    struct slice qualifier;
    uint32_t versions_left;
    int64_t oldest_us;

    /* this slice */
    uint64_t steps;
    uint64_t rows;
    int64_t now_us;

    struct sto_key_bounds bounds;
    uint8_t row[STO_KEY_ROW_MAX];
    uint8_t column[STO_KEY_COLUMN_MAX];
    uint8_t target[STO_KEY_COLUMN_MAX];
    uint8_t row_key_scratch[2 * LIM_ROW_KEY];
    uint8_t qualifier_scratch[2 * LIM_QUALIFIER];
};

/* Everything but the bounds, which the caller fills in. Touches only what is used. */
void sto_rdb_cursor_init(struct sto_read_cursor *c, struct rdb_engine *e, struct sto_read_op *op);
enum rdb_slice_end sto_rdb_slice_run(struct sto_read_cursor *c);
/* Give up a held iterator, if there is one. */
void sto_rdb_slice_release(struct sto_read_cursor *c);

#endif

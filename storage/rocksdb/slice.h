/*
 * storage/rocksdb/slice.h - the next part of a read: one iterator, one row at a time.
 *
 * Does:     run one slice of a read on the calling thread, give what is visible to the sink.
 * Owns:     the cursor's iterator and visit.
 * May use:  base/, storage/.
 * Knows no: which thread it is on, beyond whether it may wait; who is answered; what is visible.
 * Threads:  one at a time per cursor.
 * Blocks:   only when on_reader is set.
 * Fails by: SLICE_ERROR with op->result: ERR_SUSPENDED, ERR_GONE, ERR_UNAVAILABLE, ERR_CORRUPT,
 *           ERR_IO, those of slice_look.h.
 * Limits:   LIM_SLICE_ROWS, those of slice_look.h.
 * Promises: 1. Between slices there is no iterator; reads_open of the account counts running ones.
 *           2. A slice on a reader gives at least one cell, passes at least one row, or matches at
 *              least one pattern over a large value: a read ends.
 *           3. All cells of a row are of one state of it, or the read fails.
 */
#ifndef STORAGE_ROCKSDB_SLICE_H
#define STORAGE_ROCKSDB_SLICE_H

#include <rocksdb/c.h>

#include "storage/cipher.h"
#include "storage/engine.h"
#include "storage/keycodec.h"
#include "storage/rocksdb/long_row.h"
#include "storage/rocksdb/slice_clock.h"
#include "storage/visit.h"

struct rdb_engine;

#define ROW_CELLS_UNKNOWN UINT64_MAX
/* A move ends when it has passed so many removed keys, unless the cursor is unbounded: it has cost
 * as much as a seek then. */
#define REMOVED_KEYS_MAX    32
#define REMOVED_KEYS_A_STEP 4
#define REMOVED_KEYS_NOTED  256 /* by a slice: else they are not worth a thought */

enum rdb_slice_end {
    SLICE_FULL,       /* more to come: position says where */
    SLICE_INSIDE,     /* more to come of the row that was begun: only a reader goes on */
    SLICE_END,        /* nothing more */
    SLICE_INCOMPLETE, /* memory did not have it, or it takes too long here: to a reader */
    SLICE_ERROR,
    SLICE_AGAIN, /* never of a slice: the row begins anew */
};

/* Ways to go on, each with a length of its own. */
enum rdb_skip {
    RDB_SKIP_COLUMN,
    RDB_SKIP_TO_COLUMN,
    RDB_SKIP_TO_VERSION,
    RDB_SKIP_ROW,
    RDB_SKIP_END_OF_ROW, /* all its cells were met */
    RDB_SKIP_GARBAGE,    /* a column's newest cell was met, and it keeps no other */
    RDB_SKIP_COUNT
};

/* What skips of one kind were like. */
struct rdb_skip_memory {
    uint16_t seeks_first; /* so many will not try steps */
    uint16_t seeks_next;  /* ... after steps have not reached it once more */
};

/* How a move continues after REMOVED_KEYS_MAX removed keys. Each is tried when the one before
 * failed. */
enum rdb_moves {
    RDB_MOVES_BLIND,    /* at the next column: what it jumped over may have been cells */
    RDB_MOVES_EXACT,    /* at the next version: after a cell that was written to often */
    RDB_MOVES_UNBOUNDED /* past any number of them */
};

struct sto_read_cursor {
    struct rdb_engine *engine;
    struct sto_read_op *op;
    bool on_reader;
    bool among_points;            /* on a reader that others' points wait for */
    bool is_long;                 /* for good: it is run as a scan */
    rocksdb_iterator_t *iterator; /* NULL between slices */
    rocksdb_readoptions_t *options;
    struct sto_visit visit;
    size_t table_len;

    /* where in the row set */
    size_t range_index;      /* in the direction of the read */
    bool is_point;           /* the range is one row */
    enum rdb_moves moves;    /* until the row is over */
    bool counts_removed;     /* this one does */
    uint64_t removed_before; /* sto_rdb_passed_begin */
    bool ends_in_loss;       /* what follows the bounds of the iterator was lost (lost.h) */
    bool must_move;          /* the iterator has to go to `position` before it shows the next row */
    size_t position_len;     /* 0: the range from its beginning; else what is left of it begins here
                          * (ends here, when reversed) */

    /* the row under the iterator, or the one that the next slice goes on in; row_len 0: none */
    size_t row_len;
    bool row_seen;         /* it is there: counted in rows_seen */
    uint64_t bytes_before; /* the operation's bytes_seen in front of it */
    uint64_t cells_before; /* the same of cells_seen */
    bool row_is_over;      /* nothing more of it matters in this pass */
    uint64_t row_bytes;    /* from its header */
    uint64_t row_cells;    /* from its header; ROW_CELLS_UNKNOWN: that was not read */
    uint64_t cells_left;   /* of them, which the iterator has not stood on in this pass */
    bool is_blind;         /* what was jumped over in this pass may have been cells */
    int64_t timestamp_us;  /* of the last cell that was looked at */
    size_t column_len;     /* of the column under the iterator; 0: none */

    /* a row that takes more than one slice; between them, target is the key to go on from */
    uint64_t mark; /* of before the iterator was made (long_row.h) */
    size_t target_len;
    struct rdb_long_row long_row;

    struct rdb_skip_memory skips[RDB_SKIP_COUNT];

    struct sto_sealer sealer;
    struct buf plain; /* the value under the iterator, if it was sealed */

    /* this slice (slice_look.h) */
    uint64_t steps;
    uint64_t work_ns;             /* of the filter, less than a step's */
    uint64_t matched;             /* on a loop: instructions times bytes */
    struct rdb_slice_clock clock; /* on a reader */
    uint64_t rows;
    bool full;

    struct sto_key_bounds bounds; /* of the iterator; unchanged while it lives */
    uint8_t position[STO_KEY_ROW_MAX];
    uint8_t row[STO_KEY_ROW_MAX];
    uint8_t column[STO_KEY_COLUMN_MAX];
    uint8_t target[STO_KEY_MAX];
    uint8_t row_key_scratch[2 * LIM_ROW_KEY];
    uint8_t qualifier_scratch[2 * LIM_QUALIFIER];
};

/* Touches only what is used. ERR_NO_MEMORY; fini is needed after ERR_OK only. */
enum err sto_rdb_cursor_init(struct sto_read_cursor *c, struct rdb_engine *e,
                             struct sto_read_op *op) MUST_CHECK;
/* Gives up a row that was begun, too. */
void sto_rdb_cursor_fini(struct sto_read_cursor *c);
/* Continue in a new cursor, on the heap, where the old one stands between rows. */
enum err sto_rdb_cursor_move(struct sto_read_cursor *to, struct sto_read_cursor *from) MUST_CHECK;

enum rdb_slice_end sto_rdb_slice_run(struct sto_read_cursor *c);

#endif

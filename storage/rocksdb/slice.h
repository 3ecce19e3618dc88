/*
 * storage/rocksdb/slice.h - one slice of a read: one iterator, one row at a time.
 *
 * Does:     runs one slice of a read on the calling thread, emits visible cells to the sink.
 * Owns:     the cursor's iterator and visit.
 * May use:  base/, storage/.
 * Knows no: its thread, beyond whether it may block; the client; the rules of visibility.
 * Threads:  one at a time per cursor.
 * Blocks:   only when on_reader is set.
 * Fails by: SLICE_ERROR with op->result: ERR_SUSPENDED, ERR_GONE, ERR_UNAVAILABLE, ERR_CORRUPT,
 *           ERR_IO, those of slice_look.h.
 * Limits:   LIM_SLICE_ROWS, those of slice_look.h.
 * Promises: 1. Between slices there is no iterator; reads_open of the account counts running
 *              slices.
 *           2. A slice on a reader emits at least one cell, passes at least one row, or matches at
 *              least one pattern against a large value: every read terminates.
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
/* A move ends after passing REMOVED_KEYS_MAX removed keys, unless the cursor is unbounded: the move
 * has then cost as much as a seek. */
#define REMOVED_KEYS_MAX    32
#define REMOVED_KEYS_A_STEP 4
#define REMOVED_KEYS_NOTED  256 /* least removed keys in a slice that are reported to removed.h */

enum rdb_slice_end {
    SLICE_FULL,       /* more to come, from `position` */
    SLICE_INSIDE,     /* more to come of the row in progress: only a reader continues it */
    SLICE_END,        /* nothing more */
    SLICE_INCOMPLETE, /* not in memory, or too slow here: continue on a reader */
    SLICE_ERROR,
    SLICE_AGAIN, /* never returned for a slice: the row is restarted */
};

/* Ways to continue. Each has a typical length of its own. */
enum rdb_skip {
    RDB_SKIP_COLUMN,
    RDB_SKIP_TO_COLUMN,
    RDB_SKIP_TO_VERSION,
    RDB_SKIP_ROW,
    RDB_SKIP_END_OF_ROW, /* all cells of the row were visited */
    RDB_SKIP_GARBAGE,    /* a column's newest cell was visited, and the column keeps no other */
    RDB_SKIP_COUNT
};

/* Experience with skips of one kind. */
struct rdb_skip_memory {
    uint16_t seeks_first; /* skips that will seek without trying steps first */
    uint16_t seeks_next;  /* seeks_first after steps fail to reach the target again */
};

/* How a move continues after REMOVED_KEYS_MAX removed keys. Each is tried when the previous one
 * failed. */
enum rdb_moves {
    RDB_MOVES_BLIND,    /* at the next column; may jump over cells */
    RDB_MOVES_EXACT,    /* at the next version: after a cell that was written often */
    RDB_MOVES_UNBOUNDED /* past any number of them */
};

struct sto_read_cursor {
    struct rdb_engine *engine;
    struct sto_read_op *op;
    bool on_reader;
    bool among_points;            /* on a reader that point reads of others wait for */
    bool is_long;                 /* runs as a scan for the rest of the read */
    rocksdb_iterator_t *iterator; /* NULL between slices */
    rocksdb_readoptions_t *options;
    struct sto_visit visit;
    size_t table_len;

    /* the position in the row set */
    size_t range_index;      /* counted in the direction of the read */
    bool is_point;           /* the range is one row */
    enum rdb_moves moves;    /* for the rest of the row */
    bool counts_removed;     /* the iterator counts removed keys */
    uint64_t removed_before; /* result of sto_rdb_passed_begin */
    bool ends_in_loss;       /* the keys after the iterator's bounds were lost (lost.h) */
    bool must_move; /* the iterator has to move to `position` before it shows the next row */
    /* 0: the range from its start; else the rest of it starts here (ends here, when reversed) */
    size_t position_len;

    /* the row under the iterator, or the row in which the next slice continues; row_len 0: none */
    size_t row_len;
    bool row_seen;         /* the row is visible: counted in rows_seen */
    uint64_t bytes_before; /* the operation's bytes_seen before this row */
    uint64_t cells_before; /* the operation's cells_seen before this row */
    bool row_is_over;      /* the rest of the row does not matter in this pass */
    uint64_t row_bytes;    /* from its header */
    uint64_t row_cells;    /* from its header; ROW_CELLS_UNKNOWN: the header was not read */
    uint64_t cells_left;   /* cells of the row that the iterator has not reached in this pass */
    bool is_blind;         /* a jump in this pass may have passed cells */
    int64_t timestamp_us;  /* of the last cell that was visited */
    size_t column_len;     /* of the column under the iterator; 0: none */

    /* a row that takes more than one slice; between slices, `target` is the key to continue from */
    uint64_t mark; /* taken before the iterator was created (long_row.h) */
    size_t target_len;
    struct rdb_long_row long_row;

    struct rdb_skip_memory skips[RDB_SKIP_COUNT];

    struct sto_sealer sealer;
    struct buf plain; /* the decrypted value under the iterator, if it was encrypted */

    /* this slice (slice_look.h) */
    uint64_t steps;
    uint64_t work_ns;             /* time of the filter that does not add up to a step yet */
    uint64_t matched;             /* on a loop: pattern instructions times bytes */
    struct rdb_slice_clock clock; /* on a reader */
    uint64_t rows;
    bool full;

    struct sto_key_bounds bounds; /* of the iterator; unchanged while the iterator exists */
    uint8_t position[STO_KEY_ROW_MAX];
    uint8_t row[STO_KEY_ROW_MAX];
    uint8_t column[STO_KEY_COLUMN_MAX];
    uint8_t target[STO_KEY_MAX];
    uint8_t row_key_scratch[2 * LIM_ROW_KEY];
    uint8_t qualifier_scratch[2 * LIM_QUALIFIER];
};

/* Sets only the fields that are used. ERR_NO_MEMORY; fini is needed after ERR_OK only. */
enum err sto_rdb_cursor_init(struct sto_read_cursor *c, struct rdb_engine *e,
                             struct sto_read_op *op) MUST_CHECK;
/* Frees the cursor's resources, also in the middle of a row. */
void sto_rdb_cursor_fini(struct sto_read_cursor *c);
/* Continues in a new cursor, on the heap, at the old one's position between two rows. */
enum err sto_rdb_cursor_move(struct sto_read_cursor *to, struct sto_read_cursor *from) MUST_CHECK;

enum rdb_slice_end sto_rdb_slice_run(struct sto_read_cursor *c);

#endif

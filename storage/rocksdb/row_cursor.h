/*
 * storage/rocksdb/row_cursor.h - the cells of one row as the batch under way leaves them.
 *
 * Does:     walk the database and the overlay as one order of cells, inside one row.
 * Owns:     its iterator, until close.
 * May use:  base/, storage/.
 * Knows no: what the cells are looked at for.
 * Threads:  one committer's.
 * Blocks:   on reads.
 * Fails by: ERR_CORRUPT (a stored cell), ERR_IO and what else latches the engine; ERR_CANCELLED:
 *           removed_max; a seek may go on then, to where the caller knows better.
 * Limits:   none.
 * Promises: 1. Cells come in the order of their keys, each once, deleted ones never.
 *           2. The cell it stands on, and any other, may be put or deleted before the next move;
 *              what is put behind it comes, if it was not there before.
 */
#ifndef STORAGE_ROCKSDB_ROW_CURSOR_H
#define STORAGE_ROCKSDB_ROW_CURSOR_H

#include "storage/rocksdb/batch.h"

struct rdb_row_cursor {
    struct rdb_batch *batch;
    struct slice row;     /* prefix of its keys */
    uint64_t removed_max; /* of the iterator, from the first seek on: so many removed keys are
                           * passed in one move; 0: any number */
    bool in_db;           /* the database may hold cells of the row */
    bool begun;           /* options and iterator are there, if the database is asked at all */
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *iterator;
    struct rdb_entry *pending; /* the overlay's next one at or behind the cell */
    bool on_pending;
    bool hides_stored; /* on_pending: the iterator stands on the same key */

    /* the cell it stands on; slices until the next move */
    bool at_end;
    bool cell_in_db;
    uint8_t family_name_len;
    struct slice key;
    struct slice value;

    struct buf plain; /* of what was sealed */
    uint8_t upper[STO_KEY_ROW_MAX];
};

/* row: its prefix, unchanged until close. Costs nothing before the first seek. */
void sto_rdb_row_cursor_open(struct rdb_row_cursor *c, struct rdb_batch *b, struct slice row,
                             bool in_db, uint64_t removed_max);
/* Another removed_max, from the next seek on. Costs nothing if it is the same. */
void sto_rdb_row_cursor_bound(struct rdb_row_cursor *c, uint64_t removed_max);
/* Accepts a zeroed cursor. */
void sto_rdb_row_cursor_close(struct rdb_row_cursor *c);

/* To the first cell at or behind key, which begins with the row's prefix and lies behind its
 * header. */
enum err sto_rdb_row_cursor_seek(struct rdb_row_cursor *c, struct slice key) MUST_CHECK;
enum err sto_rdb_row_cursor_next(struct rdb_row_cursor *c) MUST_CHECK;

/* The cell it stands on, without its value, for who changes it. Released by the caller, after a
 * failure too. */
enum err sto_rdb_row_cursor_view(const struct rdb_row_cursor *c,
                                 struct rdb_cell_view *out) MUST_CHECK;

#endif

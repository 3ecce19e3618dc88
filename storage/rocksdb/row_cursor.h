/*
 * storage/rocksdb/row_cursor.h - the cells of one row as the batch in progress leaves them.
 *
 * Does:     walks over the database and the overlay in one order of cells, inside one row.
 * Owns:     its iterator, until close.
 * May use:  base/, storage/.
 * Knows no: the purpose of the walk.
 * Threads:  one committer's.
 * Blocks:   on reads.
 * Fails by: ERR_CORRUPT (a stored cell), ERR_IO and other errors that latch the engine;
 *           ERR_CANCELLED: removed_max was reached; the caller may continue with a seek to a key
 *           that it knows.
 * Limits:   none.
 * Promises: 1. Cells come in the order of their keys, each once, deleted ones never.
 *           2. The cell under the cursor, and any other, may be put or deleted before the next
 *              move; a cell put after it is visited, if it is new.
 */
#ifndef STORAGE_ROCKSDB_ROW_CURSOR_H
#define STORAGE_ROCKSDB_ROW_CURSOR_H

#include "storage/rocksdb/batch.h"

struct rdb_row_cursor {
    struct rdb_batch *batch;
    struct slice row; /* prefix of its keys */
    /* removed keys that the iterator passes in one move, set at the first seek; 0: any number */
    uint64_t removed_max;
    bool in_db; /* the database may hold cells of the row */
    bool begun; /* options and iterator exist, if the database is read at all */
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *iterator;
    struct rdb_entry *pending; /* the overlay's next entry at or after the cell */
    bool on_pending;
    bool hides_stored; /* on_pending: the iterator is on the same key */

    /* the cell under the cursor; slices are valid until the next move */
    bool at_end;
    bool cell_in_db;
    uint8_t family_name_len;
    struct slice key;
    struct slice value;

    struct buf plain; /* the decrypted value */
    uint8_t upper[STO_KEY_ROW_MAX];
};

/* Opens the cursor; row: its prefix, unchanged until close. Costs nothing before the first seek. */
void sto_rdb_row_cursor_open(struct rdb_row_cursor *c, struct rdb_batch *b, struct slice row,
                             bool in_db, uint64_t removed_max);
/* Changes removed_max for the next seek and later moves. Costs nothing if it is the same. */
void sto_rdb_row_cursor_bound(struct rdb_row_cursor *c, uint64_t removed_max);
/* Accepts a zeroed cursor. */
void sto_rdb_row_cursor_close(struct rdb_row_cursor *c);

/* Moves to the first cell at or after key; key starts with the row's prefix and is after its
 * header. */
enum err sto_rdb_row_cursor_seek(struct rdb_row_cursor *c, struct slice key) MUST_CHECK;
enum err sto_rdb_row_cursor_next(struct rdb_row_cursor *c) MUST_CHECK;

/* Returns the cell under the cursor, without its value, for changes. The caller releases the view,
 * after a failure too. */
enum err sto_rdb_row_cursor_view(const struct rdb_row_cursor *c,
                                 struct rdb_cell_view *out) MUST_CHECK;

#endif

/*
 * cli/row_chunks.h - assembles rows from the cell chunks that ReadRows sends.
 *
 * Does:     parse messages, assemble cells, hold a row until it is committed.
 * Owns:     the open row, between init and fini.
 * May use:  base/, cli/.
 * Knows no: connections, the use of rows.
 * Threads:  one for each.
 * Blocks:   no.
 * Fails by: CLI_REFUSED (a chunk that breaks the protocol's rules, a row over the limit), reported;
 *           the results of on_cell and on_row.
 * Limits:   LIM_ROW_KEY, LIM_ROW_BYTES, LIM_CELL_BYTES_HARD.
 * Promises: 1. No cell of a row is emitted before the row is committed; a reset, or a broken
 *              stream, discards the open row.
 *           2. Rows are emitted in strictly increasing order, from start on and before end.
 *           3. Memory is bounded by the size of a row, not by its number of messages.
 */
#ifndef CLI_ROW_CHUNKS_H
#define CLI_ROW_CHUNKS_H

#include "base/buf.h"
#include "cli/exit.h"
#include "cli/transfer_cell.h"

enum cli_chunks_state { CLI_CHUNKS_BETWEEN, CLI_CHUNKS_IN_ROW, CLI_CHUNKS_IN_CELL };

struct cli_row_chunks {
    enum cli_exit (*on_cell)(void *ctx, const struct cli_cell *cell);
    enum cli_exit (*on_row)(void *ctx, struct slice key); /* called after its cells */
    void *ctx;
    struct slice start; /* inclusive; borrowed, like end */
    struct slice end;   /* exclusive; empty: no bound */
    struct buf last;    /* key up to which the range is complete; empty: none */
    enum cli_chunks_state state;
    struct buf key;   /* of the open row */
    struct buf bytes; /* its families, qualifiers and values */
    struct buf cells; /* positions of the cells' parts in bytes */
    size_t family_at; /* of the last cell */
    size_t family_len;
    size_t qualifier_at;
    size_t qualifier_len;
    size_t value_size; /* of the open cell, as its first chunk states */
};

void cli_row_chunks_init(struct cli_row_chunks *c);
void cli_row_chunks_fini(struct cli_row_chunks *c);
/* Starts a new stream that continues after `last`. */
void cli_row_chunks_begin(struct cli_row_chunks *c);
/* Handles a ReadRowsResponse. */
enum cli_exit cli_row_chunks_take(struct cli_row_chunks *c, struct slice message);
/* Returns, after the end of the stream, false when a row is open. */
bool cli_row_chunks_is_whole(const struct cli_row_chunks *c);

#endif

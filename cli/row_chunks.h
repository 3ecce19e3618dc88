/*
 * cli/row_chunks.h - rows out of the chunks of cells that ReadRows sends.
 *
 * Does:     take messages apart, put cells together, hold a row until it is committed.
 * Owns:     the row that is open, between init and fini.
 * May use:  base/, cli/.
 * Knows no: connections, what becomes of rows.
 * Threads:  one for each.
 * Blocks:   no.
 * Fails by: CLI_REFUSED (a chunk that breaks the protocol's rules, a row over the limit), said;
 *           what on_cell and on_row returned.
 * Limits:   LIM_ROW_KEY, LIM_ROW_BYTES, LIM_CELL_BYTES_HARD.
 * Promises: 1. Nothing of a row is told before it is committed; a reset, and a stream that broke
 *              off, leave nothing of it.
 *           2. Rows come in strictly rising order, from start on and before end.
 *           3. Memory is bounded by a row, however many messages it comes in.
 */
#ifndef CLI_ROW_CHUNKS_H
#define CLI_ROW_CHUNKS_H

#include "base/buf.h"
#include "cli/exit.h"
#include "cli/transfer_cell.h"

enum cli_chunks_state { CLI_CHUNKS_BETWEEN, CLI_CHUNKS_IN_ROW, CLI_CHUNKS_IN_CELL };

struct cli_row_chunks {
    enum cli_exit (*on_cell)(void *ctx, const struct cli_cell *cell);
    enum cli_exit (*on_row)(void *ctx, struct slice key); /* behind its cells */
    void *ctx;
    struct slice start; /* inclusive; borrowed, like end */
    struct slice end;   /* exclusive; empty: no bound */
    struct buf last;    /* up to here all was told, or has nothing; empty: nothing was */
    enum cli_chunks_state state;
    struct buf key;   /* of the open row */
    struct buf bytes; /* its families, qualifiers and values */
    struct buf cells; /* where they lie in there */
    size_t family_at; /* of the cell that came last */
    size_t family_len;
    size_t qualifier_at;
    size_t qualifier_len;
    size_t value_size; /* of the open cell, as its first chunk says */
};

void cli_row_chunks_init(struct cli_row_chunks *c);
void cli_row_chunks_fini(struct cli_row_chunks *c);
/* A new stream, from behind `last` on. */
void cli_row_chunks_begin(struct cli_row_chunks *c);
/* A ReadRowsResponse. */
enum cli_exit cli_row_chunks_take(struct cli_row_chunks *c, struct slice message);
/* The stream ended: false where a row is open. */
bool cli_row_chunks_is_whole(const struct cli_row_chunks *c);

#endif

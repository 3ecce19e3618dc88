/*
 * cli/table.h - prints tables of text.
 *
 * Does:     on a terminal: a header and aligned columns, widths derived from the first rows, long
 *           texts truncated; elsewhere: one space between columns, no header, nothing truncated.
 * Owns:     the first rows until their widths are known.
 * May use:  base/, cli/.
 * Knows no: the meaning of the texts.
 * Threads:  one.
 * Blocks:   on stdout.
 * Fails by: cli_out_state reports errors.
 * Limits:   CLI_TABLE_COLUMNS, CLI_TABLE_WINDOW_ROWS, CLI_TABLE_WINDOW_BYTES, CLI_CELL_COLUMNS.
 * Promises: 1. Cells are escaped (cli/text.h promise 1); off a terminal also spaces, in every
 *              column but the last, so that splitting at spaces returns the columns.
 *           2. An empty cell is "-".
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "base/buf.h"
#include "cli/bounds.h"

struct cli_column {
    const char *header;
    bool right; /* numbers */
};

struct cli_table {
    const struct cli_column *columns;
    size_t column_count;
    unsigned width[CLI_TABLE_COLUMNS];
    struct buf held; /* escaped cells of the window's rows, each ended by '\n' */
    size_t held_rows;
    bool terminal;
    bool flowing; /* the window is printed */
};

void cli_table_begin(struct cli_table *t, const struct cli_column *columns, size_t column_count);
/* Appends a row; cells: one raw text per column. */
void cli_table_row(struct cli_table *t, const struct slice *cells);
/* Prints the held rows. Must be called also after a failure. */
void cli_table_end(struct cli_table *t);

#endif

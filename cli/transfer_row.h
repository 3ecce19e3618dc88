/*
 * cli/transfer_row.h - parses a row of the server's JSON cell by cell.
 *
 * Does:     read {"key":..,"cells":{..}}; emit each cell.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: the use of the cells.
 * Threads:  one.
 * Blocks:   as take does.
 * Fails by: CLI_REFUSED (reported) for a line that is not a row; the result of take.
 * Limits:   those of the line.
 * Promises: 1. take receives every cell once, in the order of the line; its slices are valid during
 *              the call.
 */
#ifndef CLI_TRANSFER_ROW_H
#define CLI_TRANSFER_ROW_H

#include "base/buf.h"
#include "cli/exit.h"
#include "cli/transfer_cell.h"

/* Calls take for each cell. holder is scratch space, initialized with CLI_HOLDER_BYTES; key
 * receives the row's key, and may be NULL. */
enum cli_exit cli_row_cells(struct slice line, struct buf *holder, struct buf *key,
                            enum cli_exit (*take)(void *ctx, const struct cli_cell *cell),
                            void *ctx);

#endif

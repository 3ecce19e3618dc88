/*
 * cli/transfer_row.h - a row as the server sends it, cell by cell.
 *
 * Does:     read {"key":..,"cells":{..}}; hand out each cell.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: where the cells go.
 * Threads:  one.
 * Blocks:   as take does.
 * Fails by: CLI_REFUSED (said) for what is not a row; whatever take returned.
 * Limits:   the line's.
 * Promises: 1. take sees every cell once, in the order of the line; its slices last for the call.
 */
#ifndef CLI_TRANSFER_ROW_H
#define CLI_TRANSFER_ROW_H

#include "base/buf.h"
#include "cli/exit.h"
#include "cli/transfer_cell.h"

/* holder is scratch, born with CLI_HOLDER_BYTES; key: where the row's key is put, or NULL. */
enum cli_exit cli_row_cells(struct slice line, struct buf *holder, struct buf *key,
                            enum cli_exit (*take)(void *ctx, const struct cli_cell *cell),
                            void *ctx);

#endif

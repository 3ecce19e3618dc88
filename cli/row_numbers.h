/*
 * cli/row_numbers.h - sends whole numbers for cells of int64 families as numbers.
 *
 * Does:     replace texts in a request by numbers, where the table's schema requires it.
 * Owns:     nothing.
 * May use:  base/, cli/, jansson.
 * Knows no: the use of the request.
 * Threads:  one.
 * Blocks:   on the server, for the table.
 * Fails by: as cli_http_run, after which the caller must not write. If the key may not read the
 *           table, texts stay texts, which is reported.
 * Limits:   none.
 * Promises: 1. The table is requested once, and only if the request has such a text.
 */
#ifndef CLI_ROW_NUMBERS_H
#define CLI_ROW_NUMBERS_H

#include <jansson.h>

#include "cli/cli.h"
#include "cli/exit.h"

/* Replaces texts in body, which holds a row or lists of mutations. */
enum cli_exit cli_row_numbers(struct cli *cli, const char *table, json_t *body);

#endif

/*
 * cli/row_numbers.h - a whole number given for a cell of a family of type int64 is that number.
 *
 * Does:     replace texts of a request to be sent by numbers, where the table says so.
 * Owns:     nothing.
 * May use:  base/, cli/, jansson.
 * Knows no: what is done with the request.
 * Threads:  one.
 * Blocks:   on the server, for the table.
 * Fails by: as cli_http_run, and then nothing is to be written. Of a key that may not read the
 *           table texts stay texts, which is said.
 * Limits:   none.
 * Promises: 1. The table is asked for once, and only if there is such a text.
 */
#ifndef CLI_ROW_NUMBERS_H
#define CLI_ROW_NUMBERS_H

#include <jansson.h>

#include "cli/cli.h"
#include "cli/exit.h"

/* body: of a row, or with lists of mutations. */
enum cli_exit cli_row_numbers(struct cli *cli, const char *table, json_t *body);

#endif

/*
 * cli/cells.h - rows as the JSON API writes them.
 *
 * Does:     build request bodies from FAMILY:QUAL=VALUE words; print the cells of a row.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: requests.
 * Threads:  one.
 * Blocks:   on stdout.
 * Fails by: CLI_USAGE for words that are not cells, CLI_REFUSED for documents that are not rows.
 * Limits:   CLI_ANSWER_BYTES for one row.
 * Promises: 1. Any bytes the command line can carry are sent unchanged: text as text, the rest in
 *              base64.
 */
#ifndef CLI_CELLS_H
#define CLI_CELLS_H

#include <jansson.h>

#include "cli/exit.h"
#include "cli/table.h"

/* FAMILY:QUAL=VALUE words; the qualifier ends at the first "=". json_decref *out. */
enum cli_exit cli_cells_from_words(const char *const *words, size_t count, json_t **out);
/* FAMILY:QUAL or FAMILY words as a PATCH body that deletes them. */
enum cli_exit cli_cells_deletion(const char *const *words, size_t count, json_t **out);

/* A table for cells: KEY COLUMN TIMESTAMP VALUE. */
void cli_cells_begin(struct cli_table *t);
/* Every cell of one row document; *cell_count grows by how many. */
enum cli_exit cli_cells_print(struct cli_table *t, const json_t *row, size_t *cell_count);

#endif

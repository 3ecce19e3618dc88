/*
 * cli/cells.h - rows as the JSON API writes them.
 *
 * Does:     parse FAMILY:QUAL=VALUE words, build request bodies from them; print cells.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: requests.
 * Threads:  one.
 * Blocks:   on stdout.
 * Fails by: CLI_USAGE for words that are not cells, CLI_REFUSED for documents that are not rows.
 * Limits:   CLI_ANSWER_BYTES for one row.
 * Promises: 1. All bytes that a command line can hold are sent unchanged: text as text, others in
 *              base64.
 */
#ifndef CLI_CELLS_H
#define CLI_CELLS_H

#include <jansson.h>

#include "base/slice.h"
#include "cli/exit.h"
#include "cli/table.h"

struct cli_word {
    struct slice family;
    struct slice qualifier;
    struct slice value;
    bool has_qualifier;
};

/* Splits FAMILY:QUAL=VALUE or, without a value, FAMILY:QUAL or FAMILY. *out points into text. */
enum cli_exit cli_word_split(struct slice text, bool with_value, struct cli_word *out);

/* Converts FAMILY:QUAL=VALUE words; the qualifier ends at the first "=". json_decref *out. */
enum cli_exit cli_cells_from_words(const char *const *words, size_t count, json_t **out);
/* Converts FAMILY:QUAL or FAMILY words to a PATCH body that deletes them. */
enum cli_exit cli_cells_deletion(const char *const *words, size_t count, json_t **out);

/* Starts a table of cells: KEY COLUMN TIMESTAMP VALUE. */
void cli_cells_begin(struct cli_table *t);
/* Prints every cell of one row document; adds their number to *cell_count. */
enum cli_exit cli_cells_print(struct cli_table *t, const json_t *row, size_t *cell_count);
/* Prints one row document, as JSON or as a table. */
enum cli_exit cli_cells_show(bool as_json, const json_t *row);

#endif

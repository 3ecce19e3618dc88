/*
 * cli/transfer_write.h - cells into a table, however often the connection breaks.
 *
 * Does:     cells that stand together and have one key become lines of bulk writes; sends them
 *           until each has its verdict, large cells alone.
 * Owns:     its connection and buffers, between new and free.
 * May use:  base/, cli/.
 * Knows no: where cells come from.
 * Threads:  one for each writer; several may write at a time.
 * Blocks:   on the network, and between tries.
 * Fails by: as cli/http.h; CLI_CHECK_FAILED (cells that were refused, that cannot be),
 *           CLI_REFUSED (a quota or the disk is full), CLI_INTERRUPTED when *stop is set; said with
 *           the cell's place.
 * Limits:   CLI_TRANSFER_LINE_CELLS, CLI_TRANSFER_VALUE, CLI_TRANSFER_TRIES.
 * Promises: 1. After cli_writer_flush returned CLI_OK every cell given so far is durable.
 *           2. Writing the same cells again changes nothing: they have timestamps, and cells of
 *              aggregates replace what is there.
 */
#ifndef CLI_TRANSFER_WRITE_H
#define CLI_TRANSFER_WRITE_H

#include <jansson.h>
#include <stdatomic.h>

#include "cli/config.h"
#include "cli/transfer_cell.h"

struct cli_writer_target {
    const char *tenant; /* NULL: as the configuration says */
    const char *table;
    const json_t *families; /* as the server has them */
    bool has_aggregates;
    uint64_t line_cells; /* cells that may go in one line */
    const char *source;  /* for messages */
    const char *unit;    /* of places in the source: "line" */
};

struct cli_writer;
/* stop lasts as long as the writer does. */
struct cli_writer *cli_writer_new(const struct cli_config *config, const atomic_bool *stop);
void cli_writer_free(struct cli_writer *w);
/* Connect; in the main thread. */
enum cli_exit cli_writer_open(struct cli_writer *w);

/* Where the next cells go; nothing may be unflushed. What target points to is borrowed until the
 * next begin. */
void cli_writer_begin(struct cli_writer *w, const struct cli_writer_target *target);
/* number: the cell's place in its source. */
enum cli_exit cli_writer_cell(struct cli_writer *w, const struct cli_cell *cell, uint64_t number);
/* Remove a row; cells given behind it stay. */
enum cli_exit cli_writer_delete_row(struct cli_writer *w, struct slice key, uint64_t number);
enum cli_exit cli_writer_flush(struct cli_writer *w);

/* How many cells may go in a line when a row takes `mutations` of them (0: not known). */
uint64_t cli_writer_line_cells(json_int_t mutations);

#endif

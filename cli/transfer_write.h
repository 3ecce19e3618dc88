/*
 * cli/transfer_write.h - writes cells into a table, across broken connections.
 *
 * Does:     combine adjacent cells with the same key to lines of bulk writes; send them until each
 *           is written or refused; send large cells alone.
 * Owns:     its connection and buffers, between new and free.
 * May use:  base/, cli/.
 * Knows no: the source of cells.
 * Threads:  one for each writer; several may write at a time.
 * Blocks:   on the network, and between tries.
 * Fails by: as cli/http.h; CLI_CHECK_FAILED (refused or invalid cells), CLI_REFUSED (a quota or the
 *           disk is full), CLI_INTERRUPTED when *stop is set; reported with the cell's place.
 * Limits:   CLI_TRANSFER_LINE_CELLS, CLI_TRANSFER_VALUE, CLI_TRANSFER_TRIES.
 * Promises: 1. After cli_writer_flush returned CLI_OK every cell passed so far is durable.
 *           2. Writing the same cells again changes nothing: they have timestamps, and cells of
 *              aggregates replace the stored value.
 */
#ifndef CLI_TRANSFER_WRITE_H
#define CLI_TRANSFER_WRITE_H

#include <jansson.h>
#include <stdatomic.h>

#include "cli/config.h"
#include "cli/transfer_cell.h"

struct cli_writer_target {
    const char *tenant; /* NULL: the configuration's tenant */
    const char *table;
    const json_t *families; /* as the server has them */
    bool has_aggregates;
    uint64_t line_cells; /* maximum number of cells in one line */
    const char *source;  /* for messages */
    const char *unit;    /* of places in the source: "line" */
};

struct cli_writer;
/* Creates a writer. stop must live as long as the writer. */
struct cli_writer *cli_writer_new(const struct cli_config *config, const atomic_bool *stop);
void cli_writer_free(struct cli_writer *w);
/* Connects; call it in the main thread. */
enum cli_exit cli_writer_open(struct cli_writer *w);

/* Sets the target of the next cells; all earlier cells must be flushed. *target's pointers are
 * borrowed until the next call. */
void cli_writer_begin(struct cli_writer *w, const struct cli_writer_target *target);
/* Appends a cell. number: the cell's place in its source. */
enum cli_exit cli_writer_cell(struct cli_writer *w, const struct cli_cell *cell, uint64_t number);
/* Removes a row; cells passed later remain. */
enum cli_exit cli_writer_delete_row(struct cli_writer *w, struct slice key, uint64_t number);
enum cli_exit cli_writer_flush(struct cli_writer *w);

/* Returns the maximum number of cells in a line when a row accepts `mutations` of them (0:
 * unknown). */
uint64_t cli_writer_line_cells(json_int_t mutations);

#endif

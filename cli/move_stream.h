/*
 * cli/move_stream.h - transfers pairs or cells of a source into a table.
 *
 * Does:     count cells that fit, report others, pass cells to the writer, record durable progress.
 * Owns:     a writer, a connection to the service, and buffers, between init and fini.
 * May use:  base/, cli/.
 * Knows no: kinds of sources; move_database.c and move_service.c read them.
 * Threads:  one for each.
 * Blocks:   on the network and the disk.
 * Fails by: as cli/transfer_write.h and cli/move_in.h.
 * Limits:   CLI_MOVE_STEP, CLI_MOVE_NOTE_MS, CLI_MOVE_SAID.
 * Promises: 1. Recorded cells are durable, and the recorded content covers exactly the cells passed
 *              up to the recorded key.
 */
#ifndef CLI_MOVE_STREAM_H
#define CLI_MOVE_STREAM_H

#include "cli/move_in.h"
#include "cli/move_pairs.h"
#include "cli/transfer_write.h"

struct cli_move_stream {
    struct cli_move_in *m;
    struct cli_move *move;
    struct cli_writer *writer;
    struct cli_pairs pairs;
    struct cli_service_scan scan;
    bool has_scan;
    struct cli_tally tally; /* content of the source so far */
    struct buf row;         /* row key of this pair or cell */
    struct buf last_row;
    struct buf last_key; /* source key up to which all cells that fit were passed on */
    uint64_t number;     /* of this pair or cell, in this run */
    uint64_t unfit;
    uint64_t last_unfit; /* unfit up to last_key */
    uint64_t noted_bytes;
};

enum cli_exit cli_move_stream_init(struct cli_move_stream *s, struct cli_move_in *m);
void cli_move_stream_fini(struct cli_move_stream *s);
/* Starts at the recorded progress of s->move. */
void cli_move_stream_begin(struct cli_move_stream *s);
/* Writes a cell that fits. */
enum cli_exit cli_move_stream_cell(struct cli_move_stream *s, const struct cli_cell *cell);
/* Marks the cells passed so far as complete up to this key; records progress when it is due. */
enum cli_exit cli_move_stream_key(struct cli_move_stream *s, struct slice key);
/* Finishes the source. */
enum cli_exit cli_move_stream_end(struct cli_move_stream *s);
/* Reports a pair or cell that does not fit. Returns CLI_OK when it is left out. */
enum cli_exit cli_move_stream_refuse(struct cli_move_stream *s, struct slice key, const char *why);

/* Transfer s->move to its end. */
enum cli_exit cli_move_database(struct cli_move_stream *s);
enum cli_exit cli_move_service(struct cli_move_stream *s);

/* Computes the current content of the service's table, for a comparison. */
enum cli_exit cli_move_service_content(struct cli_service_scan *scan, const struct cli_move *v,
                                       struct cli_move_in *m, struct cli_content *out);

#endif

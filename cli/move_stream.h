/*
 * cli/move_stream.h - what is read of a source, on its way into a table.
 *
 * Does:     count what fits, say what does not, hand cells to the writer, note what is durable.
 * Owns:     a writer, a connection to the service, and buffers, between init and fini.
 * May use:  base/, cli/.
 * Knows no: what sources are like; move_database.c and move_service.c do.
 * Threads:  one for each.
 * Blocks:   on the network and the disk.
 * Fails by: as cli/transfer_write.h and cli/move_in.h.
 * Limits:   CLI_MOVE_STEP, CLI_MOVE_NOTE_MS, CLI_MOVE_SAID.
 * Promises: 1. What is noted is durable, and the content up to it is exactly what was given.
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
    struct buf row;         /* of this pair or cell */
    struct buf last_row;
    struct buf last_key; /* of the source, up to which all that fits was given */
    uint64_t number;     /* of this pair or cell, in this run */
    uint64_t unfit;
    uint64_t last_unfit; /* up to last_key */
    uint64_t noted_bytes;
};

enum cli_exit cli_move_stream_init(struct cli_move_stream *s, struct cli_move_in *m);
void cli_move_stream_fini(struct cli_move_stream *s);
/* Where the notes of s->move say. */
void cli_move_stream_begin(struct cli_move_stream *s);
/* A cell that fits. */
enum cli_exit cli_move_stream_cell(struct cli_move_stream *s, const struct cli_cell *cell);
/* What was given last is whole up to this key: note it when it is time. */
enum cli_exit cli_move_stream_key(struct cli_move_stream *s, struct slice key);
/* The source's end. */
enum cli_exit cli_move_stream_end(struct cli_move_stream *s);
/* A pair or cell that does not fit: CLI_OK when it is left out. */
enum cli_exit cli_move_stream_refuse(struct cli_move_stream *s, struct slice key, const char *why);

/* s->move, to its end. */
enum cli_exit cli_move_database(struct cli_move_stream *s);
enum cli_exit cli_move_service(struct cli_move_stream *s);

/* What the service's table has now, for a comparison. */
enum cli_exit cli_move_service_content(struct cli_service_scan *scan, const struct cli_move *v,
                                       struct cli_move_in *m, struct cli_content *out);

#endif

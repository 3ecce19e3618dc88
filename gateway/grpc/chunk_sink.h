/*
 * gateway/grpc/chunk_sink.h - rows, as the engine gives them, become ReadRowsResponse messages.
 *
 * Does:     write framed messages of CellChunks into a buf while a reader walks over the cells:
 *           whole rows, several small ones to a message, large values in several chunks.
 * Owns:     a row that is longer than a slice, until it is whole; not the output.
 * May use:  base/, storage/read.h, gateway/grpc/.
 * Knows no: calls, the engine.
 * Threads:  one at a time: a reader while a slice runs, the loop in between.
 * Blocks:   no.
 * Fails by: errors latched in the buffers: gw_chunk_sink_error.
 * Limits:   LIM_SLICE_BYTES a slice, GW_CHUNK_ROW_BYTES a row, the output's max.
 * Promises: 1. Row keys stand on the first chunk of a row, families and qualifiers where they
 *              change, timestamps and labels on the first chunk of a cell; a family never comes
 *              without a qualifier.
 *           2. commit_row stands on the last chunk of the last cell of a row, never on a chunk of
 *              its own.
 *           3. A row taken back leaves nothing.
 *           4. A message ends where a row does: official clients take no other. One that has
 *              GW_CHUNK_MESSAGE_BYTES gets no further row.
 */
#ifndef GATEWAY_GRPC_CHUNK_SINK_H
#define GATEWAY_GRPC_CHUNK_SINK_H

#include "base/buf.h"
#include "base/limits.h"
#include "storage/read.h"

/* Fields of ReadRowsResponse that stand in messages of their own. */
enum gw_read_rows_field {
    GW_READ_ROWS_LAST_SCANNED = 2, /* bytes */
    GW_READ_ROWS_STATS = 3,        /* a RequestStats */
};

/* What clients take in one message is 256 MiB, and a row has to fit into one. */
#define GW_CHUNK_ROW_BYTES     (256 * MIB - 64 * KIB)
#define GW_CHUNK_MESSAGE_BYTES (256 * KIB)

/* Where the output stood. */
struct gw_chunk_mark {
    size_t len;
    size_t message; /* where the open message begins; valid with is_open */
    bool is_open;
};

struct gw_chunk_sink {
    struct sto_row_sink sink; /* first: the engine's view */
    struct buf *out;
    size_t out_max;
    uint64_t rows; /* committed */
    bool in_row;
    bool was_full; /* the last slice: the next one gets its memory at once */

    struct gw_chunk_mark row_start; /* in the output, unless the row is carried */
    size_t message;                 /* where the open message begins, its head included */
    bool is_open;

    bool carried;     /* the row under way began in an earlier slice: it is in `row` */
    struct buf row;   /* as the message it will be, head included */
    size_t row_slice; /* how long it was when this slice began */

    size_t chunk;      /* where the newest chunk of the row begins; it ends where the row does */
    size_t chunk_body; /* behind its tag and length */
    bool key_due;      /* the next chunk is the first of its row */
    struct buf row_key;
    uint16_t family; /* of the newest chunk; 0: none */
    struct buf qualifier;
};

void gw_chunk_sink_init(struct gw_chunk_sink *s, struct buf *out);
void gw_chunk_sink_fini(struct gw_chunk_sink *s);
/* What latched; ERR_OK: nothing. */
enum err gw_chunk_sink_error(const struct gw_chunk_sink *s);

/* A slice is over: the output becomes whole messages of whole rows, which can be taken away; empty:
 * there is nothing to send yet. */
void gw_chunk_sink_end_slice(struct gw_chunk_sink *s);
/* The output was taken away and is empty. */
void gw_chunk_sink_next_slice(struct gw_chunk_sink *s);
/* Between rows, behind end_slice: one message with just that field. */
void gw_chunk_sink_put_message(struct gw_chunk_sink *s, enum gw_read_rows_field field,
                               struct slice bytes);

#endif

/*
 * gateway/grpc/chunk_sink.h - converts rows from the engine into ReadRowsResponse messages.
 *
 * Does:     writes framed messages of CellChunks into a buf while a reader walks over the cells:
 *           whole rows, several small ones per message, large values in several chunks.
 * Owns:     a row that is longer than a slice, until it is complete; not the output.
 * May use:  base/, storage/read.h, gateway/grpc/.
 * Knows no: calls, the engine.
 * Threads:  one at a time: a reader while a slice runs, the loop in between.
 * Blocks:   no.
 * Fails by: errors latched in the buffers: gw_chunk_sink_error.
 * Limits:   LIM_SLICE_BYTES per slice, GW_CHUNK_ROW_BYTES per row, the output's max.
 * Promises: 1. The first chunk of a row has the row key; chunks have family and qualifier where
 *              they change; the first chunk of a cell has timestamp and labels; a family never
 *              comes without a qualifier.
 *           2. commit_row is set on the last chunk of the last cell of a row, never on a chunk of
 *              its own.
 *           3. A row that is rolled back leaves nothing.
 *           4. A message ends where a row ends: official clients accept no other. A message that
 *              has GW_CHUNK_MESSAGE_BYTES gets no further row.
 */
#ifndef GATEWAY_GRPC_CHUNK_SINK_H
#define GATEWAY_GRPC_CHUNK_SINK_H

#include "base/buf.h"
#include "base/limits.h"
#include "storage/read.h"

/* Fields of ReadRowsResponse that are sent in messages of their own. */
enum gw_read_rows_field {
    GW_READ_ROWS_LAST_SCANNED = 2, /* bytes */
    GW_READ_ROWS_STATS = 3,        /* a RequestStats */
};

/* Clients accept messages of up to 256 MiB, and a row has to fit into one. */
#define GW_CHUNK_ROW_BYTES     (256 * MIB - 64 * KIB)
#define GW_CHUNK_MESSAGE_BYTES (256 * KIB)

/* A saved position of the output. */
struct gw_chunk_mark {
    size_t len;
    size_t message; /* start of the open message; valid with is_open */
    bool is_open;
};

struct gw_chunk_sink {
    struct sto_row_sink sink; /* first: the engine's view */
    struct buf *out;
    size_t out_max;
    uint64_t rows; /* committed */
    bool in_row;
    bool was_full; /* the last slice was full: the memory of the next one is allocated at once */

    struct gw_chunk_mark row_start; /* in the output, unless the row is carried */
    size_t message;                 /* start of the open message, its head included */
    bool is_open;

    bool carried;     /* the current row started in an earlier slice: it is in `row` */
    struct buf row;   /* in the form of the final message, head included */
    size_t row_slice; /* length of `row` when this slice started */

    size_t chunk;      /* start of the row's newest chunk; the chunk ends where the row ends */
    size_t chunk_body; /* start of the chunk after its tag and length */
    bool key_due;      /* the next chunk is the first of its row */
    struct buf row_key;
    uint16_t family; /* of the newest chunk; 0: none */
    struct buf qualifier;
};

void gw_chunk_sink_init(struct gw_chunk_sink *s, struct buf *out);
void gw_chunk_sink_fini(struct gw_chunk_sink *s);
/* Returns the latched error; ERR_OK: none. */
enum err gw_chunk_sink_error(const struct gw_chunk_sink *s);

/* Ends a slice: the output becomes complete messages of complete rows, which can be moved away;
 * empty: there is nothing to send yet. */
void gw_chunk_sink_end_slice(struct gw_chunk_sink *s);
/* Starts the next slice: the output was moved away and is empty. */
void gw_chunk_sink_next_slice(struct gw_chunk_sink *s);
/* Appends one message with just that field; between rows, after end_slice. */
void gw_chunk_sink_put_message(struct gw_chunk_sink *s, enum gw_read_rows_field field,
                               struct slice bytes);

#endif

/*
 * tests/support/chunk_reader.h - a strict parser of the messages of ReadRows.
 *
 * Does:     parse framed ReadRowsResponse messages, check every rule of CellChunks, and store the
 *           committed rows in a form that tests can compare.
 * Owns:     the rows it has read.
 * May use:  base/, protobuf-c.
 * Knows no: how the server builds messages.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: r->error, the first broken rule; later input is ignored.
 * Limits:   CHUNK_ROWS_MAX of rows.
 * Promises: 1. Equal rows are equal bytes in r->rows, different ones are not.
 */
#ifndef TESTS_SUPPORT_CHUNK_READER_H
#define TESTS_SUPPORT_CHUNK_READER_H

#include <google/bigtable/v2/bigtable.pb-c.h>

#include "base/buf.h"
#include "base/limits.h"

#define CHUNK_ROWS_MAX (1024 * MIB)

struct chunk_reader {
    bool reversed; /* set by the test: row keys decrease */
    const char *error;

    struct buf rows; /* committed rows, then the part of the open row so far */
    size_t committed;
    uint64_t row_count;
    uint64_t reset_count;
    uint64_t message_count;
    uint64_t chunk_count;
    uint64_t scanned_count; /* of last_scanned_row_key */
    size_t largest_message;
    bool has_stats;
    int64_t rows_seen, rows_returned, cells_seen, cells_returned;

    bool in_row;
    bool in_cell;       /* more chunks of the cell must follow */
    bool has_column;    /* of the open row */
    struct buf row_key; /* of the open row */
    struct buf bound;   /* later keys must be after this one */
    bool has_bound;
    struct buf family;
    struct buf qualifier;
    struct buf value;
    struct buf label;
    int64_t timestamp_us;
    int32_t value_size;
};

void chunk_reader_init(struct chunk_reader *r);
void chunk_reader_fini(struct chunk_reader *r);
/* Parses the complete messages at the start of framed; returns their length in bytes. */
size_t chunk_reader_feed(struct chunk_reader *r, struct slice framed);
/* Parses one message, without its frame. */
void chunk_reader_message(struct chunk_reader *r, struct slice bytes);
/* Checks that the stream may end here; returns NULL, or the error. */
const char *chunk_reader_end(struct chunk_reader *r);

/* Append expected rows in the form of r->rows. */
void chunk_rows_begin(struct buf *rows, struct slice row_key);
void chunk_rows_cell(struct buf *rows, struct slice family, struct slice qualifier,
                     int64_t timestamp_us, struct slice value, struct slice label);

#endif

/*
 * tests/support/chunk_reader.h - what a strict client makes of the messages of ReadRows.
 *
 * Does:     take framed ReadRowsResponse messages, check every rule of CellChunks, and write down
 *           the rows that were committed, in a form that tests can compare.
 * Owns:     what it has read.
 * May use:  base/, protobuf-c.
 * Knows no: how the server makes messages.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: r->error, the first broken rule; nothing is taken after it.
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
    bool reversed; /* set by the test: row keys fall */
    const char *error;

    struct buf rows; /* committed ones, then what is known of the row under way */
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
    bool in_cell;       /* more chunks of it must come */
    bool has_column;    /* of the row under way */
    struct buf row_key; /* of the row under way */
    struct buf bound;   /* keys to come are beyond this one */
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
/* Whole messages from the front of bytes; how many bytes they were. */
size_t chunk_reader_feed(struct chunk_reader *r, struct slice framed);
/* One message, without its frame. */
void chunk_reader_message(struct chunk_reader *r, struct slice bytes);
/* The stream ended well: NULL, or what is wrong. */
const char *chunk_reader_end(struct chunk_reader *r);

/* The same form, for what is expected. */
void chunk_rows_begin(struct buf *rows, struct slice row_key);
void chunk_rows_cell(struct buf *rows, struct slice family, struct slice qualifier,
                     int64_t timestamp_us, struct slice value, struct slice label);

#endif

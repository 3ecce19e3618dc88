/*
 * cli/transfer_record.h - a cell as one record of an export: NDJSON or CSV.
 *
 * Does:     write records; find the end of a record; read records.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: files.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: false, with a description of the error.
 * Limits:   LIM_ROW_KEY, LIM_FAMILY_NAME, LIM_QUALIFIER, LIM_CELL_BYTES_HARD.
 * Promises: 1. A record that was written is read as the same bytes, in both encodings.
 *           2. Bytes that are not UTF-8, or hold a NUL, are written in base64.
 */
#ifndef CLI_TRANSFER_RECORD_H
#define CLI_TRANSFER_RECORD_H

#include "base/buf.h"
#include "cli/transfer_cell.h"

enum cli_encoding { CLI_NDJSON, CLI_CSV };

const char *cli_encoding_name(enum cli_encoding encoding);

/* Returns the header before a file's records; empty for NDJSON. */
struct slice cli_record_head(enum cli_encoding encoding);
/* Appends one record and its line feed; *out latches. */
void cli_record_put(struct buf *out, enum cli_encoding encoding, const struct cli_cell *cell);

/* State of the search for a record's end in a growing buffer; zero at a record's start. */
struct cli_record_scan {
    size_t seen;
    bool quoted;
};
/* Finds the end of the first record. *out_len: its bytes, without the line feed.
 * False: the record is not complete yet. */
bool cli_record_end(enum cli_encoding encoding, struct slice bytes, struct cli_record_scan *scan,
                    size_t *out_len);

/* Parses a record. *why is static text. The cell points into record and holder. */
bool cli_record_read(enum cli_encoding encoding, struct slice record, struct buf *holder,
                     struct cli_cell *out, const char **why);

#endif

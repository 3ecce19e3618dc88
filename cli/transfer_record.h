/*
 * cli/transfer_record.h - a cell as one record of an export: NDJSON or CSV.
 *
 * Does:     write records; find where one ends; read them.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: files.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: false, with what is wrong in words.
 * Limits:   LIM_ROW_KEY, LIM_FAMILY_NAME, LIM_QUALIFIER, LIM_CELL_BYTES_HARD.
 * Promises: 1. What was written is read as the same bytes, in both encodings.
 *           2. Bytes that are not UTF-8, or hold a NUL, are written in base64.
 */
#ifndef CLI_TRANSFER_RECORD_H
#define CLI_TRANSFER_RECORD_H

#include "base/buf.h"
#include "cli/transfer_cell.h"

enum cli_encoding { CLI_NDJSON, CLI_CSV };

const char *cli_encoding_name(enum cli_encoding encoding);

/* What stands in front of a file's records; empty for NDJSON. */
struct slice cli_record_head(enum cli_encoding encoding);
/* Appends one record and its line feed; *out latches. */
void cli_record_put(struct buf *out, enum cli_encoding encoding, const struct cli_cell *cell);

/* Where the search for a record's end stands, in bytes that grow; zero at a record's begin. */
struct cli_record_scan {
    size_t seen;
    bool quoted;
};
/* *out_len: the bytes of the first record, without its line feed. False: it does not end here. */
bool cli_record_end(enum cli_encoding encoding, struct slice bytes, struct cli_record_scan *scan,
                    size_t *out_len);

/* *why is static text. The cell lies in record and holder. */
bool cli_record_read(enum cli_encoding encoding, struct slice record, struct buf *holder,
                     struct cli_cell *out, const char **why);

#endif

/*
 * cli/transfer_manifest.h - manifest.json, the table of contents of an export.
 *
 * Does:     replace the manifest atomically; read it as untrusted input.
 * Owns:     everything in struct cli_manifest, until fini.
 * May use:  base/, cli/.
 * Knows no: requests, contents of files.
 * Threads:  one at a time.
 * Blocks:   on the disk.
 * Fails by: CLI_CHECK_FAILED (not a manifest of this version), CLI_REFUSED (cannot write),
 *           reported.
 * Limits:   CLI_MANIFEST_BYTES, CLI_MANIFEST_FILES, LIM_TABLES.
 * Promises: 1. After reading: table IDs are valid and unique; file names have the form
 *              TABLE/NUMBER.ENCODING[.zst] and increase; counts and hashes of tables are the sums
 *              of their files.
 */
#ifndef CLI_TRANSFER_MANIFEST_H
#define CLI_TRANSFER_MANIFEST_H

#include <jansson.h>

#include "base/clock.h"
#include "cli/exit.h"
#include "cli/transfer_record.h"

#define CLI_MANIFEST_NAME "manifest.json"

struct cli_manifest_file {
    uint32_t number;
    struct slice first; /* keys; owned */
    struct slice last;
    struct cli_content content;
    uint64_t stored_bytes;
    uint8_t sha256[CLI_CONTENT_BYTES];
};

/* A part of a table that one stream reads; only while the export is in progress. */
struct cli_manifest_range {
    struct slice start; /* inclusive, empty: the first row; owned, like the others */
    struct slice end;   /* exclusive, empty: after the last row */
    struct slice after; /* the last row that is in a file; empty: none */
    bool done;
};

struct cli_manifest_table {
    char id[LIM_TABLE_ID + 1];
    json_t *schema; /* a body for PUT /v1/tables/{table} */
    struct cli_content content;
    struct cli_manifest_file *files; /* in the order of their numbers */
    size_t file_count;
    size_t file_capacity;
    struct cli_manifest_range *ranges;
    size_t range_count;
    uint32_t next_number;
};

struct cli_manifest {
    char tenant[LIM_TENANT_ID + 1];
    char created[BASE_TIME_TEXT];
    enum cli_encoding encoding;
    bool packed;
    bool complete;
    struct slice start; /* the requested rows, as in a range */
    struct slice end;
    struct cli_manifest_table *tables;
    size_t table_count;
};

void cli_manifest_fini(struct cli_manifest *m);

/* Returns a copy that cli_manifest_fini frees. */
struct slice cli_slice_copy(struct slice bytes);
void cli_slice_free(struct slice *bytes);

/* Appends a file to the table, and takes its slices. */
void cli_manifest_add_file(struct cli_manifest_table *t, const struct cli_manifest_file *file);

/* Reads dir/manifest.json into *m, which must be fini'd only after CLI_OK. */
enum cli_exit cli_manifest_read(const char *dir, struct cli_manifest *m);
enum cli_exit cli_manifest_write(const char *dir, const struct cli_manifest *m);

/* Parses a manifest's text; *why receives the reason of a failure. */
bool cli_manifest_parse(struct slice text, struct cli_manifest *m, struct errbuf *why);

#endif

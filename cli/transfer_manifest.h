/*
 * cli/transfer_manifest.h - what an export holds: manifest.json.
 *
 * Does:     write it so that it is there or the one before is; read it, trusting nothing in it.
 * Owns:     everything in struct cli_manifest, until fini.
 * May use:  base/, cli/.
 * Knows no: requests, contents of files.
 * Threads:  one at a time.
 * Blocks:   on the disk.
 * Fails by: CLI_CHECK_FAILED (not a manifest of this version), CLI_REFUSED (cannot write), said.
 * Limits:   CLI_MANIFEST_BYTES, CLI_MANIFEST_FILES, LIM_TABLES.
 * Promises: 1. After reading: table IDs are such, each once; file names are of the form
 *              TABLE/NUMBER.ENCODING[.zst] and rise; counts and hashes of tables are the sums of
 *              their files.
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

/* A part of a table that is read in one go; only while the export is under way. */
struct cli_manifest_range {
    struct slice start; /* inclusive, empty: the first row; owned, like the others */
    struct slice end;   /* exclusive, empty: behind the last row */
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
    struct slice start; /* the rows asked for, as in a range */
    struct slice end;
    struct cli_manifest_table *tables;
    size_t table_count;
};

void cli_manifest_fini(struct cli_manifest *m);

/* A copy that cli_manifest_fini frees. */
struct slice cli_slice_copy(struct slice bytes);
void cli_slice_free(struct slice *bytes);

/* file's slices are taken. */
void cli_manifest_add_file(struct cli_manifest_table *t, const struct cli_manifest_file *file);

/* dir/manifest.json; *m is made here, and must be fini'd only after CLI_OK. */
enum cli_exit cli_manifest_read(const char *dir, struct cli_manifest *m);
enum cli_exit cli_manifest_write(const char *dir, const struct cli_manifest *m);

/* The reader by itself; *why is where to put what is wrong. */
bool cli_manifest_parse(struct slice text, struct cli_manifest *m, struct errbuf *why);

#endif

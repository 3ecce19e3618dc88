/*
 * cli/import.h - imports the rows of an export into tables.
 *
 * Does:     check files, create tables, write cells, record progress, read back and compare.
 * Owns:     the manifest, the properties of target tables, the directory's lock, until fini.
 * May use:  base/, cli/.
 * Knows no: the command line's words.
 * Threads:  one, which starts workers.
 * Blocks:   on the network and the disk.
 * Fails by: CLI_USAGE (the directory, the requested tables), CLI_CHECK_FAILED (damaged files,
 *           refused lines, contents that differ), errors of the modules it uses; all reported.
 * Limits:   CLI_TRANSFER_*.
 * Promises: 1. Nothing is written before every file was verified against its hash in the manifest.
 *           2. A file is recorded as done when all its cells are durable; an interrupted one is
 *              written again, which is idempotent.
 *           3. Memory use is independent of the sizes of files.
 */
#ifndef CLI_IMPORT_H
#define CLI_IMPORT_H

#include "cli/cli.h"
#include "cli/transfer_crew.h"
#include "cli/transfer_manifest.h"

/* A table of the export, and its target. */
struct cli_import_table {
    const struct cli_manifest_table *source;
    char into[LIM_TABLE_ID + 1];
    json_t *families; /* as the server has them; read by all streams */
    bool has_aggregates;
    bool *done; /* by file */
};

struct cli_import {
    struct cli *cli;
    const char *dir;
    int dir_fd;             /* -1: not open */
    const char *state_path; /* NULL: in dir */
    char tenant[LIM_TENANT_ID + 1];
    struct cli_manifest manifest;
    struct cli_import_table *tables;
    size_t table_count;
    uint64_t line_cells; /* maximum number of cells in one line */
    struct cli_crew crew;
    size_t next_table; /* file that a worker takes next; crew.lock guards it and `done` */
    size_t next_file;
    const char *verb; /* for the bar */
    uint64_t total_bytes;
    uint64_t started_ns;
    atomic_uint_fast64_t rows;
    atomic_uint_fast64_t bytes;
};

/* Opens an export. table NULL: all tables; into NULL: tables keep their names. */
enum cli_exit cli_import_open(struct cli_import *m, struct cli *cli, const char *dir,
                              const char *table, const char *into);
void cli_import_fini(struct cli_import *m);

/* Verifies every file against its hash. */
enum cli_exit cli_import_check(struct cli_import *m);
/* Parses every record, without a server. */
enum cli_exit cli_import_rehearse(struct cli_import *m);
/* Determines the tenant; checks that the tables exist and have the families, or will be created. */
enum cli_exit cli_import_look(struct cli_import *m, bool create);
/* Creates the missing tables. */
enum cli_exit cli_import_make(struct cli_import *m);
enum cli_exit cli_import_run(struct cli_import *m);
enum cli_exit cli_import_verify(struct cli_import *m);

/* Draws the progress bar; ctx is a struct cli_import. */
void cli_import_draw(void *ctx);

/* --- import_state.c: progress ------------------------------------------------------------------
 */

enum cli_exit cli_import_load_state(struct cli_import *m);
enum cli_exit cli_import_save_state(const struct cli_import *m);
/* Removes the state file after everything is done. */
void cli_import_drop_state(const struct cli_import *m);

/* --- import_rows.c: a file into a table ---------------------------------------------------------
 */

struct cli_import_stream;
struct cli_import_stream *cli_import_stream_new(struct cli_import *m);
void cli_import_stream_free(struct cli_import_stream *s);
/* Connects the stream; a stream without a connection writes nothing. */
enum cli_exit cli_import_stream_open(struct cli_import_stream *s);
/* Reads a file's records and, with a connection, writes them.
 * The contents must match the manifest. */
enum cli_exit cli_import_file(struct cli_import_stream *s, const struct cli_import_table *t,
                              const struct cli_manifest_file *file);

#endif

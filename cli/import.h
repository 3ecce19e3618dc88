/*
 * cli/import.h - an export's rows into tables.
 *
 * Does:     check files, make tables, write cells, note what is done, read back and compare.
 * Owns:     the manifest, what targets are like, the directory's lock, until fini.
 * May use:  base/, cli/.
 * Knows no: the command line's words.
 * Threads:  one, which has others work for it.
 * Blocks:   on the network and the disk.
 * Fails by: CLI_USAGE (the directory, what was asked for), CLI_CHECK_FAILED (damaged files, lines
 *           that were refused, contents that differ), what the parts return; all said.
 * Limits:   CLI_TRANSFER_*.
 * Promises: 1. Nothing is written before every file has the hash of the manifest.
 *           2. A file is noted as done when all its cells are durable; one that was cut is written
 *              again, which changes nothing.
 *           3. Memory does not grow with files.
 */
#ifndef CLI_IMPORT_H
#define CLI_IMPORT_H

#include "cli/cli.h"
#include "cli/transfer_crew.h"
#include "cli/transfer_manifest.h"

/* A table of the export, and where it goes. */
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
    uint64_t line_cells; /* cells that may go in one line */
    struct cli_crew crew;
    size_t next_table; /* what is taken next; under crew.lock, as is done */
    size_t next_file;
    const char *verb; /* for the bar */
    uint64_t total_bytes;
    uint64_t started_ns;
    atomic_uint_fast64_t rows;
    atomic_uint_fast64_t bytes;
};

/* table NULL: all; into NULL: under their own names. */
enum cli_exit cli_import_open(struct cli_import *m, struct cli *cli, const char *dir,
                              const char *table, const char *into);
void cli_import_fini(struct cli_import *m);

/* Every file against its hash. */
enum cli_exit cli_import_check(struct cli_import *m);
/* Every record, without a server. */
enum cli_exit cli_import_rehearse(struct cli_import *m);
/* Which tenant; whether the tables are there and have the families, or are to be made. */
enum cli_exit cli_import_look(struct cli_import *m, bool create);
/* The tables that are not there. */
enum cli_exit cli_import_make(struct cli_import *m);
enum cli_exit cli_import_run(struct cli_import *m);
enum cli_exit cli_import_verify(struct cli_import *m);

/* Draws how far it is; ctx is a struct cli_import. */
void cli_import_draw(void *ctx);

/* --- import_state.c: what is done --------------------------------------------------------------
 */

enum cli_exit cli_import_load_state(struct cli_import *m);
enum cli_exit cli_import_save_state(const struct cli_import *m);
/* Everything is done. */
void cli_import_drop_state(const struct cli_import *m);

/* --- import_rows.c: a file into a table ---------------------------------------------------------
 */

struct cli_import_stream;
struct cli_import_stream *cli_import_stream_new(struct cli_import *m);
void cli_import_stream_free(struct cli_import_stream *s);
/* Connect; without it nothing is written. */
enum cli_exit cli_import_stream_open(struct cli_import_stream *s);
/* Read a file's records; with a connection, write them. Its contents must be the manifest's. */
enum cli_exit cli_import_file(struct cli_import_stream *s, const struct cli_import_table *t,
                              const struct cli_manifest_file *file);

#endif

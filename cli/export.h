/*
 * cli/export.h - exports tables of a tenant into a directory.
 *
 * Does:     divide tables into ranges, read several at a time, write files, maintain the manifest.
 * Owns:     the manifest and the directory's lock, from begin or resume to fini.
 * May use:  base/, cli/.
 * Knows no: the command line's words.
 * Threads:  one, which starts workers.
 * Blocks:   on the network and the disk.
 * Fails by: CLI_USAGE (the directory), errors of the modules it uses; all reported.
 * Limits:   CLI_TRANSFER_*.
 * Promises: 1. The manifest names complete files only, and the row at which each range continues:
 *              an export that was interrupted at any moment resumes without duplicates or gaps.
 *           2. Memory use is independent of the sizes of tables.
 */
#ifndef CLI_EXPORT_H
#define CLI_EXPORT_H

#include "cli/cli.h"
#include "cli/transfer_crew.h"
#include "cli/transfer_manifest.h"

struct cli_export {
    struct cli *cli;
    const char *dir;
    int dir_fd; /* -1: not open */
    uint64_t rows_per_file;
    struct cli_manifest manifest;
    struct cli_crew crew;
    size_t next_table; /* range that a worker takes next; crew.lock guards it and the manifest */
    size_t next_range;
    uint64_t total_bytes; /* estimate, for the bar */
    uint64_t started_ns;
    atomic_uint_fast64_t rows; /* total, including rows that an earlier run wrote */
    atomic_uint_fast64_t bytes;
};

/* Opens the directory (creates it for a new export) and locks it. */
enum cli_exit cli_export_open(struct cli_export *x, struct cli *cli, const char *dir, bool resume);
void cli_export_fini(struct cli_export *x);

/* Creates the manifest of a new export; tables NULL: every table. The caller has set encoding,
 * packed, start and end in x->manifest. */
enum cli_exit cli_export_plan(struct cli_export *x, const char *const *tables, size_t count);
/* Reads the existing manifest; removes files that the manifest does not name. */
enum cli_exit cli_export_resume(struct cli_export *x);

/* Returns the part of a GET response that PUT of a table accepts; owned by the caller. */
json_t *cli_export_schema(const json_t *table);

enum cli_exit cli_export_run(struct cli_export *x);

#endif

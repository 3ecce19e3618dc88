/*
 * cli/export.h - tables of a tenant into a directory.
 *
 * Does:     divide tables into ranges, read several at a time, write files, keep the manifest.
 * Owns:     the manifest and the directory's lock, from begin or resume to fini.
 * May use:  base/, cli/.
 * Knows no: the command line's words.
 * Threads:  one, which has others work for it.
 * Blocks:   on the network and the disk.
 * Fails by: CLI_USAGE (the directory), what the parts return; all said.
 * Limits:   CLI_TRANSFER_*.
 * Promises: 1. The manifest names whole files only, and where each range goes on: an export that
 *              was cut at any moment goes on with nothing twice and nothing missing.
 *           2. Memory does not grow with tables.
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
    size_t next_table; /* the range that is taken next; under crew.lock, as is the manifest */
    size_t next_range;
    uint64_t total_bytes; /* about, for the bar */
    uint64_t started_ns;
    atomic_uint_fast64_t rows; /* of all, also those an earlier run wrote */
    atomic_uint_fast64_t bytes;
};

/* Open (and make, when it is a new export) the directory and lock it. */
enum cli_exit cli_export_open(struct cli_export *x, struct cli *cli, const char *dir, bool resume);
void cli_export_fini(struct cli_export *x);

/* What there is to do: the manifest of a new export; NULL: every table. encoding, packed, start and
 * end are set in x->manifest before. */
enum cli_exit cli_export_plan(struct cli_export *x, const char *const *tables, size_t count);
/* The manifest that is there; files it does not name are removed. */
enum cli_exit cli_export_resume(struct cli_export *x);

/* What PUT of a table takes of what GET shows; the caller's. */
json_t *cli_export_schema(const json_t *table);

enum cli_exit cli_export_run(struct cli_export *x);

#endif

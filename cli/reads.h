/*
 * cli/reads.h - the parts of a row to read: options of row get, row check and scan.
 *
 * Does:     convert --family, --column, --versions, --since, --until, --form and --values to query
 *           parameters, and --filter, --form and --values to JSON.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: which rows are read.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: CLI_USAGE, reported on stderr; the server checks the values.
 * Limits:   CLI_TARGET_BYTES.
 * Promises: 1. --filter and the other options are never mixed, as their order would be ambiguous.
 */
#ifndef CLI_READS_H
#define CLI_READS_H

#include <jansson.h>

#include "base/buf.h"
#include "cli/cli.h"

bool cli_reads_filtered(const struct cli *cli);
/* Refuses --form and --values without --json (CLI_USAGE): tables have one form. */
enum cli_exit cli_reads_check(const struct cli *cli);
/* Appends all options but --filter to target's parameters. */
void cli_reads_query(const struct cli *cli, struct buf *target);
/* Adds --filter to body as a member; without the option body is unchanged. */
enum cli_exit cli_reads_filter(const struct cli *cli, const char *name, json_t *body);
/* Adds --form and --values to body. */
enum cli_exit cli_reads_forms(const struct cli *cli, json_t *body);

#endif

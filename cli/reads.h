/*
 * cli/reads.h - what of a row to read: the options that row get, row check and scan share.
 *
 * Does:     turn --family, --column, --versions, --since, --until, --form and --values into query
 *           parameters, and --filter, --form and --values into JSON.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: which rows are read.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: CLI_USAGE, said on stderr; what values mean is the server's to say.
 * Limits:   CLI_TARGET_BYTES.
 * Promises: 1. --filter and the other options are never mixed: which would apply first?
 */
#ifndef CLI_READS_H
#define CLI_READS_H

#include <jansson.h>

#include "base/buf.h"
#include "cli/cli.h"

bool cli_reads_filtered(const struct cli *cli);
/* Refuses --form and --values without --json (CLI_USAGE): tables have one form. */
enum cli_exit cli_reads_check(const struct cli *cli);
/* Everything but --filter, behind target's other parameters. */
void cli_reads_query(const struct cli *cli, struct buf *target);
/* --filter as a member of body; without the option body stays as it is. */
enum cli_exit cli_reads_filter(const struct cli *cli, const char *name, json_t *body);
/* Adds --form and --values to body. */
enum cli_exit cli_reads_forms(const struct cli *cli, json_t *body);

#endif

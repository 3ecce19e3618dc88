/*
 * cli/help.h - help at every level, generated from the command table.
 *
 * Does:     print the overview, a group's page, a command's page, the version.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: the network.
 * Threads:  one.
 * Blocks:   on stdout or stderr.
 * Fails by: CLI_USAGE when there is no such command.
 * Limits:   none.
 * Promises: 1. Every page ends with examples that can be pasted.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/args.h"

/* Prints the help of the command or group on the command line, or the overview. */
void cli_help_print(const struct cli_args *a);
/* Runs `bigtent help [GROUP] [COMMAND]`. */
enum cli_exit cli_help_run(struct cli *cli);

#endif

/*
 * cli/cli.h - the context of a running command.
 *
 * Does:     hold the parsed line, the configuration and the connection.
 * Owns:     all three, from main to its end.
 * May use:  cli/.
 * Knows no: any particular command.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. http is NULL only for commands that need no network (help, completion).
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "cli/args.h"
#include "cli/config.h"

struct cli_http;

struct cli {
    struct cli_args args;
    struct cli_config config;
    struct cli_http *http;
};

#endif

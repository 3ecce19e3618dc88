/*
 * cli/args.h - parses the command line.
 *
 * Does:     find the command, its positional words and its options. Global options are allowed
 *           anywhere, "--" ends the options, "--name=value" equals "--name value", and "-f" equals
 *           "--file".
 * Owns:     two arrays of pointers into argv, until cli_args_fini.
 * May use:  base/, cli/.
 * Knows no: what options mean.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: CLI_USAGE, reported on stderr.
 * Limits:   none; argv is bounded by the system.
 * Promises: 1. After CLI_OK without help or version: the command is known, the number of words
 *              fits, every required option is present, and only repeatable options occur twice.
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "cli/command.h"

struct cli_given {
    const struct cli_option *option;
    const char *value; /* NULL for a flag */
};

struct cli_args {
    const struct cli_group *group;     /* found before the line ended */
    const struct cli_command *command; /* or before help was requested */
    const char **words;
    size_t word_count;
    struct cli_given *given;
    size_t given_count;
    bool help;
    bool version;
};

enum cli_exit cli_args_parse(int argc, char **argv, struct cli_args *out);
void cli_args_fini(struct cli_args *a);

/* Returns the option's value; NULL when the line does not have the option. */
const char *cli_args_value(const struct cli_args *a, const char *name);
bool cli_args_flag(const struct cli_args *a, const char *name);

#endif

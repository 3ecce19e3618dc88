/*
 * cli/command.h - commands: entries of the table that drives dispatch and help.
 *
 * Does:     describe commands and options; find a command by its words.
 * Owns:     the table (cli/commands.c), read-only.
 * May use:  base/, cli/.
 * Knows no: how arguments are parsed or help is formatted.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: NULL when there is no such command.
 * Limits:   none.
 * Promises: 1. A command or option that is not in the table does not exist.
 *           2. The value of an option or argument is written in capitals when it is a placeholder,
 *              and in lower case when it is typed literally.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/exit.h"

struct cli;

struct cli_option {
    const char *name;  /* without "--"; NULL ends a list */
    const char *value; /* placeholder, e.g. "N", "FILE" or "all|none"; NULL for a flag */
    const char *help;
    bool required;
    bool repeated;
};

struct cli_command {
    const char *group; /* first word, NULL for commands of one word; name NULL ends the table */
    const char *name;
    const char *words; /* positional arguments as help shows them, separated by spaces */
    int words_min;
    int words_max;                    /* -1: any number */
    const struct cli_option *options; /* NULL: only the global ones */
    const char *summary;              /* at most 45 characters */
    const char *about;                /* paragraphs, lines of at most 78 characters */
    const char *examples;             /* lines that can be pasted, without indentation */
    enum cli_exit (*run)(struct cli *cli);
    bool needs_key;
};

struct cli_group {
    const char *name; /* NULL ends the list */
    const char *about;
};

extern const struct cli_command CLI_COMMANDS[];
extern const struct cli_group CLI_GROUPS[];
extern const struct cli_option CLI_GLOBAL_OPTIONS[];

/* Returns the command; NULL when there is none. group NULL: a command of one word. */
const struct cli_command *cli_command_find(const char *group, const char *name);
const struct cli_group *cli_group_find(const char *name);
/* Returns the option; NULL when it is not in the list, which may be NULL.
 * name has name_len bytes. */
const struct cli_option *cli_option_find(const struct cli_option *list, const char *name,
                                         size_t name_len);
/* Returns the known word nearest to a mistyped one, among groups and single commands (group NULL)
 * or among a group's commands; NULL when none is near. */
const char *cli_command_nearest(const char *group, const char *word);

#endif

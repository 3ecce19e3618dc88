/*
 * gateway/command.h - shared by the commands of bigtentd: exit codes, messages, option values.
 *
 * Does:     reports errors on stderr with the right exit code; parses option values.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: the subject of the commands.
 * Threads:  main.
 * Blocks:   no.
 * Fails by: exit codes.
 * Limits:   none.
 * Promises: 1. Every message is one line that starts with "bigtentd: ".
 */
#ifndef GATEWAY_COMMAND_H
#define GATEWAY_COMMAND_H

#include <getopt.h>

#include "base/err.h"

enum gw_exit {
    GW_EXIT_OK = 0,
    GW_EXIT_FAILED = 1, /* could not start or run */
    GW_EXIT_USAGE = 2,  /* wrong command line */
    GW_EXIT_ENGINE = 3, /* the storage engine failed: restart */
};

/* Prints the message; returns GW_EXIT_USAGE or GW_EXIT_FAILED. */
int gw_command_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
int gw_command_failed(enum err code, const struct errbuf *eb);

/* Parses a whole number from min to max; on false, it has printed what is wrong with option
 * `name`. */
bool gw_command_number(const char *name, const char *text, uint64_t min, uint64_t max,
                       uint64_t *out);

/* The commands; each receives its own arguments, its name first. */
int gw_command_init(int argc, char **argv);
int gw_command_serve(int argc, char **argv);
int gw_command_check(int argc, char **argv);
int gw_command_upgrade(int argc, char **argv);
int gw_command_rekey(int argc, char **argv);
int gw_command_restore(int argc, char **argv);
int gw_command_salvage(int argc, char **argv);
int gw_command_read_database(int argc, char **argv);

/* Option numbers start at GW_OPTION_FIRST; options numbered from GW_OPTION_REPEATED may be
 * repeated. */
#define GW_OPTION_FIRST    256
#define GW_OPTION_REPEATED 512

/* State of a command's pass through getopt_long. */
struct gw_options {
    int argc;
    char **argv;
    const struct option *table;
    int index;     /* in the table, of the option that was returned */
    uint64_t seen; /* bits of options that already have a value */
};

/* Returns the number of the next option, with its value in optarg; -1 after the last option; 0
 * after printing an error: the option is unknown, lacks its value, or is repeated. */
int gw_options_next(struct gw_options *o);

/* Returns the --data DIR of a command whose other options are --backups DIR and --logs; NULL after
 * printing an error. */
const char *gw_command_data(int argc, char **argv, const char **out_backups, bool *out_logs);

#endif

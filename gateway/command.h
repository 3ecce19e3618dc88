/*
 * gateway/command.h - what the commands of bigtentd share: exit codes, messages, option values.
 *
 * Does:     say what went wrong on stderr with the right exit code; parse option values.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: what the commands do.
 * Threads:  main.
 * Blocks:   no.
 * Fails by: exit codes.
 * Limits:   none.
 * Promises: 1. Every message is one line that begins with "bigtentd: ".
 */
#ifndef GATEWAY_COMMAND_H
#define GATEWAY_COMMAND_H

#include <getopt.h>

#include "base/err.h"

enum gw_exit {
    GW_EXIT_OK = 0,
    GW_EXIT_FAILED = 1, /* could not start or run */
    GW_EXIT_USAGE = 2,  /* wrong command line */
    GW_EXIT_ENGINE = 3, /* the storage engine failed: start again */
};

/* Print the message; return GW_EXIT_USAGE or GW_EXIT_FAILED. */
int gw_command_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
int gw_command_failed(enum err code, const struct errbuf *eb);

/* A whole number from min to max; false after saying what is wrong with option `name`. */
bool gw_command_number(const char *name, const char *text, uint64_t min, uint64_t max,
                       uint64_t *out);

/* The commands; each gets its own arguments, its name first. */
int gw_command_init(int argc, char **argv);
int gw_command_serve(int argc, char **argv);
int gw_command_check(int argc, char **argv);
int gw_command_upgrade(int argc, char **argv);
int gw_command_rekey(int argc, char **argv);
int gw_command_restore(int argc, char **argv);
int gw_command_salvage(int argc, char **argv);
int gw_command_read_database(int argc, char **argv);

/* Options are numbered from the first of these; from the second one they may be given again. */
#define GW_OPTION_FIRST    256
#define GW_OPTION_REPEATED 512

/* The options of a command on their way through getopt_long. */
struct gw_options {
    int argc;
    char **argv;
    const struct option *table;
    int index;     /* in the table, of the option that was returned */
    uint64_t seen; /* bits of options with a value */
};

/* The number of the next option, its value in optarg; -1 behind the last; 0 after saying what is
 * wrong: it is not known, it lacks its value, or it was given before. */
int gw_options_next(struct gw_options *o);

/* The --data DIR of a command whose other options are --backups DIR and --logs; NULL after saying
 * what is wrong. */
const char *gw_command_data(int argc, char **argv, const char **out_backups, bool *out_logs);

#endif

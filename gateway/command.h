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

#include "base/err.h"

enum gw_exit {
    GW_EXIT_OK = 0,
    GW_EXIT_FAILED = 1, /* could not start or run */
    GW_EXIT_USAGE = 2,  /* wrong command line */
    GW_EXIT_ENGINE = 3, /* the storage engine failed: start again */
};

/* Print the message; return GW_EXIT_USAGE or GW_EXIT_FAILED. */
int gw_command_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* About the argument getopt_long has just refused. */
int gw_command_bad_option(char **argv);
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

/* Long options without a short form are numbered from here. */
#define GW_OPTION_FIRST 256

/* The --data DIR of a command whose other options are --backups DIR and --logs; NULL after saying
 * what is wrong. */
const char *gw_command_data(int argc, char **argv, const char **out_backups, bool *out_logs);

#endif

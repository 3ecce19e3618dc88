/*
 * cli/exit.h - bigtent's exit codes, on which scripts rely.
 *
 * Does:     name the codes.
 * Owns:     nothing.
 * May use:  nothing.
 * Knows no: the cause of a failure.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. 0 to 5 mean what `bigtent --help` and bigtent(1) say, in every command.
 */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

enum cli_exit {
    CLI_OK = 0,
    CLI_REFUSED = 1,      /* the server refused, or its answer was not valid */
    CLI_USAGE = 2,        /* the command line is wrong; nothing was sent */
    CLI_UNREACHABLE = 3,  /* no connection, an untrusted one, or a broken one */
    CLI_NOT_FOUND = 4,    /* the server returned 404 */
    CLI_CHECK_FAILED = 5, /* drift, failed job, failed bulk lines, server not ready, or a server
                             that differs from the files of apply */
    /* Inside the program only: main exits by raising the signal itself. */
    CLI_INTERRUPTED = 130,
    CLI_BROKEN_PIPE = 141,
};

#endif

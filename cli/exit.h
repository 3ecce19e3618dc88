/*
 * cli/exit.h - how bigtent ends: the exit codes scripts rely on.
 *
 * Does:     name the codes.
 * Owns:     nothing.
 * May use:  nothing.
 * Knows no: what failed.
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
    CLI_REFUSED = 1,      /* the server said no, or its answer made no sense */
    CLI_USAGE = 2,        /* the command line is wrong; nothing was sent */
    CLI_UNREACHABLE = 3,  /* no connection, no trust, or the connection broke */
    CLI_NOT_FOUND = 4,    /* the server said 404 */
    CLI_CHECK_FAILED = 5, /* drift, failed job, failed bulk lines, server not ready, or not as the
                             files of apply say */
    /* Inside the program only: main ends by the signal itself. */
    CLI_INTERRUPTED = 130,
    CLI_BROKEN_PIPE = 141,
};

#endif

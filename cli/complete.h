/*
 * cli/complete.h - the possible completions of an unfinished command line.
 *
 * Does:     match an unfinished command line with the command table; list the completions of its
 *           last word.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: shells, servers.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: does not fail: an unknown command has no completions.
 * Limits:   none; the line is bounded by the system.
 * Promises: 1. Only entries of the table are proposed; an option that may not repeat is not
 *              proposed when the line already has it.
 */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "base/buf.h"
#include "cli/command.h"

/* IDs that only the server knows. */
enum cli_complete_ids {
    CLI_COMPLETE_NONE,
    CLI_COMPLETE_TENANTS,
    CLI_COMPLETE_PLANS,
    CLI_COMPLETE_TABLES,
};

struct cli_complete {
    struct buf *lines; /* completions: a word, optionally a tab and a description, a line feed */
    bool files;        /* file names are completions, too */
    enum cli_complete_ids ids; /* kind of IDs that are completions, too */
    const char *typed;         /* prefix that the IDs must have */
    struct slice before;       /* text before the ID in its word: "--tenant=" */
    const char *tenant;        /* value of --tenant; NULL: not on the line */
    bool elsewhere;            /* the line names its own server or key */
};

/* Completes a line. words: the words after the program's name; the user is typing the last one.
 * count > 0. *out points into words. */
void cli_complete(const char *const *words, size_t count, struct buf *lines,
                  struct cli_complete *out);
/* Appends a word when it starts with the typed prefix. */
void cli_complete_put(struct cli_complete *c, struct slice word, const char *what);

#endif

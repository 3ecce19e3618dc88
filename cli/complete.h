/*
 * cli/complete.h - what could stand where somebody pressed Tab.
 *
 * Does:     follow an unfinished command line through the command table; say what fits its last
 *           word.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: shells, servers.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: does not fail: where nothing is known, nothing fits.
 * Limits:   none; the line is bounded by the system.
 * Promises: 1. Only what the table has is proposed, and an option that may not come twice once.
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
    struct buf *lines; /* what fits: a word, a tab and what it is (may be missing), a line feed */
    bool files;        /* names of files do, too */
    enum cli_complete_ids ids; /* these do, too */
    const char *typed;         /* the front part that the IDs must have */
    struct slice before;       /* stands in front of the ID in its word: "--tenant=" */
    const char *tenant;        /* of --tenant; NULL: not on the line */
    bool elsewhere;            /* the line names a server or key of its own */
};

/* words: those behind the program's name, the last of which is being typed. count > 0. The result
 * points into them. */
void cli_complete(const char *const *words, size_t count, struct buf *lines,
                  struct cli_complete *out);
/* Add a word when it begins as what is typed. */
void cli_complete_put(struct cli_complete *c, struct slice word, const char *what);

#endif

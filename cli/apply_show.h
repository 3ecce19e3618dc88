/*
 * cli/apply_show.h - the plan of `bigtent apply`, for people or as JSON lines.
 *
 * Does:     print the things that would be created, changed and removed, and their counts.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: how the plan is executed.
 * Threads:  one.
 * Blocks:   on stdout and stderr.
 * Fails by: cli/out.h.
 * Limits:   none.
 * Promises: 1. Each thing that is not kept has one line, which starts with "+ ", "~ " or "- ";
 *              indented lines for its fields follow. Texts of the file and the server are escaped.
 */
#ifndef CLI_APPLY_SHOW_H
#define CLI_APPLY_SHOW_H

#include "cli/apply.h"

struct cli_apply_counts {
    size_t each[CLI_APPLY_REMOVE + 1]; /* by verb */
    size_t unresolved;                 /* differ from the file, but will not be changed */
};

struct cli_apply_counts cli_apply_count(const struct cli_apply *a);

void cli_apply_show(const struct cli_apply *a, bool as_json);
/* Prints the unresolved items on stderr. */
void cli_apply_show_unresolved(const struct cli_apply *a);

#endif

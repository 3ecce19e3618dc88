/*
 * cli/apply_show.h - the plan of `bigtent apply`, for people or as JSON lines.
 *
 * Does:     print what would be created, changed and removed, and how many of each.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: how it is done.
 * Threads:  one.
 * Blocks:   on stdout and stderr.
 * Fails by: cli/out.h.
 * Limits:   none.
 * Promises: 1. One line a thing that is not kept, beginning with "+ ", "~ " or "- "; lines for its
 *              fields follow, indented. Texts of the file and the server are escaped.
 */
#ifndef CLI_APPLY_SHOW_H
#define CLI_APPLY_SHOW_H

#include "cli/apply.h"

struct cli_apply_counts {
    size_t each[CLI_APPLY_REMOVE + 1]; /* by verb */
    size_t unresolved;                 /* neither as the file says nor to be changed */
};

struct cli_apply_counts cli_apply_count(const struct cli_apply *a);

void cli_apply_show(const struct cli_apply *a, bool as_json);
/* What differs and stays so, on stderr. */
void cli_apply_show_unresolved(const struct cli_apply *a);

#endif

/*
 * cli/nearest.h - finds the known word nearest to a mistyped one ("did you mean").
 *
 * Does:     compare words by edit distance.
 * Owns:     nothing.
 * May use:  nothing.
 * Knows no: the meaning of the words.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: best stays NULL when nothing is near.
 * Limits:   words of 32 characters, two edits.
 * Promises: 1. Of equally near candidates the first is taken.
 */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stddef.h>

struct cli_nearest {
    const char *word;
    const char *best;
    size_t edits;
};

struct cli_nearest cli_nearest_to(const char *word);
void cli_nearest_consider(struct cli_nearest *n, const char *candidate);

#endif

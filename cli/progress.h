/*
 * cli/progress.h - a progress bar on stderr for long operations.
 *
 * Does:     draw a bar with a text, at most ten times a second; hide it before other output.
 * Owns:     the last line of the terminal while it is drawn.
 * May use:  base/, cli/.
 * Knows no: the operation.
 * Threads:  one draws, any may hide.
 * Blocks:   on stderr.
 * Fails by: does not fail.
 * Limits:   CLI_BAR_PERIOD_MS; one bar at a time.
 * Promises: 1. Nothing is written unless stderr is a terminal.
 *           2. The bar never needs more than one line.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether a bar would be drawn, so that the caller formats its text only then. */
bool cli_progress_due(void);
/* Draws now: done of total (total 0: unknown, no bar), then the text. */
void cli_progress_draw(uint64_t done, uint64_t total, const char *text);
/* Erases the bar if it is drawn. */
void cli_progress_hide(void);

#endif

/*
 * cli/progress.h - one moving line on stderr while something takes long.
 *
 * Does:     draw a bar with a text, at most ten times a second; hide it before other output.
 * Owns:     the last line of the terminal while it is drawn.
 * May use:  base/, cli/.
 * Knows no: what is progressing.
 * Threads:  one draws, any may hide.
 * Blocks:   on stderr.
 * Fails by: does not fail.
 * Limits:   CLI_BAR_PERIOD_MS; one bar at a time.
 * Promises: 1. Nothing is written unless stderr is a terminal.
 *           2. It never takes more than one line.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a bar would be seen, to save the caller the work of making its text. */
bool cli_progress_due(void);
/* Draw now: done of total (total 0: unknown, no bar), then the text. */
void cli_progress_draw(uint64_t done, uint64_t total, const char *text);
/* Wipe it if it is drawn. */
void cli_progress_hide(void);

#endif

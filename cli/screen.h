/*
 * cli/screen.h - full-screen mode: the terminal as one page that is redrawn.
 *
 * Does:     switch the terminal to full-screen mode (alternate screen, keys without Enter or echo),
 *           draw a page, read keys, detect new sizes, restore the terminal.
 * Owns:     the terminal, between open and close.
 * May use:  base/, cli/.
 * Knows no: the contents of the page.
 * Threads:  one.
 * Blocks:   on the terminal, and in cli_screen_key for up to wait_ms.
 * Fails by: cli_out_state reports errors.
 * Limits:   CLI_SCREEN_BYTES.
 * Promises: 1. The terminal is in its original state after close, when signals end the process
 *              (cli/interrupt.h), and while the process is stopped by the suspend key.
 *           2. A page never scrolls: the length and number of its lines are cut to the window.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include "base/slice.h"
#include "cli/exit.h"

/* Results of cli_screen_key other than bytes. */
#define CLI_SCREEN_NOTHING (-1) /* the wait timed out, or a signal arrived */
#define CLI_SCREEN_RESIZED (-2) /* the window has a new size, or the page was erased */

struct cli_screen_size {
    unsigned rows;
    unsigned columns;
};

/* Returns whether stdout is a terminal with a movable cursor. */
bool cli_screen_is_possible(void);
void cli_screen_open(void);
void cli_screen_close(void);

struct cli_screen_size cli_screen_size(void);
/* Draws a page. page: escaped text (cli/text.h promise 1), lines ended by '\n'. */
enum cli_exit cli_screen_draw(struct slice page);
/* Returns the next key that was pressed. None are read from a stdin that is no terminal. */
int cli_screen_key(uint64_t wait_ms);

#endif

/*
 * cli/screen.h - the terminal as one page that is drawn anew.
 *
 * Does:     take the terminal over (alternate screen, keys without Enter or echo), draw a page,
 *           read keys, notice new sizes, give it back.
 * Owns:     the terminal, between open and close.
 * May use:  base/, cli/.
 * Knows no: what is on the page.
 * Threads:  one.
 * Blocks:   on the terminal, and in cli_screen_key as long as it is told.
 * Fails by: cli_out_state tells.
 * Limits:   CLI_SCREEN_BYTES.
 * Promises: 1. The terminal is as it was before: after close, when signals end the process
 *              (cli/interrupt.h), and while it is stopped by its suspend key.
 *           2. A page never scrolls: lines are cut to the window, and so is their number.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include "base/slice.h"
#include "cli/exit.h"

/* What cli_screen_key gives beside bytes. */
#define CLI_SCREEN_NOTHING (-1) /* time is over, or a signal came */
#define CLI_SCREEN_RESIZED (-2) /* the window has another size, or the page was wiped */

struct cli_screen_size {
    unsigned rows;
    unsigned columns;
};

/* stdout is a terminal that knows how to move its cursor. */
bool cli_screen_is_possible(void);
void cli_screen_open(void);
void cli_screen_close(void);

struct cli_screen_size cli_screen_size(void);
/* page: escaped text (cli/text.h promise 1), lines ended by '\n'. */
enum cli_exit cli_screen_draw(struct slice page);
/* The next key that was pressed. None are read from a stdin that is no terminal. */
int cli_screen_key(uint64_t wait_ms);

#endif

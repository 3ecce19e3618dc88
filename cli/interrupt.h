/*
 * cli/interrupt.h - Ctrl-C and similar signals: stop soon, leave a clean terminal line.
 *
 * Does:     record SIGINT, SIGTERM and SIGHUP; sleep until a signal; exit by raising the signal.
 * Owns:     the process's handlers of these signals; ignores SIGPIPE.
 * May use:  base/, cli/exit.h.
 * Knows no: the interrupted work.
 * Threads:  one.
 * Blocks:   cli_sleep_ms.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. The second signal of a kind ends the process at once.
 *           2. The first signal erases a progress bar on the screen.
 *           3. A terminal in full-screen mode (cli_interrupt_screen) is restored before a second
 *              signal ends the process.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "cli/exit.h"

void cli_interrupt_install(void);
bool cli_interrupted(void);
/* Informs the handler whether stderr's last line is a progress bar. */
void cli_interrupt_bar(bool drawn);

/* Called before full-screen mode starts. before: stdin's terminal modes (NULL: they will not
 * change); text: the bytes that restore the terminal behind stdout. Both must stay valid until the
 * terminal is restored. */
void cli_interrupt_screen(const struct termios *before, const char *text);
/* Restores the terminal after full-screen mode, if it was entered. */
void cli_interrupt_give_back(void);

/* Sleeps; returns false when a signal arrived before or during the sleep. */
bool cli_sleep_ms(uint64_t ms);

/* Ends the process by the signal for CLI_INTERRUPTED and CLI_BROKEN_PIPE, as shells expect. Returns
 * for other codes, and when the signal is blocked. */
void cli_end_by_signal(enum cli_exit code);

#endif

/*
 * cli/interrupt.h - Ctrl-C and its relatives: stop soon, say where we stood, leave a clean line.
 *
 * Does:     note SIGINT, SIGTERM and SIGHUP; sleep so that they wake us; end by the signal itself.
 * Owns:     the process's handlers of these signals; ignores SIGPIPE.
 * May use:  base/, cli/exit.h.
 * Knows no: what is being interrupted.
 * Threads:  one.
 * Blocks:   cli_sleep_ms.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. The second signal of a kind ends the process at once.
 *           2. A progress bar on the screen is wiped by the first one.
 *           3. A terminal that was taken over (cli_interrupt_screen) is given back before a second
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
/* Tell the handler whether stderr's last line is a progress bar. */
void cli_interrupt_bar(bool drawn);

/* The terminal is about to be taken over: what stdin was like (NULL: its modes will not change),
 * and what to write to stdout to give it back; both must last until it was. */
void cli_interrupt_screen(const struct termios *before, const char *text);
/* Give it back, if it was taken. */
void cli_interrupt_give_back(void);

/* False when a signal came before or during the sleep. */
bool cli_sleep_ms(uint64_t ms);

/* For CLI_INTERRUPTED and CLI_BROKEN_PIPE: die by the signal, as shells expect. Returns otherwise,
 * and when the signal is blocked. */
void cli_end_by_signal(enum cli_exit code);

#endif

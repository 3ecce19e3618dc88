/*
 * cli/out.h - output: results on stdout, messages on stderr.
 *
 * Does:     write results and record when the reader closed the pipe; write messages as one line
 *           that starts with "bigtent:" and never disturbs a progress bar.
 * Owns:     stdout and stderr of the process.
 * May use:  base/, cli/.
 * Knows no: tables, JSON.
 * Threads:  one; cli_say and cli_fail: any.
 * Blocks:   on the two streams.
 * Fails by: cli_out_state and cli_out_flush: CLI_BROKEN_PIPE, CLI_REFUSED (disk full and the like),
 *           CLI_INTERRUPTED.
 * Limits:   messages of 4 KiB.
 * Promises: 1. Messages are escaped (cli/text.h promise 1).
 *           2. After a failed write nothing more is written.
 *           3. While messages are held (cli_say_hold), stderr receives none.
 */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include "base/buf.h"
#include "cli/exit.h"

void cli_out_init(void);
bool cli_out_is_terminal(void);
bool cli_err_is_terminal(void);
/* Redirects messages from stderr to held, a line each, until it is called with NULL. */
void cli_say_hold(struct buf *held);
/* Returns the width of stderr's terminal; 80 when it is unknown. */
unsigned cli_err_columns(void);

void cli_out_bytes(struct slice bytes);
void cli_out_text(const char *text);
void cli_out_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the result of writing so far; cli_out_flush prints the message for a failed write. */
enum cli_exit cli_out_state(void);
enum cli_exit cli_out_flush(void);

/* Prints "bigtent: ..." and a line feed on stderr. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the message and returns code: `return cli_fail(CLI_USAGE, "...")`. */
enum cli_exit cli_fail(enum cli_exit code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif

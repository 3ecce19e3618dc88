/*
 * cli/ask.h - questions on the terminal before something that cannot be taken back.
 *
 * Does:     ask and read a line; ask for a name before what it names is deleted.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: what an answer leads to.
 * Threads:  one.
 * Blocks:   until a line, the end of input or a signal.
 * Fails by: CLI_USAGE (nobody to ask, or another answer), CLI_INTERRUPTED.
 * Limits:   answers of CLI_ANSWER_LINE_BYTES.
 * Promises: 1. Without a terminal nothing is asked, and nothing counts as an answer.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "base/slice.h"
#include "cli/bounds.h"
#include "cli/exit.h"

/* Whether stdin and stderr are terminals, so that a person can be asked. */
bool cli_ask_possible(void);
/* Asks, and reads the answer without its line feed into line. */
enum cli_exit cli_ask(const char *question, char line[CLI_ANSWER_LINE_BYTES],
                      struct slice *out_answer);
/* Asks for the table's name; loss says what will be gone. Elsewhere --yes is required. */
enum cli_exit cli_ask_table(const char *loss, const char *table);

#endif

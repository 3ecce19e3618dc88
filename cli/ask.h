/*
 * cli/ask.h - asks for confirmation on the terminal before an irreversible action.
 *
 * Does:     print a question and read a line; require a thing's name before it is deleted.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: what an answer leads to.
 * Threads:  one.
 * Blocks:   until a line, the end of input or a signal arrives.
 * Fails by: CLI_USAGE (no terminal, or another answer), CLI_INTERRUPTED.
 * Limits:   answers of CLI_ANSWER_LINE_BYTES.
 * Promises: 1. Without a terminal no question is printed, and no input counts as an answer.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "base/slice.h"
#include "cli/bounds.h"
#include "cli/exit.h"

/* Returns whether stdin and stderr are terminals, so that a person can answer. */
bool cli_ask_possible(void);
/* Prints the question, and reads the answer without its line feed into line. */
enum cli_exit cli_ask(const char *question, char line[CLI_ANSWER_LINE_BYTES],
                      struct slice *out_answer);
/* Requires the user to type the table's name; loss describes the data that will be lost. Without a
 * terminal, --yes is required. */
enum cli_exit cli_ask_table(const char *loss, const char *table);

#endif

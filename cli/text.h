/*
 * cli/text.h - bytes and numbers as safe, readable text.
 *
 * Does:     escape terminal control sequences, measure and cut by columns, format sizes and counts,
 *           parse sizes and durations of the command line.
 * Owns:     nothing.
 * May use:  base/, cli/bounds.h.
 * Knows no: where the text goes.
 * Threads:  one; cli_text_init sets the character type of the process.
 * Blocks:   no.
 * Fails by: false for text that is not a size or duration; appends latch in the buf.
 * Limits:   CLI_CELL_COLUMNS.
 * Promises: 1. Escaped text holds no control character (C0, DEL, C1), no text-direction mark and
 *              no invalid UTF-8: those bytes are written as \n, \t, \r or \xNN.
 *           2. cli_text_json_safe keeps JSON valid and its meaning unchanged.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include "base/buf.h"
#include "base/slice.h"

enum cli_escape {
    CLI_ESCAPE_CONTROLS = 0,  /* messages: controls only */
    CLI_ESCAPE_BACKSLASH = 1, /* data: "\" is doubled, so that the text can be parsed */
    CLI_ESCAPE_SPACE = 2,     /* columns split at spaces: " " becomes \x20 */
};

/* Enables character widths; output is assumed to be UTF-8. */
void cli_text_init(void);

/* Appends in, escaped. how: a sum of enum cli_escape. */
void cli_text_escape(struct buf *out, struct slice in, unsigned how);
/* Appends JSON text for a terminal: raw characters that a terminal interprets become \uNNNN. */
void cli_text_json_safe(struct buf *out, struct slice json);

/* Returns the number of columns that escaped text needs on a terminal. */
size_t cli_text_columns(struct slice escaped);
/* Returns the longest prefix of escaped text that needs at most columns. */
struct slice cli_text_cut(struct slice escaped, size_t columns);

void cli_text_put_bytes(struct buf *out, uint64_t bytes); /* 1.2 MiB */
void cli_text_put_count(struct buf *out, uint64_t count); /* 12,345 */

/* Parses N, NK, NM, NG or NT (powers of 1024). */
bool cli_text_parse_size(const char *text, uint64_t *out_bytes);
/* Parses N, Ns, Nm, Nh or Nd. */
bool cli_text_parse_seconds(const char *text, uint64_t *out_seconds);

#endif

/*
 * cli/json_pull.h - one line of JSON, value by value, without a tree.
 *
 * Does:     step through objects and lists; return slices of the line's texts; decode escapes.
 * Owns:     nothing; decoded texts are written to the caller's buf.
 * May use:  base/.
 * Knows no: the contents of lines.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: false, without the position of the error.
 * Limits:   the caller's line and holder.
 * Promises: 1. No byte after the end of the text is read.
 *           2. A returned text is decoded per RFC 8259: valid UTF-8, complete surrogate pairs.
 */
#ifndef CLI_JSON_PULL_H
#define CLI_JSON_PULL_H

#include "base/buf.h"

struct cli_pull {
    const uint8_t *at;
    const uint8_t *end;
};

/* Starts with a line; empties holder and reserves space for all texts of the line, so that holder's
 * bytes do not move until the next start. Returns false when memory is short. */
bool cli_pull_start(struct cli_pull *p, struct slice line, struct buf *holder);

/* Skips white space, and consumes c if it is next. */
bool cli_pull_take(struct cli_pull *p, char c);
/* Consumes the separator after a value: *out_more is true for a comma, false for close;
 * any other character is a failure. */
bool cli_pull_next(struct cli_pull *p, char close, bool *out_more);
/* Reads a text. *out points into the line or, for a text with escapes,
 * to bytes appended to holder. */
bool cli_pull_text(struct cli_pull *p, struct buf *holder, struct slice *out);
/* Decodes a text in base64; the bytes are appended to holder. */
bool cli_pull_base64(struct cli_pull *p, struct buf *holder, struct slice *out);
/* Reads a member's name and its colon. */
bool cli_pull_name(struct cli_pull *p, struct buf *holder, struct slice *out);
/* Skips a number. */
bool cli_pull_number(struct cli_pull *p);
/* Returns whether only white space is left. */
bool cli_pull_ended(struct cli_pull *p);

/* Appends the bytes, which must be valid UTF-8, as a JSON text in quotes. */
void cli_json_put_text(struct buf *out, struct slice text);

#endif

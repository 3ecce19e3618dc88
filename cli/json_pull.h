/*
 * cli/json_pull.h - one line of JSON, value by value, without a tree.
 *
 * Does:     step through objects and lists; point at texts where they stand; undo their escapes.
 * Owns:     nothing; what escapes hide goes into the caller's buf.
 * May use:  base/.
 * Knows no: what lines hold.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: false; the place of the failure is then known to nobody.
 * Limits:   the caller's line and holder.
 * Promises: 1. Nothing behind the end of the text is looked at.
 *           2. A text that was taken is what RFC 8259 makes of it: valid UTF-8, whole surrogates.
 */
#ifndef CLI_JSON_PULL_H
#define CLI_JSON_PULL_H

#include "base/buf.h"

struct cli_pull {
    const uint8_t *at;
    const uint8_t *end;
};

/* holder is emptied, and has room for all that the line's texts may need: it does not move until
 * the next start. False when memory is short. */
bool cli_pull_start(struct cli_pull *p, struct slice line, struct buf *holder);

/* Consume c if it is next, behind white space. */
bool cli_pull_take(struct cli_pull *p, char c);
/* Behind a value: *out_more is true behind a comma, false behind close; else the call fails. */
bool cli_pull_next(struct cli_pull *p, char close, bool *out_more);
/* A text; it lies in the line, or in holder, behind what is there, when it has escapes. */
bool cli_pull_text(struct cli_pull *p, struct buf *holder, struct slice *out);
/* The bytes that a text in base64 stands for, in holder. */
bool cli_pull_base64(struct cli_pull *p, struct buf *holder, struct slice *out);
/* A member's name and its colon. */
bool cli_pull_name(struct cli_pull *p, struct buf *holder, struct slice *out);
/* Skip a number. */
bool cli_pull_number(struct cli_pull *p);
/* Only white space is left. */
bool cli_pull_ended(struct cli_pull *p);

/* The bytes as a JSON text in quotes. They must be valid UTF-8. */
void cli_json_put_text(struct buf *out, struct slice text);

#endif

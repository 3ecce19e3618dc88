/*
 * base/json_html.h - values of a JSON text as text and tables of an HTML page.
 *
 * Does:     escapes; writes one value, lines of a label and a value, a table of an array of
 *           objects.
 * Owns:     nothing; output is appended to the caller's buf.
 * May use:  base/.
 * Knows no: the meaning of the text. Labels, units and words are the caller's markup; so is the
 *           style: cells have the class code or number, times time.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: the output buf's latched error.
 * Limits:   none here.
 * Promises: 1. No byte of a value becomes markup.
 */
#ifndef BASE_JSON_HTML_H
#define BASE_JSON_HTML_H

#include "base/buf.h"
#include "base/slice.h"

struct base_html {
    struct slice line; /* must have passed base_json_check */
    struct buf *out;
    struct buf scratch; /* as large as the longest text */
};

void base_html_put(struct base_html *p, const char *markup);
void base_html_escaped(struct base_html *p, struct slice text);

/* Returns whether the value is neither absent nor null. */
bool base_html_is_there(struct slice value);
/* Returns the text of a string, valid until the next call; empty for anything else. */
struct slice base_html_text_of(struct base_html *p, struct slice value);
/* Writes a value; "not stated" if it is absent. */
void base_html_value(struct base_html *p, struct slice value);
/* Writes 2026-11-20T10:00:00.000Z as 2026-11-20 10:00:00 UTC, in one line; anything else
 * unchanged. */
void base_html_time(struct base_html *p, struct slice value);

/* Words for names; an entry with name NULL ends the list. A name that is not listed is shown
 * unchanged. */
struct base_html_word {
    const char *name;
    const char *words;
};

enum base_html_kind { BASE_HTML_VALUE, BASE_HTML_TIME, BASE_HTML_CODE, BASE_HTML_WORDS };

/* Description of a column; an entry with label NULL ends a list. */
struct base_html_column {
    const char *label; /* of a column, or of a line with one value; must not contain quotes */
    const char *path;
    enum base_html_kind kind;
    const struct base_html_word *words;
    const char *unit;    /* after the value; may be NULL */
    const char *if_null; /* instead of "not stated"; may be NULL */
};

/* Writes a line for each value of the text; absent values are omitted. */
void base_html_facts(struct base_html *p, const struct base_html_column *facts);
/* Writes a line for each object of the array at the path. */
void base_html_table(struct base_html *p, const char *path, const struct base_html_column *columns);

#endif

/*
 * base/json_view.h - values inside one compact JSON text, found without a tree.
 *
 * Does:     checks a text; finds a member by its path; iterates over an array; decodes a string.
 * Owns:     nothing; a value is the part of the text that holds it.
 * May use:  base/.
 * Knows no: the meaning of the text.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID (no compact JSON, no UTF-8, nested too deep), ERR_TOO_BIG.
 * Limits:   BASE_JSON_DEPTH.
 * Promises: 1. All functions but the check require a text that passed it, or a value found in one.
 *           2. An absent value is empty; every function accepts it and finds nothing in it.
 */
#ifndef BASE_JSON_VIEW_H
#define BASE_JSON_VIEW_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define BASE_JSON_DEPTH 16

enum base_json_kind {
    BASE_JSON_NONE,
    BASE_JSON_NULL,
    BASE_JSON_BOOL,
    BASE_JSON_NUMBER,
    BASE_JSON_STRING,
    BASE_JSON_ARRAY,
    BASE_JSON_OBJECT
};

/* Checks that text is one value, with nothing after it. */
enum err base_json_check(struct slice text) MUST_CHECK;

enum base_json_kind base_json_kind(struct slice value);
/* Returns the value at a path: names separated by dots; a name has no dot and no escape. */
struct slice base_json_at(struct slice object, const char *path);
/* Returns the next value of an array. *rest is the array at first. Returns false at the end. */
bool base_json_next(struct slice *rest, struct slice *out);
/* Appends a string as UTF-8 to out. Control characters and halves of surrogate pairs become
 * U+FFFD. */
enum err base_json_text(struct slice string, struct buf *out) MUST_CHECK;

#endif

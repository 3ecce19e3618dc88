/*
 * base/json_view.h - values inside one compact JSON text, found without a tree.
 *
 * Does:     check a text; find a member by its path; walk over an array; decode a string.
 * Owns:     nothing; a value is the part of the text that it stands in.
 * May use:  base/.
 * Knows no: what the text is about.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID (no compact JSON, no UTF-8, nested too deep), ERR_TOO_BIG.
 * Limits:   BASE_JSON_DEPTH.
 * Promises: 1. All but the check want a text that passed it, or a value that was found in one.
 *           2. A value that is not there is empty; every function takes it and finds nothing in it.
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

/* One value, and nothing behind it. */
enum err base_json_check(struct slice text) MUST_CHECK;

enum base_json_kind base_json_kind(struct slice value);
/* path: names with a dot between; none of them has a dot or an escape. */
struct slice base_json_at(struct slice object, const char *path);
/* The next value of an array; *rest is the array at first. False at the end. */
bool base_json_next(struct slice *rest, struct slice *out);
/* A string as UTF-8, appended to out. Control characters and halves of pairs become U+FFFD. */
enum err base_json_text(struct slice string, struct buf *out) MUST_CHECK;

#endif

/*
 * base/json_page.h - a readable page made of one line of JSON.
 *
 * Does:     write HTML: an object is a table, an array a list; all text escaped, nothing executed,
 *           nothing loaded.
 * Owns:     nothing; output goes into the caller's buf.
 * May use:  base/.
 * Knows no: what the line is about, whether it is signed.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID (no compact JSON, no UTF-8, nested too deep), ERR_TOO_BIG.
 * Limits:   BASE_PAGE_DEPTH.
 * Promises: 1. No byte of the line becomes markup, whatever it holds.
 *           2. A failed call adds nothing to the buf.
 */
#ifndef BASE_JSON_PAGE_H
#define BASE_JSON_PAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define BASE_PAGE_DEPTH 16

/* title: plain text. */
enum err base_json_page(struct slice line, const char *title, struct buf *out) MUST_CHECK;

#endif

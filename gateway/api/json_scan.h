/*
 * gateway/api/json_scan.h - reads JSON of a known shape straight from its text, without a tree.
 *
 * Does:     steps over brackets, commas and words; returns strings as slices.
 * Owns:     nothing; strings are in the text, or in the arena when they had escapes.
 * May use:  base/, gateway/api/json_out.h.
 * Knows no: shapes: the caller knows what may come next.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: false if the next token is not the requested one; out_of_memory is set when the arena
 *           was full; ERR_INVALID and ERR_NO_MEMORY of base64.
 * Limits:   the arena's.
 * Promises: 1. A string is returned only when a strict parser (jansson) would return the same
 *              bytes.
 *           2. Never reads beyond the text, whatever its bytes; takes time linear in it.
 */
#ifndef GATEWAY_API_JSON_SCAN_H
#define GATEWAY_API_JSON_SCAN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

struct gw_scan {
    const uint8_t *at;
    const uint8_t *end;
    struct arena *arena;
    bool out_of_memory;
};

void gw_scan_init(struct gw_scan *s, struct slice text, struct arena *arena);

/* Returns the next byte that is not white space; 0 at the end. */
uint8_t gw_scan_peek(struct gw_scan *s);
/* Steps over white space and this byte; does not move if another byte follows. */
bool gw_scan_take(struct gw_scan *s, uint8_t byte);
bool gw_scan_null(struct gw_scan *s);
/* Reads a string of valid UTF-8; ptr is never NULL. */
bool gw_scan_string(struct gw_scan *s, struct slice *out);
/* Reads a number without fraction and exponent that fits; the caller checks what follows it. */
bool gw_scan_integer(struct gw_scan *s, int64_t *out);
/* Reads a string without NUL and the ':' after it. */
bool gw_scan_name(struct gw_scan *s, struct slice *out);
/* Steps over ',' (*out_more true) or the closing bracket, after a value inside a list or object. */
bool gw_scan_next(struct gw_scan *s, uint8_t closing, bool *out_more);
/* Returns the error after a failed read: ERR_INVALID, or ERR_NO_MEMORY when the arena was full. */
enum err gw_scan_failed(const struct gw_scan *s, struct errbuf *eb) MUST_CHECK;
/* Returns whether only white space is left. */
bool gw_scan_is_end(struct gw_scan *s);

/* Decodes a base64 text into the arena; ptr is never NULL. The errors name the field. */
enum err gw_scan_base64(struct gw_scan *s, struct slice text, const char *name, struct slice *out,
                        struct errbuf *eb) MUST_CHECK;

#endif

/*
 * gateway/api/json_scan.h - read JSON of a known shape straight from its text, without a tree.
 *
 * Does:     step over brackets, commas and words; give strings as slices.
 * Owns:     nothing; strings lie in the text, or in the arena when they had escapes.
 * May use:  base/, gateway/api/json_out.h.
 * Knows no: shapes: who calls knows what may come next.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: false for whatever is not there as asked; out_of_memory tells when the arena was full;
 *           ERR_INVALID and ERR_NO_MEMORY of base64.
 * Limits:   the arena's.
 * Promises: 1. A string is given only when a strict parser (jansson) would give the same bytes.
 *           2. Never looks beyond the text, whatever its bytes; takes time linear in it.
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

/* The next byte that is no white space; 0 at the end. */
uint8_t gw_scan_peek(struct gw_scan *s);
/* Step over white space and this byte, or stay. */
bool gw_scan_take(struct gw_scan *s, uint8_t byte);
bool gw_scan_null(struct gw_scan *s);
/* Valid UTF-8; ptr is never NULL. */
bool gw_scan_string(struct gw_scan *s, struct slice *out);
/* A number without fraction and exponent that fits; what follows it is the caller's to see. */
bool gw_scan_integer(struct gw_scan *s, int64_t *out);
/* A string without NUL and the ':' behind it. */
bool gw_scan_name(struct gw_scan *s, struct slice *out);
/* Inside a list or object, behind a value: step over ',' (*out_more true) or the closing bracket.
 */
bool gw_scan_next(struct gw_scan *s, uint8_t closing, bool *out_more);
/* What to report when something was not there as asked: ERR_INVALID, or ERR_NO_MEMORY when the
 * arena was full. */
enum err gw_scan_failed(const struct gw_scan *s, struct errbuf *eb) MUST_CHECK;
/* Nothing but white space is left. */
bool gw_scan_is_end(struct gw_scan *s);

/* Bytes of a base64 text, in the arena; ptr is never NULL. The errors name the field. */
enum err gw_scan_base64(struct gw_scan *s, struct slice text, const char *name, struct slice *out,
                        struct errbuf *eb) MUST_CHECK;

#endif

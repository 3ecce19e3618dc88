/*
 * base/text.h - strict codecs between bytes and text.
 *
 * Does:     UTF-8 check, percent, base64 and base64url, hex, base62 digits, strict decimal numbers,
 *           times.
 * Owns:     nothing; output is written to the caller's buf or memory.
 * May use:  base/.
 * Knows no: JSON, URLs beyond percent-encoding.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID for anything not in canonical form, ERR_TOO_BIG if it does not fit.
 * Limits:   the output buf's max.
 * Promises: 1. Decoders accept exactly what encoders make; no padding variants, no whitespace, no
 *              overlong UTF-8, no surrogates. Percent codes may have lower-case hex, and visible
 *              ASCII need not be encoded.
 *           2. A failed call adds nothing to the buf and writes no result.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

bool base_utf8_is_valid(struct slice s);
/* Checks for UTF-8 without control characters, of at most max bytes; ERR_INVALID names `what`. */
enum err base_text_check(struct slice text, size_t max, const char *what,
                         struct errbuf *eb) MUST_CHECK;

/* Percent-decodes a path segment or query value; "+" stays "+". %00 is allowed: keys are bytes. */
enum err base_percent_decode(struct slice in, struct buf *out) MUST_CHECK;
/* Encodes everything but unreserved characters (RFC 3986 2.3). */
enum err base_percent_encode(struct slice in, struct buf *out);

/* Standard alphabet with padding (JSON value_b64) and URL alphabet without (tokens). */
enum err base_base64_encode(struct slice in, struct buf *out);
enum err base_base64_decode(struct slice in, struct buf *out) MUST_CHECK;
enum err base_base64url_encode(struct slice in, struct buf *out);
enum err base_base64url_decode(struct slice in, struct buf *out) MUST_CHECK;

enum err base_hex_encode(struct slice in, struct buf *out);

/* Parse a decimal without spaces, leading zeros ("0" itself is valid) or "+"; "-" only before a
 * negative i64. ERR_TOO_BIG if the number does not fit. */
enum err base_parse_u64(struct slice in, uint64_t *out) MUST_CHECK;
enum err base_parse_i64(struct slice in, int64_t *out) MUST_CHECK;

/* Parses a u64 followed by one of the letters, which selects a factor, or by none. */
enum err base_parse_with_unit(struct slice in, const char *letters, const uint64_t *factors,
                              uint64_t *out) MUST_CHECK;
/* Parses N or Ns, Nm, Nh, Nd. */
enum err base_parse_seconds(struct slice in, uint64_t *out_seconds) MUST_CHECK;

/* Parses RFC 3339 in UTC, of 1970 or later: 2026-11-20T10:00:00Z; a fraction has 1 to 6 digits. */
enum err base_parse_time(struct slice in, int64_t *out_us) MUST_CHECK;

extern const char BASE_BASE62_DIGITS[63];

#endif

/*
 * gateway/api/json_out.h - writes JSON straight into a buf.
 *
 * Does:     escapes text, selects text or base64 for bytes, places commas.
 * Owns:     nothing; appends to the caller's buf, whose error latches.
 * May use:  base/.
 * Knows no: meaning of the JSON, jansson.
 * Threads:  any; one writer per buf.
 * Blocks:   no.
 * Fails by: the buf's latched error (base/buf.h); check it once, at the end.
 * Limits:   the buf's max.
 * Promises: 1. The output is valid JSON in valid UTF-8, whatever the bytes.
 *           2. Printable ASCII is copied in one piece.
 */
#ifndef GATEWAY_API_JSON_OUT_H
#define GATEWAY_API_JSON_OUT_H

#include "base/buf.h"
#include "base/slice.h"

enum gw_text_class {
    GW_TEXT_PLAIN,  /* printable ASCII without '"' and '\': copied as it is */
    GW_TEXT_ESCAPE, /* valid UTF-8 that may need escapes */
    GW_TEXT_BINARY, /* not UTF-8 */
};
enum gw_text_class gw_text_classify(struct slice s);

/* Appends "text" with quotes; each byte that is not UTF-8 becomes U+FFFD. */
void gw_json_put_text(struct buf *out, struct slice s);
/* Appends "name":"text", or "name_b64":"base64" when the bytes are not UTF-8. name is a plain
 * literal. */
void gw_json_put_bytes(struct buf *out, const char *name, struct slice s);

/* Writes decimal digits at `to`, which has 20 bytes for u64; returns their count. */
size_t gw_json_digits(uint8_t *to, uint64_t number);

/* --- documents: a writer that knows where commas go --------------------------------------------
 */

struct gw_json {
    struct buf *out;
    bool comma; /* a value precedes: the next name or value needs a comma */
};

static inline struct gw_json gw_json_start(struct buf *out)
{
    return (struct gw_json){.out = out};
}

/* bracket: '{' or '[' to open, '}' or ']' to close. */
void gw_json_open(struct gw_json *j, char bracket);
void gw_json_close(struct gw_json *j, char bracket);
void gw_json_name(struct gw_json *j, const char *name);
void gw_json_text(struct gw_json *j, struct slice text);
void gw_json_u64(struct gw_json *j, uint64_t number);
void gw_json_i64(struct gw_json *j, int64_t number);
void gw_json_bool(struct gw_json *j, bool value);
void gw_json_null(struct gw_json *j);
/* Writes RFC 3339 in UTC; null for 0. */
void gw_json_time(struct gw_json *j, int64_t wall_us);

/* These write name and value. Text: NULL or "" is null. */
void gw_json_name_text(struct gw_json *j, const char *name, const char *text);
/* As gw_json_put_bytes; null when there are none. */
void gw_json_name_bytes(struct gw_json *j, const char *name, struct slice bytes);
void gw_json_name_u64(struct gw_json *j, const char *name, uint64_t number);
void gw_json_name_time(struct gw_json *j, const char *name, int64_t wall_us);

#endif

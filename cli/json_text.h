/*
 * cli/json_text.h - JSON in and out.
 *
 * Does:     parse an answer; print JSON indented on a terminal, compact elsewhere; walk paths.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: what documents mean.
 * Threads:  one; cli_json_init sets the library's allocator.
 * Blocks:   on stdout.
 * Fails by: NULL or false for what is not JSON or does not fit.
 * Limits:   CLI_TEXT_BYTES.
 * Promises: 1. On a terminal control characters are escaped, and it is still the same JSON.
 */
#ifndef CLI_JSON_TEXT_H
#define CLI_JSON_TEXT_H

#include <jansson.h>

#include "base/buf.h"

#define CLI_ETAG_BYTES 32

/* The heap of base/alloc.h for everything the library allocates. */
void cli_json_init(void);

json_t *cli_json_parse(struct slice text);
/* The same; NULL also when a name stands twice in one object. */
json_t *cli_json_parse_once(struct slice text);
/* Append value as JSON text; flags are jansson's (0: compact). False when it does not fit. */
bool cli_json_append(struct buf *out, const json_t *value, size_t flags);

/* One document and a line feed on stdout. */
void cli_json_print(const json_t *value);
/* The elements of one array, arriving in several documents, as one document {"name":[...]}. */
void cli_json_list_begin(const char *name);
void cli_json_list_element(const json_t *element, bool is_first);
void cli_json_list_end(bool was_empty);

/* Set name to the bytes as text, or, when they are no UTF-8, name_b64 to their base64. False when
 * they do not fit. */
bool cli_json_set_bytes(json_t *object, const char *name, struct slice bytes);
/* The same as one more element of the list name, or name_b64, which is made when it is not there.
 */
bool cli_json_append_bytes(json_t *object, const char *name, struct slice bytes);

/* The bytes of the member name or, in base64, name_b64; empty when it is neither. They lie in
 * holder or in the document. */
struct slice cli_json_bytes(const json_t *object, const char *name, const char *name_b64,
                            struct buf *holder);

/* "usage.rows": NULL when a step is missing. */
json_t *cli_json_at(const json_t *root, const char *path);
/* "" when there is no text. */
const char *cli_json_text_at(const json_t *root, const char *path);
/* Of a document with a version, as If-Match takes it. */
void cli_json_etag(const json_t *doc, char out[CLI_ETAG_BYTES]);

#endif

/*
 * cli/json_text.h - parses and prints JSON.
 *
 * Does:     parse an answer; print JSON, indented on a terminal and compact elsewhere; follow
 *           paths.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: what documents mean.
 * Threads:  one; cli_json_init sets the library's allocator.
 * Blocks:   on stdout.
 * Fails by: NULL or false for text that is not JSON or does not fit.
 * Limits:   CLI_TEXT_BYTES.
 * Promises: 1. On a terminal control characters are escaped; the JSON's meaning is unchanged.
 */
#ifndef CLI_JSON_TEXT_H
#define CLI_JSON_TEXT_H

#include <jansson.h>

#include "base/buf.h"

#define CLI_ETAG_BYTES 32

/* Makes the library allocate from the heap of base/alloc.h. */
void cli_json_init(void);

json_t *cli_json_parse(struct slice text);
/* Parses text; also returns NULL when one object has the same name twice. */
json_t *cli_json_parse_once(struct slice text);
/* Appends value as JSON text; flags are jansson's (0: compact).
 * Returns false when it does not fit. */
bool cli_json_append(struct buf *out, const json_t *value, size_t flags);

/* Prints one document and a line feed on stdout. */
void cli_json_print(const json_t *value);
/* Print the elements of one array, which arrive in several documents,
 * as one document {"name":[...]}. */
void cli_json_list_begin(const char *name);
void cli_json_list_element(const json_t *element, bool is_first);
void cli_json_list_end(bool was_empty);

/* Sets name to the bytes as text or, when the bytes are not UTF-8, name_b64 to their base64.
 * Returns false when they do not fit. */
bool cli_json_set_bytes(json_t *object, const char *name, struct slice bytes);
/* Appends the bytes in the same way to the list name or name_b64, which is created if missing. */
bool cli_json_append_bytes(json_t *object, const char *name, struct slice bytes);

/* Returns the bytes of the member name or, decoded from base64, of name_b64; empty when there is
 * neither. The bytes are in holder or in the document. */
struct slice cli_json_bytes(const json_t *object, const char *name, const char *name_b64,
                            struct buf *holder);

/* Returns the value at a path such as "usage.rows"; NULL when a step is missing. */
json_t *cli_json_at(const json_t *root, const char *path);
/* Returns the text at a path; "" when there is no text. */
const char *cli_json_text_at(const json_t *root, const char *path);
/* Outputs the ETag of a document with a version, in the form of If-Match. */
void cli_json_etag(const json_t *doc, char out[CLI_ETAG_BYTES]);

#endif

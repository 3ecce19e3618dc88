/*
 * gateway/api/json_in.h - parses untrusted JSON.
 *
 * Does:     refuses bombs before parsing, parses strictly, reads fields by type; every error names
 *           the place or the field, never the content.
 * Owns:     nothing; parsed trees are the caller's (json_decref).
 * May use:  base/, jansson.
 * Knows no: routes, rows.
 * Threads:  any.
 * Blocks:   no; parsing takes time in proportion to the text.
 * Fails by: ERR_INVALID, ERR_TOO_BIG (depth, number of values), ERR_NO_MEMORY.
 * Limits:   LIM_JSON_DEPTH; GW_JSON_VALUES_MAX values.
 * Promises: 1. Duplicate member names are refused. 2. Text slices point into the tree and may hold
 *              NUL. 3. An unknown field is refused by name.
 */
#ifndef GATEWAY_API_JSON_IN_H
#define GATEWAY_API_JSON_IN_H

#include <jansson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/slice.h"

/* Maximum number of values: a row's longest list of cells, each {"value":..,"timestamp":..}, with a
 * margin. jansson uses up to 80 bytes for two bytes of input, so the size of the text alone is no
 * bound. */
#define GW_JSON_VALUES_MAX (6 * LIM_MUTATIONS_PER_ROW)

/* Memory of a tree beside the text, per value; an empty object in a list counts as two values. */
#define GW_JSON_VALUE_BYTES 128

/* Memory that a tree takes from a share, released together with the tree. */
struct gw_json_charge {
    struct base_memory_share *share; /* NULL: not counted */
    size_t bytes;
};

/* Parses text, which must be one object. charge->bytes are counted before the tree is created, if
 * it is; charge NULL: for a tree that is freed in a moment. ERR_NO_MEMORY also when the share is
 * used up. */
enum err gw_json_parse(struct slice text, struct gw_json_charge *charge, json_t **out,
                       struct errbuf *eb) MUST_CHECK;
/* Frees the tree and releases its charge; NULL: does nothing. */
void gw_json_free(json_t *tree, struct gw_json_charge *charge);

/* Appends the tree as text without blanks; flags: JSON_SORT_KEYS or 0. */
enum err gw_json_dump(const json_t *tree, size_t flags, struct buf *out) MUST_CHECK;

/* Refuses members whose name is not in the NULL-terminated list. */
enum err gw_json_only(const json_t *object, const char *const *names, struct errbuf *eb) MUST_CHECK;

/* Appends a member to a path for base_fail_at, "union[1].intersection[0]", which is cut when it is
 * too long. index SIZE_MAX: the member is no list. */
#define GW_JSON_PATH_BYTES 200
void gw_json_path_add(char path[GW_JSON_PATH_BYTES], const char *member, size_t index);

/* Return slices that point into the tree. */
struct slice gw_json_string(const json_t *string);
struct slice gw_json_member_name(void *iterator);

/* Reads a text member. Absent or null: ptr NULL. */
enum err gw_json_get_text(const json_t *object, const char *name, struct slice *out,
                          struct errbuf *eb) MUST_CHECK;
/* Reads a number. Absent or null: UINT64_MAX. Numbers are 0..INT64_MAX. */
enum err gw_json_get_u64(const json_t *object, const char *name, uint64_t *out,
                         struct errbuf *eb) MUST_CHECK;
/* Reads a boolean. Absent or null: false. */
enum err gw_json_get_bool(const json_t *object, const char *name, bool *out,
                          struct errbuf *eb) MUST_CHECK;
/* Parses "86400s" or "1.5s": seconds with at most six decimals. ERR_INVALID. */
enum err gw_json_parse_duration(struct slice text, uint64_t *out_us) MUST_CHECK;
/* Reads bytes from `name` (text) or `name`_b64, not both. Neither: ptr NULL; present and empty: ptr
 * not NULL, len 0. Decoded bytes are in the arena. */
enum err gw_json_get_bytes(const json_t *object, const char *name, struct arena *arena,
                           struct slice *out, struct errbuf *eb) MUST_CHECK;
/* Reads one element of a list of bytes called name: text, or, is_b64, base64 of it. Never ptr
 * NULL. */
enum err gw_json_list_bytes(const json_t *list, size_t index, const char *name, bool is_b64,
                            struct arena *arena, struct slice *out, struct errbuf *eb) MUST_CHECK;

#endif

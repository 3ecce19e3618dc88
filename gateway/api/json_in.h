/*
 * gateway/api/json_in.h - read JSON that strangers wrote.
 *
 * Does:     refuse bombs before parsing, parse strictly, get fields with their type; every error
 *           names the place or the field, never the content.
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

/* A row's longest list of cells, each {"value":..,"timestamp":..}, with room to spare. jansson
 * takes up to 80 bytes for two bytes of input, so the size of the text alone is no bound. */
#define GW_JSON_VALUES_MAX (6 * LIM_MUTATIONS_PER_ROW)

/* What a tree takes beside the text: for each value, by which an empty object in a list is two. */
#define GW_JSON_VALUE_BYTES 128

/* What a tree takes of a share: given back with it. */
struct gw_json_charge {
    struct base_memory_share *share; /* NULL: it is not counted */
    size_t bytes;
};

/* An object, alone in text. charge->bytes are counted before the tree is made, if it is; charge
 * NULL: for a tree that is gone in a moment. ERR_NO_MEMORY also when the share is used up. */
enum err gw_json_parse(struct slice text, struct gw_json_charge *charge, json_t **out,
                       struct errbuf *eb) MUST_CHECK;
/* NULL: nothing. */
void gw_json_free(json_t *tree, struct gw_json_charge *charge);

/* The tree as text without blanks, appended; flags: JSON_SORT_KEYS or 0. */
enum err gw_json_dump(const json_t *tree, size_t flags, struct buf *out) MUST_CHECK;

/* Refuse members whose name is not in the NULL-terminated list. */
enum err gw_json_only(const json_t *object, const char *const *names, struct errbuf *eb) MUST_CHECK;

/* For base_fail_at: the path to a member, "union[1].intersection[0]", which is cut when it is too
 * long. index SIZE_MAX: the member is no list. */
#define GW_JSON_PATH_BYTES 200
void gw_json_path_add(char path[GW_JSON_PATH_BYTES], const char *member, size_t index);

/* Slices point into the tree. */
struct slice gw_json_string(const json_t *string);
struct slice gw_json_member_name(void *iterator);

/* Absent or null: ptr NULL. */
enum err gw_json_get_text(const json_t *object, const char *name, struct slice *out,
                          struct errbuf *eb) MUST_CHECK;
/* Absent or null: UINT64_MAX. Numbers are 0..INT64_MAX. */
enum err gw_json_get_u64(const json_t *object, const char *name, uint64_t *out,
                         struct errbuf *eb) MUST_CHECK;
/* Absent or null: false. */
enum err gw_json_get_bool(const json_t *object, const char *name, bool *out,
                          struct errbuf *eb) MUST_CHECK;
/* "86400s" or "1.5s": seconds with at most six decimals. ERR_INVALID. */
enum err gw_json_parse_duration(struct slice text, uint64_t *out_us) MUST_CHECK;
/* Bytes given as `name` (text) or `name`_b64, not both. Neither: ptr NULL; present and empty: ptr
 * not NULL, len 0. Decoded bytes live in the arena. */
enum err gw_json_get_bytes(const json_t *object, const char *name, struct arena *arena,
                           struct slice *out, struct errbuf *eb) MUST_CHECK;
/* One of a list of bytes called name: text, or, is_b64, base64 of it. Never ptr NULL. */
enum err gw_json_list_bytes(const json_t *list, size_t index, const char *name, bool is_b64,
                            struct arena *arena, struct slice *out, struct errbuf *eb) MUST_CHECK;

#endif

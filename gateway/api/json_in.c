/*
 * gateway/api/json_in.c - parses untrusted JSON.
 *
 * Mechanism: a scan over the raw text counts nesting and values without allocating; only text that
 * passes the scan reaches jansson. jansson's own error text quotes the input and is never used: its
 * code and position are turned into sentences of ours.
 */
#include "gateway/api/json_in.h"

#include <stdio.h>

#include "base/text.h"

#include "base/banned.h"

/* Returns the index after the string that starts at text[at] == '"', or the end. */
static size_t skip_string(struct slice text, size_t at)
{
    for (at++; at < text.len; at++) {
        if (text.ptr[at] == '\\')
            at++;
        else if (text.ptr[at] == '"')
            return at + 1;
    }
    return text.len;
}

/* Counts values by the characters between or before them: '[', '{', ',' and ':'. */
static enum err check_cost(struct slice text, size_t *out_values, struct errbuf *eb)
{
    size_t depth = 0;
    size_t values = 0;
    for (size_t at = 0; at < text.len;) {
        uint8_t c = text.ptr[at];
        if (c == '"') {
            at = skip_string(text, at);
            continue;
        }
        at++;
        if (c == '[' || c == '{')
            depth++;
        else if ((c == ']' || c == '}') && depth > 0)
            depth--;
        if (c == '[' || c == '{' || c == ',' || c == ':')
            values++;
        if (depth > LIM_JSON_DEPTH)
            return base_fail(eb, ERR_INVALID, "JSON is nested deeper than %d levels",
                             LIM_JSON_DEPTH);
        if (values > GW_JSON_VALUES_MAX)
            return base_fail(eb, ERR_TOO_BIG, "JSON has more than %d values", GW_JSON_VALUES_MAX);
    }
    *out_values = values;
    return ERR_OK;
}

static const char *syntax_text(enum json_error_code code)
{
    switch (code) {
    case json_error_invalid_utf8:
        return "text that is not UTF-8";
    case json_error_premature_end_of_input:
        return "the text ends too early";
    case json_error_end_of_input_expected:
        return "something follows the end of the value";
    case json_error_duplicate_key:
        return "a member name stands twice in one object";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "\\u0000 is not allowed in a member name";
    case json_error_numeric_overflow:
        return "a number is out of range";
    case json_error_unknown:
    case json_error_out_of_memory:
    case json_error_stack_overflow:
    case json_error_cannot_open_file:
    case json_error_invalid_argument:
    case json_error_invalid_syntax:
    case json_error_invalid_format:
    case json_error_wrong_type:
    case json_error_null_value:
    case json_error_item_not_found:
    case json_error_index_out_of_range:
    default:
        return "syntax error";
    }
}

void gw_json_free(json_t *tree, struct gw_json_charge *charge)
{
    if (tree == NULL)
        return;
    json_decref(tree);
    base_memory_give(charge->share, charge->bytes);
    charge->bytes = 0;
}

static enum err parse(struct slice text, json_t **out, struct errbuf *eb)
{
    json_error_t error;
    json_t *tree = json_loadb((const char *)text.ptr, text.len,
                              JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (tree == NULL && json_error_code(&error) == json_error_out_of_memory)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory while reading JSON");
    if (tree == NULL)
        return base_fail(eb, ERR_INVALID, "not valid JSON at line %d, column %d: %s", error.line,
                         error.column, syntax_text(json_error_code(&error)));
    if (!json_is_object(tree)) {
        json_decref(tree);
        return base_fail(eb, ERR_INVALID, "a JSON object is expected");
    }
    *out = tree;
    return ERR_OK;
}

enum err gw_json_parse(struct slice text, struct gw_json_charge *charge, json_t **out,
                       struct errbuf *eb)
{
    size_t values = 0;
    if (text.len == 0)
        return base_fail(eb, ERR_INVALID, "the body is empty; a JSON object is expected");
    /* jansson ignores one after a number */
    if (memchr(text.ptr, '\0', text.len) != NULL)
        return base_fail(eb, ERR_INVALID, "not valid JSON: there is a zero byte in it");
    enum err e = check_cost(text, &values, eb);
    if (e != ERR_OK)
        return e;
    size_t bytes = base_memory_counted(text.len + values * GW_JSON_VALUE_BYTES);
    if (charge == NULL)
        return parse(text, out, eb);
    if (!base_memory_take(charge->share, bytes))
        return base_fail(eb, ERR_NO_MEMORY, "no memory for JSON of %zu values", values);
    e = parse(text, out, eb);
    charge->bytes = e == ERR_OK ? bytes : 0;
    if (e != ERR_OK)
        base_memory_give(charge->share, bytes);
    return e;
}

static int dump_piece(const char *bytes, size_t len, void *to)
{
    return base_buf_append(to, base_slice(bytes, len)) == ERR_OK ? 0 : -1;
}

enum err gw_json_dump(const json_t *tree, size_t flags, struct buf *out)
{
    if (json_dump_callback(tree, dump_piece, out, JSON_COMPACT | flags) == 0)
        return ERR_OK;
    return out->error != ERR_OK ? out->error : ERR_NO_MEMORY;
}

struct slice gw_json_string(const json_t *string)
{
    return base_slice(json_string_value(string), json_string_length(string));
}

struct slice gw_json_member_name(void *iterator)
{
    return base_slice(json_object_iter_key(iterator), json_object_iter_key_len(iterator));
}

static bool is_listed(struct slice name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (base_slice_is(name, *names))
            return true;
    }
    return false;
}

void gw_json_path_add(char path[GW_JSON_PATH_BYTES], const char *member, size_t index)
{
    size_t len = strlen(path);
    const char *gap = len > 0 ? "." : "";
    /* A path that is cut still shows its start. */
    if (index == SIZE_MAX)
        (void)snprintf(path + len, GW_JSON_PATH_BYTES - len, "%s%s", gap, member);
    else
        (void)snprintf(path + len, GW_JSON_PATH_BYTES - len, "%s%s[%zu]", gap, member, index);
}

enum err gw_json_only(const json_t *object, const char *const *names, struct errbuf *eb)
{
    /* jansson's iterators require a mutable object but only read */
    json_t *o = (json_t *)(uintptr_t)object;
    for (void *i = json_object_iter(o); i != NULL; i = json_object_iter_next(o, i)) {
        struct slice name = gw_json_member_name(i);
        if (!is_listed(name, names))
            return base_fail(eb, ERR_INVALID, "unknown field \"%.*s\"",
                             (int)(name.len < 48 ? name.len : 48), (const char *)name.ptr);
    }
    return ERR_OK;
}

/* Returns the member, NULL when absent or null. */
static const json_t *member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return value == NULL || json_is_null(value) ? NULL : value;
}

enum err gw_json_get_text(const json_t *object, const char *name, struct slice *out,
                          struct errbuf *eb)
{
    const json_t *value = member(object, name);
    if (value == NULL) {
        *out = SLICE_EMPTY;
        return ERR_OK;
    }
    if (!json_is_string(value))
        return base_fail(eb, ERR_INVALID, "\"%s\" must be text", name);
    *out = gw_json_string(value);
    return ERR_OK;
}

/* Reads a whole number. 5.0 is 5: JSON has one kind of number. Above 2^53 a real number is no
 * longer exact. */
static bool take_whole(const json_t *value, uint64_t *out)
{
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *out = (uint64_t)json_integer_value(value);
        return true;
    }
    double real = json_real_value(value); /* 0 if it is not a real number */
    if (!json_is_real(value) || !(real >= 0 && real <= (double)(1ULL << 53)))
        return false;
    *out = (uint64_t)real;
    return (double)*out == real;
}

enum err gw_json_get_u64(const json_t *object, const char *name, uint64_t *out, struct errbuf *eb)
{
    const json_t *value = member(object, name);
    if (value == NULL) {
        *out = UINT64_MAX;
        return ERR_OK;
    }
    if (!take_whole(value, out))
        return base_fail(eb, ERR_INVALID, "\"%s\" must be a whole number from 0 on", name);
    return ERR_OK;
}

enum err gw_json_get_bool(const json_t *object, const char *name, bool *out, struct errbuf *eb)
{
    const json_t *value = member(object, name);
    if (value != NULL && !json_is_boolean(value))
        return base_fail(eb, ERR_INVALID, "\"%s\" must be true or false", name);
    *out = value != NULL && json_is_true(value);
    return ERR_OK;
}

static enum err decode_base64(struct slice text, const char *name, struct arena *arena,
                              struct slice *out, struct errbuf *eb)
{
    struct buf bytes;
    base_buf_init(&bytes, text.len); /* decoded bytes are always fewer */
    enum err e = base_base64_decode(text, &bytes);
    if (e == ERR_INVALID) {
        e = base_fail(eb, ERR_INVALID, "\"%s\" is not base64 (standard alphabet, padded)", name);
    } else if (e == ERR_OK) {
        *out = base_arena_copy(arena, base_buf_slice(&bytes));
        if (out->ptr == NULL && out->len > 0)
            e = base_fail(eb, ERR_NO_MEMORY, "out of memory while decoding \"%s\"", name);
        else if (out->len == 0)
            *out = base_slice("", 0);
    }
    base_buf_fini(&bytes);
    return e;
}

enum err gw_json_get_bytes(const json_t *object, const char *name, struct arena *arena,
                           struct slice *out, struct errbuf *eb)
{
    char b64_name[64];
    (void)snprintf(b64_name, sizeof b64_name, "%s_b64", name); /* names are short literals */
    struct slice text;
    struct slice b64;
    enum err e = gw_json_get_text(object, name, &text, eb);
    if (e == ERR_OK)
        e = gw_json_get_text(object, b64_name, &b64, eb);
    if (e != ERR_OK)
        return e;
    if (text.ptr != NULL && b64.ptr != NULL)
        return base_fail(eb, ERR_INVALID, "give \"%s\" or \"%s\", not both", name, b64_name);
    if (b64.ptr != NULL)
        return decode_base64(b64, b64_name, arena, out, eb);
    *out = text;
    return ERR_OK;
}

enum err gw_json_list_bytes(const json_t *list, size_t index, const char *name, bool is_b64,
                            struct arena *arena, struct slice *out, struct errbuf *eb)
{
    const json_t *element = json_array_get(list, index);
    if (!json_is_string(element))
        return base_fail(eb, ERR_INVALID, "\"%s\" must be a list of texts", name);
    *out = gw_json_string(element);
    if (!is_b64)
        return ERR_OK;
    char place[64];
    (void)snprintf(place, sizeof place, "%s[%zu]", name, index); /* names are short literals */
    return decode_base64(*out, place, arena, out, eb);
}

/* --- durations -------------------------------------------------------------------------------- */

#define US_PER_S       1000000U
#define DURATION_S_MAX (UINT64_MAX / US_PER_S / 4) /* anything longer is a mistake */

enum err gw_json_parse_duration(struct slice text, uint64_t *out_us)
{
    if (text.len < 2 || text.ptr[text.len - 1] != 's')
        return ERR_INVALID;
    text.len--;
    const uint8_t *dot = memchr(text.ptr, '.', text.len);
    size_t whole_len = dot == NULL ? text.len : (size_t)(dot - text.ptr);
    uint64_t whole = 0;
    uint64_t fraction = 0;
    enum err e = base_parse_u64(base_slice(text.ptr, whole_len), &whole);
    if (e != ERR_OK || whole > DURATION_S_MAX)
        return ERR_INVALID;
    size_t decimals = dot == NULL ? 0 : text.len - whole_len - 1;
    if (decimals > 6 || (dot != NULL && decimals == 0))
        return ERR_INVALID;
    for (size_t i = 0; i < 6; i++) {
        uint8_t c = i < decimals ? dot[1 + i] : '0';
        if (c < '0' || c > '9')
            return ERR_INVALID;
        fraction = fraction * 10 + (uint64_t)(c - '0');
    }
    *out_us = whole * US_PER_S + fraction;
    return ERR_OK;
}

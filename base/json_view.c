/*
 * base/json_view.c - one pass to check, with a stack of open containers; then skips from value to
 * value.
 *
 *   after               comes
 *   { or ,  in {        "name":value
 *   [ or ,  in [        value
 *   a value             , or the end of the innermost container
 */
#include "base/json_view.h"

#include "base/text.h"

#include "base/banned.h"

#define LITERAL_BYTES 40
#define REPLACEMENT   0xfffdU

static bool take(struct slice *in, char c)
{
    if (in->len == 0 || in->ptr[0] != (uint8_t)c)
        return false;
    *in = base_slice_skip(*in, 1);
    return true;
}

/* --- strings ---------------------------------------------------------------------------------- */

static bool take_unit(struct slice *in, uint32_t *out)
{
    uint32_t unit = 0;
    if (in->len < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        uint8_t c = in->ptr[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return false;
        unit = unit << 4 | digit;
    }
    *in = base_slice_skip(*in, 4);
    *out = unit;
    return true;
}

/* Reads the digits after "\u". */
static bool take_code(struct slice *in, uint32_t *out)
{
    uint32_t code, low;
    if (!take_unit(in, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00 && take(in, '\\')) {
        if (!take(in, 'u') || !take_unit(in, &low))
            return false;
        code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
                                             : REPLACEMENT;
    }
    if (code < ' ' || (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code < 0xe000))
        code = REPLACEMENT;
    *out = code;
    return true;
}

static bool take_escape(struct slice *in, uint32_t *out)
{
    if (take(in, 'u'))
        return take_code(in, out);
    if (in->len == 0 || in->ptr[0] == '\0' || strchr("\"\\/bfnrt", in->ptr[0]) == NULL)
        return false;
    uint8_t c = in->ptr[0];
    *in = base_slice_skip(*in, 1);
    *out = c == '"' || c == '\\' || c == '/' ? c : ' ';
    return true;
}

/* Appends a character. Errors latch in out. */
static void put_utf8(struct buf *out, uint32_t code)
{
    if (code < 0x80) {
        (void)base_buf_append_byte(out, (uint8_t)code);
        return;
    }
    size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t MARKS[] = {0, 0xc0, 0xe0, 0xf0};
    (void)base_buf_append_byte(out, (uint8_t)(MARKS[more] | code >> 6 * more));
    while (more-- > 0)
        (void)base_buf_append_byte(out, (uint8_t)(0x80 | (code >> 6 * more & 0x3f)));
}

/* Reads a string. out NULL: its text is discarded. */
static bool take_string(struct slice *in, struct buf *out)
{
    if (!take(in, '"'))
        return false;
    while (in->len > 0) {
        uint8_t c = in->ptr[0];
        uint32_t code = c;
        *in = base_slice_skip(*in, 1);
        if (c == '"')
            return true;
        if (c < ' ' || (c == '\\' && !take_escape(in, &code)))
            return false;
        if (out != NULL && c == '\\')
            put_utf8(out, code);
        else if (out != NULL)
            (void)base_buf_append_byte(out, c); /* a byte of UTF-8; errors latch */
    }
    return false;
}

/* --- checking --------------------------------------------------------------------------------- */

struct check {
    struct slice in;
    char closers[BASE_JSON_DEPTH];
    size_t depth;
};

/* Reads a number, true, false or null: a literal that is none of them has no other meaning here. */
static bool take_literal(struct slice *in)
{
    size_t len = 0;
    while (len < in->len && len < LITERAL_BYTES && in->ptr[len] != '\0' &&
           strchr("+-.0123456789Eabcdefghijklmnopqrstuvwxyz", in->ptr[len]) != NULL)
        len++;
    *in = base_slice_skip(*in, len);
    return len > 0;
}

static bool begin_element(struct check *c)
{
    return c->closers[c->depth - 1] == ']' || (take_string(&c->in, NULL) && take(&c->in, ':'));
}

/* Starts a value. *out_is_whole: the value is complete. */
static bool begin_value(struct check *c, bool *out_is_whole)
{
    bool is_object = take(&c->in, '{');
    *out_is_whole = true;
    if (!is_object && !take(&c->in, '['))
        return c->in.len > 0 && c->in.ptr[0] == '"' ? take_string(&c->in, NULL)
                                                    : take_literal(&c->in);
    if (c->depth == BASE_JSON_DEPTH)
        return false;
    c->closers[c->depth++] = is_object ? '}' : ']';
    if (take(&c->in, c->closers[c->depth - 1])) {
        c->depth--;
        return true;
    }
    *out_is_whole = false;
    return begin_element(c);
}

/* Continues after a value: the next value has started, or all containers are closed. */
static bool end_value(struct check *c)
{
    while (c->depth > 0) {
        if (take(&c->in, ','))
            return begin_element(c);
        if (!take(&c->in, c->closers[c->depth - 1]))
            return false;
        c->depth--;
    }
    return true;
}

enum err base_json_check(struct slice text)
{
    struct check c = {.in = text};
    bool good = base_utf8_is_valid(text);
    bool is_whole = false;
    do {
        good = good && begin_value(&c, &is_whole);
        if (good && is_whole)
            good = end_value(&c);
    } while (good && c.depth > 0);
    return good && c.in.len == 0 ? ERR_OK : ERR_INVALID;
}

/* --- finding ---------------------------------------------------------------------------------- */

enum base_json_kind base_json_kind(struct slice value)
{
    if (value.len == 0)
        return BASE_JSON_NONE;
    switch (value.ptr[0]) {
    case '{':
        return BASE_JSON_OBJECT;
    case '[':
        return BASE_JSON_ARRAY;
    case '"':
        return BASE_JSON_STRING;
    case 'n':
        return BASE_JSON_NULL;
    case 't':
    case 'f':
        return BASE_JSON_BOOL;
    default:
        return BASE_JSON_NUMBER;
    }
}

/* Returns the value at the start of in, and advances in past it. */
static struct slice take_value(struct slice *in)
{
    struct slice value = *in;
    size_t depth = 0;
    do {
        if (in->ptr[0] == '"') {
            if (!take_string(in, NULL))
                break;
        } else if (take(in, '{') || take(in, '[')) {
            depth++;
        } else if (depth > 0 && (take(in, '}') || take(in, ']'))) {
            depth--;
        } else if (!take(in, ',') && !take(in, ':') && !take_literal(in)) {
            break;
        }
    } while (depth > 0 && in->len > 0);
    value.len = (size_t)(in->ptr - value.ptr);
    return value;
}

static struct slice member(struct slice object, struct slice name)
{
    if (base_json_kind(object) != BASE_JSON_OBJECT)
        return SLICE_EMPTY;
    struct slice rest = base_slice_skip(object, 1);
    while (rest.len > 0 && rest.ptr[0] == '"') {
        struct slice key = take_value(&rest);
        if (!take(&rest, ':') || rest.len == 0)
            break;
        struct slice value = take_value(&rest);
        if (base_slice_equal(base_slice(key.ptr + 1, key.len - 2), name))
            return value;
        if (!take(&rest, ','))
            break;
    }
    return SLICE_EMPTY;
}

struct slice base_json_at(struct slice object, const char *path)
{
    struct slice at = object;
    for (;;) {
        size_t len = strcspn(path, ".");
        at = member(at, base_slice(path, len));
        if (path[len] == '\0')
            return at;
        path += len + 1;
    }
}

bool base_json_next(struct slice *rest, struct slice *out)
{
    bool is_open = take(rest, '[') || take(rest, ',');
    if (!is_open || rest->len == 0 || rest->ptr[0] == ']')
        return false;
    *out = take_value(rest);
    return true;
}

enum err base_json_text(struct slice string, struct buf *out)
{
    size_t before = out->len;
    struct slice in = string;
    bool good = take_string(&in, out) && in.len == 0;
    enum err rc = out->error != ERR_OK ? out->error : good ? ERR_OK : ERR_INVALID;
    if (rc != ERR_OK)
        base_buf_truncate(out, before);
    return rc;
}

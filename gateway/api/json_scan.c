/*
 * gateway/api/json_scan.c - reads JSON of a known shape straight from its text, without a tree.
 *
 * Mechanism: most strings are printable ASCII without escapes. One memchr finds the closing quote,
 * one check of the bytes between proves that they are plain, and the string is a slice of the text.
 * All others are walked: without an escape they are still slices, with one they are decoded into
 * the arena.
 */
#include "gateway/api/json_scan.h"

#include "base/text.h"
#include "gateway/api/json_out.h"

#include "base/banned.h"

void gw_scan_init(struct gw_scan *s, struct slice text, struct arena *arena)
{
    *s = (struct gw_scan){.at = text.ptr, .end = text.ptr + text.len, .arena = arena};
}

uint8_t gw_scan_peek(struct gw_scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
        s->at++;
    return s->at < s->end ? *s->at : 0;
}

bool gw_scan_take(struct gw_scan *s, uint8_t byte)
{
    if (gw_scan_peek(s) != byte || s->at == s->end)
        return false;
    s->at++;
    return true;
}

bool gw_scan_null(struct gw_scan *s)
{
    if (gw_scan_peek(s) != 'n' || s->end - s->at < 4 || memcmp(s->at, "null", 4) != 0)
        return false;
    s->at += 4;
    return true;
}

bool gw_scan_is_end(struct gw_scan *s)
{
    return gw_scan_peek(s) == 0 && s->at == s->end;
}

enum err gw_scan_failed(const struct gw_scan *s, struct errbuf *eb)
{
    if (s->out_of_memory)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for the text");
    return base_fail(eb, ERR_INVALID, "not valid JSON");
}

bool gw_scan_next(struct gw_scan *s, uint8_t closing, bool *out_more)
{
    *out_more = gw_scan_take(s, ',');
    return *out_more || gw_scan_take(s, closing);
}

/* --- strings with escapes or beyond ASCII ------------------------------------------------------
 */

/* Returns the closing quote of a string whose first byte is at `at`; NULL when there is none. */
static const uint8_t *closing_quote(const uint8_t *at, const uint8_t *end, bool *out_escapes)
{
    *out_escapes = false;
    for (; at < end && *at >= 0x20; at++) {
        if (*at == '"')
            return at;
        if (*at == '\\') {
            *out_escapes = true;
            at++;
            if (at == end)
                break;
        }
    }
    return NULL;
}

/* Parses four hexadecimal digits at p; -1 when they are not. */
static int hex4(const uint8_t *p, const uint8_t *end)
{
    int value = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        uint8_t c = p[i];
        uint8_t low = c | 0x20;
        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (low >= 'a' && low <= 'f')
            value = value * 16 + (low - 'a' + 10);
        else
            return -1;
    }
    return value;
}

static uint8_t *put_utf8(uint8_t *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (uint8_t)c;
    } else if (c < 0x800) {
        *to++ = (uint8_t)(0xC0 | c >> 6);
        *to++ = (uint8_t)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *to++ = (uint8_t)(0xE0 | c >> 12);
        *to++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        *to++ = (uint8_t)(0x80 | (c & 0x3F));
    } else {
        *to++ = (uint8_t)(0xF0 | c >> 18);
        *to++ = (uint8_t)(0x80 | (c >> 12 & 0x3F));
        *to++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        *to++ = (uint8_t)(0x80 | (c & 0x3F));
    }
    return to;
}

/* Decodes \uXXXX, or a pair of them for characters above U+FFFF; *from is after the 'u'. */
static bool unicode_escape(const uint8_t **from, const uint8_t *end, uint8_t **to)
{
    int high = hex4(*from, end);
    if (high < 0 || (high >= 0xDC00 && high <= 0xDFFF))
        return false;
    *from += 4;
    if (high < 0xD800 || high > 0xDBFF) {
        *to = put_utf8(*to, (uint32_t)high);
        return true;
    }
    if (end - *from < 6 || (*from)[0] != '\\' || (*from)[1] != 'u')
        return false;
    int low = hex4(*from + 2, end);
    if (low < 0xDC00 || low > 0xDFFF)
        return false;
    *from += 6;
    *to = put_utf8(*to, 0x10000 + ((uint32_t)(high - 0xD800) << 10) + (uint32_t)(low - 0xDC00));
    return true;
}

/* Decodes an escape; *from is after the backslash. */
static bool escape(const uint8_t **from, const uint8_t *end, uint8_t **to)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char bytes[] = "\"\\/\b\f\n\r\t";
    uint8_t letter = *(*from)++;
    if (letter == 'u')
        return unicode_escape(from, end, to);
    const char *found = letter == 0 ? NULL : strchr(letters, letter);
    if (found == NULL)
        return false;
    *(*to)++ = (uint8_t)bytes[found - letters];
    return true;
}

/* Decodes raw, which is valid UTF-8 in which a byte follows every backslash. No escape grows by
 * decoding. */
static bool decode(struct gw_scan *s, struct slice raw, struct slice *out)
{
    uint8_t *bytes = base_arena_alloc(s->arena, raw.len);
    uint8_t *to = bytes;
    if (bytes == NULL) {
        s->out_of_memory = true;
        return false;
    }
    const uint8_t *end = raw.ptr + raw.len;
    for (const uint8_t *from = raw.ptr; from < end;) {
        uint8_t c = *from++;
        if (c != '\\')
            *to++ = c;
        else if (!escape(&from, end, &to))
            return false;
    }
    *out = base_slice(bytes, (size_t)(to - bytes));
    return true;
}

bool gw_scan_string(struct gw_scan *s, struct slice *out)
{
    if (!gw_scan_take(s, '"'))
        return false;
    bool escapes = false;
    const uint8_t *quote = memchr(s->at, '"', (size_t)(s->end - s->at));
    if (quote == NULL)
        return false;
    struct slice raw = base_slice(s->at, (size_t)(quote - s->at));
    if (gw_text_classify(raw) != GW_TEXT_PLAIN) {
        quote = closing_quote(s->at, s->end, &escapes);
        if (quote == NULL)
            return false;
        raw.len = (size_t)(quote - s->at);
        if (!base_utf8_is_valid(raw) || (escapes && !decode(s, raw, &raw)))
            return false;
    }
    s->at = quote + 1;
    *out = raw;
    return true;
}

bool gw_scan_integer(struct gw_scan *s, int64_t *out)
{
    (void)gw_scan_peek(s); /* skips white space */
    const uint8_t *at = s->at;
    while (at < s->end && ((*at >= '0' && *at <= '9') || *at == '-'))
        at++;
    struct slice text = base_slice(s->at, (size_t)(at - s->at));
    bool is_whole = at == s->end || (*at != '.' && (*at | 0x20) != 'e');
    *out = 0;
    if (!is_whole || (!base_slice_is(text, "-0") && base_parse_i64(text, out) != ERR_OK))
        return false;
    s->at = at;
    return true;
}

bool gw_scan_name(struct gw_scan *s, struct slice *out)
{
    return gw_scan_string(s, out) && (out->len == 0 || memchr(out->ptr, 0, out->len) == NULL) &&
           gw_scan_take(s, ':');
}

enum err gw_scan_base64(struct gw_scan *s, struct slice text, const char *name, struct slice *out,
                        struct errbuf *eb)
{
    struct buf bytes;
    base_buf_init(&bytes, text.len); /* decoded bytes are always fewer */
    enum err e = base_base64_decode(text, &bytes);
    if (e == ERR_OK) {
        *out = base_arena_copy(s->arena, base_buf_slice(&bytes));
        if (out->ptr == NULL && out->len > 0)
            e = ERR_NO_MEMORY;
        else if (out->len == 0)
            *out = base_slice("", 0);
    }
    base_buf_fini(&bytes);
    if (e == ERR_INVALID)
        return base_fail(eb, e, "\"%s\" is not base64 (standard alphabet, padded)", name);
    return e == ERR_OK ? ERR_OK : base_fail(eb, e, "out of memory while decoding \"%s\"", name);
}

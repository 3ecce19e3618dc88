/*
 * base/json_page.c - one pass over compact JSON, with a stack of what is open.
 *
 *   after               comes
 *   { or ,  in {        "name":value
 *   [ or ,  in [        value
 *   a value             , or what closes the innermost one
 */
#include "base/json_page.h"

#include "base/text.h"

#include "base/banned.h"

#define HEAD                                                                                       \
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"                            \
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "                  \
    "style-src 'unsafe-inline'\"><title>"
#define STYLE                                                                                      \
    "</title><style>body{font:15px sans-serif;margin:2em;max-width:70em}"                          \
    "table{border-collapse:collapse}th{text-align:left;vertical-align:top;font-weight:600}"        \
    "th,td{padding:.2em .8em .2em 0;border-bottom:1px solid #ddd;overflow-wrap:anywhere}"          \
    "ol{margin:0;padding-left:1.4em}</style></head><body><h1>"
#define TAIL          "</body></html>\n"
#define LITERAL_BYTES 40
#define REPLACEMENT   0xfffdU

struct page {
    struct slice in;
    struct buf *out;
    char closers[BASE_PAGE_DEPTH];
    size_t depth;
};

/* Errors latch in out. */
static void put(struct page *p, const char *markup)
{
    (void)base_buf_append_text(p->out, markup);
}

static void put_byte(struct page *p, uint8_t c)
{
    switch (c) {
    case '<':
        put(p, "&lt;");
        break;
    case '>':
        put(p, "&gt;");
        break;
    case '&':
        put(p, "&amp;");
        break;
    case '"':
        put(p, "&quot;");
        break;
    case '\'':
        put(p, "&#39;");
        break;
    default:
        (void)base_buf_append_byte(p->out, c);
    }
}

static bool take(struct page *p, char c)
{
    if (p->in.len == 0 || p->in.ptr[0] != (uint8_t)c)
        return false;
    p->in = base_slice_skip(p->in, 1);
    return true;
}

/* --- text ------------------------------------------------------------------------------------- */

static bool take_unit(struct page *p, uint32_t *out)
{
    uint32_t unit = 0;
    if (p->in.len < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        uint8_t c = p->in.ptr[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return false;
        unit = unit << 4 | digit;
    }
    p->in = base_slice_skip(p->in, 4);
    *out = unit;
    return true;
}

/* Behind "\u". */
static bool take_code(struct page *p)
{
    uint32_t code, low;
    if (!take_unit(p, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00 && take(p, '\\')) {
        if (!take(p, 'u') || !take_unit(p, &low))
            return false;
        code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
                                             : REPLACEMENT;
    }
    if (code < ' ' || (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code < 0xe000))
        code = REPLACEMENT;
    (void)base_buf_printf(p->out, "&#%u;", code); /* errors latch */
    return true;
}

static bool take_escape(struct page *p)
{
    if (take(p, 'u'))
        return take_code(p);
    if (p->in.len == 0 || strchr("\"\\/bfnrt", p->in.ptr[0]) == NULL || p->in.ptr[0] == '\0')
        return false;
    uint8_t c = p->in.ptr[0];
    p->in = base_slice_skip(p->in, 1);
    put_byte(p, c == '"' || c == '\\' || c == '/' ? c : ' ');
    return true;
}

static bool take_text(struct page *p)
{
    if (!take(p, '"'))
        return false;
    while (p->in.len > 0) {
        uint8_t c = p->in.ptr[0];
        p->in = base_slice_skip(p->in, 1);
        if (c == '"')
            return true;
        if (c < ' ' || (c == '\\' && !take_escape(p)))
            return false;
        if (c != '\\')
            put_byte(p, c);
    }
    return false;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Numbers, true, false, null: nothing in them can be markup. */
static bool take_literal(struct page *p)
{
    size_t len = 0;
    while (len < p->in.len && len < LITERAL_BYTES && p->in.ptr[len] != '\0' &&
           strchr("+-.0123456789Eabcdefghijklmnopqrstuvwxyz", p->in.ptr[len]) != NULL)
        len++;
    (void)base_buf_append(p->out, base_slice(p->in.ptr, len)); /* errors latch */
    p->in = base_slice_skip(p->in, len);
    return len > 0;
}

static bool begin_element(struct page *p)
{
    if (p->closers[p->depth - 1] == ']') {
        put(p, "<li>");
        return true;
    }
    put(p, "<tr><th>");
    if (!take_text(p) || !take(p, ':'))
        return false;
    put(p, "</th><td>");
    return true;
}

static void close_innermost(struct page *p)
{
    put(p, p->closers[--p->depth] == ']' ? "</ol>" : "</table>");
}

/* *out_is_whole: nothing of it is left to come. */
static bool begin_value(struct page *p, bool *out_is_whole)
{
    bool is_object = take(p, '{');
    *out_is_whole = true;
    if (!is_object && !take(p, '['))
        return p->in.len > 0 && p->in.ptr[0] == '"' ? take_text(p) : take_literal(p);
    if (p->depth == BASE_PAGE_DEPTH)
        return false;
    p->closers[p->depth++] = is_object ? '}' : ']';
    put(p, is_object ? "<table>" : "<ol>");
    if (take(p, p->closers[p->depth - 1])) {
        close_innermost(p);
        return true;
    }
    *out_is_whole = false;
    return begin_element(p);
}

/* Behind a value: the next one has begun, or all are closed. */
static bool end_value(struct page *p)
{
    while (p->depth > 0) {
        char closer = p->closers[p->depth - 1];
        put(p, closer == ']' ? "</li>" : "</td></tr>");
        if (take(p, ','))
            return begin_element(p);
        if (!take(p, closer))
            return false;
        close_innermost(p);
    }
    return true;
}

enum err base_json_page(struct slice line, const char *title, struct buf *out)
{
    size_t before = out->len;
    struct page p = {.in = line, .out = out};
    bool good = base_utf8_is_valid(line);
    bool is_whole = false;
    put(&p, HEAD);
    for (const char *c = title; *c != '\0'; c++)
        put_byte(&p, (uint8_t)*c);
    put(&p, STYLE);
    for (const char *c = title; *c != '\0'; c++)
        put_byte(&p, (uint8_t)*c);
    put(&p, "</h1>");
    do {
        good = good && begin_value(&p, &is_whole);
        if (good && is_whole)
            good = end_value(&p);
    } while (good && p.depth > 0);
    put(&p, TAIL);
    enum err rc = out->error;
    if (rc == ERR_OK && (!good || p.in.len > 0))
        rc = ERR_INVALID;
    if (rc != ERR_OK)
        base_buf_truncate(out, before);
    return rc;
}

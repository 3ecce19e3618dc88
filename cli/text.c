/*
 * cli/text.c - see text.h.
 *
 * Escaping processes UTF-8 character by character. A character is kept when the C library considers
 * it printable and it is not an invisible mark that reorders or hides text on a screen; anything
 * else is escaped byte by byte. ASCII, which is nearly all text, has a fast path.
 */
#define _GNU_SOURCE /* wcwidth */

#include "cli/text.h"

#include <locale.h>
#include <stdio.h>
#include <wchar.h>
#include <wctype.h>

#include "base/text.h"
#include "cli/bounds.h"

#include "base/banned.h"

void cli_text_init(void)
{
    /* Without a UTF-8 locale all but ASCII is escaped, which is safe. */
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL)
        (void)setlocale(LC_CTYPE, ""); /* nothing else to try */
}

/* Returns whether a character is invisible and changes how text appears. */
static bool is_deceptive(wchar_t c)
{
    return c == 0x00ad || c == 0x061c || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x2069) || c == 0xfeff ||
           (c >= 0xe0000 && c <= 0xe007f);
}

/* Returns the length of the printable character at the start of s; 0 when it must be escaped. */
static size_t printable_len(struct slice s, wchar_t *out)
{
    if (s.ptr[0] < 0x80) {
        *out = s.ptr[0];
        return s.ptr[0] >= 0x20 && s.ptr[0] != 0x7f ? 1 : 0;
    }
    mbstate_t state;
    memset(&state, 0, sizeof state);
    size_t n = mbrtowc(out, (const char *)s.ptr, s.len, &state);
    if (n == 0 || n > s.len || !iswprint((wint_t)*out) || is_deceptive(*out))
        return 0;
    return n;
}

static void escape_byte(struct buf *out, uint8_t byte)
{
    static const char hex[] = "0123456789abcdef";
    switch (byte) {
    case '\n':
        base_buf_append_text(out, "\\n");
        break;
    case '\r':
        base_buf_append_text(out, "\\r");
        break;
    case '\t':
        base_buf_append_text(out, "\\t");
        break;
    default:
        base_buf_append_text(out, "\\x");
        base_buf_append_byte(out, (uint8_t)hex[byte >> 4]);
        base_buf_append_byte(out, (uint8_t)hex[byte & 15]);
    }
}

void cli_text_escape(struct buf *out, struct slice in, unsigned how)
{
    size_t i = 0;
    while (i < in.len) {
        struct slice rest = base_slice_skip(in, i);
        wchar_t c = 0;
        size_t n = printable_len(rest, &c);
        if (n == 1 && c == '\\' && (how & CLI_ESCAPE_BACKSLASH) != 0) {
            base_buf_append_text(out, "\\\\");
        } else if (n == 0 || (c == ' ' && (how & CLI_ESCAPE_SPACE) != 0)) {
            escape_byte(out, in.ptr[i]);
            n = 1;
        } else {
            base_buf_append(out, base_slice(rest.ptr, n));
        }
        i += n;
    }
}

void cli_text_json_safe(struct buf *out, struct slice json)
{
    size_t i = 0;
    while (i < json.len) {
        struct slice rest = base_slice_skip(json, i);
        wchar_t c = 0;
        size_t n = printable_len(rest, &c);
        if (n == 0 && rest.ptr[0] >= 0x80) {
            mbstate_t state;
            memset(&state, 0, sizeof state);
            size_t whole = mbrtowc(&c, (const char *)rest.ptr, rest.len, &state);
            if (whole == 0 || whole > rest.len) {
                base_buf_append_text(out, "\\ufffd"); /* not valid JSON */
                n = 1;
            } else if (c > 0xffff) {
                uint32_t v = (uint32_t)c - 0x10000;
                base_buf_printf(out, "\\u%04x\\u%04x", 0xd800 + (v >> 10), 0xdc00 + (v & 0x3ff));
                n = whole;
            } else {
                base_buf_printf(out, "\\u%04x", (unsigned)c);
                n = whole;
            }
        } else if (n == 0) {
            /* Line breaks and tabs between tokens are kept; JSON allows no other raw
             * controls but '\r', which is dropped. */
            bool layout = rest.ptr[0] == '\n' || rest.ptr[0] == '\t';
            if (layout)
                base_buf_append_byte(out, rest.ptr[0]);
            else if (rest.ptr[0] != '\r')
                base_buf_printf(out, "\\u%04x", rest.ptr[0]);
            n = 1;
        } else {
            base_buf_append(out, base_slice(rest.ptr, n));
        }
        i += n;
    }
}

/* Returns the width of the character at the start of escaped text; *out_len: its bytes. */
static size_t step_columns(struct slice rest, size_t *out_len)
{
    if (rest.ptr[0] < 0x80) {
        *out_len = 1;
        return 1;
    }
    wchar_t c = 0;
    size_t n = printable_len(rest, &c);
    if (n == 0) {
        *out_len = 1;
        return 1;
    }
    *out_len = n;
    int width = wcwidth(c);
    return width < 0 ? 1 : (size_t)width;
}

size_t cli_text_columns(struct slice escaped)
{
    size_t columns = 0;
    for (size_t i = 0, n = 0; i < escaped.len; i += n)
        columns += step_columns(base_slice_skip(escaped, i), &n);
    return columns;
}

struct slice cli_text_cut(struct slice escaped, size_t columns)
{
    size_t used = 0;
    size_t i = 0;
    while (i < escaped.len) {
        size_t n = 0;
        size_t width = step_columns(base_slice_skip(escaped, i), &n);
        if (used + width > columns)
            break;
        used += width;
        i += n;
    }
    return base_slice(escaped.ptr, i);
}

void cli_text_put_bytes(struct buf *out, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        base_buf_printf(out, "%u B", (unsigned)bytes);
        return;
    }
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    base_buf_printf(out, "%.1f %s", value, units[unit]);
}

void cli_text_put_count(struct buf *out, uint64_t count)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            base_buf_append_byte(out, ',');
        base_buf_append_byte(out, (uint8_t)digits[i]);
    }
}

bool cli_text_parse_size(const char *text, uint64_t *out_bytes)
{
    static const uint64_t factors[] = {KIB, MIB, GIB, 1024 * GIB, KIB, MIB, GIB, 1024 * GIB};
    return base_parse_with_unit(base_slice_text(text), "KMGTkmgt", factors, out_bytes) == ERR_OK;
}

bool cli_text_parse_seconds(const char *text, uint64_t *out_seconds)
{
    return base_parse_seconds(base_slice_text(text), out_seconds) == ERR_OK;
}

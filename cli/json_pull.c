/*
 * cli/json_pull.c - see json_pull.h.
 *
 * Texts without a backslash, which are nearly all, are found by memchr and not copied. The holder
 * needs at most twice the length of the line: cli_pull_start reserves that, so it never moves.
 */
#include "cli/json_pull.h"

#include "base/text.h"

#include "base/banned.h"

bool cli_pull_start(struct cli_pull *p, struct slice line, struct buf *holder)
{
    *p = (struct cli_pull){line.ptr, line.ptr + line.len};
    base_buf_truncate(holder, 0);
    return base_buf_reserve(holder, 2 * line.len + 1) == ERR_OK;
}

static void skip_space(struct cli_pull *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r' || *p->at == '\n'))
        p->at++;
}

bool cli_pull_take(struct cli_pull *p, char c)
{
    skip_space(p);
    if (p->at == p->end || *p->at != (uint8_t)c)
        return false;
    p->at++;
    return true;
}

bool cli_pull_next(struct cli_pull *p, char close, bool *out_more)
{
    *out_more = cli_pull_take(p, ',');
    return *out_more || cli_pull_take(p, close);
}

bool cli_pull_ended(struct cli_pull *p)
{
    skip_space(p);
    return p->at == p->end;
}

bool cli_pull_number(struct cli_pull *p)
{
    skip_space(p);
    const uint8_t *from = p->at;
    while (p->at < p->end && (*p->at == '-' || *p->at == '+' || *p->at == '.' || *p->at == 'e' ||
                              *p->at == 'E' || (*p->at >= '0' && *p->at <= '9')))
        p->at++;
    return p->at > from;
}

/* --- escapes ----------------------------------------------------------------------------------
 */

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads four hexadecimal digits at p->at. */
static bool take_unit(struct cli_pull *p, uint32_t *out)
{
    *out = 0;
    if (p->end - p->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(*p->at++);
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

static bool take_code_point(struct cli_pull *p, uint32_t *out)
{
    uint32_t low = 0;
    if (!take_unit(p, out))
        return false;
    if (*out < 0xD800 || *out > 0xDFFF)
        return true;
    if (*out > 0xDBFF || p->end - p->at < 2 || p->at[0] != '\\' || p->at[1] != 'u')
        return false;
    p->at += 2;
    if (!take_unit(p, &low) || low < 0xDC00 || low > 0xDFFF)
        return false;
    *out = 0x10000 + ((*out - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

static void put_utf8(struct buf *out, uint32_t c)
{
    if (c < 0x80) {
        base_buf_append_byte(out, (uint8_t)c);
        return;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0, 0xC0, 0xE0, 0xF0};
    base_buf_append_byte(out, (uint8_t)(lead[more] | c >> (6 * more)));
    while (more-- > 0)
        base_buf_append_byte(out, (uint8_t)(0x80 | (c >> (6 * more) & 0x3F)));
}

/* Decodes the escape after a backslash. */
static bool take_escape(struct cli_pull *p, struct buf *out)
{
    static const char names[] = "\"\\/bfnrt";
    static const char bytes[] = "\"\\/\b\f\n\r\t";
    if (p->at == p->end)
        return false;
    uint8_t c = *p->at++;
    uint32_t point = 0;
    if (c == 'u') {
        if (!take_code_point(p, &point))
            return false;
        put_utf8(out, point);
        return true;
    }
    const char *found = c == '\0' ? NULL : strchr(names, c);
    if (found == NULL)
        return false;
    base_buf_append_byte(out, (uint8_t)bytes[found - names]);
    return true;
}

/* Decodes raw, the bytes between the quotes. */
static bool undo_escapes(struct slice raw, struct buf *holder, struct slice *out)
{
    struct cli_pull in = {raw.ptr, raw.ptr + raw.len};
    size_t begin = holder->len;
    while (in.at < in.end) {
        const uint8_t *escape = memchr(in.at, '\\', (size_t)(in.end - in.at));
        const uint8_t *stop = escape != NULL ? escape : in.end;
        base_buf_append(holder, base_slice(in.at, (size_t)(stop - in.at)));
        in.at = stop;
        if (escape == NULL)
            break;
        in.at++;
        if (!take_escape(&in, holder))
            return false;
    }
    *out = base_slice(holder->ptr + begin, holder->len - begin);
    return holder->error == ERR_OK;
}

/* --- texts ------------------------------------------------------------------------------------
 */

/* Finds the quote that ends the text; *out_escaped: the text contains a backslash. */
static const uint8_t *find_quote(const struct cli_pull *p, bool *out_escaped)
{
    const uint8_t *quote = memchr(p->at, '"', (size_t)(p->end - p->at));
    *out_escaped = quote != NULL && memchr(p->at, '\\', (size_t)(quote - p->at)) != NULL;
    if (!*out_escaped)
        return quote;
    for (const uint8_t *at = p->at; at < p->end; at++) {
        if (*at == '"')
            return at;
        at += *at == '\\';
    }
    return NULL;
}

static bool has_controls(struct slice s)
{
    unsigned bad = 0;
    for (size_t i = 0; i < s.len; i++)
        bad |= s.ptr[i] < 0x20;
    return bad != 0;
}

bool cli_pull_text(struct cli_pull *p, struct buf *holder, struct slice *out)
{
    bool escaped = false;
    if (!cli_pull_take(p, '"'))
        return false;
    const uint8_t *quote = find_quote(p, &escaped);
    if (quote == NULL)
        return false;
    struct slice raw = base_slice(p->at, (size_t)(quote - p->at));
    p->at = quote + 1;
    if (has_controls(raw) || !base_utf8_is_valid(raw))
        return false;
    *out = raw;
    return !escaped || undo_escapes(raw, holder, out);
}

bool cli_pull_base64(struct cli_pull *p, struct buf *holder, struct slice *out)
{
    struct slice text;
    if (!cli_pull_text(p, holder, &text))
        return false;
    size_t begin = holder->len;
    if (base_base64_decode(text, holder) != ERR_OK)
        return false;
    *out = base_slice(holder->ptr + begin, holder->len - begin);
    return true;
}

bool cli_pull_name(struct cli_pull *p, struct buf *holder, struct slice *out)
{
    return cli_pull_text(p, holder, out) && cli_pull_take(p, ':');
}

/* --- out --------------------------------------------------------------------------------------
 */

static bool is_plain(uint8_t c)
{
    return c >= 0x20 && c != '"' && c != '\\';
}

static void put_escape(struct buf *out, uint8_t c)
{
    static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                   ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};
    if (c < sizeof letters && letters[c] != '\0') {
        const char both[] = {'\\', letters[c]};
        base_buf_append(out, base_slice(both, 2));
    } else {
        base_buf_printf(out, "\\u%04x", c);
    }
}

void cli_json_put_text(struct buf *out, struct slice text)
{
    base_buf_append_byte(out, '"');
    for (size_t at = 0; at < text.len;) {
        size_t run = at;
        while (run < text.len && is_plain(text.ptr[run]))
            run++;
        base_buf_append(out, base_slice(text.ptr + at, run - at));
        at = run;
        if (at < text.len)
            put_escape(out, text.ptr[at++]);
    }
    base_buf_append_byte(out, '"');
}

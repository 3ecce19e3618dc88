/*
 * gateway/api/json_out.c - writes JSON straight into a buf.
 *
 * Mechanism: text is checked sixteen bytes at a time. Most of it is printable ASCII without '"' and
 * '\' and is copied in one piece. Other text is written in runs between the characters that need an
 * escape.
 */
#include "gateway/api/json_out.h"

#include "base/clock.h"
#include "base/text.h"

#include "base/banned.h"

#define EACH_BYTE(b) ((uint64_t)(b)*0x0101010101010101U)
#define HIGH_BITS    EACH_BYTE(0x80)

/* Returns non-zero when some byte of x is zero. Exact as a test for "none". */
static uint64_t has_zero(uint64_t x)
{
    return (x - EACH_BYTE(1)) & ~x & HIGH_BITS;
}

static uint64_t load_word(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Returns non-zero when some byte is a control character, '"' or '\'. Bytes from 0x80 on do not
 * count. */
static uint64_t word_escapes(uint64_t w)
{
    uint64_t control = (w - EACH_BYTE(0x20)) & ~w & HIGH_BITS;
    return control | has_zero(w ^ EACH_BYTE('"')) | has_zero(w ^ EACH_BYTE('\\'));
}

static bool byte_escapes(uint8_t c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

/* Sixteen bytes, in whatever vector registers the machine has. */
typedef uint8_t bytes16 __attribute__((vector_size(16)));

static bool is_plain(struct slice s)
{
    bytes16 seen = {0};
    size_t at = 0;
    for (; s.len - at >= sizeof seen; at += sizeof seen) {
        bytes16 b;
        memcpy(&b, s.ptr + at, sizeof b);
        /* from 0x80 on, or below 0x20, which wraps around */
        seen |= (bytes16)(b - 0x20 >= 0x60) | (bytes16)(b == '"') | (bytes16)(b == '\\');
    }
    uint64_t halves[2];
    memcpy(halves, &seen, sizeof halves);
    if ((halves[0] | halves[1]) != 0)
        return false;
    for (; at < s.len; at++) {
        if (byte_escapes(s.ptr[at]) || s.ptr[at] >= 0x80)
            return false;
    }
    return true;
}

enum gw_text_class gw_text_classify(struct slice s)
{
    if (is_plain(s))
        return GW_TEXT_PLAIN;
    return base_utf8_is_valid(s) ? GW_TEXT_ESCAPE : GW_TEXT_BINARY;
}

/* Returns how many bytes from `at` on need no escape. */
static size_t clean_run(struct slice s, size_t at)
{
    size_t from = at;
    while (s.len - at >= 8 && word_escapes(load_word(s.ptr + at)) == 0)
        at += 8;
    while (at < s.len && !byte_escapes(s.ptr[at]))
        at++;
    return at - from;
}

static void put_escape(struct buf *out, uint8_t c)
{
    static const char hex[] = "0123456789abcdef";
    char text[7] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15], '\0'};
    switch (c) {
    case '"':
    case '\\':
        text[1] = (char)c;
        break;
    case '\n':
        text[1] = 'n';
        break;
    case '\r':
        text[1] = 'r';
        break;
    case '\t':
        text[1] = 't';
        break;
    default:
        (void)base_buf_append(out, base_slice(text, 6)); /* latches */
        return;
    }
    (void)base_buf_append(out, base_slice(text, 2)); /* latches */
}

static void put_valid(struct buf *out, struct slice s)
{
    size_t at = 0;
    while (at < s.len && out->error == ERR_OK) {
        size_t run = clean_run(s, at);
        (void)base_buf_append(out, base_slice(s.ptr + at, run)); /* latches */
        at += run;
        if (at < s.len)
            put_escape(out, s.ptr[at++]);
    }
}

/* Returns the length of the longest valid UTF-8 prefix of s, found by checking growing
 * sequences. */
static size_t valid_beginning(struct slice s)
{
    size_t at = 0;
    while (at < s.len) {
        size_t step = 1;
        while (step <= 4 && step <= s.len - at && !base_utf8_is_valid(base_slice(s.ptr + at, step)))
            step++;
        if (step > 4 || step > s.len - at)
            break;
        at += step;
    }
    return at;
}

static void put_lossy(struct buf *out, struct slice s)
{
    while (s.len > 0 && out->error == ERR_OK) {
        size_t valid = valid_beginning(s);
        put_valid(out, base_slice(s.ptr, valid));
        s = base_slice_skip(s, valid);
        if (s.len > 0) {
            (void)base_buf_append(out, SLICE_LIT("\xEF\xBF\xBD")); /* latches */
            s = base_slice_skip(s, 1);
        }
    }
}

static void put_quoted(struct buf *out, struct slice s, enum gw_text_class class)
{
    (void)base_buf_reserve(out, s.len + 2); /* latches; without overflow: s is in memory */
    (void)base_buf_append_byte(out, '"');
    if (class == GW_TEXT_PLAIN)
        (void)base_buf_append(out, s);
    else if (class == GW_TEXT_ESCAPE)
        put_valid(out, s);
    else
        put_lossy(out, s);
    (void)base_buf_append_byte(out, '"');
}

void gw_json_put_text(struct buf *out, struct slice s)
{
    put_quoted(out, s, gw_text_classify(s));
}

void gw_json_put_bytes(struct buf *out, const char *name, struct slice s)
{
    enum gw_text_class class = gw_text_classify(s);
    bool is_binary = class == GW_TEXT_BINARY;
    (void)base_buf_append_byte(out, '"'); /* all of these latch */
    (void)base_buf_append_text(out, name);
    (void)base_buf_append_text(out, is_binary ? "_b64\":\"" : "\":");
    if (!is_binary) {
        put_quoted(out, s, class);
        return;
    }
    (void)base_base64_encode(s, out);
    (void)base_buf_append_byte(out, '"');
}

size_t gw_json_digits(uint8_t *to, uint64_t number)
{
    uint8_t digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (uint8_t)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    memcpy(to, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

/* --- documents; every append below latches its error in the buf ------------------------------- */

static void separate(struct gw_json *j)
{
    if (j->comma)
        (void)base_buf_append_byte(j->out, ',');
    j->comma = true;
}

void gw_json_open(struct gw_json *j, char bracket)
{
    separate(j);
    (void)base_buf_append_byte(j->out, (uint8_t)bracket);
    j->comma = false;
}

void gw_json_close(struct gw_json *j, char bracket)
{
    (void)base_buf_append_byte(j->out, (uint8_t)bracket);
    j->comma = true;
}

void gw_json_name(struct gw_json *j, const char *name)
{
    separate(j);
    gw_json_put_text(j->out, base_slice_text(name));
    (void)base_buf_append_byte(j->out, ':');
    j->comma = false;
}

void gw_json_name_bytes(struct gw_json *j, const char *name, struct slice bytes)
{
    if (bytes.len == 0) {
        gw_json_name(j, name);
        gw_json_null(j);
        return;
    }
    separate(j);
    gw_json_put_bytes(j->out, name, bytes);
}

void gw_json_text(struct gw_json *j, struct slice text)
{
    separate(j);
    gw_json_put_text(j->out, text);
}

void gw_json_u64(struct gw_json *j, uint64_t number)
{
    separate(j);
    (void)base_buf_append_u64(j->out, number);
}

void gw_json_i64(struct gw_json *j, int64_t number)
{
    separate(j);
    (void)base_buf_append_i64(j->out, number);
}

void gw_json_bool(struct gw_json *j, bool value)
{
    separate(j);
    (void)base_buf_append_text(j->out, value ? "true" : "false");
}

void gw_json_null(struct gw_json *j)
{
    separate(j);
    (void)base_buf_append_text(j->out, "null");
}

void gw_json_time(struct gw_json *j, int64_t wall_us)
{
    if (wall_us == 0) {
        gw_json_null(j);
        return;
    }
    char text[BASE_TIME_TEXT];
    base_time_format(wall_us, text);
    gw_json_text(j, base_slice_text(text));
}

void gw_json_name_text(struct gw_json *j, const char *name, const char *text)
{
    gw_json_name(j, name);
    if (text == NULL || text[0] == '\0')
        gw_json_null(j);
    else
        gw_json_text(j, base_slice_text(text));
}

void gw_json_name_u64(struct gw_json *j, const char *name, uint64_t number)
{
    gw_json_name(j, name);
    gw_json_u64(j, number);
}

void gw_json_name_time(struct gw_json *j, const char *name, int64_t wall_us)
{
    gw_json_name(j, name);
    gw_json_time(j, wall_us);
}

/*
 * base/text.c - strict codecs between bytes and text.
 *
 * Mechanism: every codec computes the length of its output first, reserves it, and raises out->len
 * only if the whole input was valid: a failed call adds nothing.
 */
#include "base/text.h"

#include "base/banned.h"

const char BASE_BASE62_DIGITS[63] =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* --- UTF-8 ---------------------------------------------------------------------------------- */

static bool is_ascii_word(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return (word & 0x8080808080808080U) == 0;
}

/* Returns the length of the well-formed sequence at p (Unicode, table 3-7); 0 if there is none. */
static size_t utf8_sequence(const uint8_t *p, size_t left)
{
    uint8_t lead = p[0];
    if (lead < 0x80)
        return 1;
    size_t len = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || left < len)
        return 0;
    uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    }
    return len;
}

bool base_utf8_is_valid(struct slice s)
{
    size_t at = 0;
    while (at < s.len) {
        if (s.len - at >= sizeof(uint64_t) && is_ascii_word(s.ptr + at)) {
            at += sizeof(uint64_t);
            continue;
        }
        size_t len = utf8_sequence(s.ptr + at, s.len - at);
        if (len == 0)
            return false;
        at += len;
    }
    return true;
}

enum err base_text_check(struct slice text, size_t max, const char *what, struct errbuf *eb)
{
    if (text.len > max)
        return base_fail(eb, ERR_INVALID, "%s is %zu bytes; the limit is %zu", what, text.len, max);
    if (!base_utf8_is_valid(text))
        return base_fail(eb, ERR_INVALID, "%s is not valid UTF-8", what);
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
            return base_fail(eb, ERR_INVALID, "%s holds a control character at byte %zu", what,
                             i + 1);
    return ERR_OK;
}

/* --- percent and hex ------------------------------------------------------------------------ */

static const char HEX_LOWER[] = "0123456789abcdef";
static const char HEX_UPPER[] = "0123456789ABCDEF";

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_percent_code(struct slice in, size_t at)
{
    return in.len - at >= 3 && hex_value(in.ptr[at + 1]) >= 0 && hex_value(in.ptr[at + 2]) >= 0;
}

static enum err percent_decoded_len(struct slice in, size_t *out_len)
{
    size_t len = 0;
    for (size_t at = 0; at < in.len; len++) {
        uint8_t c = in.ptr[at];
        if (c <= 0x20 || c >= 0x7F)
            return ERR_INVALID;
        if (c == '%' && !is_percent_code(in, at))
            return ERR_INVALID;
        at += c == '%' ? 3 : 1;
    }
    *out_len = len;
    return ERR_OK;
}

enum err base_percent_decode(struct slice in, struct buf *out)
{
    size_t len = 0;
    enum err e = percent_decoded_len(in, &len);
    if (e != ERR_OK)
        return e;
    e = base_buf_reserve(out, len);
    if (e != ERR_OK)
        return e;
    uint8_t *to = base_buf_end(out);
    for (size_t at = 0; at < in.len;) {
        uint8_t c = in.ptr[at++];
        if (c == '%') {
            c = (uint8_t)((unsigned)hex_value(in.ptr[at]) << 4 |
                          (unsigned)hex_value(in.ptr[at + 1]));
            at += 2;
        }
        *to++ = c;
    }
    out->len += len;
    return ERR_OK;
}

static bool is_unreserved(uint8_t c)
{
    uint8_t letter = c | 0x20;
    return (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

/* Multiplies, saturating at SIZE_MAX, a length that no buf can hold. */
static size_t times(size_t len, size_t factor)
{
    return len > SIZE_MAX / factor ? SIZE_MAX : len * factor;
}

enum err base_percent_encode(struct slice in, struct buf *out)
{
    size_t codes = 0;
    for (size_t i = 0; i < in.len; i++)
        codes += is_unreserved(in.ptr[i]) ? 0 : 1;
    size_t extra = times(codes, 2);
    enum err e = base_buf_reserve(out, extra > SIZE_MAX - in.len ? SIZE_MAX : in.len + extra);
    if (e != ERR_OK)
        return e;
    uint8_t *to = base_buf_end(out);
    for (size_t i = 0; i < in.len; i++) {
        uint8_t c = in.ptr[i];
        if (is_unreserved(c)) {
            *to++ = c;
            continue;
        }
        *to++ = '%';
        *to++ = (uint8_t)HEX_UPPER[c >> 4];
        *to++ = (uint8_t)HEX_UPPER[c & 15];
    }
    out->len += in.len + extra;
    return ERR_OK;
}

enum err base_hex_encode(struct slice in, struct buf *out)
{
    size_t len = times(in.len, 2);
    enum err e = base_buf_reserve(out, len);
    if (e != ERR_OK)
        return e;
    uint8_t *to = base_buf_end(out);
    for (size_t i = 0; i < in.len; i++) {
        *to++ = (uint8_t)HEX_LOWER[in.ptr[i] >> 4];
        *to++ = (uint8_t)HEX_LOWER[in.ptr[i] & 15];
    }
    out->len += len;
    return ERR_OK;
}

/* --- base64 --------------------------------------------------------------------------------- */

#define LETTERS_AND_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static const char STANDARD_DIGITS[] = LETTERS_AND_DIGITS "+/";
static const char URL_DIGITS[] = LETTERS_AND_DIGITS "-_";

/* Value of each digit with the IS_DIGIT bit set, 0 for every other byte: four lookups are valid if
 * the bit is set in all of them. */
#define IS_DIGIT 0x40
#define D(value) (IS_DIGIT | (value))
#define VALUES(digit_62, digit_63)                                                                 \
    {                                                                                              \
        ['A'] = D(0), ['B'] = D(1), ['C'] = D(2), ['D'] = D(3), ['E'] = D(4), ['F'] = D(5),        \
        ['G'] = D(6), ['H'] = D(7), ['I'] = D(8), ['J'] = D(9), ['K'] = D(10), ['L'] = D(11),      \
        ['M'] = D(12), ['N'] = D(13), ['O'] = D(14), ['P'] = D(15), ['Q'] = D(16), ['R'] = D(17),  \
        ['S'] = D(18), ['T'] = D(19), ['U'] = D(20), ['V'] = D(21), ['W'] = D(22), ['X'] = D(23),  \
        ['Y'] = D(24), ['Z'] = D(25), ['a'] = D(26), ['b'] = D(27), ['c'] = D(28), ['d'] = D(29),  \
        ['e'] = D(30), ['f'] = D(31), ['g'] = D(32), ['h'] = D(33), ['i'] = D(34), ['j'] = D(35),  \
        ['k'] = D(36), ['l'] = D(37), ['m'] = D(38), ['n'] = D(39), ['o'] = D(40), ['p'] = D(41),  \
        ['q'] = D(42), ['r'] = D(43), ['s'] = D(44), ['t'] = D(45), ['u'] = D(46), ['v'] = D(47),  \
        ['w'] = D(48), ['x'] = D(49), ['y'] = D(50), ['z'] = D(51), ['0'] = D(52), ['1'] = D(53),  \
        ['2'] = D(54), ['3'] = D(55), ['4'] = D(56), ['5'] = D(57), ['6'] = D(58), ['7'] = D(59),  \
        ['8'] = D(60), ['9'] = D(61), [digit_62] = D(62), [digit_63] = D(63),                      \
    }

static const uint8_t STANDARD_VALUES[256] = VALUES('+', '/');
static const uint8_t URL_VALUES[256] = VALUES('-', '_');

static enum err encode64(struct slice in, const char *digits, bool is_padded, struct buf *out)
{
    size_t groups = in.len / 3;
    size_t tail = in.len % 3;
    size_t tail_len = tail == 0 ? 0 : is_padded ? 4 : tail + 1;
    size_t len = groups > (SIZE_MAX - 4) / 4 ? SIZE_MAX : groups * 4 + tail_len;
    enum err e = base_buf_reserve(out, len);
    if (e != ERR_OK)
        return e;
    uint8_t *to = base_buf_end(out);
    const uint8_t *from = in.ptr;
    for (size_t i = 0; i < groups; i++, from += 3, to += 4) {
        uint32_t bits = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];
        to[0] = (uint8_t)digits[bits >> 18];
        to[1] = (uint8_t)digits[bits >> 12 & 63];
        to[2] = (uint8_t)digits[bits >> 6 & 63];
        to[3] = (uint8_t)digits[bits & 63];
    }
    if (tail > 0) {
        uint32_t bits = (uint32_t)from[0] << 16 | (tail == 2 ? (uint32_t)from[1] << 8 : 0);
        uint8_t last[4] = {(uint8_t)digits[bits >> 18], (uint8_t)digits[bits >> 12 & 63],
                           (uint8_t)(tail == 2 ? digits[bits >> 6 & 63] : '='), '='};
        memcpy(to, last, tail_len);
    }
    out->len += len;
    return ERR_OK;
}

/* Decodes the last 2 or 3 digits. The bits beyond whole bytes must be 0, or one value would have
 * many texts. */
static bool decode64_tail(const uint8_t *from, size_t digits, const uint8_t values[256],
                          uint8_t *to)
{
    uint8_t a = values[from[0]], b = values[from[1]], c = digits == 3 ? values[from[2]] : IS_DIGIT;
    if ((a & b & c & IS_DIGIT) == 0)
        return false;
    uint32_t bits = (a & 63U) << 18 | (b & 63U) << 12 | (c & 63U) << 6;
    if ((bits & (digits == 3 ? 0xFFU : 0xFFFFU)) != 0)
        return false;
    to[0] = (uint8_t)(bits >> 16);
    if (digits == 3)
        to[1] = (uint8_t)(bits >> 8);
    return true;
}

/* Decodes base64; in must have no padding. */
static enum err decode64(struct slice in, const uint8_t values[256], struct buf *out)
{
    size_t groups = in.len / 4;
    size_t tail = in.len % 4;
    if (tail == 1)
        return ERR_INVALID;
    size_t len = groups * 3 + (tail == 0 ? 0 : tail - 1);
    enum err e = base_buf_reserve(out, len);
    if (e != ERR_OK)
        return e;
    uint8_t *to = base_buf_end(out);
    const uint8_t *from = in.ptr;
    for (size_t i = 0; i < groups; i++, from += 4, to += 3) {
        uint8_t a = values[from[0]], b = values[from[1]], c = values[from[2]], d = values[from[3]];
        if ((a & b & c & d & IS_DIGIT) == 0)
            return ERR_INVALID;
        uint32_t bits = (a & 63U) << 18 | (b & 63U) << 12 | (c & 63U) << 6 | (d & 63U);
        to[0] = (uint8_t)(bits >> 16);
        to[1] = (uint8_t)(bits >> 8);
        to[2] = (uint8_t)bits;
    }
    if (tail != 0 && !decode64_tail(from, tail, values, to))
        return ERR_INVALID;
    out->len += len;
    return ERR_OK;
}

enum err base_base64_encode(struct slice in, struct buf *out)
{
    return encode64(in, STANDARD_DIGITS, true, out);
}

enum err base_base64_decode(struct slice in, struct buf *out)
{
    if (in.len % 4 != 0)
        return ERR_INVALID;
    for (int i = 0; i < 2 && in.len > 0 && in.ptr[in.len - 1] == '='; i++)
        in.len--;
    return decode64(in, STANDARD_VALUES, out);
}

enum err base_base64url_encode(struct slice in, struct buf *out)
{
    return encode64(in, URL_DIGITS, false, out);
}

enum err base_base64url_decode(struct slice in, struct buf *out)
{
    return decode64(in, URL_VALUES, out);
}

/* --- numbers -------------------------------------------------------------------------------- */

enum err base_parse_u64(struct slice in, uint64_t *out)
{
    if (in.len == 0 || (in.len > 1 && in.ptr[0] == '0'))
        return ERR_INVALID;
    uint64_t value = 0;
    bool is_over = false;
    for (size_t i = 0; i < in.len; i++) {
        uint8_t c = in.ptr[i];
        if (c < '0' || c > '9')
            return ERR_INVALID;
        is_over |= __builtin_mul_overflow(value, 10U, &value);
        is_over |= __builtin_add_overflow(value, (uint64_t)(c - '0'), &value);
    }
    if (is_over)
        return ERR_TOO_BIG;
    *out = value;
    return ERR_OK;
}

enum err base_parse_i64(struct slice in, int64_t *out)
{
    bool is_negative = in.len > 0 && in.ptr[0] == '-';
    uint64_t magnitude = 0;
    enum err e = base_parse_u64(is_negative ? base_slice_skip(in, 1) : in, &magnitude);
    if (e != ERR_OK)
        return e;
    if (is_negative && magnitude == 0)
        return ERR_INVALID;
    if (magnitude > (uint64_t)INT64_MAX + (is_negative ? 1 : 0))
        return ERR_TOO_BIG;
    *out = is_negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return ERR_OK;
}

/* --- times ------------------------------------------------------------------------------------ */

/* Reads `count` digits and advances *rest past them. */
static bool take_digits(struct slice *rest, size_t count, int64_t *out)
{
    *out = 0;
    if (rest->len < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (rest->ptr[i] < '0' || rest->ptr[i] > '9')
            return false;
        *out = *out * 10 + (rest->ptr[i] - (uint8_t)'0');
    }
    *rest = base_slice_skip(*rest, count);
    return true;
}

static bool take_byte(struct slice *rest, uint8_t byte)
{
    if (rest->len == 0 || rest->ptr[0] != byte)
        return false;
    *rest = base_slice_skip(*rest, 1);
    return true;
}

/* Computes days since 1970. Returns false if there is no such day. */
static bool days_from_civil(int64_t year, int64_t month, int64_t day, int64_t *out)
{
    static const uint8_t LENGTHS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    static const uint16_t BEFORE[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    bool leaps = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year < 1970 || month < 1 || month > 12 || day < 1 ||
        day > LENGTHS[month - 1] + (leaps && month == 2 ? 1 : 0))
        return false;
    int64_t past = year - 1;                                                 /* whole years */
    int64_t days = past * 365 + past / 4 - past / 100 + past / 400 - 719162; /* of 1970 */
    *out = days + BEFORE[month - 1] + (leaps && month > 2 ? 1 : 0) + day - 1;
    return true;
}

static bool take_fraction(struct slice *rest, int64_t *out_us)
{
    int64_t scale = 1000000;
    *out_us = 0;
    if (!take_byte(rest, '.'))
        return true;
    for (int64_t digit; scale > 1 && take_digits(rest, 1, &digit);) {
        scale /= 10;
        *out_us += digit * scale;
    }
    return scale < 1000000;
}

enum err base_parse_time(struct slice in, int64_t *out_us)
{
    int64_t year, month, day, hour, minute, second, fraction_us, days;
    if (!take_digits(&in, 4, &year) || !take_byte(&in, '-') || !take_digits(&in, 2, &month) ||
        !take_byte(&in, '-') || !take_digits(&in, 2, &day) || !take_byte(&in, 'T') ||
        !take_digits(&in, 2, &hour) || !take_byte(&in, ':') || !take_digits(&in, 2, &minute) ||
        !take_byte(&in, ':') || !take_digits(&in, 2, &second) || !take_fraction(&in, &fraction_us))
        return ERR_INVALID;
    if (!take_byte(&in, 'Z') || in.len > 0 || hour > 23 || minute > 59 || second > 59 ||
        !days_from_civil(year, month, day, &days))
        return ERR_INVALID;
    *out_us = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000000 + fraction_us;
    return ERR_OK;
}

/* --- numbers with units ----------------------------------------------------------------------- */

enum err base_parse_with_unit(struct slice in, const char *letters, const uint64_t *factors,
                              uint64_t *out)
{
    uint64_t factor = 1, number = 0, product = 0;
    const char *at =
        in.len == 0 || in.ptr[in.len - 1] == '\0' ? NULL : strchr(letters, in.ptr[in.len - 1]);
    if (at != NULL) {
        factor = factors[at - letters];
        in.len--;
    }
    enum err e = base_parse_u64(in, &number);
    if (e == ERR_OK && __builtin_mul_overflow(number, factor, &product))
        e = ERR_TOO_BIG;
    if (e == ERR_OK)
        *out = product;
    return e;
}

enum err base_parse_seconds(struct slice in, uint64_t *out_seconds)
{
    static const uint64_t FACTORS[] = {1, 60, 60 * 60, 24 * 60 * 60};
    return base_parse_with_unit(in, "smhd", FACTORS, out_seconds);
}

/*
 * cli/millis.c - see millis.h.
 *
 * One search skips lines without the word. In other lines, the depth of objects and lists is
 * counted: members of a cell have a depth of at least four in each form of a line,
 *
 *     {"key":..,"cells":{"family":{"qualifier":{"value":..,"timestamp":..}}}}
 *     {"key":..,"cells":{"$binary":[{"family":..,"timestamp":..}]}}
 *     {"key":..,"mutations":[{"set_cell":{"family":..,"timestamp":..}}]}
 *
 * and a qualifier's name has a depth of three.
 */
#define _GNU_SOURCE /* memmem */

#include "cli/millis.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/out.h"

#include "base/banned.h"

#define NAME         "timestamp"
#define MEMBER_DEPTH 4
#define MILLIS_2001  INT64_C(978307200000)
#define MILLIS_2100  INT64_C(4102444800000)

bool cli_millis_suspected(int64_t micros)
{
    return micros >= MILLIS_2001 && micros < MILLIS_2100;
}

/* Returns the position after the closing quote, or the end. at: after the opening quote. */
static size_t skip_text(struct slice line, size_t at)
{
    while (at < line.len && line.ptr[at] != '"')
        at += line.ptr[at] == '\\' ? 2 : 1;
    return at < line.len ? at + 1 : line.len;
}

static size_t skip_space(struct slice line, size_t at)
{
    while (at < line.len && (line.ptr[at] == ' ' || line.ptr[at] == '\t'))
        at++;
    return at;
}

/* Returns whether a colon and a suspected number, as text, follow. at: after a text. */
static bool has_suspect(struct slice line, size_t at, int64_t *out)
{
    at = skip_space(line, at);
    if (at == line.len || line.ptr[at] != ':')
        return false;
    at = skip_space(line, at + 1);
    if (at == line.len || line.ptr[at++] != '"')
        return false;
    size_t digits = 0;
    while (at + digits < line.len && line.ptr[at + digits] >= '0' && line.ptr[at + digits] <= '9')
        digits++;
    int64_t micros = 0;
    if (base_parse_i64(base_slice(line.ptr + at, digits), &micros) != ERR_OK ||
        !cli_millis_suspected(micros))
        return false;
    *out = micros;
    return true;
}

bool cli_millis_find(struct slice line, int64_t *out)
{
    size_t depth = 0;
    if (memmem(line.ptr, line.len, "\"" NAME "\"", sizeof NAME + 1) == NULL)
        return false;
    for (size_t at = 0; at < line.len;) {
        uint8_t c = line.ptr[at++];
        size_t begin = at;
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && depth > 0)
            depth--;
        if (c != '"')
            continue;
        at = skip_text(line, at);
        if (depth >= MEMBER_DEPTH && at - begin == sizeof NAME &&
            memcmp(line.ptr + begin, NAME "\"", sizeof NAME) == 0 && has_suspect(line, at, out))
            return true;
    }
    return false;
}

void cli_millis_warn(const char *where, int64_t micros)
{
    cli_say("%s: %" PRId64 " is of early 1970, as timestamps are microseconds; if milliseconds are "
            "meant, multiply by 1000; row load takes --timestamps ms",
            where, micros);
}

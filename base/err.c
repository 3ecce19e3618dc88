/*
 * base/err.c - names and texts of errors, and the abort of a process whose invariant broke.
 *
 * Mechanism: base_fail formats into memory of its own first, so that a caller may wrap the text it
 * already has: base_fail(eb, code, "reading %s: %s", path, eb->text).
 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

static const char *const NAMES[ERR_COUNT] = {
    [ERR_OK] = "ok",
    [ERR_INVALID] = "invalid",
    [ERR_TOO_BIG] = "too_big",
    [ERR_NOT_FOUND] = "not_found",
    [ERR_EXISTS] = "exists",
    [ERR_CONFLICT] = "conflict",
    [ERR_PRECONDITION] = "precondition",
    [ERR_UNAUTHENTICATED] = "unauthenticated",
    [ERR_FORBIDDEN] = "forbidden",
    [ERR_SUSPENDED] = "suspended",
    [ERR_GONE] = "gone",
    [ERR_QUOTA] = "quota",
    [ERR_RATE_LIMITED] = "rate_limited",
    [ERR_OVERLOADED] = "overloaded",
    [ERR_STORAGE_FULL] = "storage_full",
    [ERR_UNAVAILABLE] = "unavailable",
    [ERR_OUTCOME_UNKNOWN] = "outcome_unknown",
    [ERR_CORRUPT] = "corrupt",
    [ERR_IO] = "io",
    [ERR_NO_MEMORY] = "no_memory",
    [ERR_CANCELLED] = "cancelled",
    [ERR_LOCKED] = "locked",
    [ERR_UNSUPPORTED] = "unsupported",
    [ERR_TIMEOUT] = "timeout",
    [ERR_HELD] = "held",
};

/* Returns the length without a trailing partial character: the detail is sent as UTF-8. text[len]
 * is the first byte that was cut off, or would have been. */
static size_t cut_before_half_character(const char *text, size_t len)
{
    while (len > 0 && ((uint8_t)text[len] & 0xC0) == 0x80)
        len--;
    return len;
}

enum err base_fail(struct errbuf *eb, enum err code, const char *format, ...)
{
    if (eb == NULL)
        return code;
    char text[ERRBUF_BYTES + 1]; /* one more, to detect where a cut falls */
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t len = wanted < 0 ? 0 : (size_t)wanted;
    if (len >= ERRBUF_BYTES)
        len = cut_before_half_character(text, ERRBUF_BYTES - 1);
    memcpy(eb->text, text, len);
    eb->text[len] = '\0';
    return code;
}

enum err base_fail_at(struct errbuf *eb, enum err code, const char *format, ...)
{
    if (eb == NULL || code == ERR_OK)
        return code;
    struct errbuf sentence = *eb;
    char place[ERRBUF_BYTES];
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(place, sizeof place, format, args);
    va_end(args);
    return wanted < 0 ? code : base_fail(eb, code, "%s: %s", place, sentence.text);
}

const char *base_err_name(enum err code)
{
    if ((unsigned)code >= ERR_COUNT)
        return "unknown";
    return NAMES[code];
}

void base_panic(const char *file, int line, const char *what)
{
    char text[512];
    int len = snprintf(text, sizeof text, "panic %s:%d: %s\n", file, line, what);
    if (len < 0)
        len = 0;
    if ((size_t)len >= sizeof text)
        len = (int)sizeof text - 1;
    /* The process ends here whether or not the text can be read. */
    (void)!write(STDERR_FILENO, text, (size_t)len);
    abort();
}

/*
 * base/log.c - one line per event on stderr.
 *
 * Mechanism: the line is built on the stack and written with one write(2), so lines of several
 * threads do not mix. Every byte outside printable ASCII is escaped: no value can forge a line or
 * send control sequences to a terminal. The last byte is reserved for the newline.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/slice.h"

#include "base/banned.h"

#define LINE_BYTES 1024

static atomic_int lowest_level = BASE_LOG_INFO;

static const char *const LEVELS[] = {
    [BASE_LOG_DEBUG] = "debug",
    [BASE_LOG_INFO] = "info",
    [BASE_LOG_WARN] = "warn",
    [BASE_LOG_ERROR] = "error",
};

struct line {
    char text[LINE_BYTES];
    size_t len;
};

/* Appends a byte, escaped if necessary. An escape that does not fit ends the line, because a
 * partial escape would mean something else. */
static bool line_add_byte(struct line *line, uint8_t byte)
{
    static const char HEX[] = "0123456789abcdef";
    size_t left = LINE_BYTES - 1 - line->len;
    if (byte >= 0x20 && byte < 0x7F) {
        if (left < 1)
            return false;
        line->text[line->len++] = (char)byte;
        return true;
    }
    if (left < 4)
        return false;
    char escape[4] = {'\\', 'x', HEX[byte >> 4], HEX[byte & 15]};
    memcpy(line->text + line->len, escape, sizeof escape);
    line->len += sizeof escape;
    return true;
}

static void line_add(struct line *line, const char *text)
{
    while (*text != '\0' && line_add_byte(line, (uint8_t)*text))
        text++;
}

void base_log_set_level(enum base_log_level lowest)
{
    atomic_store_explicit(&lowest_level, (int)lowest, memory_order_relaxed);
}

void base_log(enum base_log_level level, const char *event, const char *format, ...)
{
    INVARIANT((unsigned)level < sizeof LEVELS / sizeof LEVELS[0]);
    if ((int)level < atomic_load_explicit(&lowest_level, memory_order_relaxed))
        return;
    int error = errno;
    char time[BASE_TIME_TEXT];
    base_time_format(base_wall_us(), time);
    char pairs[LINE_BYTES];
    va_list args;
    va_start(args, format);
    if (vsnprintf(pairs, sizeof pairs, format, args) < 0)
        pairs[0] = '\0';
    va_end(args);

    struct line line = {.len = 0};
    line_add(&line, time);
    line_add(&line, " ");
    line_add(&line, LEVELS[level]);
    line_add(&line, " ");
    line_add(&line, event);
    if (pairs[0] != '\0')
        line_add(&line, " ");
    line_add(&line, pairs);
    line.text[line.len++] = '\n';
    /* A failure to write the log has nowhere to be reported. */
    (void)!write(STDERR_FILENO, line.text, line.len);
    errno = error;
}

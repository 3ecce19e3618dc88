/*
 * base/buf.c - a growing byte buffer that is created with its maximum.
 *
 * Invariants:
 *   1. len <= capacity <= max.
 *   2. ptr is NULL exactly when capacity is 0.
 *   3. Once error is set nothing is added until truncate (ERR_TOO_BIG only), clear or fini.
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/memory.h"

#include "base/banned.h"

#define FIRST_CAPACITY  64
#define U64_DIGITS      20
#define PRINTF_ON_STACK 256

void base_buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

static bool is_counted(const struct buf *b)
{
    return base_memory_counted(b->capacity) > 0;
}

void base_buf_fini(struct buf *b)
{
    if (b == NULL)
        return;
    base_free(b->ptr);
    if (is_counted(b))
        base_memory_give(b->share, b->capacity);
    *b = (struct buf){0};
}

void base_buf_charge(struct buf *b, struct base_memory_share *share)
{
    if (is_counted(b)) {
        base_memory_take_anyway(share, b->capacity);
        base_memory_give(b->share, b->capacity);
    }
    b->share = share;
}

void base_buf_clear(struct buf *b)
{
    struct buf empty = {.max = b->max, .share = b->share};
    base_buf_fini(b);
    *b = empty;
}

/* Returns the next capacity; doubling keeps the cost of many small appends linear. */
static size_t capacity_for(const struct buf *b, size_t need)
{
    size_t twice = b->capacity > b->max / 2 ? b->max : b->capacity * 2;
    size_t wanted = twice < FIRST_CAPACITY ? FIRST_CAPACITY : twice;
    if (wanted < need)
        wanted = need;
    return wanted < b->max ? wanted : b->max;
}

enum err base_buf_reserve(struct buf *b, size_t more)
{
    INVARIANT(b->len <= b->capacity && b->capacity <= b->max);
    if (b->error != ERR_OK)
        return b->error;
    if (more <= b->capacity - b->len)
        return ERR_OK;
    if (more > b->max - b->len)
        return b->error = ERR_TOO_BIG;
    size_t capacity = capacity_for(b, b->len + more);
    size_t grows = base_memory_counted(capacity) - base_memory_counted(b->capacity);
    if (grows > 0 && !base_memory_take(b->share, grows))
        return b->error = ERR_NO_MEMORY;
    uint8_t *ptr = base_try_realloc(b->ptr, capacity);
    if (ptr == NULL) {
        base_memory_give(b->share, grows);
        return b->error = ERR_NO_MEMORY;
    }
    b->ptr = ptr;
    b->capacity = capacity;
    return ERR_OK;
}

enum err base_buf_append(struct buf *b, struct slice bytes)
{
    enum err e = base_buf_reserve(b, bytes.len);
    if (e != ERR_OK || bytes.len == 0)
        return e;
    memcpy(base_buf_end(b), bytes.ptr, bytes.len);
    b->len += bytes.len;
    return ERR_OK;
}

enum err base_buf_append_byte(struct buf *b, uint8_t byte)
{
    enum err e = base_buf_reserve(b, 1);
    if (e != ERR_OK)
        return e;
    b->ptr[b->len++] = byte;
    return ERR_OK;
}

enum err base_buf_append_text(struct buf *b, const char *text)
{
    return base_buf_append(b, base_slice_text(text));
}

static enum err append_decimal(struct buf *b, bool is_negative, uint64_t magnitude)
{
    uint8_t digits[1 + U64_DIGITS];
    size_t at = sizeof digits;
    do {
        digits[--at] = (uint8_t)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude != 0);
    if (is_negative)
        digits[--at] = '-';
    return base_buf_append(b, base_slice(digits + at, sizeof digits - at));
}

enum err base_buf_append_u64(struct buf *b, uint64_t decimal)
{
    return append_decimal(b, false, decimal);
}

enum err base_buf_append_i64(struct buf *b, int64_t decimal)
{
    bool is_negative = decimal < 0;
    uint64_t bits = (uint64_t)decimal;
    return append_decimal(b, is_negative, is_negative ? 0 - bits : bits);
}

/* Appends text longer than the stack buffer. The text is formatted outside the buf because
 * vsnprintf needs a byte for its NUL, and a buf filled to its max has none. */
static enum err append_long_text(struct buf *b, size_t len, const char *format, va_list args)
{
    enum err e = base_buf_reserve(b, len);
    if (e != ERR_OK)
        return e;
    char *text = base_try_alloc(len + 1);
    if (text == NULL)
        return b->error = ERR_NO_MEMORY;
    int written = vsnprintf(text, len + 1, format, args);
    INVARIANT(written >= 0 && (size_t)written == len);
    e = base_buf_append(b, base_slice(text, len));
    base_free(text);
    return e;
}

enum err base_buf_printf(struct buf *b, const char *format, ...)
{
    if (b->error != ERR_OK)
        return b->error;
    char text[PRINTF_ON_STACK];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (len < 0) /* more than INT_MAX bytes, or a wide character */
        return b->error = ERR_TOO_BIG;
    if ((size_t)len < sizeof text)
        return base_buf_append(b, base_slice(text, (size_t)len));
    va_start(args, format);
    enum err e = append_long_text(b, (size_t)len, format, args);
    va_end(args);
    return e;
}

void base_buf_truncate(struct buf *b, size_t len)
{
    INVARIANT(len <= b->len);
    b->len = len;
    if (b->error == ERR_TOO_BIG)
        b->error = ERR_OK;
}

void base_buf_consume(struct buf *b, size_t n)
{
    INVARIANT(n <= b->len);
    if (n == 0)
        return;
    b->len -= n;
    memmove(b->ptr, b->ptr + n, b->len);
}

void base_buf_take(struct buf *dst, struct buf *src)
{
    INVARIANT(dst->ptr == NULL);
    *dst = *src;
    *src = (struct buf){.max = dst->max, .share = dst->share};
}

/*
 * base/slice.h - a borrowed sequence of bytes.
 *
 * Does:     points at bytes with their count; compares and cuts.
 * Owns:     nothing; the maker of the bytes owns them.
 * May use:  nothing.
 * Knows no: NUL termination, encodings.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Order is memcmp order, then length.
 */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const uint8_t *ptr;
    size_t len;
};

#define SLICE_LIT(text) ((struct slice){(const uint8_t *)(text), sizeof(text) - 1})
#define SLICE_EMPTY     ((struct slice){NULL, 0})
/* For printf("%.*s", SLICE_ARGS(s)); only for text known to be printable. */
#define SLICE_ARGS(s) (int)(s).len, (const char *)(s).ptr

static inline struct slice base_slice(const void *ptr, size_t len)
{
    return (struct slice){(const uint8_t *)ptr, len};
}

static inline struct slice base_slice_text(const char *text)
{
    return base_slice(text, strlen(text));
}

static inline int base_slice_compare(struct slice a, struct slice b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n == 0 ? 0 : memcmp(a.ptr, b.ptr, n);
    if (c != 0)
        return c;
    return a.len < b.len ? -1 : a.len > b.len ? 1 : 0;
}

static inline bool base_slice_equal(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool base_slice_is(struct slice a, const char *text)
{
    return base_slice_equal(a, base_slice_text(text));
}

static inline bool base_slice_starts_with(struct slice s, struct slice prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

/* Returns s without its first n bytes; n must be at most s.len. */
static inline struct slice base_slice_skip(struct slice s, size_t n)
{
    return base_slice(s.ptr + n, s.len - n);
}

#endif

/*
 * base/buf.h - a growing byte buffer that is created with its maximum.
 *
 * Does:     appends, reserves, consumes from the front, transfers its memory.
 * Owns:     its bytes, until base_buf_fini.
 * May use:  base/.
 * Knows no: encodings.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: ERR_TOO_BIG beyond max, ERR_NO_MEMORY, also if its share of memory is used up; both
 *           latch: later appends fail with the same error, so a writer may append many times and
 *           check buf.error once.
 * Limits:   max set at init; the share's.
 * Promises: 1. len <= max always. 2. A failed append adds nothing. 3. Its bytes are counted in its
 *              share before they are allocated, except for small blocks.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/err.h"
#include "base/slice.h"

struct base_memory_share;

struct buf {
    uint8_t *ptr;
    size_t len;
    size_t capacity;
    size_t max;
    enum err error;
    struct base_memory_share *share; /* NULL: not counted */
};

void base_buf_init(struct buf *b, size_t max);
void base_buf_fini(struct buf *b);
/* Charges the memory held now and all later memory to this share. */
void base_buf_charge(struct buf *b, struct base_memory_share *share);
/* Frees its memory and clears a latched error; max and share stay. */
void base_buf_clear(struct buf *b);

/* Makes room for `more` bytes after len. Write at base_buf_end(), then raise len. */
enum err base_buf_reserve(struct buf *b, size_t more);
enum err base_buf_append(struct buf *b, struct slice bytes);
enum err base_buf_append_byte(struct buf *b, uint8_t byte);
enum err base_buf_append_text(struct buf *b, const char *text);
enum err base_buf_append_u64(struct buf *b, uint64_t decimal);
enum err base_buf_append_i64(struct buf *b, int64_t decimal);
enum err base_buf_printf(struct buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Removes everything after len (undo of appends); clears a latched ERR_TOO_BIG. */
void base_buf_truncate(struct buf *b, size_t len);
/* Removes the first n bytes, n <= len; moves the rest down. */
void base_buf_consume(struct buf *b, size_t n);
/* Moves src's memory, and its share, into dst (which is fini'd or zero); src becomes empty with the
 * same max and share. */
void base_buf_take(struct buf *dst, struct buf *src);

static inline struct slice base_buf_slice(const struct buf *b)
{
    return base_slice(b->ptr, b->len);
}

static inline uint8_t *base_buf_end(struct buf *b)
{
    return b->ptr + b->len;
}

#endif

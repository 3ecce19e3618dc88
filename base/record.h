/*
 * base/record.h - the form of every stored document: tagged fields that can be extended.
 *
 * Does:     writes and reads sequences of (tag, length, bytes) and (tag, varint).
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: the meaning of the fields.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT for bytes that are not a record; the buf's errors when writing.
 * Limits:   tags 1..65535.
 * Promises: 1. A reader skips fields it does not know: old programs read new records.
 *           2. Reading never accesses bytes outside the slice, whatever its bytes.
 */
#ifndef BASE_RECORD_H
#define BASE_RECORD_H

#include "base/buf.h"

enum err base_record_put_bytes(struct buf *out, uint32_t tag, struct slice value);
enum err base_record_put_u64(struct buf *out, uint32_t tag, uint64_t value);

struct base_field {
    uint32_t tag;
    struct slice bytes; /* raw field bytes */
    uint64_t number;    /* value of an integer field; valid if is_number */
    bool is_number;     /* written by put_u64; false: by put_bytes */
};

/* Reads the next field and advances *rest past it. At the end returns ERR_OK with *out_end true;
 * *out is then unchanged. */
enum err base_record_next(struct slice *rest, struct base_field *out, bool *out_end) MUST_CHECK;
/* Calls visit for every field to the end; stops at an error from visit and returns it. */
typedef enum err base_field_visit(void *ctx, const struct base_field *field);
enum err base_record_visit(struct slice record, base_field_visit *visit, void *ctx) MUST_CHECK;
/* Return the number or time of a field; ERR_CORRUPT for a field of bytes. */
enum err base_field_number(const struct base_field *field, uint64_t *out) MUST_CHECK;
enum err base_field_time(const struct base_field *field, int64_t *out_us) MUST_CHECK;
/* Copies a field's bytes as a NUL-terminated text of at most out_bytes - 1 bytes. ERR_CORRUPT for a
 * number, a longer text, or a NUL inside it. */
enum err base_field_text(const struct base_field *field, char *out, size_t out_bytes) MUST_CHECK;

/* Appends a varint (LEB128, at most 10 bytes), also used inside stored values. */
enum err base_varint_put(struct buf *out, uint64_t value);
/* Reads a varint and advances *rest past it. ERR_CORRUPT if it is cut short, too long or not in its
 * shortest form. */
enum err base_varint_take(struct slice *rest, uint64_t *out) MUST_CHECK;

#endif

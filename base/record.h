/*
 * base/record.h - the form of every stored document: tagged fields that can grow.
 *
 * Does:     write and read sequences of (tag, length, bytes) and (tag, varint).
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: what the fields mean.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT for bytes that are not a record; the buf's errors when writing.
 * Limits:   tags 1..65535.
 * Promises: 1. A reader skips fields it does not know: old programs read new records.
 *           2. Reading never looks beyond the given slice, whatever its bytes.
 */
#ifndef BASE_RECORD_H
#define BASE_RECORD_H

#include "base/buf.h"

enum err base_record_put_bytes(struct buf *out, uint32_t tag, struct slice value);
enum err base_record_put_u64(struct buf *out, uint32_t tag, uint64_t value);

struct base_field {
    uint32_t tag;
    struct slice bytes; /* raw field bytes */
    uint64_t number;    /* its value as an integer; valid when is_number */
    bool is_number;     /* written by put_u64; false: by put_bytes */
};

/* Take the next field off *rest. ERR_OK with *out_end true at the end, *out untouched then. */
enum err base_record_next(struct slice *rest, struct base_field *out, bool *out_end) MUST_CHECK;
/* Field after field to the end; anything but ERR_OK from visit ends it and is returned. */
typedef enum err base_field_visit(void *ctx, const struct base_field *field);
enum err base_record_visit(struct slice record, base_field_visit *visit, void *ctx) MUST_CHECK;
/* ERR_CORRUPT for bytes. */
enum err base_field_number(const struct base_field *field, uint64_t *out) MUST_CHECK;
enum err base_field_time(const struct base_field *field, int64_t *out_us) MUST_CHECK;
/* A field's bytes as a NUL-terminated text of at most out_bytes - 1; ERR_CORRUPT for a number, a
 * longer text, or a NUL inside it. */
enum err base_field_text(const struct base_field *field, char *out, size_t out_bytes) MUST_CHECK;

/* Varint (LEB128, at most 10 bytes), also used inside stored values. */
enum err base_varint_put(struct buf *out, uint64_t value);
/* Takes it off *rest; ERR_CORRUPT when cut short, too long or longer than the value needs. */
enum err base_varint_take(struct slice *rest, uint64_t *out) MUST_CHECK;

#endif

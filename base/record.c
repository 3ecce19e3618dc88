/*
 * base/record.c - tagged fields, and varints.
 *
 * Form of a field:   varint(tag * 2)      varint(length)  bytes     bytes
 *                    varint(tag * 2 + 1)  varint(value)             integer
 * so a reader can skip either kind without knowing the tag. Varints are minimal: one value has one
 * form, and a stored record compares equal to the same record written again.
 */
#include "base/record.h"

#include "base/banned.h"

#define TAG_MAX      65535
#define VARINT_BYTES 10

#define KIND_BYTES  0U
#define KIND_NUMBER 1U

static size_t varint_write(uint8_t out[VARINT_BYTES], uint64_t value)
{
    size_t len = 0;
    while (value >= 0x80) {
        out[len++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[len++] = (uint8_t)value;
    return len;
}

enum err base_varint_put(struct buf *out, uint64_t value)
{
    uint8_t bytes[VARINT_BYTES];
    return base_buf_append(out, base_slice(bytes, varint_write(bytes, value)));
}

enum err base_varint_take(struct slice *rest, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < rest->len && i < VARINT_BYTES; i++) {
        uint8_t byte = rest->ptr[i];
        if (i == VARINT_BYTES - 1 && byte > 1)
            return ERR_CORRUPT; /* beyond 64 bits */
        value |= (uint64_t)(byte & 0x7F) << (7 * i);
        if ((byte & 0x80) != 0)
            continue;
        if (byte == 0 && i > 0)
            return ERR_CORRUPT; /* a shorter form exists */
        *rest = base_slice_skip(*rest, i + 1);
        *out = value;
        return ERR_OK;
    }
    return ERR_CORRUPT;
}

/* Writes a head and, after it, a number or a length. */
static size_t head_write(uint8_t out[2 * VARINT_BYTES], uint32_t tag, uint32_t kind, uint64_t value)
{
    INVARIANT(tag >= 1 && tag <= TAG_MAX);
    size_t len = varint_write(out, tag << 1 | kind);
    return len + varint_write(out + len, value);
}

enum err base_record_put_bytes(struct buf *out, uint32_t tag, struct slice value)
{
    uint8_t head[2 * VARINT_BYTES];
    size_t head_len = head_write(head, tag, KIND_BYTES, value.len);
    /* Reserve both parts or neither. */
    bool is_countable = value.len <= SIZE_MAX - head_len;
    enum err e = base_buf_reserve(out, is_countable ? head_len + value.len : SIZE_MAX);
    if (e != ERR_OK)
        return e;
    e = base_buf_append(out, base_slice(head, head_len));
    return e != ERR_OK ? e : base_buf_append(out, value);
}

enum err base_record_put_u64(struct buf *out, uint32_t tag, uint64_t value)
{
    uint8_t head[2 * VARINT_BYTES];
    return base_buf_append(out, base_slice(head, head_write(head, tag, KIND_NUMBER, value)));
}

static enum err take_number(struct slice *rest, struct base_field *field)
{
    const uint8_t *from = rest->ptr;
    enum err e = base_varint_take(rest, &field->number);
    if (e != ERR_OK)
        return e;
    field->bytes = base_slice(from, (size_t)(rest->ptr - from));
    field->is_number = true;
    return ERR_OK;
}

static enum err take_bytes(struct slice *rest, struct base_field *field)
{
    uint64_t len = 0;
    enum err e = base_varint_take(rest, &len);
    if (e != ERR_OK)
        return e;
    if (len > rest->len)
        return ERR_CORRUPT;
    field->bytes = base_slice(rest->ptr, (size_t)len);
    *rest = base_slice_skip(*rest, (size_t)len);
    return ERR_OK;
}

enum err base_record_next(struct slice *rest, struct base_field *out, bool *out_end)
{
    if (rest->len == 0) {
        *out_end = true;
        return ERR_OK;
    }
    struct slice at = *rest;
    uint64_t head = 0;
    enum err e = base_varint_take(&at, &head);
    if (e != ERR_OK)
        return e;
    uint64_t tag = head >> 1;
    if (tag < 1 || tag > TAG_MAX)
        return ERR_CORRUPT;
    struct base_field field = {.tag = (uint32_t)tag};
    e = (head & 1) == KIND_NUMBER ? take_number(&at, &field) : take_bytes(&at, &field);
    if (e != ERR_OK)
        return e;
    *rest = at;
    *out = field;
    *out_end = false;
    return ERR_OK;
}

enum err base_record_visit(struct slice record, base_field_visit *visit, void *ctx)
{
    for (;;) {
        struct base_field field;
        bool end = false;
        enum err rc = base_record_next(&record, &field, &end);
        if (rc != ERR_OK || end)
            return rc;
        rc = visit(ctx, &field);
        if (rc != ERR_OK)
            return rc;
    }
}

enum err base_field_number(const struct base_field *field, uint64_t *out)
{
    if (!field->is_number)
        return ERR_CORRUPT;
    *out = field->number;
    return ERR_OK;
}

enum err base_field_time(const struct base_field *field, int64_t *out_us)
{
    if (!field->is_number)
        return ERR_CORRUPT;
    *out_us = (int64_t)field->number;
    return ERR_OK;
}

enum err base_field_text(const struct base_field *field, char *out, size_t out_bytes)
{
    struct slice text = field->bytes;
    if (field->is_number || text.len >= out_bytes)
        return ERR_CORRUPT;
    if (text.len > 0 && memchr(text.ptr, '\0', text.len) != NULL)
        return ERR_CORRUPT;
    if (text.len > 0)
        memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
    return ERR_OK;
}

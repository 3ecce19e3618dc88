/*
 * gateway/grpc/wire_write.h - protobuf's wire format, written by hand.
 *
 * Does:     writes varints and fields into existing memory, or to the end of a buf; computes how
 *           many bytes they need.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: messages: field numbers are the caller's.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: the buf's latched error; functions that write to a pointer rely on enough memory there.
 * Limits:   the buf's max.
 * Promises: 1. Varints are as short as possible.
 *           2. A written field is exactly as long as its size function says.
 */
#ifndef GATEWAY_GRPC_WIRE_WRITE_H
#define GATEWAY_GRPC_WIRE_WRITE_H

#include "base/buf.h"
#include "base/slice.h"

#define GW_WIRE_VARINT_MAX 10

/* Wire types 0 and 2 of the encoding; the others are not used here. */
static inline uint64_t gw_wire_tag_int(uint32_t field)
{
    return (uint64_t)field << 3;
}

static inline uint64_t gw_wire_tag_bytes(uint32_t field)
{
    return (uint64_t)field << 3 | 2;
}

/* --- sizes -------------------------------------------------------------------------------------
 */

static inline size_t gw_wire_varint_size(uint64_t value)
{
    unsigned bits = 64u - (unsigned)__builtin_clzll(value | 1);
    return (bits + 6) / 7;
}

static inline size_t gw_wire_bytes_size(uint32_t field, size_t len)
{
    return gw_wire_varint_size(gw_wire_tag_bytes(field)) + gw_wire_varint_size(len) + len;
}

static inline size_t gw_wire_int_size(uint32_t field, uint64_t value)
{
    return gw_wire_varint_size(gw_wire_tag_int(field)) + gw_wire_varint_size(value);
}

/* --- into memory that is there; all return the end ---------------------------------------------
 */

static inline uint8_t *gw_wire_varint(uint8_t *to, uint64_t value)
{
    while (value >= 0x80) {
        *to++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *to++ = (uint8_t)value;
    return to;
}

/* Writes the head of a field of `len` bytes, or of a message that long. */
static inline uint8_t *gw_wire_head(uint8_t *to, uint32_t field, size_t len)
{
    return gw_wire_varint(gw_wire_varint(to, gw_wire_tag_bytes(field)), len);
}

static inline uint8_t *gw_wire_bytes(uint8_t *to, uint32_t field, struct slice bytes)
{
    to = gw_wire_head(to, field, bytes.len);
    if (bytes.len != 0)
        memcpy(to, bytes.ptr, bytes.len);
    return to + bytes.len;
}

static inline uint8_t *gw_wire_int(uint8_t *to, uint32_t field, uint64_t value)
{
    return gw_wire_varint(gw_wire_varint(to, gw_wire_tag_int(field)), value);
}

/* --- at the end of a buf; errors latch ---------------------------------------------------------
 */

void gw_wire_put_varint(struct buf *out, uint64_t value);
void gw_wire_put_bytes(struct buf *out, uint32_t field, struct slice bytes);
/* Negative numbers of int32 and int64 fields are passed as their 64 bits. */
void gw_wire_put_int(struct buf *out, uint32_t field, uint64_t value);

#endif

/*
 * gateway/grpc/wire_write.c - protobuf's wire format, at the end of a buf.
 */
#include "gateway/grpc/wire_write.h"

#include "base/banned.h"

static void wrote(struct buf *out, const uint8_t *end)
{
    out->len = (size_t)(end - out->ptr);
}

void gw_wire_put_varint(struct buf *out, uint64_t value)
{
    if (base_buf_reserve(out, GW_WIRE_VARINT_MAX) == ERR_OK)
        wrote(out, gw_wire_varint(base_buf_end(out), value));
}

void gw_wire_put_bytes(struct buf *out, uint32_t field, struct slice bytes)
{
    if (base_buf_reserve(out, gw_wire_bytes_size(field, bytes.len)) == ERR_OK)
        wrote(out, gw_wire_bytes(base_buf_end(out), field, bytes));
}

void gw_wire_put_int(struct buf *out, uint32_t field, uint64_t value)
{
    if (base_buf_reserve(out, gw_wire_int_size(field, value)) == ERR_OK)
        wrote(out, gw_wire_int(base_buf_end(out), field, value));
}

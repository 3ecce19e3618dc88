/* cli/wire.c - see wire.h. */
#include "cli/wire.h"

#include "base/banned.h"

#define MORE 0x80

static void put_varint(struct buf *out, uint64_t number)
{
    for (; number >= MORE; number >>= 7)
        base_buf_append_byte(out, (uint8_t)(number | MORE));
    base_buf_append_byte(out, (uint8_t)number);
}

void cli_wire_put_number(struct buf *out, unsigned field, uint64_t number)
{
    put_varint(out, CLI_WIRE_TAG(field, CLI_WIRE_NUMBER));
    put_varint(out, number);
}

void cli_wire_put_head(struct buf *out, unsigned field, size_t len)
{
    put_varint(out, CLI_WIRE_TAG(field, CLI_WIRE_BYTES));
    put_varint(out, len);
}

void cli_wire_put_bytes(struct buf *out, unsigned field, struct slice bytes)
{
    cli_wire_put_head(out, field, bytes.len);
    base_buf_append(out, bytes);
}

static bool take_varint(struct slice *in, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && in->len > 0; shift += 7) {
        uint8_t byte = in->ptr[0];
        *in = base_slice_skip(*in, 1);
        *out |= (uint64_t)(byte & (MORE - 1)) << shift;
        if (byte < MORE)
            return true;
    }
    return false;
}

bool cli_wire_next(struct slice *in, struct cli_wire_field *out)
{
    uint64_t len = 0;
    memset(out, 0, sizeof *out);
    if (!take_varint(in, &out->tag) || out->tag >> 3 == 0)
        return false;
    switch (out->tag & 7) {
    case CLI_WIRE_NUMBER:
        return take_varint(in, &out->number);
    case CLI_WIRE_8:
        len = 8;
        break;
    case CLI_WIRE_4:
        len = 4;
        break;
    case CLI_WIRE_BYTES:
        if (!take_varint(in, &len))
            return false;
        break;
    default:
        return false;
    }
    if (len > in->len)
        return false;
    if ((out->tag & 7) == CLI_WIRE_BYTES)
        out->bytes = base_slice(in->ptr, len);
    *in = base_slice_skip(*in, len);
    return true;
}

bool cli_wire_find(struct slice message, uint64_t tag, struct cli_wire_field *out)
{
    struct cli_wire_field field;
    memset(out, 0, sizeof *out);
    while (message.len > 0) {
        if (!cli_wire_next(&message, &field))
            return false;
        if (field.tag == tag)
            *out = field;
    }
    return true;
}

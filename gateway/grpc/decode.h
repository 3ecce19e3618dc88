/*
 * gateway/grpc/decode.h - decodes untrusted protobuf messages.
 *
 * Does:     checks the bytes of a message against its type and unpacks them in the same walk.
 * Owns:     nothing; messages, lists and texts are in the arena, fields of type bytes point into
 *           the input, which must live as long.
 * May use:  base/, protobuf-c.
 * Knows no: meaning of messages.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID naming the field; ERR_TOO_BIG when the arena is full, messages are nested
 *           too deeply or there are too many fields; ERR_NO_MEMORY.
 * Limits:   GW_PROTO_DEPTH, GW_PROTO_FIELDS; the arena's.
 * Promises: 1. No recursion, here or in code that walks the message later, over more than
 *              GW_PROTO_DEPTH levels, whatever the bytes.
 *           2. Text fields of an accepted message are UTF-8 without NUL: protobuf-c ends them at
 *              the first one.
 *           3. Unknown fields are skipped and cost no memory.
 *           4. Time is linear in fields and text, memory bounded by the arena, even if a field is
 *              repeated again and again: the last one counts, messages are merged.
 */
#ifndef GATEWAY_GRPC_DECODE_H
#define GATEWAY_GRPC_DECODE_H

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

/* Nesting of messages. A filter of LIM_FILTER_DEPTH needs two levels for each of its own. */
#define GW_PROTO_DEPTH 100
/* Fields of a message and of all messages in it, unknown ones too; bounds the time that a message
 * may cost. LIM_MUTATIONS_PER_ROW of the longest kind, each in an entry of its own, are 1.3
 * million. */
#define GW_PROTO_FIELDS (2 * 1024 * 1024)

enum err gw_proto_decode(const ProtobufCMessageDescriptor *type, struct slice bytes,
                         struct arena *arena, ProtobufCMessage **out, struct errbuf *eb) MUST_CHECK;

/* Returns an empty message of that type, to be filled in; NULL: no memory. */
static inline void *gw_proto_new(struct arena *arena, const ProtobufCMessageDescriptor *type)
{
    ProtobufCMessage *message = base_arena_alloc(arena, type->sizeof_message);
    if (message != NULL)
        protobuf_c_message_init(type, message);
    return message;
}

/* Returns the size of one value in the structure of a message. */
size_t gw_proto_value_size(ProtobufCType type);

static inline struct slice gw_proto_bytes(ProtobufCBinaryData data)
{
    return base_slice(data.data, data.len);
}

/* Converts bytes for a message that will only be packed, which reads them. */
static inline ProtobufCBinaryData gw_proto_data(struct slice bytes)
{
    return (ProtobufCBinaryData){bytes.len, (uint8_t *)(uintptr_t)bytes.ptr};
}

#endif

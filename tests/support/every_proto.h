/*
 * tests/support/every_proto.h - protobuf messages of any type, for tests of decoders.
 *
 * Does:     describe a type that has every kind of field; fill a message of any type with random
 *           values; append a message's bytes to a buf.
 * Owns:     nothing; messages live in the arena.
 * May use:  base/, protobuf-c.
 * Knows no: the decoders.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: a broken invariant when the arena is full.
 * Limits:   EVERY_DEPTH.
 * Promises: 1. Texts are UTF-8 without NUL, as decoders require.
 */
#ifndef TESTS_SUPPORT_EVERY_PROTO_H
#define TESTS_SUPPORT_EVERY_PROTO_H

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/buf.h"
#include "tests/support/random.h"

#define EVERY_TYPES (PROTOBUF_C_TYPE_MESSAGE + 1)
#define EVERY_DEPTH 4

/* Field numbers are one of these plus a ProtobufCType. */
enum every_kind { EVERY_SINGLE = 1, EVERY_LIST = 31, EVERY_PACKED = 61, EVERY_ONEOF = 91 };

union every_value {
    uint32_t u32;
    uint64_t u64;
    protobuf_c_boolean boolean;
    char *text;
    ProtobufCBinaryData bytes;
    ProtobufCMessage *message;
    void *list;
};

struct every {
    ProtobufCMessage base;
    protobuf_c_boolean has[EVERY_TYPES];
    union every_value single[EVERY_TYPES];
    size_t list_count[EVERY_TYPES];
    union every_value list[EVERY_TYPES];
    size_t packed_count[EVERY_TYPES];
    union every_value packed[EVERY_TYPES];
    uint32_t which; /* a field number of EVERY_ONEOF, or 0 */
    union every_value oneof;
};

/* Returns the type; its message fields have the same type. */
const ProtobufCMessageDescriptor *every_type(void);

ProtobufCMessage *every_random(const ProtobufCMessageDescriptor *type, struct arena *arena,
                               struct random *random);
void every_pack(const ProtobufCMessage *message, struct buf *out);

#endif

/*
 * tests/grpc/decode_case.h - bytes of a tests.Every written by hand, and their verdict.
 */
#ifndef TESTS_GRPC_DECODE_CASE_H
#define TESTS_GRPC_DECODE_CASE_H

#include <check.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "gateway/grpc/decode.h"
#include "tests/support/every_proto.h"

#define ARENA_MAX (1 * MIB)
#define VARINT    PROTOBUF_C_WIRE_TYPE_VARINT
#define FIXED64   PROTOBUF_C_WIRE_TYPE_64BIT
#define LENGTH    PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED
#define FIXED32   PROTOBUF_C_WIRE_TYPE_32BIT
#define UNKNOWN   28 /* a number that tests.Every does not have */
#define TEXT      (EVERY_SINGLE + PROTOBUF_C_TYPE_STRING)
#define BYTES     (EVERY_SINGLE + PROTOBUF_C_TYPE_BYTES)
#define MESSAGE   (EVERY_SINGLE + PROTOBUF_C_TYPE_MESSAGE)
#define NUMBER    (EVERY_SINGLE + PROTOBUF_C_TYPE_UINT64)

static struct buf bytes;
static struct arena arena;
static struct errbuf eb;
static struct every *got;

static inline void set_up(void)
{
    base_buf_init(&bytes, 64 * MIB);
    base_arena_init(&arena, ARENA_MAX);
    eb.text[0] = '\0';
    got = NULL;
}

static inline void tear_down(void)
{
    base_alloc_fail_after(-1);
    base_buf_fini(&bytes);
    base_arena_fini(&arena);
}

static inline void put_varint(uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        (void)base_buf_append_byte(&bytes, (uint8_t)(value | 0x80));
    (void)base_buf_append_byte(&bytes, (uint8_t)value);
}

static inline void put_tag(uint32_t id, unsigned wire)
{
    put_varint((uint64_t)id << 3 | wire);
}

static inline void put_field(uint32_t id, struct slice value)
{
    put_tag(id, LENGTH);
    put_varint(value.len);
    (void)base_buf_append(&bytes, value);
}

/* Decodes the bytes from their own allocation, so that a sanitizer detects reads past the end. */
static inline enum err decode(void)
{
    static uint8_t *alone;
    ProtobufCMessage *message = NULL;
    base_free(alone);
    alone = base_new(bytes.len == 0 ? 1 : bytes.len); /* not an allocation that tests make fail */
    if (bytes.len > 0)
        memcpy(alone, bytes.ptr, bytes.len);
    eb.text[0] = '\0';
    size_t max = arena.max;
    base_arena_fini(&arena);
    base_arena_init(&arena, max);
    enum err e = gw_proto_decode(every_type(), base_slice(alone, bytes.len), &arena, &message, &eb);
    ck_assert_int_eq(e != ERR_OK, eb.text[0] != '\0');
    ck_assert_int_eq(e == ERR_OK, message != NULL);
    got = (struct every *)message;
    return e;
}

static inline enum err decode_raw(const char *raw, size_t len)
{
    base_buf_truncate(&bytes, 0);
    (void)base_buf_append(&bytes, base_slice(raw, len));
    return decode();
}

#define DECODE(literal) decode_raw("" literal, sizeof(literal) - 1)

/* Appends a value that is valid for any wire type: zeros, which as a length mean an empty value. */
static inline void put_zero(uint32_t id, unsigned wire)
{
    put_tag(id, wire);
    for (unsigned i = wire == FIXED64 ? 8 : wire == FIXED32 ? 4 : 1; i > 0; i--)
        (void)base_buf_append_byte(&bytes, 0);
}

#endif

/*
 * Messages of every kind, checked against protobuf-c's own packing and unpacking.
 */
#include <check.h>

#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <google/bigtable/v2/bigtable.pb-c.h>
#include <google/rpc/error_details.pb-c.h>
#include <grpc/reflection/v1/reflection.pb-c.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "gateway/grpc/decode.h"
#include "tests/support/every_proto.h"

#include "base/banned.h"

#define ROUNDS    400
#define CUT_BYTES 3000 /* of messages that are cut at every byte */

static const ProtobufCMessageDescriptor *types[16];
static size_t type_count;
static struct random numbers;
static struct arena made;
static struct arena decoded;
static struct buf packed;
static struct buf again;
static struct errbuf eb;

static void set_up(void)
{
    const ProtobufCMessageDescriptor *const ALL[] = {
        every_type(),
        &bt__read_rows_request__descriptor,
        &bt__read_rows_response__descriptor,
        &bt__mutate_rows_request__descriptor,
        &bt__check_and_mutate_row_request__descriptor,
        &bt__read_modify_write_row_request__descriptor,
        &bt__mutate_row_request__descriptor,
        &bt__row_filter__descriptor,
        &rpc__error_info__descriptor,
    };
    type_count = sizeof ALL / sizeof ALL[0];
    memcpy(types, ALL, sizeof ALL);
    numbers.state = 20261020;
    base_buf_init(&packed, 16 * MIB);
    base_buf_init(&again, 16 * MIB);
    base_arena_init(&made, 64 * MIB);
    base_arena_init(&decoded, 64 * MIB);
}

static void tear_down(void)
{
    base_buf_fini(&packed);
    base_buf_fini(&again);
    base_arena_fini(&made);
    base_arena_fini(&decoded);
}

static void make(const ProtobufCMessageDescriptor *type)
{
    base_arena_fini(&made);
    base_arena_init(&made, 64 * MIB);
    base_buf_truncate(&packed, 0);
    every_pack(every_random(type, &made, &numbers), &packed);
}

static enum err decode(const ProtobufCMessageDescriptor *type, struct slice bytes,
                       ProtobufCMessage **out)
{
    base_arena_fini(&decoded);
    base_arena_init(&decoded, 64 * MIB);
    eb.text[0] = '\0';
    return gw_proto_decode(type, bytes, &decoded, out, &eb);
}

static void expect_packs_to(const ProtobufCMessage *message, const ProtobufCMessage *wanted)
{
    size_t len = protobuf_c_message_get_packed_size(wanted);
    uint8_t *bytes = base_try_alloc(len + 1);
    ck_assert_uint_eq(protobuf_c_message_pack(wanted, bytes), len);
    base_buf_truncate(&again, 0);
    every_pack(message, &again);
    ck_assert(base_slice_equal(base_buf_slice(&again), base_slice(bytes, len)));
    base_free(bytes);
}

START_TEST(what_was_packed_comes_back)
{
    for (int i = 0; i < ROUNDS; i++) {
        const ProtobufCMessageDescriptor *type = types[(size_t)i % type_count];
        ProtobufCMessage *message = NULL;
        make(type);
        ck_assert_int_eq(decode(type, base_buf_slice(&packed), &message), ERR_OK);
        ck_assert_ptr_eq(message->descriptor, type);
        ck_assert_uint_eq(message->n_unknown_fields, 0);
        base_buf_truncate(&again, 0);
        every_pack(message, &again);
        ck_assert(base_slice_equal(base_buf_slice(&again), base_buf_slice(&packed)));
    }
}
END_TEST

/* A copy of exactly that many bytes, so that a sanitizer sees who reads on. */
static void expect_same_verdict(const ProtobufCMessageDescriptor *type, size_t len)
{
    uint8_t *bytes = base_try_alloc(len == 0 ? 1 : len);
    ProtobufCMessage *message = NULL;
    if (len > 0)
        memcpy(bytes, packed.ptr, len);
    enum err e = decode(type, base_slice(bytes, len), &message);
    ProtobufCMessage *wanted = protobuf_c_message_unpack(type, NULL, len, bytes);
    ck_assert_int_eq(e, wanted == NULL ? ERR_INVALID : ERR_OK);
    ck_assert_int_eq(eb.text[0] != '\0', e != ERR_OK);
    if (wanted != NULL) {
        expect_packs_to(message, wanted);
        protobuf_c_message_free_unpacked(wanted, NULL);
    }
    base_free(bytes);
}

START_TEST(cut_at_every_byte_it_is_taken_or_refused_as_protobuf_c_does)
{
    for (size_t i = 0; i < 4 * type_count; i++) {
        const ProtobufCMessageDescriptor *type = types[i % type_count];
        make(type);
        size_t len = packed.len < CUT_BYTES ? packed.len : CUT_BYTES;
        for (size_t cut = 0; cut <= len; cut++)
            expect_same_verdict(type, cut);
    }
}
END_TEST

START_TEST(damaged_bytes_give_a_message_or_a_reason)
{
    int taken = 0, refused = 0;
    for (int i = 0; i < 8 * ROUNDS; i++) {
        const ProtobufCMessageDescriptor *type = types[(size_t)i % type_count];
        ProtobufCMessage *message = NULL, *second = NULL;
        make(type);
        for (uint32_t n = random_below(&numbers, 4) + 1; n > 0 && packed.len > 0; n--)
            packed.ptr[random_below(&numbers, (uint32_t)packed.len)] =
                (uint8_t)random_next(&numbers);
        enum err e = decode(type, base_buf_slice(&packed), &message);
        taken += e == ERR_OK;
        refused += e != ERR_OK;
        ck_assert_int_eq(eb.text[0] != '\0', e != ERR_OK);
        ck_assert(e == ERR_OK || message == NULL);
        if (e != ERR_OK)
            continue;
        base_buf_truncate(&again, 0);
        every_pack(message, &again);
        base_buf_truncate(&packed, 0);
        ck_assert_int_eq(base_buf_append(&packed, base_buf_slice(&again)), ERR_OK);
        ck_assert_int_eq(decode(type, base_buf_slice(&packed), &second), ERR_OK);
        base_buf_truncate(&again, 0);
        every_pack(second, &again);
        ck_assert(base_slice_equal(base_buf_slice(&again), base_buf_slice(&packed)));
    }
    ck_assert_int_gt(taken, ROUNDS / 4);
    ck_assert_int_gt(refused, ROUNDS / 4);
}
END_TEST

Suite *suite_grpc_decode_random(void);
Suite *suite_grpc_decode_random(void);
Suite *suite_grpc_decode_random(void)
{
    Suite *suite = suite_create("grpc_decode_random");
    TCase *random = tcase_create("random");
    tcase_set_timeout(random, 120);
    tcase_add_checked_fixture(random, set_up, tear_down);
    tcase_add_test(random, what_was_packed_comes_back);
    tcase_add_test(random, cut_at_every_byte_it_is_taken_or_refused_as_protobuf_c_does);
    tcase_add_test(random, damaged_bytes_give_a_message_or_a_reason);
    suite_add_tcase(suite, random);
    return suite;
}

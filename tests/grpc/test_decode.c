/*
 * What messages of strangers may and may not say, byte by byte.
 */
#include <google/bigtable/v2/bigtable.pb-c.h>

#include "tests/grpc/decode_case.h"

#include "base/banned.h"

/* --- bytes of the wire -----------------------------------------------------------------------
 */

START_TEST(nothing_is_an_empty_message)
{
    ck_assert_int_eq(decode(), ERR_OK);
    ck_assert_uint_eq(protobuf_c_message_get_packed_size(&got->base), 0);
}
END_TEST

START_TEST(varint_has_at_most_64_bits)
{
    put_tag(NUMBER, VARINT);
    size_t tag = bytes.len;
    put_varint(UINT64_MAX);
    ck_assert_uint_eq(bytes.len, tag + 10);
    ck_assert_int_eq(decode(), ERR_OK);
    ck_assert_uint_eq(got->single[PROTOBUF_C_TYPE_UINT64].u64, UINT64_MAX);
    bytes.ptr[tag + 9] = 2;
    ck_assert_int_eq(decode(), ERR_INVALID);
    bytes.ptr[tag + 9] = 0x81;
    (void)base_buf_append_byte(&bytes, 0);
    ck_assert_int_eq(decode(), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "of_every of tests.Every"));
}
END_TEST

START_TEST(varint_may_be_longer_than_needed)
{
    put_tag(NUMBER, VARINT);
    (void)base_buf_append(&bytes, base_slice("\x85\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10));
    ck_assert_int_eq(decode(), ERR_OK);
    ck_assert_uint_eq(got->single[PROTOBUF_C_TYPE_UINT64].u64, 5);
}
END_TEST

START_TEST(field_number_0_is_refused)
{
    for (unsigned wire = 0; wire < 8; wire++) {
        char raw[] = {(char)wire, 0, 0, 0, 0, 0, 0, 0, 0};
        ck_assert_int_eq(decode_raw(raw, sizeof raw), ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(eb.text, "number 0"));
    }
}
END_TEST

START_TEST(tag_has_at_most_32_bits)
{
    ck_assert_int_eq(DECODE("\xf8\xff\xff\xff\x0f\x00"), ERR_OK);
    ck_assert_int_eq(DECODE("\xf8\xff\xff\xff\x1f\x00"), ERR_INVALID);
    ck_assert_int_eq(DECODE("\xf8"), ERR_INVALID);
}
END_TEST

START_TEST(groups_and_wire_types_without_meaning_are_refused)
{
    static const unsigned WIRES[] = {3, 4, 6, 7};
    static const uint32_t IDS[] = {UNKNOWN, MESSAGE, EVERY_LIST + PROTOBUF_C_TYPE_MESSAGE};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 3; j++) {
            base_buf_truncate(&bytes, 0);
            put_tag(IDS[j], WIRES[i]);
            put_tag(IDS[j], 4);
            ck_assert_int_eq(decode(), ERR_INVALID);
            ck_assert_ptr_nonnull(strstr(eb.text, "wire type"));
        }
}
END_TEST

START_TEST(length_may_reach_the_end_and_not_beyond)
{
    static const uint64_t BEYOND[] = {4, 5, 127, 128, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
    for (uint32_t id = BYTES; id <= UNKNOWN; id += UNKNOWN - BYTES) {
        base_buf_truncate(&bytes, 0);
        put_field(id, SLICE_LIT("abc"));
        ck_assert_int_eq(decode(), ERR_OK);
        for (size_t i = 0; i < sizeof BEYOND / sizeof BEYOND[0]; i++) {
            base_buf_truncate(&bytes, 0);
            put_tag(id, LENGTH);
            put_varint(BEYOND[i]);
            (void)base_buf_append(&bytes, SLICE_LIT("abc"));
            ck_assert_int_eq(decode(), ERR_INVALID);
            ck_assert_ptr_nonnull(strstr(eb.text, "longer than what it is in"));
        }
    }
}
END_TEST

START_TEST(inner_length_ends_with_the_message_it_is_in)
{
    put_tag(MESSAGE, LENGTH);
    put_varint(5);
    put_tag(BYTES, LENGTH);
    put_varint(2);
    (void)base_buf_append(&bytes, SLICE_LIT("ab"));
    put_field(BYTES, SLICE_LIT("xyz"));
    ck_assert_int_eq(decode(), ERR_OK);
    bytes.ptr[5] = 3; /* the next field's tag is there, but not in this message */
    ck_assert_int_eq(decode(), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "longer than what it is in"));
}
END_TEST

/* --- types ----------------------------------------------------------------------------------- */

static unsigned wire_of(int type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return FIXED32;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return LENGTH;
    default:
        return VARINT;
    }
}

START_TEST(wire_type_must_fit_the_type)
{
    static const unsigned WIRES[] = {VARINT, FIXED64, LENGTH, FIXED32};
    static const enum every_kind KINDS[] = {EVERY_SINGLE, EVERY_LIST, EVERY_PACKED, EVERY_ONEOF};
    for (int type = 0; type < EVERY_TYPES; type++)
        for (size_t k = 0; k < 4; k++)
            for (size_t w = 0; w < 4; w++) {
                bool is_list = KINDS[k] == EVERY_LIST || KINDS[k] == EVERY_PACKED;
                bool is_good = WIRES[w] == wire_of(type) || (is_list && WIRES[w] == LENGTH);
                base_buf_truncate(&bytes, 0);
                put_zero((uint32_t)KINDS[k] + (uint32_t)type, WIRES[w]);
                ck_assert_int_eq(decode(), is_good ? ERR_OK : ERR_INVALID);
            }
}
END_TEST

START_TEST(lists_of_numbers_are_taken_packed_or_not_whatever_is_declared)
{
    for (int kind = EVERY_LIST; kind <= EVERY_PACKED; kind += EVERY_PACKED - EVERY_LIST) {
        uint32_t id = (uint32_t)kind + PROTOBUF_C_TYPE_SINT32;
        base_buf_truncate(&bytes, 0);
        put_field(id, SLICE_LIT("\x01\x02\x03"));
        put_tag(id, VARINT);
        put_varint(4);
        put_field(id, SLICE_EMPTY);
        put_field(id, SLICE_LIT("\x05"));
        ck_assert_int_eq(decode(), ERR_OK);
        bool is_packed = kind == EVERY_PACKED;
        size_t count = (is_packed ? got->packed_count : got->list_count)[PROTOBUF_C_TYPE_SINT32];
        const int32_t *list = (is_packed ? got->packed : got->list)[PROTOBUF_C_TYPE_SINT32].list;
        static const int32_t WANTED[] = {-1, 1, -2, 2, -3};
        ck_assert_uint_eq(count, 5);
        ck_assert_mem_eq(list, WANTED, sizeof WANTED);
    }
}
END_TEST

START_TEST(packed_list_that_is_cut_is_refused)
{
    put_field(EVERY_PACKED + PROTOBUF_C_TYPE_UINT64, SLICE_LIT("\x01\x80"));
    ck_assert_int_eq(decode(), ERR_INVALID);
    base_buf_truncate(&bytes, 0);
    put_field(EVERY_PACKED + PROTOBUF_C_TYPE_FIXED32, SLICE_LIT("\1\2\3\4\5\6\7"));
    ck_assert_int_eq(decode(), ERR_INVALID);
    base_buf_truncate(&bytes, 0);
    put_field(EVERY_PACKED + PROTOBUF_C_TYPE_DOUBLE, SLICE_LIT("\1\2\3\4\5\6\7"));
    ck_assert_int_eq(decode(), ERR_INVALID);
}
END_TEST

START_TEST(fields_of_bytes_point_into_what_was_given)
{
    static const char RAW[] = "\x12\x03key";
    struct slice raw = base_slice(RAW, sizeof RAW - 1);
    ProtobufCMessage *message = NULL;
    enum err e = gw_proto_decode(&bt__mutate_row_request__descriptor, raw, &arena, &message, &eb);
    ck_assert_int_eq(e, ERR_OK);
    const Bt__MutateRowRequest *request = (const Bt__MutateRowRequest *)message;
    ck_assert_ptr_eq(request->row_key.data, RAW + 2);
    ck_assert(base_slice_is(gw_proto_bytes(request->row_key), "key"));
}
END_TEST

/* --- text ------------------------------------------------------------------------------------ */

START_TEST(text_must_be_utf8_without_nul)
{
    static const struct {
        struct slice text;
        enum err verdict;
    } CASES[] = {
        {SLICE_LIT(""), ERR_OK},
        {SLICE_LIT("plain"), ERR_OK},
        {SLICE_LIT("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x01\x7f"), ERR_OK},
        {SLICE_LIT("a\0b"), ERR_INVALID},
        {SLICE_LIT("\0"), ERR_INVALID},
        {SLICE_LIT("a\0"), ERR_INVALID},
        {SLICE_LIT("\xff"), ERR_INVALID},
        {SLICE_LIT("\xc0\x80"), ERR_INVALID},
        {SLICE_LIT("abc\xe2\x82"), ERR_INVALID},
        {SLICE_LIT("\xed\xa0\x80"), ERR_INVALID},
    };
    static const uint32_t IDS[] = {TEXT, EVERY_LIST + PROTOBUF_C_TYPE_STRING,
                                   EVERY_ONEOF + PROTOBUF_C_TYPE_STRING};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        for (size_t j = 0; j < 3; j++) {
            base_buf_truncate(&bytes, 0);
            put_field(IDS[j], CASES[i].text);
            ck_assert_int_eq(decode(), CASES[i].verdict);
            if (CASES[i].verdict != ERR_OK)
                continue;
            char *const *list = got->list[PROTOBUF_C_TYPE_STRING].list;
            const char *text = j == 0   ? got->single[PROTOBUF_C_TYPE_STRING].text
                               : j == 1 ? list[0]
                                        : got->oneof.text;
            ck_assert_uint_eq(strlen(text), CASES[i].text.len);
            ck_assert(base_slice_is(CASES[i].text, text));
        }
}
END_TEST

START_TEST(fields_of_bytes_may_hold_anything)
{
    put_field(BYTES, SLICE_LIT("\0\xff\xc0"));
    ck_assert_int_eq(decode(), ERR_OK);
    ProtobufCBinaryData data = got->single[PROTOBUF_C_TYPE_BYTES].bytes;
    ck_assert(base_slice_equal(gw_proto_bytes(data), SLICE_LIT("\0\xff\xc0")));
    base_buf_truncate(&bytes, 0);
    put_field(BYTES, SLICE_EMPTY);
    ck_assert_int_eq(decode(), ERR_OK);
    ck_assert_int_eq(got->has[PROTOBUF_C_TYPE_BYTES], 1);
    ck_assert_uint_eq(got->single[PROTOBUF_C_TYPE_BYTES].bytes.len, 0);
}
END_TEST

Suite *suite_grpc_decode(void);
Suite *suite_grpc_decode(void);
Suite *suite_grpc_decode(void)
{
    Suite *suite = suite_create("grpc_decode");
    TCase *wire = tcase_create("wire");
    tcase_add_checked_fixture(wire, set_up, tear_down);
    tcase_add_test(wire, nothing_is_an_empty_message);
    tcase_add_test(wire, varint_has_at_most_64_bits);
    tcase_add_test(wire, varint_may_be_longer_than_needed);
    tcase_add_test(wire, field_number_0_is_refused);
    tcase_add_test(wire, tag_has_at_most_32_bits);
    tcase_add_test(wire, groups_and_wire_types_without_meaning_are_refused);
    tcase_add_test(wire, length_may_reach_the_end_and_not_beyond);
    tcase_add_test(wire, inner_length_ends_with_the_message_it_is_in);
    suite_add_tcase(suite, wire);
    TCase *types = tcase_create("types");
    tcase_add_checked_fixture(types, set_up, tear_down);
    tcase_add_test(types, wire_type_must_fit_the_type);
    tcase_add_test(types, lists_of_numbers_are_taken_packed_or_not_whatever_is_declared);
    tcase_add_test(types, packed_list_that_is_cut_is_refused);
    tcase_add_test(types, fields_of_bytes_point_into_what_was_given);
    suite_add_tcase(suite, types);
    TCase *text = tcase_create("text");
    tcase_add_checked_fixture(text, set_up, tear_down);
    tcase_add_test(text, text_must_be_utf8_without_nul);
    tcase_add_test(text, fields_of_bytes_may_hold_anything);
    suite_add_tcase(suite, text);
    return suite;
}

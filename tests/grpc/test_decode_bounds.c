/*
 * What messages of strangers may cost, and what they mean when they say a thing again.
 */
#include "tests/grpc/decode_case.h"

#include "base/banned.h"

/* --- unknown fields -------------------------------------------------------------------------- */

START_TEST(unknown_fields_are_skipped_and_cost_no_memory)
{
    put_tag(NUMBER, VARINT);
    put_varint(7);
    ck_assert_int_eq(decode(), ERR_OK);
    size_t used = arena.used;
    for (int i = 0; i < 10000; i++) {
        put_zero(UNKNOWN, VARINT);
        put_zero(UNKNOWN + 1, FIXED64);
        put_zero(UNKNOWN + 2, FIXED32);
        put_field((1u << 29) - 1, SLICE_LIT("\xff\x03\x00 no message at all"));
    }
    ck_assert_int_eq(decode(), ERR_OK);
    ck_assert_uint_eq(got->single[PROTOBUF_C_TYPE_UINT64].u64, 7);
    ck_assert_uint_eq(got->base.n_unknown_fields, 0);
    ck_assert_uint_eq(arena.used, used);
}
END_TEST

START_TEST(unknown_fields_must_be_whole)
{
    for (unsigned wire = 0; wire < 8; wire++) {
        if (wire == 3 || wire == 4 || wire > 5)
            continue;
        base_buf_truncate(&bytes, 0);
        put_zero(UNKNOWN, wire);
        ck_assert_int_eq(decode(), ERR_OK);
        base_buf_truncate(&bytes, bytes.len - 1);
        ck_assert_int_eq(decode(), ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(eb.text, "field 28 of tests.Every"));
    }
}
END_TEST

/* --- depth and number
 * ----------------------------------------------------------------------------------- */

/* That many messages, each in the one before, the first one being the whole. */
static void put_nested(int levels, uint32_t id)
{
    struct buf inner;
    base_buf_init(&inner, MIB);
    for (int i = 1; i < levels; i++) {
        base_buf_truncate(&bytes, 0);
        put_field(id, base_buf_slice(&inner));
        base_buf_truncate(&inner, 0);
        (void)base_buf_append(&inner, base_buf_slice(&bytes));
    }
    base_buf_fini(&inner);
}

START_TEST(messages_nest_to_the_limit_and_not_deeper)
{
    static const uint32_t IDS[] = {MESSAGE, EVERY_LIST + PROTOBUF_C_TYPE_MESSAGE,
                                   EVERY_ONEOF + PROTOBUF_C_TYPE_MESSAGE};
    for (size_t i = 0; i < 3; i++) {
        put_nested(GW_PROTO_DEPTH - 1, IDS[i]);
        ck_assert_int_eq(decode(), ERR_OK);
        put_nested(GW_PROTO_DEPTH, IDS[i]);
        ck_assert_int_eq(decode(), ERR_OK);
        put_nested(GW_PROTO_DEPTH + 1, IDS[i]);
        ck_assert_int_eq(decode(), ERR_TOO_BIG);
        ck_assert_ptr_nonnull(strstr(eb.text, "100"));
        put_nested(10000, IDS[i]);
        ck_assert_int_eq(decode(), ERR_TOO_BIG);
    }
}
END_TEST

START_TEST(depth_counts_levels_not_messages)
{
    for (int i = 0; i < 3 * GW_PROTO_DEPTH; i++)
        put_field(EVERY_LIST + PROTOBUF_C_TYPE_MESSAGE, SLICE_EMPTY);
    ck_assert_int_eq(decode(), ERR_OK);
    ck_assert_uint_eq(got->list_count[PROTOBUF_C_TYPE_MESSAGE], 3 * GW_PROTO_DEPTH);
}
END_TEST

START_TEST(fields_are_counted_to_the_limit)
{
    for (int i = 0; i < GW_PROTO_FIELDS - 1; i++)
        (void)base_buf_append(&bytes, SLICE_LIT("\x48\x01"));
    ck_assert_int_eq(decode(), ERR_OK);
    put_zero(UNKNOWN, VARINT);
    ck_assert_int_eq(decode(), ERR_OK);
    put_zero(UNKNOWN, VARINT);
    ck_assert_int_eq(decode(), ERR_TOO_BIG);
    ck_assert_ptr_nonnull(strstr(eb.text, "2097152"));
}
END_TEST

START_TEST(elements_of_packed_lists_are_counted_too)
{
    uint8_t *zeros = base_new(GW_PROTO_FIELDS);
    arena.max = 64 * MIB;
    put_field(EVERY_PACKED + PROTOBUF_C_TYPE_BOOL, base_slice(zeros, GW_PROTO_FIELDS - 1));
    ck_assert_int_eq(decode(), ERR_OK);
    base_buf_truncate(&bytes, 0);
    put_field(EVERY_PACKED + PROTOBUF_C_TYPE_BOOL, base_slice(zeros, GW_PROTO_FIELDS));
    ck_assert_int_eq(decode(), ERR_TOO_BIG);
    base_free(zeros);
}
END_TEST

/* --- fields that come again -------------------------------------------------------------------
 */

START_TEST(the_last_number_and_text_count)
{
    put_tag(NUMBER, VARINT);
    put_varint(1);
    put_field(TEXT, SLICE_LIT("first"));
    put_tag(NUMBER, VARINT);
    put_varint(2);
    put_field(TEXT, SLICE_LIT("last"));
    ck_assert_int_eq(decode(), ERR_OK);
    ck_assert_uint_eq(got->single[PROTOBUF_C_TYPE_UINT64].u64, 2);
    ck_assert_str_eq(got->single[PROTOBUF_C_TYPE_STRING].text, "last");
}
END_TEST

START_TEST(the_last_member_of_a_oneof_counts)
{
    put_field(EVERY_ONEOF + PROTOBUF_C_TYPE_BYTES, SLICE_LIT("0123456789abcdef"));
    put_field(EVERY_ONEOF + PROTOBUF_C_TYPE_MESSAGE, SLICE_EMPTY);
    ck_assert_int_eq(decode(), ERR_OK);
    ck_assert_uint_eq(got->which, EVERY_ONEOF + PROTOBUF_C_TYPE_MESSAGE);
    ck_assert_ptr_eq(got->oneof.message->descriptor, every_type());
    put_tag(EVERY_ONEOF + PROTOBUF_C_TYPE_BOOL, VARINT);
    put_varint(1);
    ck_assert_int_eq(decode(), ERR_OK);
    ck_assert_uint_eq(got->which, EVERY_ONEOF + PROTOBUF_C_TYPE_BOOL);
    ck_assert_int_eq(got->oneof.boolean, 1);
    put_field(EVERY_ONEOF + PROTOBUF_C_TYPE_STRING, SLICE_LIT("t"));
    put_field(EVERY_ONEOF + PROTOBUF_C_TYPE_MESSAGE, SLICE_EMPTY);
    ck_assert_int_eq(decode(), ERR_OK);
    ck_assert_uint_eq(protobuf_c_message_get_packed_size(got->oneof.message), 0);
}
END_TEST

/* Neither sets the oneof, which protobuf_c_message_unpack refuses to merge. */
START_TEST(messages_said_again_are_merged)
{
    static const uint32_t IDS[] = {MESSAGE, EVERY_ONEOF + PROTOBUF_C_TYPE_MESSAGE};
    for (size_t i = 0; i < 2; i++) {
        base_buf_truncate(&bytes, 0);
        put_field(IDS[i], SLICE_LIT("\x48\x01\xb8\x02\x01\x7a\x01"
                                    "a\x8a\x01\x02\x48\x05"));
        put_field(IDS[i], SLICE_LIT("\x48\x02\xb8\x02\x02\xb8\x02\x03\x8a\x01\x03\x7a\x01x"));
        ck_assert_int_eq(decode(), ERR_OK);
        const struct every *m =
            (const struct every *)(i == 0 ? got->single[PROTOBUF_C_TYPE_MESSAGE].message
                                          : got->oneof.message);
        const struct every *inner =
            (const struct every *)m->single[PROTOBUF_C_TYPE_MESSAGE].message;
        static const uint64_t WANTED[] = {1, 2, 3};
        ck_assert_uint_eq(m->single[PROTOBUF_C_TYPE_UINT64].u64, 2);
        ck_assert_str_eq(m->single[PROTOBUF_C_TYPE_STRING].text, "a");
        ck_assert_uint_eq(m->list_count[PROTOBUF_C_TYPE_UINT64], 3);
        ck_assert_mem_eq(m->list[PROTOBUF_C_TYPE_UINT64].list, WANTED, sizeof WANTED);
        ck_assert_uint_eq(inner->single[PROTOBUF_C_TYPE_UINT64].u64, 5);
        ck_assert_str_eq(inner->single[PROTOBUF_C_TYPE_STRING].text, "x");
    }
}
END_TEST

/* --- memory ----------------------------------------------------------------------------------
 */

START_TEST(merging_again_and_again_takes_no_more_than_the_list)
{
    for (int i = 0; i < 30000; i++)
        put_field(MESSAGE, SLICE_LIT("\xb8\x02\x01"));
    ck_assert_int_eq(decode(), ERR_OK);
    const struct every *m = (const struct every *)got->single[PROTOBUF_C_TYPE_MESSAGE].message;
    ck_assert_uint_eq(m->list_count[PROTOBUF_C_TYPE_UINT64], 30000);
    ck_assert_uint_lt(arena.used, 4 * 30000 * sizeof(uint64_t));
}
END_TEST

START_TEST(small_messages_are_bounded_by_the_arena)
{
    for (int i = 0; i < 10000; i++)
        put_field(EVERY_LIST + PROTOBUF_C_TYPE_MESSAGE, SLICE_EMPTY);
    ck_assert_int_eq(decode(), ERR_TOO_BIG);
    ck_assert_ptr_nonnull(strstr(eb.text, "1048576"));
    ck_assert_uint_le(arena.used, ARENA_MAX);
}
END_TEST

START_TEST(oneof_said_again_is_bounded_by_the_arena)
{
    for (int i = 0; i < 10000; i++) {
        put_field(EVERY_ONEOF + PROTOBUF_C_TYPE_MESSAGE, SLICE_EMPTY);
        put_field(EVERY_ONEOF + PROTOBUF_C_TYPE_BYTES, SLICE_EMPTY);
    }
    ck_assert_int_eq(decode(), ERR_TOO_BIG);
    ck_assert_uint_le(arena.used, ARENA_MAX);
}
END_TEST

START_TEST(a_cell_larger_than_the_arena_is_taken)
{
    ck_assert_int_eq(base_buf_reserve(&bytes, 8 * ARENA_MAX + 8), ERR_OK);
    put_tag(BYTES, LENGTH);
    put_varint(8 * ARENA_MAX);
    memset(base_buf_end(&bytes), 'x', 8 * ARENA_MAX);
    bytes.len += 8 * ARENA_MAX;
    ck_assert_int_eq(decode(), ERR_OK);
    ck_assert_uint_eq(got->single[PROTOBUF_C_TYPE_BYTES].bytes.len, 8 * ARENA_MAX);
}
END_TEST

static void put_some_of_everything(void)
{
    for (int i = 0; i < 5; i++) {
        put_field(EVERY_LIST + PROTOBUF_C_TYPE_STRING, SLICE_LIT("some text"));
        put_field(EVERY_LIST + PROTOBUF_C_TYPE_MESSAGE, SLICE_EMPTY);
        put_field(EVERY_PACKED + PROTOBUF_C_TYPE_BOOL, SLICE_LIT("\1\0\1"));
    }
}

START_TEST(what_does_not_fit_into_the_arena_is_too_big)
{
    put_some_of_everything();
    ck_assert_int_eq(decode(), ERR_OK);
    size_t used = arena.used;
    int taken = 0;
    for (size_t max = 0; max <= used + 64; max++) {
        arena.max = max;
        enum err e = decode();
        ck_assert_int_eq(e, e == ERR_OK ? ERR_OK : ERR_TOO_BIG);
        taken += e == ERR_OK;
    }
    ck_assert_int_ge(taken, 64);
    ck_assert_int_le(taken, 64 + 64); /* alignment may differ by a few bytes */
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    put_some_of_everything();
    int failures = 0;
    enum err e = ERR_NO_MEMORY;
    for (; e != ERR_OK; failures++) {
        base_alloc_fail_after(failures);
        e = decode();
        base_alloc_fail_after(-1);
        ck_assert(e == ERR_OK || e == ERR_NO_MEMORY);
    }
    ck_assert_int_gt(failures, 1);
}
END_TEST

Suite *suite_grpc_decode_bounds(void);
Suite *suite_grpc_decode_bounds(void);
Suite *suite_grpc_decode_bounds(void)
{
    Suite *suite = suite_create("grpc_decode_bounds");
    TCase *unknown = tcase_create("unknown");
    tcase_add_checked_fixture(unknown, set_up, tear_down);
    tcase_add_test(unknown, unknown_fields_are_skipped_and_cost_no_memory);
    tcase_add_test(unknown, unknown_fields_must_be_whole);
    suite_add_tcase(suite, unknown);
    TCase *depth = tcase_create("depth and number");
    tcase_add_checked_fixture(depth, set_up, tear_down);
    tcase_add_test(depth, messages_nest_to_the_limit_and_not_deeper);
    tcase_add_test(depth, depth_counts_levels_not_messages);
    tcase_add_test(depth, fields_are_counted_to_the_limit);
    tcase_add_test(depth, elements_of_packed_lists_are_counted_too);
    suite_add_tcase(suite, depth);
    TCase *again = tcase_create("again");
    tcase_add_checked_fixture(again, set_up, tear_down);
    tcase_add_test(again, the_last_number_and_text_count);
    tcase_add_test(again, the_last_member_of_a_oneof_counts);
    tcase_add_test(again, messages_said_again_are_merged);
    suite_add_tcase(suite, again);
    TCase *memory = tcase_create("memory");
    tcase_add_checked_fixture(memory, set_up, tear_down);
    tcase_add_test(memory, merging_again_and_again_takes_no_more_than_the_list);
    tcase_add_test(memory, small_messages_are_bounded_by_the_arena);
    tcase_add_test(memory, oneof_said_again_is_bounded_by_the_arena);
    tcase_add_test(memory, a_cell_larger_than_the_arena_is_taken);
    tcase_add_test(memory, what_does_not_fit_into_the_arena_is_too_big);
    tcase_add_test(memory, every_allocation_may_fail);
    suite_add_tcase(suite, memory);
    return suite;
}

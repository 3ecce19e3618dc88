/* tests/base/test_record.c - tagged fields that can grow, and varints. */
#include "tests/base/check_base.h"

#include "base/alloc.h"
#include "base/record.h"

Suite *suite_base_record(void);

static void assert_varint(uint64_t value, struct slice form)
{
    struct buf b;
    base_buf_init(&b, form.len);
    ck_assert_int_eq(base_varint_put(&b, value), ERR_OK);
    assert_slice(base_buf_slice(&b), form);
    struct slice rest = base_buf_slice(&b);
    uint64_t back = 77;
    ck_assert_int_eq(base_varint_take(&rest, &back), ERR_OK);
    ck_assert_uint_eq(back, value);
    ck_assert_uint_eq(rest.len, 0);
    base_buf_fini(&b);
}

START_TEST(varints_have_their_leb128_form)
{
    assert_varint(0, SLICE_LIT("\x00"));
    assert_varint(1, SLICE_LIT("\x01"));
    assert_varint(127, SLICE_LIT("\x7f"));
    assert_varint(128, SLICE_LIT("\x80\x01"));
    assert_varint(300, SLICE_LIT("\xac\x02"));
    assert_varint(16383, SLICE_LIT("\xff\x7f"));
    assert_varint(16384, SLICE_LIT("\x80\x80\x01"));
    assert_varint(INT64_MAX, SLICE_LIT("\xff\xff\xff\xff\xff\xff\xff\xff\x7f"));
    assert_varint(UINT64_MAX, SLICE_LIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
}
END_TEST

START_TEST(varints_of_every_width_round_trip)
{
    uint64_t seed = 21;
    struct buf b;
    base_buf_init(&b, 10);
    for (int i = 0; i < 64000; i++) {
        uint64_t value = next_random(&seed) >> (i % 64), back = 0;
        ck_assert_int_eq(base_varint_put(&b, value), ERR_OK);
        struct slice rest = base_buf_slice(&b);
        ck_assert_int_eq(base_varint_take(&rest, &back), ERR_OK);
        ck_assert_uint_eq(back, value);
        base_buf_truncate(&b, 0);
    }
    base_buf_fini(&b);
}
END_TEST

static void assert_corrupt_varint(struct slice bytes)
{
    struct slice rest = bytes;
    uint64_t value = 77;
    ck_assert_int_eq(base_varint_take(&rest, &value), ERR_CORRUPT);
    ck_assert_uint_eq(value, 77);
    ck_assert_ptr_eq(rest.ptr, bytes.ptr);
    ck_assert_uint_eq(rest.len, bytes.len);
}

START_TEST(bad_varints_are_corrupt)
{
    assert_corrupt_varint(SLICE_EMPTY);
    assert_corrupt_varint(SLICE_LIT("\x80"));
    assert_corrupt_varint(SLICE_LIT("\xff\xff\xff"));
    assert_corrupt_varint(SLICE_LIT("\x80\x00"));
    assert_corrupt_varint(SLICE_LIT("\x81\x80\x00"));
    assert_corrupt_varint(SLICE_LIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"));
    assert_corrupt_varint(SLICE_LIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00"));
    assert_corrupt_varint(SLICE_LIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
}
END_TEST

START_TEST(varint_leaves_what_follows)
{
    struct slice rest = SLICE_LIT("\xac\x02rest");
    uint64_t value = 0;
    ck_assert_int_eq(base_varint_take(&rest, &value), ERR_OK);
    ck_assert_uint_eq(value, 300);
    assert_slice(rest, SLICE_LIT("rest"));
}
END_TEST

/* --- records -------------------------------------------------------------------------------- */

static struct base_field next_field(struct slice *rest)
{
    struct base_field f = {0};
    bool is_end = true;
    ck_assert_int_eq(base_record_next(rest, &f, &is_end), ERR_OK);
    ck_assert(!is_end);
    return f;
}

static void assert_end(struct slice *rest)
{
    struct base_field f = {.tag = 4711};
    bool is_end = false;
    ck_assert_int_eq(base_record_next(rest, &f, &is_end), ERR_OK);
    ck_assert(is_end);
    ck_assert_uint_eq(f.tag, 4711);
}

START_TEST(fields_come_back_in_order)
{
    struct buf b;
    base_buf_init(&b, 1000);
    ck_assert_int_eq(base_record_put_bytes(&b, 1, SLICE_LIT("altostrat")), ERR_OK);
    ck_assert_int_eq(base_record_put_u64(&b, 65535, UINT64_MAX), ERR_OK);
    ck_assert_int_eq(base_record_put_bytes(&b, 2, SLICE_EMPTY), ERR_OK);
    ck_assert_int_eq(base_record_put_u64(&b, 1, 0), ERR_OK);
    struct slice rest = base_buf_slice(&b);
    struct base_field f = next_field(&rest);
    ck_assert_uint_eq(f.tag, 1);
    ck_assert(!f.is_number);
    assert_slice(f.bytes, SLICE_LIT("altostrat"));
    f = next_field(&rest);
    ck_assert_uint_eq(f.tag, 65535);
    ck_assert(f.is_number);
    ck_assert_uint_eq(f.number, UINT64_MAX);
    ck_assert_uint_eq(f.bytes.len, 10);
    f = next_field(&rest);
    ck_assert_uint_eq(f.tag, 2);
    ck_assert(!f.is_number);
    ck_assert_uint_eq(f.bytes.len, 0);
    f = next_field(&rest);
    ck_assert(f.is_number);
    ck_assert_uint_eq(f.number, 0);
    assert_end(&rest);
    base_buf_fini(&b);
}
END_TEST

START_TEST(empty_record_ends_at_once)
{
    struct slice rest = SLICE_EMPTY;
    assert_end(&rest);
}
END_TEST

START_TEST(stored_form_does_not_change)
{
    struct buf b;
    base_buf_init(&b, 1000);
    ck_assert_int_eq(base_record_put_bytes(&b, 1, SLICE_LIT("ab")), ERR_OK);
    ck_assert_int_eq(base_record_put_u64(&b, 2, 300), ERR_OK);
    ck_assert_int_eq(base_record_put_bytes(&b, 1000, SLICE_LIT("z")), ERR_OK);
    assert_slice(base_buf_slice(&b), SLICE_LIT("\x02\x02"
                                               "ab\x05\xac\x02\xd0\x0f\x01z"));
    base_buf_fini(&b);
}
END_TEST

START_TEST(old_reader_skips_new_fields)
{
    struct buf b;
    base_buf_init(&b, 1000);
    ck_assert_int_eq(base_record_put_bytes(&b, 900, SLICE_LIT("from a newer version")), ERR_OK);
    ck_assert_int_eq(base_record_put_u64(&b, 901, 12345), ERR_OK);
    ck_assert_int_eq(base_record_put_bytes(&b, 1, SLICE_LIT("known")), ERR_OK);
    struct slice rest = base_buf_slice(&b);
    struct base_field f = {0};
    bool is_end = false;
    while (f.tag != 1)
        ck_assert_int_eq(base_record_next(&rest, &f, &is_end), ERR_OK);
    assert_slice(f.bytes, SLICE_LIT("known"));
    assert_end(&rest);
    base_buf_fini(&b);
}
END_TEST

START_TEST(every_cut_is_corrupt_or_a_shorter_record)
{
    struct buf b;
    base_buf_init(&b, 1000);
    ck_assert_int_eq(base_record_put_bytes(&b, 300, SLICE_LIT("hello")), ERR_OK);
    ck_assert_int_eq(base_record_put_u64(&b, 2, 1U << 20), ERR_OK);
    size_t first_len = 2 + 1 + 5;
    for (size_t len = 0; len <= b.len; len++) {
        uint8_t *copy = base_new(len); /* exact, so that a sanitizer sees a step too far */
        memcpy(copy, b.ptr, len);
        struct slice rest = base_slice(copy, len);
        struct base_field f = {0};
        bool is_end = false;
        enum err e = ERR_OK;
        while (e == ERR_OK && !is_end)
            e = base_record_next(&rest, &f, &is_end);
        bool is_whole = len == 0 || len == first_len || len == b.len;
        ck_assert_int_eq(e, is_whole ? ERR_OK : ERR_CORRUPT);
        base_free(copy);
    }
    base_buf_fini(&b);
}
END_TEST

static void assert_corrupt_record(struct slice bytes)
{
    struct slice rest = bytes;
    struct base_field f = {.tag = 4711};
    bool is_end = true;
    ck_assert_int_eq(base_record_next(&rest, &f, &is_end), ERR_CORRUPT);
    ck_assert_uint_eq(f.tag, 4711);
    ck_assert(is_end);
    ck_assert_ptr_eq(rest.ptr, bytes.ptr);
    ck_assert_uint_eq(rest.len, bytes.len);
}

START_TEST(bad_tags_and_lengths_are_corrupt)
{
    assert_corrupt_record(SLICE_LIT("\x00\x00"));         /* tag 0, bytes */
    assert_corrupt_record(SLICE_LIT("\x01\x00"));         /* tag 0, number */
    assert_corrupt_record(SLICE_LIT("\x80\x80\x08\x00")); /* tag 65536 */
    assert_corrupt_record(SLICE_LIT("\x02\x03"
                                    "ab"));
    assert_corrupt_record(SLICE_LIT("\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    assert_corrupt_record(SLICE_LIT("\x03\x80\x00")); /* a longer form of 0 */
}
END_TEST

START_TEST(largest_tag_is_accepted)
{
    struct slice rest = SLICE_LIT("\xff\xff\x07\x05");
    struct base_field f = next_field(&rest);
    ck_assert_uint_eq(f.tag, 65535);
    ck_assert_uint_eq(f.number, 5);
}
END_TEST

START_TEST(tag_zero_is_never_written)
{
    struct buf b;
    base_buf_init(&b, 100);
    (void)base_record_put_u64(&b, 0, 1);
}
END_TEST

START_TEST(tag_beyond_65535_is_never_written)
{
    struct buf b;
    base_buf_init(&b, 100);
    (void)base_record_put_bytes(&b, 65536, SLICE_EMPTY);
}
END_TEST

START_TEST(field_that_does_not_fit_adds_nothing)
{
    for (size_t max = 0; max < 9; max++) {
        struct buf b;
        base_buf_init(&b, max);
        enum err e = base_record_put_bytes(&b, 1, SLICE_LIT("1234567"));
        ck_assert_int_eq(e, max < 9 ? ERR_TOO_BIG : ERR_OK);
        ck_assert_uint_eq(b.len, 0);
        base_buf_fini(&b);
    }
    struct buf b;
    base_buf_init(&b, 9);
    ck_assert_int_eq(base_record_put_bytes(&b, 1, SLICE_LIT("1234567")), ERR_OK);
    ck_assert_int_eq(base_record_put_bytes(&b, 1, base_slice("x", SIZE_MAX)), ERR_TOO_BIG);
    base_buf_fini(&b);
    base_buf_init(&b, 9);
    base_alloc_fail_after(0);
    ck_assert_int_eq(base_record_put_bytes(&b, 1, SLICE_LIT("x")), ERR_NO_MEMORY);
    ck_assert_int_eq(base_record_put_u64(&b, 1, 1), ERR_NO_MEMORY);
    base_buf_fini(&b);
}
END_TEST

START_TEST(random_bytes_never_lead_outside)
{
    uint64_t seed = 22;
    for (int round = 0; round < 100000; round++) {
        size_t len = next_random(&seed) % 24;
        uint8_t *bytes = base_new(len);
        fill_random(&seed, bytes, len);
        for (size_t i = 0; i < len; i++) /* small numbers get further */
            bytes[i] &= next_random(&seed) % 4 == 0 ? 0xFF : 0x0F;
        struct slice rest = base_slice(bytes, len);
        bool is_end = false;
        while (!is_end) {
            struct base_field f = {0};
            size_t before = rest.len;
            if (base_record_next(&rest, &f, &is_end) != ERR_OK)
                break;
            if (is_end)
                break;
            ck_assert_uint_lt(rest.len, before);
            ck_assert(f.bytes.ptr >= bytes && f.bytes.ptr + f.bytes.len <= bytes + len);
        }
        base_free(bytes);
    }
}
END_TEST

START_TEST(random_records_round_trip)
{
    enum { FIELDS = 50 };
    uint64_t seed = 23;
    for (int round = 0; round < 200; round++) {
        uint32_t tags[FIELDS];
        uint64_t numbers[FIELDS];
        uint8_t bytes[FIELDS][16];
        struct buf b;
        base_buf_init(&b, 10000);
        for (int i = 0; i < FIELDS; i++) {
            tags[i] = 1 + (uint32_t)(next_random(&seed) % 65535);
            numbers[i] = next_random(&seed) >> next_random(&seed) % 64;
            fill_random(&seed, bytes[i], 16);
            enum err e = i % 2 == 0 ? base_record_put_u64(&b, tags[i], numbers[i])
                                    : base_record_put_bytes(&b, tags[i],
                                                            base_slice(bytes[i], numbers[i] % 17));
            ck_assert_int_eq(e, ERR_OK);
        }
        struct slice rest = base_buf_slice(&b);
        for (int i = 0; i < FIELDS; i++) {
            struct base_field f = next_field(&rest);
            ck_assert_uint_eq(f.tag, tags[i]);
            ck_assert_int_eq(f.is_number, i % 2 == 0);
            if (f.is_number)
                ck_assert_uint_eq(f.number, numbers[i]);
            else
                assert_slice(f.bytes, base_slice(bytes[i], numbers[i] % 17));
        }
        assert_end(&rest);
        base_buf_fini(&b);
    }
}
END_TEST

START_TEST(field_text_is_bounded_and_holds_no_nul)
{
    char out[5] = "old";
    struct base_field f = {.bytes = SLICE_LIT("four")};
    ck_assert_int_eq(base_field_text(&f, out, sizeof out), ERR_OK);
    ck_assert_str_eq(out, "four");
    f.bytes = SLICE_LIT("fives");
    ck_assert_int_eq(base_field_text(&f, out, sizeof out), ERR_CORRUPT);
    f.bytes = SLICE_LIT("a\0b");
    ck_assert_int_eq(base_field_text(&f, out, sizeof out), ERR_CORRUPT);
    f = (struct base_field){.is_number = true, .number = 1};
    ck_assert_int_eq(base_field_text(&f, out, sizeof out), ERR_CORRUPT);
    ck_assert_str_eq(out, "four");
    f = (struct base_field){.bytes = SLICE_EMPTY};
    ck_assert_int_eq(base_field_text(&f, out, sizeof out), ERR_OK);
    ck_assert_str_eq(out, "");
}
END_TEST

Suite *suite_base_record(void)
{
    Suite *suite = suite_create("base_record");
    TCase *varint = tcase_create("varint");
    tcase_add_test(varint, field_text_is_bounded_and_holds_no_nul);
    tcase_add_test(varint, varints_have_their_leb128_form);
    tcase_add_test(varint, varints_of_every_width_round_trip);
    tcase_add_test(varint, bad_varints_are_corrupt);
    tcase_add_test(varint, varint_leaves_what_follows);
    suite_add_tcase(suite, varint);
    TCase *fields = tcase_create("fields");
    tcase_add_test(fields, fields_come_back_in_order);
    tcase_add_test(fields, empty_record_ends_at_once);
    tcase_add_test(fields, stored_form_does_not_change);
    tcase_add_test(fields, old_reader_skips_new_fields);
    tcase_add_test(fields, largest_tag_is_accepted);
    tcase_add_test_raise_signal(fields, tag_zero_is_never_written, SIGABRT);
    tcase_add_test_raise_signal(fields, tag_beyond_65535_is_never_written, SIGABRT);
    tcase_add_test(fields, field_that_does_not_fit_adds_nothing);
    tcase_add_test(fields, random_records_round_trip);
    suite_add_tcase(suite, fields);
    TCase *damage = tcase_create("damage");
    tcase_add_test(damage, every_cut_is_corrupt_or_a_shorter_record);
    tcase_add_test(damage, bad_tags_and_lengths_are_corrupt);
    tcase_add_test(damage, random_bytes_never_lead_outside);
    suite_add_tcase(suite, damage);
    return suite;
}

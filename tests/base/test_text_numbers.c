/* tests/base/test_text_numbers.c - decimal numbers, base62 digits and times, in one form each. */
#include "tests/base/check_base.h"

#include "base/clock.h"
#include "base/text.h"

Suite *suite_base_text_numbers(void);

START_TEST(u64_takes_what_append_makes)
{
    static const uint64_t VALUES[] = {0, 1, 9, 10, 123456, 18446744073709551614U, UINT64_MAX};
    for (size_t i = 0; i < sizeof VALUES / sizeof VALUES[0]; i++) {
        struct buf b;
        base_buf_init(&b, 32);
        ck_assert_int_eq(base_buf_append_u64(&b, VALUES[i]), ERR_OK);
        uint64_t got = 77;
        ck_assert_int_eq(base_parse_u64(base_buf_slice(&b), &got), ERR_OK);
        ck_assert_uint_eq(got, VALUES[i]);
        base_buf_fini(&b);
    }
}
END_TEST

START_TEST(u64_refuses_other_forms)
{
    static const char *const BAD[] = {"",   "00", "01",  "-0",  "-1",  "+1", " 1", "1 ",
                                      "1a", "a",  "0x1", "1.0", "1e3", "-",  "/",  ":"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        uint64_t got = 77;
        ck_assert_int_eq(base_parse_u64(base_slice_text(BAD[i]), &got), ERR_INVALID);
        ck_assert_uint_eq(got, 77);
    }
}
END_TEST

START_TEST(u64_beyond_its_range_is_too_big)
{
    static const char *const BIG[] = {"18446744073709551616", "18446744073709551620",
                                      "99999999999999999999", "184467440737095516150",
                                      "100000000000000000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof BIG / sizeof BIG[0]; i++) {
        uint64_t got = 77;
        ck_assert_int_eq(base_parse_u64(base_slice_text(BIG[i]), &got), ERR_TOO_BIG);
        ck_assert_uint_eq(got, 77);
    }
    uint64_t got = 77;
    ck_assert_int_eq(base_parse_u64(SLICE_LIT("99999999999999999999x"), &got), ERR_INVALID);
}
END_TEST

START_TEST(i64_takes_what_append_makes)
{
    static const int64_t VALUES[] = {0, 1, -1, 42, -1000000, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    for (size_t i = 0; i < sizeof VALUES / sizeof VALUES[0]; i++) {
        struct buf b;
        base_buf_init(&b, 32);
        ck_assert_int_eq(base_buf_append_i64(&b, VALUES[i]), ERR_OK);
        int64_t got = 77;
        ck_assert_int_eq(base_parse_i64(base_buf_slice(&b), &got), ERR_OK);
        ck_assert_int_eq(got, VALUES[i]);
        base_buf_fini(&b);
    }
}
END_TEST

START_TEST(i64_refuses_other_forms)
{
    static const char *const BAD[] = {"", "-", "-0", "--1", "-01", "+1", "- 1", "1-", "00"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        int64_t got = 77;
        ck_assert_int_eq(base_parse_i64(base_slice_text(BAD[i]), &got), ERR_INVALID);
        ck_assert_int_eq(got, 77);
    }
}
END_TEST

START_TEST(i64_beyond_its_range_is_too_big)
{
    static const char *const BIG[] = {"9223372036854775808", "-9223372036854775809",
                                      "18446744073709551616", "-18446744073709551616"};
    for (size_t i = 0; i < sizeof BIG / sizeof BIG[0]; i++) {
        int64_t got = 77;
        ck_assert_int_eq(base_parse_i64(base_slice_text(BIG[i]), &got), ERR_TOO_BIG);
        ck_assert_int_eq(got, 77);
    }
}
END_TEST

START_TEST(base62_has_every_letter_and_digit_once)
{
    ck_assert_uint_eq(strlen(BASE_BASE62_DIGITS), 62);
    for (int i = 0; i < 62; i++) {
        char c = BASE_BASE62_DIGITS[i];
        ck_assert((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
        ck_assert_ptr_eq(strchr(BASE_BASE62_DIGITS, c), BASE_BASE62_DIGITS + i);
    }
}
END_TEST

START_TEST(time_takes_what_format_makes)
{
    static const int64_t VALUES[] = {0, 951782400000000, /* 2000-02-29 */
                                     1709251199999000,   /* 2024-02-29T23:59:59.999 */
                                     4102444800000000,   /* 2100-01-01 */
                                     253402300799999000 /* 9999-12-31T23:59:59.999 */};
    for (size_t i = 0; i < sizeof VALUES / sizeof VALUES[0]; i++) {
        char text[BASE_TIME_TEXT];
        int64_t got = -1;
        base_time_format(VALUES[i], text);
        ck_assert_int_eq(base_parse_time(base_slice_text(text), &got), ERR_OK);
        ck_assert_int_eq(got, VALUES[i]);
    }
    for (int64_t day = 0; day < 80000; day++) {
        char text[BASE_TIME_TEXT];
        int64_t got = -1;
        base_time_format(day * 86400000000, text);
        ck_assert_int_eq(base_parse_time(base_slice_text(text), &got), ERR_OK);
        ck_assert_int_eq(got, day * 86400000000);
    }
    int64_t us = 0;
    ck_assert_int_eq(base_parse_time(SLICE_LIT("1970-01-01T00:00:01Z"), &us), ERR_OK);
    ck_assert_int_eq(us, 1000000);
    ck_assert_int_eq(base_parse_time(SLICE_LIT("1970-01-01T00:00:00.000001Z"), &us), ERR_OK);
    ck_assert_int_eq(us, 1);
}
END_TEST

START_TEST(time_refuses_other_forms)
{
    static const char *const BAD[] = {
        "",
        "2026-11-20",
        "2026-11-20T10:00:00",
        "2026-11-20T10:00:00z",
        "2026-11-20 10:00:00Z",
        "2026-11-20T10:00:00+00:00",
        "2026-11-20T10:00:00.Z",
        "2026-11-20T10:00:00.1234567Z",
        "2026-11-20T24:00:00Z",
        "2026-11-20T10:60:00Z",
        "2026-11-20T10:00:60Z",
        "2026-02-29T10:00:00Z",
        "2026-13-01T10:00:00Z",
        "2026-00-01T10:00:00Z",
        "2026-01-00T10:00:00Z",
        "2026-04-31T10:00:00Z",
        "1969-12-31T23:59:59Z",
        "2026-11-20T10:00:00Z ",
        "+026-11-20T10:00:00Z",
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        int64_t got = 77;
        ck_assert_msg(base_parse_time(base_slice_text(BAD[i]), &got) == ERR_INVALID, "%s", BAD[i]);
        ck_assert_int_eq(got, 77);
    }
}
END_TEST

Suite *suite_base_text_numbers(void)
{
    Suite *suite = suite_create("base_text_numbers");
    TCase *numbers = tcase_create("numbers");
    tcase_add_test(numbers, u64_takes_what_append_makes);
    tcase_add_test(numbers, u64_refuses_other_forms);
    tcase_add_test(numbers, u64_beyond_its_range_is_too_big);
    tcase_add_test(numbers, i64_takes_what_append_makes);
    tcase_add_test(numbers, i64_refuses_other_forms);
    tcase_add_test(numbers, i64_beyond_its_range_is_too_big);
    tcase_add_test(numbers, base62_has_every_letter_and_digit_once);
    tcase_add_test(numbers, time_takes_what_format_makes);
    tcase_add_test(numbers, time_refuses_other_forms);
    suite_add_tcase(suite, numbers);
    return suite;
}

/*
 * tests/gateway/test_json_scan.c - strings come out as a strict parser gives them, or not at all.
 */
#include <check.h>

#include "gateway/api/json_scan.h"

#include "base/banned.h"

static struct arena arena;
static struct gw_scan scan;

static void set_up(void)
{
    base_arena_init(&arena, 1 << 20);
}

static void tear_down(void)
{
    base_arena_fini(&arena);
}

static void start(const char *text)
{
    gw_scan_init(&scan, base_slice_text(text), &arena);
}

static const struct {
    const char *text;
    struct slice string;
} GOOD[] = {
    {"\"\"", {(const uint8_t *)"", 0}},
    {" \t\r\n\"a\"", {(const uint8_t *)"a", 1}},
    {"\"0123456789abcdef0123456789abcdef\"",
     {(const uint8_t *)"0123456789abcdef0123456789abcdef", 32}},
    {"\"h\xc3\xa9\xf0\x9f\x98\x80\"", {(const uint8_t *)"h\xc3\xa9\xf0\x9f\x98\x80", 7}},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", {(const uint8_t *)"\"\\/\b\f\n\r\t", 8}},
    {"\"\\u0000\\u007f\\u0080\\u07ff\\u0800\\uffff\"",
     {(const uint8_t *)"\0\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf", 12}},
    {"\"\\ud800\\udc00\\uDBFF\\uDFFF\"", {(const uint8_t *)"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8}},
    {"\"\\\\\"", {(const uint8_t *)"\\", 1}},
};

START_TEST(strings_are_decoded)
{
    struct slice s;
    start(GOOD[_i].text);
    ck_assert(gw_scan_string(&scan, &s));
    ck_assert(base_slice_equal(s, GOOD[_i].string));
    ck_assert_ptr_nonnull(s.ptr);
    ck_assert(gw_scan_is_end(&scan));
}
END_TEST

static const char *const BAD[] = {
    "",
    "a",
    "\"",
    "\"a",
    "\"\\\"",
    "\"\\",
    "\"\\x\"",
    "\"\\u\"",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\\ud800\"",
    "\"\\ud800x\"",
    "\"\\udc00\"",
    "\"\\ud800\\u0041\"",
    "\"\\ud800\\\"",
    "\"\n\"",
    "\"\x1f\"",
    "\"\xff\"",
    "\"\xc0\xaf\"",
    "\"\xed\xa0\x80\"",
    "\"\\\n\"",
    "\"\\u123\"",
    "'a'",
};

START_TEST(other_strings_are_not)
{
    struct slice s;
    start(BAD[_i]);
    ck_assert(!gw_scan_string(&scan, &s));
    ck_assert(!scan.out_of_memory);
}
END_TEST

START_TEST(names_hold_no_nul)
{
    struct slice s;
    start("\"a\" : 1");
    ck_assert(gw_scan_name(&scan, &s));
    ck_assert(base_slice_is(s, "a"));
    start("\"a\\u0000\":1");
    ck_assert(!gw_scan_name(&scan, &s));
    start("\"a\" 1");
    ck_assert(!gw_scan_name(&scan, &s));
}
END_TEST

START_TEST(lists_go_on_or_end)
{
    bool more = false;
    start(" , ] }");
    ck_assert(gw_scan_next(&scan, ']', &more) && more);
    ck_assert(gw_scan_next(&scan, ']', &more) && !more);
    ck_assert(!gw_scan_next(&scan, ']', &more));
    ck_assert(!gw_scan_is_end(&scan));
    ck_assert(gw_scan_take(&scan, '}'));
    ck_assert(gw_scan_is_end(&scan));
}
END_TEST

START_TEST(a_nul_byte_is_not_the_end)
{
    gw_scan_init(&scan, base_slice(" \0", 2), &arena);
    ck_assert(!gw_scan_is_end(&scan));
}
END_TEST

START_TEST(null_is_a_word)
{
    start("null");
    ck_assert(gw_scan_null(&scan));
    ck_assert(gw_scan_is_end(&scan));
    start("nul");
    ck_assert(!gw_scan_null(&scan));
}
END_TEST

static const struct {
    const char *text;
    bool good;
    int64_t number;
    uint8_t next;
} INTEGERS[] = {
    {"0", true, 0, 0},
    {" 7,", true, 7, ','},
    {"-7]", true, -7, ']'},
    {"-0 }", true, 0, '}'},
    {"9223372036854775807", true, INT64_MAX, 0},
    {"-9223372036854775808", true, INT64_MIN, 0},
    {"9223372036854775808", false, 0, '9'},
    {"-9223372036854775809", false, 0, '-'},
    {"1.0", false, 0, '1'},
    {"1e2", false, 0, '1'},
    {"1E2", false, 0, '1'},
    {"01", false, 0, '0'},
    {"+1", false, 0, '+'},
    {"--1", false, 0, '-'},
    {"1-2", false, 0, '1'},
    {"-", false, 0, '-'},
    {"", false, 0, 0},
    {"x", false, 0, 'x'},
};

START_TEST(integers_fit_64_bits)
{
    int64_t number = 1;
    start(INTEGERS[_i].text);
    ck_assert_int_eq(gw_scan_integer(&scan, &number), INTEGERS[_i].good);
    if (INTEGERS[_i].good)
        ck_assert_int_eq(number, INTEGERS[_i].number);
    ck_assert_uint_eq(gw_scan_peek(&scan), INTEGERS[_i].next);
}
END_TEST

START_TEST(a_full_arena_is_told)
{
    struct slice s;
    struct errbuf eb;
    struct arena small;
    base_arena_init(&small, 4);
    gw_scan_init(&scan, SLICE_LIT("\"abcdefgh\\n\""), &small);
    ck_assert(!gw_scan_string(&scan, &s));
    ck_assert(scan.out_of_memory);
    ck_assert_int_eq(gw_scan_base64(&scan, SLICE_LIT("AAAAAAAAAAAA"), "x", &s, &eb), ERR_NO_MEMORY);
    base_arena_fini(&small);
}
END_TEST

START_TEST(base64_is_strict)
{
    struct slice s;
    struct errbuf eb;
    start("");
    ck_assert_int_eq(gw_scan_base64(&scan, SLICE_LIT("/wA="), "x", &s, &eb), ERR_OK);
    ck_assert(base_slice_equal(s, base_slice("\xff\0", 2)));
    ck_assert_int_eq(gw_scan_base64(&scan, SLICE_EMPTY, "x", &s, &eb), ERR_OK);
    ck_assert(s.ptr != NULL && s.len == 0);
    ck_assert_int_eq(gw_scan_base64(&scan, SLICE_LIT("/w"), "field", &s, &eb), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "field"));
}
END_TEST

Suite *suite_gateway_json_scan(void);
Suite *suite_gateway_json_scan(void)
{
    Suite *s = suite_create("gateway_json_scan");
    TCase *tc = tcase_create("json_scan");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, strings_are_decoded, 0, (int)(sizeof GOOD / sizeof GOOD[0]));
    tcase_add_loop_test(tc, other_strings_are_not, 0, (int)(sizeof BAD / sizeof BAD[0]));
    tcase_add_test(tc, names_hold_no_nul);
    tcase_add_test(tc, lists_go_on_or_end);
    tcase_add_test(tc, a_nul_byte_is_not_the_end);
    tcase_add_test(tc, null_is_a_word);
    tcase_add_loop_test(tc, integers_fit_64_bits, 0, (int)(sizeof INTEGERS / sizeof INTEGERS[0]));
    tcase_add_test(tc, a_full_arena_is_told);
    tcase_add_test(tc, base64_is_strict);
    suite_add_tcase(s, tc);
    return s;
}

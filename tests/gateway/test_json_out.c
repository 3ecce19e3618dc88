/*
 * tests/gateway/test_json_out.c - whatever the bytes, valid JSON comes out and goes back in.
 */
#include <check.h>
#include <jansson.h>

#include "base/text.h"
#include "gateway/api/json_out.h"

#include "base/banned.h"

static struct buf out;

static void set_up(void)
{
    base_buf_init(&out, 1 << 20);
}

static void tear_down(void)
{
    base_buf_fini(&out);
}

static void expect(const char *text)
{
    ck_assert_int_eq(out.error, ERR_OK);
    ck_assert_msg(base_slice_is(base_buf_slice(&out), text), "got %.*s, wanted %s",
                  SLICE_ARGS(base_buf_slice(&out)), text);
}

static const struct {
    struct slice in;
    const char *out;
} TEXTS[] = {
    {{(const uint8_t *)"", 0}, "\"\""},
    {{(const uint8_t *)"plain", 5}, "\"plain\""},
    {{(const uint8_t *)"\"\\", 2}, "\"\\\"\\\\\""},
    {{(const uint8_t *)"\n\r\t", 3}, "\"\\n\\r\\t\""},
    {{(const uint8_t *)"\0\x01\x1f", 3}, "\"\\u0000\\u0001\\u001f\""},
    {{(const uint8_t *)"\x7f/", 2}, "\"\x7f/\""},
    {{(const uint8_t *)"h\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10},
     "\"h\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
    {{(const uint8_t *)"0123456789abcde\"", 16}, "\"0123456789abcde\\\"\""},
    {{(const uint8_t *)"0123456789abcdef\n", 17}, "\"0123456789abcdef\\n\""},
    {{(const uint8_t *)"a\xff", 2}, "\"a\xef\xbf\xbd\""},
    {{(const uint8_t *)"\xe2\x82", 2}, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    {{(const uint8_t *)"\xc3\xa9\xc3", 3}, "\"\xc3\xa9\xef\xbf\xbd\""},
};

START_TEST(text_is_escaped)
{
    gw_json_put_text(&out, TEXTS[_i].in);
    expect(TEXTS[_i].out);
}
END_TEST

static const struct {
    struct slice in;
    enum gw_text_class class;
} CLASSES[] = {
    {{(const uint8_t *)"", 0}, GW_TEXT_PLAIN},
    {{(const uint8_t *)"0123456789abcdef0123456789abcdef ~!", 35}, GW_TEXT_PLAIN},
    {{(const uint8_t *)"\x1f", 1}, GW_TEXT_ESCAPE},
    {{(const uint8_t *)"\0", 1}, GW_TEXT_ESCAPE},
    {{(const uint8_t *)"\"", 1}, GW_TEXT_ESCAPE},
    {{(const uint8_t *)"\xc3\xa9", 2}, GW_TEXT_ESCAPE},
    {{(const uint8_t *)"\x80", 1}, GW_TEXT_BINARY},
    {{(const uint8_t *)"\xc0\xaf", 2}, GW_TEXT_BINARY},         /* overlong */
    {{(const uint8_t *)"\xed\xa0\x80", 3}, GW_TEXT_BINARY},     /* surrogate */
    {{(const uint8_t *)"\xf4\x90\x80\x80", 4}, GW_TEXT_BINARY}, /* behind U+10FFFF */
    {{(const uint8_t *)"\xff", 1}, GW_TEXT_BINARY},
};

START_TEST(bytes_have_their_class)
{
    ck_assert_int_eq(gw_text_classify(CLASSES[_i].in), CLASSES[_i].class);
}
END_TEST

/* Every byte at every place of a long text is seen, whatever stands around it. */
START_TEST(one_odd_byte_is_found_anywhere)
{
    static const uint8_t odd[] = {0x00, 0x1f, '"', '\\', 0x80, 0xff};
    uint8_t text[67];
    for (size_t at = 0; at < sizeof text; at++) {
        for (size_t i = 0; i < sizeof odd; i++) {
            memset(text, ' ' + (int)(at % 0x2 == 0), sizeof text);
            ck_assert_int_eq(gw_text_classify(base_slice(text, sizeof text)), GW_TEXT_PLAIN);
            text[at] = odd[i];
            ck_assert_int_ne(gw_text_classify(base_slice(text, sizeof text)), GW_TEXT_PLAIN);
        }
    }
}
END_TEST

START_TEST(every_two_byte_text_survives_a_round_trip)
{
    for (unsigned n = 0; n < 0x10000; n++) {
        uint8_t bytes[2] = {(uint8_t)(n >> 8), (uint8_t)n};
        struct slice in = base_slice(bytes, 2);
        base_buf_truncate(&out, 0);
        (void)base_buf_append_byte(&out, '{');
        gw_json_put_bytes(&out, "v", in);
        (void)base_buf_append_byte(&out, '}');
        json_t *tree = json_loadb((const char *)out.ptr, out.len, JSON_ALLOW_NUL, NULL);
        ck_assert_msg(tree != NULL, "%04x: %.*s", n, SLICE_ARGS(base_buf_slice(&out)));
        json_t *text = json_object_get(tree, "v");
        json_t *b64 = json_object_get(tree, "v_b64");
        ck_assert_int_eq(text != NULL, base_utf8_is_valid(in));
        if (text != NULL) {
            ck_assert_uint_eq(json_string_length(text), 2);
            ck_assert_mem_eq(json_string_value(text), bytes, 2);
        } else {
            struct buf back;
            base_buf_init(&back, 16);
            ck_assert_int_eq(base_base64_decode(base_slice_text(json_string_value(b64)), &back),
                             ERR_OK);
            ck_assert(base_slice_equal(base_buf_slice(&back), in));
            base_buf_fini(&back);
        }
        json_decref(tree);
    }
}
END_TEST

START_TEST(commas_stand_between_values_only)
{
    struct gw_json j = gw_json_start(&out);
    gw_json_open(&j, '{');
    gw_json_name(&j, "a");
    gw_json_open(&j, '[');
    gw_json_close(&j, ']');
    gw_json_name_u64(&j, "b", UINT64_MAX);
    gw_json_name(&j, "c");
    gw_json_open(&j, '[');
    gw_json_i64(&j, INT64_MIN);
    gw_json_bool(&j, true);
    gw_json_null(&j);
    gw_json_open(&j, '{');
    gw_json_close(&j, '}');
    gw_json_close(&j, ']');
    gw_json_name_text(&j, "d", "");
    gw_json_name_text(&j, "e", "x\"");
    gw_json_name_time(&j, "f", 0);
    gw_json_name_time(&j, "g", 1000000);
    gw_json_close(&j, '}');
    expect("{\"a\":[],\"b\":18446744073709551615,\"c\":[-9223372036854775808,true,null,{}],"
           "\"d\":null,\"e\":\"x\\\"\",\"f\":null,\"g\":\"1970-01-01T00:00:01.000Z\"}");
}
END_TEST

START_TEST(a_full_buf_latches)
{
    struct buf small;
    base_buf_init(&small, 8);
    gw_json_put_text(&small, SLICE_LIT("longer than eight"));
    ck_assert_int_eq(small.error, ERR_TOO_BIG);
    ck_assert_uint_le(small.len, 8);
    base_buf_fini(&small);
}
END_TEST

START_TEST(digits_are_decimal)
{
    static const uint64_t numbers[] = {0, 9, 10, 1700000000000000, UINT64_MAX};
    static const char *const texts[] = {"0", "9", "10", "1700000000000000", "18446744073709551615"};
    uint8_t digits[20];
    for (size_t i = 0; i < 5; i++) {
        size_t n = gw_json_digits(digits, numbers[i]);
        ck_assert(base_slice_is(base_slice(digits, n), texts[i]));
    }
}
END_TEST

Suite *suite_gateway_json_out(void);
Suite *suite_gateway_json_out(void)
{
    Suite *s = suite_create("gateway_json_out");
    TCase *tc = tcase_create("json_out");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, text_is_escaped, 0, (int)(sizeof TEXTS / sizeof TEXTS[0]));
    tcase_add_loop_test(tc, bytes_have_their_class, 0, (int)(sizeof CLASSES / sizeof CLASSES[0]));
    tcase_add_test(tc, one_odd_byte_is_found_anywhere);
    tcase_add_test(tc, every_two_byte_text_survives_a_round_trip);
    tcase_add_test(tc, commas_stand_between_values_only);
    tcase_add_test(tc, a_full_buf_latches);
    tcase_add_test(tc, digits_are_decimal);
    suite_add_tcase(s, tc);
    return s;
}

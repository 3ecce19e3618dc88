/* tests/base/test_text.c - percent, base64 and hex: what they accept and refuse, round trips. */
#include "tests/base/check_base.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"

Suite *suite_base_text(void);

/* --- codecs --------------------------------------------------------------------------------- */

typedef enum err (*codec)(struct slice in, struct buf *out);

static void assert_makes(codec run, struct slice in, struct slice want)
{
    struct buf b;
    base_buf_init(&b, 3 + want.len);
    ck_assert_int_eq(base_buf_append_text(&b, "pre"), ERR_OK);
    ck_assert_int_eq(run(in, &b), ERR_OK);
    assert_slice(base_slice_skip(base_buf_slice(&b), 3), want);
    base_buf_fini(&b);
}

static void assert_text(codec run, const char *in, const char *want)
{
    assert_makes(run, base_slice_text(in), base_slice_text(want));
}

static void assert_invalid(codec run, const char *in)
{
    struct buf b;
    base_buf_init(&b, 1000);
    ck_assert_int_eq(base_buf_append_text(&b, "pre"), ERR_OK);
    ck_assert_int_eq(run(base_slice_text(in), &b), ERR_INVALID);
    assert_buf_text(&b, "pre");
    ck_assert_int_eq(b.error, ERR_OK);
    base_buf_fini(&b);
}

/* What does not fit, or finds no memory, adds nothing. */
static void assert_bounded(codec run, struct slice in, size_t out_len)
{
    struct buf b;
    base_buf_init(&b, out_len - 1);
    ck_assert_int_eq(run(in, &b), ERR_TOO_BIG);
    ck_assert_uint_eq(b.len, 0);
    base_buf_fini(&b);
    base_buf_init(&b, out_len);
    base_alloc_fail_after(0);
    ck_assert_int_eq(run(in, &b), ERR_NO_MEMORY);
    base_alloc_fail_after(-1);
    ck_assert_uint_eq(b.len, 0);
    base_buf_fini(&b);
}

/* decode(encode(x)) = x for random x of every length, in buffers that fit exactly. */
static void assert_round_trips(codec encode, codec decode)
{
    uint64_t seed = 11;
    uint8_t bytes[200];
    for (size_t len = 0; len < sizeof bytes; len++) {
        fill_random(&seed, bytes, len);
        struct buf text, back;
        base_buf_init(&text, 1000);
        base_buf_init(&back, len);
        ck_assert_int_eq(encode(base_slice(bytes, len), &text), ERR_OK);
        ck_assert_int_eq(decode(base_buf_slice(&text), &back), ERR_OK);
        assert_slice(base_buf_slice(&back), base_slice(bytes, len));
        base_buf_fini(&text);
        base_buf_fini(&back);
    }
}

/* Whatever random text a decoder accepts, the encoder makes again: no second form of one value. */
static void assert_canonical(codec decode, codec encode, const char *alphabet, int *out_accepted)
{
    uint64_t seed = 12;
    size_t letters = strlen(alphabet);
    *out_accepted = 0;
    for (int i = 0; i < 200000; i++) {
        char text[12];
        size_t len = next_random(&seed) % (sizeof text + 1);
        for (size_t j = 0; j < len; j++)
            text[j] = alphabet[next_random(&seed) % letters];
        struct buf bytes, again;
        base_buf_init(&bytes, 100);
        base_buf_init(&again, 100);
        if (decode(base_slice(text, len), &bytes) == ERR_OK) {
            ck_assert_int_eq(encode(base_buf_slice(&bytes), &again), ERR_OK);
            assert_slice(base_buf_slice(&again), base_slice(text, len));
            *out_accepted += 1;
        }
        base_buf_fini(&bytes);
        base_buf_fini(&again);
    }
}

/* --- percent -------------------------------------------------------------------------------- */

START_TEST(percent_decode_takes_codes_and_visible_ascii)
{
    assert_text(base_percent_decode, "", "");
    assert_text(base_percent_decode, "phone%234c410523", "phone#4c410523");
    assert_text(base_percent_decode, "a+b", "a+b");
    assert_text(base_percent_decode, "%41%5a%7E%5A%7e", "AZ~Z~");
    assert_text(base_percent_decode, "%25", "%");
    assert_text(base_percent_decode, "!\"&'()*,/:;<=>?@[\\]^`{|}~", "!\"&'()*,/:;<=>?@[\\]^`{|}~");
    assert_makes(base_percent_decode, SLICE_LIT("%00%ff%FF"), SLICE_LIT("\0\xff\xff"));
}
END_TEST

START_TEST(percent_decode_refuses_every_other_byte)
{
    for (int c = 1; c < 256; c++) {
        char text[] = {'a', (char)c, 'b', '\0'};
        if (c <= 0x20 || c >= 0x7F || c == '%')
            assert_invalid(base_percent_decode, text);
        else
            assert_text(base_percent_decode, text, text);
    }
    struct buf b;
    base_buf_init(&b, 10);
    ck_assert_int_eq(base_percent_decode(SLICE_LIT("a\0b"), &b), ERR_INVALID);
    base_buf_fini(&b);
}
END_TEST

START_TEST(percent_decode_refuses_broken_codes)
{
    static const char *const BAD[] = {"%",   "%4",  "a%",  "%%41", "%g0",   "%0g",
                                      "%/0", "%0/", "%:0", "%0:",  "%@0",   "%0@",
                                      "%`0", "%0`", "%+4", "% 4",  "%4%41", "%u0041"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        assert_invalid(base_percent_decode, BAD[i]);
    for (int c = 1; c < 256; c++) {
        char text[] = {'%', '4', (char)c, '\0'};
        bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (!is_hex)
            assert_invalid(base_percent_decode, text);
    }
}
END_TEST

START_TEST(percent_decode_does_not_look_behind_the_end)
{
    struct buf b;
    base_buf_init(&b, 10);
    ck_assert_int_eq(base_percent_decode(base_slice("%41", 2), &b), ERR_INVALID);
    ck_assert_int_eq(base_percent_decode(base_slice("%41", 1), &b), ERR_INVALID);
    base_buf_fini(&b);
}
END_TEST

START_TEST(percent_encode_spares_the_unreserved_only)
{
    for (int c = 0; c < 256; c++) {
        uint8_t byte = (uint8_t)c;
        char code[4];
        snprintf(code, sizeof code, "%%%02X", (unsigned)c);
        bool is_plain = c != 0 && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                         "0123456789-._~",
                                         c) != NULL;
        assert_makes(base_percent_encode, base_slice(&byte, 1),
                     is_plain ? base_slice(&byte, 1) : base_slice_text(code));
    }
    assert_text(base_percent_encode, "phone#4c/x y", "phone%234c%2Fx%20y");
}
END_TEST

START_TEST(percent_is_bounded_and_round_trips)
{
    assert_bounded(base_percent_decode, SLICE_LIT("%41%42%43"), 3);
    assert_bounded(base_percent_encode, SLICE_LIT("a#b"), 5);
    assert_round_trips(base_percent_encode, base_percent_decode);
}
END_TEST

/* --- base64 and hex ------------------------------------------------------------------------- */

START_TEST(base64_knows_the_values_of_rfc_4648)
{
    static const char *const PAIRS[][3] = {
        {"", "", ""},
        {"f", "Zg==", "Zg"},
        {"fo", "Zm8=", "Zm8"},
        {"foo", "Zm9v", "Zm9v"},
        {"foob", "Zm9vYg==", "Zm9vYg"},
        {"fooba", "Zm9vYmE=", "Zm9vYmE"},
        {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
        {"\xfb\xef\xbe\xff\xff\xff", "++++////", "----____"},
    };
    for (size_t i = 0; i < sizeof PAIRS / sizeof PAIRS[0]; i++) {
        assert_text(base_base64_encode, PAIRS[i][0], PAIRS[i][1]);
        assert_text(base_base64_decode, PAIRS[i][1], PAIRS[i][0]);
        assert_text(base_base64url_encode, PAIRS[i][0], PAIRS[i][2]);
        assert_text(base_base64url_decode, PAIRS[i][2], PAIRS[i][0]);
    }
}
END_TEST

START_TEST(base64_refuses_every_variant)
{
    static const char *const BAD[] = {
        "Z",     "Zg",         "Zg=",    "Zg===", "Zm8",      "=",    "==",   "===",  "====",
        "Zm9v=", "Zm9v====",   "Zm9v==", "Z===",  "Zg==Zg==", "Z=g=", "Zh==", "Zm9=", "Zm9\n",
        " Zm9",  "Zm9vYg==\n", "----",   "____",  "Zm9 vYg=", "Zg=a", "=Zg="};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        assert_invalid(base_base64_decode, BAD[i]);
}
END_TEST

START_TEST(base64url_refuses_every_variant)
{
    static const char *const BAD[] = {"Z",   "Zg==", "Zm8=", "=",      "Zm9vY", "Zh",
                                      "Zm9", "++++", "////", "Zm9v\n", "Zg ",   "Zm9v="};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        assert_invalid(base_base64url_decode, BAD[i]);
}
END_TEST

START_TEST(base64_accepts_only_digits_at_every_place)
{
    for (int c = 1; c < 256; c++) {
        bool is_common =
            (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z' && c < 128);
        for (size_t at = 0; at < 4; at++) {
            char text[] = "AAAA";
            text[at] = (char)c;
            struct buf b;
            base_buf_init(&b, 10);
            bool is_digit = is_common || c == '+' || c == '/';
            bool is_padding = c == '=' && at == 3;
            ck_assert_int_eq(base_base64_decode(base_slice_text(text), &b),
                             is_digit || is_padding ? ERR_OK : ERR_INVALID);
            is_digit = is_common || c == '-' || c == '_';
            ck_assert_int_eq(base_base64url_decode(base_slice_text(text), &b),
                             is_digit ? ERR_OK : ERR_INVALID);
            base_buf_fini(&b);
        }
    }
}
END_TEST

START_TEST(base64_decodes_one_form_only)
{
    int accepted = 0;
    assert_canonical(base_base64_decode, base_base64_encode, "AQgw+/B=", &accepted);
    ck_assert_int_gt(accepted, 1000);
    assert_canonical(base_base64url_decode, base_base64url_encode, "AQgw-_B", &accepted);
    ck_assert_int_gt(accepted, 1000);
}
END_TEST

START_TEST(base64_is_bounded_and_round_trips)
{
    assert_bounded(base_base64_encode, SLICE_LIT("abcd"), 8);
    assert_bounded(base_base64_decode, SLICE_LIT("YWJjZA=="), 4);
    assert_bounded(base_base64url_encode, SLICE_LIT("abcd"), 6);
    assert_bounded(base_base64url_decode, SLICE_LIT("YWJjZA"), 4);
    assert_round_trips(base_base64_encode, base_base64_decode);
    assert_round_trips(base_base64url_encode, base_base64url_decode);
}
END_TEST

START_TEST(hex_is_lower_case)
{
    assert_makes(base_hex_encode, SLICE_LIT("\x00\x1f\xa9\xff"), SLICE_LIT("001fa9ff"));
    assert_text(base_hex_encode, "", "");
    assert_bounded(base_hex_encode, SLICE_LIT("ab"), 4);
}
END_TEST

START_TEST(absurd_lengths_are_too_big_before_they_are_read)
{
    struct buf b;
    base_buf_init(&b, SIZE_MAX - 1);
    ck_assert_int_eq(base_hex_encode(base_slice("x", SIZE_MAX / 2 + 1), &b), ERR_TOO_BIG);
    base_buf_truncate(&b, 0);
    ck_assert_int_eq(base_base64_encode(base_slice("x", SIZE_MAX), &b), ERR_TOO_BIG);
    base_buf_truncate(&b, 0);
    ck_assert_int_eq(base_base64url_encode(base_slice("x", SIZE_MAX / 4 * 3 + 3), &b), ERR_TOO_BIG);
    ck_assert_uint_eq(b.len, 0);
    base_buf_fini(&b);
}
END_TEST

Suite *suite_base_text(void)
{
    Suite *suite = suite_create("base_text");
    TCase *percent = tcase_create("percent");
    tcase_add_test(percent, percent_decode_takes_codes_and_visible_ascii);
    tcase_add_test(percent, percent_decode_refuses_every_other_byte);
    tcase_add_test(percent, percent_decode_refuses_broken_codes);
    tcase_add_test(percent, percent_decode_does_not_look_behind_the_end);
    tcase_add_test(percent, percent_encode_spares_the_unreserved_only);
    tcase_add_test(percent, percent_is_bounded_and_round_trips);
    suite_add_tcase(suite, percent);
    TCase *base64 = tcase_create("base64");
    tcase_add_test(base64, base64_knows_the_values_of_rfc_4648);
    tcase_add_test(base64, base64_refuses_every_variant);
    tcase_add_test(base64, base64url_refuses_every_variant);
    tcase_add_test(base64, base64_accepts_only_digits_at_every_place);
    tcase_add_test(base64, base64_decodes_one_form_only);
    tcase_add_test(base64, base64_is_bounded_and_round_trips);
    tcase_add_test(base64, hex_is_lower_case);
    tcase_add_test(base64, absurd_lengths_are_too_big_before_they_are_read);
    suite_add_tcase(suite, base64);
    return suite;
}

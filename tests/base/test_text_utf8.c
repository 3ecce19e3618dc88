/* tests/base/test_text_utf8.c - UTF-8 against its definition. */
#include "tests/base/check_base.h"

#include "base/text.h"

Suite *suite_base_text_utf8(void);

/* The definition, written the long way: decode by arithmetic, then look at the number. */
static bool is_utf8_by_definition(const uint8_t *p, size_t len)
{
    for (size_t at = 0; at < len;) {
        uint8_t lead = p[at];
        size_t n = lead < 0x80       ? 1
                   : lead >> 5 == 6  ? 2
                   : lead >> 4 == 14 ? 3
                   : lead >> 3 == 30 ? 4
                                     : 0;
        if (n == 0 || n > len - at)
            return false;
        uint32_t code = n == 1 ? lead : lead & (0x7FU >> n);
        for (size_t i = 1; i < n; i++) {
            if (p[at + i] >> 6 != 2)
                return false;
            code = code << 6 | (p[at + i] & 0x3FU);
        }
        static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
        if (code < LEAST[n] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
            return false;
        at += n;
    }
    return true;
}

START_TEST(utf8_agrees_with_the_definition_on_all_short_sequences)
{
    for (uint32_t bits = 0; bits < 1U << 24; bits++) {
        uint8_t p[3] = {(uint8_t)(bits >> 16), (uint8_t)(bits >> 8), (uint8_t)bits};
        if (p[0] < 0x80)
            continue;
        if (base_utf8_is_valid(base_slice(p, 3)) != is_utf8_by_definition(p, 3))
            ck_abort_msg("%02x %02x %02x", p[0], p[1], p[2]);
    }
}
END_TEST

START_TEST(utf8_agrees_with_the_definition_on_four_byte_sequences)
{
    for (uint32_t bits = 0; bits < 1U << 24; bits++) {
        uint8_t p[4] = {(uint8_t)(0xF0 | bits >> 20), (uint8_t)(bits >> 12),
                        (uint8_t)(0x70 + (bits >> 6 & 0x3F) * 2),
                        (uint8_t)(0x70 + (bits & 0x3F) * 2)};
        if (base_utf8_is_valid(base_slice(p, 4)) != is_utf8_by_definition(p, 4))
            ck_abort_msg("%02x %02x %02x %02x", p[0], p[1], p[2], p[3]);
    }
}
END_TEST

START_TEST(utf8_finds_a_bad_byte_at_every_place)
{
    char text[64];
    for (size_t len = 1; len < sizeof text; len++) {
        memset(text, 'a', len);
        ck_assert(base_utf8_is_valid(base_slice(text, len)));
        for (size_t at = 0; at < len; at++) {
            text[at] = '\xff';
            ck_assert(!base_utf8_is_valid(base_slice(text, len)));
            text[at] = 'a';
        }
    }
}
END_TEST

START_TEST(utf8_knows_the_edges)
{
    static const char *const GOOD[] = {"",
                                       "plain",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "gr\xc3\xbc\xc3\x9f 12345678 \xe2\x82\xac"};
    static const char *const BAD[] = {"\x80",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc2",
                                      "\xe0\x9f\xbf",
                                      "\xed\xa0\x80",
                                      "\xe2\x82",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "abcdefgh\xe2\x82"};
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++)
        ck_assert(base_utf8_is_valid(base_slice_text(GOOD[i])));
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        ck_assert(!base_utf8_is_valid(base_slice_text(BAD[i])));
    ck_assert(base_utf8_is_valid(base_slice("a\0b", 3)));
}
END_TEST

Suite *suite_base_text_utf8(void)
{
    Suite *suite = suite_create("base_text_utf8");
    TCase *utf8 = tcase_create("utf8");
    tcase_set_timeout(utf8, 60);
    tcase_add_test(utf8, utf8_agrees_with_the_definition_on_all_short_sequences);
    tcase_add_test(utf8, utf8_agrees_with_the_definition_on_four_byte_sequences);
    tcase_add_test(utf8, utf8_finds_a_bad_byte_at_every_place);
    tcase_add_test(utf8, utf8_knows_the_edges);
    suite_add_tcase(suite, utf8);
    return suite;
}

/*
 * tests/auth/test_apikey.c - the text of a key: made, taken apart, and refused when anything is
 * off.
 */
#include <check.h>
#include <zlib.h>

#include "auth/apikey.h"
#include "base/text.h"

#include "base/banned.h"

static const enum auth_kind KINDS[] = {AUTH_TENANT, AUTH_SERVICE, AUTH_OPERATOR};
static const char *const PREFIXES[] = {"btt_", "bts_", "bto_"};
static const char *const NAMES[] = {"tenant", "service", "operator"};

static enum err parse(const char *text, struct auth_key_parts *out)
{
    return auth_key_parse(base_slice_text(text), out);
}

static void generate(enum auth_kind kind, char out[AUTH_KEY_TEXT + 1])
{
    ck_assert_int_eq(auth_key_generate(kind, out), ERR_OK);
}

START_TEST(round_trip_keeps_kind_id_and_secret)
{
    char text[AUTH_KEY_TEXT + 1];
    struct auth_key_parts parts;
    generate(KINDS[_i], text);
    ck_assert_uint_eq(strlen(text), AUTH_KEY_TEXT);
    ck_assert_int_eq(memcmp(text, PREFIXES[_i], 4), 0);
    ck_assert_int_eq(parse(text, &parts), ERR_OK);
    ck_assert_int_eq(parts.kind, KINDS[_i]);
    ck_assert_uint_eq(parts.id.len, AUTH_KEY_ID);
    ck_assert_ptr_eq(parts.id.ptr, (const uint8_t *)text + 4);
    ck_assert_uint_eq(parts.secret.len, AUTH_KEY_SECRET);
    ck_assert_ptr_eq(parts.secret.ptr, (const uint8_t *)text + 4 + AUTH_KEY_ID);
    ck_assert_str_eq(auth_kind_name(KINDS[_i]), NAMES[_i]);
}
END_TEST

START_TEST(checksum_is_crc32_in_base62)
{
    char text[AUTH_KEY_TEXT + 1];
    generate(AUTH_TENANT, text);
    uint64_t sum = 0;
    for (size_t i = AUTH_KEY_TEXT - AUTH_KEY_CHECKSUM; i < AUTH_KEY_TEXT; i++)
        sum = sum * 62 + (uint64_t)(strchr(BASE_BASE62_DIGITS, text[i]) - BASE_BASE62_DIGITS);
    ck_assert_uint_eq(sum,
                      crc32(0, (const Bytef *)text, (uInt)(AUTH_KEY_TEXT - AUTH_KEY_CHECKSUM)));
}
END_TEST

START_TEST(every_single_character_mutation_is_refused)
{
    char text[AUTH_KEY_TEXT + 1];
    struct auth_key_parts parts;
    generate(KINDS[_i], text);
    for (size_t at = 0; at < AUTH_KEY_TEXT; at++) {
        char right = text[at];
        for (int c = 0; c < 256; c++) {
            text[at] = (char)c;
            bool is_same = text[at] == right;
            ck_assert_msg(auth_key_parse(base_slice(text, AUTH_KEY_TEXT), &parts) ==
                              (is_same ? ERR_OK : ERR_INVALID),
                          "byte %d at %zu", c, at);
        }
        text[at] = right;
    }
}
END_TEST

START_TEST(every_swap_of_neighbours_is_refused)
{
    char text[AUTH_KEY_TEXT + 1];
    struct auth_key_parts parts;
    generate(AUTH_SERVICE, text);
    for (size_t at = 0; at + 1 < AUTH_KEY_TEXT; at++) {
        char a = text[at];
        char b = text[at + 1];
        if (a == b)
            continue;
        text[at] = b;
        text[at + 1] = a;
        ck_assert_int_eq(parse(text, &parts), ERR_INVALID);
        text[at] = a;
        text[at + 1] = b;
    }
}
END_TEST

START_TEST(every_other_length_is_refused)
{
    char text[AUTH_KEY_TEXT + 1];
    char longer[AUTH_KEY_TEXT + 20];
    struct auth_key_parts parts;
    generate(AUTH_TENANT, text);
    for (size_t len = 0; len < AUTH_KEY_TEXT; len++)
        ck_assert_int_eq(auth_key_parse(base_slice(text, len), &parts), ERR_INVALID);
    memset(longer, 'A', sizeof longer);
    memcpy(longer, text, AUTH_KEY_TEXT);
    for (size_t len = AUTH_KEY_TEXT + 1; len <= sizeof longer; len++)
        ck_assert_int_eq(auth_key_parse(base_slice(longer, len), &parts), ERR_INVALID);
    ck_assert_int_eq(auth_key_parse(SLICE_EMPTY, &parts), ERR_INVALID);
}
END_TEST

START_TEST(right_checksum_over_wrong_characters_is_refused)
{
    char text[AUTH_KEY_TEXT + 1];
    struct auth_key_parts parts;
    static const char BAD[] = {'-', '_', ' ', '\n', '\0', '/', ':', '@', '[', '`', '{', '\x80'};
    for (size_t i = 0; i < sizeof BAD; i++) {
        generate(AUTH_TENANT, text);
        text[20] = BAD[i];
        uint32_t sum = (uint32_t)crc32(0, (const Bytef *)text, AUTH_KEY_TEXT - AUTH_KEY_CHECKSUM);
        for (size_t at = AUTH_KEY_TEXT; at-- > AUTH_KEY_TEXT - AUTH_KEY_CHECKSUM; sum /= 62)
            text[at] = BASE_BASE62_DIGITS[sum % 62];
        ck_assert_int_eq(auth_key_parse(base_slice(text, AUTH_KEY_TEXT), &parts), ERR_INVALID);
    }
}
END_TEST

START_TEST(keys_differ_and_use_every_digit)
{
    enum { KEYS = 400 };
    static char texts[KEYS][AUTH_KEY_TEXT + 1];
    unsigned seen[256] = {0};
    for (int i = 0; i < KEYS; i++) {
        generate(AUTH_TENANT, texts[i]);
        for (int k = 0; k < i; k++)
            ck_assert_int_ne(memcmp(texts[i] + 4, texts[k] + 4, AUTH_KEY_ID), 0);
        for (size_t at = 4; at < 4 + AUTH_KEY_ID + AUTH_KEY_SECRET; at++)
            seen[(uint8_t)texts[i][at]]++;
    }
    /* 19,200 digits, 310 of each expected; a modulo bias would give the first eight 25 % more */
    for (int d = 0; d < 62; d++) {
        ck_assert_uint_ge(seen[(uint8_t)BASE_BASE62_DIGITS[d]], 200);
        ck_assert_uint_le(seen[(uint8_t)BASE_BASE62_DIGITS[d]], 430);
    }
}
END_TEST

Suite *suite_auth_apikey(void);
Suite *suite_auth_apikey(void)
{
    Suite *s = suite_create("auth_apikey");
    TCase *c = tcase_create("text");
    tcase_add_loop_test(c, round_trip_keeps_kind_id_and_secret, 0, 3);
    tcase_add_test(c, checksum_is_crc32_in_base62);
    tcase_add_test(c, keys_differ_and_use_every_digit);
    suite_add_tcase(s, c);
    c = tcase_create("refused");
    tcase_add_loop_test(c, every_single_character_mutation_is_refused, 0, 3);
    tcase_add_test(c, every_swap_of_neighbours_is_refused);
    tcase_add_test(c, every_other_length_is_refused);
    tcase_add_test(c, right_checksum_over_wrong_characters_is_refused);
    suite_add_tcase(s, c);
    return s;
}

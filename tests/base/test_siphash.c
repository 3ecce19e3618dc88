/*
 * tests/base/test_siphash.c - SipHash-1-3 against values made elsewhere.
 *
 * The values are hash(bytes(range(n))) of CPython 3.11, whose string hash is SipHash-1-3, with
 * PYTHONHASHSEED=0 (key 0, 0) and 42 (the key below, from CPython's lcg_urandom).
 */
#include "tests/base/check_base.h"

#include "base/siphash.h"

Suite *suite_base_siphash(void);

static const size_t LENGTHS[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 63};

static const uint64_t WITH_KEY_ZERO[] = {
    0x68a914128e01e473, 0x10bac45c41e3669,  0x4d4c9a4a8ef6e0ad, 0x2f098ab0c751325a,
    0xead411e67ebe2eea, 0x75927f9d95124362, 0xf30eb725bb91c9ea, 0x8972188433a5c5b7,
    0x4883c49a2c009c1d, 0x169739443111d49b, 0x385d3e39e5f37359,
};

static const struct base_siphash_key SEED_42 = {0xdc504fd368cd90af, 0xb920bb9ffe99e9c1};
static const uint64_t WITH_SEED_42[] = {
    0xce880c366bcf3489, 0xef32fbc0469f0756, 0xef4b9dcae9b04417, 0xce280fabc397fbda,
    0x60866c3c108c6afb, 0x68814005f7469e03, 0x94ace24d68c18cf8, 0x339176f3ac59ce05,
    0xed2706b414c296f1, 0x06f3af51bda71c61, 0x06e24d6f0d014c37,
};

START_TEST(known_values_are_reproduced)
{
    uint8_t bytes[64];
    for (int i = 0; i < 64; i++)
        bytes[i] = (uint8_t)i;
    struct base_siphash_key zero = {0, 0};
    for (size_t i = 0; i < sizeof LENGTHS / sizeof LENGTHS[0]; i++) {
        struct slice s = base_slice(bytes, LENGTHS[i]);
        ck_assert_uint_eq(base_siphash13(zero, s), WITH_KEY_ZERO[i]);
        ck_assert_uint_eq(base_siphash13(SEED_42, s), WITH_SEED_42[i]);
    }
}
END_TEST

START_TEST(every_byte_and_the_length_matter)
{
    uint8_t bytes[40] = {0};
    for (size_t len = 0; len < sizeof bytes; len++) {
        uint64_t plain = base_siphash13(SEED_42, base_slice(bytes, len));
        ck_assert_uint_ne(plain, base_siphash13(SEED_42, base_slice(bytes, len + 1)));
        for (size_t i = 0; i < len; i++) {
            bytes[i] = 1;
            ck_assert_uint_ne(plain, base_siphash13(SEED_42, base_slice(bytes, len)));
            bytes[i] = 0;
        }
    }
}
END_TEST

START_TEST(bytes_around_the_slice_do_not_matter)
{
    uint8_t bytes[64];
    uint64_t seed = 9;
    for (size_t len = 0; len <= 40; len++) {
        fill_random(&seed, bytes, sizeof bytes);
        uint64_t before = base_siphash13(SEED_42, base_slice(bytes + 8, len));
        memset(bytes, 0xEE, 8);
        memset(bytes + 8 + len, 0xEE, sizeof bytes - 8 - len);
        ck_assert_uint_eq(before, base_siphash13(SEED_42, base_slice(bytes + 8, len)));
    }
}
END_TEST

Suite *suite_base_siphash(void)
{
    Suite *suite = suite_create("base_siphash");
    TCase *values = tcase_create("values");
    tcase_add_test(values, known_values_are_reproduced);
    tcase_add_test(values, every_byte_and_the_length_matter);
    tcase_add_test(values, bytes_around_the_slice_do_not_matter);
    suite_add_tcase(suite, values);
    return suite;
}

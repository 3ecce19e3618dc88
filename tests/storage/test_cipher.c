/*
 * tests/storage/test_cipher.c - sealed values: back under their own key and place, and nowhere
 * else, whatever seals and opens them.
 */
#include <check.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "storage/cipher.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_cipher(void);

enum { ROUNDS = 400, VALUE_MAX = 5000 };

static const struct sto_gcm_way *way;
static struct sto_cipher *cipher;
static struct sto_sealer sealer;
static struct buf sealed;
static struct buf plain;
static struct random rng;

static const struct sto_seal_place PLACE = {{(const uint8_t *)"hd", 2},
                                            {(const uint8_t *)"key", 3}};

static struct sto_cipher *make(uint8_t key_byte, uint32_t boot)
{
    uint8_t key[STO_CIPHER_KEY];
    memset(key, key_byte, sizeof key);
    struct sto_cipher *c = sto_cipher_new_by(way, boot);
    ck_assert_int_eq(sto_cipher_add(c, key), ERR_OK);
    return c;
}

/* OpenSSL: the last there is. */
static const struct sto_gcm_way *last_way(void)
{
    size_t n = 0;
    while (sto_gcm_way(n + 1) != NULL)
        n++;
    return sto_gcm_way(n);
}

static void set_up_by(const struct sto_gcm_way *chosen)
{
    way = chosen;
    cipher = make(7, 1);
    sto_sealer_init(&sealer);
    base_buf_init(&sealed, MIB);
    base_buf_init(&plain, MIB);
    rng = (struct random){.state = 5};
}

static void set_up_fastest(void)
{
    set_up_by(sto_gcm_best());
}

static void set_up_openssl(void)
{
    set_up_by(last_way());
}

static void tear_down(void)
{
    sto_cipher_free(cipher);
    sto_sealer_fini(&sealer);
    base_buf_fini(&sealed);
    base_buf_fini(&plain);
}

static void seal(struct slice value)
{
    ck_assert_int_eq(sto_seal(&sealer, cipher, &PLACE, value, &sealed), ERR_OK);
    ck_assert_uint_eq(sealed.len, PLACE.head.len + value.len + STO_SEALED_EXTRA);
    ck_assert(base_slice_starts_with(base_buf_slice(&sealed), PLACE.head));
}

static enum err unseal_at(const struct sto_seal_place *place)
{
    return sto_unseal(&sealer, cipher, place,
                      base_slice_skip(base_buf_slice(&sealed), PLACE.head.len), &plain);
}

START_TEST(a_value_comes_back_whatever_its_length)
{
    uint8_t value[VALUE_MAX];
    for (int i = 0; i < ROUNDS; i++) {
        size_t len = i < 70 ? (size_t)i : random_below(&rng, VALUE_MAX);
        for (size_t k = 0; k < len; k++)
            value[k] = (uint8_t)random_below(&rng, 256);
        seal(base_slice(value, len));
        ck_assert_int_eq(unseal_at(&PLACE), ERR_OK);
        ck_assert(base_slice_equal(base_buf_slice(&plain), base_slice(value, len)));
    }
}
END_TEST

START_TEST(the_same_value_never_looks_the_same)
{
    uint8_t first[STO_SEALED_EXTRA + 2 + 5];
    seal(SLICE_LIT("value"));
    ck_assert_uint_eq(sealed.len, sizeof first);
    memcpy(first, sealed.ptr, sizeof first);
    seal(SLICE_LIT("value"));
    ck_assert(memcmp(first + 2 + 4, sealed.ptr + 2 + 4, 12) != 0);   /* nonce */
    ck_assert(memcmp(first + 2 + 16, sealed.ptr + 2 + 16, 5) != 0);  /* text */
    ck_assert(memcmp(first + 2 + 21, sealed.ptr + 2 + 21, 16) != 0); /* tag */
}
END_TEST

START_TEST(two_runs_of_one_number_begin_at_different_nonces)
{
    uint8_t nonce[12];
    seal(SLICE_LIT("v"));
    memcpy(nonce, sealed.ptr + 2 + 4, sizeof nonce);
    sto_cipher_free(cipher);
    cipher = make(7, 1);
    seal(SLICE_LIT("v"));
    ck_assert(memcmp(nonce, sealed.ptr + 2 + 4, 4) == 0);
    ck_assert(memcmp(nonce + 4, sealed.ptr + 2 + 8, 8) != 0);
}
END_TEST

START_TEST(in_another_place_it_is_damaged)
{
    const struct sto_seal_place others[] = {
        {SLICE_LIT("hd"), SLICE_LIT("kez")},
        {SLICE_LIT("hd"), SLICE_LIT("key2")},
        {SLICE_LIT("hd"), SLICE_LIT("")},
        {SLICE_LIT("he"), SLICE_LIT("key")},
    };
    seal(SLICE_LIT("a value"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_int_eq(unseal_at(&others[i]), ERR_CORRUPT);
        ck_assert_uint_eq(plain.len, 0);
    }
    ck_assert_int_eq(unseal_at(&PLACE), ERR_OK);
}
END_TEST

START_TEST(every_flipped_bit_is_noticed)
{
    seal(SLICE_LIT("seventeen bytes.."));
    for (size_t bit = 8 * PLACE.head.len; bit < 8 * sealed.len; bit++) {
        sealed.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
        enum err rc = unseal_at(&PLACE);
        bool in_version = bit < 8 * (PLACE.head.len + 4);
        ck_assert_msg(rc == ERR_CORRUPT || (in_version && rc == ERR_UNAVAILABLE), "bit %zu", bit);
        sealed.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    ck_assert_int_eq(unseal_at(&PLACE), ERR_OK);
}
END_TEST

START_TEST(cut_short_it_is_damaged)
{
    seal(SLICE_LIT("value"));
    size_t whole = sealed.len;
    for (sealed.len = PLACE.head.len; sealed.len < whole; sealed.len++)
        ck_assert_int_eq(unseal_at(&PLACE), ERR_CORRUPT);
}
END_TEST

START_TEST(another_key_does_not_open_it)
{
    seal(SLICE_LIT("value"));
    sto_cipher_free(cipher);
    cipher = make(8, 1);
    ck_assert_int_eq(unseal_at(&PLACE), ERR_CORRUPT);
}
END_TEST

START_TEST(after_a_rotation_the_new_key_seals_and_both_open)
{
    uint8_t key[STO_CIPHER_KEY] = {9};
    seal(SLICE_LIT("old"));
    struct buf old;
    base_buf_init(&old, MIB);
    ck_assert_int_eq(base_buf_append(&old, base_buf_slice(&sealed)), ERR_OK);
    ck_assert_int_eq(sto_cipher_add(cipher, key), ERR_OK);
    ck_assert_uint_eq(sto_cipher_versions(cipher), 2);
    seal(SLICE_LIT("new"));
    ck_assert_uint_eq(sealed.ptr[2 + 3], 2);
    ck_assert_int_eq(unseal_at(&PLACE), ERR_OK);
    base_buf_truncate(&sealed, 0);
    ck_assert_int_eq(base_buf_append(&sealed, base_buf_slice(&old)), ERR_OK);
    ck_assert_int_eq(unseal_at(&PLACE), ERR_OK);
    ck_assert(base_slice_is(base_buf_slice(&plain), "old"));
    base_buf_fini(&old);
}
END_TEST

START_TEST(there_are_so_many_versions_and_no_more)
{
    uint8_t key[STO_CIPHER_KEY] = {9};
    for (int i = 1; i < STO_CIPHER_VERSIONS; i++)
        ck_assert_int_eq(sto_cipher_add(cipher, key), ERR_OK);
    ck_assert_int_eq(sto_cipher_add(cipher, key), ERR_TOO_BIG);
    seal(SLICE_LIT("v"));
    ck_assert_int_eq(unseal_at(&PLACE), ERR_OK);
}
END_TEST

START_TEST(without_its_key_nothing_is_sealed_or_opened)
{
    seal(SLICE_LIT("value"));
    struct slice behind_head = base_slice_skip(base_buf_slice(&sealed), PLACE.head.len);
    ck_assert_int_eq(sto_unseal(&sealer, NULL, &PLACE, behind_head, &plain), ERR_UNAVAILABLE);
    sto_cipher_wipe(cipher);
    ck_assert_uint_eq(sto_cipher_versions(cipher), 0);
    ck_assert_int_eq(unseal_at(&PLACE), ERR_UNAVAILABLE);
    ck_assert_int_eq(sto_seal(&sealer, cipher, &PLACE, SLICE_LIT("v"), &plain), ERR_UNAVAILABLE);
    ck_assert_str_ne(sto_unseal_text(ERR_UNAVAILABLE), sto_unseal_text(ERR_CORRUPT));
}
END_TEST

START_TEST(after_a_wipe_it_takes_a_new_key)
{
    uint8_t key[STO_CIPHER_KEY] = {9};
    seal(SLICE_LIT("value"));
    sto_cipher_wipe(cipher);
    ck_assert_int_eq(sto_cipher_add(cipher, key), ERR_OK);
    ck_assert_int_eq(unseal_at(&PLACE), ERR_CORRUPT);
    seal(SLICE_LIT("value"));
    ck_assert_int_eq(unseal_at(&PLACE), ERR_OK);
}
END_TEST

START_TEST(without_room_nothing_is_sealed_or_opened)
{
    struct buf small;
    seal(SLICE_LIT("value"));
    base_buf_init(&small, 8);
    struct slice behind_head = base_slice_skip(base_buf_slice(&sealed), PLACE.head.len);
    ck_assert_int_eq(sto_unseal(&sealer, cipher, &PLACE, behind_head, &small), ERR_NO_MEMORY);
    ck_assert_int_eq(sto_seal(&sealer, cipher, &PLACE, SLICE_LIT("v"), &small), ERR_NO_MEMORY);
    ck_assert_uint_eq(small.len, 0);
    base_buf_fini(&small);
}
END_TEST

/* --- the stored form -------------------------------------------------------------------------- */

/* By release 0.1, with OpenSSL alone: the key's bytes are 5i + 1, the values '!' and what follows.
 */
static const uint8_t EMPTY_SEALED[] = {
    0x02, 0x05, 0x00, 0x00, 0x00, 0x01, 0x01, 0x02, 0x03, 0x04, 0x8d, 0x67,
    0x7e, 0xe4, 0x33, 0x17, 0x0f, 0x58, 0x4a, 0x69, 0x77, 0xa2, 0x0b, 0x0b,
    0xdc, 0x0d, 0xdb, 0x02, 0xf3, 0x7b, 0xed, 0xd3, 0x5a, 0xdd,
};
static const uint8_t FIVE_SEALED[] = {
    0x02, 0x05, 0x00, 0x00, 0x00, 0x01, 0x01, 0x02, 0x03, 0x04, 0x8d, 0x67, 0x7e,
    0xe4, 0x33, 0x17, 0x0f, 0x59, 0xdd, 0xad, 0xf5, 0x07, 0xbb, 0x9c, 0x04, 0x0f,
    0xdb, 0xda, 0x8b, 0x7d, 0x7f, 0xc2, 0xf3, 0xc6, 0xce, 0x33, 0x84, 0x3e, 0x65,
};
static const uint8_t LONG_SEALED[] = {
    0x02, 0x05, 0x00, 0x00, 0x00, 0x01, 0x01, 0x02, 0x03, 0x04, 0x8d, 0x67, 0x7e, 0xe4, 0x33, 0x17,
    0x0f, 0x5a, 0xde, 0x99, 0xf7, 0xe8, 0x7d, 0x01, 0x4e, 0xe6, 0xe9, 0x6e, 0x6a, 0x82, 0x8f, 0xb6,
    0x67, 0xf1, 0x6d, 0x25, 0x89, 0x73, 0x6d, 0x64, 0x6a, 0xc7, 0x15, 0x6c, 0xab, 0xc6, 0x0c, 0x09,
    0xc8, 0x31, 0x7f, 0x18, 0x52, 0x47, 0x27, 0x9f, 0xec, 0xab, 0xdd, 0x18, 0xb9, 0x90, 0x22, 0x4d,
    0x3e, 0xce, 0xf4, 0xfd, 0x42, 0xa4, 0x8c, 0x69, 0x41, 0xff, 0x33, 0x5e, 0x24, 0xbd, 0xaa, 0x6f,
    0xed, 0xc8, 0xd6, 0x03, 0x7f, 0xee, 0xd1, 0x90, 0x40, 0x70, 0xb7, 0xa4, 0x08, 0x32, 0x96, 0x64,
    0x79, 0xee, 0x4d, 0x8e, 0xd4, 0xb5, 0xf3, 0xb7, 0x11, 0x4c, 0x5e, 0xf2, 0x39,
};

static void check_opens(struct sto_cipher *c, struct slice stored)
{
    const struct sto_seal_place place = {base_slice(stored.ptr, 2),
                                         SLICE_LIT("altostrat#phone#row")};
    ck_assert_int_eq(sto_unseal(&sealer, c, &place, base_slice_skip(stored, 2), &plain), ERR_OK);
    ck_assert_uint_eq(plain.len, stored.len - 2 - STO_SEALED_EXTRA);
    for (size_t i = 0; i < plain.len; i++)
        ck_assert_uint_eq(plain.ptr[i], '!' + i);
}

START_TEST(what_an_earlier_release_sealed_opens)
{
    uint8_t key[STO_CIPHER_KEY];
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)(5 * i + 1);
    struct sto_cipher *c = sto_cipher_new_by(way, 1);
    ck_assert_int_eq(sto_cipher_add(c, key), ERR_OK);
    check_opens(c, base_slice(EMPTY_SEALED, sizeof EMPTY_SEALED));
    check_opens(c, base_slice(FIVE_SEALED, sizeof FIVE_SEALED));
    check_opens(c, base_slice(LONG_SEALED, sizeof LONG_SEALED));
    sto_cipher_free(c);
}
END_TEST

START_TEST(what_one_way_sealed_every_other_opens)
{
    const struct sto_gcm_way *other;
    for (size_t i = 0; (other = sto_gcm_way(i)) != NULL; i++) {
        seal(SLICE_LIT("a value"));
        sto_cipher_free(cipher);
        way = other;
        cipher = make(7, 1);
        ck_assert_int_eq(unseal_at(&PLACE), ERR_OK);
        ck_assert(base_slice_is(base_buf_slice(&plain), "a value"));
    }
}
END_TEST

static TCase *all_tests(const char *name, void (*set_up)(void))
{
    TCase *t = tcase_create(name);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_value_comes_back_whatever_its_length);
    tcase_add_test(t, the_same_value_never_looks_the_same);
    tcase_add_test(t, two_runs_of_one_number_begin_at_different_nonces);
    tcase_add_test(t, in_another_place_it_is_damaged);
    tcase_add_test(t, every_flipped_bit_is_noticed);
    tcase_add_test(t, cut_short_it_is_damaged);
    tcase_add_test(t, another_key_does_not_open_it);
    tcase_add_test(t, after_a_rotation_the_new_key_seals_and_both_open);
    tcase_add_test(t, there_are_so_many_versions_and_no_more);
    tcase_add_test(t, without_its_key_nothing_is_sealed_or_opened);
    tcase_add_test(t, after_a_wipe_it_takes_a_new_key);
    tcase_add_test(t, without_room_nothing_is_sealed_or_opened);
    tcase_add_test(t, what_an_earlier_release_sealed_opens);
    tcase_add_test(t, what_one_way_sealed_every_other_opens);
    return t;
}

Suite *suite_storage_cipher(void)
{
    Suite *s = suite_create("storage_cipher");
    suite_add_tcase(s, all_tests("by the fastest", set_up_fastest));
    suite_add_tcase(s, all_tests("by OpenSSL", set_up_openssl));
    return s;
}

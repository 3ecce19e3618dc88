/*
 * tests/storage/test_cipher.c - sealed values: back under their own key and place, and nowhere
 * else.
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
    struct sto_cipher *c = sto_cipher_new(boot);
    ck_assert_int_eq(sto_cipher_add(c, key), ERR_OK);
    return c;
}

static void set_up(void)
{
    cipher = make(7, 1);
    sto_sealer_init(&sealer);
    base_buf_init(&sealed, MIB);
    base_buf_init(&plain, MIB);
    rng = (struct random){.state = 5};
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
    ck_assert_int_eq(unseal_at(&PLACE), ERR_UNAVAILABLE);
    ck_assert_int_eq(sto_seal(&sealer, cipher, &PLACE, SLICE_LIT("v"), &plain), ERR_UNAVAILABLE);
    ck_assert_str_ne(sto_unseal_text(ERR_UNAVAILABLE), sto_unseal_text(ERR_CORRUPT));
}
END_TEST

Suite *suite_storage_cipher(void)
{
    Suite *s = suite_create("storage_cipher");
    TCase *t = tcase_create("cipher");
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
    suite_add_tcase(s, t);
    return s;
}

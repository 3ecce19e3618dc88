/* tests/base/test_sealed_line.c - signatures over lines, and chains of them. */
#include "tests/base/check_base.h"

#include <openssl/evp.h>

#include <stdio.h>

#include "base/sealed_line.h"
#include "base/text.h"

#define ZEROS    "0000000000000000000000000000000000000000000000000000000000000000"
#define BEFORE   "\"previous\":\"" ZEROS "\","
#define BEHIND   "\"tenant\":\"altostrat\",\"text\":\"a \\\"b\\\":\\\"c\\\" d\"}"
#define UNSEALED "{" BEFORE BEHIND

Suite *suite_base_sealed_line(void);

static struct errbuf eb;

static EVP_PKEY *make_key(void)
{
    EVP_PKEY *key = NULL;
    ck_assert_int_eq(base_seal_key_make(&key, &eb), ERR_OK);
    return key;
}

/* UNSEALED with its signature in its place. */
static struct buf sealed(EVP_PKEY *key)
{
    uint8_t signature[BASE_SEAL_SIGNATURE];
    struct buf out;
    base_buf_init(&out, 4096);
    ck_assert_int_eq(base_seal_sign(key, SLICE_LIT(UNSEALED), signature, &eb), ERR_OK);
    (void)base_buf_append_text(&out, "{" BEFORE "\"signature\":\"");
    (void)base_base64_encode(base_slice(signature, sizeof signature), &out);
    ck_assert_int_eq(base_buf_append_text(&out, "\"," BEHIND), ERR_OK);
    return out;
}

START_TEST(a_line_is_signed_by_its_key_and_no_other)
{
    EVP_PKEY *key = make_key();
    EVP_PKEY *other = make_key();
    struct buf line = sealed(key);
    ck_assert_int_eq(base_seal_check(key, base_buf_slice(&line), &eb), ERR_OK);
    ck_assert_int_eq(base_seal_check(other, base_buf_slice(&line), &eb), ERR_FORBIDDEN);
    ck_assert_int_eq(base_seal_check(key, SLICE_LIT(UNSEALED), &eb), ERR_INVALID);
    ck_assert_int_eq(base_seal_check(key, SLICE_EMPTY, &eb), ERR_INVALID);
    base_buf_fini(&line);
    base_seal_key_free(key);
    base_seal_key_free(other);
}
END_TEST

START_TEST(every_bit_of_a_line_counts)
{
    EVP_PKEY *key = make_key();
    struct buf line = sealed(key);
    for (size_t bit = 0; bit < line.len * 8; bit++) {
        line.ptr[bit / 8] ^= (uint8_t)(1U << bit % 8);
        ck_assert_msg(base_seal_check(key, base_buf_slice(&line), NULL) != ERR_OK, "bit %zu", bit);
        line.ptr[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    for (size_t len = 0; len < line.len; len++)
        ck_assert(base_seal_check(key, base_slice(line.ptr, len), NULL) != ERR_OK);
    ck_assert_int_eq(base_seal_check(key, base_buf_slice(&line), NULL), ERR_OK);
    ck_assert_int_eq(base_buf_append_byte(&line, ' '), ERR_OK);
    ck_assert_int_eq(base_seal_check(key, base_buf_slice(&line), NULL), ERR_FORBIDDEN);
    base_buf_fini(&line);
    base_seal_key_free(key);
}
END_TEST

START_TEST(keys_survive_being_written)
{
    EVP_PKEY *key = make_key();
    EVP_PKEY *again = NULL;
    EVP_PKEY *pub = NULL;
    uint8_t a[BASE_SEAL_KEY], b[BASE_SEAL_KEY];
    struct buf line = sealed(key);
    struct buf pem, pub_pem;
    base_buf_init(&pem, BASE_SEAL_PEM_MAX);
    base_buf_init(&pub_pem, BASE_SEAL_PEM_MAX);
    ck_assert_int_eq(base_seal_key_write(key, &pem, &eb), ERR_OK);
    ck_assert_int_eq(base_seal_public_write(key, &pub_pem, &eb), ERR_OK);
    ck_assert_int_eq(base_seal_key_read(base_buf_slice(&pem), &again, &eb), ERR_OK);
    ck_assert_int_eq(base_seal_public_read(base_buf_slice(&pub_pem), &pub, &eb), ERR_OK);
    ck_assert_int_eq(base_seal_check(pub, base_buf_slice(&line), &eb), ERR_OK);
    ck_assert_int_eq(base_seal_public_bytes(again, a, &eb), ERR_OK);
    ck_assert_int_eq(base_seal_public_bytes(pub, b, &eb), ERR_OK);
    ck_assert_mem_eq(a, b, sizeof a);
    base_seal_key_free(again);
    base_seal_key_free(pub);
    ck_assert_int_eq(base_seal_public_read(base_buf_slice(&pem), &pub, &eb), ERR_INVALID);
    ck_assert_int_eq(base_seal_key_read(base_buf_slice(&pub_pem), &pub, &eb), ERR_INVALID);
    ck_assert_int_eq(base_seal_public_read(SLICE_LIT("no key"), &pub, &eb), ERR_INVALID);
    ck_assert_int_eq(base_seal_public_read(SLICE_EMPTY, &pub, &eb), ERR_INVALID);
    base_buf_fini(&pem);
    base_buf_fini(&pub_pem);
    base_buf_fini(&line);
    base_seal_key_free(key);
}
END_TEST

START_TEST(a_key_of_another_kind_is_none)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
    EVP_PKEY *read = NULL;
    struct buf pem;
    base_buf_init(&pem, BASE_SEAL_PEM_MAX);
    ck_assert_int_eq(base_seal_public_write(key, &pem, &eb), ERR_OK);
    ck_assert_int_eq(base_seal_public_read(base_buf_slice(&pem), &read, &eb), ERR_INVALID);
    base_buf_fini(&pem);
    base_seal_key_free(key);
}
END_TEST

START_TEST(a_members_text_is_found_once_or_not_at_all)
{
    struct slice text;
    ck_assert_int_eq(base_line_text(SLICE_LIT("{\"a\":\"x\",\"b\":\"y\"}"), "b", &text), ERR_OK);
    ck_assert(base_slice_is(text, "y"));
    ck_assert_int_eq(base_line_text(SLICE_LIT("{\"b\":\"\"}"), "b", &text), ERR_OK);
    ck_assert_uint_eq(text.len, 0);
    static const char *const bad[] = {
        "",           "{}",        "{\"b\":1}",         "{\"b\":\"x\",\"c\":{\"b\":\"y\"}}",
        "{\"b\":\"x", "{\"b\":\"", "{\"b\":\"x\\\"\"}", "{\"a\":\"\\\"b\\\":\\\"x\\\"\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(base_line_text(base_slice_text(bad[i]), "b", &text) == ERR_INVALID, "%s",
                      bad[i]);
}
END_TEST

START_TEST(lines_follow_one_another)
{
    struct base_audit_hash head = {{0}};
    struct base_audit_hash first;
    char hex[BASE_AUDIT_HEX + 1];
    char line[256];
    ck_assert_int_eq(base_line_follow(&head, SLICE_LIT(UNSEALED), &eb), ERR_OK);
    first = base_line_hash(SLICE_LIT(UNSEALED));
    ck_assert_mem_eq(head.bytes, first.bytes, sizeof head.bytes);
    ck_assert_int_eq(base_line_follow(&head, SLICE_LIT(UNSEALED), &eb), ERR_CONFLICT);
    base_audit_hex(&head, hex);
    (void)snprintf(line, sizeof line, "{\"previous\":\"%s\"}", hex);
    ck_assert_int_eq(base_line_follow(&head, base_slice_text(line), &eb), ERR_OK);
    ck_assert_int_eq(base_line_follow(&head, SLICE_LIT("{}"), &eb), ERR_INVALID);
    ck_assert_int_eq(base_line_follow(&head, SLICE_LIT("{\"previous\":\"00\"}"), &eb), ERR_INVALID);
}
END_TEST

/* printf '%s' abc | sha256sum */
START_TEST(the_hash_is_sha256)
{
    char hex[BASE_AUDIT_HEX + 1];
    struct base_audit_hash h = base_line_hash(SLICE_LIT("abc"));
    base_audit_hex(&h, hex);
    ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
END_TEST

Suite *suite_base_sealed_line(void)
{
    Suite *s = suite_create("base_sealed_line");
    TCase *c = tcase_create("seal");
    tcase_add_test(c, a_line_is_signed_by_its_key_and_no_other);
    tcase_add_test(c, every_bit_of_a_line_counts);
    tcase_add_test(c, keys_survive_being_written);
    tcase_add_test(c, a_key_of_another_kind_is_none);
    suite_add_tcase(s, c);
    c = tcase_create("chain");
    tcase_add_test(c, a_members_text_is_found_once_or_not_at_all);
    tcase_add_test(c, lines_follow_one_another);
    tcase_add_test(c, the_hash_is_sha256);
    suite_add_tcase(s, c);
    return s;
}

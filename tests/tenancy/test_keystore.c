/*
 * tests/tenancy/test_keystore.c - keys that come back under their master key, and are gone when
 * they are destroyed.
 */
#define _GNU_SOURCE
#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tenancy/keystore.h"
#include "tests/support/process.h"

#include "base/banned.h"

Suite *suite_tenancy_keystore(void);

static const uint8_t MASTER[TEN_MASTER_KEY] = {1, 2, 3};
static const uint8_t OTHER_MASTER[TEN_MASTER_KEY] = {4, 5, 6};
static const struct sto_seal_place PLACE = {{(const uint8_t *)"h", 1}, {(const uint8_t *)"k", 1}};

#define PATH_BYTES (2 * PROCESS_PATH)

static char base[PROCESS_PATH];
static char dir[PROCESS_PATH + 8];
static int keeper_fd;
static struct ten_keystore *keystore;
static struct errbuf eb;

static void reopen(const uint8_t master[TEN_MASTER_KEY])
{
    ten_keystore_close(keystore);
    keystore = NULL;
    enum err rc = ten_keystore_open(dir, master, &keystore, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
}

static void set_up(void)
{
    keeper_fd = process_temp_dir(base);
    (void)snprintf(dir, sizeof dir, "%s/keys", base);
    reopen(MASTER);
}

static void tear_down(void)
{
    ten_keystore_close(keystore);
    keystore = NULL;
    process_temp_dir_remove(base, keeper_fd);
}

static struct sto_cipher *load(const char *tenant, enum err expected)
{
    struct sto_cipher *cipher = NULL;
    enum err rc = ten_keystore_load(keystore, base_slice_text(tenant), &cipher, &eb);
    ck_assert_msg(rc == expected, "%s: %s", base_err_name(rc), eb.text);
    return cipher;
}

/* What the one seals the other opens. */
static bool is_same_key(struct sto_cipher *a, struct sto_cipher *b)
{
    struct sto_sealer sealer;
    struct buf sealed, plain;
    sto_sealer_init(&sealer);
    base_buf_init(&sealed, KIB);
    base_buf_init(&plain, KIB);
    ck_assert_int_eq(sto_seal(&sealer, a, &PLACE, SLICE_LIT("value"), &sealed), ERR_OK);
    enum err rc =
        sto_unseal(&sealer, b, &PLACE, base_slice_skip(base_buf_slice(&sealed), 1), &plain);
    sto_sealer_fini(&sealer);
    base_buf_fini(&sealed);
    base_buf_fini(&plain);
    return rc == ERR_OK;
}

static struct sto_cipher *create(const char *tenant)
{
    struct sto_cipher *cipher = NULL;
    enum err rc = ten_keystore_create(keystore, base_slice_text(tenant), &cipher, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    return cipher;
}

static void path_of(const char *tenant, char out[PATH_BYTES])
{
    (void)snprintf(out, PATH_BYTES, "%s/%s", dir, tenant);
}

START_TEST(a_key_comes_back_after_a_restart)
{
    struct sto_cipher *made = create("altostrat");
    reopen(MASTER);
    struct sto_cipher *loaded = load("altostrat", ERR_OK);
    ck_assert(is_same_key(made, loaded) && is_same_key(loaded, made));
    sto_cipher_free(made);
    sto_cipher_free(loaded);
}
END_TEST

START_TEST(two_tenants_have_two_keys)
{
    struct sto_cipher *a = create("aa"), *b = create("bb");
    ck_assert(!is_same_key(a, b));
    sto_cipher_free(a);
    sto_cipher_free(b);
}
END_TEST

START_TEST(a_tenant_has_one_file)
{
    struct sto_cipher *again = NULL;
    sto_cipher_free(create("aa"));
    ck_assert_int_eq(ten_keystore_create(keystore, SLICE_LIT("aa"), &again, &eb), ERR_EXISTS);
    ck_assert_ptr_null(again);
}
END_TEST

START_TEST(without_a_file_there_is_a_cipher_that_refuses)
{
    struct sto_cipher *none = load("nobody", ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(none);
    ck_assert_uint_eq(sto_cipher_versions(none), 0);
    sto_cipher_free(none);
}
END_TEST

START_TEST(a_rotation_adds_a_version)
{
    struct sto_cipher *cipher = create("aa");
    struct sto_cipher *first = load("aa", ERR_OK);
    ck_assert_int_eq(ten_keystore_rotate(keystore, SLICE_LIT("aa"), cipher, &eb), ERR_OK);
    ck_assert_uint_eq(sto_cipher_versions(cipher), 2);
    ck_assert(is_same_key(first, cipher)); /* the old one opens */
    reopen(MASTER);
    struct sto_cipher *loaded = load("aa", ERR_OK);
    ck_assert_uint_eq(sto_cipher_versions(loaded), 2);
    ck_assert(is_same_key(cipher, loaded));
    sto_cipher_free(first);
    sto_cipher_free(cipher);
    sto_cipher_free(loaded);
}
END_TEST

START_TEST(there_are_so_many_versions_and_no_more)
{
    struct sto_cipher *cipher = create("aa");
    for (int i = 1; i < STO_CIPHER_VERSIONS; i++)
        ck_assert_int_eq(ten_keystore_rotate(keystore, SLICE_LIT("aa"), cipher, &eb), ERR_OK);
    ck_assert_int_eq(ten_keystore_rotate(keystore, SLICE_LIT("aa"), cipher, &eb), ERR_TOO_BIG);
    ck_assert_ptr_nonnull(strstr(eb.text, "64"));
    sto_cipher_free(cipher);
    cipher = load("aa", ERR_OK);
    ck_assert_uint_eq(sto_cipher_versions(cipher), STO_CIPHER_VERSIONS);
    sto_cipher_free(cipher);
}
END_TEST

START_TEST(another_master_key_is_told_by_name)
{
    char first_id[TEN_MASTER_KEY_ID + 1];
    memcpy(first_id, ten_keystore_master_id(keystore), sizeof first_id);
    sto_cipher_free(create("aa"));
    ten_keystore_close(keystore);
    keystore = NULL;
    ck_assert_int_eq(ten_keystore_open(dir, OTHER_MASTER, &keystore, &eb), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(eb.text, first_id));
    ck_assert_ptr_null(keystore);
}
END_TEST

START_TEST(another_tenants_file_is_damaged)
{
    char a[PATH_BYTES], b[PATH_BYTES];
    sto_cipher_free(create("aa"));
    sto_cipher_free(create("bb"));
    path_of("aa", a);
    path_of("bb", b);
    ck_assert_int_eq(rename(b, a), 0);
    (void)load("aa", ERR_CORRUPT);
}
END_TEST

START_TEST(every_flipped_bit_is_noticed)
{
    char path[PATH_BYTES];
    struct buf file = {0};
    sto_cipher_free(create("aa"));
    path_of("aa", path);
    ck_assert_int_eq(base_file_read(path, KIB, &file, &eb), ERR_OK);
    for (size_t bit = 0; bit < 8 * file.len; bit++) {
        struct sto_cipher *cipher = NULL;
        file.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_int_eq(base_file_replace(path, base_buf_slice(&file), 0600, &eb), ERR_OK);
        enum err rc = ten_keystore_load(keystore, SLICE_LIT("aa"), &cipher, &eb);
        ck_assert_msg(rc == ERR_CORRUPT || rc == ERR_CONFLICT, "bit %zu: %d", bit, rc);
        ck_assert_ptr_null(cipher);
        file.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    base_buf_fini(&file);
}
END_TEST

START_TEST(a_destroyed_key_is_gone_and_may_be_destroyed_again)
{
    char path[PATH_BYTES];
    uint32_t versions = 9;
    struct sto_cipher *cipher = create("aa");
    ck_assert_int_eq(ten_keystore_rotate(keystore, SLICE_LIT("aa"), cipher, &eb), ERR_OK);
    sto_cipher_free(cipher);
    path_of("aa", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC); /* the blocks, after the name went */
    ck_assert_int_ge(fd, 0);
    uint8_t before[512], after[512];
    ssize_t n = pread(fd, before, sizeof before, 0);
    ck_assert_int_gt(n, 100);
    ck_assert_int_eq(ten_keystore_destroy(keystore, SLICE_LIT("aa"), &versions, &eb), ERR_OK);
    ck_assert_uint_eq(versions, 2);
    ck_assert_int_eq(pread(fd, after, sizeof after, 0), n);
    ck_assert(memcmp(before, after, (size_t)n) != 0);
    (void)close(fd);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(ten_keystore_destroy(keystore, SLICE_LIT("aa"), &versions, &eb), ERR_OK);
    ck_assert_uint_eq(versions, 0);
    sto_cipher_free(load("aa", ERR_NOT_FOUND));
}
END_TEST

/* Between the two names of a new file, and before the rename of a replaced one. */
START_TEST(what_a_kill_left_is_destroyed_and_the_living_stays)
{
    char path[PATH_BYTES], second[PATH_BYTES], left[PATH_BYTES];
    uint8_t before[512], after[512];
    struct sto_cipher *cipher = create("aa");
    path_of("aa", path);
    path_of("aa.4711.1.tmp", second);
    path_of("aa.4711.2.tmp", left);
    ck_assert_int_eq(link(path, second), 0);
    struct buf file = {0};
    ck_assert_int_eq(base_file_read(path, KIB, &file, &eb), ERR_OK);
    ck_assert_int_eq(base_file_replace(left, base_buf_slice(&file), 0600, &eb), ERR_OK);
    base_buf_fini(&file);
    int fd = open(left, O_RDONLY | O_CLOEXEC); /* the blocks, after the name went */
    ck_assert_int_ge(fd, 0);
    ssize_t n = pread(fd, before, sizeof before, 0);
    ck_assert_int_gt(n, 50);
    reopen(MASTER);
    ck_assert_int_ne(access(second, F_OK), 0);
    ck_assert_int_ne(access(left, F_OK), 0);
    ck_assert_int_eq(pread(fd, after, sizeof after, 0), n);
    ck_assert(memcmp(before, after, (size_t)n) != 0);
    (void)close(fd);
    struct sto_cipher *again = load("aa", ERR_OK);
    ck_assert(is_same_key(cipher, again));
    sto_cipher_free(cipher);
    sto_cipher_free(again);
}
END_TEST

START_TEST(a_rewrap_changes_the_master_key_and_no_other)
{
    size_t count = 0;
    struct sto_cipher *a = create("aa"), *b = create("bb");
    ten_keystore_close(keystore);
    keystore = NULL;
    ck_assert_int_eq(ten_keystore_rewrap(dir, MASTER, OTHER_MASTER, &count, &eb), ERR_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(ten_keystore_open(dir, MASTER, &keystore, &eb), ERR_CONFLICT);
    reopen(OTHER_MASTER);
    struct sto_cipher *again = load("aa", ERR_OK);
    ck_assert(is_same_key(a, again) && !is_same_key(b, again));
    sto_cipher_free(a);
    sto_cipher_free(b);
    sto_cipher_free(again);
}
END_TEST

START_TEST(an_interrupted_rewrap_goes_on)
{
    size_t count = 0;
    char one[PATH_BYTES], kept[PATH_BYTES];
    struct sto_cipher *a = create("aa");
    sto_cipher_free(create("bb"));
    ten_keystore_close(keystore);
    keystore = NULL;
    /* what it leaves behind its first file: RUN and bb are the old ones */
    path_of("RUN", one);
    path_of("../RUN", kept);
    ck_assert_int_eq(link(one, kept), 0);
    ck_assert_int_eq(ten_keystore_rewrap(dir, MASTER, OTHER_MASTER, &count, &eb), ERR_OK);
    ck_assert_int_eq(rename(kept, one), 0);
    ck_assert_int_eq(ten_keystore_rewrap(dir, MASTER, OTHER_MASTER, &count, &eb), ERR_OK);
    ck_assert_uint_eq(count, 2);
    reopen(OTHER_MASTER);
    struct sto_cipher *again = load("aa", ERR_OK);
    ck_assert(is_same_key(a, again));
    sto_cipher_free(a);
    sto_cipher_free(again);
}
END_TEST

/* --- secrecy ---------------------------------------------------------------------------------- */

static bool is_key_of(const uint8_t key[STO_CIPHER_KEY], struct sto_cipher *cipher)
{
    struct sto_cipher *guess = sto_cipher_new(1);
    ck_assert_int_eq(sto_cipher_add(guess, key), ERR_OK);
    bool is_it = is_same_key(guess, cipher);
    sto_cipher_free(guess);
    return is_it;
}

static bool parse_digit(char c, uint8_t *out)
{
    static const char DIGITS[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = c == '\0' ? NULL : strchr(DIGITS, c);
    if (at != NULL)
        *out = (uint8_t)((at - DIGITS) % 16);
    return at != NULL;
}

static bool parse_key(const uint8_t *text, uint8_t out[STO_CIPHER_KEY])
{
    for (size_t i = 0; i < STO_CIPHER_KEY; i++) {
        uint8_t high, low;
        if (!parse_digit((char)text[2 * i], &high) || !parse_digit((char)text[2 * i + 1], &low))
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* Anywhere in the bytes, as it is or as hexadecimal digits. */
static bool holds_key(struct slice bytes, struct sto_cipher *cipher)
{
    uint8_t parsed[STO_CIPHER_KEY];
    for (size_t at = 0; at + STO_CIPHER_KEY <= bytes.len; at++) {
        if (is_key_of(bytes.ptr + at, cipher))
            return true;
        if (at + 2 * sizeof parsed <= bytes.len && parse_key(bytes.ptr + at, parsed) &&
            is_key_of(parsed, cipher))
            return true;
    }
    return false;
}

/* One that is there is found: else the test below would pass whatever the file holds. */
START_TEST(a_key_that_lies_open_would_be_found)
{
    uint8_t raw[5 + TEN_MASTER_KEY + 3] = {0};
    char text[128] = "x";
    struct sto_cipher *cipher = sto_cipher_new(1);
    ck_assert_int_eq(sto_cipher_add(cipher, MASTER), ERR_OK);
    memcpy(raw + 5, MASTER, sizeof MASTER);
    ck_assert(holds_key(base_slice(raw, sizeof raw), cipher));
    ck_assert(!holds_key(base_slice(raw, sizeof raw - 4), cipher));
    for (size_t i = 0; i < sizeof MASTER; i++)
        (void)snprintf(text + 1 + 2 * i, 3, "%02x", MASTER[i]);
    ck_assert(holds_key(base_slice_text(text), cipher));
    ck_assert(!holds_key(base_slice(text, strlen(text) - 1), cipher));
    sto_cipher_free(cipher);
}
END_TEST

START_TEST(a_data_key_never_lies_open_in_its_file)
{
    static const char *const NAMES[] = {"aa", "RUN"};
    struct sto_cipher *cipher = create("aa");
    struct sto_cipher *master = sto_cipher_new(1);
    ck_assert_int_eq(sto_cipher_add(master, MASTER), ERR_OK);
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        char path[PATH_BYTES];
        struct buf file = {0};
        path_of(NAMES[i], path);
        ck_assert_int_eq(base_file_read(path, KIB, &file, &eb), ERR_OK);
        ck_assert(i > 0 || file.len > STO_CIPHER_KEY);
        ck_assert_msg(!holds_key(base_buf_slice(&file), cipher), "the data key: %s", NAMES[i]);
        ck_assert_msg(!holds_key(base_buf_slice(&file), master), "the master key: %s", NAMES[i]);
        base_buf_fini(&file);
    }
    sto_cipher_free(cipher);
    sto_cipher_free(master);
}
END_TEST

START_TEST(files_are_for_the_owner_alone)
{
    struct stat st;
    char path[PATH_BYTES];
    sto_cipher_free(create("aa"));
    path_of("aa", path);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(stat(dir, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0700);
}
END_TEST

Suite *suite_tenancy_keystore(void)
{
    Suite *s = suite_create("tenancy_keystore");
    TCase *t = tcase_create("keystore");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_key_comes_back_after_a_restart);
    tcase_add_test(t, two_tenants_have_two_keys);
    tcase_add_test(t, a_tenant_has_one_file);
    tcase_add_test(t, without_a_file_there_is_a_cipher_that_refuses);
    tcase_add_test(t, a_rotation_adds_a_version);
    tcase_add_test(t, there_are_so_many_versions_and_no_more);
    tcase_add_test(t, another_master_key_is_told_by_name);
    tcase_add_test(t, another_tenants_file_is_damaged);
    tcase_add_test(t, every_flipped_bit_is_noticed);
    tcase_add_test(t, a_destroyed_key_is_gone_and_may_be_destroyed_again);
    tcase_add_test(t, what_a_kill_left_is_destroyed_and_the_living_stays);
    tcase_add_test(t, a_rewrap_changes_the_master_key_and_no_other);
    tcase_add_test(t, an_interrupted_rewrap_goes_on);
    tcase_add_test(t, a_key_that_lies_open_would_be_found);
    tcase_add_test(t, a_data_key_never_lies_open_in_its_file);
    tcase_add_test(t, files_are_for_the_owner_alone);
    suite_add_tcase(s, t);
    return s;
}

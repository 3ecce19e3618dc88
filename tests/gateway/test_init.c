/*
 * tests/gateway/test_init.c - init makes a directory that is whole, or one that nobody serves.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/init.h"
#include "gateway/serve.h"
#include "gateway/store.h"
#include "tests/support/process.h"

#include "base/banned.h"

static char root[PROCESS_PATH];
static char dir[PROCESS_PATH + 16];
static int keeper = -1;
static struct errbuf eb;

static void set_up(void)
{
    keeper = process_temp_dir(root);
    (void)snprintf(dir, sizeof dir, "%s/data", root);
}

static void tear_down(void)
{
    process_temp_dir_remove(root, keeper);
}

static const char *file(const char *name)
{
    static char path[PROCESS_PATH + 64];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void init(void)
{
    ck_assert_msg(gw_init(dir, NULL, 0, &eb) == ERR_OK, "%s", eb.text);
}

static const struct {
    const char *name;
    unsigned mode;
} FILES[] = {
    {"FORMAT", 0644}, {"pepper", 0600},     {"operator.key", 0600}, {"ca.key", 0600},
    {"ca.pem", 0644}, {"server.key", 0600}, {"server.pem", 0644},
};

START_TEST(every_file_is_there_with_its_mode)
{
    struct stat st;
    init();
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        ck_assert_msg(stat(file(FILES[i].name), &st) == 0, "%s", FILES[i].name);
        ck_assert_msg(((unsigned)st.st_mode & 07777) == FILES[i].mode, "%s is mode %o",
                      FILES[i].name, (unsigned)st.st_mode & 07777);
        ck_assert_int_gt(st.st_size, 0);
    }
    ck_assert_int_eq(stat(dir, &st), 0);
    ck_assert_uint_eq((unsigned)st.st_mode & 077, 0);
}
END_TEST

static void verify(struct gw_store *store, struct slice text)
{
    struct auth_verifier *verifier = NULL;
    const struct auth_key *key = NULL;
    int slot = base_epoch_join(store->epoch);
    ck_assert_int_eq(auth_verifier_new(store->keyring, &verifier), ERR_OK);
    ck_assert_int_eq(auth_verify(verifier, text, &key), ERR_OK);
    ck_assert_int_eq(key->kind, AUTH_OPERATOR);
    ck_assert_uint_eq(key->scopes, AUTH_SCOPES_OPERATOR);
    auth_verifier_free(verifier);
    base_epoch_leave(store->epoch, slot);
}

START_TEST(the_operator_key_works)
{
    struct buf text;
    struct mig_datadir datadir;
    struct gw_store store;
    struct sto_rocksdb_options options;
    init();
    base_buf_init(&text, 256);
    ck_assert_int_eq(base_file_read(file("operator.key"), 256, &text, &eb), ERR_OK);
    ck_assert_uint_eq(text.len, AUTH_KEY_TEXT + 1);
    ck_assert_int_eq(text.ptr[AUTH_KEY_TEXT], '\n');
    sto_rocksdb_options_default(&options);
    ck_assert_int_eq(mig_datadir_open(dir, &datadir, &eb), ERR_OK);
    ck_assert_msg(gw_store_open(&store, &datadir, NULL, &options, &eb) == ERR_OK, "%s", eb.text);
    verify(&store, base_slice(text.ptr, AUTH_KEY_TEXT));
    gw_store_close(&store);
    mig_datadir_close(&datadir);
    base_buf_fini(&text);
}
END_TEST

START_TEST(a_second_init_is_refused_and_changes_nothing)
{
    struct buf before;
    struct buf after;
    base_buf_init(&before, 256);
    base_buf_init(&after, 256);
    init();
    ck_assert_int_eq(base_file_read(file("pepper"), 256, &before, &eb), ERR_OK);
    ck_assert_int_eq(gw_init(dir, NULL, 0, &eb), ERR_EXISTS);
    ck_assert_ptr_nonnull(strstr(eb.text, dir));
    ck_assert_int_eq(base_file_read(file("pepper"), 256, &after, &eb), ERR_OK);
    ck_assert(base_slice_equal(base_buf_slice(&before), base_buf_slice(&after)));
    base_buf_fini(&before);
    base_buf_fini(&after);
}
END_TEST

START_TEST(a_foreign_directory_is_refused)
{
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    (void)close(open(file("thesis"), O_WRONLY | O_CREAT, 0600));
    ck_assert_int_eq(gw_init(dir, NULL, 0, &eb), ERR_EXISTS);
    ck_assert_int_ne(access(file("FORMAT"), F_OK), 0);
    ck_assert_int_ne(access(file("pepper"), F_OK), 0);
}
END_TEST

START_TEST(a_bad_host_name_is_refused_before_anything_is_made)
{
    static const char *const hosts[] = {"good.example", "not a name"};
    ck_assert_int_eq(gw_init(dir, hosts, 2, &eb), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "not a name"));
    ck_assert_int_ne(access(dir, F_OK), 0);
}
END_TEST

START_TEST(a_missing_or_short_pepper_is_named)
{
    struct mig_datadir datadir;
    struct gw_store store;
    struct sto_rocksdb_options options;
    sto_rocksdb_options_default(&options);
    init();
    ck_assert_int_eq(mig_datadir_open(dir, &datadir, &eb), ERR_OK);
    ck_assert_int_eq(truncate(file("pepper"), 31), 0);
    ck_assert_int_eq(gw_store_open(&store, &datadir, NULL, &options, &eb), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(eb.text, "pepper"));
    ck_assert_int_eq(unlink(file("pepper")), 0);
    ck_assert_int_eq(gw_store_open(&store, &datadir, NULL, &options, &eb), ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(eb.text, "pepper"));
    mig_datadir_close(&datadir);
}
END_TEST

static const struct {
    const char *text;
    enum err result;
    const char *host;
    uint16_t port;
} LISTENS[] = {
    {"127.0.0.1:8443", ERR_OK, "127.0.0.1", 8443},
    {"0.0.0.0:0", ERR_OK, "0.0.0.0", 0},
    {"[::1]:8443", ERR_OK, "::1", 8443},
    {"[::]:65535", ERR_OK, "::", 65535},
    {"", ERR_INVALID, NULL, 0},
    {":8443", ERR_INVALID, NULL, 0},
    {"127.0.0.1", ERR_INVALID, NULL, 0},
    {"127.0.0.1:", ERR_INVALID, NULL, 0},
    {"127.0.0.1:65536", ERR_INVALID, NULL, 0},
    {"127.0.0.1:-1", ERR_INVALID, NULL, 0},
    {"127.0.0.1:08443", ERR_INVALID, NULL, 0},
    {"localhost:8443", ERR_INVALID, NULL, 0},
    {"::1:8443", ERR_INVALID, NULL, 0},
    {"[]:8443", ERR_INVALID, NULL, 0},
    {"[127.0.0.1]:8443", ERR_INVALID, NULL, 0},
    {"[::1:8443", ERR_INVALID, NULL, 0},
};

START_TEST(listen_addresses_are_numeric)
{
    struct gw_address a;
    ck_assert_int_eq(gw_serve_parse_address(LISTENS[_i].text, &a, &eb), LISTENS[_i].result);
    if (LISTENS[_i].result == ERR_OK) {
        ck_assert_str_eq(a.host, LISTENS[_i].host);
        ck_assert_uint_eq(a.port, LISTENS[_i].port);
    }
}
END_TEST

static const struct {
    const char *text;
    enum err result;
} PLAINTEXTS[] = {
    {"127.0.0.1:8086", ERR_OK},      {"127.8.9.10:0", ERR_OK},
    {"[::1]:8086", ERR_OK},          {"0.0.0.0:8086", ERR_INVALID},
    {"[::]:8086", ERR_INVALID},      {"10.0.0.1:8086", ERR_INVALID},
    {"128.0.0.1:8086", ERR_INVALID}, {"[fe80::1]:8086", ERR_INVALID},
    {"localhost:8086", ERR_INVALID},
};

START_TEST(plaintext_is_for_loopback_only)
{
    struct gw_address a;
    ck_assert_int_eq(gw_serve_parse_loopback(PLAINTEXTS[_i].text, &a, &eb), PLAINTEXTS[_i].result);
}
END_TEST

Suite *suite_gateway_init(void);
Suite *suite_gateway_init(void)
{
    Suite *s = suite_create("gateway_init");
    TCase *tc = tcase_create("init");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, every_file_is_there_with_its_mode);
    tcase_add_test(tc, the_operator_key_works);
    tcase_add_test(tc, a_second_init_is_refused_and_changes_nothing);
    tcase_add_test(tc, a_foreign_directory_is_refused);
    tcase_add_test(tc, a_bad_host_name_is_refused_before_anything_is_made);
    tcase_add_test(tc, a_missing_or_short_pepper_is_named);
    tcase_add_loop_test(tc, listen_addresses_are_numeric, 0,
                        (int)(sizeof LISTENS / sizeof LISTENS[0]));
    tcase_add_loop_test(tc, plaintext_is_for_loopback_only, 0,
                        sizeof PLAINTEXTS / sizeof PLAINTEXTS[0]);
    suite_add_tcase(s, tc);
    return s;
}

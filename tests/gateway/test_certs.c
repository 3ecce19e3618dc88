/*
 * tests/gateway/test_certs.c - the development certificates are what a client checks for.
 */
#include <check.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/certs.h"
#include "tests/support/process.h"

#include "base/banned.h"

static char dir[PROCESS_PATH];
static int keeper = -1;
static struct errbuf eb;

static void set_up(void)
{
    keeper = process_temp_dir(dir);
}

static void tear_down(void)
{
    process_temp_dir_remove(dir, keeper);
}

static FILE *open_file(const char *name)
{
    char path[PROCESS_PATH + 32];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    return f;
}

static X509 *load_cert(const char *name)
{
    FILE *f = open_file(name);
    X509 *cert = PEM_read_X509(f, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(cert);
    (void)fclose(f);
    return cert;
}

static EVP_PKEY *load_key(const char *name)
{
    FILE *f = open_file(name);
    EVP_PKEY *key = PEM_read_PrivateKey(f, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(key);
    (void)fclose(f);
    return key;
}

static void make(void)
{
    static const char *const hosts[] = {"db.example", "*.db.example", "10.0.0.5", "2001:db8::1"};
    ck_assert_msg(gw_certs_make(dir, hosts, 4, &eb) == ERR_OK, "%s", eb.text);
}

START_TEST(a_client_that_trusts_the_ca_trusts_the_server)
{
    make();
    X509 *ca = load_cert("ca.pem");
    X509 *server = load_cert("server.pem");
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    ck_assert_int_eq(X509_STORE_add_cert(store, ca), 1);
    ck_assert_int_eq(X509_STORE_set_flags(store, X509_V_FLAG_X509_STRICT), 1);
    ck_assert_int_eq(X509_STORE_CTX_init(context, store, server, NULL), 1);
    ck_assert_int_eq(X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_SERVER), 1);
    int ok = X509_verify_cert(context);
    ck_assert_msg(ok == 1, "%s", X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)));
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    X509_free(server);
    X509_free(ca);
}
END_TEST

START_TEST(it_is_good_for_its_names_only)
{
    static const char *const good[] = {"localhost", "db.example", "x.db.example"};
    static const char *const bad[] = {"example", "x.y.db.example", "localhost.example"};
    static const char *const good_ips[] = {"127.0.0.1", "::1", "10.0.0.5", "2001:db8::1"};
    make();
    X509 *server = load_cert("server.pem");
    for (size_t i = 0; i < 3; i++) {
        ck_assert_msg(X509_check_host(server, good[i], 0, 0, NULL) == 1, "%s", good[i]);
        ck_assert_msg(X509_check_host(server, bad[i], 0, 0, NULL) == 0, "%s", bad[i]);
    }
    for (size_t i = 0; i < 4; i++)
        ck_assert_msg(X509_check_ip_asc(server, good_ips[i], 0) == 1, "%s", good_ips[i]);
    ck_assert_int_eq(X509_check_ip_asc(server, "10.0.0.6", 0), 0);
    X509_free(server);
}
END_TEST

static int days_left(const X509 *cert)
{
    int days = 0;
    int seconds = 0;
    ck_assert_int_eq(ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(cert)), 1);
    return days;
}

START_TEST(keys_and_lifetimes_are_as_promised)
{
    make();
    X509 *ca = load_cert("ca.pem");
    X509 *server = load_cert("server.pem");
    EVP_PKEY *ca_key = load_key("ca.key");
    EVP_PKEY *server_key = load_key("server.key");
    ck_assert_int_eq(X509_check_private_key(ca, ca_key), 1);
    ck_assert_int_eq(X509_check_private_key(server, server_key), 1);
    ck_assert_int_eq(EVP_PKEY_get_bits(server_key), 256);
    ck_assert_int_eq(EVP_PKEY_get_base_id(server_key), EVP_PKEY_EC);
    ck_assert_int_ge(days_left(ca), 3648);
    ck_assert_int_le(days_left(ca), 3650);
    ck_assert_int_ge(days_left(server), 823);
    ck_assert_int_le(days_left(server), 825);
    ck_assert_int_eq(X509_check_ca(ca), 1);
    ck_assert_int_eq(X509_check_ca(server), 0);
    char name[64];
    (void)X509_NAME_get_text_by_NID(X509_get_subject_name(ca), NID_commonName, name, sizeof name);
    ck_assert_str_eq(name, "Bigtent development CA");
    EVP_PKEY_free(server_key);
    EVP_PKEY_free(ca_key);
    X509_free(server);
    X509_free(ca);
}
END_TEST

static unsigned mode_of(const char *name)
{
    char path[PROCESS_PATH + 32];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    ck_assert_msg(stat(path, &st) == 0, "%s", path);
    return (unsigned)st.st_mode & 07777;
}

START_TEST(private_keys_are_for_their_owner_only)
{
    make();
    ck_assert_uint_eq(mode_of("ca.key"), 0600);
    ck_assert_uint_eq(mode_of("server.key"), 0600);
    ck_assert_uint_eq(mode_of("ca.pem"), 0644);
    ck_assert_uint_eq(mode_of("server.pem"), 0644);
}
END_TEST

START_TEST(existing_files_are_left_alone)
{
    make();
    X509 *before = load_cert("ca.pem");
    ck_assert_int_eq(gw_certs_make(dir, NULL, 0, &eb), ERR_EXISTS);
    X509 *after = load_cert("ca.pem");
    ck_assert_int_eq(X509_cmp(before, after), 0);
    X509_free(after);
    X509_free(before);
}
END_TEST

static const struct {
    const char *host;
    enum err result;
} HOSTS[] = {
    {"a", ERR_OK},
    {"a-b.c9.example", ERR_OK},
    {"*.example", ERR_OK},
    {"127.0.0.1", ERR_OK},
    {"::1", ERR_OK},
    {"123456789012345678901234567890123456789012345678901234567890123", ERR_OK},
    {"1234567890123456789012345678901234567890123456789012345678901234", ERR_INVALID},
    {"", ERR_INVALID},
    {".", ERR_INVALID},
    {"a.", ERR_INVALID},
    {".a", ERR_INVALID},
    {"a..b", ERR_INVALID},
    {"-a", ERR_INVALID},
    {"a-", ERR_INVALID},
    {"*", ERR_INVALID},
    {"a.*", ERR_INVALID},
    {"a_b", ERR_INVALID},
    {"a,IP:1.2.3.4", ERR_INVALID},
    {"a b", ERR_INVALID},
    {"\xc3\xa4", ERR_INVALID},
    {"https://a", ERR_INVALID},
};

START_TEST(host_names_are_checked)
{
    ck_assert_int_eq(gw_cert_host_check(HOSTS[_i].host, &eb), HOSTS[_i].result);
}
END_TEST

START_TEST(too_many_names_are_refused)
{
    const char *hosts[GW_CERT_HOSTS + 1];
    for (size_t i = 0; i <= GW_CERT_HOSTS; i++)
        hosts[i] = "a";
    ck_assert_int_eq(gw_certs_make(dir, hosts, GW_CERT_HOSTS + 1, &eb), ERR_TOO_BIG);
    ck_assert_int_eq(gw_certs_make(dir, hosts, GW_CERT_HOSTS, &eb), ERR_OK);
}
END_TEST

Suite *suite_gateway_certs(void);
Suite *suite_gateway_certs(void)
{
    Suite *s = suite_create("gateway_certs");
    TCase *tc = tcase_create("certs");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_client_that_trusts_the_ca_trusts_the_server);
    tcase_add_test(tc, it_is_good_for_its_names_only);
    tcase_add_test(tc, keys_and_lifetimes_are_as_promised);
    tcase_add_test(tc, private_keys_are_for_their_owner_only);
    tcase_add_test(tc, existing_files_are_left_alone);
    tcase_add_loop_test(tc, host_names_are_checked, 0, (int)(sizeof HOSTS / sizeof HOSTS[0]));
    tcase_add_test(tc, too_many_names_are_refused);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * Certificates: what is loaded, what is refused and how the refusal reads.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/edge.h"

#include "base/banned.h"

static char dir[PROCESS_PATH];
static int keeper_fd;
static char cert[BASE_PATH_BYTES];
static char key[BASE_PATH_BYTES];
static char other_cert[BASE_PATH_BYTES];
static char other_key[BASE_PATH_BYTES];
static struct errbuf eb;

static void set_up(void)
{
    keeper_fd = process_temp_dir(dir);
    ck_assert_int_eq(base_path_join(cert, dir, "cert.pem", &eb), ERR_OK);
    ck_assert_int_eq(base_path_join(key, dir, "key.pem", &eb), ERR_OK);
    ck_assert_int_eq(base_path_join(other_cert, dir, "other-cert.pem", &eb), ERR_OK);
    ck_assert_int_eq(base_path_join(other_key, dir, "other-key.pem", &eb), ERR_OK);
    edge_make_certificate(cert, key, "one", -60, 3600);
    edge_make_certificate(other_cert, other_key, "two", -60, 3600);
}

static void tear_down(void)
{
    process_temp_dir_remove(dir, keeper_fd);
}

static void check_refused(const char *cert_path, const char *key_path, enum err expected,
                          const char *file, const char *why)
{
    struct gw_tls *tls = NULL;
    ck_assert_int_eq(gw_tls_open(cert_path, key_path, &tls, &eb), expected);
    ck_assert_ptr_null(tls);
    ck_assert_msg(strstr(eb.text, file) != NULL, "%s", eb.text);
    ck_assert_msg(strstr(eb.text, why) != NULL, "%s", eb.text);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    ck_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

START_TEST(loads_a_good_pair)
{
    struct gw_tls *tls;
    ck_assert_int_eq(gw_tls_open(cert, key, &tls, &eb), ERR_OK);
    SSL_CTX *context = gw_tls_current(tls);
    SSL *ssl = SSL_new(context);
    SSL_CTX_free(context);
    ck_assert_int_eq(SSL_CTX_get_min_proto_version(SSL_get_SSL_CTX(ssl)), TLS1_2_VERSION);
    SSL_free(ssl);
    gw_tls_close(tls);
    gw_tls_close(NULL);
}
END_TEST

START_TEST(refusals_name_file_and_reason)
{
    char missing[BASE_PATH_BYTES];
    ck_assert_int_eq(base_path_join(missing, dir, "missing.pem", &eb), ERR_OK);
    check_refused(missing, key, ERR_IO, missing, "No such file");
    check_refused(cert, missing, ERR_IO, missing, "No such file");
    check_refused(cert, other_key, ERR_INVALID, "other-key.pem", "does not belong");
    check_refused(key, key, ERR_INVALID, "key.pem", "not a usable PEM certificate");
    check_refused(cert, cert, ERR_INVALID, "cert.pem", "not a usable PEM private key");
    write_file(other_cert, "");
    check_refused(other_cert, key, ERR_INVALID, "other-cert.pem", "not a usable PEM certificate");
    write_file(other_key, "-----BEGIN PRIVATE KEY-----\nrubbish\n-----END PRIVATE KEY-----\n");
    check_refused(cert, other_key, ERR_INVALID, "other-key.pem", "not a usable PEM private key");
}
END_TEST

START_TEST(dates_are_checked)
{
    edge_make_certificate(cert, key, "old", -7200, -3600);
    check_refused(cert, key, ERR_INVALID, "cert.pem", "has expired");
    edge_make_certificate(cert, key, "new", 3600, 7200);
    check_refused(cert, key, ERR_INVALID, "cert.pem", "not valid yet");
}
END_TEST

START_TEST(failed_reload_keeps_the_old_one)
{
    struct gw_tls *tls;
    ck_assert_int_eq(gw_tls_open(cert, key, &tls, &eb), ERR_OK);
    SSL_CTX *before = gw_tls_current(tls);
    write_file(key, "rubbish");
    ck_assert_int_eq(gw_tls_reload(tls, &eb), ERR_INVALID);
    SSL_CTX *after = gw_tls_current(tls);
    ck_assert_ptr_eq(before, after);
    edge_make_certificate(cert, key, "three", -60, 3600);
    ck_assert_int_eq(gw_tls_reload(tls, &eb), ERR_OK);
    SSL_CTX *last = gw_tls_current(tls);
    ck_assert_ptr_ne(before, last);
    SSL_CTX_free(before);
    SSL_CTX_free(after);
    SSL_CTX_free(last);
    gw_tls_close(tls);
}
END_TEST

Suite *suite_gateway_tls(void);
Suite *suite_gateway_tls(void)
{
    Suite *s = suite_create("gateway_tls");
    TCase *t = tcase_create("certificates");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, loads_a_good_pair);
    tcase_add_test(t, refusals_name_file_and_reason);
    tcase_add_test(t, dates_are_checked);
    tcase_add_test(t, failed_reload_keeps_the_old_one);
    suite_add_tcase(s, t);
    return s;
}

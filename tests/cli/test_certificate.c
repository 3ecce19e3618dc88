/* tests/cli/test_certificate.c - certificates fetched, read and checked, honest and forged. */
#define _GNU_SOURCE
#include "tests/cli/session.h"

#include <fcntl.h>

#include "base/file.h"
#include "base/sealed_line.h"

#include "base/banned.h"

#define FIRST_FORMAT "tests/tenancy/fixtures/erasures-1"

static char dir[PROCESS_PATH];
static int keeper;
static char certificate[RUN_OUT_BYTES];
static char key_path[PROCESS_PATH + 32];
static char file_path[PROCESS_PATH + 32];

static void put(const char *path, const char *text)
{
    struct errbuf eb;
    enum err e = base_file_replace(path, base_slice_text(text), 0600, &eb);
    ck_assert_msg(e == ERR_OK, "%s", eb.text);
}

/* A tenant that left, its certificate in a file, the key in another. */
static void set_up(void)
{
    session_set_up();
    keeper = process_temp_dir(dir);
    (void)snprintf(key_path, sizeof key_path, "%s/certificate.pub", dir);
    (void)snprintf(file_path, sizeof file_path, "%s/certificate.json", dir);
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--confirm", w.tenant, "--wait");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, "certificate", "key");
    EXPECT_CODE(&r, 0);
    put(key_path, r.out);
    bigtent(&r, &op, "certificate", "get", w.tenant);
    EXPECT_CODE(&r, 0);
    (void)snprintf(certificate, sizeof certificate, "%s", r.out);
    put(file_path, certificate);
}

static void tear_down(void)
{
    process_temp_dir_remove(dir, keeper);
    session_tear_down();
}

static void verify(const char *text)
{
    struct setup nobody = {.input = text};
    bigtent(&r, &nobody, "certificate", "verify", "-", "--pubkey", key_path);
}

START_TEST(a_certificate_is_checked_without_the_server)
{
    struct setup nobody = {.url = NULL};
    bigtent(&r, &nobody, "certificate", "verify", file_path, "--pubkey", key_path);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, w.tenant);
    EXPECT_IN(r.out, " purged 20");
    EXPECT_IN(r.out, "1 signed");
    certificate[strlen(certificate) - 1] = '\0'; /* the line feed is not part of it */
    verify(certificate);
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(a_changed_certificate_is_found)
{
    static const struct {
        const char *from, *to;
    } changes[] = {
        {"\"after\":0", "\"after\":1"},         {"\"passed\":true", "\"passed\":null"},
        {"\"copies\":[]", "\"copies\":{}"},     {"\"event\":\"purged\"", "\"event\":\"burned\""},
        {"\"previous\":\"", "\"previouz\":\""}, {"\"signature\":\"", "\"signaturf\":\""}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char *at = strstr(certificate, changes[i].from);
        ck_assert_ptr_nonnull(at);
        memcpy(at, changes[i].to, strlen(changes[i].to));
        verify(certificate);
        EXPECT_CODE(&r, 5);
        EXPECT_IN(r.err, "line 1: ");
        memcpy(at, changes[i].from, strlen(changes[i].from));
    }
    verify(certificate);
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(what_is_no_certificate_is_refused)
{
    static const char *const texts[] = {"", "\n", "{}", "{\"signature\":\"\"}\n", "no\nlines\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        verify(texts[i]);
        EXPECT_CODE(&r, 5);
    }
    char twice[2 * RUN_OUT_BYTES];
    (void)snprintf(twice, sizeof twice, "%s%s", certificate, certificate);
    verify(twice);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "line 2: the line does not follow");
}
END_TEST

/* What was asked for and refused is no hold. */
START_TEST(it_tells_who_held_and_released_and_when)
{
    char id[WORLD_ID];
    world_fresh_id(id);
    EXPECT_IN(certificate, "\"holds\":[]");
    bigtent(&r, &op, "tenant", "create", id);
    bigtent(&r, &op, "tenant", "hold", id, "--reason", "file 17 of Mr Miller");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, "tenant", "offboard", id, "--confirm", id);
    EXPECT_CODE(&r, 1);
    bigtent(&r, &op, "tenant", "release", id);
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, "tenant", "offboard", id, "--confirm", id, "--wait");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, "certificate", "get", id);
    EXPECT_CODE(&r, 0);
    json_t *doc = json_of(&r);
    const json_t *holds = json_object_get(doc, "holds");
    ck_assert_uint_eq(json_array_size(holds), 2);
    for (size_t i = 0; i < 2; i++) {
        static const char *const actions[] = {"hold", "release"};
        const json_t *hold = json_array_get(holds, i);
        ck_assert_str_eq(json_string_value(json_object_get(hold, "action")), actions[i]);
        ck_assert_int_eq(strncmp(json_string_value(json_object_get(hold, "at")), "20", 2), 0);
        ck_assert_uint_gt(strlen(json_string_value(json_object_get(hold, "by"))), 8);
        ck_assert_int_gt(json_integer_value(json_object_get(hold, "record")), 0);
    }
    json_decref(doc);
    EXPECT_NOT_IN(r.out, "Miller");
    (void)snprintf(certificate, sizeof certificate, "%s", r.out);
    verify(certificate);
    EXPECT_CODE(&r, 0);
}
END_TEST

/* Two that left under a version that wrote format 1; with their key, which is in no other place. */
START_TEST(certificates_of_the_first_format_are_checked_like_others)
{
    struct setup nobody = {.url = NULL};
    bigtent(&r, &nobody, "certificate", "verify", FIRST_FORMAT ".ndjson", "--pubkey",
            FIRST_FORMAT ".pub");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "altostrat purged 20");
    EXPECT_IN(r.out, "cirrus purged 20");
    EXPECT_IN(r.out, "2 signed, a whole chain from its beginning");
    bigtent(&r, &nobody, "certificate", "verify", FIRST_FORMAT ".ndjson", "--pubkey", key_path);
    EXPECT_CODE(&r, 5);
}
END_TEST

START_TEST(a_wrong_key_checks_nothing)
{
    struct buf pem;
    struct errbuf eb;
    EVP_PKEY *key = NULL;
    base_buf_init(&pem, BASE_SEAL_PEM_MAX);
    ck_assert_int_eq(base_seal_key_make(&key, &eb), ERR_OK);
    ck_assert_int_eq(base_seal_public_write(key, &pem, &eb), ERR_OK);
    ck_assert_int_eq(base_buf_append_byte(&pem, 0), ERR_OK);
    put(key_path, (const char *)pem.ptr);
    base_buf_fini(&pem);
    base_seal_key_free(key);
    verify(certificate);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "not by this key");
    bigtent(&r, &op, "certificate", "html", file_path, "--pubkey", key_path);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "not by this key");
    ck_assert_str_eq(r.out, "");
    put(key_path, certificate);
    verify(certificate);
    EXPECT_CODE(&r, 2);
    bigtent(&r, &op, "certificate", "verify", file_path, "--pubkey", "/nowhere");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &op, "certificate", "verify", "/nowhere", "--pubkey", key_path);
    EXPECT_CODE(&r, 2);
    bigtent(&r, &op, "certificate", "verify", file_path);
    EXPECT_CODE(&r, 2);
}
END_TEST

START_TEST(the_servers_ledger_is_a_whole_chain)
{
    char ledger[PROCESS_PATH + 32];
    struct world second;
    world_init(&second, HTTP_2);
    bigtent(&r, &op, "tenant", "offboard", second.tenant, "--confirm", second.tenant, "--wait");
    EXPECT_CODE(&r, 0);
    (void)snprintf(ledger, sizeof ledger, "%s/erasures.ndjson", world_server()->data);
    bigtent(&r, &op, "certificate", "verify", ledger, "--pubkey", key_path);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, second.tenant);
    EXPECT_IN(r.out, "a whole chain from its beginning");
    world_fini(&second);
}
END_TEST

static bool has_expired(void *id)
{
    bigtent(&r, &op, "certificate", "get", id, "--event", "expired");
    return r.code == 0;
}

/* The one that holds the tenant, with its end. */
static void expect_backup(const char *id)
{
    char wanted[96];
    (void)snprintf(wanted, sizeof wanted, "%s until 20", id);
    const char *backups = plain_value(&r, "backups");
    ck_assert_msg(strstr(backups, wanted) != NULL, "%s", backups);
}

/* Each line is told with the time of what it says. */
START_TEST(the_second_line_is_checked_like_the_first)
{
    char ledger[PROCESS_PATH + 32], id[64], line[WORLD_ID + 64];
    struct world second;
    world_init(&second, HTTP_2);
    bigtent(&r, &op, "backup", "create", "--keep", "1d", "--wait");
    EXPECT_CODE(&r, 0);
    copy_plain_value(&r, "id", id, sizeof id);
    bigtent(&r, &op, "tenant", "offboard", second.tenant, "--dry-run");
    EXPECT_CODE(&r, 0);
    expect_backup(id);
    bigtent(&r, &op, "tenant", "offboard", second.tenant, "--confirm", second.tenant, "--wait");
    EXPECT_CODE(&r, 0);
    expect_backup(id);
    bigtent(&r, &op, "backup", "delete", id);
    EXPECT_CODE(&r, 0);
    process_await(has_expired, second.tenant, "the certificate of the last backup's end");
    json_t *second_line = json_of(&r);
    (void)snprintf(line, sizeof line, "%s expired %.40s\n", second.tenant,
                   json_string_value(json_object_get(second_line, "expired")));
    json_decref(second_line);
    (void)snprintf(ledger, sizeof ledger, "%s/erasures.ndjson", world_server()->data);
    bigtent(&r, &op, "certificate", "verify", ledger, "--pubkey", key_path);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, line);
    world_fini(&second);
}
END_TEST

static void page_of(const char *text)
{
    struct setup nobody = {.input = text};
    bigtent(&r, &nobody, "certificate", "html", "-", "--pubkey", key_path);
}

static void expect_no_page(const char *why)
{
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, why);
    ck_assert_str_eq(r.out, "");
}

START_TEST(a_page_is_made_of_what_verifies_and_of_nothing_else)
{
    struct setup nobody = {.url = NULL};
    bigtent(&r, &nobody, "certificate", "html", file_path, "--pubkey", key_path);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "<!doctype html>");
    EXPECT_IN(r.out, "<strong>Erased");
    EXPECT_IN(r.out, "<strong>The signature is valid.</strong>");
    EXPECT_IN(r.out, w.tenant);
    EXPECT_NOT_IN(r.out, "<strong>no</strong>");
    EXPECT_NOT_IN(r.out, "not stated");
    page_of("{}");
    expect_no_page("no page is made of what does not verify: the line is not signed");
    page_of("{\"tenant\":\"<script>\"}");
    expect_no_page("not signed");
    page_of("");
    expect_no_page("there is no certificate");
    char *at = strstr(certificate, "\"after\":0");
    at[8] = '1';
    page_of(certificate);
    expect_no_page("or the line was changed since");
    at[8] = '0';
    page_of(certificate);
    EXPECT_CODE(&r, 0);
    bigtent(&r, &nobody, "certificate", "html", file_path);
    EXPECT_CODE(&r, 2);
    bigtent(&r, &nobody, "certificate", "html", FIRST_FORMAT ".ndjson", "--pubkey",
            FIRST_FORMAT ".pub");
    EXPECT_CODE(&r, 2); /* two of them */
    EXPECT_IN(r.err, "a page is made of one certificate");
    ck_assert_str_eq(r.out, "");
}
END_TEST

/* A backup from before the tenant was made: of its purge, the restored server has the ledger. */
START_TEST(offboarding_is_repeated_on_a_server_that_was_restored)
{
    static struct server restored;
    const struct server *s = world_server();
    char program[PROCESS_PATH], backups[PROCESS_PATH + 32], job[64], id[WORLD_ID];
    static struct process_result restoring;
    bigtent(&r, &op, "backup", "create", "--wait");
    EXPECT_CODE(&r, 0);
    world_fresh_id(id);
    bigtent(&r, &op, "tenant", "create", id);
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, "tenant", "offboard", id, "--confirm", id, "--wait");
    EXPECT_CODE(&r, 0);
    copy_plain_value(&r, "id", job, sizeof job);
    restored = *s; /* keys and CA are those of the backup */
    restored.pid = 0;
    (void)snprintf(restored.data, sizeof restored.data, "%s/again", s->root);
    (void)snprintf(backups, sizeof backups, "%s/backups", s->data);
    process_program("bigtentd", program);
    const char *argv[] = {program, "restore", "--data", restored.data, "--backups", backups, NULL};
    process_run(argv, NULL, 60000, &restoring);
    ck_assert_msg(restoring.exit_code == 0, "%s", restoring.output);
    server_start(&restored, NULL);
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", restored.port);
    bigtent(&r, &op, "tenant", "offboard", id, "--confirm", id, "--wait");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "job"), job);
    const char *state = plain_value(&r, "state"); /* no backup holds it: it expires at some time */
    ck_assert_msg(strcmp(state, "purged") == 0 || strcmp(state, "expired") == 0, "%s", state);
    EXPECT_IN(r.err, "bigtent certificate get ");
    bigtent(&r, &op, "certificate", "get", id);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, job);
    (void)snprintf(certificate, sizeof certificate, "%s", r.out);
    verify(certificate);
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--confirm", w.tenant, "--wait");
    EXPECT_CODE(&r, 0); /* in the backup, or not: alike */
    server_stop(&restored);
}
END_TEST

START_TEST(who_is_there_has_none)
{
    bigtent(&r, &op, "certificate", "get", "nobody-here");
    EXPECT_CODE(&r, 4);
    bigtent(&r, &op, "certificate", "get", w.tenant, "--event", "expired");
    EXPECT_CODE(&r, 4);
    bigtent(&r, &op, "certificate", "get", w.tenant, "--event", "burned");
    ck_assert_int_ne(r.code, 0);
}
END_TEST

/* The browser's way. */
START_TEST(the_server_makes_the_page_too)
{
    http_once(w.op, "Accept: text/html");
    http_get(w.op, "/v1/admin/tenants/%s/certificate", w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_ptr_nonnull(strstr(http_text(w.op), "<!doctype html>"));
    ck_assert_ptr_nonnull(strstr(http_text(w.op), "<strong>The signature is valid.</strong>"));
    bigtent(&r, &op, "certificate", "html", file_path, "--pubkey", key_path);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, http_text(w.op)); /* the same page */
    http_get(w.op, "/v1/admin/tenants/%s/certificate", w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/tenant"), w.tenant);
    http_get(w.op, "/v1/admin/tenants/%s/certificate?event=burned", w.tenant);
    EXPECT_STATUS(w.op, 400);
    http_get(w.http, "/v1/admin/certificate-key");
    ck_assert_int_ne(w.http->status, 200); /* not with a tenant's key */
}
END_TEST

Suite *suite_cli_certificate(void);
Suite *suite_cli_certificate(void)
{
    Suite *s = suite_create("cli_certificate");
    TCase *c = tcase_create("certificate");
    tcase_set_timeout(c, 60);
    world_begin(c);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, a_certificate_is_checked_without_the_server);
    tcase_add_test(c, a_changed_certificate_is_found);
    tcase_add_test(c, what_is_no_certificate_is_refused);
    tcase_add_test(c, it_tells_who_held_and_released_and_when);
    tcase_add_test(c, certificates_of_the_first_format_are_checked_like_others);
    tcase_add_test(c, a_wrong_key_checks_nothing);
    tcase_add_test(c, the_servers_ledger_is_a_whole_chain);
    tcase_add_test(c, the_second_line_is_checked_like_the_first);
    tcase_add_test(c, a_page_is_made_of_what_verifies_and_of_nothing_else);
    tcase_add_test(c, offboarding_is_repeated_on_a_server_that_was_restored);
    tcase_add_test(c, who_is_there_has_none);
    tcase_add_test(c, the_server_makes_the_page_too);
    world_end(c);
    suite_add_tcase(s, c);
    return s;
}

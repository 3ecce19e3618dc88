/*
 * tests/cli/test_audit_retention.c - a trail whose oldest records were removed is verified from the
 * sealed statement it begins with, and from no other.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "tests/cli/session.h"

#include "base/banned.h"

static struct server server;
static char trail[RUN_OUT_BYTES];
static char pub[PROCESS_PATH + 32];

/* The start, the tenant, its key, its table: gone from the trail and from the tenant's part. */
static bool are_cut(void *arg)
{
    (void)arg;
    http_get(w.op, "/v1/admin/audit?tenant=altostrat");
    EXPECT_STATUS(w.op, 200);
    bool is_empty = http_count(w.op, "/records") == 0;
    http_get(w.op, "/v1/admin/audit");
    EXPECT_STATUS(w.op, 200);
    return is_empty && json_integer_value(json_at(http_body(w.op), "/cut/number")) >= 4;
}

/* Restarted 500 days later: all records but the newest go at once. Twice, for the first look may
 * come before the start has its record, and leaves the tenant's newest as the trail's. */
static void set_up(void)
{
    static const char *const later[] = {"BIGTENT_TEST_AUDIT_DAYS_AHEAD=500", NULL};
    server_create(&server);
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "altostrat");
    for (int i = 0; i < 2; i++) {
        server_stop(&server);
        server_start(&server, later);
    }
    http_reconnect(w.op);
    http_reconnect(w.http);
    session_begin(&server);
    (void)snprintf(pub, sizeof pub, "%s/certificate.pub", server.data);
    process_await(are_cut, NULL, "the removal of old records");
    http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/later");
    EXPECT_STATUS(w.http, 201);
}

static void tear_down(void)
{
    world_fini(&w);
    server_stop(&server);
    server_remove(&server);
}

START_TEST(what_is_left_is_verified_from_the_cut)
{
    bigtent(&r, &op, "audit", "verify", "--pubkey", pub);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, " records, whole; head ");
    EXPECT_IN(r.err, "were removed when they were old enough");
    bigtent(&r, &op, "audit", "verify", "--tenant", "altostrat");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "1 records, whole; head ");
    bigtent(&r, &tenant, "audit", "verify");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "1 records, whole; head ");
    EXPECT_IN(r.out, "@4\n");
    bigtent(&r, &op, "audit", "list");
    EXPECT_IN(r.out, " audit.cut ");
}
END_TEST

static void verify(const char *text, int code)
{
    struct setup s = {.input = text};
    bigtent(&r, &s, "audit", "verify", "--file", "-", "--pubkey", pub);
    EXPECT_CODE(&r, code);
}

START_TEST(no_other_beginning_is_believed)
{
    bigtent(&r, &tenant, "audit", "export");
    EXPECT_CODE(&r, 0);
    (void)snprintf(trail, sizeof trail, "%s", r.out);
    verify(trail, 0);
    verify(strchr(trail, '\n') + 1, 5); /* without it */
    EXPECT_IN(r.err, "should stand here");
    char *number = strstr(trail, "\"number\":3");
    ck_assert_ptr_nonnull(number);
    number[strlen("\"number\":")] = '2';
    verify(trail, 5);
    EXPECT_IN(r.err, "is not sealed");
    number[strlen("\"number\":")] = '3';
    static char twice[2 * sizeof trail + 1];
    int first = (int)(strchr(trail, '\n') + 1 - trail);
    (void)snprintf(twice, sizeof twice, "%.*s%s", first, trail, trail);
    verify(twice, 5);
    (void)snprintf(twice, sizeof twice, "%s%.*s", trail, first, trail);
    verify(twice, 5);
}
END_TEST

START_TEST(a_head_that_was_noted_before_the_cut_is_said_to_be_gone)
{
    char head[80];
    memset(head, 'a', 64);
    (void)snprintf(head + 64, sizeof head - 64, "@2");
    bigtent(&r, &tenant, "audit", "verify", "--head", head);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "was removed with all up to 3");
}
END_TEST

/* A cut trail is not a page that looks whole: what was removed is named wherever one asks. */
START_TEST(a_page_says_what_is_missing)
{
    http_get(w.http, "/v1/audit");
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(http_number(w.http, "/cut/number"), 3);
    ck_assert_str_eq(http_string(w.http, "/cut/tenant"), "altostrat");
    ck_assert_str_eq(http_string(w.http, "/cut/hash"),
                     http_string(w.http, "/records/0/tenant_before"));
    ck_assert_int_eq(http_number(w.http, "/records/0/tenant_number"), 4);
    http_get(w.http, "/v1/audit?from=4");
    EXPECT_STATUS(w.http, 200);
    ck_assert_ptr_null(json_at(http_body(w.http), "/cut"));
}
END_TEST

#define CHANGES 450 /* records: several batches of removals, and a page that takes a while */

/* A server that is started 500 days later removes what is read meanwhile. */
static void set_up_many(void)
{
    static const char *const later[] = {"BIGTENT_TEST_AUDIT_DAYS_AHEAD=500", NULL};
    server_create(&server);
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "altostrat");
    for (int i = 0; i < CHANGES; i++) {
        http_json(w.op, "PATCH", i % 2 == 0 ? "{'display_name':'A'}" : "{'display_name':'B'}",
                  "/v1/admin/tenants/%s", "altostrat");
        EXPECT_STATUS(w.op, 200);
    }
    server_stop(&server);
    server_start(&server, later);
    http_reconnect(w.op);
}

START_TEST(whoever_reads_while_the_beginning_is_removed_gets_what_is_left)
{
    static const char *const targets[2] = {"/v1/admin/audit", "/v1/admin/audit?tenant=altostrat"};
    int64_t cut = 0;
    uint64_t end_ns = base_monotonic_ns() + 30000000000ULL * (uint64_t)process_patience();
    while (cut < CHANGES && base_monotonic_ns() < end_ns) {
        http_get(w.op, "%s", targets[_i]);
        EXPECT_STATUS(w.op, 200);
        cut = json_integer_value(json_at(http_body(w.op), "/cut/number"));
        const json_t *first = json_at(http_body(w.op), "/records/0");
        int64_t number =
            json_integer_value(json_object_get(first, _i == 0 ? "number" : "tenant_number"));
        if (first == NULL && _i == 1)           /* the newest record of all is not the tenant's */
            ck_assert_int_eq(cut, 3 + CHANGES); /* and its creation, its key, its table */
        else
            ck_assert_int_eq(number, cut + 1);
    }
    ck_assert_int_ge(cut, CHANGES);
}
END_TEST

Suite *suite_cli_audit_retention(void);

Suite *suite_cli_audit_retention(void)
{
    Suite *s = suite_create("cli_audit_retention");
    TCase *t = tcase_create("retention");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, what_is_left_is_verified_from_the_cut);
    tcase_add_test(t, no_other_beginning_is_believed);
    tcase_add_test(t, a_head_that_was_noted_before_the_cut_is_said_to_be_gone);
    tcase_add_test(t, a_page_says_what_is_missing);
    suite_add_tcase(s, t);
    t = tcase_create("removal");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up_many, tear_down);
    tcase_add_loop_test(t, whoever_reads_while_the_beginning_is_removed_gets_what_is_left, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

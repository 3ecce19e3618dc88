/*
 * tests/api/test_metering.c - bills: who may read them, how they look, and that a restart and a
 * tenant's neighbours change nothing in them.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/world.h"

#include "base/banned.h"

static struct server server;
static struct world w;

static void set_up(void)
{
    server_create(&server);
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "ab");
}

static void tear_down(void)
{
    world_fini(&w);
    server_stop(&server);
    server_remove(&server);
}

/* A stop in order flushes everything. */
static void restart(void)
{
    server_stop(&server);
    server_start(&server, NULL);
    http_reconnect(w.op);
    http_reconnect(w.http);
}

static void write_rows(size_t count)
{
    http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/things");
    for (size_t i = 0; i < count; i++) {
        http_json(w.http, "PATCH", "{'f':{'q':'value'}}", "/v1/tables/things/rows/%zu", i);
        EXPECT_STATUS(w.http, 201);
    }
}

static json_int_t stored(void)
{
    http_get(w.http, "/v1/usage");
    EXPECT_STATUS(w.http, 200);
    return json_integer_value(http_at(w.http, "/stored_bytes"));
}

/* Sum of a field of all lines of the answer; all are about the world's tenant. */
static json_int_t sum_of(struct http *h, const char *name, json_int_t *out_last)
{
    json_int_t sum = 0;
    EXPECT_STATUS(h, 200);
    for (size_t i = 0; i < http_lines(h); i++) {
        json_t *line = http_line_new(h, i);
        const char *tenant = json_string_value(json_object_get(line, "tenant"));
        ck_assert_ptr_nonnull(tenant);
        ck_assert_str_eq(tenant, w.tenant);
        ck_assert(json_is_integer(json_object_get(line, name)));
        *out_last = json_integer_value(json_object_get(line, name));
        sum += *out_last;
        json_decref(line);
    }
    return sum;
}

START_TEST(what_is_stored_is_billed_across_restarts)
{
    json_int_t last = 0;
    write_rows(20);
    json_int_t bytes = stored();
    restart();
    http_get(w.http, "/v1/metering");
    (void)sum_of(w.http, "stored_bytes", &last);
    ck_assert_int_eq(last, bytes);
    http_get(w.http, "/v1/metering");
    json_int_t before = sum_of(w.http, "stored_byte_seconds", &last);
    restart();
    http_get(w.http, "/v1/metering");
    ck_assert_int_ge(sum_of(w.http, "stored_byte_seconds", &last), before);
    http_get(w.op, "/v1/admin/metering?tenant=%s", w.tenant);
    ck_assert_int_ge(sum_of(w.op, "stored_byte_seconds", &last), before);
}
END_TEST

START_TEST(a_tenant_sees_its_own_bills_only)
{
    struct world other;
    json_int_t last = 0;
    world_init_on(&other, &server, HTTP_2, "cd");
    write_rows(3);
    http_json(other.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/theirs");
    http_json(other.http, "PATCH", "{'f':{'q':'v'}}", "/v1/tables/theirs/rows/x");
    restart();
    http_reconnect(other.http);
    http_reconnect(other.op);
    http_get(w.http, "/v1/metering");
    ck_assert_int_ge(sum_of(w.http, "stored_byte_seconds", &last), 0);
    http_get(w.http, "/v1/metering?tenant=%s", other.tenant);
    EXPECT_STATUS(w.http, 400);
    http_get(w.http, "/v1/admin/metering");
    EXPECT_STATUS(w.http, 403);
    http_get(w.op, "/v1/admin/metering?format=csv");
    EXPECT_STATUS(w.op, 200);
    ck_assert_ptr_nonnull(strstr(http_text(w.op), w.tenant));
    ck_assert_ptr_nonnull(strstr(http_text(w.op), other.tenant));
    world_fini(&other);
}
END_TEST

START_TEST(csv_names_its_fields_and_ends_lines_as_rfc_4180)
{
    write_rows(1);
    restart();
    http_get(w.http, "/v1/metering?format=csv");
    EXPECT_STATUS(w.http, 200);
    const char *text = http_text(w.http);
    const char *end = strstr(text, "\r\n");
    ck_assert_ptr_nonnull(end);
    ck_assert(strncmp(text,
                      "hour,tenant,stored_bytes,stored_byte_seconds,read_ops,write_ops,"
                      "other_ops,errors,refusals,bytes_in,bytes_out,read_rows,read_bytes,"
                      "write_bytes,throttled_read_ops,throttled_read_ops_seconds,",
                      strlen("hour,tenant,stored_bytes,stored_byte_seconds,read_ops,")) == 0);
    size_t commas = 0;
    for (const char *c = text; c < end; c++)
        commas += *c == ',';
    size_t second = 0;
    const char *line = end + 2;
    ck_assert_ptr_nonnull(strstr(line, "\r\n"));
    ck_assert_ptr_nonnull(strstr(line, ":00:00Z,"));
    for (const char *c = line; *c != '\r'; c++)
        second += *c == ',';
    ck_assert_uint_eq(commas, second);
    ck_assert_uint_eq(commas, 3 + 10 + 2 * 8);
}
END_TEST

START_TEST(bad_parameters_are_refused)
{
    static const char *const BAD[] = {"from=2026-11-20T10:30:00Z",
                                      "from=yesterday",
                                      "until=2026-11-20",
                                      "format=xml",
                                      "from=2026-11-20T10:00:00Z&until=2026-11-20T10:00:00Z",
                                      "from=2026-11-20T10:00:00Z&until=2026-11-20T09:00:00Z",
                                      "limit=1"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        http_get(w.op, "/v1/admin/metering?%s", BAD[i]);
        EXPECT_STATUS(w.op, 400);
        http_get(w.http, "/v1/metering?%s", BAD[i]);
        EXPECT_STATUS(w.http, 400);
    }
    http_get(w.op, "/v1/admin/metering?tenant=nobody-is-called-this");
    EXPECT_STATUS(w.op, 404);
    http_get(w.op, "/v1/admin/metering?from=1970-01-01T00:00:00Z&until=9999-12-31T23:00:00Z");
    EXPECT_STATUS(w.op, 200);
}
END_TEST

Suite *suite_api_metering(void);

Suite *suite_api_metering(void)
{
    Suite *s = suite_create("api_metering");
    TCase *tc = tcase_create("metering");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, what_is_stored_is_billed_across_restarts);
    tcase_add_test(tc, a_tenant_sees_its_own_bills_only);
    tcase_add_test(tc, csv_names_its_fields_and_ends_lines_as_rfc_4180);
    tcase_add_test(tc, bad_parameters_are_refused);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/api/test_write.c - many writes in one request, a verdict for each line.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

#define NDJSON "Content-Type: application/x-ndjson"

static void write_text(const char *lines)
{
    http_once(w.http, NDJSON);
    http_bytes(w.http, "POST", quoted(lines), "/v1/tables/devices:write");
}

static int verdict_status(size_t n)
{
    json_t *line = http_line_new(w.http, n);
    ck_assert_int_eq(json_integer_value(json_at(line, "/line")), (json_int_t)n + 1);
    int status = (int)json_integer_value(json_at(line, "/status"));
    json_decref(line);
    return status;
}

/* The verdict of line n must be that refusal, with a detail. */
static void expect_refusal(size_t n, int status, const char *code)
{
    json_t *line = http_line_new(w.http, n);
    const char *given = json_string_value(json_at(line, "/code"));
    ck_assert_msg(json_integer_value(json_at(line, "/status")) == status && given != NULL &&
                      strcmp(given, code) == 0 && json_is_string(json_at(line, "/detail")) &&
                      json_integer_value(json_at(line, "/line")) == (json_int_t)n + 1,
                  "line %zu: expected %d %s in: %s", n + 1, status, code, http_text(w.http));
    json_decref(line);
}

static void expect_summary(int lines, int ok, int failed)
{
    json_t *line = http_line_new(w.http, http_lines(w.http) - 1);
    ck_assert_int_ge(json_integer_value(json_at(line, "/cost")), 2 * ok);
    (void)json_object_del(line, "cost");
    json_t *wanted =
        json_pack("{s:b,s:i,s:i,s:i}", "done", 1, "lines", lines, "ok", ok, "failed", failed);
    ck_assert_msg(json_equal(line, wanted) == 1, "summary: %s", http_text(w.http));
    json_decref(wanted);
    json_decref(line);
}

START_TEST(every_kind_of_line_has_its_effect)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "replaced", "stats", "old", "1");
    tenant_put(w.http, "devices", "patched", "stats", "old", "1");
    tenant_put(w.http, "devices", "deleted", "stats", "old", "1");
    write_text("{'key':'new','cells':{'stats':{'os':'17'}}}\n"
               "{'op':'patch','key':'patched','cells':{'stats':{'os':'17'}}}\n"
               "{'op':'put','key':'replaced','cells':{'stats':{'os':'17'}}}\n"
               "{'op':'delete','key':'deleted'}\n"
               "{'op':'delete','key_b64':'/w=='}\n"
               "{'key_b64':'/wA=','cells':{'$binary':[{'family':'raw','qualifier_b64':'/w==',"
               "'value':'1'}]}}\n");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_header(w.http, "content-type"), "application/x-ndjson");
    ck_assert_uint_eq(http_lines(w.http), 7);
    for (size_t i = 0; i < 6; i++)
        ck_assert_int_eq(verdict_status(i) / 100, 2);
    expect_summary(6, 6, 0);
    http_get(w.http, "/v1/tables/devices/rows/replaced");
    ck_assert_uint_eq(http_count(w.http, "/cells/stats"), 1);
    http_get(w.http, "/v1/tables/devices/rows/patched");
    ck_assert_uint_eq(http_count(w.http, "/cells/stats"), 2);
    http_get(w.http, "/v1/tables/devices/rows/deleted");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    http_get(w.http, "/v1/tables/devices/rows/%%FF%%00");
    EXPECT_STATUS(w.http, 200);
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(a_failing_line_does_not_stop_the_others)
{
    world_init(&w, (enum http_version)_i);
    write_text("{'key':'a','cells':{'stats':{'n':'1'}}}\n"                  /* 1 */
               "{'key':'b','cells':{'x':{'n':'1'}}}\n"                      /* 2 no such family */
               "not json\n"                                                 /* 3 */
               "\n"                                                         /* 4 skipped */
               "{'key':'','cells':{'stats':{'n':'1'}}}\n"                   /* 5 empty key */
               "{'cells':{'stats':{'n':'1'}}}\n"                            /* 6 no key */
               "{'key':'c'}\n"                                              /* 7 no cells */
               "{'op':'put','key':'d','cells':{}}\n"                        /* 8 put of nothing */
               "{'op':'burn','key':'e'}\n"                                  /* 9 */
               "[1,2]\n"                                                    /* 10 */
               "{'key':'f','key':'g','cells':{'stats':{'n':'1'}}}\n"        /* 11 */
               "{'key':'h','key_b64':'aA==','cells':{'stats':{'n':'1'}}}\n" /* 12 */
               "{'key_b64':'?','cells':{'stats':{'n':'1'}}}\n"              /* 13 */
               "{'op':'delete','key':'a','cells':{'stats':{'n':'1'}}}\n"    /* 14 */
               "{'key':'z','cells':{'stats':{'n':'1'}}}\n");                /* 15 */
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_lines(w.http), 15);
    ck_assert_int_eq(verdict_status(0) / 100, 2);
    expect_refusal(1, 404, "not_found");
    expect_refusal(2, 400, "invalid");
    json_t *after_blank = http_line_new(w.http, 3);
    ck_assert_int_eq(json_integer_value(json_at(after_blank, "/line")), 5);
    json_decref(after_blank);
    expect_summary(15, 2, 12);
    http_get(w.http, "/v1/tables/devices/rows");
    ck_assert_uint_eq(http_count(w.http, "/rows"), 2);
    ck_assert_str_eq(http_string(w.http, "/rows/0/key"), "a");
    ck_assert_str_eq(http_string(w.http, "/rows/1/key"), "z");
}
END_TEST

START_TEST(lines_of_one_row_happen_in_order)
{
    world_init(&w, (enum http_version)_i);
    write_text("{'op':'put','key':'k','cells':{'stats':{'a':'1','b':'1'}}}\n"
               "{'op':'delete','key':'k'}\n"
               "{'key':'k','cells':{'stats':{'c':'1'}}}\n"
               "{'key':'k','cells':{'stats':{'d':'1'}}}\n"
               "{'key':'k','cells':{'stats':{'c':null}}}\n");
    EXPECT_STATUS(w.http, 200);
    expect_summary(5, 5, 0);
    http_get(w.http, "/v1/tables/devices/rows/k");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, "/cells/stats"), 1);
    ck_assert_ptr_nonnull(http_at(w.http, "/cells/stats/d"));
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 1 + 1 + 8, 1, 1);
}
END_TEST

START_TEST(ten_thousand_lines_ten_thousand_verdicts_in_order)
{
    world_init(&w, (enum http_version)_i);
    struct buf body;
    base_buf_init(&body, 16 * MIB);
    for (int i = 0; i < 10000; i++) {
        const char *family = i % 100 == 99 ? "nofamily" : "stats";
        ck_assert_int_eq(
            base_buf_printf(&body, "{\"key\":\"row%05d\",\"cells\":{\"%s\":{\"n\":\"%d\"}}}\n", i,
                            family, i),
            ERR_OK);
    }
    http_once(w.http, NDJSON);
    http_bytes(w.http, "POST", base_buf_slice(&body), "/v1/tables/devices:write");
    base_buf_fini(&body);
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_lines(w.http), 10001);
    const char *at = (const char *)w.http->body.ptr;
    const char *end = at + w.http->body.len;
    for (int i = 0; i < 10000; i++) {
        char start[64];
        int n = snprintf(start, sizeof(start), "{\"line\":%d,\"status\":%s", i + 1,
                         i % 100 == 99 ? "404" : "20");
        ck_assert_msg(end - at > n && memcmp(at, start, (size_t)n) == 0, "verdict %d: %.80s", i + 1,
                      at);
        at = memchr(at, '\n', (size_t)(end - at));
        ck_assert_ptr_nonnull(at);
        at++;
    }
    expect_summary(10000, 9900, 100);
    struct usage u = tenant_usage(w.http);
    ck_assert_int_eq(u.rows, 9900);
    ck_assert_int_eq(u.cells, 9900);
    http_get(w.http, "/v1/tables/devices/rows/row09998");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/n/0/value"), "9998");
}
END_TEST

/* What waits never runs empty while the committer is slower than the upload. */
START_TEST(a_body_longer_than_may_ever_wait_is_taken_whole)
{
    world_init(&w, HTTP_2);
    struct buf body;
    char value[1001];
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    base_buf_init(&body, 80 * MIB);
    for (int i = 0; i < 60000; i++) /* 63 MB */
        ck_assert_int_eq(base_buf_printf(&body,
                                         "{\"key\":\"row%05d\",\"cells\":{\"stats\":{\"n\":"
                                         "\"%s\"}}}\n",
                                         i, value),
                         ERR_OK);
    http_once(w.http, NDJSON);
    http_bytes(w.http, "POST", base_buf_slice(&body), "/v1/tables/devices:write");
    base_buf_fini(&body);
    EXPECT_STATUS(w.http, 200);
    expect_summary(60000, 60000, 0);
}
END_TEST

/* Refused at once, so that no write completes in between; more verdicts than fit into one window.
 */
START_TEST(twenty_thousand_refused_lines_are_all_answered)
{
    static const char *const lines[] = {"{\"key\":\"k\",\"cells\":{\"nofamily\":{\"n\":\"1\"}}}\n",
                                        "no\n",
                                        "{\"key\":\"\",\"cells\":{\"stats\":{\"n\":\"1\"}}}\n"};
    const char *line = lines[_i / HTTP_VERSIONS];
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    struct buf body;
    base_buf_init(&body, 4 * MIB);
    for (int i = 0; i < 20000; i++)
        ck_assert_int_eq(base_buf_append_text(&body, line), ERR_OK);
    http_once(w.http, NDJSON);
    http_bytes(w.http, "POST", base_buf_slice(&body), "/v1/tables/devices:write");
    base_buf_fini(&body);
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_lines(w.http), 20001);
    expect_summary(20000, 0, 20000);
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

START_TEST(the_last_line_needs_no_newline)
{
    world_init(&w, (enum http_version)_i);
    write_text(
        "{'key':'a','cells':{'stats':{'n':'1'}}}\r\n{'key':'b','cells':{'stats':{'n':'1'}}}");
    EXPECT_STATUS(w.http, 200);
    expect_summary(2, 2, 0);
    ck_assert_int_eq(tenant_usage(w.http).rows, 2);
}
END_TEST

START_TEST(an_empty_body_is_no_lines)
{
    world_init(&w, (enum http_version)_i);
    write_text("");
    EXPECT_STATUS(w.http, 200);
    expect_summary(0, 0, 0);
    write_text("\n\n\n");
    EXPECT_STATUS(w.http, 200);
    expect_summary(3, 0, 0);
}
END_TEST

START_TEST(another_content_type_is_415)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "POST", "{'key':'a','cells':{'stats':{'n':'1'}}}\n",
              "/v1/tables/devices:write");
    EXPECT_PROBLEM(w.http, 415, "unsupported_media_type");
    http_once(w.http, "Content-Type: application/xml");
    http_json(w.http, "POST", "{'key':'a','cells':{'stats':{'n':'1'}}}\n",
              "/v1/tables/devices:write");
    EXPECT_PROBLEM(w.http, 415, "unsupported_media_type");
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

START_TEST(an_unknown_table_is_refused_as_a_whole)
{
    world_init(&w, (enum http_version)_i);
    http_once(w.http, NDJSON);
    http_json(w.http, "POST", "{'key':'a','cells':{'stats':{'n':'1'}}}\n",
              "/v1/tables/nosuch:write");
    EXPECT_PROBLEM(w.http, 404, "not_found");
}
END_TEST

START_TEST(lines_over_the_quota_say_so)
{
    world_init(&w, (enum http_version)_i);
    admin_set_quota(w.op, w.tenant, "{'rows':3}");
    write_text("{'key':'a','cells':{'stats':{'n':'1'}}}\n"
               "{'key':'b','cells':{'stats':{'n':'1'}}}\n"
               "{'key':'c','cells':{'stats':{'n':'1'}}}\n"
               "{'key':'d','cells':{'stats':{'n':'1'}}}\n"
               "{'op':'delete','key':'a'}\n"
               "{'key':'e','cells':{'stats':{'n':'1'}}}\n");
    EXPECT_STATUS(w.http, 200);
    expect_refusal(3, 403, "quota");
    expect_summary(6, 5, 1);
    ck_assert_int_eq(tenant_usage(w.http).rows, 3);
}
END_TEST

START_TEST(lines_over_the_rate_say_when)
{
    world_init(&w, (enum http_version)_i);
    admin_set_quota(w.op, w.tenant, "{'write_ops_per_s':5}");
    struct buf body;
    base_buf_init(&body, MIB);
    for (int i = 0; i < 5000; i++)
        ck_assert_int_eq(
            base_buf_printf(&body, "{\"key\":\"k%d\",\"cells\":{\"stats\":{\"n\":\"1\"}}}\n", i),
            ERR_OK);
    http_once(w.http, NDJSON);
    http_bytes(w.http, "POST", base_buf_slice(&body), "/v1/tables/devices:write");
    base_buf_fini(&body);
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_lines(w.http), 5001);
    json_t *summary = http_line_new(w.http, 5000);
    json_int_t written = json_integer_value(json_at(summary, "/ok"));
    ck_assert_int_ge(written, 5);
    ck_assert_int_eq(json_integer_value(json_at(summary, "/failed")), 5000 - written);
    json_decref(summary);
    size_t limited = 0;
    while (verdict_status(limited) == 200)
        limited++;
    json_t *line = http_line_new(w.http, limited);
    ck_assert_int_eq(json_integer_value(json_at(line, "/status")), 429);
    ck_assert_int_gt(json_integer_value(json_at(line, "/retry_after_ms")), 0);
    ck_assert_str_eq(json_string_value(json_at(line, "/code")), "rate_limited");
    json_decref(line);
    admin_set_quota(w.op, w.tenant, "{}");
    ck_assert_int_eq(tenant_usage(w.http).rows, written);
}
END_TEST

Suite *suite_api_write(void);
Suite *suite_api_write(void)
{
    Suite *s = suite_create("api_write");
    TCase *tc = tcase_create("write");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, every_kind_of_line_has_its_effect, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_failing_line_does_not_stop_the_others, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, lines_of_one_row_happen_in_order, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, ten_thousand_lines_ten_thousand_verdicts_in_order, 0, HTTP_VERSIONS);
    tcase_add_test(tc, a_body_longer_than_may_ever_wait_is_taken_whole);
    tcase_add_loop_test(tc, twenty_thousand_refused_lines_are_all_answered, 0, 3 * HTTP_VERSIONS);
    tcase_add_loop_test(tc, the_last_line_needs_no_newline, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, an_empty_body_is_no_lines, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, another_content_type_is_415, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, an_unknown_table_is_refused_as_a_whole, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, lines_over_the_quota_say_so, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, lines_over_the_rate_say_when, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/api/test_bad_input.c - every kind of request that must be refused: the right status, a
 * problem document with the right code, and nothing changed.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

#define T   "/v1/tables/devices"
#define ROW "/v1/tables/devices/rows/k"

/* In bodies, ' stands for ". A body of NULL is none at all. */
static const struct bad {
    const char *what;
    const char *method;
    const char *target;
    const char *body;
    int status;
    const char *code;
} BAD[] = {
    /* malformed JSON */
    {"no body", "PUT", ROW, "", 400, "invalid"},
    {"cut short", "PUT", ROW, "{'stats':{'q':'v'}", 400, "invalid"},
    {"two documents", "PUT", ROW, "{'stats':{'q':'v'}}{}", 400, "invalid"},
    {"text after it", "PUT", ROW, "{'stats':{'q':'v'}} x", 400, "invalid"},
    {"trailing comma", "PUT", ROW, "{'stats':{'q':'v',}}", 400, "invalid"},
    {"bare word", "PUT", ROW, "{'stats':{'q':v}}", 400, "invalid"},
    {"comment", "PUT", ROW, "{'stats':{'q':'v'}/**/}", 400, "invalid"},
    {"byte order mark", "PUT", ROW, "\xef\xbb\xbf{'stats':{'q':'v'}}", 400, "invalid"},
    {"control character", "PUT", ROW, "{'stats':{'q':'\x01'}}", 400, "invalid"},
    {"NaN", "PUT", ROW, "{'stats':{'q':NaN}}", 400, "invalid"},
    {"bad escape", "PUT", ROW, "{'stats':{'q':'\\x'}}", 400, "invalid"},
    {"lone surrogate", "PUT", ROW, "{'stats':{'q':'\\ud800'}}", 400, "invalid"},
    /* invalid UTF-8 */
    {"bad byte in value", "PUT", ROW, "{'stats':{'q':'\xff'}}", 400, "invalid"},
    {"bad byte in qualifier", "PUT", ROW, "{'stats':{'\xc3(':'v'}}", 400, "invalid"},
    {"overlong", "PUT", ROW, "{'stats':{'q':'\xc0\xaf'}}", 400, "invalid"},
    {"surrogate in UTF-8", "PUT", ROW, "{'stats':{'q':'\xed\xa0\x80'}}", 400, "invalid"},
    /* duplicate keys */
    {"family twice", "PUT", ROW, "{'stats':{'q':'1'},'stats':{'q':'2'}}", 400, "invalid"},
    {"qualifier twice", "PUT", ROW, "{'stats':{'q':'1','q':'2'}}", 400, "invalid"},
    {"twice by escape", "PUT", ROW, "{'stats':{'q':'1','\\u0071':'2'}}", 400, "invalid"},
    {"member twice", "PUT", ROW, "{'stats':{'q':{'value':'1','value':'2'}}}", 400, "invalid"},
    /* wrong types */
    {"a list", "PUT", ROW, "[]", 400, "invalid"},
    {"a string", "PUT", ROW, "'x'", 400, "invalid"},
    {"a number", "PUT", ROW, "7", 400, "invalid"},
    {"null", "PUT", ROW, "null", 400, "invalid"},
    {"family is text", "PUT", ROW, "{'stats':'v'}", 400, "invalid"},
    {"family is a list", "PUT", ROW, "{'stats':['v']}", 400, "invalid"},
    {"family is null in PUT", "PUT", ROW, "{'stats':null}", 400, "invalid"},
    {"value is null in PUT", "PUT", ROW, "{'stats':{'q':null}}", 400, "invalid"},
    {"value is a number", "PUT", ROW, "{'stats':{'q':17}}", 400, "invalid"},
    {"value is true", "PUT", ROW, "{'stats':{'q':true}}", 400, "invalid"},
    {"value object is empty", "PUT", ROW, "{'stats':{'q':{}}}", 400, "invalid"},
    {"value is not text", "PUT", ROW, "{'stats':{'q':{'value':1}}}", 400, "invalid"},
    {"both values", "PUT", ROW, "{'stats':{'q':{'value':'a','value_b64':'YQ=='}}}", 400, "invalid"},
    {"unknown member", "PUT", ROW, "{'stats':{'q':{'value':'a','ttl':'1'}}}", 400, "invalid"},
    {"list in a list", "PUT", ROW, "{'stats':{'q':[['a']]}}", 400, "invalid"},
    {"empty list", "PUT", ROW, "{'stats':{'q':[]}}", 400, "invalid"},
    {"null in a list", "PATCH", ROW, "{'stats':{'q':[null]}}", 400, "invalid"},
    {"base64 without padding", "PUT", ROW, "{'stats':{'q':{'value_b64':'YQ'}}}", 400, "invalid"},
    {"base64 of the URL kind", "PUT", ROW, "{'stats':{'q':{'value_b64':'_w=='}}}", 400, "invalid"},
    {"base64 with a space", "PUT", ROW, "{'stats':{'q':{'value_b64':'Y Q=='}}}", 400, "invalid"},
    {"base64 not canonical", "PUT", ROW, "{'stats':{'q':{'value_b64':'YR=='}}}", 400, "invalid"},
    {"$binary is an object", "PUT", ROW, "{'$binary':{}}", 400, "invalid"},
    {"$binary without family", "PUT", ROW, "{'$binary':[{'qualifier_b64':'/w==','value':'1'}]}",
     400, "invalid"},
    {"$binary without qualifier", "PUT", ROW, "{'$binary':[{'family':'stats','value':'1'}]}", 400,
     "invalid"},
    {"nothing to put", "PUT", ROW, "{}", 400, "invalid"},
    {"an empty family to put", "PUT", ROW, "{'stats':{}}", 400, "invalid"},
    {"nothing to patch", "PATCH", ROW, "{}", 400, "invalid"},
    /* unknown things */
    {"unknown family", "PUT", ROW, "{'other':{'q':'v'}}", 404, "not_found"},
    {"unknown family beside a good one", "PATCH", ROW, "{'stats':{'q':'v'},'other':{'q':'v'}}", 404,
     "not_found"},
    {"unknown family to delete", "PATCH", ROW, "{'other':null}", 404, "not_found"},
    {"unknown table, put", "PUT", "/v1/tables/nosuch/rows/k", "{'stats':{'q':'v'}}", 404,
     "not_found"},
    {"unknown table, get", "GET", "/v1/tables/nosuch/rows/k", NULL, 404, "not_found"},
    {"unknown table, delete", "DELETE", "/v1/tables/nosuch/rows/k", NULL, 404, "not_found"},
    {"unknown table, scan", "GET", "/v1/tables/nosuch/rows", NULL, 404, "not_found"},
    {"unknown table, drop", "POST", "/v1/tables/nosuch:drop", "{'all':true}", 404, "not_found"},
    {"unknown table, cell", "PUT", "/v1/tables/nosuch/cells/k/stats/q", "v", 404, "not_found"},
    {"impossible table", "GET", "/v1/tables/%FF/rows/k", NULL, 404, "not_found"},
    /* percent codes */
    {"% at the end", "GET", T "/rows/abc%", NULL, 400, "invalid"},
    {"% and one digit", "GET", T "/rows/abc%4", NULL, 400, "invalid"},
    {"% and no hex", "GET", T "/rows/%zz", NULL, 400, "invalid"},
    {"% in the table", "GET", "/v1/tables/%4/rows/k", NULL, 400, "invalid"},
    /* routes and methods */
    {"unknown route", "GET", "/v1/nosuch", NULL, 404, "not_found"},
    {"root", "GET", "/", NULL, 404, "not_found"},
    {"old version", "GET", "/v0/tables", NULL, 404, "not_found"},
    {"unknown action", "POST", T ":burn", "{}", 404, "not_found"},
    {"slash at the end", "GET", "/v1/tables/", NULL, 400, "invalid"},
    {"dots for a key", "GET", "/v1/tables/devices/rows/..", NULL, 400, "invalid"},
    {"double slash", "GET", "/v1//tables", NULL, 404, "not_found"},
    {"upper case", "GET", "/V1/tables", NULL, 404, "not_found"},
    {"row below a row", "GET", ROW "/x", NULL, 404, "not_found"},
    {"dot segments", "GET", "/v1/tables/../tables", NULL, 404, "not_found"},
    {"wrong method on tables", "POST", "/v1/tables", "{}", 405, "method_not_allowed"},
    {"wrong method on a row", "POST", ROW, "{}", 405, "method_not_allowed"},
    {"wrong method on drop", "GET", T ":drop", NULL, 405, "method_not_allowed"},
    {"wrong method on write", "PUT", T ":write", "{}", 405, "method_not_allowed"},
    {"wrong method on usage", "DELETE", "/v1/usage", NULL, 405, "method_not_allowed"},
    {"wrong method on health", "POST", "/healthz", "{}", 405, "method_not_allowed"},
    {"unheard-of method", "BREW", ROW, NULL, 405, "method_not_allowed"},
    {"query where none is", "GET", ROW "?x=1", NULL, 400, "invalid"},
    /* admin routes with a tenant's key */
    {"list tenants", "GET", "/v1/admin/tenants", NULL, 403, "forbidden"},
    {"make a tenant", "POST", "/v1/admin/tenants", "{'id':'mine'}", 403, "forbidden"},
    {"make a key", "POST", "/v1/admin/keys", "{'kind':'operator'}", 403, "forbidden"},
    {"list jobs", "GET", "/v1/admin/jobs", NULL, 403, "forbidden"},
};

/* What must not change: one row, the counters, the tables. */
static void expect_untouched(void)
{
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 1 + 6 + 8, 1, 1);
    http_get(w.http, ROW);
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/0/value"), "before");
    http_get(w.http, "/v1/tables");
    ck_assert_uint_eq(http_count(w.http, "/tables"), 1);
    ck_assert_uint_eq(http_count(w.http, "/tables/0/families"), 2);
}

START_TEST(is_refused_and_changes_nothing)
{
    const struct bad *b = &BAD[_i / HTTP_VERSIONS];
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    tenant_put(w.http, "devices", "k", "stats", "q", "before");
    http_send(w.http, b->method, b->target, b->body != NULL ? quoted(b->body) : SLICE_EMPTY);
    EXPECT_PROBLEM_OF(w.http, b->what, b->status, b->code);
    if (b->status == 405)
        ck_assert_msg(http_header(w.http, "allow") != NULL, "%s: no Allow header", b->what);
    expect_untouched();
}
END_TEST

/* --- sizes -------------------------------------------------------------------------------------*/

static struct slice repeated(struct buf *b, const char *before, char c, size_t count,
                             const char *after)
{
    base_buf_init(b, 64 * MIB);
    ck_assert_int_eq(base_buf_append_text(b, before), ERR_OK);
    ck_assert_int_eq(base_buf_reserve(b, count), ERR_OK);
    memset(base_buf_end(b), c, count);
    b->len += count;
    ck_assert_int_eq(base_buf_append_text(b, after), ERR_OK);
    return base_buf_slice(b);
}

START_TEST(deep_nesting_is_refused)
{
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    static const size_t DEPTHS[] = {40, 2047, 2049, 100000, 1000000};
    size_t depth = DEPTHS[_i / HTTP_VERSIONS];
    tenant_put(w.http, "devices", "k", "stats", "q", "before");
    struct buf b;
    http_send(w.http, "PUT", ROW, repeated(&b, "{\"stats\":", '[', depth, ""));
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_send(w.http, "POST", T ":write", base_buf_slice(&b));
    base_buf_fini(&b);
    EXPECT_STATUS(w.http, 200);
    json_t *line = http_line_new(w.http, 0);
    ck_assert_int_eq(json_integer_value(json_at(line, "/status")), 400);
    json_decref(line);
    expect_untouched();
}
END_TEST

START_TEST(a_body_over_the_limit_is_413)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "before");
    struct buf b;
    struct slice body = repeated(&b, "{\"stats\":{\"q\":\"", 'v', LIM_BODY_BYTES, "\"}}");
    /* The answer may come, and the connection end, before the body was sent. */
    if (http_try(w.http, "PUT", ROW, body))
        EXPECT_PROBLEM(w.http, 413, "too_big");
    else
        ck_assert_msg(w.http->transport == CURLE_SEND_ERROR ||
                          w.http->transport == CURLE_RECV_ERROR ||
                          w.http->transport == CURLE_HTTP2_STREAM,
                      "%s", curl_easy_strerror(w.http->transport));
    base_buf_fini(&b);
    expect_untouched();
}
END_TEST

START_TEST(admin_bodies_have_a_smaller_limit)
{
    world_init(&w, (enum http_version)_i);
    struct buf b;
    http_send(
        w.op, "POST", "/v1/admin/tenants",
        repeated(&b, "{\"id\":\"abc\",\"display_name\":\"", 'n', LIM_JSON_ADMIN_BYTES, "\"}"));
    base_buf_fini(&b);
    EXPECT_PROBLEM(w.op, 413, "too_big");
}
END_TEST

START_TEST(a_target_over_the_limit_is_414)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "before");
    struct buf b;
    struct slice target = repeated(&b, T "/rows?prefix=", 'x', LIM_TARGET_BYTES, "");
    ck_assert_int_eq(base_buf_append_byte(&b, 0), ERR_OK);
    (void)target;
    http_send(w.http, "GET", (const char *)b.ptr, SLICE_EMPTY);
    base_buf_fini(&b);
    EXPECT_PROBLEM(w.http, 414, "too_big");
    expect_untouched();
}
END_TEST

START_TEST(too_many_headers_are_431)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "before");
    for (int i = 0; i < LIM_HEADERS + 1; i++)
        http_once(w.http, "x-filler-%d: v", i);
    http_get(w.http, ROW);
    EXPECT_PROBLEM(w.http, 431, "too_big");
    expect_untouched();
}
END_TEST

START_TEST(too_large_headers_are_431)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "before");
    static char filler[12001];
    memset(filler, 'f', sizeof(filler) - 1);
    for (int i = 0; i < 3; i++)
        http_once(w.http, "x-filler-%d: %s", i, filler);
    if (http_try(w.http, "GET", ROW, SLICE_EMPTY))
        EXPECT_PROBLEM(w.http, 431, "too_big");
    expect_untouched();
}
END_TEST

START_TEST(other_content_types_are_415)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "before");
    static const char *const types[] = {"application/xml", "multipart/form-data; boundary=x",
                                        "application/x-ndjson"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        http_once(w.http, "Content-Type: %s", types[i]);
        http_json(w.http, "PUT", "{'stats':{'q':'after'}}", ROW);
        EXPECT_PROBLEM(w.http, 415, "unsupported_media_type");
    }
    expect_untouched();
    http_once(w.http, "Content-Type: application/json; charset=utf-8");
    http_json(w.http, "PUT", "{'stats':{'q':'before'}}", ROW);
    EXPECT_STATUS(w.http, 200);
}
END_TEST

START_TEST(unicode_nul_is_a_byte_of_a_value)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'stats':{'q':'a\\u0000b'}}", ROW);
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, T "/cells/k/stats/q");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(w.http->body.len, 3);
    ck_assert_int_eq(memcmp(w.http->body.ptr, "a\0b", 3), 0);
}
END_TEST

Suite *suite_api_bad_input(void);
Suite *suite_api_bad_input(void)
{
    Suite *s = suite_create("api_bad_input");
    TCase *tc = tcase_create("bad_input");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, is_refused_and_changes_nothing, 0, HTTP_EACH(BAD));
    tcase_add_loop_test(tc, deep_nesting_is_refused, 0, 5 * HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_body_over_the_limit_is_413, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, admin_bodies_have_a_smaller_limit, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_target_over_the_limit_is_414, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, too_many_headers_are_431, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, too_large_headers_are_431, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, other_content_types_are_415, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, unicode_nul_is_a_byte_of_a_value, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

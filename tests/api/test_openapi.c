/*
 * tests/api/test_openapi.c - /openapi.json, and HEAD, which every GET route answers.
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

#define DOC "/openapi.json"

/* --- the document ----------------------------------------------------------------------------- */

static struct http *stranger_open(int version)
{
    return http_open(world_server(), (enum http_version)version, NULL);
}

START_TEST(the_document_needs_no_key_and_may_be_kept)
{
    struct http *h = stranger_open(_i);
    ck_assert_int_eq(http_get(h, DOC), 200);
    ck_assert_str_eq(http_header(h, "content-type"), "application/json");
    ck_assert_str_eq(http_header(h, "cache-control"), "public, max-age=300");
    ck_assert_str_eq(http_string(h, "/openapi"), "3.1.0");
    ck_assert_str_eq(http_string(h, "/info/title"), "Bigtent");
    ck_assert_ptr_nonnull(http_header(h, "etag"));
    http_close(h);
}
END_TEST

START_TEST(the_document_is_the_same_for_everybody)
{
    world_init(&w, (enum http_version)_i);
    struct http *h = stranger_open(_i);
    ck_assert_int_eq(http_get(h, DOC), 200);
    ck_assert_int_eq(http_get(w.http, DOC), 200);
    ck_assert_int_eq(http_get(w.op, DOC), 200);
    ck_assert(base_slice_equal(base_buf_slice(&h->body), base_buf_slice(&w.http->body)));
    ck_assert(base_slice_equal(base_buf_slice(&h->body), base_buf_slice(&w.op->body)));
    http_close(h);
}
END_TEST

START_TEST(a_copy_that_is_current_is_not_sent_again)
{
    struct http *h = stranger_open(_i);
    char etag[64];
    ck_assert_int_eq(http_get(h, DOC), 200);
    (void)snprintf(etag, sizeof(etag), "%s", http_header(h, "etag"));
    static const char *const current[] = {"%s", "W/%s", "\"other\", %s", "%s,\"other\""};
    for (size_t i = 0; i < sizeof(current) / sizeof(current[0]); i++) {
        char known[128];
        const char *stop = strstr(current[i], "%s");
        (void)snprintf(known, sizeof(known), "%.*s%s%s", (int)(stop - current[i]), current[i], etag,
                       stop + 2);
        http_once(h, "If-None-Match: %s", known);
        ck_assert_int_eq(http_get(h, DOC), 304);
        ck_assert_uint_eq(h->body.len, 0);
        ck_assert_str_eq(http_header(h, "etag"), etag);
    }
    http_once(h, "If-None-Match: *");
    ck_assert_int_eq(http_get(h, DOC), 304);
    http_once(h, "If-None-Match: \"%.8s\"", etag + 1);
    ck_assert_int_eq(http_get(h, DOC), 200);
    http_once(h, "If-None-Match: %.17s", etag);
    ck_assert_int_eq(http_get(h, DOC), 200);
    http_close(h);
}
END_TEST

START_TEST(the_document_takes_no_parameters)
{
    struct http *h = stranger_open(_i);
    http_get(h, DOC "?tenant=altostrat");
    EXPECT_PROBLEM(h, 400, "invalid");
    http_close(h);
}
END_TEST

/* --- HEAD ------------------------------------------------------------------------------------- */

static const struct {
    bool is_operators;
    int status;
    const char *target;
} HEADS[] = {
    {false, 200, DOC},
    {false, 200, "/healthz"},
    {false, 200, "/readyz"},
    {false, 200, "/v1/tables"},
    {false, 200, "/v1/tables/devices"},
    {false, 200, "/v1/tables/devices/rows"},
    {false, 200, "/v1/tables/devices/rows/k"},
    {false, 200, "/v1/tables/devices:samples"},
    {false, 200, "/v1/tables/devices/cells/k/stats/q"},
    {false, 200, "/v1/usage"},
    {true, 200, "/v1/admin/tenants?limit=1"},
    {true, 200, "/v1/admin/keys"},
    {true, 200, "/v1/admin/jobs"},
    {false, 403, "/v1/admin/tenants"},
    {false, 404, "/v1/tables/devices/rows/none"},
    {false, 404, "/v1/tables/none"},
    {false, 404, "/nowhere"},
    {false, 400, "/v1/tables/devices/rows?limit=0"},
    {false, 405, "/v1/tables/devices:write"},
};

#define HEAD_COUNT ((int)(sizeof(HEADS) / sizeof(HEADS[0])))

START_TEST(head_is_get_without_its_body)
{
    world_init(&w, (enum http_version)(_i / HEAD_COUNT));
    tenant_put(w.http, "devices", "k", "stats", "q", "value");
    const char *target = HEADS[_i % HEAD_COUNT].target;
    struct http *h = HEADS[_i % HEAD_COUNT].is_operators ? w.op : w.http;
    char length[32], type[64];
    ck_assert_int_eq(http_get(h, "%s", target), HEADS[_i % HEAD_COUNT].status);
    ck_assert_uint_gt(h->body.len, 0);
    (void)snprintf(length, sizeof(length), "%zu", h->body.len);
    (void)snprintf(type, sizeof(type), "%s", http_header(h, "content-type"));
    for (int i = 0; i < 3; i++) { /* the connection goes on */
        ck_assert_int_eq(http_send(h, "HEAD", target, SLICE_EMPTY), HEADS[_i % HEAD_COUNT].status);
        ck_assert_uint_eq(h->body.len, 0);
        ck_assert_str_eq(http_header(h, "content-length"), length);
        ck_assert_str_eq(http_header(h, "content-type"), type);
    }
    ck_assert_int_eq(http_get(h, "/healthz"), 200);
    ck_assert_uint_gt(h->body.len, 0);
}
END_TEST

/* More than one slice: the answer is streamed, and HEAD needs only its beginning. */
START_TEST(head_of_a_stream_has_no_length_and_ends)
{
    static char value[LIM_SLICE_BYTES];
    memset(value, 'v', sizeof(value) - 1);
    world_init(&w, (enum http_version)_i);
    for (int i = 0; i < 4; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%d", i);
        tenant_put(w.http, "devices", key, "stats", "q", value);
    }
    static const char *const types[] = {"application/json", "application/x-ndjson"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        http_once(w.http, "Accept: %s", types[i]);
        ck_assert_int_eq(http_send(w.http, "HEAD", "/v1/tables/devices/rows", SLICE_EMPTY), 200);
        ck_assert_str_eq(http_header(w.http, "content-type"), types[i]);
        ck_assert_ptr_null(http_header(w.http, "content-length"));
        ck_assert_uint_eq(w.http->body.len, 0);
    }
    ck_assert_int_eq(http_get(w.http, "/v1/tables/devices/rows"), 200);
    ck_assert_uint_eq(http_count(w.http, "/rows"), 4);
}
END_TEST

START_TEST(allow_names_head_beside_get)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "POST", "{}", "/v1/tables");
    EXPECT_PROBLEM(w.http, 405, "method_not_allowed");
    ck_assert_str_eq(http_header(w.http, "allow"), "GET, HEAD");
}
END_TEST

Suite *suite_api_openapi(void);
Suite *suite_api_openapi(void)
{
    Suite *s = suite_create("api_openapi");
    TCase *tc = tcase_create("openapi");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, the_document_needs_no_key_and_may_be_kept, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, the_document_is_the_same_for_everybody, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_copy_that_is_current_is_not_sent_again, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, the_document_takes_no_parameters, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, head_is_get_without_its_body, 0, HEAD_COUNT * HTTP_VERSIONS);
    tcase_add_loop_test(tc, head_of_a_stream_has_no_length_and_ends, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, allow_names_head_beside_get, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

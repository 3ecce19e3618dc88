/*
 * tests/api/test_idempotency.c - a request that is sent again is answered again, and done once.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

#define T   "/v1/tables/counters"
#define ROW T "/rows/"

static void begin(int version)
{
    world_init(&w, (enum http_version)version);
    http_json(w.http, "PUT", "{'families':{'hits':{'type':'sum'},'stats':{}}}", T);
    EXPECT_STATUS(w.http, 201);
}

static void expect_sum(const char *key, int sum)
{
    http_get(w.http, T "/cells/%s/hits/q", key);
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(w.http->body.len, 8);
    ck_assert_int_eq(w.http->body.ptr[7], sum);
}

static bool was_replayed(void)
{
    const char *value = http_header(w.http, "idempotency-replayed");
    return value != NULL && strcmp(value, "true") == 0;
}

#define MUTATE "{'mutations':[{'add_to_cell':{'family':'hits','qualifier':'q','input':1}}]}"
#define MODIFY "{'rules':[{'family':'stats','qualifier':'q','append':'x'}]}"

static const struct {
    const char *method;
    const char *target;
    const char *body;
    int status;
} WAYS[] = {
    {"PATCH", ROW "k", "{'hits':{'q':1}}", 201},
    {"PUT", ROW "k", "{'hits':{'q':1}}", 201},
    {"POST", ROW "k:mutate", MUTATE, 201},
    {"POST", ROW "k:modify", MODIFY, 200},
    {"POST", ROW "k:check",
     "{'else':[{'add_to_cell':{'family':'hits','qualifier':'q','input':1}}],"
     "'then':[{'delete_from_row':{}}]}",
     200},
    {"DELETE", ROW "k", NULL, 204},
    {"PUT", T "/cells/k/stats/q", "any bytes", 204},
    {"DELETE", T "/cells/k/stats/q", NULL, 204},
};
#define WAY_COUNT (int)(sizeof WAYS / sizeof WAYS[0])

START_TEST(is_answered_alike_and_done_once)
{
    int way = _i / HTTP_VERSIONS;
    begin(_i % HTTP_VERSIONS);
    static char first[512];
    struct usage usage = {0};
    for (int n = 0; n < 3; n++) {
        http_once(w.http, "Idempotency-Key: 8e03978e-40d5-43dd-bc93-6894a57f9324");
        http_send(w.http, WAYS[way].method, WAYS[way].target,
                  WAYS[way].body != NULL ? quoted(WAYS[way].body) : SLICE_EMPTY);
        EXPECT_STATUS(w.http, WAYS[way].status);
        ck_assert_int_eq(was_replayed(), n > 0);
        if (n == 0)
            (void)snprintf(first, sizeof first, "%s", http_text(w.http));
        ck_assert_str_eq(http_text(w.http), first);
        if (n == 0)
            usage = tenant_usage(w.http);
        EXPECT_USAGE(tenant_usage(w.http), usage.bytes, usage.rows, usage.cells);
    }
    if (strstr(WAYS[way].body == NULL ? "" : WAYS[way].body, "hits") != NULL)
        expect_sum("k", 1);
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(without_a_token_each_counts)
{
    begin(_i);
    for (int n = 0; n < 3; n++) {
        http_json(w.http, "POST", MUTATE, ROW "k:mutate");
        ck_assert(!was_replayed());
    }
    expect_sum("k", 3);
}
END_TEST

START_TEST(a_token_belongs_to_one_request)
{
    begin(_i);
    http_once(w.http, "Idempotency-Key: token-of-mine");
    http_json(w.http, "POST", MUTATE, ROW "k:mutate");
    EXPECT_STATUS(w.http, 201);
    http_once(w.http, "Idempotency-Key: token-of-mine");
    http_json(w.http, "POST", MUTATE, ROW "other:mutate");
    EXPECT_PROBLEM(w.http, 409, "conflict");
    http_once(w.http, "Idempotency-Key: token-of-mine");
    http_json(w.http, "PATCH", "{'hits':{'q':2}}", ROW "k");
    EXPECT_PROBLEM(w.http, 409, "conflict");
    http_once(w.http, "Idempotency-Key: \"token-of-mine\""); /* as the draft quotes it */
    http_json(w.http, "POST", MUTATE, ROW "k:mutate");
    EXPECT_STATUS(w.http, 201);
    ck_assert(was_replayed());
    expect_sum("k", 1);
    http_get(w.http, ROW "other");
    EXPECT_PROBLEM(w.http, 404, "not_found");
}
END_TEST

START_TEST(tokens_of_two_tenants_are_two)
{
    struct world other;
    begin(_i);
    world_init(&other, (enum http_version)_i);
    http_json(other.http, "PUT", "{'families':{'hits':{'type':'sum'},'stats':{}}}", T);
    http_once(w.http, "Idempotency-Key: the-same-token");
    http_json(w.http, "POST", MUTATE, ROW "k:mutate");
    EXPECT_STATUS(w.http, 201);
    http_once(other.http, "Idempotency-Key: the-same-token");
    http_json(other.http, "POST", MUTATE, ROW "k:mutate");
    EXPECT_STATUS(other.http, 201);
    ck_assert_ptr_null(http_header(other.http, "idempotency-replayed"));
    world_fini(&other);
}
END_TEST

START_TEST(what_was_refused_may_be_tried_again)
{
    begin(_i);
    http_once(w.http, "Idempotency-Key: patience");
    http_once(w.http, "If-Match: *");
    http_json(w.http, "PATCH", "{'hits':{'q':1}}", ROW "k");
    EXPECT_PROBLEM(w.http, 412, "precondition");
    tenant_put(w.http, "counters", "k", "stats", "q", "1");
    http_once(w.http, "Idempotency-Key: patience");
    http_once(w.http, "If-Match: *");
    http_json(w.http, "PATCH", "{'hits':{'q':1}}", ROW "k");
    EXPECT_STATUS(w.http, 200);
    ck_assert(!was_replayed());
    expect_sum("k", 1);
}
END_TEST

START_TEST(a_made_row_stays_made_for_its_maker)
{
    begin(_i);
    for (int n = 0; n < 2; n++) {
        http_once(w.http, "Idempotency-Key: first-and-only");
        http_once(w.http, "If-None-Match: *");
        http_json(w.http, "PUT", "{'hits':{'q':1}}", ROW "k");
        EXPECT_STATUS(w.http, 201);
        ck_assert_int_eq(was_replayed(), n > 0);
    }
}
END_TEST

static int send_token(size_t len, const char *before, const char *after)
{
    char token[128];
    memset(token, 't', sizeof token);
    token[len] = '\0';
    http_once(w.http, "Idempotency-Key: %s%s%s", before, token, after);
    return http_json(w.http, "POST", MUTATE, ROW "k:mutate");
}

START_TEST(tokens_have_8_to_64_bytes)
{
    begin(_i);
    static const size_t bad[] = {1, LIM_IDEMPOTENCY_TOKEN_MIN - 1, LIM_IDEMPOTENCY_TOKEN + 1, 100};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        send_token(bad[i], "", "");
        EXPECT_PROBLEM(w.http, 400, "invalid");
        ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "8 to 64"));
        send_token(bad[i], "\"", "\"");
        EXPECT_PROBLEM(w.http, 400, "invalid");
    }
    http_once(w.http, "Idempotency-Key;"); /* libcurl's way to send it empty */
    http_json(w.http, "POST", MUTATE, ROW "k:mutate");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_once(w.http, "Idempotency-Key: once-once");
    http_once(w.http, "Idempotency-Key: twice-twice");
    http_json(w.http, "POST", MUTATE, ROW "k:mutate");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
    send_token(LIM_IDEMPOTENCY_TOKEN_MIN, "", "");
    EXPECT_STATUS(w.http, 201);
    send_token(LIM_IDEMPOTENCY_TOKEN, "\"", "\"");
    EXPECT_STATUS(w.http, 200);
    expect_sum("k", 2);
}
END_TEST

static int send_start(const char *start)
{
    http_once(w.http, "Idempotency-Key: a-token-%.40s", start);
    http_once(w.http, "Idempotency-Start: %s", start);
    return http_json(w.http, "POST", MUTATE, ROW "k:mutate");
}

START_TEST(an_attempt_that_began_too_long_ago_is_refused)
{
    char start[32];
    begin(_i);
    int64_t now = base_wall_us();
    (void)snprintf(start, sizeof start, "%lld",
                   (long long)(now - (int64_t)LIM_IDEMPOTENCY_US - 1000000));
    send_start(start);
    EXPECT_PROBLEM(w.http, 409, "conflict");
    send_start("soon");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_once(w.http, "Idempotency-Start: 1700000000000000");
    http_json(w.http, "POST", MUTATE, ROW "k:mutate");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
    (void)snprintf(start, sizeof start, "%lld",
                   (long long)(now - (int64_t)LIM_IDEMPOTENCY_US + 60000000));
    send_start(start);
    EXPECT_STATUS(w.http, 201);
}
END_TEST

/* A repeat is none more, and what has no token passes. */
START_TEST(so_many_are_remembered)
{
    char token[32];
    begin(_i);
    admin_set_quota(w.op, w.tenant, "{'idempotency_tokens':3}");
    for (int i = 0; i < 5; i++) {
        (void)snprintf(token, sizeof token, "Idempotency-Key: token-%03d", i < 3 ? i : i - 1);
        http_once(w.http, "%s", token);
        http_json(w.http, "PATCH", "{'hits':{'q':1}}", ROW "k");
        if (i < 4 && (i < 3 || was_replayed()))
            ck_assert_int_eq(w.http->status / 100, 2);
        else
            EXPECT_PROBLEM(w.http, 403, "quota");
    }
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"),
                                 "idempotency tokens quota: 3 are remembered, limit 3"));
    http_json(w.http, "PATCH", "{'hits':{'q':1}}", ROW "k");
    EXPECT_STATUS(w.http, 200);
    expect_sum("k", 4);
}
END_TEST

START_TEST(each_bulk_line_has_its_own)
{
    static const char lines[] =
        "{'key':'a','cells':{'hits':{'q':1}},'idempotency_token':'token-of-a'}\n"
        "{'idempotency_token':'token-of-b','key':'b',"
        "'mutations':[{'add_to_cell':{'family':'hits','qualifier':'q','input':1}}]}\n"
        "{'key':'c','cells':{'hits':{'q':1}}}\n"
        "{'key':'d','cells':{'hits':{'q':1}},'idempotency_token':'short'}\n"
        "{'key':'d','cells':{'hits':{'q':1}},'idempotency_token':5}\n"
        "{'key':'d','cells':{'hits':{'q':1}},'idempotency_start':'1700000000000000'}\n"
        "{'key':'d','cells':{'hits':{'q':1}},'idempotency_token':'token-of-d',"
        "'idempotency_start':'1700000000000000'}\n"
        "{'op':'delete','key':'e','idempotency_token':'token-of-a'}\n";
    static const int wanted[] = {200, 200, 200, 400, 400, 400, 409, 409};
    begin(_i);
    for (int n = 0; n < 2; n++) {
        http_once(w.http, "Content-Type: application/x-ndjson");
        http_bytes(w.http, "POST", quoted(lines), T ":write");
        EXPECT_STATUS(w.http, 200);
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
            json_t *line = http_line_new(w.http, i);
            ck_assert_msg(json_integer_value(json_at(line, "/status")) == wanted[i], "line %zu: %s",
                          i + 1, http_text(w.http));
            bool replayed = json_is_true(json_at(line, "/replayed"));
            ck_assert_msg(replayed == (n == 1 && i < 2), "line %zu: %s", i + 1, http_text(w.http));
            json_decref(line);
        }
    }
    expect_sum("a", 1);
    expect_sum("b", 1);
    expect_sum("c", 2);
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(a_token_for_many_rows_is_refused)
{
    begin(_i);
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_once(w.http, "Idempotency-Key: for-all-of-them");
    http_bytes(w.http, "POST", quoted("{'key':'a','cells':{'hits':{'q':1}}}\n"), T ":write");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "idempotency_token"));
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

/* The same request on many streams at once: one of them does it. */
START_TEST(of_many_at_once_one_is_done)
{
    enum { COPIES = 64 };
    struct http_call calls[COPIES];
    begin(HTTP_2);
    http_always(w.http, "Idempotency-Key: all-at-once");
    static char body[256];
    struct slice quoted_body = quoted(MUTATE);
    memcpy(body, quoted_body.ptr, quoted_body.len);
    for (int i = 0; i < COPIES; i++)
        calls[i] = (struct http_call){"POST", ROW "k:mutate", base_slice(body, quoted_body.len), 0};
    http_send_all(w.http, calls, COPIES);
    for (int i = 0; i < COPIES; i++)
        ck_assert_int_eq(calls[i].status, 201);
    expect_sum("k", 1);
}
END_TEST

Suite *suite_api_idempotency(void);
Suite *suite_api_idempotency(void)
{
    Suite *s = suite_create("api_idempotency");
    TCase *tc = tcase_create("idempotency");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, is_answered_alike_and_done_once, 0, WAY_COUNT * HTTP_VERSIONS);
    tcase_add_loop_test(tc, without_a_token_each_counts, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_token_belongs_to_one_request, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, tokens_of_two_tenants_are_two, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, what_was_refused_may_be_tried_again, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_made_row_stays_made_for_its_maker, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, tokens_have_8_to_64_bytes, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, an_attempt_that_began_too_long_ago_is_refused, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, so_many_are_remembered, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, each_bulk_line_has_its_own, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_token_for_many_rows_is_refused, 0, HTTP_VERSIONS);
    tcase_add_test(tc, of_many_at_once_one_is_done);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

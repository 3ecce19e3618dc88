/*
 * tests/api/test_scans.c - ranges of rows: bounds, pages to the end, NDJSON.
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

#define ROWS "/v1/tables/devices/rows"

/* Rows "a000".."a(n-1)" through :write. */
static void fill(int count)
{
    struct buf body;
    base_buf_init(&body, 64 * MIB);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(base_buf_printf(&body,
                                         "{\"key\":\"a%05d\",\"cells\":{\"stats\":{\"n\":"
                                         "{\"value\":\"%d\",\"timestamp\":\"1000\"}}}}\n",
                                         i, i),
                         ERR_OK);
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_bytes(w.http, "POST", base_buf_slice(&body), "/v1/tables/devices:write");
    EXPECT_STATUS(w.http, 200);
    base_buf_fini(&body);
}

static void put_keys(const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tenant_put(w.http, "devices", keys[i], "stats", "q", keys[i]);
}

static const char *const PHONES[] = {"phone#4c410523#20190501",
                                     "phone#4c410523#20190502",
                                     "phone#4c410523#20190505",
                                     "phone#5c10102#20190501",
                                     "phone#5c10102#20190502",
                                     "phone",
                                     "phonf",
                                     "pho"};

static const struct {
    const char *query;
    const char *keys;
} BOUNDS[] = {
    {"", "pho,phone,phone#4c410523#20190501,phone#4c410523#20190502,phone#4c410523#20190505,"
         "phone#5c10102#20190501,phone#5c10102#20190502,phonf,"},
    {"?prefix=phone%234c410523%23",
     "phone#4c410523#20190501,phone#4c410523#20190502,phone#4c410523#20190505,"},
    {"?prefix=phone%235", "phone#5c10102#20190501,phone#5c10102#20190502,"},
    {"?prefix=nothing", ""},
    {"?prefix=phonf", "phonf,"},
    {"?start=phone%234c410523%2320190502&end=phone%235c10102%2320190502",
     "phone#4c410523#20190502,phone#4c410523#20190505,phone#5c10102#20190501,"},
    {"?start=phone%235c10102%2320190502", "phone#5c10102#20190502,phonf,"},
    {"?end=phone%23", "pho,phone,"},
    {"?end=a", ""},
    {"?start=q", ""},
    {"?prefix=phone%23&limit=2", "phone#4c410523#20190501,phone#4c410523#20190502,"},
    {"?limit=1", "pho,"},
    {"?limit=10000&prefix=phonf", "phonf,"},
};

START_TEST(bounds_choose_exactly_these_rows)
{
    world_init(&w, (enum http_version)_i);
    put_keys(PHONES, sizeof(PHONES) / sizeof(PHONES[0]));
    for (size_t i = 0; i < sizeof(BOUNDS) / sizeof(BOUNDS[0]); i++) {
        http_get(w.http, ROWS "%s", BOUNDS[i].query);
        EXPECT_STATUS(w.http, 200);
        ck_assert_msg(strcmp(http_page_keys(w.http), BOUNDS[i].keys) == 0, "%s gives %s",
                      BOUNDS[i].query, http_page_keys(w.http));
    }
}
END_TEST

static const char *const BAD_QUERIES[] = {
    "prefix=a&start=b",
    "prefix=a&end=b",
    "limit=0",
    "limit=-1",
    "limit=10001",
    "limit=x",
    "limit=",
    "limit=1e3",
    "start=b&end=a",
    "start=a&end=a",
    "page_token=rubbish",
    "page_token=",
    "unknown=1",
    "prefix=%zz",
    "prefix=%4",
    "start=%",
    "limit=1&limit=2",
    "prefix=a&prefix=b",
    "limit=99999999999999999999",
};

START_TEST(queries_that_make_no_sense_are_refused)
{
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    http_get(w.http, ROWS "?%s", BAD_QUERIES[_i / HTTP_VERSIONS]);
    EXPECT_PROBLEM(w.http, 400, "invalid");
}
END_TEST

START_TEST(bounds_over_4096_bytes_are_refused)
{
    world_init(&w, (enum http_version)_i);
    char key[4097];
    memset(key, 'x', sizeof(key));
    http_get(w.http, ROWS "?prefix=%s", pct(key, 4096));
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, ROWS "?prefix=%s", pct(key, 4097));
    EXPECT_PROBLEM(w.http, 413, "too_big");
    http_get(w.http, ROWS "?start=%s", pct(key, 4097));
    EXPECT_PROBLEM(w.http, 413, "too_big");
    http_get(w.http, ROWS "?end=%s", pct(key, 4097));
    EXPECT_PROBLEM(w.http, 413, "too_big");
}
END_TEST

START_TEST(pages_go_to_the_end_without_gap_or_repeat)
{
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    static const int LIMITS[] = {1, 7, 100, 299, 300, 301};
    int limit = LIMITS[_i / HTTP_VERSIONS];
    fill(300);
    char token[8192] = "";
    int seen = 0;
    int pages = 0;
    do {
        http_get(w.http, ROWS "?limit=%d%s%s", limit, token[0] != '\0' ? "&page_token=" : "",
                 token);
        EXPECT_STATUS(w.http, 200);
        size_t n = http_count(w.http, "/rows");
        ck_assert_uint_le(n, (size_t)limit);
        for (size_t i = 0; i < n; i++) {
            char path[64], key[16];
            (void)snprintf(path, sizeof(path), "/rows/%zu/key", i);
            (void)snprintf(key, sizeof(key), "a%05d", seen++);
            ck_assert_str_eq(http_string(w.http, path), key);
        }
        token[0] = '\0';
        if (http_at(w.http, "/next_page_token") != NULL)
            (void)snprintf(token, sizeof(token), "%s",
                           pcts(http_string(w.http, "/next_page_token")));
        ck_assert_int_le(++pages, 302);
    } while (token[0] != '\0');
    ck_assert_int_eq(seen, 300);
}
END_TEST

START_TEST(pages_keep_their_bounds)
{
    world_init(&w, (enum http_version)_i);
    fill(300);
    http_get(w.http, ROWS "?prefix=a0001&limit=4");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_page_keys(w.http), "a00010,a00011,a00012,a00013,");
    char token[8192];
    (void)snprintf(token, sizeof(token), "%s", pcts(http_string(w.http, "/next_page_token")));
    http_get(w.http, ROWS "?prefix=a0001&limit=100&page_token=%s", token);
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_page_keys(w.http), "a00014,a00015,a00016,a00017,a00018,a00019,");
    ck_assert_ptr_null(http_at(w.http, "/next_page_token"));
    /* Rows that go away in between change nothing but themselves. */
    http_delete(w.http, ROWS "/a00013");
    http_delete(w.http, ROWS "/a00014");
    http_get(w.http, ROWS "?prefix=a0001&limit=2&page_token=%s", token);
    ck_assert_str_eq(http_page_keys(w.http), "a00015,a00016,");
}
END_TEST

START_TEST(the_default_page_is_1000_rows)
{
    world_init(&w, (enum http_version)_i);
    fill(1001);
    http_get(w.http, ROWS);
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, "/rows"), 1000);
    ck_assert_ptr_nonnull(http_at(w.http, "/next_page_token"));
    http_get(w.http, ROWS "?limit=10000");
    ck_assert_uint_eq(http_count(w.http, "/rows"), 1001);
    ck_assert_ptr_null(http_at(w.http, "/next_page_token"));
}
END_TEST

static char flip(char c)
{
    return c == 'A' ? 'B' : 'A';
}

START_TEST(a_changed_page_token_is_refused)
{
    world_init(&w, (enum http_version)_i);
    fill(10);
    http_get(w.http, ROWS "?limit=5");
    char token[8192];
    (void)snprintf(token, sizeof(token), "%s", http_string(w.http, "/next_page_token"));
    size_t len = strlen(token);
    ck_assert_uint_gt(len, 8);
    for (size_t i = 0; i < len; i++) {
        char saved = token[i];
        token[i] = flip(saved);
        http_get(w.http, ROWS "?limit=5&page_token=%s", pcts(token));
        token[i] = saved;
        EXPECT_PROBLEM(w.http, 400, "invalid");
    }
    token[len - 1] = '\0';
    http_get(w.http, ROWS "?limit=5&page_token=%s", pcts(token));
    EXPECT_PROBLEM(w.http, 400, "invalid");
}
END_TEST

START_TEST(ndjson_gives_one_row_a_line)
{
    world_init(&w, (enum http_version)_i);
    fill(2500);
    http_once(w.http, "Accept: application/x-ndjson");
    http_get(w.http, ROWS);
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_header(w.http, "content-type"), "application/x-ndjson");
    ck_assert_uint_eq(http_lines(w.http), 2500);
    json_t *line = http_line_new(w.http, 2499);
    ck_assert_str_eq(json_string_value(json_at(line, "/key")), "a02499");
    ck_assert_str_eq(json_string_value(json_at(line, "/cells/stats/n/0/value")), "2499");
    ck_assert_str_eq(json_string_value(json_at(line, "/cells/stats/n/0/timestamp")), "1000");
    json_decref(line);

    http_once(w.http, "Accept: application/x-ndjson");
    http_get(w.http, ROWS "?start=a00010&end=a00020&limit=3");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_lines(w.http), 3);
    http_once(w.http, "Accept: application/x-ndjson");
    http_get(w.http, ROWS "?limit=20000"); /* no page limit for streams */
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_lines(w.http), 2500);
    http_once(w.http, "Accept: application/x-ndjson");
    http_get(w.http, ROWS "?prefix=none");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(w.http->body.len, 0);
}
END_TEST

START_TEST(large_streams_arrive_whole)
{
    world_init(&w, (enum http_version)_i);
    static char value[100001];
    memset(value, 'v', 100000);
    for (int i = 0; i < 100; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "big%03d", i);
        http_value_take(w.http, "PUT", json_pack("{s:{s:s}}", "raw", "q", value), ROWS "/%s", key);
        EXPECT_STATUS(w.http, 201);
    }
    http_once(w.http, "Accept: application/x-ndjson");
    http_get(w.http, ROWS);
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_lines(w.http), 100);
    ck_assert_uint_gt(w.http->body.len, 100 * 100000);
    json_t *line = http_line_new(w.http, 99);
    ck_assert_uint_eq(json_string_length(json_at(line, "/cells/raw/q/0/value")), 100000);
    json_decref(line);
    /* A JSON page ends early at its byte limit, with a token: together they are all rows. */
    size_t seen = 0;
    char token[8192] = "";
    for (int pages = 0; pages < 20; pages++) {
        http_get(w.http, ROWS "%s%s", token[0] != '\0' ? "?page_token=" : "", token);
        EXPECT_STATUS(w.http, 200);
        seen += http_count(w.http, "/rows");
        if (http_at(w.http, "/next_page_token") == NULL)
            break;
        (void)snprintf(token, sizeof(token), "%s", pcts(http_string(w.http, "/next_page_token")));
    }
    ck_assert_uint_eq(seen, 100);
}
END_TEST

START_TEST(order_is_order_of_bytes)
{
    world_init(&w, (enum http_version)_i);
    static const struct slice keys[] = {
        {(const uint8_t *)"\0", 1},      {(const uint8_t *)"\0\0", 2},
        {(const uint8_t *)"\0\1", 2},    {(const uint8_t *)"\0\xff", 2},
        {(const uint8_t *)"\1", 1},      {(const uint8_t *)"a", 1},
        {(const uint8_t *)"a\0", 2},     {(const uint8_t *)"a\0\0", 3},
        {(const uint8_t *)"a\0\xff", 3}, {(const uint8_t *)"a\1", 2},
        {(const uint8_t *)"aa", 2},      {(const uint8_t *)"b", 1},
        {(const uint8_t *)"\xff", 1},    {(const uint8_t *)"\xff\0", 2},
        {(const uint8_t *)"\xff\xff", 2}};
    size_t count = sizeof(keys) / sizeof(keys[0]);
    for (size_t i = 0; i < count; i++) { /* written out of order */
        size_t n = (i * 7) % count;
        http_value_take(w.http, "PUT", json_pack("{s:{s:s}}", "stats", "n", "v"), ROWS "/%s",
                        pct(keys[n].ptr, keys[n].len));
        EXPECT_STATUS(w.http, 201);
        http_bytes(w.http, "PUT", base_slice(&"ABCDEFGHIJKLMNO"[n], 1),
                   "/v1/tables/devices/cells/%s/raw/n", pct(keys[n].ptr, keys[n].len));
        EXPECT_STATUS(w.http, 204);
    }
    http_get(w.http, ROWS);
    ck_assert_uint_eq(http_count(w.http, "/rows"), count);
    for (size_t i = 0; i < count; i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "/rows/%zu/cells/raw/n/0/value", i);
        ck_assert_int_eq(http_string(w.http, path)[0], "ABCDEFGHIJKLMNO"[i]);
    }
    http_get(w.http, ROWS "?prefix=%%FF");
    ck_assert_uint_eq(http_count(w.http, "/rows"), 3);
    http_get(w.http, ROWS "?prefix=a%%00");
    ck_assert_uint_eq(http_count(w.http, "/rows"), 3);
}
END_TEST

Suite *suite_api_scans(void);
Suite *suite_api_scans(void)
{
    Suite *s = suite_create("api_scans");
    TCase *tc = tcase_create("scans");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, bounds_choose_exactly_these_rows, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, queries_that_make_no_sense_are_refused, 0, HTTP_EACH(BAD_QUERIES));
    tcase_add_loop_test(tc, bounds_over_4096_bytes_are_refused, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, pages_go_to_the_end_without_gap_or_repeat, 0, 6 * HTTP_VERSIONS);
    tcase_add_loop_test(tc, pages_keep_their_bounds, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, the_default_page_is_1000_rows, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_changed_page_token_is_refused, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, ndjson_gives_one_row_a_line, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, large_streams_arrive_whole, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, order_is_order_of_bytes, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

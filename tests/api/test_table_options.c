/*
 * tests/api/test_table_options.c - what a table may be made with, besides families: splits, and a
 * change stream.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/text.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

/* --- splits ------------------------------------------------------------------------------------
 */

/* Texts and base64 together, one of them twice, in any order. */
START_TEST(a_new_table_is_divided_where_it_was_asked_for)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT",
              "{'families':{'f':{}},'splits':['m','c','a b'],'splits_b64':['/w==','bQ==']}",
              "/v1/tables/divided");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, "/v1/tables/divided:samples");
    EXPECT_STATUS(w.http, 200);
    EXPECT_JSON(w.http, "{'samples':[{'key':'a b','offset_bytes':0},"
                        "{'key':'c','offset_bytes':0},{'key':'m','offset_bytes':0},"
                        "{'key_b64':'/w==','offset_bytes':0},{'key':'','offset_bytes':0}]}");
}
END_TEST

START_TEST(a_table_that_exists_is_not_divided)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/whole");
    EXPECT_STATUS(w.http, 201);
    http_json(w.http, "PUT", "{'families':{'f':{}},'splits':['m']}", "/v1/tables/whole");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_json(w.http, "PUT", "{'families':{'f':{}},'splits':[],'splits_b64':null}",
              "/v1/tables/whole");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, "/v1/tables/whole:samples");
    ck_assert_uint_eq(http_count(w.http, "/samples"), 1);
}
END_TEST

static const struct {
    const char *splits;
    int status;
} BAD_SPLITS[] = {
    {"'splits':'m'", 400},      {"'splits':['m',7]", 400}, {"'splits':['m',null]", 400},
    {"'splits':['']", 400},     {"'splits_b64':[7]", 400}, {"'splits_b64':['m']", 400},
    {"'splits_b64':['']", 400}, {"'splits_b64':{}", 400},  {"'splits':[['m']]", 400},
};
#define BAD_SPLIT_COUNT (sizeof BAD_SPLITS / sizeof BAD_SPLITS[0])

START_TEST(splits_are_row_keys)
{
    world_init(&w, HTTP_2);
    char body[128];
    (void)snprintf(body, sizeof body, "{'families':{'f':{}},%s}", BAD_SPLITS[_i].splits);
    http_json(w.http, "PUT", body, "/v1/tables/divided");
    EXPECT_PROBLEM(w.http, BAD_SPLITS[_i].status, "invalid");
    http_get(w.http, "/v1/tables/divided");
    EXPECT_STATUS(w.http, 404);
}
END_TEST

/* count splits of len bytes, half of them in base64. */
static void put_splits(size_t count, size_t len)
{
    json_t *texts = json_array();
    json_t *coded = json_array();
    char *key = base_new(len + 1);
    struct buf base64;
    base_buf_init(&base64, 2 * len + 4);
    memset(key, 'k', len);
    for (size_t i = 0; i < count; i++) {
        char digits[24];
        (void)snprintf(digits, sizeof digits, "%04zu", i);
        memcpy(key, digits, 4);
        base_buf_truncate(&base64, 0);
        ck_assert_int_eq(base_base64_encode(base_slice(key, len), &base64), ERR_OK);
        if (i % 2 == 0)
            json_array_append_new(texts, json_stringn(key, len));
        else
            json_array_append_new(coded, json_stringn((const char *)base64.ptr, base64.len));
    }
    base_buf_fini(&base64);
    base_free(key);
    http_value_take(
        w.http, "PUT",
        json_pack("{s:{s:{}},s:o,s:o}", "families", "f", "splits", texts, "splits_b64", coded),
        "/v1/tables/divided");
}

static const struct {
    size_t count;
    size_t len;
    int status;
} SPLIT_LIMITS[] = {
    {LIM_SPLITS, 65, 201},
    {LIM_SPLITS + 1, 4, 413},
    {LIM_SPLIT_BYTES / LIM_ROW_KEY, LIM_ROW_KEY, 201},
    {LIM_SPLIT_BYTES / LIM_ROW_KEY + 1, LIM_ROW_KEY, 413},
    {1, LIM_ROW_KEY + 1, 413},
};
#define SPLIT_LIMIT_COUNT (sizeof SPLIT_LIMITS / sizeof SPLIT_LIMITS[0])

START_TEST(splits_have_limits)
{
    world_init(&w, HTTP_2);
    put_splits(SPLIT_LIMITS[_i].count, SPLIT_LIMITS[_i].len);
    EXPECT_STATUS(w.http, SPLIT_LIMITS[_i].status);
    http_get(w.http, "/v1/tables/divided:samples");
    if (SPLIT_LIMITS[_i].status == 201)
        ck_assert_uint_eq(http_count(w.http, "/samples"), SPLIT_LIMITS[_i].count + 1);
    else
        EXPECT_STATUS(w.http, 404);
}
END_TEST

/* --- changes -----------------------------------------------------------------------------------
 */

static void put_retention(const char *member)
{
    char body[128];
    (void)snprintf(body, sizeof body, "{'families':{'f':{}}%s}", member);
    http_json(w.http, "PUT", body, "/v1/tables/watched");
}

static void expect_retention(const char *wanted)
{
    http_get(w.http, "/v1/tables/watched");
    EXPECT_STATUS(w.http, 200);
    if (wanted == NULL)
        ck_assert(json_is_null(http_at(w.http, "/change_stream_retention")));
    else
        ck_assert_str_eq(http_string(w.http, "/change_stream_retention"), wanted);
}

START_TEST(changes_are_kept_until_null_ends_it)
{
    world_init(&w, (enum http_version)_i);
    put_retention("");
    EXPECT_STATUS(w.http, 201);
    expect_retention(NULL);
    put_retention(",'change_stream_retention':'86400s'");
    EXPECT_STATUS(w.http, 200);
    expect_retention("86400s");
    put_retention("");
    EXPECT_STATUS(w.http, 200);
    expect_retention("86400s");
    put_retention(",'change_stream_retention':'604800s'");
    expect_retention("604800s");
    put_retention(",'change_stream_retention':null");
    EXPECT_STATUS(w.http, 200);
    expect_retention(NULL);
}
END_TEST

static const char *const BAD_RETENTIONS[] = {"86400",      "'86400'",  "'86399s'", "'604801s'",
                                             "'86400.5s'", "'-1s'",    "'0s'",     "''",
                                             "true",       "'86400m'", "{}"};
#define BAD_RETENTION_COUNT (sizeof BAD_RETENTIONS / sizeof BAD_RETENTIONS[0])

START_TEST(changes_are_kept_for_whole_seconds_of_a_day_to_seven)
{
    char member[64];
    world_init(&w, HTTP_2);
    (void)snprintf(member, sizeof member, ",'change_stream_retention':%s", BAD_RETENTIONS[_i]);
    put_retention(member);
    EXPECT_PROBLEM(w.http, 400, "invalid");
}
END_TEST

Suite *suite_api_table_options(void);
Suite *suite_api_table_options(void)
{
    Suite *s = suite_create("api_table_options");
    TCase *tc = tcase_create("options");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, a_new_table_is_divided_where_it_was_asked_for, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_table_that_exists_is_not_divided, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, splits_are_row_keys, 0, (int)BAD_SPLIT_COUNT);
    tcase_add_loop_test(tc, splits_have_limits, 0, (int)SPLIT_LIMIT_COUNT);
    tcase_add_loop_test(tc, changes_are_kept_until_null_ends_it, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, changes_are_kept_for_whole_seconds_of_a_day_to_seven, 0,
                        (int)BAD_RETENTION_COUNT);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

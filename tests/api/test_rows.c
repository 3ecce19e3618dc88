/*
 * tests/api/test_rows.c - one row: put, patch, get, delete, in every detail of docs/api.md.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

#define ROW "/v1/tables/devices/rows/"

START_TEST(put_then_get_gives_it_back)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT",
              "{'stats':{'os':'17','battery':{'value':'83','timestamp':'1700000000000000'}}}",
              ROW "phone%%234c410523");
    EXPECT_STATUS(w.http, 201);
    char timestamp[32];
    (void)snprintf(timestamp, sizeof(timestamp), "%s", http_string(w.http, "/timestamp"));
    ck_assert_uint_eq(http_count(w.http, ""), 1);
    ck_assert_uint_eq(strlen(timestamp), 16);
    ck_assert_str_eq(timestamp + 13, "000");

    http_get(w.http, ROW "phone%%234c410523");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_header(w.http, "content-type"), "application/json");
    char expected[400];
    (void)snprintf(expected, sizeof(expected),
                   "{'key':'phone#4c410523','cells':{'stats':{"
                   "'os':[{'value':'17','timestamp':'%s'}],"
                   "'battery':[{'value':'83','timestamp':'1700000000000000'}]}}}",
                   timestamp);
    EXPECT_JSON(w.http, expected);
}
END_TEST

START_TEST(put_replaces_the_whole_row)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'stats':{'a':'1','b':'2'},'raw':{'c':'3'}}", ROW "k");
    EXPECT_STATUS(w.http, 201);
    http_json(w.http, "PUT", "{'stats':{'b':{'value':'new','timestamp':'5000'}}}", ROW "k");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, ROW "k");
    EXPECT_JSON(w.http, "{'key':'k','cells':{'stats':{'b':[{'value':'new','timestamp':'5000'}]}}}");
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 1 + 3 + 8, 1, 1);
}
END_TEST

START_TEST(patch_adds_and_keeps_the_rest)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PATCH", "{'stats':{'a':{'value':'1','timestamp':'1000'}}}", ROW "k");
    EXPECT_STATUS(w.http, 201);
    http_json(w.http, "PATCH",
              "{'stats':{'a':{'value':'2','timestamp':'2000'}},"
              "'raw':{'b':{'value':'3','timestamp':'0'}}}",
              ROW "k");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, ROW "k");
    EXPECT_JSON(w.http, "{'key':'k','cells':{"
                        "'stats':{'a':[{'value':'2','timestamp':'2000'},"
                        "{'value':'1','timestamp':'1000'}]},"
                        "'raw':{'b':[{'value':'3','timestamp':'0'}]}}}");
}
END_TEST

START_TEST(patch_null_deletes_columns_and_families)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT",
              "{'stats':{'a':[{'value':'1','timestamp':'1000'},{'value':'2','timestamp':'2000'}],"
              "'b':{'value':'3','timestamp':'3000'}},'raw':{'c':'4','d':'5'}}",
              ROW "k");
    EXPECT_STATUS(w.http, 201);
    http_json(w.http, "PATCH", "{'stats':{'a':null,'never':null},'raw':null}", ROW "k");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, ROW "k");
    EXPECT_JSON(w.http, "{'key':'k','cells':{'stats':{'b':[{'value':'3','timestamp':'3000'}]}}}");
    http_json(w.http, "PATCH", "{'stats':null}", ROW "k");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, ROW "k");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

START_TEST(patch_that_only_deletes_makes_no_row)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PATCH", "{'stats':{'a':null}}", ROW "k");
    ck_assert_msg(w.http->status == 200 || w.http->status == 201, "%d", w.http->status);
    http_get(w.http, ROW "k");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

START_TEST(delete_is_204_with_or_without_a_row)
{
    world_init(&w, (enum http_version)_i);
    http_delete(w.http, ROW "k");
    EXPECT_STATUS(w.http, 204);
    tenant_put(w.http, "devices", "k", "stats", "a", "1");
    tenant_put(w.http, "devices", "k2", "stats", "a", "1");
    http_delete(w.http, ROW "k");
    EXPECT_STATUS(w.http, 204);
    ck_assert_uint_eq(w.http->body.len, 0);
    http_get(w.http, ROW "k");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    http_get(w.http, ROW "k2");
    EXPECT_STATUS(w.http, 200);
    tenant_put(w.http, "devices", "k", "stats", "a", "again");
    http_get(w.http, ROW "k");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, "/cells/stats/a"), 1);
}
END_TEST

START_TEST(every_form_of_a_value_is_taken)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT",
              "{'stats':{'text':'h\xc3\xa9','empty':'','object':{'value':'v','timestamp':'1000'},"
              "'bytes':{'value_b64':'AP+A','timestamp':'2000'},"
              "'list':['a-list-of-one'],"
              "'versions':[{'value':'old','timestamp':'1000'},"
              "{'value_b64':'bmV3','timestamp':'9000'}]}}",
              ROW "k");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, ROW "k");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_string(w.http, "/cells/stats/text/0/value"), "h\xc3\xa9");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/empty/0/value"), "");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/object/0/value"), "v");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/bytes/0/value_b64"), "AP+A");
    ck_assert_ptr_null(http_at(w.http, "/cells/stats/bytes/0/value"));
    ck_assert_str_eq(http_string(w.http, "/cells/stats/list/0/value"), "a-list-of-one");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/versions/0/value"), "new");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/versions/1/value"), "old");
}
END_TEST

START_TEST(binary_qualifiers_go_both_ways)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT",
              "{'stats':{'plain':{'value':'0','timestamp':'1000'}},"
              "'$binary':[{'family':'stats','qualifier_b64':'/w==','value':'1','timestamp':'1000'},"
              "{'family':'raw','qualifier_b64':'AP8=','value_b64':'/w==','timestamp':'3000'},"
              "{'family':'raw','qualifier_b64':'dGV4dA==','value':'t','timestamp':'4000'}]}",
              ROW "k");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, ROW "k");
    EXPECT_STATUS(w.http, 200);
    /* A qualifier that is text stands with the others, however it was given. */
    EXPECT_JSON(
        w.http,
        "{'key':'k','cells':{"
        "'stats':{'plain':[{'value':'0','timestamp':'1000'}]},"
        "'raw':{'text':[{'value':'t','timestamp':'4000'}]},"
        "'$binary':[{'family':'stats','qualifier_b64':'/w==','value':'1','timestamp':'1000'},"
        "{'family':'raw','qualifier_b64':'AP8=','value_b64':'/w==','timestamp':'3000'}]}}");
    http_get(w.http, "/v1/tables/devices/cells/k/stats/%%FF");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_text(w.http), "1");
}
END_TEST

START_TEST(empty_qualifier_is_a_column)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'stats':{'':{'value':'v','timestamp':'1000'}}}", ROW "k");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, ROW "k");
    EXPECT_JSON(w.http, "{'key':'k','cells':{'stats':{'':[{'value':'v','timestamp':'1000'}]}}}");
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 0 + 1 + 8, 1, 1);
}
END_TEST

static const char *const KEYS[] = {"a",    "a/b",   "a%b", "..",      ".",        "a b",
                                   "a+b",  "a?b=c", "a:b", "phone#1", "\xc3\xa4", "k:check",
                                   "rows", "a//b",  "%2F", "\"q\"",   "a\\b",     "a&b"};

START_TEST(any_text_can_be_a_row_key)
{
    world_init(&w, (enum http_version)_i);
    for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
        http_value_take(w.http, "PUT", json_pack("{s:{s:s}}", "stats", "key", KEYS[i]), ROW "%s",
                        pcts(KEYS[i]));
        ck_assert_msg(w.http->status == 201, "key %s: %d %s", KEYS[i], w.http->status,
                      http_text(w.http));
    }
    for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
        http_get(w.http, ROW "%s", pcts(KEYS[i]));
        EXPECT_STATUS(w.http, 200);
        ck_assert_str_eq(http_string(w.http, "/key"), KEYS[i]);
        ck_assert_str_eq(http_string(w.http, "/cells/stats/key/0/value"), KEYS[i]);
    }
    http_get(w.http, "/v1/tables/devices/rows");
    ck_assert_uint_eq(http_count(w.http, "/rows"), sizeof(KEYS) / sizeof(KEYS[0]));
}
END_TEST

/* As they stand they are dot segments, which clients and proxies resolve. */
START_TEST(dots_as_they_stand_are_refused)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'stats':{'q':'v'}}", ROW "..");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_get(w.http, ROW ".");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_json(w.http, "PUT", "{'stats':{'q':'v'}}", ROW "..a");
    EXPECT_STATUS(w.http, 201);
    http_json(w.http, "PUT", "{'stats':{'q':'v'}}", ROW "%%2E%%2e");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, "/v1/tables/devices/rows");
    ck_assert_str_eq(http_string(w.http, "/rows/0/key"), "..");
}
END_TEST

START_TEST(any_bytes_can_be_a_row_key)
{
    world_init(&w, (enum http_version)_i);
    static const struct {
        const char *bytes;
        size_t len;
        const char *b64;
    } keys[] = {{"\0", 1, NULL},    {"\xff", 1, "/w=="},    {"\xff\xff\xff", 3, "////"},
                {"a\0b", 3, NULL},  {"a\0\xff", 3, "YQD/"}, {"a\0\x01", 3, NULL},
                {"\xc3", 1, "ww=="}};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        http_json(w.http, "PUT", "{'stats':{'q':'v'}}", ROW "%s", pct(keys[i].bytes, keys[i].len));
        EXPECT_STATUS(w.http, 201);
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        http_get(w.http, ROW "%s", pct(keys[i].bytes, keys[i].len));
        EXPECT_STATUS(w.http, 200);
        if (keys[i].b64 != NULL) {
            ck_assert_str_eq(http_string(w.http, "/key_b64"), keys[i].b64);
            ck_assert_ptr_null(http_at(w.http, "/key"));
        } else {
            json_t *key = http_at(w.http, "/key");
            ck_assert_uint_eq(json_string_length(key), keys[i].len);
            ck_assert_int_eq(memcmp(json_string_value(key), keys[i].bytes, keys[i].len), 0);
        }
        http_delete(w.http, ROW "%s", pct(keys[i].bytes, keys[i].len));
        EXPECT_STATUS(w.http, 204);
    }
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

START_TEST(row_keys_up_to_4096_bytes)
{
    world_init(&w, (enum http_version)_i);
    char key[4097];
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (char)(i % 251 + 1); /* mostly percent-encoded: a target of 11 KiB */
    http_json(w.http, "PUT", "{'stats':{'q':'v'}}", ROW "%s", pct(key, 4096));
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, ROW "%s", pct(key, 4096));
    EXPECT_STATUS(w.http, 200);
    EXPECT_USAGE(tenant_usage(w.http), 4096 + 5 + 1 + 1 + 8, 1, 1);
    http_json(w.http, "PUT", "{'stats':{'q':'v'}}", ROW "%s", pct(key, 4097));
    EXPECT_PROBLEM(w.http, 413, "too_big");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "4096"));
    http_get(w.http, ROW "%s", pct(key, 4097));
    EXPECT_PROBLEM(w.http, 413, "too_big");
    http_delete(w.http, ROW "%s", pct(key, 4097));
    EXPECT_PROBLEM(w.http, 413, "too_big");
    EXPECT_USAGE(tenant_usage(w.http), 4096 + 5 + 1 + 1 + 8, 1, 1);
}
END_TEST

START_TEST(an_empty_row_key_is_refused)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'stats':{'q':'v'}}", ROW);
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_get(w.http, ROW);
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_delete(w.http, ROW);
    EXPECT_PROBLEM(w.http, 400, "invalid");
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

static void put_qualifier(size_t len)
{
    static char name[16386];
    memset(name, 'q', len);
    name[len] = '\0';
    http_value_take(w.http, "PUT", json_pack("{s:{s:s}}", "stats", name, "v"), ROW "k");
}

START_TEST(qualifiers_up_to_16384_bytes)
{
    world_init(&w, (enum http_version)_i);
    put_qualifier(16385);
    EXPECT_PROBLEM(w.http, 413, "too_big");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "16384"));
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
    put_qualifier(16384);
    EXPECT_STATUS(w.http, 201);
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 16384 + 1 + 8, 1, 1);
}
END_TEST

START_TEST(a_wide_row_comes_back_whole)
{
    world_init(&w, (enum http_version)_i);
    json_t *columns = json_object();
    for (int i = 0; i < 5000; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "c%04d", i);
        json_object_set_new(columns, name, json_string(name));
    }
    http_value_take(w.http, "PUT", json_pack("{s:o}", "stats", columns), ROW "wide");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, ROW "wide");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, "/cells/stats"), 5000);
    ck_assert_str_eq(http_string(w.http, "/cells/stats/c4999/0/value"), "c4999");
    EXPECT_USAGE(tenant_usage(w.http), 5000 * (4 + 5 + 5 + 5 + 8), 1, 5000);
}
END_TEST

START_TEST(a_slash_or_a_hash_that_is_not_encoded_is_explained)
{
    static const struct {
        const char *path;
        const char *says;
        int status;
        const char *code;
    } PATHS[] = {
        {"/v1/tables/devices/rows/us/k", "a slash in a row key", 404, "not_found"},
        {"/v1/tables/devices/cells/us/k/stats/q", "a slash in a row key", 404, "not_found"},
        {"/v1/tables/devices/rows/", "a # %23", 400, "invalid"}, /* what clients send of rows/#k */
    };
    world_init(&w, (enum http_version)_i);
    for (size_t i = 0; i < sizeof PATHS / sizeof PATHS[0]; i++) {
        http_get(w.http, "%s", PATHS[i].path);
        EXPECT_PROBLEM_OF(w.http, PATHS[i].path, PATHS[i].status, PATHS[i].code);
        const char *detail = http_string(w.http, "/detail");
        ck_assert_msg(strstr(detail, PATHS[i].says) != NULL, "%s", detail);
        http_reconnect(w.http);
    }
}
END_TEST

Suite *suite_api_rows(void);
Suite *suite_api_rows(void)
{
    Suite *s = suite_create("api_rows");
    TCase *tc = tcase_create("rows");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, put_then_get_gives_it_back, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, put_replaces_the_whole_row, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, patch_adds_and_keeps_the_rest, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, patch_null_deletes_columns_and_families, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, patch_that_only_deletes_makes_no_row, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, delete_is_204_with_or_without_a_row, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, every_form_of_a_value_is_taken, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, binary_qualifiers_go_both_ways, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, empty_qualifier_is_a_column, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, any_text_can_be_a_row_key, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, dots_as_they_stand_are_refused, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, any_bytes_can_be_a_row_key, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, row_keys_up_to_4096_bytes, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, an_empty_row_key_is_refused, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, qualifiers_up_to_16384_bytes, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_slash_or_a_hash_that_is_not_encoded_is_explained, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_wide_row_comes_back_whole, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

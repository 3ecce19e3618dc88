/*
 * tests/api/test_families.c - what a table's document says: rules, types, protection, notes; and
 * changing it only as it was last seen.
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

static void put(const char *body)
{
    http_json(w.http, "PUT", body, "/v1/tables/t");
}

static void families(const char *body)
{
    http_json(w.http, "POST", body, "/v1/tables/t:families");
}

static bool has_cells(void *arg)
{
    return tenant_usage(w.http).cells == *(int64_t *)arg;
}

/* The usage of table t falls to this many cells. */
static void await_cells(int64_t cells)
{
    process_await(has_cells, &cells, "the cells of a dropped family to go");
}

/* --- documents that come back as they were put -------------------------------------------------
 */

static const char *const RULES[] = {
    "{'max_versions':1}",
    "{'max_versions':2147483647}",
    "{'max_age':'86400s'}",
    "{'max_age':'0.001s'}",
    "{'max_age':'1000.00002s'}",
    "{'max_versions':2,'max_age':'1.5s'}",
    "{'union':[{'max_age':'60s'},{'max_versions':2}]}",
    "{'union':[{'max_versions':1}]}",
    "{'intersection':[{'max_versions':3},{'max_age':'86400s'}]}",
    "{'intersection':[{'max_versions':2,'max_age':'7s'},{'union':[{'max_age':'60s'},"
    "{'intersection':[{'max_age':'1s'},{'max_versions':9}]}]},{'max_versions':5}]}",
};

START_TEST(a_rule_comes_back_as_it_was_put)
{
    char body[1024], wanted[1024];
    const char *rule = RULES[(size_t)_i / HTTP_VERSIONS];
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    (void)snprintf(body, sizeof body, "{'families':{'f':{'gc':%s}}}", rule);
    (void)snprintf(wanted, sizeof wanted,
                   "{'id':'t','version':1,'families':{'f':{'gc':%s}},'deletion_protection':false,"
                   "'row_key_notes':null,'change_stream_retention':null,'usage':{'stored_bytes':0,'"
                   "rows':0,'cells':0,'uncollected_bytes':0}}",
                   rule);
    put(body);
    EXPECT_STATUS(w.http, 201);
    EXPECT_JSON(w.http, wanted);
    http_get(w.http, "/v1/tables/t");
    EXPECT_JSON(w.http, wanted);
}
END_TEST

START_TEST(rules_hide_what_they_say)
{
    world_init(&w, (enum http_version)_i);
    put("{'families':{'or':{'gc':{'union':[{'max_age':'3600s'},{'max_versions':2}]}},"
        "'and':{'gc':{'intersection':[{'max_age':'3600s'},{'max_versions':2}]}}}}");
    EXPECT_STATUS(w.http, 201);
    http_json(w.http, "PUT",
              "{'or':{'old':[{'value':'3','timestamp':'3000'},{'value':'2','timestamp':'2000'}],"
              "'new':['c']},"
              "'and':{'old':[{'value':'3','timestamp':'3000'},{'value':'2','timestamp':'2000'},"
              "{'value':'1','timestamp':'1000'}]}}",
              "/v1/tables/t/rows/r");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, "/v1/tables/t/rows/r");
    ck_assert_ptr_null(http_at(w.http, "/cells/or/old")); /* too old, however few */
    ck_assert_uint_eq(http_count(w.http, "/cells/or/new"), 1);
    ck_assert_uint_eq(http_count(w.http, "/cells/and/old"), 2); /* old, but two are kept */
}
END_TEST

START_TEST(types_come_back_and_never_change)
{
    world_init(&w, (enum http_version)_i);
    put("{'families':{'a':{'type':'sum'},'b':{'type':'min','gc':{'max_age':'9s'}},"
        "'c':{'type':'max'},'d':{'type':'hll'},'e':{}}}");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, "/v1/tables/t");
    EXPECT_JSON(w.http, "{'id':'t','version':1,'families':{'a':{'type':'sum'},"
                        "'b':{'type':'min','gc':{'max_age':'9s'}},'c':{'type':'max'},"
                        "'d':{'type':'hll'},'e':{}},'deletion_protection':false,"
                        "'row_key_notes':null,'change_stream_retention':null,'usage':{'stored_"
                        "bytes':0,'rows':0,'cells':0,'uncollected_bytes':0}}");
    families("{'update':{'a':{'type':'min'}}}");
    EXPECT_PROBLEM(w.http, 409, "conflict");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "\"a\" has type sum"));
    families("{'update':{'e':{'type':'sum'}}}");
    EXPECT_PROBLEM(w.http, 409, "conflict");
    families("{'update':{'a':{'gc':{'max_versions':1}},'b':{'type':'min'}}}");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_string(w.http, "/families/a/type"), "sum");
    ck_assert_ptr_null(http_at(w.http, "/families/b/gc")); /* the rule is replaced */
    put("{'families':{'a':{},'b':{},'c':{},'d':{},'e':{}}}");
    EXPECT_PROBLEM(w.http, 409, "conflict");
}
END_TEST

START_TEST(types_of_plain_values_come_back_and_change)
{
    world_init(&w, (enum http_version)_i);
    put("{'families':{'a':{'type':'bytes'},'b':{'type':'string','gc':{'max_versions':1}},"
        "'c':{'type':'int64'},'d':{'type':'none'}}}");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, "/v1/tables/t");
    EXPECT_JSON(w.http, "{'id':'t','version':1,'families':{'a':{'type':'bytes'},"
                        "'b':{'type':'string','gc':{'max_versions':1}},'c':{'type':'int64'},"
                        "'d':{}},'deletion_protection':false,'row_key_notes':null,"
                        "'change_stream_retention':null,'usage':{'stored_bytes':0,'rows':0,"
                        "'cells':0,'uncollected_bytes':0}}");
    families("{'update':{'a':{'gc':{'max_versions':2}},'b':{'type':null},'c':{'type':'none'},"
             "'d':{'type':'int64'}}}");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_string(w.http, "/families/a/type"), "bytes"); /* left out: it stays */
    ck_assert_str_eq(http_string(w.http, "/families/b/type"), "string");
    ck_assert_ptr_null(http_at(w.http, "/families/c/type"));
    ck_assert_str_eq(http_string(w.http, "/families/d/type"), "int64");
    put("{'families':{'a':{'type':'string'},'b':{},'c':{},'d':{'type':'int64'}}}");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_string(w.http, "/families/a/type"), "string");
    ck_assert_ptr_null(http_at(w.http, "/families/b/type"));
    put("{'families':{'a':{},'b':{},'c':{},'d':{'type':'sum'}}}");
    EXPECT_PROBLEM(w.http, 409, "conflict");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "\"d\" has type int64"));
}
END_TEST

static const struct refusal BAD[] = {
    {"{'families':{'f':{'type':'avg'}}}", 400, "invalid", "\"type\""},
    {"{'families':{'f':{'type':1}}}", 400, "invalid", "\"type\""},
    {"{'families':{'f':{'gc':{'union':[]}}}}", 400, "invalid", "\"union\""},
    {"{'families':{'f':{'gc':{'union':{}}}}}", 400, "invalid", "\"union\""},
    {"{'families':{'f':{'gc':{'union':[{}]}}}}", 400, "invalid", "empty"},
    {"{'families':{'f':{'gc':{'union':[1]}}}}", 400, "invalid", "object"},
    {"{'families':{'f':{'gc':{'union':[{'max_versions':0}]}}}}", 400, "invalid", "family \"f\""},
    {"{'families':{'f':{'gc':{'max_versions':2147483648}}}}", 400, "invalid", "\"max_versions\""},
    {"{'families':{'f':{'gc':{'max_age':'0.0001s'}}}}", 400, "invalid", "millisecond;"},
    {"{'families':{'f':{'gc':{'max_age':'0s'}}}}", 400, "invalid", "\"max_age\""},
    {"{'families':{'f':{'gc':{'union':[{'max_versions':1}],'max_age':'1s'}}}}", 400, "invalid",
     "alone"},
    {"{'families':{'f':{'gc':{'union':[{'max_versions':1}],'intersection':[{'max_age':'1s'}]}}}}",
     400, "invalid", "alone"},
    {"{'families':{'f':{}},'deletion_protection':1}", 400, "invalid", "\"deletion_protection\""},
    {"{'families':{'f':{}},'row_key_notes':1}", 400, "invalid", "\"row_key_notes\""},
};

START_TEST(documents_that_make_no_sense_are_refused)
{
    size_t n = (size_t)_i / HTTP_VERSIONS;
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    http_json_refused(w.http, "PUT", "/v1/tables/t", &BAD[n]);
    http_get(w.http, "/v1/tables/t");
    EXPECT_PROBLEM(w.http, 404, "not_found");
}
END_TEST

static json_t *rule_of(size_t members)
{
    json_t *list = json_array();
    for (size_t i = 0; i < members; i++)
        json_array_append_new(list, json_pack("{s:i}", "max_versions", 1));
    return json_pack("{s:o}", "union", list);
}

static void put_rule(json_t *rule)
{
    http_value_take(w.http, "PUT", json_pack("{s:{s:{s:o}}}", "families", "f", "gc", rule),
                    "/v1/tables/t");
}

START_TEST(rules_are_limited_in_parts_and_bytes)
{
    world_init(&w, (enum http_version)_i);
    put_rule(rule_of(64));
    EXPECT_PROBLEM(w.http, 413, "too_big");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "64"));
    put_rule(rule_of(63));
    EXPECT_STATUS(w.http, 201);
    json_t *large = json_array();
    for (int i = 0; i < 63; i++)
        json_array_append_new(large, json_pack("{s:i}", "max_versions", 2147483647));
    put_rule(json_pack("{s:o}", "union", large));
    EXPECT_PROBLEM(w.http, 413, "too_big");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "500"));
}
END_TEST

START_TEST(notes_are_kept_until_they_are_changed)
{
    char notes[4098];
    world_init(&w, (enum http_version)_i);
    put("{'families':{'f':{}},'row_key_notes':'tenant#time\\n\\u00e4'}");
    EXPECT_STATUS(w.http, 201);
    put("{'families':{'f':{},'g':{}}}");
    ck_assert_str_eq(http_string(w.http, "/row_key_notes"), "tenant#time\n\xc3\xa4");
    ck_assert_int_eq(http_number(w.http, "/version"), 2);
    put("{'families':{'f':{},'g':{}},'row_key_notes':''}");
    EXPECT_STATUS(w.http, 200);
    ck_assert(json_is_null(http_at(w.http, "/row_key_notes")));
    memset(notes, 'n', sizeof notes);
    for (size_t len = 4096; len <= 4097; len++) {
        http_value_take(
            w.http, "PUT",
            json_pack("{s:{s:{},s:{}},s:s%}", "families", "f", "g", "row_key_notes", notes, len),
            "/v1/tables/t");
        if (len == 4096)
            EXPECT_STATUS(w.http, 200);
        else
            EXPECT_PROBLEM(w.http, 413, "too_big");
    }
}
END_TEST

/* --- compare and set -------------------------------------------------------------------------- */

static void put_if(const char *header, const char *body)
{
    http_once(w.http, "%s", header);
    put(body);
}

START_TEST(a_table_is_changed_only_as_it_was_seen)
{
    static const char *const BODY = "{'families':{'f':{}}}";
    static const char *const OTHER = "{'families':{'f':{},'g':{}}}";
    world_init(&w, (enum http_version)_i);
    put_if("If-Match: *", BODY);
    EXPECT_PROBLEM(w.http, 412, "precondition");
    put_if("If-Match: \"1\"", BODY);
    EXPECT_PROBLEM(w.http, 412, "precondition");
    put_if("If-None-Match: *", BODY);
    EXPECT_STATUS(w.http, 201);
    ck_assert_str_eq(http_header(w.http, "etag"), "\"1\"");
    put_if("If-None-Match: *", BODY);
    EXPECT_PROBLEM(w.http, 412, "precondition");
    put_if("If-Match: \"2\"", OTHER);
    EXPECT_PROBLEM(w.http, 412, "precondition");
    put_if("If-Match: W/\"1\"", OTHER); /* weak tags match nothing */
    EXPECT_PROBLEM(w.http, 412, "precondition");
    put_if("If-Match: \"one\"", OTHER);
    EXPECT_PROBLEM(w.http, 412, "precondition");
    put_if("If-Match: \"1\"", OTHER);
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_header(w.http, "etag"), "\"2\"");
    put_if("If-Match: \"2\"", OTHER); /* changes nothing */
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_header(w.http, "etag"), "\"2\"");
    http_get(w.http, "/v1/tables/t");
    ck_assert_str_eq(http_header(w.http, "etag"), "\"2\"");
    ck_assert_int_eq(http_number(w.http, "/version"), 2);
    http_once(w.http, "If-Match: \"1\"");
    families("{'drop':['g']}");
    EXPECT_PROBLEM(w.http, 412, "precondition");
    http_once(w.http, "If-Match: \"2\"");
    families("{'drop':['g']}");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_header(w.http, "etag"), "\"3\"");
    http_once(w.http, "If-Match: \"2\"");
    http_delete(w.http, "/v1/tables/t");
    EXPECT_PROBLEM(w.http, 412, "precondition");
    http_once(w.http, "If-Match: *");
    http_delete(w.http, "/v1/tables/t");
    EXPECT_STATUS(w.http, 204);
}
END_TEST

START_TEST(conditions_that_make_no_sense_are_refused)
{
    static const char *const HEADERS[] = {
        "If-Match: 1",          "If-Match: \"1\", \"2\"", "If-Match: \"",
        "If-None-Match: \"1\"", "If-None-Match: W/\"1\"", "If-Match: \"a b\""};
    world_init(&w, (enum http_version)_i);
    for (size_t i = 0; i < sizeof HEADERS / sizeof HEADERS[0]; i++) {
        put_if(HEADERS[i], "{'families':{'f':{}}}");
        EXPECT_PROBLEM(w.http, 400, "invalid");
        http_once(w.http, "%s", HEADERS[i]);
        http_delete(w.http, "/v1/tables/devices");
        EXPECT_PROBLEM(w.http, 400, "invalid");
    }
    http_once(w.http, "If-Match: *");
    put_if("If-None-Match: *", "{'families':{'f':{}}}");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_get(w.http, "/v1/tables/devices");
    EXPECT_STATUS(w.http, 200);
}
END_TEST

/* --- protection ------------------------------------------------------------------------------- */

START_TEST(deletion_protection_refuses_three_things)
{
    world_init(&w, (enum http_version)_i);
    put("{'families':{'f':{}},'deletion_protection':true}");
    EXPECT_STATUS(w.http, 201);
    tenant_put(w.http, "t", "r1", "f", "q", "v");
    http_delete(w.http, "/v1/tables/t");
    EXPECT_PROBLEM(w.http, 409, "conflict");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "deletion protection"));
    families("{'drop':['f']}");
    EXPECT_PROBLEM(w.http, 409, "conflict");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "deletion protection"));
    http_json(w.http, "POST", "{'all':true}", "/v1/tables/t:drop");
    EXPECT_PROBLEM(w.http, 409, "conflict");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "deletion protection"));
    http_json(w.http, "POST", "{'prefix':'x'}", "/v1/tables/t:drop");
    EXPECT_STATUS(w.http, 200);
    http_delete(w.http, "/v1/tables/t/rows/r1");
    EXPECT_STATUS(w.http, 204);
    put("{'families':{'f':{}}}"); /* says nothing: it stays */
    ck_assert(json_is_true(http_at(w.http, "/deletion_protection")));
    put("{'families':{'f':{}},'deletion_protection':false}");
    EXPECT_STATUS(w.http, 200);
    families("{'drop':['f']}");
    EXPECT_STATUS(w.http, 200);
    http_delete(w.http, "/v1/tables/t");
    EXPECT_STATUS(w.http, 204);
}
END_TEST

/* --- :families -------------------------------------------------------------------------------- */

START_TEST(families_are_created_updated_and_dropped_at_once)
{
    world_init(&w, (enum http_version)_i);
    put("{'families':{'a':{},'b':{}}}");
    tenant_put(w.http, "t", "r1", "a", "q", "v");
    tenant_put(w.http, "t", "r1", "b", "q", "v");
    tenant_put(w.http, "t", "r2", "a", "q", "v");
    families(
        "{'create':{'c':{'type':'max'}},'update':{'b':{'gc':{'max_versions':7}}},'drop':['a']}");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, "/families"), 2);
    ck_assert_int_eq(http_number(w.http, "/families/b/gc/max_versions"), 7);
    ck_assert_str_eq(http_string(w.http, "/families/c/type"), "max");
    http_get(w.http, "/v1/tables/t/rows");
    ck_assert_uint_eq(http_count(w.http, "/rows"), 1);
    http_json(w.http, "PUT", "{'a':{'q':'v'}}", "/v1/tables/t/rows/r3");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    await_cells(1);
    EXPECT_USAGE(admin_recount(w.op, w.tenant), 2 + 1 + 1 + 1 + 8, 1, 1);
    families("{'create':{'a':{}}}"); /* the name is free, and what was there does not come back */
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, "/v1/tables/t/rows");
    ck_assert_uint_eq(http_count(w.http, "/rows"), 1);
}
END_TEST

static const struct refusal CHANGES[] = {
    {"{}", 400, "invalid", "\"create\""},
    {"{'add':{}}", 400, "invalid", "\"add\""},
    {"{'create':[]}", 400, "invalid", "\"create\""},
    {"{'update':[]}", 400, "invalid", "\"update\""},
    {"{'drop':{}}", 400, "invalid", "\"drop\""},
    {"{'drop':[1]}", 400, "invalid", "\"drop\""},
    {"{'drop':['x:y']}", 400, "invalid", "character"},
    {"{'create':{'stats':{}}}", 409, "exists", "\"stats\""},
    {"{'create':{'n':{}},'update':{'absent':{}}}", 404, "not_found", "\"absent\""},
    {"{'create':{'n':{}},'drop':['absent']}", 404, "not_found", "\"absent\""},
    {"{'create':{'n':{'gc':{'max_versions':0}}}}", 400, "invalid", "\"n\""},
    {"{'drop':['stats','stats']}", 404, "not_found", "\"stats\""},
};

START_TEST(a_change_that_cannot_be_changes_nothing)
{
    size_t n = (size_t)_i / HTTP_VERSIONS;
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    http_json_refused(w.http, "POST", "/v1/tables/devices:families", &CHANGES[n]);
    http_get(w.http, "/v1/tables/devices");
    ck_assert_uint_eq(http_count(w.http, "/families"), 2);
    ck_assert_int_eq(http_number(w.http, "/version"), 1);
}
END_TEST

START_TEST(families_need_a_table)
{
    world_init(&w, (enum http_version)_i);
    families("{'create':{'f':{}}}");
    EXPECT_PROBLEM(w.http, 404, "not_found");
}
END_TEST

Suite *suite_api_families(void);
Suite *suite_api_families(void)
{
    Suite *s = suite_create("api_families");
    TCase *tc = tcase_create("families");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, a_rule_comes_back_as_it_was_put, 0, HTTP_EACH(RULES));
    tcase_add_loop_test(tc, rules_hide_what_they_say, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, types_come_back_and_never_change, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, types_of_plain_values_come_back_and_change, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, documents_that_make_no_sense_are_refused, 0, HTTP_EACH(BAD));
    tcase_add_loop_test(tc, rules_are_limited_in_parts_and_bytes, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, notes_are_kept_until_they_are_changed, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_table_is_changed_only_as_it_was_seen, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, conditions_that_make_no_sense_are_refused, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, deletion_protection_refuses_three_things, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, families_are_created_updated_and_dropped_at_once, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_change_that_cannot_be_changes_nothing, 0, HTTP_EACH(CHANGES));
    tcase_add_loop_test(tc, families_need_a_table, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

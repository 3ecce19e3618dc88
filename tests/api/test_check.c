/*
 * tests/api/test_check.c - POST :check: one of two lists, by what the row is at that moment.
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

#define ROW "/v1/tables/devices/rows/"

#define SET(qualifier, value)                                                                      \
    "{'set_cell':{'family':'stats','qualifier':'" qualifier "','value':'" value                    \
    "','timestamp':'1000'}}"

static void check(const char *body, bool matched)
{
    http_json(w.http, "POST", body, ROW "k:check");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, ""), 2);
    ck_assert_uint_eq(strlen(http_string(w.http, "/timestamp")), 16);
    json_t *given = http_at(w.http, "/matched");
    ck_assert_msg(json_is_boolean(given) && json_is_true(given) == matched, "%s: %s", body,
                  http_text(w.http));
}

/* NULL: there is no such cell. */
static void expect_cell(const char *qualifier, const char *value)
{
    http_get(w.http, "/v1/tables/devices/cells/k/stats/%s", qualifier);
    if (value == NULL) {
        EXPECT_PROBLEM(w.http, 404, "not_found");
        return;
    }
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_text(w.http), value);
}

START_TEST(without_predicate_it_asks_for_the_row)
{
    world_init(&w, (enum http_version)_i);
    check("{'then':[" SET("then", "1") "],'else':[" SET("else", "1") "]}", false);
    expect_cell("then", NULL);
    expect_cell("else", "1");
    check("{'then':[" SET("then", "2") "],'else':[" SET("else", "2") "]}", true);
    expect_cell("then", "2");
    expect_cell("else", "1");
    check("{'predicate':null,'else':[" SET("else", "3") "]}", true);
    expect_cell("else", "1");
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(an_empty_list_means_do_nothing)
{
    world_init(&w, (enum http_version)_i);
    check("{'then':[" SET("q", "1") "]}", false);
    check("{'then':[" SET("q", "1") "],'else':[]}", false);
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
    check("{'else':[" SET("q", "1") "],'then':null}", false);
    expect_cell("q", "1");
    check("{'else':[{'delete_from_row':{}}]}", true);
    expect_cell("q", "1");
}
END_TEST

START_TEST(the_predicate_is_any_filter)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "state", "open");
    tenant_put(w.http, "devices", "k", "raw", "x", "1");
    static const struct {
        const char *filter;
        bool matches;
    } cases[] = {
        {"{'value_regex':'open'}", true},
        {"{'value_regex':'closed'}", false},
        {"{'family_name_regex':'raw'}", true},
        {"{'chain':[{'family_name_regex':'raw'},{'value_regex':'open'}]}", false},
        {"{'interleave':[{'family_name_regex':'raw'},{'value_regex':'closed'}]}", true},
        {"{'row_key_regex':'k'}", true},
        {"{'row_key_regex':'j'}", false},
        {"{'block_all':true}", false},
        {"{'pass_all':true}", true},
        {"{'column_range':{'family_name':'stats','start_qualifier_open':'state'}}", false},
        {"{'condition':{'predicate':{'value_regex':'1'},'true_filter':{'block_all':true},"
         "'false_filter':{'pass_all':true}}}",
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512], mark[32];
        (void)snprintf(mark, sizeof mark, "m%zu", i);
        (void)snprintf(body, sizeof body,
                       "{'predicate':%s,'then':[{'set_cell':{'family':'stats','qualifier':'%s',"
                       "'value':'yes'}}],'else':[{'set_cell':{'family':'stats','qualifier':'%s',"
                       "'value':'no'}}]}",
                       cases[i].filter, mark, mark);
        check(body, cases[i].matches);
        expect_cell(mark, cases[i].matches ? "yes" : "no");
        http_delete(w.http, "/v1/tables/devices/cells/k/stats/%s", mark);
    }
}
END_TEST

/* Compare and set: of many who saw the same value, one wins. */
START_TEST(of_many_at_once_one_wins)
{
    world_init(&w, HTTP_2);
    enum { RIVALS = 64 };
    static char bodies[RIVALS][256];
    struct http_call calls[RIVALS];
    tenant_put(w.http, "devices", "k", "stats", "owner", "nobody");
    for (int i = 0; i < RIVALS; i++) {
        int n = snprintf(bodies[i], sizeof bodies[i],
                         "{\"predicate\":{\"chain\":[{\"column_qualifier_regex\":\"owner\"},"
                         "{\"cells_per_column_limit\":1},{\"value_regex\":\"nobody\"}]},"
                         "\"then\":[{\"set_cell\":{\"family\":\"stats\",\"qualifier\":\"owner\","
                         "\"value\":\"%d\",\"timestamp\":\"9000000000000000\"}}]}",
                         i);
        calls[i] = (struct http_call){"POST", ROW "k:check", base_slice(bodies[i], (size_t)n), 0};
    }
    http_send_all(w.http, calls, RIVALS);
    for (int i = 0; i < RIVALS; i++)
        ck_assert_int_eq(calls[i].status, 200);
    http_get(w.http, ROW "k");
    ck_assert_uint_eq(http_count(w.http, "/cells/stats/owner"), 2);
    ck_assert_str_eq(http_string(w.http, "/cells/stats/owner/1/value"), "nobody");
}
END_TEST

static const struct refusal BAD[] = {
    {"{}", 400, "invalid", "then"},
    {"{'then':[],'else':[]}", 400, "invalid", "then"},
    {"{'predicate':{'pass_all':true}}", 400, "invalid", "then"},
    {"{'then':{}}", 400, "invalid", "then"},
    {"{'else':'x'}", 400, "invalid", "else"},
    {"{'then':[{'delete_from_row':{}}],'otherwise':[]}", 400, "invalid", "otherwise"},
    {"{'then':[{'delete_from_row':{}},{'burn':{}}]}", 400, "invalid",
     "then[1]: there is no mutation"},
    {"{'then':[{'delete_from_row':{}}],'else':[{'delete_from_family':{'family':'x'}}]}", 404,
     "not_found", "else[0]: the table has no family"},
    {"{'then':[{'delete_from_row':{}}],'predicate':[]}", 400, "invalid", ""},
    {"{'then':[{'delete_from_row':{}}],'predicate':{}}", 400, "invalid", ""},
    {"{'then':[{'delete_from_row':{}}],'predicate':{'nothing':1}}", 400, "invalid", "nothing"},
    {"{'then':[{'delete_from_row':{}}],'predicate':{'value_regex':'('}}", 400, "invalid", ""},
    {"{'then':[{'delete_from_row':{}}],'predicate':{'column_range':{'family_name':'x'}}}", 404,
     "not_found", "column_range"},
    {"{'then':[{'delete_from_row':{}}],'else':[{'set_cell':{'family':'stats','qualifier':'q',"
     "'value':'v','timestamp':'7'}}]}",
     400, "invalid", "1000"},
    {"{'then':[{'set_cell':{'family':'stats','qualifier':'q','value':'v','timestamp':'7'}}],"
     "'else':[{'delete_from_row':{}}]}",
     400, "invalid", "1000"},
    {"not json", 400, "invalid", ""},
};

START_TEST(is_refused_and_changes_nothing)
{
    size_t i = (size_t)_i / HTTP_VERSIONS;
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    tenant_put(w.http, "devices", "k", "stats", "q", "before");
    http_json_refused(w.http, "POST", ROW "k:check", &BAD[i]);
    expect_cell("q", "before");
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 1 + 6 + 8, 1, 1);
}
END_TEST

START_TEST(an_empty_key_and_a_missing_table_are_refused)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "POST", "{'then':[{'delete_from_row':{}}]}",
              "/v1/tables/nothere/rows/k:check");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    http_json(w.http, "POST", "{'else':[{'delete_from_row':{}}]}", ROW "%s:check", pct("\xff", 1));
    EXPECT_STATUS(w.http, 200);
    static char key[LIM_ROW_KEY + 1];
    memset(key, 'k', sizeof key);
    http_json(w.http, "POST", "{'else':[{'delete_from_row':{}}]}", ROW "%s:check",
              pct(key, sizeof key));
    EXPECT_PROBLEM(w.http, 413, "too_big");
}
END_TEST

START_TEST(a_full_quota_refuses_only_the_list_that_grows)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
    admin_set_quota(w.op, w.tenant, "{'stored_bytes':1}");
    http_json(w.http, "POST", "{'then':[" SET("more", "2") "]}", ROW "k:check");
    EXPECT_PROBLEM(w.http, 403, "quota");
    check("{'then':[{'delete_from_row':{}}],'else':[" SET("more", "2") "]}", true);
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

Suite *suite_api_check(void);
Suite *suite_api_check(void)
{
    Suite *s = suite_create("api_check");
    TCase *tc = tcase_create("check");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, without_predicate_it_asks_for_the_row, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, an_empty_list_means_do_nothing, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, the_predicate_is_any_filter, 0, HTTP_VERSIONS);
    tcase_add_test(tc, of_many_at_once_one_wins);
    tcase_add_loop_test(tc, is_refused_and_changes_nothing, 0, HTTP_EACH(BAD));
    tcase_add_loop_test(tc, an_empty_key_and_a_missing_table_are_refused, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_full_quota_refuses_only_the_list_that_grows, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

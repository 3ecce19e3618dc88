/*
 * tests/api/test_read.c - POST :read: any set of rows, through any filter; and the everyday columns
 * of GET.
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

#define READ "/v1/tables/devices:read"

/* Rows a0..a9, b0, c#1; each with three versions of stats:n and one of stats:os and raw:x. */
static void fill(void)
{
    static const char *const keys[] = {"a0", "a1", "a2", "a3", "a4", "a5",
                                       "a6", "a7", "a8", "a9", "b0", "c#1"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char json[512];
        (void)snprintf(json, sizeof(json),
                       "{'stats':{'n':[{'value':'new','timestamp':'3000'},"
                       "{'value':'mid','timestamp':'2000'},{'value':'old','timestamp':'1000'}],"
                       "'os':{'value':'os%zu','timestamp':'2000'}},"
                       "'raw':{'x':{'value':'%s','timestamp':'5000'}}}",
                       i % 3, keys[i]);
        http_json(w.http, "PUT", json, "/v1/tables/devices/rows/%s", pcts(keys[i]));
        EXPECT_STATUS(w.http, 201);
    }
}

static void begin(int version)
{
    world_init(&w, (enum http_version)version);
    fill();
}

static const struct {
    const char *body;
    const char *keys;
} ROW_SETS[] = {
    {"{}", "a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,b0,c#1,"},
    {"{'keys':[]}", ""},
    {"{'keys':['b0','a3','a3','nothing','c#1']}", "a3,b0,c#1,"},
    {"{'keys_b64':['YTE=']}", "a1,"},
    {"{'ranges':[{'prefix':'c#'},{'start':'a2','end':'a4'},{'start':'a3','end':'a5'}]}",
     "a2,a3,a4,c#1,"},
    {"{'ranges':[{'start_open':'a7','end_closed':'b0'}],'keys':['a7']}", "a7,a8,a9,b0,"},
    {"{'ranges':[{}]}", "a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,b0,c#1,"},
    {"{'order':'desc','ranges':[{'prefix':'a'}],'limit':3}", "a9,a8,a7,"},
    {"{'order':'asc','limit':2}", "a0,a1,"},
    {"{'filter':{'row_key_regex':'a[3-5]'}}", "a3,a4,a5,"},
    {"{'filter':{'value_regex':'os2'},'order':'desc'}", "c#1,a8,a5,a2,"},
    {"{'filter':{'condition':{'predicate':{'value_regex':'os1'},'true_filter':{'pass_all':true}}}}",
     "a1,a4,a7,b0,"},
    {"{'filter':{'chain':[{'family_name_regex':'stats'},{'value_regex':'a.'}]}}", ""},
};

START_TEST(row_sets_give_exactly_their_rows)
{
    begin(_i);
    for (size_t i = 0; i < sizeof(ROW_SETS) / sizeof(ROW_SETS[0]); i++) {
        http_json(w.http, "POST", ROW_SETS[i].body, READ);
        EXPECT_STATUS(w.http, 200);
        ck_assert_msg(strcmp(http_page_keys(w.http), ROW_SETS[i].keys) == 0, "%s gives %s",
                      ROW_SETS[i].body, http_page_keys(w.http));
    }
}
END_TEST

static const struct {
    const char *filter;
    const char *cells; /* of row a1 */
} FILTERS[] = {
    {"{'chain':[{'family_name_regex':'stats.*'},{'cells_per_column_limit':1}]}",
     "{'stats':{'n':[{'value':'new','timestamp':'3000'}],'os':[{'value':'os1','timestamp':'2000'}]}"
     "}"},
    {"{'column_qualifier_regex':'x'}", "{'raw':{'x':[{'value':'a1','timestamp':'5000'}]}}"},
    {"{'column_qualifier_regex_b64':'eA=='}", "{'raw':{'x':[{'value':'a1','timestamp':'5000'}]}}"},
    {"{'column_range':{'family_name':'stats','start_qualifier_open':'n'}}",
     "{'stats':{'os':[{'value':'os1','timestamp':'2000'}]}}"},
    {"{'timestamp_range':{'start_timestamp_micros':'1000','end_timestamp_micros':2000}}",
     "{'stats':{'n':[{'value':'old','timestamp':'1000'}]}}"},
    {"{'value_range':{'start_value_closed':'os','end_value_open':'p'}}",
     "{'stats':{'os':[{'value':'os1','timestamp':'2000'}]}}"},
    {"{'cells_per_row_limit':1}", "{'stats':{'n':[{'value':'new','timestamp':'3000'}]}}"},
    {"{'cells_per_row_offset_filter':4}", "{'raw':{'x':[{'value':'a1','timestamp':'5000'}]}}"},
    {"{'chain':{'filters':[{'cells_per_row_limit_filter':1},{'strip_value_transformer':true}]}}",
     "{'stats':{'n':[{'value':'','timestamp':'3000'}]}}"},
    {"{'chain':[{'family_name_regex':'raw'},{'apply_label':'mine'}]}",
     "{'raw':{'x':[{'value':'a1','timestamp':'5000','label':'mine'}]}}"},
    {"{'interleave':[{'family_name_regex':'raw'},{'chain':[{'column_qualifier_regex':'x'},"
     "{'apply_label':'again'}]}]}",
     "{'raw':{'x':[{'value':'a1','timestamp':'5000'},"
     "{'value':'a1','timestamp':'5000','label':'again'}]}}"},
    {"{'value_bitmask':{'mask_b64':'YTE='}}", "{'raw':{'x':[{'value':'a1','timestamp':'5000'}]}}"},
    {"{'chain':[{'family_name_regex':'raw'},{'sink':true},{'block_all':true}]}",
     "{'raw':{'x':[{'value':'a1','timestamp':'5000'}]}}"},
    {"{'condition':{'predicate':{'value_regex':'nothing'},'true_filter':{'pass_all':true},"
     "'false_filter':{'family_name_regex':'raw'}}}",
     "{'raw':{'x':[{'value':'a1','timestamp':'5000'}]}}"},
};

START_TEST(filters_give_exactly_their_cells)
{
    begin(_i);
    for (size_t i = 0; i < sizeof(FILTERS) / sizeof(FILTERS[0]); i++) {
        char body[512], wanted[512];
        (void)snprintf(body, sizeof(body), "{'keys':['a1'],'filter':%s}", FILTERS[i].filter);
        (void)snprintf(wanted, sizeof(wanted), "{'rows':[{'key':'a1','cells':%s}]}",
                       FILTERS[i].cells);
        http_json(w.http, "POST", body, READ);
        EXPECT_STATUS(w.http, 200);
        EXPECT_JSON(w.http, wanted);
    }
}
END_TEST

static const struct {
    const char *query;
    const char *cells;
} COLUMNS[] = {
    {"?family=raw", "{'raw':{'x':[{'value':'a1','timestamp':'5000'}]}}"},
    {"?family=stats&column=os", "{'stats':{'os':[{'value':'os1','timestamp':'2000'}]}}"},
    {"?family=stats&column=n&versions=2",
     "{'stats':{'n':[{'value':'new','timestamp':'3000'},{'value':'mid','timestamp':'2000'}]}}"},
    {"?since=2000&until=3000", "{'stats':{'n':[{'value':'mid','timestamp':'2000'}],"
                               "'os':[{'value':'os1','timestamp':'2000'}]}}"},
    {"?until=3000&versions=1&column=n&family=stats",
     "{'stats':{'n':[{'value':'mid','timestamp':'2000'}]}}"},
};

START_TEST(everyday_columns_of_one_row_and_of_many)
{
    begin(_i);
    for (size_t i = 0; i < sizeof(COLUMNS) / sizeof(COLUMNS[0]); i++) {
        char wanted[512];
        http_get(w.http, "/v1/tables/devices/rows/a1%s", COLUMNS[i].query);
        EXPECT_STATUS(w.http, 200);
        (void)snprintf(wanted, sizeof(wanted), "{'key':'a1','cells':%s}", COLUMNS[i].cells);
        EXPECT_JSON(w.http, wanted);
        http_get(w.http, "/v1/tables/devices/rows%s&prefix=a1", COLUMNS[i].query);
        EXPECT_STATUS(w.http, 200);
        (void)snprintf(wanted, sizeof(wanted), "{'rows':[{'key':'a1','cells':%s}]}",
                       COLUMNS[i].cells);
        EXPECT_JSON(w.http, wanted);
    }
    http_get(w.http, "/v1/tables/devices/rows/a1?family=stats&column=none");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    http_get(w.http, "/v1/tables/devices/rows?order=desc&limit=2&family=raw");
    ck_assert_str_eq(http_page_keys(w.http), "c#1,b0,");
}
END_TEST

/* Follows tokens to the end. */
static void collect_pages(const char *fields, char *out, size_t size)
{
    char token[8192] = "";
    size_t n = 0;
    out[0] = '\0';
    do {
        char body[9216];
        (void)snprintf(body, sizeof(body), "{%s,'limit':2%s%s%s}", fields,
                       token[0] == '\0' ? "" : ",'page_token':'", token,
                       token[0] == '\0' ? "" : "'");
        http_json(w.http, "POST", body, READ);
        EXPECT_STATUS(w.http, 200);
        n += (size_t)snprintf(out + n, size - n, "%s", http_page_keys(w.http));
        ck_assert(n < size);
        const json_t *next = http_at(w.http, "/next_page_token");
        (void)snprintf(token, sizeof(token), "%s", next == NULL ? "" : json_string_value(next));
    } while (token[0] != '\0');
}

START_TEST(pages_follow_each_other_in_both_directions)
{
    char keys[1024];
    begin(_i);
    collect_pages("'ranges':[{'prefix':'a'},{'prefix':'c'}],'order':'asc'", keys, sizeof(keys));
    ck_assert_str_eq(keys, "a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,c#1,");
    collect_pages("'ranges':[{'prefix':'a'},{'prefix':'c'}],'order':'desc'", keys, sizeof(keys));
    ck_assert_str_eq(keys, "c#1,a9,a8,a7,a6,a5,a4,a3,a2,a1,a0,");
    collect_pages("'filter':{'value_regex':'os0'}", keys, sizeof(keys));
    ck_assert_str_eq(keys, "a0,a3,a6,a9,");
    collect_pages("'keys':['a9','a1','a5']", keys, sizeof(keys));
    ck_assert_str_eq(keys, "a1,a5,a9,");
}
END_TEST

START_TEST(a_token_belongs_to_its_read)
{
    char token[4096], body[8192];
    begin(_i);
    http_json(w.http, "POST", "{'limit':2,'order':'asc'}", READ);
    (void)snprintf(token, sizeof(token), "%s", http_string(w.http, "/next_page_token"));
    static const char *const others[] = {"'limit':2,'order':'desc'", "'limit':2",
                                         "'limit':3,'order':'asc'",
                                         "'limit':2,'order':'asc','keys':['a1']"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        (void)snprintf(body, sizeof(body), "{%s,'page_token':'%s'}", others[i], token);
        http_json(w.http, "POST", body, READ);
        EXPECT_PROBLEM(w.http, 400, "invalid");
    }
    http_get(w.http, "/v1/tables/devices/rows?limit=2&page_token=%s", token);
    EXPECT_PROBLEM(w.http, 400, "invalid");
    (void)snprintf(body, sizeof(body), "{'order':'asc','page_token':'%s','limit':2}", token);
    http_json(w.http, "POST", body, READ);
    ck_assert_str_eq(http_page_keys(w.http), "a2,a3,");
}
END_TEST

START_TEST(stats_tell_what_the_read_went_through)
{
    begin(_i);
    http_json(w.http, "POST",
              "{'ranges':[{'prefix':'a'}],'filter':{'value_regex':'os0'},'stats':true}", READ);
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(http_number(w.http, "/stats/rows_seen"), 10);
    ck_assert_int_eq(http_number(w.http, "/stats/rows_returned"), 4);
    ck_assert_int_eq(http_number(w.http, "/stats/cells_returned"), 4);
    ck_assert_int_eq(http_number(w.http, "/stats/cells_seen"), 50);
    http_once(w.http, "Accept: application/x-ndjson");
    http_json(w.http, "POST", "{'ranges':[{'prefix':'a'}],'stats':true}", READ);
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_lines(w.http), 11);
    json_t *last = http_line_new(w.http, 10);
    ck_assert_int_eq(json_integer_value(json_at(last, "/stats/rows_returned")), 10);
    json_decref(last);
}
END_TEST

static const char *const BAD_BODIES[] = {
    "{'keys':'a'}",
    "{'keys':[1]}",
    "{'keys':['']}",
    "{'keys_b64':['***']}",
    "{'ranges':{}}",
    "{'ranges':['a']}",
    "{'ranges':[{'start':'b','end':'a'}]}",
    "{'ranges':[{'start':'b','end':'b'}]}",
    "{'ranges':[{'start':'a','start_open':'a'}]}",
    "{'ranges':[{'start':'a','start_b64':'YQ=='}]}",
    "{'ranges':[{'prefix':'a','end':'b'}]}",
    "{'ranges':[{'begin':'a'}]}",
    "{'order':'up'}",
    "{'order':1}",
    "{'limit':0}",
    "{'limit':10001}",
    "{'limit':-1}",
    "{'limit':'1'}",
    "{'stats':1}",
    "{'page_token':1}",
    "{'page_token':'x'}",
    "{'rows':[]}",
    "{'filter':[]}",
    "{'filter':{}}",
    "{'filter':{'pass_all':true,'sink':true}}",
    "{'filter':{'pass_all':false}}",
    "{'filter':{'unknown':true}}",
    "{'filter':{'pass_all_b64':true}}",
    "{'filter':{'chain':[{'pass_all':true}]}}",
    "{'filter':{'chain':[]}}",
    "{'filter':{'chain':'x'}}",
    "{'filter':{'interleave':[{'pass_all':true},1]}}",
    "{'filter':{'condition':{'true_filter':{'pass_all':true}}}}",
    "{'filter':{'condition':{'predicate':{'pass_all':true},'then':1}}}",
    "{'filter':{'condition':{'predicate':{'sink':true}}}}",
    "{'filter':{'row_key_regex':'('}}",
    "{'filter':{'row_key_regex':''}}",
    "{'filter':{'row_key_regex_b64':''}}",
    "{'filter':{'row_key_regex':1}}",
    "{'filter':{'family_name_regex':'a:b'}}",
    "{'filter':{'row_sample':1}}",
    "{'filter':{'row_sample':0}}",
    "{'filter':{'row_sample':'x'}}",
    "{'filter':{'cells_per_row_limit':0}}",
    "{'filter':{'cells_per_row_limit':-1}}",
    "{'filter':{'cells_per_column_limit':1.5}}",
    "{'filter':{'timestamp_range':{'start_timestamp_micros':'2000','end_timestamp_micros':'1000'}}"
    "}",
    "{'filter':{'timestamp_range':{'start':'2000'}}}",
    "{'filter':{'value_range':{'start_value_closed':'a','start_value_open':'a'}}}",
    "{'filter':{'column_range':{'start_qualifier_closed':'a'}}}",
    "{'filter':{'value_bitmask':'a'}}",
    "{'filter':{'apply_label':'Not A Label'}}",
    "{'filter':{'chain':[{'apply_label':'a'},{'apply_label':'b'}]}}",
};

START_TEST(bad_reads_are_refused_with_a_reason)
{
    begin(_i);
    for (size_t i = 0; i < sizeof(BAD_BODIES) / sizeof(BAD_BODIES[0]); i++) {
        http_json(w.http, "POST", BAD_BODIES[i], READ);
        EXPECT_PROBLEM_OF(w.http, BAD_BODIES[i], 400, "invalid");
    }
    http_json(w.http, "POST", "{'filter':{'column_range':{'family_name':'none'}}}", READ);
    EXPECT_PROBLEM(w.http, 404, "not_found");
    http_json(w.http, "POST", "{}", "/v1/tables/nothing:read");
    EXPECT_PROBLEM(w.http, 404, "not_found");
}
END_TEST

static const char *const BAD_QUERIES[] = {
    "column=n",        "family=stats&versions=0", "versions=x",    "since=-1",
    "since=2&until=1", "since=1&until=1",         "until=1.5",     "family=",
    "family=a%00b",    "order=sideways",          "stats=perhaps",
};

START_TEST(bad_columns_are_refused_with_a_reason)
{
    begin(_i);
    for (size_t i = 0; i < sizeof(BAD_QUERIES) / sizeof(BAD_QUERIES[0]); i++) {
        http_get(w.http, "/v1/tables/devices/rows?%s", BAD_QUERIES[i]);
        ck_assert_msg(w.http->status == 400 || w.http->status == 404, "%s: %d %s", BAD_QUERIES[i],
                      w.http->status, http_text(w.http));
    }
}
END_TEST

START_TEST(deep_filters_are_refused_at_the_limit)
{
    begin(_i);
    for (int depth = LIM_FILTER_DEPTH; depth <= LIM_FILTER_DEPTH + 1; depth++) {
        char body[4096];
        size_t n = (size_t)snprintf(body, sizeof(body), "{'keys':['a1'],'filter':");
        for (int i = 1; i < depth; i++)
            n += (size_t)snprintf(body + n, sizeof(body) - n, "{'chain':[{'pass_all':true},");
        n += (size_t)snprintf(body + n, sizeof(body) - n, "{'pass_all':true}");
        for (int i = 1; i < depth; i++)
            n += (size_t)snprintf(body + n, sizeof(body) - n, "]}");
        (void)snprintf(body + n, sizeof(body) - n, "}");
        http_json(w.http, "POST", body, READ);
        if (depth <= LIM_FILTER_DEPTH)
            EXPECT_STATUS(w.http, 200);
        else
            EXPECT_PROBLEM(w.http, 400, "invalid");
    }
}
END_TEST

START_TEST(samples_divide_a_table)
{
    begin(_i);
    http_get(w.http, "/v1/tables/devices:samples?bytes=1");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, "/samples"), 12);
    ck_assert_str_eq(http_string(w.http, "/samples/0/key"), "a1");
    ck_assert_str_eq(http_string(w.http, "/samples/10/key"), "c#1");
    ck_assert_str_eq(http_string(w.http, "/samples/11/key"), "");
    int64_t before = 0;
    for (size_t i = 0; i < 12; i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "/samples/%zu/offset_bytes", i);
        ck_assert_int_gt(http_number(w.http, path), before);
        before = http_number(w.http, path);
    }
    struct usage u = tenant_usage(w.http);
    ck_assert_int_eq(before, u.bytes);
    http_get(w.http, "/v1/tables/devices:samples");
    ck_assert_uint_eq(http_count(w.http, "/samples"), 1);
    http_get(w.http, "/v1/tables/devices:samples?bytes=0");
    EXPECT_PROBLEM(w.http, 400, "invalid");
}
END_TEST

START_TEST(a_dry_run_counts_and_changes_nothing)
{
    begin(_i);
    struct usage before = tenant_usage(w.http);
    http_json(w.http, "POST", "{'prefix':'a','dry_run':true}", "/v1/tables/devices:drop");
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(http_number(w.http, "/would_remove/rows"), 10);
    ck_assert_int_eq(http_number(w.http, "/would_remove/cells"), 50);
    int64_t bytes = http_number(w.http, "/would_remove/stored_bytes");
    EXPECT_USAGE(tenant_usage(w.http), before.bytes, before.rows, before.cells);
    http_json(w.http, "POST", "{'all':true,'dry_run':true}", "/v1/tables/devices:drop");
    ck_assert_int_eq(http_number(w.http, "/would_remove/rows"), 12);
    http_json(w.http, "POST", "{'prefix':'a'}", "/v1/tables/devices:drop");
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(http_number(w.http, "/removed/stored_bytes"), bytes);
    ck_assert_int_eq(http_number(w.http, "/removed/rows"), 10);
    http_json(w.http, "POST", "{'prefix':'a','dry_run':true}", "/v1/tables/devices:drop");
    ck_assert_int_eq(http_number(w.http, "/would_remove/rows"), 0);
}
END_TEST

Suite *suite_api_read(void);

Suite *suite_api_read(void)
{
    Suite *s = suite_create("api_read");
    TCase *tc = tcase_create("read");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, row_sets_give_exactly_their_rows, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, filters_give_exactly_their_cells, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, everyday_columns_of_one_row_and_of_many, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, pages_follow_each_other_in_both_directions, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_token_belongs_to_its_read, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, stats_tell_what_the_read_went_through, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, bad_reads_are_refused_with_a_reason, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, bad_columns_are_refused_with_a_reason, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, deep_filters_are_refused_at_the_limit, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, samples_divide_a_table, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_dry_run_counts_and_changes_nothing, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

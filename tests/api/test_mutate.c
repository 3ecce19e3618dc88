/*
 * tests/api/test_mutate.c - POST :mutate: every mutation there is, in order, all or nothing.
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

static int mutate(const char *key, const char *list)
{
    char body[2048];
    (void)snprintf(body, sizeof body, "{'mutations':[%s]}", list);
    return http_json(w.http, "POST", body, ROW "%s:mutate", pcts(key));
}

#define SET(family, qualifier, value, time)                                                        \
    "{'set_cell':{'family':'" family "','qualifier':'" qualifier "','value':'" value               \
    "','timestamp':'" time "'}}"

START_TEST(set_cell_writes_text_bytes_and_the_servers_time)
{
    world_init(&w, (enum http_version)_i);
    mutate("k",
           SET("stats", "a", "1",
               "1000") ","
                       "{'set_cell':{'family':'stats','qualifier_b64':'/w==','value_b64':'AP8=',"
                       "'timestamp':'2000'}},"
                       "{'set_cell':{'family':'raw','qualifier':'','value':''}}");
    EXPECT_STATUS(w.http, 201);
    char timestamp[32];
    (void)snprintf(timestamp, sizeof timestamp, "%s", http_string(w.http, "/timestamp"));
    ck_assert_uint_eq(http_count(w.http, ""), 1);
    http_get(w.http, ROW "k");
    char expected[400];
    (void)snprintf(expected, sizeof expected,
                   "{'key':'k','cells':{'stats':{'a':[{'value':'1','timestamp':'1000'}]},"
                   "'raw':{'':[{'value':'','timestamp':'%s'}]},"
                   "'$binary':[{'family':'stats','qualifier_b64':'/w==','value_b64':'AP8=',"
                   "'timestamp':'2000'}]}}",
                   timestamp);
    EXPECT_JSON(w.http, expected);
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(mutations_happen_in_their_order)
{
    world_init(&w, (enum http_version)_i);
    mutate("k", SET("stats", "a", "1", "1000") ",{'delete_from_row':{}}," SET(
                    "stats", "b", "2", "2000") "," SET("stats", "b", "3", "2000"));
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, ROW "k");
    EXPECT_JSON(w.http, "{'key':'k','cells':{'stats':{'b':[{'value':'3','timestamp':'2000'}]}}}");
    mutate("k", SET("stats", "c", "4", "0") ",{'delete_from_family':{'family':'stats'}}");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, ROW "k");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
    mutate("k", SET("stats", "c", "4", "0") ",{'delete_from_row':{}}"); /* leaves no row */
    EXPECT_STATUS(w.http, 200);
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

START_TEST(delete_from_column_takes_a_range_of_time)
{
    world_init(&w, (enum http_version)_i);
    mutate("k", SET("stats", "q", "1", "1000") "," SET("stats", "q", "2", "2000") "," SET(
                    "stats", "q", "3", "3000") "," SET("stats", "r", "4", "2000"));
    EXPECT_STATUS(w.http, 201);
    mutate("k", "{'delete_from_column':{'family':'stats','qualifier':'q','start':'2000',"
                "'end':'3000'}}");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, ROW "k");
    EXPECT_JSON(w.http, "{'key':'k','cells':{'stats':{'q':[{'value':'3','timestamp':'3000'},"
                        "{'value':'1','timestamp':'1000'}],"
                        "'r':[{'value':'4','timestamp':'2000'}]}}}");
    mutate("k", "{'delete_from_column':{'family':'stats','qualifier':'q','start':'3000'}}");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, "/v1/tables/devices/cells/k/stats/q");
    ck_assert_str_eq(http_text(w.http), "1");
    mutate("k", "{'delete_from_column':{'family':'stats','qualifier_b64':'cQ=='}}");
    http_get(w.http, "/v1/tables/devices/cells/k/stats/q");
    EXPECT_PROBLEM(w.http, 404, "not_found");
}
END_TEST

START_TEST(a_key_may_end_like_a_verb)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "a:check", "stats", "q", "1"); /* percent-encoded */
    http_json(w.http, "PATCH", "{'stats':{'q':{'value':'2','timestamp':'9000000000000000'}}}",
              ROW "a:check"); /* as it is */
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, ROW "a:check");
    ck_assert_str_eq(http_string(w.http, "/key"), "a:check");
    ck_assert_uint_eq(http_count(w.http, "/cells/stats/q"), 2);
    mutate("a:check", "{'delete_from_row':{}}");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, ROW "a:check");
    EXPECT_PROBLEM(w.http, 404, "not_found");
}
END_TEST

/* --- refusals --------------------------------------------------------------------------------- */

static const struct refusal BAD[] = {
    {"{}", 400, "invalid", "mutations"},
    {"[]", 400, "invalid", "object"},
    {"{'mutations':[]}", 400, "invalid", "mutations"},
    {"{'mutations':null}", 400, "invalid", "mutations"},
    {"{'mutations':{}}", 400, "invalid", "list"},
    {"{'mutations':[{'delete_from_row':{}}],'more':1}", 400, "invalid", "more"},
    {"{'mutations':[1]}", 400, "invalid", "mutations[0]: "},
    {"{'mutations':[{}]}", 400, "invalid", "mutations[0]: "},
    {"{'mutations':[{'delete_from_row':{},'set_cell':{}}]}", 400, "invalid", "one member"},
    {"{'mutations':[{'delete_from_row':{}},{'burn':{}}]}", 400, "invalid", "mutations[1]: "},
    {"{'mutations':[{'delete_from_row':{}},{'burn':{}}]}", 400, "invalid", "burn"},
    {"{'mutations':[{'delete_from_row':[]}]}", 400, "invalid", "delete_from_row"},
    {"{'mutations':[{'delete_from_row':{'family':'stats'}}]}", 400, "invalid", "family"},
    {"{'mutations':[{'delete_from_family':{}}]}", 400, "invalid", "family"},
    {"{'mutations':[{'delete_from_family':{'family':1}}]}", 400, "invalid", "family"},
    {"{'mutations':[{'delete_from_family':{'family':'x'}}]}", 404, "not_found", "\"x\""},
    {"{'mutations':[{'set_cell':{'qualifier':'q','value':'v'}}]}", 400, "invalid", "family"},
    {"{'mutations':[{'set_cell':{'family':'stats','value':'v'}}]}", 400, "invalid", "qualifier"},
    {"{'mutations':[{'set_cell':{'family':'stats','qualifier':'q'}}]}", 400, "invalid", "value"},
    {"{'mutations':[{'set_cell':{'family':'stats','qualifier':'q','value':5}}]}", 400, "invalid",
     "value"},
    {"{'mutations':[{'set_cell':{'family':'stats','qualifier':'q','value':'v','value_b64':''}}]}",
     400, "invalid", "not both"},
    {"{'mutations':[{'set_cell':{'family':'stats','qualifier':'q','qualifier_b64':'cQ==',"
     "'value':'v'}}]}",
     400, "invalid", "not both"},
    {"{'mutations':[{'set_cell':{'family':'stats','qualifier':'q','value_b64':'?'}}]}", 400,
     "invalid", "base64"},
    {"{'mutations':[{'set_cell':{'family':'stats','qualifier':'q','value':'v','timestamp':5}}]}",
     400, "invalid", "timestamp"},
    {"{'mutations':[{'set_cell':{'family':'stats','qualifier':'q','value':'v','timestamp':'-1'}}]}",
     400, "invalid", "timestamp"},
    {"{'mutations':[{'set_cell':{'family':'stats','qualifier':'q','value':'v','timestamp':'5'}}]}",
     400, "invalid", "1000"},
    {"{'mutations':[{'set_cell':{'family':'stats','qualifier':'q','value':'v','input':1}}]}", 400,
     "invalid", "input"},
    {"{'mutations':[{'delete_from_column':{'family':'stats','qualifier':'q','start':'2000',"
     "'end':'1000'}}]}",
     400, "invalid", "range"},
    {"{'mutations':[{'delete_from_column':{'family':'stats','qualifier':'q','end':7}}]}", 400,
     "invalid", "end"},
    {"{'mutations':[{'delete_from_column':{'family':'stats'}}]}", 400, "invalid", "qualifier"},
    {"{'mutations':[{'add_to_cell':{'family':'stats','qualifier':'q','input':1}}]}", 400, "invalid",
     "plain"},
    {"{'mutations':[{'merge_to_cell':{'family':'stats','qualifier':'q',"
     "'state_b64':'AAAAAAAAAAE='}}]}",
     400, "invalid", "plain"},
    {"{'mutations':[{'append':{'family':'stats','qualifier':'q','value':'v'}}]}", 400, "invalid",
     "append"},
    {"{'mutations':[{'set_cell':{'family':'stats','family':'raw'}}]}", 400, "invalid", "twice"},
};

START_TEST(is_refused_and_changes_nothing)
{
    size_t i = (size_t)_i / HTTP_VERSIONS;
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    tenant_put(w.http, "devices", "k", "stats", "q", "before");
    http_json_refused(w.http, "POST", ROW "k:mutate", &BAD[i]);
    http_get(w.http, "/v1/tables/devices/cells/k/stats/q");
    ck_assert_str_eq(http_text(w.http), "before");
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 1 + 6 + 8, 1, 1);
}
END_TEST

START_TEST(one_bad_mutation_spoils_the_list)
{
    world_init(&w, (enum http_version)_i);
    mutate("k", SET("stats", "a", "1", "1000") "," SET("nothere", "b", "2", "2000"));
    EXPECT_PROBLEM(w.http, 404, "not_found");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "mutations[1]: "));
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

static void send_many(size_t count)
{
    struct buf b;
    base_buf_init(&b, LIM_BODY_BYTES);
    ck_assert_int_eq(base_buf_append_text(&b, "{\"mutations\":["), ERR_OK);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(base_buf_printf(&b, "%s{\"delete_from_row\":{}}", i == 0 ? "" : ","),
                         ERR_OK);
    ck_assert_int_eq(base_buf_append_text(&b, "]}"), ERR_OK);
    http_bytes(w.http, "POST", base_buf_slice(&b), ROW "k:mutate");
    base_buf_fini(&b);
}

START_TEST(a_hundred_thousand_mutations_and_not_one_more)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "before");
    send_many(LIM_MUTATIONS_PER_ROW + 1);
    EXPECT_PROBLEM(w.http, 413, "too_big");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "100000"));
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 1 + 6 + 8, 1, 1);
    send_many(LIM_MUTATIONS_PER_ROW);
    EXPECT_STATUS(w.http, 200);
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

START_TEST(a_qualifier_over_the_limit_is_413)
{
    world_init(&w, (enum http_version)_i);
    static char name[LIM_QUALIFIER + 2];
    memset(name, 'q', sizeof name - 1);
    for (int over = 1; over >= 0; over--) {
        name[LIM_QUALIFIER + over] = '\0';
        http_value_take(w.http, "POST",
                        json_pack("{s:[{s:{s:s,s:s,s:s}}]}", "mutations", "set_cell", "family",
                                  "stats", "qualifier", name, "value", "v"),
                        ROW "k:mutate");
        if (over)
            EXPECT_PROBLEM(w.http, 413, "too_big");
    }
    EXPECT_STATUS(w.http, 201);
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 16384 + 1 + 8, 1, 1);
}
END_TEST

START_TEST(a_missing_table_is_404_and_an_empty_body_400)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "POST", "{'mutations':[{'delete_from_row':{}}]}",
              "/v1/tables/nothere/rows/k:mutate");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    http_json(w.http, "POST", "", ROW "k:mutate");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_json(w.http, "POST", "{'mutations':[{'delete_from_row':{}}]}", ROW "k:mutate?x=1");
    EXPECT_PROBLEM(w.http, 400, "invalid");
}
END_TEST

START_TEST(a_bulk_line_may_hold_mutations)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "gone", "stats", "q", "1");
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_bytes(w.http, "POST",
               quoted("{'key':'a','mutations':[" SET(
                   "stats", "q", "1",
                   "1000") "]}\n"
                           "{'mutations':[{'delete_from_row':{}}],'key_b64':'Z29uZQ=='}\n"
                           "{'key':'b','mutations':[]}\n"
                           "{'key':'b','mutations':[{'burn':{}}]}\n"
                           "{'key':'b','op':'put','mutations':[{'delete_from_row':{}}]}\n"
                           "{'key':'b','cells':{'stats':{'q':'1'}},'mutations':[]}\n"
                           "{'mutations':[{'delete_from_row':{}}]}\n"
                           "{'key':'b','mutations':[" SET(
                               "nothere", "q", "1",
                               "1000") "]}\n"
                                       "{'key':'b','mutations':[{'delete_from_row':{}}\n"
                                       "{'key':'b','cells':{'stats':{'q':'1'}}}\n"),
               "/v1/tables/devices:write");
    static const int wanted[] = {200, 200, 400, 400, 400, 400, 400, 404, 400, 200};
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_lines(w.http), 11);
    for (size_t i = 0; i < 10; i++) {
        json_t *line = http_line_new(w.http, i);
        ck_assert_msg(json_integer_value(json_at(line, "/status")) == wanted[i], "line %zu: %s",
                      i + 1, http_text(w.http));
        json_decref(line);
    }
    EXPECT_USAGE(tenant_usage(w.http), 2 * (1 + 5 + 1 + 1 + 8), 2, 2);
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

/* A body over a slice goes through the helper thread. */
START_TEST(a_large_list_is_read_beside_the_loop)
{
    world_init(&w, (enum http_version)_i);
    struct buf b;
    base_buf_init(&b, LIM_BODY_BYTES);
    ck_assert_int_eq(base_buf_append_text(&b, "{\"mutations\":["), ERR_OK);
    for (int i = 0; i < 8000; i++)
        ck_assert_int_eq(base_buf_printf(&b,
                                         "%s{\"set_cell\":{\"family\":\"stats\",\"qualifier\":"
                                         "\"%05d\",\"value\":\"v\"}}",
                                         i == 0 ? "" : ",", i),
                         ERR_OK);
    ck_assert_int_eq(base_buf_append_text(&b, "]}"), ERR_OK);
    http_bytes(w.http, "POST", base_buf_slice(&b), ROW "k:mutate");
    base_buf_fini(&b);
    EXPECT_STATUS(w.http, 201);
    EXPECT_USAGE(tenant_usage(w.http), 8000 * (1 + 5 + 5 + 1 + 8), 1, 8000);
}
END_TEST

Suite *suite_api_mutate(void);
Suite *suite_api_mutate(void)
{
    Suite *s = suite_create("api_mutate");
    TCase *tc = tcase_create("mutate");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, set_cell_writes_text_bytes_and_the_servers_time, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, mutations_happen_in_their_order, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, delete_from_column_takes_a_range_of_time, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_key_may_end_like_a_verb, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, is_refused_and_changes_nothing, 0, HTTP_EACH(BAD));
    tcase_add_loop_test(tc, one_bad_mutation_spoils_the_list, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_hundred_thousand_mutations_and_not_one_more, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_qualifier_over_the_limit_is_413, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_missing_table_is_404_and_an_empty_body_400, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_bulk_line_may_hold_mutations, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_large_list_is_read_beside_the_loop, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

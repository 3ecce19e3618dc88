/*
 * tests/api/test_aggregates.c - cells that are added to: sum, min, max, number of distinct inputs.
 */
#include <check.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "tests/support/random.h"
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
    http_json(w.http, "PUT",
              "{'families':{'hits':{'type':'sum'},'low':{'type':'min'},'high':{'type':'max'},"
              "'who':{'type':'hll'},'stats':{}}}",
              T);
    EXPECT_STATUS(w.http, 201);
}

static int mutate(const char *list)
{
    char body[2048];
    (void)snprintf(body, sizeof body, "{'mutations':[%s]}", list);
    return http_json(w.http, "POST", body, ROW "k:mutate");
}

static int64_t number_at(const char *family, const char *qualifier)
{
    uint64_t bytes = 0;
    http_get(w.http, T "/cells/k/%s/%s", family, qualifier);
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(w.http->body.len, sizeof bytes);
    memcpy(&bytes, w.http->body.ptr, sizeof bytes);
    return (int64_t)be64toh(bytes);
}

START_TEST(a_number_in_a_row_body_is_added)
{
    begin(_i);
    http_json(w.http, "PATCH", "{'hits':{'page1':1,'page2':-3},'low':{'t':4},'high':{'t':4}}",
              ROW "k");
    EXPECT_STATUS(w.http, 201);
    http_json(w.http, "PATCH", "{'hits':{'page1':[1,2,{'input':10}]},'low':{'t':7},'high':{'t':7}}",
              ROW "k");
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(number_at("hits", "page1"), 14);
    ck_assert_int_eq(number_at("hits", "page2"), -3);
    ck_assert_int_eq(number_at("low", "t"), 4);
    ck_assert_int_eq(number_at("high", "t"), 7);
    EXPECT_USAGE(tenant_usage(w.http),
                 2 * (1 + 4 + 5 + 8 + 8) + (1 + 3 + 1 + 8 + 8) + (1 + 4 + 1 + 8 + 8), 1, 4);
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(reads_show_numbers_and_states)
{
    begin(_i);
    http_json(w.http, "PATCH",
              "{'hits':{'q':-5},'high':{'q':9223372036854775807},'who':{'q':['ann','bob','ann']},"
              "'$binary':[{'family':'low','qualifier_b64':'/w==','input':1}]}",
              ROW "k");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, ROW "k");
    ck_assert_int_eq(http_number(w.http, "/cells/hits/q/0/number"), -5);
    ck_assert_str_eq(http_string(w.http, "/cells/hits/q/0/value_b64"), "//////////s=");
    ck_assert_int_eq(http_number(w.http, "/cells/high/q/0/number"), INT64_MAX);
    ck_assert_int_eq(http_number(w.http, "/cells/who/q/0/estimate"), 2);
    ck_assert_int_eq(http_number(w.http, "/cells/$binary/0/number"), 1);
    ck_assert_str_eq(http_string(w.http, "/cells/$binary/0/value_b64"), "AAAAAAAAAAE=");
    http_json(w.http, "POST", "{'filter':{'strip_value':true}}", T ":read");
    ck_assert_str_eq(http_string(w.http, "/rows/0/cells/hits/q/0/value"), "");
    ck_assert_ptr_null(http_at(w.http, "/rows/0/cells/hits/q/0/number"));
}
END_TEST

START_TEST(without_a_timestamp_all_add_to_one_cell)
{
    begin(_i);
    http_json(w.http, "PATCH", "{'hits':{'q':{'input':1,'timestamp':'1000'}}}", ROW "k");
    http_json(w.http, "PATCH", "{'hits':{'q':1}}", ROW "k");
    http_json(w.http, "PATCH", "{'hits':{'q':1}}", ROW "k");
    mutate("{'add_to_cell':{'family':'hits','qualifier':'q','input':1}}");
    mutate("{'add_to_cell':{'family':'hits','qualifier':'q','input':5,'timestamp':'1000'}}");
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(number_at("hits", "q"), 6); /* the newest cell */
    http_get(w.http, ROW "k");
    ck_assert_uint_eq(http_count(w.http, "/cells/hits/q"), 2);
    ck_assert_str_eq(http_string(w.http, "/cells/hits/q/0/timestamp"), "1000");
    ck_assert_str_eq(http_string(w.http, "/cells/hits/q/1/timestamp"), "0");
    http_json(w.http, "POST",
              "{'mutations':[{'delete_from_column':{'family':'hits','qualifier':'q',"
              "'start':'1000'}}]}",
              ROW "k:mutate");
    ck_assert_int_eq(number_at("hits", "q"), 3);
}
END_TEST

START_TEST(put_begins_anew)
{
    begin(_i);
    http_json(w.http, "PUT", "{'hits':{'q':5}}", ROW "k");
    EXPECT_STATUS(w.http, 201);
    http_json(w.http, "PUT", "{'hits':{'q':7}}", ROW "k");
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(number_at("hits", "q"), 7);
    http_json(w.http, "PATCH", "{'hits':{'q':null}}", ROW "k");
    EXPECT_STATUS(w.http, 200);
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

START_TEST(states_are_merged)
{
    begin(_i);
    mutate("{'add_to_cell':{'family':'hits','qualifier':'q','input':40}},"
           "{'merge_to_cell':{'family':'hits','qualifier':'q','state_b64':'AAAAAAAAAAI='}},"
           "{'add_to_cell':{'family':'hits','qualifier':'r','input_b64':'//////////8='}}");
    EXPECT_STATUS(w.http, 201);
    ck_assert_int_eq(number_at("hits", "q"), 42);
    ck_assert_int_eq(number_at("hits", "r"), -1);
}
END_TEST

/* The value of a cell, in base64. */
static void state_at(const char *qualifier, char *out, size_t size)
{
    struct buf text;
    http_get(w.http, T "/cells/k/who/%s", qualifier);
    EXPECT_STATUS(w.http, 200);
    base_buf_init(&text, size);
    ck_assert_int_eq(base_base64_encode(base_buf_slice(&w.http->body), &text), ERR_OK);
    (void)snprintf(out, size, "%.*s", (int)text.len, (const char *)text.ptr);
    base_buf_fini(&text);
}

START_TEST(distinct_inputs_in_parts_merge_to_the_whole)
{
    static char a[1024], both[1024], merged[1024];
    begin(_i);
    http_json(w.http, "PATCH",
              "{'who':{'a':['ann','bob'],'b':[{'input':'bob'},{'input_b64':'/w=='}],"
              "'all':['bob','ann','ann',{'input_b64':'/w=='}]}}",
              ROW "k");
    EXPECT_STATUS(w.http, 201);
    state_at("a", a, sizeof a);
    http_value_take(w.http, "POST",
                    json_pack("{s:[{s:{s:s,s:s,s:s}}]}", "mutations", "merge_to_cell", "family",
                              "who", "qualifier", "b", "state_b64", a),
                    ROW "k:mutate");
    EXPECT_STATUS(w.http, 200);
    state_at("b", merged, sizeof merged);
    state_at("all", both, sizeof both);
    ck_assert_str_eq(merged, both);
    ck_assert_str_ne(merged, a);
    http_json(w.http, "PATCH", "{'who':{'b':'ann'}}", ROW "k"); /* known already */
    state_at("b", merged, sizeof merged);
    ck_assert_str_eq(merged, both);
}
END_TEST

/* What a scan gives, a bulk write takes. */
START_TEST(a_row_that_was_read_can_be_written_elsewhere)
{
    begin(_i);
    http_json(w.http, "PUT", "{'families':{'hits':{'type':'sum'},'who':{'type':'hll'}}}",
              "/v1/tables/copies");
    http_json(w.http, "PATCH",
              "{'hits':{'q':[9000000000,{'input':7,'timestamp':'3000'}]},'who':{'a':['ann','bob']},"
              "'$binary':[{'family':'hits','qualifier_b64':'/w==','input':-5}]}",
              ROW "k");
    EXPECT_STATUS(w.http, 201);
    http_once(w.http, "Accept: application/x-ndjson");
    http_get(w.http, T "/rows");
    EXPECT_STATUS(w.http, 200);
    struct buf line;
    base_buf_init(&line, 65536);
    ck_assert_int_eq(base_buf_append(&line, base_buf_slice(&w.http->body)), ERR_OK);
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_bytes(w.http, "POST", base_buf_slice(&line), "/v1/tables/copies:write");
    EXPECT_STATUS(w.http, 200);
    json_t *verdict = http_line_new(w.http, 0);
    ck_assert_int_eq(json_integer_value(json_at(verdict, "/status")), 200);
    json_decref(verdict);
    http_once(w.http, "Accept: application/x-ndjson");
    http_get(w.http, "/v1/tables/copies/rows");
    ck_assert(base_slice_equal(base_buf_slice(&line), base_buf_slice(&w.http->body)));
    base_buf_fini(&line);
}
END_TEST

START_TEST(a_sum_that_overflows_is_refused_whole)
{
    begin(_i);
    http_json(w.http, "PATCH", "{'hits':{'q':9223372036854775807}}", ROW "k");
    EXPECT_STATUS(w.http, 201);
    http_json(w.http, "PATCH", "{'hits':{'other':1,'q':1}}", ROW "k");
    ck_assert_int_ge(w.http->status, 400);
    ck_assert_int_lt(w.http->status, 500);
    EXPECT_USAGE(tenant_usage(w.http), 1 + 4 + 1 + 8 + 8, 1, 1);
    http_json(w.http, "PATCH", "{'hits':{'q':-9223372036854775808}}", ROW "k");
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(number_at("hits", "q"), -1);
}
END_TEST

/* Bodies of PATCH, and single mutations. */
static const struct {
    const char *body;
    int status;
    const char *code;
} BAD[] = {
    {"{'hits':{'q':'1'}}", 400, "invalid"},
    {"{'hits':{'q':1.5}}", 400, "invalid"},
    {"{'hits':{'q':1e2}}", 400, "invalid"},
    {"{'hits':{'q':01}}", 400, "invalid"},
    {"{'hits':{'q':--1}}", 400, "invalid"},
    {"{'hits':{'q':9223372036854775808}}", 400, "invalid"},
    {"{'hits':{'q':true}}", 400, "invalid"},
    {"{'hits':{'q':{}}}", 400, "invalid"},
    {"{'hits':{'q':{'input':null}}}", 400, "invalid"},
    {"{'hits':{'q':{'input':'1'}}}", 400, "invalid"},
    {"{'hits':{'q':{'input':true}}}", 400, "invalid"},
    {"{'hits':{'q':{'input':1,'input_b64':'AAAAAAAAAAI='}}}", 400, "invalid"},
    {"{'hits':{'q':{'input_b64':'AAAAAAAAAAI=','input':1}}}", 400, "invalid"},
    {"{'hits':{'q':{'input':1,'input':1}}}", 400, "invalid"},
    {"{'hits':{'q':{'input_b64':'AAI='}}}", 400, "invalid"},
    {"{'hits':{'q':{'value':'5'}}}", 400, "invalid"},
    {"{'hits':{'q':{'value_b64':'AAAAAAAAAAI=','input':1}}}", 400, "invalid"},
    {"{'hits':{'q':{'input':1,'timestamp':'7'}}}", 400, "invalid"},
    {"{'hits':{'q':{'input':1,'timestamp':7}}}", 400, "invalid"},
    {"{'who':{'q':5}}", 400, "invalid"},
    {"{'hits':{'q':{'number':5}}}", 400, "invalid"},
    {"{'hits':{'q':{'number':5,'input':5}}}", 400, "invalid"},
    {"{'hits':{'q':{'number':'5','value_b64':'AAAAAAAAAAI='}}}", 400, "invalid"},
    {"{'hits':{'q':{'number':5,'number':5,'value_b64':'AAAAAAAAAAI='}}}", 400, "invalid"},
    {"{'stats':{'q':{'number':5,'value':'v'}}}", 400, "invalid"},
    {"{'stats':{'q':{'value':'v','estimate':5}}}", 400, "invalid"},
    {"{'who':{'q':{'value':'ann'}}}", 400, "invalid"},
    {"{'stats':{'q':5}}", 400, "invalid"},
    {"{'stats':{'q':{'input':5}}}", 400, "invalid"},
    {"{'stats':{'q':{'value':'v','input':'x'}}}", 400, "invalid"},
    {"{'$binary':[{'family':'hits','qualifier_b64':'/w==','input':'x'}]}", 400, "invalid"},
};

static const struct {
    const char *mutation;
    int status;
    const char *code;
} BAD_MUTATIONS[] = {
    {"{'set_cell':{'family':'hits','qualifier':'q','value_b64':'AAAAAAAAAAI='}}", 400, "invalid"},
    {"{'add_to_cell':{'family':'hits','qualifier':'q'}}", 400, "invalid"},
    {"{'add_to_cell':{'family':'hits','qualifier':'q','input':'x'}}", 400, "invalid"},
    {"{'add_to_cell':{'family':'hits','qualifier':'q','input':1.0}}", 400, "invalid"},
    {"{'add_to_cell':{'family':'hits','qualifier':'q','input':[1]}}", 400, "invalid"},
    {"{'add_to_cell':{'family':'hits','qualifier':'q','input_b64':'AAI='}}", 400, "invalid"},
    {"{'add_to_cell':{'family':'hits','qualifier':'q','input':1,'input_b64':''}}", 400, "invalid"},
    {"{'add_to_cell':{'family':'hits','qualifier':'q','value':'x'}}", 400, "invalid"},
    {"{'add_to_cell':{'family':'who','qualifier':'q','input':1}}", 400, "invalid"},
    {"{'add_to_cell':{'family':'nothere','qualifier':'q','input':1}}", 404, "not_found"},
    {"{'merge_to_cell':{'family':'hits','qualifier':'q'}}", 400, "invalid"},
    {"{'merge_to_cell':{'family':'hits','qualifier':'q','state_b64':'AAI='}}", 400, "invalid"},
    {"{'merge_to_cell':{'family':'hits','qualifier':'q','input':1}}", 400, "invalid"},
    {"{'merge_to_cell':{'family':'who','qualifier':'q','state_b64':'AAI='}}", 400, "invalid"},
};

START_TEST(is_refused_and_changes_nothing)
{
    int i = _i / HTTP_VERSIONS;
    begin(_i % HTTP_VERSIONS);
    http_json(w.http, "PATCH", BAD[i].body, ROW "k");
    EXPECT_PROBLEM_OF(w.http, BAD[i].body, BAD[i].status, BAD[i].code);
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

START_TEST(a_mutation_is_refused_and_changes_nothing)
{
    int i = _i / HTTP_VERSIONS;
    begin(_i % HTTP_VERSIONS);
    mutate(BAD_MUTATIONS[i].mutation);
    EXPECT_PROBLEM_OF(w.http, BAD_MUTATIONS[i].mutation, BAD_MUTATIONS[i].status,
                      BAD_MUTATIONS[i].code);
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

/* One bulk line that adds n to all three, in one of its forms. */
static void put_line(struct buf *b, uint32_t form, int n)
{
    enum err e = ERR_OK;
    if (form == 0)
        e = base_buf_printf(b,
                            "{\"key\":\"k\",\"cells\":{\"hits\":{\"q\":%d},\"low\":{\"q\":%d},"
                            "\"high\":{\"q\":%d}}}\n",
                            n, n, n);
    else if (form == 1)
        e = base_buf_printf(b,
                            "{\"key\":\"k\",\"cells\":{\"hits\":{\"q\":{\"input\":%d}},"
                            "\"low\":{\"q\":[%d]},"
                            "\"high\":{\"q\":{\"input\":%d,\"timestamp\":\"0\"}}}}\n",
                            n, n, n);
    else
        e = base_buf_printf(
            b,
            "{\"key\":\"k\",\"mutations\":["
            "{\"add_to_cell\":{\"family\":\"hits\",\"qualifier\":\"q\",\"input\":%d}},"
            "{\"add_to_cell\":{\"family\":\"low\",\"qualifier\":\"q\",\"input\":%d}},"
            "{\"add_to_cell\":{\"family\":\"high\",\"qualifier\":\"q\",\"input\":%d}}]}\n",
            n, n, n);
    ck_assert_int_eq(e, ERR_OK);
}

/* Random inputs over bulk lines of every form, against plain arithmetic. */
START_TEST(random_inputs_equal_plain_arithmetic)
{
    struct random r = {.state = 20261120};
    int64_t sum = 0, low = INT64_MAX, high = INT64_MIN;
    struct buf b;
    begin(_i);
    base_buf_init(&b, LIM_BODY_BYTES);
    for (int i = 0; i < 3000; i++) {
        int n = (int)random_below(&r, 2000001) - 1000000;
        sum += n;
        low = n < low ? n : low;
        high = n > high ? n : high;
        put_line(&b, random_below(&r, 3), n);
    }
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_bytes(w.http, "POST", base_buf_slice(&b), T ":write");
    base_buf_fini(&b);
    EXPECT_STATUS(w.http, 200);
    json_t *summary = http_line_new(w.http, 3000);
    ck_assert_int_eq(json_integer_value(json_at(summary, "/ok")), 3000);
    json_decref(summary);
    ck_assert_int_eq(number_at("hits", "q"), sum);
    ck_assert_int_eq(number_at("low", "q"), low);
    ck_assert_int_eq(number_at("high", "q"), high);
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

Suite *suite_api_aggregates(void);
Suite *suite_api_aggregates(void)
{
    Suite *s = suite_create("api_aggregates");
    TCase *tc = tcase_create("aggregates");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, a_number_in_a_row_body_is_added, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, reads_show_numbers_and_states, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, without_a_timestamp_all_add_to_one_cell, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, put_begins_anew, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, states_are_merged, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, distinct_inputs_in_parts_merge_to_the_whole, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_row_that_was_read_can_be_written_elsewhere, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_sum_that_overflows_is_refused_whole, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, is_refused_and_changes_nothing, 0, HTTP_EACH(BAD));
    tcase_add_loop_test(tc, a_mutation_is_refused_and_changes_nothing, 0, HTTP_EACH(BAD_MUTATIONS));
    tcase_add_loop_test(tc, random_inputs_equal_plain_arithmetic, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/api/test_modify.c - POST :modify: append and increment, exactly once each, however many
 * ask.
 */
#include <check.h>
#include <endian.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

#define ROW "/v1/tables/devices/rows/"

static int modify(const char *rules)
{
    char body[2048];
    (void)snprintf(body, sizeof body, "{'rules':[%s]}", rules);
    return http_json(w.http, "POST", body, ROW "k:modify");
}

/* The integer in a cell, read as raw bytes. */
static int64_t counter(struct http *h, const char *key, const char *qualifier)
{
    uint64_t bytes = 0;
    http_get(h, "/v1/tables/devices/cells/%s/stats/%s", key, qualifier);
    EXPECT_STATUS(h, 200);
    ck_assert_uint_eq(h->body.len, sizeof bytes);
    memcpy(&bytes, h->body.ptr, sizeof bytes);
    return (int64_t)be64toh(bytes);
}

static void put_bytes(const char *qualifier, const char *value_b64)
{
    http_value_take(w.http, "PATCH",
                    json_pack("{s:{s:{s:s}}}", "stats", qualifier, "value_b64", value_b64),
                    ROW "k");
    ck_assert(w.http->status == 200 || w.http->status == 201);
}

START_TEST(append_makes_and_lengthens_a_cell)
{
    world_init(&w, (enum http_version)_i);
    modify("{'family':'stats','qualifier':'log','append':'a'}");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_string(w.http, "/key"), "k");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/log/0/value"), "a");
    modify("{'family':'stats','qualifier':'log','append':'b'},"
           "{'family':'stats','qualifier_b64':'bG9n','append_b64':'Yw=='}");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, "/cells/stats/log"), 1);
    ck_assert_str_eq(http_string(w.http, "/cells/stats/log/0/value"), "abc");
    http_get(w.http, "/v1/tables/devices/cells/k/stats/log");
    ck_assert_str_eq(http_text(w.http), "abc");
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(increment_counts_up_and_down)
{
    world_init(&w, (enum http_version)_i);
    modify("{'family':'stats','qualifier':'n','increment':5}");
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(counter(w.http, "k", "n"), 5);
    modify("{'family':'stats','qualifier':'n','increment':-7}");
    ck_assert_int_eq(counter(w.http, "k", "n"), -2);
    modify("{'family':'stats','qualifier':'n','increment':0}");
    ck_assert_int_eq(counter(w.http, "k", "n"), -2);
    modify("{'family':'stats','qualifier':'n','increment':2},"
           "{'family':'stats','qualifier':'n','increment':9223372036854775807}");
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(counter(w.http, "k", "n"), INT64_MAX);
}
END_TEST

START_TEST(only_modified_cells_come_back)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "other", "1");
    tenant_put(w.http, "devices", "k", "raw", "b", "x");
    modify("{'family':'raw','qualifier':'b','append':'y'},"
           "{'family':'stats','qualifier_b64':'/w==','append_b64':'AP8='},"
           "{'family':'raw','qualifier':'a','append':'z'}");
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, ""), 2);
    ck_assert_uint_eq(http_count(w.http, "/cells"), 2);
    ck_assert_uint_eq(http_count(w.http, "/cells/raw"), 2);
    ck_assert_str_eq(http_string(w.http, "/cells/raw/b/0/value"), "xy");
    ck_assert_str_eq(http_string(w.http, "/cells/raw/a/0/value"), "z");
    ck_assert_str_eq(http_string(w.http, "/cells/$binary/0/qualifier_b64"), "/w==");
    ck_assert_str_eq(http_string(w.http, "/cells/$binary/0/value_b64"), "AP8=");
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(the_answer_is_the_row_as_a_read_shows_it)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "POST", "{'rules':[{'family':'stats','qualifier':'q','append':'v'}]}",
              ROW "%s:modify", pct("\xff:check", 7));
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_string(w.http, "/key_b64"), "/zpjaGVjaw==");
    static char answer[512];
    (void)snprintf(answer, sizeof answer, "%s", http_text(w.http));
    http_get(w.http, ROW "%s", pct("\xff:check", 7));
    ck_assert_str_eq(http_text(w.http), answer);
}
END_TEST

START_TEST(a_value_of_other_length_is_409)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "n", "seven77");
    modify("{'family':'stats','qualifier':'log','append':'a'},"
           "{'family':'stats','qualifier':'n','increment':1}");
    EXPECT_PROBLEM(w.http, 409, "conflict");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "8 bytes"));
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 1 + 7 + 8, 1, 1);
}
END_TEST

START_TEST(increments_beyond_64_bits_wrap_around)
{
    world_init(&w, (enum http_version)_i);
    put_bytes("high", "f/////////8="); /* INT64_MAX */
    put_bytes("low", "gAAAAAAAAAA=");  /* INT64_MIN */
    modify("{'family':'stats','qualifier':'high','increment':1},"
           "{'family':'stats','qualifier':'low','increment':-1}");
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(counter(w.http, "k", "high"), INT64_MIN);
    ck_assert_int_eq(counter(w.http, "k", "low"), INT64_MAX);
    modify("{'family':'stats','qualifier':'high','increment':-9223372036854775808}");
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(counter(w.http, "k", "high"), 0);
}
END_TEST

START_TEST(aggregate_families_are_not_modified)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'families':{'stats':{},'hits':{'type':'sum'}}}",
              "/v1/tables/counters");
    EXPECT_STATUS(w.http, 201);
    http_json(w.http, "POST", "{'rules':[{'family':'hits','qualifier':'q','increment':1}]}",
              "/v1/tables/counters/rows/k:modify");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_json(w.http, "POST", "{'rules':[{'family':'hits','qualifier':'q','append':'x'}]}",
              "/v1/tables/counters/rows/k:modify");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

static const struct refusal BAD[] = {
    {"{}", 400, "invalid", "rules"},
    {"{'rules':[]}", 400, "invalid", "rules"},
    {"{'rules':{}}", 400, "invalid", "list of rules"},
    {"{'rules':[1]}", 400, "invalid", "rules[0]: "},
    {"{'rules':[[]]}", 400, "invalid", "rules[0]: "},
    {"{'rules':[{'family':'stats','qualifier':'q','increment':1}],'x':1}", 400, "invalid", "x"},
    {"{'rules':[{'family':'stats','qualifier':'q'}]}", 400, "invalid", "append"},
    {"{'rules':[{'family':'stats','qualifier':'q','append':'a','increment':1}]}", 400, "invalid",
     "append"},
    {"{'rules':[{'family':'stats','qualifier':'q','append':'a','append_b64':''}]}", 400, "invalid",
     "not both"},
    {"{'rules':[{'family':'stats','qualifier':'q','append':5}]}", 400, "invalid", "append"},
    {"{'rules':[{'family':'stats','qualifier':'q','append_b64':'?'}]}", 400, "invalid", "base64"},
    {"{'rules':[{'family':'stats','qualifier':'q','increment':'5'}]}", 400, "invalid", "increment"},
    {"{'rules':[{'family':'stats','qualifier':'q','increment':1.5}]}", 400, "invalid", "increment"},
    {"{'rules':[{'family':'stats','qualifier':'q','increment':1e3}]}", 400, "invalid", "increment"},
    {"{'rules':[{'family':'stats','qualifier':'q','increment':null}]}", 400, "invalid",
     "increment"},
    {"{'rules':[{'family':'stats','qualifier':'q','increment':9223372036854775808}]}", 400,
     "invalid", ""},
    {"{'rules':[{'qualifier':'q','increment':1}]}", 400, "invalid", "family"},
    {"{'rules':[{'family':'stats','increment':1}]}", 400, "invalid", "qualifier"},
    {"{'rules':[{'family':'stats','qualifier':'q','qualifier_b64':'','increment':1}]}", 400,
     "invalid", "not both"},
    {"{'rules':[{'family':'stats','qualifier':'q','increment':1,'timestamp':'0'}]}", 400, "invalid",
     "timestamp"},
    {"{'rules':[{'family':'stats','qualifier':'n','increment':1},"
     "{'family':'x','qualifier':'q','increment':1}]}",
     404, "not_found", "rules[1]: "},
};

START_TEST(is_refused_and_changes_nothing)
{
    size_t i = (size_t)_i / HTTP_VERSIONS;
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    tenant_put(w.http, "devices", "k", "stats", "q", "before");
    http_json_refused(w.http, "POST", ROW "k:modify", &BAD[i]);
    EXPECT_USAGE(tenant_usage(w.http), 1 + 5 + 1 + 6 + 8, 1, 1);
}
END_TEST

static void send_rules(int count)
{
    struct buf b;
    base_buf_init(&b, LIM_BODY_BYTES);
    ck_assert_int_eq(base_buf_append_text(&b, "{\"rules\":["), ERR_OK);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(base_buf_printf(&b,
                                         "%s{\"family\":\"stats\",\"qualifier\":\"n\","
                                         "\"increment\":1}",
                                         i == 0 ? "" : ","),
                         ERR_OK);
    ck_assert_int_eq(base_buf_append_text(&b, "]}"), ERR_OK);
    http_bytes(w.http, "POST", base_buf_slice(&b), ROW "k:modify");
    base_buf_fini(&b);
}

START_TEST(a_thousand_rules_and_not_one_more)
{
    world_init(&w, (enum http_version)_i);
    send_rules(LIM_MODIFY_RULES + 1);
    EXPECT_PROBLEM(w.http, 413, "too_big");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "1000"));
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
    send_rules(LIM_MODIFY_RULES);
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_eq(counter(w.http, "k", "n"), LIM_MODIFY_RULES);
}
END_TEST

START_TEST(a_value_may_not_grow_over_the_cells_limit)
{
    world_init(&w, (enum http_version)_i);
    admin_set_quota(w.op, w.tenant, "{'cell_bytes':10}");
    modify("{'family':'stats','qualifier':'q','append':'12345'}");
    EXPECT_STATUS(w.http, 200);
    modify("{'family':'stats','qualifier':'q','append':'123456'}");
    EXPECT_PROBLEM(w.http, 413, "too_big");
    modify("{'family':'stats','qualifier':'q','append':'12345'}");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/0/value"), "1234512345");
}
END_TEST

/* --- many at once ----------------------------------------------------------------------------- */

enum { CONNECTIONS = 8, ROUNDS_EACH = 500 };

struct counting {
    pthread_t thread;
    const struct world *world;
    int done;
};

static void *count_up(void *arg)
{
    struct counting *c = arg;
    struct http *h = http_open(world_server(), (enum http_version)(c->done % 2), c->world->key);
    c->done = 0;
    for (int i = 0; i < ROUNDS_EACH; i++) {
        http_send(h, "POST", ROW "k:modify",
                  SLICE_LIT("{\"rules\":[{\"family\":\"stats\",\"qualifier\":\"n\","
                            "\"increment\":1}]}"));
        c->done += h->status == 200;
    }
    http_close(h);
    return NULL;
}

static void count_with_all(const struct world *worlds, size_t world_count)
{
    struct counting all[CONNECTIONS];
    for (int i = 0; i < CONNECTIONS; i++) {
        all[i] = (struct counting){.world = &worlds[(size_t)i % world_count], .done = i / 2};
        ck_assert_int_eq(pthread_create(&all[i].thread, NULL, count_up, &all[i]), 0);
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        ck_assert_int_eq(pthread_join(all[i].thread, NULL), 0);
        ck_assert_int_eq(all[i].done, ROUNDS_EACH);
    }
}

START_TEST(eight_connections_count_to_exactly_the_sum)
{
    world_init(&w, HTTP_2);
    count_with_all(&w, 1);
    ck_assert_int_eq(counter(w.http, "k", "n"), CONNECTIONS * ROUNDS_EACH);
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(two_tenants_count_at_once_each_their_own)
{
    struct world two[2];
    world_init(&two[0], HTTP_2);
    world_init(&two[1], HTTP_1);
    count_with_all(two, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(counter(two[i].http, "k", "n"), CONNECTIONS / 2 * ROUNDS_EACH);
        (void)admin_recount(two[i].op, two[i].tenant);
        world_fini(&two[i]);
    }
}
END_TEST

Suite *suite_api_modify(void);
Suite *suite_api_modify(void)
{
    Suite *s = suite_create("api_modify");
    TCase *tc = tcase_create("modify");
    tcase_set_timeout(tc, 90);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, append_makes_and_lengthens_a_cell, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, increment_counts_up_and_down, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, only_modified_cells_come_back, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, the_answer_is_the_row_as_a_read_shows_it, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_value_of_other_length_is_409, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, increments_beyond_64_bits_wrap_around, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, aggregate_families_are_not_modified, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, is_refused_and_changes_nothing, 0, HTTP_EACH(BAD));
    tcase_add_loop_test(tc, a_thousand_rules_and_not_one_more, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_value_may_not_grow_over_the_cells_limit, 0, HTTP_VERSIONS);
    tcase_add_test(tc, eight_connections_count_to_exactly_the_sum);
    tcase_add_test(tc, two_tenants_count_at_once_each_their_own);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/api/test_time_unit.c - the unit of timestamps that a write brings: ?timestamps=ms.
 */
#include <check.h>
#include <string.h>

#include "tests/support/world.h"

#include "base/banned.h"

Suite *suite_api_time_unit(void);

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

#define TABLE    "/v1/tables/devices"
#define ROW      TABLE "/rows/k"
#define SET(at)  "{'set_cell':{'family':'stats','qualifier':'q','value':'v','timestamp':'" at "'}}"
#define CELL(at) "{'stats':{'q':{'value':'v','timestamp':'" at "'}}}"

struct write {
    const char *method;
    const char *path;
    const char *body;
    const char *more; /* of the query */
};

/* Each writes stats:q at 1700000000123 ms, with and without another unit. */
static const struct write WRITES[] = {
    {"PUT", ROW, CELL("1700000000123"), ""},
    {"PATCH", ROW, CELL("1700000000123"), ""},
    {"PATCH", ROW,
     "{'$binary':[{'family':'stats','qualifier':'q','value':'v','timestamp':'1700000000123'}]}",
     ""},
    {"POST", ROW ":mutate", "{'mutations':[" SET("1700000000123") "]}", ""},
    {"POST", ROW ":check", "{'then':[{'delete_from_row':{}}],'else':[" SET("1700000000123") "]}",
     ""},
    {"PUT", TABLE "/cells/k/stats/q", "v", "&timestamp=1700000000123"},
    {"POST", TABLE ":write", "{'key':'k','cells':" CELL("1700000000123") "}\n", ""},
    {"POST", TABLE ":write", "{'key':'k','mutations':[" SET("1700000000123") "]}\n", ""},
};
#define WRITE_COUNT (sizeof WRITES / sizeof WRITES[0])

static void write_in(const struct write *one, const char *unit)
{
    if (strcmp(one->path, TABLE ":write") == 0)
        http_once(w.http, "Content-Type: application/x-ndjson");
    if (strstr(one->path, "/cells/") != NULL)
        http_once(w.http, "Content-Type: application/octet-stream");
    http_json(w.http, one->method, one->body, "%s?timestamps=%s%s", one->path, unit, one->more);
}

START_TEST(milliseconds_are_stored_as_microseconds)
{
    world_init(&w, HTTP_2);
    write_in(&WRITES[_i], "ms");
    ck_assert_msg(w.http->status / 100 == 2, "%s", http_text(w.http));
    http_get(w.http, ROW);
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/0/timestamp"), "1700000000123000");
}
END_TEST

/* Of microseconds it is refused, by the line in a bulk write. */
START_TEST(microseconds_are_what_is_meant_else)
{
    world_init(&w, HTTP_2);
    write_in(&WRITES[_i], "us");
    ck_assert_ptr_nonnull(strstr(http_text(w.http), "timestamp 1700000000123 is not a multiple"));
    write_in(&WRITES[_i], "s");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "\"timestamps\" must be us"));
    http_get(w.http, ROW);
    EXPECT_STATUS(w.http, 404);
}
END_TEST

START_TEST(ranges_of_deletes_are_in_the_unit_as_well)
{
    world_init(&w, HTTP_2);
    http_json(w.http, "POST", "{'mutations':[" SET("1001") "," SET("1002") "," SET("1003") "]}",
              ROW ":mutate?timestamps=ms");
    EXPECT_STATUS(w.http, 201);
    http_json(w.http, "POST",
              "{'mutations':[{'delete_from_column':{'family':'stats','qualifier':'q',"
              "'start':'1002','end':'1003'}}]}",
              ROW ":mutate?timestamps=ms");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, ROW);
    ck_assert_uint_eq(http_count(w.http, "/cells/stats/q"), 2);
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/1/timestamp"), "1001000");
}
END_TEST

/* The server's time, and no end of a range, are what they are. */
START_TEST(what_is_left_out_has_no_unit)
{
    world_init(&w, HTTP_2);
    http_json(w.http, "PUT", "{'stats':{'q':'v'}}", ROW "?timestamps=ms");
    EXPECT_STATUS(w.http, 201);
    char written[32];
    (void)snprintf(written, sizeof written, "%.31s", http_string(w.http, "/timestamp")); /* fits */
    http_get(w.http, ROW);
    ck_assert_str_eq(http_string(w.http, "/cells/stats/q/0/timestamp"), written);
    http_json(w.http, "POST",
              "{'mutations':[{'delete_from_column':{'family':'stats','qualifier':'q'}}]}",
              ROW ":mutate?timestamps=ms");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, ROW);
    EXPECT_STATUS(w.http, 404);
}
END_TEST

START_TEST(what_is_too_large_for_milliseconds_is_refused)
{
    world_init(&w, HTTP_2);
    http_json(w.http, "PUT", CELL("9223372036854775"), ROW "?timestamps=ms");
    EXPECT_STATUS(w.http, 201);
    http_json(w.http, "PUT", CELL("9223372036854776"), ROW "?timestamps=ms");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), "the limit is 9223372036854775"));
    ck_assert_ptr_nonnull(
        strstr(http_string(w.http, "/detail"), ": timestamp 9223372036854776 is"));
}
END_TEST

/* A timestamp that is none, in each write. */
#define WRONG "1.5"
static const struct write WRONGS[] = {
    {"PUT", ROW, CELL(WRONG), ""},
    {"PATCH", ROW,
     "{'$binary':[{'family':'stats','qualifier':'q','value':'v','timestamp':'" WRONG "'}]}", ""},
    {"POST", ROW ":mutate", "{'mutations':[" SET(WRONG) "]}", ""},
    {"POST", ROW ":check", "{'else':[" SET(WRONG) "]}", ""},
    {"PUT", TABLE "/cells/k/stats/q", "v", "&timestamp=" WRONG},
    {"POST", TABLE ":write", "{'key':'k','cells':" CELL(WRONG) "}\n", ""},
    {"POST", TABLE ":write", "{'key':'k','mutations':[" SET(WRONG) "]}\n", ""},
};

START_TEST(what_is_no_time_is_refused_in_the_unit_that_was_sent)
{
    static const char *const units[][2] = {{"ms", "milliseconds"}, {"us", "microseconds"}};
    char wanted[80];
    world_init(&w, HTTP_2);
    for (size_t i = 0; i < 2; i++) {
        write_in(&WRONGS[_i], units[i][0]);
        (void)snprintf(wanted, sizeof wanted, "timestamp\\\" must be a decimal string of %s",
                       units[i][1]);
        ck_assert_msg(strstr(http_text(w.http), wanted) != NULL, "%s", http_text(w.http));
    }
    http_get(w.http, ROW);
    EXPECT_STATUS(w.http, 404);
}
END_TEST

#define DELETE(start, end)                                                                         \
    "{'delete_from_column':{'family':'stats','qualifier':'q','start':'" start "','end':'" end "'}" \
    "}"

START_TEST(an_empty_range_is_refused_in_the_unit_that_was_sent)
{
    static const char *const units[] = {"ms", "us"};
    world_init(&w, HTTP_2);
    for (size_t i = 0; i < 2; i++) {
        http_json(w.http, "POST",
                  "{'mutations':[" DELETE("0", "7000") "," DELETE("1003000", "1002000") "]}",
                  ROW ":mutate?timestamps=%s", units[i]);
        EXPECT_PROBLEM(w.http, 400, "invalid");
        ck_assert_str_eq(http_string(w.http, "/detail"),
                         "mutations[1]: the time range of a delete is empty: start 1003000 is not "
                         "before end 1002000");
        http_once(w.http, "Content-Type: application/x-ndjson");
        http_json(w.http, "POST", "{'key':'k','mutations':[" DELETE("1003000", "1003000") "]}\n",
                  TABLE ":write?timestamps=%s", units[i]);
        ck_assert_ptr_nonnull(strstr(http_text(w.http), "start 1003000 is not before end 1003000"));
    }
    http_json(w.http, "POST", "{'mutations':[" DELETE("9223372036854776", "0") "]}",
              ROW ":mutate?timestamps=ms");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), ": start 9223372036854776 is"));
}
END_TEST

START_TEST(who_writes_no_timestamps_takes_no_unit)
{
    world_init(&w, HTTP_2);
    http_json(w.http, "POST", "{'rules':[{'family':'stats','qualifier':'q','append':'x'}]}",
              ROW ":modify?timestamps=ms");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    http_delete(w.http, ROW "?timestamps=ms");
    EXPECT_PROBLEM(w.http, 400, "invalid");
}
END_TEST

Suite *suite_api_time_unit(void)
{
    Suite *s = suite_create("api_time_unit");
    TCase *tc = tcase_create("units");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, milliseconds_are_stored_as_microseconds, 0, (int)WRITE_COUNT);
    tcase_add_loop_test(tc, microseconds_are_what_is_meant_else, 0, (int)WRITE_COUNT);
    tcase_add_test(tc, ranges_of_deletes_are_in_the_unit_as_well);
    tcase_add_test(tc, what_is_left_out_has_no_unit);
    tcase_add_test(tc, what_is_too_large_for_milliseconds_is_refused);
    tcase_add_loop_test(tc, what_is_no_time_is_refused_in_the_unit_that_was_sent, 0,
                        (int)(sizeof WRONGS / sizeof WRONGS[0]));
    tcase_add_test(tc, an_empty_range_is_refused_in_the_unit_that_was_sent);
    tcase_add_test(tc, who_writes_no_timestamps_takes_no_unit);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

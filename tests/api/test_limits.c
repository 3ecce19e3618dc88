/*
 * tests/api/test_limits.c - limits of the data model that a tenant has of its own: at the limit it
 * works, above it is refused with a text that says whose limit it is; what is stored stays usable.
 */
#include <check.h>
#include <string.h>

#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

#define TABLES "/v1/tables/"
#define ROW    "/v1/tables/devices/rows/"
#define CELL   "/v1/tables/devices/cells/"

#define LONG_KEY  "row key has 4 bytes; the limit is 3 (this tenant's row_key_bytes)"
#define LONG_NAME "column qualifier has 4 bytes; the limit is 3 (this tenant's qualifier_bytes)"
#define MANY                                                                                       \
    "the change of the row has 4 mutations; the limit is 3 (this tenant's mutations_per_row)"
#define FAMILIES "the table would have 3 column families; the limit is 2 (this tenant's families)"

/* Two requests: one at the limit, one above it. */
static const struct {
    const char *quota;
    const char *method;
    const char *at;
    const char *at_body;
    const char *above;
    const char *above_body;
    const char *detail;
} CASES[] = {
    {"{'row_key_bytes':3}", "PUT", ROW "key", "{'raw':{'q':'v'}}", ROW "keys", "{'raw':{'q':'v'}}",
     LONG_KEY},
    {"{'row_key_bytes':3}", "PATCH", ROW "key", "{'raw':{'q':'v'}}", ROW "keys",
     "{'raw':{'q':'v'}}", LONG_KEY},
    {"{'row_key_bytes':3}", "PUT", CELL "key/raw/q", "v", CELL "keys/raw/q", "v", LONG_KEY},
    {"{'row_key_bytes':3}", "POST", ROW "key:mutate",
     "{'mutations':[{'set_cell':{'family':'raw','qualifier':'q','value':'v'}}]}", ROW "keys:mutate",
     "{'mutations':[{'set_cell':{'family':'raw','qualifier':'q','value':'v'}}]}", LONG_KEY},
    {"{'row_key_bytes':3}", "POST", ROW "key:modify",
     "{'rules':[{'family':'raw','qualifier':'q','append':'v'}]}", ROW "keys:modify",
     "{'rules':[{'family':'raw','qualifier':'q','append':'v'}]}", LONG_KEY},
    {"{'qualifier_bytes':3}", "PATCH", ROW "k", "{'raw':{'abc':'v'}}", ROW "k",
     "{'raw':{'abcd':'v'}}", "raw.abcd: " LONG_NAME},
    {"{'qualifier_bytes':3}", "PUT", CELL "k/raw/abc", "v", CELL "k/raw/abcd", "v",
     "raw.abcd: " LONG_NAME},
    {"{'qualifier_bytes':3}", "POST", ROW "k:modify",
     "{'rules':[{'family':'raw','qualifier':'abc','append':'v'}]}", ROW "k:modify",
     "{'rules':[{'family':'raw','qualifier':'abcd','append':'v'}]}", "rules[0]: " LONG_NAME},
    {"{'cell_bytes':3}", "PUT", CELL "k/raw/q", "123", CELL "k/raw/q", "1234",
     "raw.q: cell value has 4 bytes; the limit is 3 (this tenant's cell_bytes)"},
    {"{'row_bytes':20}", "PUT", ROW "k", "{'raw':{'q':'1234567'}}", ROW "k",
     "{'raw':{'q':'12345678'}}",
     "the row would hold 21 bytes; the limit is 20 (this tenant's row_bytes)"},
    {"{'mutations_per_row':3}", "PATCH", ROW "k", "{'raw':{'a':'','b':'','c':''}}", ROW "k",
     "{'raw':{'a':'','b':'','c':'','d':''}}", MANY},
    /* putting a row deletes what there is first */
    {"{'mutations_per_row':3}", "PUT", ROW "k", "{'raw':{'a':'','b':''}}", ROW "k",
     "{'raw':{'a':'','b':'','c':''}}", MANY},
    {"{'families':2}", "PUT", TABLES "t", "{'families':{'a':{},'b':{}}}", TABLES "t",
     "{'families':{'a':{},'b':{},'c':{}}}", FAMILIES},
    {"{'families':2}", "POST", TABLES "devices:families", "{'create':{'c':{}},'drop':['raw']}",
     TABLES "devices:families", "{'create':{'d':{}}}", FAMILIES},
};
#define CASE_COUNT ((int)(sizeof CASES / sizeof CASES[0]))

/* Bodies of cells hold no quotes, so they go as they are. */
static void send_to(struct http *h, const char *method, const char *target, const char *body)
{
    http_json(h, method, body, "%s", target);
}

static void expect_success(struct http *h)
{
    ck_assert_msg(h->status >= 200 && h->status < 300, "%d: %s", h->status, http_text(h));
}

START_TEST(at_a_limit_it_works_and_above_the_text_says_whose_limit_it_is)
{
    world_init(&w, (enum http_version)(_i % HTTP_VERSIONS));
    int n = _i / HTTP_VERSIONS;
    struct http *http = w.http;
    admin_set_quota(w.op, w.tenant, CASES[n].quota);
    send_to(http, CASES[n].method, CASES[n].at, CASES[n].at_body);
    expect_success(http);
    struct usage before = tenant_usage(http);
    send_to(http, CASES[n].method, CASES[n].above, CASES[n].above_body);
    EXPECT_PROBLEM(http, 413, "too_big");
    ck_assert_str_eq(http_string(http, "/detail"), CASES[n].detail);
    ck_assert(json_is_false(http_at(http, "/retry")));
    EXPECT_USAGE(admin_recount(w.op, w.tenant), before.bytes, before.rows, before.cells);

    /* another tenant is not touched */
    char other[WORLD_ID], key[WORLD_KEY];
    world_fresh_id(other);
    admin_create_tenant(w.op, other);
    admin_create_key(w.op, other, NULL, key, NULL);
    http_use_key(http, key);
    http_json(http, "PUT", "{'families':{'stats':{},'raw':{}}}", TABLES "devices");
    EXPECT_STATUS(http, 201);
    http_json(http, "PUT", "{'families':{'x':{}}}", TABLES "one-more");
    EXPECT_STATUS(http, 201);
    send_to(http, CASES[n].method, CASES[n].above, CASES[n].above_body);
    expect_success(http);

    /* and lifting the limit works at once */
    http_use_key(http, w.key);
    admin_set_quota(w.op, w.tenant, "{}");
    send_to(http, CASES[n].method, CASES[n].above, CASES[n].above_body);
    expect_success(http);
}
END_TEST

START_TEST(bulk_lines_meet_the_limits_one_by_one)
{
    world_init(&w, (enum http_version)_i);
    admin_set_quota(w.op, w.tenant, "{'row_key_bytes':3,'qualifier_bytes':3}");
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_json(w.http, "POST",
              "{'key':'key','cells':{'raw':{'abc':'1'}}}\n"
              "{'key':'keys','cells':{'raw':{'abc':'1'}}}\n"
              "{'key':'key','cells':{'raw':{'abcd':'1'}}}\n"
              "{'op':'delete','key':'long key'}\n",
              TABLES "devices:write");
    EXPECT_STATUS(w.http, 200);
    static const char *const DETAILS[] = {NULL, LONG_KEY, "raw.abcd: " LONG_NAME, NULL};
    for (size_t i = 0; i < 4; i++) {
        json_t *line = http_line_new(w.http, i);
        int64_t status = json_integer_value(json_object_get(line, "status"));
        ck_assert_int_eq(status, DETAILS[i] == NULL ? 200 : 413);
        if (DETAILS[i] != NULL)
            ck_assert_str_eq(json_string_value(json_object_get(line, "detail")), DETAILS[i]);
        json_decref(line);
    }
    EXPECT_USAGE(tenant_usage(w.http), 3 + 3 + 3 + 1 + 8, 1, 1);
}
END_TEST

START_TEST(a_check_meets_the_limits_with_both_its_lists)
{
    world_init(&w, (enum http_version)_i);
    admin_set_quota(w.op, w.tenant, "{'row_key_bytes':3}");
#define DELETES "[{'delete_from_row':{}}]"
#define SETS    "[{'set_cell':{'family':'raw','qualifier':'q','value':'v'}}]"
    http_json(w.http, "POST", "{'then':" DELETES ",'else':" SETS "}", ROW "keys:check");
    EXPECT_PROBLEM(w.http, 413, "too_big");
    ck_assert_str_eq(http_string(w.http, "/detail"), LONG_KEY);
    http_json(w.http, "POST", "{'then':" DELETES "}", ROW "keys:check");
    EXPECT_STATUS(w.http, 200);
}
END_TEST

START_TEST(what_is_stored_over_lowered_limits_is_read_and_deleted)
{
    world_init(&w, (enum http_version)_i);
    for (int i = 0; i < 5; i++) {
        char key[] = {'l', 'o', 'n', 'g', (char)('0' + i), '\0'};
        http_json(w.http, "PUT", "{'raw':{'column':'a long value','other':'x'}}", ROW "%s", key);
        EXPECT_STATUS(w.http, 201);
    }
    admin_set_quota(w.op, w.tenant,
                    "{'row_key_bytes':1,'qualifier_bytes':1,'cell_bytes':1,'row_bytes':1,"
                    "'mutations_per_row':1,'families':1,'tables':1}");
    http_get(w.http, TABLES "devices");
    ck_assert_uint_eq(http_count(w.http, "/families"), 2);
    http_get(w.http, ROW "long0");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, CELL "long0/raw/column");
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_text(w.http), "a long value");
    http_get(w.http, TABLES "devices/rows?prefix=long&family=raw&column=column");
    ck_assert_uint_eq(http_count(w.http, "/rows"), 5);
    http_json(w.http, "PATCH", "{'raw':{'x':''}}", ROW "long0");
    EXPECT_PROBLEM(w.http, 413, "too_big");
    http_json(w.http, "PATCH", "{'raw':{'column':null}}", ROW "long0");
    EXPECT_STATUS(w.http, 200);
    http_delete(w.http, CELL "long1/raw/column");
    EXPECT_STATUS(w.http, 204);
    http_delete(w.http, ROW "long2");
    EXPECT_STATUS(w.http, 204);
    http_json(w.http, "POST",
              "{'mutations':[{'delete_from_column':{'family':'raw','qualifier':'column'}}]}",
              ROW "long3:mutate");
    EXPECT_STATUS(w.http, 200);
    EXPECT_USAGE(admin_recount(w.op, w.tenant), 4 * (5 + 3 + 5 + 1 + 8) + (5 + 3 + 6 + 12 + 8), 4,
                 5);
    http_json(w.http, "POST", "{'prefix':'long'}", TABLES "devices:drop");
    EXPECT_STATUS(w.http, 200);
    http_delete(w.http, TABLES "devices");
    EXPECT_STATUS(w.http, 204);
    EXPECT_USAGE(admin_recount(w.op, w.tenant), 0, 0, 0);
}
END_TEST

Suite *suite_api_limits(void);
Suite *suite_api_limits(void)
{
    Suite *s = suite_create("api_limits");
    TCase *tc = tcase_create("limits");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, at_a_limit_it_works_and_above_the_text_says_whose_limit_it_is, 0,
                        CASE_COUNT * HTTP_VERSIONS);
    tcase_add_loop_test(tc, bulk_lines_meet_the_limits_one_by_one, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_check_meets_the_limits_with_both_its_lists, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, what_is_stored_over_lowered_limits_is_read_and_deleted, 0,
                        HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/api/test_prefix_keys.c - keys that are limited to rows with a prefix: what they reach, by
 * every route, and that everything else is refused.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "gateway/api/routes.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define ROW  "/v1/tables/devices/rows/"
#define CELL "/v1/tables/devices/cells/"

Suite *suite_api_prefix_keys(void);

static struct world w;
static char key[WORLD_KEY];
static struct http *limited;

static void make_key(const char *prefix)
{
    http_json(w.op, "POST", prefix, "/v1/admin/tenants/%s/keys", w.tenant);
    EXPECT_STATUS(w.op, 201);
    (void)snprintf(key, sizeof key, "%s", http_string(w.op, "/key"));
}

/* Rows a, a#1, a#2, a$ and b#1; the key reaches those of "a#". */
static void begin(enum http_version version)
{
    static const char *const keys[] = {"a", "a%231", "a%232", "a$", "b%231"};
    world_init(&w, version);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        http_json(w.http, "PUT", "{'stats':{'q':'old'}}", ROW "%s", keys[i]);
        EXPECT_STATUS(w.http, 201);
    }
    make_key("{'row_prefix':'a#'}");
    limited = http_open(world_server(), version, key);
}

static void tear_down(void)
{
    http_close(limited);
    limited = NULL;
    world_fini(&w);
}

/* The keys of the rows that came, one behind the other. */
static const char *keys_of(struct http *h)
{
    static char text[256];
    text[0] = '\0';
    EXPECT_STATUS(h, 200);
    for (size_t i = 0; i < http_count(h, "/rows"); i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "/rows/%zu/key", i);
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s ", http_string(h, path));
    }
    return text;
}

START_TEST(reads_of_many_rows_give_those_with_the_prefix)
{
    static const char *const bodies[][2] = {
        {"{}", "a#1 a#2 "},
        {"{'order':'desc'}", "a#2 a#1 "},
        {"{'keys':['a','a#2','b#1']}", "a#2 "},
        {"{'keys':['b#1']}", ""},
        {"{'ranges':[{'prefix':'b'}]}", ""},
        {"{'ranges':[{'start':'a#2'}]}", "a#2 "},
        {"{'ranges':[{'end_closed':'a#1'},{'start':'a$'}]}", "a#1 "},
        {"{'filter':{'row_key_regex':'.*'},'keys':['a$','a#1']}", "a#1 "},
    };
    begin((enum http_version)_i);
    http_get(limited, "/v1/tables/devices/rows?stats=true");
    ck_assert_str_eq(keys_of(limited), "a#1 a#2 ");
    ck_assert_int_eq(http_number(limited, "/stats/rows_seen"), 2);
    http_get(limited, "/v1/tables/devices/rows?prefix=b");
    ck_assert_str_eq(keys_of(limited), "");
    http_get(limited, "/v1/tables/devices/rows?limit=1");
    ck_assert_str_eq(keys_of(limited), "a#1 ");
    char token[1024];
    (void)snprintf(token, sizeof token, "%s", http_string(limited, "/next_page_token"));
    http_get(limited, "/v1/tables/devices/rows?limit=9&page_token=%s", token);
    ck_assert_str_eq(keys_of(limited), "a#2 ");
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        http_json(limited, "POST", bodies[i][0], "/v1/tables/devices:read");
        ck_assert_str_eq(keys_of(limited), bodies[i][1]);
    }
    http_once(limited, "Accept: application/x-ndjson");
    http_get(limited, "/v1/tables/devices/rows");
    ck_assert_uint_eq(http_lines(limited), 2);
}
END_TEST

/* Of one row: method, what is before and behind the row in the path, body. */
static const struct one {
    const char *method;
    const char *before;
    const char *behind;
    const char *body;
} ONES[] = {
    {"GET", ROW, "", NULL},
    {"PUT", ROW, "", "{'stats':{'q':'new'}}"},
    {"PATCH", ROW, "", "{'stats':{'q':'new'}}"},
    {"POST", ROW, ":mutate", "{'mutations':[{'delete_from_row':{}}]}"},
    {"POST", ROW, ":modify", "{'rules':[{'family':'stats','qualifier':'q','append':'x'}]}"},
    {"POST", ROW, ":check", "{'then':[{'delete_from_row':{}}]}"},
    {"GET", CELL, "/stats/q", NULL},
    {"PUT", CELL, "/stats/q", "new"},
    {"DELETE", CELL, "/stats/q", NULL},
    {"DELETE", ROW, "", NULL},
};
#define ONE_COUNT ((int)(sizeof ONES / sizeof ONES[0]))

static void send_one(const struct one *o, const char *row)
{
    char target[128];
    (void)snprintf(target, sizeof target, "%s%s%s", o->before, row, o->behind);
    if (o->body == NULL)
        (void)http_bytes(limited, o->method, SLICE_EMPTY, "%s", target);
    else
        (void)http_json(limited, o->method, o->body, "%s", target);
}

START_TEST(a_row_without_the_prefix_is_refused)
{
    static const char *const foreign[] = {"a", "a$", "b%231", "nobody"};
    begin(HTTP_2);
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        send_one(&ONES[_i], foreign[i]);
        EXPECT_PROBLEM(limited, 403, "forbidden");
        http_get(w.http, ROW "%s", foreign[i]);
        if (i < 3)
            ck_assert_str_eq(http_string(w.http, "/cells/stats/q/0/value"), "old");
        else
            EXPECT_STATUS(w.http, 404);
    }
    send_one(&ONES[_i], "a%231");
    ck_assert_msg(limited->status >= 200 && limited->status < 300, "%ld", (long)limited->status);
}
END_TEST

START_TEST(lines_of_a_bulk_are_refused_one_by_one)
{
    static const char *const verdicts[] = {"200", "403", "403", "200"};
    begin((enum http_version)_i);
    http_once(limited, "Content-Type: application/x-ndjson");
    http_bytes(limited, "POST",
               SLICE_LIT("{\"key\":\"a#9\",\"cells\":{\"stats\":{\"q\":\"1\"}}}\n"
                         "{\"key\":\"b#9\",\"cells\":{\"stats\":{\"q\":\"1\"}}}\n"
                         "{\"op\":\"delete\",\"key\":\"b#1\"}\n"
                         "{\"op\":\"delete\",\"key\":\"a#1\"}\n"),
               "/v1/tables/devices:write");
    EXPECT_STATUS(limited, 200);
    for (size_t i = 0; i < 4; i++) {
        char status[16];
        json_t *line = http_line_new(limited, i);
        (void)snprintf(status, sizeof status, "%d",
                       (int)json_integer_value(json_at(line, "/status")));
        ck_assert_str_eq(status, verdicts[i]);
        json_decref(line);
    }
    http_get(w.http, "/v1/tables/devices/rows");
    ck_assert_str_eq(keys_of(w.http), "a a#2 a#9 a$ b#1 ");
}
END_TEST

/* A pattern with a word for each parameter. */
static void fill(const char *pattern, char out[256])
{
    size_t len = 0;
    for (const char *c = pattern; *c != '\0'; c++) {
        const char *word = strncmp(c, "{table}", 7) == 0 ? "devices" : "x";
        if (*c != '{') {
            out[len++] = *c;
            continue;
        }
        len += (size_t)snprintf(out + len, 256 - len, "%s", word);
        c = strchr(c, '}');
    }
    out[len] = '\0';
}

/* Made from the table of routes: a new one is refused until it says that it looks at prefixes. */
START_TEST(every_other_route_is_refused)
{
    begin(HTTP_2);
    size_t refused = 0;
    for (size_t i = 0; i < gw_route_count; i++) {
        const struct gw_route *r = &gw_routes[i];
        char target[256];
        if (r->by_row || r->scope == 0)
            continue;
        fill(r->pattern, target);
        (void)http_bytes(limited, r->method, SLICE_EMPTY, "%s", target);
        ck_assert_msg(limited->status == 403, "%s %s: %ld", r->method, target,
                      (long)limited->status);
        refused++;
    }
    ck_assert_uint_ge(refused, 40);
    http_get(w.http, "/v1/tables/devices/rows");
    ck_assert_str_eq(keys_of(w.http), "a a#1 a#2 a$ b#1 ");
}
END_TEST

START_TEST(a_prefix_may_be_any_bytes)
{
    begin((enum http_version)_i);
    http_json(w.http, "PUT", "{'stats':{'q':'1'}}", ROW "%%FF%%FFx");
    make_key("{'row_prefix_b64':'//8=','scopes':['data.read']}");
    ck_assert_str_eq(http_string(w.op, "/row_prefix_b64"), "//8=");
    http_use_key(limited, key);
    http_get(limited, "/v1/tables/devices/rows");
    ck_assert_uint_eq(http_count(limited, "/rows"), 1);
    http_get(limited, ROW "a");
    EXPECT_PROBLEM(limited, 403, "forbidden");
}
END_TEST

START_TEST(keys_say_what_they_reach)
{
    begin(HTTP_2);
    http_get(w.op, "/v1/admin/tenants/%s/keys", w.tenant);
    size_t limits = 0;
    for (size_t i = 0; i < http_count(w.op, "/keys"); i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/keys/%zu/row_prefix", i);
        if (json_is_null(http_at(w.op, path)))
            continue;
        ck_assert_str_eq(http_string(w.op, path), "a#");
        (void)snprintf(path, sizeof path, "/keys/%zu/scopes", i);
        ck_assert_uint_eq(http_count(w.op, path), 2); /* tables are more than rows */
        limits++;
    }
    ck_assert_uint_eq(limits, 1);
    /* a service key as well */
    char body[256];
    (void)snprintf(body, sizeof body, "{'kind':'service','row_prefix':'b','tenants':['%s']}",
                   w.tenant);
    http_json(w.op, "POST", body, "/v1/admin/keys");
    EXPECT_STATUS(w.op, 201);
    (void)snprintf(key, sizeof key, "%s", http_string(w.op, "/key"));
    http_use_key(limited, key);
    http_once(limited, "Bigtent-Tenant: %s", w.tenant);
    http_get(limited, "/v1/tables/devices/rows");
    ck_assert_str_eq(keys_of(limited), "b#1 ");
}
END_TEST

START_TEST(prefixes_that_are_wrong_are_refused)
{
    static const char *const bad[] = {"{'row_prefix':''}", "{'row_prefix':7}",
                                      "{'row_prefix':'a','row_prefix_b64':'YQ=='}",
                                      "{'row_prefix':'a','scopes':['data.read','table.admin']}"};
    char body[512];
    begin(HTTP_2);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        http_json(w.op, "POST", bad[i], "/v1/admin/tenants/%s/keys", w.tenant);
        EXPECT_PROBLEM(w.op, 400, "invalid");
    }
    for (int len = LIM_KEY_PREFIX; len <= LIM_KEY_PREFIX + 1; len++) {
        (void)snprintf(body, sizeof body, "{'row_prefix':'%0*d'}", len, 0);
        http_json(w.op, "POST", body, "/v1/admin/tenants/%s/keys", w.tenant);
        EXPECT_STATUS(w.op, len == LIM_KEY_PREFIX ? 201 : 400);
    }
    http_json(w.op, "POST", "{'kind':'operator','row_prefix':'a'}", "/v1/admin/keys");
    EXPECT_PROBLEM(w.op, 400, "invalid");
}
END_TEST

Suite *suite_api_prefix_keys(void)
{
    Suite *s = suite_create("api_prefix_keys");
    TCase *c = tcase_create("prefix_keys");
    tcase_set_timeout(c, 60);
    world_begin(c);
    tcase_add_checked_fixture(c, NULL, tear_down);
    tcase_add_loop_test(c, reads_of_many_rows_give_those_with_the_prefix, 0, HTTP_VERSIONS);
    tcase_add_loop_test(c, a_row_without_the_prefix_is_refused, 0, ONE_COUNT);
    tcase_add_loop_test(c, lines_of_a_bulk_are_refused_one_by_one, 0, HTTP_VERSIONS);
    tcase_add_test(c, every_other_route_is_refused);
    tcase_add_loop_test(c, a_prefix_may_be_any_bytes, 0, HTTP_VERSIONS);
    tcase_add_test(c, keys_say_what_they_reach);
    tcase_add_test(c, prefixes_that_are_wrong_are_refused);
    world_end(c);
    suite_add_tcase(s, c);
    return s;
}

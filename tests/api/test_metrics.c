/*
 * tests/api/test_metrics.c - /metrics: who may see it, its form, and that it counts exactly.
 *
 * Over 500 lines because a strict reader of the format is among them.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/text.h"
#include "tests/support/rates.h"
#include "tests/support/scrape.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static const char *of_tenant(const char *name, const char *more)
{
    static char out[256];
    (void)snprintf(out, sizeof out, "bigtent_tenant_%s{tenant=\"%s\"%s}", name, w.tenant, more);
    return out;
}

#define ROUTE_PUT "protocol=\"json\",route=\"PUT /v1/tables/{table}/rows/{key}\""
#define ROUTE_GET "protocol=\"json\",route=\"GET /v1/tables/{table}/rows/{key}\""

/* --- who ---------------------------------------------------------------------------------------
 */

START_TEST(operators_and_ops_keys_see_it)
{
    world_init(&w, (enum http_version)_i);
    scrape(w.op);
    ck_assert_str_eq(http_header(w.op, "content-type"), "text/plain; version=0.0.4; charset=utf-8");
    static const char *const scopes[] = {"ops.read", "admin.read"};
    for (size_t i = 0; i < 2; i++) {
        char key[WORLD_KEY];
        http_json(w.op, "POST",
                  i == 0 ? "{'kind':'operator','scopes':['ops.read']}"
                         : "{'kind':'operator','scopes':['admin.read']}",
                  "/v1/admin/keys");
        EXPECT_STATUS(w.op, 201);
        (void)snprintf(key, sizeof key, "%s", http_string(w.op, "/key"));
        struct http *h = http_open(world_server(), (enum http_version)_i, key);
        http_get(h, "/metrics");
        ck_assert_msg(h->status == 200, "%s: %s", scopes[i], http_text(h));
        http_close(h);
    }
    world_fini(&w);
}
END_TEST

START_TEST(nobody_else_does)
{
    world_init(&w, (enum http_version)_i);
    char key[WORLD_KEY];
    http_get(w.http, "/metrics");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    admin_create_global_key(w.op, "service", key, NULL);
    struct http *h = http_open(world_server(), (enum http_version)_i, key);
    http_get(h, "/metrics");
    EXPECT_PROBLEM(h, 403, "forbidden");
    http_use_key(h, NULL);
    http_get(h, "/metrics");
    EXPECT_PROBLEM(h, 401, "unauthenticated");
    http_close(h);
    http_json(w.op, "POST", "{'kind':'operator','scopes':['admin.write']}", "/v1/admin/keys");
    EXPECT_STATUS(w.op, 201);
    h = http_open(world_server(), (enum http_version)_i, http_string(w.op, "/key"));
    http_get(h, "/metrics");
    EXPECT_PROBLEM(h, 403, "forbidden");
    http_close(h);
    world_fini(&w);
}
END_TEST

/* --- its form ----------------------------------------------------------------------------------
 */

struct reader {
    char name[128];
    char type[16];
    char names[256][128]; /* of all metrics before */
    size_t count;
    size_t samples;
    uint64_t bucket; /* of the series under way */
};

static bool is_name(const char *text, size_t len)
{
    return len > 0 && strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789") >= len &&
           (text[0] < '0' || text[0] > '9');
}

static void read_head(struct reader *r, const char *line, const char *next)
{
    const char *name = line + strlen("# HELP ");
    size_t len = strcspn(name, " ");
    ck_assert_msg(strncmp(line, "# HELP ", 7) == 0 && is_name(name, len) && name[len] == ' ' &&
                      strlen(name) > len + 1,
                  "%s", line);
    (void)snprintf(r->name, sizeof r->name, "%.*s", (int)len, name);
    for (size_t i = 0; i < r->count; i++)
        ck_assert_msg(strcmp(r->names[i], r->name) != 0, "%s comes twice", r->name);
    ck_assert_uint_lt(r->count, 256);
    memcpy(r->names[r->count++], r->name, sizeof r->name);
    char wanted[160];
    int head = snprintf(wanted, sizeof wanted, "# TYPE %s ", r->name);
    ck_assert_msg(next != NULL && strncmp(next, wanted, (size_t)head) == 0, "%s", line);
    (void)snprintf(r->type, sizeof r->type, "%s", next + head);
    ck_assert_msg(strcmp(r->type, "counter") == 0 || strcmp(r->type, "gauge") == 0 ||
                      strcmp(r->type, "histogram") == 0 || strcmp(r->type, "summary") == 0,
                  "%s", next);
    size_t end = strlen(r->name);
    ck_assert_msg((strcmp(r->type, "counter") == 0) ==
                      (end > 6 && strcmp(r->name + end - 6, "_total") == 0),
                  "%s is a %s", r->name, r->type);
}

/* name="value",name="value" up to the brace; returns what is behind it. */
static const char *read_labels(const char *at, const char *line)
{
    for (;;) {
        size_t len = strcspn(at, "=");
        ck_assert_msg(is_name(at, len) && at[len] == '=' && at[len + 1] == '"', "%s", line);
        at += len + 2;
        len = strcspn(at, "\"\\");
        ck_assert_msg(at[len] == '"', "%s", line);
        at += len + 1;
        if (*at == '}')
            return at + 1;
        ck_assert_msg(*at == ',', "%s", line);
        at++;
    }
}

static uint64_t read_value(const char *at, const char *line)
{
    size_t digits = strspn(at, "0123456789");
    size_t len = digits;
    uint64_t whole = 0;
    ck_assert_msg(base_parse_u64(base_slice((const uint8_t *)at, digits), &whole) == ERR_OK, "%s",
                  line);
    if (at[len] == '.')
        len += 1 + strspn(at + len + 1, "0123456789");
    ck_assert_msg(at[len] == '\0' && at[len - 1] != '.', "%s", line);
    return whole;
}

static void read_sample(struct reader *r, const char *line)
{
    size_t own = strlen(r->name);
    size_t len = strcspn(line, "{ ");
    ck_assert_msg(strncmp(line, r->name, own) == 0, "%s stands among samples of %s", line, r->name);
    const char *suffix = line + own;
    const char *at = line + len;
    if (*at == '{')
        at = read_labels(at + 1, line);
    ck_assert_msg(*at == ' ', "%s", line);
    uint64_t value = read_value(at + 1, line);
    r->samples++;
    if (strcmp(r->type, "histogram") != 0 && strcmp(r->type, "summary") != 0) {
        ck_assert_msg(len == own, "%s", line);
        return;
    }
    bool is_bucket = strncmp(suffix, "_bucket{", 8) == 0;
    bool is_sum = strncmp(suffix, "_sum", 4) == 0 && len == own + 4;
    bool is_count = strncmp(suffix, "_count", 6) == 0 && len == own + 6;
    ck_assert_msg(is_sum || is_count || (is_bucket && strcmp(r->type, "histogram") == 0), "%s",
                  line);
    if (is_bucket) {
        ck_assert_msg(value >= r->bucket, "%s: less than the bucket before", line);
        r->bucket = value;
    }
    if (is_count && strcmp(r->type, "histogram") == 0) {
        ck_assert_msg(value == r->bucket, "%s: its last bucket has %lu", line,
                      (unsigned long)r->bucket);
        r->bucket = 0;
    }
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

#define LINES_MAX 100000

/* Every line, and that no series comes twice. */
static void expect_strict(void)
{
    static char *lines[LINES_MAX];
    static struct reader r;
    size_t count = 0;
    size_t len = strlen(scrape_page());
    char *text = base_new(len + 1);
    memcpy(text, scrape_page(), len);
    memset(&r, 0, sizeof r);
    ck_assert(len > 0 && text[len - 1] == '\n');
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL && rest != NULL;) {
        ck_assert_uint_lt(count, LINES_MAX);
        lines[count++] = line;
    }
    for (size_t i = 0; i < count; i++) {
        if (strncmp(lines[i], "# TYPE ", 7) == 0)
            ck_assert(i > 0 && strncmp(lines[i - 1], "# HELP ", 7) == 0);
        else if (lines[i][0] == '#')
            read_head(&r, lines[i], i + 1 < count ? lines[i + 1] : NULL);
        else
            read_sample(&r, lines[i]);
    }
    ck_assert_uint_gt(r.samples, 50);
    for (size_t i = 0; i < count; i++)
        if (lines[i][0] != '#')
            *strrchr(lines[i], ' ') = '\0';
    qsort(lines, count, sizeof lines[0], compare_lines);
    for (size_t i = 1; i < count; i++)
        ck_assert_msg(strcmp(lines[i - 1], lines[i]) != 0, "%s comes twice", lines[i]);
    base_free(text);
}

START_TEST(every_line_is_as_the_format_wants_it)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "r", "stats", "q", "v");
    http_get(w.http, "/v1/tables/devices/rows");
    http_get(w.http, "/v1/nothing");
    scrape(w.op);
    scrape(w.op);
    expect_strict();
    world_fini(&w);
}
END_TEST

/* --- that it counts ----------------------------------------------------------------------------
 */

START_TEST(requests_are_counted_by_route_and_status)
{
    world_init(&w, (enum http_version)_i);
    uint64_t puts = scrape_number(w.op, "bigtent_requests_total{" ROUTE_PUT ",code=\"2xx\"}");
    uint64_t bad = scrape_number(w.op, "bigtent_requests_total{" ROUTE_PUT ",code=\"4xx\"}");
    uint64_t reads = scrape_number(w.op, "bigtent_requests_total{" ROUTE_GET ",code=\"4xx\"}");
    uint64_t took = scrape_number(w.op, "bigtent_request_duration_seconds_count{" ROUTE_PUT "}");
    uint64_t in = scrape_number(w.op, "bigtent_request_bytes_total{" ROUTE_PUT "}");
    uint64_t missing =
        scrape_number(w.op, "bigtent_errors_total{protocol=\"json\",reason=\"not_found\"}");
    for (int i = 0; i < 3; i++) {
        http_json(w.http, "PUT", "{'stats':{'q':'v'}}", "/v1/tables/devices/rows/r%d", i);
        EXPECT_STATUS(w.http, 201);
    }
    http_json(w.http, "PUT", "{'stats':7}", "/v1/tables/devices/rows/r");
    EXPECT_STATUS(w.http, 400);
    http_get(w.http, "/v1/tables/devices/rows/none");
    EXPECT_STATUS(w.http, 404);
    scrape_expect(w.op, "bigtent_requests_total{" ROUTE_PUT ",code=\"2xx\"}", puts + 3);
    scrape_expect(w.op, "bigtent_requests_total{" ROUTE_PUT ",code=\"4xx\"}", bad + 1);
    scrape_expect(w.op, "bigtent_requests_total{" ROUTE_GET ",code=\"4xx\"}", reads + 1);
    scrape_expect(w.op, "bigtent_request_duration_seconds_count{" ROUTE_PUT "}", took + 4);
    scrape_expect(w.op, "bigtent_request_bytes_total{" ROUTE_PUT "}",
                  in + 3 * strlen("{'stats':{'q':'v'}}") + strlen("{'stats':7}"));
    scrape_expect(w.op, "bigtent_errors_total{protocol=\"json\",reason=\"not_found\"}",
                  missing + 1);
    world_fini(&w);
}
END_TEST

START_TEST(grpc_is_counted_by_method_and_code)
{
    static const char series[] =
        "bigtent_requests_total{protocol=\"grpc\",route=\"/google.bigtable.v2.Bigtable/ReadRows\","
        "code=\"UNAUTHENTICATED\"}";
    world_init(&w, HTTP_2);
    uint64_t before = scrape_number(w.op, series);
    struct http *h = http_open(world_server(), HTTP_2, NULL);
    http_always(h, "TE: trailers");
    for (int i = 0; i < 2; i++) {
        http_once(h, "Content-Type: application/grpc");
        http_send(h, "POST", "/google.bigtable.v2.Bigtable/ReadRows", SLICE_EMPTY);
    }
    ck_assert_str_eq(http_header(h, "grpc-status"), "16");
    http_close(h);
    scrape_expect(w.op, series, before + 2);
    world_fini(&w);
}
END_TEST

START_TEST(a_tenant_has_what_it_did)
{
    world_init(&w, (enum http_version)_i);
    for (int i = 0; i < 3; i++) {
        http_json(w.http, "PUT", "{'stats':{'q':'v'}}", "/v1/tables/devices/rows/r%d", i);
        EXPECT_STATUS(w.http, 201);
    }
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_json(w.http, "POST",
              "{'key':'a','cells':{'stats':{'q':'1'}}}\n{'key':'b','op':'delete'}\n",
              "/v1/tables/devices:write");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, "/v1/tables/devices/rows");
    EXPECT_STATUS(w.http, 200);
    uint64_t listed = w.http->body.len;
    http_get(w.http, "/v1/usage");
    http_get(w.http, "/v1/tables/none/rows/r");
    EXPECT_STATUS(w.http, 404);
    scrape_expect(w.op, of_tenant("operations_total", ",kind=\"write\""), 5);
    scrape_expect(w.op, of_tenant("operations_total", ",kind=\"read\""),
                  2); /* the last one is charged */
    scrape_expect(w.op, of_tenant("operations_total", ",kind=\"other\""), 2); /* its table, usage */
    scrape_expect(w.op, of_tenant("errors_total", ",blame=\"caller\""), 1);
    scrape_expect(w.op, of_tenant("errors_total", ",blame=\"server\""), 0);
    scrape_expect(w.op, of_tenant("read_rows_total", ""), 4);
    scrape_expect(w.op, of_tenant("stored_rows", ""), 4);
    scrape_expect(w.op, of_tenant("request_duration_seconds_count", ""), 6);
    scrape_expect(w.op, of_tenant("requests_under_way", ""), 0);
    ck_assert_uint_gt(scrape_seen(of_tenant("response_bytes_total", "")), listed);
    ck_assert_str_eq(scrape_value(of_tenant("quota_rows", "")), "");
    admin_set_quota(w.op, w.tenant, "{'rows':1000}");
    scrape_expect(w.op, of_tenant("quota_rows", ""), 1000);
    world_fini(&w);
}
END_TEST

static void write_rows(int count, const char *member)
{
    struct buf lines;
    base_buf_init(&lines, MIB);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(base_buf_printf(&lines, "{'key':'r%d',%s}\n", i, member), ERR_OK);
    ck_assert_int_eq(base_buf_append_byte(&lines, 0), ERR_OK);
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_json(w.http, "POST", (const char *)lines.ptr, "/v1/tables/devices:write");
    EXPECT_STATUS(w.http, 200);
    base_buf_fini(&lines);
}

/* The front of a queue that nobody compacted yet. */
START_TEST(a_table_in_which_reads_pass_removed_rows_is_named)
{
    char name[256];
    world_init(&w, (enum http_version)_i);
    (void)snprintf(name, sizeof name,
                   "bigtent_removed_keys_passed{tenant=\"%s\",table=\"devices\"}", w.tenant);
    scrape(w.op);
    ck_assert_str_eq(scrape_value(name), "");
    write_rows(400, "'cells':{'stats':{'q':'1'}}");
    write_rows(400, "'op':'delete'");
    http_get(w.http, "/v1/tables/devices/rows?limit=1");
    EXPECT_STATUS(w.http, 200);
    scrape(w.op);
    ck_assert_uint_ge(scrape_seen(name), 400);
    world_fini(&w);
}
END_TEST

static int put_one(void *arg)
{
    (void)arg;
    return http_json(w.http, "PUT", "{'stats':{'q':'v'}}", "/v1/tables/devices/rows/r");
}

START_TEST(throttling_is_counted_with_the_waiting)
{
    world_init(&w, (enum http_version)_i);
    uint64_t all = scrape_number(w.op, "bigtent_throttled_total{policy=\"write_ops\"}");
    struct rate r;
    const uint64_t refused = 3;
    tenant_put(w.http, "devices", "r", "stats", "q", "v");
    rate_watch(&r, 1, 1);
    admin_set_quota(w.op, w.tenant, "{'write_ops_per_s':1}");
    for (uint64_t i = 0; i < refused; i++)
        rate_use_up(&r, put_one, NULL, 200, 429);
    scrape_expect(w.op, of_tenant("throttled_total", ",policy=\"write_ops\""), refused);
    scrape_expect(w.op, "bigtent_throttled_total{policy=\"write_ops\"}", all + refused);
    scrape_expect(w.op, of_tenant("errors_total", ",blame=\"caller\""), refused);
    const char *waited =
        scrape_value(of_tenant("throttled_seconds_total", ",policy=\"write_ops\""));
    ck_assert_msg(waited[0] != '\0' && strcmp(waited, "0") != 0, "%s", waited);
    uint64_t over = scrape_number(w.op, "bigtent_requests_total{" ROUTE_PUT ",code=\"4xx\"}");
    admin_set_quota(w.op, w.tenant, "{'rows':0}");
    http_json(w.http, "PUT", "{'stats':{'q':'v'}}", "/v1/tables/devices/rows/another");
    EXPECT_PROBLEM(w.http, 403, "quota");
    scrape_expect(w.op, of_tenant("throttled_total", ",policy=\"quota\""), 1);
    scrape_expect(w.op, of_tenant("errors_total", ",blame=\"caller\""), refused + 1);
    /* It does not look like a failing server. */
    scrape_expect(w.op, "bigtent_requests_total{" ROUTE_PUT ",code=\"4xx\"}", over + 1);
    ck_assert_uint_eq(scrape_seen("bigtent_requests_total{" ROUTE_PUT ",code=\"5xx\"}"), 0);
    world_fini(&w);
}
END_TEST

/* --- live --------------------------------------------------------------------------------------
 */

/* The tenant's entry of the last answer; NULL: it has none. */
static json_t *entry(void)
{
    json_t *list = http_at(w.op, "/tenants");
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *one = json_array_get(list, i);
        if (strcmp(json_string_value(json_object_get(one, "id")), w.tenant) == 0)
            return one;
    }
    return NULL;
}

static int64_t entry_number(const char *name)
{
    json_t *one = entry();
    return one == NULL ? 0 : json_integer_value(json_object_get(one, name));
}

static void top(const char *query)
{
    http_get(w.op, "/v1/admin/top%s", query);
    EXPECT_STATUS(w.op, 200);
}

START_TEST(top_shows_what_was_done_in_the_last_seconds)
{
    world_init(&w, (enum http_version)_i);
    top("");
    ck_assert_int_ge(http_number(w.op, "/interval_ms"), 1000);
    ck_assert_int_eq(entry_number("write_ops"), 0);
    for (int i = 0; i < 3; i++)
        tenant_put(w.http, "devices", "r", "stats", "q", "v");
    http_get(w.http, "/v1/tables/devices/rows/r");
    EXPECT_STATUS(w.http, 200);
    size_t given = w.http->body.len;
    scrape_expect(w.op, of_tenant("request_duration_seconds_count", ""), 4); /* counted last */
    top("?order=bytes&limit=100");
    ck_assert_int_eq(entry_number("read_ops"), 1);
    ck_assert_int_eq(entry_number("write_ops"), 3);
    ck_assert_int_ge(entry_number("bytes_out"), (int64_t)given);
    ck_assert_int_eq(entry_number("throttled"), 0);
    ck_assert_int_eq(entry_number("rows"), 1);
    ck_assert_int_gt(entry_number("bytes"), 0);
    ck_assert_int_gt(entry_number("latency_p50_us"), 0);
    ck_assert_int_ge(entry_number("latency_p99_us"), entry_number("latency_p50_us"));
    ck_assert_str_eq(http_string(w.op, "/server/version"), BIGTENT_VERSION);
    ck_assert_int_ge(http_number(w.op, "/server/uptime_s"), 1);
    top("?order=latency&limit=1");
    ck_assert_uint_eq(http_count(w.op, "/tenants"), 1);
    ck_assert_int_ge(http_number(w.op, "/active"), 1);
    ck_assert_int_ge(http_number(w.op, "/total/read_ops"), entry_number("read_ops"));
    ck_assert_int_ge(http_number(w.op, "/total/bytes_out"), entry_number("bytes_out"));
    world_fini(&w);
}
END_TEST

START_TEST(top_is_for_operators_and_refuses_what_it_does_not_know)
{
    world_init(&w, (enum http_version)_i);
    http_get(w.http, "/v1/admin/top");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    static const char *const bad[] = {"order=rows", "order=", "limit=0", "limit=101", "limits=1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        http_get(w.op, "/v1/admin/top?%s", bad[i]);
        EXPECT_PROBLEM_OF(w.op, bad[i], 400, "invalid");
    }
    http_json(w.op, "POST", "{'kind':'operator','scopes':['ops.read']}", "/v1/admin/keys");
    EXPECT_STATUS(w.op, 201);
    http_use_key(w.http, http_string(w.op, "/key"));
    http_get(w.http, "/v1/admin/top");
    EXPECT_STATUS(w.http, 200);
    world_fini(&w);
}
END_TEST

/* --- its bound ---------------------------------------------------------------------------------
 */

static size_t count_of(const char *what)
{
    size_t count = 0;
    for (const char *at = scrape_page(); (at = strstr(at, what)) != NULL; at++)
        count++;
    return count;
}

#define MORE 3

START_TEST(no_more_tenants_than_the_limit_have_a_name)
{
    world_init(&w, HTTP_2);
    char key[WORLD_KEY];
    admin_create_global_key(w.op, "service", key, NULL);
    struct http *h = http_open(world_server(), HTTP_2, key);
    scrape(w.op);
    uint64_t before = scrape_seen("bigtent_tenants_seen");
    for (size_t i = 0; i < LIM_METRICS_TENANTS + MORE; i++) {
        char id[WORLD_ID];
        (void)snprintf(id, sizeof id, "quiet-%04zu", i);
        admin_create_tenant(w.op, id);
        http_once(h, "Bigtent-Tenant: %s", id);
        http_get(h, "/v1/usage");
        EXPECT_STATUS(h, 200);
    }
    for (int i = 0; i < 3; i++)
        http_get(w.http, "/v1/usage");
    /* the busy one has a name; of the others, some are left out and counted */
    scrape_expect(w.op, of_tenant("operations_total", ",kind=\"other\""), 4);
    scrape_expect(w.op, "bigtent_tenants_seen", before + LIM_METRICS_TENANTS + MORE);
    scrape_expect(w.op, "bigtent_tenants_left_out", before + MORE);
    ck_assert_uint_eq(count_of("\nbigtent_tenant_stored_rows{"), LIM_METRICS_TENANTS);
    expect_strict();
    http_close(h);
    world_fini(&w);
}
END_TEST

Suite *suite_api_metrics(void);

Suite *suite_api_metrics(void)
{
    Suite *s = suite_create("api_metrics");
    TCase *tc = tcase_create("metrics");
    tcase_set_timeout(tc, 120);
    world_begin(tc);
    tcase_add_loop_test(tc, operators_and_ops_keys_see_it, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, nobody_else_does, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, every_line_is_as_the_format_wants_it, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, requests_are_counted_by_route_and_status, 0, HTTP_VERSIONS);
    tcase_add_test(tc, grpc_is_counted_by_method_and_code);
    tcase_add_loop_test(tc, a_tenant_has_what_it_did, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_table_in_which_reads_pass_removed_rows_is_named, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, throttling_is_counted_with_the_waiting, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, top_shows_what_was_done_in_the_last_seconds, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, top_is_for_operators_and_refuses_what_it_does_not_know, 0,
                        HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    tc = tcase_create("bound");
    tcase_set_timeout(tc, 120);
    world_begin(tc);
    tcase_add_test(tc, no_more_tenants_than_the_limit_have_a_name);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

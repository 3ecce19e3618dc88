/*
 * tests/api/test_rates.c - rates, requests at a time, what they cost, and what callers are told.
 * Over 500 lines because all of it is seen in headers, and one strict reader reads them.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "tests/support/grpc_client.h"
#include "tests/support/rates.h"
#include "tests/support/scrape.h"
#include "tests/support/world.h"

#include <google/bigtable/v2/bigtable.pb-c.h>

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

#define ROW  "/v1/tables/devices/rows/"
#define ROWS "/v1/tables/devices/rows"
#define READ "/v1/tables/devices:read"

#define AWAIT_MS (60000 * process_patience()) /* without anything coming */

/* --- a strict reader of lists of strings with parameters (RFC 9651) ----------------------------
 */

struct param {
    char name[24];
    char text[32]; /* of a string; "": it is a number */
    int64_t number;
};

struct item {
    char name[32];
    struct param params[6];
    size_t param_count;
};

struct items {
    struct item all[12];
    size_t count;
};

static const char *read_string(const char *at, char *out, size_t size)
{
    size_t len = 0;
    ck_assert_msg(*at == '"', "no string at \"%s\"", at);
    for (at++; *at != '"'; at++) {
        ck_assert(*at >= ' ' && *at <= '~' && *at != '\\'); /* we never escape */
        ck_assert(len + 1 < size);
        out[len++] = *at;
    }
    out[len] = '\0';
    return at + 1;
}

static const char *read_integer(const char *at, int64_t *out)
{
    size_t len = strspn(at, "0123456789");
    uint64_t number = 0;
    ck_assert_msg(len >= 1 && len <= 15, "no integer at \"%s\"", at);
    ck_assert(len == 1 || *at != '0');
    ck_assert_int_eq(base_parse_u64(base_slice(at, len), &number), ERR_OK);
    *out = (int64_t)number;
    return at + len;
}

static const char *read_param(const char *at, struct param *p)
{
    size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_-.*");
    ck_assert(len >= 1 && len < sizeof p->name && at[0] >= 'a' && at[0] <= 'z');
    memcpy(p->name, at, len);
    p->name[len] = '\0';
    p->text[0] = '\0';
    at += len;
    ck_assert_msg(*at == '=', "no value at \"%s\"", at);
    return at[1] == '"' ? read_string(at + 1, p->text, sizeof p->text)
                        : read_integer(at + 1, &p->number);
}

static struct items items_of(const char *header)
{
    struct items list = {.count = 0};
    ck_assert_ptr_nonnull(header);
    for (;;) {
        ck_assert(list.count < 12);
        struct item *i = &list.all[list.count++];
        i->param_count = 0;
        header = read_string(header, i->name, sizeof i->name);
        while (*header == ';') {
            ck_assert(i->param_count < 6);
            header = read_param(header + 1, &i->params[i->param_count++]);
        }
        if (*header == '\0')
            return list;
        ck_assert_msg(strncmp(header, ", ", 2) == 0, "no comma at \"%s\"", header);
        header += 2;
    }
}

static const struct param *param_of(const struct items *list, const char *item, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct item *one = &list->all[i];
        for (size_t k = 0; strcmp(one->name, item) == 0 && k < one->param_count; k++) {
            if (strcmp(one->params[k].name, name) == 0)
                return &one->params[k];
        }
    }
    return NULL;
}

static int64_t number_of(const struct items *list, const char *item, const char *name)
{
    const struct param *p = param_of(list, item, name);
    ck_assert_msg(p != NULL && p->text[0] == '\0', "no number %s of %s", name, item);
    return p->number;
}

static int64_t left_of(const char *policy)
{
    struct items list = items_of(http_header(w.http, "ratelimit"));
    int64_t t = number_of(&list, policy, "t");
    ck_assert_int_ge(t, 0);
    return number_of(&list, policy, "r");
}

static int64_t parsed(const char *text)
{
    uint64_t number = 0;
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(base_parse_u64(base_slice_text(text), &number), ERR_OK);
    return (int64_t)number;
}

static int64_t cost(struct http *h)
{
    return parsed(http_header(h, "bigtent-cost"));
}

static void expect_refused_by(const char *policy)
{
    EXPECT_PROBLEM(w.http, 429, "rate_limited");
    ck_assert_str_eq(http_string(w.http, "/type"),
                     "https://iana.org/assignments/http-problem-types#quota-exceeded");
    ck_assert_uint_eq(http_count(w.http, "/violated-policies"), 1);
    ck_assert_str_eq(http_string(w.http, "/violated-policies/0"), policy);
    ck_assert_ptr_nonnull(strstr(http_string(w.http, "/detail"), policy));
    ck_assert_int_eq(left_of(policy), 0);
    /* the longest wait that is told is the one that was refused for */
    struct items list = items_of(http_header(w.http, "ratelimit"));
    int64_t t = number_of(&list, policy, "t");
    int64_t after = parsed(http_header(w.http, "retry-after"));
    ck_assert_int_ge(after, 1);
    ck_assert_int_le(t, after);
}

static void put_value(const char *key, size_t bytes)
{
    char *value = base_new(bytes);
    memset(value, 'v', bytes);
    http_bytes(w.http, "PUT", base_slice(value, bytes), "/v1/tables/devices/cells/%s/stats/q", key);
    base_free(value);
    EXPECT_STATUS(w.http, 204);
}

/* --- headers ---------------------------------------------------------------------------------- */

START_TEST(policies_and_what_is_left_are_structured_fields)
{
    struct rate reads, writes, bytes;
    world_init(&w, (enum http_version)_i);
    rate_watch(&reads, 5, 10);
    rate_watch(&writes, 2, 4);
    rate_watch(&bytes, 2048, 4096);
    admin_set_quota(w.op, w.tenant,
                    "{'read_ops_per_s':5,'write_ops_per_s':2,'read_bytes_per_s':1048576,"
                    "'write_bytes_per_s':2048,'burst_ms':2000,'concurrent_requests':8}");
    http_get(w.http, ROW "k");
    EXPECT_STATUS(w.http, 404); /* every answer has them */
    rate_passed(&reads);
    rate_expect_left(&reads, left_of("read_ops"));
    struct items p = items_of(http_header(w.http, "ratelimit-policy"));
    ck_assert_uint_eq(p.count, 5);
    static const struct {
        const char *name;
        int64_t q;
        const char *qu;
    } wanted[] = {{"read_ops", 5, NULL},
                  {"write_ops", 2, NULL},
                  {"read_bytes", 1048576, "content-bytes"},
                  {"write_bytes", 2048, "content-bytes"},
                  {"concurrency", 8, "concurrent-requests"}};
    for (size_t i = 0; i < 5; i++) {
        bool is_rate = i < 4;
        ck_assert_str_eq(p.all[i].name, wanted[i].name);
        ck_assert_int_eq(number_of(&p, wanted[i].name, "q"), wanted[i].q);
        const struct param *unit = param_of(&p, wanted[i].name, "qu");
        ck_assert((unit == NULL) == (wanted[i].qu == NULL));
        ck_assert(unit == NULL || strcmp(unit->text, wanted[i].qu) == 0);
        ck_assert((param_of(&p, wanted[i].name, "w") != NULL) == is_rate);
        ck_assert((param_of(&p, wanted[i].name, "bigtent-burst") != NULL) == is_rate);
        if (is_rate) {
            ck_assert_int_eq(number_of(&p, wanted[i].name, "w"), 1);
            ck_assert_int_eq(number_of(&p, wanted[i].name, "bigtent-burst"), 2 * wanted[i].q);
        }
    }
    struct items r = items_of(http_header(w.http, "ratelimit"));
    ck_assert_uint_eq(r.count, 3); /* what a read is held against */
    ck_assert_int_eq(left_of("concurrency"), 8);
    ck_assert_ptr_null(http_header(w.http, "retry-after"));
    put_value("k", 3000);
    rate_passed(&writes);
    rate_expect_left(&writes, left_of("write_ops"));
    bytes.passed = 3000 + 2; /* the value, the key and the qualifier */
    rate_expect_left(&bytes, left_of("write_bytes"));
}
END_TEST

START_TEST(who_has_no_limits_hears_of_none)
{
    world_init(&w, (enum http_version)_i);
    http_get(w.http, ROW "k");
    ck_assert_ptr_null(http_header(w.http, "ratelimit"));
    ck_assert_ptr_null(http_header(w.http, "ratelimit-policy"));
    ck_assert_int_eq(cost(w.http), 1);
    http_get(w.op, "/v1/admin/tenants/%s", w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_ptr_null(http_header(w.op, "bigtent-cost"));
    ck_assert_ptr_null(http_header(w.op, "ratelimit-policy"));
}
END_TEST

static int get_none(void *arg)
{
    (void)arg;
    return http_get(w.http, ROW "none");
}

/* Earlier answers say nothing of waiting. Whatever is left after the last one that passes was left
 * when it passed, for the next one was refused: nothing. */
static int get_and_compare(void *arg)
{
    const struct rate *r = arg;
    int status = get_none(NULL);
    if (status == 429)
        return status;
    int64_t left = left_of("read_ops");
    ck_assert_int_ge(left, r->burst - r->passed - 1);
    const char *wait = http_header(w.http, "retry-after");
    if (left > 0)
        ck_assert_ptr_null(wait);
    else
        ck_assert_str_eq(wait, "1");
    return status;
}

START_TEST(the_last_one_that_passes_is_told_to_wait_already)
{
    struct rate r;
    world_init(&w, (enum http_version)_i);
    rate_watch(&r, 2, 2);
    admin_set_quota(w.op, w.tenant, "{'read_ops_per_s':2}");
    (void)get_and_compare(&r);
    EXPECT_STATUS(w.http, 404);
    rate_passed(&r);
    rate_expect_left(&r, left_of("read_ops"));
    rate_use_up(&r, get_and_compare, &r, 404, 429);
    expect_refused_by("read_ops");
}
END_TEST

/* --- costs ------------------------------------------------------------------------------------ */

START_TEST(answers_say_what_they_cost)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.http, "PUT", "{'stats':{'q':'1'}}", ROW "a");
    ck_assert_int_eq(cost(w.http), 2);
    put_value("b", 10240); /* and two bytes of names: 10 KiB */
    ck_assert_int_eq(cost(w.http), 2 + 10);
    http_get(w.http, ROW "b");
    ck_assert_int_eq(cost(w.http), 1 + 2);
    http_get(w.http, "/v1/tables/devices/cells/b/stats/q");
    ck_assert_int_eq(cost(w.http), 1 + 2);
    http_delete(w.http, ROW "a");
    ck_assert_int_eq(cost(w.http), 2);
    http_get(w.http, ROWS "?stats=true");
    ck_assert_int_eq(http_number(w.http, "/stats/cost"), cost(w.http));
    ck_assert_int_gt(http_number(w.http, "/stats/bytes_seen"), 0);
    /* a refusal that is not about rates has cost what it did */
    http_get(w.http, "/v1/tables/none/rows/k");
    EXPECT_PROBLEM(w.http, 404, "not_found");
    ck_assert_int_eq(cost(w.http), 1);
}
END_TEST

START_TEST(streams_say_what_they_cost_at_their_end)
{
    world_init(&w, (enum http_version)_i);
    for (int i = 0; i < 40; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%02d", i);
        put_value(key, 20000);
    }
    http_once(w.http, "Accept: application/x-ndjson");
    http_get(w.http, ROWS "?stats=true");
    EXPECT_STATUS(w.http, 200);
    size_t lines = http_lines(w.http);
    ck_assert_uint_eq(lines, 41);
    json_t *last = http_line_new(w.http, 40);
    int64_t told = json_integer_value(json_at(last, "/stats/cost"));
    json_decref(last);
    /* of each row its key (5 bytes as stored), "q" and timestamp (14), a little of encoding, 64 */
    ck_assert_int_ge(told, 1 + 40 * 20000 / 4096);
    ck_assert_int_le(told, 1 + 40 * 20150 / 4096);
    if ((enum http_version)_i == HTTP_2)
        ck_assert_int_eq(cost(w.http), told);
    else
        ck_assert_ptr_null(http_header(w.http, "bigtent-cost"));
    http_get(w.http, "/v1/metering");
    EXPECT_STATUS(w.http, 200);
    if ((enum http_version)_i == HTTP_2)
        ck_assert_int_eq(cost(w.http), 1);
    http_once(w.http, "Accept: application/x-ndjson");
    http_get(w.http, "/v1/audit");
    EXPECT_STATUS(w.http, 200);
    if ((enum http_version)_i == HTTP_2)
        ck_assert_int_ge(cost(w.http), 1); /* one for the call, the rest for the time it took */
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_bytes(w.http, "POST",
               SLICE_LIT("{\"key\":\"a\",\"cells\":{\"stats\":{\"q\":\"1\"}}}\n"
                         "{\"key\":\"b\",\"cells\":{\"stats\":{\"q\":\"1\"}}}\n"),
               "/v1/tables/devices:write");
    json_t *summary = http_line_new(w.http, 2);
    ck_assert_int_eq(json_integer_value(json_at(summary, "/ok")), 2);
    ck_assert_int_eq(json_integer_value(json_at(summary, "/cost")), 4);
    json_decref(summary);
}
END_TEST

/* --- bytes ------------------------------------------------------------------------------------ */

START_TEST(bytes_written_are_charged_before)
{
    world_init(&w, (enum http_version)_i);
    admin_set_quota(w.op, w.tenant, "{'write_bytes_per_s':1024," RATE_DEBT "}");
    put_value("a", 500);
    put_value("b", 200000); /* on credit */
    http_json(w.http, "PUT", "{'stats':{'q':'1'}}", ROW "c");
    expect_refused_by("write_bytes");
    http_json(w.http, "POST", "{'mutations':[{'delete_from_row':{}}]}", ROW "a:mutate");
    expect_refused_by("write_bytes");
    http_get(w.http, ROW "c");
    EXPECT_STATUS(w.http, 404);
    admin_set_quota(w.op, w.tenant, "{}");
    http_json(w.http, "PUT", "{'stats':{'q':'1'}}", ROW "c");
    EXPECT_STATUS(w.http, 201);
}
END_TEST

START_TEST(lines_of_a_bulk_are_refused_one_by_one)
{
    world_init(&w, (enum http_version)_i);
    admin_set_quota(w.op, w.tenant,
                    "{'write_bytes_per_s':1024," RATE_DEBT "}"); /* 61,440 at once */
    struct buf body;
    base_buf_init(&body, 512 * KIB);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(
            base_buf_printf(&body, "{\"key\":\"k%d\",\"cells\":{\"stats\":{\"q\":\"%060000d\"}}}\n",
                            i, 7),
            ERR_OK);
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_bytes(w.http, "POST", base_buf_slice(&body), "/v1/tables/devices:write");
    base_buf_fini(&body);
    EXPECT_STATUS(w.http, 200);
    /* 60,003 and 120,006 bytes pass, the second on credit */
    for (size_t i = 0; i < 6; i++) {
        json_t *line = http_line_new(w.http, i);
        ck_assert_int_eq(json_integer_value(json_at(line, "/status")), i < 2 ? 200 : 429);
        if (i >= 2) {
            ck_assert_str_eq(json_string_value(json_at(line, "/policy")), "write_bytes");
            ck_assert_int_gt(json_integer_value(json_at(line, "/retry_after_ms")), 0);
        }
        json_decref(line);
    }
    json_t *summary = http_line_new(w.http, 6);
    ck_assert_int_eq(json_integer_value(json_at(summary, "/cost")), 4 + 117); /* of what passed */
    json_decref(summary);
}
END_TEST

static void fill(int rows, size_t bytes)
{
    for (int i = 0; i < rows; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%04d", i);
        put_value(key, bytes);
    }
}

static int read_keys(void *arg)
{
    (void)arg;
    return http_json(w.http, "POST", "{'filter':{'row_key_regex':'.*never.*'}}", READ);
}

START_TEST(a_filter_that_gives_nothing_is_not_free)
{
    struct rate rows;
    world_init(&w, (enum http_version)_i);
    fill(100, 1000);
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':1024," RATE_DEBT "}");
    http_json(w.http, "POST", "{'filter':{'value_regex':'never'}}", READ);
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_count(w.http, "/rows"), 0);
    ck_assert_int_ge(cost(w.http), 1 + 100 * 1000 / 4096);
    http_get(w.http, ROW "k0000");
    expect_refused_by("read_bytes");
    /* rows alone as well: their cells are not looked at */
    rate_watch(&rows, 1, 60); /* of 6.4 KB each */
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':1024}");
    rate_use_up(&rows, read_keys, NULL, 200, 429);
    expect_refused_by("read_bytes");
    http_json(w.http, "PUT", "{'stats':{'q':'1'}}", ROW "a"); /* writes are not reads */
    EXPECT_STATUS(w.http, 201);
}
END_TEST

/* As the scan of the same row would be. */
START_TEST(what_a_predicate_looks_at_is_not_free)
{
    static const char *const check =
        "{'predicate':{'value_regex':'never'},'then':[{'delete_from_row':{}}]}";
    world_init(&w, (enum http_version)_i);
    put_value("long", 200000);
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':1024," RATE_DEBT "}");
    http_json(w.http, "POST", check, ROW "long:check");
    EXPECT_STATUS(w.http, 200);
    ck_assert_int_ge(cost(w.http), 200000 / 1024);
    http_json(w.http, "POST", check, ROW "long:check");
    expect_refused_by("read_bytes");
    http_json(w.http, "POST", "{'then':[{'delete_from_row':{}}]}", ROW "long:check");
    EXPECT_STATUS(w.http, 200); /* without a predicate it is a write like others */
}
END_TEST

/* As bytes written, so that a tenant whose scans owe gets rid of its rows all the same. */
START_TEST(what_is_deleted_is_not_free)
{
    world_init(&w, (enum http_version)_i);
    put_value("long", 200000);
    put_value("wide", 200000);
    put_value("last", 200000);
    http_delete(w.http, ROW "long");
    ck_assert_int_ge(cost(w.http), 2 + 200000 / 1024);
    ck_assert_int_le(cost(w.http), 2 + 201000 / 1024);
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_bytes(w.http, "POST",
               SLICE_LIT("{\"key\":\"wide\",\"mutations\":[{\"delete_from_row\":{}}]}\n"),
               "/v1/tables/devices:write");
    json_t *summary = http_line_new(w.http, 1);
    ck_assert_int_eq(json_integer_value(json_at(summary, "/ok")), 1);
    ck_assert_int_ge(json_integer_value(json_at(summary, "/cost")), 2 + 200000 / 1024);
    json_decref(summary);
    admin_set_quota(w.op, w.tenant, "{'write_bytes_per_s':1024," RATE_DEBT "}");
    http_delete(w.http, ROW "last");
    EXPECT_STATUS(w.http, 204);
    http_json(w.http, "PUT", "{'stats':{'q':'1'}}", ROW "a");
    expect_refused_by("write_bytes");
    http_get(w.http, ROW "last");
    EXPECT_STATUS(w.http, 404);
}
END_TEST

/* Seconds of the tenant's requests that its limit of bytes read made wait. */
static double paused_s(void)
{
    char series[160];
    (void)snprintf(series, sizeof series,
                   "bigtent_tenant_throttled_seconds_total{tenant=\"%s\",policy=\"read_bytes\"}",
                   w.tenant);
    scrape(w.op);
    return strtod(scrape_value(series), NULL);
}

static bool has_paused(void *arg)
{
    (void)arg;
    return paused_s() > 0;
}

START_TEST(a_scan_that_owes_pauses_and_goes_on)
{
    world_init(&w, (enum http_version)_i);
    fill(60, 20000); /* five slices */
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':800000,'burst_ms':100}");
    http_once(w.http, "Accept: application/x-ndjson");
    http_get(w.http, ROWS);
    EXPECT_STATUS(w.http, 200);
    ck_assert_uint_eq(http_lines(w.http), 60);
    /* 1.2 MB, without the burst and the last slice; no pause is longer than its slice costs */
    ck_assert_msg(w.http->seconds > 0.8, "%f s", w.http->seconds);
    process_await(has_paused, NULL, "pauses to be metered");
    ck_assert_msg(paused_s() < 2, "%f s", paused_s());
}
END_TEST

/* Starts a read of all rows with a deadline or NULL, which pauses for PAUSE_MS or more after its
 * first slice. */
#define PAUSE_MS 230000

static struct grpc_call *start_paused_read(struct grpc_client *client, const char *timeout)
{
    Bt__ReadRowsRequest request = BT__READ_ROWS_REQUEST__INIT;
    char table[160];
    fill(40, 20000);
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':1024}");
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/devices", w.tenant);
    request.table_name = table;
    grpc_open(client, world_server(), w.key, 0);
    return grpc_start(client, "/google.bigtable.v2.Bigtable/ReadRows", &request.base, timeout);
}

START_TEST(a_limit_that_is_lifted_ends_a_pause)
{
    struct grpc_client client;
    world_init(&w, HTTP_2);
    struct grpc_call *call = start_paused_read(&client, NULL);
    ck_assert(grpc_run_until(&client, call, 1, AWAIT_MS));
    process_await(has_paused, NULL, "the pause to be metered");
    ck_assert(!call->is_closed);
    admin_set_quota(w.op, w.tenant, "{}");
    ck_assert(grpc_run(&client, PAUSE_MS / 2));
    ck_assert_int_eq(call->status, 0);
    ck_assert_uint_gt(call->body.len, 40 * 20000);
    ck_assert_int_ge(parsed(call->cost), 1 + 40 * 20000 / 4096);
    grpc_close(&client);
}
END_TEST

START_TEST(a_deadline_ends_a_pause)
{
    struct grpc_client client;
    world_init(&w, HTTP_2);
    struct grpc_call *call = start_paused_read(&client, "1500m");
    ck_assert(grpc_run(&client, AWAIT_MS));
    ck_assert_int_eq(call->status, 4);
    ck_assert_str_ne(call->cost, "");
    grpc_close(&client);
}
END_TEST

/* --- requests at a time ----------------------------------------------------------------------- */

/* Places beside the request's own: 0 when it is refused. */
static bool are_left(void *arg)
{
    const int64_t *wanted = arg;
    http_get(w.http, ROW "k0000");
    return w.http->status == 200 && left_of("concurrency") == *wanted;
}

START_TEST(a_reader_that_does_not_take_its_rows_holds_a_place)
{
    world_init(&w, HTTP_2);
    fill(100, 20000);
    admin_set_quota(w.op, w.tenant, "{'concurrent_requests':2}");
    struct grpc_client client;
    Bt__ReadRowsRequest request = BT__READ_ROWS_REQUEST__INIT;
    char table[160];
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/devices", w.tenant);
    request.table_name = table;
    grpc_open(&client, world_server(), w.key, 1000);
    struct grpc_call *one =
        grpc_start(&client, "/google.bigtable.v2.Bigtable/ReadRows", &request.base, NULL);
    ck_assert(grpc_run_until(&client, one, 1, AWAIT_MS));
    http_get(w.http, ROW "k0000");
    EXPECT_STATUS(w.http, 200); /* the second one */
    ck_assert_int_eq(left_of("concurrency"), 1);
    struct grpc_call *two =
        grpc_start(&client, "/google.bigtable.v2.Bigtable/ReadRows", &request.base, NULL);
    ck_assert(grpc_run_until(&client, two, 1, AWAIT_MS));
    ck_assert(!one->is_closed && !two->is_closed);
    http_get(w.http, ROW "k0000");
    expect_refused_by("concurrency");
    http_json(w.http, "PUT", "{'stats':{'q':'1'}}", ROW "a");
    expect_refused_by("concurrency");
    grpc_cancel(&client, one);
    process_await(are_left, &(int64_t){1}, "the cancelled call's place");
    ck_assert(!two->is_closed);
    grpc_close(&client); /* the connection goes, and with it the other */
    process_await(are_left, &(int64_t){2}, "the closed connection's place");
}
END_TEST

START_TEST(places_of_whatever_ends_are_given_back)
{
    world_init(&w, (enum http_version)_i);
    admin_set_quota(w.op, w.tenant, "{'concurrent_requests':1}");
    for (int i = 0; i < 30; i++) {
        http_get(w.http, ROW "k"); /* 404 */
        ck_assert_int_eq(left_of("concurrency"), 1);
        http_get(w.http, "/v1/tables/none/rows");
        ck_assert_int_eq(left_of("concurrency"), 1);
        http_json(w.http, "PUT", "{'none':{'q':'1'}}", ROW "k");
        ck_assert_int_eq(left_of("concurrency"), 1);
        http_json(w.http, "PUT", "{", ROW "k");
        ck_assert_int_eq(w.http->status, 400);
        http_once(w.http, "Content-Type: application/x-ndjson");
        http_bytes(w.http, "POST", SLICE_LIT("{}\n"), "/v1/tables/devices:write");
        EXPECT_STATUS(w.http, 200);
    }
}
END_TEST

/* --- whose -------------------------------------------------------------------------------------
 */

START_TEST(no_tenant_sees_anothers_load)
{
    world_init(&w, (enum http_version)_i);
    char other[WORLD_ID], key[WORLD_KEY], second[WORLD_KEY];
    struct rate mine, others;
    world_fresh_id(other);
    admin_create_tenant(w.op, other);
    admin_create_key(w.op, other, NULL, key, NULL);
    admin_create_key(w.op, w.tenant, NULL, second, NULL);
    rate_watch(&mine, 1, 60);
    rate_watch(&others, 1, 60);
    admin_set_quota(w.op, w.tenant, "{'read_ops_per_s':1,'burst_ms':60000}");
    admin_set_quota(w.op, other, "{'read_ops_per_s':1,'burst_ms':60000}");
    for (int i = 0; i < 50; i++) {
        http_get(w.http, "/v1/tables");
        EXPECT_STATUS(w.http, 200);
        rate_passed(&mine);
    }
    rate_expect_left(&mine, left_of("read_ops"));
    http_use_key(w.http, second); /* another key of the tenant shares its rate */
    http_get(w.http, "/v1/tables");
    rate_passed(&mine);
    rate_expect_left(&mine, left_of("read_ops"));
    http_use_key(w.http, key); /* the other tenant's is whole */
    http_get(w.http, "/v1/tables");
    rate_passed(&others);
    rate_expect_left(&others, left_of("read_ops"));
    /* who may not act for a tenant hears nothing of its limits */
    http_once(w.http, "Bigtent-Tenant: %s", w.tenant);
    http_get(w.http, "/v1/tables");
    EXPECT_PROBLEM(w.http, 403, "forbidden");
    ck_assert_ptr_null(http_header(w.http, "ratelimit"));
    ck_assert_ptr_null(http_header(w.http, "ratelimit-policy"));
    ck_assert_ptr_null(http_header(w.http, "bigtent-cost"));
    http_use_key(w.http, NULL);
    http_get(w.http, "/v1/tables");
    EXPECT_PROBLEM(w.http, 401, "unauthenticated");
    ck_assert_ptr_null(http_header(w.http, "ratelimit-policy"));
}
END_TEST

Suite *suite_api_rates(void);
Suite *suite_api_rates(void)
{
    Suite *s = suite_create("api_rates");
    TCase *tc = tcase_create("rates");
    tcase_set_timeout(tc, 120);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, policies_and_what_is_left_are_structured_fields, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, who_has_no_limits_hears_of_none, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, the_last_one_that_passes_is_told_to_wait_already, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, answers_say_what_they_cost, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, streams_say_what_they_cost_at_their_end, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, bytes_written_are_charged_before, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, lines_of_a_bulk_are_refused_one_by_one, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_filter_that_gives_nothing_is_not_free, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, what_a_predicate_looks_at_is_not_free, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, what_is_deleted_is_not_free, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_scan_that_owes_pauses_and_goes_on, 0, HTTP_VERSIONS);
    tcase_add_test(tc, a_limit_that_is_lifted_ends_a_pause);
    tcase_add_test(tc, a_deadline_ends_a_pause);
    tcase_add_test(tc, a_reader_that_does_not_take_its_rows_holds_a_place);
    tcase_add_loop_test(tc, places_of_whatever_ends_are_given_back, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, no_tenant_sees_anothers_load, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

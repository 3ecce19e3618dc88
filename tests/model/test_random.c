/*
 * tests/model/test_random.c - random operations of several tenants against a simple model.
 *
 * Every answer is compared: rows, pages, streams, cells, verdicts, counts. The server is stopped or
 * killed and started again in between. The seed is printed; MODEL_SEED repeats a run, MODEL_OPS
 * says how many operations.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/support/model_draw.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define TENANTS 3
#define TABLES  2

static const char *const IDS[TENANTS] = {"ab", "abc", "ab-"};
static const char *const NAMES[TABLES] = {"first", "firstly"};

struct tenant {
    char key[WORLD_KEY];
    struct http *clients[HTTP_VERSIONS];
    struct model_table tables[TABLES];
};

static struct server server;
static struct http *op;
static struct tenant tenants[TENANTS];

static struct http *client(struct tenant *t)
{
    return t->clients[model_below(HTTP_VERSIONS)];
}

/* --- writes ------------------------------------------------------------------------------------*/

static int64_t answered_timestamp(struct http *h)
{
    int64_t us = 0;
    ck_assert_int_eq(base_parse_i64(base_slice_text(http_string(h, "/timestamp")), &us), ERR_OK);
    return us;
}

/* Cells of one PUT or PATCH; the model is changed after the answer, whose timestamp is that of the
 * cells without one. Binary columns come last in the body, so they are kept apart. */
static void write_row(struct tenant *t, struct model_table *table, const char *name, bool replace)
{
    static struct model_drawn cells[4];
    bool stamped[4];
    bool added[4];
    json_t *body = json_object();
    uint32_t count = 1 + model_below(4);
    for (uint32_t i = 0; i < count; i++) {
        model_draw(&cells[i]);
        cells[i].key = base_slice(cells[0].key_room, cells[0].key.len);
        stamped[i] = model_below(3) != 0;
        added[i] = model_body_add(body, table, &cells[i], model_value_new(&cells[i], stamped[i]));
    }
    bool existed = model_has_row(table, cells[0].key);
    struct http *h = client(t);
    http_value_take(h, replace ? "PUT" : "PATCH", body, "/v1/tables/%s/rows/%s", name,
                    pct(cells[0].key.ptr, cells[0].key.len));
    EXPECT_STATUS(h, existed ? 200 : 201);
    int64_t now = answered_timestamp(h);
    if (replace)
        model_delete(table, cells[0].key, MODEL_ANY, NULL);
    /* The order of the body: member names as they came first, "$binary" as a member of its own. Two
     * cells of one column and timestamp: the later in the body wins; that can only be two binary
     * ones, or two of the same drawn order. */
    for (uint32_t i = 0; i < count; i++) {
        if (added[i])
            model_set(table, cells[0].key, cells[i].family, cells[i].qualifier,
                      stamped[i] ? cells[i].timestamp : now, cells[i].value);
    }
}

static void patch_nulls(struct tenant *t, struct model_table *table, const char *name)
{
    static struct model_drawn d;
    model_draw(&d);
    if (table->count > 0 && model_below(4) != 0) { /* mostly something that is there */
        const struct model_cell *c = &table->cells[model_below((uint32_t)table->count)];
        memcpy(d.key_room, c->key.ptr, c->key.len);
        d.key = base_slice(d.key_room, c->key.len);
        memcpy(d.qualifier_room, c->qualifier.ptr, c->qualifier.len);
        d.qualifier = base_slice(d.qualifier_room, c->qualifier.len);
        d.family = c->family;
    }
    bool whole_family = model_below(3) == 0 || !model_is_member_name(d.qualifier);
    json_t *body = json_object();
    if (whole_family)
        json_object_set_new(body, table->families[d.family], json_null());
    else
        (void)model_body_add(body, table, &d, json_null());
    struct http *h = client(t);
    http_value_take(h, "PATCH", body, "/v1/tables/%s/rows/%s", name, pct(d.key.ptr, d.key.len));
    EXPECT_STATUS(h, 200);
    model_delete(table, d.key, d.family, whole_family ? NULL : &d.qualifier);
}

static void delete_row(struct tenant *t, struct model_table *table, const char *name)
{
    static struct model_drawn d;
    model_draw(&d);
    struct http *h = client(t);
    http_delete(h, "/v1/tables/%s/rows/%s", name, pct(d.key.ptr, d.key.len));
    EXPECT_STATUS(h, 204);
    model_delete(table, d.key, MODEL_ANY, NULL);
}

static void cell(struct tenant *t, struct model_table *table, const char *name)
{
    static struct model_drawn d;
    static char target[1024];
    model_draw(&d);
    struct http *h = client(t);
    (void)snprintf(target, sizeof(target), "/v1/tables/%s/cells/%s/%s/%s", name,
                   pct(d.key.ptr, d.key.len), table->families[d.family],
                   pct(d.qualifier.ptr, d.qualifier.len));
    uint32_t kind = model_below(4);
    if (kind < 2) {
        http_bytes(h, "PUT", d.value.len > 0 ? d.value : SLICE_EMPTY, "%s?timestamp=%lld", target,
                   (long long)d.timestamp);
        EXPECT_STATUS(h, 204);
        model_set(table, d.key, d.family, d.qualifier, d.timestamp, d.value);
    } else if (kind == 2) {
        http_delete(h, "%s", target);
        EXPECT_STATUS(h, 204);
        model_delete(table, d.key, d.family, &d.qualifier);
    }
    const struct model_cell *newest = model_newest(table, d.key, d.family, d.qualifier);
    http_get(h, "%s", target);
    if (newest == NULL) {
        EXPECT_PROBLEM(h, 404, "not_found");
        return;
    }
    char timestamp[32];
    (void)snprintf(timestamp, sizeof(timestamp), "%lld", (long long)newest->timestamp);
    EXPECT_STATUS(h, 200);
    ck_assert_str_eq(http_header(h, "bigtent-timestamp"), timestamp);
    ck_assert(base_slice_equal(base_buf_slice(&h->body), newest->value));
}

/* Up to 30 lines; each knows what the model must become. */
static void bulk(struct tenant *t, struct model_table *table, const char *name)
{
    static struct model_drawn d;
    struct buf lines;
    base_buf_init(&lines, 1024 * 1024);
    uint32_t count = 1 + model_below(30);
    uint32_t bad = 0;
    for (uint32_t i = 0; i < count; i++) {
        model_draw(&d);
        uint32_t kind = model_below(10);
        json_t *line = json_object();
        model_json_bytes(line, "key", d.key);
        if (kind < 2) {
            json_object_set_new(line, "op", json_string("delete"));
            model_delete(table, d.key, MODEL_ANY, NULL);
        } else if (kind == 2) {
            json_object_set_new(line, "cells", json_pack("{s:{s:s}}", "nofamily", "q", "v"));
            bad++;
        } else {
            json_t *cells = json_object();
            (void)model_body_add(cells, table, &d, model_value_new(&d, true));
            json_object_set_new(line, "cells", cells);
            json_object_set_new(line, "op", json_string(kind < 5 ? "put" : "patch"));
            if (kind < 5)
                model_delete(table, d.key, MODEL_ANY, NULL);
            model_set(table, d.key, d.family, d.qualifier, d.timestamp, d.value);
        }
        char *room = NULL;
        size_t len = json_dumpb(line, NULL, 0, JSON_COMPACT);
        ck_assert_int_eq(base_buf_reserve(&lines, len + 1), ERR_OK);
        room = (char *)base_buf_end(&lines);
        ck_assert_uint_eq(json_dumpb(line, room, len, JSON_COMPACT), len);
        room[len] = '\n';
        lines.len += len + 1;
        json_decref(line);
    }
    struct http *h = client(t);
    http_once(h, "Content-Type: application/x-ndjson");
    http_bytes(h, "POST", base_buf_slice(&lines), "/v1/tables/%s:write", name);
    base_buf_fini(&lines);
    EXPECT_STATUS(h, 200);
    json_t *summary = http_line_new(h, http_lines(h) - 1);
    json_t *wanted = json_pack("{s:b,s:i,s:i,s:i}", "done", 1, "lines", (int)count, "ok",
                               (int)(count - bad), "failed", (int)bad);
    ck_assert_int_ge(json_integer_value(json_object_get(summary, "cost")), 2 * (count - bad));
    (void)json_object_del(summary, "cost");
    ck_assert_msg(json_equal(summary, wanted) == 1, "%s", http_text(h));
    json_decref(summary);
    json_decref(wanted);
}

static struct usage minus(struct usage a, struct usage b)
{
    return (struct usage){a.bytes - b.bytes, a.rows - b.rows, a.cells - b.cells};
}

/* The numbers below that path: exact without gc rules, else between what is seen and what was
 * written. Rows are always exact. */
static void expect_between(struct http *h, const char *path, struct usage least, struct usage most)
{
    char at[64];
    (void)snprintf(at, sizeof(at), "%s/stored_bytes", path);
    ck_assert_int_ge(http_number(h, at), least.bytes);
    ck_assert_int_le(http_number(h, at), most.bytes);
    (void)snprintf(at, sizeof(at), "%s/cells", path);
    ck_assert_int_ge(http_number(h, at), least.cells);
    ck_assert_int_le(http_number(h, at), most.cells);
    (void)snprintf(at, sizeof(at), "%s/rows", path);
    ck_assert_int_eq(http_number(h, at), most.rows);
}

static void drop(struct tenant *t, struct model_table *table, const char *name)
{
    uint8_t room[16];
    struct slice prefix = model_draw_bytes(room, 2, model_below(8) == 0 ? 0 : 1);
    json_t *body = json_object();
    if (prefix.len == 0)
        json_object_set_new(body, "all", json_true());
    else
        model_json_bytes(body, "prefix", prefix);
    struct http *h = client(t);
    http_value_take(h, "POST", body, "/v1/tables/%s:drop", name);
    EXPECT_STATUS(h, 200);
    struct usage most = model_usage(table);
    struct usage least = model_usage_visible(table);
    model_drop(table, prefix);
    most = minus(most, model_usage(table));
    least = minus(least, model_usage_visible(table));
    expect_between(h, "/removed", least, most);
}

/* A rule is only ever made stricter: what one rule hid may be swept before the next shows it. */
static void change_gc(struct tenant *t, struct model_table *table, const char *name)
{
    json_t *families = json_object();
    for (size_t i = 0; i < table->family_count; i++) {
        int old = table->max_versions[i];
        int n = old == 0 ? (int)model_below(6) : 1 + (int)model_below((uint32_t)old);
        table->max_versions[i] = n;
        json_object_set_new(families, table->families[i],
                            n == 0 ? json_object()
                                   : json_pack("{s:{s:i}}", "gc", "max_versions", n));
    }
    struct http *h = client(t);
    http_value_take(h, "PUT", json_pack("{s:o}", "families", families), "/v1/tables/%s", name);
    ck_assert(h->status == 200 || h->status == 201);
}

static void remake_table(struct tenant *t, struct model_table *table, const char *name)
{
    struct http *h = client(t);
    http_delete(h, "/v1/tables/%s", name);
    EXPECT_STATUS(h, 204);
    model_drop(table, SLICE_EMPTY);
    memset(table->max_versions, 0, sizeof(table->max_versions));
    change_gc(t, table, name);
}

/* --- reads ------------------------------------------------------------------------------------ */

static void expect_row(json_t *got, json_t *wanted)
{
    if (json_equal(got, wanted) == 1)
        return;
    static char texts[2][4096];
    size_t n = json_dumpb(got, texts[0], sizeof(texts[0]) - 1, JSON_COMPACT | JSON_SORT_KEYS);
    size_t m = json_dumpb(wanted, texts[1], sizeof(texts[1]) - 1, JSON_COMPACT | JSON_SORT_KEYS);
    texts[0][n < sizeof(texts[0]) ? n : sizeof(texts[0]) - 1] = '\0';
    texts[1][m < sizeof(texts[1]) ? m : sizeof(texts[1]) - 1] = '\0';
    ck_abort_msg("DATA: row differs: server %s, model %s", texts[0], texts[1]);
}

static void get_row(struct tenant *t, struct model_table *table, const char *name)
{
    static struct model_drawn d;
    model_draw(&d);
    struct http *h = client(t);
    http_get(h, "/v1/tables/%s/rows/%s", name, pct(d.key.ptr, d.key.len));
    json_t *wanted = model_row_new(table, d.key);
    if (wanted == NULL) {
        EXPECT_PROBLEM(h, 404, "not_found");
        return;
    }
    EXPECT_STATUS(h, 200);
    expect_row(http_body(h), wanted);
    json_decref(wanted);
}

static void scan_pages(struct tenant *t, struct model_table *table, const char *name)
{
    struct model_range r;
    model_draw_range(&r);
    size_t at = model_first_row(table, r.prefix.len > 0 ? r.prefix : r.start);
    uint32_t limit = model_below(3) == 0 ? 1000 : 1 + model_below(20);
    char token[8192] = "";
    for (int pages = 0; pages < 2000; pages++) {
        struct http *h = client(t);
        http_get(h, "/v1/tables/%s/rows?limit=%u%s%s%s", name, limit, r.query,
                 token[0] != '\0' ? "&page_token=" : "", token);
        EXPECT_STATUS(h, 200);
        json_t *rows = http_at(h, "/rows");
        for (size_t n = 0; n < json_array_size(rows); n++) {
            json_t *wanted = model_range_next_new(table, &r, &at);
            expect_row(json_array_get(rows, n), wanted);
            json_decref(wanted);
        }
        if (http_at(h, "/next_page_token") == NULL)
            break;
        ck_assert_uint_eq(json_array_size(rows), limit);
        (void)snprintf(token, sizeof(token), "%s", pcts(http_string(h, "/next_page_token")));
    }
    ck_assert_msg(model_range_next_new(table, &r, &at) == NULL,
                  "DATA: rows are missing at the end");
}

static void scan_stream(struct tenant *t, struct model_table *table, const char *name)
{
    struct model_range r;
    model_draw_range(&r);
    size_t at = model_first_row(table, r.prefix.len > 0 ? r.prefix : r.start);
    struct http *h = client(t);
    http_once(h, "Accept: application/x-ndjson");
    http_get(h, "/v1/tables/%s/rows%s%s", name, r.query[0] != '\0' ? "?" : "",
             r.query[0] != '\0' ? r.query + 1 : "");
    EXPECT_STATUS(h, 200);
    size_t lines = http_lines(h);
    for (size_t n = 0; n < lines; n++) {
        json_t *got = http_line_new(h, n);
        json_t *wanted = model_range_next_new(table, &r, &at);
        expect_row(got, wanted);
        json_decref(got);
        json_decref(wanted);
    }
    ck_assert_msg(model_range_next_new(table, &r, &at) == NULL,
                  "DATA: rows are missing at the end");
}

static void compare_usage(struct tenant *t, const char *id, bool recount)
{
    struct usage least = {0, 0, 0};
    struct usage most = {0, 0, 0};
    struct http *h = client(t);
    for (size_t i = 0; i < TABLES; i++) {
        struct usage u = model_usage(&t->tables[i]);
        struct usage visible = model_usage_visible(&t->tables[i]);
        http_get(h, "/v1/tables/%s", NAMES[i]);
        EXPECT_STATUS(h, 200);
        expect_between(h, "/usage", visible, u);
        least = (struct usage){least.bytes + visible.bytes, least.rows + visible.rows,
                               least.cells + visible.cells};
        most = (struct usage){most.bytes + u.bytes, most.rows + u.rows, most.cells + u.cells};
    }
    http_get(h, "/v1/usage");
    EXPECT_STATUS(h, 200);
    expect_between(h, "", least, most);
    if (recount) {
        (void)admin_recount(op, id); /* drift 0 */
        expect_between(op, "/recount", least, most);
    }
}

/* --- the run ---------------------------------------------------------------------------------- */

static void restart(bool crash)
{
    if (crash)
        server_kill(&server);
    else
        server_stop(&server);
    server_start(&server, NULL);
    http_reconnect(op);
    for (size_t i = 0; i < TENANTS; i++) {
        for (int v = 0; v < HTTP_VERSIONS; v++)
            http_reconnect(tenants[i].clients[v]);
    }
    for (size_t i = 0; i < TENANTS; i++)
        compare_usage(&tenants[i], IDS[i], true);
}

static void step(void)
{
    size_t who = model_below(TENANTS);
    struct tenant *t = &tenants[who];
    size_t which = model_below(TABLES);
    struct model_table *table = &t->tables[which];
    const char *name = NAMES[which];
    uint32_t n = model_below(1000);
    if (n < 180)
        write_row(t, table, name, true);
    else if (n < 380)
        write_row(t, table, name, false);
    else if (n < 460)
        patch_nulls(t, table, name);
    else if (n < 520)
        delete_row(t, table, name);
    else if (n < 640)
        cell(t, table, name);
    else if (n < 690)
        bulk(t, table, name);
    else if (n < 890)
        get_row(t, table, name);
    else if (n < 925)
        scan_pages(t, table, name);
    else if (n < 955)
        scan_stream(t, table, name);
    else if (n < 985)
        compare_usage(t, IDS[who], n < 960);
    else if (n < 990)
        drop(t, table, name);
    else if (n < 997)
        change_gc(t, table, name);
    else
        remake_table(t, table, name);
}

/* About ten seconds' worth; fewer where every step is slow. */
static long operations(void)
{
    return process_env_number("MODEL_OPS", process_rounds(20000));
}

static void set_up(void)
{
    server_create(&server);
    server_start(&server, NULL);
    op = http_open(&server, HTTP_2, server.operator_key);
    for (size_t i = 0; i < TENANTS; i++) {
        struct tenant *t = &tenants[i];
        admin_create_tenant(op, IDS[i]);
        admin_create_key(op, IDS[i], NULL, t->key, NULL);
        for (int v = 0; v < HTTP_VERSIONS; v++)
            t->clients[v] = http_open(&server, (enum http_version)v, t->key);
        for (size_t n = 0; n < TABLES; n++) {
            struct model_table *table = &t->tables[n];
            model_init(table);
            table->families[0] = "f";
            table->families[1] = "family";
            table->families[2] = "another";
            table->family_count = 3;
            http_json(t->clients[0], "PUT", "{'families':{'f':{},'family':{},'another':{}}}",
                      "/v1/tables/%s", NAMES[n]);
            EXPECT_STATUS(t->clients[0], 201);
        }
    }
}

static void tear_down(void)
{
    for (size_t i = 0; i < TENANTS; i++) {
        for (int v = 0; v < HTTP_VERSIONS; v++)
            http_close(tenants[i].clients[v]);
        for (size_t n = 0; n < TABLES; n++)
            model_fini(&tenants[i].tables[n]);
    }
    http_close(op);
    server_stop(&server);
    server_remove(&server);
}

START_TEST(the_server_behaves_like_the_model)
{
    long ops = operations();
    uint64_t seed = (uint64_t)process_env_number("MODEL_SEED", (long)(base_wall_us() & 0xffffffff));
    model_draw_seed(seed);
    (void)printf("model: MODEL_SEED=%llu MODEL_OPS=%ld\n", (unsigned long long)seed, ops);
    (void)fflush(stdout);
    long restart_every = ops / 5 + 1;
    for (long i = 1; i <= ops; i++) {
        step();
        if (i % restart_every == 0)
            restart(model_below(2) == 0);
    }
    for (size_t i = 0; i < TENANTS; i++) {
        compare_usage(&tenants[i], IDS[i], true);
        for (size_t n = 0; n < TABLES; n++)
            scan_stream(&tenants[i], &tenants[i].tables[n], NAMES[n]);
    }
}
END_TEST

Suite *suite_model_random(void);
Suite *suite_model_random(void)
{
    Suite *s = suite_create("model_random");
    TCase *tc = tcase_create("random");
    tcase_set_timeout(tc, 60 + (double)operations() / 20);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, the_server_behaves_like_the_model);
    suite_add_tcase(s, tc);
    return s;
}

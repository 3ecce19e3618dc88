/*
 * tests/model/test_random.c - random operations of several tenants against a simple model.
 *
 * Every answer is compared: rows, pages, streams, cells, verdicts, counts. The server is stopped or
 * killed and started again in between. The seed is printed; MODEL_SEED repeats a run, MODEL_OPS
 * says how many operations.
 *
 * lines because: one operation of the API is one function here, and they share the small alphabet
 * from which keys, qualifiers and values are drawn.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/support/model.h"
#include "tests/support/random.h"
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
static struct random dice;

static uint32_t below(uint32_t n)
{
    return random_below(&dice, n);
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* Pieces that are awkward in prefixes, escapes, JSON and URLs. */
static const struct slice PIECES[] = {
    {(const uint8_t *)"a", 1},        {(const uint8_t *)"b", 1},      {(const uint8_t *)"aa", 2},
    {(const uint8_t *)"#", 1},        {(const uint8_t *)"\0", 1},     {(const uint8_t *)"\xff", 1},
    {(const uint8_t *)"\xc3\xa4", 2}, {(const uint8_t *)"\0\xff", 2}, {(const uint8_t *)"/", 1},
    {(const uint8_t *)"\"", 1},       {(const uint8_t *)"\x01", 1},   {(const uint8_t *)"..", 2},
};

static struct slice draw_bytes(uint8_t *room, uint32_t most, uint32_t least)
{
    size_t n = 0;
    for (uint32_t parts = least + below(most - least + 1); parts > 0; parts--) {
        struct slice piece = PIECES[below(sizeof(PIECES) / sizeof(PIECES[0]))];
        memcpy(room + n, piece.ptr, piece.len);
        n += piece.len;
    }
    return base_slice(room, n);
}

struct drawn {
    uint8_t key_room[16];
    uint8_t qualifier_room[16];
    uint8_t value_room[4096];
    struct slice key;
    struct slice qualifier;
    struct slice value;
    int family;
    int64_t timestamp;
};

static void draw(struct drawn *d)
{
    d->key = draw_bytes(d->key_room, 3, 1);
    d->qualifier = draw_bytes(d->qualifier_room, 2, 0);
    d->family = (int)below(3);
    d->timestamp = (int64_t)below(12) * 1000;
    uint32_t len = below(40) == 0 ? 1 + below(4000) : below(20);
    for (uint32_t i = 0; i < len; i++)
        d->value_room[i] = below(8) == 0 ? (uint8_t)below(256) : (uint8_t)('a' + below(26));
    d->value = base_slice(d->value_room, len);
}

static struct http *client(struct tenant *t)
{
    return t->clients[below(HTTP_VERSIONS)];
}

static json_t *value_new(const struct drawn *d, bool with_timestamp)
{
    if (!with_timestamp && below(2) == 0 && base_utf8_is_valid(d->value))
        return json_stringn((const char *)d->value.ptr, d->value.len);
    json_t *o = json_object();
    if (below(4) == 0)
        json_object_set_new(o, "value_b64", model_base64_new(d->value));
    else
        model_json_bytes(o, "value", d->value);
    if (with_timestamp) {
        char text[32];
        (void)snprintf(text, sizeof(text), "%lld", (long long)d->timestamp);
        json_object_set_new(o, "timestamp", json_string(text));
    }
    return o;
}

static bool is_member_name(struct slice s)
{
    return base_utf8_is_valid(s) && (s.len == 0 || memchr(s.ptr, 0, s.len) == NULL);
}

/* Put one drawn cell into a row body; false when the column is there already. */
static bool add_to_body(json_t *body, const struct model_table *t, const struct drawn *d,
                        json_t *value)
{
    const char *family = t->families[d->family];
    if (!is_member_name(d->qualifier)) {
        json_t *binary = json_object_get(body, "$binary");
        if (binary == NULL)
            json_object_set_new(body, "$binary", json_array());
        binary = json_object_get(body, "$binary");
        json_t *entry =
            json_is_object(value) ? json_incref(value) : json_pack("{s:O}", "value", value);
        json_object_set_new(entry, "family", json_string(family));
        json_object_set_new(entry, "qualifier_b64", model_base64_new(d->qualifier));
        json_array_append_new(binary, entry);
        json_decref(value);
        return true;
    }
    json_t *columns = json_object_get(body, family);
    if (columns == NULL)
        json_object_set_new(body, family, json_object());
    columns = json_object_get(body, family);
    char name[32];
    (void)snprintf(name, sizeof(name), "%.*s", (int)d->qualifier.len,
                   (const char *)d->qualifier.ptr);
    if (!json_is_object(columns) || json_object_get(columns, name) != NULL) {
        json_decref(value);
        return false;
    }
    json_object_set_new(columns, name, value);
    return true;
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
    static struct drawn cells[4];
    bool stamped[4];
    bool added[4];
    json_t *body = json_object();
    uint32_t count = 1 + below(4);
    for (uint32_t i = 0; i < count; i++) {
        draw(&cells[i]);
        cells[i].key = base_slice(cells[0].key_room, cells[0].key.len);
        stamped[i] = below(3) != 0;
        added[i] = add_to_body(body, table, &cells[i], value_new(&cells[i], stamped[i]));
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
    static struct drawn d;
    draw(&d);
    if (table->count > 0 && below(4) != 0) { /* mostly something that is there */
        const struct model_cell *c = &table->cells[below((uint32_t)table->count)];
        memcpy(d.key_room, c->key.ptr, c->key.len);
        d.key = base_slice(d.key_room, c->key.len);
        memcpy(d.qualifier_room, c->qualifier.ptr, c->qualifier.len);
        d.qualifier = base_slice(d.qualifier_room, c->qualifier.len);
        d.family = c->family;
    }
    bool whole_family = below(3) == 0 || !is_member_name(d.qualifier);
    json_t *body = json_object();
    if (whole_family)
        json_object_set_new(body, table->families[d.family], json_null());
    else
        (void)add_to_body(body, table, &d, json_null());
    struct http *h = client(t);
    http_value_take(h, "PATCH", body, "/v1/tables/%s/rows/%s", name, pct(d.key.ptr, d.key.len));
    EXPECT_STATUS(h, 200);
    model_delete(table, d.key, d.family, whole_family ? NULL : &d.qualifier);
}

static void delete_row(struct tenant *t, struct model_table *table, const char *name)
{
    static struct drawn d;
    draw(&d);
    struct http *h = client(t);
    http_delete(h, "/v1/tables/%s/rows/%s", name, pct(d.key.ptr, d.key.len));
    EXPECT_STATUS(h, 204);
    model_delete(table, d.key, MODEL_ANY, NULL);
}

static void cell(struct tenant *t, struct model_table *table, const char *name)
{
    static struct drawn d;
    static char target[1024];
    draw(&d);
    struct http *h = client(t);
    (void)snprintf(target, sizeof(target), "/v1/tables/%s/cells/%s/%s/%s", name,
                   pct(d.key.ptr, d.key.len), table->families[d.family],
                   pct(d.qualifier.ptr, d.qualifier.len));
    uint32_t kind = below(4);
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
    static struct drawn d;
    struct buf lines;
    base_buf_init(&lines, 1024 * 1024);
    uint32_t count = 1 + below(30);
    uint32_t bad = 0;
    for (uint32_t i = 0; i < count; i++) {
        draw(&d);
        uint32_t kind = below(10);
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
            (void)add_to_body(cells, table, &d, value_new(&d, true));
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
    struct slice prefix = draw_bytes(room, 2, below(8) == 0 ? 0 : 1);
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
        int n = old == 0 ? (int)below(6) : 1 + (int)below((uint32_t)old);
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
    ck_abort_msg("row differs: server %s, model %s", texts[0], texts[1]);
}

static void get_row(struct tenant *t, struct model_table *table, const char *name)
{
    static struct drawn d;
    draw(&d);
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

struct range {
    struct slice prefix;
    struct slice start;
    struct slice end;
    uint8_t room[3][16];
    char query[256];
};

static void draw_range(struct range *r)
{
    memset(r, 0, sizeof(*r));
    uint32_t kind = below(4);
    if (kind == 0)
        return;
    if (kind == 1) {
        r->prefix = draw_bytes(r->room[0], 2, 1);
        (void)snprintf(r->query, sizeof(r->query), "&prefix=%s", pct(r->prefix.ptr, r->prefix.len));
        return;
    }
    r->start = draw_bytes(r->room[1], 2, 1);
    r->end = draw_bytes(r->room[2], 2, 1);
    if (kind == 2 || base_slice_compare(r->start, r->end) >= 0) {
        r->end = SLICE_EMPTY;
        (void)snprintf(r->query, sizeof(r->query), "&start=%s", pct(r->start.ptr, r->start.len));
    } else {
        (void)snprintf(r->query, sizeof(r->query), "&start=%s&end=%s",
                       pct(r->start.ptr, r->start.len), pct(r->end.ptr, r->end.len));
    }
}

/* The next visible row of the model inside the range, from cell index *i on; NULL at the end. */
static json_t *next_wanted_new(const struct model_table *table, const struct range *r, size_t *i)
{
    while (*i < table->count) {
        struct slice key = table->cells[*i].key;
        if (r->end.len > 0 && base_slice_compare(key, r->end) >= 0)
            return NULL;
        if (r->prefix.len > 0 && !base_slice_starts_with(key, r->prefix))
            return NULL;
        *i = model_next_row(table, *i);
        json_t *row = model_row_new(table, key);
        if (row != NULL)
            return row;
    }
    return NULL;
}

static void scan_pages(struct tenant *t, struct model_table *table, const char *name)
{
    struct range r;
    draw_range(&r);
    size_t at = model_first_row(table, r.prefix.len > 0 ? r.prefix : r.start);
    uint32_t limit = below(3) == 0 ? 1000 : 1 + below(20);
    char token[8192] = "";
    for (int pages = 0; pages < 2000; pages++) {
        struct http *h = client(t);
        http_get(h, "/v1/tables/%s/rows?limit=%u%s%s%s", name, limit, r.query,
                 token[0] != '\0' ? "&page_token=" : "", token);
        EXPECT_STATUS(h, 200);
        json_t *rows = http_at(h, "/rows");
        for (size_t n = 0; n < json_array_size(rows); n++) {
            json_t *wanted = next_wanted_new(table, &r, &at);
            expect_row(json_array_get(rows, n), wanted);
            json_decref(wanted);
        }
        if (http_at(h, "/next_page_token") == NULL)
            break;
        ck_assert_uint_eq(json_array_size(rows), limit);
        (void)snprintf(token, sizeof(token), "%s", pcts(http_string(h, "/next_page_token")));
    }
    ck_assert_msg(next_wanted_new(table, &r, &at) == NULL, "rows are missing at the end");
}

static void scan_stream(struct tenant *t, struct model_table *table, const char *name)
{
    struct range r;
    draw_range(&r);
    size_t at = model_first_row(table, r.prefix.len > 0 ? r.prefix : r.start);
    struct http *h = client(t);
    http_once(h, "Accept: application/x-ndjson");
    http_get(h, "/v1/tables/%s/rows%s%s", name, r.query[0] != '\0' ? "?" : "",
             r.query[0] != '\0' ? r.query + 1 : "");
    EXPECT_STATUS(h, 200);
    size_t lines = http_lines(h);
    for (size_t n = 0; n < lines; n++) {
        json_t *got = http_line_new(h, n);
        json_t *wanted = next_wanted_new(table, &r, &at);
        expect_row(got, wanted);
        json_decref(got);
        json_decref(wanted);
    }
    ck_assert_msg(next_wanted_new(table, &r, &at) == NULL, "rows are missing at the end");
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
    size_t who = below(TENANTS);
    struct tenant *t = &tenants[who];
    size_t which = below(TABLES);
    struct model_table *table = &t->tables[which];
    const char *name = NAMES[which];
    uint32_t n = below(1000);
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
    return process_env_number("MODEL_OPS", 20000 / process_patience());
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
    dice.state = seed;
    (void)printf("model: MODEL_SEED=%llu MODEL_OPS=%ld\n", (unsigned long long)seed, ops);
    (void)fflush(stdout);
    long restart_every = ops / 5 + 1;
    for (long i = 1; i <= ops; i++) {
        step();
        if (i % restart_every == 0)
            restart(below(2) == 0);
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
    tcase_set_timeout(tc, (double)(60 + operations() / 20));
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, the_server_behaves_like_the_model);
    suite_add_tcase(s, tc);
    return s;
}

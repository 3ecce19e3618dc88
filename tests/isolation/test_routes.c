/*
 * tests/isolation/test_routes.c - no route shows one tenant a byte of another.
 *
 * Three tenants whose IDs are prefixes of each other keep the same row keys in tables of the same
 * names; every value, qualifier, family and display name of each carries its own canary. Then every
 * route is asked with the key of "ab", alone and while naming the others in every way a request can
 * name a tenant, and nothing that belongs to the others may appear in any header or body. The
 * others' data must be as it was afterwards.
 *
 * ROUTES lists every route of docs/api.md; a route that is missing here is found by
 * every_route_is_tried, which compares with the route table of the program itself.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "gateway/api/routes.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define TENANTS 3

static const char *const IDS[TENANTS] = {"ab", "abc", "ab-"};
static const char *const CANARIES[TENANTS] = {"canaryofalpha", "canaryofbravo", "canaryofdelta"};

static struct server server;
static struct world worlds[TENANTS];
static struct http *op;
static struct usage usages[TENANTS];

#define ROWS_EACH 40

static void put_table(struct world *w, const char *table, const char *canary)
{
    char body[256];
    (void)snprintf(body, sizeof(body), "{'families':{'stats':{},'%.50s':{}}}", canary);
    http_json(w->http, "PUT", body, "/v1/tables/%s", table);
    ck_assert(w->http->status == 200 || w->http->status == 201);
    for (int i = 0; i < ROWS_EACH; i++) {
        char key[32], value[64];
        (void)snprintf(key, sizeof(key), "row#%02d", i);
        (void)snprintf(value, sizeof(value), "%s-%d", canary, i);
        tenant_put(w->http, table, key, "stats", canary, value);
        tenant_put(w->http, table, key, "stats", "same", value);
    }
    /* keys that look like the stored form of another tenant's */
    static const char *const odd[] = {"abc#devices#row#00", "#",    "$",
                                      "ab-#devices",        "\xff", "\x01"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        tenant_put(w->http, table, odd[i], "stats", "same", canary);
}

static void set_up(void)
{
    server_create(&server);
    server_start(&server, NULL);
    op = http_open(&server, HTTP_2, server.operator_key);
    for (size_t i = 0; i < TENANTS; i++) {
        struct world *w = &worlds[i];
        http_value_take(op, "POST",
                        json_pack("{s:s,s:s}", "id", IDS[i], "display_name", CANARIES[i]),
                        "/v1/admin/tenants");
        EXPECT_STATUS(op, 201);
        (void)snprintf(w->tenant, sizeof(w->tenant), "%s", IDS[i]);
        admin_create_key(op, IDS[i], NULL, w->key, NULL);
        w->http = http_open(&server, HTTP_2, w->key);
        put_table(w, "devices", CANARIES[i]);
        put_table(w, "people", CANARIES[i]);
        /* one table only this tenant has */
        char table[64];
        (void)snprintf(table, sizeof(table), "only-%s", CANARIES[i]);
        http_json(w->http, "PUT", "{'families':{'stats':{}}}", "/v1/tables/%s", table);
        EXPECT_STATUS(w->http, 201);
        usages[i] = tenant_usage(w->http);
    }
}

static void tear_down(void)
{
    for (size_t i = 0; i < TENANTS; i++)
        world_fini(&worlds[i]);
    http_close(op);
    op = NULL;
    server_stop(&server);
    server_remove(&server);
}

/* Nothing of the tenants other than `own` in the last answer. Their IDs are looked for as JSON
 * strings: "ab" alone is part of many words. */
static void expect_nothing_foreign(struct http *h, size_t own, const char *what)
{
    for (size_t i = 0; i < TENANTS; i++) {
        char id[WORLD_ID + 4];
        (void)snprintf(id, sizeof(id), "\"%s\"", IDS[i]);
        if (i == own)
            continue;
        ck_assert_msg(
            memmem(h->body.ptr, h->body.len, CANARIES[i], strlen(CANARIES[i])) == NULL &&
                memmem(h->headers.ptr, h->headers.len, CANARIES[i], strlen(CANARIES[i])) == NULL,
            "%s shows the canary of %s: %s", what, IDS[i], http_text(h));
        ck_assert_msg(memmem(h->body.ptr, h->body.len, id, strlen(id)) == NULL,
                      "%s shows the ID %s: %s", what, id, http_text(h));
    }
}

/* The counters and a full read of every tenant but `except` are as they were. */
static void expect_others_untouched(size_t except)
{
    for (size_t i = 0; i < TENANTS; i++) {
        if (i == except)
            continue;
        EXPECT_USAGE(tenant_usage(worlds[i].http), usages[i].bytes, usages[i].rows,
                     usages[i].cells);
        EXPECT_USAGE(admin_recount(op, IDS[i]), usages[i].bytes, usages[i].rows, usages[i].cells);
        http_get(worlds[i].http, "/v1/tables/devices/rows?limit=10000");
        EXPECT_STATUS(worlds[i].http, 200);
        ck_assert_uint_eq(http_count(worlds[i].http, "/rows"), ROWS_EACH + 6);
        expect_nothing_foreign(worlds[i].http, i, "a full scan");
    }
}

/* Every route, with bodies that would do something. {other} is replaced by another tenant's ID,
 * {canary} by its canary. Destructive ones stand last. */
static const struct {
    const char *pattern; /* as in the route table */
    const char *method;
    const char *target;
    const char *body;
} ROUTES[] = {
    {"/v1/tables/{table}/rows/{key}", "GET", "/v1/tables/devices/rows/row%2301", NULL},
    {"/v1/tables/{table}/rows/{key}", "GET", "/v1/tables/devices/rows/abc%23devices%23row%2300",
     NULL},
    {"/v1/tables/{table}/rows/{key}", "GET", "/v1/tables/only-{canary}/rows/row%2301", NULL},
    {"/v1/tables/{table}/rows/{key}", "PUT", "/v1/tables/devices/rows/row%2301",
     "{'stats':{'same':'mine'}}"},
    {"/v1/tables/{table}/rows/{key}", "PUT", "/v1/tables/devices/rows/row%2301",
     "{'{canary}':{'same':'mine'}}"},
    {"/v1/tables/{table}/rows/{key}", "PATCH", "/v1/tables/devices/rows/row%2302",
     "{'stats':{'same':'mine'}}"},
    {"/v1/tables/{table}/rows/{key}", "DELETE", "/v1/tables/devices/rows/row%2303", NULL},
    {"/v1/tables/{table}/rows/{key}:mutate", "POST", "/v1/tables/devices/rows/row%2309:mutate",
     "{'mutations':[{'set_cell':{'family':'stats','qualifier':'same','value':'mine'}}]}"},
    {"/v1/tables/{table}/rows/{key}:mutate", "POST", "/v1/tables/only-{canary}/rows/k:mutate",
     "{'mutations':[{'delete_from_row':{}}]}"},
    {"/v1/tables/{table}/rows/{key}:mutate", "POST", "/v1/tables/devices/rows/row%2309:mutate",
     "{'mutations':[{'delete_from_family':{'family':'{canary}'}}]}"},
    {"/v1/tables/{table}/rows/{key}:modify", "POST",
     "/v1/tables/devices/rows/abc%23devices%23row%2300:modify",
     "{'rules':[{'family':'stats','qualifier':'same','append':''}]}"},
    {"/v1/tables/{table}/rows/{key}:modify", "POST", "/v1/tables/devices/rows/row%2309:modify",
     "{'rules':[{'family':'{canary}','qualifier':'{canary}','append':''}]}"},
    {"/v1/tables/{table}/rows/{key}:modify", "POST", "/v1/tables/only-{canary}/rows/k:modify",
     "{'rules':[{'family':'stats','qualifier':'q','increment':1}]}"},
    {"/v1/tables/{table}/rows/{key}:check", "POST",
     "/v1/tables/devices/rows/abc%23devices%23row%2300:check",
     "{'predicate':{'value_regex':'.*'},'then':[{'set_cell':{'family':'stats',"
     "'qualifier':'same','value':'mine'}}]}"},
    {"/v1/tables/{table}/rows/{key}:check", "POST", "/v1/tables/devices/rows/row%2309:check",
     "{'predicate':{'value_regex':'.*{canary}.*'},'else':[{'delete_from_row':{}}]}"},
    {"/v1/tables/{table}/rows/{key}:check", "POST", "/v1/tables/only-{canary}/rows/k:check",
     "{'then':[{'delete_from_row':{}}]}"},
    {"/v1/tables/{table}/rows", "GET", "/v1/tables/devices/rows", NULL},
    {"/v1/tables/{table}/rows", "GET", "/v1/tables/devices/rows?prefix=abc", NULL},
    {"/v1/tables/{table}/rows", "GET", "/v1/tables/devices/rows?prefix=abc%23", NULL},
    {"/v1/tables/{table}/rows", "GET", "/v1/tables/devices/rows?prefix=%23", NULL},
    {"/v1/tables/{table}/rows", "GET", "/v1/tables/devices/rows?start=%00", NULL},
    {"/v1/tables/{table}/rows", "GET", "/v1/tables/devices/rows?end=%FF%FF%FF%FF", NULL},
    {"/v1/tables/{table}/rows", "GET", "/v1/tables/devices/rows?start=%FF", NULL},
    {"/v1/tables/{table}/rows", "GET", "/v1/tables/devices/rows?start=z&end=a", NULL},
    {"/v1/tables/{table}/rows", "GET", "/v1/tables/only-{canary}/rows", NULL},
    {"/v1/tables/{table}/rows", "GET", "/v1/tables/devices/rows?order=desc", NULL},
    {"/v1/tables/{table}/rows", "GET", "/v1/tables/devices/rows?order=desc&end=%00", NULL},
    {"/v1/tables/{table}/rows", "GET", "/v1/tables/devices/rows?family={canary}", NULL},
    {"/v1/tables/{table}/rows", "GET", "/v1/tables/devices/rows?stats=true", NULL},
    {"/v1/tables/{table}:read", "POST", "/v1/tables/devices:read", "{}"},
    {"/v1/tables/{table}:read", "POST", "/v1/tables/devices:read", "{'order':'desc'}"},
    {"/v1/tables/{table}:read", "POST", "/v1/tables/devices:read",
     "{'ranges':[{'start':''},{'end_closed_b64':'/////w=='},{'prefix':'abc#'}],'stats':true}"},
    {"/v1/tables/{table}:read", "POST", "/v1/tables/devices:read",
     "{'keys':['abc#devices#row#00','#devices#row#00','row#01'],'order':'desc'}"},
    {"/v1/tables/{table}:read", "POST", "/v1/tables/devices:read",
     "{'filter':{'row_key_regex':'(?s).*'}}"},
    {"/v1/tables/{table}:read", "POST", "/v1/tables/devices:read",
     "{'filter':{'row_key_regex':'abc#.*'}}"},
    {"/v1/tables/{table}:read", "POST", "/v1/tables/devices:read",
     "{'filter':{'value_regex':'.*{canary}.*'}}"},
    {"/v1/tables/{table}:read", "POST", "/v1/tables/devices:read",
     "{'filter':{'column_range':{'family_name':'{canary}'}}}"},
    {"/v1/tables/{table}:read", "POST", "/v1/tables/only-{canary}:read", "{}"},
    {"/v1/tables/{table}:samples", "GET", "/v1/tables/devices:samples?bytes=1", NULL},
    {"/v1/tables/{table}:samples", "GET", "/v1/tables/only-{canary}:samples", NULL},
    {"/v1/tables/{table}/cells/{key}/{family}/{qualifier}", "GET",
     "/v1/tables/devices/cells/row%2301/stats/same", NULL},
    {"/v1/tables/{table}/cells/{key}/{family}/{qualifier}", "GET",
     "/v1/tables/devices/cells/row%2301/stats/{canary}", NULL},
    {"/v1/tables/{table}/cells/{key}/{family}/{qualifier}", "GET",
     "/v1/tables/devices/cells/row%2301/{canary}/q", NULL},
    {"/v1/tables/{table}/cells/{key}/{family}/{qualifier}", "PUT",
     "/v1/tables/devices/cells/row%2304/stats/same", "mine"},
    {"/v1/tables/{table}/cells/{key}/{family}/{qualifier}", "DELETE",
     "/v1/tables/devices/cells/row%2305/stats/same", NULL},
    {"/v1/tables/{table}:write", "POST", "/v1/tables/devices:write",
     "{'key':'row#06','cells':{'stats':{'same':'mine'}}}\n"
     "{'key':'row#07','cells':{'{canary}':{'same':'mine'}}}\n{'op':'delete','key':'row#08'}\n"},
    {"/v1/tables", "GET", "/v1/tables", NULL},
    {"/v1/tables/{table}", "GET", "/v1/tables/devices", NULL},
    {"/v1/tables/{table}", "GET", "/v1/tables/only-{canary}", NULL},
    {"/v1/tables/{table}", "PUT", "/v1/tables/only-{canary}", "{'families':{'f':{}}}"},
    {"/v1/tables/{table}", "PUT", "/v1/tables/devices", "{'families':{'stats':{}}}"},
    {"/v1/tables/{table}:families", "POST", "/v1/tables/only-{canary}:families",
     "{'create':{'f':{}},'drop':['stats']}"},
    {"/v1/tables/{table}:families", "POST", "/v1/tables/devices:families",
     "{'update':{'stats':{'gc':{'max_age':'3600s'}}},'drop':['{canary}']}"},
    {"/v1/audit", "GET", "/v1/audit?limit=1", NULL}, /* later ones repeat what was asked */
    {"/v1/usage", "GET", "/v1/usage", NULL},
    {"/v1/admin/tenants", "GET", "/v1/admin/tenants", NULL},
    {"/v1/admin/tenants", "POST", "/v1/admin/tenants", "{'id':'{other}'}"},
    {"/v1/admin/tenants/{id}", "GET", "/v1/admin/tenants/{other}", NULL},
    {"/v1/admin/tenants/{id}", "PATCH", "/v1/admin/tenants/{other}", "{'display_name':'x'}"},
    {"/v1/admin/plans", "GET", "/v1/admin/plans", NULL},
    {"/v1/admin/plans/{plan}", "PUT", "/v1/admin/plans/gold", "{'quota':{'rows':1}}"},
    {"/v1/admin/plans/{plan}", "GET", "/v1/admin/plans/gold", NULL},
    {"/v1/admin/plans/{plan}", "DELETE", "/v1/admin/plans/gold", NULL},
    {"/v1/admin/tenants/{id}:suspend", "POST", "/v1/admin/tenants/{other}:suspend",
     "{'reason':'x'}"},
    {"/v1/admin/tenants/{id}:resume", "POST", "/v1/admin/tenants/{other}:resume", "{}"},
    {"/v1/admin/tenants/{id}:offboard", "POST", "/v1/admin/tenants/{other}:offboard",
     "{'confirm':'{other}'}"},
    {"/v1/admin/tenants/{id}/usage", "GET", "/v1/admin/tenants/{other}/usage?recount=true", NULL},
    {"/v1/admin/tenants/{id}/quota", "GET", "/v1/admin/tenants/{other}/quota", NULL},
    {"/v1/admin/tenants/{id}/quota", "PUT", "/v1/admin/tenants/{other}/quota", "{'rows':1}"},
    {"/v1/admin/tenants/{id}/keys", "POST", "/v1/admin/tenants/{other}/keys", "{}"},
    {"/v1/admin/tenants/{id}/keys", "GET", "/v1/admin/tenants/{other}/keys", NULL},
    {"/v1/admin/tenants/{id}/keys/{keyid}", "DELETE", "/v1/admin/tenants/{other}/keys/AAAAAAAAAAAA",
     NULL},
    {"/v1/admin/keys", "POST", "/v1/admin/keys", "{'kind':'operator'}"},
    {"/v1/admin/keys", "GET", "/v1/admin/keys", NULL},
    {"/v1/admin/keys/{keyid}", "DELETE", "/v1/admin/keys/AAAAAAAAAAAA", NULL},
    {"/v1/admin/jobs", "GET", "/v1/admin/jobs", NULL},
    {"/v1/admin/jobs/{job}", "GET", "/v1/admin/jobs/0000000000000001", NULL},
    {"/v1/admin/audit", "GET", "/v1/admin/audit", NULL},
    {"/v1/admin/audit", "GET", "/v1/admin/audit?tenant={other}", NULL},
    {"/v1/admin/audit/head", "GET", "/v1/admin/audit/head", NULL},
    {"/openapi.json", "GET", "/openapi.json", NULL},
    {"/healthz", "GET", "/healthz", NULL},
    {"/readyz", "GET", "/readyz", NULL},
    {"/v1/tables/{table}:drop", "POST", "/v1/tables/devices:drop", "{'all':true,'dry_run':true}"},
    {"/v1/tables/{table}:drop", "POST", "/v1/tables/devices:drop",
     "{'prefix':'abc#','dry_run':true}"},
    {"/v1/tables/{table}:drop", "POST", "/v1/tables/devices:drop", "{'prefix':'row#1'}"},
    {"/v1/tables/{table}:drop", "POST", "/v1/tables/only-{canary}:drop", "{'all':true}"},
    {"/v1/tables/{table}:drop", "POST", "/v1/tables/devices:drop", "{'all':true}"},
    {"/v1/tables/{table}", "DELETE", "/v1/tables/only-{canary}", NULL},
    {"/v1/tables/{table}", "DELETE", "/v1/tables/people", NULL},
    {"/v1/tables/{table}", "DELETE", "/v1/tables/devices", NULL},
};

#define ROUTE_COUNT (sizeof(ROUTES) / sizeof(ROUTES[0]))

START_TEST(every_route_is_tried)
{
    for (size_t i = 0; i < gw_route_count; i++) {
        bool tried = false;
        for (size_t n = 0; n < ROUTE_COUNT && !tried; n++)
            tried = strcmp(ROUTES[n].method, gw_routes[i].method) == 0 &&
                    strcmp(ROUTES[n].pattern, gw_routes[i].pattern) == 0;
        ck_assert_msg(tried, "%s %s has no isolation test", gw_routes[i].method,
                      gw_routes[i].pattern);
    }
}
END_TEST

static void replace(const char *in, size_t other, char *out, size_t size)
{
    size_t n = 0;
    while (*in != '\0') {
        const char *with = NULL;
        if (strncmp(in, "{other}", 7) == 0)
            with = IDS[other], in += 7;
        else if (strncmp(in, "{canary}", 8) == 0)
            with = CANARIES[other], in += 8;
        n += (size_t)(with != NULL ? snprintf(out + n, size - n, "%s", with)
                                   : snprintf(out + n, size - n, "%c", *in++));
        ck_assert(n < size);
    }
}

/* Ways to name another tenant beside the key: bit 0 Bigtent-Tenant, 1 a stream, 2 odd headers. */
static void ask(struct http *h, size_t route, size_t other, unsigned ways)
{
    char target[512], body[512];
    replace(ROUTES[route].target, other, target, sizeof(target));
    if (ROUTES[route].body != NULL)
        replace(ROUTES[route].body, other, body, sizeof(body));
    if (ways & 1)
        http_once(h, "Bigtent-Tenant: %s", IDS[other]);
    if (ways & 2)
        http_once(h, "Accept: application/x-ndjson");
    if (ways & 4) {
        http_once(h, "X-Tenant: %s", IDS[other]);
        http_once(h, "X-Forwarded-Host: %s.example", IDS[other]);
    }
    if (strstr(target, ":write") != NULL)
        http_once(h, "Content-Type: application/x-ndjson");
    http_send(h, ROUTES[route].method, target,
              ROUTES[route].body != NULL ? quoted(body) : SLICE_EMPTY);
}

/* An answer of this caller about himself may repeat what he sent: his own request named the canary
 * of the other. So the caller's echo is allowed only where a problem says what was not found. */
static void expect_clean(struct http *h, size_t own, size_t route, size_t other)
{
    bool echoes = strstr(ROUTES[route].target, "{canary}") != NULL ||
                  (ROUTES[route].body != NULL && strstr(ROUTES[route].body, "{canary}") != NULL);
    if (!echoes) {
        expect_nothing_foreign(h, own, ROUTES[route].target);
        return;
    }
    char values[64]; /* values are "canary-N": those he cannot have sent */
    (void)snprintf(values, sizeof(values), "%s-", CANARIES[other]);
    ck_assert_msg(memmem(h->body.ptr, h->body.len, values, strlen(values)) == NULL,
                  "%s %s shows values of %s: %s", ROUTES[route].method, ROUTES[route].target,
                  IDS[other], http_text(h));
}

START_TEST(no_route_shows_another_tenant)
{
    size_t own = (size_t)_i;
    struct http *h = http_open(&server, HTTP_2, worlds[own].key);
    for (size_t route = 0; route < ROUTE_COUNT; route++) {
        for (size_t other = 0; other < TENANTS; other++) {
            if (other == own)
                continue;
            for (unsigned ways = 0; ways < 8; ways++) {
                ask(h, route, other, ways);
                expect_clean(h, own, route, other);
                if ((ways & 1) && strncmp(ROUTES[route].target, "/v1", 3) == 0)
                    EXPECT_PROBLEM(h, 403, "forbidden");
                if (strncmp(ROUTES[route].target, "/v1/admin", 9) == 0)
                    EXPECT_PROBLEM(h, 403, "forbidden");
            }
        }
    }
    http_close(h);
    expect_others_untouched(own);
}
END_TEST

START_TEST(the_same_over_http1)
{
    struct http *h = http_open(&server, HTTP_1, worlds[0].key);
    for (size_t route = 0; route < ROUTE_COUNT; route++) {
        ask(h, route, 1, 0);
        expect_clean(h, 0, route, 1);
        ask(h, route, 2, 1);
        expect_clean(h, 0, route, 2);
    }
    http_close(h);
    expect_others_untouched(0);
}
END_TEST

/* A wall, not a difference: a table that the other has answers exactly like one nobody has. */
START_TEST(what_others_have_looks_like_what_nobody_has)
{
    struct http *h = worlds[0].http;
    static const char *const forms[] = {"/v1/tables/only-%s", "/v1/tables/only-%s/rows",
                                        "/v1/tables/only-%s/rows/row%2301",
                                        "/v1/tables/only-%s/cells/k/stats/q"};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        char bodies[2][1024];
        for (size_t n = 0; n < 2; n++) {
            char target[256];
            const char *name = n == 0 ? CANARIES[1] : "canaryofnoone";
            const char *at = strstr(forms[i], "%s");
            (void)snprintf(target, sizeof(target), "%.*s%s%s", (int)(at - forms[i]), forms[i], name,
                           at + 2);
            http_send(h, "GET", target, SLICE_EMPTY);
            EXPECT_PROBLEM(h, 404, "not_found");
            (void)snprintf(bodies[n], sizeof(bodies[n]), "%s", http_text(h));
            char *echo = strstr(bodies[n], name);
            if (echo != NULL)
                memset(echo, 'x', strlen(name));
        }
        ck_assert_str_eq(bodies[0], bodies[1]);
    }
}
END_TEST

START_TEST(a_page_token_of_another_tenant_is_refused)
{
    char tokens[TENANTS][8192];
    for (size_t i = 0; i < TENANTS; i++) {
        http_get(worlds[i].http, "/v1/tables/devices/rows?limit=5");
        (void)snprintf(tokens[i], sizeof(tokens[i]), "%s",
                       http_string(worlds[i].http, "/next_page_token"));
    }
    for (size_t a = 0; a < TENANTS; a++) {
        for (size_t b = 0; b < TENANTS; b++) {
            http_get(worlds[a].http, "/v1/tables/devices/rows?limit=5&page_token=%s",
                     pcts(tokens[b]));
            if (a == b)
                EXPECT_STATUS(worlds[a].http, 200);
            else
                EXPECT_PROBLEM(worlds[a].http, 400, "invalid");
        }
        /* nor for another table of the same tenant */
        http_get(worlds[a].http, "/v1/tables/people/rows?limit=5&page_token=%s", pcts(tokens[a]));
        EXPECT_PROBLEM(worlds[a].http, 400, "invalid");
    }
}
END_TEST

START_TEST(scans_end_at_the_wall)
{
    static const char *const queries[] = {"", "?start=%00", "?start=row", "?end=%FF%FF%FF",
                                          "?start=%01&end=%FE"};
    static const size_t counts[] = {ROWS_EACH + 6, ROWS_EACH + 6, ROWS_EACH, ROWS_EACH + 6,
                                    ROWS_EACH + 5};
    for (size_t i = 0; i < TENANTS; i++) {
        for (size_t q = 0; q < sizeof(queries) / sizeof(queries[0]); q++) {
            http_once(worlds[i].http, "Accept: application/x-ndjson");
            http_get(worlds[i].http, "/v1/tables/devices/rows%s", queries[q]);
            EXPECT_STATUS(worlds[i].http, 200);
            expect_nothing_foreign(worlds[i].http, i, queries[q]);
            ck_assert_uint_eq(http_lines(worlds[i].http), counts[q] + (q == 2 ? 1 : 0));
        }
    }
}
END_TEST

START_TEST(dropping_all_of_one_leaves_the_others_alone)
{
    for (size_t i = 0; i < TENANTS; i++) {
        http_json(worlds[i].http, "POST", "{'all':true}", "/v1/tables/devices:drop");
        EXPECT_STATUS(worlds[i].http, 200);
        ck_assert_int_eq(http_number(worlds[i].http, "/removed/rows"), ROWS_EACH + 6);
        usages[i] = tenant_usage(worlds[i].http);
        for (size_t n = i + 1; n < TENANTS; n++) {
            EXPECT_USAGE(tenant_usage(worlds[n].http), usages[n].bytes, usages[n].rows,
                         usages[n].cells);
            http_get(worlds[n].http, "/v1/tables/devices/rows?limit=10000");
            ck_assert_uint_eq(http_count(worlds[n].http, "/rows"), ROWS_EACH + 6);
        }
    }
}
END_TEST

START_TEST(a_full_quota_of_one_is_nothing_to_the_others)
{
    admin_set_quota(op, "ab", "{'stored_bytes':0,'write_ops_per_s':1,'read_ops_per_s':1}");
    for (int i = 0; i < 20; i++) {
        http_json(worlds[0].http, "PUT", "{'stats':{'same':'more'}}", "/v1/tables/devices/rows/n%d",
                  i);
        ck_assert(worlds[0].http->status == 507 || worlds[0].http->status == 429);
        http_json(worlds[1].http, "PUT", "{'stats':{'same':'more'}}", "/v1/tables/devices/rows/n%d",
                  i);
        EXPECT_STATUS(worlds[1].http, 201);
        expect_nothing_foreign(worlds[0].http, 0, "a refusal");
    }
}
END_TEST

START_TEST(offboarding_one_leaves_the_others_whole)
{
    size_t own = (size_t)_i;
    admin_offboard(op, IDS[own]);
    ck_assert_int_eq(http_number(op, "/audit/physical_keys"), 0);
    expect_others_untouched(own);
    http_get(worlds[own].http, "/v1/tables/devices/rows");
    EXPECT_PROBLEM(worlds[own].http, 410, "gone");
}
END_TEST

Suite *suite_isolation_routes(void);
Suite *suite_isolation_routes(void)
{
    Suite *s = suite_create("isolation_routes");
    TCase *tc = tcase_create("routes");
    tcase_set_timeout(tc, 90);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, every_route_is_tried);
    tcase_add_loop_test(tc, no_route_shows_another_tenant, 0, TENANTS);
    tcase_add_test(tc, the_same_over_http1);
    tcase_add_test(tc, what_others_have_looks_like_what_nobody_has);
    tcase_add_test(tc, a_page_token_of_another_tenant_is_refused);
    tcase_add_test(tc, scans_end_at_the_wall);
    tcase_add_test(tc, dropping_all_of_one_leaves_the_others_alone);
    tcase_add_test(tc, a_full_quota_of_one_is_nothing_to_the_others);
    tcase_add_loop_test(tc, offboarding_one_leaves_the_others_whole, 0, TENANTS);
    suite_add_tcase(s, tc);
    return s;
}

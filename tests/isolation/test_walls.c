/*
 * tests/isolation/test_walls.c - what one tenant does with its own ends where the next one begins.
 *
 * Three tenants whose IDs are prefixes of each other keep the same row keys in tables of the same
 * names; every value, qualifier, family and display name of each carries its own canary. Scans,
 * drops, quotas and an offboarding of one are nothing to the others.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <string.h>

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
            "DATA: %s shows the canary of %s: %s", what, IDS[i], http_text(h));
        ck_assert_msg(memmem(h->body.ptr, h->body.len, id, strlen(id)) == NULL,
                      "DATA: %s shows the ID %s: %s", what, id, http_text(h));
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
        ck_assert(worlds[0].http->status == 403 || worlds[0].http->status == 429);
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

Suite *suite_isolation_walls(void);
Suite *suite_isolation_walls(void)
{
    Suite *s = suite_create("isolation_walls");
    TCase *tc = tcase_create("walls");
    tcase_set_timeout(tc, 240);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_page_token_of_another_tenant_is_refused);
    tcase_add_test(tc, scans_end_at_the_wall);
    tcase_add_test(tc, dropping_all_of_one_leaves_the_others_alone);
    tcase_add_test(tc, a_full_quota_of_one_is_nothing_to_the_others);
    tcase_add_loop_test(tc, offboarding_one_leaves_the_others_whole, 0, TENANTS);
    suite_add_tcase(s, tc);
    return s;
}

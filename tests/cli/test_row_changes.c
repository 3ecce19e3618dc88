/*
 * tests/cli/test_row_changes.c - row mutate, modify and check: words become changes of a row.
 */
#define _GNU_SOURCE
#include "tests/cli/session.h"

#include "base/banned.h"

static void set_up(void)
{
    session_set_up();
    http_json(w.http, "PUT",
              "{'families':{'stats':{},'raw':{},'hits':{'type':'sum'},'who':{'type':'hll'}}}",
              "/v1/tables/pages");
    EXPECT_STATUS(w.http, 201);
}

static void expect_cell(const char *column, const char *value)
{
    http_get(w.http, "/v1/tables/pages/cells/k/%s", column);
    if (value == NULL) {
        EXPECT_PROBLEM(w.http, 404, "not_found");
        return;
    }
    EXPECT_STATUS(w.http, 200);
    ck_assert_str_eq(http_text(w.http), value);
}

START_TEST(mutate_sets_adds_and_deletes_in_order)
{
    tenant_put(w.http, "pages", "k", "stats", "old", "1");
    tenant_put(w.http, "pages", "k", "raw", "x", "1");
    bigtent(&r, &tenant, "row", "mutate", "pages", "k", "stats:old-", "raw-", "stats:a=1=2",
            "stats:b=", "hits:q+=5", "hits:q+=-2", "who:q+=ann", "stats:\xff=\xfe");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "timestamp 1");
    expect_cell("stats/old", NULL);
    expect_cell("raw/x", NULL);
    expect_cell("stats/a", "1=2");
    expect_cell("stats/b", "");
    expect_cell("stats/%FF", "\xfe");
    http_get(w.http, "/v1/tables/pages/cells/k/hits/q");
    ck_assert_uint_eq(w.http->body.len, 8);
    ck_assert_int_eq(w.http->body.ptr[7], 3);
    bigtent(&r, &tenant, "row", "get", "pages", "k");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "k hits:q 0 3\n");
    EXPECT_IN(r.out, "k who:q 0 1\n");
    bigtent(&r, &tenant, "row", "mutate", "pages", "k", "-", "stats:c=3");
    EXPECT_CODE(&r, 0);
    http_get(w.http, "/v1/tables/pages/rows/k");
    ck_assert_uint_eq(http_count(w.http, "/cells"), 1);
    expect_cell("stats/c", "3");
}
END_TEST

START_TEST(modify_shows_the_new_cells)
{
    tenant_put(w.http, "pages", "k", "stats", "other", "1");
    bigtent(&r, &tenant, "row", "modify", "pages", "k", "stats:log.=a b", "stats:n+=1");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "k stats:log ");
    EXPECT_IN(r.out, " a b\n");
    EXPECT_NOT_IN(r.out, "stats:other");
    bigtent(&r, &tenant, "row", "modify", "pages", "k", "stats:log.==", "--json");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "{\"key\":\"k\",\"cells\":{\"stats\":{\"log\":[{\"value\":\"a b=\"");
}
END_TEST

START_TEST(check_chooses_between_changes)
{
    bigtent(&r, &tenant, "row", "check", "pages", "k", "--then", "stats:then=1", "--else",
            "stats:else=1", "--else", "stats:more=1");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "matched false\n");
    expect_cell("stats/else", "1");
    expect_cell("stats/more", "1");
    bigtent(&r, &tenant, "row", "check", "pages", "k", "--filter", "{\"value_regex\":\"1\"}",
            "--then", "stats:else-");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "matched true\n");
    expect_cell("stats/else", NULL);
    bigtent(&r, &tenant, "row", "check", "pages", "k", "--then", "-");
    EXPECT_CODE(&r, 0);
    http_get(w.http, "/v1/tables/pages/rows/k");
    EXPECT_PROBLEM(w.http, 404, "not_found");
}
END_TEST

START_TEST(what_is_no_change_is_not_sent)
{
    static const char *const lines[][6] = {
        {"mutate", "pages", "k", "stats:a"},
        {"mutate", "pages", "k", "stats"},
        {"mutate", "pages", "k", "=v"},
        {"mutate", "pages", "k", ":q-"},
        {"mutate", "pages", "", "stats:a=1"},
        {"mutate", "pages", "k"},
        {"modify", "pages", "k", "stats:a=1"},
        {"modify", "pages", "k", "stats:a+=x"},
        {"modify", "pages", "k", "stats:a+=1.5"},
        {"modify", "pages", "k", "stats+=1"},
        {"modify", "pages", "k", "stats:a-"},
        {"check", "pages", "k"},
        {"check", "pages", "k", "--then", "stats:a"},
        {"check", "pages", "k", "--filter", "{", "--then=stats:a=1"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *const *l = lines[i];
        bigtent(&r, &tenant, "row", l[0], l[1], l[2], l[3], l[4], l[5]);
        ck_assert_msg(r.code == 2, "line %zu: %d %s", i, r.code, r.err);
        ck_assert_str_eq(r.out, "");
    }
    EXPECT_USAGE(tenant_usage(w.http), 0, 0, 0);
}
END_TEST

START_TEST(a_refusal_of_the_server_is_told)
{
    bigtent(&r, &tenant, "row", "mutate", "pages", "k", "nothere:a=1");
    EXPECT_CODE(&r, 4);
    EXPECT_IN(r.err, "nothere");
    bigtent(&r, &tenant, "row", "mutate", "pages", "k", "hits:a=1");
    EXPECT_CODE(&r, 1);
    bigtent(&r, &tenant, "row", "check", "pages", "k", "--filter", "{\"nothing\":1}", "--then",
            "-");
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "nothing");
}
END_TEST

Suite *suite_cli_row_changes(void);
Suite *suite_cli_row_changes(void)
{
    Suite *s = suite_create("cli_row_changes");
    TCase *tc = session_tcase("row_changes", set_up);
    tcase_add_test(tc, mutate_sets_adds_and_deletes_in_order);
    tcase_add_test(tc, modify_shows_the_new_cells);
    tcase_add_test(tc, check_chooses_between_changes);
    tcase_add_test(tc, what_is_no_change_is_not_sent);
    tcase_add_test(tc, a_refusal_of_the_server_is_told);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/cli/test_rows.c - tables, rows of any bytes, drops, scans.
 */
#define _GNU_SOURCE
#include "base/limits.h"
#include "tests/cli/session.h"

#include "base/banned.h"

/* --- tables -------------------------------------------------------------------------------------
 */

START_TEST(table_is_made_changed_shown_and_deleted)
{
    bigtent(&r, &tenant, "table", "create", "phone", "stats:max_versions=3", "log:max_age=2d",
            "raw");
    EXPECT_CODE(&r, 0);
    const char *families = "stats:max_versions=3,log:max_age=172800s,raw";
    ck_assert_str_eq(plain_value(&r, "families"), families);
    bigtent(&r, &tenant, "table", "create", "phone", "stats");
    EXPECT_CODE(&r, 1); /* families are not taken away */
    bigtent(&r, &tenant, "table", "list");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "phone 0 0 0 stats:max_versions=3,log:max_age=172800s,raw\n");
    bigtent(&r, &tenant, "table", "show", "phone", "--json");
    EXPECT_CODE(&r, 0);
    json_t *doc = json_of(&r);
    ck_assert_uint_eq(json_object_size(json_object_get(doc, "families")), 3);
    json_decref(doc);
    bigtent(&r, &tenant, "table", "delete", "phone");
    EXPECT_CODE(&r, 2); /* not a terminal: nobody to ask */
    EXPECT_IN(r.err, "every row and cell of table phone will be gone; add --yes");
    bigtent(&r, &tenant, "table", "delete", "phone", "--yes");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "");
    bigtent(&r, &tenant, "table", "show", "phone");
    EXPECT_CODE(&r, 4);
}
END_TEST

START_TEST(table_rules_and_types_are_shown_as_they_are_given)
{
    static const char *const words[] = {
        "a:max_versions=3:max_age=60s",
        "b:intersection(max_versions=2,max_age=86400s)",
        "c:union(max_age=5s,intersection(max_versions=2:max_age=7s,max_versions=9),max_versions=4)",
        "d:type=sum",
        "e:type=hll:max_age=0.5s",
    };
    char all[512];
    bigtent(&r, &tenant, "table", "create", "plain", "s:type=string:max_versions=1", "i:type=int64",
            "b:type=bytes", "n:type=none");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "families"),
                     "s:type=string:max_versions=1,i:type=int64,b:type=bytes,n");
    bigtent(&r, &tenant, "table", "change", "plain", "--update", "b:type=none", "--update",
            "n:type=int64", "--update", "s:max_versions=2");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "families"),
                     "s:type=string:max_versions=2,i:type=int64,b,n:type=int64");
    bigtent(&r, &tenant, "table", "create", "rules", words[0], words[1], words[2], words[3],
            words[4], "f", "--protect", "--notes", "tenant#day");
    EXPECT_CODE(&r, 0);
    (void)snprintf(all, sizeof all, "%s,%s,%s,%s,%s,f", words[0], words[1], words[2], words[3],
                   words[4]);
    ck_assert_str_eq(plain_value(&r, "families"), all);
    ck_assert_str_eq(plain_value(&r, "version"), "1");
    ck_assert_str_eq(plain_value(&r, "deletion_protection"), "true");
    ck_assert_str_eq(plain_value(&r, "row_key_notes"), "tenant#day");
    bigtent(&r, &tenant, "table", "change", "rules", "--drop", "f");
    EXPECT_CODE(&r, 1);
    bigtent(&r, &tenant, "table", "create", "rules", words[0], words[1], words[2], words[3],
            words[4], "f", "--no-protect");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "table", "change", "rules", "--drop", "f", "--drop", "a", "--update",
            "b:max_versions=1", "--create", "g:type=max");
    EXPECT_CODE(&r, 0);
    (void)snprintf(all, sizeof all, "b:max_versions=1,%s,%s,%s,g:type=max", words[2], words[3],
                   words[4]);
    ck_assert_str_eq(plain_value(&r, "families"), all);
    ck_assert_str_eq(plain_value(&r, "version"), "3");
}
END_TEST

static void expect_samples(const char *table, const char *wanted)
{
    bigtent(&r, &tenant, "table", "samples", table);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, wanted);
}

/* Any bytes but line feeds; a second table is not divided again. */
START_TEST(table_is_divided_where_options_and_a_file_say)
{
    tenant.input = "c d\n\n\xff\nm\n";
    bigtent(&r, &tenant, "table", "create", "divided", "f", "--splits-file", "-", "--split", "x",
            "--split", "a\\b");
    EXPECT_CODE(&r, 0);
    expect_samples("divided", "0 a\\\\b\n0 c d\n0 m\n0 x\n0 \\xff\n0 -\n");
    bigtent(&r, &tenant, "table", "create", "divided", "f", "--split", "x");
    EXPECT_CODE(&r, 1);
    bigtent(&r, &tenant, "table", "create", "divided", "f");
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(splits_that_cannot_be_are_refused_before_they_are_sent)
{
    static char lines[5 * (LIM_SPLITS + 1) + 1];
    bigtent(&r, &tenant, "table", "create", "refused", "f", "--split", "");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &tenant, "table", "create", "refused", "f", "--splits-file", "/nothing/here");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "/nothing/here");
    for (size_t i = 0; i <= LIM_SPLITS; i++)
        (void)snprintf(lines + 5 * i, 6, "%04zu\n", i);
    tenant.input = lines;
    bigtent(&r, &tenant, "table", "create", "refused", "f", "--splits-file", "-");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "1000");
    tenant.input = lines + 5;
    bigtent(&r, &tenant, "table", "create", "refused", "f", "--splits-file", "-");
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(table_keeps_changes_for_as_long_as_it_is_told)
{
    bigtent(&r, &tenant, "table", "create", "watched", "f", "--change-stream-retention", "7d");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "change_stream_retention"), "604800s");
    bigtent(&r, &tenant, "table", "create", "watched", "f");
    ck_assert_str_eq(plain_value(&r, "change_stream_retention"), "604800s");
    bigtent(&r, &tenant, "table", "create", "watched", "f", "--change-stream-retention", "none");
    EXPECT_CODE(&r, 0);
    EXPECT_NOT_IN(r.out, "604800s");
    bigtent(&r, &tenant, "table", "create", "watched", "f", "--change-stream-retention", "week");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &tenant, "table", "create", "watched", "f", "--change-stream-retention", "8d");
    EXPECT_CODE(&r, 1);
}
END_TEST

/* --- rows ---------------------------------------------------------------------------------------
 */

START_TEST(row_is_put_set_read_and_deleted)
{
    bigtent(&r, &tenant, "row", "put", "devices", "phone#1", "stats:os=17", "stats:os=build=x");
    EXPECT_CODE(&r, 2); /* the same column twice */
    bigtent(&r, &tenant, "row", "put", "devices", "phone#1", "stats:os=17", "raw:=a b=c");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(strlen(plain_value(&r, "timestamp")), 16);
    bigtent(&r, &tenant, "row", "set", "devices", "phone#1", "stats:wifi=");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "row", "get", "devices", "phone#1");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(count_lines(r.out), 3);
    EXPECT_IN(r.out, "phone#1 stats:os ");
    EXPECT_IN(r.out, " 17\n");
    EXPECT_IN(r.out, "phone#1 raw: ");
    EXPECT_IN(r.out, " a b=c\n");
    EXPECT_IN(r.out, "phone#1 stats:wifi ");
    EXPECT_IN(r.out, " -\n");
    bigtent(&r, &tenant, "row", "delete", "devices", "phone#1", "stats:os", "raw");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "row", "get", "devices", "phone#1");
    ck_assert_uint_eq(count_lines(r.out), 1);
    bigtent(&r, &tenant, "row", "put", "devices", "phone#1", "raw:only=1");
    bigtent(&r, &tenant, "row", "get", "devices", "phone#1");
    ck_assert_uint_eq(count_lines(r.out), 1);
    EXPECT_IN(r.out, "raw:only");
    bigtent(&r, &tenant, "row", "delete", "devices", "phone#1");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "");
    bigtent(&r, &tenant, "row", "get", "devices", "phone#1");
    EXPECT_CODE(&r, 4);
    EXPECT_IN(r.err, "bigtent: Not found: ");
}
END_TEST

/* In a family of type int64, whichever command writes; elsewhere digits are text. */
START_TEST(a_whole_number_is_written_as_the_family_says)
{
    char key[WORLD_KEY];
    bigtent(&r, &tenant, "table", "create", "numbers", "n:type=int64", "s");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "row", "put", "numbers", "k", "n:put=5", "s:put=5", "n:\xff=7",
            "n:text=five");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "row", "set", "numbers", "k", "n:set=-9223372036854775808");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "row", "mutate", "numbers", "k", "n:mutate=6", "s:mutate=6");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "row", "check", "numbers", "k", "--then", "n:then=8", "--else",
            "n:else=9");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "--json", "row", "get", "numbers", "k");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "\"put\":[{\"number\":5,");
    EXPECT_IN(r.out, "\"put\":[{\"value\":\"5\",");
    EXPECT_IN(r.out, "\"set\":[{\"number\":-9223372036854775808,");
    EXPECT_IN(r.out, "\"mutate\":[{\"number\":6,");
    EXPECT_IN(r.out, "\"mutate\":[{\"value\":\"6\",");
    EXPECT_IN(r.out, "\"then\":[{\"number\":8,");
    EXPECT_IN(r.out, "\"qualifier_b64\":\"/w==\",\"number\":7,");
    EXPECT_IN(r.out, "\"text\":[{\"value_b64\":\"Zml2ZQ==\","); /* any bytes may be there */
    admin_create_key(w.op, w.tenant, "['data.write']", key, NULL);
    struct setup writer = {.url = tenant.url, .cacert = tenant.cacert, .key = key};
    bigtent(&r, &writer, "row", "set", "numbers", "k", "n:set=4");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.err, "the key may not read the table: digits are written as text");
    bigtent(&r, &writer, "row", "set", "nothing", "k", "n:set=4");
    EXPECT_CODE(&r, 4);
}
END_TEST

START_TEST(any_bytes_go_there_and_back)
{
    static const char *const keys[] = {".", "..", "a/b?c=d&e#f%41+ ", "\xff\xfe", "\xc3\xa4\x01"};
    const char *key = keys[_i];
    char shown[64];
    static const char *const as_shown[] = {".", "..", "a/b?c=d&e#f%41+\\x20", "\\xff\\xfe",
                                           "\xc3\xa4\\x01"};
    bigtent(&r, &tenant, "row", "put", "devices", key, "stats:q\xff=v\xfe", "stats:t=tab\there\\",
            "stats:b=w\xfd");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "row", "get", "devices", key);
    EXPECT_CODE(&r, 0);
    (void)snprintf(shown, sizeof shown, "%s stats:q\\xff ", as_shown[_i]);
    EXPECT_IN(r.out, shown);
    EXPECT_IN(r.out, " v\\xfe\n");
    EXPECT_IN(r.out, " w\\xfd\n");
    EXPECT_IN(r.out, " tab\\there\\\\\n");
    bigtent(&r, &tenant, "scan", "devices", "--start", key, "--limit", "1");
    EXPECT_IN(r.out, shown);
    bigtent(&r, &tenant, "row", "drop", "devices", "--prefix", key);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "removed.rows"), "1");
}
END_TEST

START_TEST(drop_takes_the_prefix_and_no_more)
{
    tenant_put(w.http, "devices", "phone#1", "stats", "q", "v");
    tenant_put(w.http, "devices", "phone#2", "stats", "q", "v");
    tenant_put(w.http, "devices", "tablet#1", "stats", "q", "v");
    bigtent(&r, &tenant, "row", "drop", "devices", "--prefix", "phone#");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "removed.rows"), "2");
    bigtent(&r, &tenant, "row", "drop", "devices", "--all");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &tenant, "row", "drop", "devices", "--all", "--yes", "--json");
    EXPECT_CODE(&r, 0);
    json_t *doc = json_of(&r);
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(doc, "removed"), "rows")),
                     1);
    json_decref(doc);
}
END_TEST

START_TEST(scan_takes_ranges_and_limits)
{
    static const char *const rows[] = {"a1", "a2", "b1", "b2", "c1"};
    for (size_t i = 0; i < 5; i++)
        tenant_put(w.http, "devices", rows[i], "stats", "q", rows[i]);
    bigtent(&r, &tenant, "scan", "devices");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(count_lines(r.out), 5);
    ck_assert_str_eq(r.err, "");
    bigtent(&r, &tenant, "scan", "devices", "--prefix", "a");
    ck_assert_uint_eq(count_lines(r.out), 2);
    bigtent(&r, &tenant, "scan", "devices", "--start", "a2", "--end", "b2");
    ck_assert_uint_eq(count_lines(r.out), 2);
    EXPECT_IN(r.out, "a2 stats:q ");
    EXPECT_IN(r.out, "b1 stats:q ");
    bigtent(&r, &tenant, "scan", "devices", "--limit=3", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(count_lines(r.out), 3);
    ck_assert_msg(strncmp(r.out, "{\"key\":\"a1\",\"cells\":", 20) == 0, "%s", r.out);
    bigtent(&r, &tenant, "scan", "nothing");
    EXPECT_CODE(&r, 4);
    bigtent(&r, &tenant, "scan", "devices", "--prefix", "zzz");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "");
}
END_TEST

Suite *suite_cli_rows(void);
Suite *suite_cli_rows(void)
{
    Suite *s = suite_create("cli_rows");
    TCase *t = session_tcase("rows", session_set_up);
    tcase_add_test(t, table_is_made_changed_shown_and_deleted);
    tcase_add_test(t, table_rules_and_types_are_shown_as_they_are_given);
    tcase_add_test(t, table_is_divided_where_options_and_a_file_say);
    tcase_add_test(t, splits_that_cannot_be_are_refused_before_they_are_sent);
    tcase_add_test(t, table_keeps_changes_for_as_long_as_it_is_told);
    tcase_add_test(t, row_is_put_set_read_and_deleted);
    tcase_add_test(t, a_whole_number_is_written_as_the_family_says);
    tcase_add_loop_test(t, any_bytes_go_there_and_back, 0, 5);
    tcase_add_test(t, drop_takes_the_prefix_and_no_more);
    tcase_add_test(t, scan_takes_ranges_and_limits);
    world_end(t);
    suite_add_tcase(s, t);
    return s;
}

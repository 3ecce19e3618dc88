/*
 * tests/cli/test_reads.c - what of rows is read: columns, versions, time, filters, order, stats;
 * samples and drops that only count.
 */
#define _GNU_SOURCE
#include "tests/cli/session.h"

#include "base/banned.h"

/* Rows a1, a2, b1, each with two versions of stats:n, one stats:os and one raw:x. */
static void set_up(void)
{
    static const char *const keys[] = {"a1", "a2", "b1"};
    session_set_up();
    for (size_t i = 0; i < 3; i++) {
        http_json(w.http, "PUT",
                  "{'stats':{'n':[{'value':'new','timestamp':'3000'},"
                  "{'value':'old','timestamp':'1000'}],'os':{'value':'17','timestamp':'2000'}},"
                  "'raw':{'x':{'value':'7','timestamp':'5000'}}}",
                  "/v1/tables/devices/rows/%s", keys[i]);
        EXPECT_STATUS(w.http, 201);
    }
}

#define OS_OF_A1     "a1 stats:os 2000 17\n"
#define OS_OF_A2     "a2 stats:os 2000 17\n"
#define NEWEST_OF(k) k " stats:n 3000 new\n"
#define OLDEST_OF(k) k " stats:n 1000 old\n"
#define RAW_OF(k)    k " raw:x 5000 7\n"

static const struct {
    const char *options[8];
    const char *out;
} READS_OF_A1[] = {
    {{NULL}, NEWEST_OF("a1") OLDEST_OF("a1") OS_OF_A1 RAW_OF("a1")},
    {{"--family", "raw"}, RAW_OF("a1")},
    {{"--family", "stats", "--column", "os"}, OS_OF_A1},
    {{"--family=stats", "--versions=1"}, NEWEST_OF("a1") OS_OF_A1},
    {{"--since", "2000", "--until", "5000"}, NEWEST_OF("a1") OS_OF_A1},
    {{"--until=2000"}, OLDEST_OF("a1")},
    {{"--filter", "{\"value_regex\":\"old|7\"}"}, OLDEST_OF("a1") RAW_OF("a1")},
};

START_TEST(get_and_scan_read_the_same_part_of_a_row)
{
    for (size_t i = 0; i < sizeof READS_OF_A1 / sizeof READS_OF_A1[0]; i++) {
        const char *const *o = READS_OF_A1[i].options;
        bigtent(&r, &tenant, "row", "get", "devices", "a1", o[0], o[1], o[2], o[3]);
        EXPECT_CODE(&r, 0);
        ck_assert_str_eq(r.out, READS_OF_A1[i].out);
        bigtent(&r, &tenant, "scan", "devices", "--end", "a2", o[0], o[1], o[2], o[3]);
        EXPECT_CODE(&r, 0);
        ck_assert_str_eq(r.out, READS_OF_A1[i].out);
    }
}
END_TEST

START_TEST(scan_goes_backwards_with_and_without_a_filter)
{
    bigtent(&r, &tenant, "scan", "devices", "--reverse", "--limit", "2", "--family", "raw");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, RAW_OF("b1") RAW_OF("a2"));
    bigtent(&r, &tenant, "scan", "devices", "--reverse", "--prefix", "a", "--limit", "2",
            "--filter", "{\"value_regex\":\"17\"}");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, OS_OF_A2 OS_OF_A1);
    bigtent(&r, &tenant, "scan", "devices", "--start", "a2", "--end", "b1", "--filter",
            "{\"value_regex\":\"17\"}");
    ck_assert_str_eq(r.out, OS_OF_A2);
}
END_TEST

START_TEST(stats_go_to_stderr_or_are_the_last_line_of_json)
{
    static const char said[] = "bigtent: rows: 3 seen, 3 given; cells: 12 seen, 3 given\n";
    bigtent(&r, &tenant, "scan", "devices", "--stats", "--filter", "{\"value_regex\":\"17\"}");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.err, said);
    EXPECT_NOT_IN(r.out, "seen");
    bigtent(&r, &tenant, "scan", "devices", "--stats", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.err, "");
    EXPECT_IN(r.out, "}\n{\"stats\":{\"rows_seen\":3,\"rows_returned\":3,");
}
END_TEST

START_TEST(a_filter_that_leaves_nothing_of_a_row_exits_4)
{
    bigtent(&r, &tenant, "row", "get", "devices", "a1", "--filter", "{\"block_all\":true}");
    EXPECT_CODE(&r, 4);
    ck_assert_str_eq(r.out, "");
    bigtent(&r, &tenant, "row", "get", "devices", "a1", "--filter", "{\"pass_all\":true}",
            "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_msg(strncmp(r.out, "{\"key\":\"a1\",\"cells\":{", 21) == 0, "%s", r.out);
}
END_TEST

START_TEST(forms_are_the_servers_and_need_json)
{
    static const char *const filter = "{\"column_qualifier_regex\":\"n|x\"}";
    static const char flat[] =
        "{\"key\":\"a1\",\"cells\":{\"stats\":{\"n\":\"new\"},\"raw\":{\"x\":\"7\"}}}\n";
    bigtent(&r, &tenant, "scan", "devices", "--end", "a2", "--json", "--form", "flat", "--filter",
            filter);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, flat);
    bigtent(&r, &tenant, "row", "get", "devices", "a1", "--json", "--form=flat", "--filter",
            filter);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "\"n\":\"new\"");
    bigtent(&r, &tenant, "scan", "devices", "--end", "a2", "--json", "--values", "base64",
            "--family", "raw");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "{\"key\":\"a1\",\"cells\":{\"raw\":{\"x\":[{\"value_b64\":\"Nw==\","
                            "\"timestamp\":\"5000\"}]}}}\n");
    bigtent(&r, &tenant, "row", "get", "devices", "a1", "--json", "--form", "round");
    EXPECT_CODE(&r, 1); /* the server's to say */
    EXPECT_IN(r.err, "\"form\" must be \"full\" or \"flat\"");
}
END_TEST

START_TEST(what_contradicts_itself_is_not_sent)
{
    static const char *const lines[][8] = {
        {"row", "get", "devices", "a1", "--filter", "{"},
        {"row", "get", "devices", "a1", "--filter", "{\"pass_all\":true}", "--family", "raw"},
        {"row", "get", "devices", "", "--filter", "{\"pass_all\":true}"},
        {"scan", "devices", "--filter", "pass_all"},
        {"scan", "devices", "--filter", "{\"pass_all\":true}", "--since=1"},
        {"scan", "devices", "--prefix", "a", "--end", "b"},
        {"scan", "devices", "--form", "flat"},
        {"row", "get", "devices", "a1", "--values", "base64"},
        {"scan", "devices", "--limit", "9223372036854775808"},
        {"table", "samples", "devices", "--bytes", "0"},
        {"table", "samples", "devices", "--bytes", "much"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *const *l = lines[i];
        bigtent(&r, &tenant, l[0], l[1], l[2], l[3], l[4], l[5], l[6], l[7]);
        ck_assert_msg(r.code == 2, "line %zu: %d %s", i, r.code, r.err);
        ck_assert_str_eq(r.out, "");
    }
    bigtent(&r, &tenant, "scan", "devices", "--column", "n");
    EXPECT_CODE(&r, 1); /* the server's to say */
    EXPECT_IN(r.err, "family");
    bigtent(&r, &tenant, "scan", "devices", "--family", "none");
    EXPECT_CODE(&r, 4);
}
END_TEST

START_TEST(samples_are_listed_to_the_end_of_the_table)
{
    bigtent(&r, &tenant, "table", "samples", "devices");
    EXPECT_CODE(&r, 0);
    int64_t bytes = tenant_usage(w.http).bytes;
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "%lld -\n", (long long)bytes);
    ck_assert_str_eq(r.out, wanted);
    tenant_put(w.http, "devices", "b\xff", "stats", "q", "v");
    bigtent(&r, &tenant, "table", "samples", "devices", "--bytes", "1");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, " a2\n");
    EXPECT_IN(r.out, " b\\xff\n");
    bigtent(&r, &tenant, "table", "samples", "devices", "--json");
    EXPECT_IN(r.out, "{\"samples\":[{\"key\":\"\",\"offset_bytes\":");
    bigtent(&r, &tenant, "table", "samples", "nothing");
    EXPECT_CODE(&r, 4);
}
END_TEST

START_TEST(a_dry_run_says_what_would_go_and_asks_nothing)
{
    bigtent(&r, &tenant, "row", "drop", "devices", "--prefix", "a", "--dry-run");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "would_remove.rows"), "2");
    ck_assert_str_eq(plain_value(&r, "would_remove.cells"), "8");
    bigtent(&r, &tenant, "row", "drop", "devices", "--all", "--dry-run");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "would_remove.rows"), "3");
    ck_assert_int_eq(tenant_usage(w.http).rows, 3);
}
END_TEST

Suite *suite_cli_reads(void);
Suite *suite_cli_reads(void)
{
    Suite *s = suite_create("cli_reads");
    TCase *tc = session_tcase("reads", set_up);
    tcase_add_test(tc, get_and_scan_read_the_same_part_of_a_row);
    tcase_add_test(tc, scan_goes_backwards_with_and_without_a_filter);
    tcase_add_test(tc, stats_go_to_stderr_or_are_the_last_line_of_json);
    tcase_add_test(tc, a_filter_that_leaves_nothing_of_a_row_exits_4);
    tcase_add_test(tc, forms_are_the_servers_and_need_json);
    tcase_add_test(tc, what_contradicts_itself_is_not_sent);
    tcase_add_test(tc, samples_are_listed_to_the_end_of_the_table);
    tcase_add_test(tc, a_dry_run_says_what_would_go_and_asks_nothing);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

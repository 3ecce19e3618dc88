/*
 * tests/cli/test_millis.c - who takes timestamps for milliseconds is warned, once.
 */
#define _GNU_SOURCE
#include "tests/cli/session.h"

#include "base/banned.h"

#define WARNING "is of early 1970, as timestamps are microseconds"
#define CELL(family, member)                                                                       \
    "{\"key\":\"a\",\"cells\":{\"" family "\":{\"q\":{\"value\":\"1\"," member "}}}}"

static const struct {
    const char *line;
    bool is_warned_of;
} LINES[] = {
    {CELL("stats", "\"timestamp\":\"1700000000000\""), true},
    {CELL("stats", "\"timestamp\" : \"978307200000\""), true},
    {CELL("stats", "\"timestamp\":\"4102444799000\""), true},
    {"{\"key\":\"a\",\"cells\":{\"stats\":{\"q\":[{\"timestamp\":\"1700000000000\",\"value\":\"\"}]"
     "}}}",
     true},
    {"{\"key\":\"a\",\"cells\":{\"$binary\":[{\"family\":\"stats\",\"qualifier\":\"q\",\"value\":"
     "\"\\\\\","
     "\"timestamp\":\"1700000000000\"}]}}",
     true},
    {"{\"key\":\"a\",\"mutations\":[{\"set_cell\":{\"family\":\"stats\",\"qualifier\":\"q\","
     "\"value\":\"\\\"\",\"timestamp\":\"1700000000000\"}}]}",
     true},
    {CELL("stats", "\"timestamp\":\"1700000000000000\""), false},
    {CELL("stats", "\"timestamp\":\"978307199000\""), false},
    {CELL("stats", "\"timestamp\":\"4102444800000\""), false},
    {CELL("stats", "\"timestamp\":\"1000\""), false}, /* a version */
    {"{\"key\":\"a\",\"cells\":{\"stats\":{\"timestamp\":\"1700000000000\"}}}", false},
    {"{\"key\":\"timestamp\",\"cells\":{\"stats\":{\"q\":{\"value\":\"timestamp\"}}}}", false},
};

START_TEST(a_load_warns_of_the_first_line_with_milliseconds)
{
    char three[1024];
    const char *line = LINES[_i].line;
    (void)snprintf(three, sizeof three, "%s\n%s\n%s\n", CELL("stats", "\"timestamp\":\"3000\""),
                   line, line);
    tenant.input = three;
    bigtent(&r, &tenant, "row", "load", "devices");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "ok"), "3");
    ck_assert_uint_eq(count_lines(r.err), LINES[_i].is_warned_of);
    if (LINES[_i].is_warned_of) {
        EXPECT_IN(r.err, "bigtent: line 2: ");
        EXPECT_IN(r.err, WARNING);
    }
}
END_TEST

/* Nobody is in doubt who says the unit. */
START_TEST(a_load_takes_milliseconds)
{
    char two[1024];
    (void)snprintf(two, sizeof two, "%s\n%s\n", CELL("stats", "\"timestamp\":\"1700000000123\""),
                   CELL("stats", "\"timestamp\":\"1700000000000\""));
    tenant.input = two;
    bigtent(&r, &tenant, "row", "load", "devices", "-", "--timestamps", "ms");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "ok"), "2");
    ck_assert_uint_eq(count_lines(r.err), 0);
    bigtent(&r, &tenant, "row", "get", "devices", "a");
    EXPECT_IN(r.out, "1700000000123000");
    EXPECT_IN(r.out, "1700000000000000");
    tenant.input = CELL("stats", "\"timestamp\":\"now\"");
    bigtent(&r, &tenant, "row", "load", "devices", "-", "--timestamps", "ms");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "\"timestamp\" must be a decimal string of milliseconds");
    tenant.input = two;
    bigtent(&r, &tenant, "row", "load", "devices", "-", "--timestamps", "s");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "--timestamps must be us or ms");
}
END_TEST

START_TEST(bounds_of_time_are_warned_of)
{
    static const char *const options[] = {"--since", "--until"};
    for (size_t i = 0; i < 2; i++) {
        bigtent(&r, &tenant, "scan", "devices", options[i], "1700000000000");
        EXPECT_CODE(&r, 0);
        EXPECT_IN(r.err, options[i]);
        EXPECT_IN(r.err, WARNING);
        bigtent(&r, &tenant, "scan", "devices", options[i], "1700000000000000");
        EXPECT_CODE(&r, 0);
        ck_assert_str_eq(r.err, "");
    }
}
END_TEST

START_TEST(an_import_warns_of_the_first_cell_with_milliseconds)
{
    char dir[PROCESS_PATH];
    char export[PROCESS_PATH + 8];
    int keeper = process_temp_dir(dir);
    (void)snprintf(export, sizeof export, "%s/x", dir);
    for (int i = 0; i < 3; i++) {
        http_json(w.http, "PUT", "{'stats':{'q':{'value':'1','timestamp':'1700000000000'}}}",
                  "/v1/tables/devices/rows/r%d", i);
        EXPECT_STATUS(w.http, 201);
    }
    bigtent(&r, &tenant, "export", export, "--table", "devices");
    EXPECT_CODE(&r, 0);
    EXPECT_NOT_IN(r.err, WARNING);
    bigtent(&r, &tenant, "import", export, "--table", "devices", "--into", "copy", "--create");
    EXPECT_CODE(&r, 0);
    const char *first = strstr(r.err, WARNING);
    ck_assert_msg(first != NULL && strstr(first + 1, WARNING) == NULL, "%s", r.err);
    process_temp_dir_remove(dir, keeper);
}
END_TEST

Suite *suite_cli_millis(void);
Suite *suite_cli_millis(void)
{
    Suite *s = suite_create("cli_millis");
    TCase *t = session_tcase("millis", session_set_up);
    tcase_add_loop_test(t, a_load_warns_of_the_first_line_with_milliseconds, 0,
                        (int)(sizeof LINES / sizeof LINES[0]));
    tcase_add_test(t, a_load_takes_milliseconds);
    tcase_add_test(t, bounds_of_time_are_warned_of);
    tcase_add_test(t, an_import_warns_of_the_first_cell_with_milliseconds);
    world_end(t);
    suite_add_tcase(s, t);
    return s;
}

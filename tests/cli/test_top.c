/*
 * tests/cli/test_top.c - who does most at this moment, as a table and as JSON, and who may know.
 */
#define _GNU_SOURCE
#include "tests/cli/impostor.h"
#include "tests/cli/session.h"

#include "base/banned.h"

/* --- one look -----------------------------------------------------------------------------------
 */

static void set_up(void)
{
    session_set_up();
    (void)setenv("TERM", "xterm", 1); /* cannot fail but for memory */
}

static void be_active(void)
{
    for (int i = 0; i < 4; i++)
        tenant_put(w.http, "devices", "r", "stats", "q", "v");
}

static char *line_of_tenant(void)
{
    char *line = strstr(r.out, w.tenant);
    return line != NULL && (line == r.out || line[-1] == '\n') ? line : NULL;
}

START_TEST(one_look_is_plain_columns)
{
    char *line = NULL;
    for (int i = 0; i < 20 && line == NULL; i++) {
        be_active();
        if (i % 2 == 0)
            bigtent(&r, &op, "top");
        else
            bigtent(&r, &op, "top", "--once", "--order", "latency");
        EXPECT_CODE(&r, 0);
        ck_assert_str_eq(r.err, "");
        line = line_of_tenant();
    }
    ck_assert_msg(line != NULL, "%s", r.out);
    line[strcspn(line, "\n")] = '\0';
    size_t columns = 1;
    for (const char *at = line; (at = strchr(at, ' ')) != NULL; at++)
        columns++;
    ck_assert_uint_eq(columns, 10);
    ck_assert_str_eq(strrchr(line, ' '), " 1"); /* rows */
    EXPECT_NOT_IN(r.out, "\033");
    EXPECT_NOT_IN(r.out, "TENANT");
}
END_TEST

START_TEST(count_is_how_many_at_most)
{
    struct world other;
    world_init(&other, HTTP_2);
    size_t lines = 0;
    for (int i = 0; i < 20 && lines == 0; i++) {
        be_active();
        tenant_put(other.http, "devices", "r", "stats", "q", "v");
        bigtent(&r, &op, "top", "--once", "--count", "1");
        EXPECT_CODE(&r, 0);
        lines = count_lines(r.out);
        ck_assert_uint_le(lines, 1);
    }
    ck_assert_uint_eq(lines, 1);
    world_fini(&other);
}
END_TEST

START_TEST(one_look_on_a_terminal_is_an_aligned_table)
{
    op.terminal = true;
    op.columns = _i == 0 ? 0 : 200;
    if (_i == 1)
        (void)setenv("TERM", "dumb", 1); /* cannot fail but for memory */
    bool is_listed = false;
    for (int i = 0; i < 20 && !is_listed; i++) {
        be_active();
        if (_i == 0)
            bigtent(&r, &op, "top", "--once");
        else
            bigtent(&r, &op, "top");
        EXPECT_CODE(&r, 0);
        is_listed = strstr(r.out, w.tenant) != NULL;
    }
    EXPECT_IN(r.out, "TENANT  ");
    EXPECT_IN(r.out, " THROTTLED ");
    EXPECT_IN(r.out, " B     1\r\n");
    EXPECT_NOT_IN(r.out, "\033");
}
END_TEST

START_TEST(json_is_a_document_for_each_look)
{
    const char *const args[] = {"top", "--json", "--interval", "1", NULL};
    run_start(&r, &op, args);
    while (count_lines(r.out) < 3) {
        be_active();
        struct pollfd p = {r.out_fd, POLLIN, 0};
        (void)poll(&p, 1, 100);
        if (p.revents != 0)
            ck_assert(take_output(r.out_fd, r.out, &r.out_len));
    }
    (void)kill(r.pid, SIGINT);
    run_finish(&r);
    EXPECT_CODE(&r, 128 + SIGINT);
    ck_assert_str_eq(r.err, "");
    size_t documents = 0;
    for (char *line = r.out; *line != '\0'; documents++) {
        size_t len = strcspn(line, "\n");
        json_t *doc = json_loadb(line, len, 0, NULL);
        ck_assert_msg(doc != NULL, "%s", line);
        ck_assert(json_is_array(json_object_get(doc, "tenants")));
        ck_assert(json_is_integer(json_object_get(json_object_get(doc, "total"), "write_ops")));
        json_decref(doc);
        line += len + (line[len] == '\n');
    }
    ck_assert_uint_ge(documents, 3);
    bigtent(&r, &op, "top", "--json", "--once");
    EXPECT_CODE(&r, 0);
    json_decref(json_of(&r));
}
END_TEST

/* --- who may ------------------------------------------------------------------------------------
 */

START_TEST(key_that_may_only_look_at_metrics_may)
{
    http_json(w.op, "POST", "{'kind':'operator','scopes':['ops.read']}", "/v1/admin/keys");
    EXPECT_STATUS(w.op, 201);
    op.key = http_string(w.op, "/key");
    bigtent(&r, &op, "top", "--once");
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(tenants_key_is_refused_in_the_servers_words)
{
    tenant.terminal = _i == 1;
    bigtent(&r, &tenant, "top");
    EXPECT_CODE(&r, 1);
    EXPECT_IN(_i == 1 ? r.out : r.err, "bigtent: Forbidden: ");
    EXPECT_NOT_IN(r.out, "\033");
}
END_TEST

START_TEST(server_that_was_never_there_is_said_at_once)
{
    op.url = nobody_url();
    op.terminal = _i == 1;
    bigtent(&r, &op, "top");
    EXPECT_CODE(&r, 3);
    EXPECT_IN(_i == 1 ? r.out : r.err, "bigtent: cannot reach https://127.0.0.1:1 ");
    EXPECT_NOT_IN(r.out, "\033");
}
END_TEST

/* --- answers of strangers ----------------------------------------------------------------------
 */

#define SERVER "\"server\":{\"version\":\"9\\u001b[31m\",\"uptime_s\":90061},"
#define LIST(tenants)                                                                              \
    "{" SERVER "\"interval_ms\":2000,\"active\":3,\"total\":{\"read_ops\":5000},"                  \
    "\"tenants\":[" tenants "]}"
#define EVIL                                                                                       \
    "{\"id\":\"a\\u001b[2J\\u007f\\u009b\\u202eb c\",\"read_ops\":4000,\"bytes_in\":2097152,"      \
    "\"latency_p99_us\":1500000,\"latency_p50_us\":2500,\"bytes\":-1,\"rows\":\"many\"}"

static struct impostor impostor;

static void set_up_impostor(void)
{
    set_up();
    impostor_start(&impostor, world_server());
    op.url = impostor.url;
}

static void tear_down_impostor(void)
{
    impostor_stop(&impostor);
    session_tear_down();
}

static void expect_tame(const char *text)
{
    EXPECT_IN(text, "a\\x1b[2J\\x7f\\xc2\\x9b\\xe2\\x80\\xaeb");
    EXPECT_NOT_IN(text, "\033[2J");
    EXPECT_NOT_IN(text, "\x7f");
    EXPECT_NOT_IN(text, "\xc2\x9b");
    EXPECT_NOT_IN(text, "\xe2\x80\xae");
}

START_TEST(names_of_a_stranger_are_never_obeyed)
{
    impostor_answers(&impostor, "200 OK", LIST(EVIL));
    bigtent(&r, &op, "top");
    EXPECT_CODE(&r, 0);
    expect_tame(r.out);
    EXPECT_IN(r.out, "b\\x20c 2000.0 0.0 1048576.0 0.0 0.0 2500 1500000 0 0\n");
    op.terminal = true;
    op.columns = 200;
    bigtent(&r, &op, "top", "--once");
    EXPECT_CODE(&r, 0);
    expect_tame(r.out);
    EXPECT_IN(r.out, "  1.0 MiB  ");
    const char *const args[] = {"top", NULL};
    run_start(&r, &op, args);
    run_read(&r, "\033[J");
    ck_assert_int_eq(write(r.out_fd, "q", 1), 1);
    run_finish(&r);
    EXPECT_CODE(&r, 0);
    expect_tame(r.out);
    EXPECT_IN(r.out, "bigtentd 9\\x1b[31m up 1d 01:01:01");
    EXPECT_IN(r.out, "3 tenants active  2,500 reads/s  0.0 writes/s");
    EXPECT_IN(r.out, "  2,000 ");
    EXPECT_IN(r.out, "  2.5 ms     1.5 s ");
}
END_TEST

START_TEST(answers_that_make_no_sense_are_refused)
{
    static const char *const answers[] = {"{}",
                                          "[]",
                                          "nonsense",
                                          "{\"interval_ms\":0,\"tenants\":[]}",
                                          "{\"interval_ms\":1,\"tenants\":{}}",
                                          "{\"interval_ms\":1,\"tenants\":[{}]}"};
    impostor_answers(&impostor, "200 OK", answers[_i]);
    bigtent(&r, &op, "top");
    EXPECT_CODE(&r, 1);
    ck_assert_str_eq(r.out, "");
    EXPECT_IN(r.err, "answered with something that is n");
}
END_TEST

START_TEST(busy_server_leaves_the_screen_and_a_refusal_ends_it)
{
    op.terminal = true;
    impostor_answers(&impostor, "200 OK", LIST(EVIL));
    const char *const args[] = {"top", "--interval", "1", NULL};
    run_start(&r, &op, args);
    run_read(&r, "\033[J");
    impostor_answers(&impostor, _i == 0 ? "503 No" : "429 No",
                     "{\"title\":\"Busy\\u001b[2J\",\"detail\":\"later\",\"retry\":true}");
    run_read(&r, "s old: Busy\\x1b[2J: later");
    impostor_answers(&impostor, "403 No", "{\"title\":\"Forbidden\",\"detail\":\"not you\"}");
    run_finish(&r);
    EXPECT_CODE(&r, 1);
    EXPECT_NOT_IN(r.out, "\033[2J");
    EXPECT_IN(strstr(r.out, "\033[?1049l"), "bigtent: Forbidden: not you\r\n");
}
END_TEST

Suite *suite_cli_top(void);

Suite *suite_cli_top(void)
{
    Suite *s = suite_create("cli_top");
    TCase *t = session_tcase("top", set_up);
    tcase_add_test(t, one_look_is_plain_columns);
    tcase_add_test(t, count_is_how_many_at_most);
    tcase_add_loop_test(t, one_look_on_a_terminal_is_an_aligned_table, 0, 2);
    tcase_add_test(t, json_is_a_document_for_each_look);
    tcase_add_test(t, key_that_may_only_look_at_metrics_may);
    tcase_add_loop_test(t, tenants_key_is_refused_in_the_servers_words, 0, 2);
    tcase_add_loop_test(t, server_that_was_never_there_is_said_at_once, 0, 2);
    world_end(t);
    suite_add_tcase(s, t);
    TCase *strange = tcase_create("strange");
    tcase_set_timeout(strange, 60);
    world_begin(strange);
    tcase_add_checked_fixture(strange, set_up_impostor, tear_down_impostor);
    tcase_add_test(strange, names_of_a_stranger_are_never_obeyed);
    tcase_add_loop_test(strange, answers_that_make_no_sense_are_refused, 0, 6);
    tcase_add_loop_test(strange, busy_server_leaves_the_screen_and_a_refusal_ends_it, 0, 2);
    world_end(strange);
    suite_add_tcase(s, strange);
    return s;
}

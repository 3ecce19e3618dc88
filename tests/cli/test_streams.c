/*
 * tests/cli/test_streams.c - loads and scans: many lines, bad lines, rate limits, slow pipes,
 * servers that die, readers that leave, memory that stays flat.
 */
#define _GNU_SOURCE
#include "tests/cli/program.h"

#include <sys/stat.h>

#include "base/buf.h"
#include "base/limits.h"
#include "tests/support/scrape.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct server own; /* a server that may be killed */
static struct world w;
static char url[64];
static struct setup tenant;
static struct run r;
static char dir[PROCESS_PATH];
static int keeper;

static void set_up_on(const struct server *s)
{
    keeper = process_temp_dir(dir);
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", s->port);
    tenant = (struct setup){.url = url, .key = w.key, .cacert = s->ca};
}

static void set_up(void)
{
    world_init(&w, HTTP_2);
    set_up_on(world_server());
}

static void tear_down(void)
{
    world_fini(&w);
    process_temp_dir_remove(dir, keeper);
}

static void set_up_own(void)
{
    server_create(&own);
    server_start(&own, NULL);
    world_init_on(&w, &own, HTTP_2, "loner");
    set_up_on(&own);
}

static void tear_down_own(void)
{
    tear_down();
    server_remove(&own);
}

/* A file of `rows` lines with values of value_bytes; path in static memory. */
static const char *rows_file(int rows, int value_bytes)
{
    static char path[PROCESS_PATH + 16];
    (void)snprintf(path, sizeof path, "%s/rows.ndjson", dir);
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < rows; i++) {
        (void)fprintf(file, "{\"key\":\"k%06d\",\"cells\":{\"stats\":{\"q\":\"", i);
        for (int n = 0; n < value_bytes; n++)
            (void)fputc('a' + (i + n) % 26, file);
        (void)fprintf(file, "\"}}}\n");
    }
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

/* --- loads --------------------------------------------------------------------------------------
 */

START_TEST(load_writes_every_line)
{
    bigtent(&r, &tenant, "row", "load", "devices", rows_file(20000, 100));
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.err, "");
    ck_assert_str_eq(plain_value(&r, "ok"), "20000");
    ck_assert_str_eq(plain_value(&r, "failed"), "0");
    ck_assert_int_eq(tenant_usage(w.http).rows, 20000);
    bigtent(&r, &tenant, "row", "get", "devices", "k019999");
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(load_reports_failed_lines_by_number_and_exits_5)
{
    tenant.input = "{\"key\":\"a\",\"cells\":{\"stats\":{\"q\":\"1\"}}}\n"
                   "\n"
                   "this is not JSON\n"
                   "{\"key\":\"b\",\"cells\":{\"nope\":{\"q\":\"1\"}}}\n"
                   "\r\n"
                   "{\"op\":\"delete\",\"key\":\"a\"}\n"
                   "{\"op\":\"put\",\"key\":\"c\",\"cells\":{\"stats\":{\"q\":\"1\"}}}";
    bigtent(&r, &tenant, "row", "load", "devices", "-");
    EXPECT_CODE(&r, 5);
    ck_assert_str_eq(plain_value(&r, "lines"), "5");
    ck_assert_str_eq(plain_value(&r, "ok"), "3");
    ck_assert_str_eq(plain_value(&r, "failed"), "2");
    EXPECT_IN(r.err, "bigtent: line 3: invalid: ");
    EXPECT_IN(r.err, "bigtent: line 4: not_found: ");
    EXPECT_NOT_IN(r.err, "line 1:");
    EXPECT_NOT_IN(r.err, "line 6:");
    ck_assert_int_eq(tenant_usage(w.http).rows, 1);
}
END_TEST

START_TEST(load_reports_the_first_lines_that_fail_and_counts_the_others)
{
    char lines[21 * 8 + 1] = "";
    for (int i = 0; i < 21; i++)
        memcpy(lines + 8 * i, "no JSON\n", 8);
    lines[8 * _i] = '\0';
    tenant.input = lines;
    bigtent(&r, &tenant, "row", "load", "devices");
    EXPECT_CODE(&r, 5);
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "%d", _i);
    ck_assert_str_eq(plain_value(&r, "failed"), wanted);
    EXPECT_IN(r.err, "bigtent: line 20: invalid: ");
    EXPECT_NOT_IN(r.err, "line 21:");
    (void)snprintf(wanted, sizeof wanted, "bigtent: %d more lines failed", _i - 20);
    ck_assert((strstr(r.err, wanted) != NULL) == (_i > 20));
}
END_TEST

START_TEST(load_of_nothing_is_nothing)
{
    bigtent(&r, &tenant, "row", "load", "devices", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "{\"lines\":0,\"ok\":0,\"failed\":0,\"bytes\":0}\n");
}
END_TEST

START_TEST(load_into_a_table_that_is_not_there_exits_4)
{
    tenant.input = "{\"key\":\"a\",\"cells\":{\"stats\":{\"q\":\"1\"}}}\n";
    bigtent(&r, &tenant, "row", "load", "nothing");
    EXPECT_CODE(&r, 4);
    EXPECT_IN(r.err, "bigtent: Not found: ");
    ck_assert_str_eq(r.out, "");
}
END_TEST

static bool early_is_there(void *unused)
{
    (void)unused;
    return http_get(w.http, "/v1/tables/devices/rows/early") == 200;
}

START_TEST(lines_of_a_slow_pipe_are_sent_when_it_pauses)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    tenant.input_fd = ends[0];
    const char *const args[] = {"row", "load", "devices", NULL};
    run_start(&r, &tenant, args);
    const char *line = "{\"key\":\"early\",\"cells\":{\"stats\":{\"q\":\"1\"}}}\n{\"key\":";
    ck_assert_int_eq(write(ends[1], line, strlen(line)), (ssize_t)strlen(line));
    process_await(early_is_there, NULL, "a row of a pipe");
    const char *rest = "\"late\",\"cells\":{\"stats\":{\"q\":\"1\"}}}";
    ck_assert_int_eq(write(ends[1], rest, strlen(rest)), (ssize_t)strlen(rest));
    (void)close(ends[1]);
    run_finish(&r);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "ok"), "2");
    ck_assert_int_eq(tenant_usage(w.http).rows, 2);
}
END_TEST

START_TEST(rate_limit_slows_a_load_and_keeps_the_order_of_rows)
{
    /* Every row is written twice in one request, thousands of lines apart. While the first of the
     * two lines is refused the second may pass: the row must end with the second all the same. */
    const int rows = 3000;
    struct buf lines;
    base_buf_init(&lines, 4 << 20);
    for (int i = 0; i < 2 * rows; i++)
        base_buf_printf(&lines, "{\"key\":\"r%04d\",\"cells\":{\"f\":{\"q\":\"%s\"}}}\n", i % rows,
                        i < rows ? "first" : "second");
    base_buf_append_byte(&lines, '\0');
    tenant.input = (const char *)lines.ptr;
    http_json(w.http, "PUT", "{'families':{'f':{'gc':{'max_versions':1}}}}", "/v1/tables/order");
    admin_set_quota(w.op, w.tenant, "{'write_ops_per_s':2000}");
    bigtent(&r, &tenant, "row", "load", "order");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.err, "");
    ck_assert_str_eq(plain_value(&r, "ok"), "6000");
    ck_assert_int_eq(tenant_usage(w.http).rows, rows);
    bigtent(&r, &tenant, "scan", "order");
    EXPECT_CODE(&r, 0);
    EXPECT_NOT_IN(r.out, " first\n");
    base_buf_fini(&lines);
}
END_TEST

START_TEST(line_over_the_limit_stops_after_the_lines_before_it)
{
    static char path[PROCESS_PATH + 16];
    (void)snprintf(path, sizeof path, "%s/long.ndjson", dir);
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    (void)fputs("{\"key\":\"a\",\"cells\":{\"stats\":{\"q\":\"1\"}}}\n", file);
    for (unsigned long i = 0; i < LIM_BULK_LINE_BYTES + 1; i++)
        (void)fputc('x', file);
    (void)fputs("\n{\"key\":\"b\",\"cells\":{\"stats\":{\"q\":\"1\"}}}\n", file);
    ck_assert_int_eq(fclose(file), 0);
    bigtent(&r, &tenant, "row", "load", "devices", path);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "line 2 is longer than 16777216 bytes");
    ck_assert_int_eq(tenant_usage(w.http).rows, 1);
}
END_TEST

/* --- scans --------------------------------------------------------------------------------------
 */

START_TEST(scan_json_can_be_loaded_again)
{
    bigtent(&r, &tenant, "row", "put", "devices", "\xff\xfe", "stats:q\xff=v\xfe", "raw:x=1");
    EXPECT_CODE(&r, 0);
    tenant_put(w.http, "devices", "plain", "stats", "os", "17");
    http_json(w.http, "PUT", "{'families':{'stats':{},'raw':{}}}", "/v1/tables/copy");
    static struct run first;
    bigtent(&first, &tenant, "scan", "devices", "--json");
    EXPECT_CODE(&first, 0);
    tenant.input = first.out;
    bigtent(&r, &tenant, "row", "load", "copy");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "scan", "copy", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, first.out);
}
END_TEST

START_TEST(streams_are_never_held_whole)
{
    if (process_sanitized())
        return; /* sanitizers keep freed memory */
    const char *path = rows_file(600, 100000);
    bigtent(&r, &tenant, "row", "load", "devices", path);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "ok"), "600");
    ck_assert_msg(r.max_rss_kib < 40 * 1024, "load took %ld KiB", r.max_rss_kib);
    bigtent(&r, &tenant, "scan", "devices");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_gt(r.out_len, 60000000);
    ck_assert_msg(r.max_rss_kib < 40 * 1024, "scan took %ld KiB", r.max_rss_kib);
    bigtent(&r, &tenant, "scan", "devices", "--json");
    ck_assert_uint_gt(r.out_len, 60000000);
    ck_assert_msg(r.max_rss_kib < 40 * 1024, "scan --json took %ld KiB", r.max_rss_kib);
}
END_TEST

START_TEST(reader_that_leaves_ends_the_scan_quietly)
{
    bigtent(&r, &tenant, "row", "load", "devices", rows_file(2000, 1000));
    EXPECT_CODE(&r, 0);
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    (void)close(ends[0]);
    struct setup broken = tenant;
    broken.stdout_fd = ends[1];
    if (_i == 0)
        bigtent(&r, &broken, "scan", "devices");
    else
        bigtent(&r, &broken, "scan", "devices", "--json");
    EXPECT_CODE(&r, 128 + SIGPIPE);
    ck_assert_str_eq(r.err, "");
    (void)close(ends[1]);
}
END_TEST

/* --- servers that die ---------------------------------------------------------------------------
 */

START_TEST(scan_of_a_dying_server_is_not_taken_for_whole)
{
    bigtent(&r, &tenant, "row", "load", "devices", rows_file(4000, 2000));
    EXPECT_CODE(&r, 0);
    const char *const args[] = {"scan", "devices", "--json", NULL};
    /* Nothing is read from the pipe until the server is gone: most of the stream is lost. */
    run_start(&r, &tenant, args);
    struct pollfd p = {r.out_fd, POLLIN, 0};
    ck_assert_int_eq(poll(&p, 1, 30000), 1);
    server_kill(&own);
    run_finish(&r);
    EXPECT_CODE(&r, 3);
    EXPECT_IN(r.err, "broke off");
    EXPECT_IN(r.err, "not the whole result");
    /* Whole lines only. */
    ck_assert_uint_gt(r.out_len, 0);
    if (r.out_len < RUN_OUT_BYTES)
        ck_assert_int_eq(r.out[r.out_len - 1], '\n');
}
END_TEST

#define WRITES_ANSWERED                                                                            \
    "bigtent_requests_total{protocol=\"json\",route=\"POST "                                       \
    "/v1/tables/{table}:write\",code=\"2xx\"}"

START_TEST(load_into_a_dying_server_says_where_to_go_on)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    tenant.input_fd = ends[0];
    const char *const args[] = {"row", "load", "devices", NULL};
    run_start(&r, &tenant, args);
    const char *line = "{\"key\":\"early\",\"cells\":{\"stats\":{\"q\":\"1\"}}}\n";
    ck_assert_int_eq(write(ends[1], line, strlen(line)), (ssize_t)strlen(line));
    process_await(early_is_there, NULL, "a row of a pipe");
    /* What has left the server is read after its end, too. */
    scrape_expect(w.op, WRITES_ANSWERED, 1);
    server_kill(&own);
    ck_assert_int_eq(write(ends[1], line, strlen(line)), (ssize_t)strlen(line));
    (void)close(ends[1]);
    run_finish(&r);
    EXPECT_CODE(&r, 3);
    EXPECT_IN(r.err, "the lines before line 2 are settled (1 written, 0 failed)");
    EXPECT_IN(r.err, "tail -n +2 FILE");
}
END_TEST

/* --- terminals ----------------------------------------------------------------------------------
 */

START_TEST(terminal_shows_aligned_tables_with_headers)
{
    tenant_put(w.http, "devices", "a", "stats", "q", "short");
    tenant_put(w.http, "devices", "a longer key", "stats", "qualifier", "tab\there");
    tenant.terminal = true;
    bigtent(&r, &tenant, "scan", "devices");
    EXPECT_CODE(&r, 0);
    ck_assert_msg(
        strncmp(r.out, "KEY           COLUMN           TIMESTAMP                 VALUE\r\n",
                strlen("KEY           COLUMN           TIMESTAMP                 VALUE")) == 0,
        "%s", r.out);
    EXPECT_IN(r.out, "\r\na             stats:q          20");
    EXPECT_IN(r.out, "\r\na longer key  stats:qualifier  20");
    EXPECT_IN(r.out, "Z  tab\\there\r\n");
    bigtent(&r, &tenant, "table", "list");
    EXPECT_IN(r.out, "TABLE    STORED  ROWS  CELLS  FAMILIES\r\n");
    bigtent(&r, &tenant, "usage");
    EXPECT_IN(r.out, "rows                2\r\n");
}
END_TEST

START_TEST(terminal_is_never_obeyed_to)
{
    /* C0, DEL, C1 in UTF-8, a direction override. */
    static const char evil[] = "\x1b[2J\x7f\xc2\x9b"
                               "31m\xe2\x80\xae";
    char cell[64];
    (void)snprintf(cell, sizeof cell, "stats:%s=%s", evil, evil);
    bigtent(&r, &tenant, "row", "put", "devices", evil, cell);
    EXPECT_CODE(&r, 0);
    tenant.terminal = true;
    if (_i == 0)
        bigtent(&r, &tenant, "scan", "devices");
    else if (_i == 1)
        bigtent(&r, &tenant, "scan", "devices", "--json");
    else
        bigtent(&r, &tenant, "row", "get", "devices", evil, "--json");
    EXPECT_CODE(&r, 0);
    EXPECT_NOT_IN(r.out, "\x1b");
    EXPECT_NOT_IN(r.out, "\x7f");
    EXPECT_NOT_IN(r.out, "\xc2\x9b");
    EXPECT_NOT_IN(r.out, "\xe2\x80\xae");
    EXPECT_IN(r.out,
              _i == 0 ? "\\x1b[2J\\x7f\\xc2\\x9b31m\\xe2\\x80\\xae" : "\\u007f\\u009b31m\\u202e\"");
}
END_TEST

START_TEST(json_is_indented_on_a_terminal)
{
    tenant.terminal = true;
    bigtent(&r, &tenant, "table", "list", "--json");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "{\r\n  \"tables\": [\r\n    {\r\n      \"id\": \"devices\",\r\n");
    EXPECT_IN(r.out, "\r\n  ]\r\n}\r\n");
}
END_TEST

START_TEST(load_draws_a_bar_and_wipes_it)
{
    const char *path = rows_file(20000, 200);
    tenant.terminal = true;
    bigtent(&r, &tenant, "row", "load", "devices", path);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "\r[");
    EXPECT_IN(r.out, " rows/s  ");
    EXPECT_IN(r.out, "MiB");
    /* Behind the last bar: wiped, then the summary. */
    const char *last = strstr(r.out, "lines  ");
    ck_assert_ptr_nonnull(last);
    ck_assert(memcmp(last - 4, "\r\033[K", 4) == 0);
    EXPECT_IN(last, "ok                  20,000\r\n");
    EXPECT_NOT_IN(last, "\033");
}
END_TEST

START_TEST(interrupt_leaves_a_clean_line_and_says_where)
{
    admin_set_quota(w.op, w.tenant, "{'write_ops_per_s':200}");
    const char *path = rows_file(20000, 100);
    const char *const args[] = {"row", "load", "devices", path, NULL};
    tenant.terminal = true;
    run_start(&r, &tenant, args);
    run_read(&r, "rate limited");
    (void)kill(r.pid, SIGINT);
    run_finish(&r);
    EXPECT_CODE(&r, 128 + SIGINT);
    const char *stopped = strstr(r.out, "bigtent: stopped: the lines before line ");
    ck_assert_msg(stopped != NULL, "%s", r.out);
    ck_assert(memcmp(stopped - 4, "\r\033[K", 4) == 0);
    EXPECT_NOT_IN(stopped, "\033");
    EXPECT_NOT_IN(stopped, "[#");
}
END_TEST

START_TEST(drop_of_everything_and_of_a_table_ask_on_a_terminal)
{
    static const char *const commands[][5] = {{"row", "drop", "devices", "--all", NULL},
                                              {"table", "delete", "devices", NULL}};
    const bool is_right = _i % 2 == 1;
    const char *answer = is_right ? "devices\n" : "yes\n";
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    tenant.terminal = true;
    run_start(&r, &tenant, commands[_i / 2]);
    run_read(&r, "Type the table's name");
    /* What is written to a terminal's master is typed. */
    ck_assert_int_eq(write(r.out_fd, answer, strlen(answer)), (ssize_t)strlen(answer));
    run_finish(&r);
    EXPECT_CODE(&r, is_right ? 0 : 2);
    ck_assert_int_eq(tenant_usage(w.http).rows, is_right ? 0 : 1);
}
END_TEST

Suite *suite_cli_streams(void);
Suite *suite_cli_streams(void)
{
    Suite *s = suite_create("cli_streams");
    TCase *t = tcase_create("streams");
    tcase_set_timeout(t, 60);
    world_begin(t);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, load_writes_every_line);
    tcase_add_test(t, load_reports_failed_lines_by_number_and_exits_5);
    tcase_add_loop_test(t, load_reports_the_first_lines_that_fail_and_counts_the_others, 20, 22);
    tcase_add_test(t, load_of_nothing_is_nothing);
    tcase_add_test(t, load_into_a_table_that_is_not_there_exits_4);
    tcase_add_test(t, lines_of_a_slow_pipe_are_sent_when_it_pauses);
    tcase_add_test(t, rate_limit_slows_a_load_and_keeps_the_order_of_rows);
    tcase_add_test(t, line_over_the_limit_stops_after_the_lines_before_it);
    tcase_add_test(t, scan_json_can_be_loaded_again);
    tcase_add_test(t, streams_are_never_held_whole);
    tcase_add_loop_test(t, reader_that_leaves_ends_the_scan_quietly, 0, 2);
    tcase_add_test(t, terminal_shows_aligned_tables_with_headers);
    tcase_add_loop_test(t, terminal_is_never_obeyed_to, 0, 3);
    tcase_add_test(t, json_is_indented_on_a_terminal);
    tcase_add_test(t, load_draws_a_bar_and_wipes_it);
    tcase_add_test(t, interrupt_leaves_a_clean_line_and_says_where);
    tcase_add_loop_test(t, drop_of_everything_and_of_a_table_ask_on_a_terminal, 0, 4);
    world_end(t);
    suite_add_tcase(s, t);
    TCase *dying = tcase_create("dying");
    tcase_set_timeout(dying, 60);
    tcase_add_checked_fixture(dying, set_up_own, tear_down_own);
    tcase_add_test(dying, scan_of_a_dying_server_is_not_taken_for_whole);
    tcase_add_test(dying, load_into_a_dying_server_says_where_to_go_on);
    suite_add_tcase(s, dying);
    return s;
}

/*
 * tests/api/test_access_log.c - a line for each request: which key, for which tenant, what and how
 * it ended, and nothing of rows.
 */
#define _GNU_SOURCE
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/limits.h"
#include "tests/support/grpc_client.h"
#include "tests/support/world.h"

#include <google/bigtable/v2/bigtable.pb-c.h>

#include "base/banned.h"

#define MARK "quetzal" /* in everything that is a row's */

static struct server server;
static char path[PROCESS_PATH + 32];
static char moved[PROCESS_PATH + 40];
static struct buf lines;

static void start_with(const char *file)
{
    server.options[0] = "--access-log";
    server.options[1] = file;
    server_start(&server, NULL);
}

static void set_up(void)
{
    server_create(&server);
    (void)snprintf(path, sizeof path, "%s/access.log", server.root);
    (void)snprintf(moved, sizeof moved, "%s.1", path);
    start_with(path);
}

static void tear_down(void)
{
    base_buf_fini(&lines);
    server_remove(&server);
}

static void read_lines(const char *file)
{
    base_buf_fini(&lines);
    ck_assert_int_eq(base_file_read(file, 64 * MIB, &lines, NULL), ERR_OK);
    ck_assert_int_eq(base_buf_append_byte(&lines, '\0'), ERR_OK);
}

/* The n-th line (from 1) with this text in it, parsed; NULL: there are not so many. */
static json_t *line_with(const char *text, size_t n)
{
    for (const char *at = (const char *)lines.ptr; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        ck_assert_int_eq(at[len], '\n'); /* lines are whole */
        if (memmem(at, len, text, strlen(text)) != NULL && --n == 0) {
            json_t *line = json_loadb(at, len, JSON_REJECT_DUPLICATES, NULL);
            ck_assert_ptr_nonnull(line);
            return line;
        }
        at += len + 1;
    }
    return NULL;
}

static size_t count_with(const char *text)
{
    size_t n = 0;
    json_t *line;
    while ((line = line_with(text, n + 1)) != NULL) {
        json_decref(line);
        n++;
    }
    return n;
}

struct expected {
    const char *file;
    const char *text;
    size_t count;
};

static bool lines_are_there(void *arg)
{
    const struct expected *e = arg;
    read_lines(e->file);
    return count_with(e->text) >= e->count;
}

/* Lines come a moment behind their requests. */
static void await_lines(const char *file, const char *text, size_t count)
{
    process_await(lines_are_there, &(struct expected){file, text, count}, text);
    ck_assert_msg(count_with(text) == count, "not %zu of %s in:\n%s", count, text,
                  (const char *)lines.ptr);
}

static void expect_text(json_t *line, const char *name, const char *wanted)
{
    const char *value = json_string_value(json_object_get(line, name));
    ck_assert_msg(value == NULL ? wanted == NULL : wanted != NULL && strcmp(value, wanted) == 0,
                  "%s is %s, not %s", name, value, wanted);
}

static void expect_line(const char *text, size_t n, const char *key, const char *tenant,
                        const char *request, int status)
{
    json_t *line = line_with(text, n);
    ck_assert_ptr_nonnull(line);
    expect_text(line, "key", key);
    expect_text(line, "tenant", tenant);
    expect_text(line, "request", request);
    expect_text(line, "peer", "127.0.0.1");
    ck_assert_int_eq(json_integer_value(json_object_get(line, "status")), status);
    ck_assert(json_is_integer(json_object_get(line, "us")));
    json_decref(line);
}

/* --- who did what ------------------------------------------------------------------------------
 */

START_TEST(what_a_service_key_does_is_told_by_key_and_tenant)
{
    struct world one, two;
    char key[WORLD_KEY], id[WORLD_ID], text[WORLD_ID + 16];
    world_init_on(&one, &server, HTTP_1, "altostrat");
    world_init_on(&two, &server, HTTP_2, "brightleaf");
    admin_create_global_key(one.op, "service", key, id);
    struct http *service = http_open(&server, HTTP_2, key);
    http_once(service, "Bigtent-Tenant: altostrat");
    http_json(service, "PUT", "{'stats':{'" MARK "':'" MARK "'}}", "/v1/tables/devices/rows/" MARK);
    ck_assert_int_eq(service->status, 201);
    http_once(service, "Bigtent-Tenant: brightleaf");
    http_get(service, "/v1/tables/devices/rows/" MARK);
    ck_assert_int_eq(service->status, 404);
    http_once(service, "Bigtent-Tenant: " MARK "-nobody");
    http_get(service, "/v1/tables/devices/rows/" MARK);
    ck_assert_int_eq(service->status, 403);
    (void)snprintf(text, sizeof text, "\"key\":\"%s\"", id);
    await_lines(path, text, 3);
    expect_line(text, 1, id, "altostrat", "PUT /v1/tables/{table}/rows/{key}", 201);
    expect_line(text, 2, id, "brightleaf", "GET /v1/tables/{table}/rows/{key}", 404);
    expect_line(text, 3, id, NULL, "GET /v1/tables/{table}/rows/{key}", 403);
    json_t *line = line_with(text, 2);
    expect_text(line, "kind", "service");
    expect_text(line, "protocol", "json");
    expect_text(line, "error", "not_found");
    json_decref(line);
    ck_assert_ptr_null(strstr((const char *)lines.ptr, MARK));
    ck_assert_ptr_null(strstr((const char *)lines.ptr, key + strlen("bts_") + strlen(id)));
    http_close(service);
    world_fini(&one);
    world_fini(&two);
    server_stop(&server);
}
END_TEST

START_TEST(calls_over_grpc_have_lines_of_the_same_form)
{
    struct world w;
    struct grpc_client client;
    char table[160];
    Bt__ReadRowsRequest request = BT__READ_ROWS_REQUEST__INIT;
    world_init_on(&w, &server, HTTP_2, "altostrat");
    tenant_put(w.http, "devices", MARK, "stats", "q", MARK);
    (void)snprintf(table, sizeof table, "projects/altostrat/instances/main/tables/devices");
    request.table_name = table;
    grpc_open(&client, &server, w.key, 0);
    for (int i = 0; i < 2; i++) {
        struct grpc_call *call =
            grpc_start(&client, "/google.bigtable.v2.Bigtable/ReadRows", &request.base, NULL);
        ck_assert(grpc_run(&client, 20000));
        ck_assert_int_eq(call->status, i == 0 ? 0 : 5);
        (void)snprintf(table, sizeof table, "projects/altostrat/instances/main/tables/" MARK);
    }
    grpc_close(&client);
    await_lines(path, "Bigtable/ReadRows", 2);
    for (int i = 0; i < 2; i++) {
        json_t *line = line_with("Bigtable/ReadRows", (size_t)i + 1);
        expect_text(line, "protocol", "grpc");
        expect_text(line, "kind", "tenant");
        expect_text(line, "tenant", "altostrat");
        expect_text(line, "request", "/google.bigtable.v2.Bigtable/ReadRows");
        ck_assert_int_eq(json_integer_value(json_object_get(line, "status")), i == 0 ? 0 : 5);
        json_decref(line);
    }
    ck_assert_ptr_null(strstr((const char *)lines.ptr, MARK));
    world_fini(&w);
    server_stop(&server);
}
END_TEST

START_TEST(strangers_have_lines_without_a_key)
{
    struct http *nobody = http_open(&server, HTTP_2, NULL);
    http_get(nobody, "/v1/tables/" MARK "/rows/" MARK);
    ck_assert_int_eq(nobody->status, 401);
    http_get(nobody, "/" MARK);
    ck_assert_int_eq(nobody->status, 404);
    await_lines(path, "\"key\":null", 2);
    expect_line("\"key\":null", 1, NULL, NULL, "GET /v1/tables/{table}/rows/{key}", 401);
    expect_line("\"key\":null", 2, NULL, NULL, "none", 404);
    ck_assert_ptr_null(strstr((const char *)lines.ptr, MARK));
    http_close(nobody);
    server_stop(&server);
}
END_TEST

START_TEST(a_peer_that_left_has_a_line_with_its_address)
{
    struct world w;
    struct grpc_client client;
    Bt__ReadRowsRequest request = BT__READ_ROWS_REQUEST__INIT;
    world_init_on(&w, &server, HTTP_2, "altostrat");
    struct slice value = {base_new(LIM_SLICE_BYTES), LIM_SLICE_BYTES};
    for (int i = 0; i < 8; i++)
        http_bytes(w.http, "PUT", value, "/v1/tables/devices/cells/k%d/stats/q", i);
    base_free((void *)(uintptr_t)value.ptr);
    char table[] = "projects/altostrat/instances/main/tables/devices";
    request.table_name = table;
    grpc_open(&client, &server, w.key, 1000);
    struct grpc_call *call =
        grpc_start(&client, "/google.bigtable.v2.Bigtable/ReadRows", &request.base, NULL);
    grpc_await_bytes(&client, call, 1);
    ck_assert(!call->is_closed);
    const struct linger reset = {.l_onoff = 1};
    ck_assert_int_eq(setsockopt(client.tls.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    grpc_close(&client);
    await_lines(path, "Bigtable/ReadRows", 1);
    json_t *line = line_with("Bigtable/ReadRows", 1);
    ck_assert(json_is_null(json_object_get(line, "status")));
    expect_text(line, "peer", "127.0.0.1");
    expect_text(line, "tenant", "altostrat");
    json_decref(line);
    world_fini(&w);
    server_stop(&server);
}
END_TEST

/* --- the file ----------------------------------------------------------------------------------
 */

START_TEST(every_request_has_a_line_when_the_server_stops)
{
    enum { REQUESTS = 3000 };
    struct http *h = http_open(&server, HTTP_2, NULL);
    for (int i = 0; i < REQUESTS; i++)
        http_get(h, "/healthz");
    http_close(h);
    server_stop(&server);
    read_lines(path);
    ck_assert_uint_eq(count_with("GET /healthz"), REQUESTS);
    start_with(path); /* appends */
    server_stop(&server);
    read_lines(path);
    ck_assert_uint_eq(count_with("GET /healthz"), REQUESTS);
}
END_TEST

static bool is_there(void *arg)
{
    return access(arg, F_OK) == 0;
}

START_TEST(sighup_begins_a_new_file_and_no_line_is_lost)
{
    struct http *h = http_open(&server, HTTP_1, NULL);
    http_get(h, "/healthz");
    await_lines(path, "GET /healthz", 1);
    ck_assert_int_eq(rename(path, moved), 0);
    ck_assert_int_eq(kill(server.pid, SIGHUP), 0);
    process_await(is_there, path, "the new file");
    http_get(h, "/readyz");
    await_lines(path, "GET /readyz", 1);
    read_lines(moved);
    ck_assert_uint_eq(count_with("GET /healthz"), 1);
    http_close(h);
    server_stop(&server);
}
END_TEST

static bool has_sample(const struct buf *page, const char *text)
{
    return memmem(page->ptr, page->len, text, strlen(text)) != NULL;
}

/* Each scrape is a request, whose line is lost too. */
static bool has_lost(void *arg)
{
    struct http *op = arg;
    http_get(op, "/metrics");
    ck_assert_int_eq(op->status, 200);
    ck_assert(has_sample(&op->body, "\nbigtent_access_log_lost_total "));
    return !has_sample(&op->body, "\nbigtent_access_log_lost_total 0\n");
}

START_TEST(a_full_disk_loses_lines_and_no_request)
{
    server_stop(&server);
    start_with("/dev/full");
    struct http *op = http_open(&server, HTTP_2, server.operator_key);
    process_await(has_lost, op, "lines that are lost");
    http_close(op);
    server_stop(&server);
}
END_TEST

START_TEST(a_file_that_cannot_be_opened_is_named_and_nothing_is_served)
{
    char program[PROCESS_PATH];
    static struct process_result result;
    server_stop(&server);
    process_program("bigtentd", program);
    process_run((const char *const[]){program, "serve", "--data", server.data, "--listen",
                                      "127.0.0.1:0", "--access-log", "/nowhere/at/all.log", NULL},
                NULL, 60000, &result);
    ck_assert_int_eq(result.exit_code, 1);
    ck_assert_ptr_nonnull(strstr(result.output, "/nowhere/at/all.log"));
    ck_assert_ptr_null(strstr(result.output, "listening on"));
}
END_TEST

Suite *suite_api_access_log(void);
Suite *suite_api_access_log(void)
{
    Suite *s = suite_create("api_access_log");
    TCase *tc = tcase_create("lines");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, what_a_service_key_does_is_told_by_key_and_tenant);
    tcase_add_test(tc, calls_over_grpc_have_lines_of_the_same_form);
    tcase_add_test(tc, strangers_have_lines_without_a_key);
    tcase_add_test(tc, a_peer_that_left_has_a_line_with_its_address);
    tcase_add_test(tc, every_request_has_a_line_when_the_server_stops);
    tcase_add_test(tc, sighup_begins_a_new_file_and_no_line_is_lost);
    tcase_add_test(tc, a_full_disk_loses_lines_and_no_request);
    tcase_add_test(tc, a_file_that_cannot_be_opened_is_named_and_nothing_is_served);
    suite_add_tcase(s, tc);
    return s;
}

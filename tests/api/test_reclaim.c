/*
 * tests/api/test_reclaim.c - what was dropped leaves the files of a server in time, and only that.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/storage/files_hold.h"
#include "tests/support/scrape.h"
#include "tests/support/world.h"

#include "base/banned.h"

Suite *suite_api_reclaim(void);

#define MINE   "mine-5b1c9e7f"
#define THEIRS "theirs-a2d84c60"
#define PREFIX "patient-7741c"

static struct server server;
static struct world w;
static struct http *others;

static void set_up(void)
{
    char key[WORLD_KEY];
    server_create(&server);
    server.options[0] = "--reclaim-after";
    server.options[1] = "1s";
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "altostrat");
    admin_create_tenant(w.op, "cirrus");
    admin_create_key(w.op, "cirrus", NULL, key, NULL);
    others = http_open(&server, HTTP_2, key);
    http_json(others, "PUT", "{'families':{'stats':{}}}", "/v1/tables/devices");
    EXPECT_STATUS(others, 201);
}

static void tear_down(void)
{
    http_close(others);
    world_fini(&w);
    server_stop(&server);
    server_remove(&server);
}

static void restart(void)
{
    server_kill(&server);
    server_start(&server, NULL);
    http_reconnect(w.op);
    http_reconnect(w.http);
    http_reconnect(others);
}

static uint64_t waiting(void)
{
    return scrape_number(w.op, "bigtent_drops_waiting");
}

static bool is_gone(void *arg)
{
    (void)arg;
    return !files_hold(server.data, MINE) && waiting() == 0;
}

/* A drop of rows, or of the table; the server lives on, or is killed behind it. */
START_TEST(bytes_of_a_small_drop_leave_the_files_and_others_stay)
{
    bool is_table = (_i & 1) != 0;
    tenant_put(w.http, "devices", PREFIX, "stats", "q", MINE);
    tenant_put(others, "devices", PREFIX, "stats", "q", THEIRS);
    ck_assert_uint_eq(waiting(), 0);
    if (is_table) {
        http_delete(w.http, "/v1/tables/devices");
        EXPECT_STATUS(w.http, 204);
    } else {
        http_json(w.http, "POST", "{'prefix':'patient-'}", "/v1/tables/devices:drop");
        EXPECT_STATUS(w.http, 200);
        ck_assert_uint_eq(waiting(), 1);
    }
    if ((_i & 2) != 0)
        restart();
    process_await(is_gone, NULL, "files without what was dropped");
    ck_assert(files_hold(server.data, THEIRS));
    http_get(others, "/v1/tables/devices/rows/" PREFIX);
    EXPECT_STATUS(others, 200);
    ck_assert_str_eq(http_string(others, "/cells/stats/q/0/value"), THEIRS);
}
END_TEST

START_TEST(times_and_rates_that_cannot_be_are_refused)
{
    static const struct bad {
        const char *option;
        const char *value;
        const char *says;
    } bads[] = {
        {"--reclaim-after", "0s", "--reclaim-after must be a time from 1s to 30d"},
        {"--reclaim-after", "31d", "--reclaim-after must be a time from 1s to 30d"},
        {"--reclaim-after", "soon", "\"soon\""},
        {"--reclaim-mb", "0", "--reclaim-mb"},
        {"--reclaim-mb", "-1", "--reclaim-mb"},
        {"--scrub-mb", "-1", "--scrub-mb must be a whole number from 0"},
    };
    static struct process_result said;
    char program[PROCESS_PATH];
    process_program("bigtentd", program);
    for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
        const char *const argv[] = {program,        "serve",       "--data", "/nowhere",
                                    bads[i].option, bads[i].value, NULL};
        process_run(argv, NULL, 10000 * process_patience(), &said);
        ck_assert_int_eq(said.exit_code, 2);
        ck_assert_msg(strstr(said.output, bads[i].says) != NULL, "%s", said.output);
    }
}
END_TEST

Suite *suite_api_reclaim(void)
{
    Suite *s = suite_create("api_reclaim");
    TCase *t = tcase_create("served");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, bytes_of_a_small_drop_leave_the_files_and_others_stay, 0, 4);
    suite_add_tcase(s, t);
    t = tcase_create("options");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, times_and_rates_that_cannot_be_are_refused);
    suite_add_tcase(s, t);
    return s;
}

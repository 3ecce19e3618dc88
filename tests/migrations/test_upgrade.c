/*
 * tests/migrations/test_upgrade.c - a directory of the first format, as its program left it,
 * becomes one of ours: dry runs, kills, and what was stored.
 *
 * fixtures/format-1.tar.gz: three tenants of five rows each; examplepetstore was offboarded, cirrus
 * is suspended. The keys below are in no other directory.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "migrations/datadir.h"
#include "migrations/format_history.h"
#include "migrations/upgrade.h"
#include "storage/engine.h"
#include "tests/support/disk.h"
#include "tests/support/http.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_migrations_upgrade(void);

#define FIXTURE  "tests/migrations/fixtures/format-1.tar.gz"
#define KEY_OF_A "btt_zl7u5C0qu8ddK8ZMVYwerH6sGNdbmweVXDL3UcxDv8CFMPO32RvjZ8"

static struct server server;
static struct disk disk;
static char program[PROCESS_PATH];
static struct process_result result;

static void run(const char *const *argv, int expected)
{
    process_run(argv, NULL, 120000, &result);
    ck_assert_msg(result.exit_code == expected, "%d: %s", result.exit_code, result.output);
}

/* To the fixture. */
static void set_back(void)
{
    const char *const away[] = {"/bin/rm", "-rf", server.data, NULL};
    const char *const unpack[] = {"/bin/tar", "-xzf", FIXTURE, "-C", server.root, NULL};
    run(away, 0);
    run(unpack, 0);
}

/* The fixture in the place of what init made. */
static void set_up(void)
{
    struct buf key = {0};
    char path[PROCESS_PATH + 32];
    process_program("bigtentd", program);
    server_create(&server);
    disk_init(&disk, &server, server.data);
    set_back();
    (void)snprintf(path, sizeof path, "%s/operator.key", server.data);
    ck_assert_int_eq(base_file_read(path, 100, &key, NULL), ERR_OK);
    memcpy(server.operator_key, key.ptr, key.len);
    server.operator_key[key.len - 1] = '\0'; /* the line feed */
    base_buf_fini(&key);
}

static void tear_down(void)
{
    disk_fini(&disk);
    server_remove(&server);
}

static void upgrade(const char *option, int expected)
{
    const char *const argv[] = {program, "upgrade", "--data", server.data, option, NULL};
    run(argv, expected);
}

static void expect_format(uint32_t format)
{
    struct mig_datadir d;
    struct errbuf eb;
    enum err rc = mig_datadir_open_any(server.data, &d, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    ck_assert_uint_eq(d.format, format);
    mig_datadir_close(&d);
}

static void expect_says(const char *text)
{
    ck_assert_msg(strstr(result.output, text) != NULL, "\"%s\" is not in %s", text, result.output);
}

static void expect_stored(void)
{
    server_start(&server, NULL);
    struct http *op = http_open(&server, HTTP_2, server.operator_key);
    struct http *http = http_open(&server, HTTP_2, KEY_OF_A);
    http_get(http, "/v1/tables/phone/rows?prefix=phone%%23");
    EXPECT_STATUS(http, 200);
    ck_assert_uint_eq(http_count(http, "/rows"), 5);
    ck_assert_str_eq(http_string(http, "/rows/2/cells/stats/battery/0/value"), "83");
    http_get(op, "/v1/admin/tenants/altostrat/usage?recount=true");
    EXPECT_STATUS(op, 200);
    http_get(op, "/v1/admin/tenants/cirrus");
    ck_assert_str_eq(http_string(op, "/state"), "suspended");
    ck_assert_str_eq(http_string(op, "/reason"), "unpaid");
    http_get(op, "/v1/admin/tenants/examplepetstore");
    ck_assert_str_eq(http_string(op, "/state"), "purged");
    http_close(http);
    http_close(op);
    server_stop(&server);
}

START_TEST(a_server_does_not_start_on_an_older_format)
{
    const char *const argv[] = {program,    "serve",       "--data", server.data,
                                "--listen", "127.0.0.1:0", NULL};
    run(argv, 1);
    expect_says("has format 1; this program works on 2");
    expect_says("bigtentd upgrade --data");
    expect_format(1);
}
END_TEST

START_TEST(a_dry_run_tells_and_does_nothing)
{
    upgrade("--dry-run", 0);
    expect_says("format 1; this program works on 2");
    expect_says("format 2: plant canaries");
    expect_says("format 2: 2 of 3 tenants: ");
    expect_says(" 10 keys to be written in 2 commits");
    expect_format(1);
    struct mig_format_state states[MIG_FORMAT_VERSION];
    ck_assert_int_eq(mig_format_states(server.data, 1, states, NULL), ERR_OK);
    ck_assert_int_eq(states[1].how, MIG_REACHED_NOT);
    upgrade(NULL, 0);
    upgrade("--dry-run", 0);
    expect_says("nothing to do");
    ck_assert_ptr_null(strstr(result.output, "commits"));
}
END_TEST

START_TEST(an_upgrade_keeps_everything)
{
    upgrade(NULL, 0);
    expect_says("format 2: 2 of 2 tenants, 100%");
    expect_says("format 2: done");
    expect_format(2);
    expect_stored();
    upgrade(NULL, 0);
    expect_says("nothing to do");
}
END_TEST

START_TEST(a_server_tells_when_it_was_upgraded)
{
    upgrade(NULL, 0);
    server_start(&server, NULL);
    struct http *op = http_open(&server, HTTP_2, server.operator_key);
    http_get(op, "/v1/admin/formats");
    EXPECT_STATUS(op, 200);
    ck_assert_int_eq(http_number(op, "/format"), 2);
    ck_assert_int_eq(http_number(op, "/program_format"), MIG_FORMAT_VERSION);
    ck_assert_str_eq(http_string(op, "/formats/0/state"), "done"); /* before it was noted */
    ck_assert_str_eq(http_string(op, "/formats/1/state"), "upgraded");
    ck_assert_str_eq(http_string(op, "/formats/1/software"), BIGTENT_VERSION);
    ck_assert_uint_gt(strlen(http_string(op, "/formats/1/at")), 0);
    ck_assert_ptr_nonnull(strstr(http_string(op, "/formats/1/upgrade"), "canaries"));
    http_close(op);
    server_stop(&server);
}
END_TEST

static bool is_purged(void *op)
{
    http_get(op, "/v1/admin/tenants/altostrat");
    return strcmp(http_string(op, "/state"), "purged") == 0;
}

/* A tenant of before leaves with the same proof as a new one. */
START_TEST(canaries_are_planted_and_gone_with_their_tenant)
{
    upgrade(NULL, 0);
    server_start(&server, NULL);
    struct http *op = http_open(&server, HTTP_2, server.operator_key);
    http_json(op, "POST", "{'confirm':'altostrat'}", "/v1/admin/tenants/altostrat:offboard");
    EXPECT_STATUS(op, 202);
    process_await(is_purged, op, "the purge of altostrat");
    ck_assert_str_eq(http_string(op, "/state"), "purged");
    http_get(op, "/v1/admin/tenants/altostrat/certificate");
    EXPECT_STATUS(op, 200);
    ck_assert_int_eq(http_number(op, "/canaries/planted"), STO_CANARIES);
    ck_assert_int_eq(http_number(op, "/canaries/found_before"), STO_CANARIES);
    ck_assert_int_eq(http_number(op, "/canaries/found_after"), 0);
    http_close(op);
    server_stop(&server);
}
END_TEST

/* --- killed ------------------------------------------------------------------------------------
 */

#define ALL         3 /* tenants of the fixture */
#define DUE         2 /* of which so many have no canaries and are to have some */
#define KILLED      (128 + SIGKILL)
#define AGAIN_EACH  3
#define STORED_EACH 8 /* cases */
#define SLICES      6

/* A tenant a part; killed at the call behind `after` of those that change a file or make it
 * durable, if there are so many: false when it was over before. */
static bool upgrade_is_killed(uint64_t after)
{
    const char *const argv[] = {program, "upgrade", "--data", server.data, NULL};
    const char *env[] = {disk.env[0], disk.env[1], disk.env[2], "BIGTENT_TEST_UPGRADE_PART=1",
                         NULL};
    disk_kill(&disk, DISK_CHANGE | DISK_SYNC, "", after);
    process_run(argv, env, 60000, &result);
    ck_assert_msg(result.exit_code == 0 || result.exit_code == KILLED, "killed at %llu: %d: %s",
                  (unsigned long long)after, result.exit_code, result.output);
    return result.exit_code == KILLED;
}

/* "format 2: 1 of 3 tenants", and a mark that tells what there is to do from what is done. */
static bool says(int count, int all, const char *mark)
{
    char text[64];
    (void)snprintf(text, sizeof text, "format 2: %d of %d tenants%s", count, all, mark);
    return strstr(result.output, text) != NULL;
}

static int resumed; /* upgrades that began with the second part, the first one said to be done */

/* Tenants that are still to be done, of which the last run took so many at its begin: it takes
 * none up again that the one before had said was done. Below 0: it says nothing of them. */
static int look_at_due(int left)
{
    int due = strstr(result.output, "nothing to do") != NULL ? 0 : -1;
    for (int i = 0; i <= DUE; i++)
        if (says(i, ALL, ":"))
            due = i;
    ck_assert_msg(due <= left, "%d of %d are left, and it says: %s", left, DUE, result.output);
    resumed += left == 1 && due == 1;
    return due;
}

/* And when it ended. */
static int look_at_left(int left)
{
    int due = look_at_due(left);
    int done = 0;
    for (int i = 1; i <= due; i++)
        if (says(i, due, ","))
            done = i;
    return due < 0 ? left : due - done;
}

static void expect_upgraded(bool is_all)
{
    struct mig_format_state states[MIG_FORMAT_VERSION];
    struct mig_upgrade_amount amount;
    char db[PROCESS_PATH + 32];
    expect_format(2);
    (void)snprintf(db, sizeof db, "%s/db", server.data);
    ck_assert_int_eq(mig_upgrade_to(2)->measure(db, &amount, NULL), ERR_OK);
    ck_assert_uint_eq(amount.all, ALL);
    ck_assert_uint_eq(amount.due, 0);
    ck_assert_int_eq(mig_format_states(server.data, 2, states, NULL), ERR_OK);
    ck_assert_int_eq(states[1].how, MIG_REACHED_UPGRADED);
    if (is_all)
        expect_stored();
}

/* The calls of an upgrade that is let be. The directory is the fixture again. */
static uint64_t count_calls(void)
{
    (void)upgrade_is_killed(UINT64_MAX);
    uint64_t calls = disk_seen(&disk);
    ck_assert(says(1, DUE, ",") && says(2, DUE, ","));
    ck_assert_uint_gt(calls, 100);
    set_back();
    return calls;
}

/* An upgrade that is let be; tenants that it found still to be done. */
static int finish(int left, bool is_all)
{
    disk_heal(&disk);
    upgrade(NULL, 0);
    int due = look_at_due(left);
    expect_upgraded(is_all);
    return due;
}

/* Which calls are tried is chosen before the tests fork, so that all slices agree. */
static struct {
    uint64_t seed;   /* CALLS_SEED, or the clock */
    uint64_t stride; /* 1: every call, with ALL_CALLS=1 */
    uint64_t first;
} chosen;

static void choose_calls(void)
{
    uint64_t third = 3 * (uint64_t)process_env_number("ROUNDS_DIVISOR", 1);
    chosen.seed = (uint64_t)process_env_number("CALLS_SEED", (long)(base_wall_us() / 1000));
    chosen.stride = process_env_number("ALL_CALLS", 0) != 0 ? 1 : third;
    chosen.first = chosen.seed % chosen.stride;
    (void)printf("upgrades are killed at call %llu and every %llu. after it (CALLS_SEED=%llu)\n",
                 (unsigned long long)chosen.first, (unsigned long long)chosen.stride,
                 (unsigned long long)chosen.seed);
}

/* At each chosen call of an upgrade, from the fixture on; where it is tried again, it is killed a
 * second time for one in a few. Each case ends with an upgrade that is let be. */
START_TEST(an_upgrade_killed_at_any_call_goes_on)
{
    struct random random = {.state = chosen.seed + (uint64_t)_i};
    const uint64_t calls = count_calls();
    const uint64_t cases = (calls - chosen.first + chosen.stride - 1) / chosen.stride;
    for (uint64_t at = (uint64_t)_i; at < cases; at += SLICES) {
        uint64_t after = chosen.first + at * chosen.stride;
        set_back();
        ck_assert(upgrade_is_killed(after));
        int left = look_at_left(DUE);
        if (random_below(&random, AGAIN_EACH) == 0) {
            (void)upgrade_is_killed(random_below(&random, (uint32_t)calls)); /* or is not */
            left = look_at_left(left);
        }
        (void)finish(left, at % STORED_EACH == 0);
    }
}
END_TEST

/* The last calls are about what is noted when everything is done. */
START_TEST(an_upgrade_killed_after_its_last_part_has_nothing_to_do)
{
    uint64_t after = count_calls();
    int due = -1;
    while (due != 0) {
        ck_assert_uint_gt(after--, 0);
        set_back();
        if (upgrade_is_killed(after))
            due = finish(look_at_left(DUE), true);
    }
}
END_TEST

/* There are one or two calls between the parts: the first call at which one part is said to be
 * done is searched by halves, and tried with those that follow it. */
START_TEST(an_upgrade_killed_between_its_parts_resumes_with_the_second)
{
    const uint64_t calls = count_calls();
    uint64_t low = 0, high = calls;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        set_back();
        (void)upgrade_is_killed(middle);
        if (look_at_left(DUE) < DUE)
            high = middle;
        else
            low = middle + 1;
    }
    for (; resumed == 0; low++) {
        ck_assert_msg(low < calls, "no call was met between the parts");
        set_back();
        (void)upgrade_is_killed(low);
        (void)finish(look_at_left(DUE), true);
    }
}
END_TEST

START_TEST(a_directory_from_the_future_is_refused)
{
    char path[PROCESS_PATH + 32];
    (void)snprintf(path, sizeof path, "%s/FORMAT", server.data);
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("bigtent data 3\n"), 0644, NULL), ERR_OK);
    upgrade(NULL, 1);
    expect_says("written by a newer bigtentd");
    upgrade("--dry-run", 1);
}
END_TEST

START_TEST(a_step_that_fails_leaves_the_format)
{
    char path[PROCESS_PATH + 32];
    (void)snprintf(path, sizeof path, "%s/pepper", server.data);
    ck_assert_int_eq(unlink(path), 0);
    upgrade(NULL, 1);
    expect_says("pepper");
    expect_format(1);
}
END_TEST

Suite *suite_migrations_upgrade(void)
{
    Suite *s = suite_create("migrations_upgrade");
    choose_calls();
    TCase *t = tcase_create("upgrade");
    tcase_set_timeout(t, 600);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_server_does_not_start_on_an_older_format);
    tcase_add_test(t, a_dry_run_tells_and_does_nothing);
    tcase_add_test(t, an_upgrade_keeps_everything);
    tcase_add_test(t, a_server_tells_when_it_was_upgraded);
    tcase_add_test(t, canaries_are_planted_and_gone_with_their_tenant);
    tcase_add_loop_test(t, an_upgrade_killed_at_any_call_goes_on, 0, SLICES);
    tcase_add_test(t, an_upgrade_killed_after_its_last_part_has_nothing_to_do);
    tcase_add_test(t, an_upgrade_killed_between_its_parts_resumes_with_the_second);
    tcase_add_test(t, a_directory_from_the_future_is_refused);
    tcase_add_test(t, a_step_that_fails_leaves_the_format);
    suite_add_tcase(s, t);
    return s;
}

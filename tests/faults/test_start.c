/*
 * tests/faults/test_start.c - starts and upgrades that meet a failing disk, at every kind of call:
 * they end with a message, and the next try on a disk that is well finds everything.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/faults/launched.h"
#include "tests/support/disk.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define ROWS     40
#define ABORTED  134 /* Debian's RocksDB asserts when a file fails twice */
#define SPACE    (DISK_WRITE | DISK_MAKE | DISK_NAME | DISK_ALLOCATE)
#define FIXTURE  "tests/migrations/fixtures/format-1.tar.gz"
#define KEY_OF_A "btt_zl7u5C0qu8ddK8ZMVYwerH6sGNdbmweVXDL3UcxDv8CFMPO32RvjZ8" /* in the fixture */

static struct server server;
static struct disk disk;
static struct world world;
static struct process_result result;
static char program[PROCESS_PATH];

static void set_up(void)
{
    process_program("bigtentd", program);
    server_create(&server);
    disk_init(&disk, &server, server.data);
}

static void tear_down(void)
{
    disk_heal(&disk);
    disk_fini(&disk);
    server_remove(&server);
}

/* Launch; true when it came up, false when it ended, as a start that failed may. */
static bool try_to_start(const char *name)
{
    int code = launched_try(&server, disk.env);
    if (code == 0)
        return true;
    ck_assert_msg(code == 1 || code == 3 || code == ABORTED, "%s: exit %d", name, code);
    return false;
}

static void expect_rows(void)
{
    server_start(&server, disk.env);
    struct http *h = http_open(&server, HTTP_2, world.key);
    http_get(h, "/v1/tables/devices/rows?limit=100");
    EXPECT_STATUS(h, 200);
    ck_assert_uint_eq(http_count(h, "/rows"), ROWS);
    http_close(h);
    server_kill(&server);
}

static const struct fault {
    const char *name;
    uint32_t calls;
    int error;
    const char *only;
    bool is_once;
    uint64_t steps; /* from the first call on */
    uint64_t stride;
} FAULTS[] = {
    {"no space", SPACE, ENOSPC, "", true, 48, 6},
    {"no space any more", SPACE, ENOSPC, "", false, 48, 6},
    {"no fsync any more", DISK_SYNC, EIO, "", false, 12, 2},
    {"no space for the manifest", SPACE, ENOSPC, "MANIFEST", true, 8, 1},
    {"no new manifest in place", SPACE | DISK_SYNC, EIO, "dbtmp", true, 4, 1},
    {"nothing can be read", DISK_READ, EIO, "", false, 8, 2},
};

static void arm(const struct fault *f, uint64_t after)
{
    if (f->is_once)
        disk_fail_once(&disk, f->calls, f->error, f->only, after);
    else
        disk_fail(&disk, f->calls, f->error, f->only, after);
}

START_TEST(start_on_a_failing_disk_leaves_what_the_next_start_opens)
{
    const struct fault *f = &FAULTS[_i];
    server_start(&server, disk.env);
    world_init_on(&world, &server, HTTP_2, "acme");
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        (void)snprintf(row, sizeof(row), "row%03d", i);
        tenant_put(world.http, "devices", row, "raw", "v", "value");
    }
    server_kill(&server);
    size_t ended = 0;
    for (uint64_t after = 0; after < f->steps; after += f->stride) {
        arm(f, after);
        ended += !try_to_start(f->name);
        disk_heal(&disk);
    }
    ck_assert_uint_gt(ended, 0);
    expect_rows();
    world_fini(&world);
}
END_TEST

/* --- upgrades -----------------------------------------------------------------------------------
 */

static int upgrade(void)
{
    const char *const argv[] = {program, "upgrade", "--data", server.data, NULL};
    process_run(argv, disk.env, 60000, &result);
    return result.exit_code;
}

static void unpack(void)
{
    const char *const away[] = {"/bin/rm", "-rf", server.data, NULL};
    const char *const fetch[] = {"/bin/tar", "-xzf", FIXTURE, "-C", server.root, NULL};
    process_run(away, NULL, 60000, &result);
    ck_assert_int_eq(result.exit_code, 0);
    process_run(fetch, NULL, 60000, &result);
    ck_assert_msg(result.exit_code == 0, "%s", result.output);
}

static const struct fault UPGRADES[] = {
    {"no space any more", SPACE, ENOSPC, "", false, 84, 12},
    {"no fsync", DISK_SYNC, EIO, "", true, 28, 4},
};

START_TEST(upgrade_on_a_failing_disk_is_repeated_and_keeps_everything)
{
    const struct fault *f = &UPGRADES[_i];
    size_t ended = 0;
    for (uint64_t after = 0; after < f->steps; after += f->stride) {
        unpack();
        arm(f, after);
        int code = upgrade();
        ck_assert_msg(code == 0 || code == 1 || code == ABORTED, "%s: exit %d: %s", f->name, code,
                      result.output);
        ended += code != 0;
        disk_heal(&disk);
        ck_assert_msg(upgrade() == 0, "%s", result.output);
    }
    ck_assert_uint_gt(ended, 0);
    server_start(&server, disk.env);
    struct http *h = http_open(&server, HTTP_2, KEY_OF_A);
    http_get(h, "/v1/tables/phone/rows?prefix=phone%%23");
    EXPECT_STATUS(h, 200);
    ck_assert_uint_eq(http_count(h, "/rows"), 5);
    http_close(h);
    server_stop(&server);
}
END_TEST

Suite *suite_faults_start(void);
Suite *suite_faults_start(void)
{
    Suite *s = suite_create("faults_start");
    TCase *tc = tcase_create("start");
    tcase_set_timeout(tc, 600);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, start_on_a_failing_disk_leaves_what_the_next_start_opens, 0,
                        (int)(sizeof(FAULTS) / sizeof(FAULTS[0])));
    tcase_add_loop_test(tc, upgrade_on_a_failing_disk_is_repeated_and_keeps_everything, 0,
                        (int)(sizeof(UPGRADES) / sizeof(UPGRADES[0])));
    suite_add_tcase(s, tc);
    return s;
}

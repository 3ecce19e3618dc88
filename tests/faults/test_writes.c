/*
 * tests/faults/test_writes.c - disks that are full, read-only or failing under writers.
 *
 * After each failure the server is killed or has ended, and is started again on a disk that is
 * well: every acknowledged row must be there, the database open, writes possible.
 */
#define _GNU_SOURCE
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/clock.h"
#include "base/limits.h"
#include "tests/faults/launched.h"
#include "tests/support/disk.h"
#include "tests/support/disk_end.h"
#include "tests/support/disk_load.h"
#include "tests/support/scrape.h"

#include "base/banned.h"

#define HEADROOM    (8 * MIB)
#define VALUE_BYTES 6000

static struct server server;
static struct disk disk;
static struct world world;
static struct disk_load load;

static void set_up(void)
{
    static const char *const OPTIONS[] = {"--memtable-mb", "1", "--headroom-mb", "8"};
    server_create(&server);
    memcpy(server.options, OPTIONS, sizeof(OPTIONS));
    disk_init(&disk, &server, server.data);
    server_start(&server, disk.env);
    world_init_on(&world, &server, HTTP_2, "acme");
    tenant_put(world.http, "devices", "kept", "stats", "q", "v"); /* is read on a bad disk */
    disk_load_init(&load, &server, world.key, VALUE_BYTES);
}

static void tear_down(void)
{
    world_fini(&world);
    disk_heal(&disk);
    if (server.pid > 0)
        server_stop(&server); /* what a sanitizer finds is a failure */
    disk_fini(&disk);
    server_remove(&server);
}

static void reconnect(void)
{
    http_reconnect(world.op);
    http_reconnect(world.http);
}

static void expect_ready(const char *storage)
{
    http_get(world.http, "/readyz");
    EXPECT_STATUS(world.http, 200);
    ck_assert_str_eq(http_string(world.http, "/status"), "ready");
    ck_assert_str_eq(http_string(world.http, "/storage"), storage);
}

/* On a disk that is well, after whatever it was. */
static void expect_everything(void)
{
    reconnect();
    expect_ready("ok");
    disk_load_expect(&load);
    tenant_put(world.http, "devices", "afterwards", "stats", "q", "writable");
    struct usage counted = admin_recount(world.op, "acme");
    ck_assert_int_gt(counted.rows, 0);
}

/* --- full --------------------------------------------------------------------------------------
 */

static bool has_ballast(void)
{
    char path[PROCESS_PATH + 32];
    (void)snprintf(path, sizeof(path), "%s/ballast", server.data);
    return access(path, F_OK) == 0;
}

static bool ballast_is(void *wanted)
{
    return has_ballast() == *(const bool *)wanted;
}

static void await_ballast(bool wanted)
{
    process_await(ballast_is, &wanted, wanted ? "a new ballast" : "the end of the ballast");
}

static void expect_full(void)
{
    expect_ready("full");
    scrape(world.op);
    ck_assert_uint_eq(scrape_seen("bigtent_disk_low"), 1);
    ck_assert_uint_eq(scrape_seen("bigtent_storage_state{state=\"full\"}"), 1);
    ck_assert_uint_eq(scrape_seen("bigtent_storage_state{state=\"ok\"}"), 0);
    ck_assert_uint_eq(scrape_seen("bigtent_engine_failed"), 0);
    http_json(world.http, "PUT", "{'raw':{'v':'x'}}", "/v1/tables/devices/rows/new");
    EXPECT_PROBLEM(world.http, 507, "storage_full");
    http_get(world.http, "/v1/tables/devices/rows/kept");
    EXPECT_STATUS(world.http, 200);
}

static void tenant_make(const char *id)
{
    char key[WORLD_KEY];
    admin_create_tenant(world.op, id);
    admin_create_key(world.op, id, NULL, key, NULL);
    struct http *h = http_open(&server, HTTP_2, key);
    http_json(h, "PUT", "{'families':{'f':{}}}", "/v1/tables/t");
    EXPECT_STATUS(h, 201);
    for (int i = 0; i < 50; i++) {
        http_json(h, "PUT", "{'f':{'q':'value'}}", "/v1/tables/t/rows/r%d", i);
        EXPECT_STATUS(h, 201);
    }
    http_close(h);
}

START_TEST(full_disk_refuses_growth_lets_deletes_pass_and_recovers_by_itself)
{
    tenant_make("leaver");
    tenant_make("leaver-too");
    tenant_put(world.http, "devices", "old", "stats", "q", "v");
    tenant_put(world.http, "devices", "older", "stats", "q", "v");
    disk_load_start(&load);
    ck_assert(disk_load_await(&load, &load.acked, 50));

    disk_leave_free(&disk, HEADROOM / 2);
    ck_assert(disk_load_await(&load, &load.refused, 20));
    expect_full();
    http_delete(world.http, "/v1/tables/devices/rows/old");
    EXPECT_STATUS(world.http, 204);
    admin_offboard(world.op, "leaver");
    ck_assert(has_ballast());

    disk_leave_free(&disk, HEADROOM / 8); /* others fill it further: the reserve is given up */
    await_ballast(false);
    expect_full();
    http_delete(world.http, "/v1/tables/devices/rows/older");
    EXPECT_STATUS(world.http, 204);
    admin_offboard(world.op, "leaver-too");
    ck_assert_int_eq(http_number(world.op, "/audit/physical_keys"), 0);

    disk_heal(&disk);
    ck_assert(disk_load_await(&load, &load.acked, atomic_load(&load.acked) + 20));
    await_ballast(true);
    expect_ready("ok");
    ck_assert_msg(atomic_load(&load.unknown) == 0,
                  "%zu writes of unknown outcome, the last with %d",
                  (size_t)atomic_load(&load.unknown), atomic_load(&load.unknown_status));
    disk_load_stop(&load);
    server_kill(&server);
    server_start(&server, disk.env);
    expect_everything();
}
END_TEST

static bool storage_is_full(void *arg)
{
    (void)arg;
    http_get(world.http, "/readyz");
    EXPECT_STATUS(world.http, 200);
    return strcmp(http_string(world.http, "/storage"), "full") == 0;
}

static bool disk_has_failed(void *arg)
{
    (void)arg;
    return disk_failed(&disk) > 0;
}

static bool new_row_is_written(void *arg)
{
    (void)arg;
    return http_json(world.http, "PUT", "{'raw':{'v':'x'}}", "/v1/tables/devices/rows/new") == 201;
}

/* Bytes enough, but no new file: RocksDB would stop at the next one it needs. */
START_TEST(disk_without_inodes_counts_as_full)
{
    tenant_put(world.http, "devices", "old", "stats", "q", "v");
    disk_no_inodes(&disk);
    process_await(storage_is_full, NULL, "a disk that counts as full");
    expect_ready("full");
    http_json(world.http, "PUT", "{'raw':{'v':'x'}}", "/v1/tables/devices/rows/new");
    EXPECT_PROBLEM(world.http, 507, "storage_full");
    http_delete(world.http, "/v1/tables/devices/rows/old"); /* the witness has to wait */
    EXPECT_STATUS(world.http, 204);
    process_await(disk_has_failed, NULL, "a call that fails for lack of inodes");
    expect_ready("full");
    disk_heal(&disk);
    process_await(new_row_is_written, NULL, "a disk that takes writes again");
    expect_everything();
}
END_TEST

/* --- descriptors -------------------------------------------------------------------------------
 */

static const struct lack {
    const char *only; /* files that cannot be opened */
    int error;
} LACKS[] = {{"witness", EMFILE}, {".log", EMFILE}, {".sst", EMFILE}, {"", ENFILE}};

static bool has_failed_thrice(void *arg)
{
    (void)arg;
    return disk_failed(&disk) >= 3;
}

/* Three times: what fails is tried again, and nothing has failed for good. */
START_TEST(a_lack_of_descriptors_is_waited_out)
{
    const struct lack *l = &LACKS[_i];
    disk_load_start(&load);
    ck_assert(disk_load_await(&load, &load.acked, 30));
    disk_fail(&disk, DISK_MAKE, l->error, l->only, 0);
    process_await(has_failed_thrice, NULL, "three tries to open a file");
    expect_ready("ok");
    disk_heal(&disk);
    ck_assert(disk_load_await(&load, &load.acked, atomic_load(&load.acked) + 20));
    ck_assert_uint_eq(atomic_load(&load.unknown), 0);
    scrape(world.op);
    ck_assert_uint_ge(scrape_seen("bigtent_descriptors_missed_total"), 1);
    ck_assert_uint_eq(scrape_seen("bigtent_engine_failed"), 0);
    disk_load_stop(&load);
    server_kill(&server);
    server_start(&server, disk.env);
    expect_everything();
}
END_TEST

/* The reserve has been used up, and the server ends: it does not start into a full disk. */
START_TEST(start_on_a_full_disk_is_refused_with_bytes_until_there_is_space)
{
    tenant_put(world.http, "devices", "row", "stats", "q", "v");
    server_kill(&server);
    disk_leave_free(&disk, 0);
    atomic_fetch_sub(&disk.fault->space_bytes, 64 * MIB); /* what the ballast would give */
    server_launch(&server, disk.env);
    ck_assert_int_eq(server_wait_end(&server, 60000), 1);
    ck_assert(server_log_says(&server, "is full: 0 bytes are free"));
    ck_assert(!has_ballast());
    disk_leave_free(&disk, 4 * HEADROOM);
    server_start(&server, disk.env);
    expect_everything();
}
END_TEST

START_TEST(start_with_a_reserve_gives_it_up_and_deletes)
{
    tenant_put(world.http, "devices", "row", "stats", "q", "v");
    server_kill(&server);
    disk_leave_free(&disk, 0);
    server_start(&server, disk.env);
    reconnect();
    ck_assert(!has_ballast());
    http_delete(world.http, "/v1/tables/devices/rows/row");
    EXPECT_STATUS(world.http, 204);
    server_kill(&server);
    disk_heal(&disk);
    server_start(&server, disk.env);
    expect_everything();
}
END_TEST

/* --- failing ------------------------------------------------------------------------------------
 */

#define SPACE (DISK_WRITE | DISK_MAKE | DISK_NAME | DISK_ALLOCATE)

static const struct failure {
    const char *name;
    uint32_t calls;
    int error;
    const char *only;
    bool is_once;
    const char *state;
} FAILURES[] = {
    {"no space for the log", DISK_WRITE, ENOSPC, ".log", false, "full"},
    {"no space for a table", SPACE, ENOSPC, ".sst", true, "full"},
    {"no space for the manifest", SPACE, ENOSPC, "MANIFEST", true, "full"},
    {"no space for the witness", SPACE, ENOSPC, "witness", false, "full"},
    {"no space for anything, whatever statvfs says", SPACE, ENOSPC, "", false, "full"},
    {"fsync of the log fails", DISK_SYNC, EIO, ".log", true, "failed"},
    {"every fsync fails", DISK_SYNC, EIO, "", false, "failed"},
    {"fsync of a table fails", DISK_SYNC, EIO, ".sst", true, "failed"},
    {"the log takes no writes", DISK_WRITE, EIO, ".log", false, "failed"},
    {"a table is refused, whatever statvfs says", SPACE, EROFS, ".sst", true, "read_only"},
    {"remounted read-only", 0, EROFS, "", false, "read_only"},
};

START_TEST(failing_disk_ends_the_server_and_loses_nothing)
{
    const struct failure *f = &FAILURES[_i];
    load.watched = &disk.fault->failed;
    disk_load_start(&load);
    ck_assert(disk_load_await(&load, &load.acked, 30));
    disk_hold_end(&disk);
    if (f->calls == 0)
        disk_read_only(&disk);
    else if (f->is_once)
        disk_fail_once(&disk, f->calls, f->error, f->only, 0);
    else
        disk_fail(&disk, f->calls, f->error, f->only, 0);
    int code = disk_end_expect(&disk, &server, &world, f->state);
    disk_load_stop(&load);
    ck_assert_uint_gt(disk_failed(&disk), 0);
    ck_assert_msg(code == ENGINE_FAILED || !f->is_once, "%s: exit %d", f->name, code);
    if ((f->calls & DISK_SYNC) != 0 && f->only[0] == '\0') /* nothing is durable any more */
        ck_assert_uint_eq(atomic_load(&load.late), 0);
    code = launched_try(&server, disk.env); /* as a supervisor does: up, or a message and exit 1 */
    ck_assert_msg(code == 0 || code == 1 || code == ENGINE_FAILED || code == ABORTED,
                  "%s: the next start ended with %d", f->name, code);
    disk_heal(&disk);
    server_start(&server, disk.env);
    expect_everything();
}
END_TEST

/* Whether the witness has not been written for so long. */
static bool witness_is_settled(void *rest_us)
{
    char path[PROCESS_PATH + 32];
    struct stat st;
    (void)snprintf(path, sizeof(path), "%s/witness", server.data);
    return stat(path, &st) == 0 &&
           base_wall_us() - st.st_mtim.tv_sec * 1000000LL - st.st_mtim.tv_nsec / 1000 >
               *(const int64_t *)rest_us;
}

/* True when no call failed before the server said that the disk is read-only: what was written
 * before had its witness. */
static bool notices_read_only(int64_t rest_us)
{
    process_await(witness_is_settled, &rest_us, "a witness of everything that was written");
    disk_hold_end(&disk);
    disk_read_only(&disk);
    ck_assert_int_eq(disk_end_expect(&disk, &server, &world, "read_only"), ENGINE_FAILED);
    return disk_failed(&disk) == 0;
}

/* A witness that came late is a write: then it is tried again, after twice as long. The first rest
 * is two of the witness's periods. */
START_TEST(read_only_disk_is_noticed_without_a_write)
{
    enum { TRIES = 5 };
    int64_t rest_us = 600000;
    bool without_write = notices_read_only(rest_us);
    for (int tries = 1; !without_write && tries < TRIES; tries++) {
        disk_heal(&disk);
        server_start(&server, disk.env);
        reconnect();
        without_write = notices_read_only(rest_us *= 2);
    }
    ck_assert(without_write);
    ck_assert(server_log_says(&server,
                              "storage=read_only reason=\"the file system is mounted read-only\""));
    server_launch(&server, disk.env);
    ck_assert_int_eq(server_wait_end(&server, 60000), 1);
    ck_assert(server_log_says(&server, "Read-only file system"));
    disk_heal(&disk);
    server_start(&server, disk.env);
    expect_everything();
}
END_TEST

/* --- transitions --------------------------------------------------------------------------------
 */

static size_t suspensions_recorded(void)
{
    size_t count = 0;
    http_get(world.op, "/v1/admin/audit?tenant=acme");
    EXPECT_STATUS(world.op, 200);
    for (size_t i = 0; i < http_count(world.op, "/records"); i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "/records/%zu/action", i);
        count += strcmp(http_string(world.op, path), "tenant.suspend") == 0;
    }
    return count;
}

/* The log may hold it or not: that is known only at the next start. */
START_TEST(suspension_that_is_not_durable_is_not_acknowledged)
{
    ck_assert_uint_eq(suspensions_recorded(), 0);
    disk_hold_end(&disk);
    disk_fail(&disk, DISK_SYNC, EIO, ".log", 0);
    bool answered = http_try(world.op, "POST", "/v1/admin/tenants/acme:suspend", SLICE_LIT("{}"));
    ck_assert_msg(!answered || world.op->status >= 500, "%d", world.op->status);
    ck_assert_uint_gt(disk_failed(&disk), 0);
    (void)disk_end_expect(&disk, &server, &world, "failed");
    disk_heal(&disk);
    server_start(&server, disk.env);
    reconnect();
    http_get(world.op, "/v1/admin/tenants/acme");
    EXPECT_STATUS(world.op, 200);
    bool is_suspended = strcmp(http_string(world.op, "/state"), "suspended") == 0;
    ck_assert(is_suspended || strcmp(http_string(world.op, "/state"), "active") == 0);
    ck_assert_uint_eq(suspensions_recorded(), is_suspended ? 1 : 0);
    if (is_suspended)
        ck_assert_int_eq(http_json(world.op, "POST", "{}", "/v1/admin/tenants/acme:resume"), 200);
    expect_everything();
}
END_TEST

/* --- reads --------------------------------------------------------------------------------------
 */

START_TEST(read_that_fails_is_no_short_answer_and_ends_the_server)
{
    enum { ROWS = 300 };
    disk_load_start(&load);
    ck_assert(disk_load_await(&load, &load.acked, ROWS)); /* most of it in tables */
    disk_load_stop(&load);
    server_stop(&server);
    server_start(&server, disk.env); /* and nothing in memory */
    reconnect();
    disk_hold_end(&disk);
    disk_fail(&disk, DISK_READ, EIO, ".sst", 2); /* in the middle */
    http_once(world.http, "Accept: application/x-ndjson");
    bool whole = http_try(world.http, "GET", "/v1/tables/devices/rows", SLICE_EMPTY);
    ck_assert_uint_gt(disk_failed(&disk), 0);
    ck_assert_msg(!whole || world.http->status >= 500, "%d", world.http->status);
    ck_assert_int_eq(disk_end_expect(&disk, &server, &world, "failed"), ENGINE_FAILED);
    disk_heal(&disk);
    server_start(&server, disk.env);
    expect_everything();
}
END_TEST

Suite *suite_faults_writes(void);
Suite *suite_faults_writes(void)
{
    Suite *s = suite_create("faults_writes");
    TCase *tc = tcase_create("full");
    tcase_set_timeout(tc, 600);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, full_disk_refuses_growth_lets_deletes_pass_and_recovers_by_itself);
    tcase_add_test(tc, disk_without_inodes_counts_as_full);
    tcase_add_test(tc, start_on_a_full_disk_is_refused_with_bytes_until_there_is_space);
    tcase_add_test(tc, start_with_a_reserve_gives_it_up_and_deletes);
    suite_add_tcase(s, tc);
    tc = tcase_create("descriptors");
    tcase_set_timeout(tc, 600);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, a_lack_of_descriptors_is_waited_out, 0,
                        (int)(sizeof(LACKS) / sizeof(LACKS[0])));
    suite_add_tcase(s, tc);
    tc = tcase_create("failing");
    tcase_set_timeout(tc, 600);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, failing_disk_ends_the_server_and_loses_nothing, 0,
                        (int)(sizeof(FAILURES) / sizeof(FAILURES[0])));
    tcase_add_test(tc, suspension_that_is_not_durable_is_not_acknowledged);
    tcase_add_test(tc, read_only_disk_is_noticed_without_a_write);
    tcase_add_test(tc, read_that_fails_is_no_short_answer_and_ends_the_server);
    suite_add_tcase(s, tc);
    return s;
}

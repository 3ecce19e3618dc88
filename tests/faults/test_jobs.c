/*
 * tests/faults/test_jobs.c - what runs beside the writers, on disks that fail: backups, purges with
 * their certificates, keys of encrypted tenants, exports. Each fails alone where it can, says why,
 * and is done when the disk is well.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "tests/support/disk.h"
#include "tests/support/disk_end.h"
#include "tests/support/scrape.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define ROWS  60
#define SPACE (DISK_WRITE | DISK_MAKE | DISK_NAME | DISK_ALLOCATE)

static struct server server;
static struct disk disk;
static struct world leaver;
static struct world neighbour;

static void fill(struct world *w)
{
    static char value[4001];
    memset(value, 'v', sizeof(value) - 1);
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        (void)snprintf(row, sizeof(row), "row%03d", i);
        tenant_put(w->http, "devices", row, "raw", "v", value);
    }
}

static void set_up(void)
{
    server_create(&server);
    disk_init(&disk, &server, server.data);
    char path[PROCESS_PATH + 32];
    (void)snprintf(path, sizeof(path), "%s/master.key", server.root);
    ck_assert_int_eq(base_file_replace(path,
                                       SLICE_LIT("00112233445566778899aabbccddeeff"
                                                 "00112233445566778899aabbccddeeff\n"),
                                       0600, NULL),
                     ERR_OK);
    static char master[sizeof(path)];
    memcpy(master, path, sizeof(path));
    server.options[0] = "--master-key-file";
    server.options[1] = master;
    server_start(&server, disk.env);
    world_init_on(&leaver, &server, HTTP_2, "leaver");
    world_init_on(&neighbour, &server, HTTP_2, "leaver-too");
    fill(&leaver);
    fill(&neighbour);
}

static void tear_down(void)
{
    world_fini(&leaver);
    world_fini(&neighbour);
    disk_heal(&disk);
    if (server.pid > 0)
        server_stop(&server); /* what a sanitizer finds is a failure */
    disk_fini(&disk);
    server_remove(&server);
}

static void reconnect(void)
{
    http_reconnect(leaver.op);
    http_reconnect(leaver.http);
    http_reconnect(neighbour.op);
    http_reconnect(neighbour.http);
}

static void expect_ready(void)
{
    http_get(neighbour.http, "/readyz");
    EXPECT_STATUS(neighbour.http, 200);
    ck_assert_str_eq(http_string(neighbour.http, "/storage"), "ok");
}

static void expect_neighbour(void)
{
    ck_assert_int_eq(admin_recount(neighbour.op, "leaver-too").rows, ROWS);
    tenant_put(neighbour.http, "devices", "row000", "stats", "q", "still writable");
}

/* --- purges -------------------------------------------------------------------------------------
 */

/* Of the only job; false when the server is gone. */
static bool look_at_job(char state[32])
{
    if (!http_try(leaver.op, "GET", "/v1/admin/jobs", SLICE_EMPTY) || leaver.op->status != 200)
        return false;
    bool is_there = http_count(leaver.op, "/jobs") == 1;
    (void)snprintf(state, 32, "%s", is_there ? http_string(leaver.op, "/jobs/0/state") : "none");
    return true;
}

static bool job_is(void *wanted)
{
    char state[32] = "";
    ck_assert(look_at_job(state));
    return strcmp(state, wanted) == 0;
}

static void await_job(const char *wanted)
{
    char state[32], what[64];
    (void)snprintf(state, sizeof(state), "%s", wanted);
    (void)snprintf(what, sizeof(what), "a job that is %s", wanted);
    process_await(job_is, state, what);
}

static void expect_gone(void)
{
    await_job("done");
    ck_assert_int_eq(http_number(leaver.op, "/jobs/0/audit/physical_keys"), 0);
    ck_assert_int_eq(http_number(leaver.op, "/jobs/0/audit/live_files_inside"), 0);
    http_get(leaver.op, "/v1/admin/tenants/leaver/certificate");
    EXPECT_STATUS(leaver.op, 200);
    http_get(leaver.http, "/v1/tables/devices/rows");
    EXPECT_PROBLEM(leaver.http, 410, "gone");
    expect_neighbour();
}

static const struct interruption {
    uint32_t calls;
    int error;
    uint64_t after;
} INTERRUPTIONS[] = {
    {SPACE, ENOSPC, 4},  {SPACE, ENOSPC, 16}, {SPACE, ENOSPC, 40}, {DISK_SYNC, EIO, 2},
    {DISK_SYNC, EIO, 9}, {DISK_READ, EIO, 2}, {SPACE, EROFS, 4},   {SPACE, EROFS, 16},
};

static const char *state_of(int error)
{
    return error == ENOSPC ? "full" : error == EROFS ? "read_only" : "failed";
}

/* Its engine has not failed. */
static bool is_ready(void)
{
    return http_try(neighbour.http, "GET", "/readyz", SLICE_EMPTY) && neighbour.http->status == 200;
}

static bool is_settled(const char *state)
{
    return strcmp(state, "done") == 0 || strcmp(state, "failed") == 0;
}

/* The engine has failed, or the job has ended. */
static bool purge_is_over(void *arg)
{
    char state[32] = "";
    (void)arg;
    return !is_ready() || !look_at_job(state) || is_settled(state);
}

static bool disk_has_failed(void *arg)
{
    (void)arg;
    return disk_failed(&disk) > 0;
}

START_TEST(purge_that_met_a_failing_disk_is_finished_at_the_next_start)
{
    const struct interruption *at = &INTERRUPTIONS[_i];
    char state[32] = "";
    disk_hold_end(&disk);
    disk_fail(&disk, at->calls, at->error, "", at->after);
    (void)http_try(leaver.op, "POST", "/v1/admin/tenants/leaver:offboard",
                   SLICE_LIT("{\"confirm\":\"leaver\"}"));
    process_await(purge_is_over, NULL, "the end of a purge, or of its engine");
    process_await(disk_has_failed, NULL, "a call that fails");
    for (int i = 0; i < 30 && is_ready(); i++) /* the engine may fail behind its job; it need not */
        process_sleep_ms(10);
    if (is_ready())
        server_kill(&server);
    else
        (void)disk_end_expect(&disk, &server, &neighbour, state_of(at->error)); /* either end */
    disk_let_end(&disk);
    disk_heal(&disk);
    server_start(&server, disk.env);
    reconnect();
    ck_assert(look_at_job(state));
    if (strcmp(state, "none") == 0) { /* it failed before it was asked for */
        http_json(leaver.op, "POST", "{'confirm':'leaver'}", "/v1/admin/tenants/leaver:offboard");
        EXPECT_STATUS(leaver.op, 202);
    }
    expect_gone();
}
END_TEST

static bool failure_is_logged(void *arg)
{
    (void)arg;
    return server_log_says(&server, " error purge_failed job=") &&
           server_log_says(&server,
                           " tenant=leaver failures=1 again_s=5 reason=\"step certificate: ");
}

static void offboard_without_ledger(uint32_t calls, int error)
{
    disk_fail(&disk, calls, error, "erasures", 0);
    http_json(leaver.op, "POST", "{'confirm':'leaver'}", "/v1/admin/tenants/leaver:offboard");
    EXPECT_STATUS(leaver.op, 202);
    await_job("failed");
    ck_assert_ptr_nonnull(strstr(http_string(leaver.op, "/jobs/0/error"), "step certificate"));
    process_await(failure_is_logged, NULL, "the failure in the log");
    http_get(leaver.op, "/v1/admin/tenants/leaver");
    ck_assert_str_eq(http_string(leaver.op, "/state"), "purging");
    expect_ready();
    expect_neighbour();
    disk_heal(&disk);
}

static void restart(void)
{
    server_kill(&server);
    server_start(&server, disk.env);
    reconnect();
}

START_TEST(certificate_that_had_no_space_is_written_later_without_asking)
{
    offboard_without_ledger(DISK_WRITE, ENOSPC);
    expect_gone();
    restart(); /* and the ledger is whole */
    expect_gone();
}
END_TEST

static bool job_says_start_again(void *arg)
{
    char state[32];
    (void)arg;
    ck_assert(look_at_job(state));
    return strstr(http_text(leaver.op), "start the server again") != NULL;
}

/* What was written may be there or not, and cutting it off failed as well: nobody goes on. */
START_TEST(ledger_whose_fsync_failed_is_closed_until_the_next_start)
{
    offboard_without_ledger(DISK_SYNC, EIO);
    http_json(leaver.op, "POST", "{'confirm':'leaver'}", "/v1/admin/tenants/leaver:offboard");
    EXPECT_STATUS(leaver.op, 202);
    process_await(job_says_start_again, NULL, "a job that wants another start");
    ck_assert_ptr_nonnull(
        strstr(http_string(leaver.op, "/jobs/0/error"), "start the server again"));
    restart();
    expect_gone();
}
END_TEST

/* --- backups ------------------------------------------------------------------------------------
 */

static bool backup_has_ended(void *id)
{
    http_get(neighbour.op, "/v1/admin/backups/%s", (const char *)id);
    EXPECT_STATUS(neighbour.op, 200);
    return strcmp(http_string(neighbour.op, "/state"), "creating") != 0;
}

static void back_up(const char *wanted)
{
    char id[64];
    http_json(neighbour.op, "POST", "{}", "/v1/admin/backups");
    EXPECT_STATUS(neighbour.op, 202);
    (void)snprintf(id, sizeof(id), "%s", http_string(neighbour.op, "/id"));
    process_await(backup_has_ended, id, "the end of a backup");
    ck_assert_msg(strcmp(http_string(neighbour.op, "/state"), wanted) == 0, "%s",
                  http_text(neighbour.op));
}

START_TEST(backup_fails_alone_and_leaves_nothing_half_made)
{
    static const struct {
        uint32_t calls;
        int error;
        const char *only;
        uint64_t after;
        const char *says;
    } AT[] = {
        {SPACE, ENOSPC, "/checkpoint", 0, "No space left"},
        {SPACE, ENOSPC, "/checkpoint", 4, "No space left"},
        {SPACE, ENOSPC, "/backups", 0, "No space left"},
        {SPACE, ENOSPC, "/backups", 8, "No space left"},
        {SPACE, ENOSPC, "/backups", 30, "No space left"},
        {SPACE, EROFS, "/checkpoint", 4, "Read-only file system"},
        {SPACE, EROFS, "/backups", 0, "Read-only file system"},
        {SPACE, EROFS, "/backups", 30, "Read-only file system"},
        {DISK_SYNC, EIO, "/backups", 0, "Input/output error"},
        {DISK_SYNC, EIO, "/backups", 7, "Input/output error"},
        {DISK_READ, EIO, "/checkpoint", 3, "Input/output error"},
    };
    uint64_t failed = 0;
    for (size_t i = 0; i < sizeof(AT) / sizeof(AT[0]); i++) {
        disk_fail(&disk, AT[i].calls, AT[i].error, AT[i].only, AT[i].after);
        back_up("failed");
        failed++;
        ck_assert_msg(strstr(http_string(neighbour.op, "/error"), AT[i].says) != NULL, "%zu: %s", i,
                      http_text(neighbour.op));
        expect_ready();
        expect_neighbour();
        disk_heal(&disk);
        http_get(neighbour.op, "/v1/admin/backups");
        ck_assert_uint_eq(http_count(neighbour.op, "/backups"), 1); /* the last attempt, to see */
        ck_assert_str_eq(http_string(neighbour.op, "/backups/0/state"), "failed");
    }
    scrape_expect(neighbour.op, "bigtent_backup_works_total{kind=\"create\",result=\"failed\"}",
                  failed);
    back_up("ready");
    http_get(neighbour.op, "/v1/admin/backups");
    ck_assert_uint_eq(http_count(neighbour.op, "/backups"), 1);
    ck_assert_int_gt(http_number(neighbour.op, "/backups/0/bytes"), 0);
}
END_TEST

#define CREATED(result) "bigtent_backup_works_total{kind=\"create\",result=\"" result "\"}"

struct failures {
    uint64_t wanted;
    uint64_t *out_before; /* when there was one less, for certain */
};

static bool so_many_failed(void *arg)
{
    const struct failures *f = arg;
    uint64_t asked_ns = base_monotonic_ns();
    if (scrape_number(neighbour.op, CREATED("failed")) >= f->wanted)
        return true;
    *f->out_before = asked_ns;
    return false;
}

static void await_failed(uint64_t wanted, uint64_t *out_before)
{
    process_await(so_many_failed, &(struct failures){wanted, out_before}, "a backup that fails");
}

static bool backup_is_done(void *arg)
{
    (void)arg;
    return scrape_number(neighbour.op, CREATED("done")) > 0;
}

static bool backups_lag(void *arg)
{
    (void)arg;
    scrape(neighbour.op);
    const char *lag = scrape_value("bigtent_work_lag_ratio{class=\"backup\"}");
    ck_assert_str_ne(lag, "");
    return strtod(lag, NULL) > 0;
}

/* 30 days that pass 3,000 times faster have over 14 minutes, and ten minutes are 200 ms. */
START_TEST(scheduled_backup_that_failed_is_tried_again_by_itself)
{
    static const uint64_t RETRY_NS = 200000000;
    const char *env[] = {disk.env[0], disk.env[1], disk.env[2], "BIGTENT_TEST_BACKUP_HURRY=3000",
                         NULL};
    uint64_t first, second, third;
    server_stop(&server);
    server.options[2] = "--backup-every";
    server.options[3] = "720h";
    disk_fail(&disk, DISK_WRITE, ENOSPC, "/backups/", 0);
    first = base_monotonic_ns();
    server_start(&server, env);
    reconnect();
    await_failed(1, &first);
    second = first;
    await_failed(2, &second);
    third = second;
    await_failed(3, &third);
    process_await(backups_lag, NULL, "backups that lag"); /* a thousandth of 864 s */
    ck_assert_uint_ge(base_monotonic_ns() - first, 2 * RETRY_NS);
    do {
        http_get(neighbour.op, "/v1/admin/backups");
    } while (strcmp(http_string(neighbour.op, "/backups/0/state"), "creating") == 0); /* again */
    ck_assert_uint_eq(http_count(neighbour.op, "/backups"), 1); /* the last attempt, to see */
    ck_assert_str_eq(http_string(neighbour.op, "/backups/0/state"), "failed");
    ck_assert_str_eq(http_string(neighbour.op, "/backups/0/note"), "scheduled");
    ck_assert_ptr_nonnull(strstr(http_string(neighbour.op, "/backups/0/error"), "No space left"));
    expect_ready();
    expect_neighbour();
    disk_heal(&disk);
    uint64_t failed = scrape_number(neighbour.op, CREATED("failed"));
    process_await(backup_is_done, NULL, "a backup on a disk that is well");
    ck_assert_uint_le(scrape_seen(CREATED("failed")), failed + 1); /* one was under way */
    http_get(neighbour.op, "/v1/admin/backups");
    ck_assert_uint_eq(http_count(neighbour.op, "/backups"), 1);
    ck_assert_str_eq(http_string(neighbour.op, "/backups/0/state"), "ready");
    ck_assert_str_eq(http_string(neighbour.op, "/backups/0/note"), "scheduled");
    ck_assert(!backups_lag(NULL));
    process_sleep_ms((int)(2 * RETRY_NS / 1000000)); /* the next one is not due for 30 days */
    ck_assert_uint_eq(scrape_number(neighbour.op, CREATED("done")), 1);
}
END_TEST

/* --- keys of encrypted tenants ------------------------------------------------------------------
 */

static const struct {
    uint32_t calls;
    int error;
    uint64_t after;
    int status;
    const char *code;
} KEYSTORE[] = {
    {SPACE, ENOSPC, 0, 507, "storage_full"}, /* create, write, name */
    {SPACE, ENOSPC, 1, 507, "storage_full"}, {SPACE, ENOSPC, 2, 507, "storage_full"},
    {DISK_SYNC, EIO, 0, 500, "io"}, /* file, directory */
    {DISK_SYNC, EIO, 1, 500, "io"},
};

static void put_sealed(struct http *h, const char *row)
{
    http_json(h, "PUT", "{'f':{'q':'secret'}}", "/v1/tables/t/rows/%s", row);
    EXPECT_STATUS(h, 201);
}

START_TEST(key_that_cannot_be_stored_is_not_used)
{
    char key[WORLD_KEY];
    http_json(leaver.op, "POST", "{'id':'sealed','encrypted':true}", "/v1/admin/tenants");
    EXPECT_STATUS(leaver.op, 201);
    admin_create_key(leaver.op, "sealed", NULL, key, NULL);
    struct http *h = http_open(&server, HTTP_2, key);
    http_json(h, "PUT", "{'families':{'f':{}}}", "/v1/tables/t");
    EXPECT_STATUS(h, 201);
    put_sealed(h, "a");

    disk_fail(&disk, KEYSTORE[_i].calls, KEYSTORE[_i].error, "/keystore", KEYSTORE[_i].after);
    http_json(leaver.op, "POST", "{}", "/v1/admin/tenants/sealed:rotate-key");
    EXPECT_PROBLEM(leaver.op, KEYSTORE[_i].status, KEYSTORE[_i].code);
    disk_fail(&disk, KEYSTORE[_i].calls, KEYSTORE[_i].error, "/keystore", KEYSTORE[_i].after);
    http_json(leaver.op, "POST", "{'id':'more','encrypted':true}", "/v1/admin/tenants");
    EXPECT_PROBLEM(leaver.op, KEYSTORE[_i].status, KEYSTORE[_i].code);
    put_sealed(h, "b");
    expect_ready();

    disk_heal(&disk);
    http_json(leaver.op, "POST", "{}", "/v1/admin/tenants/sealed:rotate-key");
    EXPECT_STATUS(leaver.op, 200);
    put_sealed(h, "c");
    http_json(leaver.op, "POST", "{'id':'more','encrypted':true}", "/v1/admin/tenants");
    EXPECT_STATUS(leaver.op, 201);
    server_kill(&server);
    server_start(&server, disk.env);
    reconnect();
    http_reconnect(h);
    http_get(h, "/v1/tables/t/rows");
    EXPECT_STATUS(h, 200);
    ck_assert_uint_eq(http_count(h, "/rows"), 3);
    ck_assert_str_eq(http_string(h, "/rows/1/cells/f/q/0/value"), "secret");
    put_sealed(h, "d");
    http_close(h);
}
END_TEST

Suite *suite_faults_jobs(void);
Suite *suite_faults_jobs(void)
{
    Suite *s = suite_create("faults_jobs");
    TCase *tc = tcase_create("purges");
    tcase_set_timeout(tc, 600);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, purge_that_met_a_failing_disk_is_finished_at_the_next_start, 0,
                        (int)(sizeof(INTERRUPTIONS) / sizeof(INTERRUPTIONS[0])));
    tcase_add_test(tc, certificate_that_had_no_space_is_written_later_without_asking);
    tcase_add_test(tc, ledger_whose_fsync_failed_is_closed_until_the_next_start);
    suite_add_tcase(s, tc);
    tc = tcase_create("beside");
    tcase_set_timeout(tc, 600);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, backup_fails_alone_and_leaves_nothing_half_made);
    tcase_add_test(tc, scheduled_backup_that_failed_is_tried_again_by_itself);
    tcase_add_loop_test(tc, key_that_cannot_be_stored_is_not_used, 0,
                        (int)(sizeof(KEYSTORE) / sizeof(KEYSTORE[0])));
    suite_add_tcase(s, tc);
    return s;
}

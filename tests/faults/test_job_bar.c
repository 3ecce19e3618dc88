/*
 * tests/faults/test_job_bar.c - what a terminal shows of a purge that takes its time.
 *
 * The document at the end of a step takes so long that the program asks at least once while what
 * the step has counted is told.
 */
#define _GNU_SOURCE
#include "tests/cli/session.h"
#include "tests/support/disk.h"

#include "base/banned.h"

#define SYNC_MS 2300 /* longer than CLI_JOB_POLL_MAX_MS, whatever the machine */

static struct server server;
static struct disk disk;

static void set_up(void)
{
    server_create(&server);
    disk_init(&disk, &server, server.data);
    server_start(&server, disk.env);
    world_init_on(&w, &server, HTTP_2, "acme");
    session_begin(&server);
    tenant_put(w.http, "devices", "k", "raw", "v", "x");
}

static void tear_down(void)
{
    disk_heal(&disk);
    world_fini(&w);
    server_stop(&server);
    disk_fini(&disk);
    server_remove(&server);
}

START_TEST(a_job_shows_its_amounts)
{
    op.terminal = true;
    disk_slow(&disk, SYNC_MS);
    const char *const args[] = {"tenant", "offboard", "acme", "--confirm", "acme", "--wait", NULL};
    run_start(&r, &op, args);
    run_read(&r, " s left");
    disk_heal(&disk);
    run_finish(&r);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "step 1 of ");
    EXPECT_IN(r.out, " of ");
    EXPECT_IN(r.out, "B/s, ");
    EXPECT_IN(r.out, " s left");
    EXPECT_IN(r.out, "done");
}
END_TEST

Suite *suite_faults_job_bar(void);
Suite *suite_faults_job_bar(void)
{
    Suite *s = suite_create("faults_job_bar");
    TCase *t = tcase_create("slow disk");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_job_shows_its_amounts);
    suite_add_tcase(s, t);
    return s;
}

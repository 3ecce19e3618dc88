/*
 * tests/faults/test_job_bar.c - what a terminal shows of a purge that takes its time.
 *
 * The commit at the end of a step is held back until the program has shown what the step has
 * counted.
 */
#define _GNU_SOURCE
#include "tests/cli/session.h"
#include "tests/faults/job_steps.h"

#include "base/banned.h"

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

/* Of the time that is left, in what the only job says. */
static bool has_estimate(struct job_steps *s)
{
    ck_assert_msg(!job_steps_is_over(s), "no step has told its amounts");
    return job_steps_counts(s) && json_is_integer(http_at(s->op, "/jobs/0/progress/seconds_left"));
}

START_TEST(a_job_shows_its_amounts)
{
    op.terminal = true;
    struct job_steps steps = {&disk, w.op};
    const char *const args[] = {"tenant", "offboard", "acme", "--confirm", "acme", "--wait", NULL};
    disk_hold_sync(&disk, ".log", 0);
    run_start(&r, &op, args);
    while (!has_estimate(&steps))
        job_steps_next(&steps);
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
    tcase_set_timeout(t, 600);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_job_shows_its_amounts);
    suite_add_tcase(s, t);
    return s;
}

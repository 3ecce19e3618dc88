/*
 * tests/cli/test_bars.c - what a terminal shows while an import or a job goes on.
 */
#define _GNU_SOURCE
#include "tests/cli/impostor.h"
#include "tests/cli/transfer.h"

#include "base/banned.h"

Suite *suite_cli_bars(void);

#define WIPE "\r\033[K"

static void set_up(void)
{
    session_set_up();
    keeper = process_temp_dir(dir);
}

static void tear_down(void)
{
    process_temp_dir_remove(dir, keeper);
    session_tear_down();
}

/* Each part of a hundred that the bars say; none is behind the one before, but where the next stage
 * begins: files are checked, then imported. */
static unsigned parts_seen(void)
{
    unsigned seen = 0, last = 0;
    for (const char *at = strchr(r.out, '%'); at != NULL; at = strchr(at + 1, '%')) {
        unsigned part = 0;
        ck_assert(at >= r.out + 3);
        for (const char *digit = at - 3; digit < at; digit++)
            part = *digit == ' ' ? 0 : part * 10 + (unsigned)(*digit - '0');
        ck_assert(last <= part || last == 100);
        ck_assert_uint_le(part, 100);
        last = part;
        seen++;
    }
    return seen;
}

START_TEST(an_import_shows_how_far_it_is)
{
    fill_table("devices", 6000, 500);
    bigtent(&r, &tenant, "export", in_dir("x"));
    EXPECT_CODE(&r, 0);
    admin_set_quota(w.op, w.tenant, "{'write_bytes_per_s':2000000,'burst_ms':100}");
    tenant.terminal = true;
    bigtent(&r, &tenant, "import", in_dir("x"), "--into", "copy", "--table", "devices", "--create");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "\r[");
    EXPECT_IN(r.out, " rows  ");
    EXPECT_IN(r.out, "/s");
    EXPECT_IN(r.out, WIPE);
    EXPECT_IN(r.out, "6,000");
    ck_assert_uint_gt(parts_seen(), 1);
}
END_TEST

START_TEST(a_job_shows_its_step)
{
    fill_table("devices", 1000, 500);
    op.terminal = true;
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--confirm", w.tenant, "--wait");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "\r[");
    EXPECT_IN(r.out, "%  step "); /* the first, unless the server was quicker than the program */
    EXPECT_IN(r.out, " of 8  ");
    EXPECT_IN(r.out, WIPE);
    EXPECT_IN(r.out, "done");
}
END_TEST

START_TEST(a_job_that_waits_shows_its_place)
{
    static struct impostor impostor;
    const char *const args[] = {"job", "show", "j-1", "--wait", NULL};
    impostor_start(&impostor, world_server());
    impostor_answers(&impostor, "200 OK",
                     "{\"id\":\"j-1\",\"state\":\"running\",\"steps\":[{\"name\":\"fence\","
                     "\"done\":false}],\"progress\":null,"
                     "\"queue\":{\"place\":2,\"waiting\":3,\"seconds_left\":14}}");
    op.url = impostor.url;
    op.terminal = true;
    run_start(&r, &op, args);
    run_read(&r, "step 1 of 1  fence  waits, place 2 of 3, 14 s left");
    ck_assert_int_eq(kill(r.pid, SIGINT), 0);
    run_finish(&r);
    EXPECT_CODE(&r, 130);
    impostor_stop(&impostor);
}
END_TEST

START_TEST(a_job_whose_server_is_gone_leaves_a_clean_line)
{
    static struct impostor impostor;
    const char *const args[] = {"job", "show", "j-1", "--wait", NULL};
    impostor_start(&impostor, world_server());
    impostor_answers(&impostor, "200 OK",
                     "{\"id\":\"j-1\",\"state\":\"running\",\"steps\":[{\"name\":\"fence\","
                     "\"done\":false}],\"progress\":null,\"queue\":null}");
    op.url = impostor.url;
    op.terminal = true;
    run_start(&r, &op, args);
    run_read(&r, "step 1 of 1  fence");
    impostor_stop(&impostor);
    run_finish(&r);
    EXPECT_CODE(&r, 3);
    const char *said = strstr(r.out, "bigtent: ");
    ck_assert_msg(said != NULL && memcmp(said - strlen(WIPE), WIPE, strlen(WIPE)) == 0, "%s",
                  r.out);
    EXPECT_NOT_IN(said, "\033");
    EXPECT_NOT_IN(said, "step 1");
    EXPECT_IN(said, "the server goes on with it; follow with: bigtent job show j-1 --wait\r\n");
}
END_TEST

START_TEST(a_job_that_is_not_there_does_not_go_on)
{
    bigtent(&r, &op, "job", "show", "0123456789abcdef", "--wait");
    EXPECT_CODE(&r, 4);
    EXPECT_NOT_IN(r.err, "goes on");
}
END_TEST

Suite *suite_cli_bars(void)
{
    Suite *s = suite_create("cli_bars");
    TCase *t = tcase_create("bars");
    tcase_set_timeout(t, 60);
    world_begin(t);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, an_import_shows_how_far_it_is);
    tcase_add_test(t, a_job_shows_its_step);
    tcase_add_test(t, a_job_that_waits_shows_its_place);
    tcase_add_test(t, a_job_whose_server_is_gone_leaves_a_clean_line);
    tcase_add_test(t, a_job_that_is_not_there_does_not_go_on);
    suite_add_tcase(s, t);
    return s;
}

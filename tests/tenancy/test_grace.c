/*
 * tests/tenancy/test_grace.c - between the request to delete a tenant and its purge nothing is
 * reachable and nothing is lost.
 */
#include "tests/tenancy/departure.h"
#include "tests/tenancy/ticks.h"

#include <sys/wait.h>

#include "base/clock.h"
#include "tests/support/wall.h"

#include "base/banned.h"

#define US_PER_S 1000000ULL
#define HOUR_S   3600
#define HOUR_US  (HOUR_S * US_PER_S)

static enum ten_state state_of(const struct ten_tenant *t)
{
    return (enum ten_state)atomic_load(&t->state);
}

static struct ten_tenant *ask(uint64_t grace_us, char job[TEN_JOB_ID + 1])
{
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    enum err rc = tent_offboard_in(&tent, t, grace_us, "end of contract", job);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    return t;
}

static void check_in_grace(struct ten_tenant *t, const char *job_id)
{
    struct ten_job job;
    struct tent_sink sink;
    ck_assert_int_eq(state_of(t), TEN_DELETE_REQUESTED);
    ck_assert_uint_eq(atomic_load(&t->account.gate), STO_GATE_GONE);
    ck_assert_int_eq(ten_access_check(t, TEN_READ, &tent.eb), ERR_GONE);
    ck_assert_int_eq(ten_access_check(t, TEN_WRITE, &tent.eb), ERR_GONE);
    tent_sink_init(&sink);
    ck_assert_int_eq(tent_scan(&tent, t, "alarms", &sink), ERR_GONE);
    tent_sink_fini(&sink);
    ck_assert_str_eq(ten_tenant_details(t)->job, job_id);
    ck_assert_int_eq(tent_job(&tent, job_id, &job), ERR_OK);
    ck_assert_int_eq(job.state, TEN_JOB_WAITING);
    ck_assert_str_eq(job.reason, "end of contract");
    ck_assert_int_eq(job.delete_at_us, ten_tenant_details(t)->delete_at_us);
    ck_assert_uint_eq(job.usage_before.rows, ROWS_EACH);
    ck_assert_uint_eq(docs_under("s/altostrat/"), 2);
}

/* As if nothing had been asked. */
static void check_back(struct ten_tenant *t)
{
    struct tent_sink sink;
    ck_assert_int_eq(state_of(t), TEN_ACTIVE);
    ck_assert_int_eq(ten_tenant_details(t)->delete_at_us, 0);
    ck_assert_str_eq(ten_tenant_details(t)->job, "");
    ck_assert_uint_eq(ten_tenant_tables(t)->count, 2);
    tent_sink_init(&sink);
    ck_assert_int_eq(tent_scan(&tent, t, "alarms", &sink), ERR_OK);
    ck_assert_uint_eq(sink.rows, ROWS_EACH / 4);
    ck_assert_int_eq(tent_scan(&tent, t, "devices", &sink), ERR_OK);
    ck_assert_uint_eq(sink.rows, ROWS_EACH);
    tent_sink_fini(&sink);
    ck_assert_uint_eq(tent_recount(&tent, t).rows, ROWS_EACH);
}

/* --- the grace period ------------------------------------------------------------------------- */

START_TEST(in_grace_nothing_is_reachable_and_all_is_there)
{
    char id[TEN_JOB_ID + 1];
    fill_both();
    int64_t before_us = base_wall_us();
    struct ten_tenant *t = ask(HOUR_US, id);
    int64_t due_us = ten_tenant_details(t)->delete_at_us;
    ck_assert_int_ge(due_us, before_us + (int64_t)HOUR_US);
    ck_assert_int_le(due_us, base_wall_us() + (int64_t)HOUR_US);
    check_in_grace(t, id);
    check_neighbour();
    tent_reopen(&tent);
    t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(ten_tenant_details(t)->delete_at_us, due_us);
    check_in_grace(t, id);
    ck_assert_int_eq(tent_undelete(&tent, t), ERR_OK);
    check_back(t);
}
END_TEST

START_TEST(in_grace_nothing_can_be_changed)
{
    char id[TEN_JOB_ID + 1];
    struct ten_quota q;
    ten_quota_default(&q);
    fill_both();
    struct ten_tenant *t = ask(HOUR_US, id);
    ck_assert_int_eq(tent_suspend(&tent, t, "x"), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "undelete it first"));
    ck_assert_int_eq(tent_resume(&tent, t), ERR_CONFLICT);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_CONFLICT);
    ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT("altostrat"), SLICE_EMPTY, NULL), ERR_EXISTS);
    struct sto_family_spec f = {.name = SLICE_LIT("f")};
    ck_assert_int_eq(tent_try_table(&tent, t, "more", &f, 1, NULL), ERR_GONE);
    ck_assert_int_eq(tent_delete_table(&tent, t, "alarms", NULL), ERR_GONE);
    check_in_grace(t, id);
}
END_TEST

START_TEST(undelete_brings_back_what_it_was)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    struct ten_tenant *t = ask(HOUR_US, id);
    ck_assert_int_eq(tent_undelete(&tent, t), ERR_OK);
    check_back(t);
    ck_assert_int_eq(tent_job(&tent, id, &job), ERR_OK);
    ck_assert_int_eq(job.state, TEN_JOB_CANCELLED);
    ck_assert_int_eq(job.finished_us, ten_tenant_details(t)->state_since_us);
    ck_assert_int_eq(tent_undelete(&tent, t), ERR_OK); /* once more is no error */
    tent_reopen(&tent);
    check_back(tent_find(&tent, "altostrat"));
}
END_TEST

START_TEST(undelete_of_a_suspended_one_is_suspended)
{
    bool by_restart = _i == 1;
    char id[TEN_JOB_ID + 1];
    fill_both();
    ck_assert_int_eq(tent_suspend(&tent, tent_find(&tent, "altostrat"), "unpaid"), ERR_OK);
    struct ten_tenant *t = ask(HOUR_US, id);
    ck_assert_int_eq(ten_access_check(t, TEN_READ, &tent.eb), ERR_GONE);
    if (by_restart)
        tent_reopen(&tent);
    t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(tent_undelete(&tent, t), ERR_OK);
    ck_assert_int_eq(state_of(t), TEN_SUSPENDED);
    ck_assert_str_eq(ten_tenant_details(t)->reason, "unpaid");
    ck_assert_int_eq(ten_access_check(t, TEN_READ, &tent.eb), ERR_SUSPENDED);
    ck_assert_int_eq(tent_resume(&tent, t), ERR_OK);
    check_back(t);
}
END_TEST

START_TEST(undelete_is_too_late_once_the_purge_began)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    struct ten_tenant *t = ask(0, id);
    ck_assert_int_eq(tent_undelete(&tent, t), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "too late"));
    tent_await_job(&tent, id, &job);
    check_purged(&job);
    ck_assert_int_eq(tent_undelete(&tent, t), ERR_CONFLICT);
}
END_TEST

START_TEST(a_grace_period_is_at_most_its_limit)
{
    char id[TEN_JOB_ID + 1];
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    ck_assert_int_eq(tent_offboard_in(&tent, t, LIM_GRACE_US + 1, "", id), ERR_INVALID);
    ck_assert_int_eq(state_of(t), TEN_ACTIVE);
    ck_assert_int_eq(tent_offboard_in(&tent, t, LIM_GRACE_US, "", id), ERR_OK);
    ck_assert_int_eq(state_of(t), TEN_DELETE_REQUESTED);
}
END_TEST

START_TEST(a_reason_is_at_most_its_limit)
{
    static char text[LIM_REASON + 2];
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    memset(text, 'x', LIM_REASON + 1);
    ck_assert_int_eq(tent_offboard_in(&tent, t, HOUR_US, text, id), ERR_INVALID);
    text[LIM_REASON] = '\0';
    ck_assert_int_eq(tent_offboard_in(&tent, t, HOUR_US, text, id), ERR_OK);
    ck_assert_int_eq(tent_job(&tent, id, &job), ERR_OK);
    ck_assert_str_eq(job.reason, text);
}
END_TEST

/* --- its end ---------------------------------------------------------------------------------- */

START_TEST(when_it_is_over_the_purge_runs)
{
    bool by_restart = _i == 1;
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    int64_t asked_us = base_wall_us();
    struct ten_tenant *t = ask(HOUR_US, id);
    if (by_restart) {
        tent_close(&tent);
        wall_pass_s(HOUR_S);
        tent_open(&tent);
    } else {
        wall_pass_s(HOUR_S - 60);
        tent_await_ticks(&tent, 2);
        ck_assert_int_eq(state_of(t), TEN_DELETE_REQUESTED);
        wall_pass_s(60);
    }
    tent_await_job(&tent, id, &job);
    check_purged(&job);
    check_before(&job);
    check_neighbour();
    ck_assert_int_ge(job.step_done_us[0], asked_us + (int64_t)HOUR_US);
    ck_assert_int_eq(ten_tenant_details(tent_find(&tent, "altostrat"))->delete_at_us, 0);
    ck_assert_str_eq(job.reason, "end of contract");
}
END_TEST

START_TEST(the_first_due_goes_first_and_the_others_wait)
{
    static const char *const IDS[] = {"aa", "bb", "cc", "dd"};
    static const uint64_t GRACES[] = {3 * HOUR_US, HOUR_US, 4 * HOUR_US, HOUR_US / 2};
    char jobs[4][TEN_JOB_ID + 1];
    struct ten_tenant *t[4];
    struct ten_job job;
    for (size_t i = 0; i < 4; i++) {
        t[i] = tent_create(&tent, IDS[i]);
        ck_assert_int_eq(tent_offboard_in(&tent, t[i], GRACES[i], "", jobs[i]), ERR_OK);
    }
    if (_i == 1)
        tent_reopen(&tent);
    wall_pass_s(HOUR_S);
    tent_await_job(&tent, jobs[1], &job);
    ck_assert_int_eq(job.state, TEN_JOB_DONE);
    tent_await_job(&tent, jobs[3], &job);
    ck_assert_int_eq(job.state, TEN_JOB_DONE);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(state_of(tent_find(&tent, IDS[i])),
                         GRACES[i] <= HOUR_US ? TEN_PURGED : TEN_DELETE_REQUESTED);
}
END_TEST

START_TEST(asked_again_it_comes_sooner_and_never_later)
{
    char id[TEN_JOB_ID + 1];
    char again[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    struct ten_tenant *t = ask(HOUR_US, id);
    int64_t due_us = ten_tenant_details(t)->delete_at_us;
    (void)ask(2 * HOUR_US, again);
    ck_assert_str_eq(again, id);
    ck_assert_int_eq(ten_tenant_details(t)->delete_at_us, due_us);
    (void)ask(HOUR_US / 2, again);
    ck_assert_str_eq(again, id);
    ck_assert_int_lt(ten_tenant_details(t)->delete_at_us, due_us);
    check_in_grace(t, id);
    ck_assert_int_eq(tent_offboard_in(&tent, t, _i == 0 ? 0 : 1000, "now", again), ERR_OK);
    ck_assert_str_eq(again, id);
    tent_await_job(&tent, id, &job);
    check_purged(&job);
    ck_assert_str_eq(job.reason, "now");
    /* it had the half hour that was requested first, or not */
    enum err rc = tent_offboard_in(&tent, t, HOUR_US / 2, "", again);
    ck_assert_int_eq(rc, ERR_CONFLICT);
    ck_assert_int_eq(tent_offboard_in(&tent, t, _i == 0 ? 0 : 1000, "now", again), ERR_OK);
    ck_assert_str_eq(again, id);
    ck_assert_uint_eq(docs_under("j/"), 1);
}
END_TEST

START_TEST(a_clock_that_jumps_ahead_purges_nobody)
{
    char id[TEN_JOB_ID + 1];
    fill_both();
    struct ten_tenant *t = ask(HOUR_US, id);
    wall_set_ahead(365 * 24 * 3600LL);
    tent_await_ticks(&tent, 5);
    check_in_grace(t, id);
    wall_set_ahead(0);
    ck_assert_int_eq(tent_undelete(&tent, t), ERR_OK);
    check_back(t);
}
END_TEST

START_TEST(a_clock_that_is_set_back_only_delays)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    struct ten_tenant *t = ask(HOUR_US, id);
    wall_pass_s(HOUR_S); /* of the monotonic clock; that of the wall */
    wall_set_ahead(-HOUR_S);
    tent_await_ticks(&tent, 5);
    check_in_grace(t, id);
    wall_set_ahead(HOUR_S);
    tent_await_job(&tent, id, &job);
    ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
}
END_TEST

START_TEST(undeleted_it_is_not_purged_when_the_time_comes)
{
    char id[TEN_JOB_ID + 1];
    fill_both();
    struct ten_tenant *t = ask(HOUR_US, id);
    ck_assert_int_eq(tent_undelete(&tent, t), ERR_OK);
    wall_pass_s(2 * HOUR_S);
    tent_await_ticks(&tent, 5);
    check_back(t);
    (void)ask(HOUR_US, id); /* a departure of its own, with a job of its own */
    ck_assert_uint_eq(docs_under("j/"), 2);
    check_in_grace(t, id);
}
END_TEST

/* --- crashes ---------------------------------------------------------------------------------- */

enum moment { REQUESTED, SOONER, UNDELETED, HELD, DUE, MOMENTS };

/* In a child: until the call returned, then gone as by kill -9. */
static void run_and_die(enum moment until)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char id[TEN_JOB_ID + 1];
        tent_open(&tent);
        fill_both();
        struct ten_tenant *t = ask(until == DUE ? 1 : HOUR_US, id);
        if (until == SOONER)
            (void)ask(HOUR_US / 2, id);
        if (until == UNDELETED)
            ck_assert_int_eq(tent_undelete(&tent, t), ERR_OK);
        if (until == HELD)
            ck_assert_int_eq(tent_hold(&tent, t, "k1", "a court asked"), ERR_OK);
        _exit(137);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 137, "status %d", status);
}

START_TEST(killed_after_each_request_what_was_answered_holds)
{
    enum moment until = (enum moment)_i;
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    tent_make(&tent);
    run_and_die(until);
    tent_open(&tent);
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    (void)snprintf(id, sizeof id, "%.16s", ten_tenant_details(t)->job);
    if (until == UNDELETED) {
        check_back(t);
    } else if (until == DUE) { /* it was due when the process died */
        tent_await_job(&tent, id, &job);
        check_purged(&job);
    } else {
        check_in_grace(t, id);
        ck_assert((ten_tenant_details(t)->hold != NULL) == (until == HELD));
        bool is_sooner =
            ten_tenant_details(t)->delete_at_us < base_wall_us() + (int64_t)HOUR_US / 2;
        ck_assert(is_sooner == (until == SOONER));
    }
    check_neighbour();
    tent_close(&tent);
    tent_remove(&tent);
}
END_TEST

/* The end of the grace period, then each step of the purge that it began. */
START_TEST(killed_after_each_step_behind_a_grace_period_it_resumes)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    tent_make(&tent);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        ten_offboard_test_die_after(_i);
        tent_open(&tent);
        fill_both();
        (void)ask(1000, id);
        for (;;)
            (void)pause();
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 137, "status %d", status);
    tent_open(&tent);
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    (void)snprintf(id, sizeof id, "%.16s", ten_tenant_details(t)->job);
    ck_assert_int_eq(tent_undelete(&tent, t), ERR_CONFLICT);
    tent_await_job(&tent, id, &job);
    check_purged(&job);
    check_before(&job);
    check_neighbour();
    tent_close(&tent);
    tent_remove(&tent);
}
END_TEST

/* Of the commits of a departure each fails once: what was answered with an error did not happen. */
START_TEST(a_commit_that_fails_leaves_the_state_before)
{
    char id[TEN_JOB_ID + 1];
    fill_both();
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    if (_i > 0)
        (void)ask(HOUR_US, id);
    sto_rocksdb_test_fail_commit(tent.engine, 1);
    enum err rc = _i == 0   ? tent_offboard_in(&tent, t, HOUR_US, "", id)
                  : _i == 1 ? tent_undelete(&tent, t)
                            : tent_hold(&tent, t, "k1", "why");
    ck_assert_int_ne(rc, ERR_OK);
    ck_assert_int_eq(state_of(t), _i == 0 ? TEN_ACTIVE : TEN_DELETE_REQUESTED);
    ck_assert_ptr_null(ten_tenant_details(t)->hold);
    tent_reopen(&tent);
    t = tent_find(&tent, "altostrat");
    if (_i == 0)
        check_back(t);
    else
        check_in_grace(t, id);
}
END_TEST

START_TEST(an_end_of_grace_that_cannot_be_written_comes_later)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    struct ten_tenant *t = ask(HOUR_US, id);
    sto_rocksdb_test_fail_commit(tent.engine, 1);
    wall_pass_s(HOUR_S);
    tent_await_failure(&tent);
    ck_assert_int_eq(state_of(t), TEN_DELETE_REQUESTED);
    ck_assert_str_eq(ten_tenant_details(t)->job, id);
    tent_reopen(&tent);
    tent_await_job(&tent, id, &job);
    check_purged(&job);
    check_neighbour();
}
END_TEST

Suite *suite_tenancy_grace(void);
Suite *suite_tenancy_grace(void)
{
    Suite *s = suite_create("tenancy_grace");
    TCase *c = tcase_create("grace");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, in_grace_nothing_is_reachable_and_all_is_there);
    tcase_add_test(c, in_grace_nothing_can_be_changed);
    tcase_add_test(c, undelete_brings_back_what_it_was);
    tcase_add_loop_test(c, undelete_of_a_suspended_one_is_suspended, 0, 2);
    tcase_add_test(c, undelete_is_too_late_once_the_purge_began);
    tcase_add_test(c, a_grace_period_is_at_most_its_limit);
    tcase_add_test(c, a_reason_is_at_most_its_limit);
    suite_add_tcase(s, c);
    c = tcase_create("over");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, when_it_is_over_the_purge_runs, 0, 2);
    tcase_add_loop_test(c, the_first_due_goes_first_and_the_others_wait, 0, 2);
    tcase_add_loop_test(c, asked_again_it_comes_sooner_and_never_later, 0, 2);
    tcase_add_test(c, undeleted_it_is_not_purged_when_the_time_comes);
    tcase_add_test(c, an_end_of_grace_that_cannot_be_written_comes_later);
    tcase_add_test(c, a_clock_that_jumps_ahead_purges_nobody);
    tcase_add_test(c, a_clock_that_is_set_back_only_delays);
    tcase_add_loop_test(c, a_commit_that_fails_leaves_the_state_before, 0, 3);
    suite_add_tcase(s, c);
    c = tcase_create("killed");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, killed_after_each_request_what_was_answered_holds, 0, MOMENTS);
    tcase_add_loop_test(c, killed_after_each_step_behind_a_grace_period_it_resumes, 0,
                        TEN_JOB_STEPS);
    suite_add_tcase(s, c);
    return s;
}

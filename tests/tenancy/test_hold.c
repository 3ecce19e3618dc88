/*
 * tests/tenancy/test_hold.c - a held tenant is not purged, whoever asks and whatever time it is.
 */
#include "tests/tenancy/departure.h"
#include "tests/tenancy/ticks.h"

#include "tests/support/wall.h"

#include "base/banned.h"

#define HOUR_S  3600
#define HOUR_US (HOUR_S * 1000000ULL)

static enum ten_state state_of(const struct ten_tenant *t)
{
    return (enum ten_state)atomic_load(&t->state);
}

static struct ten_tenant *held(const char *reason)
{
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    enum err rc = tent_hold(&tent, t, "k1", reason);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    return t;
}

static void check_hold(const struct ten_tenant *t, const char *by, const char *reason)
{
    const struct ten_hold *hold = ten_tenant_details(t)->hold;
    ck_assert_ptr_nonnull(hold);
    ck_assert_str_eq(hold->by, by);
    ck_assert_str_eq(hold->reason, reason);
    ck_assert_int_gt(hold->since_us, 0);
}

START_TEST(a_hold_is_kept_with_its_story_and_closes_nothing)
{
    fill_both();
    struct ten_tenant *t = held("a court asked");
    int64_t since_us = ten_tenant_details(t)->hold->since_us;
    check_hold(t, "k1", "a court asked");
    ck_assert_int_eq(ten_access_check(t, TEN_MODIFY, &tent.eb), ERR_OK);
    ck_assert_int_eq(tent_suspend(&tent, t, "unpaid"), ERR_OK); /* other changes keep it */
    ck_assert_int_eq(tent_resume(&tent, t), ERR_OK);
    tent_reopen(&tent);
    t = tent_find(&tent, "altostrat");
    check_hold(t, "k1", "a court asked");
    ck_assert_int_eq(ten_tenant_details(t)->hold->since_us, since_us);
    uint64_t version = ten_tenant_details(t)->doc_version;
    (void)held("a court asked"); /* the same once more writes nothing */
    ck_assert_uint_eq(ten_tenant_details(t)->doc_version, version);
    ck_assert_int_eq(tent_hold(&tent, t, "k2", "two courts asked"), ERR_OK);
    check_hold(t, "k2", "two courts asked");
    ck_assert_int_eq(ten_tenant_details(t)->hold->since_us, since_us);
    ck_assert_int_eq(tent_release(&tent, t), ERR_OK);
    ck_assert_ptr_null(ten_tenant_details(t)->hold);
    version = ten_tenant_details(t)->doc_version;
    ck_assert_int_eq(tent_release(&tent, t), ERR_CONFLICT); /* there is none any more */
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "not under legal hold"));
    ck_assert_uint_eq(ten_tenant_details(t)->doc_version, version);
    tent_reopen(&tent);
    ck_assert_ptr_null(ten_tenant_details(tent_find(&tent, "altostrat"))->hold);
}
END_TEST

START_TEST(a_hold_needs_a_reason_within_its_limit)
{
    static char text[LIM_REASON + 2];
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    ck_assert_int_eq(tent_hold(&tent, t, "k1", ""), ERR_INVALID);
    memset(text, 'x', LIM_REASON + 1);
    ck_assert_int_eq(tent_hold(&tent, t, "k1", text), ERR_INVALID);
    ck_assert_ptr_null(ten_tenant_details(t)->hold);
    text[LIM_REASON] = '\0';
    ck_assert_int_eq(tent_hold(&tent, t, "", text), ERR_OK);
    check_hold(t, "", text);
}
END_TEST

START_TEST(a_purge_at_once_is_refused_and_says_who_to_ask)
{
    char id[TEN_JOB_ID + 1];
    fill_both();
    struct ten_tenant *t = held("a court asked");
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_HELD);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "key k1"));
    ck_assert_int_eq(state_of(t), TEN_ACTIVE);
    ck_assert_uint_eq(docs_under("j/"), 0);
    ck_assert_int_eq(tent_offboard_in(&tent, t, HOUR_US, "", id), ERR_OK);
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_HELD); /* nor sooner */
    ck_assert_int_eq(state_of(t), TEN_DELETE_REQUESTED);
    ck_assert_int_eq(tent_release(&tent, t), ERR_OK);
    struct ten_job job;
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_OK);
    tent_await_job(&tent, id, &job);
    check_purged(&job);
}
END_TEST

/* Held before the request, or after it; over a restart or not. */
START_TEST(when_grace_is_over_the_purge_waits_for_the_release)
{
    bool is_held_first = (_i & 1) != 0;
    bool by_restart = (_i & 2) != 0;
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    if (is_held_first)
        (void)held("a court asked");
    ck_assert_int_eq(tent_offboard_in(&tent, t, HOUR_US, "", id), ERR_OK);
    if (!is_held_first)
        (void)held("a court asked");
    if (by_restart)
        tent_reopen(&tent);
    wall_pass_s(2 * HOUR_S);
    tent_await_ticks(&tent, 5);
    t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(state_of(t), TEN_DELETE_REQUESTED);
    ck_assert_int_eq(tent_job(&tent, id, &job), ERR_OK);
    ck_assert_int_eq(job.state, TEN_JOB_WAITING);
    ck_assert_uint_eq(docs_under("s/altostrat/"), 2);
    ck_assert_int_eq(tent_release(&tent, t), ERR_OK);
    tent_await_job(&tent, id, &job);
    check_purged(&job);
    check_before(&job);
    check_neighbour();
}
END_TEST

START_TEST(a_hold_outlives_undelete)
{
    char id[TEN_JOB_ID + 1];
    fill_both();
    struct ten_tenant *t = held("a court asked");
    ck_assert_int_eq(tent_offboard_in(&tent, t, HOUR_US, "", id), ERR_OK);
    ck_assert_int_eq(tent_undelete(&tent, t), ERR_OK);
    check_hold(t, "k1", "a court asked");
    ck_assert_int_eq(state_of(t), TEN_ACTIVE);
}
END_TEST

START_TEST(it_is_too_late_once_the_purge_began)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_OK);
    ck_assert_int_eq(tent_hold(&tent, t, "k1", "a court asked"), ERR_CONFLICT);
    ck_assert_int_eq(tent_release(&tent, t), ERR_CONFLICT);
    tent_await_job(&tent, id, &job);
    check_purged(&job);
    ck_assert_int_eq(tent_hold(&tent, t, "k1", "a court asked"), ERR_CONFLICT);
}
END_TEST

Suite *suite_tenancy_hold(void);
Suite *suite_tenancy_hold(void)
{
    Suite *s = suite_create("tenancy_hold");
    TCase *c = tcase_create("hold");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, a_hold_is_kept_with_its_story_and_closes_nothing);
    tcase_add_test(c, a_hold_needs_a_reason_within_its_limit);
    tcase_add_test(c, a_purge_at_once_is_refused_and_says_who_to_ask);
    tcase_add_loop_test(c, when_grace_is_over_the_purge_waits_for_the_release, 0, 4);
    tcase_add_test(c, a_hold_outlives_undelete);
    tcase_add_test(c, it_is_too_late_once_the_purge_began);
    suite_add_tcase(s, c);
    return s;
}

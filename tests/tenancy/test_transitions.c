/*
 * tests/tenancy/test_transitions.c - each transition of a tenant is one commit with its record.
 *
 * In a child, until the call returned, then gone as by kill -9: what is looked at is what the
 * engine finds. Of commits the first one fails, and the transition did not happen; or the second
 * one would, and it did, because there is no second: state, job document, record and index are one
 * batch. That a batch is synced before it is answered: tests/faults/test_writes.c.
 */
#include "tests/tenancy/tent.h"

#include <sys/wait.h>

#include "base/audit_record.h"
#include "tenancy/audit.h"

#include "base/banned.h"

Suite *suite_tenancy_transitions(void);

#define ID      "altostrat"
#define HOUR_US 3600000000ULL
#define DONE    10 /* the child's exit code; behind it: that of a transition that failed */

static struct tent tent;

struct now {
    enum ten_state state;
    bool is_held;
};

static struct now look(void)
{
    const struct ten_tenant *t = tent_find(&tent, ID);
    ck_assert_ptr_nonnull(t);
    return (struct now){.state = (enum ten_state)atomic_load(&t->state),
                        .is_held = ten_tenant_details(t)->hold != NULL};
}

static void expect_now(const char *name, struct now wanted)
{
    struct now now = look();
    ck_assert_msg(now.state == wanted.state && now.is_held == wanted.is_held,
                  "%s: state %d, held %d", name, now.state, now.is_held);
}

/* --- transitions ------------------------------------------------------------------------------ */

static enum err do_suspend(struct ten_tenant *t)
{
    return ten_tenant_suspend(tent.registry, t, STO_GATE_NO_READS | STO_GATE_NO_WRITES,
                              SLICE_LIT("why"), &tent.eb);
}

static enum err do_resume(struct ten_tenant *t)
{
    return ten_tenant_resume(tent.registry, t, &tent.eb);
}

static enum err do_offboard(struct ten_tenant *t)
{
    char job[TEN_JOB_ID + 1];
    const struct ten_offboard_wanted wanted = {
        .requested_by = SLICE_LIT("k0123456789a"), .reason = SLICE_LIT("why"), .grace_us = HOUR_US};
    return ten_offboard_start(tent.registry, t, &wanted, job, &tent.eb);
}

static enum err do_undelete(struct ten_tenant *t)
{
    return ten_offboard_undelete(tent.registry, t, &tent.eb);
}

static enum err do_hold(struct ten_tenant *t)
{
    return ten_hold_set(tent.registry, t, SLICE_LIT("k0123456789a"), SLICE_LIT("why"), &tent.eb);
}

static enum err do_release(struct ten_tenant *t)
{
    return ten_hold_release(tent.registry, t, &tent.eb);
}

enum { SUSPEND, RESUME, OFFBOARD, UNDELETE, HOLD, RELEASE, TRANSITIONS, NONE = TRANSITIONS };

static const struct transition {
    const char *name;
    int before; /* what leads to where it begins */
    enum err (*work)(struct ten_tenant *t);
    struct now after;
} ALL[TRANSITIONS] = {
    [SUSPEND] = {"tenant.suspend", NONE, do_suspend, {TEN_SUSPENDED, false}},
    [RESUME] = {"tenant.resume", SUSPEND, do_resume, {TEN_ACTIVE, false}},
    [OFFBOARD] = {"tenant.offboard", NONE, do_offboard, {TEN_DELETE_REQUESTED, false}},
    [UNDELETE] = {"tenant.undelete", OFFBOARD, do_undelete, {TEN_ACTIVE, false}},
    [HOLD] = {"tenant.hold", NONE, do_hold, {TEN_ACTIVE, true}},
    [RELEASE] = {"tenant.release", HOLD, do_release, {TEN_ACTIVE, false}},
};

static struct now state_before(const struct transition *tr)
{
    return tr->before == NONE ? (struct now){TEN_ACTIVE, false} : ALL[tr->before].after;
}

struct deed {
    const struct transition *transition;
    enum err result;
};

static void do_deed(struct tent *t, void *ctx)
{
    struct deed *d = ctx;
    const struct ten_action action = {.actor = {"k0123456789a", "operator", "192.0.2.7"},
                                      .name = d->transition->name,
                                      .tenant = SLICE_LIT(ID)};
    ten_audit_begin(t->registry, &action);
    d->result = d->transition->work(tent_find(t, ID));
    d->result = ten_audit_end(t->registry, d->result, &t->eb);
}

static enum err run(const struct transition *tr)
{
    struct deed d = {.transition = tr};
    tent_control(&tent, do_deed, &d);
    return d.result;
}

static void run_and_die(const struct transition *tr, int failing_commit)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        tent_open(&tent);
        (void)tent_create(&tent, ID);
        if (tr->before != NONE)
            ck_assert_int_eq(run(&ALL[tr->before]), ERR_OK);
        sto_rocksdb_test_fail_commit(tent.engine, failing_commit);
        enum err rc = run(tr);
        expect_now(tr->name, rc == ERR_OK ? tr->after : state_before(tr));
        _exit(rc == ERR_OK ? DONE : DONE + 1);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == DONE + (failing_commit == 1),
                  "%s, commit %d fails: status %d", tr->name, failing_commit, status);
}

/* --- records ---------------------------------------------------------------------------------- */

struct records {
    struct base_audit_head head;
    const char *name;
    int count;
    int of_name;
};

static enum err take(void *ctx, const struct base_audit_record *r)
{
    struct records *records = ctx;
    ck_assert_ptr_null(base_audit_follow(&records->head, r));
    records->count++;
    records->of_name += base_slice_is(r->action, records->name);
    return ERR_OK;
}

static void expect_records(const struct transition *tr, int wanted)
{
    struct records records = {.name = tr->name};
    ck_assert_int_eq(ten_audit_read(tent.registry, SLICE_EMPTY, 1, 9, take, &records, &tent.eb),
                     ERR_OK);
    ck_assert_msg(records.of_name == wanted, "%s: %d records", tr->name, records.of_name);
    ck_assert_int_eq(records.count, wanted + (tr->before != NONE));
}

static void check(const struct transition *tr, int failing_commit)
{
    bool happened = failing_commit > 1;
    tent_make(&tent);
    run_and_die(tr, failing_commit);
    tent_open(&tent);
    expect_now(tr->name, happened ? tr->after : state_before(tr));
    expect_records(tr, happened ? 1 : 0);
    tent_close(&tent);
    tent_remove(&tent);
}

START_TEST(one_whose_commit_fails_leaves_neither_state_nor_record)
{
    check(&ALL[_i], 1);
}
END_TEST

START_TEST(one_that_is_answered_has_both_and_needed_one_commit)
{
    check(&ALL[_i], 2);
}
END_TEST

Suite *suite_tenancy_transitions(void)
{
    Suite *s = suite_create("tenancy_transitions");
    TCase *t = tcase_create("transitions");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, one_whose_commit_fails_leaves_neither_state_nor_record, 0, TRANSITIONS);
    tcase_add_loop_test(t, one_that_is_answered_has_both_and_needed_one_commit, 0, TRANSITIONS);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/storage/test_engine_plan.c - dear operations are worked out on readers.
 *
 * A reader that is held where it has a plan shows what goes on beside it. Over 500 lines because
 * all of it is about one mechanism, and needs the same long row.
 */
#include "tests/storage/fixture.h"

#include <sys/wait.h>

#include "tests/storage/hold.h"
#include "tests/storage/plan.h"
#include "tests/support/wall.h"

#include "storage/rocksdb/prefetch.h"
#include "storage/rocksdb/ranges.h"

#include "base/banned.h"

Suite *suite_storage_engine_plan(void);

static const enum sto_die_point POINTS[] = {STO_DIE_PLANNING, STO_DIE_PLANNED, STO_DIE_NEVER};

/* While a reader has it, another tenant of the same committer writes, twice. */
static void assert_others_go_on(const struct request *dear)
{
    struct request q;
    await_plan(dear);
    for (int i = 0; i < 2; i++) {
        set_submit(&q, OTHER, "beside", "x");
        await(&q);
        ck_assert_int_eq(q.op.result, ERR_OK);
    }
    ck_assert_uint_eq(dear->place, 0);
    let_go();
    await(dear);
}

static void assert_column_c(const char *row, const char *expected)
{
    struct sto_read_spec spec = {.row_key = base_slice_text(row),
                                 .projection = fix_column(2, SLICE_LIT("c")),
                                 .narrowed = true};
    fix_assert_rows(T, &spec, expected);
}

START_TEST(a_predicate_over_a_long_row_holds_nobody_else)
{
    struct request q;
    struct sto_filter_program *p = value_is("nothing");
    put_long_row("long", CELLS);
    hold_readers(false);
    check_submit(&q, "long", p);
    assert_others_go_on(&q);
    ck_assert_int_eq(q.op.result, ERR_OK);
    ck_assert(!q.check.matched);
    ck_assert_uint_ge(q.op.bytes_seen, CELLS);
    assert_column_c("long", "long{gg:c@1000=no,}");
    fix_assert_no_drift(0);
    sto_filter_unref(p);
}
END_TEST

START_TEST(a_regular_expression_holds_nobody_else)
{
    struct request q;
    const struct sto_filter f = {.kind = STO_FILTER_VALUE_REGEX, .bytes = SLICE_LIT("o[a-z]+")};
    struct sto_filter_program *p = compile(&f);
    ck_assert_int_eq(fix_put(T, "row", "one"), ERR_OK);
    hold_readers(false);
    check_submit(&q, "row", p);
    assert_others_go_on(&q);
    ck_assert(q.op.result == ERR_OK && q.check.matched);
    assert_column_c("row", "row{gg:c@1000=yes,}");
    sto_filter_unref(p);
}
END_TEST

START_TEST(regular_expressions_are_charged_what_they_take)
{
    struct sto_filter many[20];
    for (size_t i = 0; i < 20; i++)
        many[i] =
            (struct sto_filter){.kind = STO_FILTER_VALUE_REGEX, .bytes = SLICE_LIT("o[a-z]+")};
    const struct sto_filter all = {
        .kind = STO_FILTER_INTERLEAVE, .members = many, .member_count = 20};
    struct sto_filter_program *none = value_is("nothing"), *one = compile(&many[0]),
                              *twenty = compile(&all);
    put_long_row("long", CELLS);
    uint64_t charged = charged_for(none);
    ck_assert_uint_gt(charged, 0);
    ck_assert_uint_ge(charged_for(one), charged);
    ck_assert_uint_le(charged_for(one), 5 * charged);
    ck_assert_uint_ge(charged_for(twenty), 3 * charged);
    ck_assert_uint_le(charged_for(twenty), 60 * charged);
    sto_filter_unref(none);
    sto_filter_unref(one);
    sto_filter_unref(twenty);
}
END_TEST

/* It began in time, or was late already. */
START_TEST(a_predicate_ends_at_its_deadline)
{
    struct request q;
    const struct sto_filter f = {.kind = STO_FILTER_VALUE_REGEX, .bytes = SLICE_LIT("o[a-z]+")};
    struct sto_filter_program *p = compile(&f);
    put_versions("long", 200000);
    check_make(&q, p);
    q.op.deadline_ns = base_monotonic_ns() + 5000000;
    submit(&q, 0, "long");
    await(&q);
    ck_assert_int_eq(q.op.result, ERR_TIMEOUT);
    ck_assert_uint_lt(q.op.bytes_seen, 200000 * 10);
    sto_filter_unref(p);
}
END_TEST

START_TEST(a_small_predicate_needs_no_reader)
{
    struct request q;
    const struct sto_filter f = {.kind = STO_FILTER_VALUE_REGEX, .bytes = SLICE_LIT("literal")};
    struct sto_filter_program *p = compile(&f);
    put_long_row("row", 200);
    uint64_t before = plans();
    check_submit(&q, "row", p);
    await(&q);
    check_submit(&q, "no-row", p);
    await(&q);
    ck_assert_uint_eq(plans(), before);
    sto_filter_unref(p);
}
END_TEST

START_TEST(many_mutations_hold_nobody_else)
{
    struct request q = {.op = {.mutations = sets, .mutation_count = CELLS}};
    ck_assert_int_eq(fix_put(T, "row", "old"), ERR_OK);
    hold_readers(false);
    submit(&q, 0, "row");
    assert_others_go_on(&q);
    ck_assert_int_eq(q.op.result, ERR_OK);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).cells, CELLS + 1);
    fix_assert_no_drift(0);
    submit(&q, 0, "row"); /* all of them again: nothing is counted twice */
    await(&q);
    ck_assert_int_eq(q.op.result, ERR_OK);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).cells, CELLS + 1);
    /* Sizes that the committer remembers are not those that a plan wrote. */
    ck_assert_int_eq(fix_mutate(T, "row", sets, 1), ERR_OK);
    sets[0].value = SLICE_LIT("longer");
    submit(&q, 0, "row");
    await(&q);
    sets[0].value = SLICE_LIT("v");
    ck_assert_int_eq(fix_mutate(T, "row", sets, 1), ERR_OK);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(the_deletion_of_a_long_row_holds_nobody_else)
{
    struct sto_mutation m = {.kind = STO_DELETE_FROM_ROW};
    struct request q = {.op = {.mutations = &m, .mutation_count = 1}};
    put_long_row("long", CELLS);
    ck_assert_int_eq(fix_put(T, "other", "v"), ERR_OK);
    hold_readers(false);
    submit(&q, 0, "long");
    assert_others_go_on(&q);
    ck_assert_int_eq(q.op.result, ERR_OK);
    ck_assert(q.op.row_existed);
    ck_assert_uint_ge(q.op.bytes_deleted, CELLS);
    ck_assert_uint_eq(q.op.bytes_seen, 0);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "other{f:q@1000=v,}");
    fix_assert_no_drift(0);
}
END_TEST

/* More than go one by one, between others that stay, and with cells put by the same operation. */
START_TEST(what_goes_as_a_range_is_counted_exactly)
{
    enum { VERSIONS = LIM_DELETE_POINTS + 4000 };
    struct sto_mutation m[4] = {
        fix_set(1, "q", 5000, SLICE_LIT("replaced")),
        {.kind = STO_DELETE_FROM_COLUMN, .family = 1, .qualifier = SLICE_LIT("q")},
        fix_set(1, "q", 7000, SLICE_LIT("new")), /* the range has an old one */
        fix_set(2, "c", 1000, SLICE_LIT("c")),
    };
    put_versions("row", VERSIONS);
    ck_assert_int_eq(fix_mutate(T, "row", sets, 3), ERR_OK);
    m[0].qualifier = SLICE_LIT("r");
    m[0].value = SLICE_LIT("r");
    for (int again = 0; again < 2; again++) {
        uint64_t begun = atomic_load(&sto_rdb_engine(fix.engine)->tombstones.begun);
        ck_assert_int_eq(fix_mutate(T, "row", m, 4), ERR_OK);
        ck_assert_uint_eq(atomic_load(&sto_rdb_engine(fix.engine)->tombstones.begun),
                          begun + !again);
        fix_assert_rows(T, &(struct sto_read_spec){0},
                        "row{f:c00000@1000=v,f:c00001@1000=v,f:c00002@1000=v,f:q@7000=new,"
                        "f:r@5000=r,gg:c@1000=c,}");
        ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).cells, 6);
        fix_assert_no_drift(0);
    }
    fix_reopen();
    fix_assert_no_drift(0);
    ck_assert_int_eq(fix_delete_row(T, "row"), ERR_OK);
    fix_assert_usage(0, 0, 0, 0);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_row_that_changes_meanwhile_is_looked_at_again)
{
    struct request q, change;
    struct sto_filter_program *p = value_is("on");
    put_long_row("long", CELLS);
    set_submit(&change, 0, "long", "no"); /* so that its header does not change */
    await(&change);
    uint64_t before = plans();
    hold_readers(true);
    check_submit(&q, "long", p);
    await_plan(&q);
    change = (struct request){.then = fix_set(2, "s", 1000, SLICE_LIT("on"))};
    change.op = (struct sto_mutate_op){
        .mutations = &change.then, .mutation_count = 1, .priority = STO_PRIORITY_HIGH};
    submit(&change, 0, "long");
    await(&change);
    ck_assert_uint_eq(q.place, 0);
    let_go();
    await(&q);
    ck_assert(q.op.result == ERR_OK && q.check.matched);
    ck_assert_uint_ge(plans() - before, 2);
    assert_column_c("long", "long{gg:c@1000=yes,}");
    fix_assert_no_drift(0);
    sto_filter_unref(p);
}
END_TEST

static _Atomic bool is_over;

static void change_done(struct sto_mutate_op *op)
{
    struct request *q = (struct request *)op;
    ck_assert_int_eq(op->result, ERR_OK);
    if (atomic_load(&is_over)) {
        fix.outstanding--;
        return;
    }
    q->place++;
    sto_mutate_row(fix.engine, op);
}

START_TEST(a_row_that_others_keep_changing_is_changed_at_last)
{
    enum { WRITERS = 16 };
    struct request q;
    static struct request writers[WRITERS];
    struct sto_filter_program *p = value_is("on");
    put_long_row("long", CELLS);
    atomic_store(&is_over, false);
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct request){.then = fix_set(2, "s", 1000, SLICE_LIT("off"))};
        writers[i].op = (struct sto_mutate_op){.scope = *T,
                                               .row_key = SLICE_LIT("long"),
                                               .mutations = &writers[i].then,
                                               .mutation_count = 1,
                                               .priority = STO_PRIORITY_HIGH,
                                               .reply_to = &fix.mailbox,
                                               .done = change_done};
        fix.outstanding++;
        sto_mutate_row(fix.engine, &writers[i].op);
    }
    for (int i = 0; i < 10; i++) {
        uint64_t before = plans();
        check_submit(&q, "long", p);
        await(&q);
        ck_assert(q.op.result == ERR_OK && !q.check.matched);
        ck_assert_uint_le(plans() - before, LIM_PLAN_TRIES + 1);
    }
    atomic_store(&is_over, true);
    fix_wait();
    fix_assert_no_drift(0);
    sto_filter_unref(p);
}
END_TEST

START_TEST(what_the_tenant_submitted_later_comes_later)
{
    struct request q, later[20];
    struct sto_filter_program *p = value_is("later");
    put_long_row("long", CELLS);
    hold_readers(false);
    check_submit(&q, "long", p);
    await_plan(&q);
    for (size_t i = 0; i < 20; i++)
        set_submit(&later[i], 0, i % 2 == 0 ? "long" : "elsewhere", "later");
    struct request other;
    set_submit(&other, OTHER, "row", "x");
    await(&other);
    ck_assert_uint_eq(later[1].place, 0);
    let_go();
    fix_wait();
    ck_assert(q.op.result == ERR_OK && !q.check.matched);
    for (size_t i = 0; i < 20; i++)
        ck_assert_uint_eq(later[i].place, q.place + 1 + i);
    fix_assert_no_drift(0);
    sto_filter_unref(p);
}
END_TEST

START_TEST(a_plan_sees_what_its_batch_did_before)
{
    struct request set[4], q;
    struct sto_filter_program *p = value_is("on");
    put_long_row("long", CELLS);
    for (int i = 0; i < 50; i++) {
        uint64_t before = plans();
        fix_hold_committer(0);
        for (size_t k = 0; k < 4; k++)
            set_submit(&set[k], 0, k == 2 ? "long" : "elsewhere", i % 2 == 0 ? "on" : "off");
        check_submit(&q, "long", p);
        fix_let_go();
        ck_assert_int_eq(q.check.matched, i % 2 == 0);
        ck_assert_uint_eq(plans(), before + 1);
    }
    fix_assert_no_drift(0);
    sto_filter_unref(p);
}
END_TEST

START_TEST(what_forbids_it_meanwhile_is_heeded)
{
    struct request q = {.op = {.mutations = sets, .mutation_count = CELLS}};
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    struct sto_usage before = sto_counters_read(&fix.accounts[0].total);
    for (int i = 0; i < 3; i++) {
        hold_readers(false);
        q.op.deadline_ns = i == 2 ? base_monotonic_ns() + LONG_S * 1000000000ULL : 0;
        submit(&q, 0, "row");
        await_plan(&q);
        if (i == 0)
            atomic_store(&fix.accounts[0].bytes_max, before.bytes + 100);
        if (i == 1)
            atomic_store(&fix.accounts[0].gate, STO_GATE_NO_WRITES);
        if (i == 2)
            wall_pass_s(LONG_S);
        let_go();
        await(&q);
        ck_assert_int_eq(q.op.result, i == 0 ? ERR_QUOTA : i == 1 ? ERR_SUSPENDED : ERR_TIMEOUT);
        ck_assert_str_ne(q.op.detail.text, "");
        atomic_store(&fix.accounts[0].bytes_max, UINT64_MAX);
        atomic_store(&fix.accounts[0].gate, 0);
        fix_assert_usage(0, before.bytes, before.rows, before.cells);
        fix_assert_no_drift(0);
    }
    q.op.deadline_ns = 0;
    submit(&q, 0, "row");
    await(&q);
    ck_assert_int_eq(q.op.result, ERR_OK);
}
END_TEST

START_TEST(a_token_is_known_when_the_plan_was_written)
{
    struct request q = {.op = {.mutations = sets, .mutation_count = CELLS}};
    for (int again = 0; again < 2; again++) {
        q.op.idempotency = (struct sto_idempotency){SLICE_LIT("a-token-of-mine"), base_wall_us()};
        submit(&q, 0, "row");
        await(&q);
        ck_assert_msg(q.op.result == ERR_OK, "%s", q.op.detail.text);
        ck_assert_int_eq(q.op.repeated, again);
    }
}
END_TEST

START_TEST(a_write_that_fails_leaves_nothing_of_a_plan)
{
    struct request q = {.op = {.mutations = sets, .mutation_count = CELLS}};
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    sto_rocksdb_test_fail_commit(fix.engine, 1);
    submit(&q, 0, "row");
    await(&q);
    ck_assert_int_eq(q.op.result, ERR_OUTCOME_UNKNOWN);
    fix_reopen();
    fix_assert_no_drift(0);
}
END_TEST

/* A process that is killed when it is worked out, by a child of this one. */
START_TEST(what_holds_a_committer_is_told)
{
    struct sto_engine_stats before, after;
    sto_rocksdb_test_apply_steps(fix.engine, UINT64_MAX);
    sto_engine_stats_get(fix.engine, &before);
    ck_assert_int_eq(fix_mutate(T, "row", sets, CELLS), ERR_OK);
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    sto_engine_stats_get(fix.engine, &after);
    ck_assert_uint_gt(after.commit_held_ns_max, before.commit_held_ns_max);
    ck_assert_uint_eq(after.writes_planned, before.writes_planned);
    sto_rocksdb_test_apply_steps(fix.engine, LIM_APPLY_STEPS);
    ck_assert_int_eq(fix_mutate(T, "row", sets, CELLS), ERR_OK);
    sto_engine_stats_get(fix.engine, &after);
    ck_assert_uint_eq(after.writes_planned, before.writes_planned + 1);
}
END_TEST

static enum err set_all(struct request *q, size_t tenant)
{
    *q = (struct request){.op = {.mutations = sets, .mutation_count = CELLS}};
    submit(q, tenant, "row");
    await(q);
    return q->op.result;
}

START_TEST(what_kept_others_waiting_rests_beside_them)
{
    struct request q;
    struct sto_engine_stats stats;
    sto_rocksdb_test_held_free(fix.engine, 0);
    ck_assert_int_eq(fix_put(&fix.tables[OTHER][0], "row", "v"), ERR_OK);
    sto_rocksdb_test_held_free(fix.engine, 1); /* 3,000 cells take more */
    ck_assert_int_eq(set_all(&q, 0), ERR_OK);
    ck_assert_int_eq(set_all(&q, 0), ERR_OVERLOADED);
    ck_assert_uint_gt(q.op.retry_ns, 0);
    ck_assert_ptr_nonnull(strstr(q.op.detail.text, "over 1024 cells"));
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK); /* what is small is taken */
    ck_assert_int_eq(set_all(&q, OTHER), ERR_OK);     /* and what others do */
    sto_engine_stats_get(fix.engine, &stats);
    ck_assert_uint_eq(stats.commit_rested, 1);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(whoever_writes_alone_does_not_rest)
{
    struct request q;
    sto_rocksdb_test_held_free(fix.engine, 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(set_all(&q, 0), ERR_OK);
}
END_TEST

START_TEST(a_kill_leaves_all_or_nothing)
{
    int status = 0;
    enum sto_die_point point = POINTS[_i];
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        fix_open();
        (void)fix_put(T, "row", "v");
        sto_rocksdb_test_die_at(fix.engine, point);
        (void)fix_mutate(T, "row", sets, CELLS);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    bool lives = point == STO_DIE_NEVER;
    ck_assert(WIFEXITED(status) && (WEXITSTATUS(status) == 0) == lives);
    fix_open();
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).cells, lives ? CELLS + 1 : 1);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(an_engine_that_closes_finishes_its_plans)
{
    struct request q[8];
    put_long_row("long", CELLS);
    for (size_t i = 0; i < 8; i++) {
        q[i] = (struct request){.op = {.mutations = sets, .mutation_count = CELLS}};
        submit(&q[i], 0, i % 2 == 0 ? "row" : "long");
    }
    fix_reopen();
    fix_wait();
    for (size_t i = 0; i < 8; i++)
        ck_assert(q[i].op.result == ERR_OK || q[i].op.result == ERR_UNAVAILABLE);
    fix_assert_no_drift(0);
}
END_TEST

Suite *suite_storage_engine_plan(void)
{
    Suite *s = suite_create("storage_engine_plan");
    TCase *tc = tcase_create("plan");
    tcase_add_checked_fixture(tc, setup, fix_teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_predicate_over_a_long_row_holds_nobody_else);
    tcase_add_test(tc, a_regular_expression_holds_nobody_else);
    tcase_add_test(tc, regular_expressions_are_charged_what_they_take);
    tcase_add_test(tc, a_predicate_ends_at_its_deadline);
    tcase_add_test(tc, a_small_predicate_needs_no_reader);
    tcase_add_test(tc, many_mutations_hold_nobody_else);
    tcase_add_test(tc, the_deletion_of_a_long_row_holds_nobody_else);
    tcase_add_test(tc, what_goes_as_a_range_is_counted_exactly);
    tcase_add_test(tc, a_row_that_changes_meanwhile_is_looked_at_again);
    tcase_add_test(tc, a_row_that_others_keep_changing_is_changed_at_last);
    tcase_add_test(tc, what_the_tenant_submitted_later_comes_later);
    tcase_add_test(tc, a_plan_sees_what_its_batch_did_before);
    tcase_add_test(tc, what_forbids_it_meanwhile_is_heeded);
    tcase_add_test(tc, a_token_is_known_when_the_plan_was_written);
    tcase_add_test(tc, a_write_that_fails_leaves_nothing_of_a_plan);
    tcase_add_test(tc, what_holds_a_committer_is_told);
    tcase_add_test(tc, what_kept_others_waiting_rests_beside_them);
    tcase_add_test(tc, whoever_writes_alone_does_not_rest);
    tcase_add_test(tc, an_engine_that_closes_finishes_its_plans);
    suite_add_tcase(s, tc);
    tc = tcase_create("killed");
    tcase_add_checked_fixture(tc, prepare, fix_teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_kill_leaves_all_or_nothing, 0, sizeof(POINTS) / sizeof(POINTS[0]));
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/storage/test_engine_sweep.c - sweeps: what they remove, and what they tell of what stays.
 */
#include "fixture.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "hold.h"

#include "base/banned.h"

Suite *suite_storage_engine_sweep(void);

#define T (&fix.tables[0][0])

START_TEST(a_sweep_removes_what_no_read_shows)
{
    fix.gc[0] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = 3};
    fix.gc[1] = (struct sto_gc_node){.kind = STO_GC_MAX_AGE, .max_age_us = 3600ULL * 1000000};
    fix_reopen();
    int64_t now = base_wall_us() / 1000 * 1000;
    size_t versions = 2 * LIM_SWEEP_FOUND_CELLS + 500; /* found in parts, removed in slices */
    struct sto_mutation *m = base_new_array(versions, sizeof(*m));
    for (size_t i = 0; i < versions; i++)
        m[i] = fix_set(1, "q", (int64_t)(i + 1) * 1000, SLICE_LIT("v"));
    ck_assert_int_eq(fix_mutate(T, "many", m, versions), ERR_OK);
    ck_assert_int_eq(fix_mutate(T, "two", m, 2), ERR_OK);
    struct sto_mutation aged[2] = {fix_set(2, "q", now, SLICE_LIT("new")),
                                   fix_set(2, "q", now - 7200000000, SLICE_LIT("old"))};
    ck_assert_int_eq(fix_mutate(T, "aged", aged, 2), ERR_OK);
    ck_assert_int_eq(fix_mutate(T, "gone", &aged[1], 1), ERR_OK);
    base_free(m);
    struct fix_sink before, after;
    fix_sink_init(&before);
    fix_sink_init(&after);
    ck_assert_int_eq(fix_read(T, &(struct sto_read_spec){0}, &before, false), ERR_OK);
    struct sto_usage removed = fix_sweep(T);
    ck_assert_uint_eq(removed.cells, versions - 3 + 1 + 1);
    ck_assert_uint_eq(removed.rows, 1);
    ck_assert_int_eq(fix_read(T, &(struct sto_read_spec){0}, &after, false), ERR_OK);
    ck_assert(base_slice_equal(base_buf_slice(&before.text), base_buf_slice(&after.text)));
    base_buf_fini(&before.text);
    base_buf_fini(&after.text);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).cells, 3 + 2 + 1);
    fix_assert_no_drift(0);
    ck_assert_uint_eq(fix_sweep(T).cells, 0);
}
END_TEST

START_TEST(a_sweep_steps_over_a_long_column_that_stays)
{
    size_t versions = LIM_SLICE_STEPS_SHARED + 500;
    struct sto_mutation *m = base_new_array(versions, sizeof(*m));
    for (size_t i = 0; i < versions; i++)
        m[i] = fix_set(1, "q", (int64_t)(i + 1) * 1000, SLICE_LIT("v"));
    ck_assert_int_eq(fix_mutate(T, "row", m, versions), ERR_OK);
    base_free(m);
    ck_assert_uint_eq(fix_sweep(T).cells, 0);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).cells, versions);
}
END_TEST

static int64_t sweep_expiry(void)
{
    return fix_sweep_as(T, STO_PRIORITY_BACKGROUND).expires_us;
}

START_TEST(a_sweep_says_when_the_first_cell_it_left_is_too_old)
{
    enum { HOUR_S = 3600 };
    fix.gc[0] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = 3};
    fix.gc[1] = (struct sto_gc_node){.kind = STO_GC_MAX_AGE, .max_age_us = HOUR_S * 1000000ULL};
    fix_reopen();
    int64_t now = base_wall_us() / 1000 * 1000;
    ck_assert_int_eq(sweep_expiry(), STO_GC_NEVER);
    struct sto_mutation only = fix_set(1, "q", 1000, SLICE_LIT("v"));
    ck_assert_int_eq(fix_mutate(T, "a", &only, 1), ERR_OK);
    ck_assert_int_eq(sweep_expiry(), STO_GC_NEVER);
    struct sto_mutation aged[3] = {fix_set(2, "q", now, SLICE_LIT("v")),
                                   fix_set(2, "q", now - 1000000, SLICE_LIT("v")),
                                   fix_set(2, "q", now - 2LL * HOUR_S * 1000000, SLICE_LIT("v"))};
    ck_assert_int_eq(fix_mutate(T, "b", aged, 3), ERR_OK);
    ck_assert_int_eq(fix_mutate(T, "c", aged, 1), ERR_OK);
    ck_assert_int_eq(sweep_expiry(), now - 1000000 + HOUR_S * 1000000LL + 1);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).cells, 1 + 2 + 1);
}
END_TEST

/* What removing 600 cells costs the tenant in the order in which writes have their turns. */
static uint64_t charged_for(enum sto_priority priority)
{
    struct sto_mutation m[603];
    const struct sto_fair_line *writes = &fix.accounts[0].writes;
    for (size_t i = 0; i < 603; i++)
        m[i] = fix_set(1, "q", (int64_t)(i + 1) * 1000, SLICE_LIT("v"));
    ck_assert_int_eq(fix_mutate(T, "row", m, 603), ERR_OK);
    uint64_t before = writes->virtual_time;
    ck_assert_uint_eq(fix_sweep_as(T, priority).removed.cells, 600);
    return writes->virtual_time - before;
}

START_TEST(a_sweep_in_the_tenants_own_turns_is_charged_to_it)
{
    fix.gc[0] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = 3};
    fix_reopen();
    uint64_t before = fix.accounts[0].writes.virtual_time;
    ck_assert_int_eq(fix_put(T, "other", "v"), ERR_OK);
    uint64_t write = fix.accounts[0].writes.virtual_time - before;
    ck_assert_uint_eq(charged_for(STO_PRIORITY_BACKGROUND), 0);
    ck_assert_int_eq(fix_mutate(T, "row", &(struct sto_mutation){.kind = STO_DELETE_FROM_ROW}, 1),
                     ERR_OK);
    ck_assert_uint_ge(charged_for(STO_PRIORITY_LOW), 600 * write);
}
END_TEST

static uint64_t additions(void)
{
    return atomic_load(&(T)->schema->table->additions);
}

START_TEST(only_cells_that_are_added_are_additions_and_they_are_stored)
{
    struct sto_mutation swap[2] = {{.kind = STO_DELETE_FROM_ROW},
                                   fix_set(1, "p", 1000, SLICE_LIT("w"))};
    ck_assert_int_eq(fix_put(T, "a", "v"), ERR_OK);
    ck_assert_uint_eq(additions(), 1);
    ck_assert_int_eq(fix_put(T, "a", "w"), ERR_OK); /* in the place of the other one */
    ck_assert_int_eq(fix_mutate(T, "b", swap, 1), ERR_OK);
    ck_assert_uint_eq(additions(), 1);
    ck_assert_int_eq(fix_mutate(T, "a", swap, 2), ERR_OK); /* counts what it counted before */
    ck_assert_uint_eq(additions(), 2);
    fix_reopen();
    ck_assert_uint_eq(additions(), 2);
    ck_assert_int_eq(fix_put(T, "b", "v"), ERR_OK);
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){0}, 0, NULL), ERR_OK);
    ck_assert_uint_eq(additions(), 3);
    fix_reopen();
    ck_assert_uint_eq(additions(), 3);
    struct sto_mutation both[2] = {fix_set(1, "p", 1000, SLICE_LIT("v")),
                                   fix_set(1, "q", 1000, SLICE_LIT("v"))};
    ck_assert_int_eq(fix_mutate(T, "b", both, 2), ERR_OK);
    ck_assert_uint_eq(additions(), 5);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_sweep_takes_removed_families_and_spares_new_ones)
{
    struct sto_mutation set[2] = {fix_set(1, "q", 1000, SLICE_LIT("v")),
                                  fix_set(2, "q", 1000, SLICE_LIT("v"))};
    ck_assert_int_eq(fix_mutate(T, "row", set, 2), ERR_OK);
    struct sto_family_spec specs[2] = {{.name = SLICE_LIT("gg")}, {.name = SLICE_LIT("new")}};
    struct sto_schema *less = fix_schema("t", (T)->schema, specs, 1);
    struct sto_schema *more = fix_schema("t", less, specs, 2);
    struct sto_table_scope old = sto_table_scope_make(&fix.tenants[0], less);
    struct sto_table_scope new = sto_table_scope_make(&fix.tenants[0], more);
    struct sto_mutation fresh = fix_set(3, "q", 1000, SLICE_LIT("v"));
    ck_assert_int_eq(fix_mutate(&new, "row", &fresh, 1), ERR_OK);
    ck_assert_uint_eq(fix_sweep(&old).cells, 1); /* f; not what came after this schema */
    fix_assert_rows(&new, &(struct sto_read_spec){0}, "row{gg:q@1000=v,new:q@1000=v,}");
    fix_assert_no_drift(0);
    sto_table_scope_release(&old);
    sto_table_scope_release(&new);
    sto_schema_unref(less);
    sto_schema_unref(more);
}
END_TEST

/* --- readers look, the committer removes ------------------------------------------------------ */

static void sweep_begin(struct sto_drop_op *op)
{
    *op = (struct sto_drop_op){.scope = *T,
                               .expired_only = true,
                               .priority = STO_PRIORITY_BACKGROUND,
                               .reply_to = &fix.mailbox,
                               .done = fix_drop_done};
    fix.outstanding++;
    sto_drop_rows(fix.engine, op);
}

START_TEST(what_has_no_garbage_is_looked_at_without_the_committer)
{
    fix.gc[0] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = 3};
    fix_reopen();
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    struct sto_drop_op op;
    fix_hold_committer(0);
    sweep_begin(&op);
    fix_wait(); /* nobody else is waited for */
    ck_assert_int_eq(op.result, ERR_OK);
    ck_assert_uint_eq(op.steps, 2);
    fix_let_go();
}
END_TEST

static bool readers_have_looked(void *arg)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    (void)arg;
    return atomic_load(&sto_rdb_committer_of(e, &fix.accounts[0])->mailbox.head) != NULL;
}

/* It was behind a newer version when the readers saw it, and is the newest when it would go. */
START_TEST(what_is_no_garbage_any_more_is_spared)
{
    fix.gc[0] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = 1};
    fix_reopen();
    struct sto_mutation set[2] = {fix_set(1, "q", 2000, SLICE_LIT("new")),
                                  fix_set(1, "q", 1000, SLICE_LIT("old"))};
    ck_assert_int_eq(fix_mutate(T, "spared", set, 2), ERR_OK);
    ck_assert_int_eq(fix_mutate(T, "swept", set, 2), ERR_OK);
    struct sto_mutation delete = {.kind = STO_DELETE_FROM_COLUMN,
                                  .family = 1,
                                  .qualifier = SLICE_LIT("q"),
                                  .start_us = 2000,
                                  .end_us = 3000};
    struct sto_mutate_op user = {
        .scope = *T, .row_key = SLICE_LIT("spared"), .mutations = &delete, .mutation_count = 1};
    struct sto_drop_op op;
    fix_hold_committer(0);
    sweep_begin(&op);
    process_await(readers_have_looked, NULL, "what the readers found"); /* for the committer */
    fix_submit(&user);
    fix_let_go();
    ck_assert_int_eq(user.result, ERR_OK);
    ck_assert_int_eq(op.result, ERR_OK);
    ck_assert_uint_eq(op.removed.cells, 1);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "spared{f:q@1000=old,}swept{f:q@2000=new,}");
    fix_assert_no_drift(0);
}
END_TEST

/* Columns of one row, of which each loses cells in the same commit. */
START_TEST(columns_of_a_row_are_swept_together)
{
    enum { COLUMNS = 20, VERSIONS = 30 };
    fix.gc[0] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = 2};
    fix_reopen();
    static struct sto_mutation m[COLUMNS * VERSIONS];
    static char names[COLUMNS][8];
    for (int c = 0; c < COLUMNS; c++) {
        (void)snprintf(names[c], sizeof names[c], "c%02d", c);
        for (int v = 0; v < VERSIONS; v++)
            m[c * VERSIONS + v] = fix_set(1, names[c], (v + 1) * 1000, SLICE_LIT("v"));
    }
    ck_assert_int_eq(fix_mutate(T, "row", m, COLUMNS * VERSIONS), ERR_OK);
    ck_assert_uint_eq(fix_sweep(T).cells, COLUMNS * (VERSIONS - 2));
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).cells, COLUMNS * 2);
    fix_assert_no_drift(0);
    ck_assert_uint_eq(fix_sweep(T).cells, 0);
}
END_TEST

Suite *suite_storage_engine_sweep(void)
{
    Suite *s = suite_create("storage_engine_sweep");
    TCase *t = tcase_create("sweep");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_sweep_removes_what_no_read_shows);
    tcase_add_test(t, a_sweep_steps_over_a_long_column_that_stays);
    tcase_add_test(t, a_sweep_says_when_the_first_cell_it_left_is_too_old);
    tcase_add_test(t, a_sweep_in_the_tenants_own_turns_is_charged_to_it);
    tcase_add_test(t, a_sweep_takes_removed_families_and_spares_new_ones);
    tcase_add_test(t, what_has_no_garbage_is_looked_at_without_the_committer);
    tcase_add_test(t, columns_of_a_row_are_swept_together);
    suite_add_tcase(s, t);
    /* Additions of old rows count; and a write that reads from files comes later than a sweep. */
    t = tcase_create("alone");
    tcase_add_checked_fixture(t, fix_setup_alone, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, only_cells_that_are_added_are_additions_and_they_are_stored);
    tcase_add_test(t, what_is_no_garbage_any_more_is_spared);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/storage/test_engine_drop_range.c - a drop of many rows goes on as counted ranges, beside
 * whatever others do.
 *
 * A snapshot keeps what a range tombstone covers where it is, so that the keys that are still there
 * physically behind a drop are those that went as ranges.
 */
#include "fixture.h"

#include <pthread.h>

#include "tests/storage/changes.h"
#include "tests/storage/drop_world.h"
#include "tests/storage/hold.h"
#include "tests/support/process.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_engine_drop_range(void);

/* --- how it goes ------------------------------------------------------------------------------ */

START_TEST(a_large_drop_goes_as_ranges_exactly_counted)
{
    fill_world();
    struct sto_usage total = sto_counters_read(&fix.accounts[0].total);
    const rocksdb_snapshot_t *held = hold_bytes();
    struct sto_drop_op op = drop_prefix();
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    ck_assert_uint_eq(op.removed.rows, ROWS);
    ck_assert_uint_eq(op.removed.cells, 2 * ROWS);
    ck_assert_uint_eq(op.steps, 3 * ROWS + 3 * TAIL); /* the last ones were counted and left */
    fix_assert_usage(0, total.bytes - op.removed.bytes, total.rows - ROWS, total.cells - 2 * ROWS);
    ck_assert_uint_eq(physical_keys(T), 3 * (STRETCH + 2 * KEPT));
    ck_assert(note_is_there());
    world_check();
    let_bytes_go(held);
    fix_reopen();
    world_check();
}
END_TEST

/* Rows of the prefix, and how many of them go as ranges. */
START_TEST(only_what_is_more_than_the_limit_goes_as_ranges)
{
    static const int rows[4][2] = {
        {LIMIT / 2, 0}, {LIMIT / 2 + 1, 0}, {LIMIT - 1, 0}, {LIMIT, LIMIT / 2}};
    fill(T, PREFIX, SECRET, rows[_i][0]);
    fill(T, "kept", "kept", KEPT);
    const rocksdb_snapshot_t *held = hold_bytes();
    struct sto_drop_op op = drop_prefix();
    ck_assert_int_eq(op.result, ERR_OK);
    ck_assert_uint_eq(op.removed.rows, (uint64_t)rows[_i][0]);
    ck_assert_uint_eq(physical_keys(T), 3 * (uint64_t)(rows[_i][1] + KEPT));
    ck_assert_int_eq(note_is_there(), rows[_i][1] > 0);
    fix_assert_no_drift(0);
    let_bytes_go(held);
}
END_TEST

START_TEST(all_rows_of_a_table_go_as_ranges_too)
{
    fill_world();
    const rocksdb_snapshot_t *held = hold_bytes();
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){0}, 0, NULL), ERR_OK);
    ck_assert_uint_ge(physical_keys(T), 3 * STRETCH);
    ck_assert_uint_eq(table_rows(), 0);
    let_bytes_go(held);
    wait_until_idle();
    ck_assert_uint_eq(physical_keys(T), 0);
    neighbours_check();
}
END_TEST

static void fill_wide(int rows, size_t cells)
{
    enum { CELLS_MAX = 5000 };
    static struct sto_mutation m[CELLS_MAX];
    static char names[CELLS_MAX][16];
    ck_assert_uint_le(cells, CELLS_MAX);
    for (size_t i = 0; i < cells; i++) {
        (void)snprintf(names[i], sizeof names[i], "c%06zu", i);
        m[i] = fix_set(1, names[i], 1000, SLICE_LIT("v"));
    }
    for (int i = 0; i < rows; i++) {
        char row[32];
        (void)snprintf(row, sizeof row, PREFIX "-%02d", i);
        ck_assert_int_eq(fix_mutate(T, row, m, cells), ERR_OK);
    }
}

/* Points end in the middle of rows, stretches do not. */
START_TEST(rows_of_many_cells_go_whole)
{
    enum { CELLS = LIM_DROP_SLICE_CELLS + 900, WIDE = 4 };
    fill_wide(WIDE, CELLS);
    fill(T, "kept", "kept", KEPT);
    const rocksdb_snapshot_t *held = hold_bytes();
    struct sto_drop_op op = drop_prefix();
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    ck_assert_uint_eq(op.removed.rows, WIDE);
    ck_assert_uint_eq(op.removed.cells, WIDE * CELLS);
    ck_assert_uint_eq(physical_keys(T), (WIDE - 1) * (CELLS + 1) + 3 * KEPT);
    fix_assert_no_drift(0);
    let_bytes_go(held);
}
END_TEST

START_TEST(sweeps_and_drops_of_a_family_go_as_points)
{
    fix.gc[0] = (struct sto_gc_node){.kind = STO_GC_MAX_AGE, .max_age_us = 1000};
    fix_reopen();
    fill(T, PREFIX, SECRET, ROWS);
    const rocksdb_snapshot_t *held = hold_bytes();
    ck_assert_uint_eq(fix_sweep(T).cells, ROWS); /* f */
    struct sto_usage removed;
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){0}, 2, &removed), ERR_OK);
    ck_assert_uint_eq(removed.cells, ROWS);
    ck_assert_uint_eq(physical_keys(T), 0);
    ck_assert(!note_is_there());
    let_bytes_go(held);
}
END_TEST

/* --- writers beside it ------------------------------------------------------------------------ */

enum { WRITERS = 9, CALM = LIMIT / 2 + TAIL, CUT = LIMIT };

/* What is written while the first stretch (rows 50 to 249) is counted: in front of it, in it,
 * behind it, into nothing. When it was in it, LIMIT more cells go as points, a stretch of half as
 * many cells, and all the rest. */
START_TEST(what_others_write_meanwhile_is_counted)
{
    static const struct writer {
        const char *row;
        bool deletes;
        uint64_t left;   /* rows of the prefix behind the drop */
        uint64_t points; /* rows that did not go as ranges */
        uint64_t keys;   /* that were made and did not go as points */
    } writers[WRITERS] = {
        {PREFIX "-0000", false, 1, CALM, 2},    {PREFIX "-0050", false, 0, CUT, 0},
        {PREFIX "-0050", true, 0, CUT + 1, 0},  {PREFIX "-0100", false, 0, CUT, 1},
        {PREFIX "-0100-new", false, 0, CUT, 2}, {PREFIX "-0249", false, 0, CUT, 1},
        {PREFIX "-0250", false, 0, CALM, 1},    {PREFIX "-0100-none", true, 0, CALM, 0},
        {"kept-0001", false, 0, CALM, 1},
    };
    const struct writer *w = &writers[_i];
    fill_world();
    const rocksdb_snapshot_t *held = hold_bytes();
    struct sto_drop_op op;
    reader_stop();
    drop_begin(&op);
    wait_until_counting(1);
    ck_assert_int_eq(put_meanwhile(w->row, w->deletes), ERR_OK);
    const rocksdb_snapshot_t *held_too = hold_bytes(); /* that, when it is flushed */
    reader_go_on();
    fix_wait();
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    fix_assert_no_drift(0);
    ck_assert_uint_eq(table_rows(), 2 * KEPT + w->left);
    ck_assert_uint_eq(physical_keys(T), 3 * (ROWS - w->points + 2 * KEPT) + w->keys);
    let_bytes_go(held);
    let_bytes_go(held_too);
    wait_until_idle();
    ck_assert(!files_hold(fix.dir, SECRET));
    neighbours_check();
}
END_TEST

/* Half as long behind a write (rows 100 to 199, not to 299), then as before (200 to 399): a write
 * to row 250 is outside, then one to 350 inside. */
START_TEST(stretches_become_shorter_where_others_write_and_longer_again)
{
    static const char *const rows[3] = {PREFIX "-0100", PREFIX "-0250", PREFIX "-0350"};
    fill_world();
    const rocksdb_snapshot_t *held[4] = {hold_bytes()};
    struct sto_drop_op op;
    reader_stop();
    drop_begin(&op);
    for (int i = 0; i < 3; i++) {
        wait_until_counting(1);
        ck_assert_int_eq(put_meanwhile(rows[i], false), ERR_OK);
        held[i + 1] = hold_bytes();
        reader_count();
    }
    reader_go_on();
    fix_wait();
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    uint64_t points = CUT + LIMIT / 2;
    ck_assert_uint_eq(physical_keys(T), 3 * (ROWS - points + 2 * KEPT) + 3);
    for (int i = 0; i < 4; i++)
        let_bytes_go(held[i]);
    world_check();
}
END_TEST

/* A slice of the count, which begins behind the first row, ends in the middle of the last row: that
 * has one more cell when the next slice begins, or none. */
START_TEST(a_row_that_changes_between_slices_is_no_damage)
{
    enum { CELLS = 400, WIDE = LIM_SLICE_STEPS_SHARED / (CELLS + 1) + 2 };
    static char row[32];
    fill_wide(WIDE, CELLS);
    engine()->options.drop_stretch_cells = WIDE * CELLS;
    struct sto_drop_op op;
    reader_stop();
    drop_begin(&op);
    wait_until_counting(1);
    reader_count();
    (void)snprintf(row, sizeof row, PREFIX "-%02d", WIDE - 1);
    ck_assert_int_eq(put_meanwhile(row, _i == 1), ERR_OK);
    reader_go_on();
    fix_wait();
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    ck_assert_uint_eq(op.removed.rows, WIDE - (_i == 1));
    ck_assert_uint_eq(table_rows(), 0);
    fix_assert_no_drift(0);
}
END_TEST

/* Behind the readers, in front of the task that writes. */
START_TEST(what_is_written_behind_the_count_is_seen_too)
{
    fill_world();
    /* Else its blocks would come behind the task. */
    sto_rocksdb_test_prefetch(fix.engine, STO_PREFETCH_NEVER);
    const rocksdb_snapshot_t *held = hold_bytes();
    struct sto_drop_op op;
    struct sto_mutation m = fix_set(1, "q", 1000, SLICE_LIT("late"));
    struct sto_mutate_op late = {
        .scope = *T, .row_key = SLICE_LIT(PREFIX "-0100"), .mutations = &m, .mutation_count = 1};
    reader_stop();
    drop_begin(&op);
    wait_until_counting(1);
    fix_hold_committer(0);
    fix_submit(&late);
    reader_count();
    reader_go_on();
    fix_let_go();
    ck_assert_int_eq(late.result, ERR_OK);
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    fix_assert_no_drift(0);
    ck_assert_uint_eq(table_rows(), 2 * KEPT);
    uint64_t keys = physical_keys(T); /* without the late one if it was flushed */
    ck_assert(keys - 3 * (ROWS - CUT + 2 * KEPT) <= 1);
    let_bytes_go(held);
}
END_TEST

/* Both count the same rows; only one of them may take them off the counters. */
START_TEST(two_drops_of_the_same_rows_count_them_once)
{
    fill_world();
    engine()->options.drop_range_cells = 0;
    struct sto_drop_op ops[2];
    reader_stop();
    drop_begin(&ops[0]);
    drop_begin(&ops[1]);
    wait_until_counting(2);
    reader_go_on();
    fix_wait();
    for (int i = 0; i < 2; i++)
        ck_assert_msg(ops[i].result == ERR_OK, "%s", ops[i].detail.text);
    ck_assert_uint_eq(ops[0].removed.rows + ops[1].removed.rows, ROWS);
    ck_assert_uint_eq(ops[0].removed.cells + ops[1].removed.cells, 2 * ROWS);
    world_check();
}
END_TEST

/* --- change streams --------------------------------------------------------------------------- */

static size_t changes_told(void)
{
    struct change_reader r;
    change_open(&r, T);
    change_read(&r);
    size_t count = r.changes;
    change_close(&r);
    return count;
}

START_TEST(a_change_stream_is_told_of_each_row)
{
    changes_set(T, RETENTION_S);
    fill(T, PREFIX, SECRET, ROWS);
    const rocksdb_snapshot_t *held = hold_bytes();
    ck_assert_int_eq(drop_prefix().result, ERR_OK);
    ck_assert_uint_eq(physical_keys(T), 0); /* as points */
    ck_assert(!note_is_there());
    ck_assert_uint_eq(changes_told(), 2 * ROWS); /* written, dropped */
    fix_assert_no_drift(0);
    let_bytes_go(held);
}
END_TEST

START_TEST(a_change_stream_that_begins_meanwhile_is_told_of_the_rest)
{
    fill(T, PREFIX, SECRET, ROWS);
    const rocksdb_snapshot_t *held = hold_bytes();
    struct sto_drop_op op;
    reader_stop();
    drop_begin(&op);
    wait_until_counting(1);
    struct sto_table_scope mine = sto_table_scope_make(&fix.tenants[0], fix.tables[0][0].schema);
    changes_set(T, RETENTION_S);
    reader_go_on();
    fix_wait();
    sto_table_scope_release(&mine);
    ck_assert_int_eq(op.result, ERR_OK);
    ck_assert_uint_eq(physical_keys(T), 0);
    ck_assert_uint_eq(changes_told(), ROWS - LIMIT / 2);
    fix_assert_no_drift(0);
    let_bytes_go(held);
}
END_TEST

/* --- ending ----------------------------------------------------------------------------------- */

enum { ENDINGS = 5 };
static enum err end_it(int which)
{
    struct sto_account *account = &fix.accounts[0];
    switch (which) {
    case 0:
        atomic_store(&fix.tables[0][0].schema->table->forgotten, true);
        return ERR_NOT_FOUND;
    case 1:
        atomic_store(&account->gate, STO_GATE_NO_WRITES);
        return ERR_SUSPENDED;
    case 2:
        atomic_store(&account->gate, STO_GATE_GONE);
        return ERR_GONE;
    case 3:
        atomic_store(&drop_stop, true);
        return ERR_CANCELLED;
    default:
        sto_rdb_fail_text(engine(), "the test says so");
        return ERR_UNAVAILABLE;
    }
}

/* What it did not do is left; whoever ends it before it counts, or between that and the commit. */
START_TEST(what_ends_a_drop_ends_it_while_it_counts)
{
    int which = _i / 2;
    bool is_counted = _i % 2 == 1;
    fill_world();
    struct sto_drop_op op;
    reader_stop();
    drop_begin(&op);
    wait_until_counting(1);
    if (is_counted) {
        fix_hold_committer(0);
        reader_count();
    }
    enum err wanted = end_it(which);
    reader_go_on();
    fix_let_go();
    ck_assert_int_eq(op.result, wanted);
    ck_assert_uint_eq(op.removed.rows, LIMIT / 2);
    atomic_store(&drop_stop, false);
    fix_reopen();
    ck_assert_uint_eq(table_rows(), ROWS - LIMIT / 2 + 2 * KEPT);
    neighbours_check();
    ck_assert_int_eq(drop_prefix().result, ERR_OK);
    world_check();
}
END_TEST

static void *let_reader_go_soon(void *arg)
{
    (void)arg;
    fix_await_flag(&engine()->closing, "the end of the engine");
    reader_go_on();
    return NULL;
}

/* One stretch is written, the next one waits for a reader. */
START_TEST(closing_ends_a_drop_that_counts)
{
    fill_world();
    struct sto_drop_op op;
    pthread_t thread;
    reader_stop();
    drop_begin(&op);
    wait_until_counting(1);
    reader_count();
    wait_until_counting(1);
    ck_assert_int_eq(pthread_create(&thread, NULL, let_reader_go_soon, NULL), 0);
    sto_engine_close(fix.engine);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_UNAVAILABLE);
    ck_assert_uint_eq(op.removed.rows, LIMIT / 2 + STRETCH / 2);
    fix_scopes_drop();
    fix_open();
    ck_assert_uint_eq(table_rows(), ROWS - op.removed.rows + 2 * KEPT);
    neighbours_check();
    wait_until_idle(); /* what went is given back at the next open */
    ck_assert_uint_eq(physical_keys(T), 3 * table_rows());
}
END_TEST

/* --- random ----------------------------------------------------------------------------------- */

enum { ROUNDS = 60, KEYS = 250, WRITES = 300 };

static struct random dice = {.state = 20261121};

static void write_somewhere(struct sto_mutate_op *op, struct sto_mutation *m, char row[64])
{
    static const char *const qualifiers[] = {"a", "b", "c", "d"};
    (void)snprintf(row, 64, PREFIX "-%04u", random_below(&dice, KEYS));
    *m = fix_set((uint16_t)(1 + random_below(&dice, 2)), qualifiers[random_below(&dice, 4)],
                 1000 * (1 + random_below(&dice, 2)), SLICE_LIT("anything"));
    if (random_below(&dice, 5) == 0)
        *m = (struct sto_mutation){.kind = STO_DELETE_FROM_ROW};
    *op = (struct sto_mutate_op){
        .scope = *T, .row_key = base_slice_text(row), .mutations = m, .mutation_count = 1};
    fix_submit(op);
}

static void write_many(size_t count)
{
    static struct sto_mutate_op ops[WRITES];
    static struct sto_mutation mutations[WRITES];
    static char rows[WRITES][64];
    for (size_t i = 0; i < count; i++) {
        write_somewhere(&ops[i], &mutations[i], rows[i]);
        if (random_below(&dice, 20) == 0)
            (void)usleep(200);
    }
}

/* Limits of any size, two drops beside each other and beside writers. */
START_TEST(random_drops_beside_writers_count_exactly)
{
    fill(T, "kept", "kept", KEPT);
    fill(T, "zz", "kept", KEPT);
    fill(&fix.tables[1][0], PREFIX, "kept", KEPT);
    for (long round = process_rounds(ROUNDS); round > 0; round--) {
        engine()->options.drop_range_cells = random_below(&dice, 60);
        engine()->options.drop_stretch_cells = 1 + random_below(&dice, 300);
        write_many(WRITES);
        fix_wait();
        struct sto_drop_op ops[2];
        drop_begin(&ops[0]);
        write_many(random_below(&dice, WRITES));
        if (round % 2 == 0)
            drop_begin(&ops[1]);
        fix_wait();
        ck_assert_msg(ops[0].result == ERR_OK, "%s", ops[0].detail.text);
        fix_assert_no_drift(0);
        struct sto_drop_op last = drop_prefix();
        ck_assert_msg(last.result == ERR_OK, "%s", last.detail.text);
        fix_assert_no_drift(0);
        ck_assert_uint_eq(table_rows(), 2 * KEPT);
    }
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[1].total).rows, KEPT);
    fix_assert_no_drift(1);
}
END_TEST

Suite *suite_storage_engine_drop_range(void)
{
    Suite *s = suite_create("storage_engine_drop_range");
    TCase *t = tcase_create("range");
    tcase_add_checked_fixture(t, world_setup, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_large_drop_goes_as_ranges_exactly_counted);
    tcase_add_loop_test(t, only_what_is_more_than_the_limit_goes_as_ranges, 0, 4);
    tcase_add_test(t, all_rows_of_a_table_go_as_ranges_too);
    tcase_add_test(t, rows_of_many_cells_go_whole);
    tcase_add_test(t, sweeps_and_drops_of_a_family_go_as_points);
    tcase_add_loop_test(t, what_others_write_meanwhile_is_counted, 0, WRITERS);
    tcase_add_test(t, stretches_become_shorter_where_others_write_and_longer_again);
    tcase_add_loop_test(t, a_row_that_changes_between_slices_is_no_damage, 0, 2);
    tcase_add_test(t, what_is_written_behind_the_count_is_seen_too);
    tcase_add_test(t, two_drops_of_the_same_rows_count_them_once);
    tcase_add_test(t, a_change_stream_is_told_of_each_row);
    tcase_add_test(t, a_change_stream_that_begins_meanwhile_is_told_of_the_rest);
    tcase_add_loop_test(t, what_ends_a_drop_ends_it_while_it_counts, 0, 2 * ENDINGS);
    tcase_add_test(t, closing_ends_a_drop_that_counts);
    tcase_add_test(t, random_drops_beside_writers_count_exactly);
    suite_add_tcase(s, t);
    t = tcase_create("sealed");
    tcase_add_checked_fixture(t, world_setup_sealed, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_large_drop_goes_as_ranges_exactly_counted);
    tcase_add_loop_test(t, what_others_write_meanwhile_is_counted, 0, WRITERS);
    suite_add_tcase(s, t);
    return s;
}

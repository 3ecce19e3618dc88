/*
 * tests/storage/test_engine_drop_table.c - a table of many cells goes as one range.
 *
 * RocksDB's background threads do not survive a fork, so the tests that kill open no engine in
 * their own process: one child removes and dies, another one looks.
 * Over 500 lines because all of it looks at one small world with the same helpers.
 */
#include "fixture.h"

#include <sys/wait.h>

#include "tests/storage/drops.h"

#include "base/banned.h"

Suite *suite_storage_engine_drop_table(void);

#define T     &fix.tables[0][0]
#define OTHER &fix.tables[0][1]

enum { ROWS = 600, LIMIT = 100, DAMAGED_NOTES = 14 };
#define SECRET "secret-93ab1f"

/* Of everybody, so that files hold neighbours together. */
static void fill_all(void)
{
    fill(T, SECRET, SECRET, ROWS);
    fill_neighbours();
}

static void drop_begin(struct sto_drop_op *op)
{
    atomic_store(&fix.tables[0][0].schema->table->forgotten, true);
    *op = (struct sto_drop_op){.scope = *T,
                               .ignore_gate = true,
                               .table_ends = true,
                               .reply_to = &fix.mailbox,
                               .done = fix_drop_done};
    fix.outstanding++;
    sto_drop_rows(fix.engine, op);
}

static struct sto_drop_op drop_all(void)
{
    return fix_drop_table(T);
}

static enum err forget(void)
{
    return sto_table_forget(fix.engine, T, NULL, 0, NULL);
}

/* T is another table of the same name from here on. */
static void make_anew(void)
{
    struct sto_family_spec families[2] = {{.name = SLICE_LIT("f")}, {.name = SLICE_LIT("gg")}};
    struct sto_schema *schema = fix_schema("t", NULL, families, 2);
    sto_table_scope_release(T);
    fix.tables[0][0] = sto_table_scope_make(&fix.tenants[0], schema);
    sto_schema_unref(schema);
    ck_assert_int_eq(sto_counters_load(fix.engine, T, NULL), ERR_OK);
}

static void setup(void)
{
    fix_prepare_beside(); /* all stored keys of the table are counted */
    fix.options.drop_range_cells = LIMIT;
    fix_open();
}

static void setup_sealed(void)
{
    fix.sealed = true;
    setup();
}

/* --- removing --------------------------------------------------------------------------------- */

START_TEST(a_large_table_goes_whole_and_its_bytes_leave_the_files)
{
    fill_all();
    struct sto_usage total = sto_counters_read(&fix.accounts[0].total);
    struct sto_usage table = sto_counters_read(&fix.tables[0][0].schema->table->counters);
    struct sto_drop_op op = drop_all();
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    ck_assert_uint_eq(op.removed.rows, ROWS);
    ck_assert_uint_eq(op.removed.cells, 2 * ROWS);
    ck_assert_uint_eq(op.removed.bytes, table.bytes);
    ck_assert_uint_eq(op.steps, 3 * ROWS);
    fix_assert_usage(0, total.bytes - table.bytes, total.rows - ROWS, total.cells - 2 * ROWS);
    ck_assert_int_eq(forget(), ERR_OK);
    wait_until_idle();
    ck_assert_uint_eq(physical_keys(T), 0);
    ck_assert(!note_is_there());
    ck_assert(!files_hold(fix.dir, SECRET)); /* logs, tables, MANIFEST: while it is in service */
    neighbours_check();
    fix_reopen();
    neighbours_check();
    ck_assert_uint_eq(sto_counters_read(&fix.tables[0][0].schema->table->counters).rows, 0);
}
END_TEST

START_TEST(only_more_cells_than_the_limit_go_as_a_range)
{
    int rows = LIMIT / 2 + _i; /* 0: as many cells as the limit */
    fill(T, SECRET, SECRET, rows);
    const rocksdb_snapshot_t *held = hold_bytes();
    struct sto_drop_op op = drop_all();
    ck_assert_int_eq(op.result, ERR_OK);
    ck_assert_uint_eq(op.removed.cells, 2 * (uint64_t)rows);
    ck_assert_int_eq(note_is_there(), _i > 0);
    ck_assert_uint_eq(physical_keys(T), _i > 0 ? 3 * (uint64_t)rows : 0);
    fix_assert_usage(0, 0, 0, 0);
    fix_assert_no_drift(0);
    let_bytes_go(held);
}
END_TEST

START_TEST(the_limits_are_the_published_ones)
{
    fix.options.drop_range_cells = 0;
    fix.options.drop_stretch_cells = 0;
    fix_reopen();
    ck_assert_uint_eq(engine()->options.drop_range_cells, LIM_DROP_RANGE_CELLS);
    ck_assert_uint_eq(engine()->options.drop_stretch_cells, LIM_DROP_STRETCH_CELLS);
}
END_TEST

START_TEST(a_row_of_several_slices_is_counted_once)
{
    enum { CELLS = LIM_SLICE_STEPS_SHARED + 100 };
    static struct sto_mutation m[CELLS];
    static char names[CELLS][16];
    for (size_t i = 0; i < CELLS; i++) {
        (void)snprintf(names[i], sizeof names[i], "c%06zu", i);
        m[i] = fix_set(1, names[i], 1000, SLICE_LIT("v"));
    }
    ck_assert_int_eq(fix_mutate(T, "huge", m, CELLS), ERR_OK);
    ck_assert_int_eq(fix_put(T, "next", "v"), ERR_OK);
    struct sto_drop_op op = drop_all();
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    ck_assert_uint_eq(op.removed.rows, 2);
    ck_assert_uint_eq(op.removed.cells, CELLS + 1);
    fix_assert_usage(0, 0, 0, 0);
}
END_TEST

START_TEST(a_table_made_anew_keeps_its_rows)
{
    fill_all();
    const rocksdb_snapshot_t *held = hold_bytes();
    ck_assert_int_eq(drop_all().result, ERR_OK);
    ck_assert_int_eq(forget(), ERR_OK);
    make_anew();
    char first[64];
    (void)snprintf(first, sizeof first, "%s-%04d", SECRET, 0);
    ck_assert_int_eq(fix_put(T, first, "new"), ERR_OK); /* a row that the old one had, too */
    struct sto_usage u = sto_counters_read(&fix.tables[0][0].schema->table->counters);
    ck_assert_uint_eq(u.rows, 1);
    ck_assert_uint_eq(u.cells, 1);
    let_bytes_go(held);
    wait_until_idle();
    char wanted[128];
    (void)snprintf(wanted, sizeof wanted, "%s{f:q@1000=new,}", first);
    fix_assert_rows(T, &(struct sto_read_spec){0}, wanted);
    ck_assert_uint_eq(physical_keys(T), 2);
    neighbours_check();
}
END_TEST

/* The newer removal's note stays until its own bytes are gone. */
START_TEST(a_table_that_is_removed_twice_is_gone_twice)
{
    fill(T, SECRET, SECRET, ROWS);
    const rocksdb_snapshot_t *held = hold_bytes();
    ck_assert_int_eq(drop_all().result, ERR_OK);
    ck_assert_int_eq(forget(), ERR_OK);
    make_anew();
    fill(T, SECRET, SECRET, ROWS);
    ck_assert_int_eq(drop_all().result, ERR_OK);
    ck_assert_int_eq(forget(), ERR_OK);
    let_bytes_go(held);
    wait_until_idle();
    ck_assert_uint_eq(physical_keys(T), 0);
    ck_assert(!files_hold(fix.dir, SECRET));
    fix_assert_usage(0, 0, 0, 0);
}
END_TEST

START_TEST(what_writes_and_drops_the_rows_of_a_table_that_ends_is_refused)
{
    fill(T, SECRET, SECRET, ROWS);
    struct sto_read_op scan = {.scope = *T};
    struct fix_sink s;
    fix_sink_init(&s);
    s.full_bytes = 100;
    fix_slice(&scan, &s, false);
    ck_assert_int_eq(scan.state, STO_READ_MORE);
    struct sto_drop_op op;
    drop_begin(&op);
    ck_assert_int_eq(fix_put(T, "late", "v"), ERR_NOT_FOUND);
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){0}, 0, NULL), ERR_NOT_FOUND);
    fix_slice(&scan, &s, false);
    ck_assert_int_eq(scan.state, STO_READ_FAILED);
    ck_assert_int_eq(scan.result, ERR_NOT_FOUND);
    sto_read_finish(fix.engine, &scan);
    base_buf_fini(&s.text);
    ck_assert_int_eq(op.result, ERR_OK);
    ck_assert_uint_eq(op.removed.rows, ROWS);
    fix_assert_usage(0, 0, 0, 0);
}
END_TEST

/* One that began before: its slices end with the one under way. */
START_TEST(a_drop_under_way_ends_when_the_table_does)
{
    fill(T, SECRET, SECRET, ROWS);
    struct sto_drop_op user = {.scope = *T,
                               .range = {.end = SLICE_LIT(SECRET "-0030")},
                               .reply_to = &fix.mailbox,
                               .done = fix_drop_done};
    fix.outstanding++;
    sto_drop_rows(fix.engine, &user);
    fix_wait();
    ck_assert_int_eq(user.result, ERR_OK);
    ck_assert_uint_eq(user.removed.rows, 30);
    struct sto_drop_op op = drop_all();
    ck_assert_int_eq(op.result, ERR_OK);
    ck_assert_uint_eq(op.removed.rows, ROWS - 30);
    fix.outstanding++;
    sto_drop_rows(fix.engine, &user);
    fix_wait();
    ck_assert_int_eq(user.result, ERR_NOT_FOUND);
}
END_TEST

/* --- refusing --------------------------------------------------------------------------------- */

static void store_cell(const char *key, size_t key_len, const char *value, size_t value_len)
{
    char *error = NULL;
    rocksdb_put_cf(engine()->db.handle, engine()->db.synced, engine()->db.cells, key, key_len,
                   value, value_len, &error);
    ck_assert_ptr_null(error);
}

START_TEST(rows_that_nobody_counted_stop_the_removal)
{
    fill(T, "a", "a", 100);
    struct sto_usage before = sto_counters_read(&fix.accounts[0].total);
    store_cell("ab#t#c\0\1\0\0", 10, "\1\1\14", 3);
    store_cell("ab#t#c\0\1\0\1q\0\1\377\377\377\377\377\377\374\27", 21, "\1\1v", 3);
    struct sto_drop_op op = drop_all();
    ck_assert_int_eq(op.result, ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(op.detail.text, "100 rows"));
    ck_assert_ptr_nonnull(strstr(op.detail.text, "101"));
    ck_assert_uint_eq(op.removed.rows, 0);
    fix_assert_usage(0, before.bytes, before.rows, before.cells);
    ck_assert_uint_eq(physical_keys(T), 302);
    ck_assert(!note_is_there());
    ck_assert_int_eq(forget(), ERR_CONFLICT);
}
END_TEST

START_TEST(a_header_that_lies_stops_the_removal)
{
    fill(T, "a", "a", 100);
    store_cell("ab#t#a-0042\0\1\0\0", 15, "\1\3\77", 3);
    struct sto_drop_op op = drop_all();
    ck_assert_int_eq(op.result, ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(op.detail.text, "header"));
    ck_assert_uint_eq(physical_keys(T), 300);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).rows, 100);
    ck_assert_int_eq(fix_put(OTHER, "row", "others go on"), ERR_OK);
}
END_TEST

START_TEST(a_passed_deadline_changes_nothing)
{
    fill(T, "a", "a", 100);
    struct sto_drop_op op = {.scope = *T,
                             .ignore_gate = true,
                             .table_ends = true,
                             .deadline_ns = 1,
                             .reply_to = &fix.mailbox,
                             .done = fix_drop_done};
    atomic_store(&fix.tables[0][0].schema->table->forgotten, true);
    fix.outstanding++;
    sto_drop_rows(fix.engine, &op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_TIMEOUT);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).rows, 100);
    ck_assert_uint_eq(physical_keys(T), 300);
}
END_TEST

START_TEST(a_failed_commit_leaves_rows_and_counters)
{
    fill_all();
    sto_rocksdb_test_fail_commit(fix.engine, 1);
    struct sto_drop_op op = drop_all();
    ck_assert_int_eq(op.result, ERR_OUTCOME_UNKNOWN);
    fix_reopen();
    ck_assert_uint_eq(sto_counters_read(&fix.tables[0][0].schema->table->counters).rows, ROWS);
    neighbours_check();
}
END_TEST

/* The operation is answered, whichever of both is first. */
START_TEST(closing_ends_a_removal_under_way)
{
    fill(T, SECRET, SECRET, ROWS);
    struct sto_drop_op op;
    drop_begin(&op);
    sto_engine_close(fix.engine);
    fix_wait();
    ck_assert(op.result == ERR_UNAVAILABLE || op.result == ERR_OK);
    fix_scopes_drop();
    fix_open();
    uint64_t left = sto_counters_read(&fix.accounts[0].total).rows; /* it goes part by part */
    ck_assert_uint_eq(left + op.removed.rows, ROWS);
    ck_assert(op.result != ERR_OK || left == 0);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_removal_that_is_told_to_end_changes_nothing)
{
    const _Atomic bool stop = true;
    fill(T, SECRET, SECRET, ROWS);
    atomic_store(&fix.tables[0][0].schema->table->forgotten, true);
    for (int i = 0; i < 2; i++) {
        engine()->options.drop_range_cells = i == 0 ? LIMIT : LIM_DROP_RANGE_CELLS; /* both ways */
        struct sto_drop_op op = {.scope = *T,
                                 .ignore_gate = true,
                                 .table_ends = true,
                                 .stop = &stop,
                                 .reply_to = &fix.mailbox,
                                 .done = fix_drop_done};
        fix.outstanding++;
        sto_drop_rows(fix.engine, &op);
        fix_wait();
        ck_assert_int_eq(op.result, ERR_CANCELLED);
        ck_assert_uint_eq(op.removed.rows, 0);
        ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).rows, ROWS);
    }
    fix_assert_no_drift(0);
}
END_TEST

/* Names of no table; values cut, or with bounds that are none. */
START_TEST(a_damaged_note_stops_the_engine)
{
    static const struct damage {
        const char *key;
        struct slice value;
    } damages[DAMAGED_NOTES] = {
        {"r/ab", SLICE_LIT("12345678")},
        {"r/ab/t#x", SLICE_LIT("12345678")},
        {"r/A/t", SLICE_LIT("12345678")},
        {"r/ab/t", SLICE_LIT("1234567")},
        {"r/ab/t", SLICE_LIT("12345678\0")},
        {"r/ab/t", SLICE_LIT("12345678\0\4b\0\1")},
        {"r/ab/t", SLICE_LIT("12345678\0\3b\0\1b\0\1")},
        {"r/ab/t", SLICE_LIT("12345678\0\3b\0\1a\0\1")},
        {"d/ab", SLICE_LIT("1234567887654321")},
        {"d/ab/t", SLICE_LIT("1234567887654321")},
        {"d/ab/t#x/", SLICE_LIT("1234567887654321")},
        {"d/ab/t/", SLICE_LIT("123456788765432")},
        {"d/ab/t/", SLICE_LIT("12345678\xff"
                              "7654321")},
        {"d/ab/t/b", SLICE_LIT("1234567887654321b")},
    };
    const struct damage *d = &damages[_i];
    char *error = NULL;
    rocksdb_put_cf(engine()->db.handle, engine()->db.synced, engine()->db.meta, d->key,
                   strlen(d->key), (const char *)d->value.ptr, d->value.len, &error);
    ck_assert_ptr_null(error);
    sto_rdb_reclaim_wake(&engine()->reclaim);
    fix_await_failure();
}
END_TEST

/* --- beside a purge -----------------------------------------------------------------------------
 */

START_TEST(a_purge_takes_a_removed_table_and_its_note)
{
    fill_all();
    const rocksdb_snapshot_t *held = hold_bytes();
    ck_assert_int_eq(drop_all().result, ERR_OK);
    ck_assert_int_eq(forget(), ERR_OK);
    ck_assert(note_is_there());
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    purge(STO_PURGE_FENCE, STO_PURGE_COMPACT);
    ck_assert(!note_is_there());
    let_bytes_go(held);
    purge(STO_PURGE_COMPACT, STO_PURGE_STEP_COUNT);
    wait_until_idle();
    struct sto_search_target target = {.scope = &fix.tenants[0]};
    struct sto_search_spec spec = {0};
    struct sto_audit audit;
    ck_assert_int_eq(sto_search_files(fix.engine, &target, 1, &spec, NULL), ERR_OK);
    ck_assert_uint_eq(target.found.keys, 0);
    ck_assert_uint_eq(target.found.obsolete, 0);
    ck_assert_int_eq(sto_audit_range(fix.engine, &fix.tenants[0], &audit, NULL), ERR_OK);
    ck_assert_uint_eq(audit.physical_keys, 0);
    ck_assert_uint_eq(audit.counters, 0);
    ck_assert(!files_hold(fix.dir, SECRET));
    for (size_t n = 1; n < FIX_TENANTS; n++)
        fix_assert_no_drift(n);
}
END_TEST

/* --- kill -9 ------------------------------------------------------------------------------------
 */

static _Noreturn void child_remove(enum sto_die_point point)
{
    fix.options.drop_range_cells = LIMIT;
    fix_open();
    fill_all();
    sto_rocksdb_test_die_at(fix.engine, point);
    if (drop_all().result != ERR_OK)
        _exit(1);
    fix_wait_for_death();
}

static _Noreturn void child_look(enum sto_die_point died_at)
{
    fix.options.drop_range_cells = LIMIT;
    fix_open();
    bool has_rows = died_at == STO_DIE_COUNTED;
    struct sto_usage left = sto_counters_read(&fix.tables[0][0].schema->table->counters);
    ck_assert_uint_eq(left.rows, has_rows ? ROWS : 0);
    neighbours_check();
    struct sto_drop_op op = drop_all(); /* what tenancy does with every table that is deleting */
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    ck_assert_uint_eq(op.removed.rows, has_rows ? ROWS : 0);
    ck_assert_int_eq(forget(), ERR_OK);
    wait_until_idle();
    ck_assert_uint_eq(physical_keys(T), 0);
    ck_assert(!note_is_there());
    ck_assert(!files_hold(fix.dir, SECRET));
    neighbours_check();
    fix_close();
    _exit(0);
}

START_TEST(a_removal_goes_on_after_kill_9_behind_each_step)
{
    enum sto_die_point point = (enum sto_die_point)_i;
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        child_remove(point);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 137, "the removal ended with %d",
                  status);
    child = fork();
    if (child == 0)
        child_look(point);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the look ended with %d", status);
}
END_TEST

Suite *suite_storage_engine_drop_table(void)
{
    Suite *s = suite_create("storage_engine_drop_table");
    TCase *t = tcase_create("table");
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_large_table_goes_whole_and_its_bytes_leave_the_files);
    tcase_add_loop_test(t, only_more_cells_than_the_limit_go_as_a_range, -1, 2);
    tcase_add_test(t, the_limits_are_the_published_ones);
    tcase_add_test(t, a_row_of_several_slices_is_counted_once);
    tcase_add_test(t, a_table_made_anew_keeps_its_rows);
    tcase_add_test(t, a_table_that_is_removed_twice_is_gone_twice);
    tcase_add_test(t, what_writes_and_drops_the_rows_of_a_table_that_ends_is_refused);
    tcase_add_test(t, a_drop_under_way_ends_when_the_table_does);
    tcase_add_test(t, rows_that_nobody_counted_stop_the_removal);
    tcase_add_test(t, a_header_that_lies_stops_the_removal);
    tcase_add_test(t, a_passed_deadline_changes_nothing);
    tcase_add_test(t, a_failed_commit_leaves_rows_and_counters);
    tcase_add_test(t, closing_ends_a_removal_under_way);
    tcase_add_test(t, a_removal_that_is_told_to_end_changes_nothing);
    tcase_add_loop_test(t, a_damaged_note_stops_the_engine, 0, DAMAGED_NOTES);
    tcase_add_test(t, a_purge_takes_a_removed_table_and_its_note);
    suite_add_tcase(s, t);
    t = tcase_create("sealed");
    tcase_add_checked_fixture(t, setup_sealed, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_large_table_goes_whole_and_its_bytes_leave_the_files);
    suite_add_tcase(s, t);
    t = tcase_create("killed");
    tcase_add_checked_fixture(t, fix_prepare_beside, teardown_closed); /* counts as well */
    tcase_set_timeout(t, 180);
    tcase_add_loop_test(t, a_removal_goes_on_after_kill_9_behind_each_step, STO_DIE_COUNTED,
                        STO_DIE_POINTS);
    suite_add_tcase(s, t);
    return s;
}

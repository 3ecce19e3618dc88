/*
 * tests/storage/test_engine_notes.c - notes of drops, and when the bytes of small ones leave.
 *
 * RocksDB's background threads do not survive a fork, so the test that kills opens no engine in its
 * own process.
 */
#include "fixture.h"

#include <sys/wait.h>

#include "base/clock.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/reclaim_note.h"
#include "tests/storage/drop_world.h"
#include "tests/support/wall.h"

#include "base/banned.h"

Suite *suite_storage_engine_notes(void);

enum { SOON_S = 1, LATE_S = 3600, FEW = LIMIT / 4, LONG_KEYS = 80 };

static void soon_setup(void)
{
    fix_prepare_beside(); /* all stored keys of the table are counted */
    world_options();
    fix.options.reclaim_after_s = SOON_S;
    fix_open();
}

static void late_setup(void)
{
    fix_prepare_beside(); /* all stored keys of the table are counted */
    world_options();
    fix.options.reclaim_after_s = LATE_S;
    fix_open();
}

/* --- notes ------------------------------------------------------------------------------------ */

static void note_put(const char *key, const void *value, size_t len)
{
    char *error = NULL;
    rocksdb_put_cf(engine()->db.handle, engine()->db.synced, engine()->db.meta, key, strlen(key),
                   value, len, &error);
    ck_assert_ptr_null(error);
}

/* Of T, behind or before now. */
static void note_put_due(const char *key, int64_t due_us)
{
    uint8_t value[16] = {0};
    sto_put_be64(value + 8, (uint64_t)due_us);
    note_put(key, value, sizeof value);
}

/* The n-th one: row keys in front of which its bounds lie; NULL: the table's own. */
static void note_check(size_t n, const char *lower, const char *upper)
{
    static struct rdb_note note;
    struct sto_range table = sto_range_of_table(T);
    uint8_t key[STO_KEY_ROW_MAX];
    struct rdb_notes notes;
    size_t position = 0;
    ck_assert_int_eq(sto_rdb_notes_read(engine(), true, &notes), ERR_OK);
    for (size_t i = 0; i <= n; i++)
        ck_assert(sto_rdb_notes_next(&notes, &position, &note));
    struct slice wanted = sto_range_begin(&table);
    if (lower != NULL)
        wanted = base_slice(key, sto_key_row(T, base_slice_text(lower), key));
    ck_assert(base_slice_equal(base_slice(note.bounds.lower, note.bounds.lower_len), wanted));
    wanted = sto_range_end(&table);
    if (upper != NULL)
        wanted = base_slice(key, sto_key_row(T, base_slice_text(upper), key));
    ck_assert(base_slice_equal(base_slice(note.bounds.upper, note.bounds.upper_len), wanted));
    sto_rdb_notes_fini(&notes);
}

static void drop_rows(const char *from, const char *to)
{
    struct sto_row_range range = {.start = base_slice_text(from), .end = base_slice_text(to)};
    ck_assert_int_eq(fix_drop(T, range, 0, NULL), ERR_OK);
}

static size_t notes_count(void)
{
    struct rdb_notes_due due = notes_due();
    return due.now + due.later;
}

START_TEST(drops_that_begin_at_one_row_have_one_note)
{
    fill(T, "b", SECRET, 2 * LIMIT);
    fill(T, "d", SECRET, 2 * LIMIT);
    const rocksdb_snapshot_t *held = hold_bytes();
    drop_rows("b", "e");
    note_check(0, "b", "e");
    fill(T, "b", SECRET, 2 * LIMIT);
    drop_rows("b", "c");
    note_check(0, "b", "e");
    drop_rows("b", "");
    ck_assert_uint_eq(notes_count(), 1); /* there was nothing to drop */
    fill(T, "f", SECRET, 2 * LIMIT);
    drop_rows("b", "");
    note_check(0, "b", NULL);
    ck_assert_uint_eq(notes_count(), 1);
    let_bytes_go(held);
    wait_until_idle();
    ck_assert(!files_hold(fix.dir, SECRET));
    ck_assert_uint_eq(physical_keys(T), 0);
}
END_TEST

START_TEST(drops_far_apart_have_notes_of_their_own)
{
    fill(T, "b", SECRET, 2 * LIMIT);
    fill(T, "d", "kept", 2 * LIMIT);
    fill(T, "f", SECRET, 2 * LIMIT);
    const rocksdb_snapshot_t *held = hold_bytes();
    drop_rows("f", "");
    drop_rows("b", "c");
    ck_assert_uint_eq(notes_count(), 2);
    note_check(0, "b", "c");
    note_check(1, "f", NULL);
    let_bytes_go(held);
    wait_until_idle();
    ck_assert_uint_eq(notes_count(), 0);
    ck_assert(!files_hold(fix.dir, SECRET));
    ck_assert_uint_eq(physical_keys(T), 3 * 2 * LIMIT);
}
END_TEST

START_TEST(a_newer_note_stays_when_an_older_one_is_forgotten)
{
    struct rdb_notes notes[2];
    fill(T, "b", SECRET, 2 * LIMIT);
    const rocksdb_snapshot_t *held = hold_bytes();
    drop_rows("b", "c");
    ck_assert_int_eq(sto_rdb_notes_read(engine(), true, &notes[0]), ERR_OK);
    fill(T, "b", SECRET, 2 * LIMIT);
    drop_rows("b", "c");
    ck_assert_int_eq(sto_rdb_notes_forget(engine(), &notes[0], 0), ERR_OK);
    note_check(0, "b", "c");
    ck_assert_int_eq(sto_rdb_notes_read(engine(), true, &notes[1]), ERR_OK);
    ck_assert_int_eq(sto_rdb_notes_forget(engine(), &notes[1], 0), ERR_OK);
    ck_assert(!note_is_there());
    let_bytes_go(held);
    struct sto_range table = sto_range_of_table(T);
    sto_rdb_range_compact(engine(), RDB_CF_CELLS, sto_range_begin(&table), sto_range_end(&table));
    sto_rdb_reclaim_wake(&engine()->reclaim);
    wait_until_idle(); /* the round under way finds its note gone */
    sto_rdb_notes_fini(&notes[0]);
    sto_rdb_notes_fini(&notes[1]);
}
END_TEST

/* The bounds: whole table, and from "patient" to "q". */
static const struct slice OLD_NOTES[] = {
    SLICE_LIT("\0\0\0\0\0\0\0\7"),
    SLICE_LIT("\0\0\0\0\0\0\0\7\0\7patientq"),
};

START_TEST(notes_of_earlier_programs_are_worked_on)
{
    fill(T, PREFIX, SECRET, FEW);
    fill(T, "z", "kept", FEW);
    const rocksdb_snapshot_t *held = hold_bytes();
    drop_rows(PREFIX, "q");
    ck_assert_uint_eq(notes_for_later(), 1);
    note_put("r/ab/t", OLD_NOTES[_i].ptr, OLD_NOTES[_i].len);
    ck_assert(note_is_there());
    note_check(0, PREFIX, "q");
    let_bytes_go(held);
    sto_rdb_reclaim_wake(&engine()->reclaim);
    wait_until_idle();
    ck_assert(!note_is_there());
    ck_assert(!files_hold(fix.dir, SECRET));
    ck_assert_uint_eq(physical_keys(T), 3 * FEW);
}
END_TEST

START_TEST(a_note_takes_row_keys_of_any_bytes_and_length)
{
    static uint8_t zeros[LIM_ROW_KEY]; /* escaped, twice as long */
    static uint8_t ends[LIM_ROW_KEY];
    memset(ends, 0xff, sizeof ends);
    struct sto_row_range range = {.start = base_slice(zeros, sizeof zeros),
                                  .end = base_slice(ends, sizeof ends)};
    fill(T, PREFIX, SECRET, ROWS);
    const rocksdb_snapshot_t *held = hold_bytes();
    ck_assert_int_eq(fix_drop(T, range, 0, NULL), ERR_OK);
    ck_assert(note_is_there());
    let_bytes_go(held);
    wait_until_idle();
    ck_assert(!note_is_there());
    ck_assert(!files_hold(fix.dir, SECRET));
}
END_TEST

/* --- small drops ------------------------------------------------------------------------------ */

static void fill_small(void)
{
    fill(T, PREFIX, SECRET, FEW);
    fill(T, "kept", "kept", KEPT);
    fill(T, "zz", "kept", KEPT);
    fill_neighbours();
}

static bool no_note_is_left(void *arg)
{
    (void)arg;
    return notes_count() == 0;
}

/* What waits for its time is due now. */
static void let_all_be_due(void)
{
    wall_set_ahead((int64_t)fix.options.reclaim_after_s + 1);
    sto_rdb_reclaim_wake(&engine()->reclaim);
}

static void wait_until_gone(void)
{
    process_await(no_note_is_left, NULL, "the notes to go");
    wait_until_idle();
}

/* Neither rows nor what the note said of them. */
static void small_check(void)
{
    ck_assert_uint_eq(physical_keys(T), 3 * 2 * KEPT);
    ck_assert(!files_hold(fix.dir, SECRET));
    ck_assert(!files_hold(fix.dir, PREFIX));
    world_check();
}

START_TEST(the_bytes_of_a_small_drop_leave_the_files_in_time)
{
    fill_small();
    const rocksdb_snapshot_t *held = hold_bytes();
    ck_assert_int_eq(drop_prefix().result, ERR_OK);
    ck_assert_uint_eq(notes_for_later(), 1);
    ck_assert(files_hold(fix.dir, SECRET));
    let_bytes_go(held);
    let_all_be_due();
    wait_until_gone(); /* without any further write */
    small_check();
    fix_reopen();
    world_check();
}
END_TEST

START_TEST(the_bytes_of_a_small_table_leave_the_files_in_time)
{
    fill(T, PREFIX, SECRET, FEW);
    fill_neighbours();
    ck_assert_int_eq(fix_drop_table(T).result, ERR_OK);
    wait_until_gone();
    ck_assert_uint_eq(physical_keys(T), 0);
    ck_assert(!files_hold(fix.dir, SECRET));
    ck_assert(!files_hold(fix.dir, PREFIX));
    neighbours_check();
}
END_TEST

START_TEST(a_small_drop_waits_and_a_large_one_does_not)
{
    fill_small();
    fill(T, "a", "other-secret", ROWS);
    ck_assert_int_eq(drop_prefix().result, ERR_OK);
    ck_assert_uint_eq(notes_for_later(), 1);
    drop_rows("a", "b");
    wait_until_idle();
    ck_assert_uint_eq(notes_for_later(), 1);
    ck_assert_uint_eq(atomic_load(&engine()->reclaim.waiting), 1);
    ck_assert(!files_hold(fix.dir, "other-secret"));
    note_check(0, PREFIX, "patient-7741d");
}
END_TEST

/* The first one is due; the other two are not. */
START_TEST(notes_for_later_go_together)
{
    fill(T, "a", SECRET, FEW);
    fill(T, "b", "kept", FEW);
    fill(T, "c", SECRET, FEW);
    drop_rows("a", "b");
    drop_rows("c", "d");
    ck_assert_uint_eq(notes_for_later(), 2);
    sto_rdb_reclaim_wake(&engine()->reclaim);
    wait_until_idle();
    ck_assert_uint_eq(notes_for_later(), 2);
    note_put_due("d/ab/t/x", base_wall_us() - 1);
    sto_rdb_reclaim_wake(&engine()->reclaim);
    wait_until_gone();
    ck_assert(!files_hold(fix.dir, SECRET));
    ck_assert_uint_eq(physical_keys(T), 3 * FEW);
}
END_TEST

/* Else a clock that was set back, or rows dropped again and again, would put it off. */
START_TEST(a_note_is_due_in_its_time_whatever_comes)
{
    enum { WAIT_US = LIM_RECLAIM_AFTER_S * 1000000LL / 4 };
    wait_until_idle(); /* else the thread's first look, after the start, takes what is put here */
    const int64_t due_us = base_wall_us() + WAIT_US;
    note_put_due("d/ab/t/x", base_wall_us() + 2 * LIM_RECLAIM_AFTER_S * 1000000LL);
    ck_assert(notes_due().takes_all);
    note_put_due("d/ab/t/", due_us);
    note_put_due("d/ab/t/x", due_us + WAIT_US);
    ck_assert(!notes_due().takes_all);
    fill(T, "a", SECRET, FEW);
    drop_rows("", "");
    ck_assert_uint_eq(notes_for_later(), 2);
    ck_assert_uint_le(notes_due().wait_us, WAIT_US);
}
END_TEST

/* They are worked on one part after the other. */
START_TEST(notes_of_more_bytes_than_are_read_at_once)
{
    static char row[LIM_ROW_KEY + 1];
    fill(T, "zz", "kept", KEPT);
    memset(row, 'x', LIM_ROW_KEY);
    const rocksdb_snapshot_t *held = hold_bytes();
    for (int i = 0; i < LONG_KEYS; i++) {
        char end[8];
        (void)snprintf(end, sizeof end, "%03d~", i);
        memcpy(row, end, 3);
        ck_assert_int_eq(fix_put(T, row, SECRET), ERR_OK);
        drop_rows(row, end);
    }
    ck_assert_uint_eq(notes_for_later(), LONG_KEYS);
    ck_assert_uint_gt(LONG_KEYS * LIM_ROW_KEY, RDB_NOTES_BYTES);
    let_bytes_go(held);
    let_all_be_due();
    wait_until_gone();
    ck_assert(!files_hold(fix.dir, SECRET));
    ck_assert_uint_eq(physical_keys(T), 3 * KEPT);
}
END_TEST

/* A family goes by points, and files full of those are compacted by themselves. */
START_TEST(the_drop_of_a_family_has_no_note)
{
    fill(T, PREFIX, SECRET, FEW);
    struct sto_row_range all = {0};
    ck_assert_int_eq(fix_drop(T, all, 1, NULL), ERR_OK);
    ck_assert_uint_eq(notes_count(), 0);
}
END_TEST

START_TEST(a_purge_takes_the_note_of_a_small_drop)
{
    fill_small();
    ck_assert_int_eq(drop_prefix().result, ERR_OK);
    ck_assert_uint_eq(notes_for_later(), 1);
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    purge(STO_PURGE_FENCE, STO_PURGE_STEP_COUNT);
    struct sto_audit audit;
    ck_assert_int_eq(sto_audit_range(fix.engine, &fix.tenants[0], &audit, NULL), ERR_OK);
    ck_assert_uint_eq(audit.counters, 0);
    ck_assert_uint_eq(notes_count(), 0);
    ck_assert(!files_hold(fix.dir, SECRET));
    ck_assert(!files_hold(fix.dir, PREFIX));
}
END_TEST

static _Noreturn void child_drop(void)
{
    world_options();
    fix.options.reclaim_after_s = LATE_S;
    fix_open();
    fill_small();
    ck_assert_int_eq(drop_prefix().result, ERR_OK);
    ck_assert_uint_eq(notes_for_later(), 1);
    _exit(0); /* as kill -9 does */
}

static _Noreturn void child_look(void)
{
    world_options();
    fix.options.reclaim_after_s = LATE_S;
    wall_set_ahead(LATE_S + 1);
    fix_open();
    wait_until_gone();
    small_check();
    fix_close();
    _exit(0);
}

START_TEST(a_small_drop_is_remembered_over_kill_9)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        child_drop();
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the drop ended with %d", status);
    child = fork();
    if (child == 0)
        child_look();
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the look ended with %d", status);
}
END_TEST

Suite *suite_storage_engine_notes(void)
{
    Suite *s = suite_create("storage_engine_notes");
    TCase *t = tcase_create("notes");
    tcase_add_checked_fixture(t, world_setup, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, drops_that_begin_at_one_row_have_one_note);
    tcase_add_test(t, drops_far_apart_have_notes_of_their_own);
    tcase_add_test(t, a_newer_note_stays_when_an_older_one_is_forgotten);
    tcase_add_loop_test(t, notes_of_earlier_programs_are_worked_on, 0, 2);
    tcase_add_test(t, a_note_takes_row_keys_of_any_bytes_and_length);
    tcase_add_test(t, a_small_drop_waits_and_a_large_one_does_not);
    tcase_add_test(t, notes_for_later_go_together);
    tcase_add_test(t, a_note_is_due_in_its_time_whatever_comes);
    tcase_add_test(t, the_drop_of_a_family_has_no_note);
    tcase_add_test(t, a_purge_takes_the_note_of_a_small_drop);
    suite_add_tcase(s, t);
    t = tcase_create("soon");
    tcase_add_checked_fixture(t, soon_setup, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, the_bytes_of_a_small_table_leave_the_files_in_time);
    suite_add_tcase(s, t);
    t = tcase_create("late");
    tcase_add_checked_fixture(t, late_setup, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, the_bytes_of_a_small_drop_leave_the_files_in_time);
    tcase_add_test(t, notes_of_more_bytes_than_are_read_at_once);
    suite_add_tcase(s, t);
    t = tcase_create("killed");
    tcase_add_checked_fixture(t, fix_prepare_beside, teardown_closed); /* counts as well */
    tcase_set_timeout(t, 180);
    tcase_add_test(t, a_small_drop_is_remembered_over_kill_9);
    suite_add_tcase(s, t);
    return s;
}

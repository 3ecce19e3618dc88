/*
 * tests/storage/test_engine_drop_reclaim.c - what rows that went as ranges left leaves the files.
 *
 * RocksDB's background threads do not survive a fork, so the tests that kill open no engine in
 * their own process: one child drops and dies, another one looks.
 */
#include "fixture.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/reclaim_note.h"
#include "tests/storage/drop_world.h"

#include "base/banned.h"

Suite *suite_storage_engine_drop_reclaim(void);

/* --- notes ------------------------------------------------------------------------------------ */

static void note_put(const char *value, size_t len)
{
    char *error = NULL;
    rocksdb_put_cf(engine()->db.handle, engine()->db.synced, engine()->db.meta, "r/ab/t", 6, value,
                   len, &error);
    ck_assert_ptr_null(error);
}

/* Row keys in front of which the noted bounds of T lie; NULL: the table's own. */
static void note_check(const char *lower, const char *upper)
{
    static struct rdb_note note;
    struct sto_range table = sto_range_of_table(T);
    uint8_t key[STO_KEY_ROW_MAX];
    size_t count = 0;
    ck_assert_int_eq(sto_rdb_notes_read(engine(), &note, 1, &count), ERR_OK);
    ck_assert_uint_eq(count, 1);
    struct sto_span span = sto_rdb_note_span(&note);
    struct slice wanted = sto_range_begin(&table);
    if (lower != NULL)
        wanted = base_slice(key, sto_key_row(T, base_slice_text(lower), key));
    ck_assert(base_slice_equal(span.begin, wanted));
    wanted = sto_range_end(&table);
    if (upper != NULL)
        wanted = base_slice(key, sto_key_row(T, base_slice_text(upper), key));
    ck_assert(base_slice_equal(span.end, wanted));
}

static void drop_rows(const char *from, const char *to)
{
    struct sto_row_range range = {.start = base_slice_text(from), .end = base_slice_text(to)};
    ck_assert_int_eq(fix_drop(T, range, 0, NULL), ERR_OK);
}

START_TEST(a_note_covers_what_an_older_one_of_the_table_did)
{
    fill(T, "b", SECRET, 2 * LIMIT);
    fill(T, "d", SECRET, 2 * LIMIT);
    fill(T, "f", SECRET, 2 * LIMIT);
    const rocksdb_snapshot_t *held = hold_bytes();
    drop_rows("d", "e");
    note_check("d", "e");
    drop_rows("b", "c");
    note_check("b", "e");
    drop_rows("f", "");
    note_check("b", NULL);
    let_bytes_go(held);
    wait_until_idle();
    ck_assert(!files_hold(fix.dir, SECRET));
    ck_assert_uint_eq(physical_keys(T), 0);
}
END_TEST

START_TEST(a_newer_note_stays_when_an_older_one_is_forgotten)
{
    static struct rdb_note notes[2];
    size_t count = 0;
    fill(T, "b", SECRET, 2 * LIMIT);
    fill(T, "d", SECRET, 2 * LIMIT);
    const rocksdb_snapshot_t *held = hold_bytes();
    drop_rows("b", "c");
    ck_assert_int_eq(sto_rdb_notes_read(engine(), &notes[0], 1, &count), ERR_OK);
    drop_rows("d", "e");
    ck_assert_int_eq(sto_rdb_notes_forget(engine(), &notes[0], 1), ERR_OK);
    note_check("b", "e");
    ck_assert_int_eq(sto_rdb_notes_read(engine(), &notes[1], 1, &count), ERR_OK);
    ck_assert_int_eq(sto_rdb_notes_forget(engine(), &notes[1], 1), ERR_OK);
    ck_assert(!note_is_there("r/ab/t"));
    let_bytes_go(held);
    struct sto_range table = sto_range_of_table(T);
    sto_rdb_range_compact(engine(), RDB_CF_CELLS, sto_span_of(&table)); /* as a purge does */
    sto_rdb_reclaim_wake(&engine()->reclaim);
    wait_until_idle(); /* the round under way finds its note gone */
}
END_TEST

/* As all notes were before there were ranges of a part. */
START_TEST(a_note_without_bounds_is_of_the_whole_table)
{
    fill(T, PREFIX, SECRET, ROWS);
    const rocksdb_snapshot_t *held = hold_bytes();
    note_put("\0\0\0\0\0\0\0\7", 8);
    note_check(NULL, NULL);
    drop_rows(PREFIX, "q");
    note_check(NULL, NULL);
    let_bytes_go(held);
    wait_until_idle();
    ck_assert(!note_is_there("r/ab/t"));
    ck_assert(!files_hold(fix.dir, SECRET));
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
    ck_assert(note_is_there("r/ab/t"));
    let_bytes_go(held);
    wait_until_idle();
    ck_assert(!note_is_there("r/ab/t"));
    ck_assert(!files_hold(fix.dir, SECRET));
}
END_TEST

/* --- space ------------------------------------------------------------------------------------ */

START_TEST(the_bytes_of_a_large_drop_leave_the_files)
{
    fill_world();
    const rocksdb_snapshot_t *held = hold_bytes();
    ck_assert_int_eq(drop_prefix().result, ERR_OK);
    ck_assert_int_eq(files_hold(fix.dir, SECRET), !fix.sealed);
    let_bytes_go(held);
    wait_until_idle();
    ck_assert(!note_is_there("r/ab/t"));
    ck_assert_uint_eq(physical_keys(T), 3 * 2 * KEPT);
    ck_assert(!files_hold(fix.dir, SECRET)); /* of points and ranges, without any further write */
    world_check();
    fix_reopen();
    world_check();
}
END_TEST

START_TEST(a_drop_that_fails_gives_back_what_it_did)
{
    fill_world();
    const rocksdb_snapshot_t *held = hold_bytes();
    struct sto_drop_op op;
    reader_stop();
    drop_begin(&op);
    wait_until_counting(1);
    reader_count();
    wait_until_counting(1);
    atomic_store(&drop_stop, true);
    reader_go_on();
    fix_wait();
    ck_assert_int_eq(op.result, ERR_CANCELLED);
    ck_assert_uint_eq(op.removed.rows, LIMIT / 2 + STRETCH / 2);
    let_bytes_go(held);
    wait_until_idle();
    ck_assert_uint_eq(physical_keys(T), 3 * table_rows());
    neighbours_check();
}
END_TEST

/* Somebody else's removal wakes the thread while the drop goes on: what goes behind that is noted
 * anew, the points at the end, too. */
START_TEST(a_drop_that_goes_on_is_noted_anew)
{
    fill_world();
    struct sto_drop_op op;
    reader_stop();
    drop_begin(&op);
    for (int stretches = 0; stretches < 2; stretches++) {
        wait_until_counting(1);
        reader_count();
    }
    wait_until_counting(1);
    sto_rdb_reclaim_wake(&engine()->reclaim);
    wait_until_idle();
    ck_assert(!note_is_there("r/ab/t"));
    ck_assert(files_hold(fix.dir, SECRET));
    reader_go_on();
    fix_wait();
    ck_assert_int_eq(op.result, ERR_OK);
    wait_until_idle();
    ck_assert(!files_hold(fix.dir, SECRET));
    world_check();
}
END_TEST

START_TEST(rows_written_behind_the_drop_stay)
{
    fill_world();
    const rocksdb_snapshot_t *held = hold_bytes();
    ck_assert_int_eq(drop_prefix().result, ERR_OK);
    ck_assert_int_eq(fix_put(T, PREFIX "-0100", "new"), ERR_OK); /* where a range stands */
    let_bytes_go(held);
    wait_until_idle();
    ck_assert_uint_eq(physical_keys(T), 3 * 2 * KEPT + 2);
    fix_assert_rows(T,
                    &(struct sto_read_spec){
                        .rows = FIX_RANGE(.start = SLICE_LIT(PREFIX), .end = SLICE_LIT("q"))},
                    PREFIX "-0100{f:q@1000=new,}");
    ck_assert_uint_eq(table_rows(), 2 * KEPT + 1);
    neighbours_check();
}
END_TEST

/* --- beside a purge --------------------------------------------------------------------------- */

static void purge_check(void)
{
    struct sto_search_target target = {.scope = &fix.tenants[0]};
    struct sto_search_spec spec = {0};
    struct sto_audit audit;
    ck_assert(!note_is_there("r/ab/t"));
    ck_assert_int_eq(sto_search_files(fix.engine, &target, 1, &spec, NULL), ERR_OK);
    ck_assert_uint_eq(target.found.keys, 0);
    ck_assert_uint_eq(target.found.obsolete, 0);
    ck_assert_int_eq(sto_audit_range(fix.engine, &fix.tenants[0], &audit, NULL), ERR_OK);
    ck_assert_uint_eq(audit.physical_keys, 0);
    ck_assert_uint_eq(audit.counters, 0);
    ck_assert(!files_hold(fix.dir, SECRET));
    ck_assert(!files_hold(fix.dir, PREFIX)); /* nor row keys, in a note that is no more */
    for (size_t n = 1; n < FIX_TENANTS; n++)
        fix_assert_no_drift(n);
}

/* While the note waits, and when it was taken away before. */
START_TEST(a_purge_takes_dropped_rows_and_their_note)
{
    fill_world();
    const rocksdb_snapshot_t *held = hold_bytes();
    ck_assert_int_eq(drop_prefix().result, ERR_OK);
    ck_assert(note_is_there("r/ab/t"));
    if (_i == 0) {
        let_bytes_go(held);
        wait_until_idle();
        ck_assert(!note_is_there("r/ab/t"));
    }
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    purge(STO_PURGE_FENCE, STO_PURGE_COMPACT);
    if (_i == 1)
        let_bytes_go(held);
    purge(STO_PURGE_COMPACT, STO_PURGE_STEP_COUNT);
    wait_until_idle();
    purge_check();
}
END_TEST

/* --- kill -9 ---------------------------------------------------------------------------------- */

static _Noreturn void child_drop(enum sto_die_point point)
{
    world_options();
    fix_open();
    fill_world();
    sto_rocksdb_test_die_at(fix.engine, point);
    if (drop_prefix().result != ERR_OK)
        _exit(1);
    (void)usleep(PATIENCE_S * 1000000U);
    _exit(2); /* it was to die */
}

static _Noreturn void child_look(enum sto_die_point died_at)
{
    uint64_t left = died_at == STO_DIE_COUNTED   ? ROWS - LIMIT / 2
                    : died_at == STO_DIE_WRITTEN ? ROWS - LIMIT / 2 - STRETCH / 2
                                                 : 0;
    world_options();
    fix_open();
    ck_assert_uint_eq(table_rows(), left + 2 * KEPT);
    neighbours_check();
    wait_until_idle();
    ck_assert(!note_is_there("r/ab/t"));
    ck_assert_uint_eq(physical_keys(T), 3 * table_rows());
    ck_assert_int_eq(files_hold(fix.dir, SECRET), left > 0);
    ck_assert_int_eq(drop_prefix().result, ERR_OK);
    wait_until_idle();
    ck_assert(!files_hold(fix.dir, SECRET));
    world_check();
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    purge(STO_PURGE_FENCE, STO_PURGE_STEP_COUNT);
    purge_check();
    fix_close();
    _exit(0);
}

START_TEST(a_drop_is_exact_after_kill_9_behind_each_step)
{
    enum sto_die_point point = (enum sto_die_point)_i;
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        child_drop(point);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 137, "the drop ended with %d",
                  status);
    child = fork();
    if (child == 0)
        child_look(point);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the look ended with %d", status);
}
END_TEST

/* The step that a purge is in; shared with the child that does it. */
static _Atomic int *purge_step;

/* The note waits when the purge begins, and its round goes on beside it. */
static _Noreturn void child_purge(void)
{
    world_options();
    fix_open();
    fill_world();
    const rocksdb_snapshot_t *held = hold_bytes();
    if (drop_prefix().result != ERR_OK || !note_is_there("r/ab/t"))
        _exit(1);
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    let_bytes_go(held);
    for (enum sto_purge_step s = STO_PURGE_FENCE; s < STO_PURGE_STEP_COUNT; s++) {
        atomic_store(purge_step, (int)s);
        purge(s, s + 1);
    }
    atomic_store(purge_step, STO_PURGE_STEP_COUNT);
    (void)usleep(PATIENCE_S * 1000000U);
    _exit(2); /* it was to be killed */
}

static _Noreturn void child_purge_again(void)
{
    world_options();
    fix_open();
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    purge((enum sto_purge_step)atomic_load(purge_step), STO_PURGE_STEP_COUNT);
    wait_until_idle();
    purge_check();
    fix_close();
    _exit(0);
}

static void wait_for_step(int step)
{
    for (int i = 0; i < PATIENCE_S * 10000 && atomic_load(purge_step) < step; i++)
        (void)usleep(100);
    ck_assert_int_ge(atomic_load(purge_step), step);
}

START_TEST(a_purge_beside_a_note_is_exact_after_kill_9_inside_each_step)
{
    int status = 0;
    purge_step =
        mmap(NULL, sizeof *purge_step, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(purge_step, MAP_FAILED);
    atomic_store(purge_step, -1);
    pid_t child = fork();
    if (child == 0)
        child_purge();
    wait_for_step(_i % STO_PURGE_STEP_COUNT);
    (void)usleep((unsigned)(_i / STO_PURGE_STEP_COUNT) * 3000U);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFSIGNALED(status), "the purge ended with %d", status);
    child = fork();
    if (child == 0)
        child_purge_again();
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the look ended with %d", status);
}
END_TEST

Suite *suite_storage_engine_drop_reclaim(void)
{
    Suite *s = suite_create("storage_engine_drop_reclaim");
    TCase *t = tcase_create("reclaim");
    tcase_add_checked_fixture(t, world_setup, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_note_covers_what_an_older_one_of_the_table_did);
    tcase_add_test(t, a_newer_note_stays_when_an_older_one_is_forgotten);
    tcase_add_test(t, a_note_without_bounds_is_of_the_whole_table);
    tcase_add_test(t, a_note_takes_row_keys_of_any_bytes_and_length);
    tcase_add_test(t, the_bytes_of_a_large_drop_leave_the_files);
    tcase_add_test(t, a_drop_that_fails_gives_back_what_it_did);
    tcase_add_test(t, a_drop_that_goes_on_is_noted_anew);
    tcase_add_test(t, rows_written_behind_the_drop_stay);
    tcase_add_loop_test(t, a_purge_takes_dropped_rows_and_their_note, 0, 2);
    suite_add_tcase(s, t);
    t = tcase_create("sealed");
    tcase_add_checked_fixture(t, world_setup_sealed, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, the_bytes_of_a_large_drop_leave_the_files);
    suite_add_tcase(s, t);
    t = tcase_create("killed");
    tcase_add_checked_fixture(t, fix_prepare, teardown_closed);
    tcase_set_timeout(t, 180);
    tcase_add_loop_test(t, a_drop_is_exact_after_kill_9_behind_each_step, STO_DIE_NEVER + 1,
                        STO_DIE_POINTS);
    tcase_add_loop_test(t, a_purge_beside_a_note_is_exact_after_kill_9_inside_each_step, 0,
                        3 * STO_PURGE_STEP_COUNT);
    suite_add_tcase(s, t);
    return s;
}

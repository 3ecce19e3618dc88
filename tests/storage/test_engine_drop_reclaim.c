/*
 * tests/storage/test_engine_drop_reclaim.c - what rows that went as ranges left leaves the files.
 *
 * RocksDB's background threads do not survive a fork, so the tests that kill open no engine in
 * their own process: one child drops and dies, another one looks.
 */
#include "fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/storage/drop_world.h"

#include "base/banned.h"

Suite *suite_storage_engine_drop_reclaim(void);

/* --- space ------------------------------------------------------------------------------------ */

START_TEST(the_bytes_of_a_large_drop_leave_the_files)
{
    fill_world();
    const rocksdb_snapshot_t *held = hold_bytes();
    ck_assert_int_eq(drop_prefix().result, ERR_OK);
    ck_assert_int_eq(files_hold(fix.dir, SECRET), !fix.sealed);
    let_bytes_go(held);
    wait_until_idle();
    ck_assert(!note_is_there());
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
    ck_assert(!note_is_there());
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

struct purge_search {
    struct sto_search_target *target;
    struct sto_search_spec *spec;
};

/* As a job searches: RocksDB unlinks files later. */
static bool nothing_is_obsolete(void *search)
{
    const struct purge_search *s = search;
    ck_assert_int_eq(sto_search_files(fix.engine, s->target, 1, s->spec, NULL), ERR_OK);
    return s->target->found.obsolete == 0;
}

static void purge_check(void)
{
    struct sto_search_target target = {.scope = &fix.tenants[0]};
    struct sto_search_spec spec = {0};
    struct sto_audit audit;
    ck_assert(!note_is_there());
    struct purge_search search = {&target, &spec};
    process_await(nothing_is_obsolete, &search, "obsolete files to go");
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
    ck_assert(note_is_there());
    if (_i == 0) {
        let_bytes_go(held);
        wait_until_idle();
        ck_assert(!note_is_there());
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
    fix_wait_for_death();
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
    ck_assert(!note_is_there());
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
static int step_fds[2]; /* a byte for each step that begins */

/* The note waits when the purge begins, and its round goes on beside it. */
static _Noreturn void child_purge(void)
{
    world_options();
    fix_open();
    fill_world();
    const rocksdb_snapshot_t *held = hold_bytes();
    if (drop_prefix().result != ERR_OK || !note_is_there())
        _exit(1);
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    let_bytes_go(held);
    for (enum sto_purge_step s = STO_PURGE_FENCE; s < STO_PURGE_STEP_COUNT; s++) {
        atomic_store(purge_step, (int)s);
        if (write(step_fds[1], "", 1) != 1)
            _exit(1);
        purge(s, s + 1);
    }
    atomic_store(purge_step, STO_PURGE_STEP_COUNT);
    fix_wait_for_death();
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

/* At once, not as often as process_await looks: the kill is to meet the step. */
static void wait_for_step(int step)
{
    for (int i = 0; i <= step; i++) {
        struct pollfd begun = {.fd = step_fds[0], .events = POLLIN};
        char byte;
        ck_assert_int_eq(poll(&begun, 1, process_await_ms()), 1);
        ck_assert_int_eq(read(step_fds[0], &byte, 1), 1);
    }
}

START_TEST(a_purge_beside_a_note_is_exact_after_kill_9_inside_each_step)
{
    int status = 0;
    purge_step =
        mmap(NULL, sizeof *purge_step, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(purge_step, MAP_FAILED);
    atomic_store(purge_step, -1);
    ck_assert_int_eq(pipe2(step_fds, O_CLOEXEC), 0);
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
    tcase_add_checked_fixture(t, fix_prepare_beside, teardown_closed); /* counts stored keys */
    tcase_set_timeout(t, 180);
    tcase_add_loop_test(t, a_drop_is_exact_after_kill_9_behind_each_step, STO_DIE_COUNTED,
                        STO_DIE_POINTS);
    tcase_add_loop_test(t, a_purge_beside_a_note_is_exact_after_kill_9_inside_each_step, 0,
                        3 * STO_PURGE_STEP_COUNT);
    suite_add_tcase(s, t);
    return s;
}

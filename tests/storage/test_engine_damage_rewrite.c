/*
 * tests/storage/test_engine_damage_rewrite.c - a damaged file is rewritten without its bad blocks,
 * and what was in them stays an error.
 */
#include "damaged.h"

#include <sys/wait.h>

#include "storage/rocksdb/checkpoint.h"
#include "storage/rocksdb/damage_io.h"
#include "storage/rocksdb/image.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

Suite *suite_storage_engine_damage_rewrite(void);

enum { ROWS = 1500, HIT = 700, NEAR = 20 /* rows of a block, and then some */ };

/* Many files in several levels; both tenants share some. */
static void fill(void)
{
    damaged_put(0, 0, ROWS, 1);
    damaged_put(1, 0, ROWS, 1);
    fix_flush();
}

static void setup(void)
{
    fix_setup();
    fill();
    fix_close();
    damaged_flip(0, HIT, 1);
    fix_open();
    fix_wait_for_memory(); /* until then RocksDB may hide a damaged block (docs/decisions/0038) */
}

/* Rows of the tenant that cannot be read, all of them near HIT. */
static int rows_lost(size_t tenant)
{
    int lost = 0;
    for (int i = 0; i < ROWS; i++) {
        enum err rc = damaged_read(tenant, i, i % 2 == 0);
        ck_assert_msg(rc == ERR_OK || (rc == ERR_CORRUPT && i > HIT - NEAR && i < HIT + NEAR),
                      "row %d: %d", i, (int)rc);
        lost += rc == ERR_CORRUPT;
    }
    return lost;
}

static void assert_scans(void)
{
    uint64_t rows = 0;
    for (int reversed = 0; reversed < 2; reversed++) {
        ck_assert_int_eq(damaged_scan(0, 0, ROWS, reversed != 0, &rows), ERR_CORRUPT);
        ck_assert_uint_gt(rows, 0); /* those before it */
        ck_assert_int_eq(damaged_scan(0, 0, HIT - NEAR, reversed != 0, &rows), ERR_OK);
        ck_assert_uint_eq(rows, HIT - NEAR);
        ck_assert_int_eq(damaged_scan(0, HIT + NEAR, ROWS, reversed != 0, &rows), ERR_OK);
        ck_assert_uint_eq(rows, ROWS - HIT - NEAR);
        ck_assert_int_eq(damaged_scan(1, 0, ROWS, reversed != 0, &rows), ERR_OK);
        ck_assert_uint_eq(rows, ROWS);
    }
}

static void assert_lost(void)
{
    char key[16];
    damaged_row_key(key, HIT);
    ck_assert_int_eq(damaged_read(0, HIT, false), ERR_CORRUPT);
    ck_assert_int_ge(rows_lost(0), 1);
    ck_assert_int_eq(rows_lost(1), 0);
    assert_scans();
    ck_assert_int_eq(fix_put(&fix.tables[0][0], key, "new"), ERR_CORRUPT);
    ck_assert_int_eq(fix_delete_row(&fix.tables[0][0], key), ERR_CORRUPT);
    ck_assert_int_eq(fix_recount(0).result, ERR_CORRUPT);
    fix_assert_no_drift(1);
    damaged_assert_sound();
}

START_TEST(a_file_that_a_read_met_is_rewritten)
{
    ck_assert_int_eq(damaged_read(0, HIT, false), ERR_CORRUPT);
    damaged_await_rewritten();
    for (int round = 0; round < 2; round++) {
        assert_lost();
        fix_reopen();
    }
}
END_TEST

/* Nobody reads the row: only compactions meet the block, for writers go on around it. */
START_TEST(a_compaction_that_meets_it_goes_on_and_so_do_writers)
{
    for (int version = 2; version < 6; version++) {
        damaged_put(0, 0, HIT - NEAR, version);
        damaged_put(0, HIT + NEAR, ROWS, version);
        damaged_put(1, 0, ROWS, version);
        fix_flush();
    }
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    sto_rdb_range_compact(e, RDB_CF_CELLS, SLICE_LIT("ab#"), SLICE_LIT("b-0$"));
    ck_assert_int_eq(sto_rdb_compactions_check(e, NULL), ERR_OK);
    ck_assert_uint_gt(sto_rdb_damage_io_failures(e->db.damage_io), 0);
    damaged_await_rewritten();
    assert_lost();
    ck_assert_int_eq(damaged_read(0, HIT - NEAR, false), ERR_OK);
    fix_reopen();
    assert_lost();
}
END_TEST

/* What the lost block hid must not come back: neither an older version nor a deleted row. */
START_TEST(older_versions_and_deleted_rows_do_not_come_back)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    char key[16];
    damaged_put(0, HIT, HIT + 1, 1);
    sto_rdb_range_compact(e, RDB_CF_CELLS, SLICE_LIT("ab#"), SLICE_LIT("b-0$"));
    damaged_row_key(key, HIT - 1);
    ck_assert_int_eq(fix_delete_row(&fix.tables[0][0], key), ERR_OK);
    damaged_put(0, HIT, HIT + 1, 7);
    fix_close(); /* flushes: both are in one block above the old ones */
    damaged_flip(0, HIT, 7);
    fix_open();
    (void)damaged_read(0, HIT, false);
    damaged_await_rewritten();
    ck_assert_int_eq(damaged_read(0, HIT, false), ERR_CORRUPT);
    enum err rc = damaged_read(0, HIT - 1, false);
    ck_assert(rc == ERR_CORRUPT || rc == ERR_NOT_FOUND);
}
END_TEST

static void meet_and_die(enum sto_die_point point)
{
    fix_open();
    fix_wait_for_memory(); /* until then RocksDB may hide a damaged block (docs/decisions/0038) */
    sto_rocksdb_test_die_at(fix.engine, point);
    (void)damaged_read(0, HIT, false);
    fix_wait_for_death();
}

static _Noreturn void child_fill(void)
{
    fix_open();
    fill();
    fix_close();
    damaged_flip(0, HIT, 1);
    _exit(0);
}

static _Noreturn void child_look(void)
{
    fix_open();
    fix_wait_for_memory();
    (void)damaged_read(0, HIT, false);
    damaged_await_rewritten();
    assert_lost();
    fix_close();
    _exit(0);
}

static int run_child(void (*child)(enum sto_die_point), void (*other)(void),
                     enum sto_die_point point)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (child != NULL)
            child(point);
        other();
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(kill_9_between_any_two_steps_changes_nothing)
{
    static const enum sto_die_point points[] = {STO_DIE_LOST, STO_DIE_REPLACED};
    ck_assert_int_eq(run_child(NULL, child_fill, STO_DIE_NEVER), 0);
    ck_assert_int_eq(run_child(meet_and_die, child_look, points[_i]), 137);
    ck_assert_int_eq(run_child(NULL, child_look, STO_DIE_NEVER), 0);
}
END_TEST

static enum err count_row(void *ctx, struct slice key, struct slice value)
{
    (void)key;
    (void)value;
    ++*(int *)ctx;
    return ERR_OK;
}

/* A backup of a tenant reads an image: rows must not be missing from it without a word. */
START_TEST(an_image_tells_of_lost_rows)
{
    char dir[300];
    uint64_t sequence = 0;
    struct sto_image *image = NULL;
    struct errbuf eb = {{0}};
    int entries = 0;
    (void)damaged_read(0, HIT, false);
    damaged_await_rewritten();
    (void)snprintf(dir, sizeof dir, "%s/image", fix.dir);
    ck_assert_int_eq(sto_rocksdb_checkpoint(fix.engine, dir, &sequence, &eb), ERR_OK);
    ck_assert_int_eq(sto_image_open(dir, &image, &eb), ERR_OK);
    ck_assert_int_eq(sto_image_visit_rows(image, &fix.tables[0][0], count_row, &entries, &eb),
                     ERR_CORRUPT);
    ck_assert_str_eq(eb.text, "rows of the table are damaged");
    ck_assert_int_eq(entries, 0);
    ck_assert_int_eq(sto_image_visit_rows(image, &fix.tables[1][0], count_row, &entries, &eb),
                     ERR_OK);
    ck_assert_int_eq(entries, 2 * ROWS); /* headers and cells */
    sto_image_close(image);
}
END_TEST

static void purge(size_t tenant)
{
    struct errbuf eb = {{0}};
    atomic_store(&fix.accounts[tenant].gate, STO_GATE_GONE);
    for (enum sto_purge_step s = STO_PURGE_FENCE; s < STO_PURGE_STEP_COUNT; s++) {
        enum err rc = sto_purge_run(fix.engine, &fix.tenants[tenant], s, NULL, 0, &eb);
        ck_assert_msg(rc == ERR_OK, "%s: %s", sto_purge_step_name(s), eb.text);
    }
    struct sto_audit audit;
    ck_assert_int_eq(sto_audit_range(fix.engine, &fix.tenants[tenant], &audit, &eb), ERR_OK);
    ck_assert_uint_eq(audit.physical_keys, 0);
    ck_assert_uint_eq(audit.counters, 0);
}

/* _i: before or after its lost rows are recorded. */
START_TEST(a_tenant_with_damaged_rows_can_be_purged)
{
    struct sto_damage damage;
    if (_i == 1) {
        (void)damaged_read(0, HIT, false);
        damaged_await_rewritten();
    }
    purge(0);
    sto_damage_get(fix.engine, &damage);
    ck_assert_uint_eq(damage.lost_ranges, 0);
    ck_assert_uint_eq(damage.count, 0);
    ck_assert_int_eq(rows_lost(1), 0);
    fix_assert_no_drift(1);
    damaged_assert_sound();
}
END_TEST

START_TEST(a_neighbour_of_damaged_rows_can_be_purged)
{
    purge(1);
    ck_assert_int_eq(damaged_read(0, HIT, false), ERR_CORRUPT);
    damaged_assert_sound();
}
END_TEST

static bool list_is_empty(void *arg)
{
    struct sto_damage damage;
    (void)arg;
    sto_damage_get(fix.engine, &damage);
    return damage.count == 0;
}

/* _i: before or after its lost rows are recorded. */
START_TEST(a_table_with_damaged_rows_can_be_removed)
{
    struct sto_damage damage;
    if (_i == 1) {
        (void)damaged_read(0, HIT, false);
        damaged_await_rewritten();
    }
    struct sto_drop_op op = fix_drop_table(&fix.tables[0][0]);
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    ck_assert_uint_eq(op.removed.rows, ROWS);
    fix_assert_usage(0, 0, 0, 0);
    ck_assert_int_eq(sto_table_forget(fix.engine, &fix.tables[0][0], NULL, 0, NULL), ERR_OK);
    process_await(list_is_empty, NULL, "a list of damage that is empty");
    sto_damage_get(fix.engine, &damage);
    ck_assert_uint_eq(damage.lost_ranges, 0);
    damaged_assert_sound();
}
END_TEST

struct forgetting {
    pthread_t thread;
    atomic_bool is_done;
};

static void *forget_lost(void *arg)
{
    struct forgetting *f = arg;
    struct sto_range rows = sto_range_of_table(&fix.tables[0][0]);
    enum err rc =
        sto_rdb_lost_forget(sto_rdb_engine(fix.engine), &fix.tenants[0], sto_span_of(&rows));
    atomic_store(&f->is_done, true);
    return rc == ERR_OK ? NULL : f;
}

/* Who adds has read the table's counters, and its record is not in the list yet. */
START_TEST(a_record_that_is_being_added_is_waited_for)
{
    struct forgetting f = {.is_done = false};
    struct rdb_lost *lost = &sto_rdb_engine(fix.engine)->lost;
    void *failed = NULL;
    pthread_mutex_lock(&lost->writing);
    ck_assert_int_eq(pthread_create(&f.thread, NULL, forget_lost, &f), 0);
    for (int i = 0; i < 100; i++) {
        (void)usleep(1000);
        ck_assert(!atomic_load(&f.is_done));
    }
    pthread_mutex_unlock(&lost->writing);
    ck_assert_int_eq(pthread_join(f.thread, &failed), 0);
    ck_assert_ptr_null(failed);
}
END_TEST

/* A page that was read wrong, once: the file is sound. */
START_TEST(a_file_that_reads_well_again_is_kept)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    struct sto_damage damage;
    const rocksdb_livefiles_t *files = rocksdb_livefiles(e->db.handle);
    ck_assert_int_gt(rocksdb_livefiles_count(files), 0);
    char text[600];
    (void)snprintf(text, sizeof text,
                   "Corruption: block checksum mismatch in %s/db%s offset 0 size 9", fix.dir,
                   rocksdb_livefiles_name(files, 0));
    rocksdb_livefiles_destroy(files);
    sto_rdb_damage_met(e, text);
    ck_assert(sto_rdb_damage_wait(e));
    sto_damage_get(fix.engine, &damage);
    ck_assert_uint_eq(damage.count, 0);
    ck_assert_uint_eq(damage.lost_ranges, 0);
}
END_TEST

/* RocksDB reads all parts of a filter when it opens a file, and does not open it without one. */
START_TEST(a_damaged_filter_loses_no_row)
{
    char path[600], db[300];
    struct sto_damage damage;
    int bad;
    fix_close();
    (void)snprintf(db, sizeof db, "%.250s/db", fix.dir);
    damaged_file_of(db, 0, HIT, 1, path);
    ck_assert(damaged_flip_kind(path, RDB_BLOCK_FILTER));
    fix_open();
    do { /* a read that opens the file fails until it is rewritten */
        bad = 0;
        for (int i = 0; i < ROWS; i++)
            bad += damaged_read(0, i, false) != ERR_OK;
        sto_damage_get(fix.engine, &damage);
    } while (bad > 0 || damage.count > 0);
    ck_assert_uint_eq(damage.lost_ranges, 0);
    fix_reopen();
    ck_assert_int_eq(rows_lost(0) + rows_lost(1), 0);
    fix_assert_no_drift(0);
    damaged_assert_sound();
}
END_TEST

static void setup_sound(void)
{
    fix_setup();
    fill();
}

static void setup_directory(void)
{
    fix_prepare();
}

Suite *suite_storage_engine_damage_rewrite(void)
{
    Suite *s = suite_create("storage_engine_damage_rewrite");
    TCase *t = tcase_create("rewriting");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_add_test(t, a_file_that_a_read_met_is_rewritten);
    tcase_add_test(t, a_compaction_that_meets_it_goes_on_and_so_do_writers);
    tcase_add_loop_test(t, a_tenant_with_damaged_rows_can_be_purged, 0, 2);
    tcase_add_test(t, a_neighbour_of_damaged_rows_can_be_purged);
    tcase_add_test(t, an_image_tells_of_lost_rows);
    tcase_add_loop_test(t, a_table_with_damaged_rows_can_be_removed, 0, 2);
    suite_add_tcase(s, t);
    t = tcase_create("sound");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, setup_sound, fix_teardown);
    tcase_add_test(t, older_versions_and_deleted_rows_do_not_come_back);
    tcase_add_test(t, a_file_that_reads_well_again_is_kept);
    tcase_add_test(t, a_record_that_is_being_added_is_waited_for);
    tcase_add_test(t, a_damaged_filter_loses_no_row);
    suite_add_tcase(s, t);
    t = tcase_create("killed");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, setup_directory, fix_teardown);
    tcase_add_loop_test(t, kill_9_between_any_two_steps_changes_nothing, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/storage/test_engine_drop_levels.c - range tombstones of drops and of removed tables go
 * where deeper levels hold rows of neighbours.
 *
 * A compaction of the deleted range ends at the deepest level that has a key of it. The tombstone
 * stays in the output of that compaction, beside rows of neighbours, as long as any deeper file
 * overlaps those rows (tombstones.c).
 */
#include "fixture.h"

#include <limits.h>

#include "storage/rocksdb/entries.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/tombstone_files.h"
#include "tests/storage/drops.h"
#include "tests/storage/levels.h"

#include "base/banned.h"

Suite *suite_storage_engine_drop_levels(void);

#define T      &fix.tables[1][0]
#define SECRET "secret-93ab1f"

enum { ROWS = 300 };

static void setup(void)
{
    fix_prepare_beside(); /* all stored keys of the table are counted */
    fix.options.drop_range_cells = 100;
    fix_open();
    fill_levels();
    fill(T, SECRET, SECRET, ROWS);
    ck_assert_int_eq(fix_put(&fix.tables[0][0], "row-000001", "value"), ERR_OK);
    ck_assert_int_eq(fix_put(&fix.tables[2][0], "row-000001", "value"), ERR_OK);
}

static bool stats_have_tombstones(void)
{
    struct sto_engine_stats stats;
    sto_engine_stats_get(fix.engine, &stats);
    return stats.range_tombstones;
}

static bool files_have_tombstones(void)
{
    char *text = rocksdb_property_value_cf(engine()->db.handle, engine()->db.cells,
                                           "rocksdb.aggregated-table-properties");
    bool have = strstr(text, "# range deletions=0;") == NULL;
    rocksdb_free(text);
    return have;
}

/* Whether the cells have files in a deeper level than one with a range tombstone. */
static bool is_above_others(void)
{
    int highest = INT_MAX; /* the level of such a file with the lowest number */
    int deepest = 0;
    const rocksdb_livefiles_t *files = rocksdb_livefiles(engine()->db.handle);
    for (int i = 0; i < rocksdb_livefiles_count(files); i++) {
        int level = rocksdb_livefiles_level(files, i);
        if (strcmp(rocksdb_livefiles_column_family_name(files, i), "cells") != 0)
            continue;
        if (level > deepest)
            deepest = level;
        if (level < highest &&
            sto_rdb_tombstone_files_has(engine()->db.tombstone_files,
                                        sto_rdb_file_number(rocksdb_livefiles_name(files, i))))
            highest = level;
    }
    rocksdb_livefiles_destroy(files);
    return highest < deepest;
}

/* Flushes the tombstone into the file that has the rows of neighbours, and releases the snapshot,
 * which kept the tombstone and the rows below it. */
static void reclaim(const rocksdb_snapshot_t *held)
{
    ck_assert_int_eq(sto_rdb_flush(engine()), ERR_OK);
    ck_assert(stats_have_tombstones());
    ck_assert(files_have_tombstones());
    ck_assert(is_above_others());
    ck_assert_int_ge(levels_in_use(), 3);
    let_bytes_go(held);
    wait_until_idle();
}

static void assert_reclaimed(void)
{
    ck_assert(!stats_have_tombstones());
    ck_assert(!files_have_tombstones());
    ck_assert(!note_is_there());
    ck_assert_int_ge(levels_in_use(), 2); /* the neighbours' rows were not compacted into one */
    ck_assert_uint_eq(physical_keys(T), 0);
    ck_assert(!files_hold(fix.dir, SECRET));
    for (size_t n = 0; n < FIX_TENANTS; n++)
        fix_assert_no_drift(n);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).rows, MANY_ROWS);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[2].total).rows, MANY_ROWS);
}

START_TEST(the_tombstone_of_a_drop_goes_whatever_the_levels)
{
    const struct sto_row_range range = {.start = SLICE_LIT("s"), .end = SLICE_LIT("t")};
    struct sto_usage removed;
    const rocksdb_snapshot_t *held = hold_bytes();
    ck_assert_int_eq(fix_drop(T, range, 0, &removed), ERR_OK);
    ck_assert_uint_eq(removed.rows, ROWS);
    reclaim(held);
    assert_reclaimed();
}
END_TEST

START_TEST(the_tombstone_of_a_removed_table_goes_whatever_the_levels)
{
    const rocksdb_snapshot_t *held = hold_bytes();
    struct sto_drop_op op = fix_drop_table(T);
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    ck_assert_uint_eq(op.removed.rows, ROWS);
    ck_assert_int_eq(sto_table_forget(fix.engine, T, NULL, 0, NULL), ERR_OK);
    reclaim(held);
    assert_reclaimed();
}
END_TEST

/* --- by points -------------------------------------------------------------------------------- */

static void setup_small(void)
{
    fix_prepare_beside(); /* all stored keys of the table are counted */
    fix.options.drop_range_cells = 100 * ROWS;
    fix.options.reclaim_after_s = 1;
    fix_open();
    fill_levels();
    fill(T, SECRET, SECRET, ROWS);
}

static bool note_is_gone(void *arg)
{
    (void)arg;
    return !note_is_there() && notes_for_later() == 0;
}

static bool any_is_stored(void)
{
    bool any = false;
    struct sto_range range = sto_range_of_table(T);
    ck_assert_int_eq(sto_rdb_entries_any(engine()->db.handle, engine()->db.cells,
                                         sto_range_begin(&range), sto_range_end(&range), &any),
                     ERR_OK);
    return any;
}

/* A file of neighbours alone reaches over the rows in the deepest level. */
START_TEST(neither_rows_nor_their_deletions_stay)
{
    const struct sto_row_range all = {.start = SLICE_EMPTY};
    struct sto_usage removed;
    ck_assert_int_ge(levels_in_use(), 2);
    ck_assert_int_eq(fix_drop(T, all, 0, &removed), ERR_OK);
    ck_assert_uint_eq(removed.rows, ROWS);
    ck_assert(!stats_have_tombstones());
    ck_assert_int_eq(sto_rdb_flush(engine()), ERR_OK);
    ck_assert(any_is_stored());
    process_await(note_is_gone, NULL, "the note of the drop to go");
    ck_assert(!any_is_stored());
    wait_until_idle();
    ck_assert(!files_hold(fix.dir, SECRET));
    for (size_t n = 0; n < FIX_TENANTS; n++)
        fix_assert_no_drift(n);
}
END_TEST

Suite *suite_storage_engine_drop_levels(void)
{
    Suite *s = suite_create("storage_engine_drop_levels");
    TCase *t = tcase_create("levels");
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, the_tombstone_of_a_drop_goes_whatever_the_levels);
    tcase_add_test(t, the_tombstone_of_a_removed_table_goes_whatever_the_levels);
    suite_add_tcase(s, t);
    t = tcase_create("points");
    tcase_add_checked_fixture(t, setup_small, fix_teardown);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, neither_rows_nor_their_deletions_stay);
    suite_add_tcase(s, t);
    return s;
}

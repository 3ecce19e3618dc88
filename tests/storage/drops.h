/*
 * tests/storage/drops.h - many dropped rows, and their remains in the files.
 *
 * Does:     fill tables, count physically stored keys and reclaim records; wait until the engine
 *           has reclaimed space, purge the first tenant.
 * Owns:     nothing.
 * May use:  tests/storage/fixture.h.
 * Knows no: the tests.
 * Threads:  one.
 * Blocks:   for answers, and until the space is reclaimed.
 * Fails by: ck_assert.
 * Limits:   DROPS_ROWS rows at once.
 * Promises: 1. A key below a range tombstone counts as stored while a snapshot holds it.
 */
#ifndef TESTS_STORAGE_DROPS_H
#define TESTS_STORAGE_DROPS_H

#include "fixture.h"

#include "storage/range.h"
#include "storage/rocksdb/reclaim_note.h"
#include "tests/storage/files_hold.h"

enum { DROPS_ROWS = 1000 };

static struct rdb_engine *engine(void)
{
    return sto_rdb_engine(fix.engine);
}

/* Writes rows "<row>-0000" and so on to a table, with two cells, one of which holds the text;
 * flushes the first half of the rows to a file. */
UNUSED_FN static void fill(const struct sto_table_scope *scope, const char *row, const char *text,
                           int rows)
{
    ck_assert_int_le(rows, DROPS_ROWS);
    static struct fill_op {
        struct sto_mutate_op op;
        struct sto_mutation m[2];
        char row[64];
    } ops[DROPS_ROWS];
    for (int i = 0; i < rows; i++) {
        struct fill_op *f = &ops[i];
        (void)snprintf(f->row, sizeof f->row, "%s-%04d", row, i);
        f->m[0] = fix_set(1, "a", 1000, base_slice_text(text));
        f->m[1] = fix_set(2, "b", 1000, SLICE_LIT("value"));
        f->op = (struct sto_mutate_op){.scope = *scope,
                                       .row_key = base_slice_text(f->row),
                                       .mutations = f->m,
                                       .mutation_count = 2};
        fix_submit(&f->op);
        if (i == rows / 2) {
            fix_wait();
            ck_assert_int_eq(sto_rdb_flush(engine()), ERR_OK);
        }
    }
    fix_wait();
    for (int i = 0; i < rows; i++)
        ck_assert_int_eq(ops[i].op.result, ERR_OK);
}

/* Writes rows of other tables and tenants, so that files hold them beside the
 * first table's rows. */
UNUSED_FN static void fill_neighbours(void)
{
    fill(&fix.tables[0][1], "neighbour", "neighbour", 50);
    fill(&fix.tables[1][0], "neighbour", "neighbour", 50);
    fill(&fix.tables[2][0], "neighbour", "neighbour", 50);
}

/* Checks that the neighbours still have their rows. */
UNUSED_FN static void neighbours_check(void)
{
    ck_assert_uint_eq(sto_counters_read(&fix.tables[0][1].schema->table->counters).rows, 50);
    for (size_t n = 0; n < FIX_TENANTS; n++) {
        ck_assert_uint_ge(sto_counters_read(&fix.accounts[n].total).cells, 100);
        fix_assert_no_drift(n);
    }
}

/* Counts stored keys, including those that a range tombstone covers. */
UNUSED_FN static uint64_t physical_keys(const struct sto_table_scope *scope)
{
    struct sto_range range = sto_range_of_table(scope);
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(sto_range_begin(&range), sto_range_end(&range));
    rocksdb_readoptions_set_ignore_range_deletions(options, 1);
    rocksdb_iterator_t *it =
        rocksdb_create_iterator_cf(engine()->db.handle, options, engine()->db.cells);
    uint64_t count = 0;
    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it))
        count++;
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    return count;
}

static struct rdb_notes_due notes_due(void)
{
    struct rdb_notes_due due;
    ck_assert_int_eq(sto_rdb_notes_due(engine(), &due), ERR_OK);
    return due;
}

/* Returns whether a reclaim record is due now. */
UNUSED_FN static bool note_is_there(void)
{
    return notes_due().now > 0;
}

UNUSED_FN static size_t notes_for_later(void)
{
    return notes_due().later;
}

UNUSED_FN static void wait_until_idle(void)
{
    fix_await_flag(&engine()->reclaim.is_idle, "the space to be given back");
}

/* Takes a snapshot of the current data: compactions keep all of it until the release. */
UNUSED_FN static const rocksdb_snapshot_t *hold_bytes(void)
{
    return rocksdb_create_snapshot(engine()->db.handle);
}

UNUSED_FN static void let_bytes_go(const rocksdb_snapshot_t *snapshot)
{
    rocksdb_release_snapshot(engine()->db.handle, snapshot);
}

/* Purges the first tenant, whose gate is closed; runs steps from `from` up to, excluding,
 * `behind`. */
UNUSED_FN static void purge(enum sto_purge_step from, enum sto_purge_step behind)
{
    for (enum sto_purge_step s = from; s < behind; s++) {
        struct errbuf eb = {{0}};
        enum err rc = sto_purge_run(fix.engine, &fix.tenants[0], s, NULL, 0, &eb);
        ck_assert_msg(rc == ERR_OK, "%s: %s", sto_purge_step_name(s), eb.text);
    }
}

/* Cleans up after tests that kill a child: no engine is open in their own process. */
UNUSED_FN static void teardown_closed(void)
{
    base_mailbox_fini(&fix.mailbox);
    fix_dir_remove();
}

#endif

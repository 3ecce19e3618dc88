/*
 * tests/storage/test_engine_damage.c - a damaged block is the error of what needs it, alone.
 */
#include "damaged.h"

#include "storage/range.h"
#include "storage/rocksdb/ranges.h"

#include "base/banned.h"

Suite *suite_storage_engine_damage(void);

enum { ROWS = 400, HIT = 200, BLOCK_ROWS = 9 /* at most, in a block of 8 KiB */ };

/* Files without a compaction: nobody but the reads below meets the block. */
static void setup(void)
{
    fix_setup_in_memory();
    damaged_put(0, 0, ROWS, 1);
    damaged_put(1, 0, ROWS, 1);
    fix_reopen();
    damaged_flip(0, HIT, 1);
}

static uint64_t corrupt_reads(void)
{
    struct sto_engine_stats stats;
    sto_engine_stats_get(fix.engine, &stats);
    return stats.corrupt_reads;
}

/* How many rows cannot be read: those of one block. */
static int rows_lost(size_t tenant)
{
    int lost = 0;
    for (int i = 0; i < ROWS; i++) {
        enum err rc = damaged_read(tenant, i, i % 2 == 0);
        ck_assert(rc == ERR_OK || rc == ERR_CORRUPT);
        lost += rc == ERR_CORRUPT;
    }
    return lost;
}

START_TEST(a_read_of_the_block_fails_and_nothing_else)
{
    for (int round = 0; round < 3; round++) {
        ck_assert_int_eq(damaged_read(0, HIT, round == 1), ERR_CORRUPT);
        ck_assert_str_eq(fix_detail.text, "the rows cannot be read");
        int lost = rows_lost(0);
        ck_assert_int_ge(lost, 1);
        ck_assert_int_le(lost, BLOCK_ROWS);
        ck_assert_int_eq(rows_lost(1), 0);
        damaged_assert_sound();
        fix_reopen();
    }
}
END_TEST

START_TEST(a_scan_fails_at_the_block_and_succeeds_beside_it)
{
    uint64_t rows = 0;
    for (int reversed = 0; reversed < 2; reversed++) {
        ck_assert_int_eq(damaged_scan(0, 0, ROWS, reversed != 0, &rows), ERR_CORRUPT);
        ck_assert_uint_lt(rows, ROWS - 1);
        ck_assert_int_eq(damaged_scan(0, 0, HIT - BLOCK_ROWS, reversed != 0, &rows), ERR_OK);
        ck_assert_uint_eq(rows, HIT - BLOCK_ROWS);
        ck_assert_int_eq(damaged_scan(0, HIT + BLOCK_ROWS, ROWS, reversed != 0, &rows), ERR_OK);
        ck_assert_uint_eq(rows, ROWS - HIT - BLOCK_ROWS);
        ck_assert_int_eq(damaged_scan(1, 0, ROWS, reversed != 0, &rows), ERR_OK);
        ck_assert_uint_eq(rows, ROWS);
    }
    damaged_assert_sound();
}
END_TEST

/* Submitted at once: they share batches. */
START_TEST(a_write_of_the_row_fails_and_its_neighbours_succeed)
{
    static struct sto_mutate_op ops[ROWS];
    static char keys[ROWS][16];
    struct sto_mutation set = fix_set(1, "q", 1000, SLICE_LIT("new"));
    for (int i = 0; i < ROWS; i++) {
        damaged_row_key(keys[i], i);
        ops[i] = (struct sto_mutate_op){.scope = fix.tables[0][0],
                                        .row_key = base_slice_text(keys[i]),
                                        .mutations = &set,
                                        .mutation_count = 1};
        fix_submit(&ops[i]);
    }
    fix_wait();
    int failed = 0;
    for (int i = 0; i < ROWS; i++) {
        ck_assert(ops[i].result == ERR_OK || ops[i].result == ERR_CORRUPT);
        failed += ops[i].result == ERR_CORRUPT;
        if (ops[i].result == ERR_OK)
            ck_assert_int_eq(damaged_read(0, i, false), ERR_OK);
    }
    ck_assert_int_eq(ops[HIT].result, ERR_CORRUPT);
    ck_assert_int_le(failed, BLOCK_ROWS);
    ck_assert_int_eq(fix_delete_row(&fix.tables[0][0], keys[HIT]), ERR_CORRUPT);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], keys[HIT], "new"), ERR_OK);
    damaged_assert_sound();
}
END_TEST

START_TEST(damage_is_counted_and_located)
{
    struct sto_damage damage;
    sto_damage_get(fix.engine, &damage);
    ck_assert_uint_eq(damage.count, 0);
    ck_assert_uint_eq(corrupt_reads(), 0);
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_LOST); /* else it may be rewritten already */
    ck_assert_int_eq(damaged_read(0, HIT, true), ERR_CORRUPT);
    ck_assert_int_eq(damaged_read(0, HIT, false), ERR_CORRUPT);
    ck_assert_uint_eq(corrupt_reads(), 2);
    sto_damage_get(fix.engine, &damage);
    ck_assert_uint_eq(damage.count, 1);
    ck_assert_str_eq(damage.files[0].family, "cells");
    ck_assert_uint_gt(damage.files[0].number, 0);
    ck_assert_uint_gt(damage.files[0].block_bytes, DAMAGED_VALUE);
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_NEVER);
}
END_TEST

/* Drops, counts and recounts of the tenant; those of its neighbour. */
START_TEST(work_on_many_rows_fails_for_its_tenant_alone)
{
    struct sto_row_range all = {.start = SLICE_EMPTY};
    ck_assert_int_eq(fix_drop(&fix.tables[0][0], all, 0, NULL), ERR_CORRUPT);
    ck_assert_int_eq(fix_recount(0).result, ERR_CORRUPT);
    struct sto_recount_op other = fix_recount(1);
    ck_assert_int_eq(other.result, ERR_OK);
    ck_assert_uint_eq(other.counted.rows, ROWS);
    ck_assert_int_eq(fix_drop(&fix.tables[1][0], all, 0, NULL), ERR_OK);
    damaged_assert_sound();
}
END_TEST

START_TEST(texts_of_rocksdb_name_the_block)
{
    struct sto_damaged_file f;
    ck_assert(sto_rdb_damage_parse("Corruption: block checksum mismatch: stored = 1, computed = 2, "
                                   "type = 4  in /a/1.sst/db/000012.sst offset 345 size 678",
                                   &f));
    ck_assert_uint_eq(f.number, 12);
    ck_assert_uint_eq(f.offset, 345);
    ck_assert_uint_eq(f.block_bytes, 678);
    ck_assert(sto_rdb_damage_parse("Corruption: truncated block read from /d/4711.sst offset 9, "
                                   "expected 8 bytes, got 7",
                                   &f));
    ck_assert_uint_eq(f.number, 4711);
    ck_assert_uint_eq(f.offset, 9);
    ck_assert_uint_eq(f.block_bytes, 8);
    ck_assert(!sto_rdb_damage_parse("Corruption: bad entry in block", &f));
    ck_assert(!sto_rdb_damage_parse("Corruption: /d/.sst offset 1 size 2", &f));
    ck_assert(!sto_rdb_damage_parse("", &f));
}
END_TEST

/* Which RocksDB would answer by refusing every write. */
START_TEST(a_compaction_that_meets_the_block_stops_nobody)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    const struct sto_range range = sto_range_of_table(&fix.tables[0][0]);
    struct errbuf eb = {{0}};
    sto_rdb_range_compact(e, RDB_CF_CELLS, sto_range_begin(&range), sto_range_end(&range));
    ck_assert_int_eq(sto_rdb_compactions_check(e, &eb), ERR_OK); /* without the block */
    for (int i = 0; i < 15; i++) {
        ck_assert_int_eq(fix_put(&fix.tables[1][0], "after", "value"), ERR_OK);
        ck_assert(!sto_rdb_background_failed(e)); /* as maintenance asks once a second */
    }
    damaged_assert_sound();
    ck_assert_int_eq(damaged_read(0, HIT, false), ERR_CORRUPT);
}
END_TEST

Suite *suite_storage_engine_damage(void)
{
    Suite *s = suite_create("storage_engine_damage");
    TCase *t = tcase_create("reads");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_add_test(t, a_read_of_the_block_fails_and_nothing_else);
    tcase_add_test(t, a_scan_fails_at_the_block_and_succeeds_beside_it);
    tcase_add_test(t, a_write_of_the_row_fails_and_its_neighbours_succeed);
    tcase_add_test(t, damage_is_counted_and_located);
    tcase_add_test(t, work_on_many_rows_fails_for_its_tenant_alone);
    tcase_add_test(t, a_compaction_that_meets_the_block_stops_nobody);
    suite_add_tcase(s, t);
    t = tcase_create("texts");
    tcase_add_test(t, texts_of_rocksdb_name_the_block);
    suite_add_tcase(s, t);
    return s;
}

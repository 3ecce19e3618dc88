/*
 * tests/storage/levels.h - a tenant between two large neighbours, with files in several levels.
 *
 * Does:     fills the first and the last tenant until their files are in several levels.
 * Owns:     nothing.
 * May use:  tests/storage/fixture.h.
 * Knows no: the tests.
 * Threads:  the test's main thread.
 * Blocks:   for answers.
 * Fails by: ck_assert.
 * Limits:   MANY_ROWS rows of each.
 * Promises: 1. After fill_levels the cells are in at least three levels, with the options of
 *              fix_setup.
 */
#ifndef TESTS_STORAGE_LEVELS_H
#define TESTS_STORAGE_LEVELS_H

#include "fixture.h"

#include "tests/support/random.h"

enum { MANY_ROWS = 30000, BATCH = 500 };

/* Writes rows first, first + step, ... of a tenant, with incompressible values. */
UNUSED_FN static void fill_many(size_t tenant, int first, int step)
{
    static struct many_op {
        struct sto_mutate_op op;
        struct sto_mutation m;
        char row[16];
        uint64_t value[12];
    } ops[BATCH];
    struct random dice = {(uint64_t)first + 7};
    for (int i = first; i < MANY_ROWS;) {
        int n = 0;
        for (; n < BATCH && i < MANY_ROWS; n++, i += step) {
            struct many_op *o = &ops[n];
            for (size_t k = 0; k < sizeof o->value / sizeof o->value[0]; k++)
                o->value[k] = random_next(&dice);
            (void)snprintf(o->row, sizeof o->row, "row-%06d", i);
            o->m = fix_set(1, "q", 1000, base_slice(o->value, sizeof o->value));
            o->op = (struct sto_mutate_op){.scope = fix.tables[tenant][0],
                                           .row_key = base_slice_text(o->row),
                                           .mutations = &o->m,
                                           .mutation_count = 1};
            fix_submit(&o->op);
        }
        for (int k = 0; k < n; k++) {
            fix_until_taken(&ops[k].op); /* such small files are many */
            ck_assert_int_eq(ops[k].op.result, ERR_OK);
        }
    }
}

UNUSED_FN static int levels_in_use(void)
{
    bool has[16] = {false};
    int count = 0;
    const rocksdb_livefiles_t *files = rocksdb_livefiles(sto_rdb_engine(fix.engine)->db.handle);
    for (int i = 0; i < rocksdb_livefiles_count(files); i++)
        has[rocksdb_livefiles_level(files, i)] |=
            strcmp(rocksdb_livefiles_column_family_name(files, i), "cells") == 0;
    rocksdb_livefiles_destroy(files);
    for (int i = 0; i < 16; i++)
        count += has[i];
    return count;
}

UNUSED_FN static void fill_levels(void)
{
    fill_many(0, 0, 1);
    fill_many(2, 0, 1);
    fill_many(0, 0, 7); /* again, so that upper levels overlap the last one */
    fill_many(2, 3, 7);
    for (int round = 0; levels_in_use() < 3; round++) { /* compactions are pending, or done */
        ck_assert_int_lt(round, 20);
        fill_many(0, round % 7, 7);
    }
}

#endif

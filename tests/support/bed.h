/*
 * tests/support/bed.h - files that a test's database contains at its start: rows of other tenants,
 * and deleted rows of the test's own tenants.
 *
 * Does:     creates such a database once for each test program, checks its levels, copies it into
 *           the directory of a test.
 * Owns:     the database, in the directory that all tests of the program share.
 * May use:  tests/storage/fixture.h, tests/support/.
 * Knows no: the tests.
 * Threads:  the test's main thread. RocksDB runs in a child only, so the test may fork afterwards.
 * Blocks:   until the database is created.
 * Fails by: ck_assert.
 * Limits:   two such databases: with and without the deleted rows.
 * Promises: 1. With the options of the fixture, level 0, the last level and one between them have
 *              files; level 0 and the last level have them before and after each of the fixture's
 *              tenants.
 *           2. Filters are larger than the cache.
 *           3. The fixture's tenants have no visible row, and their counters are 0.
 */
#ifndef TESTS_SUPPORT_BED_H
#define TESTS_SUPPORT_BED_H

enum bed {
    BED_NONE,
    BED_NEIGHBOURS, /* rows of other tenants, before, between and after the fixture's */
    BED_OLD_ROWS,   /* also deleted rows of the fixture's tenants, in their tables "t" */
};

/* Copies the database into the directory, which exists and is empty. */
void bed_lay(const char *dir, enum bed bed);

#endif

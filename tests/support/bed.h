/*
 * tests/support/bed.h - what is in the files under a test's database: rows of neighbours, and old
 * rows of the test's own tenants that were deleted.
 *
 * Does:     makes such a database once for each test program, checks its levels, copies it into the
 *           directory of a test.
 * Owns:     the database, in the directory that all tests of the program share.
 * May use:  tests/storage/fixture.h, tests/support/.
 * Knows no: what is tested.
 * Threads:  the test's main thread. RocksDB runs in a child only, so the test may fork afterwards.
 * Blocks:   until the database is made.
 * Fails by: ck_assert.
 * Limits:   two such databases: with the old rows, and without.
 * Promises: 1. With the options of the fixture, level 0, the last level and one between them have
 *              files; level 0 and the last one before and behind each tenant of the fixture.
 *           2. Filters are larger than the cache.
 *           3. The fixture's tenants have no visible row, and their counters are 0.
 */
#ifndef TESTS_SUPPORT_BED_H
#define TESTS_SUPPORT_BED_H

enum bed {
    BED_NONE,
    BED_NEIGHBOURS, /* rows of other tenants, before, between and behind the fixture's */
    BED_OLD_ROWS,   /* the same, and deleted rows of the fixture's tenants, in the tables t */
};

/* The directory is there, and empty. */
void bed_lay(const char *dir, enum bed bed);

#endif

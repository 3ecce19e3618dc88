/*
 * tests/storage/test_engine_shares.c - flushes, compactions and erasures get more the further they
 * lag.
 */
#include "fixture.h"

#include <sys/resource.h>

#include "base/share.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/shares.h"
#include "tests/storage/drops.h"
#include "tests/support/threads.h"

#include "base/banned.h"

Suite *suite_storage_engine_shares(void);

#define T &fix.tables[0][0]

enum { ROWS = 50, NOW_MS = 1000 * 1000 };

static const uint64_t NS_PER_MS = 1000000;

/* Lag is what this test says, not what the engine sees. */
static void shares_setup(void)
{
    fix_prepare();
    fix_open();
    sto_rdb_maintenance_stop(&engine()->maintenance);
}

static uint32_t lag_of(enum base_class c)
{
    struct base_class_now now;
    base_class_get(c, &now);
    return now.lag;
}

static int nice_of(enum base_class c)
{
    struct base_class_now now;
    base_class_get(c, &now);
    return now.nice;
}

static void expect_lags(uint32_t flush, uint32_t compact, uint32_t erase)
{
    sto_rdb_shares_look(engine(), NOW_MS * NS_PER_MS);
    ck_assert_uint_eq(lag_of(BASE_FLUSH), flush);
    ck_assert_uint_eq(lag_of(BASE_COMPACT), compact);
    ck_assert_uint_eq(lag_of(BASE_ERASE), erase);
}

/* An erasure that was asked for so long ago. */
static void erase_for(uint64_t ms)
{
    sto_erasing_since(fix.engine, (NOW_MS - ms) * NS_PER_MS);
}

START_TEST(an_erasure_takes_what_it_waits_for_with_it)
{
    expect_lags(0, 0, 0);
    erase_for(RDB_ERASE_CALM_MS);
    expect_lags(0, 0, 0);
    erase_for((RDB_ERASE_CALM_MS + RDB_ERASE_FULL_MS) / 2);
    expect_lags(500, 500, 500);
    erase_for(RDB_ERASE_FULL_MS);
    expect_lags(BASE_LAG_FULL, BASE_LAG_FULL, BASE_LAG_FULL);
    erase_for(100 * RDB_ERASE_FULL_MS);
    expect_lags(BASE_LAG_FULL, BASE_LAG_FULL, BASE_LAG_FULL);
    sto_erasing_since(fix.engine, 0);
    expect_lags(0, 0, 0);
}
END_TEST

START_TEST(compactions_lag_before_writes_are_refused)
{
    struct rdb_pressure *p = &engine()->pressure;
    struct rdb_signs signs = {.level0_files = RDB_LEVEL0_LAGS, .pending_bytes = RDB_PENDING_LAGS};
    ck_assert_uint_eq(sto_rdb_pressure_of(&signs), 0);
    atomic_store(&p->level0_files, RDB_LEVEL0_LAGS);
    expect_lags(0, BASE_LAG_FULL, 0);
    atomic_store(&p->level0_files, (RDB_LEVEL0_CALM + RDB_LEVEL0_LAGS) / 2);
    expect_lags(0, 500, 0);
    atomic_store(&p->pending_bytes, RDB_PENDING_LAGS);
    expect_lags(0, BASE_LAG_FULL, 0);
    erase_for((RDB_ERASE_CALM_MS + RDB_ERASE_FULL_MS) / 2);
    expect_lags(500, BASE_LAG_FULL, 500); /* the worst of them */
}
END_TEST

START_TEST(flushes_lag_when_memtables_wait)
{
    struct rdb_pressure *p = &engine()->pressure;
    atomic_store(&p->memtables_waiting, RDB_MEMTABLES_CALM);
    expect_lags(0, 0, 0);
    atomic_store(&p->memtables_waiting, RDB_MEMTABLES_LAG);
    expect_lags(BASE_LAG_FULL, 0, 0);
}
END_TEST

/* --- threads ---------------------------------------------------------------------------------- */

static int at_nice(const char *prefix, int nice)
{
    return threads_count(getpid(), prefix, nice, nice);
}

static unsigned threads_of(enum base_class c)
{
    struct base_class_now now;
    base_class_get(c, &now);
    return now.threads;
}

/* Some thread of each kind has worked; the others of its pool are as they began. */
static void work(void)
{
    struct sto_range range = sto_range_of_table(T);
    fill(T, "row", "value", ROWS);
    ck_assert_int_eq(sto_rdb_flush(engine()), ERR_OK);
    sto_rdb_range_compact(engine(), RDB_CF_CELLS, sto_range_begin(&range), sto_range_end(&range));
}

START_TEST(rocksdbs_threads_have_the_shares_of_their_work)
{
    work();
    ck_assert_uint_ge(threads_of(BASE_FLUSH), 1);
    ck_assert_uint_ge(threads_of(BASE_COMPACT), 1);
    ck_assert_int_ge(at_nice("rocksdb:high", nice_of(BASE_FLUSH)), (int)threads_of(BASE_FLUSH));
    ck_assert_int_ge(at_nice("rocksdb:low", nice_of(BASE_COMPACT)), (int)threads_of(BASE_COMPACT));
    int before = nice_of(BASE_COMPACT);
    erase_for(RDB_ERASE_FULL_MS);
    sto_rdb_shares_look(engine(), NOW_MS * NS_PER_MS);
    ck_assert_int_le(nice_of(BASE_COMPACT), before); /* as it was without the right */
    ck_assert_int_ge(at_nice("rocksdb:low", nice_of(BASE_COMPACT)), (int)threads_of(BASE_COMPACT));
}
END_TEST

Suite *suite_storage_engine_shares(void)
{
    Suite *s = suite_create("storage_engine_shares");
    TCase *t = tcase_create("shares");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, shares_setup, fix_teardown);
    tcase_add_test(t, an_erasure_takes_what_it_waits_for_with_it);
    tcase_add_test(t, compactions_lag_before_writes_are_refused);
    tcase_add_test(t, flushes_lag_when_memtables_wait);
    tcase_add_test(t, rocksdbs_threads_have_the_shares_of_their_work);
    suite_add_tcase(s, t);
    return s;
}

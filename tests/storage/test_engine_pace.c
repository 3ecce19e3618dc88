/*
 * tests/storage/test_engine_pace.c - how fast files are rewritten to give space back.
 *
 * Times are lower bounds: a slow machine makes them longer, never shorter.
 */
#include "fixture.h"

#include "base/clock.h"
#include "storage/rocksdb/ranges.h"
#include "tests/storage/drops.h"

#include "base/banned.h"

Suite *suite_storage_engine_pace(void);

#define T      &fix.tables[0][0]
#define OTHERS &fix.tables[1][0]

enum { ROWS = 900, VALUE_BYTES = 8192, BYTES_PER_S = 8 * 1024 * 1024 };
enum { PASSES = 4 }; /* one more than RocksDB 9.10 makes of a rewriting; 7.8 makes fewer */

static char value[VALUE_BYTES + 1];

static void pace_setup(void)
{
    fix_prepare_alone(); /* the bytes that are rewritten are counted */
    fix.options.memtable_bytes = 4 * MIB;
    fix.options.file_bytes = 64 * MIB;
    fix.options.level_bytes = 256 * MIB;
    fix.options.reclaim_bytes_per_s = BYTES_PER_S;
    fix_open();
    engine()->pace.burst_bytes = 0;
    memset(value, 'v', VALUE_BYTES);
    fill(T, "row", value, ROWS);
}

static void pace_setup_flushed(void)
{
    pace_setup();
    ck_assert_int_eq(sto_rdb_flush(engine()), ERR_OK);
}

/* --- somebody else ---------------------------------------------------------------------------- */

static pthread_t rewriter;
static _Atomic bool is_rewriting;

static void *rewrite(void *arg)
{
    struct sto_range range = sto_range_of_table(T);
    (void)arg;
    sto_rdb_range_compact(engine(), RDB_CF_CELLS, sto_range_begin(&range), sto_range_end(&range));
    atomic_store(&is_rewriting, false);
    return NULL;
}

static void rewrite_begin(void)
{
    atomic_store(&is_rewriting, true);
    ck_assert_int_eq(pthread_create(&rewriter, NULL, rewrite, NULL), 0);
}

static void rewrite_end(void)
{
    ck_assert_int_eq(pthread_join(rewriter, NULL), 0);
}

/* Signs of another tenant: what it writes, or reads from files. */
static void be_served(bool reads)
{
    if (reads) {
        atomic_fetch_add(&engine()->reads_handed_over, 1);
        return;
    }
    ck_assert_int_eq(fix_put(OTHERS, "row", "value"), ERR_OK);
}

static uint64_t rested_ns(void)
{
    return atomic_load(&engine()->pace.rested_ns);
}

/* Until it ends, beside somebody who is served all the time; how long it took. */
static uint64_t rewrite_beside(void)
{
    uint64_t begun_ns = base_monotonic_ns();
    atomic_store(&engine()->pace.test_is_busy, true);
    rewrite_begin();
    rewrite_end();
    atomic_store(&engine()->pace.test_is_busy, false);
    return base_monotonic_ns() - begun_ns;
}

/* Gives a sign; returns whether the rewriting rests or has ended. */
static bool rests_or_ended(void *reads)
{
    be_served(*(const bool *)reads);
    return rested_ns() > 0 || !atomic_load(&is_rewriting);
}

/* Rewrites beside signs until it rests: a machine that stands still gives none while it does. */
static bool rests_at_a_sign(void *reads)
{
    be_served(*(const bool *)reads);
    rewrite_begin();
    process_await(rests_or_ended, reads, "a rest or the end of a rewriting");
    sto_rocksdb_test_pressure(fix.engine, 1);
    rewrite_end();
    sto_rocksdb_test_pressure(fix.engine, 0);
    return rested_ns() > 0;
}

/* --- tests ------------------------------------------------------------------------------------ */

START_TEST(beside_others_a_rewriting_takes_its_time)
{
    /* The first look is behind a MiB; what is behind the last one is not waited for. */
    const uint64_t bytes = ROWS * VALUE_BYTES - 2 * RDB_PACE_BYTES;
    const uint64_t least_ns = bytes * 1000000000ULL / BYTES_PER_S;
    ck_assert_uint_ge(rewrite_beside(), least_ns);
    ck_assert_uint_gt(rested_ns(), 0);
    ck_assert_uint_eq(physical_keys(T), 3 * ROWS);
}
END_TEST

START_TEST(writes_and_reads_of_others_are_signs)
{
    bool reads = _i == 1;
    process_await(rests_at_a_sign, &reads, "a rest");
}
END_TEST

START_TEST(alone_it_does_not_rest)
{
    rewrite_begin();
    rewrite_end();
    ck_assert_uint_eq(rested_ns(), 0);
    ck_assert_uint_eq(physical_keys(T), 3 * ROWS);
}
END_TEST

START_TEST(what_is_over_in_a_moment_does_not_rest)
{
    engine()->options.reclaim_bytes_per_s =
        BYTES_PER_S / 32; /* what is over stays so for a while */
    engine()->pace.burst_bytes = PASSES * ROWS * VALUE_BYTES;
    (void)rewrite_beside();
    ck_assert_uint_eq(rested_ns(), 0);
    bool reads = false; /* what passed without a sign is not counted */
    process_await(rests_at_a_sign, &reads, "a rest behind the burst");
}
END_TEST

START_TEST(it_does_not_rest_when_writers_would_wait_for_it)
{
    sto_rocksdb_test_pressure(fix.engine, 1);
    (void)rewrite_beside();
    ck_assert_uint_eq(rested_ns(), 0);
}
END_TEST

START_TEST(without_a_bound_it_does_not_rest)
{
    engine()->options.reclaim_bytes_per_s = UINT64_MAX;
    (void)rewrite_beside();
    ck_assert_uint_eq(rested_ns(), 0);
}
END_TEST

static bool rests(void *arg)
{
    (void)arg;
    return rested_ns() > 0;
}

/* It would take two hours. */
START_TEST(closing_ends_a_rest)
{
    engine()->options.reclaim_bytes_per_s = 1000;
    atomic_store(&engine()->pace.test_is_busy, true);
    rewrite_begin();
    process_await(rests, NULL, "a rest");
    ck_assert(atomic_load(&is_rewriting));
    atomic_store(&engine()->closing, true);
    rewrite_end();
    atomic_store(&engine()->closing, false);
}
END_TEST

/* A flush of many files, which RocksDB compacts by itself. */
START_TEST(compactions_of_rocksdb_itself_do_not_rest)
{
    engine()->options.reclaim_bytes_per_s = 1000;
    for (int i = 0; i < 8; i++) {
        fill(T, "row", value, ROWS / 4);
        ck_assert_int_eq(sto_rdb_flush(engine()), ERR_OK);
    }
    struct sto_engine_stats stats;
    do {
        be_served(false);
        sto_engine_stats_get(fix.engine, &stats);
    } while (stats.compactions_running > 0 || stats.level0_files >= 4);
    ck_assert_uint_eq(rested_ns(), 0);
}
END_TEST

/* --- beside a compaction that was begun before ------------------------------------------------ */

static pthread_t other;

static void *compact_all(void *arg)
{
    rocksdb_compactoptions_t *options = rocksdb_compactoptions_create();
    rocksdb_compactoptions_set_exclusive_manual_compaction(options, 0);
    (void)arg;
    rocksdb_compact_range_cf_opt(engine()->db.handle, engine()->db.cells, options, NULL, 0, NULL,
                                 0);
    rocksdb_compactoptions_destroy(options);
    return NULL;
}

/* The last write there is: RocksDB would look again at rows with newer ones behind them. */
static void delete_all(void)
{
    struct sto_range range = sto_range_of_table(T);
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    sto_rdb_range_delete(engine(), batch, RDB_CF_CELLS, sto_span_of(&range), (T)->tenant.account);
    ck_assert_int_eq(sto_rdb_write(engine(), batch), ERR_OK);
    rocksdb_writebatch_destroy(batch);
}

/* Another compaction rests, and keeps what a snapshot saw when it began, which it moves to where
 * nothing was before. */
static void other_begin(void)
{
    const rocksdb_snapshot_t *held = hold_bytes();
    delete_all();
    ck_assert_int_eq(sto_rdb_flush(engine()), ERR_OK); /* three files: nobody else compacts them */
    engine()->options.reclaim_bytes_per_s = 1000;
    atomic_store(&engine()->pace.test_is_busy, true);
    ck_assert_int_eq(pthread_create(&other, NULL, compact_all, NULL), 0);
    process_await(rests, NULL, "a rest");
    let_bytes_go(held);
}

START_TEST(what_another_compaction_kept_is_rewritten)
{
    other_begin();
    rewrite_begin();
    (void)usleep(100000); /* it looked, and waits */
    ck_assert(atomic_load(&is_rewriting));
    engine()->options.reclaim_bytes_per_s = UINT64_MAX;
    atomic_store(&engine()->pace.test_is_busy, false);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    rewrite_end();
    ck_assert_uint_eq(physical_keys(T), 0);
    ck_assert_int_eq(sto_rdb_tombstones_clear(engine(), &(bool){false}, NULL), ERR_OK);
}
END_TEST

Suite *suite_storage_engine_pace(void)
{
    Suite *s = suite_create("storage_engine_pace");
    TCase *t = tcase_create("pace");
    tcase_add_checked_fixture(t, pace_setup_flushed, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, beside_others_a_rewriting_takes_its_time);
    tcase_add_loop_test(t, writes_and_reads_of_others_are_signs, 0, 2);
    tcase_add_test(t, alone_it_does_not_rest);
    tcase_add_test(t, what_is_over_in_a_moment_does_not_rest);
    tcase_add_test(t, it_does_not_rest_when_writers_would_wait_for_it);
    tcase_add_test(t, without_a_bound_it_does_not_rest);
    tcase_add_test(t, closing_ends_a_rest);
    tcase_add_test(t, compactions_of_rocksdb_itself_do_not_rest);
    suite_add_tcase(s, t);
    t = tcase_create("beside another");
    tcase_add_checked_fixture(t, pace_setup, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, what_another_compaction_kept_is_rewritten);
    suite_add_tcase(s, t);
    return s;
}

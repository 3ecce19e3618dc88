/*
 * tests/storage/test_cache_sample.c - one slice of reads in so many is counted, the others are not;
 * reads that were not in memory; time under a stall.
 */
#include "fixture.h"

#include "base/banned.h"

static void read_row(bool try_inline)
{
    struct fix_sink s;
    fix_sink_init(&s);
    const struct sto_read_spec spec = {.row_key = SLICE_LIT("row")};
    ck_assert_int_eq(fix_read(&fix.tables[0][0], &spec, &s, try_inline), ERR_OK);
    ck_assert_str_eq((const char *)s.text.ptr, "row{f:q@1000=value,}");
    base_buf_fini(&s.text);
}

static struct sto_engine_stats stats_now(void)
{
    struct sto_engine_stats now;
    sto_engine_stats_get(fix.engine, &now);
    return now;
}

/* One row in a file, nothing in memory. */
static void set_up(void)
{
    fix_setup_alone(); /* each block that is read is counted */
    ck_assert_int_eq(fix_put(&fix.tables[0][0], "row", "value"), ERR_OK);
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
    fix_reopen();
    fix_wait_for_memory();
}

START_TEST(what_is_not_in_memory_is_handed_over_and_read)
{
    read_row(true);
    struct sto_engine_stats first = stats_now();
    ck_assert_uint_eq(first.reads_handed_over, 1);
    ck_assert_uint_ge(first.cache_misses, 1); /* the first slice of that reader */
    read_row(true);
    ck_assert_uint_eq(stats_now().reads_handed_over, 1);
    read_row(false); /* not tried */
    ck_assert_uint_eq(stats_now().reads_handed_over, 1);
}
END_TEST

START_TEST(one_slice_in_so_many_is_counted)
{
    read_row(true); /* counted, as the first one of this thread */
    struct sto_engine_stats before = stats_now();
    for (int i = 1; i < RDB_CACHE_SAMPLE; i++)
        read_row(true);
    ck_assert_uint_eq(stats_now().cache_hits, before.cache_hits);
    read_row(true);
    uint64_t hits = stats_now().cache_hits - before.cache_hits;
    ck_assert_uint_ge(hits, 1);
    for (int i = 0; i < 3 * RDB_CACHE_SAMPLE; i++)
        read_row(true);
    ck_assert_uint_eq(stats_now().cache_hits, before.cache_hits + 4 * hits);
    ck_assert_uint_eq(stats_now().cache_misses, before.cache_misses);
}
END_TEST

START_TEST(time_under_a_stall_is_added_up)
{
    struct rdb_pressure p = {.looked_ns = 0};
    sto_rdb_pressure_pass(&p, 1000);
    sto_rdb_pressure_pass(&p, 1250);
    ck_assert_uint_eq(atomic_load(&p.delayed_ns) + atomic_load(&p.stopped_ns), 0);
    atomic_store(&p.delayed_write_rate, 1);
    sto_rdb_pressure_pass(&p, 1500);
    ck_assert_uint_eq(atomic_load(&p.delayed_ns), 250);
    atomic_store(&p.stopped, true); /* is worse, and counts alone */
    sto_rdb_pressure_pass(&p, 2000);
    ck_assert_uint_eq(atomic_load(&p.delayed_ns), 250);
    ck_assert_uint_eq(atomic_load(&p.stopped_ns), 500);
    atomic_store(&p.stopped, false);
    atomic_store(&p.delayed_write_rate, 0);
    sto_rdb_pressure_pass(&p, 9000);
    ck_assert_uint_eq(atomic_load(&p.delayed_ns), 250);
    ck_assert_uint_eq(atomic_load(&p.stopped_ns), 500);
}
END_TEST

Suite *suite_storage_cache_sample(void);

Suite *suite_storage_cache_sample(void)
{
    Suite *s = suite_create("storage_cache_sample");
    TCase *tc = tcase_create("cache_sample");
    tcase_add_checked_fixture(tc, set_up, fix_teardown);
    tcase_add_test(tc, what_is_not_in_memory_is_handed_over_and_read);
    tcase_add_test(tc, one_slice_in_so_many_is_counted);
    suite_add_tcase(s, tc);
    tc = tcase_create("stalls");
    tcase_add_test(tc, time_under_a_stall_is_added_up);
    suite_add_tcase(s, tc);
    return s;
}

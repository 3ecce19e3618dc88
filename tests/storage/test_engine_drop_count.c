/*
 * tests/storage/test_engine_drop_count.c - dry runs of drops: slices, what they read, what ends
 * them.
 */
#define _GNU_SOURCE
#include "drops.h"

#include "base/watchdog.h"
#include "storage/rocksdb/slice_clock.h"
#include "tests/support/wall.h"

#include "base/banned.h"

#define T (&fix.tables[0][0])

enum {
    ROWS = 300,
    SLICE_ROWS = RDB_CLOCK_STEPS, /* of one that is overdue at once */
    LONG_S = 3600,
};
#define LONG_NS (LONG_S * UINT64_C(1000000000))

static struct sto_drop_op op;
static struct buf resume;
static _Atomic bool is_unwanted;

static void setup(void)
{
    fix_setup();
    base_buf_init(&resume, LIM_ROW_KEY);
    op = (struct sto_drop_op){.scope = *T,
                              .dry_run = true,
                              .resume = &resume,
                              .stop = &is_unwanted,
                              .reply_to = &fix.mailbox,
                              .done = fix_drop_done};
}

static void teardown(void)
{
    atomic_store(&base_watchdog_test_hurry, false);
    base_buf_fini(&resume);
    fix_teardown();
}

static void slice_submit(void)
{
    base_buf_truncate(&resume, 0);
    fix.outstanding++;
    sto_drop_rows(fix.engine, &op);
}

static enum err slice_run(void)
{
    slice_submit();
    fix_wait();
    ck_assert_uint_eq(atomic_load(&fix.accounts[0].reads_open), 0);
    return op.result;
}

/* All slices of all rows with the prefix; how many those were. */
static size_t count_all(const char *prefix, struct sto_usage *out, uint64_t *out_bytes_seen)
{
    static uint8_t end[LIM_ROW_KEY], start[LIM_ROW_KEY];
    size_t slices = 0;
    *out = (struct sto_usage){0};
    *out_bytes_seen = 0;
    op.range = sto_range_of_prefix(base_slice_text(prefix), end);
    do {
        ck_assert_int_eq(slice_run(), ERR_OK);
        ck_assert_uint_eq(op.steps, op.removed.rows);
        out->rows += op.removed.rows;
        out->cells += op.removed.cells;
        out->bytes += op.removed.bytes;
        *out_bytes_seen += op.bytes_seen;
        memcpy(start, resume.ptr, resume.len);
        op.range.start = base_slice(start, resume.len);
        slices++;
    } while (resume.len > 0);
    return slices;
}

START_TEST(rows_are_counted_exactly_whatever_the_slices_are)
{
    struct sto_usage counted;
    uint64_t bytes_seen = 0, bytes_in_slices = 0;
    fill(T, "other", "text", 10);
    struct sto_usage others = sto_counters_read(&T->schema->table->counters);
    fill(T, "row", "text", ROWS);
    struct sto_usage all = sto_counters_read(&T->schema->table->counters);
    ck_assert_uint_eq(count_all("row", &counted, &bytes_seen), 1);
    atomic_store(&base_watchdog_test_hurry, true);
    ck_assert_uint_ge(count_all("row", &counted, &bytes_in_slices), ROWS / SLICE_ROWS);
    atomic_store(&base_watchdog_test_hurry, false);
    ck_assert_uint_eq(counted.rows, ROWS);
    ck_assert_uint_eq(counted.cells, all.cells - others.cells);
    ck_assert_uint_eq(counted.bytes, all.bytes - others.bytes);
    ck_assert_uint_eq(bytes_seen, bytes_in_slices);
    ck_assert_uint_ge(bytes_seen, ROWS * strlen("row-0000"));
    ck_assert_uint_le(bytes_seen, ROWS * (strlen("row-0000") + 40)); /* and a header */
    ck_assert_uint_eq(sto_counters_read(&T->schema->table->counters).rows, all.rows);
    fix_assert_no_drift(0);
}
END_TEST

/* What the readers' fair order was charged for it. */
START_TEST(what_is_counted_is_charged_to_the_readers)
{
    const struct sto_fair_line *scans = &fix.accounts[0].scans;
    fill(T, "row", "text", DROPS_ROWS);
    uint64_t before = scans->virtual_time;
    op.range = (struct sto_row_range){.start = SLICE_LIT("rox")};
    ck_assert_int_eq(slice_run(), ERR_OK);
    ck_assert_uint_eq(op.removed.rows, 0);
    uint64_t of_none = scans->virtual_time - before;
    op.range = (struct sto_row_range){.start = SLICE_EMPTY};
    ck_assert_int_eq(slice_run(), ERR_OK);
    ck_assert_uint_eq(op.removed.rows, DROPS_ROWS);
    uint64_t of_all = scans->virtual_time - before - of_none;
    ck_assert_uint_ge(of_all, DROPS_ROWS / RDB_STEPS_PER_OP * of_none);
}
END_TEST

static void cancel(void)
{
    atomic_store(&is_unwanted, true);
}

static void run_late(void)
{
    wall_pass_s(LONG_S);
}

static const struct end {
    void (*come)(void);
    enum err result;
    uint64_t rows; /* are read first: the clock is read every RDB_CLOCK_STEPS */
} ENDS[] = {{cancel, ERR_CANCELLED, 0}, {run_late, ERR_TIMEOUT, RDB_CLOCK_STEPS}};

START_TEST(a_slice_ends_when_it_may_not_go_on)
{
    fill(T, "row", "text", ROWS);
    op.deadline_ns = base_monotonic_ns() + LONG_NS;
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_LOOKING);
    slice_submit();
    fix_await_held();
    ENDS[_i].come();
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_NEVER);
    fix_wait();
    ck_assert_int_eq(op.result, ENDS[_i].result);
    ck_assert_uint_eq(op.steps, ENDS[_i].rows);
}
END_TEST

static void suspend(void)
{
    atomic_store(&fix.accounts[0].gate, STO_GATE_NO_WRITES);
}

static void stop_reads(void)
{
    atomic_store(&fix.accounts[0].gate, STO_GATE_NO_READS);
}

static void leave(void)
{
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
}

static void forget(void)
{
    atomic_store(&T->schema->table->forgotten, true);
}

static void pass_deadline(void)
{
    op.deadline_ns = base_monotonic_ns();
}

static const struct end BETWEEN[] = {{cancel, ERR_CANCELLED, 0},  {pass_deadline, ERR_TIMEOUT, 0},
                                     {suspend, ERR_SUSPENDED, 0}, {stop_reads, ERR_SUSPENDED, 0},
                                     {leave, ERR_GONE, 0},        {forget, ERR_NOT_FOUND, 0}};

START_TEST(no_slice_begins_when_it_may_not)
{
    fill(T, "row", "text", ROWS);
    ck_assert_int_eq(slice_run(), ERR_OK);
    BETWEEN[_i].come();
    ck_assert_int_eq(slice_run(), BETWEEN[_i].result);
    ck_assert_uint_eq(op.steps, 0);
    atomic_store(&fix.accounts[0].gate, 0);
    atomic_store(&T->schema->table->forgotten, false);
}
END_TEST

Suite *suite_storage_engine_drop_count(void);
Suite *suite_storage_engine_drop_count(void)
{
    Suite *s = suite_create("storage_engine_drop_count");
    TCase *t = tcase_create("drop_count");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, rows_are_counted_exactly_whatever_the_slices_are);
    tcase_add_test(t, what_is_counted_is_charged_to_the_readers);
    tcase_add_loop_test(t, a_slice_ends_when_it_may_not_go_on, 0, 2);
    tcase_add_loop_test(t, no_slice_begins_when_it_may_not, 0, 6);
    suite_add_tcase(s, t);
    return s;
}

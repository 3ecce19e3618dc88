/*
 * tests/storage/test_engine_change_slices.c - where a slice of a change stream ends, and what it
 * says that it looked at.
 */
#include "changes.h"

#include "base/watchdog.h"
#include "storage/rocksdb/slice_clock.h"
#include "tests/support/wall.h"

#include "base/banned.h"

Suite *suite_storage_engine_change_slices(void);

#define T (&fix.tables[0][0])

enum {
    CHANGES = 300,
    LONG_S = 3600,
};
#define LONG_NS (LONG_S * UINT64_C(1000000000))

static struct change_reader reader;

static void setup(void)
{
    fix_setup();
    changes_set(T, RETENTION_S);
    change_open(&reader, T);
}

static void teardown(void)
{
    atomic_store(&base_watchdog_test_hurry, false);
    change_close(&reader);
    fix_teardown();
}

static void put_changes(int changes, size_t value_len)
{
    static uint8_t value[64 * KIB];
    ck_assert_uint_le(value_len, sizeof value);
    struct sto_mutation set = fix_set(1, "q", 1000, base_slice(value, value_len));
    for (int i = 0; i < changes; i++)
        ck_assert_int_eq(fix_mutate(T, "other", &set, 1), ERR_OK);
}

struct seen {
    size_t slices;
    uint64_t parts;
    uint64_t bytes;
};

/* From the beginning to the end, of rows that nothing was written to. */
static struct seen pass_over_all(bool hurries)
{
    struct seen seen = {0};
    enum sto_read_state state;
    reader.op.range = (struct sto_row_range){.start = SLICE_LIT("z")};
    reader.op.passed_us = reader.op.since_us - 1;
    atomic_store(&base_watchdog_test_hurry, hurries);
    do {
        state = change_slice(&reader);
        seen.slices++;
        seen.parts += reader.op.parts_seen;
        seen.bytes += reader.op.bytes_seen;
    } while (state == STO_READ_MORE);
    atomic_store(&base_watchdog_test_hurry, false);
    ck_assert_int_eq(state, STO_READ_END);
    ck_assert_uint_eq(reader.changes, 0);
    return seen;
}

START_TEST(a_slice_that_gives_nothing_ends_in_time)
{
    put_changes(CHANGES, 100);
    struct seen whole = pass_over_all(false);
    ck_assert_uint_eq(whole.slices, 1);
    ck_assert_uint_eq(whole.parts, CHANGES);
    ck_assert_uint_ge(whole.bytes, (uint64_t)CHANGES * 100);
    ck_assert_uint_le(whole.bytes, (uint64_t)CHANGES * 250); /* key, names and form */
    struct seen overdue = pass_over_all(true);
    ck_assert_uint_ge(overdue.slices, CHANGES / RDB_CLOCK_STEPS);
    ck_assert_uint_eq(overdue.parts, whole.parts);
    ck_assert_uint_eq(overdue.bytes, whole.bytes);
}
END_TEST

START_TEST(long_parts_are_many_steps)
{
    put_changes(10, 32 * KIB);
    ck_assert_uint_ge(pass_over_all(true).slices, 10);
}
END_TEST

START_TEST(what_is_given_is_counted_as_well)
{
    put_changes(CHANGES, 100);
    ck_assert_int_eq(change_slice(&reader), STO_READ_END);
    ck_assert_uint_eq(reader.changes, CHANGES);
    ck_assert_uint_eq(reader.op.parts_seen, CHANGES);
    ck_assert_int_eq(change_slice(&reader), STO_READ_END); /* of this slice alone */
    ck_assert_uint_eq(reader.op.parts_seen, 0);
    ck_assert_uint_eq(reader.op.bytes_seen, 0);
}
END_TEST

static void cancel(void)
{
    atomic_store(&reader.op.cancelled, true);
}

static void run_late(void)
{
    wall_pass_s(LONG_S);
}

static const struct end {
    void (*come)(void);
    enum err result;
    uint64_t parts; /* are read first: the clock is read every RDB_CLOCK_STEPS */
} ENDS[] = {{cancel, ERR_CANCELLED, 0}, {run_late, ERR_TIMEOUT, RDB_CLOCK_STEPS}};

START_TEST(a_slice_ends_when_nobody_wants_it)
{
    put_changes(CHANGES, 100);
    reader.op.range = (struct sto_row_range){.start = SLICE_LIT("z")};
    reader.op.deadline_ns = base_monotonic_ns() + LONG_NS;
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_LOOKING);
    fix.outstanding++;
    sto_read_changes(fix.engine, &reader.op);
    fix_await_held();
    ENDS[_i].come();
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_NEVER);
    fix_wait();
    ck_assert_int_eq(reader.op.state, STO_READ_FAILED);
    ck_assert_int_eq(reader.op.result, ENDS[_i].result);
    ck_assert_uint_eq(reader.op.parts_seen, ENDS[_i].parts);
}
END_TEST

Suite *suite_storage_engine_change_slices(void)
{
    Suite *s = suite_create("storage_engine_change_slices");
    TCase *t = tcase_create("slices");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_slice_that_gives_nothing_ends_in_time);
    tcase_add_test(t, long_parts_are_many_steps);
    tcase_add_test(t, what_is_given_is_counted_as_well);
    tcase_add_loop_test(t, a_slice_ends_when_nobody_wants_it, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/storage/test_engine_fairness.c - shares, priorities and pressure, through the engine.
 *
 * A committer or reader that is held up lets everything meet in its queue; then the order in which
 * answers come is looked at.
 */
#include "tests/storage/fixture.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storage/rocksdb/pressure.h"
#include "tests/storage/hold.h"
#include "tests/support/wall.h"

#include "base/banned.h"

#define FLOOD 6000
#define HEAVY 0 /* and 2 are with the same committer */
#define QUIET 2

static _Atomic bool advanced;

static struct rdb_engine *engine(void)
{
    return sto_rdb_engine(fix.engine);
}

/* --- writes ----------------------------------------------------------------------------------- */

struct write {
    struct sto_mutate_op op; /* first */
    struct sto_mutation set;
    size_t place; /* among the answers, from 1 */
    char row[24];
};

static size_t answers;

static void write_done(struct sto_mutate_op *op)
{
    ((struct write *)op)->place = ++answers;
    fix.outstanding--;
}

static void submit(struct write *w, size_t tenant, size_t number, enum sto_priority priority)
{
    int len = snprintf(w->row, sizeof(w->row), "row-%06zu", number);
    w->set = fix_set(1, "q", 1000, SLICE_LIT("v"));
    w->op = (struct sto_mutate_op){.scope = fix.tables[tenant][0],
                                   .row_key = base_slice(w->row, (size_t)len),
                                   .mutations = &w->set,
                                   .mutation_count = 1,
                                   .priority = priority,
                                   .reply_to = &fix.mailbox,
                                   .done = write_done};
    fix.outstanding++;
    sto_mutate_row(fix.engine, &w->op);
}

static struct write *flood(size_t tenant, size_t count, enum sto_priority priority)
{
    struct write *writes = base_new_array(count, sizeof(*writes));
    for (size_t i = 0; i < count; i++)
        submit(&writes[i], tenant, i, priority);
    return writes;
}

START_TEST(a_quiet_tenant_is_not_behind_a_flood)
{
    struct write quiet;
    fix_hold_committer(HEAVY);
    struct write *heavy = flood(HEAVY, FLOOD, STO_PRIORITY_HIGH);
    submit(&quiet, QUIET, 0, STO_PRIORITY_LOW);
    fix_let_go();
    ck_assert_int_eq(quiet.op.result, ERR_OK);
    ck_assert_uint_lt(quiet.place, FLOOD / 2);
    size_t out_of_order = 0;
    for (size_t i = 1; i < FLOOD; i++)
        out_of_order += heavy[i].place < heavy[i - 1].place;
    ck_assert_uint_eq(out_of_order, 0);
    base_free(heavy);
}
END_TEST

START_TEST(a_batch_has_both_halves_of_two_floods)
{
    fix_hold_committer(HEAVY);
    struct write *a = flood(HEAVY, FLOOD, STO_PRIORITY_MEDIUM);
    struct write *b = flood(QUIET, FLOOD, STO_PRIORITY_MEDIUM);
    fix_let_go();
    /* When the second's half is done, so is about half of the first: within a batch of both. */
    size_t half = b[FLOOD / 2].place;
    size_t of_first = 0;
    for (size_t i = 0; i < FLOOD; i++)
        of_first += a[i].place < half;
    ck_assert_uint_ge(of_first, FLOOD / 2 - LIM_BATCH_OPS);
    ck_assert_uint_le(of_first, FLOOD / 2 + LIM_BATCH_OPS);
    base_free(a);
    base_free(b);
}
END_TEST

START_TEST(a_full_queue_of_one_has_room_for_another)
{
    enum { MANY = LIM_COMMIT_QUEUE_OPS / 2 + 100 };
    struct write quiet[10];
    fix_hold_committer(HEAVY);
    struct write *heavy = flood(HEAVY, MANY, STO_PRIORITY_MEDIUM);
    for (size_t i = 0; i < 10; i++)
        submit(&quiet[i], QUIET, i, STO_PRIORITY_MEDIUM);
    fix_let_go();
    for (size_t i = 0; i < 10; i++)
        ck_assert_int_eq(quiet[i].op.result, ERR_OK);
    ck_assert_int_eq(heavy[MANY - 1].op.result, ERR_OVERLOADED);
    ck_assert_uint_ge(heavy[MANY - 1].op.retry_ns, LIM_RETRY_HINT_MIN_MS * 1000000ULL);
    ck_assert_uint_le(heavy[MANY - 1].op.retry_ns, LIM_RETRY_HINT_MS * 1000000ULL);
    base_free(heavy);
}
END_TEST

START_TEST(a_priority_counts_among_a_tenants_own)
{
    fix_hold_committer(HEAVY);
    struct write *low = flood(HEAVY, 100, STO_PRIORITY_LOW);
    struct write *high = flood(HEAVY, 100, STO_PRIORITY_HIGH);
    fix_let_go();
    size_t lower_first = 0;
    for (size_t i = 0; i < 100; i++)
        lower_first += low[i].place < high[99].place;
    ck_assert_uint_le(lower_first, 100 / LIM_FAIR_PASSED_OVER);
    base_free(low);
    base_free(high);
}
END_TEST

static _Thread_local uint32_t yields; /* of a thread, see sched_yield below */

/* In place of the C library's. */
int sched_yield(void)
{
    yields++;
    return (int)syscall(SYS_sched_yield);
}

/* ctx: where they go. */
static void look_at_yields(struct rdb_committer *c, void *ctx)
{
    (void)c;
    *(uint32_t *)ctx = yields;
}

static uint32_t yields_of_committer(void)
{
    uint32_t n;
    sto_rdb_committer_call(sto_rdb_committer_of(engine(), &fix.accounts[HEAVY]),
                           &fix.accounts[HEAVY], STO_PRIORITY_MEDIUM, look_at_yields, &n);
    return n;
}

/* How often the committer yielded meanwhile. */
static uint32_t write_alone(void)
{
    uint32_t before = yields_of_committer();
    for (size_t i = 0; i < 10; i++) {
        struct write alone;
        submit(&alone, QUIET, i, STO_PRIORITY_MEDIUM);
        fix_wait();
    }
    return yields_of_committer() - before;
}

/* A heap that waits for one of its locks may yield, too, now and then. */
START_TEST(a_large_batch_yields_and_a_write_alone_does_not)
{
    int tries = 1;
    while (write_alone() > 0)
        ck_assert_int_lt(tries++, 20);
    uint32_t before = yields_of_committer();
    fix_hold_committer(HEAVY);
    struct write *heavy = flood(HEAVY, FLOOD, STO_PRIORITY_MEDIUM);
    fix_let_go();
    ck_assert_uint_gt(yields_of_committer(), before);
    base_free(heavy);
}
END_TEST

static void drop_done(struct sto_drop_op *op)
{
    (void)op;
    fix.outstanding--;
}

/* Whatever priorities what was submitted before has. */
START_TEST(a_drop_begins_behind_everything_before_it)
{
    struct sto_drop_op drop = {.scope = fix.tables[HEAVY][0],
                               .priority = STO_PRIORITY_HIGH,
                               .reply_to = &fix.mailbox,
                               .done = drop_done};
    fix_hold_committer(HEAVY);
    struct write *low = flood(HEAVY, 300, STO_PRIORITY_LOW);
    struct write *high = flood(HEAVY, 100, STO_PRIORITY_HIGH);
    fix.outstanding++;
    sto_drop_rows(fix.engine, &drop);
    fix_let_go();
    ck_assert_int_eq(drop.result, ERR_OK);
    ck_assert_uint_eq(drop.removed.rows, 300);
    fix_assert_usage(HEAVY, 0, 0, 0);
    base_free(low);
    base_free(high);
}
END_TEST

START_TEST(a_sweep_gets_on_among_writes)
{
    char row[16];
    for (int i = 0; i < 20; i++) {
        (void)snprintf(row, sizeof(row), "old-%d", i);
        ck_assert_int_eq(fix_put(&fix.tables[QUIET][0], row, "v"), ERR_OK);
    }
    struct buf resume;
    base_buf_init(&resume, LIM_ROW_KEY);
    struct sto_drop_op sweep = {.scope = fix.tables[QUIET][0],
                                .expired_only = true,
                                .priority = STO_PRIORITY_BACKGROUND,
                                .steps_max = 1000,
                                .resume = &resume,
                                .reply_to = &fix.mailbox,
                                .done = drop_done};
    fix_hold_committer(HEAVY);
    struct write *heavy = flood(HEAVY, FLOOD, STO_PRIORITY_HIGH);
    fix.outstanding++;
    sto_drop_rows(fix.engine, &sweep);
    fix_let_go();
    ck_assert_int_eq(sweep.result, ERR_OK);
    ck_assert_uint_ge(sweep.steps, 20);
    base_buf_fini(&resume);
    base_free(heavy);
}
END_TEST

/* --- pressure --------------------------------------------------------------------------------- */

START_TEST(signs_grow_from_half_way_to_a_delay)
{
    struct rdb_signs s = {.level0_files = RDB_LEVEL0_SLOW / 2};
    ck_assert_uint_eq(sto_rdb_pressure_of(&s), 0);
    s.level0_files = RDB_LEVEL0_SLOW * 3 / 4;
    ck_assert_uint_eq(sto_rdb_pressure_of(&s), RDB_PRESSURE_FULL / 2);
    s.level0_files = RDB_LEVEL0_SLOW;
    ck_assert_uint_eq(sto_rdb_pressure_of(&s), RDB_PRESSURE_FULL);
    s = (struct rdb_signs){.pending_bytes = RDB_PENDING_SLOW / 2};
    ck_assert_uint_eq(sto_rdb_pressure_of(&s), 0);
    s.pending_bytes = RDB_PENDING_SLOW;
    ck_assert_uint_eq(sto_rdb_pressure_of(&s), RDB_PRESSURE_FULL);
    s = (struct rdb_signs){.memtables_waiting = 1};
    ck_assert_uint_eq(sto_rdb_pressure_of(&s), 0);
    s.memtables_waiting = RDB_MEMTABLES - 2;
    ck_assert_uint_eq(sto_rdb_pressure_of(&s), RDB_PRESSURE_FULL / 2);
    s = (struct rdb_signs){.delayed_write_rate = 1};
    ck_assert_uint_eq(sto_rdb_pressure_of(&s), RDB_PRESSURE_FULL);
    s = (struct rdb_signs){.stopped = true};
    ck_assert_uint_eq(sto_rdb_pressure_of(&s), RDB_PRESSURE_FULL);
}
END_TEST

/* A quarter of a window, on the committer's own thread. Its clock stands still otherwise, so that
 * four rounds are in each window, however long they take. */
static void run_advance(struct base_msg *msg)
{
    static bool is_held;
    (void)msg;
    if (!is_held)
        wall_hold_monotonic();
    is_held = true;
    wall_advance_ns(LIM_SHED_WINDOW_MS * 1000000ull / 4);
    atomic_store(&advanced, true);
}

static void advance_committer(void)
{
    static struct base_msg msg = {.run = run_advance};
    atomic_store(&advanced, false);
    sto_rdb_committer_post(sto_rdb_committer_of(engine(), &fix.accounts[HEAVY]), &msg);
    fix_await_flag(&advanced, "the committer");
}

/* Both write in one window; in the next one the heavy one has its share, and no more. */
static uint64_t refused_of_heavy(uint32_t level, uint64_t *out_quiet, uint64_t *out_deletes)
{
    struct write quiet;
    uint64_t refused = 0;
    *out_quiet = 0;
    *out_deletes = 0;
    sto_rocksdb_test_pressure(fix.engine, level);
    advance_committer();
    for (int round = 0; round < 12; round++) {
        struct write *heavy = flood(HEAVY, 500, STO_PRIORITY_MEDIUM);
        submit(&quiet, QUIET, (size_t)round, STO_PRIORITY_MEDIUM);
        fix_wait();
        *out_quiet += quiet.op.result != ERR_OK;
        *out_deletes += fix_delete_row(&fix.tables[HEAVY][0], "row-000001") != ERR_OK;
        for (size_t i = 0; i < 500; i++) {
            refused += heavy[i].op.result == ERR_OVERLOADED;
            ck_assert_int_eq(heavy[i].op.retry_ns > 0, heavy[i].op.result == ERR_OVERLOADED);
        }
        base_free(heavy);
        advance_committer();
    }
    return refused;
}

START_TEST(under_pressure_who_uses_more_than_its_share_is_shed)
{
    uint64_t quiet = 0;
    uint64_t deletes = 0;
    ck_assert_uint_eq(refused_of_heavy(0, &quiet, &deletes), 0);
    ck_assert_uint_gt(refused_of_heavy(900, &quiet, &deletes), 0);
    ck_assert_uint_eq(quiet, 0);
    ck_assert_uint_eq(deletes, 0);
    struct sto_engine_stats stats;
    sto_engine_stats_get(fix.engine, &stats);
    ck_assert_uint_eq(stats.pressure, 900);
    ck_assert_uint_gt(stats.commit_shed, 0);
    ck_assert_uint_eq(refused_of_heavy(0, &quiet, &deletes), 0);
}
END_TEST

START_TEST(a_tenant_alone_is_slowed_by_a_short_queue_only)
{
    sto_rocksdb_test_pressure(fix.engine, RDB_PRESSURE_FULL);
    for (int i = 0; i < 20; i++) {
        struct write *few = flood(HEAVY, 200, STO_PRIORITY_MEDIUM);
        fix_wait();
        for (size_t k = 0; k < 200; k++)
            ck_assert_int_eq(few[k].op.result, ERR_OK);
        base_free(few);
    }
    fix_hold_committer(HEAVY);
    struct write *many = flood(HEAVY, 2000, STO_PRIORITY_MEDIUM);
    fix_let_go();
    ck_assert_int_eq(many[1999].op.result, ERR_OVERLOADED);
    base_free(many);
}
END_TEST

START_TEST(batches_and_syncs_are_counted)
{
    enum { OPS = 700 };
    struct sto_engine_stats stats;
    struct write *writes = flood(HEAVY, OPS, STO_PRIORITY_MEDIUM);
    fix_wait();
    sto_engine_stats_get(fix.engine, &stats);
    uint64_t batches = 0;
    uint64_t syncs = 0;
    for (size_t i = 0; i < STO_BUCKETS; i++) {
        batches += stats.commit_ops.count[i];
        syncs += stats.sync_us.count[i];
    }
    ck_assert_uint_eq(stats.commit_ops.sum, OPS);
    ck_assert_uint_ge(batches, 1);
    ck_assert_uint_eq(syncs, batches);
    ck_assert_uint_gt(stats.sync_us.sum, 0);
    ck_assert_uint_eq(stats.commit_queue_ops, 0);
    ck_assert_uint_eq(stats.commit_queue_bytes, 0);
    base_free(writes);
}
END_TEST

/* --- reads ------------------------------------------------------------------------------------ */

struct read {
    struct sto_read_op op; /* first */
    struct fix_sink sink;
    size_t place;
};

static void read_done(struct sto_read_op *op)
{
    ((struct read *)op)->place = ++answers;
    fix.outstanding--;
}

static void start_read(struct read *r, size_t tenant, const char *row)
{
    fix_sink_init(&r->sink);
    r->op = (struct sto_read_op){.scope = fix.tables[tenant][0],
                                 .spec = {.row_key = base_slice_text(row)},
                                 .sink = &r->sink.sink,
                                 .reply_to = &fix.mailbox,
                                 .done = read_done};
    fix.outstanding++;
    ck_assert(!sto_read_rows(fix.engine, &r->op, false));
}

/* A slice ends by its time, but not before it has given so few rows. */
START_TEST(a_quiet_tenant_s_reads_are_not_behind_scans)
{
    enum { SCANS = 400, ROWS = 5 };
    struct read point, scan;
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        (void)snprintf(row, sizeof(row), "row-%d", i);
        ck_assert_int_eq(fix_put(&fix.tables[HEAVY][0], row, "v"), ERR_OK);
        ck_assert_int_eq(fix_put(&fix.tables[QUIET][0], row, "v"), ERR_OK);
    }
    fix_hold_readers(1);
    struct read *scans = base_new_array(SCANS, sizeof(*scans));
    for (size_t i = 0; i < SCANS; i++)
        start_read(&scans[i], HEAVY, "");
    start_read(&scan, QUIET, "");
    start_read(&point, QUIET, "row-3");
    fix_let_go();
    ck_assert_uint_eq(point.op.rows_given, 1);
    ck_assert_uint_eq(scan.op.rows_given, ROWS);
    ck_assert_uint_lt(point.place, SCANS / 4);
    ck_assert_uint_lt(scan.place, SCANS / 4);
    for (size_t i = 0; i < SCANS; i++) {
        ck_assert_uint_eq(scans[i].op.rows_given, ROWS);
        sto_read_finish(fix.engine, &scans[i].op);
        base_buf_fini(&scans[i].sink.text);
    }
    sto_read_finish(fix.engine, &scan.op);
    sto_read_finish(fix.engine, &point.op);
    base_buf_fini(&scan.sink.text);
    base_buf_fini(&point.sink.text);
    base_free(scans);
}
END_TEST

Suite *suite_storage_engine_fairness(void);
Suite *suite_storage_engine_fairness(void)
{
    Suite *s = suite_create("storage_engine_fairness");
    TCase *t = tcase_create("writes"); /* in order: none waits for what it reads from a file */
    tcase_add_checked_fixture(t, fix_setup_alone, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_quiet_tenant_is_not_behind_a_flood);
    tcase_add_test(t, a_batch_has_both_halves_of_two_floods);
    tcase_add_test(t, a_full_queue_of_one_has_room_for_another);
    tcase_add_test(t, a_priority_counts_among_a_tenants_own);
    tcase_add_test(t, a_large_batch_yields_and_a_write_alone_does_not);
    tcase_add_test(t, a_drop_begins_behind_everything_before_it);
    tcase_add_test(t, a_sweep_gets_on_among_writes);
    suite_add_tcase(s, t);
    t = tcase_create("pressure"); /* with room in memory: none but what is pretended */
    tcase_add_checked_fixture(t, fix_setup_in_memory, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, signs_grow_from_half_way_to_a_delay);
    tcase_add_test(t, under_pressure_who_uses_more_than_its_share_is_shed);
    tcase_add_test(t, a_tenant_alone_is_slowed_by_a_short_queue_only);
    tcase_add_test(t, batches_and_syncs_are_counted);
    suite_add_tcase(s, t);
    t = tcase_create("reads");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_quiet_tenant_s_reads_are_not_behind_scans);
    suite_add_tcase(s, t);
    return s;
}

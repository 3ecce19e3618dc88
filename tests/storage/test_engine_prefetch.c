/*
 * tests/storage/test_engine_prefetch.c - what writes read is read on readers, before their turn.
 *
 * Readers that are held up keep operations where they wait for their blocks; then it is looked at
 * what goes on beside them, and what they do once the readers are let go.
 */
#include "tests/storage/fixture.h"

#include "storage/rocksdb/prefetch.h"

#include "base/banned.h"

#define ROWS    400
#define READERS 2
#define COLD    0 /* and 2 are with the same committer */
#define OTHER   2

static struct blocker {
    struct base_msg msg;
} blockers[READERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int reached;

static bool have_reached(void *count)
{
    return atomic_load(&reached) >= *(const int *)count;
}

static void await_reached(int count)
{
    process_await(have_reached, &count, "threads that are held");
}

static void run_blocker(struct base_msg *msg)
{
    (void)msg;
    atomic_fetch_add(&reached, 1);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void hold_readers(void)
{
    ck_assert_int_eq(fix.options.readers, READERS);
    atomic_store(&reached, 0);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < READERS; i++) {
        blockers[i] = (struct blocker){.msg.run = run_blocker};
        const struct rdb_pool_job job = {.account = &fix.accounts[1]};
        ck_assert(
            sto_rdb_pool_push(&sto_rdb_engine(fix.engine)->pool, &job, &blockers[i].msg, NULL));
        await_reached(i + 1); /* each on a thread of its own */
    }
}

static void let_go(void)
{
    pthread_mutex_unlock(&lock);
}

static uint64_t prefetches(void)
{
    return atomic_load(&sto_rdb_engine(fix.engine)->prefetches);
}

static void row_name(char out[24], size_t i)
{
    (void)snprintf(out, 24, "row-%06zu", i);
}

/* Rows of the tenant in files, none of them in memory. */
static void put_cold_rows(void)
{
    static char value[600];
    memset(value, 'v', sizeof(value) - 1);
    for (size_t i = 0; i < ROWS; i++) {
        char row[24];
        row_name(row, i);
        ck_assert_int_eq(fix_put(&fix.tables[COLD][0], row, value), ERR_OK);
    }
    fix_flush();
    fix_reopen();
}

struct write {
    struct sto_mutate_op op; /* first */
    struct sto_mutation set;
    size_t place; /* among the answers, from 1 */
    char row[24];
    char value[16];
};

static size_t answers;

static void write_done(struct sto_mutate_op *op)
{
    ((struct write *)op)->place = ++answers;
    fix.outstanding--;
}

static void submit(struct write *w, size_t tenant, size_t row, size_t number)
{
    row_name(w->row, row);
    (void)snprintf(w->value, sizeof(w->value), "%zu", number);
    w->set = fix_set(1, "q", 1000, base_slice_text(w->value));
    w->op = (struct sto_mutate_op){.scope = fix.tables[tenant][0],
                                   .row_key = base_slice_text(w->row),
                                   .mutations = &w->set,
                                   .mutation_count = 1,
                                   .reply_to = &fix.mailbox,
                                   .done = write_done};
    fix.outstanding++;
    sto_mutate_row(fix.engine, &w->op);
}

static void await(size_t outstanding)
{
    while (fix.outstanding > outstanding) {
        base_mailbox_wait(&fix.mailbox, 1000);
        (void)base_mailbox_run(&fix.mailbox);
    }
}

static bool prefetches_reach(void *count)
{
    return prefetches() >= *(const uint64_t *)count;
}

static void await_prefetches(uint64_t count)
{
    process_await(prefetches_reach, &count, "reads ahead");
}

/* Alone: compactions of neighbours' files would decide what is in memory. */
static void setup(void)
{
    fix_prepare_alone();
    fix.options.cache_bytes = 64 * KIB; /* a block that was read stays */
    fix_open();
}

START_TEST(a_cold_row_does_not_hold_up_another_tenant)
{
    put_cold_rows();
    struct write cold, other;
    hold_readers();
    submit(&cold, COLD, 7, 1);
    await_prefetches(1);
    submit(&other, OTHER, 7, 1);
    await(1); /* for ever, if the committer waited for the readers */
    ck_assert_uint_eq(other.place + 1, answers + 1);
    ck_assert_uint_eq(atomic_load(&fix.accounts[COLD].writes.queued), 1); /* it counts as queued */
    let_go();
    fix_wait();
    ck_assert_int_eq(cold.op.result, ERR_OK);
    ck_assert(cold.op.row_existed);
    ck_assert_uint_gt(cold.place, other.place);
    ck_assert_uint_eq(atomic_load(&fix.accounts[COLD].writes.queued), 0);
    ck_assert_ptr_null(fix.accounts[COLD].writes_held);
    fix_assert_no_drift(COLD);
}
END_TEST

START_TEST(writes_of_a_tenant_keep_their_order)
{
    enum { N = 300 };
    put_cold_rows();
    struct write *w = base_new_array(N, sizeof(*w));
    answers = 0;
    hold_readers();
    for (size_t i = 0; i < N; i++)
        submit(&w[i], COLD, i % 3 == 0 ? 7 : ROWS + i, i); /* cold, new, new */
    await_prefetches(1);
    let_go();
    fix_wait();
    for (size_t i = 0; i < N; i++) {
        ck_assert_int_eq(w[i].op.result, ERR_OK);
        ck_assert_uint_eq(w[i].place, i + 1);
    }
    fix_assert_rows(&fix.tables[COLD][0],
                    &(struct sto_read_spec){.row_key = SLICE_LIT("row-000007")},
                    "row-000007{f:q@1000=297,}");
    fix_assert_no_drift(COLD);
    base_free(w);
}
END_TEST

START_TEST(a_drop_is_behind_writes_that_are_read_for)
{
    put_cold_rows();
    struct write cold;
    struct sto_drop_op drop = {
        .scope = fix.tables[COLD][0], .reply_to = &fix.mailbox, .done = fix_drop_done};
    hold_readers();
    submit(&cold, COLD, 7, 1);
    await_prefetches(1);
    fix.outstanding++;
    sto_drop_rows(fix.engine, &drop);
    let_go();
    fix_wait();
    ck_assert_int_eq(cold.op.result, ERR_OK);
    ck_assert_int_eq(drop.result, ERR_OK);
    fix_assert_usage(COLD, 0, 0, 0);
    fix_assert_no_drift(COLD);
}
END_TEST

static _Atomic bool is_fenced;

static void fence_done(struct sto_fence_op *op)
{
    (void)op;
    atomic_store(&is_fenced, true);
    fix.outstanding--;
}

START_TEST(a_gate_that_closes_meanwhile_refuses)
{
    put_cold_rows();
    struct write cold;
    struct sto_fence_op fence = {
        .reply_to = &fix.mailbox, .done = fence_done, .scope = fix.tenants[COLD]};
    const struct sto_usage before = sto_counters_read(&fix.accounts[COLD].total);
    hold_readers();
    submit(&cold, COLD, 7, 1);
    await_prefetches(1);
    atomic_store(&fix.accounts[COLD].gate, STO_GATE_NO_WRITES);
    fix.outstanding++;
    sto_fence(fix.engine, &fence);
    await(1); /* the fence does not wait for what will be refused */
    ck_assert(atomic_load(&is_fenced));
    let_go();
    fix_wait();
    ck_assert_int_eq(cold.op.result, ERR_SUSPENDED);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[COLD].total).bytes, before.bytes);
}
END_TEST

static void *purge_fence(void *arg)
{
    ck_assert_int_eq(sto_purge_run(fix.engine, &fix.tenants[COLD], STO_PURGE_FENCE, NULL, 0, NULL),
                     ERR_OK);
    atomic_store((_Atomic bool *)arg, true);
    return NULL;
}

START_TEST(a_purge_waits_for_what_is_being_read)
{
    put_cold_rows();
    struct write cold;
    _Atomic bool is_passed = false;
    pthread_t thread;
    hold_readers();
    submit(&cold, COLD, 7, 1);
    await_prefetches(1);
    atomic_store(&fix.accounts[COLD].gate, STO_GATE_GONE);
    ck_assert_int_eq(pthread_create(&thread, NULL, purge_fence, &is_passed), 0);
    (void)usleep(50000); /* it would be passed by now, if it did not wait */
    ck_assert(!atomic_load(&is_passed));
    let_go();
    (void)pthread_join(thread, NULL);
    ck_assert(atomic_load(&is_passed));
    fix_wait();
    ck_assert_int_eq(cold.op.result, ERR_GONE);
    ck_assert_uint_eq(atomic_load(&fix.accounts[COLD].reads_open), 0);
    ck_assert_ptr_null(fix.accounts[COLD].writes_held);
}
END_TEST

static void *close_engine(void *arg)
{
    sto_engine_close(fix.engine);
    atomic_store((_Atomic bool *)arg, true);
    return NULL;
}

START_TEST(close_finishes_what_is_being_read)
{
    enum { N = 50 };
    put_cold_rows();
    struct write *w = base_new_array(N, sizeof(*w));
    _Atomic bool is_closed = false;
    pthread_t thread;
    hold_readers();
    for (size_t i = 0; i < N; i++)
        submit(&w[i], COLD, i * 7, i);
    await_prefetches(1);
    ck_assert_int_eq(pthread_create(&thread, NULL, close_engine, &is_closed), 0);
    (void)usleep(20000);
    ck_assert(!atomic_load(&is_closed));
    let_go();
    (void)pthread_join(thread, NULL);
    fix_wait();
    for (size_t i = 0; i < N; i++)
        ck_assert_int_eq(w[i].op.result, ERR_OK);
    fix.engine = NULL;
    fix_scopes_drop();
    fix_open();
    fix_assert_no_drift(COLD);
    base_free(w);
}
END_TEST

START_TEST(what_a_full_read_queue_refuses_is_written_all_the_same)
{
    enum { N = LIM_PREFETCH_OPS + 500 };
    put_cold_rows();
    struct write *w = base_new_array(N, sizeof(*w));
    answers = 0;
    hold_readers();
    for (size_t i = 0; i < N; i++)
        submit(&w[i], COLD, i % ROWS, i);
    await_prefetches(LIM_PREFETCH_OPS);
    (void)usleep(20000);
    ck_assert_uint_eq(prefetches(), LIM_PREFETCH_OPS); /* and no more at once */
    let_go();
    fix_wait();
    for (size_t i = 0; i < N; i++) {
        ck_assert_int_eq(w[i].op.result, ERR_OK);
        ck_assert_uint_eq(w[i].place, i + 1);
    }
    fix_assert_no_drift(COLD);
    base_free(w);
}
END_TEST

START_TEST(each_kind_of_write_reads_what_it_needs)
{
    struct sto_mutation kinds[] = {
        fix_set(1, "q", 1000, SLICE_LIT("w")),
        fix_append(1, "q", SLICE_LIT("w")),
        {.kind = STO_DELETE_FROM_COLUMN, .family = 1, .qualifier = SLICE_LIT("q")},
        {.kind = STO_DELETE_FROM_FAMILY, .family = 1},
        {.kind = STO_DELETE_FROM_ROW},
    };
    put_cold_rows();
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        char row[24];
        row_name(row, 40 + 50 * i);
        uint64_t before = prefetches();
        ck_assert_int_eq(fix_mutate(&fix.tables[COLD][0], row, &kinds[i], 1), ERR_OK);
        ck_assert_uint_eq(prefetches(), before + 1);
    }
    fix_assert_no_drift(COLD);
}
END_TEST

/* The version that a new cell replaces, which lies in another block than the row's header. */
START_TEST(a_replaced_version_is_read_ahead)
{
    static const struct sto_gc_node one = {.kind = STO_GC_MAX_VERSIONS, .max_versions = 1};
    static char value[600];
    struct sto_mutation cells[100];
    char names[100][8];
    memset(value, 'v', sizeof value - 1);
    for (size_t i = 0; i < 100; i++) {
        (void)snprintf(names[i], sizeof names[i], "c%02zu", i); /* fits */
        cells[i] = fix_set(1, names[i], 1000, base_slice_text(value));
    }
    fix.gc[0] = one;
    fix_reopen();
    const struct sto_table_scope *table = &fix.tables[COLD][0];
    ck_assert_int_eq(fix_mutate(table, "row", cells, 100), ERR_OK);
    fix_flush();
    fix_reopen();
    static const size_t columns[] = {0, 90, 0};
    for (size_t i = 0; i < 3; i++) {
        struct sto_mutation m = cells[columns[i]];
        m.timestamp_us = STO_TIMESTAMP_SERVER;
        ck_assert_int_eq(fix_mutate(table, "row", &m, 1), ERR_OK);
        ck_assert_uint_eq(prefetches(), i == 0 ? 1 : 2);
    }
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[COLD].total).cells, 100);
    fix_assert_no_drift(COLD);
}
END_TEST

/* --- the readers ------------------------------------------------------------------------------ */

#define MANY 12

static void setup_many(void)
{
    fix_prepare();
    fix.options.readers = MANY;
    fix_open();
}

START_TEST(scans_leave_threads_to_points_and_all_run)
{
    static struct blocker scans[MANY], points[MANY];
    struct rdb_pool *pool = &sto_rdb_engine(fix.engine)->pool;
    const int scans_max = pool->scans_max;
    const struct rdb_pool_job scan = {.account = &fix.accounts[0], .queue = RDB_SCANS};
    const struct rdb_pool_job point = {.account = &fix.accounts[1], .queue = RDB_POINTS};
    ck_assert_int_lt(scans_max, MANY);
    atomic_store(&reached, 0);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MANY; i++) {
        scans[i] = (struct blocker){.msg.run = run_blocker};
        ck_assert(sto_rdb_pool_push(pool, &scan, &scans[i].msg, NULL));
    }
    await_reached(scans_max);
    (void)usleep(20000); /* others would have begun by now */
    ck_assert_int_eq(atomic_load(&reached), scans_max);
    for (int i = 0; i < MANY; i++) {
        points[i] = (struct blocker){.msg.run = run_blocker};
        ck_assert(sto_rdb_pool_push(pool, &point, &points[i].msg, NULL));
    }
    await_reached(MANY); /* on all other threads */
    let_go();
    await_reached(2 * MANY);
}
END_TEST

#define SLOW_NS (LIM_PREFETCH_SLOW_US * 1000ULL)

START_TEST(nothing_is_asked_while_no_read_is_slow)
{
    struct rdb_prefetch_watch w = {.left = 0};
    sto_rdb_prefetch_applies(&w, 1000);
    (void)usleep(10); /* sleeps, but not for long */
    sto_rdb_prefetch_applied(&w, 1000 + SLOW_NS - 1);
    ck_assert_uint_eq(w.left, 0);
    sto_rdb_prefetch_applied(&w, UINT64_MAX); /* nothing is timed any more */
    ck_assert_uint_eq(w.left, 0);
    sto_rdb_prefetch_pauses(&w);
    sto_rdb_prefetch_applies(&w, 1000); /* takes long, but does not sleep */
    sto_rdb_prefetch_applied(&w, 1000 + SLOW_NS);
    ck_assert_uint_eq(w.left, 0);
    sto_rdb_prefetch_applies(&w, 1000);
    (void)usleep(10);
    sto_rdb_prefetch_applied(&w, 1000 + SLOW_NS);
    ck_assert_uint_eq(w.left, LIM_PREFETCH_WATCH_OPS);
}
END_TEST

Suite *suite_storage_engine_prefetch(void);
Suite *suite_storage_engine_prefetch(void)
{
    Suite *s = suite_create("storage_engine_prefetch");
    TCase *t = tcase_create("reads");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_add_test(t, a_cold_row_does_not_hold_up_another_tenant);
    tcase_add_test(t, writes_of_a_tenant_keep_their_order);
    tcase_add_test(t, a_drop_is_behind_writes_that_are_read_for);
    tcase_add_test(t, a_gate_that_closes_meanwhile_refuses);
    tcase_add_test(t, a_purge_waits_for_what_is_being_read);
    tcase_add_test(t, close_finishes_what_is_being_read);
    tcase_add_test(t, what_a_full_read_queue_refuses_is_written_all_the_same);
    tcase_add_test(t, each_kind_of_write_reads_what_it_needs);
    tcase_add_test(t, a_replaced_version_is_read_ahead);
    tcase_add_test(t, nothing_is_asked_while_no_read_is_slow);
    suite_add_tcase(s, t);
    t = tcase_create("readers");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup_many, fix_teardown);
    tcase_add_test(t, scans_leave_threads_to_points_and_all_run);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/storage/test_engine_plan_end.c - dear operations that end before they are worked out, and
 * scans beside them.
 */
#include "tests/storage/plan.h"

#include "base/banned.h"

Suite *suite_storage_engine_plan_end(void);

/* Of which three run scans. */
static void setup_with_readers(void)
{
    prepare();
    fix.options.readers = 4;
    fix_open();
    sto_rocksdb_test_held_free(fix.engine, UINT64_MAX);
}

/* What comes while a reader is in the middle of it. */
static _Atomic bool is_unwanted;

static void unwant(struct request *q)
{
    (void)q;
    atomic_store(&is_unwanted, true);
}

static void run_late(struct request *q)
{
    q->op.deadline_ns = 1;
}

static void suspend(struct request *q)
{
    (void)q;
    atomic_store(&fix.accounts[0].gate, STO_GATE_NO_WRITES);
}

static const struct end {
    void (*come)(struct request *q);
    enum err result;
    const char *detail;
} ENDS[] = {
    {unwant, ERR_CANCELLED, "the operation was cancelled; nothing was done"},
    {run_late, ERR_TIMEOUT, "the deadline passed before its turn came; nothing was done"},
    {suspend, ERR_SUSPENDED, "the tenant is suspended: writes are refused"},
};

static void end_in_the_middle(struct request *q, const struct end *end)
{
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_LOOKING);
    q->op.unwanted = &is_unwanted;
    submit(q, 0, "long");
    await_plan(q);
    end->come(q);
    let_go();
    await(q);
    ck_assert_int_eq(q->op.result, end->result);
    ck_assert_str_eq(q->op.detail.text, end->detail);
    atomic_store(&fix.accounts[0].gate, 0);
    atomic_store(&is_unwanted, false);
    q->op.deadline_ns = 0;
    q->op.unwanted = NULL;
}

START_TEST(a_plan_ends_when_it_may_not_go_on)
{
    struct request q, erasure;
    struct sto_mutation m = {.kind = STO_DELETE_FROM_ROW};
    struct sto_filter_program *p = value_is("nothing");
    put_long_row("long", CELLS);
    struct sto_usage before = sto_counters_read(&fix.accounts[0].total);
    check_make(&q, p);
    end_in_the_middle(&q, &ENDS[_i]);
    ck_assert_uint_gt(q.op.bytes_seen, 0);
    uint64_t seen = q.op.bytes_seen;
    erasure = (struct request){.op = {.mutations = &m, .mutation_count = 1}};
    end_in_the_middle(&erasure, &ENDS[_i]);
    fix_assert_usage(0, before.bytes, before.rows, before.cells);
    check_submit(&q, "long", p);
    await(&q);
    ck_assert_int_eq(q.op.result, ERR_OK);
    ck_assert_uint_lt(seen, q.op.bytes_seen);
    fix_assert_no_drift(0);
    sto_filter_unref(p);
}
END_TEST

/* One match takes more than the millisecond between two looks. */
START_TEST(a_plan_ends_inside_a_large_cell)
{
    enum { PATTERNS = 20 };
    struct request q;
    static uint8_t value[MIB];
    struct sto_filter many[PATTERNS];
    memset(value, 'v', sizeof(value));
    for (size_t i = 0; i < PATTERNS; i++)
        many[i] = (struct sto_filter){.kind = STO_FILTER_VALUE_REGEX, .bytes = SLICE_LIT("x*")};
    const struct sto_filter all = {
        .kind = STO_FILTER_INTERLEAVE, .members = many, .member_count = PATTERNS};
    struct sto_filter_program *p = compile(&all);
    struct sto_mutation m = fix_set(1, "q", 1000, base_slice(value, sizeof(value)));
    ck_assert_int_eq(fix_mutate(T, "long", &m, 1), ERR_OK);
    uint64_t charged = charged_for(p);
    const struct sto_fair_line *scans = &(T)->tenant.account->scans;
    uint64_t before = scans->virtual_time;
    check_make(&q, p);
    end_in_the_middle(&q, &ENDS[0]);
    ck_assert_uint_lt(scans->virtual_time - before, charged / 4);
    sto_filter_unref(p);
}
END_TEST

static bool is_read(void *read)
{
    (void)base_mailbox_run(&fix.mailbox);
    return ((struct sto_read_op *)read)->state == STO_READ_END;
}

/* Only one scan may run at once; the plan is held where it is worked out, on its thread. */
START_TEST(scans_of_others_run_beside_a_long_plan)
{
    struct request q;
    struct fix_sink sink;
    struct rdb_pool *pool = &sto_rdb_engine(fix.engine)->pool;
    struct sto_filter_program *p = value_is("nothing");
    struct sto_read_op read = {.scope = fix.tables[OTHER][0],
                               .sink = &sink.sink,
                               .reply_to = &fix.mailbox,
                               .done = fix_read_done,
                               .state = STO_READ_MORE};
    fix_sink_init(&sink);
    pthread_mutex_lock(&pool->lock);
    pool->scans_max = 1; /* whatever the machine has */
    pool->aside_max = 1;
    pthread_mutex_unlock(&pool->lock);
    put_long_row("long", CELLS);
    ck_assert_int_eq(fix_put(&fix.tables[OTHER][0], "row", "v"), ERR_OK);
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_LOOKING);
    check_submit(&q, "long", p);
    await_plan(&q);
    fix.outstanding++;
    ck_assert(!sto_read_rows(fix.engine, &read, false));
    hold_readers(true);
    process_await(is_read, &read, "a scan beside a plan");
    ck_assert_uint_eq(q.place, 0);
    let_go();
    await(&q);
    ck_assert_int_eq(q.op.result, ERR_OK);
    sto_read_finish(fix.engine, &read);
    base_buf_fini(&sink.text);
    for (int i = 0; i < 3; i++) { /* it took its place again, and left it */
        struct fix_sink s;
        fix_sink_init(&s);
        ck_assert_int_eq(fix_read(T, &(struct sto_read_spec){0}, &s, false), ERR_OK);
        base_buf_fini(&s.text);
    }
    fix_wait();
    pthread_mutex_lock(&pool->lock);
    ck_assert_int_eq(pool->aside, 0);
    ck_assert_int_le(pool->scans_running, 1);
    pthread_mutex_unlock(&pool->lock);
    sto_filter_unref(p);
}
END_TEST

static bool is_given_back(void *share)
{
    return atomic_load(&((struct base_memory_share *)share)->used) == 0;
}

/* Its values are the operation's own memory, and are copied once, into RocksDB's batch. */
START_TEST(what_a_plan_changes_counts_for_its_tenant)
{
    enum { BYTES = 1000 };
    struct request q;
    static uint8_t value[BYTES];
    struct base_memory budget = {.limit = 2 * CELLS * BYTES};
    struct base_memory_share share = {.budget = &budget};
    struct sto_usage before = sto_counters_read(&fix.accounts[0].total);
    memset(value, 'v', sizeof(value));
    for (size_t i = 0; i < CELLS; i++)
        sets[i].value = base_slice(value, sizeof(value));
    fix.accounts[0].memory = &share;
    q = (struct request){.op = {.mutations = sets, .mutation_count = CELLS}};
    submit(&q, 0, "long");
    await(&q);
    ck_assert_int_eq(q.op.result, ERR_NO_MEMORY);
    ck_assert_msg(strstr(q.op.detail.text, " bytes together at this moment; change fewer cells"),
                  "%s", q.op.detail.text);
    process_await(is_given_back, &share, "the memory of a plan that was refused");
    fix_assert_usage(0, before.bytes, before.rows, before.cells);
    budget.limit = 10 * CELLS * BYTES;
    hold_readers(true);
    submit(&q, 0, "long");
    await_plan(&q);
    ck_assert_uint_gt(atomic_load(&share.used), CELLS * BYTES);
    let_go();
    await(&q);
    ck_assert_int_eq(q.op.result, ERR_OK);
    process_await(is_given_back, &share, "the memory of a plan");
    fix.accounts[0].memory = NULL;
    fix_assert_no_drift(0);
}
END_TEST

static bool is_put_off(void *pool)
{
    struct rdb_pool *p = pool;
    pthread_mutex_lock(&p->lock);
    bool is = p->long_first != NULL && p->long_running == p->long_max;
    pthread_mutex_unlock(&p->lock);
    return is;
}

static bool none_runs(void *pool)
{
    struct rdb_pool *p = pool;
    pthread_mutex_lock(&p->lock);
    bool none = p->long_first == NULL && p->long_running == 0;
    pthread_mutex_unlock(&p->lock);
    return none;
}

static void read_beside(struct sto_read_op *read, const char *what)
{
    fix.outstanding++;
    ck_assert(!sto_read_rows(fix.engine, read, false));
    process_await(is_read, read, what);
    sto_read_finish(fix.engine, read);
}

/* Of two places of scans, two plans of two tenants would hold both. */
START_TEST(plans_of_two_tenants_leave_a_place_to_a_scan)
{
    struct request first, second;
    struct fix_sink sink;
    struct rdb_pool *pool = &sto_rdb_engine(fix.engine)->pool;
    struct sto_filter_program *p = value_is("nothing");
    struct sto_read_op read = {.scope = fix.tables[1][0],
                               .sink = &sink.sink,
                               .reply_to = &fix.mailbox,
                               .done = fix_read_done,
                               .state = STO_READ_MORE};
    fix_sink_init(&sink);
    pthread_mutex_lock(&pool->lock);
    pool->scans_max = 2; /* whatever the machine has: of its three threads, none can step aside */
    pool->aside_max = 0;
    pool->long_max = 1;
    pthread_mutex_unlock(&pool->lock);
    put_long_row("long", CELLS);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "row", "v"), ERR_OK);
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_LOOKING);
    check_submit(&first, "long", p);
    await_plan(&first);
    second = (struct request){.op = {.mutations = sets, .mutation_count = CELLS}};
    submit(&second, OTHER, "long");
    process_await(is_put_off, pool, "a plan that waits for another one");
    read_beside(&read, "a scan beside the plans of two tenants");
    ck_assert(first.place == 0 && second.place == 0);
    let_go();
    await(&second);
    ck_assert_int_eq(first.op.result, ERR_OK);
    ck_assert_int_eq(second.op.result, ERR_OK);
    ck_assert_uint_eq(first.place + 1, second.place);
    process_await(none_runs, pool, "the end of all plans");
    base_buf_fini(&sink.text);
    sto_filter_unref(p);
}
END_TEST

Suite *suite_storage_engine_plan_end(void)
{
    Suite *s = suite_create("storage_engine_plan_end");
    TCase *tc = tcase_create("ends");
    tcase_add_checked_fixture(tc, setup, fix_teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_plan_ends_when_it_may_not_go_on, 0, sizeof(ENDS) / sizeof(ENDS[0]));
    tcase_add_test(tc, a_plan_ends_inside_a_large_cell);
    tcase_add_test(tc, what_a_plan_changes_counts_for_its_tenant);
    suite_add_tcase(s, tc);
    tc = tcase_create("four readers");
    tcase_add_checked_fixture(tc, setup_with_readers, fix_teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, scans_of_others_run_beside_a_long_plan);
    tcase_add_test(tc, plans_of_two_tenants_leave_a_place_to_a_scan);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/storage/test_engine_change_count.c - bytes of stored changes: exact, given back, bounded.
 *
 * fix_assert_no_drift compares them with what is stored, in memory and beside the counters.
 */
#include "changes.h"
#include "storage/rocksdb/change_care.h"
#include "storage/rocksdb/change_count.h"

#include "base/banned.h"

Suite *suite_storage_engine_change_count(void);

#define T     (&fix.tables[0][0])
#define OTHER (&fix.tables[0][1])

enum { LIMIT = 50, CHANGES = 200 };

static void setup(void)
{
    fix_prepare();
    fix.options.drop_range_cells = LIMIT;
    fix_open();
    changes_set(T, RETENTION_S);
    changes_set(OTHER, RETENTION_S);
}

static void setup_sealed(void)
{
    fix.sealed = true;
    setup();
}

static uint64_t used(void)
{
    return sto_account_change_bytes(&fix.accounts[0]);
}

static void limit_set(uint64_t max)
{
    atomic_store(&fix.accounts[0].change_bytes_max, max);
}

static void put_changes(const struct sto_table_scope *scope, int count)
{
    static struct sto_mutate_op ops[CHANGES];
    struct sto_mutation m = fix_set(1, "q", 1000, SLICE_LIT("some value"));
    ck_assert_int_le(count, CHANGES);
    for (int i = 0; i < count; i++) {
        ops[i] = (struct sto_mutate_op){
            .scope = *scope, .row_key = SLICE_LIT("r"), .mutations = &m, .mutation_count = 1};
        fix_submit(&ops[i]);
    }
    for (int i = 0; i < count; i++) {
        fix_until_taken(&ops[i]);
        ck_assert_int_eq(ops[i].result, ERR_OK);
    }
}

static void sweep(int64_t now_us)
{
    struct rdb_change_sweep walk = {0};
    bool more = true;
    while (more)
        ck_assert_int_eq(sto_rdb_changes_sweep(sto_rdb_engine(fix.engine), &walk, now_us, &more),
                         ERR_OK);
}

static int64_t when_all_is_old(void)
{
    return base_wall_us() + (RETENTION_S + 100) * 1000000LL;
}

static void reopen(void)
{
    fix_reopen();
    changes_load(T);
    changes_load(OTHER);
}

START_TEST(what_is_recorded_counts_and_a_restart_knows_it)
{
    put_changes(T, 10);
    uint64_t ten = used();
    ck_assert_uint_gt(ten, 10 * strlen("some value"));
    put_changes(T, 10);
    ck_assert_uint_eq(used(), 2 * ten);
    put_changes(OTHER, 1);
    ck_assert_uint_gt(used(), 2 * ten);
    ck_assert_uint_eq(sto_account_change_bytes(&fix.accounts[1]), 0);
    fix_assert_no_drift(0);
    uint64_t before = used();
    reopen();
    ck_assert_uint_eq(used(), before);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(what_retention_removes_is_given_back)
{
    put_changes(T, 20);
    put_changes(OTHER, 20);
    changes_set(OTHER, 0);
    sweep(base_wall_us());
    ck_assert_uint_gt(used(), 0);
    fix_assert_no_drift(0);
    sweep(when_all_is_old());
    ck_assert_uint_eq(used(), 0);
    fix_assert_no_drift(0);
    put_changes(T, 1);
    uint64_t before = used();
    reopen();
    ck_assert_uint_eq(used(), before);
    fix_assert_no_drift(0);
}
END_TEST

/* _i changes: as points, and beyond the limit as a range. */
START_TEST(what_goes_with_a_table_is_given_back)
{
    put_changes(T, _i);
    put_changes(OTHER, 1);
    uint64_t others = used() - atomic_load(&T->schema->table->changes.bytes);
    atomic_store(&T->schema->table->forgotten, true);
    ck_assert_int_eq(fix_drop_table(T).result, ERR_OK);
    ck_assert_uint_eq(used(), others);
    fix_assert_no_drift(0);
    ck_assert_int_eq(sto_table_forget(fix.engine, T, NULL, 0, NULL), ERR_OK);
    ck_assert_uint_eq(used(), others);
    fix_assert_no_drift(0);
}
END_TEST

static void *sweep_main(void *arg)
{
    (void)arg;
    sweep(when_all_is_old());
    return NULL;
}

/* The sweep has found the changes, and the table is removed before it deletes them. */
START_TEST(what_two_remove_is_given_back_once)
{
    pthread_t thread;
    put_changes(T, LIMIT - 1);
    put_changes(OTHER, 1);
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_SWEEPING);
    ck_assert_int_eq(pthread_create(&thread, NULL, sweep_main, NULL), 0);
    fix_await_held();
    atomic_store(&T->schema->table->forgotten, true);
    ck_assert_int_eq(fix_drop_table(T).result, ERR_OK);
    fix_assert_no_drift(0);
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_NEVER);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    sweep(when_all_is_old()); /* a walk that is thrown away leaves it to the next one */
    ck_assert_uint_eq(used(), 0);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_purge_leaves_no_count)
{
    put_changes(T, 3);
    sweep(when_all_is_old());
    put_changes(T, 3);
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    char keys[2][256];
    struct sto_doc_change docs[2];
    for (size_t i = 0; i < 2; i++) {
        changes_doc_key(&fix.tables[0][i], keys[i]);
        docs[i] = (struct sto_doc_change){.key = base_slice_text(keys[i]), .expect = STO_DOC_ANY};
    }
    for (enum sto_purge_step step = 0; step < STO_PURGE_STEP_COUNT; step++)
        ck_assert_int_eq(sto_purge_run(fix.engine, &fix.tenants[0], step, docs, 2, NULL), ERR_OK);
    struct sto_audit audit;
    ck_assert_int_eq(sto_audit_range(fix.engine, &fix.tenants[0], &audit, NULL), ERR_OK);
    ck_assert_uint_eq(audit.counters, 0);
    ck_assert_uint_eq(used(), 0);
}
END_TEST

START_TEST(a_full_quota_refuses_what_adds_and_lets_deletes_pass)
{
    struct sto_mutation m = fix_set(1, "q", 1000, SLICE_LIT("some value"));
    put_changes(T, 4);
    uint64_t four = used();
    struct sto_mutate_op op = {
        .scope = *T, .row_key = SLICE_LIT("r"), .mutations = &m, .mutation_count = 1};
    limit_set(four + four / 4);
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_OK); /* to the last byte */
    ck_assert_uint_eq(used(), four + four / 4);
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_QUOTA);
    ck_assert_ptr_nonnull(strstr(op.detail.text, "change_bytes"));
    ck_assert_int_eq(fix_put(T, "new", "v"), ERR_QUOTA);
    fix_assert_usage(0, 1 + 1 + 1 + strlen("some value") + 8, 1, 1); /* without its record, none */
    ck_assert_uint_eq(used(), four + four / 4);
    fix_assert_no_drift(0);
    ck_assert_int_eq(fix_delete_row(T, "r"), ERR_OK);
    fix_assert_no_drift(0);
    changes_set(T, 0);
    ck_assert_int_eq(fix_put(T, "new", "v"), ERR_OK); /* not recorded */
    sweep(base_wall_us());
    ck_assert_uint_eq(used(), 0);
    changes_set(T, RETENTION_S);
    ck_assert_int_eq(fix_put(T, "new", "w"), ERR_OK);
    fix_assert_no_drift(0);
}
END_TEST

/* Many writes at once are one batch: each counts for the next. */
START_TEST(writes_of_one_batch_do_not_pass_a_quota_together)
{
    enum { MANY = 64 };
    static struct sto_mutate_op ops[MANY];
    struct sto_mutation m = fix_set(1, "q", 1000, SLICE_LIT("some value"));
    put_changes(T, 1);
    uint64_t one = used();
    int good = 0;
    limit_set(one * 11);
    for (int i = 0; i < MANY; i++) {
        ops[i] = (struct sto_mutate_op){
            .scope = *T, .row_key = SLICE_LIT("r"), .mutations = &m, .mutation_count = 1};
        fix_submit(&ops[i]);
    }
    fix_wait();
    for (int i = 0; i < MANY; i++)
        good += ops[i].result == ERR_OK;
    ck_assert_int_eq(good, 10);
    ck_assert_uint_eq(used(), one * 11);
    fix_assert_no_drift(0);
}
END_TEST

/* As an earlier program left it. */
START_TEST(changes_that_were_not_counted_are_at_the_next_start)
{
    put_changes(T, 7);
    uint64_t before = used();
    uint8_t key[RDB_COUNTER_KEY_MAX], value[STO_COUNTERS_BYTES];
    size_t key_len = sto_rdb_counter_key(&fix.tenants[0], T->schema->table, key);
    struct sto_usage usage = sto_counters_read(&T->schema->table->counters);
    struct sto_stored_counters counters = {.usage = usage,
                                           .additions = 1,
                                           .last_change_us =
                                               atomic_load(&T->schema->table->changes.last_us)};
    sto_counters_encode(&counters, value);
    value[0] = STO_COUNTERS_FORMAT_3;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    rocksdb_writebatch_put_cf(batch, sto_rdb_engine(fix.engine)->db.meta, (const char *)key,
                              key_len, (const char *)value, sizeof value - 8);
    ck_assert_int_eq(sto_rdb_write(sto_rdb_engine(fix.engine), batch), ERR_OK);
    rocksdb_writebatch_destroy(batch);
    for (int i = 0; i < 2; i++) {
        reopen();
        ck_assert_uint_eq(used(), before);
        fix_assert_no_drift(0);
    }
    sweep(when_all_is_old());
    ck_assert_uint_eq(used(), 0);
    reopen();
    ck_assert_uint_eq(used(), 0);
    fix_assert_no_drift(0);
}
END_TEST

static TCase *case_of(const char *name, void (*begin)(void))
{
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin, fix_teardown);
    tcase_add_test(tc, what_is_recorded_counts_and_a_restart_knows_it);
    tcase_add_test(tc, what_retention_removes_is_given_back);
    tcase_add_loop_test(tc, what_goes_with_a_table_is_given_back, LIMIT - 1, LIMIT + 2);
    tcase_add_test(tc, what_two_remove_is_given_back_once);
    tcase_add_test(tc, a_purge_leaves_no_count);
    tcase_add_test(tc, a_full_quota_refuses_what_adds_and_lets_deletes_pass);
    tcase_add_test(tc, writes_of_one_batch_do_not_pass_a_quota_together);
    tcase_add_test(tc, changes_that_were_not_counted_are_at_the_next_start);
    return tc;
}

Suite *suite_storage_engine_change_count(void)
{
    Suite *s = suite_create("storage_engine_change_count");
    suite_add_tcase(s, case_of("plain", setup));
    suite_add_tcase(s, case_of("sealed", setup_sealed));
    return s;
}

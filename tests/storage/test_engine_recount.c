/*
 * tests/storage/test_engine_recount.c - counting what a tenant has lets deletions pass.
 */
#include "fixture.h"

#include <pthread.h>

#include "storage/rocksdb/rdb.h"
#include "tests/support/process.h"

#include "base/banned.h"

Suite *suite_storage_engine_recount(void);

#define T &fix.tables[0][0]

enum { ROWS = 200, COLUMNS = 400 };

static void setup(void)
{
    fix_prepare();
    fix.options.row_snapshot_waited_ms = 1;
    fix_open();
}

/* So many keys that counting takes several slices. */
static void put_many(void)
{
    static struct sto_mutation m[COLUMNS];
    static char names[COLUMNS][16];
    for (int i = 0; i < COLUMNS; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "c%04d", i);
        m[i] = fix_set(1, names[i], 1000, SLICE_LIT("v"));
    }
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        (void)snprintf(row, sizeof(row), "r%04d", i);
        ck_assert_int_eq(fix_mutate(T, row, m, COLUMNS), ERR_OK);
    }
}

static void recount_begin(struct sto_recount_op *op)
{
    *op = (struct sto_recount_op){
        .scope = fix.tenants[0], .reply_to = &fix.mailbox, .done = fix_recount_done};
    fix.outstanding++;
    sto_recount(fix.engine, op);
}

struct purge {
    _Atomic bool is_done;
    enum err result;
    struct errbuf detail;
};

static void *purge_main(void *arg)
{
    struct purge *p = arg;
    for (enum sto_purge_step s = STO_PURGE_FENCE; p->result == ERR_OK && s < STO_PURGE_STEP_COUNT;
         s++)
        p->result = sto_purge_run(fix.engine, &fix.tenants[1], s, NULL, 0, &p->detail);
    atomic_store(&p->is_done, true);
    return NULL;
}

/* Lets the recount look once, while the purge waits; true: the purge has passed. */
static bool purge_has_passed(void *arg)
{
    struct purge *p = arg;
    if (atomic_load(&sto_rdb_engine(fix.engine)->old_state_waited) != 0 &&
        sto_rocksdb_test_is_held(fix.engine)) {
        sto_rocksdb_test_hold_at(fix.engine, STO_DIE_NEVER);
        while (sto_rocksdb_test_is_held(fix.engine))
            (void)sched_yield();
        sto_rocksdb_test_hold_at(fix.engine, STO_DIE_LOOKING);
    }
    return atomic_load(&p->is_done);
}

START_TEST(a_deletion_does_not_wait_for_its_end)
{
    struct sto_recount_op op;
    struct purge p = {.result = ERR_OK};
    pthread_t thread;
    put_many();
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "a", "b"), ERR_OK);
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_LOOKING);
    recount_begin(&op);
    fix_await_held();
    atomic_store(&fix.accounts[1].gate, STO_GATE_GONE);
    ck_assert_int_eq(pthread_create(&thread, NULL, purge_main, &p), 0);
    process_await(purge_has_passed, &p, "the purge");
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_msg(p.result == ERR_OK, "%s", p.detail.text);
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_NEVER);
    fix_wait();
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    ck_assert_int_ge(op.begun, 2);
    ck_assert_uint_eq(op.counted.cells, ROWS * COLUMNS);
    ck_assert_uint_eq(op.recorded.cells, ROWS * COLUMNS);
    ck_assert_uint_eq(op.counted.bytes, op.recorded.bytes);
}
END_TEST

START_TEST(it_does_not_begin_for_ever)
{
    struct sto_recount_op op;
    _Atomic unsigned *waited = &sto_rdb_engine(fix.engine)->old_state_waited;
    put_many();
    atomic_fetch_add(waited, 1);
    do {
        recount_begin(&op);
        fix_wait();
    } while (op.result == ERR_OK); /* a machine that counts all in a millisecond */
    atomic_fetch_sub(waited, 1);
    ck_assert_int_eq(op.result, ERR_TIMEOUT);
    ck_assert_int_eq(op.begun, LIM_RECOUNT_BEGINS);
    ck_assert_str_eq(op.detail.text, "counting gave way to deletions 20 times, each time before it "
                                     "was done; ask again when fewer tenants leave");
    fix_assert_no_drift(0);
}
END_TEST

Suite *suite_storage_engine_recount(void)
{
    Suite *s = suite_create("storage_engine_recount");
    TCase *t = tcase_create("recount");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_add_test(t, a_deletion_does_not_wait_for_its_end);
    tcase_add_test(t, it_does_not_begin_for_ever);
    suite_add_tcase(s, t);
    return s;
}

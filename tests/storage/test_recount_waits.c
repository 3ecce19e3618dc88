/*
 * tests/storage/test_recount_waits.c - a recount waits behind a full read queue.
 */
#include "fixture.h"

#include "base/limits.h"
#include "storage/rocksdb/rdb.h"
#include "tests/storage/hold.h"

#include "base/banned.h"

Suite *suite_storage_recount_waits(void);

#define T (&fix.tables[0][0])
enum { ROWS = 50, READS = LIM_READ_QUEUE_OPS / 2 };

static struct sto_read_op reads[READS + 1];
static struct fix_sink sinks[READS + 1];

static void start_read(size_t i)
{
    fix_sink_init(&sinks[i]);
    reads[i] = (struct sto_read_op){
        .scope = *T, .sink = &sinks[i].sink, .reply_to = &fix.mailbox, .done = fix_read_done};
    fix.outstanding++;
    ck_assert(!sto_read_rows(fix.engine, &reads[i], false));
}

static void end_read(size_t i)
{
    while (reads[i].state == STO_READ_MORE) /* on a slow machine its slice gave way to others */
        fix_slice(&reads[i], &sinks[i], false);
    sto_read_finish(fix.engine, &reads[i]);
    base_buf_fini(&sinks[i].text);
}

static bool it_waits(void *arg)
{
    const struct rdb_pool *pool = &sto_rdb_engine(fix.engine)->pool;
    (void)arg;
    return atomic_load(&pool->waiting[RDB_SCANS]) == READS + 1;
}

START_TEST(a_full_read_queue_refuses_no_recount)
{
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        (void)snprintf(row, sizeof row, "row%03d", i); /* fits */
        ck_assert_int_eq(fix_put(T, row, "value"), ERR_OK);
    }
    fix_hold_readers(2);
    for (size_t i = 0; i <= READS; i++)
        start_read(i);
    (void)base_mailbox_run(&fix.mailbox);
    ck_assert_uint_eq(fix.outstanding, READS); /* the last one was refused: the queue is full */
    struct sto_recount_op recount = {
        .scope = fix.tenants[0], .reply_to = &fix.mailbox, .done = fix_recount_done};
    fix.outstanding++;
    sto_recount(fix.engine, &recount);
    process_await(it_waits, NULL, "the recount in the queue");
    fix_let_go();
    ck_assert_int_eq(reads[READS].result, ERR_OVERLOADED);
    ck_assert_msg(recount.result == ERR_OK, "%s", recount.detail.text);
    ck_assert_uint_eq(recount.counted.rows, ROWS);
    for (size_t i = 0; i <= READS; i++)
        end_read(i);
}
END_TEST

Suite *suite_storage_recount_waits(void)
{
    Suite *s = suite_create("storage_recount_waits");
    TCase *t = tcase_create("counts");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_full_read_queue_refuses_no_recount);
    suite_add_tcase(s, t);
    return s;
}

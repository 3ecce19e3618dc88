/*
 * tests/storage/drop_world.h - a table whose rows of one prefix are dropped, and concurrent
 * operations.
 *
 * Does:     fill it, drop the prefix, stop the drop while it counts, run other operations then.
 * Owns:     the message that keeps the reader of scans busy.
 * May use:  tests/storage/drops.h.
 * Knows no: the tests.
 * Threads:  the test's main thread.
 * Blocks:   for answers.
 * Fails by: ck_assert.
 * Limits:   waits for one drop at a time.
 * Promises: 1. With drop_range_cells LIMIT and drop_stretch_cells STRETCH an undisturbed drop
 *              removes LIMIT cells as points, two stretches, and TAIL rows as points.
 */
#ifndef TESTS_STORAGE_DROP_WORLD_H
#define TESTS_STORAGE_DROP_WORLD_H

#include <semaphore.h>

#include "tests/storage/drops.h"

#define T      &fix.tables[0][0]
#define PREFIX "patient-7741c"
#define SECRET "secret-93ab1f"

enum { LIMIT = 100, STRETCH = 400, TAIL = 30, KEPT = 20 };
enum { ROWS = LIMIT / 2 + STRETCH + TAIL };

static void world_options(void)
{
    fix.options.drop_range_cells = LIMIT;
    fix.options.drop_stretch_cells = STRETCH;
}

/* Prepares the table without old rows, because tests count its keys, also dropped ones. */
UNUSED_FN static void world_setup(void)
{
    fix_prepare_beside();
    world_options();
    fix_open();
}

UNUSED_FN static void world_setup_sealed(void)
{
    fix.sealed = true;
    world_setup();
}

UNUSED_FN static void fill_world(void)
{
    fill(T, PREFIX, SECRET, ROWS);
    fill(T, "kept", "kept", KEPT);
    fill(T, "zz", "kept", KEPT);
    fill_neighbours();
}

UNUSED_FN static uint64_t table_rows(void)
{
    return sto_counters_read(&fix.tables[0][0].schema->table->counters).rows;
}

/* Checks the rows after the drop. */
UNUSED_FN static void world_check(void)
{
    ck_assert_uint_eq(table_rows(), 2 * KEPT);
    neighbours_check();
}

/* --- dropping --------------------------------------------------------------------------------- */

static _Atomic bool drop_stop;

UNUSED_FN static void drop_begin(struct sto_drop_op *op)
{
    static uint8_t end[LIM_ROW_KEY];
    *op = (struct sto_drop_op){.scope = *T,
                               .range = sto_range_of_prefix(SLICE_LIT(PREFIX), end),
                               .stop = &drop_stop,
                               .reply_to = &fix.mailbox,
                               .done = fix_drop_done};
    fix.outstanding++;
    sto_drop_rows(fix.engine, op);
}

UNUSED_FN static struct sto_drop_op drop_prefix(void)
{
    struct sto_drop_op op;
    drop_begin(&op);
    fix_wait();
    return op;
}

/* --- stopping it while it counts -------------------------------------------------------------- */

struct reader_hold {
    struct base_msg msg;
    _Atomic bool is_reached;
    sem_t let_go;
};

/* Used alternately: one is queued before the count, the other after it. */
static struct reader_hold reader_holds[2];
static int reader_held;

static void reader_hold_run(struct base_msg *msg)
{
    struct reader_hold *h = (struct reader_hold *)msg;
    atomic_store(&h->is_reached, true);
    while (sem_wait(&h->let_go) != 0)
        ;
}

static void reader_hold_push(struct reader_hold *h)
{
    const struct rdb_pool_job job = {.account = &fix.accounts[0], .queue = RDB_SCANS, .must = true};
    h->msg.run = reader_hold_run;
    atomic_store(&h->is_reached, false);
    ck_assert_int_eq(sem_init(&h->let_go, 0, 0), 0);
    ck_assert(sto_rdb_pool_push(&engine()->pool, &job, &h->msg, NULL));
}

UNUSED_FN static void reader_go_on(void)
{
    ck_assert_int_eq(sem_post(&reader_holds[reader_held].let_go), 0);
}

static void reader_wait(void)
{
    fix_await_flag(&reader_holds[reader_held].is_reached, "the reader");
}

/* Stops the only reader of scans (fix.options.readers is 2). */
UNUSED_FN static void reader_stop(void)
{
    reader_hold_push(&reader_holds[reader_held]);
    reader_wait();
}

static bool drops_wait(void *drops)
{
    return atomic_load(&engine()->pool.waiting[RDB_SCANS]) >= *(const uint64_t *)drops;
}

/* Waits until this many drops are queued for the reader: by then they watch the range,
 * and have read nothing yet. */
UNUSED_FN static void wait_until_counting(uint64_t drops)
{
    process_await(drops_wait, &drops, "drops that wait for the reader");
}

/* Lets the reader do its queued work, and stops it after that. */
UNUSED_FN static void reader_count(void)
{
    reader_hold_push(&reader_holds[1 - reader_held]);
    reader_go_on();
    reader_held = 1 - reader_held;
    reader_wait();
}

/* Writes like fix_wait, for answers that do not depend on the drop in progress. */
UNUSED_FN static enum err put_meanwhile(const char *row, bool deletes)
{
    struct sto_mutation m = deletes ? (struct sto_mutation){.kind = STO_DELETE_FROM_ROW}
                                    : fix_set(1, "q", 1000, SLICE_LIT("meanwhile"));
    struct sto_mutate_op op = {
        .scope = *T, .row_key = base_slice_text(row), .mutations = &m, .mutation_count = 1};
    size_t others = fix.outstanding;
    fix_submit(&op);
    while (fix.outstanding > others) {
        base_mailbox_wait(&fix.mailbox, 1000);
        (void)base_mailbox_run(&fix.mailbox);
    }
    return op.result;
}

#endif

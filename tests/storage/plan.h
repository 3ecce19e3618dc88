/*
 * tests/storage/plan.h - expensive operations of tests, and readers that are held while they have
 * one.
 *
 * Does:     creates long rows and operations over them; submits them, and records the order of
 *           answers.
 * Owns:     the operations of a test.
 * May use:  tests/storage/fixture.h.
 * Knows no: their results.
 * Threads:  the test's main thread.
 * Blocks:   await and await_plan.
 * Fails by: ck_assert.
 * Limits:   rows of CELLS cells, or versions of one column.
 * Promises: 1. A plan is held before any of it is computed, or after it is, until let_go.
 */
#ifndef TESTS_STORAGE_PLAN_H
#define TESTS_STORAGE_PLAN_H

#include "tests/storage/fixture.h"

#define T      &fix.tables[0][0]
#define CELLS  3000 /* of a long row: more than LIM_APPLY_STEPS */
#define OTHER  2    /* a tenant with the same committer as 0 */
#define LONG_S 3600

static struct sto_mutation sets[CELLS];
static char names[CELLS][8];

UNUSED_FN static uint64_t plans(void)
{
    return atomic_load(&sto_rdb_engine(fix.engine)->plans);
}

UNUSED_FN static void prepare(void)
{
    fix_prepare();
    for (size_t i = 0; i < CELLS; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "c%05zu", i);
        sets[i] = fix_set(1, names[i], 1000, SLICE_LIT("v"));
    }
}

/* Opens the fixture without counting the time that a large change holds others, which depends on
 * the machine's speed; only the tests of that count enable it. */
UNUSED_FN static void setup(void)
{
    prepare();
    fix_open();
    sto_rocksdb_test_held_free(fix.engine, UINT64_MAX);
}

/* Writes a long row in operations that are not expensive. */
UNUSED_FN static void put_long_row(const char *row, size_t count)
{
    for (size_t i = 0; i < count; i += 500)
        ck_assert_int_eq(fix_mutate(T, row, &sets[i], count - i < 500 ? count - i : 500), ERR_OK);
}

UNUSED_FN static void put_versions(const char *row, size_t count)
{
    static struct sto_mutation m[1000];
    for (size_t i = 0; i < count; i += 1000) {
        for (size_t k = 0; k < 1000; k++)
            m[k] = fix_set(1, "q", (int64_t)(i + k + 1) * 1000, SLICE_LIT("v"));
        ck_assert_int_eq(fix_mutate(T, row, m, 1000), ERR_OK);
    }
}

/* Holds readers before they compute a plan, or after. */
UNUSED_FN static void hold_readers(bool behind)
{
    sto_rocksdb_test_hold_at(fix.engine, behind ? STO_DIE_PLANNED : STO_DIE_PLANNING);
}

UNUSED_FN static void let_go(void)
{
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_NEVER);
}

UNUSED_FN static struct sto_filter_program *compile(const struct sto_filter *f)
{
    struct sto_filter_program *p = NULL;
    struct errbuf eb = {{0}};
    enum err rc = sto_filter_compile(f, (T)->schema, &p, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    return p;
}

UNUSED_FN static struct sto_filter_program *value_is(const char *value)
{
    struct slice v = base_slice_text(value);
    const struct sto_filter f = {
        .kind = STO_FILTER_VALUE_RANGE,
        .range = {.start = v, .has_end = true, .end = v, .end_inclusive = true}};
    return compile(&f);
}

/* A request that counts the answers, so that their order is known. */
struct request {
    struct sto_mutate_op op; /* first */
    struct sto_check check;
    struct sto_mutation then;
    struct sto_mutation otherwise;
    size_t place; /* among the answers, from 1; 0: none */
};

static size_t answers;

UNUSED_FN static void request_done(struct sto_mutate_op *op)
{
    ((struct request *)op)->place = ++answers;
    fix.outstanding--;
}

UNUSED_FN static void submit(struct request *q, size_t tenant, const char *row)
{
    q->op.scope = fix.tables[tenant][0];
    q->op.row_key = base_slice_text(row);
    q->op.reply_to = &fix.mailbox;
    q->op.done = request_done;
    q->place = 0;
    fix.outstanding++;
    sto_mutate_row(fix.engine, &q->op);
}

UNUSED_FN static void set_submit(struct request *q, size_t tenant, const char *row,
                                 const char *value)
{
    *q = (struct request){.then = fix_set(2, "s", 1000, base_slice_text(value))};
    q->op = (struct sto_mutate_op){.mutations = &q->then, .mutation_count = 1};
    submit(q, tenant, row);
}

/* Builds a check that writes "yes" or "no" to gg:c. */
UNUSED_FN static void check_make(struct request *q, struct sto_filter_program *p)
{
    *q = (struct request){.then = fix_set(2, "c", 1000, SLICE_LIT("yes")),
                          .otherwise = fix_set(2, "c", 1000, SLICE_LIT("no"))};
    q->check = (struct sto_check){.predicate = p, .otherwise = &q->otherwise, .otherwise_count = 1};
    q->op = (struct sto_mutate_op){.mutations = &q->then, .mutation_count = 1, .check = &q->check};
}

UNUSED_FN static void check_submit(struct request *q, const char *row, struct sto_filter_program *p)
{
    check_make(q, p);
    submit(q, 0, row);
}

UNUSED_FN static void await(const struct request *q)
{
    while (q->place == 0) {
        base_mailbox_wait(&fix.mailbox, 1000);
        (void)base_mailbox_run(&fix.mailbox);
    }
}

/* Waits until a reader has the operation; it must not be done without one. */
UNUSED_FN static void await_plan(const struct request *q)
{
    while (!sto_rocksdb_test_is_held(fix.engine)) {
        base_mailbox_wait(&fix.mailbox, 1);
        (void)base_mailbox_run(&fix.mailbox);
        ck_assert_uint_eq(q->place, 0);
    }
}

/* Returns the readers' charge, in their fair order, for a predicate over a long row. */
UNUSED_FN static uint64_t charged_for(struct sto_filter_program *p)
{
    const struct sto_fair_line *scans = &(T)->tenant.account->scans;
    uint64_t before = scans->virtual_time;
    struct request q;
    check_submit(&q, "long", p);
    await(&q);
    ck_assert(q.op.result == ERR_OK && !q.check.matched);
    return scans->virtual_time - before;
}

#endif

/*
 * tests/storage/test_engine_fence.c - what a closed gate promises once the fence was passed.
 */
#include "tests/storage/fixture.h"

#include "base/banned.h"

#define WRITES 400
#define ROUNDS 60

struct write {
    struct sto_mutate_op op; /* first */
    struct sto_mutation set;
    char row[24];
};

static struct write writes[WRITES];
static struct sto_fence_op fence;
static bool is_passed;
static size_t passed;  /* writes that were done before the fence was */
static size_t refused; /* in all */
static size_t late;    /* writes that were done behind it */

static void write_done(struct sto_mutate_op *op)
{
    fix.outstanding--;
    ck_assert(op->result == ERR_OK || op->result == ERR_SUSPENDED);
    if (op->result != ERR_OK)
        refused++;
    else if (is_passed)
        late++;
    else
        passed++;
}

static void fence_done(struct sto_fence_op *op)
{
    ck_assert_ptr_eq(op, &fence);
    ck_assert(!is_passed);
    is_passed = true;
    fix.outstanding--;
}

static void submit_fence(size_t tenant)
{
    is_passed = false;
    fence = (struct sto_fence_op){
        .reply_to = &fix.mailbox, .done = fence_done, .scope = fix.tenants[tenant]};
    fix.outstanding++;
    sto_fence(fix.engine, &fence);
}

static void submit_write(size_t round, size_t i)
{
    struct write *w = &writes[i];
    int len = snprintf(w->row, sizeof(w->row), "row-%03zu-%04zu", round, i);
    w->set = fix_set(1, "q", 1000, SLICE_LIT("v"));
    w->op = (struct sto_mutate_op){.scope = fix.tables[0][0],
                                   .row_key = base_slice(w->row, (size_t)len),
                                   .mutations = &w->set,
                                   .mutation_count = 1,
                                   .reply_to = &fix.mailbox,
                                   .done = write_done};
    fix.outstanding++;
    sto_mutate_row(fix.engine, &w->op);
}

static void await_fence(void)
{
    while (!is_passed) {
        base_mailbox_wait(&fix.mailbox, 1000);
        (void)base_mailbox_run(&fix.mailbox);
    }
}

/* Rows that a read shows. */
static size_t count_rows(void)
{
    struct fix_sink s;
    const struct sto_read_spec all = {.rows = {0}};
    size_t rows = 0;
    fix_sink_init(&s);
    ck_assert_int_eq(fix_read(&fix.tables[0][0], &all, &s, false), ERR_OK);
    for (size_t i = 0; i < s.text.len; i++)
        rows += s.text.ptr[i] == '}';
    base_buf_fini(&s.text);
    return rows;
}

START_TEST(no_write_is_done_or_seen_behind_the_fence)
{
    size_t none = 0;
    size_t all = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        passed = refused = late = 0;
        for (size_t i = 0; i < WRITES; i++)
            submit_write(round, i);
        for (size_t turn = 0; turn < (size_t)1 << round % 20; turn++)
            atomic_thread_fence(memory_order_seq_cst); /* somewhere among the batches */
        atomic_store(&fix.accounts[0].gate, STO_GATE_NO_WRITES);
        submit_fence(0);
        await_fence();
        size_t seen = count_rows();
        fix_wait();
        ck_assert_uint_eq(late, 0);
        ck_assert_uint_eq(passed + refused, WRITES);
        all += passed;
        ck_assert_uint_eq(seen, all);
        ck_assert_uint_eq(count_rows(), seen);
        none += refused;
        atomic_store(&fix.accounts[0].gate, 0);
    }
    ck_assert_uint_gt(all, 0); /* else nothing was tried */
    ck_assert_uint_gt(none, 0);
}
END_TEST

START_TEST(fence_of_a_quiet_tenant_is_passed_at_once)
{
    submit_fence(1);
    await_fence();
    ck_assert_uint_eq(fix.outstanding, 0);
}
END_TEST

Suite *suite_storage_engine_fence(void);
Suite *suite_storage_engine_fence(void)
{
    Suite *s = suite_create("storage_engine_fence");
    TCase *t = tcase_create("gate");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_add_test(t, no_write_is_done_or_seen_behind_the_fence);
    tcase_add_test(t, fence_of_a_quiet_tenant_is_passed_at_once);
    suite_add_tcase(s, t);
    return s;
}

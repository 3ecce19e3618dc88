/*
 * tests/migrations/restored.h - what was restored, compared with what was there.
 *
 * Does:     write a table as text; ask for restores; let a server die in one.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/, migrations/, tests/migrations/workshop.h, libcheck.
 * Knows no: HTTP.
 * Threads:  the test's main thread.
 * Blocks:   yes.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: none.
 */
#ifndef TESTS_MIGRATIONS_RESTORED_H
#define TESTS_MIGRATIONS_RESTORED_H

#include "tests/migrations/workshop.h"

#define LATER 4102444800000000

VAULT_FN struct shop_ask of(enum shop_asking what, const char *name, const char *table,
                            const char *target)
{
    return (struct shop_ask){what, "altostrat", name, table, target, LATER, "", ERR_OK};
}

/* Everything that is in a table, as text: keys and cells in their order. */
struct dump {
    struct sto_row_sink sink;
    struct buf text;
};

VAULT_FN void dump_row(struct sto_row_sink *s, struct slice row_key)
{
    struct dump *d = (struct dump *)s;
    (void)base_buf_printf(&d->text, "%.*s", SLICE_ARGS(row_key));
}

VAULT_FN void dump_cell(struct sto_row_sink *s, const struct sto_cell *c)
{
    struct dump *d = (struct dump *)s;
    (void)base_buf_printf(&d->text, " %s:%.*s@%lld=", c->family->name, SLICE_ARGS(c->qualifier),
                          (long long)c->timestamp_us);
    (void)base_buf_append(&d->text, c->value);
}

VAULT_FN void dump_end(struct sto_row_sink *s)
{
    (void)base_buf_append_byte(&((struct dump *)s)->text, '\n');
}

VAULT_FN void dump_undo(struct sto_row_sink *s)
{
    (void)s;
    ck_abort_msg("the sink is never full");
}

VAULT_FN bool dump_is_full(struct sto_row_sink *s)
{
    (void)s;
    return false;
}

VAULT_FN struct buf dump(const char *tenant, const char *table)
{
    struct dump d = {.sink = {dump_row, dump_cell, dump_end, dump_undo, dump_is_full}};
    bool done = false;
    struct sto_read_op op = {
        .reply_to = &tent.mail, .done = tent_read_done, .user = &done, .sink = &d.sink};
    base_buf_init(&d.text, 16 * MIB);
    enum err rc =
        ten_scope_table(tent_find(&tent, tenant), base_slice_text(table), &op.scope, &tent.eb);
    ck_assert_msg(rc == ERR_OK, "%s: %s", table, tent.eb.text);
    do {
        done = false;
        if (!sto_read_rows(tent.engine, &op, false))
            tent_wait_flag(&tent, &done);
    } while (op.state == STO_READ_MORE);
    ck_assert_msg(op.state == STO_READ_END, "%s", op.detail.text);
    sto_read_finish(tent.engine, &op);
    sto_table_scope_release(&op.scope);
    return d.text;
}

VAULT_FN bool has_table(const char *tenant, const char *table)
{
    struct sto_table_scope scope;
    enum err rc = ten_scope_table(tent_find(&tent, tenant), base_slice_text(table), &scope, NULL);
    if (rc == ERR_OK)
        sto_table_scope_release(&scope);
    return rc == ERR_OK;
}

VAULT_FN void assert_same(struct buf *before, const char *tenant, const char *table)
{
    struct buf after = dump(tenant, table);
    ck_assert_uint_gt(after.len, 0);
    ck_assert(base_slice_equal(base_buf_slice(before), base_buf_slice(&after)));
    base_buf_fini(&after);
    tent_recount(&tent, tent_find(&tent, tenant));
}

VAULT_FN void die_at(int point, struct shop_ask a)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        shop_open();
        mig_backup_test_die_at(point);
        (void)shop_try(&a);
        for (;;) /* until it dies */
            (void)pause();
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 137);
}

#endif

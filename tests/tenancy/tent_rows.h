/*
 * tests/tenancy/tent_rows.h - writes, reads and counts rows of the fixture as requests do.
 *
 * Does:     write a cell, read a table, compare the counters with a recount.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/, tests/tenancy/tent.h, libcheck.
 * Knows no: HTTP.
 * Threads:  the test's main thread; another writer thread needs its own struct tent.
 * Blocks:   until the answer arrives.
 * Fails by: ck_abort_msg, except for functions that return an error.
 * Limits:   none.
 * Promises: 1. Every access goes through tenancy/scope.h.
 */
#ifndef TESTS_TENANCY_TENT_ROWS_H
#define TESTS_TENANCY_TENT_ROWS_H

#include "tests/tenancy/tent.h"

#include "tenancy/scope.h"

static inline void tent_mutate_done(struct sto_mutate_op *op)
{
    *(bool *)op->user = true;
}

/* Sets cell f:q of a row in a scope that was opened earlier. */
static inline enum err tent_write_scope(struct tent *t, const struct sto_table_scope *scope,
                                        const char *row, struct slice value)
{
    bool done = false;
    struct sto_mutation m = {.kind = STO_SET_CELL,
                             .family = scope->schema->families[0].number,
                             .qualifier = SLICE_LIT("q"),
                             .timestamp_us = STO_TIMESTAMP_SERVER,
                             .value = value};
    struct sto_mutate_op op = {.reply_to = &t->mail,
                               .done = tent_mutate_done,
                               .user = &done,
                               .scope = *scope,
                               .row_key = base_slice_text(row),
                               .mutations = &m,
                               .mutation_count = 1};
    enum err rc =
        sto_mutations_check(scope->schema, scope->tenant.account, op.row_key, &m, 1, &t->eb);
    if (rc != ERR_OK)
        return rc;
    sto_mutate_row(t->engine, &op);
    tent_wait_flag(t, &done);
    t->eb = op.detail;
    return op.result;
}

static inline enum err tent_try_write(struct tent *t, struct ten_tenant *tenant, const char *table,
                                      const char *row, struct slice value)
{
    struct sto_table_scope scope;
    uint64_t retry_ns;
    enum err rc = tent_admit(t, tenant, TEN_WRITE, 1, &retry_ns);
    if (rc == ERR_OK)
        rc = ten_scope_table(tenant, base_slice_text(table), &scope, &t->eb);
    if (rc != ERR_OK)
        return rc;
    rc = tent_write_scope(t, &scope, row, value);
    sto_table_scope_release(&scope);
    return rc;
}

static inline void tent_write(struct tent *t, struct ten_tenant *tenant, const char *table,
                              const char *row, const char *value)
{
    enum err rc = tent_try_write(t, tenant, table, row, base_slice_text(value));
    ck_assert_msg(rc == ERR_OK, "write %s/%s: %s", table, row, t->eb.text);
}

/* Writes one row of many cells, f:0, f:1, ..., in lists of LIM_APPLY_STEPS. */
static inline void tent_write_cells(struct tent *t, struct ten_tenant *tenant, const char *table,
                                    const char *row, size_t count)
{
    bool done = false;
    struct sto_table_scope scope;
    ck_assert_int_eq(ten_scope_table(tenant, base_slice_text(table), &scope, &t->eb), ERR_OK);
    struct sto_mutation *mutations = base_new_array(count, sizeof mutations[0]);
    char(*names)[24] = base_new_array(count, sizeof names[0]);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "%zu", i);
        mutations[i] = (struct sto_mutation){.kind = STO_SET_CELL,
                                             .family = scope.schema->families[0].number,
                                             .qualifier = base_slice_text(names[i]),
                                             .timestamp_us = STO_TIMESTAMP_SERVER,
                                             .value = SLICE_LIT("v")};
    }
    for (size_t at = 0; at < count; at += LIM_APPLY_STEPS) {
        size_t left = count - at;
        struct sto_mutate_op op = {.reply_to = &t->mail,
                                   .done = tent_mutate_done,
                                   .user = &done,
                                   .scope = scope,
                                   .row_key = base_slice_text(row),
                                   .mutations = mutations + at,
                                   .mutation_count =
                                       left < LIM_APPLY_STEPS ? left : LIM_APPLY_STEPS};
        done = false;
        sto_mutate_row(t->engine, &op);
        tent_wait_flag(t, &done);
        ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    }
    base_free(names);
    base_free(mutations);
    sto_table_scope_release(&scope);
}

struct tent_sink {
    struct sto_row_sink sink;
    uint64_t rows;
    uint64_t cells;
    struct buf keys;   /* row keys, each followed by a comma */
    struct buf values; /* likewise */
};

static inline void tent_sink_row_begin(struct sto_row_sink *s, struct slice row_key)
{
    struct tent_sink *k = (struct tent_sink *)s;
    (void)base_buf_append(&k->keys, row_key);
    (void)base_buf_append_byte(&k->keys, ',');
}

static inline void tent_sink_cell(struct sto_row_sink *s, const struct sto_cell *cell)
{
    struct tent_sink *k = (struct tent_sink *)s;
    k->cells++;
    (void)base_buf_append(&k->values, cell->value);
    (void)base_buf_append_byte(&k->values, ',');
}

static inline void tent_sink_row_end(struct sto_row_sink *s)
{
    ((struct tent_sink *)s)->rows++;
}

static inline void tent_sink_row_undo(struct sto_row_sink *s)
{
    (void)s;
    ck_abort_msg("the sink is never full");
}

static inline bool tent_sink_is_full(struct sto_row_sink *s)
{
    (void)s;
    return false;
}

static inline void tent_sink_init(struct tent_sink *k)
{
    *k = (struct tent_sink){.sink = {tent_sink_row_begin, tent_sink_cell, tent_sink_row_end,
                                     tent_sink_row_undo, tent_sink_is_full}};
    base_buf_init(&k->keys, MIB);
    base_buf_init(&k->values, MIB);
}

static inline void tent_sink_fini(struct tent_sink *k)
{
    base_buf_fini(&k->keys);
    base_buf_fini(&k->values);
}

static inline void tent_read_done(struct sto_read_op *op)
{
    *(bool *)op->user = true;
}

/* Reads all rows of a table into sink. */
static inline enum err tent_scan(struct tent *t, struct ten_tenant *tenant, const char *table,
                                 struct tent_sink *sink)
{
    bool done = false;
    uint64_t retry_ns;
    struct sto_read_op op = {
        .reply_to = &t->mail, .done = tent_read_done, .user = &done, .sink = &sink->sink};
    enum err rc = tent_admit(t, tenant, TEN_READ, 1, &retry_ns);
    if (rc == ERR_OK)
        rc = ten_scope_table(tenant, base_slice_text(table), &op.scope, &t->eb);
    if (rc != ERR_OK)
        return rc;
    do {
        done = false;
        if (!sto_read_rows(t->engine, &op, false))
            tent_wait_flag(t, &done);
    } while (op.state == STO_READ_MORE);
    sto_read_finish(t->engine, &op);
    sto_table_scope_release(&op.scope);
    t->eb = op.detail;
    return op.state == STO_READ_FAILED ? op.result : ERR_OK;
}

/* Returns all row keys of a table, each followed by a comma, in static memory. */
static inline const char *tent_keys(struct tent *t, struct ten_tenant *tenant, const char *table)
{
    static char text[4096];
    struct tent_sink sink;
    tent_sink_init(&sink);
    enum err rc = tent_scan(t, tenant, table, &sink);
    ck_assert_msg(rc == ERR_OK, "scan %s: %s", table, t->eb.text);
    ck_assert_uint_lt(sink.keys.len, sizeof text);
    (void)snprintf(text, sizeof text, "%.*s", (int)sink.keys.len,
                   sink.keys.len > 0 ? (const char *)sink.keys.ptr : "");
    tent_sink_fini(&sink);
    return text;
}

static inline void tent_recount_done(struct sto_recount_op *op)
{
    *(bool *)op->user = true;
}

/* Recounts; the counters must equal the recount. Returns the usage. */
static inline struct sto_usage tent_recount(struct tent *t, struct ten_tenant *tenant)
{
    bool done = false;
    struct sto_recount_op op = {.reply_to = &t->mail,
                                .done = tent_recount_done,
                                .user = &done,
                                .scope = ten_scope_tenant(tenant)};
    sto_recount(t->engine, &op);
    tent_wait_flag(t, &done);
    ck_assert_int_eq(op.result, ERR_OK);
    assert_same_usage(&op.counted, &op.recorded);
    struct sto_usage live = sto_counters_read(&tenant->account.total);
    assert_same_usage(&op.counted, &live);
    return op.counted;
}

#endif

/*
 * tests/tenancy/sweep.h - tables with rules, filled with garbage, and the sweeper over them.
 *
 * Does:     create tenants and tables, fill them, wait until cells are removed, count keys read.
 * Owns:     the fixture of the test that includes it.
 * May use:  base/, storage/, tenancy/, tests/tenancy/tent.h, libcheck.
 * Knows no: HTTP.
 * Threads:  the test's main thread.
 * Blocks:   yes.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: 1. fill stores a header and `versions` cells for each row.
 */
#ifndef TESTS_TENANCY_SWEEP_H
#define TESTS_TENANCY_SWEEP_H

#include "tests/tenancy/tent.h"

#include "base/clock.h"
#include "tenancy/internal.h"
#include "tenancy/scope.h"
#include "tenancy/sweeper.h"

static struct tent tent;
static struct ten_tenant *tenant;

/* Shortest possible rest of the sweeper, so that tests do not wait for it. */
#define SWEEP_REST_MS 20

static inline void setup_closed(void)
{
    tent_make(&tent);
    tent.sweeper = (struct ten_sweeper_options){
        .tick_ms = 10, .rest_ms = SWEEP_REST_MS, .keys_per_s = 20 * TEN_SWEEP_KEYS_PER_S};
}

static inline void setup(void)
{
    setup_closed();
    tent_open(&tent);
}

static inline void teardown(void)
{
    tent_close(&tent);
    tent_remove(&tent);
}

static const struct sto_gc_node ONE = {.kind = STO_GC_MAX_VERSIONS, .max_versions = 1};
static const struct sto_gc_node THREE = {.kind = STO_GC_MAX_VERSIONS, .max_versions = 3};
static const struct sto_gc_node HOUR = {.kind = STO_GC_MAX_AGE, .max_age_us = 3600ULL * 1000000};

struct table {
    const char *id;
    const struct sto_gc_node *rule; /* of family f; NULL: none */
};

static inline void make_tenant(struct tent *t, void *ctx)
{
    struct ten_tenant_wanted wanted = {.quota = NULL};
    enum err rc = ten_tenant_create(t->registry, base_slice_text(ctx), &wanted, &tenant, &t->eb);
    ck_assert_msg(rc == ERR_OK, "%s", t->eb.text);
}

static inline void put_table(struct tent *t, void *ctx)
{
    const struct table *table = ctx;
    struct sto_family_spec family = {
        .name = SLICE_LIT("f"), .gc_nodes = table->rule, .gc_node_count = table->rule != NULL};
    struct ten_table_wanted wanted = {.families = &family, .family_count = 1};
    bool created;
    enum err rc =
        ten_table_put(t->registry, tenant, base_slice_text(table->id), &wanted, &created, &t->eb);
    ck_assert_msg(rc == ERR_OK, "%s", t->eb.text);
}

static inline void tables_make(const char *tenant_id, const char *table,
                               const struct sto_gc_node *rule)
{
    char id[64];
    (void)snprintf(id, sizeof id, "%s", tenant_id);
    tent_control(&tent, make_tenant, id);
    tent_control(&tent, put_table, &(struct table){table, rule});
}

static size_t outstanding;

static inline void mutate_done(struct sto_mutate_op *op)
{
    ck_assert_int_eq(op->result, ERR_OK);
    outstanding--;
}

static inline void wait_all(void)
{
    while (outstanding > 0) { /* each request is answered; libcheck bounds the wait */
        base_mailbox_wait(&tent.mail, 1000);
        (void)base_mailbox_run(&tent.mail);
    }
}

/* Writes `versions` cells to f:q of each of `rows` rows, the newest at newest_us, 1 ms apart. */
static inline void fill_from(const char *table, size_t first, size_t rows, size_t versions,
                             int64_t newest_us)
{
    struct sto_table_scope scope;
    ck_assert_int_eq(ten_scope_table(tenant, base_slice_text(table), &scope, NULL), ERR_OK);
    struct sto_mutate_op *ops = base_new_array(rows, sizeof *ops);
    struct sto_mutation *m = base_new_array(versions, sizeof *m);
    char(*keys)[24] = base_new_array(rows, sizeof *keys);
    for (size_t i = 0; i < versions; i++)
        m[i] = (struct sto_mutation){.kind = STO_SET_CELL,
                                     .family = 1,
                                     .qualifier = SLICE_LIT("q"),
                                     .timestamp_us = newest_us - (int64_t)i * 1000,
                                     .value = SLICE_LIT("value")};
    for (size_t i = 0; i < rows; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "row%06zu", first + i);
        ops[i] = (struct sto_mutate_op){.scope = scope,
                                        .row_key = base_slice_text(keys[i]),
                                        .mutations = m,
                                        .mutation_count = versions,
                                        .reply_to = &tent.mail,
                                        .done = mutate_done};
        outstanding++;
        sto_mutate_row(tent.engine, &ops[i]);
    }
    wait_all();
    base_free(keys);
    base_free(m);
    base_free(ops);
    sto_table_scope_release(&scope);
}

static inline void fill(const char *table, size_t rows, size_t versions, int64_t newest_us)
{
    enum { AT_ONCE = 3000 };
    for (size_t first = 0; first < rows; first += AT_ONCE)
        fill_from(table, first, rows - first < AT_ONCE ? rows - first : AT_ONCE, versions,
                  newest_us);
}

static inline uint64_t cells(void)
{
    return sto_counters_read(&tenant->account.total).cells;
}

static inline bool cells_are(void *wanted)
{
    return cells() == *(const uint64_t *)wanted;
}

static inline void wait_for_cells(uint64_t wanted)
{
    process_await(cells_are, &wanted, "a number of cells");
}

static inline void recount_done(struct sto_recount_op *op)
{
    (void)op;
    outstanding--;
}

static inline void assert_no_drift(void)
{
    struct sto_recount_op op = {
        .scope = ten_scope_tenant(tenant), .reply_to = &tent.mail, .done = recount_done};
    outstanding++;
    sto_recount(tent.engine, &op);
    wait_all();
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    assert_same_usage(&op.counted, &op.recorded);
}

static inline void delete_done(struct ten_table_delete_op *op)
{
    ck_assert_int_eq(op->result, ERR_OK);
    outstanding--;
}

static inline void table_delete(const char *id)
{
    struct ten_table_delete_op op = {.reply_to = &tent.mail, .done = delete_done, .tenant = tenant};
    (void)snprintf(op.table_id, sizeof op.table_id, "%s", id);
    outstanding++;
    ten_table_delete(tent.registry, &op);
    wait_all();
}

static inline void reopen(void)
{
    tent_reopen(&tent);
    tenant = ten_tenant_find(tent.registry, SLICE_LIT("altostrat"));
}

/* Returns the sweeper's counts since the start. */
static inline struct ten_sweep_stats swept(void)
{
    return ten_sweeper_stats(tent.registry->sweeper);
}

static inline bool keys_reach(void *at_least)
{
    return swept().keys >= *(const uint64_t *)at_least;
}

static inline void wait_for_keys(uint64_t at_least)
{
    process_await(keys_reach, &at_least, "keys that are looked at");
}

static inline bool rounds_reach(void *at_least)
{
    return swept().rounds >= *(const uint64_t *)at_least;
}

/* Waits until the sweeper has checked every table, also rested ones, and none is due. */
static inline void wait_until_idle(void)
{
    uint64_t keys;
    do {
        keys = swept().keys;
        tent_pause_ms(SWEEP_REST_MS);
        uint64_t rounds = swept().rounds + 2;
        process_await(rounds_reach, &rounds, "two rounds of the sweeper");
    } while (swept().keys != keys);
}

#endif

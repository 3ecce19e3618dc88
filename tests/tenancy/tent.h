/*
 * tests/tenancy/tent.h - a registry over a real engine in a directory of its own.
 *
 * Does:     open, close and reopen; run control functions on the control thread; write, read, count
 *           and delete as requests do.
 * Owns:     the directory, until tent_remove.
 * May use:  base/, storage/, tenancy/, libcheck.
 * Knows no: HTTP.
 * Threads:  the test's main thread, which is joined to the epoch while the tent is open.
 * Blocks:   until the answer is there.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: 1. Threads start in tent_open: call it after the fork, inside a test or checked
 * fixture.
 */
#ifndef TESTS_TENANCY_TENT_H
#define TESTS_TENANCY_TENT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* nftw; so this header comes first */
#endif

#include <check.h>
#include <ftw.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/rocksdb/rocksdb_engine.h"
#include "tenancy/offboard.h"
#include "tenancy/registry.h"
#include "tenancy/scope.h"

struct tent {
    char dir[64];
    struct sto_engine *engine;
    struct base_epoch *epoch;
    int slot;
    struct ten_registry *registry;
    struct base_mailbox mail;
    struct errbuf eb; /* of the last call that failed */
};

/* --- open and close --------------------------------------------------------------------------- */

static inline void tent_make(struct tent *t)
{
    memset(t, 0, sizeof *t);
    (void)snprintf(t->dir, sizeof t->dir, "/tmp/bigtent-tent-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(t->dir));
}

static inline enum err tent_open_engine(struct tent *t)
{
    struct sto_rocksdb_options o;
    sto_rocksdb_options_default(&o);
    o.dir = t->dir;
    o.cache_bytes = 8 * MIB;
    o.memtable_bytes = 4 * MIB;
    o.committers = 2;
    o.readers = 2;
    o.headroom_bytes = 1 * MIB;
    o.ballast_bytes = 64 * KIB;
    t->epoch = base_epoch_new();
    t->slot = base_epoch_join(t->epoch);
    ck_assert_int_eq(base_mailbox_init(&t->mail), ERR_OK);
    return sto_rocksdb_open(&o, &t->engine, &t->eb);
}

static inline void tent_close_engine(struct tent *t)
{
    sto_engine_close(t->engine);
    base_epoch_leave(t->epoch, t->slot);
    base_epoch_free(t->epoch);
    base_mailbox_fini(&t->mail);
}

static inline void tent_open(struct tent *t)
{
    enum err rc = tent_open_engine(t);
    ck_assert_msg(rc == ERR_OK, "engine: %s", t->eb.text);
    rc = ten_registry_open(t->engine, t->epoch, &t->registry, &t->eb);
    ck_assert_msg(rc == ERR_OK, "registry: %s", t->eb.text);
}

static inline void tent_close(struct tent *t)
{
    base_epoch_quiescent(t->epoch, t->slot);
    ten_registry_close(t->registry);
    t->registry = NULL;
    tent_close_engine(t);
}

static inline void tent_reopen(struct tent *t)
{
    tent_close(t);
    tent_open(t);
}

static inline int tent_remove_one(const char *name, const struct stat *st, int kind,
                                  struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(name);
}

static inline void tent_remove(struct tent *t)
{
    (void)nftw(t->dir, tent_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void tent_pause_ms(long ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}

/* --- on the control thread -------------------------------------------------------------------- */

struct tent_call {
    struct base_msg msg;
    void (*fn)(struct tent *t, void *ctx);
    struct tent *tent;
    void *ctx;
    sem_t done;
};

static inline void tent_run_call(struct base_msg *msg)
{
    struct tent_call *call = (struct tent_call *)((char *)msg - offsetof(struct tent_call, msg));
    call->fn(call->tent, call->ctx);
    (void)sem_post(&call->done);
}

static inline void tent_control(struct tent *t, void (*fn)(struct tent *t, void *ctx), void *ctx)
{
    struct tent_call call = {.msg.run = tent_run_call, .fn = fn, .tent = t, .ctx = ctx};
    (void)sem_init(&call.done, 0, 0);
    memset(&t->eb, 0, sizeof t->eb);
    ten_control_post(t->registry, &call.msg);
    while (sem_wait(&call.done) != 0)
        ;
    (void)sem_destroy(&call.done);
    base_epoch_quiescent(t->epoch, t->slot);
}

struct tent_args {
    struct ten_tenant *tenant;
    struct slice text;
    struct slice more;
    const struct ten_quota *quota;
    const struct sto_family_spec *families;
    size_t count;
    bool created;
    char job[TEN_JOB_ID + 1];
    struct ten_job *jobs;
    struct ten_tenant **tenants;
    enum err rc;
};

static inline void tent_do_create(struct tent *t, void *ctx)
{
    struct tent_args *a = ctx;
    a->rc = ten_tenant_create(t->registry, a->text, a->more, &a->tenant, &t->eb);
}

static inline enum err tent_try_create(struct tent *t, struct slice id, struct slice display_name,
                                       struct ten_tenant **out)
{
    struct tent_args a = {.text = id, .more = display_name};
    tent_control(t, tent_do_create, &a);
    if (out != NULL)
        *out = a.tenant;
    return a.rc;
}

static inline struct ten_tenant *tent_create(struct tent *t, const char *id)
{
    struct ten_tenant *tenant = NULL;
    enum err rc = tent_try_create(t, base_slice_text(id), SLICE_LIT("Somebody"), &tenant);
    ck_assert_msg(rc == ERR_OK, "create %s: %s", id, t->eb.text);
    return tenant;
}

static inline struct ten_tenant *tent_find(struct tent *t, const char *id)
{
    return ten_tenant_find(t->registry, base_slice_text(id));
}

static inline void tent_do_suspend(struct tent *t, void *ctx)
{
    struct tent_args *a = ctx;
    a->rc = ten_tenant_suspend(t->registry, a->tenant, a->text, &t->eb);
}

static inline enum err tent_suspend(struct tent *t, struct ten_tenant *tenant, const char *reason)
{
    struct tent_args a = {.tenant = tenant, .text = base_slice_text(reason)};
    tent_control(t, tent_do_suspend, &a);
    return a.rc;
}

static inline void tent_do_resume(struct tent *t, void *ctx)
{
    struct tent_args *a = ctx;
    a->rc = ten_tenant_resume(t->registry, a->tenant, &t->eb);
}

static inline enum err tent_resume(struct tent *t, struct ten_tenant *tenant)
{
    struct tent_args a = {.tenant = tenant};
    tent_control(t, tent_do_resume, &a);
    return a.rc;
}

static inline void tent_do_quota(struct tent *t, void *ctx)
{
    struct tent_args *a = ctx;
    a->rc = ten_tenant_set_quota(t->registry, a->tenant, a->quota, &t->eb);
}

static inline enum err tent_set_quota(struct tent *t, struct ten_tenant *tenant,
                                      const struct ten_quota *q)
{
    struct tent_args a = {.tenant = tenant, .quota = q};
    tent_control(t, tent_do_quota, &a);
    return a.rc;
}

static inline void tent_do_list(struct tent *t, void *ctx)
{
    struct tent_args *a = ctx;
    a->count = ten_tenant_list(t->registry, a->text, a->tenants, a->count);
}

static inline size_t tent_list(struct tent *t, const char *after, struct ten_tenant **out,
                               size_t limit)
{
    struct tent_args a = {.text = base_slice_text(after), .tenants = out, .count = limit};
    tent_control(t, tent_do_list, &a);
    return a.count;
}

/* --- tables ----------------------------------------------------------------------------------- */

static inline void tent_do_put_table(struct tent *t, void *ctx)
{
    struct tent_args *a = ctx;
    a->rc =
        ten_table_put(t->registry, a->tenant, a->text, a->families, a->count, &a->created, &t->eb);
}

static inline enum err tent_try_table(struct tent *t, struct ten_tenant *tenant, const char *table,
                                      const struct sto_family_spec *families, size_t count,
                                      bool *out_created)
{
    struct tent_args a = {
        .tenant = tenant, .text = base_slice_text(table), .families = families, .count = count};
    tent_control(t, tent_do_put_table, &a);
    if (a.rc == ERR_OK && out_created != NULL)
        *out_created = a.created;
    return a.rc;
}

/* A table with the one family "f". */
static inline void tent_table(struct tent *t, struct ten_tenant *tenant, const char *table)
{
    struct sto_family_spec f = {.name = SLICE_LIT("f")};
    enum err rc = tent_try_table(t, tenant, table, &f, 1, NULL);
    ck_assert_msg(rc == ERR_OK, "table %s: %s", table, t->eb.text);
}

static inline void tent_wait_flag(struct tent *t, const bool *flag)
{
    for (int tries = 0; !*flag; tries++) {
        ck_assert_msg(tries < 60, "no answer for a minute");
        base_mailbox_wait(&t->mail, 1000);
        (void)base_mailbox_run(&t->mail);
    }
    base_epoch_quiescent(t->epoch, t->slot);
}

static inline void tent_delete_done(struct ten_table_delete_op *op)
{
    *(bool *)op->user = true;
}

static inline enum err tent_delete_table(struct tent *t, struct ten_tenant *tenant,
                                         const char *table, struct sto_usage *out_removed)
{
    bool done = false;
    struct ten_table_delete_op op = {
        .reply_to = &t->mail, .done = tent_delete_done, .user = &done, .tenant = tenant};
    (void)snprintf(op.table_id, sizeof op.table_id, "%s", table);
    ten_table_delete(t->registry, &op);
    tent_wait_flag(t, &done);
    t->eb = op.detail;
    if (out_removed != NULL)
        *out_removed = op.removed;
    return op.result;
}

/* --- rows ------------------------------------------------------------------------------------- */

static inline void tent_mutate_done(struct sto_mutate_op *op)
{
    *(bool *)op->user = true;
}

/* Set cell f:q of a row in a scope that was opened before. */
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
    enum err rc = ten_admit(tenant, TEN_WRITE, 1, &retry_ns, &t->eb);
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

struct tent_sink {
    struct sto_row_sink sink;
    uint64_t rows;
    uint64_t cells;
    struct buf keys;   /* row keys, a comma behind each */
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

/* Read all rows of a table into sink. */
static inline enum err tent_scan(struct tent *t, struct ten_tenant *tenant, const char *table,
                                 struct tent_sink *sink)
{
    bool done = false;
    uint64_t retry_ns;
    struct sto_read_op op = {
        .reply_to = &t->mail, .done = tent_read_done, .user = &done, .sink = &sink->sink};
    enum err rc = ten_admit(tenant, TEN_READ, 1, &retry_ns, &t->eb);
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

/* All row keys of a table, a comma behind each, in static memory. */
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

/* Counters must equal what is there; returns it. */
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
    ck_assert_uint_eq(op.counted.bytes, op.recorded.bytes);
    ck_assert_uint_eq(op.counted.rows, op.recorded.rows);
    ck_assert_uint_eq(op.counted.cells, op.recorded.cells);
    struct sto_usage live = sto_counters_read(&tenant->account.total);
    ck_assert_uint_eq(op.counted.bytes, live.bytes);
    ck_assert_uint_eq(op.counted.rows, live.rows);
    ck_assert_uint_eq(op.counted.cells, live.cells);
    return op.counted;
}

/* --- offboarding ------------------------------------------------------------------------------ */

static inline void tent_do_offboard(struct tent *t, void *ctx)
{
    struct tent_args *a = ctx;
    a->rc = ten_offboard_start(t->registry, a->tenant, SLICE_LIT("k0123456789a"), a->job, &t->eb);
}

static inline enum err tent_offboard(struct tent *t, struct ten_tenant *tenant,
                                     char out_job[TEN_JOB_ID + 1])
{
    struct tent_args a = {.tenant = tenant};
    tent_control(t, tent_do_offboard, &a);
    if (a.rc == ERR_OK)
        memcpy(out_job, a.job, sizeof a.job);
    return a.rc;
}

static inline void tent_do_job(struct tent *t, void *ctx)
{
    struct tent_args *a = ctx;
    a->rc = ten_job_get(t->registry, a->text, a->jobs, &t->eb);
}

static inline enum err tent_job(struct tent *t, const char *id, struct ten_job *out)
{
    struct tent_args a = {.text = base_slice_text(id), .jobs = out};
    tent_control(t, tent_do_job, &a);
    return a.rc;
}

/* Until it is no longer running. */
static inline void tent_await_job(struct tent *t, const char *id, struct ten_job *out)
{
    for (int tries = 0;; tries++) {
        enum err rc = tent_job(t, id, out);
        ck_assert_msg(rc == ERR_OK, "job: %s", t->eb.text);
        if (out->state != TEN_JOB_RUNNING)
            return;
        ck_assert_msg(tries < 6000, "the job runs for a minute");
        tent_pause_ms(10);
    }
}

#endif

/*
 * tests/tenancy/tent.h - the fixture: a registry over a real engine in its own directory.
 *
 * Does:     open, close and reopen; run control functions on the control thread.
 * Owns:     the directory, until tent_remove.
 * May use:  base/, storage/, tenancy/, libcheck.
 * Knows no: HTTP.
 * Threads:  the test's main thread, which is joined to the epoch while the fixture is open.
 * Blocks:   until the answer arrives.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: 1. Threads start in tent_open: call it after the fork, inside a test or checked
 *              fixture.
 *           2. The directory is removed with the test, however the test ends.
 *
 * Over 500 lines because every control function of the registry has a call here.
 */
#ifndef TESTS_TENANCY_TENT_H
#define TESTS_TENANCY_TENT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for the including file, so this header must come first */
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
#include "tenancy/admission.h"
#include "tenancy/certificate_store.h"
#include "tenancy/hold.h"
#include "tenancy/offboard.h"
#include "tenancy/registry.h"
#include "tests/support/process.h"

/* Set a quota's field, named as in the structure. */
#define GIVE(q, member, value)                                                                     \
    ten_quota_give(q, (size_t)(offsetof(struct ten_quota, member) / sizeof(uint64_t)) - 1, value)
#define GIVE_LIMIT(q, limit, value) ten_quota_give(q, TEN_QUOTA_CEILINGS + (size_t)(limit), value)

struct tent {
    char dir[256];
    int keeper; /* of the directory (tests/support/process.h) */
    struct sto_engine *engine;
    struct base_epoch *epoch;
    int slot;
    struct ten_keystore *keystore; /* NULL, unless a test opens one */
    struct ten_registry *registry;
    struct base_mailbox mail;
    uint64_t drop_range_cells;  /* of the engine; 0: its own */
    uint64_t scrub_bytes_per_s; /* of the engine; 0: off */
    struct ten_sweeper_options sweeper;
    bool awaits_keys; /* purges wait until a keyring was opened */
    bool deep;        /* search every table file for tenants offboarded later */
    void (*purge_failed)(
        const struct ten_purge_failure *failure); /* of the registry; may be NULL */
    struct errbuf eb;                             /* of the last call that failed */
};

/* --- open and close --------------------------------------------------------------------------- */

static inline void tent_make(struct tent *t)
{
    memset(t, 0, sizeof *t);
    char dir[PROCESS_PATH];
    t->keeper = process_temp_dir(dir);
    t->sweeper.tick_ms = 10; /* short, because tests wait for ticks */
    ck_assert_uint_lt(strlen(dir), sizeof t->dir);
    memcpy(t->dir, dir, strlen(dir) + 1);
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
    if (t->drop_range_cells != 0)
        o.drop_range_cells = t->drop_range_cells;
    o.scrub_bytes_per_s = t->scrub_bytes_per_s;
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

static inline enum err tent_open_registry(struct tent *t)
{
    const struct ten_certificates_options certificates = {.dir = t->dir};
    const struct ten_registry_options options = {.engine = t->engine,
                                                 .epoch = t->epoch,
                                                 .keystore = t->keystore,
                                                 .certificates = &certificates,
                                                 .sweeper = t->sweeper,
                                                 .awaits_keys = t->awaits_keys,
                                                 .purge_failed = t->purge_failed};
    return ten_registry_open(&options, &t->registry, &t->eb);
}

static inline void tent_open(struct tent *t)
{
    enum err rc = tent_open_engine(t);
    ck_assert_msg(rc == ERR_OK, "engine: %s", t->eb.text);
    rc = tent_open_registry(t);
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

/* For nftw: removes directories that tests create beside the fixture's. */
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
    process_temp_dir_remove(t->dir, t->keeper);
}

static inline void assert_same_usage(const struct sto_usage *counted,
                                     const struct sto_usage *recorded)
{
    ck_assert_msg(counted->bytes == recorded->bytes && counted->rows == recorded->rows &&
                      counted->cells == recorded->cells,
                  "DATA: counters drifted: %lu bytes, %lu rows, %lu cells counted; %lu, %lu, %lu "
                  "recorded",
                  counted->bytes, counted->rows, counted->cells, recorded->bytes, recorded->rows,
                  recorded->cells);
}

static inline void tent_pause_ms(long ms)
{
    process_sleep_ms((int)ms);
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
    const struct ten_table_wanted *table;
    const struct ten_families_change *change;
    size_t count;
    bool created;
    uint64_t grace_us;
    char job[TEN_JOB_ID + 1];
    struct ten_job *jobs;
    struct ten_tenant **tenants;
    enum err rc;
};

static inline void tent_do_create(struct tent *t, void *ctx)
{
    struct tent_args *a = ctx;
    struct ten_tenant_wanted wanted = {.display_name = a->more};
    a->rc = ten_tenant_create(t->registry, a->text, &wanted, &a->tenant, &t->eb);
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
    a->rc = ten_tenant_suspend(t->registry, a->tenant, STO_GATE_NO_READS | STO_GATE_NO_WRITES,
                               a->text, &t->eb);
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
    struct ten_tenant_wanted wanted = {.quota = a->quota};
    a->rc = ten_tenant_change(t->registry, a->tenant, &wanted, &t->eb);
}

static inline enum err tent_set_quota(struct tent *t, struct ten_tenant *tenant,
                                      const struct ten_quota *q)
{
    struct tent_args a = {.tenant = tenant, .quota = q};
    tent_control(t, tent_do_quota, &a);
    return a.rc;
}

/* Admits one request, and releases its ticket. */
static inline enum err tent_admit(struct tent *t, struct ten_tenant *tenant, enum ten_access access,
                                  uint64_t ops, uint64_t *out_retry_ns)
{
    struct ten_visit visit = {.tenant = NULL};
    struct ten_refusal why = {.wait_ns = 0};
    ten_visit_begin(&visit, tenant, NULL);
    enum err rc = ten_admit(&visit, access, (struct ten_load){.ops = ops}, &why, &t->eb);
    ten_visit_end(&visit);
    *out_retry_ns = why.wait_ns;
    return rc;
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
    a->rc = ten_table_put(t->registry, a->tenant, a->text, a->table, &a->created, &t->eb);
}

static inline enum err tent_put_table(struct tent *t, struct ten_tenant *tenant, const char *table,
                                      const struct ten_table_wanted *wanted)
{
    struct tent_args a = {.tenant = tenant, .text = base_slice_text(table), .table = wanted};
    tent_control(t, tent_do_put_table, &a);
    return a.rc;
}

static inline void tent_do_change_families(struct tent *t, void *ctx)
{
    struct tent_args *a = ctx;
    a->rc = ten_table_change_families(t->registry, a->tenant, a->text, a->change, &t->eb);
}

static inline enum err tent_change_families(struct tent *t, struct ten_tenant *tenant,
                                            const char *table,
                                            const struct ten_families_change *change)
{
    struct tent_args a = {.tenant = tenant, .text = base_slice_text(table), .change = change};
    tent_control(t, tent_do_change_families, &a);
    return a.rc;
}

static inline enum err tent_try_table(struct tent *t, struct ten_tenant *tenant, const char *table,
                                      const struct sto_family_spec *families, size_t count,
                                      bool *out_created)
{
    struct ten_table_wanted wanted = {.families = families, .family_count = count};
    struct tent_args a = {.tenant = tenant, .text = base_slice_text(table), .table = &wanted};
    tent_control(t, tent_do_put_table, &a);
    if (a.rc == ERR_OK && out_created != NULL)
        *out_created = a.created;
    return a.rc;
}

/* Creates a table with the single family "f". */
static inline void tent_table(struct tent *t, struct ten_tenant *tenant, const char *table)
{
    struct sto_family_spec f = {.name = SLICE_LIT("f")};
    enum err rc = tent_try_table(t, tenant, table, &f, 1, NULL);
    ck_assert_msg(rc == ERR_OK, "table %s: %s", table, t->eb.text);
}

static inline void tent_wait_flag(struct tent *t, const bool *flag)
{
    for (int tries = 0; !*flag; tries++) {
        ck_assert_msg(tries < 60 * process_patience(), "waited in vain for an answer");
        base_mailbox_wait(&t->mail, 1000);
        (void)base_mailbox_run(&t->mail);
    }
    base_epoch_quiescent(t->epoch, t->slot);
}

static inline void tent_delete_done(struct ten_table_delete_op *op)
{
    *(bool *)op->user = true;
}

static inline enum err tent_delete_table_if(struct tent *t, struct ten_tenant *tenant,
                                            const char *table, struct ten_expect expect,
                                            struct sto_usage *out_removed)
{
    bool done = false;
    struct ten_table_delete_op op = {.reply_to = &t->mail,
                                     .done = tent_delete_done,
                                     .user = &done,
                                     .tenant = tenant,
                                     .expect = expect};
    (void)snprintf(op.table_id, sizeof op.table_id, "%s", table);
    ten_table_delete(t->registry, &op);
    tent_wait_flag(t, &done);
    t->eb = op.detail;
    if (out_removed != NULL)
        *out_removed = op.removed;
    return op.result;
}

static inline enum err tent_delete_table(struct tent *t, struct ten_tenant *tenant,
                                         const char *table, struct sto_usage *out_removed)
{
    return tent_delete_table_if(t, tenant, table, (struct ten_expect){0}, out_removed);
}

/* --- offboarding ------------------------------------------------------------------------------ */

static inline void tent_do_offboard(struct tent *t, void *ctx)
{
    struct tent_args *a = ctx;
    const struct ten_offboard_wanted wanted = {.requested_by = SLICE_LIT("k0123456789a"),
                                               .reason = a->text,
                                               .grace_us = a->grace_us,
                                               .deep = t->deep};
    a->rc = ten_offboard_start(t->registry, a->tenant, &wanted, a->job, &t->eb);
}

static inline enum err tent_offboard_in(struct tent *t, struct ten_tenant *tenant,
                                        uint64_t grace_us, const char *reason,
                                        char out_job[TEN_JOB_ID + 1])
{
    struct tent_args a = {.tenant = tenant, .grace_us = grace_us, .text = base_slice_text(reason)};
    tent_control(t, tent_do_offboard, &a);
    if (a.rc == ERR_OK)
        memcpy(out_job, a.job, sizeof a.job);
    return a.rc;
}

static inline enum err tent_offboard(struct tent *t, struct ten_tenant *tenant,
                                     char out_job[TEN_JOB_ID + 1])
{
    return tent_offboard_in(t, tenant, 0, "", out_job);
}

static inline void tent_do_undelete(struct tent *t, void *ctx)
{
    struct tent_args *a = ctx;
    a->rc = ten_offboard_undelete(t->registry, a->tenant, &t->eb);
}

static inline enum err tent_undelete(struct tent *t, struct ten_tenant *tenant)
{
    struct tent_args a = {.tenant = tenant};
    tent_control(t, tent_do_undelete, &a);
    return a.rc;
}

static inline void tent_do_hold(struct tent *t, void *ctx)
{
    struct tent_args *a = ctx;
    a->rc = ten_hold_set(t->registry, a->tenant, a->more, a->text, &t->eb);
}

static inline enum err tent_hold(struct tent *t, struct ten_tenant *tenant, const char *by,
                                 const char *reason)
{
    struct tent_args a = {
        .tenant = tenant, .text = base_slice_text(reason), .more = base_slice_text(by)};
    tent_control(t, tent_do_hold, &a);
    return a.rc;
}

static inline void tent_do_release(struct tent *t, void *ctx)
{
    struct tent_args *a = ctx;
    a->rc = ten_hold_release(t->registry, a->tenant, &t->eb);
}

static inline enum err tent_release(struct tent *t, struct ten_tenant *tenant)
{
    struct tent_args a = {.tenant = tenant};
    tent_control(t, tent_do_release, &a);
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

struct tent_job_awaited {
    struct tent *tent;
    const char *id;
    struct ten_job *job;
};

static inline bool tent_job_is_over(void *arg)
{
    const struct tent_job_awaited *a = arg;
    enum err rc = tent_job(a->tent, a->id, a->job);
    ck_assert_msg(rc == ERR_OK, "job: %s", a->tent->eb.text);
    return a->job->state != TEN_JOB_RUNNING && a->job->state != TEN_JOB_WAITING;
}

static inline void tent_await_job(struct tent *t, const char *id, struct ten_job *out)
{
    process_await(tent_job_is_over, &(struct tent_job_awaited){t, id, out}, "the end of a job");
}

static inline bool tent_job_is_done(void *arg)
{
    (void)tent_job_is_over(arg);
    return ((const struct tent_job_awaited *)arg)->job->state == TEN_JOB_DONE;
}

/* Waits for the success of a job that failed and is retried. */
static inline void tent_await_job_done(struct tent *t, const char *id, struct ten_job *out)
{
    process_await(tent_job_is_done, &(struct tent_job_awaited){t, id, out}, "a job that is done");
}

static inline bool tent_engine_failed(void *arg)
{
    struct sto_health health;
    sto_health_get(((const struct tent *)arg)->engine, &health);
    return health.failed;
}

static inline void tent_await_failure(struct tent *t)
{
    process_await(tent_engine_failed, t, "the engine's failure");
}

#endif

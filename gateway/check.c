/*
 * gateway/check.c - bigtentd check: counts what every tenant stores and compares it with the
 * counters.
 *
 * Opening the engine is half of the check: a database that lost acknowledged writes or is damaged
 * does not open. Opening also resumes work that a crash interrupted, as a start would, and cuts off
 * a torn end of the log. With --logs the logs are read, and nothing is opened or changed.
 *
 * A tenant in its grace period still has all its data, and a purged tenant has none: both are
 * counted. In the middle of a purge there is nothing to compare.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "gateway/command.h"
#include "gateway/store.h"
#include "tenancy/scope.h"

#include "base/banned.h"

#define TENANTS_AT_ONCE 256

enum verdict { COUNTED_RIGHT, COUNTED_WRONG, NOT_COUNTED, VERDICTS };

struct tenant_batch {
    struct gw_store *store;
    char after[LIM_TENANT_ID + 1];
    struct ten_tenant *tenants[TENANTS_AT_ONCE];
    size_t count;
};

static void list_tenants(void *ctx)
{
    struct tenant_batch *b = ctx;
    b->count =
        ten_tenant_list(b->store->registry, base_slice_text(b->after), b->tenants, TENANTS_AT_ONCE);
}

static void recount_done(struct sto_recount_op *op)
{
    bool *is_done = op->user;
    *is_done = true;
}

static void recount(struct gw_store *store, struct ten_tenant *t, struct sto_recount_op *op,
                    struct base_mailbox *mailbox)
{
    bool is_done = false;
    *op = (struct sto_recount_op){
        .reply_to = mailbox,
        .done = recount_done,
        .user = &is_done,
        .scope = ten_scope_tenant(t),
        .ignore_gate = true,
        .skip_lost = true,
    };
    sto_recount(store->engine, op);
    while (!is_done) {
        base_mailbox_wait(mailbox, -1);
        (void)base_mailbox_run(mailbox); /* the number does not matter: there is one message */
    }
}

static bool is_equal(const struct sto_usage *a, const struct sto_usage *b)
{
    return a->bytes == b->bytes && a->rows == b->rows && a->cells == b->cells;
}

static enum ten_state state_of(const struct ten_tenant *t)
{
    return (enum ten_state)atomic_load(&t->state);
}

/* Returns whether the tenant is being purged, or was purged while it was counted. */
static bool is_in_between(enum ten_state before, enum ten_state behind)
{
    return before == TEN_PURGING || behind == TEN_PURGING ||
           (before != behind && behind == TEN_PURGED);
}

static enum verdict verdict_of(const struct sto_recount_op *op, enum ten_state before,
                               enum ten_state behind)
{
    if (is_in_between(before, behind))
        return NOT_COUNTED;
    bool is_right = op->result == ERR_OK && is_equal(&op->counted, &op->recorded) &&
                    op->counted_changes == op->recorded_changes;
    return is_right ? COUNTED_RIGHT : COUNTED_WRONG;
}

/* Counts one tenant and prints its line of the table. */
static enum verdict check_tenant(struct gw_store *store, struct ten_tenant *t,
                                 struct base_mailbox *mailbox)
{
    struct sto_recount_op *op = base_new(sizeof *op);
    enum ten_state before = state_of(t);
    recount(store, t, op, mailbox);
    enum verdict verdict = verdict_of(op, before, state_of(t));
    const char *state = ten_state_name(before);
    if (verdict != NOT_COUNTED && op->result == ERR_OK)
        (void)printf("%-32s %-16s %16" PRIu64 " %12" PRIu64 " %12" PRIu64 "  %s\n", t->id, state,
                     op->counted.bytes, op->counted.rows, op->counted.cells,
                     verdict == COUNTED_RIGHT ? "ok" : "DRIFT"); /* the exit code is the result */
    else
        (void)printf("%-32s %-16s %16s %12s %12s  %s\n", t->id, state, "-", "-", "-",
                     verdict == NOT_COUNTED ? "not counted: it is being purged"
                                            : op->detail.text); /* the same */
    base_free(op);
    return verdict;
}

/* Prints the number of lost ranges. Their tenants' counters are right once bigtentd salvage has
 * recounted them. */
static void say_lost(const struct gw_store *store)
{
    struct sto_damage *damage = base_new(sizeof *damage);
    sto_damage_get(store->engine, damage);
    if (damage->lost_ranges > 0)
        (void)printf("%" PRIu64 " ranges of rows or changes were lost with damaged blocks: they "
                     "are errors, and not counted\n",
                     damage->lost_ranges); /* the same */
    base_free(damage);
}

static int check_all(struct gw_store *store, struct base_mailbox *mailbox)
{
    struct tenant_batch *b = base_new(sizeof *b);
    size_t tenants = 0;
    size_t of[VERDICTS] = {0};
    b->store = store;
    (void)printf("%-32s %-16s %16s %12s %12s  %s\n", "tenant", "state", "stored bytes", "rows",
                 "cells", "counters"); /* the exit code is the result */
    do {
        gw_store_on_control(store, list_tenants, b);
        for (size_t i = 0; i < b->count; i++)
            of[check_tenant(store, b->tenants[i], mailbox)]++;
        tenants += b->count;
        if (b->count > 0)
            memcpy(b->after, b->tenants[b->count - 1]->id, sizeof b->after);
    } while (b->count == TENANTS_AT_ONCE);
    (void)printf("%zu tenants, %zu with wrong counters, %zu not counted\n", tenants,
                 of[COUNTED_WRONG], of[NOT_COUNTED]); /* the same */
    say_lost(store);
    base_free(b);
    return of[COUNTED_WRONG] == 0 ? GW_EXIT_OK : GW_EXIT_FAILED;
}

static int check_datadir(const struct mig_datadir *datadir, const char *backups)
{
    struct errbuf eb = {{0}};
    struct sto_rocksdb_options options;
    struct gw_store store;
    struct base_mailbox mailbox;
    sto_rocksdb_options_default(&options);
    enum err e = base_mailbox_init(&mailbox);
    if (e != ERR_OK)
        return gw_command_failed(e, &eb);
    const struct gw_store_places places = {.backups = backups};
    e = gw_store_open(&store, datadir, &places, &options, &eb);
    if (e != ERR_OK) {
        base_mailbox_fini(&mailbox);
        return gw_command_failed(e, &eb);
    }
    (void)printf("%s: format %" PRIu32 ", the database opens\n", datadir->path,
                 datadir->format); /* the same */
    int exit_code = check_all(&store, &mailbox);
    gw_store_close(&store);
    base_mailbox_fini(&mailbox);
    return exit_code;
}

/* Reports what a start would cut off, or refuse, and nothing else. */
static int check_logs(const struct mig_datadir *datadir)
{
    struct errbuf eb = {{0}};
    enum err e = sto_rocksdb_logs_read(datadir->path, &GW_STORE_TEARS, &eb);
    if (e != ERR_OK)
        return gw_command_failed(e, &eb);
    (void)printf("%s: the logs hold all that was acknowledged\n",
                 datadir->path); /* the exit code is the result */
    return GW_EXIT_OK;
}

int gw_command_check(int argc, char **argv)
{
    const char *backups = NULL;
    bool logs_only = false;
    const char *data = gw_command_data(argc, argv, &backups, &logs_only);
    struct errbuf eb = {{0}};
    struct mig_datadir datadir;
    if (data == NULL)
        return GW_EXIT_USAGE;
    enum err e = mig_datadir_open(data, &datadir, &eb);
    if (e != ERR_OK)
        return gw_command_failed(e, &eb);
    int exit_code = logs_only ? check_logs(&datadir) : check_datadir(&datadir, backups);
    mig_datadir_close(&datadir);
    return exit_code;
}

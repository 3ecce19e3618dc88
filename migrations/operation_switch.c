/*
 * migrations/operation_switch.c - replaces all of a tenant's tables with all tables of a backup.
 *
 *   look     refuses everything that can be refused; reads every row of the backup once, so that
 *            damage is found while nothing is lost
 *   hide     one batch: all present tables are being deleted, the operation is switching
 *   clear    their rows are removed: stored keys contain the table's name, so old and new rows
 *            cannot coexist
 *   fill     the tables of the backup, hidden, with their views
 *   publish  one batch: all of them, and the operation is done (operation_restore.c)
 *
 * 1. Before `hide` the tenant has its old tables, after `publish` its new ones, in between none,
 *    and requests for a table are told to retry. There is never a mixture.
 * 2. An operation that is switching when the server stops, for whatever reason, continues with
 *    `clear` at the next start, and so does a postponed one (operations.c). It cannot be cancelled
 *    while it runs, and its backup cannot be deleted until it ends.
 */
#include <inttypes.h>
#include <time.h>

#include "migrations/restore_internal.h"
#include "storage/keycodec.h"
#include "storage/value.h"
#include "tenancy/audit.h"
#include "tenancy/doc_key.h"
#include "tenancy/tables_replace.h"

#include "base/banned.h"

#define CLEAR_LOOK_MS 50

/* --- obstacles -------------------------------------------------------------------------------- */

/* Control thread. */
static void check(void *ctx)
{
    struct mig_restoring *r = ctx;
    const struct sto_account *account = &r->tenant->account;
    const struct mig_tables *tables = mig_source_tables(r->source);
    enum err rc = ten_tables_replace_check(r->tenant, r->eb);
    uint64_t max = sto_account_limit(account, STO_LIMIT_TABLES);
    if (rc == ERR_OK && tables->count > max)
        rc = base_fail(r->eb, ERR_QUOTA, "tables quota: the backup holds %zu, limit %" PRIu64,
                       tables->count, max);
    for (size_t i = 0; rc == ERR_OK && i < tables->count; i++)
        rc = sto_account_limit_check(account, STO_LIMIT_FAMILIES, tables->schemas[i]->family_count,
                                     r->eb);
    r->result = rc;
}

struct look {
    struct mig_restoring *r;
    struct sto_usage usage; /* as counted for quotas; includes cells of dropped families */
};

static enum err look_at_key(void *ctx, struct slice stored, struct slice value)
{
    struct look *l = ctx;
    struct mig_backup_watch *watch = &l->r->service->watch;
    struct sto_row_head head = {0};
    struct sto_key key;
    atomic_fetch_add(&watch->done_bytes, stored.len + value.len);
    if (watch->stop(watch->ctx))
        return base_fail(l->r->eb, ERR_CANCELLED, "stopped while the backup was looked through");
    enum err rc = sto_key_decode(stored, &key);
    if (rc == ERR_OK && key.family == 0)
        rc = sto_row_head_decode(value, &head);
    if (rc != ERR_OK)
        return base_fail(l->r->eb, ERR_CORRUPT, "a stored key of the backup is damaged");
    l->usage.bytes += head.bytes;
    l->usage.rows += key.family == 0;
    return ERR_OK;
}

static enum err look_through(struct mig_restoring *r)
{
    struct look l = {.r = r};
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < mig_source_tables(r->source)->count; i++)
        rc = mig_source_visit(r->source, i, look_at_key, &l, r->eb);
    if (rc != ERR_OK)
        return rc;
    uint64_t bytes_max = atomic_load(&r->tenant->account.bytes_max);
    uint64_t rows_max = atomic_load(&r->tenant->account.rows_max);
    if (l.usage.bytes <= bytes_max && l.usage.rows <= rows_max)
        return ERR_OK;
    bool is_bytes = l.usage.bytes > bytes_max;
    return base_fail(r->eb, ERR_QUOTA, "%s quota: the backup holds %" PRIu64 ", limit %" PRIu64,
                     is_bytes ? "bytes" : "rows", is_bytes ? l.usage.bytes : l.usage.rows,
                     is_bytes ? bytes_max : rows_max);
}

/* --- hide, clear ------------------------------------------------------------------------------ */

static enum err store_hidden(struct mig_restoring *r)
{
    struct mig_operation switching = *r->op;
    struct ten_doc_key key;
    struct buf body;
    struct sto_doc_change change;
    switching.is_switching = true;
    enum err rc = mig_operation_change(&switching, &key, &body, &change);
    if (rc == ERR_OK)
        rc = ten_tables_replace_begin(r->service->registry, r->tenant, &change, 1, r->eb);
    base_buf_fini(&body);
    r->op->is_switching = rc == ERR_OK;
    return rc;
}

/* Control thread, on which cancelling also runs. */
static void hide(void *ctx)
{
    struct mig_restoring *r = ctx;
    const struct ten_action action = {.actor = TEN_ACTOR_SERVER,
                                      .name = "tenant.tables_replaced",
                                      .tenant = ten_tenant_id(r->tenant),
                                      .target = base_slice_text(r->op->id)};
    if (!mig_queue_begin_switch(r->service)) {
        r->result = base_fail(r->eb, ERR_CANCELLED, "cancelled before tables were replaced");
        return;
    }
    ten_audit_begin(r->service->registry, &action);
    r->result = ten_audit_end(r->service->registry, store_hidden(r), r->eb);
}

/* Control thread. ERR_CONFLICT: rows remain. */
static void look_if_clear(void *ctx)
{
    struct mig_restoring *r = ctx;
    bool is_clear = ten_tables_replace_is_clear(r->service->registry, r->tenant);
    r->result = is_clear ? ERR_OK : ERR_CONFLICT;
}

static enum err await_clear(struct mig_restoring *r)
{
    const struct timespec pause = {.tv_nsec = CLEAR_LOOK_MS * 1000000L};
    struct mig_backup_watch *watch = &r->service->watch;
    for (;;) {
        ten_control_run(r->service->registry, look_if_clear, r);
        if (r->result == ERR_OK)
            return ERR_OK;
        if (watch->stop(watch->ctx))
            return base_fail(r->eb, ERR_CANCELLED, "stopped while tables were removed");
        (void)nanosleep(&pause, NULL); /* may wake up early */
    }
}

/* --- fill ------------------------------------------------------------------------------------- */

struct put_view {
    struct mig_restoring *r;
    size_t table;
    struct slice id;
    struct slice body;
};

/* Control thread. */
static void put_view(void *ctx)
{
    struct put_view *p = ctx;
    p->r->result = ten_table_restore_view(p->r->tables[p->table], p->id, p->body, p->r->eb);
}

static enum err take_view(void *ctx, struct slice key, struct slice body)
{
    struct mig_restoring *r = ctx;
    struct put_view p = {.r = r, .body = body};
    struct slice tenant, table;
    enum err rc = ten_doc_key_view_parts(key, &tenant, &table, &p.id);
    if (rc != ERR_OK)
        return base_fail(r->eb, ERR_CORRUPT, "the key of a view of the backup is damaged");
    if (!mig_tables_find(mig_source_tables(r->source), table, &p.table))
        return ERR_OK; /* its table was being deleted */
    ten_control_run(r->service->registry, put_view, &p);
    return r->result;
}

static enum err fill(struct mig_restoring *r)
{
    const struct mig_tables *tables = mig_source_tables(r->source);
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < tables->count; i++) {
        const struct ten_table_wish wish = {.table_id = sto_schema_table_id(tables->schemas[i]),
                                            .is_whole = true};
        rc = mig_restore_table(r, i, &wish);
    }
    if (rc == ERR_OK)
        rc = mig_source_visit_views(r->source, take_view, r, r->eb);
    if (rc == ERR_OK)
        mig_backup_point(MIG_POINT_TABLES_FILLED);
    return rc;
}

enum err mig_restore_tenant(struct mig_restoring *r)
{
    enum err rc = ERR_OK;
    if (!r->op->is_switching) {
        ten_control_run(r->service->registry, check, r);
        rc = r->result == ERR_OK ? look_through(r) : r->result;
        if (rc == ERR_OK) {
            ten_control_run(r->service->registry, hide, r);
            rc = r->result;
        }
        if (rc == ERR_OK)
            mig_backup_point(MIG_POINT_TABLES_HIDDEN);
    }
    if (rc == ERR_OK)
        rc = await_clear(r);
    r->op->rows = 0; /* rows from before a restart are gone */
    return rc == ERR_OK ? fill(r) : rc;
}

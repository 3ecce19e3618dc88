/*
 * migrations/operation_restore.c - restores tables from a backup: created hidden, filled by
 * ordinary writes, published together with the operation's end.
 *
 * 1. A table that is not published is abandoned: its rows are removed like those of a deleted one.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "migrations/restore_internal.h"
#include "migrations/table_fill.h"
#include "migrations/table_origin.h"
#include "tenancy/audit.h"
#include "tenancy/scope.h"
#include "tenancy/tables_replace.h"

#include "base/banned.h"

/* --- one table -------------------------------------------------------------------------------- */

/* Control thread. */
static void begin_table(void *ctx)
{
    struct mig_restoring *r = ctx;
    r->result = ten_table_restore_begin(r->service->registry, r->tenant, &r->wish,
                                        &r->tables[r->count], r->eb);
    if (r->result == ERR_OK)
        r->count++;
}

static enum err fill_table(struct mig_restoring *r, size_t at)
{
    struct mig_service *s = r->service;
    struct sto_table_scope scope = ten_table_restore_scope(r->tables[r->count - 1]);
    struct mig_fill *fill =
        mig_fill_new(ten_registry_engine(s->registry), &scope, r->wish.like, &s->watch);
    uint64_t rows = 0;
    enum err rc = mig_source_visit(r->source, at, mig_fill_take, fill, r->eb);
    rc = mig_fill_end(fill, rc, &rows, r->eb);
    mig_fill_free(fill);
    sto_table_scope_release(&scope);
    r->op->rows += rows;
    return rc;
}

enum err mig_restore_table(struct mig_restoring *r, size_t at, const struct ten_table_wish *wish)
{
    r->wish = *wish;
    r->wish.like = mig_source_tables(r->source)->schemas[at];
    ten_control_run(r->service->registry, begin_table, r);
    if (r->result != ERR_OK)
        return r->result;
    mig_backup_point(MIG_POINT_TABLE_BEGUN);
    enum err rc = fill_table(r, at);
    if (rc == ERR_OK)
        mig_backup_point(MIG_POINT_TABLE_FILLED);
    return rc;
}

/* --- the end ---------------------------------------------------------------------------------- */

static enum err publish(struct mig_restoring *r)
{
    struct mig_operation done = *r->op;
    struct ten_doc_key key;
    struct buf body;
    struct sto_doc_change change;
    done.state = MIG_OP_DONE;
    done.finished_us = base_wall_us();
    done.is_switching = false;
    enum err rc = mig_operation_change(&done, &key, &body, &change);
    if (rc == ERR_OK)
        rc = ten_table_restores_publish(r->tables, r->count, &change, 1, r->eb);
    base_buf_fini(&body);
    if (rc != ERR_OK)
        return rc;
    *r->op = done;
    mig_queue_count_end(r->service, r->op);
    mig_queue_leave(r->service);
    return ERR_OK;
}

/* Control thread. */
static void end_all(void *ctx)
{
    struct mig_restoring *r = ctx;
    bool is_table = r->op->kind == MIG_OP_RESTORE_TABLE;
    const struct ten_action action = {.actor = TEN_ACTOR_SERVER,
                                      .name = is_table ? "table.restored" : "tenant.restored",
                                      .tenant = ten_tenant_id(r->tenant),
                                      .target =
                                          base_slice_text(is_table ? r->op->target : r->op->id)};
    if (r->result == ERR_OK) {
        ten_audit_begin(r->service->registry, &action);
        r->result = ten_audit_end(r->service->registry, publish(r), r->eb);
    }
    if (r->op->state != MIG_OP_DONE)
        for (size_t i = 0; i < r->count; i++)
            ten_table_restore_abandon(r->tables[i]);
    r->count = 0;
    if (r->result == ERR_OK && !is_table)
        ten_tables_replace_end(r->tenant); /* after a failure: operations.c */
}

enum err mig_restore_end(struct mig_restoring *r, enum err rc)
{
    /* Before the operation is visible as done: from then on the backup may be deleted. */
    mig_source_close(r->source);
    r->source = NULL;
    r->result = rc;
    ten_control_run(r->service->registry, end_all, r);
    if (r->result == ERR_OK)
        mig_backup_point(MIG_POINT_TABLE_PUBLISHED);
    return r->result;
}

/* --- the whole restore ------------------------------------------------------------------------ */

/* Writes the origin that the table keeps. A backup of the whole server is of no single table, and
 * has no name. */
static enum err tell_origin(struct mig_restoring *r, struct buf *out)
{
    struct mig_backup_entry entry;
    enum err rc =
        mig_backups_get(r->service->backups, base_slice_text(r->op->backup), &entry, r->eb);
    if (rc != ERR_OK)
        return rc;
    const struct mig_backup *backup = &entry.backup;
    struct mig_tenant_backup from = {.scope = backup->scope,
                                     .started_us = backup->created_us,
                                     .finished_us = backup->made_us != 0 ? backup->made_us
                                                                         : backup->created_us};
    memcpy(from.scope.table, r->op->scope.table, sizeof from.scope.table);
    return mig_table_origin_encode(&from, out);
}

static enum err restore_one(struct mig_restoring *r)
{
    struct buf origin;
    size_t at = 0;
    struct slice table = base_slice_text(r->op->scope.table);
    if (!mig_tables_find(mig_source_tables(r->source), table, &at))
        return base_fail(r->eb, ERR_NOT_FOUND, "the backup holds no such table");
    base_buf_init(&origin, LIM_TABLE_ORIGIN);
    enum err rc = tell_origin(r, &origin);
    const struct ten_table_wish wish = {.table_id = base_slice_text(r->op->target),
                                        .origin = base_buf_slice(&origin)};
    if (rc == ERR_OK)
        rc = mig_restore_table(r, at, &wish);
    base_buf_fini(&origin);
    return rc;
}

enum err mig_operation_restore(struct mig_service *s, struct ten_tenant *t,
                               struct mig_operation *op, struct errbuf *eb)
{
    struct mig_restoring r = {
        .service = s, .tenant = t, .scope = ten_scope_tenant(t), .op = op, .eb = eb};
    r.tables = base_new_array(LIM_TABLES, sizeof(r.tables[0]));
    enum err rc = mig_source_open(s->backups, base_slice_text(op->backup), &r.scope, &s->watch,
                                  &r.source, eb);
    if (rc == ERR_OK)
        rc = op->kind == MIG_OP_RESTORE_TABLE ? restore_one(&r) : mig_restore_tenant(&r);
    rc = mig_restore_end(&r, rc);
    base_free(r.tables);
    return rc;
}

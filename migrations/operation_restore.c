/*
 * migrations/operation_restore.c - a table, or all tables of a tenant, out of a backup.
 *
 *   table    begun hidden, filled by ordinary writes, published together with the operation's end
 *   tenant   every row of the backup read once, so that damage is found while nothing is lost;
 *            then all tables that are there are deleted, and those of the backup restored one by
 * one
 *
 * 1. A table that is not published is abandoned: its rows are removed like those of a deleted one.
 * 2. Everything that can be refused is refused before the first table is deleted.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "migrations/backup_source.h"
#include "migrations/service_internal.h"
#include "migrations/table_fill.h"
#include "storage/keycodec.h"
#include "tenancy/audit.h"
#include "tenancy/scope.h"
#include "tenancy/table_restore.h"

#include "base/banned.h"

#define WAIT_MS 100

struct restoring {
    struct mig_service *service;
    struct ten_tenant *tenant;
    struct sto_tenant_scope scope;
    struct mig_operation *op;
    struct mig_source *source;
    struct errbuf *eb;

    /* the table under way */
    const struct sto_schema *from;
    char target[LIM_TABLE_ID + 1];
    bool is_last; /* the operation is DONE with it */
    struct ten_table_restore *table;
    enum err result;
};

/* --- one table -------------------------------------------------------------------------------- */

/* Control thread. */
static void begin_table(void *ctx)
{
    struct restoring *r = ctx;
    r->result = ten_table_restore_begin(r->service->registry, r->tenant, base_slice_text(r->target),
                                        r->from, &r->table, r->eb);
}

static enum err publish(struct restoring *r)
{
    struct mig_operation done = *r->op;
    struct ten_doc_key key;
    struct buf body;
    struct sto_doc_change change;
    done.state = r->is_last ? MIG_OP_DONE : MIG_OP_RUNNING;
    done.finished_us = r->is_last ? base_wall_us() : 0;
    enum err rc = mig_operation_change(&done, &key, &body, &change);
    if (rc == ERR_OK)
        rc = ten_table_restore_publish(r->table, &change, 1, r->eb);
    base_buf_fini(&body);
    if (rc != ERR_OK)
        return rc;
    *r->op = done;
    if (r->is_last)
        mig_queue_leave(r->service);
    return ERR_OK;
}

/* Control thread. */
static void end_table(void *ctx)
{
    struct restoring *r = ctx;
    const struct ten_action action = {.actor = TEN_ACTOR_SERVER,
                                      .name = "table.restored",
                                      .tenant = ten_tenant_id(r->tenant),
                                      .target = base_slice_text(r->target)};
    if (r->result == ERR_OK) {
        ten_audit_begin(r->service->registry, &action);
        r->result = ten_audit_end(r->service->registry, publish(r), r->eb);
    }
    if (r->result != ERR_OK)
        ten_table_restore_abandon(r->table);
    r->table = NULL;
}

static enum err fill_table(struct restoring *r, size_t at)
{
    struct mig_service *s = r->service;
    struct sto_table_scope scope = ten_table_restore_scope(r->table);
    struct mig_fill *fill =
        mig_fill_new(ten_registry_engine(s->registry), &scope, r->from, &s->watch);
    uint64_t rows = 0;
    enum err rc = mig_source_visit(r->source, at, mig_fill_take, fill, r->eb);
    rc = mig_fill_end(fill, rc, &rows, r->eb);
    mig_fill_free(fill);
    sto_table_scope_release(&scope);
    r->op->rows += rows;
    return rc;
}

/* Before the operation is seen to be done: from then on the backup may be deleted. */
static void close_source(struct restoring *r)
{
    mig_source_close(r->source);
    r->source = NULL;
}

static enum err restore_table(struct restoring *r, size_t at, struct slice target)
{
    struct mig_service *s = r->service;
    r->from = mig_source_tables(r->source)->schemas[at];
    (void)snprintf(r->target, sizeof r->target, "%.*s", SLICE_ARGS(target)); /* checked: fits */
    ten_control_run(s->registry, begin_table, r);
    if (r->result != ERR_OK)
        return r->result;
    mig_backup_point(MIG_POINT_TABLE_BEGUN);
    r->result = fill_table(r, at);
    if (r->result == ERR_OK)
        mig_backup_point(MIG_POINT_TABLE_FILLED);
    if (r->is_last)
        close_source(r);
    ten_control_run(s->registry, end_table, r);
    if (r->result == ERR_OK)
        mig_backup_point(MIG_POINT_TABLE_PUBLISHED);
    return r->result;
}

/* --- a tenant: what is in the way ------------------------------------------------------------- */

static enum err look_at_key(void *ctx, struct slice stored, struct slice value)
{
    struct restoring *r = ctx;
    struct mig_backup_watch *watch = &r->service->watch;
    struct sto_key key;
    atomic_fetch_add(&watch->done_bytes, stored.len + value.len);
    if (watch->stop(watch->ctx))
        return base_fail(r->eb, ERR_CANCELLED, "stopped while the backup was looked through");
    return sto_key_decode(stored, &key) == ERR_OK
               ? ERR_OK
               : base_fail(r->eb, ERR_CORRUPT, "a stored key of the backup is damaged");
}

static enum err look_through(struct restoring *r)
{
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < mig_source_tables(r->source)->count; i++)
        rc = mig_source_visit(r->source, i, look_at_key, r, r->eb);
    return rc;
}

/* Control thread. ERR_CONFLICT when a table must not be deleted; else one that is there, or "". */
static void find_table(void *ctx)
{
    struct restoring *r = ctx;
    const struct ten_tables *tables = ten_tenant_tables(r->tenant);
    r->target[0] = '\0';
    r->result = ten_access_check(r->tenant, TEN_WRITE, r->eb);
    for (size_t i = 0; r->result == ERR_OK && i < tables->count; i++)
        if (tables->schemas[i]->protected)
            r->result =
                base_fail(r->eb, ERR_CONFLICT,
                          "deletion protection of the table %s is on: it cannot be replaced",
                          tables->schemas[i]->table->id);
    if (r->result == ERR_OK && tables->count > 0)
        (void)snprintf(r->target, sizeof r->target, "%s", tables->schemas[0]->table->id); /* fits */
}

/* --- a tenant: deleting what is there --------------------------------------------------------- */

static void deleted(struct ten_table_delete_op *op)
{
    *(bool *)op->user = true;
}

/* To its end: its name is needed. */
static enum err delete_table(struct restoring *r, struct base_mailbox *mail)
{
    bool is_over = false;
    struct ten_table_delete_op op = {
        .reply_to = mail, .done = deleted, .user = &is_over, .tenant = r->tenant};
    op.action = (struct ten_action){.actor = TEN_ACTOR_SERVER,
                                    .name = "table.delete",
                                    .tenant = ten_tenant_id(r->tenant),
                                    .target = base_slice_text(r->target),
                                    .detail = "replaced by a backup"};
    memcpy(op.table_id, r->target, sizeof op.table_id);
    ten_table_delete(r->service->registry, &op);
    while (!is_over) {
        base_mailbox_wait(mail, WAIT_MS);
        (void)base_mailbox_run(mail); /* the only message sets is_over */
    }
    return op.result == ERR_OK ? ERR_OK : base_fail(r->eb, op.result, "%s", op.detail.text);
}

static enum err delete_tables(struct restoring *r)
{
    struct base_mailbox mail;
    enum err rc = base_mailbox_init(&mail);
    if (rc != ERR_OK)
        return base_fail(r->eb, rc, "no mailbox for the deletion of tables");
    for (bool is_left = true; rc == ERR_OK && is_left;) {
        ten_control_run(r->service->registry, find_table, r);
        rc = r->result;
        is_left = rc == ERR_OK && r->target[0] != '\0';
        if (is_left)
            rc = delete_table(r, &mail);
    }
    base_mailbox_fini(&mail);
    return rc;
}

static enum err restore_tenant(struct restoring *r)
{
    const struct mig_tables *tables = mig_source_tables(r->source);
    ten_control_run(r->service->registry, find_table, r);
    enum err rc = r->result == ERR_OK ? look_through(r) : r->result;
    if (rc == ERR_OK)
        rc = delete_tables(r);
    size_t done = 0, count = tables->count; /* which go with the source */
    for (; rc == ERR_OK && done < count; done++) {
        r->is_last = done + 1 == count;
        rc = restore_table(r, done, sto_schema_table_id(tables->schemas[done]));
        if (rc != ERR_OK)
            break;
    }
    if (rc == ERR_OK || rc == ERR_CANCELLED)
        return rc;
    struct errbuf why = *r->eb;
    return base_fail(r->eb, rc, "%zu of %zu tables are restored, the backup is still there: %s",
                     done, count, why.text);
}

/* --- all of it -------------------------------------------------------------------------------- */

static enum err restore_one(struct restoring *r)
{
    size_t at = 0;
    struct slice table = base_slice_text(r->op->scope.table);
    if (!mig_tables_find(mig_source_tables(r->source), table, &at))
        return base_fail(r->eb, ERR_NOT_FOUND, "the backup holds no such table");
    r->is_last = true;
    return restore_table(r, at, base_slice_text(r->op->target));
}

enum err mig_operation_restore(struct mig_service *s, struct ten_tenant *t,
                               struct mig_operation *op, struct errbuf *eb)
{
    struct restoring r = {
        .service = s, .tenant = t, .scope = ten_scope_tenant(t), .op = op, .eb = eb};
    enum err rc = mig_source_open(s->backups, base_slice_text(op->backup), &r.scope, &s->watch,
                                  &r.source, eb);
    if (rc == ERR_OK)
        rc = op->kind == MIG_OP_RESTORE_TABLE ? restore_one(&r) : restore_tenant(&r);
    close_source(&r);
    return rc;
}

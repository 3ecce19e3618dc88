/*
 * tenancy/table_removal.c - deleting a table: hides it, drops its rows, removes its documents.
 *
 *   begin    the schema is marked as deleting on disk; the table leaves the visible list and is
 *            closed to writes. Requests then get ERR_NOT_FOUND, and creating it is ERR_CONFLICT.
 *   drop     the engine removes the rows, in bounded commits, exactly counted.
 *   settle   counters, schema, sweep and view documents are removed in one batch; then done is
 *            posted.
 *
 * A crash after begin leaves a schema marked as deleting; the next open resumes the drop. A drop
 * that fails leaves the removal waiting: deleting the table again resumes it as well.
 *
 * 1. Requests that found the table before begin may still hold its schema. sto_table.forgotten, set
 *    before the drop is submitted, makes the committer refuse their later writes, so one drop finds
 *    every row and no row of a forgotten table remains.
 */
#include "base/alloc.h"
#include "tenancy/audit_internal.h"
#include "tenancy/doc_list.h"
#include "tenancy/internal.h"
#include "tenancy/scope.h"

#include "base/banned.h"

/* --- the result ------------------------------------------------------------------------------- */

static void run_done(struct base_msg *msg)
{
    struct ten_table_delete_op *op =
        (struct ten_table_delete_op *)((char *)msg - offsetof(struct ten_table_delete_op, msg));
    op->done(op);
}

/* op: NULL when no caller waits since the start. */
static void answer(struct ten_table_delete_op *op, enum err result)
{
    if (op == NULL)
        return;
    op->result = result;
    if (op->reply_to == NULL) {
        base_free(op);
        return;
    }
    op->msg.run = run_done;
    base_mailbox_push(op->reply_to, &op->msg);
}

/* --- removing --------------------------------------------------------------------------------- */

struct forgetting {
    struct sto_engine *engine;
    const struct sto_table_scope *scope;
};

static enum err write_forgotten(void *ctx, const struct sto_doc_change *changes, size_t count,
                                struct errbuf *eb)
{
    const struct forgetting *f = ctx;
    return sto_table_forget(f->engine, f->scope, changes, count, eb);
}

static enum err forget_docs(struct ten_removal *m, const struct sto_table_scope *scope,
                            struct errbuf *eb)
{
    struct slice tenant_id = ten_tenant_id(m->tenant);
    struct slice table_id = sto_schema_table_id(m->schema);
    struct ten_doc_key schema = ten_doc_key_schema(tenant_id, table_id);
    struct ten_doc_key sweep = ten_doc_key_sweep(tenant_id, table_id);
    struct ten_doc_key of_views = ten_doc_key_view(tenant_id, table_id, SLICE_EMPTY);
    struct ten_doc_list views = {0};
    struct sto_engine *engine = m->registry->engine;
    enum err rc = ten_doc_list_scan(&views, engine, &of_views, eb);
    if (rc == ERR_OK) {
        struct sto_doc_change *changes = base_new_array(views.count + 2, sizeof changes[0]);
        changes[0] = (struct sto_doc_change){.key = ten_doc_key_slice(&schema),
                                             .expect = m->schema->version};
        changes[1] =
            (struct sto_doc_change){.key = ten_doc_key_slice(&sweep), .expect = STO_DOC_ANY};
        ten_doc_list_delete(&views, changes + 2);
        struct forgetting f = {.engine = engine, .scope = scope};
        rc = ten_docs_commit_by(m->registry, changes, views.count + 2, write_forgotten, &f, eb);
        base_free(changes);
    }
    ten_doc_list_fini(&views);
    return rc;
}

/* Completes the deletion as an action of the server, whichever client requested it. */
static enum err forget(struct ten_removal *m, const struct sto_table_scope *scope,
                       struct errbuf *eb)
{
    const struct ten_action action = {.actor = TEN_ACTOR_SERVER,
                                      .name = "table.removed",
                                      .tenant = ten_tenant_id(m->tenant),
                                      .target = sto_schema_table_id(m->schema)};
    ten_audit_begin(m->registry, &action);
    enum err rc = forget_docs(m, scope, eb);
    return ten_audit_end(m->registry, rc, eb);
}

void ten_table_removal_dropped(struct ten_removal *m)
{
    struct ten_table_delete_op *op = m->op;
    struct errbuf detail = m->drop.detail;
    enum err rc = m->drop.result;
    if (rc == ERR_CANCELLED)
        rc = base_fail(&detail, ERR_UNAVAILABLE,
                       "the service is stopping; the removal goes on at the next start");
    if (rc == ERR_OK)
        rc = forget(m, &m->drop.scope, &detail);
    sto_table_scope_release(&m->drop.scope);
    if (op != NULL) {
        op->removed = m->drop.removed;
        op->detail = detail;
    }
    m->op = NULL;
    ten_removal_leave(m, rc);
    answer(op, rc);
}

void ten_table_removal_run(struct ten_removal *m)
{
    INVARIANT(m->whole);
    atomic_store(&m->schema->table->forgotten, true);
    if (m->running)
        return; /* a family's cells are being dropped: rows follow */
    ten_removal_enter(m);
    m->family = 0;
    ten_removal_drop(m);
}

/* --- starting --------------------------------------------------------------------------------- */

struct ten_removal *ten_table_removal_of(struct ten_registry *r, struct ten_tenant *t,
                                         struct sto_schema *deleting_take)
{
    struct ten_removal *m = ten_removal_find(r, t, sto_schema_table_id(deleting_take));
    if (m == NULL)
        return ten_removal_add(r, t, deleting_take);
    INVARIANT(!m->whole);
    sto_schema_unref(m->schema);
    m->schema = deleting_take;
    m->whole = true;
    return m;
}

/* Marks the table as deleting and hides it. */
static enum err hide(struct ten_registry *r, struct ten_table_delete_op *op,
                     struct ten_removal **out)
{
    struct ten_tenant *t = op->tenant;
    const struct ten_tables *tables = ten_tenant_tables(t);
    size_t at;
    if (!ten_tables_search(tables, base_slice_text(op->table_id), &at))
        return base_fail(&op->detail, ERR_NOT_FOUND, "the tenant has no such table");
    struct sto_schema *old = tables->schemas[at];
    enum err rc = ten_expect_check(&op->expect, old, &op->detail);
    if (rc == ERR_OK && old->protected)
        rc = base_fail(&op->detail, ERR_CONFLICT,
                       "deletion protection is on: the table cannot be deleted");
    if (rc == ERR_OK)
        rc = ten_views_protection_check(old, &op->detail);
    if (rc != ERR_OK)
        return rc;
    struct sto_schema *deleting = sto_schema_make_deleting(old);
    rc = ten_schema_commit(r, t, deleting, old->version, &op->detail);
    if (rc != ERR_OK) {
        sto_schema_unref(deleting);
        return rc;
    }
    ten_tables_publish(r, t, ten_tables_without(tables, at));
    *out = ten_table_removal_of(r, t, deleting);
    return ERR_OK;
}

static enum err begin(struct ten_registry *r, struct ten_table_delete_op *op)
{
    enum err rc = ten_access_check(op->tenant, TEN_WRITE, &op->detail);
    if (rc != ERR_OK)
        return rc;
    if (atomic_load(&r->stopping))
        return base_fail(&op->detail, ERR_UNAVAILABLE, "the service is stopping");
    struct ten_removal *m = ten_removal_find(r, op->tenant, base_slice_text(op->table_id));
    if (m != NULL && m->whole && m->running)
        return base_fail(&op->detail, ERR_CONFLICT, "the table is being deleted already");
    if (m == NULL || !m->whole)
        rc = hide(r, op, &m);
    if (rc != ERR_OK)
        return rc;
    m->op = op;
    ten_table_removal_run(m);
    return ERR_OK;
}

static void run_begin(struct ten_work *work)
{
    struct ten_table_delete_op *op =
        (struct ten_table_delete_op *)(void *)((char *)work -
                                               offsetof(struct ten_table_delete_op, work));
    ten_control_check(op->registry);
    bool is_action = op->action.name != NULL;
    if (is_action)
        ten_audit_begin(op->registry, &op->action);
    enum err rc = begin(op->registry, op);
    if (is_action)
        rc = ten_audit_end(op->registry, rc, &op->detail);
    if (rc != ERR_OK)
        answer(op, rc);
}

void ten_table_delete(struct ten_registry *r, struct ten_table_delete_op *op)
{
    INVARIANT(op->tenant != NULL && (op->reply_to == NULL || op->done != NULL));
    op->table_id[LIM_TABLE_ID] = '\0';
    op->result = ERR_OK;
    op->detail.text[0] = '\0';
    op->removed = (struct sto_usage){0};
    op->registry = r;
    op->work.run = run_begin;
    bool is_queued = ten_control_submit(r, &op->work, op->tenant, TEN_LANE_SERVICES, UINT64_MAX);
    INVARIANT(is_queued); /* its rate bounds their number */
}

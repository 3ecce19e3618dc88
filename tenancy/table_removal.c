/*
 * tenancy/table_removal.c - deleting a table: hide it, drop its rows, forget it.
 *
 *   begin    schema marked as deleting on disk; the table leaves the visible list and is closed to
 *            writes. From here on requests get ERR_NOT_FOUND, and making it again is ERR_CONFLICT.
 *   drop     the engine removes the rows, in bounded commits, exactly counted.
 *   settle   counters and schema document are forgotten in one batch; then done is posted.
 *
 * A crash after begin leaves a schema marked as deleting; the next open goes on with the drop. A
 * drop that fails leaves the removal waiting: deleting the table again goes on as well.
 *
 * 1. A table is in the visible list or among the removals, never in both.
 * 2. Requests that found the table before begin may still hold its schema. sto_table.forgotten,
 *    set before the drop is submitted, makes the committer refuse what they write after it, so one
 *    drop finds every row and no row is left behind a forgotten table.
 * 3. While a removal runs its tenant is not purged; the purge is posted when the last one settles.
 */
#include "base/alloc.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"
#include "tenancy/scope.h"

#include "base/banned.h"

static struct slice id_of(const struct sto_schema *s)
{
    return base_slice(s->table->id, s->table->id_len);
}

/* --- the list --------------------------------------------------------------------------------- */

struct ten_removal *ten_removal_find(struct ten_registry *r, const struct ten_tenant *t,
                                     struct slice table_id)
{
    for (struct ten_removal *m = r->removals; m != NULL; m = m->next)
        if (m->tenant == t && base_slice_equal(id_of(m->schema), table_id))
            return m;
    return NULL;
}

struct ten_removal *ten_removal_add(struct ten_registry *r, struct ten_tenant *t,
                                    struct sto_schema *schema_take)
{
    struct ten_removal *m = base_new(sizeof *m);
    m->registry = r;
    m->tenant = t;
    m->schema = schema_take;
    m->next = r->removals;
    r->removals = m;
    return m;
}

static void removal_free(struct ten_registry *r, struct ten_removal *m)
{
    struct ten_removal **link = &r->removals;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    sto_schema_unref(m->schema);
    base_free(m);
}

bool ten_removal_is_running(const struct ten_registry *r, const struct ten_tenant *t)
{
    for (const struct ten_removal *m = r->removals; m != NULL; m = m->next)
        if (m->tenant == t && m->op != NULL)
            return true;
    return false;
}

void ten_removal_discard(struct ten_registry *r, const struct ten_tenant *t)
{
    struct ten_removal *next;
    for (struct ten_removal *m = r->removals; m != NULL; m = next) {
        next = m->next;
        if (m->tenant == t && m->op == NULL)
            removal_free(r, m);
    }
}

void ten_removal_free_all(struct ten_registry *r)
{
    while (r->removals != NULL)
        removal_free(r, r->removals);
}

/* --- answering -------------------------------------------------------------------------------- */

static void run_done(struct base_msg *msg)
{
    struct ten_table_delete_op *op =
        (struct ten_table_delete_op *)((char *)msg - offsetof(struct ten_table_delete_op, msg));
    op->done(op);
}

static void answer(struct ten_table_delete_op *op, enum err result)
{
    op->result = result;
    if (op->reply_to == NULL) {
        base_free(op);
        return;
    }
    op->msg.run = run_done;
    base_mailbox_push(op->reply_to, &op->msg);
}

/* The removal stops running, for good (ERR_OK) or until somebody tries again. */
static void settle(struct ten_removal *m, enum err result)
{
    struct ten_registry *r = m->registry;
    struct ten_tenant *t = m->tenant;
    struct ten_table_delete_op *op = m->op;
    m->op = NULL;
    if (result == ERR_OK)
        removal_free(r, m);
    r->removals_running--;
    answer(op, result);
    if (ten_tenant_state(t) == TEN_PURGING && !ten_removal_is_running(r, t)) {
        ten_removal_discard(r, t);
        ten_purge_post(r, t);
    }
    if (r->draining && r->removals_running == 0) {
        int error = sem_post(&r->drained);
        INVARIANT(error == 0);
    }
}

/* --- working ---------------------------------------------------------------------------------- */

static enum err forget(struct ten_removal *m, const struct sto_table_scope *scope,
                       struct errbuf *eb)
{
    struct ten_doc_key key = ten_doc_key_schema(ten_tenant_id(m->tenant), id_of(m->schema));
    struct sto_doc_change change = {
        .key = ten_doc_key_slice(&key),
        .body = SLICE_EMPTY,
        .expect = m->schema->version,
    };
    return sto_table_forget(m->registry->engine, scope, &change, eb);
}

static void drop_done(struct sto_drop_op *drop)
{
    struct ten_removal *m = drop->user;
    ten_control_check(m->registry);
    enum err rc = drop->result;
    m->op->removed = drop->removed;
    if (rc == ERR_OK)
        rc = forget(m, &drop->scope, &m->op->detail);
    else
        m->op->detail = drop->detail;
    sto_table_scope_release(&drop->scope);
    settle(m, rc);
}

static void start(struct ten_removal *m, struct ten_table_delete_op *op)
{
    struct sto_tenant_scope tenant = ten_scope_tenant(m->tenant);
    m->op = op;
    m->registry->removals_running++;
    atomic_store(&m->schema->table->forgotten, true);
    op->drop = (struct sto_drop_op){
        .reply_to = &m->registry->control.mailbox,
        .done = drop_done,
        .user = m,
        .scope = sto_table_scope_make(&tenant, m->schema),
        .ignore_gate = true,
    };
    sto_drop_rows(m->registry->engine, &op->drop);
}

/* --- beginning -------------------------------------------------------------------------------- */

static enum err begin(struct ten_registry *r, struct ten_table_delete_op *op)
{
    struct ten_tenant *t = op->tenant;
    struct slice id = base_slice_text(op->table_id);
    enum err rc = ten_access_check(t, TEN_WRITE, &op->detail);
    if (rc != ERR_OK)
        return rc;
    if (atomic_load(&r->stopping))
        return base_fail(&op->detail, ERR_UNAVAILABLE, "the service is stopping");
    struct ten_removal *m = ten_removal_find(r, t, id);
    if (m != NULL && m->op != NULL)
        return base_fail(&op->detail, ERR_CONFLICT, "the table is being deleted already");
    if (m == NULL) {
        const struct ten_tables *tables = ten_tenant_tables(t);
        size_t at;
        if (!ten_tables_search(tables, id, &at))
            return base_fail(&op->detail, ERR_NOT_FOUND, "the tenant has no such table");
        struct sto_schema *old = tables->schemas[at];
        struct sto_schema *deleting = sto_schema_make_deleting(old);
        rc = ten_schema_commit(r, t, deleting, old->version, &op->detail);
        if (rc != ERR_OK) {
            sto_schema_unref(deleting);
            return rc;
        }
        ten_tables_publish(r, t, ten_tables_without(tables, at));
        m = ten_removal_add(r, t, deleting);
    }
    start(m, op);
    return ERR_OK;
}

static void run_begin(struct base_msg *msg)
{
    struct ten_table_delete_op *op =
        (struct ten_table_delete_op *)((char *)msg - offsetof(struct ten_table_delete_op, msg));
    ten_control_check(op->registry);
    enum err rc = begin(op->registry, op);
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
    op->msg.run = run_begin;
    ten_control_post(r, &op->msg);
}

void ten_removal_resume_all(struct ten_registry *r)
{
    struct ten_removal *next;
    for (struct ten_removal *m = r->removals; m != NULL; m = next) {
        next = m->next;
        struct ten_table_delete_op *op = base_new(sizeof *op);
        op->registry = r;
        op->tenant = m->tenant;
        start(m, op); /* nobody waits for the answer */
    }
}

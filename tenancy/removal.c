/*
 * tenancy/removal.c - pending removals of tables or parts of them, one for each such table.
 *
 *   whole    the table was deleted: its rows, counters and document (table_removal.c)
 *   else     families of it were dropped: their cells (family_removal.c)
 *
 * A removal of families becomes a whole one when its table is deleted before it is done; the drop
 * in progress finishes first, so that it cannot reach into a recreated table.
 *
 * 1. A table is in the visible list or its removal is whole, never both.
 * 2. While a removal runs its tenant is not purged; the purge is posted when the last one finishes.
 * 3. A drop is admitted by every gate of its tenant: a suspended tenant's data may be removed.
 */
#include "base/alloc.h"
#include "tenancy/internal.h"
#include "tenancy/scope.h"

#include "base/banned.h"

/* --- the list --------------------------------------------------------------------------------- */

struct ten_removal *ten_removal_find(struct ten_registry *r, const struct ten_tenant *t,
                                     struct slice table_id)
{
    for (struct ten_removal *m = r->removals; m != NULL; m = m->next)
        if (m->tenant == t && base_slice_equal(sto_schema_table_id(m->schema), table_id))
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
    m->whole = schema_take->deleting;
    m->next = r->removals;
    r->removals = m;
    return m;
}

void ten_removal_free(struct ten_removal *m)
{
    struct ten_removal **link = &m->registry->removals;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    sto_schema_unref(m->schema);
    base_free(m);
}

bool ten_removal_is_running(const struct ten_registry *r, const struct ten_tenant *t)
{
    for (const struct ten_removal *m = r->removals; m != NULL; m = m->next)
        if (m->tenant == t && m->running)
            return true;
    return false;
}

void ten_removal_discard(struct ten_registry *r, const struct ten_tenant *t)
{
    struct ten_removal *next;
    for (struct ten_removal *m = r->removals; m != NULL; m = next) {
        next = m->next;
        if (m->tenant == t && !m->running)
            ten_removal_free(m);
    }
}

void ten_removal_free_all(struct ten_registry *r)
{
    while (r->removals != NULL)
        ten_removal_free(r->removals);
}

/* --- running ---------------------------------------------------------------------------------- */

void ten_removal_enter(struct ten_removal *m)
{
    INVARIANT(!m->running);
    m->running = true;
    m->registry->removals_running++;
}

void ten_removal_leave(struct ten_removal *m, enum err result)
{
    struct ten_registry *r = m->registry;
    struct ten_tenant *t = m->tenant;
    m->running = false;
    r->removals_running--;
    if (result == ERR_OK)
        ten_removal_free(m);
    if (ten_tenant_state(t) == TEN_PURGING && !ten_removal_is_running(r, t)) {
        ten_removal_discard(r, t);
        ten_purge_post(r, t);
    }
    if (r->draining && r->removals_running == 0) {
        int error = sem_post(&r->drained);
        INVARIANT(error == 0);
    }
}

static void drop_done(struct sto_drop_op *drop)
{
    struct ten_removal *m = drop->user;
    ten_control_check(m->registry);
    if (m->family == 0)
        ten_table_removal_dropped(m);
    else
        ten_family_removal_dropped(m);
}

void ten_removal_drop(struct ten_removal *m)
{
    struct sto_tenant_scope tenant = ten_scope_tenant(m->tenant);
    m->drop = (struct sto_drop_op){
        .reply_to = &m->registry->control.mailbox,
        .done = drop_done,
        .user = m,
        .scope = sto_table_scope_make(&tenant, m->schema),
        .family = m->family,
        .ignore_gate = true,
        .table_ends = m->family == 0,
        .stop = &m->registry->stopping,
    };
    sto_drop_rows(m->registry->engine, &m->drop);
}

void ten_removal_resume_all(struct ten_registry *r)
{
    struct ten_removal *next;
    for (struct ten_removal *m = r->removals; m != NULL; m = next) {
        next = m->next;
        if (m->whole)
            ten_table_removal_run(m);
        else
            ten_family_removal_run(m);
    }
}

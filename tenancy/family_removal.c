/*
 * tenancy/family_removal.c - removing the cells of dropped families.
 *
 * A schema lists the numbers of its dropped families until their cells are gone. One by one:
 *
 *   close    the committer refuses writers that still hold an older schema.
 *   drop     the engine removes the family's cells, in bounded commits, exactly counted.
 *   settle   the next schema, without the number, is stored and published.
 *
 * A crash leaves the number in the list; the next open resumes. A failure leaves the removal
 * waiting, for the next start or the next dropped family.
 *
 * 1. Numbers are never used again, so a second drop of the same family finds nothing and harms
 *    nothing.
 * 2. The list may grow, and the table may be deleted or its tenant purged, while a drop runs: the
 *    table's schema after the drop decides the next step.
 */
#include "tenancy/internal.h"

#include "base/banned.h"

/* Returns the visible schema of the removal's table; NULL when the table was deleted or
 * recreated. */
static struct sto_schema *current(const struct ten_removal *m)
{
    const struct ten_tables *tables = ten_tenant_tables(m->tenant);
    size_t at;
    if (!ten_tables_search(tables, sto_schema_table_id(m->schema), &at))
        return NULL;
    return tables->schemas[at]->table == m->schema->table ? tables->schemas[at] : NULL;
}

/* Drops the first dropped family of the current schema, if there is one. */
static bool next(struct ten_removal *m)
{
    struct sto_schema *schema = current(m);
    if (schema == NULL || schema->dropped_count == 0)
        return false;
    sto_schema_unref(m->schema);
    m->schema = sto_schema_ref(schema);
    m->family = schema->dropped[0];
    ten_removal_drop(m);
    return true;
}

static enum err settle(struct ten_removal *m)
{
    struct sto_schema *schema = current(m);
    if (schema == NULL)
        return ERR_OK;
    struct sto_schema *swept = sto_schema_make_swept(schema, m->family);
    struct errbuf unheard; /* no caller waits; the number stays in the list */
    const struct ten_action action = {.actor = TEN_ACTOR_SERVER,
                                      .name = "table.family_removed",
                                      .tenant = ten_tenant_id(m->tenant),
                                      .target = sto_schema_table_id(schema)};
    ten_audit_begin(m->registry, &action);
    enum err rc = ten_schema_commit(m->registry, m->tenant, swept, schema->version, &unheard);
    rc = ten_audit_end(m->registry, rc, &unheard);
    if (rc == ERR_OK)
        ten_tables_publish(m->registry, m->tenant,
                           ten_tables_with(ten_tenant_tables(m->tenant), swept));
    else
        sto_schema_unref(swept);
    return rc;
}

void ten_family_removal_dropped(struct ten_removal *m)
{
    enum err rc = m->drop.result;
    sto_table_scope_release(&m->drop.scope);
    if (m->whole) { /* deleted during the drop: the rest is removed with the table */
        m->family = 0;
        ten_removal_drop(m);
        return;
    }
    if (rc == ERR_OK)
        rc = settle(m);
    bool stops = atomic_load(&m->registry->stopping);
    if (rc == ERR_OK && !stops && next(m))
        return;
    ten_removal_leave(m, rc);
}

void ten_family_removal_run(struct ten_removal *m)
{
    if (m->running || atomic_load(&m->registry->stopping))
        return;
    ten_removal_enter(m);
    if (!next(m))
        ten_removal_leave(m, ERR_OK);
}

void ten_family_removal_begin(struct ten_registry *r, struct ten_tenant *t,
                              struct sto_schema *schema)
{
    if (schema->dropped_count == 0)
        return;
    for (size_t i = 0; i < schema->dropped_count; i++)
        sto_table_close_family(schema->table, schema->dropped[i]);
    struct ten_removal *m = ten_removal_find(r, t, sto_schema_table_id(schema));
    if (m == NULL)
        m = ten_removal_add(r, t, sto_schema_ref(schema));
    ten_family_removal_run(m);
}
